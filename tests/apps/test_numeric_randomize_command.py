"""The command numeric randomize: what it writes and says, and bad input that shows and leaves nothing."""

from pathlib import Path

import pandas as pd
import pytest
from command_line import refused_without_output, run, run_json

import assocpriv as ap
from assocpriv import numeric

CANARY = "7319.25"
SCHEMA = """
[columns.age]
kind = "number"
low = 20
high = 80
release = "uniform"
privacy = "50%"

[columns.region]
kind = "category"
values = ["north", "south"]
release = "response"
optional = true
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return a plan's file."""
    (tmp_path / "schema.toml").write_text(SCHEMA)
    run("numeric", "plan", tmp_path / "schema.toml", "-o", tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_a_table_becomes_reports(tmp_path: Path, plan: Path) -> None:
    """CSV and Parquet give a report a record, with the plan; what was clipped, missing and uncovered is said."""
    pd.DataFrame({"region": ["north", "?", None], "more": 1, "age": [19.0, 34, 99]}).to_csv(tmp_path / "t.csv")
    done = run("numeric", "randomize", tmp_path / "t.csv", "--plan", plan, "-o", tmp_path / "r.parquet", "--clip",
               "--missing", "?")  # fmt: skip
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-4:] == [
        "t.csv: 2 further columns left out, which the plan does not have",
        "2 values clipped to the range: 2 of age",
        "2 values missing: 2 of region",
        "γ does not cover column age",
    ]
    assert "3 reports of " in done.stdout
    pd.DataFrame({"region": ["north"], "age": [34]}).to_csv(tmp_path / "one.csv")
    said = run("numeric", "randomize", tmp_path / "one.csv", "--plan", plan, "-o", tmp_path / "one.parquet").stdout
    assert said.startswith("1 report of ")
    frame = numeric.released_frame(ap.read_reports(tmp_path / "r.parquet"))
    assert list(frame) == ["age", "region"]
    assert len(frame) == 3
    pd.DataFrame({"age": [34, 35], "region": ["north", "south"]}).to_parquet(tmp_path / "t.parquet")
    record = run_json("numeric", "randomize", tmp_path / "t.parquet", "--plan", plan, "-o", tmp_path / "s.parquet")
    assert record["reports"] == 2
    assert record["clipped"] == record["missing"] == {}


def test_plans_without_gamma_are_labelled(tmp_path: Path) -> None:
    """Who releases noise alone is told what it promises."""
    (tmp_path / "schema.toml").write_text(SCHEMA.split("[columns.region]", maxsplit=1)[0])
    run("numeric", "plan", tmp_path / "schema.toml", "-o", tmp_path / "plan.json")
    (tmp_path / "t.csv").write_text("age\n34\n")
    done = run("numeric", "randomize", tmp_path / "t.csv", "--plan", tmp_path / "plan.json", "-o", tmp_path / "r.pq")
    assert "the plan states no γ: its noise promises privacy on average, not for every record" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        f"age,region\n{CANARY},north\n", f"age,region\n34,{CANARY}\n", f"age,region\nx{CANARY},north\n",
        f"age,region\n34,north,{CANARY}\n", f"{CANARY},{CANARY}\n34,north\n", f"age,region\n,{CANARY}\n",
        f'age,region\n34,"{CANARY}\n', f'age,region\n34,"{CANARY}\nx"\n', "", "age,region\n",
        f"age,{CANARY}\n34,north\n", f"age,age,region\n{CANARY},1,north\n",
    ],
)  # fmt: skip
def test_bad_tables_show_and_leave_nothing(tmp_path: Path, plan: Path, text: str) -> None:
    """One line, exit status 1, no traceback, no file, and no value anywhere."""
    (tmp_path / "t.csv").write_text(text)
    words = ["numeric", "randomize", tmp_path / "t.csv", "--plan", plan, "-o", tmp_path / "r.parquet"]
    assert CANARY not in refused_without_output(tmp_path, *words)


def test_other_plans_and_outputs(tmp_path: Path, plan: Path) -> None:
    """A plan of baskets, an input as output, another ending and a file that exists are refused before any reading."""
    table = tmp_path / "t.csv"
    table.write_text("age,region\n34,north\n")
    ap.write_plan(ap.plan(["a", "b"], transaction_size=1, promise=ap.Breach("5%", "50%")), tmp_path / "baskets.json")
    for arguments, said in (
        (["--plan", tmp_path / "baskets.json", "-o", tmp_path / "r.parquet"], "of no use here; name one of table"),
        (["--plan", plan, "-o", plan, "--force"], "is an input"),
        (["--plan", plan, "-o", tmp_path / "r.csv"], "must end in .parquet or .pq"),
        (["--plan", tmp_path / "schema.toml", "-o", tmp_path / "r.parquet"], "not a plan"),
    ):
        assert said in refused_without_output(tmp_path, "numeric", "randomize", table, *arguments)
    with pytest.raises(TypeError, match="plan must be a TablePlan"):
        numeric.randomize_table(pd.DataFrame({"age": [1]}), "plan.json")  # type: ignore[arg-type]
    with pytest.raises(ap.AssocprivError, match="of no use here"):
        numeric.randomize_table(pd.DataFrame({"age": [1]}), ap.read_plan(tmp_path / "baskets.json"))  # type: ignore[arg-type]
