"""Read basket files as transactions of item ids, whole or batch by batch.

Text files hold lines of item numbers, lines of names, the long layout or one-hot tables. Parquet files hold a column of
lists, columns of transactions and items, or one-hot tables. Memory is bounded; the codes of all rows of the long layout
are held, because the rows of a transaction may be anywhere, even in several files.
"""

import contextlib
import csv
import io
import logging
import os
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa, to_arrow
from assocpriv.guarantees.errors import BasketError
from assocpriv.kernels.loops import kernels
from assocpriv.kernels.parallel import parallel_map
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records import basket_sources
from assocpriv.records.basket_sources import MemoryBudget, Result, Text, Work, prefix_errors
from assocpriv.records.baskets import (
    BLANK,
    Baskets,
    assemble_in_order,
    catalogue_from_columns,
    flag_columns,
    list_cells,
    onehot_cells,
    refuse_multiple_items,
    treat_empty,
)
from assocpriv.records.cells import (
    Cells,
    LeftOut,
    Origin,
    drop_missing_words,
    drop_unknown_items,
    join_cells,
    kept_sizes,
    resolve,
)
from assocpriv.records.columns import AnyTable, CsvTable, LineNumbers, ParquetTable, Rows, refuse_lines
from assocpriv.records.layout import STRICT, DetectedLayout, ReadOptions
from assocpriv.records.layout_detection import detect_layout, detect_table_layout, names_columns
from assocpriv.records.long_rows import LongPart, long_cells, long_part, refuse_incomplete
from assocpriv.records.sheets import SheetChoice

_Then = Callable[[Baskets], tuple[Baskets, int]]  # returns the new batch and the number of dropped items
_Parse = Callable[[bytes, Origin], Cells]
_Parsed = tuple[NDArray[np.int64], NDArray[np.int32], list[str]]  # sizes, codes and names
_Source = Text | ParquetTable
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_LOG = logging.getLogger("assocpriv")  # for detected layouts; the command line shows it
_PLAIN = (".dat", ".dat.gz", ".txt", ".txt.gz")  # endings typical of files of item numbers
_TABS = (".tsv", ".tsv.gz")
_NO_ROWS = "the file holds no baskets: a long file needs a header line and a line for each item"
_MAX_DIGITS = 9  # of an id in a .dat file, so that it fits into 32 bits


@dataclass(frozen=True, slots=True)
class ReadCounts:
    """Numbers of baskets read, including empty ones that were kept, and of items and rows left out or merged."""

    baskets: int
    unknown_dropped: int
    repeats_merged: int
    empty_kept: int
    empty_dropped: int = 0
    left_out: LeftOut = field(default=LeftOut())

    def __add__(self, other: "ReadCounts") -> "ReadCounts":
        return ReadCounts(
            self.baskets + other.baskets,
            self.unknown_dropped + other.unknown_dropped,
            self.repeats_merged + other.repeats_merged,
            self.empty_kept + other.empty_kept,
            self.empty_dropped + other.empty_dropped,
            self.left_out + other.left_out,
        )


def read_baskets(
    paths: Paths, catalogue: Catalogue | None = None, options: ReadOptions = STRICT
) -> tuple[Baskets, ReadCounts]:
    """Read files of baskets whole, as :func:`assocpriv.read_baskets`, and count what was dropped and merged.

    Raises:
        BasketError: a file cannot be read or does not have the layout; items are unknown, repeated, missing or
            unusable; or baskets are empty.
    """
    how = BatchOptions(options, MemoryBudget.within(None), options.missing_words(catalogue))
    cells = join_cells(_map_batches(lambda batch: batch, paths, how))
    _note(paths, cells.left_out)
    return prefix_errors(_label(paths), lambda: _assemble(cells, catalogue, options))


def _note(paths: Paths, left_out: LeftOut) -> None:
    if left_out.note:
        _LOG.info("%s: %s", _label(paths).name, left_out.note)


def read_persons(paths: Paths, options: ReadOptions, column: str | int, catalogue: Catalogue | None = None) -> Cells:
    """Return the person of each row of each transaction, −1 if missing, in the order in which transactions are read.

    Raises:
        BasketError: as :func:`read_baskets`; there is no such column; or the layout is not long.
    """
    how = BatchOptions(options, MemoryBudget.within(options.memory_bytes), options.missing_words(catalogue), column)
    return join_cells(_map_batches(lambda batch: batch, paths, how))


class BasketStream(Iterator[Baskets]):
    """An iterator over the baskets of files, batch by batch in order; ``counts`` covers the batches so far."""

    def __init__(self, paths: Paths, batches: Iterator[tuple[Baskets, ReadCounts]], incomplete: str) -> None:
        self._paths, self._batches, self._incomplete = paths, batches, incomplete
        self.counts = ReadCounts(0, 0, 0, 0)

    def __next__(self) -> Baskets:
        batch = next(self._batches, None)
        if batch is None:
            if not self.counts.baskets:
                raise BasketError(f"{_label(self._paths).name}: {basket_sources.NO_BASKETS}")
            _note(self._paths, self.counts.left_out)
            raise StopIteration
        self.counts += batch[1]
        check = partial(self.counts.left_out.check_flags, self._incomplete)
        prefix_errors(_label(self._paths), check)
        return batch[0]


def stream_baskets(
    paths: Paths, catalogue: Catalogue | None, options: ReadOptions = STRICT, then: _Then | None = None
) -> BasketStream:
    """Read files of any size batch by batch, as :func:`read_baskets` reads them whole.

    Errors are raised with their batch; they give the position, but no total number. Files of the long layout are one
    batch, because the rows of a transaction may be anywhere in them. Without a catalogue, each batch has its own item
    numbers. ``then`` is called in several threads.

    Raises:
        BasketError: while iterating, as :func:`read_baskets`; or a line, or the rows of the long layout, exceed the
            memory limit.
    """

    def finish(cells: Cells) -> tuple[Baskets, ReadCounts]:
        # a batch without items has no names from which to derive a catalogue
        names = Catalogue.numbered(1) if catalogue is None and not len(cells.codes) else catalogue
        baskets, counts = _assemble(cells, names, options)
        if then is None:
            return baskets, counts
        transactions, dropped = then(baskets)
        return transactions, replace(counts, unknown_dropped=counts.unknown_dropped + dropped)

    how = BatchOptions(options, MemoryBudget.within(options.memory_bytes), options.missing_words(catalogue))
    return BasketStream(paths, _map_batches(finish, paths, how), options.incomplete)


def _assemble(cells: Cells, catalogue: Catalogue | None, options: ReadOptions) -> tuple[Baskets, ReadCounts]:
    if not len(cells.sizes):
        raise BasketError(basket_sources.NO_BASKETS)
    cells.left_out.check_flags(options.incomplete)
    cells, n_empty = treat_empty(cells, options)
    catalogue, ids = resolve(cells, catalogue, numbered=False)
    known = drop_unknown_items(cells, ids, options.unknown, catalogue)
    baskets = assemble_in_order(known, catalogue, options.repeats)
    dropped, merged = len(ids) - len(known.codes), len(known.codes) - len(baskets.items)
    empty = (0, n_empty) if options.empty == "drop" else (n_empty, 0)
    return baskets, ReadCounts(len(baskets), dropped, merged, *empty, cells.left_out)


# ---- layouts


@dataclass(frozen=True, slots=True)
class BasketLayout:
    """The layout of a file of baskets that is written again with other items.

    Attributes:
        kind: "dat", "lines", "long", "one-hot" or, for Parquet, "list".
        columns: for Parquet the names of columns: of lists, of transactions and items, or of all items.
        separator, skip, places: for text, as in ``DetectedLayout``.
    """

    kind: str
    columns: tuple[str, ...] = field(default=(), repr=False)
    separator: str = " "
    skip: int = 0
    places: tuple[int, ...] = ()

    @property
    def is_parquet(self) -> bool:
        """Whether the file is Parquet, not text."""
        return bool(self.columns)


def detect_file_layout(path: str | os.PathLike[str], options: ReadOptions = STRICT) -> BasketLayout:
    """Detect the layout of a file of baskets, as :func:`read_baskets` does.

    Raises:
        BasketError: as there; the file is neither UTF-8 text nor Parquet; or it cannot be written again.
    """
    path = Path(path)

    def detect() -> BasketLayout:
        with basket_sources.open_source(path, None) as file:
            table, found = _detect_source(path, file, options)
            if isinstance(table, Text) and table.is_converted:
                raise BasketError("only UTF-8 text and Parquet can be written again; convert the file")
            columns = rewritten_columns(found) if isinstance(table, ParquetTable) else ()
            return BasketLayout(found.kind, columns, found.separator, found.skip, found.places)

    return prefix_errors(path, detect)


def rewritten_columns(found: DetectedLayout) -> tuple[str, ...]:
    """Return the names of the columns to which baskets are written again.

    Raises:
        BasketError: the layout has several columns of transactions, or quantities.
    """
    if found.quantity is not None or found.ids > 1:
        raise BasketError(
            "baskets can be written again only with one column of transactions and without quantities; make such a "
            "file, or give quantity=none in the layout"
        )
    return tuple(found.names[place] for place in (found.taken if found.kind == "one-hot" else found.places))


def _detect_source(path: Path, file: BinaryIO, options: ReadOptions) -> tuple[_Source, DetectedLayout]:
    """Return an open file as Parquet table or text, and its detected layout."""
    wanted, name = options.requested_layout, path.name.lower()
    if basket_sources.is_parquet(path, file):
        if not file.read(1):
            raise BasketError(basket_sources.NO_BASKETS)
        file.seek(0)
        table = ParquetTable(file, with_index=False)
        if len(set(table.names)) != len(table.names):
            raise BasketError("the file's columns must have different names")
        kinds = [table.schema.field(each).type for each in table.names]
        return table, detect_table_layout(table.first_rows(), kinds, wanted)
    header = None if wanted.header in (None, True, False) else int(wanted.header)
    choice = SheetChoice(wanted.sheet, header, is_likely=names_columns)
    text = basket_sources.open_text(path, file, wanted.encoding, choice)
    if wanted.separator is None and name.endswith(_TABS) and wanted.kind != "dat":
        wanted = replace(wanted, separator="\t")
    found = detect_layout(text.lines, wanted, plain=name.endswith(_PLAIN))
    if text.encoding != "utf-8":
        found = replace(found, layout=replace(found.layout, encoding=text.encoding))
    if text.sheets:
        found = replace(found, layout=replace(found.layout, sheet=text.sheets.selection or None))
        below = found.layout.header
        if text.sheets.are_several and wanted.header is None and below not in (None, True, False):
            file.seek(0)  # each sheet has a title above its header
            return _detect_source(path, file, replace(options, layout=replace(wanted, header=below)))
        if text.sheets.are_several and found.kind != "one-hot" and not found.layout.header:
            raise BasketError(
                "the workbook has several sheets without a common header; read one at a time, with "
                f"sheet={text.sheets.selection.partition('+')[0]} in the layout"
            )
    return text, found


# ---- batches


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How batches are read: options, memory budget, words for missing values, and columns of persons."""

    options: ReadOptions
    budget: MemoryBudget
    absent: Collection[str]
    persons: str | int | None = None


def _label(paths: Paths) -> Path:
    """Return the name for errors that concern all files."""
    first, *others = _paths(paths)
    return first if not others else Path(f"{first.name} and {len(others)} more")


def _paths(paths: Paths) -> list[Path]:
    selected = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(selected, Sequence) or not all(isinstance(path, str | os.PathLike) for path in selected):
        raise TypeError(
            f"files must be a path or a list of paths, got a {type(paths).__name__}; for a table or lists in memory "
            "use to_baskets()"
        )
    if not selected:
        raise BasketError("no file of baskets is given; name at least one")
    return [Path(path) for path in selected]


def _map_batches(work: Work[Result], paths: Paths, how: BatchOptions) -> Iterator[Result]:
    """Yield ``work`` of the cells of each batch of files, and log their detected layouts.

    With columns of persons, these are read in place of items, and nothing is logged.
    """
    held: list[LongPart] = []
    for path in _paths(paths):
        batches = _file_batches(work, path, how, held)
        while (batch := prefix_errors(path, lambda batches=batches: next(batches, None))) is not None:  # type: ignore[misc]
            yield batch
    if held:
        yield prefix_errors(_label(paths), lambda: work(_held_cells(held, how.persons is not None)))


def _held_cells(held: list[LongPart], persons: bool) -> Cells:
    cells = long_cells(held, persons=persons)
    if not len(cells.sizes):
        raise BasketError(_NO_ROWS)
    if not persons:
        refuse_multiple_items(cells, held[0].found)
    return cells


def _file_batches(work: Work[Result], path: Path, how: BatchOptions, held: list[LongPart]) -> Iterator[Result]:
    """Yield ``work`` of the cells of each batch of a file; add the parts of a long file to those held."""
    options, budget, absent = how.options, how.budget, how.absent
    with basket_sources.open_source(path, options.progress) as file:
        source, found = _detect_source(path, file, options)
        if how.persons is not None:
            _hold_long(_table(source, found), found.with_persons(how.persons), how, held)
            return
        if isinstance(source, Text) and not source.sample:
            _LOG.info("%s: the file is empty", path.name)
            return
        is_plain = found.kind == "dat" and path.name.lower().endswith(_PLAIN)
        if found.layout != options.requested_layout and not is_plain:
            _LOG.info("%s: read as: %s", path.name, found.layout)
        if found.note:
            _LOG.warning("%s: %s", path.name, found.note)

        def apply(cells: Cells) -> Result:
            refuse_multiple_items(cells, found)
            return work(cells)

        if isinstance(source, Text) and found.kind in ("dat", "lines"):
            parse = (
                _parse_lines_of_numbers if found.kind == "dat" else partial(_parse_names, found=found, absent=absent)
            )
            if source.sheets:
                source.sheets.check_cells(found.skip)
            chunks = basket_sources.line_chunks(source, budget, found.skip)
            yield from parallel_map(lambda chunk: apply(parse(*chunk)), chunks, budget.workers)
            return
        table = _table(source, found)
        if found.kind == "long":
            _hold_long(table, found, how, held)
        elif found.kind == "list":
            word = "basket" if isinstance(table, ParquetTable) else "line"

            def read(rows: Rows) -> Result:
                return apply(list_cells(rows.columns[0], replace(rows.origin, word=word), found.layout.within, absent))

            yield from table.map(read, found.places, budget)
        else:
            catalogue = catalogue_from_columns(found.names[place] for place in found.taken)
            flags = [pa.int8()] * len(found.taken)
            cells_of = partial(_onehot, found=found, catalogue=catalogue, absent=absent, incomplete=options.incomplete)
            yield from table.map(lambda rows: work(cells_of(rows)), found.taken, budget, flags)


def _table(source: _Source, found: DetectedLayout) -> AnyTable:
    if isinstance(source, ParquetTable):
        return source
    return CsvTable(source, found.names, found.separator, found.skip, found.watched)


def _hold_long(table: AnyTable, found: DetectedLayout, how: BatchOptions, held: list[LongPart]) -> None:
    """Add the parts of a long table to those held."""
    first, taken = len(held), sum(part.memory_bytes for part in held)
    # columns that are coded later, per run, which is cheaper
    plain = {*found.places[: found.ids], *(place for _, place in found.context)}
    kinds = [pa.string() if place in plain else None for place in found.taken]
    for part in table.map(partial(long_part, found=found, absent=how.absent), found.taken, how.budget, kinds):
        held.append(part)
        taken += part.memory_bytes
        if taken > how.budget.units(1) >= 0:
            how.budget.refuse(f"the long layout is read as a whole, which needs at least {taken >> 20:,} MiB")
    refuse_incomplete(held[first:], how.options.incomplete)
    if not sum(len(part.items) for part in held[first:]):
        raise BasketError(_NO_ROWS)


def _onehot(rows: Rows, found: DetectedLayout, catalogue: Catalogue, absent: Collection[str], incomplete: str) -> Cells:
    flags = flag_columns(rows, found.taken, absent)
    if isinstance(rows.line, LineNumbers) and len(flags[0]) < rows.line.n_lines:  # blank lines are empty baskets
        full = np.full((len(flags), rows.line.n_lines), BLANK, dtype=np.int8)
        full[:, rows.line.filled] = flags
        flags = list(full)
    return onehot_cells(flags, catalogue, rows.origin, absent, incomplete)


# ---- text: dat, one basket of numbers per line


def _parse_lines_of_numbers(data: bytes, origin: Origin) -> Cells:
    """Parse whole lines of item numbers; anything else is refused."""
    text = np.frombuffer(data, dtype=np.uint8)
    ids = np.empty((len(text) + 1) // 2, dtype=np.int32)  # pages that are not written need no memory
    sizes, result = np.empty(data.count(b"\n"), dtype=np.int32), np.empty(2, dtype=np.int64)
    kernels.parse_numbers(text, ids, sizes, result, _MAX_DIGITS)
    count, wrong = result.tolist()
    if wrong >= 0:
        _refuse_byte(data[wrong : wrong + 1], origin.place(data.count(b"\n", 0, wrong)))
    return Cells(sizes, ids[:count].copy(), None, origin)


def _refuse_byte(byte: bytes, where: str) -> None:
    if byte.isdigit():
        raise BasketError(f"{where} has an item number of more than {_MAX_DIGITS} digits; number items from 0")
    if byte == b"-":
        raise BasketError(f"{where} has a minus sign; number items from 0")
    raise BasketError(
        f"{where} has a character other than digits and blanks; a dat file holds only item numbers; for names pass "
        "layout='lines', or layout='lines separator=blank' if blanks separate them"
    )


# ---- text: lines, one basket of names per line


def _parse_names(data: bytes, origin: Origin, found: DetectedLayout, absent: Collection[str]) -> Cells:
    """Parse whole lines of names, as Python's CSV reader would, without the cells of columns to leave out.

    pyarrow refuses lines of different lengths. They are split at separators here, or by Python's reader if quotes are
    used other than around whole cells.

    Raises:
        BasketError: a line is not UTF-8 CSV.
    """
    separator, apart = found.separator, found.places
    if separator == " ":
        data = data.replace(b"\t", b" ")
    longest = max(map(len, data.split(b"\n"))) if len(data) > csv.field_size_limit() else 0
    plain = data.count(b"\r") == data.count(b"\r\n") and longest <= csv.field_size_limit()
    for read in (_cut_cells, _csv_cells) if plain else (_csv_cells,):
        with contextlib.suppress(UnicodeDecodeError, csv.Error):  # whose texts quote the line
            sizes, codes, names = read(data, separator, apart)
            return drop_missing_words(Cells(sizes, codes, names, origin), absent)
    refuse_lines(data, origin, separator)
    raise BasketError(f"lines {origin.before + 1:,} and following are not UTF-8 CSV; convert the file")


def _cut_cells(data: bytes, separator: str, apart: Collection[int]) -> _Parsed:
    """Return the sizes of lines split at separators, the codes of their cells and the distinct names.

    Separators within quotes are ignored; csv.Error if quotes are not in pairs around whole cells.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    marks, newlines = text == ord(separator), text == ord("\n")
    if quoted := b'"' in data:
        inside = np.cumsum(text == ord('"'), dtype=np.uint8) % 2 == 1  # that sum may overflow
        marks &= ~inside
        if (inside & newlines).any():
            raise csv.Error
    ends = np.flatnonzero(marks | newlines) + 1
    # every cell ends with its separator or newline, so the text itself serves as the buffer of an array of strings
    cells = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(np.concatenate([[0], ends])), pa.py_buffer(data))
    sizes = np.diff(np.flatnonzero(text[ends - 1] == ord("\n")) + 1, prepend=0)
    if apart:
        kept = np.ones(len(ends), dtype=np.bool_)
        for place in apart:
            kept[(np.cumsum(sizes) - sizes + place)[sizes > place]] = False
        cells, sizes = cells.filter(to_arrow(kept)), kept_sizes(sizes, kept)
    cells = cells.dictionary_encode()
    index: dict[str, int] = {}
    distinct = [cell[:-1] for cell in cells.dictionary.to_pylist()]
    stripped = (name.strip() for name in (_unquoted(distinct, separator) if quoted else distinct))
    renumbered = np.array([index.setdefault(name, len(index)) if name else -1 for name in stripped], dtype=np.int32)
    codes = renumbered[array_to_numpy(cells.indices)]
    if codes.min(initial=0) < 0:
        kept = codes >= 0
        sizes, codes = kept_sizes(sizes, kept), codes[kept]
    return sizes, codes, list(index)


def _unquoted(cells: list[str], separator: str) -> list[str]:
    """Return each cell as Python's CSV reader reads it alone, which is also what it reads within a line."""
    rows = list(csv.reader(cells, **basket_sources.dialect(separator)))
    if len(rows) != len(cells) or max(map(len, rows), default=0) > 1:
        raise csv.Error  # unclosed quotes joined cells, or separators outside quotes split them
    return [row[0] if row else "" for row in rows]


def _csv_cells(data: bytes, separator: str, apart: Collection[int]) -> _Parsed:
    """Return the same as :func:`_cut_cells`, for lines with any use of quotes."""
    sizes, codes, index = array("q"), array("i"), dict[str, int]()
    lines = io.StringIO(data.decode())
    for row in csv.reader(lines, **basket_sources.dialect(separator)):
        names = [name for place, cell in enumerate(row) if place not in apart and (name := cell.strip())]
        sizes.append(len(names))
        codes.extend([index.setdefault(name, len(index)) for name in names])
    if len(sizes) != data.count(b"\n"):  # quotes that close on another line joined lines
        raise csv.Error
    return np.asarray(sizes), np.asarray(codes), list(index)
