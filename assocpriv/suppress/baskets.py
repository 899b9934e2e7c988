"""Baskets as a coded table, and the baskets that are released.

A basket is a record of a table with a column of yes and no for each item. Only items that templates name are coded; all
others are what a reader does not know before. A hidden cell is hidden whether the item is there or not, since leaving
out only what is there would tell. One-hot tables can say so with a mark, and lists with a second list of hidden items.
Where a layout cannot, an item is shown or dropped for everybody, under the same test. Files are written anew in their
layout, with nothing beside the items; transactions are numbered anew.
"""

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, pq
from assocpriv.kernels.parallel import default_memory
from assocpriv.promise.errors import BasketError, FileError, TemplateError, options_of
from assocpriv.records.basket_files import BasketLayout, ReadOptions, layout_of, read_baskets, stream_baskets
from assocpriv.records.baskets import Baskets, frame_layout, named_baskets
from assocpriv.suppress.checking import Checked, count_baskets, rows_of_frame, rows_of_parquet, rows_of_text
from assocpriv.suppress.decide import GLOBAL, LOCAL, PAPER, Outcome, Wishes
from assocpriv.suppress.table import CodedColumn, CodedTable
from assocpriv.suppress.templates import HELD, LACKED, Bound, check_spellings

HIDDEN = "*"
_HIDDEN_LIST = "hidden"
_BASKET_BYTES, _ITEM_BYTES = 256, 64  # while baskets are read, coded and written
_ROWS = 1 << 14  # of text made at a time


@dataclass(frozen=True, slots=True, eq=False)
class BasketSource:
    """Baskets as they were given, as they were read, and coded."""

    given: Any
    baskets: Baskets
    coded: CodedTable
    kind: str = ""  # of a file or a table
    names: tuple[str, ...] = ()  # of a table's or a Parquet file's columns
    layout: BasketLayout | None = None  # of a file

    def wishes(self, wishes: Wishes) -> Wishes:
        """Return what is wished, of whole items where the layout cannot say that a cell is hidden."""
        if wishes.mode == PAPER:
            raise TemplateError("the paper's mode is of tables; leave it out for baskets")
        if self.kind not in ("one-hot", "list") and wishes.mode == LOCAL:
            return replace(wishes, mode=GLOBAL)
        if self.kind not in ("one-hot", "list"):
            raise TemplateError(
                f"mode {wishes.mode} needs a layout that can say that a cell is hidden: one-hot or list"
            )
        return wishes

    def write(
        self, outcome: Outcome, places: NDArray[np.int64], output: Path | None, stream: BinaryIO | None
    ) -> tuple[Any, tuple[Checked, ...]]:
        """Write baskets to a file, or return them as they came; and what was counted in them.

        Raises:
            FileError: they exceed a bound.
        """
        made = _Made.of(self.baskets, outcome.hidden, np.argsort(places))
        n, promised = len(places), outcome.promised
        if self.layout is not None and output is not None and stream is not None:
            _check_ending(output, self.layout)
            if self.layout.is_parquet:
                pq.write_table(made.table(self.kind, self.names), stream)
                stream.flush()
                return None, count_baskets(rows_of_parquet(Path(stream.name), self.kind), promised, n)
            packed = output.name.lower().endswith(".gz")
            made.write_text(self.kind, self.layout.separator, stream, packed=packed)
            stream.flush()
            rows = rows_of_text(Path(stream.name), self.kind, self.layout.separator, packed=packed)
            return None, count_baskets(rows, promised, n)
        if output is not None:
            raise TemplateError("baskets in memory are returned, not written; leave the output out, or give a file")
        if self.kind:
            import narwhals as nw

            table = nw.from_arrow(
                made.table(self.kind, self.names),
                backend=nw.from_native(self.given, eager_only=True).implementation,
            ).to_native()
            return table, count_baskets(rows_of_frame(table, self.kind), promised, n)
        lists = made.lists()
        checked = count_baskets(((set(each), set()) for each in lists), promised, n)
        return made.baskets if isinstance(self.given, Baskets) else lists, checked


def read(data: Any, bounds: Sequence[Bound], reading: Mapping[str, Any]) -> BasketSource:
    """Read baskets, and code the items that bounds name.

    Raises:
        BasketError: baskets that cannot be read.
        TemplateError: an item that is in no basket, or that is also written otherwise.
    """
    options = options_of(ReadOptions, {**reading, "memory_bytes": reading.get("memory_bytes") or default_memory()})
    if isinstance(data, str | PathLike):
        path = Path(data)
        if path.exists() and not path.is_file():
            raise BasketError(f"{path.name or path}: baskets to be released are read twice; give a regular file")
        _check_memory(path, options)
        layout, baskets = layout_of(path, options), read_baskets(path, None, options)[0]
        if layout.is_parquet:
            _refuse_mined(pq.read_schema(path).names)
        return BasketSource(data, baskets, _coded(baskets, bounds), layout.kind, layout.columns, layout)
    if not isinstance(data, Baskets) and not hasattr(data, "columns"):
        data = list(data) if isinstance(data, Iterable) else data
    baskets = named_baskets(data, None, unknown="error", repeats=options.repeats, layout=options.layout)
    if isinstance(data, Baskets) or not hasattr(data, "columns"):
        return BasketSource(data, baskets, _coded(baskets, bounds))
    _refuse_mined(getattr(data, "column_names", data.columns))
    kind, columns = frame_layout(data, options.layout)
    return BasketSource(data, baskets, _coded(baskets, bounds), kind, tuple(str(column.name) for column in columns))


def _check_memory(path: Path, options: ReadOptions) -> None:
    """Refuse a file whose baskets take more memory than is allowed; a compressed one may hold any number of them."""
    taken = 0
    for batch in stream_baskets(path, None, replace(options, progress=None)):
        taken += _BASKET_BYTES * len(batch) + _ITEM_BYTES * len(batch.items)
        if taken > options.memory_bytes:
            raise BasketError(
                f"{path.name}: the baskets take more than the {options.memory_bytes >> 20:,} MiB allowed; raise "
                "memory_bytes"
            )


def _refuse_mined(names: Iterable[Any]) -> None:
    """Refuse a mined table, whose lists of items look like baskets: its supports would go out beside them."""
    found = set(names)
    if "antecedents" in found or ("support" in found and found & {"itemset", "itemsets"}):
        raise TemplateError("these are mined itemsets or rules, not baskets; release the baskets, and mine those")


def _coded(baskets: Baskets, bounds: Sequence[Bound]) -> CodedTable:
    """Return a column of yes and no for each item of a channel, and for each sensitive itemset."""
    sets = {bound.column: bound.column.split(", ") for bound in bounds}
    named = list(dict.fromkeys(item for bound in bounds for item in (*bound.channel, *sets[bound.column])))
    check_spellings(
        {item for items in sets.values() for item in items},
        (baskets.catalogue[item] for item in np.unique(baskets.items).tolist()), "some basket writes",
    )  # fmt: skip
    held = np.zeros((len(named), len(baskets)), dtype=np.uint8)
    index = baskets.catalogue.index_of
    lookup = np.full(len(baskets.catalogue), -1, dtype=np.int64)
    for place, item in enumerate(named):
        if item in index:
            lookup[index[item]] = place
    items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
    chosen = np.flatnonzero(lookup[items] >= 0)
    held[lookup[items[chosen]], np.repeat(np.arange(len(baskets)), baskets.sizes)[chosen]] = 1
    for item, codes in zip(named, held, strict=True):
        if not codes.any():
            raise TemplateError(f"item {item} of a template is in no basket; check its spelling, or take it out")
    by_name = dict(zip(named, held, strict=True))
    columns = {item: by_name[item] for bound in bounds for item in bound.channel}
    columns |= {name: np.bitwise_and.reduce([by_name[item] for item in items]) for name, items in sets.items()}
    return CodedTable(tuple(CodedColumn(name, (LACKED, HELD), codes) for name, codes in columns.items()), len(baskets))


# ---- what is released


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """Baskets in their new order, without hidden items, and of these, by name, in which baskets they are hidden."""

    baskets: Baskets
    hidden: Mapping[str, NDArray[np.bool_]]

    @classmethod
    def of(cls, baskets: Baskets, hidden: Mapping[str, NDArray[np.bool_]], order: NDArray[np.int64]) -> "_Made":
        made = baskets.take(order)
        rows, index = np.repeat(np.arange(len(made)), made.sizes), baskets.catalogue.index_of
        items = made.items[made.offsets[0] : made.offsets[-1]]
        kept = np.ones(len(items), dtype=np.bool_)
        told = {name: cells[order] for name, cells in hidden.items() if cells.any()}
        for name, cells in told.items():
            kept &= ~((items == index[name]) & cells[rows])
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=len(made)))])
        return cls(Baskets(baskets.catalogue, offsets.astype(np.int64), items[kept]), told)

    @property
    def names(self) -> list[str]:
        return [self.baskets.catalogue[item] for item in range(len(self.baskets.catalogue))]

    def lists(self) -> list[list[str]]:
        """Return the baskets as lists of names."""
        names = self.names
        texts = [names[item] for item in self.baskets.items.tolist()]
        return [texts[start:stop] for start, stop in pairwise(self.baskets.offsets.tolist())]

    def matrix(self, items: Sequence[str], start: int, stop: int) -> NDArray[np.uint8]:
        """Return what some baskets hold of items, uint8 (baskets, items): 0, 1, or 2 where it is hidden."""
        part, index = self.baskets[start:stop], self.baskets.catalogue.index_of
        lookup = np.full(len(self.baskets.catalogue), -1, dtype=np.int64)
        lookup[[index[item] for item in items]] = np.arange(len(items))
        found = np.zeros((len(part), len(items)), dtype=np.uint8)
        held = self.baskets.items[part.offsets[0] : part.offsets[-1]]
        found[np.repeat(np.arange(len(part)), part.sizes), lookup[held]] = 1
        for name, cells in self.hidden.items():
            found[cells[start:stop], items.index(name)] = 2
        return found

    def table(self, kind: str, names: Sequence[str]) -> Any:
        """Return an Arrow table: of lists with lists of hidden items, of transactions and items, or of all items."""
        texts, n = pa.array(self.names), len(self.baskets)
        if kind == "one-hot":
            items = [name.strip() for name in names]
            cells = self.matrix(items, 0, n)
            columns = [pa.array(column == 1, mask=column == 2) for column in cells.T]
            return pa.table(dict(zip(items, columns, strict=True)))
        items = texts.take(pa.array(self.baskets.items))
        if kind == "long":
            rows = np.repeat(np.arange(1, n + 1), self.baskets.sizes)
            return pa.table({names[0]: rows, names[1]: items})
        hidden = sorted(self.hidden)
        held = np.array([self.hidden[name] for name in hidden], dtype=np.bool_).reshape(len(hidden), n).T
        starts = np.concatenate([[0], np.cumsum(held.sum(1))])
        lists = pa.array(hidden, pa.string()).take(pa.array(np.nonzero(held)[1]))
        return pa.table({
            names[0]: pa.ListArray.from_arrays(pa.array(self.baskets.offsets, pa.int32()), items),
            _HIDDEN_LIST: pa.ListArray.from_arrays(pa.array(starts, pa.int32()), lists),
        })  # fmt: skip

    def write_text(self, kind: str, separator: str, stream: BinaryIO, *, packed: bool) -> None:
        """Write the baskets as text of a layout."""
        if packed:
            with gzip.GzipFile("", "wb", 6, stream, mtime=0) as out:
                out.writelines(self._texts(kind, separator))
        else:
            stream.writelines(self._texts(kind, separator))

    def _texts(self, kind: str, separator: str) -> Iterator[bytes]:
        if kind == "one-hot":
            yield _line(self.names, separator)
            signs = np.frombuffer(b"01" + HIDDEN.encode(), dtype=np.uint8)
            for start in range(0, len(self.baskets), _ROWS):
                cells = signs[self.matrix(self.names, start, start + _ROWS)]
                text = np.full((len(cells), 2 * cells.shape[1]), ord(separator), dtype=np.uint8)
                text[:, ::2], text[:, -1] = cells, ord("\n")
                yield text.tobytes()
            return
        if kind == "long":
            yield _line(["transaction", "item"], separator)
        for number, basket in enumerate(self.lists(), 1):
            if kind == "long":
                yield b"".join(_line([str(number), item], separator) for item in basket)
            else:
                yield _line(basket, separator)


def _line(cells: Sequence[str], separator: str) -> bytes:
    plain = separator.join(cells)
    if '"' not in plain and plain.count(separator) == max(len(cells) - 1, 0) and plain == plain.strip():
        return plain.encode() + b"\n"
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def _check_ending(output: Path, layout: BasketLayout) -> None:
    """Refuse an output whose name says another format than the baskets are in."""
    if output.name.lower().endswith((".parquet", ".pq")) != layout.is_parquet:
        kind = "Parquet" if layout.is_parquet else "text"
        ending = "in .parquet" if layout.is_parquet else "as a file of text does"
        raise FileError(f"{output}: baskets go out in the format they came in, which is {kind}; end the name {ending}")
