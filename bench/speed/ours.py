"""The jobs of assocpriv as tasks: from a file to a result, with imports before the clock starts."""

import warnings
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.speed.timing import LONG_S, seconds


def _ready() -> Any:
    """Import all modules that mining uses, so that times exclude imports."""
    import pandas as pd  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import assocpriv as ap
    import assocpriv.server.baskets.mining

    warnings.simplefilter("ignore")  # warnings about itemsets that were not counted
    return ap


def mine_file(reports_path: str, support: str, *, memory_bytes: int | None = None) -> dict[str, Any]:
    """Mine a report file and write the itemsets; ``again_s`` is the time of a second run in the same process."""
    ap = _ready()
    bounded = {"memory_bytes": memory_bytes} if memory_bytes else {}
    found = []

    def job() -> None:
        found.append(ap.mine(reports_path, support, **bounded))
        with TemporaryDirectory() as folder:
            ap.write_itemsets(found[-1], Path(folder) / "itemsets.parquet")

    first = seconds(job)
    again = {} if first > LONG_S else {"again_s": seconds(job)}
    selected = found[-1]["length"][found[-1]["selected"]]
    candidates = [number for number, _ in found[-1].attrs["assocpriv"]["counted"]]
    return {"seconds": first} | again | {"itemsets": len(selected), "candidates": candidates}


def mine_baskets(baskets_path: str, support: str, max_itemset: int) -> dict[str, Any]:
    """Mine raw baskets exactly, with the counter of the truth in simulations."""
    ap = _ready()
    from assocpriv.simulation.basket_simulation import RawCounter, TrueSupports

    start = perf_counter()
    baskets = ap.read_baskets(baskets_path)
    loaded = perf_counter()
    counter = RawCounter(baskets.offsets, baskets.items, len(baskets.catalogue))
    least = least_count(support, len(baskets)) - 0.5
    found = TrueSupports(baskets.catalogue, counter).frequent(least / len(baskets), max_itemset)
    done = perf_counter()
    return {"seconds": done - start, "mining_s": done - loaded, "itemsets": len(found)}


def least_count(support: str, transactions: int) -> int:
    """Return the smallest count with at least a support such as "2%"."""
    return -int(-Fraction(support.rstrip("%")) / 100 * transactions // 1)
