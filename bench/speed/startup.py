"""How long one waits for a first and for a second answer, beside an empty Python and scripts of plain miners."""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.speed.child import ROOT, measure
from bench.speed.mining import tell
from bench.speed.timing import ROUNDS, TURNS, seconds
from bench.tables import flat, table

SMALL, LARGE = 1_000, 1_000_000
ITEMS = {SMALL: 20, LARGE: 1_000}
SUPPORT = {SMALL: "20%", LARGE: "2%"}
CLI = ("-m", "assocpriv")
PLAN = (*CLI, "plan", "--items", "1000", "--prior", "5%", "--posterior", "50%")
_LINES = "lines = [list(map(int, line.split())) for line in open({path!r})]\n"
# what one would write: itemsets of up to three items, at the same support, of the plain baskets
SCRIPTS = {
    "pyfim": "import gc\ngc.disable()\nimport fim\n" + _LINES + "print(len(fim.fpgrowth(lines, target='s', "
    "supp=-int({share} * len(lines)), zmin=1, zmax=3, report='a')))",
    "mlxtend": "import pandas as pd\nfrom mlxtend.frequent_patterns import fpgrowth\n"
    "from mlxtend.preprocessing import TransactionEncoder\n" + _LINES + "encoder = TransactionEncoder()\n"
    "frame = pd.DataFrame(encoder.fit(lines).transform(lines), columns=encoder.columns_)\n"
    "print(len(fpgrowth(frame, min_support={share}, max_len=3)))",
}
Command = tuple[str, ...]


def run(*, quick: bool = False) -> dict[str, Any]:
    """Return seconds of whole processes, and the multiple of an empty Python's."""
    _write_bytecode()
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        again = {"python": ("-c", "pass"), "import numpy": ("-c", "import numpy")}
        again |= {"import assocpriv": ("-c", "import assocpriv"), "assocpriv --help": (*CLI, "--help")}
        again["plan"] = (*PLAN, "-o", str(Path(folder) / "plan.json"), "--force")
        first = {}
        for reports in (SMALL,) if quick else (SMALL, LARGE):
            place = Path(folder) / str(reports)
            place.mkdir()
            made = measure("bench.speed.datasets:quest", folder=str(place), reports=reports, items=ITEMS[reports])
            if "failure" in made:
                return made
            commands = _commands(made, place, reports)
            again |= commands
            if reports == SMALL:
                first = {name: command for name, command in commands.items() if name.startswith(("mine", "randomize"))}
        tell("startup: processes by turns")
        result = _by_turns(again, 1 if quick else ROUNDS)
        for name, command in first.items():
            tell(f"startup: first {name}")
            result[f"first {name}"] = statistics.median(_first(command) for _ in range(1 if quick else TURNS))
    ratios = {name: took / result["python"] for name, took in result.items()}
    return {"seconds": result, "times_an_empty_python": ratios}


def _commands(made: dict[str, Any], place: Path, reports: int) -> dict[str, Command]:
    """Return the commands on reports of one number, and scripts that do their job on the plain baskets."""
    again, support = str(place / "again.parquet"), SUPPORT[reports]
    share = float(support.rstrip("%")) / 100
    scripts = {
        name: ("-c", script.format(path=made["baskets_path"], share=share))
        for name, script in SCRIPTS.items()
        if _is_installed({"pyfim": "fim"}.get(name, name))
    }
    ours = {
        "mine": (*CLI, "mine", made["reports_path"], "--min-support", support),
        "randomize": (*CLI, "randomize", made["baskets_path"], "--plan", made["plan_path"], "-o", again, "--force"),
    }
    return {f"{name}, {reports:,} baskets": command for name, command in (ours | scripts).items()}


def _is_installed(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


def _by_turns(commands: Mapping[str, Command], rounds: int) -> dict[str, float]:
    """Return each command's median time; they take turns, and a first round warms up and does not count."""
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as cache:
        times = [
            {name: seconds(lambda c=command: _python(*c, cache=cache)) for name, command in commands.items()}
            for _ in range(rounds + 1)
        ][1:]
    return {name: statistics.median(one[name] for one in times) for name in commands}


def _first(command: Command) -> float:
    """Return how long a command takes that finds no compiled kernels."""
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as cache:
        return seconds(lambda: _python(*command, cache=cache))


def _write_bytecode() -> None:
    """Compile the package to bytecode, as its installation does, also where Python is told to write none."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", "assocpriv"], cwd=ROOT, check=True)


def _python(*arguments: str, cache: str) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments[:3])} failed:\n{done.stderr}")


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as a table."""
    if "failure" in result:
        return f"\n{result['failure']}\n"
    ratios = result["times_an_empty_python"]
    rows = [row | {"ratio": ratios.get(row["name"])} for row in flat(result["seconds"])]
    return table({"process": "name", "s": "value", "÷ an empty Python": "ratio"}, rows)
