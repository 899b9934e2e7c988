"""Tests of the command combine."""

import json
from pathlib import Path

from command_line import (
    refused,
    refused_without_output,
    run,
    run_json,
)


def test_combine_averages_one_plan(home: Path, tmp_path: Path) -> None:
    """Two collections of one plan give smaller errors; files hold what is printed; rules do not come of it."""
    record = run_json("combine", home / "i.parquet", home / "other.csv", "-o", tmp_path / "c.json")
    row = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert min(row["support_1"], row["support_2"]) <= row["support"] <= max(row["support_1"], row["support_2"])
    assert row["std_error"] < min(row["std_error_1"], row["std_error_2"])
    assert json.loads((tmp_path / "c.json").read_text())["itemsets"] == record["itemsets"]
    assert "1, 2" in run("combine", home / "i.parquet", home / "other.csv", "--top", 3).stdout
    for ending in ("csv", "parquet"):
        run("combine", home / "i.parquet", home / "other.csv", "-o", tmp_path / f"c.{ending}")
    for ending in ("json", "csv", "parquet"):
        for command in (
            ["rules", tmp_path / f"c.{ending}", "--min-confidence", 0],
            ["inspect", tmp_path / f"c.{ending}"],
        ):
            assert "combined table of several rounds" in refused(*command)


def test_combine_refuses(home: Path, tmp_path: Path) -> None:
    """One table, a table twice, the same reports twice and no histogram are refused."""
    for tables, wrong in (
        (["i.csv"], "two tables or more"),
        (["i.csv", "i.csv"], "named twice"),
        (["i.csv", "i.json"], "mined from the same reports"),
        (["i.csv", "b.csv"], "not a file of mined itemsets"),
        (["i.csv", "other.csv", "--histogram", "i.csv"], "must be a mined table of a sizes plan"),
    ):
        question = [word if word.startswith("--") else home / word for word in tables]
        assert wrong in refused_without_output(tmp_path, "combine", *question, "-o", tmp_path / "c.csv")
