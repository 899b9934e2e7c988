"""The last check before a release, by code independent of the code that made it.

It counts all bounds again, also redundant ones, in the table or the baskets as written, before these get their name. It
uses no reader, writer or count of this package. In a table pyarrow reads and counts the cells; cells of a channel count
as written, with blanks, because readers can distinguish these. Lines of baskets are split by Python's csv, and Parquet
is read by pyarrow. A share is compared with its bound as a fraction.
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
from assocpriv.guarantees.errors import FileError

if TYPE_CHECKING:
    from assocpriv.suppress.inference_templates import ConfidenceBound

    Bounds = Sequence[ConfidenceBound]

# ---- tables


_BLOCK_BYTES = 1 << 22
_Coded = dict[str, tuple[list[Any], Any]]


@dataclass(frozen=True, slots=True)
class Inference:
    """A bound and a pattern of its channel: the records with the pattern, and the hits among them."""

    bound: "ConfidenceBound"
    support: int
    hits: int
    values: tuple[str | None, ...] = ()  # of the channel, if known

    @property
    def confidence(self) -> Fraction:
        """The share of hits."""
        return Fraction(self.hits, self.support)


def count_file(path: Path, bounds: "Bounds", *, separator: str | None, gzipped: bool = False) -> tuple[Inference, ...]:
    """Count all bounds in a file on disk, Parquet if there is no separator; return the highest confidences.

    Raises:
        FileError: a bound is violated, or the file cannot be read.
    """
    cells = None
    with contextlib.suppress(pa.ArrowException, KeyError, OSError, ValueError):  # their texts may quote cells
        batches = _csv_batches(path, separator, bounds, gzipped) if separator else _parquet_batches(path, bounds)
        cells = _coded(batches, bounds)
    if cells is None:
        raise FileError("the written table cannot be read back for the check, so it was not released")
    return _count(cells, bounds)


def count_columns(columns: Mapping[str, Any], bounds: "Bounds") -> tuple[Inference, ...]:
    """Count all bounds in Arrow columns, as :func:`count_file`."""
    return _count(_coded(pa.table(columns).to_batches(), bounds), bounds)


def _coded(batches: Iterable[Any], bounds: "Bounds") -> _Coded:
    """Return for each column its distinct cells, as texts and as written, and their places for all records."""
    seen: dict[str, dict[Any, int]] = {name: {} for name in _names(bounds)}
    parts: dict[str, list[Any]] = {name: [] for name in seen}
    for batch in batches:
        for name, codes in seen.items():
            column = batch.column(name)
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            values = [(_text(value), str(value)) for value in encoded.dictionary.to_pylist()]
            places = [codes.setdefault(value, len(codes)) for value in (*values, None)]
            indices = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
            parts[name].append(np.array(places, dtype=np.int32)[indices])
    return {name: ([*codes], pa.array(np.concatenate(parts[name]))) for name, codes in seen.items()}


def _names(bounds: "Iterable[ConfidenceBound]") -> set[str]:
    return {name for bound in bounds for name in (*bound.channel, bound.column)}


def _count(cells: _Coded, bounds: "Bounds") -> tuple[Inference, ...]:
    found: dict[ConfidenceBound, Inference] = {}
    for channel in {frozenset(bound.channel) for bound in bounds}:
        alike = [bound for bound in bounds if frozenset(bound.channel) == channel]
        given = {name: cells[name][1] for name in channel}
        for place, bound in enumerate(alike):
            distinct, places = cells[bound.column]
            has = [int(value is not None and value[0] == bound.value) for value in distinct]
            given[f"\0{place}"] = pa.array(has, pa.int8()).take(places)
        sums = [([], "count_all"), *((f"\0{place}", "sum") for place in range(len(alike)))]
        counts = pa.table(given).group_by(list(channel)).aggregate(sums)
        for place, bound in enumerate(alike):
            hits = counts.column(f"\0{place}_sum").to_numpy()
            found[bound] = _highest(bound, counts.column("count_all").to_numpy(), hits)
    violated = [bound for bound in bounds if found[bound].confidence > bound.confidence]
    if violated:
        raise FileError(
            f"the written release violates {len(violated)} of {len(bounds)} bounds, first {violated[0]}; it was not "
            "released. This is a fault of the program: please report it"
        )
    return tuple(found[bound] for bound in bounds)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _highest(bound: "ConfidenceBound", support: NDArray[np.int64], hits: NDArray[np.int64]) -> Inference:
    """Return the pattern of the highest confidence, a fraction; of equal ones the largest."""
    distinct = set(zip(support.tolist(), hits.tolist(), strict=True))
    return max((Inference(bound, *pair) for pair in distinct), key=lambda each: (each.confidence, each.support))


# ---- files of tables, read with pyarrow alone


def _csv_batches(path: Path, separator: str, bounds: "Bounds", gzipped: bool) -> Iterator[Any]:
    with (gzip.open if gzipped else open)(path, "rb") as file:
        header = next(csv.reader([file.readline().decode()], delimiter=separator))
        names, parse = _stored(header, bounds), arrow_csv.ParseOptions(delimiter=separator)
        texts = dict.fromkeys(names.values(), pa.dictionary(pa.int32(), pa.string()))
        convert = arrow_csv.ConvertOptions(include_columns=[*texts], column_types=texts, strings_can_be_null=False)
        while text := file.read(_BLOCK_BYTES) + file.readline():  # Arrow would read any number of blocks ahead
            block = arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=header)
            table = arrow_csv.read_csv(pa.BufferReader(text), block, parse, convert)
            yield from table.rename_columns([*names]).to_batches()


def _parquet_batches(path: Path, bounds: "Bounds") -> Iterator[Any]:
    names = _stored(pq.read_schema(path).names, bounds)
    source = pq.ParquetFile(path, read_dictionary=[*names.values()])
    for batch in source.iter_batches(columns=[*names.values()]):
        yield pa.record_batch([batch.column(stored) for stored in names.values()], names=[*names])


def _stored(names: Sequence[str], bounds: "Bounds") -> dict[str, str]:
    stored = {name.strip(): name for name in names}
    return {name: stored[name] for name in sorted(_names(bounds))}


# ---- baskets

_ROWS, _CELLS = 1 << 11, 1 << 16  # Python objects at a time
BasketRow = tuple[Set[str], Set[str]]  # a basket's items, and the items that are hidden in it


def count_baskets(rows: Iterable[BasketRow], bounds: "Bounds", n_baskets: int) -> tuple[Inference, ...]:
    """Count all bounds in baskets, as :func:`count_file`; missing ones, as in the long layout, are empty."""
    columns = {}
    for name, held in cells_of(rows, bounds).items():
        if len(held) > n_baskets:
            raise FileError("more baskets were written than given, so they were not released; please report this fault")
        held.extend(bytes(n_baskets - len(held)))
        places = pa.array(np.frombuffer(held, dtype=np.int8))
        columns[name] = pa.chunked_array([pa.DictionaryArray.from_arrays(places, ["no", "yes", "hidden"])])
    return count_columns(columns, bounds)


def cells_of(rows: Iterable[BasketRow], bounds: "Bounds") -> dict[str, bytearray]:
    """Return for each channel item and sensitive itemset one byte per basket: 1 if present, 2 if hidden, else 0."""
    sets = {item: {item} for bound in bounds for item in bound.channel}
    sets |= {bound.column: set(bound.column.split(", ")) for bound in bounds}
    cells = {name: bytearray() for name in sets}
    for basket, hidden in rows:
        for name, items in sets.items():
            cells[name].append(2 if items & hidden else items <= basket)
    return cells


def rows_of_text(path: Path, kind: str, separator: str, *, packed: bool) -> Iterator[BasketRow]:
    """Yield the baskets of a text file of a layout (a kind of ``BasketLayout``)."""
    with (gzip.open if packed else open)(path, "rb") as raw, io.TextIOWrapper(raw, "utf-8", newline="\n") as text:
        rows = csv.reader(text, delimiter=separator)
        yield from rows_of(rows, kind, next(rows) if kind in ("long", "one-hot") else ())


def rows_of_arrow(table: Any, kind: str) -> Iterator[BasketRow]:
    """Yield the baskets of a Parquet file, or of an Arrow table."""
    names = (pq.read_schema(table) if isinstance(table, Path) else table.schema).names
    most = max(1, min(_ROWS, _CELLS // len(names)))
    batches = pq.ParquetFile(table).iter_batches(most) if isinstance(table, Path) else table.to_batches(most)
    rows = (row for each in batches for row in zip(*(column.to_pylist() for column in each.columns), strict=True))
    yield from rows_of(rows, kind, names)


def rows_of(rows: Iterable[Sequence[Any]], kind: str, names: Sequence[str]) -> Iterator[BasketRow]:
    """Yield the baskets of rows of cells; FileError for an invalid cell."""
    if kind == "long":
        found: dict[Any, set[str]] = {}
        for transaction, item in rows:
            found.setdefault(transaction, set()).add(str(item))
        yield from ((items, set()) for items in found.values())
        return
    for row in rows:
        if kind == "one-hot":
            held, hidden, others = (
                {name for name, cell in zip(names, row, strict=False) if cell in which}
                for which in ((1, "1"), (None, "*"), (0, "0"))
            )
            if not len(held) + len(hidden) + len(others) == len(names) == len(row):
                raise FileError("a row of a one-hot table has a cell that is neither 1, 0 nor hidden, or too few cells")
            yield held, hidden
        else:
            yield (set(row[0] or ()), set(row[1] or ())) if kind == "list" else (set(row) - {""}, set())
