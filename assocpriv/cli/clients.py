"""The clients' side of baskets: the commands randomize, in bulk, or report, for one device with its ledger."""

import csv
import sys
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_MOST_BYTES = 1 << 24  # of a record


_OF_ALL = ("layout", "memory_bytes", "force")
_TAKES = {  # which options of randomize a kind of plan has
    "baskets": (*_OF_ALL, "unknown", "repeats", "empty", "person"),
    "table": (*_OF_ALL, "missing", "clip"),
    "guided": (*_OF_ALL, "missing", "guidance_path", "max_level", "announced", "wait"),
}


@opt.command()
@click.argument("records", type=opt.PATH, nargs=-1, required=True)
@opt.plan_option
@click.option("-o", "--output", type=opt.OUTPUT, help="Report file to write (.parquet; under guidance also .jsonl).")
@opt.layout_option
@opt.rules_options
@click.option("--person", metavar="NAME", help="Column that says whose a transaction is: as many of one as promised.")
@opt.missing_option
@click.option("--clip", is_flag=True, help="Of a table: move values outside a column's range to its ends.")
@click.option("--guidance", "guidance_path", type=opt.PATH, help="Under guidance: what the miner published.")
@opt.rare(
    click.option("--max-level", metavar="K", type=opt.WholeRange(1), help="Highest level k* of guidance to answer."),
    click.option("--announced", metavar="K", type=opt.WholeRange(1), help="Level announced before the guidance came."),
    click.option("--wait", type=opt.OUTPUT, help="Folder in which records wait, encrypted, for a lower level."),
    opt.memory_option,
)
@opt.result_options
def randomize(records: tuple[Path, ...], plan_path: Path, output: Path | None, **options: Any) -> None:
    """Randomize RECORDS under a plan: the clients' side, in bulk, with the operating system's entropy.

    RECORDS are files of baskets or, of a plan of a table, one file with a record a person. Files of any size are read,
    randomized and written batch by batch. A transaction id in several files is one basket. Guidance is checked first;
    where it asks for more than --max-level nothing is sent, and with --wait the records wait.

    \b
    Example:
      assocpriv randomize baskets.csv --plan plan.json -o reports.parquet
      assocpriv randomize table.csv --plan table-plan.json --missing ? -o released.parquet
      assocpriv randomize table.csv --plan guided.json --guidance guidance.json -o released.parquet
    """
    plan = opt.read_plan(plan_path, records)
    own = opt.of_kind(options, plan.kind, _TAKES)
    if plan.kind != "guided":
        opt.require(("output",))
    if output is not None:
        opt.check_writable(output, force=options["force"], inputs=[*records, plan_path])
    if plan.kind == "baskets":
        _randomize(records, plan, output, own, ap.show.outcomes)
        return
    if len(records) > 1:
        raise click.UsageError(f"a plan of the kind {plan.kind} takes one file of records, got {len(records)}")
    own |= opt.table_reading(own)
    if plan.kind == "guided":
        _answer(records[0], plan, output, own)
    else:
        _randomize(records[0], plan, output, own, ap.show.tables)


def _randomize(records: Any, plan: Any, output: Path | None, options: dict[str, Any], shown: Any) -> None:
    assert output is not None
    done = ap.randomize(records, plan, output, progress=opt.Progress().stage("randomizing", in_bytes=True), **options)
    opt.say(shown.outcome_lines(done, plan))
    n_reports = done.reported if plan.kind == "baskets" else done.records
    written = f"{opt.counted(n_reports, 'report')} of {opt.counted(plan.report_bytes, 'byte')} written to {output}"
    opt.show_result(lambda: shown.outcome_record(done, plan), lambda: [written])


def _answer(table: Path, plan: Any, output: Path | None, options: dict[str, Any]) -> None:
    """Answer guidance for a table's records, or let them wait."""
    guidance_path, folder = options.pop("guidance_path"), options.pop("wait")
    if (guidance_path is None and folder is None) or (guidance_path is not None and output is None):
        raise click.UsageError(
            "give --guidance and --output, or --wait alone; with all three, what cannot be sent waits"
        )
    try:
        if guidance_path is None or output is None:
            raise ap.guided.LevelError("no guidance so far")
        progress = opt.Progress().stage("answering", in_bytes=True)
        guidance = ap.guided.read_guidance(guidance_path)
        done = ap.randomize(table, plan, output, guidance=guidance, progress=progress, **options)
    except ap.guided.LevelError as level:
        if folder is None or table.is_dir():
            raise
        reason = str(level).partition(";")[0]
        waiting = ap.guided.wait(table, plan, folder, separator=options["separator"], missing=options["missing"])
        opt.show_result(
            lambda: ap.show.guided.waiting_record(waiting, plan),
            lambda: ap.show.guided.waiting_lines(waiting, folder, reason),
        )
        return
    opt.show_result(
        lambda: ap.show.guided.answer_record(done, plan), lambda: ap.show.guided.answer_lines(done, plan, output)
    )


@opt.command()
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
    asked = {name: device.pop(name) for name in ("plan_id", "key_file", "max_level", "insecure")}
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
    return ap.Collector(url, key, asked["insecure"])


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
