"""The operator's page, /admin: an ASGI application of rendered pages without script (docs/cli/collector.md).

It is given what it shows: the collection, how many reports there are, and how to seal. What is found is said first,
then how sharp that is, and what is promised. Every answer forbids scripts, frames, caches and other hosts.

Who may see it: who sends the token that is in a file, as the password of HTTP Basic (RFC 7617), or as a program's
bearer. So there is no cookie, no session and no form of login that could be stolen, kept or forgotten, and nothing of a
visitor is kept. A browser holds the token for this scheme, host and port alone (a cookie goes to all ports of a host,
and without TLS if it is not told otherwise), until it is closed. It would also send it with what pages of other sites
ask for. So no such request is answered: browsers say which page asks (Sec-Fetch-Site, W3C Fetch Metadata; Origin of
buttons where a page has neither TLS nor the own machine), and no button works where they do not. A bearer is never sent
by a browser on its own. Failed logins are limited for all together, as no address is looked at. Who has the token is
let in all the same, or anybody could lock the operator out; what keeps others out are its 256 random bits.

What takes time is answered by the package's own commands in processes beside the server, so the collection goes on
while they compute: one at a time, at low priority, for a bounded time. What is made of their answers for the page is
kept by question, and taken again while the number of reports is the same.

Of a kind of plan without an entry ``pages.analysis`` the page shows what it does of all: how many reports, the promise,
what is sealed.
"""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import ipaddress
import json
import logging
import math
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from assocpriv.collect.metrics import Rate
from assocpriv.collect.store import TooFewError
from assocpriv.files.reports import days_of
from assocpriv.planning.discovery import foresee, reports_to_discover
from assocpriv.plans.baskets import Plan
from assocpriv.plans.kind import knows, load_for
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import parse_share
from assocpriv.promise.errors import AssocprivError, FileError, counted
from assocpriv.server.itemsets import read_table
from assocpriv.server.rules import derive_rules
from assocpriv.show import audits, comparisons, itemsets, tables
from assocpriv.show.figures import finite, pace, size_name, span
from assocpriv.show.html import environment, fragment
from assocpriv.show.promises import promise_sentences
from assocpriv.show.record import Column, Part, Record, Say, Section, Table

TOKEN_FILE = "admin-token"  # noqa: S105  # its name
_LEAST_LETTERS = 32
_FAILURES, _SECONDS_EACH = 5.0, 10.0  # failed logins at once, and seconds after which one more may fail
_REFUSALS = {
    401: ("no-token", f"Log in with any name and, as the password, the token in the collection's file {TOKEN_FILE}."),
    421: ("other-host", "Open /admin by an address in figures, as localhost, or by the name of this machine."),
    403: ("other-site", "Open /admin by its address: pages of other sites neither lead here nor press its buttons."),
    429: ("busy", f"Too many logins failed. Try again in {_SECONDS_EACH:.0f} seconds."),
}
_REFUSED_WITH = {"www-authenticate": 'Basic realm="assocpriv", charset="UTF-8"', "retry-after": "10"}
HEADERS = {  # of every page here
    "referrer-policy": "same-origin",  # with no-referrer browsers would not say that a button is this page's
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_OWN_HEADERS = HEADERS | {"content-security-policy": _POLICY, "cache-control": "no-store"}
_MOST_SECONDS = 600.0  # of one command
_LEAST_AGE, _MOST_ANSWERS = 20.0, 16  # seconds before a question is answered anew, however fast reports come
_CRAFTED_AGE = 3600.0  # the same of crafted reports, where only metrics ask
_SHARP = "Smallest support that can be detected; searching all: fewer than one false find in 100 collections"
_AUTO, _ROWS, _LETTERS = "auto", 60, 300  # rows of a table, letters of what a test has seen
_ALARM = "alarm"  # a section that stands before all others
template = environment("assocpriv.pages").get_template
_Counts = Mapping[str, Any]
_Commands = tuple[tuple[str, ...], ...]
_Clock = Callable[[], float]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


# ---- who may see it


def read_or_make_token(folder: Path) -> str:
    """Return the token of a collection's folder, which is this process's own; it is made if there is none.

    Raises:
        FileError: the file cannot be read or written, was cut off, or others may read it.
    """
    path = folder / TOKEN_FILE
    try:
        private = partial(os.open, mode=0o600)  # from the beginning
        with contextlib.suppress(FileExistsError), open(path, "x", encoding="ascii", opener=private) as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        mode, token = path.stat().st_mode, path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot use the operator's token {path}: {getattr(error, 'strerror', error)}") from None
    if os.name == "posix" and mode & 0o077:
        raise FileError(f"others than its owner may read {path}; remove it, and a new token is made at the next start")
    if len(token) < _LEAST_LETTERS:
        raise FileError(f"{path} holds no whole token; remove it, and a new one is made at the next start")
    return token


class Guard:
    """Knows the token, and how many logins failed of late."""

    def __init__(self, token: str, clock: _Clock = time.monotonic) -> None:
        self._token, self._clock = _digest(token), clock
        self._failures, self._since = _FAILURES, clock()
        self.failed = 0

    def judge(self, offered: str) -> int:
        """Return the HTTP status of a token that is offered: 200, 401, or 429 after too many others.

        The operator's own is let in however often others failed. None is no failure: browsers first ask for nothing.
        """
        if hmac.compare_digest(_digest(offered), self._token):
            return 200
        if not offered:
            return 401
        self.failed += 1
        now = self._clock()
        self._failures = min(_FAILURES, self._failures + (now - self._since) / _SECONDS_EACH)
        self._since = now
        if self._failures < 1:
            return 429
        self._failures -= 1
        return 401


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def offered_token(authorization: str) -> tuple[str, bool]:
    """Return the token that a request's header offers, and whether a program does."""
    scheme, _, offered = authorization.partition(" ")
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):  # else what is offered is no token, and so a failure
            offered = base64.b64decode(offered, validate=True).decode().partition(":")[2]
    return offered.strip(), scheme.lower() == "bearer"


def is_from_elsewhere(method: str, headers: Mapping[str, str]) -> bool:
    """Tell whether a page of another site may have a browser ask, or press a button; a typed address is no page's."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site != "same-origin" and (site, method) != ("none", "GET")
    return method != "GET" and not headers.get("origin", "").endswith(f"://{headers.get('host')}")


def is_own_host(host: str) -> bool:
    """Tell whether a request names this machine: a name of somebody else's could lead here after its page was loaded.

    >>> is_own_host("[::1]:8350"), is_own_host("localhost:8350"), is_own_host("shop.example")
    (True, True, False)
    """
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name.strip("[]")))
    return name.lower() in ("localhost", socket.gethostname().lower())


# ---- commands


class Results(NamedTuple):
    """What commands said, and of those that failed their errors, by name; and the folder of what they made."""

    made: Path
    said: Mapping[str, bytes]
    errors: Mapping[str, str]


@dataclass(frozen=True)
class Question:
    """Commands to run one after the other, each of another name; ``{made}`` in them is a folder for what they make.

    One that fails leaves its error. ``view`` makes of the results what is kept; ``wishes`` are those it is made for.
    """

    commands: _Commands
    view: Callable[[Results], Any] = field(compare=False)
    wishes: Any = None


@dataclass(frozen=True)
class Answer:
    """What a question's view made of the results, of so many reports."""

    reports: int
    done_at: float
    shown: Any


class Analyst:
    """Answers questions one at a time; used on one event loop."""

    def __init__(
        self, seconds: float = _MOST_SECONDS, clock: _Clock = time.monotonic, *, least_age: float = _LEAST_AGE
    ) -> None:
        self._seconds, self._clock, self._least_age = seconds, clock, least_age
        self._answers: OrderedDict[Question, Answer] = OrderedDict()
        self._waiting: OrderedDict[Question, int] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def ask(self, question: Question, reports: int, least_age: float | None = None) -> tuple[Answer | None, bool]:
        """Return the last answer, which may be of fewer reports, and whether a newer one is being made.

        A new one is begun if reports came since the last, and that is old enough.
        """
        least_age = self._least_age if least_age is None else least_age
        answer = self._answers.get(question)
        if answer is not None:
            self._answers.move_to_end(question)
        young = answer is not None and self._clock() - answer.done_at < least_age
        if answer is None or (answer.reports != reports and not young):
            self._waiting[question] = reports
            if len(self._waiting) > _MOST_ANSWERS:
                self._waiting.popitem(last=False)
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._answer_all())
        return answer, question in self._waiting

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
                shown = await self._answer(question)
            except (OSError, ValueError, LookupError) as error:  # no room or process, an answer that is none
                said = f"cannot be computed: {getattr(error, 'strerror', None) or type(error).__name__}"
                logging.getLogger("assocpriv").error("the operator's page: %s", said)
                shown = question.view(Results(Path(), {}, {name: said for name, *_ in question.commands}))
            finally:
                self._waiting.pop(question, None)
            self._answers[question] = Answer(reports, self._clock(), shown)
            if len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)

    async def _answer(self, question: Question) -> Any:
        said, errors = dict[str, bytes](), dict[str, str]()
        with tempfile.TemporaryDirectory(prefix="assocpriv-admin-") as made:
            for name, *arguments in question.commands:
                words = [each.replace("{made}", made) for each in arguments]
                try:
                    said[name] = await run_command([name, *words], self._seconds)
                except AssocprivError as error:
                    errors[name] = str(error)
            return await asyncio.to_thread(question.view, Results(Path(made), said, errors))


async def run_command(arguments: Sequence[str], seconds: float) -> bytes:
    """Run a command of assocpriv and return what it prints.

    Raises:
        AssocprivError: it failed, or took too long; what it said of that, in a line.
    """
    lower = [nice, "-n", "10"] if (nice := shutil.which("nice")) else []
    # modules from where this process has them: -m alone would take a numbers.py that lies in the current folder
    path = os.pathsep.join(filter(None, sys.path))
    process = await asyncio.create_subprocess_exec(
        *lower, sys.executable, "-P", "-m", "assocpriv", *arguments, env={**os.environ, "PYTHONPATH": path},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            said, talk = await process.communicate()
    except TimeoutError:
        late = f"took more than {seconds:.0f} seconds and was ended; run assocpriv {arguments[0]} by hand"
        raise AssocprivError(late) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        errors = re.findall("^Error: (.*)", talk.decode("utf-8", "replace"), re.MULTILINE)
        raise AssocprivError(errors[-1] if errors else f"ended with status {process.returncode}")
    return said


# ---- what is asked and found


class Wishes(NamedTuple):
    """What the operator asked for: the least support and confidence, as they were typed."""

    support: str = _AUTO
    confidence: str = "50%"


class Found(NamedTuple):
    """A record, rendered: what stands before all, sections, and those beside them."""

    before: Markup
    sections: Markup
    beside: Markup


@dataclass(frozen=True)
class Analysis:
    """How the page shows reports of a kind of plan.

    ``found`` is made of what ``commands`` said, and kept; ``standing`` of what is known at once: counts, and how many
    reports come a second. ``forms`` names those that the page has for this kind.
    """

    commands: Callable[[Path, Wishes], _Commands] = lambda _folder, _wishes: ()
    found: Callable[[PublishedPlan, Wishes, Results], Found] | None = None
    standing: Callable[[Any, _Counts, float | None, Wishes], Record] = lambda *_: Record({})
    forms: tuple[str, ...] = ()


def _rendered(record: Record, *more: Part) -> Found:
    """Return a page's record, with further sections, as the page lays it out: alarms first."""
    parts = [*more, *record.parts]
    before = [part for part in parts if not isinstance(part, Section) or part.name == _ALARM]
    sections = [part for part in parts if isinstance(part, Section) and not part.aside and part.name != _ALARM]
    beside = [part for part in parts if isinstance(part, Section) and part.aside]
    return Found(*(fragment(Record(record.content, each)) for each in (before, sections, beside)))


def _failed(plan: PublishedPlan, error: str, *more: Part) -> Found:
    return _rendered(Record({}, [_wrong(error), _promise(plan)]), *more)


def _promise(plan: PublishedPlan) -> Section:
    shown = Say("Plan `{plan}`", {"plan": plan.plan_id}, "hint")
    return Section("What is promised", [*promise_sentences(plan), shown], "promise", aside=True)


def _wrong(error: str) -> Say:
    return Say("{error}", {"error": error}, "wrong")


def _arrived(counts: _Counts, rate: tuple[float, float] | None) -> list[Part]:
    """Say how fast reports come: ``rate`` is how many a second, and of how many seconds."""
    if not counts["reports"]:
        return [Say("None has come so far.", kind="answer")]
    if rate is None:
        return []
    said = "Reports come at {pace}, measured for {span}." if rate[0] > 0 else "No report came in {span}."
    return [Say(said, {"pace": pace(rate[0]), "span": span(rate[1])}, "hint")]


# ---- baskets


def _basket_commands(folder: Path, wishes: Wishes) -> _Commands:
    mine = ("mine", str(folder), "--min-support", wishes.support, "-o", "{made}/itemsets.parquet")
    compare = (("compare", str(folder), "--certain", "95%", "--json"),) if len(days_of(folder)) > 1 else ()
    return mine, ("inspect", str(folder), "--check-crafted", "--json"), *compare


def _baskets_found(plan: PublishedPlan, wishes: Wishes, results: Results) -> Found:
    if error := results.errors.get("mine"):
        return _failed(plan, error, _crafted(results))
    table = read_table(results.made / "itemsets.parquet")
    derived = derive_rules(table, wishes.confidence)
    return _rendered(itemsets.page(table, plan.as_a(Plan), derived, rows=_ROWS), _crafted(results), *_changes(results))


def _changes(results: Results) -> list[Part]:
    """Return what changed from day to day, where there are several."""
    if error := results.errors.get("compare"):
        return [Section(comparisons.CHANGED, [_wrong(error)], "changed")]
    said = results.said.get("compare")
    return [] if said is None else [comparisons.section(json.loads(said))]


def _crafted(results: Results) -> Section:
    """Return what tests for crafted reports saw."""
    title = "Are there fake reports?"
    if error := results.errors.get("inspect"):
        return Section(title, [_wrong(error)], "crafted")
    content = json.loads(results.said["inspect"])["crafted"]
    tests = [test | {"seen": test["seen"][:_LETTERS]} for test in content["tests"]]
    return Section(title, [audits.crafted(content | {"tests": tests})], _ALARM if content["flagged"] else "crafted")


def _flagged(results: Results) -> bool | None:
    """Tell whether a test for crafted reports flagged; None where they could not be done."""
    return None if results.errors else bool(json.loads(results.said["inspect"])["crafted"]["flagged"])


def _sharpness(plan: Plan, counts: _Counts, per_second: float | None, wishes: Wishes) -> Record:
    """Return which supports can be told now and, of one that is wanted, when; of each itemset size."""
    reports = counts["reports"]
    limits = foresee(plan, max(reports, 1), forged=False).discoverable
    every, named = finite(limits.level), finite(limits.lowest)
    rows = [{"size": size_name(k), "one": named[str(k)], "all": every[str(k)]} for k in limits.level]
    columns = [Column("size", "{size}", "name"), Column("searching all", "{all:least}"),
               Column("one itemset chosen beforehand", "{one:least}")]  # fmt: skip
    verdict = []
    if wishes.support != _AUTO:
        wanted = reports_to_discover(plan, wishes.support)
        for k, row in zip(limits.level, rows, strict=True):
            row |= {"needed": wanted[k], "when": _when(wanted[k], reports, per_second)}
        columns += [Column("reports it takes", "{needed:#}"), Column("when", "{when}", "text")]
        verdict = [_verdict(rows)]
    content = {"reports": reports, "min_support": wishes.support, "sharp": rows}
    sharp = Section("How sharp is it?", [Table(columns, rows, _SHARP)], "sharp")
    return Record(content, [*verdict, sharp] if reports else [])


def _verdict(rows: Sequence[Mapping[str, Any]]) -> Say:
    """Say whether all itemsets of the support that is wanted can be told, and else when."""
    late = [place for place, row in enumerate(rows) if row["when"] != "now"]
    if not late:
        return Say("Sharp enough: every itemset of a support of {min_support} or more is told.", kind="answer")
    last = max(late, key=lambda place: rows[place]["needed"] or math.inf)
    said = "Not sharp enough yet to tell every itemset of a support of {min_support} or more. When: "
    return Say(f"{said}{{sharp[{last}][when]}}.", kind="answer")


def _when(needed: int | None, reports: int, per_second: float | None) -> str:
    """Say when so many reports will be there."""
    if needed is None:
        return "never under this plan"
    if needed <= reports:
        return "now"
    if per_second is None:
        return "not known yet"
    return f"in {span((needed - reports) / per_second)}" if per_second > 0 else "no reports come"


# ---- other kinds of plans


def _table_found(plan: PublishedPlan, _wishes: Wishes, results: Results) -> Found:
    if error := results.errors.get("reconstruct"):
        return _failed(plan, error)
    content = json.loads(results.said["reconstruct"])
    return _rendered(tables.distributions_page(content, plan, "How the values are spread", _ROWS))


def _guidance(_plan: PublishedPlan, counts: _Counts, _per_second: float | None, _wishes: Wishes) -> Record:
    said = "No guidance is published so far: devices wait."
    if counts["guidance"]:
        said = "People answer guidance {guidance[serial]}, of level {guidance[level]}."
    return Record(counts, [Say(said, kind="answer")])


BASKETS = Analysis(_basket_commands, _baskets_found, _sharpness, ("wishes",))
TABLES = Analysis(lambda folder, _wishes: (("reconstruct", str(folder), "--json"),), _table_found)
GUIDED = Analysis(standing=_guidance, forms=("guide",))  # its sums are in the miner's state


# ---- the page


class AdminPage:
    """The application.

    ``folder`` is where the plan's reports are, ``status`` tells what ``GET /status`` does, ``seal`` seals the epochs
    and returns how many.
    """

    def __init__(
        self, plan: PublishedPlan, folder: Path, status: Callable[[], _Counts], seal: Callable[[], Awaitable[int]],
        token: str,
    ) -> None:  # fmt: skip
        self._plan, self._folder, self._status, self._seal_all = plan, folder, status, seal
        self._guard, self._analyst, self._rate = Guard(token), Analyst(), Rate(status()["reports"])
        known = knows(plan.kind, "pages.analysis")
        self._analysis: Analysis = load_for(plan.kind, "pages.analysis", "analysed") if known else Analysis()
        self._promise = _rendered(Record({}, [_promise(plan)]))
        self._notice = ""  # what the last action came to, to be shown once
        self._acting = asyncio.Lock()
        self._pages = Starlette(
            routes=[
                Route("/admin", self._show),
                Route("/admin/style.css", show_style),
                Route("/admin/files/{name}", self._file),
                *(Route(f"/admin/{name}", self._act, methods=["POST"]) for name in _ACTIONS),
            ]
        )

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:
        """Answer a request, with the headers of all pages."""
        answer: Any = self._refusal(Request(cast(Any, scope))) or self._pages
        await answer(scope, receive, with_headers(_OWN_HEADERS, send))

    async def close(self) -> None:
        """End what is being computed for the page."""
        await self._analyst.close()

    def _refusal(self, request: Request) -> Response | None:
        """Return what somebody gets who may not see the page; None of whoever may."""
        offered, is_program = offered_token(request.headers.get("authorization", ""))
        elsewhere = not is_program and is_from_elsewhere(request.method, request.headers)
        misled = not is_program and not is_own_host(request.headers.get("host", "localhost"))
        status = 421 if misled else 403 if elsewhere else self._guard.judge(offered)
        if status == 200:
            return None
        error, said = _REFUSALS[status]
        if is_program:
            return JSONResponse({"error": error, "message": said}, status, _REFUSED_WITH)
        return PlainTextResponse(f"{said}\n", status, _REFUSED_WITH)

    # ---- what is seen

    @property
    def failed_logins(self) -> int:
        """How many logins failed."""
        return self._guard.failed

    def crafted(self, reports: int) -> tuple[bool, int]:
        """Return whether tests for crafted reports flagged when last done, and of how many; begin them once an hour."""
        if reports < self._plan.least_batch or not reports or not knows(self._plan.kind, "server.crafted"):
            return False, 0
        commands = (("inspect", str(self._folder), "--check-crafted", "--json"),)
        answer, _ = self._analyst.ask(Question(commands, _flagged), reports, _CRAFTED_AGE)
        return (False, 0) if answer is None or answer.shown is None else (answer.shown, answer.reports)

    async def _show(self, request: Request) -> Response:
        wishes, wrong = _wishes(request)
        counts = await asyncio.to_thread(self._status)
        hidden = self._plan.least_batch > 1  # and so nothing is shown before it is sealed
        readable = counts["sealed"] if hidden else counts["reports"]
        commands = self._analysis.commands(self._folder, wishes) if readable else ()
        answer, working = None, False
        if commands:
            view = partial(cast(Any, self._analysis.found), self._plan, wishes)
            answer, working = self._analyst.ask(Question(commands, view, wishes), readable)
        standing, files = await asyncio.to_thread(self._at_once, counts, wishes)
        notice, self._notice = wrong or self._notice, ""
        shown: dict[str, Any] = {"wishes": wishes, "notice": notice, "standing": standing, "files": files}
        shown |= {"found": answer.shown if answer else self._promise, "working": working, "is_new": answer is None}
        shown |= {"title": counted(counts["reports"], "report"), "unsealed": counts["reports"] - counts["sealed"]}
        return HTMLResponse(template("collection.html").render(shown, forms=self._analysis.forms))

    def _at_once(self, counts: _Counts, wishes: Wishes) -> tuple[Found, list[str]]:
        """Return what can be said without a command, and the sealed files."""
        rate = self._rate.per_second(counts["reports"])
        standing = self._analysis.standing(self._plan, counts, rate and rate[0], wishes)
        sealed = sorted(path.name for path in self._folder.glob("[!.]*.parquet"))
        return _rendered(Record(standing.content, [*_arrived(counts, rate), *standing.parts])), sealed

    async def _file(self, request: Request) -> Response:
        """Hand out a sealed report file."""
        path = self._folder / request.path_params["name"]
        if path not in self._folder.glob("[!.]*.parquet"):
            return PlainTextResponse("There is no such file.\n", 404)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    # ---- what is done

    async def _act(self, request: Request) -> Response:
        """Do what a button says, and tell it on the page or to a program."""
        action = _ACTIONS[request.url.path.removeprefix("/admin/")]
        async with self._acting:
            try:
                done, said = True, await action(self)
            except AssocprivError as error:
                done, said = False, f"It failed: {error}."
        if offered_token(request.headers["authorization"])[1]:
            return JSONResponse({"done": done, "message": said}, 200 if done else 409)
        self._notice = said
        return RedirectResponse("/admin", 303)

    async def _seal(self) -> str:
        sealed = await self._seal_all()
        return f"{counted(sealed, 'epoch')} sealed." if sealed else "There was nothing to seal."

    async def _guide(self) -> str:
        """Take what came in into the miner's state, and publish the guidance that follows from it."""
        with contextlib.suppress(TooFewError):  # they wait for others
            await self._seal_all()
        state, output = (str(self._folder / name) for name in ("miner-state.json", "guidance.json"))
        await run_command(("guide", "collect", str(self._folder), "--state", state), _MOST_SECONDS)
        said = await run_command(("guide", "publish", state, "-o", output, "--force", "--json"), _MOST_SECONDS)
        record = json.loads(said)
        again = "published" if record["new"] else "stays, as no whole batch has come in since it was published"
        return f"Guidance {record['serial']}, of level {record['level']}, {again}."


_ACTIONS: dict[str, Any] = {"seal": AdminPage._seal, "guide": AdminPage._guide}


def show_style(_: Request) -> Response:
    """Answer with the style sheet of all pages."""
    return Response(template("style.css").render(), media_type="text/css")


def with_headers(headers: Mapping[str, str], send: Send) -> Any:
    """Return what sends an ASGI application's messages with some headers more."""

    async def send_more(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=cast(Any, message)).update(headers)
        await send(message)

    return send_more


def _wishes(request: Request) -> tuple[Wishes, str]:
    """Return what the operator typed, or the usual wishes and what is wrong with it."""
    usual = Wishes()._asdict()
    asked = {name: request.query_params.get(name, "").strip() or each for name, each in usual.items()}
    try:
        for name, text in asked.items():
            if (name, text) != ("support", _AUTO) and not parse_share(text, f"minimum {name}"):
                raise AssocprivError(f"minimum {name} must be above 0")
    except AssocprivError as error:
        return Wishes(), f"{str(error)[:_LETTERS].capitalize()}."
    return Wishes(**asked), ""
