"""What a plan's reports are expected to tell of whole baskets, before there are any.

Of a transaction of c > M items a k-itemset survives the sampling with probability κ(c) = C(M,k)/C(c,k), so with P(c)
the law of sizes and w(c) = C(c,k)^β, β = k^−.6, how the chance to hold a wanted itemset grows with size,

    F = Σ P(c) w(c) / Σ P(c) w(c) κ(c)

is what its estimate is multiplied by (server/size_law.py). The relative squared error of its support s is then

    r = F² (V + s) / (N s²) + τ² + (.04 (1 − 1/F))²,      τ = (F(β+⅕) − F(β−⅕)) / 2F,

V the operator's variance for one of N reports at the support that is left, τ what undoing the sampling leaves wrong:
chances grow otherwise than by β. Its ⅕ was chosen on the tuning half of the accuracy bench, with it the chosen M does
best there. Of several itemsets the error r is the one for which r/(1+r), what is left of a prior that is as wide as the
support, is their weighted mean: where larger itemsets are beyond all hope, the others decide.

What is told is told of usual itemsets: single items in 5% of baskets, pairs in 3%, triples in 2%, others holding each
item with 5%. Where the average item is in more than 5%, as in short catalogues, all of that is as many times more, ten
at most. Where next to nothing could be told of these, it is told of pairs and larger ones twice as frequent, four times
…: single items stay, as they are what is found where little is.

How large baskets are nobody's reports tell beforehand. Usual are negative binomial sizes of shape 1.5, of mean 6
where no other is known.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.planning.designs import MeanVariance, held_law
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.errors import PlanError
from assocpriv.server.size_law import holding_ways, kept_shares

if TYPE_CHECKING:
    from assocpriv.plans.question import Question

Floats = NDArray[np.float64]
USUAL_MEAN, MOST_MEAN, _SHAPE = 6.0, 1000.0, 1.5
_MOST_SIZE = 1 << 12
_SLOPE_ERROR, _UNDONE = 1 / 5, 0.04
_SUPPORTS, _FALL = (0.05, 0.03), 2 / 3  # of items, of pairs, and from each size on to the next
_OTHERS = 0.05
_IMPORTANCE = 0.5  # of triples beside pairs, of sets of four beside triples …
_LARGER, _MOST_FREQUENT = (2.0, 4.0, 8.0), 10.0  # times as frequent as usual
_HOPELESS = 1.0  # expected error from which on larger supports are looked at
# designs of operators of one M: at the supports that sampling leaves of the wanted ones, triples count little
_LEFT, _DESIGN_WEIGHT = (0.03, 0.02, 0.015), 0.1


def wanted_support(k: int, scale: float = 1.0) -> float:
    """Return the usual support in whole baskets of an itemset of k items that is wanted, larger ones ``scale`` times.

    >>> [round(wanted_support(k), 4) for k in (1, 2, 3)]
    [0.05, 0.03, 0.02]
    """
    return _SUPPORTS[0] if k == 1 else scale * _SUPPORTS[1] * _FALL ** (k - 2)


def design_objective(largest: int, frequency: float) -> MeanVariance:
    """Return what makes a good operator for itemsets of up to ``largest`` items, for baskets of any one M."""
    sizes = range(1, largest + 1)
    left = (_LEFT[k - 1] if k <= len(_LEFT) else _LEFT[-1] * _FALL ** (k - len(_LEFT)) for k in sizes)
    weights = tuple(_DESIGN_WEIGHT ** max(k - 2, 0) for k in sizes)
    return MeanVariance(tuple(support * frequency for support in left), weights, _OTHERS * frequency)


@dataclass(frozen=True)
class Sizes:
    """A law of the sizes of baskets: ``shares`` of 0, 1, … items, float64 (S,), sum 1; ``source`` says whence it is."""

    shares: Floats
    source: str

    @classmethod
    def usual(cls, n_items: int, mean: float | None = None) -> "Sizes":
        """Return the usual law with a mean, 6 items if none is known, of baskets of at most so many items.

        Raises:
            PlanError: a mean that no baskets of so many items have.
        """
        known = min(USUAL_MEAN, n_items / 2) if mean is None else mean
        if not 0 < known <= min(MOST_MEAN, n_items):
            raise PlanError(
                f"the mean size of baskets must lie above 0 and be at most {min(int(MOST_MEAN), n_items):,} items "
                f"(different ones on a receipt, on average), got {known:g}"
            )
        most = min(n_items, _MOST_SIZE, 20 + math.ceil(30 * known))
        sizes = np.arange(1.0, most + 1)
        ratios = (sizes - 1 + _SHAPE) / sizes * (known / (known + _SHAPE))
        shares = np.cumprod(np.append((_SHAPE / (known + _SHAPE)) ** _SHAPE, ratios))
        shares[-1] += max(1 - float(shares.sum()), 0.0)
        return cls(shares, "usual" if mean is None else "mean")

    @classmethod
    def of_sample(cls, counts: Mapping[int, int]) -> "Sizes":
        """Return the law of a sample: how many of its baskets have each size.

        Raises:
            PlanError: no basket, or none that holds anything.
        """
        if not any(count for size, count in counts.items() if size > 0):
            raise PlanError("a sample of baskets to plan for must hold some that are not empty")
        shares = np.bincount(np.minimum(list(counts), _MOST_SIZE), list(counts.values()))
        return cls(shares / shares.sum(), "sample")

    @cached_property
    def mean(self) -> float:
        """Mean size."""
        return float(self.shares @ np.arange(len(self.shares)))

    def frequency(self, n_items: int) -> float:
        """Return how many times as frequent as usual itemsets of so many items are: as the average item is above 5%."""
        return min(max(1.0, round(self.mean / (_OTHERS * n_items), 2)), _MOST_FREQUENT)

    def thinned(self, share: float) -> "Sizes":
        """Return the law of how many items are left where each stays with this chance."""
        sizes, law = np.arange(len(self.shares)), np.zeros(len(self.shares))
        left = np.append(1.0, np.zeros(len(self.shares) - 1))  # of baskets of c items, c = 0, 1, …
        for c in sizes.tolist():
            law += self.shares[c] * left
            left = (1 - share) * left + share * np.append(0.0, left[:-1])
        return Sizes(law, self.source)

    def undoing(self, m: int, k: int) -> tuple[float, float]:
        """Return F and τ for itemsets of k items after sampling to m of them."""
        sizes = np.arange(len(self.shares))
        kept = kept_shares(sizes, m, k)
        factors, error = [], min(_SLOPE_ERROR, k**-0.6 / 2)
        for slope in (0.0, -error, error):
            held = self.shares * holding_ways(sizes, k, slope)
            left = float(held @ kept)
            factors.append(float(held.sum()) / left if left > 0 else 1.0)
        return factors[0], (factors[2] - factors[1]) / (2 * factors[0])


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """What is expected of the support of one itemset of k items, in whole baskets, from all reports.

    ``support`` is the one it is told for; ``noise`` its standard error, F times that within sampled items; ``undoing``
    is what undoing the sampling may add; ``factor`` is F.
    """

    support: float
    noise: float
    undoing: float
    factor: float

    @property
    def total(self) -> float:
        """Root of the mean squared error."""
        return math.hypot(self.noise, self.undoing)

    @property
    def relative(self) -> float:
        """The same, as a share of the support."""
        return self.total / self.support


def expected_errors(question: "Question", sizes: Sizes, reports: float, largest: int) -> dict[int, ExpectedError]:
    """Return by itemset size the expected error of a usual itemset, from so many answers to a question about items.

    Raises:
        EstimateError: the operator tells nothing of itemsets of some size.
    """
    for scale in _scales(sizes.frequency(question.n_items)):
        found = {k: expected_error(question, sizes, reports, k, scale) for k in range(1, largest + 1)}
        if overall([np.array([each.relative**2]) for each in found.values()])[0] <= _HOPELESS:
            break
    return found


def expected_error(question: "Question", sizes: Sizes, reports: float, k: int, scale: float = 1.0) -> ExpectedError:
    """Return the expected error of a k-itemset, one of several items ``scale`` times as frequent as usual."""
    factor, spread = sizes.undoing(question.transaction_size, k)
    frequency = sizes.frequency(question.n_items)
    support = wanted_support(k, scale) * frequency
    noise = factor * math.sqrt(variance(question, k, support / factor, _OTHERS * frequency) / reports)
    return ExpectedError(support, noise, support * math.sqrt(_wrong(factor, spread)), factor)


def _wrong(factor: Any, spread: Any) -> Any:
    """Return the relative squared error that undoing the sampling leaves, by F and τ; arrays work elementwise."""
    return spread**2 + (_UNDONE * (1 - 1 / factor)) ** 2


def overall(relative: Sequence[Floats]) -> Floats:
    """Return the relative error of many designs, by relative squared errors of itemsets of 1, 2, … items."""
    weights = [_IMPORTANCE ** max(k - 1, 0) for k in range(len(relative))]
    total = sum(weight * each / (1 + each) for weight, each in zip(weights, relative, strict=True))
    left = total / sum(weights)
    result: Floats = np.sqrt(left / np.maximum(1 - left, 1e-12))
    return result


def variance(question: "Question", k: int, support: float, others: float = _OTHERS) -> float:
    """Return N Var ŝ for the population, at a support within sampled items, others holding each item with a chance."""
    model = SupportModel.of(question.operator)
    moments = (float(model.second_moment(k, held)) for held in range(k + 1))
    return (
        sum(chance * moment for chance, moment in zip(held_law(k, support, others), moments, strict=True)) - support**2
    )


def design_errors(
    sizes: Sizes, reports: float, frequency: float, transaction_sizes: NDArray[np.int64], moments: Floats
) -> Floats:
    """Return the expected error of many designs, a share of the supports.

    Args:
        sizes: of baskets.
        reports: answers about items.
        frequency: how many times as frequent as usual the itemsets are that moments are of.
        transaction_sizes: M of each design, int64 (designs,).
        moments: E[Z²] by k, as :func:`design_objective` wants them, float64 (designs, largest).
    """
    largest = range(1, moments.shape[1] + 1)
    undoing = {m: [sizes.undoing(m, k) for k in largest] for m in set(transaction_sizes.tolist())}
    factors, spreads = np.array([undoing[m] for m in transaction_sizes.tolist()]).transpose(2, 1, 0)
    for scale in _scales(frequency):
        supports = np.array([wanted_support(k, scale) for k in largest])[:, None] * frequency
        errors = overall(list(factors**2 * moments.T / (reports * supports**2) + _wrong(factors, spreads)))
        if errors.min() <= _HOPELESS:
            break
    return errors


def _scales(frequency: float) -> list[float]:
    """Return how many times as frequent itemsets of several items are looked at, one after the other."""
    return [1.0, *(scale for scale in _LARGER if scale * frequency <= _MOST_FREQUENT)]
