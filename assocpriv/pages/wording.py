"""Figures as people read them: shares, spans of time, names of items that may be anything."""

import math
from collections.abc import Iterable
from fractions import Fraction
from statistics import NormalDist

from assocpriv.promise.errors import counted

NORMAL = 1.96  # standard errors of an interval that holds 95%
_MOST_LETTERS = 60  # of a name that are shown
_SPANS = (("year", 365 * 86400.0), ("month", 30 * 86400.0), ("day", 86400.0), ("hour", 3600.0), ("minute", 60.0))
_SIZES = {1: "single items", 2: "pairs", 3: "triples"}


def errors_of(level: float) -> float:
    """Return how many standard errors an interval of a confidence level reaches to each side.

    >>> round(errors_of(0.95), 2), round(errors_of(0.999), 2)
    (1.96, 3.29)
    """
    return NormalDist().inv_cdf((1 + level) / 2)


def share(value: float | None) -> str:
    """Write a support, small ones with a digit more; what is no share is said to be none.

    >>> [share(value) for value in (0.0693, 0.00123, 0.5, 1.2, None)]
    ['6.93%', '0.123%', '50.00%', 'none', 'none']
    """
    return "none" if value is None or not -1 < value <= 1 else estimate(value)


def estimate(value: float) -> str:
    """Write an estimate of a support, which noise may push below 0 or beyond 100%.

    >>> estimate(1.0039), estimate(-0.002)
    ('100.39%', '-0.200%')
    """
    return f"{100 * value:.{2 if abs(value) >= 0.01 else 3}f}%"


def span(seconds: float) -> str:
    """Say about how long something takes, in the largest unit of which there are two.

    >>> [span(seconds) for seconds in (20, 150, 7200.0, 864000, 1e12)]
    ['less than two minutes', 'about 2 minutes', 'about 2 hours', 'about 10 days', 'more than a hundred years']
    """
    if seconds > 100 * _SPANS[0][1]:
        return "more than a hundred years"
    for unit, length in _SPANS:
        if seconds >= 2 * length:
            return f"about {counted(math.floor(seconds / length), unit)}"
    return "less than two minutes"


def pace(per_second: float) -> str:
    """Say how many come, in a unit of which there are some.

    >>> [pace(rate) for rate in (0, 0.0001, 0.5, 20)]
    ['none a day', '9 a day', '30 a minute', '20 a second']
    """
    for unit, length in (("second", 1.0), ("minute", 60.0), ("hour", 3600.0)):
        if per_second * length >= 10:
            return f"{per_second * length:,.0f} a {unit}"
    return f"{round(per_second * 86400) or 'none'} a day"


def size_name(k: int) -> str:
    """Name itemsets by their size."""
    return _SIZES.get(k, f"itemsets of {k}")


def names(items: Iterable[str]) -> list[str]:
    """Return names to show, each cut where it is very long."""
    return [
        each if len(each) <= _MOST_LETTERS else f"{each[:_MOST_LETTERS]}… ({len(each):,} letters)" for each in items
    ]


def belief(value: Fraction, *, up: bool) -> str:
    """Write a belief in percent, rounded against the promise, with two decimals at most.

    >>> belief(Fraction(1, 20), up=False), belief(Fraction(2, 3), up=True)
    ('5%', '66.67%')
    """
    hundredths = 10000 * value
    return f"{(math.ceil(hundredths) if up else math.floor(hundredths)) / 100:g}%"


def figure_up(value: float) -> str:
    """Write γ or ε with four digits, rounded up.

    >>> figure_up(2.94444), figure_up(19.0)
    ('2.945', '19')
    """
    digits = 4 - math.floor(math.log10(value)) - 1
    return f"{math.ceil(round(value * 10**digits, 6)) / 10**digits:.10g}"


def number(value: float) -> str:
    """Write a value of a column with four digits.

    >>> number(85685.7), number(1105432.1), number(0.25)
    ('85,690', '1,105,000', '0.25')
    """
    short = float(f"{value:.4g}")
    return f"{short:,.0f}" if abs(short) >= 1000 else f"{short:g}"
