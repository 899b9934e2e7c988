"""What a terminal shows: bars, colours and talk as wanted; in a pipe the same text, and nothing else."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import click
import pytest
from command_line import PLAN_ARGUMENTS, run
from planned import planned

import assocpriv as ap
from assocpriv.cli.options import say
from assocpriv.show import terminal
from assocpriv.show.audits import audit_lines
from assocpriv.show.terminal import ProgressBar, can_draw, columns, decorated, fitted, harmless, has_colours, talk

HIDDEN = {"COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"}
COLOUR = re.compile("\x1b\\[[0-9;]*m")
BAR = re.compile("  [ ─●]*●[ ─]*(?=  )")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of baskets in which items come together."""
    place = tmp_path_factory.mktemp("terminal")
    (place / "baskets.dat").write_text("1 2 3\n2 3\n3 4 5\n" * 3000, encoding="utf-8")
    run(*PLAN_ARGUMENTS, "--paper", "-o", place / "plan.json")  # a table of few columns
    run("randomize", place / "baskets.dat", "--plan", place / "plan.json", "-o", place / "reports.parquet")
    return place / "reports.parquet"


def on_terminal(*arguments: Any, width: int = 100, **environment: str) -> str:
    """Run a command on a terminal of some width and return all that it shows."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    others = {name: value for name, value in os.environ.items() if name not in HIDDEN}
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
    narrow = on_terminal(*command, width=40, NO_COLOR="1")
    assert not COLOUR.search(narrow)
    assert not BAR.search(narrow)
    assert all(len(line) <= 40 for line in narrow.replace("\x1b[K", "").splitlines())
    assert "".join(narrow.split()).endswith("".join(plain.split()))  # progress stands before it where that takes long
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


HEAD = "  support  95% interval  itemset"
ROWS = ["   10.0%     5.0%–15.0%  a", "   12.0%     8.0%–16.0%  b"]


def texts(lines: list[str], width: int, **options: Any) -> list[str]:
    """Return the lines that a terminal of some width is given."""
    return [line.text for line in decorated(lines, width, **options)]


def test_tables_without_room_or_scale_stay_as_they_are() -> None:
    """A bar needs eight columns, a scale, a head, two rows, and letters to draw it with."""
    table = [HEAD, *ROWS]
    assert texts(table, 34) == texts(table, 80, bars=False) == table
    wide = texts(table, 40)
    assert len(wide[1]) <= 40
    assert wide[1].index("●") < wide[2].index("●")
    for odd in (table[:2], [HEAD, *["    0.0%     0.0%– 0.0%  a"] * 2], ROWS, ["3%–5%", "2%–4%"]):
        assert texts(odd, 80) == odd
    styles = [line.style for line in decorated([*table, ROWS[0] + "  ? 62%", "?: not listed", ROWS[0]], 80)]
    assert styles == [{"bold": True}, {}, {}, {"dim": True}, {}, {}]
    assert can_draw(TextIOWrapper(BytesIO(), "utf-8"))
    assert not can_draw(TextIOWrapper(BytesIO(), "latin-1"))


def test_bars_of_a_table_have_one_scale_whatever_stands_between() -> None:
    """Rows below a line that parts the table too, whatever stands in it."""
    parted = [HEAD, *ROWS, "a line with 1%–100%: " + "x" * 200, ROWS[0] + "  ? 62%"]
    shown = texts(parted, 60)
    assert shown[3] == parted[3]
    assert shown[4] == shown[1] + "  ? 62%"
    assert BAR.search(shown[1])


def test_names_are_no_tables() -> None:
    """Percentages in names, names like heads, and long names: these go on below their column, beside the bars."""
    names = ["milk 1%–2%", "95% interval  x", "牛乳 " * 20, "a word " * 20]
    lines = [HEAD, *(f"   1{place}.0%     5.0%–15.0%  {name.strip()}" for place, name in enumerate(names))]
    shown = list(decorated(lines, 80))
    assert all(BAR.search(line.text) for line in shown[1:])
    column = shown[1].text.index("milk")
    for line in shown[3:]:
        first, *rest = fitted(line.text, 80, line.hang)
        assert rest
        assert all(columns(part) <= 80 for part in (first, *rest))
        assert {len(part) - len(part.lstrip()) for part in rest} == {column}
        assert " ".join([first.strip(), *map(str.strip, rest)]).split() == line.text.split()


def test_names_steer_no_terminal() -> None:
    """Escape sequences, of one letter too, and marks that turn the text beside them; columns of what has none."""
    assert harmless("\x1b[31m\x9b0m\u202eb\u2066\r") == "�[31m�0m�b��"
    assert harmless("שלום, 牛乳 → e\u0301\t👩\u200d👧") == "שלום, 牛乳 → e\u0301\t👩\u200d👧"
    assert [columns(each) for each in ("牛乳", "e\u0301", "a\u200db", "±–●")] == [4, 1, 2, 3]
    lines = talk("\x9bname " + "long " * 40, "warning:", Terminal(), fg="yellow")
    assert lines[0].startswith(click.style("warning:", fg="yellow") + " �name")
    assert len(lines) > 2


def test_paragraphs_are_set_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of an audit, which a narrow terminal would break a second time; the words are the same."""
    audit = ap.audit(planned(4, 2, ap.Breach("5%", "50%")), depth="exact")
    usual = audit_lines(audit)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", Terminal())
    narrow = audit_lines(audit)
    assert max(map(len, narrow[3:])) <= 60 < max(map(len, usual[3:]))
    assert " ".join(narrow).split() == " ".join(usual).split()


class Terminal(StringIO):
    """A terminal that is told something."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_colours_are_as_the_environment_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLICOLOR_FORCE also where no terminal is; NO_COLOR before all; empty ones say nothing."""
    names = ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE")
    monkeypatch.setenv("TERM", "xterm")
    cases = {("", "", ""): (True, False), ("1", "", "1"): (False, False), ("", "0", ""): (False, False),
             ("", "", "1"): (True, True), ("", "1", "0"): (True, False)}  # fmt: skip
    for values, wanted in cases.items():
        for name, value in zip(names, values, strict=True):
            monkeypatch.setenv(name, value)
        assert (has_colours(Terminal()), has_colours(StringIO())) == wanted


def test_progress_stays_on_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line no longer than the terminal, with rate and time left, gone before something is said; or none."""
    stream, now = Terminal(), [0.0]
    monkeypatch.setattr(terminal, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")

    def told(stage: str, *steps: tuple[int, int]) -> str:
        stream.truncate(stream.seek(0))
        shown = terminal.Progress()
        for place, (done, total) in enumerate(steps):
            now[0] += 3 * min(place, 1)
            shown(stage, done, total)
        return stream.getvalue()

    line = told("counting", (0, 1000), (10, 1000))
    assert line == "\rcounting [" + "-" * 24 + "]   1%  3.3/s  4 min 57 s left\x1b[K"
    say(["this"])
    assert stream.getvalue().removeprefix(line) == "\r\x1b[Kthis\n"
    say(["and this"])
    assert stream.getvalue().endswith("this\nand this\n")
    long = told("a stage " * 20, (0, 10), (0, 10), (3, 10), (10, 10))
    assert all(len(part.removesuffix("\x1b[K")) < 70 for part in long.split("\r"))
    assert long.endswith("\r\x1b[K")
    assert told("brief", (0, 10), (10, 10)) == ""
    monkeypatch.setenv("TERM", "dumb")
    assert told("counting", (0, 10), (5, 10)) == ""


def test_what_cannot_say_how_far_it_is_says_that_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some patience, with the time so far; then the line is gone. Where nobody looks nothing is said."""
    monkeypatch.setattr(terminal, "_PATIENCE_SECONDS", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with terminal.Progress.while_busy("growing"):
        until = monotonic() + 20
        while "growing" not in stream.getvalue():
            assert monotonic() < until
            sleep(0.01)
    assert re.fullmatch("(\rgrowing … \\d+ s\x1b\\[K)+\r\x1b\\[K", stream.getvalue())
    with pytest.raises(ValueError, match="this"), terminal.Progress.while_busy("growing"):
        raise ValueError("this")
    monkeypatch.setattr(sys, "stderr", silent := StringIO())
    with terminal.Progress.while_busy("growing"):
        sleep(0.05)
    assert silent.getvalue() == ""


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


def test_a_command_that_was_likely_meant_is_named() -> None:
    """Also in groups; where nothing is near, nothing is said."""
    for words, meant in ((["mien"], "Did you mean mine?"), (["guide", "publsh"], "Did you mean publish?")):
        done = subprocess.run([sys.executable, "-m", "assocpriv", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert meant in done.stderr
    done = subprocess.run([sys.executable, "-m", "assocpriv", "zzz"], capture_output=True, text=True, check=False)
    assert "Did you mean" not in done.stderr
