"""Measurements in separate processes, so that their memory is known and a failure is only a result.

A task is named ``module:function``; it takes keyword arguments and returns a dict of figures, all JSON. The measuring
process uses little memory, since a child's peak starts at its parent's.

Times are medians over rounds in which the compared sides take turns.
"""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

ROUNDS = 5
TURNS = 3
LONG_S = 20.0  # longer runs are measured once


def seconds(action: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    start = perf_counter()
    action()
    return perf_counter() - start


def medians(*actions: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return each action's median time; a first round warms up and does not count."""
    times = [[seconds(action) for action in actions] for _ in range(rounds + 1)][1:]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def take_turns(runs: Mapping[str, Callable[[], dict[str, Any]]], turns: int = TURNS) -> dict[str, dict[str, Any]]:
    """Run every side once per round and return each side's medians; long and failed runs get one round.

    A run returns figures with ``process_s``, or the reason of its failure as ``failure``.
    """
    outcomes: dict[str, list[dict[str, Any]]] = {name: [] for name in runs}
    for turn in range(turns):
        for name, run in runs.items():
            if turn == 0 or _again(outcomes[name][-1]):
                outcomes[name].append(run())
    return {name: middle(rounds) for name, rounds in outcomes.items()}


def _again(outcome: dict[str, Any]) -> bool:
    return "failure" not in outcome and outcome["process_s"] <= LONG_S


def middle(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first outcome with the medians of all figures, or a failure if there is one."""
    failed = [outcome for outcome in outcomes if "failure" in outcome]
    if failed:
        return failed[0]
    merged = dict(outcomes[0])
    for name, value in merged.items():
        if isinstance(value, float):
            merged[name] = statistics.median(outcome[name] for outcome in outcomes if name in outcome)
    return merged | {"rounds": len(outcomes)}


def log_progress(text: str) -> None:
    """Print progress to the error stream."""
    print(text, file=sys.stderr, flush=True)


# ---- processes

ROOT = Path(__file__).resolve().parents[2]
_OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "annot allocate memory", "OutOfMemoryError")


def measure(task: str, *, limit_s: float | None = None, address_space: int = 0, **arguments: Any) -> dict[str, Any]:
    """Run a task and return its figures with ``process_s`` and ``peak_mb``, or the reason as ``failure``."""
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        answer, errors = Path(folder) / "answer.json", Path(folder) / "errors.txt"
        command = [sys.executable, "-m", "bench.speed.measuring", task]
        command += [json.dumps(arguments), str(answer), str(address_space)]
        start = perf_counter()
        with errors.open("wb") as stream:
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=stream, cwd=ROOT, start_new_session=True
            )
            try:
                status = process.wait(limit_s)
            except BaseException as problem:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if isinstance(problem, subprocess.TimeoutExpired):
                    return {"failure": f"over {limit_s:g} s"}
                raise
        elapsed = perf_counter() - start
        if status or not answer.exists():
            return {"failure": _why(status, errors.read_text(encoding="utf-8", errors="replace"))}
        figures: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return figures if "failure" in figures else {"process_s": elapsed} | figures


def _why(status: int, errors: str) -> str:
    if status == -signal.SIGKILL or any(text in errors for text in _OUT_OF_MEMORY):
        return "out of memory"
    lines = errors.strip().splitlines() or [f"status {status}"]
    return f"failed: {lines[-1][:200]}"


def peak_mb() -> float:
    """Return the peak resident memory of this process or its ended children, in MB (10^6 bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(who).ru_maxrss for who in whose) * unit / 1e6


def main() -> None:
    """Run the task from the command line and write its figures to a file."""
    task, arguments, answer, address_space = sys.argv[1:]
    if int(address_space):
        resource.setrlimit(resource.RLIMIT_AS, (int(address_space), int(address_space)))
    module, name = task.split(":")
    try:
        figures = getattr(import_module(module), name)(**json.loads(arguments)) | {"peak_mb": peak_mb()}
    except MemoryError:
        figures = {"failure": "out of memory"}
    except ModuleNotFoundError as error:
        figures = {"failure": f"{error.name} is not installed"}
    Path(answer).write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
