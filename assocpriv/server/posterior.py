"""Supports of whole baskets, and how sure they are, from all reports of one or several collections.

What reports estimate without bias (supports.py) is noisy, and the largest of many noisy estimates are too large. So a
support is told by its posterior, under priors that are fitted to the same reports. Step by step:

1. An estimate s' ± e within sampled items becomes one of whole baskets (undoing.py), x = F s' with variance
   (F e)² + (τ m)²; F and τ are had at the posterior mean m, never at the noisy s'. Of several collections the x are
   averaged by their inverse variances.
2. Items: the prior is a mixture of uniforms U(0, a). In place of m stands what of a part is nearest to x: else an item
   that once was thought rare would have a small τ m, and stay so. Items and their leans are told in turn.
3. Pairs: g is the expected support under independence given the basket size (independence.py), and the support u of
   the rarer item is an upper bound; the prior is a mixture of uniforms between multiples of g and parts of the way to
   u.
4. Larger itemsets: as pairs, with g the median over two items i, j of s(A∖i) s(A∖j) / s(A∖ij), the expected support if
   these two are independent given the others. The part nearest to g is as wide as the error of the rarest subset.
5. A support is at most that of the least subset, whose error moves the bound and with it the guess: the nodes of
   mixtures.py. At the end means are lowered to that of the least subset.

The error of the basket-size distribution is common to all itemsets of a size (``common``), and so is a part of what the
truncation correction of each may be wrong by (undoing.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.counting import add_subsets, find_itemsets
from assocpriv.server.independence import NullModel
from assocpriv.server.mixtures import NODE_WEIGHTS, NODES, Mixtures, fit_weights, posterior, seen_in
from assocpriv.server.undoing import FIRST_LEAN, Curve, fit_leans, shared_errors
from assocpriv.server.waves import Seen, Waves

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAST_VARIANCE, _LEAST_PRECISION = 1e-18, 1e-12
_LEAST_SHARE, _LEAST_WEIGHT = 1e-9, 1e-5  # of baskets of a size, and of those of all sizes of a null model
_BLOCK = 1 << 13  # itemsets at a time, where much is made of each
_PASSES, _ITEM_PARTS, _ITEM_STEPS = 4, 40, 300
_SET_STEPS, _SET_PSEUDO, _STRATA_FROM = 200, 10.0, 300
_PAIR_WEIGHTS = np.array([3.0, 2.0, 2.5, 0.8, 1.0, 0.5, 0.5])
_NEAR = 0.1  # relative half-width of the part of a larger itemset's prior that is nearest to g, where subsets are exact
_LARGER_WEIGHTS = np.array([3.0, 0.4, 0.4, 1.5, 2.0])


# ---- what is told


@dataclass(frozen=True, slots=True)
class Level:
    """Itemsets of one size, int64 (itemsets, k) with increasing ids, and what is told of them.

    Attributes:
        parents: rows, in the level of one item less, of the sets without each of the items, int64 (itemsets, k).
        sums: of each wave C_0 … C_k.
        within: of each wave S_0 … S_k (waves.py), as they are thought to be.
        expected: supports under independence (see 3 and 4 of the module's text); of items their own.
        told: posteriors; ``support`` and ``error`` are their means and standard deviations.
        unbiased, noise: estimates before any prior, in whole baskets, and their standard errors.
        common: the relative error that they share with all others of their size.
        undoing, undoing_error: F, the truncation correction, and the part of ``noise`` that its error is.
        sampled, sampled_error: unbiased estimates within sampled items, of the first wave, and their standard errors.
    """

    itemsets: Ints
    parents: Ints
    sums: list[Ints]
    within: list[Floats]
    expected: Floats
    told: Mixtures
    support: Floats
    error: Floats
    unbiased: Floats
    noise: Floats
    common: Floats
    undoing: Floats
    undoing_error: Floats
    sampled: Floats
    sampled_error: Floats

    def __len__(self) -> int:
        return len(self.itemsets)

    @property
    def unbiased_error(self) -> Floats:
        """Standard errors of ``unbiased``, with what all itemsets of the size share, float64 (itemsets,)."""
        shared = shared_errors(self.common * self.support, self.undoing_error)
        return np.asarray(np.hypot(self.noise, shared))


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is known of itemsets of one size before anything is told of them: their rows and counts, and estimates.

    ``subsets`` are S_0 … S_k of each wave but for the last.
    """

    itemsets: Ints
    parents: Ints
    sums: list[Ints]
    seen: list[Seen]
    subsets: list[Floats]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Estimates in whole baskets, before any prior: values, variances, and the error that is common to all.

    Variances are those at supports as they are thought to be, ``means``. ``undoing`` is F of all waves together, and τ
    its relative error; ``factors`` and ``errors`` are of each wave F, and the standard error within sampled items.
    """

    x: Floats
    means: Floats
    variance: Floats
    common: Floats
    undoing: Floats
    unsure: Floats
    factors: list[Floats]
    errors: list[Floats]

    def errors_at(self, supports: Floats) -> Floats:
        """Return the standard errors that x would have at other supports, float64 (itemsets, parts)."""
        moved = self.unsure[:, None] ** 2 * (supports**2 - self.means[:, None] ** 2)
        return np.sqrt(np.maximum(self.variance[:, None] + moved, _LEAST_VARIANCE))

    @property
    def shared(self) -> Floats:
        """The relative error that all have together: of the law of sizes, and of the curve's form."""
        return shared_errors(self.common, self.unsure)


# ---- reading


class Reading:
    """What waves tell of all items, and of larger itemsets when asked."""

    def __init__(self, waves: Waves) -> None:
        self.waves, self.n_items = waves.waves, len(waves.catalogue)
        self._leans = [np.zeros(self.n_items) for _ in self.waves]
        self._deviations = [np.full(self.n_items, FIRST_LEAN) for _ in self.waves]
        self._curves: dict[tuple[int, int], Curve] = {}
        self.items = self._read_items()

    def _curve(self, number: int, k: int) -> Curve:
        if (number, k) not in self._curves:
            wave = self.waves[number]
            self._curves[number, k] = Curve.of(wave.law, wave.transaction_size, k)
        return self._curves[number, k]

    def _evidence(self, shown: _Shown, means: Floats) -> _Evidence:
        """Return estimates in whole baskets, the sampling undone and errors had at these supports."""
        k, zero = shown.itemsets.shape[1], np.zeros(len(means))
        values, precisions, commons, undoing, unsures, all_factors, errors = zero, zero, zero, zero, zero, [], []
        for number, (wave, seen) in enumerate(zip(self.waves, shown.seen, strict=True)):
            if wave.itemset_size < k:
                all_factors.append(zero + 1.0)
                errors.append(zero + np.inf)
                continue
            leans = self._leans[number][shown.itemsets].mean(axis=1)
            deviations = np.sqrt((self._deviations[number][shown.itemsets] ** 2).sum(axis=1)) / k
            curve = self._curve(number, k)
            factors, unsure = curve.undo(means, leans, deviations)
            variance = wave.variances(np.column_stack([shown.subsets[number], means / factors]))
            precision = seen.asked / np.maximum(factors**2 * variance + (unsure * means) ** 2, _LEAST_VARIANCE)
            values = values + precision * factors * seen.support
            precisions = precisions + precision
            commons = commons + (precision * curve.error) ** 2
            undoing, unsures = undoing + precision * factors, unsures + (precision * unsure) ** 2
            all_factors.append(factors)
            errors.append(np.where(seen.asked, np.sqrt(variance), np.inf))
        precisions = np.maximum(precisions, _LEAST_PRECISION)
        common, unsure = np.sqrt(commons) / precisions, np.sqrt(unsures) / precisions
        return _Evidence(
            values / precisions, means, 1 / precisions, common, undoing / precisions, unsure, all_factors, errors
        )

    def _shown(self, itemsets: Ints, parents: Ints, sums: list[Ints], smaller: list[Floats]) -> _Shown:
        subsets = [add_subsets(each, parents) for each in smaller]
        seen = [wave.seen(itemsets, each) for wave, each in zip(self.waves, sums, strict=True)]
        return _Shown(itemsets, parents, sums, seen, subsets)

    # ---- items

    def _read_items(self) -> Level:
        itemsets = np.arange(self.n_items, dtype=np.int64)[:, None]
        parents = np.zeros((self.n_items, 1), dtype=np.int64)
        sums = [wave.item_sums() for wave in self.waves]
        small = [wave.seen_small() if wave.itemset_size > 1 else None for wave in self.waves]
        shown = self._shown(itemsets, parents, sums, [np.ones((1, 1)) for _ in self.waves])
        means = np.clip(shown.seen[0].support, 0.0, 1.0)
        for left in reversed(range(_PASSES)):
            evidence = self._evidence(shown, means)
            told = _item_posteriors(evidence)
            means = told.mean
            for number, told_small in enumerate(small if left else ()):
                if told_small is not None:
                    self._read_leans(number, *told_small, means, told.variance)
        return _level(shown, evidence, means, told, means)

    def _read_leans(self, number: int, small: Seen, dummy: float, means: Floats, variances: Floats) -> None:
        """Tell of each item how many of its holders have small baskets."""
        wave, curve, asked = self.waves[number], self._curve(number, 1), np.flatnonzero(small.asked)
        leans, deviations = self._leans[number], self._deviations[number]
        supports = means[asked]
        factors, shares = curve.undo(supports, leans[asked], deviations[asked])[0], curve.share_small(supports)
        within = supports / factors
        errors = np.sqrt(wave.variances(np.column_stack([np.ones(len(asked)), within + dummy, shares * within])))
        found = fit_leans(shares, within, variances[asked] / factors**2, small.support[asked], errors)
        leans[asked], deviations[asked] = found

    @cached_property
    def _null_models(self) -> tuple[tuple[NullModel, Floats], ...]:
        """The null models of baskets of fewer than M items and of the others, each with the items' supports there."""
        wave, supports = self.waves[0], self.items.support
        small = self._curve(0, 1).small_holders(supports, self._leans[0])
        sizes, shares = np.minimum(wave.law.sizes, self.n_items), wave.law.shares
        is_small, models = wave.law.sizes < wave.transaction_size, []
        for chosen, held in ((is_small, small), (~is_small, supports - small)):
            rows = np.flatnonzero(chosen & (sizes > 0) & (shares > _LEAST_SHARE))
            if shares[rows].sum() > _LEAST_WEIGHT and sizes[rows].max() > 1:
                models.append((NullModel.fit(sizes[rows], shares[rows], held), held))
        return tuple(models)

    def expected_pairs(self, pairs: Ints) -> Floats:
        """Return the expected supports of pairs of items under independence given the basket size, float64 (pairs,)."""
        return sum((model.expected(held, pairs) for model, held in self._null_models), np.zeros(len(pairs)))

    # ---- larger itemsets

    def asked(self, itemsets: Ints) -> Ints:
        """Leave those that some wave was asked about as a whole."""
        return itemsets[np.any([wave.asks(wave.entries[itemsets]) for wave in self.waves], axis=0)]

    def read(self, itemsets: Ints, levels: Sequence[Level], known: Level | None = None) -> Level:
        """Return what is told of itemsets of k ≥ 2 items, given the levels of 1 … k − 1 items.

        Itemsets are int64 (itemsets, k) in lexicographic order. What is ``known`` already is not counted again.
        """
        k, smaller = itemsets.shape[1], levels[-1]
        parents = [find_itemsets(smaller.itemsets, np.delete(itemsets, dropped, axis=1)) for dropped in range(k)]
        shown = self._counted(itemsets, np.column_stack(parents), smaller, known)
        prior = self._prior(shown, smaller, levels[-2] if k > 2 else None)
        means = prior.guess
        for turn in range(2):
            evidence = self._evidence(shown, means)
            told = prior.posteriors(evidence, fitted=turn == 1)
            means = told.mean
        lowered = np.minimum(means, smaller.support[shown.parents].min(axis=1))
        return _level(shown, evidence, prior.guess, told.moved(lowered - means), lowered)

    def _counted(self, itemsets: Ints, parents: Ints, smaller: Level, known: Level | None) -> _Shown:
        places = np.full(len(itemsets), -1) if known is None else find_itemsets(known.itemsets, itemsets)
        new, sums = places < 0, []
        for number, wave in enumerate(self.waves):
            each = np.empty((len(itemsets), itemsets.shape[1] + 1), dtype=np.int64)
            each[new] = wave.sums(itemsets[new], parents[new], smaller.sums[number])
            if known is not None:
                each[~new] = known.sums[number][places[~new]]
            sums.append(each)
        return self._shown(itemsets, parents, sums, smaller.within)

    def read_again(self, itemsets: Sequence[Ints], known: Sequence[Level]) -> list[Level]:
        """Return what is told of all items, and of given itemsets of 2, 3, … items, closed under taking subsets."""
        levels = [self.items]
        for k, rows in enumerate(itemsets[1:], start=2):
            levels.append(self.read(rows, levels, known[k - 1] if len(known) >= k else None))
        return levels

    def _prior(self, shown: _Shown, smaller: Level, smallest: Level | None) -> "_Prior":
        itemsets, parents = shown.itemsets, shown.parents
        k, supports = itemsets.shape[1], smaller.support[parents]
        least = supports.argmin(axis=1)
        rows = np.arange(len(itemsets))
        bound, error = supports[rows, least], smaller.error[parents[rows, least]]
        spread = np.sqrt((smaller.error[parents] ** 2).sum(axis=1))
        if smallest is None:
            guess = self.expected_pairs(itemsets)
            low = np.maximum(supports.sum(axis=1) - 1 - spread, 0.0)
        else:
            guesses, low = [], np.zeros(len(itemsets))
            for i, j in combinations(range(k), 2):
                both = smallest.support[smaller.parents[parents[:, i], j - 1]]
                guesses.append(supports[:, i] * supports[:, j] / np.maximum(both, 1e-12))
                low = np.maximum(low, supports[:, i] + supports[:, j] - both - 2 * spread)
            guess = np.median(guesses, axis=0)
        guess = np.minimum(guess, bound)
        return _Prior(np.maximum(guess, 1e-12), bound, error, np.minimum(low, guess), k == 2)


@dataclass(frozen=True, slots=True)
class _Prior:
    """Guesses, upper bounds with their errors, lower bounds, float64 (itemsets,)."""

    guess: Floats
    bound: Floats
    error: Floats
    low: Floats
    pairs: bool

    @property
    def weights(self) -> Floats:
        """The weights of the parts before anything is fitted."""
        weights = _PAIR_WEIGHTS if self.pairs else _LARGER_WEIGHTS
        return np.asarray(weights / weights.sum())

    def intervals(self) -> tuple[Floats, Floats]:
        """Return the ends of the uniform parts, float64 (itemsets, nodes, parts)."""
        bound = np.maximum(self.bound[:, None] + NODES * self.error[:, None], 1e-9)
        g = np.minimum(self.guess[:, None] * bound / np.maximum(self.bound, 1e-9)[:, None], 0.999 * bound)
        low, zero = np.minimum(self.low[:, None], g), np.zeros_like(g)
        room = bound - g
        w = np.sqrt(_NEAR**2 + 3 * (self.error / np.maximum(self.bound, 1e-9))[:, None] ** 2)
        parts = (
            [(0.87 * g, 1.15 * g), (zero, g), (0.7 * g, g), (g, 1.5 * g), (g, g + 0.1 * room), (g, bound),
             (g + 0.6 * room, bound)]
            if self.pairs
            else [((1 - w) * g, (1 + w) * g), (low, g), (low + 0.6 * (g - low), g), (g, g + 0.2 * room), (g, bound)]
        )  # fmt: skip
        ends = [
            np.clip(np.stack(each, axis=2), low[:, :, None], bound[:, :, None]) for each in zip(*parts, strict=True)
        ]
        return ends[0], ends[1]

    def _parts(self, evidence: _Evidence) -> tuple[Floats, Floats, Floats]:
        """Return log densities, means and variances of the parts, float64 (itemsets, nodes, parts), block by block."""
        low, high = self.intervals()
        found = tuple(np.empty(low.shape) for _ in range(3))
        for start in range(0, len(low), _BLOCK):
            rows = slice(start, start + _BLOCK)
            x, sd = evidence.x[rows, None, None], np.sqrt(evidence.variance)[rows, None, None]
            for whole, part in zip(found, seen_in(x, sd, low[rows], high[rows]), strict=True):
                whole[rows] = part
        found[0][:] += np.log(NODE_WEIGHTS)[:, None]
        return found[0], found[1], found[2]

    def posteriors(self, evidence: _Evidence, *, fitted: bool) -> Mixtures:
        """Return posteriors, with the weights of the parts fitted or as they are before."""
        (density, means, variances), weights = self._parts(evidence), self.weights
        by_row = np.tile(weights, (len(self.guess), 1))
        if fitted and len(by_row):
            top = density.max(axis=(1, 2), keepdims=True)
            likely = np.exp(density - top).sum(axis=1)
            overall = fit_weights(likely, weights, _SET_PSEUDO, _SET_STEPS)
            by_row[:] = overall
            if len(likely) > _STRATA_FROM:
                common = self.guess >= np.quantile(self.guess, 0.9)
                for stratum in (common, ~common):
                    by_row[stratum] = fit_weights(likely[stratum], overall, _SET_PSEUDO, _SET_STEPS)
        shape = len(self.guess), density.shape[1] * density.shape[2]
        flat = [each.reshape(shape) for each in (density, means, variances)]
        told = posterior(flat[0], np.tile(by_row, (1, len(NODES))), flat[1], flat[2])
        return told.wider(evidence.shared)


def _level(shown: _Shown, evidence: _Evidence, expected: Floats, told: Mixtures, support: Floats) -> Level:
    within = [
        np.column_stack([subsets, support / factors])
        for subsets, factors in zip(shown.subsets, evidence.factors, strict=True)
    ]
    return Level(
        shown.itemsets, shown.parents, shown.sums, within, expected, told, support, np.sqrt(told.variance),
        evidence.x, np.sqrt(evidence.variance), evidence.common, evidence.undoing, evidence.unsure * evidence.means,
        shown.seen[0].support, evidence.errors[0],
    )  # fmt: skip


def _item_posteriors(evidence: _Evidence) -> Mixtures:
    """Return the posteriors of items, whose prior is a mixture of uniforms from 0 on."""
    x, least = evidence.x[:, None], float(np.sqrt(evidence.variance.min()))
    ends = np.geomspace(min(max(least / 8, 1e-5), 0.5), 1.0, _ITEM_PARTS)
    density, means, variances = seen_in(x, evidence.errors_at(np.clip(x, 0.0, ends)), np.zeros_like(ends), ends)
    start = np.full(_ITEM_PARTS, 1 / _ITEM_PARTS)
    likely = np.exp(density - density.max(axis=1, keepdims=True))
    weights = fit_weights(likely, start, 1.0, _ITEM_STEPS)
    return posterior(density, weights, means, variances).wider(evidence.shared)
