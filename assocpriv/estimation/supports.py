"""Supports of itemsets from superset counts, with their variances; the lowest supports that a plan can detect.

For an itemset A of k items let Z_A be the value q[l'] of plans/baskets/operator.py, an unbiased estimate from one
report of whether its transaction holds A. With means over the N reports:

    ŝ(A)        = mean Z_A
    Var ŝ(A)    ≈ (mean Z_A² − ŝ(A)) / N            for the N transactions collected
                ≈ (mean Z_A² − ŝ(A)²) / (N−1)       for the population they were drawn from

All are unbiased. The first variance is the one added by randomization: given the transactions, E Z_A² − E Z_A.

The weights of the counts c_D, D ⊆ A, in mean Z_A and mean Z_A² are equal for all |D| = j, so the sums C_j = Σ_{|D|=j}
c_D suffice for one itemset.

Source: ESAG02, section 4 (estimator and variance).
"""

import math
from dataclasses import dataclass
from math import comb
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import ERRORS_OF_ONE, SupportModel, lowest_support

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
    exceed it (intervals.py). The value may exceed 1 or be infinite: then these reports can detect nothing of this size.
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
