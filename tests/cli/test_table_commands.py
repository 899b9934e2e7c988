"""Tests of the commands of tables: plan --schema, randomize, reconstruct, tree and predict.

For plans also what inspect, privacy and audit print, with figures recomputed here. Bad input leaves no file and shows
no value.
"""

import csv
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import refused, refused_without_output, run, run_json
from naive import planned, small_plan

import assocpriv as ap
from assocpriv import numeric, read_plan
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.numeric.table_plan import Clear, NumberColumn, TablePlan

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
    """Return the file of a schema."""
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path / "s.toml"


def test_the_plan_is_written_and_described(schema: Path, tmp_path: Path) -> None:
    """The output describes the plan in the file; inspect prints the same; γ follows from its integers."""
    out = tmp_path / "plan.json"
    record = run_json("plan", "--schema", schema, "-o", out, "--columns-per-report", "all", "--people", 3000)
    plan = read_plan(out)
    assert record["plan_id"] == plan.plan_id
    assert run_json("inspect", out, "--people", 3000) == {"kind": "plan"} | record
    age, hours, region, _ = plan.columns
    gamma = Fraction(hours.mechanism.high * region.mechanism.high, hours.mechanism.low * region.mechanism.low)
    assert Fraction(record["amplification"]) == gamma < 19
    assert record["epsilon"] >= np.log(float(gamma)) - 1e-15
    assert record["uncovered"] == "columns age, class"
    for level, width in record["columns"][0]["privacy"].items():
        assert 0 <= age.known_width(Fraction(level)) - Fraction(width) < 1e-15
    assert [each["release"] for each in record["columns"]] == ["gaussian", "square-wave", "response", "as-is"]
    assert [each["columns_per_report"] for each in record["sampling_costs"]] == [1, 2]
    twice = run_json("privacy", out, "--reports-per-person", 2)
    assert twice["plans"][0]["uncovered"] == "columns age, class"
    assert twice["together"]["epsilon"] == pytest.approx(2 * np.log(float(gamma)))


def test_the_text_states_limits_of_the_guarantee(schema: Path, tmp_path: Path) -> None:
    """The text states what joint distributions need, and the interval left by noise, rounded down."""
    text = run("plan", "--schema", schema, "-o", tmp_path / "plan.json").stdout
    assert "joint distributions need two columns a report" in text
    [widths] = re.findall(r"share\s+of\s+the\s+range: (.*)% at 50%, (.*)% at 95%", text)
    age = read_plan(tmp_path / "plan.json", TablePlan).columns[0]
    for shown, level in zip(widths, ("1/2", "19/20"), strict=True):
        assert Fraction(shown) <= 100 * age.known_width(Fraction(level))


def test_noise_alone_is_labelled(schema: Path, tmp_path: Path) -> None:
    """Without a protected column no γ is stated, randomize notes that, and a guarantee, or privacy, is refused."""
    schema.write_text(NOISE)
    plan = tmp_path / "plan.json"
    run("plan", "--schema", schema, "-o", plan)
    output = refused_without_output(tmp_path, "plan", "--schema", schema, "-o", tmp_path / "p.json", "--epsilon", "1")
    assert "no column is protected" in output
    assert "has no γ" in refused("privacy", plan)
    (tmp_path / "t.csv").write_text("age\n34\n")
    output = run("randomize", tmp_path / "t.csv", "--plan", plan, "-o", tmp_path / "r.pq").stderr
    assert "the plan has no γ: its noise guarantees privacy on average, not for every record" in output


def test_bad_requests_and_schemas(schema: Path, tmp_path: Path) -> None:
    """The message names the option, or file, column and key of a schema's mistake; the schema is not overwritten."""
    out, bad, missing = (tmp_path / name for name in ("p.json", "bad.toml", "missing.toml"))
    bad.write_text(SCHEMA.replace("low = 20", "low = 90"))
    for words, status, message in (
        ([schema, "-o", out, "--columns-per-report", 3], 1, "--columns-per-report must be in 1..2 or 'all', got 3"),
        ([schema, "-o", out, "--columns-per-report", "most"], 2, "give a number of columns, or all"),
        ([schema, "-o", out, "--reports-per-person", 0], 1, "--reports-per-person must be in 1..1000"),
        ([bad, "-o", out], 1, f"{bad}: column age: low must be below high"),
        ([schema, "-o", schema, "--force"], 1, "is an input"),
        ([missing, "-o", out], 1, "cannot read the schema"),
    ):
        assert message in refused_without_output(tmp_path, "plan", "--schema", *words, status=status)


CANARY = "7319.25"
PEOPLE_SCHEMA = """
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
    """Return the file of a plan."""
    (tmp_path / "schema.toml").write_text(PEOPLE_SCHEMA)
    run("plan", "--schema", tmp_path / "schema.toml", "-o", tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_whole_numbers_of_a_sample_are_planned_as_whole(schema: Path, tmp_path: Path) -> None:
    """Columns of whole numbers in a sample are noted; --layout names its sheet, and is refused without a sample."""
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        for sheet, ages in {"old": [20.5, 34, 41], "new": [20, 34, None]}.items():
            pd.DataFrame({"age": ages, "hours": [8.5, 7, 1]}).to_excel(book, sheet_name=sheet, index=False)
    words = ("plan", "--schema", schema, "-o", tmp_path / "p.json")
    for sheet, kind in {"old": "number", "new": "whole-number"}.items():
        done = run(*words, "--sample", tmp_path / "book.xlsx", "--layout", f"sheet={sheet}", "--force")
        kinds = [column.kind for column in read_plan(tmp_path / "p.json", TablePlan).columns]
        assert kinds == [kind, "number", "category", "label"]
    assert "column age: whole numbers from 20 to 80, as in the sample" in done.stderr
    assert "--layout goes with --sample" in refused(*words, "--layout", "sheet=new", status=2)


def test_a_table_becomes_reports(tmp_path: Path, plan: Path) -> None:
    """A file gives a report for each record, with the plan, and notes on clipped, missing and uncovered values."""
    pd.DataFrame({"region": ["north", "?", None], "more": 1, "age": [19.0, 34, 99]}).to_csv(tmp_path / "t.csv")
    done = run("randomize", tmp_path / "t.csv", "--plan", plan, "-o", tmp_path / "r.parquet", "--clip",
               "--missing", "?")  # fmt: skip
    assert done.stderr.splitlines()[-5:] == [
        "t.csv: 2 further columns left out because not in the plan",
        "values clipped to the range: 2 of age",
        "missing values: 2 of region",
        "whole numbers in age, which the plan treats as uniform over cells, so means are up to half a cell off; plan "
        "such a column with whole = true",
        "γ does not cover column age",
    ]
    assert "3 reports of " in done.stdout
    frame = numeric.released_frame(ap.read_reports(tmp_path / "r.parquet"))
    assert (list(frame), len(frame)) == (["age", "region"], 3)


@pytest.mark.parametrize(
    "text",
    [
        f"age,region\n{CANARY},north\n", f"age,region\n34,{CANARY}\n", f"age,region\n34,north,{CANARY}\n",
        f'age,region\n34,"{CANARY}\n', f"{CANARY},{CANARY}\n34,north\n", "",
    ],
)  # fmt: skip
def test_bad_tables_leave_no_file_and_show_no_value(tmp_path: Path, plan: Path, text: str) -> None:
    """One line, exit status 1, no traceback, no file, and no value anywhere."""
    (tmp_path / "t.csv").write_text(text)
    words = ["randomize", tmp_path / "t.csv", "--plan", plan, "-o", tmp_path / "r.parquet"]
    assert CANARY not in refused_without_output(tmp_path, *words)


def test_other_plans_and_outputs(tmp_path: Path, plan: Path) -> None:
    """An input as output, another ending and a file that exists are refused before any reading."""
    table, baskets, out = tmp_path / "t.csv", tmp_path / "baskets.json", tmp_path / "r.parquet"
    table.write_text("age,region\n34,north\n")
    ap.write_plan(planned(["a", "b"], 1, ap.Guarantee("5%", "50%")), baskets)
    for arguments, status, message in (
        ([baskets, "-o", out, "--clip"], 2, "--clip goes with table, not with baskets"),
        ([plan, "-o", plan, "--force"], 1, "is an input"),
        ([plan, "-o", tmp_path / "r.csv"], 1, "must end in .parquet or .pq"),
        ([tmp_path / "schema.toml", "-o", out], 1, "not a plan"),
    ):
        assert message in refused_without_output(tmp_path, "randomize", table, "--plan", *arguments, status=status)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return a file of 2000 released records: ages, and a class that depends on them."""
    age = {"kind": "number", "low": 20, "high": 80, "intervals": 10, "release": "uniform", "privacy": "50%"}
    label = {"kind": "label", "values": ["young", "old"], "release": "as-is"}
    people = pd.DataFrame({"age": [20 + place % 25 for place in range(1000)], "class": "young"})
    people = pd.concat([people, people.assign(age=80 - people["age"] + 20).assign(**{"class": "old"})])
    path = tmp_path_factory.mktemp("released") / "released.parquet"
    ap.randomize(people, numeric.plan_table({"columns": {"age": age, "class": label}})).write(path)
    return path


def test_a_raw_table_is_refused_as_reports() -> None:
    """Without the check, the columns of a frame would count as a list of files."""
    with pytest.raises(TypeError, match="a file or a list of files, got a DataFrame"):
        ap.reconstruct(pd.DataFrame({"age": [1]}))  # type: ignore[arg-type]


def test_tables_are_written_by_extension(released, tmp_path) -> None:
    """CSV has a row for each interval and class, JSON equals --json; wrong options write no file."""
    out = tmp_path / "d.csv"
    for options, message in ((["--by", "region"], "no column 'region'"), (["--confidence-level", "5"], "level")):
        assert message in refused_without_output(tmp_path, "reconstruct", released, *options, "-o", out)
    output = run("reconstruct", released, "--by", "class", "-o", out).stderr
    assert output.splitlines()[-1] == f"table written to {out}"
    assert out.read_text().splitlines()[0] == "class,column,value,low,high,share,std_error,cdf_low,cdf_high"
    assert len(out.read_text().splitlines()) == 1 + 2 * 10
    assert "exists" in refused("reconstruct", released, "-o", out)
    run("reconstruct", released, "-o", tmp_path / "d.json")
    assert json.loads((tmp_path / "d.json").read_text()) == run_json("reconstruct", released)
    joint = run_json("reconstruct", released, "--joint", "age, class")["joint"]
    assert np.shape(joint["share"]) == (10, 2)


def test_other_files_are_refused(tmp_path) -> None:
    """Reports of baskets, an empty collection and a missing file are refused."""
    baskets, table = small_plan("none", 4, 2, 1), TablePlan((NumberColumn("x", Clear(4), False, 0, 1, 4),), 0)
    Reports(baskets, np.zeros((3, baskets.report_bytes), np.uint8)).write(tmp_path / "baskets.parquet")
    Reports(table, np.zeros((0, 1), np.uint8)).write(tmp_path / "none.parquet")
    for name, message in (
        ("baskets", "kind baskets are for mine, not for reconstruct"), ("none", "no reports"),
        ("nothing", "no report file"),
    ):  # fmt: skip
        assert message in refused("reconstruct", tmp_path / f"{name}.parquet")
    refused("reconstruct", tmp_path / "none.parquet", "--joint", "x", status=2)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with reports of loan applicants, their raw table and another one."""
    folder = tmp_path_factory.mktemp("trees")
    run("generate", "agrawal", "--people", 4000, "--schema", folder / "schema.toml", "-o", folder / "table.csv")
    run("generate", "agrawal", "--people", 500, "--seed", 5, "-o", folder / "test.parquet")
    (folder / "schema.toml").write_text((folder / "schema.toml").read_text().replace("100%", "25%"))
    run("plan", "--schema", folder / "schema.toml", "--people", 4000, "-o", folder / "plan.json")
    run("randomize", folder / "table.csv", "--plan", folder / "plan.json", "-o", folder / "r.parquet")
    ap.randomize([["1", "2"]], planned(9, 2, ap.Guarantee("5%", "50%"))).write(folder / "b.parquet")
    return folder


def test_a_tree_finds_the_function(home: Path, tmp_path: Path) -> None:
    """From reports to predictions: age decides F1 at 25% privacy, and nine in ten raw records get their class."""
    grown = run("tree", home / "r.parquet", "--class", "class", "-o", tmp_path / "m.json")
    assert grown.stdout.startswith("Decision tree for class, grown on 4,000 reports: ")
    assert "\nage < " in grown.stdout
    output = run("predict", tmp_path / "m.json", home / "test.parquet", "-o", tmp_path / "o.csv").stdout
    assert output.startswith("500 records with their predicted class written to ")
    with (tmp_path / "o.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert sum(row["class"] == row["predicted"] for row in rows) > 450


def test_json_and_options(home: Path, tmp_path: Path) -> None:
    """JSON has the figures of the text; limits and pruning apply; the same reports give the same file."""
    shared = ["tree", home / "r.parquet", "--class", "class"]
    small = run_json(*shared, "--max-depth", 2, "--pruning", "none", "-o", tmp_path / "a.json")
    assert small["depth"] <= 2
    assert small["leaves"] == small["grown_leaves"] <= 4
    assert (small["records"], small["classes"]) == (4000, {"A": 0.5, "B": 0.5})
    pruned = run_json(*shared, "-o", tmp_path / "b.json")
    assert pruned["leaves"] < pruned["grown_leaves"]
    seen = run_json("inspect", tmp_path / "b.json")
    assert seen == {"kind": "model"} | {name: pruned[name] for name in pruned if name != "output"}
    output = run("inspect", tmp_path / "b.json").stdout
    assert f"a decision tree, grown by-class on reports of plan {pruned['plan_id'][:16]}…\n" in output
    for option, status in (("--check-manipulation", 1), ("--people=7", 2)):
        assert "holds a model" in refused("inspect", tmp_path / "b.json", option, status=status)
    assert "exists already" in refused(*shared, "-o", tmp_path / "a.json")
    run(*shared, "--force", "-o", tmp_path / "a.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    done = run_json("predict", tmp_path / "a.json", home / "table.csv", "-o", tmp_path / "o.parquet")
    assert sum(done["predicted"].values()) == done["records"] == 4000


def test_bad_input(home: Path, tmp_path: Path) -> None:
    """Wrong classes, reports of baskets and wrong models: one line, and nothing is written."""
    model = tmp_path / "m.json"
    for reports, name, message in (("r.parquet", "age", "column age holds numbers"), ("b.parquet", "class", "table")):
        assert message in refused_without_output(tmp_path, "tree", home / reports, "--class", name, "-o", model)
    run("tree", home / "r.parquet", "--class", "class", "-o", model)
    (tmp_path / "t.csv").write_text("age,salary\n30,1\n")
    for words, message in (
        ([home / "plan.json", home / "table.csv", "-o", tmp_path / "o.csv"], "is not a model"),
        ([model, tmp_path / "t.csv", "-o", tmp_path / "o.csv"], "lacks"),
        ([model, home / "table.csv", "-o", tmp_path / "o.txt"], ".csv"),
    ):
        assert message in refused_without_output(tmp_path, "predict", *words)


def test_without_scikit_learn(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without scikit-learn trees still grow; the error of the estimator names the package to install."""
    for name in [name for name in sys.modules if name.startswith("assocpriv.server.numeric.tree")]:
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(sys.modules["assocpriv.server.numeric"], name.rpartition(".")[2])
    for name in ("grow_tree", "ReleasedTreeClassifier"):
        monkeypatch.delitem(vars(ap.numeric), name, raising=False)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    run("tree", home / "r.parquet", "--class", "class", "-o", tmp_path / "m.json")
    with pytest.raises(EstimateError, match=r"needs scikit-learn; install it: pip install assocpriv\[trees\]"):
        _ = ap.numeric.ReleasedTreeClassifier
