"""Basket files -> transactions of item ids, whole or batch by batch: formats, what reading may take, and errors."""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from assocpriv.kernels.parallel import map_ahead
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError
from assocpriv.records.basket_frames import long_cells
from assocpriv.records.basket_parquet import item_columns, read_parquet
from assocpriv.records.basket_text import dat_parser, line_of_row, onehot_parser, parse_long, parse_names
from assocpriv.records.baskets import Baskets, assemble_in_order
from assocpriv.records.budget import NO_BASKETS, Budget, Result, Work
from assocpriv.records.cells import Cells, Origin, check_choices, joined, resolve, without_unknown
from assocpriv.records.first_lines import SAMPLE_BYTES
from assocpriv.records.source_files import (
    SPREADSHEET,
    SPREADSHEETS,
    Progress,
    Resumed,
    line_chunks,
    named_after,
    open_source,
    read_sample,
)
from assocpriv.records.text_layout import FORMATS, LayoutOptions, TextLayout, advise, understand

_Then = Callable[[Baskets], tuple[Baskets, int]]  # what it makes of a batch, and how many items it drops
_Parse = Callable[[bytes, Origin], Cells]
_LOG = logging.getLogger("assocpriv")  # told how files are understood; the command line shows it
_LONG_BYTES = 24  # memory that a byte of text in the long layout takes, which is read as a whole
_ENDINGS = {
    "dat": (".dat", ".dat.gz", ".txt"),
    "text": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),  # to be understood from its first lines
    "parquet": (".parquet", ".pq"),
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
    progress: Progress | None = None

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

    def read() -> tuple[Baskets, ReadCounts]:
        cells = joined(map_batches(lambda batch: batch, path, options, Budget.within(None)))
        return _assemble(cells, catalogue, options)

    return named_after(path, read)


class BasketStream(Iterator[Baskets]):
    """The baskets of a file, batch by batch in its order, once; ``counts`` is what the batches so far met."""

    def __init__(self, path: Path, batches: Iterator[tuple[Baskets, ReadCounts]]) -> None:
        self._path, self._batches = path, batches
        self.counts = ReadCounts(0, 0, 0, 0)

    def __next__(self) -> Baskets:
        batch = named_after(self._path, lambda: next(self._batches, None))
        if batch is None:
            if not self.counts.baskets:
                raise BasketError(f"{self._path.name}: {NO_BASKETS}")
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

    batches = map_batches(finish, path, options, Budget.within(options.memory_bytes))
    return BasketStream(path, batches)


def _assemble(cells: Cells, catalogue: Catalogue | None, options: ReadOptions) -> tuple[Baskets, ReadCounts]:
    if not len(cells.sizes):
        raise BasketError(NO_BASKETS)
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
    return named_after(path, lambda: _layout_of(path, options))


def _layout_of(path: Path, options: ReadOptions) -> BasketLayout:
    options.check_layout()
    form, options = options.format or _form_of(path, options), _with_tabs(path, options)
    if form == "parquet" or (form == "onehot" and path.name.lower().endswith(_ENDINGS["parquet"])):
        kind, columns = item_columns(partial(open_source, path, None), options)
        return BasketLayout(kind, tuple(columns))
    if form == "dat":
        return BasketLayout("dat")
    with open_source(path, None) as file:
        layout = understand(read_sample(file)[:SAMPLE_BYTES], options)
    return BasketLayout(layout.kind, (), layout.separator, layout.skip, layout.columns)


def _with_tabs(path: Path, options: ReadOptions) -> ReadOptions:
    is_tsv = path.name.lower().endswith((".tsv", ".tsv.gz"))
    return replace(options, separator="\t") if is_tsv and options.separator is None else options


# ---- batches


def map_batches(work: Work[Result], path: Path, options: ReadOptions, budget: Budget) -> Iterator[Result]:
    """Yield ``work`` of the cells of each batch of a file; the log is told what had to be found out about it."""
    if path.is_dir():
        raise IsADirectoryError
    options.check_layout()
    form = options.format or _form_of(path, options)

    def tell(note: str) -> None:
        _LOG.info("%s: %s", path.name, note)

    if form in ("dat", "parquet") and (options.separator, options.header) != (None, None):
        raise BasketError(f"a {form} file has neither separator nor header; leave both out, or pass another format=")
    opened = partial(open_source, path, options.progress)
    if form == "parquet" or (form == "onehot" and path.name.lower().endswith(_ENDINGS["parquet"])):
        yield from read_parquet(opened, budget, work, options, tell)
        return
    options = _with_tabs(path, options)
    with opened() as file:
        yield from _text_batches(file, form, options, budget, work, tell)


def _form_of(path: Path, options: ReadOptions) -> str:
    """Return a format by a file's ending, "text" for one that its first lines must show."""
    name = path.name.lower()
    form = next((form for form, endings in _ENDINGS.items() if name.endswith(endings)), None)
    if name.endswith(SPREADSHEETS):
        raise BasketError(SPREADSHEET)
    if form is None:
        known = ", ".join(FORMATS)
        raise BasketError(f"the file's ending names no format; pass format= (--format), one of {known}")
    return "text" if form == "dat" and options.speaks_of_cells else form


# ---- text


def _text_batches(
    file: BinaryIO, form: str, options: ReadOptions, budget: Budget, work: Work[Result], tell: Callable[[str], None]
) -> Iterator[Result]:
    first = read_sample(file)
    if not first:
        tell("the file is empty")
        return
    rest = Resumed(first, file)
    sample = first[:SAMPLE_BYTES]
    if form == "dat":
        yield from _line_batches(dat_parser(advise(sample)), rest, budget, work)
        return
    layout = understand(sample, options)
    if layout.doubt or _is_found_out(layout, options):
        tell(layout.note + layout.doubt)
    if layout.kind == "long":
        yield _read_long(rest, layout, budget, work)
        return
    apart = next(iter(layout.columns), None)
    names = partial(parse_names, separator=layout.separator, apart=apart)
    parse = onehot_parser(layout) if layout.kind == "onehot" else names
    yield from _line_batches(parse, rest, budget, work, layout.skip)


def _is_found_out(layout: TextLayout, options: ReadOptions) -> bool:
    """Tell whether more was understood than was said, or than the named format always means."""
    named = options.format == "basket" and (options.separator is not None or layout.separator == ",")
    return not named


def _line_batches(parse: _Parse, file: Resumed, budget: Budget, work: Work[Result], skip: int = 0) -> Iterator[Result]:
    yield from map_ahead(lambda chunk: work(parse(*chunk)), line_chunks(file, budget, skip), budget.workers)


def _read_long(file: Resumed, layout: TextLayout, budget: Budget, work: Work[Result]) -> Result:
    fitting = budget.units(_LONG_BYTES)
    text = file.read(fitting + 1 if fitting >= 0 else -1)
    if len(text) > fitting >= 0:
        budget.refuse(f"the long layout is read as a whole, which takes about {_LONG_BYTES} times the size of the text")
    transactions, items = parse_long(text, layout)
    return work(long_cells(transactions, items, lambda row: f"line {line_of_row(text, layout.skip, row)}"))
