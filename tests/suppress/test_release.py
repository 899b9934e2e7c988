"""Tests of published tables: written cells, their order, and the absence of anything else."""

import gzip
import json
import pickle
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suppress import bank_customers

from assocpriv import suppress
from assocpriv.guarantees.errors import FileError, RecordError, TemplateError
from assocpriv.suppress import release
from assocpriv.suppress.randomization import RandomBits, ReleaseKey
from assocpriv.suppress.suppression import choose_hidden_cells

TEMPLATES = [{"channel": ["Job", "Country"], "sensitive": {"Bankruptcy": ["Discharged"]}, "confidence": "75%"}]
DETERMINISTIC = {"mode": "deterministic"}
NAMES = list(bank_customers.COLUMNS)


def bank() -> pd.DataFrame:
    """Return the records of the paper's table 1."""
    return pd.DataFrame(bank_customers.rows(), columns=NAMES)


def of_job(confidence: str, ill: str = "yes", channel: str = "Job") -> list[dict[str, Any]]:
    """Return a template of one column."""
    return [{"channel": [channel], "sensitive": {"ill": [ill]}, "confidence": confidence}]


def alike(found: pd.DataFrame, wanted: pd.DataFrame) -> bool:
    """Return whether two tables have the same records as texts, in any order."""
    rows = [Counter(map(tuple, table.astype(str).to_numpy().tolist())) for table in (found, wanted)]
    return list(found.columns) == list(wanted.columns) and rows[0] == rows[1]


def as_source(frame: pd.DataFrame, kind: str, folder: Path) -> Any:
    """Return a table as a file or a frame of a type."""
    path = folder / f"table.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
        return path
    if kind in ("csv", "csv.gz", "tsv"):
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
        return path
    return {"pandas": frame.copy, "polars": lambda: pl.from_pandas(frame), "pyarrow": lambda: pa.table(frame)}[kind]()


def released_from(source: Any, templates: Any, *of_class: str, **options: Any) -> tuple[pd.DataFrame, Any]:
    """Return the release of a file or a frame as a frame of pandas, and its report."""
    if not isinstance(source, Path):
        table, done = suppress.suppress(source, templates, *of_class, **options)
        return table if isinstance(table, pd.DataFrame) else table.to_pandas(), done
    output = source.with_name(f"released-{source.name}")
    done = suppress.suppress_file(source, templates, output, *of_class, **options)
    if source.suffix == ".parquet":
        return pd.read_parquet(output), done
    separator = "\t" if source.suffix == ".tsv" else ","
    return pd.read_csv(output, dtype=str, keep_default_na=False, sep=separator), done


def only_cooks_shown() -> pd.DataFrame:
    """Return the records as the deterministic mode with the class releases them."""
    frame = bank()
    frame.loc[frame["Job"] != "Cook", ["Job", "Country"]] = "*"
    return frame


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet"])
def test_all_file_types_have_the_same_release(tmp_path, kind):
    """In all file types only the cooks' cells need no random test; the highest confidence is counted in the file."""
    released, done = released_from(as_source(bank(), kind, tmp_path), TEMPLATES, "Rating", **DETERMINISTIC)
    assert alike(released, only_cooks_shown())
    assert [(each.support, each.hits) for each in done.checked] == [(15, 5)]
    assert (done.details["tests"], done.details["epsilon_spent"]) == (0, 0.0)


def test_shown_cells_keep_their_text(tmp_path):
    """In CSV only hidden cells, quotes and the order change; blanks and spellings of numbers stay."""
    lines = b'007, cook,1.50,no\r\n\n a ,clerk, 0x1 ,yes\n\n,cook,,no\r\n8,clerk,"N,""A",yes'
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf\r\nnote, Job ,x,ill\r\n" + lines)
    suppress.suppress_file(
        tmp_path / "t.csv", of_job("60%"), tmp_path / "o.csv", columns=["note=drop"], **DETERMINISTIC
    )
    first, *rest = (tmp_path / "o.csv").read_bytes().splitlines(keepends=True)
    assert first == b"Job,x,ill\n"
    assert sorted(rest) == sorted([b"*,1.50,no\n", b"*, 0x1 ,yes\n", b"*,,no\n", b'*,"N,""A",yes\n'])


def test_spellings_of_a_value_are_not_released(tmp_path):
    """A value with several spellings is released in one, because the spelling could disclose hidden cells."""
    for other in (" cook", '"cook"'):
        (tmp_path / "t.csv").write_text(f'Job,ill,z\ncook,no,1\n{other},yes,2\ncook,no,"2"\nclerk,no,4\n')
        options = {"min_group_size": 1, "force": True}
        done = suppress.suppress_file(tmp_path / "t.csv", of_job("50%"), tmp_path / "o.csv", **options)
        assert done.respelled == (("Job",) if other == " cook" else ())
        assert not {" ", '"'} & set((tmp_path / "o.csv").read_text())


def test_values_that_need_quotes_keep_them(tmp_path):
    """A value with the separator or a quote in it is written so that it is read back unchanged."""
    jobs, ill = ["a,b", 'c"d'] * 6 + ["e", "f"] * 2, ["no"] * 13 + ["yes"] * 3
    frame = pd.DataFrame({"Job": jobs, "ill": ill, "z": [1, 2, 3, 4] * 4})
    frame.to_csv(tmp_path / "t.csv", index=False)
    suppress.suppress_file(tmp_path / "t.csv", of_job("80%"), tmp_path / "o.csv", **DETERMINISTIC)
    assert alike(pd.read_csv(tmp_path / "o.csv"), frame.replace({"Job": {"e": "*", "f": "*"}}))


@pytest.mark.parametrize("memory", [30_000, None])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_random_tables_keep_their_rows(rng, tmp_path, monkeypatch, kind, memory):
    """Files of many pieces, shuffled in parts or whole: records keep all but hidden cells, and bounds hold."""
    monkeypatch.setattr("assocpriv.records.basket_sources.CHUNK_BYTES", 1 << 9)
    monkeypatch.setattr("assocpriv.records.basket_sources.MIN_CHUNK_BYTES", 1 << 9)
    frame = pd.DataFrame({
        "a": rng.choice(list("uvwxyz"), 300), "n": np.arange(300) // 2, "b": rng.choice(["", "p", "q"], 300),
        "s": rng.choice(["s0", "s1", "s2"], 300), "c": rng.choice(["k", "l"], 300),
    })  # fmt: skip
    templates = [{"channel": ["a", "b"], "sensitive": {"s": ["s0", "s1"]}, "confidence": "50%"}]
    released, done = released_from(as_source(frame, kind, tmp_path), templates, memory_bytes=memory)
    released, frame = released.astype(str), frame.astype(str)
    assert released["n"].tolist() != frame["n"].tolist()
    before = released.merge(frame, on=["n", "s", "c"], suffixes=("", "_was"))
    for name in ("a", "b"):
        before = before[before[name].eq("*") | (before[name] == before[f"{name}_was"])]
    assert set(before["n"]) == set(frame["n"])
    assert alike(released[["n", "s", "c"]], frame[["n", "s", "c"]])
    groups = released.groupby(["a", "b"])["s"]
    shares = [Fraction(int(group.eq(value).sum()), len(group)) for value in ("s0", "s1") for _, group in groups]
    assert max(shares) == max(each.confidence for each in done.checked) <= Fraction(1, 2)
    assert groups.size().min() == done.details["smallest_group"] >= 2


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_keep_types(kind, tmp_path):
    """Frames keep their own type and the types of all columns, shuffled and without an index."""
    frame = bank().assign(number=np.arange(24, dtype=np.int16) // 2, ratio=0.5, when=pd.Timestamp("2020-02-29"))
    frame.index = frame.index * 3 + 7
    frame["Country"] = frame["Country"].astype("category")
    table = as_source(frame if kind == "pandas" else frame.reset_index(drop=True), kind, tmp_path)
    released, _ = suppress.suppress(table, TEMPLATES, "Rating", **DETERMINISTIC)
    assert type(released) is type(table)
    if kind == "pandas":
        assert released.index.tolist() == list(range(24))
        assert [str(t) for t in released.dtypes] == [str(t) for t in frame.dtypes]
        assert sorted(released["Country"].cat.categories) == ["*", "US"]  # types do not disclose hidden values
    else:
        assert released.schema == table.schema
        released = released.to_pandas()
    wanted = only_cooks_shown().assign(number=np.arange(24) // 2, ratio=0.5, when=pd.Timestamp("2020-02-29"))
    assert alike(released, wanted)


def test_parquet_keeps_types(tmp_path):
    """Parquet keeps all columns' types and its compression; numbers with a hidden value become text."""
    frame = bank().assign(code=[1, 2, 3] * 8, small=np.arange(24, dtype=np.int8) // 2)
    frame["Country"] = frame["Country"].astype("category")
    pq.write_table(pa.table(frame), tmp_path / "t.parquet", row_group_size=5, compression="zstd")
    suppress.suppress_file(tmp_path / "t.parquet", TEMPLATES, tmp_path / "o.parquet", "Rating", **DETERMINISTIC)
    before, after = pq.ParquetFile(tmp_path / "t.parquet"), pq.ParquetFile(tmp_path / "o.parquet")
    assert after.schema_arrow.types == before.schema_arrow.types
    assert after.metadata.row_group(0).column(0).compression == "ZSTD"
    templates = [TEMPLATES[0] | {"channel": ["code"], "confidence": "22%"}]
    released, _ = released_from(tmp_path / "t.parquet", templates, columns=["code=category"], **DETERMINISTIC)
    assert "*" in set(released["code"])
    assert released["small"].dtype == np.int8


def test_a_rerun_is_identical_and_another_key_is_counted(tmp_path):
    """The same table, request and key give the same bytes; any change is counted as a further release."""
    bank().to_csv(tmp_path / "t.csv", index=False)

    def run(name, **options):
        done = suppress.suppress_file(tmp_path / "t.csv", TEMPLATES, tmp_path / name, min_group_size=1, **options)
        return done.number, (tmp_path / name).read_bytes()

    first = run("a.csv.gz")
    assert run("b.csv.gz") == first  # without a time or the name of a temporary file
    number, content = run("c.csv.gz", new_key=True)
    assert number == 2
    assert content != first[1]  # in another order, except with probability 10⁻¹⁷
    assert run("d.csv", max_epsilon=2.0)[0] == 3
    key = tmp_path / "t.csv.key"
    assert key.stat().st_mode & 0o077 == 0
    secret = json.loads(key.read_text())["key"]
    assert len(bytes.fromhex(secret)) == 32
    assert not any(secret.encode() in path.read_bytes() for path in tmp_path.iterdir() if path != key)
    key.chmod(0o644)
    with pytest.raises(FileError, match="others may read the key"):
        run("e.csv")
    key.write_text("{}")
    key.chmod(0o600)
    with pytest.raises(FileError, match="it has no format assocpriv-release-key"):
        run("e.csv")
    assert not (tmp_path / "e.csv").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars"])
def test_a_column_that_identifies_the_row_is_refused(kind, tmp_path):
    """A column whose values are all different must be dropped or be in a channel."""
    source = as_source(bank().assign(id=np.arange(24)), kind, tmp_path)
    with pytest.raises(TemplateError, match="column id has a different value in each row"):
        released_from(source, TEMPLATES)
    released, done = released_from(source, TEMPLATES, columns="id=drop")
    assert (list(released.columns), done.dropped) == (NAMES, ("id",))


def test_more_records_than_memory_holds_are_refused(tmp_path):
    """A compressed file with too many records is refused before it exceeds the allowed memory."""
    with gzip.open(tmp_path / "t.csv.gz", "wt") as stream:
        stream.write("Job,ill,z\n" + "a,no,1\nb,no,1\n" * 200_000)
    with pytest.raises(RecordError, match=r"records need more than the 8 MiB allowed; raise memory_bytes"):
        suppress.suppress_file(tmp_path / "t.csv.gz", of_job("50%", "no"), tmp_path / "o.csv", memory_bytes=8 << 20)


def test_bounds_hold_in_each_class():
    """With a class, bounds hold in each class of a group, and the class is released unchanged."""
    released, done = suppress.suppress(bank(), TEMPLATES, "Rating", min_group_size=1)
    shares = released["Bankruptcy"].eq("Discharged").groupby([released[name] for name in ("Job", "Country", "Rating")])
    assert shares.mean().max() == float(max(each.confidence for each in done.checked)) <= 0.75
    assert sorted(released["Rating"]) == sorted(bank()["Rating"])


def test_nothing_is_released_without_a_stored_key(tmp_path, monkeypatch):
    """The key is written before the table gets its name: if writing it fails, no file is left."""
    bank().to_csv(tmp_path / "t.csv", index=False)

    def full(*arguments, **options):
        raise FileError("the disk is full")

    monkeypatch.setattr(ReleaseKey, "write", full)
    with pytest.raises(FileError, match="full"):
        suppress.suppress_file(tmp_path / "t.csv", TEMPLATES, tmp_path / "o.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(("one", "other"), [(float("nan"), None), (0.0, -0.0)])
def test_floats_of_one_value_look_alike_when_released(one, other):
    """NaN and null, and 0 and -0, are one value each, released in one spelling: two would disclose more."""
    ill = ["yes"] * 4 + ["no"] * 8 + ["yes", "no"] * 2
    table = pa.table({"code": [one] * 4 + [other] * 4 + [1.0, 2.0] * 4, "ill": ill})
    released, done = suppress.suppress(table, of_job("60%", channel="code"), columns={"code": "category"})
    assert done.respelled == ("code",)
    assert len({cell for cell in released["code"].to_pylist() if cell not in ("1", "2", "*")}) <= 1
    assert max(each.confidence for each in done.checked) <= Fraction(3, 5)


def released_as(kind: str, table: pa.Table, folder: Any, templates: Any = TEMPLATES, **options: Any) -> Any:
    """Release a table as a file, in pyarrow or in pandas, and return the release as a Parquet file."""
    given, output = folder / "t.parquet", folder / "o.parquet"
    if kind == "file":
        pq.write_table(table, given, row_group_size=5)
        suppress.suppress_file(given, templates, output, "Rating", **options)
    elif kind == "pyarrow":
        pq.write_table(suppress.suppress(table, templates, "Rating", **options)[0], output)
    else:
        frame = table.to_pandas(ignore_metadata=True)
        suppress.suppress(frame, templates, "Rating", **options)[0].to_parquet(output)
    return output


@pytest.mark.parametrize("kind", ["file", "pyarrow", "pandas"])
def test_metadata_are_not_released(kind, tmp_path):
    """Metadata of a table may hold hidden values; none is released, and binned columns hold intervals."""
    frame = bank().assign(Age=pd.array([20, 30, 40, 50] * 6, dtype="Int64")).set_index("Job")
    frame.attrs = {"note": "SECRET"}
    table = pa.table(frame)
    place = table.schema.names.index("Job")
    field = table.schema.field(place).with_metadata({"levels": "SECRET"})
    noted = {**table.schema.metadata, b"survey": b"SECRET"}
    table = table.cast(table.schema.set(place, field).with_metadata(noted))
    templates = [TEMPLATES[0] | {"channel": ["Job", "Country", "Age"]}]
    output = released_as(kind, table, tmp_path, templates, columns=2)
    assert b"SECRET" not in output.read_bytes()
    assert set(pd.read_parquet(output)["Age"]) <= {"<30", "<40", ">=30", ">=40", "*"}


@pytest.mark.parametrize("kind", ["file", "pyarrow", "pandas"])
def test_categories_are_those_of_the_rows(kind, tmp_path):
    """A category that no record has is not released; ordered categories keep their order."""
    frame = bank().assign(
        size=pd.Categorical(["small", "big"] * 12, ["small", "gone", "big"], ordered=True),
        colour=pd.Categorical([None, "red", "blue"] * 8, ["gone", "red", "blue"]),
    )
    output = released_as(kind, pa.table(frame), tmp_path)
    assert b"gone" not in output.read_bytes()
    released = pq.read_table(output).to_pandas()
    assert released["size"].cat.categories.tolist() == ["small", "big"]
    assert sorted(released["colour"].cat.categories) == ["blue", "red"]
    assert released["size"].value_counts().to_dict() == {"small": 12, "big": 12}
    assert released["colour"].value_counts().to_dict() == {"red": 8, "blue": 8}


def below_nulls() -> pa.Array:
    """Return 24 Arrow texts, every other one missing, with raw text below the missing ones."""
    places, valid = np.arange(0, 25 * 6, 6, dtype=np.int32), np.packbits(np.arange(24) % 2 == 1, bitorder="little")
    return pa.StringArray.from_buffers(24, *map(pa.py_buffer, (places, b"SECRETpublic" * 12, valid)))


COLUMNS = {  # with content beyond their cells
    "an enum of polars": lambda: pl.Series(["a", "b"] * 12, dtype=pl.Enum(["a", "SECRET", "b"])),
    "texts of polars": lambda: pl.from_arrow(below_nulls()),
    "texts of pyarrow": below_nulls,
    "a dictionary in pandas": lambda: pd.arrays.ArrowExtensionArray(
        pa.chunked_array([pa.DictionaryArray.from_arrays([0, 2] * 12, ["a", "SECRET", "b"])])
    ),
    "categories with a name": lambda: pd.Categorical(["a", "b"] * 12, pd.Index(["a", "b"], name="SECRET")),
    "categories in an order": lambda: pd.Categorical(["a", "b"] * 12, ["a", "SECRET", "b"], ordered=True),
    "masked numbers": lambda: pd.arrays.IntegerArray(np.array([0x544552434553, 2] * 12), np.array([True, False] * 12)),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_frames_have_only_their_cells(kind):
    """A stored release has no unused levels, no content below missing cells, and no pandas notes."""

    column = COLUMNS[kind]()
    if isinstance(column, pl.Series):
        frame = pl.from_pandas(bank()).with_columns(column.alias("more"))
    elif isinstance(column, pa.Array):
        frame = pa.table(bank()).append_column("more", column)
    else:
        frame = bank().assign(more=column)
        frame.columns.name = frame.attrs["note"] = "SECRET"
    released, _ = suppress.suppress(frame, TEMPLATES, "Rating")
    assert b"SECRET" in pickle.dumps(frame)
    assert b"SECRET" not in pickle.dumps(released)
    assert Counter(map(str, list(released["more"]))) == Counter(map(str, list(frame["more"])))
    assert str(getattr(released["more"], "dtype", "")).split("(")[0] == str(getattr(column, "dtype", "")).split("(")[0]


def test_lists_and_records_are_refused(tmp_path):
    """The check could not see that they identify the row, nor content beyond their cells."""
    table = pa.table(bank()).append_column("more", pa.array([["x"]] * 24))
    pq.write_table(table, tmp_path / "t.parquet")
    for given in (table, tmp_path / "t.parquet"):
        with pytest.raises(RecordError, match="column more holds lists or records"):
            suppress.check(given, TEMPLATES)
        assert not suppress.check(given, TEMPLATES, columns="more=drop").passed


@pytest.mark.parametrize(
    ("option", "values"),
    [("mode", ["Free"]), ("min_group_size", [2.5, 0, 25]), ("max_epsilon", ["3", float("nan"), 0, 11.0])],
)
def test_invalid_options_are_refused(option, values):
    """In Python, too; a misspelled option does not fall back to the default."""
    for value in values:
        with pytest.raises(TemplateError, match=option):
            suppress.suppress(bank(), TEMPLATES, "Rating", **{option: value})


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_violation_is_not_released(tmp_path, monkeypatch, ending):
    """The check finds an inference above its bound in the written file, and no file is left."""
    frame = bank()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")

    def broken(*arguments, **options):
        found = choose_hidden_cells(*arguments, **options)
        found.hidden.update({name: np.zeros(24, dtype=bool) for name in found.hidden})
        return found

    monkeypatch.setattr(release.suppression, "choose_hidden_cells", broken)
    with pytest.raises(FileError, match="violates 1 of 1 bounds"):
        suppress.suppress_file(tmp_path / f"t{ending}", TEMPLATES, tmp_path / f"o{ending}", "Rating")
    with pytest.raises(FileError, match="violates 1 of 1 bounds"):
        suppress.suppress(frame, TEMPLATES, "Rating")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.parquet"]


def test_the_strongest_bound_holds_over_all_channels():
    """Bounds of one value are counted as one: the lowest confidence, over all columns that the adversary knows."""
    weak = TEMPLATES[0] | {"channel": ["Child"], "confidence": "90%"}
    _, done = suppress.suppress(bank(), [weak, *TEMPLATES], "Rating")
    [bound] = [each.bound for each in done.checked]
    assert (bound.channel, bound.confidence) == (("Child", "Job", "Country", "Rating"), Fraction(3, 4))


def test_a_file_that_changes_is_refused(tmp_path, monkeypatch):
    """A table that changes between its two readings is refused, and nothing is written."""
    path = tmp_path / "t.csv"
    bank().to_csv(path, index=False)

    def meanwhile(*arguments, **options):
        path.write_text(path.read_text() + "Cook,US,No,Never,Good\n")
        return choose_hidden_cells(*arguments, **options)

    monkeypatch.setattr(release.suppression, "choose_hidden_cells", meanwhile)
    with pytest.raises(RecordError, match=r"t\.csv: the file changed while it was read"):
        suppress.suppress_file(path, TEMPLATES, tmp_path / "o.csv", "Rating")
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("other", ["discharged", "DISCHARGED", "Ｄischarged"])
def test_a_sensitive_value_written_in_two_ways_is_refused(other):
    """Readers see both as one value, so a bound on one alone guarantees nothing; if both are named, each is bounded."""
    frame = bank()
    frame.loc[23, "Bankruptcy"] = other
    with pytest.raises(TemplateError, match="column Bankruptcy also writes Discharged in another way"):
        suppress.check(frame, TEMPLATES)
    named = [TEMPLATES[0] | {"sensitive": {"Bankruptcy": ["Discharged", other]}}]
    assert len(suppress.suppress(frame, named)[1].checked) == 2


@pytest.mark.parametrize("named", [["1"], ["1", "1.0"]])
def test_a_sensitive_number_among_words_has_one_spelling(named):
    """Where equal numbers are separate values, a sensitive number with two spellings is refused, even if named."""
    templates = [TEMPLATES[0] | {"sensitive": {"Bankruptcy": named}}]
    mixed = bank().assign(Bankruptcy=["1", "1.0", "x"] * 8)
    numbers = bank().assign(Bankruptcy=["1", "1.0", "2"] * 8)
    for frame, columns in ((mixed, None), (numbers, {"Bankruptcy": "category"})):
        with pytest.raises(TemplateError, match=r"also writes 1(\.0)? in another way, and 1 and 1\.0 are one number"):
            suppress.check(frame, templates, columns=columns)


@pytest.mark.parametrize(
    ("spellings", "named"),
    [
        (["1.5", "1,5", "2.25"], ["1.5", "1,5"]),
        (["1.5", "1,50", "2.25"], ["1,50"]),
        (["1,000.5", "1.000,5", "2"], ["2"]),
    ],
)
def test_commas_that_cannot_be_read_in_one_way_are_refused(spellings, named):
    """Where 1,5 may mean 1.5, the share of a sensitive number is ambiguous."""
    frame = bank().assign(Bankruptcy=spellings * 8)
    with pytest.raises(TemplateError, match="numbers with ambiguous commas, as 1,5"):
        suppress.check(frame, [TEMPLATES[0] | {"sensitive": {"Bankruptcy": named}}])
    frame = bank().assign(Bankruptcy=[*spellings[:2], "ill"] * 8)
    assert suppress.check(frame, [TEMPLATES[0] | {"sensitive": {"Bankruptcy": ["ill"]}}]).records == 24


SPELLINGS = ["1000", "1000.0", "1e3", " 1000", "01000", "1,000", "1 000", "+1000"]


def wages(spellings: list[str]) -> pd.DataFrame:
    """Return 40 cooks and 40 clerks; two thirds of the cooks have one wage, in several spellings."""
    cooks = [spellings[place % len(spellings)] for place in range(27)] + [*map(str, range(3000, 3013))]
    return pd.DataFrame({"Job": ["Cook"] * 40 + ["Clerk"] * 40, "wage": [*cooks, *map(str, range(5000, 5040))]})


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "pyarrow"])
def test_equal_numbers_are_one_value(kind, tmp_path):
    """A wage in eight spellings is one wage in check and release, for counts of texts and of numbers."""
    source = as_source(wages(SPELLINGS), kind, tmp_path)
    templates = [{"channel": ["Job"], "sensitive": {"wage": ["1000.00"]}, "confidence": "50%"}]
    (found,) = suppress.check(source, templates).violations
    assert (found.bound.value, found.values, found.hits, found.support) == ("1000", ("Cook",), 27, 40)
    released, _ = released_from(source, templates)
    assert sorted(set(released["wage"])) == ["1000", *map(str, range(3000, 3013)), *map(str, range(5000, 5040))]
    assert released["wage"].eq("1000").groupby(released["Job"]).mean().max() <= 0.5


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["unknown"], r"pass missing='unknown'; columns='age=category' treats each value as a category"),
        (["n/a", "?"], r"pass missing='\?' missing='n/a'; "),
        (["Canary"], r"name each of them with missing=, otherwise correct them; columns='age=category'"),
        (["12,5", "1.250,0x"], r"name each of them with missing="),
        (["12,50"], r"use a dot as the decimal mark, and no separator of thousands; columns='age=category'"),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "pyarrow"])
def test_words_among_numbers_are_refused(words, remedy, kind, tmp_path):
    """A column of ages with a few words is not a column of categories; a word is shown if it marks missing values."""
    ages = [f"{20 + place % 50}.5" for place in range(100)]
    ages[6 : 6 + len(words)] = words
    frame = pd.DataFrame({"age": ages, "ill": ["no", "yes", "no", "no"] * 25})
    source, templates = as_source(frame, kind, tmp_path), of_job("50%", channel="age")
    with pytest.raises(TemplateError, match=remedy) as refused:
        suppress.check(source, templates)
    assert f"holds numbers, but something else in {len(words)} record" in str(refused.value)
    assert "first in record 7" in str(refused.value)
    assert "Canary" not in str(refused.value)
    assert suppress.check(source, templates, columns="age=category").records == 100
    if "missing='" in remedy:
        assert suppress.check(source, templates, columns="age=5", missing=words).bins["age"]


def test_words_with_a_few_numbers_are_categories():
    """A column in which fewer than nine of ten values and cells are numbers is a column of categories."""
    frame = pd.DataFrame({"size": ["1", "2", "3", "4+", "10 or more"] * 8, "ill": ["no", "yes", "no", "no"] * 10})
    assert suppress.check(frame, of_job("50%", channel="size")).records == 40


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "pyarrow"])
def test_a_column_of_counts_is_warned_about(kind, tmp_path):
    """Whole numbers above 0 in a column named count or alike may give the number of people of a row."""
    frame = pd.DataFrame({"job": ["cook", "clerk"] * 4, "ill": ["no", "yes"] * 4, "Count": [3, 1, 2, 2, 1, 4, 1, 1]})
    for counts, named in ((frame["Count"], True), (frame["Count"] / 2, False), (["1e30", "2", "inf", "3"] * 2, True)):
        source, templates = as_source(frame.assign(Count=counts), kind, tmp_path), of_job("99%", channel="job")
        assert suppress.check(source, templates).weights == ("Count",) * named
        assert suppress.check(source, templates, columns="Count=drop").weights == ()


def test_the_mark_is_not_a_value():
    """If a channel column holds *, or * marks a missing value, another mark is used."""
    released, done = suppress.suppress(bank().replace({"Job": {"Cook": "*"}}), TEMPLATES, "Rating", **DETERMINISTIC)
    assert done.mark == "**"
    assert set(released["Job"]) == {"*", "**"}
    assert suppress.suppress(bank(), TEMPLATES, missing="*")[1].mark == "**"
    every = bank().assign(Job=(["*", "**", "***", "(hidden)", "(withheld)", "x"] * 4))
    with pytest.raises(TemplateError, match="hold all of"):
        suppress.suppress(every, TEMPLATES)


def test_a_path_is_not_a_table_in_memory(tmp_path):
    """The error names the function for files; nothing is read."""
    with pytest.raises(TypeError, match=r"suppress_file\(\) takes files"):
        suppress.suppress(tmp_path / "t.csv", TEMPLATES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"channel": ["Job", "Land"]}, "lacks column Land"),
        ({"channel": ["Job", "Rating"]}, "the class Rating is in a channel"),
        ({"sensitive": {"Rating": ["Good"]}}, "the class Rating is sensitive"),
        ({"sensitive": {"Bankruptcy": ["Later"]}}, "no record has 'Later' in column Bankruptcy"),
        (
            {"confidence": "1%"},
            r"no suppression meets .* Bankruptcy = Discharged is in \d+\.\d+% of \d+ records.* allowed",
        ),
        ({"channel": ["age"]}, "column age of a channel holds numbers; columns='age=8' releases"),
        ({"channel": ["day"]}, "column day of a channel holds times; columns='day=category'"),
    ],
)
def test_templates_that_do_not_fit_are_refused(change, message):
    """Templates that do not fit the table, or cannot be met, are refused with the reason."""
    frame = bank().assign(age=[*range(12)] * 2, day=[*pd.date_range("2020-01-01", periods=12)] * 2)
    with pytest.raises((TemplateError, RecordError), match=message):
        suppress.suppress(frame, [TEMPLATES[0] | change], "Rating")


def test_errors_show_no_cell(tmp_path):
    """An error names the place in the table and shows no cell."""
    lines = ["Job,Country,Bankruptcy\n", "secretvalue,US,Never\n", "secretvalue,US\n"]
    for text, place in (
        ("".join(lines), "line 3 has 2 cells"),
        ("".join(lines[1:]), "line 1, .*, lacks columns Job, Country, Bankruptcy; .* has 3 names"),
        (lines[0] + '"secretvalue,US,Never\n', "line 2 is not CSV: quotes are not closed"),
        (lines[0] + "secretvalué,\udcff,x\n", "line 2 is not UTF-8 text, but others are"),
        (lines[0] + "secretvalue,US,Never\n", "no record has 'Discharged'"),
    ):
        (tmp_path / "t.csv").write_text(text, encoding="utf-8", errors="surrogateescape")
        with pytest.raises((RecordError, TemplateError), match=place) as caught:
            suppress.check(tmp_path / "t.csv", TEMPLATES)
        assert "secretvalue" not in str(caught.value)


def test_channels_have_more_combinations_than_64_bits_can_count(rng):
    """Sixty patterns of fifteen columns, two records each: those with a hit have a share of one half."""
    columns = {f"c{place}": [f"v{value}" for value in rng.integers(40, size=60)] * 2 for place in range(15)}
    frame = pd.DataFrame(columns | {"s": ["1"] * 20 + ["0"] * 100})
    templates = [{"channel": [*columns], "sensitive": {"s": ["1"]}, "confidence": "10%"}]
    assert [(each.support, each.hits) for each in suppress.check(frame, templates).violations] == [(2, 1)] * 20


def test_a_release_is_checked_over_all_channels():
    """A table with marks is a release, whose adversary knows all channels together."""
    both = [TEMPLATES[0] | {"channel": [name], "confidence": h} for name, h in (("Job", "75%"), ("Country", "85%"))]
    assert suppress.check(bank(), both).passed
    found = suppress.check(bank().replace({"Job": {"Cook": "*"}}), both)
    assert found.is_release
    assert [(each.values, each.support, each.hits) for each in found.violations] == [(("Trader", "UK"), 5, 4)]


def test_draws_are_independent() -> None:
    """Two draws of one release, and the first draws of two tables, agree for half of 400 fixed keys."""
    agreed = np.zeros(2, dtype=np.int64)
    for number in range(400):
        one, other = (RandomBits(number.to_bytes(32, "big"), about) for about in (b"one", b"other"))
        first, second, of_other = one.refuses(710), one.refuses(710), other.refuses(710)  # with probability 1/2
        agreed += [first == second, first == of_other]
    assert ((agreed > 160) & (agreed < 240)).all()


def test_a_workbook_is_released_as_csv(tmp_path):
    """A sheet is read like CSV and written as CSV; an output name of a workbook is refused."""
    wages(SPELLINGS).to_excel(tmp_path / "t.xlsx", index=False)
    templates = [{"channel": ["Job"], "sensitive": {"wage": ["1000"]}, "confidence": "50%"}]
    with pytest.raises(FileError, match=r"use an output name that ends in \.csv"):
        suppress.suppress_file(tmp_path / "t.xlsx", templates, tmp_path / "o.xlsx")
    suppress.suppress_file(tmp_path / "t.xlsx", templates, tmp_path / "o.csv")
    assert (pd.read_csv(tmp_path / "o.csv", dtype=str)["wage"] == "1000").sum() == 27
