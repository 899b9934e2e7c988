"""A device behind a relay: each report alone, at a moment of its own, sealed for a key that was looked at."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from naive import small_plan
from running_collector import Reply, answering

import assocpriv as ap
from assocpriv import Collector
from assocpriv.cli.main import main
from assocpriv.client.connection import Clock
from assocpriv.client.ledger import Ledger
from assocpriv.client.sending import SentReport, SentWaiting
from assocpriv.collect import send_report, send_unsent
from assocpriv.files.oblivious import (
    GATEWAY_PATH,
    KEY_PROBLEM,
    BinaryRequest,
    BinaryResponse,
    GatewayKey,
    encode_key_configs,
    open_request,
)
from assocpriv.plans.baskets import Plan
from assocpriv.promise.errors import CollectorError, PlanError, WireError
from assocpriv.promise.shuffling import CentralPromise

CENTRAL = CentralPromise.from_json(
    {"epsilon": "1/1", "delta": "1/100000000", "reports": 1000, "helping": "1/10", "delay": 3600}
)
PLAN = replace(small_plan("none", 5, 2, 2), reports_per_person=4, central=CENTRAL)
START = 1_800_000_000
PROBLEM = json.dumps({"type": KEY_PROBLEM, "title": "no key"}).encode()


@dataclass
class Channel:
    """A relay, a gateway behind it and the collector itself; what each was asked, and what goes wrong at which POST."""

    plan: Plan = PLAN
    keys: list[GatewayKey] = field(default_factory=lambda: [GatewayKey(1, bytes([1] * 32))])
    offered: list[GatewayKey] | None = None
    published: list[GatewayKey] | None = None
    faults: list[Reply | None] = field(default_factory=list)
    inner: list[BinaryResponse | None] = field(default_factory=list)
    stored: list[bytes] = field(default_factory=list)
    direct: list[str] = field(default_factory=list)
    relayed: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    seconds: float = START
    pauses: list[float] = field(default_factory=list)
    url: str = ""
    relay: str = ""

    def collect(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answer what is asked directly."""
        self.direct.append(f"{method} {path}")
        if path == "/plan":
            return 200, {"Assocpriv-Plan": self.plan.plan_id}, self.plan.canonical_json.encode()
        return 200, {}, _listed(self.keys if self.published is None else self.published)

    def pass_on(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answer as relay and gateway."""
        assert path == GATEWAY_PATH
        if method == "GET":
            return 200, {}, _listed(self.keys if self.offered is None else self.offered)
        self.relayed.append((headers, body))
        if self.faults and (fault := self.faults.pop(0)):
            return fault
        try:
            message, exchange = open_request(body, {key.key_id: key for key in self.keys})
        except WireError:
            return 400, {"Content-Type": "application/problem+json"}, PROBLEM
        answer = self._inside(BinaryRequest.decode(message))
        return 200, {"Content-Type": "message/ohttp-res"}, exchange.seal_response(answer.encode(6000))

    def _inside(self, request: BinaryRequest) -> BinaryResponse:
        assert f"http://{request.authority.decode()}" == self.url
        headers = ((b"assocpriv-plan", self.plan.plan_id.encode()),)
        if request.method == b"GET":
            return BinaryResponse(200, headers, self.plan.canonical_json.encode())
        assert (request.path, request.headers[0]) == (b"/reports", headers[0])
        if self.inner and (fault := self.inner.pop(0)):
            return fault
        self.stored.append(request.body)
        return BinaryResponse(200, (), b'{"accepted": 1, "duplicates": 0}')

    def sleep(self, seconds: float) -> None:
        """Let time go on."""
        self.seconds += seconds
        self.pauses.append(seconds)

    def collector(self, **settings: Any) -> Collector:
        """Return the collector behind the relay, in this time."""
        clock = Clock(lambda: self.seconds, self.sleep, lambda: 1.0, lambda: self.seconds)
        return Collector(self.url, clock=clock, **{"relay": self.relay} | settings)


def _listed(keys: list[GatewayKey]) -> bytes:
    return encode_key_configs([key.config for key in keys])


@pytest.fixture
def channel() -> Iterator[Channel]:
    """A relay and a collector that listen."""
    found = Channel()
    with ExitStack() as opened:
        found.url = opened.enter_context(answering(found.collect))
        found.relay = opened.enter_context(answering(found.pass_on))
        yield found


def send(channel: Channel, path: Path, occasion: str = "w1", **settings: Any) -> SentReport:
    """Answer with one record."""
    return send_report(["1"], channel.collector(**settings), ledger=path, occasion=occasion)


def test_a_report_waits_for_its_moment_and_goes_alone(channel: Channel, path: Path) -> None:
    """The moment outlives the process; the collector sees its keys asked for, the relay no id, no key, no report."""
    done = send(channel, path)
    assert (done.state, done.new) == ("waits for its moment", True)
    assert done.moment is not None
    assert START < done.moment <= START + 3600
    channel.seconds = done.moment - 1
    assert send_unsent(channel.collector(), ledger=path) == SentWaiting(0, 0, (done.moment,))
    assert send(channel, path).moment == done.moment
    channel.seconds = done.moment
    with Ledger.open(path) as ledger:
        (waiting,) = ledger.unsent()
    assert send_unsent(channel.collector(), ledger=path) == SentWaiting(1, 0)
    assert channel.stored == [waiting.submission_id + waiting.report]
    assert send(channel, path).state == "sent before"
    assert set(channel.direct) == {f"GET {GATEWAY_PATH}"}
    for headers, body in channel.relayed:
        assert set(headers) == {"host", "accept-encoding", "connection", "user-agent", "content-type", "content-length"}
        assert (headers["user-agent"], headers["content-type"]) == ("assocpriv", "message/ohttp-req")
        assert waiting.submission_id not in body
        assert PLAN.plan_id.encode() not in body


def test_moments_are_uniform_and_kept(channel: Channel, path: Path) -> None:
    """Every second of the delay comes as often; what was drawn is kept, but where a clock was wrong or it is late."""
    counts = Counter[int]()
    with Ledger.open(path) as ledger:
        submission = ledger.submit(["1"], PLAN, occasion="w1")
        for _ in range(200):
            moment = ledger.moment(submission, 4, START, earliest=START + 9)
            counts[moment - START] += 1
            assert ledger.moment(submission, 4, START + 10) == moment
        assert START - 1000 < (back := ledger.moment(submission, 4, START - 1000)) <= START - 996
        ledger.acknowledge(submission)
        assert ledger.moment(submission, 4, 0) == back
    assert set(counts) == {1, 2, 3, 4}
    # χ² of 3 degrees of freedom is as large once in a million times
    assert sum((count - 50) ** 2 / 50 for count in counts.values()) < 30.7


def test_of_several_overdue_one_is_sent(channel: Channel, path: Path) -> None:
    """On a device that was off the others get new moments, so that what comes together is never one person's."""
    for occasion in ("w1", "w2", "w3"):
        send(channel, path, occasion)
    channel.seconds += 7200
    first = send_unsent(channel.collector(), ledger=path)
    assert (first.sent, len(first.later), len(channel.stored)) == (1, 2, 1)
    assert all(channel.seconds < moment <= channel.seconds + 3600 for moment in first.later)
    for moment in first.later:
        channel.seconds = max(moment, channel.seconds)
        send_unsent(channel.collector(), ledger=path)
    assert len(set(channel.stored)) == 3
    assert {len(body) for body in channel.stored} == {16 + PLAN.report_bytes}


def test_the_channel_that_a_plan_asks_for(channel: Channel, path: Path) -> None:
    """Without a relay nothing is made; a plan without a central promise goes through one at once, each report alone."""
    with pytest.raises(PlanError, match="through a relay only"):
        send(channel, path, relay=None)
    assert not path.exists()
    channel.plan = replace(PLAN, central=None)
    assert send(channel, path).state == "sent"
    with Ledger.open(path) as ledger:
        for occasion in ("w2", "w3"):
            ledger.submit(["1"], channel.plan, occasion=occasion)
    assert send_unsent(channel.collector(), ledger=path) == SentWaiting(2, 0)
    assert {len(body) for body in channel.stored} == {16 + PLAN.report_bytes}
    assert f"GET {GATEWAY_PATH}" in channel.direct


def test_the_key_is_looked_at(channel: Channel, path: Path) -> None:
    """It is pinned, or the collector hands it out, too; else nothing is sent. With a pinned one nobody is asked."""
    mine, other = channel.keys[0], GatewayKey(2, bytes([2] * 32))
    channel.published = [other]
    with pytest.raises(CollectorError, match=r"no key that the collector hands out.*; nothing was made or sent"):
        send(channel, path)
    assert not channel.relayed
    channel.direct.clear()
    channel.offered = [other, mine]
    assert send(channel, path, pinned_keys=[mine.config.digest]).new
    assert not channel.direct
    channel.offered = [other]
    with pytest.raises(CollectorError, match="no key that is pinned here"):
        send(channel, path, pinned_keys=[mine.config.digest])
    for settings in (
        {"relay": channel.url}, {"key": "k"}, {"pinned_keys": ["ab"]}, {"relay": "ftp://a"},
        {"relay": "http://relay.example"},
    ):  # fmt: skip
        with pytest.raises(CollectorError):
            channel.collector(**settings)


def test_a_key_that_was_replaced(channel: Channel, path: Path) -> None:
    """It is asked for anew, once; where the relay still has the old one the report waits."""
    collector = channel.collector()
    send_report(["1"], collector, ledger=path, occasion="w1")
    old, channel.keys = channel.keys, [GatewayKey(2, bytes([2] * 32))]
    assert send_report(["1"], collector, ledger=path, occasion="w2").new
    assert len(channel.relayed) == 3
    channel.keys, channel.offered, channel.published = [GatewayKey(3, bytes([3] * 32))], old, old
    with pytest.raises(CollectorError, match="has no key for what the relay says"):
        send_report(["1"], collector, ledger=path, occasion="w3")
    assert len(channel.relayed) == 5


@pytest.mark.parametrize(
    ("faults", "inner", "said"),
    [
        ([], [BinaryResponse(410, (), b'{"error": "closed", "message": "over"}')], r"refuses \(status 410\): over"),
        ([], [BinaryResponse(200, (), b" " * 5000)], "more than 4,096 bytes"),
        ([None, (404, {}, b"<html>")], [], r"the relay refuses \(status 404\)"),
        ([None, (307, {"Location": "/"}, b"")], [], r"sends elsewhere \(status 307\)"),
        ([None, (200, {}, b"no seal")], [], "no answer of the collector"),
        ([None, (200, {}, b"x" * 140_000)], [], "more than 131,072 bytes"),
        (
            [None] + [(429, {}, b"{}")] * 9,
            [],
            r"took nothing in \d attempts through the relay http://127\.0\.0\.1:\d+: status 429",
        ),
    ],
    ids=range(7),
)
def test_what_fails_waits(channel: Channel, path: Path, faults: Any, inner: Any, said: str) -> None:
    """Whoever refuses, in whatever way: one sentence, and the report waits."""
    send(channel, path)
    channel.seconds += 7200
    channel.faults, channel.inner = list(faults), list(inner)
    with pytest.raises(CollectorError, match=f"{said}.*; the report waits in the ledger"):
        send_unsent(channel.collector(patience_seconds=9.0), ledger=path)
    channel.faults = [(503, {"Retry-After": "7"}, b"{}")]
    channel.inner = [BinaryResponse(503, (), b'{"error": "busy"}')]
    channel.pauses = []
    assert send_unsent(channel.collector(), ledger=path).sent == 1
    assert channel.pauses == [7.0, 0.5]
    assert len({body for _, body in channel.relayed}) == len(channel.relayed)  # every attempt is sealed anew


def test_the_command_sends_through_a_relay(channel: Channel, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says when the report is to be sent; the key stands behind the relay's address."""
    pinned = f"{channel.relay}#{'0' * 64},{channel.keys[0].config.digest}"
    words = ["report", "--collector", channel.url, "--relay", pinned, "--ledger", str(path)]
    shown = CliRunner().invoke(main, [*words, "--occasion", "w1"], input="1\n")
    assert "a new report" in shown.stdout, shown.output
    assert "to be sent by --unsent from 20" in shown.stdout
    assert not channel.direct
    found = json.loads(CliRunner().invoke(main, [*words, "--unsent", "--json"]).stdout)
    assert (found["sent"], len(found["later"])) == (0, 1)
    assert "1 report to be sent by --unsent, the first from 20" in CliRunner().invoke(main, [*words, "--unsent"]).stdout
    late = replace(Clock(), wall=lambda: found["later"][0])
    monkeypatch.setattr(ap, "Collector", lambda *given, **settings: Collector(*given, clock=late, **settings))
    assert "1 report sent to" in CliRunner().invoke(main, [*words, "--unsent"]).stdout
    refused = CliRunner().invoke(main, [*words[:3], *words[5:], "--occasion", "w1"], input="1\n")
    assert (refused.exit_code, "--relay" in refused.stderr) == (1, True)
