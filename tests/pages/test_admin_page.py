"""Tests of the operator's page: who may see it, what it says, what its buttons do, and that names harm nothing."""

import re
from pathlib import Path
from typing import Any

import pytest
from asgi import Answer, Visitor
from operator_page import HOSTILE, TOKEN, Collection, Commands

import assocpriv as ap
from assocpriv import guided as guidance
from assocpriv import numeric
from assocpriv.pages import operator


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


def form_of(answer: Answer) -> str:
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
        assert text.index("5,000 reports") < text.index("Can be told now: single items from 1.00%") < text.index("<h2")
        assert "5% likely" in text
        assert "ε at most 2.945" in text
        assert re.search("<bdi>milk</bdi>.*<td>yes\n", text)
        assert re.search("<bdi>bread</bdi>.*<td>may be chance\n", text)
        assert "<td>0.000%<td>27.00%<td" in text
        assert "<td>40.8%<td>100.0%<td" in text
        for drawn in ("Supports by itemset size", "Rules by support", "Rules as arrows"):
            assert f'aria-label="{drawn}' in text
        assert '<path d="M0 8h160M148 3v10"/>' in text  # from below 0 to .27, the estimate .25
        assert "style=" not in text  # the page's policy would forbid it
        assert "Nothing speaks against these reports" in text
        wanted = visitor.get_computed("/admin?support=1%25&confidence=60%25").text
        assert "pairs 9,000 reports, triples more reports than anybody has. When: never under this plan." in wanted
        assert "9,000" in wanted
        collection.reports = 0
        assert "None has come so far" in visitor.get("/admin?support=2%25").text
    ran = [words[0] for words in commands.ran]
    assert ran == ["inspect", "mine", "rules", "inspect"] * 2
    assert commands.ran[4][-2:] == ["--discover", "1%"]


def test_what_cannot_be_decided_is_said(collection: Collection, commands: Commands) -> None:
    """Instead of an empty table: how many reports it takes."""
    commands.status = "undecidable"
    with Visitor(collection.page()) as visitor:
        log_in(visitor)
        text = visitor.get_computed("/admin?support=1%25").text
        assert re.search(
            "To tell 1% it takes about 4,000 reports for single items,\\s+9,000 reports for pairs.</p>", text
        )
        assert "Nothing can be decided yet at this support." in text
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
        query = "support=1%25&people=800&itemsets=yes"
        page = visitor.get_computed(f"/admin/round?{query}")
        assert "Asks 800 people about 5 entries." in page.text
        assert "5% likely" in page.text
        assert commands.ran[-1][4:7] == ["--itemsets", "--reports", "800"]
        for proposal in ("", f"&proposal={'0' * 64}"):
            assert visitor.get(f"/admin/next-plan.json?{query}{proposal}").status == 303
        [download] = re.findall(r'"(/admin/next-plan.json\?[^"]+)"', page.text.replace("&amp;", "&"))
        collection.reports += 1  # the plan stays the one that was seen
        assert ap.Plan.parse(visitor.get(download).text).n_items == 5


def test_tables_and_guided_collections_have_pages(tmp_path: Path, commands: Commands) -> None:
    """Columns in brief; guidance, and the button that seals, collects and publishes."""
    schema = {"age": {"kind": "number", "low": 0, "high": 100, "release": "gaussian", "privacy": "50%"}}
    (tmp_path / "t").mkdir()
    with Visitor(Collection(tmp_path / "t", numeric.plan({"columns": schema})).page()) as visitor:
        log_in(visitor)
        text = visitor.get_computed("/admin").text
        assert "39 to 42" in text
        assert "bread: 75.00%" in text
        assert "states no bound" in text
    attributes = [guidance.category("a", ["x", "y"])]
    (tmp_path / "g").mkdir()
    guided = Collection(tmp_path / "g", guidance.plan(attributes, guidance.class_label("c", ["n", "y"])))
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
        assert "no &lt;b&gt;reports&lt;/b&gt; to read" in text
        assert "Can be told now" in text
