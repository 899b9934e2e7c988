"""Basket files -> transactions of item ids, whole or batch by batch: formats, what reading may take, and errors."""

import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import numpy as np

from assocpriv.core.errors import BasketError
from assocpriv.core.machine import free_memory, workers_within
from assocpriv.core.parallel import map_ahead
from assocpriv.files.parquet import ColumnChunk, column_chunks, is_inflated, parquet_errors
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.basket_frames import is_list_type, list_cells, long_cells, long_columns
from assocpriv.records.basket_text import dat_parser, parse_long, parse_names
from assocpriv.records.baskets import Baskets, assemble_in_order
from assocpriv.records.cells import Cells, Origin, check_choices, joined, resolve, without_unknown

Progress = Callable[[int, int], None]
_Result = TypeVar("_Result")
_Work = Callable[[Cells], _Result]
_Opener = Callable[[], BinaryIO]
_Then = Callable[[Baskets], tuple[Baskets, int]]  # what it makes of a batch, and how many items it drops
CHUNK_BYTES = 1 << 21  # text that a core parses at once, at most
_LEAST_CHUNK_BYTES = 1 << 18
_WORKING_BYTES = 32  # memory that a byte of text takes while it becomes baskets, at worst
_LONG_BYTES = 24  # the same for the long layout, which is read as a whole
_LONG_ROW_BYTES = 192  # the same for a row of long Parquet
_CELL_BYTES = 8  # text that counts as one cell of a column of lists
_NO_BASKETS = "the file holds no baskets; check that it is the right one"
_BOM = b"\xef\xbb\xbf"
_ENDINGS = {"dat": (".dat", ".dat.gz", ".txt"), "basket": (".csv", ".csv.gz"), "parquet": (".parquet", ".pq")}
_PROBLEMS = (
    (FileNotFoundError, "no such file; check the path"),
    (IsADirectoryError, "this is a folder; name a file in it"),
    (PermissionError, "the file may not be read; check its permissions"),
    (EOFError, "the compressed data breaks off; fetch the file again"),
    ((gzip.BadGzipFile, zlib.error), "the compressed data is damaged; fetch the file again"),
    (OSError, "the system cannot read the file; check the path and the disk"),
)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file of baskets is read; the root's ``read_baskets`` says what the words mean, another is a BasketError.

    Reading batch by batch takes about ``memory_bytes``; ``progress`` is called with (bytes read, bytes of the file).
    """

    format: str | None = None
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
        cells = joined(map_batches(lambda batch: batch, path, options.format, Budget.within(None), options.progress))
        return _assemble(cells, catalogue, options)

    return _named_after(path, read)


class BasketStream(Iterator[Baskets]):
    """The baskets of a file, batch by batch in its order, once; ``counts`` is what the batches so far met."""

    def __init__(self, path: Path, batches: Iterator[tuple[Baskets, ReadCounts]]) -> None:
        self._path, self._batches = path, batches
        self.counts = ReadCounts(0, 0, 0, 0)

    def __next__(self) -> Baskets:
        batch = _named_after(self._path, lambda: next(self._batches, None))
        if batch is None:
            if not self.counts.baskets:
                raise BasketError(f"{self._path.name}: {_NO_BASKETS}")
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

    batches = map_batches(finish, path, options.format, Budget.within(options.memory_bytes), options.progress)
    return BasketStream(path, batches)


def _named_after(path: Path, step: Callable[[], _Result]) -> _Result:
    """Take a step of reading; whatever fails becomes one error that names the file."""
    try:
        return step()
    except BasketError as error:
        problem = str(error)
    except (EOFError, OSError, zlib.error) as error:
        problem = next(text for kind, text in _PROBLEMS if isinstance(error, kind))
    # outside the handlers, so that no parser's exception is even the hidden context of this one
    raise BasketError(f"{path.name}: {problem}")


def _assemble(cells: Cells, catalogue: Catalogue | None, options: ReadOptions) -> tuple[Baskets, ReadCounts]:
    if not len(cells.sizes):
        raise BasketError(_NO_BASKETS)
    bare = np.flatnonzero(cells.sizes == 0)
    if len(bare) and options.empty == "error":
        raise BasketError(
            f"{cells.origin.place(int(bare[0]))} is an empty basket{cells.origin.tally(f'{len(bare):,} in all')}; "
            "a basket needs items; keep them with empty='keep' (--empty keep)"
        )
    catalogue, ids = resolve(cells, catalogue, numbered=False)
    known = without_unknown(cells, ids, options.unknown)
    baskets = assemble_in_order(known, catalogue, options.repeats)
    dropped, merged = len(ids) - len(known.codes), len(known.codes) - len(baskets.items)
    return baskets, ReadCounts(len(baskets), dropped, merged, len(bare))


# ---- batches


@dataclass(frozen=True, slots=True)
class Budget:
    """What reading may take: text parsed at once, memory in all and threads; None for as much as it needs."""

    chunk_bytes: int
    memory_bytes: int | None = None
    workers: int | None = None

    @classmethod
    def within(cls, memory_bytes: int | None) -> "Budget":
        """Share memory out: a chunk a worker, one that waits and one that is cut; None for as much as reading needs."""
        if memory_bytes is None:
            return cls(CHUNK_BYTES)
        workers = workers_within(memory_bytes)
        share = memory_bytes // (_WORKING_BYTES * (workers + 2))
        return cls(min(CHUNK_BYTES, max(_LEAST_CHUNK_BYTES, share)), memory_bytes, workers)

    def units(self, unit_bytes: int) -> int:
        """Return how many units of some size fit, −1 if any number does."""
        return -1 if self.memory_bytes is None else self.memory_bytes // unit_bytes

    def refuse(self, what: str) -> None:
        """Refuse what does not fit."""
        remedy = "raise memory_bytes (--memory), or write the file as a basket a line"
        raise BasketError(f"{what}, more than the {(self.memory_bytes or 0) >> 20:,} MiB allowed; {remedy}")


def map_batches(
    work: _Work[_Result], path: Path, chosen: str | None, budget: Budget, progress: Progress | None
) -> Iterator[_Result]:
    """Yield ``work`` of the cells of each batch of a file, of the format chosen or else of its ending's."""
    if path.is_dir():
        raise IsADirectoryError
    known, name = ", ".join(_READERS), path.name.lower()
    if chosen is None:
        chosen = next((form for form, endings in _ENDINGS.items() if name.endswith(endings)), None)
        if chosen is None:
            raise BasketError(f"the file's ending names no format; pass format= (--format), one of {known}")
    if chosen not in _READERS:
        raise BasketError(f"format must be one of {known}")
    yield from _READERS[chosen](partial(_opened, path, progress), budget, work)


class _ProgressFile(io.FileIO):
    """A file that tells how far it has been read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress, self._size, self._read = progress, path.stat().st_size, 0

    def readinto(self, buffer: Any) -> int | None:
        read = super().readinto(buffer)
        self._read += read or 0
        self._progress(self.tell() if self.seekable() else self._read, self._size)
        return read


def _opened(path: Path, progress: Progress | None) -> BinaryIO:
    raw = io.BufferedReader(_ProgressFile(path, progress), CHUNK_BYTES) if progress else path.open("rb")
    if not path.name.lower().endswith(".gz"):
        return raw
    unpacked = gzip.GzipFile(fileobj=raw)
    unpacked.myfileobj = cast(Any, raw)  # closed together
    return cast(BinaryIO, unpacked)


# ---- text


def _line_batches(
    parse: Callable[[bytes, Origin], Cells], opened: _Opener, budget: Budget, work: _Work[_Result]
) -> Iterator[_Result]:
    with opened() as file:
        yield from map_ahead(lambda chunk: work(parse(*chunk)), _line_chunks(file, budget), budget.workers)


def _line_chunks(file: BinaryIO, budget: Budget) -> Iterator[tuple[bytes, Origin]]:
    """Cut a file into pieces that all end with the end of a line, and say how errors name their lines."""
    rest = bytearray(file.read(len(_BOM)).removeprefix(_BOM))
    before, longest = 0, budget.units(_WORKING_BYTES)
    while block := file.read(budget.chunk_bytes):
        if cut := block.rfind(b"\n") + 1:
            yield bytes(rest) + block[:cut], Origin("line", before, whole=False)
            before += block.count(b"\n")
            rest = bytearray()
        rest += block[cut:]
        if len(rest) > longest >= 0:
            budget.refuse(f"line {before + 1} takes at least {len(rest) * _WORKING_BYTES >> 20:,} MiB to read")
    if rest:
        yield bytes(rest).removesuffix(b"\n") + b"\n", Origin("line", before, whole=False)


def _read_long(opened: _Opener, budget: Budget, work: _Work[_Result]) -> Iterator[_Result]:
    fitting = budget.units(_LONG_BYTES)
    with opened() as file:
        text = file.read(fitting + 1 if fitting >= 0 else -1).removeprefix(_BOM)
    if len(text) > fitting >= 0:
        budget.refuse(f"the long layout is read as a whole, which takes about {_LONG_BYTES} times the size of the text")
    yield work(long_cells(*parse_long(text)))


# ---- parquet: long, or a column of lists


def _read_parquet(opened: _Opener, budget: Budget, work: _Work[_Result]) -> Iterator[_Result]:
    with opened() as file:
        if not file.read(1):
            raise BasketError(_NO_BASKETS)
        file.seek(0)
        yield from map_ahead(lambda cells: work(cells()), _parquet_cells(file, budget), budget.workers)


def _parquet_cells(file: BinaryIO, budget: Budget) -> Iterator[Callable[[], Cells]]:
    """Yield for each batch what makes its cells of its columns."""
    import pyarrow.parquet as pq

    # pages are read one after the other
    opened = partial(pq.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False)
    source = _arrow_step(opened)
    columns = _parquet_columns(source.schema_arrow)
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


def _check_claims(file: BinaryIO, chunks: list[ColumnChunk], budget: Budget) -> None:
    """Refuse what says that few bytes take more memory than there is: a basket cannot be read by halves."""
    allowed = free_memory() if budget.memory_bytes is None else budget.memory_bytes
    if is_inflated(chunks, os.fstat(file.fileno()).st_size, allowed):  # as it lies on disk, compressed or not
        needed = sum(chunk.memory_bytes for chunk in chunks)
        raise BasketError(
            f"the file's few bytes say that they take {needed >> 20:,} MiB of memory, more than the "
            f"{allowed >> 20:,} MiB allowed; it is damaged or made to harm"
        )


def _list_batches(source: Any, column: str, n_cells: int, budget: Budget) -> Iterator[Callable[[], Cells]]:
    rows = max(1, budget.chunk_bytes // _CELL_BYTES * source.metadata.num_rows // max(1, n_cells))
    before = 0
    for group in range(source.num_row_groups):  # Arrow joins no lists of coded text of several row groups
        batches = source.iter_batches(batch_size=rows, columns=[column], row_groups=[group])
        while (batch := _arrow_step(partial(next, batches, None))) is not None:
            if len(batch):
                yield partial(list_cells, batch.column(0), Origin(before=before, whole=False))
            before += len(batch)


def _arrow_step(step: Callable[[], _Result]) -> _Result:
    """Take a step of reading Parquet; the texts of Arrow's errors are not passed on."""
    with contextlib.suppress(*parquet_errors()):
        return step()
    raise BasketError("the file is not Parquet, or is damaged; write it again or pass format= (--format)")


def _parquet_columns(schema: Any) -> list[str]:
    """Choose the column of lists, or the transaction and the item column."""
    if len(set(schema.names)) != len(schema.names):
        raise BasketError("the file's columns must have different names")
    lists = [field.name for field in schema if is_list_type(field.type)]
    named = {"transaction", "item"} <= {name.strip().lower() for name in schema.names}
    if len(lists) > 1 or (not lists and len(schema) != 2 and not named):
        raise BasketError(
            f"the file needs one column of lists, or columns named transaction and item; it has {len(schema)} "
            f"columns, {len(lists)} of them lists"
        )
    return lists or [schema.names[position] for position in long_columns(schema.names)]


_READERS: dict[str, Callable[[_Opener, Budget, _Work[Any]], Iterator[Any]]] = {
    "dat": lambda *reading: _line_batches(dat_parser(), *reading),
    "basket": partial(_line_batches, parse_names),
    "long": _read_long,
    "parquet": _read_parquet,
}
