"""The owner's table as integer codes, on which suppression computes.

The columns that templates and the class name are read from CSV, Parquet and frames, in batches. A value is its cell's
text without the blanks around it; a missing cell is a value of its own. A table may write one value in several ways
("x" and " x", in quotes or not); such columns are respelled when the table is released, because the difference would
tell more than the values that were counted.

Of what an Arrow table says beside its cells a release has only what is needed to read the cells as they are: nobody
checks metadata, and they may hold raw values: levels of a factor, notes, ``attrs`` of pandas.

Columns of numbers become intervals, so that they may stand in a channel: of equal frequency, or by class entropy.
Source of the latter: Fayyad and Irani, Multi-Interval Discretization of Continuous-Valued Attributes for
Classification Learning, 1993: cuts that lower the entropy of the class most, where their description length allows.
Bins decide what is released, and are counted as any other value; no promise rests on how they were found.
"""

import contextlib
import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa
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

_PANDAS = b"pandas"
_OF_PANDAS = ("index_columns", "column_indexes", "columns", "creator", "pandas_version")
_EXTENSION = b"ARROW:extension:"
_OF_TEXT = ("unicode", "object")  # without metadata of their own
_TEXT_TYPE = {"pandas_type": "unicode", "numpy_type": "object", "metadata": None}

ENTROPY = "entropy"
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


def mark_suppressed(table: CodedTable, suppressed: Mapping[str, Sequence[str | None]], mark: str) -> CodedTable:
    """Return the table with all cells that hold a suppressed value of their column replaced by the mark.

    >>> table = mark_suppressed(code_cells({"Job": ["Cook", "Clerk", "Cook"]}), {"Job": ["Cook"]}, "*")
    >>> [table.column("Job").values[code] for code in table.column("Job").codes]
    ['*', 'Clerk', '*']
    """
    columns = []
    for column in table.columns:
        hidden = set(suppressed.get(column.name, ()))
        if hidden:
            values = (*column.values, mark)  # a code of its own, also beside a value of the same text
            places = [len(column.values) if value in hidden else code for code, value in enumerate(column.values)]
            codes = np.array(places, dtype=_smallest_unsigned(len(values)))[column.codes]
            columns.append(CodedColumn(column.name, values, codes))
        else:
            columns.append(column)
    return CodedTable(tuple(columns), table.n_records)


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
    """

    names: tuple[str, ...]
    separator: str = ""
    header_lines: int = 0
    chunk_rows: tuple[int, ...] = ()
    stamp: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table's coded columns, and what its release must know.

    Attributes:
        coded: in the order of the table; values in the order of their texts, a missing one last.
        spellings: by column, of each value the way that it is written first: text, or a value of the column's type.
        respelled: columns that write a value in several ways.
        numbers: columns whose values are all numbers, and more than two, with these as float64 by code.
        times: columns of dates or times of day.
    """

    coded: CodedTable
    layout: _Layout
    spellings: dict[str, list[Any]]
    respelled: frozenset[str]
    numbers: dict[str, NDArray[np.float64]]
    times: frozenset[str] = frozenset()


def read_source(source: Any, wanted: Collection[str], options: "TableOptions") -> SourceTable:
    """Read those columns of a table, a file's name or a pandas, polars or pyarrow table, that are wanted.

    Raises:
        RecordError: a file that cannot be read, a column that the table lacks or has twice, or no record.
        TypeError: no table.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return sources.named_after(path, lambda: _read_file(path, wanted, options), RecordError)
    return _read_frame(source, wanted, options)


def file_stamp(path: Path) -> tuple[int, int]:
    """Return a file's size and time, which change where it does."""
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


def _read_file(path: Path, wanted: Collection[str], options: "TableOptions") -> SourceTable:
    if path.is_dir():
        raise RecordError("this is a folder; name a file")
    if path.exists() and not path.is_file():
        raise RecordError("a table is read twice, and this is no regular file; save it as one")
    budget = sources.Budget.within(options.memory_bytes)
    with open_table(path, wanted, options.separator, options.progress) as table:
        if isinstance(table, CsvTable):
            return _read_csv(table, wanted, options, budget, file_stamp(path))
        return _read_parquet(table, wanted, options, budget, file_stamp(path))


def _places(names: Sequence[str], wanted: Collection[str], where: str) -> list[int]:
    """Return the places of the wanted columns, rising. A name of the table's own is never shown: it may be a value."""
    lacking = [name for name in wanted if name not in names]
    if lacking:
        raise RecordError(
            f"{where} lacks {'column' if len(lacking) == 1 else 'columns'} {', '.join(lacking)}; it must name its "
            "columns as the templates and class_column do, letter for letter, and has "
            f"{counted(len(names), 'name')}"
        )
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise RecordError(f"{where} has column {twice[0]} twice; names must differ")
    return sorted(names.index(name) for name in wanted)


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


def _source(coders: list[_Coder], layout: _Layout, quoted: bool = False) -> SourceTable:
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


def _read_csv(
    table: CsvTable, wanted: Collection[str], options: "TableOptions", budget: sources.Budget, stamp: tuple[int, int]
) -> SourceTable:
    if table.text.is_converted:
        raise RecordError("only UTF-8 text and Parquet are released as they are written; save the table as “CSV UTF-8”")
    places = _places(table.names, wanted, table.where)
    coders = [_Coder(table.names[place], options.cells.missing) for place in places]
    quoted = False
    rows = []
    for part in table.map(lambda part: part, places, budget):
        quoted |= part.has_quotes
        rows.append(len(part.columns[0]))
        for coder, column in zip(coders, part.columns, strict=True):
            coder.add(column)
    return _source(coders, _Layout(table.names, table.separator, table.skip, tuple(rows), stamp), quoted)


# ---- Parquet


def _read_parquet(
    table: ParquetTable,
    wanted: Collection[str],
    options: "TableOptions",
    budget: sources.Budget,
    stamp: tuple[int, int],
) -> SourceTable:
    names = [name.strip() for name in table.names]
    places = _places(names, wanted, table.where)
    coders = [_Coder(names[place], options.cells.missing) for place in places]
    for coder, place in zip(coders, places, strict=True):
        coder.kind = table.schema.field(table.names[place]).type
    for part in table.map(lambda part: part, places, budget):
        _add_batch(coders, part.columns, budget.workers)
    return _source(coders, _Layout(tuple(names), stamp=stamp))


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


def _read_frame(frame: Any, wanted: Collection[str], options: "TableOptions") -> SourceTable:
    columns = frame_columns(frame)
    names = [str(column.name).strip() for column in columns]
    places = _places(names, wanted, "the table")
    coders = [_Coder(names[place], options.cells.missing) for place in places]
    arrays = [series_to_arrow(columns[place], names[place]) for place in places]
    for coder, values in zip(coders, arrays, strict=True):
        coder.kind = values.type
    _add_batch(coders, arrays)
    return _source(coders, _Layout(tuple(names)))


# ---- metadata of a release


def released_schema(schema: Any, changed: Collection[str] = ()) -> Any:
    """Return a schema without metadata, but for extension types, and what pandas needs to read index and dtypes.

    Columns that were ``changed`` hold text now, and are described as such.
    """
    fields = []
    for column in schema:
        known = {} if column.name in changed else column.metadata or {}
        kept = {key: value for key, value in known.items() if key.startswith(_EXTENSION)}
        fields.append(column.with_metadata(kept or None))
    said = _of_pandas((schema.metadata or {}).get(_PANDAS), changed)
    return pa.schema(fields, None if said is None else {_PANDAS: json.dumps(said).encode()})


def released_frame(frame: Any, changed: Collection[str] = ()) -> Any:
    """Return a pandas, polars or pyarrow table without metadata, as :func:`released_schema`."""
    if hasattr(frame, "attrs"):
        frame = frame.copy(deep=False)
        frame.attrs = {}
    return frame.cast(released_schema(frame.schema, changed)) if hasattr(frame, "replace_schema_metadata") else frame


def _of_pandas(text: bytes | None, changed: Collection[str]) -> dict[str, Any] | None:
    if text is None:
        return None
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # nobody says that pandas wrote it
        kept = {key: value for key, value in json.loads(text).items() if key in _OF_PANDAS}
        return kept | {
            "index_columns": kept["index_columns"],
            "columns": [
                one | _TEXT_TYPE if one["field_name"] in changed and one["pandas_type"] not in _OF_TEXT else one
                for one in kept["columns"]
            ],
        }
    return None


# ---- intervals


@dataclass(frozen=True, slots=True)
class Binning:
    """Which columns of numbers become intervals: all of ``everywhere``'s method, or some by name; or stay categories.

    A method is a number of intervals of about equally many records, or ``entropy``.
    """

    everywhere: Method | None = None
    columns: Mapping[str, Method] | None = None
    categories: frozenset[str] = frozenset()

    def method(self, column: str) -> Method | None:
        """Return how a column is binned, None if it is not."""
        named = (self.columns or {}).get(column)
        return named if named is not None or column in self.categories else self.everywhere

    @property
    def named(self) -> set[str]:
        """All columns that are named."""
        return {*(self.columns or {}), *self.categories}


def read_binning(bins: Any, categories: str | Collection[str] = ()) -> Binning:
    """Return what is meant by a number or ``entropy``, a mapping of these by column, or texts as ``5`` and ``age=5``.

    Raises:
        TemplateError: it is neither, or a column is binned and a category.

    >>> read_binning(["entropy", "age=4"]).method("age"), read_binning(3).method("age")
    (4, 3)
    """
    kept = frozenset([categories] if isinstance(categories, str) else categories)
    if bins is None:
        return Binning(categories=kept)
    if isinstance(bins, Mapping):
        pairs: list[tuple[str | None, Any]] = [(str(column), method) for column, method in bins.items()]
    else:
        words = bins if isinstance(bins, list | tuple) else [bins]
        pairs = [_pair(word) for word in words]
    everywhere = [_method(method) for column, method in pairs if column is None]
    if len(everywhere) > 1:
        raise TemplateError("bins: one number of intervals, or entropy, for all columns; others by name, as age=5")
    columns = {column: _method(method) for column, method in pairs if column is not None}
    if both := kept & set(columns):
        raise TemplateError(f"column {min(both)} is to be binned and to be a category; choose one")
    return Binning(everywhere[0] if everywhere else None, columns, kept)


def _pair(word: Any) -> tuple[str | None, Any]:
    if not isinstance(word, str):
        return None, word
    column, mark, method = word.rpartition("=")
    return (column.strip() if mark else None), method.strip()


def _method(method: Any) -> Method:
    if method == ENTROPY:
        return ENTROPY
    if isinstance(method, str) and method.isascii() and method.isdigit() and len(method) < 6:
        method = int(method)
    if isinstance(method, bool) or not isinstance(method, int) or not 1 < method <= _MOST_BINS:
        raise TemplateError(
            f"bins must be a number of intervals from 2 to {_MOST_BINS:,}, or entropy, as 8 or age=entropy"
        )
    return method


def bin_columns(
    source: SourceTable, channels: Sequence[str], masking: Collection[str], binning: Binning, class_column: str | None
) -> tuple[SourceTable, dict[str, tuple[str, ...]]]:
    """Return the table with its columns of numbers binned as asked, and the intervals by column.

    Args:
        source: the table.
        channels: columns that stand in a channel.
        masking: those of them that may be suppressed: only these are binned.
        binning: what is asked for.
        class_column: whose entropy decides.

    Raises:
        TemplateError: a column of numbers or times in a channel that nothing is said of, or one that cannot be binned.
    """
    for name in sorted(binning.named - set(channels)):
        raise TemplateError(f"column {name} stands in no channel; take it out of bins= or category=")
    columns, labels = [], {}
    for column in source.coded.columns:
        method = binning.method(column.name) if column.name in masking and column.name in source.numbers else None
        if column.name in channels and method is None:
            _check_category(source, column.name, binning, column.name in masking)
        if method is not None:
            binned, labels[column.name] = _binned(source, column, method, class_column)
        columns.append(column if method is None else binned)
    if binning.everywhere is not None and not set(labels) - set(binning.columns or {}):
        raise TemplateError(
            f"bins={binning.everywhere} is of no use: no further column of a channel holds numbers to be "
            "binned; leave it out"
        )
    coded = CodedTable(tuple(columns), source.coded.n_records)
    return replace(source, coded=coded, respelled=source.respelled | set(labels)), labels


def _check_category(source: SourceTable, name: str, binning: Binning, is_masking: bool) -> None:
    if name in (binning.columns or {}):
        why = "it holds no three numbers and nothing else" if is_masking else "it is sensitive in another template"
        raise TemplateError(
            f"column {name} cannot be binned: {why}; if a word stands for missing values, name it with missing="
        )
    if name in binning.categories or (name not in source.numbers and name not in source.times):
        return
    what = "numbers" if name in source.numbers else "times"
    category = f"category={name} takes each of them as a category"
    bins = (
        "pass bins= (a number of intervals, or entropy) to release intervals; "
        if what == "numbers" and is_masking
        else ""
    )
    raise TemplateError(f"column {name} of a channel holds {what}; {bins}{category}")


def _binned(
    source: SourceTable, column: CodedColumn, method: Method, class_column: str | None
) -> tuple[CodedColumn, tuple[str, ...]]:
    numbers = source.numbers[column.name]
    written = np.flatnonzero(~np.isnan(numbers))
    distinct, places = np.unique(numbers[written], return_inverse=True)
    if method == ENTROPY:
        if class_column is None:
            raise TemplateError("bins='entropy' needs a class (class_column); or pass a number of intervals")
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
