"""Parquet files of baskets -> cells: a column of lists, or a column of transactions and one of items.

pyarrow costs a tenth of a second to load, hence the imports inside.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, BinaryIO

from assocpriv.files.arrow import ColumnChunk, column_chunks, is_inflated, parquet_errors
from assocpriv.kernels.parallel import free_memory, map_ahead
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError, PlanError
from assocpriv.records.basket_frames import is_list_type, list_cells, long_cells, onehot_cells
from assocpriv.records.basket_signs import no_flag
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
from assocpriv.records.first_lines import SAMPLE_LINES, FirstLines
from assocpriv.records.text_layout import LayoutOptions, columns_apart, describe_onehot, holds_flags

Tell = Callable[[str], None]
_LONG_ROW_BYTES = 192  # memory that a row of the long layout takes, at worst
_CELL_BYTES = 8  # text that counts as one cell of a column of lists, and what a cell of a one-hot table takes
_SAMPLE_CELLS = 1 << 20  # of a one-hot table, looked at to know it
_LEAST_ROWS = 10
_INDEX = re.compile(r"__index_level_[0-9]+__")  # a column that pandas writes, beside its own


def read_parquet(
    opened: Opener, budget: Budget, work: Work[Result], said: LayoutOptions, tell: Tell
) -> Iterator[Result]:
    """Yield ``work`` of the cells of each batch; ``tell`` is told which columns are taken."""
    with opened() as file:
        if not file.read(1):
            raise BasketError(NO_BASKETS)
        file.seek(0)
        yield from map_ahead(lambda cells: work(cells()), _parquet_cells(file, budget, said, tell), budget.workers)


def item_columns(opened: Opener, said: LayoutOptions) -> tuple[str, list[str]]:
    """Return a file's layout as it is read, and its columns: "onehot" items, "long" both, or the "list" column."""
    import pyarrow.parquet as pq

    with opened() as file:
        source = _arrow_step(partial(pq.ParquetFile, file))
        if flags := _flag_columns(file, source, said, Budget.within(None), lambda _note: None):
            return "onehot", flags
        columns = _parquet_columns(source.schema_arrow, said, lambda _note: None)
        return "long" if len(columns) == 2 else "list", columns


def _parquet_cells(file: BinaryIO, budget: Budget, said: LayoutOptions, tell: Tell) -> Iterator[Callable[[], Cells]]:
    """Yield for each batch what makes its cells of its columns."""
    import pyarrow.parquet as pq

    # pages are read one after the other
    opened = partial(pq.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False)
    source = _arrow_step(opened)
    if flags := _flag_columns(file, source, said, budget, tell):
        yield from _onehot_batches(source, flags, budget)
        return
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
    decided = None if any(found) or len(names) != 2 else _by_types(schema)
    if (lists and said.transaction_column is None) or (len(names) != 2 and not all(found)):
        raise BasketError(
            "the file needs one column of lists, or columns named transaction and item or as usual; it has "
            f"{len(names)} columns, {len(lists)} of them lists; name them with {COLUMN_OPTIONS}"
        )
    if not any(found) and decided is None:
        raise BasketError(
            f"neither names nor types tell which of the 2 columns holds the items; name them with {COLUMN_OPTIONS}"
        )
    chosen = decided or long_columns(names, said.transaction_column, said.item_column)
    tell(f"Parquet; {describe_columns(names, chosen, names=True)}")
    return [names[place] for place in chosen]


def _by_types(schema: Any) -> tuple[int, int] | None:
    """Return the places of transactions and items of two columns, if one alone is text, which are the items."""
    import pyarrow.types as kinds

    texts = []
    for field in schema:
        kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
        texts.append(kinds.is_string(kind) or kinds.is_large_string(kind))
    return (texts.index(False), texts.index(True)) if sum(texts) == 1 else None


# ---- one-hot


def _flag_columns(file: BinaryIO, source: Any, said: LayoutOptions, budget: Budget, tell: Tell) -> list[str]:
    """Return the columns that are items of a one-hot table; none if the file holds something else.

    As in text, columns of true and false, or of 0 and 1, but for one of ids; the index that pandas writes is left out.
    Columns with the usual names of transactions and items are these, whatever they hold.
    """
    import pyarrow.types as kinds

    schema = source.schema_arrow
    names = [name for name in schema.names if not _INDEX.fullmatch(name)]
    if said.format != "onehot" and all(usual_places(names, role) for role in ("transaction", "item")):
        return []
    if said.format != "onehot" and (said.item_column is not None or len(set(names)) != len(names) or len(names) < 2):
        return []
    known = {name: schema.field(name).type for name in names if schema.names.count(name) == 1}
    others = sum(not _may_be_flags(kinds, kind) for kind in known.values())
    if said.format != "onehot" and (others > 1 or len(names) - others < 2):
        return []
    for _, group in groupby(_arrow_step(partial(column_chunks, file, names)), lambda chunk: chunk.group):
        _check_claims(file, [replace(chunk, values=0) for chunk in group], budget)  # a run of zeros takes few bytes
    rows = _first_rows(source, names)
    apart = columns_apart(rows, said)
    if said.format != "onehot" and not (rows.body and holds_flags(rows, apart)):
        return []
    tell(f"Parquet; {describe_onehot(rows, apart)}")
    return [name for place, name in enumerate(names) if place not in apart]


def _may_be_flags(kinds: Any, kind: Any) -> bool:
    return bool(kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind))


def _first_rows(source: Any, names: list[str]) -> FirstLines:
    rows = min(SAMPLE_LINES, max(_LEAST_ROWS, _SAMPLE_CELLS // len(names)))
    batch = _arrow_step(partial(next, source.iter_batches(batch_size=rows, columns=names), None))
    return FirstLines.of_table(names, [[]] * len(names) if batch is None else [c.to_pylist() for c in batch.columns])


def _onehot_batches(source: Any, columns: list[str], budget: Budget) -> Iterator[Callable[[], Cells]]:
    try:
        catalogue = Catalogue(name.strip() for name in columns)
    except PlanError as error:
        problem = str(error)
    else:
        problem = ""
    if problem:
        raise BasketError(f"the columns cannot be items: {problem}")
    before = 0
    rows = max(1, budget.chunk_bytes // (_CELL_BYTES * len(columns)))
    batches = source.iter_batches(batch_size=rows, columns=columns)
    while (batch := _arrow_step(partial(next, batches, None))) is not None:
        yield partial(_flag_cells, batch, catalogue, before)
        before += len(batch)


def _flag_cells(batch: Any, catalogue: Catalogue, before: int) -> Cells:
    return onehot_cells(
        [_flags(column, place, before) for place, column in enumerate(batch.columns)],
        catalogue,
        Origin("row", before, whole=False),
    )


def _flags(column: Any, place: int, before: int) -> Any:
    """Return a column as zeros and ones, shape (n_rows,); nulls are zeros."""
    import numpy as np
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if not _may_be_flags(kinds, column.type):
        raise BasketError(f"column {place + 1} of items holds no numbers, nor true and false; make it true or false")
    filled = pc.fill_null(column, False if kinds.is_boolean(column.type) else 0)
    values = filled.to_numpy(zero_copy_only=False)
    odd = np.flatnonzero((values != 0) & (values != 1))
    if len(odd):
        raise BasketError(
            f"row {before + int(odd[0]) + 1}, column {place + 1} of items {no_flag(str(int(values[odd[0]])))}"
        )
    return values
