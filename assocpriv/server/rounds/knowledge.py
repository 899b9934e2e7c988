"""What several rounds of reports say together about itemsets: estimates, guesses where there are none, one ranking.

An estimate is a support with the variance of its error, the bias that undoing the sampling may leave included. Two
estimates of the same support from different people are averaged, each weighted by the inverse of its variance.

Pairs are many and noisy, so a pair's estimate is shrunk toward what its items alone let expect: a product with a
lift of LIFT on average, spread as widely as it is large; or, for a few pairs in a hundred that are patterns, any
support that their items allow. Which of the two it is, the estimate tells by its likelihood (Bayes). An itemset of
k ≥ 3 items is guessed from its subsets: the geometric mean of the most that they allow and the least of

    s(A∖i)·s(A∖j) / s(A∖ij),    i, j ∈ A,

the support were i and j independent given the rest; what was measured is averaged with the guess in the same way.
Nothing is expected above its subsets. All this lowers the error of a ranking, and it is no longer unbiased.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray

Itemset = tuple[int, ...]
Floats = NDArray[np.float64]
# how much likelier a pair is than its items' product, for shrinking pairs and for planning to ask about them; 1.5 for
# planning finds .793 of the top 64 and 1.3 finds .796 (data and noise as of LEFT_BIAS in sampling_model.py)
LIFT = 1.3
_PATTERNS = 0.02  # share of pairs that are more than chance
_SPREAD = 0.8  # of a pair's support around its guess, relative
_LARGER_PATTERNS = 0.2  # of larger itemsets whose subsets are all frequent
_CLOSER = 0.5  # of a larger itemset's
_LEAST = 1e-10  # a variance is never taken for zero
MOST_GUESSED = 4_000
_POINTS, _STEPS, _CLEAR = 161, 200, 8.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of a support: as it was measured, and as it is to be expected.

    ``support`` is what is shown; ``variance`` that of its error, with what undoing the sampling may have left;
    ``expected`` the support after shrinking, which ranks; ``spread`` the variance of the true support around that.
    """

    support: float
    variance: float
    expected: float
    spread: float


Knowledge = dict[Itemset, Estimate]


def measured(support: float, variance: float) -> Estimate:
    """Return an estimate that nothing else is known about.

    >>> measured(0.25, 0.5).expected
    0.25
    """
    return Estimate(support, variance, support, variance)


def as_knowledge(itemsets: Sequence[Itemset], supports: Floats, variances: Floats) -> Knowledge:
    """Return what was measured of itemsets, float64 (itemsets,) each."""
    values = zip(itemsets, supports.tolist(), variances.tolist(), strict=True)
    return {itemset: measured(support, variance) for itemset, support, variance in values}


def combined(estimates: Sequence[Estimate]) -> Estimate:
    """Return the average of estimates of one support, weighted by their inverse variances.

    >>> combined([measured(0.25, 1.0), measured(0.75, 1.0)])
    Estimate(support=0.5, variance=0.5, expected=0.5, spread=0.5)
    """
    return Estimate(
        *_average([(estimate.support, estimate.variance) for estimate in estimates]),
        *_average([(estimate.expected, estimate.spread) for estimate in estimates]),
    )


def _average(values: Sequence[tuple[float, float]]) -> tuple[float, float]:
    weights = [1 / max(variance, _LEAST) for _, variance in values]
    mean = sum(weight * value for weight, (value, _) in zip(weights, values, strict=True)) / sum(weights)
    return mean, 1 / sum(weights)


def ranked(knowledge: Knowledge, count: int) -> list[Itemset]:
    """Return the ``count`` itemsets expected to be the most frequent, of equals the smaller and first ones."""
    return sorted(knowledge, key=lambda itemset: (-knowledge[itemset].expected, len(itemset), itemset))[:count]


def shrunk_pairs(
    singles: Floats, pairs: NDArray[np.int64], supports: Floats, variances: Floats
) -> tuple[Floats, Floats]:
    """Return pairs' supports and variances after shrinking them toward what their items let expect, float64 (pairs,).

    ``singles`` are the items' supports, ``pairs`` positions in these, int64 (pairs, 2); the rest is as measured.
    """
    clipped = np.clip(singles, 1e-6, 1.0)
    left, right = clipped[pairs[:, 0]], clipped[pairs[:, 1]]
    most = np.minimum(left, right)
    guess = np.minimum(LIFT * left * right, most)
    return _shrunk(supports, variances, guess, _SPREAD * guess, most, _PATTERNS)


def _shrunk(
    supports: Floats, variances: Floats, guess: Floats, spread: Floats, most: Floats, patterns: float
) -> tuple[Floats, Floats]:
    """Return mean and variance of supports given estimates and what was guessed, each float64 (itemsets,).

    Before the estimate a support is normal around the guess, or, with probability ``patterns``, anything from 0 to the
    ``most`` that its subsets allow. A variance may be infinite: then nothing was measured.
    """
    from scipy.special import erf

    noise, total = np.sqrt(variances), variances + spread**2 + _LEAST
    precision = 1 / variances + 1 / (spread**2 + _LEAST)
    near = (np.where(np.isinf(variances), 0.0, supports) / variances + guess / (spread**2 + _LEAST)) / precision
    if np.isinf(variances).all():
        return np.minimum(near, most), 1 / precision
    near_likelihood = _density((supports - guess) / np.sqrt(total)) / np.sqrt(total)
    # a pattern: normal around what was measured, cut to what is possible
    low, high = -supports / noise, (most - supports) / noise
    inside = np.maximum((erf(high / np.sqrt(2)) - erf(low / np.sqrt(2))) / 2, 1e-300)
    slope = (_density(low) - _density(high)) / inside
    far = np.clip(supports + noise * slope, 0.0, most)
    shape = 1 + (low * _density(low) - high * _density(high)) / inside - slope**2
    far_square = far**2 + np.clip(variances * shape, _LEAST, most**2 + _LEAST)
    odds = patterns * inside / np.maximum(most, 1e-6)
    odds = odds / (odds + (1 - patterns) * near_likelihood + 1e-300)
    mean = odds * far + (1 - odds) * near
    square = odds * far_square + (1 - odds) * (1 / precision + near**2)
    return np.minimum(mean, most), np.maximum(square - mean**2, _LEAST)


def _density(values: Floats) -> Floats:
    return np.divide(np.exp(-(values**2) / 2), np.sqrt(2 * np.pi))


@dataclass(frozen=True, slots=True)
class Prior:
    """How supports of items are distributed: ``weights`` over ``grid``, both float64 (points,).

    Of thousands of items a few are frequent. Which ones is what reports tell; how many, they tell more sharply, and it
    says how much of a large estimate is noise.
    """

    grid: Floats
    weights: Floats

    @classmethod
    def of(cls, supports: Floats, variances: Floats) -> "Prior":
        """Return the distribution that makes the estimates of all items likeliest (Kiefer and Wolfowitz 1956, by EM).

        Estimates of all items, not only of chosen ones, float64 (items,).
        """
        # beyond some standard errors an estimate speaks for itself; all such supports count as one
        grid = np.linspace(0.0, _CLEAR * float(np.sqrt(variances.max(initial=_LEAST))), _POINTS)
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
        spread = np.maximum(likelihoods @ self.grid**2 - mean**2, 0.0) + _LEAST
        clear = supports + 2 * np.sqrt(variances) > self.grid[-1]
        return np.where(clear, supports, mean), np.where(clear, variances, spread)


def _likelihoods(grid: Floats, supports: Floats, variances: Floats) -> Floats:
    """Return normal likelihoods up to a factor for each estimate, (items, points)."""
    squares = (supports[:, None] - grid) ** 2 / (2 * variances[:, None])
    likelihoods: Floats = np.exp(-(squares - squares.min(axis=1, keepdims=True)))
    return likelihoods


Measure = Callable[[list[Itemset]], tuple[Floats, Floats] | None]


def grown(knowledge: Knowledge, least: float, largest: int, measure: Measure) -> Knowledge:
    """Add itemsets of 3 … ``largest`` items whose subsets all have a support of ``least`` or more to items and pairs.

    ``measure`` says what reports say of itemsets of one size, supports and variances; None where they say nothing.
    """
    known = dict(knowledge)
    level: list[Itemset] = sorted(a for a in known if len(a) == 2 and known[a].expected >= least)
    for _ in range(3, largest + 1):
        candidates = _joined(level)[:MOST_GUESSED]
        if not candidates:
            break
        guess, most = np.array([guessed(itemset, known) for itemset in candidates]).T
        supports, variances = measure(candidates) or (guess, np.full(len(candidates), np.inf))
        mean, spread = _shrunk(supports, variances, guess, _CLOSER * guess, most, _LARGER_PATTERNS)
        larger = as_knowledge(candidates, mean, spread)
        known |= larger
        level = [itemset for itemset in candidates if larger[itemset].expected >= least]
    return known


def guessed(itemset: Itemset, known: Knowledge) -> tuple[float, float]:
    """Return what an itemset's subsets let expect of it, and the most that they allow."""
    most = max(0.0, min(known[part].expected for part in combinations(itemset, len(itemset) - 1)))
    guesses = []
    for i, j in combinations(itemset, 2):
        without_i, without_j = (tuple(x for x in itemset if x != out) for out in (i, j))
        rest = known[tuple(x for x in itemset if x not in (i, j))].expected
        guesses.append(known[without_i].expected * known[without_j].expected / max(rest, 1e-6))
    independent = min(max(0.0, min(guesses)), most)
    return math.sqrt(independent * most), most


def _joined(level: Sequence[Itemset]) -> list[Itemset]:
    """Return the itemsets one larger all of whose subsets are given, in lexicographic order."""
    given = set(level)
    heads = groupby(sorted(level), key=lambda itemset: itemset[:-1])
    larger = ((*head, a[-1], b[-1]) for head, same in heads for a, b in combinations(same, 2))
    return [a for a in larger if all(part in given for part in combinations(a, len(a) - 1))]
