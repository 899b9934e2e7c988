"""The check of released baskets before they get their name: read and counted again by nothing that made them.

It imports no reader, no writer and no count of this package: lines are cut by Python's csv, Parquet is read by
pyarrow, and patterns are counted one basket after the other. All templates are checked, those too that others imply.
"""

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

_YES = ("1", "1.0", "true", "t", "yes", "y", "x")
_Bound = tuple[Sequence[str], Sequence[str], int, int]  # channel, sensitive itemset, the limit's two numbers


def count_violations(baskets: Iterable[frozenset[str]], bounds: Sequence[_Bound]) -> tuple[int, list[int]]:
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
    with (gzip.open if packed else open)(path, "rb") as raw, _text(raw) as text:
        lines = (line.rstrip("\r\n") for line in text)
        header = [next(lines, "") for _ in range(skip)]
        if kind == "dat":
            yield from (frozenset(map(_number, line.split())) for line in lines)
            return
        rows = (_row(line, separator) for line in lines)
        if kind == "basket":
            yield from (_names(cell for at, cell in enumerate(row) if at not in places) for row in rows)
        elif kind == "long":
            cut = (next(csv.reader([line], delimiter=separator)) for line in lines if line)  # quotes at a cell's start
            yield from _grouped((row[places[0]].strip(), row[places[1]]) for row in cut)
        else:
            names = _row(header[-1], separator)
            yield from (_flagged(names, row, places) for row in rows)


def _number(text: str) -> str:
    return text if text[0] != "0" else str(int(text))


def _text(raw: Any) -> io.TextIOWrapper:
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
    import pyarrow.parquet as pq

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
