"""What cutting long baskets to M items costs in knowledge; uses the baskets' sizes only."""

from collections import Counter
from dataclasses import dataclass
from math import comb

import numpy as np

from assocpriv.client.baskets import Baskets
from assocpriv.core.plan import Plan


@dataclass(frozen=True, slots=True)
class SamplingLoss:
    """How many baskets are sampled to M items, and the expected share of support that this loses by itemset size."""

    baskets: int
    sampled: int
    transaction_size: int
    shares: dict[int, float]


def count_sizes(baskets: Baskets) -> Counter[int]:
    """Return how many baskets there are of each size; counts of several files or batches may be added."""
    sizes, counts = np.unique(baskets.sizes, return_counts=True)
    return Counter(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))


def sampling_loss(sizes: Counter[int], plan: Plan) -> SamplingLoss:
    """Return what sampling to the plan's transaction size M loses, averaged over all itemsets of k = 1..K items.

    A basket of L > M items keeps a k-itemset with probability C(M,k)/C(L,k); summed over the itemsets of all
    baskets, Σ C(min(L,M), k) / Σ C(L, k) survives.

    Args:
        sizes: number of baskets of each size, from :func:`count_sizes`.
        plan: the plan.
    """
    m = plan.transaction_size
    shares = {}
    for k in range(1, plan.itemset_size + 1):
        whole = sum(comb(size, k) * count for size, count in sizes.items())
        left = sum(comb(min(size, m), k) * count for size, count in sizes.items())
        shares[k] = 1 - left / whole if whole else 0.0
    return SamplingLoss(sizes.total(), sum(count for size, count in sizes.items() if size > m), m, shares)
