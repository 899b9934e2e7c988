"""Tests of examples/collector: a collector behind a proxy with TLS, as clients reach it, and its systemd unit."""

import configparser
import http.client
import json
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from collect.nginx_config import nginx_command
from command_line import program
from running_collector import HEADERS, PLAN, Collector, Forks, free_port, send_by_curl

import assocpriv as ap
from assocpriv.cli.collector_commands import serve

EXAMPLES = Path(__file__).parents[2] / "examples" / "collector"
MARK = "canary-3141592"


Site = tuple[int, Path, Collector]


def caddy(home: Path, upstream: str, port: int) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts Caddy, and its environment."""
    environment = {
        "COLLECTOR_SITE": f"localhost:{port}", "COLLECTOR_UPSTREAM": upstream,
        "COLLECTOR_HTTP_PORT": str(free_port()), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home),
    }  # fmt: skip
    command = [program("caddy", "caddy"), "run", "--adapter", "caddyfile", "--config", str(EXAMPLES / "Caddyfile")]
    return command, environment


def nginx(home: Path, upstream: str, port: int) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts nginx with the example, with other paths and a certificate made for it."""
    certificate, key = certificate_of(home), home / "key.pem"
    certificate.parent.mkdir(parents=True)
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *words, "-days", "1"], check=True, capture_output=True)
    changes = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;", "/etc/ssl/reports.pem": str(certificate),
        "/etc/ssl/reports.key": str(key), "127.0.0.1:8350": upstream,
    }  # fmt: skip
    return nginx_command(home, (EXAMPLES / "nginx.conf").read_text(), changes), {}


@pytest.fixture(scope="module", params=[caddy, nginx])
def site(request: pytest.FixtureRequest, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield the port of a collector behind a proxy, their folder, and the collector."""
    home, port = tmp_path_factory.mktemp("site"), free_port()
    with Collector(forks, home) as collector, (home / "proxy.log").open("w") as log:
        upstream = f"127.0.0.1:{collector.port}"
        command, environment = request.param(home, upstream, port)
        with subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment) as process:
            try:
                while not answers((port, home, collector)):
                    assert process.poll() is None
                    time.sleep(0.05)
                yield port, home, collector
            finally:
                process.terminate()
        collector.unexpected_log()
        for log_text in (collector.stderr, (home / "proxy.log").read_text()):
            assert "127.0.0.1:" not in log_text.replace(upstream, "")
            assert MARK not in log_text


def answers(site: Site) -> bool:
    """Return whether TLS works: Caddy listens before it has a certificate for the site."""
    with suppress(OSError):  # also ssl's errors: the certificate may be partly written
        return ask(site, "GET", "/plan")[0] == 200
    return False


def certificate_of(home: Path) -> Path:
    """Return the path of the certificate: Caddy's own authority writes it there, nginx reads it there."""
    return home / "caddy" / "pki" / "authorities" / "local" / "root.crt"


def ask(site: Site, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """Send a request over TLS, check the certificate, and return status and body of the answer."""
    port, home, _ = site
    trusted = ssl.create_default_context(cafile=str(certificate_of(home)))
    connection = http.client.HTTPSConnection("localhost", port, context=trusted, timeout=120)
    with closing(connection):
        connection.request(method, path, body=body, headers={**HEADERS, "User-Agent": MARK, "Cookie": MARK})
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_a_report_over_tls(site: Site) -> None:
    """It is stored once, also when sent again; the plan is served."""
    record = os.urandom(16) + ap.randomize([1, 2], PLAN)
    assert json.loads(ask(site, "POST", "/reports", record)[1]) == {"accepted": 1, "duplicates": 0}
    assert json.loads(ask(site, "POST", "/reports", record)[1]) == {"accepted": 0, "duplicates": 1}
    assert ask(site, "GET", "/plan") == (200, PLAN.canonical_json.encode("ascii"))
    assert len(ap.read_reports(site[2].data)) == 1


def test_the_operators_paths_are_not_public(site: Site) -> None:
    """The page, metrics and counts are not reachable from the network; a relay's request reaches the collector."""
    assert json.loads(ask(site, "GET", "/.well-known/ohttp-gateway")[1])["error"] == "not-found"
    operators = ("/admin", "/admin/close", "/metrics", "/status", "/readyz")
    for path in (*operators, "/", "/reports/x", "//admin", "/plan/../admin"):
        assert ask(site, "GET", path)[0] == 404


def test_large_bodies_and_refusals_pass_the_proxy(site: Site) -> None:
    """A refusal has the collector's reason."""
    large = (413, "too-large")
    for size, refusal in ((5, (400, "malformed-body")), ((4 << 20) + 1, large), (6 << 20, large)):
        status, answer = ask(site, "POST", "/reports", bytes(size))
        assert (status, json.loads(answer)["error"]) == refusal


def test_many_devices_reports_missing_inputs(tmp_path: Path) -> None:
    """A missing file of baskets, or a missing collector, gives one line."""
    (there := tmp_path / "b.dat").write_text("1 2\n")
    for path, expected in ((tmp_path / "none.dat", "none.dat"), (there, "refused")):
        command = [sys.executable, str(EXAMPLES / "many_devices.py"), f"http://127.0.0.1:{free_port()}", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert expected in done.stderr


def test_reports_of_clients_that_offer_http_2(site: Site) -> None:
    """curl sends reports through either proxy, whole and in two pieces."""
    port, home, collector = site
    first = collector.reports()
    answers = send_by_curl(f"https://localhost:{port}/reports", "--cacert", str(certificate_of(home)))
    assert answers == [b'{"accepted": 1, "duplicates": 0}'] * 2
    assert collector.reports() == first + 2


@pytest.mark.parametrize("more", [[], ["oblivious.conf"]])
def test_the_unit_starts_an_existing_command(more: list[str]) -> None:
    """The command of the systemd unit parses; it may write only to the unit's own folder. Behind a relay as well."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(EXAMPLES / name for name in ["assocpriv-collector.service", *more])
    service = unit["Service"]
    words = shlex.split(service["ExecStart"])
    assert words[1] == "serve"
    context = serve.make_context("serve", words[2:])
    assert context.params["oblivious"] == ("only" if more else None)
    assert str(context.params["data"]).startswith(f"/var/lib/{service['StateDirectory']}/")
    assert (service["ProtectSystem"], service["NoNewPrivileges"], service["UMask"]) == ("strict", "yes", "0077")
    assert int(service["RestartSec"]) * 5 > 10  # else systemd gives up while a disk is full


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    """systemd knows every line, and rates the exposure no higher than documented."""
    if (analyze := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd is not installed; on Debian: apt-get install systemd")
    unit, text = tmp_path / "a.service", (EXAMPLES / "assocpriv-collector.service").read_text()
    more = (EXAMPLES / "oblivious.conf").read_text().partition("[Service]")[2]
    unit.write_text(
        text.replace("[Install]", f"{more}\n[Install]").replace("/opt/assocpriv/bin/assocpriv", sys.executable)
    )
    for command in (["verify"], ["security", "--offline=true", "--threshold=17"]):
        done = subprocess.run([analyze, "--no-pager", *command, str(unit)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "nknown" not in done.stderr


def test_the_container_starts_an_existing_command() -> None:
    """As user nobody, with a volume for its data, no collection or key in its layers, and the page at its own port."""
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
