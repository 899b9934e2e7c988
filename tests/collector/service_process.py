"""A collector as a process of its own, and a sender that notes what was acknowledged: for tests that break things."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import assocpriv as ap
from assocpriv.files.plans import write_plan

PLAN = ap.plan(items=200, transaction_size=3, promise=ap.Breach("5%", "50%"))  # 15 bytes a report, any of which are one
ID_BYTES = 16


def record(number: int) -> bytes:
    """Return a record whose id and report tell its number."""
    mark = number.to_bytes(4, "little")
    return mark + bytes(ID_BYTES - 4) + mark + bytes(PLAN.report_bytes - 4)


def stored(folder: Path) -> list[int]:
    """Return the numbers of all reports in a folder, sorted, as anybody reads it."""
    packed = np.concatenate([*ap.read_reports(folder).batches(4096), np.empty((0, PLAN.report_bytes), np.uint8)])
    return sorted(np.ascontiguousarray(packed[:, :4]).view("<u4").ravel().tolist())


class Collector:
    """``assocpriv serve`` of a folder, which can be killed and started again."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home, self.folder, self.options = home, home / "data", options
        self.log = home / "log"
        if not (home / "plan.json").exists():
            write_plan(PLAN, home / "plan.json")
        self.start()

    def start(self) -> None:
        """Start it and wait until it listens."""
        command = [sys.executable, "-m", "assocpriv", "serve", str(self.home / "plan.json")]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*command, "--data", str(self.folder), "--port", "0", *self.options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), self.log.read_text()
        self.port = int(line.rsplit(":", 1)[1])

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop it and return its exit status."""
        self.process.send_signal(how)
        status = self.process.wait(timeout=30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def send(self, numbers: Sequence[int]) -> dict[str, Any]:
        """Send records, and return the answer with its ``status``."""
        return post(self.connect(), b"".join(map(record, numbers)))

    def get(self, path: str) -> Any:
        """Return a JSON answer."""
        connection = self.connect()
        connection.request("GET", path)
        content = json.loads(connection.getresponse().read())
        connection.close()
        return content


def post(connection: http.client.HTTPConnection, body: bytes, keep: bool = False, **headers: str) -> dict[str, Any]:
    """Send a body of records, and return the answer with its ``status``."""
    usual = {"Assocpriv-Plan": PLAN.plan_id, "Content-Type": "application/octet-stream"}
    connection.request("POST", "/reports", body=body, headers=usual | headers)
    answer = connection.getresponse()
    content = json.loads(answer.read())
    if not keep:
        connection.close()
    return {"status": answer.status, **content}


class Load:
    """Threads that send batches of new records until it breaks off, and what of them was ``acknowledged``."""

    def __init__(self, collector: Collector, first: int, threads: int = 4, batch: int = 7) -> None:
        self.acknowledged: list[int] = []
        self.sent: list[int] = []
        self._next, self._batch, self._guard = first, batch, threading.Lock()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(collector.connect(),)) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _send(self, connection: http.client.HTTPConnection) -> None:
        while not self._over.is_set():
            with self._guard:
                numbers = list(range(self._next, self._next + self._batch))
                self._next += self._batch
                self.sent += numbers
            try:
                answer = post(connection, b"".join(map(record, numbers)), keep=True)
            except (OSError, http.client.HTTPException, ValueError):
                break
            if answer["status"] == 200:
                with self._guard:
                    self.acknowledged += numbers
        connection.close()

    def end(self) -> int:
        """Wait for the threads, and return the number after the last that was sent."""
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=30)
        return self._next


def damage(path: Path, at: float) -> None:
    """Overwrite some bytes of a file."""
    place = int(os.path.getsize(path) * at)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"\xa5" * 64)
