"""Tests of the server under a collector: limits of clients, two ports, the log, and the stop."""

import json
import logging
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from naive import guided_plan, small_plan
from running_collector import HEADERS, PLAN, QUICK_JAVA, Collector, Forks, read_answer, records, send_by_curl, stored

import assocpriv as ap
from assocpriv import collect, guided
from assocpriv.api import serving
from assocpriv.cli.collector_commands import serve
from assocpriv.collect import http_server, make_service
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.server.guided.collection import start_empty

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"  # sent by a server that has the head and waits for the body


@contextmanager
def served(folder: Path, plan: PublishedPlan = PLAN) -> Iterator[int]:
    """Serve in this process, and yield the port."""
    with serving._listening("127.0.0.1", 0) as listener:
        began = threading.Event()
        server = http_server.make_server(make_service(plan, folder, admin=False), began.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        assert began.wait(120)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def refusal(connection: socket.socket) -> tuple[int, str]:
    """Return status and reason of the next answer."""
    status, answer = read_answer(connection)
    return status, json.loads(answer)["error"]


# ---- reports of devices


def test_devices_answer_plans(tmp_path: Path) -> None:
    """A plan of baskets and a guided one, end to end; a report that was sent is not sent again."""
    plan, baskets = small_plan("none", 4, 2, 2), {"ledger": tmp_path / "l", "period": "w"}
    with served(tmp_path / "baskets", plan) as port:
        states = [collect.send_report(each, f"http://127.0.0.1:{port}", **baskets).state for each in (["1"], [])]
        assert states == ["sent", "already sent"]
    plan = guided_plan()
    guided.write_state(start_empty(plan, 1), tmp_path / "state.json")
    with served(tmp_path / "guided", plan) as port:
        guided.publish_file(tmp_path / "state.json", tmp_path / "guided" / "guidance.json")
        values, url = {"vote": "y", "age": 31, "class": "no"}, f"http://127.0.0.1:{port}"
        assert collect.send_report(values, url, ledger=tmp_path / "g", period="w").state == "sent"
        assert collect.send_queued(url, ledger=tmp_path / "g").sent == 0
    assert [len(ap.read_reports(tmp_path / name)) for name in ("baskets", "guided")] == [1, 1]


# ---- limits of clients


def test_encoded_bodies_are_refused(collector: Collector) -> None:
    """An earlier version stored two junk reports of a body that gzip had made, with either header."""
    body = records([1])
    for encodings in (["gzip"], ["zstd"], ["gzip", "identity"], [""], []):
        connection, lines = collector.raw(), [f"Content-Encoding: {each}" for each in encodings]
        chunked = body if encodings else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        head = collector.head(len(body) if encodings else None, *lines or ["Transfer-Encoding: gzip, chunked"])
        connection.sendall(head + chunked)
        assert refusal(connection) == (415, "content-encoding")
    assert collector.reports() == 0
    assert collector.send(body, **{"Content-Encoding": "identity"})[0] == 200


@pytest.mark.parametrize("offer", ["h2c", "websocket"])
def test_offers_of_other_protocols_are_ignored(collector: Collector, offer: str) -> None:
    """RFC 9110, section 7.8: the request is answered as without the offer, whole, in two pieces, and between others."""
    first = collector.reports()
    lines = ("Connection: Upgrade, HTTP2-Settings", f"Upgrade: {offer}", "HTTP2-Settings: AAMAAABkAAQAAP__")
    plain, numbers = records([9000]), iter(range(9000, 9999))
    for cut in (0, 20, -len(plain) - 4, -len(plain), -1):
        connection, body = collector.raw(), records([next(numbers)])
        request = collector.head(len(body), *lines) + body
        for piece in (request[:cut], request[cut:]):
            connection.sendall(piece)
            time.sleep(0.05)
        assert read_answer(connection) == (200, b'{"accepted": 1, "duplicates": 0}')
    connection, bodies = collector.raw(), [records([next(numbers)]) for _ in range(3)]
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(bodies[1]), bodies[1])
    requests = [collector.head(len(plain), *lines) + bodies[0], collector.head(len(plain)) + bodies[2]]
    requests.insert(1, collector.head(None, "Transfer-Encoding: chunked", *lines) + chunked)
    connection.sendall(b"".join(requests))
    assert [read_answer(connection)[0] for _ in range(3)] == [200, 200, 200]
    assert collector.reports() == first + 8
    connection = collector.raw()
    connection.sendall(b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n\r\n")
    assert read_answer(connection)[0] == 400


def test_reports_of_clients_that_offer_http_2(collector: Collector) -> None:
    """curl and, where it is installed, OpenJDK's HttpClient send reports, whole and in two pieces."""
    url = f"http://127.0.0.1:{collector.port}/reports"
    answers = send_by_curl(url)
    if shutil.which("javac"):
        bodies = [(bytes([pieces]) + records([1])[1:]).hex() for pieces in (0, 1)]
        program = [str(Path(__file__).parent / "Offers.java"), url, PLAN.plan_id, *bodies]
        done = subprocess.run(["java", *QUICK_JAVA, *program], capture_output=True, check=True)
        answers += [line.removeprefix(b"200 ") for line in done.stdout.splitlines()]
    assert answers == [b'{"accepted": 1, "duplicates": 0}'] * len(answers)
    assert collector.reports() == len(answers) == (4 if shutil.which("javac") else 2)


@pytest.mark.parametrize("where", ["one header", "many headers", "address", "trailer"])
def test_heads_are_bounded(collector: Collector, where: str) -> None:
    """Of 48 MB outside a body little is read and nothing kept: answered 431 at once, while others are served."""
    starts = {
        "one header": b"GET /plan HTTP/1.1\r\nX: ",
        "many headers": b"GET /plan HTTP/1.1\r\n",
        "address": b"GET /",
        "trailer": collector.head(None, "Transfer-Encoding: chunked") + b"10\r\n" + bytes(16) + b"\r\n0\r\nX: ",
    }
    part = b"Name: value\r\n" * 5000 if where == "many headers" else b"a" * 65000
    connection = collector.raw()
    connection.sendall(starts[where])
    for _ in range(700):
        try:
            connection.sendall(part)
        except OSError:  # the server closed it
            break
    assert refusal(connection) == (431, "long-head")
    assert collector.send(records([2]))[0] == 200
    spent = sum(map(int, Path(f"/proc/{collector.pid}/stat").read_text().split()[13:15]))
    assert spent / os.sysconf("SC_CLK_TCK") < 2
    assert 'requests_refused_total{reason="long-head"} 1.0' in collector.ask("GET", "/metrics")[2].decode()


def test_64_kib_of_headers_are_accepted(collector: Collector) -> None:
    """Also if all arrive at once, after the body of the previous request."""
    body = records(range(5000))
    for length, status in ((65_000, 200), (66_000, 431)):
        connection = collector.raw()
        connection.sendall(collector.head(len(body)) + body + collector.head(len(records([1])), f"X: {length * 'a'}"))
        connection.sendall(records([1]))
        assert [read_answer(connection)[0] for _ in range(2)] == [200, status]


def test_idle_connections_are_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a request, or with only line ends: closed in time; half a head: 408; a slow body is waited for."""
    monkeypatch.setattr(http_server, "_HEAD_SECONDS", 2.5)
    with served(tmp_path / "data") as port:

        def ask(sent: bytes) -> socket.socket:
            connection = socket.create_connection(("127.0.0.1", port), timeout=120)
            connection.sendall(sent)
            return connection

        head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        head = f"POST /reports HTTP/1.1\r\n{head}Content-Length: {len(records([1]))}\r\n\r\n"
        slow, idle, blank = ask(head.encode()), ask(b""), ask(b"\r\n")
        half, again = ask(b"GET /plan HTTP/1.1\r\nHost:"), ask(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert read_answer(again)[0] == 200
        again.sendall(b"GET ")
        assert [each.recv(1) for each in (idle, blank)] == [b"", b""]
        for each in (half, again):
            assert refusal(each) == (408, "slow")
        slow.sendall(records([1]))
        assert read_answer(slow)[0] == 200
        for each in (slow, idle, blank, half, again):
            each.close()


def test_connections_leave_descriptors_for_the_store(forks: Forks, tmp_path: Path) -> None:
    """Connections beyond the limit are closed and logged once; earlier ones are served, and batches are closed."""
    with Collector(forks, tmp_path) as collector:
        first = collector.connect()
        first.connect()
        resource.prlimit(collector.pid, resource.RLIMIT_NOFILE, (128, 128))
        held = [collector.raw() for _ in range(120)]
        assert held[-1].recv(1) == b""
        first.request("POST", "/reports", records([1]), HEADERS)
        assert first.getresponse().read() == b'{"accepted": 1, "duplicates": 0}'
        first.request("POST", "/admin/close", None, collector.operator())
        assert b"1 batch closed" in first.getresponse().read()
        first.close()
        (line,) = collector.unexpected_log().splitlines()
        assert "too many connections for the limit of open files" in line


def test_exhausted_descriptors_are_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """If no file can be opened any more, also in the whole system, it is logged."""

    def refuse(*_: object) -> int:
        raise OSError(23, "Too many open files in system")

    monkeypatch.setattr(http_server.os, "open", refuse)
    http_server._check_descriptors()
    assert "no file or connection can be opened: Too many open files in system" in caplog.text


# ---- two ports


def test_the_operators_paths_have_their_own_port(forks: Forks, tmp_path: Path) -> None:
    """With --admin-port the page, counts and metrics are only at that port, and devices' paths only at the other."""
    with Collector(forks, tmp_path, "--admin-port", "0") as collector:
        paths = ("/plan", "/healthz", "/admin", "/metrics", "/status")
        assert [collector.ask("GET", path)[0] for path in paths] == [200, 200, 404, 404, 404]
        assert collector.send(records([1]))[0] == 200
        assert collector.unexpected_log() == ""
        [collector.port] = map(int, re.findall(r"http://127\.0\.0\.1:(\d+)/admin", collector.stderr))
        assert [collector.ask("GET", path)[0] for path in paths] == [404, 200, 401, 200, 200]
        assert collector.send(records([2]))[0] == 404
        assert collector.reports() == 1


def test_listening_to_the_network_is_warned_of(forks: Forks, tmp_path: Path) -> None:
    """A collector that listens to other machines logs what that needs; with an admin port one warning less."""
    anywhere = ("--listen", "0.0.0.0:0")
    for given, warnings in ((anywhere, 2), ((*anywhere, "--admin-port", "0"), 1), ((), 0)):
        with Collector(forks, tmp_path, *given) as collector:
            logged = collector.unexpected_log()
            assert logged.count(" WARNING ") == warnings
            assert ("plain HTTP to other machines; put a proxy with TLS before it" in logged) == bool(warnings)
            assert ("give them their own admin_port" in logged) == (warnings == 2)


@pytest.mark.parametrize("given", ["", "8360x", "1.2.3.4:99999"])
def test_malformed_ports_are_refused(given: str) -> None:
    """As a usage error."""
    with pytest.raises(click.BadParameter, match="is no port"):
        serve.make_context("serve", ["plan.json", "--data", "d", "--admin-port", given])


def test_files_are_for_their_owner(forks: Forks, tmp_path: Path) -> None:
    """Also in a folder that others may list."""
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    with Collector(forks, tmp_path, data=data) as collector:
        collector.send(records([1]))
        assert collector.close_batches() == 200
        collector.send(records([2]))
        assert not [path for path in data.rglob("*") if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    before = os.umask(0o022)
    os.umask(before)
    ap.collect.close_batches(data)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in data.glob("*.parquet"))
    assert os.umask(before) == before


# ---- the log, and the stop


def test_the_log_has_time_event_and_version(forks: Forks, tmp_path: Path) -> None:
    """Start, close and stop are lines with time, level and version; a hang-up changes nothing."""
    with Collector(forks, tmp_path) as collector:
        collector.send(records([1]))
        assert collector.close_batches() == 200
        os.kill(collector.pid, signal.SIGHUP)
        assert collector.send(records([2]))[0] == 200
        assert collector.end(signal.SIGTERM) == 0
        lines = [line for line in collector.stderr.splitlines() if "operator's page" not in line]
    begins = re.compile(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{{4}} INFO assocpriv/{re.escape(ap.__version__)} ")
    assert all(begins.match(line) for line in lines)
    start, *events = [begins.sub("", line).partition(";")[0] for line in lines]
    assert start.startswith(f"plan {PLAN.plan_id[:12]} is collected at http://127.0.0.1:")
    assert events == ["1 batch closed", "stopping", "stopped"]


def test_a_repeated_message_is_logged_once_a_minute() -> None:
    """A full disk at a hundred commits gives one line, and a minute later one with the number of repeats."""
    filtering = http_server._RepeatFilter()

    def logged(created: float, text: str = "cannot write: %s") -> str | None:
        record = logging.LogRecord("assocpriv", logging.ERROR, "", 0, text, ("disk full",) if "%" in text else (), None)
        record.created = created
        return record.getMessage() if filtering.filter(record) else None

    assert logged(0) == "cannot write: disk full"
    assert [logged(second) for second in range(1, 60)] == [None] * 59
    assert logged(30, "another") == "another"
    assert logged(61) == "cannot write: disk full (repeated 59 times since)"
    assert logged(62) is None
    assert logged(200) == "cannot write: disk full (repeated 1 times since)"
    assert logged(300) == "cannot write: disk full"
    for number in range(1000):
        logged(0, f"line {number}")
    assert len(filtering._seen) <= http_server._MOST_MESSAGES


def test_a_full_disk_is_a_line(forks: Forks, tmp_path: Path) -> None:
    """Not one line for each refused request."""
    with Collector(forks, tmp_path) as collector:
        collector.limit_files(1 << 16)
        answers = [collector.send(records(range(start, start + 2000)))[0] for start in range(0, 20_000, 2000)]
        assert answers[-5:] == [503] * 5
        (line,) = collector.unexpected_log().splitlines()
        assert " ERROR " in line


def test_an_upload_in_progress_is_answered_at_the_stop(forks: Forks, tmp_path: Path) -> None:
    """It gets 503 and nothing of it is stored; the log has no traceback; one that completes in time is stored."""
    collector = Collector(forks, tmp_path)
    collector.stop_seconds = 3.0
    with collector:
        late, soon = collector.raw(), collector.raw()
        for connection, number in ((late, 1), (soon, 2)):
            connection.sendall(collector.head(len(records([number])), "Expect: 100-continue"))
            assert connection.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
            connection.sendall(records([number])[:-1])
        os.kill(collector.pid, signal.SIGTERM)
        while "stopping; requests have" not in collector.stderr:
            collector.unexpected_log()
            time.sleep(0.01)
        soon.sendall(records([2])[-1:])
        assert read_answer(soon)[0] == 200
        assert refusal(late) == (503, "stopping")
        assert collector._reap() == 0
        assert collector.unexpected_log() == ""
        assert stored(collector.data) == [(2, 0)]
