"""Information in a report about a private value: average (mutual information) and worst case.

X is the private value with its prior P, Y the report, KL(A ‖ B) = Σ A log(A/B):

    I   = E_y KL(P[X|y] ‖ P[X])        mutual information, an average: small even if some reports reveal everything
    WI  = max_y KL(P[X|y] ‖ P[X])      worst-case information: bounds upward breaches
    IWI = max_y KL(P[X] ‖ P[X|y])      inverse worst-case information: bounds downward breaches

Any f with t·f(t) convex may replace log: WI^f = max_y Σ_x P(x|y) f(P(x|y)/P(x)) and
IWI^f = max_y Σ_x P(x) f(P(x)/P(x|y)). Statements 6 and 7: a ρ1 → ρ2 breach implies that WI^f (upward) or IWI^f
(downward) is at least ρ2 f(ρ2/ρ1) + (1−ρ2) f((1−ρ2)/(1−ρ1)). Reports of probability 0 are ignored.

A γ-amplifying randomizer has WI, IWI ≤ log γ, and more exactly ≤ log((γ−1)/ln γ) − 1 + ln γ/(γ−1) nats under every
prior. For a given mean of the likelihoods l(x) = p[x → y] ∈ [a, γa] the convex functions l·log l and −log l have their
largest mean where l takes the two end values only. One variable remains, the prior of the end γa.

All measures are in bits, or to the ``base`` given (e for nats). Source: EGS03, section 7; the bounds are ours.
"""

import contextlib
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assocpriv.guarantees.amplification import (
    Guarantee,
    check_amplification,
    check_guarantee,
    float_up,
    parse_probability,
)
from assocpriv.guarantees.errors import PlanError

BITS = 2.0
_TINY = float(np.finfo(np.float64).tiny)
_DIGITS = 60
# added to privacy figures; far more than the rounding error of doubles
RELATIVE_ERROR, ABSOLUTE_ERROR = 1e-9, 1e-12

Array = NDArray[np.float64]
Function = Callable[[Array], Array]


# ---- any prior and randomizer


def mutual_information(prior: ArrayLike, transition: ArrayLike, *, base: float = BITS) -> float:
    """Return the mutual information I(X; Y).

    Args:
        prior: P[X = x], shape (values,), floats or Fractions.
        transition: p[x → y], shape (values, outputs), floats or Fractions.
        base: of the logarithm; 2 gives bits, math.e nats.

    Raises:
        PlanError: the probabilities are negative or do not add up to 1, or the shapes do not match.

    Source: EGS03, section 7.

    >>> mutual_information([0.5, 0.5], [[1, 0], [0, 1]])
    1.0
    """
    before, outputs, after = _posteriors(prior, transition)
    return float(outputs @ _divergences(before, after, _logarithm(base)))


def worst_information(
    prior: ArrayLike, transition: ArrayLike, f: Function | None = None, *, base: float = BITS
) -> float:
    """Return the worst-case information WI(X; Y), or WI^f.

    Args:
        prior, transition, base: as for :func:`mutual_information`.
        f: a function of an array with t·f(t) convex, in place of the logarithm.

    Raises:
        PlanError: as :func:`mutual_information`.

    Source: EGS03, section 7.

    >>> worst_information([0.5, 0.5], [[1, 0], [0.5, 0.5]])
    1.0
    """
    before, _, after = _posteriors(prior, transition)
    return float(_divergences(before, after, f or _logarithm(base)).max())


def inverse_worst_information(
    prior: ArrayLike, transition: ArrayLike, f: Function | None = None, *, base: float = BITS
) -> float:
    """Return the inverse worst-case information IWI(X; Y), or IWI^f; infinite if a report excludes a value.

    Args:
        prior, transition, base: as for :func:`mutual_information`.
        f: a function of an array with t·f(t) convex, in place of the logarithm.

    Raises:
        PlanError: as :func:`mutual_information`.

    Source: EGS03, section 7.

    >>> inverse_worst_information([0.5, 0.5], [[1, 0], [0.5, 0.5]])
    inf
    """
    before, _, after = _posteriors(prior, transition)
    with np.errstate(divide="ignore", over="ignore"):
        values = (f or _logarithm(base))(before[:, None] / after)
    return float((before[:, None] * values).sum(axis=0).max())


def _posteriors(prior: ArrayLike, transition: ArrayLike) -> tuple[Array, Array, Array]:
    """Return P[X], P[Y] and P[X | Y] (values, outputs), for values and outputs of positive probability."""
    try:
        before, rows = np.asarray(prior, dtype=np.float64), np.asarray(transition, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlanError("the prior and the rows of a randomizer must be numbers, rows of one length") from None
    if rows.ndim != 2 or rows.shape[:1] != before.shape:
        shapes = f"{rows.shape}, {before.shape}"
        raise PlanError(f"a randomizer needs a row for each value of the prior, got shapes {shapes}")
    sums = np.append(rows.sum(axis=1), before.sum())
    if not ((before >= 0).all() and (rows >= 0).all() and np.abs(sums - 1).max() <= RELATIVE_ERROR):
        raise PlanError("the prior and the rows of a randomizer must be probabilities that add up to 1")
    joint = (before[:, None] * rows)[before > 0]
    outputs = joint.sum(axis=0)
    return before[before > 0], outputs[outputs > 0], joint[:, outputs > 0] / outputs[outputs > 0]


def _logarithm(base: float) -> Function:
    scale = 1 / math.log(_check_base(base))
    return lambda ratios: np.log(ratios) * scale


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


def _divergences(before: Array, after: Array, f: Function) -> Array:
    """Return Σ_x P(x|y) f(P(x|y)/P(x)) for every y; at 0, t·f(t) takes its limit."""
    ratios = np.maximum(after / before[:, None], _TINY)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((before[:, None] * (ratios * f(ratios))).sum(axis=0))


# ---- breaches


def upward_threshold(guarantee: Guarantee, f: Function | None = None, *, base: float = BITS) -> float:
    """Return the smallest WI^f with which a guarantee can be broken upward; below it no such breach occurs.

    It is also the smallest IWI^f with which the guarantee can be broken downward.

    Args:
        guarantee: prior and posterior of the breach.
        f: a function of an array with t·f(t) convex, in place of the logarithm.
        base: of the logarithm; 2 gives bits, math.e nats.

    Raises:
        TypeError: ``guarantee`` is none.

    Source: EGS03, statements 6 and 7.

    >>> round(upward_threshold(Guarantee("5%", "50%")), 6)
    1.197964
    """
    guarantee = check_guarantee(guarantee)
    return _two_values(float(guarantee.prior), float(guarantee.posterior), f or _logarithm(base))


def _two_values(low: float, high: float, f: Function) -> float:
    rise, fall = f(np.array([high / low, (1 - high) / (1 - low)]))
    return float(high * rise + (1 - high) * fall)


def excluded_posterior(worst: float, prior: "str | float | Fraction", *, base: float = BITS) -> float | None:
    """Return the smallest posterior that no report can raise a property of at most ``prior`` to, rounded up.

    Args:
        worst: WI, as :func:`worst_information` returns it.
        prior: the property's largest prior probability.
        base: of the logarithm of WI; 2 for bits, math.e for nats.

    Returns:
        The posterior; None if the WI excludes none, that is from log(1/prior) on.

    Raises:
        PlanError: an argument is out of range.

    >>> round(excluded_posterior(1.2, "5%"), 6)
    0.500479
    """
    low = float(_inside(prior))
    return _bisect(lambda high: _two_values(low, high, _logarithm(base)), worst, low, 1 - 2**-53)


def excluded_fall(inverse_worst: float, prior: "str | float | Fraction", *, base: float = BITS) -> float | None:
    """Return the largest posterior that no report can lower a property of at least ``prior`` to, rounded down.

    Args:
        inverse_worst: IWI, as :func:`inverse_worst_information` returns it.
        prior: the property's smallest prior probability.
        base: of the logarithm of IWI; 2 for bits, math.e for nats.

    Returns:
        The posterior; None if the IWI excludes none that a float distinguishes from 0.

    Raises:
        PlanError: an argument is out of range.

    >>> round(excluded_fall(1.2, "50%"), 6)
    0.049851
    """
    high = float(_inside(prior))
    return _bisect(lambda low: _two_values(low, high, _logarithm(base)), inverse_worst, high, 1e-300)


def _inside(prior: "str | float | Fraction") -> Fraction:
    number = parse_probability(prior, "prior")
    if not 0 < number < 1:
        raise PlanError("prior must lie strictly between 0 and 1: no report changes a certain property")
    return number


def _bisect(threshold: Callable[[float], float], measured: float, near: float, far: float) -> float | None:
    """Return the number nearest to ``near``, towards ``far``, whose threshold is safely above the information."""
    information = _as_float(measured)
    if not information >= 0:
        raise PlanError("the information measured must be a number of 0 or more, as worst_information returns it")
    least = information * (1 + ABSOLUTE_ERROR) + ABSOLUTE_ERROR
    if not threshold(far) > least:
        return None
    for _ in range(1100):  # a tiny ``far`` takes a thousand halvings
        middle = (near + far) / 2
        if middle in (near, far):
            break
        near, far = (near, middle) if threshold(middle) > least else (middle, far)
    return far


# ---- bounds from γ alone


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
