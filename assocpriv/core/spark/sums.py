"""Whole numbers added up over the tasks of a Spark job, whatever was counted.

A task counts what it reads into one array and returns it; arrays are added up, so neither the order of tasks nor how
often one was tried changes a count: of several attempts at a task Spark takes one. Few and short arrays are added up by
the driver; otherwise they are cut up and added up by tasks, and the driver gets each number once.

What this package refuses in a task comes back as text, beside the counts: it would be refused again in every attempt.
"""

import contextlib
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import AssocprivError, SparkError
from assocpriv.core.spark.session import first_line, quiet_pandas
from assocpriv.core.spark.watching import Progress, is_connect, watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Ints = NDArray[np.int64]
_Piece = TypeVar("_Piece")
Counter = Callable[[int, Iterable[_Piece]], Ints]  # of a task's number, and what it reads
_SCHEMA = "first long, counts binary, trouble string"
_AT_THE_DRIVER = 64 << 20  # bytes of counts that the driver adds up itself
_CUT = 1 << 10  # numbers to a row: Spark hands 10,000 rows at once to a task
_SUMMED_BY_TASK = 1 << 23  # numbers
_PATIENCE_SECONDS = 1.0
_MISSING = re.compile("No module named '(assocpriv|bitarray|galois|narwhals|numba|numpy|pandas|psutil|pyarrow|scipy)'")


@dataclass(frozen=True)
class Source(Generic[_Piece]):
    """A DataFrame, of how many tasks it is about, and what each reads of its Arrow batches: a number, and pieces."""

    frame: "DataFrame"
    n_tasks: int
    read: Callable[[Iterator[Any]], Iterable[tuple[int, Iterable[_Piece]]]]


def numbered(spark: "SparkSession", n_tasks: int, read: Callable[[int], Iterable[_Piece]]) -> Source[_Piece]:
    """Return a source of tasks that know what they read by their number."""
    return Source(spark.range(0, n_tasks, 1, n_tasks), n_tasks, partial(_read_numbered, read))


def _read_numbered(
    read: Callable[[int], Iterable[_Piece]], batches: Iterator[Any]
) -> Iterator[tuple[int, Iterable[_Piece]]]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield number, read(number)


def add_up(source: Source[_Piece], count: Counter[_Piece], n_counts: int, progress: Progress | None = None) -> Ints:
    """Return the sum over all tasks of what ``count`` makes of what each reads, int64 (n_counts,).

    ``progress`` is called with (tasks done, tasks).

    Raises:
        AssocprivError: what a task refused, of the class that it raised there.
        SparkError: Spark gave up.
    """
    at_driver = 8 * n_counts * source.n_tasks <= _AT_THE_DRIVER
    task = partial(_count_task, source.read, count, n_counts, n_counts if at_driver else _CUT, package_version())
    with quiet_pandas():
        rows = source.frame.mapInArrow(task, _SCHEMA)
        if not at_driver:
            rows = rows.repartition(-(-n_counts // _SUMMED_BY_TASK), "first").mapInArrow(_sum_task, _SCHEMA)
    total = np.zeros(n_counts, dtype=np.int64)
    for first, counts, trouble in run(rows, progress=progress):
        if trouble is not None:
            raise refused(trouble)
        numbers = np.frombuffer(counts, dtype="<i8")
        total[first : first + len(numbers)] += numbers
    return total


class _Told(NamedTuple):
    """How many tasks of a job are done, and how many there are."""

    done: int
    tasks: int


_Answers = Queue["list[Any] | Exception | _Told"]


def run(rows: "DataFrame", *, quote: bool = True, progress: Progress | None = None) -> list[Any]:
    """Return the rows of a job, which is stopped at the server, too, when this is interrupted.

    ``progress`` is called with (tasks done, tasks), in this thread.
    Without ``quote`` an error says of which kind Spark's is, and not what that says, which may be a value of a row.

    Raises:
        SparkError: Spark gave up.
    """
    spark, tag = rows.sparkSession, f"assocpriv-{uuid.uuid4().hex}"
    answer: _Answers = Queue()
    # not in this thread: a signal in the middle of a call to Java would have PySpark make another within it
    Thread(
        target=_as_of_this_thread(spark, _collect), args=(rows, tag, answer, progress is not None), daemon=True
    ).start()
    try:
        found = _wait(answer, progress)
    except KeyboardInterrupt:
        with contextlib.suppress(Exception):  # who interrupted waits for nothing else
            spark.interruptTag(tag)  # classic sessions cancel their jobs themselves, and have no tags before 4.0
        raise
    if isinstance(found, Exception):
        raise SparkError(_why(str(found), found, quote)) from None
    return found


def _as_of_this_thread(spark: "SparkSession", job: Callable[..., None]) -> Callable[..., None]:
    """Return a job that has the scheduler's pool, and what else was set for this thread, in another one."""
    from pyspark import inheritable_thread_target

    if is_connect(spark):
        return job
    wanted: Any = inheritable_thread_target
    in_other: Callable[..., None] = wanted(job) if _before_4() else wanted(spark)(job)
    return in_other


def _before_4() -> bool:
    """Whether classic sessions have no tags, and threads are not for a session."""
    import pyspark

    return pyspark.__version__.startswith("3.")


def _collect(rows: "DataFrame", tag: str, answer: _Answers, is_watched: bool) -> None:
    """Put the rows of a job, or what it failed with, into a queue, and before it how far the job is."""
    spark = rows.sparkSession
    try:
        with contextlib.suppress(Exception):  # classic sessions before 4.0 refuse it
            spark.addTag(tag)  # of this thread, which ends with the job
        told = watched(spark, tag, lambda *tasks: answer.put(_Told(*tasks))) if is_watched else contextlib.nullcontext()
        with quiet_pandas(), told:
            found = rows.collect()
        answer.put(found)
    except Exception as error:  # noqa: BLE001 - of Spark, of gRPC, of py4j, each with classes of its own
        answer.put(error)


def _wait(answer: _Answers, progress: Progress | None) -> list[Any] | Exception:
    """Wait for an answer, and tell how far it is; not at one go, which on some systems nothing interrupts."""
    while True:
        with contextlib.suppress(Empty):
            found = answer.get(timeout=_PATIENCE_SECONDS)
            if not isinstance(found, _Told):
                return found
            if progress is not None:
                progress(*found)


def _why(text: str, error: Exception, quote: bool) -> str:
    """Say what a failed job failed by."""
    if _MISSING.search(text):
        install = "install the same version there: pip install 'assocpriv[spark]'"
        return f"assocpriv, or what it needs, is not installed where Spark's tasks run; {install}"
    if "PYTHON_VERSION_MISMATCH" in text:
        return "Spark's tasks run on another Python than this one; set PYSPARK_PYTHON to one of the same version"
    if not quote:
        return f"Spark gave up with {_kind(error)}; what it says of that may quote data: see its own log"
    last = [line for line in text.splitlines() if " Error: " in line or line.partition(":")[0].endswith("Error")]
    return f"Spark gave up: {last[-1].strip()[:300] if last else first_line(error)}"


def _kind(error: Exception) -> str:
    """Return the name that Spark gives to a condition, or the error's class."""
    ask = getattr(error, "getCondition", getattr(error, "getErrorClass", None))  # the latter before 4.0
    name = ask() if ask is not None else None
    return name if name and re.fullmatch(r"[A-Z0-9_.]+", name) else type(error).__name__


# ---- in tasks


def _count_task(
    read: Callable[[Iterator[Any]], Iterable[tuple[int, Iterable[_Piece]]]],
    count: Counter[_Piece],
    n_counts: int,
    cut: int,
    version: str,
    batches: Iterator[Any],
) -> Iterator[Any]:
    """Count what a task reads, and yield the counts, ``cut`` numbers to a row."""
    total = np.zeros(n_counts, dtype=np.int64)
    try:
        begin_task(version)
        for number, pieces in read(batches):
            total += count(number, pieces)
    except AssocprivError as error:
        yield _rows([(0, b"", trouble_of(error))])
        return
    for first in range(0, n_counts, _CUT * cut):
        yield _rows(
            (at, total[at : at + cut].tobytes(), None) for at in range(first, min(first + _CUT * cut, n_counts), cut)
        )


def _sum_task(batches: Iterator[Any]) -> Iterator[Any]:
    """Add up rows of counts that begin with the same one."""
    sums: dict[int, Ints] = {}
    for batch in batches:
        for first, counts, trouble in zip(*(batch.column(place) for place in range(3)), strict=True):
            if trouble.is_valid:
                yield _rows([(0, b"", trouble.as_py())])
                return
            numbers = np.frombuffer(counts.as_buffer(), dtype="<i8")
            sums.setdefault(first.as_py(), np.zeros(len(numbers), dtype=np.int64))
            sums[first.as_py()] += numbers
    for first, numbers in sums.items():
        yield _rows([(first, numbers.tobytes(), None)])


def begin_task(version: str) -> None:
    """Take the cores that Spark gave to this task, and refuse to work for another version of this package.

    Raises:
        SparkError: this package is of another version here.
    """
    from pyspark import TaskContext

    from assocpriv.core.machine import limit_cores

    here = package_version()
    if here != version:
        raise SparkError(f"Spark's tasks have assocpriv {here}, and this is {version}; install the same version there")
    context = TaskContext.get()
    limit_cores(1 if context is None else context.cpus())


def package_version() -> str:
    """Return the version of this package, by its metadata."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("assocpriv")
    except PackageNotFoundError:  # run from its source
        return "0"


def _rows(rows: Iterable[tuple[int, bytes, str | None]]) -> Any:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True))
    types = (pa.int64(), pa.binary(), pa.string())
    names = ["first", "counts", "trouble"]
    return pa.record_batch([pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names)


def trouble_of(error: AssocprivError) -> str:
    """Write what a task refuses as text, which comes back in its rows."""
    return f"{type(error).__name__} {error}"


def refused(trouble: str) -> AssocprivError:
    """Return the error that a task refused with, of its text by :func:`trouble_of`."""
    from assocpriv.core import errors

    name, _, text = trouble.partition(" ")
    kind = getattr(errors, name, SparkError)
    return kind(text) if issubclass(kind, AssocprivError) else SparkError(text)
