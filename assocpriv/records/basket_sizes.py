"""How many baskets there are of each size, and of those that hold a sample's top itemsets."""

from collections import Counter

import numpy as np

from assocpriv.records.baskets import Baskets

_TOP_ITEMS = 30
_TOP_ITEMSETS = 20
_BEAM = 100  # itemsets that larger ones are made of; a superset's subsets are at least as frequent


def count_sizes(baskets: Baskets) -> Counter[int]:
    """Return how many baskets there are of each size; counts of several files or batches may be added."""
    return Counter(np.sort(baskets.sizes).tolist())


def top_holders(baskets: Baskets, largest: int) -> dict[int, Counter[int]]:
    """Return, for k = 1..largest, how many baskets of each size hold the 20 most frequent k-itemsets, added up.

    The itemsets are looked for among the 30 most frequent items, larger ones among extensions of the 100 most frequent
    smaller ones. Frequent itemsets stand in shorter baskets than all itemsets, most of which are the long baskets' own.
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
            held.update(np.sort(sizes[np.unpackbits(rows, count=len(sizes)).astype(np.bool_)]).tolist())
        holders[k] = held
    return holders
