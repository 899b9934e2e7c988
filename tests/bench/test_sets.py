"""Every measurement is cited by a document: sets, documents and results match."""

import re
from pathlib import Path

from bench.__main__ import RESULTS, SETS

README = RESULTS.parent / "README.md"


def cited() -> dict[str, Path]:
    """Return the document that the README's table names for each set."""
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\]\(([^)#]+)[^)]*\) \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: (README.parent / path).resolve() for name, path in rows}


def test_each_set_has_a_document_that_links_its_results() -> None:
    """The table has all sets and no others; the document of a set links to its results."""
    assert cited().keys() == SETS.keys()
    for name, document in cited().items():
        assert re.search(rf"bench/results/{name}[./]", document.read_text(encoding="utf-8")), (name, document)


def test_each_result_is_of_a_set() -> None:
    """Stored files belong to sets; mining has a second file with 10^8 reports."""
    assert {path.stem for path in RESULTS.iterdir()} == {*SETS, "mining-large"}
