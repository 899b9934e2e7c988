"""Print a record as text: sentences wrap at 100 columns; on a terminal rich fits tables to the window.

A terminal also gets intervals as bars, bold headings and pale uncertain rows. Charts are left out: tables hold the same
figures. Colours follow NO_COLOR (no-color.org), CLICOLOR and CLICOLOR_FORCE
(bixense.com/clicolors), and a TERM that has none.

Work that takes more than two seconds shows its progress: commands on standard error; scripts and notebooks pass
``progress_bar()`` as the ``progress`` of a function.
"""

import contextlib
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import get_terminal_size
from threading import Timer
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, ClassVar

from assocpriv.show.result_record import (
    Column,
    Facts,
    Page,
    Part,
    Picture,
    Record,
    Say,
    Section,
    Table,
    Writer,
    drawn_lines,
    drawn_rows,
)
from assocpriv.show.result_record import filled as content_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_HEIGHTS = "▁▂▃▄▅▆▇█"
WIDTH = 100  # columns at which sentences wrap
_LABEL = 12  # columns of the labels of facts
_LEAST, _MOST, _WITH_LONG_NAMES, _NAMES = 8, 30, 16, 24  # columns of a bar, and of names beside it
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_WRITER = Writer()
_PATIENCE_SECONDS = 2.0  # before a bar of progress appears
_IN_BYTES = {"reading"}  # stages that count bytes


def read_glossary() -> str:
    """Return the terms of docs/glossary.md and their meanings as Markdown, a paragraph each."""
    return Path(__file__).with_name("templates").joinpath("glossary.md").read_text(encoding="utf-8").split("\n\n", 2)[2]


# ---- streams


def is_terminal(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal, or is to be treated as one."""
    return stream.isatty() or os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0")


def has_colours(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal that shows colours, and may."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("CLICOLOR") != "0" and os.environ.get("TERM") != "dumb"
    return wanted and is_terminal(stream)


def harmless(text: str) -> str:
    """Return a text without what would steer a terminal, or turn the direction of what stands beside it.

    >>> harmless("tea\\x9b31m, a\\u202eb")
    'tea�31m, a�b'
    """
    return _UNSAFE.sub("\ufffd", text)


def console(stream: IO[str]) -> "Console":
    """Return what prints on a stream, as wide as it is; in a pipe nothing is broken."""
    from rich.console import Console

    width = get_terminal_size().columns if is_terminal(stream) else 1 << 20
    return Console(
        file=stream, width=width, height=25, markup=False, highlight=False, emoji=False, legacy_windows=False,
        force_terminal=is_terminal(stream), color_system="standard" if has_colours(stream) else None,
    )  # fmt: skip


# ---- the walk


def show(record: Record, stream: IO[str] | None = None) -> None:
    """Print a record."""
    stream = stream or sys.stdout
    if not is_terminal(stream):
        stream.write("\n".join(lines(record, WIDTH)) + "\n")
        return
    page, bars, is_first = console(stream), _can_draw(stream), True
    for each in _blocks(record.parts, record.content):
        if isinstance(each, Table):
            page.print(_window_table(each, page.width, bars=bars))
        elif each or not is_first:
            page.print(each, width=min(page.width, WIDTH))
        is_first = False


def lines(record: Record, width: int = 1 << 20) -> list[str]:
    """Return a record as lines of text, its sentences wrapped at a width, columns."""
    found: list[str] = []
    for each in _blocks(record.parts, record.content, width):
        if isinstance(each, Table):
            found += _plain_table(each)
        elif each or found:
            found += str(each).split("\n")
    return found


def _wrap(line: str, width: int, indent: int = 0) -> str:
    """Wrap a line, with the further ones indented; commands, between backticks, stay whole."""
    if len(line) <= width:
        return line
    kept = re.sub("`[^`]*`", lambda found: found[0].replace(" ", "\0"), line)
    made = textwrap.fill(kept, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return made.replace("\0", " ")


def _blocks(parts: Sequence[Part], content: Any, width: int = 0) -> "Iterator[Table | RenderableType]":
    """Yield tables, and other parts as text: plain and wrapped at a width, or rich's where the width is 0."""
    for part in parts:
        match part:
            case Table():
                if part.caption:
                    yield _sentence(part.caption, content, width)
                yield part
            case Facts():
                yield from _facts(part, content, width)
            case Section():
                yield from ["", *([_sentence(part.title, content, width)] if part.title else [])]
                yield from _blocks(part.parts, content, width)
            case Record():
                yield from _blocks(part.parts, part.content, width)
            case Picture() | Page():
                pass
            case Say():
                yield _sentence(part.text, content_of(part, content), width << 20 if part.kind == "pre" else width)
            case _:
                yield _sentence(part, content, width)


def _sentence(template: str, content: Any, width: int) -> "str | RenderableType":
    text = _WRITER.fill(template, content)
    if width:
        return "\n".join(_wrap(line, width) for line in text.split("\n"))
    from rich.text import Text

    return Text(harmless(text), overflow="fold")


def _facts(part: Facts, content: Any, width: int) -> "Iterator[str | RenderableType]":
    rows = [(label, [_WRITER.fill(each, content_of(part, content)) for each in texts]) for label, texts in part.rows]
    if width:
        for label, texts in rows:
            for place, text in enumerate(texts):
                yield _wrap(f"{'' if place else label:<{_LABEL - 1}} {text}", width, _LABEL)
        return
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(style="bold", min_width=_LABEL - 1, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, texts in rows:
        for place, text in enumerate(texts):
            grid.add_row("" if place else harmless(label), Text(harmless(text)))
    yield grid


# ---- tables


def _cells(table: Table) -> Iterator[tuple[Column, list[str]]]:
    """Yield a column after the other with its title and cells; names come last, for they are of any length."""
    for column in sorted(table.columns, key=lambda each: each.kind == "name"):
        yield column, [column.title, *(_WRITER.fill(column.cell, row) for row in table.rows)]


def _plain_table(table: Table) -> list[str]:
    """Return a table as lines, columns two blanks apart."""
    set_columns = []
    for column, texts in _cells(table):
        width = max(map(len, texts))
        set_columns.append([text.rjust(width) if column.kind == "number" else text.ljust(width) for text in texts])
    found = ["  ".join(cells).rstrip() for cells in zip(*set_columns, strict=True)]
    return found if table.rows else [*found, "(none)"]


def _window_table(table: Table, width: int, *, bars: bool) -> "RenderableType":
    """Return a table fitted to a window, with a bar beside each interval where there is room."""
    from rich.cells import cell_len
    from rich.table import Table as Grid
    from rich.text import Text

    columns = [(column, [*map(harmless, texts)]) for column, texts in _cells(table)]
    taken = [max(map(cell_len, texts)) + 2 for _, texts in columns]
    names = [place for place, (column, _) in enumerate(columns) if column.kind == "name"]
    longest = sum(taken[place] for place in names)
    free = width - sum(taken) + longest
    if free < min(longest, _LEAST):  # figures would be cut
        return Text(harmless("\n".join(_plain_table(table))), overflow="fold")
    looks: list[tuple[list[str], dict[str, Any]]] = [
        (texts, {"justify": "right", "no_wrap": True} if column.kind == "number" else {}) for column, texts in columns
    ]
    room = min(_MOST, max(free - longest, min(_WITH_LONG_NAMES, free - _NAMES))) - 2
    if bars and (drawn := _drawn(table, room)):
        looks.insert(names[0] if names else len(looks), (["", *drawn], {"no_wrap": True, "overflow": "ellipsis"}))
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for texts, look in looks:
        grid.add_column(texts[0], **{"overflow": "fold"} | look)
    for number, row in enumerate(table.rows, 1):
        style = "dim" if table.pale and row.get(table.pale) else None
        grid.add_row(*(Text(texts[number]) for texts, _ in looks), style=style)
    if not table.rows:
        grid.add_row("(none)")
    return grid


def _drawn(table: Table, room: int) -> list[str]:
    """Return the line or the bar of each row; nothing where they do not fit into the room."""
    if table.lines:
        lines = [drawn_line(triples) for triples in drawn_lines(table)]
        return lines if all(len(line) <= room for line in lines) else []
    if table.bars is None or room < _LEAST or len(table.rows) < 2:
        return []
    return [drawn_bar(*each, room) for each in drawn_rows(table)]


def drawn_bar(low: float, middle: float, high: float, room: int) -> str:
    """Draw an interval and the estimate in it, all shares of the scale.

    >>> drawn_bar(0.2, 0.5, 0.8, 10)
    '  ──●───  '
    """
    start, at, stop = (round(each * (room - 1)) for each in (low, middle, high))
    marks = [" "] * room
    marks[start : stop + 1] = "─" * (stop + 1 - start)
    marks[at] = "●"
    return "".join(marks)


def drawn_line(triples: Sequence[tuple[float, float, float]]) -> str:
    """Draw estimates as heights, and half the widest of their intervals, all shares of the scale.

    >>> drawn_line([(0.0, 0.1, 0.2), (0.4, 0.5, 0.6), (0.8, 0.9, 1.0)])
    '▁▅█ ±▁'
    """
    reach = max(high - low for low, _, high in triples) / 2
    *heights, error = (_HEIGHTS[min(int(8 * each), 7)] for each in (*(middle for _, middle, _ in triples), reach))
    return f"{''.join(heights)} ±{error}"


def _can_draw(stream: IO[str]) -> bool:
    """Return whether a stream's encoding has what bars are drawn of."""
    try:
        f"─●{_HEIGHTS}".encode(getattr(stream, "encoding", None) or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


# ---- talk


def talk(line: str, word: str, stream: IO[str], style: str = "") -> None:
    """Print a line after a word (none: ""), in a style if the stream shows it."""
    whole = f"{word} {line}" if word else line
    if not is_terminal(stream):
        stream.write(whole + "\n")
        return
    from rich.text import Text

    text = Text(harmless(whole))
    text.stylize(style, 0, len(word))
    console(stream).print(text)


# ---- progress


class Progress:
    """A bar for each stage with the rate and the time left; silent unless standard error is a terminal.

    It is called with (stage, done, total) or (done, total), as functions call their ``progress``.
    """

    is_silent: ClassVar[bool] = False  # for all bars
    _shown: ClassVar["Progress | None"] = None  # the bar on the terminal

    def __init__(self, console: Any = None) -> None:
        self._console = console
        self._stage, self._began = "", monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, *step: Any, in_bytes: bool = False) -> None:
        """Show that ``done`` of ``total`` steps of a stage are done."""
        stage, done, total = step if len(step) > 2 else ("", *step)
        if stage != self._stage:
            self.close()
            self._stage = stage
        if done >= total:
            self.close()
        elif self._bar is not None or (monotonic() - self._began > _PATIENCE_SECONDS and self._may_show()):
            if self._bar is None:
                self._open(total, in_bytes=in_bytes or stage in _IN_BYTES)
            self._bar.update(self._task, completed=done, total=total)

    def stage(self, name: str, *, in_bytes: bool = False) -> Callable[[int, int], None]:
        """Return a callback (done, total) for one stage."""
        return lambda done, total: self(name, done, total, in_bytes=in_bytes)

    @classmethod
    @contextlib.contextmanager
    def while_busy(cls, what: str) -> Iterator[None]:
        """Show the elapsed time of work that does not report progress."""
        busy = cls()
        busy._stage = what
        wait = Timer(_PATIENCE_SECONDS, lambda: busy._open(None) if busy._may_show() else None)
        wait.daemon = True
        wait.start()
        try:
            yield
        finally:
            wait.cancel()
            wait.join()
            busy.close()

    def _may_show(self) -> bool:
        if self._console is not None:
            return True
        return (
            not self.is_silent and sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        )

    def _open(self, total: int | None, *, in_bytes: bool = False) -> None:
        from rich import progress
        from rich.console import Console

        if Progress._shown is not None:
            Progress._shown.close()
        ends = [progress.TimeElapsedColumn()] if total is None else [
            progress.BarColumn(), progress.TaskProgressColumn(),
            *([progress.TransferSpeedColumn()] if in_bytes else []), progress.TimeRemainingColumn(),
        ]  # fmt: skip
        label, console = progress.TextColumn("{task.description}", markup=False), self._console or Console(stderr=True)
        self._bar = progress.Progress(
            label, *ends, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._bar.start()
        self._task = self._bar.add_task(self._stage, total=total)
        Progress._shown = self

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            Progress._shown = None

    @classmethod
    def make_room(cls) -> None:
        """Remove the bar on the terminal, if there is one, before other output."""
        if cls._shown is not None:
            cls._shown.close()


def progress_bar(console: Any = None) -> Progress:
    """Return a progress bar by rich for the ``progress`` argument of any function; it also works in notebooks.

    The bar appears after two seconds and shows the time left.

    Args:
        console: A rich ``Console`` for the bar; standard error by default.

    Returns:
        A callable that takes (stage, done, total) or (done, total).

    >>> import assocpriv as ap
    >>> plan = ap.plan(["tea", "milk", "rye"], ap.Guarantee("5%", "50%"), mean_size=2)
    >>> reports = ap.randomize([{"tea"}] * 20_000, plan)
    >>> len(ap.mine(reports, "50%", progress=ap.progress_bar()))
    1
    """
    from rich.console import Console

    return Progress(console or Console(stderr=True))
