"""The command report, for one device, with its ledger."""

import csv
import sys
from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import OUTPUT, choice, epsilon_option, plan_option, result_options, take_promise

_MOST_BYTES = 1 << 24  # of a record


@click.command()
@plan_option
@click.option("--ledger", type=OUTPUT, required=True, help="What this device told; made if missing.")
@click.option("--occasion", required=True, help="What the record is of, as 2026-W47; one report each.")
@click.option(
    "--basket", help="Names with commas between; other programs can see it. Better give them on standard input."
)
@choice("--empty", ["error", "keep"], "An empty basket: refused, or reported.")
@click.option("--prior", help="With --posterior: a promise that all reports of this device keep, under any plans.")
@click.option("--posterior", help="See --prior.")
@epsilon_option
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the report's bytes, which are to be sent.")
@result_options
def report(plan_path: Path, basket: str | None, output: Path, **device: Any) -> None:
    """Make one record's report on a device that keeps count of what it told.

    The record stands on standard input: a basket's names, one a line, or for a plan of a table one JSON object, as
    {"age": 34, "region": "north"}. The same occasion gets the same report again, for free.

    \b
    Example:
      printf 'milk\\nbread\\n' |
        assocpriv report --plan plan.json --ledger ledger.bin --occasion 2026-W47 -o report.bin
    """
    from assocpriv.apps.render.assurance import device_lines, device_record
    from assocpriv.assurance import read_plan, takes_names
    from assocpriv.assurance import report as make_report

    limit = take_promise(device)
    plan = read_plan(plan_path)
    if basket is not None and not takes_names(plan):
        raise click.UsageError(f"--basket does not go with a plan of the kind {plan.kind}; see docs/cli/clients.md")
    record = _names_given(basket) if basket is not None else _record_read(plan)
    done = make_report(record, plan, output=output, limit=limit, inputs=[plan_path], **device)
    show_result(lambda: device_record(done), lambda: device_lines(done, output))


def _record_read(plan: Any) -> Any:
    if sys.stdin is None:  # closed by whoever started this
        raise click.UsageError("standard input is closed; give the record there: a basket's names, one a line")
    from assocpriv.assurance import parse_record

    return parse_record(sys.stdin.buffer.read(_MOST_BYTES + 1), plan)


def _names_given(text: str) -> list[str]:
    """Return the names of a CSV line, blank ones said nothing as in files; what it holds is never shown."""
    try:
        lines = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        lines = []
    if len(lines) != 1:
        raise click.UsageError(
            '--basket must be names with commas between, as "milk,bread"; one with a comma in quotes'
        )
    return [name for cell in lines[0] if (name := cell.strip())]
