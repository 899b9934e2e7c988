"""Numbers as text: supports and other shares, figures of privacy, names of itemset sizes, cut tables; and records."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from assocpriv.plans.catalogue import sort_key
from assocpriv.promise.numbers import PLAIN


def percent(value: float, decimals: int = 3, width: int = 0) -> str:
    """Write a share in percent: supports with three decimals, for they are small; what is lost or right with one."""
    return f"{value:{width}.{decimals}%}"


def percent_or_dash(value: float, width: int = 9) -> str:
    """Write a support, or a dash where there is none."""
    return percent(value, width=width) if math.isfinite(value) else f"{'—':>{width}}"


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


def percent_within(value: Fraction, *, up: bool) -> str:
    """Write a belief with four digits, rounded up or down."""
    return written(100 * value, 4, up=up) + "%"


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


def discoverable(value: float | None) -> str:
    """Write a support that can be discovered, or that there is none."""
    return "none" if value is None or value >= 1 else percent(value)


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


def fields(thing: object, names: str) -> dict[str, Any]:
    """Return attributes as JSON content under their own names, which stand with blanks between."""
    return {name: getattr(thing, name) for name in names.split()}


def finite(by_size: dict[int, float]) -> dict[str, float | None]:
    """Write figures by itemset size as JSON content, which has no infinity."""
    return {str(k): value if math.isfinite(value) else None for k, value in by_size.items()}


def listed(names: "frozenset[str] | list[str]") -> str:
    """Name an itemset's items."""
    return ", ".join(sorted(names, key=sort_key))


def rest_line(total: int, top: int) -> list[str]:
    """Say how many rows of a table are not shown, or that there are none."""
    if not total:
        return ["(none)"]
    return [f"… and {total - top:,} more"] if total > top else []
