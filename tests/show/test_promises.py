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
