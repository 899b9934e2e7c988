"""Tests of the server under a collector: what a client may hold, two ports, the log, and its end."""

import json
import logging
import os
import re
import resource
import signal
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from naive import small_plan
from running_collector import HEADERS, PLAN, Collector, Forks, numbers, read_answer, records, stored

import assocpriv as ap
from assocpriv import collect, guided
from assocpriv.cli.collect import serve
from assocpriv.collect import log, make_service, serving
from assocpriv.plans.published import PublishedPlan
from assocpriv.server.guided import explore

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"  # whoever sends it has the head, and waits for the body


@contextmanager
def served(folder: Path, plan: PublishedPlan = PLAN) -> Iterator[int]:
    """Serve in this process, and give the port."""
    with collect._listening("127.0.0.1", 0) as listener:
        began = threading.Event()
        server = serving.server_of(make_service(plan, folder, admin=False), began.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        assert began.wait(120)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


# ---- what devices send


def test_devices_answer_plans(tmp_path: Path) -> None:
    """A plan of baskets and a guided one, end to end; a report that was sent is not sent again."""
    plan, baskets = small_plan("none", 4, 2, 2), {"ledger": tmp_path / "l", "occasion": "w"}
    with served(tmp_path / "baskets", plan) as port:
        said = [collect.send_report(each, f"http://127.0.0.1:{port}", **baskets).state for each in (["1"], [])]
        assert said == ["sent", "sent before"]
    columns = [guided.category("a", ["x", "y"]), guided.category("b", ["x", "y", "z"])]
    plan = guided.plan_guided(columns, guided.class_label("c", ["no", "yes"]))
    guided.write_state(explore(plan, 1), tmp_path / "state.json")
    with served(tmp_path / "guided", plan) as port:
        guided.publish_file(tmp_path / "state.json", tmp_path / "guided" / "guidance.json")
        values, url = {"a": "x", "b": "z", "c": "no"}, f"http://127.0.0.1:{port}"
        assert collect.send_report(values, url, ledger=tmp_path / "g", occasion="w").state == "sent"
        assert collect.send_unsent(url, ledger=tmp_path / "g").sent == 0
    assert [len(ap.read_reports(tmp_path / name)) for name in ("baskets", "guided")] == [1, 1]


# ---- what a client may hold


def test_reports_come_as_they_are(collector: Collector) -> None:
    """What is encoded is refused: two junk reports were stored of a body that gzip had made, of either header."""
    body = records([1])
    for encodings in (["gzip"], ["zstd"], ["gzip", "identity"], [""], []):
        connection, lines = collector.raw(), [f"Content-Encoding: {each}" for each in encodings]
        chunked = body if encodings else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        head = collector.head(len(body) if encodings else None, *lines or ["Transfer-Encoding: gzip, chunked"])
        connection.sendall(head + chunked)
        status, answer = read_answer(connection)
        assert (status, json.loads(answer)["error"]) == (415, "content-encoding")
    assert collector.reports() == 0
    assert collector.send(body, **{"Content-Encoding": "identity"})[0] == 200


@pytest.mark.parametrize("where", ["one header", "many headers", "address", "trailer"])
def test_heads_are_bounded(collector: Collector, where: str) -> None:
    """Of 48 MB that are no body little is read and none kept: answered 431 at once, while others go on."""
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
        except OSError:  # closed, in the end
            break
    status, answer = read_answer(connection)
    assert (status, json.loads(answer)["error"]) == (431, "long-head")
    assert collector.send(records([2]))[0] == 200
    spent = sum(map(int, Path(f"/proc/{collector.pid}/stat").read_text().split()[13:15]))
    assert spent / os.sysconf("SC_CLK_TCK") < 2
    assert 'requests_refused_total{reason="long-head"} 1.0' in collector.ask("GET", "/metrics")[2].decode()


def test_64_kib_of_headers_are_taken(collector: Collector) -> None:
    """Also where all come at once, behind the body of the request before."""
    body = records(range(5000))
    for length, status in ((65_000, 200), (66_000, 431)):
        connection = collector.raw()
        connection.sendall(collector.head(len(body)) + body + collector.head(len(records([1])), f"X: {length * 'a'}"))
        connection.sendall(records([1]))
        assert [read_answer(connection)[0] for _ in range(2)] == [200, status]


def test_who_says_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No request, and line ends without one: closed in time; half a head: 408; a body that comes is waited for."""
    monkeypatch.setattr(serving, "_HEAD_SECONDS", 0.5)
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
            status, answer = read_answer(each)
            assert (status, json.loads(answer)["error"]) == (408, "slow")
        slow.sendall(records([1]))
        assert read_answer(slow)[0] == 200
        for each in (slow, idle, blank, half, again):
            each.close()


def test_connections_leave_descriptors_over(forks: Forks, tmp_path: Path) -> None:
    """Beyond so many others are closed, which the log says once; who was there is served, and epochs are sealed."""
    with Collector(forks, tmp_path) as collector:
        first = collector.connect()
        first.connect()
        resource.prlimit(collector.pid, resource.RLIMIT_NOFILE, (128, 128))
        held = [collector.raw() for _ in range(120)]
        assert held[-1].recv(1) == b""
        first.request("POST", "/reports", records([1]), HEADERS)
        assert first.getresponse().read() == b'{"accepted": 1, "duplicates": 0}'
        token = (collector.data / "admin-token").read_text().strip()
        first.request("POST", "/admin/seal", None, {"Authorization": f"Bearer {token}"})
        assert b"1 epoch sealed" in first.getresponse().read()
        first.close()
        (line,) = collector.said().splitlines()
        assert "too many connections for the limit of open files" in line


def test_no_descriptor_is_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where nothing can be opened any more, as in the whole system, that is logged."""

    def refuse(*_: object) -> int:
        raise OSError(23, "Too many open files in system")

    monkeypatch.setattr(serving.os, "open", refuse)
    serving._look_at_descriptors()
    assert "no file can be opened, and so no connection: Too many open files in system" in caplog.text


# ---- two ports


def test_what_is_the_operators_has_a_port_of_its_own(forks: Forks, tmp_path: Path) -> None:
    """With --admin-port the page, counts and metrics are there, and there alone; devices' addresses are not."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        admin_port = listener.getsockname()[1]
    with Collector(forks, tmp_path, "--admin-port", str(admin_port)) as collector:
        paths = ("/plan", "/healthz", "/admin", "/metrics", "/status")
        public = {path: collector.ask("GET", path)[0] for path in paths}
        assert public == {"/plan": 200, "/healthz": 200, "/admin": 404, "/metrics": 404, "/status": 404}
        assert collector.send(records([1]))[0] == 200
        devices, collector.port = collector.port, admin_port
        own = {path: collector.ask("GET", path)[0] for path in paths}
        assert own == {"/plan": 404, "/healthz": 200, "/admin": 401, "/metrics": 200, "/status": 200}
        assert collector.send(records([2]))[0] == 404
        assert collector.reports() == 1
        assert collector.said() == ""
        assert f"http://127.0.0.1:{admin_port}/admin" in collector.stderr
        collector.port = devices


def test_the_network_is_warned_of(forks: Forks, tmp_path: Path) -> None:
    """Who listens beyond the machine is told what that needs; with an admin port one thing less."""
    anywhere = ("--listen", "0.0.0.0:0")
    for given, warnings in ((anywhere, 2), ((*anywhere, "--admin-port", "0"), 1), ((), 0)):
        with Collector(forks, tmp_path, *given) as collector:
            said = collector.said()
            assert said.count(" WARNING ") == warnings
            assert ("plain HTTP beyond this machine; keep a proxy with TLS" in said) == bool(warnings)
            assert ("give them a port of their own" in said) == (warnings == 2)


@pytest.mark.parametrize("given", ["", "x", "8360x", "localhost", "1.2.3.4:99999"])
def test_what_is_no_port_is_refused(given: str) -> None:
    """As wrong usage."""
    with pytest.raises(click.BadParameter, match="is no port"):
        serve.make_context("serve", ["plan.json", "--data", "d", "--admin-port", given])


def test_files_are_for_their_owner(forks: Forks, tmp_path: Path) -> None:
    """Also in a folder that others may look into."""
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    with Collector(forks, tmp_path, data=data) as collector:
        collector.send(records([1]))
        assert collector.seal() == 200
        collector.send(records([2]))
        assert not [path for path in data.rglob("*") if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    before = os.umask(0o022)
    os.umask(before)
    ap.collect.seal_collection(data)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in data.glob("*.parquet"))
    assert os.umask(before) == before


# ---- the log, and the end


def test_the_log_says_when_what_and_of_which_version(forks: Forks, tmp_path: Path) -> None:
    """Start, seal and stop are lines with time, level and version; a hang-up changes nothing."""
    with Collector(forks, tmp_path) as collector:
        collector.send(records([1]))
        assert collector.seal() == 200
        os.kill(collector.pid, signal.SIGHUP)
        assert collector.send(records([2]))[0] == 200
        assert collector.end(signal.SIGTERM) == 0
        lines = [line for line in collector.stderr.splitlines() if "operator's page" not in line]
    begins = re.compile(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{{4}} INFO assocpriv/{re.escape(ap.__version__)} ")
    assert all(begins.match(line) for line in lines)
    said = [begins.sub("", line) for line in lines]
    assert said[0].startswith(f"plan {PLAN.plan_id[:12]} is collected at http://127.0.0.1:")
    assert said[1] == "1 epoch sealed"
    assert said[2].startswith("stopping")
    assert said[3] == "stopped"


def test_what_repeats_is_said_once_a_minute() -> None:
    """A full disk at a hundred commits is a line, and a minute later one that says how many more there were."""
    seldom = log._Seldom()

    def said(created: float, text: str = "cannot write: %s") -> str | None:
        record = logging.LogRecord("assocpriv", logging.ERROR, "", 0, text, ("disk full",) if "%" in text else (), None)
        record.created = created
        return record.getMessage() if seldom.filter(record) else None

    assert said(0) == "cannot write: disk full"
    assert [said(second) for second in range(1, 60)] == [None] * 59
    assert said(30, "another") == "another"
    assert said(61) == "cannot write: disk full (59 times more since it was said)"
    assert said(62) is None
    assert said(200) == "cannot write: disk full (1 times more since it was said)"
    assert said(300) == "cannot write: disk full"
    for number in range(1000):
        said(0, f"line {number}")
    assert len(seldom._said) <= log._MOST_SAID


def test_a_full_disk_is_a_line(forks: Forks, tmp_path: Path) -> None:
    """Not one for each request that is refused."""
    with Collector(forks, tmp_path) as collector:
        collector.limit_files(1 << 16)
        answers = [collector.send(records(range(start, start + 2000)))[0] for start in range(0, 20_000, 2000)]
        assert answers[-5:] == [503] * 5
        (line,) = collector.said().splitlines()
        assert " ERROR " in line


def test_an_upload_in_flight_is_told_of_the_stop(forks: Forks, tmp_path: Path) -> None:
    """It gets 503 and nothing of it is stored; the log has no traceback; what comes whole in time is stored."""
    collector = Collector(forks, tmp_path)
    with collector:
        late, soon = collector.raw(), collector.raw()
        for connection, number in ((late, 1), (soon, 2)):
            connection.sendall(collector.head(len(records([number])), "Expect: 100-continue"))
            assert connection.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
            connection.sendall(records([number])[:-1])
        os.kill(collector.pid, signal.SIGTERM)
        while "stopping: requests have" not in collector.stderr:
            collector.said()
            time.sleep(0.01)
        soon.sendall(records([2])[-1:])
        assert read_answer(soon)[0] == 200
        status, answer = read_answer(late)
        assert (status, json.loads(answer)["error"]) == (503, "stopping")
        assert collector._reap() == 0
        assert collector.said() == ""
        assert numbers(stored(collector.data)) == [2]
