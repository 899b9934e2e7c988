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

**Blocks.** Where each report tells of a random block of the catalogue, A is estimated from the N_A = C_0 reports whose
blocks hold all of A. Who they are is independent of what people hold, so that given N_A each set of N_A people is
equally likely. With N_AB the reports that count for both, those of blocks that hold A ∪ B, and w = N_AB/(N_A N_B),

    Cov(ŝ(A), ŝ(B)) = w·R + (w − 1/N)·S     for the N transactions at hand
                    = w·(R + S)             for the population

R being the mean over people of Cov(Z_A, Z_B | t), S the covariance of [A ⊆ t] and [B ⊆ t] among people, with divisor
N − 1. Let I_i and J_i tell whether person i counts for A, for B: E I_i J_i = N_AB/N, and for i ≠ i'
E I_i J_i' = (N_A N_B − N_AB)/(N(N−1)). As Σ_i' Cov(I_i, J_i') = 0, the choice of people adds
S (N N_AB − N_A N_B)/(N N_A N_B) = (w − 1/N)·S. Where A ⊆ B the reports of B are among those of A, N_AB = N_B and
w = 1/N_A; for A = B this is the variance. From n reports of blocks that hold a superset of A ∪ B both are estimated
without bias:

    R       by mean Z_A Z_B − mean Z_{A∪B},         R + S   by n/(n−1) · (mean Z_A Z_B − mean Z_A · mean Z_B)

Without blocks N_A = N_B = N_AB = n = N, and this is what stands above.

Source: ESAG02, section 4 (estimator and variance).

**What supports lose** where people hold more than M entries of their block the dummies of reports tell. Of a block
somebody holds |T| entries and reports M of them, all if there are no more; shorter ones are filled up with dummies, so
that dummy d is in the transaction iff |T| ≤ M − 1 − d. The supports of the dummies so are those of

    P(|T| ≥ j) = 1 − s(dummy M − j),     j = 1 … M.

Over all itemsets A of k entries, Σ_A P(A ⊆ T, |T| = j) = C(j, k)·P(|T| = j), of which C(min(j, M), k) survive. An
itemset as frequent among long baskets as others of its size so loses, of each unit of its support as reported,

    Σ_{j>M} (C(j, k) − C(M, k))·P(|T| = j)  /  Σ_j C(min(j, M), k)·P(|T| = j).

How P(|T| = j) falls beyond M no report tells. With r_j = P(|T| ≥ j)/P(|T| ≥ j − 1) it is taken to fall as it does at
M: r_(M+i) = r_M·(r_M/r_(M−1))^i where these ratios fall, as for binomial sizes, and r_M where they do not. So the loss
is an estimate. An itemset that long baskets hold more often than others loses more, one that nearly all baskets hold
less.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.baskets import AskedReports, Plan
from assocpriv.plans.transition import ERRORS_OF_ONE, SupportModel, lowest_support
from assocpriv.promise.errors import EstimateError

FEW_REPORTS = 0.1  # of a standard error: where one report can change an estimate by more, few reports decide
WHOLE_BELOW = 0.25  # standard errors: a bias of so much leaves 94 of 100 intervals for 95 right
_MOST_RATIO = 0.9  # beyond it long baskets decide, of which nothing is known
_TERMS, _NEGLIGIBLE = 200, 1e-12


# ---- supports


@dataclass(frozen=True, slots=True)
class Respondents:
    """Who reported: how many reports N, the model of their operator, and of which itemsets they tell, if not of all."""

    n_reports: int
    model: SupportModel
    asked: AskedReports | None = None

    @classmethod
    def of(cls, plan: Plan, n_reports: int) -> "Respondents":
        """Return those of so many reports of a plan."""
        return cls(n_reports, SupportModel.of(plan.operator), AskedReports.of(plan))

    def reports_of(self, k: int) -> int:
        """Return how many reports tell of at least 99 of 100 itemsets of k items: what a size is judged by.

        All, where there are no blocks.
        """
        return self.n_reports if self.asked is None else self.asked.least(k, self.n_reports)

    def fewest_reports(self, k: int) -> int:
        """Return with how many reports an itemset of k items, not in too few blocks, may be judged with its size."""
        return self.n_reports if self.asked is None else max(1, self.asked.fewest(k, self.n_reports))


@dataclass(frozen=True, slots=True)
class SupportEstimates:
    """Estimates of many itemsets: raw (not clipped) supports and variances, arrays of shape (itemsets,).

    ``variance`` and ``population_variance`` are unbiased; ``least_variance`` is the least that is taken for true of
    what randomization adds: what a support of this size has by the plan alone, and where few reports decide, with one
    more of every kind. ``asked`` are the reports that tell of each itemset, N_A of all ``n_reports``; of an itemset
    that none tells of the support is NaN, its variance infinite.
    """

    support: NDArray[Any]
    variance: NDArray[Any]
    population_variance: NDArray[Any]
    least_variance: NDArray[np.float64]
    asked: NDArray[np.int64]
    n_reports: int

    def std_error(self, *, population: bool) -> NDArray[np.float64]:
        """Return standard errors, for the transactions at hand or for the population they were drawn from."""
        variance = self.population_variance if population else self.variance
        return np.sqrt(np.maximum(variance.astype(np.float64), self.least(self.support, population=population)))

    def least(self, support: NDArray[Any], *, population: bool) -> NDArray[np.float64]:
        """Return the least variance that is taken for true, what drawing people adds at these supports included."""
        added = sampling_variance(support, self.asked, None if population else self.n_reports)
        return np.where(self.asked > 0, self.least_variance + added, np.inf)


def sampling_variance(
    support: NDArray[Any], asked: "NDArray[np.int64] | int", n_reports: int | None = None
) -> NDArray[np.float64]:
    """Return s(1−s)/N_A, what drawing the people asked from a population adds; s(1−s)(1/N_A − 1/N) from N people."""
    share = np.clip(support.astype(np.float64), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if n_reports is None:
            return np.asarray(share * (1 - share) / asked)
        return np.asarray(share * (1 - share) * (1 / np.asarray(asked) - 1 / n_reports))


def estimate_supports(
    subset_sums: NDArray[np.int64], respondents: Respondents, *, exact: bool = False
) -> SupportEstimates:
    """Estimate supports of itemsets of one size.

    Args:
        subset_sums: C_0 … C_k of every itemset, int64 (itemsets, k + 1): C_j sums, over the subsets of j items, the
            number of reports showing all of them; C_0 is how many tell of the itemset, N where there are no blocks.
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
    sums, asked = subset_sums.astype(kind), subset_sums[:, 0]
    divisor = np.maximum(asked, 1).astype(object if exact else np.int64)
    support, square = (sums @ np.array(model.size_weights(k, power)).astype(kind) / divisor for power in (1, 2))
    by_chance = (square - support) / divisor  # what randomization adds
    # by the plan alone it is no less
    least = np.asarray(model.least_variance(k, np.clip(support.astype(np.float64), 0.0, 1.0)) / np.maximum(asked, 1))
    least = np.maximum(least, _with_one_more(subset_sums, model, by_chance.astype(np.float64), least))
    population = _for_population(by_chance, support, support**2, divisor)
    at_hand = _at_hand(by_chance, population, 1 - divisor / (Fraction(n_reports) if exact else n_reports))
    if not asked.all():
        support, at_hand, population, least = (
            np.where(asked > 0, values, unknown)
            for values, unknown in ((support, np.nan), (at_hand, np.inf), (population, np.inf), (least, np.inf))
        )
    return SupportEstimates(support, at_hand, population, least, asked, n_reports)


def _with_one_more(
    subset_sums: NDArray[np.int64], model: SupportModel, variance: NDArray[np.float64], least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the variance with one report more of every kind, as far as the others allow, where few reports decide."""
    asked, k = np.maximum(subset_sums[:, 0], 1), subset_sums.shape[1] - 1
    row = np.array([float(value) for value in model.row(k)])
    few = np.flatnonzero(float(np.abs(row).max()) > FEW_REPORTS * asked * np.sqrt(np.maximum(variance, least)))
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
        result[few] += weight / asked[few] ** 2 * np.clip(possible - seen[:, kind], 0.0, 1.0)
    return result


def foreseen_error(respondents: Respondents, k: int, support: float) -> float:
    """Return σ_k(s) by the plan alone: the standard error when no other transaction holds an item of A.

    The best case: whoever holds some of the items adds to it. With blocks, of itemsets that as many reports tell of as
    of 99 of 100. Infinite where nothing can be learned.
    """
    outside, inside, drawn = _foreseen_variances(respondents, k)
    if outside == math.inf:
        return math.inf
    return math.sqrt((1 - support) * outside + support * inside + support * (1 - support) * drawn)


def lowest_discoverable_support(respondents: Respondents, k: int, errors: float = ERRORS_OF_ONE) -> float:
    """Return the support s that is so many of its standard errors, s = zσ_k(s): LDS_k with four (EGS03, section 5).

    It is that of one itemset named beforehand; among many, some that nobody has exceed it (intervals.py). May exceed 1
    or be infinite: then nothing of this size can be discovered from these reports.
    """
    outside, inside, drawn = _foreseen_variances(respondents, k)
    if outside == math.inf:
        return math.inf
    scale = 1 + errors * errors * drawn  # s² = z²((1−s)·outside + s·inside + s(1−s)·drawn), as a square without it
    return float(lowest_support(outside / scale, (inside + drawn) / scale, 1, errors))


def _foreseen_variances(respondents: Respondents, k: int) -> tuple[float, float, float]:
    """Return Var ŝ at supports 0 and 1, and 1/N_A − 1/N, what s(1−s) counts where blocks choose whom to ask."""
    asked = respondents.reports_of(k)
    if not asked:
        return math.inf, math.inf, 0.0
    outside, inside = (variance / asked for variance in respondents.model.variances(k))
    return outside, inside, 1 / asked - 1 / respondents.n_reports


def _at_hand(by_chance: Any, population: Any, drawn: Any) -> Any:
    """Return w·R + (w − 1/N)·S, given w·R and w·(R + S); ``drawn`` is 1 − 1/(N·w), 0 without blocks."""
    with np.errstate(invalid="ignore"):  # of a single report: infinite
        return np.where(drawn != 0, by_chance + drawn * (population - by_chance), by_chance)


def _for_population(at_hand: Any, joint: Any, product: Any, n_reports: Any) -> Any:
    """Turn a covariance at hand into the population's: ŝ(A∪B) and ŝ(A)·ŝ(B) say what drawing transactions adds."""
    several = np.maximum(n_reports - 1, 1)
    return np.where(n_reports > 1, (n_reports * at_hand + joint - product) / several, np.inf)


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


@dataclass(frozen=True, slots=True)
class SubsetCounts:
    """What reports show of all subsets D of itemsets of k items, by mask, bit i being item i.

    Attributes:
        counts: c_D, how many reports that tell of all k items show all of D, int64 (itemsets, 2^k).
        asked: N_D, how many reports tell of D at all, int64 (itemsets, 2^k); the same for all D without blocks.
    """

    counts: NDArray[np.int64]
    asked: NDArray[np.int64]

    @classmethod
    def of_all(cls, counts: NDArray[np.int64]) -> "SubsetCounts":
        """Return counts in reports that all tell of every subset."""
        return cls(counts, np.broadcast_to(counts[:, :1], counts.shape))

    def among(self, chosen: NDArray[Any]) -> "SubsetCounts":
        """Return those of some of the itemsets."""
        return SubsetCounts(self.counts[chosen], self.asked[chosen])

    def sums(self, mask: int = -1) -> NDArray[np.int64]:
        """Return C_0 … C_j of a subset of every itemset, of all of it by default, int64 (itemsets, j + 1)."""
        return subset_sums(self.counts, mask % self.counts.shape[1])


def covariance(
    counted: SubsetCounts, respondents: Respondents, left: list[int], right: list[int], *, population: bool
) -> NDArray[np.float64]:
    """Estimate Cov(ŝ(A), ŝ(B)) for A, B within the same k items, over many sets of k items.

    Left and right say by 0 or 1 for each of the k items whether it is in A, and in B.
    """
    counts, n_reports = counted.counts, respondents.n_reports
    n = np.maximum(counts[:, 0], 1)

    def mean(*members: list[int]) -> NDArray[np.float64]:
        return np.asarray(counts @ np.array(respondents.model.moment_weights(*members), dtype=np.float64) / n)

    joint = mean([a | b for a, b in zip(left, right, strict=True)])
    by_chance = (mean(left, right) - joint) / n
    of_population = _for_population(by_chance, joint, mean(left) * mean(right), n)
    masks = mask_of(left), mask_of(right), mask_of(left) | mask_of(right)
    of_a, of_b, both = (np.maximum(counted.asked[:, mask], 1) for mask in masks)
    scale = both * n / (of_a * of_b)  # w·n, 1 without blocks
    if population:
        return np.asarray(scale * of_population)
    return np.asarray(_at_hand(scale * by_chance, scale * of_population, 1 - of_a * of_b / (both * n_reports)))


def mask_of(inside: Sequence[int]) -> int:
    """Return the mask of the items that a list of 0 and 1 says are in a set."""
    return sum(1 << i for i, member in enumerate(inside) if member)


def normal_quantile(confidence_level: float) -> float:
    """Return z with P(|Z| ≤ z) = confidence_level for a standard normal Z."""
    return NormalDist().inv_cdf((1 + confidence_level) / 2)


# ---- sampling loss


@dataclass(frozen=True, slots=True)
class SizesInBlocks:
    """P(|T| ≥ j) for j = 0 … M: how many entries of their block people hold, of the ``longest`` that a block has."""

    at_least: tuple[float, ...]
    longest: int

    @classmethod
    def of_dummies(cls, supports: NDArray[np.float64], longest: int) -> "SizesInBlocks":
        """Return the sizes, given the supports of the dummies 0 … M − 1; made to fall from 1 and to lie above 0.

        >>> SizesInBlocks.of_dummies(np.array([0.9, 0.5]), 9).at_least
        (1.0, 0.5, 0.1)
        """
        at_least = np.minimum.accumulate(np.clip(1 - supports[::-1], 0.0, 1.0))
        return cls((1.0, *np.round(at_least, 12).tolist()), longest)

    @property
    def full(self) -> float:
        """The share of people with M entries or more."""
        return self.at_least[-1]

    def lost_share(self, k: int) -> float:
        """Return what an itemset of k entries loses on average, as a share of its support as reported.

        >>> SizesInBlocks((1.0, 0.5, 0.1), 9).lost_share(1)
        0.0137...
        """
        m, at_least = len(self.at_least) - 1, [*self.at_least, *self._beyond()]
        exactly = [(one - other, j) for j, (one, other) in enumerate(pairwise([*at_least, 0.0]))]
        kept = sum(share * comb(min(j, m), k) for share, j in exactly)
        lost = sum(share * (comb(j, k) - comb(m, k)) for share, j in exactly[m + 1 :])
        return lost / kept if kept else 0.0

    def _beyond(self) -> list[float]:
        """Return P(|T| ≥ j) for j = M + 1, … as it is taken to be."""
        known = [1.0, *self.at_least][-3:]
        ratios = [after / before if before else 0.0 for before, after in pairwise(known)]
        slower = min(ratios[1] / ratios[0], 1.0) if ratios[0] else 0.0
        beyond, ratio = [self.full], min(ratios[1], _MOST_RATIO)
        most = min(self.longest - (len(self.at_least) - 1), _TERMS)
        while len(beyond) <= most and beyond[-1] > _NEGLIGIBLE:
            ratio *= slower
            beyond.append(beyond[-1] * ratio)
        return beyond[1:]

    def lost(self, supports: NDArray[Any], k: int) -> NDArray[np.float64]:
        """Return what supports of itemsets of k entries may have lost, float64 (itemsets,)."""
        return self.lost_share(k) * np.maximum(supports.astype(np.float64), 0.0)
