"""Supports of itemsets from superset counts, with their variances; the lowest ones that a plan can discover.

For an itemset A of k items let Z_A be the value q[l'] of plans/transition.py, an unbiased estimate from one report of
whether its transaction holds A. With means over the N reports:

    ŝ(A)        = mean Z_A
    Var ŝ(A)    ≈ (mean Z_A² − ŝ(A)) / N            for the N transactions at hand
                ≈ (mean Z_A² − ŝ(A)²) / (N−1)       for the population they were drawn from

All are unbiased. The first variance is what randomization adds: given the transactions, E Z_A² − E Z_A.

By |D| = j the weights of the counts c_D, D ⊆ A, in mean Z_A and mean Z_A² are equal, so the sums C_j = Σ_{|D|=j} c_D
are all that one itemset needs.

Source: ESAG02, section 4 (estimator and variance).
"""

import math
from dataclasses import dataclass
from math import comb
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.baskets import Plan
from assocpriv.plans.transition import ERRORS_OF_ONE, SupportModel, lowest_support
from assocpriv.promise.errors import EstimateError

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
    """Estimates of many itemsets: raw (not clipped) supports and unbiased variances, arrays of shape (itemsets,)."""

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
    drawn = np.full(len(sums), np.inf) if n_reports == 1 else (square - support**2) / (n_reports - 1)
    return SupportEstimates(support, (square - support) / n_reports, drawn)


def lowest_discoverable_support(respondents: Respondents, k: int, errors: float = ERRORS_OF_ONE) -> float:
    """Return the support s that is so many of its standard errors, s = zσ_k(s): LDS_k with four (EGS03, section 5).

    σ_k(s) is by the plan alone, where no other transaction holds an item of A: whoever holds some of the items adds to
    it. It is that of one itemset named beforehand; among many, some that nobody has exceed it (intervals.py). May
    exceed 1 or be infinite: then nothing of this size can be discovered from these reports.
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
