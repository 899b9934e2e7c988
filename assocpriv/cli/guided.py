"""The command group guide: guided perturbation, from the miner's first guidance to what can be learned.

start: a plan and the miner's state, from a table of people who do not mind. publish: what people are to answer now.
answer: the clients' side under guidance. collect: released tuples added to the miner's state.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt


@click.group(cls=opt.Group)
def guide() -> None:
    """Guided perturbation: people release what tells classes apart, and little else.

    \b
    Example, from a miner's first guidance to answers in its state:
      assocpriv guide start sample.csv --class party -o plan.json --state state.json
      assocpriv guide publish state.json -o guidance.json
      assocpriv randomize table.csv --plan plan.json --guidance guidance.json -o released.parquet
      assocpriv guide collect released.parquet --state state.json
    """


@guide.command()
@click.argument("table", type=opt.PATH, required=False)
@opt.class_option
@click.option("--schema", type=opt.PATH, help="TOML of columns, as of plan: values and ranges from it, not from TABLE.")
@opt.missing_option
@opt.layout_option
@opt.usual(
    "--mu", metavar="SHARE", default="15%", help="Differences of classes to this share of the largest are left out."
)
@opt.usual("--batch", metavar="N", default=20, help="Tuples after which guidance is published anew.")
@opt.promise_options
@opt.choice("--keep", ["bits", "tuple"], "How a promise is kept: a coin mixed into every bit, or random tuples.")
@click.option("--known", is_flag=True, help="Start with TABLE's own tuples instead of nobody's.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Plan file to write (JSON).")
@click.option("--state", type=opt.OUTPUT, required=True, help="State file to write (JSON).")
def start(table: Path | None, schema: Path | None, output: Path, state: Path, force: bool, **options: Any) -> None:
    """Make a plan of TABLE's columns, and the state that the miner keeps.

    TABLE holds records of people who do not mind, or public ones: its values and quartiles become public with the plan.
    With --schema none does, and TABLE may be left out. The class is collected in clear. Without --prior and
    --posterior, or --epsilon, nothing is promised.

    \b
    Example:
      assocpriv guide start sample.csv --class party --missing ? -o plan.json --state state.json
      assocpriv guide start sample.csv --class party --epsilon 2 -o plan.json --state state.json
      assocpriv guide start --schema schema.toml --class party -o plan.json --state state.json
    """
    if table is None and (schema is None or options["known"]):
        raise click.UsageError("give TABLE, whose values are published, or a --schema without --known")
    for path in (output, state):
        opt.check_output(path, force, [table, schema])
    reading = opt.table_reading(options)
    made = ap.guided.start(table, schema=schema, promise=opt.take_promise(options), **options, **reading)
    ap.guided.write_state(made, state, force=force)
    ap.write_plan(made.plan, output, force=force)
    opt.show(ap.show.guided.started(made, output, state, is_of_table=schema is None))


@guide.command()
@click.argument("state", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Guidance file to write (JSON).")
@click.option("--level", type=opt.WholeRange(1), help="Ask for so many directions, not those that --mu needs.")
def publish(state: Path, output: Path, level: int | None, force: bool) -> None:
    """Write the guidance that people are to answer now, and note it in STATE.

    It changes once a batch of tuples has come in since the last; before that the last is written again. What other
    levels would be worth is estimated from what came in.

    \b
    Example:
      assocpriv guide publish state.json -o guidance.json
    """
    with opt.Progress.while_busy("finding what tells classes apart"):
        done, new = ap.guided.publish_file(state, output, level=level, force=force)
        worth = ap.guided.worth(done)
    opt.show(ap.show.guided.published(done, worth, new, output))


@guide.command(takes=["json"])
@opt.reports_argument
@click.option("--state", type=opt.PATH, required=True, help="The miner's state; replaced whole, or left as it is.")
def collect(reports: tuple[Path, ...], state: Path) -> None:
    """Add released tuples to the miner's state: REPORTS are files of reports, folders of them, or messages (.jsonl).

    Of a folder, a running collection's too, files that were collected before are passed over.

    \b
    Example:
      assocpriv guide collect released.parquet --state state.json
    """
    with opt.Progress.while_busy("adding up"):
        done = ap.guided.collect_files(reports, state)
    opt.show(ap.show.guided.collected(done))
