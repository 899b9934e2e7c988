"""Work on all cores, in order, reading ahead only a little: kernels release the interpreter's lock.

Ctrl-C reaches Python between two of its own instructions, so the main thread waits for a fraction of a second at a
time. Who interrupts it waits for work that has begun; what takes long is therefore done in steps, between which it can
be stopped.

What this machine has (cores, memory, caches) decides the speed alone, never a result.
"""

import contextlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")
_WAIT_SECONDS = 0.25
_L1_BYTES, _L2_BYTES = 32 << 10, 512 << 10  # where a system does not tell
LEAST_MEMORY = 64 << 20  # a job may hold
_CGROUP = Path("/sys/fs/cgroup")
_most_cores: int | None = None  # that a process of somebody else's was given


# ---- work


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
    """What one thread has counted, and how much of the inputs it has done."""

    def __init__(self, counts: "NDArray[np.int64]") -> None:
        self.counts = counts
        self.done = 0.0


def add_up(
    work: "Callable[[_Input, NDArray[np.int64]], Iterable[float]]",
    inputs: Iterable[_Input],
    n_counts: int,
    progress: Callable[[float], None] | None = None,
) -> "NDArray[np.int64]":
    """Return the sum of counts, int64 (n_counts,), that ``work`` adds for each input to an array of its thread's own.

    ``work`` is done in steps of a tenth of a second or so and yields how much each of them was, in any unit.
    ``progress`` is called in this thread with how much is done by now, also while nothing ends.
    """
    import numpy as np

    own = threading.local()
    tallies: list[_Tally] = []
    stop = threading.Event()

    def add(given: _Input) -> None:
        if not hasattr(own, "tally"):
            own.tally = _Tally(np.zeros(n_counts, dtype=np.int64))
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


# ---- machine


def cores() -> int:
    """Return the number of cores this process may use."""
    return min(_cores_of_machine(), _most_cores or sys.maxsize)


def limit_cores(most: int) -> None:
    """Use no more than so many cores in this process, and of the memory no more than belongs to these."""
    global _most_cores  # noqa: PLW0603 - a process belongs to whoever gave it out, as a whole
    _most_cores = max(1, most)


def _cores_of_machine() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_bytes() -> tuple[int, int]:
    """Return the sizes of a core's first (data) and second cache; typical small ones where the system is silent."""
    return _system("SC_LEVEL1_DCACHE_SIZE") or _L1_BYTES, _system("SC_LEVEL2_CACHE_SIZE") or _L2_BYTES


def free_memory() -> int:
    """Return the bytes that a process may still take without others being swapped out."""
    free = _memory_of_system()
    for limit, used, cached in (
        ("memory.max", "memory.current", "memory.stat:inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat:total_inactive_file"),
    ):
        allowed, taken = _cgroup_number(limit), _cgroup_number(used)
        if allowed is not None and taken is not None:  # a container's own limit; cached files give way
            free = min(free, max(0, allowed - taken + (_cgroup_number(cached) or 0)))
    return free


def default_memory() -> int:
    """Return what a job may hold of its data at a time if nobody says: a quarter of what is free."""
    return max(LEAST_MEMORY, free_memory() // 4 * cores() // _cores_of_machine())


def workers_within(memory_bytes: int) -> int:
    """Return how many cores to work on where each takes up to 16 MiB for what it works on."""
    return max(1, min(cores(), memory_bytes >> 24))


def _memory_of_system() -> int:
    with contextlib.suppress(OSError, ValueError, StopIteration):  # Linux says it in a file, sooner than psutil loads
        said = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(next(line for line in said if line.startswith("MemAvailable:")).split()[1]) << 10
    import psutil

    return int(psutil.virtual_memory().available)


def _system(name: str) -> int:
    try:
        return max(0, os.sysconf(name))
    except (AttributeError, ValueError, OSError):  # not this system, or not this C library
        return 0


def _cgroup_number(name: str) -> int | None:
    """Return the number that a file holds, or holds under a key."""
    file, _, key = name.partition(":")
    try:
        text = (_CGROUP / file).read_text(encoding="ascii")
        return int(dict(line.split() for line in text.splitlines())[key] if key else text)
    except (KeyError, OSError, ValueError):  # no such file, or "max"
        return None
