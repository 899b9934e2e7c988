"""Work on all cores, in order, reading ahead only a little: kernels release the interpreter's lock."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.machine import cores

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")


def map_ahead(work: Callable[[_Input], _Output], inputs: Iterable[_Input]) -> Iterator[_Output]:
    """Yield ``work`` of each input in order; inputs are taken in this thread, one a core ahead of the results."""
    workers = cores()
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[_Output]] = deque()
        for given in inputs:
            waiting.append(pool.submit(work, given))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def add_up(
    work: Callable[[_Input, NDArray[np.int64]], None], inputs: Iterable[_Input], n_counts: int
) -> NDArray[np.int64]:
    """Return the sum of counts, int64 (n_counts,), that ``work`` adds for each input to an array it is given.

    Each thread has one such array of its own, so that nobody waits and nothing is allocated on the way.
    """
    own = threading.local()
    everything: list[NDArray[np.int64]] = []

    def add(given: _Input) -> None:
        if not hasattr(own, "counts"):
            own.counts = np.zeros(n_counts, dtype=np.int64)
            everything.append(own.counts)
        work(given, own.counts)

    for _ in map_ahead(add, inputs):
        pass
    total = everything.pop() if everything else np.zeros(n_counts, dtype=np.int64)
    for counts in everything:
        total += counts
    return total
