"""The command randomize: the clients' side, in bulk."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import say, show_result
from assocpriv.apps.options import OUTPUT, PATH, basket_options, memory_option, plan_option, result_options
from assocpriv.apps.progress import Progress
from assocpriv.promise.errors import counted


@click.command()
@click.argument("baskets", type=PATH)
@plan_option
@click.option("-o", "--output", type=OUTPUT, required=True, help="Report file to write (Parquet).")
@basket_options
@memory_option
@result_options
def randomize(baskets: Path, plan_path: Path, output: Path, memory: int | None, force: bool, **reading: Any) -> None:
    """Randomize BASKETS: the clients' side, in bulk, with the operating system's entropy.

    Files of any size are read, randomized and written batch by batch.

    \b
    Example:
      assocpriv randomize baskets.csv --plan plan.json -o reports.parquet
    """
    from assocpriv.apps.render.sizes import outcome_lines
    from assocpriv.baskets import check_writable, randomize_file, read_plan

    plan = read_plan(plan_path)
    check_writable(output, force=force, inputs=[baskets, plan_path])
    progress = Progress().stage("randomizing", in_bytes=True)
    done = randomize_file(baskets, plan, output, memory_bytes=memory, force=force, progress=progress, **reading)
    say(outcome_lines(done, plan))
    show_result(
        lambda: {
            "plan_id": plan.plan_id,
            "reports": done.counts.baskets,
            "report_bytes": plan.report_bytes,
            "sampled_baskets": done.loss.sampled,
            "expected_support_lost": {str(k): share for k, share in done.loss.shares.items()},
        },
        lambda: [
            f"{counted(done.counts.baskets, 'report')} of {counted(plan.report_bytes, 'byte')} written to {output}"
        ],
    )
