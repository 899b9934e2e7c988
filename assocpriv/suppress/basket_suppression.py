"""Baskets as a coded table, and released baskets.

A basket is a record of a table with a yes/no column for each item. Only items that templates name are coded; the others
are not background knowledge. A hidden cell is hidden whether or not the item is present, because hiding present items
only would disclose them. One-hot tables mark hidden cells, and lists have a second list of hidden items. In other
layouts an item is shown or dropped for all baskets, by the same tests. Files are written in their layout with the items
only; transactions get new numbers.
"""

import contextlib
import csv
import gzip
import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, parquet_errors, pc, pq
from assocpriv.guarantees.errors import BasketError, RecordError, TemplateError
from assocpriv.records.basket_files import (
    BasketLayout,
    detect_file_layout,
    read_baskets,
    rewritten_columns,
    stream_baskets,
)
from assocpriv.records.baskets import Baskets, detect_frame_layout, named_baskets
from assocpriv.records.columns import frame_columns, is_list, series_to_arrow
from assocpriv.records.layout import ReadOptions
from assocpriv.records.table_files import TableOptions
from assocpriv.suppress.coded_table import CodedColumn, CodedTable, read_source
from assocpriv.suppress.inference_templates import HELD, LACKED, ConfidenceBound, check_spellings
from assocpriv.suppress.release_checks import BasketRow, cells_of, count_baskets, rows_of_arrow, rows_of_text
from assocpriv.suppress.release_files import Order, csv_lines, line_bytes
from assocpriv.suppress.suppression import SuppressionOutcome

HIDDEN = "*"
_SIGNS: dict[str | None, int] = {"0": 0, "False": 0, "1": 1, "True": 1, HIDDEN: 2}
_Cells = dict[str, NDArray[Any]]
_HIDDEN_LIST = "hidden"
_BASKET_BYTES, _ITEM_BYTES = 256, 64  # memory while baskets are read, coded and written
_ROWS, _CELLS = 1 << 14, 1 << 22  # written at a time


@dataclass(frozen=True, slots=True, eq=False)
class BasketSource:
    """Baskets as given, as read, and coded."""

    given: Any
    baskets: Baskets
    coded: CodedTable
    kind: str = ""  # of a file or a table
    names: tuple[str, ...] = ()  # of a table's or a Parquet file's columns
    layout: BasketLayout | None = None  # of a file
    mark: ClassVar[str] = HIDDEN
    bins: ClassVar[dict[str, tuple[str, ...]]] = {}
    respelled: ClassVar[tuple[str, ...]] = ()

    def write(self, outcome: SuppressionOutcome, order: Order, stream: BinaryIO | None, *, gzipped: bool) -> Any:
        """Write baskets to a file, or return them in the given type, with the inferences counted in them.

        Raises:
            FileError: they exceed a bound.
        """
        made, layout = _ReleasedBaskets.from_baskets(self.baskets, outcome.hidden, order), self.layout
        released: Any = None
        if stream is not None and layout is not None and not layout.is_parquet:
            made.write_text(self.kind, layout.separator, stream, gzipped=gzipped)
            stream.flush()
            rows = rows_of_text(Path(stream.name), self.kind, layout.separator, packed=gzipped)
        elif stream is not None:
            tables = made.tables(self.kind, self.names)
            first = next(tables)
            with pq.ParquetWriter(stream, first.schema) as writer:
                for table in chain([first], tables):
                    writer.write_table(table)
            stream.flush()
            rows = rows_of_arrow(Path(stream.name), self.kind)
        elif self.kind:
            import narwhals as nw

            backend = nw.from_native(self.given, eager_only=True).implementation
            table = nw.from_arrow(pa.concat_tables(made.tables(self.kind, self.names)), backend=backend)
            released, rows = table.to_native(), rows_of_arrow(table.to_arrow(), self.kind)
        else:
            lists = made.lists()
            released = Baskets.from_sets(lists, empty="keep") if isinstance(self.given, Baskets) else lists
            rows = ((set(each), set()) for each in lists)
        return released, count_baskets(rows, outcome.guaranteed, len(order))


def read(data: Any, bounds: Sequence[ConfidenceBound], options: ReadOptions) -> BasketSource:
    """Read baskets, and code the items that bounds name.

    Raises:
        BasketError: baskets that cannot be read.
        TemplateError: an item that is in no basket, or that baskets also write in another way.
    """
    if isinstance(data, str | PathLike):
        path = Path(data)
        if path.exists() and not path.is_file():
            raise BasketError(f"{path.name or path}: baskets are read twice; give a regular file")
        _check_memory(path, options)
        layout, baskets = detect_file_layout(path, options), read_baskets(path, None, options)[0]
        if layout.is_parquet:
            _refuse_mined(pq.read_schema(path).names)
        return BasketSource(data, baskets, _coded(baskets, bounds), layout.kind, layout.columns, layout)
    baskets, _ = named_baskets(data, None, options)
    if isinstance(data, Baskets) or not hasattr(data, "columns"):
        return BasketSource(data, baskets, _coded(baskets, bounds))
    _refuse_mined(getattr(data, "column_names", data.columns))
    found, _ = detect_frame_layout(data, options.layout)
    return BasketSource(data, baskets, _coded(baskets, bounds), found.kind, rewritten_columns(found))


def read_released(data: Any, bounds: Sequence[ConfidenceBound], options: ReadOptions) -> CodedTable:
    """Return the items that bounds name as a coded table, for baskets or for a release with marked hidden cells.

    Raises:
        BasketError: baskets that cannot be read.
        TemplateError: a sensitive item that is in no basket, hidden in one, or also written in another way.
    """
    sets = {name: {name} for bound in bounds for name in bound.channel}
    sets |= {bound.column: set(bound.column.split(", ")) for bound in bounds}
    sensitive = {item for bound in bounds for item in sets[bound.column]}
    names, cells = _lists(data, bounds)
    if not cells:
        names, flags = _flags(data, set().union(*sets.values()), options)
        for name, items in sets.items() if flags else ():
            parts = np.array([flags[item] for item in items])
            cells[name] = np.where((parts == 2).any(0), 2, parts.min(0))
    if not cells:
        return _coded(read(data, (), replace(options, empty="keep")).baskets, bounds, sensitive)
    check_spellings(sensitive, names, "some basket writes")
    for bound in bounds:
        if cells[bound.column].max() != 1:
            raise TemplateError(f"{bound.column} is in no basket, or hidden in some, so that it cannot be counted")
    columns = (CodedColumn(name, (LACKED, HELD, HIDDEN)[: codes.max() + 1], codes) for name, codes in cells.items())
    return CodedTable(tuple(columns), len(cells[bounds[0].column]))


def _flags(data: Any, items: Collection[str], options: ReadOptions) -> tuple[Collection[str], _Cells]:
    """Return the names of a one-hot table and the cells of some items (0, 1, hidden 2); nothing for other tables."""
    source = None
    with contextlib.suppress(RecordError, TypeError):  # the reader of other tables reports errors
        source = read_source(data, items, {}, TableOptions(memory_bytes=options.memory_bytes))
    columns = source.coded.columns if source else ()
    values = {value for column in columns for value in column.values}
    signs = _SIGNS if source and source.separator else _SIGNS | {None: 2}
    if source and values <= signs.keys():
        cells = (np.array([signs[value] for value in column.values])[column.codes] for column in columns)
        return source.names, dict(zip(source.coded.names, cells, strict=True))
    if HIDDEN in values:
        raise BasketError("items of the templates have cells that are neither 1, 0 nor *, the mark of a hidden cell")
    return (), {}


def _lists(data: Any, bounds: Sequence[ConfidenceBound]) -> tuple[Collection[str], _Cells]:
    """Return the items of a table of lists with hidden items, and the cells of its items; nothing for other tables."""
    seen = set[str]()

    def collect_items(rows: Iterator[BasketRow]) -> Iterator[BasketRow]:
        for row in rows:
            seen.update(*row)
            yield row

    with contextlib.suppress(OSError, *parquet_errors()):  # the reader of other tables reports errors
        if hasattr(data, "columns"):
            data = pa.table({str(each.name): series_to_arrow(each, "", BasketError) for each in frame_columns(data)})
        schema = data.schema if isinstance(data, pa.Table) else pq.read_schema(data)
        if schema.names[1:] == [_HIDDEN_LIST] and all(map(is_list, schema.types)):
            cells = cells_of(collect_items(rows_of_arrow(data, "list")), bounds)
            return seen, {name: np.frombuffer(held, dtype=np.uint8) for name, held in cells.items()}
    return (), {}


def _check_memory(path: Path, options: ReadOptions) -> None:
    """Refuse a file whose baskets exceed the allowed memory; a compressed file may hold any number of them."""
    taken = 0
    for batch in stream_baskets(path, None, replace(options, progress=None)):
        taken += _BASKET_BYTES * len(batch) + _ITEM_BYTES * len(batch.items)
        if taken > options.memory_bytes:
            most = options.memory_bytes >> 20
            raise BasketError(f"{path.name}: the baskets need more than the {most:,} MiB allowed; raise memory_bytes")


def _refuse_mined(names: Iterable[Any]) -> None:
    """Refuse a table of mined itemsets or rules, whose lists look like baskets: it would release unchecked supports."""
    found = set(names)
    if "antecedents" in found or ("support" in found and found & {"itemset", "itemsets"}):
        raise TemplateError(
            "these are mined itemsets or rules, not baskets; release the baskets, and mine the released ones"
        )


def _coded(baskets: Baskets, bounds: Sequence[ConfidenceBound], needed: Collection[str] | None = None) -> CodedTable:
    """Return a yes/no column for each item of a channel, and for each sensitive itemset.

    The ``needed`` items, by default all, must be in some basket.
    """
    sets = {bound.column: bound.column.split(", ") for bound in bounds}
    named = list(dict.fromkeys(item for bound in bounds for item in (*bound.channel, *sets[bound.column])))
    check_spellings(
        {item for items in sets.values() for item in items},
        (baskets.catalogue[item] for item in np.unique(baskets.items).tolist()), "some basket writes",
    )  # fmt: skip
    held = _matrix(baskets, named).T
    for item, codes in zip(named, held, strict=True):
        if not codes.any() and (needed is None or item in needed):
            raise TemplateError(f"item {item} of a template is in no basket; check its spelling, or remove it")
    by_name = dict(zip(named, held, strict=True))
    columns = {item: by_name[item] for bound in bounds for item in bound.channel}
    columns |= {name: np.bitwise_and.reduce([by_name[item] for item in items]) for name, items in sets.items()}
    return CodedTable(tuple(CodedColumn(name, (LACKED, HELD), codes) for name, codes in columns.items()), len(baskets))


def _matrix(baskets: Baskets, items: Sequence[str]) -> NDArray[np.uint8]:
    """Return which items baskets hold, uint8 (baskets, items)."""
    lookup = np.full(len(baskets.catalogue), -1, dtype=np.int64)
    for place, item in enumerate(items):
        if item in baskets.catalogue.index_of:
            lookup[baskets.catalogue.index_of[item]] = place
    places = lookup[baskets.items[baskets.offsets[0] : baskets.offsets[-1]]]
    found = np.zeros((len(baskets), len(items)), dtype=np.uint8)
    found[np.repeat(np.arange(len(baskets)), baskets.sizes)[places >= 0], places[places >= 0]] = 1
    return found


# ---- the release


@dataclass(frozen=True, slots=True, eq=False)
class _ReleasedBaskets:
    """Baskets in their new order without hidden items, and for each hidden item the baskets in which it is hidden."""

    baskets: Baskets
    hidden: Mapping[str, NDArray[np.bool_]]

    @classmethod
    def from_baskets(
        cls, baskets: Baskets, hidden: Mapping[str, NDArray[np.bool_]], order: Order
    ) -> "_ReleasedBaskets":
        made = baskets.take(order)
        rows, index = np.repeat(np.arange(len(made)), made.sizes), baskets.catalogue.index_of
        items = made.items[made.offsets[0] : made.offsets[-1]]
        kept = np.ones(len(items), dtype=np.bool_)
        ordered = {name: cells[order] for name, cells in hidden.items() if cells.any()}
        for name, cells in ordered.items():
            kept &= ~((items == index[name]) & cells[rows])
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=len(made)))])
        return cls(Baskets(baskets.catalogue, offsets.astype(np.int64), items[kept]), ordered)

    @property
    def names(self) -> list[str]:
        return [self.baskets.catalogue[item] for item in range(len(self.baskets.catalogue))]

    def lists(self) -> list[list[str]]:
        """Return the baskets as lists of names."""
        names = self.names
        texts = [names[item] for item in self.baskets.items.tolist()]
        return [texts[start:stop] for start, stop in pairwise(self.baskets.offsets.tolist())]

    def tables(self, kind: str, names: Sequence[str]) -> Iterator[Any]:
        """Yield Arrow tables of a layout: lists with hidden items, transactions and items, or one-hot."""
        step = max(1, _CELLS // max(1, len(names))) if kind == "one-hot" else _ROWS
        for start in range(0, len(self.baskets), step):
            part = self.baskets[start : start + step]
            hidden = {name: cells[start : start + step] for name, cells in self.hidden.items()}
            if kind == "one-hot":
                items = [name.strip() for name in names]
                held = dict(zip(items, _matrix(part, items).T, strict=True))
                yield pa.table({name: pa.array(each == 1, mask=hidden.get(name)) for name, each in held.items()})
                continue
            items = pa.array(self.names).take(pa.array(part.items[part.offsets[0] : part.offsets[-1]]))
            if kind == "long":
                rows = np.repeat(np.arange(start + 1, start + 1 + len(part)), part.sizes)
                yield pa.table({names[0]: rows, names[1]: items})
                continue
            withheld = [[name for name in sorted(hidden) if hidden[name][place]] for place in range(len(part))]
            offsets = pa.array(part.offsets - part.offsets[0], pa.int32())
            lists = pa.ListArray.from_arrays(offsets, items)
            yield pa.table({names[0]: lists, _HIDDEN_LIST: pa.array(withheld, pa.list_(pa.string()))})

    def write_text(self, kind: str, separator: str, stream: BinaryIO, *, gzipped: bool) -> None:
        """Write the baskets as text of a layout."""
        with gzip.GzipFile("", "wb", 6, stream, mtime=0) if gzipped else contextlib.nullcontext(stream) as out:
            is_table = kind in ("one-hot", "long")
            names = self.names if kind == "one-hot" else ["transaction", "item"]
            text = io.TextIOWrapper(out, "utf-8", newline="")
            writer = csv.writer(text, delimiter=separator, lineterminator="\n")
            writer.writerows([names] if is_table else self.lists())
            text.detach()
            for table in self.tables(kind, names) if is_table else ():
                held = [column.combine_chunks() for column in table.columns]
                if kind == "one-hot":
                    held = [pc.if_else(column, "1", "0").fill_null(HIDDEN) for column in held]
                out.write(line_bytes(csv_lines(held, separator)))
