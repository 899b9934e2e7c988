"""Tasks that fail, workers and executors that are lost, and what the driver holds: counts are what they would be."""

import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spark_session import local_session, need_spark, task_environment

import assocpriv as ap
from assocpriv.core.errors import SparkError, WireError
from assocpriv.files import spark_reports
from assocpriv.planning.planner import make_plan
from assocpriv.server.counting.backend import LocalBackend
from assocpriv.server.counting.parts import Part
from assocpriv.server.counting.spark_backend import SparkBackend

PROMISE = ap.Breach("5%", "99%")
ITEMSETS = np.array(list(combinations(range(8), 2)), dtype=np.int64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files of reports, each a task."""
    return written(tmp_path_factory.mktemp("reports"), 8, 4, 300)


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task a file."""
    monkeypatch.setattr(spark_reports, "_TASK_REPORTS", 1)


def written(path: Path, n_items: int, n_files: int, n_reports: int) -> Path:
    """Write files of reports of baskets of common items and rare ones."""
    plan = make_plan(n_items, 3, PROMISE, itemset_size=2, reports=10_000, code="bch")
    rng = np.random.default_rng(11)
    for number in range(n_files):
        items = (n_items * rng.random((n_reports, 3)) ** 3).astype(int)
        ap.randomize_baskets([set(map(str, row)) for row in items.tolist()], plan).write(path / f"{number}.parquet")
    return path


def counts_there(folder: Path, itemsets: Any) -> Any:
    """What Spark's tasks count."""
    reports = spark_reports.SparkReports.of_files(ap.read_reports(folder), local_session())
    return SparkBackend(reports).open()[0].count(itemsets)


def counts_here(folder: Path, itemsets: Any) -> Any:
    """What is counted without them."""
    return LocalBackend.of(ap.read_reports(folder)).open(Part.WHOLE)[0].count(itemsets)


@pytest.mark.parametrize("fault", ["fails", "is killed"])
def test_tasks_that_end_early_are_tried_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Of every task the first attempt counts everything, and fails or has its worker killed: nothing of it counts."""
    flags, kills = str(tmp_path), fault == "is killed"
    add_up = spark_reports.add_up

    def flawed(source: Any, count: Any, n_counts: int, *watched: Any) -> Any:
        def count_twice(number: int, pieces: Iterable[Any]) -> Any:
            counts = count(number, pieces)
            flag = Path(flags, str(number))
            if not flag.exists():
                flag.touch()
                if kills:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError("the first attempt at every task fails")
            return counts

        return add_up(source, count_twice, n_counts, *watched)

    monkeypatch.setattr(spark_reports, "add_up", flawed)
    assert (counts_there(folder, ITEMSETS) == counts_here(folder, ITEMSETS)).all()
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2", "3"}


def test_files_that_tasks_cannot_open_are_named(folder: Path) -> None:
    """Executors on other machines may lack them."""
    reports = spark_reports.SparkReports.of_files(ap.read_reports(folder), local_session())
    moved = folder.with_name("moved")
    folder.rename(moved)
    try:
        with pytest.raises(SparkError, match=r"cannot open .*\.parquet; tasks must find all files"):
            SparkBackend(reports).open()[0].count(ITEMSETS)
    finally:
        moved.rename(folder)


def test_mixed_plans_are_refused(folder: Path, tmp_path: Path) -> None:
    """Files of two plans in one folder, before any task begins."""
    written(tmp_path, 9, 1, 10)
    from assocpriv.spark import read_reports

    with pytest.raises(WireError, match="reports of different plans cannot be mixed"):
        read_reports([folder, tmp_path], local_session())


# ---- what the driver holds


def peak_of(work: Any) -> tuple[Any, int]:
    """What comes of some work, and the most bytes that it held in this process at a time."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_million_candidates_are_added_up_by_tasks(tmp_path: Path) -> None:
    """The driver holds the candidates, and each count once or so, not once a task."""
    itemsets = np.stack(np.triu_indices(1450, 1), axis=1).astype(np.int64)
    assert len(itemsets) > 1_000_000
    folder = written(tmp_path, 1450, 10, 30)
    counts, peak = peak_of(lambda: counts_there(folder, itemsets))
    assert (counts == counts_here(folder, itemsets)).all()
    assert peak < 10 * counts.nbytes


def test_memory_limits_candidates(folder: Path) -> None:
    """What ``--memory`` allows a level of candidates, with the counts of each, is a quarter of it."""
    reports = spark_reports.SparkReports.of_files(ap.read_reports(folder), local_session())
    assert 200 <= (100 << 20) / 4 / SparkBackend(reports, 100 << 20).most_candidates < 240
    assert (
        SparkBackend(reports, 1 << 30).most_candidates
        == LocalBackend.of(ap.read_reports(folder), 1 << 30).most_candidates
    )


@pytest.mark.filterwarnings("ignore:nothing was found", "ignore:itemsets of")  # so few reports of so many items
def test_hundred_thousand_items_take_no_square(tmp_path: Path) -> None:
    """The driver holds less than a tenth of what a bit for each pair would take."""
    folder = written(tmp_path, 100_000, 2, 1000)
    from assocpriv.spark import mine

    found, peak = peak_of(lambda: mine(folder, min_support=0.2, spark=local_session()))
    assert len(found) == 0
    assert peak < 100_000**2 / 8 / 10


# ---- executors of their own


@pytest.mark.slow
def test_a_lost_executor_changes_nothing(folder: Path, tmp_path: Path) -> None:
    """Of two executors one is killed in the middle of a task, and slow tasks are tried twice at once."""
    need_spark()
    program = Path(__file__).with_name("lose_an_executor.py")
    command = [sys.executable, str(program), str(folder), str(tmp_path / "lost")]
    done = subprocess.run(command, env=task_environment(), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "lost").exists()
    assert done.stdout.split() == [str(count) for count in counts_here(folder, ITEMSETS)]
