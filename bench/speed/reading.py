"""Files of baskets read whole, beside what pyarrow and pandas take to read the same file and make nothing of it.

Each file has as many lines, or rows, as are asked for: sales of 1,000 items about five a receipt, a one-hot table
of 20 items, and the same sales as lines of item numbers.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from assocpriv import read_baskets
from bench.speed.child import measure
from bench.speed.timing import medians, settled

_PART = 1_000_000  # rows made at a time
_FLAGS = [f"item {number}" for number in range(20)]


def _long(rows: int, before: int, rng: np.random.Generator) -> pa.Table:
    items = (1000 * rng.random(rows) ** 2).astype(np.int32)
    names = pa.array([f"product {number:04}" for number in range(1000)])
    receipts = before + np.cumsum(rng.random(rows) < 0.2)
    return pa.table({"receipt": receipts, "item": names.take(pa.array(items))})


def _onehot(rows: int, _before: int, rng: np.random.Generator) -> pa.Table:
    return pa.table({name: (rng.random(rows) < 0.2).astype(np.int8) for name in _FLAGS})


def _write(path: Path, rows: int, make: Callable[[int, int, np.random.Generator], pa.Table]) -> None:
    rng = np.random.default_rng(0)
    parts = [(min(_PART, rows - before), before) for before in range(0, rows, _PART)]
    schema = make(1, 0, rng).schema
    writer = pq.ParquetWriter(path, schema) if path.suffix == ".parquet" else csv.CSVWriter(path, schema)
    with writer:
        for part in parts:
            writer.write_table(make(*part, rng))


def _write_dat(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    with path.open("w") as stream:
        for before in range(0, rows, _PART):
            n = min(_PART, rows - before)
            numbers = np.sort((1000 * rng.random((n, 5)) ** 2).astype(int), axis=1).astype(str)
            stream.writelines(" ".join(dict.fromkeys(line)) + "\n" for line in numbers.tolist())


def compare(kind: str, rows: int, turns: int) -> dict[str, Any]:
    """Return seconds and ratios for a kind of file (a task)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / {"dat": "lines.dat", "parquet": "long.parquet"}.get(kind, f"{kind}.csv")
        if kind == "dat":
            _write_dat(path, rows)
        else:
            _write(path, rows, _onehot if kind == "one-hot" else _long)
        merge = {"repeats": "merge", "empty": "keep"}
        one_column = csv.ReadOptions(column_names=["line"])
        bare = {
            "parquet": lambda: pq.read_table(path),
            "dat": lambda: csv.read_csv(path, one_column, csv.ParseOptions(delimiter="|")),
        }.get(kind, lambda: csv.read_csv(path))
        ours, arrow = medians(lambda: read_baskets(path, **merge), bare, rounds=turns)
        pandas = None if kind == "dat" else settled(lambda: _by_pandas(path, kind), 1)
        found = {
            "ours_s": ours,
            "pyarrow_s": arrow,
            "ours_over_pyarrow": ours / arrow,
            "megabytes": path.stat().st_size / 1e6,
        }
    return found if pandas is None else found | {"pandas_s": pandas, "ours_over_pandas": ours / pandas}


def _by_pandas(path: Path, kind: str) -> Any:
    return pd.read_parquet(path) if kind == "parquet" else pd.read_csv(path)


def run(rows: int, turns: int = 3) -> dict[str, Any]:
    """Run each kind in a process of its own."""
    kinds = ("long", "one-hot", "parquet", "dat")
    return {kind: measure("bench.speed.reading:compare", kind=kind, rows=rows, turns=turns) for kind in kinds}
