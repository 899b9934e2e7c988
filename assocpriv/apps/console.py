"""What commands share when they talk: results to standard output, the rest to standard error."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assocpriv.apps.progress import Progress

if TYPE_CHECKING:
    from assocpriv.plans.baskets.plan import Plan
    from assocpriv.records.basket_files import ReadCounts
    from assocpriv.records.baskets import Baskets


def say(lines: Iterable[str]) -> None:
    """Talk to the person, on standard error."""
    for line in lines:
        click.echo(line, err=True)


def show_result(as_json: bool, record: Callable[[], Any], lines: Callable[[], list[str]]) -> None:
    """Print a result: one JSON object, or text."""
    if as_json:
        click.echo(json.dumps(record(), allow_nan=False))
    else:
        click.echo("\n".join(lines()))


def read_told(path: Path, format_: str | None, plan: "Plan", unknown: str, repeats: str, empty: str) -> "Baskets":
    """Read baskets as a plan's transactions, telling what was left out or merged."""
    from assocpriv.client.baskets.transactions import read_transactions
    from assocpriv.records.basket_files import ReadOptions

    progress = Progress().stage("reading", "B")
    options = ReadOptions(format_, unknown=unknown, repeats=repeats, empty=empty, progress=progress)
    transactions, counts = read_transactions(path, plan, options)
    say(count_lines(counts, int((transactions.sizes == 0).sum()), plan))
    return transactions


def count_lines(counts: "ReadCounts", empty: int, plan: "Plan") -> list[str]:
    """Say what was left out or merged of a file; ``empty`` baskets came out empty."""
    done = [
        (counts.unknown_dropped, "items outside the catalogue dropped"),
        (counts.repeats_merged, "repeated items merged"),
        (counts.empty_kept, "empty baskets kept"),
    ]
    lines = [f"{number:,} {what}" for number, what in done if number]
    emptied = empty - counts.empty_kept
    if emptied and plan.view.kind == "items":  # with other kinds it says nothing about the format
        told = f"{emptied:,} of {counts.baskets:,} baskets hold none of the catalogue's items"
        # where a plan leaves names out, as a short list does, that is no sign of a wrong format
        lines.append(told if plan.view.others == "drop" else f"warning: {told}; check the format")
    return lines
