"""From a file of baskets to itemsets, batch by batch: neither side holds more than a fixed memory.

Run: python examples/large_files.py
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import assocpriv as ap

MEMORY = 64 << 20  # bytes of the data, whatever the size of the files


def write_some_baskets(path: Path) -> None:
    """Write 300,000 baskets of one to five of 200 items, in which 7 and 11 often go together."""
    rng = np.random.default_rng(1)
    with path.open("w", encoding="ascii") as file:
        for size, together in zip(rng.integers(1, 4, 300_000), rng.random(300_000) < 0.1, strict=True):
            basket = set(rng.integers(0, 200, size).tolist()) | ({7, 11} if together else set())
            file.write(" ".join(map(str, sorted(basket))) + "\n")


def show(what: str, done: int, total: int) -> None:
    """Say how far the work is."""
    if done == total:
        print(f"{what}: {total:,}", file=sys.stderr)


def main() -> None:
    """Randomize one file into another, and mine that."""
    with tempfile.TemporaryDirectory() as folder:
        baskets, reports = Path(folder, "baskets.dat"), Path(folder, "reports.parquet")
        write_some_baskets(baskets)
        plan = ap.plan(200, transaction_size=5, promise=ap.Breach("5%", "50%"), reports=300_000)
        done = ap.randomize(baskets, plan, reports, memory_bytes=MEMORY)
        print(f"{done.read.baskets:,} baskets became {reports.stat().st_size:,} bytes of reports")
        itemsets = ap.mine(reports, min_support="3%", memory_bytes=MEMORY, progress=show)
        columns = ["itemsets", "support", "ci_low", "ci_high"]
        print(itemsets.loc[itemsets["listed"], columns].to_string(index=False))


if __name__ == "__main__":
    main()
