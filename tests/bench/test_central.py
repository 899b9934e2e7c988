"""The bench of the anonymous channel: the number of people who match it without one, and a row per method."""

import math

import pytest

from bench.accuracy import central
from bench.accuracy.central import CHANNEL, LOCAL, RELEASE, matching


def row(people, way, pairs, precision):
    """Return a row of the set s."""
    return {"set": "s", "people": people, "way": way, "pairs": pairs, "precision": precision}


def test_matching_numbers_of_people_are_interpolated():
    """Interpolation in log N over the running maximum; 1 if the same number matches, None beyond 20 times."""
    local = [(100, 4, 0.5), (200, 8, 0.4), (500, 7, 0.7), (1_000, 12, 0.8), (2_000, 12, 0.8), (9_000, 20, 1.0)]
    rows = [row(people, LOCAL, *figures) for people, *figures in local]
    assert matching(rows) == []
    (found,) = matching([*rows, row(100, CHANNEL, 10, 0.5), row(100, RELEASE, 20, 0.9)])
    assert found["pairs_times"] == pytest.approx(math.sqrt(5 * 10))  # halfway between 8 of 500 and 12 of 1,000
    assert found["precision_times"] == 1
    (found,) = matching([*rows, row(100, CHANNEL, 13, 0.6)])
    assert found["pairs_times"] is None  # 9,000 people exceed 20 times the number
    assert found["precision_times"] == pytest.approx(2 * 2.5**0.5)
    result = {"seeds": 1, "rows": rows, "matching": [found]}
    assert "| s | 100 | 13 | over 20 | 0.6 | 3.16 |" in central.markdown(result)


@pytest.mark.slow
def test_all_methods_run_and_more_people_without_a_channel(monkeypatch):
    """The people of a channel have a row per method, larger numbers one without a channel."""
    monkeypatch.setattr(central, "TIMES", (1, 2))
    found = central.run(1, (5_000,), ("flat-100",))
    assert [(row["people"], row["way"]) for row in found["rows"]] == [
        (5_000, LOCAL), (5_000, CHANNEL), (5_000, RELEASE), (10_000, LOCAL),
    ]  # fmt: skip
    assert found["rows"][1]["epsilon"] > found["rows"][0]["epsilon"]
    (line,) = found["matching"]
    assert line["precision"] == found["rows"][1]["precision"]
