"""Charts as SVG: numbers in, markup out.

A chart is a picture of what a table beside it says in figures; its title says what it shows to who cannot see it.
Within a page its colours are those of the page's style, so that dark mode has its own.

What was found in baskets comes as rows of tables and as charts, for the page of a mined table and for the operator's:
plain objects, as mining and ``rules`` tell them. How they look is in templates/found.html and found.css.

A picture is a chart of its own, by the name of its kind: the SVG of a page with its title, legend, background and
colours inside. Colours follow light and dark mode. Values stand where a page has variables, which drawing programs do
not know, and each rule is of this picture's class, so that a notebook which holds it inline keeps its own looks.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from assocpriv.files.atomic import atomic_output
from assocpriv.promise.errors import FileError
from assocpriv.show.figures import estimate, names, share, size_name

_WIDTH, _LEFT, _RIGHT = 720.0, 64.0, 16.0
_LIFTS = (0.9, 1.1, 2.0, 5.0)  # where one shade ends and the next begins
_SHADES = ("below", "even", "some", "more", "most")
SHADED_LEGEND = list(
    zip(("below 0.9", "0.9 to 1.1: as by chance", "1.1 to 2", "2 to 5", "5 and more"), _SHADES, strict=True)
)
_LABEL = 20  # letters of a name in a graph
_NAMES, _LINE, _LETTERS = 330.0, 24.0, 40  # of a list of intervals: room for names, the height of a line
_EDGES, _NODES = 40, 24  # of the graph
_LEFTS, _RIGHTS = 20, 11  # of the matrix
_BAR = 160  # pixels, of an interval drawn in a table
MOST_CLASSES, MOST_VALUES = 5, 30  # shown of a column
_DRAWN = re.compile(r'<svg role="img" viewBox="0 0 720 ([\d.]+)" aria-label="([^"]*)">(.*)</svg>', re.DOTALL)
_COLOURS = {"light": r"^:root\{([^}]*)\}", "dark": r"dark\)\{:root\{([^}]*)\}"}
_BACK = "rect.back{fill:var(--back)}.title{font-weight:600}.hint{fill:var(--soft)}"
_ROW, _LETTER, _SHEET = 20, 6.6, 720  # pixels: a line, a letter of it on average, all of it
_UNFIT = re.compile(  # what XML cannot hold, and what turns the direction of names beside it
    "[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]"
)


# ---- drawings


class Strip(NamedTuple):
    """Itemsets of one size on a line: their supports, whether each is sure, and the minimum support."""

    name: str
    supports: Sequence[float]
    sure: Sequence[bool]
    asked: float


class Interval(NamedTuple):
    """An itemset's support with its interval; ``truth`` where somebody knows it."""

    name: str
    support: float
    low: float
    high: float
    sure: bool = True
    truth: float | None = None


class Curves(NamedTuple):
    """Shares below each edge of intervals, lines of ``(edges, shares)``; the first in a band, ``low`` to ``high``."""

    name: str
    lines: Sequence[tuple[Sequence[float], Sequence[float]]]
    low: Sequence[float]
    high: Sequence[float]


class Point(NamedTuple):
    """A rule: its support, confidence and lift, and what it is called."""

    support: float
    confidence: float
    lift: float
    name: str


class Edge(NamedTuple):
    """A rule between two items, drawn thicker with its confidence."""

    source: int
    target: int
    confidence: float
    lift: float
    name: str


def shade(lift: float) -> str:
    """Return the class of a lift's colour.

    >>> [shade(lift) for lift in (0.5, 1, 1.5, 3, 50)]
    ['below', 'even', 'some', 'more', 'most']
    """
    return _SHADES[sum(lift >= bound for bound in _LIFTS)]


def strips(rows: Sequence[Strip]) -> str:
    """Draw every size's supports on a line, on one logarithmic axis."""
    some = [value for row in rows for value in (*row.supports, row.asked) if value > 0]
    if not some:
        return ""
    low, high = _ends(min(some), max(some))
    height = 40.0 * len(rows) + 34
    parts = [_axis(low, high, height)]
    for place, row in enumerate(rows):
        y, pairs = 40.0 * place + 24, list(zip(row.supports, row.sure, strict=True))
        parts.append(f'<text x="{_LEFT - 8:g}" y="{y + 4:g}" text-anchor="end">{escape(row.name)}</text>')
        for name, wanted in (("tick", True), ("tick doubt", False)):
            spots = {f"{_at(max(each, low), low, high):.0f}" for each, is_sure in pairs if is_sure is wanted}
            marks = "".join(f"M{x} {y - 9:g}v18" for x in sorted(spots))
            parts.append(f'<path class="{name}" d="{marks}"/>' if marks else "")
        if row.asked > 0:
            x = _at(row.asked, low, high)
            parts.append(f'<path class="edge even" stroke-dasharray="3 3" d="M{x:.1f} {y - 15:g}v30"/>')
    return _svg(height, "Supports by itemset size", parts)


def _ends(least: float, most: float) -> tuple[float, float]:
    """Return round ends of a logarithmic axis, 1, 2 or 5 of some power of ten, that hold all."""
    marks = [start * 10.0**power for power in range(-6, 0) for start in (1, 2, 5)] + [1.0]
    low = max((mark for mark in marks if mark <= least * 1.000001), default=marks[0])
    high = min((mark for mark in marks if mark >= most * 0.999999 and mark > low), default=1.0)
    return min(low, 0.5), high


def _at(value: float, low: float, high: float) -> float:
    share = math.log(value / low) / math.log(high / low)
    return _LEFT + min(max(share, 0.0), 1.0) * (_WIDTH - _LEFT - _RIGHT)


def _axis(low: float, high: float, height: float) -> str:
    starts = (1, 2, 5) if high <= 100 * low else (1,)
    parts = []
    for value in (start * 10.0**power for power in range(-6, 1) for start in starts):
        if low * 0.999999 <= value <= high * 1.000001:
            x = _at(value, low, high)
            parts.append(f'<path class="grid" d="M{x:.1f} 6V{height - 24:g}"/>')
            middle = min(x, _WIDTH - 20)  # of the last one, which would reach beyond the edge
            parts.append(f'<text x="{middle:.1f}" y="{height - 8:g}" text-anchor="middle">{100 * value:g}%</text>')
    return "".join(parts)


def intervals(rows: Sequence[Interval], title: str) -> str:
    """Draw supports with their intervals, a line each, on one axis from 0; circles are the truth."""
    if not rows:
        return ""
    most = max(max(row.high, row.truth or 0.0) for row in rows)
    left, height = _NAMES, _LINE * len(rows) + 62
    scale, parts = _from_zero(most, height, title)
    for place, row in enumerate(rows):
        y = 42 + _LINE * place
        low, high, middle = (left + max(value, 0.0) * scale for value in (row.low, row.high, row.support))
        parts.append(_named(row.name, y))
        doubt = "" if row.sure else " doubt"
        wide = max(high - low, 1.0)
        parts.append(
            f'<rect class="span{doubt}" x="{low:.1f}" y="{y - 2:g}" width="{wide:.1f}" height="4" rx="2"/>'
            f'<path class="tick{doubt}" d="M{middle:.1f} {y - 7:g}v14"/>'
        )
        if row.truth is not None:
            parts.append(f'<circle class="truth" cx="{left + row.truth * scale:.1f}" cy="{y:g}" r="4"/>')
    return _svg(height, title, parts)


def _from_zero(most: float, height: float, title: str) -> tuple[float, list[str]]:
    """Return the pixels of a support of 1, and the title and axis of a list of itemsets."""
    step = next(c * 10.0**e for e in range(-6, 1) for c in (1, 2, 5) if most <= 8 * c * 10.0**e)
    scale = (_WIDTH - _NAMES - _RIGHT) / most
    parts = [f'<text class="title" x="{_RIGHT:g}" y="18">{escape(title)}</text>']
    for tick in range(int(most / step * 1.0001) + 1):
        x = _NAMES + tick * step * scale
        parts.append(f'<path class="grid" d="M{x:.1f} 30V{height - 24:g}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 8:g}" text-anchor="middle">{100 * tick * step:.6g}%</text>')
    return scale, parts


def _named(name: str, y: float) -> str:
    return f'<text x="{_NAMES - 10:g}" y="{y + 4:g}" text-anchor="end">{escape(_cut(name, _LETTERS))}</text>'


def curves(drawing: Curves) -> str:
    """Draw the shares of people below each value, as lines that rise from 0 to 1, and the band of the first."""
    edges = drawing.lines[0][0]
    first, last = edges[0], edges[-1]
    height = 300.0

    def points(edges: Sequence[float], values: Sequence[float]) -> list[str]:
        return [
            f"{_LEFT + (edge - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT):.1f} "
            f"{_up(min(max(value, 0.0), 1.0), height):.1f}"
            for edge, value in zip(edges, values, strict=True)
        ]

    parts = []
    for quarters in range(5):
        y, x = _up(quarters / 4, height), _LEFT + quarters / 4 * (_WIDTH - _LEFT - _RIGHT)
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}"/>')
        parts.append(f'<text x="{_LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{25 * quarters}%</text>')
        value = first + quarters / 4 * (last - first)
        anchor = ("start", "middle", "middle", "middle", "end")[quarters]
        parts.append(f'<text x="{x:.1f}" y="{height - 8:g}" text-anchor="{anchor}">{value:,.6g}</text>')
    if len(drawing.low):
        around = [*points(edges, drawing.low), *reversed(points(edges, drawing.high))]
        parts.append(f'<path class="zone band" d="M{"L".join(around)}z"/>')
    for place, line in enumerate(drawing.lines):
        parts.append(f'<path class="curve{f" line{place}" if place else ""}" d="M{"L".join(points(*line))}"/>')
    return _svg(height, f"Shares of people below each value of {drawing.name}", parts)


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def scatter(points: Sequence[Point]) -> str:
    """Draw rules by support (logarithmic) and confidence, coloured by lift."""
    drawn = [point for point in points if point.support > 0]
    if not drawn:
        return ""
    height = 360.0
    low, high = _ends(min(point.support for point in drawn), max(point.support for point in drawn))
    parts = [_axis(low, high, height)]
    for tenths in range(0, 11, 2):
        y = _up(tenths / 10, height)
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}"/>')
        parts.append(f'<text x="{_LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{10 * tenths}%</text>')
    for point in drawn:
        x, y = _at(point.support, low, high), _up(point.confidence, height)
        parts.append(
            f'<circle class="{shade(point.lift)}" cx="{x:.1f}" cy="{y:.1f}" r="5">'
            f"<title>{escape(point.name)}</title></circle>"
        )
    return _svg(height, "Rules by support, to the right, and confidence, upwards; the colour is the lift", parts)


def _up(share: float, height: float) -> float:
    return height - 34 - share * (height - 50)


def graph(items: Sequence[str], edges: Sequence[Edge]) -> str:
    """Draw items on a circle, and rules between them as arrows."""
    if not edges:
        return ""
    middle, radius = _WIDTH / 2, 190.0
    height = 2 * radius + 90
    turns = [2 * math.pi * place / len(items) - math.pi / 2 for place in range(len(items))]
    spots = [(middle + radius * math.cos(turn), height / 2 + radius * math.sin(turn)) for turn in turns]
    parts = ['<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
             '<path class="tip" d="M0 0L8 4L0 8z"/></marker>']  # fmt: skip
    for edge in edges:
        (x, y), (to_x, to_y) = spots[edge.source], spots[edge.target]
        # bent towards the middle, so that there and back are two lines
        bend_x, bend_y = (x + to_x + middle) / 3 + (to_y - y) / 12, (y + to_y + height / 2) / 3 - (to_x - x) / 12
        parts.append(
            f'<path class="edge {shade(edge.lift)}" stroke-width="{1 + 3 * edge.confidence:.1f}" '
            f'marker-end="url(#tip)" d="M{x:.1f} {y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}">'
            f"<title>{escape(edge.name)}</title></path>"
        )
    for name, turn, (x, y) in zip(items, turns, spots, strict=True):
        side = math.cos(turn)
        anchor = "middle" if abs(side) < 0.3 else "start" if side > 0 else "end"
        lift = 16 if math.sin(turn) > 0.7 else -8 if math.sin(turn) < -0.7 else 4
        parts.append(f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
        parts.append(
            f'<text x="{x + 9 * side:.1f}" y="{y + lift:.1f}" text-anchor="{anchor}" unicode-bidi="isolate">'
            f"{escape(_cut(name, _LABEL))}</text>"
        )
    return _svg(height, "Rules as arrows from what somebody has to what is also had", parts)


def matrix(lefts: Sequence[str], rights: Sequence[str], cells: Sequence[Edge]) -> str:
    """Draw rules as squares, a row for each left side and a column for each right one; larger with confidence."""
    if not cells:
        return ""
    top = 44 + 5.0 * max(len(_cut(name, _LABEL)) for name in rights)  # of slanted names
    wide = min(30.0, (_WIDTH - _NAMES - 60) / len(rights))
    parts = [_named(name, top + _LINE * place) for place, name in enumerate(lefts)]
    for place, name in enumerate(rights):
        x = _NAMES + wide * (place + 0.5)
        parts.append(
            f'<text x="{x:.1f}" y="{top - 16:g}" transform="rotate(-45 {x:.1f} {top - 16:g})" unicode-bidi="isolate">'
            f"{escape(_cut(name, _LABEL))}</text>"
        )
    for cell in cells:
        side = max(4.0, 20.0 * math.sqrt(cell.confidence))
        x, y = _NAMES + wide * (cell.target + 0.5) - side / 2, top + _LINE * cell.source - side / 2
        parts.append(
            f'<rect class="{shade(cell.lift)}" x="{x:.0f}" y="{y:.0f}" width="{side:.0f}" height="{side:.0f}">'
            f"<title>{escape(cell.name)}</title></rect>"
        )
    return _svg(top + _LINE * len(lefts), "Rules by what somebody has, down, and what is also had, across", parts)


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    return f'<svg role="img" viewBox="0 0 {_WIDTH:g} {height:g}" aria-label="{escape(title)}">{"".join(parts)}</svg>'


# ---- rows of tables


def itemset_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is shown of itemsets, all intervals on one scale; each says ``sure``, maybe ``true_support``."""
    scale = max((row["ci_high"] for row in rows), default=1.0) or 1.0
    return [
        {
            "names": names(row["itemset"]),
            "size": len(row["itemset"]),
            "support": estimate(row["support"]),
            "low": share(row["ci_low"]),
            "high": share(row["ci_high"]),
            "bar": _bar(row["ci_low"] / scale, row["ci_high"] / scale, row["support"] / scale),
            "sure": bool(row["sure"]),
            "truth": share(row["true_support"]) if "true_support" in row else "",
        }
        for row in rows
    ]


def rule_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a rule, its confidence with its interval."""
    low, high = row["confidence_ci_low"], row["confidence_ci_high"]
    return {
        "antecedent": names(row["antecedents"]),
        "consequent": names(row["consequents"]),
        "confidence": f"{row['confidence']:.1%}",
        "low": f"{low:.1%}",
        "high": f"{high:.1%}",
        "bar": _bar(low, high, row["confidence"]),
        "support": estimate(row["support"]),
        "lift": f"{row['lift']:.2f}",
        "shade": shade(row["lift"]),
        "sure": bool(row.get("sure", False)),
    }


def _bar(low: float, high: float, middle: float) -> Markup:
    """Draw an interval and the estimate in it, as an SVG path: unlike a style, no policy of a page forbids it."""
    start, end = _pixel(low), _pixel(high)
    return Markup(f"M{start} 8h{max(end - start, 1)}M{_pixel(middle)} 3v10")


def _pixel(part: float) -> int:
    return round(_BAR * min(max(part, 0.0), 1.0))


# ---- charts of finds


def supports_chart(min_support: float, marks: Sequence[tuple[int, float, bool]]) -> Markup:
    """Draw the supports of each size beside the minimum; marks: size, support, whether it is listed."""
    rows = []
    for size in sorted({size for size, _, _ in marks}):
        mine = [(support, is_listed) for each, support, is_listed in marks if each == size]
        name = size_name(size).removeprefix("single ")
        name = f"{size} items" if name.startswith("itemsets of") else name
        rows.append(Strip(name, [support for support, _ in mine], [bool(each) for _, each in mine], min_support))
    return Markup(strips(rows))


def rules_chart(rules: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw rules by support and confidence."""
    points = [Point(row["support"], row["confidence"], row["lift"], _name(row)) for row in rules]
    return Markup(scatter(points))


def rules_matrix(rules: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw the first rules by both sides, of as many sides as there is room for."""
    lefts: dict[str, int] = {}
    rights: dict[str, int] = {}
    cells = []
    for row in rules:
        left, right = (", ".join(names(row[side])) for side in ("antecedents", "consequents"))
        if len({*lefts, left}) > _LEFTS or len({*rights, right}) > _RIGHTS:
            continue
        source, target = lefts.setdefault(left, len(lefts)), rights.setdefault(right, len(rights))
        cells.append(Edge(source, target, row["confidence"], row["lift"], _measures(row)))
        if len(cells) == _EDGES:
            break
    return Markup(matrix(list(lefts), list(rights), cells))


def rules_graph(rules: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw the first rules between single items, of as many items as there is room for."""
    items: dict[str, int] = {}
    edges = []
    for row in rules:
        if len(row["antecedents"]) + len(row["consequents"]) > 2:
            continue
        ends = [row["antecedents"][0], row["consequents"][0]]
        if len({*items, *ends}) > _NODES:
            continue
        source, target = (items.setdefault(name, len(items)) for name in ends)
        edges.append(Edge(source, target, row["confidence"], row["lift"], _name(row)))
        if len(edges) == _EDGES:
            break
    return Markup(graph(list(items), edges))


def _name(row: Mapping[str, Any]) -> str:
    sides = (", ".join(names(row[side])) for side in ("antecedents", "consequents"))
    return f"{' → '.join(sides)}: {_measures(row)}"


def _measures(row: Mapping[str, Any]) -> str:
    return f"confidence {row['confidence']:.1%}, lift {row['lift']:.2f}"


def column_chart(
    name: str,
    column: Mapping[str, Any],
    own: Sequence[tuple[str, Mapping[str, Any]]],
    reach: float,
    most: int = MOST_VALUES,
) -> str:
    """Draw a column: its distribution function, with those of classes, or its commonest values with their shares.

    Intervals of shares reach so many standard errors to either side.
    """
    (shown,) = names([name])
    if "edges" not in column:
        rows = sorted(
            (
                Interval(str(value), part, max(part - reach * error, 0.0), min(part + reach * error, 1.0))
                for value, part, error in zip(column["values"], column["share"], column["std_error"], strict=True)
            ),
            key=lambda row: -row.support,
        )
        return intervals(rows[:most], f"Shares of the values of {shown}")
    band = column.get("distribution") or {"low": (), "high": ()}
    lines = [(each["edges"], [0.0, *accumulate(each["share"])]) for each in (column, *(of for _, of in own))]
    return curves(Curves(shown, lines, band["low"], band["high"]))


# ---- pictures


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, which shows itself in notebooks; ``svg`` is its text."""

    title: str
    svg: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it as a file of SVG, which browsers, word processors and drawing programs open.

        Raises:
            FileError: the file exists and ``force`` is not set, does not end in .svg, or cannot be written.
        """
        if Path(path).suffix.lower() != ".svg":
            raise FileError(f"{path} must end in .svg: a chart is SVG; browsers and drawing programs make others of it")
        with atomic_output(path, force=force) as stream:
            stream.write(f"{self.svg}\n".encode())


def picture(drawn: str, notes: Sequence[str] = (), keys: Sequence[tuple[str, str]] = ()) -> Chart:
    """Return a page's chart by itself, with what its caption there says below: sentences, and words by their class.

    A chart of nothing says so.
    """
    found = _DRAWN.fullmatch(drawn)
    if found is None:
        height, label, inner = 0.0, "Nothing to draw", ""
    else:
        height, label, inner = float(found[1]), found[2], found[3]
    top = 0 if 'class="title"' in inner else 28
    title = f'<text class="title" x="16" y="18">{label}</text>' if top else ""
    end = top + height + 14
    below, rows = _legend(keys, end) if found else ("", 0)
    said = "".join(
        f'<text class="hint" x="16" y="{end + _ROW * (rows + place):g}">{escape(note)}</text>'
        for place, note in enumerate(notes)
    )
    tall = f"{end + _ROW * (rows + len(notes)) - 8:g}"
    size = f'width="{_SHEET}" height="{tall}"'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="assocpriv" role="img" {size} '
        f'viewBox="0 0 {_SHEET} {tall}" aria-label="{label}">'
        f'<style>{_style()}</style><rect class="back" {size}/>'
        f'{title}<g transform="translate(0 {top})">{inner}</g>{below}{said}</svg>'
    )
    return Chart(unescape(label), _UNFIT.sub("\ufffd", svg))


def _legend(keys: Sequence[tuple[str, str]], y: float) -> tuple[str, int]:
    """Return words beside dots, or lines, of their class, as many on a line as it has room for; and the lines."""
    parts, x, rows = list[str](), 16.0, 0
    for words, name in keys:
        wide = 34 + _LETTER * len(words)
        if x > 16 and x + wide > _SHEET:
            x, rows = 16.0, rows + 1
        at = y + _ROW * rows
        line = f'<path class="{name}" d="M{x:.0f} {at - 4:g}h12"/>'
        parts.append(
            line if name.startswith("curve") else f'<circle class="{name}" cx="{x + 6:.0f}" cy="{at - 4:g}" r="5"/>'
        )
        parts.append(f'<text x="{x + 17:.0f}" y="{at:g}">{escape(words)}</text>')
        x += wide
    return "".join(parts), rows + bool(keys)


def _style() -> str:
    """Return the rules of the pages' charts with their colours: light ones, and dark ones where those are wanted."""
    folder = files("assocpriv.show") / "templates"
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("style.css", "charts.css")]
    rules = [line for line in texts[1].splitlines() if not line.startswith((":root", "@media", "svg"))]
    own = ["text{fill:var(--ink)}", *rules, _BACK]
    of = {
        mode: dict(pair.split(":") for text in texts for pair in _first(pattern, text).split(";") if pair[:2] == "--")
        for mode, pattern in _COLOURS.items()
    }
    always = _filled("\n".join(own), of["light"])
    dark = _filled("\n".join(rule for rule in own if "var(" in rule), of["dark"])
    shape = ".assocpriv{max-width:100%;height:auto;font:13px system-ui,sans-serif}"
    return f"{shape}\n{always}\n@media (prefers-color-scheme:dark){{{dark}}}"


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else ""


def _filled(rules: str, colours: Mapping[str, str]) -> str:
    """Return rules for what is within a picture, with values in place of variables; marks of pages' text have none."""
    said = []
    for selectors, body in re.findall(r"([^{}\s][^{}]*)\{([^}]*)\}", rules):
        inside = [
            f".assocpriv {each}" for each in selectors.split(",") if not each.startswith(".key") and ":" not in each
        ]
        said.append(f"{','.join(inside)}{{{re.sub(r';background:[^;]*', '', body)}}}")
    return re.sub(r"var\((--[\w-]+)\)", lambda name: colours[name.group(1)], "".join(said))
