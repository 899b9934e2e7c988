"""The collector's log: lines with time, level and version; a repeated message appears once a minute."""

import contextlib
import logging
import math
from collections.abc import Iterator

_REPEAT_SECONDS = 60.0  # within which a message is logged once
_MOST_MESSAGES = 50  # that it remembers


class _RepeatFilter(logging.Filter):
    """Lets a repeated message through once a minute, with the number of its repeats."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = dict[str, tuple[float, int]]()  # time of the last one, and number omitted since

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record."""
        message = record.getMessage()
        last, omitted = self._seen.get(message, (-math.inf, 0))
        if record.created - last < _REPEAT_SECONDS:
            self._seen[message] = last, omitted + 1
            return False
        if len(self._seen) >= _MOST_MESSAGES:
            self._seen.clear()
        self._seen[message] = record.created, 0
        if omitted:
            record.msg, record.args = f"{message} (repeated {omitted:,} times since)", ()
        return True


@contextlib.contextmanager
def logging_lines(level: int, version: str) -> Iterator[None]:
    """Log records of the package and its server, from a level on, to standard error: time, level, version, message."""
    lines = logging.StreamHandler()
    form = f"%(asctime)s %(levelname)s assocpriv/{version} %(message)s"
    lines.setFormatter(logging.Formatter(form, "%Y-%m-%dT%H:%M:%S%z"))
    lines.addFilter(_RepeatFilter())
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
