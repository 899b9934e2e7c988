"""Records of tables: plans, distributions, trees and what was made of values; three walks say the same of each."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shown import check

import assocpriv as ap
from assocpriv import numeric
from assocpriv.client.table_classes import PredictionCounts
from assocpriv.planning.tables import foresee_table
from assocpriv.plans.tables import TablePlan
from assocpriv.plans.tree_model import Node, NumberInput, TreeModel, tree_lines
from assocpriv.server.distributions import Distributions
from assocpriv.show import tables
from assocpriv.show.figures import number
from assocpriv.show.html import fragment

HOSTILE = ("<script>x</script>", "\"'><img src=x>", "a & b")
CLASSES = ("<b>yes</b>", "no & more")
AGE = HOSTILE[0]
COLUMNS = {
    AGE: {"kind": "number", "low": 0, "high": 100, "intervals": 20, "release": "square-wave", "optional": True},
    "pay": {"kind": "number", "low": 0, "high": 5_000_000, "intervals": 10, "release": "gaussian", "privacy": "50%"},
    "shop": {"kind": "category", "values": list(HOSTILE[:3]), "release": "response"},
    "class": {"kind": "label", "values": list(CLASSES), "release": "as-is"},
}
PROMISE = ap.Breach("5%", "95%")


def table_of(n: int = 4000) -> pd.DataFrame:
    """Return people whose class goes with their age."""
    rng = np.random.default_rng(3)
    age = rng.uniform(0, 100, n).round(1)
    label = np.where(rng.random(n) < np.where(age > 50, 0.9, 0.1), *CLASSES)
    age[:40] = np.nan
    return pd.DataFrame(
        {AGE: age, "pay": rng.integers(0, 5_000_000, n), "shop": rng.choice(HOSTILE[:3], n), "class": label}
    )


@pytest.fixture(scope="module")
def plan() -> TablePlan:
    """Return a plan with columns of all kinds."""
    return numeric.plan_table({"columns": COLUMNS}, PROMISE, answer="all", reports=4000)


@pytest.fixture(scope="module")
def reports(plan: TablePlan) -> Any:
    """Return reports of people."""
    return ap.randomize(table_of(), plan)


def test_a_plan_says_what_it_promises_and_what_not(plan: TablePlan) -> None:
    """γ and what lies outside it, an average's label, the choice of answers; of several reports, too."""
    said = check(tables.plan(foresee_table(plan, 4000)))
    assert "outside γ   columns pay, class: nothing bounds what a report tells" in said
    assert "promises an average, no γ" in said
    assert "label: <b>yes</b>, no & more; as-is\n            reports tell it: nothing is promised" in said
    label = {"kind": "label", "values": ["A", "B"], "release": "response"}
    columns = {name: COLUMNS[name] for name in (AGE, "shop")} | {"l": label}
    sampled = numeric.plan_table({"columns": columns}, ap.Breach("5%", "10%"), answer=1, reports_per_person=3)
    said = check(tables.plan(foresee_table(sampled, 4000)))
    assert "a report    answers 1 of 2 protected columns, drawn by the device, and the label" in said
    assert "all 3 reports of a person together lift no belief from 5% to 10%" in said
    noise = numeric.plan_table({"columns": {"pay": COLUMNS["pay"]}})
    assert "no γ        the plan promises an average" in check(tables.plan(foresee_table(noise, 1)))


def test_distributions_show_shares_means_and_quantiles(reports: Any) -> None:
    """Ten bars at most of a number, all values of a category; numbers stand without exponents."""
    said = check(tables.distributions(ap.reconstruct(reports)))
    assert said.startswith(
        "4,000 reports tell how the values of 4 columns are spread; shares below a value are known to"
    )
    assert said.count(" – ") == 20
    assert "4500000 – 5000000" in said
    assert "e+0" not in said
    assert max(map(len, said.splitlines())) < 120
    assert said.count("method em") == 2
    by = check(tables.distributions(ap.reconstruct(reports, by="class")))
    assert by.count(f"{AGE}, class = {CLASSES[1]}\n") == 1
    joint = check(tables.distributions(ap.reconstruct(reports, joint=("shop", "class"))))
    assert len(joint.splitlines()) == 2 + 3 * 2


def test_a_column_that_nobody_fills_in() -> None:
    """It has no curve and no quantiles, but a sentence; a class of too few reports is said to be left out."""
    column = {"kind": "number", "low": 0, "high": 1, "release": "as-is", "optional": True}
    empty = numeric.plan_table({"columns": {"x": column}}, reports=100)
    record = tables.distributions_page(ap.reconstruct(ap.randomize(pd.DataFrame({"x": [np.nan] * 100}), empty)), empty)
    assert "how values would be spread is undecidable" in check(record)
    assert "share below" not in str(fragment(record))
    found = Distributions(9, 0.95, {}, "class", {}, {"a": "too few reports"})
    assert "left out: class = a: too few reports" in check(tables.distributions(found))


def test_whole_numbers_are_shown_as_values() -> None:
    """A plan says that they are whole, a histogram names single values and neighbours, and missing shares have ends."""
    stars = {"kind": "number", "whole": True, "low": 1, "high": 5, "release": "square-wave", "optional": True}
    made = numeric.plan_table({"columns": {"stars": stars, "age": stars | {"low": 0, "high": 100}}}, PROMISE, answer=1)
    assert "whole number 1 … 5 in 5 intervals, may be missing" in check(tables.plan(ap.foresee(made, 1000)))
    assert "the value itself is reported with probability" in check(tables.plan(ap.foresee(made, 1000)))
    people = pd.DataFrame({"stars": [1, 2, 3, 4, 5, None] * 500, "age": [0, 20, 40, 60, 80, 100] * 500})
    found = ap.reconstruct(ap.randomize(people, made))
    said = check(tables.distributions(found))
    missing = found["stars"].missing
    assert f"{missing.low:.2%} to {missing.high:.2%}" in said
    lines = [line.split() for line in said.splitlines()]
    assert all(any(line[-1:] == [str(value)] for line in lines) for value in range(1, 6))
    assert any(line[-3:] == ["0", "–", "9"] for line in lines)


def test_a_page_has_the_figures_of_the_file(reports: Any, plan: TablePlan, tmp_path: Path) -> None:
    """Each mean and quantile stands on the page, by class, too; the widest band leads, and names are text."""
    ap.reconstruct(reports, by="class").write(tmp_path / "d.json")
    content = json.loads((tmp_path / "d.json").read_text())
    record = tables.distributions_page(content, plan)
    check(record)
    shown = str(fragment(record))
    column = content["columns"][AGE]
    for found in (column, *(of["columns"][AGE] for of in content["classes"].values())):
        for each in (found["mean"], *found["quantiles"]):
            assert number(each["value"]) in shown
            assert f"{number(each['low'])} to {number(each['high'])}" in shown
    band = column["distribution"]
    widest = max(high - low for low, high in zip(band["low"], band["high"], strict=True)) / 2
    assert f"known to ± {100 * widest:.2f}% or better" in shown
    assert shown.count("<svg") > len(COLUMNS)
    assert '<span class="key line2"></span><bdi>no &amp; more</bdi>' in shown
    assert not any(tag in shown for tag in ("<img", "<b>", "<script"))
    assert len(shown) < 60_000
    small = tables.distributions_page(content, None, rows=1)
    assert "… and more columns" in check(small)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([AGE], "than the report did, and the promise bounds that."),
        (["pay"], "but no promise bounds that"),
        ([AGE, "class"], "and the promise bounds that, but for what lies outside it"),
    ],
)
def test_whether_a_promise_bounds_what_a_page_says(names: list[str], said: str) -> None:
    """An average promise bounds nothing of one report, and a column released as it is lies outside; it is said."""
    made = numeric.plan_table(
        {"columns": {name: COLUMNS[name] for name in names}}, None if names == ["pay"] else PROMISE
    )
    found = ap.reconstruct(ap.randomize(table_of()[names], made))
    assert said in str(fragment(tables.distributions_page(found, made)))


def test_a_tree_is_shown_as_it_is_read(reports: Any, plan: TablePlan) -> None:
    """Every question and answer, as deep as it stands; the page has the promise, too."""
    model = numeric.grow_tree(reports, "class")
    said = check(tables.tree(model, Path("m.json")))
    assert "\n".join(tree_lines(model)) in said
    assert said.endswith("model written to m.json")
    assert "more line" in check(tables.tree(model, rows=1))
    page = str(fragment(tables.tree_page(model, plan)))
    check(tables.tree_page(model, plan))
    assert "<pre>" in page
    assert "less than 95% sure" in page
    assert not any(tag in page for tag in ("<img", "<b>", "<script"))


@pytest.mark.parametrize(("low", "doubted"), [(0.5, True), (0.7, False)])
def test_a_tree_says_how_sure_it_is(low: float, doubted: bool) -> None:
    """The interval stands in the text; one that reaches down to the commonest class is said to, with what to do."""
    model = TreeModel(
        "risk", ("a", "b"), (NumberInput("age", 0, 1),), (Node(9, (0.6, 0.4)),), "by-class", 7, "", (low, 0.8)
    )
    record = tables.tree(model)
    said = check(record)
    assert f"the class of {low:.1%} to 80.0% of the people rightly" in said
    assert ("gather more reports" in said) is doubted
    assert record.to_json()["accuracy"] == {"low": low, "high": 0.8}


def test_a_simulation_stands_beside_the_truth(plan: TablePlan) -> None:
    """Distances, means and quantiles with the true ones; what became of values is noted."""
    done = ap.simulate(table_of(), plan, seed=1)
    record = tables.simulated(done)
    said = check(record)
    assert "s to reconstruct" in done._repr_html_()
    truth = table_of()[AGE]
    assert f"{number(float(np.round(truth.mean(), 10)))[:3]}" in said
    assert "s to reconstruct" in said
    assert record.notes[0] == "missing values: {missing:each}"


def test_predictions_and_their_notes() -> None:
    """How many of each class; what had no place in the model is noted by column."""
    counts = PredictionCounts(3, Counter({"a": 2, "b": 1}), Counter(age=2), Counter(job=0), Counter())
    record = tables.predictions(counts, Path("o.csv"))
    assert check(record) == "3 records with their predicted class written to o.csv: 2 of a, 1 of b"
    assert record.notes == ["missing values, sent where most such records went: {missing:each}"]
