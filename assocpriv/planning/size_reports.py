"""The report type about basket sizes that is added to one about at most M items: its classes, operator and share.

Padding items in reports about items estimate how many baskets hold fewer than M items, with the same error as for
items. They give no information on longer baskets, which are truncated. So the size classes begin at M
(estimation/size_distribution.py defines them). The share is small, because these reports do not help to estimate items:
2,000 people suffice for the basket-size distribution, with a share of at most 5% and at least 1%.

For one of B classes and the padding item, the best operators within γ report ℓ of the B + 1 entries (subset selection,
Ye and Barg 2018); ℓ = 1 is generalized randomized response.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from assocpriv.estimation.manipulation_bounds import FALSE_ALARM, log_share_probability
from assocpriv.estimation.size_distribution import fit_size_distribution, size_classes
from assocpriv.planning.expected_error import BasketSizes
from assocpriv.planning.operator_designs import Floats, WorstSupport, fixed_size_family, runs
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.plans.baskets.sizes_view import SizesView
from assocpriv.plans.numeric.transition import SupportModel

if TYPE_CHECKING:
    from assocpriv.plans.baskets.basket_plan import Plan

_PEOPLE, _LEAST_SHARE, _MOST_SHARE = 2000, Fraction(1, 100), Fraction(1, 20)
_PARTS = 1000  # shares are multiples of 1/1000
_MANIPULATED_SHARES = (0.001, 0.01)
_Z_THOUSANDTH = 3.1  # standard errors, exceeded with probability 1/1000
_TESTS = 20  # approximate number of tests that share one false-alarm rate


def sizes_share(reports: int) -> Fraction:
    """Return the share of people who report on basket sizes, a multiple of 1/1000.

    >>> str(sizes_share(100_000)), str(sizes_share(100))
    ('1/50', '1/20')
    """
    share = min(max(Fraction(_PEOPLE, reports), _LEAST_SHARE), _MOST_SHARE)
    return Fraction(math.ceil(share * _PARTS), _PARTS)


def add_sizes_report_type(
    report_type: ReportType, share: Fraction, limit: Fraction, reports: int, common_sizes: Iterable[int] = ()
) -> tuple[ReportType, ...]:
    """Return a report type about items together with one about sizes that has the given share.

    ``limit`` is the strict upper bound of γ; ``common_sizes``, known sizes of many baskets, become separate classes. No
    report type about sizes is added if no transaction can hold more than M items.
    """
    if report_type.transaction_size >= report_type.n_items:
        return (report_type,)
    classes = size_classes(report_type.transaction_size, common_sizes)
    bounds = tuple(classes[classes <= report_type.n_items].tolist())
    objective, family = WorstSupport(1, max(1, int(reports * share))), fixed_size_family(1, len(bounds) + 1)
    operator = min(family.search(limit, objective, runs(1)), key=lambda design: design.error).operator(limit)
    sizes = ReportType(len(bounds), operator, view=SizesView(bounds), weight=share.numerator)
    return replace(report_type, weight=share.denominator - share.numerator), sizes


# ---- manipulated responses


@dataclass(frozen=True, slots=True)
class ManipulatedSizes:
    """The effect on the truncation correction of manipulated reports that claim the largest size class.

    Attributes:
        share: share of all reports that are manipulated.
        factors: factors of the truncation correction by itemset size (estimation/size_distribution.py).
        detected: whether the test of the report types' shares detects this many responses about sizes with probability
            99.8% (estimation/manipulation_bounds.py).
    """

    share: float
    factors: Mapping[int, float]
    detected: bool


def manipulated_sizes(plan: "Plan", reports: int) -> tuple[ManipulatedSizes, ...]:
    """Return the effect of manipulated responses about sizes; nothing if reports carry no information on them.

    The manipulated shares are 0, the largest one that passes the test of the report types' shares, .1% and 1%. Baskets
    have default sizes (expected_error.py). All manipulated reports are of the report type about sizes, which few honest
    ones are. Padding items limit how many baskets can be claimed to hold M items or more, but not how many items these
    hold.
    """
    # imported here, so that the planner alone starts sooner
    sizes = plan.sizes
    if sizes is None or 1 in (sizes.amplification, plan.items.amplification):
        return ()
    share, limit = plan.share(sizes), math.log(FALSE_ALARM / _TESTS)
    expected = float(reports * share)
    step = most = max(1, round(math.sqrt(expected)) // 8)

    def is_detected(manipulated: int, fewer: float) -> bool:
        """Return whether manipulated ones are detected with honest responses ``fewer`` errors below the mean."""
        honest = (reports - manipulated) * share
        count = max(0, int(honest - fewer * math.sqrt(honest * (1 - share)))) + manipulated
        return log_share_probability(min(count, reports), reports, share) < limit

    while most < reports and not is_detected(most + step, 0):
        most += step
    return tuple(
        ManipulatedSizes(
            part, _factors(plan, sizes, reports, part), part > 0 and is_detected(round(part * reports), _Z_THOUSANDTH)
        )
        for part in sorted({0.0, most / reports, *_MANIPULATED_SHARES})
        if part < 1  # few reports may all be manipulated undetected, and no honest one is left
    )


def _factors(plan: "Plan", report_type: ReportType, reports: int, manipulated: float) -> dict[int, float]:
    """Return the factors of the truncation correction if this share of the reports is manipulated."""
    sizes, bounds = BasketSizes.from_mean(plan.n_items).shares, np.array(plan.size_bounds)
    honest = reports * (1 - manipulated)
    claimed = np.append(np.zeros(len(bounds) - 1), reports * manipulated)
    below, classes = np.cumsum(sizes)[: bounds[0]], np.add.reduceat(sizes, bounds)
    of_items = _expected(plan.items, below, honest * float(plan.share(plan.items)), 0.0)
    of_sizes = _expected(report_type, classes, honest * float(plan.share(report_type)), claimed)
    fitted = fit_size_distribution(*of_items, *of_sizes, bounds, plan.n_items)
    return {k: fitted.truncation_factor(int(bounds[0]), k)[0] for k in range(1, plan.items.itemset_size + 1)}


def _expected(report_type: ReportType, shares: Floats, honest: float, claimed: Floats | float) -> tuple[Floats, Floats]:
    """Return expected estimates of supports and their errors, from honest and manipulated responses."""
    none, held = (float(value) for value in SupportModel(report_type.operator).row(1))
    count = honest + float(np.sum(claimed))
    shown = ((shares - none) / (held - none) * honest + claimed) / count
    return none + (held - none) * shown, (held - none) * np.sqrt(np.clip(shown * (1 - shown), 0, None) / count)
