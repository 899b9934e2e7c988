"""Rows of Arrow on their way to a file: as lines of CSV, and brought into another order within bounded memory.

Where rows take more memory than there is room for they are spread over files without a name first, each of which is
then brought into order on its own.
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

_PARTS = 32  # that rows are spread over
Order = NDArray[np.int64]


def written_bytes(column: Any) -> int:
    """Return how much text a column writes: one word of a dictionary may stand in many rows."""
    kind = column.type
    if pa.types.is_dictionary(kind) and (
        pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
    ):
        return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    return int(column.nbytes)


def csv_lines(columns: Sequence[Any], separator: str) -> Any:
    """Return lines of CSV as a batch of one column; a cell stands in quotes where it needs them."""
    ends = [""] * (len(columns) - 1) + ["\n"]
    cells = [_quoted(column, separator, end) for column, end in zip(columns, ends, strict=True)]
    return pa.record_batch([pc.binary_join_element_wise(*cells, separator)], names=["line"])


def line_bytes(batch: Any) -> memoryview:
    """Return the text of lines."""
    lines = batch.column(0)
    ends = np.frombuffer(lines.buffers()[1], dtype=np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(lines.buffers()[2])[ends[0] : ends[-1]]


def _quoted(column: Any, separator: str, end: str = "") -> Any:
    if pa.types.is_dictionary(column.type) and len(column.dictionary) <= len(column):  # each distinct text once
        return _quoted(column.dictionary, separator, end).take(column.indices)
    column = column.cast(pa.string()).fill_null("")
    needs = pc.or_(pc.match_substring(column, separator), pc.match_substring(column, '"'))
    if pc.any(needs).as_py():
        inside = pc.replace_substring(column, '"', '""')
        column = pc.if_else(needs, pc.binary_join_element_wise('"', inside, '"', ""), column)
    return pc.binary_join_element_wise(column, "", end) if end else column


def shuffled(batches: Iterator[Any], order: Order, room: int, folder: Path) -> Iterator[Any]:
    """Yield rows of Arrow, which come in batches, in an order, in tables of about ``room`` bytes."""
    held, n_bytes = list[Any](), 0
    for batch in batches:
        held.append(batch)
        n_bytes += batch.nbytes
        if n_bytes > room and len(order) > 1:
            yield from _in_parts(itertools.chain(held, batches), order, room, folder)
            return
    if held:
        yield pa.Table.from_batches(held).combine_chunks().take(order)


def _in_parts(batches: Iterator[Any], order: Order, room: int, folder: Path) -> Iterator[Any]:
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
            given, stops = batch.take(np.argsort(rows, kind="stable")), np.cumsum(np.bincount(rows, minlength=_PARTS))
            for writer, low, high in zip(writers, [0, *stops[:-1].tolist()], stops.tolist(), strict=True):
                if low < high:
                    writer.write_batch(given[low:high])
        for writer, file, (low, high) in zip(writers, files, itertools.pairwise([0, *ends]), strict=True):
            writer.close()
            file.seek(0)
            places = np.argsort(np.argsort(order[low:high]))  # of the file's rows, which kept their order
            yield from shuffled(iter(pa.ipc.open_stream(file)), places, room, folder)


# ---- what a table says beside its cells


def plain_schema(fields: Iterable[Any]) -> Any:
    """Return a schema of Arrow fields without metadata."""
    return pa.schema([field.remove_metadata() for field in fields])


def with_used_levels(table: Any) -> Any:
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
