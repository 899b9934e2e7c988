"""How many baskets there are of each size, and of those that hold a sample's top itemsets.

This module sees raw items; what it returns holds numbers of baskets by size only.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from assocpriv.records.baskets import Baskets

_TOP_ITEMS = 30
_TOP_ITEMSETS = 20
_BEAM = 100  # itemsets that larger ones are made of; a superset's subsets are at least as frequent


def count_sizes(baskets: Baskets) -> Counter[int]:
    """Return how many baskets there are of each size; counts of several files or batches may be added."""
    return _count_each(baskets.sizes)


def _count_each(sizes: NDArray[np.int64]) -> Counter[int]:
    """Return how often each number occurs."""
    values, counts = np.unique(sizes, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))


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
