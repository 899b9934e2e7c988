"""The collector's log: lines with time, level and version; what repeats is said once a minute."""

import contextlib
import logging
import math
from collections.abc import Iterator

_REPEAT_SECONDS = 60.0  # for which the log says a thing once
_MOST_SAID = 50  # things that it remembers


class _Seldom(logging.Filter):
    """Lets what repeats through once a minute, as what fails again and again: the second time it says how often."""

    def __init__(self) -> None:
        super().__init__()
        self._said = dict[str, tuple[float, int]]()  # when last, and how often it was left out since

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether it is to be said."""
        said = record.getMessage()
        last, left_out = self._said.get(said, (-math.inf, 0))
        if record.created - last < _REPEAT_SECONDS:
            self._said[said] = last, left_out + 1
            return False
        if len(self._said) >= _MOST_SAID:
            self._said.clear()
        self._said[said] = record.created, 0
        if left_out:
            record.msg, record.args = f"{said} ({left_out:,} times more since it was said)", ()
        return True


@contextlib.contextmanager
def logging_lines(level: int, version: str) -> Iterator[None]:
    """Have what the package and its server log, from a level on, on standard error: time, level, version, message."""
    lines = logging.StreamHandler()
    lines.setFormatter(
        logging.Formatter(f"%(asctime)s %(levelname)s assocpriv/{version} %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    )
    lines.addFilter(_Seldom())
    lines.setLevel(level)
    logs = [logging.getLogger(name) for name in ("assocpriv", "uvicorn", "asyncio")]
    before = [log.handlers for log in logs]
    try:
        for log in logs:
            log.handlers = [lines]
        yield
    finally:
        for log, handlers in zip(logs, before, strict=True):
            log.handlers = handlers
