"""Tests of the command rules: its files, its numbers, and tables that carry too little."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_line import (
    PROMISE,
    no_constant,
    refused,
    refused_without_output,
    run,
    run_json,
)


def test_outputs_by_extension(home: Path, tmp_path: Path) -> None:
    """Itemsets and rules are written as the extension says, and other programs can read them."""
    assert pq.read_table(home / "i.parquet").num_rows == len(run_json("inspect", home / "i.json")["itemsets"])
    assert json.loads((home / "i.json").read_text(), parse_constant=no_constant)["itemsets"]
    assert (home / "i.csv").read_text().splitlines()[1].startswith("support,itemsets,")
    for ending in ("parquet", "csv", "json"):
        run("rules", home / "i.parquet", "--min-confidence", "10%", "-o", tmp_path / f"rules.{ending}")
    rows = run_json("rules", home / "i.parquet", "--min-confidence", "10%")["rules"]
    assert pq.read_table(tmp_path / "rules.parquet").num_rows == len(rows)
    assert json.loads((tmp_path / "rules.json").read_text(), parse_constant=no_constant)["rules"] == rows
    with (tmp_path / "rules.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == len(rows)


def test_reports_in_place_of_itemsets_are_told_apart(home: Path) -> None:
    """Who names the reports is told to mine them first."""
    said = refused("rules", home / "r.parquet", "--min-confidence", "10%")
    assert "it holds reports; mine them first: assocpriv mine" in said


def test_infinite_values_are_null(home: Path, tmp_path: Path) -> None:
    """What nothing can be learned from, and an infinite conviction, is null and never Infinity or NaN."""
    hopeless = run_json("inspect", home / "plan.json", "--reports", 1)
    assert all(s is None or s >= 0 for s in hopeless["lowest_discoverable_support"].values())
    plan = tmp_path / "p.json"
    run("plan", "--items", 12, "--transaction-size", 1, *PROMISE, "-o", plan)
    (tmp_path / "b.csv").write_text("1\n" * 50)
    run("randomize", tmp_path / "b.csv", "--plan", plan, "-o", tmp_path / "r.parquet")
    run_json("mine", tmp_path / "r.parquet", "--min-support", "1%", "-o", tmp_path / "i.json")
    run_json("rules", tmp_path / "i.json", "--min-confidence", "0")
    rules = run_json("rules", home / "i.parquet", "--min-confidence", "0")["rules"]
    assert all((rule["conviction"] is None) == (rule["confidence"] >= 1) for rule in rules)


@pytest.mark.parametrize("confidence", ["2", "-0.5", "abc", "nan", "101%", ""])
def test_bad_confidences(home: Path, tmp_path: Path, confidence: str) -> None:
    """A minimum confidence is a number from 0 to 1."""
    output = ["-o", tmp_path / "rules.csv"]
    refused_without_output(tmp_path, "rules", home / "i.parquet", f"--min-confidence={confidence}", *output)


def test_rules_need_what_mine_wrote(home: Path, tmp_path: Path) -> None:
    """A bare CSV, reports, a plan, baskets and damaged files are no itemsets."""
    (tmp_path / "bare.csv").write_text('support,itemsets\n0.5,"milk"\n')
    whole = (home / "i.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "cut.csv").write_bytes((home / "i.csv").read_bytes()[:300])
    (tmp_path / "cut.json").write_bytes((home / "i.json").read_bytes()[:300])
    (tmp_path / "latin.csv").write_bytes(b"# assocpriv-itemsets {}\n\xe9\n")
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    files += [home / "r.parquet", home / "plan.json", home / "b.csv", home / "lists.parquet", tmp_path / "none.csv"]
    files += [home / "b.dat", tmp_path]
    for path in files:
        question = ["rules", path, "--min-confidence", "50%", "-o", tmp_path / "rules.csv"]
        assert str(path) in refused_without_output(tmp_path, *question)


def test_bare_tables_are_told_what_they_lack(tmp_path: Path) -> None:
    """A CSV of supports alone is told that rules need the plan, the number of reports and the counts."""
    (tmp_path / "bare.csv").write_text('support,itemsets\n0.5,"milk"\n')
    message = refused("rules", tmp_path / "bare.csv", "--min-confidence", "50%")
    assert "the number of reports and the counts" in message


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"operator": {}}, id="operator"),
        pytest.param({"format": "other"}, id="format"),
        pytest.param({"itemsets": None}, id="no itemsets"),
        pytest.param({"itemsets": 5}, id="itemsets a number"),
        pytest.param({"reports": "many"}, id="reports"),
        pytest.param({"reports": None}, id="no reports"),
        pytest.param({"population": None}, id="no population"),
        pytest.param({"plan_id": None}, id="no plan id"),
        pytest.param({"version": 4}, id="version"),
    ],
)
def test_tampered_itemsets(home: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    """A file of itemsets without a fact that rules need, or of a later version, is refused."""
    content = json.loads((home / "i.json").read_text()) | change
    content = {name: value for name, value in content.items() if value is not None}
    (tmp_path / "i.json").write_text(json.dumps(content))
    refused("rules", tmp_path / "i.json", "--min-confidence", "10%")


@pytest.mark.parametrize("command", [["inspect"], ["rules", "--min-confidence=1"]], ids=["inspect", "rules"])
def test_deeply_nested_json(tmp_path: Path, command: list[str]) -> None:
    """A JSON text nested deeper than Python reads is refused."""
    (tmp_path / "deep.json").write_text("[" * 100_000)
    refused(*command, tmp_path / "deep.json")
