"""Records of tables and of guided perturbation, their plans, results and states; three renderers show the same."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shown import AGE, CLASSES, COLUMNS, check, people

import assocpriv as ap
from assocpriv import guided, numeric
from assocpriv.client.guided.guided_client import ResponseCounts
from assocpriv.client.numeric.table_classes import PredictionCounts
from assocpriv.plans.numeric.table_plan import TablePlan
from assocpriv.plans.numeric.tree_model import Node, NumberInput, TreeModel, tree_lines
from assocpriv.server.numeric.distributions import Distributions
from assocpriv.show import table_views
from assocpriv.show.number_format import number
from assocpriv.show.result_pages import fragment

GUARANTEE = ap.Guarantee("5%", "95%")


@pytest.fixture(scope="module")
def plan() -> TablePlan:
    """Return a plan with all kinds of columns."""
    return numeric.plan_table({"columns": COLUMNS}, GUARANTEE, columns_per_report="all", reports=4000)


@pytest.fixture(scope="module")
def reports(plan: TablePlan) -> Any:
    """Return reports of people."""
    return ap.randomize(people(), plan)


def test_a_plan_states_its_guarantee_and_limits(plan: TablePlan) -> None:
    """γ and columns outside it, average privacy, the number of columns a report; also for several reports."""
    output = check(table_views.plan(ap.forecast(plan, 4000)))
    assert "not covered columns pay, class: the guarantee does not bound what a report discloses" in output
    assert "privacy on average, no γ" in output
    assert "label: <b>yes</b>, no & more; as-is\n            no guarantee: reports hold the raw value" in output
    label = {"kind": "label", "values": ["A", "B"], "release": "response"}
    columns = {"columns": {AGE: COLUMNS[AGE], "shop": COLUMNS["shop"], "l": label}}
    sampled = numeric.plan_table(columns, ap.Guarantee("5%", "10%"), columns_per_report=1, reports_per_person=3)
    output = check(table_views.plan(ap.forecast(sampled, 4000)))
    assert "a report    includes 1 of 2 protected columns, drawn by the device, and the label" in output
    assert "all 3 reports of a person together raise a prior of 5% to less than 10%" in output
    noise = numeric.plan_table({"columns": {"pay": COLUMNS["pay"]}})
    assert "the plan guarantees an average only" in check(table_views.plan(ap.forecast(noise, 1)))


def test_distributions_show_shares_means_and_quantiles(reports: Any) -> None:
    """At most ten bars for a number, all values of a category; numbers without exponents."""
    output = check(table_views.distributions(ap.reconstruct(reports)))
    assert output.startswith(
        "Distributions of 4 columns, estimated from 4,000 reports; shares below a value have a band of ± "
    )
    assert output.count(" – ") == 20
    assert "4500000 – 5000000" in output
    assert "e+0" not in output
    assert max(map(len, output.splitlines())) < 120 + len(AGE)
    assert output.count("method em") == 2
    by = check(table_views.distributions(ap.reconstruct(reports, by="class")))
    assert by.count(f"{AGE}, class = {CLASSES[1]}\n") == 1
    joint = check(table_views.distributions(ap.reconstruct(reports, joint=("shop", "class"))))
    assert len(joint.splitlines()) == 2 + 3 * 2


def test_a_column_with_missing_values_only() -> None:
    """It has a sentence instead of curve and quantiles; a class with too few reports is noted as left out."""
    column = {"kind": "number", "low": 0, "high": 1, "release": "as-is", "optional": True}
    empty = numeric.plan_table({"columns": {"x": column}}, reports=100)
    found = ap.reconstruct(ap.randomize(pd.DataFrame({"x": [np.nan] * 100}), empty))
    record = table_views.distributions_page(found, empty)
    assert "the distribution of values cannot be estimated" in check(record)
    assert "share below" not in str(fragment(record))
    found = Distributions(9, 0.95, {}, "class", {}, {"a": "too few reports"})
    assert "left out: class = a: too few reports" in check(table_views.distributions(found))


def test_whole_numbers_are_shown_as_values() -> None:
    """The plan shows them as whole, a histogram has single values and ranges, and missing shares have intervals."""
    stars = {"kind": "number", "whole": True, "low": 1, "high": 5, "release": "square-wave", "optional": True}
    made = numeric.plan_table(
        {"columns": {"stars": stars, "age": stars | {"low": 0, "high": 100}}}, GUARANTEE, columns_per_report=1
    )
    text = check(table_views.plan(ap.forecast(made, 1000)))
    assert "whole number 1 … 5 in 5 intervals, may be missing" in text
    assert "the value itself is reported with probability" in text
    people = pd.DataFrame({"stars": [1, 2, 3, 4, 5, None] * 500, "age": [0, 20, 40, 60, 80, 100] * 500})
    found = ap.reconstruct(ap.randomize(people, made))
    output = check(table_views.distributions(found))
    missing = found["stars"].missing
    assert f"{missing.low:.2%} to {missing.high:.2%}" in output
    lines = [line.split() for line in output.splitlines()]
    assert all(any(line[-1:] == [str(value)] for line in lines) for value in range(1, 6))
    assert any(line[-3:] == ["0", "–", "9"] for line in lines)


def test_a_page_has_the_figures_of_the_file(reports: Any, plan: TablePlan, tmp_path: Path) -> None:
    """Each mean and quantile is on the page, also by class; the widest band comes first, and names are escaped."""
    ap.reconstruct(reports, by="class").write(tmp_path / "d.json")
    content = json.loads((tmp_path / "d.json").read_text())
    record = table_views.distributions_page(content, plan)
    check(record)
    shown = str(fragment(record))
    column = content["columns"][AGE]
    for found in (column, *(of["columns"][AGE] for of in content["classes"].values())):
        for each in (found["mean"], *found["quantiles"]):
            assert number(each["value"]) in shown
            assert f"{number(each['low'])} to {number(each['high'])}" in shown
    band = column["distribution"]
    widest = max(high - low for low, high in zip(band["low"], band["high"], strict=True)) / 2
    assert f"a band of ± {100 * widest:.2f}% or less" in shown
    assert shown.count("<svg") > len(COLUMNS)
    assert '<span class="key line2"></span><bdi>no &amp; more</bdi>' in shown
    assert not any(tag in shown for tag in ("<img", "<b>", "<script"))
    assert len(shown) < 60_000
    small = table_views.distributions_page(content, None, rows=1)
    assert "… and more columns" in check(small)


def test_whether_a_guarantee_covers_a_page() -> None:
    """Average privacy bounds nothing for one report, and raw columns are outside the guarantee; pages state it."""
    for names, guarantee, message in (
        ([AGE], GUARANTEE, "than their report did, which the guarantee bounds."),
        (["pay"], None, "which no guarantee bounds"),
        ([AGE, "class"], GUARANTEE, "which the guarantee bounds, except for what it does not cover"),
    ):
        made = numeric.plan_table({"columns": {name: COLUMNS[name] for name in names}}, guarantee)
        found = ap.reconstruct(ap.randomize(people()[names], made))
        assert message in str(fragment(table_views.distributions_page(found, made)))


def test_a_tree_is_shown_as_lines(reports: Any, plan: TablePlan) -> None:
    """Every test and leaf is shown at its depth; the page also has the guarantee."""
    model = numeric.grow_tree(reports, "class")
    output = check(table_views.tree(model, Path("m.json")))
    assert "\n".join(tree_lines(model)) in output
    assert output.endswith("model written to m.json")
    assert "more line" in check(table_views.tree(model, rows=1))
    page = str(fragment(table_views.tree_page(model, plan)))
    check(table_views.tree_page(model, plan))
    assert "<pre>" in page
    assert "a probability of less than 95%" in page
    assert not any(tag in page for tag in ("<img", "<b>", "<script"))


def test_a_tree_shows_the_interval_of_its_accuracy() -> None:
    """The text has the interval; if it includes the most frequent class's share, the text says so, with a remedy."""
    inputs, leaf = (NumberInput("age", 0, 1),), Node(9, (0.6, 0.4))
    for low in (0.5, 0.7):
        record = table_views.tree(TreeModel("risk", ("a", "b"), inputs, (leaf,), "by-class", 7, "", (low, 0.8)))
        output = check(record)
        assert f"predicts the class of {low:.1%} to 80.0% of people correctly" in output
        assert ("collect more reports" in output) == (low < 0.6)
        assert record.to_json()["accuracy"] == {"low": low, "high": 0.8}


def test_a_simulation_shows_the_truth(plan: TablePlan) -> None:
    """Distances, means and quantiles with the true ones, and notes on missing values."""
    done = ap.simulate(people(), plan, seed=1)
    record = table_views.simulated(done)
    output = check(record)
    assert "s to reconstruct" in done._repr_html_()
    assert number(people()[AGE].mean())[:3] in output
    assert "s to reconstruct" in output
    assert record.notes[0] == "missing values: {missing:each}"


def test_predictions_and_their_notes() -> None:
    """Counts of each class; values outside the model are noted by column."""
    counts = PredictionCounts(3, Counter({"a": 2, "b": 1}), Counter(age=2), Counter(job=0), Counter())
    record = table_views.predictions(counts, Path("o.csv"))
    assert check(record) == "3 records with their predicted class written to o.csv: 2 of a, 1 of b"
    assert record.notes == ["missing values, sent where most such records went: {missing:each}"]


# ---- guided perturbation

OUT = Path("out")


def voters(n: int = 240) -> pd.DataFrame:
    """Return votes of which two predict the party."""
    rng = np.random.default_rng(2)
    right = rng.random(n) < 0.5
    votes = {f"v{k}": rng.random(n) < (np.where(right, 0.9, 0.1) if k < 2 else 0.5) for k in range(4)}
    cells = {name: np.where(each, "y", "n") for name, each in votes.items()}
    return pd.DataFrame({"party": np.where(right, "right", "left")} | cells)


@pytest.mark.parametrize("keep", ["none", "bits", "tuple"])
def test_a_plan_and_its_miner(keep: str, tmp_path: Path) -> None:
    """The records show the guarantee and its mechanism, raw columns, the state, guidance and received tuples."""
    kept: dict[str, Any] = {} if keep == "none" else {"guarantee": ap.Guarantee("5%", "50%"), "keep": keep}
    state = guided.start(voters(), class_column="party", batch=20, **kept)
    output = check(table_views.guided_plan(ap.forecast(state.plan, 1000)))
    assert "raw         the class party: left, right" in output
    assert ("can obtain any value unrandomized" in output) == (keep == "none")
    assert ("one report raises a prior of 5% to less than 50%" in output) == (keep != "none")
    assert ("random tuple" in output) == (keep == "tuple")
    started = [table_views.started(state, OUT, OUT, is_of_table=is_of_table) for is_of_table in (True, False)]
    check(started[0])
    assert [len(each.notes) for each in started] == [1, 0]
    guided.write_state(state, tmp_path / "s.json")
    done, new = guided.publish_file(tmp_path / "s.json", tmp_path / "g.json")
    assert ("γ           unbounded" in check(table_views.published(done, [], new, OUT))) == (keep == "none")
    assert "unchanged until 20 tuples have arrived since" in check(table_views.published(done, [], False, OUT))
    assert "new guidance after 20 further tuples" in check(table_views.collected(done))
    if keep != "tuple":
        reports = ap.randomize(voters(), done.plan, guidance=done.guidance)
        state = guided.collect(done, reports)
        output = check(table_views.published(state, guided.estimate_accuracy(state, [1, 2]), False, OUT))
        assert "now " in output
        assert "standard error" in output


def test_responses_count_missing_and_clipped_values() -> None:
    """Missing values and probabilities above 1 are counted, and the missing guarantee is stated."""
    plan = guided.start(voters(), class_column="party").plan
    output = check(table_views.answered(ResponseCounts(1, 2, 240, 3, True, {"v0": 2}), plan, OUT))
    assert output.startswith("240 reports of 6 bytes written to out: responses to guidance 1, level 2\n")
    assert "missing values, drawn uniformly: 2 of v0\n3 bits had a probability above 1" in output
    assert "no γ: the publisher of the guidance can obtain any value unrandomized" in output
    assert "missing" not in check(table_views.answered(ResponseCounts(1, 2, 240), plan, OUT))
    assert "3 records queued in out, encrypted; nothing was sent: why" in check(table_views.queued(3, plan, OUT, "why"))


def test_trials_are_tables() -> None:
    """A trial is a table with a row for each level."""
    plan = guided.start(voters(), class_column="party", batch=20).plan
    trial = ap.simulate(voters(), plan, seed=1, rounds=2, classifier="naive-bayes")
    output = check(table_views.guided_trial(trial))
    assert "<table" in trial._repr_html_()
    assert output.count("100.0% ± 0.0%") <= 1
    assert max(map(len, output.splitlines())) <= 80
