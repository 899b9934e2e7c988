"""Information in a report about a private value: average (mutual information) and worst case.

X is the private value with its prior P, Y the report, KL(A ‖ B) = Σ A log(A/B):

    I   = E_y KL(P[X|y] ‖ P[X])        mutual information, an average: small even if some reports reveal everything
    WI  = max_y KL(P[X|y] ‖ P[X])      worst-case information: bounds upward breaches
    IWI = max_y KL(P[X] ‖ P[X|y])      inverse worst-case information: bounds downward breaches

A γ-amplifying randomizer has WI, IWI ≤ log γ, and more exactly ≤ log((γ−1)/ln γ) − 1 + ln γ/(γ−1) nats under every
prior. For a given mean of the likelihoods l(x) = p[x → y] ∈ [a, γa] the convex functions l·log l and −log l have their
largest mean where l takes the two end values only. One variable remains, the prior of the end γa.

Bounds are in bits, or to the ``base`` given (e for nats). Source: EGS03, section 7; the bounds are ours.
"""

import contextlib
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.amplification import check_amplification, float_up
from assocpriv.guarantees.errors import PlanError

BITS = 2.0
_DIGITS = 60
# added to privacy figures; far more than the rounding error of doubles
RELATIVE_ERROR, ABSOLUTE_ERROR = 1e-9, 1e-12

Array = NDArray[np.float64]


def _check_base(base: object) -> float:
    number = _as_float(base)
    if not 1 < number < math.inf:
        raise PlanError("base must be a number above 1: 2 for bits, math.e for nats")
    return number


def _as_float(value: object) -> float:
    """Return a number as a float, or NaN if it is none."""
    with contextlib.suppress(OverflowError):
        return float(value) if isinstance(value, Real) else math.nan
    return math.nan


def information_limit(amplification: Fraction, *, base: float = BITS) -> float:
    """Return the largest WI, and IWI, of a γ-amplifying randomizer under any prior, rounded up; it is attained.

    Args:
        amplification: γ, 1 or more.
        base: of the logarithm; 2 gives bits, math.e nats.

    Raises:
        PlanError: γ is below 1, or the base is not above 1.

    >>> round(information_limit(Fraction(19)), 6)
    1.405233
    """
    amplification, base = check_amplification(amplification), _check_base(base)
    if amplification == 1:
        return 0.0
    # near γ = 1 the result, about (γ−1)²/8, is a difference of numbers near 1: 4 · 0.3 more digits a bit of 1/(γ−1)
    digits = _DIGITS + 2 * (1 // (amplification - 1)).bit_length()
    with localcontext(prec=digits) as context:
        above = context.divide(Decimal((amplification - 1).numerator), Decimal((amplification - 1).denominator))
        log = (above + 1).ln()
        nats = context.divide(above, log).ln() - 1 + context.divide(log, above)
        return float_up(context.divide(nats, Decimal(base).ln()) + Decimal(1).scaleb(20 - digits))
