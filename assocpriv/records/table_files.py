"""Tables of people's records, in files of any size and in frames -> inputs of a plan's columns, batch by batch.

What cannot be taken is counted to the end of the table, then refused in one line that names the column, how many
records it concerns and the first one's place, never a value. docs/cli/numeric.md has the rules in words.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import TableColumns
from assocpriv.promise.errors import RecordError
from assocpriv.records.budget import Budget
from assocpriv.records.first_lines import SEPARATORS
from assocpriv.records.source_files import SPREADSHEET, SPREADSHEETS, Progress, named_after, open_source
from assocpriv.records.table_batches import Batch, read_csv, read_frame, read_parquet_table
from assocpriv.records.table_cells import CellOptions, Found, refuse_problems

_PARQUET, _TEXT = (".parquet", ".pq"), (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".data", ".txt")
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "blank": " ", "space": " "}
_LOG = logging.getLogger("assocpriv")  # told what is left out; the command line shows it


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How a table is read.

    Attributes:
        separator: of the cells of text, a character or a word for it; found out from the header by default.
        missing: a word, or several, for missing values, beside empty cells, and NaN and null in columns of numbers.
        clip: move values outside a column's range to its ends.
        memory_bytes: what reading a file may hold at a time; None for as much as is fast.
        progress: called with (bytes read, bytes of the file).
    """

    separator: str | None = None
    missing: str | Sequence[str] = ()
    clip: bool = False
    memory_bytes: int | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and self.mark not in SEPARATORS:
            raise RecordError('separator must be one of "," ";" "|" tab and blank')

    @property
    def mark(self) -> str | None:
        """The separator's character."""
        return None if self.separator is None else _WORDS.get(self.separator, self.separator)

    @property
    def cells(self) -> CellOptions:
        """How cells are taken."""
        words = [self.missing] if isinstance(self.missing, str) else self.missing
        return CellOptions(self.clip, frozenset(word.strip() for word in words))


@dataclass(slots=True)
class TableCounts:
    """What has been read: records, and by column values moved to the ends of the range and missing ones."""

    records: int = 0
    clipped: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)


class TableStream(Iterator[NDArray[np.int32]]):
    """The inputs of a table's records, int32 (n, columns), batch by batch, once; ``counts`` is what was read so far.

    After a record that cannot be taken no further batch comes: the rest is read to count, then refused.
    """

    def __init__(self, plan: TableColumns, batches: Iterator[Batch], word: str, path: Path | None) -> None:
        self.counts = TableCounts()
        self._plan, self._batches, self._word, self._path = plan, batches, word, path
        self._found = [Found() for _ in plan.columns]

    def __next__(self) -> NDArray[np.int32]:
        return self._next() if self._path is None else named_after(self._path, self._next, RecordError)

    def _next(self) -> NDArray[np.int32]:
        for batch in self._batches:
            self.counts.records += len(batch.raw_inputs)
            for found, later in zip(self._found, batch.found, strict=True):
                found.add(later)
            if not any(found.problems for found in self._found):
                return batch.raw_inputs
        refuse_problems(self._plan.columns, self._found, self._word)
        if not self.counts.records:
            raise RecordError("the table has no records; check that it is the right one")
        named = list(zip(self._plan.names, self._found, strict=True))
        self.counts.clipped = {name: found.outside for name, found in named if found.outside}
        self.counts.missing = {name: found.missing for name, found in named if found.missing}
        raise StopIteration


def stream_table(source: Any, plan: TableColumns, options: TableOptions) -> TableStream:
    """Read a table: a CSV or Parquet file's name, a pandas, polars or pyarrow table, or an iterable of such tables.

    Raises:
        RecordError: while iterating: a file that cannot be read, another table than the plan's, cells that its columns
            do not take, or no record.
        TypeError: no table.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        word = "row" if path.name.lower().endswith(_PARQUET) else "line"
        return TableStream(plan, _file_batches(path, plan, options), word, path)
    return TableStream(plan, _frame_batches(source, plan, options), "row", None)


def _tell(where: str, note: str) -> None:
    _LOG.info("%s: %s", where, note)


def _file_batches(path: Path, plan: TableColumns, options: TableOptions) -> Iterator[Batch]:
    name, budget = path.name.lower(), Budget.within(options.memory_bytes)

    def tell(note: str) -> None:
        _tell(path.name, note)

    if path.is_dir():
        raise RecordError("this is a folder; name a file")
    if name.endswith(SPREADSHEETS):
        raise RecordError(SPREADSHEET)
    if not name.endswith((*_PARQUET, *_TEXT)):
        raise RecordError("the file's name must end in .csv, .tsv (or these with .gz), .data, .txt, .parquet or .pq")
    with open_source(path, options.progress) as file:
        if name.endswith(_PARQUET):
            if options.separator is not None:
                raise RecordError("a Parquet file has no separator; leave it out")
            yield from read_parquet_table(file, plan, options.cells, budget, tell)
        else:
            yield from read_csv(file, plan, options.cells, options.mark, budget, tell)


def _frame_batches(source: Any, plan: TableColumns, options: TableOptions) -> Iterator[Batch]:
    tables = source if isinstance(source, Iterable) and _is_plain_iterable(source) else [source]
    told: set[str] = set()

    def tell(note: str) -> None:
        if note not in told:
            _tell("table", note)
        told.add(note)

    before = 0
    for table in tables:
        for batch in read_frame(table, plan, options.cells, before, tell):
            before += len(batch.raw_inputs)
            yield batch


def _is_plain_iterable(source: object) -> bool:
    """Tell whether something holds tables, and is none: a list, a generator, a reader of record batches."""
    return isinstance(source, list | tuple | Iterator)
