"""What cutting long baskets to M items costs in knowledge, from the numbers of baskets of each size alone."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

from assocpriv.plans.baskets.plan import Plan


@dataclass(frozen=True, slots=True)
class SamplingLoss:
    """How many baskets are sampled to M items, and the expected share of support that this loses by itemset size."""

    baskets: int
    sampled: int
    transaction_size: int
    shares: dict[int, float]


def all_holders(sizes: Counter[int], largest: int) -> dict[int, Counter[int]]:
    """Return, for k = 1..largest, how many k-itemsets the baskets of each size hold altogether, from their numbers."""
    return {
        k: Counter({size: count * comb(size, k) for size, count in sizes.items() if size >= k})
        for k in range(1, largest + 1)
    }


def surviving_shares(holders: Mapping[int, Counter[int]], transaction_size: int) -> dict[int, float]:
    """Return by k what share of the support of k-itemsets is left after sampling to M items; 1 where nobody holds any.

    A basket of L > M items keeps a k-itemset with probability C(M,k)/C(L,k).

    Args:
        holders: by k how often baskets of each size hold such itemsets (:func:`all_holders`, :func:`top_holders`).
        transaction_size: M.

    >>> surviving_shares(all_holders(Counter({2: 1, 3: 1}), 2), 2)
    {1: 0.8, 2: 0.5}
    """
    shares = {}
    for k, held in holders.items():
        left = sum(count * comb(min(size, transaction_size), k) / comb(size, k) for size, count in held.items())
        shares[k] = left / held.total() if held else 1.0
    return shares


def sampling_loss(sizes: Counter[int], plan: Plan) -> SamplingLoss:
    """Return what sampling to the plan's transaction size M loses, averaged over all itemsets of k = 1..K items.

    Summed over the itemsets of all baskets, Σ C(min(L,M), k) / Σ C(L, k) survives.
    """
    m = plan.transaction_size
    shares = {k: 1 - share for k, share in surviving_shares(all_holders(sizes, plan.itemset_size), m).items()}
    return SamplingLoss(sizes.total(), sum(count for size, count in sizes.items() if size > m), m, shares)
