"""Tests of examples/collector: a collector behind Caddy with TLS, as a client on the network meets it, and its unit."""

import configparser
import http.client
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from debian_packages import program
from planned import planned
from running_collector import free_port

import assocpriv as ap
from assocpriv.cli.collect import serve
from assocpriv.files.plans import write_plan

EXAMPLES = Path(__file__).parents[2] / "examples" / "collector"
MARK = "canary-3141592"


@contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program, all that it says in a file."""
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=output, text=True, env=os.environ | environment
        )
        try:
            yield process
        finally:
            process.terminate()
            output.write(process.communicate(timeout=20)[0] or "")


def wait_for(what: str, ready: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path, ap.Plan]]:
    """Give the port of a collector behind Caddy, the folder of everything, and the plan."""
    caddy, home = program("caddy", "caddy"), tmp_path_factory.mktemp("site")
    plan = planned(items=20, transaction_size=3, promise=ap.Breach("5%", "50%"))
    write_plan(plan, home / "plan.json")
    collect = [sys.executable, "-m", "assocpriv", "serve", str(home / "plan.json"), "--listen", "0"]
    with running([*collect, "--data", str(home / "data")], home / "collector.log") as collector:
        assert collector.stdout is not None
        upstream, port = collector.stdout.readline().split("//")[1].strip(), free_port()
        environment = {
            "COLLECTOR_SITE": f"localhost:{port}",
            "COLLECTOR_UPSTREAM": upstream,
            "COLLECTOR_HTTP_PORT": str(free_port()),
            "XDG_DATA_HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
        }
        command = [caddy, "run", "--adapter", "caddyfile", "--config", str(EXAMPLES / "Caddyfile")]
        with running(command, home / "caddy.log", **environment):
            wait_for("Caddy's certificate", certificate_of(home).exists)
            wait_for("Caddy", lambda: answers(port, home))
            yield port, home, plan
    for name in ("collector.log", "caddy.log"):
        said = (home / name).read_text()
        assert "127.0.0.1:" not in said.replace(upstream, ""), f"{name} tells addresses"
        assert MARK not in said


def answers(port: int, home: Path) -> bool:
    """Tell whether TLS is spoken: Caddy listens before it has a certificate for the site."""
    with suppress(OSError):  # of which ssl's are some: the certificate may be written in part only
        trusted = ssl.create_default_context(cafile=str(certificate_of(home)))
        with socket.create_connection(("localhost", port), timeout=5) as plain:
            trusted.wrap_socket(plain, server_hostname="localhost").close()
        return True
    return False


def certificate_of(home: Path) -> Path:
    """Return where Caddy keeps the certificate of its own authority."""
    return home / "caddy" / "pki" / "authorities" / "local" / "root.crt"


def ask(site: tuple[int, Path, ap.Plan], method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """Send a request over TLS, the certificate checked, and return status and body of the answer."""
    port, home, plan = site
    trusted = ssl.create_default_context(cafile=str(certificate_of(home)))
    connection = http.client.HTTPSConnection("localhost", port, context=trusted, timeout=20)
    headers = {
        "Assocpriv-Plan": plan.plan_id, "Content-Type": "application/octet-stream", "User-Agent": MARK, "Cookie": MARK,
    }  # fmt: skip
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_report_over_tls(site: tuple[int, Path, ap.Plan]) -> None:
    """It is stored once, however often it is sent; the plan can be had."""
    _, home, plan = site
    record = os.urandom(16) + ap.randomize([1, 2], plan)
    assert json.loads(ask(site, "POST", "/reports", record)[1]) == {"accepted": 1, "duplicates": 0}
    assert json.loads(ask(site, "POST", "/reports", record)[1]) == {"accepted": 0, "duplicates": 1}
    assert ask(site, "GET", "/plan") == (200, plan.canonical_json.encode("ascii"))
    assert len(ap.read_reports(home / "data")) == 1


@pytest.mark.parametrize(
    "path", ["/admin", "/admin/seal", "/metrics", "/status", "/readyz", "/", "/reports/x", "//admin", "/plan/../admin"]
)
def test_what_is_the_operators_is_not_public(site: tuple[int, Path, ap.Plan], path: str) -> None:
    """The operator's page, the metrics and the counts are not there for the network."""
    assert ask(site, "GET", path)[0] == 404


def test_large_bodies_and_refusals_come_through(site: tuple[int, Path, ap.Plan]) -> None:
    """What the collector refuses says why."""
    for size, refusal in (
        (5, (400, "malformed-body")),
        ((4 << 20) + 1, (413, "too-large")),
        (6 << 20, (413, "too-large")),
    ):
        status, answer = ask(site, "POST", "/reports", bytes(size))
        assert (status, json.loads(answer)["error"]) == refusal


def test_plain_http_is_not_answered(site: tuple[int, Path, ap.Plan]) -> None:
    """A client without TLS gets nothing of the collector."""
    connection = http.client.HTTPConnection("localhost", site[0], timeout=20)
    connection.request("GET", "/plan")
    assert connection.getresponse().status == 400
    connection.close()


def test_the_unit_starts_a_command_that_there_is() -> None:
    """What systemd is to start parses; it may write to the unit's own folder alone."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(EXAMPLES / "assocpriv-collector.service")
    service = unit["Service"]
    words = shlex.split(service["ExecStart"])
    assert words[1] == "serve"
    context = serve.make_context("serve", words[2:])
    assert str(context.params["data"]).startswith(f"/var/lib/{service['StateDirectory']}/")
    assert (service["ProtectSystem"], service["NoNewPrivileges"], service["UMask"]) == ("strict", "yes", "0077")


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    """It knows every line of it, and rates what the service is exposed to no higher than the documents say."""
    if (analyze := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd is not installed; on Debian: apt-get install systemd")
    unit, text = tmp_path / "a.service", (EXAMPLES / "assocpriv-collector.service").read_text()
    unit.write_text(text.replace("/opt/assocpriv/bin/assocpriv", sys.executable))
    for command in (["verify"], ["security", "--offline=true", "--threshold=17"]):
        done = subprocess.run([analyze, "--no-pager", *command, str(unit)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "nknown" not in done.stderr


def test_the_container_starts_a_command_that_there_is() -> None:
    """As nobody, with a volume for what it writes, and no collection or key in its layers; the page at its own port."""
    text = (EXAMPLES / "Containerfile").read_text()
    lines = dict(line.split(" ", 1) for line in text.splitlines() if line[:1].isupper())
    words = json.loads(lines["ENTRYPOINT"])
    assert words[:2] == ["assocpriv", "serve"]
    given = serve.make_context("serve", words[2:]).params
    assert (given["listen"], given["admin_port"]) == (("0.0.0.0", 8350), ("0.0.0.0", 8360))
    assert str(given["data"]) == lines["VOLUME"]
    assert lines["USER"] == "65534:65534"
    copied = {name for names in re.findall("^COPY (.+) /src", text, re.MULTILINE) for name in names.split()}
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "assocpriv", "clients/js/src"}
