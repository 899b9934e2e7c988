"""What a terminal shows: bars, colours and talk as wanted; in a pipe the same text, and nothing else."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from command_line import PLAN_ARGUMENTS, run

from assocpriv.apps.terminal import columns, decorated
from assocpriv.core.progress_bar import ProgressBar

COLOUR = re.compile("\x1b\\[[0-9;]*m")
BAR = re.compile("  [ ─●]*●[ ─]*(?=  )")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of baskets in which items come together."""
    place = tmp_path_factory.mktemp("terminal")
    (place / "baskets.dat").write_text("1 2 3\n2 3\n3 4 5\n" * 3000, encoding="utf-8")
    run(*PLAN_ARGUMENTS, "-o", place / "plan.json")
    run("randomize", place / "baskets.dat", "--plan", place / "plan.json", "-o", place / "reports.parquet")
    return place / "reports.parquet"


def on_terminal(*arguments: Any, width: int = 100, **environment: str) -> str:
    """Run a command on a terminal of some width and return all that it shows."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    others = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "assocpriv", *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs,
        env=others | {"TERM": "xterm"} | environment,
    )  # fmt: skip
    os.close(theirs)
    shown = bytearray()
    while part := _read(mine):
        shown += part
    process.wait()
    os.close(mine)
    return shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux's way to say that the other end was closed
        return b""


def test_the_terminal_draws_what_the_pipe_says(reports: Path) -> None:
    """Without colours and bars the text is that of a pipe; each interval has a bar, and no line is too long."""
    command = ["mine", reports, "--min-support", "20%"]
    plain = run(*command).stdout
    shown = on_terminal(*command, width=120)
    assert COLOUR.search(shown)
    rows = [line for line in COLOUR.sub("", shown).splitlines() if "%–" in line]
    assert len(rows) > 3
    assert all(BAR.search(row) for row in rows)
    assert [BAR.sub("", row).split() for row in rows] == [row.split() for row in plain.splitlines() if "%–" in row]
    narrow = on_terminal(*command, width=50, NO_COLOR="1")
    assert not COLOUR.search(narrow)
    assert not BAR.search(narrow)
    assert all(len(line) <= 50 for line in narrow.splitlines())
    assert "".join(narrow.split()) == "".join(plain.split())
    assert not COLOUR.search(on_terminal(*command, TERM="dumb"))


def test_errors_and_talk(reports: Path, tmp_path: Path) -> None:
    """Errors have a colour on a terminal; quiet leaves results and errors, verbose says what it took."""
    error = on_terminal("mine", tmp_path / "none.parquet", "--min-support", "2%")
    assert COLOUR.search(error)
    assert "Error: there is no report file" in COLOUR.sub("", error)
    command = ["mine", reports, "--min-support", "20%", "-o", tmp_path / "i.csv", "--force"]
    usual, quiet, verbose = (run(*more, *command) for more in ([], ["--quiet"], ["-v"]))
    assert usual.stdout == quiet.stdout == verbose.stdout
    assert "table written" in usual.stderr
    assert quiet.stderr == ""
    assert re.search(r"took \d+\.\d+ s", verbose.stderr)
    assert "table written" in verbose.stderr
    both = subprocess.run([sys.executable, "-m", "assocpriv", "-q", "-v", "mine"], capture_output=True, check=False)
    assert both.returncode == 2


def test_tables_without_room_or_scale_stay_as_they_are() -> None:
    """A bar needs eight columns, a scale and intervals below each other; names may be wide."""
    rows = ["support  interval  name", "  10.0%  5.0%–15.0%  a", "  12.0%  8.0%–16.0%  b"]
    assert [line.text for line in decorated(rows, 30)] == rows
    wide = [line.text for line in decorated(rows, 40)]
    assert [len(line) for line in wide[1:]] == [40 - 1, 40 - 1] or all(len(line) <= 40 for line in wide)
    assert wide[1].index("●") < wide[2].index("●")
    for odd in (rows[:2], [rows[0], "  0.0%  0.0%–0.0%  a", "  0.0%  0.0%–0.0%  b"], [*rows, " 1.0%  0.50%–1.50%  c"]):
        assert [line.text for line in decorated(odd, 80)] == odd
    assert decorated(["  10.0%  5.0%–15.0%  a  ?"] * 2, 80)[1].style == {"dim": True}
    assert columns("牛乳") == 4
    assert columns("e\u0301") == 1


def test_progress_bars_of_tqdm() -> None:
    """Stages have bars of their own, in both ways that functions tell of progress."""
    stream = StringIO()
    bar = ProgressBar(file=stream, delay=0, mininterval=0)
    for done in range(4):
        bar("reading", done, 3)
    bar("mining", 1, 2)
    bar(5, 10)
    bar.close()
    shown = stream.getvalue()
    assert "reading" in shown
    assert "mining" in shown
    assert "5.00/10.0" in shown
