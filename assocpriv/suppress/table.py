"""The owner's table as integer codes, on which suppression computes.

The columns that templates and the class name are read from CSV, Parquet and frames, in batches. A value is its cell's
text without the blanks around it; a missing cell is a value of its own. A table may write one value in several ways
("x" and " x", in quotes or not); such columns are respelled when the table is released, because the difference would
tell more than the values that were counted.

Of what a table says beside its cells a release has nothing: nobody checks metadata, and they may hold raw values:
levels of a factor, notes, ``attrs`` of pandas. An index of pandas is a column.

Columns of numbers become intervals, so that they may stand in a channel: of equal frequency, or by class entropy.
Source of the latter: Fayyad and Irani, Multi-Interval Discretization of Continuous-Valued Attributes for
Classification Learning, 1993: cuts that lower the entropy of the class most, where their description length allows.
Bins decide what is released, and are counted as any other value; no promise rests on how they were found.
"""

import contextlib
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, pc
from assocpriv.kernels.parallel import map_ahead
from assocpriv.promise.errors import RecordError, TemplateError, counted
from assocpriv.records import sources
from assocpriv.records.columns import (
    EMPTY_NUMBERS,
    CsvTable,
    ParquetTable,
    frame_columns,
    open_table,
    series_to_arrow,
    whole_array,
)

if TYPE_CHECKING:
    from assocpriv.records.tables import TableOptions


_RECORD_BYTES = 48  # of a record while groups are found and rows shuffled, beside two a column
_WIDE_BYTES = 32  # of a cell of Parquet, about, while rows are shuffled
ENTROPY, CATEGORY, DROP = "entropy", "category", "drop"
_MOST_BINS = 1000
Method = int | str


# ---- columns of codes


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of categories.

    ``values`` are the texts of the cells, each once, without blanks around them, in any order; None is a missing cell,
    which is a value of its own. ``codes``, shape (n,), of the smallest unsigned type that holds them, has for each
    record the place of its cell among the values.
    """

    name: str
    values: tuple[str | None, ...]
    codes: NDArray[np.unsignedinteger]

    def has(self, value: str | None) -> NDArray[np.bool_]:
        """Say of each record whether it has a value."""
        found: NDArray[np.bool_] = np.array([each == value for each in self.values])[self.codes]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """The columns of a table that templates or the class name, in the table's order, and the number of its records."""

    columns: tuple[CodedColumn, ...]
    n_records: int

    def column(self, name: str) -> CodedColumn:
        """Return a column by its name; TemplateError if there is none of it."""
        for column in self.columns:
            if column.name == name:
                return column
        raise TemplateError(f"the table has no column {name}; it has {', '.join(self.names[:20])}")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)


def _smallest_unsigned(count: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the codes 0..count − 1."""
    return np.dtype(np.min_scalar_type(max(count - 1, 0)))


def text_order(value: str | None) -> tuple[bool, str]:
    """Return the key that sorts values as text, a missing one last."""
    return value is None, value or ""


def code_cells(columns: Mapping[str, Sequence[str | None]]) -> CodedTable:
    """Return a table of the cells at hand, column by column; None is a missing cell.

    >>> table = code_cells({"Job": ["Cook", "Clerk", "Cook"]})
    >>> table.column("Job").values, table.column("Job").codes.tolist()
    (('Cook', 'Clerk'), [0, 1, 0])
    """
    coded = []
    for name, cells in columns.items():
        texts = [None if cell is None else str(cell).strip() for cell in cells]
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        codes = np.array([places[text] for text in texts], dtype=_smallest_unsigned(len(places)))
        coded.append(CodedColumn(name, tuple(places), codes))
    return CodedTable(tuple(coded), max((len(column.codes) for column in coded), default=0))


def hide(column: CodedColumn, hidden: NDArray[np.bool_], mark: str) -> CodedColumn:
    """Return a column with the mark, a value of its own, in the place of hidden cells.

    >>> shown = hide(code_cells({"Job": ["Cook", "Clerk", "Cook"]}).columns[0], np.array([True, False, False]), "*")
    >>> [shown.values[code] for code in shown.codes]
    ['*', 'Clerk', 'Cook']
    """
    values = (*column.values, mark)
    codes = column.codes.astype(_smallest_unsigned(len(values)))
    codes[hidden] = len(column.values)
    return CodedColumn(column.name, values, codes)


# ---- the owner's table


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns of a table stand.

    Attributes:
        names: of all columns, as the table writes them but for blanks around.
        separator: of the cells of text; empty of Parquet and frames.
        header_lines: of text: lines up to the header.
        chunk_rows: of text: records in each of the pieces that it is read in.
        stamp: size and time of the file, for a second reading to find it as the first did.
        n_bytes: of its rows in memory.
    """

    names: tuple[str, ...]
    separator: str = ""
    header_lines: int = 0
    chunk_rows: tuple[int, ...] = ()
    stamp: tuple[int, int] = (0, 0)
    n_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table's coded columns, and what its release must know.

    Attributes:
        coded: in the order of the table; values in the order of their texts, a missing one last.
        spellings: by column, of each value the way that it is written first: text, or a value of the column's type.
        respelled: columns that write a value in several ways.
        numbers: columns whose values are all numbers, and more than two, with these as float64 by code.
        times: columns of dates or times of day.
        naming: columns that nobody named whose values are all different, so that they name the row.
    """

    coded: CodedTable
    layout: _Layout
    spellings: dict[str, list[Any]]
    respelled: frozenset[str]
    numbers: dict[str, NDArray[np.float64]]
    times: frozenset[str] = frozenset()
    naming: tuple[str, ...] = ()


def read_source(source: Any, wanted: Collection[str], dropped: Collection[str], options: "TableOptions") -> SourceTable:
    """Read those columns of a table, a file's name or a pandas, polars or pyarrow table, that are wanted.

    Columns that are neither wanted nor ``dropped`` are looked at until a value occurs twice.

    Raises:
        RecordError: a file that cannot be read, a column that the table lacks or has twice, or no record.
        TypeError: no table.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return sources.named_after(path, lambda: _read_file(path, wanted, dropped, options), RecordError)
    return _read_frame(source, wanted, dropped, options)


def file_stamp(path: Path) -> tuple[int, int]:
    """Return a file's size and time, which change where it does."""
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


def _read_file(path: Path, wanted: Collection[str], dropped: Collection[str], options: "TableOptions") -> SourceTable:
    if path.is_dir():
        raise RecordError("this is a folder; name a file")
    if path.exists() and not path.is_file():
        raise RecordError("a table is read twice, and this is no regular file; save it as one")
    budget = sources.Budget.within(options.memory_bytes)
    with open_table(path, wanted, options.separator) as table:  # the first piece, to see which columns may name rows
        names = [name.strip() for name in table.names]
        places = _places(names, wanted, dropped, table.where)
        others = _Others(place for place, name in enumerate(names) if place not in places and name not in dropped)
        others.look(next(table.map(lambda part: part.columns, others.places, budget), []) if others.places else [])
    reading = _Reading(places, _Others(others.naming()), budget, options.cells.missing, file_stamp(path))
    with open_table(path, wanted, options.separator, options.progress) as table:
        return _read_csv(table, reading) if isinstance(table, CsvTable) else _read_parquet(table, reading)


def _places(names: Sequence[str], wanted: Collection[str], dropped: Collection[str], where: str) -> list[int]:
    """Return the places of the wanted columns, rising. A name of the table's own is never shown: it may be a value."""
    lacking = [name for name in (*wanted, *dropped) if name not in names]
    if lacking:
        raise RecordError(
            f"{where} lacks {'column' if len(lacking) == 1 else 'columns'} {', '.join(lacking)}; it must name its "
            "columns as the templates and class_column do, letter for letter, and has "
            f"{counted(len(names), 'name')}"
        )
    twice = [name for name in (*wanted, *dropped) if names.count(name) > 1]
    if twice:
        raise RecordError(f"{where} has column {twice[0]} twice; names must differ")
    return sorted(names.index(name) for name in wanted)


class _Others:
    """Columns that nobody named, and which of them have had no value twice in any piece that was read."""

    def __init__(self, places: Iterable[int]) -> None:
        self.places = list(places)
        self._differ = [True] * len(self.places)

    def look(self, columns: Sequence[Any]) -> None:
        """Look at a piece of all of them."""
        for place, values in enumerate(columns):
            self._differ[place] = self._differ[place] and _all_differ(values)

    def naming(self) -> list[int]:
        """Return the places of those whose values are all different."""
        return [place for place, differs in zip(self.places, self._differ, strict=True) if differs]


def _all_differ(values: Any) -> bool:
    values = whole_array(values)
    codes = values.indices if pa.types.is_dictionary(values.type) else values
    if len(values) < 2 or codes.type.num_fields:
        return False
    with contextlib.suppress(pa.ArrowException):
        return len(pc.unique(codes)) == len(values)
    return False


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a file is read: places of the columns that are coded, the others, and what that may take."""

    places: list[int]
    others: _Others
    budget: sources.Budget
    missing: frozenset[str]
    stamp: tuple[int, int]

    def check_memory(self, rows: int) -> None:
        """Refuse more records than the memory allowed holds in codes."""
        allowed = self.budget.memory_bytes
        if allowed is not None and rows * (_RECORD_BYTES + 2 * len(self.places)) > allowed:
            raise RecordError(
                f"the first {rows:,} records take more than the {allowed >> 20:,} MiB allowed; raise memory_bytes"
            )


# ---- coding


@dataclass(slots=True)
class _Coder:
    """Gives the values of one column codes, in the order in which they are met."""

    name: str
    missing: frozenset[str]
    codes: dict[Any, int] = field(default_factory=dict)  # of what is written
    texts: dict[str | None, int] = field(default_factory=dict)
    spellings: list[Any] = field(default_factory=list)
    parts: list[NDArray[Any]] = field(default_factory=list)
    respelled: bool = False
    kind: Any = None

    def add(self, encoded: Any) -> None:
        """Add cells that Arrow holds as a dictionary."""
        places = [self._code(value) for value in encoded.dictionary.to_pylist()]
        indices = encoded.indices
        if indices.null_count:
            places.append(self._code(None))
            indices = indices.fill_null(len(places) - 1)
        table = np.array(places or [0], dtype=_smallest_unsigned(len(self.texts)))
        self.parts.append(table[indices.to_numpy(zero_copy_only=False)])

    def _code(self, value: Any) -> int:
        # written differently, and so are told apart: NaN and nothing, 0.0 and -0.0
        key = str(value) if isinstance(value, float) else value
        code = self.codes.get(key)
        if code is None:
            text = self._text(value)
            code = self.texts.setdefault(text, len(self.texts))
            if code == len(self.spellings):
                self.spellings.append(value)
            else:
                self.respelled = True
            self.codes[key] = code
        return code

    def _text(self, value: Any) -> str | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        text = "" if missing else str(value).strip()
        return None if not text or text in self.missing else text

    def column(self) -> tuple[CodedColumn, list[Any]]:
        """Return the column with its values sorted, and their spellings."""
        values = sorted(self.texts, key=text_order)
        order = [self.texts[text] for text in values]
        kind = _smallest_unsigned(len(values))
        places = np.empty(len(values), dtype=kind)
        places[order] = np.arange(len(values))
        codes = np.empty(sum(map(len, self.parts)), dtype=kind)
        at = 0
        for part in self.parts:
            codes[at : at + len(part)] = places[part]
            at += len(part)
        self.parts.clear()
        return CodedColumn(self.name, tuple(values), codes), [self.spellings[place] for place in order]


def _source(coders: list[_Coder], layout: _Layout, others: _Others, quoted: bool = False) -> SourceTable:
    columns, spellings = [], {}
    for coder in coders:
        column, spellings[coder.name] = coder.column()
        columns.append(column)
    if not len(columns[0].codes):
        raise RecordError("the table has no records; check that it is the right one")
    numbers = {column.name: found for column in columns if (found := value_numbers(column.values)) is not None}
    return SourceTable(
        CodedTable(tuple(columns), len(columns[0].codes)),
        layout,
        spellings,
        frozenset(coder.name for coder in coders if coder.respelled or quoted),
        numbers,
        frozenset(coder.name for coder in coders if coder.kind is not None and pa.types.is_temporal(coder.kind)),
        tuple(layout.names[place] for place in others.naming()),
    )


def value_numbers(values: Sequence[str | None]) -> NDArray[np.float64] | None:
    """Return the numbers that a column's values write, NaN for a missing one; None unless all of three or more do.

    Two values are two categories, however they are written.
    """
    numbers = np.full(len(values), np.nan)
    for place, text in enumerate(values):
        if text is None or text in EMPTY_NUMBERS:
            continue
        if not text.isascii() or "_" in text:
            return None
        try:
            numbers[place] = float(text)
        except ValueError:
            return None
    return numbers if np.isfinite(numbers).sum() > 2 else None


# ---- CSV


def _read_csv(table: CsvTable, reading: "_Reading") -> SourceTable:
    if table.text.is_converted:
        raise RecordError("only UTF-8 text and Parquet are released as they are written; save the table as “CSV UTF-8”")
    others, places = reading.others, reading.places
    coders = [_Coder(table.names[place], reading.missing) for place in places]
    quoted, rows, n_bytes = False, list[int](), 0
    for part in table.map(lambda part: part, [*places, *others.places], reading.budget):
        quoted |= part.has_quotes
        rows.append(len(part.columns[0]))
        n_bytes += part.line.n_bytes  # type: ignore[attr-defined]
        others.look(part.columns[len(places) :])
        for coder, column in zip(coders, part.columns, strict=False):
            coder.add(column)
        reading.check_memory(sum(rows))
    layout = _Layout(table.names, table.separator, table.skip, tuple(rows), reading.stamp, n_bytes)
    return _source(coders, layout, others, quoted)


# ---- Parquet


def _read_parquet(table: ParquetTable, reading: "_Reading") -> SourceTable:
    names = [name.strip() for name in table.names]
    others, places = reading.others, reading.places
    coders = [_Coder(names[place], reading.missing) for place in places]
    for coder, place in zip(coders, places, strict=True):
        coder.kind = table.schema.field(table.names[place]).type
    rows = 0
    for part in table.map(lambda part: part, [*places, *others.places], reading.budget):
        rows += len(part.columns[0])
        others.look(part.columns[len(places) :])
        _add_batch(coders, part.columns[: len(places)], reading.budget.workers)
        reading.check_memory(rows)
    n_bytes = _WIDE_BYTES * len(names) * rows
    return _source(coders, _Layout(tuple(names), stamp=reading.stamp, n_bytes=n_bytes), others)


def _add_batch(coders: list[_Coder], columns: list[Any], workers: int | None = None) -> None:
    work = map_ahead(lambda pair: _encoded(*pair), zip(columns, coders, strict=True), workers)
    for coder, encoded in zip(coders, work, strict=True):
        coder.add(encoded)


def _encoded(values: Any, coder: _Coder) -> Any:
    """Return a column of one value a record as a dictionary."""
    values = whole_array(values)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if kind.num_fields:
        raise RecordError(f"column {coder.name} holds lists or records; each record needs one value in it")
    if pa.types.is_dictionary(values.type):
        return values
    if pa.types.is_null(kind):
        values = values.cast(pa.string())
    with contextlib.suppress(pa.ArrowException):
        return values.dictionary_encode()
    raise RecordError(f"column {coder.name} holds {kind}, which cannot be compared; convert it to text")


# ---- frames


def _read_frame(frame: Any, wanted: Collection[str], dropped: Collection[str], options: "TableOptions") -> SourceTable:
    columns = frame_columns(frame)
    names = [str(column.name).strip() for column in columns]
    places = _places(names, wanted, dropped, "the table")
    coders = [_Coder(names[place], options.cells.missing) for place in places]
    arrays = [series_to_arrow(columns[place], names[place]) for place in places]
    for coder, values in zip(coders, arrays, strict=True):
        coder.kind = values.type
    _add_batch(coders, arrays)
    others = _Others(place for place, name in enumerate(names) if place not in places and name not in dropped)
    others.look([columns[place].to_arrow() for place in others.places])
    return _source(coders, _Layout(tuple(names)), others)


# ---- metadata of a release


def plain_schema(fields: Iterable[Any]) -> Any:
    """Return a schema of Arrow fields without metadata, which nobody checks."""
    return pa.schema([field.remove_metadata() for field in fields])


# ---- intervals


@dataclass(frozen=True, slots=True)
class Handling:
    """What becomes of columns: a method of binning everywhere, and by name a method, ``category`` or ``drop``.

    A method is a number of intervals of about equally many records, or ``entropy``.
    """

    everywhere: Method | None = None
    columns: Mapping[str, Method] = field(default_factory=dict)

    def method(self, column: str) -> Method | None:
        """Return how a column is binned, None if it is not."""
        said = self.columns.get(column, self.everywhere)
        return None if said in (CATEGORY, DROP) else said

    @property
    def dropped(self) -> frozenset[str]:
        """Columns that are not released."""
        return frozenset(name for name, said in self.columns.items() if said == DROP)


def read_handling(columns: Any) -> Handling:
    """Return what is meant by a number or ``entropy``, a mapping by column, or texts as ``5``, ``age=5``, ``id=drop``.

    Raises:
        TemplateError: it is neither.

    >>> read_handling(["entropy", "age=4"]).method("age"), read_handling(3).method("age")
    (4, 3)
    """
    if columns is None:
        return Handling()
    if isinstance(columns, Mapping):
        pairs: list[tuple[str | None, Any]] = [(str(column), said) for column, said in columns.items()]
    else:
        words = columns if isinstance(columns, list | tuple) else [columns]
        pairs = [_pair(word) for word in words]
    everywhere = [_method(said) for column, said in pairs if column is None]
    if len(everywhere) > 1:
        raise TemplateError("columns: one number of intervals, or entropy, for all; others by name, as age=5")
    if len({column for column, _ in pairs}) < len(pairs):
        raise TemplateError("columns: a column is named twice; say one thing of it")
    named = {column: _method(said, (CATEGORY, DROP)) for column, said in pairs if column is not None}
    return Handling(everywhere[0] if everywhere else None, named)


def _pair(word: Any) -> tuple[str | None, Any]:
    if not isinstance(word, str):
        return None, word
    column, mark, said = word.rpartition("=")
    return (column.strip() if mark else None), said.strip()


def _method(method: Any, more: Collection[str] = ()) -> Method:
    if isinstance(method, str) and method in (ENTROPY, *more):
        return method
    if isinstance(method, str) and method.isascii() and method.isdigit() and len(method) < 6:
        method = int(method)
    if isinstance(method, bool) or not isinstance(method, int) or not 1 < method <= _MOST_BINS:
        raise TemplateError(
            f"columns: say a number of intervals from 2 to {_MOST_BINS:,}, entropy, category or drop, as 8, "
            "age=entropy or id=drop"
        )
    return method


def bin_columns(
    source: SourceTable, channels: Collection[str], masking: Collection[str], handling: Handling,
    class_column: str | None,
) -> tuple[SourceTable, dict[str, tuple[str, ...]]]:  # fmt: skip
    """Return the table with its columns of numbers binned as asked, and the intervals by column.

    Args:
        source: the table.
        channels: columns that stand in a channel.
        masking: those of them that may be suppressed: only these are binned.
        handling: what is asked for.
        class_column: whose entropy decides.

    Raises:
        TemplateError: a column of numbers or times in a channel that nothing is said of, or one that cannot be binned.
    """
    for name in sorted(set(handling.columns) - set(channels) - handling.dropped):
        raise TemplateError(f"column {name} stands in no channel; take it out of columns=")
    columns, labels = [], {}
    for column in source.coded.columns:
        method = handling.method(column.name) if column.name in masking and column.name in source.numbers else None
        if column.name in channels and method is None:
            _check_category(source, column.name, handling, column.name in masking)
        if method is not None:
            binned, labels[column.name] = _binned(source, column, method, class_column)
        columns.append(column if method is None else binned)
    if handling.everywhere is not None and not set(labels) - set(handling.columns):
        raise TemplateError(
            f"columns={handling.everywhere} is of no use: no further column of a channel holds numbers to be "
            "binned; leave it out"
        )
    coded = CodedTable(tuple(columns), source.coded.n_records)
    return replace(source, coded=coded, respelled=source.respelled | set(labels)), labels


def _check_category(source: SourceTable, name: str, handling: Handling, is_masking: bool) -> None:
    if handling.columns.get(name, CATEGORY) != CATEGORY:
        why = "it holds no three numbers and nothing else" if is_masking else "it is sensitive in another template"
        raise TemplateError(
            f"column {name} cannot be binned: {why}; if a word stands for missing values, name it with missing="
        )
    if name in handling.columns or (name not in source.numbers and name not in source.times):
        return
    what = "numbers" if name in source.numbers else "times"
    bins = "say how many intervals of them are released, or entropy; " * (what == "numbers" and is_masking)
    raise TemplateError(f"column {name} of a channel holds {what}; {bins}{name}=category takes each as a category")


def _binned(
    source: SourceTable, column: CodedColumn, method: Method, class_column: str | None
) -> tuple[CodedColumn, tuple[str, ...]]:
    numbers = source.numbers[column.name]
    written = np.flatnonzero(~np.isnan(numbers))
    distinct, places = np.unique(numbers[written], return_inverse=True)
    if method == ENTROPY:
        if class_column is None:
            raise TemplateError("entropy needs a class (class_column); or say a number of intervals")
        starts = entropy_starts(
            _class_counts(column, source.coded.column(class_column), written, places, len(distinct))
        )
    else:
        assert isinstance(method, int)
        counts = np.bincount(column.codes, minlength=len(column.values))
        starts = equal_starts(np.bincount(places, counts[written], len(distinct)).astype(np.int64), method)
    labels = bin_labels(distinct[starts].tolist())
    bins = np.full(len(column.values), len(labels))  # where no number is: missing
    bins[written] = np.searchsorted(starts, places, side="right")
    values = (*labels, None) if len(written) < len(column.values) else labels
    return CodedColumn(column.name, values, bins.astype(_smallest_unsigned(len(values)))[column.codes]), labels


def _class_counts(
    column: CodedColumn, classes: CodedColumn, written: NDArray[Any], places: NDArray[Any], n_distinct: int
) -> NDArray[np.int64]:
    """Return how many records of each class have each number, int64 (numbers, classes)."""
    width = len(classes.values)
    joint = column.codes.astype(np.int64) * width + classes.codes
    by_code = np.bincount(joint, minlength=len(column.values) * width).reshape(-1, width)
    counts = np.zeros((n_distinct, width), dtype=np.int64)
    np.add.at(counts, places, by_code[written])
    return counts


def bin_labels(cuts: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the intervals between cuts; a number on a cut lies above it.

    >>> bin_labels([28.0, 37.5])
    ('<28', '28 to <37.5', '>=37.5')
    """
    texts = [f"{cut:.15g}" for cut in cuts]
    if not texts:
        return ("any",)
    between = [f"{low} to <{high}" for low, high in pairwise(texts)]
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def equal_starts(counts: NDArray[np.int64], bins: int) -> list[int]:
    """Return at which of the rising numbers the second and later intervals begin, of about equally many records each.

    >>> equal_starts(np.array([1, 1, 1, 1]), 2)
    [2]
    """
    below = np.r_[0, np.cumsum(counts)]
    shares = np.arange(1, bins) * below[-1] / bins
    after = np.searchsorted(below, shares)
    nearest = after - (shares - below[after - 1] <= below[after] - shares)
    return sorted(set(nearest.tolist()) - {0, len(counts)})


def entropy_starts(counts: NDArray[np.int64]) -> list[int]:
    """Return where intervals begin by class entropy, for counts, int64 (numbers, classes), by rising number.

    Source: Fayyad and Irani 1993, an interval is cut where the entropy left is least, if the gain exceeds
    (log2(N − 1) + log2(3^k − 2) − k·H + k1·H1 + k2·H2) / N.
    """
    found, waiting = [], [(0, len(counts))]
    while waiting:
        low, high = waiting.pop()
        cut = _cut(counts[low:high])
        if cut is not None:
            found.append(low + cut)
            waiting += [(low, low + cut), (low + cut, high)]
    return sorted(found)


def _cut(counts: NDArray[np.int64]) -> int | None:
    total = counts.sum(axis=0)
    n = int(total.sum())
    if len(counts) < 2:
        return None
    left = np.cumsum(counts, axis=0)[:-1]
    sides = np.stack([left, total - left])  # (2, cuts, classes)
    entropies, sizes = _entropy(sides), sides.sum(axis=2)
    after = (entropies * sizes).sum(axis=0) / n
    place = int(np.argmin(after))
    before = float(_entropy(total))
    kinds = [int((row > 0).sum()) for row in (total, sides[0, place], sides[1, place])]
    spent = kinds[0] * before - kinds[1] * entropies[0, place] - kinds[2] * entropies[1, place]
    needed = (np.log2(n - 1) + np.log2(3.0 ** kinds[0] - 2) - spent) / n
    return place + 1 if before - after[place] > needed else None


def _entropy(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy in bits along the last axis."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    entropy: NDArray[np.float64] = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=-1)
    return entropy
