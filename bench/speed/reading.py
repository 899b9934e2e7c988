"""Reading basket files beside pyarrow's own reading of the same file, in one process, the sides in turn."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from assocpriv.records.basket_files import read_baskets
from assocpriv.records.layout import ReadOptions
from bench.speed.timing import medians

ITEMS, FLAGS = 5_000, 10
MEAN_SIZE = 4
AS_TEXT = arrow_csv.ParseOptions(delimiter="\x01")  # which no file has: a line is one text


def receipts(n_rows: int) -> pa.Table:
    """Return a row an item: receipts one after the other, few items that are bought often."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 2 * MEAN_SIZE, size=n_rows // 2)
    numbers = np.repeat(np.arange(100_000, 100_000 + len(sizes)), sizes)[:n_rows]
    items = pa.array([f"product {number:04}" for number in range(ITEMS)])
    return pa.table({"receipt": numbers, "item": items.take(pa.array(rng.zipf(1.3, n_rows) % ITEMS))})


def write_files(folder: Path, n_rows: int) -> dict[str, Callable[[Path], object]]:
    """Write a file of each layout, each of so many rows, and return how pyarrow reads it, by the file's name."""
    rng = np.random.default_rng(2)
    table = receipts(n_rows)
    arrow_csv.write_csv(table, folder / "long.csv")
    pq.write_table(table, folder / "long.parquet")
    flags = pa.table({f"item {place}": rng.integers(0, 2, n_rows, dtype=np.int8) for place in range(FLAGS)})
    arrow_csv.write_csv(flags, folder / "one-hot.csv")
    lines = np.char.mod("%d", rng.integers(0, ITEMS, size=(min(n_rows, 100_000), MEAN_SIZE)))
    block = "".join(" ".join(dict.fromkeys(line)) + "\n" for line in lines.tolist())
    with (folder / "baskets.dat").open("w") as file:
        for _ in range(n_rows // len(lines)):
            file.write(block)
    return {
        "long.csv": arrow_csv.read_csv,
        "long.parquet": pq.read_table,
        "one-hot.csv": arrow_csv.read_csv,
        "baskets.dat": lambda path: arrow_csv.read_csv(path, parse_options=AS_TEXT),
    }


def run(n_rows: int) -> dict[str, Any]:
    """Return seconds of each file and how many times as long we take as pyarrow."""
    found: dict[str, Any] = {"rows": n_rows}
    options = ReadOptions(repeats="merge", empty="keep")
    with TemporaryDirectory() as folder:
        for name, read in write_files(Path(folder), n_rows).items():
            path = Path(folder, name)
            ours, theirs = medians(partial(read_baskets, path, None, options), partial(read, path), rounds=3)
            found |= {f"{name}_s": ours, f"{name}_times_pyarrow": ours / theirs}
    return found
