"""The command numeric randomize: the clients' side of tables, in bulk."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import say, show_result
from assocpriv.apps.options import OUTPUT, PATH, memory_option, plan_option, result_options, separator_option
from assocpriv.apps.progress import Progress
from assocpriv.promise.errors import counted


@click.command()
@click.argument("table", type=PATH)
@plan_option
@click.option("-o", "--output", type=OUTPUT, required=True, help="Report file to write (Parquet).")
@click.option("--clip", is_flag=True, help="Move values outside a column's range to its ends, instead of an error.")
@click.option(
    "--missing", metavar="WORD", multiple=True, help="A word that stands for a missing value, as ?; may be repeated."
)
@separator_option
@memory_option
@result_options
def randomize(table: Path, plan_path: Path, output: Path, memory: int | None, force: bool, **reading: Any) -> None:
    """Randomize TABLE, a record a person: the clients' side, in bulk, with the operating system's entropy.

    TABLE is CSV with a header line, or Parquet. Files of any size are read, randomized and written batch by batch.

    \b
    Example:
      assocpriv numeric randomize table.csv --plan plan.json -o released.parquet
    """
    from assocpriv.apps.render.tables import outcome_lines, outcome_record
    from assocpriv.numeric import check_writable, randomize_file, read_plan

    plan = read_plan(plan_path)
    check_writable(output, force=force, inputs=[table, plan_path])
    progress = Progress().stage("randomizing", in_bytes=True)
    done = randomize_file(table, plan, output, memory_bytes=memory, force=force, progress=progress, **reading)
    say(outcome_lines(done, plan))
    show_result(
        lambda: outcome_record(done, plan),
        lambda: [f"{counted(done.records, 'report')} of {counted(plan.report_bytes, 'byte')} written to {output}"],
    )
