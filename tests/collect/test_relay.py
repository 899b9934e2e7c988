"""Tests of the relay: what it passes on, holds, refuses and says."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from collect.sealed_messages import OUTER
from running_collector import Reply, Visitor, answering, free_port

from assocpriv.collect import relaying
from assocpriv.collect.relaying import gateway_url
from assocpriv.files.oblivious import (
    GATEWAY_PATH,
    MOST_REQUEST_BYTES,
    KeyConfig,
    decode_key_configs,
    encode_key_configs,
)
from assocpriv.promise.errors import PlanError

MARK = "CANARY-7qz3"


class Gateway:
    """What a relay forwards to: it notes heads and bodies, repeats these, and has a new key each time."""

    def __init__(self) -> None:
        self.heads, self.bodies, self.asked_for_keys = list[dict[str, str]](), list[bytes](), 0
        self.kind, self.status, self.seconds, self.url = "message/ohttp-res", 200, 0.0, ""

    def answer(self, method: str, _: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answer a message, or a key that nobody else gets."""
        if method == "GET":
            self.asked_for_keys += 1
            keys = encode_key_configs([KeyConfig(self.asked_for_keys, bytes(32))])
            return 200, {"Content-Type": "application/ohttp-keys", "Set-Cookie": MARK}, keys
        self.heads.append(headers)
        self.bodies.append(body)
        time.sleep(self.seconds)
        return self.status, {"Content-Type": self.kind, "Set-Cookie": MARK}, body


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Give a gateway that listens."""
    gateway = Gateway()
    with answering(gateway.answer) as gateway.url:
        yield gateway


# ---- what is passed on


def test_the_gateway_gets_bytes_alone(gateway: Gateway) -> None:
    """Neither headers, cookies nor addresses of a device; and the device nothing of the gateway but its answer."""
    with Visitor(relaying.Relay(gateway.url, 0)) as visitor:
        marked = {"cookie": MARK, "user-agent": MARK, "x-forwarded-for": MARK, "authorization": MARK, "origin": MARK}
        answer = visitor.post(f"{GATEWAY_PATH}?{MARK}", b"sealed", **OUTER, **marked)
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"sealed", "message/ohttp-res")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert MARK not in str(answer.headers)
    [head] = gateway.heads
    assert set(head) == {"host", "content-type", "content-length"}
    assert head["content-type"] == "message/ohttp-req"


def test_messages_leave_in_random_order(gateway: Gateway) -> None:
    """Of 60 that come together each is answered, and in that order they leave with chance 1/60!."""
    sent = [bytes([number]) for number in range(60)]
    with Visitor(relaying.Relay(gateway.url, 0.2)) as visitor:

        async def all_of_them() -> list[bytes]:
            asked = [visitor._ask("POST", GATEWAY_PATH, OUTER, body) for body in sent]
            return [answer.body for answer in await asyncio.gather(*asked)]

        assert visitor.run(all_of_them()) == sent
    assert sorted(gateway.bodies) == sent
    assert gateway.bodies != sent


def test_everybody_gets_the_same_keys(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the cache, also of a gateway that has one for each; while it is away the old ones, for a time."""
    with Visitor(relaying.Relay(gateway.url, 0)) as visitor:
        first = visitor.get(GATEWAY_PATH)
        assert [config.key_id for config in decode_key_configs(first.body)] == [1]
        assert visitor.get(GATEWAY_PATH).body == first.body
        monkeypatch.setattr(relaying, "_KEYS_SECONDS", -1)
        assert [config.key_id for config in decode_key_configs(visitor.get(GATEWAY_PATH).body)] == [2]
        visitor.application._to = f"http://127.0.0.1:{free_port()}"
        assert [config.key_id for config in decode_key_configs(visitor.get(GATEWAY_PATH).body)] == [2]
        monkeypatch.setattr(relaying, "_OLD_KEYS_SECONDS", -1)
        assert (visitor.get(GATEWAY_PATH).status, visitor.get(GATEWAY_PATH).json["error"]) == (502, "no-gateway")


def test_a_refusal_of_the_gateway_comes_back(gateway: Gateway) -> None:
    """Status, type and content; that a key is not known a device must learn."""
    gateway.status, gateway.kind = 400, "application/problem+json"
    with Visitor(relaying.Relay(gateway.url, 0)) as visitor:
        answer = visitor.post(GATEWAY_PATH, b"sealed", **OUTER)
    assert (answer.status, answer.headers["content-type"], answer.body) == (400, gateway.kind, b"sealed")


# ---- what is refused


def test_what_is_refused(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong types, long messages, too much at a time, a gateway that is none, away or silent: each has its reason."""
    with Visitor(relaying.Relay(gateway.url, 0)) as visitor:

        def refused(body: bytes = b"sealed", **headers: str) -> tuple[int, str]:
            answer = visitor.post(GATEWAY_PATH, body, **{**OUTER, **headers})
            return answer.status, answer.json["error"]

        assert refused(**{"content-type": "text/plain"}) == (415, "content-type")
        assert refused(bytes(MOST_REQUEST_BYTES + 1)) == (413, "too-large")
        assert gateway.bodies == []
        gateway.kind = "text/html"
        assert refused() == (502, "no-gateway")
        visitor.application._to = f"http://127.0.0.1:{free_port()}"
        assert refused() == (502, "no-gateway")
        monkeypatch.setattr(relaying, "_WAITING_BYTES", -1)
        assert refused() == (503, "busy")
        assert visitor.get("/elsewhere").status == 404
        assert visitor.get("/healthz").status == 200
    monkeypatch.setattr(relaying, "_WAITING_BYTES", 100)
    monkeypatch.setattr(relaying, "_GATEWAY_SECONDS", 0.05)
    gateway.seconds = 0.5
    with Visitor(relaying.Relay(gateway.url, 0)) as visitor:
        answer = visitor.post(GATEWAY_PATH, b"sealed", **OUTER)
        assert (answer.status, answer.json["error"]) == (504, "slow-gateway")


def test_an_address_is_limited() -> None:
    """A minute has so many requests of an IPv4 address, or of a household's IPv6 network; this machine has no limit."""
    limit = relaying._Limit()
    told = [limit.allows("192.0.2.1", 60.0) for _ in range(relaying._MOST_A_MINUTE + 1)]
    assert told == [True] * relaying._MOST_A_MINUTE + [False]
    assert limit.allows("192.0.2.2", 60.0)
    assert [limit.allows(f"2001:db8:0:1{n:02x}::{n}", 61.0) for n in range(256)].count(True) == relaying._MOST_A_MINUTE
    assert limit.allows("2001:db8:0:200::1%eth0", 61.0)
    assert all(limit.allows("127.0.0.1", 61.0) for _ in range(1000))
    assert limit.allows("192.0.2.1", 120.0)
    assert "192.0.2.1" not in str(vars(limit))


def test_where_messages_go() -> None:
    """To the well-known place of a collector, or to the place that is named, nowhere else; and not held for hours."""
    assert gateway_url("https://a.example/") == "https://a.example/.well-known/ohttp-gateway"
    assert gateway_url("https://a.example/gateway") == "https://a.example/gateway"
    for to in ("", "collector.example", "ftp://a.example", "https://a.example/x?y", "https://me@a.example"):
        with pytest.raises(PlanError, match="no address of a collector"):
            gateway_url(to)
    with pytest.raises(PlanError, match="0 to 60 seconds"):
        relaying.Relay("https://a.example", 3601)
