"""Comparisons: differences, what sides share, what is believed and what is certain."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import FALSE_ALARM, Z_LIMIT, planned, reports_of
from scipy.stats import binom
from shown import check

import assocpriv as ap
from assocpriv.promise.errors import EstimateError, WireError
from assocpriv.server.compare import (
    CompareRequest,
    _contrast,
    _share,
    _told,
    certain_ones,
    comparison_records,
    flat,
    least_differences,
    p_values,
)
from assocpriv.show import comparisons

ITEMS = 300
PROMISE = ap.Breach("5%", "50%")


def collected(rng: np.random.Generator, shares: Any, n: int = 40_000, **settings: Any) -> ap.Reports:
    """Return reports of people who hold each item with its share, independently."""
    plan = planned(len(shares), settings.pop("m", 4), PROMISE, reports=n, itemset_size=2, **settings)
    held = rng.random((n, len(shares))) < np.array(shares)
    return reports_of([np.flatnonzero(row).tolist() for row in held], plan, int(rng.integers(1 << 40)))


def shares_of(rng: np.random.Generator) -> Any:
    """Return shares of items, 2 a basket on average."""
    return rng.uniform(0.002, 0.012, ITEMS)


# ---- reports to differences


def test_a_planted_change_is_found_and_errors_are_right(rng: np.random.Generator) -> None:
    """Where nothing changed, squares of differences in standard errors have the mean 1 (false alarm 1e-6).

    With the errors of one side alone they would have 2, which is rejected. What changed by 20 points is certain.
    """
    before = shares_of(rng)
    after = before.copy()
    after[7] += 0.2
    told = ap.compare(collected(rng, before), collected(rng, after), names=["may", "june"], certain="95%")
    rows = {next(iter(row["itemsets"])): row for row in told.itemsets.to_dict() if row["length"] == 1}
    assert len(rows) == ITEMS
    first = told.itemsets.to_dict()[0]
    assert (first["itemsets"], first["certain"], first["listed"]) == (frozenset({"7"}), True, True)
    assert first["ci_low"] < 0.2 < first["ci_high"]
    squares = np.array([(row["raw"] / row["raw_error"]) ** 2 for name, row in rows.items() if name != "7"])
    deviation = np.sqrt(2 / len(squares))
    assert abs(squares.mean() - 1) < Z_LIMIT * deviation
    assert abs(2 * squares.mean() - 1) > Z_LIMIT * deviation
    assert "*" in check(comparisons.compared(told))
    told.itemsets.columns["listed"][:] = False  # what is certain is shown, whatever is listed
    assert "*" in check(comparisons.compared(told)).partition("itemset\n")[2]


def test_sides_of_one_size_share_what_undoing_is_unsure_of(rng: np.random.Generator) -> None:
    """So a difference is told with less error than both supports have together; at another M it is not, and said."""
    shares = np.append(shares_of(rng), np.full(3, 0.6))
    sides = [collected(rng, shares, sizes="5%") for _ in range(2)]
    other = collected(rng, shares, m=3, sizes="5%")
    together, apart = ap.compare(*sides), ap.compare(sides[0], other)
    assert (together.facts["shared"], apart.facts["shared"]) == (True, False)
    assert "cancel" in check(comparisons.compared(together))
    assert "count in full" in check(comparisons.compared(apart))
    mined = [ap.ask(side, [[str(ITEMS)]]) for side in sides]
    parts = [(each["unbiased_error"][0], each["common_error"][0] * each["support"][0]) for each in mined]
    alone = np.sqrt(sum(own**2 + common**2 for own, common in parts))
    [error] = [row["raw_error"] for row in together.itemsets.to_dict() if row["itemsets"] == {str(ITEMS)}]
    assert error < 0.99 * alone


def test_tables_compare_what_stands_in_all(rng: np.random.Generator) -> None:
    """A table beside reports has its own itemsets compared, the same as read from its reports; the rest is counted."""
    sides = [collected(rng, np.full(12, 0.2)) for _ in range(2)]
    tables = [ap.mine(side, "10%", light=True) for side in sides]
    both = ap.compare(*sides).itemsets.to_dict()
    few = ap.compare(*tables)
    assert few.names == ["A", "B"]
    known = {row["itemsets"]: row["raw"] for row in both}
    assert all(row["raw"] == pytest.approx(known[row["itemsets"]], abs=0.01) for row in few.itemsets.to_dict())
    mixed = ap.compare(sides[0], tables[1].take(np.arange(12)), names=["x", "y"])
    assert len(mixed.itemsets) == 12
    assert mixed.facts["epsilon_in_all"] is None
    assert ap.compare(*sides).facts["epsilon_in_all"] == pytest.approx(2 * np.log(19), abs=0.001)


def test_three_periods_are_a_trend(rng: np.random.Generator) -> None:
    """The change along a straight line, which for items that rise evenly is the last less the first."""
    sides = [collected(rng, np.append(np.full(8, 0.1), share)) for share in (0.1, 0.25, 0.4)]
    told = ap.compare(*sides, names=["may", "june", "july"], at_least="10%")
    first = told.itemsets.to_dict()[0]
    assert first["itemsets"] == {"8"}
    assert first["ci_low"] < 0.3 < first["ci_high"]
    assert len(first["supports"]) == len(first["holds"]) == 3
    assert "straight line" in check(comparisons.compared(told))
    columns = flat(told).columns
    assert {"value may", "holds july"} <= columns.keys()
    assert len(told.to_pandas()) == len(told.itemsets) + len(told.rules)
    assert isinstance(comparison_records(told.itemsets)[0]["itemsets"], list)
    assert repr(told).startswith(f"Comparison({', '.join(told.names)}; ")
    assert len(repr(told)) < 100
    assert "straight line" in told._repr_html_()
    assert repr(told.itemsets).startswith(f"LightFrame({len(told.itemsets)} rows; itemsets, ")


def test_what_cannot_be_compared_is_refused(rng: np.random.Generator) -> None:
    """One side, two of one name, the same people twice, whole baskets beside sampled items, nothing in common."""
    reports, asked = collected(rng, [0.2] * 6, 6_000), collected(rng, [0.2] * 6, 2_000, sizes="20%")
    other = ap.randomize([{"a"}] * 2_000, ap.plan(["a", "b"], transaction_size=2, promise=PROMISE))
    table = ap.mine(reports, "10%")
    for sides, options, said in (
        ([reports], {}, "two or more sides"),
        ([[reports, reports]], {}, r"as compare\(first, second\); got 1"),
        ([reports, reports], {"names": ["a", "a"]}, "different"),
        ([reports, asked], {}, "whole baskets"),
        ([reports, [reports]], {}, "on two sides"),
        ([table, table], {}, "on two sides"),
        ([asked, other], {}, "in common"),
        ([ap.association_rules(table, light=True), reports], {}, "does not carry"),
        ([reports, reports], {"at_least": 1}, "below 1"),
        ([reports, reports], {"certain": "100%"}, "between 0 and 1"),
    ):
        with pytest.raises(EstimateError, match=said):
            ap.compare(*sides, **options)


def test_copies_of_files_are_one_side(tmp_path: Path) -> None:
    """A byte copy of a side's reports, or of its mined table, is of the same people, as for mine."""
    plan = ap.plan(["a", "b"], transaction_size=2, promise=PROMISE)
    for name in ("may", "june"):
        ap.randomize([{"a"}] * 20_000, plan, tmp_path / f"{name}.parquet")
    shutil.copy(tmp_path / "may.parquet", tmp_path / "copy.parquet")
    for sides in (["may", "copy"], ["june", "may", "copy"]):
        with pytest.raises(WireError, match=r"copy.parquet is named twice, or is a copy of .*may.parquet"):
            ap.compare(*(tmp_path / f"{side}.parquet" for side in sides))
    ap.write_itemsets(ap.mine(tmp_path / "may.parquet"), tmp_path / "m.csv")
    shutil.copy(tmp_path / "m.csv", tmp_path / "n.csv")
    with pytest.raises(EstimateError, match="on two sides"):
        ap.compare(tmp_path / "m.csv", tmp_path / "n.csv")
    assert len(ap.compare(tmp_path / "may.parquet", tmp_path / "june.parquet").names) == 2


# ---- what sides share


def test_shared_factors_move_all_sides_alike() -> None:
    """Deviations within their errors are averaged by precision; those far beyond them stay."""
    typical = np.full((2, 50), 1.3)
    within = typical.copy()
    within[:, 0] *= [1.03, 0.97]
    moved, own, pooled = _share(within, np.full((2, 50), 0.1))
    assert np.allclose(moved[:, 0] * within[:, 0], 1.3, rtol=1e-3)
    assert np.allclose(own, 0)
    assert np.allclose(pooled, 0.1 / np.sqrt(2))
    apart = typical * np.exp(np.outer([1, -1], np.linspace(-1, 1, 50)))
    moved, own, _ = _share(apart, np.full((2, 50), 0.01))
    assert np.allclose(moved, 1, atol=0.001)
    assert np.allclose(own, 0.01**2, rtol=0.01)
    assert _contrast(3).tolist() == [-1, 0, 1]


# ---- what is believed, and certain


LEVELS = np.geomspace(0.001, 0.2, 1_000)


def few_change(rng: np.random.Generator) -> Any:
    """Return true differences of which most are nothing."""
    return np.where(rng.random(1_000) < 0.03, rng.normal(0, 0.04, 1_000), 0.0)


def all_change(rng: np.random.Generator) -> Any:
    """Return true differences of which none is nothing: some tenth of each support, some much more."""
    return LEVELS * np.clip(0.1 * rng.standard_t(3, 1_000), -0.9, 3)


def drawn(
    change: Callable[[np.random.Generator], Any], rng: np.random.Generator, least: float
) -> tuple[Any, Any, dict[str, Any]]:
    """Return true differences, estimates in standard errors from them, and what is told."""
    truth, error = change(rng), rng.uniform(0.008, 0.012, 1_000)
    raw = truth + error * rng.standard_normal(1_000)
    return truth, raw / error, _told((raw, error, LEVELS), [np.arange(1_000)], CompareRequest(least), [1_000])


@pytest.mark.parametrize("change", [few_change, all_change])
def test_the_first_fifty_differences_are_covered(rng: np.random.Generator, change: Any) -> None:
    """Of 30 times 50 intervals 95% hold, within what chance does (false alarm 1e-6 each way).

    The naive intervals of the 50 that are largest in standard errors are rejected, where most differences are nothing.
    """
    held, naive = 0, 0
    for _ in range(30):
        truth, scores, told = drawn(change, rng, 0.0)
        own = np.argsort(-told["probability"], kind="stable")[:50]
        held += int(((told["ci_low"] <= truth) & (truth <= told["ci_high"]))[own].sum())
        largest = np.argsort(-np.abs(scores))[:50]
        naive += int((np.abs(told["raw"] - truth) <= 1.96 * told["raw_error"])[largest].sum())
    low, high = binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], 1_500, 0.95)
    assert low <= held <= high
    assert naive < low or change is all_change


@pytest.mark.parametrize(("change", "least"), [(few_change, 0.0), (all_change, 0.01)])
def test_lists_are_as_true_as_they_say(rng: np.random.Generator, change: Any, least: float) -> None:
    """Of what 30 lists call a change of so much no more is false than expected (false alarm 1e-6)."""
    listed, false, expected = 0, 0, 0.0
    for _ in range(30):
        truth, _, told = drawn(change, rng, least)
        rows = told["listed"]
        listed += int(rows.sum())
        false += int((np.sign(told["difference"]) * truth <= least)[rows].sum())
        expected += float((1 - told["probability"])[rows].sum())
    assert listed > 250
    assert false <= expected + Z_LIMIT * np.sqrt(expected) + 1


def test_where_nothing_changed_hardly_anything_is_certain(rng: np.random.Generator) -> None:
    """At most 5% of 2,000 runs claim any (false alarm 1e-6), in groups of any size; uncorrected nearly all do."""
    groups = [np.arange(10), np.arange(10, 200)]
    any_claimed, naive = 0, 0
    for _ in range(2_000):
        p = p_values(rng.standard_normal(200), np.ones(200), 0.0)
        any_claimed += bool(certain_ones(p, groups, [10, 190], 0.05).any())
        naive += bool((p < 0.05).any())
    most = binom.ppf(1 - FALSE_ALARM, 2_000, 0.05)
    assert any_claimed <= most < naive


def test_small_groups_are_not_lost_among_large_ones() -> None:
    """Each size has half of the level: one of ten items needs p ≤ .0025, whatever the number of pairs."""
    groups = [np.arange(10), np.arange(10, 20)]
    p = np.ones(20)
    p[[0, 10]] = 0.0024
    assert np.flatnonzero(certain_ones(p, groups, [10, 10**6], 0.05)).tolist() == [0]
    more = [*groups, np.empty(0, dtype=np.int64)]  # of a size that nothing was found of, which counts as tested
    assert not certain_ones(p, more, [10, 10**6, 10**8], 0.05).any()


def test_planned_differences_are_found_in_four_of_five_cases(rng: np.random.Generator) -> None:
    """The share of differences of that size that are certain, of one pair among all, is 80% (false alarm 1e-6)."""
    size = least_differences({1: 1.0, 2: 0.01}, 15)[2]
    seen = size + 0.01 * np.sqrt(2) * rng.standard_normal(20_000)
    p = p_values(seen, np.full(20_000, 0.01 * np.sqrt(2)), 0.0)
    found = sum(
        bool(certain_ones(each, [np.arange(0), np.arange(1), np.arange(0)], [15, 105, 455], 0.05)[0])
        for each in p[:, None]
    )
    low, high = binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], 20_000, 0.8)
    assert low <= found <= high
