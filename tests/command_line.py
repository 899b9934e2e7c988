"""Tools of the tests of the command line: run it, see it refuse, the plans it is tried on, its documents."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.testing import CliRunner, Result

from assocpriv.cli.main import main

DOCS = Path(__file__).parents[1] / "docs"

N_BASKETS, N_ITEMS = 3000, 12
PROMISE = ["--prior", "5%", "--posterior", "50%"]
PLAN_ARGUMENTS = ["plan", "--items", str(N_ITEMS), "--transaction-size", "3", *PROMISE]
TREE = ["name, with comma", "crème", "🍞", '"quoted"', "milk"]


def run(*arguments: Any) -> Result:
    """Run a command and return its result; it must succeed."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def no_constant(name: str) -> None:
    """Refuse NaN and Infinity, which are not JSON."""
    raise AssertionError(f"{name} is not JSON")


def run_json(*arguments: Any) -> dict[str, Any]:
    """Run a command with --json and return its record; standard output must be exactly that one object."""
    result = run(*arguments, "--json")
    record = json.loads(result.stdout, parse_constant=no_constant)
    assert isinstance(record, dict)
    assert result.stdout.count("\n") == 1
    assert result.stdout.isascii()  # no encoding of the output can damage a name
    return record


def python(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a Python of its own."""
    command = [sys.executable, "-m", "assocpriv", *map(str, arguments)]
    options = {"encoding": "utf-8"} | options
    return subprocess.run(command, text=True, capture_output=True, check=False, **options)


def refused(*arguments: Any, status: int | None = 1) -> str:
    """Run a command that must refuse; return its one line of error."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in ((1, 2) if status is None else (status,))
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert result.stderr.splitlines()[-1] == errors[0]
    assert "Traceback" not in result.output
    assert "Error: " not in result.stdout
    return errors[0].removeprefix("Error: ")


def refused_without_output(folder: Path, *arguments: Any, status: int | None = 1) -> str:
    """Run a command that must refuse and leave a folder as it was, file by file; return its error."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    message = refused(*arguments, status=status)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return message


def make_baskets() -> list[list[int]]:
    """Return baskets of at most three numbers, in which 1 and 2 go together."""
    rng = np.random.default_rng(20030609)
    baskets = []
    for first, kind in zip(rng.integers(3, N_ITEMS, N_BASKETS), rng.random(N_BASKETS), strict=True):
        baskets.append([1, 2, int(first)] if kind < 0.6 else [0, int(first)] if kind < 0.8 else [int(first)])
    return baskets


def parses(command: click.Command, words: list[str]) -> bool:
    """Tell whether a command takes these words; click refuses them otherwise."""
    own = [word for word in words if word not in ("--json", "--force", "-q", "-v")]  # of all commands
    return bool(command.make_context("command", own, resilient_parsing=False))


def section(name: str) -> str:
    """Return a command's section of docs/cli."""
    parts = re.split(r"^## (.+)$", documents(), flags=re.MULTILINE)
    return dict(zip((head.strip("`") for head in parts[1::2]), parts[2::2], strict=True))[name]


def documents() -> str:
    """Return the pages of docs/cli, one after the other."""
    return "".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("cli/*.md")))
