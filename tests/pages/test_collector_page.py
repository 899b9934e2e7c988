"""Tests of the operator's page: access, results, buttons, and hostile names."""

import asyncio
import base64
import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from naive import guided_plan, planned
from running_collector import Visitor
from shown import HOSTILE, PLAN, TOKEN, Collection, Commands, basic, check

import assocpriv as ap
from assocpriv.collect.metrics import Rate
from assocpriv.guarantees.errors import AssocprivError, FileError
from assocpriv.pages import collector_page as pages
from assocpriv.show.result_record import Record, Say, Section

OWN = {"sec_fetch_site": "same-origin"}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Replace the real commands by stubs with harmless output."""
    fake = Commands(["milk", "bread"])
    monkeypatch.setattr(pages, "run_command", fake)
    return fake


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """Return a collection of baskets."""
    return Collection(tmp_path)


def logged_in(collection: Collection) -> Visitor:
    """Return the operator's browser."""
    return Visitor(collection.page(), authorization=basic())


# ---- access


def test_every_page_needs_the_token(collection: Collection, commands: Commands) -> None:
    """Every address and method needs it, and no button works without it."""
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
            for action in ("close", "guide"):
                assert visitor.post(f"/admin/{action}", **OWN).status in (401, 429)
    assert (collection.closed, commands.ran) == (0, [])


FORBIDDING = {
    "cache-control": "no-store", "referrer-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
}  # fmt: skip


def test_every_response_forbids_unneeded_access(collection: Collection, commands: Commands) -> None:
    """Scripts, frames, caches and other hosts are forbidden, for missing pages too; no cookie is set."""
    with logged_in(collection) as visitor:
        paths = ("/admin", "/admin/", "/admin/style.css", "/admin/none")
        answers = [visitor.get(path) for path in paths]
        answers += [visitor.post("/admin/close", **headers) for headers in (OWN, {})]
        answers.append(visitor.get("/admin", authorization=""))
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "script" not in policy
            assert FORBIDDING.items() <= answer.headers.items()
            assert "set-cookie" not in answer.headers
            assert not re.search(rb"https?:|src=|//|@import|url\(", answer.body)


def test_requests_of_other_sites_are_refused(collection: Collection, commands: Commands) -> None:
    """The browser sends the password with them too; a button works only for this page or for a bearer token."""
    with logged_in(collection) as visitor:
        for site in ("cross-site", "same-site"):
            for ask, path in ((visitor.get, "/admin"), (visitor.post, "/admin/close")):
                answer = ask(path, sec_fetch_site=site)
                assert answer.status == 403
                assert "5,000" not in answer.text
        others = ("", "null", "http://b:1", "http://evil-localhost:1", "http://localhost:12")
        here = [{"host": "localhost:1", "origin": f"{scheme}://localhost:1"} for scheme in ("http", "https")]
        for headers in (
            {}, {"sec_fetch_site": "none"}, {"origin": "http://localhost:1"},
            *({"host": "localhost:1", "origin": origin} for origin in others),
        ):  # fmt: skip
            assert visitor.post("/admin/close", **headers).status == 403
        assert visitor.get("/admin", sec_fetch_site="none").status == 200  # a typed address, a bookmark
        assert visitor.get("/admin/close").status == 405
        assert collection.closed == 0
        for headers in (OWN, *here):  # https: behind a proxy
            assert visitor.post("/admin/close", **headers).status == 303
            assert ["1 batch closed." in visitor.get("/admin").text for _ in range(2)] == [True, False]
        answer = visitor.post("/admin/close", authorization=f"Bearer {TOKEN}")
        assert answer.text == '{"done":true,"message":"1 batch closed."}'
    assert collection.closed == 4


def test_metrics_have_manipulation_checks_and_failed_logins(
    collection: Collection, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manipulation tests run at the first request, and not again within an hour, even with new reports."""
    output = {"manipulation": {"flagged": True, "false_alarm": 0.001, "tests": []}}
    monkeypatch.setattr(commands, "inspect", lambda _: output)
    with logged_in(collection) as visitor:
        page = visitor.application
        assert visitor.get("/admin", authorization="Basic eDp5").status == 401
        assert page.failed_logins == 1

        async def tested(reports: int) -> tuple[bool, int]:
            while page.check_manipulation(reports) == (False, 0) and reports:
                await asyncio.sleep(0.01)
            return page.check_manipulation(reports)

        assert visitor.run(tested(0)) == (False, 0)
        assert visitor.run(tested(3000)) == (True, 3000)
        assert visitor.run(tested(4000)) == (True, 3000)
    assert commands.ran == [["inspect", str(collection.folder), "--check-manipulation", "--json"]]


def test_another_host_name_is_refused(collection: Collection, commands: Commands) -> None:
    """A name server cannot give a.example this machine's address, so that a page of a.example reads this one."""
    with logged_in(collection) as visitor:
        for host in ("a.example", "a.example:8350", "127.0.0.1.a.example", "localhost.a.example:1", "a@[::1]", "["):
            assert visitor.get("/admin", host=host).status == 421, host
        for host in ("127.0.0.1:8350", "[::1]:8350", "192.168.7.9", "LOCALHOST", socket.gethostname()):
            assert visitor.get("/admin", host=host).status == 200, host
        assert visitor.get("/admin", host="a.example", authorization=f"Bearer {TOKEN}").status == 200  # a program


def test_failed_logins_are_limited_for_all_together() -> None:
    """After five failures one more may fail every ten seconds; the right token is always accepted."""
    clock = [0.0]
    guard = pages.LoginGuard("right", lambda: clock[0])
    assert [guard.check("right") for _ in range(20)] == [200] * 20
    assert [guard.check("") for _ in range(20)] == [401] * 20  # without a token
    assert [guard.check(wrong) for wrong in ("wrong", "right ", "Right", "é\udcff", "x")] == [401] * 5
    for now, status in ((0.0, 429), (9.9, 429), (10.0, 401), (10.0, 429), (20.0, 401)):
        clock[0] = now
        assert guard.check("right") == 200
        assert guard.check("wrong") == status


def test_too_many_failures_give_429(collection: Collection, commands: Commands) -> None:
    """A browser gets a line, a program JSON, both with the time to wait; the operator still has access."""
    with logged_in(collection) as visitor:
        statuses = [visitor.get("/admin", authorization=basic("wrong")).status for _ in range(6)]
        assert statuses == [401] * 5 + [429]
        answer = visitor.post("/admin/close", authorization="Bearer wrong")
        assert (answer.status, answer.json["error"], answer.headers["retry-after"]) == (429, "busy", "10")
        assert visitor.get("/admin").status == 200


def test_a_token_is_made_once_and_is_private(tmp_path: Path) -> None:
    """It has 256 bits and mode 0600, and is kept; a readable or truncated one is refused and not shown."""
    token = pages.read_or_make_token(tmp_path)
    assert len(base64.urlsafe_b64decode(f"{token}=")) == 32
    assert (tmp_path / pages.TOKEN_FILE).stat().st_mode & 0o777 == 0o600
    assert pages.read_or_make_token(tmp_path) == token
    assert [path.name for path in tmp_path.iterdir()] == [pages.TOKEN_FILE]
    (path := tmp_path / pages.TOKEN_FILE).chmod(0o640)
    with pytest.raises(FileError, match="other users may read") as refused:
        pages.read_or_make_token(tmp_path)
    assert token not in str(refused.value)
    path.chmod(0o600)
    path.write_text(token[:20])
    with pytest.raises(FileError, match="no complete token"):
        pages.read_or_make_token(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match="cannot use the operator's token"):
        pages.read_or_make_token(tmp_path)


# ---- results


def test_the_page_shows_results_first(collection: Collection, commands: Commands) -> None:
    """Results and detectable supports; then manipulation tests, itemsets, rules and the guarantee."""
    with logged_in(collection) as visitor:
        first = visitor.get("/admin").text
        assert "being computed" in first
        assert 'http-equiv="refresh"' in first
        assert "gives it a probability of less than 50%" in first
        text = visitor.get_computed("/admin").text
        assert 'http-equiv="refresh"' not in text
        found = text.index("3,000 reports: 41 itemsets selected with a support of at least 1.96%, the automatic")
        assert text.index("<h1>5,000 reports</h1>") < found < text.index("<h2")
        assert text.index("Detectable supports") < text.index("Tests for manip") < text.index("What did we learn?")
        assert "gives it a probability of less than 50%" in text
        assert "<bdi>milk</bdi>" in text
        assert "20 rules selected with a confidence of at least 50%" in text
        for drawn in ("Supports by itemset size", "Rules by support", "Rules as arrows"):
            assert f'aria-label="{drawn}' in text
        assert "style=" not in text  # the page's policy would forbid it
        assert "No test flags these reports as manipulated" in text
        wanted = visitor.get_computed("/admin?support=0.1%25&confidence=60%25").text
        wait = "Too few reports yet to detect every itemset of a support of 0.1% or more. When: not yet known."
        assert wait in wanted
        assert '<td class="number">14,488,808' in wanted
        assert "rules selected with a confidence of at least 60%" in wanted
        assert "Enough reports: every" in visitor.get("/admin?support=50%25").text
        collection.reports = 0
        assert "No report has arrived yet" in visitor.get("/admin?support=2%25").text
    assert [words[0] for words in commands.ran][:4] == ["mine", "inspect"] * 2


def test_hostile_names_harm_nothing(collection: Collection, commands: Commands) -> None:
    """Markup stays text, directions end where the name does, long names are cut, and the page stays small."""
    commands.names = HOSTILE
    with logged_in(collection) as visitor:
        answer = visitor.get_computed("/admin")
        assert len(answer.body) < 72_000
        assert "&lt;script&gt;" in answer.text
        assert "(10,000 letters)" in answer.text
        assert "<bdi>\u202egnp.exe\u2066</bdi>" in answer.text
        assert not re.search(r"<(script|img)|</html>.", answer.text, flags=re.DOTALL)
        assert "<bdi>{{ 7 * 7 }}</bdi>" in answer.text


def test_invalid_options_give_a_message(collection: Collection, commands: Commands) -> None:
    """The message is one harmless sentence; no command gets the option."""
    with logged_in(collection) as visitor:
        for wrong in ("<script>", "0", "200%", "--output=x", "nan", "{made}"):
            answer = visitor.get(f"/admin?support={wrong.replace('%', '%25')}")
            assert re.search(r'<p class="notice" role="status">Minimum support must', answer.text)
            assert "<script" not in answer.text
            visitor.get_computed("/admin")
            assert not [words for words in commands.ran if wrong in words]


def test_only_closed_report_files_are_served(collection: Collection, commands: Commands) -> None:
    """A closed file is served by its name; nothing else in the folder or outside is."""
    (collection.folder / "0123456789abcdef.parquet").write_bytes(b"closed")
    (collection.folder / ".hidden.parquet").write_bytes(b"part")
    with logged_in(collection) as visitor:
        assert '<a href="/admin/files/0123456789abcdef.parquet" download' in visitor.get("/admin").text
        answer = visitor.get("/admin/files/0123456789abcdef.parquet")
        assert answer.body == b"closed"
        assert answer.headers["content-disposition"] == 'attachment; filename="0123456789abcdef.parquet"'
        for name in ("plan.json", "admin-token", ".hidden.parquet", "../plan.json", "..%2Fplan.json", "x.parquet"):
            assert visitor.get(f"/admin/files/{name}").status == 404


def test_days_are_compared(collection: Collection, commands: Commands) -> None:
    """Once files of two days are closed, the page shows changes or an error; before, it shows neither."""
    commands.names = HOSTILE[:1]
    for place, day in enumerate((86_400, 86_400, 2 * 86_400)):
        path = collection.folder / f"{place}.parquet"
        path.write_bytes(b"closed")
        os.utime(path, (day, day))
        with logged_in(collection) as visitor:
            text = visitor.get_computed("/admin").text
        assert ("Did it change" in text) == (place == 2)
    assert ["compare", str(collection.folder), "--fdr", "5%", "--json"] in commands.ran
    assert "A person on all sides has spent" in text
    assert ">Monday" in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    commands.failing = "compare"
    with logged_in(collection) as visitor:
        assert "No &lt;b&gt;reports&lt;/b&gt; to read." in visitor.get_computed("/admin").text


def test_guided_collections_have_pages(tmp_path: Path, commands: Commands) -> None:
    """Their guidance, the button that closes, collects and publishes, and its errors."""
    guided = Collection(tmp_path, guided_plan())
    with logged_in(guided) as visitor:
        assert "No guidance is published yet" in visitor.get("/admin").text
        visitor.post("/admin/guide", **OWN)
        assert "Guidance 4, of level 2, published." in visitor.get("/admin").text
        guided.too_few = True
        bearer = {"authorization": f"Bearer {TOKEN}"}
        answer = visitor.post("/admin/close", **bearer)
        assert answer.status == 409
        assert "the open batch has 412 reports, below the minimum of 1,000" in answer.json["message"]
        assert visitor.post("/admin/guide", **bearer).json["done"]  # with closed batches
        guided.too_few = False
        assert [words[1] for words in commands.ran] == ["collect", "publish"] * 2
        commands.failing = "guide"
        answer = visitor.post("/admin/guide", authorization=f"Bearer {TOKEN}")
        assert (answer.status, answer.json["done"]) == (409, False)
    assert guided.closed == 2


def test_a_failing_command_is_shown(collection: Collection, commands: Commands) -> None:
    """The page shows its error, escaped, and the other results."""
    for failing, shown in (("mine", "No test flags these reports"), ("inspect", "What did we learn?")):
        commands.failing = failing
        with logged_in(collection) as visitor:
            text = visitor.get_computed("/admin").text
            wrong = '<p class="wrong">No &lt;b&gt;reports&lt;/b&gt; to read.'
            assert all(each in text for each in (wrong, shown, "gives it a probability of less than 50%"))


def test_records_of_the_page_agree_in_three_forms(tmp_path: Path) -> None:
    """Text, JSON and HTML of detectable supports, manipulation tests, guidance and the guarantee."""
    counts = {"reports": 5000, "closed": 0, "guidance": {"serial": 4, "level": 2}}
    assert "Too few reports yet" in check(pages._detectability(PLAN, counts, 3.0, pages.PageOptions("0.1%")))
    assert "Enough reports" in check(pages._detectability(PLAN, counts, None, pages.PageOptions("50%")))
    now = check(pages._detectability(PLAN, counts, None, pages.PageOptions()))
    assert "detectable support  detection threshold" in now
    tests = [{"name": "shares", "result": "0.5% of them", "p_value": 0.0, "flagged": True}]
    output = json.dumps({"manipulation": {"flagged": True, "false_alarm": 0.001, "tests": tests}}).encode()
    alarm = pages._manipulation(pages.CommandResults(tmp_path, {"inspect": output}, {}))
    assert "were probably not made" in check(alarm.parts[0])
    shown = pages._rendered(Record({}, [Say("found"), Section("itemsets", ["many"])]), alarm)
    assert "were probably not made" in shown.before.partition("RenderedPage")[0]
    assert "were probably not made" not in shown.sections
    assert "guidance 4, of level 2" in check(pages._guidance(PLAN, counts, None, pages.PageOptions()))
    arrival = check(Record({}, pages._arrival(counts, (0.5, 7300.0))))
    assert arrival == "Reports arrive at 30 a minute, measured for about 2 hours."


# ---- commands next to the collection


class SlowCommands:
    """A stub of commands: records them, and the maximum number that ran at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran, self.now, self.maximum = list[tuple[str, ...]](), 0, 0
        monkeypatch.setattr(pages, "run_command", self)

    async def __call__(self, arguments: list[str], seconds: float) -> bytes:
        """Sleep briefly; a command named ``fails`` fails."""
        self.now += 1
        self.maximum = max(self.maximum, self.now)
        await asyncio.sleep(0.001)
        self.ran.append(tuple(arguments))
        self.now -= 1
        if arguments[0] == "fails":
            raise AssocprivError("it failed")
        return arguments[-1].encode()


def query(*commands: str, options: Any = None) -> pages.PageQuery:
    """Return a query of commands, each with a folder as its argument, that keeps their output."""
    steps = tuple((command, "{made}/x") for command in commands)
    return pages.PageQuery(steps, lambda results: (dict(results.output), dict(results.errors), results.made), options)


async def answered(runner: pages.QueryRunner, wanted: pages.PageQuery, reports: int) -> tuple[pages.CachedResult, bool]:
    """Return the result for a number of reports once it is computed."""
    for _ in range(60_000):
        answer, working = runner.ask(wanted, reports)
        if answer is not None and answer.reports == reports:
            return answer, working
        await asyncio.sleep(0.01)
    raise AssertionError("no result within ten minutes")


def test_a_result_is_kept_until_reports_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query runs again if reports arrived and its result is old enough; one runs at a time."""
    commands, clock = SlowCommands(monkeypatch), [0.0]

    async def try_all() -> None:
        runner = pages.QueryRunner(clock=lambda: clock[0])
        first, second = query("one", "fails", "two"), query("three")
        assert runner.ask(first, 5) == (None, True)
        assert runner.ask(second, 5) == (None, True)
        answer, working = await answered(runner, first, 5)
        assert await answered(runner, second, 5)
        output, errors, made = answer.shown
        assert output == {"one": f"{made}/x".encode(), "two": f"{made}/x".encode()}
        assert (errors, working, made.exists()) == ({"fails": "it failed"}, False, False)
        assert runner.ask(query("one", "fails", "two"), 6) == (answer, False)  # the same query
        assert runner.ask(query("one", "fails", "two", options=pages.PageOptions("2%")), 5) == (None, True)
        clock[0] = 20.0
        assert runner.ask(first, 5) == (answer, False)
        assert runner.ask(first, 6) == (answer, True)
        newer, _ = await answered(runner, first, 6)
        assert newer.reports == 6
        await runner.close()

    asyncio.run(try_all())
    assert [words[0] for words in commands.ran] == ["one", "fails", "two", "three", *["one", "fails", "two"] * 2]
    assert commands.maximum == 1


def test_a_process_that_cannot_start(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The result holds the error, and the page goes on."""

    async def no_process(*_: Any) -> None:
        raise OSError(12, "no memory")

    async def try_it() -> None:
        runner = pages.QueryRunner()
        answer, working = await answered(runner, query("one"), 5)
        assert (answer.shown[1], working) == ({"one": "cannot be computed: no memory"}, False)

    monkeypatch.setattr(pages, "run_command", no_process)
    asyncio.run(try_it())


def test_commands_are_those_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their output is returned, an error as one line; no module of the current folder is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers.py").write_text("raise SystemExit('this is not the standard library')")

    async def run_all() -> list[Any]:
        plan, missing = tmp_path / "p.json", ["inspect", str(tmp_path / "none.json")]
        plan.write_text(planned(items=9, transaction_size=2, guarantee=ap.Guarantee("5%", "50%")).canonical_json)
        commands = ((["inspect", str(plan), "--json"], 600), (missing, 600), (missing, 0.01))
        return await asyncio.gather(*(pages.run_command(*each) for each in commands), return_exceptions=True)

    output, error, late = asyncio.run(run_all())
    assert json.loads(output)["items"] == 9
    assert str(error) == f"there is no file {tmp_path / 'none.json'}"
    assert str(late).startswith("stopped after 0 seconds; run assocpriv inspect")


def test_the_rate_covers_the_last_day() -> None:
    """There is none in the first half minute; reports of more than a day ago do not count."""
    clock = [0.0]
    rate = Rate(100, lambda: clock[0])
    assert rate.per_second(130) is None
    clock[0] = 60.0
    assert rate.per_second(160) == (1.0, 60.0)
    clock[0] = 86_400.0 + 60
    assert rate.per_second(160) == (0.0, 86_400.0)


def test_when_a_support_is_detectable() -> None:
    """The time follows from the number of reports, 100 here, and their rate."""
    answers = [pages._when(needed, 100, None) for needed in (None, 100, 101)]
    assert answers == ["never under this plan", "now", "not yet known"]
    assert [pages._when(7300, 100, rate) for rate in (0.0, 1.0)] == ["not known: no reports arrive", "in about 2 hours"]
