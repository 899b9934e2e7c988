"""Intervals of estimated supports: score intervals where few reports decide, normal ones where these agree.

The interval ŝ ± zσ̂ takes ŝ for normal. T = N·ŝ is a sum of values of q, so one report
changes it by no more than 2·max|q|, and in standard errors of T that is twice

    J = max|q| / (N·σ̂)

|skewness of T| ≤ 2J, and the ends of score intervals (tails.py) and normal ones differ by about (2z² + 1)/6 times the
skewness, in standard errors, plus half a step of T, again at most J. At J = 0.01 a 95% interval's ends are off by 0.04
standard errors at most, usually by half of that, and its two sides miss in 2.5 ± 0.25% of cases. J² is about one over
the number of reports that show the rarest pattern that matters, so 0.01 stands for 10,000 such reports. Above it, score
intervals are taken.

Score intervals take the other shares from the same reports. Of fewer than 50 these say little, and intervals that
exclude what lies within two standard errors were seen; there an interval holds both.

Both are cut to what a support can be, from 0 to 1.

With blocks N is N_A, how many reports tell of the itemset. Score intervals for the transactions at hand are then those
for the population, which are a little longer: the people asked are drawn from those at hand.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.transition import SupportModel
from assocpriv.promise.breaches import parse_share
from assocpriv.promise.errors import EstimateError, PlanError
from assocpriv.server.estimates.supports import SupportEstimates, normal_quantile, partial_counts
from assocpriv.server.estimates.tails import Observed, score_intervals

NORMAL_UP_TO = 0.01  # J
LONGER_BY = 0.25  # standard errors
_FEW_REPORTS = 50


def read_share(value: "float | str", what: str) -> Fraction:
    """Read a share in [0, 1], as 0.6 or ``"60%"``; anything else raises EstimateError."""
    try:
        return parse_share(value, what)
    except PlanError as error:
        raise EstimateError(str(error)) from None


@dataclass(frozen=True, slots=True)
class ErrorOptions:
    """What errors are stated for: intervals' level, and the population drawn from instead of the transactions at hand.

    The level may be given as 0.95, ``"95%"`` or ``"19/20"``.

    Raises:
        EstimateError: the level does not lie between 0 and 1.
    """

    confidence_level: float
    population: bool

    def __init__(self, confidence_level: float | str = 0.95, population: bool = False) -> None:
        level = float(read_share(confidence_level, "confidence_level"))
        if not (level > 0 and (1 + level) / 2 < 1):
            raise EstimateError(f"confidence_level must lie between 0 and 1, got {level:.17g}")
        object.__setattr__(self, "confidence_level", level)
        object.__setattr__(self, "population", population)


def observed_of(sums: NDArray[np.int64], model: SupportModel) -> Observed:
    """Return what reports show of itemsets of one size, for tails.py; sums are C_0 … C_k, int64 (itemsets, k + 1).

    Raises:
        EstimateError: the operator says nothing of this size.
    """
    k = sums.shape[1] - 1
    transition, row = (np.array(each, dtype=np.float64) for each in (model.transition(k), model.row(k)))
    return Observed(partial_counts(sums), transition, row)


def support_intervals(
    sums: NDArray[np.int64],
    estimates: SupportEstimates,
    model: SupportModel,
    level: float,
    *,
    population: bool,
    wide: bool = False,
) -> NDArray[np.float64]:
    """Return the ends of intervals of itemsets of one size, float64 (itemsets, 2).

    Args:
        sums: C_0 … C_k, int64 (itemsets, k + 1).
        estimates: the supports estimated from them; where one is NaN its interval is all that is possible.
        model: of the reports' operator.
        level: such as 0.95.
        population: for the population the transactions were drawn from, else for those at hand.
        wide: for the high levels of many intervals together. Far out in the tails J = 0.01 is too coarse: normal
            intervals are made longer by what score intervals could be longer, ((2z² + 1)/3 + 1)·J standard errors,
            while that is at most a quarter of one; else score intervals are taken.
    """
    z = normal_quantile(level)
    bend = (2 * z * z + 1) / 3 + 1 if wide else 0.0
    normal_up_to = LONGER_BY / bend if wide else NORMAL_UP_TO
    support = estimates.support.astype(np.float64)
    ends = np.tile([0.0, 1.0], (len(support), 1))
    known = np.flatnonzero(~np.isnan(support))
    if not len(known):
        return ends
    support, asked = support[known], estimates.asked[known]
    error = estimates.std_error(population=population)[known]
    observed = observed_of(sums[known], model)
    jump = float(np.abs(observed.row).max()) / asked
    reach = z * error + bend * jump
    ends[known] = np.clip(np.column_stack([support - reach, support + reach]), 0.0, 1.0)
    coarse = np.flatnonzero(jump > normal_up_to * error)
    if len(coarse):
        of_all = population or bool((asked < estimates.n_reports).any())
        scored = score_intervals(observed.among(coarse), level, population=of_all)
        normal = ends[known[coarse]]
        few = (asked[coarse] < _FEW_REPORTS)[:, None]  # to estimate the shares that shape the law
        both = np.column_stack([np.minimum(scored, normal)[:, 0], np.maximum(scored, normal)[:, 1]])
        ends[known[coarse]] = np.where(few, both, scored)
    return ends
