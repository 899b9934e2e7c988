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
    """What N reports of a plan can show.

    Attributes:
        plan: the plan.
        reports: N.
        composed_amplification: γ of all that one person sends, rounded up.
        discoverable: supports from which on itemsets can be discovered, of all reports together.
        liars: by itemset size, how far crafted reports move estimates; None where nothing is estimated.
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
    return Prospects(
        plan=plan,
        reports=reports,
        composed_amplification=composed_amplification_up(plan),
        discoverable=discoverable_supports(plan, reports, group_reports),
        liars=liars_among(plan, reports),
        most_targets=most_targets(plan),
        least_min_supports=_least_min_supports(plan, reports),
        groups=tuple(foresee(group, reports) for group in plan.groups) if plan.sizes == IN_CLEAR else (),
        group_reports=None if group_reports is None else tuple(group_reports),
    )


def _least_min_supports(plan: Plan, reports: int) -> dict[int, float]:
    groups = [Group(reports, SupportModel.of(plan.operator))]
    sizes = [1] if plan.view.kind == "itemsets" else range(1, plan.itemset_size + 1)
    return {k: UNDECIDABLE_BELOW * foreseen_error(groups, k, 0.0) for k in sizes}
