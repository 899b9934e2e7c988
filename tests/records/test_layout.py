"""Tests of what a file of text means: header, separator, layout.

Tests of what a stranger's file is taken for: detection, options, refusals, and that none of it shows an item.

Tests of what in files of baskets is no item: ids, headers, words for nothing, other separators; and what to do.
"""

import csv
import gzip
import io
import itertools
import logging
import random
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from canary import NAME, marks_in, shown_by
from hypothesis import given
from hypothesis import strategies as st
from planned import planned

import assocpriv as ap
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError
from assocpriv.records import sources
from assocpriv.records.basket_files import ReadOptions, stream_baskets
from assocpriv.records.baskets import Baskets
from assocpriv.records.cells import ordinal
from assocpriv.records.layout import LayoutOptions, is_usual, understand
from assocpriv.records.sources import SAMPLE_LINES

GOODS = ["whole milk", "bread", "fish; smoked", "eggs", "tea, green", "7up"]
SETS = [{GOODS[place] for place in range(6) if (row * 37 + 11) % 63 >> place & 1} for row in range(40)]
SETS = [basket for basket in SETS if basket]
CATALOGUE = Catalogue(sorted(GOODS))


def named(baskets: Baskets) -> list[set[str]]:
    """Return the baskets as sets of names."""
    return [{baskets.catalogue[item] for item in basket} for basket in baskets]


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


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"], ids=["comma", "semicolon", "tab", "bar"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_found_out(
    tmp_path: Path, layout: str, separator: str, ending: str, start: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Each layout is read with every separator, mark and line end, whole and as a stream, and one line says how."""
    path = tmp_path / "x.csv"
    path.write_bytes(start + text_of(LAYOUTS[layout], separator, ending).encode())
    with caplog.at_level(logging.INFO, "assocpriv"):
        assert named(ap.read_baskets(path)) == SETS
    words = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(f"x.csv: CSV with {words[separator]} and ")
    assert not any(name in caplog.messages[0] for name in GOODS)
    assert ("a basket a line" in caplog.messages[0]) == (layout == "basket")
    batches = stream_baskets(path, CATALOGUE, ReadOptions())
    assert [basket for batch in batches for basket in named(batch)] == SETS


def test_what_is_said_names_usual_columns_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A usual name of a column is shown, and of several the others; any other column is a number."""
    path = tmp_path / "x.csv"
    rows = long_rows(["InvoiceNo", "StockCode", "Description"], lambda n, name: [f"{n}", name, "text"])
    path.write_text(text_of(rows, ";"))
    with caplog.at_level(logging.INFO, "assocpriv"):
        ap.read_baskets(path)
        path.write_text(text_of(long_rows([NAME, "ware"]), ","))
        ap.read_baskets(path, transaction_column=NAME, item_column="ware")
    assert caplog.messages == [
        'x.csv: CSV with semicolons and a header; transactions in column "InvoiceNo", items in column "StockCode" '
        '(not "Description": --item-column)',
        "x.csv: CSV with commas and a header; transactions in column 1, items in column 2",
    ]


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (long_rows(["bon", "ware"]), {"transaction_column": "bon", "item_column": "ware"}),
        (long_rows(["bon", "ware"]), {"transaction_column": "BON", "item_column": 2}),
        (long_rows(["bon", "ware"]), {"format": "long"}),
        (long_rows(["bon", "ware"]), {"item_column": "ware"}),
        (long_rows(["T0", "bread"])[1:], {"transaction_column": 1, "item_column": "2", "header": False}),
        (long_rows(["bon", "ware"]), {"transaction_column": "1", "item_column": 2, "header": True}),
        (long_rows(["1", "2"]), {"transaction_column": "1", "item_column": "2", "header": True}),
        (long_rows(["x", "w", "b"], lambda n, name: ["0", name, f"{n}"]), {"transaction_column": 3, "item_column": 2}),
        (long_rows(["b", "x", "product"], lambda n, name: [f"{n}", "0", name]), {"transaction_column": "b"}),
        (onehot_rows("1", "0", "who"), {"transaction_column": "who"}),
        (onehot_rows("1", "0", "who"), {"transaction_column": 1, "format": "onehot"}),
        (onehot_rows("yes", ""), {"format": "onehot"}),
        ([["a basket"], *LAYOUTS["basket"]], {"format": "basket", "header": True, "separator": ","}),
        ([["items"], *LAYOUTS["basket"]], {"header": True}),
        (LAYOUTS["basket"], {"format": "basket", "separator": ","}),
    ],
)
@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.txt"])
def test_options_decide(tmp_path: Path, rows: list[list[str]], options: dict[str, Any], name: str) -> None:
    """What is said of columns, header, separator and format is done, whatever the file's ending."""
    content = text_of(rows, ",").encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert named(ap.read_baskets(path, **options)) == SETS


def test_blanks_separate_when_said(tmp_path: Path) -> None:
    """Names with blanks between need the word for it, also tabs and several blanks, and may be quoted."""
    path = tmp_path / "names.dat"
    path.write_text('eggs  tea\n"whole milk"\teggs \n')
    with pytest.raises(BasketError, match=r"pass --format basket --separator ' '$"):
        ap.read_baskets(path)
    for word in (" ", "blank"):
        assert named(ap.read_baskets(path, format="basket", separator=word)) == [
            {"eggs", "tea"},
            {"whole milk", "eggs"},
        ]


ADVICE: dict[str, tuple[dict[str, str], list[set[str]]]] = {
    "milk,bread\ntea,milk,eggs\n": ({"format": "basket"}, [{"milk", "bread"}, {"tea", "milk", "eggs"}]),
    "milk;bread\ntea;milk\n": ({"format": "basket", "separator": ";"}, [{"milk", "bread"}, {"tea", "milk"}]),
    "order_id\titem\n1\tmilk\n1\ttea\n": ({"format": "long", "separator": "tab"}, [{"milk", "tea"}]),
    "milk tea\nbread\n": ({"format": "basket", "separator": " "}, [{"milk", "tea"}, {"bread"}]),
    "milk\nbread\n": ({"format": "basket"}, [{"milk"}, {"bread"}]),
}


@pytest.mark.parametrize("text", ADVICE)
def test_advice_for_names_in_a_file_of_numbers_works(tmp_path: Path, text: str) -> None:
    """What the error of a .dat or .txt file of names says, pasted, reads the file."""
    path = tmp_path / "b.txt"
    path.write_text(text)
    with pytest.raises(BasketError, match="line 1 has a character other") as caught:
        ap.read_baskets(path)
    words = shlex.split(str(caught.value).rpartition("pass ")[2])
    options = {word.removeprefix("--"): value for word, value in itertools.pairwise(words) if word.startswith("--")}
    assert (options, named(ap.read_baskets(path, **options))) == ADVICE[text]


TABLES = {
    "unusual header": (long_rows(["bon", "ware"]), "looks like a header"),
    "no header": (long_rows(["", ""], lambda n, name: [f"{n}", name])[1:], r"--format long --header no"),
    "text ids": (long_rows(["", ""], lambda n, name: ["abcdefghij"[n % 10] * 3, name])[1:], "neighbours often agree"),
    "counts": ([GOODS[:4], *([str(row % 5), "2", "0", "3"] for row in range(9))], "looks like a header"),
    "answers": ([["left", "yes", "no", "yes", "no"]] * 3 + [["right", "no", "no", "yes", "yes"]] * 3, "most repeat"),
    "usual names only": ([["items"], *LAYOUTS["basket"]], "--header yes or no"),
    "numbered names": ([["item 1", "item 2", "item 3"], *LAYOUTS["basket"]], "--header yes or no"),
    "lists in cells": ([["order", "items"], *([f"{n}", "tea,milk"] for n in range(9))], "whole baskets"),
    "ragged below a header": ([["order", "item"], ["1", "tea"], ["2", "tea", "milk"]], "line 3 has not as many cells"),
    "pairs of opposites": ([["tea", "milk"], ["0", "1"], ["1", "0"], ["1", "0"]], "one-hot"),
    "several ids": ([["day", "who", *GOODS], *([f"d{n % 2}", f"c{n % 3}", *"101010"] for n in range(9))], "in a table"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_what_may_mean_several_things_is_refused(tmp_path: Path, kind: str) -> None:
    """Tables without usual names, and first lines that may be headers, are refused with the options that decide."""
    rows, said = TABLES[kind]
    path = tmp_path / "x.csv"
    path.write_text(text_of(rows, ","))
    with pytest.raises(BasketError, match=said) as caught:
        ap.read_baskets(path, repeats="merge", empty="keep")
    assert "--" in str(caught.value)
    assert not any(name in str(caught.value) for name in [*GOODS, "left", "right"])
    assert len(ap.read_baskets(path, format="basket", repeats="merge")) == len(rows)  # what is said wins


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("bon;a,ware\n1;x,2\n2;x,3\n", {}, r"parted by commas or by semicolons; .*--separator"),
        ("whole milk\nbrown bread\ntea\n", {}, "--separator ' '.*--format basket"),
        ("sep=;\norder;item\n1;tea\n", {}, "line 1 says which separator"),
        ("order,item\n1,tea\n", {"transaction_column": "bill"}, "transaction_column= .* is not among the 2"),
        ("order,item\n1,tea\n", {"transaction_column": 3}, "transaction_column= .* is not among the 2"),
        ("order,item\n1,tea\n", {"transaction_column": "٢"}, "transaction_column= .* is not among the 2"),
        ("order,item\n1,tea\n", {"item_column": "order", "transaction_column": 1}, "two different"),
        ("tea,eggs\nmilk,tea\n", {"transaction_column": 1, "item_column": 2}, "--header yes or no"),
        ("a,b,c\n1,tea,2\n", {"transaction_column": "a"}, "usual name for items.*--item-column"),
        ("tea,milk\n1,0\n", {"format": "onehot", "header": False}, "needs a header"),
        ("tea\n1\n", {"format": "onehot"}, "check the separator"),
        ("tea,tea\n1,0\n", {"format": "onehot"}, "columns cannot be items: catalogue entry 2 repeats"),
        ("tea,milk\n1,0\n1,2\n", {"format": "onehot"}, "line 3, column 2 is neither true nor false"),
        ("tea,milk\n1,0\n1\n", {"format": "onehot"}, "line 3 does not have the 2 cells"),
        ("tea,milk\n1,1\n\n1,0\n", {"format": "onehot"}, "line 3 is an empty basket"),
        ("tea,milk\n1,1\r1,0\n", {"format": "onehot"}, "line 2 does not have the 2 cells"),
        ("tea,milk\rbread\n", {}, "line 1 is not CSV: a carriage return"),
        ("tea\n", {"separator": "x"}, "separator must be one of"),
        ("tea\n", {"header": "yes"}, "header must be true or false"),
        ("tea\n", {"item_column": 1.5}, "item_column must be a column's name, or its number"),
        ("1 2\n", {"format": "dat", "separator": ","}, "neither separator nor header"),
    ],
)
def test_bad_layouts(tmp_path: Path, content: str, options: dict[str, Any], said: str) -> None:
    """Layouts that cannot be, and options that do not fit the file, are one clear error."""
    path = tmp_path / "x.csv"
    path.write_text(content, newline="")
    with pytest.raises(BasketError, match=said):
        ap.read_baskets(path, **options)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("order,item\n1,café\n".encode("utf-16"), "UTF-16 text; convert it to UTF-8 .iconv"),
        ("order,item\n1,tea\n".encode("utf-16-le"), "UTF-16 text"),
        ("order,item\n1,café\n".encode("latin-1"), "line 2 is not UTF-8 text; convert the file to UTF-8 .iconv"),
        ("tea,café\n".encode("latin-1"), "line 1 is not UTF-8 text; convert the file to UTF-8 .iconv"),
        ("café\tmilk\n1\t0\n1\t1\n".encode("latin-1"), "line 1 is not UTF-8|not UTF-8"),
    ],
)
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_other_encodings_are_refused_with_what_to_do(tmp_path: Path, content: bytes, said: str, name: str) -> None:
    """UTF-16 and Latin-1 are told as such."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BasketError, match=said):
        ap.read_baskets(path)


def test_a_later_line_that_contradicts_is_told(tmp_path: Path) -> None:
    """What stands beyond the first lines changes nothing, and is an error with its line where it does not fit."""
    many = SAMPLE_LINES + 500
    path = tmp_path / "x.csv"
    cases = [
        ("tea,milk\n" + "1,1\n" * many + "tea,milk\n", f"line {many + 2}, column 1 is neither"),
        ("order,item\n" + "".join(f"{n},tea\n" for n in range(many)) + "1,2,3\n", f"row {many + 2} .* 2 cells"),
    ]
    for content, said in cases:
        path.write_text(content)
        for read in (ap.read_baskets, lambda each: list(stream_baskets(each, Catalogue(["tea", "milk"])))):
            with pytest.raises(BasketError, match=said):
                read(path)
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
    monkeypatch.setattr(sources, "CHUNK_BYTES", 50)
    batches = list(stream_baskets(path, CATALOGUE, ReadOptions()))
    assert len(batches) > 10
    assert [basket for batch in batches for basket in named(batch)] == SETS


@pytest.mark.parametrize("usual", [True, False])
def test_parquet_columns(tmp_path: Path, usual: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Parquet takes columns with usual names, or those that are named, as CSV does, and says which."""
    names = ["day", "StockCode", "InvoiceNo"] if usual else ["day", "ware", NAME]
    columns = list(zip(*long_rows(names, lambda n, name: ["d", name, f"{n}"])[1:], strict=True))
    pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), tmp_path / "x.parquet")
    named_columns = {} if usual else {"transaction_column": NAME, "item_column": 2}
    with caplog.at_level(logging.INFO, "assocpriv"):
        assert named(ap.read_baskets(tmp_path / "x.parquet", **named_columns)) == SETS
    shown = ('"InvoiceNo"', '"StockCode"') if usual else (f'"{NAME}"', '"ware"')
    assert caplog.messages == [f"x.parquet: Parquet; transactions in column {shown[0]}, items in column {shown[1]}"]
    if not usual:
        with pytest.raises(BasketError, match="--transaction-column, --item-column") as caught:
            ap.read_baskets(tmp_path / "x.parquet")
        assert not marks_in(shown_by(caught.value))


WORDS = st.sampled_from(
    ["milk", "bread", "whole milk", "tea 2", "7", "12", "item", "order", "Products", "0", "1", "t", "é"]
)
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=5, unique=True), min_size=1, max_size=12)


@given(LINES, st.sampled_from(",;|\t"))
def test_baskets_are_never_silently_something_else(lines: list[list[str]], separator: str) -> None:
    """A file of baskets is read as that, or refused, unless line 1 names columns above lines of as many cells."""
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


@given(LINES.filter(lambda lines: len({len(line) for line in lines}) > 1), st.sampled_from(",;|\t"))
def test_ragged_lines_are_baskets(lines: list[list[str]], separator: str) -> None:
    """Lines of different lengths are baskets without any option, whatever the items, unless line 1 may be a header."""
    lines = [[f"x{word}" if is_usual(word) else word for word in line] for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        path.write_text(text_of(lines, separator), encoding="utf-8")
        assert named(ap.read_baskets(path)) == [set(line) for line in lines]


def said_by(read: Callable[[], Any]) -> str:
    """Return what a refusal shows, nothing if there is none."""
    try:
        read()
    except BasketError as error:
        return shown_by(error)
    return ""


@pytest.mark.parametrize("layout", [*LAYOUTS, *TABLES])
@pytest.mark.parametrize("options", [{}, {"transaction_column": 1}, {"header": True}, {"format": "onehot"}])
def test_no_item_is_shown(
    tmp_path: Path, layout: str, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the log nor a refusal shows an item, in whatever layout and wherever it stands."""
    rows = LAYOUTS[layout] if layout in LAYOUTS else TABLES[layout][0]
    for place in range(min(3, len(rows))):
        marked = [list(row) for row in rows]
        marked[place][-1] = NAME
        path = tmp_path / "x.csv"
        path.write_text(text_of(marked, ","))
        with caplog.at_level(logging.INFO, "assocpriv"):
            assert not marks_in(said_by(lambda path=path: ap.read_baskets(path, **options)))
    assert not any(map(marks_in, caplog.messages))


def test_a_layout_shows_no_name() -> None:
    """The repr of a layout has no name of a column, which may be an item."""
    assert not marks_in(repr(understand(f"{NAME},milk\n1,1\n1,0\n".encode(), LayoutOptions())))


def test_ordinals() -> None:
    """Positions are ordinals, so that no number reads as an item's."""
    shown = [ordinal(number).split()[1] for number in (1, 2, 3, 4, 11, 12, 13, 21, 101, 111, 1022)]
    assert shown == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "101st", "111th", "1,022nd"]


SIGN_GOODS = ["oat milk", "beer", "butter", "fish, smoked", NAME]
_DRAW = random.Random(5)
SIGN_SETS = [set(_DRAW.sample(SIGN_GOODS, _DRAW.randint(1, 4))) for _ in range(60)]


def lines(first: str = "{row}", header: str = "") -> str:
    """Return a line a basket, with an id before its quoted names."""
    cells = (
        [first.format(row=1000 + row), *(f'"{name}"' for name in sorted(names))] for row, names in enumerate(SIGN_SETS)
    )
    return header + "".join(",".join(row) + "\n" for row in cells)


@pytest.mark.parametrize("header", ["", "Basket,Item1,Item2,Item3,Item4\n", "Beleg,Artikel\n"])
def test_ids_are_refused_and_can_be_left_out(tmp_path: Path, header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """First cells that all differ are no items; what the error says reads the file, whole and as a stream."""
    path = tmp_path / "x.csv"
    path.write_text(lines(header=header))
    with pytest.raises(BasketError, match=r"as ids do, not items.*--format basket.*--transaction-column 1") as caught:
        ap.read_baskets(path)
    assert ("--header yes" in str(caught.value)) == bool(header)
    assert not marks_in(str(caught.value))
    baskets = ap.read_baskets(path, format="basket", transaction_column=1)
    assert named(baskets) == SIGN_SETS
    assert list(baskets.catalogue) == sorted(SIGN_GOODS)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 60)
    options = ReadOptions("basket", transaction_column=1, header=bool(header))
    batches = list(stream_baskets(path, Catalogue(sorted(SIGN_GOODS)), options))
    assert [basket for batch in batches for basket in named(batch)] == SIGN_SETS


def test_ids_that_are_said_to_be_items_are_items(tmp_path: Path) -> None:
    """What is said wins; few lines, first cells that recur and cells that all differ are no ids."""
    path = tmp_path / "x.csv"
    path.write_text(lines())
    assert len(ap.read_baskets(path, format="basket").catalogue) == len(SIGN_SETS) + len(SIGN_GOODS)
    for text, n_items in ((lines("{row}").partition("1019")[0], 24), (lines() + "tea,1005\n", 66)):
        path.write_text(text)
        assert len(ap.read_baskets(path).catalogue) == n_items
    path.write_text("".join(f"a{row}\n" for row in range(50)))
    assert len(ap.read_baskets(path, format="basket")) == 50


def test_a_column_is_left_out_of_odd_lines(tmp_path: Path) -> None:
    """Also in lines that Python's CSV reader reads, in lines that are shorter, and wherever the column stands."""
    path = tmp_path / "x.csv"
    path.write_text('tea,7,"a ""b"""\nmilk\n "eggs",8\n , 9 ,bread\n')
    assert named(ap.read_baskets(path, format="basket", transaction_column=2)) == [
        {"tea", 'a "b"'}, {"milk"}, {"eggs"}, {"bread"}
    ]  # fmt: skip
    with pytest.raises(BasketError, match="has no item column"):
        ap.read_baskets(path, format="basket", item_column=2)


@pytest.mark.parametrize("word", ["NaN", "nan", "None", "<NA>"])
def test_words_for_nothing_are_refused(tmp_path: Path, word: str) -> None:
    """Cells that were filled up are no items."""
    path = tmp_path / "x.csv"
    path.write_text(f"tea,milk,eggs\n{NAME},{word},{word}\ntea,eggs,{word}\n")
    with pytest.raises(BasketError, match=r"line 2 has NaN, None or the like as an item.*na_rep") as caught:
        ap.read_baskets(path, format="basket")
    assert not marks_in(str(caught.value))
    path.write_text(f"tea,milk\n{word}\n" + "tea\n" * 9)
    assert len(ap.read_baskets(path, format="basket")) == 11


def test_another_separator_is_doubted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A separator that stands in no line, where another stands in all, is read as was said, and said."""
    path = tmp_path / "x.csv"
    path.write_text("tea;eggs\nmilk;tea\n")
    with caplog.at_level(logging.INFO, "assocpriv"):
        assert len(ap.read_baskets(path, format="basket", separator=",").catalogue) == 2
        assert "warning: no line has commas, every line has semicolons" in caplog.text
        caplog.clear()
        ap.read_baskets(path, format="basket", separator=";")
        path.write_text("tea;eggs\nmilk\n")
        ap.read_baskets(path, format="basket", separator=",")
    assert "warning" not in caplog.text


LONG = {
    "10,tea\n10,eggs\n11,tea\n": [{"tea", "eggs"}, {"tea"}],
    "bon,ware\n10,tea\n11,tea\n": [{"tea"}, {"tea"}],
    "a,tea\na,eggs\nb,milk\n": [{"tea", "eggs"}, {"milk"}],
    "bill,ware\na,tea\n": [{"tea"}],
    "a,tea\nb,eggs\n": None,
}


@pytest.mark.parametrize("text", LONG)
def test_long_files_with_and_without_a_header(tmp_path: Path, text: str) -> None:
    """The first line of a long file is data where it shows, a header where that shows, and else asked for."""
    path = tmp_path / "x.csv"
    path.write_text(text)
    if LONG[text] is None:
        with pytest.raises(BasketError, match="--header yes or no"):
            ap.read_baskets(path, format="long")
        assert len(ap.read_baskets(path, format="long", header=False)) == 2
    else:
        assert named(ap.read_baskets(path, format="long")) == LONG[text]


def flag_frame() -> "pd.DataFrame":
    """Return the baskets one-hot."""
    return pd.DataFrame([{name: name in names for name in SIGN_GOODS} for names in SIGN_SETS])


FRAMES = {
    "true": flag_frame,
    "numbers": lambda: flag_frame().astype(float),
    "with ids": lambda: flag_frame().astype("uint8").assign(order_id=range(len(SIGN_SETS))),
    "with an index": lambda: flag_frame().set_index(pd.Index(range(1, 2 * len(SIGN_SETS), 2))),
}


@pytest.mark.parametrize("options", [{}, {"format": "onehot"}])
@pytest.mark.parametrize("kind", FRAMES)
def test_onehot_parquet(
    tmp_path: Path,
    kind: str,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One-hot Parquet, as pandas writes it, is read like one-hot text, whole and as a stream; no item is shown."""
    path = tmp_path / "x.parquet"
    FRAMES[kind]().to_parquet(path)
    with caplog.at_level(logging.INFO, "assocpriv"):
        assert named(ap.read_baskets(path, **options)) == SIGN_SETS
    assert "one-hot, a column for each of 5 items" in caplog.text
    assert not marks_in(caplog.text)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 400)
    monkeypatch.setattr(sources, "LEAST_CHUNK_BYTES", 400)
    batches = list(stream_baskets(path, Catalogue(SIGN_GOODS), ReadOptions(memory_bytes=1 << 20, **options)))
    assert len(batches) > 3
    assert [basket for batch in batches for basket in named(batch)] == SIGN_SETS


def test_parquet_of_two_columns_is_not_swapped(tmp_path: Path) -> None:
    """Of two columns without usual names the text holds the items; of equal types it must be said."""
    path = tmp_path / "x.parquet"
    rows = [(name, row) for row, names in enumerate(SIGN_SETS) for name in names]
    frame = pd.DataFrame(rows, columns=["artikel", "bon"])
    frame.to_parquet(path)
    assert named(ap.read_baskets(path)) == SIGN_SETS
    frame.assign(bon=frame["bon"].map("b{}".format)).to_parquet(path)
    with pytest.raises(BasketError, match=r"neither names nor types tell.*--item-column"):
        ap.read_baskets(path)
    assert named(ap.read_baskets(path, transaction_column="bon")) == SIGN_SETS


def test_names_under_a_catalogue_of_numbers(tmp_path: Path) -> None:
    """Names where a catalogue has numbers are told how a plan comes to have names."""
    path = tmp_path / "x.csv"
    for text, said in (("tea,milk\n", "its items are the numbers 0 … 8.*--catalogue"), ("tea,12\n", "--unknown drop")):
        path.write_text(text)
        with pytest.raises(BasketError, match=said):
            ap.read_baskets(path, format="basket", catalogue=Catalogue.numbered(9))


def test_paths_that_loop_and_empty_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A loop of links and an empty file are told as such."""
    path = tmp_path / "x.csv"
    path.symlink_to(path)
    with pytest.raises(BasketError, match="the path is a loop of links"):
        ap.read_baskets(path)
    path.unlink()
    path.touch()
    with caplog.at_level(logging.INFO, "assocpriv"), pytest.raises(BasketError, match="holds no baskets"):
        ap.read_baskets(path)
    assert caplog.messages == ["x.csv: the file is empty"]
    path.write_text("\n \n")
    with pytest.raises(BasketError, match="no basket holds an item"):
        ap.catalogue(path)


@pytest.mark.filterwarnings("ignore:.* reports tell little")
def test_functions_take_what_the_error_of_a_frame_says() -> None:
    """A frame that may mean several things is read by every function, with the words of its error."""
    frame = pd.DataFrame([("mon", row, name) for row, names in enumerate(SIGN_SETS) for name in sorted(names)])
    frame.columns = ["day", "bon", "ware"]
    plan = planned(set(SIGN_GOODS), 3, ap.Breach("5%", "50%"), itemset_size=1)
    said: dict[str, Any] = {"transaction_column": "bon", "item_column": 3}
    with pytest.raises(BasketError, match=r"say format='onehot'.*transaction_column= and item_column="):
        ap.randomize(frame, plan)
    with pytest.warns(UserWarning, match="lost"):
        assert len(ap.randomize(frame, plan, **said)) == len(SIGN_SETS)
    with pytest.warns(UserWarning, match="lost"):
        assert ap.simulate(frame, plan, "50%", **said, seed=1).reports
    assert named(ap.to_baskets(frame, **said)) == named(Baskets.from_frame(frame, "long", **said)) == SIGN_SETS
    assert len(ap.randomize(pd.DataFrame({"beer": [1]}), plan, format="onehot")) == 1
    with pytest.raises(BasketError, match="transaction_column and item_column are said of tables"):
        ap.randomize(SIGN_SETS, plan, **said)


def test_sets_of_names_are_sorted() -> None:
    """A set comes in another order in each process, so plans are made of its sorted names; lists keep theirs."""
    names = {"tea", "10", "9", "milk"}
    assert list(ap.Catalogue(names)) == ["9", "10", "milk", "tea"]
    assert list(planned(names, 2, ap.Breach("5%", "50%")).catalogue) == ["9", "10", "milk", "tea"]
    assert list(ap.Catalogue(["tea", "9"])) == ["tea", "9"]
    with pytest.raises(ap.AssocprivError, match="must be text"):
        ap.Catalogue({1, 2})  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_usual_names_go_before_zeros_and_ones(tmp_path: Path, ending: str) -> None:
    """Transactions and items that are all 0 and 1 are no one-hot table, for their columns are named."""
    frame, path = pd.DataFrame({"transaction": [0, 0, 1], "item": [0, 1, 1]}), tmp_path / f"b.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    assert [set(basket) for basket in ap.read_baskets(path)] == [{0, 1}, {1}]
