"""``--backend spark``: what it refuses, each in one clear line, how Ctrl-C ends it, and a server of Spark Connect."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import python
from spark_session import connect_server, need_spark, task_environment, told_of_slow_tasks

import assocpriv as ap
from assocpriv.core.spark.session import quiet_pandas
from assocpriv.planning.planner import make_plan

PROMISE = ap.Breach("5%", "99%")
SLOW = Path(__file__).with_name("slow_tasks.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Report files of one plan."""
    need_spark()
    path = tmp_path_factory.mktemp("reports")
    plan = make_plan(12, 3, PROMISE, itemset_size=2, reports=10_000, code="none")
    rng = np.random.default_rng(5)
    for number in range(2):
        baskets = [set(map(str, row)) for row in (12 * rng.random((500, 3)) ** 3).astype(int).tolist()]
        ap.randomize_baskets(baskets, plan).write(path / f"{number}.parquet")
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of Spark Connect."""
    with connect_server(tmp_path_factory.mktemp("connect")) as master:
        yield master


def mine(folder: Path, master: str, *options: Any, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Mine with Spark, in a process of its own."""
    command = ["mine", folder, "--min-support", "10%", "--backend", "spark", "--master", master, *options]
    return python(*command, env=task_environment() | environment)


def refusal(folder: Path, master: str, **environment: str) -> str:
    """Return the one line that is told, and nothing else."""
    done = mine(folder, master, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


# ---- what is refused


MASTERS = {
    "nonsense": "is no master; write local",
    "spark://127.0.0.1:1": "nothing answers at 127.0.0.1:1",
    "sc://127.0.0.1:1": "nothing answers at 127.0.0.1:1",
    "k8s://https://127.0.0.1:1": "nothing answers at 127.0.0.1:1",
    "sc://": "names no host and port; write sc://host:15002",
    "spark://a:b:c": "names no host and port; write spark://host:7077",
    "yarn": "HADOOP_CONF_DIR",
    "local[0]": "with 0 threads",
}


@pytest.mark.parametrize("master", MASTERS)
def test_masters_that_are_none(folder: Path, monkeypatch: pytest.MonkeyPatch, master: str) -> None:
    """Nonsense, nobody who answers, no host, and what Spark itself refuses: no trace of Java's."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    assert MASTERS[master] in refusal(folder, master)


def test_no_pyspark(folder: Path, tmp_path: Path) -> None:
    """It says what to install."""
    (tmp_path / "pyspark.py").write_text("raise ModuleNotFoundError('hidden')\n")
    hidden = os.pathsep.join([str(tmp_path), task_environment()["PYTHONPATH"]])
    assert "pip install 'assocpriv[spark]'" in refusal(folder, "local[1]", PYTHONPATH=hidden)


@pytest.mark.skipif(os.name == "nt", reason="a script stands in for Java")
@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", "Java 8"), ("11.0.21", "Java 11")])
def test_an_old_java(folder: Path, tmp_path: Path, version: str, major: str) -> None:
    """It says which Java was found, and which is needed."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    told = refusal(folder, "local[1]", JAVA_HOME=str(tmp_path))
    assert major in told
    assert "set JAVA_HOME to a later one" in told


def test_no_java(folder: Path, tmp_path: Path) -> None:
    """It says where there is none."""
    assert f"JAVA_HOME is {tmp_path}, where there is none" in refusal(folder, "local[1]", JAVA_HOME=str(tmp_path))
    assert "there is none on the PATH" in refusal(folder, "local[1]", JAVA_HOME="", PATH=str(tmp_path))


def test_a_master_without_spark(folder: Path) -> None:
    """A master is Spark's."""
    done = python("mine", folder, "--min-support", "10%", "--master", "local[2]")
    assert done.returncode == 2
    assert "--master goes with --backend spark" in done.stderr


# ---- Spark Connect


def test_connect_mines_the_same(folder: Path, server: str) -> None:
    """A command at a server says what it says without one, and nothing else."""
    there = mine(folder, server, "--json")
    here = python("mine", folder, "--min-support", "10%", "--json")
    assert (there.stdout, there.stderr) == (here.stdout, "")
    assert here.stdout


def test_a_session_of_connect_counts_the_same(folder: Path, server: str) -> None:
    """Files and a DataFrame of its own; the server tells of tasks that are done."""
    from assocpriv.spark import mine

    with quiet_pandas():
        from pyspark.sql.connect.session import SparkSession

        spark = SparkSession.builder.remote(server).getOrCreate()
    try:
        here = ap.mine(folder, 0.1)
        frame = spark.read.parquet(str(folder))
        for there in (mine(folder, min_support=0.1, spark=spark), mine(frame, ap.read_reports(folder).plan, 0.1)):
            pd.testing.assert_frame_equal(there, here, check_exact=True)
        told = told_of_slow_tasks(spark)
        assert any(0 < done < 8 for done, _ in told)
        assert {tasks for _, tasks in told} == {8}
    finally:
        spark.stop()


def test_a_damaged_file_is_named(folder: Path, server: str, tmp_path: Path) -> None:
    """One line, from the task that read it."""
    for file in folder.iterdir():
        content = bytearray(file.read_bytes())
        content[60] ^= file.name == "1.parquet"
        (tmp_path / file.name).write_bytes(content)
    assert "1.parquet is damaged" in refusal(tmp_path, server)


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_job_at_the_server(folder: Path, server: str, tmp_path: Path, number: int) -> None:
    """The command ends as any other does, and the tasks, which would go on for a minute, soon after it."""
    beats = interrupt(folder, server, tmp_path / "beats", number)
    until = monotonic() + 20
    while beats.stat().st_size != (sleep(1.5), beats.stat().st_size)[1]:
        assert monotonic() < until


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_signal_ends_a_local_spark(folder: Path, tmp_path: Path) -> None:
    """Nothing of Java's is shown, and its process ends too."""
    beats = interrupt(folder, "local[2]", tmp_path / "beats", signal.SIGINT)
    sleep(3)
    before = beats.stat().st_size
    sleep(1)
    assert beats.stat().st_size == before


def interrupt(folder: Path, master: str, beats: Path, number: int) -> Path:
    """Send a signal to a command whose tasks have begun; return the file that these write to as long as they live."""
    command = [sys.executable, str(SLOW), str(beats), "mine", str(folder), "--min-support", "10%"]
    command += ["--backend", "spark", "--master", master]
    with subprocess.Popen(command, env=task_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = monotonic() + 120
        while not beats.exists() and process.poll() is None and monotonic() < until:
            sleep(0.05)
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors.split()) == (1, b"", [b"Aborted!"])
    return beats
