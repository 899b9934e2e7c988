"""docs/architecture.md is two pages, and names what there is: folders, rooms, functions."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "assocpriv"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`([\w/]+\.(?:py|pyi|js))(?::(\w+))?`")


@cache
def names_in(path: Path) -> set[str]:
    """Return the functions, classes and values that stand at the top of a room."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def untrue(text: str) -> list[str]:
    """Return what a text names that is not there: ``room.py`` of the package or of the repository, or its function."""
    wrong = []
    for room, name in NAMED.findall(text):
        path = next((top / room for top in (PACKAGE, ROOT) if (top / room).is_file()), None)
        if path is None or (name and name not in names_in(path)):
            wrong.append(f"{room}:{name}")
    return wrong


def test_what_it_names_is_there() -> None:
    """Each room exists, and each function of the walk stands in the room that it names."""
    assert untrue(TEXT) == []
    assert sum(bool(name) for _, name in NAMED.findall(TEXT)) > 30


@pytest.mark.parametrize("text", ["`api.py:randomize_file`", "`client/nobody.py`", "`server/mining.py:Path`"])
def test_what_is_not_there_is_seen(text: str) -> None:
    """A function that went, a room that went, and a name from elsewhere are caught."""
    assert untrue(f"1. {text} does it") == [text.strip("`") + ("" if ":" in text else ":")]


def test_the_tree_has_every_folder() -> None:
    """Its table has a row for each folder of the package, and none for others."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    rows = re.findall(r"^\| `(\w+)/` \|", TEXT, flags=re.MULTILINE)
    assert sorted(rows) == sorted(folders)


def test_it_is_two_pages() -> None:
    """Whoever is new reads it whole."""
    lines = TEXT.splitlines()
    assert len(lines) <= 130
    assert max(map(len, lines)) <= 160
