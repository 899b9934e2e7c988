"""What this machine has: cores, memory, caches. Only speed depends on it, never a result."""

import contextlib
import os
import sys
from pathlib import Path

_L1_BYTES, _L2_BYTES = 32 << 10, 512 << 10  # where a system does not tell
LEAST_MEMORY = 64 << 20  # a job may hold
_CGROUP = Path("/sys/fs/cgroup")


_most_cores: int | None = None  # that a process of somebody else's was given


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
