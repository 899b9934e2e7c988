"""Lists of mined itemsets and rules: what each line says of supports, as it is written; the list with fewer lines.

A line is a set of facts, each a linear equation in supports: Σ c·supp(I) = value. A list is what ``assocpriv mine``
and ``rules`` write, or a table with mlxtend's columns, in CSV, JSON, Parquet or memory. A column that is not known is
refused, because nothing would check what it tells.
"""

import ast
import contextlib
import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

from assocpriv.core.errors import FileError, PlanError, TemplateError
from assocpriv.core.privacy import parse_number
from assocpriv.files.reports import ITEMSETS_KEY
from assocpriv.files.tables import output_format
from assocpriv.owner.suppression.metadata import released_frame

Itemset = frozenset[str]
_SETS = ("itemsets", "itemset")
_SIDES = ("antecedents", "consequents")
_TOLD = ("support", "antecedent support", "consequent support", "confidence", "lift")
_FOLLOWS = frozenset(  # from the supports of a rule and of its sides
    ("representativity", "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski")
)
_SILENT = frozenset(  # of the line itself, and follow from its support and from the plan
    ("length", "frequent", "p_value", "certain", "std_error", "ci_low", "ci_high", "support_std_error",
     "confidence_std_error", "lift_std_error"),
)  # fmt: skip
_LEFT_OUT = frozenset(  # when a list goes out: a gap in numbers or ranks tells of a line withheld, as do other supports
    ("", "index", "Unnamed: 0", "rank", "rank_low", "rank_high", "consistent_support", "corrected_support",
     "corrected_std_error", "model_error", "corrected_low", "corrected_high"),
)  # fmt: skip
_OF_REPORTS = frozenset(("count", "group_counts"))  # in tables that mine wrote: counts of randomized reports; left out
_MARK = f"# {ITEMSETS_KEY.decode()} "
_MOST_SUPPORT = Fraction(3, 2)  # an estimate may lie above 1 a little, a count does so by far


@dataclass(frozen=True, slots=True)
class Fact:
    """What a line says: the sum of coefficient times support over ``terms`` is ``value``."""

    terms: tuple[tuple[Itemset, Fraction], ...]
    value: Fraction

    @property
    def items(self) -> Itemset:
        """All items that it speaks of."""
        return frozenset[str]().union(*(itemset for itemset, _ in self.terms))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a list.

    Attributes:
        label: its itemset or rule, for people.
        facts: what it says.
        support: what lines are ordered by, 0 if it states none.
        sides: of a rule the antecedent and the consequent.
    """

    label: str
    facts: tuple[Fact, ...]
    support: Fraction
    sides: tuple[Itemset, Itemset] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MinedList:
    """The lines of a list; ``write`` puts some of them, by place, into a file of the list's own format.

    Of a table in memory ``take`` returns those rows instead. Nothing goes out but columns of the lines: what a file
    says beside them (a least support, how many itemsets there are) tells that a line was withheld, and of what.
    """

    lines: tuple[Line, ...]
    write: Callable[[Sequence[int], BinaryIO], None] | None = None
    take: Callable[[Sequence[int]], Any] | None = None


def is_list(data: Any) -> bool:
    """Tell whether data is a list of mined itemsets or rules, in a file or in memory, by its columns."""
    if isinstance(data, str | PathLike):
        with contextlib.suppress(OSError, FileError):
            return _is_list_file(Path(fspath(data)))
        return False
    return hasattr(data, "columns") and _names_list([str(name) for name in _column_names(data)])


def _names_list(columns: Sequence[str]) -> bool:
    return set(_SIDES) <= set(columns) or ("support" in columns and not set(_SETS).isdisjoint(columns))


def _is_list_file(path: Path) -> bool:
    kind = {".json": "json", ".csv": "csv", ".parquet": "parquet"}.get(path.suffix.lower())
    if kind == "csv":
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            first = file.readline(1 << 16)
        return first.startswith(_MARK) or _names_list([cell.strip() for cell in first.rstrip("\r\n").split(",")])
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        with contextlib.suppress(pa.ArrowException):
            return _names_list(pq.read_schema(path).names)
    return kind == "json"


def read_list(data: Any, *, kind: str | None = None) -> MinedList:
    """Read a list of itemsets or rules, of a file by its ending or of the ``kind`` csv, json or parquet; or a table.

    Raises:
        TemplateError: the file cannot be read or is no such list; a column that is not known, or a line that is odd.
    """
    if not isinstance(data, str | PathLike):
        return _of_frame(data)
    path = Path(fspath(data))
    readers = {"csv": _of_csv, "json": _of_json, "parquet": _of_parquet}
    try:
        return readers[kind or output_format(path)](path)
    except TemplateError as error:
        problem = str(error)
    except (OSError, UnicodeDecodeError, ValueError, csv.Error):
        problem = "it is no list of mined itemsets or rules, or is damaged; write it again"
    raise TemplateError(f"{path.name}: {problem}")


# ---- files and tables


def _of_csv(path: Path) -> MinedList:
    text = path.read_bytes().decode("utf-8-sig").splitlines(keepends=True)
    first = int(bool(text) and text[0].startswith(_MARK))
    rows = list(csv.reader(text[first:], strict=True))
    if not rows:
        raise TemplateError("the list is empty; it needs a header")
    header = [name.strip() for name in rows[0]]
    _check_columns(header, marked=first == 1)
    uneven = next((at for at, row in enumerate(rows) if row and len(row) != len(header)), None)
    if uneven is not None:
        raise TemplateError(f"row {uneven + 1} does not have the {len(header)} cells of the header; correct it")
    places = [at for at, row in enumerate(rows) if at and row]
    lines = _lines(header, [dict(zip(header, rows[at], strict=True)) for at in places], marked=first == 1)

    def write(kept: Sequence[int], stream: BinaryIO) -> None:
        told = [at for at, name in enumerate(header) if name in _told(header)]
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(
            [row[at] for at in told] for row in (rows[0], *(rows[places[at]] for at in kept))
        )
        stream.write(out.getvalue().encode())

    return MinedList(lines, write)


def _of_json(path: Path) -> MinedList:
    text = path.read_text(encoding="utf-8-sig")
    content = json.loads(text)
    key = next((key for key in ("itemsets", "rules") if isinstance(content, dict) and key in content), None)

    def rows_of(content: Any) -> Any:
        return content[key] if key else content

    rows = rows_of(json.loads(text, parse_float=str))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TemplateError("JSON must hold a list of objects, alone or as itemsets or rules")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = _lines(columns, rows, marked=isinstance(content, dict) and content.get("format") == ITEMSETS_KEY.decode())

    def write(kept: Sequence[int], stream: BinaryIO) -> None:
        told = frozenset(_told(columns))
        left = [{name: cell for name, cell in rows_of(content)[at].items() if name in told} for at in kept]
        stream.write(json.dumps({key: left} if key else left, indent=1, ensure_ascii=False).encode())

    return MinedList(lines, write)


def _of_parquet(path: Path) -> MinedList:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with contextlib.suppress(pa.ArrowException):
        table = pq.ParquetFile(path).read()
        marked = ITEMSETS_KEY in (table.schema.metadata or {})
        lines = _lines(table.column_names, table.to_pylist(), marked=marked)
        told = table.select(_told(table.column_names)).replace_schema_metadata(None)
        return MinedList(lines, lambda kept, stream: pq.write_table(told.take(pa.array(kept, pa.int64())), stream))
    raise TemplateError("the file is not Parquet, or is damaged; write it again")


def _column_names(frame: Any) -> list[Any]:
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return list(names)


def _of_frame(frame: Any) -> MinedList:
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(f"a list must be a file or a table in memory, got a {type(frame).__name__}") from None
    names = list(table.columns)
    rows = zip(*(table.get_column(name).to_list() for name in names), strict=True)
    marked = "assocpriv" in getattr(frame, "attrs", {})
    columns = list(map(str, names))
    lines = _lines(columns, [dict(zip(columns, row, strict=True)) for row in rows], marked=marked)

    def take(kept: Sequence[int]) -> Any:
        chosen = set(kept)
        left = table.select(_told(names)).filter([at in chosen for at in range(len(lines))])
        return released_frame(nw.maybe_reset_index(left).to_native())

    return MinedList(lines, take=take)


# ---- lines


def _check_columns(columns: Sequence[str], *, marked: bool) -> str | None:
    """Refuse columns that nothing here checks; return the name of the column of itemsets, None of rules."""
    sets = next((name for name in _SETS if name in columns), None)
    is_rules = set(_SIDES) <= set(columns)
    if not is_rules and (sets is None or "support" not in columns):
        raise TemplateError(
            "a list has columns itemsets and support, or antecedents and consequents with support, confidence or lift"
        )
    own = {*_SIDES, *_TOLD, *_FOLLOWS} if is_rules else {sets, "support"}
    silent = _SILENT | _LEFT_OUT | (_OF_REPORTS if marked else frozenset())
    strange = [name for name in columns if name not in own | silent]
    if strange:
        raise TemplateError(
            f"nothing here knows what column {strange[0]} tells; leave it out of a list that is to be released"
        )
    return None if is_rules else sets


def _told(columns: Sequence[Any]) -> list[Any]:
    """Return the columns that go out."""
    return [name for name in columns if str(name) not in _LEFT_OUT | _OF_REPORTS]


def _lines(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, marked: bool) -> tuple[Line, ...]:
    sets, made = _check_columns(columns, marked=marked), []
    for place, row in enumerate(rows, 1):
        try:
            made.append(_rule(row) if sets is None else _itemset(row, sets))
        except TemplateError as error:
            raise TemplateError(f"line {place}: {error}") from None
    return tuple(made)


def _itemset(row: Mapping[str, Any], column: str) -> Line:
    itemset, support = _names(row.get(column)), _share(row, "support")
    if support is None:
        raise TemplateError("the support is missing")
    return Line(_shown(itemset), (_equals(itemset, support),), support)


def _rule(row: Mapping[str, Any]) -> Line:
    left, right = (_names(row.get(side)) for side in _SIDES)
    b, a, c = (_share(row, name) for name in ("support", "antecedent support", "consequent support"))
    confidence, lift = (_number(row.get(name), name) for name in ("confidence", "lift"))
    facts = [
        _equals(itemset, share) for itemset, share in ((left | right, b), (left, a), (right, c)) if share is not None
    ]
    if confidence is not None:
        facts.append(Fact(((left | right, Fraction(1)), (left, -confidence)), Fraction(0)))
    elif a and b is not None:
        confidence = b / a
    if lift is not None and c is None:
        if confidence is None or not lift:
            raise TemplateError(
                "a lift needs the confidence, or the supports of the rule and its antecedent, beside it"
            )
        facts.append(_equals(right, confidence / lift))
    known = [
        a is not None or (b is not None and confidence),
        b is not None or (a is not None and confidence is not None),
    ]
    full = all(known) and (c is not None or lift is not None)
    if not full and any(row.get(name) not in (None, "") for name in _FOLLOWS):
        raise TemplateError("measures of a rule other than lift need its support and those of both sides beside them")
    if not facts:
        raise TemplateError("support, confidence and lift are all missing")
    support = b if b is not None else Fraction(0)
    return Line(f"{_shown(left)} -> {_shown(right)}", tuple(facts), support, (left, right))


def _equals(itemset: Itemset, support: Fraction) -> Fact:
    return Fact(((itemset, Fraction(1)),), support)


def _shown(itemset: Itemset) -> str:
    return ", ".join(sorted(itemset))


def _share(row: Mapping[str, Any], name: str) -> Fraction | None:
    share = _number(row.get(name), name)
    if share is not None and abs(share) > _MOST_SUPPORT:
        raise TemplateError(f"{name} must be a share of the baskets, from 0 to 1; divide counts by their number")
    return share


def _number(value: Any, name: str) -> Fraction | None:
    """Return a number exactly as it is written, None of nothing."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    try:
        return parse_number(str(value).lower(), name)
    except PlanError:
        raise TemplateError(f"{name} is no number") from None


def _names(cell: Any) -> Itemset:
    """Return the items of a cell: a list, or text as mine, rules, pandas, mlxtend and arules write one."""
    names = cell
    if isinstance(cell, str):
        text = cell.strip()
        inner = text[len("frozenset(") : -1] if text.startswith("frozenset(") else text
        names = next(csv.reader(io.StringIO(text)), [])
        if text.startswith("{") and text.endswith("}"):  # arules: {beer,test}
            names = next(csv.reader(io.StringIO(text[1:-1])), [])
        if inner[:1] in ("{", "[", "("):
            with contextlib.suppress(ValueError, SyntaxError):
                names = ast.literal_eval(inner)
    try:
        found = frozenset(str(name).strip() for name in names)
    except TypeError:
        raise TemplateError("the itemset must be a list of items") from None
    if not found or "" in found:
        raise TemplateError("the itemset is empty, or holds an item without a name")
    return found
