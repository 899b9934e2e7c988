"""Charts as SVG: rows of tables in, a :class:`Chart` out, which pages place and notebooks and files hold by itself.

A chart is a picture of what a table beside it says in figures. Its rules stand in templates/charts.css, all below
the class ``chart``; within a page the colours are the page's. By itself it has them inside, light and dark ones, with
values in place of variables, which drawing programs do not know.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from textwrap import wrap
from typing import Any

from assocpriv.files.atomic import atomic_output
from assocpriv.guarantees.errors import FileError
from assocpriv.show.number_format import names, size_name

_WIDTH, _LEFT, _RIGHT = 440.0, 48.0, 14.0
_LINE, _LETTERS = 22.0, 44  # of a list of intervals: the height of a line, letters of a name
_LIFTS = (0.9, 1.1, 2.0, 5.0)  # where one shade ends and the next begins
_SHADES = ("below", "even", "some", "more", "most")
SHADED_LEGEND = list(
    zip(("below 0.9", "0.9 to 1.1: as by chance", "1.1 to 2", "2 to 5", "5 and more"), _SHADES, strict=True)
)
_EDGES, _NODES, _LABEL = 40, 20, 13  # of the graph: rules, items, letters of one
MOST_CLASSES, MOST_VALUES = 5, 30  # shown of a column
_ROW, _LETTER = 18, 6.2  # pixels of text below a chart: a line, a letter on average
_UNFIT = re.compile(  # what XML cannot hold, and what turns the direction of names beside it
    "[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]"
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, which shows itself in notebooks; ``svg`` is its text. Of nothing it says so.

    ``keys`` are words by the class of what they stand for, ``notes`` sentences; both stand below a chart by itself.
    """

    title: str
    height: float = field(default=0.0, repr=False)
    inner: str = field(default="", repr=False)
    keys: Sequence[tuple[str, str]] = field(default=(), repr=False)
    notes: Sequence[str] = field(default=(), repr=False)
    width: float = field(default=_WIDTH, repr=False)

    def __bool__(self) -> bool:
        """Return whether there is something to see."""
        return bool(self.inner)

    def __html__(self) -> str:
        """Return it as a page places it, which has its colours."""
        box = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        return f'<svg class="chart" role="img" {box} aria-label="{escape(self.title)}">{_fit(self.inner)}</svg>'

    def _repr_html_(self) -> str:
        return self.svg

    @property
    def svg(self) -> str:
        """It by itself: with title, legend, notes, background and colours."""
        heads, lines = _broken([self.title], 0.8 * self.width), _broken(self.notes, self.width)
        top = 10 + 16 * len(heads)
        end = self.height + top + 22
        below_text = "".join(_text(16, end + _ROW * place, note, "hint") for place, note in enumerate(lines))
        below, rows = _legend(self.keys, end + _ROW * len(lines), self.width)
        size = f'width="{self.width:g}" height="{end + _ROW * (rows + len(lines)) - 8:g}"'
        box = size.replace('width="', 'viewBox="0 0 ', 1).replace('" height="', " ")
        title = "".join(_text(16, 18 + 16 * place, line, "title") for place, line in enumerate(heads))
        return _fit(
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" {size} {box} '
            f'aria-label="{escape(self.title)}"><style>{_style()}</style><rect class="back" {size}/>'
            f'{title}<g transform="translate(0 {top})">{self.inner}</g>{below_text}{below}</svg>'
        )

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it as a file of SVG, which browsers, word processors and drawing programs open.

        Raises:
            FileError: the file exists and ``force`` is not set, does not end in .svg, or cannot be written.
        """
        if Path(path).suffix.lower() != ".svg":
            raise FileError(f"{path} must end in .svg: a chart is SVG; browsers and drawing programs make others of it")
        with atomic_output(path, force=force) as stream:
            stream.write(f"{self.svg}\n".encode())


NOTHING = Chart("Nothing to draw")


# ---- marks


def shade(lift: float) -> str:
    """Return the class of a lift's colour.

    >>> [shade(lift) for lift in (0.5, 1, 1.5, 3, 50)]
    ['below', 'even', 'some', 'more', 'most']
    """
    return _SHADES[sum(lift >= bound for bound in _LIFTS)]


def _fit(svg: str) -> str:
    return _UNFIT.sub("\ufffd", svg)


def _text(x: float, y: float, words: str, name: str = "", anchor: str = "start", more: str = "") -> str:
    of = f' class="{name}"' if name else ""
    return f'<text{of} x="{x:.1f}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _broken(notes: Sequence[str], width: float) -> list[str]:
    """Break sentences into lines as wide as a chart."""
    return [line for note in notes for line in wrap(note, int((width - 32) / _LETTER))]


def _shares(height: float) -> list[str]:
    """Return the axis of shares, upwards."""
    parts = []
    for percent in range(0, 101, 25):
        y = _up(percent / 100, height)
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}"/>')
        parts.append(_text(_LEFT - 6, round(y + 4, 1), f"{percent}%", anchor="end"))
    return parts


def _ends(least: float, most: float) -> tuple[float, float]:
    """Return round ends of a logarithmic axis, 1, 2 or 5 of some power of ten, that hold all."""
    marks = [start * 10.0**power for power in range(-6, 0) for start in (1, 2, 5)] + [1.0]
    low = max((mark for mark in marks if mark <= least * 1.000001), default=marks[0])
    high = min((mark for mark in marks if mark >= most * 0.999999 and mark > low), default=1.0)
    return min(low, 0.5), high


def _at(value: float, low: float, high: float) -> float:
    share = math.log(max(value, low) / low) / math.log(high / low)
    return _LEFT + min(share, 1.0) * (_WIDTH - _LEFT - _RIGHT)


def _up(share: float, height: float) -> float:
    return height - 34 - share * (height - 50)


def _axis(low: float, high: float, height: float) -> str:
    starts = (1, 2, 5) if high <= 50 * low else (1,)
    parts = []
    for value in (start * 10.0**power for power in range(-6, 1) for start in starts):
        if low * 0.999999 <= value <= high * 1.000001:
            x = _at(value, low, high)
            parts.append(f'<path class="grid" d="M{x:.1f} 6V{height - 24:g}"/>')
            parts.append(_text(min(x, _WIDTH - 20), height - 8, f"{100 * value:g}%", anchor="middle"))
    return "".join(parts)


def _legend(keys: Sequence[tuple[str, str]], y: float, width: float) -> tuple[str, int]:
    """Return words beside dots, or lines, of their class, a full line at a time; and the number of lines."""
    parts, x, rows = list[str](), 16.0, 0
    for words, name in keys:
        wide = 34 + _LETTER * len(words)
        if x > 16 and x + wide > width:
            x, rows = 16.0, rows + 1
        at = y + _ROW * rows
        line, dot = f'd="M{x:.0f} {at - 4:g}h12"', f'cx="{x + 6:.0f}" cy="{at - 4:g}" r="5"'
        is_line = name.startswith("line")
        parts.append(f'<path class="curve {name}" {line}/>' if is_line else f'<circle class="{name}" {dot}/>')
        parts.append(_text(x + 17, at, words))
        x += wide
    return "".join(parts), rows + bool(keys)


def _style() -> str:
    """Return the rules of charts with values for their colours: light ones, and dark ones where those are wanted."""
    folder = files("assocpriv.show") / "templates"
    rules, page = ((folder / name).read_text(encoding="utf-8") for name in ("charts.css", "style.css"))
    light, dark = (
        dict(re.findall(r"(--[\w-]+):([^;}]+)", block)) for block in re.findall(r":root\{([^}]*)\}", page)[:2]
    )
    rules = rules.replace("\n", "")
    coloured = "".join(re.findall(r"[^{}]+\{[^{}]*var\([^{}]*\}", rules))
    return f"{_coloured(rules, light)}@media (prefers-color-scheme:dark){{{_coloured(coloured, dark)}}}"


def _coloured(rules: str, colours: Mapping[str, str]) -> str:
    return re.sub(r"var\((--[\w-]+)\)", lambda name: colours[name[1]], rules)


# ---- itemsets


def supports_chart(min_support: float, marks: Sequence[tuple[int, float, bool]]) -> Chart:
    """Draw the supports of each size on a line, on one logarithmic axis; marks: size, support, whether it is listed."""
    some = [value for _, value, _ in marks if value > 0]
    if not some:
        return NOTHING
    low, high = _ends(min([*some, *([min_support] if min_support > 0 else [])]), max(*some, min_support))
    sizes = sorted({size for size, _, _ in marks})
    height = 36.0 * len(sizes) + 34
    parts = [_axis(low, high, height)]
    for place, size in enumerate(sizes):
        y, name = 36.0 * place + 22, size_name(size).removeprefix("single ").replace("itemsets of ", "of ")
        parts.append(_text(_LEFT - 6, y + 4, name, anchor="end"))
        for mark, wanted in (("tick", True), ("tick doubt", False)):
            spots = {
                round(_at(each, low, high)) for of, each, is_selected in marks if of == size and is_selected is wanted
            }
            drawn = "".join(f"M{x} {y - 8:g}v16" for x in sorted(spots))
            parts.append(f'<path class="{mark}" d="{drawn}"/>' if drawn else "")
        if min_support > 0:
            x = _at(min_support, low, high)
            parts.append(f'<path class="edge even" stroke-dasharray="3 3" d="M{x:.1f} {y - 13:g}v26"/>')
    return Chart("Supports by itemset size", height, "".join(parts))


def intervals(rows: Sequence[Mapping[str, Any]], title: str) -> Chart:
    """Draw supports with their intervals, a line each, on one axis from 0.

    A row has ``name``, ``support``, ``ci_low``, ``ci_high``, and maybe ``selected`` (pale where not) and
    ``true_support``, a circle.
    """
    if not rows:
        return NOTHING
    most = max(max(min(row["ci_high"], 1.0), row.get("true_support", 0.0)) for row in rows)
    height = _LINE * len(rows) + 40
    step = next(c * 10.0**e for e in range(-6, 1) for c in (1, 2, 5) if most <= 5 * c * 10.0**e)
    shown = [_cut(row["name"], _LETTERS) for row in rows]
    left = 14 + 6.8 * max(map(len, shown))  # for names
    width = max(_WIDTH, left + 240)
    scale, parts = (width - left - _RIGHT - 12) / most, []
    for tick in range(int(most / step * 1.0001) + 1):
        x = left + tick * step * scale
        parts.append(f'<path class="grid" d="M{x:.1f} 6V{height - 24:g}"/>')
        parts.append(_text(x, height - 8, f"{100 * tick * step:.6g}%", anchor="middle"))
    for place, row in enumerate(rows):
        y, doubt = 20 + _LINE * place, "" if row.get("selected", True) else " doubt"
        low, at, high = (left + min(max(row[each], 0.0), 1.0) * scale for each in ("ci_low", "support", "ci_high"))
        parts.append(_text(left - 8, y + 4, shown[place], anchor="end"))
        parts.append(
            f'<rect class="span{doubt}" x="{low:.1f}" y="{y - 2:g}" width="{max(high - low, 1):.1f}" height="4"/>'
            f'<path class="tick{doubt}" d="M{at:.1f} {y - 7:g}v14"/>'
        )
        if "true_support" in row:
            parts.append(f'<circle class="truth" cx="{left + row["true_support"] * scale:.1f}" cy="{y:g}" r="4"/>')
    return Chart(title, height, "".join(parts), width=width)


# ---- rules


def rules_chart(rules: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw rules by support (logarithmic) and confidence, coloured by lift."""
    drawn = [row for row in rules if row["support"] > 0]
    if not drawn:
        return NOTHING
    height = 300.0
    low, high = _ends(min(row["support"] for row in drawn), max(row["support"] for row in drawn))
    parts = [_axis(low, high, height), *_shares(height)]
    for row in drawn:
        x, y = _at(row["support"], low, high), _up(row["confidence"], height)
        title = f"<title>{escape(_rule(row))}</title>"
        parts.append(f'<circle class="{shade(row["lift"])}" cx="{x:.1f}" cy="{y:.1f}" r="4.5">{title}</circle>')
    return Chart("Rules by support and confidence", height, "".join(parts))


def rules_graph(rules: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw the first rules between single items, as arrows on a circle."""
    items: dict[str, int] = {}
    edges: list[tuple[int, int, Mapping[str, Any]]] = []
    for row in rules:
        ends = [*row["antecedents"], *row["consequents"]]
        if len(ends) == 2 and len({*items, *ends}) <= _NODES and len(edges) < _EDGES:
            source, target = (items.setdefault(name, len(items)) for name in ends)
            edges.append((source, target, row))
    if not edges:
        return NOTHING
    middle, radius = _WIDTH / 2, 112.0
    height = 2 * radius + 70
    turns = [2 * math.pi * place / len(items) - math.pi / 2 for place in range(len(items))]
    spots = [(middle + radius * math.cos(turn), height / 2 + radius * math.sin(turn)) for turn in turns]
    parts = ['<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
             '<path class="tip" d="M0 0L8 4L0 8z"/></marker>']  # fmt: skip
    for source, target, row in edges:
        (x, y), (to_x, to_y) = spots[source], spots[target]
        # bent towards the middle, so that there and back are two lines
        bend_x, bend_y = (x + to_x + middle) / 3 + (to_y - y) / 12, (y + to_y + height / 2) / 3 - (to_x - x) / 12
        parts.append(
            f'<path class="edge {shade(row["lift"])}" stroke-width="{1 + 2 * row["confidence"]:.1f}" '
            f'marker-end="url(#tip)" d="M{x:.1f} {y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}">'
            f"<title>{escape(_rule(row))}</title></path>"
        )
    for name, turn, (x, y) in zip(items, turns, spots, strict=True):
        side = math.cos(turn)
        anchor = "middle" if abs(side) < 0.3 else "start" if side > 0 else "end"
        lift = 16 if math.sin(turn) > 0.7 else -8 if math.sin(turn) < -0.7 else 4
        parts.append(f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>')
        parts.append(_text(x + 8 * side, round(y + lift, 1), _cut(name, _LABEL), "", anchor, ' unicode-bidi="isolate"'))
    return Chart("Rules as arrows from what somebody has to what is also had", height, "".join(parts))


def _rule(row: Mapping[str, Any]) -> str:
    sides = (", ".join(names(row[side])) for side in ("antecedents", "consequents"))
    return f"{' → '.join(sides)}: confidence {row['confidence']:.1%}, lift {row['lift']:.2f}"


# ---- columns


def column_chart(
    name: str, column: Mapping[str, Any], own: Sequence[tuple[str, Mapping[str, Any]]], reach: float, most: int
) -> Chart:
    """Draw a column: its distribution function, with those of classes, or its commonest values with their shares.

    Intervals of shares reach this number of standard errors to either side.
    """
    (shown,) = names([name])
    if "edges" not in column:
        rows = [
            {"name": str(value), "support": share, "ci_low": share - reach * error, "ci_high": share + reach * error}
            for value, share, error in zip(column["values"], column["share"], column["std_error"], strict=True)
        ]
        rows.sort(key=lambda row: -row["support"])
        return intervals(rows[:most], f"Shares of the values of {shown}")
    return _curves(shown, column.get("distribution"), [column, *(of for _, of in own)])


def _curves(name: str, band: Mapping[str, Any] | None, columns: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw the shares of people below each value, as lines that rise from 0 to 1, and the band of the first."""
    edges, height = columns[0]["edges"], 260.0
    first, last = edges[0], edges[-1]

    def points(edges: Sequence[float], values: Sequence[float]) -> list[str]:
        return [
            f"{_LEFT + (edge - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT):.1f} "
            f"{_up(min(max(value, 0.0), 1.0), height):.1f}"
            for edge, value in zip(edges, values, strict=True)
        ]

    parts = _shares(height)
    for quarters in range(5):
        x = _LEFT + quarters / 4 * (_WIDTH - _LEFT - _RIGHT)
        anchor = ("start", "middle", "middle", "middle", "end")[quarters]
        parts.append(_text(x, height - 8, f"{first + quarters / 4 * (last - first):,.6g}", anchor=anchor))
    if band:
        around = [*points(edges, band["low"]), *reversed(points(edges, band["high"]))]
        parts.append(f'<path class="zone band" d="M{"L".join(around)}z"/>')
    for place, column in enumerate(columns):
        line = points(column["edges"], [0.0, *accumulate(column["share"])])
        parts.append(f'<path class="curve{f" line{place}" if place else ""}" d="M{"L".join(line)}"/>')
    return Chart(f"Shares of people below each value of {name}", height, "".join(parts))
