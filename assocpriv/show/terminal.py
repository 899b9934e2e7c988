"""The look of a result on a terminal, with the progress towards it.

Intervals are drawn as bars, heads in bold, what may be nothing pale. A picture is made of the text it stands in and
says nothing that the text does not; in a pipe or a file there is none. Tables are known by their head, as names of
items can look like anything. Colours follow NO_COLOR (no-color.org), CLICOLOR and CLICOLOR_FORCE
(bixense.com/clicolors), and a TERM that has none.

Progress is shown for anything that takes more than two seconds: a line on a terminal; in notebooks and scripts, for
the ``progress`` of any function here, a bar by tqdm.
"""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from shutil import get_terminal_size
from threading import Event, Thread
from time import monotonic
from typing import IO, Any, ClassVar, NamedTuple
from unicodedata import category, east_asian_width

import click

_HEAD = re.compile(r"[a-z± ]*\d[\d.]*% interval(?=  )")  # whose column of intervals ends where its title does
_INTERVAL = re.compile(r" *(?P<middle>\d+\.?\d*)% +(?P<low>\d+\.?\d*)%– *(?P<high>\d+\.?\d*)%$")  # after an estimate
_DOUBTFUL = re.compile(r"  \? \d+%$")  # ends the line of what is not listed
_LEAST, _MOST, _WITH_LONG_NAMES = 8, 30, 16  # characters of a bar
_NAMES = 24  # columns that names have at least beside a bar; longer ones go on below
_LEAST_COLUMN = 20  # columns that a table's last column must have for what is broken to stand below it
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PATIENCE_SECONDS, _BETWEEN_SECONDS = 2.0, 0.2  # before a bar comes, before it changes
_SOON = 0.1  # seconds of a stage that say nothing of its rate yet
_WIDTH = 24  # characters of a bar of progress
_IN_BYTES = {"reading"}  # stages that count bytes, shown in megabytes


# ---- streams


def is_terminal(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal, or is to be treated as one."""
    return stream.isatty() or os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0")


def has_colours(stream: IO[str] | None = None) -> bool:
    """Return whether a stream (standard output by default) is a terminal that shows colours, and may."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("CLICOLOR") != "0" and os.environ.get("TERM") != "dumb"
    return wanted and is_terminal(sys.stdout if stream is None else stream)


def can_draw(stream: IO[str]) -> bool:
    """Return whether a stream's encoding has what bars are drawn of."""
    try:
        "─●".encode(getattr(stream, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def paragraph_width(usual: int) -> int:
    """Return how wide paragraphs of a result are set: as usual, or as wide as a terminal that is narrower."""
    return min(usual, get_terminal_size().columns) if is_terminal(sys.stdout) else usual


# ---- lines


class Styled(NamedTuple):
    """A line, how it is shown, and below which column it goes on where it is too long."""

    text: str
    style: dict[str, Any]
    hang: int | None = None

    def shown(self, part: str, *, coloured: bool) -> str:
        """Return a part of the line as it goes to the terminal."""
        return click.style(part, **self.style) if coloured and self.style else part


def harmless(text: str) -> str:
    """Return a text without what would steer a terminal, or turn the direction of what stands beside it.

    >>> harmless("tea\\x9b31m, a\\u202eb")
    'tea�31m, a�b'
    """
    return _UNSAFE.sub("\ufffd", text)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes; of a picture put together of several perhaps fewer.

    >>> columns("milk"), columns("牛乳"), columns("é"), columns("e\\u0301")
    (4, 4, 1, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if category(each) in ("Mn", "Me", "Cf") else 2 if east_asian_width(each) in "WF" else 1 for each in text
    )


def fitted(line: str, width: int, hang: int | None = None) -> list[str]:
    """Break a line at blanks that a terminal of some width would break anywhere.

    What follows stands below column ``hang``; by default below a table's last column, which two blanks set off, or a
    little to the right.
    """
    if columns(line) <= width:
        return [line]
    if hang is None:
        last = _DOUBTFUL.sub("", line).rfind("  ", 0, width - _LEAST_COLUMN) + 2
        hang = last if last > 1 and line[:last].strip() else max(2, len(line) - len(line.lstrip()))
    parts = [""]
    for word in re.findall(r" *[^ ]+", line):
        if parts[-1].strip() and columns(parts[-1]) + columns(word) > width:
            parts.append(" " * hang + word.lstrip(" "))
        else:
            parts[-1] += word
    return parts


def talk(line: str, word: str, stream: IO[str], **style: Any) -> list[str]:
    """Return what a person is told after a word (none: ""), which has a style where the stream shows it."""
    whole = f"{word} {line}" if word else line
    if not is_terminal(stream):
        return [whole]
    first, *rest = fitted(harmless(whole), get_terminal_size().columns, 2)
    if word and has_colours(stream):
        first = click.style(word, **style) + first.removeprefix(word)
    return [first, *rest]


# ---- tables


def decorated(lines: Sequence[str], width: int, *, bars: bool = True) -> Iterator[Styled]:
    """Yield lines as a terminal of some width shows them, with a bar behind each interval where there is room."""
    table = None
    for place, line in enumerate(lines):
        if table is not None and table.is_row(line):
            yield table.shown(line, {"dim": True} if _DOUBTFUL.search(line) else {})
        elif head := _HEAD.match(line):
            below = list(takewhile(lambda other: not _HEAD.match(other), lines[place + 1 :]))
            table = _Table.of(line, head.end(), below, width if bars else 0)
            yield table.shown(line, {"bold": True})
        else:
            yield Styled(line, {})


@dataclass(frozen=True, slots=True)
class _Table:
    """Where a table's intervals end and its last column starts, how long its bars are (0: none), and their scale."""

    end: int
    last: int
    room: int
    most: float

    @classmethod
    def of(cls, head: str, end: int, rows: Sequence[str], width: int) -> "_Table":
        """Return how a table is shown."""
        found = [match for row in rows if (match := _INTERVAL.match(row[:end]))]
        last = head.rstrip().rfind("  ") + 2
        most = max((float(match["high"]) for match in found), default=0)
        free = width - last - 2
        longest = max((columns(row[last:]) for row in rows if _INTERVAL.match(row[:end])), default=0)
        room = min(_MOST, max(free - longest, min(_WITH_LONG_NAMES, free - _NAMES)))
        return cls(end, last, room if room >= _LEAST and most > 0 and len(found) > 1 else 0, most)

    def is_row(self, line: str) -> bool:
        """Return whether a line below the head is a row."""
        return _INTERVAL.match(line[: self.end]) is not None

    def shown(self, line: str, style: dict[str, Any]) -> Styled:
        """Return the head or a row, with a bar behind its interval."""
        if not self.room:
            return Styled(line, style, self.last)
        match = _INTERVAL.match(line[: self.end])
        bar = " " * self.room if match is None else self._bar(match)
        return Styled(f"{line[: self.end]}  {bar}{line[self.end :]}", style, self.last + 2 + self.room)

    def _bar(self, interval: re.Match[str]) -> str:
        low, middle, high = (float(interval[name]) / self.most for name in ("low", "middle", "high"))
        return drawn(low, middle, high, self.room)


def drawn(low: float, middle: float, high: float, room: int) -> str:
    """Draw an interval and the estimate in it, all shares of the scale.

    >>> drawn(0.2, 0.5, 0.8, 10)
    '  ──●───  '
    """
    start, stop = (_place(each, room) for each in (low, high))
    marks = [" "] * room
    marks[start : stop + 1] = "─" * (stop + 1 - start)
    marks[_place(middle, room)] = "●"
    return "".join(marks)


def _place(share: float, room: int) -> int:
    return round(min(max(share, 0.0), 1.0) * (room - 1))


# ---- progress


class Progress:
    """A line on standard error with a bar, the rate and the time left; silent where that is no terminal."""

    is_silent: ClassVar[bool] = False  # for all of them
    _visible: ClassVar[bool] = False  # whether a line stands there, of any of them

    def __init__(self) -> None:
        self._stage = ""
        self._began = self._started = self._shown = monotonic()  # all stages, this one; what stands there

    def __call__(self, stage: str, done: int, total: int, in_bytes: bool = False) -> None:
        """Report that ``done`` of ``total`` steps of a stage are done."""
        now = monotonic()
        if stage != self._stage:
            self.make_room()
            self._stage, self._started = stage, now
        late = now - self._began > _PATIENCE_SECONDS and now - self._shown > _BETWEEN_SECONDS
        if late and 0 <= done < total and self._may_show():
            self._shown = now
            self._show(_line_of(stage, (done, total), now - self._started, in_bytes or stage in _IN_BYTES))
        elif done >= total:
            self.make_room()

    def stage(self, name: str, *, in_bytes: bool = False) -> Callable[[int, int], None]:
        """Return a callback (done, total) for one stage."""
        return lambda done, total: self(name, done, total, in_bytes)

    @classmethod
    @contextlib.contextmanager
    def while_busy(cls, what: str) -> Iterator[None]:
        """Say for how long something has been at work that does not tell how far it is."""
        if not cls._may_show():
            yield
            return
        done, started = Event(), monotonic()

        def tick() -> None:
            wait = _PATIENCE_SECONDS
            while not done.wait(wait):
                cls._show(f"{what} … {_in_words(monotonic() - started)}")
                wait = 1.0

        ticking = Thread(target=tick, daemon=True)
        ticking.start()
        try:
            yield
        finally:
            done.set()
            ticking.join()  # nothing is shown from now on
            cls.make_room()

    @staticmethod
    def _show(text: str) -> None:
        Progress._visible = True
        sys.stderr.write(f"\r{text[: get_terminal_size().columns - 1]}\x1b[K")
        sys.stderr.flush()

    @classmethod
    def _may_show(cls) -> bool:
        return not cls.is_silent and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    @staticmethod
    def make_room() -> None:
        """Take the line away, if there is one, for what is said next."""
        if Progress._visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            Progress._visible = False


def _line_of(stage: str, steps: tuple[int, int], seconds: float, in_bytes: bool) -> str:
    """Say how far a stage is, at which rate, and how long it still takes at that.

    >>> _line_of("counting", (2, 8), 4.0, False)
    'counting [######------------------]  25%  0.5/s  12 s left'
    >>> _line_of("reading", (0, 8), 4.0, True)
    'reading [------------------------]   0%'
    """
    done, total = steps
    filled = _WIDTH * done // total
    bar = f"{stage} [{'#' * filled}{'-' * (_WIDTH - filled)}] {done / total:4.0%}"
    if not done or seconds < _SOON:
        return bar
    rate = done / seconds
    speed = f"{rate / 1e6:,.1f} MB/s" if in_bytes else f"{rate:,.{0 if rate >= 10 else 1}f}/s"
    return f"{bar}  {speed}  {_in_words((total - done) / rate)} left"


def _in_words(seconds: float) -> str:
    """Write a time as it is said.

    >>> _in_words(12.3), _in_words(200), _in_words(7500)
    ('12 s', '3 min 20 s', '2 h 05 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02} min"


class ProgressBar:
    """A bar for each stage with its rate and the time left, shown where a stage takes more than two seconds.

    It is called with (done, total) or with (stage, done, total), as functions call their ``progress``.
    """

    _bar: Any

    def __init__(self, **options: Any) -> None:
        from tqdm.auto import tqdm

        self._make = tqdm
        self._options = {"delay": _PATIENCE_SECONDS, "leave": False, "unit_scale": True} | options
        self._stage, self._bar = "", None

    def __call__(self, *told: Any) -> None:
        """Take in that ``done`` of ``total`` steps of a stage are done."""
        stage, done, total = told if len(told) > 2 else ("", *told)
        if self._bar is None or stage != self._stage or done < self._bar.n:
            self.close()
            self._stage, self._bar = stage, self._make(total=total, desc=stage or None, **self._options)
        self._bar.total = total
        self._bar.update(done - self._bar.n)
        if done >= total:
            self.close()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def progress_bar(**options: Any) -> ProgressBar:
    """Return a bar for the ``progress`` of any function here, by tqdm (extra ``assocpriv[notebook]``).

    In a notebook it is a widget, elsewhere a line on standard error; it comes where something takes more than two
    seconds, with its rate and the time left.

    Args:
        options: tqdm's, such as ``disable`` or ``file``.

    Raises:
        ImportError: tqdm is not installed.

    >>> import assocpriv as ap
    >>> plan = ap.plan(["tea", "milk", "rye"], ap.Breach("5%", "50%"), mean_size=2)
    >>> reports = ap.randomize([{"tea"}] * 20_000, plan)
    >>> len(ap.mine(reports, "50%", progress=ap.progress_bar()))
    1
    """
    return ProgressBar(**options)
