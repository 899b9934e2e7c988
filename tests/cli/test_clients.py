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
    BAD_PLANS,
    N_BASKETS,
    PROMISE,
    bad_plans,
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


def bad_baskets(home: Path) -> dict[str, bytes]:
    """Return files of baskets that must be refused, by name."""
    lists = (home / "lists.parquet").read_bytes()
    return {
        "empty.dat": b"",
        "empty.csv": b"",
        "empty.parquet": b"",
        "cut.parquet": lists[: len(lists) // 2],
        "cut-end.parquet": lists[:-9],
        "cut.dat.gz": (home / "b.dat.gz").read_bytes()[:-20],
        "not-gzip.dat.gz": b"1 2\n",
        "latin-1.csv": b"1,caf\xe9\n",
        "nul.dat": b"1 2\0\n",
        "nul.csv": b"1,2\0\n",
        "outside.dat": b"1 2\n12\n",
        "outside.csv": b"1,2\nx777x\n",
        "repeated.dat": b"1 2\n5 5\n",
        "repeated.csv": b"1,2\n5,5\n",
        "bare.dat": b"1 2\n\n3\n",
        "bare.csv": b"1 2\n\n3\n",
        "negative.dat": b"1 2\n-5\n",
        "negative.csv": b"1,2\n-5\n",
        "huge.dat": f"1 2\n{2**63}\n".encode(),
        "huge.csv": f"1,2\n{2**63}\n".encode(),
        "names.dat": b"milk bread\n",
    }


BAD_BASKETS = [
    "empty.dat", "empty.csv", "empty.parquet", "cut.parquet", "cut-end.parquet", "cut.dat.gz", "not-gzip.dat.gz",
    "latin-1.csv", "nul.dat", "nul.csv", "outside.dat", "outside.csv", "repeated.dat", "repeated.csv", "bare.dat",
    "bare.csv", "negative.dat", "negative.csv", "huge.dat", "huge.csv", "names.dat", "missing.dat",
    "folder", "folder.dat",
]  # fmt: skip


@pytest.mark.parametrize("command", ["randomize", "simulate"])
@pytest.mark.parametrize("name", BAD_BASKETS)
def test_bad_baskets(home: Path, tmp_path: Path, name: str, command: str) -> None:
    """Bad baskets end in one line that names the file, and in no file."""
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    elif not name.startswith("missing"):
        (tmp_path / name).write_bytes(bad_baskets(home)[name])
    rest = ["-o", tmp_path / "r.parquet"] if command == "randomize" else ["--min-support", "20%"]
    message = refused_without_output(tmp_path, command, tmp_path / name, "--plan", home / "plan.json", *rest)
    assert message.startswith(f"{name}: ")
    for raw in ("x777x", "caf", "milk", str(2**63)):
        assert raw not in message


@pytest.mark.parametrize("name", BAD_PLANS)
def test_bad_plans(home: Path, tmp_path: Path, name: str) -> None:
    """A bad plan is refused with one line that names the file, before any basket is read."""
    plan = tmp_path / "bad.json"
    plan.write_text(bad_plans(home)[name])
    message = refused_without_output(
        tmp_path, "randomize", tmp_path / "missing.dat", "--plan", plan, "-o", tmp_path / "r.parquet"
    )
    assert message.startswith(f"{plan}: ")
    assert len(message) < 500
    refused_without_output(tmp_path, "simulate", home / "b.dat", "--plan", plan, "--min-support", "20%")


@pytest.mark.parametrize("name", ["missing.json", "folder", "r.parquet"])
def test_files_that_are_no_plan(home: Path, tmp_path: Path, name: str) -> None:
    """A missing file, a folder and reports are no plan."""
    (tmp_path / "folder").mkdir()
    plan = home / name if name == "r.parquet" else tmp_path / name
    output = ["-o", tmp_path / "r.parquet"]
    assert str(plan) in refused_without_output(tmp_path, "randomize", home / "b.dat", "--plan", plan, *output)


def test_interrupted_randomizing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt in the middle of randomizing ends with status 1 and leaves no file, finished or not."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(BulkRandomizer, "randomize", interrupt)
    question = ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    result = CliRunner().invoke(main, list(map(str, question)))
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert not any(tmp_path.iterdir())


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


def test_reports_are_parquet_by_name(home: Path, tmp_path: Path) -> None:
    """Reports are written to .parquet or .pq only."""
    message = refused("randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.csv")
    assert "must end in .parquet or .pq" in message
    assert not (tmp_path / "r.csv").exists()


def test_mining_what_is_no_report_file(home: Path, tmp_path: Path) -> None:
    """Baskets are sent to be randomized; a folder's other files are told, but not its mined tables."""
    message = refused("mine", home / "b.dat", "--min-support", "15%")
    assert "randomize baskets first: assocpriv randomize" in message
    for name in ("r.parquet", "i.parquet", "b.csv", "b.dat"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    said = run("mine", tmp_path, "--min-support", "15%").stderr
    assert f"{tmp_path}: 2 files left out, not named *.parquet, as b.csv" in said
