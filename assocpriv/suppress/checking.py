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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
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

_Row = tuple[Set[str], Set[str]]  # items that a basket holds, and items that are hidden in it


def count_baskets(rows: Iterable[_Row], bounds: "Sequence[Bound]", n_baskets: int) -> tuple[Checked, ...]:
    """Count all bounds, of one channel, in baskets; those that are not seen, as in the long layout, are empty.

    Raises:
        FileError: a bound is violated, or there are more baskets than came in.
    """
    totals: Counter[tuple[bool | None, ...]] = Counter()
    hits: list[Counter[tuple[bool | None, ...]]] = [Counter() for _ in bounds]
    sets = [frozenset(bound.column.split(", ")) for bound in bounds]
    seen = 0
    for basket, hidden in rows:
        seen += 1
        pattern = tuple([None if item in hidden else item in basket for item in bounds[0].channel])
        totals[pattern] += 1
        for items, hit in zip(sets, hits, strict=True):
            hit[pattern] += basket >= items
    if seen < n_baskets:
        totals[tuple([False for _ in bounds[0].channel])] += n_baskets - seen
    patterns = list(totals)
    support = np.array([totals[pattern] for pattern in patterns])
    found = [_highest(bound, support, np.array([hit[pattern] for pattern in patterns]))
             for bound, hit in zip(bounds, hits, strict=True)]  # fmt: skip
    if seen > n_baskets or any(each.violated for each in found):
        raise FileError(
            f"the check of the released baskets failed: {seen:,} of {n_baskets:,} baskets; nothing was released; "
            "this is a fault of the program, please report it"
        )
    return tuple(each.highest for each in found)


def rows_of_text(path: Path, kind: str, separator: str, *, packed: bool) -> Iterator[_Row]:
    """Yield the baskets of a file of text, told how it lies on disk: in words, as of ``BasketLayout``."""
    with (gzip.open if packed else open)(path, "rb") as raw, io.TextIOWrapper(raw, "utf-8", newline="\n") as text:
        rows = csv.reader(text, delimiter=separator)
        if kind == "long":
            next(rows)
            yield from _grouped(rows)
        elif kind == "one-hot":
            names = next(rows)
            for row in rows:
                cells = list(zip(names, row, strict=True))
                yield {name for name, cell in cells if cell == "1"}, {name for name, cell in cells if cell == "*"}
        else:
            yield from ((set(row) - {""}, set()) for row in rows)


def _grouped(pairs: Iterable[Sequence[Any]]) -> Iterator[_Row]:
    found: dict[Any, set[str]] = {}
    for transaction, item in pairs:
        found.setdefault(transaction, set()).add(str(item))
    yield from ((items, set()) for items in found.values())


def rows_of_parquet(path: Path, kind: str) -> Iterator[_Row]:
    """Yield the baskets of a Parquet file."""
    batches = pq.ParquetFile(path).iter_batches()
    names = pq.read_schema(path).names
    columns = (row for batch in batches for row in zip(*(each.to_pylist() for each in batch.columns), strict=True))
    yield from _rows(columns, kind, names)


def rows_of_frame(frame: Any, kind: str) -> Iterator[_Row]:
    """Yield the baskets of a pandas, polars or pyarrow table."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    rows = zip(*(table.get_column(name).to_list() for name in table.columns), strict=True)
    yield from _rows(rows, kind, table.columns)


def _rows(rows: Iterable[tuple[Any, ...]], kind: str, names: Sequence[str]) -> Iterator[_Row]:
    if kind == "long":
        yield from _grouped(rows)
    elif kind == "list":
        yield from ((set(held), set(hidden)) for held, hidden in rows)
    else:
        for row in rows:
            cells = list(zip(names, row, strict=True))
            hidden = {name for name, cell in cells if cell is None or cell != cell}  # noqa: PLR0124 -- not a number
            yield {name for name, cell in cells if name not in hidden and cell}, hidden
