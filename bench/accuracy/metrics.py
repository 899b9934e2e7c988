"""Quality of a method's estimates, measured on whole baskets.

True itemsets come as {itemset: support} in the order of their ranks, as truth.true_top returns them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bench.accuracy.transactions import Itemset

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
