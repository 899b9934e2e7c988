"""Pages of which other sites may use a collector from people's browsers: those that the operator named."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from running_collector import HEADERS, PLAN, Collector, Forks, records

from assocpriv.cli.main import main
from assocpriv.files.plans import write_plan

SHOP, OTHER = "https://shop.example", "https://shop.example.org"
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "assocpriv-plan,content-type"}


def shared(headers: dict[str, str]) -> dict[str, str]:
    """Return what an answer says of other origins."""
    return {name: value for name, value in headers.items() if name.startswith("access-control-")}


def test_a_named_site_may_send_reports_and_read_answers_and_no_other(forks: Forks, tmp_path: Path) -> None:
    """A browser is told so before it sends, and with every answer, also a refusal; never of cookies."""
    with Collector(forks, tmp_path, "--allow-origin", "http://localhost:81", "--allow-origin", SHOP) as collector:
        status, headers, _ = collector.ask("OPTIONS", "/reports", None, {"Origin": SHOP, **ASKED})
        assert (status, headers["access-control-allow-origin"]) == (200, SHOP)
        assert {"Assocpriv-Plan", "Authorization"} <= set(headers["access-control-allow-headers"].split(", "))
        assert headers["access-control-allow-methods"] == "GET, POST"
        told = {"access-control-allow-origin": SHOP, "access-control-expose-headers": "Assocpriv-Plan, Retry-After"}
        for method, path, body, expected in [
            ("POST", "/reports", records([1]), 200), ("POST", "/reports", b"1", 400), ("GET", "/plan", None, 200),
            ("GET", "/nothing", None, 404),
        ]:  # fmt: skip
            for origin, said in [
                (SHOP, told),
                (OTHER, {"access-control-expose-headers": "Assocpriv-Plan, Retry-After"}),
            ]:
                status, headers, _ = collector.ask(method, path, body, {**HEADERS, "Origin": origin})
                assert (status, shared(headers)) == (expected, said)
        assert collector.ask("GET", "/plan")[1]["vary"] == "Origin"  # a cache has no plan for all origins
        status, headers, _ = collector.ask("OPTIONS", "/reports", None, {"Origin": OTHER, **ASKED})
        assert (status, headers.get("access-control-allow-origin")) == (400, None)
        for path in ("/admin", "/admin/seal"):
            for method in ("OPTIONS", "GET", "POST"):
                assert not shared(collector.ask(method, path, None, {"Origin": SHOP, **ASKED})[1])


def test_by_default_no_other_site_may(collector: Collector) -> None:
    """Without named origins OPTIONS is another method, and no answer says anything of origins."""
    assert collector.ask("OPTIONS", "/reports", None, {"Origin": SHOP, **ASKED})[0] == 405
    for path in ("/plan", "/status", "/reports"):
        assert not shared(collector.ask("GET", path, None, {"Origin": SHOP})[1])


@pytest.mark.parametrize("origin", ["*", "null", "https://Shop.example", f"{SHOP}/", "shop.example", f"{SHOP} {OTHER}"])
def test_what_is_no_origin_is_refused(tmp_path: Path, origin: str) -> None:
    """One line says what an origin is, and no folder is made."""
    write_plan(PLAN, tmp_path / "plan.json")
    done = CliRunner().invoke(
        main, ["serve", str(tmp_path / "plan.json"), "--data", str(tmp_path / "data"), "--allow-origin", origin]
    )
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert "is no origin" in done.output
    assert not (tmp_path / "data").exists()
