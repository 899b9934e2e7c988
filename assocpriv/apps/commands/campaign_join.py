"""The command campaign join: a later round's plan."""

from pathlib import Path

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, WholeRange, json_option


@click.command()
@click.argument("folder", type=PATH)
@click.argument("plan", type=PATH)
@click.option(
    "--round", "number", metavar="N", type=WholeRange(1), help="Its round.  [default: the next without a plan]"
)
@json_option
def join(folder: Path, plan: Path, number: int | None) -> None:
    """Give a round of the campaign in FOLDER its PLAN; a collector that serves the folder takes it up.

    \b
    Example:
      assocpriv campaign join campaign plan2.json --round 2
    """
    from assocpriv.apps.render.campaigns import campaign_lines, campaign_record
    from assocpriv.campaigns import join as run
    from assocpriv.campaigns import read_plan

    there = run(folder, read_plan(plan), round_number=number)
    show_result(lambda: campaign_record(there), lambda: campaign_lines(there))
