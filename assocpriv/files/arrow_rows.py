"""Write Arrow rows as CSV lines, and reorder them within bounded memory.

Rows that exceed the memory limit are first distributed over unnamed temporary files; each file is then reordered on its
own.
"""

import contextlib
import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, pc

_PARTS = 32  # temporary files
Order = NDArray[np.int64]


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
