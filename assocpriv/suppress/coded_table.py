"""The owner's table as integer codes, the input of suppression.

The columns that templates and the class name are read from CSV, Parquet and frames, in batches. A value is its cell's
text without surrounding blanks; a missing cell is a separate value. A table may write one value in several ways ("x"
and " x", with or without quotes). Such columns are written in one spelling when released, because the spelling would
disclose more than the counted values. In a column whose values are all numbers, except missing ones, equal numbers are
one value (10, 10.0, 1e1, 010) and are released in their plainest spelling. So counts of numbers and counts of texts
give the same shares.

A release has the cells only. Metadata are not released because no check covers them, and they may hold raw values:
levels of a factor, notes, ``attrs`` of pandas. A pandas index is a column.

Columns of numbers become intervals with about equal numbers of records, so that they can be in a channel. Intervals are
counted like any other value; no guarantee depends on how they were chosen.
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
from assocpriv.guarantees.errors import RecordError, TemplateError, pluralize
from assocpriv.records import basket_sources
from assocpriv.records import columns as tabular
from assocpriv.records.table_files import TableOptions, all_numbers, explain_words_among_numbers, read_numbers
from assocpriv.suppress.inference_templates import ConfidenceBound

_RECORD_BYTES = 48  # per record while groups are found and rows shuffled, plus two per column
_VALUE_BYTES = 400  # per distinct value while it is coded, plus its text
CATEGORY, DROP = "category", "drop"
ColumnHandling = Mapping[str, int | str]  # the handling of columns by name, and of all others by ""
MARKS = ("*", "**", "***", "(hidden)", "(withheld)")  # for hidden cells
_MAX_BINS = 1000
_WEIGHTS = frozenset(("count", "counts", "n", "freq", "frequency", "weight", "weights"))


# ---- columns of codes


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of categories.

    ``values`` are the distinct texts of the cells without surrounding blanks, in any order; None is a missing cell, a
    separate value. ``codes`` has the place of each record's cell among the values, shape (n,), of the smallest unsigned
    type.
    """

    name: str
    values: tuple[str | None, ...]
    codes: NDArray[np.unsignedinteger]

    def has(self, value: str | None) -> NDArray[np.bool_]:
        """Return for each record whether it has a value, bool (n,)."""
        return np.take(np.array([each == value for each in self.values], dtype=np.bool_), self.codes)


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """The columns of a table that templates or the class name, in the table's order, and the number of records."""

    columns: tuple[CodedColumn, ...]
    n_records: int

    def column(self, name: str) -> CodedColumn:
        """Return a column by its name; TemplateError if the table lacks it."""
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
    """Return the key that sorts values as text, a missing value last."""
    return value is None, value or ""


def hide(column: CodedColumn, hidden: NDArray[np.bool_], mark: str) -> CodedColumn:
    """Return a column with the mark, a separate value, in place of hidden cells.

    >>> column = CodedColumn("Job", ("Clerk", "Cook"), np.array([1, 0, 1], dtype=np.uint8))
    >>> shown = hide(column, np.array([True, False, False]), "*")
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
    """A table's coded columns, and facts needed for its release.

    Attributes:
        coded: columns in the order of the table; values in the order of their texts, a missing one last.
        names: names of all columns, without surrounding blanks.
        spellings: by column, the first spelling of each value: text, or a value of the column's type.
        respelled: columns that write a value in several ways.
        numbers: columns of more than two values, all numbers, with these as float64 by code.
        times: columns of dates or times of day.
        identifying: columns, not named in the request, whose values are all different, so that they identify the row.
        weights: columns that may give the number of people of a row, by their names and numbers.
        separator, sheet: separator of text cells, and sheet of a workbook; empty for other tables.
        stamp: size and time of the file, to detect a change before the second reading.
    """

    coded: CodedTable
    names: tuple[str, ...]
    spellings: dict[str, list[Any]]
    respelled: frozenset[str]
    numbers: dict[str, NDArray[np.float64]]
    times: frozenset[str]
    identifying: tuple[str, ...]
    weights: tuple[str, ...] = ()
    separator: str = ""
    sheet: str = ""
    stamp: tuple[int, int] = (0, 0)


def read_source(source: Any, wanted: Collection[str], handling: ColumnHandling, options: TableOptions) -> SourceTable:
    """Read the wanted columns of a table: a file, or a pandas, polars or pyarrow table.

    Columns that are neither wanted nor dropped are read until a value occurs twice.

    Raises:
        RecordError: a file that cannot be read, a column that the table lacks or has twice, or a table without records.
        TypeError: not a table.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return basket_sources.prefix_errors(path, lambda: _read_file(path, wanted, handling, options), RecordError)
    columns = tabular.frame_columns(source)
    names = [str(column.name).strip() for column in columns]
    places, others = _places(names, wanted, [name for name, how in handling.items() if how == DROP], "the table")
    arrays = [tabular.series_to_arrow(columns[place], names[place]) for place in places]
    coders = _coders([names[place] for place in places], [each.type for each in arrays], handling, options)
    for coder, values in zip(coders, arrays, strict=True):
        coder.add(_encoded(values, coder.name))
    rest = {names[place]: tabular.series_to_arrow(columns[place], names[place]) for place in others}
    identifying = [name for name, values in rest.items() if _all_differ(values, name)]
    weights = tuple(name for name, values in rest.items() if _is_weight(name, values))
    return _source(coders, names, identifying, weights=weights)


def file_stamp(path: Path) -> tuple[int, int]:
    """Return a file's size and modification time, which show a change."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _read_file(path: Path, wanted: Collection[str], handling: ColumnHandling, options: TableOptions) -> SourceTable:
    if path.exists() and not path.is_file() and not path.is_dir():
        raise RecordError("a table is read twice, but this is not a regular file; save it as one")
    budget = basket_sources.MemoryBudget.within(options.memory_bytes)
    # the first piece shows which columns may identify rows
    with tabular.open_table(path, wanted, options.separator, sheet=options.sheet) as table:
        names = [name.strip() for name in table.names]
        dropped = [name for name, how in handling.items() if how == DROP]
        places, others = _places(names, wanted, dropped, table.where)
        first = next(table.map(lambda part: part.columns, others, budget), []) if others else []
        book = table.text.sheets if isinstance(table, tabular.CsvTable) else None
        sheet = book.selection if book else None
        weights = [names[at] for at, values in zip(others, first, strict=False) if _is_weight(names[at], values)]
        others = [place for place, values in zip(others, first, strict=False) if _all_differ(values, names[place])]
    stamp, identifying = file_stamp(path), set(others)
    with tabular.open_table(path, wanted, options.separator, options.progress, sheet) as table:
        schema = None if isinstance(table, tabular.CsvTable) else table.schema
        kinds = [None if schema is None else schema.field(table.names[at]).type for at in places]
        coders = _coders([names[place] for place in places], kinds, handling, options)

        def encode(part: tabular.Rows) -> tuple[list[Any], list[Any]]:
            rest = zip(others, part.columns[len(places) :], strict=True)
            encoded = [_encoded(values, each.name) for values, each in zip(part.columns, coders, strict=False)]
            return encoded, [_all_differ(values, names[place]) for place, values in rest]

        for encoded, differ in table.map(encode, [*places, *others], budget):
            identifying -= {place for place, differs in zip(others, differ, strict=True) if not differs}
            for coder, values in zip(coders, encoded, strict=True):
                coder.add(values)
            rows, values = coders[0].rows, sum(coder.n_bytes for coder in coders)
            allowed = options.memory_bytes
            if allowed is not None and rows * (_RECORD_BYTES + 2 * len(coders)) + values > allowed:
                raise RecordError(
                    f"the first {rows:,} records need more than the {allowed >> 20:,} MiB allowed; raise memory_bytes"
                )
        return _source(
            coders,
            names,
            [names[place] for place in sorted(identifying)],
            weights=tuple(weights),
            separator=getattr(table, "separator", ""),
            sheet=sheet or "",
            stamp=stamp,
        )


def _places(
    names: Sequence[str], wanted: Collection[str], dropped: Collection[str], where: str
) -> tuple[list[int], list[int]]:
    """Return the increasing places of the wanted columns, and of the columns that the request does not name.

    Errors never show names from the table: a name may be a value.
    """
    named = [*wanted, *dropped]
    lacking = [name for name in named if name not in names]
    if lacking:
        raise RecordError(
            f"{where} lacks {'column' if len(lacking) == 1 else 'columns'} {', '.join(lacking)}; its column names must "
            "equal those of the templates and class_column, letter for letter; it has "
            f"{pluralize(len(names), 'name')}"
        )
    twice = [name for name in named if names.count(name) > 1]
    if twice:
        raise RecordError(f"{where} has column {twice[0]} twice; names must differ")
    others = [place for place, name in enumerate(names) if name not in named]
    return sorted(names.index(name) for name in wanted), others


def _all_differ(values: Any, name: str) -> bool:
    codes = _encoded(values, name).indices
    return 1 < len(codes) == len(pc.unique(codes))


def _is_weight(name: str, values: Any) -> bool:
    """Return whether a column's name and its whole numbers above 0 suggest numbers of people per row."""
    if name.casefold() not in _WEIGHTS:
        return False
    texts = {str(value).strip() for value in _encoded(values, name).dictionary.to_pylist() if value is not None}
    numbers = read_numbers(texts)
    return len(texts) == len(numbers) > 0 and all(0 < each == each.to_integral_value() for each in numbers.values())


# ---- coding


def _coders(
    names: Sequence[str], kinds: Sequence[Any], handling: ColumnHandling, options: TableOptions
) -> list["_Coder"]:
    missing, columns = options.cells.missing, zip(names, kinds, strict=True)
    return [_Coder(name, missing, kind, handling.get(name) == CATEGORY) for name, kind in columns]


@dataclass(slots=True)
class _Coder:
    """Assigns codes to the values of one column, in the order of occurrence."""

    name: str
    missing: frozenset[str]
    kind: Any = None
    is_category: bool = False  # each text is a separate value, even if it writes a number
    codes: dict[Any, int] = field(default_factory=dict)  # by spelling
    texts: dict[str | None, int] = field(default_factory=dict)
    spellings: list[Any] = field(default_factory=list)
    parts: list[NDArray[Any]] = field(default_factory=list)
    respelled: bool = False
    rows: int = 0
    n_bytes: int = 0  # size of its values

    def add(self, encoded: Any) -> None:
        """Add the cells of an Arrow dictionary array."""
        places = [self._code(value) for value in encoded.dictionary.to_pylist()]
        indices = encoded.indices
        if indices.null_count:
            places.append(self._code(None))
            indices = indices.fill_null(len(places) - 1)
        table = np.array(places or [0], dtype=_smallest_unsigned(len(self.texts)))
        self.parts.append(table[indices.to_numpy(zero_copy_only=False)])
        self.rows += len(indices)

    def _code(self, value: Any) -> int:
        # separate spellings: NaN and null, 0.0 and -0.0
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
        """Return the column with sorted values, their spellings, and their numbers if all are numbers."""
        read = all_numbers(self.texts)
        plain = {} if self.is_category else _plain_spellings(read)
        values = sorted({plain.get(text, text) for text in self.texts} if plain else self.texts, key=text_order)
        self.respelled |= len(values) < len(self.texts)
        new = {value: code for code, value in enumerate(values)}
        places = np.array([new[plain.get(text, text)] for text in self.texts], dtype=_smallest_unsigned(len(values)))
        codes = np.concatenate([places[part] for part in self.parts] or [places[:0]])
        spellings = [self.spellings[self.texts[value]] for value in values]
        return CodedColumn(self.name, tuple(values), codes), spellings, value_numbers(values, read)


def _source(coders: list[_Coder], names: Sequence[str], identifying: Sequence[str], **origin: Any) -> SourceTable:
    columns, spellings, numbers = [], {}, {}
    for coder in coders:
        column, spellings[coder.name], found = coder.column()
        columns.append(column)
        if found is not None:
            numbers[coder.name] = found
    if not coders[0].rows:
        raise RecordError("the table has no records; check that it is the right file")
    return SourceTable(
        CodedTable(tuple(columns), coders[0].rows),
        tuple(names),
        spellings,
        frozenset(coder.name for coder in coders if coder.respelled),
        numbers,
        frozenset(coder.name for coder in coders if coder.kind is not None and pa.types.is_temporal(coder.kind)),
        tuple(identifying),
        **origin,
    )


# ---- numbers


def match_spellings(bounds: Iterable[ConfidenceBound], table: CodedTable) -> tuple[ConfidenceBound, ...]:
    """Return distinct bounds with sensitive numbers as their column writes them: 1000 for a template's 1000.0."""
    found = []
    for bound in bounds:
        values = table.column(bound.column).values
        numbers = {} if bound.value in values else read_numbers([*values, bound.value])
        alike = [each for each in values if each in numbers and numbers[each] == numbers.get(bound.value)]
        found.append(replace(bound, value=alike[0]) if alike else bound)
    return tuple(dict.fromkeys(found))


def _plain_spellings(numbers: Mapping[str, Decimal]) -> dict[str | None, str]:
    """Return the plainest spelling of each text's number; nothing if all numbers differ."""
    plainest = dict[Decimal, str]()
    if len(set(numbers.values())) == len(numbers):
        return {}
    for text in sorted(numbers, key=lambda text: (not text.isdecimal(), len(text), text)):
        plainest.setdefault(numbers[text], text)
    return {text: plainest[number] for text, number in numbers.items()}


def value_numbers(values: Sequence[str | None], read: Mapping[str, Decimal]) -> NDArray[np.float64] | None:
    """Return the numbers of a column's values, NaN for a missing one; None if there are fewer than three.

    ``read`` has the number of each text. Two values are two categories, even if both are numbers.
    """
    numbers = np.array([float(read.get(text or "", math.nan)) for text in values])
    return numbers if np.isfinite(numbers).sum() > 2 else None


def _encoded(values: Any, name: str) -> Any:
    """Return a column with one value per record as an Arrow dictionary array."""
    values = tabular.to_single_array(values)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if kind.num_fields:
        raise RecordError(
            f"column {name} holds lists or records, which cannot be checked; drop it, or convert it to text"
        )
    if pa.types.is_dictionary(values.type):
        return values
    if pa.types.is_null(kind):
        values = values.cast(pa.string())
    with contextlib.suppress(pa.ArrowException):
        return values.dictionary_encode()
    raise RecordError(f"column {name} holds {kind}, which cannot be compared; convert it to text")


# ---- intervals


def read_handling(columns: Any) -> ColumnHandling:
    """Return the handling of columns, given as a number, a mapping, or texts as ``5``, ``age=5`` or ``id=drop``.

    A column's handling is a number of intervals with about equal numbers of records, ``category`` or ``drop``. The
    column ``""`` stands for all others; its handling is a number.

    Raises:
        TemplateError: another handling, or a column named twice.

    >>> read_handling(["8", "age=4"]), read_handling(3)
    ({'': 8, 'age': 4}, {'': 3})
    """
    if isinstance(columns, Mapping):
        pairs: list[tuple[str, Any]] = [(str(column), how) for column, how in columns.items()]
    else:
        words = columns if isinstance(columns, list | tuple) else [] if columns is None else [columns]
        parted = [word.rpartition("=") if isinstance(word, str) else ("", "", word) for word in words]
        pairs = [(column.strip() if mark else "", how) for column, mark, how in parted]
    if len({column for column, _ in pairs}) < len(pairs):
        raise TemplateError("columns: a column is named twice; give it one handling, and one number for all others")
    return {column: _parse_handling(how, column) for column, how in pairs}


def _parse_handling(how: Any, column: str) -> int | str:
    how = how.strip() if isinstance(how, str) else how
    if column and how in (CATEGORY, DROP):
        return str(how)
    if isinstance(how, str) and how.isascii() and how.isdigit() and len(how) < 6:
        how = int(how)
    if isinstance(how, bool) or not isinstance(how, int) or not 1 < how <= _MAX_BINS:
        raise TemplateError(
            f"columns: give a number of intervals from 2 to {_MAX_BINS:,}, or category or drop for one column, as 8, "
            "age=5 or id=drop"
        )
    return how


def bin_columns(
    source: SourceTable, channels: Collection[str], masking: Collection[str], handling: ColumnHandling
) -> tuple[SourceTable, dict[str, tuple[str, ...]]]:
    """Return the table with its columns of numbers binned as requested, and the intervals by column.

    Args:
        source: The table.
        channels: Columns in some channel.
        masking: Those of them that may be suppressed; only these are binned.
        handling: The requested handling.

    Raises:
        TemplateError: a column of numbers or times in a channel without a handling, or one that cannot be binned.
    """
    for name, how in handling.items():
        if name and name not in channels and how not in (DROP, CATEGORY):
            raise TemplateError(f"column {name} is in no channel; remove it from columns=")
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
            f"columns={handling['']} has no effect: no further column of a channel holds numbers to bin; leave it out"
        )
    coded = CodedTable(tuple(columns), source.coded.n_records)
    return replace(source, coded=coded, respelled=source.respelled | set(labels)), labels


def _check_category(source: SourceTable, name: str, handling: ColumnHandling, is_masking: bool) -> None:
    as_category = f"columns='{name}=category' treats each value as a category"
    if handling.get(name) != CATEGORY:
        column = source.coded.column(name)
        if problem := explain_words_among_numbers(column.values, column.codes, MARKS, is_required=name in handling):
            raise TemplateError(f"column {name} of a channel holds numbers, {problem}; {as_category}")
    if handling.get(name, CATEGORY) != CATEGORY:
        why = "it has fewer than three numbers" if is_masking else "it is sensitive in another template"
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
    """Return the names of the intervals between cuts; a number equal to a cut lies above it.

    >>> bin_labels([28.0, 37.5])
    ('<28', '28 to <37.5', '>=37.5')
    """
    texts = [f"{cut:.15g}" for cut in cuts]
    if not texts:
        return ("any",)
    return (f"<{texts[0]}", *(f"{low} to <{high}" for low, high in pairwise(texts)), f">={texts[-1]}")


def equal_starts(counts: NDArray[np.int64], bins: int) -> list[int]:
    """Return the places of increasing numbers at which the second and later intervals of about equal counts begin.

    >>> equal_starts(np.array([1, 1, 1, 1]), 2)
    [2]
    """
    below = np.r_[0, np.cumsum(counts)]
    shares = np.arange(1, bins) * below[-1] / bins
    after = np.searchsorted(below, shares)
    nearest = after - (shares - below[after - 1] <= below[after] - shares)
    return sorted(set(nearest.tolist()) - {0, len(counts)})
