"""Tables written again: shuffled, some cells hidden, some columns left out.

CSV is written cell by cell, Parquet batch by batch, frames are of the kind they came as. Cells that stay are as they
were: in CSV to the byte, elsewhere with their type. What differs are hidden cells, columns that were binned, and
columns that wrote one value in several ways. Rows come in a random order. Where they take more memory than is allowed
they are spread over files without a name first, each of which then is brought into order on its own.
"""

import contextlib
import gzip
import io
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, pc, pq
from assocpriv.kernels.compiling import text_kernels
from assocpriv.kernels.parallel import map_ahead
from assocpriv.promise.errors import RecordError
from assocpriv.records.columns import ParquetTable, frame_columns
from assocpriv.records.sources import Budget, Source, line_chunks, open_source, open_text
from assocpriv.suppress.table import CodedColumn, SourceTable, file_stamp, plain_schema

_KEEP = -1  # a cell that stays as it is
_CHANGED = "the file was changed while it was read; nothing was written"
_SHARE = 4  # of the memory allowed, what one shuffled part may hold of rows
_LINES = 1 << 17  # brought into order at a time
_NEWLINE = 10
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
    """How one column is released: codes, and by code the new text, None for an empty cell, and whether it stays."""

    column: CodedColumn
    texts: tuple[str | None, ...]
    stays: tuple[bool, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What becomes of a table: columns that change, in its order, names of those left out, and each record's place."""

    source: SourceTable
    changes: tuple[Rewrite, ...]
    dropped: frozenset[str]
    places: Places

    @property
    def left_out(self) -> list[int]:
        """Places of columns that are left out."""
        return [place for place, name in enumerate(self.source.layout.names) if name in self.dropped]


def write_file(path: Path, release: Release, stream: BinaryIO, memory_bytes: int, *, gzipped: bool) -> None:
    """Write the table of a file as it is released.

    Raises:
        RecordError: the file is not what was read before.
    """
    layout = release.source.layout
    if file_stamp(path) != layout.stamp:
        raise RecordError(_CHANGED)
    parts = max(1, -(-layout.n_bytes * _SHARE // memory_bytes))
    folder = Path(stream.name).parent
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open_source(path, None))
        if not layout.separator:
            _write_parquet(file, release, stream, parts, folder)
            return
        if gzipped:
            stream = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, stream, mtime=0)))
        stream.write(_header(path, release))
        text = open_text(path, file, "utf-8").file
        budget = Budget.within(memory_bytes)
        shuffle_lines(_csv_parts(text, release, budget), release.places, stream, parts, folder, budget.workers)


# ---- order


def shuffle_lines(
    texts: Iterator[bytes], places: Places, stream: BinaryIO, parts: int, folder: Path, workers: int | None = None
) -> None:
    """Write lines, which come many at a time, in the order of their places, in parts that fit into memory.

    Raises:
        RecordError: there are not as many lines as places.
    """
    at, n = 0, len(places)
    with contextlib.ExitStack() as stack:
        files = [
            stack.enter_context(tempfile.TemporaryFile(dir=folder)) if parts > 1 else io.BytesIO() for _ in range(parts)
        ]
        for text in texts:
            lines = text.count(b"\n")
            part = places[at : at + lines] * parts // n
            at += lines
            if parts == 1:
                files[0].write(text)
            elif len(part) == lines:
                order = np.argsort(part, kind="stable")
                given = _Lines.of(text)
                ends = np.cumsum([0, *np.bincount(part, minlength=parts)])
                for file, (low, high) in zip(files, pairwise(ends.tolist()), strict=True):
                    file.write(given.gather(order[low:high]))
        if at != n:
            raise RecordError(_CHANGED)
        for number, file in enumerate(files):
            file.seek(0)
            given, order = _Lines.of(file.read()), np.argsort(places[places * parts // n == number])
            pieces = (order[low : low + _LINES] for low in range(0, len(order), _LINES))
            stream.writelines(map_ahead(given.gather, pieces, workers))


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """Lines of text, and where each of them starts, int64 (n + 1,)."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, text: bytes) -> "_Lines":
        given = np.frombuffer(text, dtype=np.uint8)
        return cls(given, np.append(0, np.flatnonzero(given == _NEWLINE) + 1))

    def gather(self, order: NDArray[np.int64]) -> memoryview:
        """Return some lines in some order."""
        made = np.empty(int((self.starts[order + 1] - self.starts[order]).sum()), dtype=np.uint8)
        text_kernels.gather_lines(self.text, self.starts, order, made)
        return made.data


# ---- CSV


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """Texts as bytes of CSV, one after the other, and for each changed column which of them its values become."""

    content: NDArray[np.uint8]
    starts: NDArray[np.int64]
    chosen: list[NDArray[np.int32]]

    @classmethod
    def of(cls, changes: Sequence[Rewrite], separator: str) -> "_Words":
        words: dict[bytes, int] = {}
        chosen = []
        for change in changes:
            places = [
                _KEEP if stays else words.setdefault(_cell(text, separator), len(words))
                for text, stays in zip(change.texts, change.stays, strict=True)
            ]
            chosen.append(np.array(places, dtype=np.int32))
        starts = np.cumsum([0, *map(len, words)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(words) or b" ", dtype=np.uint8), starts, chosen)

    def length(self, choices: NDArray[np.int32]) -> int:
        """Return how many bytes the words chosen have."""
        sizes = np.append(np.diff(self.starts), [0, 0])  # the last ones of cells that go or stay
        return int(sizes[choices].sum())


def _header(path: Path, release: Release) -> bytes:
    """Return the lines up to the header, as they are but for columns that are left out."""
    lines = release.source.layout.header_lines
    with open_source(path, None) as file:
        found = [file.readline() for _ in range(lines)]
    found[-1] = found[-1].removesuffix(b"\n") + b"\n"
    text, gone = np.frombuffer(found[-1], dtype=np.uint8), np.array(release.left_out, dtype=np.int64)
    room, choices = np.empty_like(text), np.full((1, len(gone)), text_kernels.GONE, dtype=np.int32)
    mark, nothing = ord(release.source.layout.separator), np.zeros(1, dtype=np.int64)
    written, _ = text_kernels.replace_cells(text, mark, gone, choices, text, nothing, room)
    return b"".join(found[:-1]) + room[:written].tobytes()


def _cell(text: str | None, separator: str) -> bytes:
    text = text or ""
    if separator in text or '"' in text:
        text = '"' + text.replace('"', '""') + '"'
    return text.encode("utf-8")


def _csv_parts(file: Source, release: Release, budget: Budget) -> Iterator[bytes]:
    """Yield the text below the header with the changed cells replaced, cut as it was when it was read first."""
    layout, changes = release.source.layout, release.changes
    words = _Words.of(changes, layout.separator)
    known = {layout.names.index(change.column.name): place for place, change in enumerate(changes)}
    columns = sorted({*known, *release.left_out})

    def pieces() -> Iterator[tuple[bytes, NDArray[np.int32]]]:
        chunks = line_chunks(file, budget, layout.header_lines)
        starts = np.cumsum([0, *layout.chunk_rows]).tolist()
        for (text, _), (start, stop) in zip_longest(chunks, pairwise(starts), fillvalue=(b"", 0)):
            choices = np.full((int(stop) - int(start), len(columns)), text_kernels.GONE, dtype=np.int32)
            for at, column in enumerate(columns):
                if column in known and layout.names[column] not in release.dropped:
                    place = known[column]
                    choices[:, at] = words.chosen[place][changes[place].column.codes[int(start) : int(stop)]]
            yield text, choices

    def replace(piece: tuple[bytes, NDArray[np.int32]]) -> bytes:
        text, choices = np.frombuffer(piece[0], dtype=np.uint8), piece[1]
        room = np.empty(len(text) + words.length(choices), dtype=np.uint8)
        places, mark = np.array(columns, dtype=np.int64), ord(layout.separator)
        written, rows = text_kernels.replace_cells(text, mark, places, choices, words.content, words.starts, room)
        if rows != len(choices):
            raise RecordError(_CHANGED)
        return room[:written].tobytes()

    yield from map_ahead(replace, pieces(), budget.workers)


# ---- Parquet


def _write_parquet(file: BinaryIO, release: Release, stream: BinaryIO, parts: int, folder: Path) -> None:
    opened, source = ParquetTable(file), release.source
    changed = {source.layout.names.index(change.column.name): change for change in release.changes}
    kept = [place for place in range(len(source.layout.names)) if place not in release.left_out]
    kinds = [opened.schema.field(place).type for place in range(len(source.layout.names))]
    schema = opened.schema
    for place in changed:
        schema = schema.set(place, schema.field(place).with_type(_released_type(kinds[place])))
    schema = plain_schema(schema.field(place) for place in kept)
    packing = opened.compression
    known = {"UNCOMPRESSED": "none"}.get(packing, packing)

    def batches() -> Iterator[Any]:
        record = 0
        for batch in opened.batches():
            columns = list(batch.columns)
            for place, change in changed.items():
                codes = change.column.codes[record : record + len(batch)]
                if len(codes) == len(batch):
                    columns[place] = _released_array(source, change, codes, kinds[place])
            yield pa.record_batch([columns[place] for place in kept], schema=schema)
            record += len(batch)

    with pq.ParquetWriter(stream, schema, compression=known) as writer:
        shuffle_batches(batches(), release.places, writer.write_table, parts, folder)


def shuffle_batches(
    batches: Iterator[Any], places: Places, write: Callable[[Any], None], parts: int, folder: Path
) -> None:
    """Write rows of Arrow, which come in batches, as :func:`shuffle_lines` writes lines."""
    at, n, held = 0, len(places), list[Any]()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(parts if parts > 1 else 0)]
        writers: list[Any] = []
        for batch in batches:
            part = places[at : at + len(batch)] * parts // n
            at += len(batch)
            if len(part) != len(batch):
                raise RecordError(_CHANGED)
            if not files:
                held.append(batch)
                continue
            writers = writers or [pa.ipc.new_stream(file, batch.schema) for file in files]
            for number, writer in enumerate(writers):
                writer.write_batch(batch.take(pa.array(np.flatnonzero(part == number))))
        if at != n:
            raise RecordError(_CHANGED)
        for number in range(parts):
            if files:
                writers[number].close()
                files[number].seek(0)
                held = list(pa.ipc.open_stream(files[number]))
            table = pa.Table.from_batches(held)
            write(_with_used_levels(table.take(pa.array(np.argsort(places[places * parts // n == number])))))


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
            levels = column.dictionary.take(used)
            made = pa.DictionaryArray.from_arrays(codes, levels, ordered=field.type.ordered)
            table = table.set_column(place, field, made)
    return table


def _released_type(kind: Any) -> Any:
    """Return the type of a column that holds texts now: its own if that is text."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain)
    return kind if is_text else pa.string()


def _released_array(source: SourceTable, change: Rewrite, codes: NDArray[Any], kind: Any) -> Any:
    """Return a changed column of the records with these codes as an Arrow array of some type of text."""
    array = pa.array(_released_texts(source, change), pa.string()).take(pa.array(codes.astype(np.int64)))
    kind = _released_type(kind)
    return array.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else array.cast(kind)


def _released_texts(source: SourceTable, change: Rewrite) -> list[str | None]:
    """Return the text that stands for each value, as it was written where it stays text."""
    spellings = [*source.spellings[change.column.name], None]  # the mark has none
    return [
        spelling if stays and isinstance(spelling, str) else text
        for text, stays, spelling in zip(change.texts, change.stays, spellings, strict=False)
    ]


# ---- frames


def released_table(frame: Any, release: Release) -> Any:
    """Return a table of the same kind; text and categories keep their types, changed numbers become text."""
    import narwhals as nw

    source, stored = release.source, frame_columns(frame)
    made = [_released(stored[source.layout.names.index(each.column.name)], source, each) for each in release.changes]
    table = nw.from_native(frame, eager_only=True)
    table = (table.with_columns(*made) if made else table).drop([stored[place].name for place in release.left_out])
    table = table[np.argsort(release.places)]
    native = table.to_native()
    if table.implementation.is_pandas():  # its index would tell the order
        native = native.reset_index(drop=True)
        native.attrs = {}
        for name, column in native.items():
            if hasattr(column, "cat"):
                native[name] = column.cat.remove_unused_categories()
        return native
    if table.implementation.is_pyarrow():
        return _with_used_levels(native.cast(plain_schema(native.schema)))
    return native


def _released(stored: Any, source: SourceTable, change: Rewrite) -> Any:
    import narwhals as nw

    native = stored.to_native()
    if stored.implementation.is_pyarrow():
        made = _released_array(source, change, change.column.codes, native.type)
        return nw.from_native(pa.chunked_array([made]), series_only=True).alias(stored.name)
    texts = np.array(_released_texts(source, change), dtype=object)[change.column.codes]
    if stored.implementation.is_pandas() and stored.dtype == nw.String:
        made = type(native)(texts, index=native.index, dtype=native.dtype, name=native.name)
        return nw.from_native(made, series_only=True)
    text = nw.new_series(stored.name, texts.tolist(), nw.String, backend=stored.implementation)
    return text.cast(nw.Categorical) if stored.dtype == nw.Categorical else text


def rewrites(
    source: SourceTable, hidden: Callable[[CodedColumn], CodedColumn], marked: Collection[str]
) -> tuple[Rewrite, ...]:
    """Return what changes, column by column, in the table's order; columns that stay as they are are left out.

    ``hidden`` returns a column with the mark as its last value; ``marked`` are the columns that have it.
    """
    found = []
    for column in source.coded.columns:
        anew = column.name in source.respelled
        if column.name in marked or anew:
            made = hidden(column) if column.name in marked else column
            stays = tuple(not anew and place < len(column.values) for place in range(len(made.values)))
            found.append(Rewrite(made, made.values, stays))
    return tuple(found)
