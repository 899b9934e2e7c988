"""Write figures and names for people: shares, privacy figures, spans of time, column values, items; and as JSON."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from assocpriv.guarantees.amplification import format_amplification
from assocpriv.guarantees.errors import pluralize
from assocpriv.guarantees.exact_numbers import PLAIN

_MOST_LETTERS = 60  # shown of a name
_SPANS = (("year", 365 * 86400.0), ("month", 30 * 86400.0), ("day", 86400.0), ("hour", 3600.0), ("minute", 60.0))


# ---- shares


def percent_as_given(value: float, digits: int = 6) -> str:
    """Write a share as briefly as a user types it: 5%, not 5.000%."""
    return f"{100 * value:.{digits}g}%"


def percent_up(value: float, decimals: int = 2) -> str:
    """Write a sufficient support, rounded up.

    >>> percent_up(0.07), percent_up(0.070001), percent_up(0.0118501, 3), percent_up(1.5)
    ('7.00%', '7.01%', '1.186%', 'more than 100%')
    """
    if value > 1:
        return "more than 100%"
    exact = Decimal(str(value)).scaleb(2)  # as a float is written: its own last bits would lift 7% to 7.01%
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING)}%"


def share(value: float | None) -> str:
    """Write a support, small ones with one more digit; a value that is no share is "none".

    >>> [share(value) for value in (0.0693, 0.00123, 0.5, 1.2, None)]
    ['6.93%', '0.123%', '50.00%', 'none', 'none']
    """
    return "none" if value is None or not -1 < value <= 1 else estimate(value)


def estimate(value: float) -> str:
    """Write an estimate of a support, which noise may move below 0 or above 100%.

    >>> estimate(1.0039), estimate(-0.002)
    ('100.39%', '-0.200%')
    """
    return f"{100 * value:.{2 if abs(value) >= 0.01 else 3}f}%"


def detectable(value: float | None) -> str:
    """Write a detectable support, or "none"."""
    return "none" if value is None or value >= 1 else f"{value:.3%}"


def interval(level: float) -> str:
    """Name the intervals of a confidence level."""
    return f"{percent_as_given(level)} interval"


def errors_of(level: float) -> float:
    """Return the half-width of an interval of a confidence level, in standard errors.

    >>> round(errors_of(0.95), 2), round(errors_of(0.999), 2)
    (1.96, 3.29)
    """
    return NormalDist().inv_cdf((1 + level) / 2)


# ---- privacy


def chance_up(chance: Fraction) -> str:
    """Write a probability as 1 in 6 or 68 in 100, rounded up.

    >>> [chance_up(Fraction(*chance)) for chance in ((19, 118), (19, 28), (891, 892))]
    ['1 in 6', '68 in 100', '999 in 1,000']
    """
    if chance <= Fraction(1, 2):
        return f"1 in {math.floor(1 / chance):,}"
    for whole in (100, 1000, 10**4, 10**5, 10**6):
        if (part := math.ceil(chance * whole)) < whole:
            return f"{part:,} in {whole:,}"
    return "certainty"


def written(value: Fraction, digits: int, *, up: bool) -> str:
    """Write a number with a number of digits, rounded once, up or down."""
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    # a division, so that only one rounding takes place; the numerator may be longer than the context
    shown = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return f"{shown:f}" if shown.adjusted() in PLAIN else f"{shown:g}"


def points(value: float) -> str:
    """Write a difference of shares or probabilities in percentage points, rounded up, at most 100.

    >>> points(0.000378), points(-0.0189), points(2.5)
    ('0.0378 points', '1.89 points', '100 points')
    """
    return f"{written(min(100 * Fraction(str(abs(value))), Fraction(100)), 3, up=True)} points"


# ---- other numbers


def number(value: float) -> str:
    """Write a value of a column with four digits.

    >>> number(85685.7), number(1105432.1), number(0.25)
    ('85,690', '1,105,000', '0.25')
    """
    short = float(f"{value:.4g}")
    return f"{short:,.0f}" if abs(short) >= 1000 else f"{short:g}"


def span(seconds: float) -> str:
    """Write a duration roughly, in the largest unit of which there are two.

    >>> [span(seconds) for seconds in (20, 150, 7200.0, 864000, 1e12)]
    ['less than two minutes', 'about 2 minutes', 'about 2 hours', 'about 10 days', 'more than a hundred years']
    """
    if seconds > 100 * _SPANS[0][1]:
        return "more than a hundred years"
    for unit, length in _SPANS:
        if seconds >= 2 * length:
            return f"about {pluralize(math.floor(seconds / length), unit)}"
    return "less than two minutes"


def pace(per_second: float) -> str:
    """Write a rate in the unit in which it is at least 10, or a day.

    >>> [pace(rate) for rate in (0, 0.0001, 0.5, 20)]
    ['none a day', '9 a day', '30 a minute', '20 a second']
    """
    for unit, length in (("second", 1.0), ("minute", 60.0), ("hour", 3600.0)):
        if per_second * length >= 10:
            return f"{per_second * length:,.0f} a {unit}"
    return f"{round(per_second * 86400) or 'none'} a day"


# ---- names


def names(items: Iterable[str]) -> list[str]:
    """Return names to show, very long ones cut."""
    return [
        each if len(each) <= _MOST_LETTERS else f"{each[:_MOST_LETTERS]}… ({len(each):,} letters)" for each in items
    ]


def selected(items: Iterable[str]) -> list[str]:
    """Return an itemset's items to show, sorted; those with a comma in double quotes, as commands read them."""
    from assocpriv.plans.baskets.catalogue import sort_key  # numpy, which --help goes without

    shown = names(sorted(items, key=sort_key))
    return ['"' + each.replace('"', '""') + '"' if "," in each else each for each in shown]


def expected(number: float) -> str:
    """Write an expected number.

    >>> expected(0.04), expected(0.53), expected(12.4)
    ('none', '0.5', '12')
    """
    return "none" if number < 0.05 else f"{number:.1f}" if number < 9.5 else f"{number:,.0f}"


# ---- records


def fields(thing: Any, names: str = "") -> dict[str, Any]:
    """Return attributes as JSON content; ``names`` are separated by blanks, all fields of a dataclass by default."""
    kept = names.split() or [each.name for each in dataclasses.fields(thing)]
    return {name: plain(getattr(thing, name)) for name in kept}


def plain(value: Any) -> Any:
    """Return a value as JSON content: fractions as text, NaN and infinity as null, dataclasses as objects.

    >>> plain({1: (Fraction(1, 20), math.inf)})
    {'1': ['1/20', None]}
    """
    match value:
        case Fraction():
            return format_amplification(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
    return fields(value) if dataclasses.is_dataclass(value) else value


def finite(by_size: Mapping[int, float]) -> dict[str, float | None]:
    """Return supports by itemset size as JSON content; null for 100% or more."""
    return {str(k): value if value < 1 else None for k, value in by_size.items()}
