"""Properties of the machine: plausible values, a container's limit, and fallbacks for unknown ones."""

import os
from unittest.mock import Mock

import psutil

from assocpriv.kernels import parallel


def test_properties_of_this_machine_are_plausible():
    """Cores, caches and memory are positive, and at most the system's."""
    assert 1 <= parallel.cores() <= (os.cpu_count() or 1)
    assert all(size > 0 for size in parallel.cache_bytes())
    assert 0 < parallel.free_memory() <= psutil.virtual_memory().total
    assert parallel.default_memory() >= 64 << 20


def test_unknown_caches_are_assumed_to_be_small(monkeypatch):
    """If the system does not know a name, or returns 0, caches are assumed to be small."""
    for sysconf in (Mock(side_effect=ValueError), Mock(return_value=0), Mock(return_value=-1)):
        monkeypatch.setattr(os, "sysconf", sysconf)
        assert parallel.cache_bytes() == (32 << 10, 512 << 10)


def test_small_memories_get_few_workers(monkeypatch):
    """There is at least one worker, at most one per core, each with 16 MiB."""
    monkeypatch.setattr(parallel, "cores", lambda: 8)
    assert [parallel.workers_within(size << 20) for size in (0, 15, 16, 64, 127, 128, 10_000)] == [1, 1, 1, 4, 7, 8, 8]


def test_a_container_limits_the_memory(monkeypatch, tmp_path):
    """The remaining memory of both versions of control groups is respected; no limit or no file changes nothing."""
    monkeypatch.setattr(parallel, "_CGROUP", tmp_path)
    everything = psutil.virtual_memory().total
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5\n")
    assert 1_000_000 < parallel.free_memory() <= everything
    (tmp_path / "memory.max").write_text("3000005\n")
    assert parallel.free_memory() == 3_000_000
    (tmp_path / "memory.stat").write_text("anon 7\ninactive_file 500000\nactive_file 9\n")
    assert parallel.free_memory() == 3_500_000
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("1000\n")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("2000\n")
    assert parallel.free_memory() == 0
    assert parallel.default_memory() == 64 << 20
