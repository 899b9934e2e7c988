"""Count pairs on a Spark of two executors, one of which a task kills; run by the tests of faults.

lose_an_executor.py FOLDER FLAG: the flag is a file that is made when an executor was killed.
"""

import os
import signal
import sys
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import assocpriv as ap
from assocpriv.core.spark.session import import_spark, quiet_pandas
from assocpriv.files import spark_reports
from assocpriv.server.counting.spark_backend import SparkBackend

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "1024m",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
}


def lost_once(flag: str, count: Any) -> Any:
    """Return a counter whose first task kills the executor that runs it, and whose third is slow."""

    def counting(number: int, pieces: Iterable[Any]) -> Any:
        import time

        counts = count(number, pieces)
        if number == 2:
            time.sleep(2)  # a second attempt begins meanwhile
        if number == 1 and not os.path.exists(flag):
            Path(flag).touch()
            process = os.getppid()
            while "java" not in Path(f"/proc/{process}/comm").read_text():
                process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(process, signal.SIGKILL)
        return counts

    return counting


def main(folder: str, flag: str) -> None:
    """Print the counts of all pairs of eight items."""
    builder = import_spark().SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with quiet_pandas():
        spark = builder.getOrCreate()
    spark_reports._TASK_REPORTS = 1
    add_up = spark_reports.add_up
    spark_reports.add_up = lambda source, count, n_counts: add_up(source, lost_once(flag, count), n_counts)
    reports = spark_reports.SparkReports.of_files(ap.read_reports(folder), spark)
    counts = SparkBackend(reports).open()[0].count(np.array(list(combinations(range(8), 2)), dtype=np.int64))
    print(*counts.tolist())


if __name__ == "__main__":
    main(*sys.argv[1:])
