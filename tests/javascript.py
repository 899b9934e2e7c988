"""node and the developer tools of clients/js; where they are missing a test fails in CI, and else is skipped."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from debian_packages import program

from assocpriv.plans.baskets import Plan

CLIENT = Path(__file__).parents[1] / "clients" / "js"
VECTORS = Path(__file__).parent / "vectors"
_OLDEST = 18


def node() -> str:
    """Return where node is, of a version that the client runs on."""
    path = program("node", "nodejs")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    major = int(version.removeprefix("v").split(".")[0])
    if major < _OLDEST:
        _missing(f"node is {version}; the client in JavaScript needs {_OLDEST} or later")
    if major == _OLDEST:  # Debian 12's has WebCrypto behind an option
        os.environ["NODE_OPTIONS"] = "--experimental-global-webcrypto"
    return path


def tools() -> Path:
    """Return the folder of the client once `npm ci` has put there what package-lock.json says."""
    npm = program("npm", "npm")
    node()
    installed = CLIENT / "node_modules"
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    stamp = installed / ".assocpriv-stamp"
    wanted = hashlib.sha256((CLIENT / "package-lock.json").read_bytes()).hexdigest()
    with (CLIENT / ".npm-lock").open("w") as lock:  # pytest's processes may come at once
        _wait_for(lock)
        if not stamp.exists() or stamp.read_text() != wanted:
            done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False)
            if done.returncode:
                shutil.rmtree(installed, ignore_errors=True)
                _missing(f"npm ci failed in clients/js: {done.stderr.strip()[-300:]}")
            stamp.write_text(wanted)
    return CLIENT


def run(*command: str | Path, folder: Path = CLIENT, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run a command that must succeed, with what it printed in the message where it does not."""
    done = subprocess.run(
        [*map(str, command)], cwd=folder, capture_output=True, text=True, check=False, timeout=300, **options
    )
    if done.returncode:
        pytest.fail(f"{Path(command[0]).name} {command[1:]}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def lines_of(script: str, lines: list[object]) -> list[object]:
    """Return what a script of clients/js/test says of lines of JSON, by one process."""
    said = run(node(), CLIENT / "test" / script, input="".join(json.dumps(line) + "\n" for line in lines)).stdout
    return [json.loads(line) for line in said.splitlines()]


def vector_plan(name: str) -> Plan:
    """Return a plan of the vectors."""
    plans = json.loads((VECTORS / "plans.json").read_text(encoding="ascii"))["plans"]
    return Plan.from_json(next(each["plan"] for each in plans if each["name"] == name))


def version() -> str:
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
