"""Claims of ZWZ05 about its figures, and guidance under a guarantee, on the stored CSVs, asserted as measured."""

import csv
from collections import defaultdict
from pathlib import Path

from bench.figures import run

KEPT = Path(run.__file__).parents[1] / "results" / "guided"


def rows(name):
    """Return the rows of a stored figure, with numbers converted."""
    with (KEPT / f"{name}.csv").open(newline="") as stream:
        return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(stream)]


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text


def test_guidance_gains_nothing_at_an_equal_guarantee():
    """Up to γ = 99 select-a-size is 5 points above guidance of any level and keep option; at 9,801 neither is above."""
    found = defaultdict(list)
    for row in rows("guarantee"):
        found[row["function"], row["gamma"], row["method"]].append(row["accuracy"])
    compared = [key for key in found if key[2] == "select-a-size"]
    assert len(compared) == 12
    for function, gamma, _ in compared:
        guided = max(max(found[function, gamma, method]) for method in ("guided, bits", "guided, tuple"))
        assert found[function, gamma, "select-a-size"][0] > guided + (0.05 if gamma <= 99 else -0.005)


def test_fewer_directions_learn_less_under_a_guarantee():
    """At γ = 19 two directions are near random guesses, nearly all are best; keeping tuples learns less than bits."""
    for function in (1, 2, 3):
        cells = [row for row in rows("guarantee") if (row["function"], row["gamma"]) == (function, 19)]
        by_level = {row["level"]: row["accuracy"] for row in cells if row["method"] == "guided, bits"}
        assert by_level[2] < 0.62
        assert max(by_level, key=by_level.__getitem__) in (32, 41)
        assert max(by_level.values()) > max(row["accuracy"] for row in cells if row["method"] == "guided, tuple")


def test_votes_are_classified_at_low_disclosure():
    """In small batches levels 1 and 2 have .97 of raw accuracy; level 1 exceeds the paper's 86% at 9.6% disclosure."""
    found = {(row["batch"], row["level"]): row for row in rows("levels")}
    for batch, level in ((10, 1), (10, 2), (20, 1), (20, 2)):
        row = found[batch, level]
        assert row["accuracy_mean"] > 0.97 * row["original"]
        assert row["disclosure_mean"] < row["disclosure_bound"]
    assert found[20, 1]["accuracy_mean"] - found[20, 1]["accuracy_std_error"] > 0.86
    assert found[20, 1]["disclosure_mean"] < 0.096


def test_hidden_classes_are_found_without_initial_data():
    """Level 2 has .95 of raw accuracy with two classes, level 4 with four; the miner's estimate is within 4 points."""
    for row in rows("hidden"):
        if row["level"] >= row["classes"]:
            assert row["accuracy_mean"] > 0.95 * row["original"]
        assert abs(row["accuracy_mean"] - row["estimate_mean"]) < 0.04


def test_trees_at_a_quarter_disclosed():
    """Guided trees are better than by-class trees on functions 1 and 3, equal on 2 and 4, and worse on 5."""
    found = {(row["function"], row["method"]): row for row in rows("functions")}
    assert all(abs(found[function, "guided"]["disclosure"] - 0.25) < 0.03 for function in range(1, 6))
    ahead = [
        found[function, "guided"]["accuracy"] - found[function, "by-class"]["accuracy"] for function in range(1, 6)
    ]
    assert ahead[0] > 0.04
    assert ahead[2] > 0.01
    assert ahead[4] < -0.01
    assert max(map(abs, (ahead[1], ahead[3]))) < 0.01
