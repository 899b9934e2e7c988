"""Tests of the command randomize: memory, pipes, bad baskets and plans, and what an interrupt leaves."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import CliRunner
from command_line import N_BASKETS, python, refused, refused_without_output, run, run_json

import assocpriv as ap
from assocpriv.cli import options
from assocpriv.cli.main import main
from assocpriv.client.bulk import BulkRandomizer


def test_memory_is_a_size(home: Path, tmp_path: Path) -> None:
    """A size may have any unit; another word, or too little, is wrong usage and says what a size looks like."""
    baskets = ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    mined = ["mine", home / "r.parquet", "--min-support", "15%"]
    sizes = {"64MiB": 1 << 26, "0.5 GB": 5 * 10**8, "67108864": 1 << 26, "1.5gib": 3 << 29, "70000k": 7 * 10**7}
    assert {text: options._to_bytes(None, None, text) for text in sizes} == sizes  # type: ignore[arg-type]
    for size in ("lots", "", "1", "63MiB", "1iB", "-1GB", "1PB", "1e9", "nan", "9" * 400):
        for question in (baskets, mined):
            message = refused_without_output(tmp_path, *question, f"--memory={size}", status=2)
            assert "MiB" in message or "GB" in message
    assert run_json(*baskets, "--memory", "64MiB")["reports"] == N_BASKETS
    assert run_json(*mined, "--memory", "64MiB") == run_json(*mined)


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="a system without /dev/stdin")
def test_baskets_may_come_through_a_pipe(home: Path, tmp_path: Path) -> None:
    """What another program writes is read as a file is."""
    options = ["--plan", home / "plan.json", "-o", tmp_path / "r.parquet", "--layout", "dat", "--json"]
    done = python("randomize", "/dev/stdin", *options, input=(home / "b.dat").read_text())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reports"] == N_BASKETS


def test_reading_options(home: Path, tmp_path: Path) -> None:
    """Unknown, repeated and empty are refused unless asked for, then counted on standard error."""
    (tmp_path / "b.csv").write_text("1,1,2\n\n99,3\n")
    question = ["randomize", tmp_path / "b.csv", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    result = run(*question, "--unknown", "drop", "--repeats", "merge", "--empty", "keep", "--json")
    assert json.loads(result.stdout)["reports"] == 3
    for said in ("1 items outside the catalogue dropped", "1 repeated items merged", "1 empty baskets kept"):
        assert said in result.stderr


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt: jobs in the background begin with it ignored, and so do the programs that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="a system without /dev/stdin")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("interruptible")
def test_a_signal_leaves_nothing_unfinished(home: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C or kill while a run waits for more baskets ends with status 1 and takes the unfinished file away."""
    command = ["randomize", "/dev/stdin", "--layout", "dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    arguments = [sys.executable, "-m", "assocpriv", *map(str, command)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"1 2 3\n5 7\n" * 600_000)
        until = monotonic() + 60
        while not any(tmp_path.glob(".*.part")) and process.poll() is None and monotonic() < until:
            sleep(0.01)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"Traceback" not in errors
    assert not any(tmp_path.iterdir())


@pytest.mark.usefixtures("interruptible")
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
