"""Tests of the relay: what it passes on, holds, refuses and says, and of nginx in its place."""

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from asgi import Visitor
from debian_packages import program
from running_collector import Collector, Forks, Relay, free_port, numbers, stored, stored_at_rest
from sealed_messages import OUTER, opened, sealed_report

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
DOCS = Path(__file__).parents[2] / "docs" / "anonymous-channel.md"
ANONYMOUS = ("--oblivious",)


class Gateway(ThreadingHTTPServer):
    """What a relay forwards to, in a thread of this process: it notes heads and bodies, and has a new key each time."""

    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.heads, self.bodies = list[dict[str, str]](), list[bytes]()
        self.kind, self.status, self.seconds, self.asked_for_keys = "message/ohttp-res", 200, 0.0, 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gateway

    def do_POST(self) -> None:  # http.server's
        """Note what came, and repeat the body."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.heads.append({name.lower(): value for name, value in self.headers.items()})
        self.server.bodies.append(body)
        time.sleep(self.server.seconds)
        self._answer(self.server.status, self.server.kind, body)

    def do_GET(self) -> None:
        """Answer a key that nobody else gets."""
        self.server.asked_for_keys += 1
        self._answer(
            200, "application/ohttp-keys", encode_key_configs([KeyConfig(self.server.asked_for_keys, bytes(32))])
        )

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Set-Cookie", MARK)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Give a gateway that listens."""
    with Gateway() as gateway:
        thread = threading.Thread(target=gateway.serve_forever, args=(0.01,))
        thread.start()
        yield gateway
        gateway.shutdown()
        thread.join()


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


@pytest.mark.parametrize(
    "to", ["", "collector.example", "ftp://a.example", "https://a.example/x?y", "https://me@a.example"]
)
def test_what_is_no_gateway_is_refused(to: str) -> None:
    """Before anything listens."""
    with pytest.raises(PlanError, match="no address of a collector"):
        gateway_url(to)


def test_where_messages_go() -> None:
    """To the well-known place of a collector, or to the place that is named; and not held for hours."""
    assert gateway_url("https://a.example/") == "https://a.example/.well-known/ohttp-gateway"
    assert gateway_url("https://a.example/gateway") == "https://a.example/gateway"
    with pytest.raises(PlanError, match="0 to 60 seconds"):
        relaying.Relay("https://a.example", 3601)


# ---- processes


class Senders:
    """Threads that send a report after the other through a relay until told to end, each until it is acknowledged."""

    def __init__(self, relay: Relay, config: KeyConfig, threads: int = 4) -> None:
        self.acknowledged, self.sent, self._next = set[int](), set[int](), 0
        self._relay, self._config, self._guard, self._end = relay, config, threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def wait_for(self, more: int) -> None:
        """Wait until so many more reports are acknowledged."""
        wanted = len(self.acknowledged) + more
        while len(self.acknowledged) < wanted:
            assert any(thread.is_alive() for thread in self._threads)
            time.sleep(0.001)

    def end(self) -> None:
        """Let each send its last one."""
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        while not self._end.is_set():
            with self._guard:
                number, self._next = self._next, self._next + 1
                self.sent.add(number)
            while not self._acknowledged(number):
                time.sleep(0.02)

    def _acknowledged(self, number: int) -> bool:
        content, exchange = sealed_report(number, self._config)
        try:
            status, _, body = self._relay.ask("POST", GATEWAY_PATH, content, OUTER)
        except Exception:  # noqa: BLE001  # cut off anywhere: no answer
            return False
        if status in (502, 503, 504):
            return False
        inside = opened(exchange, body)
        if inside.status == 503:
            return False
        assert (status, inside.status) == (200, 200)
        self.acknowledged.add(number)
        return True


def config_of(relay: Collector) -> KeyConfig:
    """Return the key that a relay hands out."""
    return decode_key_configs(relay.ask("GET", GATEWAY_PATH)[2])[0]


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_kill_9_of_gateway_and_relay(forks: Forks, tmp_path: Path, kills: int) -> None:
    """Whichever dies under load, each acknowledged report is there once; in the end each that was sent is."""
    port, at = free_port(), free_port()
    collector = Collector(forks, tmp_path, *ANONYMOUS, "--listen", str(port), epoch=90)
    with collector, Relay(forks, tmp_path, port, 0.05, at) as relay:
        senders = Senders(relay, config_of(relay))
        try:
            for _ in range(kills):
                for each in (collector, relay):
                    senders.wait_for(40)
                    each.end(signal.SIGKILL)
                    if each is collector:
                        found = numbers(stored_at_rest(collector.data))
                        assert len(found) == len(set(found))
                        assert senders.acknowledged <= set(found)
                    assert each.start(), each.stderr
        finally:
            senders.end()
        assert senders.acknowledged == senders.sent
        assert numbers(stored(collector.data)) == sorted(senders.sent)
        assert "127.0.0.1" not in "".join(line for line in relay.said().splitlines() if "passed on" not in line)


def test_the_relay_stops_when_told(forks: Forks, tmp_path: Path) -> None:
    """Whoever waits for a batch is told to come again; the exit status is 0, and nothing was forwarded."""
    with Collector(forks, tmp_path, *ANONYMOUS) as collector, Relay(forks, tmp_path, collector.port, 60) as relay:
        content, _ = sealed_report(1, config_of(relay))
        answers = list[tuple[int, dict[str, str], bytes]]()
        waiting = threading.Thread(target=lambda: answers.append(relay.ask("POST", GATEWAY_PATH, content, OUTER)))
        waiting.start()
        time.sleep(0.3)
        assert relay.end(signal.SIGTERM) == 0
        waiting.join()
        [(status, headers, body)] = answers
        assert (status, headers["retry-after"], json.loads(body)["error"]) == (503, "30", "stopping")
        assert collector.reports() == 0


# ---- nginx in its place


@contextmanager
def nginx(folder: Path, port: int, to: int) -> Iterator[None]:
    """Run nginx with the documentation's configuration, but for TLS and the names of places."""
    [block] = re.findall(r"```nginx\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)
    for said, here in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        ("https://collector.example", f"http://127.0.0.1:{to}"),
        ("/var/cache/nginx/keys", str(folder / "keys")),
        ("rate=2r/s", "rate=1000r/s"),
    ):
        assert said in block
        block = block.replace(said, here)
    places = "".join(
        f"{name}_temp_path {folder / name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""  # else its workers are nobody, who may not read the folder
    path.write_text(
        f"{user} daemon off; pid {folder / 'pid'}; error_log stderr; events {{}} http {{ {places}\n{block} }}"
    )
    command = [program("nginx", "nginx-light", "/usr/sbin/nginx"), "-e", "stderr", "-p", str(folder), "-c", str(path)]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def test_nginx_is_a_relay(forks: Forks, tmp_path: Path, gateway: Gateway) -> None:
    """As the documentation has it: reports arrive, keys come from its cache, and no header of a device goes on."""
    place, at, noting = tmp_path / "nginx", free_port(), free_port()
    place.mkdir()
    (tmp_path / "other").mkdir()
    with Collector(forks, tmp_path, *ANONYMOUS) as collector, nginx(place, at, collector.port):
        device = Relay(forks, tmp_path, 0, 0)
        device.port = at
        while True:
            with suppress(OSError), closing(device.raw()):
                break
            time.sleep(0.02)
        content, exchange = sealed_report(5, config_of(device))
        status, _, body = device.ask("POST", GATEWAY_PATH, content, OUTER)
        assert (status, opened(exchange, body).status) == (200, 200)
        refused = device.ask("POST", GATEWAY_PATH, content[:50], OUTER)
        assert (refused[0], refused[1]["content-type"]) == (400, "application/problem+json")
        assert numbers(stored(collector.data)) == [5]
    with nginx(tmp_path / "other", noting, gateway.server_address[1]):
        device.port = noting
        while True:
            with suppress(OSError), closing(device.raw()):
                break
            time.sleep(0.02)
        first = device.ask("GET", GATEWAY_PATH)[2]
        assert device.ask("GET", GATEWAY_PATH)[2] == first
        marked = {"Cookie": MARK, "User-Agent": MARK, "X-Forwarded-For": MARK, "Referer": MARK}
        assert MARK not in str(device.ask("POST", GATEWAY_PATH, b"sealed", {**OUTER, **marked}))
        [head] = gateway.heads
        assert set(head) <= {"host", "content-type", "content-length", "connection"}
        assert MARK not in str(head) + str(gateway.bodies)
