"""Simulations of a collector: operations drawn at random, checked after each against a model of what must be there."""

import random
import re
from pathlib import Path

import pytest
import running_collector
from running_collector import RECORD, Forks
from simulation import Operation, Simulation, assert_holds, draw, failure, shortened

REPRODUCTIONS: dict[str, list[Operation]] = {  # of faults that simulations found
    "a disk that is full when it starts was called damage": [
        ("upload", 0, 0), ("crash", 0, 0), ("full", 0, 0), ("upload", 0, 0), ("space", 0, 0), ("replay", 0, 0),
    ],
    "an epoch that had ended was called damage by what seals it, on such a disk": [
        ("rotate", 0, 0), ("full", 3, 0), ("together", 0, 0), ("crash", 0, 0), ("full", 0, 0), ("rotate", 0, 0),
    ],
    "told to stop as soon as it said that it listens, it died of the signal": [],
}  # fmt: skip


FULL_DISK: list[Operation] = [("upload", 0, 0), ("full", 0, 0), ("upload", 0, 0), ("upload", 0, 0)]
PLANTED = {  # faults of a store, as Python code that brings them about, and operations that show them
    "ids are not known after a commit": (
        """
import assocpriv.collect.sqlite as store
class Ids(set):
    def update(self, *_): pass
begin = store._Epoch.__init__
def begin_without(self, *given):
    begin(self, *given)
    self.ids = Ids(self.ids)
store._Epoch.__init__ = begin_without
""",
        draw(0, 25),
    ),
    "ids of sealed epochs are forgotten": (
        """
import assocpriv.collect.sqlite as known
known.KnownIds.find = lambda self, ids: set()
""",
        draw(0, 25),
    ),
    "a commit that fails is acknowledged": (
        """
import assocpriv.collect.sqlite as store
write = store._Epoch.write
def write_or_not(self, rows):
    try: write(self, rows)
    except Exception: pass
store._Epoch.write = write_or_not
""",
        FULL_DISK,
    ),
    "a request is stored by two commits": (
        f"""
import time
import assocpriv.collect.sqlite as store
write = store._Epoch.write
def write_twice(self, rows):
    for key, records in rows:
        half = len(records) // {2 * RECORD} * {RECORD}
        if half:
            write(self, [(key, records[:half])])
            time.sleep(0.1)
        write(self, [(key, records[half:])])
store._Epoch.write = write_twice
""",
        [("crash_under_load", 4, 15)] * 8,
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_faults_planted_in_the_store_are_noticed(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The running store is made wrong in one place, and the simulation says so."""
    code, operations = PLANTED[planted]
    before = "for line in sys.stdin:"
    assert running_collector._FORKING.count(before) == 1
    wrong = running_collector._FORKING.replace(before, f"{code}\n{before}")
    monkeypatch.setattr(running_collector, "_FORKING", wrong)
    forks = Forks()
    try:
        assert failure(forks, operations)
    finally:
        forks.close()


def test_a_disk_that_fills_up(forks: Forks) -> None:
    """What shows the last of the faults above finds none without it."""
    assert not failure(forks, FULL_DISK)


@pytest.mark.parametrize("found", REPRODUCTIONS)
def test_what_simulations_found(forks: Forks, found: str) -> None:
    """Faults that were mended stay so."""
    assert not failure(forks, REPRODUCTIONS[found])


@pytest.mark.parametrize("length", [25])
def test_each_report_counts_once_whatever_happens(forks: Forks, length: int, request: pytest.FixtureRequest) -> None:
    """Acknowledged reports are there once, others at most once, none other, after each of the operations drawn."""
    assert_holds(forks, request.config.getoption("--soak-seed"), length)


@pytest.mark.slow
def test_each_report_counts_once_in_long_simulations(forks: Forks, request: pytest.FixtureRequest) -> None:
    """The same for 100 seeds, 60 operations each."""
    seeds = random.Random(request.config.getoption("--soak-seed"))
    for _ in range(100):
        assert_holds(forks, seeds.randrange(1 << 32), 60)


def test_simulations_notice_what_is_lost_doubled_or_invented(forks: Forks, tmp_path: Path) -> None:
    """A store that loses a sealed epoch, has one twice or holds what nobody sent fails; a failure is shortened."""
    simulation = Simulation(forks, tmp_path)
    with simulation.collector as running:
        for operation in [("rotate", 0, 0), ("seal", 0, 0)]:
            simulation.do(operation)
            simulation.check()
        sealed = sorted(running.data.glob("*.parquet"))[0]
        running.end(9)
        content = sealed.read_bytes()
        for wrong, change in {
            "acknowledged and not there": sealed.unlink,
            "twice": lambda: [
                sealed.write_bytes(content),
                sealed.with_name("f" * 16 + ".parquet").write_bytes(content),
            ],
        }.items():
            change()
            with pytest.raises(AssertionError, match=wrong):
                simulation.check()
        sealed.with_name("f" * 16 + ".parquet").unlink()
        del simulation.there[0]
        with pytest.raises(AssertionError, match="never sent"):
            simulation.check()


def test_failures_are_shortened(forks: Forks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of operations that fail because of two of them, these are left."""
    monkeypatch.setattr(
        "simulation.failure",
        lambda _, operations: "lost" if {("seal", 1, 1), ("crash", 2, 2)} <= set(operations) else "",
    )
    drawn = [("upload", number, 0) for number in range(20)]
    drawn[3:3], drawn[11:11] = [("seal", 1, 1)], [("crash", 2, 2)]
    assert shortened(forks, drawn) == [("seal", 1, 1), ("crash", 2, 2)]
    monkeypatch.setattr("simulation.failure", lambda *_: "always")
    with pytest.raises(AssertionError, match=re.escape("shortest operations: []")):
        assert_holds(forks, 0, 5)
