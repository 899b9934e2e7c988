"""Whole numbers that people give: which are taken, and what is said of those that are not. How numbers are written."""

import operator
from decimal import Decimal
from typing import Any

from assocpriv.core.errors import PlanError

PLAIN = range(-5, 16)  # powers of ten of numbers that are written without an exponent


def as_whole(value: Any) -> int | None:
    """Return a whole number as an int, which numpy's integers become; None for anything else, True and 3.0 too.

    >>> import numpy as np
    >>> as_whole(np.int64(7)), as_whole(True), as_whole(7.0)
    (7, None, None)
    """
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def check_whole(name: str, value: object) -> int:
    """Return a whole number as :func:`as_whole`; anything else raises TypeError."""
    number = as_whole(value)
    if number is None:
        raise TypeError(f"{name} must be a whole number (an int), got a {type(value).__name__}")
    return number


def check_range(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number in low..high; refuse what is none (TypeError) or out of the range (PlanError)."""
    number = check_whole(name, value)
    if not low <= number <= high:
        raise PlanError(f"{name} must be in {low}..{high}, got {number if abs(number) < 10**18 else 'far more'}")
    return number


def rounded(value: float, digits: int) -> str:
    """Write a number with so many digits, without an exponent unless it is very large or small.

    >>> rounded(250663.4, 5), rounded(1234.5, 2), rounded(0.25, 4), rounded(4e20, 2)
    ('250660', '1200', '0.25', '4e+20')
    """
    shown = Decimal(f"{value:.{digits}g}").normalize()
    return f"{shown:f}" if not shown or shown.adjusted() in PLAIN else f"{value:.{digits}g}"
