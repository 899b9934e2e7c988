"""docs/architecture.md names what there is: folders, rooms, functions; docs/cli.md every error."""

import ast
import re
from functools import cache
from pathlib import Path

from assocpriv.guarantees import errors

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


def test_the_tree_has_every_folder() -> None:
    """Its table has a row for each folder of the package, and none for others."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    rows = re.findall(r"^\| `(\w+)/` \|", TEXT, flags=re.MULTILINE)
    assert sorted(rows) == sorted(folders)


def test_every_error_is_explained() -> None:
    """The table of errors has a row for each class, and for no other."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").split("## Errors, and what to do")[1]
    classes = {name for name, each in vars(errors).items() if isinstance(each, type) and name.endswith("Error")}
    assert set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)) == classes - {"AssocprivError"}
