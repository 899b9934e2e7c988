"""Posterior supports of whole baskets, from all reports of one or several collections.

Unbiased estimates from reports (supports.py) are noisy, and the largest of many noisy estimates are too large. So each
support gets a posterior, under priors that are fitted to the same reports. The steps:

1. An estimate s' ± e within truncated baskets becomes an estimate for whole baskets (truncation.py), x = F s' with
   variance (F e)² + (τ m)². F and τ are taken at the posterior mean m, never at the noisy s'. The x of several rounds
   are averaged with inverse variances as weights.
2. Items: the prior is a mixture of uniforms U(0, a). Within a component, m is replaced by the point of the component
   nearest to x. Otherwise an item once estimated as rare would have a small τ m, and stay rare. Items and their size
   effects (truncation.py) are estimated in turn.
3. Pairs: g is the expected support under independence given the basket size (below). The support u of the
   rarer item is an upper bound. The prior is a mixture of uniforms between multiples of g and points between g and u.
4. Larger itemsets: as pairs, with g the median over two items i, j of s(A∖i) s(A∖j) / s(A∖ij), the expected support if
   these two are independent given the others. The width of the component nearest to g follows the errors of the
   subsets, of which each of these expressions has two.
5. A support is at most that of the rarest subset (anti-monotone upper bound). The error of that subset moves the bound
   and with it the expected support: the nodes of mixtures.py. At the end means are lowered to that of the rarest
   subset.

The error of the basket-size distribution is common to all itemsets of a size (``common``), and so is a part of the
error of each truncation correction (truncation.py).

**Samples** of supports from the posterior of a mined table: supports are drawn from small itemsets to large ones. The
error common to all itemsets of a size shifts them together, by one number per sample. The distribution of a larger
itemset depends on the sampled value of its upper bound, the rarest subset: it is interpolated between the two nodes of
mixtures.py that enclose that value. Values above a sampled subset are cut to it.

**Independence given the basket size** is the null model of pairs. Baskets of c items are drawn as independent items
conditioned on their number being c (a conditional Bernoulli distribution, also called rejective sampling). With o_i the
odds of item i and e_c the elementary symmetric polynomial of degree c of all odds, without those of the items in the
superscript,

    P(i | c) = o_i e_{c−1}^{−i} / e_c,        P(i, j | c) = o_i o_j e_{c−2}^{−ij} / e_c.

So Σ_i P(i | c) = c at every size. The odds are fitted so that Σ_c P(c) P(i | c) is the support of item i, separately
for baskets of fewer than M items and for the others, since the split of an item's holders between these two is measured
(truncation.py). Where sizes vary as they do when items are independent, the expected support of a pair is the product
of its items' supports; where sizes vary more it is larger.

**Computation.** A common factor μ of all odds changes nothing. With p_i = μ o_i / (1 + μ o_i) and Σ_i p_i = c, the
polynomials are probabilities of sums of independent Bernoulli variables: inverse Fourier transforms of

    φ(t) = Π_i (1 − p_i + p_i e^{it}),

with one or two factors divided out. Sums over 65 points are exact for sizes up to 24, and for all sizes of catalogues
of up to 64 items. For others P(i | c) = p_i, and by Hájek's approximation, with d = Σ_i p_i (1 − p_i),

    P(i, j | c) = p_i p_j (1 − (1 − p_i)(1 − p_j) / d).

Source: Chen, Dempster, Liu, Weighted finite population sampling to maximize entropy, Biometrika 81 (1994); Hájek,
Asymptotic theory of rejective sampling with varying probabilities, Ann. Math. Stat. 35 (1964). The fit is ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.mixtures import (
    BLOCK,
    NODE_WEIGHTS,
    NODES,
    Mixtures,
    fit_to_sample,
    fit_weights,
    mixture_posteriors,
    systematic_sample,
    truncated_moments,
)
from assocpriv.estimation.truncation import INITIAL_EFFECT_SD, TruncationCurve, fit_size_effects, shared_errors
from assocpriv.files.mined_tables import LightFrame, posterior_components
from assocpriv.guarantees.errors import EstimateError
from assocpriv.guarantees.exact_numbers import as_whole
from assocpriv.kernels.itemset_counts import find_itemsets
from assocpriv.kernels.parallel import parallel_map
from assocpriv.server.baskets.counting import sum_over_subsets
from assocpriv.server.baskets.released_rounds import SampledEstimate
from assocpriv.server.baskets.rounds import Rounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAST_VARIANCE, _LEAST_PRECISION = 1e-18, 1e-12
_LEAST_SHARE, _LEAST_WEIGHT = 1e-9, 1e-5  # of the baskets of one size, and of all sizes of a null model
_BLOCK = 1 << 13  # itemsets at a time, to bound memory
_PASSES, _FEW_COMPONENTS, _ITEM_COMPONENTS, _ITEM_STEPS = 4, 14, 40, 300
_SET_STEPS, _SET_PSEUDO, _STRATA_FROM = 200, 10.0, 300
_PAIR_WEIGHTS = np.array([3.0, 2.0, 2.5, 0.8, 1.0, 0.5, 0.5])
_NEAR = 0.1  # relative half-width of the component nearest to g, for larger itemsets with exact subsets
_LARGER_WEIGHTS = np.array([3.0, 0.4, 0.4, 1.5, 2.0])
_MOST_SAMPLES = 10_000_000
_POINTS, _EXACT_TO = 65, 24
_ANGLES = 2j * np.pi * np.arange(_POINTS // 2 + 1) / _POINTS
_CIRCLE = np.exp(_ANGLES)
_WEIGHTS = np.where(_ANGLES == 0, 1.0, 2.0) / _POINTS  # of half of the points, as the sum is real
_BINS = 4.0  # representative items per unit of log odds
_FIT_STEPS, _SCALE_STEPS, _CONVERGED = 30, 80, 1e-4  # of log odds
_FARTHEST = 60.0  # log odds of an item that all or no baskets of a size hold
_LEAST, _MOST = 1e-9, 1 - 1e-6  # bounds of the share of a block's baskets that hold an item


# ---- independence


@dataclass(frozen=True, slots=True)
class Population:
    """Items grouped by odds: representatives and how many items each stands for, float64 (representatives,)."""

    odds: Floats
    counts: Floats

    def inclusion(self, sizes: Ints) -> Floats:
        """Return P(i | c) of representatives for increasing sizes c ≥ 1, float64 (sizes, representatives)."""
        p, factors, kernel = self._at(sizes)
        p[: len(kernel)] *= np.einsum("cl,cil->ci", kernel * _CIRCLE, 1 / factors).real
        return p

    def pairs(self, sizes: Ints, shares: Floats) -> Floats:
        """Return Σ_c P(c) P(i, j | c) for two items of each odds, float64 (odds, odds); P(c) are ``shares``."""
        p, factors, kernel = self._at(sizes)
        exact = len(kernel)
        several = np.flatnonzero(sizes[:exact] > 1)
        divided = p[several, :, None] / factors[several]
        weighted = divided * (kernel * _CIRCLE**2 * shares[:exact, None])[several, None, :]
        both = np.einsum("cil,cjl->ij", weighted, divided).real
        rest, weights = p[exact:], shares[exact:, None]
        apart = rest * (1 - rest)
        spread = (apart @ self.counts)[:, None]
        return np.asarray(both + (weights * rest).T @ rest - (weights / spread * apart).T @ apart)

    def _at(self, sizes: Ints) -> tuple[Floats, NDArray[np.complex128], NDArray[np.complex128]]:
        """Return p, (sizes, representatives), and for the exact sizes the factors of φ and the inversion kernel.

        The kernel, (exact sizes, points), is φ over P(Σ = c), times the weights that select c in an inverse transform.
        """
        exact = len(sizes) if self.counts.sum() < _POINTS else int(np.searchsorted(sizes, _EXACT_TO, "right"))
        p = self._probabilities(sizes)
        moved = p[:exact, :, None] * (_CIRCLE - 1)
        logs = np.einsum("k,ckl->cl", self.counts, np.log1p(moved))
        kernel = np.exp(logs - _ANGLES * sizes[:exact, None]) * _WEIGHTS
        return p, 1 + moved, kernel / kernel.sum(axis=1, keepdims=True).real

    def _probabilities(self, sizes: Ints) -> Floats:
        """Return p scaled so that the sum over all items is each size, float64 (sizes, representatives)."""
        low = np.log(sizes / (self.odds @ self.counts))
        high = np.log(sizes / np.maximum(self.counts.sum() - sizes, 1e-9) / self.odds.min())
        level = low
        for _ in range(_SCALE_STEPS):  # Newton's method within a bracket
            p = _share(np.exp(level)[:, None] * self.odds)
            missing = sizes - p @ self.counts
            low, high = np.where(missing > 0, level, low), np.where(missing < 0, level, high)
            level = level + missing / np.maximum((p * (1 - p)) @ self.counts, 1e-12)
            level = np.where((level > low) & (level < high), level, (low + high) / 2)
            if np.abs(missing).max(initial=0.0) < _CONVERGED:
                break
        return _share(np.exp(level)[:, None] * self.odds)


@dataclass(frozen=True, slots=True)
class NullModel:
    """Expected supports of pairs in baskets of some sizes, if items are independent given the size.

    Attributes:
        weight: share of all baskets that have such a size.
        log_odds: log odds of the share of these baskets that hold an item, increasing, float64 (places,).
        ratios: the expected share of all baskets that have such a size and hold a pair of such items, over the product
            of the two items' shares, float64 (places, places).
    """

    weight: float
    log_odds: Floats
    ratios: Floats

    @classmethod
    def fit(cls, sizes: Ints, shares: Floats, supports: Floats) -> "NullModel":
        """Fit the odds of all items.

        Args:
            sizes: basket sizes, from 1 to the number of items, increasing, int64 (sizes,).
            shares: share of all baskets of each size, float64 (sizes,), not all 0.
            supports: the share of all baskets that have such a size and hold the item, float64 (items,).
        """
        weight = float(shares.sum())
        logs = _log_odds(supports / weight)
        _, places, counts = np.unique(np.rint(_BINS * logs), return_inverse=True, return_counts=True)
        wanted = np.bincount(places, logs) / counts
        log_odds = wanted
        for _ in range(_FIT_STEPS):
            population = Population(np.exp(log_odds), counts.astype(np.float64))
            reached = np.maximum(shares @ population.inclusion(sizes), _LEAST * weight)
            step = wanted - _log_odds(reached / weight)
            step -= step @ (counts * reached) / (counts @ reached)  # a common factor changes nothing
            log_odds = np.clip(log_odds + step, -_FARTHEST, _FARTHEST)
            if np.abs(step).max() < _CONVERGED:
                break
        both = population.pairs(sizes, shares)
        return cls(weight, wanted, np.maximum(both, 0.0) / np.outer(reached, reached))

    def expected(self, supports: Floats, pairs: Ints) -> Floats:
        """Return the expected supports of pairs of items, float64 (pairs,).

        ``supports`` are those of some items, as in :meth:`fit`; ``pairs`` are places in them, int64 (pairs, 2).
        """
        places = np.interp(_log_odds(supports / self.weight), self.log_odds, np.arange(len(self.log_odds), dtype=float))
        low = np.minimum(places.astype(np.int64), max(len(self.log_odds) - 2, 0))
        high, part = np.minimum(low + 1, len(self.log_odds) - 1), places - low
        (i, j), ratio = pairs.T, np.zeros(len(pairs))
        for row, of_row in ((low, 1 - part), (high, part)):
            for column, of_column in ((low, 1 - part), (high, part)):
                ratio += of_row[i] * of_column[j] * self.ratios[row[i], column[j]]
        return np.asarray(ratio * supports[i] * supports[j])


def _share(odds: Floats) -> Floats:
    return np.asarray(odds / (1 + odds))


def _log_odds(shares: Floats) -> Floats:
    held = np.clip(shares, _LEAST, _MOST)
    return np.asarray(np.log(held / (1 - held)))


# ---- posteriors of one size


@dataclass(frozen=True, slots=True)
class ItemsetLevel:
    """Itemsets of one size, int64 (itemsets, k) with increasing ids, and their posteriors.

    Attributes:
        parents: rows, in the level of one item less, of the subsets without each of the items, int64 (itemsets, k).
        sums: C_0 … C_k of each round.
        within: S_0 … S_k of each round at the posterior means (rounds.py).
        expected: supports under independence (steps 3 and 4 above); of items their own supports.
        posteriors: ``support`` and ``error`` are their means and standard deviations.
        unbiased, noise: estimates for whole baskets before any prior, and their standard errors.
        common: the relative error shared by all itemsets of the size.
        truncation, truncation_error: F, the truncation correction, and the part of ``noise`` that comes from it.
        sampled, sampled_error: unbiased estimates within truncated baskets, of the first round that estimates the
            itemset, and standard errors.
    """

    itemsets: Ints
    parents: Ints
    sums: list[Ints]
    within: list[Floats]
    expected: Floats
    posteriors: "Mixtures | _ItemPosteriors"
    support: Floats
    error: Floats
    unbiased: Floats
    noise: Floats
    common: Floats
    truncation: Floats
    truncation_error: Floats
    sampled: Floats
    sampled_error: Floats

    def __len__(self) -> int:
        return len(self.itemsets)

    @property
    def unbiased_error(self) -> Floats:
        """Standard errors of ``unbiased`` with the error shared by the size, float64 (itemsets,)."""
        shared = shared_errors(self.common * self.support, self.truncation_error)
        return np.asarray(np.hypot(self.noise, shared))


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts of itemsets of one size and the estimates from them, before any inference.

    ``subsets`` are S_0 … S_(k−1) of each round.
    """

    itemsets: Ints
    parents: Ints
    sums: list[Ints]
    estimates: list[SampledEstimate]
    subsets: list[Floats]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Estimates for whole baskets before any prior: values, variances, and the error common to all.

    Variances hold at the supports ``means``. ``truncation`` is F of all rounds together, and ``tau`` its relative error
    τ. ``factors`` are F of each round, ``errors`` its standard errors within truncated baskets.
    """

    x: Floats
    means: Floats
    variance: Floats
    common: Floats
    truncation: Floats
    tau: Floats
    factors: list[Floats]
    errors: list[Floats]

    def errors_at(self, supports: Floats, rows: Ints | slice) -> Floats:
        """Return the standard errors that x of some itemsets would have at other supports, float64 of their shape."""
        moved = self.tau[rows, None] ** 2 * (supports**2 - self.means[rows, None] ** 2)
        return np.sqrt(np.maximum(self.variance[rows, None] + moved, _LEAST_VARIANCE))

    @property
    def shared(self) -> Floats:
        """The relative error common to all: of the basket-size distribution, and of the curve's form."""
        return shared_errors(self.common, self.tau)


# ---- inference


class PosteriorModel:
    """The posteriors of all items of some rounds, and of larger itemsets on request."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds, self.n_items = rounds.rounds, len(rounds.catalogue)
        self._effects = [np.zeros(self.n_items) for _ in self.rounds]
        self._effect_errors = [np.full(self.n_items, INITIAL_EFFECT_SD) for _ in self.rounds]
        self._curves: dict[tuple[int, int], TruncationCurve] = {}
        self.items = self._infer_items()

    def _curve(self, number: int, k: int) -> TruncationCurve:
        if (number, k) not in self._curves:
            round_ = self.rounds[number]
            m, kept = round_.transaction_size, round_.kept(k)
            self._curves[number, k] = TruncationCurve.from_sizes(round_.sizes, m, k, kept)
        return self._curves[number, k]

    def _evidence(self, counts: _Counts, means: Floats) -> _Evidence:
        """Return estimates for whole baskets, with truncation corrections and errors at these supports."""
        k, zero = counts.itemsets.shape[1], np.zeros(len(means))
        values, total, commons, truncation, taus, all_factors, errors = zero, zero, zero, zero, zero, [], []
        for number, (round_, estimates) in enumerate(zip(self.rounds, counts.estimates, strict=True)):
            if round_.itemset_size < k:
                all_factors.append(zero + 1.0)
                errors.append(zero + np.inf)
                continue
            effects = self._effects[number][counts.itemsets].mean(axis=1)
            spreads = np.sqrt((self._effect_errors[number][counts.itemsets] ** 2).sum(axis=1)) / k
            curve = self._curve(number, k)
            factors, tau = curve.truncation_factors(means, effects, spreads)
            variance = round_.variances(np.column_stack([counts.subsets[number], means / factors]))
            precision = estimates.available / np.maximum(factors**2 * variance + (tau * means) ** 2, _LEAST_VARIANCE)
            values = values + precision * factors * estimates.support
            total = total + precision
            commons = commons + (precision * curve.error) ** 2
            truncation, taus = truncation + precision * factors, taus + (precision * tau) ** 2
            all_factors.append(factors)
            errors.append(np.where(estimates.available, np.sqrt(variance), np.inf))
        total = np.maximum(total, _LEAST_PRECISION)
        common, tau = np.sqrt(commons) / total, np.sqrt(taus) / total
        return _Evidence(values / total, means, 1 / total, common, truncation / total, tau, all_factors, errors)

    def _gather(self, itemsets: Ints, parents: Ints, sums: list[Ints], smaller: list[Floats]) -> _Counts:
        subsets = [sum_over_subsets(each, parents) for each in smaller]
        estimates = [round_.estimate(itemsets, each) for round_, each in zip(self.rounds, sums, strict=True)]
        return _Counts(itemsets, parents, sums, estimates, subsets)

    # ---- items

    def _infer_items(self) -> ItemsetLevel:
        itemsets = np.arange(self.n_items, dtype=np.int64)[:, None]
        parents = np.zeros((self.n_items, 1), dtype=np.int64)
        sums = [round_.item_sums() for round_ in self.rounds]
        small = [round_.estimate_small() for round_ in self.rounds]
        counts = self._gather(itemsets, parents, sums, [np.ones((1, 1)) for _ in self.rounds])
        means = np.clip(counts.estimates[0].support, 0.0, 1.0)
        for left in reversed(range(_PASSES)):
            evidence = self._evidence(counts, means)
            posteriors = _ItemPosteriors.fit(evidence, _FEW_COMPONENTS if left else _ITEM_COMPONENTS)
            means, spread = posteriors.moments()
            for number, small_estimate in enumerate(small if left else ()):
                if small_estimate is not None:
                    self._fit_effects(number, *small_estimate, means, spread)
        return _level(counts, evidence, means, posteriors, means, np.sqrt(spread))

    def _fit_effects(self, number: int, small: SampledEstimate, padding: float, means: Floats, spread: Floats) -> None:
        """Estimate the size effect of each item: whether its holders have small baskets."""
        round_, curve, rows = self.rounds[number], self._curve(number, 1), np.flatnonzero(small.available)
        effects, spreads = self._effects[number], self._effect_errors[number]
        supports = means[rows]
        factors, _ = curve.truncation_factors(supports, effects[rows], spreads[rows])
        shares = curve.small_share(supports)
        within = supports / factors
        errors = np.sqrt(round_.variances(np.column_stack([np.ones(len(rows)), within + padding, shares * within])))
        found = fit_size_effects(shares, within, spread[rows] / factors**2, small.support[rows], errors)
        effects[rows], spreads[rows] = found

    @cached_property
    def _null_models(self) -> tuple[tuple[NullModel, Floats], ...]:
        """The null models of baskets of fewer than M items and of the others, each with the items' supports there."""
        round_, supports = self.rounds[0], self.items.support
        small = self._curve(0, 1).small_holders(supports, self._effects[0])
        sizes, shares = np.minimum(round_.sizes.sizes, self.n_items), round_.sizes.shares
        is_small, models = round_.sizes.sizes < round_.transaction_size, []
        for chosen, held in ((is_small, small), (~is_small, supports - small)):
            rows = np.flatnonzero(chosen & (sizes > 0) & (shares > _LEAST_SHARE))
            if shares[rows].sum() > _LEAST_WEIGHT and sizes[rows].max() > 1:
                models.append((NullModel.fit(sizes[rows], shares[rows], held), held))
        return tuple(models)

    def expected_pairs(self, pairs: Ints) -> Floats:
        """Return the expected supports of pairs of items under independence given the basket size, float64 (pairs,)."""
        return sum((model.expected(held, pairs) for model, held in self._null_models), np.zeros(len(pairs)))

    # ---- larger itemsets

    def covered(self, itemsets: Ints) -> Ints:
        """Return the itemsets that at least one round estimates."""
        return itemsets[np.any([round_.covers(round_.entries[itemsets]) for round_ in self.rounds], axis=0)]

    def infer(self, itemsets: Ints, levels: Sequence[ItemsetLevel], known: ItemsetLevel | None = None) -> ItemsetLevel:
        """Return the posteriors of itemsets of k ≥ 2 items, given the levels of 1 … k − 1 items.

        Itemsets are int64 (itemsets, k) in lexicographic order. Itemsets of the level ``known`` are not counted again.
        """
        k, smaller = itemsets.shape[1], levels[-1]
        parents = [find_itemsets(smaller.itemsets, np.delete(itemsets, dropped, axis=1)) for dropped in range(k)]
        counts = self._count(itemsets, np.column_stack(parents), smaller, known)
        prior = self._prior(counts, smaller, levels[-2] if k > 2 else None)
        means = prior.expected
        for turn in range(2):
            evidence = self._evidence(counts, means)
            posteriors = prior.posteriors(evidence, fitted=turn == 1)
            means = posteriors.mean
        lowered = np.minimum(means, smaller.support[counts.parents].min(axis=1))
        shifted = posteriors.shifted(lowered - means)
        return _level(counts, evidence, prior.expected, shifted, lowered, np.sqrt(shifted.variance))

    def _count(self, itemsets: Ints, parents: Ints, smaller: ItemsetLevel, known: ItemsetLevel | None) -> _Counts:
        places = np.full(len(itemsets), -1) if known is None else find_itemsets(known.itemsets, itemsets)
        new, sums = places < 0, []
        for number, round_ in enumerate(self.rounds):
            each = np.empty((len(itemsets), itemsets.shape[1] + 1), dtype=np.int64)
            each[new] = round_.count_subsets(itemsets[new], parents[new], smaller.sums[number])
            if known is not None:
                each[~new] = known.sums[number][places[~new]]
            sums.append(each)
        return self._gather(itemsets, parents, sums, smaller.within)

    def infer_closed(self, itemsets: Sequence[Ints], known: Sequence[ItemsetLevel]) -> list[ItemsetLevel]:
        """Return the posteriors of all items, and of given itemsets of 2, 3, … items that include all their subsets."""
        levels = [self.items]
        for k, rows in enumerate(itemsets[1:], start=2):
            levels.append(self.infer(rows, levels, known[k - 1] if len(known) >= k else None))
        return levels

    def _prior(self, counts: _Counts, smaller: ItemsetLevel, smallest: ItemsetLevel | None) -> "_Prior":
        itemsets, parents = counts.itemsets, counts.parents
        k, supports = itemsets.shape[1], smaller.support[parents]
        least = supports.argmin(axis=1)
        rows = np.arange(len(itemsets))
        upper, error = supports[rows, least], smaller.error[parents[rows, least]]
        spread = np.sqrt((smaller.error[parents] ** 2).sum(axis=1))
        if smallest is None:
            expected = self.expected_pairs(itemsets)
            low = np.maximum(supports.sum(axis=1) - 1 - spread, 0.0)
        else:
            expectations, low = [], np.zeros(len(itemsets))
            for i, j in combinations(range(k), 2):
                both = smallest.support[smaller.parents[parents[:, i], j - 1]]
                expectations.append(supports[:, i] * supports[:, j] / np.maximum(both, 1e-12))
                low = np.maximum(low, supports[:, i] + supports[:, j] - both - 2 * spread)
            expected = np.median(expectations, axis=0)
        expected = np.minimum(expected, upper)
        relative = np.sqrt(2 * np.mean((smaller.error[parents] / np.maximum(supports, 1e-9)) ** 2, axis=1))
        return _Prior(np.maximum(expected, 1e-12), upper, error, np.minimum(low, expected), relative, k == 2)


@dataclass(frozen=True, slots=True)
class _Prior:
    """Expected supports, upper bounds with their errors, lower bounds, and relative errors of the expected supports.

    All are float64 (itemsets,).
    """

    expected: Floats
    upper: Floats
    error: Floats
    low: Floats
    relative: Floats
    pairs: bool

    @property
    def weights(self) -> Floats:
        """The weights of the components before any fit."""
        weights = _PAIR_WEIGHTS if self.pairs else _LARGER_WEIGHTS
        return np.asarray(weights / weights.sum())

    def intervals(self) -> tuple[Floats, Floats]:
        """Return the ends of the uniform components, float64 (itemsets, nodes, components)."""
        upper = np.maximum(self.upper[:, None] + NODES * self.error[:, None], 1e-9)
        g = np.minimum(self.expected[:, None] * upper / np.maximum(self.upper, 1e-9)[:, None], 0.999 * upper)
        low, zero = np.minimum(self.low[:, None], g), np.zeros_like(g)
        room = upper - g
        w = np.sqrt(_NEAR**2 + 3 * self.relative[:, None] ** 2)  # a uniform's deviation is its half-width over √3
        components = (
            [(0.87 * g, 1.15 * g), (zero, g), (0.7 * g, g), (g, 1.5 * g), (g, g + 0.1 * room), (g, upper),
             (g + 0.6 * room, upper)]
            if self.pairs
            else [((1 - w) * g, (1 + w) * g), (low, g), (low + 0.6 * (g - low), g), (g, g + 0.2 * room),
                  (g, upper)]
        )  # fmt: skip
        stacked = (np.stack(each, axis=2) for each in zip(*components, strict=True))
        low, high = (np.clip(each, low[:, :, None], upper[:, :, None]) for each in stacked)
        return low, high

    def _components(self, evidence: _Evidence) -> tuple[Floats, Floats, Floats]:
        """Return log densities, means and variances of the components, float64 (itemsets, nodes, components)."""
        low, high = self.intervals()
        found = tuple(np.empty(low.shape) for _ in range(3))
        for start in range(0, len(low), _BLOCK):
            rows = slice(start, start + _BLOCK)
            x, sd = evidence.x[rows, None, None], np.sqrt(evidence.variance)[rows, None, None]
            for whole, block in zip(found, truncated_moments(x, sd, low[rows], high[rows]), strict=True):
                whole[rows] = block
        found[0][:] += np.log(NODE_WEIGHTS)[:, None]
        return found[0], found[1], found[2]

    def posteriors(self, evidence: _Evidence, *, fitted: bool) -> Mixtures:
        """Return posteriors, with fitted weights of the components or with the initial ones."""
        (density, means, variances), weights = self._components(evidence), self.weights
        by_row = np.tile(weights, (len(self.expected), 1))
        if fitted and len(by_row):
            top = density.max(axis=(1, 2), keepdims=True)
            likelihoods = np.exp(density - top).sum(axis=1)
            overall = fit_weights(likelihoods, weights, _SET_PSEUDO, _SET_STEPS)
            by_row[:] = overall
            if len(likelihoods) > _STRATA_FROM:
                common = self.expected >= np.quantile(self.expected, 0.9)
                for stratum in (common, ~common):
                    by_row[stratum] = fit_weights(likelihoods[stratum], overall, _SET_PSEUDO, _SET_STEPS)
        shape = len(self.expected), density.shape[1] * density.shape[2]
        flat = [each.reshape(shape) for each in (density, means, variances)]
        posteriors = mixture_posteriors(flat[0], np.tile(by_row, (1, len(NODES))), flat[1], flat[2])
        return posteriors.widened(evidence.shared)


def _level(
    counts: _Counts,
    evidence: _Evidence,
    expected: Floats,
    fitted: "Mixtures | _ItemPosteriors",
    support: Floats,
    error: Floats,
) -> ItemsetLevel:
    pairs = zip(counts.subsets, evidence.factors, strict=True)
    within = [np.column_stack([subsets, support / factors]) for subsets, factors in pairs]
    available = np.array([each.available for each in counts.estimates])
    first = available.argmax(axis=0), np.arange(len(support))
    sampled = np.array([each.support for each in counts.estimates])[first]
    return ItemsetLevel(
        counts.itemsets, counts.parents, counts.sums, within, expected, fitted, support,
        error, evidence.x, np.sqrt(evidence.variance), evidence.common, evidence.truncation,
        evidence.tau * evidence.means, sampled, np.array(evidence.errors)[first],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _ItemPosteriors:
    """Posteriors of all items, made for those that are asked for; the prior is a mixture of uniforms from 0 on."""

    evidence: _Evidence
    ends: Floats
    weights: Floats

    @classmethod
    def fit(cls, evidence: _Evidence, components: int) -> "_ItemPosteriors":
        """Fit the weights of this many uniforms."""
        least = float(np.sqrt(evidence.variance.min()))
        ends = np.geomspace(min(max(least / 8, 1e-5), 0.5), 1.0, components)
        start = np.full(components, 1 / components)
        sample, each = systematic_sample(len(evidence.x))
        density = cls(evidence, ends, start)._components(sample)[0]
        likelihoods = np.exp(density - density.max(axis=1, keepdims=True))
        return cls(evidence, ends, fit_to_sample(likelihoods, each, start, 1.0, _ITEM_STEPS))

    def _components(self, rows: Ints | slice) -> tuple[Floats, Floats, Floats]:
        x = self.evidence.x[rows, None]
        errors = self.evidence.errors_at(np.clip(x, 0.0, self.ends), rows)
        return truncated_moments(x, errors, np.zeros_like(self.ends), self.ends)

    def take(self, rows: Ints | slice) -> Mixtures:
        """Return the posteriors of some items."""
        density, means, variances = self._components(rows)
        return mixture_posteriors(density, self.weights, means, variances).widened(self.evidence.shared[rows])

    def moments(self) -> tuple[Floats, Floats]:
        """Return the means and variances of all items, float64 (items,) each."""
        items, step = len(self.evidence.x), BLOCK // len(self.ends)

        def moments_of(start: int) -> tuple[Floats, Floats]:
            each = self.take(slice(start, start + step))
            return each.mean, each.variance

        means, variances = zip(*parallel_map(moments_of, range(0, items, step)), strict=True)
        return np.concatenate(means), np.concatenate(variances)


# ---- samples


def draw_supports(frame: LightFrame, count: int, seed: int) -> Floats:
    """Return sampled supports, float64 (samples, itemsets), as :func:`assocpriv.draws`."""
    number, chosen = as_whole(count), as_whole(seed)
    if number is None or not 1 <= number <= _MOST_SAMPLES or chosen is None or chosen < 0:
        raise EstimateError(f"give 1 to {_MOST_SAMPLES:,} samples and a seed of at least 0, got {count!r} and {seed!r}")
    rng = np.random.default_rng(chosen)
    rows = {itemset: row for row, itemset in enumerate(frame["itemsets"].tolist())}
    support, error = frame["support"], frame["std_error"]
    common = shared_errors(frame["common_error"] * support, frame["truncation_error"])
    components, samples = posterior_components(frame), np.zeros((number, len(frame)))
    common_normal = rng.standard_normal(number)
    for itemset in sorted(rows, key=len):
        row = rows[itemset]
        shared = min(common[row], error[row])
        own = rng.standard_normal(number)
        if len(itemset) == 1:
            value = support[row] + shared * common_normal + np.sqrt(error[row] ** 2 - shared**2) * own
            samples[:, row] = np.clip(value, 0.0, 1.0)
            continue
        subsets = [rows.get(itemset - {name}, -1) for name in sorted(itemset)]
        if -1 in subsets:
            raise EstimateError(f"the table lacks a subset of the itemset in row {row}; pass the whole table")
        rarest = min(subsets, key=lambda each: (support[each], each))
        scores = (samples[:, rarest] - support[rarest]) / max(error[rarest], 1e-12)
        mean, variance = _interpolate(components[row], scores)
        value = mean + shared * common_normal + np.sqrt(np.maximum(variance - shared**2, 0.0)) * own
        samples[:, row] = np.clip(value, 0.0, samples[:, subsets].min(axis=1))
    return samples


def _interpolate(components: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Return means and variances where the bound lies this many deviations from its mean, (samples,) each."""
    order = np.argsort(NODES)
    means, deviations = (np.interp(scores, NODES[order], components[order, column]) for column in (1, 2))
    return means, deviations**2
