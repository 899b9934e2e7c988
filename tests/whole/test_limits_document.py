"""docs/limits.md: figures of its plans are those of the planner, those of rules follow from them."""

import math
import re
from pathlib import Path
from typing import Any

import pytest

import assocpriv as ap
from assocpriv.planning.table_planner import plan_table, sampling_costs
from assocpriv.show.plan_views import choice

PAGE = " ".join(
    (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8").replace("\\*", "").split()
)
GUARANTEES: dict[str, dict[str, Any]] = {
    "ε = 1": {"guarantee": ap.Guarantee.from_epsilon(1)},
    "ε = ln 19": {"guarantee": ap.Guarantee.from_epsilon("ln 19")},
    "ε = 4": {"guarantee": ap.Guarantee.from_epsilon(4)},
    "channel": {"central": (1, "1e-8")},
}
PLANS = {
    (people, guarantee): (errors.split(", "), levels.split(" | "))
    for people, guarantee, errors, levels in re.findall(
        rf"\| ([\d,]+) \| ({'|'.join(GUARANTEES)}) \| ([^|]+) \| ([^|]+ \| [^|]+ \| [^|]+) \|", PAGE
    )
    if errors.count(", ") == 2
}


def test_there_is_a_row_for_each() -> None:
    """Four numbers of people, four guarantees."""
    assert len(PLANS) == 16


def says(shown: str, value: float, *, up: bool = False) -> bool:
    """Return whether a figure of the page, with its own digits, is a value: rounded, or rounded up."""
    unit = 10.0 ** -len(shown.partition(".")[2])
    return (0 <= float(shown) - value < unit) if up else abs(float(shown) - value) <= unit / 2 * (1 + 1e-9)


def expected(reports: int, guarantee: str, **more: Any) -> dict[str, dict[str, float]]:
    """Return what a plan of 1,000 items expects, by itemset size, as `plan --json` says it."""
    found: dict[str, dict[str, float]] = choice(
        ap.plan(1000, reports=reports, **GUARANTEES[guarantee], **more, explain=True)
    ).content["expected"]
    return found


@pytest.mark.parametrize(("people", "guarantee"), PLANS)
def test_what_a_collection_can_show(people: str, guarantee: str) -> None:
    """Errors and least supports of a row are those of its plan."""
    errors, levels = PLANS[people, guarantee]
    for each, error, level in zip(
        expected(int(people.replace(",", "")), guarantee).values(), errors, levels, strict=True
    ):
        assert each["error"] > 1 if error == "over 100" else says(error, 100 * each["error"])
        assert (
            each["detection_threshold"] is None
            if level == "—"
            else says(level[:-1], 100 * each["detection_threshold"], up=True)
        )


def test_rules_follow_from_the_errors_above() -> None:
    """The left side's support makes the error of a confidence of 50% ten points."""
    rows = re.findall(
        r"\| ([\d,]+) \| ([\d.%—]+) \| ([\d.%—]+) \| ([\d.%—]+) \| ([\d.%—]+) \|", PAGE[PAGE.index("## Rules") :]
    )
    for people, *sides in rows[:4]:
        for guarantee, side in zip(GUARANTEES, sides, strict=True):
            item, pair = (float(error) for error in PLANS[people, guarantee][0][:2])
            least = 10 * math.hypot(pair, item / 2)
            assert (least > 99) if side == "—" else float(side[:-1]) == pytest.approx(least, abs=max(1, 0.02 * least))


def test_what_larger_itemsets_cost() -> None:
    """The paragraph's errors, supports and bytes."""
    figures = re.findall(r"[\d.]+", PAGE[PAGE.index("an item in 5% has an error of") :].partition(". So four")[0])
    of_five = expected(10**6, "ε = ln 19", itemset_size=5)
    assert all(says(error, 100 * each["error"]) for each, error in zip(of_five.values(), figures[1::2], strict=True))
    assert all(
        says(support, 100 * each["support"]) for each, support in zip(of_five.values(), figures[::2], strict=True)
    )
    assert [math.ceil(100 * of_five[k]["detection_threshold"]) for k in "45"] == [28, 81]
    assert "from 28% of baskets on, five from 81%" in PAGE
    sizes = [
        ap.plan(1000, ap.Guarantee.from_epsilon("ln 19"), reports=10**6, itemset_size=k, explain=True).plan.report_bytes
        for k in (3, 4, 5)
    ]
    assert f"cost bytes ({sizes[1]} and {sizes[2]}, where K = 3 takes {sizes[0]})" in PAGE
    assert (
        f"knows a pair in 3% to {100 * expected(10**6, 'ε = ln 19', itemset_size=2)['2']['error']:.2f} points" in PAGE
    )


def test_what_numbers_and_categories_cost() -> None:
    """How many reports have the error of one person who is asked directly."""
    wave = {"kind": "number", "low": 0, "high": 100, "release": "square-wave"}
    columns = {"a": wave, "b": wave} | {
        name: {"kind": "category", "values": values, "release": "response"}
        for name, values in (("c", [*"1234"]), ("d", [*"12"]))
    }
    costs = [
        min(each.cost for each in sampling_costs(plan_table({"columns": columns}, ap.Guarantee.from_epsilon(e))))
        for e in (1, "ln 19", 4)
    ]
    assert "takes {:.0f} reports at ε = 1, {:.1f} at ln 19, {:.1f} at 4".format(*costs) in PAGE
