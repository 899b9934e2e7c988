"""Tests of layout detection in text files: header, separator, layout.

Tests with files of other origins: detection, options, refusals, and that no message shows an item.

Tests of cells that are not items: ids, headers, words for missing values, other separators; and of the advice.
"""

import csv
import gzip
import io
import random
import sys
import tempfile
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import NAME, marks_in, shown_by
from hypothesis import given
from hypothesis import strategies as st
from naive import planned

import assocpriv as ap
from assocpriv.guarantees.errors import BasketError
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records import basket_sources, columns
from assocpriv.records.basket_files import stream_baskets
from assocpriv.records.basket_sources import SAMPLE_LINES, FirstRows
from assocpriv.records.baskets import Baskets
from assocpriv.records.layout import Ambiguity, Layout, ReadOptions, is_known
from assocpriv.records.layout_detection import RULES, detect_kind, detect_layout
from tests.records.conftest import named, refused

GOODS = ["whole milk", "bread", "fish; smoked", "eggs", "tea, green", "7up"]
SETS = [{GOODS[place] for place in range(6) if (row * 37 + 11) % 63 >> place & 1} for row in range(40)]
SETS = [basket for basket in SETS if basket]
CATALOGUE = Catalogue(sorted(GOODS))


def text_of(rows: list[list[str]], separator: str, ending: str = "\n") -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=ending).writerows(rows)
    return text.getvalue()


def long_rows(header: list[str], row: Any = lambda number, name: [f"T{number}", name]) -> list[list[str]]:
    """Return the long layout of the baskets."""
    return [header, *(row(number, name) for number, names in enumerate(SETS) for name in sorted(names))]


def onehot_rows(yes: str, no: str, with_ids: str | None = None) -> list[list[str]]:
    """Return the one-hot layout of the baskets, with a column of ids if it has a name."""
    rows = [GOODS, *([yes if name in names else no for name in GOODS] for names in SETS)]
    if with_ids is None:
        return rows
    return [[with_ids if number == 0 else f"c{number}", *row] for number, row in enumerate(rows)]


LAYOUTS = {
    "basket": [sorted(names) for names in SETS],
    "long": long_rows(["InvoiceNo", "StockCode"]),
    "long of three": long_rows(["date", "customer", "product"], lambda number, name: ["2020-01-02", f"{number}", name]),
    "long, other order": long_rows(["itemDescription", "Price", "Order ID"], lambda n, name: [name, "2", f"{n}"]),
    "long, member": long_rows(["Member_number", "Date", "itemDescription"], lambda n, name: [f"{n}", "x", name]),
    "0/1": onehot_rows("1", "0"),
    "True/False": onehot_rows("True", "False"),
    "t/f": onehot_rows("t", "f"),
    "t/?": onehot_rows("t", "?"),
    "0/1 with ids": onehot_rows("1", "0", "order_id"),
    "0/1 with an index": onehot_rows("1", "0", ""),
}


@pytest.mark.parametrize(("start", "ending"), [(b"", "\n"), (b"\xef\xbb\xbf", "\r\n")], ids=["plain", "marked"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"], ids=["comma", "semicolon", "tab", "bar"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_detected(
    tmp_path: Path, layout: str, separator: str, ending: str, start: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Each layout is read with every separator, mark and line end, whole and as a stream, and is logged in one line."""
    path = tmp_path / "x.csv"
    path.write_bytes(start + text_of(LAYOUTS[layout], separator, ending).encode())
    assert named(ap.read_baskets(path)) == SETS
    assert len(caplog.messages) == (2 if layout == "t/?" else 1)  # a count of empty cells
    assert not any(name in message for message in caplog.messages for name in GOODS)
    words = caplog.messages[0].removeprefix("x.csv: read as: ")
    assert words.startswith(
        {"basket": "lines", "long": "long"}.get(layout.partition(",")[0].partition(" ")[0], "one-hot")
    )
    assert named(ap.read_baskets(path, layout=words)) == SETS  # the logged layout can be requested
    assert str(Layout.parse(words)) == words
    batches = stream_baskets(path, CATALOGUE, ReadOptions())
    assert [basket for batch in batches for basket in named(batch)] == SETS


def test_the_log_shows_only_common_column_names(read: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Columns with common names are shown by name, any other column by number."""
    rows = long_rows(["InvoiceNo", "StockCode", "Description"], lambda n, name: [f"{n}", name, "text"])
    read(text_of(rows, ";"))
    read(text_of(long_rows([NAME, "sache"]), ","), layout=f"transaction={NAME} item=sache")
    assert caplog.messages == [
        "x.csv: read as: long transaction=InvoiceNo item=StockCode separator=; header=yes",
        "x.csv: read as: long transaction=#1 item=#2 separator=, header=yes",
    ]


@pytest.mark.parametrize(
    ("rows", "layout"),
    [
        (long_rows(["kasse", "sache"]), "transaction=kasse item=sache"),
        (long_rows(["kasse", "sache"]), "transaction=KASSE item=2"),
        (long_rows(["der kasse", "sache"]), "long transaction='der kasse'"),
        (long_rows(["kasse", "sache"]), "item=sache"),
        (long_rows(["T0", "bread"])[1:], "transaction=1 item=2 header=no"),
        (long_rows(["kasse", "sache"]), "transaction=1 item=2 header=yes separator=comma"),
        (long_rows(["1", "2"]), "transaction=1 item=2 header=yes"),
        (long_rows(["x", "w", "b"], lambda n, name: ["0", name, f"{n}"]), "transaction=3 item=2"),
        (long_rows(["b", "x", "product"], lambda n, name: [f"{n}", "0", name]), "transaction=b"),
        (onehot_rows("1", "0", "who"), "transaction=who"),
        (onehot_rows("1", "0", "who"), "one-hot transaction=1"),
        (onehot_rows("yes", ""), "one-hot"),
        ([["a basket"], *LAYOUTS["basket"]], "lines header=yes separator=,"),
        ([["items"], *LAYOUTS["basket"]], "header=yes"),
        (LAYOUTS["basket"], "lines separator=,"),
    ],
)
@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.txt"])
def test_the_requested_layout_decides(read: Any, rows: list[list[str]], layout: str, name: str) -> None:
    """Requested columns, header, separator and format are used, whatever the file's ending."""
    content = text_of(rows, ",").encode()
    assert read(gzip.compress(content) if name.endswith("gz") else content, name, layout=layout) == SETS


def test_names_in_a_file_of_numbers(read: Any) -> None:
    """A .dat or .txt file of names is read as lines of names, and refused if blanks may separate them."""
    assert read("milk,bread\ntea,milk,eggs\n", "b.txt") == [{"milk", "bread"}, {"tea", "milk", "eggs"}]
    assert read("order_id\titem\n1\tmilk\n1\ttea\n", "b.dat") == [{"milk", "tea"}]
    assert read("milk\nbread\n", "b.txt") == [{"milk"}, {"bread"}]
    quoted, layout = 'eggs  tea\n"whole milk" eggs \n', "lines separator=blank"
    assert read(quoted, "b.txt", layout=layout) == [{"eggs", "tea"}, {"whole milk", "eggs"}]
    refused(f"layout='{layout}'", read, quoted.replace('"', ""), "b.txt")


TABLES = {
    "unknown header": (long_rows(["kasse", "sache"]), "looks like a header"),
    "no header": (long_rows(["", ""], lambda n, name: [f"{n}", name])[1:], r"long transaction=#1 item=#2 header=no"),
    "text ids": (long_rows(["", ""], lambda n, name: ["abcdefghij"[n % 10] * 3, name])[1:], "often have equal cells"),
    "counts": ([GOODS[:4], *([str(row % 5), "2", "0", "3"] for row in range(9))], "such as quantities of items"),
    "answers": ([["left", "yes", "no", "yes", "no"]] * 3 + [["right", "no", "no", "yes", "yes"]] * 3, "lines repeat"),
    "common names only": ([["items"], *LAYOUTS["basket"]], "lines header=yes"),
    "ragged below a header": ([["order", "item"], ["1", "tea"], ["2", "tea", "milk"]], "line 3 has more or fewer"),
    "pairs of opposites": ([["tea", "milk"], ["0", "1"], ["1", "0"], ["1", "0"]], "one-hot"),
    "several ids": ([["day", "who", *GOODS], *([f"d{n % 2}", f"c{n % 3}", *"101010"] for n in range(9))], "in a table"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_ambiguous_text_is_refused(read: Any, kind: str) -> None:
    """Tables without common names, and first lines that may be headers, are refused with the layouts to request."""
    rows, output = TABLES[kind]
    message = refused(output, read, text_of(rows, ","), repeats="merge", empty="keep")
    assert "layout=" in message
    assert not any(name in message for name in [*GOODS, "left", "right"])
    assert len(read(text_of(rows, ","), layout="lines", repeats="merge")) == len(rows)  # the requested layout decides


@pytest.mark.parametrize(
    ("content", "layout", "message"),
    [
        ("kasse;a,sache\n1;x,2\n2;x,3\n", None, "by commas or by semicolons; .*'separator=,' or .*'separator=;'"),
        ("whole milk\nbrown bread\ntea\n", None, "'lines separator=blank'.*'lines separator=,'"),
        ("@ITEM=1\n@ITEM=2\n1 2\n", None, "comments and names in SPMF"),
        ("order,item\n1,tea\n", "transaction=bill", "transaction= is not among the 2"),
        ("order,item\n1,tea\n", "transaction=3", "transaction= is not among the 2"),
        ("order,item\n1,tea\n", "transaction=٢", "transaction= is not among the 2"),
        ("order,item\n1,tea\n", "item=order transaction=1", "must be different"),
        ("tea,eggs\nmilk,tea\n", "transaction=1 item=2", "header=yes'.*header=no'"),
        ("a,b,c\n1,tea,2\n", "transaction=a", "common name for items; name it with item="),
        ("tea\n1\n", "one-hot", "check the separator"),
        ("tea,tea\n1,0\n", "one-hot", "columns cannot be items: catalogue entry 2 repeats"),
        ("tea,milk\n1,0\n1,2\n", "one-hot", "line 3, column 2 is neither true nor false"),
        ("tea,milk\n1,0\n1\n", "one-hot", "line 3 has 1 cell, but"),
        ("tea,milk\n1,1\n\n1,0\n", "one-hot", "line 3 is an empty basket"),
        ("tea,milk\n1,1\r1,0\n", "one-hot", "line 2 is not CSV: a carriage return"),
        ("tea,milk\rbread\n", None, "line 1 is not CSV: a carriage return"),
        ("order,item,qty\n1,tea,2\n1,rye,x\n", None, "the quantity in line 3 is not a number"),
        ("tea\n", "separator=x", "separator or header is invalid; give one of"),
        ("tea\n", "header=maybe", "separator or header is invalid; give one of"),
        ("tea\n", "lines item=2", "a layout lines does not take item; give one of"),
        ("tea\n", "long colour=red", "a layout long does not take one of the keys; give one of"),
        ("tea\n", "lines encoding=latin-9", "encoding must be one of utf-8, utf-16, windows-1252"),
        ("tea\n", "lines 'open", "unknown words; give one of lines, dat, long, one-hot, list"),
        ("tea\n", "list", "needs the separator of the items in a cell, as within=,"),
        ("1 2\n", "dat separator=,", "a layout dat does not take separator"),
    ],
)
def test_bad_layouts(read: Any, content: str, layout: str | None, message: str) -> None:
    """Impossible layouts, and words that do not fit the file, raise one clear error."""
    refused(message, read, content, layout=layout)


def test_the_rules_are_those_of_the_docs() -> None:
    """The table of rules in the docs equals that in the code, and each example follows its rule."""
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    for number, rule in enumerate(RULES, 1):
        assert f"| {number} | `{rule.kind}` | {rule.sign} | `{rule.example}` |" in text
        found = FirstRows(rule.example.split(" / "), "," if "," in rule.example else " ")
        if rule.kind == "refused":
            with pytest.raises(Ambiguity):
                detect_kind(found, Layout())
        else:
            assert detect_kind(found, Layout()) == rule.kind


def test_a_later_line_that_does_not_fit_is_reported(tmp_path: Path) -> None:
    """Lines beyond the first do not change the layout; one that does not fit is an error with its number."""
    many = SAMPLE_LINES + 500
    path = tmp_path / "x.csv"
    for content, message in (
        ("tea,milk\n" + "1,1\n" * many + "tea,milk\n", f"line {many + 2}, column 1 is neither"),
        ("order,item\n" + "".join(f"{n},tea\n" for n in range(many)) + "1,2,3\n", f"line {many + 2:,} has 3 cells"),
    ):
        path.write_text(content)
        refused(message, ap.read_baskets, path)
        refused(message, list, stream_baskets(path, Catalogue(["tea", "milk"])))
    path.write_text("tea,milk,eggs\ntea\n" * many + "order;item\n1;2\n")
    assert len(ap.read_baskets(path)) == 2 * many + 2


def test_onehot_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A one-hot file is a stream of batches, blanks and quotes around its words change nothing."""
    path = tmp_path / "x.csv"
    rows = onehot_rows("1", "0", "id")
    rows[5] = [f" {cell} " for cell in rows[5]]
    path.write_text(text_of(rows, ",").replace("c7", '"c7"'))
    whole = ap.read_baskets(path)
    assert named(whole) == SETS
    assert list(whole.catalogue) == GOODS
    monkeypatch.setattr(basket_sources, "CHUNK_BYTES", 50)
    batches = list(stream_baskets(path, CATALOGUE, ReadOptions()))
    assert len(batches) > 10
    assert [basket for batch in batches for basket in named(batch)] == SETS


@pytest.mark.parametrize("usual", [True, False])
def test_parquet_columns(tmp_path: Path, usual: bool, caplog: pytest.LogCaptureFixture) -> None:
    """In Parquet as in CSV, columns are found by common names or as requested, and logged."""
    names = ["day", "StockCode", "InvoiceNo"] if usual else ["day", "sache", NAME]
    columns = list(zip(*long_rows(names, lambda n, name: ["d", name, f"{n}"])[1:], strict=True))
    pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), tmp_path / "x.parquet")
    layout = None if usual else f"transaction={NAME} item=2"
    assert named(ap.read_baskets(tmp_path / "x.parquet", layout=layout)) == SETS
    shown = "transaction=InvoiceNo item=StockCode" if usual else "transaction=#3 item=#2"
    assert caplog.messages == [f"x.parquet: read as: long {shown}"]
    if not usual:
        with pytest.raises(BasketError, match="layout='long transaction=#3 item=#2'") as caught:
            ap.read_baskets(tmp_path / "x.parquet")
        assert not marks_in(shown_by(caught.value))


WORDS = st.sampled_from(
    ["milk", "bread", "whole milk", "tea 2", "7", "12", "item", "order", "Products", "0", "1", "t", "é"]
)
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=5, unique=True), min_size=1, max_size=12)


@given(LINES, st.sampled_from(",;|\t"))
def test_baskets_are_never_silently_something_else(lines: list[list[str]], separator: str) -> None:
    """A file of baskets is read as such, or refused, unless line 1 names columns above lines of equal length."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        path.write_text(text_of(lines, separator), encoding="utf-8")
        try:
            found = named(ap.read_baskets(path))
        except BasketError:
            return
    as_header = {"order"} & set(lines[0]) and {"item", "Products"} & set(lines[0])
    if as_header and len({len(line) for line in lines}) == 1:
        return
    assert found == [set(line) for line in lines]


def shows_no_numbers(lines: list[list[str]]) -> bool:
    """Return whether lines have different lengths, and first line, first and last cells are not only numbers."""
    return len({len(line) for line in lines}) > 1 and not any(
        all(map(str.isdigit, cells)) for cells in (lines[0], [line[0] for line in lines], [line[-1] for line in lines])
    )


@given(LINES.filter(shows_no_numbers), st.sampled_from(",;|\t"))
def test_ragged_lines_are_baskets(lines: list[list[str]], separator: str) -> None:
    """Lines of different lengths are baskets without any option, unless line 1 may be a header."""
    lines = [[f"x{word}" if is_known(word) else word for word in line] for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        path.write_text(text_of(lines, separator), encoding="utf-8")
        assert named(ap.read_baskets(path)) == [set(line) for line in lines]


@pytest.mark.parametrize("layout", [*LAYOUTS, *TABLES])
@pytest.mark.parametrize("message", [None, "transaction=1", "header=yes", "one-hot"])
def test_no_item_is_shown(read: Any, layout: str, message: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the log nor a refusal shows an item, in any layout and at any position."""
    rows, shown = LAYOUTS[layout] if layout in LAYOUTS else TABLES[layout][0], []
    for place in range(min(3, len(rows))):
        marked = [list(row) for row in rows]
        marked[place][-1] = NAME
        try:
            read(text_of(marked, ","), layout=message)
        except BasketError as error:
            shown.append(shown_by(error))
    assert not any(map(marks_in, [*shown, *caplog.messages]))


def test_a_layout_shows_no_name() -> None:
    """The repr of a layout contains no column name, which may be an item."""
    assert not marks_in(repr(detect_layout([f"{NAME},milk", "1,1", "1,0"], Layout())))


SIGN_GOODS = ["oat milk", "beer", "butter", "fish, smoked", NAME]
_DRAW = random.Random(5)
SIGN_SETS = [set(_DRAW.sample(SIGN_GOODS, _DRAW.randint(1, 4))) for _ in range(60)]


def lines(first: str = "{row}", header: str = "") -> str:
    """Return one line per basket, with an id before its names."""
    return header + text_of([[first.format(row=row), *sorted(each)] for row, each in enumerate(SIGN_SETS, 1000)], ",")


@pytest.mark.parametrize("header", ["", "Basket,Item1,Item2,Item3,Item4\n", "Kasse,Sache\n"])
def test_ids_are_refused_and_can_be_left_out(tmp_path: Path, header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """First cells that all differ are not items; the error's layout reads the file, whole and as a stream."""
    path = tmp_path / "x.csv"
    path.write_text(lines(header=header))
    message = refused(r"(unlike items|seems to number).*lines transaction=#1", ap.read_baskets, path)
    assert ("header=yes" in message) == bool(header)
    assert not marks_in(message)
    baskets = ap.read_baskets(path, layout="lines transaction=1")
    assert named(baskets) == SIGN_SETS
    assert list(baskets.catalogue) == sorted(SIGN_GOODS)
    monkeypatch.setattr(basket_sources, "CHUNK_BYTES", 60)
    options = ReadOptions(f"lines transaction=1 header={'yes' if header else 'no'}")
    batches = list(stream_baskets(path, Catalogue(sorted(SIGN_GOODS)), options))
    assert [basket for batch in batches for basket in named(batch)] == SIGN_SETS


def test_ids_that_are_requested_as_items_are_items(read: Any) -> None:
    """A requested layout decides; few lines, recurring first cells and cells that all differ are not ids."""
    assert len(set().union(*read(lines(), layout="lines"))) == len(SIGN_SETS) + len(SIGN_GOODS)
    for text, n_items in ((lines("a{row}").partition("a1019")[0], 24), (lines() + "tea,1005\n", 66)):
        assert len(set().union(*read(text))) == n_items
    assert len(read("".join(f"a{row}\n" for row in range(50)), layout="lines")) == 50


def test_a_column_is_left_out_of_odd_lines(read: Any) -> None:
    """Also in lines that Python's CSV reader reads, in shorter lines, and for any column."""
    odd = 'tea,7,"a ""b"""\nmilk\n "eggs",8\n , 9 ,bread\n'
    assert read(odd, layout="lines transaction=2") == [{"tea", 'a "b"'}, {"milk"}, {"eggs"}, {"bread"}]


@pytest.mark.parametrize("word", ["NaN", "nan", "None", "<NA>", " NA", "null", "#N/A"])
def test_words_for_a_missing_value_are_no_items(read: Any, word: str, caplog: pytest.LogCaptureFixture) -> None:
    """Filler words are left out and counted before repeats are checked; a catalogue may contain them."""
    text = f"tea,milk,eggs\n{NAME},{word},{word}\ntea,eggs,{word}\n"
    assert read(text) == [{"tea", "milk", "eggs"}, {NAME}, {"tea", "eggs"}]
    assert "left out: 3 cells with NaN, None or another word" in caplog.text
    assert len(set().union(*read(text, layout="missing=keep", repeats="merge"))) == 5
    catalogue = Catalogue(["tea", word.strip(), "milk", "eggs", NAME])
    assert read(text, catalogue=catalogue, repeats="merge")[2] == {"tea", "eggs", word.strip()}
    long = f"order,item\n1,tea\n1,{word}\n2,rye\n"
    refused(r"line 3 has no item; .*incomplete='drop' \(1 such rows in all\)", read, long)
    assert read(long, incomplete="drop") == [{"tea"}, {"rye"}]
    table = pa.table({"basket": [["tea", word], ["rye"]]})
    assert named(Baskets.from_frame(table)) == named(Baskets.from_sets([["tea", word], ["rye"]])) == [{"tea"}, {"rye"}]
    assert named(Baskets.from_frame(pd.DataFrame({"tea": [1, 0], word: [1, 0], "rye": [0, 1]}))) == [{"tea"}, {"rye"}]


LONG = {
    "10,tea\n10,eggs\n11,tea\n": [{"tea", "eggs"}, {"tea"}],
    "kasse,sache\n10,tea\n11,tea\n": [{"tea"}, {"tea"}],
    "a,tea\na,eggs\nb,milk\n": [{"tea", "eggs"}, {"milk"}],
    "bill,sache\na,tea\n": [{"tea"}],
    "a,tea\nb,eggs\n": None,
}


@pytest.mark.parametrize("text", LONG)
def test_long_files_with_and_without_a_header(read: Any, text: str) -> None:
    """The first line of a long file is data or a header by its content; else the file is refused."""
    if LONG[text] is None:
        refused(r"header=yes'.*header=no'", read, text, layout="long")
        assert len(read(text, layout="long header=no")) == 2
    else:
        assert read(text, layout="long") == LONG[text]


def flag_frame() -> "pd.DataFrame":
    """Return the baskets one-hot."""
    return pd.DataFrame([{name: name in names for name in SIGN_GOODS} for names in SIGN_SETS])


FRAMES = {
    "true": flag_frame,
    "numbers": lambda: flag_frame().astype(float),
    "with ids": lambda: flag_frame().astype("uint8").assign(order_id=range(len(SIGN_SETS))),
    "with an index": lambda: flag_frame().set_index(pd.Index(range(1, 2 * len(SIGN_SETS), 2))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_onehot_parquet(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One-hot Parquet, as pandas writes it, is read like one-hot text, whole and as a stream; no item is shown."""
    path = tmp_path / "x.parquet"
    FRAMES[kind]().to_parquet(path)
    assert named(ap.read_baskets(path)) == SIGN_SETS
    assert "x.parquet: read as: one-hot" in caplog.text
    assert not marks_in(caplog.text)
    monkeypatch.setattr(columns, "_ROWS", 10)
    batches = list(stream_baskets(path, Catalogue(SIGN_GOODS), ReadOptions(memory_bytes=1 << 20)))
    assert len(batches) > 3
    assert [basket for batch in batches for basket in named(batch)] == SIGN_SETS


def test_parquet_of_two_columns_is_not_swapped(tmp_path: Path) -> None:
    """Of two columns without common names the text holds the items; for equal types a layout must be requested."""
    path = tmp_path / "x.parquet"
    rows = [(name, row) for row, names in enumerate(SIGN_SETS) for name in names]
    frame = pd.DataFrame(rows, columns=["sache", "kasse"])
    frame.to_parquet(path)
    assert named(ap.read_baskets(path)) == SIGN_SETS
    frame.assign(kasse=frame["kasse"].map("b{}".format)).to_parquet(path)
    refused("the 2 columns, 0 of them lists, is ambiguous", ap.read_baskets, path)
    assert named(ap.read_baskets(path, layout="transaction=kasse")) == SIGN_SETS


def test_names_under_a_catalogue_of_numbers(read: Any) -> None:
    """For names under a catalogue of numbers, the error explains how to make a plan with names."""
    given = {"layout": "lines", "catalogue": Catalogue.numbered(9)}
    refused("its items are the numbers 0 … 8.*catalogue of names", read, "tea,milk\n", **given)
    refused("unknown='drop'", read, "tea,12\n", **given)


def sheet_of(rows: list[list[Any]]) -> bytes:
    """Return rows as a spreadsheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)  # type: ignore[union-attr]
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


TILL = [
    ["Receipt", "Date", "Item", "Quantity", "Price"], [7, "2026-03-01", "Käse", 1, 4.5],
    [7, "2026-03-01", "Brot", 2, 3.25], [8, "2026-03-01", "Brot", -1, -3.25], [8, "2026-03-01", "Käse", 1, 4.5],
]  # fmt: skip
SOLD = [{"Käse", "Brot"}, {"Käse"}]
WITH_COMMAS = text_of([[str(cell).replace(".", ",") for cell in row] for row in TILL], ";", "\r\n")
EXPORTS: dict[str, tuple[str, bytes, Any]] = {  # as tills, shop systems and spreadsheets write them -> what is read
    "semicolons and decimal commas": ("t.csv", WITH_COMMAS.encode("utf-8-sig"), SOLD),
    "Windows-1252": ("t.csv", WITH_COMMAS.encode("cp1252"), SOLD),
    "Unicode text": ("t.txt", WITH_COMMAS.replace(";", "\t").encode("utf-16"), SOLD),
    "a spreadsheet": ("t.xlsx", sheet_of([TILL[0], *([row[0], date(2026, 3, 1), *row[2:]] for row in TILL[1:])]), SOLD),
    "sep=": ("t.csv", ("sep=;\r\n" + WITH_COMMAS).encode("utf-8-sig"), SOLD),
    "quantities before a minus": ("t.csv", WITH_COMMAS.replace(";-1;", ";1,000-;").encode(), SOLD),
    "a shop's orders": (
        "orders.csv", b'"Order ID","Email","Lineitem quantity","Item name"\n"#1","a@b","1","tea"\n"#1","","2","rye"\n',
        [{"tea", "rye"}],
    ),
    "a table of goods": ("t.csv", b"id;tea;milk\n1;x;\n2;x;x\n3;;x\n", [{"tea"}, {"tea", "milk"}, {"milk"}]),
    "a receipt a line": ("r.txt", b"tea, milk\nrye\ntea\n", [{"tea", "milk"}, {"rye"}, {"tea"}]),
    "a French till": ("t.csv", "Ticket;Article;Qté\n1;Café;2\n2;Café;-1\n2;Thé;1\n".encode(), [{"Café"}, {"Thé"}]),
    "sep= and tabs": ("t.csv", b"sep=\t\nTransaction\tItem\n1\ttea\n1\trye\n", [{"tea", "rye"}]),
    "UTF-16 without a mark": ("t.csv", "receipt,item\n1,tea\n".encode("utf-16-be"), [{"tea"}]),
    "empty rows": ("t.csv", b"receipt;item;price\n1;tea;2\n;;\n2;rye;3\n;;\n", [{"tea"}, {"rye"}]),
    "empty rows of a sheet": ("t.xlsx", sheet_of([[], TILL[0], TILL[1], [], TILL[2]]), [{"Käse", "Brot"}]),
    "blanks before quotes": (
        "t.csv", 'receipt,item\r\n1, "tea, green"\r\n\r\n1, rye\u2028x\r\n'.encode(), [{"tea, green", "rye\u2028x"}],
    ),
    "a title above other names": (
        "t.csv", b"May\n\nVorgang;Gut\n" + b"1001;tea\n1001;rye\n1002;tea\n1003;jam\n1003;tea\n",
        "line 3, below a title, seems to be a header; pass layout='long transaction=#1 item=#2 separator=; header=3'",
    ),
    "titles that are no CSV": (
        "t.csv", b'"May" of\n"Nord" shop\n\nVorgang;Gut\n' + b"1001;tea\n1001;rye\n1002;tea\n1003;jam\n",
        "line 4, below a title, seems to be a header; pass layout='long transaction=#1 item=#2 separator=; header=4'",
    ),
    "a title above known names": (
        "t.csv", "Mai\n\nN° ticket;Désignation\n1;tea\n1;rye\n2;tea\n".encode(), [{"tea", "rye"}, {"tea"}],
    ),
    "returned, of no usual name": (
        "t.csv", b"receipt,item,sum\n1,tea,3\n2,tea,-3\n",
        "line 3 has a number below zero in column 3.*quantity=#3 .*=none ",
    ),
    "unusual names": ("t.csv", b"Kasse;Sache\n1;Brot\n1;Ei\n", "layout='long transaction=#1 item=#2 separator=;"),
}  # fmt: skip


@pytest.mark.parametrize("kind", EXPORTS)
def test_what_tills_export_is_read(read: Any, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Files from tills are read without options, or refused with the layout to request; returned items are counted."""
    name, content, expected = EXPORTS[kind]
    if isinstance(expected, str):
        refused(expected, read, content, name)
        return
    assert read(content, name) == expected
    if expected is SOLD:
        assert "left out: 1 row returned, voided or of quantity 0" in caplog.text
    assert ("encoding=windows-1252" in caplog.text) == (kind == "Windows-1252")
    assert "Brot" not in caplog.text


def test_titles_and_returned_goods_can_be_requested(read: Any, caplog: pytest.LogCaptureFixture) -> None:
    """``header=`` takes a line number, ``quantity=none`` counts returned items; the log's layout reads the same."""
    text = "March\nreceipt,item,qty\n1,tea,3\n2,tea,-3\n2,rye,1\n"
    for layout, expected in (("header=2", {"rye"}), ("header=2 quantity=none", {"tea", "rye"})):
        caplog.clear()
        assert read(text, layout=layout) == [{"tea"}, expected]
        words = caplog.messages[0].removeprefix("x.csv: read as: ")
        assert "header=2" in words
        assert read(text, layout=words) == [{"tea"}, expected]


KINDS = {"one-hot": "tea,12,rye\n1,1,0\n0,1,1\n", "dat": "7 3\n3 12\n", "lines": "tea,12\nrye\n"}
KINDS["long"] = "receipt,item\n1,tea\n1,12\n2,rye\n"


@pytest.mark.parametrize("kinds", [(a, b) for a in KINDS for b in KINDS if (a, b) != ("long", "long")], ids="+".join)
def test_files_of_different_layouts_are_read_together(tmp_path: Path, kinds: tuple[str, str]) -> None:
    """Each file keeps its own names, also if columns of one-hot tables differ."""
    paths = [tmp_path / f"{number}.csv" for number in range(2)]
    for number, (path, kind) in enumerate(zip(paths, kinds, strict=True)):
        path.write_text(KINDS[kind].replace("tea", "salt") if number else KINDS[kind])
    alone = [basket for path in paths for basket in named(ap.read_baskets(path))]
    assert sorted(map(sorted, named(ap.read_baskets(paths)))) == sorted(map(sorted, alone))


def test_a_receipt_over_several_files_is_one_basket(tmp_path: Path) -> None:
    """Files given together share transaction ids, whatever their formats; errors name their file."""
    (tmp_path / "a.csv").write_text("receipt,item\n7,tea\n8,rye\n")
    pq.write_table(pa.table({"receipt": [7, 9], "item": ["milk", "tea"]}), tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_text("receipt;item\n9;oil\n")
    paths = [tmp_path / name for name in ("a.csv", "b.parquet", "c.csv")]
    expected = [{"tea", "milk"}, {"rye"}, {"tea", "oil"}]
    refused(r"^a.csv and 2 more: 2 of 3 transaction ids recur after other ids", ap.read_baskets, paths)
    assert named(ap.read_baskets(paths, layout="rows=anywhere")) == expected
    apart = [{"tea"}, {"rye"}, {"milk"}, {"tea"}, {"oil"}]
    assert named(ap.read_baskets(paths, layout="rows=together")) == apart
    catalogue = Catalogue(["milk", "oil", "rye", "tea"])
    options = ReadOptions("rows=anywhere")
    assert [named(batch) for batch in stream_baskets(paths, catalogue, options)] == [expected]
    (tmp_path / "c.csv").write_text("receipt;item\n9;tea\n")
    refused(r"^a.csv and 2 more: basket 3 repeats", ap.read_baskets, paths, layout="rows=anywhere")
    (tmp_path / "c.csv").write_text("receipt;item\n9;\n")
    refused(r"^c.csv: line 2 has no item", ap.read_baskets, paths)


def test_broken_spreadsheets_are_refused(read: Any, tmp_path: Path) -> None:
    """Formula errors are not items; an archive with an extreme compression ratio is not decompressed."""
    refused("row 3 has a cell with an error", read, sheet_of([["receipt", "item"], [7, "tea"], [9, "#REF!"]]), "t.xlsx")
    path = tmp_path / "t.xlsx"
    path.write_bytes(sheet_of(TILL))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/more.xml", bytes(65 << 20))
    refused("more than a hundred times its size", ap.read_baskets, path)


def test_without_its_reader_a_spreadsheet_names_the_extra(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    content = sheet_of(TILL)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    refused(r"assocpriv\[xlsx\]", read, content, "t.xlsx")


def test_paths_that_loop_and_empty_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A loop of links and an empty file have their own messages."""
    path = tmp_path / "x.csv"
    path.symlink_to(path)
    refused("the path is a loop of links", ap.read_baskets, path)
    path.unlink()
    path.touch()
    refused("holds no baskets", ap.read_baskets, path)
    assert caplog.messages == ["x.csv: the file is empty"]
    path.write_text("\n \n")
    refused("no basket has an item", ap.catalogue, path)


@pytest.mark.filterwarnings("ignore:.* estimates depend mostly on the prior")
def test_functions_take_what_the_error_of_a_frame_says() -> None:
    """Every function reads an ambiguous frame with the layout from its error."""
    frame = pd.DataFrame([("mon", row, name) for row, names in enumerate(SIGN_SETS) for name in sorted(names)])
    frame.columns = ["day", "kasse", "sache"]
    plan = planned(set(SIGN_GOODS), 3, ap.Guarantee("5%", "50%"), itemset_size=1)
    given: dict[str, Any] = {"layout": "long transaction=kasse item=3"}
    refused(r"3 columns.*layout='long transaction=#2 item=#3'", ap.randomize, frame, plan)
    with pytest.warns(UserWarning, match="lost"):
        assert len(ap.randomize(frame, plan, **given)) == len(SIGN_SETS)
    with pytest.warns(UserWarning, match="lost"):
        assert ap.simulate(frame, plan, "50%", **given, seed=1).reports
    assert named(ap.to_baskets(frame, **given)) == named(Baskets.from_frame(frame, **given)) == SIGN_SETS
    assert len(ap.randomize(pd.DataFrame({"beer": [1]}), plan, layout="one-hot")) == 1
    refused("a layout applies only to files and tables", ap.randomize, SIGN_SETS, plan, **given)


def test_sets_of_names_are_sorted() -> None:
    """Sets have another order in each process, so plans sort their names; lists keep their order."""
    names = {"tea", "10", "9", "milk"}
    assert list(ap.Catalogue(names)) == ["9", "10", "milk", "tea"]
    assert list(planned(names, 2, ap.Guarantee("5%", "50%")).catalogue) == ["9", "10", "milk", "tea"]
    assert list(ap.Catalogue(["tea", "9"])) == ["tea", "9"]
    with pytest.raises(ap.AssocprivError, match="must be text"):
        ap.Catalogue({1, 2})  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_common_names_have_priority_over_zeros_and_ones(tmp_path: Path, ending: str) -> None:
    """Transactions and items that are all 0 and 1 are not a one-hot table, since their columns are named."""
    frame, path = pd.DataFrame({"transaction": [0, 0, 1], "item": [0, 1, 1]}), tmp_path / f"b.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    assert [set(basket) for basket in ap.read_baskets(path)] == [{0, 1}, {1}]
