"""Columns of a table as items: which intervals numbers are cut into, and what each interval and value is called.

An item is ``age=30–39``, ``region=north``: what association rules on tables are made of (Srikant and Agrawal, Mining
Quantitative Association Rules in Large Relational Tables, SIGMOD 1996, section 2).
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from assocpriv.core.errors import PlanError
from assocpriv.core.numbers import check_range
from assocpriv.planning.numeric.schema import NUMBER, ColumnRequest, read_schema
from assocpriv.plans.numeric.columns import COLUMNS, CategoryColumn, Column, NumberColumn
from assocpriv.plans.numeric.laws import Clear
from assocpriv.plans.numeric.plan import TablePlan

USUAL_BINS = 5
_MOST_BINS = 1000
_DIGITS = 10  # of an edge that is no whole number, fewer than
_PLAIN = 16  # powers of ten that are written out, fewer than
_DASH = "–"  # between the ends of an interval; a hyphen would read as a minus


def item_columns(schema: Any, bins: int | None = None) -> TablePlan:
    """Return how a schema's columns are cut, as a plan that is never published: each interval or value is an input.

    Args:
        schema: as of :func:`read_schema`; how columns are released is not looked at, and any value may be missing.
        bins: equal intervals of every column of numbers; by default those of the schema, or five.

    Raises:
        PlanError: what is wrong in the schema, no such number of intervals, nothing to cut, or cells that would be cut.
    """
    if bins is not None:
        check_range("bins", bins, 1, _MOST_BINS)
    columns = read_schema(schema)
    if bins is not None:
        _check_bins(columns, bins)
    return TablePlan(tuple(_column(asked, bins) for asked in columns), 0)


def _check_bins(columns: Sequence[ColumnRequest], bins: int) -> None:
    """Refuse bins that cut nothing, or cells: of 5 whole numbers 3 intervals would hold 2, 2 and 1."""
    numbers = [asked for asked in columns if asked.kind == NUMBER]
    if not numbers:
        raise PlanError(f"bins ({bins}) are of columns of numbers, and the schema has none; leave them out")
    for asked in numbers:
        if asked.cells is not None and asked.cells % bins:
            raise PlanError(
                f"column {asked.name}: its {asked.cells} cells cannot be cut into {bins} equal intervals; take bins "
                "that divide the cells, or leave them out and give each column its intervals in the schema"
            )


def _column(asked: ColumnRequest, bins: int | None) -> Column:
    if asked.kind == NUMBER:
        intervals = bins or asked.intervals or USUAL_BINS
        return NumberColumn(asked.name, Clear(intervals), True, asked.low, asked.high, intervals)
    made: Any = COLUMNS[asked.kind]
    column: Column = made(asked.name, Clear(len(asked.values)), True, asked.values)
    return column


def item_names(plan: TablePlan) -> tuple[tuple[str, ...], ...]:
    """Return the names of the items of each column, by input.

    >>> column = NumberColumn("age", Clear(2), True, Fraction(20), Fraction(40), 2)
    >>> item_names(TablePlan((column,), 0))
    (('age=20–29', 'age=30–40'),)

    Raises:
        PlanError: two items of the same name, of columns whose names hold "=".
    """
    names = tuple(tuple(f"{column.name}={label}" for label in _labels(column)) for column in plan.columns)
    flat = [name for column in names for name in column]
    if len(set(flat)) != len(flat):
        raise PlanError("two items of the columns have the same name; rename a column, or take fewer bins")
    return names


def _labels(column: Column) -> tuple[str, ...]:
    if isinstance(column, CategoryColumn):
        return column.values
    assert isinstance(column, NumberColumn)
    edges = [column.low + place * column.cell_width for place in range(column.inputs + 1)]
    return _whole_labels(edges) if all(edge.denominator == 1 for edge in edges) else _labels_between(edges)


def _whole_labels(edges: list[Fraction]) -> tuple[str, ...]:
    """Name intervals by their first and last whole number; the last interval holds the range's upper end too."""
    ends = [(int(low), int(high) - 1) for low, high in pairwise(edges)]
    ends[-1] = (ends[-1][0], int(edges[-1]))
    return tuple(f"{low}" if low == high else f"{low}{_DASH}{high}" for low, high in ends)


def _labels_between(edges: list[Fraction]) -> tuple[str, ...]:
    """Name intervals by their ends: exactly where a few digits do, otherwise with as many as tell neighbours apart."""
    written = [[_rounded(edge, digits) for edge in edges] for digits in range(3, _DIGITS)]
    exact = [texts for texts in written if list(map(Fraction, texts)) == edges]
    apart = [texts for texts in written if len(set(texts)) == len(texts)]
    texts = [*exact, *apart, written[-1]][0]
    return tuple(f"{low}{_DASH}{high}" for low, high in pairwise(texts))


def _rounded(edge: Fraction, digits: int) -> str:
    """Write a number with so many digits; as 41700, not 4.17e+04, which reads as a sum."""
    short = f"{float(edge):.{digits}g}"
    return f"{Decimal(short):f}" if abs(Decimal(short).adjusted()) < _PLAIN else short
