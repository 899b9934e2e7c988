"""Released tables: shuffled, with hidden cells and dropped columns.

Files are read and written by Arrow columns; frames keep their type. Shown cells keep their text, and outside CSV their
type. Only hidden cells, binned columns, and columns that wrote one value in several ways differ. A release has no
metadata, because no check covers them and they may hold raw values. Rows come in random order. Rows that exceed the
allowed memory are distributed over unnamed temporary files, and each file is then ordered separately.
"""

import contextlib
import gzip
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.files import arrow_rows
from assocpriv.files.arrow import pa, pq
from assocpriv.guarantees.errors import RecordError
from assocpriv.kernels.parallel import parallel_map
from assocpriv.records.basket_sources import MemoryBudget
from assocpriv.records.columns import AnyTable, ParquetTable, frame_columns, is_text, open_table
from assocpriv.suppress.coded_table import SourceTable, file_stamp, hide

_CHANGED = "the file changed while it was read; nothing was written; run it again"
_SHARE, _MAX_BUFFER = 8, 1 << 30  # share of the allowed memory for rows that are ordered at a time


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
    order: arrow_rows.Order

    @classmethod
    def from_source(
        cls, source: SourceTable, hidden: Mapping[str, NDArray[np.bool_]], mark: str, dropped: frozenset[str],
        order: arrow_rows.Order,
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
            schema = arrow_rows.plain_schema(fields)
            packing = {"UNCOMPRESSED": "none"}.get(table.compression, table.compression)
            writer = stack.enter_context(pq.ParquetWriter(stream, schema, compression=packing))

            def typed(cells: list[Any]) -> Any:
                return pa.record_batch([*map(_cast, cells, schema.types)], schema=schema)

            rows = _batches(table, release, typed, budget, room)
            for part in arrow_rows.reorder_rows(rows, release.order, room, folder):
                writer.write_table(arrow_rows.drop_unused_categories(part))
            return
        if gzipped:
            stream = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, stream, mtime=0)))
        header = [pa.array([source.names[place]]) for place in release.kept]
        stream.write(arrow_rows.line_bytes(arrow_rows.csv_lines(header, source.separator)))
        lines = _batches(table, release, lambda cells: arrow_rows.csv_lines(cells, source.separator), budget, room)
        for part in arrow_rows.reorder_rows(lines, release.order, room, folder):
            for batch in part.to_batches():
                stream.write(arrow_rows.line_bytes(batch))


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
            pieces = 1 + sum(map(arrow_rows.text_bytes, cells.values())) // max(room, 1)
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
        return arrow_rows.drop_unused_categories(native.cast(arrow_rows.plain_schema(native.schema)))
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
            return type(cells)(arrow_rows.drop_unused_categories(pa.table({"": column})).column(0))
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
