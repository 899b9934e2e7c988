"""Exact supports in whole baskets, of the most frequent itemsets and of any others."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.baskets.mining import join_candidates
from assocpriv.simulation.basket_simulation import RawCounter
from bench.accuracy.transactions import Itemset, Transactions

LARGEST = 4  # maximum itemset size


@lru_cache(maxsize=4)
def true_itemsets(transactions: Transactions, k: int, largest: int = LARGEST) -> dict[Itemset, float]:
    """Return all itemsets of up to ``largest`` items that are at least as frequent as the k-th, and possibly more.

    Returns:
        {itemset: support in whole baskets}, the most frequent first; ties are ordered by size, then lexicographically.
        It holds all itemsets above some support, and at least k if there are that many.
    """
    counts = np.sort(transactions.item_counts())[::-1]
    # k items are k itemsets already; correlated items need a far smaller number
    least = max(int(counts[min(k // 8, len(counts) - 1)]), 1)
    found = _mined(transactions, least, largest)
    while len(found) < k and least > 1:
        least = max(1, least * 5 // 6)
        found = _mined(transactions, least, largest)
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0])))


def _mined(transactions: Transactions, least: int, largest: int) -> dict[Itemset, float]:
    """Return the itemsets in at least ``least`` baskets, counted level by level."""
    items = np.flatnonzero(transactions.item_counts() >= least)  # bitmaps of all items would need gigabytes
    few = transactions.restricted(items)
    found: dict[Itemset, float] = {}
    level = np.arange(len(items))[:, None]
    while len(level):
        counts = _counted(few, level)
        level, counts = level[counts >= least], counts[counts >= least]
        shares = (counts / len(few)).tolist()
        found.update(zip(map(tuple, items[level].tolist()), shares, strict=True))
        level = join_candidates(level) if level.shape[1] < largest else level[:0]
    return found


def _counted(transactions: Transactions, itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of baskets with each itemset, int64 (itemsets, k) to int64 (itemsets,)."""
    if itemsets.shape[1] == 1:
        return transactions.item_counts()[itemsets[:, 0]]
    return RawCounter(transactions.offsets, transactions.items, transactions.n_items).count(itemsets)


def true_top(transactions: Transactions, k: int, largest: int = LARGEST) -> dict[Itemset, float]:
    """Return the k most frequent itemsets with their supports in whole baskets, in the order of their ranks."""
    return dict(list(true_itemsets(transactions, k, largest).items())[:k])


def exact_supports(transactions: Transactions, itemsets: Iterable[Itemset]) -> dict[Itemset, float]:
    """Return the supports of any itemsets in whole baskets; each itemset is counted only once."""
    known, wanted = _known(transactions), list(itemsets)
    by_size: dict[int, list[Itemset]] = {}
    for itemset in wanted:
        if itemset not in known:
            by_size.setdefault(len(itemset), []).append(itemset)
    for sets in by_size.values():
        rows = np.array(sets, dtype=np.int64)
        items = np.unique(rows)
        counts = _counted(transactions.restricted(items), np.searchsorted(items, rows))
        known.update(zip(sets, (counts / len(transactions)).tolist(), strict=True))
    return {itemset: known[itemset] for itemset in wanted}


@lru_cache(maxsize=2)
def _known(transactions: Transactions) -> dict[Itemset, float]:
    """Return the cache of supports in these baskets, since methods publish many of the same itemsets."""
    shares = (transactions.item_counts() / len(transactions)).tolist()
    return {(item,): share for item, share in enumerate(shares)}
