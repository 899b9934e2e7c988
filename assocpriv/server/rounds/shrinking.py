"""What is to be expected of supports, which ranks: estimates shrunk toward what other itemsets let expect.

Items are many and most of them rare; how their supports are distributed is estimated from all of them (Prior). Pairs
are many and noisy, so a pair is shrunk toward the product of its items' supports with a lift of LIFT on average, spread
as widely as it is large, or less widely where all pairs that were measured tell so; or, for a few pairs in a hundred
that are patterns, toward any support that their items allow. Which of the two it is, the estimate tells by its
likelihood (Bayes). Both remain, as two modes: a pair may be unlikely to be frequent and yet worth asking about. An
itemset of k ≥ 3 items is guessed from its subsets: the geometric mean of the most that they allow and the least of

    s(A∖i)·s(A∖j) / s(A∖ij),    i, j ∈ A,

the support were i and j independent given the rest; what was measured is averaged with the guess in the same way. All
this lowers the error of a ranking, and it is no longer unbiased.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.rounds.knowledge import LEAST_VARIANCE, Average, Estimate, Evidence, Itemset, Knowledge, ranked

Floats = NDArray[np.float64]
Measure = Callable[[list[Itemset]], dict[Itemset, Average]]
# how much likelier a pair is than its items' product, for shrinking pairs and for planning to ask about them; 1.5 for
# planning finds .793 of the top 64 and 1.3 finds .796 (data and noise as of LEFT_BIAS in sampling_model.py)
LIFT = 1.3
MOST_GUESSED = 5_000  # itemsets of one size, those of the largest upper bounds
_POOL = 3  # as many times the itemsets wanted are items that pairs are made of
_EXPLORED = 0.5  # itemsets grow where they may have this share of the support of the last wanted one
_PATTERNS = 0.02  # share of pairs that are more than chance
_SPREAD = 0.8  # of a pair's support around its guess, relative
_LARGER_PATTERNS = 0.2  # of larger itemsets whose subsets are all frequent
_CLOSER = 0.5  # of a larger itemset's
_SCALES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125)  # times these spreads: reports tell which
_UNMEASURED = Average(0.0, 100.0)  # tells nothing
_POINTS, _STEPS, _CLEAR = 161, 200, 8.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is expected of itemsets before they are measured, float64 (itemsets,) each.

    ``guess`` with a standard deviation of ``spread``, and the ``least`` and the ``most`` that their subsets allow.
    """

    guess: Floats
    spread: Floats
    least: Floats
    most: Floats

    def of(self, places: NDArray[np.int64]) -> "Bounds":
        """Return those of some itemsets."""
        return Bounds(self.guess[places], self.spread[places], self.least[places], self.most[places])

    def spread_by(self, factor: float) -> "Bounds":
        """Return them spread so many times as widely."""
        return replace(self, spread=factor * self.spread)


def pair_bounds(singles: Floats, reach: Floats, pairs: NDArray[np.int64]) -> Bounds:
    """Return what items of these supports let expect of pairs of them, positions int64 (pairs, 2).

    ``reach`` are standard deviations of the items' supports, float64 as these.
    """
    clipped = np.clip(singles, 1e-6, 1.0)
    left, right = clipped[pairs[:, 0]], clipped[pairs[:, 1]]
    low, high = (np.clip(clipped + sign * reach, 1e-6, 1.0)[pairs] for sign in (-1, 1))
    most, least = high.min(axis=1), np.maximum(low.sum(axis=1) - 1, 0.0)
    product = left * right
    guess = np.clip(product * (1 + (LIFT - 1) * (1 - left) * (1 - right)), least, most)
    return Bounds(guess, np.minimum(_SPREAD * guess, (most - least) / 2), least, most)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Posteriors of supports: near a guess or, with probability ``odds``, anywhere; float64 (itemsets,) each.

    ``likelihood`` is that of the estimates.
    """

    near: Floats
    near_variance: Floats
    far: Floats
    far_variance: Floats
    odds: Floats
    most: Floats
    likelihood: Floats

    def chances(self, least: float) -> Floats:
        """Return the probabilities that supports are ``least`` or more, as :meth:`Estimate.chance`."""
        from scipy.special import ndtr

        near, far = (
            ndtr((mean - least) / np.sqrt(np.maximum(variance, LEAST_VARIANCE)))
            for mean, variance in ((self.near, self.near_variance), (self.far, self.far_variance))
        )
        chances: Floats = np.where(least > self.most, 0.0, self.odds * far + (1 - self.odds) * near)
        return chances

    def estimates(self) -> list[Estimate]:
        """Return them with means and variances; what is published is not known yet."""
        mean = self.odds * self.far + (1 - self.odds) * self.near
        square = self.odds * (self.far**2 + self.far_variance) + (1 - self.odds) * (self.near**2 + self.near_variance)
        spread = np.maximum(square - mean**2, LEAST_VARIANCE)
        columns = (mean, spread, self.most, self.odds, self.near, self.near_variance, self.far, self.far_variance)
        return [
            Estimate(m, v, m, v, ((1 - p, near, nv), (p, far, fv)), most)
            for m, v, most, p, near, nv, far, fv in zip(*(column.tolist() for column in columns), strict=True)
        ]


def shrunk(supports: Floats, variances: Floats, bounds: Bounds, patterns: float) -> Shrunk:
    """Return what is known of supports given estimates and what was expected, each float64 (itemsets,).

    Before the estimate a support is normal around the guess, or, with probability ``patterns``, anything from the least
    to the most that its subsets allow.
    """
    from scipy.special import erf

    guess, spread, least, most = bounds.guess, bounds.spread, bounds.least, bounds.most
    noise, total = np.sqrt(variances), variances + spread**2 + LEAST_VARIANCE
    precision = 1 / variances + 1 / (spread**2 + LEAST_VARIANCE)
    near = (supports / variances + guess / (spread**2 + LEAST_VARIANCE)) / precision
    near_likelihood = _density((supports - guess) / np.sqrt(total)) / np.sqrt(total)
    # a pattern: normal around what was measured, cut to what is possible
    low, high = (least - supports) / noise, (most - supports) / noise
    inside = np.maximum((erf(high / np.sqrt(2)) - erf(low / np.sqrt(2))) / 2, 1e-300)
    slope = np.clip((_density(low) - _density(high)) / inside, -1e100, 1e100)
    far = np.clip(supports + noise * slope, least, most)
    shape = 1 + (low * _density(low) - high * _density(high)) / inside - slope**2
    far_variance = np.clip(variances * shape, LEAST_VARIANCE, (most - least) ** 2 / 12 + LEAST_VARIANCE)
    odds = patterns * inside / np.maximum(most - least, 1e-6)
    likelihood = odds + (1 - patterns) * near_likelihood + 1e-300
    return Shrunk(np.clip(near, least, most), 1 / precision, far, far_variance, odds / likelihood, most, likelihood)


def _density(values: Floats) -> Floats:
    return np.divide(np.exp(-(values**2) / 2), np.sqrt(2 * np.pi))


@dataclass(frozen=True, slots=True)
class Prior:
    """How supports of items are distributed: ``weights`` over ``grid``, both float64 (points,).

    How many items are frequent reports tell more sharply than which; it says how much of a large estimate is noise.
    """

    grid: Floats
    weights: Floats

    @classmethod
    def of(cls, supports: Floats, variances: Floats) -> "Prior":
        """Return the distribution under which estimates of *all* items are likeliest (Kiefer and Wolfowitz 1956)."""
        # beyond some standard errors an estimate speaks for itself; all such supports count as one
        grid = np.linspace(0.0, _CLEAR * float(np.sqrt(variances.max(initial=LEAST_VARIANCE))), _POINTS)
        # estimates half a step of the grid apart are taken together: tens of thousands become some hundreds
        places = np.rint(np.minimum(supports, grid[-1]) / (grid[1] / 2))
        distinct, group = np.unique(places, return_inverse=True)
        counts = np.bincount(group)
        noise = np.bincount(group, variances) / counts
        likelihoods = _likelihoods(grid, distinct * (grid[1] / 2), noise)
        weights = np.exp(-_CLEAR * grid / grid[-1])  # most items are rare
        weights /= weights.sum()
        for _ in range(_STEPS):
            weights = weights * (likelihoods.T @ (counts / (likelihoods @ weights))) / len(supports)
        return cls(grid, weights / weights.sum())

    def posterior(self, supports: Floats, variances: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the variance of supports given estimates of theirs."""
        likelihoods = _likelihoods(self.grid, supports, variances) * self.weights
        likelihoods /= likelihoods.sum(axis=1, keepdims=True)
        mean = likelihoods @ self.grid
        spread = np.maximum(likelihoods @ self.grid**2 - mean**2, 0.0) + LEAST_VARIANCE
        clear = supports + 2 * np.sqrt(variances) > self.grid[-1]
        return np.where(clear, supports, mean), np.where(clear, variances, spread)


def _likelihoods(grid: Floats, supports: Floats, variances: Floats) -> Floats:
    """Return normal likelihoods up to a factor for each estimate, (items, points)."""
    squares = (supports[:, None] - grid) ** 2 / (2 * variances[:, None])
    likelihoods: Floats = np.exp(-(squares - squares.min(axis=1, keepdims=True)))
    return likelihoods


def believed(
    evidence: Evidence, prior: Prior, wanted: int, largest: int, measure: Measure | None = None
) -> tuple[Knowledge, Evidence]:
    """Return what is to be expected of items, pairs and larger itemsets given all that was measured.

    ``measure`` says what reports say of those of some itemsets of one size that they tell of; it is added to the
    evidence, also returned. What is published is not decided here.
    """
    known = _items(evidence, prior)
    for k in range(2, largest + 1):
        candidates = _candidates(k, known, evidence, wanted)
        if not candidates:
            break
        if len(candidates) > MOST_GUESSED:
            places = np.sort(np.argsort(-_bounds(candidates, known).most, kind="stable")[:MOST_GUESSED])
            candidates = [candidates[place] for place in places.tolist()]
        if measure:
            found = measure(candidates)
            evidence = evidence.joined(list(found), list(found.values()), [math.inf] * len(found))
        supports, variances = _averages([evidence.all.get(a, _UNMEASURED) for a in candidates])
        bounds, patterns = _expected(candidates, known, evidence)
        known |= dict(zip(candidates, shrunk(supports, variances, bounds, patterns).estimates(), strict=True))
    return known, evidence


def cuts(chosen: Sequence[Itemset], known: Knowledge, evidence: Evidence, least: float) -> list[float]:
    """Return which earlier estimate each chosen itemset had at least: a lower one, all else equal, were not chosen.

    Chosen are those that have a support of ``least`` with the largest probabilities. Items are about equally noisy, so
    the lowest of those chosen is the cut; of other itemsets the estimate that would have given them the least
    probability of any chosen.
    """
    chance = min(known[a].chance(least) for a in chosen)
    found: dict[Itemset, float] = {}
    for k in sorted({len(a) for a in chosen}):
        sized = [a for a in chosen if len(a) == k and a in evidence.fresh]
        if k == 1:
            found |= dict.fromkeys(sized, min((evidence.fresh[a].support for a in sized), default=math.inf))
        elif sized:
            bounds, patterns = _expected(sized, known, evidence)
            _, errors = _averages([evidence.all[a] for a in sized])
            low, high = np.full(len(sized), -2.0), np.full(len(sized), 3.0)
            for _ in range(40):
                middle = (low + high) / 2
                reached = shrunk(middle, errors, bounds, patterns).chances(least) >= chance
                low, high = np.where(reached, low, middle), np.where(reached, middle, high)
            found |= dict(zip(sized, high.tolist(), strict=True))
    return [found.get(a, math.inf) for a in chosen]


def _items(evidence: Evidence, prior: Prior) -> Knowledge:
    singles = [a for a in evidence.all if len(a) == 1]
    values = (column.tolist() for column in prior.posterior(*_averages([evidence.all[a] for a in singles])))
    rows = zip(singles, *values, strict=True)
    return {a: Estimate(mean, spread, mean, spread) for a, mean, spread in rows}


def _averages(estimates: Sequence[Average]) -> tuple[Floats, Floats]:
    """Return supports and expected squared errors."""
    return np.array([each.support for each in estimates]), np.array([each.error for each in estimates])


def _candidates(k: int, known: Knowledge, evidence: Evidence, wanted: int) -> list[Itemset]:
    """Return the itemsets of k items that may be frequent, and those that were measured, in lexicographic order."""
    measured = {a for a in evidence.all if len(a) == k and all(part in known for part in combinations(a, k - 1))}
    if k == 2:
        singles: Knowledge = {a: value for a, value in known.items() if len(a) == 1}
        return sorted({*_joined(ranked(singles, _POOL * wanted)), *measured})
    least = known[ranked(known, wanted)[-1]].expected * _EXPLORED
    level = [a for a, value in known.items() if len(a) == k - 1 and value.expected + value.spread**0.5 >= least]
    return sorted({*_joined(level), *measured})


def _expected(candidates: list[Itemset], known: Knowledge, evidence: Evidence) -> tuple[Bounds, float]:
    """Return what subsets let expect of itemsets of one size, and which share of them are patterns.

    They spread as widely as makes all estimates of such itemsets likeliest (empirical Bayes), where any were measured:
    in dense data pairs lie near their items' product, and there a wide spread would take their noise for support.
    """
    k, scale = len(candidates[0]), 1.0
    patterns = _PATTERNS if k == 2 else _LARGER_PATTERNS
    measured = [a for a in evidence.all if len(a) == k and all(part in known for part in combinations(a, k - 1))]
    if measured:
        bounds, estimates = _bounds(measured, known), _averages([evidence.all[a] for a in measured])

        def fit(factor: float) -> float:
            return float(np.log(shrunk(*estimates, bounds.spread_by(factor), patterns).likelihood).sum())

        scale = max(_SCALES, key=fit)
    return _bounds(candidates, known).spread_by(scale), patterns


def _bounds(candidates: list[Itemset], known: Knowledge) -> Bounds:
    """Return what subsets let expect of itemsets of one size."""
    if len(candidates[0]) == 2:
        items = sorted({item for pair in candidates for item in pair})
        place = {item: row for row, item in enumerate(items)}
        singles = np.array([known[item,].expected for item in items])
        reach = np.sqrt([known[item,].spread for item in items])
        return pair_bounds(singles, reach, np.array([(place[i], place[j]) for i, j in candidates]))
    guess, least, most = np.array([guessed(itemset, known) for itemset in candidates]).T
    return Bounds(guess, np.minimum(_CLOSER * guess, (most - least) / 2), least, most)


def guessed(itemset: Itemset, known: Knowledge) -> tuple[float, float, float]:
    """Return what an itemset's subsets let expect of it, and the least and the most that they allow."""
    parts = [known[part] for part in combinations(itemset, len(itemset) - 1)]
    expected, most = (max(min(part.expected + reach * part.spread**0.5 for part in parts), 0.0) for reach in (0, 1))
    guesses, least = [], 0.0
    for i, j in combinations(itemset, 2):
        without_i, without_j = (known[tuple(x for x in itemset if x != out)].expected for out in (i, j))
        rest = known[tuple(x for x in itemset if x not in (i, j))].expected
        guesses.append(without_i * without_j / max(rest, 1e-6))
        least = max(least, without_i + without_j - rest)
    independent = min(max(0.0, min(guesses)), expected)
    least = min(least, expected)
    return max(math.sqrt(independent * expected), least), least, most


def _joined(level: Sequence[Itemset]) -> list[Itemset]:
    """Return the itemsets one larger all of whose subsets are given, in lexicographic order."""
    given = set(level)
    heads = groupby(sorted(level), key=lambda itemset: itemset[:-1])
    larger = ((*head, a[-1], b[-1]) for head, same in heads for a, b in combinations(same, 2))
    return [a for a in larger if all(part in given for part in combinations(a, len(a) - 1))]
