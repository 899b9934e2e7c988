"""The owner's table as integer codes, on which suppression computes.

The columns that templates and the class name are read from CSV, Parquet and frames, in batches. A value is its cell's
text without the blanks around it; a missing cell is a value of its own. A table may write one value in several ways
("x" and " x", in quotes or not); such columns are respelled when the table is released, because the difference would
tell more than the values that were counted. In a column whose values are all numbers, missing ones aside, equal
numbers are one value, however they are written (10, 10.0, 1e1, 010), and are released in the plainest of their
spellings. A reader who counts numbers then finds the same shares as one who counts texts.

Of what a table says beside its cells a release has nothing: nobody checks metadata, and they may hold raw values:
levels of a factor, notes, ``attrs`` of pandas. An index of pandas is a column.

Columns of numbers become intervals of about equally many records, so that they may stand in a channel. Intervals decide
what is released, and are counted as any other value; no promise rests on how they were found.
"""

import contextlib
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa, pc
from assocpriv.promise.errors import RecordError, TemplateError, counted
from assocpriv.records import columns as tabular
from assocpriv.records import sources
from assocpriv.records.numbers import all_numbers, read_numbers, words_among_numbers
from assocpriv.records.tables import TableOptions
from assocpriv.suppress.templates import Bound

_RECORD_BYTES = 48  # of a record while groups are found and rows shuffled, beside two a column
_VALUE_BYTES = 400  # of a distinct value while it is coded, beside its text
CATEGORY, DROP = "category", "drop"
Handling = Mapping[str, int | str]  # what becomes of columns, by name, and of all others by ""
MARKS = ("*", "**", "***", "(hidden)", "(withheld)")  # of hidden cells
_MOST_BINS = 1000
_WEIGHTS = frozenset(("count", "counts", "n", "freq", "frequency", "weight", "weights"))


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
    (('Clerk', 'Cook'), [1, 0, 1])
    """
    texts = {name: [None if cell is None else str(cell) for cell in cells] for name, cells in columns.items()}
    table = pa.table({name: pa.array(cells, pa.string()) for name, cells in texts.items()})
    return read_source(table, columns, {}, TableOptions()).coded


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
class SourceTable:
    """A table's coded columns, and what its release must know.

    Attributes:
        coded: in the order of the table; values in the order of their texts, a missing one last.
        names: of all columns, without blanks around.
        spellings: by column, of each value the way that it is written first: text, or a value of the column's type.
        respelled: columns that write a value in several ways.
        numbers: columns whose values are all numbers, and more than two, with these as float64 by code.
        times: columns of dates or times of day.
        naming: columns that nobody named whose values are all different, so that they name the row.
        weights: columns that may say how many people a row stands for, by their names and numbers.
        separator, sheet: of the cells of text, and which sheets of a workbook; empty of other tables.
        stamp: size and time of the file, for a second reading to find it as the first did.
    """

    coded: CodedTable
    names: tuple[str, ...]
    spellings: dict[str, list[Any]]
    respelled: frozenset[str]
    numbers: dict[str, NDArray[np.float64]]
    times: frozenset[str]
    naming: tuple[str, ...]
    weights: tuple[str, ...] = ()
    separator: str = ""
    sheet: str = ""
    stamp: tuple[int, int] = (0, 0)


def read_source(source: Any, wanted: Collection[str], handling: Handling, options: TableOptions) -> SourceTable:
    """Read those columns of a table, a file's name or a pandas, polars or pyarrow table, that are wanted.

    Columns that are neither wanted nor dropped are looked at until a value occurs twice.

    Raises:
        RecordError: a file that cannot be read, a column that the table lacks or has twice, or no record.
        TypeError: no table.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return sources.named_after(path, lambda: _read_file(path, wanted, handling, options), RecordError)
    columns = tabular.frame_columns(source)
    names = [str(column.name).strip() for column in columns]
    dropped = [name for name, said in handling.items() if said == DROP]
    places, others = _places(names, wanted, dropped, "the table")
    arrays = [tabular.series_to_arrow(columns[place], names[place]) for place in places]
    coders = [
        _Coder(names[place], options.cells.missing, each.type, handling.get(names[place]) == CATEGORY)
        for place, each in zip(places, arrays, strict=True)
    ]
    for coder, values in zip(coders, arrays, strict=True):
        coder.add(_encoded(values, coder.name))
    rest = {names[place]: tabular.series_to_arrow(columns[place], names[place]) for place in others}
    naming = [name for name, values in rest.items() if _all_differ(values, name)]
    weights = tuple(name for name, values in rest.items() if _is_weight(name, values))
    return _source(coders, names, naming, weights=weights)


def file_stamp(path: Path) -> tuple[int, int]:
    """Return a file's size and time, which change where it does."""
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


def _read_file(path: Path, wanted: Collection[str], handling: Handling, options: TableOptions) -> SourceTable:
    if path.exists() and not path.is_file() and not path.is_dir():
        raise RecordError("a table is read twice, and this is no regular file; save it as one")
    budget = sources.Budget.within(options.memory_bytes)
    with tabular.open_table(
        path, wanted, options.separator, sheet=options.sheet
    ) as table:  # whose first piece shows what may name rows
        names = [name.strip() for name in table.names]
        dropped = [name for name, said in handling.items() if said == DROP]
        places, others = _places(names, wanted, dropped, table.where)
        first = next(table.map(lambda part: part.columns, others, budget), []) if others else []
        book = table.text.sheets if isinstance(table, tabular.CsvTable) else None
        sheet = book.words if book else None
        weights = [names[at] for at, values in zip(others, first, strict=False) if _is_weight(names[at], values)]
        others = [place for place, values in zip(others, first, strict=False) if _all_differ(values, names[place])]
    stamp, naming = file_stamp(path), set(others)
    with tabular.open_table(path, wanted, options.separator, options.progress, sheet) as table:
        kinds = [
            None if isinstance(table, tabular.CsvTable) else table.schema.field(table.names[at]).type for at in places
        ]
        coders = [
            _Coder(names[place], options.cells.missing, kind, handling.get(names[place]) == CATEGORY)
            for place, kind in zip(places, kinds, strict=True)
        ]

        def encode(part: tabular.Rows) -> tuple[list[Any], list[Any]]:
            return [_encoded(values, each.name) for values, each in zip(part.columns, coders, strict=False)], [
                _all_differ(values, names[place])
                for place, values in zip(others, part.columns[len(places) :], strict=True)
            ]

        for encoded, differ in table.map(encode, [*places, *others], budget):
            naming -= {place for place, differs in zip(others, differ, strict=True) if not differs}
            for coder, values in zip(coders, encoded, strict=True):
                coder.add(values)
            rows, values = coders[0].rows, sum(coder.n_bytes for coder in coders)
            allowed = options.memory_bytes
            if allowed is not None and rows * (_RECORD_BYTES + 2 * len(coders)) + values > allowed:
                raise RecordError(
                    f"the first {rows:,} records take more than the {allowed >> 20:,} MiB allowed; raise memory_bytes"
                )
        return _source(
            coders,
            names,
            [names[place] for place in sorted(naming)],
            weights=tuple(weights),
            separator=getattr(table, "separator", ""),
            sheet=sheet or "",
            stamp=stamp,
        )


def _places(
    names: Sequence[str], wanted: Collection[str], dropped: Collection[str], where: str
) -> tuple[list[int], list[int]]:
    """Return the places of the wanted columns, rising, and of those that nobody named.

    A name of the table's own is never shown: it may be a value.
    """
    named = [*wanted, *dropped]
    lacking = [name for name in named if name not in names]
    if lacking:
        raise RecordError(
            f"{where} lacks {'column' if len(lacking) == 1 else 'columns'} {', '.join(lacking)}; it must name its "
            "columns as the templates and class_column do, letter for letter, and has "
            f"{counted(len(names), 'name')}"
        )
    twice = [name for name in named if names.count(name) > 1]
    if twice:
        raise RecordError(f"{where} has column {twice[0]} twice; names must differ")
    return sorted(names.index(name) for name in wanted), [
        place for place, name in enumerate(names) if name not in named
    ]


def _all_differ(values: Any, name: str) -> bool:
    codes = _encoded(values, name).indices
    return 1 < len(codes) == len(pc.unique(codes))


def _is_weight(name: str, values: Any) -> bool:
    """Return whether a column's name and whole numbers above 0 may say how many people a row stands for."""
    if name.casefold() not in _WEIGHTS:
        return False
    texts = {str(value).strip() for value in _encoded(values, name).dictionary.to_pylist() if value is not None}
    numbers = read_numbers(texts)
    return len(texts) == len(numbers) > 0 and all(0 < each == each.to_integral_value() for each in numbers.values())


# ---- coding


@dataclass(slots=True)
class _Coder:
    """Gives the values of one column codes, in the order in which they are met."""

    name: str
    missing: frozenset[str]
    kind: Any = None
    is_category: bool = False  # each text is a value of its own, also where it writes a number
    codes: dict[Any, int] = field(default_factory=dict)  # of what is written
    texts: dict[str | None, int] = field(default_factory=dict)
    spellings: list[Any] = field(default_factory=list)
    parts: list[NDArray[Any]] = field(default_factory=list)
    respelled: bool = False
    rows: int = 0
    n_bytes: int = 0  # of its values

    def add(self, encoded: Any) -> None:
        """Add cells that Arrow holds as a dictionary."""
        places = [self._code(value) for value in encoded.dictionary.to_pylist()]
        indices = encoded.indices
        if indices.null_count:
            places.append(self._code(None))
            indices = indices.fill_null(len(places) - 1)
        table = np.array(places or [0], dtype=_smallest_unsigned(len(self.texts)))
        self.parts.append(table[indices.to_numpy(zero_copy_only=False)])
        self.rows += len(indices)

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
            self.n_bytes += _VALUE_BYTES + 2 * len(text or "")
        return code

    def _text(self, value: Any) -> str | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        text = "" if missing else str(value).strip()
        return None if not text or text in self.missing else text

    def column(self) -> tuple[CodedColumn, list[Any], NDArray[np.float64] | None]:
        """Return the column with its values sorted, their spellings, and their numbers if all are such."""
        read = all_numbers(self.texts)
        plain = {} if self.is_category else _plain_spellings(read)
        values = sorted({plain.get(text, text) for text in self.texts} if plain else self.texts, key=text_order)
        self.respelled |= len(values) < len(self.texts)
        new = {value: code for code, value in enumerate(values)}
        places = np.array([new[plain.get(text, text)] for text in self.texts], dtype=_smallest_unsigned(len(values)))
        codes = np.concatenate([places[part] for part in self.parts] or [places[:0]])
        spellings = [self.spellings[self.texts[value]] for value in values]
        return CodedColumn(self.name, tuple(values), codes), spellings, value_numbers(values, read)


def _source(
    coders: list[_Coder],
    names: Sequence[str],
    naming: Sequence[str],
    **origin: Any,
) -> SourceTable:
    columns, spellings, numbers = [], {}, {}
    for coder in coders:
        column, spellings[coder.name], found = coder.column()
        columns.append(column)
        if found is not None:
            numbers[coder.name] = found
    if not coders[0].rows:
        raise RecordError("the table has no records; check that it is the right one")
    return SourceTable(
        CodedTable(tuple(columns), coders[0].rows),
        tuple(names),
        spellings,
        frozenset(coder.name for coder in coders if coder.respelled),
        numbers,
        frozenset(coder.name for coder in coders if coder.kind is not None and pa.types.is_temporal(coder.kind)),
        tuple(naming),
        **origin,
    )


# ---- numbers


def as_written(bounds: Iterable[Bound], table: CodedTable) -> tuple[Bound, ...]:
    """Return bounds, each once, with a sensitive number as its column writes it: 1000 where a template says 1000.0."""
    found = []
    for bound in bounds:
        values = table.column(bound.column).values
        numbers = {} if bound.value in values else read_numbers([*values, bound.value])
        alike = [each for each in values if each in numbers and numbers[each] == numbers.get(bound.value)]
        found.append(replace(bound, value=alike[0]) if alike else bound)
    return tuple(dict.fromkeys(found))


def _plain_spellings(numbers: Mapping[str, Decimal]) -> dict[str | None, str]:
    """Return the plainest text that writes the same number, of each; nothing if all numbers differ."""
    plainest = dict[Decimal, str]()
    if len(set(numbers.values())) == len(numbers):
        return {}
    for text in sorted(numbers, key=lambda text: (not text.isdecimal(), len(text), text)):
        plainest.setdefault(numbers[text], text)
    return {text: plainest[number] for text, number in numbers.items()}


def value_numbers(values: Sequence[str | None], read: Mapping[str, Decimal]) -> NDArray[np.float64] | None:
    """Return the numbers of a column's values, ``read`` of them all, NaN for a missing one; None if they are not three.

    Two values are two categories, however they are written.
    """
    numbers = np.array([float(read.get(text or "", math.nan)) for text in values])
    return numbers if np.isfinite(numbers).sum() > 2 else None


def _encoded(values: Any, name: str) -> Any:
    """Return a column of one value a record as a dictionary."""
    values = tabular.whole_array(values)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if kind.num_fields:
        raise RecordError(f"column {name} holds lists or records, which are not checked; drop it, or make it text")
    if pa.types.is_dictionary(values.type):
        return values
    if pa.types.is_null(kind):
        values = values.cast(pa.string())
    with contextlib.suppress(pa.ArrowException):
        return values.dictionary_encode()
    raise RecordError(f"column {name} holds {kind}, which cannot be compared; convert it to text")


# ---- intervals


def read_handling(columns: Any) -> Handling:
    """Return what becomes of columns, as a number, a mapping by column, or texts as ``5``, ``age=5``, ``id=drop`` say.

    Of a column a number of intervals of about equally many records is said, ``category`` or ``drop``; of the column
    ``""``, which is all others, a number.

    Raises:
        TemplateError: it says neither.

    >>> read_handling(["8", "age=4"]), read_handling(3)
    ({'': 8, 'age': 4}, {'': 3})
    """
    if isinstance(columns, Mapping):
        pairs: list[tuple[str, Any]] = [(str(column), said) for column, said in columns.items()]
    else:
        words = columns if isinstance(columns, list | tuple) else [] if columns is None else [columns]
        parted = [word.rpartition("=") if isinstance(word, str) else ("", "", word) for word in words]
        pairs = [(column.strip() if mark else "", said) for column, mark, said in parted]
    if len({column for column, _ in pairs}) < len(pairs):
        raise TemplateError("columns: a column is named twice; say one thing of it, and one number for all others")
    return {column: _said(said, column) for column, said in pairs}


def _said(said: Any, column: str) -> int | str:
    said = said.strip() if isinstance(said, str) else said
    if column and said in (CATEGORY, DROP):
        return str(said)
    if isinstance(said, str) and said.isascii() and said.isdigit() and len(said) < 6:
        said = int(said)
    if isinstance(said, bool) or not isinstance(said, int) or not 1 < said <= _MOST_BINS:
        raise TemplateError(
            f"columns: say a number of intervals from 2 to {_MOST_BINS:,}, or of one column category or drop, as 8, "
            "age=5 or id=drop"
        )
    return said


def bin_columns(
    source: SourceTable, channels: Collection[str], masking: Collection[str], handling: Handling
) -> tuple[SourceTable, dict[str, tuple[str, ...]]]:
    """Return the table with its columns of numbers binned as asked, and the intervals by column.

    Args:
        source: the table.
        channels: columns that stand in a channel.
        masking: those of them that may be suppressed: only these are binned.
        handling: what is asked for.

    Raises:
        TemplateError: a column of numbers or times in a channel that nothing is said of, or one that cannot be binned.
    """
    for name, said in handling.items():
        if name and name not in channels and said not in (DROP, CATEGORY):
            raise TemplateError(f"column {name} stands in no channel; take it out of columns=")
    columns, labels = [], {}
    for column in source.coded.columns:
        bins = handling.get(column.name, handling.get("")) if column.name in masking else None
        if isinstance(bins, int) and column.name in source.numbers:
            column, labels[column.name] = _binned(column, source.numbers[column.name], bins)  # noqa: PLW2901
        elif column.name in channels:
            _check_category(source, column.name, handling, column.name in masking)
        columns.append(column)
    if "" in handling and not set(labels) - set(handling):
        raise TemplateError(
            f"columns={handling['']} is of no use: no further column of a channel holds numbers to be "
            "binned; leave it out"
        )
    coded = CodedTable(tuple(columns), source.coded.n_records)
    return replace(source, coded=coded, respelled=source.respelled | set(labels)), labels


def _check_category(source: SourceTable, name: str, handling: Handling, is_masking: bool) -> None:
    as_category = f"columns='{name}=category' takes each value as a category"
    if handling.get(name) != CATEGORY:
        column = source.coded.column(name)
        if said := words_among_numbers(column.values, column.codes, MARKS, is_asked=name in handling):
            raise TemplateError(f"column {name} of a channel holds numbers, {said}; {as_category}")
    if handling.get(name, CATEGORY) != CATEGORY:
        why = "it holds no three numbers" if is_masking else "it is sensitive in another template"
        raise TemplateError(f"column {name} cannot be binned: {why}; {as_category}")
    if name in handling or (name not in source.numbers and name not in source.times):
        return
    what = "numbers" if name in source.numbers else "times"
    bins = f"columns='{name}=8' releases 8 intervals of them; " * (what == "numbers" and is_masking)
    raise TemplateError(f"column {name} of a channel holds {what}; {bins}{as_category}")


def _binned(column: CodedColumn, numbers: NDArray[np.float64], bins: int) -> tuple[CodedColumn, tuple[str, ...]]:
    written = np.flatnonzero(~np.isnan(numbers))
    distinct, places = np.unique(numbers[written], return_inverse=True)
    counts = np.bincount(column.codes, minlength=len(column.values))[written]
    starts = equal_starts(np.bincount(places, counts).astype(np.int64), bins)
    labels = bin_labels(distinct[starts].tolist())
    values = (*labels, None) if len(written) < len(column.values) else labels
    codes = np.full(len(column.values), len(labels), dtype=_smallest_unsigned(len(values)))  # no number: missing
    codes[written] = np.searchsorted(starts, places, side="right")
    return CodedColumn(column.name, values, codes[column.codes]), labels


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
