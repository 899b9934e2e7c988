"""Supports of itemsets from superset counts, with their variances.

For an itemset A of k items let Z_A be the value q[l'] of plans/transition.py, an unbiased estimate from one report of
whether its transaction holds A. With means over the N reports:

    ŝ(A)                = mean Z_A
    Cov(ŝ(A), ŝ(B))     ≈ (mean Z_A Z_B − mean Z_{A∪B}) / N             for the N transactions at hand
                        ≈ (mean Z_A Z_B − mean Z_A · mean Z_B) / (N−1)   for the population they were drawn from

Both are unbiased. The first is what randomization adds: given the transactions, E Z_A Z_B − E Z_A E Z_B, where
E Z_A E Z_B = [A ∪ B ⊆ t]. By |D| = j the weights of the counts c_D, D ⊆ A, in mean Z_A and mean Z_A² are equal,
so the sums C_j = Σ_{|D|=j} c_D are all that one itemset needs.

**What few reports hide.** The variance at hand is Σ_l' p_l' (q[l']² − q[l']) / N with p_l' the mean probability that a
report shows l' of the items. Where an l' is rare and q[l'] large, it is likely not seen at all, and the estimate lacks
what it would have added: of triples, where a report of all three can count for minus 80, a standard error came out ten
times too small. Errors shown then count one report more of each l' than was seen, N p_l' = c_l' + 1, but no more than
the other counts allow: as p_a = Σ_l s_l P[a,l],

    p_a ≤ p_b · max_l P[a,l] / P[b,l]         for all a and b.

Only where one report can change ŝ by more than a tenth of its standard error: elsewhere one more is less than 1% of
the variance.

Source: ESAG02, section 4 (estimator and variance).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.baskets import Plan
from assocpriv.plans.transition import ERRORS_OF_ONE, SupportModel, lowest_support
from assocpriv.promise.errors import EstimateError

FEW_REPORTS = 0.1  # of a standard error: where one report can change an estimate by more, few reports decide


# ---- supports


@dataclass(frozen=True, slots=True)
class Respondents:
    """Who reported: how many reports N, and the model of their operator."""

    n_reports: int
    model: SupportModel

    @classmethod
    def of(cls, plan: Plan, n_reports: int) -> "Respondents":
        """Return who tells of items among so many reports of a plan, on average."""
        return cls(round(n_reports * plan.share(plan.items)), SupportModel.of(plan.items.operator))


@dataclass(frozen=True, slots=True)
class SupportEstimates:
    """Estimates of many itemsets: raw (not clipped) supports and variances, arrays of shape (itemsets,).

    ``variance`` and ``population_variance`` are unbiased; ``least_variance`` is the least that is taken for true of
    what randomization adds: what a support of this size has by the plan alone, and where few reports decide, with one
    more of every kind.
    """

    support: NDArray[Any]
    variance: NDArray[Any]
    population_variance: NDArray[Any]
    least_variance: NDArray[np.float64]
    n_reports: int

    def std_error(self, *, population: bool) -> NDArray[np.float64]:
        """Return standard errors, for the transactions at hand or for the population they were drawn from."""
        variance = self.population_variance if population else self.variance
        return np.sqrt(np.maximum(variance.astype(np.float64), self.least(self.support, population=population)))

    def least(self, support: NDArray[Any], *, population: bool) -> NDArray[np.float64]:
        """Return the least variance that is taken for true, of the population with what drawing from it adds."""
        return self.least_variance + (sampling_variance(support, self.n_reports) if population else 0.0)


def sampling_variance(support: NDArray[Any], n_reports: int) -> NDArray[np.float64]:
    """Return s(1−s)/N, what drawing the transactions from a population adds at these supports."""
    share = np.clip(support.astype(np.float64), 0.0, 1.0)
    return np.asarray(share * (1 - share) / n_reports)


def estimate_supports(
    subset_sums: NDArray[np.int64], respondents: Respondents, *, exact: bool = False
) -> SupportEstimates:
    """Estimate supports of itemsets of one size.

    Args:
        subset_sums: C_0 … C_k of every itemset, int64 (itemsets, k + 1): C_j sums, over the subsets of j items, the
            number of reports showing all of them; C_0 is N.
        respondents: whose reports they are.
        exact: compute in fractions (arrays of dtype object) instead of doubles.

    Raises:
        EstimateError: no reports, or the operator says nothing about this size.

    >>> estimate_supports(np.array([[100, 40]]), Respondents(100, SupportModel.plain())).support.tolist()
    [0.4]
    """
    n_reports, model = respondents.n_reports, respondents.model
    if n_reports < 1:
        raise EstimateError("there are no reports to estimate from")
    k = subset_sums.shape[1] - 1
    kind = object if exact else np.float64
    sums = subset_sums.astype(kind)
    support, square = (sums @ np.array(model.size_weights(k, power)).astype(kind) / n_reports for power in (1, 2))
    variance = (square - support) / n_reports  # what randomization adds
    # by the plan alone it is no less
    least = np.asarray(model.least_variance(k, np.clip(support.astype(np.float64), 0.0, 1.0)) / n_reports)
    least = np.maximum(least, _with_one_more(subset_sums, respondents, variance.astype(np.float64), least))
    population = _for_population(variance, support, support**2, n_reports)
    return SupportEstimates(support, variance, population, least, n_reports)


def _with_one_more(
    subset_sums: NDArray[np.int64], respondents: Respondents, variance: NDArray[np.float64], least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variance with one report more of every kind, as far as the others allow, where few reports decide."""
    n_reports, model, k = respondents.n_reports, respondents.model, subset_sums.shape[1] - 1
    row = np.array([float(value) for value in model.row(k)])
    few = np.flatnonzero(float(np.abs(row).max()) > FEW_REPORTS * n_reports * np.sqrt(np.maximum(variance, least)))
    result = variance.copy()
    if not len(few):
        return result
    seen = partial_counts(subset_sums[few])
    transition = np.array([[float(value) for value in line] for line in model.transition(k)])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = transition[:, None] / transition[None]
    most = np.where(np.isnan(ratios), 0.0, ratios).max(axis=2)
    for kind, weight in enumerate(np.maximum(row**2 - row, 0.0).tolist()):
        possible = (most[kind] * (seen + 1)).min(axis=1)
        result[few] += weight / n_reports**2 * np.clip(possible - seen[:, kind], 0.0, 1.0)
    return result


def foreseen_error(respondents: Respondents, k: int, support: float) -> float:
    """Return σ_k(s) by the plan alone: the standard error when no other transaction holds an item of A.

    The best case: whoever holds some of the items adds to it. Infinite where nothing can be learned.
    """
    outside, inside = _foreseen_variances(respondents, k)
    return math.sqrt((1 - support) * outside + support * inside) if outside < math.inf else math.inf


def lowest_discoverable_support(respondents: Respondents, k: int, errors: float = ERRORS_OF_ONE) -> float:
    """Return the support s that is so many of its standard errors, s = zσ_k(s): LDS_k with four (EGS03, section 5).

    It is that of one itemset named beforehand; among many, some that nobody has exceed it (intervals.py). May exceed 1
    or be infinite: then nothing of this size can be discovered from these reports.
    """
    outside, inside = _foreseen_variances(respondents, k)
    return float(lowest_support(outside, inside, 1, errors)) if outside < math.inf else math.inf


def _foreseen_variances(respondents: Respondents, k: int) -> tuple[float, float]:
    """Return Var ŝ at supports 0 and 1."""
    n_reports = respondents.n_reports
    if not n_reports:
        return math.inf, math.inf
    outside, inside = (variance / n_reports for variance in respondents.model.variances(k))
    return outside, inside


def _for_population(at_hand: Any, joint: Any, product: Any, n_reports: int) -> Any:
    """Turn a covariance at hand into the population's: ŝ(A∪B) and ŝ(A)·ŝ(B) say what drawing transactions adds."""
    if n_reports == 1:
        return np.full(len(at_hand), np.inf)
    return (n_reports * at_hand + joint - product) / (n_reports - 1)


def partial_counts(subset_sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many reports show exactly l = 0..k of the items: Σ_{j≥l} (−1)^(j−l) C(j,l) C_j, int64 as C.

    >>> partial_counts(np.array([[10, 9, 2]])).tolist()
    [[3, 5, 2]]
    """
    k = subset_sums.shape[1] - 1
    invert = [[(-1) ** (j - p) * comb(j, p) if j >= p else 0 for p in range(k + 1)] for j in range(k + 1)]
    return np.asarray(subset_sums @ np.array(invert, dtype=np.int64))


# ---- covariances


def subset_sums(counts: NDArray[np.int64], mask: int) -> NDArray[np.int64]:
    """Return C_0 … C_j of the j items of a mask among all k, int64 (sets, j + 1), of counts by mask.

    >>> subset_sums(np.array([[10, 5, 4, 2]]), 0b11).tolist(), subset_sums(np.array([[10, 5, 4, 2]]), 0b10).tolist()
    ([[10, 9, 2]], [[10, 4]])
    """
    within = np.array([shown for shown in range(counts.shape[1]) if shown | mask == mask])
    sizes = np.bitwise_count(within)
    return np.stack([counts[:, within[sizes == j]].sum(axis=-1) for j in range(mask.bit_count() + 1)], axis=-1)


def covariance(
    counts: NDArray[np.int64], respondents: Respondents, left: list[int], right: list[int], *, population: bool
) -> NDArray[np.float64]:
    """Estimate Cov(ŝ(A), ŝ(B)) for A, B within the same k items, over many sets of k items.

    Counts are c_D, how many reports show all of D, for every subset D by mask, int64 (sets, 2^k). Left and right say by
    0 or 1 for each of the k items whether it is in A, and in B.
    """
    n_reports = respondents.n_reports

    def mean(*members: list[int]) -> NDArray[np.float64]:
        return np.asarray(counts @ np.array(respondents.model.moment_weights(*members), dtype=np.float64) / n_reports)

    joint = mean([a | b for a, b in zip(left, right, strict=True)])
    at_hand = (mean(left, right) - joint) / n_reports
    if not population:
        return at_hand
    return np.asarray(_for_population(at_hand, joint, mean(left) * mean(right), n_reports))


def mask_of(inside: Sequence[int]) -> int:
    """Return the mask of the items that a list of 0 and 1 says are in a set."""
    return sum(1 << i for i, member in enumerate(inside) if member)


def normal_quantile(confidence_level: float) -> float:
    """Return z with P(|Z| ≤ z) = confidence_level for a standard normal Z."""
    return NormalDist().inv_cdf((1 + confidence_level) / 2)
