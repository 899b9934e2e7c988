"""Tests of what in files of baskets is no item: ids, headers, words for nothing, other separators; and what to do."""

import logging
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from canary import NAME, marks_in

import assocpriv as ap
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import BasketError
from assocpriv.records import sources
from assocpriv.records.basket_files import ReadOptions, stream_baskets
from assocpriv.records.baskets import Baskets

GOODS = ["oat milk", "beer", "butter", "fish, smoked", NAME]
_DRAW = random.Random(5)
SETS = [set(_DRAW.sample(GOODS, _DRAW.randint(1, 4))) for _ in range(60)]


def named(baskets: Baskets) -> list[set[str]]:
    """Return the baskets as sets of names."""
    return [{baskets.catalogue[item] for item in basket} for basket in baskets]


def lines(first: str = "{row}", header: str = "") -> str:
    """Return a line a basket, with an id before its quoted names."""
    cells = ([first.format(row=1000 + row), *(f'"{name}"' for name in sorted(names))] for row, names in enumerate(SETS))
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
    assert named(baskets) == SETS
    assert list(baskets.catalogue) == sorted(GOODS)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 60)
    options = ReadOptions("basket", transaction_column=1, header=bool(header))
    batches = list(stream_baskets(path, Catalogue(sorted(GOODS)), options))
    assert [basket for batch in batches for basket in named(batch)] == SETS


def test_ids_that_are_said_to_be_items_are_items(tmp_path: Path) -> None:
    """What is said wins; few lines, first cells that recur and cells that all differ are no ids."""
    path = tmp_path / "x.csv"
    path.write_text(lines())
    assert len(ap.read_baskets(path, format="basket").catalogue) == len(SETS) + len(GOODS)
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
    return pd.DataFrame([{name: name in names for name in GOODS} for names in SETS])


FRAMES = {
    "true": flag_frame,
    "numbers": lambda: flag_frame().astype(float),
    "with ids": lambda: flag_frame().astype("uint8").assign(order_id=range(len(SETS))),
    "with an index": lambda: flag_frame().set_index(pd.Index(range(1, 2 * len(SETS), 2))),
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
        assert named(ap.read_baskets(path, **options)) == SETS
    assert "one-hot, a column for each of 5 items" in caplog.text
    assert not marks_in(caplog.text)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 400)
    monkeypatch.setattr(sources, "LEAST_CHUNK_BYTES", 400)
    batches = list(stream_baskets(path, Catalogue(GOODS), ReadOptions(memory_bytes=1 << 20, **options)))
    assert len(batches) > 3
    assert [basket for batch in batches for basket in named(batch)] == SETS


def test_parquet_of_two_columns_is_not_swapped(tmp_path: Path) -> None:
    """Of two columns without usual names the text holds the items; of equal types it must be said."""
    path = tmp_path / "x.parquet"
    rows = [(name, row) for row, names in enumerate(SETS) for name in names]
    frame = pd.DataFrame(rows, columns=["artikel", "bon"])
    frame.to_parquet(path)
    assert named(ap.read_baskets(path)) == SETS
    frame.assign(bon=frame["bon"].map("b{}".format)).to_parquet(path)
    with pytest.raises(BasketError, match=r"neither names nor types tell.*--item-column"):
        ap.read_baskets(path)
    assert named(ap.read_baskets(path, transaction_column="bon")) == SETS


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


def test_functions_take_what_the_error_of_a_frame_says() -> None:
    """A frame that may mean several things is read by every function, with the words of its error."""
    frame = pd.DataFrame([("mon", row, name) for row, names in enumerate(SETS) for name in sorted(names)])
    frame.columns = ["day", "bon", "ware"]
    plan = ap.plan(set(GOODS), 3, ap.Breach("5%", "50%"), itemset_size=1)
    said: dict[str, Any] = {"transaction_column": "bon", "item_column": 3}
    with pytest.raises(BasketError, match=r"say format='onehot'.*transaction_column= and item_column="):
        ap.randomize_baskets(frame, plan)
    with pytest.warns(UserWarning, match="lost"):
        assert len(ap.randomize_baskets(frame, plan, **said)) == len(SETS)
    with pytest.warns(UserWarning, match="lost"):
        assert ap.simulate(frame, plan, "50%", **said, seed=1).reports
    assert named(ap.to_baskets(frame, **said)) == named(Baskets.from_frame(frame, "long", **said)) == SETS
    assert len(ap.randomize_baskets(pd.DataFrame({"beer": [1]}), plan, format="onehot")) == 1
    with pytest.raises(BasketError, match="transaction_column and item_column are said of tables"):
        ap.randomize_baskets(SETS, plan, **said)


def test_sets_of_names_are_sorted() -> None:
    """A set comes in another order in each process, so plans are made of its sorted names; lists keep theirs."""
    names = {"tea", "10", "9", "milk"}
    assert list(ap.Catalogue(names)) == ["9", "10", "milk", "tea"]
    assert list(ap.plan(names, 2, ap.Breach("5%", "50%")).catalogue) == ["9", "10", "milk", "tea"]
    assert list(ap.Catalogue(["tea", "9"])) == ["tea", "9"]
    with pytest.raises(ap.AssocprivError, match="must be text"):
        ap.Catalogue({1, 2})  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_usual_names_go_before_zeros_and_ones(tmp_path: Path, ending: str) -> None:
    """Transactions and items that are all 0 and 1 are no one-hot table, for their columns are named."""
    frame, path = pd.DataFrame({"transaction": [0, 0, 1], "item": [0, 1, 1]}), tmp_path / f"b.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    assert [set(basket) for basket in ap.read_baskets(path)] == [{0, 1}, {1}]
