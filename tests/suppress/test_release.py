"""Tests of tables that are published: what is written, that the rest stays, and that nothing else is released."""

import gzip
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assocpriv import suppress
from assocpriv.promise.errors import FileError, RecordError, TemplateError
from assocpriv.suppress import release
from assocpriv.suppress.progressive import disclose

GROUPS = [  # table 1 of the paper: job, country, bankruptcy, child, records rated good and bad
    ("Cook", "US", "Current", "No", 0, 4),
    ("Artist", "France", "Current", "No", 1, 3),
    ("Doctor", "US", "Never", "Yes", 4, 2),
    ("Trader", "UK", "Discharged", "No", 4, 0),
    ("Trader", "UK", "Never", "No", 1, 0),
    ("Trader", "Canada", "Never", "No", 1, 0),
    ("Clerk", "Canada", "Never", "No", 3, 0),
    ("Clerk", "Canada", "Discharged", "No", 1, 0),
]
TEMPLATES = [{"channel": ["Job", "Country"], "sensitive": {"Bankruptcy": ["Discharged"]}, "confidence": "75%"}]
NAMES = ["Job", "Country", "Bankruptcy", "Child", "Rating"]


def bank() -> pd.DataFrame:
    """Return the records of the paper's table 1."""
    rows = [
        (*group[:4], rating)
        for group in GROUPS
        for rating, count in (("G", group[4]), ("B", group[5]))
        for _ in range(count)
    ]
    return pd.DataFrame(rows, columns=NAMES)


def table_2() -> pd.DataFrame:
    """Return the records of the paper's table 2: Trader, Clerk, UK and Canada are suppressed."""
    return bank().replace({"Job": {"Trader": "*", "Clerk": "*"}, "Country": {"UK": "*", "Canada": "*"}})


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_the_papers_example(tmp_path, ending):
    """Table 1 of the paper becomes its table 2, in files of all kinds."""
    source, output = tmp_path / f"bank{ending}", tmp_path / f"released{ending}"
    separator = "\t" if ending == ".tsv" else ","
    if ending == ".parquet":
        bank().to_parquet(source)
    else:
        bank().to_csv(source, index=False, sep=separator)
    done = suppress.suppress_file(source, TEMPLATES, output, "Rating")
    released = pd.read_parquet(output) if ending == ".parquet" else pd.read_csv(output, sep=separator)
    pd.testing.assert_frame_equal(released, table_2(), check_dtype=False)
    assert [(each.support, each.hits) for each in done.checked] == [(10, 5)]
    assert done.checked[0].confidence == Fraction(1, 2)


def test_cells_that_stay_are_the_same_bytes(tmp_path):
    """In CSV nothing but suppressed cells changes: not blanks, blank lines, ends of lines or a mark before them."""
    head = b"\xef\xbb\xbf\r\nnote, Job ,x,ill\r\n"
    lines = [b"007, cook,1.50,no\r\n", b"\n", b" a ,clerk,NaN,yes\n", b",cook,,no\r\n"]
    (tmp_path / "t.csv").write_bytes(head + b"".join(lines) + b"8,clerk,-0,yes")
    templates = [{"channel": ["Job"], "sensitive": {"ill": ["yes"]}, "confidence": "60%"}]
    suppress.suppress_file(tmp_path / "t.csv", templates, tmp_path / "o.csv")
    wanted = [line.replace(b" cook", b"*").replace(b"cook", b"*").replace(b"clerk", b"*") for line in lines]
    assert (tmp_path / "o.csv").read_bytes() == head + b"".join(wanted) + b"8,*,-0,yes\n"


def test_ways_of_writing_a_value_are_not_released(tmp_path):
    """A value that is written in several ways is released in one, because the difference could tell what was hidden."""
    (tmp_path / "t.csv").write_text("Job,ill,z\ncook,no,1\n cook,yes,2\ncook,no,3\nclerk,no,4\n")
    templates = [{"channel": ["Job"], "sensitive": {"ill": ["yes"]}, "confidence": "50%"}]
    done = suppress.suppress_file(tmp_path / "t.csv", templates, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "Job,ill,z\ncook,no,1\ncook,yes,2\ncook,no,3\nclerk,no,4\n"
    assert done.respelled == ("Job",)
    (tmp_path / "q.csv").write_text('Job,ill,z\ncook,no,1\n"cook",yes,2\ncook,no,"3"\nclerk,no,4\n')
    done = suppress.suppress_file(tmp_path / "q.csv", templates, tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == 'Job,ill,z\ncook,no,1\ncook,yes,2\ncook,no,"3"\nclerk,no,4\n'


def test_values_that_need_quotes_keep_them(tmp_path):
    """A value with the separator or a quote in it is written so that it is read as it was."""
    frame = pd.DataFrame({"Job": ["a,b", 'c"d', "e"] * 4, "ill": ["yes", "no", "no"] * 4, "z": range(12)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    templates = [{"channel": ["Job"], "sensitive": {"ill": ["yes"]}, "confidence": "80%"}]
    done = suppress.suppress_file(tmp_path / "t.csv", templates, tmp_path / "o.csv")
    hidden = done.suppression.suppressed["Job"]
    assert len(hidden) == 2
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "o.csv"), frame.replace({"Job": dict.fromkeys(hidden, "*")}))


@pytest.mark.parametrize("chunk", [1 << 9, 1 << 21])
def test_random_tables_keep_their_rows(rng, tmp_path, monkeypatch, chunk):
    """Files of many pieces: each record keeps its place, its other cells, and loses what is suppressed."""
    monkeypatch.setattr("assocpriv.records.sources.CHUNK_BYTES", chunk)
    for run in range(6):
        frame = pd.DataFrame({
            "a": rng.choice(list("uvwxyz"), 300), "n": np.arange(300), "b": rng.choice(["", "p", "q"], 300),
            "s": rng.choice(["s0", "s1", "s2"], 300), "c": rng.choice(["k", "l"], 300),
        })  # fmt: skip
        templates = [{"channel": ["a", "b"], "sensitive": {"s": ["s0", "s1"]}, "confidence": Fraction(4 + run % 3, 10)}]
        source, output = tmp_path / f"{run}.csv", tmp_path / f"{run}-out.csv"
        frame.to_csv(source, index=False)
        done = suppress.suppress_file(source, templates, output, "c")
        for column, values in done.suppression.suppressed.items():
            frame[column] = frame[column].where(~frame[column].isin([value or "" for value in values]), "*")
        released = pd.read_csv(output, keep_default_na=False)
        pd.testing.assert_frame_equal(released, frame, check_dtype=False)
        shares = [
            Fraction(int(group["s"].eq(value).sum()), len(group))
            for value in ("s0", "s1")
            for _, group in released.groupby(["a", "b"])
        ]
        assert max(shares) == max(each.confidence for each in done.checked) <= templates[0]["confidence"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_keep_types_and_rows(kind):
    """Frames come back as their own kind, with the types of all columns, the order of rows and the index."""
    frame = bank().assign(number=np.arange(24, dtype=np.int16), ratio=0.5, when=pd.Timestamp("2020-02-29"))
    frame.index = frame.index * 3 + 7
    frame["Country"] = frame["Country"].astype("category")
    given = {"pandas": lambda: frame, "polars": lambda: pl.from_pandas(frame), "pyarrow": lambda: pa.table(frame)}
    table = given[kind]()
    released, done = suppress.suppress(table, TEMPLATES, "Rating")
    assert type(released) is type(table)
    assert done.suppression.suppressed == {"Job": ("Clerk", "Trader"), "Country": ("Canada", "UK")}
    if kind == "pandas":
        assert released.index.equals(frame.index)
        assert [str(t) for t in released.dtypes] == [str(t) for t in frame.dtypes]
        assert sorted(released["Country"].cat.categories) == ["*", "France", "US"]  # nor do types tell what was there
        plain = released.reset_index(drop=True)
    else:
        assert released.schema == table.schema
        plain = released.to_pandas().reset_index(drop=True)
    wanted = table_2().assign(number=np.arange(24), ratio=0.5, when=pd.Timestamp("2020-02-29"))
    pd.testing.assert_frame_equal(plain[wanted.columns].astype(str), wanted.astype(str), check_dtype=False)


def test_parquet_keeps_types(tmp_path):
    """Parquet keeps all columns' types and its compression; numbers with a suppressed value become text."""
    frame = bank().assign(code=[1, 2, 3] * 8, small=np.arange(24, dtype=np.int8))
    frame["Country"] = frame["Country"].astype("category")
    pq.write_table(pa.table(frame), tmp_path / "t.parquet", row_group_size=5, compression="zstd")
    suppress.suppress_file(tmp_path / "t.parquet", TEMPLATES, tmp_path / "o.parquet", "Rating")
    before, after = pq.ParquetFile(tmp_path / "t.parquet"), pq.ParquetFile(tmp_path / "o.parquet")
    assert after.schema_arrow.equals(before.schema_arrow)
    assert after.metadata.row_group(0).column(0).compression == "ZSTD"
    templates = [TEMPLATES[0] | {"channel": ["code"], "confidence": "22%"}]
    done = suppress.suppress_file(tmp_path / "t.parquet", templates, tmp_path / "p.parquet", "Rating", category="code")
    assert done.suppression.suppressed["code"]
    released = pd.read_parquet(tmp_path / "p.parquet")
    hidden = [int(value) for value in done.suppression.suppressed["code"]]
    assert released["code"].tolist() == ["*" if code in hidden else str(code) for code in frame["code"]]
    assert released["small"].dtype == np.int8


def test_a_report_that_cannot_be_written_keeps_the_table_back(tmp_path, monkeypatch):
    """The report is written before the table takes its name: where the disk refuses it, nothing is left."""
    bank().to_csv(tmp_path / "t.csv", index=False)

    def full(*arguments, **options):
        raise FileError("the disk is full")

    monkeypatch.setattr(release, "atomic_output", full)
    with pytest.raises(FileError, match="full"):
        suppress.suppress_file(tmp_path / "t.csv", TEMPLATES, tmp_path / "o.csv", "Rating", report=tmp_path / "r.json")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(("one", "other"), [(float("nan"), None), (0.0, -0.0)])
def test_floats_of_one_value_look_alike_when_released(one, other):
    """NaN and null, 0 and -0, are one value each; left as they are the two would tell more than was counted."""
    codes, ill = [one] * 4 + [other] * 4 + [1.0, 2.0] * 4, ["yes"] * 4 + ["no"] * 8 + ["yes", "no"] * 2
    table = pa.table({"code": codes, "ill": ill})
    templates = [{"channel": ["code"], "sensitive": {"ill": ["yes"]}, "confidence": "60%"}]
    released, done = suppress.suppress(table, templates, category="code")
    assert done.respelled == ("code",)
    assert len(set(released["code"].to_pylist()[:8])) == 1
    assert max(each.confidence for each in done.checked) == Fraction(1, 2)


@pytest.mark.parametrize("kind", ["file", "pyarrow", "pandas"])
def test_metadata_are_not_released(kind, tmp_path):
    """What a table says of itself may hold suppressed values; only what gives pandas its types and index stays."""
    frame = bank().assign(Age=pd.array([20, 30, 40, 50] * 6, dtype="Int64")).set_index("Job")
    frame.attrs = {"note": "of each Trader"}
    table = pa.table(frame)
    place = table.schema.names.index("Job")
    field = table.schema.field(place).with_metadata({"levels": "Clerk, Trader"})
    noted = {**table.schema.metadata, b"survey": b"Trader, Clerk"}
    table = table.cast(table.schema.set(place, field).with_metadata(noted))
    templates = [TEMPLATES[0] | {"channel": ["Job", "Country", "Age"]}]
    output = tmp_path / "o.parquet"
    if kind == "pandas":
        frame = frame.reset_index()
        released, _ = suppress.suppress(frame, templates, "Rating", bins=2)
        released.to_parquet(output)
    elif kind == "file":
        pq.write_table(table, tmp_path / "t.parquet")
        suppress.suppress_file(tmp_path / "t.parquet", templates, output, "Rating", bins=2)
    else:
        pq.write_table(suppress.suppress(table, templates, "Rating", bins=2)[0], output)
    assert b"Trader" not in output.read_bytes()
    read = pd.read_parquet(output)
    assert "Trader" not in set(read.reset_index()["Job"])
    assert kind == "pandas" or read.index.name == "Job"
    assert set(read["Age"]) <= {"<30", "<40", ">=30", ">=40", "*"}


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_violation_is_not_released(tmp_path, monkeypatch, ending):
    """Where a fault leaves an inference above its bound the check finds it in the file, and nothing is left there."""
    frame = bank()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")

    def broken(*arguments, **options):
        found = disclose(*arguments, **options)
        found.suppressed.update(Job=(), Country=())
        return found

    monkeypatch.setattr(release, "disclose", broken)
    with pytest.raises(FileError, match="violates 1 of 1 bounds"):
        suppress.suppress_file(tmp_path / f"t{ending}", TEMPLATES, tmp_path / f"o{ending}", "Rating")
    with pytest.raises(FileError, match="violates 1 of 1 bounds"):
        suppress.suppress(frame, TEMPLATES, "Rating")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.parquet"]


def test_a_redundant_bound_is_checked(tmp_path):
    """Bounds that others imply are counted in what was written, too."""
    weak = TEMPLATES[0] | {"channel": ["Job"], "confidence": "90%"}
    _, done = suppress.suppress(bank(), [*TEMPLATES, weak], "Rating")
    assert done.redundant == 1
    assert [(each.bound.channel, each.support, each.hits) for each in done.checked] == [
        (("Job", "Country"), 10, 5),
        (("Job",), 10, 5),
    ]


def test_a_file_that_changes_is_refused(tmp_path, monkeypatch):
    """A table that is changed between its two readings is refused, and nothing is written."""
    path = tmp_path / "t.csv"
    bank().to_csv(path, index=False)

    def meanwhile(*arguments, **options):
        path.write_text(path.read_text() + "Cook,US,Never,No,G\n")
        return disclose(*arguments, **options)

    monkeypatch.setattr(release, "disclose", meanwhile)
    with pytest.raises(RecordError, match=r"t\.csv: the file was changed while it was read"):
        suppress.suppress_file(path, TEMPLATES, tmp_path / "o.csv", "Rating")
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("other", ["discharged", "DISCHARGED", "Ｄischarged"])
def test_a_sensitive_value_written_in_two_ways_is_refused(other):
    """A reader takes both for one value, so that a bound on one alone promises nothing; named, each is bounded."""
    frame = bank()
    frame.loc[frame.index[-1], "Bankruptcy"] = other
    with pytest.raises(TemplateError, match="column Bankruptcy also writes Discharged in another way"):
        suppress.check(frame, TEMPLATES)
    named = [TEMPLATES[0] | {"sensitive": {"Bankruptcy": ["Discharged", other]}}]
    assert len(suppress.suppress(frame, named, "Rating")[1].checked) == 2
    numbers = frame.assign(Bankruptcy=["1", "1.0", "2"] * 8)
    with pytest.raises(TemplateError, match="also writes 1 in another way"):
        suppress.check(numbers, [TEMPLATES[0] | {"sensitive": {"Bankruptcy": ["1"]}}])


def test_a_mark_that_is_a_value_is_refused():
    """A mark that a column holds would hide which cells were suppressed; another does not, and * is a value then."""
    with pytest.raises(TemplateError, match="mark NA stands for missing values"):
        suppress.suppress(bank(), TEMPLATES, "Rating", mark="NA", missing="NA")
    frame = bank().replace({"Job": {"Cook": "*"}})
    with pytest.raises(TemplateError, match=r"column Job holds the mark \* .* mark="):
        suppress.suppress(frame, TEMPLATES, "Rating")
    released, done = suppress.suppress(frame, TEMPLATES, "Rating", mark="?")
    assert set(released["Job"]) == {"*", "Artist", "Doctor", "?"}
    assert {each.reason.values for each in done.suppression.reasons if each.reason} == {("?", "UK"), ("?", "?")}


def test_a_file_is_no_table_in_memory(tmp_path):
    """A file's name goes to the function of files, which the error names; nothing is read."""
    with pytest.raises(TypeError, match="suppress_file takes files"):
        suppress.suppress(tmp_path / "t.csv", TEMPLATES)


@pytest.mark.parametrize("mark", ["", " ", " x", "a\nb", 0])
def test_marks_that_cannot_be_read_are_refused(mark):
    """A mark is text on one line without blanks around it."""
    with pytest.raises(TemplateError, match="the mark must be text on one line"):
        suppress.suppress(bank(), TEMPLATES, "Rating", mark=mark)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"channel": ["Job", "Land"]}, "lacks column Land"),
        ({"channel": ["Job", "Rating"]}, "template 1: the class Rating is in the channel"),
        ({"sensitive": {"Rating": ["G"]}}, "template 1: the class Rating is sensitive"),
        ({"channel": ["Job", "Bankruptcy"]}, "Bankruptcy is sensitive and stands in its own channel"),
        ({"confidence": "100%"}, "confidence must lie between 0 and 1"),
        ({"sensitive": {"Bankruptcy": ["Later"]}}, "no record has 'Later' in column Bankruptcy"),
        ({"confidence": "1%"}, "no suppression meets the templates"),
        ({"channel": ["age"]}, "column age of a channel holds numbers; pass bins="),
        ({"channel": ["day"]}, "column day of a channel holds times; category=day"),
    ],
)
def test_requests_that_cannot_be_met(change, message):
    """Templates that do not fit the table, or that nothing satisfies, are refused in words."""
    frame = bank().assign(age=range(24), day=pd.date_range("2020-01-01", periods=24))
    with pytest.raises((TemplateError, RecordError), match=message):
        suppress.suppress(frame, [TEMPLATES[0] | change], "Rating")


def test_no_cell_stands_in_an_error(tmp_path):
    """What cannot be read is named by its place: no cell of the table is shown."""
    lines = ["Job,Country,Bankruptcy\n", "secretvalue,US,Never\n", "secretvalue,US\n"]
    for text, place in (
        ("".join(lines), "line 3 has 2 cells"),
        ("".join(lines[1:]), "line 1, .*, lacks columns Job, Country, Bankruptcy; .* has 3 names"),
        (lines[0] + '"secretvalue\nx",US,Never\n', "line 2 is not CSV: quotes are not closed"),
        (lines[0] + "secretvalue,\udcff,x\n", "only UTF-8 text and Parquet"),
        (lines[0] + "secretvalue,US,Never\n", "no record has 'Discharged'"),
    ):
        (tmp_path / "t.csv").write_text(text, encoding="utf-8", errors="surrogateescape")
        with pytest.raises((RecordError, TemplateError), match=place) as caught:
            suppress.check(tmp_path / "t.csv", TEMPLATES)
        assert "secretvalue" not in str(caught.value)


def test_check_lists_what_is_above():
    """The check of the paper's table 1 finds the one inference that its example names."""
    found = suppress.check(bank(), TEMPLATES)
    assert [(each.values, each.support, each.hits) for each in found.violations] == [(("Trader", "UK"), 5, 4)]
    assert not found.passed
    assert suppress.check(table_2(), TEMPLATES).passed


def test_gzip_is_the_same_at_each_run(tmp_path):
    """A compressed release holds no time and no name of a file that was on the way."""
    bank().to_csv(tmp_path / "t.csv", index=False)
    for name in ("a.csv.gz", "b.csv.gz"):
        suppress.suppress_file(tmp_path / "t.csv", TEMPLATES, tmp_path / name, "Rating")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"Job,Country,")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
