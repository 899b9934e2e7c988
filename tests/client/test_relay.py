"""A device behind a relay: each report is sent alone, at its own time, encrypted for a verified key."""

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
from assocpriv.cli.main import main
from assocpriv.client.connection import Clock
from assocpriv.client.ledger import Ledger
from assocpriv.client.upload import QueueResult, SentReport
from assocpriv.collect import send_queued, send_report
from assocpriv.device import Collector
from assocpriv.files.oblivious_http import (
    GATEWAY_PATH,
    KEY_PROBLEM,
    BinaryRequest,
    BinaryResponse,
    GatewayKey,
    encode_key_configs,
    open_request,
)
from assocpriv.guarantees.errors import CollectorError, PlanError, WireError
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.plans.baskets.basket_plan import Plan

CENTRAL = CentralGuarantee.from_json(
    {"epsilon": "1/1", "delta": "1/100000000", "reports": 1000, "colluding": "1/10", "delay": 3600}
)
PLAN = replace(small_plan("none", 5, 2, 2), reports_per_person=4, central=CENTRAL)
START = 1_800_000_000
PROBLEM = json.dumps({"type": KEY_PROBLEM, "title": "no key"}).encode()


@dataclass
class Channel:
    """A relay, a gateway behind it and the collector; the requests of each, and the faults of POSTs."""

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
        """Respond to a direct request."""
        self.direct.append(f"{method} {path}")
        if path == "/plan":
            return 200, {"Assocpriv-Plan": self.plan.plan_id}, self.plan.canonical_json.encode()
        return 200, {}, _selected(self.keys if self.published is None else self.published)

    def pass_on(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Respond as relay and gateway."""
        assert path == GATEWAY_PATH
        if method == "GET":
            return 200, {}, _selected(self.keys if self.offered is None else self.offered)
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
        """Advance the clock."""
        self.seconds += seconds
        self.pauses.append(seconds)

    def collector(self, **settings: Any) -> Collector:
        """Return the collector behind the relay, with this clock."""
        clock = Clock(lambda: self.seconds, self.sleep, lambda: 1.0, lambda: self.seconds)
        return Collector(self.url, clock=clock, **{"relay": self.relay} | settings)


def _selected(keys: list[GatewayKey]) -> bytes:
    return encode_key_configs([key.config for key in keys])


@pytest.fixture
def channel() -> Iterator[Channel]:
    """A relay and a collector that listen."""
    found = Channel()
    with ExitStack() as opened:
        found.url = opened.enter_context(answering(found.collect))
        found.relay = opened.enter_context(answering(found.pass_on))
        yield found


def send(channel: Channel, path: Path, period: str = "w1", **settings: Any) -> SentReport:
    """Send a report of one record."""
    return send_report(["1"], channel.collector(**settings), ledger=path, period=period)


def test_a_report_is_sent_at_its_time_and_alone(channel: Channel, path: Path) -> None:
    """The send time survives a restart; the collector sees requests for its keys, the relay no id, key or report."""
    done = send(channel, path)
    assert (done.state, done.new) == ("scheduled", True)
    assert done.send_time is not None
    assert START < done.send_time <= START + 3600
    channel.seconds = done.send_time - 1
    assert send_queued(channel.collector(), ledger=path) == QueueResult(0, 0, (done.send_time,))
    assert send(channel, path).send_time == done.send_time
    channel.seconds = done.send_time
    with Ledger.open(path) as ledger:
        (queued,) = ledger.queued()
    assert send_queued(channel.collector(), ledger=path) == QueueResult(1, 0)
    assert channel.stored == [queued.submission_id + queued.report]
    assert send(channel, path).state == "already sent"
    assert set(channel.direct) == {f"GET {GATEWAY_PATH}"}
    for headers, body in channel.relayed:
        assert set(headers) == {"host", "accept-encoding", "connection", "user-agent", "content-type", "content-length"}
        assert (headers["user-agent"], headers["content-type"]) == ("assocpriv", "message/ohttp-req")
        assert queued.submission_id not in body
        assert PLAN.plan_id.encode() not in body


def test_send_times_are_uniform_and_kept(channel: Channel, path: Path) -> None:
    """Send times are uniform over the delay; a drawn one is kept, unless the clock was wrong or it is overdue."""
    counts = Counter[int]()
    with Ledger.open(path) as ledger:
        submission = ledger.submit(["1"], PLAN, period="w1")
        for _ in range(200):
            time = ledger.send_time(submission, 4, START, earliest=START + 9)
            counts[time - START] += 1
            assert ledger.send_time(submission, 4, START + 10) == time
        assert START - 1000 < (back := ledger.send_time(submission, 4, START - 1000)) <= START - 996
        ledger.acknowledge(submission)
        assert ledger.send_time(submission, 4, 0) == back
    assert set(counts) == {1, 2, 3, 4}
    # χ² with 3 degrees of freedom exceeds this once in a million times
    assert sum((count - 50) ** 2 / 50 for count in counts.values()) < 30.7


def test_of_several_overdue_reports_one_is_sent(channel: Channel, path: Path) -> None:
    """After a device was off, the others get new times, so that one person's reports do not arrive together."""
    for period in ("w1", "w2", "w3"):
        send(channel, path, period)
    channel.seconds += 7200
    first = send_queued(channel.collector(), ledger=path)
    assert (first.sent, len(first.later), len(channel.stored)) == (1, 2, 1)
    assert all(channel.seconds < time <= channel.seconds + 3600 for time in first.later)
    for time in first.later:
        channel.seconds = max(time, channel.seconds)
        send_queued(channel.collector(), ledger=path)
    assert len(set(channel.stored)) == 3
    assert {len(body) for body in channel.stored} == {16 + PLAN.report_bytes}


def test_the_channel_that_a_plan_requires(channel: Channel, path: Path) -> None:
    """Without a relay no report is made; of a plan without a central guarantee each is sent within an hour, alone."""
    with pytest.raises(PlanError, match="through a relay only"):
        send(channel, path, relay=None)
    assert not path.exists()
    channel.plan = replace(PLAN, central=None)
    done = send(channel, path)
    assert (done.state, done.send_time is not None and START < done.send_time <= START + 3600) == ("scheduled", True)
    send(channel, path, "w2")
    channel.seconds += 7200
    assert send_queued(channel.collector(), ledger=path).sent == 1
    channel.seconds += 7200
    assert send_queued(channel.collector(), ledger=path) == QueueResult(1, 0)
    assert {len(body) for body in channel.stored} == {16 + PLAN.report_bytes}
    assert f"GET {GATEWAY_PATH}" in channel.direct


def test_the_key_is_verified(channel: Channel, path: Path) -> None:
    """The key must be pinned or published by the collector too; with a pinned one the collector gets no request."""
    mine, other = channel.keys[0], GatewayKey(2, bytes([2] * 32))
    channel.published = [other]
    with pytest.raises(CollectorError, match=r"no key that the collector publishes.*; nothing was made or sent"):
        send(channel, path)
    assert not channel.relayed
    channel.direct.clear()
    channel.offered = [other, mine]
    assert send(channel, path, pinned_keys=[mine.config.digest]).new
    assert not channel.direct
    channel.offered = [other]
    with pytest.raises(CollectorError, match="no key that is pinned"):
        send(channel, path, pinned_keys=[mine.config.digest])
    for settings in (
        {"relay": channel.url}, {"key": "k"}, {"pinned_keys": ["ab"]}, {"relay": "ftp://a"},
        {"relay": "http://relay.example"},
    ):  # fmt: skip
        with pytest.raises(CollectorError):
            channel.collector(**settings)


def test_a_key_that_was_replaced(channel: Channel, path: Path) -> None:
    """A new key is checked at the next call; while the relay has one that the collector lost, nothing is sent."""
    collector = channel.collector()
    send_report(["1"], collector, ledger=path, period="w1")
    old, channel.keys = channel.keys, [GatewayKey(2, bytes([2] * 32))]
    assert send_report(["1"], collector, ledger=path, period="w2").new
    channel.keys, channel.offered, channel.published = [GatewayKey(3, bytes([3] * 32))], old, None
    passing = "a relay has the old one for ten minutes; try again then"
    with pytest.raises(CollectorError, match=f"does not have the key that the relay published.*{passing}"):
        send_report(["1"], collector, ledger=path, period="w3")
    channel.offered = [GatewayKey(4, bytes([4] * 32))]
    with pytest.raises(CollectorError, match=f"no key that the collector publishes: .*{passing}"):
        send_report(["1"], collector, ledger=path, period="w3")


def test_a_checked_key_is_kept_for_two_weeks(channel: Channel, path: Path) -> None:
    """The collector is asked once for each key, again after two weeks, and no report is sent in a call that asks it."""
    send(channel, path)
    assert len(channel.direct) == 1
    send(channel, path, "w2")
    channel.offered = [GatewayKey(2, bytes([2] * 32)), *channel.keys]
    channel.seconds += 7200
    assert send_queued(channel.collector(), ledger=path).sent == 1
    assert len(channel.direct) == 1
    channel.seconds += 14 * 86400
    channel.keys, channel.offered = [GatewayKey(3, bytes([3] * 32))], None
    later = send_queued(channel.collector(), ledger=path)
    assert (later.sent, len(later.later), len(channel.direct)) == (0, 1, 2)
    assert channel.seconds < later.later[0] <= channel.seconds + 3600
    channel.seconds += 14 * 86400 + 1
    assert send_queued(channel.collector(), ledger=path).sent == 0
    assert len(channel.direct) == 3


def test_direct_requests_do_not_show_whose_report_arrives(channel: Channel, tmp_path: Path) -> None:
    """Of 40 devices, linking each report to the last or the nth direct request before it is right as often as chance.

    The number of right links has nearly Poisson's distribution of mean 1, and exceeds 11 once in 10^9 times.
    """
    requests, rows, sends = list[int](), list[int](), list[tuple[int, int]]()
    for device in range(40):
        done = send(channel, tmp_path / f"{device}.bin")
        assert done.send_time is not None
        sends.append((done.send_time, device))
        requests += [device] * (len(channel.direct) - len(requests))
    last = list[int]()
    for time, device in sorted(sends):
        channel.seconds = time
        assert send_queued(channel.collector(), ledger=tmp_path / f"{device}.bin").sent == 1
        requests += [device] * (len(channel.direct) - len(requests))
        rows.append(device)
        last.append(requests[-1])
    for guesses in (last, requests):
        assert sum(guess == device for guess, device in zip(guesses, rows, strict=True)) <= 11


@pytest.mark.parametrize(
    ("faults", "inner", "message"),
    [
        ([], [BinaryResponse(410, (), b'{"error": "ended", "message": "over"}')], r"refuses \(status 410\): over"),
        ([], [BinaryResponse(200, (), b" " * 5000)], "more than 4,096 bytes"),
        ([None, (404, {}, b"<html>")], [], r"the relay refuses \(status 404\)"),
        ([None, (307, {"Location": "/"}, b"")], [], r"redirects \(status 307\)"),
        ([None, (200, {}, b"no seal")], [], "no response of the collector"),
        ([None, (200, {}, b"x" * 140_000)], [], "more than 131,072 bytes"),
        (
            [None] + [(429, {}, b"{}")] * 9,
            [],
            r"did not accept the request in \d attempts through the relay http://127\.0\.0\.1:\d+: status 429",
        ),
    ],
    ids=range(7),
)
def test_a_failure_keeps_the_report_queued(channel: Channel, path: Path, faults: Any, inner: Any, message: str) -> None:
    """After any refusal the error is one sentence and the report stays queued."""
    send(channel, path)
    channel.seconds += 7200
    channel.faults, channel.inner = list(faults), list(inner)
    with pytest.raises(CollectorError, match=f"{message}.*; the report is queued in the ledger"):
        send_queued(channel.collector(patience_seconds=9.0), ledger=path)
    channel.faults = [(503, {"Retry-After": "7"}, b"{}")]
    channel.inner = [BinaryResponse(503, (), b'{"error": "busy"}')]
    channel.pauses = []
    assert send_queued(channel.collector(), ledger=path).sent == 1
    assert channel.pauses == [7.0, 0.5]
    assert len({body for _, body in channel.relayed}) == len(channel.relayed)  # every attempt is encrypted anew


def test_the_command_sends_through_a_relay(channel: Channel, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints the send time; the key follows the relay's address."""
    pinned = f"{channel.relay}#{'0' * 64},{channel.keys[0].config.digest}"
    words = ["report", "--collector", channel.url, "--relay", pinned, "--ledger", str(path)]
    shown = CliRunner().invoke(main, [*words, "--period", "w1"], input="1\n")
    assert "new report" in shown.stdout, shown.output
    assert "scheduled: assocpriv report --queued sends it from 20" in shown.stdout
    assert not channel.direct
    found = json.loads(CliRunner().invoke(main, [*words, "--queued", "--json"]).stdout)
    assert (found["sent"], len(found["later"])) == (0, 1)
    assert "1 report scheduled; run this again from 20" in CliRunner().invoke(main, [*words, "--queued"]).stdout
    late = replace(Clock(), wall=lambda: found["later"][0])
    monkeypatch.setattr(ap.device, "Collector", lambda *given, **settings: Collector(*given, clock=late, **settings))
    assert "1 report sent to" in CliRunner().invoke(main, [*words, "--queued"]).stdout
    refused = CliRunner().invoke(main, [*words[:3], *words[5:], "--period", "w1"], input="1\n")
    assert (refused.exit_code, "--relay" in refused.stderr) == (1, True)
