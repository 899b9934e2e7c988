"""Tests of the command refine."""

from pathlib import Path

from command_line import (
    PROMISE,
    refused_without_output,
    run,
    run_json,
)


def test_refine_says_what_both_answers_tell(home: Path, tmp_path: Path) -> None:
    """The text names other people, the catalogue and the composed promise; the record has them exactly."""
    question = ["refine", home / "i.parquet", "--plan", home / "plan.json", "--top", 3, "-o", tmp_path / "p.json"]
    said = run(*question).stdout
    assert "OTHER people" in said
    assert "answering both plans: γ < 361" in said
    assert "5% becomes at most 95%" in said
    record = run_json(*question, "--force", "--reports", 77)
    assert record["both"]["amplification_limit"] == "361/1"
    assert (record["both"]["highest_posterior"], record["both"]["lowest_posterior"]) == ("19/20", "1/362")
    assert record["reports"] == 77
    assert run_json("inspect", tmp_path / "p.json")["plan_id"] == record["plan_id"]


def test_refine_refuses(home: Path, tmp_path: Path) -> None:
    """A table of another plan, what is no table, no histogram, and an existing file are refused."""
    run("plan", "--items", 9, "--transaction-size", 2, *PROMISE, "-o", tmp_path / "o.json")
    refuse = ["-o", tmp_path / "p.json"]
    plan = ["--plan", home / "plan.json"]
    other = refused_without_output(tmp_path, "refine", home / "i.csv", "--plan", tmp_path / "o.json", *refuse)
    assert "not with the plan given" in other
    refused_without_output(tmp_path, "refine", home / "b.csv", *plan, *refuse)
    refused_without_output(tmp_path, "refine", home / "i.csv", "--plan", home / "r.parquet", *refuse)
    refused_without_output(tmp_path, "refine", home / "i.csv", *plan, "--top", 0, *refuse)
    for histogram in ("i.csv", "b.dat", "none.csv"):
        refused_without_output(tmp_path, "refine", home / "i.csv", *plan, "--histogram", home / histogram, *refuse)
