"""docs/privacy.md is a document to sign: every claim in its tables names tests, and these exist."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_CLAIMS = re.compile(r"^\| (?:claim|planted fault) \| [a-z ]+ \|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@lru_cache
def names_in(path: str) -> set[str]:
    """Return the names of a file's tests."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def claims() -> list[str]:
    """Return the rows of all tables of claims."""
    tables = _CLAIMS.findall((ROOT / "docs" / "privacy.md").read_text(encoding="utf-8"))
    return [row for table in tables for row in table.splitlines()]


def test_nothing_is_left_to_be_written() -> None:
    """No place is held by a word in capitals, but for known ones."""
    words = re.findall(r"\b[A-Z]{3,}\b", (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8"))
    assert set(words) <= {"BCH", "GDPR", "DPIA"}


def test_there_are_claims() -> None:
    """The document makes many claims, in tables that this file recognizes."""
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    assert len(claims()) > 40
    assert sum(bool(_TEST.search(line)) for line in text.splitlines()) == len(claims())


@pytest.mark.parametrize("row", claims())
def test_every_claim_is_held_by_a_test(row: str) -> None:
    """A claim names at least one test, and each one is there."""
    named = _TEST.findall(row)
    assert named
    assert [name for path, name in named if name not in names_in(path)] == []
    assert row.count("::") == len(named)
