"""Sessions of Spark for tests: one of two cores, and one against a server of Spark Connect; without Java they skip."""

import os
import shutil
from functools import cache
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
