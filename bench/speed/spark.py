"""Mining on Spark against the local backend: the same cores and reports in one run, taking turns."""

import os
import statistics
import tempfile
import warnings
from time import perf_counter
from typing import Any

from bench.speed.measuring import ROOT, log_progress, measure
from bench.tables import table

ITEMS, SUPPORT, ROUNDS = 1_000, "1%", 2
CORES = (1, 2)


def compare(reports_path: str, cores: int) -> dict[str, Any]:
    """Mine with both backends on ``cores`` cores (a task)."""
    import assocpriv as ap
    from assocpriv.kernels.parallel import limit_cores
    from assocpriv.spark import connect, read_reports, reports_from_frame

    warnings.simplefilter("ignore")  # warnings about itemsets that were not counted
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    start = perf_counter()
    spark = connect(f"local[{cores}]")
    started = perf_counter() - start
    limit_cores(cores)
    reports = ap.read_reports(reports_path)
    frame = spark.read.parquet(reports_path)
    sides = {
        "local_s": lambda: ap.mine(reports_path, SUPPORT),
        "files_s": lambda: ap.mine(read_reports(reports_path, spark), SUPPORT),
        "frame_s": lambda: ap.mine(reports_from_frame(frame, reports.plan), SUPPORT),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    tables = {}
    for turn in range(ROUNDS + 1):
        for name, mine in sides.items():
            if name == "frame_s" and turn != ROUNDS:
                continue  # rows through Java are slow: only once
            start = perf_counter()
            tables[name] = mine()
            if turn:  # the first turn loads kernels
                times[name].append(perf_counter() - start)
    spark.stop()
    same = all(tables["local_s"].equals(each) for each in tables.values())
    seconds = {name: statistics.median(values) for name, values in times.items()}
    return {"cores": cores, "reports": len(reports), "start_s": started, "equal": same} | seconds


def run(n_reports: int) -> dict[str, Any]:
    """Return one row per number of cores."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        made = measure("bench.speed.datasets:quest", folder=folder, plain=False, reports=n_reports, items=ITEMS)
        for cores in CORES:
            log_progress(f"Spark on {cores} cores: {n_reports:,} reports")
            rows.append(measure("bench.speed.spark:compare", reports_path=made["reports_path"], cores=cores))
    return {"rows": rows}


_FIGURES = {
    "reports": "reports",
    "local backend, s": "local_s",
    "Spark, files, s": "files_s",
    "Spark, DataFrame, s": "frame_s",
    "session start, s": "start_s",
    "identical results": "equal",
    "failure": "failure",
}


def markdown(result: dict[str, Any]) -> str:
    """Return a table with one row per figure and one column per number of cores."""
    columns = {f"local[{row['cores']}]" if "cores" in row else "failed": row for row in result["rows"]}
    rows = [
        {"figure": name} | {heading: row.get(key) for heading, row in columns.items()}
        for name, key in _FIGURES.items()
        if any(row.get(key) is not None for row in result["rows"])
    ]
    return table({"figure": "figure"} | {heading: heading for heading in columns}, rows)
