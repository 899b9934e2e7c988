"""Released tables: shuffled, with hidden cells and dropped columns.

Files are read and written by Arrow columns; frames keep their type. Shown cells keep their text, and outside CSV their
type. Only hidden cells, binned columns, and columns that wrote one value in several ways differ. A release has no
metadata, because no check covers them and they may hold raw values. Rows come in random order. Rows that exceed the
allowed memory are distributed over unnamed temporary files, and each file is then ordered separately.
"""

import contextlib
import gzip
import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, pc, pq
from assocpriv.guarantees.errors import RecordError
from assocpriv.kernels.parallel import parallel_map
from assocpriv.records.basket_sources import MemoryBudget
from assocpriv.records.columns import AnyTable, ParquetTable, frame_columns, is_text, open_table
from assocpriv.suppress.coded_table import SourceTable, file_stamp, hide

_CHANGED = "the file changed while it was read; nothing was written; run it again"
_PARTS = 32  # temporary files for a new order
_SHARE, _MAX_BUFFER = 8, 1 << 30  # share of the allowed memory for rows that are ordered at a time
Order = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TableRelease:
    """A table, its changes, and the order of its rows.

    Attributes:
        source: the table.
        changes: by place, the codes and the new Arrow texts of a changed column; a missing text is an empty cell.
        dropped: columns that are left out.
        order: the record at each place.
    """

    source: SourceTable
    changes: Mapping[int, tuple[NDArray[Any], Any]]
    dropped: frozenset[str]
    order: Order

    @classmethod
    def from_source(
        cls, source: SourceTable, hidden: Mapping[str, NDArray[np.bool_]], mark: str, dropped: frozenset[str],
        order: Order,
    ) -> "TableRelease":  # fmt: skip
        """Return the release with a mark in place of hidden cells."""
        changes = {}
        for column in source.coded.columns:
            is_hidden, anew = column.name in hidden and hidden[column.name].any(), column.name in source.respelled
            if is_hidden or anew:
                made = hide(column, hidden[column.name], mark) if is_hidden else column
                texts = list(made.values)
                if not anew:  # as written; the mark is the last
                    written = itertools.zip_longest(texts, source.spellings[column.name])
                    texts = [spelling if isinstance(spelling, str) else text for text, spelling in written]
                changes[source.names.index(column.name)] = made.codes, pa.array(texts, pa.string())
        return cls(source, changes, dropped, order)

    @property
    def kept(self) -> list[int]:
        """Places of the released columns."""
        return [place for place, name in enumerate(self.source.names) if name not in self.dropped]

    def cells(self, place: int, rows: slice) -> Any:
        """Return rows of a changed column, as codes of texts."""
        codes, texts = self.changes[place]
        return pa.DictionaryArray.from_arrays(codes[rows].astype(np.int32), texts)


def _released_type(kind: Any) -> Any:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind if is_text(plain) else pa.string()


def _cast(cells: Any, kind: Any) -> Any:
    return (cells.cast(pa.string()) if kind == pa.string_view() else cells).cast(kind)


# ---- files


def write_file(path: Path, release: TableRelease, stream: BinaryIO, memory_bytes: int, *, gzipped: bool) -> None:
    """Write the release of a table from a file.

    Raises:
        RecordError: the file changed since it was first read.
    """
    source, budget = release.source, MemoryBudget.within(memory_bytes)
    if file_stamp(path) != source.stamp:
        raise RecordError(_CHANGED)
    room, folder = min(memory_bytes // _SHARE, _MAX_BUFFER), Path(stream.name).parent
    with contextlib.ExitStack() as stack:
        opened = open_table(path, source.coded.names, source.separator or None, sheet=source.sheet or None)
        table = stack.enter_context(opened)
        if isinstance(table, ParquetTable):
            fields = [table.schema.field(table.names[place]) for place in release.kept]
            fields = [each.with_type(_released_type(each.type)) if place in release.changes else each
                      for place, each in zip(release.kept, fields, strict=True)]  # fmt: skip
            schema = plain_schema(fields)
            packing = {"UNCOMPRESSED": "none"}.get(table.compression, table.compression)
            writer = stack.enter_context(pq.ParquetWriter(stream, schema, compression=packing))

            def typed(cells: list[Any]) -> Any:
                return pa.record_batch([*map(_cast, cells, schema.types)], schema=schema)

            rows = _batches(table, release, typed, budget, room)
            for part in reorder_rows(rows, release.order, room, folder):
                writer.write_table(drop_unused_categories(part))
            return
        if gzipped:
            stream = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, stream, mtime=0)))
        header = [pa.array([source.names[place]]) for place in release.kept]
        stream.write(line_bytes(csv_lines(header, source.separator)))
        lines = _batches(table, release, lambda cells: csv_lines(cells, source.separator), budget, room)
        for part in reorder_rows(lines, release.order, room, folder):
            for batch in part.to_batches():
                stream.write(line_bytes(batch))


def _batches(
    table: AnyTable, release: TableRelease, batch_of: Callable[[list[Any]], Any], budget: MemoryBudget, room: int
) -> Iterator[Any]:
    """Yield the released records in their original order."""
    n, kept = len(release.order), release.kept
    read = [place for place in kept if place not in release.changes] or kept[:1]

    def parts() -> Iterator[list[Any]]:
        record = 0
        for columns in table.map(lambda rows: rows.columns, read, budget, None, ()):
            stop = record + len(columns[0])
            if stop > n:
                raise RecordError(_CHANGED)
            cells = dict(zip(read, columns, strict=True))
            cells |= {place: release.cells(place, slice(record, stop)) for place in release.changes if place in kept}
            # a long text may be in many rows, and only once in a dictionary
            pieces = 1 + sum(map(text_bytes, cells.values())) // max(room, 1)
            step = max(1, -(-(stop - record) // pieces))
            for start in range(0, stop - record, step):
                yield [cells[place][start : start + step] for place in kept]
            record = stop
        if record != n:
            raise RecordError(_CHANGED)

    return parallel_map(batch_of, parts(), budget.workers)


# ---- frames


def released_table(frame: Any, release: TableRelease) -> Any:
    """Return a table of the same type; text and categories keep their types, changed numbers become text."""
    import narwhals as nw

    stored = frame_columns(frame)
    made = [_released(stored[place], release, place) for place in release.changes]
    gone = [stored[place].name for place in set(range(len(stored))) - set(release.kept)]
    table = nw.from_native(frame, eager_only=True)
    table = (table.with_columns(*made) if made else table).drop(gone)[release.order]
    native = table.to_native()
    if table.implementation.is_pandas():
        return _plain_frame(native)
    if table.implementation.is_pyarrow():
        return drop_unused_categories(native.cast(plain_schema(native.schema)))
    texts = (nw.String, nw.Binary, nw.Categorical, nw.Enum)
    return table.with_columns(*(_anew(each) for each in table.iter_columns() if each.dtype in texts)).to_native()


def _plain_frame(frame: Any) -> Any:
    """Return a pandas table with its cells only: no index, no notes, no content below missing cells."""
    import pandas as pd

    def plain(column: Any) -> Any:
        kind, cells = column.dtype, column.array
        if isinstance(kind, pd.CategoricalDtype):
            used = list(column.dropna().unique())
            ordered = [each for each in kind.categories if each in set(used)] if kind.ordered else used
            return cells.set_categories(ordered)
        if isinstance(kind, pd.ArrowDtype):
            return type(cells)(drop_unused_categories(pa.table({"": column})).column(0))
        is_masked = pd.api.types.is_extension_array_dtype(kind) and pd.api.types.is_any_real_numeric_dtype(kind)
        return pd.array(column.astype(object), dtype=kind) if is_masked or kind == "boolean" else cells

    return pd.DataFrame({name: plain(column) for name, column in frame.items()})


def _anew(column: Any) -> Any:
    """Return a polars column rebuilt from its cells: a gathered column keeps texts that no cell has."""
    import narwhals as nw

    cells, kind = column.to_list(), column.dtype
    if kind == nw.Enum:
        kind = nw.Enum([each for each in kind.categories if each in set(cells)])
    return nw.new_series(column.name, cells, kind, backend=column.implementation)


def _released(stored: Any, release: TableRelease, place: int) -> Any:
    import narwhals as nw

    native = stored.to_native()
    if stored.implementation.is_pyarrow():
        made = pa.chunked_array([_cast(release.cells(place, slice(None)), _released_type(native.type))])
        return nw.from_native(made, series_only=True).alias(stored.name)
    codes, texts = release.changes[place]
    cells = np.array(texts.to_pylist(), dtype=object)[codes]
    if stored.implementation.is_pandas() and stored.dtype == nw.String:
        made = type(native)(cells, index=native.index, dtype=native.dtype, name=native.name)
        return nw.from_native(made, series_only=True)
    text = nw.new_series(stored.name, cells.tolist(), nw.String, backend=stored.implementation)
    return text.cast(nw.Categorical) if stored.dtype == nw.Categorical else text


# ---- rows: written as CSV lines, and in another order


def text_bytes(column: Any) -> int:
    """Return the number of bytes that a column writes as text; a word of a dictionary counts once per row."""
    kind = column.type
    words = kind.value_type if pa.types.is_dictionary(kind) else pa.null()
    if pa.types.is_string(words) or pa.types.is_large_string(words):
        return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    return int(column.nbytes)


def csv_lines(columns: Sequence[Any], separator: str) -> Any:
    """Return CSV lines as a batch of one column; cells are quoted where necessary."""
    ends = [""] * (len(columns) - 1) + ["\n"]
    cells = [_quoted(column, separator, end) for column, end in zip(columns, ends, strict=True)]
    return pa.record_batch([pc.binary_join_element_wise(*cells, separator)], names=["line"])


def line_bytes(batch: Any) -> memoryview:
    """Return the bytes of all lines of a batch."""
    lines = batch.column(0)
    ends = np.frombuffer(lines.buffers()[1], dtype=np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(lines.buffers()[2])[ends[0] : ends[-1]]


def _quoted(column: Any, separator: str, end: str = "") -> Any:
    if pa.types.is_dictionary(column.type) and len(column.dictionary) <= len(column):  # quote each distinct text once
        return _quoted(column.dictionary, separator, end).take(column.indices)
    column = column.cast(pa.string()).fill_null("")
    needs = pc.or_(pc.match_substring(column, separator), pc.match_substring(column, '"'))
    if pc.any(needs).as_py():
        inside = pc.replace_substring(column, '"', '""')
        column = pc.if_else(needs, pc.binary_join_element_wise('"', inside, '"', ""), column)
    return pc.binary_join_element_wise(column, "", end) if end else column


def reorder_rows(batches: Iterator[Any], order: Order, max_bytes: int, folder: Path) -> Iterator[Any]:
    """Yield the rows of Arrow batches in the given order, in tables of about ``max_bytes`` at most."""
    held, n_bytes = list[Any](), 0
    for batch in batches:
        held.append(batch)
        n_bytes += batch.nbytes
        if n_bytes > max_bytes and len(order) > 1:
            yield from _reorder_on_disk(itertools.chain(held, batches), order, max_bytes, folder)
            return
    if held:
        yield pa.Table.from_batches(held).combine_chunks().take(order)


def _reorder_on_disk(batches: Iterator[Any], order: Order, max_bytes: int, folder: Path) -> Iterator[Any]:
    ends = [len(order) * (place + 1) // _PARTS for place in range(_PARTS)]
    part, at, writers = np.empty(len(order), dtype=np.uint8), 0, list[Any]()
    for place, (low, high) in enumerate(itertools.pairwise([0, *ends])):
        part[order[low:high]] = place
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(_PARTS)]
        for batch in batches:
            writers = writers or [pa.ipc.new_stream(file, batch.schema) for file in files]
            rows = part[at : at + len(batch)]
            at += len(batch)
            by_part, stops = batch.take(np.argsort(rows, kind="stable")), np.cumsum(np.bincount(rows, minlength=_PARTS))
            for writer, low, high in zip(writers, [0, *stops[:-1].tolist()], stops.tolist(), strict=True):
                if low < high:
                    writer.write_batch(by_part[low:high])
        for writer, file, (low, high) in zip(writers, files, itertools.pairwise([0, *ends]), strict=True):
            writer.close()
            file.seek(0)
            places = np.argsort(np.argsort(order[low:high]))  # the rows of a file kept their relative order
            yield from reorder_rows(iter(pa.ipc.open_stream(file)), places, max_bytes, folder)


# ---- metadata that could disclose removed records


def plain_schema(fields: Iterable[Any]) -> Any:
    """Return a schema of Arrow fields without their metadata."""
    return pa.schema([field.remove_metadata() for field in fields])


def drop_unused_categories(table: Any) -> Any:
    """Return an Arrow table with only the categories that occur in its rows; ordered categories keep their order.

    Unused categories would disclose values of removed records; the order of unordered ones may disclose that of the
    original records.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table.column(place).unify_dictionaries().combine_chunks()
            used = column.indices.unique().drop_null()
            used = used.sort() if field.type.ordered else used
            codes = pc.index_in(column.indices, value_set=used).cast(field.type.index_type)
            made = pa.DictionaryArray.from_arrays(codes, column.dictionary.take(used), ordered=field.type.ordered)
            table = table.set_column(place, field, made)
    return table
