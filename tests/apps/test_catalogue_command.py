"""Tests of the command catalogue, and of its door."""

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import refused, refused_without_output, run, run_json

import assocpriv as ap
from assocpriv.api import check_catalogue, draft_catalogue

BASKETS = "Milk,bread,cafe\u0301\nmilk,bread\nbread,ice  cream\nbread,tea\n"
NAMES = ["Milk", "bread", "café", "ice cream", "milk", "tea"]


@pytest.fixture
def baskets(tmp_path: Path) -> Path:
    """Return a file of baskets with names that are twins, decomposed and with two blanks."""
    (tmp_path / "b.csv").write_text(BASKETS, encoding="utf-8")
    return tmp_path / "b.csv"


def test_a_catalogue_is_made(baskets: Path, tmp_path: Path) -> None:
    """Names are written in one form, sorted; what was rewritten and who are twins is said; a plan takes the file."""
    output = tmp_path / "names.txt"
    result = run("catalogue", baskets, "-o", output)
    assert output.read_text(encoding="utf-8").splitlines() == NAMES
    assert result.stdout == f"6 names written to {output}; they get published: read them first\n"
    for said in ("4 baskets, 6 items", "2 names put into Unicode form NFC", "1 group of names differ", "Milk | milk"):
        assert said in result.stderr
    record = run_json("plan", "--catalogue", output, "--transaction-size", 2, "--prior", "5%", "--posterior", "50%",
                      "-o", tmp_path / "p.json")  # fmt: skip
    assert record["items"] == 6
    refused_without_output(tmp_path, "catalogue", baskets, "-o", output)
    refused_without_output(tmp_path, "catalogue", baskets, "-o", baskets, "--force")


def test_rare_names_and_several_files(baskets: Path, tmp_path: Path) -> None:
    """Only names in enough baskets of all files stay; without a file they go to standard output."""
    (tmp_path / "more.csv").write_text("tea;milk\n")
    result = run("catalogue", baskets, tmp_path / "more.csv", "--min-count", 2)
    assert result.stdout.splitlines() == ["bread", "milk", "tea"]
    assert "3 rarer names left out" in result.stderr
    record = run_json("catalogue", baskets, "--min-count", 4)
    assert record == {
        "items": 1, "baskets": 4, "rare": 5, "rewritten": 2, "twins": [], "names": ["bread"], "output": None
    }  # fmt: skip
    assert "no item is in 5 baskets or more; lower min_count (--min-count)" in refused(
        "catalogue", baskets, "--min-count", 5
    )


def test_forms_of_a_name_in_one_basket_count_once() -> None:
    """A basket that holds a name in two Unicode forms is one basket of it."""
    forms = ["caf\u00e9", "cafe\u0301", " caf\u00e9"]
    data = [[*forms[:2], "tea"], ["x", "tea"], ["x", forms[2]]]
    assert list(ap.catalogue([forms[:2], ["x"], ["x"]], min_count=2)) == ["x"]
    for min_count, names in ((1, ["café", "tea", "x"]), (2, ["café", "tea", "x"]), (3, None)):
        if names is None:
            with pytest.raises(ap.AssocprivError, match="no item is in 3 baskets"):
                ap.catalogue(data, min_count=min_count)
        else:
            assert list(ap.catalogue(data, min_count=min_count)) == names


def test_numbers_are_sorted_by_value(tmp_path: Path) -> None:
    """Item numbers that occur become names, in the order of numbers."""
    (tmp_path / "b.dat").write_text("10 9\n9 2\n")
    assert run("catalogue", tmp_path / "b.dat").stdout.split() == ["2", "9", "10"]


def test_a_catalogue_is_checked(baskets: Path, tmp_path: Path) -> None:
    """Twins, names in other forms, and how baskets fit are told; a good one is called good."""
    odd = tmp_path / "odd.txt"
    odd.write_text("Milk\nmilk\nice  cream\nbread\nsalt\n", encoding="utf-8")
    said = run("catalogue", "--check", odd, baskets).stdout
    for line in ("5 items", "1 name not in Unicode form NFC with single blanks, as 'ice  cream'", "Milk | milk",
                 "4 baskets: 2 items not in the catalogue; 1 name of it in none of them"):  # fmt: skip
        assert line in said
    good = tmp_path / "good.txt"
    good.write_text("milk\nbread\n")
    assert "no names that people may take for one" in run("catalogue", "--check", good).stdout
    assert run_json("catalogue", "--check", good) == {
        "items": 2, "odd": [], "twins": [], "baskets": None, "unknown": None, "unused": None
    }  # fmt: skip
    good.write_text("milk\nmilk\n")
    assert "entry 2 repeats an earlier name" in refused("catalogue", "--check", good)


def test_wrong_usage(baskets: Path, tmp_path: Path) -> None:
    """Neither baskets nor a catalogue to check, and options of the other, are wrong usage."""
    refused("catalogue", status=2)
    refused("catalogue", baskets, "--min-count", 0, status=2)
    refused("catalogue", "--check", baskets, "-o", tmp_path / "n.txt", status=2)
    refused("catalogue", baskets, "--separator", "x", status=2)
    assert "no such file" in refused("catalogue", tmp_path / "none.csv")


def test_the_door_of_catalogues(baskets: Path, tmp_path: Path) -> None:
    """In Python files, lists and frames make a catalogue, with a warning of twins, and it is written and read."""
    with pytest.warns(UserWarning, match=r"1 group of names differ in case") as warned:
        made = ap.catalogue(baskets)
    assert "milk" not in str(warned[0].message).lower()
    assert "Milk" not in repr(draft_catalogue([baskets]))
    assert list(made) == NAMES
    frame = pd.DataFrame({"order": [1, 1, 2], "product": ["tea", "salt", "tea"]})
    assert list(ap.catalogue([["salt", "oil"], ["oil"]], frame, min_count=2)) == ["oil", "salt", "tea"]
    ap.write_catalogue(made, tmp_path / "n.txt")
    assert ap.read_catalogue(tmp_path / "n.txt") == made
    with pytest.raises(ap.AssocprivError, match="exists"):
        ap.write_catalogue(made, tmp_path / "n.txt")
    with pytest.raises(ap.AssocprivError, match="min_count"):
        ap.catalogue(baskets, min_count=0)
    assert draft_catalogue([baskets]).rewritten == 2
    assert check_catalogue(ap.Catalogue.numbered(3)).twins == ()


def test_a_sample_is_held_against_the_catalogue(home: Path, tmp_path: Path) -> None:
    """A sample with other items is refused, with what to do; how many baskets it has is said beside the reports."""
    (tmp_path / "n.txt").write_text("bread\nmilk\n")
    (tmp_path / "b.csv").write_text("bread,milk\nbread\ntea,milk,bread\n")
    question = ["plan", "--catalogue", tmp_path / "n.txt", "--baskets", tmp_path / "b.csv", "--prior", "5%",
                "--posterior", "50%", "-o", tmp_path / "p.json"]  # fmt: skip
    message = refused_without_output(tmp_path, *question)
    assert "the 1st item of line 3 is not in the catalogue" in message
    assert "--unknown drop" in message
    said = run(*question, "--unknown", "drop").stderr
    assert "sample of 3 baskets, plan for 1,000,000 reports (--reports)" in said
    assert "1 items outside the catalogue dropped" in said
    assert "warning: 1,000,000 reports are the default; for as many as the sample has give --reports 3" in said
    assert "from 3 reports the lowest discoverable support would be: single items" in said
    assert "are the default" not in run(*question, "--unknown", "drop", "--force", "--reports", 1000).stderr
    assert run(*question, "--others", "drop", "--force").exit_code == 0
    assert refused("plan", "--items", 3, "--baskets", home / "b.dat", *question[5:], "--force").count("catalogue")


def test_commands_say_what_was_understood(tmp_path: Path) -> None:
    """Every command that reads baskets takes options of their layout, and says on standard error what it took."""
    rows = "".join(f"{row};{item};2,5\n" for row in range(3000) for item in (row % 5, 5 + row % 3))
    (tmp_path / "sales.csv").write_text("bon;ware;preis\n" + rows)
    columns = ["--transaction-column", "bon", "--item-column", "2"]
    promise = ["--prior", "5%", "--posterior", "50%"]
    said = "sales.csv: CSV with semicolons and a header; transactions in column 1, items in column 2"
    plan, sales = tmp_path / "p.json", tmp_path / "sales.csv"
    assert said in run("plan", "--items", 8, "--baskets", sales, *columns, *promise, "-o", plan).stderr
    for question in (
        ["randomize", sales, "--plan", plan, "-o", tmp_path / "r.parquet"],
        ["simulate", sales, "--plan", plan, "--min-support", "20%"],
        ["simulate", sales, "--rounds", "1", *promise],
        ["demo", "--baskets", sales, "-o", tmp_path / "demo", "--min-support", "20%", "--transaction-size", "2"],
        ["catalogue", sales],
    ):
        result = run(*question, *columns, "--json")
        assert said in result.stderr
        assert json.loads(result.stdout)
        assert "as in a table" in refused(*question, "--force" if question[0] in ("randomize", "demo") else "--json")
    ap.randomize_file(sales, ap.read_plan(plan), tmp_path / "q.parquet", transaction_column=1, item_column="ware")
