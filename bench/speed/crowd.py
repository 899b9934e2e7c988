"""Many devices send through a relay with the released code while relay and collector are killed: what arrives where.

Each device has its own ledger. It makes its reports, waits for their send times and sends them, in Python or in node,
from a marked address with marked headers. Meanwhile the parties are killed in turn by SIGKILL and restarted at their
ports. Then the data of each party, on its disk and in its log, is compared with the data sent.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil

import assocpriv as ap
from assocpriv.files.open_batches import batch_files, read_batch
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.errors import CollectorError
from assocpriv.plans.baskets.basket_plan import Plan

# ---- collector and relay as processes, and marks to search for in them


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


_AT_A_TIME, _AGAIN_SECONDS = 64, 0.2
_PATIENCE = 5  # seconds; a party is away for less than the waits of a device with this patience
_THERE = 4  # time between two kills, in multiples of the time a party is away
_SCRIPT = Path(__file__).parents[2] / "clients" / "js" / "bench" / "crowd.js"
Done = TypeVar("Done")


# ---- devices


class _Marked(http.client.HTTPConnection):
    """A connection from the marked address, with marked headers."""

    def __init__(self, host: str, port: int, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout, source_address=(ADDRESS, 0))

    def request(self, method: str, url: str, body: Any = None, headers: Any = None, **more: Any) -> None:
        super().request(method, url, body, {**headers, **MARKS}, **more)


def persist(what: Callable[[], Done]) -> Done:
    """Call a function again until collector and relay respond."""
    while True:
        try:
            return what()
        except CollectorError:
            time.sleep(_AGAIN_SECONDS)


def send_all(task: Mapping[str, Any]) -> None:
    """Let each device report its basket in each reporting period; print one line per report once all are accepted."""
    baskets, periods, folder = task["baskets"], task["periods"], Path(task["folder"])
    plan = ap.read_plan(task["plan"])
    collector = [
        ap.device.Collector(task["collector"], relay=task["relay"], patience_seconds=_PATIENCE) for _ in baskets
    ]

    def made(number: int) -> tuple[int, list[bytes]]:
        ledger = folder / f"{number}.bin"
        sent = [
            persist(lambda period=each: ap.collect.send_report(  # type: ignore[misc]
                baskets[number], collector[number], ledger=ledger, period=period))
            for each in periods
        ]  # fmt: skip
        with ap.device.Ledger.open(ledger) as opened:
            made = [opened.submit([], plan, period=each) for each in periods]
        return min(each.send_time or 0 for each in sent), [each.submission_id + each.report for each in made]

    def sent(number: int, send_time: int) -> None:
        later: tuple[int, ...] = (send_time,)
        while later:
            time.sleep(max(0.0, later[0] - time.time()))
            later = persist(lambda: ap.collect.send_queued(collector[number], ledger=folder / f"{number}.bin")).later

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        found = list(pool.map(made, range(len(baskets))))
        order = sorted(range(len(baskets)), key=lambda number: found[number][0])
        list(pool.map(lambda number: sent(number, found[number][0]), order))
    for _, reports in found:
        for report in reports:
            print(report.hex())


def _devices(command: Sequence[str], task: dict[str, Any], folder: Path) -> subprocess.Popen[str]:
    """Start devices in a process, which reads its task from a file."""
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps(task | {"folder": str(folder)}))
    with open(folder / "task.json") as asking, open(folder / "sent", "w") as out:
        return subprocess.Popen(command, stdin=asking, stdout=out, text=True)


# ---- the run


def run(home: Path, plan: Plan, baskets: Sequence[Sequence[str]], *, of_node: int, every: float) -> dict[str, Any]:
    """Return the data that arrived from devices, the last ``of_node`` in node, while parties were killed in turn."""
    write_plan(plan, home / "plan.json")
    split, ports = len(baskets) - of_node, [free_port(), free_port()]
    task = {
        "plan": str(home / "plan.json"), "address": ADDRESS, "headers": MARKS,
        "collector": f"http://127.0.0.1:{ports[0]}", "relay": f"http://127.0.0.1:{ports[1]}",
        "periods": [f"w{number}" for number in range(plan.reports_per_person)],
    }  # fmt: skip
    began = time.monotonic()
    with parties(home, home / "plan.json", 1.0, "--oblivious", ports=ports) as pair:
        begun = [
            _devices([sys.executable, "-m", "bench.speed.crowd"], task | {"baskets": baskets[:split]}, home / "python"),
            _devices(
                [shutil.which("node") or "node", str(_SCRIPT)], task | {"baskets": baskets[split:]}, home / "node"
            ),
        ]
        killed = _kill(pair, begun, every)
        assert not any(process.wait() for process in begun)
    sent = [bytes.fromhex(line) for name in ("python", "node") for line in (home / name / "sent").read_text().split()]
    data = home / "collector" / "data"
    stored = Counter(map(bytes, read_batch(batch_files(data)[-1], plan)[1][0]))
    some = [*sent[:: max(1, len(sent) // 200)], plan.plan_id.encode()]
    return {
        "devices": len(baskets), "of_node": of_node, "reports": len(sent), "killed": killed,
        "lost": len({*sent} - {*stored}), "foreign": len({*stored} - {*sent}), "doubled": stored.total() - len(stored),
        "reports_s": len(sent) / (time.monotonic() - began),
        "collector_has": marks_in(pair[0]), "relay_has": marks_in(pair[1]),
        "relay_has_of_reports": sum(pair[1].has(each[:16]) or pair[1].has(each[:16].hex().encode()) for each in some),
        "relay_files": len([*pair[1].home.rglob("*")]),
        "closed": ap.collect.close_batches(data, allow_small=True), "read": len(ap.read_reports(data)),
    }  # fmt: skip


def _kill(pair: Sequence[Party], devices: Sequence[subprocess.Popen[str]], every: float) -> int:
    """Kill the parties in turn while devices send; return the number of kills. Most of the time both are running."""
    killed, away = 0, 0.0
    while any(process.poll() is None for process in devices):
        time.sleep(max(every, _THERE * away))
        began = time.monotonic()
        pair[killed % 2].end(kill=True)
        pair[killed % 2].begin()
        killed, away = killed + 1, time.monotonic() - began
    return killed


def main() -> None:
    """Run the task that standard input describes as JSON."""
    task = json.load(sys.stdin)
    http.client.HTTPConnection = _Marked  # type: ignore[misc]
    send_all(task)


if __name__ == "__main__":
    main()
