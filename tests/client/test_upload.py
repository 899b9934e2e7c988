"""A device and its collector with faults: no report is lost or counted twice, no item is shown."""

import json
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import NAME, marks_in, shown_by
from naive import small_plan
from running_collector import Reply, answering

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.client import connection
from assocpriv.client.connection import Clock
from assocpriv.client.ledger import Ledger
from assocpriv.client.upload import QueueResult, SentReport
from assocpriv.collect import read_key, send_queued, send_report
from assocpriv.device import Collector
from assocpriv.guarantees.errors import AssocprivError, BasketError, BudgetError, CollectorError, PlanError
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.guided.guided_plan import UNIT, Guidance, GuidedPlan, category, class_label, plan_guided
from assocpriv.plans.published_plan import PublishedPlan

BASE = small_plan("none", 5, 2, 2)
PLAN = replace(BASE, catalogue=Catalogue(["milk", "bread", "tea", "eggs", "a, b"]), reports_per_person=3)
OTHER = small_plan("none", 6, 2, 2)
BASKET = ["milk", "tea"]
REFUSAL = b'{"error": "x", "message": "no more\\u0007 of this"}'


@dataclass
class Scripted:
    """A minimal collector with scripted faults.

    ``pages`` are responses to GET. ``faults`` has one entry for each POST: a reply, ``"lost"`` (stored without a
    response) or None for no fault.
    """

    pages: dict[str, Reply] = field(default_factory=dict)
    faults: list[Any] = field(default_factory=list)
    posts: list[tuple[str, bytes, str | None]] = field(default_factory=list)
    stored: dict[bytes, bytes] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def publish(self, plan: PublishedPlan) -> None:
        """Serve a plan, and accept its reports."""
        self.pages["/plan"] = 200, {"Assocpriv-Plan": plan.plan_id}, plan.canonical_json.encode()
        self.lengths[plan.plan_id] = 16 + plan.report_bytes

    def take(self, plan_id: str, body: bytes, key: str | None) -> Reply | None:
        """Store a body; return None for a lost response."""
        self.posts.append((plan_id, body, key))
        fault = self.faults.pop(0) if self.faults else None
        if fault not in (None, "lost"):
            reply: Reply = fault
            return reply
        length = self.lengths[plan_id]
        records = [body[at : at + length] for at in range(0, len(body), length)]
        new = {record[:16]: record[16:] for record in records if record[:16] not in self.stored}
        self.stored |= new
        counts = {"accepted": len(new), "duplicates": len(records) - len(new)}
        return None if fault == "lost" else (200, {}, json.dumps(counts).encode())


@pytest.fixture
def served() -> Iterator[Scripted]:
    """A scripted collector that listens."""
    scripted = Scripted()

    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> Reply | None:
        if method == "GET":
            scripted.asked.append(path)
            return scripted.pages.get(path, (404, {}, b"{}"))
        assert headers["content-type"] == "application/octet-stream"
        return scripted.take(headers["assocpriv-plan"], body, headers.get("authorization"))

    with answering(answer) as scripted.url:
        scripted.publish(PLAN)
        yield scripted


@dataclass
class SleepClock:
    """A clock that only sleeping advances."""

    seconds: float = 0.0
    pauses: list[float] = field(default_factory=list)
    jitter: float = 1.0  # the largest

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        self.seconds += seconds
        self.pauses.append(seconds)

    def collector(self, url: str, **settings: Any) -> Collector:
        """Return a collector with this clock."""
        return Collector(url, clock=Clock(lambda: self.seconds, self.sleep, lambda: self.jitter), **settings)


def send(served: Scripted, path: Path, record: Any = BASKET, **settings: Any) -> SentReport:
    """Send a report with a single attempt."""
    collector = SleepClock().collector(served.url, patience_seconds=0.0)
    return send_report(record, collector, ledger=path, **{"period": "w1"} | settings)


def test_one_report_arrives_once(served: Scripted, path: Path) -> None:
    """A report is made, sent and acknowledged; a repeat sends nothing; another period is a new report."""
    done = send(served, path)
    assert (done.state, done.plan_id, done.new, done.spent, done.remaining) == ("sent", PLAN.plan_id, True, 1, 2)
    with Ledger.open(path) as ledger:
        assert list(served.stored.values()) == [ledger.report([], PLAN, period="w1")]
        assert ledger.queued() == ()
    assert send(served, path, []) == replace(done, state="already sent", new=False)
    assert len(served.posts) == 1
    send(served, path, b"bread\n a, b\n", period="w2")
    assert len(served.stored) == 2


@pytest.mark.parametrize(
    "faults",
    [["lost"], [(503, {"Retry-After": "7"}, REFUSAL)], [(429, {}, REFUSAL), "lost", (500, {}, b"<html>")],
     [(408, {"Retry-After": "soon"}, b"")]],
    ids=str,
)  # fmt: skip
def test_a_retry_sends_the_same_bytes(served: Scripted, path: Path, faults: list[Any]) -> None:
    """After a lost response or a busy collector, the same body is sent after a pause and counts once."""
    served.faults, clock = list(faults), SleepClock()
    done = send_report(BASKET, clock.collector(served.url), ledger=path, period="w1")
    assert done.state == "sent"
    assert len({body for _, body, _ in served.posts}) == 1
    assert len(served.posts) == len(faults) + 1
    assert len(served.stored) == 1
    assert clock.pauses == ([7.0] if faults[0][0] == 503 else [0.5, 1.0, 2.0][: len(faults)])


def test_pauses_double_and_end(path: Path, served: Scripted) -> None:
    """Pauses grow to a minute and vary by half; after the patience the error has the collector's request."""
    served.pages = {"/plan": (503, {}, REFUSAL)}
    for jitter, first in ((0.0, 0.25), (1.0, 0.5)):
        clock = SleepClock(jitter=jitter)
        message = r"not accept the request in \d+ attempts: status 503: no more  of this; nothing was made or sent$"
        with pytest.raises(CollectorError, match=message):
            send_report(BASKET, clock.collector(served.url, patience_seconds=300.0), ledger=path, period="w1")
        assert clock.pauses[:3] == [first, 2 * first, 4 * first]
        assert max(clock.pauses) == 120 * first
        assert clock.seconds <= 300
    served.pages = {"/plan": (429, {"Retry-After": "3600"}, REFUSAL)}
    with pytest.raises(CollectorError, match="try again in 3,600 seconds"):
        send_report(BASKET, SleepClock().collector(served.url), ledger=path, period="w1")
    assert not path.exists()


@pytest.mark.parametrize("way", ["again", "queued"])
def test_giving_up_loses_nothing(served: Scripted, path: Path, way: str) -> None:
    """A failed report is queued; the same call, or send_queued, sends the same bytes, even if they had arrived."""
    served.faults = ["lost"]
    with pytest.raises(CollectorError, match="the connection was lost; the report is queued in the ledger"):
        send(served, path)
    with Ledger.open(path) as ledger:
        (queued,) = ledger.queued()
    if way == "again":
        assert send(served, path, []).new is False
    else:
        assert send_queued(served.url, ledger=path) == QueueResult(1, 0)
    assert served.stored == {queued.submission_id: queued.report}
    assert len(served.posts) == 2
    assert send_queued(served.url, ledger=path) == QueueResult(0, 0)


def test_reports_of_other_plans_stay_queued(served: Scripted, path: Path) -> None:
    """Reports of plans that the collector does not have stay queued; several reports share a request."""
    with Ledger.open(path, limit=ap.Guarantee.from_epsilon(50)) as ledger:
        for plan, period in ((PLAN, "w1"), (OTHER, "other"), (PLAN, "w2"), (PLAN, "w3")):
            ledger.submit(["1"] if plan is OTHER else BASKET, plan, period=period)
    assert send_queued(served.url, ledger=path) == QueueResult(3, 1)
    assert len(served.posts) == 1
    served.publish(OTHER)
    assert send_queued(served.url, ledger=path) == QueueResult(1, 0)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((400, {}, REFUSAL), r"the collector refuses \(status 400\): no more  of this; the report is queued"),
        ((410, {}, b"\xff"), r"status 410\): no reason given; the report is queued"),
        ((429, {}, b'{"error": "quota", "message": "0 left"}'), r"\(status 429\): 0 left; the report is queued"),
        ((401, {}, b"[" * 9999), r"status 401\)"),
        ((200, {}, b"{}"), "does not confirm that it has the reports; the report is queued"),
        ((200, {}, b'{"accepted": 2, "duplicates": -1}'), "does not confirm that it has"),
        ((200, {}, b'{"accepted": true, "duplicates": 0}'), "does not confirm that it has"),
        ((200, {}, b"[]"), "does not confirm that it has"),
        ((200, {}, b"no"), "is no receipt"),
        ((200, {}, b" " * 5000), "more than 4,096 bytes"),
        ((307, {"Location": "http://127.0.0.1:1/reports"}, b""), r"redirects \(status 307\)"),
    ],
    ids=range(11),
)
def test_refusals_stop_at_once(served: Scripted, path: Path, reply: Reply, message: str) -> None:
    """A permanent refusal is one sentence after one attempt; the report stays queued."""
    served.faults, clock = [reply], SleepClock()
    with pytest.raises(CollectorError, match=message) as caught:
        send_report(BASKET, clock.collector(served.url), ledger=path, period="w1")
    assert str(caught.value).isprintable()
    assert (len(served.posts), clock.pauses) == (1, [])
    with Ledger.open(path) as ledger:
        assert len(ledger.queued()) == 1


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ({}, r"sends no plan \(status 404\)"),
        ({"/plan": (200, {}, PLAN.canonical_json.encode())}, "its header names another"),
        ({"/plan": (200, {"Assocpriv-Plan": OTHER.plan_id}, PLAN.canonical_json.encode())}, "its header names another"),
        ({"/plan": (200, {}, b"{}")}, "not a plan"),
        ({"/plan": (200, {}, b"\xff")}, "is no plan"),
        ({"/plan": (200, {"Content-Length": "9999"}, b"{")}, "the connection was lost"),
        ({"/plan": (302, {"Location": "http://example.com/"}, b"")}, "redirects"),
        ({"/plan": (403, {}, REFUSAL)}, r"sends no plan \(status 403\)"),
    ],
    ids=range(8),
)
def test_hostile_publications_are_refused(served: Scripted, path: Path, pages: Any, message: str) -> None:
    """Invalid content in place of a plan gives an error of one line, and neither a ledger nor a report."""
    served.pages = pages
    with pytest.raises(AssocprivError, match=message) as caught:
        send(served, path)
    assert str(caught.value).isprintable()
    assert not path.exists()
    assert not served.posts


def test_a_plan_can_be_pinned(served: Scripted, path: Path) -> None:
    """With a required id no other plan is answered."""
    assert send(served, path, plan_id=PLAN.plan_id).state == "sent"
    with pytest.raises(PlanError, match="not the required "):
        send(served, path, plan_id=OTHER.plan_id)
    with pytest.raises(PlanError, match="64 lowercase"):
        send(served, path, plan_id="abc")


def test_the_devices_limit_holds(served: Scripted, path: Path) -> None:
    """A fetched plan that would reach the device's limit is not answered, and no ledger is made."""
    with pytest.raises(BudgetError, match=r"one report of plan .* would reach the limit"):
        send(served, path, limit=ap.Guarantee("49%", "50%"))
    assert not path.exists()


@pytest.mark.parametrize("size", [b"-5", b"zz", b""])
def test_invalid_chunk_sizes(path: Path, size: bytes) -> None:
    """A chunk without a valid size counts as a lost connection."""
    response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\nabc" % size
    answer = listening(lambda connection: [connection.recv(9999), connection.sendall(response)])
    with answer as url, pytest.raises(CollectorError, match="in 1 attempt: the connection was lost"):
        send_report(BASKET, SleepClock().collector(url, patience_seconds=0.0), ledger=path, period="w1")


def test_a_slow_collector_is_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response that trickles in is cut off at the time limit of one response."""
    monkeypatch.setattr(connection, "_RESPONSE_SECONDS", 0.2)
    message = r"in 1 attempt: (the connection was lost|no response|Connection reset by peer)"

    def trickle(connection: socket.socket) -> None:
        for _ in range(99):
            connection.sendall(b"H")
            time.sleep(0.05)

    with listening(trickle) as url, pytest.raises(CollectorError, match=message):
        send_report(BASKET, SleepClock().collector(url, patience_seconds=0.0), ledger=path, period="w1")


@contextmanager
def listening(answer: Callable[[socket.socket], Any]) -> Iterator[str]:
    """Handle one connection with a function."""
    with ThreadPoolExecutor() as pool, socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)  # if nobody comes

        def serve() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                answer(connection)

        served = pool.submit(serve)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        served.result()


@pytest.mark.parametrize(
    "url",
    ["shop.example", "ftp://shop.example", "https://", "https://a@shop.example", "https://shop.example/?a",
     "https://shop.example/#a", "https://shop.example:99999", "https://[::1", "https://shop example", "https://\u00e9.x",
     "https://shop..example", f"https://{64 * 'x'}.example",
     "https://shop.example/\r\nX: y", "http://shop.example", "http://10.0.0.1", "http://127.0.0.1.shop.example"],
)  # fmt: skip
def test_addresses_that_are_refused(url: str) -> None:
    """An invalid or unencrypted URL is refused before anything is sent."""
    with pytest.raises(CollectorError, match=r"is no address|is not encrypted"):
        Collector(url)


def test_addresses_that_are_accepted() -> None:
    """https anywhere, http on this machine, and http elsewhere with insecure=True."""
    for url in ("https://shop.example/a/", "http://localhost:1", "http://127.9.9.9", "http://[::1]:80"):
        Collector(url)
    Collector("http://shop.example", insecure=True)
    assert "secret" not in repr(Collector("https://shop.example", key="secret"))
    for key in ("", "a\nb", "\u00e9", "k" * 513):
        with pytest.raises(CollectorError, match="a key must have") as caught:
            Collector("https://shop.example", key=key)
        assert key not in str(caught.value) or not key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_self_signed_certificate_is_refused(path: Path) -> None:
    """With an untrusted certificate, also of a relay, nothing is sent and no retry follows."""
    files = ["-keyout", str(path.with_name("key.pem")), "-out", str(path.with_name("cert.pem"))]
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run(["openssl", *words, *files, "-days", "1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path.with_name("cert.pem"), path.with_name("key.pem"))
    clock = SleepClock()
    for is_relay in (False, True):
        with listening(lambda connection: context.wrap_socket(connection, server_side=True).close()) as plain:
            url = plain.replace("http", "https")
            collector = clock.collector("https://shop.example", relay=url) if is_relay else clock.collector(url)
            message = rf"certificate of {url} is not trusted: .*SSL_CERT_FILE.*; nothing was made or sent"
            with pytest.raises(CollectorError, match=message):
                send_report(BASKET, collector, ledger=path, period="w1")
    assert clock.pauses == []
    assert not path.exists()


# ---- guided plans

GUIDED: GuidedPlan = plan_guided(
    [category("v1", ["n", "y"]), category("v2", ["n", "y"])], class_label("party", ["a", "b"])
)


def guide(served: Scripted, level: int, announced_level: int | None = None) -> None:
    """Serve a guided plan and guidance of a level."""
    rows = [[UNIT * (row == column) for column in range(level)] for row in range(4)]
    guidance = Guidance(GUIDED.plan_id, 1, np.array(rows, dtype=np.int64))
    served.publish(GUIDED)
    published = {"plan": GUIDED.plan_id, "serial": 1, "level": announced_level or level}
    served.pages["/guidance/level"] = 200, {}, json.dumps(published).encode()
    served.pages["/guidance"] = 200, {}, guidance.canonical_json.encode()


def test_a_guided_report_needs_guidance(served: Scripted, path: Path) -> None:
    """The client fetches the level, then the guidance, then reports; a wrong level stops it."""
    values = {"v1": "y", "v2": "n", "party": "a"}
    guide(served, 2)
    with pytest.raises(AssocprivError, match="level 2, above the maximum of 1"):
        send(served, path, values, max_level=1)
    assert "/guidance" not in served.asked
    guide(served, 2, announced_level=1)
    with pytest.raises(AssocprivError, match="level 2, but level 1 was announced"):
        send(served, path, values, max_level=1)
    assert not path.exists()
    guide(served, 2)
    assert send(served, path, json.dumps(values).encode()).state == "sent"
    assert served.asked[-2:] == ["/guidance/level", "/guidance"]
    GUIDED.check_form(np.frombuffer(served.posts[0][1][16:], "u1").reshape(1, -1))


# ---- the command line


def command(served: Scripted, path: Path, *options: str, text: str = "milk\n") -> Any:
    """Run assocpriv report with a collector."""
    words = ["report", "--collector", served.url, "--ledger", str(path), *options]
    return CliRunner().invoke(main, words, input=text)


def test_the_command_sends(served: Scripted, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are sent, already sent, queued and sent later; the key comes from a file and is never shown."""
    (tmp_path / "key").write_text("till-7-secret\n")
    options = ["--period", "w1", "--key-file", str(tmp_path / "key"), "--plan-id", PLAN.plan_id]
    first = command(served, path, *options)
    assert f"new report, {PLAN.report_bytes} byte" in first.stdout, first.output
    assert f"sent to {served.url}" in first.stdout
    assert served.posts[0][2] == "Bearer till-7-secret"
    again = json.loads(command(served, path, *options, "--json", text="").stdout)
    assert (again["state"], again["new"]) == ("already sent", False)
    served.faults = [(503, {}, REFUSAL)] * 2
    monkeypatch.setattr(ap.device, "Collector", partial(ap.device.Collector, patience_seconds=0.0))
    failed = command(served, path, "--period", "w2", *options[2:])
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "till-7" not in failed.output
    assert "the report is queued in the ledger" in failed.stderr
    served.faults = []
    assert "1 report sent to" in command(served, path, "--queued").stdout
    assert json.loads(command(served, path, "--queued", "--json").stdout) == {"sent": 0, "other_plans": 0, "later": []}


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ((), 2, "Missing option '--period'"),
        (("--period", "w1", "-o", "r.bin"), 2, "give --collector, or --plan and --output"),
        (("--queued", "--period", "w1"), 2, "--period goes with sending or writing, not with --queued"),
        (("--queued",), 1, "there is no ledger"),
        (("--period", "w1", "--key-file", "none"), 1, "cannot read the key file"),
        (("--queued", "--spent"), 2, "--queued does not go with --spent"),
        (("--period", "w1"), 1, "Error: "),
    ],
    ids=range(7),
)
def test_the_command_refuses(served: Scripted, path: Path, options: Any, status: int, message: str) -> None:
    """The error is one line with advice; nothing is written or sent, no item is shown."""
    result = command(served, path, *options, text=f"{NAME}\n{NAME}\n")
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr
    assert not marks_in(result.output)
    assert result.exception is None or not marks_in(shown_by(result.exception))
    assert not path.exists()
    assert not served.posts


def test_keys_are_one_line(tmp_path: Path) -> None:
    """A key file holds one line of printable characters; an error does not show it."""
    for content in (b"", b" \n", b"a\nb", b"\xff", b"k" * 5000):
        (tmp_path / "key").write_bytes(content)
        with pytest.raises(AssocprivError, match="holds no key"):
            read_key(tmp_path / "key")


def test_values_of_empty(served: Scripted, path: Path) -> None:
    """``empty`` has two values, as for written reports; "keep" sends an empty basket."""
    with pytest.raises(BasketError, match="empty must be"):
        send(served, path, [], empty="drop")
    assert send(served, path, [], empty="keep").state == "sent"
