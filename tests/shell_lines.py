"""Lines of a page's shell blocks, run in this process as a shell would run them, on less data."""

import re
import shlex
from pathlib import Path

import click
from click.testing import CliRunner

from assocpriv.cli.main import main

FASTER = {  # fewer baskets of fewer items, under a promise that lets so few show something
    "--people 1000000": "--people 30000",
    "--items 1000": "--items 60",
    "--posterior 50%": "--posterior 97%",
    '--itemset 253,531 --rule "253 => 531"': '--itemset 12,47 --rule "12 => 47"',
    "audit plan.json": "audit plan.json --trials 1000 --confidence 99.9999%",
    "--people 100000": "--people 5000",
    "--trials 1000000": "--trials 1000",
    "--people 20000": "--people 2000",
    "--items 40": "--items 12",
}


def blocks_of(page: str, kind: str = "sh") -> list[list[str]]:
    """Return the lines of a page's blocks of a kind."""
    found = re.findall(r"^```(.*)\n((?s:.*?))^```$", page, flags=re.MULTILINE)
    return [block.splitlines() for name, block in found if name == kind]


def shell_words(line: str) -> list[str]:
    """Return the words of a line, with |, <, > and & as words of their own where they are not quoted."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return list(words)


def run_lines(lines: list[str]) -> None:
    """Run lines in the current folder, one after the other; each must end with status 0."""
    for slow_line in lines:
        line = slow_line
        for slow, fast in FASTER.items():
            line = line.replace(slow, fast)
        words, given = shell_words(line), None
        if words[0] == "mkdir":
            Path(words[1]).mkdir()
            continue
        if words[0] == "printf":
            given, words = words[1].replace(r"\n", "\n"), words[3:]
        assert words[0] == "assocpriv"
        done = CliRunner().invoke(main, words[1:], input=given)
        assert done.exit_code == 0, f"{line}: {click.unstyle(done.output)}"
