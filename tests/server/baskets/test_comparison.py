"""Comparisons: differences, pooled truncation errors, posteriors and tests with FDR control."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import FALSE_ALARM, Z_LIMIT, planned, reports_of
from scipy.stats import binom
from shown import check

import assocpriv as ap
from assocpriv.estimation.supports import detectable_differences
from assocpriv.files.mined_tables import LightFrame
from assocpriv.guarantees.errors import EstimateError, WireError
from assocpriv.server.baskets import comparison
from assocpriv.server.baskets.comparison import (
    CompareRequest,
    _contrast,
    _difference_columns,
    _Evidence,
    _pool_truncation,
    comparison_records,
    p_values,
    reject_by_size,
    to_flat_table,
)
from assocpriv.show import comparison_views

ITEMS = 300
GUARANTEE = ap.Guarantee("5%", "50%")


def collected(rng: np.random.Generator, shares: Any, n: int = 40_000, m: int = 4, **settings: Any) -> ap.Reports:
    """Return reports of people who hold each item with its share, independently."""
    plan = planned(len(shares), m, GUARANTEE, reports=n, itemset_size=2, **settings)
    return reports_of(rng.random((n, len(shares))) < np.array(shares), plan, int(rng.integers(1 << 40)))


def shares_of(rng: np.random.Generator) -> Any:
    """Return shares of items, 2 a basket on average."""
    return rng.uniform(0.002, 0.012, ITEMS)


# ---- reports to differences


def test_a_true_change_is_found_and_errors_are_right(rng: np.random.Generator) -> None:
    """Where nothing changed, squares of differences in standard errors have the mean 1 (false alarm 1e-6).

    With the errors of one side alone they would have 2, which is rejected. A change by 20 points is significant.
    """
    before = shares_of(rng)
    after = before.copy()
    after[7] += 0.2
    found = ap.compare(collected(rng, before), collected(rng, after), names=["may", "june"], fdr="5%")
    assert not found.facts["shared_truncation"]  # supports are those of truncated baskets
    rows = {next(iter(row["itemsets"])): row for row in found.itemsets.to_dict() if row["length"] == 1}
    assert len(rows) == ITEMS
    first = found.itemsets.to_dict()[0]
    assert (first["itemsets"], first["significant"], first["selected"]) == (frozenset({"7"}), True, True)
    assert first["ci_low"] < 0.2 < first["ci_high"]
    squares = np.array([(row["unbiased"] / row["unbiased_error"]) ** 2 for name, row in rows.items() if name != "7"])
    deviation = np.sqrt(2 / len(squares))
    assert abs(squares.mean() - 1) < Z_LIMIT * deviation
    assert abs(2 * squares.mean() - 1) > Z_LIMIT * deviation
    assert "*" in check(comparison_views.compared(found))
    found.itemsets.columns["selected"][:] = False  # significant rows are shown, also if not selected
    assert "*" in check(comparison_views.compared(found)).partition("itemset\n")[2]


def test_sides_with_one_truncation_size_share_its_error(rng: np.random.Generator) -> None:
    """A difference has less error than both supports have together; with another M it has not, and the view says so."""
    shares = np.append(shares_of(rng), np.full(3, 0.6))
    sides = [collected(rng, shares, 20_000, sizes="5%") for _ in range(2)]
    other = collected(rng, shares, 20_000, m=3, sizes="5%")
    together, apart = ap.compare(*sides), ap.compare(sides[0], other)
    assert (together.facts["shared_truncation"], apart.facts["shared_truncation"]) == (True, False)
    assert "cancel" in check(comparison_views.compared(together))
    assert "count in full" in check(comparison_views.compared(apart))
    mined = [LightFrame.from_frame(ap.ask(side, [[str(ITEMS)]])) for side in sides]
    alone = np.sqrt(
        sum(each["unbiased_error"][0] ** 2 + (each["common_error"][0] * each["support"][0]) ** 2 for each in mined)
    )
    [error] = [row["unbiased_error"] for row in together.itemsets.to_dict() if row["itemsets"] == {str(ITEMS)}]
    assert error < 0.99 * alone


def test_tables_compare_the_itemsets_that_all_have(rng: np.random.Generator) -> None:
    """With a table, its own itemsets are compared, as if read from its reports; the others are counted as left out."""
    sides = [collected(rng, np.full(12, 0.2), 20_000) for _ in range(2)]
    tables = [LightFrame.from_frame(ap.mine(side, "10%")) for side in sides]
    both = ap.compare(*sides).itemsets.to_dict()
    few, known = ap.compare(*tables), {row["itemsets"]: row["unbiased"] for row in both}
    assert few.names == ["A", "B"]
    assert all(row["unbiased"] == pytest.approx(known[row["itemsets"]], abs=0.01) for row in few.itemsets.to_dict())
    mixed = ap.compare(sides[0], tables[1].take(np.arange(12)), names=["x", "y"])
    assert len(mixed.itemsets) == 12
    assert mixed.facts["epsilon_in_all"] is None
    assert ap.compare(*sides).facts["epsilon_in_all"] == pytest.approx(2 * np.log(19), abs=0.001)


def test_three_periods_are_a_trend(rng: np.random.Generator) -> None:
    """The change along a straight line, which for items that rise evenly is the last less the first."""
    sides = [collected(rng, np.append(np.full(8, 0.1), share)) for share in (0.1, 0.25, 0.4)]
    found = ap.compare(*sides, names=["may", "june", "july"], at_least="10%")
    first = found.itemsets.to_dict()[0]
    assert first["itemsets"] == {"8"}
    assert abs(first["difference"] - 0.3) < 6 * first["std_error"] < 0.3
    assert len(first["supports"]) == len(first["above_minimum"]) == 3
    assert "straight line" in check(comparison_views.compared(found))
    assert {"value may", "above_minimum july"} <= to_flat_table(found).columns.keys()
    assert found.to_frame()["support may"].tolist() == [each[0] for each in found.itemsets["supports"].tolist()]
    assert isinstance(comparison_records(found.itemsets)[0]["itemsets"], list)
    assert repr(found).startswith(f"Comparison({', '.join(found.names)}; ")
    assert "straight line" in found._repr_html_()
    assert repr(found.itemsets).startswith(f"LightFrame({len(found.itemsets)} rows; itemsets, ")


def test_sides_that_cannot_be_compared_are_refused(rng: np.random.Generator) -> None:
    """One side, two of one name, the same people twice, whole and truncated baskets, nothing in common."""
    reports, asked = collected(rng, [0.2] * 6, 6_000), collected(rng, [0.2] * 6, 2_000, sizes="20%")
    other = ap.randomize([{"a"}] * 2_000, ap.plan(["a", "b"], transaction_size=2, guarantee=GUARANTEE))
    table = ap.mine(reports, "10%")
    for sides, options, message in (
        ([reports], {}, "two or more sides"),
        ([[reports, reports]], {}, r"as compare\(first, second\); got 1"),
        ([reports, reports], {"names": ["a", "a"]}, "different"),
        ([reports, asked], {}, "whole baskets"),
        ([reports, [reports]], {}, "sides 1 and 2 have"),
        ([table, table], {}, "sides 1 and 2 have"),
        ([asked, other], {}, "in common"),
        ([ap.association_rules(ap.mine(reports), 0), reports], {}, "these are rules"),
        ([reports, reports], {"at_least": 1}, "below 1"),
        ([reports, reports], {"fdr": "100%"}, "between 0 and 1"),
    ):
        with pytest.raises(EstimateError, match=message):
            ap.compare(*sides, **options)


def test_copies_of_files_are_one_side(tmp_path: Path) -> None:
    """A byte copy of a side's reports, or of its mined table, is of the same people, as for mine."""
    plan = ap.plan(["a", "b"], transaction_size=2, guarantee=GUARANTEE)
    for name in ("may", "june"):
        ap.randomize([{"a"}] * 20_000, plan, tmp_path / f"{name}.parquet")
    shutil.copy(tmp_path / "may.parquet", tmp_path / "copy.parquet")
    for sides in (["may", "copy"], ["june", "may", "copy"]):
        with pytest.raises(WireError, match=r"copy.parquet is named twice, or is a copy of .*may.parquet"):
            ap.compare(*(tmp_path / f"{side}.parquet" for side in sides))
    ap.write_itemsets(ap.mine(tmp_path / "may.parquet"), tmp_path / "m.csv")
    shutil.copy(tmp_path / "m.csv", tmp_path / "n.csv")
    with pytest.raises(EstimateError, match="sides 1 and 2 have"):
        ap.compare(tmp_path / "m.csv", tmp_path / "n.csv")
    assert len(ap.compare(tmp_path / "may.parquet", tmp_path / "june.parquet").names) == 2


# ---- pooled truncation errors


def test_pooled_factors_move_all_sides_alike() -> None:
    """Deviations within their errors are averaged by precision; those far beyond them stay."""
    within = np.full((2, 50), 1.3)
    within[:, 0] *= [1.03, 0.97]
    moved, own, pooled = _pool_truncation(within, np.full((2, 50), 0.1))
    assert np.allclose(moved[:, 0] * within[:, 0], 1.3, rtol=1e-3)
    assert np.allclose(own, 0)
    assert np.allclose(pooled, 0.1 / np.sqrt(2))
    apart = 1.3 * np.exp(np.outer([1, -1], np.linspace(-1, 1, 50)))
    moved, own, _ = _pool_truncation(apart, np.full((2, 50), 0.01))
    assert np.allclose(moved, 1, atol=0.001)
    assert np.allclose(own, 0.01**2, rtol=0.01)
    assert _contrast(3).tolist() == [-1, 0, 1]


# ---- posteriors and tests


LEVELS = np.geomspace(0.001, 0.2, 1_000)


def drawn(rng: np.random.Generator, change: str, least: float) -> tuple[Any, dict[str, Any]]:
    """Return true differences, and the columns of the comparison.

    A few differences are not 0, or all: these are about a tenth of each support, some much larger.
    """
    if change == "few":
        truth = np.where(rng.random(1_000) < 0.03, rng.normal(0, 0.04, 1_000), 0.0)
    else:
        truth = LEVELS * np.clip(0.1 * rng.standard_t(3, 1_000), -0.9, 3)
    error = rng.uniform(0.008, 0.012, 1_000)
    estimates = (truth + error * rng.standard_normal(1_000), error, LEVELS)
    return truth, _difference_columns(estimates, [np.arange(1_000)], CompareRequest(least), [1_000])


@pytest.mark.parametrize("change", ["few", "all"])
def test_the_first_fifty_differences_are_covered(rng: np.random.Generator, change: str) -> None:
    """Of 30 times 50 intervals 95% hold, within what chance does (false alarm 1e-6 each way).

    The naive intervals of the 50 that are largest in standard errors are rejected, where most differences are nothing.
    """
    held, naive = 0, 0
    for _ in range(30):
        truth, found = drawn(rng, change, 0.0)
        own = np.argsort(-found["probability"], kind="stable")[:50]
        held += int(((found["ci_low"] <= truth) & (truth <= found["ci_high"]))[own].sum())
        largest = np.argsort(-np.abs(found["unbiased"] / found["unbiased_error"]))[:50]
        naive += int((np.abs(found["unbiased"] - truth) <= 1.96 * found["unbiased_error"])[largest].sum())
    low, high = binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], 1_500, 0.95)
    assert low <= held <= high
    assert naive < low or change == "all"


@pytest.mark.parametrize(("change", "least"), [("few", 0.0), ("all", 0.01)])
def test_selected_rows_keep_their_false_discovery_rate(rng: np.random.Generator, change: str, least: float) -> None:
    """Of the changes selected in 30 runs no more are false than expected (false alarm 1e-6)."""
    selected, false, expected = 0, 0, 0.0
    for _ in range(30):
        truth, found = drawn(rng, change, least)
        rows = found["selected"]
        selected += int(rows.sum())
        false += int((np.sign(found["difference"]) * truth <= least)[rows].sum())
        expected += float((1 - found["probability"])[rows].sum())
    assert selected > 250
    assert false <= expected + Z_LIMIT * np.sqrt(expected) + 1


def test_without_changes_few_runs_reject_any_hypothesis(rng: np.random.Generator) -> None:
    """At most 5% of 2,000 runs reject any (false alarm 1e-6), in groups of any size; uncorrected nearly all do."""
    groups = [np.arange(10), np.arange(10, 200)]
    any_claimed, naive = 0, 0
    for _ in range(2_000):
        p = p_values(rng.standard_normal(200), np.ones(200), 0.0)
        any_claimed += bool(reject_by_size(p, groups, [10, 190], 0.05).any())
        naive += bool((p < 0.05).any())
    most = binom.ppf(1 - FALSE_ALARM, 2_000, 0.05)
    assert any_claimed <= most < naive


def test_small_groups_have_an_equal_share_of_the_level() -> None:
    """Each size has half of the level: one of ten items needs p ≤ .0025, whatever the number of pairs."""
    groups = [np.arange(10), np.arange(10, 20)]
    p = np.ones(20)
    p[[0, 10]] = 0.0024
    assert np.flatnonzero(reject_by_size(p, groups, [10, 10**6], 0.05)).tolist() == [0]
    more = [*groups, np.empty(0, dtype=np.int64)]  # a size without candidates, which counts as tested
    assert not reject_by_size(p, more, [10, 10**6, 10**8], 0.05).any()


def test_detectable_differences_are_found_with_80_percent_power(rng: np.random.Generator) -> None:
    """One pair that differs by that much is significant among all in 80% of cases (false alarm 1e-6)."""
    size, error = detectable_differences({1: 1.0, 2: 0.01}, 15)[2], 0.01 * np.sqrt(2)
    p = p_values(size + error * rng.standard_normal(20_000), np.full(20_000, error), 0.0)
    groups = [np.arange(0), np.arange(1), np.arange(0)]
    found = sum(bool(reject_by_size(each, groups, [15, 105, 455], 0.05)[0]) for each in p[:, None])
    low, high = binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], 20_000, 0.8)
    assert low <= found <= high


def test_errors_of_confidences_follow_from_those_of_supports() -> None:
    """Var(b/a) = (Var b + (b/a)² Var a) / a² on each side, for known antecedents of either precision."""
    b, a = np.array([0.10, 0.12]), np.array([0.20, 0.30])
    noise, errors = np.array([1e-6, 4e-6]), np.array([0.03, 0.002])
    table = np.array([b, a]).T
    own, spread = np.array([noise, errors**2]).T, np.array([np.sqrt(noise), errors]).T
    evidence = _Evidence(np.array([-1.0, 1.0]), table, own, np.zeros(2), table, spread)
    [difference], [error], _ = evidence.ratios(np.array([0]), np.array([1]))
    wanted = 0.4 - 0.5, np.sqrt(((noise + (b / a) ** 2 * errors**2) / a**2).sum())
    assert (difference, error) == pytest.approx(wanted)


def test_hypotheses_are_all_itemsets_and_rules(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of n items there are C(n, k) itemsets of k items, each with 2^k − 2 rules; a group has the rows of one size."""
    asked: list[tuple[list[int], list[int]]] = []

    def record(p: Any, groups: Any, hypotheses: Any, level: float) -> Any:
        asked.append(([len(rows) for rows in groups], list(hypotheses)))
        return reject_by_size(p, groups, hypotheses, level)

    monkeypatch.setattr(comparison, "reject_by_size", record)
    found = ap.compare(*(collected(rng, np.full(6, 0.6), 20_000) for _ in range(2)), fdr="5%")
    itemsets = np.bincount(found.itemsets["length"], minlength=4)
    both = zip(found.rules["antecedents"], found.rules["consequents"], strict=True)
    rules = np.bincount([len(left | right) for left, right in both], minlength=4)
    assert asked == [(itemsets[1:4].tolist(), [6, 15, 20]), (rules[2:4].tolist(), [15 * 2, 20 * 6])]
    assert min(itemsets[1], itemsets[2], rules[2]) > 0
