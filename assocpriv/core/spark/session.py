"""Starting Spark, or finding the Spark Connect server that is named, with errors that say what to do.

Whoever has a session hands that over; this is for the command line, and for those who have none. Nothing of the
classic API is used that Spark Connect lacks: no RDD, no SparkContext.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assocpriv.core.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PROBE_SECONDS = 5.0
_CONNECT, _STANDALONE = "sc://", "spark://"
_MASTER = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?|yarn|(spark|sc|k8s)://.*")
_OF_THE_BRIDGE = re.compile(r"An error occurred while calling|at |Traceback|File ")
_JAVA_OF = {"3": 8, "4": 17}  # the oldest Java that a major version of Spark runs on
_SETTINGS = {
    "spark.ui.enabled": "false",
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
        _check_java()
        here = master.startswith("local")
        settings, builder = _SETTINGS | _quiet() | (_LOCAL if here else {}), builder.master(master)
        if here:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise whatever python3 is found first
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with quiet_pandas():
            session: SparkSession = builder.getOrCreate()
            return session
    except Exception as error:  # noqa: BLE001 - of py4j, of gRPC, of Spark: whatever a start fails with
        raise SparkError(f"Spark could not be started on {master}: {first_line(error)}") from None


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


@contextlib.contextmanager
def quiet_pandas() -> Iterator[None]:
    """Keep PySpark from warning of pandas 3: nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*PySpark does not yet fully support pandas", category=FutureWarning)
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
    if not master.startswith((_CONNECT, _STANDALONE)):
        return
    where = urlsplit(master.partition(",")[0])
    try:
        host, port = where.hostname, where.port or (15002 if master.startswith(_CONNECT) else 7077)
    except ValueError:
        host = None
    if not host:
        raise SparkError(f"{master} names no host; write {_CONNECT}host:15002 or {_STANDALONE}host:7077")
    try:
        socket.create_connection((host, port), _PROBE_SECONDS).close()
    except OSError as error:
        raise SparkError(
            f"nothing answers at {host}:{port}, which --master {master} names: {error.strerror or error}"
        ) from None


def _check_java() -> None:
    """Refuse a machine without the Java that this PySpark needs."""
    import pyspark

    oldest = _JAVA_OF.get(pyspark.__version__.partition(".")[0], 17)
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    found = shutil.which(program)
    if found is None:
        where = f"JAVA_HOME is {home}, where there is none" if home else "there is none on the PATH"
        raise SparkError(f"Spark runs on Java {oldest} or later, and {where}; install it, or set JAVA_HOME to one")
    told = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if version is None or told.returncode:
        raise SparkError(f"{found} does not say which Java it is; set JAVA_HOME to Java {oldest} or later")
    if int(version[1]) < oldest:
        raise SparkError(
            f"PySpark {pyspark.__version__} runs on Java {oldest} or later, and {found} is Java {version[1]}; "
            "set JAVA_HOME to a later one"
        )


def _quiet() -> dict[str, str]:
    """Return the setting that has Spark log errors alone."""
    log4j = Path(__file__).with_name("log4j2.properties").as_uri()
    return {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j}"}
