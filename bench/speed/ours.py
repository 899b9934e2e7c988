"""What assocpriv does, as tasks: from a file to a result, imports done before the clock starts."""

import warnings
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.speed.timing import LONG_S, seconds


def _ready() -> Any:
    """Import all that mining uses, so that clocks see work only."""
    import pandas as pd  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import assocpriv as ap
    import assocpriv.kernels.counting
    import assocpriv.server.mining

    warnings.simplefilter("ignore")  # of itemsets that were not counted
    return ap


def mine_file(reports_path: str, support: str, *, memory_bytes: int | None = None) -> dict[str, Any]:
    """Mine a report file and write the itemsets; ``again_s`` is a second time, when all kernels are loaded."""
    ap = _ready()
    bounded = {"memory_bytes": memory_bytes} if memory_bytes else {}
    found = []

    def job() -> None:
        found.append(ap.mine(reports_path, support, **bounded))
        with TemporaryDirectory() as folder:
            ap.write_itemsets(found[-1], Path(folder) / "itemsets.parquet")

    first = seconds(job)
    again = {} if first > LONG_S else {"again_s": seconds(job)}
    listed = found[-1]["length"][found[-1]["listed"]]
    candidates = [number for number, _ in found[-1].attrs["assocpriv"]["counted"]]
    return {"seconds": first} | again | {"itemsets": len(listed), "candidates": candidates}


def mine_baskets(baskets_path: str, support: str, max_itemset: int) -> dict[str, Any]:
    """Mine plain baskets exactly, by the counter that simulations take the truth from."""
    ap = _ready()
    from assocpriv.simulation.simulate import PlainCounter, Truth

    start = perf_counter()
    baskets = ap.read_baskets(baskets_path)
    loaded = perf_counter()
    counter = PlainCounter(baskets.offsets, baskets.items, len(baskets.catalogue))
    least = least_count(support, len(baskets)) - 0.5
    found = Truth(baskets.catalogue, counter).frequent(least / len(baskets), max_itemset)
    done = perf_counter()
    return {"seconds": done - start, "mining_s": done - loaded, "itemsets": len(found)}


def least_count(support: str, transactions: int) -> int:
    """Return the smallest count that a support such as "2%" asks for."""
    return -int(-Fraction(support.rstrip("%")) / 100 * transactions // 1)
