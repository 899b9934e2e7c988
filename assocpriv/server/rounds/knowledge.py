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
MOST_GUESSED = 5_000
POOL = 3
_EXPLORED = 0.5
_POINTS, _STEPS, _CLEAR = 161, 200, 8.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of a support: what is published of it, and what is to be expected.

    ``support`` is published, with ``variance`` that of its error, what undoing the sampling may have left included.
    ``expected`` is the mean after shrinking, which ranks; ``spread`` the variance of the true support around that.
    ``modes`` is how the true support is distributed: (probability, mean, variance) of normal parts.
    """

    support: float
    variance: float
    expected: float
    spread: float
    modes: tuple[tuple[float, float, float], ...] = ()

    def chance(self, least: float) -> float:
        """Return the probability that the true support is ``least`` or more."""
        modes = self.modes or ((1.0, self.expected, self.spread),)
        return sum(p * math.erfc((least - mean) / math.sqrt(2 * max(var, _LEAST))) / 2 for p, mean, var in modes)


Knowledge = dict[Itemset, Estimate]
Average = tuple[float, float]  # of estimates of one support: it, and its variance


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


def average(estimates: Sequence[Average]) -> Average:
    """Return the average of estimates of one support, (support, variance), weighted by their inverse variances.

    >>> average([(0.25, 1.0), (0.75, 1.0)])
    (0.5, 0.5)
    """
    weights = [1 / max(variance, _LEAST) for _, variance in estimates]
    mean = sum(weight * value for weight, (value, _) in zip(weights, estimates, strict=True)) / sum(weights)
    return mean, 1 / sum(weights)


def ranked(knowledge: Knowledge, count: int) -> list[Itemset]:
    """Return the ``count`` itemsets expected to be the most frequent, of equals the smaller and first ones."""
    return sorted(knowledge, key=lambda itemset: (-knowledge[itemset].expected, len(itemset), itemset))[:count]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured, by itemset: ``all``, the average of all rounds, and ``fresh``, of what may be published.

    The fresh estimate is of people who were asked after the itemset had been chosen; earlier ones count as far as the
    choice tells nothing of them (:func:`after_choice`).
    """

    all: dict[Itemset, Average]
    fresh: dict[Itemset, Average]

    def joined(self, itemsets: Sequence[Itemset], supports: Floats, variances: Floats, cuts: Floats) -> "Evidence":
        """Return the evidence with a round's estimates, float64 (itemsets,); the choice was one above these cuts."""
        every, fresh = dict(self.all), dict(self.fresh)
        rows = zip(itemsets, supports.tolist(), variances.tolist(), cuts.tolist(), strict=True)
        for itemset, support, variance, cut in rows:
            if variance == math.inf:
                continue
            now = support, variance
            every[itemset] = average([every[itemset], now]) if itemset in every else now
            fresh[itemset] = after_choice(fresh[itemset], now, cut) if itemset in fresh else now
        return Evidence(every, fresh)


def after_choice(before: Average, now: Average, cut: float) -> Average:
    """Return an unbiased estimate of what was chosen because an earlier estimate lay above a cut.

    It is the mean of the later estimate given the average of both and the choice: the average, if the earlier one lies
    far above the cut, hardly more than the later one near it. No other estimate that is unbiased given the choice has
    a smaller variance.

    Source: Cohen and Sackrowitz, Two stage conditionally unbiased estimators of the selected mean, 1989.
    """
    mean, variance = average([before, now])
    (_, earlier), (_, later) = before, now
    if cut == -math.inf:
        return mean, variance
    if cut == math.inf:
        return now
    scale = later / math.sqrt(earlier + later)
    w = (mean - cut) * math.sqrt(earlier + later) / earlier
    ratio = math.exp(-w * w / 2) / math.sqrt(2 * math.pi) / (math.erfc(-w / math.sqrt(2)) / 2) if w > -8 else -w - 1 / w
    slope = 1 + later / earlier * ratio * (w + ratio)
    return mean - scale * ratio, min(variance * slope**2, later)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is expected of itemsets before they are measured, float64 (itemsets,) each.

    ``guess`` with a standard deviation of ``spread``, and the ``least`` and the ``most`` that their subsets allow.
    """

    guess: Floats
    spread: Floats
    least: Floats
    most: Floats


def pair_bounds(singles: Floats, pairs: NDArray[np.int64]) -> Bounds:
    """Return what items of these supports let expect of pairs of them, positions int64 (pairs, 2)."""
    clipped = np.clip(singles, 1e-6, 1.0)
    left, right = clipped[pairs[:, 0]], clipped[pairs[:, 1]]
    most, least = np.minimum(left, right), np.maximum(left + right - 1, 0.0)
    product = left * right
    guess = np.clip(product * (1 + (LIFT - 1) * (1 - left) * (1 - right)), least, most)
    return Bounds(guess, np.minimum(_SPREAD * guess, (most - least) / 2), least, most)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Posteriors of supports: near a guess or, with probability ``odds``, anywhere; float64 (itemsets,) each."""

    near: Floats
    near_variance: Floats
    far: Floats
    far_variance: Floats
    odds: Floats

    def estimates(self) -> list[Estimate]:
        """Return them with means and variances; what is published is not known yet."""
        mean = self.odds * self.far + (1 - self.odds) * self.near
        square = self.odds * (self.far**2 + self.far_variance) + (1 - self.odds) * (self.near**2 + self.near_variance)
        spread = np.maximum(square - mean**2, _LEAST)
        columns = (mean, spread, self.odds, self.near, self.near_variance, self.far, self.far_variance)
        return [
            Estimate(m, v, m, v, ((1 - p, near, nv), (p, far, fv)))
            for m, v, p, near, nv, far, fv in zip(*(column.tolist() for column in columns), strict=True)
        ]


def shrunk(supports: Floats, variances: Floats, bounds: Bounds, patterns: float) -> Shrunk:
    """Return what is known of supports given estimates and what was expected, each float64 (itemsets,).

    Before the estimate a support is normal around the guess, or, with probability ``patterns``, anything from the least
    to the most that its subsets allow.
    """
    from scipy.special import erf

    guess, spread, least, most = bounds.guess, bounds.spread, bounds.least, bounds.most
    noise, total = np.sqrt(variances), variances + spread**2 + _LEAST
    precision = 1 / variances + 1 / (spread**2 + _LEAST)
    near = (supports / variances + guess / (spread**2 + _LEAST)) / precision
    near_likelihood = _density((supports - guess) / np.sqrt(total)) / np.sqrt(total)
    # a pattern: normal around what was measured, cut to what is possible
    low, high = (least - supports) / noise, (most - supports) / noise
    inside = np.maximum((erf(high / np.sqrt(2)) - erf(low / np.sqrt(2))) / 2, 1e-300)
    slope = np.clip((_density(low) - _density(high)) / inside, -1e100, 1e100)
    far = np.clip(supports + noise * slope, least, most)
    shape = 1 + (low * _density(low) - high * _density(high)) / inside - slope**2
    far_variance = np.clip(variances * shape, _LEAST, (most - least) ** 2 / 12 + _LEAST)
    odds = patterns * inside / np.maximum(most - least, 1e-6)
    odds = odds / (odds + (1 - patterns) * near_likelihood + 1e-300)
    return Shrunk(np.clip(near, least, most), 1 / precision, far, far_variance, odds)


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
_UNMEASURED = 100.0  # a variance that tells nothing


def believed(
    evidence: Evidence, prior: Prior, wanted: int, largest: int, measure: Measure | None = None
) -> tuple[Knowledge, Evidence]:
    """Return what is to be expected of items, pairs and larger itemsets given all that was measured.

    ``measure`` says what reports say of itemsets of one size; what it says is added to the evidence, also returned.
    """
    singles = [a for a in evidence.all if len(a) == 1]
    raw, noise = np.array([evidence.all[a] for a in singles]).T
    items, spreads = prior.posterior(raw, noise)
    known = {
        a: Estimate(m, v, m, v) for a, m, v in zip(singles, items.tolist(), spreads.tolist(), strict=True)
    }
    level = [item for item in ranked(known, POOL * wanted)]
    for k in range(2, largest + 1):
        least = known[ranked(known, wanted)[-1]].expected * _EXPLORED
        candidates = _joined([a for a in level if known[a].expected + known[a].spread ** 0.5 >= least] if k > 2 else sorted(level))
        candidates = sorted({*candidates, *(a for a in evidence.all if len(a) == k and all(part in known for part in combinations(a, k - 1)))})
        if not candidates:
            break
        bounds, patterns = _bounds(candidates, known)
        if len(candidates) > MOST_GUESSED:
            places = np.sort(np.argsort(-bounds.most, kind="stable")[:MOST_GUESSED])
            candidates = [candidates[place] for place in places]
            bounds = Bounds(*(getattr(bounds, name)[places] for name in ("guess", "spread", "least", "most")))
        found = measure(candidates) if measure else None
        if found is not None:
            evidence = evidence.joined(candidates, *found, np.full(len(candidates), math.inf))
        nothing = 0.0, _UNMEASURED
        supports, variances = np.array([evidence.all.get(a, nothing) for a in candidates]).T
        known |= dict(zip(candidates, shrunk(supports, variances, bounds, patterns).estimates(), strict=True))
        level = candidates
    return known, evidence


def _bounds(candidates: list[Itemset], known: Knowledge) -> tuple[Bounds, float]:
    """Return what subsets let expect of itemsets of one size, and how many are more than that."""
    if len(candidates[0]) == 2:
        items = sorted({item for pair in candidates for item in pair})
        place = {item: row for row, item in enumerate(items)}
        singles = np.array([known[item,].expected for item in items])
        return pair_bounds(singles, np.array([(place[i], place[j]) for i, j in candidates])), _PATTERNS
    guess, least, most = np.array([guessed(itemset, known) for itemset in candidates]).T
    return Bounds(guess, np.minimum(_CLOSER * guess, (most - least) / 2), least, most), _LARGER_PATTERNS


def guessed(itemset: Itemset, known: Knowledge) -> tuple[float, float, float]:
    """Return what an itemset's subsets let expect of it, and the least and the most that they allow."""
    parts = [known[part].expected for part in combinations(itemset, len(itemset) - 1)]
    most = max(0.0, min(parts))
    guesses, least = [], 0.0
    for i, j in combinations(itemset, 2):
        without_i, without_j = (known[tuple(x for x in itemset if x != out)].expected for out in (i, j))
        rest = known[tuple(x for x in itemset if x not in (i, j))].expected
        guesses.append(without_i * without_j / max(rest, 1e-6))
        least = max(least, without_i + without_j - rest)
    independent = min(max(0.0, min(guesses)), most)
    least = min(least, most)
    return max(math.sqrt(independent * most), least), least, most


def _joined(level: Sequence[Itemset]) -> list[Itemset]:
    """Return the itemsets one larger all of whose subsets are given, in lexicographic order."""
    given = set(level)
    heads = groupby(sorted(level), key=lambda itemset: itemset[:-1])
    larger = ((*head, a[-1], b[-1]) for head, same in heads for a, b in combinations(same, 2))
    return [a for a in larger if all(part in given for part in combinations(a, len(a) - 1))]
