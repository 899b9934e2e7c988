"""Progress bars by rich, for work that takes more than two seconds.

Commands show a line on standard error; scripts and notebooks pass a bar as the ``progress`` of a function.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from threading import Timer
from time import monotonic
from typing import Any, ClassVar

_PATIENCE_SECONDS = 2.0  # before a bar appears
_IN_BYTES = {"reading"}  # stages that count bytes


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
