"""Run commands and other programs, check refusals and the documentation of commands, and search for marked items."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from assocpriv.cli.main import main
from assocpriv.estimation.supports import ErrorOptions
from assocpriv.files.report_files import Reports
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.server.baskets import ask as asking
from assocpriv.server.baskets import mining
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest

DOCS = Path(__file__).parents[1] / "docs"

N_BASKETS, N_ITEMS = 3000, 12
GUARANTEE = ["--prior", "5%", "--posterior", "50%"]
PLAN_ARGUMENTS = ["plan", "--items", str(N_ITEMS), "--transaction-size", "3", *GUARANTEE]
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
    """Run the command in a separate Python process."""
    command = [sys.executable, "-m", "assocpriv", *map(str, arguments)]
    options = {"encoding": "utf-8"} | options
    return subprocess.run(command, text=True, capture_output=True, check=False, **options)


def refused(*arguments: Any, status: int | None = 1) -> str:
    """Run a command that must refuse; return its error line."""
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
    """Run a command that must refuse and leave all files of a folder unchanged; return its error."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    message = refused(*arguments, status=status)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return message


def make_baskets() -> list[list[int]]:
    """Return baskets of at most three numbers, in which 1 and 2 occur together."""
    rng = np.random.default_rng(20030609)
    baskets = []
    for first, kind in zip(rng.integers(3, N_ITEMS, N_BASKETS), rng.random(N_BASKETS), strict=True):
        baskets.append([1, 2, int(first)] if kind < 0.6 else [0, int(first)] if kind < 0.8 else [int(first)])
    return baskets


def parses(command: click.Command, words: list[str]) -> bool:
    """Return whether a command accepts these words; click refuses others."""
    own = [word for word in words if word not in ("--json", "--force", "-q", "-v")]  # options of all commands
    return bool(command.make_context("command", own, resilient_parsing=False))


def section(name: str) -> str:
    """Return a command's section of docs/cli."""
    parts = re.split(r"^## (.+)$", documents(), flags=re.MULTILINE)
    return dict(zip((head.strip("`") for head in parts[1::2]), parts[2::2], strict=True))[name]


def documents() -> str:
    """Return the pages of docs/cli, concatenated."""
    return "".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("cli/*.md")))


FASTER = {  # fewer baskets of fewer items, with a guarantee weak enough for results
    "--people 1000000": "--people 10000",
    "--items 1000": "--items 60",
    "--posterior 50%": "--posterior 97%",
    '--itemset 253,531 --rule "253 => 531"': '--itemset 12,47 --rule "12 => 47"',
    "audit plan.json": "audit plan.json --client single --trials 1000 --confidence 99.9999%",
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
    """Return the words of a line; |, <, > and & are separate words if they are not quoted."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return list(words)


def run_lines(lines: list[str]) -> None:
    """Run lines in the current folder, one after the other; each must end with status 0."""
    for slow_line in lines:
        line = slow_line
        for slow, fast in FASTER.items():
            line = line.replace(slow, fast)
        words, text = shell_words(line), None
        if words[0] == "mkdir":
            Path(words[1]).mkdir()
            continue
        if words[0] == "printf":
            text, words = words[1].replace(r"\n", "\n"), words[3:]
        assert words[0] == "assocpriv"
        done = CliRunner().invoke(main, words[1:], input=text)
        assert done.exit_code == 0, f"{line}: {click.unstyle(done.output)}"


def _errors(options: dict[str, Any]) -> ErrorOptions:
    return ErrorOptions(**{name: options.pop(name) for name in ("confidence_level",) if name in options})


def mine(reports: Reports, min_support: Any = None, *, memory_bytes: int | None = None, **options: Any) -> pd.DataFrame:
    """Mine reports on this machine; options as of the public function."""
    request = MiningRequest(min_support, errors=_errors(options), **options)
    return mining.mine(LocalBackend.from_reports(reports, memory_bytes), request).to_pandas()


def ask(reports: Reports, itemsets: Any = (), rules: Any = (), **options: Any) -> asking.AskResult:
    """Estimate chosen itemsets on this machine; options as of the public function."""
    return asking.ask([LocalBackend.from_reports(reports)], itemsets, rules, _errors(options))


NAME = "CANARY-7qz3"  # an input item's name; not hexadecimal, unlike addresses and ids
NUMBER = 7654321  # an input item's number, beyond every catalogue
_MARKS = ("canary", "7qz3", "7654321")


def marks_in(text: str | bytes) -> list[str]:
    """Return the marks that occur in a text, in any case, or in bytes, also as UTF-16.

    >>> marks_in("item CANARY-7qz3"), marks_in("item 3 of basket 7")
    (['canary', '7qz3'], [])
    """
    if isinstance(text, bytes):
        lowered = text.lower()
        return [mark for mark in _MARKS if mark.encode() in lowered or mark.encode("utf-16-le") in lowered]
    return [mark for mark in _MARKS if mark in text.lower()]


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all that it was raised from or during, including suppressed ones."""
    waiting, seen = [error], set()
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions


def shown_by(error: BaseException) -> str:
    """Return all that an exception and its chain can show: texts, arguments, attributes and notes."""
    parts = []
    for link in chain(error):
        parts += [str(link), repr(link), repr(link.args), repr(vars(link))]
        if isinstance(link, UnicodeError):
            parts.append(repr(getattr(link, "object", "")))
    return "\n".join(parts)


def marked_files(folder: Path, given: set[Path]) -> list[str]:
    """Return the files in a folder that contain a mark, also in their names, except the inputs."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path not in given)
    return [path.name for path in found if marks_in(path.read_bytes()) or marks_in(path.name)]


def program(name: str, package: str, *places: str) -> str:
    """Return the path of a program, from PATH or other places (with *); skip the test if it is missing."""
    found = [shutil.which(name), *(str(path) for place in places for path in sorted(Path("/").glob(place.lstrip("/"))))]
    if path := next((each for each in reversed(found) if each), None):
        return path
    message = f"{name} is not installed; on Debian: apt-get install {package}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


CLIENT = Path(__file__).parents[1] / "clients" / "js"
VECTORS = Path(__file__).parent / "vectors"
_OLDEST = 18


def node() -> str:
    """Return the path of node in a version that supports the client."""
    path = program("node", "nodejs")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    major = int(version.removeprefix("v").split(".")[0])
    if major < _OLDEST:
        _missing(f"node is {version}; the client in JavaScript needs {_OLDEST} or later")
    if major == _OLDEST:  # in Debian 12, WebCrypto needs an option
        os.environ["NODE_OPTIONS"] = "--experimental-global-webcrypto"
    return path


def tools() -> Path:
    """Return the client's folder after `npm ci` has installed the packages of package-lock.json."""
    npm = program("npm", "npm")
    node()
    installed = CLIENT / "node_modules"
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    stamp = installed / ".assocpriv-stamp"
    wanted = hashlib.sha256((CLIENT / "package-lock.json").read_bytes()).hexdigest()
    with (CLIENT / ".npm-lock").open("w") as lock:  # several processes of pytest may run at once
        _wait_for(lock)
        if not stamp.exists() or stamp.read_text() != wanted:
            done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False)
            if done.returncode:
                shutil.rmtree(installed, ignore_errors=True)
                _missing(f"npm ci failed in clients/js: {done.stderr.strip()[-300:]}")
            stamp.write_text(wanted)
    return CLIENT


def run_program(*command: str | Path, folder: Path = CLIENT, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run a command that must succeed; a failure shows its output."""
    done = subprocess.run(
        [*map(str, command)], cwd=folder, capture_output=True, text=True, check=False, timeout=300, **options
    )
    if done.returncode:
        pytest.fail(f"{Path(command[0]).name} {command[1:]}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def lines_of_script(script: str, lines: list[object]) -> list[object]:
    """Return the output of a script of clients/js/test for lines of JSON, from one process."""
    output = run_program(
        node(), CLIENT / "test" / script, input="".join(json.dumps(line) + "\n" for line in lines)
    ).stdout
    return [json.loads(line) for line in output.splitlines()]


def vector_plan(name: str) -> Plan:
    """Return a plan of the test vectors."""
    plans = json.loads((VECTORS / "plans.json").read_text(encoding="ascii"))["plans"]
    return Plan.from_json(next(each["plan"] for each in plans if each["name"] == name))


def javascript_version() -> str:
    """Return the version in package.json."""
    return json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["version"]


def _wait_for(lock: object) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: one process of pytest at a time
        return
    fcntl.flock(lock, fcntl.LOCK_EX)


def _missing(message: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
