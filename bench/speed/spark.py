"""Mining on Spark's tasks beside the local backend, on the same reports in the same run, taking turns.

A session of k cores stands beside the local backend on k cores. Of every job is known what its tasks took for counting
and for reading, by their own clocks; what remains of the cores' time is Spark's. ``efficiency`` is the rate of
counting in tasks over the local backend's where this, too, counts from packed reports at every level, as it does once
these do not fit its memory: reports × candidates a core and second, reading left out.
"""

import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.speed.child import ROOT, measure
from bench.speed.mining import tell
from bench.tables import table

Ints = NDArray[np.int64]
ITEMS, SUPPORT, ROUNDS = 1_000, "1%", 2
SMALL_MEMORY = 64 << 20  # 20 million reports do not fit it
CORES = (1, 2)


class TimedCount:
    """What tasks count, and after it the nanoseconds that counting and reading took."""

    def __init__(self, count: Callable[[int, Iterable[Any]], Ints]) -> None:
        self._count = count

    def __call__(self, number: int, pieces: Iterable[Any]) -> Ints:
        """Count a task's pieces."""
        reading = 0

        def timed() -> Iterator[Any]:
            nonlocal reading
            source = iter(pieces)
            while True:
                start = perf_counter_ns()
                piece = next(source, None)
                reading += perf_counter_ns() - start
                if piece is None:
                    return
                yield piece

        start = perf_counter_ns()
        counts = self._count(number, timed())
        return np.append(counts, [perf_counter_ns() - start - reading, reading])


@dataclass
class Jobs:
    """What the jobs of one mining took."""

    seconds: list[float] = field(default_factory=list)
    counting: list[float] = field(default_factory=list)
    reading: list[float] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    returned: list[int] = field(default_factory=list)

    def watch(self, spark_reports: Any) -> None:
        """Have jobs timed from now on."""
        from pyspark import cloudpickle

        original = spark_reports.add_up

        def add_up(source: Any, count: Any, n_counts: int) -> Ints:
            start = perf_counter()
            counts = original(source, TimedCount(count), n_counts + 2)
            self.seconds.append(perf_counter() - start)
            self.counting.append(counts[-2] / 1e9)
            self.reading.append(counts[-1] / 1e9)
            self.sent.append(len(cloudpickle.dumps((source.read, count))))
            self.returned.append(8 * n_counts * source.n_tasks)
            return counts[:-2]

        spark_reports.add_up = add_up

    def clear(self) -> None:
        """Forget all jobs."""
        for each in (self.seconds, self.counting, self.reading, self.sent, self.returned):
            each.clear()


def compare(reports_path: str, cores: int) -> dict[str, Any]:
    """Mine by both backends on so many cores (a task)."""
    import warnings

    import assocpriv as ap
    from assocpriv.core.machine import limit_cores
    from assocpriv.files import spark_reports
    from assocpriv.spark import connect, read_reports, reports_of

    warnings.simplefilter("ignore")  # of sizes that cannot be decided
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    start = perf_counter()
    spark = connect(f"local[{cores}]")
    started = perf_counter() - start
    limit_cores(cores)
    jobs, local = Jobs(), _LocalLevels()
    jobs.watch(spark_reports)
    plan = ap.read_reports(reports_path).plan
    frame = spark.read.parquet(reports_path)
    times: dict[str, list[float]] = {"local": [], "again": [], "files": [], "frame": []}
    levels: dict[str, list[tuple[float, ...]]] = {"again": [], "files": []}
    tables = {}
    for turn in range(ROUNDS + 1):
        sides = {
            "local": lambda: ap.mine(reports_path, SUPPORT),
            "again": lambda: ap.mine(reports_path, SUPPORT, memory_bytes=SMALL_MEMORY),
            "files": lambda: ap.mine(read_reports(reports_path, spark), SUPPORT),
            "frame": lambda: ap.mine(reports_of(frame, plan), SUPPORT),
        }
        for name, mine in sides.items():
            if name == "frame" and turn != ROUNDS:
                continue  # rows through Java take long: once
            jobs.clear()
            local.clear()
            start = perf_counter()
            tables[name] = mine()
            if turn:
                times[name].append(perf_counter() - start)
                if name == "files":
                    levels[name].append((sum(jobs.counting), sum(jobs.reading), sum(jobs.seconds)))
                    figures: dict[str, Any] = {
                        "jobs": len(jobs.seconds),
                        "sent": ", ".join(f"{each:,}" for each in jobs.sent),
                        "returned": ", ".join(f"{each:,}" for each in jobs.returned),
                    }
                if name == "again":
                    levels[name].append((local.counting, local.reading))
    same = all(tables["local"].equals(each) for each in tables.values())
    n_reports, n_tasks = len(ap.read_reports(reports_path)), read_reports(reports_path, spark).n_tasks
    counting, reading, in_jobs = (statistics.median(column) for column in zip(*levels["files"], strict=True))
    local_counting, local_reading = (statistics.median(column) for column in zip(*levels["again"], strict=True))
    seconds = {f"{name}_s": statistics.median(values) for name, values in times.items()}
    spark.stop()
    return (
        seconds
        | figures
        | {
            "cores": cores,
            "equal": same,
            "reports": n_reports,
            "tasks": n_tasks,
            "start_s": started,
            "counting_s": counting,
            "reading_s": reading,
            "spark_s": in_jobs * cores - counting - reading,
            "task_s": (in_jobs * cores - counting - reading) / (n_tasks * figures["jobs"]),
            "local_counting_s": local_counting,
            "local_reading_s": local_reading,
            "efficiency": local_counting / counting,
            "files_over_local": seconds["files_s"] / seconds["local_s"],
        }
    )


class _LocalLevels:
    """The seconds of a core that the local backend counts, and reads; on several cores threads' times are added."""

    def __init__(self) -> None:
        from assocpriv.server.counting import backend

        self.counting = self.reading = 0.0
        original = backend.add_up

        def add_up(work: Any, inputs: Any, n_counts: int, progress: Any = None) -> Ints:
            times: list[float] = []
            found: Ints = original(_timed_steps(work, times), self._timed_inputs(inputs), n_counts, progress)
            self.counting += sum(times)
            return found

        backend.add_up = add_up

    def _timed_inputs(self, inputs: Iterable[Any]) -> Iterator[Any]:
        source = iter(inputs)
        while True:
            start = perf_counter()
            given = next(source, None)
            self.reading += perf_counter() - start
            if given is None:
                return
            yield given

    def clear(self) -> None:
        """Begin anew."""
        self.counting = self.reading = 0.0


def _timed_steps(work: Any, times: list[float]) -> Any:
    def timed(given: Any, counts: Ints) -> Iterator[float]:
        start = perf_counter()
        yield from work(given, counts)
        times.append(perf_counter() - start)

    return timed


def run(n_reports: int) -> dict[str, Any]:
    """Return a row for each number of cores."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        made = measure("bench.speed.datasets:quest", folder=folder, plain=False, reports=n_reports, items=ITEMS)
        for cores in CORES:
            tell(f"Spark on {cores} cores: {n_reports:,} reports")
            rows.append(measure("bench.speed.spark:compare", reports_path=made["reports_path"], cores=cores))
    return {"rows": rows}


_FIGURES = {
    "reports": "reports",
    "tasks of each job": "tasks",
    "jobs": "jobs",
    "local backend, s": "local_s",
    "local backend that reads at every level, s": "again_s",
    "Spark, files, s": "files_s",
    "Spark, DataFrame, s": "frame_s",
    "counting in tasks, s of a core": "counting_s",
    "counting by the local backend that reads at every level, s of a core": "local_counting_s",
    "efficiency of counting": "efficiency",
    "reading in tasks, s of a core": "reading_s",
    "reading by the local backend, s": "local_reading_s",
    "Spark's own, s of a core": "spark_s",
    "Spark's own, s of a core a task": "task_s",
    "start of a session, s": "start_s",
    "bytes sent, by job": "sent",
    "bytes of counts back, by job": "returned",
    "equal to the last bit": "equal",
    "failure": "failure",
}


def markdown(result: dict[str, Any]) -> str:
    """Return a row a figure, a column a number of cores."""
    columns = {f"local[{row['cores']}]" if "cores" in row else "failed": row for row in result["rows"]}
    rows = [
        {"figure": name} | {heading: row.get(key) for heading, row in columns.items()}
        for name, key in _FIGURES.items()
        if any(row.get(key) is not None for row in result["rows"])
    ]
    return table({"figure": "figure"} | {heading: heading for heading in columns}, rows)
