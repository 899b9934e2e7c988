"""The guarantee on the command line: as probabilities, as ε, or solved for."""

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import refused, refused_without_output, run, run_json

import assocpriv as ap
from assocpriv.guarantees.amplification import epsilon_from_amplification

USUAL = ap.Guarantee("5%", "50%")
SHAPE = ["plan", "--items", 40, "--transaction-size", 3]


def test_the_command_finds_reports(tmp_path: Path) -> None:
    """``plan --detect`` with a guarantee gives the number of reports, and writes that plan if a file is named."""
    found = ap.plan(40, detect="5%", itemset_size=2, guarantee=USUAL, transaction_size=3)
    record = run_json(*SHAPE, "--prior", "5%", "--posterior", "50%", "--detect", "5%", "-o", tmp_path / "p.json")
    assert record["detect"] == record["detect"] | {"support": "1/20", "size": 2, "solved": "reports"}
    assert (record["reports"], record["plan_id"]) == (found.reports, found.plan.plan_id)
    assert ap.read_plan(tmp_path / "p.json") == found.plan
    assert record["expected"]["2"]["detection_threshold"] <= 0.05


def test_the_command_finds_the_guarantee() -> None:
    """``plan --detect --people`` gives the smallest ε of two decimals, at the given prior."""
    report_type = [*SHAPE, "--detect", "30%", "--itemset-size", 1, "--people", 5_000]
    found = ap.plan(40, detect="30%", itemset_size=1, reports=5_000, prior="1%", transaction_size=3)
    record = run_json(*report_type, "--prior", "1%")
    assert record["guarantee"] == {"prior": "1/100", "posterior": str(found.guarantee.posterior)}
    assert record["detect"]["solved"] == "guarantee"
    least = epsilon_from_amplification(found.guarantee.amplification_limit)
    assert run(*report_type).stdout.startswith(f"needed      ε = {least:.2f} (prior 5%, posterior ")
    assert run_json(*report_type, "--epsilon", 5)["guarantee"]["prior"] == "1/20"


def test_too_few_reports_are_refused(tmp_path: Path) -> None:
    """Where no guarantee suffices, status is 1, and the message gives the number of reports that would."""
    report_type = [*SHAPE, "--detect", "1%", "-o", tmp_path / "p.json", "--people"]
    output = refused_without_output(tmp_path, *report_type, 100)
    assert "100 reports are too few" in output
    (needed,) = re.findall(r"about ([\d,]+) are needed", output)
    run(*report_type, needed.replace(",", ""))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--detect", "1%"], "Missing guarantee: give --prior and --posterior, or --epsilon"),
        (["--detect", "1%", "--prior", "5%"], "--prior and --posterior go together"),
        (["--detect", "1%", "--people", 9, "--posterior", "9%"], "--prior and --posterior go together"),
        (["--epsilon", 1], "Missing option '-o' / '--output'"),
        (["--epsilon", 1, "--columns-per-report", 2, "-o", "p.json"], "goes with table, not with baskets"),
        (["--epsilon", 1, "--posterior", "50%", "-o", "p.json"], "--epsilon and --posterior both"),
        (["-o", "p.json"], "Missing guarantee"),
        (["--central", "1,1e-8", "-o", "p.json"], "smaller batches are never read: give --people"),
    ],
)
def test_contradictory_options_are_refused(tmp_path: Path, options: list[Any], message: str) -> None:
    """Contradictory options, or options without a full guarantee, are wrong usage, and nothing is written."""
    assert message in refused_without_output(tmp_path, *SHAPE, *options, status=2)


def test_every_command_takes_an_epsilon(home: Path, tmp_path: Path) -> None:
    """``plan`` and ``report`` take the guarantee as ε."""
    run(*SHAPE, "--epsilon", "ln 19", "-o", tmp_path / "p.json")
    assert ap.read_plan(tmp_path / "p.json").guarantee == USUAL
    device = ["report", "--plan", home / "plan.json", "--ledger", tmp_path / "l.bin", "--empty", "keep"]
    run(*device, "--period", "one", "--epsilon", "ln 19", "-o", tmp_path / "r.bin")
    refused(*device, "--period", "two", "--epsilon", "ln 19", "-o", tmp_path / "r2.bin")
