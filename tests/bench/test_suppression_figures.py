"""Claims of WFY05 about its figure 3 and table 3, on the stored CSVs; deviations are asserted as measured."""

import csv
from pathlib import Path

import pytest

from bench.figures import suppression as figures

KEPT = Path(figures.__file__).parents[1] / "results" / "suppression"


def kept(name):
    """Return the rows of a stored file."""
    with (KEPT / f"{name}.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def means():
    """Return mean errors by (table, allowed percent, classifier, TopN)."""
    return {
        (row["table"], int(row["most_percent"]), row["classifier"], int(row["top"])): {
            name: float(row[name]) for name in ("base", "suppression", "bare", "removal")
        }
        for row in kept("means")
    }


def test_cells_shown():
    """The README's table agrees with the stored file; single cells show more in nine settings of ten."""
    text, rows = (KEPT.parents[1] / "README.md").read_text(encoding="utf-8"), kept("cells")
    settings = list(dict.fromkeys((row["table"], row["top"], row["threshold"]) for row in rows))
    more = 0
    for table, top, threshold in settings:
        found = [row for row in rows if (row["table"], row["top"], row["threshold"]) == (table, top, threshold)]
        shown = [
            f"{float(row['shown_percent']):.0f} ({float(row['entropy tree']):.1f})"
            if row["shown_percent"]
            else "refused"
            for row in found
        ]
        name = {"crx": "CRX", "adult": "Adult"}[table]
        assert f"| {name} Top{top} {threshold}% | {' | '.join(shown)} |" in text
        more += float(found[1]["shown_percent"]) > float(found[0]["shown_percent"])
    assert (len(settings), more) == (10, 9)


def test_table_3():
    """Credit approvals have the paper's numbers of inferences above the thresholds; Adult has 1.5 times these."""
    found = {
        (row["table"], int(row["threshold"])): int(row["inferences"])
        for row in kept("errors")
        if (row["top"], row["most_percent"]) == ("4", "100")
    }
    assert [found["crx", percent] for percent in (10, 30, 50, 70, 90)] == [40, 27, 15, 8, 6]
    ratios = [found["adult", p] / n for p, n in {10: 1333, 30: 786, 50: 365, 70: 324, 90: 318}.items()]
    assert all(1.4 < ratio < 1.8 for ratio in ratios)


def test_base_errors(means):
    """J48's base errors are those of the paper for C4.5: 15.4 and 17.6%."""
    assert round(means["crx", 100, "J48", 1]["base"], 1) == 15.4
    assert round(means["adult", 100, "J48", 1]["base"], 1) == 17.6


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
    adult = [gain for (table, *_), gain in gains.items() if table == "adult"]
    crx = [gain for (table, *_), gain in gains.items() if table == "crx"]
    assert min(adult) > 0.7
    assert max(adult) == pytest.approx(6.7, abs=0.1)
    assert all(-0.3 < gain < 0.5 for gain in crx)


def test_thresholds_below_a_values_share_are_impossible():
    """No suppression meets a threshold below a sensitive value's share of all records; rarer values can be met."""
    rows = kept("errors")
    met = {(r["table"], r["most_percent"], r["top"], r["threshold"]): r["suppressed"] != "" for r in rows}
    assert all(met["adult", "10", top, "10"] for top in "1234")
    assert [met["adult", "100", top, "10"] for top in "1234"] == [True, False, False, False]
    assert not any(met["crx", "100", top, percent] for top in "1234" for percent in ("10", "30"))
