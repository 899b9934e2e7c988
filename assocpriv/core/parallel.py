"""Work on all cores, in order, reading ahead only a little: kernels release the interpreter's lock.

Ctrl-C reaches Python between two of its own instructions, so the main thread waits for a fraction of a second at a
time. Who interrupts it waits for work that has begun; what takes long is therefore done in steps, between which it can
be stopped.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.machine import cores

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")
_WAIT_SECONDS = 0.25


def map_ahead(
    work: Callable[[_Input], _Output],
    inputs: Iterable[_Input],
    workers: int | None = None,
    *,
    stop: threading.Event | None = None,
    waiting: Callable[[], None] | None = None,
) -> Iterator[_Output]:
    """Yield ``work`` of each input in order; inputs are taken in this thread, one a worker ahead of the results.

    There is a worker a core, or as many as ``workers`` says. Whoever stops early waits only for work that has begun;
    ``stop`` is then set, for that work to end. ``waiting`` is called in this thread every quarter of a second.
    """
    workers = workers or cores()
    pool = ThreadPoolExecutor(workers)
    try:
        begun: deque[Future[_Output]] = deque()
        for given in inputs:
            begun.append(pool.submit(work, given))
            if len(begun) > workers:
                yield _result(begun.popleft(), waiting)
        while begun:
            yield _result(begun.popleft(), waiting)
    finally:
        if stop:
            stop.set()
        pool.shutdown(cancel_futures=True)


def _result(future: "Future[_Output]", waiting: Callable[[], None] | None) -> _Output:
    """Wait for a result; not at one go, which on some systems nothing interrupts."""
    while not future.done():
        wait([future], _WAIT_SECONDS)
        if waiting:
            waiting()
    return future.result()


class _Tally:
    """What one thread has counted, int64 (n_counts,), and how much of the inputs it has done."""

    def __init__(self, n_counts: int) -> None:
        self.counts = np.zeros(n_counts, dtype=np.int64)
        self.done = 0.0


def add_up(
    work: Callable[[_Input, NDArray[np.int64]], Iterable[float]],
    inputs: Iterable[_Input],
    n_counts: int,
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.int64]:
    """Return the sum of counts, int64 (n_counts,), that ``work`` adds for each input to an array of its thread's own.

    ``work`` is done in steps of a tenth of a second or so and yields how much each of them was, in any unit.
    ``progress`` is called in this thread with how much is done by now, also while nothing ends.
    """
    own = threading.local()
    tallies: list[_Tally] = []
    stop = threading.Event()

    def add(given: _Input) -> None:
        if not hasattr(own, "tally"):
            own.tally = _Tally(n_counts)
            tallies.append(own.tally)
        for amount in work(given, own.tally.counts):
            own.tally.done += amount
            if stop.is_set():
                return

    def tell() -> None:
        if progress:
            progress(sum(tally.done for tally in tallies))

    for _ in map_ahead(add, inputs, stop=stop, waiting=tell):
        tell()
    total = tallies.pop().counts if tallies else np.zeros(n_counts, dtype=np.int64)
    for tally in tallies:
        total += tally.counts
    return total
