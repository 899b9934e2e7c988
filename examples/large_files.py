"""From a file of baskets to itemsets in batches: clients and server use a fixed amount of memory.

Run: python examples/large_files.py
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import assocpriv as ap

MEMORY = 64 << 20  # bytes of data in memory, for files of any size


def write_some_baskets(path: Path) -> None:
    """Write 300,000 baskets of one to five of 200 items, in which 7 and 11 are often together."""
    rng = np.random.default_rng(1)
    with path.open("w", encoding="ascii") as file:
        for size, together in zip(rng.integers(1, 4, 300_000), rng.random(300_000) < 0.1, strict=True):
            basket = set(rng.integers(0, 200, size).tolist()) | ({7, 11} if together else set())
            file.write(" ".join(map(str, sorted(basket))) + "\n")


def show(stage: str, done: int, total: int) -> None:
    """Print a stage when it is done."""
    if done == total:
        print(f"{stage}: {total:,}", file=sys.stderr)


def main() -> None:
    """Randomize one file into another, and mine the reports."""
    with tempfile.TemporaryDirectory() as folder:
        baskets, reports = Path(folder, "baskets.dat"), Path(folder, "reports.parquet")
        write_some_baskets(baskets)
        plan = ap.plan(200, transaction_size=5, guarantee=ap.Guarantee("5%", "50%"), reports=300_000)
        done = ap.randomize(baskets, plan, reports, memory_bytes=MEMORY)
        print(f"{done.read.baskets:,} baskets became {reports.stat().st_size:,} bytes of reports")
        itemsets = ap.mine(reports, min_support="3%", memory_bytes=MEMORY, progress=show)
        columns = ["itemsets", "support", "ci_low", "ci_high"]
        print(itemsets.loc[itemsets["selected"], columns].to_string(index=False))


if __name__ == "__main__":
    main()
