"""Pages of distributions, trees and suppressions: their figures are those of the files, and no name breaks them."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import other_pages
import pandas as pd
import pytest
from command_line import refused
from operator_page import HOSTILE
from other_pages import Balanced

import assocpriv as ap
from assocpriv import numeric
from assocpriv.files.tree_models import read_tree
from assocpriv.plans.tree_model import tree_lines
from assocpriv.promise.errors import EstimateError, PlanError
from assocpriv.show.figures import number, share
from assocpriv.show.pages import apart, page
from assocpriv.show.sheets import Line, tree_page


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the files that pages are made of."""
    return other_pages.made(tmp_path_factory.mktemp("found"))


@pytest.mark.parametrize("name", ["rounds", "spread", "classes", "tree", "cells", "items"])
def test_no_name_breaks_a_page(files: dict[str, Path], name: str) -> None:
    """Tags close in order, names are text; one script, nothing from elsewhere, nothing that runs."""
    text = page(files[name])
    parsed = Balanced(text)
    assert not parsed.tags & {"img", "b", "iframe", "object", "form"}
    assert text.count("<script") == 1
    assert not any(f'{way}="http' in text for way in ("src", "href"))
    assert len(text) < 60_000


def test_distributions_are_those_of_the_file(files: dict[str, Path]) -> None:
    """Each mean, interval and quantile stands on the page, by class, too; the widest band leads."""
    text = Balanced(page(files["classes"], files["plan"])).text
    record = json.loads(files["classes"].read_text())
    column = record["columns"][HOSTILE[0]]
    found = [column["mean"], *(of["columns"][HOSTILE[0]]["mean"] for of in record["classes"].values())]
    for mean in found:
        assert number(mean["value"]) in text
        assert f"{number(mean['low'])} to {number(mean['high'])}" in text
    for each in column["quantiles"]:
        assert f"{100 * each['level']:g}% below {number(each['value'])}" in text
    band = column["distribution"]
    widest = max(high - low for low, high in zip(band["low"], band["high"], strict=True)) / 2
    assert f"known to {100 * widest:.2f}% or better" in text
    assert "5% likely" in text and "95% likely" in text  # noqa: PT018


def test_the_tree_is_that_of_the_file(files: dict[str, Path]) -> None:
    """Every question and answer of the text stands on the page, as deep as there; a tree that is one leaf says so."""
    model = read_tree(files["tree"])
    parsed = Balanced(page(model))
    for line in tree_lines(model):
        assert line.strip().partition(": ")[0] in parsed.text
    deep = [Line(depth, f"test {depth}", 10, (0.5, 0.5), depth == 5) for depth in range(6)]
    facts = {"class": "c", "classes": ("a", "b"), "records": 60, "shares": (0.5, 0.5), "undecidable": False,
             "method": "by-class", "plan_id": ""}  # fmt: skip
    assert Balanced(tree_page(facts, [*deep, Line(2, "again", 5, (1, 0), True)], "t", None)).deepest == 6
    nothing = tree_page(facts | {"undecidable": True}, [], "t", None)
    assert "no tree was better than the commonest class" in nothing
    assert "It asks nothing" in nothing


def test_what_is_withheld_is_named_to_the_owner(files: dict[str, Path]) -> None:
    """Every suppressed value and dropped item, with what it would tell; the page says whose it is."""
    for name, key, named in (
        ("cells", "suppressed", lambda each: f"{each['column']} = {each['value']}"),
        ("items", "dropped", lambda each: each["item"]),
    ):
        record = json.loads(files[name].read_text())
        text = Balanced(page(files[name])).text
        assert record[key], name
        for each in record[key]:
            assert named(each) in text
            if each.get("inference"):
                assert f"{each['inference']['confidence']:.1%} of {each['inference']['support']:,}" in text
        assert "It stays with the owner" in text


def test_rounds_stand_side_by_side(files: dict[str, Path]) -> None:
    """Each table's figures and those of all; tables of one plan that differ are named, and of others not averaged."""
    record = json.loads(files["rounds"].read_text())
    text = Balanced(page(files["rounds"])).text
    for row in record["itemsets"]:
        for table in (1, 2, 3):
            support, error = row[f"support_{table}"], row[f"std_error_{table}"]
            if support is not None:
                assert f"{share(support)} ± {share(1.96 * error)}" in text
    assert {name for name in HOSTILE[:4] if combined_apart(record)[name]} == {HOSTILE[1]}
    assert "1 differ between tables by more than chance" in text
    assert "are not averaged" in text
    assert "combined table in JSON" in refused("page", files["rounds"].with_suffix(".csv"), "-o", "x.html")


def combined_apart(record: dict[str, Any]) -> dict[str, bool]:
    """Return by name which single items the page calls different."""
    told = apart(record["itemsets"], record["tables"])
    rows = zip(record["itemsets"], told, strict=True)
    return dict.fromkeys(HOSTILE, False) | {row["itemset"][0]: each for row, each in rows if len(row["itemset"]) == 1}


def test_chance_is_rarely_called_a_difference() -> None:
    """Tables that differ by their errors alone are called different in at most 5% of pages; a shift of 6 errors is.

    400 pages of 100 itemsets; 5% within 4 standard errors of that many pages (false alarm below 1e-4), and a rule that
    judged each difference by itself would name some in nearly every page.
    """
    rng = np.random.default_rng(7)
    tables = [{"plan_id": "p", "population": True, "reports": 1000}] * 2
    named = 0
    for _ in range(400):
        said = 0.2 + 0.01 * rng.standard_normal((100, 2))
        rows = [{"support_1": a, "support_2": b, "std_error_1": 0.01, "std_error_2": 0.01} for a, b in said.tolist()]
        named += any(apart(rows, tables))
    assert 2 <= named <= 400 * 0.05 + 4 * math.sqrt(400 * 0.05 * 0.95)
    shifted = [{"support_1": 0.2, "support_2": 0.29, "std_error_1": 0.01, "std_error_2": 0.01}]
    assert apart(shifted, tables) == [True]
    assert apart(shifted, [tables[0], tables[1] | {"plan_id": "other"}]) == [False]
    assert apart(shifted, [each | {"population": False, "reports": 100} for each in tables]) == [False]


def test_whether_a_promise_bounds_what_is_said() -> None:
    """An average promise bounds nothing of one report, and a column released as it is lies outside; it is said."""

    def made(release: dict[str, Any], more: dict[str, Any] | None = None) -> str:
        column = {"kind": "number", "low": 0, "high": 1, "intervals": 10} | release
        plan = numeric.plan(
            {"columns": {"x": column} | (more or {})}, None if "privacy" in release else ap.Breach("5%", "50%")
        )
        table = pd.DataFrame({"x": np.linspace(0, 1, 2000)} | {name: ["a", "b"] * 1000 for name in more or {}})
        return page(numeric.reconstruct(numeric.randomize_table(table, plan)), plan)

    bounded = made({"release": "square-wave"})
    assert "than the report did, and that is what the promise bounds." in bounded
    assert "but no promise bounds that (see above)" in made({"release": "gaussian", "privacy": "100%"})
    clear = {"y": {"kind": "category", "values": ["a", "b"], "release": "as-is"}}
    assert "but for what lies outside it (see above)" in made({"release": "square-wave"}, clear)


def test_one_plan_of_several_that_look_alike() -> None:
    """A page is made with the plan of the reports only; rounds and suppressions are of none."""
    plans = [
        numeric.plan(
            {"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}}}, ap.Breach("5%", each)
        )
        for each in ("50%", "20%")
    ]
    table = pd.DataFrame({"x": np.linspace(0, 1, 2000)})
    found = numeric.reconstruct(numeric.randomize_table(table, plans[0]))
    assert "50% likely" in page(found, plans[0])
    with pytest.raises(PlanError, match=f"reports were of plan {plans[0].plan_id[:12]}"):
        page(found, plans[1])


def test_a_column_that_nobody_fills_in() -> None:
    """It has no curve and no quantiles, but a sentence."""
    plan = numeric.plan(
        {"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "as-is", "optional": True}}}, reports=100
    )
    shown = page(numeric.reconstruct(numeric.randomize_table(pd.DataFrame({"x": [np.nan] * 100}), plan)), plan)
    assert "how values would be spread is undecidable" in shown
    assert "5% below" not in shown
    assert "<svg" not in shown.partition('id="columns"')[2].partition("</section>")[0]


def test_bad_input(files: dict[str, Path], tmp_path: Path) -> None:
    """Another plan, two columns together, a damaged file: one clear line, nothing written."""
    other = numeric.plan(
        {"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}}}, ap.Breach("5%", "50%")
    )
    for name in ("rounds", "cells"):
        with pytest.raises(PlanError, match="leave the plan out"):
            page(files[name], other)
    flat = json.loads(files["spread"].read_text())
    flat["columns"] = {
        name: each | {"edges": [1.0] * len(each["edges"])} for name, each in flat["columns"].items() if "edges" in each
    }
    with pytest.raises(EstimateError, match="damaged"):
        page(flat)
    for name in ("spread", "tree"):
        with pytest.raises(PlanError, match=r"column|grown with plan|reports were of plan"):
            page(files[name], other)
    joint = json.loads(files["spread"].read_text()) | {"joint": {}}
    with pytest.raises(EstimateError, match="leave --joint"):
        page(joint)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"confidence_level": 0.95, "reports": 3, "columns": {"x": {"share": [1]}}}))
    assert "is damaged" in refused("page", broken, "-o", tmp_path / "page.html")
    broken.write_text("{")
    assert "broken.json" in refused("page", broken, "-o", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
