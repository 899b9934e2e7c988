"""A Spark session: started or found, with whole numbers added up over its tasks.

Errors of a start say in one line what to do. Whoever has a session hands that over; starting is for the command line,
and for those who have none.

Whatever is counted, a task counts what it reads into one array and returns it; arrays are added up, so neither the
order of tasks nor how often one was tried changes a count: of several attempts at a task Spark takes one.
"""

import contextlib
import math
import os
import re
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from threading import Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.parallel import limit_cores
from assocpriv.promise import errors

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_NAMED = re.compile(r"(spark|sc)://")
_ADDRESS = re.compile(r"(?:spark|sc)://(\[[\da-fA-F:.]+\]|[^:/,;\[\]]+)(?::(\d{1,5}))?(?![^/,;])")
_CONNECT_PORT = 15002  # of a server of Spark Connect, where none is named
_CONNECT_SECONDS = 20.0  # that it may take to answer; Spark itself tries for ten minutes
_SETTINGS = {"spark.app.name": "assocpriv", "spark.ui.enabled": "false"}
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}  # no other machine takes part
_THROWN = re.compile(r"^\s*(?:Exception in thread \S+ |: )?(?:[\w$]+\.)*(\w+(?:Exception|Error): .+)", re.MULTILINE)
_AT_THE_DRIVER = 256 << 20  # bytes of counts that all tasks of a job may return
_SAFE = re.compile(r"^(?:assocpriv\.promise\.errors\.(\w+): |(?=ModuleNotFoundError: ))(.+)$", re.MULTILINE)
Ints = NDArray[np.int64]


# ---- the session


def start_session(master: str) -> "SparkSession":
    """Return a session on a master, as ``local[2]``, ``spark://host:7077``, ``yarn``, ``k8s://…`` or ``sc://host:15002``.

    Raises:
        SparkError: PySpark or Java is missing or too old, or the master is none or does not answer.
    """
    try:
        with quiet_pandas():
            from pyspark.sql import SparkSession
    except ImportError:
        raise errors.SparkError("PySpark is not installed: pip install 'assocpriv[spark]'") from None
    _check_there(master)
    with tempfile.TemporaryFile() as said, quiet_pandas():
        try:
            if master.startswith("sc://"):
                return _connected(SparkSession.builder.remote(master).getOrCreate(), master)
            _start_java(master, said)
            session: SparkSession = SparkSession.builder.getOrCreate()
            return session
        except errors.SparkError:
            raise
        except Exception as error:  # noqa: BLE001 - of py4j, of gRPC, of Spark: whatever a start fails with
            said.seek(0)
            why = said.read().decode(errors="replace") if "Java gateway" in str(error) else str(error)
            raise errors.SparkError(f"Spark could not be started on {master}: {reason(why)}") from None


def _connected(session: Any, master: str) -> "SparkSession":
    """Return a session whose server has answered; to make one asks it nothing."""
    try:
        _apart(lambda: session.version, _CONNECT_SECONDS)
    except TimeoutError:
        session.release_session_on_close = False  # which would wait for the server, also when Python ends
        session.stop()
        raise errors.SparkError(
            f"what listens at {master} did not answer as Spark Connect within {_CONNECT_SECONDS:.0f} s; check host and "
            "port, and that the server runs"
        ) from None
    connected: SparkSession = session
    return connected


def _check_there(master: str) -> None:
    """Refuse a machine without Java, and a master that nobody listens at, whom Spark would ask for a minute."""
    home, address = os.environ.get("JAVA_HOME"), _ADDRESS.match(master)
    if not master.startswith("sc://") and shutil.which(os.path.join(home, "bin", "java") if home else "java") is None:
        where = f"JAVA_HOME is {home}, where there is none" if home else "there is none on the PATH"
        raise errors.SparkError(f"Spark runs on Java 17 or later, and {where}; install it, or set JAVA_HOME to one")
    named = _NAMED.match(master)
    if named is None:
        return
    if address is None or (address[2] is None and named[1] == "spark"):
        form = {"sc": "sc://host or sc://host:15002", "spark": "spark://host:7077"}[named[1]]
        raise errors.SparkError(f"the Spark master {master} does not say where it is; write {form}")
    host, port = address[1].strip("[]"), int(address[2] or _CONNECT_PORT)
    try:
        socket.create_connection((host, port), timeout=5).close()
    except (OSError, OverflowError):
        raise errors.SparkError(
            f"nothing answers at {address[1]}:{port}, which the Spark master {master} names"
        ) from None


def _start_java(master: str, said: IO[bytes]) -> None:
    """Start the Java that Spark runs in, unless one runs; what it says goes to a file, not to the terminal."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._active_spark_context is None:
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise whatever python3 is found first
        settings = _SETTINGS | {"spark.master": master} | (_LOCAL if master.startswith("local") else {})
        conf = SparkConf().setAll(list(settings.items()))
        gateway = SparkContext._gateway or launch_gateway(conf, {"stderr": said})  # type: ignore[no-untyped-call]
        SparkContext(conf=conf, gateway=gateway)


@contextlib.contextmanager
def quiet_pandas() -> Iterator[None]:
    """Keep PySpark from warning of pandas 3: nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def reason(text: str) -> str:
    """Return the line that says what was thrown, of all that Java or Python said of it."""
    thrown = _THROWN.search(text)
    return (thrown[1] if thrown else next(filter(None, map(str.strip, text.splitlines())), "it did not say why"))[:300]


def column_of(frame: "DataFrame", name: str) -> "Column":
    """Return a column by its whole name, in which Spark would otherwise take a dot for one within another."""
    return frame["`" + name.replace("`", "``") + "`"]


# ---- sums over tasks


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
    with quiet_pandas():
        rows = frame.mapInArrow(partial(_on_its_cores, task), schema)
        try:
            # not in this thread: a signal in the middle of a call to Java would have PySpark make another within it
            return _apart(rows.collect)
        except Exception as error:  # noqa: BLE001 - of Spark, of gRPC, of py4j, each with classes of its own
            raise _told(error, quote) from None


def _apart(work: Callable[[], Any], seconds: float = math.inf) -> Any:
    """Return what work in a thread of its own returns, or raise what it raises; TimeoutError after so many seconds."""
    answer: list[tuple[Any, Exception | None]] = []
    until = monotonic() + seconds

    def do() -> None:
        try:
            answer.append((work(), None))
        except Exception as error:  # noqa: BLE001 - it is raised by whoever waits
            answer.append((None, error))

    thread = Thread(target=do, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(1)  # not at one go, which on some systems nothing interrupts
        if monotonic() > until and not answer:
            raise TimeoutError
    done, error = answer[0]
    if error is not None:
        raise error
    return done


def _told(error: Exception, quote: bool) -> errors.AssocprivError:
    """Return what a failed job is told as: what this package refused in a task, or what Spark says."""
    if safe := _SAFE.findall(str(error)):
        name, said = safe[-1]
        refused: errors.AssocprivError = getattr(errors, name, errors.SparkError)(said)
        return refused
    said = reason(str(error)) if quote else f"{type(error).__name__}; what it says may quote data: see its own log"
    return errors.SparkError(f"Spark gave up: {said}")


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
