"""Tests of basket files."""

import csv
import gzip
import io
import itertools
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assocpriv import read_baskets
from assocpriv.guarantees.errors import BasketError
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue
from assocpriv.records import basket_files, basket_sources, columns
from assocpriv.records.basket_files import BatchOptions, ReadCounts, stream_baskets
from assocpriv.records.baskets import Baskets, to_baskets
from assocpriv.records.cells import MISSING_WORDS, join_cells
from assocpriv.records.layout import ReadOptions
from tests.records.conftest import named, refused

ABC, FOUR = Catalogue(["a", "b", "c"]), Catalogue.numbered(4)
SECRET = "Zx9secret"
SECRET_NUMBER = "987654"


def written(folder: Path, name: str, content: bytes | dict[str, Any]) -> Path:
    """Write bytes, or a table as Parquet, and return the path."""
    path = folder / name
    if isinstance(content, dict):
        pq.write_table(pa.table(content), path)
    else:
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def counted(path: Path, catalogue: Catalogue | None = None, **options: Any) -> tuple[Baskets, ReadCounts]:
    """Read a file whole; return its baskets and counts."""
    return basket_files.read_baskets(path, catalogue, ReadOptions(**options))


def streamed(path: Path, catalogue: Catalogue, **options: Any) -> tuple[list[set[str]], ReadCounts]:
    """Return all baskets of a stream as sets of names, and its counts."""
    stream = stream_baskets(path, catalogue, ReadOptions(**options))
    return [basket for batch in stream for basket in named(batch)], stream.counts


# ---- dat

BLANKS = st.text(" \t", min_size=1, max_size=3)
LINES = st.lists(
    st.tuples(st.lists(st.integers(0, 999_999_999), max_size=6), BLANKS, st.sampled_from(["", " ", "\t "])),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40)
@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from([4, 7, 1 << 22]), st.booleans())
def test_dat_matches_a_naive_parser(lines: Any, end: str, last: bool, chunk: int, bom: bool) -> None:
    """The dat reader agrees with str.split for any blanks, line ends, chunk size and numbers."""
    text = end.join(edge + blank.join(map(str, ids)) + edge for ids, blank, edge in lines)
    text = "\ufeff" * bom + text + end * last
    content = text.lstrip("\ufeff").replace("\r\n", "\n")
    expected = [set(line.split()) for line in content.removesuffix("\n").split("\n")] if content else []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(basket_sources, "CHUNK_BYTES", chunk)
        path = written(Path(folder), "x.dat", text.encode())
        if not any(expected):
            refused(r"no baskets|no item", read_baskets, path, empty="keep")
        else:
            options = {"repeats": "merge", "empty": "keep"}
            got = [{str(int(name)) for name in basket} for basket in expected]
            problem = ""
            try:
                read_baskets(path, **options)
            except BasketError as error:  # the numbers of some examples look like ids or totals
                problem, options = str(error), options | {"layout": "dat"}
            assert not problem or "layout='dat'" in problem
            baskets, counts = counted(path, **options)
            assert named(baskets) == got
            assert streamed(path, baskets.catalogue, **options) == (got, counts)


def test_dat_catalogues(tmp_path: Path) -> None:
    """Numbers are looked up by name in a numbered and in a named catalogue; the derived one is 0 … largest.

    Numbers that no numbered catalogue has room for give a catalogue of the distinct ones.
    """
    path = written(tmp_path, "x.txt", b"3 1\n7\n")
    assert read_baskets(path).catalogue == Catalogue.numbered(8)
    for catalogue in (Catalogue.numbered(5), Catalogue(["3", "x", "1"])):
        baskets, counts = counted(path, catalogue=catalogue, unknown="drop")
        assert named(baskets) == [{"1", "3"}, set()]
        assert counts == ReadCounts(baskets=2, unknown_dropped=1, repeats_merged=0, empty_kept=0)
    path = written(tmp_path, "x.dat", f"{MAX_ITEMS} 5\n".encode())
    assert list(read_baskets(path).catalogue) == sorted([str(MAX_ITEMS), "5"])


def test_counts(tmp_path: Path) -> None:
    """The counts cover what was dropped, merged and kept; a basket emptied by dropping is not an error."""
    path = written(tmp_path, "x.dat.gz", b"1 1 1 9\n\n9 9\n0\n")
    options = {"repeats": "merge", "unknown": "drop", "empty": "keep"}
    baskets, counts = counted(path, catalogue=Catalogue.numbered(2), **options)
    assert list(baskets) == [{1}, set(), set(), {0}]
    assert counts == ReadCounts(baskets=4, unknown_dropped=3, repeats_merged=2, empty_kept=1)


def test_the_first_bad_byte_is_reported() -> None:
    """The error names the line of the first bad byte, with any chunk size."""
    lines = [b"1 2", b"1234567890", b"-1", b"x", b"3"]
    texts = ["more than 9 digits", "minus sign", "character other"]
    for order in itertools.permutations(range(3)):
        content = b"\n".join([lines[0], *(lines[1 + place] for place in order), lines[4]])
        for chunk in (1, 8, 1 << 20):
            with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
                patch.setattr(basket_sources, "CHUNK_BYTES", chunk)
                refused(f"line 2 .*{texts[order[0]]}", read_baskets, written(Path(folder), "x.dat", content))


# ---- CSV and Parquet


def csv_reference(content: bytes) -> list[list[str]] | int:
    """Return the names of each line by Python's csv module, or the number of the first bad line."""
    found = []
    for number, line in enumerate(io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")), 1):
        try:
            cells = next(csv.reader([line.decode()], strict=True, skipinitialspace=True))
        except (UnicodeDecodeError, csv.Error):
            return number
        found.append([name for cell in cells if (name := cell.strip())])
    return found


def cells_by_chunks(content: bytes, chunk: int) -> list[list[str]] | int:
    """Return the same as csv_reference, from the reader under test."""
    options = ReadOptions("lines within=none separator=, encoding=utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), "x.csv", content)
        batches = basket_files._map_batches(
            lambda cells: cells, path, BatchOptions(options, basket_sources.MemoryBudget(chunk), MISSING_WORDS)
        )
        try:
            cells = join_cells(batches)
        except BasketError as error:
            return int(str(error).split(" ")[2])
    assert cells.names is not None
    rows = np.split(cells.codes, np.cumsum(cells.sizes))[:-1]
    return [[cells.names[code] for code in row] for row in rows]


CSV_PIECES = st.sampled_from(
    'a|b|milk| |\t|\u00a0é|,|,|,|\n|\n|\r\n|"a, b"|"c"|""|"a""b"|"a",|,"d, e",'.encode().split(b"|")
)
CSV_ODD = st.sampled_from(
    [b'"', b'a"b', b'"a" ', b"\r", b"\0", b"\xff", b"\xc3", b'"x\ny"', b"\r\r\n", b"\x1c", b"\xe2\x80\xa8", b"z" * 40]
)


@given(st.lists(CSV_PIECES, max_size=25), st.lists(CSV_ODD | CSV_PIECES, max_size=4), st.booleans(), st.integers(1, 40))
def test_basket_csv_matches_the_csv_module(pieces: Any, odd: Any, bom: bool, chunk: int) -> None:
    """Splitting at commas gives the result of Python's csv module for each line, or refuses the same line.

    Quoted cells with line breaks, each of which the module reads from several lines, are among test_stranger_files.py.
    """
    content = b"\xef\xbb\xbf" * bom + b"".join([*pieces, *odd, *pieces])
    assume(not basket_sources._has_broken_cells(content.removeprefix(b"\xef\xbb\xbf")))
    limit = csv.field_size_limit(30)
    try:
        assert cells_by_chunks(content, chunk) == csv_reference(content)
    finally:
        csv.field_size_limit(limit)


def test_basket_csv(tmp_path: Path) -> None:
    """Names may be quoted and padded; empty cells are ignored; numbers are names; quoted commas do not split names."""
    content = '\ufeffé, "b, c",\r\n10,, 9 \nb\n'.encode()
    for name in ("x.csv", "x.csv.gz"):
        baskets = read_baskets(written(tmp_path, name, content))
        assert named(baskets) == [{"é", "b, c"}, {"9", "10"}, {"b"}]
        assert list(baskets.catalogue) == ["10", "9", "b", "b, c", "é"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_long_csv(tmp_path: Path, ending: str) -> None:
    """Long CSV may have column names in any case, or none, a BOM, quotes and blank lines."""
    by_name = '\ufeffitem, TRANSACTION,price\n a,007,1\n\n"b,c",7,2\nb,007,3'.encode()
    path = written(tmp_path, "x.csv", by_name.replace(b"\n", ending.encode() or b"\n") + ending.encode())
    assert named(read_baskets(path, layout="long rows=anywhere")) == [{"a", "b"}, {"b,c"}]
    first = written(tmp_path, "y.csv.gz", b"bill,sku,n\n1,3,x\n2,3,x\n1,10,x\n")
    baskets = read_baskets(first, layout="long rows=anywhere")
    assert (named(baskets), list(baskets.catalogue)) == ([{"3", "10"}, {"3"}], ["10", "3"])


@pytest.mark.parametrize(
    "table",
    [
        {"day": [1, 2, 3], "Item": ["b", "a", "c"], "Transaction": ["y", "x", "y"]},
        {"bill": [2, 1, 2], "sku": ["b", "a", "c"]},
        {"a.b": [2, 1, 2], "c.d": pa.array(["b", "a", "c"]).dictionary_encode()},
        {"id": [1, 2], "basket": [["c", "b"], ["a"]]},
        {"a.b": pa.array([["c", "b"], ["a"]], pa.large_list(pa.large_string()))},
    ],
)
def test_parquet(tmp_path: Path, table: dict[str, Any]) -> None:
    """Long Parquet and a column of lists give the baskets that the same table in memory gives."""
    path = written(tmp_path, "x.parquet", table)
    layout = "rows=anywhere" if len(table) > 1 and "basket" not in table else None
    assert named(read_baskets(path, layout=layout)) == [{"b", "c"}, {"a"}]
    if "Item" not in table:
        assert list(read_baskets(path, layout=layout)) == list(to_baskets(pa.table(table), layout=layout))


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
def test_long_parquet_in_groups(tmp_path: Path, coded: bool, shuffled: bool) -> None:
    """With rows=anywhere, rows of a transaction may be in several row groups, each with its own dictionary."""
    rows = np.sort(np.random.default_rng(1).integers(0, 300, 1000))
    if shuffled:
        np.random.default_rng(2).shuffle(rows)
    columns = [[f"t{row}" for row in rows.tolist()], [f"i{place % 37}" for place in range(1000)]]
    arrays = [pa.array(column) for column in columns]
    table = pa.table([array.dictionary_encode() if coded else array for array in arrays], names=["order", "i"])
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, row_group_size=90)
    expected: dict[str, set[str]] = {}
    for transaction, item in zip(*columns, strict=True):
        expected.setdefault(transaction, set()).add(item)
    layout = "rows=anywhere" if shuffled else None
    assert named(read_baskets(path, repeats="merge", layout=layout)) == list(expected.values())


def test_parquet_of_numbers_and_empties(tmp_path: Path) -> None:
    """Integer items are their decimals, sorted as names; null and empty lists are empty baskets."""
    path = written(tmp_path, "x.pq", {"basket": [[10, 9], None, []]})
    refused(r"x.pq: basket 2 is an empty basket \(2 in all\)", read_baskets, path)
    baskets, counts = counted(path, empty="keep")
    assert (named(baskets), list(baskets.catalogue)) == ([{"9", "10"}, set(), set()], ["10", "9"])
    assert counts.empty_kept == 2


# ---- what is refused

NOT_UTF8 = {"t": [1], "i": pa.array([SECRET.encode() + b"\xff"]).view(pa.string())}
BAD: list[tuple[str, bytes | dict[str, Any], dict[str, Any], str]] = [
    ("x.dat", b"1 2\n-987654\n", {}, "line 2 has a minus sign"),
    ("x.dat", b"1 2\n\n3 Zx9secret\n", {}, "line 3 has a character other"),
    ("x.dat", b"1 2\n3,987654\n", {}, "line 2 has a character other"),
    ("x.dat", b"1 2\r987654\n", {}, "line 1 has a character other"),
    ("x.dat", b"1 2\n9876549876\n", {}, "line 2 has an item number of more than 9 digits"),
    ("x.dat", b"1\n2\n3 \0\n", {}, "line 3 has a NUL byte"),
    ("x.dat", b"1\n987654\n", {"catalogue": FOUR}, "the 1st item of line 2 is not in .*1 such .*unknown="),
    ("x.dat", b"1\n987654\n", {"catalogue": ABC}, "the 1st item of line 1 is not in .*2 such"),
    ("x.dat", b"1\n987654 3 987654\n", {}, "line 2 repeats an item .1 repeats in 1 baskets.*repeats='merge'"),
    ("x.dat", b"1\n\n987654\n", {}, "line 2 is an empty basket .1 in all.*empty='keep'"),
    ("x.dat", b"1\n \t\n987654\n", {}, "line 2 is an empty basket"),
    ("x.dat", b"", {}, "holds no baskets"),
    ("x.dat.gz", b"", {}, "holds no baskets"),
    ("x.dat", b"\n\n", {"empty": "keep"}, "no item"),
    ("x.csv", b"", {}, "holds no baskets"),
    ("x.csv", b"a\nZx9secret,Zx9secret\n", {}, "line 2 repeats"),
    ("x.csv", b"a\nb,Zx9secret\n", {"catalogue": ABC}, "the 2nd item of line 2 is not in"),
    ("x.csv", b"a\n,\nZx9secret\n", {}, "line 2 is an empty basket"),
    ("x.csv", b"a\nZx9secret\xff\n", {"layout": "lines encoding=utf-8"}, "line 2 is not UTF-8"),
    ("x.csv", b"a\nZx9secret\0\n", {}, "line 2 has a NUL byte"),
    ("x.csv", b"receipt,item,qty\n1,Zx9secret,-1\n2,b,-2\n", {}, "the file holds no baskets"),
    ("x.csv", b"receipt,item\n1,K\xc3\xa4se\n2,K\xe4se\n", {}, "line 3 is not UTF-8 text, but others are"),
    ("x.csv", b"receipt,item\n1,K\x84se\n", {}, "neither UTF-8 nor Windows-1252"),
    ("x.csv", b"receipt,item\n1,Zx9secret\n", {"layout": "encoding=utf-16"}, "not utf-16 text"),
    ("x.csv", b"receipt,item\n1,tea\rZx9secret,milk\n\n3,\n", {}, "line 2 is not CSV: a carriage return"),
    ("x.csv", b"sep=x\nreceipt,item\n1,Zx9secret\n", {}, "line 1 states a separator"),
    ("x.csv", b"receipt,item,item\n1,Zx9secret,tea\n", {}, "2 columns have the name of the item column"),
    ("x.csv", b"a,b\n" + b"1,0\n" * 1100 + b"NaN,1\n", {"layout": "one-hot"}, "line 1102 has an empty cell"),
    ("x.csv", b"a,b\n" + b"1,1\n" * 1100 + b"0x1,1\n", {"layout": "one-hot"}, "line 1102, column 1 is neither"),
    ("x.csv", b"a\nb,Zx9secret\x07!\n", {}, "the 2nd item of line 2 is empty or has control"),
    ("x.csv", b'a\n"Zx9secret\nb\n', {}, "line 2 is not CSV"),
    ("x.csv", b'a\n"Zx9secret"Zx9secret\n', {}, "line 2 is not CSV"),
    ("x.csv", b"a\n" + b"Zx9secret" * 20_000, {}, "line 2 is not CSV: a cell has more than 131,072 char"),
    ("x.csv", b"", {"layout": "long"}, "holds no baskets"),
    ("x.csv", b"t,Zx9secret\n\n", {"layout": "long"}, "holds no baskets"),
    ("x.csv", b"Zx9secret\nb\n", {"layout": "long"}, "1 columns"),
    ("x.csv", b't,"Zx9secret\n1,b\n', {"layout": "long"}, "line 1 is not CSV"),
    ("x.csv", b"t,i\n1,b\n2,Zx9secret,c\n", {"layout": "long"}, "line 3 has . cells?, but"),
    ("x.csv", b"t,i\n1,b\nZx9secret\n", {"layout": "long"}, "line 3 has . cells?, but"),
    ("x.csv", b"t,i\n1,b\n2,\n2,Zx9secret\n", {"layout": "long"}, "line 3 has no item"),
    ("x.csv", b"t,i\n1,b\n\n ,Zx9secret\n", {"layout": "long header=yes"}, "line 4 has no transaction id"),
    ("x.csv", b"Zx9secret,b\nx,b\n", {"layout": "long header=no transaction=y"}, "not among"),
    ("x.csv", b"bill,Zx9secret\n1,b\n,b\n,c\n", {"layout": "long"}, "line 3 has no transaction id"),
    ("x.csv", b"t,i\n1,b\n2,Zx9secret\xff\n", {"layout": "long encoding=utf-8"}, "line 3 is not UTF-8"),
    ("x.csv", b"t,i\n1,b\n2,Zx9secret\0\n", {"layout": "long"}, "line 3 has a NUL byte"),
    ("x.csv", b"t,i\n1,b\n1,Zx9secret\x07!\n", {"layout": "long"}, "the 2nd item of basket 1 is empty or has control"),
    ("x.csv", b"t,i\n1,Zx9secret\n1,Zx9secret\n", {"layout": "long"}, "basket 1 repeats"),
    ("x.parquet", b"", {}, "holds no baskets"),
    ("x.parquet", b"Zx9secret" * 9, {}, "not Parquet"),
    ("x.parquet", b"PAR1" + b"Zx9secret" * 9 + b"PAR1", {}, "not Parquet"),
    ("x.parquet", {SECRET: ["a"], "b": ["c"]}, {}, "the 2 columns, 0 of them lists, is ambiguous"),
    ("x.parquet", {SECRET: [3], "b": [4]}, {}, "the 2 columns, 0 of them lists, is ambiguous.* pass frame > 0"),
    ("x.parquet", {SECRET: [1, 3], "b": [1, 0]}, {"layout": "one-hot"}, "row 2, column 1 is .* write 1 for any"),
    ("x.parquet", {SECRET: [1, 2.0], "b": [1, 0]}, {"layout": "one-hot"}, "row 2, column 1 .* \\(frame > 0\\)"),
    ("x.parquet", {SECRET: [b"1"], "b": [1]}, {"layout": "one-hot"}, "column 1 of items must hold true and false"),
    ("x.parquet", {"a\x07": [True], "b": [True]}, {}, "columns cannot be items"),
    ("x.parquet", {SECRET: ["a"]}, {}, "the 1 columns, 0 of them lists, is ambiguous"),
    ("x.parquet", {SECRET: [["a"]], "b": [["a"]]}, {}, "2 columns, 2 of them lists"),
    ("x.parquet", {"order": [1], "i": [987654.5]}, {}, "items have fractions"),
    ("x.parquet", {"order": [1], "i": [{SECRET: 987654}]}, {}, "nested"),
    ("x.parquet", {"t": [{SECRET: 1}], "i": ["a"]}, {}, "not nested"),
    ("x.parquet", {"t": [2, 1, 2], "i": ["a", SECRET, None]}, {}, "row 3 has no item"),
    ("x.parquet", NOT_UTF8, {}, "must be text in UTF-8"),
    (
        "x.parquet",
        {"b": [["a"], [SECRET, None]]},
        {"layout": "list item=b missing=keep"},
        "2nd item of basket 2 is",
    ),
    ("x.parquet", {"b": [["a"], ["b", SECRET]]}, {"catalogue": ABC}, "the 2nd item of basket 2 is not in"),
    ("x.parquet", {"b": pa.array([], pa.list_(pa.string()))}, {}, "holds no baskets"),
    ("x.parquet", {"b": [SECRET.encode()], "item": [SECRET.encode()]}, {}, "got binary"),
    ("x.xls", b"Zx9secret\n", {}, "save it as .xlsx"),
    ("x.jsonl", b"Zx9secret\n", {}, r"pass the table pandas.read_json\(FILE, lines=True\)"),
    ("x.json.gz", gzip.compress(b"Zx9secret\n", mtime=0), {}, r"pass the table pandas.read_json\(FILE\)"),
    ("x.arrow", b"Zx9secret\n", {}, r"write Parquet, or .* pyarrow.feather.read_table\(FILE\)"),
    ("x.csv", b"ARROW1Zx9secret\n", {}, "Arrow's IPC format is not supported"),
    ("x.csv", b"receipt,item\n1.5E+17,Zx9secret\n", {}, "the transaction id in line 2 is a number that has lost"),
    ("x.csv", b"receipt,item\n1,987654\n2,1.5e-07\n", {}, "the item in line 3 is a number that has lost digits"),
    ("x.csv", b"PK\x03\x04Zx9secret", {}, "the file is not a spreadsheet"),
    ("x.csv", b"PAR1Zx9secret", {}, "not Parquet"),
    ("x.dat", b"987654\n", {"layout": "xml"}, "the layout has unknown words; give one of lines"),
    ("x.dat", b"987654\n", {"empty": "maybe"}, "empty must be one of"),
]


@pytest.mark.parametrize(("name", "content", "options", "match"), BAD)
def test_bad_files(tmp_path: Path, name: str, content: Any, options: dict[str, Any], match: str) -> None:
    """Each kind of bad file has one error that gives position and problem, and discloses no item.

    A stream refuses the same files at the same places, without totals that it cannot know.
    """
    path = written(tmp_path, name, content)
    with pytest.raises(BasketError, match=match) as caught:
        read_baskets(path, **options)
    assert {"maybe", "xml"} & set(options.values()) or str(caught.value).startswith(f"{name}: ")
    check_silent(caught.value)
    if match == "no item" or "empty" in options or "xml" in options.values():
        return  # a stream has a catalogue, and checks its arguments at once
    options = {"catalogue": Catalogue(["a", "b", "1", "2", "3", SECRET, SECRET_NUMBER])} | options
    with pytest.raises(BasketError, match=match.partition(".*")[0].partition(" .1 ")[0]) as caught:
        streamed(path, **options)
    assert str(caught.value).startswith(f"{name}: ")
    check_silent(caught.value)


def check_silent(error: BaseException) -> None:
    """Check that an error and its traceback show no secret, and that it has no chained exception."""
    shown = str(error) + repr(error) + "".join(traceback.format_exception(error))
    assert SECRET not in shown
    assert SECRET_NUMBER not in shown
    assert error.__context__ is None


@pytest.mark.parametrize("name", ["x.dat.gz", "x.csv.gz", "long.csv.gz"])
def test_damaged_gzip(tmp_path: Path, name: str) -> None:
    """Data that is incomplete, damaged or not compressed at all raises one clear error."""
    lines = "".join(f"{number},{SECRET_NUMBER}{number}\n" for number in range(5000)).encode()
    whole = gzip.compress(lines.replace(b",", b" ") if "dat" in name else b"t,i\n" + lines)
    damaged = whole[:50] + bytes(50) + whole[100:]
    options = {"layout": "long"} if "long" in name else {}
    for content in (whole[:-20], damaged, lines):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(BasketError, match="compressed data") as caught:
            read_baskets(path, **options)  # type: ignore[arg-type]
        check_silent(caught.value)


@pytest.mark.parametrize("ending", [".dat", ".csv", ".dat.gz", ".parquet"])
def test_files_that_cannot_be_opened(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a folder and a file without permission have different errors."""
    path = tmp_path / f"x{ending}"
    refused("no such file", read_baskets, path)
    path.mkdir()
    refused("folder", read_baskets, str(path))
    path.rmdir()

    def refuse(path: Path, progress: object) -> None:
        raise PermissionError(13, SECRET)

    monkeypatch.setattr(basket_sources, "open_source", refuse)  # root may read everything, so mode bits would not do
    with pytest.raises(BasketError, match="permission") as caught:
        read_baskets(path)
    check_silent(caught.value)


# ---- streams

KINDS = [".dat", ".dat.gz", ".csv", ".csv.gz", ".parquet", ".long", ".long.gz", "-long.parquet"]


def many(folder: Path, kind: str) -> tuple[Path, dict[str, Any]]:
    """Write 3,000 baskets in some format, and return the path and options that read them."""
    lists = [sorted({str(row % 7), str(row % 11), str(row % 13)}) for row in range(3000)]
    long = [(str(row), name) for row, names in enumerate(lists) for name in names]
    if kind.endswith("parquet"):
        columns = dict(zip(("order", "i"), map(list, zip(*long, strict=True)), strict=True))
        return written(folder, f"x{kind}", columns if "long" in kind else {"items": lists}), {}
    if "long" in kind:
        text = "t,i\n" + "".join(f"{row},{name}\n" for row, name in long)
        return written(folder, f"x{kind}", text.encode()), {"layout": "long"}
    text = "".join((" " if "dat" in kind else ",").join(names) + "\n" for names in lists)
    return written(folder, f"x{kind}", text.encode()), {}


@pytest.mark.parametrize("kind", KINDS)
def test_streams_give_what_reading_gives(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batches of a stream are the baskets of the whole file, in order, with the same catalogue and counts."""
    monkeypatch.setattr(basket_sources, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(columns, "_ROWS", 100)
    path, options = many(tmp_path, kind)
    catalogue = Catalogue.numbered(10)
    whole, counts = counted(path, catalogue=catalogue, unknown="drop", **options)
    stream = stream_baskets(path, catalogue, ReadOptions(unknown="drop", **options))
    assert stream.counts == ReadCounts(0, 0, 0, 0)
    batches = list(stream)
    assert list(stream) == []
    assert (len(batches) == 1) == ("long" in kind)
    assert all(batch.catalogue is catalogue for batch in batches)
    assert np.array_equal(np.concatenate([batch.items for batch in batches]), whole.items)
    assert np.array_equal(np.concatenate([batch.sizes for batch in batches]), whole.sizes)
    assert stream.counts == counts
    assert counts.unknown_dropped > 0


@pytest.mark.parametrize("kind", [".dat", ".csv", ".parquet"])
@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (["1", "2", "1"], "basket 2501 repeats an item; count repeated items once"),
        (["1", "77"], "the 2nd item of basket 2501 is not in the catalogue; check the spelling"),
        ([], "basket 2501 is an empty basket; keep empty baskets"),
    ],
)
def test_streams_report_positions_across_batches(
    tmp_path: Path, kind: str, bad: list[str], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a basket gives its number in the whole file, and follows the batches before it."""
    monkeypatch.setattr(basket_sources, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(columns, "_ROWS", 100)
    lists = [["1", "2"]] * 2500 + [bad] + [["1", "2"]] * 2500
    text = "\n".join((" " if kind == ".dat" else ",").join(names) for names in lists).encode()
    path = written(tmp_path, f"x{kind}", {"items": lists} if kind == ".parquet" else text)
    stream = stream_baskets(path, Catalogue.numbered(14))
    refused(match if kind == ".parquet" else match.replace("basket", "line", 1), list, stream)
    assert 1000 < stream.counts.baskets <= 2500


def test_streams_keep_the_memory_limit(tmp_path: Path) -> None:
    """Long layouts and lines that exceed the memory limit are refused, with advice."""
    for kind in (".long", ".long.gz", "-long.parquet"):
        path, options = many(tmp_path, kind)
        with pytest.raises(BasketError, match=r"read as a whole.*memory_bytes.*one basket per line"):
            list(stream_baskets(path, Catalogue.numbered(13), ReadOptions(memory_bytes=100_000, **options)))
    path = written(tmp_path, "x.dat", b"1 2\n" + b"3 " * 400_000)
    with pytest.raises(BasketError, match=r"line 2 takes at least .*memory_bytes"):
        list(stream_baskets(path, Catalogue.numbered(13), ReadOptions(memory_bytes=1 << 20)))
    assert len(read_baskets(path, repeats="merge")) == 2


def test_streams_check_their_options_at_once(tmp_path: Path) -> None:
    """Invalid options are refused before the file is opened."""
    refused("repeats must be one of", ReadOptions, repeats="count")
    with pytest.raises(BasketError, match=r"nothing.dat: no such file"):
        next(stream_baskets(tmp_path / "nothing.dat", ABC))


# ---- real data


def test_groceries(shared_data: Path) -> None:
    """The groceries data have the published size once blanks around names are gone."""
    baskets = read_baskets(shared_data / "groceries.csv")
    assert repr(baskets) == "Baskets(9,835 baskets over 169 items)"
    assert len(baskets.items) == 43_367


@pytest.mark.parametrize("ending", [".dat", ".csv", ".dat.gz", ".parquet"])
def test_progress_is_reported(tmp_path: Path, ending: str) -> None:
    """The reported bytes never decrease for text, end at the file's size, and do not affect the result."""
    text = (b"1,2,3\n3,1\n" if ending == ".csv" else b"1 2 3\n3 1\n") * 5_000
    content = {"items": [["a", "b"], ["c"]] * 5_000} if ending == ".parquet" else text
    path = written(tmp_path, f"x{ending}", content)
    steps: list[tuple[int, int]] = []
    with_progress = read_baskets(path, progress=lambda done, total: steps.append((done, total)))
    plain = read_baskets(path)
    assert list(with_progress) == list(plain)
    assert {total for _, total in steps} == {path.stat().st_size}
    assert max(done for done, _ in steps) == path.stat().st_size
    assert ending == ".parquet" or steps == sorted(steps)
