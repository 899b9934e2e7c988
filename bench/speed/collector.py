"""The collector under load, against the bare framework with the bare store, and against the bare store alone.

The servers are separate processes that take turns. This process sends; each connection waits for its answer before the
next request. So sender and server share the machine's cores in the same way for both servers.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import psutil

import assocpriv as ap
from assocpriv.files.plan_files import write_plan
from bench import tables
from bench.plans import coded
from bench.speed.collector_peer import ceiling

ROUNDS = 5
SHAPES = {"1": (1, 256), "100": (100, 32), "1,000": (1000, 16)}  # reports per request, connections


class _Sender(asyncio.Protocol):
    """One connection: sends a request, waits for its answer, sends the next."""

    def __init__(self, head: bytes, length: int, until: float, seconds: list[float]) -> None:
        self._head, self._length, self._until, self._all = head, length, until, seconds
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._send()

    def _send(self) -> None:
        self._began, self._answer = perf_counter(), b""
        self._transport.write(self._head + os.urandom(self._length))

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if not self._answer.endswith(b"}"):
            return
        if not self._answer.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(f"the server answered {self._answer[:300]!r}"))
            return
        now = perf_counter()
        self._all.append(now - self._began)
        if now < self._until:
            self._send()
        else:
            self._transport.close()
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or RuntimeError("the server closed the connection"))


async def _send_all(url: str, plan: Any, batch: int, connections: int, seconds: float) -> dict[str, float]:
    port = int(url.rsplit(":", 1)[1])
    length = batch * (16 + plan.report_bytes)
    head = (
        f"POST /reports HTTP/1.1\r\nHost: localhost\r\nAssocpriv-Plan: {plan.plan_id}\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {length}\r\n\r\n"
    ).encode("ascii")
    loop, took = asyncio.get_running_loop(), list[float]()
    began, worked = perf_counter(), process_time()
    senders = []
    for _ in range(connections):
        _, sender = await loop.create_connection(
            lambda: _Sender(head, length, began + seconds, took), "127.0.0.1", port
        )
        senders.append(sender.done)
    await asyncio.gather(*senders)
    spent = perf_counter() - began
    took.sort()
    return {
        "reports_s": len(took) * batch / spent,
        "requests_s": len(took) / spent,
        "sender_cores": (process_time() - worked) / spent,
        "p50_ms": 1e3 * took[len(took) // 2],
        "p99_ms": 1e3 * took[int(0.99 * len(took))],
    }


def send(url: str, plan: Any, batch: int, connections: int, seconds: float) -> dict[str, float]:
    """Send requests for some seconds; return acknowledged reports per second and latencies."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_send_all(url, plan, batch, connections, seconds))


@contextmanager
def serving(command: list[str]) -> Iterator[tuple[str, psutil.Process]]:
    """Yield the URL and the process of a server that prints its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1], psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def run(*, quick: bool, reports: int = 10_000_000) -> dict[str, Any]:
    """Return rates against both references, and the growth of a collection of ``reports``."""
    plan = coded(1_000)
    seconds, rounds = (1.0, 1) if quick else (5.0, ROUNDS)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        write_plan(plan, folder / "plan.json")
        shapes = {name: _beside(folder, plan, *shape, seconds, rounds) for name, shape in SHAPES.items()}
        grown = _grow(folder, plan, 100_000 if quick else reports)
    return {"record_bytes": 16 + plan.report_bytes, "requests_of": shapes, "growth": grown}


def _beside(folder: Path, plan: Any, batch: int, connections: int, seconds: float, rounds: int) -> dict[str, Any]:
    """Return rates of the collector, its peer and the store alone, and medians of their ratios."""
    record = 16 + plan.report_bytes
    ours, bare, store = list[dict[str, float]](), list[dict[str, float]](), list[float]()
    for turn in range(rounds):
        mark = f"{batch}-{turn}"
        peer = ["bench.speed.collector_peer", str(folder / f"bare-{mark}"), str(record)]
        for rates, command in ((ours, _ours(folder, f"ours-{mark}")), (bare, peer)):
            with serving(command) as (url, process):
                send(url, plan, batch, connections, seconds / 5)
                worked = sum(process.cpu_times()[:2])
                rates.append(send(url, plan, batch, connections, seconds))
                worked = sum(process.cpu_times()[:2]) - worked
                rates[-1]["cpu_us"] = 1e6 * worked / (rates[-1]["requests_s"] * seconds)
        store.append(ceiling(folder / f"store-{mark}", record, batch, max(1, 5000 // batch), seconds / 2))
    rate = [each["reports_s"] for each in ours]
    return {key: median(each[key] for each in ours) for key in ours[0]} | {
        "bare_reports_s": median(each["reports_s"] for each in bare),
        "bare_cpu_us": median(each["cpu_us"] for each in bare),
        "bare_p99_ms": median(each["p99_ms"] for each in bare),
        "store_reports_s": median(store),
        "against_bare": median(mine / its["reports_s"] for mine, its in zip(rate, bare, strict=True)),
        "against_store": median(mine / its for mine, its in zip(rate, store, strict=True)),
    }


def _ours(folder: Path, name: str) -> list[str]:
    return ["assocpriv", "serve", str(folder / "plan.json"), "--data", str(folder / name), "--listen", "0"]


def _grow(folder: Path, plan: Any, reports: int) -> list[dict[str, Any]]:
    """Send a collection in batches of 1,000; return rate, memory and latency as it grows, and mine it at the end."""
    rows: list[dict[str, Any]] = []
    with serving(_ours(folder, "grown")) as (url, process):
        sent = 0
        while sent < reports:
            found = send(url, plan, 1000, 16, 2.0)
            sent += int(found["reports_s"] * 2.0)
            memory = process.memory_info()
            files = memory.shared / 2**20  # mapped files of submission ids, which the system can evict
            own = {"held_mib": memory.rss / 2**20 - files, "mapped_files_mib": files}
            rows.append({"reports": sent, "reports_s": found["reports_s"], "p99_ms": found["p99_ms"]} | own)
        began = perf_counter()
        found = ap.mine(ap.read_reports(folder / "grown"), 0.02)
        rows[-1]["mined_while_running_s"] = perf_counter() - began
    return rows[:: max(1, len(rows) // 20)] + rows[-1:]


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as tables."""
    shapes = [{"batch": name} | figures for name, figures in result["requests_of"].items()]
    columns = {
        "reports/request": "batch", "reports/s": "reports_s", "requests/s": "requests_s", "p50 ms": "p50_ms",
        "p99 ms": "p99_ms", "sender cores": "sender_cores", "CPU µs/request": "cpu_us",
        "bare: CPU µs/request": "bare_cpu_us", "bare: reports/s": "bare_reports_s", "bare: p99 ms": "bare_p99_ms",
        "ours ÷ bare": "against_bare", "store: reports/s": "store_reports_s", "ours ÷ store": "against_store",
    }  # fmt: skip
    growth = {
        "reports": "reports", "reports/s": "reports_s", "p99 ms": "p99_ms", "memory MiB": "held_mib",
        "mapped files MiB": "mapped_files_mib",
        "mining while serving, s": "mined_while_running_s",
    }  # fmt: skip
    return (
        f"Records of {result['record_bytes']} bytes. *bare*: the bare framework with the bare store; *store*: the bare "
        f"store alone.\n\n{tables.table(columns, shapes)}\n"
        f"One collection, requests of 1,000 reports:\n\n{tables.table(growth, result['growth'])}"
    )
