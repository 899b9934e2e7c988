"""Confidence and lift of rules: standard errors, tests and intervals.

For a rule A → C with B = A ∪ C and estimates b, a, c of the supports of B, A, C:

    confidence = b/a, lift = b/(a·c)
    Var(confidence) ≈ (V_bb − 2 conf V_ab + conf² V_aa) / a²
    Var(lift)       ≈ gᵀ V g with g = (1/(ac), −b/(a²c), −b/(ac²))         (delta method)

V is the joint covariance of the three estimates (supports.py), which come from the same reports; every count it needs
is that of a subset of B.

With blocks fewer reports tell of B than of A or C, N_B ≤ N_A: those of blocks that hold both sides. They are among
those that tell of A, so Cov(b, a) = Cov(Z_B, Z_A)/N_A (supports.py), which their counts estimate, and each variance is
that from the N of its own itemset. Then Var D has σ²(Z_B)·(1/N_B − 1/N_A) beside the variance of W over N_A.

Whether a confidence reaches C is tested by D = b − C·a, whose expectation is negative if it does not, with
p = Φ(−D/σ) and σ² the larger of two estimates: (1, −C) V (1, −C)ᵀ, and Var D as it would be with D = 0. For the latter,
one report adds W = Z_B − C·Z_A to N·D; its variance is estimated without bias by the mean of U = W² (population) or
U = W² − (1 − 2C)·Z_B − C²·Z_A (transactions at hand), and regression, mean U − D·Cov(U, W)/Var W, tells what it would
be had D come out as 0. Without that, few of the rare reports that count most against a rule make D large and its noise
seem small. It remains a normal approximation: where only some tens of reports show all items of a side, p-values
below 1% are not to be taken literally.

The interval of a confidence is Fieller's: all shares C that the estimate of b − C·a does not speak against,

    (b − C·a)² ≤ z² (V_bb − 2C·V_ab + C²·V_aa)

cut to [0, 1]. Where a itself is not told from 0 that is everything, as it should be.

Source: Fieller, Some problems in interval estimation, J. R. Stat. Soc. B 1954.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.normal import lower_tails
from assocpriv.server.estimates.supports import (
    Respondents,
    SubsetCounts,
    covariance,
    estimate_supports,
    mask_of,
    normal_quantile,
    sampling_variance,
    subset_sums,
)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Three = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, slots=True)
class RuleEstimates:
    """Rules of one pattern, which says which of the k items of A ∪ C are in A.

    Attributes:
        counts: c_D for every subset D of A ∪ C by mask, int64 (rules, 2^k), in reports that tell of A ∪ C.
        inside: 0 or 1 for each of the k items: membership of A.
        supports: b, a, c, float64 (rules,) each.
        covariance: V of these, each entry float64 (rules,), for the population or the transactions at hand.
        asked: N_D, how many reports tell of each subset, int64 (rules, 2^k).
    """

    counts: Counts
    respondents: Respondents
    inside: list[int]
    supports: Three
    covariance: list[list[Floats]]
    population: bool
    asked: Counts

    @classmethod
    def of(
        cls, counted: SubsetCounts, respondents: Respondents, inside: list[int], supports: Three, population: bool
    ) -> "RuleEstimates":
        """Return estimates with their covariance."""
        joint = _joint_covariance(counted, respondents, inside, supports, population=population)
        return cls(counted.counts, respondents, inside, supports, joint, population, counted.asked)

    def std_errors(self) -> list[Floats]:
        """Return the standard errors of support, confidence and lift, float64 (rules,) each."""
        b, a, c = self.supports
        one, nothing = np.ones_like(b), np.zeros_like(b)
        of_lift = [1 / (a * c), -b / (a * a * c), -b / (a * c * c)]
        gradients = [[one, nothing, nothing], [1 / a, -b / a**2, nothing], of_lift]
        return [np.sqrt(_quadratic_form(gradient, self.covariance)) for gradient in gradients]

    def p_values(self, threshold: float) -> Floats:
        """Return p-values against "the confidence is below the threshold", float64 (rules,)."""
        b, a, _ = self.supports
        difference = b - threshold * a
        variance = np.maximum(_quadratic_form([1.0, -threshold], self.covariance), self._variance_at_zero(threshold))
        p: Floats = lower_tails(-difference / np.sqrt(np.maximum(variance, 1e-300)))
        return p

    def _variance_at_zero(self, threshold: float) -> Floats:
        """Return Var D, or what it would be had D come out as 0 if that is more."""
        k, shown = len(self.inside), np.arange(1 << len(self.inside))
        of_rule, of_side = np.maximum(self.asked[:, -1], 1), np.maximum(self.asked[:, mask_of(self.inside)], 1)
        drawn = self.population or bool((of_rule < of_side).any())
        of_a = shown & mask_of(self.inside)
        z_b, z_a = (
            np.array([float(x) for x in self.respondents.model.row(size)])[np.bitwise_count(masks)]
            for size, masks in ((k, shown), (sum(self.inside), of_a))
        )
        w = z_b - threshold * z_a
        u = w * w - (0.0 if drawn else (1 - 2 * threshold) * z_b + threshold**2 * z_a)
        w, u, ww, uw, bb = np.stack([w, u, w * w, u * w, z_b * z_b]) @ _exactly(self.counts).T / of_rule
        spread = ww - w * w
        slope = (uw - u * w) / np.where(spread > 0, spread, np.inf)
        variance: Floats = np.maximum(u, u - slope * w) / of_side + bb * (1 / of_rule - 1 / of_side)
        return variance

    def confidence_intervals(self, level: float) -> Floats:
        """Return the ends of the confidences' intervals, float64 (rules, 2); all of [0, 1] where a may be 0."""
        (b, a, _), cov, z = self.supports, self.covariance, normal_quantile(level)
        square, middle = a * a - z * z * cov[1][1], a * b - z * z * cov[0][1]
        inner = middle * middle - square * (b * b - z * z * cov[0][0])
        known = (square > 0) & (a > 0) & (inner >= 0)
        root, scale = np.sqrt(np.where(known, inner, 0.0)), np.where(known, square, 1.0)
        low, high = (np.clip((middle + side * root) / scale, 0.0, 1.0) for side in (-1, 1))
        return np.column_stack([np.where(known, low, 0.0), np.where(known, high, 1.0)])


def _quadratic_form(gradient: "Sequence[Floats | float]", cov: list[list[Floats]]) -> Floats:
    indices = range(len(gradient))
    whole: Floats = np.sum([gradient[i] * gradient[j] * cov[i][j] for i in indices for j in indices], axis=0)
    # noise can make a joint estimate contradict itself; then without the covariances
    alone: Floats = np.sum([gradient[i] ** 2 * cov[i][i] for i in indices], axis=0)
    return np.where(whole > 0, whole, alone)


def _joint_covariance(
    counted: SubsetCounts, respondents: Respondents, inside: list[int], supports: Three, *, population: bool
) -> list[list[Floats]]:
    """Estimate the covariance matrix of b, a, c; raised to the bounds that itemsets have, its correlations stay."""
    members = [[1] * len(inside), inside, [1 - i for i in inside]]
    raw = [
        [covariance(counted, respondents, left, right, population=population) for right in members] for left in members
    ]
    scales = []
    for i, (member, support) in enumerate(zip(members, supports, strict=True)):
        within = estimate_supports(subset_sums(counted.counts, mask_of(member)), respondents)
        asked = np.maximum(counted.asked[:, mask_of(member)], 1)
        least = within.least_variance * (within.asked / asked)
        least = least + sampling_variance(support, asked, None if population else respondents.n_reports)
        floored = np.maximum(raw[i][i], least)
        with np.errstate(invalid="ignore"):  # a single report: infinite errors
            scales.append(np.sqrt(floored / np.where(raw[i][i] > 0, raw[i][i], np.inf)))
        raw[i][i] = floored
    return [[raw[i][j] * (1.0 if i == j else scales[i] * scales[j]) for j in range(3)] for i in range(3)]


def _exactly(counts: Counts) -> Counts:
    """Turn counts of reports showing all of D into counts of those showing exactly D, by mask, int64 (sets, 2^k)."""
    exact = counts.copy()
    for i in range((counts.shape[1] - 1).bit_length()):
        without = [mask for mask in range(counts.shape[1]) if not mask >> i & 1]
        exact[:, without] -= exact[:, [mask | 1 << i for mask in without]]
    return exact
