"""Results of questions have a repr of a few short lines, HTML, and a data frame with a row a line of the answer."""

import ast
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import assocpriv as ap
from assocpriv.client.ledger import BudgetSpent, PlanBudget
from assocpriv.estimation.supports import ErrorOptions
from assocpriv.files.plan_files import write_plan
from assocpriv.planning.basket_planner import choose_plan, explain_guarantees
from assocpriv.planning.detection_limits import solve_plan
from assocpriv.planning.table_planner import plan_table
from assocpriv.plans.result_display import MOST_LINES, WIDTH
from assocpriv.server.baskets.ask import ask
from assocpriv.server.baskets.counting import LocalBackend

GUARANTEE = ap.Guarantee("5%", "50%")
NUMBER = {"kind": "number", "low": 0, "high": 10, "release": "square-wave"}
CATEGORY = {"kind": "category", "values": ["no", "yes"], "release": "response"}
TABLE = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0] * 500, "ill": ["no", "yes"] * 1000})
SMOKERS = pd.DataFrame({"smokes": ["no", "yes"] * 400, "ill": ["no", "yes"] * 400})
JOBS = pd.DataFrame({"job": ["cook", "cook", "clerk"], "ill": ["no", "yes", "yes"]})
TEMPLATES = [{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "70%"}]
ITEMSET_COLUMNS = "itemset_size support std_error randomization_error truncation_error detection_threshold"
POSTERIORS = "prior lowest_posterior highest_posterior"
INFERENCES = "column value channel support confidence bound"


@cache
def baskets() -> ap.Plan:
    """Return a plan of two items."""
    return ap.plan(["milk", "tea"], GUARANTEE, mean_size=2)


@cache
def table() -> Any:
    """Return a plan of a number and a category."""
    return plan_table({"columns": {"age": NUMBER, "ill": CATEGORY}}, ap.Guarantee.from_epsilon(4))


@cache
def guided() -> Any:
    """Return a miner's state with collected reports."""
    state = ap.guided.publish(ap.guided.start(SMOKERS, "ill", guarantee=GUARANTEE, seed=1))
    return ap.guided.collect(state, ap.randomize(SMOKERS, state.plan, guidance=state.guidance))


@cache
def reports() -> ap.Reports:
    """Return reports of baskets with milk and tea."""
    made = ap.randomize([{"milk", "tea"}] * 20_000, baskets())
    assert isinstance(made, ap.Reports)
    return made


def compared() -> Any:
    """Return a comparison of two seasons."""
    sides = [ap.randomize([{name}] * 20_000, baskets()) for name in ("milk", "tea")]
    return ap.compare(*sides, names=["summer", "winter"])


def asked() -> Any:
    """Return estimates of one itemset and one rule."""
    return ask([LocalBackend.from_reports(reports())], [["tea"]], [(["tea"], ["milk"])], ErrorOptions(0.95))


def inspected(folder: Path) -> Any:
    """Return the content of a plan file."""
    write_plan(baskets(), folder / "plan.json")
    return ap.inspect(folder / "plan.json")


def spent() -> Any:
    """Return the budget that two reports under one plan spent."""
    limit = ap.Guarantee.from_epsilon(3)
    return BudgetSpent((PlanBudget("a" * 64, 2, Fraction(4), False),), Fraction(4), limit)


# What makes a result; a pattern of its repr; its main number on the page; the columns and the number of rows of its
# data frame, None where it depends on the draw.
Case = tuple[Callable[[Path], Any], str, str, str, int | None]
RESULTS: dict[str, Case] = {
    "Forecast": (
        lambda _: ap.forecast(baskets(), 1000), r"1,000 reports, ε ≤ 2.944439 \(γ < 19\).*pairs: detectable support \d",
        "1,000 reports", "itemset_size candidates detectable_support detection_threshold", 2,
    ),
    "TableFacts": (
        lambda _: ap.forecast(table(), 1000), r"1,000 reports, ε ≤ 4.0 \(γ < 54\.\d+\).*ill: response, ε ≤ ",
        "square-wave", "column kind release amplification epsilon scale distance", 2,
    ),
    "GuidedFacts": (
        lambda _: ap.forecast(guided().plan, 1000), r"1,000 reports, ε ≤ 2.944439 \(γ < 19\).*2 bits", "1,000 reports",
        "column values", 1,
    ),
    "Privacy": (
        lambda _: ap.privacy(baskets()), r"one report: ε ≤ 2.9\d+ \(γ ≤ 19\).*5% becomes at most 50%", "50%",
        f"{POSTERIORS} lowest_posterior_together highest_posterior_together", 9,
    ),
    "ComposedPlans": (
        lambda _: ap.privacy([baskets(), (table(), 2)]), r"3 reports together: ε ≤ 10.9\d+ \(γ ≤ \d+.*1 report, ε ≤",
        "3 reports", "plan_id reports reports_per_person covered amplification epsilon", 2,
    ),
    "ComposedGuarantee": (
        lambda _: ap.privacy(baskets()).one, r"1 report, ε ≤ 2.9\d+ \(γ ≤ 19\).*a prior of 1% becomes", "",
        POSTERIORS, 9,
    ),
    "PlannedCollection": (
        lambda _: choose_plan(9, GUARANTEE, mean_size=2), r"1,000,000 reports, ε ≤ 2.944439 \(γ < 19\).*pairs: ",
        "1,000,000 reports", ITEMSET_COLUMNS, 3,
    ),
    "PlanForDetection": (
        lambda _: solve_plan("20%", 9, size=1, reports=20_000, mean_size=2),
        r"20,000 reports, ε ≤ 0.\d+ \(γ < [\d.]+\).*smallest ε that detects all single items in 20%", "20,000 reports",
        ITEMSET_COLUMNS, 1,
    ),
    "GuaranteeExamples": (
        lambda _: explain_guarantees(), r"6 guarantees.*5% → 10%: ε ≤ 0.747215 \(γ < 2.11112\), very strict",
        "0.747", "prior posterior epsilon amplification_limit verdict", 6,
    ),
    "NextRound": (
        lambda _: ap.refine(reports()), r"2 items with 100% of all purchases.*20,000 reports, ε ≤ 2.9",
        "2 likeliest items", "items share mean_size items_per_basket reports epsilon epsilon_both", 1,
    ),
    "Comparison": (
        lambda _: compared(), r"summer, winter; \d of \d itemsets selected.*ε ≤ 5.8\d+ in total", "20,000 reports",
        "itemsets difference std_error ci_low ci_high probability selected support_summer support_winter", None,
    ),
    "AskResult": (
        lambda _: asked(), r"1 itemset, 1 rule; 20,000 reports.*{tea}: support .*tea → milk: confidence", "tea",
        "itemsets support std_error ci_low ci_high", 1,
    ),
    "Distributions": (
        lambda _: ap.reconstruct(ap.randomize(TABLE, table())), r"age, ill; 2,000 reports.*age: mean \d.*yes \d\d\.",
        "2,000", "column value low high share std_error", None,
    ),
    "Distribution": (
        lambda _: ap.reconstruct(ap.randomize(TABLE, table()))["ill"], "ill", "", "column value share std_error", 2,
    ),
    "JointDistribution": (lambda _: joint(), "age", "", "column first second share std_error", None),
    "Simulation": (
        lambda _: ap.simulate([{"milk", "tea"}] * 20_000, baskets(), 0.5, seed=1),
        r"3 frequent itemsets: 3 selected, 0 missed, 0 false.*20,000 reports, minimum support 50%, ε ≤ 2.944439 \(γ",
        "3 itemsets", "itemsets support std_error true_support", 3,
    ),
    "TableSimulation": (
        lambda _: ap.simulate(TABLE, table(), seed=1), r"2,000 reports, ε ≤ 4.0 \(γ < 54.*ill: distance [\d.]+%",
        "2,000", "column reports distance covered tested missing true_missing mean mean_std_error true_mean", 2,
    ),
    "Trial": (
        lambda _: ap.simulate(SMOKERS, guided().plan, rounds=2, seed=0),
        r"\d+ people, accuracy on raw tuples 100.0%, ε ≤ 2.944439 \(γ < 19\).*level 1: discloses", "100.0%",
        "level mu disclosure disclosure_std_error disclosure_bound information_low accuracy estimate", 2,
    ),
    "Audit": (
        lambda _: ap.audit(baskets(), trials=1000, client="single"), r"consistent, \d+ findings.*ε ≤ 2.944439 \(γ <",
        "consistent", "verdict check name client message", None,
    ),
    "FileContent": (
        inspected, r"a plan.*ε ≤ 2.944439 \(γ < 19\)", "1,000,000 reports",
        "kind plan_id reports files open itemsets", 1,
    ),
    "BudgetSpent": (
        lambda _: spent(), r"2 reports, ε ≤ 1.386295 \(γ ≤ 4\).*stay below 1\.613", "2 reports",
        "plan_id reports amplification epsilon uncovered", 1,
    ),
    "MinerState": (
        lambda _: guided(), r"800 tuples, 1 guidances kept\)\n  ε ≤ 2.944439 \(γ < 19\)", "800 tuples",
        "class value share", 4,
    ),
    "CheckResult": (
        lambda _: ap.suppress.check(JOBS, TEMPLATES), "3 records, 1 inference above the bound.*100.0% of 1", "100.0%",
        INFERENCES, 1,
    ),
    "ReleaseReport": (
        lambda _: ap.suppress.suppress(JOBS, TEMPLATES)[1], "3 records, 3 cells hidden.*at most 66.7% in the release",
        "3 cells", INFERENCES, 1,
    ),
}  # fmt: skip
PARTS = {"ComposedGuarantee", "Distribution", "JointDistribution"}  # of results, which have the page
OTHERS = {"ItemsetFrame"}  # with a method of this name that have tests of their own


def joint() -> Any:
    """Return the joint distribution of two columns."""
    columns = {"columns": {"age": NUMBER, "ill": CATEGORY}}
    both = plan_table(columns, ap.Guarantee.from_epsilon(4), columns_per_report=2)
    return ap.reconstruct(ap.randomize(TABLE, both), joint=("age", "ill")).joint


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_a_short_repr_html_and_a_frame(name: str, tmp_path: Path) -> None:
    """The repr states the answer in 6 lines of 80 columns, HTML has the main number, a frame has a row a line."""
    make, pattern, number, columns, rows = RESULTS[name]
    result = make(tmp_path)
    assert type(result).__name__ == name
    shown = repr(result)
    assert len(shown.splitlines()) <= MOST_LINES == 6
    assert max(map(len, shown.splitlines())) <= WIDTH == 80
    assert shown.startswith(f"{name}(")
    assert re.search(pattern, shown, re.DOTALL), shown
    frame = result.to_frame()
    assert type(frame) is pd.DataFrame
    known = {str(each).replace(" ", "_") for each in frame.columns}
    assert set(columns.split()) <= known, frame.columns
    assert rows in (None, len(frame))
    assert len(frame)
    if name not in PARTS:
        page = result._repr_html_()
        assert "<" in page
        assert number in re.sub("<[^>]*>", "", page), page


def test_all_classes_with_a_frame_are_tested() -> None:
    """Every class of the package with a method ``to_frame`` is in the table above."""
    package = Path(ap.__file__).parent
    found = {
        node.name
        for path in package.rglob("*.py")
        if "def to_frame(" in (source := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(each, ast.FunctionDef) and each.name == "to_frame" for each in node.body)
    }
    assert found - OTHERS == RESULTS.keys()
