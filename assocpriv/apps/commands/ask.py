"""The command ask: chosen itemsets and rules, without mining."""

import csv
from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import (
    backend_options,
    error_options,
    json_option,
    memory_option,
    open_reports,
    reports_argument,
)
from assocpriv.apps.progress import Progress

_ARROW = "=>"


@click.command()
@reports_argument
@click.option("--itemset", "itemsets", multiple=True, metavar="NAMES", help='Names with commas, as "milk,bread".')
@click.option("--rule", "rules", multiple=True, metavar="RULE", help='Two itemsets, as "milk,bread => eggs".')
@error_options
@memory_option
@backend_options
@json_option
def ask(
    reports: tuple[Path, ...],
    itemsets: tuple[str, ...],
    rules: tuple[str, ...],
    memory: int | None,
    backend: str,
    master: str | None,
    **errors: Any,
) -> None:
    """Estimate the supports of chosen itemsets, and rules, from REPORTS (files, or folders of them) without mining.

    \b
    Example:
      assocpriv ask reports.parquet --itemset milk,bread --itemset eggs --rule milk=>eggs
    """
    from assocpriv.apps.render.itemsets import answer_lines, answer_record
    from assocpriv.mining import ErrorOptions, answer

    if not itemsets and not rules:
        raise click.UsageError("give at least one --itemset or --rule")
    questions = [_names(text, "--itemset") for text in itemsets], [_rule(text) for text in rules]
    collection = open_reports(reports, backend, master)
    answers = answer(collection, *questions, ErrorOptions(**errors), memory, Progress())
    show_result(lambda: answer_record(answers), lambda: answer_lines(answers))


def _names(text: str, option: str) -> list[str]:
    """Read names written as a CSV line."""
    try:
        lines = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise click.UsageError(f"{option} {text!r} is not a line of names with commas between: {error}") from None
    names = lines[0] if len(lines) == 1 else []
    if not all(names) or not names:
        raise click.UsageError(f'{option} {text!r} must be names with commas between, as "milk,bread"')
    return names


def _rule(text: str) -> tuple[list[str], list[str]]:
    """Read a rule: the arrow stands once, outside of quotes."""
    pieces = text.split('"')  # every other one is inside
    arrows = [place for place in range(0, len(pieces), 2) for _ in range(pieces[place].count(_ARROW))]
    if len(arrows) != 1:
        raise click.UsageError(f'--rule {text!r} must be two itemsets with one arrow between, as "milk,bread => eggs"')
    at = arrows[0]
    left, right = pieces[at].split(_ARROW)
    sides = '"'.join([*pieces[:at], left]), '"'.join([right, *pieces[at + 1 :]])
    return _names(sides[0].strip(), "--rule"), _names(sides[1].strip(), "--rule")
