"""Exact supports in whole baskets, and the quality of a method's estimates against them.

True itemsets come as {itemset: support} in the order of their ranks, as :func:`true_top` returns them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.itemset_counts import join_candidates
from assocpriv.simulation.basket_simulation import RawCounter
from bench.accuracy.transactions import Itemset, Transactions

# ---- exact supports


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


# ---- figures


NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimates of a method.

    Attributes:
        supports: estimated support of each published itemset, a share of all baskets.
        errors: standard errors in the same unit; None from a method without them.
    """

    supports: dict[Itemset, float]
    errors: dict[Itemset, float] | None = None

    def top(self, k: int) -> list[Itemset]:
        """Return the k itemsets that rank highest; ties go to the smaller, then the lexicographically first itemset."""
        by = self.supports
        ranked = sorted(by, key=lambda itemset: (-by[itemset], len(itemset), itemset))
        return ranked[:k]


def precision(estimates: Estimates, truth: Mapping[Itemset, float]) -> float:
    """Return the share of the true top k among the k highest estimates."""
    return len(truth.keys() & set(estimates.top(len(truth)))) / len(truth)


def ncr(estimates: Estimates, truth: Mapping[Itemset, float]) -> float:
    """Return the normalized cumulative rank: found itemsets count by true rank, k for the first … 1 for the k-th.

    Source: Wang, Li & Jha, Locally Differentially Private Frequent Itemset Mining, S&P 2018, section VI.
    """
    k = len(truth)
    found = set(estimates.top(k))
    score = sum(k - rank for rank, itemset in enumerate(truth) if itemset in found)
    return score / (k * (k + 1) / 2)


def rmse(estimates: Estimates, truth: Mapping[Itemset, float]) -> float:
    """Return the root mean square error over the true itemsets; a missing estimate counts as 0."""
    wrong = [estimates.supports.get(itemset, 0.0) - support for itemset, support in truth.items()]
    return float(np.sqrt(np.mean(np.square(wrong))))


def coverage(estimates: Estimates, truth: Mapping[Itemset, float]) -> float | None:
    """Return the share of 95% intervals that hold the truth, over the true itemsets that were estimated.

    None from a method without standard errors, and where none was estimated. A support lost by sampling a few items of
    a basket counts as an error, too.
    """
    if estimates.errors is None:
        return None
    known = [itemset for itemset in truth if itemset in estimates.supports]
    wide = {itemset: NORMAL_95 * estimates.errors[itemset] for itemset in known}
    held = [abs(estimates.supports[itemset] - truth[itemset]) <= wide[itemset] for itemset in known]
    return sum(held) / len(held) if held else None


def worst_error(estimates: Estimates, truth: Mapping[Itemset, float]) -> float | None:
    """Return the largest |estimate − truth| in standard errors, over the true itemsets that were estimated.

    None from a method without standard errors, and where none was estimated. An error of 0 counts as 10⁻³⁰⁰.
    """
    if estimates.errors is None:
        return None
    ratios = (
        abs(estimates.supports[itemset] - support) / max(estimates.errors[itemset], 1e-300)
        for itemset, support in truth.items()
        if itemset in estimates.supports
    )
    return max(ratios, default=None)


def false_discovery(estimates: Estimates, known: Mapping[Itemset, float], least: float) -> float | None:
    """Return the share of false ones among the itemsets claimed at a minimum support; None if none is claimed.

    Args:
        estimates: an itemset is claimed if its estimate is at least ``least``.
        known: all itemsets whose true support is at least ``least``, and any others.
        least: the minimum support.
    """
    claimed = [itemset for itemset, support in estimates.supports.items() if support >= least]
    false = sum(known.get(itemset, 0.0) < least for itemset in claimed)
    return false / len(claimed) if claimed else None
