"""What a number of reports of a plan can show, and what liars among them can do, before anybody has reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from assocpriv.core.errors import PlanError
from assocpriv.planning.privacy_facts import composed_amplification_up
from assocpriv.plans.baskets.plan import IN_CLEAR, Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.server.crafted.influence import Liars, liars_among, most_targets
from assocpriv.server.estimates.limits import DiscoverableSupports, discoverable_supports
from assocpriv.server.estimates.supports import Group, foreseen_error
from assocpriv.server.itemsets.apriori import UNDECIDABLE_BELOW


@dataclass(frozen=True, slots=True)
class Prospects:
    """What N reports of a plan can show; γ composed is rounded up, ``liars`` as of :func:`liars_among`.

    Attributes:
        most_targets: how many items one crafted report can show at once.
        least_min_supports: by itemset size, the least minimum support that mining would not call undecidable.
        groups: with sizes in clear, the same of each size, were all N reports of it.
        group_reports: with sizes in clear, how many reports there are of each; None if that is not known.
    """

    plan: Plan
    reports: int
    composed_amplification: Fraction
    discoverable: DiscoverableSupports
    liars: dict[int, Liars | None]
    most_targets: int
    least_min_supports: dict[int, float]
    groups: "tuple[Prospects, ...]" = ()
    group_reports: tuple[int, ...] | None = None


def foresee(plan: Plan, reports: int, group_reports: Sequence[int] | None = None) -> Prospects:
    """Return what so many reports of a plan can show.

    Args:
        plan: the plan.
        reports: N, at least 1.
        group_reports: with sizes in clear, how many reports there are of each size; all of the largest by default.

    Raises:
        PlanError: fewer reports than one.
    """
    if reports < 1:
        raise PlanError(f"reports must be at least 1, got {reports}")
    groups, mined = [Group(reports, SupportModel.of(plan.operator))], 1 if plan.view.itemsets else plan.itemset_size
    return Prospects(
        plan=plan,
        reports=reports,
        composed_amplification=composed_amplification_up(plan),
        discoverable=discoverable_supports(plan, reports, group_reports),
        liars=liars_among(plan, reports),
        most_targets=most_targets(plan),
        least_min_supports={k: UNDECIDABLE_BELOW * foreseen_error(groups, k, 0.0) for k in range(1, mined + 1)},
        groups=tuple(foresee(group, reports) for group in plan.groups) if plan.sizes == IN_CLEAR else (),
        group_reports=None if group_reports is None else tuple(group_reports),
    )
