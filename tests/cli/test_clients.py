"""Tests of the command randomize: memory, pipes, bad baskets and plans, and what an interrupt leaves."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import CliRunner
from command_line import (
    N_BASKETS,
    PROMISE,
    python,
    refused,
    refused_without_output,
    run,
    run_json,
)
from planned import planned

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.client.bulk import BulkRandomizer


@pytest.mark.parametrize("size", ["64MiB", "0.5 GB", "67108864", "1.5gib", "70000k"])
def test_memory_is_a_size(home: Path, tmp_path: Path, size: str) -> None:
    """Both commands take a size and say the same whatever it is."""
    options = ["--plan", home / "plan.json", "-o", tmp_path / "r.parquet", "--memory", size]
    assert run_json("randomize", home / "b.dat", *options)["reports"] == N_BASKETS
    records = [run_json("mine", home / "r.parquet", "--min-support", "15%", *more) for more in ([], ["--memory", size])]
    assert records[0] == records[1]


@pytest.mark.parametrize("size", ["lots", "", "1", "63MiB", "1iB", "-1GB", "1PB", "1e9", "nan", "9" * 400])
def test_memory_that_is_no_size(home: Path, tmp_path: Path, size: str) -> None:
    """Another word, or too little, is wrong usage and says what a size looks like."""
    for question in (
        ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"],
        ["mine", home / "r.parquet", "--min-support", "15%"],
    ):
        message = refused_without_output(tmp_path, *question, f"--memory={size}", status=2)
        assert "MiB" in message or "GB" in message


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="a system without /dev/stdin")
def test_baskets_may_come_through_a_pipe(home: Path, tmp_path: Path) -> None:
    """What another program writes is read as a file is."""
    options = ["--plan", home / "plan.json", "-o", tmp_path / "r.parquet", "--layout", "dat", "--json"]
    done = python("randomize", "/dev/stdin", *options, input=(home / "b.dat").read_text())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reports"] == N_BASKETS


def test_a_long_file_must_fit_the_memory(tmp_path: Path) -> None:
    """A long file that would need more than the memory is refused with what to do."""
    rows = "".join(f"{row // 3},{row % 9}\n" for row in range(1_000_000))
    (tmp_path / "long.csv").write_text("transaction,item\n" + rows)
    run("plan", "--items", 9, "--transaction-size", 3, *PROMISE, "-o", tmp_path / "plan.json")
    question = ["randomize", tmp_path / "long.csv", "--plan", tmp_path / "plan.json", "-o", tmp_path / "r.parquet"]
    message = refused_without_output(tmp_path, *question, "--layout", "long", "--memory=64MiB")
    assert "long.csv" in message
    assert "--memory" in message
    assert run_json(*question, "--layout", "long")["reports"] == 333_334


def test_reading_options(home: Path, tmp_path: Path) -> None:
    """Unknown, repeated and empty are refused unless asked for, then counted on standard error."""
    (tmp_path / "b.csv").write_text("1,1,2\n\n99,3\n")
    question = ["randomize", tmp_path / "b.csv", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    result = run(*question, "--unknown", "drop", "--repeats", "merge", "--empty", "keep", "--json")
    assert json.loads(result.stdout)["reports"] == 3
    for said in ("1 items outside the catalogue dropped", "1 repeated items merged", "1 empty baskets kept"):
        assert said in result.stderr


@pytest.mark.parametrize("name", ["missing.json", "folder", "r.parquet"])
def test_files_that_are_no_plan(home: Path, tmp_path: Path, name: str) -> None:
    """A missing file, a folder and reports are no plan."""
    (tmp_path / "folder").mkdir()
    plan = home / name if name == "r.parquet" else tmp_path / name
    output = ["-o", tmp_path / "r.parquet"]
    assert str(plan) in refused_without_output(tmp_path, "randomize", home / "b.dat", "--plan", plan, *output)


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_unfinished(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C or kill in the middle of a real run ends with status 1 and takes the unfinished file away."""
    (tmp_path / "b.dat").write_bytes(b"1 2 3\n5 7\n" * 2_000_000)
    ap.write_plan(planned(9, 3, ap.Breach("5%", "50%"), code="bch"), tmp_path / "plan.json")
    (tmp_path / "out").mkdir()
    command = ["randomize", tmp_path / "b.dat", "--plan", tmp_path / "plan.json", "-o", tmp_path / "out" / "r.parquet"]
    with subprocess.Popen([sys.executable, "-m", "assocpriv", *map(str, command)], stderr=subprocess.PIPE) as process:
        until = monotonic() + 60
        while not any(tmp_path.glob("out/.*.part")) and process.poll() is None and monotonic() < until:
            sleep(0.01)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"Traceback" not in errors
    assert not any((tmp_path / "out").iterdir())


def test_an_interrupt_that_an_import_took_for_another_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal ends the command with status 1 and no traceback, whatever Python makes of it on the way."""

    def interrupted(*_: Any, **__: Any) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise TypeError("expected a message argument") from None  # what an import of ssl once said

    monkeypatch.setattr(ap, "inspect", interrupted)
    result = CliRunner().invoke(main, ["inspect", str(home / "plan.json")])
    assert result.exit_code == 1
    assert result.output.strip() == "Aborted!"


def test_out_of_memory(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running out of memory is an error in one line."""

    def greedy(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(BulkRandomizer, "randomize", greedy)
    question = ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    assert "out of memory" in refused_without_output(tmp_path, *question)


def test_mining_what_is_no_report_file(home: Path, tmp_path: Path) -> None:
    """Baskets are sent to be randomized; a folder's other files are told, but not its mined tables."""
    message = refused("mine", home / "b.dat", "--min-support", "15%")
    assert "randomize baskets first: assocpriv randomize" in message
    for name in ("r.parquet", "i.parquet", "b.csv", "b.dat"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    said = run("mine", tmp_path, "--min-support", "15%").stderr
    assert f"{tmp_path}: 2 files left out, not named *.parquet, as b.csv" in said
