"""Tests of the command inspect: it tells files apart, and says what speaks against those it does not know."""

from pathlib import Path

import pytest
from command_line import (
    BAD_PLANS,
    N_BASKETS,
    bad_plans,
    refused,
    run,
    run_json,
)


def test_inspect_says_what_a_file_is(home: Path, tmp_path: Path) -> None:
    """Plan, reports, a folder of them and itemsets of every kind are told apart."""
    assert run_json("inspect", home / "plan.json", "--reports", 7)["kind"] == "plan"
    reports = run_json("inspect", home / "r.parquet")
    assert (reports["kind"], reports["reports"], reports["files"]) == ("reports", N_BASKETS, 1)
    for copy in ("a", "b"):
        (tmp_path / f"{copy}.parquet").write_bytes((home / "r.parquet").read_bytes())
    assert run_json("inspect", tmp_path)["reports"] == 2 * N_BASKETS
    for ending in ("parquet", "csv", "json"):
        assert run_json("inspect", home / f"i.{ending}")["kind"] == "itemsets"
        assert "minimum support" in run("inspect", home / f"i.{ending}").stdout
    assert "promise" in run("inspect", home / "plan.json").stdout
    assert "each whole" in run("inspect", home / "r.parquet").stdout
    for name, kind in (("r.parquet", "reports"), ("i.csv", "itemsets")):
        assert f"holds {kind}" in refused("inspect", home / name, "--reports", 7, status=2)


@pytest.mark.parametrize("name", [name for name in BAD_PLANS if name not in ("itemsets", "deep")])
def test_bad_plans_are_not_described(home: Path, tmp_path: Path, name: str) -> None:
    """Inspect describes no bad plan."""
    plan = tmp_path / "bad.json"
    plan.write_text(bad_plans(home)[name])
    refused("inspect", plan)


@pytest.mark.parametrize("name", ["b.dat", "b.csv", "names.txt", "lists.parquet", "none.json"])
def test_inspect_refuses_other_files(home: Path, name: str) -> None:
    """Inspect says what speaks against a file being anything it knows."""
    message = refused("inspect", home / name)
    assert str(home / name) in message
    assert not message.rstrip().endswith(":")


def test_inspect_says_how_many_reports_discover_a_support(home: Path) -> None:
    """With --discover each size's number of reports is told, as JSON and as text; of a plan of baskets alone."""
    needed = run_json("inspect", home / "plan.json", "--discover", "5%")["reports_needed"]
    assert sorted(needed) == ["1", "2", "3"]
    assert f"5% takes {needed['2']:,} reports for pairs" in run("inspect", home / "plan.json", "--discover=5%").stdout
    assert "holds reports" in refused("inspect", home / "r.parquet", "--discover", "5%", status=2)
    assert "above 0" in refused("inspect", home / "plan.json", "--discover", "0")


@pytest.mark.parametrize("reports", ["0", "-1"])
def test_inspect_needs_a_number_of_reports(home: Path, reports: str) -> None:
    """A plan is described for at least one report."""
    refused("inspect", home / "plan.json", f"--reports={reports}")


def test_a_ledger_is_named(home: Path, tmp_path: Path) -> None:
    """Whoever points at a device's ledger is told what it is, and nobody gathers it, whatever its length."""
    ledger = tmp_path / "ledger.bin"
    report = ["--occasion", "w1", "--basket", "1", "-o", tmp_path / "one.bin"]
    run("report", "--plan", home / "plan.json", "--ledger", ledger, *report)
    before = ledger.read_bytes()
    for question in (["inspect", ledger], ["mine", ledger, "--min-support", "2%"], ["ask", ledger, "--itemset", "1"],
                     ["gather", ledger, "--plan", home / "plan.json", "-o", tmp_path / "all"]):  # fmt: skip
        assert "ledger.bin is a device's ledger" in refused(*question)
    assert ledger.read_bytes() == before
    assert "gather" in refused("inspect", tmp_path / "one.bin")
