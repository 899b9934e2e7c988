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


def map_ahead(
    work: Callable[[_Input], _Output], inputs: Iterable[_Input], workers: int | None = None
) -> Iterator[_Output]:
    """Yield ``work`` of each input in order; inputs are taken in this thread, one a worker ahead of the results.

    There is a worker a core, or as many as ``workers`` says. Whoever stops early waits only for work that has begun.
    """
    workers = workers or cores()
    pool = ThreadPoolExecutor(workers)
    try:
        waiting: deque[Future[_Output]] = deque()
        for given in inputs:
            waiting.append(pool.submit(work, given))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def add_up(
    work: Callable[[_Input, NDArray[np.int64]], None],
    inputs: Iterable[_Input],
    n_counts: int,
    told: Callable[[_Input], None] | None = None,
) -> NDArray[np.int64]:
    """Return the sum of counts, int64 (n_counts,), that ``work`` adds for each input to an array of its thread's own.

    ``told`` is called in this thread with each input that is done.
    """
    own = threading.local()
    everything: list[NDArray[np.int64]] = []

    def add(given: _Input) -> _Input:
        if not hasattr(own, "counts"):
            own.counts = np.zeros(n_counts, dtype=np.int64)
            everything.append(own.counts)
        work(given, own.counts)
        return given

    for given in map_ahead(add, inputs):
        if told:
            told(given)
    total = everything.pop() if everything else np.zeros(n_counts, dtype=np.int64)
    for counts in everything:
        total += counts
    return total
