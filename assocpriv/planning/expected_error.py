"""Expected errors of supports in whole baskets, before there are any reports.

A k-itemset of a transaction of c > M items survives truncation with probability κ(c) = C(M,k)/C(c,k). Let P(c) be the
basket-size distribution, and w(c) = C(c,k)^β, β = k^−.6, the growth with basket size of the probability to hold a
relevant itemset. The truncation correction multiplies the estimate by (estimation/size_distribution.py)

    F = Σ P(c) w(c) / Σ P(c) w(c) κ(c).

The relative squared error of its support s is then

    r = F² (V + s) / (N s²) + τ² + (.04 (1 − 1/F))²,      τ = (F(β+⅕) − F(β−⅕)) / 2F.

V is the operator's variance for one of N reports at the support after truncation. τ is the error of the truncation
correction if probabilities grow with another exponent than β. Its ⅕ was chosen on the tuning half of the accuracy
bench, where it gives the best M. The joint error r of several itemsets is the one for which r/(1+r), the remaining part
of a prior as wide as the support, is their weighted mean. So if larger itemsets are out of reach, the others decide.

Errors are stated for reference itemsets: single items in 5% of baskets, pairs in 3%, triples in 2%, while other baskets
hold each item with probability 5%. If the average item is in more than 5% of baskets, as in short catalogues, all these
are multiplied accordingly, by at most 10. If the error would be too large, it is stated for pairs and larger itemsets
of twice the reference support, four times … Single items are not scaled, as they are what is found in that case.

Basket sizes are unknown beforehand. The default is a negative binomial distribution of shape 1.5, with mean 6 if no
other is given.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.size_distribution import SizeDistribution, holding_growth, keep_probabilities
from assocpriv.guarantees.errors import PlanError
from assocpriv.planning.operator_designs import MeanVariance, held_distribution
from assocpriv.plans.baskets.operator import SupportModel

if TYPE_CHECKING:
    from assocpriv.plans.baskets.report_type import ReportType


Floats = NDArray[np.float64]
DEFAULT_MEAN, MOST_MEAN, _SHAPE = 6.0, 1000.0, 1.5
_MOST_SIZE = 1 << 12
_SLOPE_ERROR, _CORRECTION_ERROR = 1 / 5, 0.04
_SUPPORTS, _FALL = (0.05, 0.03), 2 / 3  # of items and pairs, and the ratio from each size to the next
_ITEM_SUPPORT = 0.05  # of each item in baskets without the whole itemset
_IMPORTANCE = 0.5  # of triples relative to pairs, of sets of four relative to triples …
_LARGER, _MOST_FREQUENT = (2.0, 4.0, 8.0), 10.0  # multiples of reference supports
_TOO_LARGE = 1.0  # relative expected error from which on larger supports are considered
# operator designs for one M use reference supports after truncation; triples have little weight
_TRUNCATED_SUPPORTS, _DESIGN_WEIGHT = (0.03, 0.02, 0.015), 0.1


def reference_support(k: int, scale: float = 1.0) -> float:
    """Return the reference support in whole baskets of an itemset of k items, times ``scale`` for k > 1.

    >>> [round(reference_support(k), 4) for k in (1, 2, 3)]
    [0.05, 0.03, 0.02]
    """
    return _SUPPORTS[0] if k == 1 else scale * _SUPPORTS[1] * _FALL ** (k - 2)


def design_objective(largest: int, frequency: float) -> MeanVariance:
    """Return the objective of operators for itemsets of up to ``largest`` items and any single M."""
    known, sizes = _TRUNCATED_SUPPORTS, range(1, largest + 1)
    supports = (known[k - 1] if k <= len(known) else known[-1] * _FALL ** (k - len(known)) for k in sizes)
    weights = tuple(_DESIGN_WEIGHT ** max(k - 2, 0) for k in sizes)
    return MeanVariance(tuple(support * frequency for support in supports), weights, _ITEM_SUPPORT * frequency)


@dataclass(frozen=True)
class BasketSizes:
    """A basket-size distribution: the ``shares`` of 0, 1, … items, float64 (S,), with sum 1, and their ``source``."""

    shares: Floats
    source: str

    @classmethod
    def from_mean(cls, n_items: int, mean: float | None = None) -> "BasketSizes":
        """Return the negative binomial distribution with a mean, by default 6 items, for a number of items.

        Raises:
            PlanError: the mean is not above 0, or exceeds the number of items.
        """
        known = min(DEFAULT_MEAN, n_items / 2) if mean is None else mean
        if not 0 < known <= min(MOST_MEAN, n_items):
            raise PlanError(
                f"mean_size, the average number of different items in a basket, must be above 0 and at most "
                f"{min(int(MOST_MEAN), n_items):,}, got {known:g}"
            )
        most = min(n_items, _MOST_SIZE, 20 + math.ceil(30 * known))
        sizes = np.arange(1.0, most + 1)
        ratios = (sizes - 1 + _SHAPE) / sizes * (known / (known + _SHAPE))
        shares = np.cumprod(np.append((_SHAPE / (known + _SHAPE)) ** _SHAPE, ratios))
        shares[-1] += max(1 - float(shares.sum()), 0.0)
        return cls(shares, "default" if mean is None else "mean")

    @classmethod
    def from_sample(cls, counts: Mapping[int, int]) -> "BasketSizes":
        """Return the distribution of a sample, given its number of baskets by size.

        Raises:
            PlanError: the sample has no basket with an item.
        """
        if not any(count for size, count in counts.items() if size > 0):
            raise PlanError("a sample of baskets must have at least one that is not empty")
        shares = np.bincount(np.minimum(list(counts), _MOST_SIZE), list(counts.values()))
        return cls(shares / shares.sum(), "sample")

    @classmethod
    def from_reports(cls, learned: SizeDistribution) -> "BasketSizes":
        """Return the distribution that reports estimate."""
        found = np.bincount(np.minimum(learned.sizes, _MOST_SIZE), learned.shares)
        return cls(found / found.sum(), "reports")

    @cached_property
    def mean(self) -> float:
        """Mean size."""
        return float(self.shares @ np.arange(len(self.shares)))

    def frequency(self, n_items: int) -> float:
        """Return the multiple of reference supports for a catalogue: the average item's support over 5%, in 1..10."""
        return min(max(1.0, round(self.mean / (_ITEM_SUPPORT * n_items), 2)), _MOST_FREQUENT)

    def thinned(self, share: float) -> "BasketSizes":
        """Return the distribution of the number of items that remain if each does with this probability."""
        thinned = np.zeros(len(self.shares))
        left = np.append(1.0, np.zeros(len(self.shares) - 1))  # of baskets of c items, c = 0, 1, …
        for c in range(len(self.shares)):
            thinned += self.shares[c] * left
            left = (1 - share) * left + share * np.append(0.0, left[:-1])
        return BasketSizes(thinned, self.source)

    def truncation(self, m: int, k: int) -> tuple[float, float]:
        """Return F and τ for itemsets of k items after truncation to m items."""
        sizes = np.arange(len(self.shares))
        kept = keep_probabilities(sizes, m, k)
        factors, error = [], min(_SLOPE_ERROR, k**-0.6 / 2)
        for slope in (0.0, -error, error):
            held = self.shares * holding_growth(sizes, k, slope)
            left = float(held @ kept)
            factors.append(float(held.sum()) / left if left > 0 else 1.0)
        return factors[0], (factors[2] - factors[1]) / (2 * factors[0])


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The expected error of one itemset's support in whole baskets.

    Attributes:
        support: the reference support.
        noise: standard error from randomization: F times that within sampled items.
        truncation: standard error of the truncation correction.
        factor: F.
    """

    support: float
    noise: float
    truncation: float
    factor: float

    @property
    def total(self) -> float:
        """Root mean squared error."""
        return math.hypot(self.noise, self.truncation)

    @property
    def relative(self) -> float:
        """Root mean squared error relative to the support."""
        return self.total / self.support


def expected_errors(
    report_type: "ReportType", sizes: BasketSizes, reports: float, largest: int
) -> dict[int, ExpectedError]:
    """Return the expected error of a reference itemset by size, for a number of responses about items.

    Raises:
        EstimateError: the operator carries no information about itemsets of some size.
    """
    for scale in _scales(sizes.frequency(report_type.n_items)):
        errors = {k: expected_error(report_type, sizes, reports, k, scale) for k in range(1, largest + 1)}
        if overall_error([np.array([each.relative**2]) for each in errors.values()])[0] <= _TOO_LARGE:
            break
    return errors


def expected_error(
    report_type: "ReportType", sizes: BasketSizes, reports: float, k: int, scale: float = 1.0
) -> ExpectedError:
    """Return the expected error of a k-itemset at its reference support, times ``scale`` for k > 1."""
    factor, spread = sizes.truncation(report_type.transaction_size, k)
    frequency = sizes.frequency(report_type.n_items)
    support = reference_support(k, scale) * frequency
    noise = factor * math.sqrt(variance(report_type, k, support / factor, _ITEM_SUPPORT * frequency) / reports)
    return ExpectedError(support, noise, support * math.sqrt(_correction_error(factor, spread)), factor)


def _correction_error(factor: Any, spread: Any) -> Any:
    """Return the relative squared error of the truncation correction from F and τ; arrays work elementwise."""
    return spread**2 + (_CORRECTION_ERROR * (1 - 1 / factor)) ** 2


def overall_error(relative: Sequence[Floats]) -> Floats:
    """Return the relative error of many designs, from relative squared errors of itemsets of 1, 2, … items."""
    weights = [_IMPORTANCE ** max(k - 1, 0) for k in range(len(relative))]
    total = sum(weight * each / (1 + each) for weight, each in zip(weights, relative, strict=True))
    left = total / sum(weights)
    return np.sqrt(left / np.maximum(1 - left, 1e-12))


def variance(report_type: "ReportType", k: int, support: float, item_support: float = _ITEM_SUPPORT) -> float:
    """Return N Var ŝ for the population at a support within sampled items; ``item_support`` is for other baskets."""
    model = SupportModel(report_type.operator)
    moments = (float(model.second_moment(k, held)) for held in range(k + 1))
    held = held_distribution(k, support, item_support)
    return sum(probability * moment for probability, moment in zip(held, moments, strict=True)) - support**2


def design_errors(
    sizes: BasketSizes, reports: float, frequency: float, transaction_sizes: NDArray[np.int64], moments: Floats
) -> Floats:
    """Return the expected error of many designs, relative to the supports.

    Args:
        sizes: basket-size distribution.
        reports: number of responses about items.
        frequency: multiple of reference supports for which moments are given.
        transaction_sizes: M of each design, int64 (designs,).
        moments: E[Z²] by k for :func:`design_objective`, float64 (designs, largest).
    """
    largest = range(1, moments.shape[1] + 1)
    truncation = {m: [sizes.truncation(m, k) for k in largest] for m in set(transaction_sizes.tolist())}
    factors, spreads = np.array([truncation[m] for m in transaction_sizes.tolist()]).transpose(2, 1, 0)
    for scale in _scales(frequency):
        supports = np.array([reference_support(k, scale) for k in largest])[:, None] * frequency
        noise = factors**2 * moments.T / (reports * supports**2)
        errors = overall_error(list(noise + _correction_error(factors, spreads)))
        if errors.min() <= _TOO_LARGE:
            break
    return errors


def _scales(frequency: float) -> list[float]:
    """Return the multiples of reference supports to consider, in order."""
    return [1.0, *(scale for scale in _LARGER if scale * frequency <= _MOST_FREQUENT)]
