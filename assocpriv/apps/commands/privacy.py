"""The command privacy: what a plan proves."""

from pathlib import Path

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
def privacy(
    plan: Path,
    priors: tuple[str, ...],
    reports_per_person: int | None,
    shuffled: int | None,
    delta: float | None,
    as_json: bool,
) -> None:
    """Say what PLAN proves: how far beliefs can move, what several reports tell, and information in bits.

    All figures err on the side of less privacy.

    \b
    Example:
      assocpriv privacy plan.json --prior 1% --prior 10%
      assocpriv privacy plan.json --reports-per-person 2 --shuffled 1000000
    """
    from assocpriv.apps.render.privacy import DEFAULT_DELTA, describe_privacy, privacy_lines, privacy_record
    from assocpriv.files.plans import read_plan
    from assocpriv.plans.baskets.plan import Plan

    if delta is not None and shuffled is None:
        raise click.UsageError("--delta goes with --shuffled")
    wishes = {"reports_per_person": reports_per_person, "shuffled": shuffled}
    told = describe_privacy(read_plan(plan, Plan), priors, **wishes, delta=DEFAULT_DELTA if delta is None else delta)
    show_result(as_json, lambda: privacy_record(told), lambda: privacy_lines(told))
