"""The command group guide: guided perturbation, from the miner's plan to collected tuples.

start: a plan and the miner's state, from a public or consented table. publish: the current guidance. collect: released
tuples added to the miner's state.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt


@click.group(cls=opt.Group)
def guide() -> None:
    """Collect mainly the values that help to predict a chosen column.

    A miner publishes guidance: directions in which classes differ. People release their records in these directions
    only.

    \b
    Example, from a plan to collected tuples:
      assocpriv guide start sample.csv --class party -o plan.json --state state.json
      assocpriv guide publish state.json -o guidance.json
      assocpriv randomize table.csv --plan plan.json --guidance guidance.json -o released.parquet
      assocpriv guide collect released.parquet --state state.json

    Next: assocpriv guide start
    """


@guide.command()
@click.argument("table", type=opt.PATH, required=False)
@opt.class_option
@click.option("--schema", type=opt.PATH, help="Schema (TOML) with values and ranges, instead of TABLE's.")
@opt.missing_option
@opt.layout_option
@opt.usual("--mu", metavar="SHARE", default="15%", help="Ignore class differences below this share of the largest.")
@opt.usual("--batch", metavar="N", default=20, help="Tuples between two guidances.")
@opt.guarantee_options
@opt.choice("--keep", ["bits", "tuple"], "Mechanism of the guarantee: random bits, or random tuples.")
@click.option("--known", is_flag=True, help="Start with TABLE's records as known tuples.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Plan file to write (JSON).")
@click.option("--state", type=opt.OUTPUT, required=True, help="State file to write (JSON).")
def start(table: Path | None, schema: Path | None, output: Path, state: Path, force: bool, **options: Any) -> None:
    """Write a guided plan and the miner's first state.

    TABLE holds public records or records of people who consented: the plan publishes its values and quartiles. With
    --schema the plan publishes no value of TABLE, and TABLE may be left out. The class is collected raw. Without
    --prior and --posterior, or --epsilon, there is no privacy guarantee.

    \b
    Example:
      assocpriv guide start sample.csv --class party --missing ? -o plan.json --state state.json
      assocpriv guide start sample.csv --class party --epsilon 2 -o plan.json --state state.json
      assocpriv guide start --schema schema.toml --class party -o plan.json --state state.json

    Next: assocpriv guide publish state.json -o guidance.json
    """
    if table is None and (schema is None or options["known"]):
        raise click.UsageError("give TABLE, whose values the plan publishes, or --schema without --known")
    for path in (output, state):
        opt.check_output(path, force, [table, schema])
    reading = opt.table_reading(options)
    made = ap.guided.start(table, schema=schema, guarantee=opt.take_guarantee(options), **options, **reading)
    ap.guided.write_state(made, state, force=force)
    ap.write_plan(made.plan, output, force=force)
    opt.show(ap.show.guided_views.started(made, output, state, is_of_table=schema is None))


@guide.command()
@click.argument("state", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Guidance file to write (JSON).")
@click.option("--level", type=opt.WholeRange(1), help="Number of directions.  [default: those above --mu]")
def publish(state: Path, output: Path, level: int | None, force: bool) -> None:
    """Write the current guidance to a file and to the state.

    STATE is the miner's state. New guidance is made once a batch of tuples has arrived since the last; before that the
    last is written again. The command also prints the estimated accuracy of other levels.

    \b
    Example:
      assocpriv guide publish state.json -o guidance.json

    Next: assocpriv randomize table.csv --plan plan.json --guidance guidance.json -o released.parquet
    """
    with opt.Progress.while_busy("finding directions in which classes differ"):
        done, new = ap.guided.publish_file(state, output, level=level, force=force)
        accuracies = ap.guided.estimate_accuracy(done)
    opt.show(ap.show.guided_views.published(done, accuracies, new, output))


@guide.command(takes=["json"])
@opt.reports_argument
@click.option("--state", type=opt.PATH, required=True, help="State file to update.")
def collect(reports: tuple[Path, ...], state: Path) -> None:
    """Add released tuples to the miner's state.

    REPORTS are files of reports, folders of them, or messages (.jsonl). All are added, or none. In a folder, also that
    of a running collection, files that were collected before are skipped.

    \b
    Example:
      assocpriv guide collect released.parquet --state state.json

    Next: assocpriv guide publish state.json -o guidance.json --force
    """
    with opt.Progress.while_busy("adding up"):
        done = ap.guided.collect_files(reports, state)
    opt.show(ap.show.guided_views.collected(done))
