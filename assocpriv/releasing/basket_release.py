"""Releases of baskets: which counts are published, with which noise, in two stages (files/releases.py).

The budget, ρ of (ε, δ) or ε alone, is divided by fixed shares among classes of sizes, single items, pairs and larger
sets. All other choices use noisy values, and so cost nothing:

1. M of the first stage, from its noisy classes of sizes; where items are found in the baskets, the threshold for these.
2. The items of the second stage: those whose noisy count is at least twice the standard error of a pair, since no pair
   is more frequent than its items. All their pairs are counted: noise depends on M alone, not on how many are counted.
3. M of the second stage, from classes of sizes that count these items alone.
4. Larger sets: those all of whose subsets of one item less have a noisy count of at least twice its standard error, the
   most frequent first.

M is the one of least expected error of a typical itemset: its noise, times the truncation correction, and the error of
that correction (estimation/truncation.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, comb, floor, sqrt

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.size_distribution import SizeDistribution
from assocpriv.files.releases import (
    MOST_BASKETS_PER_PERSON,
    MOST_DELTA,
    MOST_DISCOVERED,
    SCALE,
    Release,
    ReleasedLevel,
    ReleasedStage,
    basket_weights,
    discovery_delta,
)
from assocpriv.guarantees.amplification import LARGEST_DENOMINATOR
from assocpriv.guarantees.entropy import SystemEntropy, WordEntropy
from assocpriv.guarantees.errors import PlanError
from assocpriv.guarantees.exact_numbers import as_whole
from assocpriv.guarantees.integer_noise import IntegerNoise, rho_from_epsilon
from assocpriv.kernels.itemset_counts import SupersetCounter, find_itemsets, join_candidates, transaction_rows
from assocpriv.kernels.parallel import add_up
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.records.baskets import Baskets

Ints = NDArray[np.int64]
Progress = Callable[[str, int, int], None]
LARGEST = 3  # itemset size by default
_MOST_SIZE = 5
# of the budget, by itemset size; 0: a third for the number of baskets, the rest for classes of sizes
_SHARES: dict[int, dict[int, int | Fraction]] = {1: {0: 10, 1: 90}, 2: {0: 6, 1: 29, 2: 65}}
_SHARES |= {
    k: {0: 6, 1: 26, 2: 43} | {larger: Fraction(25, k - 2) for larger in range(3, k + 1)}
    for k in range(3, _MOST_SIZE + 1)
}
_THRESHOLD_PART = 10  # of δ
_RATE_UNIT = 1 << 64  # of rates, which are rounded down
_SINGLE = 16  # sizes up to here are classes of their own; M is one of them
_MOST_CLASS = 4096
_FREQUENT = 2  # standard errors
_CLEAR = 4  # standard errors of the number of baskets in all larger classes of sizes
_BEST, _FEWEST = 200, 8  # items of the second stage
_MOST_LARGER = 50_000  # sets of a size
# error of a support where large baskets hold most of its holders, for the choice of M: of items, and of pairs; least
# RMSE of the 64 most frequent sets, and coverage, on six sets of the bench's tuning half, 5,000 and 20,000 baskets
_CORRECTION_ERROR = {1: 0.03, 2: 0.045}
_USUAL_SIZE, _USUAL_SUPPORT = 5, 0.2  # of an item that must be distinguishable from noise


@dataclass(frozen=True, slots=True)
class ReleaseOptions:
    """What a release guarantees, and for whom.

    Attributes:
        epsilon: ε above 0.
        delta: δ above 0 and below 1 over the number of baskets; 0 for pure ε with two-sided geometric noise.
        baskets_per_person: R, where the guarantee is for all baskets of a person; 0 for one basket.
        max_itemset: size of the largest itemsets counted, 1 to 5.
        discover: whether items are found in the baskets, for a tenth of δ; else the catalogue is public.

    Raises:
        PlanError: a number is out of range.
    """

    epsilon: Fraction
    delta: Fraction
    baskets_per_person: int = 0
    max_itemset: int = LARGEST
    discover: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 100:
            raise PlanError("epsilon must be above 0 and at most 100; a typical value is 1")
        if max(each.denominator for each in (self.epsilon, self.delta, self.threshold_delta)) > LARGEST_DENOMINATOR:
            raise PlanError("epsilon and delta must be fractions with a denominator of at most 10^24")
        if not 0 <= self.delta < MOST_DELTA:
            raise PlanError(
                "delta must be from 0 to below 0.001, and below 1 over the number of baskets: a larger one would "
                "permit publishing a basket; a typical value is 1e-8"
            )
        if self.discover and not self.delta:
            raise PlanError("items can be found in the baskets with a delta above 0 only; name a public catalogue")
        for name, least, most in (("baskets_per_person", 0, MOST_BASKETS_PER_PERSON), ("max_itemset", 1, _MOST_SIZE)):
            if (value := as_whole(getattr(self, name))) is None or not least <= value <= most:
                raise PlanError(f"{name.replace('_', ' ')} must be a whole number from {least} to {most}")

    @property
    def threshold_delta(self) -> Fraction:
        """δ_T, the part of δ that is for a threshold (files/releases.py)."""
        return self.delta / _THRESHOLD_PART if self.discover else Fraction(0)

    def rates(self) -> Mapping[int, Fraction]:
        """Return by itemset size what each share of the budget allows: the rate times the change of the counts."""
        total = rho_from_epsilon(self.epsilon, self.delta - self.threshold_delta) if self.delta else self.epsilon
        times = max(self.baskets_per_person, 1)
        allowed = total / (times**2 if self.delta else times)
        shares = _SHARES[self.max_itemset]
        return {k: allowed * Fraction(share) / 100 for k, share in shares.items()}


def release_baskets(
    baskets: Baskets,
    options: ReleaseOptions,
    *,
    names: Names | None = None,
    entropy: WordEntropy | None = None,
    progress: Progress | None = None,
) -> Release:
    """Count itemsets of raw baskets with noise.

    Args:
        baskets: the raw baskets, over a public catalogue or, to discover items, any; at most ``baskets_per_person``
            of each person.
        options: the guarantee.
        names: the taxonomy by which the baskets were read.
        entropy: the source of noise; the operating system's by default.
        progress: called with (task, steps done, steps).

    Returns:
        The release.

    Raises:
        PlanError: δ is so large for these baskets that it would permit publishing one; there are too few to detect
            anything; or no item can be published.
    """
    source, allowed = entropy or SystemEntropy(), options.rates()
    show = progress or _say_nothing
    maker = _Maker(options, allowed, source, show)
    show("counting items", 0, 3)
    total_noise = maker.noise(0, 3)
    total = int(maker.noisy(np.array([len(baskets)]), total_noise)[0])
    _check_number(total, options, maker)
    if options.discover:
        baskets, first, threshold = _discovered(baskets, maker)
    else:
        first, threshold = maker.stage(baskets, np.arange(len(baskets.catalogue), dtype=np.int64), 1), 0
    every, stages = first.items, [first]
    if options.max_itemset > 1 and len(every) > 1:
        show("counting pairs", 1, 3)
        chosen = _likely_items(first, maker.of_sets(2, comb(min(max(first.transaction_size, 2), len(every)), 2)))
        stages.append(maker.stage(_only(baskets, chosen), chosen, 2))
    show("counting pairs", 3, 3)
    unit, taxonomy = options.baskets_per_person, names or Names()
    guarantee = options.epsilon, options.delta
    return Release(baskets.catalogue, total, total_noise, tuple(stages), *guarantee, unit, taxonomy, threshold)


def _say_nothing(task: str, done: int, steps: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, slots=True)
class _Maker:
    options: ReleaseOptions
    allowed: Mapping[int, Fraction]
    entropy: WordEntropy
    progress: Progress

    def noise(self, k: int, changed: int) -> IntegerNoise:
        """Return the noise of counts that one basket changes by this sum, or by this sum of squares."""
        rate = Fraction(floor(self.allowed[k] / changed * _RATE_UNIT), _RATE_UNIT)
        return IntegerNoise(rate, self.options.delta > 0)

    def of_sets(self, k: int, changed: int) -> IntegerNoise:
        """Return the noise of the numbers of k-itemsets, 64 times their counts."""
        return self.noise(k, changed * (SCALE**2 if self.options.delta else SCALE))

    def _weights(self, sizes: Ints, m: int, k: int) -> Ints:
        return basket_weights(sizes, m, k, squared=self.options.delta > 0)

    def noisy(self, counts: Ints, noise: IntegerNoise) -> Ints:
        """Return counts with noise."""
        return np.asarray(counts + noise.draw(len(counts), self.entropy))

    def stage(self, baskets: Baskets, items: Ints, smallest: int) -> ReleasedStage:
        """Return the counts of a stage: of single items, or of pairs and larger sets."""
        largest = MOST_DISCOVERED if self.options.discover and smallest == 1 else len(items)
        bounds = _size_bounds(largest)
        by_size = np.bincount(baskets.sizes)
        places = np.searchsorted(bounds, np.arange(len(by_size)), "right") - 1
        classes = np.bincount(places, by_size, len(bounds)).astype(np.int64)  # whole numbers below 2^53
        size_noise = self.noise(0, 3)  # a third of the share for each stage
        size_counts = self.noisy(classes, size_noise)
        m = self.transaction_size(bounds, size_counts, smallest, largest)
        levels, sizes = list[ReleasedLevel](), baskets.sizes
        if smallest == 1:
            flat = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
            weights = np.repeat(self._weights(sizes, m, 1), sizes)
            counts = np.bincount(flat, weights, len(items)).astype(np.int64)
            noise = self.of_sets(1, m)
            levels.append(ReleasedLevel(items[:, None], self.noisy(counts, noise), noise))
        else:
            groups, wanted = _Groups(baskets, m), np.column_stack(np.triu_indices(len(items), 1)).astype(np.int64)
            for k in range(2, min(self.options.max_itemset, m, len(items)) + 1):
                noise = self.of_sets(k, comb(min(m, len(items)), k))
                counts = self.noisy(groups.count(wanted, self._weights(groups.sizes, m, k)), noise)
                levels.append(ReleasedLevel(items[wanted], counts, noise))
                wanted = _larger(wanted, counts, _FREQUENT * np.sqrt(noise.variance))
                if not len(wanted):
                    break
        return ReleasedStage(items, m, bounds, size_counts, size_noise, tuple(levels))

    def _can_draw(self, m: int, n_items: int) -> bool:
        """Return whether noise for baskets of m items can be drawn, at all sizes of itemsets."""
        try:
            for size in range(1, self.options.max_itemset + 1):
                if size <= min(m, n_items):
                    self.of_sets(size, comb(min(m, n_items), size))
        except PlanError:
            return False
        return True

    def transaction_size(self, bounds: Ints, counts: Ints, k: int, n_items: int) -> int:
        """Return M of least expected error, from noisy classes of sizes."""
        lengths = np.arange(len(counts), 0, -1)  # of the classes from each on: noise alone would show large baskets
        clear = counts[::-1].cumsum()[::-1] >= _CLEAR * np.sqrt(self.noise(0, 3).variance * lengths)
        held = np.maximum(counts, 0) * (np.arange(len(counts)) <= np.flatnonzero(clear).max(initial=0))
        shares = held / max(held.sum(), 1)
        ends = np.append(bounds[1:] - 1, bounds[-1] * 5 // 4)
        sizes = SizeDistribution(np.minimum((bounds + ends) // 2, n_items), shares[None])
        n, best = max(int(counts.sum()), 1), (np.inf, k)
        for m in range(max(k, min(self.options.max_itemset, n_items) if k > 1 else k), min(_SINGLE, n_items) + 1):
            factor = sizes.truncation_factor(m, k, self._weights(sizes.sizes, m, k) / SCALE)[0]
            if m > k and not self._can_draw(m, n_items):
                break
            noise = np.sqrt(self.noise(k, comb(m, k)).variance) / n
            correction = _CORRECTION_ERROR[k] * (1 - 1 / factor)
            best = min(best, (float(np.hypot(noise * factor, correction)), m))
        return best[1]


def _check_number(total: int, options: ReleaseOptions, maker: _Maker) -> None:
    """Refuse too few baskets, by their noisy number, and a δ that would permit publishing one."""
    needed = ceil(_FREQUENT * sqrt(maker.noise(1, _USUAL_SIZE).variance) / _USUAL_SUPPORT)
    if total < needed:
        raise PlanError(
            f"about {max(total, 0):,} baskets are too few for epsilon = {float(options.epsilon):g}: an item in "
            f"every fifth basket could not be distinguished from noise; give about {needed:,}, or a larger epsilon"
        )
    if options.delta * total >= 1:
        raise PlanError(
            f"delta must be below 1 over the number of baskets (about {total:,}), as a larger one would permit "
            "publishing one; a typical value is 1e-8"
        )


def choose_again(release: Release) -> str:
    """Return which choice of a release does not follow from its noisy counts, in words; empty if all do.

    Args:
        release: the release.

    Returns:
        As ``M of the first stage``.
    """
    options = ReleaseOptions(release.epsilon, release.delta, release.baskets_per_person, 1, release.threshold > 0)
    largest = [k for k in range(1, _MOST_SIZE + 1) if _has_rates(release, replace(options, max_itemset=k))]
    if not largest:
        return "noise"
    for most in largest:
        options = replace(options, max_itemset=most)
        if not (wrong := _wrong_choice(release, _Maker(options, options.rates(), SystemEntropy(), _say_nothing))):
            return ""
    return wrong


def _has_rates(release: Release, options: ReleaseOptions) -> bool:
    """Return whether these options give the noise of all counts of a release."""
    maker = _Maker(options, options.rates(), SystemEntropy(), _say_nothing)
    wanted = [(0, release.total_noise, 3), *((0, stage.size_noise, 3) for stage in release.stages)]
    levels = [(level.itemsets.shape[1], level.noise, stage.transaction_size) for stage, level in release.levels]
    try:
        return all(maker.noise(k, times) == noise for k, noise, times in wanted) and all(
            k <= options.max_itemset and maker.of_sets(k, comb(m, k)) == noise for k, noise, m in levels
        )
    except PlanError:  # noise too large to be drawn
        return False


def _wrong_choice(release: Release, maker: _Maker) -> str:
    first, most = release.stages[0], maker.options.max_itemset
    for number, stage in enumerate(release.stages):
        size = release.largest_basket(number)
        if maker.transaction_size(stage.size_bounds, stage.size_counts, number + 1, size) != stage.transaction_size:
            return f"M of stage {number}"
    if len(release.stages) < 2:
        return "" if most == 1 or release.n_items == 1 else "number of stages"
    pair = maker.of_sets(2, comb(min(max(first.transaction_size, 2), release.n_items), 2))
    second = release.stages[1]
    if not np.array_equal(_likely_items(first, pair), second.items):
        return "items of the second stage"
    for k, level in enumerate(second.levels[: min(most, second.transaction_size, len(second.items)) - 2], start=2):
        least = _FREQUENT * np.sqrt(level.noise.variance)
        wanted = second.items[_larger(np.searchsorted(second.items, level.itemsets), level.counts, least)]
        found = second.levels[k - 1].itemsets if k - 1 < len(second.levels) else wanted[:0]
        if not np.array_equal(wanted, found):
            return f"sets of {k + 1}"
    return ""


def _size_bounds(n_items: int) -> Ints:
    """Return the least sizes of classes: up to 16 each, then each class a quarter longer, up to the number of items."""
    wide = np.rint(_SINGLE * 1.25 ** np.arange(1, 26)).astype(np.int64)
    bounds = np.concatenate([np.arange(_SINGLE + 1), wide[wide <= _MOST_CLASS]])
    return bounds[bounds <= max(n_items, 1)]


def _discovered(baskets: Baskets, maker: _Maker) -> tuple[Baskets, ReleasedStage, int]:
    """Return the baskets with the items whose noisy counts reach a threshold alone, by name, their stage, and it."""
    wanted = maker.options
    first, last = baskets.offsets[[0, -1]]
    held = np.repeat(baskets.sizes <= MOST_DISCOVERED, baskets.sizes)
    baskets = _where(baskets.catalogue, baskets.offsets - first, baskets.items[first:last], held)
    found = np.flatnonzero(np.bincount(baskets.items))  # an item of no basket could be published by noise alone
    stage = maker.stage(_only(baskets, found), np.arange(len(found)), 1)
    [level] = stage.levels
    low, high = 0, 1 << 53
    while high - low > 1:
        middle = (low + high) // 2
        delta = discovery_delta(middle, level.noise, stage.transaction_size, wanted.baskets_per_person)
        low, high = (low, middle) if delta <= wanted.threshold_delta else (middle, high)
    kept = sorted(np.flatnonzero(level.counts >= high).tolist(), key=lambda row: baskets.catalogue[found[row]])
    if not kept:
        raise PlanError(
            f"no item is in enough baskets for its name to be published, about {ceil(high / SCALE):,}; name a "
            "public catalogue, or give a larger epsilon"
        )
    ids = np.arange(len(kept), dtype=np.int64)
    level = ReleasedLevel(ids[:, None], level.counts[kept], level.noise)
    return _only(baskets, found[kept]), replace(stage, items=ids, levels=(level,)), high


def _likely_items(first: ReleasedStage, pair: IntegerNoise) -> Ints:
    """Return the items, at most 200, whose noisy counts leave room for pairs that can be distinguished from noise."""
    counts = first.levels[0].counts
    frequent = int((counts >= _FREQUENT * np.sqrt(pair.variance)).sum())
    order = np.argsort(-counts, kind="stable")[: min(max(frequent, _FEWEST), _BEST)]
    return np.sort(order).astype(np.int64)


def _only(baskets: Baskets, items: Ints) -> Baskets:
    """Return the baskets with these items alone, numbered by their places."""
    places = np.full(len(baskets.catalogue), -1, dtype=np.int64)
    places[items] = np.arange(len(items))
    first, last = baskets.offsets[[0, -1]]
    flat = places[baskets.items[first:last]]
    names = Catalogue([baskets.catalogue[item] for item in items.tolist()])
    return _where(names, baskets.offsets - first, flat, flat >= 0)


def _where(names: Catalogue, offsets: Ints, flat: Ints, held: NDArray[np.bool_]) -> Baskets:
    """Return the baskets with those of their items alone that are held."""
    if held.all():
        return Baskets(names, offsets, flat)
    return Baskets(names, np.concatenate([[0], np.cumsum(held)])[offsets], flat[held])


class _Groups:
    """Bitmaps of the baskets of each size, those of up to m items together; ``sizes`` int64 (groups,), m for these."""

    def __init__(self, baskets: Baskets, m: int) -> None:
        own, self._n_items = np.maximum(baskets.sizes, m), len(baskets.catalogue)
        self.sizes = np.flatnonzero(np.bincount(own))
        groups = [baskets if len(self.sizes) == 1 else baskets.take(np.flatnonzero(own == size)) for size in self.sizes]
        every = np.arange(self._n_items)
        self._rows = [transaction_rows(each.offsets, each.items, self._n_items, every) for each in groups]

    def count(self, itemsets: Ints, weights: Ints) -> Ints:
        """Return the weight of the baskets with each itemset, int64 (itemsets,), rows in lexicographic order."""
        counter, total = SupersetCounter(itemsets, self._n_items), np.zeros(len(itemsets), dtype=np.int64)
        for rows, weight in zip(self._rows, weights.tolist(), strict=True):
            total += weight * add_up(counter.count_in_steps, np.split(rows, len(rows)), len(itemsets))
        return total


def _larger(itemsets: Ints, counts: Ints, least: float) -> Ints:
    """Return the itemsets of one item more all of whose subsets have at least such a count, the likeliest ones."""
    itemsets, counts = itemsets[counts >= least], counts[counts >= least]
    joined = join_candidates(itemsets)
    subsets = [find_itemsets(itemsets, np.delete(joined, place, axis=1)) for place in range(joined.shape[1])]
    order = np.argsort(-counts[np.array(subsets)].min(axis=0), kind="stable")[:_MOST_LARGER]
    return joined[np.sort(order)]
