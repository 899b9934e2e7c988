"""The command numeric reconstruct: what it says of a table's released records, and what it refuses."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run, run_json
from naive import small_plan

from assocpriv import numeric
from assocpriv.client.tables import randomize_inputs
from assocpriv.files.reports import Reports
from assocpriv.plans.columns import Clear, LabelColumn, NumberColumn, UniformNoise
from assocpriv.plans.tables import TablePlan
from assocpriv.plans.tree_model import Node, NumberInput, Split, TreeModel, tree_lines
from assocpriv.server.distributions import JointDistribution
from assocpriv.simulation.enumeration import SeededEntropy


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


def test_text_shows_bars_mean_and_quantiles(released) -> None:
    """Ten bars at most a column, what is missing, mean and quantiles, all within 80 columns."""
    said = run("numeric", "reconstruct", released).stdout
    assert "age  2,000 reports, method smooth" in said
    assert all(word in said for word in ("mean", "variance", "quantile", "missing", "band", "█"))
    assert max(map(len, said.splitlines()[:-1])) <= 80
    assert said.count(" – ") == 10


def test_numbers_stand_without_exponents(released, tmp_path) -> None:
    """Salaries are written out, and columns of figures stay apart."""
    column = NumberColumn("pay", UniformNoise(30, 8), False, 0, 5_000_000, 10)
    plan = TablePlan((column,), 0)
    packed = np.concatenate(list(randomize_inputs([np.arange(60, dtype=np.int32)[:, None].repeat(9, 0) % 30], plan,
                                                  entropy=SeededEntropy(5), workers=1)))  # fmt: skip
    Reports(plan, packed).write(tmp_path / "r.parquet")
    said = run("numeric", "reconstruct", tmp_path / "r.parquet").stdout
    assert "4500000 – 5000000" in said
    assert "e+0" not in said.replace("variance", "").split("quantile")[1]
    assert len(re.search(r"is +(.*)", said)[1].split()) == 5
    share = np.ones((1, 1))
    joint = JointDistribution(("pay", "x"), "em", 9, (np.array([1.35e6, 2e6]), ("a",)), share, share)
    assert joint.frame()["first"].tolist() == ["1350000–2000000"]
    nodes = (Node(9, (0.4, 0.6), Split(0, 1.35e6, None, False, 2)), Node(4, (1, 0)), Node(5, (0, 1)))
    model = TreeModel("class", ("A", "B"), (NumberInput("pay", 0, 5e6),), nodes, "by-class", 2)
    assert next(iter(tree_lines(model))).startswith("pay < 1350000: A")


def test_a_raw_table_is_no_reports() -> None:
    """A frame would be taken for a list of files, its columns."""
    with pytest.raises(TypeError, match=r"randomize_table make them\), a file or a list of files, got a DataFrame"):
        numeric.reconstruct(pd.DataFrame({"age": [1]}))  # type: ignore[arg-type]


def test_json_has_the_keys_that_others_read(released) -> None:
    """columns: {name: {edges, share, std_error}}, and with --by classes: {value: {columns: …}}."""
    record = run_json("numeric", "reconstruct", released, "--by", "class")
    assert len(record["columns"]["age"]["edges"]) == 1 + len(record["columns"]["age"]["share"]) == 11
    assert set(record["classes"]) == {"young", "old"}
    young = record["classes"]["young"]["columns"]["age"]
    assert young["mean"]["low"] < 35 < young["mean"]["high"]
    assert sum(young["share"][:5]) > 0.9
    joint = run_json("numeric", "reconstruct", released, "--joint", "age, class")["joint"]
    assert np.shape(joint["share"]) == (10, 2)


def test_tables_are_written_by_extension(released, tmp_path) -> None:
    """CSV has a row an interval and class, JSON what --json prints; an existing file stays."""
    out = tmp_path / "d.csv"
    said = run("numeric", "reconstruct", released, "--by", "class", "-o", out).stderr
    assert said.splitlines()[-1] == f"table written to {out}"
    assert out.read_text().splitlines()[0] == "class,column,value,low,high,share,std_error,cdf_low,cdf_high"
    assert len(out.read_text().splitlines()) == 1 + 2 * 10
    assert "exists" in refused("numeric", "reconstruct", released, "-o", out)
    run("numeric", "reconstruct", released, "-o", tmp_path / "d.json")
    assert json.loads((tmp_path / "d.json").read_text()) == run_json("numeric", "reconstruct", released)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "age"], "a label or a category"),
        (["--by", "region"], "no column 'region'"),
        (["--joint", "age,region"], "no column 'region'"),
        (["--confidence-level", "5"], "confidence_level"),
    ],
)
def test_what_makes_no_sense_is_refused(released, tmp_path, arguments, said) -> None:
    """One line of error, status 1, and nothing written."""
    out = tmp_path / "out.csv"
    assert said in refused("numeric", "reconstruct", released, *arguments, "-o", out)
    assert not out.exists()


def test_other_files_are_refused(tmp_path) -> None:
    """Reports of baskets, an empty collection, and what is no file."""
    baskets = small_plan("none", 4, 2, 1)
    Reports(baskets, np.zeros((3, baskets.report_bytes), np.uint8)).write(tmp_path / "baskets.parquet")
    assert "not of a table" in refused("numeric", "reconstruct", tmp_path / "baskets.parquet")
    plan = TablePlan((NumberColumn("x", Clear(4), False, 0, 1, 4),), 0)
    Reports(plan, np.zeros((0, 1), np.uint8)).write(tmp_path / "none.parquet")
    assert "no reports" in refused("numeric", "reconstruct", tmp_path / "none.parquet")
    assert "no report file" in refused("numeric", "reconstruct", tmp_path / "nothing.parquet")
    refused("numeric", "reconstruct", tmp_path / "none.parquet", "--joint", "x", status=2)
