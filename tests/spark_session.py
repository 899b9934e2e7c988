"""Sessions of Spark for tests: one of two cores, and one against a server of Spark Connect; without Java they skip."""

import os
import shutil
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


def local_session(master: str = "local[2]") -> Any:
    """Return a session on this machine, as the command line starts it."""
    need_spark()
    from assocpriv.spark import connect

    return connect(master)
