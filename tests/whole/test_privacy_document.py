"""docs/privacy.md is a document to sign; each claim of docs/privacy-claims.md names tests, and these exist."""

import ast
import re
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest

from assocpriv.guarantees.amplification import Guarantee, epsilon_from_amplification, highest_posterior
from assocpriv.planning.basket_planner import VERDICTS

ROOT = Path(__file__).parents[2]
_CLAIMS = re.compile(r"^\|claim\|test\|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@lru_cache
def names_in(path: str) -> set[str]:
    """Return the names of a file's tests."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def claims() -> list[str]:
    """Return the rows of all tables of claims."""
    tables = _CLAIMS.findall((ROOT / "docs" / "privacy-claims.md").read_text(encoding="utf-8"))
    return [row for table in tables for row in table.splitlines()]


def test_there_are_claims() -> None:
    """The page makes many claims, in tables that this file recognizes."""
    text = (ROOT / "docs" / "privacy-claims.md").read_text(encoding="utf-8")
    assert len(claims()) > 40
    assert sum(bool(_TEST.search(line)) for line in text.splitlines()) == len(claims())


def test_figures_in_sentences() -> None:
    """What the document says of 5% → 50% in figures, of one report and of several, is what follows from it."""
    text = " ".join((ROOT / "docs" / "privacy.md").read_text(encoding="utf-8").split())
    limit, ln2 = Guarantee("5%", "50%").amplification_limit, Guarantee.from_epsilon("ln 2").amplification_limit
    seen = {of: highest_posterior(Fraction(of), limit) for of in ("1/2", "1/20")}
    for message, holds in {
        "For 5% → 50% γ is below 19.": limit == 19,
        "a prior of 1 in 2 may reach 19 in 20": seen["1/2"] == Fraction(19, 20),
        "ε = ln γ, here below 2.95.": 2.94 < epsilon_from_amplification(limit) < 2.95,
        "two reports at γ = 19 are one at γ = 361, and 5% may become 95%": _in_all(2) == Fraction("0.95"),
        "at 1 in 20. After your report, it can rise, but stays below 1 in 2.": seen["1/20"] == Fraction(1, 2),
        "three 19³, and 99.8%": Fraction("0.997") < _in_all(3) < Fraction("0.998"),
        "A limit of ε = 5.89 admits two plans of 5% → 50%": limit**2
        < Guarantee.from_epsilon("5.89").amplification_limit,
        "under ε = ln 2, a prior of 1 in 2 reaches 2 in 3 at most": highest_posterior(Fraction(1, 2), ln2)
        == Fraction(2, 3),
        "shows six guarantees": len(VERDICTS) == 6,
    }.items():
        assert message in text.replace("> ", "")
        assert holds


def _in_all(reports: int) -> Fraction:
    """Return what 5% becomes at most by so many reports at γ = 19."""
    return highest_posterior(Fraction(1, 20), Fraction(19) ** reports)


@pytest.mark.parametrize("row", claims())
def test_every_claim_is_held_by_a_test(row: str) -> None:
    """A claim names at least one test, and each one is there."""
    named = _TEST.findall(row)
    assert named
    assert [name for path, name in named if name not in names_in(path)] == []
    assert row.count("::") == len(named)
