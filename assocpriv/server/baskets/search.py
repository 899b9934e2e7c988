"""The search for itemsets: which are counted, which are selected.

**Counting.** All items are counted; larger itemsets as in Apriori, joined from smaller ones that may reach the
threshold: the minimum support, or the least support wanted. The likeliest candidates come first: of pairs half by the
product of their items' supports, half by the smaller of the two; of larger itemsets those with the largest subsets.
Their number is doubled until at most one in a hundred of the new ones reaches the threshold.

**Selection** at a minimum support S: by falling posterior probability P(s ≥ S), as long as P ≥ .5 and the mean of 1 − P
is at most .05 (Bayesian FDR). So at most one in twenty of the selected itemsets is expected to be below S.

**The default minimum support** is the least t, from the items' median standard error on, at which the itemsets with
mean t or more are below t/2 with a probability of at most 5% on average.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.baskets.counting import find_itemsets
from assocpriv.server.baskets.posterior import ItemsetLevel, PosteriorModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Threshold = Callable[[list[ItemsetLevel]], float]
LEAST_PROBABILITY, DEFAULT_FDR = 0.5, 0.05
_FIRST, _NEW_SHARE = 5_000, 0.01
_STEP = 1.02  # ratio of successive minimum supports tried


def select_by_fdr(probability: Floats, fdr: float = DEFAULT_FDR) -> NDArray[np.bool_]:
    """Return which rows are selected, given their probabilities to be true, float64 (n,), at a Bayesian FDR.

    >>> select_by_fdr(np.array([0.99, 0.4, 0.93, 0.6])).tolist()
    [True, False, True, False]
    """
    order = np.argsort(-probability, kind="stable")
    false_share = np.cumsum(1 - probability[order]) / np.arange(1, len(order) + 1)
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order] = (probability[order] >= LEAST_PROBABILITY) & (false_share <= fdr)
    return chosen


def automatic_min_support(levels: Sequence[ItemsetLevel]) -> float:
    """Return the least minimum support whose itemsets are likely to have more than half of it."""
    least = float(np.median(levels[0].noise))
    support = np.concatenate([level.support for level in levels])
    while True:
        at = [np.flatnonzero(level.support >= least) for level in levels]
        count = sum(map(len, at))
        if not count:
            return min(least, 1.0)
        reached = [level.posteriors.take(rows).above(least / 2) for level, rows in zip(levels, at, strict=True)]
        below = sum(float((1 - each).sum()) for each in reached)
        if below <= DEFAULT_FDR * count:
            return least
        larger = support[support > least * _STEP]
        least = max(least * _STEP, float(larger.min(initial=1.0)) if len(larger) == count else 0.0)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The counted levels; by size how many itemsets were possible; sizes with candidates cut for lack of memory."""

    levels: list[ItemsetLevel]
    possible: list[int]
    incomplete_sizes: list[int]

    @property
    def counted(self) -> list[list[int]]:
        """The numbers of itemsets counted and possible, [counted, possible] of each size."""
        return [[len(level), possible] for level, possible in zip(self.levels, self.possible, strict=True)]


def search(model: PosteriorModel, threshold: Threshold, largest: int, most: int, first: int = _FIRST) -> SearchResult:
    """Count and infer itemsets of up to ``largest`` items: ``first`` of each size initially, at most ``most``."""
    levels, possible, incomplete_sizes = [model.items], [model.n_items], []
    while len(levels) < largest:
        last, least = levels[-1], threshold(levels)
        frequent = np.flatnonzero(last.support + last.error >= least)
        joined = count_joins(last.itemsets[frequent])
        if not joined:
            break
        level, limit = _search_size(model, levels, frequent, threshold, min(first, most), most)
        incomplete_sizes += [len(levels) + 1] if most <= limit < joined else []
        possible.append(len(level) if len(levels) > 1 and joined <= most else joined)
        levels.append(level)
    return SearchResult(levels, possible, incomplete_sizes)


def _search_size(
    model: PosteriorModel, levels: list[ItemsetLevel], frequent: Ints, threshold: Threshold, limit: int, most: int
) -> tuple[ItemsetLevel, int]:
    """Infer more and more of the itemsets joined from some rows, as long as some of the new ones reach the threshold.

    Also return the last limit on their number.
    """
    last = levels[-1]
    all_joined = count_joins(last.itemsets[frequent])
    level, known = model.infer(model.covered(likeliest_candidates(last, frequent, limit)), levels), last.itemsets[:0]
    while limit < min(all_joined, most):
        new = find_itemsets(known, level.itemsets) < 0
        found = int((new & (level.support >= threshold([*levels, level]))).sum())
        if found <= _NEW_SHARE * int(new.sum()):
            break
        known, limit = level.itemsets, min(2 * limit, most)
        level = model.infer(model.covered(likeliest_candidates(last, frequent, limit)), levels, level)
    return level, limit


def likeliest_candidates(level: ItemsetLevel, frequent: Ints, count: int) -> Ints:
    """Return about ``count`` of the likeliest itemsets joined from these rows, in lexicographic order."""
    if level.itemsets.shape[1] == 1:
        return likeliest_pairs(frequent, level.support, count)
    ranked = frequent[np.argsort(-level.support[frequent], kind="stable")]
    few = len(ranked)  # number of sets to join
    if count_joins(level.itemsets[frequent]) > count:
        few = bisect_right(range(few), count, key=lambda n: count_joins(level.itemsets[np.sort(ranked[:n])])) - 1
    return join_candidates(level.itemsets[np.sort(ranked[:few])])


def likeliest_pairs(items: Ints, supports: Floats, count: int) -> Ints:
    """Return about ``count`` pairs of items, int64 (pairs, 2): half by product, half by the smaller support."""
    order = items[np.argsort(-supports[items], kind="stable")]
    n = len(order)
    if n * (n - 1) // 2 <= count:
        left, right = np.triu_indices(n, 1)
    else:
        few = int((1 + np.sqrt(1 + 4 * count)) / 2)  # t(t−1)/2 = count/2
        left, right = np.triu_indices(min(few, n), 1)
        by_product = _by_product(supports[order], count // 2)
        both = np.unique(np.concatenate([left * n + right, by_product[0] * n + by_product[1]]))
        left, right = np.divmod(both, n)
    pairs = np.sort(np.column_stack([order[left], order[right]]), axis=1)
    return np.asarray(pairs[np.lexsort(pairs.T[::-1])])


def _by_product(supports: Floats, count: int) -> tuple[Ints, Ints]:
    """Return places (i < j) of about ``count`` pairs of the largest products; supports fall."""
    rising, places = supports[::-1], np.arange(len(supports))

    def partners(least: float) -> Ints:
        reached = len(rising) - np.searchsorted(rising, least / np.maximum(supports, 1e-300))
        return np.asarray(np.maximum(reached - places - 1, 0))

    low, high = 1e-24, 1.0
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if partners(middle).sum() > count else (low, middle)
    each = partners(high)
    left = np.repeat(places, each)
    return left, left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(each) - each, each)


def count_joins(itemsets: Ints) -> int:
    """Return how many pairs of itemsets, in lexicographic order, share all items but the last."""
    groups = _group_sizes(itemsets)
    return int((groups * (groups - 1) // 2).sum())


def join_candidates(itemsets: Ints) -> Ints:
    """Return the itemsets one item larger whose subsets are all given (the Apriori join and prune).

    ``itemsets`` are int64 (sets, k) in lexicographic order, k ≥ 1, each row increasing.

    >>> join_candidates(np.array([[0, 1], [0, 2], [0, 3], [1, 2]])).tolist()
    [[0, 1, 2]]
    """
    n_sets, k = itemsets.shape
    group_end = np.cumsum(_group_sizes(itemsets))[np.cumsum(_is_first(itemsets)) - 1] if n_sets else np.empty(0, int)
    partners = group_end - np.arange(n_sets) - 1  # later sets that share all but the last item
    left = np.repeat(np.arange(n_sets), partners)
    within = np.arange(len(left)) - np.repeat(np.cumsum(partners) - partners, partners)
    candidates = np.column_stack([itemsets[left], itemsets[left + 1 + within, -1]])
    alive = np.ones(len(left), dtype=np.bool_)
    for dropped in range(k - 1):
        alive &= find_itemsets(itemsets, np.delete(candidates, dropped, axis=1)) >= 0
    return candidates[alive]


def _is_first(itemsets: Ints) -> NDArray[np.bool_]:
    """Return which itemsets start a group that shares all items but the last."""
    new = np.ones(len(itemsets), dtype=np.bool_)
    new[1:] = (itemsets[1:, :-1] != itemsets[:-1, :-1]).any(axis=1)
    return new


def _group_sizes(itemsets: Ints) -> Ints:
    return np.diff(np.append(np.flatnonzero(_is_first(itemsets)), len(itemsets)))
