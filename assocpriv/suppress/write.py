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
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, pc, pq
from assocpriv.kernels.parallel import map_ahead
from assocpriv.promise.errors import RecordError
from assocpriv.records.columns import CsvTable, ParquetTable, frame_columns, is_text, open_table
from assocpriv.records.sources import Budget
from assocpriv.suppress.table import SourceTable, file_stamp, hide

_CHANGED = "the file was changed while it was read; nothing was written"
_SHARE, _MOST_ROOM = 8, 1 << 30  # of the memory allowed, what rows may take that are brought into order at a time
_PARTS = 32  # that rows are spread over
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What becomes of a table.

    Attributes:
        source: the table.
        changes: of a column that changes, by its place, its codes, and the new text of each; None is an empty cell.
        dropped: columns that are left out.
        places: of each record.
    """

    source: SourceTable
    changes: Mapping[int, tuple[NDArray[Any], list[str | None]]]
    dropped: frozenset[str]
    places: Places

    @classmethod
    def of(
        cls, source: SourceTable, hidden: Mapping[str, NDArray[np.bool_]], mark: str, dropped: frozenset[str],
        places: Places,
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
                changes[source.names.index(column.name)] = made.codes, texts
        return cls(source, changes, dropped, places)

    @property
    def kept(self) -> list[int]:
        """Places of the columns that are released."""
        return [place for place, name in enumerate(self.source.names) if name not in self.dropped]

    def column(self, place: int, kind: Any, rows: slice) -> Any:
        """Return some records of a column that changes as an Arrow array: of its own type if that is one of text."""
        codes, texts = self.changes[place]
        return pa.array(texts, pa.string()).take(pa.array(codes[rows].astype(np.int64))).cast(_released_type(kind))


def _released_type(kind: Any) -> Any:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind if is_text(plain) else pa.string()


def plain_schema(fields: Iterable[Any]) -> Any:
    """Return a schema of Arrow fields without metadata."""
    return pa.schema([field.remove_metadata() for field in fields])


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
        table = stack.enter_context(open_table(path, source.coded.names, source.separator or None))
        if isinstance(table, ParquetTable):
            fields = [table.schema.field(table.names[place]) for place in release.kept]
            fields = [each.with_type(_released_type(each.type)) if place in release.changes else each
                      for place, each in zip(release.kept, fields, strict=True)]  # fmt: skip
            schema = plain_schema(fields)
            packing = {"UNCOMPRESSED": "none"}.get(table.compression, table.compression)
            writer = stack.enter_context(pq.ParquetWriter(stream, schema, compression=packing))
            for part in shuffled(_batches(table, release, schema, budget, room), release.places, room, folder):
                writer.write_table(_with_used_levels(part))
            return
        if gzipped:
            stream = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, stream, mtime=0)))
        schema = pa.schema([(source.names[place], pa.string()) for place in release.kept])
        names = [pa.array([name]) for name in schema.names]
        lines = map_ahead(
            lambda batch: csv_lines(batch.columns, source.separator), _batches(table, release, schema, budget, room),
            budget.workers,
        )  # fmt: skip
        for part in itertools.chain(
            [csv_lines(names, source.separator)], shuffled(lines, release.places, room, folder)
        ):
            for batch in part.to_batches() if isinstance(part, pa.Table) else [part]:
                stream.write(line_bytes(batch))


def _batches(table: CsvTable | ParquetTable, release: Release, schema: Any, budget: Budget, room: int) -> Iterator[Any]:
    """Yield the records as they are released, in the order in which they came."""
    n, kept = len(release.places), release.kept

    def parts() -> Iterator[tuple[list[Any], int]]:
        record = 0
        for columns in table.map(lambda rows: rows.columns, kept, budget, [pa.string()] * len(kept), ()):
            if record + len(columns[0]) > n:
                raise RecordError(_CHANGED)
            # a name of any length may stand in many rows, and be one word of a dictionary
            pieces = 1 + sum(map(_plain_bytes, columns)) // max(room, 1)
            step = max(1, -(-len(columns[0]) // pieces))
            for start in range(0, len(columns[0]), step):
                piece = [column[start : start + step] for column in columns]
                yield piece, record
                record += len(piece[0])
        if record != n:
            raise RecordError(_CHANGED)

    def made(part: tuple[list[Any], int]) -> Any:
        columns, record = part
        rows = slice(record, record + len(columns[0]))
        arrays = [release.column(place, each.type, rows) if place in release.changes else column.cast(each.type)
                  for place, each, column in zip(kept, schema, columns, strict=True)]  # fmt: skip
        return pa.record_batch(arrays, schema=schema)

    return map_ahead(made, parts(), budget.workers)


def _plain_bytes(column: Any) -> int:
    if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
        return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    return int(column.nbytes)


def csv_lines(columns: Sequence[Any], separator: str) -> Any:
    """Return lines of CSV as a batch of one column; a cell stands in quotes where it needs them."""
    cells = [_quoted(column, separator) for column in columns]
    cells[-1] = pc.binary_join_element_wise(cells[-1], "", "\n")
    return pa.record_batch([pc.binary_join_element_wise(*cells, separator)], names=["line"])


def line_bytes(batch: Any) -> memoryview:
    """Return the text of lines."""
    lines = batch.column(0)
    ends = np.frombuffer(lines.buffers()[1], dtype=np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(lines.buffers()[2])[ends[0] : ends[-1]]


def _quoted(column: Any, separator: str) -> Any:
    column = column.cast(pa.string()).fill_null("")
    needs = pc.or_(pc.match_substring(column, separator), pc.match_substring(column, '"'))
    if not pc.any(needs).as_py():
        return column
    inside = pc.replace_substring(column, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise('"', inside, '"', ""), column)


def shuffled(batches: Iterator[Any], places: Places, room: int, folder: Path) -> Iterator[Any]:
    """Yield rows of Arrow, which come in batches, in the order of their places, in tables of about ``room`` bytes."""
    held, n_bytes = list[Any](), 0
    for batch in batches:
        held.append(batch)
        n_bytes += batch.nbytes
        if n_bytes > room and len(places) > 1:
            yield from _in_parts(itertools.chain(held, batches), places, room, folder)
            return
    if held:
        yield pa.Table.from_batches(held).combine_chunks().take(np.argsort(places))


def _in_parts(batches: Iterator[Any], places: Places, room: int, folder: Path) -> Iterator[Any]:
    first = int(places.min())
    part = ((places - first) * _PARTS // (int(places.max()) + 1 - first)).astype(np.uint8)
    at, writers = 0, list[Any]()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(_PARTS)]
        for batch in batches:
            writers = writers or [pa.ipc.new_stream(file, batch.schema) for file in files]
            rows = part[at : at + len(batch)]
            at += len(batch)
            given, ends = batch.take(np.argsort(rows, kind="stable")), np.cumsum(np.bincount(rows, minlength=_PARTS))
            for writer, low, high in zip(writers, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
                if low < high:
                    writer.write_batch(given[low:high])
        order = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=_PARTS))[:-1])
        for writer, file, records in zip(writers, files, order, strict=True):
            writer.close()
            file.seek(0)
            yield from shuffled(iter(pa.ipc.open_stream(file)), places[records], room, folder)


# ---- frames


def released_table(frame: Any, release: Release) -> Any:
    """Return a table of the same kind; text and categories keep their types, changed numbers become text."""
    import narwhals as nw

    stored = frame_columns(frame)
    made = [_released(stored[place], release, place) for place in release.changes]
    gone = [stored[place].name for place in set(range(len(stored))) - set(release.kept)]
    table = nw.from_native(frame, eager_only=True)
    table = (table.with_columns(*made) if made else table).drop(gone)[np.argsort(release.places)]
    native = table.to_native()
    if table.implementation.is_pandas():  # its index would tell the order
        native = native.reset_index(drop=True)
        native.attrs = {}
        for name, column in native.items():
            if hasattr(column, "cat"):
                native[name] = column.cat.remove_unused_categories()
        return native
    return _with_used_levels(native.cast(plain_schema(native.schema))) if table.implementation.is_pyarrow() else native


def _with_used_levels(table: Any) -> Any:
    """Return a table of Arrow whose categories are those that its rows have, ordered ones in their order.

    Others are of records that are not there; the order of the others may tell that of the records.
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


def _released(stored: Any, release: Release, place: int) -> Any:
    import narwhals as nw

    native = stored.to_native()
    if stored.implementation.is_pyarrow():
        made = pa.chunked_array([release.column(place, native.type, slice(None))])
        return nw.from_native(made, series_only=True).alias(stored.name)
    codes, texts = release.changes[place]
    cells = np.array(texts, dtype=object)[codes]
    if stored.implementation.is_pandas() and stored.dtype == nw.String:
        made = type(native)(cells, index=native.index, dtype=native.dtype, name=native.name)
        return nw.from_native(made, series_only=True)
    text = nw.new_series(stored.name, cells.tolist(), nw.String, backend=stored.implementation)
    return text.cast(nw.Categorical) if stored.dtype == nw.Categorical else text
