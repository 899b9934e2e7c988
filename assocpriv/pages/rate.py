"""How fast reports come, measured in memory since the start: when what arrived is stored nowhere."""

import time
from collections import deque
from collections.abc import Callable

_WINDOW_SECONDS = 24 * 3600.0
_STEP_SECONDS = 60.0
_LEAST_SECONDS = 30.0  # before a rate is told


class Rate:
    """Reports of a collection a second, over the last day or since the start."""

    def __init__(self, reports: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen = deque([(clock(), reports)])

    def per_second(self, reports: int) -> tuple[float, float] | None:
        """Note how many reports there are now; return how many come a second, and of how many seconds that is.

        None where it was measured for half a minute or less.
        """
        now = self._clock()
        while len(self._seen) > 1 and self._seen[1][0] <= now - _WINDOW_SECONDS:
            self._seen.popleft()
        began, before = self._seen[0]
        if now - self._seen[-1][0] >= _STEP_SECONDS:
            self._seen.append((now, reports))
        return ((reports - before) / (now - began), now - began) if now - began > _LEAST_SECONDS else None
