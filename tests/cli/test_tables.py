"""Tests of the commands of tables: plan, randomize, reconstruct, tree and predict.

The command plan --schema, and what inspect, privacy and audit say of a table's plan: figures recomputed here.

The command randomize: what it writes and says, and bad input that shows and leaves nothing.

The command reconstruct: what it says of a table's released records, and what it refuses.

Tests of the commands tree and predict.
"""

import csv
import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import refused, refused_without_output, run, run_json
from naive import small_plan
from planned import planned

import assocpriv as ap
from assocpriv import numeric, read_plan
from assocpriv.client.tables import randomize_inputs
from assocpriv.files.reports import Reports
from assocpriv.plans.columns import Clear, LabelColumn, NumberColumn, UniformNoise, Window
from assocpriv.plans.tables import TablePlan
from assocpriv.plans.tree_model import Node, NumberInput, Split, TreeModel, tree_lines
from assocpriv.promise.errors import EstimateError
from assocpriv.server.distributions import JointDistribution
from assocpriv.simulation.enumeration import SeededEntropy

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
    record = run_json("plan", "--schema", schema, "-o", out, "--answer", "all", "--reports", 3000)
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
    """What joint questions need, and how wide noise leaves a value open, rounded down."""
    text = run("plan", "--schema", schema, "-o", tmp_path / "plan.json").stdout
    assert "joint questions about two columns need two answers" in text
    width = re.search(r"leaves open (.*)% at 50%, (.*)% at 95%", text)
    assert width is not None
    age = read_plan(tmp_path / "plan.json").columns[0]
    assert isinstance(age, NumberColumn)
    exact = [100 * age.known_width(level) for level in (Fraction(1, 2), Fraction(95, 100))]
    assert all(Fraction(said) <= true for said, true in zip(width.groups(), exact, strict=True))


def test_noise_alone_is_labelled(schema: Path, tmp_path: Path) -> None:
    """Without a protected column no γ is stated, and a promise, or privacy, is refused."""
    schema.write_text(NOISE)
    text = run("plan", "--schema", schema, "-o", tmp_path / "plan.json").stdout
    assert "no γ        the plan promises an average" in text
    said = refused_without_output(tmp_path, "plan", "--schema", schema, "-o", tmp_path / "p.json", "--epsilon", "1")
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
        (["--reports-per-person", "0"], 1, "--reports-per-person must be in 1..1000"),
    ],
)
def test_bad_requests(schema: Path, tmp_path: Path, arguments: list[str], status: int, said: str) -> None:
    """What cannot be planned is refused on one line, and nothing is written."""
    request = ["plan", "--schema", schema, "-o", tmp_path / "p", *arguments]
    assert said in refused_without_output(tmp_path, *request, status=status)


def test_bad_schemas(tmp_path: Path) -> None:
    """A schema's mistake is refused with the file, the column and the key; the schema is not overwritten."""
    path, out = tmp_path / "s.toml", tmp_path / "p.json"
    path.write_text(SCHEMA.replace("low = 20", "low = 90"))
    said = refused_without_output(tmp_path, "plan", "--schema", path, "-o", out)
    assert f"{path}: column age: low must be below high" in said
    assert "is an input" in refused_without_output(tmp_path, "plan", "--schema", path, "-o", path, "--force")
    assert "cannot read the schema" in refused_without_output(tmp_path, "plan", "--schema", tmp_path / "no", "-o", out)


def test_privacy_counts_a_table_among_others(schema: Path, tmp_path: Path) -> None:
    """Of a table's plan privacy says γ, and what it does not count."""
    out = tmp_path / "plan.json"
    run("plan", "--schema", schema, "-o", out)
    record = run_json("privacy", out, "--reports-per-person", 2, "--prior", "5%")
    gamma = read_plan(out).amplification
    assert gamma is not None
    assert record["together"]["epsilon"] == pytest.approx(2 * float(np.log(float(gamma))))
    assert record["plans"][0]["uncovered"] == "columns age, class"
    assert "and so not counted here: columns age, class" in run("privacy", out).stdout


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
    """Return a plan's file."""
    (tmp_path / "schema.toml").write_text(PEOPLE_SCHEMA)
    run("plan", "--schema", tmp_path / "schema.toml", "-o", tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_a_table_becomes_reports(tmp_path: Path, plan: Path) -> None:
    """CSV and Parquet give a report a record, with the plan; what was clipped, missing and uncovered is said."""
    pd.DataFrame({"region": ["north", "?", None], "more": 1, "age": [19.0, 34, 99]}).to_csv(tmp_path / "t.csv")
    done = run("randomize", tmp_path / "t.csv", "--plan", plan, "-o", tmp_path / "r.parquet", "--clip",
               "--missing", "?")  # fmt: skip
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-4:] == [
        "t.csv: 2 further columns left out, which the plan does not have",
        "values clipped to the range: 2 of age",
        "missing values: 2 of region",
        "γ does not cover column age",
    ]
    assert "3 reports of " in done.stdout
    pd.DataFrame({"region": ["north"], "age": [34]}).to_csv(tmp_path / "one.csv")
    said = run("randomize", tmp_path / "one.csv", "--plan", plan, "-o", tmp_path / "one.parquet").stdout
    assert said.startswith("1 report of ")
    frame = numeric.released_frame(ap.read_reports(tmp_path / "r.parquet"))
    assert list(frame) == ["age", "region"]
    assert len(frame) == 3
    pd.DataFrame({"age": [34, 35], "region": ["north", "south"]}).to_parquet(tmp_path / "t.parquet")
    record = run_json("randomize", tmp_path / "t.parquet", "--plan", plan, "-o", tmp_path / "s.parquet")
    assert record["reports"] == 2
    assert record["clipped"] == record["missing"] == {}


def test_plans_without_gamma_are_labelled(tmp_path: Path) -> None:
    """Who releases noise alone is told what it promises."""
    (tmp_path / "schema.toml").write_text(PEOPLE_SCHEMA.split("[columns.region]", maxsplit=1)[0])
    run("plan", "--schema", tmp_path / "schema.toml", "-o", tmp_path / "plan.json")
    (tmp_path / "t.csv").write_text("age\n34\n")
    done = run("randomize", tmp_path / "t.csv", "--plan", tmp_path / "plan.json", "-o", tmp_path / "r.pq")
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
    words = ["randomize", tmp_path / "t.csv", "--plan", plan, "-o", tmp_path / "r.parquet"]
    assert CANARY not in refused_without_output(tmp_path, *words)


def test_other_plans_and_outputs(tmp_path: Path, plan: Path) -> None:
    """An input as output, another ending and a file that exists are refused before any reading."""
    table = tmp_path / "t.csv"
    table.write_text("age,region\n34,north\n")
    ap.write_plan(planned(["a", "b"], transaction_size=1, promise=ap.Breach("5%", "50%")), tmp_path / "baskets.json")
    both = ["--plan", tmp_path / "baskets.json", "-o", tmp_path / "r.parquet", "--clip"]
    assert "--clip goes with table, not with baskets" in refused("randomize", table, *both, status=2)
    for arguments, said in (
        (["--plan", plan, "-o", plan, "--force"], "is an input"),
        (["--plan", plan, "-o", tmp_path / "r.csv"], "must end in .parquet or .pq"),
        (["--plan", tmp_path / "schema.toml", "-o", tmp_path / "r.parquet"], "not a plan"),
    ):
        assert said in refused_without_output(tmp_path, "randomize", table, *arguments)
    with pytest.raises(TypeError, match="plan must be a PublishedPlan"):
        ap.randomize(pd.DataFrame({"age": [1]}), "plan.json")  # type: ignore[arg-type]
    with pytest.raises(ap.AssocprivError, match="is not in the catalogue"):
        ap.randomize(pd.DataFrame({"age": [1]}), ap.read_plan(tmp_path / "baskets.json"))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return a file of 2000 released records: ages, and a class that goes with them."""
    columns = (
        NumberColumn("age", UniformNoise(30, 8), True, 20, 80, 10),
        LabelColumn("class", Clear(2), False, ("young", "old")),
    )
    rng = np.random.default_rng(3)
    old = rng.integers(0, 2, 2000)
    age = np.where(rng.random(2000) < 0.1, 30, 15 * old + rng.integers(0, 15, 2000))
    plan = TablePlan(columns, 0)
    inputs = np.stack([age, old], axis=1).astype(np.int32)
    packed = np.concatenate(list(randomize_inputs([inputs], plan, entropy=SeededEntropy(5), workers=1)))
    path = tmp_path_factory.mktemp("released") / "released.parquet"
    Reports(plan, packed).write(path)
    return path


def test_numbers_stand_without_exponents() -> None:
    """Salaries are written out, in joint distributions and in trees."""
    share = np.ones((1, 1))
    joint = JointDistribution(("pay", "x"), "em", 9, (np.array([1.35e6, 2e6]), ("a",)), share, share)
    assert joint.frame()["first"].tolist() == ["1350000–2000000"]
    nodes = (Node(9, (0.4, 0.6), Split(0, 1.35e6, None, False, 2)), Node(4, (1, 0)), Node(5, (0, 1)))
    model = TreeModel("class", ("A", "B"), (NumberInput("pay", 0, 5e6),), nodes, "by-class", 2)
    assert next(iter(tree_lines(model))).startswith("pay < 1350000: A")


def test_a_raw_table_is_no_reports() -> None:
    """A frame would be taken for a list of files, its columns."""
    with pytest.raises(TypeError, match=r"randomize makes them\), a file or a list of files, got a DataFrame"):
        ap.reconstruct(pd.DataFrame({"age": [1]}))  # type: ignore[arg-type]


def test_json_has_the_keys_that_others_read(released) -> None:
    """columns: {name: {edges, share, std_error}}, and with --by classes: {value: {columns: …}}."""
    record = run_json("reconstruct", released, "--by", "class")
    assert len(record["columns"]["age"]["edges"]) == 1 + len(record["columns"]["age"]["share"]) == 11
    assert set(record["classes"]) == {"young", "old"}
    young = record["classes"]["young"]["columns"]["age"]
    assert young["mean"]["low"] < 35 < young["mean"]["high"]
    assert sum(young["share"][:5]) > 0.9
    joint = run_json("reconstruct", released, "--joint", "age, class")["joint"]
    assert np.shape(joint["share"]) == (10, 2)


def test_tables_are_written_by_extension(released, tmp_path) -> None:
    """CSV has a row an interval and class, JSON what --json prints; an existing file stays."""
    out = tmp_path / "d.csv"
    said = run("reconstruct", released, "--by", "class", "-o", out).stderr
    assert said.splitlines()[-1] == f"table written to {out}"
    assert out.read_text().splitlines()[0] == "class,column,value,low,high,share,std_error,cdf_low,cdf_high"
    assert len(out.read_text().splitlines()) == 1 + 2 * 10
    assert "exists" in refused("reconstruct", released, "-o", out)
    run("reconstruct", released, "-o", tmp_path / "d.json")
    assert json.loads((tmp_path / "d.json").read_text()) == run_json("reconstruct", released)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "age"], "a label or a category"),
        (["--by", "region"], "no column 'region'"),
        (["--joint", "age,region"], "no column 'region'"),
        (["--confidence-level", "5"], "--confidence-level"),
    ],
)
def test_what_makes_no_sense_is_refused(released, tmp_path, arguments, said) -> None:
    """One line of error, status 1, and nothing written."""
    out = tmp_path / "out.csv"
    assert said in refused("reconstruct", released, *arguments, "-o", out)
    assert not out.exists()


def test_other_files_are_refused(tmp_path) -> None:
    """Reports of baskets, an empty collection, and what is no file."""
    baskets = small_plan("none", 4, 2, 1)
    Reports(baskets, np.zeros((3, baskets.report_bytes), np.uint8)).write(tmp_path / "baskets.parquet")
    assert "kind baskets are for mine, not for reconstruct" in refused("reconstruct", tmp_path / "baskets.parquet")
    plan = TablePlan((NumberColumn("x", Clear(4), False, 0, 1, 4),), 0)
    Reports(plan, np.zeros((0, 1), np.uint8)).write(tmp_path / "none.parquet")
    assert "no reports" in refused("reconstruct", tmp_path / "none.parquet")
    assert "no report file" in refused("reconstruct", tmp_path / "nothing.parquet")
    refused("reconstruct", tmp_path / "none.parquet", "--joint", "x", status=2)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reports of loan applicants, their raw table and others'."""
    folder = tmp_path_factory.mktemp("trees")
    run("generate", "agrawal", "--people", 4000, "--schema", folder / "schema.toml", "-o", folder / "table.csv")
    run("generate", "agrawal", "--people", 500, "--seed", 5, "-o", folder / "test.parquet")
    schema = (folder / "schema.toml").read_text().replace("100%", "25%")
    (folder / "schema.toml").write_text(schema)
    run("plan", "--schema", folder / "schema.toml", "--reports", 4000, "-o", folder / "plan.json")
    run("randomize", folder / "table.csv", "--plan", folder / "plan.json", "-o", folder / "r.parquet")
    run("plan", "--items", 9, "--transaction-size", 2, "--prior", "5%", "--posterior", "50%", "-o", folder / "b.json")
    (folder / "b.dat").write_text("1 2\n3\n")
    run("randomize", folder / "b.dat", "--plan", folder / "b.json", "-o", folder / "b.parquet")
    return folder


@pytest.mark.parametrize("method", ["by-class", "global", "local", "joint"])
def test_a_tree_finds_the_function(home: Path, tmp_path: Path, method: str) -> None:
    """From reports to predictions: the age tells F1 at 25% privacy, and nine in ten raw records get their class."""
    grown = run("tree", home / "r.parquet", "--class", "class", "--method", method, "-o", tmp_path / "m.json")
    assert grown.stdout.startswith("4,000 reports tell class by a tree of ")
    assert "\nage < " in grown.stdout
    said = run("predict", tmp_path / "m.json", home / "test.parquet", "-o", tmp_path / "o.csv").stdout
    assert said.startswith("500 records with their predicted class written to ")
    with (tmp_path / "o.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert sum(row["class"] == row["predicted"] for row in rows) > 450


def test_json_and_options(home: Path, tmp_path: Path) -> None:
    """JSON says what text says; limits and pruning are those asked for; the same reports give the same file."""
    shared = ["tree", home / "r.parquet", "--class", "class"]
    small = run_json(*shared, "--max-depth", 2, "--pruning", "none", "-o", tmp_path / "a.json")
    assert small["depth"] <= 2
    assert small["leaves"] == small["grown_leaves"] <= 4
    assert small["records"] == 4000
    assert small["classes"] == {"A": 0.5, "B": 0.5}
    pruned = run_json(*shared, "-o", tmp_path / "b.json")
    assert pruned["leaves"] < pruned["grown_leaves"]
    seen = run_json("inspect", tmp_path / "b.json")
    assert seen == {"kind": "model"} | {name: pruned[name] for name in pruned if name != "output"}
    said = run("inspect", tmp_path / "b.json").stdout
    assert f"a decision tree, grown by-class on reports of plan {pruned['plan_id'][:16]}…\n" in said
    assert "\nage <" in said
    assert "holds a model" in refused("inspect", tmp_path / "b.json", "--check-crafted")
    assert "holds a model" in refused("inspect", tmp_path / "b.json", "--reports", 7, status=2)
    for name in ("c.json", "d.json"):
        run(*shared, "-o", tmp_path / name)
    assert (tmp_path / "c.json").read_bytes() == (tmp_path / "d.json").read_bytes()
    assert "exists already" in refused(*shared, "-o", tmp_path / "a.json")
    run(*shared, "--force", "-o", tmp_path / "a.json")
    told = run_json("predict", tmp_path / "a.json", home / "table.csv", "-o", tmp_path / "o.parquet")
    assert sum(told["predicted"].values()) == told["records"] == 4000


def test_bad_input(home: Path, tmp_path: Path) -> None:
    """Classes that are none, reports of baskets, models that are none: one line, and nothing is written."""

    def tree(reports: str, name: str, *more: object) -> str:
        return refused_without_output(
            tmp_path, "tree", home / reports, "--class", name, *more, "-o", tmp_path / "m.json"
        )

    assert "column age holds numbers" in tree("r.parquet", "age")
    assert "there is no column 'none' in the plan" in tree("r.parquet", "none")
    assert "table" in tree("b.parquet", "class")
    predict = ["predict"]
    assert "no model" in refused_without_output(
        tmp_path, *predict, home / "plan.json", home / "table.csv", "-o", tmp_path / "o.csv"
    )
    run("tree", home / "r.parquet", "--class", "class", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("age,salary\n30,1\n")
    assert "lacks" in refused_without_output(
        tmp_path, *predict, tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "o.csv"
    )
    assert ".csv" in refused_without_output(
        tmp_path, *predict, tmp_path / "m.json", home / "table.csv", "-o", tmp_path / "o.txt"
    )
    assert json.loads((tmp_path / "m.json").read_text())["format"] == "assocpriv-tree"


def test_without_scikit_learn(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scikit-learn is not installed trees grow all the same; the estimator says what to install."""
    import sys

    for name in [name for name in sys.modules if name.startswith("assocpriv.server.tree")]:
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(sys.modules["assocpriv.server"], name.rpartition(".")[2])
    for name in ("grow_tree", "ReleasedTreeClassifier"):
        monkeypatch.delitem(vars(ap.numeric), name, raising=False)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    run("tree", home / "r.parquet", "--class", "class", "-o", tmp_path / "m.json")
    with pytest.raises(EstimateError, match=r"needs scikit-learn; install it: pip install assocpriv\[trees\]"):
        _ = ap.numeric.ReleasedTreeClassifier
