"""Measurements in separate processes, so that their memory is known and a failure is only a result.

A task is named ``module:function``; it takes keyword arguments and returns a dict of figures, all JSON. The measuring
process uses little memory, since a child's peak starts at its parent's.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "annot allocate memory", "OutOfMemoryError")


def measure(task: str, *, limit_s: float | None = None, address_space: int = 0, **arguments: Any) -> dict[str, Any]:
    """Run a task and return its figures with ``process_s`` and ``peak_mb``, or the reason as ``failure``."""
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        answer, errors = Path(folder) / "answer.json", Path(folder) / "errors.txt"
        command = [
            sys.executable,
            "-m",
            "bench.speed.child",
            task,
            json.dumps(arguments),
            str(answer),
            str(address_space),
        ]
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
