"""What reports can discover, of one itemset and of a whole size, as text and as JSON content."""

import math
from collections.abc import Sequence
from math import comb

from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.server.estimates.limits import level_discoverable_support
from assocpriv.server.estimates.supports import Group, lowest_discoverable_support

LOWEST, LEVEL = "lowest_discoverable_support", "level_discoverable_support"
Limits = dict[str, dict[int, float]]


def limits_of(plan: Plan, reports: int, group_reports: Sequence[int] | None = None) -> Limits:
    """Return by itemset size the lowest discoverable support of one itemset, and that of all itemsets of the size.

    Args:
        plan: the plan.
        reports: N.
        group_reports: with sizes in clear, how many reports there are of each size; all of the largest by default.
    """
    groups = [Group(reports, SupportModel.of(plan.operator))]
    if group_reports and any(group_reports):
        models = [SupportModel.of(group.operator) for group in plan.groups]
        groups = [Group(n, model) for n, model in zip(group_reports, models, strict=True)]
    sizes = range(1, plan.itemset_size + 1)
    return {
        LOWEST: {k: lowest_discoverable_support(groups, k) for k in sizes},
        LEVEL: {k: level_discoverable_support(groups, k, comb(plan.n_items, k)) for k in sizes},
    }


def limit_records(limits: Limits) -> dict[str, dict[str, float | None]]:
    """Return both figures as JSON content, which has no infinity."""
    return {name: finite(by_size) for name, by_size in limits.items()}


def finite(limits: dict[int, float]) -> dict[str, float | None]:
    """Write figures by itemset size as JSON content, which has no infinity."""
    return {str(k): limit if math.isfinite(limit) else None for k, limit in limits.items()}


def limit_lines(limits: Limits, n_items: int) -> list[str]:
    """Show both figures, a line an itemset size."""
    if all(limit >= 1 for limit in limits[LOWEST].values()):
        return ["            none: nothing below 100% can be discovered"]
    rows = [("of one itemset", "of all of its size", "")]
    rows += [
        (discoverable(one), discoverable(limits[LEVEL][k]), f"{itemsets_of(k)} ({comb(n_items, k):,})")
        for k, one in limits[LOWEST].items()
    ]
    return [
        *(f"            {one:>14}  {whole:>18}  {name}".rstrip() for one, whole, name in rows),
        "            first column: one itemset that was named beforehand; second: all of its size, with fewer than one",
        "            false find in 100 collections",
    ]


def discoverable(value: float | None) -> str:
    """Write a support that can be discovered, or that there is none."""
    return "none" if value is None or value >= 1 else f"{value:.3%}"


def itemsets_of(k: int) -> str:
    """Name itemsets of one size."""
    return {1: "single items", 2: "pairs", 3: "triples"}.get(k, f"itemsets of {k}")
