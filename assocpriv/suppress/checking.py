"""The last check before a release, by code that made nothing of it.

All bounds are counted anew, those too that others imply, in the table or the baskets as they will be read, before these
get their name. No reader, writer or count of this package is used. Of a table pyarrow alone reads and counts the cells;
a channel's cells count as they are written, blanks and all, because that is what can be told apart. Of baskets lines
are cut by Python's csv, Parquet is read by pyarrow, and patterns are counted one basket after the other. A share is
compared with its bound in integers.
"""

import csv
import gzip
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import arrow_csv, pa, pq
from assocpriv.promise.errors import FileError

if TYPE_CHECKING:
    from assocpriv.suppress.templates import Bound

_MOST = 1 << 62
_YES = ("1", "1.0", "true", "t", "yes", "y", "x")
_PlainBound = tuple[Sequence[str], Sequence[str], int, int]  # channel, sensitive itemset, the limit's two numbers


# ---- tables


@dataclass(frozen=True, slots=True)
class Checked:
    """A bound, and the pattern of its channel with the highest confidence: records with it, and hits among them."""

    bound: "Bound"
    support: int
    hits: int

    @property
    def confidence(self) -> Fraction:
        """The highest confidence."""
        return Fraction(self.hits, self.support)


def count_file(
    path: Path, bounds: "Sequence[Bound]", *, parquet: bool, separator: str = ",", gzipped: bool = False
) -> tuple[Checked, ...]:
    """Count all bounds in a file as it lies on disk.

    Raises:
        FileError: a bound is violated, or the file cannot be read.
    """
    names = list(dict.fromkeys(name for bound in bounds for name in (*bound.channel, bound.column)))
    read = _parquet_columns if parquet else lambda at, wanted: _csv_columns(at, wanted, separator, gzipped)
    return count_columns(read(path, names), bounds)


def count_columns(columns: Mapping[str, Any], bounds: "Sequence[Bound]") -> tuple[Checked, ...]:
    """Count all bounds in columns that Arrow holds, as :func:`count_file`."""
    cells = {name: _Cells.of(values) for name, values in columns.items()}
    by_channel: dict[frozenset[str], list[Bound]] = {}
    for bound in bounds:
        by_channel.setdefault(frozenset(bound.channel), []).append(bound)
    counted = {bound: found for group in by_channel.values() for bound, found in _count(cells, group)}
    violated = [bound for bound in bounds if counted[bound].violated]
    if violated:
        raise FileError(
            f"the table as written violates {len(violated)} of {len(bounds)} bounds, the first {violated[0]}; it was "
            "not released, and this is a fault of the program: please report it"
        )
    return tuple(counted[bound].highest for bound in bounds)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """One column: its distinct cells, and of each record the place among these."""

    distinct: list[Any]
    places: NDArray[np.int32]

    @classmethod
    def of(cls, values: Any) -> "_Cells":
        table = pa.table({"": values}).unify_dictionaries()
        encoded = table.column(0)
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        encoded = encoded.combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0)
        distinct = encoded.dictionary.to_pylist()
        places = encoded.indices.fill_null(len(distinct)).cast(pa.int32())
        return cls([*distinct, None], places.to_numpy(zero_copy_only=False))

    def are(self, text: str) -> NDArray[np.bool_]:
        """Say of each record whether its cell is this text, blanks around it aside."""
        return np.array([_text(value) == text for value in self.distinct])[self.places]


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


@dataclass(frozen=True, slots=True)
class _Count:
    highest: Checked
    violated: bool


def _count(cells: Mapping[str, _Cells], group: "Sequence[Bound]") -> "Iterable[tuple[Bound, _Count]]":
    """Count bounds of one channel: records by its pattern, and how many of them have each sensitive value."""
    columns: dict[str, Any] = {"pattern": _patterns([cells[name] for name in group[0].channel])}
    for place, bound in enumerate(group):
        columns[str(place)] = cells[bound.column].are(bound.value).astype(np.int64)
    sums = [("pattern", "count"), *((str(place), "sum") for place in range(len(group)))]
    found = pa.table(columns).group_by("pattern").aggregate(sums)
    support = found.column("pattern_count").to_numpy()
    for place, bound in enumerate(group):
        yield bound, _highest(bound, support, found.column(f"{place}_sum").to_numpy())


def _patterns(columns: Sequence[_Cells]) -> NDArray[np.int64]:
    """Return a number for each record, equal where all columns are."""
    keys, span = np.zeros(len(columns[0].places), dtype=np.int64), 1
    for column in columns:
        if span * len(column.distinct) > _MOST:
            found, keys = np.unique(keys, return_inverse=True)
            span = len(found)
        keys = keys * len(column.distinct) + column.places
        span *= len(column.distinct)
    return keys


def _highest(bound: "Bound", support: NDArray[np.int64], hits: NDArray[np.int64]) -> _Count:
    most, least = bound.confidence.denominator, bound.confidence.numerator
    if max(most, least) * int(support.max()) < _MOST:
        violated = bool((hits * most > support * least).any())
    else:
        violated = any(int(hit) * most > int(all_) * least for hit, all_ in zip(hits, support, strict=True))
    shares = hits / support
    near = np.flatnonzero(shares >= shares.max() * (1 - 1e-12))  # the highest is among them, and found exactly
    best = max(near.tolist(), key=lambda place: (Fraction(int(hits[place]), int(support[place])), int(support[place])))
    return _Count(Checked(bound, int(support[best]), int(hits[best])), violated)


# ---- files of tables, as anybody reads them


def _csv_columns(path: Path, wanted: Sequence[str], separator: str, gzipped: bool) -> dict[str, Any]:
    def opened() -> BinaryIO:
        stream: BinaryIO = pa.input_stream(str(path), compression="gzip" if gzipped else None)
        return stream

    parse = arrow_csv.ParseOptions(delimiter=separator)

    def read() -> dict[str, Any]:
        with opened() as stream:
            names = _stored(arrow_csv.open_csv(stream, parse_options=parse).schema.names, wanted)
        texts = pa.dictionary(pa.int32(), pa.string())
        convert = arrow_csv.ConvertOptions(
            include_columns=list(names.values()),
            column_types=dict.fromkeys(names.values(), texts),
            strings_can_be_null=False,
        )
        with opened() as stream:
            block = arrow_csv.ReadOptions(block_size=1 << 22)
            table = arrow_csv.read_csv(stream, read_options=block, parse_options=parse, convert_options=convert)
        return {name: table.column(stored) for name, stored in names.items()}

    return _step(read)


def _parquet_columns(path: Path, wanted: Sequence[str]) -> dict[str, Any]:
    def read() -> dict[str, Any]:
        with path.open("rb") as stream:
            names = _stored(pq.read_schema(stream).names, wanted)
        with path.open("rb") as stream:
            source = pq.ParquetFile(stream, read_dictionary=list(names.values()))
            table = source.read(columns=list(names.values()))
        return {name: table.column(stored) for name, stored in names.items()}

    return _step(read)


def _stored(names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    stored = {name.strip(): name for name in names}
    return {name: stored[name] for name in wanted}


def _step(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Read what was written; an error's text may quote cells, and is not passed on."""
    try:
        return read()
    except (pa.ArrowException, KeyError, OSError, ValueError):
        problem = "the table as written cannot be read back to be checked, so that it was not released"
    raise FileError(problem)


# ---- baskets


def count_violations(baskets: Iterable[frozenset[str]], bounds: Sequence[_PlainBound]) -> tuple[int, list[int]]:
    """Return the number of baskets, and of each bound in how many patterns of its channel it is exceeded.

    >>> bounds = [(["a"], ["b"], 1, 2), (["a"], ["b"], 1, 3)]
    >>> count_violations([frozenset("ab"), frozenset("a"), frozenset("b")], bounds)
    (3, [1, 2])
    """
    totals: list[Counter[tuple[bool, ...]]] = [Counter() for _ in bounds]
    hits: list[Counter[tuple[bool, ...]]] = [Counter() for _ in bounds]
    n = 0
    for basket in baskets:
        n += 1
        for (channel, sensitive, _, _), total, hit in zip(bounds, totals, hits, strict=True):
            pattern = tuple([item in basket for item in channel])
            total[pattern] += 1
            if basket.issuperset(sensitive):
                hit[pattern] += 1
    wrong = [
        sum(count * den > total[pattern] * num for pattern, count in hit.items())
        for (_, _, num, den), total, hit in zip(bounds, totals, hits, strict=True)
    ]
    return n, wrong


def read_again(
    path: Path, kind: str, *, packed: bool, separator: str, skip: int, places: Sequence[int], columns: Sequence[str]
) -> Iterator[frozenset[str]]:
    """Yield the baskets of a file, told how it lies on disk: in words, as of ``BasketLayout``."""
    if columns:
        yield from _parquet(path, kind, columns)
        return
    with (gzip.open if packed else open)(path, "rb") as raw, _text_of(raw) as text:
        lines = (line.rstrip("\r\n") for line in text)
        header = [next(lines, "") for _ in range(skip)]
        if kind == "dat":
            yield from (frozenset(map(_number, line.split())) for line in lines)
            return
        rows = (_row(line, separator) for line in lines)
        if kind == "lines":
            yield from (_names(cell for at, cell in enumerate(row) if at not in places) for row in rows)
        elif kind == "long":
            cut = (next(csv.reader([line], delimiter=separator)) for line in lines if line)  # quotes at a cell's start
            yield from _grouped((row[places[0]].strip(), row[places[1]]) for row in cut)
        else:
            names = _row(header[-1], separator)
            yield from (_flagged(names, row, places) for row in rows)


def _number(text: str) -> str:
    return text if text[0] != "0" else str(int(text))


def _text_of(raw: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="\n")


def _row(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split() if '"' not in line else next(csv.reader([line.replace("\t", " ")], delimiter=" "))
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])


def _names(cells: Iterable[str]) -> frozenset[str]:
    return frozenset(name for cell in cells if (name := cell.strip()))


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> Iterator[frozenset[str]]:
    found: dict[Any, set[str]] = {}
    for transaction, item in pairs:
        found.setdefault(transaction, set()).add(str(item).strip())
    yield from map(frozenset, found.values())


def _flagged(names: Sequence[str], row: Sequence[str], places: Sequence[int]) -> frozenset[str]:
    return frozenset(
        name.strip()
        for at, (name, flag) in enumerate(zip(names, row, strict=False))
        if at not in places and flag.strip().lower() in _YES
    )


def _parquet(path: Path, kind: str, columns: Sequence[str]) -> Iterator[frozenset[str]]:
    present = [name for name in columns if name in pq.read_schema(path).names]
    batches = pq.ParquetFile(path).iter_batches(columns=present)
    rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    yield from of_rows(rows, kind, present)


def of_rows(rows: Iterable[tuple[Any, ...]], kind: str, columns: Sequence[str]) -> Iterator[frozenset[str]]:
    """Yield the baskets of a table's rows: of all items, of transactions and items, or of lists, by kind."""
    if kind == "long":
        yield from _grouped((row[0], row[1]) for row in rows)
    elif kind == "list":
        yield from (_names(map(str, row[0] if row[0] is not None else ())) for row in rows)
    else:
        yield from (
            frozenset(name.strip() for name, flag in zip(columns, row, strict=True) if flag is not None and flag == 1)
            for row in rows
        )
