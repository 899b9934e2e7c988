"""The last check before a release, by code that made nothing of it.

All bounds are counted anew, those too that others imply, in the table or the baskets as they will be read, before these
get their name. No reader, writer or count of this package is used. Of a table pyarrow alone reads and counts the cells;
a channel's cells count as they are written, blanks and all, because that is what can be told apart. Of baskets lines
are cut by Python's csv, and Parquet is read by pyarrow. A share is compared with its bound as a fraction.
"""

import contextlib
import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import arrow_csv, pa, pq
from assocpriv.promise.errors import FileError

if TYPE_CHECKING:
    from assocpriv.suppress.templates import Bound

# ---- tables


@dataclass(frozen=True, slots=True)
class Checked:
    """A bound, and the pattern of its channel with the highest confidence: records with it, and hits among them."""

    bound: "Bound"
    support: int
    hits: int
    values: tuple[str | None, ...] = ()  # of the channel, where they are told

    @property
    def confidence(self) -> Fraction:
        """The highest confidence."""
        return Fraction(self.hits, self.support)


def count_file(
    path: Path, bounds: "Sequence[Bound]", *, separator: str | None, gzipped: bool = False
) -> tuple[Checked, ...]:
    """Count all bounds in a file as it lies on disk: Parquet if there is no separator.

    Raises:
        FileError: a bound is violated, or the file cannot be read.
    """
    wanted = {name for bound in bounds for name in (*bound.channel, bound.column)}
    columns = None
    with contextlib.suppress(pa.ArrowException, KeyError, OSError, ValueError):  # their texts may quote cells
        columns = _csv_columns(path, wanted, separator, gzipped) if separator else _parquet_columns(path, wanted)
    if columns is None:
        raise FileError("the table as written cannot be read back to be checked, so that it was not released")
    return count_columns(columns, bounds)


def count_columns(columns: Mapping[str, Any], bounds: "Sequence[Bound]") -> tuple[Checked, ...]:
    """Count all bounds in columns that Arrow holds, as :func:`count_file`."""
    cells = {name: _codes(values) for name, values in columns.items()}
    found: dict[Bound, tuple[Checked, bool]] = {}
    for channel in {frozenset(bound.channel) for bound in bounds}:
        alike = [bound for bound in bounds if frozenset(bound.channel) == channel]
        given = {name: cells[name][1] for name in channel}
        for place, bound in enumerate(alike):
            distinct, places = cells[bound.column]
            has = pa.array([int(_text(value) == bound.value) for value in distinct], pa.int8())
            given[f"\0{place}"] = has.take(places)
        sums = [([], "count_all"), *((f"\0{place}", "sum") for place in range(len(alike)))]
        counts = pa.table(given).group_by(list(channel)).aggregate(sums)
        for place, bound in enumerate(alike):
            hits = counts.column(f"\0{place}_sum").to_numpy()
            found[bound] = _highest(bound, counts.column("count_all").to_numpy(), hits)
    violated = [bound for bound in bounds if found[bound][1]]
    if violated:
        raise FileError(
            f"the release as written violates {len(violated)} of {len(bounds)} bounds, the first {violated[0]}; it was "
            "not released, and this is a fault of the program: please report it"
        )
    return tuple(found[bound][0] for bound in bounds)


def _codes(values: Any) -> tuple[list[Any], Any]:
    """Return a column's distinct cells, and of each record the place among these, as Arrow's array."""
    encoded = pa.table({"": values}).unify_dictionaries().column(0)
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    whole = encoded.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    distinct = whole.dictionary.to_pylist()
    return [*distinct, None], whole.indices.fill_null(len(distinct))


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _highest(bound: "Bound", support: NDArray[np.int64], hits: NDArray[np.int64]) -> tuple[Checked, bool]:
    """Return the pattern of the highest confidence, and whether any is above the bound, in integers."""
    counted = zip(hits.tolist(), support.tolist(), strict=True)
    distinct = {(Fraction(hit, all_), all_, hit) for hit, all_ in set(counted)}
    share, all_, hit = max(distinct)
    return Checked(bound, all_, hit), share > bound.confidence


# ---- files of tables, as anybody reads them


def _csv_columns(path: Path, wanted: Set[str], separator: str, gzipped: bool) -> dict[str, Any]:
    def read(names: Sequence[str] = ()) -> Any:
        texts = dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string()))
        convert = arrow_csv.ConvertOptions(include_columns=names, column_types=texts, strings_can_be_null=False)
        with pa.input_stream(str(path), compression="gzip" if gzipped else None) as stream:
            parse, block = arrow_csv.ParseOptions(delimiter=separator), arrow_csv.ReadOptions(block_size=1 << 22)
            if not names:
                return arrow_csv.open_csv(stream, block, parse).schema.names
            return arrow_csv.read_csv(stream, block, parse, convert)

    names = _stored(read(), wanted)
    table = read(list(names.values()))
    return {name: table.column(stored) for name, stored in names.items()}


def _parquet_columns(path: Path, wanted: Set[str]) -> dict[str, Any]:
    names = _stored(pq.read_schema(path).names, wanted)
    source = pq.ParquetFile(path, read_dictionary=list(names.values()))
    table = source.read(columns=list(names.values()))
    return {name: table.column(stored) for name, stored in names.items()}


def _stored(names: Sequence[str], wanted: Set[str]) -> dict[str, str]:
    stored = {name.strip(): name for name in names}
    return {name: stored[name] for name in wanted}


# ---- baskets

_Row = tuple[Set[str], Set[str]]  # items that a basket holds, and items that are hidden in it


def count_baskets(rows: Iterable[_Row], bounds: "Sequence[Bound]", n_baskets: int) -> tuple[Checked, ...]:
    """Count all bounds in baskets, as :func:`count_file`; those that are not seen, as in the long layout, are empty."""
    sets = {item: {item} for bound in bounds for item in bound.channel}
    sets |= {bound.column: set(bound.column.split(", ")) for bound in bounds}
    cells = {name: bytearray() for name in sets}
    for basket, hidden in rows:
        for name, items in sets.items():
            cells[name].append(2 if items & hidden else items <= basket)
    columns = {}
    for name, held in cells.items():
        if len(held) > n_baskets:
            raise FileError("more baskets were written than there are; they were not released: please report it")
        held.extend(bytes(n_baskets - len(held)))
        places = pa.array(np.frombuffer(held, dtype=np.int8))
        columns[name] = pa.chunked_array([pa.DictionaryArray.from_arrays(places, ["no", "yes", "hidden"])])
    return count_columns(columns, bounds)


def rows_of_text(path: Path, kind: str, separator: str, *, packed: bool) -> Iterator[_Row]:
    """Yield the baskets of a file of text, told how it lies on disk: in words, as of ``BasketLayout``."""
    with (gzip.open if packed else open)(path, "rb") as raw, io.TextIOWrapper(raw, "utf-8", newline="\n") as text:
        rows = csv.reader(text, delimiter=separator)
        yield from _rows(rows, kind, next(rows) if kind in ("long", "one-hot") else ())


def rows_of_arrow(table: Any, kind: str) -> Iterator[_Row]:
    """Yield the baskets of a Parquet file, or of a table of Arrow."""
    batches = pq.ParquetFile(table).iter_batches() if isinstance(table, Path) else table.to_batches()
    names = (pq.read_schema(table) if isinstance(table, Path) else table.schema).names
    yield from _rows(
        (row for each in batches for row in zip(*(column.to_pylist() for column in each.columns), strict=True)),
        kind,
        names,
    )


def _rows(rows: Iterable[Sequence[Any]], kind: str, names: Sequence[str]) -> Iterator[_Row]:
    if kind == "long":
        found: dict[Any, set[str]] = {}
        for transaction, item in rows:
            found.setdefault(transaction, set()).add(str(item))
        yield from ((items, set()) for items in found.values())
        return
    for row in rows:
        if kind == "one-hot":
            cells = list(zip(names, row, strict=True))
            yield (
                {name for name, cell in cells if cell in (1, "1")},
                {name for name, cell in cells if cell in (None, "*")},
            )
        else:
            yield (set(row[0]), set(row[1])) if kind == "list" else (set(row) - {""}, set())
