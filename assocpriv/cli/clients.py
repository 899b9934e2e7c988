"""The clients' side of baskets: the commands randomize, in bulk, or report, for one device with its ledger."""

import sys
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_MOST_BYTES = 1 << 24  # of a record


_TAKES = {  # which options of randomize a kind of plan has, beside those of all
    "baskets": ("incomplete", "unknown", "repeats", "empty", "person", "person_as"),
    "table": ("missing", "clip"),
    "guided": ("missing", "guidance", "max_level", "announced", "wait"),
}
_PROMISE = ("prior", "posterior", "epsilon")
_SENDING = ("url", "relay", "plan_id", "key_file")
_USES = {  # of report, and which options each has
    "--told": _PROMISE,
    "--unsent": _SENDING,
    "sending": (*_SENDING, *_PROMISE, "occasion", "empty", "max_level"),
    "writing": ("plan_path", *_PROMISE, "occasion", "empty", "output", "force"),
}


@opt.command()
@click.argument("records", type=opt.PATH, nargs=-1, required=True)
@opt.plan_option
@click.option("-o", "--output", type=opt.OUTPUT, help="Report file to write (.parquet; under guidance also .jsonl).")
@opt.reading_options
@opt.rules_options
@click.option("--person", metavar="NAME", help="Column that says whose a transaction is: as many of one as promised.")
@opt.missing_option
@opt.clip_option
@click.option("--guidance", type=opt.PATH, help="Under guidance: what the miner published.")
@opt.rare(
    opt.choice("--person-as", ["checked", "written"], "Several spellings of a person: refused, or other people."),
    click.option("--max-level", metavar="K", type=opt.WholeRange(1), help="Highest level k* of guidance to answer."),
    click.option("--announced", metavar="K", type=opt.WholeRange(1), help="Level announced before the guidance came."),
    click.option("--wait", type=opt.OUTPUT, help="Folder in which records wait, encrypted, for a lower level."),
    opt.memory_option,
)
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
    opt.check_output(output, options["force"], [*records, plan_path])
    if plan.kind == "baskets":
        _randomize(records, plan, output, own, ap.show.collections)
        return
    if len(records) > 1:
        raise click.UsageError(f"a plan of the kind {plan.kind} takes one file of records, got {len(records)}")
    own |= opt.table_reading(own)
    if plan.kind == "guided":
        _answer(records[0], plan, output, own)
    else:
        _randomize(records[0], plan, output, own, ap.show.tables)


def _randomize(records: Any, plan: Any, output: Path | None, options: dict[str, Any], shown: Any) -> None:
    progress = opt.Progress().stage("randomizing", in_bytes=True)
    done = ap.randomize(records, plan, output, progress=progress, **options)
    opt.show(shown.randomized(done, plan, output))


def _answer(table: Path, plan: Any, output: Path | None, options: dict[str, Any]) -> None:
    """Answer guidance for a table's records, or let them wait."""
    published, folder = options.pop("guidance"), options.pop("wait")
    if (published is None and folder is None) or (published is not None and output is None):
        raise click.UsageError(
            "give --guidance and --output, or --wait alone; with all three what cannot be sent waits"
        )
    try:
        if published is None or output is None:
            raise ap.guided.LevelError("no guidance so far")
        progress = opt.Progress().stage("answering", in_bytes=True)
        guidance = ap.guided.read_guidance(published)
        done = ap.randomize(table, plan, output, guidance=guidance, progress=progress, **options)
    except ap.guided.LevelError as level:
        if folder is None or table.is_dir():
            raise
        reason = str(level).partition(";")[0]
        reading = {name: options[name] for name in ("separator", "missing", "sheet")}
        waiting = ap.guided.wait(table, plan, folder, **reading)
        opt.show(ap.show.guided.waiting(waiting, plan, folder, reason))
        return
    opt.show(ap.show.guided.answered(done, plan, output))


@opt.command()
@click.option("--plan", "plan_path", type=opt.PATH, help="The published plan; with --output.")
@click.option("--collector", "url", metavar="URL", help="Where to ask for the plan, and to send the report.")
@click.option("--relay", metavar="URL", help="Somebody else's relay to send through; #SHA-256 pins the key.")
@click.option("--ledger", type=opt.OUTPUT, required=True, help="What this device told; made if missing.")
@click.option("--occasion", help="What the record is of, as 2026-W47; one report each.")
@opt.choice("--empty", ["error", "keep"], "An empty basket: refused, or reported.")
@opt.promise_options
@click.option("--unsent", is_flag=True, help="Send the reports that wait for the collector, and make none.")
@click.option("--told", is_flag=True, help="Say what all reports made so far can have told, and make none.")
@click.option("--plan-id", metavar="ID", help="Id of the plan that the collector must have.")
@click.option("--key-file", type=opt.PATH, help="File with the key that the collector asks for.")
@click.option("--max-level", metavar="K", type=opt.WholeRange(1), help="Highest level k* of guidance.  [default: any]")
@click.option("-o", "--output", type=opt.OUTPUT, help="File for the report's bytes, which are to be sent.")
def report(ledger: Path, unsent: bool, told: bool, **options: Any) -> None:
    """Make one record's report on a device that keeps count of what it told, and send it or write it.

    The record stands on standard input: a basket's names, one a line, or for a plan of a table one JSON object, as
    {"age": 34, "region": "north"}. The same occasion gets the same report again, for free. A device answers
    the first plan for life; a promise lets it answer others, and all its reports keep it.

    \b
    Example:
      printf 'milk\\nbread\\n' |
        assocpriv report --collector https://shop.example --ledger ledger.bin --occasion 2026-W47
      assocpriv report --collector https://shop.example --ledger ledger.bin --unsent
      printf 'milk\\nbread\\n' |
        assocpriv report --plan plan.json --ledger ledger.bin --occasion 2026-W47 -o report.bin
      assocpriv report --ledger ledger.bin --told
    """
    use = "--told" if told else "--unsent" if unsent else "writing" if options["url"] is None else "sending"
    if told:
        opt.refuse_given(("unsent",), "does not go with --told")
    elif (options["url"] is None) == (options["output"] is None):
        raise click.UsageError("give --collector, or --plan and --output")
    device = opt.of_kind(options, use, _USES)
    if use in ("sending", "writing"):
        opt.require(("occasion", "plan_path") if use == "writing" else ("occasion",))
    if use == "--unsent":
        _send_unsent(ledger=ledger, **device)
        return
    limit = opt.take_promise(device)
    if use == "--told":
        opt.show(ap.show.collections.told(ap.told(ledger, limit=limit)))
    elif use == "writing":
        _write(ledger=ledger, limit=limit, **device)
    else:
        _send(ledger=ledger, limit=limit, **device)


def _write(plan_path: Path, output: Path, **device: Any) -> None:
    plan = ap.read_plan(plan_path)
    done = ap.report(_record(), plan, output=output, inputs=[plan_path], **device)
    opt.show(ap.show.collections.device(done, output))


def _send(url: str, relay: str | None, key_file: Path | None, **device: Any) -> None:
    done = ap.collect.send_report(_record(), _collector(url, relay, key_file), **device)
    opt.show(ap.show.collections.sent(done, url))


def _send_unsent(url: str, relay: str | None, key_file: Path | None, **device: Any) -> None:
    done = ap.collect.send_unsent(_collector(url, relay, key_file), **device)
    opt.show(ap.show.collections.waiting(done, url))


def _collector(url: str, relay: str | None, key_file: Path | None) -> "ap.Collector":
    address, pinned, digests = (relay or "").partition("#")
    key = None if key_file is None else ap.collect.read_key(key_file)
    return ap.Collector(url, key, relay=address or None, pinned_keys=digests.split(",") if pinned else ())


def _record() -> bytes:
    """Return a record as text, from standard input."""
    if sys.stdin is None:  # closed by whoever started this
        raise click.UsageError("standard input is closed; give the record there: a basket's names, one a line")
    return sys.stdin.buffer.read(_MOST_BYTES + 1)
