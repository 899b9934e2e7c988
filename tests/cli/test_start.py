"""Commands load only the libraries that they need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import GUARANTEE, PLAN_ARGUMENTS, run

SCIPY = {"scipy.special", "scipy.optimize", "scipy.sparse", "scipy.stats", "scipy.linalg"}
SLOW = {"pandas", "pyarrow", "galois", "numpy", "sklearn", "polars", "jinja2"} | SCIPY
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
    "counts": (
        NUMBERS,
        [
            ["randomize", "b.dat", *PLAIN], ["randomize", "named.csv", *NAMED],
            ["randomize", "long.csv", "--layout", "long", *NAMED],
            ["randomize", "people.csv", "--plan", "table.json", "-o", "released.parquet", "--force"],
            ["mine", "r.parquet", "--min-support", "20%", "-o", "again.csv", "--force"],
            ["ask", "r.parquet", "--itemset", "1", "--rule", "2 => 3"],
            ["rules", "i.parquet", "--min-confidence", "10%", "-o", "rules.parquet", "--force"],

        ],
    ),
    "pages": (NUMBERS | SCIPY | {"jinja2"}, [["inspect", "i.parquet", "--html", "page.html", "--force"]]),
    "counts and chances": (NUMBERS | SCIPY, [["reconstruct", "released.parquet", "-o", "d.csv", "--force"]]),
}  # fmt: skip


@pytest.mark.parametrize("needed", COMMANDS)
def test_commands_load_only_what_they_use(folder: Path, monkeypatch: pytest.MonkeyPatch, needed: str) -> None:
    """No scipy unless chances are computed, and no data frame unless it is shown."""
    monkeypatch.chdir(folder)
    allowed, commands = COMMANDS[needed]
    assert loaded(*commands) <= allowed


def test_loaded_libraries_are_detected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that shows the truth makes a data frame, and the test detects it."""
    monkeypatch.chdir(folder)
    arguments = ["simulate", "b.dat", "--plan", "plan.json", "--min-support", "20%"]
    assert "pandas" in loaded(arguments)
