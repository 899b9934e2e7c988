"""Starting Spark, or finding the Spark Connect server that is named, with errors that say what to do.

Whoever has a session hands that over; this is for the command line, and for those who have none. Nothing of the
classic API is used that Spark Connect lacks, no RDD and no SparkContext, but to tell how far a job is (watching.py).
"""

import contextlib
import os
import re
import socket
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assocpriv.core.errors import SparkError
from assocpriv.core.spark.java import check_java, log_settings, reason_said, said_to_file

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_PROBE_SECONDS = 5.0
_CONNECT = "sc://"
_PORTS = {_CONNECT: 15002, "spark://": 7077, "k8s://": 443}  # that masters listen at which name none
_MASTER = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?|yarn|(spark|sc|k8s)://.*")
_OF_THE_BRIDGE = re.compile(r"An error occurred while calling|at |Traceback|File ")
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",  # a bar for each job, in pipes as well
    "spark.app.name": "assocpriv",
}
_LOCAL = {  # nothing outside of this machine takes part
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def start_session(master: str) -> "SparkSession":
    """Return a session on a master, as ``local[2]``, ``spark://host:7077``, ``yarn`` or ``k8s://…``, or on a server of
    Spark Connect, ``sc://host:15002``.

    Raises:
        SparkError: PySpark or Java is missing or too old, or the master is none or does not answer.
    """
    sql = import_spark()
    _check_answers(master)
    builder = sql.SparkSession.builder
    if master.startswith(_CONNECT):
        settings, builder = {}, builder.remote(master)
    else:
        check_java()
        here = master.startswith("local")
        settings, builder = _SETTINGS | log_settings() | (_LOCAL if here else {}), builder.master(master)
        if here:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise whatever python3 is found first
    for name, value in settings.items():
        builder = builder.config(name, value)
    with said_to_file() as said, quiet_pandas():
        try:
            session: SparkSession = builder.getOrCreate()
            return session
        except Exception as error:  # noqa: BLE001 - of py4j, of gRPC, of Spark: whatever a start fails with
            why = first_line(error)
            if "Java gateway" in why:
                why = reason_said(said) or why
            raise SparkError(f"Spark could not be started on {master}: {why}") from None


def import_spark() -> Any:
    """Return the module ``pyspark.sql``.

    Raises:
        SparkError: it is not installed.
    """
    try:
        with quiet_pandas():
            from pyspark import sql
    except ImportError:
        raise SparkError(
            "Spark is used through PySpark, which is not installed: pip install 'assocpriv[spark]'"
        ) from None
    return sql


def column_of(frame: "DataFrame", name: str) -> "Column":
    """Return a column by its whole name, in which Spark would otherwise take a dot for one within another."""
    return frame["`" + name.replace("`", "``") + "`"]


@contextlib.contextmanager
def quiet_pandas() -> Iterator[None]:
    """Keep PySpark from warning of pandas 3, and of itself: nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*PySpark does not yet fully support pandas", category=FutureWarning)
        warnings.filterwarnings("ignore", message="distutils Version classes", category=DeprecationWarning)  # by 3.5
        yield


def first_line(error: BaseException) -> str:
    """Return what an error of Spark's says first, without what it was called by and the classes of Java."""
    lines = [line.strip() for line in str(error).splitlines()]
    plain = [
        re.sub(r"^: ?|([\w$]+\.)+\w*(Exception|Error): ", "", line) for line in lines if not _OF_THE_BRIDGE.match(line)
    ]
    return next(filter(None, plain), type(error).__name__)[:300]


def _check_answers(master: str) -> None:
    """Refuse a master that nobody listens at; Spark would ask for a minute, and then say it with a traceback."""
    if not _MASTER.fullmatch(master):
        raise SparkError(
            f"{master!r} is no master; write local[2] (cores of this machine), spark://host:7077, yarn, "
            "k8s://host:port, or sc://host:15002 for a server of Spark Connect"
        )
    usual = next((port for begin, port in _PORTS.items() if master.startswith(begin)), None)
    if usual is None:
        return
    where = urlsplit(re.sub(r"^k8s://(https?://)?", "k8s://", master).partition(",")[0])
    try:
        host, port = where.hostname, where.port or usual
    except ValueError:
        host = None
    if not host:
        begin = master.partition("://")[0]
        raise SparkError(f"{master} names no host and port; write {begin}://host:{usual}")
    try:
        socket.create_connection((host, port), _PROBE_SECONDS).close()
    except OSError as error:
        raise SparkError(
            f"nothing answers at {host}:{port}, which --master {master} names: {error.strerror or error}"
        ) from None
