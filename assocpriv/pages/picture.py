"""A chart as a picture of its own: the SVG of a page with its title, legend, background and colours inside.

Colours follow light and dark mode. Values stand where a page has variables, which drawing programs do not know, and
each rule is of this picture's class, so that a notebook which holds it inline keeps its own looks.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from importlib.resources import files
from pathlib import Path

from assocpriv.files.atomic import atomic_output
from assocpriv.promise.errors import FileError

_DRAWN = re.compile(r'<svg role="img" viewBox="0 0 720 ([\d.]+)" aria-label="([^"]*)">(.*)</svg>', re.DOTALL)
_COLOURS = {"light": r"^:root\{([^}]*)\}", "dark": r"dark\)\{:root\{([^}]*)\}"}
_BACK = "rect.back{fill:var(--back)}.title{font-weight:600}.hint{fill:var(--soft)}"
_LINE, _LETTER, _WIDTH = 20, 6.6, 720  # pixels: a line, a letter of it on average, all of it
_UNFIT = re.compile(  # what XML cannot hold, and what turns the direction of names beside it
    "[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]"
)


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
        f'<text class="hint" x="16" y="{end + _LINE * (rows + place):g}">{escape(note)}</text>'
        for place, note in enumerate(notes)
    )
    tall = f"{end + _LINE * (rows + len(notes)) - 8:g}"
    size = f'width="{_WIDTH}" height="{tall}"'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="assocpriv" role="img" {size} '
        f'viewBox="0 0 {_WIDTH} {tall}" aria-label="{label}">'
        f'<style>{_style()}</style><rect class="back" {size}/>'
        f'{title}<g transform="translate(0 {top})">{inner}</g>{below}{said}</svg>'
    )
    return Chart(unescape(label), _UNFIT.sub("\ufffd", svg))


def _legend(keys: Sequence[tuple[str, str]], y: float) -> tuple[str, int]:
    """Return words beside dots, or lines, of their class, as many on a line as it has room for; and the lines."""
    parts, x, rows = list[str](), 16.0, 0
    for words, name in keys:
        wide = 34 + _LETTER * len(words)
        if x > 16 and x + wide > _WIDTH:
            x, rows = 16.0, rows + 1
        at = y + _LINE * rows
        line = f'<path class="{name}" d="M{x:.0f} {at - 4:g}h12"/>'
        parts.append(
            line if name.startswith("curve") else f'<circle class="{name}" cx="{x + 6:.0f}" cy="{at - 4:g}" r="5"/>'
        )
        parts.append(f'<text x="{x + 17:.0f}" y="{at:g}">{escape(words)}</text>')
        x += wide
    return "".join(parts), rows + bool(keys)


def _style() -> str:
    """Return the rules of the pages' charts with their colours: light ones, and dark ones where those are wanted."""
    folder = files("assocpriv.pages") / "templates"
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
