"""What a plan of guided perturbation promises, as JSON content and as text. Figures of privacy err against us."""

from typing import Any

from assocpriv.apps.render.figures import becomes, fields, figure, figure_up, percent_as_given, percent_within
from assocpriv.apps.render.plan import promise_record
from assocpriv.planning.tables import GuidedFacts
from assocpriv.plans.tables import shortened
from assocpriv.promise.breaches import epsilon, format_fraction, highest_posterior
from assocpriv.promise.errors import counted

_INDENT = " " * 12


def plan_record(facts: GuidedFacts) -> dict[str, Any]:
    """Return what a plan promises, for ``--json``."""
    plan, gamma, together = facts.plan, facts.plan.amplification, facts.plan.composed_amplification
    share = facts.random_share
    return {
        "plan_id": plan.plan_id,
        "plan_kind": plan.kind,
        "promise": plan.promise and promise_record(plan.promise),
        "amplification_limit": plan.promise and format_fraction(plan.promise.amplification_limit),
        "amplification": gamma and format_fraction(gamma),
        "epsilon": None if gamma is None else epsilon(gamma),
        "composed_amplification": together and format_fraction(together),
        **fields(plan, "keep reports_per_person uncovered report_bytes width batch order"),
        "random_share": None if share is None else float(share),
        "mu": float(plan.mu),
        "class": {"name": plan.label.name, "labels": list(plan.labels)},
        "attributes": [{"name": column.name, "values": column.inputs} for column in plan.attributes],
        "reports": facts.reports,
        "guidances": facts.guidances,
    }


def plan_lines(facts: GuidedFacts) -> list[str]:
    """Say what a plan promises."""
    plan = facts.plan
    names = [column.name for column in plan.attributes]
    order = "magnitude" if plan.order == "magnitude" else "value, as the paper prints it"
    return [
        f"plan        {plan.plan_id}",
        f"{_INDENT}{counted(len(names), 'attribute')} of {plan.width} values; a report has "
        f"{counted(plan.report_bytes, 'byte')}",
        *_promise_lines(facts),
        f"attributes  {shortened(names)}",
        f"in clear    the class {plan.label.name}: {shortened(plan.labels)}",
        f"guidance    of eigenvalues above {percent_as_given(float(plan.mu))} of the largest, by {order};",
        f"{_INDENT}new after every {counted(plan.batch, 'report')}, {counted(facts.guidances, 'time')} in "
        f"{counted(facts.reports, 'report')}",
    ]


def _promise_lines(facts: GuidedFacts) -> list[str]:
    plan, promise = facts.plan, facts.plan.promise
    gamma, together = plan.amplification, plan.composed_amplification
    if gamma is None or together is None or promise is None:
        return []
    who = "no report lifts a" if plan.reports_per_person == 1 else f"{plan.reports_per_person:,} reports lift no"
    lines = [
        f"promise     whatever the guidance: {who} belief from {percent_within(promise.prior, up=False)} to "
        f"{percent_within(promise.posterior, up=True)},",
        f"{_INDENT}{becomes(promise.prior, highest_posterior(promise.prior, together), promise.posterior)}",
        f"{_INDENT}γ < {figure_up(float(promise.amplification_limit))}, ε = ln γ ≤ {figure_up(epsilon(together))}",
    ]
    if plan.reports_per_person > 1:
        lines.append(f"{_INDENT}one report alone: γ ≤ {figure(gamma)}, ε ≤ {figure_up(epsilon(gamma))}")
    return [*lines, f"kept        {_kept(facts)}"]


def _kept(facts: GuidedFacts) -> str:
    if facts.random_share is None:
        return "by coins in every bit, as many as the guidance needs"
    return f"by {figure(facts.random_share * 100)}% of reports that answer for a random tuple"
