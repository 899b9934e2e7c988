"""Basket files -> transactions of item ids, whole or batch by batch.

Of text there are lines of item numbers, lines of names, the long layout and one-hot tables; of Parquet a column of
lists, a column of transactions and one of items, and one-hot tables. What reading may take is bounded; the long layout
is read as a whole.
"""

import codecs
import contextlib
import csv
import io
import itertools
import logging
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import (
    ColumnChunk,
    array_to_numpy,
    arrow_csv,
    column_chunks,
    is_inflated,
    pa,
    parquet_errors,
    pc,
    pq,
    to_arrow,
)
from assocpriv.kernels.compiling import text_kernels
from assocpriv.kernels.parallel import free_memory, map_ahead
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError, PlanError
from assocpriv.records import sources
from assocpriv.records.baskets import Baskets, assemble_in_order, is_list_type, list_cells, long_cells, onehot_cells
from assocpriv.records.cells import Cells, Origin, check_choices, joined, kept_sizes, resolve, without_unknown
from assocpriv.records.layout import (
    COLUMN_OPTIONS,
    FALSE_WORDS,
    FLAGS,
    FORMATS,
    TRUE_WORDS,
    LayoutOptions,
    TextLayout,
    advise,
    asked_place,
    columns_apart,
    describe_columns,
    describe_onehot,
    holds_flags,
    long_columns,
    no_flag,
    shown_column,
    understand,
    usual_places,
)

_Then = Callable[[Baskets], tuple[Baskets, int]]  # what it makes of a batch, and how many items it drops
_Parse = Callable[[bytes, Origin], Cells]
_Tell = Callable[[str], None]
_LOG = logging.getLogger("assocpriv")  # told how files are understood; the command line shows it
_LONG_BYTES = 24  # memory that a byte of text in the long layout takes, which is read as a whole
_ENDINGS = {
    "dat": (".dat", ".dat.gz", ".txt"),
    "text": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),  # to be understood from its first lines
    "parquet": (".parquet", ".pq"),
}
_LONG_ROW_BYTES = 192  # memory that a row of the long layout takes, at worst
_CELL_BYTES = 8  # text that counts as one cell of a column of lists, and what a cell of a one-hot table takes
_SAMPLE_CELLS = 1 << 20  # of a one-hot table, looked at to know it
_LEAST_ROWS = 10
_INDEX = re.compile(r"__index_level_[0-9]+__")  # a column that pandas writes, beside its own
_MAX_DIGITS = 9  # of an id in a .dat file: 32 bits hold it
_LARGEST_BLOCK = (1 << 31) - 1
_PIECE_BYTES = 1 << 20  # decoded at once, because the decoded form may be four times larger
_SOMETHING = re.compile(rb"\S")
_QUOTES = "quotes are not closed on the line"
_PROBLEMS = {  # by how the parser's own text begins
    "field larger": f"a cell has more than {csv.field_size_limit():,} characters; separators or line ends are missing",
    "new-line char": "a carriage return stands inside it; convert the line ends (tr '\\r' '\\n' < OLD > NEW)",
}


@dataclass(frozen=True, slots=True)
class ReadOptions(LayoutOptions):
    """How a file of baskets is read; the root's ``read_baskets`` says what the words mean, another is a BasketError.

    Reading batch by batch takes about ``memory_bytes``; ``progress`` is called with (bytes read, bytes of the file).
    """

    unknown: str = "error"
    repeats: str = "error"
    empty: str = "error"
    memory_bytes: int = 256 << 20
    progress: sources.Progress | None = None

    def __post_init__(self) -> None:
        check_choices(unknown=self.unknown, repeats=self.repeats, empty=self.empty)


STRICT = ReadOptions()


@dataclass(frozen=True, slots=True)
class ReadCounts:
    """How many baskets a file holds, the empty ones included, and what reading it left out, merged and kept."""

    baskets: int
    unknown_dropped: int
    repeats_merged: int
    empty_kept: int

    def __add__(self, other: "ReadCounts") -> "ReadCounts":
        return ReadCounts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def read_baskets(
    path: str | os.PathLike[str], catalogue: Catalogue | None = None, options: ReadOptions = STRICT
) -> tuple[Baskets, ReadCounts]:
    """Read a file of baskets whole, as the root's function of this name says, and count what was dropped and merged.

    Raises:
        BasketError: a file that cannot be read or is not of the format; unknown, repeated, missing or
            unusable items; empty baskets.
    """
    path = Path(path)
    return sources.named_after(path, lambda: _assemble(read_cells(path, options), catalogue, options))


def read_cells(
    path: str | os.PathLike[str], options: ReadOptions, memory_bytes: int | None = None, *, quiet: bool = False
) -> Cells:
    """Read a file's items whole, as it holds them; ``quiet`` of what had to be found out about it.

    Raises:
        BasketError: as :func:`read_baskets`, without the file's name, or beyond the memory.
    """
    budget = sources.Budget.within(memory_bytes)
    return joined(_map_batches(lambda batch: batch, Path(path), options, budget, quiet=quiet))


class BasketStream(Iterator[Baskets]):
    """The baskets of a file, batch by batch in its order, once; ``counts`` is what the batches so far met."""

    def __init__(self, path: Path, batches: Iterator[tuple[Baskets, ReadCounts]]) -> None:
        self._path, self._batches = path, batches
        self.counts = ReadCounts(0, 0, 0, 0)

    def __next__(self) -> Baskets:
        batch = sources.named_after(self._path, lambda: next(self._batches, None))
        if batch is None:
            if not self.counts.baskets:
                raise BasketError(f"{self._path.name}: {sources.NO_BASKETS}")
            raise StopIteration
        self.counts += batch[1]
        return batch[0]


def stream_baskets(
    path: str | os.PathLike[str], catalogue: Catalogue | None, options: ReadOptions = STRICT, then: _Then | None = None
) -> BasketStream:
    """Read a file of any size batch by batch, as :func:`read_baskets` reads it whole.

    Errors come with the batch they are in, and tell where, but not how many there are in all. A file of the long layout
    is one batch: the items of a transaction may stand anywhere in it. Without a catalogue each batch is numbered
    anew. ``then`` is called in several threads.

    Raises:
        BasketError: while iterating, as for :func:`read_baskets`, and where a line or a file of the long layout
            does not fit into the memory allowed.
    """
    path = Path(path)

    def finish(cells: Cells) -> tuple[Baskets, ReadCounts]:
        # a batch without items has no names to make a catalogue of
        names = Catalogue.numbered(1) if catalogue is None and not len(cells.codes) else catalogue
        baskets, counts = _assemble(cells, names, options)
        if then is None:
            return baskets, counts
        transactions, dropped = then(baskets)
        return transactions, replace(counts, unknown_dropped=counts.unknown_dropped + dropped)

    batches = _map_batches(finish, path, options, sources.Budget.within(options.memory_bytes))
    return BasketStream(path, batches)


def _assemble(cells: Cells, catalogue: Catalogue | None, options: ReadOptions) -> tuple[Baskets, ReadCounts]:
    if not len(cells.sizes):
        raise BasketError(sources.NO_BASKETS)
    bare = np.flatnonzero(cells.sizes == 0)
    if len(bare) and options.empty == "error":
        raise BasketError(
            f"{cells.origin.place(int(bare[0]))} is an empty basket{cells.origin.tally(f'{len(bare):,} in all')}; "
            "a basket needs items; keep them with empty='keep' (--empty keep)"
        )
    catalogue, ids = resolve(cells, catalogue, numbered=False)
    known = without_unknown(cells, ids, options.unknown, catalogue)
    baskets = assemble_in_order(known, catalogue, options.repeats)
    dropped, merged = len(ids) - len(known.codes), len(known.codes) - len(baskets.items)
    return baskets, ReadCounts(len(baskets), dropped, merged, len(bare))


# ---- layouts


@dataclass(frozen=True, slots=True)
class BasketLayout:
    """How a file of baskets lies on disk, for whoever writes it again with other items.

    Attributes:
        kind: "dat", "basket", "long", "onehot" or, of Parquet, "list".
        columns: of Parquet the names of columns: of lists, of transactions and items, or of all items.
        separator, skip, places: of text, as in ``TextLayout``.
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
        BasketError: as there.
    """
    path = Path(path)
    return sources.named_after(path, lambda: _layout_of(path, options))


def _layout_of(path: Path, options: ReadOptions) -> BasketLayout:
    options.check_layout()
    form, options = options.format or _form_of(path, options), _with_tabs(path, options)
    if form == "parquet" or (form == "onehot" and path.name.lower().endswith(_ENDINGS["parquet"])):
        kind, columns = _item_columns(partial(sources.open_source, path, None), options)
        return BasketLayout(kind, tuple(columns))
    if form == "dat":
        return BasketLayout("dat")
    with sources.open_source(path, None) as file:
        layout = understand(sources.read_sample(file)[: sources.SAMPLE_BYTES], options)
    return BasketLayout(layout.kind, (), layout.separator, layout.skip, layout.columns)


def _with_tabs(path: Path, options: ReadOptions) -> ReadOptions:
    is_tsv = path.name.lower().endswith((".tsv", ".tsv.gz"))
    return replace(options, separator="\t") if is_tsv and options.separator is None else options


# ---- batches


def _map_batches(
    work: sources.Work[sources.Result], path: Path, options: ReadOptions, budget: sources.Budget, *, quiet: bool = False
) -> Iterator[sources.Result]:
    """Yield ``work`` of the cells of each batch of a file; the log is told what had to be found out about it."""
    if path.is_dir():
        raise IsADirectoryError
    options.check_layout()
    form = options.format or _form_of(path, options)

    def tell(note: str) -> None:
        if not quiet:
            _LOG.info("%s: %s", path.name, note)

    if form in ("dat", "parquet") and (options.separator, options.header) != (None, None):
        raise BasketError(f"a {form} file has neither separator nor header; leave both out, or pass another format=")
    opened = partial(sources.open_source, path, options.progress)
    if form == "parquet" or (form == "onehot" and path.name.lower().endswith(_ENDINGS["parquet"])):
        yield from _read_parquet(opened, budget, work, options, tell)
        return
    options = _with_tabs(path, options)
    with opened() as file:
        yield from _text_batches(file, form, options, budget, work, tell)


def _form_of(path: Path, options: ReadOptions) -> str:
    """Return a format by a file's ending, "text" for one that its first lines must show."""
    name = path.name.lower()
    form = next((form for form, endings in _ENDINGS.items() if name.endswith(endings)), None)
    if name.endswith(sources.SPREADSHEETS):
        raise BasketError(sources.SPREADSHEET)
    if form is None:
        known = ", ".join(FORMATS)
        raise BasketError(f"the file's ending names no format; pass format= (--format), one of {known}")
    return "text" if form == "dat" and options.speaks_of_cells else form


# ---- text


def _text_batches(
    file: BinaryIO,
    form: str,
    options: ReadOptions,
    budget: sources.Budget,
    work: sources.Work[sources.Result],
    tell: _Tell,
) -> Iterator[sources.Result]:
    first = sources.read_sample(file)
    if not first:
        tell("the file is empty")
        return
    rest = sources.Resumed(first, file)
    sample = first[: sources.SAMPLE_BYTES]
    if form == "dat":
        yield from _line_batches(_dat_parser(advise(sample)), rest, budget, work)
        return
    layout = understand(sample, options)
    if layout.doubt or _is_found_out(layout, options):
        tell(layout.note + layout.doubt)
    if layout.kind == "long":
        yield _read_long(rest, layout, budget, work)
        return
    apart = next(iter(layout.columns), None)
    names = partial(_parse_names, separator=layout.separator, apart=apart)
    parse = _onehot_parser(layout) if layout.kind == "onehot" else names
    yield from _line_batches(parse, rest, budget, work, layout.skip)


def _is_found_out(layout: TextLayout, options: ReadOptions) -> bool:
    """Tell whether more was understood than was said, or than the named format always means."""
    named = options.format == "basket" and (options.separator is not None or layout.separator == ",")
    return not named


def _line_batches(
    parse: _Parse, file: sources.Resumed, budget: sources.Budget, work: sources.Work[sources.Result], skip: int = 0
) -> Iterator[sources.Result]:
    yield from map_ahead(lambda chunk: work(parse(*chunk)), sources.line_chunks(file, budget, skip), budget.workers)


def _read_long(
    file: sources.Resumed, layout: TextLayout, budget: sources.Budget, work: sources.Work[sources.Result]
) -> sources.Result:
    fitting = budget.units(_LONG_BYTES)
    text = file.read(fitting + 1 if fitting >= 0 else -1)
    if len(text) > fitting >= 0:
        budget.refuse(f"the long layout is read as a whole, which takes about {_LONG_BYTES} times the size of the text")
    transactions, items = _parse_long(text, layout)
    return work(long_cells(transactions, items, lambda row: f"line {_line_of_row(text, layout.skip, row)}"))


def _decoded(line: bytes, number: int) -> str:
    if b"\0" in line:
        raise BasketError(f"line {number} has a NUL byte; the file must be text; check its format")
    with contextlib.suppress(UnicodeDecodeError):  # it holds the line
        return line.decode("utf-8")
    raise BasketError(f"line {number} is not UTF-8 text; {sources.TO_UTF8}")


def _is_plain(text: bytes) -> bool:
    """Return whether text is UTF-8 without NUL."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with contextlib.suppress(UnicodeDecodeError):
        for start in range(0, len(text), _PIECE_BYTES):
            decoder.decode(memoryview(text)[start : start + _PIECE_BYTES])
        decoder.decode(b"", final=True)
        return b"\0" not in text
    return False


# ---- text: dat, a line of numbers a basket


def _dat_parser(advice: str) -> Callable[[bytes, Origin], Cells]:
    """Return the reader of whole lines of item numbers, which refuses anything else with a BasketError and advice."""

    parse_numbers = text_kernels.parse_numbers  # compiled code loads in this thread, and not for other formats

    def parse(data: bytes, origin: Origin) -> Cells:
        text = np.frombuffer(data, dtype=np.uint8)
        ids = np.empty((len(text) + 1) // 2, dtype=np.int32)  # room that is not written takes no memory
        sizes = np.empty(data.count(b"\n"), dtype=np.int32)
        count, wrong = parse_numbers(text, _MAX_DIGITS, ids, sizes)
        if wrong >= 0:
            _refuse_byte(data[wrong : wrong + 1], origin.place(data.count(b"\n", 0, wrong)), advice)
        return Cells(sizes, ids[:count].copy(), None, origin)

    return parse


def _refuse_byte(byte: bytes, where: str, advice: str) -> None:
    if byte.isdigit():
        raise BasketError(f"{where} has an item number of more than {_MAX_DIGITS} digits; number items from 0")
    if byte == b"-":
        raise BasketError(f"{where} has a minus sign; item numbers are 0 or more; renumber the items")
    raise BasketError(
        f"{where} has a character other than digits and blanks; a dat file holds only item numbers; {advice}"
    )


# ---- text: basket, a line of names a basket


def _parse_names(data: bytes, origin: Origin, separator: str = ",", apart: int | None = None) -> Cells:
    """Read whole lines of names, each as Python's CSV reader reads it, but for the cells of a column apart, if any.

    BasketError where a line is no text or no CSV.
    """
    if separator == " ":
        data = data.replace(b"\t", b" ")
    dialect = _dialect(separator)
    if not _is_plain(data):
        _refuse_lines(enumerate(io.BytesIO(data), origin.before + 1), dialect)
    text = np.frombuffer(data, dtype=np.uint8)
    newlines = np.flatnonzero(text == ord("\n"))
    odd = _odd_lines(data, text, newlines)
    if b'"' not in data:
        return _names_of(data, origin, odd, dialect, apart)
    starts = np.concatenate([[0], newlines[:-1] + 1])
    quotes = np.add.reduceat(text == ord('"'), starts, dtype=np.int64)
    with contextlib.suppress(csv.Error):  # quotes inside a cell
        return _names_of(data, origin, odd | (quotes % 2 == 1), dialect, apart)
    return _names_of(data, origin, odd | (quotes > 0), dialect, apart)


def _dialect(separator: str) -> dict[str, Any]:
    """Return how Python's CSV reader is to read."""
    return {"delimiter": separator, "strict": True, "skipinitialspace": separator != " "}


def _odd_lines(data: bytes, text: NDArray[np.uint8], newlines: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which lines may be more than cells and commas: lone carriage returns, what may be too long."""
    odd: NDArray[np.bool_] = np.diff(newlines, prepend=-1) > csv.field_size_limit()
    if b"\r" in data:
        returns = np.flatnonzero(text == ord("\r"))
        odd[np.searchsorted(newlines, returns[text[returns + 1] != ord("\n")])] = True
    return odd


def _names_of(data: bytes, origin: Origin, odd: NDArray[np.bool_], dialect: dict[str, Any], apart: int | None) -> Cells:
    """Cut lines at separators; the odd ones go through Python's CSV reader as they are."""
    if not odd.any():
        sizes, codes, index = _cut_cells(data, dialect, apart)
        return Cells(sizes, codes, list(index), origin)
    text = np.frombuffer(data, dtype=np.uint8)
    in_odd = np.repeat(odd, np.diff(np.flatnonzero(text == ord("\n")), prepend=-1))
    sizes = np.empty(len(odd), dtype=np.int64)
    sizes[~odd], even_codes, index = _cut_cells(text[~in_odd].tobytes(), dialect, apart)
    numbers = origin.before + 1 + np.flatnonzero(odd)
    sizes[odd], odd_codes = _csv_cells(text[in_odd].tobytes(), numbers, index, dialect, apart)
    of_odd = np.repeat(odd, sizes)
    codes = np.empty(len(of_odd), dtype=np.int32)
    codes[~of_odd], codes[of_odd] = even_codes, odd_codes
    return Cells(sizes, codes, list(index), origin)


def _cut_cells(
    data: bytes, dialect: dict[str, Any], apart: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int32], dict[str, int]]:
    """Return the sizes of lines cut at separators, the codes of their cells and the numbers of the names.

    Separators between a pair of quotes do not count; csv.Error where quotes are used in another way than in such pairs.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    marks = text == ord(dialect["delimiter"])
    if b'"' in data:
        marks &= np.cumsum(text == ord('"'), dtype=np.uint8) % 2 == 0  # that sum may overflow
    ends = np.flatnonzero(marks | (text == ord("\n"))) + 1
    offsets = pa.py_buffer(np.concatenate([[0], ends]))
    # every cell ends with its separator or newline, so that the text as it stands is an array of strings
    cells = pa.LargeStringArray.from_buffers(len(ends), offsets, pa.py_buffer(data))
    sizes = np.diff(np.flatnonzero(text[ends - 1] == ord("\n")) + 1, prepend=0)
    if apart is not None:
        kept = np.ones(len(ends), dtype=np.bool_)
        kept[(np.cumsum(sizes) - sizes + apart)[sizes > apart]] = False
        cells, sizes = cells.filter(to_arrow(kept)), kept_sizes(sizes, kept)
    cells = cells.dictionary_encode()
    names = [cell[:-1] for cell in cells.dictionary.to_pylist()]
    if b'"' in data:
        names = _unquoted(names, dialect)
    index: dict[str, int] = {}
    stripped = (name.strip() for name in names)
    renumbered = np.array([index.setdefault(name, len(index)) if name else -1 for name in stripped], dtype=np.int32)
    codes = renumbered[array_to_numpy(cells.indices)]
    if codes.min(initial=0) < 0:
        kept = codes >= 0
        sizes, codes = kept_sizes(sizes, kept), codes[kept]
    return sizes, codes, index


def _unquoted(cells: list[str], dialect: dict[str, Any]) -> list[str]:
    """Return what Python's CSV reader reads in each cell alone, which is what it reads there in a line."""
    rows = list(csv.reader(cells, **dialect))
    if len(rows) != len(cells) or max(map(len, rows)) > 1:
        raise csv.Error  # quotes that do not close join cells, separators that count after all part them
    return [row[0] if row else "" for row in rows]


def _csv_cells(
    data: bytes, numbers: NDArray[np.int64], index: dict[str, int], dialect: dict[str, Any], apart: int | None
) -> tuple["array[int]", "array[int]"]:
    """Return the sizes and codes of lines of plain text, given with their numbers; the index of names grows."""
    sizes, codes = array("q"), array("i")
    with contextlib.suppress(csv.Error):  # its text may quote the line
        for row in csv.reader(io.StringIO(data.decode()), **dialect):
            names = [name for place, cell in enumerate(row) if place != apart and (name := cell.strip())]
            sizes.append(len(names))
            codes.extend([index.setdefault(name, len(index)) for name in names])
    if len(sizes) != len(numbers):  # quotes that close on another line join lines
        _refuse_lines(zip(numbers.tolist(), io.BytesIO(data), strict=True), dialect)
    return sizes, codes


def _refuse_lines(lines: Iterable[tuple[int, bytes]], dialect: dict[str, Any]) -> None:
    """Refuse the first line, given with its number, that is no CSV on its own."""
    for number, line in lines:
        text = _decoded(line, number)
        problem = ""
        try:
            next(csv.reader([text], **dialect))
        except csv.Error as error:  # its text may quote the line
            problem = next((said for start, said in _PROBLEMS.items() if str(error).startswith(start)), _QUOTES)
        if problem:
            raise BasketError(f"line {number} is not CSV: {problem}; correct it")


# ---- text: long, a line for each item of a transaction


def _parse_long(text: bytes, layout: TextLayout) -> list[Any]:
    """Return the transactions and the items of a table of text, as chunked Arrow arrays.

    Names lose the blanks around them; nothing but blanks is null. BasketError for anything but such a table.
    """
    if not _is_plain(text):
        for number, line in enumerate(text.split(b"\n"), 1):
            _decoded(line, number)
    start = 0
    for _ in range(layout.skip):
        start = text.find(b"\n", start) + 1 or len(text)
    if not _SOMETHING.search(text, start):
        raise BasketError("the file holds no baskets: a long file needs a header line and a line for each item")
    columns = []
    for column in _table(text, layout).itercolumns():
        names = pc.utf8_trim_whitespace(column)
        columns.append(pc.if_else(pc.match_substring_regex(names, "(?s)."), names, pa.nulls(len(names), names.type)))
    return columns


def _line_of_row(text: bytes, skip: int, row: int) -> int:
    """Return the line, from 1, in which a row of a long file stands, from 0; blank lines are no rows.

    >>> _line_of_row(b"order,item\\n\\n1,tea\\n", 1, 0)
    3
    """
    lines = enumerate(io.BytesIO(text), 1)
    rows = (number for number, line in lines if number > skip and line.strip(b"\r\n"))
    return next(itertools.islice(rows, row, None))


def _table(text: bytes, layout: TextLayout) -> Any:
    """Return the two chosen columns as a table of text."""
    names = [f"column{position}" for position in range(len(layout.header))]
    ragged: list[int] = []

    def note(row: Any) -> str:
        ragged.append(row.number)
        return "error"

    for fast in (True, False):  # only one thread numbers rows
        with contextlib.suppress(pa.ArrowException):  # its text quotes the row
            return arrow_csv.read_csv(
                pa.BufferReader(text),
                read_options=arrow_csv.ReadOptions(
                    column_names=names,
                    skip_rows=layout.skip,
                    use_threads=fast,
                    block_size=None if fast else min(len(text) + 1, _LARGEST_BLOCK),  # a line must lie in one
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=layout.separator, invalid_row_handler=None if fast else note
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=[names[position] for position in layout.columns],
                    strings_can_be_null=False,
                ),
            )
    counted = "the header is row 1, blank lines" if layout.skip else "blank lines"
    where = f"row {ragged[0]} ({counted} do not count)" if ragged else "a row"
    raise BasketError(f"{where} does not have the {len(names)} cells of the first line; correct the file")


# ---- text: onehot, a column of true and false for each item


def _onehot_parser(layout: TextLayout) -> Callable[[bytes, Origin], Cells]:
    """Return the reader of whole lines of a one-hot table, which refuses anything else with a BasketError."""
    _ = pa.Table  # loads in this thread
    items = [place for place in range(len(layout.header)) if place not in layout.columns]
    catalogue = _catalogue_of_columns(layout.header[place] for place in items)

    def parse(data: bytes, origin: Origin) -> Cells:
        if not _is_plain(data):
            _refuse_lines(enumerate(io.BytesIO(data), origin.before + 1), _dialect(layout.separator))
        # Arrow ends lines at lone carriage returns
        table = _text_flags(data, layout, items) if data.count(b"\r") == data.count(b"\r\n") else None
        columns = _flags_by_line(data, origin, layout, items) if table is None else table
        return onehot_cells(columns, catalogue, origin)

    return parse


def _catalogue_of_columns(names: Iterable[str]) -> Catalogue:
    try:
        return Catalogue(names)
    except PlanError as error:
        problem = str(error)
    raise BasketError(f"the columns cannot be items: {problem}")


def _text_flags(data: bytes, layout: TextLayout, items: list[int]) -> list[NDArray[np.bool_]] | None:
    """Return the columns of items; None where Arrow cannot tell: it ignores blank lines, and not blanks."""
    names = [f"column{position}" for position in range(len(layout.header))]
    wanted = [names[position] for position in items]
    with contextlib.suppress(pa.ArrowException):  # its text quotes cells
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
            parse_options=arrow_csv.ParseOptions(delimiter=layout.separator),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()) | dict.fromkeys(wanted, pa.bool_()),
                include_columns=wanted,
                null_values=[],
                true_values=_cases(TRUE_WORDS),
                false_values=_cases(FALSE_WORDS),
            ),
        )
        if table.num_rows == data.count(b"\n"):
            return [column.to_numpy() for column in table.itercolumns()]
    return None


def _cases(words: Iterable[str]) -> list[str]:
    return sorted({form for word in words for form in (word, word.upper(), word.capitalize())})


def _flags_by_line(data: bytes, origin: Origin, layout: TextLayout, items: list[int]) -> list[NDArray[np.bool_]]:
    """Return what :func:`_flags` returns, of plain text; blank lines are empty baskets, odd ones are refused."""
    rows = []
    for number, line in enumerate(data[:-1].split(b"\n"), origin.before + 1):
        if not line.strip():
            rows.append([False] * len(items))
            continue
        cells = sources.cut_line(line.decode().rstrip("\r"), layout.separator)
        if cells is None or len(cells) != len(layout.header):
            raise BasketError(f"line {number} does not have the {len(layout.header)} cells of the header; correct it")
        flags = [cells[place].strip().lower() for place in items]
        odd = next((place for place, flag in zip(items, flags, strict=True) if flag not in FLAGS), None)
        if odd is not None:
            raise BasketError(f"line {number}, column {odd + 1} {no_flag(cells[odd])}")
        rows.append([flag in TRUE_WORDS for flag in flags])
    return list(np.array(rows, dtype=np.bool_).T)


# ---- Parquet


def _read_parquet(
    opened: sources.Opener, budget: sources.Budget, work: sources.Work[sources.Result], said: LayoutOptions, tell: _Tell
) -> Iterator[sources.Result]:
    """Yield ``work`` of the cells of each batch; ``tell`` is told which columns are taken."""
    with opened() as file:
        if not file.read(1):
            raise BasketError(sources.NO_BASKETS)
        file.seek(0)
        yield from map_ahead(lambda cells: work(cells()), _parquet_cells(file, budget, said, tell), budget.workers)


def _item_columns(opened: sources.Opener, said: LayoutOptions) -> tuple[str, list[str]]:
    """Return a file's layout as it is read, and its columns: "onehot" items, "long" both, or the "list" column."""
    with opened() as file:
        source = _arrow_step(partial(pq.ParquetFile, file))
        if flags := _flag_columns(file, source, said, sources.Budget.within(None), lambda _note: None):
            return "onehot", flags
        columns = _parquet_columns(source.schema_arrow, said, lambda _note: None)
        return "long" if len(columns) == 2 else "list", columns


def _parquet_cells(
    file: BinaryIO, budget: sources.Budget, said: LayoutOptions, tell: _Tell
) -> Iterator[Callable[[], Cells]]:
    """Yield for each batch what makes its cells of its columns."""
    # pages are read one after the other
    opened = partial(pq.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False)
    source = _arrow_step(opened)
    if flags := _flag_columns(file, source, said, budget, tell):
        yield from _onehot_batches(source, flags, budget)
        return
    columns = _parquet_columns(source.schema_arrow, said, tell)
    chunks = _arrow_step(partial(column_chunks, file, columns))
    paths = [source.schema.column(place).path for place in range(len(source.schema))]
    # text is stored as a dictionary, mostly; written out, one long name in many rows takes any memory
    source = _arrow_step(partial(opened, read_dictionary=paths))
    if len(columns) == 2:
        n_rows = max(source.metadata.num_rows, sum(chunk.values for chunk in chunks) // 2)
        if n_rows > budget.units(_LONG_ROW_BYTES) >= 0:
            needed = n_rows * _LONG_ROW_BYTES >> 20
            budget.refuse(f"the long layout is read as a whole, which takes about {needed:,} MiB")
        _check_claims(file, chunks, budget)
        yield partial(long_cells, *(_arrow_step(partial(source.read, columns=[name])).column(0) for name in columns))
        return
    for _, at_once in groupby(chunks, lambda chunk: chunk.group if budget.memory_bytes is not None else 0):
        _check_claims(file, list(at_once), budget)
    yield from _list_batches(source, columns[0], sum(chunk.values for chunk in chunks), budget)


def _check_claims(file: BinaryIO, chunks: list[ColumnChunk], budget: sources.Budget) -> None:
    """Refuse what says that few bytes take more memory than there is: a basket cannot be read by halves."""
    allowed = free_memory() if budget.memory_bytes is None else budget.memory_bytes
    if is_inflated(chunks, os.fstat(file.fileno()).st_size, allowed):  # as it lies on disk, compressed or not
        needed = sum(chunk.memory_bytes for chunk in chunks)
        raise BasketError(
            f"the file's few bytes say that they take {needed >> 20:,} MiB of memory, more than the "
            f"{allowed >> 20:,} MiB allowed; it is damaged or made to harm"
        )


def _list_batches(source: Any, column: str, n_cells: int, budget: sources.Budget) -> Iterator[Callable[[], Cells]]:
    rows = max(1, budget.chunk_bytes // _CELL_BYTES * source.metadata.num_rows // max(1, n_cells))
    before = 0
    for group in range(source.num_row_groups):  # Arrow joins no lists of coded text of several row groups
        batches = source.iter_batches(batch_size=rows, columns=[column], row_groups=[group])
        while (batch := _arrow_step(partial(next, batches, None))) is not None:
            if len(batch):
                yield partial(list_cells, batch.column(0), Origin(before=before, whole=False))
            before += len(batch)


def _arrow_step(step: Callable[[], sources.Result]) -> sources.Result:
    """Take a step of reading Parquet; the texts of Arrow's errors are not passed on."""
    with contextlib.suppress(*parquet_errors()):
        return step()
    raise BasketError("the file is not Parquet, or is damaged; write it again or pass format= (--format)")


def _parquet_columns(schema: Any, said: LayoutOptions, tell: _Tell) -> list[str]:
    """Choose the column of lists, or the transaction and the item column."""
    names = schema.names
    if len(set(names)) != len(names):
        raise BasketError("the file's columns must have different names")
    lists = [place for place, field in enumerate(schema) if is_list_type(field.type)]
    if said.item_column is not None and said.transaction_column is None:
        place = asked_place(names, "item", said.item_column)
        lists = [place] if place in lists else []
    if said.transaction_column is None and len(lists) == 1:
        tell(f"Parquet; a list of items a row, in column {shown_column(names, lists[0])}")
        return [names[lists[0]]]
    found = [
        getattr(said, f"{role}_column") is not None or bool(usual_places(names, role))
        for role in ("transaction", "item")
    ]
    decided = None if any(found) or len(names) != 2 else _by_types(schema)
    if (lists and said.transaction_column is None) or (len(names) != 2 and not all(found)):
        raise BasketError(
            "the file needs one column of lists, or columns named transaction and item or as usual; it has "
            f"{len(names)} columns, {len(lists)} of them lists; name them with {COLUMN_OPTIONS}"
        )
    if not any(found) and decided is None:
        raise BasketError(
            f"neither names nor types tell which of the 2 columns holds the items; name them with {COLUMN_OPTIONS}"
        )
    chosen = decided or long_columns(names, said.transaction_column, said.item_column)
    tell(f"Parquet; {describe_columns(names, chosen, names=True)}")
    return [names[place] for place in chosen]


def _by_types(schema: Any) -> tuple[int, int] | None:
    """Return the places of transactions and items of two columns, if one alone is text, which are the items."""
    texts = []
    for column in schema:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        texts.append(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return (texts.index(False), texts.index(True)) if sum(texts) == 1 else None


# ---- Parquet: one-hot tables


def _flag_columns(file: BinaryIO, source: Any, said: LayoutOptions, budget: sources.Budget, tell: _Tell) -> list[str]:
    """Return the columns that are items of a one-hot table; none if the file holds something else.

    As in text, columns of true and false, or of 0 and 1, but for one of ids; the index that pandas writes is left out.
    Columns with the usual names of transactions and items are these, whatever they hold.
    """
    schema = source.schema_arrow
    names = [name for name in schema.names if not _INDEX.fullmatch(name)]
    if said.format != "onehot" and all(usual_places(names, role) for role in ("transaction", "item")):
        return []
    if said.format != "onehot" and (said.item_column is not None or len(set(names)) != len(names) or len(names) < 2):
        return []
    known = {name: schema.field(name).type for name in names if schema.names.count(name) == 1}
    others = sum(not _may_be_flags(kind) for kind in known.values())
    if said.format != "onehot" and (others > 1 or len(names) - others < 2):
        return []
    for _, group in groupby(_arrow_step(partial(column_chunks, file, names)), lambda chunk: chunk.group):
        _check_claims(file, [replace(chunk, values=0) for chunk in group], budget)  # a run of zeros takes few bytes
    rows = _first_rows(source, names)
    apart = columns_apart(rows, said)
    if said.format != "onehot" and not (rows.body and holds_flags(rows, apart)):
        return []
    tell(f"Parquet; {describe_onehot(rows, apart)}")
    return [name for place, name in enumerate(names) if place not in apart]


def _may_be_flags(kind: Any) -> bool:
    return bool(pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _first_rows(source: Any, names: list[str]) -> sources.FirstLines:
    rows = min(sources.SAMPLE_LINES, max(_LEAST_ROWS, _SAMPLE_CELLS // len(names)))
    batch = _arrow_step(partial(next, source.iter_batches(batch_size=rows, columns=names), None))
    return sources.FirstLines.of_table(
        names, [[]] * len(names) if batch is None else [c.to_pylist() for c in batch.columns]
    )


def _onehot_batches(source: Any, columns: list[str], budget: sources.Budget) -> Iterator[Callable[[], Cells]]:
    catalogue, before = _catalogue_of_columns(name.strip() for name in columns), 0
    rows = max(1, budget.chunk_bytes // (_CELL_BYTES * len(columns)))
    batches = source.iter_batches(batch_size=rows, columns=columns)
    while (batch := _arrow_step(partial(next, batches, None))) is not None:
        yield partial(_flag_cells, batch, catalogue, before)
        before += len(batch)


def _flag_cells(batch: Any, catalogue: Catalogue, before: int) -> Cells:
    return onehot_cells(
        [_column_flags(column, place, before) for place, column in enumerate(batch.columns)],
        catalogue,
        Origin("row", before, whole=False),
    )


def _column_flags(column: Any, place: int, before: int) -> Any:
    """Return a column as zeros and ones, shape (n_rows,); nulls are zeros."""
    if not _may_be_flags(column.type):
        raise BasketError(f"column {place + 1} of items holds no numbers, nor true and false; make it true or false")
    filled = pc.fill_null(column, False if pa.types.is_boolean(column.type) else 0)
    values = filled.to_numpy(zero_copy_only=False)
    odd = np.flatnonzero((values != 0) & (values != 1))
    if len(odd):
        raise BasketError(
            f"row {before + int(odd[0]) + 1}, column {place + 1} of items {no_flag(str(int(values[odd[0]])))}"
        )
    return values
