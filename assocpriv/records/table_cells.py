"""Values of a table -> inputs of a plan's columns: one value, or a column of many that Arrow holds.

A number's input is the cell that it lies in, a category's its place among the column's values, a missing value's the
number of inputs. Both ways give the same input for the same value. Raw values appear in no error.
"""

import json
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import array_to_numpy
from assocpriv.plans.columns import MOST_NAME, CategoryColumn, Column, NumericColumn
from assocpriv.plans.tree_model import CategoryInput
from assocpriv.promise.errors import RecordError, counted
from assocpriv.records.csv_rows import EMPTY_NUMBERS

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[-+]?inf(?:inity)?", re.ASCII | re.I)
_NO_NUMBER = re.compile(r"[-+]?nan(?:\([0-9a-z_]*\))?", re.ASCII | re.I)  # as Arrow reads numbers of whole columns
_UNSEEN = -1
_BEYOND_NAMES = 10**MOST_NAME  # has more digits than a value's name


# ---- one value


def read_value(value: Any, column: Column) -> int:
    """Return the input of a raw value; None and NaN are missing.

    Raises:
        RecordError: the value is not the column's; it is not named.
    """
    if _is_missing(value):
        if not column.optional:
            raise RecordError(
                f"column {column.name} has no value; set optional = true in its schema if one may be missing"
            )
        return column.inputs
    if isinstance(column, NumericColumn):
        return _read_number(value, column)
    assert isinstance(column, CategoryColumn)
    place = place_of(value, column)
    if place < 0:
        raise RecordError(f"column {column.name} has a value that is none of its {len(column.values)} values")
    return place


def _is_missing(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _read_number(value: Any, column: NumericColumn) -> int:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise RecordError(f"column {column.name} takes numbers, got a {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    cell = column.cell_of(number)
    if cell is None:
        raise RecordError(f"column {column.name} has a value outside its range; clip it, or widen low and high")
    return cell


def parse_record(text: bytes) -> dict[str, Any]:
    """Return the record that one JSON object writes, ``{"age": 34, "region": "north"}``; null is a missing value.

    Raises:
        RecordError: text that is no JSON object in UTF-8, or with a column given twice; it is not shown.
    """
    try:
        record = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_without_doubles, parse_constant=_no_number)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise RecordError(
            'a record must be one JSON object in UTF-8, each column once, as {"age": 34, "region": "north"}; null is a '
            "missing value"
        )
    return record


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _no_number(_word: str) -> None:
    raise ValueError  # NaN and Infinity are no JSON


def place_of(value: Any, column: CategoryColumn | CategoryInput) -> int:
    """Return a value's place among a column's, −1 if it is none of them; numbers and truths are taken as text.

    >>> from assocpriv.plans.columns import Clear
    >>> column = CategoryColumn("smokes", Clear(2), False, ("true", "2"))
    >>> place_of(True, column), place_of(2.0, column), place_of(" 2", column), place_of("no", column)
    (0, 1, 1, -1)
    """
    texts: tuple[str, ...] = ()
    if isinstance(value, str):
        texts = (value.strip(),)
    elif isinstance(value, bool | np.bool_):
        texts = (str(value).lower(), str(value))
    elif isinstance(value, int | np.integer) or (isinstance(value, float | np.floating) and value.is_integer()):
        texts = (str(number),) if abs(number := int(value)) < _BEYOND_NAMES else ()
    return next((column.values.index(text) for text in texts if text in column.values), _UNSEEN)


# ---- a column of many


@dataclass(slots=True)
class Found:
    """What was met in one column's cells: how many lie outside its range or are missing, and what cannot be taken.

    ``problems`` has for each kind how many cells and the line, or row, of the first one.
    """

    outside: int = 0
    missing: int = 0
    problems: dict[str, tuple[int, int]] = field(default_factory=dict)

    def refuse(self, problem: str, rows: NDArray[Any], line: Callable[[int], int]) -> None:
        """Count rows, if there are any, as a problem."""
        if len(rows):
            self.problems[problem] = (len(rows), line(int(rows[0])))

    def add(self, later: "Found") -> None:
        """Add what was met in the cells that follow."""
        self.outside += later.outside
        self.missing += later.missing
        for problem, (count, first) in later.problems.items():
            before, earlier = self.problems.get(problem, (0, first))
            self.problems[problem] = (before + count, earlier)


_REMEDIES = {
    "unreadable": (
        "no number",
        "write numbers as 1234.5, dates as numbers too; if a word stands for missing values name it with missing= "
        "(--missing)",
    ),
    "missing": ("no value", "leave such records out; a plan made from a schema takes them with optional = true there"),
    "outside": (
        "a value outside its range",
        "pass clip=True (--clip) to move such values to the range's ends, or widen low and high in the schema; a plan "
        "without a schema takes all numbers but infinite ones",
    ),
    "unseen": (
        "a value that is none of the plan's",
        "correct the data, or make a plan that lists it; if a word stands for missing values name it with missing= "
        "(--missing)",
    ),
}


def refuse_problems(columns: Collection[Column], found: Collection[Found], word: str) -> None:
    """Raise RecordError for what cannot be taken, if anything; ``word`` is the source's for a record's place."""
    wrong = [(column, each) for column, each in zip(columns, found, strict=True) if each.problems]
    if not wrong:
        return
    column, each = min(wrong, key=lambda pair: min(first for _, first in pair[1].problems.values()))
    problem, (count, first) = min(each.problems.items(), key=lambda item: item[1][1])
    what, remedy = _REMEDIES[problem]
    others = f" ({counted(len(wrong) - 1, 'further column')} cannot be taken either)" if len(wrong) > 1 else ""
    raise RecordError(
        f"column {column.name} has {what} in {counted(count, 'record')}, first in {word} {first:,}{others}; {remedy}"
    )


@dataclass(frozen=True, slots=True)
class CellOptions:
    """How cells are taken.

    Attributes:
        clip: values outside a range move to its ends.
        missing: words that stand for missing values.
        written: numbers are written as text, as in CSV; elsewhere text is no number.
    """

    clip: bool = False
    missing: frozenset[str] = frozenset()
    written: bool = False


def column_inputs(
    values: Any, column: Column, options: CellOptions, line: Callable[[int], int]
) -> tuple[NDArray[np.int32], Found]:
    """Return the inputs, int32 (n,), of a column that Arrow holds, and what was met; ``line`` names a row's place."""
    found = Found()
    if isinstance(column, NumericColumn):
        numbers, wrong = cell_numbers(values, options)
        found.refuse("unreadable", np.flatnonzero(wrong), line)
        inputs = _cells(numbers, column, options, found, line)
    else:
        assert isinstance(column, CategoryColumn)
        inputs = _places(values, column, options)
        wrong = inputs < 0
        found.refuse("unseen", np.flatnonzero(wrong), line)
    absent = np.flatnonzero((inputs == column.inputs) & ~wrong)
    found.missing = len(absent)
    if not column.optional:
        found.refuse("missing", absent, line)
    return inputs, found


def _cells(
    numbers: NDArray[np.float64], column: NumericColumn, options: CellOptions, found: Found, line: Callable[[int], int]
) -> NDArray[np.int32]:
    """Return the cells of numbers: as ``read_value`` finds them, and the range's first and last beyond its ends."""
    inputs, found.outside = column.cells_of(numbers)
    if found.outside and not options.clip:
        edges = column.edges
        found.refuse("outside", np.flatnonzero((numbers < edges[0]) | (numbers > edges[-1])), line)
    return inputs


def cell_numbers(values: Any, options: CellOptions) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column's numbers, float64 (n,), NaN where there is none, and which cells hold something else."""
    import pyarrow.types as kinds

    if options.written and is_text(values.type):
        values = values.dictionary_encode()
    if not kinds.is_dictionary(values.type):
        return _plain_numbers(values, options)
    numbers, wrong = _plain_numbers(values.dictionary, options)
    places = _indices(values)
    return np.append(numbers, np.nan)[places], np.append(wrong, False)[places]


def _plain_numbers(values: Any, options: CellOptions) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    import pyarrow as pa
    import pyarrow.types as kinds

    is_decimal = kinds.is_decimal(values.type)
    if is_decimal or kinds.is_integer(values.type) or kinds.is_floating(values.type):
        if is_decimal:  # Arrow's own cast of a decimal often misses the nearest double; that of its digits does not
            values = values.cast(pa.string())
        numbers = array_to_numpy(values.cast(pa.float64(), safe=False))
        return numbers, np.zeros(len(values), dtype=bool)
    if options.written and is_text(values.type):
        read = [_written_number(text, options) for text in values.to_pylist()]
        wrong = np.array([number is None for number in read], dtype=bool)
        return np.array([np.nan if number is None else number for number in read], dtype=np.float64), wrong
    return np.full(len(values), np.nan), array_to_numpy(values.is_valid())


def _written_number(text: str | None, options: CellOptions) -> float | None:
    """Return the number that a cell of text holds, NaN if it stands for none, None if it holds something else."""
    text = (text or "").strip()
    if text in EMPTY_NUMBERS or text in options.missing or _NO_NUMBER.fullmatch(text):
        return math.nan
    return float(text) if _NUMBER.fullmatch(text) else None


def _places(values: Any, column: CategoryColumn, options: CellOptions) -> NDArray[np.int32]:
    """Return the places of categories, −1 of what is none."""
    import pyarrow.types as kinds

    if kinds.is_null(values.type):
        return np.full(len(values), column.inputs, dtype=np.int32)
    if kinds.is_dictionary(values.type):
        encoded = values
    elif is_text(values.type) or kinds.is_integer(values.type) or kinds.is_floating(values.type):
        encoded = values.dictionary_encode()
    elif kinds.is_boolean(values.type):
        encoded = values.cast("int8").dictionary_encode()
        truths = [bool(value) for value in encoded.dictionary.to_pylist()]
        return _taken([place_of(value, column) for value in truths], column, encoded)
    else:
        absent = array_to_numpy(values.is_null())
        return np.where(absent, column.inputs, _UNSEEN).astype(np.int32)
    return _taken([_place(value, column, options) for value in encoded.dictionary.to_pylist()], column, encoded)


def _taken(places: list[int], column: Column, encoded: Any) -> NDArray[np.int32]:
    """Return the inputs of cells whose dictionary's values have these places."""
    inputs: NDArray[np.int32] = np.array([*places, column.inputs], dtype=np.int32)[_indices(encoded)]
    return inputs


def _place(value: Any, column: CategoryColumn, options: CellOptions) -> int:
    place = place_of(value, column)
    if place >= 0:
        return place
    if isinstance(value, str):
        absent = value.strip() in {"", *options.missing}
    else:
        absent = value is None or (isinstance(value, float) and math.isnan(value))
    return column.inputs if absent else _UNSEEN


def _indices(encoded: Any) -> NDArray[Any]:
    """Return which value of its dictionary each cell holds; the dictionary's length where it holds none."""
    import pyarrow as pa

    return array_to_numpy(encoded.indices.cast(pa.int32()), missing=len(encoded.dictionary))


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))
