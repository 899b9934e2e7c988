"""Tests that what README.md, the tutorials and the how-tos show in shells can be pasted there, in its order."""

import re
from pathlib import Path

import pytest
from command_line import blocks_of, run_lines, shell_words

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ("tutorials", "choose-a-guarantee", "decide-with-rules", "write-and-audit-a-client")
PARTS = {  # what is typed in one folder: README.md, and each section of a page
    "README": README.read_text(encoding="utf-8"),
    **{
        f"{name}: {part.splitlines()[0]}": part
        for name in DOCS
        for part in re.split("^## ", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
        if blocks_of(part)
    },
}
SET_UP = ["python3 dev.py demo", "python3 dev.py check"]
ACTIVATE = ". .venv/bin/activate"


def test_set_up_comes_first() -> None:
    """The first block is the two commands that set everything up; the next activates what they made."""
    first, second, *_ = blocks_of(PARTS["README"])
    assert first == SET_UP
    assert second[0] == ACTIVATE


@pytest.mark.parametrize(
    "line", sorted({line for part in PARTS.values() for block in blocks_of(part) for line in block})
)
def test_no_shell_reads_a_line_otherwise(line: str) -> None:
    """Nothing is a comment, which zsh takes for words, and an arrow is quoted, which else makes a file."""
    assert "#" not in line
    assert not {"<", ">", "&", ">>"} & set(shell_words(line))
    assert not set("!*?[$`~") & set(line)


def test_an_arrow_without_quotes_is_caught() -> None:
    """The check above sees what the shells would do."""
    assert ">" in shell_words("assocpriv ask reports.parquet --rule milk=>eggs")


@pytest.mark.parametrize("part", PARTS)
def test_all_lines_work_in_their_order(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line ends with status 0, pasted one after the other in an empty folder; what is slow is asked of less."""
    monkeypatch.chdir(tmp_path)
    for block in blocks_of(PARTS[part], "toml"):
        Path(block[0].removeprefix("# ")).write_text("\n".join(block), encoding="utf-8")
    run_lines([line for block in blocks_of(PARTS[part]) for line in block if line not in (*SET_UP, ACTIVATE)])
