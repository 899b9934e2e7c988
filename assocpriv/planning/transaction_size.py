"""The transaction size M to plan for: sampling to a smaller M loses supports, a larger M costs more noise.

What is lost follows from the numbers of baskets of each size alone. The lowest discoverable support (LDS) of the
planner's best design is one *within at most M sampled items*. A basket of L items leaves the share C(min(L,M), k) /
C(L, k) of its k-itemsets' support, so the lowest raw support that reports can discover is LDS_k divided by the mean of
this over the baskets that hold such itemsets. The M with the least of these, the worst k counting, tells most.
"""

import math
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assocpriv.plans.catalogue import itemsets_of
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.errors import PlanError, counted
from assocpriv.server.size_law import kept_shares
from assocpriv.server.supports import Respondents, lowest_discoverable_support

if TYPE_CHECKING:
    from assocpriv.planning.designs import Progress
    from assocpriv.planning.request import PlanWishes
    from assocpriv.plans.baskets import Plan


# Sizes this near the least figure discover the same; of these the largest is proposed. What sampling loses is lost
# unevenly, most for itemsets of long baskets, and no number of reports brings it back; noise is stated, and more
# reports lower it.
NEAR = 1.05
MUCH_LOST = 0.05  # of support by sampling; more is warned of


@dataclass(frozen=True, slots=True)
class SamplingLoss:
    """How many baskets are sampled to M items, and the expected share of support that this loses by itemset size."""

    baskets: int
    sampled: int
    transaction_size: int
    shares: dict[int, float]


def sampling_loss(sizes: Counter[int], plan: "Plan") -> SamplingLoss:
    """Return what sampling to the plan's transaction size M loses, averaged over all itemsets of k = 1..K items.

    Summed over the itemsets of all baskets, Σ C(min(L,M), k) / Σ C(L, k) survives.
    """
    m = plan.items.transaction_size
    left = surviving_shares(all_holders(sizes, plan.items.itemset_size), m)
    shares = {k: max(1 - share, 0.0) for k, share in left.items()}  # of rounding alone it could come out below 0
    return SamplingLoss(sizes.total(), _longer(sizes, m), m, shares)


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
    if max(loss.shares.values()) <= MUCH_LOST:
        return [said], []
    return [said], [
        f"more than {MUCH_LOST:.0%} is lost; estimated supports are those within at most {size} sampled items, "
        "lower than in the whole baskets (a larger --transaction-size loses less but needs more reports)"
    ]


def warn_of_sampling(sizes: Counter[int], plan: "Plan", callers: int = 2) -> None:
    """Warn the caller's caller, so many up, where sampling baskets of these sizes loses much."""
    said, warning = describe_loss(sampling_loss(sizes, plan))
    if warning:
        warnings.warn("; ".join(said + warning), stacklevel=callers + 1)


def all_holders(sizes: Counter[int], largest: int) -> dict[int, Counter[int]]:
    """Return, for k = 1..largest, how many k-itemsets the baskets of each size hold altogether, from their numbers."""
    return {
        k: Counter({size: count * math.comb(size, k) for size, count in sizes.items() if size >= k})
        for k in range(1, largest + 1)
    }


def surviving_shares(holders: Mapping[int, Counter[int]], m: int) -> dict[int, float]:
    """Return by k what share of the support of k-itemsets is left after sampling to m items; 1 where nobody holds any.

    ``holders`` say by k how often baskets of each size hold such itemsets (:func:`all_holders`, :func:`top_holders`).

    >>> surviving_shares(all_holders(Counter({2: 1, 3: 1}), 2), 2)
    {1: 0.8, 2: 0.5}
    """
    shares = {}
    for k, held in holders.items():
        kept = kept_shares(np.array(list(held), dtype=np.int64), m, k).tolist()
        left = sum(count * share for count, share in zip(held.values(), kept, strict=True))
        shares[k] = left / held.total() if held else 1.0
    return shares


def _longer(sizes: Counter[int], m: int) -> int:
    """Return how many baskets have more than m items."""
    return sum(count for size, count in sizes.items() if size > m)


@dataclass(frozen=True, slots=True)
class SizeRow:
    """What one transaction size M would mean for baskets like the sample's; by itemset size k.

    ``longer`` is the share of baskets with more than M items, ``surviving`` that of raw support which sampling leaves;
    ``lowest_raw_support`` is LDS_k divided by this, ``worst_raw_support`` its largest over the k that matter.
    """

    transaction_size: int
    longer: float
    surviving: dict[int, float]
    lowest_discoverable_support: dict[int, float]
    lowest_raw_support: dict[int, float]
    worst_raw_support: float
    proposed: bool = False


def propose_transaction_size(
    sizes: Counter[int],
    wishes: "PlanWishes",
    *,
    holders: Mapping[int, Counter[int]] | None = None,
    progress: "Progress | None" = None,
) -> list[SizeRow]:
    """Return a row for each transaction size from K up to the longest basket (15 at most), one of them proposed.

    Proposed is the largest M whose worst lowest raw support is within 5% of the least. ``holders`` are, by k = 1..K at
    least, the sizes of the baskets that hold the k-itemsets that matter; by default all count, of which most are those
    of the longest baskets: what survives of frequent ones is more.

    Raises:
        PlanError: no baskets, or arguments out of range.

    >>> from assocpriv.promise.breaches import Breach
    >>> from assocpriv.planning.request import PlanWishes
    >>> wishes = PlanWishes(promise=Breach("5%", "50%"), target="pairs")
    >>> rows = propose_transaction_size(Counter({2: 900, 3: 90, 9: 10}), wishes)
    >>> [row.transaction_size for row in rows if row.proposed]
    [3]
    """
    # who only asks for the loss of sampling, as every client does, need not load the planner
    from assocpriv.planning.baskets import best_operators

    longest = _longest(sizes)
    largest = default_itemset_size(sizes) if wishes.itemset_size is None else wishes.itemset_size
    targets = wishes.targets(largest)
    candidates = range(largest, max(largest, min(longest, MAX_TRANSACTION_SIZE)) + 1)
    operators = best_operators(candidates, wishes, targets, progress)
    chosen = all_holders(sizes, largest) if holders is None else {k: holders[k] for k in range(1, largest + 1)}
    rows = [
        _row(sizes, m, chosen, targets, Respondents(wishes.reports, SupportModel.of(operators[m]))) for m in candidates
    ]
    least = min(row.worst_raw_support for row in rows)
    near = [row for row in rows if row.worst_raw_support <= least * NEAR]
    proposed = near[-1] if math.isfinite(least) else rows[0]
    return [replace(row, proposed=row is proposed) for row in rows]


def default_itemset_size(sizes: Counter[int]) -> int:
    """Return K where none is asked for: 3, or the longest basket if that is less."""
    return min(3, _longest(sizes))


def _longest(sizes: Counter[int]) -> int:
    longest = max((size for size, count in sizes.items() if count), default=0)
    if longest < 1:
        raise PlanError("a sample to choose the transaction size from must hold baskets that are not empty")
    return longest


def _row(
    sizes: Counter[int], m: int, holders: Mapping[int, Counter[int]], targets: list[int], respondents: Respondents
) -> SizeRow:
    surviving = surviving_shares(holders, m)
    lds = {k: lowest_discoverable_support(respondents, k) for k in holders}
    raw = {k: lds[k] / surviving[k] if surviving[k] else math.inf for k in lds}
    return SizeRow(m, _longer(sizes, m) / sizes.total(), surviving, lds, raw, max(raw[k] for k in targets))
