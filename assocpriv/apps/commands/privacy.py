"""The command privacy: what a plan proves."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, json_option


@click.command()
@click.argument("plan", type=PATH)
@click.option("--prior", "priors", multiple=True, help="Belief to show in the table, as 1% or 0.01; may be repeated.")
@click.option("--reports-per-person", type=int, help="Show R reports of a person together.  [default: the plan's]")
@click.option(
    "--shuffled",
    type=click.IntRange(1, 10**12),
    metavar="N",
    help="Add what holds if a trusted channel mixes N people's reports.",
)
@click.option("--delta", type=click.FloatRange(1e-90, 1, max_open=True), help="δ of that guarantee.  [default: 1e-9]")
@json_option
def privacy(plan: Path, delta: float | None, **options: Any) -> None:
    """Say what PLAN proves: how far beliefs can move, what several reports tell, and information in bits.

    All figures err on the side of less privacy.

    \b
    Example:
      assocpriv privacy plan.json --prior 1% --prior 10%
      assocpriv privacy plan.json --reports-per-person 2 --shuffled 1000000
    """
    from assocpriv.apps.render.privacy import privacy_lines, privacy_record
    from assocpriv.assurance import DEFAULT_DELTA, describe_privacy
    from assocpriv.baskets import read_plan

    if delta is not None and options["shuffled"] is None:
        raise click.UsageError("--delta goes with --shuffled")
    published = read_plan(plan)
    proved = describe_privacy(published, delta=DEFAULT_DELTA if delta is None else delta, **options)
    show_result(lambda: privacy_record(proved), lambda: privacy_lines(proved))
