"""What is promised is said of the plan at hand, in percent."""

from pathlib import Path

import pytest
from command_line import PROMISE, run


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of plans: of the usual promise, of 52 reports a person, and of an ε."""
    folder, shape = tmp_path_factory.mktemp("plans"), ["plan", "--items", 20, "--transaction-size", 2]
    run(*shape, *PROMISE, "-o", folder / "usual.json")
    run(*shape, *PROMISE, "--reports-per-person", 52, "-o", folder / "weekly.json")
    run(*shape, "--epsilon", 2, "-o", folder / "epsilon.json")
    return folder


def explained(plan: Path) -> str:
    """Return what --explain says of a plan, in one line."""
    return " ".join(run("privacy", "--explain", plan).stdout.split())


def test_an_explanation_is_of_the_plan_at_hand(plans: Path) -> None:
    """The sentence is of its promise, the costs of its items."""
    said = explained(plans / "usual.json")
    assert 'whoever thinks "1 in 100 that you buy X" thinks, after your report, at most 1 in 6.' in said
    assert "of 20 items and baskets of 6:" in said


def test_an_explanation_is_of_all_reports(plans: Path) -> None:
    """Where a person may send 52 reports, the paragraph and the sentence are of all of them."""
    said = explained(plans / "weekly.json")
    assert said.startswith("A promise bounds what all 52 reports of a person together can do")
    assert "thinks, after all 52 reports, at most 1 in 6." in said
    assert "one report" not in said.split("What a belief")[0]


def test_one_promise_has_one_spelling(plans: Path) -> None:
    """Every command writes it in percent, with as many digits; what rounds to the limit stays below it."""
    epsilon, usual = run("inspect", plans / "epsilon.json").stdout, run("inspect", plans / "usual.json").stdout
    assert "no report lifts a belief from 5% to 28.01%, whatever the data: 5% stays below 28.01%" in epsilon
    assert "5% stays below 50%" in usual
    assert "from 5% to 28.01%" in run("privacy", plans / "epsilon.json").stdout
    assert "5% → 28.01%" in explained(plans / "epsilon.json")
    weekly = run("inspect", plans / "weekly.json").stdout
    assert "one report alone" in weekly


def test_a_belief_of_a_promise_says_whose_it_is(plans: Path) -> None:
    """In the table of several plans a posterior that nobody asked for names its plan; usual beliefs name none."""
    lines = run("privacy", plans / "epsilon.json", plans / "usual.json").stdout.splitlines()
    assert [line.split("  ")[-1] for line in lines if "posterior of" in line] == ["posterior of epsilon.json"]
