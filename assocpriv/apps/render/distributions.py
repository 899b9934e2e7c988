"""Reconstructed distributions as text: bars, mean and quantiles."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assocpriv.apps.render.figures import percent_as_given
from assocpriv.promise.numbers import rounded
from assocpriv.server.distributions import Distribution, Distributions, Figure, JointDistribution, Numbers

_ROWS, _BAR = 10, 30  # rows of a number's histogram, and characters of its longest bar
_PAIRS = 20  # of two columns shown as text
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BASES = {
    "least-squares": "Bands and quantiles assume nothing but even spread within intervals (unbiased least squares).",
    "smooth": "Behind Gaussian noise bands and quantiles assume an evenly rough log-density; not for narrow peaks.",
}


def distribution_lines(found: Distributions) -> list[str]:
    """Return distributions as text."""
    if found.joint is not None:
        return _joint_lines(found.joint)
    lines = [f"reports     {found.reports:,}"]
    parts = (
        {"": found.columns}
        if found.by is None
        else {f"{found.by}={value}: ": of for value, of in found.classes.items()}
    )
    bases = set()
    for prefix, columns in parts.items():
        for each in columns.values():
            lines += ["", *_column_lines(prefix, each, found.confidence_level)]
            if each.numbers is not None:
                bases.add(each.numbers.basis)
    return [*lines, "", *(_BASES[basis] for basis in sorted(bases))] if bases else lines


def left_out_lines(found: Distributions) -> list[str]:
    """Say of classes why they are left out."""
    return [f"{found.by}={value} is left out: {why}" for value, why in found.left_out.items()]


def _column_lines(prefix: str, each: Distribution, level: float) -> list[str]:
    lines = [f"{prefix}{each.name}  {each.reports:,} reports, method {each.method}"]
    if each.missing is not None:
        lines.append(f"  missing   {each.missing.value:.2%} ± {each.missing.std_error:.2%}")
    numbers = each.numbers
    if numbers is None:
        width = max(map(len, each.values))
        rows = zip((value.ljust(width) for value in each.values), each.share, each.std_error, strict=True)
        return lines + _bars(list(rows))
    for name, figure in (("mean", numbers.mean), ("variance", numbers.variance)):
        if figure is not None:
            lines.append(f"  {name:<8}  {_with_error(figure)}")
    if numbers.mean is None:
        lines.append("  mean      undecidable, and so is all below: nobody seems to hold a value")
    elif numbers.variance is None:
        lines.append("  variance  undecidable: what lies within a class cannot be seen")
    lines += [f"  {name:<8}  {said}" for name, said in _quantile_rows(numbers)]
    lines.append(f"  band      ±{_half_width(numbers):.1%} at most, {percent_as_given(level)} sure everywhere at once")
    return lines + _bars(_rows(each, numbers))


def _quantile_rows(numbers: Numbers) -> list[tuple[str, str]]:
    found = numbers.quantiles
    rows = {
        "quantile": [f"{each.level:.0%}" for each in found],
        "is": [rounded(each.value, 4) for each in found],
        "from": [rounded(each.low, 4) for each in found],
        "to": [rounded(each.high, 4) for each in found],
    }
    width = max(10, 2 + max(len(text) for texts in rows.values() for text in texts))
    return [(name, "".join(f"{text:>{width}}" for text in texts)) for name, texts in rows.items()]


def _with_error(figure: Figure) -> str:
    value, low, high = (rounded(each, 5) for each in (figure.value, figure.low, figure.high))
    return f"{value} ± {rounded(figure.std_error, 2)}  ({low}–{high})"


def _half_width(numbers: Numbers) -> float:
    return float((numbers.cdf_high - numbers.cdf_low)[1:-1].max(initial=0.0)) / 2


def _rows(each: Distribution, numbers: Numbers) -> list[tuple[str, float, float | None]]:
    """Return some ten rows of neighbouring intervals; errors are those of single intervals, so they stand alone."""
    n = len(each.share)
    cuts = np.unique(np.linspace(0, n, min(n, _ROWS) + 1).round().astype(int))
    shares = np.add.reduceat(each.share, cuts[:-1])
    texts = _ranges(numbers.edges[cuts])
    errors: Sequence[float | None] = list(each.std_error) if len(cuts) == n + 1 else [None] * len(shares)
    return list(zip(texts, map(float, shares), errors, strict=True))


def _ranges(edges: NDArray[np.float64]) -> list[str]:
    texts = [rounded(edge, 6) for edge in edges]
    width = max(map(len, texts))
    return [f"{low:>{width}} – {high:>{width}}" for low, high in pairwise(texts)]


def _bars(rows: Sequence[tuple[str, float, float | None]]) -> list[str]:
    most = max(max((share for _, share, _ in rows), default=0.0), 1e-12)
    lines = []
    for text, share, error in rows:
        full, rest = divmod(round(max(share, 0.0) / most * _BAR * 8), 8)
        bar = "█" * full + (_EIGHTHS[rest] if rest else "")
        shown = f"{share:7.2%}" if error is None else f"{share:7.2%} ± {error:.2%}"
        lines.append(f"  {text}  {shown}  {bar}".rstrip())
    return lines


def _joint_lines(joint: JointDistribution) -> list[str]:
    frame = joint.frame().sort_values("share", ascending=False, kind="stable")
    first, second = joint.names
    head = [f"{first} × {second}  {joint.reports:,} reports, method {joint.method}", ""]
    shown = frame.head(_PAIRS)
    columns = [[first, *shown["first"]], [second, *shown["second"]]]
    widths = [max(map(len, column)) for column in columns]
    shares = ["share", *(f"{s:.2%} ± {e:.2%}" for s, e in zip(shown["share"], shown["std_error"], strict=True))]
    lines = [
        f"{one:<{widths[0]}}  {two:<{widths[1]}}  {share}" for one, two, share in zip(*columns, shares, strict=True)
    ]
    rest = len(frame) - len(shown)
    return [*head, *lines, *([f"… and {rest:,} more pairs"] if rest else [])]
