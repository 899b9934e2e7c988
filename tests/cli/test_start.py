"""Commands load only the libraries that they need."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import GUARANTEE, PLAN_ARGUMENTS, run

from assocpriv.cli import options

SCIPY = {"scipy.special", "scipy.optimize", "scipy.sparse", "scipy.stats"}  # numba loads scipy.linalg
SLOW = {"numba", "llvmlite", "pandas", "pyarrow", "galois", "numpy", "sklearn", "polars"} | SCIPY
SCRIPT = """
import json, sys
from assocpriv.cli.main import main
for words in json.loads(sys.argv[1]):
    print(words, file=sys.stderr)
    main(words, standalone_mode=False)
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*commands: list[str]) -> set[str]:
    """Return the slow libraries that commands load, run one by one in a separate process."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return SLOW & set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def folder(home: Path) -> Path:
    """Return the folder of the command line's tests, with baskets of names, a table, their plans and a model."""
    (home / "named.csv").write_text("tea,milk\n" * 50 + "rye\n" * 50, encoding="utf-8")
    (home / "long.csv").write_text("order,item\n" + "1,tea\n2,milk\n", encoding="utf-8")
    (home / "few.txt").write_text("milk\nrye\ntea\n", encoding="utf-8")
    run("plan", "--catalogue", home / "few.txt", "--transaction-size", 2, *GUARANTEE, "-o", home / "named.json")
    run("generate", "agrawal", "--people", "300", "-o", home / "people.csv", "--schema", home / "schema.toml")
    run("plan", "--schema", home / "schema.toml", "-o", home / "table.json")
    run("randomize", home / "people.csv", "--plan", home / "table.json", "-o", home / "released.parquet")
    run("tree", home / "released.parquet", "--class", "class", "-o", home / "model.json")
    return home


NUMBERS = {"numpy", "pyarrow"}
COMPILED = NUMBERS | {"numba", "llvmlite"}
PLAIN = ["--plan", "plan.json", "-o", "again.parquet", "--force"]
NAMED = ["--plan", "named.json", "-o", "again.parquet", "--force"]
COMMANDS: dict[str, tuple[set[str], list[list[str]]]] = {
    "none": (set(), [[*words, "--help"] for words in (["plan"], ["serve"], ["guide"], ["suppress"])]),
    "numbers": ({"numpy"}, [[*PLAN_ARGUMENTS, "-o", "plan2.json", "--force"]]),
    # how surely manipulated answers about sizes are noticed
    "numbers and chances": ({"numpy"} | SCIPY, [["inspect", "plan.json"]]),
    "tables": (
        NUMBERS,
        [
            ["catalogue", "named.csv", "--layout", "lines", "-o", "n.txt", "--force"], ["inspect", "released.parquet"],
            ["predict", "model.json", "people.csv", "-o", "p.csv", "--force"], ["inspect", "i.parquet"],
        ],
    ),
    "the compiler": (
        COMPILED,
        [
            ["randomize", "b.dat", *PLAIN], ["randomize", "named.csv", *NAMED],
            ["randomize", "long.csv", "--layout", "long", *NAMED],
            ["randomize", "people.csv", "--plan", "table.json", "-o", "released.parquet", "--force"],
            ["mine", "r.parquet", "--min-support", "20%", "-o", "again.csv", "--force"],
            ["ask", "r.parquet", "--itemset", "1", "--rule", "2 => 3"],
            ["rules", "i.parquet", "--min-confidence", "10%", "-o", "rules.parquet", "--force"],
            ["inspect", "i.parquet", "--html", "page.html", "--force"],
        ],
    ),
    "the compiler and chances": (COMPILED | SCIPY, [["reconstruct", "released.parquet", "-o", "d.csv", "--force"]]),
}  # fmt: skip


@pytest.mark.parametrize("needed", COMMANDS)
def test_commands_load_only_what_they_use(folder: Path, monkeypatch: pytest.MonkeyPatch, needed: str) -> None:
    """No compiler unless something is counted or randomized, and no data frame unless it is shown."""
    monkeypatch.chdir(folder)
    allowed, commands = COMMANDS[needed]
    assert loaded(*commands) <= allowed


def test_loaded_libraries_are_detected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that shows the truth makes a data frame, and the test detects it."""
    monkeypatch.chdir(folder)
    arguments = ["simulate", "b.dat", "--plan", "plan.json", "--min-support", "20%"]
    assert {"pandas", "numba"} <= loaded(arguments)


def test_the_first_run_announces_compilation(folder: Path, tmp_path: Path) -> None:
    """Once, on standard error, and not again when the code is cached; damaged code is not run."""
    table = ["randomize", "people.csv", "--plan", "table.json", "-o", str(tmp_path / "released.parquet"), "--force"]

    def again(closed: str = "") -> tuple[int, str]:
        command = ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", "assocpriv", *table]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
        return done.returncode, done.stderr

    note = "compiling for this processor, which takes some seconds the first time …"
    status, output = again()
    assert (status, output.splitlines().count(note)) == (0, 1)
    assert "compiling" not in again()[1]
    assert again("2>&-") == (0, "")
    for damaged in tmp_path.rglob("*.nbi"):
        damaged.write_bytes(damaged.read_bytes()[:-9])
    status, output = again()
    assert (status, output.count("\n")) == (1, 1)
    assert "compiled code is damaged; remove the folder" in output


def test_compilation_is_announced_only_when_useful(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--quiet suppresses it; if the code cannot be cached, the message names the setting."""
    registered: list[Any] = []
    monkeypatch.setattr(sys.modules["assocpriv.cli.main"], "notify_when_compiling", registered.append)
    for words in (["--quiet"], []):
        run(*words, "inspect", folder / "table.json")
    assert registered == [None, options.say_compiling]
    monkeypatch.setattr(options, "find_cache_folder", lambda: None)
    options.say_compiling()
    assert "compiled code cannot be kept here: set NUMBA_CACHE_DIR to a folder you can write" in capsys.readouterr().err
