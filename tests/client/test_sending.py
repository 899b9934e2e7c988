"""A device and its collector, whatever the collector does: nothing is lost, nothing is told twice, no item is shown."""

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from assocpriv import Collector
from assocpriv.cli.main import main
from assocpriv.client import connection
from assocpriv.client.connection import Clock
from assocpriv.client.ledger import Ledger
from assocpriv.client.sending import SentReport, SentWaiting
from assocpriv.collect import read_key, send_report, send_unsent
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.guidance import UNIT, Guidance
from assocpriv.plans.guided import GuidedPlan, category, class_label, plan_guided
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import Breach, Epsilon
from assocpriv.promise.errors import AssocprivError, BasketError, BudgetError, CollectorError, PlanError

BASE = small_plan("none", 5, 2, 2)
PLAN = replace(BASE, catalogue=Catalogue(["milk", "bread", "tea", "eggs", "a, b"]), reports_per_person=3)
OTHER = small_plan("none", 6, 2, 2)
BASKET = ["milk", "tea"]
REFUSAL = b'{"error": "x", "message": "no more\\u0007 of this"}'


@dataclass
class Scripted:
    """A collector of the simplest kind: what it has, and what goes wrong at which of its POSTs.

    ``pages`` are answers to GET; ``faults`` one a POST, each a reply, ``"lost"`` (stored, and the answer never comes)
    or None for nothing wrong.
    """

    pages: dict[str, Reply] = field(default_factory=dict)
    faults: list[Any] = field(default_factory=list)
    posts: list[tuple[str, bytes, str | None]] = field(default_factory=list)
    stored: dict[bytes, bytes] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def publish(self, plan: PublishedPlan) -> None:
        """Serve a plan, and take its reports."""
        self.pages["/plan"] = 200, {"Assocpriv-Plan": plan.plan_id}, plan.canonical_json.encode()
        self.lengths[plan.plan_id] = 16 + plan.report_bytes

    def take(self, plan_id: str, body: bytes, key: str | None) -> Reply | None:
        """Store what was posted; None for an answer that gets lost."""
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
class Waited:
    """A clock that goes on when somebody sleeps, and only then."""

    seconds: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        self.seconds += seconds
        self.pauses.append(seconds)

    def collector(self, url: str, **settings: Any) -> Collector:
        """Return a collector in this time; jitter is always its largest."""
        return Collector(url, clock=Clock(lambda: self.seconds, self.sleep, lambda: 1.0), **settings)


def send(served: Scripted, path: Path, record: Any = BASKET, **settings: Any) -> SentReport:
    """Send a report without any patience."""
    collector = Waited().collector(served.url, patience_seconds=0.0)
    return send_report(record, collector, ledger=path, **{"occasion": "w1"} | settings)


def test_one_report_arrives_once(served: Scripted, path: Path) -> None:
    """Fetched, made, sent, acknowledged; asked again nothing is sent; another occasion is another report."""
    done = send(served, path)
    assert (done.state, done.plan_id, done.new, done.spent, done.left) == ("sent", PLAN.plan_id, True, 1, 2)
    with Ledger.open(path) as ledger:
        assert list(served.stored.values()) == [ledger.report([], PLAN, occasion="w1")]
        assert ledger.unsent() == ()
    assert send(served, path, []) == replace(done, state="sent before", new=False)
    assert len(served.posts) == 1
    send(served, path, b"bread\n a, b\n", occasion="w2")
    assert len(served.stored) == 2


@pytest.mark.parametrize(
    "faults",
    [["lost"], [(503, {"Retry-After": "7"}, REFUSAL)], [(429, {}, REFUSAL), "lost", (500, {}, b"<html>")],
     [(408, {"Retry-After": "soon"}, b"")]],
    ids=str,
)  # fmt: skip
def test_what_fails_is_sent_again_as_the_same_bytes(served: Scripted, path: Path, faults: list[Any]) -> None:
    """After a lost answer or a busy collector the same body comes again, and counts once; pauses are at least asked."""
    served.faults, waited = list(faults), Waited()
    done = send_report(BASKET, waited.collector(served.url), ledger=path, occasion="w1")
    assert done.state == "sent"
    assert len({body for _, body, _ in served.posts}) == 1
    assert len(served.posts) == len(faults) + 1
    assert len(served.stored) == 1
    assert waited.pauses == ([7.0] if faults[0][0] == 503 else [0.5, 1.0, 2.0][: len(faults)])


def test_pauses_double_and_end(path: Path, served: Scripted) -> None:
    """Pauses grow to a minute and vary by half; beyond the patience it gives up, and what it asks for is said."""
    served.pages = {"/plan": (503, {}, REFUSAL)}
    for jitter, first in ((0.0, 0.25), (1.0, 0.5)):
        waited = Waited()
        collector = replace(waited.collector(served.url, patience_seconds=300.0), clock=replace(
            waited.collector(served.url).clock, jitter=lambda jitter=jitter: jitter))  # fmt: skip
        with pytest.raises(
            CollectorError,
            match=r"took nothing in \d+ attempts: status 503: no more  of this; nothing was made or sent$",
        ):
            send_report(BASKET, collector, ledger=path, occasion="w1")
        assert waited.pauses[:3] == [first, 2 * first, 4 * first]
        assert max(waited.pauses) == 120 * first
        assert waited.seconds <= 300
    served.pages = {"/plan": (429, {"Retry-After": "3600"}, REFUSAL)}
    with pytest.raises(CollectorError, match="asks to come again in 3,600 seconds"):
        send_report(BASKET, Waited().collector(served.url), ledger=path, occasion="w1")
    assert not path.exists()


@pytest.mark.parametrize("way", ["again", "unsent"])
def test_giving_up_loses_nothing(served: Scripted, path: Path, way: str) -> None:
    """What could not be sent waits; the same call, or send_unsent, sends the same bytes, even if they had arrived."""
    served.faults = ["lost"]
    with pytest.raises(CollectorError, match="the connection broke off; the report waits in the ledger"):
        send(served, path)
    with Ledger.open(path) as ledger:
        (waiting,) = ledger.unsent()
    if way == "again":
        assert send(served, path, []).new is False
    else:
        assert send_unsent(served.url, ledger=path) == SentWaiting(1, 0)
    assert served.stored == {waiting.submission_id: waiting.report}
    assert len(served.posts) == 2
    assert send_unsent(served.url, ledger=path) == SentWaiting(0, 0)


def test_other_plans_wait_on(served: Scripted, path: Path) -> None:
    """Reports of plans that are not collected there are neither sent nor forgotten; many go in few requests."""
    with Ledger.open(path, limit=Epsilon(50)) as ledger:
        for plan, occasion in ((PLAN, "w1"), (OTHER, "other"), (PLAN, "w2"), (PLAN, "w3")):
            ledger.submit(["1"] if plan is OTHER else BASKET, plan, occasion=occasion)
    assert send_unsent(served.url, ledger=path) == SentWaiting(3, 1)
    assert len(served.posts) == 1
    served.publish(OTHER)
    assert send_unsent(served.url, ledger=path) == SentWaiting(1, 0)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((400, {}, REFUSAL), r"the collector refuses \(status 400\): no more  of this; the report waits"),
        ((410, {}, b"\xff"), r"status 410\): it does not say why; the report waits"),
        ((429, {}, b'{"error": "quota", "message": "0 left"}'), r"\(status 429\): 0 left; the report waits"),
        ((401, {}, b"[" * 9999), r"status 401\)"),
        ((200, {}, b"{}"), "does not say that it has what was sent; the report waits"),
        ((200, {}, b'{"accepted": 2, "duplicates": -1}'), "does not say that it has"),
        ((200, {}, b'{"accepted": true, "duplicates": 0}'), "does not say that it has"),
        ((200, {}, b"[]"), "does not say that it has"),
        ((200, {}, b"no"), "is no receipt"),
        ((200, {}, b" " * 5000), "more than 4,096 bytes"),
        ((307, {"Location": "http://127.0.0.1:1/reports"}, b""), r"sends elsewhere \(status 307\)"),
    ],
    ids=range(11),
)
def test_refusals_stop_at_once(served: Scripted, path: Path, reply: Reply, said: str) -> None:
    """What a further attempt cannot mend is one sentence after one attempt; the report waits."""
    served.faults, waited = [reply], Waited()
    with pytest.raises(CollectorError, match=said) as caught:
        send_report(BASKET, waited.collector(served.url), ledger=path, occasion="w1")
    assert str(caught.value).isprintable()
    assert (len(served.posts), waited.pauses) == (1, [])
    with Ledger.open(path) as ledger:
        assert len(ledger.unsent()) == 1


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ({}, r"gives no plan \(status 404\)"),
        ({"/plan": (200, {}, PLAN.canonical_json.encode())}, "where it says that it has another"),
        ({"/plan": (200, {"Assocpriv-Plan": OTHER.plan_id}, PLAN.canonical_json.encode())}, "says that it has another"),
        ({"/plan": (200, {}, b"{}")}, "not a plan"),
        ({"/plan": (200, {}, b"\xff")}, "is no plan"),
        ({"/plan": (200, {"Content-Length": "9999"}, b"{")}, "the connection broke off"),
        ({"/plan": (302, {"Location": "http://example.com/"}, b"")}, "sends elsewhere"),
        ({"/plan": (403, {}, REFUSAL)}, r"gives no plan \(status 403\)"),
    ],
    ids=range(8),
)
def test_hostile_publications_are_refused(served: Scripted, path: Path, pages: Any, said: str) -> None:
    """Whatever stands in place of a plan: one line, and neither a ledger nor a report."""
    served.pages = pages
    with pytest.raises(AssocprivError, match=said) as caught:
        send(served, path)
    assert str(caught.value).isprintable()
    assert not path.exists()
    assert not served.posts


def test_a_plan_can_be_pinned(served: Scripted, path: Path) -> None:
    """With the id that is known from elsewhere no other plan is answered."""
    assert send(served, path, plan_id=PLAN.plan_id).state == "sent"
    with pytest.raises(PlanError, match="not the plan "):
        send(served, path, plan_id=OTHER.plan_id)
    with pytest.raises(PlanError, match="64 lowercase"):
        send(served, path, plan_id="abc")


def test_the_devices_limit_holds(served: Scripted, path: Path) -> None:
    """A fetched plan that would reach the device's own promise is not answered, and no ledger is begun."""
    with pytest.raises(BudgetError, match="alone would reach the limit"):
        send(served, path, limit=Breach("49%", "50%"))
    assert not path.exists()


@pytest.mark.parametrize("size", [b"-5", b"zz", b""])
def test_chunks_that_cannot_be(path: Path, size: bytes) -> None:
    """A body in chunks of no length is a connection that broke off."""
    said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\nabc" % size
    with (
        listening(lambda connection: [connection.recv(9999), connection.sendall(said)]) as url,
        pytest.raises(CollectorError, match="in 1 attempt: the connection broke off"),
    ):
        send_report(BASKET, Waited().collector(url, patience_seconds=0.0), ledger=path, occasion="w1")


def test_a_slow_collector_is_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that trickle in hold nobody for longer than one answer may take."""
    monkeypatch.setattr(connection, "_ANSWER_SECONDS", 0.2)
    with (
        listening(
            lambda connection: [connection.sendall(b"H") or threading.Event().wait(0.05) for _ in range(99)]
        ) as url,
        pytest.raises(
            CollectorError, match=r"in 1 attempt: (the connection broke off|no answer|Connection reset by peer)"
        ),
    ):
        send_report(BASKET, Waited().collector(url, patience_seconds=0.0), ledger=path, occasion="w1")


@contextmanager
def listening(answer: Callable[[socket.socket], Any]) -> Iterator[str]:
    """Answer one connection in any way."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    answer(connection)
                except OSError:
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "url",
    ["shop.example", "ftp://shop.example", "https://", "https://a@shop.example", "https://shop.example/?a",
     "https://shop.example/#a", "https://shop.example:99999", "https://[::1", "https://shop example", "https://\u00e9.x",
     "https://shop..example", f"https://{64 * 'x'}.example",
     "https://shop.example/\r\nX: y", "http://shop.example", "http://10.0.0.1", "http://127.0.0.1.shop.example"],
)  # fmt: skip
def test_addresses_that_are_refused(url: str) -> None:
    """No URL, or none that is safe: refused before anything is sent."""
    with pytest.raises(CollectorError, match=r"is no address|is not encrypted"):
        Collector(url)


def test_addresses_that_are_taken() -> None:
    """https anywhere, http on this machine, and beyond it if that is said."""
    for url in ("https://shop.example/a/", "http://localhost:1", "http://127.9.9.9", "http://[::1]:80"):
        Collector(url)
    Collector("http://shop.example", insecure=True)
    assert "secret" not in repr(Collector("https://shop.example", key="secret"))
    for key in ("", "a\nb", "\u00e9", "k" * 513):
        with pytest.raises(CollectorError, match="a key is") as caught:
            Collector("https://shop.example", key=key)
        assert key not in str(caught.value) or not key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_certificate_that_nobody_signed_is_refused(path: Path) -> None:
    """TLS to whom the system does not trust, a relay, too, sends nothing, and is not tried again."""
    files = ["-keyout", str(path.with_name("key.pem")), "-out", str(path.with_name("cert.pem"))]
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run(["openssl", *words, *files, "-days", "1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path.with_name("cert.pem"), path.with_name("key.pem"))
    waited = Waited()
    for is_relay in (False, True):
        with listening(lambda connection: context.wrap_socket(connection, server_side=True).close()) as plain:
            url = plain.replace("http", "https")
            collector = waited.collector("https://shop.example", relay=url) if is_relay else waited.collector(url)
            said = rf"certificate of {url} is not trusted: .*SSL_CERT_FILE.*; nothing was made or sent"
            with pytest.raises(CollectorError, match=said):
                send_report(BASKET, collector, ledger=path, occasion="w1")
    assert waited.pauses == []
    assert not path.exists()


# ---- guided plans

GUIDED: GuidedPlan = plan_guided(
    [category("v1", ["n", "y"]), category("v2", ["n", "y"])], class_label("party", ["a", "b"])
)


def guide(served: Scripted, level: int, announced: int | None = None) -> None:
    """Serve a guided plan and guidance of a level."""
    rows = [[UNIT * (row == column) for column in range(level)] for row in range(4)]
    guidance = Guidance(GUIDED.plan_id, 1, np.array(rows, dtype=np.int64))
    served.publish(GUIDED)
    told = {"plan": GUIDED.plan_id, "serial": 1, "level": announced or level}
    served.pages["/guidance/level"] = 200, {}, json.dumps(told).encode()
    served.pages["/guidance"] = 200, {}, guidance.canonical_json.encode()


def test_a_guided_plan_asks_before_it_answers(served: Scripted, path: Path) -> None:
    """First the level, then the guidance, then the tuple; a level too high, or another than announced, ends it."""
    values = {"v1": "y", "v2": "n", "party": "a"}
    guide(served, 2)
    with pytest.raises(AssocprivError, match="asks for level 2, above the highest of 1"):
        send(served, path, values, max_level=1)
    assert "/guidance" not in served.asked
    guide(served, 2, announced=1)
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
    """Sent, sent before, waiting and sent later; the key comes from a file and is shown nowhere."""
    (tmp_path / "key").write_text("till-7-secret\n")
    options = ["--occasion", "w1", "--key-file", str(tmp_path / "key"), "--plan-id", PLAN.plan_id]
    first = command(served, path, *options)
    assert f"a new report, {PLAN.report_bytes} byte" in first.stdout, first.output
    assert f"sent to {served.url}" in first.stdout
    assert served.posts[0][2] == "Bearer till-7-secret"
    again = json.loads(command(served, path, *options, "--json", text="").stdout)
    assert (again["state"], again["new"]) == ("sent before", False)
    served.faults = [(503, {}, REFUSAL)] * 2
    monkeypatch.setattr(ap, "Collector", partial(ap.Collector, patience_seconds=0.0))
    failed = command(served, path, "--occasion", "w2", *options[2:])
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "till-7" not in failed.output
    assert "the report waits in the ledger" in failed.stderr
    served.faults = []
    assert "1 report sent to" in command(served, path, "--unsent").stdout
    assert json.loads(command(served, path, "--unsent", "--json").stdout) == {"sent": 0, "other_plans": 0, "later": []}


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ((), 2, "Missing option '--occasion'"),
        (("--occasion", "w1", "-o", "r.bin"), 2, "give --collector, or --plan and --output"),
        (("--unsent", "--occasion", "w1"), 2, "--occasion goes with sending or writing, not with --unsent"),
        (("--unsent",), 1, "there is no ledger"),
        (("--occasion", "w1", "--key-file", "none"), 1, "cannot read the key file"),
        (("--unsent", "--told"), 2, "--unsent does not go with --told"),
        (("--occasion", "w1"), 1, "Error: "),
    ],
    ids=range(7),
)
def test_the_command_refuses(served: Scripted, path: Path, options: Any, status: int, said: str) -> None:
    """One line that says what to do, nothing written, nothing sent, no item shown."""
    result = command(served, path, *options, text=f"{NAME}\n{NAME}\n")
    assert (result.exit_code, result.stdout) == (status, "")
    assert said in result.stderr
    assert not marks_in(result.output)
    assert result.exception is None or not marks_in(shown_by(result.exception))
    assert not path.exists()
    assert not served.posts


def test_keys_are_one_line(tmp_path: Path) -> None:
    """A key file holds one line of printable characters; what it holds is not shown."""
    for content in (b"", b" \n", b"a\nb", b"\xff", b"k" * 5000):
        (tmp_path / "key").write_bytes(content)
        with pytest.raises(AssocprivError, match="holds no key"):
            read_key(tmp_path / "key")


def test_empty_is_one_of_two_words(served: Scripted, path: Path) -> None:
    """As for reports that are written; and an empty basket can be sent on purpose."""
    with pytest.raises(BasketError, match="empty must be"):
        send(served, path, [], empty="drop")
    assert send(served, path, [], empty="keep").state == "sent"
