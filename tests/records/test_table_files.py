"""Tables of records as inputs: CSV, Parquet and frames agree with single values, and bad input is refused."""

import gzip
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assocpriv.guarantees.errors import RecordError
from assocpriv.plans.numeric.table_plan import CategoryColumn, Clear, LabelColumn, NumberColumn, TablePlan, UniformNoise
from assocpriv.records.table_files import TableCounts, TableOptions, read_value, stream_table

CANARY = "7.7319"


def table_plan(*, optional: bool = False) -> TablePlan:
    """Return a plan of ages in tenths, a region and a label."""
    return TablePlan(
        (
            NumberColumn("age", UniformNoise(10, 2), optional, Fraction(0), Fraction(1), 10),
            CategoryColumn("region", Clear(3), optional, ("north", "2", "true")),
            LabelColumn("class", Clear(2), False, ("A", "B")),
        ),
        0,
    )


def read(source: Any, plan: TablePlan | None = None, **options: Any) -> tuple[list[list[int]], TableCounts]:
    """Return all inputs of a table, and the counts."""
    stream = stream_table(source, plan or table_plan(), TableOptions(**options))
    return np.concatenate(list(stream)).tolist(), stream.counts


def csv(folder: Path, text: str, name: str = "t.csv") -> Path:
    """Return a file of text."""
    (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return folder / name


ROWS = [[0, 0, 0], [3, 1, 1], [9, 2, 0]]
FRAME = pd.DataFrame({"class": ["A", "B", "A"], "age": [0.0, 0.3, 1.0], "more": 1, "region": ["north", "2", "true"]})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "age,region,class\n0,north,A\n0.3,2,B\n1,true,A\n"),
        ("t.csv", "\ufeffclass;more;age;region\r\nA;x;0;north\r\n\r\nB;;.3;2\r\nA;y;1e0;true"),
        ("t.csv.gz", 'age,region,class\n0,"north",A\n"0.3",2,"B"\n 1 , true ,A\n\n'),
        ("t.tsv", "age\tregion\tclass\n-0\tnorth\tA\n+0.30\t2\tB\n1\ttrue\tA\n"),
        ("t.data", "age|region|class\n0|north|A\n0.3|2|B\n1|true|A"),
        ("t.txt", "age region class\n0 north A\n0.3 2 B\n1 true A\n"),
    ],
)
def test_text_of_any_usual_form(tmp_path: Path, name: str, text: str) -> None:
    """Separators, quotes, line ends, blank lines, a mark in front, compression and the columns' order do not matter."""
    rows, counts = read(csv(tmp_path, text, name))
    assert rows == ROWS
    assert counts == TableCounts(3, {}, {})


def tables() -> list[Any]:
    """Return the same table in every form that Python holds."""
    arrow = pa.Table.from_pandas(FRAME)
    split = FRAME.astype({"region": "category", "class": "category", "age": "Float64"})
    return [
        FRAME, split, pl.from_pandas(FRAME), pl.from_pandas(split), arrow, [FRAME[:1], FRAME[1:]],
        arrow.to_reader(max_chunksize=2), iter([pl.from_pandas(FRAME[:2]), arrow[2:]]),
        pa.concat_tables([arrow[:1].set_column(3, "region", arrow["region"][:1].dictionary_encode()),
                          arrow[1:].set_column(3, "region", arrow["region"][1:].dictionary_encode())]),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(len(tables())))
def test_frames_of_any_kind(number: int) -> None:
    """Frames of pandas, polars and Arrow, whole or in parts, give what text gives."""
    assert read(tables()[number])[0] == ROWS


def test_parquet(tmp_path: Path) -> None:
    """Parquet with several row groups, with text coded or plain."""
    for name, options in (("a.parquet", {}), ("b.pq", {"use_dictionary": False, "row_group_size": 2})):
        pq.write_table(pa.Table.from_pandas(FRAME), tmp_path / name, **options)
        assert read(tmp_path / name)[0] == ROWS


def test_further_columns_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The number of columns left out is logged once, without their names."""
    read(csv(tmp_path, f"age,region,class,{CANARY}\n0,north,A,1\n"))
    read([FRAME, FRAME])
    assert caplog.messages == [
        "t.csv: 1 further column left out because not in the plan",
        "table: 1 further column left out because not in the plan",
    ]


def test_written_numbers_are_the_same_doubles(tmp_path: Path, rng: np.random.Generator) -> None:
    """Numbers of up to 25 digits are read as Python reads them, on the fast path and, with words, the slow one."""
    column = NumberColumn("x", Clear(1 << 15), False, Fraction(0), Fraction(1), 1)
    texts = [f"0.{''.join(map(str, rng.integers(0, 10, digits)))}" for digits in range(1, 26) for _ in range(40)]
    plan, wanted = TablePlan((column,), 0), [[read_value(float(text), column)] for text in texts]
    assert read(csv(tmp_path, "\n".join(["x", *texts])), plan)[0] == wanted
    optional = TablePlan((NumberColumn("x", Clear(1 << 15), True, Fraction(0), Fraction(1), 1),), 0)
    got, counts = read(csv(tmp_path, "\n".join(["x", " ? ", *texts])), optional, missing=("?",))
    assert got == [[1 << 15], *wanted]
    assert counts.missing == {"x": 1}


def test_missing_values(tmp_path: Path) -> None:
    """Empty cells, NaN, null and requested words are missing values of an optional column; other words are not."""
    plan = table_plan(optional=True)
    text = "age,region,class\n,,A\nNaN, n/a,B\nnull,north,A\nn/a,2,B\n"
    rows, counts = read(csv(tmp_path, text), plan, missing=("n/a",))
    assert read(csv(tmp_path, text), plan, missing="n/a") == (rows, counts)
    assert rows == [[10, 3, 0], [10, 3, 1], [10, 0, 0], [10, 1, 1]]
    assert counts.missing == {"age": 4, "region": 2}
    for frame in (
        pd.DataFrame({"age": [None, np.nan], "region": [None, np.nan], "class": ["A", "A"]}),
        pd.DataFrame({"age": pd.array([None] * 2, "Int64"), "region": pd.Categorical([None, ""]), "class": ["A"] * 2}),
        pl.DataFrame({"age": [None, float("nan")], "region": [None, None], "class": ["A", "A"]}),
    ):  # fmt: skip
        assert read(frame, plan)[0] == [[10, 3, 0], [10, 3, 0]]
    with pytest.raises(
        RecordError, match=r"region has a value that is not in the plan in 1 record, first in line 3 \(1 f"
    ):
        read(csv(tmp_path, text), plan)


def test_numbers_and_truths_are_categories() -> None:
    """Whole numbers and booleans are read as text, in frames and alone."""
    plan = TablePlan((CategoryColumn("c", Clear(4), True, ("1", "2", "true", "false")),), 0)
    assert read(pd.DataFrame({"c": [1, 2]}), plan)[0] == [[0], [1]]
    assert read(pd.DataFrame({"c": [1.0, np.nan, 2.0]}), plan)[0] == [[0], [4], [1]]
    assert read(pd.DataFrame({"c": [True, False]}), plan)[0] == [[2], [3]]
    assert read(pl.DataFrame({"c": [True, None]}), plan)[0] == [[2], [4]]
    assert [read_value(value, plan.columns[0]) for value in (1, 2.0, True, False, None)] == [0, 1, 2, 3, 4]


def test_clipped_values_are_counted(tmp_path: Path) -> None:
    """Values outside go to the first and last cell, counted; without clipping they are refused, counted to the end."""
    lines = ["age,region,class", "-1,north,A", "0.5,2,B", "1e9,2,B", "inf,2,A"]
    rows, counts = read(csv(tmp_path, "\n".join(lines)), clip=True)
    assert [row[0] for row in rows] == [0, 5, 9, 9]
    assert counts == TableCounts(4, {"age": 3}, {})
    with pytest.raises(
        RecordError, match=r"^t.csv: column age has a value outside its range in 3 records, first in line 2;"
    ):
        read(csv(tmp_path, "\n".join(lines)))


BAD = {  # content of a text file -> its error
    f"age,region,class\n{CANARY},2,A\n": "age has a value outside its range in 1 record, first in line 2; pass clip",
    f"age,region,class\n\n\n.2,2,A\n\nx{CANARY},2,A\n": "age has no number in 1 record, first in line 6",
    "age,region,class\n2020-01-01,2,A\n": "age has no number in 1 record",
    '"age",region,class\n"0,5",2,A\n': "age has no number in 1 record",
    "age,region,class\n1_0,2,A\n": "age has no number",
    "age,region,class\n0x1,2,A\n": "age has no number",
    "age,region,class\n,2,A\n": "age has no value in 1 record, first in line 2; leave out such",
    f"age,region,class\n.2,{CANARY},A\n": "region has a value that is not in the plan in 1 record, first in line 2",
    "age,region,class\n.2,2,\n": "class has no value",
    f"age,region,class\n.2,2,A\n{CANARY},2\n": "line 3 has 2 cells, but the first line has 3",
    f"age,region,class\n.2,2,A\n{CANARY},2,A,9,9\n": "line 3 has 5 cells",
    f"age,region\n{CANARY},2\n": "lacks 1 of the plan's 3 columns: class",
    f"{CANARY},2,A\n": "has none of the plan's 3 columns (age, region, class); names must match the plan's",
    f"age,region,class,age\n{CANARY},2,A,1\n": "has column age twice",
    "age,region,class\n": "the table has no records",
    "": "the file is empty",
    "\n\n": "the file is empty",
    f'age,region,class\n.2,"{CANARY}\n2",A\n': "region has a value that is not in the plan in 1 record",
    f'age,region,class\n.2,2,A\n"{CANARY},2,A\n': "line 3 is not CSV: quotes are not closed",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_bad_text(tmp_path: Path, text: str) -> None:
    """Values that do not fit raise one line with file, column, count and position, and never the value."""
    with pytest.raises(RecordError) as caught:
        read(csv(tmp_path, text))
    assert str(caught.value).startswith("t.csv: ")
    assert BAD[text] in str(caught.value)
    assert CANARY not in repr(caught.getrepr(chain=True, showlocals=False)) + str(caught.value)
    assert caught.value.__context__ is None


def test_bad_bytes_and_names(tmp_path: Path) -> None:
    """Other encodings, other formats, folders and missing files have different errors."""
    cases = {
        "latin.csv": (b"age,region,class\n.2,2,A\n" + b"1,2,\x81\n", "not windows-1252 text"),
        "wide.csv": ("age,region".encode("utf-16"), "lacks 1"), "p.csv": (b"PAR1xxxxxxxx", "not Parquet"),
        "z.csv": (b"PK\x03\x04xxxxx", "not a spreadsheet"), "p.parquet": (b"PAR1xxxxxxxx", "not Parquet"),
        "s.xlsx": (b"x", "not a spreadsheet"), "s.dat": (b"x", "must end"),
        "cut.csv.gz": (gzip.compress(b"age,region,class\n")[:-6], "is incomplete"),
    }  # fmt: skip
    for name, (content, words) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RecordError, match=words):
            read(tmp_path / name)
    with pytest.raises(RecordError, match="no such file"):
        read(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(RecordError, match="this is a folder"):
        read(tmp_path / "folder.csv")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.assign(age="0.3"), "column age has no number in 3 records, first in row 1"),
        (FRAME.assign(age=True), "column age has no number"),
        (FRAME.assign(age=pd.Timestamp("2020-01-01")), "column age has no number"),
        (FRAME.assign(age=[0.1, "x", 2]), "column age mixes types"),
        (FRAME.assign(age=[0.1, 0.2, np.nan]), "column age has no value in 1 record, first in row 3"),
        (FRAME.assign(region=["north", None, "2"]), "column region has no value in 1 record, first in row 2"),
        (FRAME.assign(region=[0.5, 1.5, 2]), "column region has a value that is not in the plan in 2 records"),
        (FRAME.assign(region=pd.Timestamp("2020-01-01")), "column region has a value that is not in the plan"),
        (FRAME[:0], "the table has no records"),
        (FRAME.drop(columns="age"), "lacks 1 of the plan's 3 columns: age"),
        (pd.concat([FRAME, FRAME[["age"]]], axis=1), "different names"),
        ([], "the table has no records"),
    ],
)  # fmt: skip
def test_bad_frames(frame: Any, message: str) -> None:
    """Frames are refused as files are, by row."""
    with pytest.raises(RecordError, match=message):
        read(frame)


@pytest.mark.parametrize("table", [3, {"age": [1]}, [1, 2], FRAME["age"], pl.from_pandas(FRAME).lazy()])
def test_what_is_no_table(table: Any) -> None:
    """Another type raises a TypeError that names the possible ones."""
    with pytest.raises(TypeError, match="a table must be a pandas, polars or pyarrow table"):
        read(table)


def test_parquet_that_claims_much(tmp_path: Path) -> None:
    """A nested column of the plan's name is refused by name, and a count of cells decides nothing."""
    pq.write_table(pa.table({"age": [[0.1]], "region": ["2"], "class": ["A"]}), tmp_path / "t.parquet")
    with pytest.raises(RecordError, match="column age holds lists"):
        read(tmp_path / "t.parquet")
    pq.write_table(
        pa.table({"age": np.zeros(1 << 18), "region": ["2"] * (1 << 18), "class": ["A"] * (1 << 18)}),
        tmp_path / "t.parquet",
    )
    assert len(read(tmp_path / "t.parquet", memory_bytes=1 << 26)[0]) == 1 << 18


def test_batches_are_small(tmp_path: Path) -> None:
    """A long file comes in batches, with the right line numbers in later ones."""
    body = "0.5,north,A\n" * 400_000
    path = csv(tmp_path, f"age,region,class\n{body}")
    sizes = [len(batch) for batch in stream_table(path, table_plan(), TableOptions(memory_bytes=64 << 20))]
    assert sum(sizes) == 400_000
    assert max(sizes) < 200_000
    with pytest.raises(RecordError, match=r"in 1 record, first in line 400,002;"):
        read(csv(tmp_path, f"age,region,class\n{body}3,north,A\n"))


def test_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, which has no name of its own, is named in the error."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordError, match=r"^\.: this is a folder; name a file in it$"):
        read(Path("."))
