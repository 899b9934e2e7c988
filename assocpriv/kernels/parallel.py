"""Parallel work in order on all cores, with little read-ahead: kernels release the interpreter's lock.

Python handles Ctrl-C between two of its own instructions, so the main thread waits for a fraction of a second at a
time. An interrupt waits for work that has begun. Long work is therefore done in steps, between which it can stop.

The machine's cores, memory and caches affect only the speed, never a result.
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
_L1_BYTES, _L2_BYTES = 32 << 10, 512 << 10  # if the system does not say
LEAST_MEMORY = 64 << 20  # bytes that a job may always hold
_CGROUP = Path("/sys/fs/cgroup")
_most_cores: int | None = None  # limit that the parent, such as Spark, set for this process


# ---- work


def parallel_map(
    work: Callable[[_Input], _Output],
    inputs: Iterable[_Input],
    workers: int | None = None,
    *,
    stop: threading.Event | None = None,
    while_waiting: Callable[[], None] | None = None,
) -> Iterator[_Output]:
    """Yield ``work(input)`` for each input in order; inputs are read in this thread, one per worker ahead of results.

    There are ``workers`` workers, by default one per core. If the caller stops early, it waits only for work that has
    begun; ``stop`` is then set, so that this work can end. ``while_waiting`` is called in this thread every 0.25 s.
    """
    workers = workers or cores()
    pool = ThreadPoolExecutor(workers)
    try:
        begun: deque[Future[_Output]] = deque()
        for given in inputs:
            begun.append(pool.submit(work, given))
            if len(begun) > workers:
                yield _result(begun.popleft(), while_waiting)
        while begun:
            yield _result(begun.popleft(), while_waiting)
    finally:
        if stop:
            stop.set()
        pool.shutdown(cancel_futures=True)


def _result(future: "Future[_Output]", while_waiting: Callable[[], None] | None) -> _Output:
    """Wait for a result in short steps, as some systems cannot interrupt a long wait."""
    while not future.done():
        wait([future], _WAIT_SECONDS)
        if while_waiting:
            while_waiting()
    return future.result()


class _Tally:
    """One thread's counts, and how much of the inputs it has done."""

    def __init__(self, counts: "NDArray[np.int64]") -> None:
        self.counts = counts
        self.done = 0.0


def add_up(
    work: "Callable[[_Input, NDArray[np.int64]], Iterable[float]]",
    inputs: Iterable[_Input],
    n_counts: int,
    progress: Callable[[float], None] | None = None,
) -> "NDArray[np.int64]":
    """Return the sum of counts, int64 (n_counts,), that ``work`` adds for each input to its thread's array.

    ``work`` proceeds in steps of about a tenth of a second and yields the amount of each, in any unit. ``progress`` is
    called in this thread with the amount done so far, also while no input is completed.
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

    def report_progress() -> None:
        if progress:
            progress(sum(tally.done for tally in tallies))

    for _ in parallel_map(add, inputs, stop=stop, while_waiting=report_progress):
        report_progress()
    total = tallies.pop().counts if tallies else np.zeros(n_counts, dtype=np.int64)
    for tally in tallies:
        total += tally.counts
    return total


# ---- machine


def cores() -> int:
    """Return the number of cores that this process may use."""
    return min(_cores_of_machine(), _most_cores or sys.maxsize)


def limit_cores(most: int) -> None:
    """Limit the cores of this process, and its memory in proportion."""
    global _most_cores  # noqa: PLW0603 - the limit is for the whole process
    _most_cores = max(1, most)


def _cores_of_machine() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_bytes() -> tuple[int, int]:
    """Return the sizes of a core's first (data) and second cache in bytes; typical small ones if unknown."""
    return _system("SC_LEVEL1_DCACHE_SIZE") or _L1_BYTES, _system("SC_LEVEL2_CACHE_SIZE") or _L2_BYTES


def free_memory() -> int:
    """Return how many bytes a process may still allocate without swapping."""
    free = _memory_of_system()
    for limit, used, cached in (
        ("memory.max", "memory.current", "memory.stat:inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat:total_inactive_file"),
    ):
        allowed, taken = _cgroup_number(limit), _cgroup_number(used)
        if allowed is not None and taken is not None:  # a container's limit; cached files can be evicted
            free = min(free, max(0, allowed - taken + (_cgroup_number(cached) or 0)))
    return free


def default_memory() -> int:
    """Return the default memory of a job's data in bytes: a quarter of the free memory."""
    return max(LEAST_MEMORY, free_memory() // 4 * cores() // _cores_of_machine())


def workers_within(memory_bytes: int) -> int:
    """Return how many cores to use if each takes up to 16 MiB."""
    return max(1, min(cores(), memory_bytes >> 24))


def _memory_of_system() -> int:
    with contextlib.suppress(OSError, ValueError, StopIteration):  # a file on Linux; faster than loading psutil
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10
    import psutil

    return int(psutil.virtual_memory().available)


def _system(name: str) -> int:
    try:
        return max(0, os.sysconf(name))
    except (AttributeError, ValueError, OSError):  # not on this system, or not in this C library
        return 0


def _cgroup_number(name: str) -> int | None:
    """Return the number in a file, or after a key in it."""
    file, _, key = name.partition(":")
    try:
        text = (_CGROUP / file).read_text(encoding="ascii")
        return int(dict(line.split() for line in text.splitlines())[key] if key else text)
    except (KeyError, OSError, ValueError):  # no such file, or "max"
        return None
