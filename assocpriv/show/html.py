"""A record as HTML, by jinja2: a page in one file, a fragment for notebooks, parts of the operator's page.

A page loads nothing from elsewhere and forbids itself to (content-security-policy); its one script, which sorts and
filters, is allowed by its hash. Where names are long it shows fewer rows.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assocpriv.show.figures import listed
from assocpriv.show.record import Record, Table, Writer, drawn_lines, drawn_rows, filled, write

_MOST_BYTES = 300_000  # of a page
_BAR = 160  # units of a bar
_OF_NAMES = {"name", "text"}  # fields whose direction of writing is their own


class _HtmlWriter(Writer):
    """Escapes what it fills in; names stand apart, as some are written from the right to the left."""

    def format_field(self, value: Any, unit: str) -> str:
        if unit == "names":
            return Markup(", ").join(Markup("<bdi>{}</bdi>").format(name) for name in listed(value))
        text = escape(write(value, unit))
        return Markup("<bdi>{}</bdi>").format(text) if unit in _OF_NAMES else text


_WRITER = _HtmlWriter()


def _filled(template: str, content: Mapping[str, Any]) -> Markup:
    text = _WRITER.fill(str(escape(template)), content)
    return Markup(re.sub(r"`([^`<>]+)`", r"<code>\1</code>", text))  # escaped above


def _sentence(template: str, content: Mapping[str, Any]) -> Markup:
    """Return a template filled as a sentence: text has them in lines without a full stop."""
    text = _filled(template, content)
    return Markup(text[:1].upper()) + text[1:] + Markup("" if text.endswith((*".:;?!…", "</code>")) else ".")


def _bars(table: Table) -> list[str]:
    """Return the path of each row's interval, and of the estimate in it: no policy of a page forbids it."""
    if table.lines:
        return [_line(row) for row in drawn_lines(table)]
    if table.bars is None:
        return []
    drawn = [[round(_BAR * each) for each in row] for row in drawn_rows(table)]
    return [f"M{low} 8h{max(high - low, 1)}M{middle} 3v10" for low, middle, high in drawn]


def _line(triples: Sequence[tuple[float, float, float]]) -> str:
    """Return the path of a line through estimates, each with its interval upright; 16 units are the scale's whole."""
    step = _BAR / max(len(triples), 1)
    places = [round(step * (place + 0.5)) for place in range(len(triples))]
    points = [[round(15 - 14 * each, 1) for each in row] for row in triples]
    upright = "".join(f"M{x} {low:g}V{high:g}" for x, (low, _, high) in zip(places, points, strict=True))
    return upright + "M" + "L".join(f"{x} {middle:g}" for x, (_, middle, _) in zip(places, points, strict=True))


def environment(*packages: str) -> Environment:
    """Return the templates of packages, and those of all pages; what they are given is escaped."""
    loaders = [PackageLoader(package) for package in (*packages, "assocpriv.show")]
    made = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"fill": _filled, "sentence": _sentence}
    made.globals |= {"content_of": filled, "bars_of": _bars}
    return made


_TEMPLATES = environment()


def fragment(record: Record) -> Markup:
    """Return a record's parts, for a notebook or within a page."""
    shown = _TEMPLATES.get_template("parts.html").module
    return Markup(shown.show(record.parts, record.content))  # type: ignore[attr-defined]


def page(record: Callable[[int], Record]) -> str:
    """Return a page of a record, which is made for so many rows of each table at most."""
    script = _TEMPLATES.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rows = 1000
    while True:
        made = _TEMPLATES.get_template("page.html").render(
            record=record(rows), script=Markup(script), script_hash=digest
        )
        if len(made.encode()) <= _MOST_BYTES or rows < 2:
            return made
        rows = int(0.9 * rows * _MOST_BYTES / len(made.encode()))
