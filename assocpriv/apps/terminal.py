"""What a result looks like on a terminal: intervals drawn as bars, heads in bold, what may be nothing pale.

A picture is made of the text it stands in and says nothing that the text does not; in a pipe or a file there is none.
Tables are known by their head, as names of items can look like anything. Colours follow NO_COLOR (no-color.org),
CLICOLOR and CLICOLOR_FORCE (bixense.com/clicolors), and a TERM that has none.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from shutil import get_terminal_size
from typing import IO, Any, NamedTuple
from unicodedata import category, east_asian_width

import click

_HEAD = re.compile(r"[a-z± ]*\d[\d.]*% interval(?=  )")  # whose column of intervals ends where its title does
_INTERVAL = re.compile(r"(?P<low>-?\d+(?:\.\d+)?)%–\s*(?P<high>-?\d+(?:\.\d+)?)%$")
_FIRST = re.compile(r"-?\d+(?:\.\d+)?(?=%)")
_NO_INTERVAL = "not asked"
_NOT_TOLD = "—"
_DOUBTFUL = "  ?"  # ends the line of an itemset that may be nothing
_LEAST, _MOST, _WITH_LONG_NAMES = 8, 30, 16  # characters of a bar
_NAMES = 24  # columns that names have at least beside a bar; longer ones go on below
_LEAST_COLUMN = 20  # columns that a table's last column must have for what is broken to stand below it
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Styled(NamedTuple):
    """A line, how it is shown, and below which column it goes on where it is too long."""

    text: str
    style: dict[str, Any]
    hang: int | None = None

    def shown(self, part: str, *, coloured: bool) -> str:
        """Return a part of the line as it goes to the terminal."""
        return click.style(part, **self.style) if coloured and self.style else part


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
        last = line.rstrip("? ").rfind("  ", 0, width - _LEAST_COLUMN) + 2
        hang = last if last > 1 and line[:last].strip() else max(2, len(line) - len(line.lstrip()))
    parts = [""]
    for word in re.findall(r" *[^ ]+", line):
        if parts[-1].strip() and columns(parts[-1]) + columns(word) > width:
            parts.append(" " * hang + word.lstrip(" "))
        else:
            parts[-1] += word
    return parts


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
        found = [match for row in rows if (match := _INTERVAL.search(row[:end]))]
        last = head.rstrip().rfind("  ") + 2
        most = max((float(match["high"]) for match in found), default=0)
        free = width - last - 2
        longest = max((columns(row[last:]) for row in rows if _INTERVAL.search(row[:end])), default=0)
        room = min(_MOST, max(free - longest, min(_WITH_LONG_NAMES, free - _NAMES)))
        return cls(end, last, room if room >= _LEAST and most > 0 and len(found) > 1 else 0, most)

    def is_row(self, line: str) -> bool:
        """Return whether a line below the head is a row."""
        figures = line[: self.end]
        return _INTERVAL.search(figures) is not None or figures.endswith(_NO_INTERVAL)

    def shown(self, line: str, style: dict[str, Any]) -> Styled:
        """Return the head or a row, with a bar behind its interval."""
        if not self.room:
            return Styled(line, style, self.last)
        match = _INTERVAL.search(line[: self.end])
        bar = " " * self.room if match is None else self._bar(line, match)
        return Styled(f"{line[: self.end]}  {bar}{line[self.end :]}", style, self.last + 2 + self.room)

    def _bar(self, row: str, interval: re.Match[str]) -> str:
        figures = row[: interval.start()]
        estimate = None if _NOT_TOLD in figures else _FIRST.search(figures)
        low, high = (float(interval[name]) / self.most for name in ("low", "high"))
        return drawn(low, float(estimate.group()) / self.most if estimate else None, high, self.room)


def talk(line: str, word: str, stream: IO[str], **style: Any) -> list[str]:
    """Return what a person is told after a word (none: ""), which has a style where the stream shows it."""
    whole = f"{word} {line}" if word else line
    if not is_terminal(stream):
        return [whole]
    first, *rest = fitted(harmless(whole), get_terminal_size().columns, 2)
    if word and has_colours(stream):
        first = click.style(word, **style) + first.removeprefix(word)
    return [first, *rest]


def decorated(lines: Sequence[str], width: int, *, bars: bool = True) -> Iterator[Styled]:
    """Yield lines as a terminal of some width shows them, with a bar behind each interval where there is room."""
    table, is_doubtful = None, False
    for place, line in enumerate(lines):
        if table is not None and table.is_row(line):
            yield table.shown(line, {"dim": True} if is_doubtful or line.endswith(_DOUBTFUL) else {})
        elif head := _HEAD.match(line):
            below = list(takewhile(lambda other: not _HEAD.match(other), lines[place + 1 :]))
            table = _Table.of(line, head.end(), below, width if bars else 0)
            yield table.shown(line, {"bold": True})
        else:
            is_doubtful = table is not None and line == "not certain:"
            yield Styled(line, {})


def drawn(low: float, middle: float | None, high: float, room: int) -> str:
    """Draw an interval and the estimate in it, if there is one, all shares of the scale.

    >>> drawn(0.2, 0.5, 0.8, 10), drawn(0, None, 0.5, 8)
    ('  ──●───  ', '─────   ')
    """
    start, stop = (_place(each, room) for each in (low, high))
    marks = [" "] * room
    marks[start : stop + 1] = "─" * (stop + 1 - start)
    if middle is not None:
        marks[_place(middle, room)] = "●"
    return "".join(marks)


def _place(share: float, room: int) -> int:
    return round(min(max(share, 0.0), 1.0) * (room - 1))
