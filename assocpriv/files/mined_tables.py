"""Tables of mined itemsets: their columns, their facts, and reading and writing both.

A table has mlxtend's columns ``support`` and ``itemsets`` and includes all subsets of its itemsets. ``support`` is the
mean of the posterior (server/baskets/posterior.py), ``std_error`` its standard deviation, ``ci_low`` … ``ci_high`` its
central interval, and ``probability`` the posterior probability of a support of at least the minimum.
``expected_support`` is the support expected under independence (server/baskets/posterior.py). Rules also need
``common_error``, the part of the error shared by all itemsets of the size, and :data:`POSTERIOR`: for each node of the
upper bound on the support (estimation/mixtures.py) weight, mean and standard deviation of a normal distribution.
Comparisons need ``truncation`` and ``truncation_error``: the truncation correction and the part of
``unbiased_error`` that comes from it (server/baskets/comparison.py).

Facts name the plans and reports of the itemsets, the request, and what was counted. A table carries them as JSON
content in ``attrs["assocpriv"]``, which pandas copies with the table, and its files carry the same. Code reads them as
:class:`MiningFacts`; only this module writes them.

Commands use LightFrame, which avoids the import of pandas. Its methods have the names and meaning of pandas' own, as
far as this package uses them; but a column is an array, and rows have no labels. Callers of the Python API get a pandas
frame from :meth:`LightFrame.to_pandas`.
"""

import csv
import io
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import column_chunks, is_inflated, parquet_errors, pq, to_arrow_table, to_numpy
from assocpriv.files.atomic import FORMATS, MAX_TABLE_BYTES, atomic_output, check_regular, output_format, read_bounded
from assocpriv.files.releases import is_release
from assocpriv.files.report_files import ITEMSETS_KEY, gather_hint, holds_reports
from assocpriv.guarantees.errors import EstimateError, FileError, json_fields, pluralize
from assocpriv.plans.baskets.catalogue import name_itemsets

if TYPE_CHECKING:
    import pandas as pd

AnyFrame: TypeAlias = "LightFrame | pd.DataFrame"
FORMAT = ITEMSETS_KEY.decode()
ATTRIBUTE = "assocpriv"  # of attrs: a table's facts
_MIN_ALLOWED = 1 << 26  # bytes of memory that any Parquet table may need
_CSV_MARK = f"# {FORMAT} "
SET_COLUMNS = ("itemsets", "antecedents", "consequents")
POSTERIOR = [f"posterior_{of}_{node}" for node in (1, 2, 3) for of in ("weight", "mean", "sd")]
# for rules and comparisons, not for people
MACHINE_COLUMNS = ("common_error", "truncation", "truncation_error", "confidence_level", *POSTERIOR)
_ROW_KEY = ("support", "std_error", "unbiased", "unbiased_error")  # rows of equal ones have equal details
DETAILS = "assocpriv-details"  # of attrs
Facts = dict[str, Any]
_Frame = TypeVar("_Frame", "LightFrame", "pd.DataFrame")
SPLIT, ALL = "split", "all"  # by which reports itemsets are chosen and tested
VERSION = 8
_OF_FILES = ("format", "version", "meaning")  # besides facts
_NUMBERS = [
    "std_error", "ci_low", "ci_high", "length", "probability", "selected", "expected_support", "unbiased",
    "unbiased_error", "sampled", "sampled_error",
]  # fmt: skip
SHOWN_COLUMNS = ["support", "itemsets", *_NUMBERS]
COLUMNS = [*SHOWN_COLUMNS, *MACHINE_COLUMNS]
FDR_COLUMNS = ["p_value", "significant"]  # of tables mined with fdr
FEW_REPORTS = 5_000
_LOST = (
    "the table lacks the facts that standard errors need (plan, number of reports, posteriors), which pandas keeps in "
    "attrs and loses where tables are merged or leave pandas; pass it as assocpriv.mine returned it, filtered or "
    "sorted, or read its file with read_itemsets"
)
_CHANGED = (
    "the numbers of the table were changed: 'support', 'std_error', 'unbiased' or 'unbiased_error'; keep these columns "
    "as mine returned them, and put other numbers into new columns"
)
_PLAIN: dict[Any, Any] = {str: str, int: int, float: int | float, bool: bool}
_TYPES: dict[str, Any] = dict.fromkeys(["support", *_NUMBERS, "p_value", *MACHINE_COLUMNS], np.float64) | {
    "length": np.int64, "selected": np.bool_, "significant": np.bool_,
}  # fmt: skip
_KINDS = {np.float64: "fiu", np.bool_: "b", np.int64: "iu"}  # of numbers accepted in a column


# ---- in memory


@dataclass(frozen=True, slots=True)
class LightFrame:
    """A table without pandas: columns of equal length by name.

    Attributes:
        columns: arrays of shape (rows,): numbers, booleans, or objects such as sets of names.
        attrs: facts about the table, as in pandas.
    """

    columns: dict[str, NDArray[Any]]
    attrs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_frame(cls, frame: "AnyFrame") -> "LightFrame":
        """Return a LightFrame unchanged, or convert a pandas frame with its attributes, or a polars frame.

        Lists of names, as files hold item sets, become sets.

        Args:
            frame: a LightFrame, or a frame of pandas or polars.

        Returns:
            The table.
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
        """Make a table of arrays or lists; values that are not numbers are kept as objects.

        Args:
            columns: arrays or lists of equal length, by name.

        Returns:
            The table, without ``attrs``.
        """
        return cls({name: as_column(values) for name, values in columns.items()})

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a pandas data frame; columns for machines go to its ``attrs``, by their rows' numbers.

        Returns:
            The frame, with the rows in the same order.
        """
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
        """Return some rows, by their numbers, in this order.

        Args:
            rows: row numbers from 0, or bool (rows,).

        Returns:
            The table with these rows and the same ``attrs``.
        """
        return LightFrame({name: each[rows] for name, each in self.columns.items()}, dict(self.attrs))

    def head(self, count: int = 5) -> "LightFrame":
        """Return the first rows.

        Args:
            count: number of rows.

        Returns:
            The table with these rows and the same ``attrs``.
        """
        return LightFrame({name: each[:count] for name, each in self.columns.items()}, dict(self.attrs))

    def assign(self, **columns: Any) -> "LightFrame":
        """Return a table with these columns added or replaced.

        Args:
            columns: arrays or lists of shape (rows,), by name.

        Returns:
            The table with these columns and the same ``attrs``.
        """
        return LightFrame(self.columns | LightFrame.from_columns(columns).columns, dict(self.attrs))

    def to_dict(self, _orient: str = "records") -> list[dict[str, Any]]:
        """Return the rows as dictionaries of plain Python values.

        Returns:
            One dictionary a row, by column name.
        """
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
    columns = {name: to_numpy(table[name]) for name in table.column_names if name != "itemsets" and len(table)}
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
    columns = {name: column_of_text(each) for name, each in cells.items() if name != "itemsets"}
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
    columns = {name: as_column([math.inf if row[name] is None else row[name] for row in rows]) for name in names}
    return LightFrame(columns | {"itemsets": as_column([frozenset(row["itemset"]) for row in rows])}), content


_Reader = Callable[[Path], tuple[LightFrame, Facts]]
_Writer = Callable[[LightFrame, Facts, BinaryIO], None]
READERS: dict[str, _Reader] = {"parquet": _read_parquet, "csv": _read_csv, "json": _read_json}
WRITERS: dict[str, _Writer] = {"parquet": _write_parquet, "csv": _write_csv, "json": _write_json}


# ---- facts


@dataclass(frozen=True, slots=True)
class FdrControl:
    """The FDR control of itemsets marked as significant (server/baskets/mining.py).

    ``level`` is the expected share of false ones among them, ``by`` is ``split`` or ``all``. Itemsets of up to
    ``largest`` of ``items`` were chosen by ``selecting_reports``; ``hypotheses`` of them count as tested.
    """

    level: float
    by: str
    items: int
    largest: int
    selecting_reports: int
    hypotheses: int


@dataclass(frozen=True, slots=True)
class SizeFacts:
    """Facts about basket sizes: the number of size reports, the mean size, and the truncation correction.

    ``truncation`` has by itemset size, as text, the factor of a typical itemset's support and its relative error.
    """

    reports: int
    mean: float
    truncation: dict[str, list[float]]

    @classmethod
    def from_json(cls, content: Any) -> "SizeFacts":
        """Return the facts from JSON content; EstimateError where one is missing or of another type."""
        truncation: Any = content.get("truncation") if isinstance(content, dict) else None
        pairs = list(truncation.values()) if isinstance(truncation, dict) else [None]
        if not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair)) for pair in pairs):
            raise EstimateError("the fact truncation of sizes is missing or has another type")
        return cls(**_plain_fields(cls, content, " of sizes"), truncation=truncation)


@dataclass(frozen=True, slots=True)
class MiningFacts:
    """Where a table of mined itemsets comes from.

    Attributes:
        plan_ids: of all collections mined together, the longest catalogue's first.
        transaction_size: M, of the first plan.
        reports: number of reports about items.
        min_support: S, which ``probability`` refers to.
        counted: by itemset size the numbers of itemsets counted and possible, [counted, possible].
        whole: whether supports are those of whole baskets; else those within at most M items of a basket.
        incomplete_sizes: itemset sizes whose candidates were cut for lack of memory.
        unlisted: how the plan treats names outside its catalogue.
        auto: whether S is the automatic minimum support.
        top: the number of itemsets of largest support requested; 0 without.
        fdr: the FDR control, where itemsets were tested.
        sizes: facts about basket sizes, where the reports have any.
        epsilon: largest ε of all reports of one person under a plan, rounded up; of a release its ε.
        unit: what ``reports`` counts: ``report``, or ``basket`` where all are of releases.
    """

    plan_ids: list[str]
    transaction_size: int
    reports: int
    min_support: float
    confidence_level: float
    counted: list[list[int]]
    whole: bool
    incomplete_sizes: list[int]
    unlisted: str = "error"
    auto: bool = False
    top: int = 0
    fdr: FdrControl | None = None
    sizes: SizeFacts | None = None
    epsilon: float = 0.0
    unit: str = "report"

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content, without those that are None."""
        content = {"format": FORMAT, "version": VERSION, "meaning": f"supports are {self.meaning}"} | asdict(self)
        return {name: value for name, value in content.items() if value is not None}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "MiningFacts":
        """Return the facts from JSON content.

        Raises:
            EstimateError: one is missing or of another type.
        """
        names = ("plan_ids", "counted", "incomplete_sizes", "fdr", "sizes")
        plan_ids, counts, incomplete, fdr, sizes = (content.get(name) for name in names)
        if not isinstance(plan_ids, list) or not plan_ids or not all(isinstance(each, str) for each in plan_ids):
            raise EstimateError("the fact plan_ids is missing or has another type")
        if not isinstance(counts, list) or not all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int) for n in pair) for pair in counts
        ):
            raise EstimateError("the fact counted is missing or has another type")
        possible = range(1, len(counts) + 1)
        if not isinstance(incomplete, list) or not all(isinstance(k, int) and k in possible for k in incomplete):
            raise EstimateError("the fact incomplete_sizes is missing or has another type")
        return cls(
            **_plain_fields(cls, content),
            plan_ids=plan_ids,
            counted=counts,
            incomplete_sizes=incomplete,
            fdr=None if fdr is None else FdrControl(**_plain_fields(FdrControl, fdr, " of fdr")),
            sizes=None if sizes is None else SizeFacts.from_json(sizes),
        )

    @property
    def meaning(self) -> str:
        """What supports are shares of."""
        if self.whole:
            return "those of whole baskets"
        return f"those within at most {pluralize(self.transaction_size, 'item')} sampled from each basket"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < math.inf


def _plain_fields(record: type, content: Any, of: str = "") -> dict[str, Any]:
    """Return a dataclass's strings, numbers (from 0) and truth values from JSON content, or its defaults."""
    values, known = {}, {each.name for each in fields(record)}
    if isinstance(content, dict) and not content.keys() <= known:
        raise EstimateError(f"it has unknown facts{of}")
    for each in (each for each in fields(record) if each.type in _PLAIN):
        value = content.get(each.name, each.default) if isinstance(content, dict) else MISSING
        fits = isinstance(value, _PLAIN[each.type]) and isinstance(value, bool) is (each.type is bool)
        if not fits or (each.type is float and not _is_number(value)):
            raise EstimateError(f"the fact {each.name}{of} is missing or has another type")
        values[each.name] = value
    return values


def describe_limits(facts: MiningFacts) -> list[str]:
    """Return a line for each limit of the results: too few reports, or itemsets that were not counted."""
    lines = []
    if facts.reports < FEW_REPORTS and facts.unit == "report":
        count = pluralize(facts.reports, "report")
        lines.append(f"{count}: below {FEW_REPORTS:,}, estimates depend mostly on the prior; collect more reports")
    lines += [
        f"only {facts.counted[k - 1][0]:,} of {facts.counted[k - 1][1]:,} possible {name_itemsets(k)} were counted, "
        "the likeliest; request fewer itemsets (top, min_support) or allow more memory (memory_bytes)"
        for k in facts.incomplete_sizes
    ]
    return lines


def _check_is_table(itemsets: Any) -> None:
    if not hasattr(itemsets, "columns"):
        raise TypeError(
            f"itemsets must be a table from mine (read_itemsets reads one from a file), got a {type(itemsets).__name__}"
        )
    names = [str(name) for name in itemsets.columns]
    if "antecedents" in names:
        raise EstimateError("these are rules; give the table of itemsets that mine returned")
    if lost := [name for name in SHOWN_COLUMNS if name not in names and names]:
        raise EstimateError(f"the table has no column {lost[0]!r}, which tables of itemsets have as mine returns them")
    if any(isinstance(each, str) for each in itemsets["itemsets"]):
        raise EstimateError("the column 'itemsets' holds text; it must hold sets of names, as mine returned them")


def check_names(table: AnyFrame, *columns: str) -> None:
    """Raise EstimateError where a column holds something else than collections of names."""
    for name in columns:
        for each in table[name]:
            if isinstance(each, str) or not isinstance(each, Collection) or not all(isinstance(of, str) for of in each):
                raise EstimateError(
                    f"the column {name!r} must hold sets or lists of names; mlxtend writes names with use_colnames=True"
                )


def light_table(itemsets: AnyFrame) -> LightFrame:
    """Return a table of itemsets with its columns for machines; EstimateError or TypeError where it has none."""
    _check_is_table(itemsets)
    frame = LightFrame.from_frame(itemsets)
    if lost := [name for name in COLUMNS if name not in frame.columns]:
        raise EstimateError(_CHANGED if DETAILS in getattr(itemsets, "attrs", {}) else f"{_LOST} (no {lost[0]!r} here)")
    return frame


def posterior_components(frame: LightFrame) -> NDArray[np.float64]:
    """Return weight, mean and standard deviation of each node, (rows, nodes, 3)."""
    return np.stack([frame[name] for name in POSTERIOR], axis=1).reshape(len(frame), len(POSTERIOR) // 3, 3)


def with_facts(frame: _Frame, facts: MiningFacts) -> _Frame:
    """Attach facts to a table."""
    frame.attrs[ATTRIBUTE] = facts.to_json()
    return frame


def column_names(facts: MiningFacts) -> list[str]:
    """Return the columns that a table with these facts has."""
    return [*COLUMNS, *(FDR_COLUMNS if facts.fdr is not None else [])]


def typed(frame: LightFrame) -> LightFrame:
    """Return the table with its column types; ValueError where a column holds other values."""
    for name, dtype in _TYPES.items():
        if name in frame.columns and len(frame) and frame[name].dtype.kind not in _KINDS[dtype]:
            raise ValueError(f"the column {name} holds other values")
    return frame.assign(**{name: frame[name].astype(dtype) for name, dtype in _TYPES.items() if name in frame.columns})


def mining_facts(frame: AnyFrame) -> MiningFacts:
    """Return the facts of a table of itemsets; EstimateError where it carries none."""
    _check_is_table(frame)
    return _read_facts(getattr(frame, "attrs", {}).get(ATTRIBUTE))


def _read_facts(content: Any) -> MiningFacts:
    known = isinstance(content, dict) and content.get("format") == FORMAT
    if not known or content.get("version") != VERSION:
        raise EstimateError(_LOST)
    return MiningFacts.from_json({name: each for name, each in content.items() if name not in _OF_FILES})


def write_itemsets(frame: AnyFrame, path: str | Path, *, force: bool = False) -> None:
    """Write a table of itemsets with all that rules need, as Parquet, CSV or JSON.

    Args:
        frame: a table that :func:`assocpriv.mine` returned.
        path: the file, ``.parquet``, ``.csv`` or ``.json``.
        force: replace an existing file.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the file cannot be written.
        EstimateError: the table does not carry its facts.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_itemsets(found, f"{mkdtemp()}/found.csv")
    """
    extension = output_format(path)
    facts = mining_facts(frame)
    table = light_table(frame)
    known = LightFrame({name: table[name] for name in column_names(facts)})  # without added columns
    with atomic_output(path, force=force) as stream:
        WRITERS[extension](known, facts.to_json(), stream)


def read_table(path: str | Path) -> LightFrame:
    """Return a table of itemsets from a file, without pandas.

    Args:
        path: a file of .parquet, .csv or .json, as :func:`assocpriv.write_itemsets` writes it.

    Returns:
        The table, one row an itemset.

    Raises:
        EstimateError: it is not such a table, or is damaged.
        FileError: the file cannot be read, or has another extension.
    """
    source = Path(path)
    if (extension := FORMATS.get(source.suffix.lower())) is None:
        raise FileError(f"{source} is no file of mined itemsets (.parquet, .csv or .json): {gather_hint(source)}")
    damage: tuple[type[BaseException], ...] = (*parquet_errors(), csv.Error, AttributeError)
    try:
        check_regular(source)
        frame, content = READERS[extension](source)
        if not set(frame.columns) <= set(column_names(_read_facts(content))):
            raise EstimateError("it has unknown columns")
        return known_table(frame, content)
    except OSError as error:
        raise FileError(f"cannot read {source}: {error.strerror or 'it is damaged'}") from None
    except damage as error:
        reason = str(error).splitlines()[0] if isinstance(error, EstimateError) else _describe_other_file(source)
        raise EstimateError(f"{source} is not a file of mined itemsets: {reason}") from None


def known_table(frame: LightFrame, content: Any) -> LightFrame:
    """Return the table that mine wrote, without further columns, from a file's columns and facts."""
    facts = _read_facts(content)
    names = column_names(facts)
    if not len(frame):  # then columns have no types
        frame = LightFrame({name: np.empty(0, dtype=object) for name in names})
    frame = with_facts(typed(LightFrame({name: frame[name] for name in names})), facts)
    _check_table(frame, facts)
    return frame


def _describe_other_file(source: Path) -> str:
    """Return what a file holds that has no itemsets, and the command for it."""
    if holds_reports(source):
        return f"it holds reports; mine them first: assocpriv mine {source}"
    if is_release(source):
        return f"it is a release; mine it first: assocpriv mine {source}"
    return "it is damaged, or assocpriv mine did not write it"


def _check_table(frame: LightFrame, facts: MiningFacts) -> None:
    """Raise EstimateError for a table that mine cannot have written."""
    if not (facts.reports >= 1 and 0 < facts.min_support <= 1):
        raise EstimateError("a number of reports or a minimum support is out of range")
    itemsets = frame["itemsets"].tolist()
    named = all(itemset and all(isinstance(name, str) for name in itemset) for itemset in itemsets)
    sizes = [len(itemset) for itemset in itemsets]
    if not named or sizes != frame["length"].tolist() or len(set(itemsets)) != len(itemsets):
        raise EstimateError(
            "an itemset is empty or repeated, holds something else than names, or differs from its length"
        )
    numbers = [frame[name] for name in COLUMNS if _TYPES.get(name) is np.float64]
    shares = [frame[name] for name in ("support", "ci_low", "ci_high", "probability")]
    if not all(np.isfinite(each).all() for each in numbers) or not all(_between(each, 0, 1) for each in shares):
        raise EstimateError("a number is missing or out of range")
    if (fdr := facts.fdr) is not None:
        if not (0 < fdr.level < 1 and fdr.by in (SPLIT, ALL) and fdr.hypotheses >= len(frame)):
            raise EstimateError("a fact of fdr is out of range")
        if not _between(frame["p_value"], 0, 1):
            raise EstimateError("a p-value is out of range")


def _between(values: NDArray[Any], least: Any, most: Any) -> bool:
    return bool(((values >= least) & (values <= most)).all())
