"""Tables written again: shuffled, some cells hidden, some columns left out.

Files are written as they are read, by columns of Arrow; frames are of the kind they came as. Cells that stay keep
their text, and outside CSV their type. What differs are hidden cells, columns that were binned, and columns that wrote
one value in several ways. Of what a table says beside its cells a release has nothing: nobody checks metadata, and they
may hold raw values. Rows come in a random order. Where they take more memory than is allowed they are spread over files
without a name first, each of which then is brought into order on its own.
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

from assocpriv.files.arrow import pa, pq
from assocpriv.files.arrow_rows import (
    Order,
    csv_lines,
    line_bytes,
    plain_schema,
    shuffled,
    with_used_levels,
    written_bytes,
)
from assocpriv.kernels.parallel import map_ahead
from assocpriv.promise.errors import RecordError
from assocpriv.records.columns import CsvTable, ParquetTable, frame_columns, is_text, open_table
from assocpriv.records.sources import Budget
from assocpriv.suppress.table import SourceTable, file_stamp, hide

_CHANGED = "the file was changed while it was read; nothing was written"
_SHARE, _MOST_ROOM = 8, 1 << 30  # of the memory allowed, what rows may take that are brought into order at a time


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What becomes of a table.

    Attributes:
        source: the table.
        changes: of a column that changes, by its place, its codes, and the new texts, as Arrow's; a missing one is an
            empty cell.
        dropped: columns that are left out.
        order: of the records, which comes at each place.
    """

    source: SourceTable
    changes: Mapping[int, tuple[NDArray[Any], Any]]
    dropped: frozenset[str]
    order: Order

    @classmethod
    def of(
        cls, source: SourceTable, hidden: Mapping[str, NDArray[np.bool_]], mark: str, dropped: frozenset[str],
        order: Order,
    ) -> "Release":  # fmt: skip
        """Return the release with a mark in the place of hidden cells."""
        changes = {}
        for column in source.coded.columns:
            is_hidden, anew = column.name in hidden and hidden[column.name].any(), column.name in source.respelled
            if is_hidden or anew:
                made = hide(column, hidden[column.name], mark) if is_hidden else column
                texts = list(made.values)
                if not anew:  # as they were written; the mark is the last
                    written = itertools.zip_longest(texts, source.spellings[column.name])
                    texts = [spelling if isinstance(spelling, str) else text for text, spelling in written]
                changes[source.names.index(column.name)] = made.codes, pa.array(texts, pa.string())
        return cls(source, changes, dropped, order)

    @property
    def kept(self) -> list[int]:
        """Places of the columns that are released."""
        return [place for place, name in enumerate(self.source.names) if name not in self.dropped]

    def cells(self, place: int, rows: slice) -> Any:
        """Return some records of a column that changes, as codes of texts."""
        codes, texts = self.changes[place]
        return pa.DictionaryArray.from_arrays(codes[rows].astype(np.int32), texts)


def _released_type(kind: Any) -> Any:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind if is_text(plain) else pa.string()


def _cast(cells: Any, kind: Any) -> Any:
    return (cells.cast(pa.string()) if kind == pa.string_view() else cells).cast(kind)


# ---- files


def write_file(path: Path, release: Release, stream: BinaryIO, memory_bytes: int, *, gzipped: bool) -> None:
    """Write the table of a file as it is released.

    Raises:
        RecordError: the file is not what was read before.
    """
    source, budget = release.source, Budget.within(memory_bytes)
    if file_stamp(path) != source.stamp:
        raise RecordError(_CHANGED)
    room, folder = min(memory_bytes // _SHARE, _MOST_ROOM), Path(stream.name).parent
    with contextlib.ExitStack() as stack:
        table = stack.enter_context(
            open_table(path, source.coded.names, source.separator or None, sheet=source.sheet or None)
        )
        if isinstance(table, ParquetTable):
            fields = [table.schema.field(table.names[place]) for place in release.kept]
            fields = [each.with_type(_released_type(each.type)) if place in release.changes else each
                      for place, each in zip(release.kept, fields, strict=True)]  # fmt: skip
            schema = plain_schema(fields)
            packing = {"UNCOMPRESSED": "none"}.get(table.compression, table.compression)
            writer = stack.enter_context(pq.ParquetWriter(stream, schema, compression=packing))

            def typed(cells: list[Any]) -> Any:
                return pa.record_batch([*map(_cast, cells, schema.types)], schema=schema)

            for part in shuffled(_batches(table, release, typed, budget, room), release.order, room, folder):
                writer.write_table(with_used_levels(part))
            return
        if gzipped:
            stream = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, stream, mtime=0)))
        stream.write(
            line_bytes(csv_lines([pa.array([source.names[place]]) for place in release.kept], source.separator))
        )
        lines = _batches(table, release, lambda cells: csv_lines(cells, source.separator), budget, room)
        for part in shuffled(lines, release.order, room, folder):
            for batch in part.to_batches():
                stream.write(line_bytes(batch))


def _batches(
    table: CsvTable | ParquetTable, release: Release, batch_of: Callable[[list[Any]], Any], budget: Budget, room: int
) -> Iterator[Any]:
    """Yield the records as they are released, in the order in which they came."""
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
            # a name of any length may stand in many rows, and be one word of a dictionary
            pieces = 1 + sum(map(written_bytes, cells.values())) // max(room, 1)
            step = max(1, -(-(stop - record) // pieces))
            for start in range(0, stop - record, step):
                yield [cells[place][start : start + step] for place in kept]
            record = stop
        if record != n:
            raise RecordError(_CHANGED)

    return map_ahead(batch_of, parts(), budget.workers)


# ---- frames


def released_table(frame: Any, release: Release) -> Any:
    """Return a table of the same kind; text and categories keep their types, changed numbers become text."""
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
        return with_used_levels(native.cast(plain_schema(native.schema)))
    texts = (nw.String, nw.Binary, nw.Categorical, nw.Enum)
    return table.with_columns(*(_anew(each) for each in table.iter_columns() if each.dtype in texts)).to_native()


def _plain_frame(frame: Any) -> Any:
    """Return a table of pandas of its cells alone, without an index, notes, or what lies below a missing cell."""
    import pandas as pd

    def plain(column: Any) -> Any:
        kind, cells = column.dtype, column.array
        if isinstance(kind, pd.CategoricalDtype):
            used = list(column.dropna().unique())
            return cells.set_categories(
                [each for each in kind.categories if each in set(used)] if kind.ordered else used
            )
        if isinstance(kind, pd.ArrowDtype):
            return type(cells)(with_used_levels(pa.table({"": column})).column(0))
        is_masked = pd.api.types.is_extension_array_dtype(kind) and pd.api.types.is_any_real_numeric_dtype(kind)
        return pd.array(column.astype(object), dtype=kind) if is_masked or kind == "boolean" else cells

    return pd.DataFrame({name: plain(column) for name, column in frame.items()})


def _anew(column: Any) -> Any:
    """Return a column of polars of its cells alone: a gathered one keeps texts that no cell has any more."""
    import narwhals as nw

    cells, kind = column.to_list(), column.dtype
    if kind == nw.Enum:
        kind = nw.Enum([each for each in kind.categories if each in set(cells)])
    return nw.new_series(column.name, cells, kind, backend=column.implementation)


def _released(stored: Any, release: Release, place: int) -> Any:
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
