"""A table with suppressed values, written: CSV cell by cell, Parquet batch by batch, frames of the kind they came as.

Cells that stay are as they were: in CSV to the byte, elsewhere with their type. What differs are suppressed cells,
columns that were binned, and columns that wrote one value in several ways.
"""

import contextlib
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.parallel import map_ahead
from assocpriv.owner.suppression.coded import CodedColumn
from assocpriv.owner.suppression.metadata import released_frame, released_schema
from assocpriv.owner.suppression.tables import (
    PARQUET,
    SourceTable,
    arrow_step,
    file_stamp,
    frame_columns,
    record_batches,
)
from assocpriv.promise.errors import FileError, RecordError, TemplateError
from assocpriv.records.sources import Budget, Resumed, line_chunks, open_source, read_sample
from assocpriv.records.tables import TableOptions

_KEEP = -1  # a cell that stays as it is
_CHANGED = "the file was changed while it was read; nothing was written"


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
    """How one column is released: by value the new text, None for an empty cell, and whether it stays."""

    column: CodedColumn
    texts: tuple[str | None, ...]
    stays: tuple[bool, ...]


def rewrites(source: SourceTable, suppressed: Mapping[str, Sequence[str | None]], mark: str) -> tuple[Rewrite, ...]:
    """Return what changes, column by column, in the table's order; columns that stay as they are are left out."""
    found = []
    for column in source.coded.columns:
        hidden = set(suppressed.get(column.name, ()))
        anew = column.name in source.respelled
        if hidden or anew:
            texts = tuple(mark if value in hidden else value for value in column.values)
            found.append(Rewrite(column, texts, tuple(value not in hidden and not anew for value in column.values)))
    return tuple(found)


def check_mark(source: SourceTable, masking: Sequence[str], mark: str) -> None:
    """Refuse a mark that a column holds already, or that could not be read as a value.

    Raises:
        TemplateError: as said.
    """
    if not isinstance(mark, str) or not mark.strip() or mark != mark.strip() or not mark.isprintable():
        raise TemplateError("the mark must be text on one line, without blanks around it")
    for name in masking:
        if mark in source.coded.column(name).values:
            raise TemplateError(
                f"column {name} holds the mark {mark} as a value already; choose another one with --mark (mark=)"
            )


def check_kinds(table: Path, output: Path) -> None:
    """Refuse an output of another kind than its table: no cell is converted."""
    kinds = [path.name.lower().endswith(PARQUET) for path in (table, output)]
    if kinds[0] != kinds[1]:
        wanted = ".parquet or .pq" if kinds[0] else ".csv, .tsv, .data or .txt, also with .gz,"
        raise FileError(f"{output} must end in {wanted} as the table does: its cells are released as they are written")


def write_release(
    path: Path,
    source: SourceTable,
    changes: Sequence[Rewrite],
    stream: BinaryIO,
    options: TableOptions,
    *,
    gzipped: bool,
) -> None:
    """Write the table of a file with its changes.

    Raises:
        RecordError: the file is not what was read before.
    """
    if file_stamp(path) != source.layout.stamp:
        raise RecordError(_CHANGED)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open_source(path, options.progress))
        if not source.layout.separator:
            _write_parquet(file, source, changes, stream)
            return
        if gzipped:
            stream = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", 6, stream, mtime=0)))
        stream.writelines(_header(path, source.layout.header_lines))
        for part in _csv_parts(file, source, changes, Budget.within(options.memory_bytes)):
            stream.write(part)


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
        sizes = np.append(np.diff(self.starts), 0)  # the last of a cell that stays
        return int(sizes[choices].sum())


def _header(path: Path, lines: int) -> list[bytes]:
    """Return the lines up to the header, as they are."""
    with open_source(path, None) as file:
        found = [file.readline() for _ in range(lines)]
    return [*found[:-1], found[-1].removesuffix(b"\n") + b"\n"]


def _cell(text: str | None, separator: str) -> bytes:
    text = text or ""
    if separator in text or '"' in text:
        text = '"' + text.replace('"', '""') + '"'
    return text.encode("utf-8")


def _csv_parts(file: BinaryIO, source: SourceTable, changes: Sequence[Rewrite], budget: Budget) -> Iterator[bytes]:
    """Yield the text below the header with the changed cells replaced, cut as it was when it was read first."""
    layout = source.layout
    words = _Words.of(changes, layout.separator)
    columns = np.array([layout.names.index(change.column.name) for change in changes], dtype=np.int64)

    def pieces() -> Iterator[tuple[bytes, NDArray[np.int32]]]:
        chunks = line_chunks(Resumed(read_sample(file), file), budget, layout.header_lines)
        starts = np.cumsum([0, *layout.chunk_rows]).tolist()
        for (text, _), (start, stop) in zip_longest(chunks, pairwise(starts), fillvalue=(b"", 0)):
            yield text, _choices(changes, words, int(start), int(stop))

    def replace(piece: tuple[bytes, NDArray[np.int32]]) -> bytes:
        from assocpriv.kernels.text import replace_cells

        text, choices = np.frombuffer(piece[0], dtype=np.uint8), piece[1]
        room = np.empty(len(text) + words.length(choices), dtype=np.uint8)
        marks = ord(layout.separator)
        written, rows = replace_cells(text, marks, columns, choices, words.content, words.starts, room)
        if rows != len(choices):
            raise RecordError(_CHANGED)
        return room[:written].tobytes()

    yield from map_ahead(replace, pieces(), budget.workers)


def _choices(changes: Sequence[Rewrite], words: _Words, start: int, stop: int) -> NDArray[np.int32]:
    """Return the words that records become, int32 (n, changed columns)."""
    choices = np.empty((stop - start, len(changes)), dtype=np.int32)
    for place, (change, chosen) in enumerate(zip(changes, words.chosen, strict=True)):
        choices[:, place] = chosen[change.column.codes[start:stop]]
    return choices


# ---- Parquet


def _write_parquet(file: BinaryIO, source: SourceTable, changes: Sequence[Rewrite], stream: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    opened = arrow_step(lambda: pq.ParquetFile(file, pre_buffer=False))
    schema = opened.schema_arrow
    for change in changes:
        place = source.layout.names.index(change.column.name)
        schema = schema.set(place, schema.field(place).with_type(_released_type(schema.field(place).type)))
    schema = released_schema(schema, _stored_names(schema.names, source, changes))
    packing = opened.metadata.row_group(0).column(0).compression if opened.metadata.num_row_groups else "SNAPPY"
    known = {"UNCOMPRESSED": "none"}.get(packing, packing)
    record = 0
    with pq.ParquetWriter(stream, schema, compression=known) as writer:
        for batch in record_batches(opened):
            arrays = list(batch.columns)
            for change in changes:
                place = source.layout.names.index(change.column.name)
                codes = change.column.codes[record : record + len(batch)]
                if len(codes) != len(batch):
                    raise RecordError(_CHANGED)
                arrays[place] = released_array(source, change, codes, schema.field(place).type)
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            record += len(batch)
    if record != source.coded.n_records:
        raise RecordError(_CHANGED)


def _stored_names(names: Sequence[str], source: SourceTable, changes: Sequence[Rewrite]) -> set[str]:
    return {names[source.layout.names.index(change.column.name)] for change in changes}


def _released_type(kind: Any) -> Any:
    """Return the type of a column that holds texts now: its own if that is text."""
    import pyarrow as pa
    import pyarrow.types as kinds

    plain = kind.value_type if kinds.is_dictionary(kind) else kind
    is_text = kinds.is_string(plain) or kinds.is_large_string(plain) or kinds.is_string_view(plain)
    return kind if is_text else pa.string()


def released_array(source: SourceTable, change: Rewrite, codes: NDArray[Any], kind: Any) -> Any:
    """Return a changed column of the records with these codes as an Arrow array of some type of text."""
    import pyarrow as pa
    import pyarrow.types as kinds

    array = pa.array(released_texts(source, change), pa.string()).take(pa.array(codes.astype(np.int64)))
    return array.dictionary_encode().cast(kind) if kinds.is_dictionary(kind) else array.cast(kind)


def released_texts(source: SourceTable, change: Rewrite) -> list[str | None]:
    """Return the text that stands for each value, as it was written where it stays text."""
    spellings = source.spellings[change.column.name]
    stays = change.stays
    return [
        spellings[place] if stays[place] and isinstance(spellings[place], str) else text
        for place, text in enumerate(change.texts)
    ]


# ---- frames


def release_frame(frame: Any, source: SourceTable, changes: Sequence[Rewrite]) -> Any:
    """Return a table of the same kind with its changes; text and categories keep their types, numbers become text."""
    import narwhals as nw

    stored = frame_columns(frame)
    made = [_released(stored[source.layout.names.index(each.column.name)], source, each) for each in changes]
    released = nw.from_native(frame, eager_only=True).with_columns(*made).to_native() if made else frame
    return released_frame(released, {str(each.name) for each in made})


def _released(stored: Any, source: SourceTable, change: Rewrite) -> Any:
    import narwhals as nw
    import pyarrow as pa

    native = stored.to_native()
    if stored.implementation.is_pyarrow():
        made = released_array(source, change, change.column.codes, _released_type(native.type))
        return nw.from_native(pa.chunked_array([made]), series_only=True).alias(stored.name)
    texts = np.array(released_texts(source, change), dtype=object)[change.column.codes]
    if stored.implementation.is_pandas() and stored.dtype == nw.String:
        made = type(native)(texts, index=native.index, dtype=native.dtype, name=native.name)
        return nw.from_native(made, series_only=True)
    text = nw.new_series(stored.name, texts.tolist(), nw.String, backend=stored.implementation)
    return text.cast(nw.Categorical) if stored.dtype == nw.Categorical else text
