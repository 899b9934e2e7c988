"""Short reprs, pages and data frames of results. Figures are written as on pages (show/result_record.py)."""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeAlias

from assocpriv.guarantees.amplification import LARGEST_DENOMINATOR, float_up, round_amplification_up, round_epsilon_up

if TYPE_CHECKING:
    import pandas as pd

    Frame: TypeAlias = pd.DataFrame  # for the client's modules, which may not import pandas, not even for its types

MOST_LINES, WIDTH = 6, 80  # of a repr


def short_repr(result: object, answer: str, rows: Iterable[str] = ()) -> str:
    """Return a repr of at most ``MOST_LINES`` lines of ``WIDTH`` columns: the answer, then rows.

    >>> print(short_repr(Fraction(1), "5 sizes", map(str, range(9))))
    Fraction(5 sizes)
      0
      1
      2
      3
      … and 5 more in to_frame()
    """
    lines, name = [*rows], f"{type(result).__name__}("
    if len(lines) >= MOST_LINES:
        lines = [*lines[: MOST_LINES - 2], f"… and {len(lines) - MOST_LINES + 2} more in to_frame()"]
    return "\n".join([f"{name}{shorten(answer, WIDTH - len(name) - 1)})", *(f"  {shorten(each)}" for each in lines)])


def shorten(text: str, width: int = WIDTH - 2) -> str:
    """Return a text on one line, cut at a width.

    >>> shorten("one line", 5), shorten("two\\nlines")
    ('one …', 'two lines')
    """
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def rows_frame(columns: str, rows: Iterable[Sequence[Any]]) -> "Frame":
    """Return a data frame of rows; ``columns`` are names separated by blanks."""
    import pandas as pd

    return pd.DataFrame([*rows], columns=columns.split())


def figure(value: Any, unit: str) -> str:
    """Write a figure in a unit of the pages; None is a dash.

    >>> figure(0.0123, "share"), figure(Fraction(20, 3), "up")
    ('1.23%', '6.66667')
    """
    return str(resolve_name("assocpriv.show.result_record:write")(value, unit))


def share_or_nan(support: float) -> float:
    """Return a detectable support, or NaN for 1 or more, where nothing is detectable."""
    return support if support < 1 else math.nan


def gamma_and_epsilon(amplification: Fraction | None) -> tuple[float | None, float | None]:
    """Return γ and ε as floats, rounded up; infinity for a γ beyond all floats; None without γ.

    >>> gamma_and_epsilon(Fraction(19))
    (19.0, 2.944439)
    """
    if amplification is None:
        return None, None
    try:
        gamma = float_up(amplification)
    except OverflowError:
        gamma = math.inf
    return gamma, round_epsilon_up(amplification)


def bound_text(amplification: Fraction | None, sign: str = "≤") -> str:
    """Return ε and γ as text.

    >>> bound_text(Fraction(19), "<")
    'ε ≤ 2.944439 (γ < 19)'
    """
    if amplification is None:
        return "no guarantee"
    shown = amplification
    if amplification.denominator > LARGEST_DENOMINATOR:  # that of many reports has a million digits
        shown = round_amplification_up(amplification, LARGEST_DENOMINATOR)
    return f"ε ≤ {round_epsilon_up(shown)} (γ {sign} {figure(shown, 'up')})"


def plan_bound(plan: Any) -> str:
    """Return ε and γ of all reports of one person under a plan as text."""
    text = bound_text(plan.composed_amplification)
    if plan.guarantee is not None:
        text = bound_text(plan.guarantee.amplification_limit, "<")
    return f"{text} for {plan.reports_per_person} reports together" if plan.reports_per_person > 1 else text


def html_renderer(reference: str) -> Callable[[Any], str]:
    """Return a ``_repr_html_`` method that renders the record which ``module:function`` makes of an object."""
    return lambda shown: str(resolve_name(reference)(shown)._repr_html_())
