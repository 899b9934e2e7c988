"""Claims of AS00, ZWZ05 and WFY05 about their figures, on the stored CSVs; deviations are asserted as measured."""

import csv
from collections import defaultdict
from statistics import fmean

import pytest

from bench.__main__ import RESULTS


def stored(name):
    """Return the rows of a stored file, with numbers converted."""
    with (RESULTS / f"{name}.csv").open(newline="") as stream:
        return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(stream)]


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text


# ---- trees: figures 5 and 6 of AS00

NOISES, CLOSE = ("gaussian", "uniform"), 2.5
METHODS = ("by-class", "local", "joint")


@pytest.fixture(scope="module")
def found():
    """Return mean accuracies by (noise, privacy, method), a list over F1 … F5."""
    groups = defaultdict(dict)
    for row in stored("trees/accuracy"):
        groups[row["noise"], row["privacy"], row["method"]][row["function"]] = row["accuracy"]
    return {key: [each[f] for f in range(1, 6)] for key, each in groups.items() if len(each) == 5}


def losses(found, noise, privacy, method):
    """Return the points that each function loses against the tree on raw records."""
    return [raw - seen for raw, seen in zip(found["none", 0, "original"], found[noise, privacy, method], strict=True)]


def test_at_25_and_50_percent_little_is_lost(found):
    """Over functions, noises, 25 and 50%, local and by-class lose at most 3 points each against the raw tree."""
    for method in ("local", "by-class"):
        assert fmean(loss for noise in NOISES for p in (25, 50) for loss in losses(found, noise, p, method)) <= 3


def test_loss_at_100_percent_is_that_of_the_paper(found):
    """The better method, mean of both noises: F1, F4, F5 within 5 points, F2 and F3 within 15."""
    best = [
        min(fmean(losses(found, noise, 100, method)[place] for noise in NOISES) for method in ("local", "by-class"))
        for place in range(5)
    ]
    assert all(loss <= limit for loss, limit in zip(best, (5, 15, 15, 5, 5), strict=True))


@pytest.mark.parametrize("noise", NOISES)
def test_the_order_of_methods(found, noise):
    """At 100%, by-class and local differ by at most 2.5 points on average; both are above global, global above raw."""
    mean = {method: fmean(found[noise, 100, method]) for method in ("local", "by-class", "global", "randomized")}
    assert abs(mean["local"] - mean["by-class"]) < CLOSE
    assert min(mean["local"], mean["by-class"]) > mean["global"] + CLOSE
    assert mean["global"] > mean["randomized"] + CLOSE


def test_joint_growth_is_for_pairs_of_columns(found):
    """At 100%, joint growth is better than by-class and local on F2 (mean of both noises), and worse on F1 and F4."""
    mean = {m: [fmean(found[noise, 100, m][f] for noise in NOISES) for f in range(5)] for m in METHODS}
    assert mean["joint"][1] > max(mean["by-class"][1], mean["local"][1]) + 2
    assert all(mean["joint"][f] < mean["by-class"][f] for f in (0, 3))


# ---- guided perturbation: figures of ZWZ05, and guidance under a guarantee


def test_guidance_gains_nothing_at_an_equal_guarantee():
    """Up to γ = 99 select-a-size is 5 points above guidance of any level and keep option; at 9,801 neither is above."""
    found = defaultdict(list)
    for row in stored("guided/guarantee"):
        found[row["function"], row["gamma"], row["method"]].append(row["accuracy"])
    compared = [key for key in found if key[2] == "select-a-size"]
    assert len(compared) == 12
    for function, gamma, _ in compared:
        guided = max(max(found[function, gamma, method]) for method in ("guided, bits", "guided, tuple"))
        assert found[function, gamma, "select-a-size"][0] > guided + (0.05 if gamma <= 99 else -0.005)


def test_votes_are_classified_at_low_disclosure():
    """In small batches levels 1 and 2 have .97 of raw accuracy; level 1 exceeds the paper's 86% at 9.6% disclosure."""
    found = {(row["batch"], row["level"]): row for row in stored("guided/levels")}
    for batch, level in ((10, 1), (10, 2), (20, 1), (20, 2)):
        row = found[batch, level]
        assert row["accuracy_mean"] > 0.97 * row["original"]
        assert row["disclosure_mean"] < row["disclosure_bound"]
    assert found[20, 1]["accuracy_mean"] - found[20, 1]["accuracy_std_error"] > 0.86
    assert found[20, 1]["disclosure_mean"] < 0.096


def test_trees_at_a_quarter_disclosed():
    """Guided trees are better than by-class trees on functions 1 and 3, equal on 2 and 4, and worse on 5."""
    found = {(row["function"], row["method"]): row for row in stored("guided/functions")}
    assert all(abs(found[function, "guided"]["disclosure"] - 0.25) < 0.03 for function in range(1, 6))
    one, two, three, four, five = (
        found[place, "guided"]["accuracy"] - found[place, "by-class"]["accuracy"] for place in range(1, 6)
    )
    assert one > 0.04
    assert three > 0.01 > max(abs(two), abs(four))
    assert five < -0.01


# ---- suppression: figure 3 and table 3 of WFY05


@pytest.fixture(scope="module")
def means():
    """Return mean errors by (table, allowed percent, classifier, TopN)."""
    rows = stored("suppression/means")
    return {(row["table"], row["most_percent"], row["classifier"], row["top"]): row for row in rows}


def test_cells_shown():
    """The README's table agrees with the stored file; single cells show more in nine settings of ten."""
    text, settings, more = (RESULTS.parent / "README.md").read_text(encoding="utf-8"), defaultdict(list), 0
    for row in stored("suppression/cells"):
        settings[row["table"], row["top"], row["threshold"]].append((row["shown_percent"], row["entropy tree"]))
    for (table, top, threshold), found in settings.items():
        shown = [f"{percent:.0f} ({error:.1f})" if percent != "" else "refused" for percent, error in found]
        name = {"crx": "CRX", "adult": "Adult"}[table]
        assert f"| {name} Top{top:g} {threshold:g}% | {' | '.join(shown)} |" in text
        more += found[1][0] > found[0][0]
    assert (len(settings), more) == (10, 9)


def test_table_3():
    """Credit approvals have the paper's numbers of inferences above the thresholds; Adult has 1.5 times these."""
    rows = [row for row in stored("suppression/errors") if (row["top"], row["most_percent"]) == (4, 100)]
    found = {(row["table"], row["threshold"]): row["inferences"] for row in rows}
    assert [found["crx", percent] for percent in (10, 30, 50, 70, 90)] == [40, 27, 15, 8, 6]
    ratios = [found["adult", p] / n for p, n in {10: 1333, 30: 786, 50: 365, 70: 324, 90: 318}.items()]
    assert all(1.4 < ratio < 1.8 for ratio in ratios)


def test_base_errors(means):
    """J48's base errors are those of the paper for C4.5: 15.4 and 17.6%."""
    assert [round(means[table, 100, "J48", 1]["base"], 1) for table in ("crx", "adult")] == [15.4, 17.6]


def test_suppression_costs_as_little_as_in_the_paper(means):
    """Mean suppression errors are at most 1.1 points above base on credit approvals, 0.8 on Adult; one tree's 1.3."""
    for (table, _, classifier, _), row in means.items():
        allowed = {"crx": 1.3 if classifier == "entropy tree" else 1.1, "adult": 0.8}[table]
        assert row["suppression"] - row["base"] < allowed


def test_removal_costs_as_much_as_in_the_paper(means):
    """Credit approvals lose 10 points at Top1 and 31 at Top4 more by removal; Adult nothing at Top1, 6 at Top4."""
    gaps = {key: row["removal"] - row["suppression"] for key, row in means.items() if key[1:3] == (100, "J48")}
    assert gaps["crx", 100, "J48", 1] == pytest.approx(10.1, abs=1)
    assert gaps["crx", 100, "J48", 4] == pytest.approx(31.3, abs=1)
    assert -0.8 < gaps["adult", 100, "J48", 1] < 0
    assert gaps["adult", 100, "J48", 4] == pytest.approx(6, abs=0.3)


def test_gain_from_disclosure(means):
    """Over the sensitive columns alone disclosure gains 0.7 to 6.7 points on Adult, 0.5 on credit approvals."""
    gains = {key: row["bare"] - row["suppression"] for key, row in means.items() if key[1:3] == (100, "J48")}
    adult, crx = ([gain for key, gain in gains.items() if key[0] == table] for table in ("adult", "crx"))
    assert min(adult) > 0.7
    assert max(adult) == pytest.approx(6.7, abs=0.1)
    assert all(-0.3 < gain < 0.5 for gain in crx)


def test_thresholds_below_a_values_share_are_impossible():
    """No suppression meets a threshold below a sensitive value's share of all records; rarer values can be met."""
    rows = stored("suppression/errors")
    met = {(r["table"], r["most_percent"], r["top"], r["threshold"]): r["suppressed"] != "" for r in rows}
    assert all(met["adult", 10, top, 10] for top in (1, 2, 3, 4))
    assert [met["adult", 100, top, 10] for top in (1, 2, 3, 4)] == [True, False, False, False]
    assert not any(met["crx", 100, top, percent] for top in (1, 2, 3, 4) for percent in (10, 30))
