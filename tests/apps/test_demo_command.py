"""Tests of the command demo."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from command_line import (
    N_BASKETS,
    N_ITEMS,
    refused_without_output,
    run,
    run_json,
)

from assocpriv.cli.main import main

DEMO = ["demo", "--size", 20_000, "--items", 50, "--min-support", "10%", "--seed", 1]
DEMO_FILES = ["itemsets.html", "itemsets.parquet", "plan.json", "reports.parquet", "rules.csv"]


def test_demo(tmp_path: Path) -> None:
    """The demo leaves its four files, says what it found and missed, and does not replace them unless forced."""
    folder = tmp_path / "deep" / "demo"
    said = run(*DEMO, "-o", folder).stdout
    assert re.search(r"[0-9]+ found, [0-9]+ missed", said)
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
    own = ["demo", "--baskets", home / "long.csv", "--format", "long", "--min-support", "20%", "--seed", 1]
    said = run(*own, "--transaction-size", 3, "-o", tmp_path / "demo").stdout
    assert said.startswith(f"{N_BASKETS:,} baskets over {N_ITEMS} items")
    assert "1 → 2" in said


@pytest.mark.parametrize(
    "wrong", [["--min-support", "nan"], ["--min-confidence", "3"], ["--prior", "60%"], ["--size", "0"]], ids=str
)
def test_demo_refuses_before_it_works(tmp_path: Path, wrong: list[str]) -> None:
    """A demo's wrong number is refused before anything is generated or written."""
    result = CliRunner().invoke(main, ["demo", "--size", "1000", *wrong, "-o", str(tmp_path / "demo")])
    assert (result.exit_code, result.stdout) == (1, "")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
