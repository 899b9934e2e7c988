"""Commands of clients: randomize, for many records, and report, for one device with its budget ledger."""

import sys
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_MOST_BYTES = 1 << 24  # of a record


_TAKES = {  # further options of randomize for a plan type
    "baskets": ("incomplete", "unknown", "repeats", "empty", "person", "person_as", "rounds"),
    "table": ("missing", "clip"),
    "guided": ("missing", "guidance", "max_level", "announced_level", "queue"),
}
_GUARANTEE = ("prior", "posterior", "epsilon")
_SENDING = ("url", "relay", "plan_id", "key_file")
_USES = {  # modes of report, and the options of each
    "--spent": _GUARANTEE,
    "--queued": _SENDING,
    "sending": (*_SENDING, *_GUARANTEE, "period", "empty", "max_level"),
    "writing": ("plan_path", *_GUARANTEE, "period", "empty", "output", "force"),
}


@opt.command()
@click.argument("records", type=opt.PATH, nargs=-1, required=True)
@opt.plan_option
@click.option("-o", "--output", type=opt.OUTPUT, help="Report file to write (.parquet; under guidance also .jsonl).")
@opt.reading_options
@opt.rules_options
@click.option("--person", metavar="NAME", help="Column of persons; limits the reports of each.")
@click.option("--rounds", type=opt.WholeRange(1, 2), help="2: both rounds, to a folder -o.  [default: 1]")
@opt.missing_option
@opt.clip_option
@click.option("--guidance", type=opt.PATH, help="Published guidance file, for a guided plan.")
@opt.advanced_options(
    opt.choice("--person-as", ["checked", "written"], "Several spellings of a person id: refuse, or treat as persons."),
    click.option("--max-level", metavar="K", type=opt.WholeRange(1), help="Highest guidance level k* to answer."),
    click.option("--announced-level", metavar="K", type=opt.WholeRange(1), help="Level announced before the guidance."),
    click.option("--queue", type=opt.OUTPUT, help="New folder to queue records in, encrypted, for a lower level."),
    opt.memory_option,
)
def randomize(records: tuple[Path, ...], plan_path: Path, output: Path | None, **options: Any) -> None:
    """Randomize many records into reports, one report for each.

    RECORDS are files of baskets or, for a plan of a table, one file with a record for each person. A transaction id in
    several files is one basket. Records with guidance above --max-level get no report, or are queued (--queue).

    \b
    Example:
      assocpriv randomize baskets.csv --plan plan.json -o reports.parquet
      assocpriv randomize baskets.csv --plan plan.json --rounds 2 -o reports
      assocpriv randomize table.csv --plan table-plan.json --missing ? -o released.parquet
      assocpriv randomize table.csv --plan guided.json --guidance guidance.json -o released.parquet

    Next: assocpriv mine reports.parquet
    """
    plan = opt.read_plan(plan_path, records)
    own = opt.of_kind(options, plan.kind, _TAKES)
    if plan.kind != "guided":
        opt.require(("output",))
    if own.pop("rounds", None) == 2:
        _randomize_rounds(records, plan, output, own)
        return
    opt.check_output(output, options["force"], [*records, plan_path])
    if plan.kind == "baskets":
        _randomize(records, plan, output, own, ap.show.collection_views)
        return
    if len(records) > 1:
        raise click.UsageError(f"a plan of type {plan.kind} needs one file of records, got {len(records)}")
    own |= opt.table_reading(own)
    if plan.kind == "guided":
        _answer(records[0], plan, output, own)
    else:
        _randomize(records[0], plan, output, own, ap.show.table_views)


def _randomize(records: Any, plan: Any, output: Path | None, options: dict[str, Any], shown: Any) -> None:
    progress = opt.text.Progress().stage("randomizing", in_bytes=True)
    done = ap.randomize(records, plan, output, progress=progress, **options)
    opt.show(shown.randomized(done, plan, output))


def _randomize_rounds(records: Any, plan: Any, folder: Path | None, options: dict[str, Any]) -> None:
    """Randomize baskets in both rounds of a collection, to a folder."""
    assert folder is not None
    memory = options.pop("memory_bytes")
    if memory is not None:
        opt.refuse_given(("memory_bytes",), "cannot be combined with --rounds 2, which holds all baskets")
    done = ap.simulation.randomize_in_rounds(records, plan, folder, progress=opt.text.Progress(), **options)
    opt.show(ap.show.collection_views.randomized_rounds(done, folder))


def _answer(table: Path, plan: Any, output: Path | None, options: dict[str, Any]) -> None:
    """Answer guidance for a table's records, or queue them."""
    published, folder = options.pop("guidance"), options.pop("queue")
    if (published is None and folder is None) or (published is not None and output is None):
        raise click.UsageError(
            "give --guidance and --output, or --queue alone; with all three, records above --max-level are queued"
        )
    try:
        if published is None or output is None:
            raise ap.guided.LevelError("no guidance yet")
        progress = opt.text.Progress().stage("answering", in_bytes=True)
        guidance = ap.guided.read_guidance(published)
        done: Any = ap.randomize(table, plan, output, guidance=guidance, progress=progress, **options)
    except ap.guided.LevelError as level:
        if folder is None or table.is_dir():
            raise
        reason = str(level).partition(";")[0]
        reading = {name: options[name] for name in ("separator", "missing", "sheet")}
        queued = ap.guided.queue_records(table, plan, folder, **reading)
        opt.show(ap.show.table_views.queued(queued, plan, folder, reason))
        return
    opt.show(ap.show.table_views.answered(done, plan, output))


@opt.command()
@click.option("--plan", "plan_path", type=opt.PATH, help="Published plan; with --output.")
@click.option("--collector", "url", metavar="URL", help="Collector that publishes the plan and receives the report.")
@click.option("--relay", metavar="URL", help="Relay of another party; #SHA-256 pins the key.")
@click.option("--ledger", type=opt.OUTPUT, required=True, help="Budget ledger of this device; made if missing.")
@click.option("--period", help="Reporting period of the record, as 2026-W47.")
@opt.choice("--empty", ["error", "keep"], "Refuse or report an empty basket.")
@opt.guarantee_options
@click.option("--queued", is_flag=True, help="Send the queued reports; make no new one.")
@click.option("--spent", is_flag=True, help="Show the privacy budget spent; make no report.")
@click.option("--plan-id", metavar="ID", help="Required id of the collector's plan.")
@click.option("--key-file", type=opt.PATH, help="File with the key for the collector.")
@click.option("--max-level", metavar="K", type=opt.WholeRange(1), help="Highest guidance level k*.  [default: any]")
@click.option("-o", "--output", type=opt.OUTPUT, help="File to write the report's bytes to.")
def report(ledger: Path, queued: bool, spent: bool, **options: Any) -> None:
    """Make one report on a device that tracks its privacy budget.

    The record is read from standard input: a basket's names, one on each line, or for a plan of a table one JSON
    object, as {"age": 34, "region": "north"}. The report is sent to a collector or written to a file. The same period
    gets the same report again and spends nothing. A device answers only its first plan; with a guarantee it answers
    others, and all its reports together keep the guarantee.

    \b
    Example:
      printf 'milk\\nbread\\n' |
        assocpriv report --collector https://shop.example --ledger ledger.bin --period 2026-W47
      assocpriv report --collector https://shop.example --ledger ledger.bin --queued
      printf 'milk\\nbread\\n' |
        assocpriv report --plan plan.json --ledger ledger.bin --period 2026-W47 -o report.bin

    Next: assocpriv report --ledger ledger.bin --spent
    """
    use = "--spent" if spent else "--queued" if queued else "writing" if options["url"] is None else "sending"
    if spent:
        opt.refuse_given(("queued",), "does not go with --spent")
    elif (options["url"] is None) == (options["output"] is None):
        raise click.UsageError("give --collector, or --plan and --output")
    device = opt.of_kind(options, use, _USES)
    if use in ("sending", "writing"):
        opt.require(("period", "plan_path") if use == "writing" else ("period",))
    if use == "--queued":
        _send_queued(ledger=ledger, **device)
        return
    limit = opt.take_guarantee(device)
    if use == "--spent":
        opt.show(ap.show.collection_views.spent(ap.device.spent_budget(ledger, limit=limit)))
    elif use == "writing":
        _write(ledger=ledger, limit=limit, **device)
    else:
        _send(ledger=ledger, limit=limit, **device)


def _write(plan_path: Path, output: Path, **device: Any) -> None:
    plan = ap.read_plan(plan_path)
    done = ap.device.report(_record(), plan, output=output, inputs=[plan_path], **device)
    opt.show(ap.show.collection_views.device(done, output))


def _send(url: str, relay: str | None, key_file: Path | None, **device: Any) -> None:
    done = ap.collect.send_report(_record(), _collector(url, relay, key_file), **device)
    opt.show(ap.show.collection_views.sent(done, url))


def _send_queued(url: str, relay: str | None, key_file: Path | None, **device: Any) -> None:
    done = ap.collect.send_queued(_collector(url, relay, key_file), **device)
    opt.show(ap.show.collection_views.queue_sent(done, url))


def _collector(url: str, relay: str | None, key_file: Path | None) -> "ap.device.Collector":
    address, pinned, digests = (relay or "").partition("#")
    key = None if key_file is None else ap.collect.read_key(key_file)
    return ap.device.Collector(url, key, relay=address or None, pinned_keys=digests.split(",") if pinned else ())


def _record() -> bytes:
    """Return the text of a record from standard input."""
    if sys.stdin is None:  # the parent process closed it
        raise click.UsageError("standard input is closed; give the record there: a basket's names, one on each line")
    return sys.stdin.buffer.read(_MOST_BYTES + 1)
