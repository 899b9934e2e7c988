"""Sessions of Spark for tests: one of two cores, and a server of Spark Connect; without Java they skip."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest


def need_spark() -> None:
    """Skip a test where Spark cannot run; under CI it must."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        missing = "PySpark is not installed: pip install 'assocpriv[spark]'"
    else:
        if shutil.which("java"):
            return
        missing = "Spark needs Java 17 or later"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


@cache
def local_session() -> Any:
    """Return the session of these tests, as the command line starts one: two cores, three attempts at a task."""
    need_spark()
    from assocpriv.spark import connect

    return connect("local[2,3]")


def told_of_slow_tasks(spark: Any) -> list[tuple[int, int]]:
    """Have eight tasks of some tenths of a second each counted, and return what was told of them: tasks done, tasks."""
    from assocpriv.core.spark.sums import add_up, numbered

    def counting(number: int, _pieces: Any) -> Any:
        import time

        import numpy as np

        time.sleep(0.5)
        return np.array([number], dtype=np.int64)

    told: list[tuple[int, int]] = []
    here = threading.current_thread()

    def tell(done: int, tasks: int) -> None:
        assert threading.current_thread() is here
        told.append((done, tasks))

    assert add_up(numbered(spark, 8, lambda _number: ()), counting, 1, tell).tolist() == [28]
    return told


def task_environment() -> dict[str, str]:
    """Return the environment of programs that start a Spark: its tasks run on this Python, with this package."""
    package = str(Path(__file__).parents[1])
    return os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": package}


@contextlib.contextmanager
def connect_server(home: Path) -> Iterator[str]:
    """Run a server of Spark Connect, which logs into ``home``; yield what it is called as a master."""
    need_spark()
    import pyspark

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    program = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    command = [program, "--master", "local[2]", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [part for each in settings.items() for part in ("--conf", "=".join(each))]
    with (home / "connect.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=task_environment())
    try:
        _await(port, server, home / "connect.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)


def _await(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until somebody listens at a port."""
    until = monotonic() + 120
    while monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        sleep(0.2)
    pytest.fail(f"Spark Connect did not start: {log.read_text()[-2000:]}")
