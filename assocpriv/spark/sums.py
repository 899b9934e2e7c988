"""Whole numbers added up over the tasks of a Spark job, whatever was counted.

A task counts what it reads into one array and returns it; arrays are added up, so neither the order of tasks nor how
often one was tried changes a count: of several attempts at a task Spark takes one.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.parallel import limit_cores
from assocpriv.promise import errors
from assocpriv.promise.errors import AssocprivError, SparkError
from assocpriv.spark.session import quiet_pandas, reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Ints = NDArray[np.int64]
_AT_THE_DRIVER = 256 << 20  # bytes of counts that all tasks of a job may return
_SAFE = re.compile(r"^(?:assocpriv\.promise\.errors\.(\w+): |(?=ModuleNotFoundError: ))(.+)$", re.MULTILINE)


def add_up(frame: "DataFrame", count: Callable[[Iterator[Any]], Ints], n_counts: int) -> Ints:
    """Return the sum over all tasks of what ``count`` makes of a task's Arrow batches, int64 (n_counts,).

    Raises:
        AssocprivError: what a task refused, of the class that it raised there.
        SparkError: Spark gave up.
    """
    total = np.zeros(n_counts, dtype=np.int64)
    fewer = frame.coalesce(max(1, _AT_THE_DRIVER // (8 * n_counts + 1)))
    for (counts,) in run(fewer, partial(_count_task, count), "counts binary") if n_counts else ():
        total += np.frombuffer(counts, dtype=np.int64)
    return total


def run(frame: "DataFrame", task: Callable[[Iterator[Any]], Iterator[Any]], schema: str, *, quote: bool = True) -> Any:
    """Return the rows that tasks make of their Arrow batches; of each task those of one attempt.

    Without ``quote`` an error says of which kind Spark's is, and not what that says, which may be a value of a row.

    Raises:
        AssocprivError: what a task refused, of the class that it raised there.
        SparkError: Spark gave up.
    """
    answer: list[Any] = []

    def collect() -> None:
        try:
            answer.append(rows.collect())
        except Exception as error:  # noqa: BLE001 - of Spark, of gRPC, of py4j, each with classes of its own
            answer.append(error)

    with quiet_pandas():
        rows = frame.mapInArrow(partial(_on_its_cores, task), schema)
        # not in this thread: a signal in the middle of a call to Java would have PySpark make another within it
        job = Thread(target=collect, daemon=True)
        job.start()
        while job.is_alive():
            job.join(1)  # not at one go, which on some systems nothing interrupts
    if isinstance(answer[0], Exception):
        raise _told(answer[0], quote) from None
    return answer[0]


def _told(error: Exception, quote: bool) -> AssocprivError:
    """Return what a failed job is told as: what this package refused in a task, or what Spark says."""
    if safe := _SAFE.findall(str(error)):
        name, said = safe[-1]
        refused: AssocprivError = getattr(errors, name, SparkError)(said)
        return refused
    said = reason(str(error)) if quote else f"{type(error).__name__}; what it says may quote data: see its own log"
    return SparkError(f"Spark gave up: {said}")


# ---- in tasks


def _on_its_cores(task: Callable[[Iterator[Any]], Iterator[Any]], batches: Iterator[Any]) -> Iterator[Any]:
    """Run a task on the cores that Spark gave to it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    limit_cores(context.cpus() if context else 1)
    return task(batches)


def _count_task(count: Callable[[Iterator[Any]], Ints], batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.record_batch([pa.array([count(batches).tobytes()], pa.binary())], ["counts"])
