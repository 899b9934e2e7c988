"""Run the command line with tasks of Spark that take a minute, and write to a file as long as they live.

slow_tasks.py FILE ARGUMENTS…
"""

import sys
from collections.abc import Iterable
from typing import Any

from assocpriv.apps.cli import main
from assocpriv.files import spark_reports


def slow(beats: str) -> Any:
    """Return what counts nothing, slowly."""

    def counting(number: int, pieces: Iterable[Any]) -> Any:
        import time
        from pathlib import Path

        for _ in range(1200):
            with Path(beats).open("a") as file:
                file.write(".")
            time.sleep(0.05)
        raise OSError("nobody interrupted this")

    return counting


if __name__ == "__main__":
    add_up = spark_reports.add_up
    spark_reports.add_up = lambda source, count, *rest: add_up(source, slow(sys.argv[1]), *rest)
    main(sys.argv[2:])
