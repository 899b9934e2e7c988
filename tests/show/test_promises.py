"""What is promised is said of the plan at hand: in percent, and of sizes where sizes are asked for."""

from pathlib import Path

import pytest
from command_line import PROMISE, make_baskets, run

from assocpriv.show.plans import _changes, _most
from assocpriv.show.terminal import fitted


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of plans: of sizes alone, and of 52 reports a person."""
    folder, shape = tmp_path_factory.mktemp("plans"), ["plan", "--items", 20, "--transaction-size", 2]
    run("plan", "--histogram", *PROMISE, "-o", folder / "sizes.json")
    run(*shape, *PROMISE, "--reports-per-person", 52, "-o", folder / "weekly.json")
    run(*shape, "--epsilon", 2, "-o", folder / "epsilon.json")
    return folder


def explained(plan: Path) -> str:
    """Return what --explain says of a plan, in one line."""
    return " ".join(run("privacy", "--explain", plan).stdout.split())


def test_an_explanation_is_of_the_plans_own_question(plans: Path) -> None:
    """Of sizes the sentence is about the number of things, and the costs about classes."""
    said = explained(plans / "sizes.json")
    assert 'Who thinks "1 in 100 that you bought 20-21 things" then thinks at most 1 in 6.' in said
    assert "28 classes of sizes" in said
    assert "buy X" not in said
    assert "single items" not in said


def test_an_explanation_is_of_all_reports(plans: Path) -> None:
    """Where a person may send 52 reports, the paragraph and the sentence are of all of them."""
    said = explained(plans / "weekly.json")
    assert said.startswith("A promise bounds what all 52 reports of a person together can do")
    assert "thinks at most 1 in 6 after all 52 reports." in said
    assert "one report" not in said.split("What a belief")[0]


def test_a_plan_of_sizes_is_described_as_one(plans: Path, tmp_path: Path) -> None:
    """It asks for the size: no item is sampled and no size hidden; nor in what is mined of its reports."""
    said = run("inspect", plans / "sizes.json").stdout
    assert "asks for the size of a basket, and nothing else, in 28 classes: 0, 1, 2, 3, 4, 5," in said
    baskets = tmp_path / "b.dat"
    baskets.write_text("".join(f"{' '.join(map(str, basket))}\n" for basket in make_baskets()))
    run("randomize", baskets, "--plan", plans / "sizes.json", "-o", tmp_path / "r.parquet")
    mined = run("mine", tmp_path / "r.parquet", "--min-support", "auto").stdout
    assert "supports are shares of baskets by their size" in mined
    for word in ("hidden", "sampled", "single items", "transaction"):
        assert word not in said
        assert word not in mined


def test_one_promise_has_one_spelling(plans: Path) -> None:
    """Every command writes it in percent, with as many digits; what rounds to the limit stays below it."""
    epsilon, usual = run("inspect", plans / "epsilon.json").stdout, run("inspect", plans / "sizes.json").stdout
    assert "no report lifts a belief from 5% to 28.01%, whatever the data: 5% stays below 28.01%" in epsilon
    assert "5% stays below 50%" in usual
    assert "from 5% to 28.01%" in run("privacy", plans / "epsilon.json").stdout
    assert "5% → 28.01%" in explained(plans / "epsilon.json")
    weekly = run("inspect", plans / "weekly.json").stdout
    assert "one report alone" in weekly
    assert "5% becomes at most 5." in weekly.split("one report alone")[1]


def test_a_belief_of_a_promise_says_whose_it_is(plans: Path) -> None:
    """In the table of several plans a posterior that nobody asked for names its plan; usual beliefs name none."""
    lines = run("privacy", plans / "epsilon.json", plans / "sizes.json").stdout.splitlines()
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
