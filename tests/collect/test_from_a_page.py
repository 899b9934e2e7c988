"""A page in Chromium and a collector of another origin: the JavaScript client, from a basket to the stored report."""

import hashlib
import json
import subprocess
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import command_line
from naive import small_plan
from running_collector import Collector, Forks, free_port, run_page

import assocpriv as ap
from assocpriv.plans.baskets.catalogue import Catalogue

BUNDLE = Path(ap.__file__).parent / "pages" / "bundle"
EXAMPLES = Path(__file__).parents[2] / "examples" / "javascript"
PLAN = replace(small_plan("none", 4, 2, 2), catalogue=Catalogue(["milk", "bread", "tea", "eggs"]), reports_per_person=3)


def test_the_client_is_served(collector: Collector) -> None:
    """The package's script and types, cacheable without limit, for any site, under a digest; no other file."""
    files = json.loads(collector.ask("GET", "/client")[2])
    for name in ("script", "types", "relay"):
        status, headers, content = collector.ask("GET", files[name])
        assert (status, content) == (200, (BUNDLE / Path(files[name]).name).read_bytes())
        assert headers["cache-control"] == "public, max-age=31536000, immutable"
        assert (headers["access-control-allow-origin"], headers["content-type"][:15]) == ("*", "text/javascript")
    for name, integrity in (("script", "integrity"), ("relay", "relay_integrity")):
        script = collector.ask("GET", files[name])[2]
        assert files[integrity] == f"sha384-{b64encode(hashlib.sha384(script).digest()).decode()}"
        labels = (b"eae_prk", b"[101,97,101,95,112,114,107]")  # a label of HPKE in two forms
        assert any(each in script for each in labels) == (name == "relay")
    assert Path(files["script"]).parent == Path(files["relay"]).parent  # the first loads the second, for a relay only
    for path in ("/client/0000000000000000/assocpriv.min.js", "/client/", f"{files['script']}.integrity"):
        status, headers, _ = collector.ask("GET", path)
        assert status == 404
        assert "cache-control" not in headers


def test_from_a_page_to_a_collector(forks: Forks, tmp_path: Path) -> None:
    """Each report is stored once after double clicks, lost answers, closed pages, offline; the queue is encrypted."""
    port = free_port()
    with Collector(forks, tmp_path, "--allow-origin", f"http://127.0.0.1:{port}", plan=PLAN) as collector:
        output = run_page("flow-chromium.js", str(port), f"http://127.0.0.1:{collector.port}", "milk")
        assert output.count("ok: ") == 5, output
        assert "not ok" not in output
        assert f"reports: {collector.reports()}\n" in output
        assert collector.reports() == 3


def test_the_examples_send(forks: Forks, tmp_path: Path) -> None:
    """The examples of a shop's page and a till send one report each; an error is one line."""
    port, sources = free_port(), command_line.CLIENT / "src"
    till = (EXAMPLES / "till.mjs").read_text(encoding="utf-8")
    for name, path in (("assocpriv/node", sources / "node/index.js"), ("assocpriv", sources / "index.js")):
        till = till.replace(f'"{name}"', f'"{path.as_uri()}"')
    (tmp_path / "till.mjs").write_text(till)
    with Collector(forks, tmp_path, "--allow-origin", f"http://127.0.0.1:{port}", plan=PLAN) as collector:
        url = f"http://127.0.0.1:{collector.port}"
        shop = run_page("example-chromium.js", str(port), url, PLAN.plan_id)
        assert [line[:4] for line in shop.splitlines()] == ["ok: "] * 8, shop
        command = [command_line.node(), "till.mjs", url, PLAN.plan_id, "4711", "milk", "tea"]
        states = [command_line.run_program(*command, folder=tmp_path).stdout for _ in range(2)]
        assert states == ["sent\n", "already sent\n"]
        for arguments, status, line in (
            ([], 2, "usage: node till.mjs COLLECTOR PLAN-ID CUSTOMER ITEM …\n"),
            ([url, PLAN.plan_id, "4712", "sold-1-canary"], 1, "an item of the basket is not in the plan's catalogue; "),
            (
                [url, PLAN.plan_id, "none/4711", "milk"],
                1,
                "cannot open the ledger none/4711.ledger: ENOENT; nothing was ",
            ),
        ):
            command = [command_line.node(), "till.mjs", *arguments]
            wrong = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (wrong.returncode, wrong.stdout, wrong.stderr[: len(line)]) == (status, "", line)
            assert wrong.stderr.count("\n") == 1
            assert "canary" not in wrong.stderr
        assert collector.reports() == 5
