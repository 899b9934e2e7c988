"""Tests of the relay: what it forwards, delays, refuses and logs."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from collect.sealed_messages import OUTER
from running_collector import Reply, Visitor, answering, free_port

from assocpriv.collect import relay_app
from assocpriv.collect.relay_app import gateway_url
from assocpriv.files import oblivious_http as ohttp
from assocpriv.guarantees.errors import PlanError

MARK = "CANARY-7qz3"


class Gateway:
    """A gateway for a relay: it records heads and bodies, returns the bodies, and has a new key each time."""

    def __init__(self) -> None:
        self.heads, self.bodies, self.key_requests = list[dict[str, str]](), list[bytes](), 0
        self.kind, self.status, self.may_answer, self.url = "message/ohttp-res", 200, threading.Event(), ""
        self.may_answer.set()

    def answer(self, method: str, _: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answer a message, or return a new key."""
        if method == "GET":
            self.key_requests += 1
            keys = ohttp.encode_key_configs([ohttp.KeyConfig(self.key_requests, bytes(32))])
            return 200, {"Content-Type": "application/ohttp-keys", "Set-Cookie": MARK}, keys
        self.heads.append(headers)
        self.bodies.append(body)
        self.may_answer.wait(300)
        return self.status, {"Content-Type": self.kind, "Set-Cookie": MARK, "Location": "/elsewhere"}, body


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Yield a listening gateway."""
    gateway = Gateway()
    with answering(gateway.answer) as gateway.url:
        yield gateway


# ---- forwarded messages


def test_the_gateway_gets_only_bytes(gateway: Gateway) -> None:
    """Neither headers, cookies nor addresses of a device; and the device gets only the gateway's answer."""
    with Visitor(relay_app.Relay(gateway.url, 0)) as visitor:
        marked = {"cookie": MARK, "user-agent": MARK, "x-forwarded-for": MARK, "authorization": MARK, "origin": MARK}
        answer = visitor.post(f"{ohttp.GATEWAY_PATH}?{MARK}", b"sealed", **OUTER, **marked)
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"sealed", "message/ohttp-res")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert MARK not in str(answer.headers)
    [head] = gateway.heads
    assert set(head) == {"host", "content-type", "content-length"}
    assert head["content-type"] == "message/ohttp-req"


def test_messages_leave_in_random_order(gateway: Gateway) -> None:
    """Each of 60 simultaneous messages is answered; they leave in the order of arrival with chance 1/60!."""
    sent = [bytes([number]) for number in range(60)]
    with Visitor(relay_app.Relay(gateway.url, 0.2)) as visitor:

        async def send_all() -> list[bytes]:
            answers = [visitor._ask("POST", ohttp.GATEWAY_PATH, OUTER, body) for body in sent]
            return [answer.body for answer in await asyncio.gather(*answers)]

        assert visitor.application._period * relay_app._BATCHES == pytest.approx(0.2)
        assert visitor.run(send_all()) == sent
    assert sorted(gateway.bodies) == sent
    assert gateway.bodies != sent


def test_all_devices_get_the_same_keys(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the cache, also if the gateway has a new key each time; for a time also while the gateway is unreachable."""
    with Visitor(relay_app.Relay(gateway.url, 0)) as visitor:
        first = visitor.get(ohttp.GATEWAY_PATH)
        assert [config.key_id for config in ohttp.decode_key_configs(first.body)] == [1]
        assert visitor.get(ohttp.GATEWAY_PATH).body == first.body
        monkeypatch.setattr(relay_app, "_KEYS_SECONDS", -1)
        for _ in range(2):
            assert [config.key_id for config in ohttp.decode_key_configs(visitor.get(ohttp.GATEWAY_PATH).body)] == [2]
            visitor.application._to = f"http://127.0.0.1:{free_port()}"
        monkeypatch.setattr(relay_app, "_OLD_KEYS_SECONDS", -1)
        late = visitor.get(ohttp.GATEWAY_PATH)
        assert (late.status, late.json["error"]) == (502, "no-gateway")


@pytest.mark.parametrize("status", [400, 307])
def test_a_refusal_of_the_gateway_is_returned(gateway: Gateway, status: int) -> None:
    """Status, type and content: a device must learn that a key is unknown. No message is sent elsewhere."""
    gateway.status, gateway.kind = status, "application/problem+json"
    with Visitor(relay_app.Relay(gateway.url, 0)) as visitor:
        answer = visitor.post(ohttp.GATEWAY_PATH, b"sealed", **OUTER)
    assert (answer.status, answer.headers["content-type"], answer.body) == (status, gateway.kind, b"sealed")
    assert gateway.bodies == [b"sealed"]


# ---- refusals


def test_refusals(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong types, long messages, overload, and a false, unreachable or silent gateway: each has its reason."""

    def refused(visitor: Visitor, body: bytes = b"sealed", **headers: str) -> tuple[int, str]:
        answer = visitor.post(ohttp.GATEWAY_PATH, body, **(OUTER | headers))
        return answer.status, answer.json["error"]

    with Visitor(relay_app.Relay(gateway.url, 0)) as visitor:
        assert refused(visitor, **{"content-type": "text/plain"}) == (415, "content-type")
        assert refused(visitor, bytes(ohttp.MOST_REQUEST_BYTES + 1)) == (413, "too-large")
        assert gateway.bodies == []
        gateway.kind = "text/html"
        assert refused(visitor) == (502, "no-gateway")
        visitor.application._to = f"http://127.0.0.1:{free_port()}"
        assert refused(visitor) == (502, "no-gateway")
        monkeypatch.setattr(relay_app, "_WAITING_BYTES", -1)
        assert refused(visitor) == (503, "busy")
        assert visitor.get("/elsewhere").status == 404
        assert visitor.get("/healthz").status == 200
    monkeypatch.setattr(relay_app, "_WAITING_BYTES", 100)
    monkeypatch.setattr(relay_app, "_GATEWAY_SECONDS", 0.05)
    gateway.may_answer.clear()
    with Visitor(relay_app.Relay(gateway.url, 0)) as visitor:
        assert refused(visitor) == (504, "slow-gateway")
        gateway.may_answer.set()


def test_an_address_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """An IPv4 address, or a household's IPv6 network, has a limit per minute; this machine has none.

    Counts are kept of a limited number of addresses.
    """
    limit = relay_app._Limit()
    allowed = [limit.allows("192.0.2.1", 60.0) for _ in range(relay_app._MOST_A_MINUTE + 1)]
    assert allowed == [True] * relay_app._MOST_A_MINUTE + [False]
    assert limit.allows("192.0.2.2", 60.0)
    assert [limit.allows(f"2001:db8:0:1{n:02x}::{n}", 61.0) for n in range(256)].count(True) == relay_app._MOST_A_MINUTE
    assert limit.allows("2001:db8:0:200::1%eth0", 61.0)
    assert all(limit.allows("127.0.0.1", 61.0) for _ in range(1000))
    assert limit.allows("192.0.2.1", 120.0)
    monkeypatch.setattr(relay_app, "_MOST_ADDRESSES", 3)
    for address in range(20):
        assert limit.allows(f"198.51.100.{address}", 120.0)
        assert len(limit._counts) <= 3
    assert "192.0.2.1" not in str(vars(limit))


def test_gateway_addresses() -> None:
    """The well-known path of a collector, or the given path, nothing else; and the delay is bounded."""
    assert gateway_url("https://a.example/") == "https://a.example/.well-known/ohttp-gateway"
    assert gateway_url("https://a.example/gateway") == "https://a.example/gateway"
    for to in ("", "collector.example", "ftp://a.example", "https://a.example/x?y", "https://me@a.example"):
        with pytest.raises(PlanError, match="no address of a collector"):
            gateway_url(to)
    with pytest.raises(PlanError, match="0 to 60 seconds"):
        relay_app.Relay("https://a.example", 3601)
