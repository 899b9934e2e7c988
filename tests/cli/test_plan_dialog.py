"""Tests of the dialog of ``plan``: sessions on a real terminal, with mistakes, and without a terminal."""

import os
import pty
import re
import select
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Self
from unittest.mock import Mock

import pytest
from click.testing import CliRunner, Result
from command_line import run

from assocpriv.cli import plan_commands
from assocpriv.cli.main import main
from assocpriv.show import text_renderer

CTRL_C = "\x03"
WAIT_SECONDS = 300  # for the next question; a session that hangs fails
TERMINAL = '<"$0" 2>"$0"'  # opened by the leader of a session it becomes the one whose Ctrl-C counts


class Session:
    """The program with a separate terminal as standard input and error, or with shell redirections."""

    def __init__(self, folder: Path, *words: str, streams: str = TERMINAL) -> None:
        self._mine, theirs = pty.openpty()
        command = ["sh", "-c", f'exec "$@" {streams}', os.ttyname(theirs), sys.executable, "-m", "assocpriv", *words]
        self._process = subprocess.Popen(
            command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            cwd=folder, env=os.environ | {"TERM": "dumb", "COLUMNS": "200"}, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def type(self, *answers: str) -> Self:
        """Answer the questions one by one."""
        for answer in answers:
            while not self.shown.endswith("]: "):
                assert self._read(), f"it ended without a question:\n{self.shown}"
            os.write(self._mine, answer.encode() if answer == CTRL_C else f"{answer}\n".encode())
            self._read()  # the echo, so that the question is not answered twice
        return self

    def end(self) -> tuple[int, str]:
        """Return the exit status and standard output."""
        while self._read():
            pass
        output, _ = self._process.communicate(timeout=WAIT_SECONDS)
        os.close(self._mine)
        return self._process.returncode, output

    def _read(self) -> bool:
        assert select.select([self._mine], [], [], WAIT_SECONDS)[0], f"it hangs:\n{self.shown}"
        try:
            part = os.read(self._mine, 1 << 16)
        except OSError:  # Linux's way to say that the other end was closed
            return False
        self.shown += part.decode(errors="replace").replace("\r\n", "\n")
        return True


def asked(folder: Path, *answers: str) -> Result:
    """Answer the questions on a terminal in a folder; then the input ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # what the command that is shown says is not asked again
        patch.setattr(plan_commands, "is_dialog_wanted", Mock(side_effect=[True, False]))
        return CliRunner().invoke(main, ["plan"], input="".join(f"{answer}\n" for answer in answers))


def command_of(shown: str) -> list[str]:
    """Return the words of the shown command, without the program's name."""
    [line] = re.findall(r"^.* plan (--.*)$", shown, flags=re.MULTILINE)
    return ["plan", *shlex.split(line)]


def test_answers_make_the_plan_of_the_command_that_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mistake gets one line that says what to type; standard output is that of the command only."""
    (tmp_path / "the names.txt").write_text("\n".join(f"product {n}" for n in range(40)), encoding="utf-8")
    (tmp_path / "plan.json").write_text("kept", encoding="utf-8")
    session = Session(tmp_path, "plan")
    session.type(
        "none.txt", "0", "the names.txt", "many", "50,000", "41", "2.5", "5", "2", "", "no", "no/p.json", "the plan"
    )
    _, output = session.end()
    mistakes = [line for line in session.shown.splitlines() if line.startswith("Error: ")]
    assert len(mistakes) == 7
    assert all(re.search(r"\. Type [^.]+(4\.4)?\.$", line) for line in mistakes)
    plan = (tmp_path / "the plan").rename(tmp_path / "first").read_bytes()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(text_renderer, "WIDTH", 100)
    assert run(*command_of(session.shown)).stdout == output
    assert (tmp_path / "the plan").read_bytes() == plan
    [cost] = re.findall(r"2  default .* pairs from a support of (.*)$", session.shown, flags=re.MULTILINE)
    assert re.search(rf"^pairs .* {re.escape(cost)}$", output, flags=re.MULTILINE)
    assert (tmp_path / "plan.json").read_text(encoding="utf-8") == "kept"


def test_enter_takes_the_defaults_and_a_yes_replaces(tmp_path: Path) -> None:
    """The default guarantee for a thousand products; an existing file is replaced on request, also by the command."""
    (tmp_path / "plan.json").write_text("old", encoding="utf-8")
    done = asked(tmp_path, "", "", "", "", "", "yes")
    assert done.exit_code == 0, done.stderr
    run("plan", "--items", 1000, "--prior", "5%", "--posterior", "50%", "-o", tmp_path / "p.json")
    assert (tmp_path / "plan.json").read_bytes() == (tmp_path / "p.json").read_bytes()
    assert command_of(done.stderr)[-1] == "--force"


@pytest.mark.parametrize(("typed", "option"), [("ln 19", ["--epsilon", "ln 19"]), ("5% 20%", ["--posterior", "20%"])])
def test_another_guarantee(tmp_path: Path, typed: str, option: list[str]) -> None:
    """Invalid guarantees are asked again; ε or two probabilities are accepted, and the cost is shown."""
    shown = asked(tmp_path, "12", "", "", "4", "ten", "20% 5%", typed, "").stderr
    assert shown.count("Error: ") == 2
    assert "It detects pairs from a support of " in shown
    assert shlex.join(option) in shlex.join(command_of(shown))


def test_it_ends_without_a_plan(tmp_path: Path) -> None:
    """Ctrl-C and Ctrl-D end any question with status 1, without a traceback or a file."""
    (tmp_path / "plan.json").write_text("old", encoding="utf-8")
    session = Session(tmp_path, "plan").type("12", "", "", "", "", CTRL_C)
    assert session.end() == (1, "")
    assert session.shown.endswith("\nAborted!\n")
    ended = asked(tmp_path, "12", "", "", "4")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "Traceback" not in session.shown + ended.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"plan.json": "old"}


@pytest.mark.parametrize("streams", ["</dev/null", "2>notes.txt", TERMINAL])
def test_no_dialog_without_a_terminal(tmp_path: Path, streams: str) -> None:
    """Without a terminal for input or errors, or with an option, the command refuses as without the dialog."""
    session = Session(tmp_path, "plan", *["--json"] * (streams == TERMINAL), streams=streams)
    assert session.end() == (2, "")
    output = session.shown + "".join(path.read_text() for path in tmp_path.iterdir())
    assert "Missing option '-o' / '--output'" in output
