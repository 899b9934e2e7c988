"""What sampling baskets to M items loses of supports, by the numbers of baskets of each size alone."""

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.errors import counted

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan

MUCH_LOST = 0.05  # of support by sampling; more is warned of


@dataclass(frozen=True, slots=True)
class SamplingLoss:
    """How many baskets are sampled to M items, and the expected share of support that this loses by itemset size.

    It is ``undone`` where some people are asked about sizes.
    """

    baskets: int
    sampled: int
    transaction_size: int
    shares: dict[int, float]
    undone: bool


def sampling_loss(sizes: Counter[int], plan: "Plan") -> SamplingLoss:
    """Return what sampling to the plan's transaction size M loses, averaged over all itemsets of k = 1..K items.

    Summed over the itemsets of all baskets, Σ C(min(L,M), k) / Σ C(L, k) survives.
    """
    m, shares = plan.items.transaction_size, {}
    for k in range(1, plan.items.itemset_size + 1):
        held = sum(count * math.comb(size, k) for size, count in sizes.items())
        left = sum(count * math.comb(min(size, m), k) for size, count in sizes.items())
        shares[k] = 1 - left / held if held else 0.0
    longer = sum(count for size, count in sizes.items() if size > m)
    return SamplingLoss(sizes.total(), longer, m, shares, plan.sizes is not None)


def describe_loss(loss: SamplingLoss) -> tuple[list[str], list[str]]:
    """Say how many baskets are sampled and what share of support that loses; and a warning where that is much."""
    size = loss.transaction_size
    if not loss.sampled:
        return [f"no basket is longer than {counted(size, 'item')}: nothing is lost by sampling"], []
    lost = ", ".join(f"{share:.1%} of {itemsets_of(k)}" for k, share in loss.shares.items())
    said = (
        f"{loss.sampled:,} of {loss.baskets:,} baskets are longer than {counted(size, 'item')} "
        f"and are sampled to {size}; expected support lost, averaged over itemsets: {lost}"
    )
    if loss.undone:
        return [f"{said}; mine undoes it by what some people answer about sizes"], []
    if max(loss.shares.values()) <= MUCH_LOST:
        return [said], []
    return [said], [
        f"more than {MUCH_LOST:.0%} is lost; estimated supports are those within at most {size} sampled items, "
        "lower than in the whole baskets (this plan asks nobody about sizes)"
    ]


def warn_of_sampling(sizes: Counter[int], plan: "Plan", callers: int = 2) -> None:
    """Warn the caller's caller, so many up, where sampling baskets of these sizes loses much."""
    said, warning = describe_loss(sampling_loss(sizes, plan))
    if warning:
        warnings.warn("; ".join(said + warning), stacklevel=callers + 1)
