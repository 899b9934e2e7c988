"""docs/privacy.md is a document to sign: every claim in its tables names tests, and these exist."""

import ast
import re
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest

from assocpriv.planning.baskets import VERDICTS
from assocpriv.promise.breaches import Breach, Epsilon, epsilon, highest_posterior
from assocpriv.show.figures import chance_up

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
    assert set(words) <= {"BCH", "DPIA", "GDPR", "HTTP"}


def test_there_are_claims() -> None:
    """The document makes many claims, in tables that this file recognizes."""
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    assert len(claims()) > 40
    assert sum(bool(_TEST.search(line)) for line in text.splitlines()) == len(claims())


def test_figures_in_sentences() -> None:
    """What the document says of 5% → 50% in figures, of one report and of 52, is what follows from it."""
    text = " ".join((ROOT / "docs" / "privacy.md").read_text(encoding="utf-8").split())
    limit, year = Breach("5%", "50%").amplification_limit, 19**52
    for said, holds in {
        "For 5% → 50% γ is below 19.": limit == 19,
        "whoever gave it 1 in 2 already may come near 19 in 20": highest_posterior(Fraction(1, 2), limit)
        == Fraction(19, 20),
        "ε = ln γ, here below 2.95.": 2.94 < epsilon(limit) < 2.95,
        "up to 19 times likelier than another basket would": limit == 19,
        "two reports at γ = 19 are one at γ = 361, and 5% may become 95%": highest_posterior(Fraction(1, 20), limit**2)
        == Fraction("0.95"),
        "has γ below 19^52, which is ε below 154": 153 < epsilon(Fraction(year)) < 154,
        "a chance of 1 in 100 may become certainty": chance_up(highest_posterior(Fraction(1, 100), Fraction(year)))
        == "certainty",
        "a chance of 1 in 20 will, after your report, think so with less than 1 in 2": highest_posterior(
            Fraction(1, 20), limit
        )
        == Fraction(1, 2),
        "three 19³, and 99.7%": Fraction("0.9972") < highest_posterior(Fraction(1, 20), limit**3) < Fraction("0.9973"),
        "A limit of ε = 5.89 lets two plans of 5% → 50% in": limit**2 < Epsilon("5.89").amplification_limit,
        "under ε = ln 2, 1 in 2 comes to 2 in 3 at most": highest_posterior(
            Fraction(1, 2), Epsilon("ln 2").amplification_limit
        )
        == Fraction(2, 3),
        "shows six promises": len(VERDICTS) == 6,
    }.items():
        assert said in text.replace("> ", "")
        assert holds


def test_the_signer_finds_all() -> None:
    """There are sections for who signs, and labelled places for name, role, date and signature."""
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    for wanted in (
        "## How to choose", "## Consent, withdrawal, retention", "## The law's terms", "**Name:**", "**Role:**",
        "**Date:**", "**Signature:**", "pseudonymous", "controller", "erasure", "data minimisation", "DPIA",
    ):  # fmt: skip
        assert wanted in text


@pytest.mark.parametrize("row", claims())
def test_every_claim_is_held_by_a_test(row: str) -> None:
    """A claim names at least one test, and each one is there."""
    named = _TEST.findall(row)
    assert named
    assert [name for path, name in named if name not in names_in(path)] == []
    assert row.count("::") == len(named)
