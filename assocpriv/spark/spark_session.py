"""Spark sessions, and sums of integer counts over Spark tasks.

A session is started for the command line, or for callers without one; errors state in one line what to do.

Each task counts the rows that it reads into one array. The sum of these arrays does not depend on the order of tasks,
nor on repeated attempts, since Spark keeps the result of one attempt per task.
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

from assocpriv.guarantees import errors
from assocpriv.kernels.parallel import limit_cores

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_NAMED = re.compile(r"(spark|sc)://")
_ADDRESS = re.compile(r"(?:spark|sc)://(\[[\da-fA-F:.]+\]|[^:/,;\[\]]+)(?::(\d{1,5}))?(?![^/,;])")
_CONNECT_PORT = 15002  # default port of Spark Connect
_CONNECT_SECONDS = 20.0  # time limit of the first answer; Spark itself tries for ten minutes
_SETTINGS = {"spark.app.name": "assocpriv", "spark.ui.enabled": "false"}
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}  # no other machine is involved
_THROWN = re.compile(r"^\s*(?:Exception in thread \S+ |: )?(?:[\w$]+\.)*(\w+(?:Exception|Error): .+)", re.MULTILINE)
_DRIVER_BYTES = 256 << 20  # limit of the counts that all tasks of a job return
_SAFE = re.compile(r"^(?:assocpriv\.guarantees\.errors\.(\w+): |(?=ModuleNotFoundError: ))(.+)$", re.MULTILINE)
Ints = NDArray[np.int64]


# ---- the session


def start_session(master: str) -> "SparkSession":
    """Return a session on a master, as ``local[2]``, ``spark://host:7077``, ``yarn``, ``k8s://…`` or
    ``sc://host:15002``.

    Raises:
        SparkError: PySpark or Java is missing or too old, or the master is invalid or does not answer.
    """
    try:
        with quiet_pandas():
            from pyspark.sql import SparkSession
    except ImportError:
        raise errors.SparkError("PySpark is not installed: pip install 'assocpriv[spark]'") from None
    _check_master(master)
    with tempfile.TemporaryFile() as output, quiet_pandas():
        try:
            if master.startswith("sc://"):
                return _connected(SparkSession.builder.remote(master).getOrCreate(), master)
            _start_java(master, output)
            session: SparkSession = SparkSession.builder.getOrCreate()
            return session
        except errors.SparkError:
            raise
        except Exception as error:  # noqa: BLE001 - exceptions of py4j, gRPC or Spark
            output.seek(0)
            why = output.read().decode(errors="replace") if "Java gateway" in str(error) else str(error)
            raise errors.SparkError(f"Spark could not be started on {master}: {reason(why)}") from None


def _connected(session: Any, master: str) -> "SparkSession":
    """Return a session after its server has answered; creating a session sends no request."""
    try:
        _run_in_thread(lambda: session.version, _CONNECT_SECONDS)
    except TimeoutError:
        session.release_session_on_close = False  # it would wait for the server when Python ends
        session.stop()
        raise errors.SparkError(
            f"{master} did not answer as Spark Connect within {_CONNECT_SECONDS:.0f} s; check host and port, and that "
            "the server is running"
        ) from None
    connected: SparkSession = session
    return connected


def _check_master(master: str) -> None:
    """Refuse a machine without Java, and a master without a listener, which Spark would try for a minute."""
    home, address = os.environ.get("JAVA_HOME"), _ADDRESS.match(master)
    if not master.startswith("sc://") and shutil.which(os.path.join(home, "bin", "java") if home else "java") is None:
        where = f"JAVA_HOME is {home}, which has no java" if home else "there is no java on the PATH"
        raise errors.SparkError(f"Spark needs Java 17 or later, but {where}; install it, or set JAVA_HOME")
    named = _NAMED.match(master)
    if named is None:
        return
    if address is None or (address[2] is None and named[1] == "spark"):
        form = {"sc": "sc://host or sc://host:15002", "spark": "spark://host:7077"}[named[1]]
        raise errors.SparkError(f"the Spark master {master} has no valid address; write {form}")
    host, port = address[1].strip("[]"), int(address[2] or _CONNECT_PORT)
    try:
        socket.create_connection((host, port), timeout=5).close()
    except (OSError, OverflowError):
        raise errors.SparkError(
            f"nothing answers at {address[1]}:{port}, the address of the Spark master {master}; check it"
        ) from None


def _start_java(master: str, output: IO[bytes]) -> None:
    """Start Spark's Java process, unless it runs; its messages go to a file, not to the terminal."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._active_spark_context is None:
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise the first python3 on the PATH
        settings = _SETTINGS | {"spark.master": master} | (_LOCAL if master.startswith("local") else {})
        conf = SparkConf().setAll(list(settings.items()))
        gateway = SparkContext._gateway or launch_gateway(conf, {"stderr": output})  # type: ignore[no-untyped-call]
        SparkContext(conf=conf, gateway=gateway)


@contextlib.contextmanager
def quiet_pandas() -> Iterator[None]:
    """Suppress PySpark's warning of pandas 3, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def reason(text: str) -> str:
    """Return the line with the exception from a message of Java or Python."""
    thrown = _THROWN.search(text)
    return (thrown[1] if thrown else next(filter(None, map(str.strip, text.splitlines())), "no reason given"))[:300]


def column_of(frame: "DataFrame", name: str) -> "Column":
    """Return a column by its whole name; Spark would otherwise read a dot as access to a nested field."""
    return frame["`" + name.replace("`", "``") + "`"]


# ---- sums over tasks


def add_up(frame: "DataFrame", count: Callable[[Iterator[Any]], Ints], n_counts: int) -> Ints:
    """Return the sum over all tasks of ``count`` of a task's Arrow batches, int64 (n_counts,).

    Raises:
        AssocprivError: an error of a task, of the same class.
        SparkError: Spark failed.
    """
    total = np.zeros(n_counts, dtype=np.int64)
    fewer = frame.coalesce(max(1, _DRIVER_BYTES // (8 * n_counts + 1)))
    for (counts,) in run(fewer, partial(_count_task, count), "counts binary") if n_counts else ():
        total += np.frombuffer(counts, dtype=np.int64)
    return total


def run(frame: "DataFrame", task: Callable[[Iterator[Any]], Iterator[Any]], schema: str, *, quote: bool = True) -> Any:
    """Return the rows that tasks make from their Arrow batches, from one attempt per task.

    Without ``quote`` an error has the type of Spark's exception only, since its text may contain a value of a row.

    Raises:
        AssocprivError: an error of a task, of the same class.
        SparkError: Spark failed.
    """
    with quiet_pandas():
        rows = frame.mapInArrow(partial(_limit_to_cores, task), schema)
        try:
            # not in this thread: on a signal during a call to Java PySpark would make a nested call
            return _run_in_thread(rows.collect)
        except Exception as error:  # noqa: BLE001 - exceptions of Spark, gRPC or py4j
            raise _convert_error(error, quote) from None


def _run_in_thread(work: Callable[[], Any], seconds: float = math.inf) -> Any:
    """Run work in a thread, and return its result or raise its exception; TimeoutError after the time limit."""
    answer: list[tuple[Any, Exception | None]] = []
    until = monotonic() + seconds

    def do() -> None:
        try:
            answer.append((work(), None))
        except Exception as error:  # noqa: BLE001 - the waiting thread raises it
            answer.append((None, error))

    thread = Thread(target=do, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(1)  # in steps, since some systems cannot interrupt a join
        if monotonic() > until and not answer:
            raise TimeoutError
    done, error = answer[0]
    if error is not None:
        raise error
    return done


def _convert_error(error: Exception, quote: bool) -> errors.AssocprivError:
    """Return the error of a failed job: this package's error in a task, or a SparkError."""
    if safe := _SAFE.findall(str(error)):
        name, message = safe[-1]
        refused: errors.AssocprivError = getattr(errors, name, errors.SparkError)(message)
        return refused
    message = reason(str(error)) if quote else f"{type(error).__name__}; its text may contain data: see Spark's log"
    return errors.SparkError(f"Spark failed: {message}")


# ---- in tasks


def _limit_to_cores(task: Callable[[Iterator[Any]], Iterator[Any]], batches: Iterator[Any]) -> Iterator[Any]:
    """Run a task on the cores that Spark assigned to it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    limit_cores(context.cpus() if context else 1)
    return task(batches)


def _count_task(count: Callable[[Iterator[Any]], Ints], batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.record_batch([pa.array([count(batches).tobytes()], pa.binary())], ["counts"])
