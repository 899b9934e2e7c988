"""The command numeric plan, and what inspect, privacy and audit say of a table's plan: figures recomputed here."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import refused, refused_without_output, run, run_json

from assocpriv.numeric import read_plan
from assocpriv.plans.columns import NumberColumn, Window

NOISE = """
[columns.age]
kind = "number"
low = 20
high = 80
release = "gaussian"
privacy = "100%"
"""
SCHEMA = f"""{NOISE}
[columns.hours]
kind = "number"
low = 0
high = 100
release = "square-wave"
optional = true
[columns.region]
kind = "category"
values = ["north", "south", "east"]
release = "response"
[columns.class]
kind = "label"
values = ["A", "B"]
release = "as-is"
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """Return a schema's file."""
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path / "s.toml"


def test_the_plan_is_written_and_described(schema: Path, tmp_path: Path) -> None:
    """The file is the plan that is described; inspect says the same; every figure follows from its integers."""
    out = tmp_path / "plan.json"
    record = run_json("numeric", "plan", schema, "-o", out, "--answer", "all", "--reports", 3000)
    plan = read_plan(out)
    assert record["plan_id"] == plan.plan_id
    assert run_json("inspect", out, "--reports", 3000) == {"kind": "plan"} | record
    age, hours, region, _ = plan.columns
    assert isinstance(age, NumberColumn)
    assert isinstance(hours.law, Window)
    assert isinstance(region.law, Window)
    gamma = Fraction(hours.law.high * region.law.high, hours.law.low * region.law.low)
    assert Fraction(record["amplification"]) == gamma < 19
    assert record["epsilon"] >= np.log(float(gamma)) - 1e-15
    assert record["uncovered"] == "columns age, class"
    shown = record["columns"][0]
    assert list(shown["privacy"]) == ["1/2", "19/20", "999/1000"]
    for level, width in shown["privacy"].items():
        assert 0 <= age.known_width(Fraction(level)) - Fraction(width) < 1e-15
    assert shown["scale"] == pytest.approx(60 / 3.92, rel=1e-3)
    assert [each["release"] for each in record["columns"]] == ["gaussian", "square-wave", "response", "as-is"]
    assert [each["answered"] for each in record["answer_costs"]] == [1, 2]


def test_the_text_says_what_is_not_promised(schema: Path, tmp_path: Path) -> None:
    """γ, what lies outside it, an average's label, and the choice of answers stand in the text."""
    text = run("numeric", "plan", schema, "-o", tmp_path / "plan.json").stdout
    assert "γ < 19, ε = ln γ ≤ 2.94444" in text
    assert "outside γ   age, class: nothing bounds what a report tells of them" in text
    assert "promises an average, no γ" in text
    assert "answers     protected columns in a report: 1 of 2, drawn by the device" in text
    assert "joint questions about two of them need two answers: plan --answer 2" in text
    assert "class       label of 2 values; as-is\n            reports tell it: nothing is promised" in text
    width = re.search(r"leaves (.*)% at 50%, (.*)% at 95%", text)
    assert width is not None
    age = read_plan(tmp_path / "plan.json").columns[0]
    assert isinstance(age, NumberColumn)
    exact = [100 * age.known_width(level) for level in (Fraction(1, 2), Fraction(95, 100))]
    assert all(Fraction(said) <= true for said, true in zip(width.groups(), exact, strict=True))
    assert max(map(len, text.splitlines())) <= 86  # a long line holds three widths


def test_noise_alone_is_labelled(schema: Path, tmp_path: Path) -> None:
    """Without a protected column no γ is stated, and a promise, or privacy, is refused."""
    schema.write_text(NOISE)
    text = run("numeric", "plan", schema, "-o", tmp_path / "plan.json").stdout
    assert text.startswith("no γ        the plan promises an average")
    said = refused_without_output(tmp_path, "numeric", "plan", schema, "-o", tmp_path / "p.json", "--epsilon", "1")
    assert "no column is protected" in said
    assert "states no γ" in refused("privacy", tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--answer", "3"], 1, "a report answers 1 to 2 of the protected columns, or all, got 3"),
        (["--answer", "most"], 2, "give a number of columns, or all"),
        (["--prior", "5%"], 2, "--prior and --posterior go together"),
        (["--prior", "50%", "--posterior", "5%"], 1, "0 < prior < posterior < 1"),
        (["--reports", "0"], 1, "reports must be in 1.."),
        (["--reports-per-person", "0"], 1, "reports_per_person must be in 1..1000"),
    ],
)
def test_bad_requests(schema: Path, tmp_path: Path, arguments: list[str], status: int, said: str) -> None:
    """What cannot be planned is refused on one line, and nothing is written."""
    request = ["numeric", "plan", schema, "-o", tmp_path / "p", *arguments]
    assert said in refused_without_output(tmp_path, *request, status=status)


def test_bad_schemas(tmp_path: Path) -> None:
    """A schema's mistake is refused with the file, the column and the key; the schema is not overwritten."""
    path, out = tmp_path / "s.toml", tmp_path / "p.json"
    path.write_text(SCHEMA.replace("low = 20", "low = 90"))
    said = refused_without_output(tmp_path, "numeric", "plan", path, "-o", out)
    assert f"{path}: column age: low must be below high" in said
    assert "is an input" in refused_without_output(tmp_path, "numeric", "plan", path, "-o", path, "--force")
    assert "cannot read the schema" in refused_without_output(tmp_path, "numeric", "plan", tmp_path / "no", "-o", out)


def test_privacy_counts_a_table_among_others(schema: Path, tmp_path: Path) -> None:
    """Of a table's plan privacy says γ, and what it does not count."""
    out = tmp_path / "plan.json"
    run("numeric", "plan", schema, "-o", out)
    record = run_json("privacy", out, "--times", 2, "--prior", "5%")
    gamma = read_plan(out).amplification
    assert gamma is not None
    assert record["together"]["epsilon"] == pytest.approx(2 * float(np.log(float(gamma))))
    assert record["plans"][0]["uncovered"] == "columns age, class"
    assert "outside γ, and so not counted here: columns age, class" in run("privacy", out).stdout
    assert "--shuffled goes with one PLAN, of baskets" in refused("privacy", out, "--shuffled", 9, status=2)
