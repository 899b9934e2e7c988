"""Supports of itemsets from superset counts, their tail probabilities, and the lowest supports that a plan can detect.

**Supports.** For an itemset A of k items let Z_A be the value q[l'] of plans/baskets/operator.py, an unbiased
estimate from one report of whether its transaction holds A. With means over the N reports:

    ŝ(A)        = mean Z_A
    Var ŝ(A)    ≈ (mean Z_A² − ŝ(A)) / N            for the N transactions collected
                ≈ (mean Z_A² − ŝ(A)²) / (N−1)       for the population they were drawn from

All are unbiased. The first variance is the one added by randomization: given the transactions, E Z_A² − E Z_A.

The weights of the counts c_D, D ⊆ A, in mean Z_A and mean Z_A² are equal for all |D| = j, so the sums C_j = Σ_{|D|=j}
c_D suffice for one itemset.

Source: ESAG02, section 4 (estimator and variance).

**Tails** of estimates without the normal approximation. For an itemset of k items let l be how many of them a
transaction holds, l' how many its report shows, P[l',l] the transition matrix, q the last row of P⁻¹ and s_l the share
of transactions holding l. A report adds q[l'] to T = N·ŝ. With M_l(θ) = Σ_l' P[l',l] exp(θ q[l']) the cumulant
generating function of T is exactly

    K(θ) = N log Σ_l s_l M_l(θ)         for transactions drawn from a population with these shares

Where K'(θ) = t, the tail is

    P(T ≥ t) ≈ Φ(−r*),   r* = w + log(u/w)/w,   w = sgn θ √(2(θt − K)),   u = θ √K''

**Shares.** E T = N s_k whatever the other shares are; these only shape the distribution. Given the support s under test
they are estimated by regression, s_l = ŝ_l + (s − ŝ) Cov(ŝ_l, ŝ)/Var ŝ. Negative shares are set to 0, the rest scaled
to the total. Without the regression the estimate of the noise and ŝ err together where a report with all k items is
rare and has a large weight: a tail is then computed as 2.5% or less in 17% of cases instead of 3%.

**Steps.** T moves in steps. If it moved in steps d only, P(T ≥ t) would be the formula at t − d/2 with u = 2
sinh(dθ/2)/d·√K''. Usually smaller steps blur the larger ones. A pure step of d puts a wave of frequency 2π/d into the
tail whose amplitude is the size of the characteristic function there, r = |E exp(2πiT/d)|. It is bounded by a shift of
half of

    d · min(1, (2/π) Σ_j r^(j²)/j),

and the step used is the largest of these over the differences of two values of q. It is d where T moves in steps of d,
and vanishes where d is blurred. A tail probability includes all of that step and so errs upwards.

Sources: Daniels, Tail probability approximations, Int. Stat. Rev. 1987 (steps: section 6); Barndorff-Nielsen, Inference
on full or partial parameters, Biometrika 1986 (r*, the form of the Lugannani–Rice formula that stays in [0, 1]). Shares
and blurred steps are ours.

**Detection threshold of a whole itemset size.** EGS03's lowest detectable support (section 5) is four standard errors
of *one* itemset. Of c candidates of support 0 about c·Φ(−4) exceed it by chance: ten of 330,000. So each size has a
second figure, ours, for all of its candidates: the support that fewer than one of c candidates of support 0 is expected
to reach in a hundred collections. Both of these must hold:

    s ≥ z·σ_k(s)                     with c·Φ(−z) = 0.01, and z ≥ 4: never below the paper's figure
    c·P(ŝ ≥ s | no transaction has any of the items) ≤ 0.01

The second condition adds to the first. The first takes ŝ for normal, with its error at support s. Where few reports
show an itemset of support 0, ŝ is skewed: at ρ = 5/256 and 20,000 reports 0.03 of 49,995,000 empty pairs are expected
to pass the first figure, and 13 to pass z·σ_k(0). Where ρ is near 1/2, σ_k(s) falls with s, and the first is too low.

An empty candidate is counted only if its subsets' estimates were large. That does not make its own estimate larger:
with independent insertion E[Z_A Z_B | t] = 0 for B ⊂ A where the transaction t holds none of A's items. So the subsets
of the counted candidates carry no information on the candidates, except for a term of the order ŝ(A∖i)·ŝ(i), the square
of the support to detect. A test shows that it is 0 for empty baskets.

**The normal distribution's tails** are computed without scipy where values are few, since loading scipy takes longer.
Both ways are as exact as the C library's erfc, and agree to some units in the last place.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assocpriv.estimation import matrices
from assocpriv.guarantees.amplification import parse_share
from assocpriv.guarantees.errors import EstimateError, PlanError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import ERRORS_OF_ONE, SupportModel, lowest_support

if TYPE_CHECKING:
    from assocpriv.plans.baskets.basket_plan import Plan

_BLOCK = 4096  # itemsets at a time, so that temporaries stay in the cache
_LARGEST_EXPONENT = 600.0  # |θ q| is at most this, so that exp(θ q) is finite
_NEWTON_STEPS = 60
_TOLERANCE = 1e-7  # of a standard error: K'(θ) against t, and θ against the solution
_NEAR_MEAN = 1e-3  # |w| below which log(u/w)/w is its limit, a sixth of the skewness
_GRID = 64
Floats = NDArray[np.float64]
FALSE_ITEMSETS = 0.01  # expected per collection and itemset size: one in a hundred collections
# computed tails were up to 1% too low against exact binomial sums; this margin allows for 2%
_SAFETY = 0.005  # standard errors
_POWER = 0.8
_MANY = 1 << 13  # values from which on loading scipy pays off
_ROOT_HALF = math.sqrt(0.5)


# ---- supports


@dataclass(frozen=True, slots=True)
class Respondents:
    """The number of reports N about items, and the model of their operator."""

    n_reports: int
    model: SupportModel

    @classmethod
    def from_plan(cls, plan: Plan, n_reports: int) -> "Respondents":
        """Return the expected respondents about items among this many reports of a plan."""
        return cls(round(n_reports * plan.share(plan.items)), SupportModel(plan.items.operator))


@dataclass(frozen=True, slots=True)
class SupportEstimates:
    """Estimates of many itemsets: unclipped supports and unbiased variances, arrays of shape (itemsets,)."""

    support: NDArray[Any]
    variance: NDArray[Any]
    population_variance: NDArray[Any]

    def std_error(self) -> NDArray[np.float64]:
        """Return standard errors for the population that the transactions were drawn from, float64 (itemsets,)."""
        return np.sqrt(np.maximum(self.population_variance.astype(np.float64), 0.0))


def estimate_supports(
    subset_sums: NDArray[np.int64], respondents: Respondents, *, exact: bool = False
) -> SupportEstimates:
    """Estimate supports of itemsets of one size.

    Args:
        subset_sums: C_0 … C_k of every itemset, int64 (itemsets, k + 1): C_j sums, over the subsets of j items, the
            number of reports showing all of them; C_0 is N.
        respondents: the reports counted.
        exact: compute in fractions (arrays of dtype object) instead of doubles.

    Raises:
        EstimateError: no reports, or the operator has no estimator for this size.

    >>> estimate_supports(np.array([[100, 40]]), Respondents(100, SupportModel.unrandomized())).support.tolist()
    [0.4]
    """
    n_reports, model = respondents.n_reports, respondents.model
    if n_reports < 1:
        raise EstimateError("there are no reports to estimate from; collect some first")
    k = subset_sums.shape[1] - 1
    dtype = object if exact else np.float64
    sums = subset_sums.astype(dtype)
    support, square = (sums @ np.array(model.size_weights(k, power)).astype(dtype) / n_reports for power in (1, 2))
    drawn = np.full(len(sums), np.inf) if n_reports == 1 else (square - support**2) / (n_reports - 1)
    return SupportEstimates(support, (square - support) / n_reports, drawn)


def detectable_support(respondents: Respondents, k: int, errors: float = ERRORS_OF_ONE) -> float:
    """Return the support s that is z of its standard errors, s = zσ_k(s): LDS_k with z = 4 (EGS03, section 5).

    σ_k(s) follows from the plan alone, assuming that no other transaction holds an item of A; transactions that hold
    some of the items add to it. It applies to one itemset chosen beforehand. Among many itemsets, some of support 0
    exceed it (see above). The value may exceed 1 or be infinite: then these reports can detect nothing of this size.
    """
    if not respondents.n_reports:
        return math.inf
    outside, inside = (variance / respondents.n_reports for variance in respondents.model.variances(k))
    return float(lowest_support(outside, inside, 1, errors)) if outside < math.inf else math.inf


def partial_counts(subset_sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many reports show exactly l = 0..k of the items: Σ_{j≥l} (−1)^(j−l) C(j,l) C_j, int64 as C.

    >>> partial_counts(np.array([[10, 9, 2]])).tolist()
    [[3, 5, 2]]
    """
    k = subset_sums.shape[1] - 1
    invert = [[(-1) ** (j - p) * comb(j, p) if j >= p else 0 for p in range(k + 1)] for j in range(k + 1)]
    return np.asarray(subset_sums @ np.array(invert, dtype=np.int64))


def normal_quantile(confidence_level: float) -> float:
    """Return z with P(|Z| ≤ z) = confidence_level for a standard normal Z."""
    return NormalDist().inv_cdf((1 + confidence_level) / 2)


# ---- distributions


@dataclass(frozen=True, slots=True)
class ObservedCounts:
    """How many reports show exactly l' = 0..k items of itemsets of one size, int64 (itemsets, k + 1).

    Each row of ``counts`` sums to N. P is float64 (k + 1, k + 1), column l the distribution of l', and ``row`` is its
    q.
    """

    counts: NDArray[np.int64]
    transition: Floats
    row: Floats

    def __post_init__(self) -> None:
        size = len(self.row)
        if self.transition.shape != (size, size) or self.counts.ndim != 2 or self.counts.shape[1] != size:
            raise EstimateError("counts, transition matrix and estimator row must have one itemset size")

    @property
    def n_reports(self) -> int:
        """Number of reports N; 0 without itemsets."""
        return int(self.counts[:1].sum())

    def among(self, rows: "slice | NDArray[np.int64]") -> "ObservedCounts":
        """Return the counts of some itemsets."""
        return ObservedCounts(self.counts[rows], self.transition, self.row)


@dataclass(frozen=True, slots=True)
class _Fit:
    """Estimated shares, float64 (k + 1, itemsets), and their regression on the support."""

    observed: ObservedCounts
    shares: Floats
    slopes: Floats
    support: Floats

    @classmethod
    def from_counts(cls, observed: ObservedCounts) -> "_Fit":
        inverse = matrices.invert(observed.transition)
        inverse[-1] = observed.row
        shares = inverse @ (observed.counts.T / observed.n_reports)
        positive = np.maximum(shares, 0.0)
        cells = observed.transition @ (positive / positive.sum(axis=0))
        products = ((inverse * observed.row) @ cells - (inverse @ cells) * (observed.row @ cells)) / observed.n_reports
        return cls(observed, shares, products / products[-1], shares[-1])

    def distribution(self, support: Floats) -> "_TotalDistribution":
        """Return the distribution of T at this support, float64 (itemsets,) in [0, 1]."""
        shares = np.maximum(self.shares + self.slopes * (support - self.support), 0.0)
        others = shares[:-1].sum(axis=0)
        shares[0] += others <= 0.0
        scale = (1.0 - support) / np.where(others > 0.0, others, 1.0)
        return _TotalDistribution(self.observed, np.vstack([shares[:-1] * scale, support]))


@dataclass(frozen=True, slots=True)
class _TotalDistribution:
    """The distribution of T, one for every itemset: shares are float64 (k + 1, itemsets)."""

    observed: ObservedCounts
    shares: Floats

    @property
    def _values(self) -> Floats:
        """q as a column."""
        return self.observed.row[:, None]

    def cumulants(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return K, K', K'' at θ."""
        n, q, transition = self.observed.n_reports, self._values, self.observed.transition
        tilt = np.expm1(q * theta)
        cells = transition @ self.shares
        grown = (cells * tilt).sum(axis=0)
        tilted = cells * (1.0 + tilt) / (1.0 + grown)
        mean = (q * tilted).sum(axis=0)
        spread = ((q - mean) ** 2 * tilted).sum(axis=0)
        return n * np.log1p(grown), n * mean, np.maximum(n * spread, 1e-300)

    def third_cumulant(self) -> Floats:
        """Return K''' at 0."""
        cells = self.observed.transition @ self.shares
        third = ((self._values - (self._values * cells).sum(axis=0)) ** 3 * cells).sum(axis=0)
        return np.asarray(self.observed.n_reports * third)

    def span(self) -> Floats:
        """Return the step of T that smaller steps do not blur (see the module docstring)."""
        n, transition = self.observed.n_reports, self.observed.transition
        steps = np.sort(np.abs(self._values - self.observed.row).ravel())
        steps = steps[np.append(True, np.diff(steps) > 0)]  # np.unique would load numpy.ma first
        widest = np.zeros(self.shares.shape[1])
        for step in steps[steps > 1e-9 * steps[-1]]:
            phase = np.exp(2j * np.pi / step * self.observed.row)
            size = n * np.log(np.maximum(np.abs(phase @ (transition @ self.shares)), 1e-300))
            r = np.exp(np.minimum(size, 0.0))
            left = 2 / np.pi * np.sum([r ** (j * j) / j for j in range(1, 7)], axis=0)
            widest = np.maximum(widest, step * np.minimum(left, 1.0))
        return widest

    def score(self, total: Floats, span: Floats) -> Floats:
        """Return r* with P(T ≥ total) ≈ Φ(−r*), where ``total`` lies half a step below a step of T."""
        least, most = (self.observed.n_reports * float(end(self.observed.row)) for end in (np.min, np.max))
        slack = 1e-12 * (most - least)
        inner = np.clip(total, least + slack, most - slack)
        _, mean, variance = self.cumulants(np.zeros_like(total))
        third = self.third_cumulant()
        theta, k0, k2 = self._saddlepoint(inner, mean, variance, third)
        score = self._score_at(theta, theta * inner - k0, k2, span, third / variance**1.5)
        result: Floats = np.where(total <= least + slack, -np.inf, score)
        result[total >= most + slack] = np.inf
        return result

    def _score_at(self, theta: Floats, rate: Floats, k2: Floats, span: Floats, skewness: Floats) -> Floats:
        """Return r* at the total K'(θ), with ``rate`` = θK' − K and ``k2`` = K''."""
        w = np.sign(theta) * np.sqrt(2 * np.maximum(rate, 0.0))
        half = np.clip(np.abs(theta * span / 2), 1e-8, 300.0)
        u = theta * np.sqrt(k2) * np.sinh(half) / half
        near = np.abs(w) < _NEAR_MEAN
        w_safe, u_safe = np.where(near, 1.0, w), np.where(near, 1.0, u)
        return np.asarray(w + np.where(near, skewness / 6, np.log(u_safe / w_safe) / w_safe))

    def total_at_score(self, score: float) -> float:
        """Return the total that one itemset reaches with probability at most Φ(−score), score > 0.

        Along θ the total K'(θ) and its score are both explicit, so θ is searched on ever finer grids.
        """
        _, mean, variance = self.cumulants(np.zeros(1))
        span, skewness = self.span(), self.third_cumulant() / variance**1.5
        largest = _LARGEST_EXPONENT / float(np.abs(self.observed.row).max())
        low, high = 0.0, min(2 * score / float(np.sqrt(variance[0])), largest)
        while True:
            theta = np.linspace(low, high, _GRID + 1)[1:]
            k0, k1, k2 = self.cumulants(theta)
            reached = np.flatnonzero(self._score_at(theta, theta * k1 - k0, k2, span, skewness) >= score)
            if not len(reached):
                if high >= largest:  # even the largest total is more probable
                    return float(self.observed.n_reports * self.observed.row.max())
                low, high = high, min(2 * high, largest)
                continue
            first = int(reached[0])
            below = theta[first - 1] if first else low
            if theta[first] - below <= 1e-7 * theta[first]:
                # the score is that of a total half a step below
                return float(max(k1[first], mean[0]) + span[0] / 2)
            low, high = float(below), float(theta[first])

    def _saddlepoint(self, total: Floats, mean: Floats, spread: Floats, third: Floats) -> tuple[Floats, Floats, Floats]:
        """Solve K'(θ) = total by Newton's method inside a bracket; return θ, K, K''."""
        largest = _LARGEST_EXPONENT / float(np.abs(self.observed.row).max())
        low, high = np.where(total > mean, 0.0, -largest), np.where(total > mean, largest, 0.0)
        # exact for a shifted Poisson distribution, where Newton's first step would overshoot by far
        away, curvature = (total - mean) / spread, third / spread
        grown = away * curvature
        guess = np.log1p(np.maximum(grown, -0.999)) / np.where(np.abs(grown) < 1e-8, 1.0, curvature)
        theta = np.clip(np.where(np.abs(grown) < 1e-8, away, guess), low, high)
        k0, k1, k2 = self.cumulants(theta)
        for _ in range(_NEWTON_STEPS):
            off, scale = k1 - total, np.sqrt(k2)
            low, high = np.where(off < 0, theta, low), np.where(off > 0, theta, high)
            new = theta - off / k2
            new = np.where((new >= low) & (new <= high), new, (low + high) / 2)
            if np.all((np.abs(off) <= _TOLERANCE * scale) | (np.abs(new - theta) * scale <= _TOLERANCE)):
                break
            theta = new
            k0, k1, k2 = self.cumulants(theta)
        return theta, k0, k2


# ---- tails


def observed_counts(sums: NDArray[np.int64], model: SupportModel) -> ObservedCounts:
    """Return the observed counts of itemsets of one size; sums are C_0 … C_k, int64 (itemsets, k + 1).

    Raises:
        EstimateError: the operator has no estimator for this size.
    """
    k = sums.shape[1] - 1
    transition, row = (np.array(each, dtype=np.float64) for each in (model.transition(k), model.row(k)))
    return ObservedCounts(partial_counts(sums), transition, row)


def upper_tail(observed: ObservedCounts, supports: ArrayLike) -> NDArray[np.float64]:
    """Return P(ŝ ≥ the ŝ observed), float64 (itemsets,), at these supports. Errs upwards where ŝ is coarse.

    Args:
        observed: counts from the reports.
        supports: in [0, 1], one or one for every itemset.

    Raises:
        EstimateError: there are no reports.

    >>> coin = ObservedCounts(np.array([[40, 60]]), np.array([[0.5, 0.25], [0.5, 0.75]]), np.array([-2.0, 2.0]))
    >>> upper_tail(coin, 0.0).round(4)  # 60 or more reports with the item: 0.0284
    array([0.0284])
    """
    result = np.empty(len(observed.counts))
    wanted = np.broadcast_to(np.asarray(supports, dtype=np.float64), result.shape)
    if len(result) and not observed.n_reports:
        raise EstimateError("there are no reports to estimate from; collect some first")
    for start in range(0, len(result), _BLOCK):
        rows = slice(start, start + _BLOCK)
        fit = _Fit.from_counts(observed.among(rows))
        span = fit.distribution(np.clip(fit.support, 0.0, 1.0)).span()  # at the estimated support
        distribution = fit.distribution(np.clip(wanted[rows], 0.0, 1.0))
        result[rows] = normal_cdf(-distribution.score(fit.support * fit.observed.n_reports - span / 2, span))
    return result


def _absent_limit(observed: ObservedCounts, score: float) -> float:
    """Return the least estimate that an itemset without any occurrence reaches with probability at most Φ(−score).

    The distribution follows from the plan alone: only the operator and the number of reports of ``observed``, of one
    itemset none of whose items occurs, matter. The score z is above 0, as 4 for a probability of 3.2e-5.

    >>> coin = ObservedCounts(np.array([[40, 60]]), np.array([[0.5, 0.25], [0.5, 0.75]]), np.array([-2.0, 2.0]))
    >>> round(_absent_limit(coin, 2.0), 2)  # 60 or more: 0.0284; 61: 0.0176, an estimate of 0.44
    0.42
    """
    return _TotalDistribution(observed, np.eye(len(observed.row), 1)).total_at_score(score) / observed.n_reports


# ---- options


def read_share(value: "float | str", what: str) -> Fraction:
    """Read a share in [0, 1], as 0.6 or ``"60%"``; anything else raises EstimateError."""
    try:
        return parse_share(value, what)
    except PlanError as error:
        raise EstimateError(str(error)) from None


@dataclass(frozen=True, slots=True)
class ErrorOptions:
    """The probability of intervals.

    Args:
        confidence_level: the probability, as 0.95, ``"95%"`` or ``"19/20"``; kept as a float.

    Raises:
        EstimateError: the level does not lie between 0 and 1.
    """

    confidence_level: float

    def __init__(self, confidence_level: float | str = 0.95) -> None:
        level = float(read_share(confidence_level, "confidence_level"))
        if not (level > 0 and (1 + level) / 2 < 1):
            raise EstimateError(f"confidence_level must lie between 0 and 1, got {level:.17g}")
        object.__setattr__(self, "confidence_level", level)


# ---- detectable supports


def threshold_errors(candidates: int) -> float:
    """Return z ≥ 4, so that fewer than 0.01 of the candidates of support 0 are expected to reach z standard errors.

    >>> [round(threshold_errors(candidates), 2) for candidates in (1, 1_000, 330_000)]
    [4.0, 4.26, 5.42]
    """
    return max(ERRORS_OF_ONE, -NormalDist().inv_cdf(FALSE_ITEMSETS / max(candidates, 1)))


def detection_threshold(respondents: Respondents, k: int, candidates: int) -> float:
    """Return the smallest support that a search over all candidates of k items separates from noise.

    May exceed 1 or be infinite: then no itemset of this size can be detected. Never below the detectable support.
    """
    errors = threshold_errors(candidates)
    support = detectable_support(respondents, k, errors)
    if not 0 < support < math.inf:
        return support
    absent = np.array([[respondents.n_reports, *[0] * k]], dtype=np.int64)
    return max(support, _absent_limit(observed_counts(absent, respondents.model), errors + _SAFETY))


@dataclass(frozen=True, slots=True)
class DetectableSupports:
    """What N reports of a plan can detect, by itemset size k; 1 or more where nothing can be detected.

    ``chosen`` is the detectable support of one itemset chosen beforehand, ``threshold`` the detection threshold of
    a search over all itemsets of the size.
    """

    chosen: dict[int, float]
    threshold: dict[int, float]


def detectable_supports(plan: "Plan", reports: int) -> DetectableSupports:
    """Return what N reports of a plan can detect of each itemset size that it estimates."""
    respondents = Respondents.from_plan(plan, reports)
    sizes = range(1, plan.items.itemset_size + 1)
    return DetectableSupports(
        chosen={k: detectable_support(respondents, k) for k in sizes},
        threshold={k: detection_threshold(respondents, k, comb(plan.n_items, k)) for k in sizes},
    )


def detectable_differences(errors: Mapping[int, float], n_items: int, level: float = 0.95) -> dict[int, float]:
    """Return for each size the difference between two sides that a test finds with 80% power.

    ``errors`` are standard errors of each side's supports; all itemsets of the catalogue count as tested.

    >>> detectable_differences({1: 0.01}, 100)[1].__round__(3)
    0.065
    """
    z, sizes = NormalDist().inv_cdf(_POWER), max(3, *errors)  # a comparison tests up to triples
    tails = {k: (1 - level) / (2 * sizes * comb(n_items, k)) for k in errors}
    return {k: (z - NormalDist().inv_cdf(tails[k])) * 2**0.5 * error for k, error in errors.items()}


# ---- normal distribution


def normal_cdf(scores: ArrayLike) -> NDArray[np.float64]:
    """Return Φ(z), float64 of the scores' shape.

    >>> normal_cdf([-1.0, 0.0]).round(4).tolist()
    [0.1587, 0.5]
    """
    given = np.asarray(scores, dtype=np.float64)
    if given.size >= _MANY:
        from scipy.special import ndtr

        return np.asarray(ndtr(given))
    return np.array([math.erfc(-z * _ROOT_HALF) / 2 for z in given.ravel().tolist()]).reshape(given.shape)
