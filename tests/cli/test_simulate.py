"""Tests of the commands demo, generate and simulate.

Tests of the command demo.

Tests of the command generate.

Tests of the command simulate.
"""

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from command_line import N_BASKETS, N_ITEMS, refused, refused_without_output, run, run_json

from assocpriv.cli.main import main

DEMO = ["demo", "--size", 20_000, "--items", 50, "--min-support", "10%", "--seed", 1]
DEMO_FILES = ["itemsets.html", "itemsets.parquet", "plan.json", "reports.parquet", "rules.csv"]


def test_demo(tmp_path: Path) -> None:
    """The demo leaves its four files, says what it found and missed, and does not replace them unless forced."""
    folder = tmp_path / "deep" / "demo"
    said = run(*DEMO, "-o", folder).stdout
    assert re.search(r"[0-9]+ listed, [0-9]+ missed", said)
    assert sorted(path.name for path in folder.iterdir()) == DEMO_FILES
    assert run_json("inspect", folder / "reports.parquet")["reports"] == 20_000
    assert "exists already" in refused_without_output(folder, *DEMO, "-o", folder)
    (folder / "plan.json").write_text("old")
    run(*DEMO, "-o", folder, "--force")
    assert run_json("inspect", folder / "plan.json")["kind"] == "plan"
    assert sorted(path.name for path in folder.iterdir()) == DEMO_FILES
    assert "true_support" not in pq.read_table(folder / "itemsets.parquet").column_names


def test_demo_record(tmp_path: Path) -> None:
    """With --json the demo prints the plan, itemsets, rules, score and files as one object."""
    record = run_json(*DEMO, "-o", tmp_path / "demo")
    assert {"plan", "itemsets", "rules", "found_count", "missed_count", "seconds"} <= set(record)
    assert sorted(Path(name).name for name in record["files"]) == DEMO_FILES


def test_demo_with_own_baskets(home: Path, tmp_path: Path) -> None:
    """The demo takes one's own baskets, in any format."""
    own = ["demo", "--baskets", home / "b.csv", "--min-support", "20%", "--seed", 1]
    said = run(*own, "-o", tmp_path / "demo").stdout
    assert said.startswith(f"{N_BASKETS:,} baskets over {N_ITEMS} items")
    assert "1 → 2" in said


@pytest.mark.parametrize("wrong", [["--min-support", "nan"], ["--size", "0"]], ids=str)
def test_demo_refuses_before_it_works(tmp_path: Path, wrong: list[str]) -> None:
    """A demo's wrong number is refused before anything is generated or written."""
    result = CliRunner().invoke(main, ["demo", "--size", "1000", *wrong, "-o", str(tmp_path / "demo")])
    assert (result.exit_code, result.stdout) == (1, "")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_generate(tmp_path: Path) -> None:
    """Generated baskets repeat with their seed, and both kinds of file hold the same number of them."""
    size = ["--people", 500, "--items", 20, "--mean-size", 4]
    for name, seed in (("a.dat", 1), ("b.dat", 1), ("c.dat", 2), ("a.csv", 1)):
        run("generate", "quest", *size, "--seed", seed, "-o", tmp_path / name)
    assert (tmp_path / "a.dat").read_bytes() == (tmp_path / "b.dat").read_bytes()
    assert (tmp_path / "a.dat").read_bytes() != (tmp_path / "c.dat").read_bytes()
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 500


def test_generated_records(tmp_path: Path) -> None:
    """Records repeat with their seed; the schema is written beside them; another ending is refused."""
    size = ["generate", "agrawal", "--people", 100]
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        run(*size, "--seed", seed, "-o", tmp_path / name)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "c.csv").read_bytes()
    said = run(*size, "--schema", tmp_path / "s.toml", "-o", tmp_path / "d.parquet").stdout
    assert said.splitlines()[0].startswith("100 records of function 1")
    assert "[columns.salary]" in (tmp_path / "s.toml").read_text()
    assert ".csv or .parquet" in refused_without_output(tmp_path, *size, "-o", tmp_path / "e.txt")


def test_simulate_finds_the_truth(home: Path) -> None:
    """A simulation tells truth beside estimate, and the same seed gives the same supports."""
    question = ["simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "20%", "--seed", 1]
    record, again = run_json(*question), run_json(*question)
    assert record["itemsets"] == again["itemsets"]
    assert {"found_count", "missed_count", "false_count", "missed", "seconds"} <= set(record)
    pair = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert pair["true_support"] == pytest.approx(0.6, abs=0.05)  # of fixed data
    other = run_json(*question[:-1], 2)
    assert other["itemsets"] != record["itemsets"]
    assert f"{record['found_count']:,} listed, " in run(*question).stdout


def test_simulate_a_table(tmp_path: Path) -> None:
    """Each column stands beside its truth, as text and as JSON; a seed repeats it; options of baskets are refused."""
    table, schema, plan = tmp_path / "t.csv", tmp_path / "s.toml", tmp_path / "plan.json"
    run("generate", "agrawal", "--people", 2000, "--schema", schema, "-o", table)
    run("plan", "--schema", schema, "-o", plan)
    question = ["simulate", table, "--plan", plan, "--seed", 1]
    record, again = run_json(*question), run_json(*question)
    assert record["columns"] == again["columns"]
    label = record["columns"]["class"]
    assert (label["share"], label["distance"], label["held"]) == (label["true_share"], 0, label["tested"])
    said = run(*question).stdout
    row = r"^ *[0-9,]+ +[0-9.]+% +[0-9]+ of [0-9]+ .* {}$"
    assert all(re.search(row.format(name), said, re.MULTILINE) for name in record["columns"])
    assert "--min-support goes with baskets, not with" in refused(*question, "--min-support", "2%", status=2)


def test_every_basket_format_says_the_same(home: Path) -> None:
    """The same baskets in every format give the same simulation, so the same baskets were read."""
    question = ["--plan", home / "plan.json", "--min-support", "20%", "--seed", 3]
    expected = run_json("simulate", home / "b.dat", *question)["itemsets"]
    others: list[list[Any]] = [
        [home / "b.dat.gz"], [home / "b.csv"], [home / "long.csv", "--layout", "long"], [home / "long.parquet"],
        [home / "lists.parquet"], [home / "lists.parquet"], [home / "b.csv", "--layout", "lines"],
    ]  # fmt: skip
    for other in others:
        assert run_json("simulate", *other, *question)["itemsets"] == expected
