"""Tables of people's records -> inputs of a plan's columns, batch by batch: CSV, Parquet, frames.

A number's input is the cell that it lies in, a category's its place among the column's values, a missing value's the
number of inputs. One value, and a column of many that Arrow holds, give the same input for the same value. Raw values
appear in no error.

Files may have any size: memory is bounded, and only the plan's columns are read. What cannot be taken is counted to the
end of the table, then refused in one line that names the column, how many records it concerns and the first one's
place, never a value. docs/cli/numeric.md has the rules in words.
"""

import json
import logging
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa
from assocpriv.kernels.parallel import map_ahead
from assocpriv.plans.columns import MOST_NAME, CategoryColumn, Column, NumberColumn, NumericColumn, TableColumns
from assocpriv.plans.tables import shortened
from assocpriv.promise.errors import RecordError, counted
from assocpriv.records import sources
from assocpriv.records.columns import (
    EMPTY_NUMBERS,
    CsvTable,
    ParquetTable,
    frame_columns,
    is_text,
    open_table,
    separator_of,
    series_to_arrow,
)

if TYPE_CHECKING:
    from assocpriv.plans.tree_model import CategoryInput

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[-+]?inf(?:inity)?", re.ASCII | re.I)
_NO_NUMBER = re.compile(r"[-+]?nan(?:\([0-9a-z_]*\))?", re.ASCII | re.I)  # as Arrow reads numbers of whole columns
_UNSEEN = -1
_BEYOND_NAMES = 10**MOST_NAME  # has more digits than a value's name
_Tell = Callable[[str], None]
_ROWS = 1 << 16  # of a batch at most
_LOG = logging.getLogger("assocpriv")  # told what is left out; the command line shows it
_REMEDIES = {
    "unreadable": (
        "no number",
        "write numbers as 1234.5, dates as numbers too; if a word stands for missing values name it with missing=",
    ),
    "missing": ("no value", "leave such records out; a plan made from a schema takes them with optional = true there"),
    "outside": (
        "a value outside its range",
        "pass clip=True to move such values to the range's ends, or widen low and high in the schema; a plan "
        "without a schema takes all numbers but infinite ones",
    ),
    "fraction": (
        "a value that is no whole number",
        "round such values, or plan the column without whole = true",
    ),
    "unseen": (
        "a value that is none of the plan's",
        "correct the data, or make a plan that lists it; if a word stands for missing values name it with missing=",
    ),
}


# ---- one value


def read_value(value: Any, column: Column) -> int:
    """Return the input of a raw value; None and NaN are missing.

    Raises:
        RecordError: the value is not the column's; it is not named.
    """
    if _is_missing(value):
        if not column.optional:
            raise RecordError(
                f"column {column.name} has no value; set optional = true in its schema if one may be missing"
            )
        return column.inputs
    if isinstance(column, NumericColumn):
        return _read_number(value, column)
    assert isinstance(column, CategoryColumn)
    place = place_of(value, column)
    if place < 0:
        raise RecordError(f"column {column.name} has a value that is none of its {len(column.values)} values")
    return place


def _is_missing(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _read_number(value: Any, column: NumericColumn) -> int:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise RecordError(f"column {column.name} takes numbers, got a {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if column.grain and math.isfinite(number) and not number.is_integer():
        raise RecordError(
            f"column {column.name} has a value that is no whole number; round it, or plan the column without whole = "
            "true"
        )
    cell = column.cell_of(number)
    if cell is None:
        raise RecordError(f"column {column.name} has a value outside its range; clip it, or widen low and high")
    return cell


def parse_record(text: bytes) -> dict[str, Any]:
    """Return the record that one JSON object writes, ``{"age": 34, "region": "north"}``; null is a missing value.

    Raises:
        RecordError: text that is no JSON object in UTF-8, or with a column given twice; it is not shown.
    """
    try:
        record = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_without_doubles, parse_constant=_no_number)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise RecordError(
            'a record must be one JSON object in UTF-8, each column once, as {"age": 34, "region": "north"}; null is a '
            "missing value"
        )
    return record


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _no_number(_word: str) -> None:
    raise ValueError  # NaN and Infinity are no JSON


def place_of(value: Any, column: "CategoryColumn | CategoryInput") -> int:
    """Return a value's place among a column's, −1 if it is none of them; numbers and truths are taken as text.

    >>> from assocpriv.plans.columns import Clear
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


# ---- a column of many


@dataclass(slots=True)
class Found:
    """What was met in one column's cells: how many lie outside its range or are missing, and what cannot be taken.

    ``looks_whole``: all are whole numbers, though the column takes others, too. ``problems`` has for each kind how many
    cells and the line, or row, of the first one.
    """

    outside: int = 0
    missing: int = 0
    looks_whole: bool = True
    problems: dict[str, tuple[int, int]] = field(default_factory=dict)

    def refuse(self, problem: str, rows: NDArray[Any], line: Callable[[int], int]) -> None:
        """Count rows, if there are any, as a problem."""
        if len(rows):
            self.problems[problem] = (len(rows), line(int(rows[0])))

    def add(self, later: "Found") -> None:
        """Add what was met in the cells that follow."""
        self.outside += later.outside
        self.missing += later.missing
        self.looks_whole &= later.looks_whole
        for problem, (count, first) in later.problems.items():
            before, earlier = self.problems.get(problem, (0, first))
            self.problems[problem] = (before + count, earlier)


def _refuse_problems(columns: Collection[Column], found: Collection[Found], word: str) -> None:
    """Raise RecordError for what cannot be taken, if anything; ``word`` is the source's for a record's place."""
    wrong = [(column, each) for column, each in zip(columns, found, strict=True) if each.problems]
    if not wrong:
        return
    column, each = min(wrong, key=lambda pair: min(first for _, first in pair[1].problems.values()))
    problem, (count, first) = min(each.problems.items(), key=lambda item: item[1][1])
    what, remedy = _REMEDIES[problem]
    others = f" ({counted(len(wrong) - 1, 'further column')} cannot be taken either)" if len(wrong) > 1 else ""
    raise RecordError(
        f"column {column.name} has {what} in {counted(count, 'record')}, first in {word} {first:,}{others}; {remedy}"
    )


@dataclass(frozen=True, slots=True)
class CellOptions:
    """How cells are taken.

    Attributes:
        clip: values outside a range move to its ends.
        missing: words that stand for missing values.
        written: numbers are written as text, as in CSV; elsewhere text is no number.
    """

    clip: bool = False
    missing: frozenset[str] = frozenset()
    written: bool = False


def column_inputs(
    values: Any, column: Column, options: CellOptions, line: Callable[[int], int]
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None, Found]:
    """Return the inputs, int32 (n,), of a column that Arrow holds, its numbers, float64 (n,), and what was met.

    Numbers beyond the range's ends are those of the ends, and None of a category. ``line`` names a row's place.
    """
    found, numbers = Found(), None
    if isinstance(column, NumericColumn):
        numbers, wrong = cell_numbers(values, options)
        found.refuse("unreadable", np.flatnonzero(wrong), line)
        inputs = _cells(numbers, column, options, found, line)
        numbers = np.clip(numbers, *column.ends)
    else:
        assert isinstance(column, CategoryColumn)
        inputs = _places(values, column, options)
        wrong = inputs < 0
        found.refuse("unseen", np.flatnonzero(wrong), line)
    absent = np.flatnonzero((inputs == column.inputs) & ~wrong)
    found.missing = len(absent)
    if not column.optional:
        found.refuse("missing", absent, line)
    return inputs, numbers, found


def _cells(
    numbers: NDArray[np.float64], column: NumericColumn, options: CellOptions, found: Found, line: Callable[[int], int]
) -> NDArray[np.int32]:
    """Return the cells of numbers: as ``read_value`` finds them, and the range's first and last beyond its ends."""
    inputs, found.outside = column.cells_of(numbers)
    fractions = np.flatnonzero(np.isfinite(numbers) & (np.floor(numbers) != numbers))
    if column.grain:
        found.refuse("fraction", fractions, line)
    found.looks_whole = not column.grain and not len(fractions)
    if found.outside and not options.clip:
        low, high = column.ends
        found.refuse("outside", np.flatnonzero((numbers < low) | (numbers > high)), line)
    return inputs


def cell_numbers(values: Any, options: CellOptions) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column's numbers, float64 (n,), NaN where there is none, and which cells hold something else."""
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
        if is_decimal:  # Arrow's own cast of a decimal often misses the nearest double; that of its digits does not
            values = values.cast(pa.string())
        numbers = array_to_numpy(values.cast(pa.float64(), safe=False))
        return numbers, np.zeros(len(values), dtype=bool)
    if options.written and is_text(values.type):
        read = [_written_number(text, options) for text in values.to_pylist()]
        wrong = np.array([number is None for number in read], dtype=bool)
        return np.array([np.nan if number is None else number for number in read], dtype=np.float64), wrong
    return np.full(len(values), np.nan), array_to_numpy(values.is_valid())


def _written_number(text: str | None, options: CellOptions) -> float | None:
    """Return the number that a cell of text holds, NaN if it stands for none, None if it holds something else."""
    text = (text or "").strip()
    if text in EMPTY_NUMBERS or text in options.missing or _NO_NUMBER.fullmatch(text):
        return math.nan
    return float(text) if _NUMBER.fullmatch(text) else None


def _places(values: Any, column: CategoryColumn, options: CellOptions) -> NDArray[np.int32]:
    """Return the places of categories, −1 of what is none."""
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
    """Return the inputs of cells whose dictionary's values have these places."""
    inputs: NDArray[np.int32] = np.array([*places, column.inputs], dtype=np.int32)[_indices(encoded)]
    return inputs


def _place(value: Any, column: CategoryColumn, options: CellOptions) -> int:
    place = place_of(value, column)
    if place >= 0:
        return place
    if isinstance(value, str):
        absent = value.strip() in {"", *options.missing}
    else:
        absent = value is None or (isinstance(value, float) and math.isnan(value))
    return column.inputs if absent else _UNSEEN


def _indices(encoded: Any) -> NDArray[Any]:
    """Return which value of its dictionary each cell holds; the dictionary's length where it holds none."""
    return array_to_numpy(encoded.indices.cast(pa.int32()), missing=len(encoded.dictionary))


# ---- batches


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Inputs, int32 (n, columns), of records that follow each other, and what was met in each column.

    ``raw_numbers`` are a column's numbers, float64 (n,), within its range, NaN if one is missing; of a category None.
    """

    raw_inputs: NDArray[np.int32]
    raw_numbers: list[NDArray[np.float64] | None]
    found: list[Found]


def _batch(columns: Sequence[Any], plan: TableColumns, options: CellOptions, line: Callable[[int], int]) -> Batch:
    """Return the inputs of the plan's columns, as Arrow holds them."""
    inputs = np.empty((len(columns[0]), len(columns)), dtype=np.int32)
    numbers, found = [], []
    for place, (values, column) in enumerate(zip(columns, plan.columns, strict=True)):
        inputs[:, place], own, met = column_inputs(values, column, options, line)
        numbers.append(own)
        found.append(met)
    return Batch(inputs, numbers, found)


def _find_columns(names: Sequence[object], plan: TableColumns, tell: _Tell, where: str) -> list[int]:
    """Return the places of the plan's columns among a table's; further ones are counted, and left out.

    ``where`` says what has the names. A name of the table's own is never shown: it may be a value.

    Raises:
        RecordError: a column that the table does not have, or has twice.
    """
    written = [str(name).strip() for name in names]
    missing = [name for name in plan.names if name not in written]
    if len(missing) == len(plan.names):
        raise RecordError(
            f"{where} has none of the plan's {counted(len(missing), 'column')} ({shortened(plan.names)}); names "
            "must be those of the plan, letter for letter; where no line names columns, write one above the first"
        )
    if missing:
        raise RecordError(
            f"{where} lacks {len(missing)} of the plan's {counted(len(plan.names), 'column')}: {shortened(missing)}; "
            "names must be those of the plan, letter for letter"
        )
    twice = [name for name in plan.names if written.count(name) > 1]
    if twice:
        raise RecordError(f"{where} has column {twice[0]} twice; names must differ")
    if others := len(written) - len(plan.names):
        tell(f"{counted(others, 'further column')} left out, which the plan does not have")
    return [written.index(name) for name in plan.names]


# ---- files


def _read_file(
    table: CsvTable | ParquetTable, plan: TableColumns, options: "TableOptions", budget: sources.Budget, tell: _Tell
) -> Iterator[Batch]:
    """Yield the batches of a file."""
    places = _find_columns(table.names, plan, tell, table.where)
    cells = replace(options.cells, written=isinstance(table, CsvTable))
    if isinstance(table, CsvTable) and table.text.encoding != "utf-8":
        tell(f"read as {table.text.encoding} text")
    if isinstance(table, ParquetTable):
        for place, column in zip(places, plan.names, strict=True):
            if table.schema.field(table.names[place]).type.num_fields:
                raise RecordError(f"column {column} holds lists or records; each record needs one value in it")
    kinds = [pa.float64() if isinstance(column, NumericColumn) else None for column in plan.columns]
    yield from table.map(
        lambda rows: _batch(rows.columns, plan, cells, rows.line),
        places,
        budget,
        kinds,
        (*EMPTY_NUMBERS, *cells.missing),
    )


# ---- frames


def _read_frame(frame: Any, plan: TableColumns, options: CellOptions, before: int, tell: _Tell) -> Iterator[Batch]:
    """Yield the batches of a pandas, polars or pyarrow table, of which ``before`` records stand before these."""
    columns = frame_columns(frame)
    places = _find_columns([column.name for column in columns], plan, tell, "the table")
    at = list(zip(places, plan.names, strict=True))

    def batches() -> Iterator[tuple[list[Any], int]]:
        for start in range(0, len(columns[0]), _ROWS):
            yield [series_to_arrow(columns[place][start : start + _ROWS], name) for place, name in at], before + start

    def batch(given: tuple[list[Any], int]) -> Batch:
        return _batch(given[0], plan, options, lambda row: given[1] + row + 1)

    yield from map_ahead(batch, batches())


# ---- tables


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How a table is read.

    Attributes:
        separator: of the cells of text, a character or a word for it; found out from the header by default.
        sheet: of a workbook, by name or as "#1"; by default all visible filled ones, if they have one header.
        missing: a word, or several, for missing values, beside empty cells, and NaN and null in columns of numbers.
        clip: move values outside a column's range to its ends.
        memory_bytes: what reading a file may hold at a time; None for as much as is fast.
        progress: called with (bytes read, bytes of the file).
    """

    separator: str | None = None
    missing: str | Sequence[str] = ()
    sheet: str | None = None
    clip: bool = False
    memory_bytes: int | None = None
    progress: sources.Progress | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and separator_of(self.separator) is None:
            raise RecordError('separator must be one of "," ";" "|" tab and blank')

    @property
    def cells(self) -> CellOptions:
        """How cells are taken."""
        words = [self.missing] if isinstance(self.missing, str) else self.missing
        return CellOptions(self.clip, frozenset(word.strip() for word in words))


@dataclass(slots=True)
class TableCounts:
    """What has been read: records, and by column values moved to the ends of the range and missing ones.

    ``looks_whole`` are columns of numbers that hold whole ones alone, though the plan does not say so.
    """

    records: int = 0
    clipped: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    looks_whole: list[str] = field(default_factory=list)


class TableStream(Iterator[NDArray[np.int32]]):
    """The inputs of a table's records, int32 (n, columns), batch by batch, once; ``counts`` is what was read so far.

    After a record that cannot be taken no further batch comes: the rest is read to count, then refused.
    """

    def __init__(self, plan: TableColumns, batches: Iterator[Batch], word: str, path: Path | None) -> None:
        self.counts = TableCounts()
        self._plan, self._batches, self._word, self._path = plan, batches, word, path
        self._found = [Found() for _ in plan.columns]

    def __next__(self) -> NDArray[np.int32]:
        return self.next_batch().raw_inputs

    def next_batch(self) -> Batch:
        """Return what is next, with the numbers themselves; StopIteration after the last."""
        return self._next() if self._path is None else sources.named_after(self._path, self._next, RecordError)

    def _next(self) -> Batch:
        for batch in self._batches:
            self.counts.records += len(batch.raw_inputs)
            for found, later in zip(self._found, batch.found, strict=True):
                found.add(later)
            if not any(found.problems for found in self._found):
                return batch
        _refuse_problems(self._plan.columns, self._found, self._word)
        if not self.counts.records:
            raise RecordError("the table has no records; check that it is the right one")
        named = list(zip(self._plan.names, self._found, strict=True))
        self.counts.clipped = {name: found.outside for name, found in named if found.outside}
        self.counts.missing = {name: found.missing for name, found in named if found.missing}
        self.counts.looks_whole = [
            column.name
            for column, found in zip(self._plan.columns, self._found, strict=True)
            if isinstance(column, NumberColumn) and found.looks_whole and found.missing < self.counts.records
        ]
        raise StopIteration


def stream_table(source: Any, plan: TableColumns, options: TableOptions) -> TableStream:
    """Read a table: a CSV or Parquet file's name, a pandas, polars or pyarrow table, or an iterable of such tables.

    Raises:
        RecordError: while iterating: a file that cannot be read, another table than the plan's, cells that its columns
            do not take, or no record.
        TypeError: no table.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        word = "row" if path.name.lower().endswith(sources.PARQUET) else "line"
        return TableStream(plan, _file_batches(path, plan, options), word, path)
    return TableStream(plan, _frame_batches(source, plan, options), "row", None)


def _tell(where: str, note: str) -> None:
    _LOG.info("%s: %s", where, note)


def _file_batches(path: Path, plan: TableColumns, options: TableOptions) -> Iterator[Batch]:
    budget = sources.Budget.within(options.memory_bytes)

    def tell(note: str) -> None:
        _tell(path.name, note)

    with open_table(path, plan.names, options.separator, options.progress, options.sheet) as table:
        yield from _read_file(table, plan, options, budget, tell)


def _frame_batches(source: Any, plan: TableColumns, options: TableOptions) -> Iterator[Batch]:
    tables = source if isinstance(source, Iterable) and _is_plain_iterable(source) else [source]
    told: set[str] = set()

    def tell(note: str) -> None:
        if note not in told:
            _tell("table", note)
        told.add(note)

    before = 0
    for table in tables:
        for batch in _read_frame(table, plan, options.cells, before, tell):
            before += len(batch.raw_inputs)
            yield batch


def _is_plain_iterable(source: object) -> bool:
    """Tell whether something holds tables, and is none: a list, a generator, a reader of record batches."""
    return isinstance(source, list | tuple | Iterator)
