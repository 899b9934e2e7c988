"""Kinds of plans: how a plan of each kind is described.

A new kind is a line here; what it names is loaded when a plan of the kind is at hand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assocpriv.core.errors import PlanError
from assocpriv.core.loading import load


@dataclass(frozen=True, slots=True)
class PlanKind:
    """How plans of a kind are described.

    Attributes:
        foresee: "module:function" of a door, (plan, reports, group reports) -> what so many reports can show.
        record: "module:function" that returns this as JSON content.
        lines: "module:function" that returns it as text.
    """

    foresee: str
    record: str
    lines: str

    def describe(self, plan: Any, reports: int, group_reports: Any = None) -> "Description":
        """Return both ways to describe a plan, and what so many reports of it can show."""
        prospects = load(self.foresee)(plan, reports, group_reports)
        return Description(lambda: load(self.record)(prospects), lambda: load(self.lines)(prospects))


@dataclass(frozen=True, slots=True)
class Description:
    """Something as JSON content and as text, whichever is asked for."""

    record: Callable[[], dict[str, Any]]
    lines: Callable[[], list[str]]


_BASKETS = PlanKind(
    foresee="assocpriv.baskets:foresee",
    record="assocpriv.apps.render.plan:plan_record",
    lines="assocpriv.apps.render.plan:plan_lines",
)
KINDS = {"select-a-size": _BASKETS, "fixed-size": _BASKETS}


def kind_of(plan: Any) -> PlanKind:
    """Return how a plan is described.

    Raises:
        PlanError: plans of its kind are not known here.
    """
    if plan.kind not in KINDS:
        raise PlanError(f"plans of the kind {plan.kind} are not described here; a newer release may know them")
    return KINDS[plan.kind]
