"""Devices of both languages through a relay to a collector: ours and bare nginx, and clients that are not ours."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import javascript
import pytest
from debian_packages import program
from naive import small_plan
from running_collector import Collector, Forks

import assocpriv as ap
from assocpriv.files.oblivious import GATEWAY_PATH
from assocpriv.files.plans import write_plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.shuffling import CentralPromise

CENTRAL = CentralPromise.from_json(
    {"epsilon": "20/1", "delta": "1/100000000", "reports": 10, "helping": "1/10", "delay": 1}
)
PLAN = replace(
    small_plan("none", 4, 2, 2), catalogue=Catalogue(["milk", "bread", "tea", "eggs"]), reports_per_person=3,
    central=CENTRAL,
)  # fmt: skip
NGINX = """
daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
events {{}}
http {{ access_log {home}/access.log; client_body_temp_path {home}/body; proxy_temp_path {home}/proxy;
  fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  server {{ listen 127.0.0.1:{port}; location = {path} {{ proxy_pass {url}; }} }} }}
"""


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(*command: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a program until the end of the block."""
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def our_relay(home: Path, url: str) -> Iterator[str]:
    """Run ``assocpriv relay``."""
    with running(
        sys.executable, "-m", "assocpriv", "relay", "--to", url, "--hold", "0", "--listen", "0", "-q"
    ) as relay:
        assert relay.stdout is not None
        yield relay.stdout.readline().split()[-1]


@contextmanager
def nginx(home: Path, url: str) -> Iterator[str]:
    """Run bare nginx, which passes on one path."""
    home, port = home / "nginx", free_port()
    home.mkdir()
    (home / "conf").write_text(NGINX.format(home=home, port=port, path=GATEWAY_PATH, url=url))
    with running(program("nginx", "nginx-light", "/usr/sbin/nginx"), "-c", home / "conf", "-e", home / "error.log"):
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def gateway(forks: Forks, tmp_path: Path) -> Iterator[tuple[Collector, int]]:
    """Give a collector that takes reports through a relay alone, and the port of a site that it allows."""
    port = free_port()
    collector = Collector(forks, tmp_path, "--oblivious=alone", "--allow-origin", f"http://127.0.0.1:{port}")
    write_plan(PLAN, tmp_path / "plan.json", force=True)
    with collector:
        yield collector, port


@pytest.mark.parametrize("relay", [our_relay, nginx])
def test_devices_through_relays(gateway: tuple[Collector, int], tmp_path: Path, relay: object) -> None:
    """Python, node, a page of Chromium and a client of other libraries send through ours and through bare nginx."""
    collector, port = gateway
    url = f"http://127.0.0.1:{collector.port}"
    with relay(tmp_path, url) as address:  # type: ignore[operator]
        behind = ap.Collector(url, relay=address)
        done = ap.collect.send_report(["milk"], behind, ledger=tmp_path / "python", occasion="w1")
        assert done.state == "waits for its moment"
        assert done.moment is not None
        time.sleep(max(0.0, done.moment - time.time()))
        assert ap.collect.send_unsent(behind, ledger=tmp_path / "python").sent == 1
        command = [javascript.node(), javascript.tools() / "test/relayed.js", url, address, tmp_path / "node"]
        assert javascript.run(*command, "w1", "tea").stdout == "waits for its moment, then 1 sent\n"
        assert javascript.run(*command, "w1", "tea").stdout == "sent before, then 0 sent\n"
        page = [javascript.node(), javascript.CLIENT / "test/relay-chromium.js", str(port), url, address, "milk"]
        chromium = program("chromium", "chromium")
        shown = javascript.run(*page, env=os.environ | {"CHROMIUM": chromium}).stdout
        assert [line[:4] for line in shown.splitlines()] == ["ok: "] * 4, shown
        assert collector.reports() == 4
        foreign = [javascript.node(), javascript.CLIENT / "test/foreign.js", "client", address, PLAN.plan_id]
        body = "0123456789abcdef" + "\0" * PLAN.report_bytes
        said = [javascript.run(*foreign, input=body).stdout for _ in range(2)]
        assert [re.sub(r"\s", "", line) for line in said] == [
            '200{"accepted":1,"duplicates":0}', '200{"accepted":0,"duplicates":1}'
        ]  # fmt: skip
        assert collector.reports() == 5
    assert collector.said() == ""


def test_a_gateway_of_other_libraries(tmp_path: Path) -> None:
    """The client in Python, without a pinned key and with it, sends to a gateway that shares no code with it."""
    plan = replace(PLAN, central=None)
    write_plan(plan, tmp_path / "plan.json")
    node, script = javascript.node(), javascript.tools() / "test/foreign.js"
    with running(node, script, "gateway", tmp_path / "plan.json") as relay:
        assert relay.stdout is not None
        address = relay.stdout.readline().strip()
        beside = address.replace("127.0.0.1", "localhost")  # the same, by another name: it has the same keys
        collector = ap.Collector(beside, relay=address)
        assert ap.collect.send_report(["milk"], collector, ledger=tmp_path / "l", occasion="w1").state == "sent"
        with ap.Ledger.open(tmp_path / "l") as ledger:
            sent = ledger.submit([], plan, occasion="w1")
        assert relay.stdout.readline().strip() == (sent.submission_id + sent.report).hex()
