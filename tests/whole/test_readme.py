"""Tests that what README.md shows in shells can be pasted there, in its order."""

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from assocpriv.apps.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [block.splitlines() for block in re.findall(r"^```sh\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)]
SET_UP = ["python3 dev.py demo", "python3 dev.py check"]
FASTER = {  # fewer baskets of fewer items, under a promise that lets so few show something
    "--baskets 1000000": "--baskets 30000",
    "--items 1000": "--items 60",
    "--posterior 50%": "--posterior 97%",
    "--rounds auto": "--rounds 1",
    '--itemset 253,531 --rule "253 => 531"': '--itemset 12,47 --rule "12 => 47"',
    "audit plan.json": "audit plan.json --depth conformance --trials 1000",
}


def shell_words(line: str) -> list[str]:
    """Return the words of a line, with |, <, > and & as words of their own where they are not quoted."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return list(words)


def test_set_up_comes_first() -> None:
    """The first block is the two commands that set everything up; the next activates what they made."""
    assert BLOCKS[0] == SET_UP
    assert BLOCKS[1][0] == ". .venv/bin/activate"


@pytest.mark.parametrize("line", [line for block in BLOCKS for line in block])
def test_no_shell_reads_a_line_otherwise(line: str) -> None:
    """Nothing is a comment, which zsh takes for words, and an arrow is quoted, which else makes a file."""
    assert "#" not in line
    assert not {"<", ">", "&", ">>"} & set(shell_words(line))
    assert not set("!*?[$`~") & set(line)


def test_an_arrow_without_quotes_is_caught() -> None:
    """The check above sees what the shells would do."""
    assert ">" in shell_words("assocpriv ask reports.parquet --rule milk=>eggs")


def test_all_lines_work_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line ends with status 0, pasted one after the other; what is slow is asked of less."""
    monkeypatch.chdir(tmp_path)
    lines = "\n".join(line for block in BLOCKS[1:] for line in block if line != BLOCKS[1][0])
    for slow, fast in FASTER.items():
        assert slow in lines
        lines = lines.replace(slow, fast)
    for line in lines.splitlines():
        words, given = shell_words(line), None
        if words[0] == "mkdir":
            Path(words[1]).mkdir()
            continue
        if words[0] == "printf":
            given, words = words[1].replace(r"\n", "\n"), words[3:]
        assert words[0] == "assocpriv"
        done = CliRunner().invoke(main, words[1:], input=given)
        assert done.exit_code == 0, f"{line}: {click.unstyle(done.output)}"
