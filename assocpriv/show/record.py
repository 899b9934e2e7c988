"""A result as a record of facts: its JSON content, and parts that say it. Text, JSON and HTML are walks over it.

What a part says is a template, as ``"{reports:#report}, ε ≤ {epsilon:up}"``, filled from the record's content: a figure
that people read is one that programs read, of the same value. Behind the colon stands a unit of ``UNITS``, ``#`` for
numbers of things, or what Python knows (``.2f``). Words between backticks are typed by people. A record is a part of
another, too.

``check`` in tests/shown.py walks a record three ways and compares every figure.
"""

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from assocpriv.promise.errors import counted
from assocpriv.promise.numbers import rounded
from assocpriv.show import figures

if TYPE_CHECKING:
    from assocpriv.show.charts import Chart

UNITS: dict[str, Callable[[Any], str]] = {
    "given": figures.percent_as_given,  # a share that somebody chose
    "support": lambda value: figures.percent_as_given(value, 4),  # chosen or found, the least that is listed
    "share": figures.share,  # of people or baskets
    "estimate": figures.estimate,  # of such a share, which noise may push below 0
    "least": figures.discoverable,  # a support that can be told
    "about": figures.expected,  # a number that is expected
    "least_up": lambda value: figures.percent_up(value, 3),
    "up": lambda value: figures.written(Fraction(value), 6, up=True),  # of privacy
    "down": lambda value: figures.written(Fraction(value), 6, up=False),  # of privacy that may still be spent
    "from": lambda value: figures.written(100 * Fraction(value), 4, up=False) + "%",  # beliefs, rounded against us
    "to": lambda value: figures.written(100 * Fraction(value), 4, up=True) + "%",
    "points": figures.points,
    "above": lambda value: figures.percent_up(value, 1),  # its bound
    "chance": lambda value: figures.chance_up(Fraction(value)),
    "number": figures.number,  # of a column
    "edge": lambda value: rounded(float(value), 6),  # of an interval of it
    "interval": lambda value: f"{figures.number(value['low'])} to {figures.number(value['high'])}",
    "share_interval": lambda value: f"{value['low']:.2%} to {value['high']:.2%}",
    "span": figures.span,
    "names": lambda value: ", ".join(figures.listed(value)),
    "some": lambda names: ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else ""),
    "each": lambda counts: ", ".join(f"{count:,} of {name}" for name, count in counts.items()),
    "name": lambda value: figures.names([str(value)])[0],
    "id": lambda value: f"{value[:16]}…",
    "text": str,
}


def write(value: Any, unit: str) -> str:
    """Write a figure or a name in a unit; what is not known is a dash.

    >>> write(3, "#report"), write(1200, "#"), write("1/20", "from"), write(None, "share"), write(0.5, ".1%")
    ('3 reports', '1,200', '5%', '—', '50.0%')
    """
    if value is None:
        return "—"
    if unit[:1] == "#":
        return counted(value, unit[1:]) if unit[1:] else f"{value:,}"
    return UNITS[unit](value) if unit in UNITS else format(value, unit)


class Writer(Formatter):
    """Fills templates; HTML has one of its own, which escapes."""

    def get_field(self, field_name: str, _args: Any, content: Any) -> Any:
        """Return the value of a field, as ``sizes[undoing][1]``; keys of JSON content are texts."""
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
    """A sentence; ``given`` has what it says beside the content: paths, words.

    ``kind``: answer, hint, wrong, or pre for lines that stay as they are.
    """

    text: str
    given: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""
    tag: ClassVar[str] = "say"


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts, each under a label: sentences, the first beside it."""

    rows: Sequence[tuple[str, Sequence[str]]]
    given: Mapping[str, Any] = field(default_factory=dict)
    tag: ClassVar[str] = "facts"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and the template of a cell. ``kind``: number, text, or name (what a row is of)."""

    title: str
    cell: str
    kind: str = "number"


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``rows`` are mappings, which ``columns`` write.

    ``bars`` names what is drawn of a row: the ends of an interval (the first is 0 without a name), and the estimate
    between them; ``lines`` names in place of it a list of such triples, which are drawn from the left to the right.
    ``pale`` names what says that a row is in doubt. ``name`` is the table's own on a page, where it can
    be searched and sorted.
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
    """A chart, which pages draw; what it shows stands in a table beside it. ``legend``: words by their class."""

    draw: "Callable[[], Chart]"
    caption: str
    legend: Sequence[tuple[str, str]] = ()
    tag: ClassVar[str] = "picture"


@dataclass(frozen=True, slots=True)
class Section:
    """Parts under a heading; ``name`` is its own on a page. An ``aside`` stands beside others where there is room."""

    title: str
    parts: Sequence["Part"]
    name: str = ""
    aside: bool = False
    tag: ClassVar[str] = "section"


@dataclass(frozen=True, slots=True)
class Page:
    """Parts that only a page has."""

    parts: Sequence["Part"]
    tag: ClassVar[str] = "page"


@dataclass(frozen=True, slots=True)
class Record:
    """A result: ``content`` is its JSON content, but for long lists, which ``more`` adds; ``parts`` say it.

    ``notes`` are said beside it, on standard error. In notebooks it shows itself.
    """

    content: Mapping[str, Any]
    parts: Sequence["Part"] = ()
    title: str = ""
    notes: Sequence["Part"] = ()
    more: Callable[[], Mapping[str, Any]] = dict
    tag: ClassVar[str] = "record"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON content: the second walk."""
        return {**self.content, **self.more()}

    def _repr_html_(self) -> str:
        from assocpriv.show.html import fragment

        return fragment(self)


Part: TypeAlias = "str | Say | Facts | Table | Picture | Section | Page | Record"


def more(count: int, what: str = "") -> list[Part]:
    """Say how many more there are than are shown, if there are."""
    return [Say(f"… and {{left:#more {what}}}" if what else "… and {left:#} more", {"left": count})] * (count > 0)


def filled(part: "str | Say | Facts", content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a part's templates are filled from."""
    given = {} if isinstance(part, str) else part.given
    return ChainMap(dict(given), dict(content)) if given else content


def drawn_rows(table: Table) -> Iterator[tuple[float, float, float]]:
    """Yield of each row where its bar begins, where the estimate stands and where it ends, as shares of the longest."""
    assert table.bars is not None
    most = max((row[table.bars[2]] for row in table.rows), default=0) or 1.0
    for row in table.rows:
        low, middle, high = (min(max(row[each] / most, 0.0), 1.0) if each else 0.0 for each in table.bars)
        yield low, middle, high


def drawn_lines(table: Table) -> list[list[tuple[float, float, float]]]:
    """Return of each row the ends of intervals and the estimates in them, as shares of the largest end of the row."""
    drawn = []
    for row in table.rows:
        most = max(high for _, _, high in row[table.lines]) or 1.0
        shares = ([min(max(each / most, 0.0), 1.0) for each in triple] for triple in row[table.lines])
        drawn.append([(low, middle, high) for low, middle, high in shares])
    return drawn
