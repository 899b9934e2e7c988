"""Charts as SVG: rows of tables in, a :class:`Chart` out, which pages place and notebooks and files hold by itself.

A chart is a picture of what a table beside it says in figures. Its rules stand in templates/charts.css, all below
the class ``chart``; within a page the colours are the page's. By itself it has them inside, with values in place of
variables, which drawing programs do not know; in notebooks dark ones too.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from itertools import accumulate, count
from pathlib import Path
from statistics import fmean
from textwrap import wrap
from typing import Any

from assocpriv.files.atomic import atomic_output
from assocpriv.guarantees.errors import FileError
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.show.number_format import names

_WIDTH, _LEFT, _RIGHT = 440.0, 48.0, 14.0
_LINE, _LETTERS = 22.0, 48  # of a list of intervals: the height of a line, letters of a name
_LIFTS = (0.9, 1.1, 2.0, 5.0)  # where one shade ends and the next begins
_SHADES = ("below", "even", "some", "more", "most")
SHADED_LEGEND = list(
    zip(("below 0.9", "0.9 to 1.1: as by chance", "1.1 to 2", "2 to 5", "5 and more"), _SHADES, strict=True)
)
_ARROWS, _NODES, _LABEL, _RADIUS = 40, 20, 24, 120.0  # of the graph: arrows, items, letters of one, of its ring
MOST_RANGES = 40  # of rules, more of which cover each other
MOST_CLASSES, MOST_VALUES = 5, 30  # shown of a column
_ROW, _LETTER = 18, 6.8  # pixels of text below a chart: a line, a letter on average, in wide fonts
_UNFIT = re.compile(  # what XML cannot hold, and what turns the direction of names beside it
    "[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]"
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, which shows itself in notebooks; ``svg`` is its text. Of nothing it says so.

    Attributes:
        title: the title, which screen readers read, too.
        height, width: size of the drawing in pixels.
        inner: the drawing in SVG; empty if there is nothing to draw.
        keys: words of the legend, each with the class of the marks that it stands for.
        notes: sentences that stand below a chart by itself.
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
        """Return it for notebooks, with dark colours too, which word processors would mix with the light ones."""
        return self.svg.replace("</style>", f"@media (prefers-color-scheme:dark){{{_style(1)}}}</style>", 1)

    @property
    def svg(self) -> str:
        """It by itself: with title, legend, notes, background and light colours, in CSS that simple readers know."""
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
            f'aria-label="{escape(self.title)}"><style>{_style(0)}</style><rect class="back" fill="#fff" {size}/>'
            f'{title}<g class="chart" transform="translate(0 {top})">{self.inner}</g>{below_text}{below}</svg>'
        )

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it as a file of SVG, which browsers, word processors and drawing programs open.

        Args:
            path: the file, with the extension .svg.
            force: replace an existing file.

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


def _if_not_selected(row: Mapping[str, Any], name: str) -> str:
    return "" if row.get("selected", True) else name


def _cut(name: str, most: int, end: int = 0) -> str:
    """Cut a name; ``end`` letters of its end remain, since names often differ there."""
    return name if len(name) <= most else f"{name[: most - end - 1]}…{name[len(name) - end :]}"


def join_items(items: Sequence[str]) -> str:
    """Return the items of an itemset as one name, each of them cut where they are too long together."""
    whole, most = ", ".join(items), max(_LETTERS // len(items) - 2, 6)
    return whole if len(whole) <= _LETTERS else ", ".join(_cut(each, most, most // 4) for each in items)


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


def _style(scheme: int) -> str:
    """Return the rules of charts with values for their colours: light ones (0) or dark ones (1)."""
    folder = files("assocpriv.show") / "templates"
    rules, page = ((folder / name).read_text(encoding="utf-8") for name in ("charts.css", "style.css"))
    colours = dict(re.findall(r"(--[\w-]+):([^;}]+)", re.findall(r":root\{([^}]*)\}", page)[scheme]))
    return re.sub(r"var\((--[\w-]+)\)", lambda name: colours[name[1]], rules.replace("\n", ""))


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
        y, name = 36.0 * place + 22, name_itemsets(size).removeprefix("single ").replace("itemsets of ", "of ")
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

    A row has ``name``, ``support``, and maybe ``ci_low``, ``ci_high``, ``selected`` (pale where not) and
    ``true_support``, a circle.
    """
    if not rows:
        return NOTHING
    rows = [{"ci_low": row["support"], "ci_high": row["support"], **row} for row in rows]
    most = max(1e-6, *(max(min(row["ci_high"], 1.0), row.get("true_support", 0.0)) for row in rows))
    height = _LINE * len(rows) + 40
    step = next(c * 10.0**e for e in range(-6, 1) for c in (1, 2, 5) if most <= 5 * c * 10.0**e)
    shown = [_cut(row["name"], _LETTERS, _LETTERS // 4) for row in rows]
    left = 14 + 6.8 * max(map(len, shown))  # for names
    width = max(_WIDTH, left + 240)
    scale, parts = (width - left - _RIGHT - 12) / most, []
    for tick in range(int(most / step * 1.0001) + 1):
        x = left + tick * step * scale
        parts.append(f'<path class="grid" d="M{x:.1f} 6V{height - 24:g}"/>')
        parts.append(_text(x, height - 8, f"{100 * tick * step:.6g}%", anchor="middle"))
    for place, row in enumerate(rows):
        y, doubt = 20 + _LINE * place, _if_not_selected(row, " doubt")
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
    """Draw rules by support (logarithmic, above 0) and confidence, coloured by lift; the first with their intervals."""
    if not rules:
        return NOTHING
    height = 300.0
    low, high = _ends(min(row["support"] for row in rules), max(row["support"] for row in rules))
    spots = [(_at(row["support"], low, high), _up(row["confidence"], height)) for row in rules]
    parts = [_axis(low, high, height), *_shares(height)]
    ranges = [
        f"M{x:.1f} {_up(row['confidence_ci_low'], height):.1f}V{_up(row['confidence_ci_high'], height):.1f}"
        for row, (x, _) in zip(rules[:MOST_RANGES], spots, strict=False)
        if "confidence_ci_low" in row
    ]
    parts.append(f'<path class="range doubt" d="{"".join(ranges)}"/>')
    for row, (x, y) in zip(rules, spots, strict=True):
        parts.append(_dot(row, x, y, f"<title>{escape(_rule(row))}</title>"))
    return Chart("Rules by support and confidence", height, "".join(parts))


def _dot(row: Mapping[str, Any], x: float, y: float, title: str = "") -> str:
    look = f"{_if_not_selected(row, 'hollow ')}{shade(row['lift'])}"  # LibreOffice heeds the first class
    return f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="4">{title}</circle>'


def rules_of_graph(rules: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the first rules whose items and arrows have a place in a graph."""
    items, arrows, placed = set[str](), 0, []
    for row in rules:
        own = {*row["antecedents"], *row["consequents"]}
        more = len(own) if len(own) > 2 else 1
        if len(items | own) <= _NODES and arrows + more <= _ARROWS:
            items, arrows = items | own, arrows + more
            placed.append(row)
    return placed


def rules_graph(rules: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw rules as arrows between items on a ring; a rule of three items or more through a dot of its own."""
    items = list(dict.fromkeys(name for row in rules for name in (*row["antecedents"], *row["consequents"])))
    if not items:
        return NOTHING
    spots, middle, width = _ring(items)
    dots, taken = list[str](), list(spots.values())
    parts = ['<marker id="tip" viewBox="0 0 8 8" refX="12" refY="4" markerWidth="7" markerHeight="7" '
             'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 1L8 4L0 7z"/></marker>']  # fmt: skip
    for row in rules:
        sources, targets = ([spots[name] for name in row[side]] for side in ("antecedents", "consequents"))
        look = f'class="edge {shade(row["lift"])}{_if_not_selected(row, " dashed")}" '
        look += f'stroke-width="{0.5 + 2 * row["confidence"]:.1f}"'
        title = f"<title>{escape(_rule(row))}</title>"
        if len(sources) == len(targets) == 1:
            lines = [_bent(*sources[0], *targets[0], *middle)]
        else:
            taken.append(hub := _free_spot(sources, targets, middle, taken))
            lines = [_straight(hub, spot) for spot in targets]
            parts.append(f'<path {look} d="{"".join(_straight(spot, hub) for spot in sources)}"/>')
            dots.append(_dot(row, *hub, title))
            title = ""
        parts += [f'<path {look} marker-end="url(#tip)" d="{line}">{title}</path>' for line in lines]
    parts += dots
    for name, (x, y) in spots.items():
        side, anchor = (8, "start") if x > middle[0] else (-8, "end")
        parts.append(f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>')
        parts.append(_text(x + side, round(y + 4, 1), _cut(name, _LABEL), "", anchor, ' unicode-bidi="isolate"'))
    return Chart("Rules as arrows from antecedents to consequents", 2 * middle[1], "".join(parts), width=width)


_Spot = tuple[float, float]


def _ring(items: Sequence[str]) -> tuple[dict[str, _Spot], _Spot, float]:
    """Return the items' places, each half at equal heights so that labels do not meet, the middle, and the width."""
    sides = items[::2], items[1::2]
    left, right = (22 + 7 * max(min(len(name), _LABEL) for name in side) for side in sides)
    width = max(_WIDTH, 2 * _RADIUS + left + right)
    tall = _RADIUS * min((len(items) + 4) / 12, 1.0)
    middle = (width + left - right) / 2, tall + 14
    spots = {}
    for side, way in zip(sides, (-1, 1), strict=True):
        for place, name in enumerate(side):
            down = 0.95 * ((2 * place + 1) / len(side) - 1)
            spots[name] = middle[0] + way * _RADIUS * math.sqrt(1 - down**2), middle[1] + tall * down
    return spots, middle, width


def _bent(x: float, y: float, to_x: float, to_y: float, mid_x: float, mid_y: float) -> str:
    """Return a line bent towards the middle, so that there and back are two lines."""
    bend_x, bend_y = (x + to_x + mid_x) / 3 + (to_y - y) / 12, (y + to_y + mid_y) / 3 - (to_x - x) / 12
    return f"M{x:.1f} {y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}"


def _straight(start: _Spot, end: _Spot) -> str:
    return f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"


def _free_spot(sources: Sequence[_Spot], targets: Sequence[_Spot], middle: _Spot, taken: Sequence[_Spot]) -> _Spot:
    """Return a spot between both sides and the middle: the first on a spiral that is apart from those taken."""
    x, y = (
        0.4 * fmean(spot[axis] for spot in sources) + 0.4 * fmean(spot[axis] for spot in targets) + 0.2 * middle[axis]
        for axis in (0, 1)
    )
    spiral = ((x + 4 * step**0.5 * math.cos(2.4 * step), y + 4 * step**0.5 * math.sin(2.4 * step)) for step in count())
    return next(spot for spot in spiral if all(math.dist(spot, each) >= 14 for each in taken))


def _rule(row: Mapping[str, Any]) -> str:
    sides = (", ".join(names(row[side])) for side in ("antecedents", "consequents"))
    text = f"{' → '.join(sides)}: confidence {row['confidence']:.1%}, lift {row['lift']:.2f}"
    return text + _if_not_selected(row, " (not selected)")


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
