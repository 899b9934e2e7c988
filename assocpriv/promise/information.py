"""Information: how much a report tells about a private value, on average (mutual) or at worst (worst-case).

X is the private value with its prior P, Y the report, KL(A ‖ B) = Σ A log(A/B):

    I   = E_y KL(P[X|y] ‖ P[X])        mutual information, the average: small even where some reports tell all
    WI  = max_y KL(P[X|y] ‖ P[X])      worst-case information: bounds upward breaches
    IWI = max_y KL(P[X] ‖ P[X|y])      inverse worst-case information: bounds downward breaches

In place of log any f with t·f(t) convex may stand: WI^f = max_y Σ_x P(x|y) f(P(x|y)/P(x)) and
IWI^f = max_y Σ_x P(x) f(P(x)/P(x|y)). Statements 6 and 7: a ρ1 → ρ2 breach implies that WI^f (upward) or IWI^f
(downward) is at least ρ2 f(ρ2/ρ1) + (1−ρ2) f((1−ρ2)/(1−ρ1)). Reports of probability 0 are ignored.

γ-amplifying means WI, IWI ≤ log γ, and more exactly ≤ log((γ−1)/ln γ) − 1 + ln γ/(γ−1) nats whatever the prior: for a
given mean of the likelihoods l(x) = p[x → y] ∈ [a, γa] the convex functions l·log l and −log l have their largest mean
where l takes both ends only; the rest is one variable, the prior of the end γa.

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

from assocpriv.promise.breaches import Breach, check_amplification, float_up, parse_probability
from assocpriv.promise.errors import PlanError

BITS = 2.0
_TINY = float(np.finfo(np.float64).tiny)
_DIGITS = 60
# doubles err by far less; so much is added to figures of privacy
RELATIVE_ERROR, ABSOLUTE_ERROR = 1e-9, 1e-12

Array = NDArray[np.float64]
Function = Callable[[Array], Array]


# ---- any prior and randomizer


def mutual_information(prior: ArrayLike, transition: ArrayLike, *, base: float = BITS) -> float:
    """Return I(X; Y), given P[X = x], shape (values,), and p[x → y], (values, outputs), as floats or Fractions.

    >>> mutual_information([0.5, 0.5], [[1, 0], [0, 1]])
    1.0
    """
    before, outputs, after = _posteriors(prior, transition)
    return float(outputs @ _divergences(before, after, _logarithm(base)))


def worst_information(
    prior: ArrayLike, transition: ArrayLike, f: Function | None = None, *, base: float = BITS
) -> float:
    """Return WI(X; Y), or WI^f for a function f of an array with t·f(t) convex.

    >>> worst_information([0.5, 0.5], [[1, 0], [0.5, 0.5]])
    1.0
    """
    before, _, after = _posteriors(prior, transition)
    return float(_divergences(before, after, f or _logarithm(base)).max())


def inverse_worst_information(
    prior: ArrayLike, transition: ArrayLike, f: Function | None = None, *, base: float = BITS
) -> float:
    """Return IWI(X; Y), or IWI^f; with the logarithm infinite where a report rules a value out.

    >>> inverse_worst_information([0.5, 0.5], [[1, 0], [0.5, 0.5]])
    inf
    """
    before, _, after = _posteriors(prior, transition)
    with np.errstate(divide="ignore", over="ignore"):
        values = (f or _logarithm(base))(before[:, None] / after)
    return float((before[:, None] * values).sum(axis=0).max())


def _posteriors(prior: ArrayLike, transition: ArrayLike) -> tuple[Array, Array, Array]:
    """Return P[X], P[Y] and P[X | Y] (values, outputs), of values and outputs that can occur."""
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
    """Return a number as a float, NaN for anything else."""
    with contextlib.suppress(OverflowError):
        return float(value) if isinstance(value, Real) else math.nan
    return math.nan


def _divergences(before: Array, after: Array, f: Function) -> Array:
    """Return Σ_x P(x|y) f(P(x|y)/P(x)) for every y; at 0, t·f(t) is its limit."""
    ratios = np.maximum(after / before[:, None], _TINY)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((before[:, None] * (ratios * f(ratios))).sum(axis=0))


# ---- breaches


def upward_threshold(breach: Breach, f: Function | None = None, *, base: float = BITS) -> float:
    """Return the least WI^f of a randomizer and prior with an upward breach; below it none occurs (statement 6).

    With a downward breach, from ``posterior`` to ``prior``, it is the same number (statement 7).

    >>> round(upward_threshold(Breach("5%", "50%")), 6)
    1.197964
    """
    if not isinstance(breach, Breach):
        raise TypeError(f"breach must be a Breach, as Breach('5%', '50%'), got a {type(breach).__name__}")
    return _two_values(float(breach.prior), float(breach.posterior), f or _logarithm(base))


def _two_values(low: float, high: float, f: Function) -> float:
    rise, fall = f(np.array([high / low, (1 - high) / (1 - low)]))
    return float(high * rise + (1 - high) * fall)


def excluded_posterior(worst: float, prior: "str | float | Fraction", *, base: float = BITS) -> float | None:
    """Return the least posterior, rounded up, to which no report lifts a property of at most ``prior``, given its WI.

    None where the WI excludes nothing, which is so from log(1/prior) on.

    >>> round(excluded_posterior(1.2, "5%"), 6)
    0.500479
    """
    low = float(_inside(prior))
    return _bisect(lambda high: _two_values(low, high, _logarithm(base)), worst, low, 1 - 2**-53)


def excluded_fall(inverse_worst: float, prior: "str | float | Fraction", *, base: float = BITS) -> float | None:
    """Return the largest posterior, rounded down, to which no report takes a property of at least ``prior`` down.

    None where the IWI excludes nothing that a float can tell from 0.

    >>> round(excluded_fall(1.2, "50%"), 6)
    0.049851
    """
    high = float(_inside(prior))
    return _bisect(lambda low: _two_values(low, high, _logarithm(base)), inverse_worst, high, 1e-300)


def _inside(prior: "str | float | Fraction") -> Fraction:
    number = parse_probability(prior, "prior")
    if not 0 < number < 1:
        raise PlanError("prior must lie strictly between 0 and 1: what is certain, no report changes")
    return number


def _bisect(threshold: Callable[[float], float], measured: float, near: float, far: float) -> float | None:
    """Return the number nearest to ``near``, towards ``far``, whose threshold is safely above what was measured."""
    information = _as_float(measured)
    if not information >= 0:
        raise PlanError("the information measured must be a number of 0 or more, as worst_information returns it")
    least = information * (1 + ABSOLUTE_ERROR) + ABSOLUTE_ERROR
    if not threshold(far) > least:
        return None
    for _ in range(1100):  # also where far is tiny, and halving takes a thousand steps
        middle = (near + far) / 2
        if middle in (near, far):
            break
        near, far = (near, middle) if threshold(middle) > least else (middle, far)
    return far


# ---- what γ alone says


def information_limit(amplification: Fraction, *, base: float = BITS) -> float:
    """Return the largest WI, and IWI, that a γ-amplifying randomizer can have under any prior, rounded up; attained.

    >>> round(information_limit(Fraction(19)), 6)
    1.405233
    """
    amplification, base = check_amplification(amplification), _check_base(base)
    if amplification == 1:
        return 0.0
    # near γ = 1 the result, about (γ−1)²/8, is left of numbers near 1; that takes 4 · 0.3 digits a bit of 1/(γ−1)
    digits = _DIGITS + 2 * (1 // (amplification - 1)).bit_length()
    with localcontext(prec=digits) as context:
        above = context.divide(Decimal((amplification - 1).numerator), Decimal((amplification - 1).denominator))
        log = (above + 1).ln()
        nats = context.divide(above, log).ln() - 1 + context.divide(log, above)
        return float_up(context.divide(nats, Decimal(base).ln()) + Decimal(1).scaleb(20 - digits))
