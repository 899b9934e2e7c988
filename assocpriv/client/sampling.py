"""What cutting long baskets to M items costs in knowledge: by the baskets' sizes, and for a sample's top itemsets.

This module sees raw items; what it returns holds numbers of baskets by size only.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets import Baskets
from assocpriv.core.plan import Plan

_TOP_ITEMS = 30
_TOP_ITEMSETS = 20
_BEAM = 100  # itemsets that larger ones are made of; a superset's subsets are at least as frequent


@dataclass(frozen=True, slots=True)
class SamplingLoss:
    """How many baskets are sampled to M items, and the expected share of support that this loses by itemset size."""

    baskets: int
    sampled: int
    transaction_size: int
    shares: dict[int, float]


def count_sizes(baskets: Baskets) -> Counter[int]:
    """Return how many baskets there are of each size; counts of several files or batches may be added."""
    return _count_each(baskets.sizes)


def _count_each(sizes: NDArray[np.int64]) -> Counter[int]:
    """Return how often each number occurs."""
    values, counts = np.unique(sizes, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))


def all_holders(sizes: Counter[int], largest: int) -> dict[int, Counter[int]]:
    """Return, for k = 1..largest, how many k-itemsets the baskets of each size hold altogether.

    Args:
        sizes: number of baskets of each size, from :func:`count_sizes`.
        largest: largest k.
    """
    return {
        k: Counter({size: count * comb(size, k) for size, count in sizes.items() if size >= k})
        for k in range(1, largest + 1)
    }


def top_holders(baskets: Baskets, largest: int) -> dict[int, Counter[int]]:
    """Return, for k = 1..largest, how many baskets of each size hold the 20 most frequent k-itemsets, added up.

    The itemsets are looked for among the 30 most frequent items, larger ones among extensions of the 100 most frequent
    smaller ones. Frequent itemsets stand in shorter baskets than all itemsets, most of which are the long baskets' own.

    Args:
        baskets: a sample.
        largest: largest k.
    """
    sizes, n_items = baskets.sizes, len(baskets.catalogue)
    items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
    counts = np.bincount(items, minlength=n_items)
    top = np.argsort(-counts, kind="stable")[:_TOP_ITEMS]
    place = np.full(n_items, -1)
    place[top] = np.arange(len(top))
    places = place[items]
    shown = np.zeros((len(top), len(baskets)), dtype=np.bool_)
    shown[places[places >= 0], np.repeat(np.arange(len(baskets)), sizes)[places >= 0]] = True
    singles = np.packbits(shown, axis=1)
    level = [(item, singles[item]) for item in range(len(top))]  # each itemset by its last item and who holds it
    holders = {}
    for k in range(1, largest + 1):
        if k > 1:
            level = [(item, rows & singles[item]) for last, rows in level for item in range(last + 1, len(top))]
        level.sort(key=lambda itemset: -int(np.bitwise_count(itemset[1]).sum()))
        level = level[:_BEAM]
        held: Counter[int] = Counter()
        for _, rows in level[:_TOP_ITEMSETS]:
            held += _count_each(sizes[np.unpackbits(rows, count=len(sizes)).astype(np.bool_)])
        holders[k] = held
    return holders


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

    Args:
        sizes: number of baskets of each size, from :func:`count_sizes`.
        plan: the plan.
    """
    m = plan.transaction_size
    shares = {k: 1 - share for k, share in surviving_shares(all_holders(sizes, plan.itemset_size), m).items()}
    return SamplingLoss(sizes.total(), sum(count for size, count in sizes.items() if size > m), m, shares)
