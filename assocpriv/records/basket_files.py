"""Basket files -> transactions of item ids.

This module sees raw items. Nothing it raises contains one: errors name the file, a line or basket, a position
and a count, and no parser's own message is passed on, because those quote the data.
"""

import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from assocpriv.core.errors import BasketError
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.basket_formats import NO_BASKETS, Budget, Progress, map_batches
from assocpriv.records.baskets import Baskets, assemble_in_order
from assocpriv.records.cells import Cells, check_choices, joined, resolve, without_unknown

_Result = TypeVar("_Result")
_PROBLEMS = (
    (FileNotFoundError, "no such file; check the path"),
    (IsADirectoryError, "this is a folder; name a file in it"),
    (PermissionError, "the file may not be read; check its permissions"),
    (EOFError, "the compressed data breaks off; fetch the file again"),
    (gzip.BadGzipFile, "the compressed data is damaged; fetch the file again"),
    (zlib.error, "the compressed data is damaged; fetch the file again"),
    (OSError, "the system cannot read the file; check the path and the disk"),
)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file of baskets is read.

    Attributes:
        format: "dat", "basket", "long" or "parquet"; None to go by the file's ending.
        unknown: "error" or "drop": items that are not in the catalogue.
        repeats: "error" or "merge": items that a basket repeats.
        empty: "error" or "keep": baskets that the file leaves empty.
        memory_bytes: about what reading batch by batch may take, whatever the size of the file.
        progress: called with (bytes read, bytes of the file).

    Raises:
        BasketError: another word for what becomes of items and baskets.
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
    """What reading a file of baskets met.

    Attributes:
        baskets: number of baskets, empty ones included.
        unknown_dropped: items left out because the catalogue does not hold them.
        repeats_merged: items left out because their basket held them already.
        empty_kept: baskets that the file itself leaves empty.
    """

    baskets: int
    unknown_dropped: int
    repeats_merged: int
    empty_kept: int

    def __add__(self, other: "ReadCounts") -> "ReadCounts":
        return ReadCounts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def read_baskets(
    path: str | os.PathLike[str], catalogue: Catalogue | None = None, options: ReadOptions = STRICT
) -> tuple[Baskets, ReadCounts]:
    """Read a file of baskets whole, and count what was dropped, merged and kept.

    The root's function of this name says what the formats, the items and the order are, if no catalogue is given.

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
    """The baskets of a file, batch by batch in its order, once; made by :func:`stream_baskets`.

    Attributes:
        counts: what the batches so far met.
    """

    def __init__(self, path: Path, batches: Iterator[tuple[Baskets, ReadCounts]]) -> None:
        self._path, self._batches = path, batches
        self.counts = ReadCounts(0, 0, 0, 0)

    def __next__(self) -> Baskets:
        batch = _named_after(self._path, lambda: next(self._batches, None))
        if batch is None:
            if not self.counts.baskets:
                raise BasketError(f"{self._path.name}: {NO_BASKETS}")
            raise StopIteration
        self.counts += batch[1]
        return batch[0]


def stream_baskets(
    path: str | os.PathLike[str],
    catalogue: Catalogue | None,
    options: ReadOptions = STRICT,
    then: Callable[[Baskets], tuple[Baskets, int]] | None = None,
) -> BasketStream:
    """Read a file of any size batch by batch, as :func:`read_baskets` reads it whole.

    Errors come with the batch they are in, and tell where, but not how many there are in all. A file of the long layout
    is one batch, because the items of a transaction may stand anywhere in it.

    Args:
        path: the file.
        catalogue: the items there may be; None for any, numbered in each batch anew.
        options: how to read it.
        then: what to make of each batch, and how many items it drops; called in several threads.

    Returns:
        An iterator of baskets over ``catalogue``, or of what ``then`` makes of them, with the counts so far.

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
    empty_count = _check_empty(cells, options.empty)
    catalogue, ids = resolve(cells, catalogue, numbered=False)
    known = without_unknown(cells, ids, options.unknown)
    baskets = assemble_in_order(known, catalogue, options.repeats)
    dropped, merged = len(ids) - len(known.codes), len(known.codes) - len(baskets.items)
    return baskets, ReadCounts(len(baskets), dropped, merged, empty_count)


def _check_empty(cells: Cells, empty: str) -> int:
    """Return the number of empty baskets, or refuse them."""
    if not len(cells.sizes):
        raise BasketError(NO_BASKETS)
    bare = np.flatnonzero(cells.sizes == 0)
    if len(bare) and empty == "error":
        raise BasketError(
            f"{cells.origin.place(int(bare[0]))} is an empty basket{cells.origin.tally(f'{len(bare):,} in all')}; "
            "a basket needs items; keep them with empty='keep' (--empty keep)"
        )
    return len(bare)
