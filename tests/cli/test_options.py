"""The promise on the command line: as beliefs, as ε, or solved for."""

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import refused, refused_without_output, run, run_json

import assocpriv as ap
from assocpriv.promise.breaches import epsilon

USUAL = ap.Breach("5%", "50%")
SHAPE = ["plan", "--items", 40, "--transaction-size", 3]


def test_the_command_finds_reports(tmp_path: Path) -> None:
    """``plan --find`` with a promise says how many reports it needs, and writes that plan if a file is named."""
    found = ap.find_plan("5%", 40, size=2, promise=USUAL, transaction_size=3)
    record = run_json(*SHAPE, "--prior", "5%", "--posterior", "50%", "--find", "5%", "-o", tmp_path / "p.json")
    assert record["find"] == record["find"] | {"support": "1/20", "size": 2, "solved": "reports"}
    assert (record["reports"], record["plan_id"]) == (found.reports, found.plan.plan_id)
    assert ap.read_plan(tmp_path / "p.json") == found.plan
    assert record["expected"]["2"]["believed_from"] <= 0.05


def test_the_command_finds_the_promise() -> None:
    """``plan --find --reports`` says the least ε of two decimals, at the prior asked for."""
    question = [*SHAPE, "--find", "30%", "--itemset-size", 1, "--reports", 5_000]
    found = ap.find_plan("30%", 40, size=1, reports=5_000, prior="1%", transaction_size=3, itemset_size=1)
    record = run_json(*question, "--prior", "1%")
    assert record["promise"] == {"prior": "1/100", "posterior": str(found.promise.posterior)}
    assert record["find"]["solved"] == "promise"
    least = epsilon(found.promise.amplification_limit)
    assert run(*question).stdout.startswith(f"need        ε {least:.2f}, 5% → ")
    assert run_json(*question, "--epsilon", 5)["promise"]["prior"] == "1/20"


def test_too_few_reports_are_refused(tmp_path: Path) -> None:
    """Where no promise does, status is 1, and how many reports would do is said."""
    question = [*SHAPE, "--find", "1%", "-o", tmp_path / "p.json", "--reports"]
    said = refused_without_output(tmp_path, *question, 100)
    assert "100 reports are too few" in said
    (would_do,) = re.findall(r"about ([\d,]+) would do", said)
    run(*question, would_do.replace(",", ""))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--find", "1%"], "Missing promise: give --prior and --posterior, or --epsilon"),
        (["--find", "1%", "--prior", "5%"], "--prior and --posterior go together"),
        (["--find", "1%", "--reports", 9, "--posterior", "9%"], "--prior and --posterior go together"),
        (["--epsilon", 1], "Missing option '-o' / '--output'"),
        (["--epsilon", 1, "--answer", 2, "-o", "p.json"], "--answer goes with table, not with baskets"),
        (["--epsilon", 1, "--posterior", "50%", "-o", "p.json"], "--epsilon and --posterior both"),
        (["-o", "p.json"], "Missing promise"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, options: list[Any], said: str) -> None:
    """Options that contradict each other, or leave the promise open, are wrong usage, and nothing is written."""
    assert said in refused_without_output(tmp_path, *SHAPE, *options, status=2)


def test_every_command_takes_an_epsilon(home: Path, tmp_path: Path) -> None:
    """``plan`` and ``report`` take the promise as ε."""
    run(*SHAPE, "--epsilon", "ln 19", "-o", tmp_path / "p.json")
    assert ap.read_plan(tmp_path / "p.json").promise == USUAL
    device = ["report", "--plan", home / "plan.json", "--ledger", tmp_path / "l.bin", "--empty", "keep"]
    run(*device, "--occasion", "one", "--epsilon", "ln 19", "-o", tmp_path / "r.bin")
    said = refused(*device, "--occasion", "two", "--epsilon", "ln 19", "-o", tmp_path / "r2.bin")
    assert said
