"""On-device prediction with a tree: one record, frames and files give equal classes; invalid tables are refused."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assocpriv.files.model_files import write_tree
from assocpriv.guarantees.errors import FileError, PlanError, RecordError
from assocpriv.numeric import predict, predict_file
from assocpriv.plans.numeric.tree_model import CategoryInput, Node, NumberInput, Split, TreeModel

MODEL = TreeModel(
    "risk",
    ("high", "low"),
    (NumberInput("age", 20.0, 80.0), CategoryInput("region", ("north", "south", "1"), True)),
    (
        Node(10, (0.4, 0.6), Split(0, 40.0, None, True, 2)),
        Node(4, (1.0, 0.0)),
        Node(6, (0.0, 1.0), Split(1, None, frozenset({1, 2}), False, 4)),
        Node(3, (0.75, 0.25)),
        Node(3, (0.25, 0.75)),
    ),
    "by-class",
    3,
)
TABLE = pd.DataFrame(
    {
        "note": ["a,b", 'q"', "", "x", "y", "z"],
        "region": ["south", "north", "south", None, "west", " south "],
        "age": [30.0, 50.0, 40.0, 50.0, 90.0, np.nan],
    }
)
RISKS = ["high", "low", "high", "low", "low", "high"]


def test_every_source_gives_the_same_classes(tmp_path: Path) -> None:
    """Records, pandas, polars and pyarrow tables, CSV and Parquet: equal classes, and cells unchanged."""
    assert [predict(record, MODEL) for record in TABLE.to_dict("records")] == RISKS
    for table in (TABLE, pl.from_pandas(TABLE), pa.Table.from_pandas(TABLE)):
        assert predict(table, MODEL).tolist() == RISKS
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        for ending in ("csv", "parquet"):
            counts = predict_file(MODEL, tmp_path / name, tmp_path / f"{name}.{ending}")
            assert (counts.records, counts.classes) == (6, {"high": 3, "low": 3})
            assert (+counts.missing, +counts.unseen, +counts.outside) == (
                {"age": 1, "region": 1}, {"region": 1}, {"age": 1},
            )  # fmt: skip
    found = pq.read_table(tmp_path / "t.parquet.parquet").to_pandas()
    assert found["predicted"].tolist() == RISKS
    assert found.drop(columns="predicted").equals(TABLE)
    lines = (tmp_path / "t.csv.csv").read_text().splitlines()
    assert lines[0] == "note,region,age,predicted"
    assert lines[1:3] == ['"a,b",south,30.0,high', '"q""",north,50.0,low']


def test_records_in_various_spellings() -> None:
    """Whole numbers as categories, huge numbers, missing and additional columns."""
    assert predict({"age": 41, "region": 1}, MODEL) == "high"
    assert predict({"age": 41, "region": 1.0, "more": "x"}, MODEL) == "high"
    assert predict({"age": 10**400, "region": "north"}, MODEL) == "low"
    assert predict({"age": -(10**400)}, MODEL) == "high"
    assert predict({}, MODEL) == "high"
    for wrong in ("41", True, [1]):
        with pytest.raises(RecordError, match=r"column age takes numbers.*pass a number, or None where it is missing"):
            predict({"age": wrong}, MODEL)


def test_one_record_needs_no_numpy(tmp_path: Path) -> None:
    """A device reads a model and predicts without numpy, pandas, pyarrow or scikit-learn."""
    write_tree(MODEL, tmp_path / "m.json")
    code = (
        "import sys\nfrom assocpriv.numeric import predict, read_tree\n"
        f"assert predict({{'age': 30, 'region': 'south'}}, read_tree({str(tmp_path / 'm.json')!r})) == 'high'\n"
        "assert not {'numpy', 'pandas', 'pyarrow', 'sklearn', 'scipy'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_column_named_predicted_is_kept(tmp_path: Path) -> None:
    """With another name for the classes, an existing column named predicted is kept."""
    TABLE.rename(columns={"note": "predicted"}).to_csv(tmp_path / "t.csv", index=False)
    predict_file(MODEL, tmp_path / "t.csv", tmp_path / "o.csv", column="risk")
    found = pd.read_csv(tmp_path / "o.csv", keep_default_na=False)
    assert (found["risk"].tolist(), found["predicted"].tolist()) == (RISKS, TABLE["note"].tolist())


def test_missing_value_markers_and_separators(tmp_path: Path) -> None:
    """A missing-value marker; a separator found by the model's columns or given; blank lines are no records."""
    (tmp_path / "t.csv").write_text("\nnote;with,commas;age;region\n1;2,3;?;south\n\n1;2,3;50;?\n")
    counts = predict_file(MODEL, tmp_path / "t.csv", tmp_path / "o.csv", missing="?")
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == ['1,"2,3",?,south,high', '1,"2,3",50,?,low']
    assert counts.missing == {"age": 1, "region": 1}
    predict_file(MODEL, tmp_path / "t.csv", tmp_path / "o.parquet", missing=["?"], separator=";")


BAD = {
    "lacks.csv": ("age,place\n30,south\n", "lacks 1 of the model's 2 columns: region"),
    "twice.csv": ("age,age,region\n3,3,south\n", "has two columns of one name"),
    "text.csv": ("age,region\n30,south\nsecret,south\n", "column age has no number in record 2"),
    "ragged.csv": ("age,region\n30,south\n30\n", "line 3 has 1 cell, but"),
    "done.csv": ("age,region,predicted\n30,south,x\n", "already has a column 'predicted'; rename it there"),
    "unknown.csv": ("age,region\nunknown,south\n", r"write numbers as 1234\.5; if it means .*, pass missing='unknown'"),
    "words.csv": ("age,region\nsecret,south\n", "if words mean missing values, name each of them with missing="),
    "empty.csv": ("", "empty"),
    "header.csv": ("age,region\n", "no records|no CSV"),
    "no.parquet": ("age,region\n", "not Parquet"),
    "t.xlsx": ("x", "spreadsheet"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_tables_are_refused(tmp_path: Path, name: str) -> None:
    """The error is one line with the file's name and no value; nothing is written."""
    content, message = BAD[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(RecordError, match=message) as refused:
        predict_file(MODEL, tmp_path / name, tmp_path / "out.csv")
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert name in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_outputs_and_arguments(tmp_path: Path) -> None:
    """A missing file, an unknown extension, an existing output and other types are refused."""
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(RecordError, match="no such file"):
        predict_file(MODEL, tmp_path / "none.csv", tmp_path / "o.csv")
    with pytest.raises(FileError, match="must end in"):
        predict_file(MODEL, tmp_path / "t.csv", tmp_path / "o.txt")
    with pytest.raises(FileError, match="exists already"):
        predict_file(MODEL, tmp_path / "t.csv", tmp_path / "t.csv")
    with pytest.raises(PlanError, match="the name of the new column must be text"):
        predict_file(MODEL, tmp_path / "t.csv", tmp_path / "o.csv", column=" ")
    with pytest.raises(TypeError, match=r"data must be a record, .*pandas, polars or pyarrow"):
        predict([1, 2], MODEL)


def test_a_record_of_other_columns_is_refused():
    """A record of unknown names, which would silently give the commonest class, is refused; an empty record is not."""
    with pytest.raises(RecordError, match="the record has none of the model's columns, age, region"):
        predict({"Age": 30, "place": "south"}, MODEL)
    assert predict({}, MODEL) == predict({"age": None}, MODEL)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_in_a_frame_is_no_number(kind):
    """A frame's text column is refused with advice and without its values."""
    message = "has no number in record 1; a Parquet or frame column must hold numbers, not"
    with pytest.raises(RecordError, match=message) as no:
        predict(kind({"age": ["1234567", "2"], "region": ["south", "south"]}), MODEL)
    assert "1234567" not in str(no.value)
