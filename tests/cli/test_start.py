"""What commands load: each only the libraries that its own work needs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import PLAN_ARGUMENTS, run

SCIPY = {"scipy.special", "scipy.optimize", "scipy.sparse", "scipy.stats"}  # numba loads scipy.linalg
SLOW = {"numba", "llvmlite", "pandas", "pyarrow", "galois", "numpy", "sklearn", "polars"} | SCIPY
SCRIPT = """
import json, runpy, sys
sys.argv = ["assocpriv", *json.loads(sys.argv[1])]
try:
    runpy.run_module("assocpriv", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*arguments: Any) -> set[str]:
    """Return which slow libraries a command has loaded in a process of its own."""
    command = [sys.executable, "-c", SCRIPT, json.dumps([str(argument) for argument in arguments])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return SLOW & set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Baskets, a plan, reports and what was mined from them."""
    place = tmp_path_factory.mktemp("start")
    (place / "baskets.dat").write_text("1 2 3\n2 3\n3 4 5\n" * 400, encoding="utf-8")
    (place / "named.csv").write_text("tea,milk\n" * 50 + "rye\n" * 50, encoding="utf-8")
    (place / "long.csv").write_text("order,item\n" + "1,tea\n2,milk\n", encoding="utf-8")
    (place / "names.txt").write_text("milk\nrye\ntea\n", encoding="utf-8")
    named = ["--catalogue", place / "names.txt", "--transaction-size", 2, "--prior", "5%", "--posterior", "90%"]
    run("plan", *named, "-o", place / "named.json")
    run(*PLAN_ARGUMENTS, "-o", place / "plan.json")
    run("randomize", place / "baskets.dat", "--plan", place / "plan.json", "-o", place / "reports.parquet")
    run("mine", place / "reports.parquet", "--min-support", "20%", "-o", place / "itemsets.parquet")
    run("generate", "agrawal", "--people", "300", "-o", place / "people.csv", "--schema", place / "schema.toml")
    run("plan", "--schema", place / "schema.toml", "-o", place / "table.json")
    arguments = place / "people.csv", "--plan", place / "table.json", "-o", place / "released.parquet"
    run("randomize", *arguments)
    run("tree", place / "released.parquet", "--class", "class", "-o", place / "model.json")
    return place


NUMBERS = {"numpy", "pyarrow"}
COMPILED = NUMBERS | {"numba", "llvmlite"}
COMMANDS = {
    "plan": ([*PLAN_ARGUMENTS, "-o", "{}/plan2.json", "--force"], {"numpy"}),
    "randomize": (
        ["randomize", "{}/baskets.dat", "--plan", "{}/plan.json", "-o", "{}/again.parquet", "--force"],
        COMPILED,
    ),
    "randomize names": (
        ["randomize", "{}/named.csv", "--plan", "{}/named.json", "-o", "{}/again.parquet", "--force"],
        COMPILED,
    ),
    "randomize a line an item": (
        ["randomize", "{}/long.csv", "--layout", "long", "--plan", "{}/named.json", "-o", "{}/a.parquet", "--force"],
        COMPILED,
    ),
    "catalogue": (["catalogue", "{}/named.csv", "--layout", "lines", "-o", "{}/n.txt", "--force"], NUMBERS),
    "mine": (["mine", "{}/reports.parquet", "--min-support", "20%"], COMPILED),
    "mine and write": (
        ["mine", "{}/reports.parquet", "--min-support", "20%", "-o", "{}/again.csv", "--force", "--json"],
        COMPILED,
    ),
    "ask": (["ask", "{}/reports.parquet", "--itemset", "1", "--rule", "2 => 3"], COMPILED),
    "rules": (["rules", "{}/itemsets.parquet", "--min-confidence", "10%", "-o", "{}/r.parquet", "--force"], COMPILED),
    "inspect --html": (["inspect", "{}/itemsets.parquet", "--html", "{}/page.html", "--force"], COMPILED),
    "inspect": (["inspect", "{}/plan.json"], {"numpy"} | SCIPY),  # how surely forged answers about sizes are noticed
    "randomize a table": (
        ["randomize", "{}/people.csv", "--plan", "{}/table.json", "-o", "{}/released.parquet", "--force"],
        COMPILED,
    ),
    "inspect itemsets": (["inspect", "{}/itemsets.parquet"], NUMBERS),
    "reconstruct": (
        ["reconstruct", "{}/released.parquet", "-o", "{}/d.csv", "--force"],
        COMPILED | SCIPY,
    ),
    "predict": (
        ["predict", "{}/model.json", "{}/people.csv", "-o", "{}/p.csv", "--force"],
        NUMBERS,
    ),
    "inspect a table's reports": (["inspect", "{}/released.parquet"], NUMBERS),
    "help of plan": (["plan", "--help"], set()),
    "help of the collector": (["serve", "--help"], set()),
    "help of guidance": (["guide", "--help"], set()),
    "help of suppression": (["suppress", "--help"], set()),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_load_what_they_use(folder: Path, command: str) -> None:
    """No compiler where nothing is counted or randomized, and no data frame that nobody sees."""
    arguments, needed = COMMANDS[command]
    assert loaded(*(argument.format(folder) for argument in arguments)) <= needed


def test_what_is_loaded_is_seen(folder: Path) -> None:
    """A command that shows the truth beside its finds makes a data frame, and is seen to."""
    arguments = ["simulate", f"{folder}/baskets.dat", "--plan", f"{folder}/plan.json", "--min-support", "20%"]
    assert {"pandas", "numba"} <= loaded(*arguments)


def test_the_first_run_says_that_it_compiles(folder: Path, tmp_path: Path) -> None:
    """Once, on standard error, and no more when the code is kept; nothing is kept unsafely, nothing damaged is run."""
    out = str(tmp_path / "released.parquet")
    table = [
        "randomize", str(folder / "people.csv"), "--plan", str(folder / "table.json"), "-o", out, "--force",
    ]  # fmt: skip

    def run_in(place: Path, *options: str, closed: str = "") -> tuple[int, str]:
        command = ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", "assocpriv", *options, *table]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(place)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stderr

    note = "compiling for this processor, which takes some seconds the first time …"
    status, said = run_in(tmp_path / "one")
    assert (status, said.splitlines().count(note)) == (0, 1)
    assert "compiling" not in run_in(tmp_path / "one")[1]
    assert run_in(tmp_path / "one", closed="2>&-") == (0, "")
    for damaged in tmp_path.rglob("*.nbi"):
        damaged.write_bytes(damaged.read_bytes()[:-9])
    status, said = run_in(tmp_path / "one")
    assert (status, said.count("\n")) == (1, 1)
    assert "compiled code is damaged; remove the folder" in said
    assert run_in(tmp_path / "two", "--quiet") == (0, "")
    (tmp_path / "two").chmod(0o777)
    assert "the code cannot be kept: set NUMBA_CACHE_DIR to a folder of your own" in run_in(tmp_path / "two")[1]
