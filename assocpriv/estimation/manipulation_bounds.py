"""Manipulated reports: tails of tests for them, and how far they move estimates. It follows from the plan alone.

**Effect on estimates.** A single report cannot be checked, and a manipulated one weighs
more than an honest one. With q the values that a report can add to N·ŝ of an itemset of k items
(plans/baskets/operator.py):

    one report replaced      moves ŝ by at most (max q − min q) / N
    one report added         by (q_l − ŝ) / (N + 1)
    a share f replaced       by f·(q_l − s) on average, s the support among the people replaced

A person with R reports moves ŝ R times as far. Honestly randomizing a false basket moves ŝ by at most 1/N on average,
so manipulating the report gains the factor max q.

**Targets of one report.** With a code, an item is present if r linear functions of the seed, read as a number, are
below a. Any ``Generator.independent_items(r)`` items can be given any pattern. The functions have no constant term, so
the seed 0 shows *all* items. A report of ones without a code does, too. A report of a fixed size shows ℓ items. Items
whose functions have rank h are all shown by at least 2^(s−h) of the 2^s seeds, so manipulated reports with the same
targets need not be copies of each other.

Source: Boucheron, Lugosi, Massart, Concentration Inequalities, 2013, chapter 2 (Bernstein, Chernoff's bound); the rest
is ours.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import FixedSizeOperator, SupportModel
from assocpriv.plans.baskets.report_type import ReportType

FALSE_ALARM = 1e-3  # false-alarm rate of all tests together, whatever the honest people's baskets
_PERCENT = Fraction(1, 100)


# ---- tails


def bernstein(excess: float, variance: float, bound: float, n_reports: int) -> float:
    """Return the logarithm of a bound of P(the mean of N independent terms exceeds its expectation by ``excess``).

    A term has at most this variance and exceeds its mean by at most ``bound``.
    """
    return -n_reports * excess**2 / (2 * (variance + bound * excess / 3)) if excess > 0 else 0.0


def bernsteins(excess: NDArray[np.float64], variance: float, bound: float, n_reports: int) -> NDArray[np.float64]:
    """Return :func:`bernstein` of an array of excesses."""
    above = np.maximum(excess, 0.0)
    return np.asarray(-n_reports * above**2 / (2 * (variance + bound * above / 3)))


def log_share_probability(count: int, total: int, share: Fraction) -> float:
    """Return the logarithm of twice the smaller tail of Bin(N, φ) from a count on, at most 0.

    >>> round(math.exp(log_share_probability(8, 8, Fraction(1, 2))), 5)
    0.00781
    """
    from scipy.stats import binom

    binomial = binom(total, float(share))
    return min(0.0, math.log(2) + float(min(binomial.logcdf(count), binomial.logsf(count - 1))))


def log_tail_bound(count: int, expected: float) -> float:
    """Return the logarithm of a bound of P(``count`` or more) for independent events with the mean ``expected``."""
    if count <= expected:
        return 0.0
    return count - expected - count * math.log(count / expected) if expected else -math.inf


# ---- influence on estimates


@dataclass(frozen=True, slots=True)
class Influence:
    """Influence of a report on the estimate of an itemset of one size: min q and max q."""

    least: Fraction
    largest: Fraction

    def one_report(self, n_reports: int) -> Fraction:
        """Return the largest change, up or down, by replacing one of N reports."""
        return (self.largest - self.least) / n_reports

    def share_of_reports(self, share: Fraction, support: Fraction = Fraction(0)) -> tuple[Fraction, Fraction]:
        """Return the average changes, down and up, by replacing a share f of the reports, of people of this support.

        >>> Influence(Fraction(-1), Fraction(3)).share_of_reports(Fraction(1, 100), Fraction(1, 4))
        (Fraction(-1, 80), Fraction(11, 400))
        """
        return share * (self.least - support), share * (self.largest - support)


def influence_of(plan: Plan, k: int) -> Influence | None:
    """Return the influence of reports on itemsets of k items, or None if the plan does not estimate this size."""
    if k > plan.items.transaction_size:
        return None
    try:
        values = SupportModel(plan.items.operator).row(k)
    except EstimateError:
        return None
    return Influence(min(values), max(values))


def max_targets(plan: Plan) -> int:
    """Return how many real items one manipulated report can show at once."""
    return min(plan.n_items, fixed_report_size(plan.items) or plan.n_items)


@dataclass(frozen=True, slots=True)
class ManipulationLimits:
    """Changes of a support: the largest by one report or one person, and the average by 1% of reports, down and up."""

    one_report: float
    one_person: float
    one_percent: tuple[float, float]


def bound_manipulation(plan: Plan, reports: int) -> dict[int, ManipulationLimits | None]:
    """Return how far manipulated reports among N move estimates, by itemset size; None if nothing is estimated."""
    limits: dict[int, ManipulationLimits | None] = {}
    for k in range(1, plan.items.itemset_size + 1):
        influence, limits[k] = influence_of(plan, k), None
        if influence is not None and reports:
            responses = max(1, round(reports * plan.share(plan.items)))
            one, (down, up) = influence.one_report(responses), influence.share_of_reports(_PERCENT)
            limits[k] = ManipulationLimits(float(one), float(one * plan.reports_per_person), (float(down), float(up)))
    return limits


def fixed_report_size(report_type: ReportType) -> int | None:
    """Return ℓ, the number of items that every report shows, or None if it varies."""
    return report_type.operator.report_size if isinstance(report_type.operator, FixedSizeOperator) else None
