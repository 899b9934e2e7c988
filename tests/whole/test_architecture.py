"""docs/architecture.md names existing packages, modules and functions; docs/cli.md explains every error."""

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
    """Return the functions, classes and values at the top level of a module."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def missing_names(text: str) -> list[str]:
    """Return the modules and functions of a text that exist neither in the package nor in the repository."""
    wrong = []
    for module, name in NAMED.findall(text):
        path = next((top / module for top in (PACKAGE, ROOT) if (top / module).is_file()), None)
        if path is None or (name and name not in names_in(path)):
            wrong.append(f"{module}:{name}")
    return wrong


def test_all_names_exist() -> None:
    """Each module exists, and each function is in the module that the text names."""
    assert missing_names(TEXT) == []
    assert sum(bool(name) for _, name in NAMED.findall(TEXT)) > 30


def test_the_table_has_every_package() -> None:
    """The table has a row for each package, and no others."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    rows = re.findall(r"^\| `(\w+)/` \|", TEXT, flags=re.MULTILINE)
    assert sorted(rows) == sorted(folders)


def test_every_error_is_explained() -> None:
    """The table of errors has a row for each class, and no others."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").split("## Errors, and what to do")[1]
    classes = {
        name
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, errors.AssocprivError)
    }
    assert set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)) == classes - {"AssocprivError"}
