"""The promise on the command line: as beliefs, as ε, or solved for."""

from pathlib import Path
from typing import Any

import pytest
from command_line import refused, refused_without_output, run, run_json

import assocpriv as ap
from assocpriv.promise.breaches import epsilon

USUAL = ap.Breach("5%", "50%")
SHAPE = ["plan", "--items", 40, "--transaction-size", 3]


def test_the_command_solves_for_reports(tmp_path: Path) -> None:
    """``plan --discover`` with a promise says how many reports it needs, and writes that plan if a file is named."""
    question = [*SHAPE, "--prior", "5%", "--posterior", "50%", "--discover", "2%", "--target", "pairs"]
    found = ap.reports_needed("2%", 40, 3, USUAL, target="pairs")
    text = run(*question).stdout.splitlines()
    assert text[0] == f"discover    2% with {found.reports:,} reports (the plan for one fewer: not)"
    assert text[1] == "            for pairs, all of a size together"
    record = run_json(*question, "-o", tmp_path / "p.json")
    assert record["discover"] == {"support": "1/50", "itemset_sizes": [2], "solved_for": "reports"}
    assert (record["reports"], record["plan_id"]) == (found.reports, found.plan.plan_id)
    assert ap.read_plan(tmp_path / "p.json") == found.plan
    assert record["level_discoverable_support"]["2"] <= 0.02


def test_the_command_solves_for_the_promise() -> None:
    """``plan --discover --reports`` says a promise, at the prior that is asked for."""
    found = ap.promise_needed("5%", 40, 3, 50_000, prior="1%")
    record = run_json(*SHAPE, "--discover", "5%", "--reports", 50_000, "--prior", "1%")
    assert record["promise"] == {"prior": "1/100", "posterior": str(found.promise.posterior)}
    assert record["discover"]["solved_for"] == "promise"
    said = run(*SHAPE, "--discover", "5%", "--reports", 50_000).stdout.splitlines()[0]
    limit = found.promise.amplification_limit
    assert f"reports, ε {epsilon(limit):.2f}, 5% → " in said
    assert f"(plan for {epsilon(limit) - 0.01:.2f}: not)" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--discover", "1%"], "Missing promise: give --prior and --posterior, or --epsilon"),
        (["--discover", "1%", "--prior", "5%"], "--prior and --posterior go together"),
        (["--discover", "1%", "--reports", 9, "--epsilon", 1], "--epsilon does not go with --discover and --reports"),
        (["--discover", "1%", "--reports", 9, "--posterior", "9%"], "--posterior does not go with --discover"),
        (["--discover", "1%", "--epsilon", 1, "--baskets", "b.dat"], "--baskets does not go with --discover"),
        (["--epsilon", 1], "Missing option '-o' / '--output'"),
        (["--epsilon", 1, "--posterior", "50%", "-o", "p.json"], "--epsilon and --posterior both"),
        (["-o", "p.json"], "Missing promise"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, options: list[Any], said: str) -> None:
    """Options that contradict each other, or leave the promise open, are wrong usage, and nothing is written."""
    assert said in refused_without_output(tmp_path, *SHAPE, *options, status=2)


@pytest.mark.parametrize("given", ["0", "nan", "x", "٣", "701"])
def test_a_bad_epsilon_is_one_line(given: str) -> None:
    """What is no ε is bad input: status 1."""
    assert "epsilon" in refused(*SHAPE, "--epsilon", given, "-o", "p.json")


def test_every_command_takes_an_epsilon(home: Path, tmp_path: Path) -> None:
    """``plan``, ``report`` and ``demo`` take the promise as ε."""
    run(*SHAPE, "--epsilon", "ln 19", "-o", tmp_path / "p.json")
    assert ap.read_plan(tmp_path / "p.json").promise == USUAL
    device = ["report", "--plan", home / "plan.json", "--ledger", tmp_path / "l.bin", "--basket", "1,2"]
    run(*device, "--occasion", "one", "--epsilon", "ln 19", "-o", tmp_path / "r.bin")
    said = refused(*device, "--occasion", "two", "--epsilon", "ln 19", "-o", tmp_path / "r2.bin")
    assert said
    record = run_json("demo", "--baskets", home / "b.dat", "--epsilon", "ln 9", "-o", tmp_path / "demo")
    assert record
    assert ap.read_plan(tmp_path / "demo" / "plan.json").promise == ap.Breach("5%", "9/28")
