"""The command privacy: what a plan proves."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import refuse_given, show_result
from assocpriv.apps.options import PATH, WHOLE, WholeRange, json_option


@click.command()
@click.argument("plan", type=PATH, nargs=-1)
@click.option("--prior", "priors", multiple=True, help="Belief to show in the table, as 1% or 0.01; may be repeated.")
@click.option(
    "--times",
    "--reports-per-person",
    "times",
    type=WHOLE,
    multiple=True,
    help="Reports of one person, 52 for a year of weeks: once for all plans, or once for each.  [default: the plan's]",
)
@click.option(
    "--shuffled",
    type=WholeRange(1, 10**12),
    metavar="N",
    help="Add what holds if a trusted channel mixes N people's reports.",
)
@click.option("--delta", help="δ of that guarantee.  [default: 1e-9]")
@click.option("--explain", is_flag=True, help="Say plainly what promises mean and cost: PLAN's, or some to choose.")
@json_option
def privacy(plan: tuple[Path, ...], explain: bool, **options: Any) -> None:
    """Say what PLAN proves: how far beliefs can move, what several reports tell, and information in bits.

    Of several PLANs: what all answers of one person to them tell together. All figures err on the side of less privacy.

    \b
    Example:
      assocpriv privacy --explain
      assocpriv privacy plan.json --prior 1% --prior 10%
      assocpriv privacy plan.json --times 52
      assocpriv privacy weekly.json survey.json --times 52 --times 1
      assocpriv privacy plan.json --reports-per-person 2 --shuffled 1000000
    """
    if explain:
        _explain(plan)
        return
    if not plan:
        raise click.UsageError("give a PLAN, or --explain for promises to choose from")
    if options["delta"] is not None and options["shuffled"] is None:
        raise click.UsageError("--delta goes with --shuffled")
    if len(options["times"]) not in (0, 1, len(plan)):
        raise click.UsageError(f"give --times once for all plans or once for each, {len(plan)} in all")
    from assocpriv.assurance import read_plan
    from assocpriv.baskets import Plan

    plans = [read_plan(path) for path in plan]
    if len(plans) == 1 and isinstance(plans[0], Plan):
        _one(plans[0], **options)
    else:
        _several(plan, plans, **options)


def _explain(paths: tuple[Path, ...]) -> None:
    from assocpriv.apps.render.explain import explain_lines, explain_record
    from assocpriv.assurance import explain_promises
    from assocpriv.baskets import read_plan

    refuse_given(("priors", "times", "shuffled", "delta"), "does not go with --explain")
    if len(paths) > 1:
        raise click.UsageError("--explain goes with one PLAN, or without any")
    explained = explain_promises(*(read_plan(path) for path in paths))
    show_result(lambda: explain_record(explained), lambda: explain_lines(explained))


def _one(plan: Any, times: tuple[int, ...], delta: str | None, **options: Any) -> None:
    from assocpriv.apps.render.privacy import privacy_lines, privacy_record
    from assocpriv.assurance import DEFAULT_DELTA, describe_privacy

    count, delta_asked = times[0] if times else None, DEFAULT_DELTA if delta is None else delta
    proved = describe_privacy(plan, reports_per_person=count, delta=delta_asked, **options)
    show_result(lambda: privacy_record(proved), lambda: privacy_lines(proved))


def _several(
    paths: tuple[Path, ...], plans: list[Any], priors: tuple[str, ...], times: tuple[int, ...], **_options: Any
) -> None:
    from assocpriv.apps.render.privacy import budget_lines, budget_record
    from assocpriv.assurance import describe_budget

    refuse_given(("shuffled",), "goes with one PLAN, of baskets")
    counts = times * len(plans) if len(times) == 1 else times
    budget = describe_budget(list(zip(plans, counts, strict=True)) if counts else plans, priors)
    names = {plan.plan_id: path.name for plan, path in zip(plans, paths, strict=True)}
    show_result(lambda: budget_record(budget), lambda: budget_lines(budget, names))
