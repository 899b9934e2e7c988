"""What is read of the machine: sensible numbers, the container's limit, and fallbacks where a system is silent."""

import os

import psutil

from assocpriv.core import machine


def test_this_machine_has_something():
    """Cores, caches and memory are positive, and no more than the system has."""
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)
    assert all(size > 0 for size in machine.cache_bytes())
    assert 0 < machine.free_memory() <= psutil.virtual_memory().total
    assert machine.default_memory() >= 64 << 20


def test_a_silent_system_has_small_caches(monkeypatch):
    """Where the system does not know a name, or says 0, caches are taken to be small."""

    def unknown(_name):
        raise ValueError("unrecognized configuration name")

    for sysconf in (unknown, lambda _name: 0, lambda _name: -1):
        monkeypatch.setattr(os, "sysconf", sysconf)
        assert machine.cache_bytes() == (32 << 10, 512 << 10)


def test_small_memories_get_few_workers(monkeypatch):
    """At least one, at most one a core, each with 16 MiB."""
    monkeypatch.setattr(machine, "cores", lambda: 8)
    assert [machine.workers_within(size << 20) for size in (0, 15, 16, 64, 127, 128, 10_000)] == [1, 1, 1, 4, 7, 8, 8]


def test_a_container_limits_the_memory(monkeypatch, tmp_path):
    """Of both versions of control groups what they still allow counts; no limit, or no such file, changes nothing."""
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    everything = psutil.virtual_memory().total
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5\n")
    assert 1_000_000 < machine.free_memory() <= everything
    (tmp_path / "memory.max").write_text("3000005\n")
    assert machine.free_memory() == 3_000_000
    (tmp_path / "memory.stat").write_text("anon 7\ninactive_file 500000\nactive_file 9\n")
    assert machine.free_memory() == 3_500_000
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("1000\n")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("2000\n")
    assert machine.free_memory() == 0
    assert machine.default_memory() == 64 << 20
