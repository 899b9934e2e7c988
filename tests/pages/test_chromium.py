"""A test that looks at the operator's page with a real browser, where Chromium is installed."""

import json
import re
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from debian_packages import program
from operator_page import HOSTILE, TOKEN, Collection, Commands, basic

from assocpriv.pages import operator

ITS_OWN = ("google.com", "googleapis.com", "gstatic.com")  # what the browser itself asks for


@contextmanager
def served(application: Any) -> Iterator[str]:
    """Serve an application, and give its host and port."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(application, port=0, lifespan="off", log_level="error", access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def test_chromium_shows_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It renders with its style, a name runs no script, the console stays silent, and no other host is asked."""
    chromium = program("chromium", "chromium")
    monkeypatch.setattr(operator, "run_command", Commands(["milk", "bread", *HOSTILE]))
    (tmp_path / "c").mkdir()
    with served(Collection(tmp_path / "c").page()) as host:
        url, ask = f"http://{host}", urllib.request.Request(f"http://{host}/admin", headers={"Authorization": basic()})
        while b'http-equiv="refresh"' in urllib.request.urlopen(ask).read():  # figures are being computed
            time.sleep(0.01)
        done = subprocess.run(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={tmp_path / 'profile'}",
             "--window-size=390,2400", "--enable-logging=stderr", f"--log-net-log={tmp_path / 'net.json'}",
             f"--screenshot={tmp_path / 'page.png'}", "--dump-dom", f"http://operator:{TOKEN}@{host}/admin"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert "<title>5,000 reports · assocpriv</title>" in done.stdout
    assert "<bdi>milk</bdi>" in done.stdout
    assert "CONSOLE" not in done.stderr
    assert (tmp_path / "page.png").stat().st_size > 20_000
    asked = set(re.findall(r'"url":"([^"]+)"', (tmp_path / "net.json").read_text()))
    hosts = {urlsplit(json.loads(f'"{each}"')).hostname for each in asked if each.startswith("http")}
    assert {host for host in hosts if not str(host).endswith(ITS_OWN)} == {"127.0.0.1"}
    assert f"{url}/admin/style.css" in asked
