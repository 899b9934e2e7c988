"""Tables in files, CSV or Parquet -> columns as Arrow holds them, batch by batch.

pyarrow reads: columns of text as codes of their distinct values, numbers, and Parquet in its own types. Its errors
quote cells, so they are never passed on: text that it refuses is read again line by line, and the line is named.
"""

import contextlib
import csv
import io
import logging
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import arrow_csv, pa, parquet_errors, pc, pq
from assocpriv.kernels.parallel import map_ahead
from assocpriv.promise.errors import RecordError, counted
from assocpriv.records.cells import Origin
from assocpriv.records.sheets import SheetChoice
from assocpriv.records.sources import (
    PARQUET,
    SAMPLE_LINES,
    SEPARATORS,
    TOTALS,
    WORKBOOKS,
    Budget,
    FirstRows,
    Progress,
    Result,
    Text,
    check_format,
    count_lines,
    cut_line,
    cut_said_separator,
    dialect,
    is_parquet,
    is_total,
    line_chunks,
    open_source,
    open_text,
    single_blanks,
)

EMPTY_NUMBERS = ("", "NaN", "nan", "NAN", "null", "NULL", "Null")  # cells of text that stand for no number
_LOG = logging.getLogger("assocpriv")  # told which sheets are read; the command line shows it
_ROWS, _CELLS = 1 << 16, 1 << 24  # of a batch of Parquet at most
_CELL_BYTES = 64  # memory that a cell of a table takes while it becomes an input, at worst
_PLAIN_BYTES = 8  # the same for a byte of a row before it was compressed
_PAGE_ROWS, _LONG_ROW = 1 << 10, 1 << 16  # rows that writers put into a page without a look at its size; bytes
_SAMPLE_CELLS = 1 << 17
_LEAST_ROWS, _MOST_ROWS = 10, 1 << 40
_SHOWN = 40  # characters of a cell, to find out the layout
_INDEX = re.compile(r"__index_level_[0-9]+__")  # a column that pandas writes, beside its own
_QUOTES = "quotes are not closed on the line"
_PROBLEMS = {  # by how the parser's own text begins
    "field larger": f"a cell has more than {csv.field_size_limit():,} characters; separators or line ends are missing",
    "new-line char": "a carriage return stands inside it; convert the line ends (tr '\\r' '\\n' < OLD > NEW)",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that follow each other: columns, Arrow arrays; ``line`` says where a row, from 0, stands in its file."""

    columns: list[Any] = field(repr=False)
    line: Callable[[int], int]
    origin: Origin
    has_quotes: bool = False


_TOTALS = [word.encode() for word in TOTALS]
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blank": " "}
_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".data", ".txt", *WORKBOOKS)


def separator_of(word: str) -> str | None:
    """Return the character that a separator's word stands for, None for no such word.

    >>> separator_of("tab"), separator_of(";"), separator_of("x")
    ('\\t', ';', None)
    """
    mark = _WORDS.get(word, word)
    return mark if mark in SEPARATORS else None


@contextlib.contextmanager
def open_table(
    path: Path,
    wanted: Collection[str],
    separator: str | None,
    progress: Progress | None = None,
    sheet: str | None = None,
) -> Iterator["CsvTable | ParquetTable"]:
    """Open a file of a table whose columns have names: text below a header, a workbook or Parquet.

    Without a separator, in a word or as a character, it is that which shows most of the wanted columns in the header.
    ``sheet`` says which sheet of a workbook is read, as ``sheet=`` of a layout does.

    Raises:
        RecordError: a file that holds no such table.
        OSError: it cannot be opened.
    """
    if path.is_dir():
        raise IsADirectoryError
    check_table_name(path)
    with open_source(path, progress) as file:
        if not is_parquet(path, file):
            mark = None if separator is None else separator_of(separator)
            choice = SheetChoice(sheet, advice="sheet='{0}' (on the command line --layout sheet={0})")
            text = open_text(path, file, sheets=choice)
            if text.sheets and sheet is None:
                _LOG.info("%s: read as: sheet=%s", path.name, text.sheets.words)
            yield CsvTable.below_header(text, wanted, mark)
            return
        if separator is not None or sheet is not None:
            raise RecordError("a Parquet file has no separator and no sheet; leave it out")
        yield ParquetTable(file)


def check_table_name(path: Path) -> None:
    """Refuse a name whose ending says nothing that can be read here."""
    name = path.name.lower()
    check_format(path)
    if not name.endswith((*PARQUET, *_TEXT)):
        raise RecordError("the file's name must end in .csv, .tsv (or these with .gz), .data, .txt, .xlsx or .parquet")


# ---- CSV


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A table of text: its columns' names (empty ones where there is no header), and what is no data before it."""

    text: Text
    names: tuple[str, ...] = field(repr=False)
    separator: str
    skip: int
    unchecked: tuple[int, ...] = ()  # columns in which a workbook's formulas need no values

    @classmethod
    def below_header(cls, text: Text, wanted: Collection[str], separator: str | None) -> "CsvTable":
        """Open a table whose first line names columns; the separator that shows most wanted ones is the default.

        Raises:
            RecordError: there is no such line.
        """
        lines = text.lines
        above, said = cut_said_separator(lines)
        skip = next((number for number, line in enumerate(lines) if number >= above and line.strip()), None)
        if skip is None:
            raise RecordError("the file is empty, or its first line is too long; line 1 must name the columns")
        chosen = separator or said
        marks = [chosen] if chosen else list(SEPARATORS)
        cut = {mark: [cell.strip() for cell in cut_line(lines[skip], mark) or []] for mark in marks}
        best = max(marks, key=lambda mark: (len(set(cut[mark]) & set(wanted)), len(cut[mark]) * (mark != " ")))
        return cls(text, tuple(cut[best]), best, skip + 1)

    @property
    def where(self) -> str:
        """How an error speaks of what names the columns."""
        return f"line {self.skip}, with cells parted by {SEPARATORS[self.separator]},"

    def map(
        self,
        work: Callable[[Rows], Result],
        places: Sequence[int],
        budget: Budget,
        kinds: Sequence[Any] | None = None,
        missing: Collection[str] = ("",),
    ) -> Iterator[Result]:
        """Yield ``work`` of the columns at some places, batch by batch, on all cores.

        A column is text, in codes, unless it can be read as the Arrow type that ``kinds`` has for it; ``missing`` are
        cells that stand for no value in columns of another type.

        Raises:
            RecordError: while iterating: a line that has not as many cells as there are names, or is no CSV in UTF-8.
        """

        typed = kinds or [None] * len(places)
        has_numbers = any(kind not in (None, pa.string()) for kind in typed)

        def may_be_hex(text: bytes) -> bool:  # which Arrow takes for numbers
            return has_numbers and (b"0x" in text or b"0X" in text)

        def parse(text: bytes, origin: Origin) -> Result:
            mark = self.separator.encode()
            if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):  # Arrow would take it as a line's end
                refuse_lines(text, origin, self.separator, len(self.names))
            if mark == b" ":
                text = single_blanks(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
            elif b'"' in text and mark + b' "' in text:
                text = _without_blanks(text, self.separator) or text
            lines = LineNumbers(text, origin)
            columns = None if may_be_hex(text) else self._read(text, lines, places, typed, missing)
            if columns is None:
                columns = self._read(text, lines, places, [None] * len(places), missing)
            if columns is None:
                lines = LineNumbers(_without_totals(text, self.separator, len(self.names)), origin)
                columns = self._read(lines.text, lines, places, [None] * len(places), missing)
            if columns is None:
                refuse_lines(text, origin, self.separator, len(self.names))
                raise RecordError(
                    f"lines {origin.before + 1:,} and following are no CSV in UTF-8; convert the file, and check its "
                    "quotes"
                )
            return work(Rows(columns, lines, origin, b'"' in text))

        if self.text.sheets:
            self.text.sheets.check_cells(self.skip, set(places) - set(self.unchecked))
        chunks = line_chunks(self.text, budget, self.skip)
        yield from map_ahead(lambda chunk: parse(*chunk), chunks, budget.workers)

    def _read(
        self, text: bytes, lines: "LineNumbers", places: Sequence[int], kinds: Sequence[Any], missing: Collection[str]
    ) -> list[Any] | None:
        """Return columns of whole lines; None where Arrow cannot read them so, or finds other rows than lines."""
        names = [str(place) for place in range(len(self.names))]
        texts = pa.dictionary(pa.int32(), pa.string())
        with contextlib.suppress(pa.ArrowException, OSError, ValueError):  # their texts quote cells
            table = arrow_csv.read_csv(
                pa.BufferReader(text),
                arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
                arrow_csv.ParseOptions(delimiter=self.separator),
                arrow_csv.ConvertOptions(
                    column_types={names[place]: kind or texts for place, kind in zip(places, kinds, strict=True)},
                    include_columns=[names[place] for place in places],
                    null_values=list(missing),
                    strings_can_be_null=False,
                ),
            )
            if table.num_rows == lines.n_lines or table.num_rows == len(lines.filled):
                return [whole_array(column) for column in table.columns]
        return None


def _without_totals(text: bytes, separator: str, width: int) -> bytes:
    """Return lines, blank where one of totals has not as many cells as others."""
    lines = text.split(b"\n")
    for place, line in enumerate(lines):
        if any(word in line.lower() for word in _TOTALS):
            row = cut_line(line.decode("utf-8", "replace").rstrip("\r"), separator) or []
            if len(row) != width and is_total(row):
                lines[place] = b""
    return b"\n".join(lines)


def _without_blanks(text: bytes, separator: str) -> bytes | None:
    """Return lines without blanks before quotes, which Arrow takes for the cell; None where one is no CSV in UTF-8."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator="\n")
    with contextlib.suppress(UnicodeDecodeError, csv.Error):  # their texts quote the line
        for line in text.decode("utf-8").removesuffix("\n").split("\n"):  # other line ends may stand in cells
            writer.writerow(next(csv.reader([line.rstrip("\r")], **dialect(separator)), []))
        return written.getvalue().encode()
    return None


class LineNumbers:
    """Says in which line a row of ``n_lines`` lines, of ``n_bytes``, stands; blank lines are no rows."""

    def __init__(self, text: bytes, origin: Origin) -> None:
        self.text, self._origin, self.n_lines, self.n_bytes = text, origin, count_lines(text), len(text)

    def __call__(self, row: int) -> int:
        """Return the number of a row's line."""
        return self._origin.number(self._origin.before + int(self.filled[row]) + 1)

    @property
    def filled(self) -> NDArray[np.int64]:
        """The places, from 0, of the lines that are not blank, int64 (n,)."""
        lines = self.text[:-1].split(b"\n")
        return np.array([place for place, line in enumerate(lines) if line.rstrip(b"\r")], dtype=np.int64)


def refuse_lines(text: bytes, origin: Origin, separator: str, width: int | None = None) -> None:
    """Refuse the first of some lines that is no CSV in UTF-8 on its own, or has not as many cells as ``width``.

    Raises:
        RecordError: it names the line, and quotes nothing of it.
    """
    for place, line in enumerate(io.BytesIO(text), origin.before + 1):
        number, decoded, problem, row = origin.number(place), None, "", []
        with contextlib.suppress(UnicodeDecodeError):  # it holds the line
            decoded = line.decode("utf-8")
        if decoded is None:
            raise RecordError(
                f"line {number:,} is not UTF-8 text; say its encoding= in the layout, or convert the file"
            )
        try:
            row = next(csv.reader([decoded], **dialect(separator)), [])
        except csv.Error as error:  # its text may quote the line
            problem = next((said for start, said in _PROBLEMS.items() if str(error).startswith(start)), _QUOTES)
        if problem:
            raise RecordError(f"line {number:,} is not CSV: {problem}; correct it")
        if width is not None and decoded.strip("\r\n") and len(row) != width:
            raise RecordError(
                f"line {number:,} has {counted(len(row), 'cell')}, but the first line has {width:,}; correct it, or "
                "put cells that hold the separator in quotes"
            )


# ---- Parquet


class ParquetTable:
    """A table in a Parquet file; the index that pandas writes may be left out."""

    where = "the file"

    def __init__(self, file: BinaryIO, *, with_index: bool = True) -> None:
        self._open = partial(pq.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False)  # pages one after the other
        source = arrow_step(self._open)
        self.schema, said = source.schema_arrow, source.metadata
        counts = [said.num_rows, *(said.row_group(group).num_rows for group in range(said.num_row_groups))]
        if not 0 <= min(counts) <= max(counts) <= _MOST_ROWS:
            raise RecordError("the file is not Parquet, or is damaged; write it again")  # it would end the process
        self.names = tuple(name for name in self.schema.names if with_index or not _INDEX.fullmatch(name))
        self._paths = [source.schema.column(place).path for place in range(len(source.schema))]

    def first_rows(self) -> FirstRows:
        """Return the first rows, as those of text."""
        flat = [name for name in self.names if not self.schema.field(name).type.num_fields]
        rows = sample_rows(len(flat))
        source = arrow_step(partial(self._open, read_dictionary=self._paths))
        batch = arrow_step(lambda: next(source.iter_batches(batch_size=rows, columns=flat), None))
        held = {} if batch is None else dict(zip(flat, map(values_of, batch.columns), strict=True))
        n_rows = len(batch) if batch is not None else 0
        return FirstRows.of_table(self.names, [held.get(name, ["…"] * n_rows) for name in self.names])

    @property
    def compression(self) -> str:
        """How the file is compressed, by its first column."""
        said = arrow_step(self._open).metadata
        return str(said.row_group(0).column(0).compression) if said.num_row_groups else "SNAPPY"

    def batches(self) -> Iterator[Any]:
        """Yield all columns, as Arrow's record batches, for whoever writes them again."""
        parts = arrow_step(lambda: self._open().iter_batches(batch_size=_ROWS))
        while (part := arrow_step(partial(next, parts, None))) is not None:
            yield part

    def map(
        self,
        work: Callable[[Rows], Result],
        places: Sequence[int],
        budget: Budget,
        kinds: Sequence[Any] | None = None,  # noqa: ARG002 -- Parquet has its own
        missing: Collection[str] = (),  # noqa: ARG002
    ) -> Iterator[Result]:
        """Yield ``work`` of the columns at some places, batch by batch, on all cores.

        Raises:
            RecordError: while iterating: the file is damaged.
        """
        names = [self.names[place] for place in places]
        # text is stored as a dictionary, mostly; written out, one long name in many rows takes any memory
        source = arrow_step(partial(self._open, read_dictionary=self._paths))

        def batches() -> Iterator[tuple[list[Any], int]]:
            before = 0
            for group in range(source.num_row_groups):  # each has dictionaries of its own
                said = source.metadata.row_group(group)  # not its columns: of a damaged one Arrow ends the process
                row_bytes = said.total_byte_size // max(1, said.num_rows)
                share = max(_CELL_BYTES * len(places), _PLAIN_BYTES * row_bytes)
                page = min(said.total_byte_size, _PAGE_ROWS * row_bytes)  # Arrow unpacks one as a whole
                most = budget.memory_bytes or page
                if row_bytes > _LONG_ROW and page > most:
                    raise RecordError(
                        f"a page of row group {group + 1:,} may take {page >> 20:,} MiB, more than the {most >> 20:,} "
                        "MiB allowed; raise memory_bytes, or make row groups smaller"
                    )
                whole = budget.memory_bytes is None
                rows = _ROWS if whole else (budget.memory_bytes or 0) // (share * ((budget.workers or 1) + 2))
                rows = max(1, min(_ROWS, _CELLS // len(places), rows))
                reader = partial(source.iter_batches, batch_size=rows, columns=names, row_groups=[group])
                parts = arrow_step(reader)
                while (part := arrow_step(partial(next, parts, None))) is not None:
                    if len(part):
                        yield [part.column(name) for name in names], before
                    before += len(part)

        def apply(given: tuple[list[Any], int]) -> Result:
            columns, before = given
            return work(Rows(columns, lambda row: before + row + 1, Origin("row", before, whole=False)))

        yield from map_ahead(apply, batches(), budget.workers)


def sample_rows(n_columns: int) -> int:
    """Return how many rows of a table are looked at to find out its layout."""
    return min(SAMPLE_LINES, max(_LEAST_ROWS, _SAMPLE_CELLS // max(1, n_columns)))


def values_of(column: Any) -> list[object]:
    """Return a column's values; text that is no UTF-8 is left to whoever reads the column."""
    with contextlib.suppress(*parquet_errors()):
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            texts = pc.utf8_slice_codeunits(column.dictionary, 0, _SHOWN).to_pylist()  # a name may have any length
            return [None if code is None else texts[code] for code in column.indices.to_pylist()]
        values: list[object] = column.to_pylist()
        return values
    return ["…"] * len(column)


def arrow_step(step: Callable[[], Result]) -> Result:
    """Take a step of reading Parquet; the texts of Arrow's errors are not passed on."""
    with contextlib.suppress(*parquet_errors()):
        return step()
    raise RecordError("the file is not Parquet, or is damaged; write it again")


def whole_array(values: Any) -> Any:
    """Return a column as one Arrow array."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    return values.unify_dictionaries().combine_chunks()


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list_type(kind: Any) -> bool:
    """Return whether an Arrow type is one of its list types."""
    types = pa.types
    are_lists = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view)
    return any(test(kind) for test in (*are_lists, types.is_large_list_view))


# ---- frames


def frame_columns(frame: Any, error: type[RecordError] = RecordError) -> list[Any]:
    """Return the columns of a pandas, polars or pyarrow table, as narwhals has them.

    Raises:
        TypeError: no table in memory.
        RecordError, or another ``error``: two columns of one name, or names of several levels.
    """
    import narwhals as nw

    try:
        columns = list(nw.from_native(as_table(frame, error), eager_only=True).iter_columns())
        problem: Exception = error(
            "the columns have names of several levels (a MultiIndex of pandas); keep the level that names them, as "
            "frame.columns = frame.columns.get_level_values(-1)"
        )
        if getattr(getattr(frame, "index", None), "nlevels", 1) > 1:
            problem = error("the rows have an index of several levels; make columns of it: frame.reset_index()")
        elif not any(isinstance(column.name, tuple) for column in columns):
            return columns
    except TypeError:
        problem = TypeError(
            "a table must be a pandas, polars or pyarrow table in memory, or the name of a file, got a "
            f"{type(frame).__name__}"
        )
    except nw.exceptions.NarwhalsError:  # its text names columns, which may be items
        problem = error("the columns of a table must have different names")
    raise problem


def as_table(data: Any, error: type[RecordError] = RecordError) -> Any:
    """Return Arrow's arrays of lists, batches and readers of batches, which can be read once, as a table.

    Anything else is returned as it is.

    Raises:
        RecordError, or another ``error``: a reader that gives no rows.
    """
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return pa.table({"items": data})
    if isinstance(data, pa.RecordBatchReader):
        data = data.read_all()
        if not len(data):
            raise error("the reader gives no rows; one that was read before is empty: give a table")
    return pa.table(data) if isinstance(data, pa.RecordBatch) else data


def series_to_arrow(column: Any, name: str, error: type[RecordError] = RecordError) -> Any:
    """Return a narwhals series as one Arrow array; ``name`` is how an error speaks of it.

    Raises:
        RecordError, or another ``error``: it mixes types.
    """
    import narwhals as nw

    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):  # their texts quote cells
        native = column.to_native()
        if isinstance(native, pa.ChunkedArray):  # narwhals would change some types
            return whole_array(native)
        if column.dtype in (nw.Int128, nw.UInt128):  # of polars
            largest = max(abs(column.min() or 0), abs(column.max() or 0))
            column = column.cast(nw.Int64 if largest < 1 << 63 else nw.String)
        if column.dtype == nw.Object:  # of pandas; Arrow takes sets, but no frozen ones
            cells = [list(each) if isinstance(each, frozenset) else each for each in native]
            return pa.array(cells, from_pandas=True)
        if column.dtype == nw.Unknown:  # of pandas, sparse; of polars, nulls alone
            return pa.array(np.asarray(column.to_numpy()), from_pandas=True)
        return whole_array(column.to_arrow())
    raise error(f"column {name} mixes types; it must hold only numbers, only text, or lists of them; convert it")
