"""What several rounds of reports say of itemsets: estimates by round, which of them may be published, one ranking.

An estimate is a support with the variance of its error, the bias that undoing the sampling may leave included. Two
estimates of the same support from different people are averaged, each weighted by the inverse of its variance.

What is asked about in a later round was chosen because earlier estimates of it came out high: of thousands of noisy
items the largest are mostly noise. The average of all rounds ranks, after shrinking, which allows for that
(shrinking.py). Published is what is unbiased given the choice (:func:`after_choice`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Itemset = tuple[int, ...]
Floats = NDArray[np.float64]
LEAST_VARIANCE = 1e-10  # a variance is never taken for zero
_FAR = 8.0  # standard deviations: beyond, the tail of a normal law is taken by its asymptote


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of a support: what is published of it, and what is to be expected.

    ``support`` is published, with ``variance`` that of its error, what undoing the sampling may have left included.
    ``expected`` is the mean after shrinking, which ranks; ``spread`` the variance of the true support around that.
    ``modes`` is how the true support is distributed: (probability, mean, variance) of normal parts, none of it
    beyond ``most``.
    """

    support: float
    variance: float
    expected: float
    spread: float
    modes: tuple[tuple[float, float, float], ...] = ()
    most: float = 1.0

    def chance(self, least: float) -> float:
        """Return the probability that the true support is ``least`` or more."""
        if least > self.most:
            return 0.0
        modes = self.modes or ((1.0, self.expected, self.spread),)
        return sum(
            p * math.erfc((least - mean) / math.sqrt(2 * max(var, LEAST_VARIANCE))) / 2 for p, mean, var in modes
        )


Knowledge = dict[Itemset, Estimate]


class Average(NamedTuple):
    """An average of estimates of one support: the variance of its noise, and the bias that is to be expected in it.

    ``change`` is all that undoing the sampling changed: it may be wrong by so much.
    """

    support: float
    variance: float
    bias: float = 0.0
    change: float = 0.0

    @property
    def error(self) -> float:
        """The mean squared error that is to be expected."""
        return self.variance + self.bias**2


def measured(support: float, variance: float) -> Estimate:
    """Return an estimate that nothing else is known about.

    >>> measured(0.25, 0.5).expected
    0.25
    """
    return Estimate(support, variance, support, variance)


def as_knowledge(itemsets: Sequence[Itemset], supports: Floats, variances: Floats) -> Knowledge:
    """Return what was measured of itemsets, float64 (itemsets,) each."""
    values = zip(itemsets, supports.tolist(), variances.tolist(), strict=True)
    return {itemset: measured(support, variance) for itemset, support, variance in values}


def average(estimates: Sequence[Average]) -> Average:
    """Return the average of estimates of one support, weighted by the inverse of their expected errors.

    Noise averages out, the bias does not: one model has corrected all of them.

    >>> average([Average(0.25, 1.0), Average(0.75, 1.0)])
    Average(support=0.5, variance=0.5, bias=0.0, change=0.0)
    """
    weights = [1 / max(each.error, LEAST_VARIANCE) for each in estimates]
    shares = [weight / sum(weights) for weight in weights]
    return Average(
        sum(share * each.support for share, each in zip(shares, estimates, strict=True)),
        sum(share**2 * each.variance for share, each in zip(shares, estimates, strict=True)),
        sum(share * each.bias for share, each in zip(shares, estimates, strict=True)),
        sum(share * each.change for share, each in zip(shares, estimates, strict=True)),
    )


def ranked(knowledge: Knowledge, count: int) -> list[Itemset]:
    """Return the ``count`` itemsets expected to be the most frequent, of equals the smaller and first ones."""
    return sorted(knowledge, key=lambda itemset: (-knowledge[itemset].expected, len(itemset), itemset))[:count]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured, by itemset: ``all``, the average of all rounds, and ``fresh``, of what may be published.

    The fresh estimate is of people who were asked after the itemset had been chosen; earlier ones count as far as the
    choice tells nothing of them (:func:`after_choice`).
    """

    all: dict[Itemset, Average]
    fresh: dict[Itemset, Average]

    def joined(self, itemsets: Sequence[Itemset], estimates: Sequence[Average], cuts: Sequence[float]) -> "Evidence":
        """Return the evidence with a round's estimates of itemsets, chosen by estimates above these cuts."""
        every, fresh = dict(self.all), dict(self.fresh)
        for itemset, now, cut in zip(itemsets, estimates, cuts, strict=True):
            every[itemset] = average([every[itemset], now]) if itemset in every else now
            fresh[itemset] = after_choice(fresh[itemset], now, cut) if itemset in fresh else now
        return Evidence(every, fresh)


def after_choice(before: Average, now: Average, cut: float) -> Average:
    """Return an estimate that is unbiased given that the earlier one of two lay above a cut, and its variance.

    It is the mean of the later one given the average of both and the choice: the average, where the earlier one lies
    far above the cut, and hardly more than the later one near it. No other estimate that is unbiased given the choice
    has a smaller variance. Where the earlier one lies below the cut something else was chosen by, and the later one is
    left; so it is with a cut of infinity.

    Source: Cohen and Sackrowitz, Two stage conditionally unbiased estimators of the selected mean, 1989.

    >>> before, now = Average(0.5, 1.0), Average(0.25, 1.0)
    >>> [round(after_choice(before, now, cut).support, 3) for cut in (-math.inf, 0.5, math.inf)]
    [0.375, -0.271, 0.25]
    """
    if cut > before.support:
        return now
    mean = average([before, now])
    if cut == -math.inf:
        return mean
    earlier, later = max(before.error, LEAST_VARIANCE), max(now.error, LEAST_VARIANCE)
    both = math.sqrt(earlier + later)
    w = (mean.support - cut) * both / earlier
    ratio = _density_over_tail(w)
    slope = 1 + later / earlier * ratio * (w + ratio)
    variance = min(mean.variance * slope**2, max(now.variance, mean.variance))
    bias, change = max(mean.bias, now.bias), max(mean.change, now.change)
    return Average(mean.support - later / both * ratio, variance, bias, change)


def _density_over_tail(w: float) -> float:
    """Return φ(w)/Φ(w) of the standard normal law."""
    if w < -_FAR:
        return -w - 1 / w
    return math.exp(-w * w / 2) / math.sqrt(2 * math.pi) / (math.erfc(-w / math.sqrt(2)) / 2)
