"""Tests of the gateway: each decrypted report is stored once, other messages reveal nothing, and keys rotate."""

import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from collect.postgres_server import Server
from collect.sealed_messages import INNER, OUTER, opened, sealed, sealed_report
from naive import planned
from running_collector import PLAN, RECORD, Answer, Visitor, numbers, records, stored

import assocpriv as ap
from assocpriv.collect import group_commit, make_service
from assocpriv.collect import keys as key_files
from assocpriv.collect.keys import GATEWAY_FILE, GatewayKeys
from assocpriv.collect.slots import SlotBatch
from assocpriv.files import oblivious_http as ohttp
from assocpriv.guarantees.errors import FileError, PlanError, WireError
from assocpriv.guarantees.shuffle_model import CentralGuarantee

MARK = "CANARY-7qz3"


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """Yield a client of a gateway."""
    with Visitor(make_service(PLAN, tmp_path / "data", oblivious="only")) as visitor:
        yield visitor


def config_of(visitor: Visitor) -> ohttp.KeyConfig:
    """Return the key that the gateway publishes first."""
    answer = visitor.get(ohttp.GATEWAY_PATH)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/ohttp-keys")
    return ohttp.decode_key_configs(answer.body)[0]


def post(visitor: Visitor, content: bytes, **headers: str) -> Answer:
    """Send a message."""
    return visitor.post(ohttp.GATEWAY_PATH, content, **{**OUTER, **headers})


# ---- decrypted messages


def test_a_report_is_stored_once(visitor: Visitor, tmp_path: Path) -> None:
    """It is acknowledged and stored; the same bytes again, or the report encrypted anew, are a duplicate."""
    config = config_of(visitor)
    content, exchange = sealed_report(7, config)
    first, again = post(visitor, content), post(visitor, content)
    anew, other = sealed_report(7, config)
    third = post(visitor, anew)
    for answer, key, accepted in ((first, exchange, 1), (again, exchange, 0), (third, other, 0)):
        assert (answer.status, answer.headers["content-type"]) == (200, "message/ohttp-res")
        inside = opened(key, answer.body)
        assert (inside.status, json.loads(inside.body)) == (200, {"accepted": accepted, "duplicates": 1 - accepted})
    assert numbers(stored(tmp_path / "data")) == [7]


def test_answers_are_equally_long(visitor: Visitor) -> None:
    """Stored, stored before, refused for any reason: a relay cannot distinguish them by their lengths."""
    config = config_of(visitor)
    other_plan = [(b"assocpriv-plan", b"0" * 64), INNER[1]]
    messages = {
        "stored": sealed_report(1, config),
        "stored before": sealed_report(1, config),
        "two reports": sealed(records([2, 3]), config),
        "a part": sealed(records([2])[:-1], config),
        "other plan": sealed(records([2]), config, other_plan),
        "no plan": sealed(records([2]), config, INNER[1:]),
        "elsewhere": sealed(records([2]), config, path=b"/status"),
        "no HTTP": ohttp.seal_request(b"\7nothing", config),
        "GET": ohttp.seal_request(ohttp.BinaryRequest(b"GET", b"/reports").encode(), config),
    }
    answers = {name: (post(visitor, content), exchange) for name, (content, exchange) in messages.items()}
    statuses = {name: opened(exchange, answer.body).status for name, (answer, exchange) in answers.items()}
    assert statuses == {
        "stored": 200, "stored before": 200, "two reports": 400, "a part": 400, "other plan": 409, "no plan": 400,
        "elsewhere": 404, "no HTTP": 400, "GET": 405,
    }  # fmt: skip
    seen = {(answer.status, len(answer.body), tuple(sorted(answer.headers))) for answer, _ in answers.values()}
    assert len(seen) == 1


def test_the_plan_can_be_requested_through_the_relay(visitor: Visitor) -> None:
    """A device gets the whole plan through the relay."""
    content, exchange = ohttp.seal_request(ohttp.BinaryRequest(b"GET", b"/plan").encode(), config_of(visitor))
    inside = opened(exchange, post(visitor, content).body)
    assert (inside.status, inside.body.decode()) == (200, PLAN.canonical_json)
    assert (b"assocpriv-plan", PLAN.plan_id.encode()) in inside.headers


# ---- messages that cannot be decrypted


def test_undecryptable_messages_get_one_answer(visitor: Visitor, tmp_path: Path) -> None:
    """Cut off anywhere, changed, extended, empty or for other keys: none is stored, and all answers are equal bytes.

    Their type shows a device what to do.
    """
    config = config_of(visitor)
    good = sealed_report(5, config)[0]
    strangers = [ohttp.GatewayKey(number, bytes([7] * 32)).config for number in (config.key_id, config.key_id ^ 1)]
    contents = [good[:end] for end in range(len(good))] + [sealed_report(5, each)[0] for each in strangers]
    contents += [good[:-1] + bytes([good[-1] ^ 1]), good + b"\0", bytes(90)]
    answered = [post(visitor, content) for content in contents]
    answers = {(answer.status, tuple(answer.headers.items()), answer.body) for answer in answered}
    [(status, headers, body)] = answers
    assert (status, dict(headers)["content-type"]) == (400, "application/problem+json")
    assert json.loads(body)["type"] == ohttp.KEY_PROBLEM
    assert stored(tmp_path / "data") == []
    assert f'refused_total{{reason="ohttp-key"}} {len(contents)}.0' in visitor.get("/metrics").text


def test_other_requests_are_refused(visitor: Visitor) -> None:
    """Other methods and types, and bodies longer than a relay forwards."""
    assert post(visitor, b"x", **{"content-type": "application/octet-stream"}).json["error"] == "content-type"
    for length in ({}, {"content-length": str(ohttp.MOST_REQUEST_BYTES + 1)}):
        answer = post(visitor, bytes(ohttp.MOST_REQUEST_BYTES + 1), **length)
        assert (answer.status, answer.json["most_bytes"]) == (413, ohttp.MOST_REQUEST_BYTES)
    assert visitor.run(visitor._ask("PUT", ohttp.GATEWAY_PATH, {}, b"")).status == 405


# ---- stored data


def test_direct_reports_are_refused(tmp_path: Path) -> None:
    """With a reason; the setting ``also`` accepts both ways."""
    for oblivious, expected in (("only", (403, "direct")), ("also", (200, None))):
        with Visitor(make_service(PLAN, tmp_path / oblivious, oblivious=oblivious)) as visitor:
            answer = visitor.send(records([1]))
            assert (answer.status, answer.json.get("error")) == expected
            assert ("--relay" in answer.json.get("message", "")) == (oblivious == "only")
            content, exchange = sealed_report(2, config_of(visitor))
            assert opened(exchange, post(visitor, content).body).status == 200


def test_no_order_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are in slots; the file's time is a day, and when idle its time of change is that of the last second."""
    monkeypatch.setattr(group_commit, "_QUIET_SECONDS", 0.05)
    with Visitor(make_service(PLAN, tmp_path / "data", oblivious="only")) as visitor:
        config = config_of(visitor)
        for number in range(40):
            post(visitor, sealed_report(number, config)[0])
        (slots,) = (tmp_path / "data" / "open").iterdir()
        last = slots.stat()
        assert last.st_mtime % 86400 == 0
        while slots.stat().st_ctime_ns == last.st_ctime_ns:
            time.sleep(0.01)
    content = slots.read_bytes()
    places = [content.index(records([number])) for number in range(40)]
    assert places != sorted(places)  # in order with chance 1/40!
    assert numbers(stored(tmp_path / "data")) == list(range(40))


def test_a_repeated_report_is_answered_after_its_own_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of an answer does not show a relay that repeats a message: each writes a page, and waits for the disk.

    A repeated direct report writes nothing, since its sender knows it.
    """
    calls, sync, put = list[str](), os.fdatasync, SlotBatch._put
    monkeypatch.setattr(os, "fdatasync", lambda file: (calls.append("sync"), sync(file)))
    monkeypatch.setattr(SlotBatch, "_put", lambda *given: (calls.append("put"), put(*given)))
    with Visitor(make_service(PLAN, tmp_path / "data", oblivious="also")) as visitor:
        config, made = config_of(visitor), []
        message = sealed_report(7, config)[0]
        for send in (*[lambda: post(visitor, message)] * 3, lambda: visitor.send(records([7]))):
            calls.clear()
            assert send().status == 200
            made.append(list(calls))
    assert made == [["put", "sync"]] * 3 + [[]]
    assert numbers(stored(tmp_path / "data")) == [7]


def test_reports_of_one_commit_are_shuffled(tmp_path: Path) -> None:
    """Also direct ones: 64 records of one request keep their order with chance 1/64!."""
    with Visitor(make_service(PLAN, tmp_path / "data")) as visitor:
        visitor.send(records(range(64)))
    with closing(sqlite3.connect(tmp_path / "data" / "open" / "1.sqlite")) as database:
        [(row,)] = database.execute("SELECT records FROM uploads").fetchall()
    ids = [row[at : at + 16] for at in range(0, len(row), RECORD)]
    assert ids != sorted(ids) == [records([number])[:16] for number in range(64)]


def test_request_data_is_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither a file, the log nor a metric has outer or inner headers, other paths or an address."""
    caplog.set_level(logging.DEBUG)
    with Visitor(make_service(PLAN, tmp_path / "data", oblivious="only")) as visitor:
        config = config_of(visitor)
        marked = [*INNER, (b"x-mark", MARK.encode()), (b"user-agent", MARK.encode())]
        for path in (b"/reports", f"/{MARK}".encode()):
            content, _ = sealed(records([3]), config, marked, path)
            answer = post(visitor, content, x_forwarded_for=MARK, user_agent=MARK, cookie=MARK)
            assert answer.status == 200
            assert MARK not in str(answer.headers)
        assert MARK not in visitor.get("/metrics").text + visitor.get("/status").text + caplog.text
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not [path for path in files if MARK.encode() in path.read_bytes()]


# ---- keys


def test_keys_rotate(tmp_path: Path) -> None:
    """A new one every week, also after a restart; each decrypts messages for two weeks, and is then deleted."""
    day = [20_000]
    keys = GatewayKeys(tmp_path, lambda: day[0])
    [first] = ohttp.decode_key_configs(keys.published())
    content, _ = sealed_report(1, first)
    for day[0] in range(20_000, 20_030):
        published = ohttp.decode_key_configs(keys.published())
        assert ohttp.decode_key_configs(GatewayKeys(tmp_path, lambda: day[0]).published()) == published
        assert len(published) <= 2
        assert (published[0].key_id - first.key_id) % 256 == (day[0] - 20_000) // 7
        with nullcontext() if day[0] < 20_014 else pytest.raises(WireError):
            ohttp.open_request(content, keys.opening())
    assert first.public_key not in keys.published()
    assert (tmp_path / GATEWAY_FILE).stat().st_mode & 0o777 == 0o600


def test_a_key_of_the_future_is_removed_in_time(tmp_path: Path) -> None:
    """Made while the clock was years ahead, it is replaced a week after the clock is right, and deleted after two.

    An old one is deleted at once.
    """
    day = [30_000]
    keys = GatewayKeys(tmp_path, lambda: day[0])
    [first] = ohttp.decode_key_configs(keys.published())
    key_ids = []
    for day[0] in (20_000, 20_006, 20_007, 20_014, 40_000):
        key_ids.append([each.key_id - first.key_id & 255 for each in ohttp.decode_key_configs(keys.published())])
    assert key_ids == [[0], [0], [1, 0], [2, 1], [3]]


def test_a_full_disk_keeps_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no new one can be written, the gateway continues with the old one, and logs it."""
    day = [20_000]
    keys, logged = GatewayKeys(tmp_path, lambda: day[0]), []
    before = keys.published()

    def refuse(*_: object) -> None:
        raise FileError("the disk is full")

    monkeypatch.setattr(key_files, "write_note", refuse)
    monkeypatch.setattr(key_files._LOG, "error", lambda text, *given: logged.append(text % given))
    day[0] += 8
    assert keys.published() == before
    assert logged == ["the disk is full; the gateway continues with its present keys"]


@pytest.mark.parametrize("content", ['{"number": 1}', '{"number": 1, "private": "00", "day": 1}', "7"])
def test_damaged_keys_are_refused(tmp_path: Path, content: str) -> None:
    """The message names the remedy."""
    text = f'{{"format": "assocpriv-oblivious-keys", "version": 1, "keys": [{content}]}}'
    (tmp_path / GATEWAY_FILE).write_text(text)
    with pytest.raises(FileError, match="remove it: a new key is made"):
        GatewayKeys(tmp_path)


# ---- refused settings


def test_settings_that_identify_senders_are_refused(tmp_path: Path) -> None:
    """Keys of sources, required or in the folder, and a demonstration, whose visitors send directly."""
    with pytest.raises(PlanError, match="keys identify sources"):
        make_service(PLAN, tmp_path / "a", oblivious="only", keys=True)
    (tmp_path / "b").mkdir()
    ap.collect.add_key(tmp_path / "b", "till 7")
    with pytest.raises(PlanError, match="keys identify sources"):
        make_service(PLAN, tmp_path / "b", oblivious="also")
    with pytest.raises(PlanError, match="send directly"):
        make_service(planned(20, 3, ap.Guarantee("5%", "50%")), tmp_path / "c", oblivious="only", demo=True)
    with pytest.raises(PlanError, match="'only' or 'also'"):
        make_service(PLAN, tmp_path / "d", oblivious="yes")


def test_a_folder_that_a_relay_sends_to_gets_no_key(visitor: Visitor, tmp_path: Path) -> None:
    """And its collector requires none, even if a file of keys is copied there."""
    with pytest.raises(FileError, match=r"a key would identify their sender; .* remove its oblivious-keys\.json"):
        ap.collect.add_key(tmp_path / "data", "till 7")
    (tmp_path / "other").mkdir()
    ap.collect.add_key(tmp_path / "other", "till 7")
    (tmp_path / "other" / "keys.json").rename(tmp_path / "data" / "keys.json")
    content, exchange = sealed_report(1, config_of(visitor))
    assert opened(exchange, post(visitor, content).body).status == 200


def test_a_central_guarantee_needs_a_relay(tmp_path: Path) -> None:
    """A plan that has one is not served in another way."""
    plan = replace(PLAN, central=CentralGuarantee(Fraction(1), Fraction(1, 10**8), 100_000))
    for oblivious in (None, "also"):
        with pytest.raises(PlanError, match="serve it with oblivious='only'"):
            make_service(plan, tmp_path / "data", oblivious=oblivious)
    assert not (tmp_path / "data").exists()


def test_postgresql_is_refused(database: Server, tmp_path: Path) -> None:
    """Its log shows the order."""
    with pytest.raises(PlanError, match="PostgreSQL"):
        make_service(PLAN, tmp_path / "data", oblivious="only", store=database.url)


def test_days_are_those_of_coordinated_universal_time() -> None:
    """Keys are renewed by them."""
    before = time.time()
    assert before // 86400 <= key_files.today() <= time.time() // 86400
