"""Tests of the operator's page: sign-in, what is computed and what is shown.

Tests of the operator's page: who may see it, what it says, what its buttons do, and that names harm nothing.

Tests of what runs beside the collection, and of the rate at which reports come.

Tests of who may see the operator's page: the token's file, the limit on failures, sessions and forms.
"""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from asgi import Answer as Response
from asgi import Visitor
from operator_page import HOSTILE, TOKEN, Collection, Commands
from planned import planned

import assocpriv as ap
from assocpriv import guided as guidance
from assocpriv import numeric
from assocpriv.collect.metrics import Rate
from assocpriv.pages import operator
from assocpriv.pages.operator import (
    TOKEN_FILE,
    Analyst,
    Answer,
    Question,
    Sessions,
    TooManyFailuresError,
    _when,
    read_or_make_token,
    run_command,
)
from assocpriv.promise.errors import FileError


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Put commands that say something harmless in place of the real ones."""
    fake = Commands(["milk", "bread"])
    monkeypatch.setattr(operator, "run_command", fake)
    monkeypatch.setattr(operator, "run_command", fake)
    return fake


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """Return a collection of baskets."""
    return Collection(tmp_path)


def form_of(answer: Response) -> str:
    """Return the token of a page's forms."""
    return re.findall(r'name="form" value="([0-9a-f]{64})"', answer.text)[0]


def log_in(visitor: Visitor) -> None:
    """Log in as the operator."""
    answer = visitor.post("/admin/login", {"form": form_of(visitor.get("/admin")), "token": TOKEN})
    assert (answer.status, answer.headers["location"]) == (303, "/admin")


def test_nobody_sees_anything_without_the_token(collection: Collection, commands: Commands) -> None:
    """Every address shows the login page or leads there, and no button does anything."""
    (collection.folder / "0123456789abcdef.parquet").write_bytes(b"secret")
    with Visitor(collection.page()) as visitor:
        for path in ("/admin", "/admin/round", "/admin/next-plan.json", "/admin/files/0123456789abcdef.parquet"):
            answer = visitor.get(path)
            assert "5,000" not in answer.text
            assert b"secret" not in answer.body
            assert answer.status == 303 or "<h1>Log in</h1>" in answer.text
        form = form_of(visitor.get("/admin"))
        for action in ("seal", "guide"):
            assert visitor.post(f"/admin/{action}", {"form": form}).status == 403
            assert visitor.post(f"/admin/{action}", authorization="Bearer wrong").status == 401
    assert (collection.sealed, commands.ran) == (0, [])


def test_every_answer_forbids_what_a_page_does_not_need(collection: Collection, commands: Commands) -> None:
    """Scripts, frames, caches, referrers: also where there is no such page; the page names nothing of another host."""
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        answers = [
            visitor.get(path) for path in ("/admin", "/admin/", "/admin/style.css", "/admin/none", "/admin/round")
        ]
        answers.append(visitor.post("/admin/seal"))
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "script" not in policy
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert not re.search(rb"https?:|src=|//|@import|url\(", answer.body.replace(b"data:,", b""))


def test_logging_in_and_out(collection: Collection, commands: Commands) -> None:
    """The cookie is the page's alone; wrong tokens, other forms and many failures are told; logging out ends it."""
    with Visitor(collection.page()) as visitor:
        for fields in ({"token": TOKEN}, {str(number): "" for number in range(100)}):
            assert "too old" in visitor.post("/admin/login", fields).text
        form = form_of(visitor.get("/admin"))
        cookie = visitor.get("/admin").headers["set-cookie"]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/admin"))
        assert "Secure" not in cookie
        assert "Secure" in visitor.get("/admin", x_forwarded_proto="https").headers["set-cookie"]
        before = dict(visitor.cookies)
        wrong = visitor.post("/admin/login", {"form": form, "token": "<b>wrong</b>"})
        assert (wrong.status, "That is not the token." in wrong.text, "wrong</b>" in wrong.text) == (403, True, False)
        log_in(visitor)
        assert visitor.cookies != before
        assert "5,000 reports" in visitor.get("/admin").text
        assert visitor.post("/admin/logout", {"form": "0" * 64}).status == 303
        assert "5,000 reports" in visitor.get("/admin").text
        kept = dict(visitor.cookies)
        visitor.post("/admin/logout", {"form": form_of(visitor.get("/admin"))})
        visitor.cookies = kept
        assert "5,000 reports" not in visitor.get("/admin").text
        form = form_of(visitor.get("/admin"))
        statuses = [visitor.post("/admin/login", {"form": form, "token": "wrong"}).status for _ in range(6)]
        assert statuses == [403] * 4 + [429] * 2


def test_buttons_need_their_own_form_or_the_token(collection: Collection, commands: Commands) -> None:
    """Another site's form does nothing; the page's own seals and says so once; so does a program with the token."""
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        for form in ({}, {"form": "0" * 64}):
            assert visitor.post("/admin/seal", form).status == 403
        assert visitor.post("/admin/seal", b"form=" + b"x" * 20_000).status == 403
        assert visitor.get("/admin/seal").status == 405
        assert collection.sealed == 0
        answer = visitor.post("/admin/seal", {"form": form_of(visitor.get("/admin"))})
        assert answer.status == 303
        assert ["1 epoch sealed." in visitor.get("/admin").text for _ in range(2)] == [True, False]
        visitor.cookies.clear()
        assert visitor.post("/admin/seal", authorization=f"Bearer {TOKEN}").text == (
            '{"done":true,"message":"1 epoch sealed."}'
        )
    assert collection.sealed == 2


def test_the_page_leads_with_the_answer(collection: Collection, commands: Commands) -> None:
    """How many, how sharp, the promise; then itemsets and rules with intervals, and crafted reports."""
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        first = visitor.get("/admin").text
        assert "being computed" in first
        assert 'http-equiv="refresh"' in first
        text = visitor.get_computed("/admin").text
        assert 'http-equiv="refresh"' not in text
        found = text.index("1 itemset of a support of 2.000% or more, the least")
        assert text.index("5,000 reports") < found < text.index("<h2")
        assert "; about 0.1 of them may be below it; 1 more is likely, but less sure.</p>" in text
        assert "5% likely" in text
        assert "ε at most 2.945" in text
        assert re.search("<bdi>milk</bdi>.*<td>0.000%<td>27.00%<td.*<td>yes\n", text)
        assert "<bdi>bread</bdi><td>1" not in text  # not listed
        assert text.count("<td>40.8%<td>100.0%<td") == 1
        assert "1 rule of a confidence of 50% or more, about 0.1 of them expected to be false" in text
        for drawn in ("Supports by itemset size", "Rules by support", "Rules as arrows"):
            assert f'aria-label="{drawn}' in text
        assert '<path d="M0 8h160M148 3v10"/>' in text  # from 0 to .27, the mean .25
        assert "style=" not in text  # the page's policy would forbid it
        assert "Nothing speaks against these reports" in text
        wanted = visitor.get_computed("/admin?support=1%25&confidence=60%25").text
        assert "less sure. Not sharp enough yet to tell all of them. It takes, for pairs 9,000 reports" in wanted
        assert "triples more reports than anybody has. When: never under this plan." in wanted
        collection.reports = 0
        assert "None has come so far" in visitor.get("/admin?support=2%25").text
    ran = [words[0] for words in commands.ran]
    assert ran == ["inspect", "mine", "rules", "inspect"] * 2
    assert commands.ran[4][-2:] == ["--discover", "1%"]


def test_nothing_listed_is_said(collection: Collection, commands: Commands) -> None:
    """Instead of an empty table."""
    commands.listed = False
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        text = visitor.get_computed("/admin?support=2%25").text
        assert "0 itemsets of a support of 2% or more; 2 are likely, but less sure. Not sharp enough" in text
        assert "None is listed." in text
        assert "Plan the next round" not in text


def test_hostile_names_harm_nothing(collection: Collection, commands: Commands) -> None:
    """Markup stays text, directions end where the name does, long names are cut, and the page stays small."""
    commands.names = HOSTILE * 9
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        answer = visitor.get_computed("/admin")
        assert len(answer.body) < 60_000
        assert "&lt;script&gt;" in answer.text
        assert "(10,000 letters)" in answer.text
        assert "<bdi>\u202egnp.exe\u2066</bdi>" in answer.text
        assert not re.search(r"<(script|img)|</html>.", answer.text, flags=re.DOTALL)
        assert "<bdi>{{ 7 * 7 }}</bdi>" in answer.text


@pytest.mark.parametrize("wrong", ["<script>", "0", "-1", "200%", "--output=x", "nan", "5", "{made}"])
def test_what_is_typed_wrongly_is_said(collection: Collection, commands: Commands, wrong: str) -> None:
    """In one sentence and harmlessly; no command sees it."""
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        answer = visitor.get(f"/admin?support={wrong.replace('%', '%25')}")
        assert answer.status == 200
        assert re.search(r'<p class="wrong" role="alert">Minimum support must', answer.text)
        assert "<script" not in answer.text
        visitor.get_computed("/admin")
        assert not [words for words in commands.ran if wrong in words]
        assert visitor.get(f"/admin/round?people={wrong.replace('%', '%25')}&support=1%25").status == (
            200 if wrong == "5" else 303
        )


def test_files_of_the_collection_alone_are_handed_out(collection: Collection, commands: Commands) -> None:
    """A sealed file by its name; nothing else of the folder, and nothing outside it."""
    (collection.folder / "0123456789abcdef.parquet").write_bytes(b"sealed")
    (collection.folder / ".hidden.parquet").write_bytes(b"part")
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        answer = visitor.get("/admin/files/0123456789abcdef.parquet")
        assert answer.body == b"sealed"
        assert answer.headers["content-disposition"] == 'attachment; filename="0123456789abcdef.parquet"'
        for name in ("plan.json", "admin-token", ".hidden.parquet", "../plan.json", "..%2Fplan.json", "x.parquet"):
            assert visitor.get(f"/admin/files/{name}").status == 404


def test_the_next_round_is_proposed_and_handed_out(collection: Collection, commands: Commands) -> None:
    """Its promise and figures are shown, and the file is the plan that was seen."""
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        query = "support=1%25&people=800"
        page = visitor.get_computed(f"/admin/round?{query}")
        assert "Asks 800 people about 5 entries." in page.text
        assert "5% likely" in page.text
        assert commands.ran[-1][4:6] == ["--reports", "800"]
        for proposal in ("", f"&proposal={'0' * 64}"):
            assert visitor.get(f"/admin/next-plan.json?{query}{proposal}").status == 303
        [download] = re.findall(r'"(/admin/next-plan.json\?[^"]+)"', page.text.replace("&amp;", "&"))
        collection.reports += 1  # the plan stays the one that was seen
        assert ap.Plan.parse(visitor.get(download).text).n_items == 5


def test_tables_and_guided_collections_have_pages(tmp_path: Path, commands: Commands) -> None:
    """Columns in brief; guidance, and the button that seals, collects and publishes."""
    schema = {"age": {"kind": "number", "low": 0, "high": 100, "release": "gaussian", "privacy": "50%"}}
    (tmp_path / "t").mkdir()
    with Visitor(Collection(tmp_path / "t", numeric.plan_table({"columns": schema})).page()) as visitor:
        log_in(visitor)
        text = visitor.get_computed("/admin").text
        assert "39 to 42" in text
        assert "bread: 75.00%" in text
        assert "states no bound" in text
    attributes = [guidance.category("a", ["x", "y"])]
    (tmp_path / "g").mkdir()
    guided = Collection(tmp_path / "g", guidance.plan_guided(attributes, guidance.class_label("c", ["n", "y"])))
    with Visitor(guided.page()) as visitor:
        log_in(visitor)
        page = visitor.get("/admin")
        assert "No guidance is published so far" in page.text
        visitor.post("/admin/guide", {"form": form_of(page)})
        assert "Guidance 4, of level 2, published." in visitor.get("/admin").text
    assert guided.sealed == 1
    assert [words[1] for words in commands.ran[-2:]] == ["collect", "publish"]


def test_a_failing_step_is_told(collection: Collection, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command says stands on the page, escaped, and what can be shown is."""

    def fails(arguments: list[str]) -> Any:
        return "no <b>reports</b> to read"

    monkeypatch.setattr(commands, "mine", fails)
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        text = visitor.get_computed("/admin").text
        assert '<p class="wrong">no &lt;b&gt;reports&lt;/b&gt; to read.' in text
        assert "How sharp is it?" in text


class SlowCommands:
    """Stands in for commands: notes them, and how many ran at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran, self.now, self.most = list[tuple[str, ...]](), 0, 0
        monkeypatch.setattr(operator, "run_command", self)

    async def __call__(self, arguments: list[str], seconds: float) -> dict[str, Any] | str:
        """Take a moment; a command named ``fails`` fails."""
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.ran.append(tuple(arguments))
        self.now -= 1
        return "it failed" if arguments[0] == "fails" else {"said": arguments[-1]}


def question(name: str, *commands: str) -> Question:
    """Return a question of commands, each with the number of reports as its argument."""
    return Question(name, tuple((command, (command, "{reports}")) for command in commands))


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
        first, second = question("a", "one", "fails", "two"), question("b", "three")
        assert analyst.ask(first, 5) == (None, True)
        assert analyst.ask(second, 5) == (None, True)
        answer, working = await answered(analyst, first, 5)
        assert await answered(analyst, second, 5)
        assert (answer.reports, answer.records, answer.errors, working) == (
            5, {"one": {"said": "5"}, "two": {"said": "5"}}, {"fails": "it failed"}, False,
        )  # fmt: skip
        assert analyst.ask(first, 6) == (answer, False)
        clock[0] = 20.0
        assert analyst.ask(first, 5) == (answer, False)
        assert analyst.ask(first, 6) == (answer, True)
        newer, _ = await answered(analyst, first, 6)
        assert newer.reports == 6
        await analyst.close()

    asyncio.run(try_all())
    assert [words[0] for words in commands.ran] == ["one", "fails", "two", "three", "one", "fails", "two"]
    assert commands.most == 1


def test_what_cannot_be_computed_is_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where no process begins there is an answer that says so, and the page goes on."""

    async def no_process(*_: Any) -> None:
        raise OSError(12, "no memory")

    async def try_it() -> None:
        analyst = Analyst()
        answer, working = await answered(analyst, question("a", "one"), 5)
        assert (answer.errors, working) == ({"one": "cannot be computed: no memory"}, False)

    monkeypatch.setattr(operator, "run_command", no_process)
    asyncio.run(try_it())


def test_commands_are_the_package_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record comes back, an error as its one line, a late one is ended; no module of the current folder is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers.py").write_text("raise SystemExit('this is not the standard library')")

    async def run_all() -> list[Any]:
        plan, missing = tmp_path / "p.json", ["inspect", str(tmp_path / "none.json")]
        plan.write_text(planned(items=9, transaction_size=2, promise=ap.Breach("5%", "50%")).canonical_json)
        record, error = await asyncio.gather(run_command(["inspect", str(plan)], 60), run_command(missing, 60))
        return [record, error, await run_command(missing, 0.01)]

    record, error, late = asyncio.run(run_all())
    assert record["items"] == 9
    assert error == f"there is no file {tmp_path / 'none.json'}"
    assert late.startswith("took more than 0 seconds and was ended")


def test_lists_in_a_record_are_cut() -> None:
    """A page shows some rows and how many there are."""
    record = operator._read(0, b'{"rows": [%s0]}' % (b"0," * 4999), b"")
    assert isinstance(record, dict)
    assert (len(record["rows"]), record["rows_count"]) == (2000, 5000)
    assert operator._read(-9, b"", b"talk\n") == "ended with status -9"


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
        (None, 1.0, "never under this plan"),
        (100, None, "now"),
        (101, None, "not known yet"),
        (101, 0.0, "no reports come"),
        (7300, 1.0, "in about 2 hours"),
    ],
)
def test_when_a_support_can_be_told(needed: int | None, per_second: float | None, said: str) -> None:
    """From how many reports there are, 100 here, and how fast they come."""
    assert _when(needed, 100, per_second) == said


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    """It has 256 bits and mode 0600 and stays; nothing else is left in the folder."""
    token = read_or_make_token(tmp_path)
    assert len(token) >= 43
    assert (tmp_path / TOKEN_FILE).stat().st_mode & 0o777 == 0o600
    assert read_or_make_token(tmp_path) == token
    assert [path.name for path in tmp_path.iterdir()] == [TOKEN_FILE]


def test_a_token_that_others_read_or_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """The error names the file and what to do, and does not show the token."""
    token, path = read_or_make_token(tmp_path), tmp_path / TOKEN_FILE
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


def test_failed_logins_are_limited_for_all_together() -> None:
    """After five failures one more may fail every ten seconds; the right token is let in all the while."""
    clock = Clock()
    sessions = Sessions("right", clock)
    assert all(sessions.admits("right") for _ in range(20))
    assert not any(sessions.admits(wrong) for wrong in ("wrong", "", "right ", "Right", "é\udcff"))
    for now, fails in ((0, False), (9.9, False), (10, True), (10, False), (20, True)):
        clock.now = now
        assert sessions.admits("right")
        if fails:
            assert not sessions.admits("wrong")
        else:
            with pytest.raises(TooManyFailuresError, match=r"try again in \d+ seconds"):
                sessions.admits("wrong")


def test_sessions_end() -> None:
    """By logging out, after twelve hours, and the oldest where there are too many."""
    clock = Clock()
    sessions = Sessions("token", clock)
    values = [sessions.begin() for _ in range(65)]
    assert len(set(values)) == 65
    assert [sessions.is_open(value) for value in values[:2]] == [False, True]
    sessions.end(values[1])
    assert not sessions.is_open(values[1])
    assert sessions.is_open(values[2])
    clock.now = 12 * 3600
    assert not sessions.is_open(values[2])
    assert not sessions.is_open("")


def test_a_form_belongs_to_a_cookie_and_a_process() -> None:
    """Another cookie's form, another process's, none and an empty cookie are no own forms."""
    sessions, others = Sessions("token"), Sessions("token")
    value = sessions.begin()
    assert sessions.is_own_form(value, sessions.form_token(value))
    assert not sessions.is_own_form(value, sessions.form_token(sessions.begin()))
    assert not sessions.is_own_form(value, others.form_token(value))
    assert not sessions.is_own_form(value, "")
    assert not sessions.is_own_form(value, "é")
    assert not sessions.is_own_form("", sessions.form_token(""))
