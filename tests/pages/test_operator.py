"""Tests of the operator's page: who may see it, what it says, what its buttons do, and that names harm nothing."""

import asyncio
import base64
import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from naive import planned
from running_collector import Visitor
from shown import HOSTILE, PLAN, TOKEN, Collection, Commands, basic, check

import assocpriv as ap
from assocpriv import guided as guidance
from assocpriv.collect.metrics import Rate
from assocpriv.pages import operator
from assocpriv.pages.operator import (
    TOKEN_FILE,
    Analyst,
    Answer,
    Guard,
    Question,
    Results,
    Wishes,
    _arrived,
    _crafted,
    _guidance,
    _rendered,
    _sharpness,
    _when,
    is_from_elsewhere,
    read_or_make_token,
    run_command,
)
from assocpriv.promise.errors import AssocprivError, FileError
from assocpriv.show.record import Record, Say, Section

OWN = {"sec_fetch_site": "same-origin"}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Put commands that say something harmless in place of the real ones."""
    fake = Commands(["milk", "bread"])
    monkeypatch.setattr(operator, "run_command", fake)
    return fake


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """Return a collection of baskets."""
    return Collection(tmp_path)


def logged_in(collection: Collection) -> Visitor:
    """Return the operator's browser."""
    return Visitor(collection.page(), authorization=basic())


# ---- who may see it


def test_nobody_sees_anything_without_the_token(collection: Collection, commands: Commands) -> None:
    """Every address asks for it, with every method, and no button does anything."""
    (collection.folder / "0123456789abcdef.parquet").write_bytes(b"secret")
    page = collection.page()
    for header in ({}, {"authorization": basic("wrong")}, {"authorization": "Bearer wrong"}):
        with Visitor(page, **header) as visitor:
            for path in ("", "/", "/style.css", "/files/0123456789abcdef.parquet"):
                answer = visitor.get(f"/admin{path}")
                assert answer.status in (401, 429), path
                assert answer.headers["www-authenticate"].startswith("Basic realm=")
                assert "admin-token" in answer.text or answer.status == 429
                assert b"secret" not in answer.body
            for action in ("seal", "guide"):
                assert visitor.post(f"/admin/{action}", **OWN).status in (401, 429)
    assert (collection.sealed, commands.ran) == (0, [])


def test_every_answer_forbids_what_a_page_does_not_need(collection: Collection, commands: Commands) -> None:
    """Scripts, frames, caches, other hosts, also where there is no such page; no cookie is set."""
    with logged_in(collection) as visitor:
        paths = ("/admin", "/admin/", "/admin/style.css", "/admin/none")
        answers = [visitor.get(path) for path in paths]
        answers += [visitor.post("/admin/seal", **headers) for headers in (OWN, {})]
        answers.append(visitor.get("/admin", authorization=""))
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "script" not in policy
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert "set-cookie" not in answer.headers
            assert not re.search(rb"https?:|src=|//|@import|url\(", answer.body)


def test_pages_of_other_sites_are_not_answered(collection: Collection, commands: Commands) -> None:
    """Though the browser sends the password along; a button works for this page alone, or for a program's bearer."""
    with logged_in(collection) as visitor:
        for site in ("cross-site", "same-site"):
            for ask, path in ((visitor.get, "/admin"), (visitor.post, "/admin/seal")):
                answer = ask(path, sec_fetch_site=site)
                assert answer.status == 403
                assert "5,000" not in answer.text
        for headers in ({}, {"host": "localhost:1", "origin": "http://b:1"}, {"host": "localhost:1", "origin": "null"}):
            assert visitor.post("/admin/seal", **headers).status == 403
        assert visitor.get("/admin/seal").status == 405
        assert collection.sealed == 0
        for headers in (OWN, {"host": "localhost:1", "origin": "http://localhost:1"}):
            assert visitor.post("/admin/seal", **headers).status == 303
            assert ["1 epoch sealed." in visitor.get("/admin").text for _ in range(2)] == [True, False]
        answer = visitor.post("/admin/seal", authorization=f"Bearer {TOKEN}")
        assert answer.text == '{"done":true,"message":"1 epoch sealed."}'
    assert collection.sealed == 3


def test_metrics_are_told_of_crafted_reports_and_failed_logins(
    collection: Collection, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests run once, at the first question, and are not asked anew for an hour though reports came."""

    def flagged(arguments: list[str]) -> dict[str, Any]:
        return {"crafted": {"flagged": True, "false_alarm": 0.001, "tests": []}}

    monkeypatch.setattr(commands, "inspect", flagged)
    with logged_in(collection) as visitor:
        page = visitor.application
        assert visitor.get("/admin", authorization="Basic eDp5").status == 401
        assert page.failed_logins == 1

        async def asked(reports: int) -> tuple[bool, int]:
            while page.crafted(reports) == (False, 0) and reports:
                await asyncio.sleep(0.01)
            return page.crafted(reports)

        assert visitor.run(asked(0)) == (False, 0)
        assert visitor.run(asked(3000)) == (True, 3000)
        assert visitor.run(asked(4000)) == (True, 3000)
    assert commands.ran == [["inspect", str(collection.folder), "--check-crafted", "--json"]]


def test_another_name_than_the_machines_is_not_answered(collection: Collection, commands: Commands) -> None:
    """A page of the name a.example cannot become this one by a name server that then says 127.0.0.1."""
    with logged_in(collection) as visitor:
        for host in ("a.example", "a.example:8350", "127.0.0.1.a.example", "localhost.a.example:1", "a@[::1]", "["):
            assert visitor.get("/admin", host=host).status == 421, host
        for host in ("127.0.0.1:8350", "[::1]:8350", "192.168.7.9", "LOCALHOST", socket.gethostname()):
            assert visitor.get("/admin", host=host).status == 200, host
        assert visitor.get("/admin", host="a.example", authorization=f"Bearer {TOKEN}").status == 200  # a program


@pytest.mark.parametrize(
    ("method", "headers", "elsewhere"),
    [
        ("GET", {}, False),
        ("GET", {"sec-fetch-site": "none"}, False),  # a typed address, a bookmark
        ("POST", {"sec-fetch-site": "none"}, True),
        ("POST", {"origin": "http://a:1", "host": "a:1"}, False),  # plain HTTP to another machine
        ("POST", {"origin": "https://a:1", "host": "a:1"}, False),  # behind a proxy
        ("POST", {"origin": "http://evil-a:1", "host": "a:1"}, True),
        ("POST", {"origin": "http://a:12", "host": "a:1"}, True),
        ("POST", {"origin": "http://a:1"}, True),
        ("POST", {"origin": "", "host": ""}, True),
    ],
)
def test_where_a_request_comes_from(method: str, headers: dict[str, str], elsewhere: bool) -> None:
    """What browsers say of it decides; of a button that says nothing it is not believed to be the page's."""
    assert is_from_elsewhere(method, headers) is elsewhere


def test_failed_logins_are_limited_for_all_together() -> None:
    """After five failures one more may fail every ten seconds; the right token is let in all the while."""
    clock = [0.0]
    guard = Guard("right", lambda: clock[0])
    assert [guard.judge("right") for _ in range(20)] == [200] * 20
    assert [guard.judge("") for _ in range(20)] == [401] * 20  # nothing is offered so far
    assert [guard.judge(wrong) for wrong in ("wrong", "right ", "Right", "é\udcff", "x")] == [401] * 5
    for now, status in ((0.0, 429), (9.9, 429), (10.0, 401), (10.0, 429), (20.0, 401)):
        clock[0] = now
        assert guard.judge("right") == 200
        assert guard.judge("wrong") == status


def test_too_many_failures_are_told(collection: Collection, commands: Commands) -> None:
    """To a browser in a line, to a program as JSON, each with when to try again; the operator goes on."""
    with logged_in(collection) as visitor:
        statuses = [visitor.get("/admin", authorization=basic("wrong")).status for _ in range(6)]
        assert statuses == [401] * 5 + [429]
        answer = visitor.post("/admin/seal", authorization="Bearer wrong")
        assert (answer.status, answer.json["error"], answer.headers["retry-after"]) == (429, "busy", "10")
        assert visitor.get("/admin").status == 200


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    """It has 256 bits and mode 0600 and stays; one that others read or that is cut off is refused, and not shown."""
    token = read_or_make_token(tmp_path)
    assert len(base64.urlsafe_b64decode(f"{token}=")) == 32
    assert (tmp_path / TOKEN_FILE).stat().st_mode & 0o777 == 0o600
    assert read_or_make_token(tmp_path) == token
    assert [path.name for path in tmp_path.iterdir()] == [TOKEN_FILE]
    path = tmp_path / TOKEN_FILE
    path.chmod(0o640)
    with pytest.raises(FileError, match="others than its owner may read") as refused:
        read_or_make_token(tmp_path)
    assert token not in str(refused.value)
    path.chmod(0o600)
    path.write_text(token[:20])
    with pytest.raises(FileError, match="no whole token"):
        read_or_make_token(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match="cannot use the operator's token"):
        read_or_make_token(tmp_path)


# ---- what it says


def test_the_page_leads_with_the_answer(collection: Collection, commands: Commands) -> None:
    """What is found and how sharp that is; then itemsets and rules, the promise, and crafted reports."""
    with logged_in(collection) as visitor:
        first = visitor.get("/admin").text
        assert "being computed" in first
        assert 'http-equiv="refresh"' in first
        assert "stays less than 50% sure" in first
        text = visitor.get_computed("/admin").text
        assert 'http-equiv="refresh"' not in text
        found = text.index("3,000 reports show 40 itemsets of a support of 1.963% or more, the least")
        assert text.index("<h1>5,000 reports</h1>") < found < text.index("<h2")
        assert text.index("How sharp is it?") < text.index("fake reports?") < text.index("What did we learn?")
        assert "stays less than 50% sure" in text
        assert "<bdi>milk</bdi>" in text
        assert "20 rules of a confidence of 50% or more" in text
        for drawn in ("Supports by itemset size", "Rules by support", "Rules as arrows"):
            assert f'aria-label="{drawn}' in text
        assert "style=" not in text  # the page's policy would forbid it
        assert "Nothing speaks against these reports" in text
        wanted = visitor.get_computed("/admin?support=0.1%25&confidence=60%25").text
        assert "Not sharp enough yet to tell every itemset of a support of 0.1% or more. When: not known yet." in wanted
        assert '<td class="number">14,488,808<td>not known yet' in wanted
        assert "rules of a confidence of 60% or more" in wanted
        assert "Sharp enough: every" in visitor.get("/admin?support=50%25").text
        collection.reports = 0
        assert "None has come so far" in visitor.get("/admin?support=2%25").text
    assert [words[0] for words in commands.ran][:4] == ["mine", "inspect"] * 2


def test_hostile_names_harm_nothing(collection: Collection, commands: Commands) -> None:
    """Markup stays text, directions end where the name does, long names are cut, and the page stays small."""
    commands.names = HOSTILE
    with logged_in(collection) as visitor:
        answer = visitor.get_computed("/admin")
        assert len(answer.body) < 66_000
        assert "&lt;script&gt;" in answer.text
        assert "(10,000 letters)" in answer.text
        assert "<bdi>\u202egnp.exe\u2066</bdi>" in answer.text
        assert not re.search(r"<(script|img)|</html>.", answer.text, flags=re.DOTALL)
        assert "<bdi>{{ 7 * 7 }}</bdi>" in answer.text


def test_what_is_typed_wrongly_is_said(collection: Collection, commands: Commands) -> None:
    """In one sentence and harmlessly; no command sees it."""
    with logged_in(collection) as visitor:
        for wrong in ("<script>", "0", "200%", "--output=x", "nan", "{made}"):
            answer = visitor.get(f"/admin?support={wrong.replace('%', '%25')}")
            assert re.search(r'<p class="notice" role="status">Minimum support must', answer.text)
            assert "<script" not in answer.text
            visitor.get_computed("/admin")
            assert not [words for words in commands.ran if wrong in words]


def test_files_of_the_collection_alone_are_handed_out(collection: Collection, commands: Commands) -> None:
    """A sealed file by its name; nothing else of the folder, and nothing outside it."""
    (collection.folder / "0123456789abcdef.parquet").write_bytes(b"sealed")
    (collection.folder / ".hidden.parquet").write_bytes(b"part")
    with logged_in(collection) as visitor:
        assert '<a href="/admin/files/0123456789abcdef.parquet" download' in visitor.get("/admin").text
        answer = visitor.get("/admin/files/0123456789abcdef.parquet")
        assert answer.body == b"sealed"
        assert answer.headers["content-disposition"] == 'attachment; filename="0123456789abcdef.parquet"'
        for name in ("plan.json", "admin-token", ".hidden.parquet", "../plan.json", "..%2Fplan.json", "x.parquet"):
            assert visitor.get(f"/admin/files/{name}").status == 404


def test_days_are_compared(collection: Collection, commands: Commands) -> None:
    """Once files of two days are sealed, what changed stands on the page; a failure is told; before, nothing is."""
    commands.names = HOSTILE[:1]
    for place, day in enumerate((86_400, 86_400, 2 * 86_400)):
        path = collection.folder / f"{place}.parquet"
        path.write_bytes(b"sealed")
        os.utime(path, (day, day))
        with logged_in(collection) as visitor:
            text = visitor.get_computed("/admin").text
        assert ("Did it change" in text) == (place == 2)
    assert ["compare", str(collection.folder), "--certain", "95%", "--json"] in commands.ran
    assert "gave away" in text
    assert ">Monday" in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    commands.failing = "compare"
    with logged_in(collection) as visitor:
        assert "No &lt;b&gt;reports&lt;/b&gt; to read." in visitor.get_computed("/admin").text


def test_guided_collections_have_pages(tmp_path: Path, commands: Commands) -> None:
    """Their guidance, and the button that seals, collects and publishes; what fails is told."""
    attributes = [guidance.category("a", ["x", "y"])]
    guided = Collection(tmp_path, guidance.plan_guided(attributes, guidance.class_label("c", ["n", "y"])))
    with logged_in(guided) as visitor:
        assert "No guidance is published so far" in visitor.get("/admin").text
        visitor.post("/admin/guide", **OWN)
        assert "Guidance 4, of level 2, published." in visitor.get("/admin").text
        guided.too_few = True
        bearer = {"authorization": f"Bearer {TOKEN}"}
        answer = visitor.post("/admin/seal", **bearer)
        assert answer.status == 409
        assert "412 reports wait to be sealed, and 1,000" in answer.json["message"]
        assert visitor.post("/admin/guide", **bearer).json["done"]  # what is sealed goes on
        guided.too_few = False
        assert [words[1] for words in commands.ran] == ["collect", "publish"] * 2
        commands.failing = "guide"
        answer = visitor.post("/admin/guide", authorization=f"Bearer {TOKEN}")
        assert (answer.status, answer.json["done"]) == (409, False)
    assert guided.sealed == 2


def test_a_failing_step_is_told(collection: Collection, commands: Commands) -> None:
    """What a command says stands on the page, escaped, and what can be shown is."""
    for failing, shown in (("mine", "Nothing speaks against"), ("inspect", "What did we learn?")):
        commands.failing = failing
        with logged_in(collection) as visitor:
            text = visitor.get_computed("/admin").text
            assert '<p class="wrong">No &lt;b&gt;reports&lt;/b&gt; to read.' in text
            assert shown in text
            assert "stays less than 50% sure" in text


def test_records_of_the_page_say_the_same_three_ways(tmp_path: Path) -> None:
    """Text, JSON and HTML: how sharp it is, crafted reports, guidance, the promise."""
    counts = {"reports": 5000, "sealed": 0, "guidance": {"serial": 4, "level": 2}}
    assert "Not sharp enough" in check(_sharpness(PLAN, counts, 3.0, Wishes("0.1%")))
    assert "Sharp enough" in check(_sharpness(PLAN, counts, None, Wishes("50%")))
    assert "searching all  one itemset chosen beforehand" in check(_sharpness(PLAN, counts, None, Wishes()))
    tests = [{"name": "shares", "seen": "0.5% of them", "p_value": 0.0, "flagged": True}]
    said = json.dumps({"crafted": {"flagged": True, "false_alarm": 0.001, "tests": tests}}).encode()
    alarm = _crafted(Results(tmp_path, {"inspect": said}, {}))
    assert "hardly honest" in check(alarm.parts[0])
    shown = _rendered(Record({}, [Say("found"), Section("itemsets", ["many"])]), alarm)
    assert "hardly honest" in shown.before.partition("Found")[0]
    assert "hardly honest" not in shown.sections
    assert "guidance 4, of level 2" in check(_guidance(PLAN, counts, None, Wishes()))
    assert (
        check(Record({}, _arrived(counts, (0.5, 7300.0)))) == "Reports come at 30 a minute, measured for about 2 hours."
    )


# ---- what runs beside the collection


class SlowCommands:
    """Stands in for commands: notes them, and how many ran at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran, self.now, self.most = list[tuple[str, ...]](), 0, 0
        monkeypatch.setattr(operator, "run_command", self)

    async def __call__(self, arguments: list[str], seconds: float) -> bytes:
        """Take a moment; a command named ``fails`` fails."""
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.ran.append(tuple(arguments))
        self.now -= 1
        if arguments[0] == "fails":
            raise AssocprivError("it failed")
        return arguments[-1].encode()


def question(*commands: str, wishes: Any = None) -> Question:
    """Return a question of commands, each with a folder as its argument, that keeps what they said."""
    steps = tuple((command, "{made}/x") for command in commands)
    return Question(steps, lambda results: (dict(results.said), dict(results.errors), results.made), wishes)


async def answered(analyst: Analyst, asked: Question, reports: int) -> tuple[Answer, bool]:
    """Return the answer of so many reports once it is there."""
    for _ in range(6000):
        answer, working = analyst.ask(asked, reports)
        if answer is not None and answer.reports == reports:
            return answer, working
        await asyncio.sleep(0.01)
    raise AssertionError("there was no answer within a minute")


def test_an_answer_is_kept_while_no_report_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same number of reports asks nothing, a new one does once the answer is old enough; one runs at a time."""
    commands, clock = SlowCommands(monkeypatch), [0.0]

    async def try_all() -> None:
        analyst = Analyst(clock=lambda: clock[0])
        first, second = question("one", "fails", "two"), question("three")
        assert analyst.ask(first, 5) == (None, True)
        assert analyst.ask(second, 5) == (None, True)
        answer, working = await answered(analyst, first, 5)
        assert await answered(analyst, second, 5)
        said, errors, made = answer.shown
        assert said == {"one": f"{made}/x".encode(), "two": f"{made}/x".encode()}
        assert (errors, working, made.exists()) == ({"fails": "it failed"}, False, False)
        assert analyst.ask(question("one", "fails", "two"), 6) == (answer, False)  # the same question
        assert analyst.ask(question("one", "fails", "two", wishes=Wishes("2%")), 5) == (None, True)
        clock[0] = 20.0
        assert analyst.ask(first, 5) == (answer, False)
        assert analyst.ask(first, 6) == (answer, True)
        newer, _ = await answered(analyst, first, 6)
        assert newer.reports == 6
        await analyst.close()

    asyncio.run(try_all())
    assert [words[0] for words in commands.ran] == ["one", "fails", "two", "three", *["one", "fails", "two"] * 2]
    assert commands.most == 1


def test_what_cannot_be_computed_is_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where no process begins there is an answer that says so, and the page goes on."""

    async def no_process(*_: Any) -> None:
        raise OSError(12, "no memory")

    async def try_it() -> None:
        analyst = Analyst()
        answer, working = await answered(analyst, question("one"), 5)
        assert (answer.shown[1], working) == ({"one": "cannot be computed: no memory"}, False)

    monkeypatch.setattr(operator, "run_command", no_process)
    asyncio.run(try_it())


def test_commands_are_the_package_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they print comes back, an error as its one line; no module of the current folder is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers.py").write_text("raise SystemExit('this is not the standard library')")

    async def run_all() -> list[Any]:
        plan, missing = tmp_path / "p.json", ["inspect", str(tmp_path / "none.json")]
        plan.write_text(planned(items=9, transaction_size=2, promise=ap.Breach("5%", "50%")).canonical_json)
        done = run_command(["inspect", str(plan), "--json"], 600), run_command(missing, 600), run_command(missing, 0.01)
        return await asyncio.gather(*done, return_exceptions=True)

    said, error, late = asyncio.run(run_all())
    assert json.loads(said)["items"] == 9
    assert str(error) == f"there is no file {tmp_path / 'none.json'}"
    assert str(late).startswith("took more than 0 seconds and was ended")


def test_a_rate_is_that_of_the_last_day() -> None:
    """None is told in the first half minute; what came more than a day ago no longer counts."""
    clock = [0.0]
    rate = Rate(100, lambda: clock[0])
    assert rate.per_second(130) is None
    clock[0] = 60.0
    assert rate.per_second(160) == (1.0, 60.0)
    clock[0] = 86_400.0 + 60
    assert rate.per_second(160) == (0.0, 86_400.0)


@pytest.mark.parametrize(
    ("needed", "per_second", "said"),
    [
        (None, 1.0, "never under this plan"), (100, None, "now"), (101, None, "not known yet"),
        (101, 0.0, "no reports come"), (7300, 1.0, "in about 2 hours"),
    ],
)  # fmt: skip
def test_when_a_support_can_be_told(needed: int | None, per_second: float | None, said: str) -> None:
    """From how many reports there are, 100 here, and how fast they come."""
    assert _when(needed, 100, per_second) == said
