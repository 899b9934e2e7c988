"""Work on all cores, in order, reading ahead only a little: kernels release the interpreter's lock."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")


def map_ahead(work: Callable[[_Input], _Output], inputs: Iterable[_Input]) -> Iterator[_Output]:
    """Yield ``work`` of each input in order; inputs are taken in this thread, one a core ahead of the results."""
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[_Output]] = deque()
        for given in inputs:
            waiting.append(pool.submit(work, given))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
