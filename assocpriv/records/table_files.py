"""Read tables of people's records (CSV, Parquet, frames) as inputs of a plan's columns, batch by batch.

A number's input is the cell (interval) that contains it, a category's its index among the column's values, and a
missing value's the number of inputs. Single values and whole Arrow columns give the same inputs. No error contains a
raw value.

Files may have any size: memory is bounded, and only the plan's columns are read. Values that do not fit their column
are counted to the end of the table, then refused in one line with the column, the number of records and the position of
the first, never a value. docs/cli/numeric.md describes the rules.
"""

import json
import logging
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa
from assocpriv.guarantees.errors import RecordError, pluralize
from assocpriv.kernels.parallel import parallel_map
from assocpriv.plans.numeric.table_plan import (
    MOST_NAME,
    CategoryColumn,
    Column,
    NumberColumn,
    NumericColumn,
    TableColumns,
    shortened,
)
from assocpriv.records import basket_sources
from assocpriv.records.cells import MISSING_WORDS, is_missing, is_word
from assocpriv.records.columns import (
    EMPTY_NUMBERS,
    AnyTable,
    CsvTable,
    ParquetTable,
    frame_columns,
    is_text,
    open_table,
    parse_separator,
    series_to_arrow,
)

if TYPE_CHECKING:
    from assocpriv.plans.numeric.tree_model import CategoryInput

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[-+]?inf(?:inity)?", re.ASCII | re.I)
_NO_NUMBER = re.compile(r"[-+]?nan(?:\([0-9a-z_]*\))?", re.ASCII | re.I)  # as Arrow reads columns of numbers
_UNSEEN = -1
_BEYOND_NAMES = 10**MOST_NAME  # has more digits than the name of a value can have
_Log = Callable[[str], None]
_Line = Callable[[int], int]  # returns the line number of a row
_ROWS = 1 << 16  # of a batch at most
_LOG = logging.getLogger("assocpriv")  # for what is left out; the command line shows it
_REMEDIES = {
    "unreadable": (
        "no number",
        "write numbers as 1234.5, also for dates; if a word means a missing value, name it with missing=",
    ),
    "missing": ("no value", "leave out such records; a plan from a schema with optional = true accepts them"),
    "outside": (
        "a value outside its range",
        "pass clip=True to clip such values to the range, or widen low and high in the schema; a plan without a schema "
        "accepts all finite numbers",
    ),
    "fraction": ("a value that is not a whole number", "round such values, or plan the column without whole = true"),
    "unseen": (
        "a value that is not in the plan",
        "correct the data, or make a plan that lists it; if a word means a missing value, name it with missing=",
    ),
}


# ---- one value


def read_value(value: Any, column: Column) -> int:
    """Return the input of a raw value; None and NaN are missing values.

    Raises:
        RecordError: the value does not fit the column; the message does not show it.
    """
    if is_missing(value):
        if not column.optional:
            raise RecordError(
                f"column {column.name} has no value; set optional = true in its schema if values may be missing"
            )
        return column.inputs
    if isinstance(column, NumericColumn):
        return _read_number(value, column)
    assert isinstance(column, CategoryColumn)
    place = place_of(value, column)
    if place < 0:
        raise RecordError(f"column {column.name} has a value other than its {len(column.values)} values in the plan")
    return place


def _read_number(value: Any, column: NumericColumn) -> int:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise RecordError(f"column {column.name} takes numbers, got a {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if column.grain and math.isfinite(number) and not number.is_integer():
        raise RecordError(
            f"column {column.name} has a value that is not a whole number; round it, or plan the column without whole "
            "= true"
        )
    cell = column.cell_of(number)
    if cell is None:
        raise RecordError(f"column {column.name} has a value outside its range; clip it, or widen low and high")
    return cell


def parse_record(text: bytes) -> dict[str, Any]:
    """Parse a record written as one JSON object, ``{"age": 34, "region": "north"}``; null is a missing value.

    Raises:
        RecordError: the text is not a UTF-8 JSON object, or gives a column twice; the message does not show it.
    """
    try:
        record = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_without_doubles, parse_constant=_no_number)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise RecordError(
            'a record must be one UTF-8 JSON object with each column once, as in {"age": 34, "region": "north"}; null '
            "is a missing value"
        )
    return record


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _no_number(_word: str) -> None:
    raise ValueError  # NaN and Infinity are not JSON


def place_of(value: Any, column: "CategoryColumn | CategoryInput") -> int:
    """Return the index of a value among a column's values, −1 if it is not there; numbers and booleans match as text.

    >>> from assocpriv.plans.numeric.table_plan import Clear
    >>> column = CategoryColumn("smokes", Clear(2), False, ("true", "2"))
    >>> place_of(True, column), place_of(2.0, column), place_of(" 2", column), place_of("no", column)
    (0, 1, 1, -1)
    """
    texts: tuple[str, ...] = ()
    if isinstance(value, str):
        texts = (value.strip(),)
    elif isinstance(value, bool | np.bool_):
        texts = (str(value).lower(), str(value))
    elif isinstance(value, int | np.integer) or (isinstance(value, float | np.floating) and value.is_integer()):
        texts = (str(number),) if abs(number := int(value)) < _BEYOND_NAMES else ()
    return next((column.values.index(text) for text in texts if text in column.values), _UNSEEN)


# ---- columns


@dataclass(slots=True)
class CellStats:
    """Statistics of one column's cells.

    Attributes:
        outside: number of values outside the column's range.
        missing: number of missing values.
        looks_whole: whether all values are whole numbers although the column accepts others.
        problems: by kind, the number of cells that do not fit and the line or row of the first.
    """

    outside: int = 0
    missing: int = 0
    looks_whole: bool = True
    problems: dict[str, tuple[int, int]] = field(default_factory=dict)

    def record(self, problem: str, rows: NDArray[Any], line: _Line) -> None:
        """Record rows, if there are any, as a problem."""
        if len(rows):
            self.problems[problem] = (len(rows), line(int(rows[0])))

    def add(self, later: "CellStats") -> None:
        """Add the statistics of later cells."""
        self.outside += later.outside
        self.missing += later.missing
        self.looks_whole &= later.looks_whole
        for problem, (count, first) in later.problems.items():
            before, earlier = self.problems.get(problem, (0, first))
            self.problems[problem] = (before + count, earlier)


def _refuse_problems(columns: Collection[Column], stats: Collection[CellStats], word: str) -> None:
    """Raise RecordError if some cells do not fit their column; ``word`` is "row" or "line"."""
    wrong = [(column, each) for column, each in zip(columns, stats, strict=True) if each.problems]
    if not wrong:
        return
    column, each = min(wrong, key=lambda pair: min(first for _, first in pair[1].problems.values()))
    problem, (count, first) = min(each.problems.items(), key=lambda item: item[1][1])
    what, remedy = _REMEDIES[problem]
    others = f" ({pluralize(len(wrong) - 1, 'further column')} with errors)" if len(wrong) > 1 else ""
    raise RecordError(
        f"column {column.name} has {what} in {pluralize(count, 'record')}, first in {word} {first:,}{others}; {remedy}"
    )


@dataclass(frozen=True, slots=True)
class CellOptions:
    """How cells are converted.

    Attributes:
        clip: whether values outside a range are clipped to it.
        missing: words that mean missing values.
        written: whether numbers are written as text, as in CSV; otherwise text is not a number.
    """

    clip: bool = False
    missing: frozenset[str] = frozenset()
    written: bool = False


def column_inputs(
    values: Any, column: Column, options: CellOptions, line: _Line
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None, CellStats]:
    """Return the inputs of an Arrow column, int32 (n,), its numbers, float64 (n,), and statistics.

    Numbers are clipped to the range, and None for a category. ``line`` returns a row's line number.
    """
    stats, numbers = CellStats(), None
    if isinstance(column, NumericColumn):
        numbers, wrong = cell_numbers(values, options)
        stats.record("unreadable", np.flatnonzero(wrong), line)
        inputs = _cells(numbers, column, options, stats, line)
        numbers = np.clip(numbers, *column.ends)
    else:
        assert isinstance(column, CategoryColumn)
        inputs = _places(values, column, options)
        wrong = inputs < 0
        stats.record("unseen", np.flatnonzero(wrong), line)
    absent = np.flatnonzero((inputs == column.inputs) & ~wrong)
    stats.missing = len(absent)
    if not column.optional:
        stats.record("missing", absent, line)
    return inputs, numbers, stats


def _cells(
    numbers: NDArray[np.float64], column: NumericColumn, options: CellOptions, stats: CellStats, line: _Line
) -> NDArray[np.int32]:
    """Return the cells of numbers, as ``read_value``; numbers outside the range are in its first or last cell."""
    inputs, stats.outside = column.cells_of(numbers)
    fractions = np.flatnonzero(np.isfinite(numbers) & (np.floor(numbers) != numbers))
    if column.grain:
        stats.record("fraction", fractions, line)
    stats.looks_whole = not column.grain and not len(fractions)
    if stats.outside and not options.clip:
        low, high = column.ends
        stats.record("outside", np.flatnonzero((numbers < low) | (numbers > high)), line)
    return inputs


def cell_numbers(values: Any, options: CellOptions) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column's numbers, float64 (n,), NaN if missing, and which cells hold something else."""
    if options.written and is_text(values.type):
        values = values.dictionary_encode()
    if not pa.types.is_dictionary(values.type):
        return _plain_numbers(values, options)
    numbers, wrong = _plain_numbers(values.dictionary, options)
    places = _indices(values)
    return np.append(numbers, np.nan)[places], np.append(wrong, False)[places]


def _plain_numbers(values: Any, options: CellOptions) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    is_decimal = pa.types.is_decimal(values.type)
    if is_decimal or pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        if is_decimal:  # Arrow's cast of a decimal often misses the nearest double; that of its digits does not
            values = values.cast(pa.string())
        numbers = array_to_numpy(values.cast(pa.float64(), safe=False))
        return numbers, np.zeros(len(values), dtype=bool)
    if options.written and is_text(values.type):
        read = [_written_number(text, options) for text in values.to_pylist()]
        wrong = np.array([number is None for number in read], dtype=bool)
        return np.array([np.nan if number is None else number for number in read], dtype=np.float64), wrong
    return np.full(len(values), np.nan), array_to_numpy(values.is_valid())


def _written_number(text: str | None, options: CellOptions) -> float | None:
    """Return the number in a cell of text, NaN if it is missing, None if the cell holds something else."""
    text = (text or "").strip()
    if text in EMPTY_NUMBERS or text in options.missing or _NO_NUMBER.fullmatch(text):
        return math.nan
    return float(text) if _NUMBER.fullmatch(text) else None


def _places(values: Any, column: CategoryColumn, options: CellOptions) -> NDArray[np.int32]:
    """Return the indices of categories, −1 for other values."""
    if pa.types.is_null(values.type):
        return np.full(len(values), column.inputs, dtype=np.int32)
    if pa.types.is_dictionary(values.type):
        encoded = values
    elif is_text(values.type) or pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        encoded = values.dictionary_encode()
    elif pa.types.is_boolean(values.type):
        encoded = values.cast("int8").dictionary_encode()
        truths = [bool(value) for value in encoded.dictionary.to_pylist()]
        return _taken([place_of(value, column) for value in truths], column, encoded)
    else:
        absent = array_to_numpy(values.is_null())
        return np.where(absent, column.inputs, _UNSEEN).astype(np.int32)
    return _taken([_place(value, column, options) for value in encoded.dictionary.to_pylist()], column, encoded)


def _taken(places: list[int], column: Column, encoded: Any) -> NDArray[np.int32]:
    """Return the inputs of cells from the category indices of their dictionary's values."""
    return np.take(np.array([*places, column.inputs], dtype=np.int32), _indices(encoded))


def _place(value: Any, column: CategoryColumn, options: CellOptions) -> int:
    place = place_of(value, column)
    if place >= 0:
        return place
    absent = value.strip() in {"", *options.missing} if isinstance(value, str) else is_missing(value)
    return column.inputs if absent else _UNSEEN


def _indices(encoded: Any) -> NDArray[Any]:
    """Return the dictionary index of each cell; the dictionary's length for null."""
    return array_to_numpy(encoded.indices.cast(pa.int32()), missing=len(encoded.dictionary))


# ---- batches


@dataclass(frozen=True, eq=False, slots=True)
class TableBatch:
    """Inputs of consecutive records, int32 (n, columns), and statistics of each column.

    ``raw_numbers`` are each column's numbers, float64 (n,), clipped to its range, NaN if missing; None for a category.
    """

    raw_inputs: NDArray[np.int32]
    raw_numbers: list[NDArray[np.float64] | None]
    stats: list[CellStats]


def _table_batch(columns: Sequence[Any], plan: TableColumns, options: CellOptions, line: _Line) -> TableBatch:
    """Return the inputs of the plan's columns, Arrow arrays."""
    inputs = np.empty((len(columns[0]), len(columns)), dtype=np.int32)
    numbers, stats = [], []
    for place, (values, column) in enumerate(zip(columns, plan.columns, strict=True)):
        inputs[:, place], own, met = column_inputs(values, column, options, line)
        numbers.append(own)
        stats.append(met)
    return TableBatch(inputs, numbers, stats)


def _find_columns(names: Sequence[object], plan: TableColumns, log: _Log, where: str) -> list[int]:
    """Return the indices of the plan's columns in a table; log the number of further columns, which are left out.

    ``where`` is the source of the names in errors. The table's own names are never shown, since they may be values.

    Raises:
        RecordError: the table lacks a column, or has it twice.
    """
    written = [str(name).strip() for name in names]
    missing = [name for name in plan.names if name not in written]
    if len(missing) == len(plan.names):
        raise RecordError(
            f"{where} has none of the plan's {pluralize(len(missing), 'column')} ({shortened(plan.names)}); names must "
            "match the plan's exactly; if there is no header, add one"
        )
    if missing:
        raise RecordError(
            f"{where} lacks {len(missing)} of the plan's {pluralize(len(plan.names), 'column')}: {shortened(missing)}; "
            "names must match the plan's exactly"
        )
    twice = [name for name in plan.names if written.count(name) > 1]
    if twice:
        raise RecordError(f"{where} has column {twice[0]} twice; names must differ")
    if others := len(written) - len(plan.names):
        log(f"{pluralize(others, 'further column')} left out because not in the plan")
    return [written.index(name) for name in plan.names]


# ---- files


def _read_file(
    table: AnyTable, plan: TableColumns, options: "TableOptions", budget: basket_sources.MemoryBudget, log: _Log
) -> Iterator[TableBatch]:
    """Yield the batches of a file."""
    places = _find_columns(table.names, plan, log, table.where)
    cells = replace(options.cells, written=isinstance(table, CsvTable))
    if isinstance(table, CsvTable) and table.text.encoding != "utf-8":
        log(f"read as {table.text.encoding} text")
    if isinstance(table, ParquetTable):
        for place, column in zip(places, plan.names, strict=True):
            if table.schema.field(table.names[place]).type.num_fields:
                raise RecordError(f"column {column} holds lists or records; it must hold one value per record")
    kinds = [pa.float64() if isinstance(column, NumericColumn) else None for column in plan.columns]
    missing = *EMPTY_NUMBERS, *cells.missing
    yield from table.map(
        lambda rows: _table_batch(rows.columns, plan, cells, rows.line), places, budget, kinds, missing
    )


# ---- frames


def _read_frame(frame: Any, plan: TableColumns, options: CellOptions, before: int, log: _Log) -> Iterator[TableBatch]:
    """Yield the batches of a pandas, polars or pyarrow table that follows ``before`` other records."""
    columns = frame_columns(frame)
    places = _find_columns([column.name for column in columns], plan, log, "the table")
    at = list(zip(places, plan.names, strict=True))

    def batches() -> Iterator[tuple[list[Any], int]]:
        for start in range(0, len(columns[0]), _ROWS):
            yield [series_to_arrow(columns[place][start : start + _ROWS], name) for place, name in at], before + start

    def batch(part: tuple[list[Any], int]) -> TableBatch:
        return _table_batch(part[0], plan, options, lambda row: part[1] + row + 1)

    yield from parallel_map(batch, batches())


# ---- tables


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How a table is read.

    Attributes:
        separator: the character between cells of text, or a word for it; detected from the header by default.
        sheet: the sheet of a workbook, by name or as "#1"; by default all visible filled ones, if their headers agree.
        missing: one or several words for missing values, besides empty cells, and NaN and null in columns of numbers.
        clip: clip values outside a column's range to the range.
        memory_bytes: memory limit while reading a file; None for no limit.
        progress: called with (bytes read, bytes of the file).
    """

    separator: str | None = None
    missing: str | Sequence[str] = ()
    sheet: str | None = None
    clip: bool = False
    memory_bytes: int | None = None
    progress: basket_sources.Progress | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and parse_separator(self.separator) is None:
            raise RecordError('separator must be one of "," ";" "|" tab and blank')

    @property
    def cells(self) -> CellOptions:
        """The options for converting cells."""
        words = [self.missing] if isinstance(self.missing, str) else self.missing
        return CellOptions(self.clip, frozenset(word.strip() for word in words))


@dataclass(slots=True)
class TableCounts:
    """Counts of what has been read.

    Attributes:
        records: number of records.
        clipped: number of values clipped to the range, by column.
        missing: number of missing values, by column.
        looks_whole: columns with only whole numbers that the plan does not declare as whole.
    """

    records: int = 0
    clipped: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    looks_whole: list[str] = field(default_factory=list)


class TableStream(Iterator[NDArray[np.int32]]):
    """An iterator over the inputs of a table's records, int32 (n, columns), in batches; ``counts`` covers those so far.

    After a record that does not fit, no further batch is yielded: the rest is read to count such records, then refused.
    """

    def __init__(self, plan: TableColumns, batches: Iterator[TableBatch], word: str, path: Path | None) -> None:
        self.counts = TableCounts()
        self._plan, self._batches, self._word, self._path = plan, batches, word, path
        self._found = [CellStats() for _ in plan.columns]

    def __next__(self) -> NDArray[np.int32]:
        return self.next_batch().raw_inputs

    def next_batch(self) -> TableBatch:
        """Return the next batch, with the numbers themselves; StopIteration after the last."""
        return self._next() if self._path is None else basket_sources.prefix_errors(self._path, self._next, RecordError)

    def _next(self) -> TableBatch:
        for batch in self._batches:
            self.counts.records += len(batch.raw_inputs)
            for stats, later in zip(self._found, batch.stats, strict=True):
                stats.add(later)
            if not any(stats.problems for stats in self._found):
                return batch
        _refuse_problems(self._plan.columns, self._found, self._word)
        if not self.counts.records:
            raise RecordError("the table has no records; check that it is the right one")
        named = list(zip(self._plan.names, self._found, strict=True))
        self.counts.clipped = {name: stats.outside for name, stats in named if stats.outside}
        self.counts.missing = {name: stats.missing for name, stats in named if stats.missing}
        self.counts.looks_whole = [
            column.name
            for column, stats in zip(self._plan.columns, self._found, strict=True)
            if isinstance(column, NumberColumn) and stats.looks_whole and stats.missing < self.counts.records
        ]
        raise StopIteration


def stream_table(source: Any, plan: TableColumns, options: TableOptions) -> TableStream:
    """Read a table: the path of a CSV or Parquet file, a pandas, polars or pyarrow table, or an iterable of tables.

    Raises:
        RecordError: while iterating: the file cannot be read, columns of the plan are missing, cells do not fit them,
            or there are no records.
        TypeError: the argument is not a table.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        word = "row" if path.name.lower().endswith(basket_sources.PARQUET) else "line"
        return TableStream(plan, _file_batches(path, plan, options), word, path)
    return TableStream(plan, _frame_batches(source, plan, options), "row", None)


def _file_batches(path: Path, plan: TableColumns, options: TableOptions) -> Iterator[TableBatch]:
    budget, log = basket_sources.MemoryBudget.within(options.memory_bytes), partial(_LOG.info, "%s: %s", path.name)
    with open_table(path, plan.names, options.separator, options.progress, options.sheet) as table:
        yield from _read_file(table, plan, options, budget, log)


def _frame_batches(source: Any, plan: TableColumns, options: TableOptions) -> Iterator[TableBatch]:
    tables = source if isinstance(source, Iterable) and _is_plain_iterable(source) else [source]
    before, log = 0, cache(partial(_LOG.info, "%s: %s", "table"))  # each note once
    for table in tables:
        for batch in _read_frame(table, plan, options.cells, before, log):
            before += len(batch.raw_inputs)
            yield batch


def _is_plain_iterable(source: object) -> bool:
    """Return whether an object is an iterable of tables, such as a list, a generator or a reader of record batches."""
    return isinstance(source, list | tuple | Iterator)


# ---- numbers in a column of text
#
# The whole column determines how its commas are read. A few words among numbers, such as ``unknown`` in a column of
# ages, mostly mean missing values: if they made the column one of categories, every number would be a category.


_EMPTY = frozenset((None, *EMPTY_NUMBERS))
_MAX_WORDS = 10  # a column of numbers may have one word in this many values or cells
_GROUPED = re.compile(r"(?<=\d)[ '\u2019\u00a0\u202f](?=\d{3}(?!\d))")  # between thousands, and nothing else
_HAS_COMMA = re.compile(r"[-+]?[0-9.]*[0-9],[0-9.,]*[0-9]")
_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,[0-9]+)?")


def read_numbers(values: Iterable[str | None]) -> dict[str, Decimal]:
    """Return the numbers in a column's values, by value; values that are not numbers are left out.

    Blanks and apostrophes may separate thousands. So do commas if each value with a comma has them between groups of
    three digits; otherwise they are decimal marks, and dots separate thousands. Numbers with commas are left out if
    neither fits all values.

    >>> sorted(read_numbers(["1000", "1e3", "1,000", "x"])), read_numbers(["2,5", "x"])
    (['1,000', '1000', '1e3'], {'2,5': Decimal('2.5')})
    """
    plain = {text: _GROUPED.sub("", text) for text in values if text not in _EMPTY and text is not None}
    commas = [text for text in plain.values() if "," in text and _HAS_COMMA.fullmatch(text)]
    if commas and all(map(_THOUSANDS.fullmatch, commas)):
        plain = {text: each.replace(",", "") for text, each in plain.items()}
    elif commas:
        pointed = [text for text in plain.values() if "." in text and _number(text) is not None]
        if all(map(_DECIMAL_COMMA.fullmatch, [*commas, *pointed])):
            plain = {text: each.replace(".", "").replace(",", ".") for text, each in plain.items()}
    found = {text: _number(each) for text, each in plain.items()}
    return {text: number for text, number in found.items() if number is not None}


def all_numbers(values: Collection[str | None]) -> dict[str, Decimal]:
    """Return the numbers in a column's values, as :func:`read_numbers`; none if a value is not a number."""
    numbers = read_numbers(values)
    return numbers if len(numbers) == sum(each not in _EMPTY for each in values) else {}


def unread_numbers(values: Iterable[str | None], numbers: Collection[str]) -> list[str]:
    """Return the values that look like numbers with commas, but are not among the ``numbers`` that could be read."""
    return [each for each in values if each and each not in numbers and _HAS_COMMA.fullmatch(each)]


def _number(text: str) -> Decimal | None:
    if not text.isascii() or "_" in text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return None if number.is_nan() else number


def missing_remedy(words: Collection[str]) -> str:
    """Return an error's advice on words in place of numbers; they are shown if all are words for missing values.

    >>> missing_remedy(["unknown"]), missing_remedy(["secret"])[:30]
    ("if it means a missing value, pass missing='unknown'", 'if words mean missing values, ')
    """
    if all(is_word(word, MISSING_WORDS) for word in words):
        options = " ".join(f"missing={word!r}" for word in sorted(words))
        return f"if {'it means' if len(words) == 1 else 'they mean'} a missing value, pass {options}"
    return "if words mean missing values, name each of them with missing=, otherwise correct them"


def explain_words_among_numbers(
    values: Sequence[str | None], codes: NDArray[Any], marks: Collection[str] = (), *, is_required: bool = False
) -> str:
    """Return the explanation of a few words in a column of numbers, for an error; "" if there are none.

    Args:
        values: the column's distinct values; None is a missing one.
        codes: the index into ``values`` of each record, integers of shape (n,).
        marks: words that are not errors.
        is_required: whether numbers are required, so that any number of words is an error.
    """
    numbers = read_numbers(values)
    words = [each for each in values if each and each not in _EMPTY and each not in marks and each not in numbers]
    counts = np.bincount(codes, minlength=len(values))
    records, others = (int(counts[[each in of for each in values]].sum()) for of in (words, numbers))
    has_commas = len(unread_numbers(words, numbers)) == len(words)
    is_few = len(words) * _MAX_WORDS <= len(words) + len(numbers) or records * _MAX_WORDS <= records + others
    if not words or len(set(numbers.values())) <= 2 or not (is_few or has_commas or is_required):
        return ""
    remedy = "use a dot as the decimal mark, and no separator of thousands" if has_commas else missing_remedy(words)
    first = int(np.flatnonzero(np.isin(codes, [values.index(word) for word in words]))[0])
    return f"but something else in {pluralize(records, 'record')}, first in record {first + 1:,}; {remedy}"
