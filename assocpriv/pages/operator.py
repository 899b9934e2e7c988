"""The operator's page, /admin: an ASGI application of rendered pages without script (docs/cli/serve.md).

It is given what it shows: the collection, how many reports there are, and how to seal. It says the answer first, then
the promise and what each kind of plan shows. Every answer forbids scripts, frames, caches and other hosts.

Who may see it: a token in a file, sessions in memory, a token in every form. Nothing of a visitor is kept. Failed
logins are limited for all together, as no address is looked at. Who has the token is let in all the same, or anybody
could lock the operator out; what keeps others out are its 256 random bits.

What takes time is answered by the package's own commands in processes beside the server, so the collection goes on
while they compute: one at a time, at low priority, for a bounded time. Answers are kept by question, and taken again
while the number of reports is the same.

Of a kind of plan without an entry ``pages.analysis`` the page shows what it does of all: how many
reports, the promise, what is sealed.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
import logging
import math
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import parse_qs, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from assocpriv.collect.metrics import Rate
from assocpriv.plans.kind import knows, load_for, parse_plan
from assocpriv.promise.breaches import parse_share
from assocpriv.promise.errors import AssocprivError, FileError, counted
from assocpriv.server.itemsets import MiningFacts, describe_limits
from assocpriv.show import charts
from assocpriv.show.figures import list_sentence, names, number, pace, rule_sentence, share, size_name, span
from assocpriv.show.sheets import promise_sentences, templates

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

TOKEN_FILE = "admin-token"  # noqa: S105  # its name
_LEAST_LETTERS = 32
_MOST_SESSIONS = 64  # the oldest ends when another begins
_SESSION_SECONDS = 12 * 3600.0
_FAILURES, _SECONDS_EACH = 5.0, 10.0  # failed logins at once, and seconds after which one more may fail
_COOKIE, _MOST_FORM_BYTES = "assocpriv-admin", 1 << 14
_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}
_MOST_SECONDS = 600.0  # of one command
_LEAST_AGE = 20.0  # seconds before a question is answered anew, however fast reports come
_MOST_ANSWERS = 16
_MOST_ROWS = 2000  # of a list in an answer that are kept
_AUTO = "auto"
_NEXT_PLAN = "next-plan.json"
_ROWS, _ROWS_EACH, _BINS = 50, 20, 5  # rows of rules and columns, of itemsets of each size
_STATE_FILE, _GUIDANCE_FILE = "miner-state.json", "guidance.json"
_MOST_FILES = 100
_LEAST_SPAN = 120.0  # seconds, of fewer it is said how many they are
_LOG = logging.getLogger("assocpriv")
_TEMPLATES = templates("assocpriv.pages")
_Record = dict[str, Any]
_Steps = tuple[tuple[str, tuple[str, ...]], ...]
_Form = Mapping[str, str]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


# ---- who may see it


class TooManyFailuresError(Exception):
    """Logins failed too often; after ``seconds`` one may be tried again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many failed logins; try again in {seconds} seconds")
        self.seconds = seconds


def read_or_make_token(folder: Path) -> str:
    """Return the token of a collection's folder, made if there is none.

    Raises:
        FileError: the file cannot be read or written, was cut off, or others may read it.
    """
    path = folder / TOKEN_FILE
    try:
        if not path.exists():
            return _make_token(path)
        mode, token = path.stat().st_mode, path.read_text(encoding="ascii").strip()
    except FileExistsError:
        return read_or_make_token(folder)
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot use the operator's token {path}: {getattr(error, 'strerror', error)}") from None
    if os.name == "posix" and mode & 0o077:
        raise FileError(f"others than its owner may read {path}; remove it, and a new token is made at the next start")
    if len(token) < _LEAST_LETTERS:
        raise FileError(f"{path} holds no whole token; remove it, and a new one is made at the next start")
    return token


def _make_token(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(unfinished, path)  # unlike a rename, fails where another process made one meanwhile
    finally:
        unfinished.unlink()
    return token


class Sessions:
    """Logins that go on. All is lost with the process: the operator logs in again."""

    def __init__(self, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._token, self._clock = _digest(token), clock
        self._key = secrets.token_bytes(32)
        self._open: dict[bytes, float] = {}  # digest of a session -> when it ends
        self._failures, self._since = _FAILURES, clock()

    def admits(self, token: str) -> bool:
        """Tell whether a token is the operator's, who is let in however often others failed.

        Raises:
            TooManyFailuresError: it is not, like too many before it.
        """
        if hmac.compare_digest(_digest(token), self._token):
            return True
        now = self._clock()
        self._failures = min(_FAILURES, self._failures + (now - self._since) / _SECONDS_EACH)
        self._since = now
        if self._failures < 1:
            raise TooManyFailuresError(max(1, round((1 - self._failures) * _SECONDS_EACH)))
        self._failures -= 1
        return False

    @staticmethod
    def new_value() -> str:
        """Return a value for a cookie, of no session so far."""
        return secrets.token_urlsafe(32)

    def begin(self) -> str:
        """Begin a session and return the value of its cookie."""
        while len(self._open) >= _MOST_SESSIONS:
            del self._open[next(iter(self._open))]
        value = self.new_value()
        self._open[_digest(value)] = self._clock() + _SESSION_SECONDS
        return value

    def is_open(self, value: str) -> bool:
        """Tell whether a cookie's value is that of a session that goes on."""
        return self._open.get(_digest(value), -1.0) > self._clock()

    def end(self, value: str) -> None:
        """End a session."""
        self._open.pop(_digest(value), None)

    def form_token(self, value: str) -> str:
        """Return what a form must hold that is sent with this cookie; other sites cannot know it."""
        return hmac.new(self._key, value.encode(), hashlib.sha256).hexdigest()

    def is_own_form(self, value: str, offered: str) -> bool:
        """Tell whether a form came from a page that was sent with this cookie."""
        return bool(value) and hmac.compare_digest(self.form_token(value).encode(), offered.encode())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


# ---- commands


@dataclass(frozen=True)
class Question:
    """Commands to run one after the other, by the name of what each tells.

    ``{made}`` in an argument is a folder for what they make, ``{reports}`` the number of reports. A command that fails
    leaves a line in place of its record, and those that need its output fail, too.
    """

    name: str
    steps: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Answer:
    """What the commands said, by name: a record or, of one that failed, its error; and the ``files`` they made."""

    reports: int
    done_at: float
    records: Mapping[str, _Record]
    errors: Mapping[str, str]
    files: Mapping[str, bytes]


class Analyst:
    """Answers questions one at a time; used on one event loop."""

    def __init__(
        self,
        seconds: float = _MOST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        *,
        least_age: float = _LEAST_AGE,
    ) -> None:
        self._seconds, self._clock, self._least_age = seconds, clock, least_age
        self._answers: OrderedDict[Question, Answer] = OrderedDict()
        self._waiting: OrderedDict[Question, int] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def ask(self, question: Question, reports: int) -> tuple[Answer | None, bool]:
        """Return the last answer, which may be of fewer reports, and whether a newer one is being made.

        A new one is begun if reports came since the last, and that is old enough.
        """
        answer = self._answers.get(question)
        if answer is not None:
            self._answers.move_to_end(question)
        young = answer is not None and self._clock() - answer.done_at < self._least_age
        if answer is None or (answer.reports != reports and not young):
            self._waiting[question] = reports
            while len(self._waiting) > _MOST_ANSWERS:
                self._waiting.popitem(last=False)
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._answer_all())
        return answer, question in self._waiting

    def last(self, question: Question) -> Answer | None:
        """Return the last answer, and begin none."""
        return self._answers.get(question)

    async def close(self) -> None:
        """End what is being computed."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _answer_all(self) -> None:
        while self._waiting:
            question, reports = next(iter(self._waiting.items()))
            try:
                self._answers[question] = await self._answer(question, reports)
            except (OSError, ValueError) as error:  # no room for what is made, no process, an answer that is none
                said = f"cannot be computed: {getattr(error, 'strerror', None) or type(error).__name__}"
                _LOG.error("the operator's page: %s", said)
                errors = {name: said for name, _ in question.steps}
                self._answers[question] = Answer(reports, self._clock(), {}, errors, {})
            finally:
                self._waiting.pop(question, None)
            while len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)

    async def _answer(self, question: Question, reports: int) -> Answer:
        records, errors = dict[str, _Record](), dict[str, str]()
        with tempfile.TemporaryDirectory(prefix="assocpriv-admin-") as made:
            for name, arguments in question.steps:
                words = [each.replace("{made}", made).replace("{reports}", str(reports)) for each in arguments]
                done = await run_command(words, self._seconds)
                if isinstance(done, str):
                    errors[name] = done
                else:
                    records[name] = done
            files = {path.name: path.read_bytes() for path in Path(made).glob("*.json")}
        return Answer(reports, self._clock(), records, errors, files)


async def run_command(arguments: Sequence[str], seconds: float) -> _Record | str:
    """Run a command of assocpriv with ``--json``; return its record, or its error in a line."""
    lower = [nice, "-n", "10"] if (nice := shutil.which("nice")) else []
    # modules from where this process has them: -m alone would take a numbers.py that lies in the current folder
    path = os.pathsep.join(filter(None, sys.path))
    process = await asyncio.create_subprocess_exec(
        *lower, sys.executable, "-P", "-m", "assocpriv", *arguments, "--json", env={**os.environ, "PYTHONPATH": path},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            said, talk = await process.communicate()
    except TimeoutError:
        return f"took more than {seconds:.0f} seconds and was ended; run assocpriv {arguments[0]} by hand"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return await asyncio.to_thread(_read, process.returncode, said, talk)


def _read(status: int | None, said: bytes, talk: bytes) -> _Record | str:
    """Return a command's record, its lists cut to what a page shows, or its error in a line."""
    if status == 0:
        record: _Record = json.loads(said)
        cut = {name: rows[:_MOST_ROWS] for name, rows in record.items() if isinstance(rows, list)}
        return record | cut | {f"{name}_count": len(record[name]) for name in cut}
    lines = talk.decode("utf-8", "replace").splitlines()
    error = next((line for line in reversed(lines) if line.startswith("Error: ")), None)
    return error.removeprefix("Error: ") if error else f"ended with status {status}"


# ---- what is asked


@dataclass(frozen=True)
class _Wishes:
    """What the operator asked for: the least support and confidence, as they were typed."""

    support: str = _AUTO
    confidence: str = "50%"


class Analysis(NamedTuple):
    """How reports of a kind are analysed: commands, what their answer shows, the template that shows it."""

    steps: "Callable[[PublishedPlan, Path, _Wishes], _Steps]"
    view: Callable[[Answer, float | None], dict[str, Any]]
    template: str


def _analysis_of(plan: "PublishedPlan") -> Analysis | None:
    if not knows(plan.kind, "pages.analysis"):
        return None
    analysis: Analysis = load_for(plan.kind, "pages.analysis", "analysed")
    return analysis


def _question_of(plan: "PublishedPlan", folder: Path, wishes: _Wishes) -> Question | None:
    """Return what to ask of a collection; None of a kind of which nothing is."""
    analysis = _analysis_of(plan)
    steps = analysis.steps(plan, folder, wishes) if analysis is not None else ()
    return Question("now", steps) if steps else None


def _next_round(folder: Path, wishes: _Wishes, people: str) -> Question:
    """Return the question what another round should ask other people."""
    found, count = "{made}/itemsets.parquet", ("--reports", people) if people else ()
    mine = ("mine", str(folder), "--min-support", wishes.support, "-o", found)
    refine = ("refine", found, "--plan", str(folder / "plan.json"), *count, "-o", f"{{made}}/{_NEXT_PLAN}")
    return Question("round", (("mined", mine), ("plan", refine)))


def _first_error(answer: Answer) -> str:
    """Return what went wrong first, or nothing; what fails after it fails of it."""
    return next(iter(answer.errors.values()), "")


# ---- baskets


def _basket_steps(_plan: "PublishedPlan", folder: Path, wishes: _Wishes) -> _Steps:
    wanted = () if wishes.support == _AUTO else ("--discover", wishes.support)
    mined = "{made}/itemsets.parquet"
    return (
        ("plan", ("inspect", str(folder / "plan.json"), "--reports", "{reports}", *wanted)),
        ("mined", ("mine", str(folder), "--min-support", wishes.support, "-o", mined)),
        ("rules", ("rules", mined, "--min-confidence", wishes.confidence)),
        ("crafted", ("inspect", str(folder), "--check-crafted")),
    )


def _basket_view(answer: Answer, per_second: float | None) -> dict[str, Any]:
    mined = answer.records.get("mined", {})
    found = [row for row in mined.get("itemsets", ()) if row["listed"] or row["support"] >= mined["min_support"]]
    listed = [row | {"sure": True} for row in found if row["listed"]]
    wrong = sum(1 - row["probability"] for row in listed)
    first = [row for _, rows in groupby(listed, itemgetter("length")) for row in list(rows)[:_ROWS_EACH]]
    derived = answer.records.get("rules", {})
    rules = [row for row in derived.get("rules", ()) if row["listed"]]
    marks = [(row["length"], row["support"], row["listed"]) for row in found]
    return {
        "reports": mined.get("reports", answer.reports),
        "sharp": _sharpness(answer, per_second),
        "said": list_sentence(mined, len(listed), wrong, len(found) - len(listed)) if mined else "",
        "level": f"{100 * mined['confidence_level']:g}%" if mined else "",
        "itemsets": charts.itemset_rows(first),
        "more_itemsets": len(listed) - len(first),
        "strips": charts.supports_chart(mined["min_support"], marks) if mined else "",
        "doubtful": len(listed) < len(found),
        "rules": [charts.rule_row(row) for row in rules[:_ROWS]],
        "more_rules": max(derived.get("listed", 0) - _ROWS, 0),
        "rules_said": rule_sentence(derived, derived["rules_count"] - derived["listed"]) if derived else "",
        "scatter": charts.rules_chart(rules[:_ROWS]),
        "graph": charts.rules_graph(rules[:_ROWS]),
        "matrix": charts.rules_matrix(rules[:_ROWS]),
        "legend": charts.SHADED_LEGEND,
        "crafted": answer.records.get("crafted", {}).get("crafted"),
        "crafted_error": answer.errors.get("crafted", ""),
        "meaning": mined.get("meaning", ""),
        "limits": describe_limits(MiningFacts.from_json(mined)) if mined else [],
        "error": answer.errors.get("mined") or answer.errors.get("plan", ""),
    }


def _sharpness(answer: Answer, per_second: float | None) -> list[dict[str, Any]]:
    """Return a row for each itemset size: what can be told now, and when what is wanted can."""
    record = answer.records.get("crafted") or answer.records.get("plan") or {}
    needed = answer.records.get("plan", {}).get("reports_needed", {})
    return [
        {
            "size": size_name(int(k)),
            "one": share(one),
            "all": share(record["level_discoverable_support"][k]),
            "reached": k in needed and needed[k] is not None and needed[k] <= answer.reports,
            "needed": needed.get(k),
            "when": _when(needed[k], answer.reports, per_second) if k in needed else "",
        }
        for k, one in record.get("lowest_discoverable_support", {}).items()
    ]


def _when(needed: int | None, reports: int, per_second: float | None) -> str:
    """Say when so many reports will be there."""
    if needed is None:
        return "never under this plan"
    if needed <= reports:
        return "now"
    if per_second is None:
        return "not known yet"
    if per_second <= 0:
        return "no reports come"
    return f"in {span((needed - reports) / per_second)}"


# ---- tables


def _table_steps(_plan: "PublishedPlan", folder: Path, _wishes: _Wishes) -> _Steps:
    return (("columns", ("reconstruct", str(folder))),)


def _table_view(answer: Answer, _per_second: float | None) -> dict[str, Any]:
    columns = answer.records.get("columns", {}).get("columns", {})
    shown = [_column(name, column) for name, column in list(columns.items())[:_ROWS]]
    return {"columns": shown, "more_columns": len(columns) - len(shown), "error": _first_error(answer)}


def _column(name: str, column: Mapping[str, Any]) -> dict[str, Any]:
    [shown] = names([name])
    if "mean" in column and column["mean"] is not None:
        mean = column["mean"]
        interval = f"{number(mean['low'])} to {number(mean['high'])}"
        middle = [f"{100 * each['level']:g}% < {number(each['value'])}" for each in column.get("quantiles") or []]
        return {"name": shown, "mean": number(mean["value"]), "interval": interval, "spread": middle}
    pairs = sorted(zip(column["share"], column.get("values", []), strict=False), reverse=True)[:_BINS]
    said = [f"{names([str(value)])[0]}: {share(part)}" for part, value in pairs]
    return {"name": shown, "mean": "", "interval": "", "spread": said}


# ---- kinds of plans


def _no_steps(_plan: "PublishedPlan", _folder: Path, _wishes: _Wishes) -> _Steps:
    return ()


def _no_view(_answer: Answer, _per_second: float | None) -> dict[str, Any]:
    return {}


BASKETS = Analysis(_basket_steps, _basket_view, "baskets.html")
TABLES = Analysis(_table_steps, _table_view, "table.html")
GUIDED = Analysis(_no_steps, _no_view, "guided.html")  # its sums are in the miner's state


# ---- the page


@dataclass(frozen=True)
class Sources:
    """What the page asks of the collector.

    Attributes:
        plan: the plan of the collection.
        folder: where its reports are.
        status: as ``GET /status``.
        seal: seals the epochs, and returns how many.
    """

    plan: "PublishedPlan"
    folder: Path
    status: Callable[[], Mapping[str, Any]]
    seal: Callable[[], Awaitable[int]]


class AdminPage:
    """The application; ``sessions`` say who may see it."""

    def __init__(self, sources: Sources, sessions: Sessions, analyst: Analyst | None = None) -> None:
        self._sources, self._sessions = sources, sessions
        self._plan, self._folder = sources.plan, sources.folder
        self._analyst = analyst or Analyst()
        self._rate = Rate(sources.status()["reports"])
        self._notice = ""  # what the last action came to, to be shown once
        self._acting = asyncio.Lock()
        self._pages = Starlette(
            routes=[
                Route("/admin", self._show),
                Route("/admin/", lambda _: RedirectResponse("/admin", 308)),
                Route("/admin/style.css", self._style),
                Route("/admin/login", self._login, methods=["POST"]),
                Route("/admin/logout", self._logout, methods=["POST"]),
                Route("/admin/round", self._show_round),
                Route(f"/admin/{_NEXT_PLAN}", self._next_plan),
                Route("/admin/files/{name}", self._file),
                *(Route(f"/admin/{name}", self._act, methods=["POST"]) for name in _ACTIONS),
            ]
        )

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:
        """Answer a request, with the headers of all pages."""
        await self._pages(cast(Any, scope), receive, cast(Any, with_headers(_HEADERS, send)))

    async def close(self) -> None:
        """End what is being computed for the page."""
        await self._analyst.close()

    # ---- who may

    def _may(self, request: Request) -> bool:
        return self._sessions.is_open(request.cookies.get(_COOKIE, ""))

    def _cookie(self, request: Request, response: Response, value: str) -> None:
        """Set the session's cookie; behind a proxy with TLS for TLS alone."""
        secure = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
        response.set_cookie(_COOKIE, value, path="/admin", secure=secure, httponly=True, samesite="strict")

    def _login_page(self, request: Request, error: str = "", status: int = 200) -> Response:
        value = request.cookies.get(_COOKIE, "") or self._sessions.new_value()
        shown = {"form_token": self._sessions.form_token(value), "error": error}
        response = _page("login.html", shown, status)
        self._cookie(request, response, value)
        return response

    async def _login(self, request: Request) -> Response:
        form = await _read_form(request)
        if not self._sessions.is_own_form(request.cookies.get(_COOKIE, ""), form.get("form", "")):
            return self._login_page(request, "This form was too old. Please try again.", 403)
        try:
            if not self._sessions.admits(form.get("token", "").strip()):
                return self._login_page(request, "That is not the token.", 403)
        except TooManyFailuresError as error:
            response = self._login_page(request, f"{str(error).capitalize()}.", 429)
            response.headers["retry-after"] = str(error.seconds)
            return response
        response = RedirectResponse("/admin", 303)
        self._cookie(request, response, self._sessions.begin())
        return response

    async def _logout(self, request: Request) -> Response:
        form, value = await _read_form(request), request.cookies.get(_COOKIE, "")
        if self._sessions.is_own_form(value, form.get("form", "")):
            self._sessions.end(value)
        return RedirectResponse("/admin", 303)

    # ---- what is seen

    async def _style(self, _: Request) -> Response:
        return Response(_TEMPLATES.get_template("admin.css").render(), media_type="text/css")

    async def _show(self, request: Request) -> Response:
        if not self._may(request):
            return self._login_page(request)
        wishes, wrong = _wishes(request)
        counts = await asyncio.to_thread(self._sources.status)
        rate = self._rate.per_second(counts["reports"])
        question = _question_of(self._plan, self._folder, wishes) if counts["reports"] else None
        answer, working = (None, False) if question is None else self._analyst.ask(question, counts["reports"])
        facts = await asyncio.to_thread(_collection_facts, self._plan, self._folder, counts, answer, rate, wishes)
        notice, self._notice = self._notice, ""
        more = {"wishes": wishes, "wrong": wrong, "notice": notice, "working": working}
        more["refresh"] = working and answer is None
        return _page("collection.html", self._frame(request) | facts | more)

    async def _show_round(self, request: Request) -> Response:
        if not self._may(request):
            return self._login_page(request)
        question = self._round(request)
        if isinstance(question, str):
            self._notice = question
            return RedirectResponse("/admin", 303)
        counts = await asyncio.to_thread(self._sources.status)
        answer, working = self._analyst.ask(question, counts["reports"])
        facts = await asyncio.to_thread(_round_facts, answer)
        more = {
            "refresh": working and answer is None,
            "query": urlencode(dict(request.query_params)),
            "wishes": _wishes(request)[0],
        }
        return _page("round.html", self._frame(request) | facts | more)

    def _round(self, request: Request) -> Question | str:
        """Return the question that asks for the next round, or what is wrong with what was typed."""
        wishes, wrong = _wishes(request)
        people = request.query_params.get("people", "").replace(",", "").strip()
        if wrong:
            return wrong
        if people and not (people.isascii() and people.isdigit() and len(people) <= 15 and int(people)):
            return "The number of people must be a whole number from 1."
        return _next_round(self._folder, wishes, people)

    async def _next_plan(self, request: Request) -> Response:
        """Hand out the plan that was proposed."""
        text = await self._proposed(request) if self._may(request) else None
        if text is None:
            return RedirectResponse(f"/admin/round?{request.url.query}", 303)
        return Response(text, media_type="application/json", headers=_attached(_NEXT_PLAN))

    async def _proposed(self, request: Request) -> bytes | None:
        """Return the text of the plan that the operator was shown, None where it was made anew meanwhile."""
        question = self._round(request)
        answer = None if isinstance(question, str) else self._analyst.last(question)
        text = None if answer is None else answer.files.get(_NEXT_PLAN)
        plan = None if text is None else await asyncio.to_thread(parse_plan, text.decode("utf-8"))
        return text if plan is not None and plan.plan_id == request.query_params.get("proposal") else None

    async def _file(self, request: Request) -> Response:
        """Hand out a sealed report file."""
        name = request.path_params["name"]
        if not self._may(request):
            return RedirectResponse("/admin", 303)
        sealed = {path.name: path for path in self._folder.glob("[!.]*.parquet")}
        if name not in sealed:
            return _page("error.html", {"error": "There is no such file."}, 404)
        return FileResponse(sealed[name], media_type="application/octet-stream", headers=_attached(name))

    def _frame(self, request: Request) -> dict[str, Any]:
        """Return what every page shows once the operator is logged in."""
        form_token = self._sessions.form_token(request.cookies.get(_COOKIE, ""))
        return {"logged_in": True, "plan_id": self._plan.plan_id, "form_token": form_token}

    # ---- what is done

    async def _act(self, request: Request) -> Response:
        """Do what a button says: of a page that was sent to the operator, or with the token in a header."""
        form, bearer = await _read_form(request), request.headers.get("authorization", "")
        if bearer:
            try:
                if not self._sessions.admits(bearer.removeprefix("Bearer ").strip()):
                    return JSONResponse({"error": "no-token", "message": "that is not the token"}, 401)
            except TooManyFailuresError as error:
                headers = {"retry-after": str(error.seconds)}
                return JSONResponse({"error": "busy", "message": str(error)}, 429, headers)
        elif not (
            self._may(request) and self._sessions.is_own_form(request.cookies.get(_COOKIE, ""), form.get("form", ""))
        ):
            return self._login_page(request, "Please log in again.", 403)
        action = _ACTIONS[request.url.path.removeprefix("/admin/")]
        async with self._acting:
            done, said = await action(self)
        if bearer:
            return JSONResponse({"done": done, "message": said}, 200 if done else 409)
        self._notice = said
        return RedirectResponse("/admin", 303)

    async def _seal(self) -> tuple[bool, str]:
        try:
            sealed = await self._sources.seal()
        except AssocprivError as error:
            return False, f"Sealing failed: {error}."
        return True, f"{counted(sealed, 'epoch')} sealed." if sealed else "There was nothing to seal."

    async def _guide(self) -> tuple[bool, str]:
        """Take what came in into the miner's state, and publish the guidance that follows from it."""
        done, said = await self._seal()
        if not done:
            return done, said
        state = str(self._folder / _STATE_FILE)
        publish = ("guide", "publish", state, "-o", str(self._folder / _GUIDANCE_FILE), "--force")
        record: Any = {}
        for command in (("guide", "collect", str(self._folder), "--state", state), publish):
            record = await run_command(command, _MOST_SECONDS)
            if isinstance(record, str):
                return False, f"{record[:1].upper()}{record[1:]}."
        again = "published" if record["new"] else "stays, as no whole batch has come in since it was published"
        return True, f"Guidance {record['serial']}, of level {record['level']}, {again}."


_ACTIONS: dict[str, Any] = {"seal": AdminPage._seal, "guide": AdminPage._guide}


def _page(template: str, shown: Mapping[str, Any], status: int = 200) -> Response:
    frame = {"logged_in": False, "refresh": False, "error": "", "form_token": ""}
    return HTMLResponse(_TEMPLATES.get_template(template).render(frame | dict(shown)), status)


def with_headers(headers: Mapping[str, str], send: Send) -> Send:
    """Return what sends an ASGI application's messages with some headers more."""
    own = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def send_more(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return send_more


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def _wishes(request: Request) -> tuple[_Wishes, str]:
    """Return what the operator typed, or the usual wishes and what is wrong with it."""
    asked = {name: request.query_params.get(name, "").strip() for name in ("support", "confidence")}
    asked = {name: text for name, text in asked.items() if text}
    for name, text in asked.items():
        if name == "support" and text == _AUTO:
            continue
        try:
            if not parse_share(text, f"minimum {name}"):
                raise AssocprivError(f"minimum {name} must be above 0")
        except AssocprivError as error:
            return _Wishes(), f"{str(error)[:200].capitalize()}."
    return _Wishes(**asked), ""


async def _read_form(request: Request) -> _Form:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_FORM_BYTES:
            return {}
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}


# ---- what it says


def _collection_facts(
    plan: "PublishedPlan",
    folder: Path,
    counts: Mapping[str, Any],
    answer: Answer | None,
    rate: tuple[float, float] | None,
    wishes: _Wishes,
) -> dict[str, Any]:
    """Return what a page shows of a collection; ``rate`` is reports a second, and of how many seconds."""
    analysis = _analysis_of(plan)
    view = {} if analysis is None or answer is None else analysis.view(answer, rate and rate[0])
    sealed = sorted(folder.glob("[!.]*.parquet"))
    return {
        "reports": counted(counts["reports"], "report"),
        "none_yet": not counts["reports"],
        "pace": "" if rate is None else _pace_line(*rate),
        "answer": _answer_line(view, is_wanted=wishes.support != _AUTO),
        "promise": promise_sentences(plan),
        "view": view,
        "is_wanted": wishes.support != _AUTO,
        "computed_of": None if answer is None else counted(view.get("reports", answer.reports), "report"),
        "template": None if analysis is None else analysis.template,
        "guidance": counts.get("guidance"),
        "unsealed": counts["reports"] - counts["sealed"],
        "files": [(path.name, _bytes(path.stat().st_size)) for path in sealed[:_MOST_FILES]],
        "more_files": max(len(sealed) - _MOST_FILES, 0),
        "folder": str(folder),
    }


def _round_facts(answer: Answer | None) -> dict[str, Any]:
    """Return what a page shows of a proposed next round: its promise, and what it is expected to see."""
    if answer is None or _NEXT_PLAN not in answer.files:
        return {"proposal": None, "error": "" if answer is None else _first_error(answer)}
    plan, record = parse_plan(answer.files[_NEXT_PLAN].decode("utf-8")), answer.records["plan"]
    least = record["level_discoverable_support"].items()
    return {
        "proposal": {
            "id": plan.plan_id,
            "entries": counted(record["items"], "entry").replace("entrys", "entries"),
            "reports": counted(record["reports"], "person").replace("persons", "people"),
            "promise": promise_sentences(plan),
            "sharp": [(size_name(int(k)), share(value)) for k, value in least],
        },
        "error": "",
    }


def _answer_line(view: Mapping[str, Any], *, is_wanted: bool) -> str:
    """Return what the page leads with: what was found, and when all of a support that is wanted can be."""
    said, sharp = view.get("said", ""), view.get("sharp")
    said = f"{said[:1].upper()}{said[1:]}." if said else ""
    if not (is_wanted and sharp and sharp[0]["when"]):
        return said
    late = [row for row in sharp if not row["reached"]]
    if not late:
        return f"{said} Sharp enough: every itemset of the support that you want can be told."
    takes = ", ".join(f"{row['size']} {_reports(row['needed'])}" for row in late)
    last = max(late, key=lambda row: math.inf if row["needed"] is None else row["needed"])
    return f"{said} Not sharp enough yet to tell all of them. It takes, for {takes}. When: {last['when']}."


def _reports(needed: int | None) -> str:
    return "more reports than anybody has" if needed is None else f"{needed:,} reports"


def _pace_line(per_second: float, seconds: float) -> str:
    measured = span(seconds).removeprefix("about ") if seconds >= _LEAST_SPAN else f"{seconds:.0f} seconds"
    if per_second <= 0:
        return f"No reports came in the last {measured}."
    return f"Reports come at {pace(per_second)}, over the last {measured}."


def _bytes(size: int) -> str:
    for unit, length in (("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if size >= length:
            return f"{size / length:.1f} {unit}"
    return counted(size, "byte")
