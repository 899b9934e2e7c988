"""The Java that Spark runs on: whether one is there, how it logs, and what it says while Spark starts.

What it says is kept from the terminal: notices that nobody can act on, and traces of errors that are told in one line.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from assocpriv.core.errors import SparkError

_OLDEST = {"3": 8, "4": 17}  # Java that a major version of Spark runs on
_STDERR = 2
_THROWN = re.compile(r"^(?:Exception in thread \S+ |Caused by: )?(?:[\w$]+\.)+\w*(?:Exception|Error): (.+)")


def check_java() -> None:
    """Refuse a machine without the Java that this PySpark needs.

    Raises:
        SparkError: there is none, or it is older.
    """
    import pyspark

    oldest = _OLDEST.get(pyspark.__version__.partition(".")[0], 17)
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


def log_settings() -> dict[str, str]:
    """Return the setting that has Spark log errors alone."""
    log4j = Path(__file__).with_name("log4j2.properties").as_uri()
    return {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j}"}


@contextlib.contextmanager
def said_to_file() -> Iterator[IO[bytes]]:
    """Have programs that are started meanwhile say to a file, which is yielded, what they would to standard error.

    They keep it for as long as they run; it has no name, and goes with them.
    """
    with tempfile.TemporaryFile() as said:
        try:
            before = os.dup(_STDERR)
        except OSError:  # there is no standard error
            yield said
            return
        try:
            os.dup2(said.fileno(), _STDERR)
            yield said
        finally:
            os.dup2(before, _STDERR)
            os.close(before)


def reason_said(said: IO[bytes]) -> str | None:
    """Return what the last error is about of those that Java said."""
    said.seek(0)
    thrown = filter(None, map(_THROWN.match, said.read().decode(errors="replace").splitlines()))
    texts = [found[1].strip() for found in thrown]
    return texts[-1] if texts else None
