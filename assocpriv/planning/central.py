"""What operators may be where reports come through an anonymous channel: of which γ, with how large a blanket.

A central promise is proved from γ and the blanket λ of a plan (promise/shuffling.py). The larger γ, the larger a λ it
takes: none at all as far as clones alone prove it, then ever more, until no λ will do. So designs of several γ compete,
from the largest ε for which any λ will do in steps of a quarter up to the cap, but at most six: errors are least four
steps up or fewer, and rise again. A design's λ is one over the sum of its weights over pure noise, which the search has
at hand (designs.py).

λ of a plan is the mean of its questions'. The question about sizes is asked of few and may have the same γ; its λ is
taken to be 0, so the one about items must have that much more: λ ≥ λ_least/(1 − share).

The cap bounds what a report tells of one's own where the channel fails: where whoever knows the senders works together
with whoever reads the contents. It is 8 unless another is given: 1 in 1,000 then becomes 3 in 4 at most. With 10 it
would be 24 in 25, next to nothing kept, for expected errors that are a fifth smaller with a million reports; with
100,000 or fewer the central promise leaves no use for more than 8.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from assocpriv.planning.designs import reached
from assocpriv.promise.breaches import Breach, amplification_of, epsilon, highest_posterior, share_limit
from assocpriv.promise.errors import PlanError
from assocpriv.promise.shuffling import CentralPromise

if TYPE_CHECKING:
    from assocpriv.planning.request import PlanRequest

LOCAL_CAP = 8  # ε of all that one person sends
PRIOR = Fraction(1, 20)  # of the local promise, which follows
_STEP, _MOST_STEPS = 0.25, 6  # of ε
_HUNDREDTHS = 100  # promises are made to be read
_GAIN = 1.1  # times the central ε, from which on of a local ε a channel is worth anything
_ROUNDED = 1 + 2**-14  # operators' weights are integers: their blanket may be as much less than a design's
_SLACK = Fraction(19, 20)  # of δ: the bound's steps are whole numbers, so a γ that is a hair smaller may prove less
_MOST_DOUBLINGS = 40


@dataclass(frozen=True, slots=True)
class Bound:
    """What operators must keep: γ strictly below ``limit``, and of a plan that has a mean blanket of ``blanket``.

    ``share`` of the people are asked about sizes.
    """

    limit: Fraction
    blanket: float = 0.0
    share: Fraction = Fraction(0)

    def blanket_of_items(self, asks_sizes: bool) -> float:
        """Return what blanket the question about items must have, beside one about sizes that may have none."""
        return self.blanket / float(1 - self.share) if asks_sizes else self.blanket


def central_bounds(request: "PlanRequest", share: Fraction) -> list[Bound]:
    """Return what designs must keep for a central promise and a cap, one of several; the least γ first.

    Raises:
        PlanError: so few reports, or so low a cap, that a channel gains nothing.
    """
    assert request.central is not None
    count = request.reports_per_person
    central = replace(request.central, delta=request.central.delta * _SLACK)
    cap = epsilon(request.promise.amplification_limit)
    if cap <= _GAIN * central.epsilon:
        raise PlanError(
            f"a local cap of {cap:.3g} leaves nothing to gain over a central epsilon of {float(central.epsilon):.3g}: "
            f"a plan without a channel keeps that against everybody; give epsilon={float(central.epsilon):.3g} instead "
            f"of central=, or a smaller epsilon in central=, or local_cap= above {_GAIN * float(central.epsilon):.3g}"
        )
    free = _largest_free(central, cap, count)
    steps = (free + _STEP * step for step in range(_MOST_STEPS + 1))
    limits = [_limit(each) for each in steps if each < cap - _STEP / 2]
    if free + _STEP * _MOST_STEPS >= cap:
        limits.append(request.promise.amplification_limit)
    found = []
    for limit in limits:
        each = share_limit(limit, count, 64)
        blanket = central.least_blanket(reached(each), count)
        if blanket is not None and blanket * Fraction(_ROUNDED) < 1 - share:
            found.append(Bound(each, float(blanket) * _ROUNDED, share))
    if epsilon(found[-1].limit) * count <= _GAIN * central.epsilon:
        raise _too_few(central, count)
    return found


def _limit(value: float) -> Fraction:
    """Return the limit of γ of an ε, which is rounded down to hundredths."""
    return amplification_of(Fraction(math.floor(value * _HUNDREDTHS), _HUNDREDTHS))


def _largest_free(central: CentralPromise, cap: float, count: int) -> float:
    """Return the largest ε of all of a person's reports, up to a cap, at which any blanket will do; rounded down."""
    low, high = float(central.epsilon), cap
    while high - low > 1 / _HUNDREDTHS:
        middle = (low + high) / 2
        holds = central.holds(reached(share_limit(_limit(middle), count, 64)), Fraction(0), count)
        low, high = (middle, high) if holds else (low, middle)
    return low


def _too_few(central: CentralPromise, count: int) -> PlanError:
    """Say how many reports would do, found by doubling; fewer may."""
    least = _GAIN * float(central.epsilon) + 3 / _HUNDREDTHS  # limits are rounded to hundredths, twice
    wanted = share_limit(_limit(max(1.5 * float(central.epsilon), least)), count, 64)
    enough = central.reports
    for _ in range(_MOST_DOUBLINGS):
        enough *= 2
        if enough * central.delta >= 1:
            break
        if CentralPromise(central.epsilon, central.delta, enough, central.helping).holds(wanted, Fraction(0), count):
            return PlanError(
                f"{central.reports:,} reports are too few for a central promise of ({float(central.epsilon):.3g}, "
                f"{float(central.delta):.1g}): at so few, an anonymous channel gains nothing over a plan without one. "
                f"Expect {enough:,} together, reports={enough} (fewer are never read), or give a larger epsilon in "
                f"central=, or epsilon={float(central.epsilon):.3g} in its place"
            )
    return PlanError(
        "no number of reports proves this central promise by a channel; give a larger epsilon or delta in central="
    )


def kept_promise(amplification: Fraction) -> Breach:
    """Return what reports that are so much amplified together keep: 5% becomes less than a percentage that reads well.

    Of what is left to certainty two digits are given, rounded down.

    >>> str(kept_promise(Fraction(2980)).posterior)
    '9937/10000'
    """
    left, unit = 1 - highest_posterior(PRIOR, amplification), 1
    while left * unit < 10:
        unit *= 10
    return Breach(PRIOR, 1 - Fraction(math.ceil(left * unit) - 1, unit))
