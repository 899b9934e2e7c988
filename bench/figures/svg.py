"""Line plots as SVG, panels side by side, in rows of at most four, with one axis of values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

PANEL, HEIGHT, LEFT, TOP, GAP, BELOW = 270, 300, 84, 96, 26, 62
ROW = HEIGHT + BELOW + 24  # from one row of panels to the next
_MOST_BESIDE = 4
_TITLE_LETTER = 9  # pixels of the widest title's letters, on average
INK, GRID = "#222222", "#e2e2e2"
_MARKS = {
    "circle": '<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>',
    "dot": '<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8"/>',
    "square": '<rect x="{x0:.1f}" y="{y0:.1f}" width="7" height="7"/>',
    "triangle": '<path d="M{x:.1f} {top:.1f}l4.4 7.8h-8.8z"/>',
}


@dataclass(frozen=True, slots=True)
class Style:
    """How a line looks; an empty ``mark`` is none."""

    colour: str
    width: float
    mark: str


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from ``low`` to ``high`` with texts at ticks, logarithmic or not."""

    label: str
    low: float
    high: float
    ticks: Mapping[float, str]
    log: bool = True

    def share(self, value: float) -> float:
        """Return where a value stands: 0 at the low end, 1 at the high end."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (at - low) / (high - low)


def value_axis(label: str, values: Sequence[float]) -> Axis:
    """Return a logarithmic axis with ticks 1, 2, 5 times powers of ten, from below the values to above."""
    steps = [c * 10.0**e for e in range(-9, 10) for c in (1, 2, 5)]
    low = max(step for step in steps if step <= min(values) * (1 + 1e-9))
    high = min(step for step in steps if step >= max(values) * (1 - 1e-9))
    return Axis(label, low, high, {step: f"{step:g}" for step in steps if low <= step <= high})


def count_axis(label: str, most: float) -> Axis:
    """Return an axis from 0 with at most eight ticks, at multiples of 1, 2 or 5 times a power of ten."""
    step = next(c * 10**e for e in range(12) for c in (1, 2, 5) if most <= 8 * c * 10**e)
    ticks = range(0, int(most) + step, step)
    return Axis(label, 0, ticks[-1], {tick: f"{tick:,}" for tick in ticks}, log=False)


Points = Sequence[tuple[float, float]]


def plot(
    title: str, across: Axis, upward: Axis, panels: Mapping[str, Mapping[str, Points]], styles: Mapping[str, Style]
) -> str:
    """Return an SVG document.

    Args:
        title: stands above.
        across: axis of each panel.
        upward: the axis they share.
        panels: by heading, the points of each line, left to right; later lines lie above earlier ones.
        styles: of the lines by name; the legend has their order.
    """
    rows = math.ceil(len(panels) / _MOST_BESIDE)
    beside = math.ceil(len(panels) / rows)
    width = max(LEFT + beside * (PANEL + GAP), LEFT + _TITLE_LETTER * len(title))
    height = TOP + (rows - 1) * ROW + HEIGHT + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{INK}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="26" font-size="15" font-weight="bold">{escape(title)}</text>',
        *_legend(styles),
    ]
    for number, (heading, lines) in enumerate(panels.items()):
        row, column = divmod(number, beside)
        shift = row * ROW
        parts.append(f'<g transform="translate(0 {shift})">' if shift else "<g>")
        left = LEFT + column * (PANEL + GAP)
        parts += _frame(left, heading, across, upward, with_values=column == 0)
        for name, points in lines.items():
            parts += _line([place(left, across, upward, point) for point in points], styles[name])
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def place(left: float, across: Axis, upward: Axis, point: tuple[float, float]) -> tuple[float, float]:
    """Return where a point stands in the panel that starts at ``left``, some pixels from its frame."""
    inner = 12
    return (
        left + inner + across.share(point[0]) * (PANEL - 2 * inner),
        TOP + HEIGHT - upward.share(point[1]) * HEIGHT,
    )


def _legend(styles: Mapping[str, Style]) -> list[str]:
    parts, x = [], float(LEFT)
    for name, style in styles.items():
        parts += _line([(x, 50), (x + 15, 50), (x + 30, 50)], style, marked=slice(1, 2))
        parts.append(f'<text x="{x + 37}" y="54.5">{escape(name)}</text>')
        x += 60 + 6.6 * len(name)
    return parts


def _line(points: Sequence[tuple[float, float]], style: Style, marked: slice = slice(None)) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marked_points = points[marked] if style.mark else []
    marks = [_MARKS[style.mark].format(x=x, y=y, x0=x - 3.5, y0=y - 3.5, top=y - 5) for x, y in marked_points]
    return [
        f'<polyline points="{path}" fill="none" stroke="{style.colour}" stroke-width="{style.width}" '
        'stroke-linejoin="round"/>',
        f'<g fill="{style.colour}">{"".join(marks)}</g>',
    ]


def _frame(left: float, heading: str, across: Axis, upward: Axis, *, with_values: bool) -> list[str]:
    """Return a panel's heading, grid lines and the texts of its axes."""
    right, bottom = left + PANEL, TOP + HEIGHT
    parts = [f'<text x="{left + PANEL / 2}" y="{TOP - 10}" text-anchor="middle">{escape(heading)}</text>']
    for value, text in upward.ticks.items():
        y = place(left, across, upward, (across.low, value))[1]
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>')
        if with_values:
            parts.append(f'<text x="{left - 8}" y="{y + 4.5:.1f}" text-anchor="end">{escape(text)}</text>')
    if with_values:
        middle = TOP + HEIGHT / 2
        turned = f'text-anchor="middle" transform="rotate(-90 18 {middle})"'
        parts.append(f'<text x="18" y="{middle}" {turned}>{escape(upward.label)}</text>')
    for value, text in across.ticks.items():
        x = place(left, across, upward, (value, upward.low))[0]
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}" stroke="{INK}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{escape(text)}</text>')
    return [
        *parts,
        f'<rect x="{left}" y="{TOP}" width="{PANEL}" height="{HEIGHT}" fill="none" stroke="#888888"/>',
        f'<text x="{left + PANEL / 2}" y="{bottom + 44}" text-anchor="middle">{escape(across.label)}</text>',
    ]
