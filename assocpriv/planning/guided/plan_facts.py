"""What a plan of guided perturbation promises, whatever guidance its miner publishes."""

from dataclasses import dataclass
from fractions import Fraction

from assocpriv.plans.guided import TUPLE_BITS, GuidedPlan, TupleMix
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import check_whole


@dataclass(frozen=True, slots=True)
class GuidedFacts:
    """A plan, and what so many reports make of it."""

    plan: GuidedPlan
    reports: int

    @property
    def guidances(self) -> int:
        """How often guidance is published while so many reports come in."""
        return -(-self.reports // self.plan.batch)

    @property
    def random_share(self) -> Fraction | None:
        """q, the share of reports that answer for a random tuple; None where the promise is not kept so."""
        safeguard = self.plan.safeguard
        return 1 - Fraction(safeguard.honest, 1 << TUPLE_BITS) if isinstance(safeguard, TupleMix) else None


def foresee_guided(plan: GuidedPlan, reports: int) -> GuidedFacts:
    """Return what a plan promises; PlanError for fewer reports than one."""
    if check_whole("reports", reports) < 1:
        raise PlanError(f"reports must be at least 1, got {reports}")
    return GuidedFacts(plan, reports)
