"""Tables of itemsets and their metadata (facts): numpy arrays in memory; Parquet, CSV or JSON on disk.

Commands use LightFrame, which avoids the import of pandas. Its methods have the names and meaning of pandas' own, as
far as this package uses them; but a column is an array, and rows have no labels. Callers of the Python API get a pandas
frame from :meth:`LightFrame.to_pandas`.

files/mined_tables.py checks what a table must hold.
"""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import column_chunks, is_inflated, pq, to_arrow_table, to_numpy
from assocpriv.files.atomic import MAX_TABLE_BYTES, atomic_output, output_format, read_bounded
from assocpriv.files.report_files import ITEMSETS_KEY, gather_hint
from assocpriv.guarantees.errors import EstimateError, json_fields

if TYPE_CHECKING:
    import pandas as pd


AnyFrame: TypeAlias = "LightFrame | pd.DataFrame"
FORMAT = ITEMSETS_KEY.decode()
ATTRIBUTE = "assocpriv"  # of attrs: a table's facts
_MIN_ALLOWED = 1 << 26  # bytes of memory that any Parquet table may need
_CSV_MARK = f"# {FORMAT} "
SET_COLUMNS = ("itemsets", "antecedents", "consequents")
# for rules and comparisons, not for people
MACHINE_COLUMNS = ("common_error", "truncation", "truncation_error", "confidence_level", "posterior")
_POSTERIOR = MACHINE_COLUMNS[-1]  # of several numbers, (rows, numbers)
_ROW_KEY = ("support", "std_error", "unbiased", "unbiased_error")  # rows of equal ones have equal details
DETAILS = "assocpriv-details"  # of attrs
Facts = dict[str, Any]


# ---- in memory


@dataclass(frozen=True, slots=True)
class LightFrame:
    """Columns of equal length by name: numbers, booleans, or objects such as sets of names; ``attrs`` as in pandas."""

    columns: dict[str, NDArray[Any]]
    attrs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_frame(cls, frame: "AnyFrame") -> "LightFrame":
        """Return a LightFrame unchanged, or convert a pandas frame with its attributes, or a polars frame.

        Lists of names, as files hold item sets, become sets.
        """
        if isinstance(frame, LightFrame):
            return frame
        columns = {str(name): _sets_or_values(str(name), frame[name]) for name in frame.columns}
        attrs = {str(name): each for name, each in getattr(frame, "attrs", {}).items()}
        if (details := attrs.pop(DETAILS, None)) and columns.keys() >= {*_ROW_KEY}:
            columns |= _details_of(columns, details)
        return cls(columns, attrs)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> "LightFrame":
        """Make a table of arrays or lists; values that are not numbers are kept as objects."""
        return cls({name: as_column(values) for name, values in columns.items()})

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a pandas data frame; columns for machines go to its ``attrs``, by their rows' numbers."""
        import pandas as pd

        shown = {name: each for name, each in self.columns.items() if name not in MACHINE_COLUMNS}
        frame = pd.DataFrame({name: pd.Series(each, dtype=each.dtype) for name, each in shown.items()})
        frame.attrs.update(self.attrs)
        if len(shown) < len(self.columns):
            names = {*_ROW_KEY, *MACHINE_COLUMNS} & self.columns.keys()
            frame.attrs[DETAILS] = _Details({name: self[name].tolist() for name in sorted(names)})
        return frame

    def __repr__(self) -> str:
        columns = shorten(", ".join(self.columns), 50, placeholder=" …")
        return f"LightFrame({len(self)} rows; {columns})"

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column."""
        if not isinstance(name, str):
            raise TypeError("a light table has columns only, by name; its to_pandas() makes a data frame")
        return self.columns[name]

    def take(self, rows: NDArray[Any] | Sequence[int]) -> "LightFrame":
        """Return some rows, by their numbers, in this order."""
        return LightFrame({name: each[rows] for name, each in self.columns.items()}, dict(self.attrs))

    def head(self, count: int = 5) -> "LightFrame":
        """Return the first rows."""
        return LightFrame({name: each[:count] for name, each in self.columns.items()}, dict(self.attrs))

    def assign(self, **columns: Any) -> "LightFrame":
        """Return a table with these columns added or replaced."""
        return LightFrame(self.columns | LightFrame.from_columns(columns).columns, dict(self.attrs))

    def to_dict(self, _orient: str = "records") -> list[dict[str, Any]]:
        """Return the rows as dictionaries of plain Python values."""
        names, columns = list(self.columns), [each.tolist() for each in self.columns.values()]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


class _Details(dict[str, Any]):
    """Columns for machines, as JSON content. pandas copies ``attrs`` deeply with each frame; this is shared instead."""

    def __deepcopy__(self, _memo: dict[int, Any]) -> "_Details":
        return self


def _details_of(columns: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the columns for machines of these rows, also if items were renamed; none if a row's numbers changed."""
    row_of = {key: row for row, key in enumerate(_row_keys(details))}
    rows = [row_of.get(key, -1) for key in _row_keys(columns)]
    if -1 in rows:
        return {}
    return {name: np.array(each, dtype=np.float64)[rows] for name, each in details.items() if name in MACHINE_COLUMNS}


def _row_keys(columns: Mapping[str, Any]) -> list[bytes]:
    numbers = [np.asarray(columns[name], dtype=np.float64) for name in _ROW_KEY]
    return [row.tobytes() for row in np.column_stack(numbers)]


def _sets_or_values(name: str, column: Any) -> NDArray[Any]:
    """Return a column of a data frame; where it holds item sets as lists or arrays, as sets."""
    if name == _POSTERIOR:
        return np.array(column.to_list(), dtype=np.float64)
    if name not in SET_COLUMNS:
        return np.asarray(column.to_numpy())
    values = column.to_list()
    return as_column([frozenset(each) if isinstance(each, list | tuple | np.ndarray) else each for each in values])


def as_column(values: Any) -> NDArray[Any]:
    """Return values as a column: numbers and booleans by type, an array unchanged, anything else as objects."""
    if isinstance(values, np.ndarray):
        return values
    values = list(values)
    if values and all(isinstance(each, bool | int | float | np.generic) for each in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values  # lists of equal length, too, stay one object each
    return column


def concat_frames(parts: Iterable[LightFrame]) -> LightFrame:
    """Return the rows of tables with the same columns, one after the other."""
    frames = list(parts)
    return LightFrame({name: np.concatenate([frame[name] for frame in frames]) for name in frames[0].columns})


# ---- on disk


def itemset_records(frame: AnyFrame) -> list[dict[str, Any]]:
    """Return the rows as plain objects; ``itemset`` is a sorted list of names, an infinite error is null."""
    records = [plain_record(record) for record in LightFrame.from_frame(frame).to_dict()]
    for record in records:
        record["itemset"] = sorted(record.pop("itemsets"))
    return records


def plain_record(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as JSON allows it: NaN and infinite numbers become null."""
    return {name: None if isinstance(each, float) and not math.isfinite(each) else each for name, each in row.items()}


def _write_parquet(table: LightFrame, facts: dict[str, Any], stream: BinaryIO) -> None:
    arrow = to_arrow_table(table.assign(itemsets=as_column([sorted(itemset) for itemset in table["itemsets"]])).columns)
    of_pandas = {"PANDAS_ATTRS": json.dumps({ATTRIBUTE: facts})}  # where its read_parquet finds attrs
    pq.write_table(arrow.replace_schema_metadata({ITEMSETS_KEY: json.dumps(facts)} | of_pandas), stream)


def _write_csv(table: LightFrame, facts: dict[str, Any], stream: BinaryIO) -> None:
    stream.write(f"{_CSV_MARK}{json.dumps(facts)}\n".encode())
    itemsets = [join_names(sorted(itemset)) for itemset in table["itemsets"]]
    stream.write(_csv_of(table.assign(itemsets=itemsets)))


def _csv_of(table: LightFrame) -> bytes:
    """Return a table as CSV; NaN becomes an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for row in zip(*(each.tolist() for each in table.columns.values()), strict=True):
        writer.writerow(_cell(each) for each in row)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(map(repr, value))
    return "" if isinstance(value, float) and math.isnan(value) else value


def join_names(names: list[str]) -> str:
    """Return names as one CSV line, so that a name may hold a comma."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def write_plain(
    frame: AnyFrame, columns: Sequence[str], as_json: Callable[[], str], path: str | Path, *, force: bool
) -> None:
    """Write a table for other programs, without facts; ``columns`` are those that hold sets of names."""
    kind, table = output_format(path), LightFrame.from_frame(frame)
    for name in columns:
        lists = [sorted(names) for names in table[name]]
        table = table.assign(**{name: [join_names(names) for names in lists] if kind == "csv" else lists})
    with atomic_output(path, force=force) as stream:
        if kind == "json":
            stream.write(as_json().encode("utf-8"))
        elif kind == "csv":
            stream.write(_csv_of(table))
        else:
            pq.write_table(to_arrow_table(table.columns), stream)


def _write_json(table: LightFrame, facts: dict[str, Any], stream: BinaryIO) -> None:
    stream.write(json.dumps(facts | {"itemsets": itemset_records(table)}, indent=1).encode("utf-8"))


def _read_parquet(source: Path) -> tuple[LightFrame, dict[str, Any]]:
    # no itemset occurs twice, so the memory of an honest table is in proportion to its bytes
    with source.open("rb") as stream:
        chunks = column_chunks(stream)
    if is_inflated(chunks, source.stat().st_size, _MIN_ALLOWED):
        raise EstimateError("the file is damaged or malicious: it claims more values than so few bytes can hold")
    # as a dictionary, each name is in memory once, however often it occurs
    names = [chunk.path for chunk in chunks if chunk.path.startswith("itemsets")]
    with pq.ParquetFile(source, read_dictionary=names) as file:
        table = file.read()
    table.validate(full=True)  # a damaged file may hold codes outside a dictionary, or text that is not UTF-8
    facts = json_fields((table.schema.metadata or {})[ITEMSETS_KEY].decode("utf-8"))
    others = {name: table[name] for name in table.column_names if name != "itemsets" and len(table)}
    columns = {}
    for name, each in others.items():
        columns[name] = np.array(each.to_pylist(), dtype=np.float64) if name == _POSTERIOR else to_numpy(each)
    itemsets = [itemset for chunk in table["itemsets"].chunks if len(chunk) for itemset in _sets_of(chunk)]
    return LightFrame(columns | {"itemsets": as_column(itemsets)}), facts


def _sets_of(lists: Any) -> Iterable[frozenset[str]]:
    """Return the sets of names in a chunk of lists of names; equal names share one object."""
    ends, names = lists.offsets.to_pylist(), lists.values
    if lists.null_count or names.null_count:
        raise EstimateError("a name is missing")
    if hasattr(names, "dictionary"):
        known, codes = names.dictionary.to_pylist(), names.indices.to_pylist()
        words = [known[code] for code in codes]
    else:
        words = names.to_pylist()
    return (frozenset(words[start:stop]) for start, stop in pairwise(ends))


def _read_csv(source: Path) -> tuple[LightFrame, dict[str, Any]]:
    first, _, rest = read_bounded(source, MAX_TABLE_BYTES).decode("utf-8").partition("\n")
    if not first.startswith(_CSV_MARK):
        raise EstimateError(
            "its first line lacks the plan, the number of reports and the counts that rules need; "
            + gather_hint(source)
        )
    facts = json_fields(first.removeprefix(_CSV_MARK))
    cells = cells_of_csv(rest)
    texts = {name: each for name, each in cells.items() if name not in ("itemsets", _POSTERIOR)}
    columns = {name: column_of_text(each) for name, each in texts.items()}
    columns[_POSTERIOR] = np.array([each.split(" ") for each in cells[_POSTERIOR]], dtype=np.float64)
    return LightFrame(columns | {"itemsets": sets_of_text(cells["itemsets"])}), facts


def cells_of_csv(text: str) -> dict[str, Sequence[str]]:
    """Return the columns of a CSV text by the names in its first line."""
    names, *rows = csv.reader(io.StringIO(text, newline=""))
    return dict(zip(names, zip(*rows, strict=True) if rows else [()] * len(names), strict=True))


def sets_of_text(cells: Sequence[str]) -> NDArray[Any]:
    """Return a CSV column of names, each cell itself a CSV line, as sets."""
    return as_column(map(frozenset, csv.reader(cells)))


def column_of_text(cells: Sequence[str]) -> NDArray[Any]:
    """Return a CSV column as booleans, integers or floats, the first that fits all its cells; else as text."""
    if cells and set(cells) <= {"True", "False"}:
        return np.array([each == "True" for each in cells])
    for kind in (int, float):
        try:
            return np.array([kind(each) for each in cells], dtype=np.int64 if kind is int else np.float64)
        except (ValueError, OverflowError):
            continue
    return as_column(cells)


def _read_json(source: Path) -> tuple[LightFrame, dict[str, Any]]:
    content = json_fields(read_bounded(source, MAX_TABLE_BYTES).decode("utf-8"))
    rows = content.pop("itemsets")
    names = [name for name in rows[0] if name != "itemset"] if rows else []
    if not all(row.keys() == rows[0].keys() for row in rows):
        raise EstimateError("the itemsets do not all have the same fields")
    columns = {name: _of_json([row[name] for row in rows]) for name in names}
    return LightFrame(columns | {"itemsets": as_column([frozenset(row["itemset"]) for row in rows])}), content


def _of_json(values: list[Any]) -> NDArray[Any]:
    """Return a JSON column; null becomes infinity."""
    if values and isinstance(values[0], list):
        return np.array(values, dtype=np.float64)
    return as_column([math.inf if each is None else each for each in values])


_Reader = Callable[[Path], tuple[LightFrame, Facts]]
_Writer = Callable[[LightFrame, Facts, BinaryIO], None]
READERS: dict[str, _Reader] = {"parquet": _read_parquet, "csv": _read_csv, "json": _read_json}
WRITERS: dict[str, _Writer] = {"parquet": _write_parquet, "csv": _write_csv, "json": _write_json}
