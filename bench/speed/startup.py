"""How long one waits for a first and for a second answer."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.speed.child import ROOT, measure
from bench.speed.mining import tell
from bench.speed.timing import ROUNDS, TURNS, medians, seconds
from bench.tables import flat, table

REPORTS, ITEMS = 1_000, 20
CLI = ("-m", "assocpriv")
SHORT = {
    "python": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "import assocpriv": ("-c", "import assocpriv"),
    "assocpriv --help": (*CLI, "--help"),
}


def run(*, quick: bool = False) -> dict[str, Any]:
    """Return seconds of whole processes, and the share of an empty Python in them."""
    tell("startup: imports and help")
    times = medians(*[lambda a=arguments: _python(*a) for arguments in SHORT.values()], rounds=1 if quick else ROUNDS)
    result: dict[str, Any] = {"seconds": dict(zip(SHORT, times, strict=True))}
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        made = measure("bench.speed.datasets:quest", folder=folder, reports=REPORTS, items=ITEMS)
        if "failure" in made:
            return result | made
        mine = (*CLI, "mine", made["reports_path"], "--min-support", "20%")
        again = str(Path(folder) / "again.parquet")
        randomize = (*CLI, "randomize", made["baskets_path"], "--plan", made["plan_path"], "-o", again, "--force")
        for name, command in {"mine": mine, "randomize": randomize}.items():
            tell(f"startup: first and second {name}")
            result["seconds"] |= _first_and_second(name, command, 1 if quick else TURNS)
    result["times_an_empty_python"] = {name: took / times[0] for name, took in result["seconds"].items()}
    return result


def _python(*arguments: str, cache: str | None = None) -> None:
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments[:3])} failed:\n{done.stderr}")


def _first_and_second(name: str, command: tuple[str, ...], turns: int) -> dict[str, float]:
    """Run a command without compiled kernels, and again with those it left."""
    firsts, seconds_ = [], []
    for _ in range(turns):
        with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as cache:
            firsts.append(seconds(lambda c=cache: _python(*command, cache=c)))
            seconds_.append(seconds(lambda c=cache: _python(*command, cache=c)))
    return {f"first {name}": statistics.median(firsts), f"second {name}": statistics.median(seconds_)}


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as a table."""
    ratios = result.get("times_an_empty_python", {})
    rows = [row | {"ratio": ratios.get(row["name"])} for row in flat(result["seconds"])]
    failure = f"\n{result['failure']}\n" if "failure" in result else ""
    return failure + table({"process": "name", "s": "value", "÷ an empty Python": "ratio"}, rows)
