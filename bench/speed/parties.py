"""Collector and relay as separate processes, with their processor time and data, and marks to search for there."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

ADDRESS, HEADER, TIME = "127.66.77.88", "CANARY-7qz3", "Fri, 05 Jun 1987 04:03:02 GMT"
MARKS = {"user-agent": HEADER, "cookie": HEADER, "x-forwarded-for": ADDRESS, "date": TIME, "x-time": TIME}


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class Party:
    """A process in its own folder, with its log and its processor time."""

    def __init__(self, home: Path, command: Sequence[str]) -> None:
        self.home, self._command = home, command
        home.mkdir()
        self.begin()

    def begin(self) -> None:
        """Start or restart the process."""
        with open(self.home.parent / f"{self.home.name}.log", "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "assocpriv", *self._command], cwd=self.home, stdout=subprocess.PIPE, stderr=log,
                text=True, env=os.environ | {"TMPDIR": str(self.home), "PYTHONPATH": os.getcwd()},
            )  # fmt: skip
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[-1]
        self.info = psutil.Process(self._process.pid)

    def worked(self) -> float:
        """Return its processor time in seconds."""
        return float(sum(self.info.cpu_times()[:2]))

    def written(self) -> int:
        """Return the bytes it has written to disks."""
        return int(self.info.io_counters().write_bytes)

    def end(self, *, kill: bool = False) -> None:
        """Terminate or kill it, and wait."""
        self._process.kill() if kill else self._process.terminate()
        self._process.communicate()

    def has(self, mark: bytes) -> bool:
        """Return whether the bytes occur in its log, or in its folder, file names included."""
        paths = [self.home.parent / f"{self.home.name}.log", *self.home.rglob("*")]
        return any(mark in str(path).encode() or (path.is_file() and mark in path.read_bytes()) for path in paths)


def marks_in(party: Party) -> list[str]:
    """Return the marks that a party has."""
    marks = {"address": ADDRESS, "header": HEADER, "time": TIME}
    return [name for name, mark in marks.items() if party.has(mark.encode())]


@contextmanager
def parties(
    home: Path, plan: Path, hold: float, *options: str, ports: Sequence[int] = (0, 0)
) -> Iterator[tuple[Party, Party]]:
    """Yield a collector and a relay in front of it."""
    serve = ["serve", str(plan), "--data", "data", "--listen", str(ports[0]), *options]
    collector = Party(home / "collector", serve)
    relay = Party(home / "relay", ["relay", "--to", collector.url, "--hold", str(hold), "--listen", str(ports[1])])
    try:
        yield collector, relay
    finally:
        relay.end()
        collector.end()
