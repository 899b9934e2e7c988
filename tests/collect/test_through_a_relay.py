"""Tests of relays as processes, ours and nginx, before a collector: kills, all devices, other libraries' clients."""

import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from http.client import HTTPException
from pathlib import Path
from typing import Any

import command_line
import pytest
from collect.nginx_config import nginx_command
from collect.sealed_messages import OUTER, opened, sealed_report
from naive import small_plan
from running_collector import (
    Collector,
    Forks,
    Relay,
    Reply,
    answering,
    free_port,
    numbers,
    run_page,
    stored,
    stored_at_rest,
)

import assocpriv as ap
from assocpriv.client.connection import Clock
from assocpriv.files.oblivious_http import GATEWAY_PATH, KeyConfig, decode_key_configs, encode_key_configs
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.plans.baskets.catalogue import Catalogue

CENTRAL = CentralGuarantee(Fraction(20), Fraction(1, 10**8), 10, Fraction(1, 10), 1)
PLAN = replace(
    small_plan("none", 4, 2, 2), catalogue=Catalogue(["milk", "bread", "tea", "eggs"]), reports_per_person=3,
    central=CENTRAL,
)  # fmt: skip
MARK = "CANARY-7qz3"
DOCS = Path(__file__).parents[2] / "docs" / "anonymous-channel.md"
ANONYMOUS = ("--oblivious",)


@contextmanager
def ours(forks: Forks, home: Path, to: int) -> Iterator[str]:
    """Run our relay."""
    with Relay(forks, home, to, 0) as relay:
        yield f"http://127.0.0.1:{relay.port}"


@contextmanager
def nginx(_: Forks, home: Path, to: int) -> Iterator[str]:
    """Run nginx with the documentation's configuration, without TLS and with other paths."""
    home, port, shared = home / "nginx", free_port(), "add_header Access-Control-Allow-"
    home.mkdir()
    [block] = re.findall(r"```nginx\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)
    changes = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port};", "https://collector.example": f"http://127.0.0.1:{to}",
        "/var/cache/nginx/keys": str(home / "keys"), "rate=2r/s": "rate=1000r/s",
        # and the headers for pages of other origins, which the text below it describes
        "proxy_cache keys;": f"proxy_cache keys; {shared}Origin * always; "
        f"if ($request_method = OPTIONS) {{ {shared}Origin *; {shared}Headers Content-Type; return 204; }}",
    }  # fmt: skip
    with running(*nginx_command(home, block, changes)):
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def running(*command: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a program until the end of the block."""
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


# ---- kills and stops


def config_of(relay: Collector) -> KeyConfig:
    """Return the key that a relay serves."""
    return decode_key_configs(relay.ask("GET", GATEWAY_PATH)[2])[0]


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_kill_9_of_gateway_and_relay(forks: Forks, tmp_path: Path, kills: int) -> None:
    """After kills of either under load each acknowledged report is stored once; in the end all are."""
    port, at = free_port(), free_port()
    collector = Collector(forks, tmp_path, *ANONYMOUS, "--listen", str(port), batch=90)
    acknowledged, sent = set[int](), range(100 * kills)

    def send(number: int) -> None:
        content, exchange = sealed_report(number, config)
        while number not in acknowledged:
            status, body = 0, b""
            with suppress(OSError, HTTPException):  # the connection broke
                status, _, body = relay.ask("POST", GATEWAY_PATH, content, OUTER)
            if status == 200 and (inside := opened(exchange, body).status) != 503:
                assert inside == 200
                acknowledged.add(number)
            else:
                assert status in (0, 200, 502, 503, 504)
                time.sleep(0.02)

    with collector, Relay(forks, tmp_path, port, 0.05, at) as relay, ThreadPoolExecutor(4) as pool:
        config = config_of(relay)
        sending = [pool.submit(send, number) for number in sent]
        for turn in range(2 * kills):
            while len(acknowledged) < 40 * (turn + 1):
                assert not all(each.done() for each in sending)
                time.sleep(0.001)
            each = (collector, relay)[turn % 2]
            each.end(signal.SIGKILL)
            if each is collector:
                found = numbers(stored_at_rest(collector.data))
                assert len(found) == len(set(found))
                assert acknowledged <= set(found)
            assert each.start(), each.stderr
        assert [each.result() for each in sending] == [None] * len(sent)
        assert numbers(stored(collector.data)) == list(sent)
        logged = [line for line in relay.unexpected_log().splitlines() if "relay listens at" not in line]
        assert "127.0.0.1" not in "".join(logged)


def test_the_relay_stops_on_a_signal(forks: Forks, tmp_path: Path) -> None:
    """A waiting message gets 503 and Retry-After; the exit status is 0, and nothing was forwarded."""
    with Collector(forks, tmp_path, *ANONYMOUS) as collector:
        relay = Relay(forks, tmp_path, collector.port, 60)
        relay.stop_seconds = 0.5
        with relay:
            content, _ = sealed_report(1, config_of(relay))
            with closing(relay.connect()) as waiting:
                waiting.putrequest("POST", GATEWAY_PATH)
                for name, value in {**OUTER, "Content-Length": str(len(content)), "Expect": "100-continue"}.items():
                    waiting.putheader(name, value)
                waiting.endheaders()
                assert waiting.sock.recv(25, socket.MSG_WAITALL) == b"HTTP/1.1 100 Continue\r\n\r\n"
                waiting.send(content)  # the relay waits for it
                assert relay.end(signal.SIGTERM) == 0
                answer = waiting.getresponse()
                reply = answer.status, answer.headers["retry-after"], json.loads(answer.read())["error"]
            assert reply == (503, "30", "stopping")
            assert collector.reports() == 0


# ---- devices


@pytest.fixture
def gateway(forks: Forks, tmp_path: Path) -> Iterator[tuple[Collector, int]]:
    """Yield a collector that accepts reports only through a relay, and the port of a site that it allows."""
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    with Collector(forks, tmp_path, "--oblivious=only", "--allow-origin", origin, plan=PLAN) as collector:
        yield collector, port


# what nginx forwards is tested each time in test_nginx_is_a_relay
@pytest.mark.parametrize("relay", [ours, pytest.param(nginx, marks=pytest.mark.slow)])
def test_devices_through_relays(forks: Forks, gateway: tuple[Collector, int], tmp_path: Path, relay: Any) -> None:
    """Python, node, a page in Chromium and other libraries send through our relay and the documented nginx."""
    collector, port = gateway
    url = f"http://127.0.0.1:{collector.port}"
    with relay(forks, tmp_path, collector.port) as address:
        behind = ap.device.Collector(url, relay=address)
        done = ap.collect.send_report(["milk"], behind, ledger=tmp_path / "python", period="w1")
        assert done.state == "scheduled"
        time.sleep(max(0.0, done.send_time - time.time()))
        assert ap.collect.send_queued(behind, ledger=tmp_path / "python").sent == 1
        command = [command_line.node(), command_line.tools() / "test/relayed.js", url, address, tmp_path / "node"]
        assert command_line.run_program(*command, "w1", "tea").stdout == "scheduled, then 1 sent\n"
        assert command_line.run_program(*command, "w1", "tea").stdout == "already sent, then 0 sent\n"
        shown = run_page("relay-chromium.js", str(port), url, address, "milk")
        assert [line[:4] for line in shown.splitlines()] == ["ok: "] * 4, shown
        assert collector.reports() == 4
        foreign = [command_line.node(), command_line.CLIENT / "test/foreign.js", "client", address, PLAN.plan_id]
        body = "0123456789abcdef" + "\0" * PLAN.report_bytes
        printed = [command_line.run_program(*foreign, input=body).stdout for _ in range(2)]
        assert [re.findall(r"\d+", line) for line in printed] == [["200", "1", "0"], ["200", "0", "1"]]
        assert collector.reports() == 5
    assert collector.unexpected_log() == ""


def test_a_gateway_of_other_libraries(tmp_path: Path) -> None:
    """The Python client sends to a gateway that shares no code with it, whose keys it compares at the collector."""
    plan = replace(PLAN, central=None)
    write_plan(plan, tmp_path / "plan.json")
    node, script = command_line.node(), command_line.tools() / "test/foreign.js"
    with running(node, script, "gateway", tmp_path / "plan.json") as relay:
        address = relay.stdout.readline().strip()
        by_name = address.replace("127.0.0.1", "localhost")  # the same server with the same keys
        collector = ap.device.Collector(by_name, relay=address)
        assert ap.collect.send_report(["milk"], collector, ledger=tmp_path / "l", period="w1").state == "scheduled"
        later = ap.device.Collector(by_name, relay=address, clock=Clock(wall=lambda: time.time() + 7200))
        assert ap.collect.send_queued(later, ledger=tmp_path / "l").sent == 1
        with ap.device.Ledger.open(tmp_path / "l") as ledger:
            sent = ledger.submit([], plan, period="w1")
        assert relay.stdout.readline().strip() == (sent.submission_id + sent.report).hex()


def test_nginx_is_a_relay(forks: Forks, tmp_path: Path) -> None:
    """As documented: keys come from its cache, and no header of a device is forwarded."""
    heads, keys = list[dict[str, str]](), list[bytes]()

    def answer(method: str, _: str, headers: dict[str, str], body: bytes) -> Reply:
        if method == "GET":
            keys.append(encode_key_configs([KeyConfig(len(keys), bytes(32))]))
            return 200, {"Content-Type": "application/ohttp-keys", "Set-Cookie": MARK}, keys[-1]
        heads.append(headers)
        return 200, {"Content-Type": "message/ohttp-res", "Set-Cookie": MARK}, body

    device = Relay(forks, tmp_path, 0, 0)
    with answering(answer) as recording, nginx(forks, tmp_path, int(recording.split(":")[-1])) as address:
        device.port = int(address.split(":")[-1])
        assert [device.ask("GET", GATEWAY_PATH)[2] for _ in range(2)] == keys * 2
        marked = {"Cookie": MARK, "User-Agent": MARK, "X-Forwarded-For": MARK, "Referer": MARK}
        status, headers, body = device.ask("POST", GATEWAY_PATH, b"sealed", {**OUTER, **marked})
        assert (status, body, MARK in str(headers)) == (200, b"sealed", False)
    [head] = heads
    assert set(head) <= {"host", "content-type", "content-length", "connection"}
    assert MARK not in str(head)
