"""Tests of the commands demo, generate and simulate."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import N_BASKETS, N_ITEMS, refused, refused_without_output, run, run_json

DEMO = ["demo", "--size", 5_000, "--items", 50, "--min-support", "10%", "--seed", 1]
DEMO_FILES = {
    "plan.json", "first.parquet", "second-plan.json", "second.parquet", "itemsets.parquet", "itemsets.html", "rules.csv"
}  # fmt: skip


def test_demo(tmp_path: Path) -> None:
    """The demo writes its files, reports selected and missed itemsets, and replaces files only with --force."""
    folder = tmp_path / "deep" / "demo"
    output = run(*DEMO, "-o", folder).stdout
    assert re.search(r"[0-9]+ selected, [0-9]+ missed", output)
    assert {path.name for path in folder.iterdir()} == DEMO_FILES
    assert run_json("inspect", folder / "first.parquet")["reports"] == 2_500
    assert "true_support" not in pq.read_table(folder / "itemsets.parquet").column_names
    assert "exists already" in refused_without_output(folder, *DEMO, "-o", folder)
    (folder / "plan.json").write_text("old")
    record = run_json(*DEMO, "-o", folder, "--force")
    assert {"plan", "itemsets", "rules", "found_count", "missed_count", "seconds"} <= set(record)
    assert {Path(name).name for name in record["files"]} == DEMO_FILES
    assert run_json("inspect", folder / "plan.json")["kind"] == "plan"


def test_demo_with_own_baskets(home: Path, tmp_path: Path) -> None:
    """The demo takes given baskets in any format."""
    own = ["demo", "--baskets", home / "b.csv", "--min-support", "20%", "--seed", 1]
    output = run(*own, "-o", tmp_path / "demo").stdout
    assert output.startswith(f"{N_BASKETS:,} baskets over {N_ITEMS} items")
    assert "1 → 2" in output


def test_demo_refuses_before_it_works(tmp_path: Path) -> None:
    """An invalid number is refused before anything is generated or written."""
    for wrong in ("--min-support=nan", "--size=0"):
        refused_without_output(tmp_path, "demo", "--size", 1000, wrong, "-o", tmp_path / "demo")


def test_generate(tmp_path: Path) -> None:
    """The same seed gives the same baskets, in both formats, and records; the schema is written with the records."""
    baskets = ["quest", "--people", 500, "--items", 20, "--mean-size", 4]
    for kind, ending in ((baskets, "dat"), (["agrawal", "--people", 100], "csv")):
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            run("generate", *kind, "--seed", seed, "-o", tmp_path / f"{name}.{ending}")
        first, again, other = ((tmp_path / f"{name}.{ending}").read_bytes() for name in "abc")
        assert first == again != other
    run("generate", *baskets, "-o", tmp_path / "d.csv")
    assert len((tmp_path / "d.csv").read_text().splitlines()) == 500
    records = ["generate", "agrawal", "--people", 100]
    output = run(*records, "--schema", tmp_path / "s.toml", "-o", tmp_path / "d.parquet").stdout
    assert output.splitlines()[0].startswith("100 records of function 1")
    assert "[columns.salary]" in (tmp_path / "s.toml").read_text()
    assert ".csv or .parquet" in refused_without_output(tmp_path, *records, "-o", tmp_path / "e.txt")


def test_simulate_prints_the_truth(home: Path) -> None:
    """A simulation prints the truth with the estimate, and the same seed gives the same supports."""
    arguments = ["simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "20%", "--seed", 1]
    record = run_json(*arguments)
    assert {"found_count", "missed_count", "false_count", "missed", "seconds"} <= set(record)
    pair = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert pair["true_support"] == pytest.approx(0.6, abs=0.05)  # of fixed data
    assert f"{record['found_count']:,} selected, " in run(*arguments).stdout
    assert run_json(*arguments[:-1], 2)["itemsets"] != record["itemsets"]
    assert "people_drawn" not in record
    assert "9,000 simulated people, each with one of " in run(*arguments, "--people", 9_000).stdout


def test_simulate_a_table(tmp_path: Path) -> None:
    """Each column has its truth; options of baskets are refused."""
    table, schema, plan = tmp_path / "t.csv", tmp_path / "s.toml", tmp_path / "plan.json"
    run("generate", "agrawal", "--people", 2000, "--schema", schema, "-o", table)
    run("plan", "--schema", schema, "-o", plan)
    arguments = ["simulate", table, "--plan", plan, "--seed", 1]
    label = run_json(*arguments)["columns"]["class"]
    assert (label["share"], label["distance"], label["covered"]) == (label["true_share"], 0, label["tested"])
    assert "--min-support goes with baskets, not with" in refused(*arguments, "--min-support", "2%", status=2)
