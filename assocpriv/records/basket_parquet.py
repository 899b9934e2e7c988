"""Parquet files of baskets -> cells: a column of lists, or a column of transactions and one of items.

pyarrow costs a tenth of a second to load, hence the imports inside.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, BinaryIO

from assocpriv.core.errors import BasketError
from assocpriv.core.machine import free_memory
from assocpriv.core.parallel import map_ahead
from assocpriv.files.parquet import ColumnChunk, column_chunks, is_inflated, parquet_errors
from assocpriv.records.basket_frames import is_list_type, list_cells, long_cells
from assocpriv.records.budget import NO_BASKETS, Budget, Opener, Result, Work
from assocpriv.records.cells import Cells, Origin
from assocpriv.records.columns import (
    COLUMN_OPTIONS,
    asked_place,
    describe_columns,
    long_columns,
    shown_column,
    usual_places,
)
from assocpriv.records.text_layout import LayoutOptions

Tell = Callable[[str], None]
_LONG_ROW_BYTES = 192  # memory that a row of the long layout takes, at worst
_CELL_BYTES = 8  # text that counts as one cell of a column of lists


def read_parquet(
    opened: Opener, budget: Budget, work: Work[Result], said: LayoutOptions, tell: Tell
) -> Iterator[Result]:
    """Yield ``work`` of the cells of each batch; ``tell`` is told which columns are taken."""
    with opened() as file:
        if not file.read(1):
            raise BasketError(NO_BASKETS)
        file.seek(0)
        yield from map_ahead(lambda cells: work(cells()), _parquet_cells(file, budget, said, tell), budget.workers)


def _parquet_cells(file: BinaryIO, budget: Budget, said: LayoutOptions, tell: Tell) -> Iterator[Callable[[], Cells]]:
    """Yield for each batch what makes its cells of its columns."""
    import pyarrow.parquet as pq

    # pages are read one after the other
    opened = partial(pq.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False)
    source = _arrow_step(opened)
    columns = _parquet_columns(source.schema_arrow, said, tell)
    chunks = _arrow_step(partial(column_chunks, file, columns))
    paths = [source.schema.column(place).path for place in range(len(source.schema))]
    # text is stored as a dictionary, mostly; written out, one long name in many rows takes any memory
    source = _arrow_step(partial(opened, read_dictionary=paths))
    if len(columns) == 2:
        n_rows = max(source.metadata.num_rows, sum(chunk.values for chunk in chunks) // 2)
        if n_rows > budget.units(_LONG_ROW_BYTES) >= 0:
            needed = n_rows * _LONG_ROW_BYTES >> 20
            budget.refuse(f"the long layout is read as a whole, which takes about {needed:,} MiB")
        _check_claims(file, chunks, budget)
        yield partial(long_cells, *(_arrow_step(partial(source.read, columns=[name])).column(0) for name in columns))
        return
    for _, at_once in groupby(chunks, lambda chunk: chunk.group if budget.memory_bytes is not None else 0):
        _check_claims(file, list(at_once), budget)
    yield from _list_batches(source, columns[0], sum(chunk.values for chunk in chunks), budget)


def _check_claims(file: BinaryIO, chunks: list[ColumnChunk], budget: Budget) -> None:
    """Refuse what says that few bytes take more memory than there is: a basket cannot be read by halves."""
    allowed = free_memory() if budget.memory_bytes is None else budget.memory_bytes
    if is_inflated(chunks, os.fstat(file.fileno()).st_size, allowed):  # as it lies on disk, compressed or not
        needed = sum(chunk.memory_bytes for chunk in chunks)
        raise BasketError(
            f"the file's few bytes say that they take {needed >> 20:,} MiB of memory, more than the "
            f"{allowed >> 20:,} MiB allowed; it is damaged or made to harm"
        )


def _list_batches(source: Any, column: str, n_cells: int, budget: Budget) -> Iterator[Callable[[], Cells]]:
    rows = max(1, budget.chunk_bytes // _CELL_BYTES * source.metadata.num_rows // max(1, n_cells))
    before = 0
    for group in range(source.num_row_groups):  # Arrow joins no lists of coded text of several row groups
        batches = source.iter_batches(batch_size=rows, columns=[column], row_groups=[group])
        while (batch := _arrow_step(partial(next, batches, None))) is not None:
            if len(batch):
                yield partial(list_cells, batch.column(0), Origin(before=before, whole=False))
            before += len(batch)


def _arrow_step(step: Callable[[], Result]) -> Result:
    """Take a step of reading Parquet; the texts of Arrow's errors are not passed on."""
    with contextlib.suppress(*parquet_errors()):
        return step()
    raise BasketError("the file is not Parquet, or is damaged; write it again or pass format= (--format)")


def _parquet_columns(schema: Any, said: LayoutOptions, tell: Tell) -> list[str]:
    """Choose the column of lists, or the transaction and the item column."""
    names = schema.names
    if len(set(names)) != len(names):
        raise BasketError("the file's columns must have different names")
    lists = [place for place, field in enumerate(schema) if is_list_type(field.type)]
    if said.item_column is not None and said.transaction_column is None:
        place = asked_place(names, "item", said.item_column)
        lists = [place] if place in lists else []
    if said.transaction_column is None and len(lists) == 1:
        tell(f"Parquet; a list of items a row, in column {shown_column(names, lists[0])}")
        return [names[lists[0]]]
    found = [
        getattr(said, f"{role}_column") is not None or bool(usual_places(names, role))
        for role in ("transaction", "item")
    ]
    if (lists and said.transaction_column is None) or (len(names) != 2 and not all(found)):
        raise BasketError(
            "the file needs one column of lists, or columns named transaction and item or as usual; it has "
            f"{len(names)} columns, {len(lists)} of them lists; name them with {COLUMN_OPTIONS}"
        )
    chosen = long_columns(names, said.transaction_column, said.item_column)
    tell(f"Parquet; {describe_columns(names, chosen)}")
    return [names[place] for place in chosen]
