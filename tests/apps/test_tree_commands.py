"""Tests of the commands numeric tree and numeric predict."""

import csv
import json
from pathlib import Path

import pytest
from command_line import refused, refused_without_output, run, run_json


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reports of loan applicants, their raw table and others'."""
    folder = tmp_path_factory.mktemp("trees")
    run("generate", "agrawal", "--records", 4000, "--schema", folder / "schema.toml", "-o", folder / "table.csv")
    run("generate", "agrawal", "--records", 500, "--seed", 5, "-o", folder / "test.parquet")
    schema = (folder / "schema.toml").read_text().replace("100%", "25%")
    (folder / "schema.toml").write_text(schema)
    run("numeric", "plan", folder / "schema.toml", "--reports", 4000, "-o", folder / "plan.json")
    run("numeric", "randomize", folder / "table.csv", "--plan", folder / "plan.json", "-o", folder / "r.parquet")
    run("plan", "--items", 9, "--transaction-size", 2, "--prior", "5%", "--posterior", "50%", "-o", folder / "b.json")
    (folder / "b.dat").write_text("1 2\n3\n")
    run("randomize", folder / "b.dat", "--plan", folder / "b.json", "-o", folder / "b.parquet")
    return folder


@pytest.mark.parametrize("method", ["by-class", "global", "local"])
def test_a_tree_finds_the_function(home: Path, tmp_path: Path, method: str) -> None:
    """From reports to predictions: the age tells F1 at 25% privacy, and nine in ten raw records get their class."""
    grown = run(
        "numeric", "tree", home / "r.parquet", "--class", "class", "--method", method, "-o", tmp_path / "m.json"
    )
    assert grown.stdout.startswith("age < ")
    assert "records   4,000" in grown.stdout
    said = run("numeric", "predict", tmp_path / "m.json", home / "test.parquet", "-o", tmp_path / "o.csv").stdout
    assert said.startswith("500 records with their predicted class written to ")
    with (tmp_path / "o.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert sum(row["class"] == row["predicted"] for row in rows) > 450


def test_json_and_options(home: Path, tmp_path: Path) -> None:
    """JSON says what text says; limits and pruning are those asked for; the same seed gives the same file."""
    shared = ["numeric", "tree", home / "r.parquet", "--class", "class"]
    small = run_json(
        *shared, "--max-depth", 2, "--min-samples-leaf", 50, "--pruning", "none", "-o", tmp_path / "a.json"
    )
    assert small["depth"] <= 2
    assert small["leaves"] == small["grown_leaves"] <= 4
    assert small["records"] == 4000
    assert small["classes"] == {"A": 0.5, "B": 0.5}
    pruned = run_json(*shared, "--pruning", "cost-complexity", "--ccp-alpha", 0.01, "-o", tmp_path / "b.json")
    assert pruned["leaves"] < pruned["grown_leaves"]
    seen = run_json("inspect", tmp_path / "b.json")
    assert seen == {"kind": "model"} | {name: pruned[name] for name in pruned if name != "output"}
    said = run("inspect", tmp_path / "b.json").stdout
    assert said.startswith(f"a decision tree, grown by-class on reports of plan {pruned['plan_id'][:16]}…\n\nage <")
    assert "holds a model" in refused("inspect", tmp_path / "b.json", "--check-crafted")
    assert "holds a model" in refused("inspect", tmp_path / "b.json", "--reports", 7, status=2)
    for name in ("c.json", "d.json"):
        run(*shared, "--seed", 3, "-o", tmp_path / name)
    assert (tmp_path / "c.json").read_bytes() == (tmp_path / "d.json").read_bytes()
    assert "exists already" in refused(*shared, "-o", tmp_path / "a.json")
    run(*shared, "--force", "-o", tmp_path / "a.json")
    told = run_json("numeric", "predict", tmp_path / "a.json", home / "table.csv", "-o", tmp_path / "o.parquet")
    assert sum(told["predicted"].values()) == told["records"] == 4000


def test_bad_input(home: Path, tmp_path: Path) -> None:
    """Classes that are none, reports of baskets, models that are none: one line, and nothing is written."""

    def tree(reports: str, name: str, *more: object) -> str:
        return refused_without_output(
            tmp_path, "numeric", "tree", home / reports, "--class", name, *more, "-o", tmp_path / "m.json"
        )

    assert "column age holds numbers" in tree("r.parquet", "age")
    assert "there is no column 'none' in the plan" in tree("r.parquet", "none")
    assert "table" in tree("b.parquet", "class")
    assert "ccp_alpha goes with" in tree("r.parquet", "class", "--ccp-alpha", "0.5")
    predict = ["numeric", "predict"]
    assert "no model" in refused_without_output(
        tmp_path, *predict, home / "plan.json", home / "table.csv", "-o", tmp_path / "o.csv"
    )
    run("numeric", "tree", home / "r.parquet", "--class", "class", "-o", tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("age,salary\n30,1\n")
    assert "lacks" in refused_without_output(
        tmp_path, *predict, tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "o.csv"
    )
    assert ".csv" in refused_without_output(
        tmp_path, *predict, tmp_path / "m.json", home / "table.csv", "-o", tmp_path / "o.txt"
    )
    assert json.loads((tmp_path / "m.json").read_text())["format"] == "assocpriv-tree"


def test_without_scikit_learn(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scikit-learn is not installed the command says what to install."""
    import sys

    for name in [name for name in sys.modules if name.startswith("assocpriv.server.numeric.trees")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    said = refused("numeric", "tree", home / "r.parquet", "--class", "class", "-o", tmp_path / "m.json")
    assert said == "trees need scikit-learn; install it: pip install assocpriv[trees]"


def test_a_tree_that_tells_nothing_is_said_to_be_undecidable() -> None:
    """The text says what was found and what to do, JSON has it as a field."""
    from assocpriv.numeric import tree_lines
    from assocpriv.plans.tree_model import Node, NumberInput, TreeModel
    from assocpriv.show.tables import tree_record, tree_text

    model = TreeModel("risk", ("a", "b"), (NumberInput("age", 0, 1),), (Node(9, (0.5, 0.5)),), "by-class", 7, "", True)
    text = "\n".join(tree_text(model, list(tree_lines(model))))
    assert "undecidable: " in text
    assert "Gather more reports" in text
    assert tree_record(model)["undecidable"] is True
