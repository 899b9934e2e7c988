"""Basket files -> transactions of item ids, whole or batch by batch.

Of text there are lines of item numbers, lines of names, the long layout and one-hot tables; of Parquet a column of
lists, a column of transactions and one of items, and one-hot tables. What reading may take is bounded; of the long
layout the codes of all rows are held, because a transaction may stand anywhere, also in several files.
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
from assocpriv.kernels.compiling import text_kernels
from assocpriv.kernels.parallel import map_ahead
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError
from assocpriv.records import sources
from assocpriv.records.baskets import (
    Baskets,
    assemble_in_order,
    catalogue_of_columns,
    flags_of,
    list_cells,
    onehot_cells,
    refuse_several,
)
from assocpriv.records.cells import (
    MISSING_WORDS,
    NOTHING_LEFT_OUT,
    Cells,
    LeftOut,
    Origin,
    joined,
    kept_sizes,
    resolve,
    without_unknown,
    without_words,
)
from assocpriv.records.columns import CsvTable, LineNumbers, ParquetTable, Rows, refuse_lines
from assocpriv.records.detection import names_columns, understand, understand_table
from assocpriv.records.layout import STRICT, Found, ReadOptions
from assocpriv.records.long_rows import LongPart, long_cells, long_part, refuse_incomplete
from assocpriv.records.sheets import SheetChoice

_Then = Callable[[Baskets], tuple[Baskets, int]]  # what it makes of a batch, and how many items it drops
_Parse = Callable[[bytes, Origin], Cells]
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_LOG = logging.getLogger("assocpriv")  # told how files are understood; the command line shows it
_PLAIN = (".dat", ".dat.gz", ".txt", ".txt.gz")  # of files of item numbers, mostly
_TABS = (".tsv", ".tsv.gz")
_NO_ROWS = "the file holds no baskets: a long file needs a header line and a line for each item"
_MAX_DIGITS = 9  # of an id in a .dat file: 32 bits hold it


@dataclass(frozen=True, slots=True)
class ReadCounts:
    """How many baskets files hold, the empty ones that were kept included, and what reading left out and merged."""

    baskets: int
    unknown_dropped: int
    repeats_merged: int
    empty_kept: int
    empty_dropped: int = 0
    left_out: LeftOut = NOTHING_LEFT_OUT

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
    """Read files of baskets whole, as the root's function of this name says, and count what was dropped and merged.

    Raises:
        BasketError: a file that cannot be read or is not of the layout; unknown, repeated, missing or
            unusable items; empty baskets.
    """
    absent = options.absent(catalogue)
    cells = joined(_map_batches(lambda batch: batch, paths, options, sources.Budget.within(None), absent))
    _note(paths, cells.left_out)
    return sources.named_after(_label(paths), lambda: _assemble(cells, catalogue, options))


def _note(paths: Paths, left_out: LeftOut) -> None:
    if left_out.note:
        _LOG.info("%s: %s", _label(paths).name, left_out.note)


def read_persons(paths: Paths, options: ReadOptions, column: str | int, catalogue: Catalogue | None = None) -> Cells:
    """Return the persons of each transaction's rows, −1 if nobody is named, in the order that transactions are read in.

    Raises:
        BasketError: as :func:`read_baskets`, no such column, or no long layout.
    """
    budget = sources.Budget.within(options.memory_bytes)
    absent = options.absent(catalogue)
    return joined(_map_batches(lambda batch: batch, paths, options, budget, absent, column))


class BasketStream(Iterator[Baskets]):
    """The baskets of files, batch by batch in their order, once; ``counts`` is what the batches so far met."""

    def __init__(self, paths: Paths, batches: Iterator[tuple[Baskets, ReadCounts]]) -> None:
        self._paths, self._batches = paths, batches
        self.counts = ReadCounts(0, 0, 0, 0)

    def __next__(self) -> Baskets:
        batch = next(self._batches, None)
        if batch is None:
            if not self.counts.baskets:
                raise BasketError(f"{_label(self._paths).name}: {sources.NO_BASKETS}")
            _note(self._paths, self.counts.left_out)
            raise StopIteration
        self.counts += batch[1]
        return batch[0]


def stream_baskets(
    paths: Paths, catalogue: Catalogue | None, options: ReadOptions = STRICT, then: _Then | None = None
) -> BasketStream:
    """Read files of any size batch by batch, as :func:`read_baskets` reads them whole.

    Errors come with the batch they are in, and tell where, but not how many there are in all. Files of the long layout
    are one batch: the items of a transaction may stand anywhere in them. Without a catalogue each batch is numbered
    anew. ``then`` is called in several threads.

    Raises:
        BasketError: while iterating, as for :func:`read_baskets`, and where a line or the rows of the long layout
            do not fit into the memory allowed.
    """

    def finish(cells: Cells) -> tuple[Baskets, ReadCounts]:
        # a batch without items has no names to make a catalogue of
        names = Catalogue.numbered(1) if catalogue is None and not len(cells.codes) else catalogue
        baskets, counts = _assemble(cells, names, options)
        if then is None:
            return baskets, counts
        transactions, dropped = then(baskets)
        return transactions, replace(counts, unknown_dropped=counts.unknown_dropped + dropped)

    absent = options.absent(catalogue)
    budget = sources.Budget.within(options.memory_bytes)
    return BasketStream(paths, _map_batches(finish, paths, options, budget, absent))


def _assemble(cells: Cells, catalogue: Catalogue | None, options: ReadOptions) -> tuple[Baskets, ReadCounts]:
    if not len(cells.sizes):
        raise BasketError(sources.NO_BASKETS)
    bare = np.flatnonzero(cells.sizes == 0)
    if len(bare) and options.empty == "error":
        raise BasketError(
            f"{cells.origin.place(int(bare[0]))} is an empty basket{cells.origin.tally(f'{len(bare):,} in all')}; "
            "a basket needs items; keep them with empty='keep', or leave them out with empty='drop'"
        )
    if options.empty == "drop":
        cells = replace(cells, sizes=cells.sizes[cells.sizes > 0])
    catalogue, ids = resolve(cells, catalogue, numbered=False)
    known = without_unknown(cells, ids, options.unknown, catalogue)
    baskets = assemble_in_order(known, catalogue, options.repeats)
    dropped, merged = len(ids) - len(known.codes), len(known.codes) - len(baskets.items)
    empty = (0, len(bare)) if options.empty == "drop" else (len(bare), 0)
    return baskets, ReadCounts(len(baskets), dropped, merged, *empty, cells.left_out)


# ---- layouts


@dataclass(frozen=True, slots=True)
class BasketLayout:
    """How a file of baskets lies on disk, for whoever writes it again with other items.

    Attributes:
        kind: "dat", "lines", "long", "one-hot" or, of Parquet, "list".
        columns: of Parquet the names of columns: of lists, of transactions and items, or of all items.
        separator, skip, places: of text, as in ``Found``.
    """

    kind: str
    columns: tuple[str, ...] = field(default=(), repr=False)
    separator: str = " "
    skip: int = 0
    places: tuple[int, ...] = ()

    @property
    def is_parquet(self) -> bool:
        """Whether it is no text."""
        return bool(self.columns)


def layout_of(path: str | os.PathLike[str], options: ReadOptions = STRICT) -> BasketLayout:
    """Return how a file of baskets lies on disk, as :func:`read_baskets` understands it.

    Raises:
        BasketError: as there, and for a file that is no UTF-8 text and no Parquet, or leaves returned items out.
    """
    path = Path(path)

    def look() -> BasketLayout:
        with sources.open_source(path, None) as file:
            table, found = _understood(path, file, options)
            if isinstance(table, sources.Text) and table.is_converted:
                raise BasketError("only UTF-8 text and Parquet are written again without items; convert the file")
            columns = rewritten_columns(found) if isinstance(table, ParquetTable) else ()
            return BasketLayout(found.kind, columns, found.separator, found.skip, found.places)

    return sources.named_after(path, look)


def rewritten_columns(found: Found) -> tuple[str, ...]:
    """Return the names of the columns that baskets are written to again, without other columns.

    Raises:
        BasketError: several columns of transactions, or quantities.
    """
    if found.quantity is not None or found.ids > 1:
        raise BasketError(
            "baskets are written again with one column of transactions and without quantities: write such a file, or "
            "say quantity=none in the layout"
        )
    return tuple(found.names[place] for place in (found.taken if found.kind == "one-hot" else found.places))


def _understood(path: Path, file: BinaryIO, options: ReadOptions) -> tuple[sources.Text | ParquetTable, Found]:
    """Return an open file as a table of Parquet or as text, and its layout."""
    said, name = options.said, path.name.lower()
    if sources.is_parquet(path, file):
        if not file.read(1):
            raise BasketError(sources.NO_BASKETS)
        file.seek(0)
        table = ParquetTable(file, with_index=False)
        if len(set(table.names)) != len(table.names):
            raise BasketError("the file's columns must have different names")
        return table, understand_table(
            table.first_rows(), [table.schema.field(each).type for each in table.names], said
        )
    header = None if said.header in (None, True, False) else int(said.header)
    text = sources.open_text(path, file, said.encoding, SheetChoice(said.sheet, header, is_likely=names_columns))
    if said.separator is None and name.endswith(_TABS) and said.kind != "dat":
        said = replace(said, separator="\t")
    found = understand(text.lines, said, plain=name.endswith(_PLAIN))
    if text.encoding != "utf-8":
        found = replace(found, layout=replace(found.layout, encoding=text.encoding))
    if text.sheets:
        found = replace(found, layout=replace(found.layout, sheet=text.sheets.words or None))
        below = found.layout.header
        if text.sheets.are_several and said.header is None and below not in (None, True, False):
            file.seek(0)  # a title stands above the header of each
            return _understood(path, file, replace(options, layout=replace(said, header=below)))
        if text.sheets.are_several and found.kind != "one-hot" and not found.layout.header:
            raise BasketError(
                "the workbook has several sheets, and no header that they share; read one at a time, with "
                f"sheet={text.sheets.words.partition('+')[0]} in the layout"
            )
    return text, found


# ---- batches


def _label(paths: Paths) -> Path:
    """Return what errors that concern all files are named after."""
    first, *others = _paths(paths)
    return first if not others else Path(f"{first.name} and {len(others)} more")


def _paths(paths: Paths) -> list[Path]:
    listed = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(listed, Sequence) or not all(isinstance(path, str | os.PathLike) for path in listed):
        raise TypeError(
            f"a file is named by its path, several by a list of paths, got a {type(paths).__name__}; a table or lists "
            "in memory become baskets with to_baskets()"
        )
    if not listed:
        raise BasketError("no file of baskets is named; name one at least")
    return [Path(path) for path in listed]


def _map_batches(
    work: sources.Work[sources.Result],
    paths: Paths,
    options: ReadOptions,
    budget: sources.Budget,
    absent: Collection[str] = MISSING_WORDS,
    persons: str | int | None = None,
) -> Iterator[sources.Result]:
    """Yield ``work`` of the cells of each batch of files; the log is told what had to be found out about them.

    With columns of ``persons`` they are read in the place of items, and the log is told nothing.
    """
    held: list[LongPart] = []
    for path in _paths(paths):
        batches = _file_batches(work, path, _How(options, budget, absent, persons), held)
        while (batch := sources.named_after(path, lambda batches=batches: next(batches, None))) is not None:  # type: ignore[misc]
            yield batch
    if held:
        yield sources.named_after(_label(paths), lambda: work(_held_cells(held, persons is not None)))


@dataclass(frozen=True, slots=True)
class _How:
    """How batches are read: the options, the room, words for a missing value, and columns of persons to be read."""

    options: ReadOptions
    budget: sources.Budget
    absent: Collection[str]
    persons: str | int | None


def _held_cells(held: list[LongPart], persons: bool) -> Cells:
    cells = long_cells(held, persons=persons)
    if not len(cells.sizes):
        raise BasketError(_NO_ROWS)
    if not persons:
        refuse_several(cells, held[0].found)
    return cells


def _file_batches(
    work: sources.Work[sources.Result], path: Path, how: _How, held: list[LongPart]
) -> Iterator[sources.Result]:
    """Yield ``work`` of the cells of each batch of a file; the parts of a long one are added to those held."""
    options, budget, absent = how.options, how.budget, how.absent
    with sources.open_source(path, options.progress) as file:
        source, found = _understood(path, file, options)
        if how.persons is not None:
            _hold_long(_table(source, found), found.with_persons(how.persons), how, held)
            return
        if isinstance(source, sources.Text) and not source.sample:
            _LOG.info("%s: the file is empty", path.name)
            return
        if found.layout != options.said and not (found.kind == "dat" and path.name.lower().endswith(_PLAIN)):
            _LOG.info("%s: read as: %s", path.name, found.layout)
        if found.note:
            _LOG.warning("%s: %s", path.name, found.note)

        def apply(cells: Cells) -> sources.Result:
            refuse_several(cells, found)
            return work(cells)

        if isinstance(source, sources.Text) and found.kind in ("dat", "lines"):
            parse = _dat_parser() if found.kind == "dat" else partial(_parse_names, found=found, absent=absent)
            if source.sheets:
                source.sheets.check_cells(found.skip)
            chunks = sources.line_chunks(source, budget, found.skip)
            yield from map_ahead(lambda chunk: apply(parse(*chunk)), chunks, budget.workers)
            return
        table = _table(source, found)
        if found.kind == "long":
            _hold_long(table, found, how, held)
        elif found.kind == "list":
            within, is_parquet = found.layout.within, isinstance(table, ParquetTable)
            yield from table.map(
                lambda rows: apply(
                    list_cells(
                        rows.columns[0],
                        replace(rows.origin, word="basket") if is_parquet else rows.origin,
                        within,
                        absent,
                    )
                ),
                found.places,
                budget,
            )
        else:
            catalogue = catalogue_of_columns(found.names[place] for place in found.taken)
            flags = [pa.int8()] * len(found.taken)
            yield from table.map(lambda rows: work(_onehot(rows, found, catalogue, absent)), found.taken, budget, flags)


def _table(source: sources.Text | ParquetTable, found: Found) -> CsvTable | ParquetTable:
    if isinstance(source, ParquetTable):
        return source
    return CsvTable(source, found.names, found.separator, found.skip, found.watched)


def _hold_long(table: CsvTable | ParquetTable, found: Found, how: _How, held: list[LongPart]) -> None:
    """Add the parts of a long table to those held."""
    first, taken = len(held), sum(part.memory_bytes for part in held)
    plain = {*found.places[: found.ids], *(place for _, place in found.context)}  # codes of runs alone come cheaper
    kinds = [pa.string() if place in plain else None for place in found.taken]
    for part in table.map(partial(long_part, found=found, absent=how.absent), found.taken, how.budget, kinds):
        held.append(part)
        taken += part.memory_bytes
        if taken > how.budget.units(1) >= 0:
            how.budget.refuse(f"the long layout is read as a whole, which takes at least {taken >> 20:,} MiB")
    if how.options.incomplete == "refuse":
        refuse_incomplete(held[first:])
    if not sum(len(part.items) for part in held[first:]):
        raise BasketError(_NO_ROWS)


def _onehot(rows: Rows, found: Found, catalogue: Catalogue, absent: Collection[str]) -> Cells:
    flags = flags_of(rows, found.taken)
    if isinstance(rows.line, LineNumbers) and len(flags[0]) < rows.line.n_lines:  # blank lines are empty baskets
        full = np.zeros((len(flags), rows.line.n_lines), dtype=np.bool_)
        full[:, rows.line.filled] = flags
        flags = list(full)
    return onehot_cells(flags, catalogue, rows.origin, absent)


# ---- text: dat, a line of numbers a basket


def _dat_parser() -> _Parse:
    """Return the reader of whole lines of item numbers, which refuses anything else with a BasketError."""
    parse_numbers = text_kernels.parse_numbers  # compiled code loads in this thread, and not for other layouts

    def parse(data: bytes, origin: Origin) -> Cells:
        text = np.frombuffer(data, dtype=np.uint8)
        ids = np.empty((len(text) + 1) // 2, dtype=np.int32)  # room that is not written takes no memory
        sizes = np.empty(data.count(b"\n"), dtype=np.int32)
        count, wrong = parse_numbers(text, _MAX_DIGITS, ids, sizes)
        if wrong >= 0:
            _refuse_byte(data[wrong : wrong + 1], origin.place(data.count(b"\n", 0, wrong)))
        return Cells(sizes, ids[:count].copy(), None, origin)

    return parse


def _refuse_byte(byte: bytes, where: str) -> None:
    if byte.isdigit():
        raise BasketError(f"{where} has an item number of more than {_MAX_DIGITS} digits; number items from 0")
    if byte == b"-":
        raise BasketError(f"{where} has a minus sign; item numbers are 0 or more; renumber the items")
    raise BasketError(
        f"{where} has a character other than digits and blanks; a dat file holds only item numbers; for names say "
        "layout='lines', or layout='lines separator=blank' if blanks part them"
    )


# ---- text: a line of names a basket


def _parse_names(data: bytes, origin: Origin, found: Found, absent: Collection[str]) -> Cells:
    """Read whole lines of names, each as Python's CSV reader reads it, but for the cells of columns apart, if any.

    Lines differ in length, which pyarrow refuses. They are cut at separators here, or, where quotes are used in another
    way than around whole cells, line by line by Python's reader.

    Raises:
        BasketError: a line is no text or no CSV.
    """
    separator, apart = found.separator, found.places
    if separator == " ":
        data = data.replace(b"\t", b" ")
    longest = max(map(len, data.split(b"\n"))) if len(data) > csv.field_size_limit() else 0
    plain = data.count(b"\r") == data.count(b"\r\n") and longest <= csv.field_size_limit()
    for read in (_cut_cells, _csv_cells) if plain else (_csv_cells,):
        with contextlib.suppress(UnicodeDecodeError, csv.Error):  # their texts quote the line
            sizes, codes, names = read(data, separator, apart)
            return without_words(Cells(sizes, codes, names, origin), absent)
    refuse_lines(data, origin, separator)
    raise BasketError(f"lines {origin.before + 1:,} and following are no CSV in UTF-8; convert the file")


def _cut_cells(
    data: bytes, separator: str, apart: Collection[int]
) -> tuple[NDArray[np.int64], NDArray[np.int32], list[str]]:
    """Return the sizes of lines cut at separators, the codes of their cells and the distinct names.

    Separators between a pair of quotes do not count; csv.Error where quotes are used in another way than in such pairs.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    marks, newlines = text == ord(separator), text == ord("\n")
    if quoted := b'"' in data:
        inside = np.cumsum(text == ord('"'), dtype=np.uint8) % 2 == 1  # that sum may overflow
        marks &= ~inside
        if (inside & newlines).any():
            raise csv.Error
    ends = np.flatnonzero(marks | newlines) + 1
    offsets = pa.py_buffer(np.concatenate([[0], ends]))
    # every cell ends with its separator or newline, so that the text as it stands is an array of strings
    cells = pa.LargeStringArray.from_buffers(len(ends), offsets, pa.py_buffer(data))
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
    """Return what Python's CSV reader reads in each cell alone, which is what it reads there in a line."""
    rows = list(csv.reader(cells, **sources.dialect(separator)))
    if len(rows) != len(cells) or max(map(len, rows), default=0) > 1:
        raise csv.Error  # quotes that do not close join cells, separators that count after all part them
    return [row[0] if row else "" for row in rows]


def _csv_cells(
    data: bytes, separator: str, apart: Collection[int]
) -> tuple[NDArray[np.int64], NDArray[np.int32], list[str]]:
    """Return what :func:`_cut_cells` does, of lines with quotes."""
    sizes, codes, index = array("q"), array("i"), dict[str, int]()
    lines = io.StringIO(data.decode())
    for row in csv.reader(lines, **sources.dialect(separator)):
        names = [name for place, cell in enumerate(row) if place not in apart and (name := cell.strip())]
        sizes.append(len(names))
        codes.extend([index.setdefault(name, len(index)) for name in names])
    if len(sizes) != data.count(b"\n"):  # quotes that close on another line join lines
        raise csv.Error
    return np.asarray(sizes), np.asarray(codes), list(index)
