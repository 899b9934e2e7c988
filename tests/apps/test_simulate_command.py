"""Tests of the command simulate, of plans and of schedules of rounds."""

from pathlib import Path
from typing import Any

import pytest
from command_line import (
    PROMISE,
    refused,
    run,
    run_json,
)


def test_simulate_finds_the_truth(home: Path) -> None:
    """A simulation tells truth beside estimate, and the same seed gives the same supports."""
    question = ["simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "20%", "--seed", 1]
    record, again = run_json(*question), run_json(*question)
    assert record["itemsets"] == again["itemsets"]
    assert {"found_count", "missed_count", "false_count", "missed", "seconds"} <= set(record)
    pair = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert pair["true_support"] == pair["raw_support"]
    assert pair["true_support"] == pytest.approx(0.6, abs=0.05)  # of fixed data
    other = run_json(*question[:-1], 2)
    assert other["itemsets"] != record["itemsets"]
    assert "found" in run(*question).stdout


def test_every_basket_format_says_the_same(home: Path) -> None:
    """The same baskets in every format give the same simulation, so the same baskets were read."""
    question = ["--plan", home / "plan.json", "--min-support", "20%", "--seed", 3]
    expected = run_json("simulate", home / "b.dat", *question)["itemsets"]
    others: list[list[Any]] = [
        [home / "b.dat.gz"],
        [home / "b.csv"],
        [home / "long.csv", "--format", "long"],
        [home / "long.parquet"],
        [home / "lists.parquet"],
        [home / "lists.parquet", "--format", "parquet"],
        [home / "b.csv", "--format", "basket"],
    ]
    for other in others:
        assert run_json("simulate", *other, *question)["itemsets"] == expected


def test_simulated_rounds(home: Path) -> None:
    """Schedules are compared beside the truth; a seed repeats them; the text marks the proposal."""
    question = ["simulate", home / "b.dat", "--rounds", "auto", *PROMISE, "--top", 5, "--seed", 1]
    record, again = run_json(*question), run_json(*question)
    assert record["itemsets"] == again["itemsets"]
    assert [each["rounds"] for each in record["schedules"]] == [1, 2, 3]
    (best,) = [each for each in record["schedules"] if each["proposed"]]
    assert best["rounds"] == record["proposed_rounds"]
    assert best["hits"] == max(each["hits"] for each in record["schedules"])
    assert best["hits"] == sum(row["wanted"] for row in record["itemsets"]) == 5 - len(record["missed"])
    assert [step["name"] for step in record["schedules"][2]["steps"]] == ["sizes", "items", "shortlist", "itemsets"]
    assert record["schedules"][2]["steps"][0]["rmse"] is None
    said = run(*question).stdout
    assert said.count("← proposed") == 1
    assert len(run_json(*question[:3], "1", *question[4:])["schedules"]) == 1


def test_nothing_can_be_told_is_said(home: Path) -> None:
    """With hardly any amplification allowed, text and record say that what is found is chance."""
    question = ["simulate", home / "b.dat", "--rounds", "2", "--prior", "5%", "--posterior", "5.01%", "--top", 5]
    assert "nothing can be told" in run(*question, "--seed", 1).stdout
    record = run_json(*question, "--seed", 1)
    assert record["anything_told"] is False


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ("--rounds=4", 2), ("--rounds=auto --min-support=2%", 2), ("--rounds=1 --max-itemset=2", 2),
        ("--rounds=1 --unknown=drop", 2), ("--rounds=1 --plan=plan.json", 2), ("--rounds=1 --top=0", 1),
        ("--rounds=1 --posterior=5%", 1), ("--rounds=1 --prior=abc", 1),
    ],
)  # fmt: skip
def test_bad_rounds(home: Path, wrong: str, status: int) -> None:
    """Rounds take no plan, and their numbers are checked."""
    refused("simulate", home / "b.dat", *PROMISE, *wrong.split(), status=status)


def test_a_promise_needs_rounds(home: Path) -> None:
    """Without rounds a plan says what is promised."""
    question = ["simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "20%", "--prior", "5%"]
    assert "--rounds" in refused(*question, status=2)
