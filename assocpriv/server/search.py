"""The search for itemsets: which are counted, which are listed.

**Which are counted.** All items; larger itemsets as in Apriori, of those one item smaller that may reach the floor: the
minimum support, or the least that is wanted. The likeliest come first: of pairs half by the product of their items'
supports, half by the lesser of these; of larger ones those whose subsets are largest. Then twice as many are counted,
again and again, until no more than one in a hundred of those that are new reaches the floor.

**Which are listed** at a minimum support S: by falling P(s ≥ S), as long as P ≥ .5 and the mean of 1 − P is at most
.05. So about one in twenty of a list is expected to be below S, of any list at most so many.

**Where no minimum is given** it is the least t, from the items' median standard error on, at which the itemsets of mean
t or more are below t/2 with at most 5% on average.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.counting import find_itemsets
from assocpriv.server.posterior import Level, Reading

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_PROBABILITY, FALSE_SHARE = 0.5, 0.05
_FIRST, _FEW = 5_000, 0.01
_STEP = 1.02  # of the minimum support that is looked for


def listed(probability: Floats, budget: float = FALSE_SHARE) -> NDArray[np.bool_]:
    """Tell which are listed, of probabilities to be true, float64 (n,).

    >>> listed(np.array([0.99, 0.4, 0.93, 0.6])).tolist()
    [True, False, True, False]
    """
    order = np.argsort(-probability, kind="stable")
    wrong = np.cumsum(1 - probability[order]) / np.arange(1, len(order) + 1)
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order] = (probability[order] >= LEAST_PROBABILITY) & (wrong <= budget)
    return chosen


def automatic_minimum(levels: Sequence[Level]) -> float:
    """Return the least support from which on what is found is likely to be more than half of it."""
    least = float(np.median(levels[0].noise))
    support = np.concatenate([level.support for level in levels])
    while True:
        at = [np.flatnonzero(level.support >= least) for level in levels]
        count = sum(map(len, at))
        if not count:
            return min(least, 1.0)
        below = sum(
            float((1 - level.told.take(rows).above(least / 2)).sum()) for level, rows in zip(levels, at, strict=True)
        )
        if below <= FALSE_SHARE * count:
            return least
        larger = support[support > least * _STEP]
        least = max(least * _STEP, float(larger.min(initial=1.0)) if len(larger) == count else 0.0)


@dataclass(frozen=True, slots=True)
class Found:
    """What was counted, by size; how many could have been of each, and of which sizes there was no room for more."""

    levels: list[Level]
    possible: list[int]
    crowded: list[int]

    @property
    def counted(self) -> list[list[int]]:
        """How many were counted, and how many could have been, of each size."""
        return [[len(level), possible] for level, possible in zip(self.levels, self.possible, strict=True)]


def search(
    reading: Reading, floor: Callable[[list[Level]], float], largest: int, most: int, first: int = _FIRST
) -> Found:
    """Count and read itemsets of up to ``largest`` items: ``first`` of each size to begin with, at most ``most``."""
    levels, possible, crowded = [reading.items], [reading.n_items], []
    while len(levels) < largest:
        last, least = levels[-1], floor(levels)
        may = np.flatnonzero(last.support + last.error >= least)
        joined = count_joins(last.itemsets[may])
        if not joined:
            break
        level, wanted = _search_size(reading, levels, may, floor, min(first, most), most)
        crowded += [len(levels) + 1] if most <= wanted < joined else []
        possible.append(len(level) if len(levels) > 1 and joined <= most else joined)
        levels.append(level)
    return Found(levels, possible, crowded)


def _search_size(
    reading: Reading, levels: list[Level], may: Ints, floor: Callable[[list[Level]], float], wanted: int, most: int
) -> tuple[Level, int]:
    """Read ever more of the itemsets of one item more that are made of some rows, while some of them are found.

    Returned is also how many were wanted at last.
    """
    last = levels[-1]
    all_joined = count_joins(last.itemsets[may])
    level, known = reading.read(reading.asked(likeliest(last, may, wanted)), levels), last.itemsets[:0]
    while wanted < min(all_joined, most):
        fresh = find_itemsets(known, level.itemsets) < 0
        found = int((fresh & (level.support >= floor([*levels, level]))).sum())
        if found <= _FEW * int(fresh.sum()):
            break
        known, wanted = level.itemsets, min(2 * wanted, most)
        level = reading.read(reading.asked(likeliest(last, may, wanted)), levels, level)
    return level, wanted


def likeliest(level: Level, may: Ints, count: int) -> Ints:
    """Return about so many itemsets of one item more than these rows have, the likeliest, in lexicographic order."""
    if level.itemsets.shape[1] == 1:
        return likeliest_pairs(may, level.support, count)
    ranked = may[np.argsort(-level.support[may], kind="stable")]
    few, many = 0, len(ranked)
    if count_joins(level.itemsets[may]) <= count:
        few = many
    while many - few > 1:  # as many sets as can be joined
        middle = (few + many) // 2
        few, many = (middle, many) if count_joins(level.itemsets[np.sort(ranked[:middle])]) <= count else (few, middle)
    return join_candidates(level.itemsets[np.sort(ranked[:few])])


def likeliest_pairs(items: Ints, supports: Floats, count: int) -> Ints:
    """Return about so many pairs of items, int64 (pairs, 2): half by product, half by the lesser support."""
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
    """Return places (i < j) of about so many pairs of the largest products; supports fall."""
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
    """Return how many pairs of itemsets, in lexicographic order, share all but the last item."""
    groups = _group_sizes(itemsets)
    return int((groups * (groups - 1) // 2).sum())


def join_candidates(itemsets: Ints) -> Ints:
    """Return the itemsets one larger all of whose subsets one smaller are given (the apriori join and prune).

    Those given are int64 (sets, k) in lexicographic order, k ≥ 1, each row increasing.

    >>> join_candidates(np.array([[0, 1], [0, 2], [0, 3], [1, 2]])).tolist()
    [[0, 1, 2]]
    """
    n_sets, k = itemsets.shape
    group_end = np.cumsum(_group_sizes(itemsets))[np.cumsum(_is_fresh(itemsets)) - 1] if n_sets else np.empty(0, int)
    partners = group_end - np.arange(n_sets) - 1  # sets after this one that share all but the last item
    left = np.repeat(np.arange(n_sets), partners)
    within = np.arange(len(left)) - np.repeat(np.cumsum(partners) - partners, partners)
    candidates = np.column_stack([itemsets[left], itemsets[left + 1 + within, -1]])
    alive = np.ones(len(left), dtype=np.bool_)
    for dropped in range(k - 1):
        alive &= find_itemsets(itemsets, np.delete(candidates, dropped, axis=1)) >= 0
    return candidates[alive]


def _is_fresh(itemsets: Ints) -> NDArray[np.bool_]:
    """Tell which itemsets share all but the last item with none before."""
    fresh = np.ones(len(itemsets), dtype=np.bool_)
    fresh[1:] = (itemsets[1:, :-1] != itemsets[:-1, :-1]).any(axis=1)
    return fresh


def _group_sizes(itemsets: Ints) -> Ints:
    return np.diff(np.append(np.flatnonzero(_is_fresh(itemsets)), len(itemsets)))
