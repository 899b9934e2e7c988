"""Progress on a terminal, for anything that takes more than two seconds."""

import sys
from collections.abc import Callable
from time import monotonic
from typing import ClassVar

_PATIENCE_SECONDS = 2.0
_BETWEEN_SECONDS = 0.2
_WIDTH = 24
_IN_BYTES = {"reading"}  # stages that count bytes, shown in megabytes


class Progress:
    """A line on standard error with a bar, the rate and the time left; silent where that is no terminal."""

    is_silent: ClassVar[bool] = False  # for all of them

    def __init__(self) -> None:
        self._stage = ""
        self._started = self._shown = monotonic()
        self._visible = False

    def __call__(self, stage: str, done: int, total: int, in_bytes: bool = False) -> None:
        """Report that ``done`` of ``total`` steps of a stage are done."""
        now = monotonic()
        if stage != self._stage:
            self.clear()
            self._stage, self._started = stage, now
        late = now - self._started > _PATIENCE_SECONDS and now - self._shown > _BETWEEN_SECONDS
        if late and not self.is_silent and sys.stderr.isatty() and 0 < done < total:
            self._shown, self._visible = now, True
            rate = done / (now - self._started)
            filled = _WIDTH * done // total
            bar = "#" * filled + "-" * (_WIDTH - filled)
            left = (total - done) / rate
            speed = f"{rate / 1e6:,.1f} MB/s" if in_bytes or stage in _IN_BYTES else f"{rate:,.0f}/s"
            sys.stderr.write(f"\r{stage} [{bar}] {done / total:4.0%}  {speed}  {left:,.0f} s left \x1b[K")
            sys.stderr.flush()
        elif done >= total:
            self.clear()

    def stage(self, name: str, *, in_bytes: bool = False) -> Callable[[int, int], None]:
        """Return a callback (done, total) for one stage."""
        return lambda done, total: self(name, done, total, in_bytes)

    def clear(self) -> None:
        """Take the line away."""
        if self._visible:
            self.clear_terminal()
            self._visible = False

    @staticmethod
    def clear_terminal() -> None:
        """Empty the terminal's last line, for a message that comes while a bar may stand there."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
