"""Apply a published decision tree to a table of any size, on the machine of its records.

This module sees raw values. Each record is classified as in client/published_results.py; missing, unseen and
out-of-range values are counted by column. The classes stay with the records.
"""

import contextlib
import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy, pa, pq, to_arrow
from assocpriv.files.atomic import atomic_output
from assocpriv.guarantees.errors import FileError, RecordError, pluralize
from assocpriv.plans.numeric.table_plan import check_text, shortened
from assocpriv.plans.numeric.tree_model import CategoryInput, NumberInput, TreeModel
from assocpriv.records.basket_sources import MemoryBudget, prefix_errors
from assocpriv.records.columns import CsvTable, ParquetTable, open_table
from assocpriv.records.table_files import CellOptions, TableOptions, cell_numbers, missing_remedy, place_of

_ENDINGS = (".csv", ".parquet", ".pq")


@dataclass(slots=True)
class PredictionCounts:
    """Counts of the records that a tree classified, and of their values that it did not know.

    Attributes:
        records: number of records.
        classes: number of records by predicted class.
        missing: number of missing values by column.
        unseen: number of values by column that are none of its categories.
        outside: number of values by column beyond its range.
    """

    records: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)


def predict_table(table: Any, model: TreeModel, options: TableOptions) -> tuple[NDArray[Any], PredictionCounts]:
    """Return the classes of a pandas, polars or pyarrow table, text (n,), and the counts.

    Raises:
        RecordError: the table lacks a column, or has other values than numbers in a numeric column.
        TypeError: no table.
    """
    import narwhals as nw

    frame = arrow = None
    with contextlib.suppress(TypeError):
        frame = nw.from_native(table, eager_only=True)
    if frame is None:
        raise TypeError(
            "data must be a record, as {'age': 34}, or a pandas, polars or pyarrow table (predict_file takes files), "
            f"got a {type(table).__name__}"
        )
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):  # their texts may show cells
        arrow = frame.to_arrow()
    if arrow is None:
        raise RecordError("a column mixes types; convert it to only numbers, or only text")
    counts = PredictionCounts()
    parts = [_predict(batch, model, options.cells, counts) for batch in arrow.to_batches(max_chunksize=1 << 16)]
    return np.concatenate(parts) if parts else np.array([], dtype=object), counts


def predict_file(
    model: TreeModel,
    table: str | PathLike[str],
    output: str | PathLike[str],
    *,
    column: str = "predicted",
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    sheet: str | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> PredictionCounts:
    """Write a table of raw records with a further column for their class, batch by batch, in bounded memory.

    Every cell of a CSV file is copied as written. The output is CSV or Parquet, whatever the table is.

    Args:
        model: the tree.
        table: CSV or Parquet file.
        output: .csv or .parquet file to write; it appears complete or not at all.
        column: name of the further column, which the table must not have.
        separator, missing, sheet: as in :func:`assocpriv.randomize`.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Returns:
        Numbers of records, of records by class, and by column of missing, unseen and out-of-range values.

    Raises:
        RecordError: as :func:`predict`, or a file that cannot be read.
        PlanError: an invalid name of the new column.
        FileError: the output exists and ``force`` is not set, has another ending, or cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ages, classes = pd.DataFrame({"age": range(20)}), [0] * 10 + [1] * 10
    >>> model = ap.numeric.ReleasedTreeClassifier(pruning="none").fit(ages, classes).model_
    >>> people, output = Path(mkdtemp(), "people.csv"), Path(mkdtemp(), "predicted.csv")
    >>> _ = people.write_text("name,age\\nAnn,3\\nBob,15\\n")
    >>> ap.numeric.predict_file(model, people, output).records, output.read_text().split()
    (2, ['name,age,predicted', 'Ann,3,0', 'Bob,15,1'])
    """
    table, output, options = Path(table), Path(output), TableOptions(separator, missing, sheet, progress=progress)

    _check_output(output)
    check_text(column, "the name of the new column")
    counts = PredictionCounts()
    with atomic_output(output, force=force) as stream:
        write = _write_csv if output.suffix.lower() == ".csv" else _write_parquet
        write(_predicted(table, model, options, counts, column), stream)
    return counts


def _check_output(output: Path) -> None:
    """Refuse a file name whose ending is neither of CSV nor of Parquet."""
    if output.suffix.lower() not in _ENDINGS:
        raise FileError(f"{output} must end in .csv, .parquet or .pq to select the format")


def _predict(batch: Any, model: TreeModel, cells: CellOptions, counts: PredictionCounts) -> NDArray[Any]:

    names = [str(name).strip() for name in batch.schema.names]
    _check_columns(names, model)
    values = np.empty((batch.num_rows, len(model.columns)))
    for place, column in enumerate(model.columns):
        raw = batch.column(names.index(column.name))
        if isinstance(column, NumberInput):
            values[:, place] = _numbers(raw, column, cells, counts)
        else:
            values[:, place] = _places(raw, column, cells, counts)
    likeliest = np.array([model.likeliest(place) for place in range(len(model.nodes))])
    found: NDArray[Any] = np.array(model.classes, dtype=object)[likeliest[model.leaves(values)]]
    counts.records += len(found)
    counts.classes.update(found.tolist())
    return found


def _check_columns(names: list[str], model: TreeModel) -> None:

    wanted = [column.name for column in model.columns]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise RecordError(
            f"the table lacks {len(missing)} of the model's {pluralize(len(wanted), 'column')}: {shortened(missing)}; "
            "column names must match exactly"
        )
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise RecordError(f"the table has column {twice[0]} twice; rename one")


def _numbers(values: Any, column: NumberInput, cells: CellOptions, counts: PredictionCounts) -> NDArray[np.float64]:

    numbers, wrong = cell_numbers(values, cells)
    if wrong.any():
        row = counts.records + int(np.flatnonzero(wrong)[0]) + 1
        raise RecordError(
            f"column {column.name} has no number in record {row:,}; {_remedy(values.filter(pa.array(wrong)), cells)}"
        )
    counts.missing[column.name] += int(np.isnan(numbers).sum())
    counts.outside[column.name] += int(((numbers < column.low) | (numbers > column.high)).sum())
    return numbers


def _remedy(refused: Any, cells: CellOptions) -> str:
    if not cells.written:
        return "a Parquet or frame column must hold numbers, not text; convert it"
    return f"write numbers as 1234.5; {missing_remedy({str(each).strip() for each in refused.unique().to_pylist()})}"


def _places(values: Any, column: CategoryInput, cells: CellOptions, counts: PredictionCounts) -> NDArray[np.float64]:

    encoded = values if isinstance(values, pa.DictionaryArray) else None
    if encoded is None and not values.type.num_fields:
        encoded = values.dictionary_encode()
    if encoded is None:
        raise RecordError(f"column {column.name} holds lists or records; it must hold one value for each record")
    distinct = encoded.dictionary.to_pylist()
    absent = [value is None or (isinstance(value, str) and value.strip() in {"", *cells.missing}) for value in distinct]
    absent = [gone or value != value for gone, value in zip(absent, distinct, strict=True)]  # noqa: PLR0124 -- NaN
    places = [-1 if gone else place_of(value, column) for gone, value in zip(absent, distinct, strict=True)]
    indices = array_to_numpy(encoded.indices.cast(pa.int32()), len(distinct))
    gone = np.array([*absent, True])[indices]
    found = np.array([*places, -1], dtype=np.float64)[indices]
    counts.missing[column.name] += int(gone.sum())
    counts.unseen[column.name] += int(((found < 0) & ~gone).sum())
    return np.where(found < 0, np.nan, found)


# ---- files


def _predicted(
    table: Path, model: TreeModel, options: TableOptions, counts: PredictionCounts, column: str
) -> Iterator[Any]:
    """Yield the batches of a file with the column of classes."""

    def step(action: Callable[[], Any]) -> Any:
        return prefix_errors(table, action, RecordError)

    with contextlib.ExitStack() as opened:
        batches, cells = step(lambda: _open(table, model, options, opened))
        while (batch := step(lambda: next(batches, None))) is not None:
            if column in map(str.strip, batch.schema.names):
                raise RecordError(
                    f"{table.name}: the table already has a column {column!r}; rename it there (in Python give "
                    "predict_file another column=)"
                )
            classes = step(partial(_predict, batch, model, cells, counts))
            yield batch.append_column(column, to_arrow(classes).cast(pa.string()))
    if not counts.records:
        raise RecordError(f"{table.name}: the table has no records; check the file")


def _open(
    path: Path, model: TreeModel, options: TableOptions, opened: contextlib.ExitStack
) -> tuple[Iterator[Any], CellOptions]:
    """Return a file's batches, and how to read its cells; ``opened`` closes the file."""
    wanted = {column.name for column in model.columns}
    table = opened.enter_context(open_table(path, wanted, options.separator, options.progress, options.sheet))
    if isinstance(table, ParquetTable):
        return table.batches(), options.cells
    if len(set(table.names)) != len(table.names):
        raise RecordError("line 1 has two columns of one name; rename one")
    return _text_batches(table), replace(options.cells, written=True)


def _text_batches(table: CsvTable) -> Iterator[Any]:
    names, budget = list(table.names), MemoryBudget.within(None)
    return table.map(
        lambda rows: pa.record_batch([each.dictionary_decode() for each in rows.columns], names),
        range(len(names)),
        budget,
    )


def _write_csv(batches: Iterator[Any], stream: BinaryIO) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    for number, batch in enumerate(batches):
        if number == 0:
            writer.writerow(batch.schema.names)
        writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    text.detach()


def _write_parquet(batches: Iterator[Any], stream: BinaryIO) -> None:
    first = next(batches)
    with pq.ParquetWriter(stream, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
