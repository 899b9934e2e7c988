"""Progress on a terminal, for anything that takes more than two seconds."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from shutil import get_terminal_size
from threading import Event, Thread
from time import monotonic
from typing import ClassVar

_PATIENCE_SECONDS = 2.0
_BETWEEN_SECONDS = 0.2
_SOON = 0.1  # seconds of a stage that say nothing of its rate yet
_WIDTH = 24
_IN_BYTES = {"reading"}  # stages that count bytes, shown in megabytes


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
            self._show(line_of(stage, (done, total), now - self._started, in_bytes or stage in _IN_BYTES))
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
                cls._show(f"{what} … {in_words(monotonic() - started)}")
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


def line_of(stage: str, steps: tuple[int, int], seconds: float, in_bytes: bool) -> str:
    """Say how far a stage is, at which rate, and how long it still takes at that.

    >>> line_of("counting", (2, 8), 4.0, False)
    'counting [######------------------]  25%  0.5/s  12 s left'
    >>> line_of("reading", (0, 8), 4.0, True)
    'reading [------------------------]   0%'
    """
    done, total = steps
    filled = _WIDTH * done // total
    bar = f"{stage} [{'#' * filled}{'-' * (_WIDTH - filled)}] {done / total:4.0%}"
    if not done or seconds < _SOON:
        return bar
    rate = done / seconds
    speed = f"{rate / 1e6:,.1f} MB/s" if in_bytes else f"{rate:,.{0 if rate >= 10 else 1}f}/s"
    return f"{bar}  {speed}  {in_words((total - done) / rate)} left"


def in_words(seconds: float) -> str:
    """Write a time as it is said.

    >>> in_words(12.3), in_words(200), in_words(7500)
    ('12 s', '3 min 20 s', '2 h 05 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02} min"
