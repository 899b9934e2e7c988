"""Tests of the command randomize: memory, pipes, bad baskets and plans, and interrupts."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from command_line import N_BASKETS, python, refused_without_output, run, run_json

import assocpriv as ap
from assocpriv.cli import options
from assocpriv.cli.main import main
from assocpriv.client.baskets.bulk_client import BulkRandomizer


def test_memory_is_a_size(home: Path, tmp_path: Path) -> None:
    """A size may have any unit; another word, or too small a size, is wrong usage, with an example of a size."""
    baskets = ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    mined = ["mine", home / "r.parquet", "--min-support", "15%"]
    sizes = {"64MiB": 1 << 26, "0.5 GB": 5 * 10**8, "67108864": 1 << 26, "1.5gib": 3 << 29, "70000k": 7 * 10**7}
    assert {text: options._to_bytes(None, None, text) for text in sizes} == sizes  # type: ignore[arg-type]
    for size in ("", "1", "63MiB", "1iB", "-1GB", "1PB", "1e9", "nan", "9" * 400):
        assert re.search("MiB|GB", refused_without_output(tmp_path, *baskets, f"--memory={size}", status=2))
    assert run_json(*baskets, "--memory", "64MiB")["reports"] == N_BASKETS
    assert run_json(*mined, "--memory", "64MiB") == run_json(*mined)


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="a system without /dev/stdin")
def test_baskets_may_come_through_a_pipe(home: Path, tmp_path: Path) -> None:
    """The output of another program is read like a file."""
    options = ["--plan", home / "plan.json", "-o", tmp_path / "r.parquet", "--layout", "dat", "--json"]
    done = python("randomize", "/dev/stdin", *options, input=(home / "b.dat").read_text())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reports"] == N_BASKETS


def test_reading_options(home: Path, tmp_path: Path) -> None:
    """Unknown and repeated items and empty baskets are refused, or with an option counted on standard error."""
    (tmp_path / "b.csv").write_text("1,1,2\n\n99,3\n")
    command = ["randomize", tmp_path / "b.csv", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    result = run(*command, "--unknown", "drop", "--repeats", "merge", "--empty", "keep", "--json")
    assert json.loads(result.stdout)["reports"] == 3
    for message in ("1 item outside the catalogue dropped", "1 repeated item merged", "1 empty basket kept"):
        assert message in result.stderr


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Restore SIGINT, which background jobs and their child processes ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="a system without /dev/stdin")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("interruptible")
def test_a_signal_leaves_nothing_unfinished(home: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C or kill while waiting for baskets ends with status 1 and removes the unfinished file."""
    command = ["randomize", "/dev/stdin", "--layout", "dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    arguments = [sys.executable, "-m", "assocpriv", *map(str, command)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"1 2 3\n5 7\n" * 600_000)
        until = monotonic() + 300
        while not any(tmp_path.glob(".*.part")) and process.poll() is None and monotonic() < until:
            sleep(0.01)
        process.send_signal(number)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert b"Traceback" not in errors
    assert not any(tmp_path.iterdir())


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_an_import_took_for_another_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal ends the command with status 1 and no traceback, for every exception that Python raises."""

    def interrupted(*_: Any, **__: Any) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise TypeError("expected a message argument") from None  # what an import of ssl once raised

    monkeypatch.setattr(ap, "inspect", interrupted)
    result = CliRunner().invoke(main, ["inspect", str(home / "plan.json")])
    assert result.exit_code == 1
    assert result.output.strip() == "Aborted!"


def test_out_of_memory(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running out of memory is an error in one line."""
    monkeypatch.setattr(BulkRandomizer, "randomize", Mock(side_effect=MemoryError))
    command = ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    assert "out of memory" in refused_without_output(tmp_path, *command)


def test_mining_names_other_files_of_a_folder(home: Path, tmp_path: Path) -> None:
    """Except mined tables."""
    for name in ("r.parquet", "i.parquet", "b.csv", "b.dat"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    message = run("mine", tmp_path, "--min-support", "15%").stderr
    assert f"{tmp_path}: 2 files left out because not named *.parquet, such as b.csv" in message
