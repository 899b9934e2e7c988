"""Texts and names use the field's terms: words of a private language, cut help and long sentences are found."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line import run

import assocpriv as ap
from assocpriv.cli.main import main

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for pattern in ("assocpriv/**/*.py*", "assocpriv/**/*.html", "clients/js/src/**/*.js", "examples/**/*", "*.md",
                    "docs/**/*.md", "clients/js/README.md")
    for path in ROOT.glob(pattern)
    if path.is_file() and path.suffix in (".py", ".pyi", ".html", ".js", ".md", ".ipynb")
)  # fmt: skip
# each with the term that takes its place
WORDS = {
    r"promis\w*": "guarantee", r"occasions?": "reporting period", r"dumm(?:y|ies)": "padding items",
    r"beliefs?|believed": "prior, posterior; detectable",
    r"(?:reports?|plans?|answers?|baskets|tables) (?:can |may )?tells?": "estimates; discloses",
    r"(?:can|may|could|have|has|be) told|told (?:from|apart)":
        "estimates; disclosed; distinguishable",
    r"whoever|of whom|whence": "a subject that acts", r"so many": "a number",
    r"undo(?:es|ing|ne)": "truncation correction", r"unsealed": "open", r"liars?|crafted|forged": "manipulated",
    r"leans|leaning": "log-odds offset", r"wishes": "options", r"at home": "on the device",
    r"for sure|how sure|surest": "credible interval, posterior probability", r"lifts a belief": "raises a prior",
    r"in the clear": "raw",
}  # fmt: skip
FIRST_PAGES = ("README.md", "docs/index.md", "docs/glossary.md", "docs/tutorials.md", "docs/choose-a-guarantee.md",
               "docs/privacy.md", "docs/python.md")  # fmt: skip
MOST_WORDS = 30  # of a sentence


def private_words(text: str) -> list[str]:
    """Return the words of a private language in a text; names count by their parts."""
    plain = re.sub(r"[\w/.]+\.(?:py|md)\b[\w:]*", "", text)  # names of files and tests
    plain = re.sub(r"\bPromise\b|/promises|DummyCookieJar|get_dummies|dummy_na|\.tell\(\)", "", plain)  # of libraries
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", plain)
    return [found[0] for word in WORDS for found in re.finditer(rf"\b(?:{word})\b", plain, re.IGNORECASE)]


def sentences(page: str) -> Iterator[str]:
    """Yield the sentences of a page in Markdown, without code, tables, links' addresses and headings."""
    text = re.sub(r"^(```|~~~).*?^\1|<!--.*?-->", "", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?:[|#>].*|\s*!\[.*|:::.*)$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)|`[^`]*`", " code", text)
    for block in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.MULTILINE):
        yield from re.split(r"(?<=[.!?:;])\s+", block.strip())


def test_private_words_are_found() -> None:
    """The check finds each kind of word, in prose and in names, and passes the field's."""
    assert private_words("what reports can tell") == ["reports can tell"]
    assert private_words("def undoing_error(liars):") == ["undoing", "liars"]
    assert private_words("class BeliefRange: ...") == ["Belief"]
    assert private_words("The guarantee bounds the posterior; Promise.all(reports) resolves.") == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_use_the_terms_of_the_field(path: Path) -> None:
    """No source and no page has a word of the private language."""
    found = [
        f"{number}: {word}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word in private_words(line)
    ]
    assert found == [], f"{path.relative_to(ROOT)}: see the terms in tests/whole/test_words.py"


def test_public_names_use_the_terms_of_the_field() -> None:
    """No public name, command or option has such a word."""
    commands = [*main.commands.values()]
    for group in [each for each in commands if isinstance(each, click.Group)]:
        commands += group.commands.values()
    options = [word for command in commands for option in command.params for word in option.opts]
    assert [name for name in [*ap.__all__, *main.commands, *options] if private_words(name)] == []


def test_help_has_one_whole_sentence_for_each_command() -> None:
    """The list of commands cuts no sentence, and a command's help names the next command."""
    for name, command in main.commands.items():
        short = command.get_short_help_str(1000)
        assert re.fullmatch(r"[A-Z][^.…]*\.", short), (name, short)
        assert len(short) <= 90, (name, len(short))
        if not isinstance(command, click.Group):
            assert "Next: assocpriv" in run(name, "--help").stdout, name


@pytest.mark.parametrize("name", FIRST_PAGES)
def test_sentences_of_first_pages_are_short(name: str) -> None:
    """README and the first pages have sentences of at most 30 words."""
    page = (ROOT / name).read_text(encoding="utf-8")
    assert [each for each in sentences(page) if len(each.split()) > MOST_WORDS] == []
