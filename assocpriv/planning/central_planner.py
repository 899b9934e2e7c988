"""Constraints on operators for reports from an anonymous channel: γ and the blanket.

A central guarantee is proved from γ and the blanket λ of a plan (guarantees/shuffle_model.py). A larger γ needs a
larger
λ: up to some γ the clones alone suffice, then λ must grow, and finally no λ suffices. So designs with several γ
compete: from the largest ε for which any λ suffices, in steps of 1/4 up to the cap, but at most six steps. Errors are
smallest at most four steps up, and then increase again. A design's λ is 1 over the sum of its weights over pure noise,
which the search computes anyway (operator_designs.py).

λ of a plan is the mean over its report types. The report type about sizes has a small share and may have the same γ.
Its
λ is taken as 0, so that of the report type about items must be larger: λ ≥ λ_least/(1 − share).

The cap bounds the information in one person's reports if the channel fails, that is, if the relay, which knows the
senders, and the collector, which reads the contents, collude. The default is 8: it raises 1 in 1,000 to at most 3 in 4.
A cap of 10 would raise it to 24 in 25, which protects next to nothing, and lower expected errors by a fifth with a
million reports. With 100,000 reports or fewer the central guarantee has no use for more than 8.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from assocpriv.guarantees.amplification import (
    Guarantee,
    amplification_from_epsilon,
    epsilon_from_amplification,
    highest_posterior,
    root_of_limit,
)
from assocpriv.guarantees.errors import PlanError
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.planning.operator_designs import reachable_amplification

if TYPE_CHECKING:
    from assocpriv.planning.plan_request import PlanRequest

LOCAL_CAP = 8  # default of the largest local ε of all reports of one person
PRIOR = Fraction(1, 20)  # of the local guarantee that follows
_STEP, _MOST_STEPS = 0.25, 6  # of ε
_HUNDREDTHS = 100  # ε is rounded to hundredths, to be readable
_GAIN = 1.1  # a channel is useful for a local ε above this multiple of the central ε
_ROUNDED = 1 + 2**-14  # integer weights may make an operator's blanket smaller than its design's by this factor
_SLACK = Fraction(19, 20)  # of δ: the bound has integer steps, so a slightly smaller γ may prove less
_MOST_DOUBLINGS = 40


@dataclass(frozen=True, slots=True)
class OperatorConstraint:
    """A constraint on operators: γ strictly below ``limit``, and a mean blanket of at least ``blanket`` over the plan.

    ``share`` is the share of people who report on sizes.
    """

    limit: Fraction
    blanket: float = 0.0
    share: Fraction = Fraction(0)

    def items_blanket(self, has_sizes: bool) -> float:
        """Return the blanket that the report type about items must have, if that about sizes may have none."""
        return self.blanket / float(1 - self.share) if has_sizes else self.blanket


def central_constraints(request: "PlanRequest", share: Fraction) -> list[OperatorConstraint]:
    """Return alternative constraints on designs for a central guarantee and a cap, in increasing order of γ.

    Raises:
        PlanError: there are too few reports, or the cap is too low, for a channel to gain anything.
    """
    assert request.central is not None
    count = request.reports_per_person
    central = replace(request.central, delta=request.central.delta * _SLACK)
    cap = epsilon_from_amplification(request.guarantee.amplification_limit)
    if cap <= _GAIN * central.epsilon:
        raise PlanError(
            f"a local cap of {cap:.3g} gains nothing over a central epsilon of {float(central.epsilon):.3g}, which a "
            f"plan without a channel keeps, too; give epsilon={float(central.epsilon):.3g} instead of central=, a "
            f"smaller epsilon in central=, or local_cap= above {_GAIN * float(central.epsilon):.3g}"
        )
    free = _largest_free(central, cap, count)
    steps = (free + _STEP * step for step in range(_MOST_STEPS + 1))
    limits = [_limit(each) for each in steps if each < cap - _STEP / 2]
    if free + _STEP * _MOST_STEPS >= cap:
        limits.append(request.guarantee.amplification_limit)
    constraints = []
    for limit in limits:
        each = root_of_limit(limit, count, 64)
        blanket = central.least_blanket(reachable_amplification(each), count)
        if blanket is not None and blanket * Fraction(_ROUNDED) < 1 - share:
            constraints.append(OperatorConstraint(each, float(blanket) * _ROUNDED, share))
    if epsilon_from_amplification(constraints[-1].limit) * count <= _GAIN * central.epsilon:
        raise _too_few(central, count)
    return constraints


def _limit(value: float) -> Fraction:
    """Return the limit of γ for an ε that is rounded down to hundredths."""
    return amplification_from_epsilon(Fraction(math.floor(value * _HUNDREDTHS), _HUNDREDTHS))


def _largest_free(central: CentralGuarantee, cap: float, count: int) -> float:
    """Return the largest ε of all reports of a person for which any blanket suffices, up to a cap; rounded down."""
    low, high = float(central.epsilon), cap
    while high - low > 1 / _HUNDREDTHS:
        middle = (low + high) / 2
        holds = central.holds(reachable_amplification(root_of_limit(_limit(middle), count, 64)), Fraction(0), count)
        low, high = (middle, high) if holds else (low, middle)
    return low


def _too_few(central: CentralGuarantee, count: int) -> PlanError:
    """Return an error with a sufficient number of reports, found by doubling; fewer may suffice."""
    least = _GAIN * float(central.epsilon) + 3 / _HUNDREDTHS  # limits are rounded to hundredths, twice
    wanted = root_of_limit(_limit(max(1.5 * float(central.epsilon), least)), count, 64)
    for enough in (central.reports << doublings for doublings in range(1, _MOST_DOUBLINGS + 1)):
        if enough * central.delta >= 1:
            break
        if replace(central, reports=enough).holds(wanted, Fraction(0), count):
            return PlanError(
                f"{central.reports:,} reports are too few for a central guarantee of ({float(central.epsilon):.3g}, "
                f"{float(central.delta):.1g}): an anonymous channel then gains nothing over a plan without one. Give "
                f"reports={enough}, the minimum size of a batch that is read; or a larger epsilon in central=; or "
                f"epsilon={float(central.epsilon):.3g} instead of central="
            )
    return PlanError("no number of reports proves this central guarantee; give a larger epsilon or delta in central=")


def local_guarantee(amplification: Fraction) -> Guarantee:
    """Return the guarantee of reports with a joint amplification, with a prior of 5% and a short posterior.

    The posterior's distance to 1 is rounded down to two digits.

    >>> str(local_guarantee(Fraction(2980)).posterior)
    '9937/10000'
    """
    left, unit = 1 - highest_posterior(PRIOR, amplification), 1
    while left * unit < 10:
        unit *= 10
    return Guarantee(PRIOR, 1 - Fraction(math.ceil(left * unit) - 1, unit))
