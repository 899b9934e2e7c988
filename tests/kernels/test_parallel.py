"""What is read of the machine: sensible numbers, the container's limit, and fallbacks where a system is silent."""

import os

import psutil

from assocpriv.kernels import parallel


def test_this_machine_has_something():
    """Cores, caches and memory are positive, and no more than the system has."""
    assert 1 <= parallel.cores() <= (os.cpu_count() or 1)
    assert all(size > 0 for size in parallel.cache_bytes())
    assert 0 < parallel.free_memory() <= psutil.virtual_memory().total
    assert parallel.default_memory() >= 64 << 20


def test_a_silent_system_has_small_caches(monkeypatch):
    """Where the system does not know a name, or says 0, caches are taken to be small."""

    def unknown(_name):
        raise ValueError("unrecognized configuration name")

    for sysconf in (unknown, lambda _name: 0, lambda _name: -1):
        monkeypatch.setattr(os, "sysconf", sysconf)
        assert parallel.cache_bytes() == (32 << 10, 512 << 10)


def test_small_memories_get_few_workers(monkeypatch):
    """At least one, at most one a core, each with 16 MiB."""
    monkeypatch.setattr(parallel, "cores", lambda: 8)
    assert [parallel.workers_within(size << 20) for size in (0, 15, 16, 64, 127, 128, 10_000)] == [1, 1, 1, 4, 7, 8, 8]


def test_a_container_limits_the_memory(monkeypatch, tmp_path):
    """Of both versions of control groups what they still allow counts; no limit, or no such file, changes nothing."""
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
