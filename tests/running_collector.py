"""Run collectors as processes, for tests that send to them, kill them and read their folders; make what they are sent.

A collector takes half a second to import. Therefore one process imports it once, and forks for each collector; the
fork runs the command line, as a new process would.
"""

import asyncio
import http.client
import json
import os
import resource
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import pyarrow.parquet as pq
from command_line import node, program, run_program, tools
from naive import planned

import assocpriv as ap
from assocpriv.collect.store import ReportStore, Upload, read_upload
from assocpriv.files.open_batches import write_note
from assocpriv.files.plan_files import write_plan

PLAN = planned(items=200, transaction_size=3, guarantee=ap.Guarantee("5%", "50%"))  # any 15 bytes are a report
RECORD = 16 + PLAN.report_bytes
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # syncing takes no time there
NUMBER_AT = 7  # position of a record's number in its id, in 4 bytes
HEADERS = {"Assocpriv-Plan": PLAN.plan_id, "Content-Type": "application/octet-stream"}
Opened = Callable[..., ReportStore]  # the fixture that opens stores
_FORKING = """
import json, os, resource, sys
import uvicorn, uvloop, httptools, jinja2, starlette.applications, pyarrow.parquet
import assocpriv.collect.collector_app, assocpriv.collect.http_server, assocpriv.collect.sqlite
import assocpriv.pages.collector_page
import assocpriv.cli.collector_commands
from assocpriv.cli.main import main
for line in sys.stdin:
    what, *arguments = json.loads(line)
    if what == "wait":
        print(os.waitstatus_to_exitcode(os.waitpid(arguments[0], 0)[1]), flush=True)
    elif child := os.fork():
        print(child, flush=True)
    else:
        command, out, err, limits, stop_seconds = arguments
        for stream, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY), stream)
        for kind, limit in limits:
            resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
        assocpriv.collect.http_server._STOP_SECONDS = stop_seconds
        sys.argv = ["assocpriv", *command]
        main()
"""


class Forks:
    """A process that has imported the collector, and forks."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def __call__(self, *request: Any) -> int:
        """Return the answer to a request: an exit status to ``wait``, a process id to ``start``."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


class Collector:
    """A collector of a plan on one folder, which can be started repeatedly.

    It closes batches of any size on request, and automatically at ``batch`` reports.
    """

    def __init__(
        self, forks: Forks, home: Path, *options: str, plan: Any = PLAN, data: Path | None = None, batch: int = 10**6
    ) -> None:
        self.home, self.data = home, data or home / "data"
        self._forks, self._options = forks, options
        if "--batch-reports" not in options and not (self.data / "batches.json").exists():
            self.data.mkdir(0o700, exist_ok=True)
            write_note(self.data / "batches.json", "assocpriv-batches", 1, {"minimum": 1, "maximum": batch})
        self.pid, self.port, self.stderr = 0, 0, ""
        self.file_limit = resource.RLIM_INFINITY
        self.open_files, self.stop_seconds = 0, 3.0  # seconds for requests to end, once it stops
        self._sockets = list[socket.socket]()
        write_plan(plan, home / "plan.json", force=True)

    def __enter__(self) -> Self:
        assert self.start(), self.stderr
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            each.close()
        if self.pid:
            self.end(signal.SIGKILL)

    def start(self) -> bool:
        """Start it and return whether it listens; if it does not, ``status`` is its exit status."""
        place = Path(tempfile.mkdtemp(dir=self.home))
        for name in ("out", "err"):
            os.mkfifo(place / name)
        self._out, self._err = (os.open(place / name, os.O_RDONLY | os.O_NONBLOCK) for name in ("out", "err"))
        limits = [(resource.RLIMIT_FSIZE, self.file_limit)]
        if self.open_files:
            limits.append((resource.RLIMIT_NOFILE, self.open_files))
        self.pid = self._forks(
            "start", self._command(), str(place / "out"), str(place / "err"), limits, self.stop_seconds
        )
        self.stderr, printed = "", ""
        while True:
            select.select([self._out], [], [], 20)
            part = os.read(self._out, 4096).decode()
            printed += part
            if "\n" in printed:
                self.port = int(printed.split(":")[-1])
                shutil.rmtree(place)
                return True
            if not part and self._has_ended(place):
                return False

    def _command(self) -> list[str]:
        return ["serve", str(self.home / "plan.json"), "--data", str(self.data), "--listen", "0", *self._options]

    def _has_ended(self, place: Path) -> bool:
        """Return whether the process has ended: output that is not open yet also reads as ended."""
        time.sleep(0.002)
        try:
            ended = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            ended = True
        if ended:
            self._reap()
            shutil.rmtree(place)
        return ended

    def end(self, sent: signal.Signals) -> int:
        """End it by a signal, and return its exit status."""
        os.kill(self.pid, sent)
        return self._reap()

    def _reap(self) -> int:
        self.status = self._forks("wait", self.pid)
        self.unexpected_log()
        self.pid = 0
        os.close(self._out)
        os.close(self._err)
        return self.status

    def unexpected_log(self) -> str:
        """Return its standard error so far, without the lines that it always writes."""
        with suppress(BlockingIOError):
            while self.pid and (part := os.read(self._err, 1 << 16).decode()):
                self.stderr += part
        left_out = "operator's page: ", " INFO "  # its address; start and stop
        return "".join(line for line in self.stderr.splitlines(True) if not any(each in line for each in left_out))

    def limit_files(self, most_bytes: int) -> None:
        """Limit the size of files, as on a full disk, also in collectors that are started later."""
        self.file_limit = most_bytes
        if self.pid:
            hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)[1]
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (most_bytes, hard))

    # ---- requests

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer, over a new connection."""
        with closing(self.connect()) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def send(self, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
        """Send records and return status and content of the answer."""
        status, _, answer = self.ask("POST", "/reports", body, {**HEADERS, **headers})
        return status, json.loads(answer)

    def raw(self) -> socket.socket:
        """Return a socket to write to, closed with the collector at the latest."""
        self._sockets.append(socket.create_connection(("127.0.0.1", self.port), timeout=300))
        return self._sockets[-1]

    def head(self, length: int | None, *more: str) -> bytes:
        """Return the head of a request whose body has some length."""
        own = [f"{name}: {value}" for name, value in HEADERS.items()]
        own += [] if length is None else [f"Content-Length: {length}"]
        return "\r\n".join(["POST /reports HTTP/1.1", "Host: localhost", *own, *more, "", ""]).encode()

    def reports(self) -> int:
        """Return the number of reports in its status."""
        return int(json.loads(self.ask("GET", "/status")[2])["reports"])

    def close_batches(self) -> int:
        """Close batches as the operator's page does, and return the answer's status."""
        return self.ask("POST", "/admin/close", None, self.operator())[0]

    def operator(self) -> dict[str, str]:
        """Return the header that the operator's programs send."""
        return {"Authorization": f"Bearer {(self.data / 'admin-token').read_text().strip()}"}


class Relay(Collector):
    """A relay before a collector, or before another server at a port."""

    def __init__(self, forks: Forks, home: Path, to: int, hold: float, port: int = 0) -> None:
        super().__init__(forks, home)
        self._relay = ["relay", "--to", f"http://127.0.0.1:{to}", "--hold", str(hold), "--listen", str(port)]

    def _command(self) -> list[str]:
        return self._relay


def run_page(script: str, *given: str) -> str:
    """Return what a script of the JavaScript client's tests prints, which drives pages in Chromium."""
    environment = os.environ | {"CHROMIUM": program("chromium", "chromium")}
    return run_program(node(), tools() / "test" / script, *given, env=environment).stdout


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def read_answer(connection: socket.socket) -> tuple[int, bytes]:
    """Return status and body of the next answer; later ones stay unread."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        part = connection.recv(1)
        assert part, head
        head += part
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    body = b""
    while len(body) < length:
        body += connection.recv(length - len(body))
    return int(head.split()[1]), body


def records(numbers: Iterable[int], variant: int = 0) -> bytes:
    """Return records whose ids hold a number, and whose reports hold it and a variant."""
    fours, rest = (number.to_bytes(4, "little") for number in numbers), bytes([variant]) + bytes(PLAN.report_bytes - 5)
    return b"".join(bytes(NUMBER_AT) + four + bytes(5) + four + rest for four in fours)


def upload(numbers: Iterable[int], key: int = 0, quota: int | None = None) -> Upload:
    """Return an upload of such records, as a store takes it."""
    return read_upload(records(numbers), PLAN, key, quota)


QUICK_JAVA = "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"  # a process of seconds is not worth optimizing its code


def send_by_curl(url: str, *options: str) -> list[bytes]:
    """Return the answers to two reports that curl sends, one whole and one in two pieces, while offering HTTP/2."""
    whole, pieces = (os.urandom(16) + bytes(PLAN.report_bytes) for _ in range(2))
    curl = ["curl", "-sS", "--http2", *(f"-H{name}: {value}" for name, value in HEADERS.items()), url, *options]
    done = subprocess.run([*curl, "--data-binary", "@-"], input=whole, capture_output=True, check=True)
    with subprocess.Popen([*curl, "-X", "POST", "-T", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sending:
        for piece in (pieces[:7], pieces[7:]):
            sending.stdin.write(piece)
            sending.stdin.flush()
            time.sleep(0.2)
        return [done.stdout, sending.communicate()[0]]


# ---- stored reports


def numbers_in(folder: Path) -> list[int]:
    """Return the numbers of all reports in a folder, read by the public API."""
    return sorted(int.from_bytes(row[:4], "little") for rows in ap.read_reports(folder).batches(1000) for row in rows)


def stored(folder: Path, mode: str = "ro") -> list[tuple[int, int]]:
    """Return number and variant of all reports in a folder, by SQLite and Parquet alone, without assocpriv's reader.

    Open batches are read first: one that is closed meanwhile then counts once.
    """
    opened = {}
    for path in sorted((folder / "open").glob("[0-9]*.sqlite")):
        try:
            with closing(sqlite3.connect(f"file:{path}?mode={mode}", uri=True)) as database:
                ((token,),) = database.execute("SELECT token FROM batch").fetchall()
                rows = database.execute("SELECT records FROM uploads").fetchall()
        except sqlite3.OperationalError:
            if path.exists():
                raise
            continue
        joined = b"".join(row for (row,) in rows)
        opened[token] = [joined[start + 16 : start + RECORD] for start in range(0, len(joined), RECORD)]
    for path in sorted((folder / "open").glob("[0-9]*.slots")):
        with suppress(FileNotFoundError):
            content = path.read_bytes()
            slots = [content[start : start + RECORD + 4] for start in range(4096, len(content), RECORD + 4)]
            opened[content[16:24].hex()] = [slot[16:RECORD] for slot in slots if any(slot)]
    found = list[bytes]()
    for path in folder.glob("*.parquet"):
        found += pq.read_table(path).column("report").to_pylist()
        opened.pop(path.stem, None)
    for reports in opened.values():
        found += reports
    return sorted((int.from_bytes(report[:4], "little"), report[4]) for report in found)


def stored_at_rest(folder: Path) -> list[tuple[int, int]]:
    """Return the same of a folder that is not served, and leave it as a crash left it."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        # a kill while a batch begins leaves a journal, and reading rolls it back, which writes
        return stored(Path(shutil.copytree(folder, Path(place) / "copy")), "rw")


def numbers(found: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers of stored reports."""
    return [number for number, _ in found]


@dataclass(frozen=True)
class Answer:
    """An answer; of a repeated header the last one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8")

    @property
    def json(self) -> Any:
        """The body as JSON content."""
        return json.loads(self.body)


class Visitor:
    """A client of an application, which lives as long as this does, with ``headers`` in each request."""

    def __init__(self, application: Any, **headers: str) -> None:
        self.application, self.headers = application, headers
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._queue: asyncio.Queue[str] = self.run(_made_queue())
        self._life = self.run(self._begin())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.run(self._end())
        self._runner.close()

    def run(self, coroutine: Any) -> Any:
        """Run something on the application's event loop."""
        return self._runner.run(coroutine)

    def get(self, path: str, **headers: str) -> Answer:
        """Request a page."""
        return self.run(self._ask("GET", path, headers, b""))

    def get_computed(self, path: str) -> Answer:
        """Request a page until it no longer reloads itself, as it does while its figures are computed."""
        for _ in range(6000):
            answer = self.get(path)
            if 'http-equiv="refresh"' not in answer.text:
                return answer
            self.run(asyncio.sleep(0.01))
        raise AssertionError(f"{path} was not computed within a minute")

    def post(self, path: str, body: bytes = b"", **headers: str) -> Answer:
        """Send bytes."""
        return self.run(self._ask("POST", path, headers, body))

    def send(self, body: bytes, plan: Any = PLAN, **headers: str) -> Answer:
        """Send records."""
        own = {"assocpriv_plan": plan.plan_id, "content_type": "application/octet-stream"}
        return self.post("/reports", body, **own, **headers)

    async def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        named = {name.replace("_", "-"): value for name, value in (self.headers | headers).items()}
        address, _, query = path.partition("?")
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": address, "scheme": "http",
            "asgi": {"spec_version": "2.4"},
            "raw_path": quote(address).encode(), "query_string": query.encode(), "root_path": "", "client": None,
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in named.items()],
            "server": ("test", 80),
        }  # fmt: skip
        incoming, sent = iter([{"type": "http.request", "body": body}]), list[dict[str, Any]]()

        async def receive() -> dict[str, Any]:
            return next(incoming, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.application(scope, receive, send)
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in sent[0]["headers"]]
        return Answer(sent[0]["status"], dict(pairs), b"".join(each.get("body", b"") for each in sent[1:]))

    async def _begin(self) -> "asyncio.Task[None] | None":
        if not hasattr(self.application, "_run_lifespan"):  # a page has no lifespan
            return None
        began = asyncio.Event()

        async def receive() -> dict[str, str]:
            return {"type": await self._queue.get()}

        async def send(message: dict[str, str]) -> None:
            assert message["type"].endswith(".complete")
            began.set()

        task = asyncio.create_task(self.application({"type": "lifespan"}, receive, send))
        self._queue.put_nowait("lifespan.startup")
        await began.wait()
        return task

    async def _end(self) -> None:
        if self._life is None:
            await self.application.close()
            return
        self._queue.put_nowait("lifespan.shutdown")
        await self._life


async def _made_queue() -> "asyncio.Queue[str]":
    return asyncio.Queue()


Reply = tuple[int, dict[str, str], bytes]
Answering = Callable[[str, str, dict[str, str], bytes], Reply | None]


@contextmanager
def answering(answer: Answering) -> Iterator[str]:
    """Yield the address of a server; ``answer`` takes method, path, headers (lowercase) and body; None: no answer."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Log nothing."""

        def do_GET(self) -> None:
            """Answer."""
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", "0")))
            reply = answer(self.command, self.path, headers, body)
            if reply is None:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, sent, content = reply
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(content))} | sent).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(content)
            except OSError:  # the client has read enough
                self.close_connection = True

        do_POST = do_GET  # noqa: N815

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:  # also after a skip, else the thread keeps the tests from ending
        server.shutdown()
        server.server_close()
        thread.join()
