"""What commands share when they talk: results to standard output, the rest to standard error."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from assocpriv.apps.progress import Progress


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


def read_told(path: Path, format_: str | None, catalogue: Any, unknown: str, repeats: str, empty: str) -> Any:
    """Read baskets into a plan's catalogue, telling what was left out or merged."""
    from assocpriv.client.basket_files import read_baskets_report

    baskets, counts = read_baskets_report(
        path,
        format=format_,
        catalogue=catalogue,
        unknown=unknown,
        repeats=repeats,
        empty=empty,
        progress=Progress().stage("reading"),
    )
    done = [
        (counts.unknown_dropped, "items outside the catalogue dropped"),
        (counts.repeats_merged, "repeated items merged"),
        (counts.empty_kept, "empty baskets kept"),
    ]
    say(f"{number:,} {what}" for number, what in done if number)
    emptied = int((baskets.sizes == 0).sum()) - counts.empty_kept
    if emptied:
        say([f"warning: {emptied:,} of {len(baskets):,} baskets hold none of the catalogue's items; check the format"])
    return baskets
