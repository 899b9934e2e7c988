"""Simulations of a collector: operations drawn at random, checked after each against a model of what must be there."""

import random

import pytest
from running_collector import Forks
from simulation import Operation, assert_holds, failure

REPRODUCTIONS: dict[str, list[Operation]] = {  # of faults that simulations found
    "a disk that is full when it starts was called damage": [
        ("upload", 0, 0), ("crash", 0, 0), ("full", 0, 0), ("upload", 0, 0), ("space", 0, 0), ("replay", 0, 0),
    ],
    "an epoch that had ended was called damage by what seals it, on such a disk": [
        ("rotate", 0, 0), ("full", 3, 0), ("together", 0, 0), ("crash", 0, 0), ("full", 0, 0), ("rotate", 0, 0),
    ],
    "a disk that fills up while it runs": [("upload", 0, 0), ("full", 0, 0), ("upload", 0, 0), ("upload", 0, 0)],
    "told to stop as soon as it said that it listens, it died of the signal": [],
}  # fmt: skip


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
