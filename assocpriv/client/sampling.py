"""What cutting long baskets to M items costs in knowledge; uses the baskets' sizes only."""

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


def sampling_loss(baskets: Baskets, plan: Plan) -> SamplingLoss:
    """Return what sampling to the plan's transaction size M loses, averaged over all itemsets of k = 1..K items.

    A basket of L > M items keeps a k-itemset with probability C(M,k)/C(L,k); summed over the itemsets of all
    baskets, Σ C(min(L,M), k) / Σ C(L, k) survives.
    """
    m = plan.transaction_size
    sizes, counts = (values.tolist() for values in np.unique(baskets.sizes, return_counts=True))
    shares = {}
    for k in range(1, plan.itemset_size + 1):
        whole = sum(comb(s, k) * c for s, c in zip(sizes, counts, strict=True))
        left = sum(comb(min(s, m), k) * c for s, c in zip(sizes, counts, strict=True))
        shares[k] = 1 - left / whole if whole else 0.0
    return SamplingLoss(len(baskets), sum(c for s, c in zip(sizes, counts, strict=True) if s > m), m, shares)
