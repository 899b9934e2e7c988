"""How the time and memory of mining grow with reports, items, M, K and listed items."""

import math
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.speed.child import measure
from bench.speed.mining import tell
from bench.tables import table


@dataclass(frozen=True)
class Point:
    """A collection and how to mine it."""

    reports: int = 10**6
    items: int = 1_000
    transaction_size: int = 5
    itemset_size: int = 3
    support: str = "4%"
    max_itemset: int | None = None

    def data(self) -> dict[str, int]:
        """Return what its collection depends on."""
        return {name: getattr(self, name) for name in ("reports", "items", "transaction_size", "itemset_size")}


MEMORY = 256 << 20  # bytes of bitmaps; by default mining takes what the machine has
# 4% is above what 10^5 reports can discover at M = 5, and what 10^6 can at M = 10
SUPPORTS = ("4%", "2%", "1%", "0.5%", "0.36%")
SERIES = {
    "reports N": [Point(reports=n) for n in (10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7)],
    "items n": [Point(items=n) for n in (10**3, 10**4, 10**5)],
    "transaction size M": [Point(transaction_size=m) for m in (3, 5, 8, 10)],
    "itemset size K": [Point(itemset_size=4, support="1.2%", max_itemset=k) for k in (1, 2, 3, 4)],
    "listed items": [Point(reports=10**7, support=s) for s in SUPPORTS],
}
LARGE = {"reports N": [Point(reports=n) for n in (3 * 10**7, 10**8)]}
QUICK = {
    "reports N": [Point(reports=n, support="20%") for n in (10**4, 10**5)],
    "items n": [Point(reports=10**4, items=n, support="20%") for n in (10**3, 10**4)],
    "itemset size K": [Point(reports=10**5, itemset_size=3, max_itemset=k) for k in (1, 2, 3)],
}


def run(*, quick: bool = False, large: bool = False) -> dict[str, Any]:
    """Return a row a measurement and, for each series, the fitted exponent of time and of memory."""
    rows = []
    for name, points in (QUICK if quick else SERIES).items():
        rows += list(_series(name, points + (LARGE.get(name, []) if large else [])))
    names = dict.fromkeys(row["series"] for row in rows)
    return {"rows": rows, "exponents": {name: fit([row for row in rows if row["series"] == name]) for name in names}}


def _series(name: str, points: list[Point]) -> Iterator[dict[str, Any]]:
    """Measure the points of one series; neighbours with the same collection share it."""
    kept: dict[str, Any] | None = None
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        for point in points:
            tell(f"growth with {name}: {point}")
            if kept is None or kept["of"] != point.data():
                kept = measure("bench.speed.datasets:quest", folder=folder, plain=False, **point.data())
                kept["of"] = point.data()
            mined = kept if "failure" in kept else _mine(kept["reports_path"], point)
            yield _row(name, point, kept, mined)


def _mine(reports_path: str, point: Point) -> dict[str, Any]:
    return measure(
        "bench.speed.ours:mine_repeatedly",
        reports_path=reports_path,
        support=point.support,
        max_itemset=point.max_itemset,
        memory_bytes=MEMORY,
    )


def _row(name: str, point: Point, made: dict[str, Any], mined: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"series": name, "support": point.support} | point.data()
    row["largest"] = point.max_itemset or point.itemset_size
    if "failure" in mined:
        return row | {"failure": mined["failure"]}
    varied = {
        "reports N": point.reports,
        "items n": point.items,
        "transaction size M": point.transaction_size,
        "itemset size K": row["largest"],
        "listed items": mined["listed_items"],
    }
    figures = {key: mined[key] for key in ("seconds", "peak_mb", "itemsets", "listed_items", "candidates")}
    code = {key: made[key] for key in ("code", "insert_bits", "report_bits")}
    return row | code | figures | {"varied": varied[name]}


def fit(rows: list[dict[str, Any]]) -> dict[str, float | None]:
    """Return the slopes of log time and log peak memory over the logarithm of what varied, by least squares.

    Time's slope also over the upper half of the points, where what every run takes weighs less.
    """
    done = sorted((row for row in rows if "failure" not in row), key=lambda row: float(row["varied"]))
    upper = done[(len(done) - 1) // 2 :]
    slopes = {"seconds": _slope(done, "seconds"), "upper_seconds": _slope(upper, "seconds")}
    return slopes | {"peak_mb": _slope(done, "peak_mb")}


def _slope(rows: list[dict[str, Any]], name: str) -> float | None:
    if len({row["varied"] for row in rows}) < 2:
        return None
    logs = [math.log(row["varied"]) for row in rows]
    return statistics.linear_regression(logs, [math.log(row[name]) for row in rows]).slope


_COLUMNS = {
    "varied": "series",
    "reports": "reports",
    "items": "items",
    "M": "transaction_size",
    "up to": "largest",
    "min. support": "support",
    "report bits": "report_bits",
    "r": "insert_bits",
    "items listed": "listed_items",
    "counted": "counted",
    "s": "seconds",
    "peak MB": "peak_mb",
    "": "failure",
}
_EXPONENTS = {
    "varied": "series",
    "exponent of time": "seconds",
    "in the upper half": "upper_seconds",
    "exponent of peak memory": "peak_mb",
}


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as tables."""
    rows = [row | {"counted": ", ".join(f"{c:,}" for c in row.get("candidates", []))} for row in result["rows"]]
    fitted = [{"series": name} | slopes for name, slopes in result["exponents"].items()]
    return table(_COLUMNS, rows) + "\n" + table(_EXPONENTS, fitted)
