"""Kinds of plans: how a plan of each kind is described.

A new kind is a line here; what it names is loaded when a plan of the kind is at hand.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from assocpriv.plans.kind import load
from assocpriv.promise.errors import PlanError


class Description(NamedTuple):
    """Something as JSON content and as text, whichever is asked for."""

    record: Callable[[], dict[str, Any]]
    lines: Callable[[], list[str]]


_BASKETS = (  # (plan, reports) -> what so many reports can show; this as JSON content; and as text
    "assocpriv.baskets:foresee", "assocpriv.apps.render.plan:plan_record", "assocpriv.apps.render.plan:plan_lines",
)  # fmt: skip
_TABLES = (
    "assocpriv.numeric:foresee", "assocpriv.apps.render.table_plan:plan_record",
    "assocpriv.apps.render.table_plan:plan_lines",
)  # fmt: skip
_GUIDED = (
    "assocpriv.guidance:foresee", "assocpriv.apps.render.guided_plan:plan_record",
    "assocpriv.apps.render.guided_plan:plan_lines",
)  # fmt: skip
KINDS = {"select-a-size": _BASKETS, "fixed-size": _BASKETS, "table": _TABLES, "guided": _GUIDED}


def describe_plan(plan: Any, reports: int) -> Description:
    """Return both ways to describe a plan, and what so many reports of it can show.

    Raises:
        PlanError: plans of its kind are not known here.
    """
    if plan.kind not in KINDS:
        raise PlanError(f"plans of the kind {plan.kind} cannot be described here; a newer release may know how")
    foresee, record, lines = map(load, KINDS[plan.kind])
    prospects = foresee(plan, reports)
    if plan.amplification is not None:
        return Description(lambda: record(prospects), lambda: lines(prospects))
    return Description(
        lambda: record(prospects) | {"amplification": None},
        lambda: [f"no γ        {plan.unbounded}", *lines(prospects)],
    )
