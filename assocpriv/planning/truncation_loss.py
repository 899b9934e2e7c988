"""The support that truncation to M items loses, which follows exactly from the number of baskets of each size."""

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assocpriv.guarantees.errors import pluralize
from assocpriv.plans.baskets.catalogue import name_itemsets

if TYPE_CHECKING:
    from assocpriv.plans.baskets.basket_plan import Plan

MUCH_LOST = 0.05  # of support; a larger loss gives a warning


@dataclass(frozen=True, slots=True)
class TruncationLoss:
    """The expected share of support lost by truncation.

    Attributes:
        baskets: number of baskets.
        truncated: number of baskets that are sampled to M items.
        transaction_size: M.
        shares: expected share of support lost, by itemset size.
        corrected: whether mining corrects the loss, which needs reports about basket sizes.
    """

    baskets: int
    truncated: int
    transaction_size: int
    shares: dict[int, float]
    corrected: bool


def measure_truncation_loss(sizes: Counter[int], plan: "Plan") -> TruncationLoss:
    """Return the loss by truncation to the plan's transaction size M, averaged over all itemsets of k = 1..K items.

    Over the itemsets of all baskets, a share of Σ C(min(L,M), k) / Σ C(L, k) survives.
    """
    m, shares = plan.items.transaction_size, {}
    for k in range(1, plan.items.itemset_size + 1):
        held = sum(count * math.comb(size, k) for size, count in sizes.items())
        left = sum(count * math.comb(min(size, m), k) for size, count in sizes.items())
        shares[k] = 1 - left / held if held else 0.0
    longer = sum(count for size, count in sizes.items() if size > m)
    return TruncationLoss(sizes.total(), longer, m, shares, plan.sizes is not None)


def describe_truncation_loss(loss: TruncationLoss) -> tuple[list[str], list[str]]:
    """Return lines that describe the loss, and a warning if it is large and not corrected."""
    size = loss.transaction_size
    if not loss.truncated:
        return [f"no basket has more than {pluralize(size, 'item')}: truncation loses nothing"], []
    lost = ", ".join(f"{share:.1%} for {name_itemsets(k)}" for k, share in loss.shares.items())
    line = (
        f"{loss.truncated:,} of {loss.baskets:,} baskets have more than {pluralize(size, 'item')} and are cut to "
        f"{size} random ones, which lowers supports on average by {lost}"
    )
    if loss.corrected:
        return [f"{line}; `mine` corrects this with the reports about basket sizes"], []
    if max(loss.shares.values()) <= MUCH_LOST:
        return [line], []
    return [line], [
        f"more than {MUCH_LOST:.0%} of support is lost; estimated supports refer to at most {size} sampled items, and "
        "are lower than in whole baskets (this plan has no report type about sizes)"
    ]


def warn_of_truncation(sizes: Counter[int], plan: "Plan", callers: int = 2) -> None:
    """Warn if truncation of baskets of these sizes loses much support; ``callers`` levels up the stack."""
    lines, warning = describe_truncation_loss(measure_truncation_loss(sizes, plan))
    if warning:
        warnings.warn("; ".join(lines + warning), stacklevel=callers + 1)
