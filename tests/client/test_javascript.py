"""The client in JavaScript: its tests, types and style, in node and in Chromium; what it may import and call."""

import os
import re
import tomllib

import javascript
import pytest
from debian_packages import program
from javascript import CLIENT, run

SOURCES = sorted((CLIENT / "src").rglob("*.js"))
_IMPORT = re.compile(
    r"""^(?:import|export)\b[^;"]*?from "([^"]+)";|^import "([^"]+)";|\bimport\("([^"]+)"\)""", re.MULTILINE
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# a folder imports only from those before it; what stands in src/ itself is below all but index.js and kinds.js
FLOORS = {"": 0, "baskets": 1, "tables": 1, "guided": 2, "device": 4, "node": 5}
ABOVE = {"kinds.js": 3, "index.js": 6}


def floor(path):
    """Return how high a file stands."""
    relative = path.relative_to(CLIENT / "src")
    return ABOVE[relative.name] if str(relative) in ABOVE else FLOORS[str(relative.parent).replace(".", "", 1)]


def test_node_runs_its_tests():
    """Every test of clients/js passes in node."""
    done = run(javascript.node(), "--test", *sorted(CLIENT.glob("test/*.test.js")))
    assert int(re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[1]) >= 3


def test_types_and_style():
    """The types that comments give hold, and the linter finds nothing."""
    tools = javascript.tools()
    run(javascript.node(), tools / "node_modules/typescript/bin/tsc")
    run(javascript.node(), tools / "node_modules/eslint/bin/eslint.js", "--max-warnings", "0", ".")


def test_chromium_agrees_with_the_vectors():
    """The shared vectors hold in a page of Chromium as they do in node."""
    chromium = program("chromium", "chromium")
    tools = javascript.tools()
    done = run(javascript.node(), tools / "test/chromium.js", env=os.environ | {"CHROMIUM": chromium})
    assert done.stdout.count("\nok: ") + done.stdout.startswith("ok: ") >= 3


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CLIENT / "src")))
def test_source_imports_downwards_and_nothing_from_outside(path):
    """A module imports files of its own floor or below; only those for node import of node."""
    for found in _IMPORT.finditer(path.read_text(encoding="utf-8")):
        name = next(filter(None, found.groups()))
        if name.startswith("node:") and path.parent.name == "node":
            continue
        assert name.startswith(("./", "../")), name
        target = (path.parent / name).resolve()
        assert target in SOURCES
        assert floor(target) < floor(path) or target.parent == path.parent, name


def test_source_has_one_source_of_chance_and_no_clock():
    """Random words come from one call of getRandomValues for reports; nothing reads a clock or prints."""
    for path in SOURCES:
        code = _COMMENT.sub("", path.read_text(encoding="utf-8"))
        assert not re.search(r"Math\.random|\bDate\b|\bperformance\b|\bconsole\b|\beval\b|new Function", code), path
        if "getRandomValues" in code:
            assert path.name == "words.js" or path.parent.name in ("device", "node"), path


def test_lock_file_names_no_host():
    """What is installed is said by version and digest; where it comes from is up to who installs it."""
    lock = (CLIENT / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert lock.count('"integrity"') > 5


def test_versions_are_one():
    """The package for npm has the version of the package for Python."""
    project = tomllib.loads((CLIENT.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert javascript.version() == project["project"]["version"]
