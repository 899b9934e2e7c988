"""Tests of client/baskets/bulk_client: at most the plan's number of baskets per person, every choice equally likely."""

import logging
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from naive import ReplayEntropy, planned

import assocpriv as ap
from assocpriv.guarantees.errors import BasketError
from assocpriv.records.baskets import Baskets
from assocpriv.records.layout import ReadOptions
from assocpriv.records.persons import check_spellings, choose_rows, limit_per_person

SALES = """receipt;card;item
1;canary-a;tea
2;canary-b;milk
1;canary-a;milk
3;canary-a;tea
4;canary-a;milk
5;canary-b;tea
5;canary-b;milk
"""
APART = "rows=anywhere"
PLAN = planned(["milk", "tea"], 2, ap.Guarantee("5%", "50%"))


def sales(folder: Path, text: str = SALES) -> Path:
    """Write a table with a line an item."""
    path = folder / "sales.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("most", [1, 2, 9])
def test_every_choice_is_equally_likely(most: int) -> None:
    """Over all orders of the words, each subset of a person's baskets is chosen equally often."""
    whose = np.array([5, 2, 5, 5, 2])
    found = Counter(tuple(choose_rows(whose, most, ReplayEntropy(order)).tolist()) for order in permutations(range(5)))
    of_five, of_two = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for rows, times in found.items():
        of_five[tuple(row for row in rows if whose[row] == 5)] += times
        of_two[tuple(row for row in rows if whose[row] == 2)] += times
    assert {len(rows) for rows in of_five} == {min(most, 3)}
    assert set(of_five.values()) == ({120} if most >= 3 else {40})
    assert set(of_two.values()) == ({60} if most == 1 else {120})


@pytest.mark.parametrize("kind", ["file", "frame"])
def test_selected_baskets_stay_whole(kind: str, tmp_path: Path) -> None:
    """Rows of a transaction may stand anywhere; the selected baskets are complete."""
    path = sales(tmp_path)
    source = path if kind == "file" else pd.read_csv(path, sep=";", dtype=str)
    options, entropy = ReadOptions(layout=APART), ReplayEntropy([3, 1, 2, 0, 4])
    kept = limit_per_person(source, "card", PLAN.reports_per_person, PLAN.catalogue, options, entropy=entropy)
    assert (kept.rows.tolist(), kept.baskets, kept.people) == ([1, 3], 5, 2)
    baskets = ap.read_baskets(path, layout=APART)
    milk = baskets.catalogue.index("milk")
    assert list(kept.select(baskets)) == [{milk}, {milk}]
    assert len(ap.randomize(source, PLAN, person="card", layout=APART)) == 2
    assert len(ap.randomize(source, PLAN, layout=APART)) == 5


def test_at_most_the_plans_reports_per_person_are_selected(tmp_path: Path) -> None:
    """A plan of two reports per person selects two baskets of each and counts all."""
    twice = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"), reports=1_000, reports_per_person=2)
    done = ap.randomize(sales(tmp_path), twice, tmp_path / "reports.parquet", person="card", layout=APART)
    assert (done.reported, done.people, done.read.baskets) == (4, 2, 5)
    assert len(ap.read_reports(tmp_path / "reports.parquet")) == 4


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (SALES.replace("1;canary-a;milk", "1;canary-b;milk"), "card", "1 transaction of several persons"),
        (SALES.replace("2;canary-b;milk", "2;;milk"), "card", "1 transaction without a person.*incomplete='drop'"),
        (SALES, "buyer", "given by person= is not among the 3 columns"),
        ("1 2\n2 3\n", "card", "one row per item|no line has a comma"),
        ("milk,tea\n1,0\n1,1\n", "tea", "one row per item"),
    ],
)
def test_baskets_without_one_person_are_refused(text: str, column: str, message: str, tmp_path: Path) -> None:
    """The error names the problem but no person and no item; nothing is written."""
    layout = APART if ";" in text else None
    with pytest.raises(BasketError, match=message) as caught:
        ap.randomize(sales(tmp_path, text), PLAN, tmp_path / "reports.parquet", person=column, layout=layout)
    assert "canary" not in str(caught.value)
    assert not (tmp_path / "reports.parquet").exists()


@pytest.mark.parametrize("kind", ["file", "frame"])
@pytest.mark.parametrize(
    "written",
    [("7", "007"), (" 7", "7 "), ("7", "7.0"), ("canary-a", "Canary-A"), ("canary-\u00e9", "canary-e\u0301"),
     ("canary a", "canary  a")],
    ids=["zeros", "blanks", "decimals", "case", "unicode form", "blanks inside"],
)  # fmt: skip
def test_one_person_in_several_spellings_is_refused(written: tuple[str, str], kind: str, tmp_path: Path) -> None:
    """Each spelling would get a person's reports; with person_as='written' they are two people, except outer blanks."""
    text = f"receipt;card;item\n1;{written[0]};tea\n2;{written[1]};milk\n3;canary-other;tea\n"
    source = sales(tmp_path, text) if kind == "file" else pd.read_csv(sales(tmp_path, text), sep=";", dtype=str)
    if written[0].strip() == written[1].strip():  # blanks around an id are not read
        assert ap.randomize(source, PLAN, tmp_path / "reports.parquet", person="card").people == 2
        return
    with pytest.raises(BasketError, match=r"1 person may have several ids.*person_as='written'") as caught:
        ap.randomize(source, PLAN, person="card")
    assert "canary" not in str(caught.value)
    done = ap.randomize(source, PLAN, tmp_path / "reports.parquet", person="card", person_as="written")
    assert (done.people, done.reported) == (3, 3)


@pytest.mark.parametrize("word", ["nan", "None", "NULL", "NA", "<NA>", "#N/A"])
def test_a_missing_value_marker_is_no_person(word: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Rows without a person would count as one person, unless missing=keep makes the marker an id."""
    path = sales(tmp_path, SALES.replace("canary-b", word))
    with pytest.raises(BasketError, match="2 transactions without a person"):
        ap.randomize(path, PLAN, person="card", layout=APART)
    with caplog.at_level(logging.INFO, "assocpriv"):
        assert len(ap.randomize(path, PLAN, person="card", layout=APART, incomplete="drop")) == 1
    assert "2 transactions without a person left out" in caplog.text
    assert len(ap.randomize(path, PLAN, person="card", layout=f"{APART} missing=keep")) == 2


@pytest.mark.parametrize("ids", [["7", "70", "0", "12"], ["a7", "A8"], ["7.5", "7"], ["1e5", "100000"], ["-7", "7"]])
def test_different_ids_are_different_persons(ids: list[str]) -> None:
    """Other numbers and other words are not spellings of one id."""
    check_spellings(ids)


def test_person_as_needs_person() -> None:
    """person_as alone is refused, and has two possible values."""
    with pytest.raises(BasketError, match="person_as needs person"):
        ap.randomize([{"milk"}, {"tea"}], PLAN, person_as="written")
    with pytest.raises(BasketError, match="person_as must be one of checked, written"):
        ap.randomize(pd.DataFrame({"receipt": [1], "item": ["tea"]}), PLAN, person="receipt", person_as="same")


def test_baskets_in_memory_have_no_column_of_persons() -> None:
    """Lists and Baskets have no column of persons."""
    for baskets in ([{"milk"}, {"tea"}], Baskets.from_sets([{"milk"}])):
        with pytest.raises(BasketError, match="one row per item"):
            ap.randomize(baskets, PLAN, person="card")
