"""Reading basket files, against pyarrow's own reading of the same file; separate processes take turns."""

from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from assocpriv.records.basket_files import read_baskets
from assocpriv.records.layout import ReadOptions
from bench.speed.measuring import measure, seconds, take_turns

ITEMS, FLAGS = 5_000, 10
MEAN_SIZE = 4
TURNS = 7
_SIDES = ("ours", "theirs")
AS_TEXT = arrow_csv.ParseOptions(delimiter="\x01")  # occurs in no file, so a line is one text


def receipts(n_rows: int) -> pa.Table:
    """Return one row per item: receipts one after the other, with few frequent items."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 2 * MEAN_SIZE, size=n_rows // 2)
    numbers = np.repeat(np.arange(100_000, 100_000 + len(sizes)), sizes)[:n_rows]
    items = pa.array([f"product {number:04}" for number in range(ITEMS)])
    return pa.table({"receipt": numbers, "item": items.take(pa.array(rng.zipf(1.3, n_rows) % ITEMS))})


def write_files(folder: Path, n_rows: int) -> list[str]:
    """Write one file per layout with ``n_rows`` rows each; return their names."""
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
    return ["long.csv", "long.parquet", "one-hot.csv", "baskets.dat"]


def ours(path: str) -> dict[str, Any]:
    """Read baskets once, after a small file that triggers all lazy loading."""
    options = ReadOptions(repeats="merge", empty="keep")
    small = Path(path).with_name("small.dat" if path.endswith(".dat") else "small.csv")
    small.write_text("1 2\n" if path.endswith(".dat") else "receipt,item\n1,tea\n")
    read_baskets(small, None, options)
    return {"seconds": seconds(lambda: read_baskets(path, None, options))}


def theirs(path: str) -> dict[str, Any]:
    """Read a table once, after a small one; item numbers are read as lines of text."""
    arrow_csv.read_csv(BytesIO(b"receipt,item\n1,tea\n"))
    if path.endswith(".parquet"):
        return {"seconds": seconds(lambda: pq.read_table(path))}
    parsed = AS_TEXT if path.endswith(".dat") else None
    return {"seconds": seconds(lambda: arrow_csv.read_csv(path, parse_options=parsed))}


def run(n_rows: int) -> dict[str, Any]:
    """Return our seconds per file, and our time and memory divided by pyarrow's."""
    found: dict[str, Any] = {"rows": n_rows}
    with TemporaryDirectory() as folder:
        for name in write_files(Path(folder), n_rows):
            sides = {side: partial(measure, f"bench.speed.reading:{side}", path=f"{folder}/{name}") for side in _SIDES}
            outcome = take_turns(sides, TURNS)
            mine, other = (outcome[side] for side in _SIDES)
            found |= {
                f"{name}_s": mine["seconds"],
                f"{name}_times_pyarrow": mine["seconds"] / other["seconds"],
                f"{name}_memory_times_pyarrow": mine["peak_mb"] / other["peak_mb"],
            }
    return found
