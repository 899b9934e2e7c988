"""Terminal output: bars, colours and messages by the settings; in a pipe only the same text."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from io import StringIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from command_line import PLAN_ARGUMENTS, refused, run
from rich.cells import cell_len

from assocpriv.cli.options import say
from assocpriv.show import text_renderer
from assocpriv.show.result_record import Column, Facts, Record, Say, Table
from assocpriv.show.text_renderer import harmless, has_colours

HIDDEN = {"COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"}
COLOUR = re.compile("\x1b\\[[0-9;]*m")
BAR = re.compile("  [ ─●]*●[ ─]*(?=  )")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return reports of baskets in which items are bought together."""
    place = tmp_path_factory.mktemp("terminal")
    (place / "baskets.dat").write_text("1 2 3\n2 3\n3 4 5\n" * 3000, encoding="utf-8")
    run(*PLAN_ARGUMENTS, "--paper", "-o", place / "plan.json")  # a table of few columns
    run("randomize", place / "baskets.dat", "--plan", place / "plan.json", "-o", place / "reports.parquet")
    return place / "reports.parquet"


def on_terminal(*arguments: Any, width: int = 100, **environment: str) -> str:
    """Run a command on a terminal of a width and return its output."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    others = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    process = subprocess.Popen(
        [sys.executable, "-m", "assocpriv", *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs,
        env=others | {"TERM": "xterm"} | environment,
    )  # fmt: skip
    os.close(theirs)
    shown = bytearray()
    with suppress(OSError):  # Linux's way to say that the other end was closed
        while part := os.read(mine, 1 << 16):
            shown += part
    process.wait()
    os.close(mine)
    return shown.decode().replace("\r\n", "\n")


def test_the_terminal_shows_the_text_of_the_pipe(reports: Path) -> None:
    """Without colours and bars the text is that of a pipe; each interval has a bar, and no line is too long."""
    command = ["-q", "mine", reports, "--min-support", "20%"]  # a slow machine would draw progress there, too
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
    assert all(len(line) <= 40 for line in narrow.splitlines())
    assert "".join(narrow.split()) == "".join(plain.split())
    assert not COLOUR.search(on_terminal(*command, TERM="dumb"))


def test_errors_and_talk(reports: Path, tmp_path: Path) -> None:
    """Errors have a colour on a terminal and suggest the intended word; quiet keeps results, verbose adds usage."""
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
    assert "exclude each other" in refused("-q", "-v", "mine", status=2)
    for words, meant in ((["mien"], "Did you mean 'mine'?"), (["guide", "publsh"], "Did you mean 'publish'?")):
        assert meant in refused(*words, status=2)
    assert "Did you mean" not in refused("zzz", status=2)


CONTENT = {"rows": 3}
ROWS = [
    {"low": 0.05, "middle": 0.1, "high": 0.15, "name": "milk 1%–2%", "pale": False},
    {"low": 0.08, "middle": 0.12, "high": 0.16, "name": "牛乳 " * 20, "pale": True},
    {"low": 0.01, "middle": 0.02, "high": 0.03, "name": "\x1b[31ma \u202eword", "pale": False},
]
INTERVAL, NAME = Column("95% interval", "{low:.1%}–{high:.1%}"), Column("itemset", "{name:name}", "name")
COLUMNS = [Column("support", "{middle:.1%}"), INTERVAL, NAME]
TABLE = Table(COLUMNS, ROWS, bars=("low", "middle", "high"), pale="pale")


def shown_at(width: int, monkeypatch: pytest.MonkeyPatch, *parts: Any) -> list[str]:
    """Return the output lines for a terminal of a width."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    text_renderer.show(Record(CONTENT, parts), stream)
    return stream.getvalue().splitlines()


def test_a_table_fits_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars have one scale; long names continue below; uncertain rows are pale; narrow lines fold."""
    wide = shown_at(90, monkeypatch, TABLE)
    plain = [COLOUR.sub("", line) for line in wide]
    assert all(cell_len(line) <= 90 for line in plain)
    first, second, third = (line.index("●") for line in plain if "●" in line)
    assert third < first < second
    assert any("\x1b[2m" in line for line in wide if "牛乳" in line)
    assert len(plain) > 4
    column = plain[1].index("milk")
    assert all(line[:column].strip() == "" for line in plain[3:-1])
    narrow = shown_at(34, monkeypatch, TABLE)
    assert not any("●" in line for line in narrow)
    figures = "".join(COLOUR.sub("", line) for line in shown_at(20, monkeypatch, TABLE))
    assert all(each in figures.replace(" ", "") for each in ("5.0%–15.0%", "8.0%–16.0%"))


def test_names_steer_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape sequences, also of one letter, and direction marks are removed in tables, sentences and messages."""
    assert harmless("\x1b[31m\x9b0m\u202eb\u2066\r") == "�[31m�0m�b��"
    assert harmless("שלום, 牛乳 → e\u0301\t👩\u200d👧") == "שלום, 牛乳 → e\u0301\t👩\u200d👧"
    output = "\n".join(shown_at(90, monkeypatch, TABLE, Say("[bold]{name}", {"name": "\x9b31m :smile:"})))
    assert "�[31ma �word" in output
    assert "[bold]�31m :smile:" in output
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    text_renderer.talk("\x9bname " + "long " * 40, "warning:", stream, "yellow")
    assert stream.getvalue().startswith("\x1b[33mwarning:\x1b[0m �name")
    assert len(stream.getvalue().splitlines()) > 3


def test_in_a_pipe_nothing_is_broken() -> None:
    """Lines are not cut; columns are two blanks apart; a table without rows says so."""
    parts = ["{rows:#row} " + "word " * 60, TABLE, Table(COLUMNS, []), Facts([("a", ["b", "{rows}"])])]
    lines = text_renderer.lines(Record(CONTENT, parts))
    assert lines[0] == "3 rows " + "word " * 60
    assert lines[1].rstrip() == "support  95% interval  itemset"
    assert lines[2] == "  10.0%    5.0%–15.0%  milk 1%–2%"
    assert lines[5:] == ["support  95% interval  itemset", "(none)", "a           b", "            3"]


class Terminal(StringIO):
    """A fake terminal for output."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_colours_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLICOLOR_FORCE works without a terminal; NO_COLOR has priority; empty variables have no effect."""
    monkeypatch.setenv("TERM", "xterm")
    cases = {("", "", ""): (True, False), ("1", "", "1"): (False, False), ("", "0", ""): (False, False),
             ("", "", "1"): (True, True), ("", "1", "0"): (True, False)}  # fmt: skip
    for values, wanted in cases.items():
        for name, value in zip(("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"), values, strict=True):
            monkeypatch.setenv(name, value)
        assert (has_colours(Terminal()), has_colours(StringIO())) == wanted


def test_progress_stays_on_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a delay a bar with the time left, within the terminal's width, removed before other output."""
    stream = Terminal()
    monkeypatch.setattr(text_renderer, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    bar = text_renderer.Progress()
    bar(1, 10)  # of no stage
    bar("counting [x]", 0, 1000)
    bar("counting [x]", 10, 1000)
    say(["this"])
    bar("reading", 5, 10)
    bar("reading", 10, 10)
    with text_renderer.Progress.while_busy("growing"):
        until = monotonic() + 300
        while "growing" not in stream.getvalue():
            assert monotonic() < until
            sleep(0.01)
    shown = COLOUR.sub("", stream.getvalue())
    assert "counting [x]" in shown
    assert "\nthis\n" in shown or "this\n" in shown
    assert shown.index("this") < shown.index("reading") < shown.index("growing")
    assert all(cell_len(part) <= 70 for part in re.split("[\r\n]|\x1b\\[2K", shown))
    for term, quiet in (("dumb", False), ("xterm", True)):
        monkeypatch.setenv("TERM", term)
        monkeypatch.setattr(text_renderer.Progress, "is_silent", quiet)
        monkeypatch.setattr(sys, "stderr", silent := Terminal())
        text_renderer.Progress()("counting", 5, 10)
        assert silent.getvalue() == ""


def test_sentences_wrap_and_tables_and_commands_do_not() -> None:
    """Sentences wrap at the width, facts below their text; a table, a command and kept lines stay whole."""
    words, command = "word " * 30, "`assocpriv plan --items 1000 --prior 5% --posterior 50% --people 1000000 -o p.json`"
    wide = Table([Column("name", "{name}", "text")], [{"name": "x" * 120}])
    parts = [words, Facts([("label", [words, command])]), wide, Say("y " * 60, kind="pre")]
    found = text_renderer.lines(Record({}, parts), 100)
    assert max(len(line) for line in found if "word" in line) <= 100
    assert [line[:12] for line in found if "word" in line] == ["word word wo"] * 2 + ["label       ", " " * 12]
    assert [line for line in found if "assocpriv" in line] == [" " * 12 + command]
    assert {"x" * 120, "y " * 60} <= set(found)
    assert len(text_renderer.lines(Record({}, [words]))) == 1
