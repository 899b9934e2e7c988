"""Read tables from CSV and Parquet files as Arrow columns, batch by batch; convert names and ids to text.

pyarrow reads text columns as codes of their distinct values, numbers, and Parquet in its own types. Its errors quote
cells and are never passed on: text that it rejects is read again line by line, and the error names the line.
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
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, arrow_csv, pa, parquet_errors, pc, pq, to_arrow
from assocpriv.guarantees.errors import BasketError, RecordError, pluralize
from assocpriv.kernels.parallel import parallel_map
from assocpriv.records import basket_sources
from assocpriv.records.cells import MISSING_WORDS, ROUNDED, STORE_AS_TEXT, Origin
from assocpriv.records.sheets import SheetChoice

EMPTY_NUMBERS = ("", "NaN", "nan", "NAN", "null", "NULL", "Null")  # cells of text that mean a missing number
_LOG = logging.getLogger("assocpriv")  # for the sheets that are read; the command line shows it
_ROWS, _CELLS = 1 << 16, 1 << 24  # of a Parquet batch at most
_CELL_BYTES = 64  # memory per cell of a table while it is converted, at worst
_PLAIN_BYTES = 8  # memory per uncompressed byte of a row, at worst
_PAGE_ROWS, _LONG_ROW = 1 << 10, 1 << 16  # rows that writers put into a page regardless of its size; bytes
_SAMPLE_CELLS = 1 << 17
_MIN_ROWS, _MAX_ROWS = 10, 1 << 40
_SHOWN = 40  # characters of a cell that are used to detect the layout
_INDEX = re.compile(r"__index_level_[0-9]+__")  # a column that pandas writes, beside its own
_QUOTES = "quotes are not closed on the line"
_PROBLEMS = {  # by the beginning of the parser's message
    "field larger": f"a cell has more than {csv.field_size_limit():,} characters; separators or line ends are missing",
    "new-line char": "a carriage return stands inside it; convert the line ends (tr '\\r' '\\n' < OLD > NEW)",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Consecutive rows: Arrow arrays of columns; ``line`` returns the line number of a row, counted from 0."""

    columns: list[Any] = field(repr=False)
    line: Callable[[int], int]
    origin: Origin


_TOTALS = [word.encode() for word in basket_sources.TOTALS]
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blank": " "}
_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".data", ".txt", *basket_sources.WORKBOOKS)


def parse_separator(word: str) -> str | None:
    """Return the separator that a word or character names, None if there is no such separator.

    >>> parse_separator("tab"), parse_separator(";"), parse_separator("x")
    ('\\t', ';', None)
    """
    mark = _WORDS.get(word, word)
    return mark if mark in basket_sources.SEPARATORS else None


@contextlib.contextmanager
def open_table(
    path: Path,
    wanted: Collection[str],
    separator: str | None,
    progress: basket_sources.Progress | None = None,
    sheet: str | None = None,
) -> Iterator["AnyTable"]:
    """Open a table with named columns: text with a header, a workbook or Parquet.

    The default separator is the one that yields most of the wanted columns in the header; otherwise it is a word or a
    character. ``sheet`` selects sheets of a workbook, as ``sheet=`` of a layout does.

    Raises:
        RecordError: the file holds no such table.
        OSError: it cannot be opened.
    """
    if path.is_dir():
        raise IsADirectoryError
    check_table_name(path)
    with basket_sources.open_source(path, progress) as file:
        if not basket_sources.is_parquet(path, file):
            mark = None if separator is None else parse_separator(separator)
            choice = SheetChoice(sheet, advice="sheet='{0}' (on the command line --layout sheet={0})")
            text = basket_sources.open_text(path, file, sheets=choice)
            if text.sheets and sheet is None:
                _LOG.info("%s: read as: sheet=%s", path.name, text.sheets.selection)
            yield CsvTable.below_header(text, wanted, mark)
            return
        if separator is not None or sheet is not None:
            raise RecordError("a Parquet file has no separator and no sheet; leave out these options")
        yield ParquetTable(file)


def check_table_name(path: Path) -> None:
    """Raise RecordError if a name does not have the ending of a supported format."""
    name = path.name.lower()
    basket_sources.check_format(path)
    if not name.endswith((*basket_sources.PARQUET, *_TEXT)):
        raise RecordError("the file's name must end in .csv, .tsv (or these with .gz), .data, .txt, .xlsx or .parquet")


# ---- CSV


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A text table: its column names (empty without a header), its separator, and the lines to skip before the data."""

    text: basket_sources.Text
    names: tuple[str, ...] = field(repr=False)
    separator: str
    skip: int
    unchecked: tuple[int, ...] = ()  # columns of a workbook whose formulas may lack values

    @classmethod
    def below_header(cls, text: basket_sources.Text, wanted: Collection[str], separator: str | None) -> "CsvTable":
        """Open a table whose first line names columns; the default separator yields most of the wanted names.

        Raises:
            RecordError: there is no such line.
        """
        lines = text.lines
        above, stated = basket_sources.read_sep_line(lines)
        skip = next((number for number, line in enumerate(lines) if number >= above and line.strip()), None)
        if skip is None:
            raise RecordError("the file is empty, or its first line is too long; line 1 must name the columns")
        chosen = separator or stated
        marks = [chosen] if chosen else list(basket_sources.SEPARATORS)
        cut = {mark: [cell.strip() for cell in basket_sources.cut_line(lines[skip], mark) or []] for mark in marks}
        best = max(marks, key=lambda mark: (len(set(cut[mark]) & set(wanted)), len(cut[mark]) * (mark != " ")))
        return cls(text, tuple(cut[best]), best, skip + 1)

    @property
    def where(self) -> str:
        """The words for the header in errors."""
        return f"line {self.skip}, with cells separated by {basket_sources.SEPARATORS[self.separator]},"

    def map(
        self,
        work: Callable[[Rows], basket_sources.Result],
        places: Sequence[int],
        budget: basket_sources.MemoryBudget,
        kinds: Sequence[Any] | None = None,
        missing: Collection[str] = ("",),
    ) -> Iterator[basket_sources.Result]:
        """Yield ``work`` of the columns at some places, batch by batch, on all cores.

        A column is read as the Arrow type that ``kinds`` gives for it if possible, otherwise as coded text. ``missing``
        are the cells that mean a missing value in columns that are not text.

        Raises:
            RecordError: while iterating: the number of cells in a line is not that of names, or it is not UTF-8 CSV.
        """

        typed = kinds or [None] * len(places)
        has_numbers = any(kind not in (None, pa.string()) for kind in typed)

        def may_be_hex(text: bytes) -> bool:  # which Arrow reads as numbers
            return has_numbers and (b"0x" in text or b"0X" in text)

        def parse(text: bytes, origin: Origin) -> basket_sources.Result:
            mark = self.separator.encode()
            if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):  # Arrow would read it as a line end
                refuse_lines(text, origin, self.separator, len(self.names))
            if mark == b" ":
                plain = basket_sources.collapse_blanks(text.decode("utf-8", "surrogateescape"))
                text = plain.encode("utf-8", "surrogateescape")
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
                    f"lines {origin.before + 1:,} and following are not UTF-8 CSV; convert the file, and check its "
                    "quotes"
                )
            return work(Rows(columns, lines, origin))

        if self.text.sheets:
            self.text.sheets.check_cells(self.skip, set(places) - set(self.unchecked))
        chunks = basket_sources.line_chunks(self.text, budget, self.skip)
        yield from parallel_map(lambda chunk: parse(*chunk), chunks, budget.workers)

    def _read(
        self, text: bytes, lines: "LineNumbers", places: Sequence[int], kinds: Sequence[Any], missing: Collection[str]
    ) -> list[Any] | None:
        """Return the columns of whole lines; None if Arrow cannot read them, or rows do not match lines."""
        names = [str(place) for place in range(len(self.names))]
        texts = pa.dictionary(pa.int32(), pa.string())
        with contextlib.suppress(pa.ArrowException, OSError, ValueError):  # whose texts quote cells
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
                return [to_single_array(column) for column in table.columns]
        return None


def _without_totals(text: bytes, separator: str, width: int) -> bytes:
    """Return lines, with blank ones in place of lines of totals that do not have ``width`` cells."""
    lines = text.split(b"\n")
    for place, line in enumerate(lines):
        if any(word in line.lower() for word in _TOTALS):
            row = basket_sources.cut_line(line.decode("utf-8", "replace").rstrip("\r"), separator) or []
            if len(row) != width and basket_sources.is_total(row):
                lines[place] = b""
    return b"\n".join(lines)


def _without_blanks(text: bytes, separator: str) -> bytes | None:
    """Return lines without blanks before quotes, which Arrow would keep; None if one is not UTF-8 CSV."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator="\n")
    with contextlib.suppress(UnicodeDecodeError, csv.Error):  # whose texts quote the line
        for line in text.decode("utf-8").removesuffix("\n").split("\n"):  # cells may contain other line ends
            writer.writerow(next(csv.reader([line.rstrip("\r")], **basket_sources.dialect(separator)), []))
        return written.getvalue().encode()
    return None


class LineNumbers:
    """The line numbers of the rows in a text of ``n_lines`` lines and ``n_bytes``; blank lines are not rows."""

    def __init__(self, text: bytes, origin: Origin) -> None:
        self.text, self._origin, self.n_lines, self.n_bytes = text, origin, basket_sources.count_lines(text), len(text)

    def __call__(self, row: int) -> int:
        """Return the number of a row's line."""
        return self._origin.number(self._origin.before + int(self.filled[row]) + 1)

    @property
    def filled(self) -> NDArray[np.int64]:
        """The indices of the lines that are not blank, int64 of shape (n,)."""
        lines = self.text[:-1].split(b"\n")
        return np.array([place for place, line in enumerate(lines) if line.rstrip(b"\r")], dtype=np.int64)


def refuse_lines(text: bytes, origin: Origin, separator: str, width: int | None = None) -> None:
    """Raise RecordError for the first line that is not UTF-8 CSV, or does not have ``width`` cells.

    Raises:
        RecordError: names the line, and quotes nothing of it.
    """
    for place, line in enumerate(io.BytesIO(text), origin.before + 1):
        number, decoded, problem, row = origin.number(place), None, "", []
        with contextlib.suppress(UnicodeDecodeError):  # which holds the line
            decoded = line.decode("utf-8")
        if decoded is None:
            raise RecordError(
                f"line {number:,} is not UTF-8 text; give its encoding= in the layout, or convert the file"
            )
        try:
            row = next(csv.reader([decoded], **basket_sources.dialect(separator)), [])
        except csv.Error as error:  # whose text may quote the line
            problem = next((text for start, text in _PROBLEMS.items() if str(error).startswith(start)), _QUOTES)
        if problem:
            raise RecordError(f"line {number:,} is not CSV: {problem}; correct it")
        if width is not None and decoded.strip("\r\n") and len(row) != width:
            raise RecordError(
                f"line {number:,} has {pluralize(len(row), 'cell')}, but the first line has {width:,}; correct it, or "
                "put cells that contain the separator in quotes"
            )


# ---- Parquet


class ParquetTable:
    """A table in a Parquet file, optionally without the index that pandas writes."""

    where = "the file"

    def __init__(self, file: BinaryIO, *, with_index: bool = True) -> None:
        self._open = partial(pq.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False)  # reads page by page
        source = call_arrow(self._open)
        self.schema, footer = source.schema_arrow, source.metadata
        counts = [footer.num_rows, *(footer.row_group(group).num_rows for group in range(footer.num_row_groups))]
        if not 0 <= min(counts) <= max(counts) <= _MAX_ROWS:  # reading it would end the process
            raise RecordError("the file is not Parquet, or is damaged; write it again")
        self.names = tuple(name for name in self.schema.names if with_index or not _INDEX.fullmatch(name))
        self._paths = [source.schema.column(place).path for place in range(len(source.schema))]

    def first_rows(self) -> basket_sources.FirstRows:
        """Return the first rows, in the form of text rows."""
        flat = [name for name in self.names if not self.schema.field(name).type.num_fields]
        rows = sample_rows(len(flat))
        source = call_arrow(partial(self._open, read_dictionary=self._paths))
        batch = call_arrow(lambda: next(source.iter_batches(batch_size=rows, columns=flat), None))
        held = {} if batch is None else dict(zip(flat, map(values_of, batch.columns), strict=True))
        n_rows = len(batch) if batch is not None else 0
        return basket_sources.FirstRows.from_table(self.names, [held.get(name, ["…"] * n_rows) for name in self.names])

    @property
    def compression(self) -> str:
        """The compression of the file's first column."""
        footer = call_arrow(self._open).metadata
        return str(footer.row_group(0).column(0).compression) if footer.num_row_groups else "SNAPPY"

    def batches(self) -> Iterator[Any]:
        """Yield Arrow record batches with all columns."""
        parts = call_arrow(lambda: self._open().iter_batches(batch_size=_ROWS))
        while (part := call_arrow(partial(next, parts, None))) is not None:
            yield part

    def map(
        self,
        work: Callable[[Rows], basket_sources.Result],
        places: Sequence[int],
        budget: basket_sources.MemoryBudget,
        kinds: Sequence[Any] | None = None,  # noqa: ARG002 -- Parquet has its own
        missing: Collection[str] = (),  # noqa: ARG002
    ) -> Iterator[basket_sources.Result]:
        """Yield ``work`` of the columns at some places, batch by batch, on all cores.

        Raises:
            RecordError: while iterating: the file is damaged.
        """
        names = [self.names[place] for place in places]
        # text is mostly stored as a dictionary; decoded, one long name in many rows could need any amount of memory
        source = call_arrow(partial(self._open, read_dictionary=self._paths))

        def batches() -> Iterator[tuple[list[Any], int]]:
            before = 0
            for group in range(source.num_row_groups):  # each has its own dictionaries
                footer = source.metadata.row_group(group)  # not its columns: a damaged one makes Arrow end the process
                row_bytes = footer.total_byte_size // max(1, footer.num_rows)
                share = max(_CELL_BYTES * len(places), _PLAIN_BYTES * row_bytes)
                page = min(footer.total_byte_size, _PAGE_ROWS * row_bytes)  # Arrow decompresses whole pages
                most = budget.memory_bytes or page
                if row_bytes > _LONG_ROW and page > most:
                    raise RecordError(
                        f"a page of row group {group + 1:,} may need {page >> 20:,} MiB, more than the {most >> 20:,} "
                        "MiB allowed; raise memory_bytes, or write smaller row groups"
                    )
                whole = budget.memory_bytes is None
                rows = _ROWS if whole else (budget.memory_bytes or 0) // (share * ((budget.workers or 1) + 2))
                rows = max(1, min(_ROWS, _CELLS // len(places), rows))
                reader = partial(source.iter_batches, batch_size=rows, columns=names, row_groups=[group])
                parts = call_arrow(reader)
                while (part := call_arrow(partial(next, parts, None))) is not None:
                    if len(part):
                        yield [part.column(name) for name in names], before
                    before += len(part)

        def apply(batch: tuple[list[Any], int]) -> basket_sources.Result:
            columns, before = batch
            return work(Rows(columns, lambda row: before + row + 1, Origin("row", before, whole=False)))

        yield from parallel_map(apply, batches(), budget.workers)


AnyTable = CsvTable | ParquetTable


def sample_rows(n_columns: int) -> int:
    """Return the number of rows of a table from which its layout is detected."""
    return min(basket_sources.SAMPLE_LINES, max(_MIN_ROWS, _SAMPLE_CELLS // max(1, n_columns)))


def values_of(column: Any) -> list[object]:
    """Return a column's values; placeholders if text is not UTF-8, which raises an error when the column is read."""
    with contextlib.suppress(*parquet_errors()):
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            texts = pc.utf8_slice_codeunits(column.dictionary, 0, _SHOWN).to_pylist()  # a name may have any length
            return [None if code is None else texts[code] for code in column.indices.to_pylist()]
        values: list[object] = column.to_pylist()
        return values
    return ["…"] * len(column)


def call_arrow(step: Callable[[], basket_sources.Result]) -> basket_sources.Result:
    """Run a step of reading Parquet, without passing on the texts of Arrow's errors."""
    with contextlib.suppress(*parquet_errors()):
        return step()
    raise RecordError("the file is not Parquet, or is damaged; write it again")


def to_single_array(values: Any) -> Any:
    """Return a column as one Arrow array."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    return values.chunk(0) if values.num_chunks == 1 else values.unify_dictionaries().combine_chunks()


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: Any) -> bool:
    """Return whether an Arrow type is a list type."""
    types = pa.types
    are_lists = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view)
    return any(test(kind) for test in (*are_lists, types.is_large_list_view))


# ---- frames


def frame_columns(frame: Any, error: type[RecordError] = RecordError) -> list[Any]:
    """Return the columns of a pandas, polars or pyarrow table as narwhals series.

    Raises:
        TypeError: the argument is not a table in memory.
        RecordError, or another ``error``: two columns have the same name, or names or index have several levels.
    """
    import narwhals as nw

    try:
        columns = list(nw.from_native(as_table(frame, error), eager_only=True).iter_columns())
        problem: Exception = error(
            "the column names have several levels (a MultiIndex of pandas); keep one level, as with frame.columns = "
            "frame.columns.get_level_values(-1)"
        )
        if getattr(getattr(frame, "index", None), "nlevels", 1) > 1:
            problem = error("the row index has several levels; convert it to columns with frame.reset_index()")
        elif not any(isinstance(column.name, tuple) for column in columns):
            return columns
    except TypeError:
        problem = TypeError(
            "a table must be a pandas, polars or pyarrow table in memory, or the name of a file, got a "
            f"{type(frame).__name__}"
        )
    except nw.exceptions.NarwhalsError:  # whose text names columns, which may be items
        problem = error("the columns of a table must have different names")
    raise problem


def as_table(data: Any, error: type[RecordError] = RecordError) -> Any:
    """Convert Arrow arrays of lists, record batches and batch readers to a table; return anything else unchanged.

    Raises:
        RecordError, or another ``error``: a reader has no rows left; it can be read only once.
    """
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return pa.table({"items": data})
    if isinstance(data, pa.RecordBatchReader):
        data = data.read_all()
        if not len(data):
            raise error("the reader has no rows; it can be read only once, so pass a table")
    return pa.table(data) if isinstance(data, pa.RecordBatch) else data


def series_to_arrow(column: Any, name: str, error: type[RecordError] = RecordError) -> Any:
    """Convert a narwhals series to one Arrow array; errors call it by ``name``.

    Raises:
        RecordError, or another ``error``: the column mixes types.
    """
    import narwhals as nw

    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):  # whose texts quote cells
        native = column.to_native()
        if isinstance(native, pa.ChunkedArray):  # narwhals would change some types
            return to_single_array(native)
        if column.dtype in (nw.Int128, nw.UInt128):  # of polars
            largest = max(abs(column.min() or 0), abs(column.max() or 0))
            column = column.cast(nw.Int64 if largest < 1 << 63 else nw.String)
        if column.dtype == nw.Object:  # of pandas; Arrow accepts sets, but not frozen sets
            cells = [list(each) if isinstance(each, frozenset) else each for each in native]
            return pa.array(cells, from_pandas=True)
        if column.dtype == nw.Unknown:  # sparse columns of pandas; columns of nulls only of polars
            return pa.array(np.asarray(column.to_numpy()), from_pandas=True)
        return to_single_array(column.to_arrow())
    raise error(f"column {name} mixes types; it must hold only numbers, only text, or lists of them; convert it")


# ---- columns of names and ids


_LONGEST_WORD = max(map(len, MISSING_WORDS)) + 1
_NO_TEXT = "must be text in UTF-8, numbers or dates, not nested; choose another column"
_FRACTIONS = f"have fractions, which ids do not; name another column, or {STORE_AS_TEXT}"


def null_mask(values: Any) -> NDArray[np.bool_]:
    """Return which values of an Arrow array are null, bool of shape (n,)."""
    return array_to_numpy(values.is_null())


def refuse_rounded(ids: Any, places: NDArray[np.int64] | None, rows: Rows, what: str) -> None:
    """Refuse ids, plain or dictionary-encoded text, that are rounded numbers of a spreadsheet.

    ``places`` are their rows, None for all.
    """
    names = ids.dictionary if pa.types.is_dictionary(ids.type) else ids
    letters = np.frombuffer(names.buffers()[2] or b"", dtype=np.uint8)
    if not (((letters | 32) == ord("e")) | (letters == ord("."))).any():  # a fast path for many integers
        return
    rounded = match_mask(names, f"^{ROUNDED.pattern}$")
    if names is not ids and rounded.any():
        rounded = np.append(rounded, False)[array_to_numpy(ids.indices, -1)]
    if rounded.any():
        row = int(np.argmax(rounded))
        where = f"{rows.origin.row_word} {rows.line(row if places is None else int(places[row])):,}"
        raise BasketError(f"the {what} in {where} is a number that has lost digits; {STORE_AS_TEXT}")


def cast_string_views(values: Any) -> Any:
    """Convert string views, whose rows Arrow cannot take, to strings."""
    return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values


def normalize_ids(values: Any, what: str) -> Any:
    """Normalize an Arrow array of ids: UUIDs to text, whole floats and decimals to integers, times to seconds.

    Raises:
        BasketError: a float or decimal has a fraction, or a float is too large to be exact.
    """
    values = cast_string_views(values)
    kind, casts = values.type, []
    if pa.types.is_dictionary(kind):
        stored = values.dictionary
        names = normalize_ids(stored, what)
        return values if names is stored else pa.DictionaryArray.from_arrays(values.indices, names, safe=False)
    if pa.types.is_floating(kind):
        return _whole_floats(values, what)
    if isinstance(kind, pa.UuidType):
        coded = values.storage.dictionary_encode()
        texts = np.array([str(UUID(bytes=each)) for each in coded.dictionary.to_pylist()], dtype=object)
        return pa.DictionaryArray.from_arrays(coded.indices, to_arrow(texts))
    if pa.types.is_timestamp(kind):
        casts = [pa.timestamp("s", kind.tz)]
    elif pa.types.is_decimal(kind):
        casts = [pa.decimal256(76, 0), pa.string()]
    with contextlib.suppress(pa.ArrowException):  # raised for fractions; its text quotes a value
        for each in casts:
            values = values.cast(each)
    if pa.types.is_decimal(values.type):
        raise BasketError(f"{what} {_FRACTIONS}")
    return values


def _whole_floats(values: Any, what: str) -> Any:
    """Convert floats to integers, NaN to null."""
    exact = 1 << {16: 11, 32: 24, 64: 53}[values.type.bit_width]  # larger floats may represent several integers
    numbers = array_to_numpy(values.cast(pa.float64()))
    missing = np.isnan(numbers)
    whole = np.where(missing, 0, numbers)
    if (np.abs(whole) >= exact).any():
        raise BasketError(f"{what} are floats that have lost digits ({exact:,} or more); {STORE_AS_TEXT}")
    if (whole != np.floor(whole)).any():
        raise BasketError(f"{what} {_FRACTIONS}")
    return pc.if_else(to_arrow(missing), pa.scalar(None, pa.int64()), to_arrow(whole.astype(np.int64)))


def coded_items(items: Any, what: str, absent: Collection[str] = ()) -> Any:
    """Return :func:`coded_texts` of items, or of another ``what``; raise BasketError for floats and nested values."""
    kind = items.type.value_type if pa.types.is_dictionary(items.type) else items.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        # fields of a nested type may be named after items
        shown = "nested values" if pa.types.is_nested(kind) else str(kind)
        raise BasketError(f"{what}s must be text or integers, got {shown}; convert them")
    return coded_texts(items, f"{what}s", absent)


def coded_texts(values: Any, what: str, absent: Collection[str] = ()) -> Any:
    """Return an Arrow array as text with int32 codes; null where it is null, blank or an ``absent`` word."""
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    with contextlib.suppress(pa.ArrowException):  # whose text may quote cells
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        codes = array_to_numpy(values.indices.cast(pa.int32()), -1)
        # for codes out of range, as in a damaged file, Arrow would read arbitrary memory
        outside = codes.max(initial=-1) >= len(values.dictionary) or codes.min(initial=0) < -1
        if outside or int((codes < 0).sum()) != values.indices.null_count:
            raise BasketError("a column has codes outside its dictionary; the data are damaged, write them again")
        names = pc.utf8_trim_whitespace(values.dictionary.cast(pa.string()))
        if names.null_count:
            names = pc.fill_null(names, "")
        names.validate(full=True)
        blank = np.append(_is_nothing(names, absent), False)
        if blank.any():
            codes = np.where(blank[codes], -1, codes)
        return pa.DictionaryArray.from_arrays(codes_to_arrow(codes), names, safe=False)
    raise BasketError(f"{what} {_NO_TEXT}")


def _is_nothing(texts: Any, absent: Collection[str]) -> NDArray[np.bool_]:
    """Return which Arrow texts are empty, or in lower case one of the ``absent`` words."""
    nothing: NDArray[np.bool_] = array_to_numpy(pc.binary_length(texts), 1) == 0
    if absent:
        lengths = array_to_numpy(pc.binary_length(texts), _LONGEST_WORD)
        short = np.flatnonzero((lengths < _LONGEST_WORD) & ~_begin_with_digits(texts))
        if len(short):
            lowered = pc.utf8_lower(texts.take(to_arrow(short)))
            nothing[short] |= match_mask(lowered, words_pattern(absent))
    return nothing


def _begin_with_digits(texts: Any) -> NDArray[np.bool_]:
    """Return which Arrow texts begin with a digit, as most ids and none of the words do."""
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)) or not texts.buffers()[2]:
        return np.zeros(len(texts), dtype=np.bool_)
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    starts = np.frombuffer(texts.buffers()[1], dtype=width)[texts.offset : texts.offset + len(texts)]
    letters = np.frombuffer(texts.buffers()[2], dtype=np.uint8)
    return np.asarray(letters[np.minimum(starts, len(letters) - 1)] - np.uint8(ord("0")) < 10)


def match_mask(texts: Any, expression: str) -> NDArray[np.bool_]:
    """Return which Arrow texts match a regular expression; nulls do not."""
    fits = pc.match_substring_regex(texts, expression)
    return np.asarray(array_to_numpy(fits, 0) & ~null_mask(fits))


def words_pattern(words: Collection[str]) -> str:
    """Return a regular expression for whole words and rules (---); an Arrow array of the words would load pandas."""
    return f"^({'|'.join(map(re.escape, sorted(words)))}|[-=_*~]+)$"


def texts_of(values: Any, what: str, absent: Collection[str] = ()) -> Any:
    """Return an Arrow array as text; null where it is null, blank or an ``absent`` word."""
    if pa.types.is_dictionary(values.type) or pa.types.is_null(values.type):
        return coded_texts(values, what, absent).dictionary_decode()
    with contextlib.suppress(pa.ArrowException):  # whose text may quote cells
        texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
        texts.validate(full=True)
        blank = _is_nothing(texts, absent)
        return pc.if_else(to_arrow(blank), pa.nulls(len(texts), pa.string()), texts) if blank.any() else texts
    raise BasketError(f"{what} {_NO_TEXT}")


def distinct_texts(parts: Sequence[Any]) -> tuple[NDArray[np.int32], list[str]]:
    """Return the codes of a column given in parts, −1 for nulls, and its distinct values."""
    if len(parts) > 1:  # they need one dictionary
        parts = pa.chunked_array(parts).unify_dictionaries().chunks
    names = parts[0].dictionary.dictionary_encode()  # a dictionary may repeat values, and hold some that never appear
    numbers = np.append(array_to_numpy(names.indices), np.int32(-1))
    codes = numbers[np.concatenate([array_to_numpy(part.indices, -1) for part in parts])]
    used = np.zeros(len(names.dictionary) + 1, dtype=np.bool_)
    used[codes] = True
    used = used[:-1]
    if not used.all():
        codes = np.append(np.cumsum(used) - 1, -1).astype(np.int32)[codes]
    return codes, names.dictionary.filter(to_arrow(used)).to_pylist()


def codes_to_arrow(codes: NDArray[Any]) -> Any:
    """Convert codes to an Arrow array, −1 to null; pa.array would load pandas."""
    valid = pa.py_buffer(np.packbits(codes >= 0, bitorder="little")) if codes.min(initial=0) < 0 else None
    return pa.Array.from_buffers(pa.int32(), len(codes), [valid, pa.py_buffer(codes.astype(np.int32, copy=False))])
