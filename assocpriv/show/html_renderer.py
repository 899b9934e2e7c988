"""Render a record as HTML with jinja2: a page in one file, a fragment for notebooks, parts of the collector's page.

A page loads nothing from elsewhere; its content-security-policy forbids it. Its one script, which sorts and filters, is
allowed by its hash. Pages with long names show fewer rows.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assocpriv.show.number_format import selected
from assocpriv.show.result_record import Record, Table, Writer, drawn_lines, drawn_rows, filled, write
from assocpriv.show.text_renderer import read_glossary

_MOST_BYTES = 300_000  # of a page
_BAR = 160  # units of a bar
_OF_NAMES = {"name", "text"}  # fields whose direction of writing is their own


class _HtmlWriter(Writer):
    """Escape what is filled in; isolate names, as some are written from right to left."""

    def format_field(self, value: Any, unit: str) -> str:
        if unit == "names":
            return Markup(", ").join(Markup("<bdi>{}</bdi>").format(name) for name in selected(value))
        text = escape(write(value, unit))
        return Markup("<bdi>{}</bdi>").format(text) if unit in _OF_NAMES else text


_WRITER = _HtmlWriter()


def _filled(template: str, content: Mapping[str, Any]) -> Markup:
    text = _WRITER.fill(str(escape(template)), content)
    return Markup(re.sub(r"`([^`<>]+)`", r"<code>\1</code>", text))  # escaped above


def _sentence(template: str, content: Mapping[str, Any]) -> Markup:
    """Return a template filled as a sentence: with a capital and a full stop, which plain text leaves out."""
    text = _filled(template, content)
    return Markup(text[:1].upper()) + text[1:] + Markup("" if text.endswith((*".:;?!…", "</code>")) else ".")


def _bars(table: Table) -> list[str]:
    """Return the SVG path of each row's interval and estimate, which the page's policy allows."""
    if table.lines:
        return [_line(row) for row in drawn_lines(table)]
    if table.bars is None:
        return []
    drawn = [[round(_BAR * each) for each in row] for row in drawn_rows(table)]
    return [f"M{low} 8h{max(high - low, 1)}M{middle} 3v10" for low, middle, high in drawn]


def _line(triples: Sequence[tuple[float, float, float]]) -> str:
    """Return the SVG path of a line through estimates with upright intervals; the scale has 16 units."""
    step = _BAR / max(len(triples), 1)
    places = [round(step * (place + 0.5)) for place in range(len(triples))]
    points = [[round(15 - 14 * each, 1) for each in row] for row in triples]
    upright = "".join(f"M{x} {low:g}V{high:g}" for x, (low, _, high) in zip(places, points, strict=True))
    return upright + "M" + "L".join(f"{x} {middle:g}" for x, (_, middle, _) in zip(places, points, strict=True))


def environment(*packages: str) -> Environment:
    """Return the templates of packages and those of all pages; values are escaped."""
    loaders = [PackageLoader(package) for package in (*packages, "assocpriv.show")]
    made = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"fill": _filled, "sentence": _sentence}
    made.globals |= {"content_of": filled, "bars_of": _bars}
    return made


_TEMPLATES = environment()


def fragment(record: Record) -> Markup:
    """Return a record's parts as HTML, for a notebook or within a page."""
    shown = _TEMPLATES.get_template("parts.html").module
    return Markup(shown.show(record.parts, record.content))  # type: ignore[attr-defined]


def _glossary() -> list[list[str]]:
    return [each.removeprefix("**").split("**: ", 1) for each in read_glossary().split("\n\n")]


def page(record: Callable[[int], Record]) -> str:
    """Return a page of at most 300 kB; ``record`` makes the record for a maximum number of rows in each table."""
    script = _TEMPLATES.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rows = 1000
    while True:
        made = _TEMPLATES.get_template("page.html").render(
            record=record(rows), script=Markup(script), script_hash=digest, glossary=_glossary()
        )
        if len(made.encode()) <= _MOST_BYTES or rows < 2:
            return made
        rows = int(0.9 * rows * _MOST_BYTES / len(made.encode()))
