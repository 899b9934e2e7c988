"""What AS00 says of its figures 5 and 6, on the kept CSVs; what does not hold here is asserted as it is."""

import csv
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from bench.figures import run

KEPT = Path(run.__file__).parents[1] / "results" / "trees"
NOISES, CLOSE = ("gaussian", "uniform"), 2.5


@pytest.fixture(scope="module")
def found():
    """Mean accuracies by (noise, privacy, method), a list over F1 … F5."""
    groups = defaultdict(dict)
    with (KEPT / "by-function.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            groups[row["noise"], int(row["privacy"]), row["method"]][int(row["function"])] = float(row["accuracy"])
    return {key: [values[function] for function in range(1, 6)] for key, values in groups.items()}


def losses(found, noise, privacy, method):
    """Return how many points each function loses against the tree on raw records."""
    return [raw - seen for raw, seen in zip(found["none", 0, "original"], found[noise, privacy, method], strict=True)]


def test_at_25_and_50_percent_little_is_lost(found):
    """Over functions, noises, 25 and 50%, local and by-class lose at most 3 points each against the raw tree."""
    mean = {
        method: fmean(loss for noise in NOISES for p in (25, 50) for loss in losses(found, noise, p, method))
        for method in ("local", "by-class")
    }
    assert mean["local"] <= 3
    assert mean["by-class"] <= 3


def test_at_100_percent_as_much_is_lost_as_the_paper_says(found):
    """The better method, mean of both noises: F1, F4, F5 within 5 points, F2 and F3 within 15."""
    best = [
        min(fmean(losses(found, noise, 100, method)[place] for noise in NOISES) for method in ("local", "by-class"))
        for place in range(5)
    ]
    assert all(loss <= limit for loss, limit in zip(best, (5, 15, 15, 5, 5), strict=True))


@pytest.mark.parametrize("noise", NOISES)
def test_the_order_of_methods(found, noise):
    """At 100% on average by-class and local differ by 2.5 points at most; both are above global, it above raw."""
    mean = {method: fmean(found[noise, 100, method]) for method in ("local", "by-class", "global", "randomized")}
    assert abs(mean["local"] - mean["by-class"]) < CLOSE
    assert min(mean["local"], mean["by-class"]) > mean["global"] + CLOSE
    assert mean["global"] > mean["randomized"] + CLOSE


def test_correction_matters_more_the_more_noise(found):
    """At every privacy by-class is above uncorrected on average, and uniform noise is what it repairs most."""
    for noise in NOISES:
        gains = [fmean(found[noise, p, "by-class"]) - fmean(found[noise, p, "randomized"]) for p in (25, 50, 100)]
        assert gains == sorted(gains)
        assert gains[0] > 0
    raw = {noise: fmean(found[noise, 100, "randomized"]) for noise in NOISES}
    assert raw["uniform"] < raw["gaussian"] - 10


def test_the_ceiling_of_by_class_on_f2():
    """With true distributions by-class loses 14 to 15 points on F2, mean of both noises; true splits lose 8 at most."""
    with (KEPT / "oracles.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    with (KEPT / "by-function.csv").open(newline="") as stream:
        raw = {int(row["function"]): float(row["accuracy"]) for row in csv.DictReader(stream) if row["noise"] == "none"}
    of = {(int(r["function"]), r["noise"], r["method"]): float(r["accuracy"]) for r in rows}
    ceiling = fmean(raw[2] - of[2, noise, "by-class, true distributions"] for noise in NOISES)
    assert 14 <= ceiling <= 15
    assert fmean(raw[2] - of[2, noise, "by-class"] for noise in NOISES) > ceiling + 3
    assert all(raw[f] - of[f, noise, "true splits"] <= 8 for f in range(1, 6) for noise in NOISES)


def test_public_tables_agree():
    """At 100% privacy by-class is above global, and global above uncorrected; on credit approvals by-class may tie.

    Means of ten splits of 653 records have a standard error of 1.6 points there.
    """
    with (KEPT / "public.csv").open(newline="") as stream:
        rows = {
            (r["table"], r["noise"], int(r["privacy"]), r["method"]): float(r["accuracy"])
            for r in csv.DictReader(stream)
        }
    for table in ("adult", "credit"):
        for noise in NOISES:
            best, middle, least = (rows[table, noise, 100, m] for m in ("by-class", "global", "randomized"))
            assert best + (1.6 if table == "credit" else 0) > middle > least


def test_promises_cost_what_they_cost():
    """On Adult from ε = 2 on by-class is above the commonest class and below scikit-learn on raw records."""
    with (KEPT / "by-epsilon.csv").open(newline="") as stream:
        rows = {(float(row["epsilon"]), row["method"]): float(row["accuracy"]) for row in csv.DictReader(stream)}
    for epsilon in (2, 2.944, 4, 6, 8):
        assert rows[epsilon, "always the commonest class"] + 2 < rows[epsilon, "by-class"]
        assert rows[epsilon, "by-class"] < rows[epsilon, "scikit-learn, raw records"]
