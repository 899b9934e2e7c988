"""The clients' side of baskets: the commands randomize, in bulk, or report, for one device with its ledger."""

import csv
import sys
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_MOST_BYTES = 1 << 24  # of a record


@click.command()
@click.argument("baskets", type=opt.PATH, nargs=-1, required=True)
@opt.plan_option
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Report file to write (Parquet).")
@opt.basket_options
@click.option("--person", metavar="NAME", help="Column that says whose a transaction is: as many of one as promised.")
@opt.memory_option
@opt.result_options
def randomize(
    baskets: tuple[Path, ...], plan_path: Path, output: Path, memory: int | None, force: bool, **reading: Any
) -> None:
    """Randomize BASKETS: the clients' side, in bulk, with the operating system's entropy.

    Files of any size are read, randomized and written batch by batch. In several a transaction id is one basket.

    \b
    Example:
      assocpriv randomize baskets.csv --plan plan.json -o reports.parquet
    """
    plan = ap.read_plan(plan_path, ap.Plan)
    opt.check_writable(output, force=force, inputs=[*baskets, plan_path])
    progress = opt.Progress().stage("randomizing", in_bytes=True)
    done = ap.randomize(baskets, plan, output, memory_bytes=memory, force=force, progress=progress, **reading)
    opt.say(ap.show.outcomes.outcome_lines(done, plan))
    written = f"{opt.counted(done.reported, 'report')} of {opt.counted(plan.report_bytes, 'byte')} written"
    opt.show_result(lambda: ap.show.outcomes.outcome_record(done, plan), lambda: [f"{written} to {output}"])


@click.command()
@click.option("--plan", "plan_path", type=opt.PATH, help="The published plan; with --output.")
@click.option("--collector", "url", metavar="URL", help="Where to ask for the plan, and to send the report.")
@click.option("--ledger", type=opt.OUTPUT, required=True, help="What this device told; made if missing.")
@click.option("--occasion", help="What the record is of, as 2026-W47; one report each.")
@click.option(
    "--basket", help="Names with commas between; other programs can see it. Better give them on standard input."
)
@opt.choice("--empty", ["error", "keep"], "An empty basket: refused, or reported.")
@click.option("--prior", help="With --posterior: a promise that all reports of this device keep, under any plans.")
@click.option("--posterior", help="See --prior.")
@opt.epsilon_option
@click.option("--unsent", is_flag=True, help="Send the reports that wait for the collector, and make none.")
@click.option("--plan-id", metavar="ID", help="Id of the plan that the collector must have.")
@click.option("--key-file", type=opt.PATH, help="File with the key that the collector asks for.")
@click.option("--max-level", metavar="K", type=opt.WholeRange(1), help="Highest level k* of guidance.  [default: any]")
@click.option("--patience", metavar="SECONDS", type=opt.NUMBER, help="How long to try.  [default: 60]")
@click.option("--insecure", is_flag=True, help="Allow http:// beyond this machine.")
@click.option("-o", "--output", type=opt.OUTPUT, help="File for the report's bytes, which are to be sent.")
@opt.result_options
def report(plan_path: Path | None, url: str | None, unsent: bool, basket: str | None, **device: Any) -> None:
    """Make one record's report on a device that keeps count of what it told, and send it or write it.

    The record stands on standard input: a basket's names, one a line, or for a plan of a table one JSON object, as
    {"age": 34, "region": "north"}. The same occasion gets the same report again, for free.

    \b
    Example:
      printf 'milk\\nbread\\n' |
        assocpriv report --collector https://shop.example --ledger ledger.bin --occasion 2026-W47
      assocpriv report --collector https://shop.example --ledger ledger.bin --unsent
      printf 'milk\\nbread\\n' |
        assocpriv report --plan plan.json --ledger ledger.bin --occasion 2026-W47 -o report.bin
    """
    if (url is None) == (device["output"] is None) or (plan_path is None) != (url is not None):
        raise click.UsageError("give --collector, or --plan and --output")
    if device["occasion"] is None and not unsent:
        raise click.UsageError("Missing option '--occasion'.")
    limit = opt.take_promise(device)
    asked = {name: device.pop(name) for name in ("plan_id", "key_file", "max_level", "patience", "insecure")}
    if url is None:
        given = [name for name, value in (asked | {"unsent": unsent}).items() if value]
        if given:
            raise click.UsageError(f"--{given[0].replace('_', '-')} goes with --collector")
        assert plan_path is not None
        _write(plan_path, basket, limit=limit, **device)
    elif unsent:
        if basket is not None or device["occasion"] is not None or limit is not None:
            raise click.UsageError("--unsent makes no report: it takes no --basket, --occasion or promise")
        _send_unsent(url, asked, device["ledger"])
    else:
        _send(url, asked, basket, limit=limit, **device)


def _write(plan_path: Path, basket: str | None, *, output: Path, **device: Any) -> None:

    plan = ap.read_plan(plan_path)
    done = ap.report(_record(basket), plan, output=output, inputs=[plan_path], **device)
    opt.show_result(
        lambda: ap.show.collections.device_record(done), lambda: ap.show.collections.device_lines(done, output)
    )


def _send(url: str, asked: dict[str, Any], basket: str | None, **device: Any) -> None:

    del device["output"], device["force"]
    where = {name: asked[name] for name in ("plan_id", "max_level")}
    done = ap.collect.send_report(_record(basket), _collector(url, asked), **where, **device)
    opt.show_result(lambda: ap.show.collections.sent_record(done), lambda: ap.show.collections.sent_lines(done, url))


def _send_unsent(url: str, asked: dict[str, Any], ledger: Path) -> None:

    done = ap.collect.send_unsent(_collector(url, asked), ledger=ledger, plan_id=asked["plan_id"])
    opt.show_result(
        lambda: ap.show.collections.waiting_record(done), lambda: ap.show.collections.waiting_lines(done, url)
    )


def _collector(url: str, asked: dict[str, Any]) -> "ap.Collector":

    key = None if asked["key_file"] is None else ap.collect.read_key(asked["key_file"])
    patience = {} if asked["patience"] is None else {"patience_seconds": asked["patience"]}
    return ap.Collector(url, key, asked["insecure"], **patience)


def _record(basket: str | None) -> bytes:
    """Return a record as text: standard input, or a line of names as names, one a line."""
    if basket is not None:
        return "\n".join(_names_given(basket)).encode("utf-8", "surrogatepass")
    if sys.stdin is None:  # closed by whoever started this
        raise click.UsageError("standard input is closed; give the record there: a basket's names, one a line")
    return sys.stdin.buffer.read(_MOST_BYTES + 1)


def _names_given(text: str) -> list[str]:
    """Return the names of a CSV line, blank ones said nothing as in files; what it holds is never shown."""
    try:
        lines = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        lines = []
    if len(lines) != 1 or "\n" in "".join(lines[0]):
        raise click.UsageError(
            '--basket must be names with commas between, as "milk,bread"; one with a comma in quotes'
        )
    return [name for cell in lines[0] if (name := cell.strip())]
