"""Tests of taxonomy files."""

from pathlib import Path

import pytest

from assocpriv.files.plan_files import read_taxonomy
from assocpriv.guarantees.errors import PlanError


def read(folder: Path, content: str | bytes) -> tuple[tuple[str, str], ...]:
    """Write a file and read it."""
    path = folder / "tree.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_taxonomy(path)


def test_columns_are_parents(tmp_path: Path) -> None:
    """Each column is the parent of the one before; lines repeat, end early, are blank and quote as CSV does."""
    text = '\ufeffpils, beer ,drinks\r\n"red, dry",wine,drinks\n\npils,beer,drinks,\nmilk,dairy,,\n bread \nwine,drinks'
    pairs = {"beer": "drinks", "milk": "dairy", "pils": "beer", "red, dry": "wine", "wine": "drinks"}
    assert read(tmp_path, text) == tuple(pairs.items())


def test_pairs_of_child_and_parent(tmp_path: Path) -> None:
    """Lines of a child and its parent, of several levels and in any order, are the same taxonomy."""
    pairs = read(tmp_path, "beer,drinks\npils,beer\nstout,beer\n")
    assert pairs == read(tmp_path, "stout,beer,drinks\npils,beer,drinks")


def test_taxonomies_as_spreadsheets_save_them(tmp_path: Path) -> None:
    """Semicolons, and umlauts of Windows."""
    found = read(tmp_path, "Käse;Kühlung\r\nMilch 3,5%;Kühlung\r\n".encode("cp1252"))
    assert found == (("Käse", "Kühlung"), ("Milch 3,5%", "Kühlung"))


BAD: list[tuple[str | bytes, str]] = [
    ("\n\n", "taxonomy is empty"),
    ("milk\nbread\n", "taxonomy is empty"),
    ("milk,dairy\n,dairy\n", "line 2, column 1 must be a name"),
    ("milk,dairy\nmilk,,food\n", "line 2, column 2 must be a name"),
    ("milk,dairy\nmilk,da\tiry\n", "line 2, column 2 must be a name"),
    ("milk,dairy\nbeer,drinks\nmilk,drinks\n", "line 3 gives a name another parent than line 1"),
    ("milk,milk\n", "line 1 closes a cycle"),
    ("x,a\na,b\nb,c\nc,a\n", "line [234] closes a cycle"),
    ('milk,"dairy\nbeer,drinks\n', "is not CSV; check its quotes"),
    ('milk,dairy\nbeer,"drinks"x\n', "line 2 is not CSV"),
    ("child,parent\nmilk,dairy\n", "line 1 seems to be a header; remove it"),
    ("Item;Category\nmilk;dairy\n", "line 1 seems to be a header"),
    ('\n"Product name",Category ID,Department\nmilk,dairy,food\n', "line 2 seems to be a header"),
    ("name;family;division\nmilk;dairy;food\n", "line 1 seems to be a header"),
    ("Our goods,\nitem,category\nmilk,dairy\n", "line 2 seems to be a header"),
    (b"milk,caf\xe9\nrye,br\xc3\xb6d\n", "not UTF-8 text; save it as"),
]


@pytest.mark.parametrize("position", range(len(BAD)))
def test_bad_taxonomies_are_refused(tmp_path: Path, position: int) -> None:
    """A file that is not a taxonomy is refused with its name and the line."""
    content, message = BAD[position]
    with pytest.raises(PlanError, match=message) as caught:
        read(tmp_path, content)
    assert "tree.csv" in str(caught.value)


def test_names_of_columns_may_be_names(tmp_path: Path) -> None:
    """A line is a header if all its cells are common column names, and only above the others."""
    assert read(tmp_path, "milk,group\nitem,category\n") == (("item", "category"), ("milk", "group"))
    assert read(tmp_path, "item\nmilk,group\n") == (("milk", "group"),)
    assert read(tmp_path, "item,dairy\nmilk,dairy\n") == (("item", "dairy"), ("milk", "dairy"))


def test_a_missing_taxonomy_is_refused(tmp_path: Path) -> None:
    """A file that cannot be read is a PlanError."""
    with pytest.raises(PlanError, match="cannot read the taxonomy"):
        read_taxonomy(tmp_path / "none.csv")
