"""What assocpriv does, as tasks: from a file to a result, imports done before the clock starts."""

import warnings
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from bench.speed.timing import LONG_S, seconds, settled


def _ready() -> Any:
    """Import all that mining uses, so that clocks see work only."""
    import pandas as pd  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import assocpriv as ap
    import assocpriv.kernels.counting
    import assocpriv.server.mining

    warnings.simplefilter("ignore")  # of itemsets that were not counted
    return ap


def mine_file(
    reports_path: str, support: str, *, max_itemset: int | None = None, memory_bytes: int | None = None
) -> dict[str, Any]:
    """Mine a report file and write the itemsets; ``again_s`` is a second time, when all kernels are loaded."""
    job = _Job(reports_path, support, max_itemset, memory_bytes)
    first = seconds(job)
    again = {} if first > LONG_S else {"again_s": seconds(job)}
    return {"seconds": first} | again | job.account()


def mine_repeatedly(
    reports_path: str, support: str, *, max_itemset: int | None = None, memory_bytes: int | None = None
) -> dict[str, Any]:
    """Mine a report file until its time has settled."""
    job = _Job(reports_path, support, max_itemset, memory_bytes)
    return {"seconds": settled(job)} | job.account()


class _Job:
    """Mining one file, from reports to written itemsets."""

    def __init__(self, reports_path: str, support: str, max_itemset: int | None, memory_bytes: int | None) -> None:
        self._ap = _ready()
        self._reports_path, self._support = reports_path, support
        self._options = {"max_itemset": max_itemset}
        if memory_bytes:
            self._options["memory_bytes"] = memory_bytes

    def __call__(self) -> None:
        self._found = self._ap.mine(self._reports_path, self._support, **self._options)
        with TemporaryDirectory() as folder:
            self._ap.write_itemsets(self._found, Path(folder) / "itemsets.parquet")

    def account(self) -> dict[str, Any]:
        """Return what was found, and what was counted by itemset size."""
        listed = self._found["length"][self._found["listed"]]
        return {
            "itemsets": len(listed),
            "listed_items": int((listed == 1).sum()),
            "candidates": [number for number, _ in self._found.attrs["assocpriv"]["counted"]],
        }


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


def count_pairs(reports_path: str, support: str) -> dict[str, Any]:
    """Count all items and pairs that the reports show, as mining counts them, from the file on."""
    ap = _ready()
    from assocpriv.server.counting import LocalCounter

    def count() -> int:
        reports = ap.read_reports(reports_path)
        counter = LocalCounter(reports)
        items = np.arange(reports.plan.n_items, dtype=np.int64)
        pairs = np.column_stack(np.triu_indices(len(items), 1)).astype(np.int64)
        least = least_count(support, len(reports))
        return sum(int((counter.count(sets) >= least).sum()) for sets in (items[:, None], pairs))

    first = seconds(count)
    return {"seconds": settled(count), "first_s": first, "itemsets": count()}


def read_only(reports_path: str) -> dict[str, Any]:
    """Read all batches of a report file and do nothing with them."""
    ap = _ready()

    def read() -> int:
        return sum(len(batch) for batch in ap.read_reports(reports_path).batches(1 << 20))

    return {"seconds": settled(read), "reports": read()}
