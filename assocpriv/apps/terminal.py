"""What a result looks like on a terminal: intervals drawn as bars, heads in bold, what may be nothing pale.

A picture is made of the text it stands in and says nothing that the text does not; in a pipe or a file there is none.
Colours follow NO_COLOR (no-color.org) and a TERM that has none.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import IO, Any, NamedTuple
from unicodedata import combining, east_asian_width

import click

_INTERVAL = re.compile(r"(?P<low>-?\d+(?:\.\d+)?)%–\s*(?P<high>-?\d+(?:\.\d+)?)%")
_FIRST = re.compile(r"-?\d+(?:\.\d+)?(?=%)")
_LEAST, _MOST = 8, 30  # characters of a bar
_DOUBTFUL = "  ?"  # ends the line of an itemset that may be nothing


class Styled(NamedTuple):
    """A line, and how it is shown."""

    text: str
    style: dict[str, Any]

    def shown(self, part: str, *, coloured: bool) -> str:
        """Return a part of the line as it goes to the terminal."""
        return click.style(part, **self.style) if coloured and self.style else part


def has_colours(stream: IO[str] | None = None) -> bool:
    """Return whether a stream (standard output by default) is a terminal that shows colours, and may."""
    is_terminal = (sys.stdout if stream is None else stream).isatty()
    return is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns("milk"), columns("牛乳"), columns("é")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def decorated(lines: Sequence[str], width: int) -> list[Styled]:
    """Return lines as a terminal of some width shows them, with a bar behind each interval where there is room."""
    shown: list[Styled] = []
    for has_intervals, group in groupby(lines, lambda line: _INTERVAL.search(line) is not None):
        rows = list(group)
        if not has_intervals:
            shown += [Styled(line, {}) for line in rows]
            continue
        head = shown.pop() if shown else None
        drawn = list(_with_bars(rows, width, head.text if head else ""))
        if head is not None:
            shown.append(Styled(drawn[0], {"bold": True}))
        shown += [Styled(line, {"dim": True} if line.endswith(_DOUBTFUL) else {}) for line in drawn[1:]]
    return shown


def _with_bars(rows: Sequence[str], width: int, head: str) -> Iterator[str]:
    """Yield a table's head and rows, with bars on one scale from 0 behind their intervals."""
    found = [match for match in map(_INTERVAL.search, rows) if match is not None]
    room = min(_MOST, width - 2 - max(map(columns, [head, *rows])))
    most = max(float(match["high"]) for match in found)
    ends = {match.end() for match in found}
    if room < _LEAST or most <= 0 or len(ends) > 1 or len(rows) < 2:
        yield from [head, *rows]
        return
    end = ends.pop()
    yield f"{head[:end]:<{end}}  {'':{room}}{head[end:]}".rstrip()
    for row, match in zip(rows, found, strict=True):
        estimate = _FIRST.search(row)
        low, high = float(match["low"]), float(match["high"])
        middle = float(estimate.group()) if estimate else low
        yield f"{row[:end]}  {_bar(low / most, middle / most, high / most, room)}{row[end:]}"


def _bar(low: float, middle: float, high: float, room: int) -> str:
    """Draw an interval and the estimate in it, all shares of the scale.

    >>> _bar(0.2, 0.5, 0.8, 10)
    '  ──●───  '
    """
    start, place, stop = (round(min(max(each, 0.0), 1.0) * (room - 1)) for each in (low, middle, high))
    marks = [" "] * room
    marks[start : stop + 1] = "─" * (stop + 1 - start)
    marks[place] = "●"
    return "".join(marks)
