"""Results as records: JSON content, and parts that present it. Renderers make text, JSON and HTML of a record.

A part is a template, as ``"{reports:#report}, ε ≤ {epsilon:up}"``, filled from the record's content, so people and
programs read the same figures. After the colon stands a unit of ``UNITS``, ``#`` for numbers of things, or a format of
Python (``.2f``). Words between backticks are commands or names. A record can be a part of another.

``check`` in tests/shown.py renders a record three ways and compares every figure.
"""

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from assocpriv.guarantees.errors import pluralize
from assocpriv.guarantees.exact_numbers import rounded
from assocpriv.show import number_format

if TYPE_CHECKING:
    from assocpriv.show.charts import Chart

UNITS: dict[str, Callable[[Any], str]] = {
    "given": number_format.percent_as_given,  # a share that a user chose
    "support": lambda value: number_format.percent_as_given(value, 4),  # a minimum support, chosen or found
    "share": number_format.share,  # of people or baskets
    "estimate": number_format.estimate,  # of such a share, which noise may push below 0
    "least": number_format.detectable,  # a detectable support
    "about": number_format.expected,  # an expected number
    "least_up": lambda value: number_format.percent_up(value, 3),
    "up": lambda value: number_format.written(Fraction(value), 6, up=True),  # of privacy
    "down": lambda value: number_format.written(Fraction(value), 6, up=False),  # of the budget left
    "from": lambda value: (
        number_format.written(100 * Fraction(value), 4, up=False) + "%"
    ),  # priors and posteriors, rounded against us
    "to": lambda value: number_format.written(100 * Fraction(value), 4, up=True) + "%",
    "points": number_format.points,
    "above": lambda value: number_format.percent_up(value, 1),  # its bound
    "chance": lambda value: number_format.chance_up(Fraction(value)),
    "number": number_format.number,  # of a column
    "edge": lambda value: rounded(float(value), 6),  # of an interval of it
    "interval": lambda value: f"{number_format.number(value['low'])} to {number_format.number(value['high'])}",
    "share_interval": lambda value: f"{value['low']:.2%} to {value['high']:.2%}",
    "span": number_format.span,
    "names": lambda value: ", ".join(number_format.selected(value)),
    "some": lambda names: ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else ""),
    "each": lambda counts: ", ".join(f"{count:,} of {name}" for name, count in counts.items()),
    "name": lambda value: number_format.names([str(value)])[0],
    "id": lambda value: f"{value[:16]}…",
    "text": str,
}


def write(value: Any, unit: str) -> str:
    """Write a figure or a name in a unit; None is a dash.

    >>> write(3, "#report"), write(1200, "#"), write("1/20", "from"), write(None, "share"), write(0.5, ".1%")
    ('3 reports', '1,200', '5%', '—', '50.0%')
    """
    if value is None:
        return "—"
    if unit[:1] == "#":
        return pluralize(value, unit[1:]) if unit[1:] else f"{value:,}"
    return UNITS[unit](value) if unit in UNITS else format(value, unit)


class Writer(Formatter):
    """Fill templates; the HTML renderer has one that escapes."""

    def get_field(self, field_name: str, _args: Any, content: Any) -> Any:
        """Return the value of a field, as ``sizes[truncation][1]``; keys of JSON content are texts."""
        value = content
        for key in re.findall(r"[^\[\]]+", field_name):
            value = value[int(key)] if isinstance(value, list | tuple) else value[key]
        return value, field_name

    def format_field(self, value: Any, unit: str) -> str:
        """Write a field."""
        return write(value, unit)

    def fill(self, template: str, content: Mapping[str, Any]) -> str:
        """Return a template with its fields written."""
        return self.vformat(template, (), content)


@dataclass(frozen=True, slots=True)
class Say:
    """A sentence; ``given`` adds values to the content: paths, words.

    ``kind``: answer, hint, wrong (a warning), or pre for lines that are not wrapped.
    """

    text: str
    given: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""
    tag: ClassVar[str] = "say"


@dataclass(frozen=True, slots=True)
class Facts:
    """Sentences under labels."""

    rows: Sequence[tuple[str, Sequence[str]]]
    given: Mapping[str, Any] = field(default_factory=dict)
    tag: ClassVar[str] = "facts"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and the template of a cell. ``kind``: number, text, or name (of a row)."""

    title: str
    cell: str
    kind: str = "number"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of ``rows``, mappings that ``columns`` write.

    ``bars`` names the keys of an interval to draw: its low end (0 without a name), estimate and high end; ``lines``
    names a list of such triples instead, drawn from left to right. ``pale`` names the key that marks an uncertain row.
    ``name`` identifies the table on a page, where it can be searched and sorted.
    """

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    caption: str = ""
    name: str = ""
    bars: tuple[str, str, str] | None = None
    pale: str = ""
    lines: str = ""
    tag: ClassVar[str] = "table"


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart on pages; a table beside it holds the same figures. ``legend``: words by CSS class."""

    draw: "Callable[[], Chart]"
    caption: str
    legend: Sequence[tuple[str, str]] = ()
    tag: ClassVar[str] = "picture"


@dataclass(frozen=True, slots=True)
class Section:
    """Parts under a heading; ``name`` identifies it on a page. An ``aside`` goes into a second column."""

    title: str
    parts: Sequence["Part"]
    name: str = ""
    aside: bool = False
    tag: ClassVar[str] = "section"


@dataclass(frozen=True, slots=True)
class Page:
    """Parts that only pages show."""

    parts: Sequence["Part"]
    tag: ClassVar[str] = "page"


@dataclass(frozen=True, slots=True)
class Record:
    """A result: ``content`` is its JSON content, except long lists, which ``more`` adds; ``parts`` present it.

    ``notes`` go to standard error. Notebooks show the record as HTML.
    """

    content: Mapping[str, Any]
    parts: Sequence["Part"] = ()
    title: str = ""
    notes: Sequence["Part"] = ()
    more: Callable[[], Mapping[str, Any]] = dict
    tag: ClassVar[str] = "record"

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON content."""
        return {**self.content, **self.more()}

    def _repr_html_(self) -> str:
        from assocpriv.show.result_pages import fragment

        return fragment(self)


Part: TypeAlias = "str | Say | Facts | Table | Picture | Section | Page | Record"


def more(count: int, what: str = "") -> list[Part]:
    """Return a note of how many more rows there are than are shown, if any."""
    return [Say(f"… and {{left:#more {what}}}" if what else "… and {left:#} more", {"left": count})] * (count > 0)


def filled(part: "str | Say | Facts", content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values that fill a part's templates."""
    given = {} if isinstance(part, str) else part.given
    return ChainMap(dict(given), dict(content)) if given else content


def drawn_rows(table: Table) -> Iterator[tuple[float, float, float]]:
    """Yield the low end, estimate and high end of each row's bar, as shares of the largest high end."""
    assert table.bars is not None
    most = max((row[table.bars[2]] for row in table.rows), default=0) or 1.0
    for row in table.rows:
        low, middle, high = (min(max(row[each] / most, 0.0), 1.0) if each else 0.0 for each in table.bars)
        yield low, middle, high


def drawn_lines(table: Table) -> list[list[tuple[float, float, float]]]:
    """Return the intervals and estimates of each row, as shares of the row's largest high end."""
    drawn = []
    for row in table.rows:
        most = max(high for _, _, high in row[table.lines]) or 1.0
        shares = ([min(max(each / most, 0.0), 1.0) for each in triple] for triple in row[table.lines])
        drawn.append([(low, middle, high) for low, middle, high in shares])
    return drawn
