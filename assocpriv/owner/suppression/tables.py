"""The owner's table -> codes of the columns that templates and the class name: CSV, Parquet and frames, in batches.

A value is its cell's text without the blanks around it; a missing cell is a value of its own. A table may write one
value in several ways ("x" and " x", in quotes or not); such columns are respelled when the table is released, because
the difference would tell more than the values that were counted.
"""

import contextlib
import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import parquet_errors
from assocpriv.kernels.parallel import map_ahead
from assocpriv.owner.suppression.coded import CodedColumn, CodedTable
from assocpriv.promise.errors import RecordError, counted
from assocpriv.records.cells import Origin
from assocpriv.records.sources import (
    EMPTY_NUMBERS,
    SEPARATORS,
    SPREADSHEET,
    SPREADSHEETS,
    Budget,
    LineNumbers,
    Resumed,
    cut_line,
    first_lines,
    line_chunks,
    named_after,
    open_source,
    read_lines,
    read_sample,
    whole_array,
)
from assocpriv.records.tables import TableOptions

PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".data", ".txt")
_ROWS = 1 << 17  # of a batch at most
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the columns of a table stand.

    Attributes:
        names: of all columns, as the table writes them but for blanks around.
        separator: of the cells of text; empty of Parquet and frames.
        header_lines: of text: lines up to the header.
        chunk_rows: of text: records in each of the pieces that it is read in.
        stamp: size and time of the file, for a second reading to find it as the first did.
    """

    names: tuple[str, ...]
    separator: str = ""
    header_lines: int = 0
    chunk_rows: tuple[int, ...] = ()
    stamp: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table's coded columns, and what its release must know.

    Attributes:
        coded: in the order of the table; values in the order of their texts, a missing one last.
        spellings: by column, of each value the way that it is written first: text, or a value of the column's type.
        respelled: columns that write a value in several ways.
        numbers: columns whose values are all numbers, and more than two, with these as float64 by code.
        times: columns of dates or times of day.
    """

    coded: CodedTable
    layout: Layout
    spellings: dict[str, list[Any]]
    respelled: frozenset[str]
    numbers: dict[str, NDArray[np.float64]]
    times: frozenset[str] = frozenset()


def read_source(source: Any, wanted: Collection[str], options: TableOptions) -> SourceTable:
    """Read those columns of a table, a file's name or a pandas, polars or pyarrow table, that are wanted.

    Raises:
        RecordError: a file that cannot be read, a column that the table lacks or has twice, or no record.
        TypeError: no table.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return named_after(path, lambda: _read_file(path, wanted, options), RecordError)
    return _read_frame(source, wanted, options)


def check_table_name(path: Path) -> None:
    """Refuse a name whose ending says nothing that can be read and written here."""
    name = path.name.lower()
    if name.endswith(SPREADSHEETS):
        raise RecordError(SPREADSHEET)
    if not name.endswith((*PARQUET, *_TEXT)):
        raise RecordError("the file's name must end in .csv, .tsv (or these with .gz), .data, .txt, .parquet or .pq")


def file_stamp(path: Path) -> tuple[int, int]:
    """Return a file's size and time, which change where it does."""
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


def _read_file(path: Path, wanted: Collection[str], options: TableOptions) -> SourceTable:
    if path.is_dir():
        raise RecordError("this is a folder; name a file")
    if path.exists() and not path.is_file():
        raise RecordError("a table is read twice, and this is no regular file; save it as one")
    check_table_name(path)
    budget = Budget.within(options.memory_bytes)
    with open_source(path, options.progress) as file:
        stamp = file_stamp(path)
        if not path.name.lower().endswith(PARQUET):
            return _read_csv(file, wanted, options, budget, stamp)
        if options.separator is not None:
            raise RecordError("a Parquet file has no separator; leave it out")
        return _read_parquet(file, wanted, options, budget, stamp)


def _places(names: Sequence[str], wanted: Collection[str], where: str) -> list[int]:
    """Return the places of the wanted columns, rising. A name of the table's own is never shown: it may be a value."""
    lacking = [name for name in wanted if name not in names]
    if lacking:
        raise RecordError(
            f"{where} lacks {'column' if len(lacking) == 1 else 'columns'} {', '.join(lacking)}; it must name its "
            "columns as the templates and --class (class_column=) do, letter for letter, and has "
            f"{counted(len(names), 'name')}"
        )
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise RecordError(f"{where} has column {twice[0]} twice; names must differ")
    return sorted(names.index(name) for name in wanted)


# ---- coding


@dataclass(slots=True)
class _Coder:
    """Gives the values of one column codes, in the order in which they are met."""

    name: str
    missing: frozenset[str]
    codes: dict[Any, int] = field(default_factory=dict)  # of what is written
    texts: dict[str | None, int] = field(default_factory=dict)
    spellings: list[Any] = field(default_factory=list)
    parts: list[NDArray[Any]] = field(default_factory=list)
    respelled: bool = False
    kind: Any = None

    def add(self, encoded: Any) -> None:
        """Add cells that Arrow holds as a dictionary."""
        places = [self._code(value) for value in encoded.dictionary.to_pylist()]
        indices = encoded.indices
        if indices.null_count:
            places.append(self._code(None))
            indices = indices.fill_null(len(places) - 1)
        table = np.array(places or [0], dtype=np.min_scalar_type(max(1, len(self.texts))))
        self.parts.append(table[indices.to_numpy(zero_copy_only=False)])

    def _code(self, value: Any) -> int:
        # written differently, and so are told apart: NaN and nothing, 0.0 and -0.0
        key = str(value) if isinstance(value, float) else value
        code = self.codes.get(key)
        if code is None:
            text = self._text(value)
            code = self.texts.setdefault(text, len(self.texts))
            if code == len(self.spellings):
                self.spellings.append(value)
            else:
                self.respelled = True
            self.codes[key] = code
        return code

    def _text(self, value: Any) -> str | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        text = "" if missing else str(value).strip()
        return None if not text or text in self.missing else text

    def column(self) -> tuple[CodedColumn, list[Any]]:
        """Return the column with its values sorted, and their spellings."""
        values = sorted(self.texts, key=lambda text: (text is None, text or ""))
        order = [self.texts[text] for text in values]
        kind = np.min_scalar_type(max(1, len(values) - 1))
        places = np.empty(len(values), dtype=kind)
        places[order] = np.arange(len(values))
        codes = np.empty(sum(map(len, self.parts)), dtype=kind)
        at = 0
        for part in self.parts:
            codes[at : at + len(part)] = places[part]
            at += len(part)
        self.parts.clear()
        return CodedColumn(self.name, tuple(values), codes), [self.spellings[place] for place in order]


def _source(coders: list[_Coder], layout: Layout, quoted: bool = False) -> SourceTable:
    import pyarrow.types as kinds

    columns, spellings = [], {}
    for coder in coders:
        column, spellings[coder.name] = coder.column()
        columns.append(column)
    if not len(columns[0].codes):
        raise RecordError("the table has no records; check that it is the right one")
    numbers = {column.name: found for column in columns if (found := value_numbers(column.values)) is not None}
    return SourceTable(
        CodedTable(tuple(columns), len(columns[0].codes)),
        layout,
        spellings,
        frozenset(coder.name for coder in coders if coder.respelled or quoted),
        numbers,
        frozenset(coder.name for coder in coders if coder.kind is not None and kinds.is_temporal(coder.kind)),
    )


def value_numbers(values: Sequence[str | None]) -> NDArray[np.float64] | None:
    """Return the numbers that a column's values write, NaN for a missing one; None unless all of three or more do.

    Two values are two categories, however they are written.
    """
    numbers = np.full(len(values), np.nan)
    for place, text in enumerate(values):
        if text is None or text in EMPTY_NUMBERS:
            continue
        if not text.isascii() or "_" in text:
            return None
        try:
            numbers[place] = float(text)
        except ValueError:
            return None
    return numbers if np.isfinite(numbers).sum() > 2 else None


# ---- CSV


def _read_csv(
    file: BinaryIO, wanted: Collection[str], options: TableOptions, budget: Budget, stamp: tuple[int, int]
) -> SourceTable:
    sample = read_sample(file)
    lines = first_lines(sample)
    if not any(line.strip() for line in lines):
        raise RecordError("the file is empty, or its first line is too long; line 1 must name the columns")
    skip = next(number for number, line in enumerate(lines) if line.strip())
    names, separator = _header(lines[skip], wanted, options.mark)
    places = _places(names, wanted, f"line {skip + 1}, with cells parted by {SEPARATORS[separator]},")
    coders = [_Coder(names[place], options.cells.missing) for place in places]
    parse = partial(_parse, width=len(names), places=places, separator=separator)
    quoted = False
    rows = []
    chunks = line_chunks(Resumed(sample, file), budget, skip + 1)
    for columns, has_quotes in map_ahead(lambda chunk: parse(*chunk), chunks, budget.workers):
        quoted |= has_quotes
        rows.append(len(columns[0]))
        for coder, column in zip(coders, columns, strict=True):
            coder.add(column)
    return _source(coders, Layout(tuple(names), separator, skip + 1, tuple(rows), stamp), quoted)


def _header(line: str, wanted: Collection[str], separator: str | None) -> tuple[list[str], str]:
    """Return the names of the columns and the separator: where none is said, that which shows most of those wanted."""
    marks = [separator] if separator else list(SEPARATORS)
    cut = {mark: [cell.strip() for cell in cut_line(line, mark) or []] for mark in marks}
    best = max(marks, key=lambda mark: len(set(cut[mark]) & set(wanted)))
    return cut[best], best


def _parse(text: bytes, origin: Origin, *, width: int, places: list[int], separator: str) -> tuple[list[Any], bool]:
    lines = LineNumbers(text, origin.before)
    columns = read_lines(text, lines, width, places, separator, (), [False] * len(places))
    if columns is None:
        raise RecordError(
            f"lines {origin.before + 1:,} and following are no CSV in UTF-8; convert the file, and check its quotes"
        )
    return columns, b'"' in text


# ---- Parquet and frames


def _read_parquet(
    file: BinaryIO, wanted: Collection[str], options: TableOptions, budget: Budget, stamp: tuple[int, int]
) -> SourceTable:
    import pyarrow.parquet as pq

    source = arrow_step(partial(pq.ParquetFile, file, pre_buffer=False))
    names = [name.strip() for name in source.schema_arrow.names]
    places = _places(names, wanted, "the file")
    stored = [source.schema_arrow.names[place] for place in places]
    coders = [_Coder(names[place], options.cells.missing) for place in places]
    for coder, name in zip(coders, stored, strict=True):
        coder.kind = source.schema_arrow.field(name).type
    for batch in record_batches(source, stored):
        _add_batch(coders, [batch.column(place) for place in range(len(stored))], budget.workers)
    return _source(coders, Layout(tuple(names), stamp=stamp))


def record_batches(source: Any, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield the record batches of an open Parquet file."""
    parts = source.iter_batches(batch_size=_ROWS, columns=columns)
    while (part := arrow_step(partial(next, parts, None))) is not None:
        if columns is not None:
            part = part.select(columns)
        yield part


def arrow_step(step: Callable[[], _Result]) -> _Result:
    """Take a step of reading Parquet; the texts of Arrow's errors are not passed on."""
    with contextlib.suppress(*parquet_errors()):
        return step()
    raise RecordError("the file is not Parquet, or is damaged; write it again")


def _add_batch(coders: list[_Coder], columns: list[Any], workers: int | None = None) -> None:
    work = map_ahead(lambda pair: _encoded(*pair), zip(columns, coders, strict=True), workers)
    for coder, encoded in zip(coders, work, strict=True):
        coder.add(encoded)


def _encoded(values: Any, coder: _Coder) -> Any:
    """Return a column of one value a record as a dictionary."""
    import pyarrow as pa
    import pyarrow.types as kinds

    values = whole_array(values)
    kind = values.type.value_type if kinds.is_dictionary(values.type) else values.type
    if kind.num_fields:
        raise RecordError(f"column {coder.name} holds lists or records; each record needs one value in it")
    if kinds.is_dictionary(values.type):
        return values
    if kinds.is_null(kind):
        values = values.cast(pa.string())
    with contextlib.suppress(pa.ArrowException):
        return values.dictionary_encode()
    raise RecordError(f"column {coder.name} holds {kind}, which cannot be compared; convert it to text")


def _read_frame(frame: Any, wanted: Collection[str], options: TableOptions) -> SourceTable:
    columns = frame_columns(frame)
    names = [str(column.name).strip() for column in columns]
    places = _places(names, wanted, "the table")
    coders = [_Coder(names[place], options.cells.missing) for place in places]
    arrays = [_arrow(columns[place], names[place]) for place in places]
    for coder, values in zip(coders, arrays, strict=True):
        coder.kind = values.type
    _add_batch(coders, arrays)
    return _source(coders, Layout(tuple(names)))


def frame_columns(frame: Any) -> list[Any]:
    """Return the columns of a pandas, polars or pyarrow table, as narwhals has them."""
    import narwhals as nw

    try:
        return list(nw.from_native(frame, eager_only=True).iter_columns())
    except TypeError:
        problem: Exception = TypeError(
            "a table must be a pandas, polars or pyarrow table in memory, or the name of a file, got a "
            f"{type(frame).__name__}"
        )
    except nw.exceptions.NarwhalsError:  # its text names columns
        problem = RecordError("the columns of a table must have different names")
    raise problem


def _arrow(column: Any, name: str) -> Any:
    import pyarrow as pa

    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):  # their texts quote cells
        return whole_array(column.to_arrow())
    raise RecordError(f"column {name} mixes types; it must hold only numbers, or only text; convert it")
