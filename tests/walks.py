"""Checks that the three walks over a record say the same."""

import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assocpriv.show import text
from assocpriv.show.html import fragment
from assocpriv.show.record import Facts, Page, Part, Picture, Record, Say, Section, Table, Writer, write

_FIGURE = re.compile(r"\d(?:[\d,.]*\d)?")
_WRITER = Writer()


def check(record: Record) -> str:
    """Compare every figure of a record's text, JSON and HTML; return the text.

    What stands in a field of a template is in the JSON content, with the same value, and both others say it as its
    unit writes it; figures of the text and of the HTML are the same, as often.
    """
    content = json.loads(json.dumps(record.to_json(), allow_nan=False))
    leaves = set(_leaves(content))
    said, page = "\n".join(text.lines(record)), str(fragment(record))
    plain = _without_tags(page).lower()  # sentences begin with a capital there
    for value, unit, on_page in _fields(record.parts, record.content):
        shown = write(value, unit)
        if isinstance(value, int | float) and not isinstance(value, bool):
            assert value in leaves, (value, unit)
        if unit not in ("names", "name"):
            assert shown.lower() in plain, shown
            assert on_page or shown in said, shown
    own = Record(record.content, _without_pages(record.parts))
    figures = Counter(_FIGURE.findall("\n".join(text.lines(own)).replace("(none)", "")))
    drawn = Counter(_FIGURE.findall(_without_tags(str(fragment(own)))))
    assert figures == drawn, figures - drawn + (drawn - figures)
    return said


def _without_tags(page: str) -> str:
    """Return what a page says, without its boxes and drawings."""
    page = re.sub(r'<p class="filter".*?</p>|<svg.*?</svg>|<figure.*?</figure>', "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<(td|th|dd|dt|tr|p|caption|h2)\b[^>]*>", " ", page)))


def _leaves(content: Any) -> Iterator[Any]:
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield name
            yield from _leaves(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _leaves(value)
    else:
        yield content


def _without_pages(parts: Sequence[Part]) -> list[Part]:
    found: list[Part] = []
    for part in parts:
        match part:
            case Page() | Picture():
                pass
            case Section():
                found.append(Section(part.title, _without_pages(part.parts), part.name))
            case Record():
                found.append(Record(part.content, _without_pages(part.parts)))
            case _:
                found.append(part)
    return found


def _fields(
    parts: Sequence[Part], content: Mapping[str, Any], on_page: bool = False
) -> Iterator[tuple[Any, str, bool]]:
    for part in parts:
        match part:
            case Table():
                templates = [(column.cell, row) for column in part.columns for row in part.rows]
                templates += [(part.caption, content)]
            case Facts():
                templates = [(each, content) for _, texts in part.rows for each in texts]
            case Say():
                templates = [(part.text, content)]
            case str():
                templates = [(part, content)]
            case Section() | Page():
                yield from _fields(part.parts, content, on_page or isinstance(part, Page))
                continue
            case Record():
                yield from _fields(part.parts, part.content, on_page)
                continue
            case _:
                continue
        for template, source in templates:
            for _, name, unit, _ in _WRITER.parse(template):
                if name and name.partition("[")[0] in source:  # else it is given beside the content
                    yield _WRITER.get_field(name, (), source)[0], unit or "", on_page
