"""Designs of one column's release: from what is asked for to a law of integer weights.

Additive noise is asked for as *privacy* p at confidence c, a share of the range: the width of the interval in which the
value is then known to lie with probability c (AS00, section 2.2). It is W·c for classes of width W, 2α·c for noise
uniform on ±α, and 2σΦ⁻¹((1+c)/2) for Gaussian noise. A window is asked for as a limit of γ. Floats choose the integers;
what they promise is read from these exactly, and what was asked for is never missed.
"""

import math
from fractions import Fraction

from assocpriv.plans.columns import LARGEST_TOTAL, MOST_OUTPUTS, Clear, GaussianNoise, UniformNoise, Window
from assocpriv.promise.errors import PlanError

_ROOT_BITS = 48  # after the point of the share of γ that a column gets
_WIDER = 1 + 2.0**-20  # by which noise grows where its integers fall short of what was asked


def design_membership(cells: int, privacy: Fraction, confidence: Fraction) -> Clear:
    """Return classes as narrow as they may be, equal ones that the cells divide into.

    Raises:
        PlanError: more privacy than even a single class gives.

    >>> design_membership(60, Fraction(1, 4), Fraction(19, 20)).width
    20
    """
    _check(privacy, confidence)
    for width in range(1, cells + 1):
        if cells % width == 0 and confidence * width >= privacy * cells:
            return Clear(cells, width)
    raise PlanError(f"classes give at most a privacy of {float(confidence):.4g} of the range at this confidence")


def design_uniform(cells: int, privacy: Fraction, confidence: Fraction) -> UniformNoise:
    """Return the least uniform noise of so much privacy.

    >>> law = design_uniform(60, Fraction(1), Fraction(19, 20))
    >>> law.reach, float(law.known_width(Fraction(19, 20)) / 60)
    (32, 1.0291666666666666)
    """
    _check(privacy, confidence)
    return UniformNoise(cells, max(1, math.ceil((privacy * cells / confidence - 1) / 2)))


def design_gaussian(cells: int, privacy: Fraction, confidence: Fraction) -> GaussianNoise:
    """Return Gaussian noise of so much privacy: each cell's mass in units of 2^-32, rounded down, the rest to noise 0.

    >>> law = design_gaussian(60, Fraction(1), Fraction(19, 20))
    >>> 1 <= law.known_width(Fraction(19, 20)) / 60 < 1.001
    True
    """
    from scipy.special import ndtri

    _check(privacy, confidence)
    deviation = float(privacy) * cells / (2 * float(ndtri((1 + float(confidence)) / 2)))
    while True:
        law = GaussianNoise(cells, _gaussian_half(deviation))
        if law.known_width(confidence) >= privacy * cells:
            return law
        deviation *= _WIDER


def _gaussian_half(deviation: float) -> tuple[int, ...]:
    from scipy.special import ndtr

    half: list[int] = []
    for k in range(1, MOST_OUTPUTS):
        mass = float(ndtr((0.5 - k) / deviation) - ndtr((-0.5 - k) / deviation))
        if mass * LARGEST_TOTAL < 1:
            break
        half.append(int(mass * LARGEST_TOTAL))
    if not half:
        raise PlanError("the noise asked for is smaller than a cell of the grid; take more cells, or release as-is")
    return (LARGEST_TOTAL - 2 * sum(half), *half)


def design_window(inputs: int, limit: Fraction, *, optional: bool, near: int | None = None) -> Window:
    """Return a window whose γ is strictly below a limit, with weights as fine as one random word allows.

    Args:
        inputs: cells or values.
        limit: of γ, above 1.
        optional: whether a value may be missing, which takes part in γ.
        near: outputs near the value; for numbers by default :func:`square_wave_width`, for named values 1.

    >>> law = design_window(4, Fraction(19), optional=False, near=1)
    >>> law.amplification < 19, float(law.amplification)
    (True, 18.999999...)
    """
    if limit <= 1:
        raise PlanError(
            "a column's share of the promise must allow a γ above 1; take fewer columns or a weaker promise"
        )
    near = square_wave_width(inputs, limit) if near is None else near
    others = inputs - 1 + (near if optional else 0)
    low = math.floor(LARGEST_TOTAL / (near * limit + others))
    high = math.ceil(limit * low) - 1
    if low < 1:
        raise PlanError("the promise is so weak that it protects nothing; take a smaller ε, or release columns as-is")
    if high <= low:
        raise PlanError("the promise leaves a column next to nothing to tell; take fewer columns or a weaker promise")
    return Window(inputs, near, high, low)


def square_wave_width(cells: int, limit: Fraction) -> int:
    """Return how many cells, an odd number, a square wave's near outputs take.

    The half-width b = (ε e^ε − e^ε + 1) / (2 e^ε (e^ε − 1 − ε)), in units of the range, maximizes a bound of the mutual
    information between value and report. Source: Li et al., SIGMOD 2020, section 5.2.

    >>> square_wave_width(100, Fraction(19))
    13
    """
    ratio = float(limit)
    exponent = math.log(ratio)
    half = 0.5 if exponent < 1e-3 else (exponent * ratio - ratio + 1) / (2 * ratio * (ratio - 1 - exponent))
    return 2 * math.floor(half * cells) + 1


def share_limit(limit: Fraction, columns: int) -> Fraction:
    """Return the share of a limit of γ that each of so many columns gets: its root, rounded down.

    >>> share_limit(Fraction(81), 2)
    Fraction(9, 1)
    """
    if columns == 1:
        return limit
    scaled = (limit.numerator << _ROOT_BITS * columns) // limit.denominator
    return Fraction(_floor_root(scaled, columns), 1 << _ROOT_BITS)


def _floor_root(number: int, degree: int) -> int:
    low, high = 0, 1 << number.bit_length() // degree + 1
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= number:
            low = middle
        else:
            high = middle - 1
    return low


def _check(privacy: Fraction, confidence: Fraction) -> None:
    if not 0 < confidence < 1:
        raise PlanError("a confidence must lie between 0 and 1, such as 95%")
    if privacy <= 0:
        raise PlanError("privacy must be above 0: a share of the range, such as 50%")
