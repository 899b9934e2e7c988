"""docs/run-a-collection.md: its shell blocks run as they stand, line after line, against collectors that run."""

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from command_line import blocks_of, program

import assocpriv as ap
from assocpriv.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "run-a-collection.md").read_text(encoding="utf-8")
ACTIVATE = ". .venv/bin/activate"
LINES = {kind: [line for block in blocks_of(PAGE, kind) for line in block] for kind in ("sh", "")}
PORTS = ("8350", "8351", "8352", "8353")


def other_ports(line: str) -> str:
    """Return a line with ports that nobody listens at."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    for known, listener in zip(PORTS, listeners, strict=True):
        line = line.replace(known, str(listener.getsockname()[1]))
        listener.close()
    return line


class Shell:
    """What one shell does with the lines: commands of ours in this process, those with ``&`` beside it."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._options = {"cwd": folder, "env": os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}}
        self._jobs: list[subprocess.Popen[str]] = []

    def run(self, line: str) -> str:
        """Run a line, which must end with status 0, and return what it printed."""
        if line.endswith(" &"):
            self._jobs.append(subprocess.Popen(shlex.split(line[:-2]), **self._options, stdout=subprocess.DEVNULL))
            return ""
        if line == "kill %1":
            self._jobs[0].terminate()
            return ""
        if line == "wait":
            assert self._jobs.pop().wait(timeout=900) == 0
            return ""
        if line.startswith("assocpriv ") and not set("$|<>*") & set(line):
            done = CliRunner().invoke(main, shlex.split(line)[1:])
            assert done.exit_code == 0, f"{line}: {done.output}"
            return done.stdout
        ran = subprocess.run(
            ["bash", "-euc", line], **self._options, capture_output=True, text=True, timeout=900, check=False
        )
        assert ran.returncode == 0, f"{line}: {ran.stderr}"
        return ran.stdout

    def end(self) -> None:
        """End what still runs."""
        for job in self._jobs:
            job.kill()
            job.wait()


def test_every_line_runs_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line ends with status 0; ports are others, and what is activated is this Python."""
    program("curl", "curl")
    lines = other_ports("\n".join(LINES["sh"])).splitlines()
    assert lines[0] == ACTIVATE
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shell = Shell(tmp_path)
    try:
        output = {line: shell.run(line) for line in lines[1:]}
    finally:
        shell.end()
    assert "20,001 reports in 1 file" in output["assocpriv inspect backup"]
    assert json.loads(output["assocpriv inspect restored --json"])["reports"] == 20_002
    assert "10,000 reports of key 1 set aside" in output["assocpriv collector set-aside tills --key 1"]
    assert "closed" in output["assocpriv collector status collection"]
    answered = [len(ap.read_reports(tmp_path / name)) for name in ("first", "second")]
    assert sum(answered) == 20_001  # each device in one of them


@pytest.mark.parametrize("line", [line for line in LINES[""] if line.startswith("assocpriv ")])
def test_what_is_only_shown_is_a_command(line: str) -> None:
    """Lines that need a database or a domain are at least what the command line takes."""
    command, words = main, shlex.split(line)[1:]
    while isinstance(command, click.Group):
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
    assert command.make_context("command", words).params
