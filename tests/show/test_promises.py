"""What is promised is said of the plan at hand, in percent."""

from pathlib import Path

import pytest
from command_line import PROMISE, run

from assocpriv.show.plans import _changes, _most
from assocpriv.show.terminal import fitted


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
    assert 'Who thinks "1 in 100 that you buy X" then thinks at most 1 in 6.' in said
    assert "of 20 items, 6 a basket on average" in said


def test_an_explanation_is_of_all_reports(plans: Path) -> None:
    """Where a person may send 52 reports, the paragraph and the sentence are of all of them."""
    said = explained(plans / "weekly.json")
    assert said.startswith("A promise bounds what all 52 reports of a person together can do")
    assert "thinks at most 1 in 6 after all 52 reports." in said
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
    assert "5% becomes at most 5." in weekly.split("one report alone")[1]


def test_a_belief_of_a_promise_says_whose_it_is(plans: Path) -> None:
    """In the table of several plans a posterior that nobody asked for names its plan; usual beliefs name none."""
    lines = run("privacy", plans / "epsilon.json", plans / "usual.json").stdout.splitlines()
    assert [line.split("  ")[-1] for line in lines if "posterior of" in line] == ["posterior of epsilon.json"]


def test_beyond_everything_no_figure_is_given() -> None:
    """Crafted reports that can move an estimate by more than 100% are said to, in words."""
    assert (_most(0.5), _most(2.5)) == ("50%", "more than 100%")
    assert _changes((-0.5, 0.25)) == "-50% … +25%"
    assert _changes((-0.5, 2.62)) == "-50% … beyond +100%"
    assert _changes((-1.65, 2.62)) == "more than 100% either way"


def test_broken_lines_stand_below_their_text() -> None:
    """A line that is set in is broken below where it begins; one that is not, a little to the right."""
    assert fitted("             one two three four five six", 28) == [
        "             one two three",
        " " * 13 + "four five six",
    ]
    assert fitted("one two three four", 10)[1].startswith("  t")
