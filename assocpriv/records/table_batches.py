"""Tables of people's records -> batches of inputs of a plan's columns: CSV, Parquet and frames, in bounded memory.

Of a table only the plan's columns are read. pyarrow costs a tenth of a second to load, hence the imports inside.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import column_chunks, is_inflated, parquet_errors
from assocpriv.kernels.parallel import free_memory, map_ahead
from assocpriv.plans.columns import NumericColumn, TableColumns
from assocpriv.plans.tables import shortened
from assocpriv.promise.errors import RecordError, counted
from assocpriv.records.budget import Budget
from assocpriv.records.cells import Origin
from assocpriv.records.csv_rows import LineNumbers, read_lines, whole_array
from assocpriv.records.first_lines import SEPARATORS, cut_line, first_lines
from assocpriv.records.source_files import Resumed, line_chunks, read_sample
from assocpriv.records.table_cells import CellOptions, Found, column_inputs, is_text

Tell = Callable[[str], None]
_Result = TypeVar("_Result")
_ROWS = 1 << 16  # of a batch at most
_CELL_BYTES = 64  # memory that a cell of a table takes while it becomes an input, at worst


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Inputs, int32 (n, columns), of records that follow each other, and what was met in each column."""

    raw_inputs: NDArray[np.int32]
    found: list[Found]


def _batch(columns: Sequence[Any], plan: TableColumns, options: CellOptions, line: Callable[[int], int]) -> Batch:
    """Return the inputs of the plan's columns, as Arrow holds them."""
    inputs = np.empty((len(columns[0]), len(columns)), dtype=np.int32)
    found = []
    for place, (values, column) in enumerate(zip(columns, plan.columns, strict=True)):
        inputs[:, place], met = column_inputs(values, column, options, line)
        found.append(met)
    return Batch(inputs, found)


def find_columns(names: Sequence[object], plan: TableColumns, tell: Tell, where: str) -> list[int]:
    """Return the places of the plan's columns among a table's; further ones are counted, and left out.

    ``where`` says what has the names. A name of the table's own is never shown: it may be a value.

    Raises:
        RecordError: a column that the table does not have, or has twice.
    """
    written = [str(name).strip() for name in names]
    missing = [name for name in plan.names if name not in written]
    if len(missing) == len(plan.names):
        raise RecordError(
            f"{where} has none of the plan's {counted(len(missing), 'column')} ({shortened(plan.names)}); names "
            "must be those of the plan, letter for letter; is it the plan of another table?"
        )
    if missing:
        raise RecordError(
            f"{where} lacks {len(missing)} of the plan's {counted(len(plan.names), 'column')}: {shortened(missing)}; "
            "names must be those of the plan, letter for letter"
        )
    twice = [name for name in plan.names if written.count(name) > 1]
    if twice:
        raise RecordError(f"{where} has column {twice[0]} twice; names must differ")
    if others := len(written) - len(plan.names):
        tell(f"{counted(others, 'further column')} left out, which the plan does not have")
    return [written.index(name) for name in plan.names]


# ---- CSV


def read_csv(
    file: BinaryIO, plan: TableColumns, options: CellOptions, separator: str | None, budget: Budget, tell: Tell
) -> Iterator[Batch]:
    """Yield the batches of a file of text with a header line; blank lines are left out."""
    sample = read_sample(file)
    lines = first_lines(sample)
    if not any(line.strip() for line in lines):
        raise RecordError("the file is empty, or its first line is too long; line 1 must name the columns")
    skip = next(number for number, line in enumerate(lines) if line.strip())
    header, separator = _header(lines[skip], plan, separator)
    places = find_columns(header, plan, tell, f"line {skip + 1}, with cells parted by {SEPARATORS[separator]},")
    parse = partial(_parse, width=len(header), places=places, separator=separator, plan=plan, options=options)
    chunks = line_chunks(Resumed(sample, file), budget, skip + 1)
    yield from map_ahead(lambda chunk: parse(*chunk), chunks, budget.workers)


def _header(line: str, plan: TableColumns, separator: str | None) -> tuple[list[str], str]:
    """Return the names of the columns and the separator: where none is said, that which shows most of the plan's."""
    marks = [separator] if separator else list(SEPARATORS)
    cut = {mark: [cell.strip() for cell in cut_line(line, mark) or []] for mark in marks}
    best = max(marks, key=lambda mark: len(set(cut[mark]) & set(plan.names)))
    return cut[best], best


def _parse(
    text: bytes, origin: Origin, *, width: int, places: list[int], separator: str, plan: TableColumns,
    options: CellOptions,
) -> Batch:  # fmt: skip
    """Return the inputs of some whole lines, read by Arrow: numbers as such, or as text where some cell is none."""
    lines = LineNumbers(text, origin.before)
    read = partial(read_lines, text, lines, width, places, separator, options.missing)
    numbers = [isinstance(column, NumericColumn) for column in plan.columns]
    columns = read(numbers) if any(numbers) else None
    if columns is None:
        columns = read([False] * len(numbers))
    if columns is None:
        raise RecordError(
            f"lines {origin.before + 1:,} and following are no CSV in UTF-8; convert the file, and check its quotes"
        )
    return _batch(columns, plan, replace(options, written=True), lines)


# ---- Parquet


def read_parquet_table(
    file: BinaryIO, plan: TableColumns, options: CellOptions, budget: Budget, tell: Tell
) -> Iterator[Batch]:
    """Yield the batches of a Parquet file."""
    import pyarrow.parquet as pq

    source = _arrow_step(partial(pq.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False))
    schema = source.schema_arrow
    places = find_columns(schema.names, plan, tell, "the file")
    names = [schema.names[place] for place in places]
    for name, column in zip(names, plan.names, strict=True):
        if schema.field(name).type.num_fields:
            raise RecordError(f"column {column} holds lists or records; each record needs one value in it")
    _check_claims(file, names, budget)
    texts = [name for name in names if is_text(schema.field(name).type)]
    source = _arrow_step(partial(pq.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False, read_dictionary=texts))
    rows = _rows_at_once(len(names), budget)

    def batches() -> Iterator[tuple[list[Any], int]]:
        before = 0
        for group in range(source.num_row_groups):  # each has dictionaries of its own
            parts = source.iter_batches(batch_size=rows, columns=names, row_groups=[group])
            while (part := _arrow_step(partial(next, parts, None))) is not None:
                yield [part.column(name) for name in names], before
                before += len(part)

    yield from map_ahead(lambda given: _rows_batch(*given, plan, options), batches(), budget.workers)


def _check_claims(file: BinaryIO, names: Sequence[str], budget: Budget) -> None:
    """Refuse row groups that say of few bytes that they take more memory than there is."""
    allowed = free_memory() if budget.memory_bytes is None else budget.memory_bytes
    size = os.fstat(file.fileno()).st_size
    for _, group in groupby(_arrow_step(partial(column_chunks, file, names)), lambda chunk: chunk.group):
        if is_inflated([replace(chunk, values=0) for chunk in group], size, allowed):
            raise RecordError("the file's few bytes say that they take more memory than is allowed; it is damaged")


def _rows_at_once(n_columns: int, budget: Budget) -> int:
    if budget.memory_bytes is None:
        return _ROWS
    share = budget.memory_bytes // (_CELL_BYTES * n_columns * ((budget.workers or 1) + 2))
    return max(1, min(_ROWS, share))


def _rows_batch(columns: list[Any], before: int, plan: TableColumns, options: CellOptions) -> Batch:
    return _batch(columns, plan, options, lambda row: before + row + 1)


def _arrow_step(step: Callable[[], _Result]) -> _Result:
    """Take a step of reading Parquet; the texts of Arrow's errors are not passed on."""
    with contextlib.suppress(*parquet_errors()):
        return step()
    raise RecordError("the file is not Parquet, or is damaged; write it again")


# ---- frames


def read_frame(frame: Any, plan: TableColumns, options: CellOptions, before: int, tell: Tell) -> Iterator[Batch]:
    """Yield the batches of a pandas, polars or pyarrow table, of which ``before`` records stand before these."""
    import narwhals as nw
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        frame = pa.table(frame)
    try:
        columns = list(nw.from_native(frame, eager_only=True).iter_columns())
    except TypeError:
        problem: Exception = TypeError(
            "a table must be a pandas, polars or pyarrow table in memory, or the name of a file, got a "
            f"{type(frame).__name__}"
        )
    except nw.exceptions.NarwhalsError:  # its text names columns
        problem = RecordError("the columns of a table must have different names")
    else:
        places = find_columns([column.name for column in columns], plan, tell, "the table")
        n_records = len(columns[0])

        def batches() -> Iterator[tuple[list[Any], int]]:
            for start in range(0, n_records, _ROWS):
                yield [_arrow(columns[place][start : start + _ROWS], name) for place, name in at], before + start

        at = list(zip(places, plan.names, strict=True))
        yield from map_ahead(lambda given: _rows_batch(*given, plan, options), batches())
        return
    raise problem


def _arrow(column: Any, name: str) -> Any:
    import pyarrow as pa

    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):  # their texts quote cells
        return whole_array(column.to_arrow())
    raise RecordError(f"column {name} mixes types; it must hold only numbers, or only text; convert it")
