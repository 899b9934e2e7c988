"""Figures as people read them.

Supports and other shares, figures of privacy, spans of time, values of columns; names of itemset sizes and of items
that may be anything; where a table is cut. Also records: attributes and figures as JSON content has them.
"""

import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from assocpriv.plans.catalogue import sort_key
from assocpriv.promise.errors import counted
from assocpriv.promise.numbers import PLAIN

_MOST_LETTERS = 60  # of a name that are shown
_SPANS = (("year", 365 * 86400.0), ("month", 30 * 86400.0), ("day", 86400.0), ("hour", 3600.0), ("minute", 60.0))
_SIZES = {1: "single items", 2: "pairs", 3: "triples"}


# ---- shares


def percent(value: float, decimals: int = 3, width: int = 0) -> str:
    """Write a share in percent: supports with three decimals, for they are small; what is lost or right with one."""
    return f"{value:{width}.{decimals}%}"


def percent_as_given(value: float, digits: int = 6) -> str:
    """Write a share that somebody chose as shortly as it was given, 5% and not 5.000%."""
    return f"{100 * value:.{digits}g}%"


def percent_up(value: float, decimals: int = 2) -> str:
    """Write a support that suffices, rounded up.

    >>> percent_up(0.07), percent_up(0.011851, 3)
    ('7.00%', '1.186%')
    """
    if value > 1:
        return "more than 100%"
    exact = Decimal(str(value)).scaleb(2)  # as a float is written: its own last bits would lift 7% to 7.01%
    return f"{exact.quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING)}%"


def confidence_above(value: Fraction) -> str:
    """Write a confidence that is above its bound, rounded up: just above 30% must not read 30.0%.

    >>> confidence_above(Fraction(3001, 10000)), confidence_above(Fraction(3, 5))
    ('30.1%', '60.0%')
    """
    return percent_up(float(value), 1)


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


def discoverable(value: float | None) -> str:
    """Write a support that can be discovered, or that there is none."""
    return "none" if value is None or value >= 1 else percent(value)


def errors_of(level: float) -> float:
    """Return how many standard errors an interval of a confidence level reaches to each side.

    >>> round(errors_of(0.95), 2), round(errors_of(0.999), 2)
    (1.96, 3.29)
    """
    return NormalDist().inv_cdf((1 + level) / 2)


# ---- privacy


def percent_within(value: Fraction, *, up: bool) -> str:
    """Write a belief with four digits, rounded up or down."""
    return written(100 * value, 4, up=up) + "%"


def belief(value: Fraction, *, up: bool) -> str:
    """Write a belief in percent, rounded against the promise, with two decimals at most.

    >>> belief(Fraction(1, 20), up=False), belief(Fraction(2, 3), up=True)
    ('5%', '66.67%')
    """
    hundredths = 10000 * value
    return f"{(math.ceil(hundredths) if up else math.floor(hundredths)) / 100:g}%"


def becomes(prior: Fraction, after: Fraction, promise: Fraction) -> str:
    """Say what a belief becomes, in percent: where rounding up reaches the promise's posterior, that it stays below."""
    most, limit = percent_within(after, up=True), percent_within(promise, up=True)
    then = f"stays below {limit}" if after < promise and most == limit else f"becomes at most {most}"
    return f"{percent_within(prior, up=False)} {then}"


def chance_up(chance: Fraction) -> str:
    """Write a chance as people say it, 1 in 6 or 68 in 100, rounded up.

    >>> [chance_up(Fraction(*chance)) for chance in ((19, 118), (19, 28), (891, 892))]
    ['1 in 6', '68 in 100', '999 in 1,000']
    """
    if chance <= Fraction(1, 2):
        return f"1 in {math.floor(1 / chance):,}"
    for whole in (100, 1000, 10**4, 10**5, 10**6):
        if (part := math.ceil(chance * whole)) < whole:
            return f"{part:,} in {whole:,}"
    return "certainty"


def figure(value: Fraction | float) -> str:
    """Write a figure of privacy with six digits, rounded up."""
    return written(Fraction(value), 6, up=True)


def figure_below(value: Fraction, limit: Fraction) -> str:
    """Write a figure that stays below a limit with its sign: where rounding up reaches the limit, this stands."""
    shown = figure(value)
    return f"< {figure(limit)}" if Fraction(shown) >= limit else f"≤ {shown}"


def written(value: Fraction, digits: int, *, up: bool) -> str:
    """Write a number with so many digits, rounded once, up or down."""
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    # a division, so that only one rounding takes place; the numerator may be longer than the context
    shown = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return f"{shown:f}" if shown.adjusted() in PLAIN else f"{shown:g}"


def figure_up(value: float) -> str:
    """Write a figure of privacy that is a float with at least six digits, rounded up; from a million on as 1e+06."""
    digits = 6 - math.floor(math.log10(value)) - 1
    return f"{math.ceil(value * 10**digits) / 10**digits:.6g}"


# no figure_up with four digits: that takes noise of floats for more (4.2384 is 4.23841) and writes 1e+06
def short_figure_up(value: float) -> str:
    """Write γ or ε with four digits, rounded up.

    >>> short_figure_up(2.94444), short_figure_up(19.0)
    ('2.945', '19')
    """
    digits = 4 - math.floor(math.log10(value)) - 1
    return f"{math.ceil(round(value * 10**digits, 6)) / 10**digits:.10g}"


# ---- other numbers


def number(value: float) -> str:
    """Write a value of a column with four digits.

    >>> number(85685.7), number(1105432.1), number(0.25)
    ('85,690', '1,105,000', '0.25')
    """
    short = float(f"{value:.4g}")
    return f"{short:,.0f}" if abs(short) >= 1000 else f"{short:g}"


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


# ---- names


def size_name(k: int) -> str:
    """Name itemsets by their size."""
    return _SIZES.get(k, f"itemsets of {k}")


def names(items: Iterable[str]) -> list[str]:
    """Return names to show, each cut where it is very long."""
    return [
        each if len(each) <= _MOST_LETTERS else f"{each[:_MOST_LETTERS]}… ({len(each):,} letters)" for each in items
    ]


def listed(names: "frozenset[str] | list[str]") -> str:
    """Name an itemset's items."""
    return ", ".join(sorted(names, key=sort_key))


def rest_line(total: int, top: int) -> list[str]:
    """Say how many rows of a table are not shown, or that there are none."""
    if not total:
        return ["(none)"]
    return [f"… and {total - top:,} more"] if total > top else []


# ---- lists of what was found


def list_sentence(facts: Mapping[str, Any], listed: int, wrong: float, more: int) -> str:
    """Say how many itemsets are listed, of which support, and how many of them are expected to be below it.

    ``facts`` are those of a mined table, as JSON content; ``more`` are likely, but not listed.

    >>> list_sentence({"min_support": 0.02, "auto": False, "top": 0}, 65, 3.14, 1)
    '65 itemsets of a support of 2% or more; about 3.1 of them may be below it; 1 more is likely, but less sure'
    """
    least = percent(facts["min_support"]) if facts["auto"] else percent_as_given(facts["min_support"])
    said = f"the {facts['top']:,} largest supports; " if facts["top"] else ""
    said += f"{counted(listed, 'itemset')} of a support of {least} or more"
    said += ", the least that is likely to be told from noise" if facts["auto"] else ""
    said += f"; about {_expected(wrong)} of them may be below it" if listed else ""
    return said + _more(listed, more, "" if facts["top"] else "likely, but ")


def rule_sentence(said: Mapping[str, Any], more: int, *, marked: bool = False) -> str:
    """Say how many rules are listed, and about how many of them are expected to be false.

    ``said`` is what a table of rules says of itself.

    >>> rule_sentence({"min_confidence": 0.5, "listed": 1, "expected_false": 0.02}, 0)
    '1 rule of a confidence of 50% or more, about none of them expected to be false, of those called sure one in twenty'
    """
    line = f"{counted(said['listed'], 'rule')} of a confidence of {percent_as_given(said['min_confidence'])} or more"
    if said["listed"]:
        sure = "; *: sure (one in twenty false)" if marked else ", of those called sure one in twenty"
        line += f", about {_expected(said['expected_false'])} of them expected to be false{sure}"
    return line + _more(said["listed"], more, "likely, but ")


def _expected(number: float) -> str:
    """Write a number that is expected.

    >>> _expected(0.04), _expected(0.53), _expected(12.4)
    ('none', '0.5', '12')
    """
    return "none" if number < 0.05 else f"{number:.1f}" if number < 9.5 else f"{number:,.0f}"


def _more(listed: int, more: int, likely: str) -> str:
    if not more:
        return ""
    return f"; {more:,}{' more' if listed else ''} {'is' if more == 1 else 'are'} {likely}less sure"


# ---- records


def fields(thing: object, names: str) -> dict[str, Any]:
    """Return attributes as JSON content under their own names, which stand with blanks between."""
    return {name: getattr(thing, name) for name in names.split()}


def finite(by_size: dict[int, float]) -> dict[str, float | None]:
    """Write figures by itemset size as JSON content, which has no infinity."""
    return {str(k): value if math.isfinite(value) else None for k, value in by_size.items()}
