"""Supports from superset counts, with their variances.

Sees counts only. For an itemset A of k items let Z_A be the centred product of core/transition.py, an unbiased
estimate from one report of whether its transaction holds A. With means over the N reports:

    ŝ(A)                = mean Z_A
    Cov(ŝ(A), ŝ(B))     ≈ (mean Z_A Z_B − mean Z_{A∪B}) / N             for the N transactions at hand
                        ≈ (mean Z_A Z_B − mean Z_A · mean Z_B) / (N−1)   for the population they were drawn from

Both are unbiased. The first is what randomization adds: given the transactions, E Z_A Z_B − E Z_A E Z_B, where
E Z_A E Z_B = [A ∪ B ⊆ t]. By |D| = j the weights of the counts c_D, D ⊆ A, in mean Z_A and mean Z_A² are equal,
so the sums C_j = Σ_{|D|=j} c_D are all that one itemset needs.

Source: ESAG02, section 4 (estimator and variance).
"""

from dataclasses import dataclass
from math import comb
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.core.transition import SupportModel


@dataclass(frozen=True, slots=True)
class SupportEstimates:
    """Estimates of many itemsets: raw (not clipped) supports and variances, arrays of shape (itemsets,).

    ``variance`` and ``population_variance`` are the unbiased estimates; ``least_variance`` is what a support of this
    size has at least by the plan alone, whatever the transactions hold.
    """

    support: NDArray[Any]
    variance: NDArray[Any]
    population_variance: NDArray[Any]
    least_variance: NDArray[np.float64]
    n_reports: int

    def std_error(self, *, population: bool) -> NDArray[np.float64]:
        """Return standard errors, for the transactions at hand or for the population they were drawn from.

        Where few reports show the itemset, the unbiased estimate misses noise that is rare but large, and
        intervals would be too short; the least variance bounds it from below.
        """
        variance, least = self.variance, self.least_variance
        if population:
            variance, least = self.population_variance, least + sampling_variance(self.support, self.n_reports)
        return np.sqrt(np.maximum(variance.astype(np.float64), least))


def sampling_variance(support: NDArray[Any], n_reports: int) -> NDArray[np.float64]:
    """Return s(1−s)/N: what drawing the transactions from a population adds."""
    share = np.clip(support.astype(np.float64), 0.0, 1.0)
    return share * (1 - share) / n_reports


def estimate_supports(
    subset_sums: NDArray[np.int64], n_reports: int, model: SupportModel, *, exact: bool = False
) -> SupportEstimates:
    """Estimate supports of itemsets of one size.

    Args:
        subset_sums: C_0 … C_k of every itemset, int64 (itemsets, k + 1): C_j sums, over the subsets of j items,
            the number of reports showing all of them; C_0 = N.
        n_reports: N.
        model: of the operator the reports were made with.
        exact: compute in fractions (arrays of dtype object) instead of doubles.

    Raises:
        EstimateError: no reports, or the operator says nothing about this size.

    >>> from fractions import Fraction
    >>> model = SupportModel(Fraction(1, 4), (Fraction(1, 2),))
    >>> estimate_supports(np.array([[100, 40]]), 100, model).support.round(12).tolist()
    [0.3]
    """
    if n_reports < 1:
        raise EstimateError("there are no reports to estimate from")
    k = subset_sums.shape[1] - 1
    item = [1] * k
    first = _by_size(model.moment_weights(item), k, exact=exact)
    second = _by_size(model.moment_weights(item, item), k, exact=exact)
    sums = subset_sums.astype(object if exact else np.float64)
    support, square = sums @ first / n_reports, sums @ second / n_reports
    others = n_reports - 1
    spread = square - support * support
    return SupportEstimates(
        support,
        (square - support) / n_reports,
        spread / others if others else np.full(len(sums), np.inf),
        model.least_variance(k, np.clip(support.astype(np.float64), 0.0, 1.0)) / n_reports,
        n_reports,
    )


def _by_size(weights: list[Any], k: int, *, exact: bool) -> NDArray[Any]:
    """Take the weights of one subset of each size 0..k; they are equal for all subsets of a size."""
    chosen = [weights[(1 << j) - 1] for j in range(k + 1)]
    return np.array(chosen, dtype=object) if exact else np.array([float(w) for w in chosen])


def partial_counts(subset_sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many reports show exactly l = 0..k of the items: Σ_{j≥l} (−1)^(j−l) C(j,l) C_j.

    Args and result: int64 (itemsets, k + 1).

    >>> partial_counts(np.array([[10, 9, 2]])).tolist()
    [[3, 5, 2]]
    """
    k = subset_sums.shape[1] - 1
    invert = [[(-1) ** (j - p) * comb(j, p) if j >= p else 0 for p in range(k + 1)] for j in range(k + 1)]
    counts: NDArray[np.int64] = subset_sums @ np.array(invert, dtype=np.int64)
    return counts


def covariance(
    counts: NDArray[np.int64],
    n_reports: int,
    model: SupportModel,
    left: list[int],
    right: list[int],
    *,
    population: bool,
) -> NDArray[np.float64]:
    """Estimate Cov(ŝ(A), ŝ(B)) for A, B within the same k items, over many sets of k items.

    Args:
        counts: c_D for every subset D by mask, int64 (sets, 2^k).
        n_reports: N.
        model: of the operator.
        left: 0 or 1 for each of the k items: membership of A.
        right: likewise of B.
        population: for the population, else for the transactions at hand.

    Raises:
        EstimateError: the operator says nothing about one of the sizes.
    """

    def mean(*members: list[int]) -> NDArray[np.float64]:
        weights = np.array([float(w) for w in model.moment_weights(*members)])
        result: NDArray[np.float64] = counts @ weights / n_reports
        return result

    if population:
        return (mean(left, right) - mean(left) * mean(right)) / max(n_reports - 1, 1)
    return (mean(left, right) - mean([a | b for a, b in zip(left, right, strict=True)])) / n_reports


def normal_quantile(confidence_level: float) -> float:
    """Return z with P(|Z| ≤ z) = confidence_level for a standard normal Z."""
    return NormalDist().inv_cdf((1 + confidence_level) / 2)
