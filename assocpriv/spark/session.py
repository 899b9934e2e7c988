"""Starting Spark, or finding the session that there is, with errors that say in one line what to do.

Whoever has a session hands that over; this is for the command line, and for those who have none.
"""

import contextlib
import os
import re
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from assocpriv.promise.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_ADDRESS = re.compile(r"(?:spark|sc)://([^:/,;]+):(\d{1,5})")
_SETTINGS = {"spark.app.name": "assocpriv", "spark.ui.enabled": "false"}
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}  # no other machine takes part
_THROWN = re.compile(r"^\s*(?:Exception in thread \S+ |: )?(?:[\w$]+\.)*(\w+(?:Exception|Error): .+)", re.MULTILINE)


def start_session(master: str) -> "SparkSession":
    """Return a session on a master, as ``local[2]``, ``spark://host:7077``, ``yarn``, ``k8s://…`` or ``sc://host:15002``.

    Raises:
        SparkError: PySpark or Java is missing or too old, or the master is none or does not answer.
    """
    try:
        with quiet_pandas():
            from pyspark.sql import SparkSession
    except ImportError:
        raise SparkError("PySpark is not installed: pip install 'assocpriv[spark]'") from None
    is_connect = master.startswith("sc://")
    _check_there(master)
    with tempfile.TemporaryFile() as said, quiet_pandas():
        try:
            if not is_connect:
                _start_java(master, said)
            builder = SparkSession.builder.remote(master) if is_connect else SparkSession.builder
            session: SparkSession = builder.getOrCreate()
            return session
        except Exception as error:  # noqa: BLE001 - of py4j, of gRPC, of Spark: whatever a start fails with
            said.seek(0)
            why = said.read().decode(errors="replace") if "Java gateway" in str(error) else str(error)
            raise SparkError(f"Spark could not be started on {master}: {reason(why)}") from None


def _check_there(master: str) -> None:
    """Refuse a machine without Java, and a master that nobody listens at, whom Spark would ask for a minute."""
    home, address = os.environ.get("JAVA_HOME"), _ADDRESS.match(master)
    if not master.startswith("sc://") and shutil.which(os.path.join(home, "bin", "java") if home else "java") is None:
        where = f"JAVA_HOME is {home}, where there is none" if home else "there is none on the PATH"
        raise SparkError(f"Spark runs on Java 17 or later, and {where}; install it, or set JAVA_HOME to one")
    if address:
        try:
            socket.create_connection((address[1], int(address[2])), timeout=5).close()
        except (OSError, OverflowError):
            raise SparkError(f"nothing answers at {address[1]}:{address[2]}, which --master {master} names") from None


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
