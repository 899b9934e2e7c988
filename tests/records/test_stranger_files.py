"""Tests with files from practice, which are read, or refused with a layout that reads them.

Each case was met in public report types of people who mine baskets; all data here are invented.
"""

import itertools
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import NAME, marks_in
from naive import planned

import assocpriv as ap
from assocpriv.guarantees.errors import BasketError
from assocpriv.records.baskets import to_baskets
from assocpriv.records.cells import cells_of_names, find_item_separator, have_quantities
from tests.records.conftest import named, refused

LAYOUT = re.compile(r"layout='([^']*)'")


REFUSED: dict[str, tuple[str, str, str, list[set[str]]]] = {
    # text, what the refusal says, which of its layouts to take, and what that reads
    "receipts start again at once": (
        "date,receipt,item\n2026-01-01 19:58,1,tea\n2026-01-01 19:59,1,rye\n2026-01-02 08:01,1,jam\n",
        "ids have rows of several dates", "date/day\\+receipt", [{"tea", "rye"}, {"jam"}],
    ),
    "receipts start again in each store and at each till": (
        "store;till;receipt;item\n1;1;7;tea\n1;2;7;rye\n2;1;7;oil\n",
        "ids have rows of several stores, 1 of 1 transaction ids have rows of several tills",
        "store\\+till\\+receipt",
        [{"tea"}, {"rye"}, {"oil"}],
    ),
    "receipts start again, nothing says why": (
        "receipt,item\n1,tea\n1,milk\n2,rye\n1,jam\n2,oil\n",
        "2 of 2 transaction ids recur after other ids", "rows=together",
        [{"tea", "milk"}, {"rye"}, {"jam"}, {"oil"}],
    ),
    "rows of a receipt stand apart": (
        "receipt,item\n1,tea\n2,rye\n1,milk\n", "1 of 2 transaction ids recur", "rows=anywhere",
        [{"tea", "milk"}, {"rye"}],
    ),
    "members on several dates, shuffled": (
        "Member_number,Date,itemDescription\n1,03-07-2026,tea\n2,03-07-2026,rye\n1,04-07-2026,jam\n1,03-07-2026,oil\n",
        "ids have rows of several dates", "Date\\+Member_number .*rows=anywhere", [{"tea", "oil"}, {"rye"}, {"jam"}],
    ),
    "a basket in one cell in quotes": (
        '"bread,milk"\n"tea,milk,rye"\n"tea"\n', "at least half of the items contain commas", "list item=#1",
        [{"bread", "milk"}, {"tea", "milk", "rye"}, {"tea"}],
    ),
    "an id beside joined items": (
        "order,items\n1,milk;tea\n2,tea\n3,rye; tea\n", "half of the items contain semicolons", "list item=items",
        [{"milk", "tea"}, {"tea"}, {"rye", "tea"}],
    ),
    "printed lists": (
        "['corn', 'eggs']\n['corn']\n[]\n['tea', 'eggs']\n", "printed lists", "list item=#1",
        [{"corn", "eggs"}, {"corn"}, set(), {"tea", "eggs"}],
    ),
    "printed sets beside ids": (
        '"items","transactionID"\n"{a,b}","1"\n"{c}","2"\n', "at least half", "list item=items", [{"a", "b"}, {"c"}],
    ),
    "pairs of numbers": (
        "1 49302\n1 11109\n2 33120\n", "all lines have 2 numbers and the first increase", "long transaction=#1",
        [{"49302", "11109"}, {"33120"}],
    ),
    "triples of IBM's generator, padded": (
        "         1         1         5\n         1         1         9\n         2         2         5\n",
        "all lines have 3 numbers", "transaction=#1\\+#2 item=#3", [{"5", "9"}, {"5"}],
    ),
    "row numbers before ragged lines": (
        "1,tea,milk\n2,rye\n3,tea,oil,egg\n", "first cells of all lines are ids, numbers", "transaction=#1",
        [{"tea", "milk"}, {"rye"}, {"tea", "oil", "egg"}],
    ),
    "dates and row numbers before ragged lines": (
        "2026-01-03,1,tea,milk\n2026-01-03,2,rye\n2026-01-04,3,tea,oil,egg\n", "first cells", "transaction=#1\\+#2",
        [{"tea", "milk"}, {"rye"}, {"tea", "oil", "egg"}],
    ),
    "a name that is a number, without a header": (
        "1,milk\n1,007\n2,tea\n3,milk\n", "some columns hold only numbers", "transaction=#1 item=#2 header=no",
        [{"milk", "007"}, {"tea"}, {"milk"}],
    ),
}  # fmt: skip


READ: dict[str, tuple[str, list[set[str]]]] = {
    "a title, semicolons, decimal commas, a line of totals": (
        "Filiale 3, Mai\nBon;Artikel;Menge;Preis\n1;Tee;1,0;2,99\n1;Brot;2,5;3,10\n2;Brot;1,0;3,10\nSumme;;4,5;9,19\n",
        [{"Tee", "Brot"}, {"Brot"}],
    ),
    "totals without an id": ("Bon;Artikel\n1;Tee\n2;Brot\n;Gesamt:\n", [{"Tee"}, {"Brot"}]),
    "totals with fewer cells": ("Bon;Artikel;Preis\n1;Tee;2,99\n2;Brot;3,10\nTotal;6,09\n", [{"Tee"}, {"Brot"}]),
    "voided lines": ("receipt,item,qty\n1,tea,1\n1,tea,-1\n1,rye,1\n2,oil,2\n2,oil,-1\n", [{"rye"}, {"oil"}]),
    "a receipt all of which was voided": ("receipt,item,qty\n1,tea,1\n1,tea,-1\n2,rye,1\n", [{"rye"}]),
    "quantities that floats do not add up": (
        "receipt;item;qty\n1;tea;0,1\n1;tea;0,2\n1;tea;-0,3\n1;rye;1.250,5\n", [{"rye"}],
    ),
    "nothing of an item": ("receipt,item,qty\n1,tea,0\n1,rye,1\n", [{"rye"}]),
    "an item on two lines": ("receipt,item,qty\n1,tea,1\n1,tea,2\n1,rye,1\n", [{"tea", "rye"}]),
    "a line break in a name": (
        'receipt,item\n1,"green\ntea"\n1,rye\n2,"green\r\ntea, loose"\n', [{"green tea", "rye"}, {"green tea, loose"}],
    ),
    "names in quotes with blanks between, as R writes them": (
        '"milk" "whole tea"\n"rye"\n"rye" "milk"\n', [{"milk", "whole tea"}, {"rye"}, {"rye", "milk"}],
    ),
    "inches": ('receipt,item\n1,pizza 12"\n1,rye\n2,pizza 15"\n', [{'pizza 12"', "rye"}, {'pizza 15"'}]),
    "names with commas on several rows": (
        'order,item\n1,"tea, green"\n1,"soda, diet"\n2,"bread, rye"\n2,oil\n',
        [{"tea, green", "soda, diet"}, {"bread, rye", "oil"}],
    ),
    "the same date in rows of a receipt": (
        "date,receipt,item\n2026-01-01 10:01,1,tea\n2026-01-01 10:02,1,rye\n", [{"tea", "rye"}],
    ),
    "lines of two items with numbers among them": ("tea,7\n12,rye\nrye\n", [{"tea", "7"}, {"12", "rye"}, {"rye"}]),
    "records as numbers": ("0 2 4\n1 2 5\n0 3 4\n1 3 5\n0 2 5\n", [{"0", "2", "4"}, {"1", "2", "5"}, {"0", "3", "4"},
        {"1", "3", "5"}, {"0", "2", "5"}]),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_what_is_plain_is_read(case: str, read: Any) -> None:
    """Files of tills, spreadsheets and R are read without options."""
    text, expected = READ[case]
    assert read(text) == expected


SPMF = {
    "sequences": "1 -1 1 2 3 -1 1 3 -1 -2\n1 4 -1 3 -1 -2\n",
    "utilities": "3 5 1 2 4 6:30:1 3 5 10 6 5\n3 5 2 4:20:3 3 8 6\n",
    "weights": "1:3 2:1\n3:4 5:1\n",
    "sequences, ": "<0> 1 2 -1 <3> 2 -1 -2\n1[3] 2[5] -1 -2 SUtility:8\ntea -1 rye jam -1 -2\n",
    "times": "1 2 3|5\n2 3|6\n1|7\n",
}


@pytest.mark.parametrize("layout", [None, "dat", "lines separator=blank"])
@pytest.mark.parametrize("kind", SPMF)
def test_formats_of_spmf_that_hold_no_baskets_are_named(kind: str, layout: str | None, read: Any) -> None:
    """Neither a separator of itemsets nor a utility becomes an item, whatever layout is requested."""
    for name in ("x.txt", "x.dat"):
        refused(f"SPMF's .*{kind}", read, SPMF[kind], name, layout=layout)


def test_utilities_of_names_are_no_items(read: Any) -> None:
    """Items with a total and a utility of each are refused; a time of day after a name is not a utility."""
    for text in ("tea\trye bread:8:2\t6\njam:3:3\ntea\tjam:4:1\t3\n", "tea rye:8:2 6\njam:3:3\n"):
        refused("hold items, then a total and utilities after colons", read, text, "x.txt")
    timed = "receipt\titem\ttime\n1\ttea\t10:30:15\n1\trye\t10:30:19\n2\ttea\t11:02:44\n"
    assert read(timed, "x.tsv") == [{"tea", "rye"}, {"tea"}]


@pytest.mark.parametrize("front", ["", "{tid} ", "{cid} {tid} "])
def test_counts_of_items_are_no_items(front: str, read: Any) -> None:
    """Lines that begin with the number of items (Quest's generator) are refused, and read after the sed command."""
    baskets = [list(range(100 + place, 100 + place + 1 + place % 4)) for place in range(12)]
    lines = [
        front.format(cid=place // 3, tid=place) + f"{len(each)} " + " ".join(map(str, each))
        for place, each in enumerate(baskets)
    ]
    message = refused("numbers of all lines count the numbers after them", read, "\n".join(lines), "x.dat")
    [command] = re.findall("sed -E 's/(.*)//'", message)
    left = [re.sub(command, "", line) for line in lines]
    assert read("\n".join(left), "x.dat") == [set(map(str, each)) for each in baskets]


@pytest.mark.parametrize(("front", "back"), [("{store} ", ""), ("", " {store}")], ids=["first", "last"])
def test_numbers_out_of_order_beside_items_are_refused(front: str, back: str, read: Any) -> None:
    """If the items of every line increase, a number before or after them that does not is a store or a total."""
    baskets = [[first, first + 3, first + 7, 90] for first in range(10, 40)]
    lines = [" ".join(map(str, each)) for each in baskets]
    marked = [(front + line + back).format(store=15 + place % 3) for place, line in enumerate(lines)]
    with pytest.raises(
        BasketError, match=f"the {'first' if front else 'last'} numbers of lines break the increasing order"
    ):
        read("\n".join(marked), "x.dat")
    assert len(read("\n".join(marked[:19]), "x.dat")) == 19  # too few lines for the rule
    assert read("\n".join(lines), "x.dat") == [set(map(str, each)) for each in baskets]


def test_tables_are_read_as_files_are(make: Any, tmp_path: Path) -> None:
    """Ids that start again, joined items, quantities and incomplete rows are the same in frames and Parquet."""
    started = {
        "day": ["1.1.26", "1.1.26", "2.1.26", "2.1.26"],
        "receipt": [1] * 4,
        "item": ["tea", "rye", "tea", "jam"],
    }
    joined = {"id": [1, 2, 3], "items": ["a,b", "b", "c,a"]}
    voided = {"receipt": [1, 1, 1], "item": ["tea", "tea", "rye"], "qty": [1.0, -1.0, 0.5]}
    gaps = {"receipt": [1, 1, 2], "item": ["tea", None, "rye"]}
    days = {"layout": "transaction=day+receipt"}
    cases: list[tuple[dict[str, Any], str, dict[str, Any], list[set[str]]]] = [
        (started, "ids have rows of several dates", days, [{"tea", "rye"}, {"tea", "jam"}]),
        (joined, "contain commas", {"layout": "list item=items within=,"}, [{"a", "b"}, {"b"}, {"a", "c"}]),
        (voided, "", {}, [{"rye"}]),
        (gaps, "row 2 has no item", {"incomplete": "drop"}, [{"tea"}, {"rye"}]),
    ]
    for columns, says, options, expected in cases:
        pq.write_table(pa.table(columns), tmp_path / "x.parquet")
        for take, source in ((to_baskets, make(columns)), (ap.read_baskets, tmp_path / "x.parquet")):
            if says:
                refused(says, take, source)
            assert named(take(source, **options)) == expected


def test_numbers_of_columns_are_marked() -> None:
    """A number is a column name if a column has it; #2 is the second column; if both fit, it is refused."""
    frame = pd.DataFrame({0: [1, 1, 2], 1: ["tea", "rye", "tea"], 2: [3, 4, 5]})
    assert named(to_baskets(frame, layout="transaction=#1 item=#2")) == [{"tea", "rye"}, {"tea"}]
    refused("which is also the number of another; give #2 or #1", to_baskets, frame, layout="transaction=1 item=2")
    message = refused("layout='long transaction=#1 item=#2'", to_baskets, frame)
    assert named(to_baskets(frame, layout=LAYOUT.findall(message)[0])) == [{"tea", "rye"}, {"tea"}]


def test_lists_with_joined_items_are_refused_where_they_are_randomized() -> None:
    """A list with one joined text per basket is not a basket of one item, unless that is requested."""
    plan = planned(["a", "b", "a,b"], 2, ap.Guarantee("5%", "50%"))
    refused(r"contain commas.*layout='list within=none'", ap.randomize, [["a,b"], ["a,b"], ["b"]], plan)
    assert len(ap.randomize([["a,b"], ["a,b"], ["b"]], plan, layout="list within=none")) == 3
    assert find_item_separator(cells_of_names([["tea, green", "rye"], ["soda, diet", "oil"]])) is None


def test_quotes_around_a_name_with_the_separator_are_refused(read: Any) -> None:
    """A printed list is not split within a name."""
    given = {"layout": "list item=#1 within=, separator=tab header=no"}
    refused("a quoted name", read, "['tea, green', 'rye']\n['rye']\n", **given)


def test_rows_that_lack_a_cell_are_counted(read: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Rows without item, id or quantity are refused with their number, or left out and counted."""
    text = f"receipt,item,qty\n1,tea,1\n1,,1\n,{NAME},2\n2,rye,\n2,{NAME},1\n"
    message = refused(r"line 3 has no item; .*incomplete='drop' \(3 such rows in all\)", read, text)
    assert not marks_in(message)
    assert read(text, incomplete="drop") == [{"tea"}, {NAME}]
    assert "left out: 3 rows without an id, an item or a quantity" in caplog.text
    assert not marks_in(caplog.text)


def test_one_choice_of_layouts_is_kept_with_persons(tmp_path: Path) -> None:
    """Persons are read with the same rows: voided receipts, several id columns and incomplete rows change nothing."""
    path = tmp_path / "x.csv"
    path.write_text(
        "date,receipt,card,item,qty\n2026-01-01,1,c1,tea,1\n2026-01-01,2,c1,rye,1\n2026-01-01,2,c1,rye,-1\n"
        "2026-01-02,1,c2,tea,1\n2026-01-02,2,,jam,1\n2026-01-02,3,c2,,1\n"
    )
    plan = planned(["tea", "rye", "jam"], 2, ap.Guarantee("5%", "50%"))
    given = {"layout": "transaction=date+receipt", "person": "card"}
    refused("line 7 has no item", ap.randomize, path, plan, **given)
    assert len(ap.randomize(path, plan, incomplete="drop", **given)) == 2


REFUSED |= {  # for what their values show: dates, counts, amounts and headers, whatever the column names
    "visits of a customer, under any name": (
        "customer_id,purchased_at,product\n1,2026-05-01T09:00:00,tea\n1,2026-05-01T09:01:00,rye\n"
        "1,2026-05-02T09:00:00,jam\n2,2026-05-01T09:00:00,tea\n",
        "1 of 2 transaction ids have rows of several dates in column 2", "#2/day\\+customer_id",
        [{"tea", "rye"}, {"jam"}, {"tea"}],
    ),
    "a column that counts lines": (
        "order_id,item_id,name\n1,1,tea\n1,2,rye\n2,1,jam\n3,1,tea\n3,2,oil\n", "counts the lines of each", "item=#3",
        [{"tea", "rye"}, {"jam"}, {"tea", "oil"}],
    ),
    "a column that counts items": (
        "order_id,day,items\n1,2026-05-01,3\n2,2026-05-01,1\n3,2026-05-01,3\n", "one small number for", "item=items",
        [{"3"}, {"1"}, {"3"}],
    ),
    "a header that numbers cells": (
        "Item 1,Item 2,Item 3\ntea,rye,\njam,,\ntea,,\n", "seems to number the cells", "header=yes",
        [{"tea", "rye"}, {"jam"}, {"tea"}],
    ),
    "a header that numbers cells, behind a count": (
        "Item(s),Item 1,Item 2\n2,tea,rye\n1,jam,\n1,tea,\n", "seems to number", "transaction=#1 .*header=yes",
        [{"tea", "rye"}, {"jam"}, {"tea"}],
    ),
    "amounts at the end": (
        "tea,rye,4.50\njam,oil,3.20\ntea,jam,2.99\n", "last cells of all lines", "transaction=#3",
        [{"tea", "rye"}, {"jam", "oil"}, {"tea", "jam"}],
    ),
    "a store and a date before": (
        "north,2026-05-01,tea,rye\nsouth,2026-05-01,jam\nnorth,2026-05-02,oil\n", "first cells", "transaction=#1\\+#2",
        [{"tea", "rye"}, {"jam"}, {"oil"}],
    ),
    "numbers of transactions before item numbers": (
        "10001 1 7 20 31\n10002 4 7\n10003 1 9 12\n", "first numbers of all lines are line numbers", "separator=blank",
        [{"1", "7", "20", "31"}, {"4", "7"}, {"1", "9", "12"}],
    ),
    "lists beside names of rows, as R writes them": (
        '"","items"\n"1","{tea,rye}"\n"2","{jam}"\n"3","{tea,oil}"\n', "column 2 holds printed lists", "list item=#2",
        [{"tea", "rye"}, {"jam"}, {"tea", "oil"}],
    ),
    "lists alone, below a header": (
        '"items"\n"{tea,rye}"\n"{jam}"\n"{tea,oil}"\n', "most lines are printed lists", "list item=#1",
        [{"tea", "rye"}, {"jam"}, {"tea", "oil"}],
    ),
    "columns of one name": (
        "order_id,product,product\n1,tea,rye\n2,jam,\n", "2 columns have the name of the item column",
        "lines transaction=#1", [{"tea", "rye"}, {"jam"}],
    ),
    "an item's transactions": (
        "tea,1,3,8\nrye,2,3\njam,1,2,8\noil,4,9\n", "as if each listed the transactions", "lines",
        [{"tea", "1", "3", "8"}, {"rye", "2", "3"}, {"jam", "1", "2", "8"}, {"oil", "4", "9"}],
    ),
    "a column of totals": (
        "tea,rye,jam,All\n1,0,1,1\n0,0,1,1\n1,1,0,1\n", "column 4 is named as a total", "one-hot",
        [{"tea", "jam", "All"}, {"jam", "All"}, {"tea", "rye", "All"}],
    ),
    "a count beside flags": (
        "order_id,tea,rye,n_items\n17,1,0,1\n18,1,1,2\n19,0,1,1\n20,1,1,2\n",
        "columns after the first hold only whole numbers", "one-hot",
        [{"tea"}, {"tea", "rye"}, {"rye"}, {"tea", "rye"}],
    ),
    "quantities beside columns of unusual names": (
        "kode;sache;quantidade\n1;tea;1\n1;tea;-1\n1;rye;2\n2;jam;1\n2;tea;1\n", "as in a table", "quantity=#3",
        [{"rye"}, {"jam", "tea"}],
    ),
    "quantities in names": (
        "2x tea,1x rye\n1x tea\n3x jam,1x oil\n", "contain a quantity", "within=none",
        [{"2x tea", "1x rye"}, {"1x tea"}, {"3x jam", "1x oil"}],
    ),
    "returned below the first thousand rows, in a column of any name": (
        "receipt,item,zahl\n" + "".join(f"{row},tea,1\n" for row in range(1100)) + "1100,rye,-1\n1101,jam,1\n",
        "line 1,102 has a number below zero in column 3", "quantity=#3", [{"tea"}] * 1100 + [{"jam"}],
    ),
    "a row an item of one-hot, some with two": (
        "receipt,tea,rye,jam\n1,1,0,0\n1,0,1,0\n2,1,1,0\n3,1,0,0\n", "the one-hot table has repeated ids", "one-hot",
        [{"tea"}, {"rye"}, {"tea", "rye"}, {"tea"}],
    ),
    "joined items of which few come again": (
        'receipt,item\n1,"oil,tea"\n1,"jam,rye"\n2,"tea,egg"\n3,"salt,ham"\n', "contain commas", "within=none",
        [{"oil,tea", "jam,rye"}, {"tea,egg"}, {"salt,ham"}],
    ),
    "slashes between items": (
        "order,products\n1,tea / rye\n2,rye / jam / oil\n", "contain slashes", "within=/",
        [{"tea", "rye"}, {"rye", "jam", "oil"}],
    ),
    "tabs between items": (
        "order,products\n1,tea\trye\n2,rye\tjam\n", "contain tabs", "within=tab", [{"tea", "rye"}, {"rye", "jam"}],
    ),
    "numbers for names of columns": (
        "0,1\n17,tea\n17,rye\n18,tea\n", "looks like a header", "long .*header=yes", [{"tea", "rye"}, {"tea"}],
    ),
    "numbers for names of columns, beside an index": (
        ",0,1\n0,17,tea\n1,17,rye\n2,18,tea\n", "looks like a header", "long .*header=yes", [{"tea", "rye"}, {"tea"}],
    ),
    "dates before names with blanks between": (
        "2026-05-01 3 7\n2026-05-02 8\n2026-05-03 9 3\n", "first cells", "transaction=#1",
        [{"3", "7"}, {"8"}, {"9", "3"}],
    ),
    "an id of each row beside an order's": (
        "Item Name,Quantity,Transaction ID,Order ID\nmug,1,91,5\nplate,1,92,5\nmug,1,93,6\nbowl,2,94,6\n",
        "column 3 has another id in each row, .* while column 4 has repeated ids", "Order ID",
        [{"mug", "plate"}, {"mug", "bowl"}],
    ),
    "an id of nearly each row beside an order's": (
        "Order Number,Transaction ID,Item Title\n"
        + "".join(f"{row // 2},{row - (row == 7)},{('tea', 'rye')[row % 2]}\n" for row in range(40)),
        "column 2 has another id in each row", "Order Number", [{"tea", "rye"}] * 20,
    ),
    "an attribute in other words beside flags": (
        "receipt,homeowner,tea,rye,jam\n7,YES,F,T,T\n8,NO,T,F,T\n9,YES,T,T,F\n", "column 2 has other words for true",
        "#1\\+#2", [{"rye", "jam"}, {"tea", "jam"}, {"tea", "rye"}],
    ),
    "a title above flags": (
        "March,,,\n,,,\nBon,tea,rye,jam\n1,x,x,\n2,,x,x\n3,x,,\n", "is the header of a one-hot table", "header=3",
        [{"tea", "rye"}, {"rye", "jam"}, {"tea"}],
    ),
    "times of rows beside those of orders that start again": (
        "Order #,Sent Date,Order Date,Menu Item\n"
        + "".join(f"{order},3/{day}/24 10:0{place},3/{day}/24 10:00,{item}\n" for day in (1, 2) for order in (1, 2)
                  for place, item in enumerate(("tea", "rye"))),
        "2 of 2 transaction ids have rows of several dates, as", "Order Date/day\\+Order #", [{"tea", "rye"}] * 4,
    ),
    "positions in receipts that start again": (
        "Datum;BonNr;Pos;Artikel\n" + "".join(f"0{day}.03.2026;{bon};{pos};{item}\n" for day in (1, 2) for bon in (1, 2)
                                              for pos, item in enumerate(("tea", "rye", "jam"), 1)),
        "2 of 2 transaction ids have rows of several dates, as", "transaction=Datum\\+BonNr",
        [{"tea", "rye", "jam"}] * 4,
    ),
    "items with an id of each row beside their names": (
        "order_id,item_id,item_name\n"
        + "".join(f"{row // 2},{row * 7919:08x}-e1,{('tea', 'rye', 'jam')[row % 3]}\n" for row in range(24)),
        "has another id in each row", "item=item_name",
        [{("tea", "rye", "jam")[row % 3] for row in (first, first + 1)} for first in range(0, 24, 2)],
    ),
    "numbered columns of items beside quantities": (
        "order,item1,qty1,item2,qty2,total\n7,tea,1,rye,2,3\n8,jam,1,,,1\n9,rye,4,tea,1,5\n",
        "line 1 numbers the columns of items", "lines .*header=yes", [{"tea", "rye"}, {"jam"}, {"rye", "tea"}],
    ),
    "customers and stores before items": (
        "".join(f"C{row % 7},North,tea,rye\nC{row % 5},South,jam,tea,oil\n" for row in range(12)), "the first cells",
        "transaction=#1\\+#2", [{"tea", "rye"}, {"jam", "tea", "oil"}] * 12,
    ),
    "a header of categories": (
        "Dairy,Bakery\nmilk,rye\nmilk,rolls\nbutter,rolls\nbutter,rye\n", "lines often have equal cells", "header=yes",
        [{"milk", "rye"}, {"milk", "rolls"}, {"butter", "rolls"}, {"butter", "rye"}],
    ),
    "the header of a survey": (
        'Id,Q1,Q2\nId,tea?,rye?\n"{""ImportId"":""a""}","{""ImportId"":""b""}","{""ImportId"":""c""}"\n'
        "R1,tea,\nR2,tea,rye\nR3,,rye\n", "line 3 ends the header of a survey", "header=3",
        [{"tea"}, {"tea", "rye"}, {"rye"}],
    ),
    "a number of lines above item numbers": (
        "3\n1 7\n4 7 9\n1 9\n", "line 1 gives the number of lines below", "header=2",
        [{"1", "7"}, {"4", "7", "9"}, {"1", "9"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_ambiguous_files_are_refused_with_layouts_that_read_them(case: str, read: Any) -> None:
    """Each layout in an error reads the file as described there; no item is shown."""
    text, says, chosen, expected = REFUSED[case]
    message = refused(says, read, text)
    layouts = LAYOUT.findall(message)
    [layout] = [each for each in layouts if re.search(chosen, each)][:1]
    assert read(text, layout=layout, empty="keep") == expected
    for each in layouts:
        read(text, layout=each, empty="keep", repeats="merge")
    assert not {"tea", "rye", "milk", "49302", "corn", "jam"} & set(re.findall(r"\w+", message))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("T1: tea, rye\nT2: jam\nT3: tea, oil\n", "all lines begin with an id and a colon; .* sed 's/: \\*/,/'"),
        (
            "1::tea::5\n1::rye::4\n2::tea::5\n",
            "seem to be separated by ::; write commas instead, as with sed 's/::/,/g'",
        ),
        ("1: tea rye\n2: jam\n3: tea oil\n", "all lines begin with an id and a colon; .* sed 's/: \\*/ /'"),
        ("INSERT INTO sales VALUES (1, 'tea');\ntea,rye\njam\n", "the file is an SQL dump, which is not supported"),
        ("# of till 3\ntea,rye\njam\n", "line 1 begins with @, # or %, as a comment does"),
    ],
)
def test_what_no_layout_reads_is_refused_with_what_to_do(text: str, says: str, read: Any) -> None:
    """Unsupported separators are named, with the command that replaces them, which is tried here."""
    message = refused(says, read, text)
    if command := re.search(r"sed 's/(.*)/(.*)/(g?)'", message):
        text = re.sub(command[1], command[2], text)
        kind = "long transaction=#1 item=#2"
        if found := re.search("layout='(lines [^']*)'", message):
            kind = found[1]
        assert read(text, layout=f"{kind} header=no")[0] == {"tea", "rye"}
    else:
        assert read(text.partition("\n")[2]) == [{"tea", "rye"}, {"jam"}]


def test_attributes_with_numbers_have_no_quantities() -> None:
    """A number after a name is its value if the name is in each basket, and part of it if it never varies."""
    coded = [[f"age:{place % 3}", f"sex:{place % 2}"] for place in range(12)]
    assert not have_quantities(cells_of_names(coded))
    assert not have_quantities(cells_of_names([["Matrix 2", "Up (2009)"], ["Alien 3"], ["Up (2009)"]]))
    assert not have_quantities(cells_of_names([["tea 2", "rye x"], ["vitamin b12", "tea"]]))


def test_sources_in_memory_are_refused_as_files_are(make: Any) -> None:
    """Returned goods, repeated ids, joined cells and exhausted readers are refused; the errors' layouts read them."""
    returned = make({"receipt": [1, 1, 2], "item": ["tea", "rye", "tea"], "zahl": [1, -1, 1]})
    message = refused("row 2 has a number below zero in column 3", ap.to_baskets, returned)
    without, all_of_them = (named(ap.to_baskets(returned, layout=each)) for each in LAYOUT.findall(message))
    assert (without, all_of_them) == ([{"tea"}, {"tea"}], [{"tea", "rye"}, {"tea"}])
    with pytest.raises(
        BasketError, match="the table has lists and repeated ids; pass layout='list item=items' if each row"
    ):
        ap.to_baskets(make({"id": [1, 1, 2], "items": [["tea"], ["rye"], ["jam"]]}))
    joined = make({"items": ["tea,rye", "rye,jam", "oil"]})
    refused("the cells contain commas; pass layout='list item=#1 within=,'", ap.to_baskets, joined)
    assert named(ap.to_baskets(joined, layout="list item=#1 within=,")) == [{"tea", "rye"}, {"rye", "jam"}, {"oil"}]
    refused(r"commas, .* pass layout='list within=none' if each is one item", ap.to_baskets, [["tea,rye"], ["rye,jam"]])
    assert named(ap.to_baskets([["tea,rye"]], layout="list within=none")) == [{"tea,rye"}]
    broken = {"receipt": [1, 1], "item": ["tea\nleaves", "rye"]}  # as CSV has it, in quotes
    assert named(ap.to_baskets(make(broken))) == [{"tea leaves", "rye"}]
    reader = pa.table({"items": [["tea"]]}).to_reader()
    assert named(ap.to_baskets(reader, catalogue=ap.Catalogue(["tea"]))) == [{"tea"}]
    refused("the reader has no rows; it can be read only once", ap.to_baskets, reader, catalogue=ap.Catalogue(["tea"]))


def test_bare_numbers_that_are_names_too_are_refused(read: Any) -> None:
    """If line 1 may name columns by numbers, 2 may be a name or a number; with # it is a number."""
    text = "2,1,3\n1,tea,9\n1,rye,9\n2,tea,9\n"
    refused("line 1 may be a header or data", read, text, layout="long transaction=2 item=1")
    assert read(text, layout="long transaction=#1 item=#2 header=yes") == [{"tea", "rye"}, {"tea"}]


def test_rows_with_a_quantity_alone_are_counted(read: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A total that is only a quantity is left out and logged; empty rows are ignored."""
    assert read("receipt,item,quantity\n1,tea,1\n,,\n2,rye,2\n,,3\n") == [{"tea"}, {"rye"}]
    assert "left out: 1 row without an id, an item or a quantity" in caplog.text
    for total in ("Summe: 4", "Total : 1.250,50", "Summe;;4"):
        assert read(f"Journal;;\n\nBon;Artikel;Menge\n1;tea;1\n2;rye;3\n{total}\n") == [{"tea"}, {"rye"}]


def test_what_holds_several_baskets_in_python_is_named(make: Any) -> None:
    """A mapping, texts with several items, rows of names and tables of counts have errors with advice."""
    with pytest.raises(TypeError, match=r"got a mapping; pass list\(mapping.values\(\)\)"):
        ap.to_baskets({("2026-05-01", 1): ["tea"], ("2026-05-02", 1): ["rye"]})
    with pytest.raises(TypeError, match=r"split text with several items: text.split\(','\)"):
        ap.to_baskets(["tea, rye", "jam"])
    wide = {"0": ["tea", "rye", "jam"], "1": ["rye", None, "tea"], "2": ["oil", None, None]}
    refused("3 columns of text, from #1 on, share values, as if each row", ap.to_baskets, make(wide))
    selected = pd.DataFrame(wide).apply(lambda row: row.dropna().tolist(), axis=1)  # as the message has it
    assert named(ap.to_baskets(selected)) == [{"tea", "rye", "oil"}, {"rye"}, {"jam", "tea"}]
    counts = {"order_id": [1, 2, 3], "tea": [2, 0, 1], "rye": [0, 3, 2], "jam": [1, 0, 0], "oil": [0, 0, 5]}
    refused(r"is ambiguous; for quantities, .* pass frame.set_index\(ID_COLUMNS\) > 0", ap.to_baskets, make(counts))
    flags = pd.DataFrame(counts).set_index("order_id") > 0
    assert named(ap.to_baskets(flags)) == [{"tea", "jam"}, {"rye"}, {"tea", "rye", "oil"}]
    refused("column 6 is named as a total and is true in all rows", ap.to_baskets, flags.assign(All=True))


def test_columns_of_transactions_are_seen_in_many_rows(read: Any) -> None:
    """A column whose values form blocks within ids belongs to transactions; one that depends on the item does not."""
    goods = ["tea", "rye", "jam", "oil", "egg", "ham"]
    rows = ["receipt,desk,item,aisle\n"]
    for receipt, desk, place in itertools.product(range(30), range(2), range(3)):
        good = (receipt + desk + place) % 6
        rows.append(f"{receipt},{desk},{goods[good]},{good // 3}\n")
    refused("30 of 30 transaction ids have rows of several values in column 2", read, "".join(rows))
    assert len(read("".join([rows[0], *rows[1::6], *rows[2::6]]), layout="rows=anywhere")) == 30
    assert len(read("".join(row for row in rows if ",1," not in row[:6]))) == 30


def test_till_lines_are_no_items(read: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Totals in half of the receipts, and payments with them, are left out and counted; otherwise they are items."""
    taxed = "3,Cash\n3,VAT 7%\n3,GST\n3,19% MwSt\n3,TVA 5.5 %\n3,Summe EUR\n3,rye\n"
    lines = "".join(f"{row},tea\n{row},TOTAL\n" for row in range(4)) + taxed
    path = tmp_path / "x.csv"
    path.write_text("receipt,item\n" + lines)
    baskets = ap.read_baskets(path)
    assert named(baskets) == [{"tea"}] * 3 + [{"tea", "rye"}]
    assert list(baskets.catalogue) == ["rye", "tea"]
    assert "left out: 10 rows of totals, taxes or payments" in caplog.text
    assert len(ap.read_baskets(path, layout="missing=keep").catalogue) == 9
    assert read("receipt,item\n1,tea\n2,change\n3,rye\n") == [{"tea"}, {"change"}, {"rye"}]


@pytest.mark.parametrize("word", ["---", "(blank)", "#REF!", "unknown", "."])
def test_words_and_rules_are_no_items(word: str, tmp_path: Path) -> None:
    """Words that spreadsheets and people write for missing values are in no catalogue."""
    path = tmp_path / "x.csv"
    path.write_text(f"receipt,item\n1,tea\n1,{word}\n2,rye\n")
    refused("line 3 has no item", ap.read_baskets, path)
    assert list(ap.read_baskets(path, incomplete="drop").catalogue) == ["rye", "tea"]
    assert list(ap.catalogue([["tea", word], ["rye"]])) == ["rye", "tea"]


def test_blocks_of_lines_are_no_baskets_of_one(read: Any) -> None:
    """Single names in blocks, separated by blank lines or rules, are refused with a command that joins them."""
    refused(r"separated by blank lines, .*join the lines of a block: awk", read, "tea\nrye\n\njam\noil\negg\n\ntea\n")
    refused("line 3 is a rule between blocks", read, "tea\nrye\n-----\njam\n")


def test_rows_of_other_shapes_are_refused() -> None:
    """One-hot rows of one item, frames with an index of several levels and pairs of a database are not baskets."""
    padding_items = pd.DataFrame({"receipt": [1, 1, 2], "tea": [1, 0, 0], "rye": [0, 1, 1]})
    refused("ids are repeated; group its rows", to_baskets, padding_items)
    assert named(to_baskets(padding_items.groupby("receipt", as_index=False).max())) == [{"tea", "rye"}, {"rye"}]
    several = padding_items.groupby(["receipt", "tea"]).sum().rename_axis([None, None])
    refused(r"index has several levels; .*reset_index\(\)", to_baskets, several)
    refused("pairs of an id and an item", to_baskets, [(1, "tea"), (1, "rye"), (2, "tea")])


def test_rows_in_lists_are_refused() -> None:
    """Lists that are rows of CSV, or have an id first, are refused in Python, too; layout="list" takes them."""
    rows = [["receipt", "item"], ["1", "tea"], ["1", "rye"]]
    refused(r"basket 1 has column names, .* pass pandas.DataFrame\(rows\[1:\]", to_baskets, rows)
    for baskets in ([[row, "tea", "rye"] for row in range(3)], [[f"T{row}", "tea", "rye"] for row in range(20)]):
        refused("the first items of all baskets are ids or numbers", to_baskets, baskets)
        assert named(to_baskets([basket[1:] for basket in baskets])) == [{"tea", "rye"}] * len(baskets)
        assert len(to_baskets(baskets, layout="list")) == len(baskets)
    records = [[f"A1={row % 2}", f"A2={row % 3}", f"A3={row % 2}", f"A4={row % 3}"] for row in range(40)]
    for plain in (records, [[1, 5, 7]] * 20, [["tea", "rye"], ["rye"]] * 20):
        assert len(to_baskets(plain)) == len(plain)


def test_cells_that_occur_only_at_an_end_are_reported(read: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Weekdays before items and payments after them, which may be items, are logged; the layout leaves them out."""
    days = "".join(f"{('Mon', 'Tue')[row % 2]},tea,rye\nWed,jam,tea,oil\n" for row in range(12))
    read(days)
    says = "the {} cells of all lines occur nowhere else; if they are customers, stores, payments or the like"
    assert says.format("first") in caplog.text
    assert read(days, layout="lines transaction=#1")[0] == {"tea", "rye"}
    caplog.clear()
    read("tea,rye,card\njam,tea,oil,cash\n" * 12)
    assert says.format("last") in caplog.text


def test_other_code_pages_are_refused(read: Any) -> None:
    """Cyrillic, Greek and Polish letters of one byte are not read as Western ones."""
    western = "neither UTF-8 nor Windows-1252"
    for text, codec, says in (
        ("кофе,молоко\n", "cp1251", western), ("γάλα,ψωμί\n", "cp1253", western),
        ("masło,mąka,pączek\n", "cp1250", western), ("Käse,Möhren\n", "mac_roman", western),
        ("yağ,balık\n", "cp1254", "Turkish"),
    ):  # fmt: skip
        refused(says, read, text.encode(codec))
    assert read("brauð,mjólk\n".encode("cp1252")) == [{"brauð", "mjólk"}]  # of Iceland


@pytest.mark.parametrize(("yes", "no"), [("Ja", "Nein"), ("oui", "non"), ("WAHR", "FALSCH"), ("X", "-"), ("on", "off")])
def test_words_of_other_languages_are_flags(yes: str, no: str, read: Any) -> None:
    """One-hot tables of German and French programs are read."""
    assert read(f"tea,milk,rye\n{yes},{no},{no}\n{no},{yes},{yes}\n") == [{"tea"}, {"milk", "rye"}]


def test_headers_that_come_again_are_no_rows(read: Any) -> None:
    """In joined files with a header each, repeated column names are neither id, item nor quantity."""
    part = "receipt,item,qty\n{0},tea,1\n{0},rye,2\n"
    text = "".join(part.format(number) for number in range(4))
    assert read(text) == [{"tea", "rye"}] * 4
    for row in ("qty,receipt,item", "item,qty,receipt"):
        shuffled = f"receipt,item,qty\n0,tea,1\n0,rye,2\n{row}\n1,2,tea\n"
        refused("line 4 names the columns in another order than line 1", read, shuffled)
    refused("line 4, column 1 is neither true nor false", read, "tea,rye\n1,0\n0,1\ntea,rye\n1,1\n", layout="one-hot")


def test_totals_below_flags_are_named(read: Any) -> None:
    """A line of totals below a one-hot table, with or without a title, is refused with advice."""
    flags = "Bon,tea,rye\n1,1,1\n2,0,1\n"
    for title in ("", "March,,\n"):
        says = f"line {4 + bool(title)} holds totals below a one-hot table; remove it"
        refused(says, read, f"{title}{flags}Summe,1,2\n")
    assert read(flags) == [{"tea", "rye"}, {"rye"}]


def test_a_named_index_is_a_column(caplog: pytest.LogCaptureFixture) -> None:
    """A named index of pandas is read as in the frame's Parquet file; the log shows the table's layout."""
    frame = pd.DataFrame({"order": [1, 1, 2], "item": ["tea", "rye", "tea"], "customer_id": [7, 7, 7]})
    assert named(to_baskets(frame.set_index("order"))) == [{"tea", "rye"}, {"tea"}]
    assert "table: read as: long transaction=order item=item" in caplog.text
    assert named(to_baskets(frame.set_index(["order", "item"]))) == [{"tea", "rye"}, {"tea"}]


def test_receipts_of_a_customer_are_not_one_basket(read: Any) -> None:
    """A column of persons is not a transaction if another column splits their rows."""
    text = "Vorgang,Customer,Product\n11,K1,tea\n11,K1,rye\n12,K1,tea\n13,K2,oil\n13,K2,tea\n14,K2,jam\n"
    refused("2 of 2 transaction ids have rows of several values in column 1", read, text)
    assert len(read(text, layout="transaction=#1")) == 4


def test_rows_that_may_be_no_sales_are_named(read: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A column with words such as cancelled, or a flag of such a name, is reported without its words."""
    for header, no, yes in (
        ("status", "completed", "cancelled"), ("Storno", "N", "J"), ("is_return", "0", "1"), ("Void?", "false", "true"),
        ("Return Reason", "", "broken"), ("qty_refunded", "0", "1"), ("Retoure", "nein", "ja"),
        ("line_type", "line_item", "shipping"),
    ):  # fmt: skip
        caplog.clear()
        read(f"order_id,{header},product\n5,{yes},tea\n6,{no},rye\n6,{no},jam\n")
        assert "column 2 marks rows as cancelled, refunded, shipping, views or the like; if such" in caplog.text
    caplog.clear()
    read("order_id,returning,product\n5,0,tea\n6,1,rye\n")  # a customer
    assert "marks rows" not in caplog.text
    # and does not distinguish transactions
    read("order_id,event,product\n5,view,tea\n5,view,rye\n5,purchase,jam\n6,view,oil\n")


def test_names_of_goods_go_before_codes_with_gaps(read: Any) -> None:
    """If the column of codes has gaps, the next column with a common name of items, without gaps, is read."""
    assert read("receipt,sku,description\n1,A1,tea\n1,,rye\n2,A2,oil\n") == [{"tea", "rye"}, {"oil"}]


@pytest.mark.parametrize(
    "header", ["N° ticket;Désignation", "Bonnummer;Artikelbezeichnung", "Nº Factura;Artículo", "Order Ref;Title"]
)
def test_names_of_columns_in_other_languages_are_known(header: str, read: Any) -> None:
    """A prefix for number, accents and compounds do not matter."""
    assert read(f"{header}\n1;tea\n1;rye\n2;tea\n") == [{"tea", "rye"}, {"tea"}]
