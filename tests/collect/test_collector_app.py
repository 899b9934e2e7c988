"""Tests of a collector's answers over HTTP, to pages of other sites and with guidance, and of what it stores."""

import json
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import guided_plan, random_people, randomize_tuples
from running_collector import HEADERS, PLAN, RECORD, Collector, Forks, Visitor, records

from assocpriv import guided
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.client.guided.guided_client import check_guidance
from assocpriv.collect import collector_app, group_commit, make_service
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import StoreFullError
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import PlanError
from assocpriv.server.guided.collection import start_empty
from assocpriv.simulation.enumeration import SeededEntropy

MARK = "CANARY-7qz3"
REASONS = {
    400: {"no-plan", "malformed-body", "malformed-report"},
    404: {"not-found"},
    405: {"method"},
    409: {"other-plan"},
    413: {"too-large"},
    415: {"content-type", "content-encoding"},
}
METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
PATHS = st.one_of(
    st.sampled_from(["/reports", "/plan", "/status", "/metrics", "/healthz", "/readyz", "/guidance", "/", "//", "*"]),
    st.text("abz/.%?&=;~0", max_size=20).map(lambda text: f"/{text}"),
)
VALUES = st.one_of(
    st.text("".join(map(chr, [9, *range(32, 127), *range(160, 256)])), max_size=30).map(str.strip),
    st.sampled_from(
        [PLAN.plan_id, "0" * 64, PLAN.plan_id.upper(), "application/octet-stream", f'"{MARK}"', "upgrade", "h2c"]
    ),
)
NAMES = [
    "Assocpriv-Plan", "Content-Type", "If-None-Match", "Accept", "Host", "Cookie", "Authorization", "Upgrade", "Origin",
    "X-Forwarded-For", "User-Agent", "Range", "Content-Encoding", "Connection",
]  # fmt: skip
BODIES = st.one_of(
    st.binary(max_size=100),
    st.integers(0, 5).map(lambda count: records(range(count)) + bytes(count % 2)),
    st.builds(lambda report: bytes(16) + report, st.binary(min_size=RECORD - 16, max_size=RECORD - 16)),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=METHODS, path=PATHS, body=BODIES, known=st.booleans(),
    headers=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
)  # fmt: skip
def test_any_request_has_a_designed_answer(
    collector: Collector, method: str, path: str, body: bytes, known: bool, headers: dict[str, str]
) -> None:
    """No answer is 500, errors are JSON with a known reason, and repeat nothing of the request except ids."""
    sent = {**(HEADERS if known else {}), **headers, "X-Mark": MARK}
    encoded: Any = {name: value.encode("latin-1") for name, value in sent.items()}
    status, answered, content = collector.ask(method, path, body, encoded)
    assert status < 400 or status in REASONS
    if status >= 400 and content:
        refusal = json.loads(content)
        assert refusal["error"] in REASONS[status] and refusal["message"]  # noqa: PT018
        assert set(refusal) <= {"error", "message", "plan", "record_bytes", "most_bytes", "count", "ids"}
    assert MARK not in json.dumps(answered) + content.decode("latin-1")
    long = [value for value in headers.values() if len(value) > 8 and value != PLAN.plan_id]
    assert not any(value in content.decode("latin-1") for value in long)
    assert collector.unexpected_log() == ""


def test_nothing_is_redirected(collector: Collector) -> None:
    """A redirect repeats the request's Host; it did so once for an address that ends in a slash."""
    for path in ("/status/", "/reports/", "/plan/"):
        status, headers, content = collector.ask("GET", path, None, {"Host": f"{MARK}.example"})
        assert (status, json.loads(content)["error"], headers.get("location")) == (404, "not-found", None)
    assert 'refused_total{reason="not-found"} 3.0' in collector.ask("GET", "/metrics")[2].decode()


def test_reports_are_sent_only_by_post(collector: Collector) -> None:
    """The answer to any other method names the allowed one."""
    for method in ("GET", "HEAD", "TRACE", "PROPFIND", "PUT"):
        status, headers, _ = collector.ask(method, "/reports")
        assert (status, headers["allow"]) == (405, "POST")


def test_no_client_data_is_stored(collector: Collector) -> None:
    """No file, log line or page holds a basket's items, an address, a user agent, other headers or a time."""
    basket = [7, 123, 199]
    marked = {"User-Agent": MARK, "X-Forwarded-For": "198.51.100.77", "Cookie": MARK, "Referer": MARK, "From": MARK}
    for number in range(40):
        report = Randomizer(PLAN).randomize(basket, entropy=SystemEntropy())
        assert collector.send(records([number])[:16] + report, **marked)[0] == 200
    assert collector.send(b"CANARY-7qz3 198.51.100.77", **marked)[0] == 400
    before = time.time()
    pages = [collector.ask("GET", path)[2] for path in ("/status", "/metrics", "/plan", "/nothing", "/admin")]
    for closed in (False, True):
        if closed:
            assert collector.close_batches() == 200
        files = [path for path in collector.data.rglob("*") if path.is_file()]
        kept = [path.read_bytes() for path in files] + [path.name.encode() for path in files] + pages
        today = datetime.fromtimestamp(before, UTC)
        times = [f"{today:%d %b %Y}", str(int(before))[:7], *[f"{today:%Y-%m-%d}"] * (not closed)]  # closed: the day
        texts = [each.encode() for each in (MARK, "198.51.100.77", "127.0.0.1", json.dumps(basket), *times)]
        assert not [mark for mark in [bytes(basket), *texts] if any(mark in each for each in kept)]
    (file,) = collector.data.glob("*.parquet")
    assert file.stat().st_mtime % 86_400 == 0
    assert collector.unexpected_log() == ""


SHOP, OTHER = "https://shop.example", "https://shop.example.org"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "assocpriv-plan,content-type"}


def shared(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers of an answer on other origins."""
    return {name: value for name, value in headers.items() if name.startswith("access-control-")}


def test_only_a_named_site_may_send_reports_and_read_answers(forks: Forks, tmp_path: Path) -> None:
    """A browser gets this permission before it sends and with every answer, also a refusal; never for cookies."""
    with Collector(forks, tmp_path, "--allow-origin", "http://localhost:81", "--allow-origin", SHOP) as collector:
        status, headers, _ = collector.ask("OPTIONS", "/reports", None, {"Origin": SHOP, **PREFLIGHT})
        assert (status, headers["access-control-allow-origin"]) == (200, SHOP)
        assert {"Assocpriv-Plan", "Authorization"} <= set(headers["access-control-allow-headers"].split(", "))
        assert headers["access-control-allow-methods"] == "GET, POST"
        exposed = {"access-control-expose-headers": "Assocpriv-Plan, Retry-After"}
        for method, path, body, expected in [
            ("POST", "/reports", records([1]), 200), ("POST", "/reports", b"1", 400), ("GET", "/plan", None, 200),
            ("GET", "/nothing", None, 404),
        ]:  # fmt: skip
            for origin, allowed in [(SHOP, {"access-control-allow-origin": SHOP}), (OTHER, {})]:
                status, headers, _ = collector.ask(method, path, body, {**HEADERS, "Origin": origin})
                assert (status, shared(headers)) == (expected, exposed | allowed)
        assert collector.ask("GET", "/plan")[1]["vary"] == "Origin"  # a cache keeps an answer for each origin
        status, headers, _ = collector.ask("OPTIONS", "/reports", None, {"Origin": OTHER, **PREFLIGHT})
        assert (status, headers.get("access-control-allow-origin")) == (400, None)
        for path in ("/admin", "/admin/close"):
            for method in ("OPTIONS", "GET", "POST"):
                assert not shared(collector.ask(method, path, None, {"Origin": SHOP, **PREFLIGHT})[1])


def test_by_default_no_other_site_may(collector: Collector) -> None:
    """Without named origins OPTIONS is refused, and no answer has headers on origins."""
    assert collector.ask("OPTIONS", "/reports", None, {"Origin": SHOP, **PREFLIGHT})[0] == 405
    for path in ("/plan", "/status", "/reports"):
        assert not shared(collector.ask("GET", path, None, {"Origin": SHOP})[1])


@pytest.mark.parametrize("origin", ["*", "null", "https://Shop.example", f"{SHOP}/", "shop.example", f"{SHOP} {OTHER}"])
def test_malformed_origins_are_refused(tmp_path: Path, origin: str) -> None:
    """The message describes an origin, and no folder is made."""
    with pytest.raises(PlanError, match="is no origin; write a site as browsers do"):
        make_service(PLAN, tmp_path / "data", origins=[origin])
    assert not (tmp_path / "data").exists()


GUIDED_PLAN = guided_plan(batch=20)


def reports(guidance: guided.Guidance, n: int, seed: int) -> np.ndarray:
    """Return reports of n random people."""
    positions, classes = random_people(GUIDED_PLAN, n, np.random.default_rng(seed))
    return randomize_tuples(positions.astype(np.int32), classes, GUIDED_PLAN, guidance, entropy=SeededEntropy(seed))


def send(visitor: Visitor, packed: np.ndarray) -> None:
    """Send reports, each under a new id."""
    body = b"".join(secrets.token_bytes(16) + bytes(row) for row in packed)
    assert visitor.send(body, GUIDED_PLAN).status == 200


def begin(folder: Path) -> Path:
    """Write the first state of a miner and return its file."""
    guided.write_state(start_empty(GUIDED_PLAN, 1), folder / "state.json")
    return folder / "state.json"


def test_guidance_is_replaced_without_a_restart(tmp_path: Path) -> None:
    """None at first; then the published one, with an ETag; then its successor; never another plan's."""
    state, published = begin(tmp_path), tmp_path / "data" / "guidance.json"
    with Visitor(make_service(GUIDED_PLAN, tmp_path / "data", batch_reports=(1, 99), allow_small=True)) as visitor:
        for path in ("/guidance", "/guidance/level"):
            assert visitor.get(path).status == 404
            assert '"no-guidance"' in visitor.get(path).text
        first = guided.publish_file(state, published)[0].guidance
        answer = visitor.get("/guidance")
        assert answer.text == first.canonical_json
        check_guidance(guided.Guidance.parse(answer.text), GUIDED_PLAN, announced_level=first.level)
        assert f'"level":{first.level}' in visitor.get("/guidance/level").text
        assert visitor.get("/guidance", if_none_match=answer.headers["etag"]).status == 304
        send(visitor, reports(first, 20, 1))
        visitor.run(visitor.application.close_batches())
        guided.collect_files(tmp_path / "data", state)
        second = guided.publish_file(state, published, force=True)[0].guidance
        assert second.serial == 2
        assert visitor.get("/guidance", if_none_match=answer.headers["etag"]).text == second.canonical_json
        assert '"serial":2' in visitor.get("/status").text.replace(" ", "")
        send(visitor, reports(first, 1, 2))  # of a device that fetched the first one
        for wrong in ("{", second.canonical_json.replace(GUIDED_PLAN.plan_id, "0" * 64)):
            published.write_text(wrong)
            assert visitor.get("/guidance").status == 404
        assert '"guidance":null' in visitor.get("/status").text.replace(" ", "")


def test_a_growing_collection_is_collected_once(tmp_path: Path) -> None:
    """Each closed batch is collected once, also equal ones; open ones later; reports to unknown guidance never."""
    state, data = begin(tmp_path), tmp_path / "data"

    def collected() -> int:
        return int(guided.collect_files(data, state).tuples)

    with Visitor(make_service(GUIDED_PLAN, data, batch_reports=(1, 99), allow_small=True)) as visitor:
        guidance = guided.publish_file(state, data / "guidance.json")[0].guidance
        send(visitor, reports(guidance, 5, 1))
        assert collected() == 0  # nothing is closed
        visitor.run(visitor.application.close_batches())
        assert [collected(), collected()] == [5, 5]
        same = reports(guidance, 1, 2)
        for total in (6, 7):  # batches of one report each, the same
            send(visitor, same)
            visitor.run(visitor.application.close_batches())
            assert collected() == total
        unknown = reports(guidance, 3, 3)
        unknown[0, 0] = 9  # the serial number of guidance that was never published
        send(visitor, unknown)
        visitor.run(visitor.application.close_batches())
        assert [collected(), collected()] == [9, 9]


def test_readiness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 while reports can be stored and closed; 503 lists what fails; it becomes ready again without an upload."""

    def refuse(*_: Any) -> None:
        raise StoreFullError("full")

    monkeypatch.setattr(group_commit.time, "sleep", lambda _: None)
    with Visitor(make_service(PLAN, tmp_path / "data", batch_reports=(100, 100))) as visitor:

        def readiness() -> tuple[int, Any]:
            answer = visitor.get("/readyz")
            assert answer.json["ready"] == (answer.status == 200)
            return answer.status, answer.json["failing"]

        assert readiness() == (200, [])
        with monkeypatch.context() as patch:
            for method in ("close_pending", "status"):
                patch.setattr(SqliteStore, method, refuse)
            for start in (0, 100):
                assert visitor.send(records(range(start, start + 100))).status == 200
            while readiness() != (503, ["closing", "store"]):
                assert visitor.get("/healthz").status == 200
        while readiness() != (200, []):
            assert visitor.get("/healthz").status == 200
        monkeypatch.setattr(collector_app, "_LEAST_FREE", 1 << 62)
        assert readiness() == (503, ["disk"])
