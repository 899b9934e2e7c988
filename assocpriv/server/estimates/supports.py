"""Supports from superset counts, with their variances.

For an itemset A of k items let Z_A be the value q[l'] of plans/baskets/transition.py, an unbiased
estimate from one report of whether its transaction holds A. With means over the N reports:

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

Reports grouped by the transactions' sizes have an operator, and so a Z, for each group; the means then go over all
N reports, each with its own group's Z, which weights groups by N_m/N and their variances by (N_m/N)².

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

from assocpriv.core.errors import EstimateError
from assocpriv.plans.baskets.transition import ERRORS_OF_ONE, SupportModel, lowest_support

FEW_REPORTS = 0.1  # of a standard error: where one report can change an estimate by more, few reports decide


@dataclass(frozen=True, slots=True)
class Group:
    """Reports of one operator: their number N_m and its model."""

    n_reports: int
    model: SupportModel


@dataclass(frozen=True, slots=True)
class SupportEstimates:
    """Estimates of many itemsets: raw (not clipped) supports and variances, arrays of shape (itemsets,).

    ``variance`` and ``population_variance`` are unbiased; ``least_variance`` is the least at hand that is taken for
    true: what a support of this size has by the plan alone, and where few reports decide, with one more of every kind.
    """

    support: NDArray[Any]
    variance: NDArray[Any]
    population_variance: NDArray[Any]
    least_variance: NDArray[np.float64]
    n_reports: int

    def std_error(self, *, population: bool) -> NDArray[np.float64]:
        """Return standard errors, for the transactions at hand or for the population they were drawn from."""
        variance, least = self.variance, self.least_variance
        if population:
            variance, least = self.population_variance, least + sampling_variance(self.support, self.n_reports)
        return np.sqrt(np.maximum(variance.astype(np.float64), least))


def sampling_variance(support: NDArray[Any], n_reports: int) -> NDArray[np.float64]:
    """Return s(1−s)/N: what drawing the transactions from a population adds."""
    share = np.clip(support.astype(np.float64), 0.0, 1.0)
    return share * (1 - share) / n_reports


def estimate_supports(
    subset_sums: NDArray[np.int64], groups: Sequence[Group], *, exact: bool = False
) -> SupportEstimates:
    """Estimate supports of itemsets of one size.

    Args:
        subset_sums: C_0 … C_k of every itemset in every group, int64 (itemsets, groups, k + 1): C_j sums, over the
            subsets of j items, the number of reports showing all of them; C_0 = N_m.
        groups: whose reports they are, one group a size of transactions or one for all.
        exact: compute in fractions (arrays of dtype object) instead of doubles.

    Raises:
        EstimateError: no reports, or the operator says nothing about this size.

    >>> group = Group(100, SupportModel.plain())
    >>> estimate_supports(np.array([[[100, 40]]]), [group]).support.tolist()
    [0.4]
    """
    n_reports = sum(group.n_reports for group in groups)
    if n_reports < 1:
        raise EstimateError("there are no reports to estimate from")
    k = subset_sums.shape[2] - 1
    kind = object if exact else np.float64
    sums = subset_sums.astype(kind)
    support, square = np.zeros(len(sums), dtype=kind), np.zeros(len(sums), dtype=kind)
    for column, group in enumerate(groups):
        support += sums[:, column] @ np.array(group.model.size_weights(k)).astype(kind) / n_reports
        square += sums[:, column] @ np.array(group.model.size_weights(k, 2)).astype(kind) / n_reports
    variance = (square - support) / n_reports
    least = _plan_variance(groups, k, support.astype(np.float64))
    return SupportEstimates(
        support,
        variance,
        _for_population(variance, support, support**2, n_reports),
        np.maximum(least, _with_one_more(subset_sums, groups, variance.astype(np.float64), least)),
        n_reports,
    )


def _with_one_more(
    subset_sums: NDArray[np.int64], groups: Sequence[Group], variance: NDArray[np.float64], least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variance with one report more of every kind, as far as the others allow, where few reports decide."""
    n_reports, k = sum(group.n_reports for group in groups), subset_sums.shape[2] - 1
    columns = [column for column, group in enumerate(groups) if group.n_reports and group.model.tells_of(k)]
    rows = {column: np.array([float(value) for value in groups[column].model.row(k)]) for column in columns}
    jump = max((float(np.abs(row).max()) for row in rows.values()), default=0.0)
    few = np.flatnonzero(jump > FEW_REPORTS * n_reports * np.sqrt(np.maximum(variance, least)))
    result = variance.copy()
    for column in columns if len(few) else []:
        each = np.maximum(rows[column] ** 2 - rows[column], 0.0) / n_reports**2
        seen = partial_counts(subset_sums[few, column])
        transition = np.array([[float(value) for value in row] for row in groups[column].model.transition(k)])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = transition[:, None] / transition[None]
        most = np.where(np.isnan(ratios), 0.0, ratios).max(axis=2)
        for kind, weight in enumerate(each.tolist()):
            possible = (most[kind] * (seen + 1)).min(axis=1)
            result[few] += weight * np.clip(possible - seen[:, kind], 0.0, 1.0)
    return result


def _plan_variance(groups: Sequence[Group], k: int, support: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a lower bound of Var ŝ at hand, by the plan alone, were the supports the same in every group."""
    share = np.clip(support, 0.0, 1.0)
    least = np.zeros(len(share))
    for group in groups:
        least += group.n_reports * group.model.least_variance(k, share)
    return least / sum(group.n_reports for group in groups) ** 2


def foreseen_error(groups: Sequence[Group], k: int, support: float) -> float:
    """Return σ_k(s) by the plan alone: the standard error when no other transaction holds an item of A.

    The best case: whoever holds some of the items adds to it. Infinite where nothing can be learned.
    """
    outside, inside = _foreseen_variances(groups, k)
    return math.sqrt((1 - support) * outside + support * inside) if outside < math.inf else math.inf


def lowest_discoverable_support(groups: Sequence[Group], k: int, errors: float = ERRORS_OF_ONE) -> float:
    """Return the support s that is so many of its standard errors, s = zσ_k(s): LDS_k with four (EGS03, section 5).

    It is that of one itemset named beforehand; among many, some that nobody has exceed it (limits.py). May exceed 1 or
    be infinite: then nothing of this size can be discovered from these reports.
    """
    outside, inside = _foreseen_variances(groups, k)
    return float(lowest_support(outside, inside, 1, errors)) if outside < math.inf else math.inf


def _foreseen_variances(groups: Sequence[Group], k: int) -> tuple[float, float]:
    """Return Var ŝ at supports 0 and 1, were the support the same in every group that can hold k items."""
    if not any(group.model.tells_of(k) for group in groups):
        return math.inf, math.inf
    n_reports = sum(group.n_reports for group in groups)
    terms = [(group.n_reports / n_reports**2, group.model.variances(k)) for group in groups if group.n_reports]
    return sum(share * outside for share, (outside, _) in terms), sum(share * inside for share, (_, inside) in terms)


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
    counts: NDArray[np.int64] = subset_sums @ np.array(invert, dtype=np.int64)
    return counts


def subset_sums(counts: NDArray[np.int64], mask: int) -> NDArray[np.int64]:
    """Return C_0 … C_j of the j items of a mask among all k, int64 (sets, groups, j + 1), of counts by mask.

    >>> subset_sums(np.array([[[10, 5, 4, 2]]]), 0b11).tolist(), subset_sums(np.array([[[10, 5, 4, 2]]]), 0b10).tolist()
    ([[[10, 9, 2]]], [[[10, 4]]])
    """
    within = np.array([shown for shown in range(counts.shape[2]) if shown | mask == mask])
    sizes = np.bitwise_count(within)
    return np.stack([counts[..., within[sizes == j]].sum(axis=-1) for j in range(mask.bit_count() + 1)], axis=-1)


def covariance(
    counts: NDArray[np.int64], groups: Sequence[Group], left: list[int], right: list[int], *, population: bool
) -> NDArray[np.float64]:
    """Estimate Cov(ŝ(A), ŝ(B)) for A, B within the same k items, over many sets of k items.

    Counts are c_D for every subset D by mask, int64 (sets, groups, 2^k); left and right say by 0 or 1 for each of the k
    items whether it is in A, and in B.
    """
    n_reports = sum(group.n_reports for group in groups)

    def mean(*members: list[int]) -> NDArray[np.float64]:
        total = np.zeros(len(counts))
        for column, group in enumerate(groups):
            total += counts[:, column] @ np.array([float(w) for w in group.model.moment_weights(*members)])
        return total / n_reports

    joint = mean([a | b for a, b in zip(left, right, strict=True)])
    at_hand = (mean(left, right) - joint) / n_reports
    if not population:
        return at_hand
    result: NDArray[np.float64] = _for_population(at_hand, joint, mean(left) * mean(right), n_reports)
    return result


def normal_quantile(confidence_level: float) -> float:
    """Return z with P(|Z| ≤ z) = confidence_level for a standard normal Z."""
    return NormalDist().inv_cdf((1 + confidence_level) / 2)
