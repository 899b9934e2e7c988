"""The operator's page, /admin: an ASGI application of rendered pages without scripts (docs/cli/collector.md).

It gets the collection, the number of its reports, and a function that closes batches. It shows results first, then
detectable supports, then the guarantee. Every response forbids scripts, frames, caches and other hosts.

Access needs the token in a file, as the password of HTTP Basic (RFC 7617) or as a program's bearer token. So there is
no cookie, no session and no login form that could be stolen or kept, and nothing about a visitor is stored. A browser
keeps the token for this scheme, host and port only, until the browser is closed (a cookie goes to all ports of a host,
and without further settings also without TLS). It would also send the token with requests that pages of other sites
cause. Therefore such requests are refused: browsers name the requesting page (Sec-Fetch-Site, W3C Fetch Metadata;
Origin for buttons if a page has neither TLS nor the local machine), and no button works in a browser without this. A
browser never sends a bearer token by itself. Failed logins are limited for all clients together, because addresses are
not used. The right token is always accepted, or anyone could lock out the operator; its 256 random bits keep others
out.

Slow results are computed by the package's own commands in processes next to the server, one at a time, at low priority
and for a bounded time, so the collection goes on. The rendered result of a query is kept, and used again while the
number of reports is the same.

For a plan type without an ``analysis`` the page shows what all types have: number of reports, guarantee,
closed batches.
"""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import ipaddress
import json
import logging
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
from assocpriv.collect.store import BatchTooSmallError
from assocpriv.files.mined_tables import read_table
from assocpriv.files.report_files import files_by_day
from assocpriv.guarantees.amplification import parse_share
from assocpriv.guarantees.errors import AssocprivError, FileError, pluralize
from assocpriv.planning.detection_limits import forecast, reports_to_detect
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.plans.registry import Entry
from assocpriv.server.baskets.rules import derive_rules
from assocpriv.server.plan_parts import CHECK_MANIPULATION
from assocpriv.show import audit_views, comparison_views, itemset_views, plan_views, table_views
from assocpriv.show.guarantee_views import guarantee_sentences
from assocpriv.show.number_format import pace, span
from assocpriv.show.result_pages import environment, fragment
from assocpriv.show.result_record import Part, Record, Say, Section

TOKEN_FILE = "admin-token"  # noqa: S105  # its name
_LEAST_LETTERS = 32
_FAILURES, _SECONDS_EACH = 5.0, 10.0  # failed logins at once, and seconds after which one more may fail
_REFUSALS = {
    401: ("no-token", f"Log in with any name; the password is the token in the collection's file {TOKEN_FILE}."),
    421: ("other-host", "Open /admin by a numeric address, as localhost, or by the name of this machine."),
    403: (
        "other-site",
        "Type the address of /admin: pages of other sites can neither lead here nor press its buttons.",
    ),
    429: ("busy", f"Too many logins failed. Try again in {_SECONDS_EACH:.0f} seconds."),
}
_REFUSED_WITH = {"www-authenticate": 'Basic realm="assocpriv", charset="UTF-8"', "retry-after": "10"}
HEADERS = {  # of every page here
    "referrer-policy": "same-origin",  # with no-referrer, browsers would not name this page as a button's origin
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_OWN_HEADERS = HEADERS | {"content-security-policy": _POLICY, "cache-control": "no-store"}
_MOST_SECONDS = 600.0  # of one command
_LEAST_AGE, _MOST_ANSWERS = 20.0, 16  # seconds before a query is computed again, however fast reports arrive
_MANIPULATION_AGE = 3600.0  # the same for manipulation tests requested by metrics
_AUTO, _ROWS, _LETTERS = "auto", 60, 300  # rows of a table; letters of a test's result
_ALARM = "alarm"  # a section shown before all others
template = environment("assocpriv.pages").get_template
_Counts = Mapping[str, Any]
_Commands = tuple[tuple[str, ...], ...]
_Clock = Callable[[], float]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


# ---- access


def read_or_make_token(folder: Path) -> str:
    """Return the token of a collection's folder, which only this process uses; make it if there is none.

    Raises:
        FileError: the file cannot be read or written, is too short, or is readable by other users.
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
        raise FileError(f"other users may read {path}; remove it, and the next start makes a new token")
    if len(token) < _LEAST_LETTERS:
        raise FileError(f"{path} holds no complete token; remove it, and the next start makes a new one")
    return token


class LoginGuard:
    """Checks the token, and limits failed logins."""

    def __init__(self, token: str, clock: _Clock = time.monotonic) -> None:
        self._token, self._clock = _digest(token), clock
        self._failures, self._since = _FAILURES, clock()
        self.failed = 0

    def check(self, offered: str) -> int:
        """Return the HTTP status for an offered token: 200, 401, or 429 after too many wrong ones.

        The right token is accepted whatever failed before. An empty one is no failure: browsers first send none.
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
    """Return the token in a request's Authorization header, and whether a program sent it."""
    scheme, _, offered = authorization.partition(" ")
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):  # otherwise the offer is no token, and fails
            offered = base64.b64decode(offered, validate=True).decode().partition(":")[2]
    return offered.strip(), scheme.lower() == "bearer"


def is_cross_site(method: str, headers: Mapping[str, str]) -> bool:
    """Return whether a page of another site may have caused the request; a typed address has no page."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site != "same-origin" and (site, method) != ("none", "GET")
    return method != "GET" and not headers.get("origin", "").endswith(f"://{headers.get('host')}")


def is_own_host(host: str) -> bool:
    """Return whether a request names this machine: another name could lead here after its page was loaded.

    >>> is_own_host("[::1]:8350"), is_own_host("localhost:8350"), is_own_host("shop.example")
    (True, True, False)
    """
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name.strip("[]")))
    return name.lower() in ("localhost", socket.gethostname().lower())


# ---- commands


class CommandResults(NamedTuple):
    """Output and errors of commands, by name, and the folder of files that they made."""

    made: Path
    output: Mapping[str, bytes]
    errors: Mapping[str, str]


@dataclass(frozen=True)
class PageQuery:
    """Commands to run in sequence, each with another name; ``{made}`` in them is a folder for their files.

    A command that fails leaves its error. ``view`` turns the results into what is kept, for these ``options``.
    """

    commands: _Commands
    view: Callable[[CommandResults], Any] = field(compare=False)
    options: Any = None


@dataclass(frozen=True)
class CachedResult:
    """The result of a query's view, for a number of reports."""

    reports: int
    done_at: float
    shown: Any


class QueryRunner:
    """Runs queries one at a time; used on one event loop."""

    def __init__(
        self, seconds: float = _MOST_SECONDS, clock: _Clock = time.monotonic, *, least_age: float = _LEAST_AGE
    ) -> None:
        self._seconds, self._clock, self._least_age = seconds, clock, least_age
        self._answers: OrderedDict[PageQuery, CachedResult] = OrderedDict()
        self._waiting: OrderedDict[PageQuery, int] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def ask(self, query: PageQuery, reports: int, least_age: float | None = None) -> tuple[CachedResult | None, bool]:
        """Return the last result, perhaps for fewer reports, and whether a newer one is being computed.

        A computation starts if reports arrived since the last one, and that one is old enough.
        """
        least_age = self._least_age if least_age is None else least_age
        answer = self._answers.get(query)
        if answer is not None:
            self._answers.move_to_end(query)
        young = answer is not None and self._clock() - answer.done_at < least_age
        if answer is None or (answer.reports != reports and not young):
            self._waiting[query] = reports
            if len(self._waiting) > _MOST_ANSWERS:
                self._waiting.popitem(last=False)
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._answer_all())
        return answer, query in self._waiting

    async def close(self) -> None:
        """Stop the computation."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _answer_all(self) -> None:
        while self._waiting:
            query, reports = next(iter(self._waiting.items()))
            try:
                shown = await self._answer(query)
            except (OSError, ValueError, LookupError) as error:  # no space or process, or invalid output
                problem = f"cannot be computed: {getattr(error, 'strerror', None) or type(error).__name__}"
                logging.getLogger("assocpriv").error("operator's page: %s", problem)
                shown = query.view(CommandResults(Path(), {}, {name: problem for name, *_ in query.commands}))
            finally:
                self._waiting.pop(query, None)
            self._answers[query] = CachedResult(reports, self._clock(), shown)
            if len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)

    async def _answer(self, query: PageQuery) -> Any:
        output, errors = dict[str, bytes](), dict[str, str]()
        with tempfile.TemporaryDirectory(prefix="assocpriv-admin-") as made:
            for name, *arguments in query.commands:
                words = [each.replace("{made}", made) for each in arguments]
                try:
                    output[name] = await run_command([name, *words], self._seconds)
                except AssocprivError as error:
                    errors[name] = str(error)
            return await asyncio.to_thread(query.view, CommandResults(Path(made), output, errors))


async def run_command(arguments: Sequence[str], seconds: float) -> bytes:
    """Run a command of assocpriv and return what it prints.

    Raises:
        AssocprivError: it failed or took too long; the error is one line.
    """
    lower = [nice, "-n", "10"] if (nice := shutil.which("nice")) else []
    # modules of this process's path: -m alone would import a numbers.py of the current folder
    path = os.pathsep.join(filter(None, sys.path))
    process = await asyncio.create_subprocess_exec(
        *lower, sys.executable, "-P", "-m", "assocpriv", *arguments, env={**os.environ, "PYTHONPATH": path},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            output, talk = await process.communicate()
    except TimeoutError:
        late = f"stopped after {seconds:.0f} seconds; run assocpriv {arguments[0]} by hand"
        raise AssocprivError(late) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        errors = re.findall("^Error: (.*)", talk.decode("utf-8", "replace"), re.MULTILINE)
        raise AssocprivError(errors[-1] if errors else f"ended with status {process.returncode}")
    return output


# ---- options and results


class PageOptions(NamedTuple):
    """The operator's options as typed: minimum support and minimum confidence."""

    support: str = _AUTO
    confidence: str = "50%"


class RenderedPage(NamedTuple):
    """A rendered record: alarms, sections, and sections of the second column."""

    before: Markup
    sections: Markup
    asides: Markup


@dataclass(frozen=True)
class PageAnalysis:
    """How the page shows reports of a plan type.

    ``found`` renders the output of ``commands``, and is kept; ``standing`` renders what is known at once: counts and
    the rate of reports. ``forms`` names the forms that the page has for this type.
    """

    commands: Callable[[Path, PageOptions], _Commands] = lambda _folder, _options: ()
    found: Callable[[PublishedPlan, PageOptions, CommandResults], RenderedPage] | None = None
    standing: Callable[[Any, _Counts, float | None, PageOptions], Record] = lambda *_: Record({})
    forms: tuple[str, ...] = ()


def _rendered(record: Record, *more: Part) -> RenderedPage:
    """Return the page of a record and further sections, alarms first."""
    parts = [*more, *record.parts]
    before = [part for part in parts if not isinstance(part, Section) or part.name == _ALARM]
    sections = [part for part in parts if isinstance(part, Section) and not part.aside and part.name != _ALARM]
    asides = [part for part in parts if isinstance(part, Section) and part.aside]
    return RenderedPage(*(fragment(Record(record.content, each)) for each in (before, sections, asides)))


def _failed(plan: PublishedPlan, error: str, *more: Part) -> RenderedPage:
    return _rendered(Record({}, [_problem(error), _guarantee(plan)]), *more)


def _guarantee(plan: PublishedPlan) -> Section:
    shown = Say("Plan `{plan}`", {"plan": plan.plan_id}, "hint")
    return Section("Privacy guarantee", [*guarantee_sentences(plan), shown], "guarantee", aside=True)


def _problem(error: str) -> Say:
    return Say("{error}", {"error": error}, "wrong")


def _arrival(counts: _Counts, rate: tuple[float, float] | None) -> list[Part]:
    """Return sentences on the rate of reports: ``rate`` is reports per second, and seconds of measurement."""
    if not counts["reports"]:
        return [Say("No report has arrived yet.", kind="answer")]
    if rate is None:
        return []
    text = "Reports arrive at {pace}, measured for {span}." if rate[0] > 0 else "No report arrived in {span}."
    return [Say(text, {"pace": pace(rate[0]), "span": span(rate[1])}, "hint")]


# ---- baskets


def _basket_commands(folder: Path, options: PageOptions) -> _Commands:
    mine = ("mine", str(folder), "--min-support", options.support, "-o", "{made}/itemsets.parquet")
    compare = (("compare", str(folder), "--fdr", "5%", "--json"),) if len(files_by_day(folder)) > 1 else ()
    return mine, ("inspect", str(folder), "--check-manipulation", "--json"), *compare


def _baskets_found(plan: PublishedPlan, options: PageOptions, results: CommandResults) -> RenderedPage:
    if error := results.errors.get("mine"):
        return _failed(plan, error, _manipulation(results))
    table = read_table(results.made / "itemsets.parquet")
    derived = derive_rules(table, options.confidence)
    return _rendered(
        itemset_views.page(table, plan.require_type(Plan), derived, rows=_ROWS),
        _manipulation(results),
        *_changes(results),
    )


def _changes(results: CommandResults) -> list[Part]:
    """Return the changes from day to day, if there are several days."""
    if error := results.errors.get("compare"):
        return [Section(comparison_views.CHANGED, [_problem(error)], "changed")]
    compared = results.output.get("compare")
    return [] if compared is None else [comparison_views.changes(json.loads(compared))]


def _manipulation(results: CommandResults) -> Section:
    """Return the results of the tests for manipulated reports."""
    title = "Tests for manipulated reports"
    if error := results.errors.get("inspect"):
        return Section(title, [_problem(error)], "manipulation")
    content = json.loads(results.output["inspect"])["manipulation"]
    tests = [test | {"result": test["result"][:_LETTERS]} for test in content["tests"]]
    return Section(
        title, [audit_views.manipulation(content | {"tests": tests})], _ALARM if content["flagged"] else "manipulation"
    )


def _flagged(results: CommandResults) -> bool | None:
    """Return whether a test for manipulated reports flagged; None if the tests could not run."""
    return None if results.errors else bool(json.loads(results.output["inspect"])["manipulation"]["flagged"])


def _detectability(plan: Plan, counts: _Counts, per_second: float | None, options: PageOptions) -> Record:
    """Return by itemset size which supports are detectable now and, for a chosen support, when."""
    reports, verdict = counts["reports"], list[Part]()
    if not reports:
        return Record({})
    shown = plan_views.limits(forecast(plan, reports, manipulated=False))
    if options.support != _AUTO:
        needed = reports_to_detect(plan, options.support)
        shown = plan_views.needed(shown, needed, options.support)
        last = None if None in needed.values() else max(filter(None, needed.values()))
        verdict.append(_verdict(_when(last, reports, per_second), options.support))
    return Record(shown.content, [*verdict, Section("Detectable supports", shown.parts, "detectable")])


def _verdict(when: str, support: str) -> Say:
    """Return a sentence: whether all itemsets of the chosen support are detectable, or when."""
    text = "Too few reports yet to detect every itemset of a support of {support} or more. When: {when}."
    if when == "now":
        text = "Enough reports: every itemset of a support of {support} or more is detectable."
    return Say(text, {"support": support, "when": when}, "answer")


def _when(needed: int | None, reports: int, per_second: float | None) -> str:
    """Return when a number of reports will have arrived."""
    if needed is None:
        return "never under this plan"
    if needed <= reports:
        return "now"
    if per_second is None:
        return "not yet known"
    return f"in {span((needed - reports) / per_second)}" if per_second > 0 else "not known: no reports arrive"


# ---- other kinds of plans


def _table_found(plan: PublishedPlan, _options: PageOptions, results: CommandResults) -> RenderedPage:
    if error := results.errors.get("reconstruct"):
        return _failed(plan, error)
    content = json.loads(results.output["reconstruct"])
    return _rendered(table_views.distributions_page(content, plan, "Distribution of values", _ROWS))


def _guidance(_plan: PublishedPlan, counts: _Counts, _per_second: float | None, _options: PageOptions) -> Record:
    text = "No guidance is published yet: devices wait."
    if counts["guidance"]:
        text = "Devices answer guidance {guidance[serial]}, of level {guidance[level]}."
    return Record(counts, [Say(text, kind="answer")])


_ANALYSIS: Entry[PageAnalysis] = Entry("analysis", "analysed")
BASKETS = PageAnalysis(_basket_commands, _baskets_found, _detectability, ("options",))
TABLES = PageAnalysis(lambda folder, _options: (("reconstruct", str(folder), "--json"),), _table_found)
GUIDED = PageAnalysis(standing=_guidance, forms=("guide",))  # its sums are in the miner's state


# ---- the page


class AdminPage:
    """The application of the operator's page.

    ``folder`` holds the plan's reports, ``status`` returns the content of ``GET /status``, and ``close_batches`` closes
    batches and returns their number.
    """

    def __init__(
        self, plan: PublishedPlan, folder: Path, status: Callable[[], _Counts],
        close_batches: Callable[[], Awaitable[int]], token: str,
    ) -> None:  # fmt: skip
        self._plan, self._folder, self._status, self._close_batches = plan, folder, status, close_batches
        self._guard, self._runner, self._rate = LoginGuard(token), QueryRunner(), Rate(status()["reports"])
        self._analysis = _ANALYSIS.of(plan.kind) if _ANALYSIS.is_of(plan.kind) else PageAnalysis()
        self._guarantee = _rendered(Record({}, [_guarantee(plan)]))
        self._notice = ""  # result of the last action, shown once
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
        """Stop the page's computations."""
        await self._runner.close()

    def _refusal(self, request: Request) -> Response | None:
        """Return the response to a request without access; None with access."""
        offered, is_program = offered_token(request.headers.get("authorization", ""))
        elsewhere = not is_program and is_cross_site(request.method, request.headers)
        misled = not is_program and not is_own_host(request.headers.get("host", "localhost"))
        status = 421 if misled else 403 if elsewhere else self._guard.check(offered)
        if status == 200:
            return None
        error, message = _REFUSALS[status]
        if is_program:
            return JSONResponse({"error": error, "message": message}, status, _REFUSED_WITH)
        return PlainTextResponse(f"{message}\n", status, _REFUSED_WITH)

    # ---- views

    @property
    def failed_logins(self) -> int:
        """Number of failed logins."""
        return self._guard.failed

    def check_manipulation(self, reports: int) -> tuple[bool, int]:
        """Return the last result of the manipulation tests, and their number of reports; run them once an hour."""
        has_tests = CHECK_MANIPULATION.is_of(self._plan.kind)
        if reports < self._plan.minimum_batch_size or not reports or not has_tests:
            return False, 0
        commands = (("inspect", str(self._folder), "--check-manipulation", "--json"),)
        answer, _ = self._runner.ask(PageQuery(commands, _flagged), reports, _MANIPULATION_AGE)
        return (False, 0) if answer is None or answer.shown is None else (answer.shown, answer.reports)

    async def _show(self, request: Request) -> Response:
        options, wrong = _read_options(request)
        counts = await asyncio.to_thread(self._status)
        hidden = self._plan.minimum_batch_size > 1  # nothing is shown before its batch is closed
        readable = counts["closed"] if hidden else counts["reports"]
        commands = self._analysis.commands(self._folder, options) if readable else ()
        answer, working = None, False
        if commands:
            view = partial(cast(Any, self._analysis.found), self._plan, options)
            answer, working = self._runner.ask(PageQuery(commands, view, options), readable)
        standing, files = await asyncio.to_thread(self._quick_parts, counts, options)
        notice, self._notice = wrong or self._notice, ""
        shown: dict[str, Any] = {"options": options, "notice": notice, "standing": standing, "files": files}
        shown |= {"found": answer.shown if answer else self._guarantee, "working": working, "is_new": answer is None}
        shown |= {"title": pluralize(counts["reports"], "report"), "open": counts["reports"] - counts["closed"]}
        return HTMLResponse(template("collection.html").render(shown, forms=self._analysis.forms))

    def _quick_parts(self, counts: _Counts, options: PageOptions) -> tuple[RenderedPage, list[str]]:
        """Return what needs no command, and the names of report files."""
        rate = self._rate.per_second(counts["reports"])
        standing = self._analysis.standing(self._plan, counts, rate and rate[0], options)
        closed = sorted(path.name for path in self._folder.glob("[!.]*.parquet"))
        return _rendered(Record(standing.content, [*_arrival(counts, rate), *standing.parts])), closed

    async def _file(self, request: Request) -> Response:
        """Return a report file of a closed batch."""
        path = self._folder / request.path_params["name"]
        if path not in self._folder.glob("[!.]*.parquet"):
            return PlainTextResponse("There is no such file.\n", 404)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    # ---- actions

    async def _act(self, request: Request) -> Response:
        """Perform a button's action, and return its result on the page or to a program."""
        action = _ACTIONS[request.url.path.removeprefix("/admin/")]
        async with self._acting:
            try:
                done, message = True, await action(self)
            except AssocprivError as error:
                done, message = False, f"Failed: {error}."
        if offered_token(request.headers["authorization"])[1]:
            return JSONResponse({"done": done, "message": message}, 200 if done else 409)
        self._notice = message
        return RedirectResponse("/admin", 303)

    async def _close(self) -> str:
        closed = await self._close_batches()
        return f"{pluralize(closed, 'batch')} closed." if closed else "There was no report to close."

    async def _guide(self) -> str:
        """Add the new reports to the miner's state, and publish the resulting guidance."""
        with contextlib.suppress(BatchTooSmallError):  # these reports wait for more
            await self._close_batches()
        state, output = (str(self._folder / name) for name in ("miner-state.json", "guidance.json"))
        await run_command(("guide", "collect", str(self._folder), "--state", state), _MOST_SECONDS)
        words = ("guide", "publish", state, "-o", output, "--force", "--json")
        record = json.loads(await run_command(words, _MOST_SECONDS))
        result = "published" if record["new"] else "kept, because no complete batch has arrived since it was published"
        return f"Guidance {record['serial']}, of level {record['level']}, {result}."


_ACTIONS: dict[str, Any] = {"close": AdminPage._close, "guide": AdminPage._guide}


def show_style(_: Request) -> Response:
    """Return the style sheet of all pages."""
    return Response(template("style.css").render(), media_type="text/css")


def with_headers(headers: Mapping[str, str], send: Send) -> Any:
    """Return a function that sends an ASGI application's messages with further headers."""

    async def send_more(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=cast(Any, message)).update(headers)
        await send(message)

    return send_more


def _read_options(request: Request) -> tuple[PageOptions, str]:
    """Return the operator's options, or the default ones with an error message."""
    defaults = PageOptions()._asdict()
    typed = {name: request.query_params.get(name, "").strip() or each for name, each in defaults.items()}
    try:
        for name, text in typed.items():
            if (name, text) != ("support", _AUTO) and not parse_share(text, f"minimum {name}"):
                raise AssocprivError(f"minimum {name} must be above 0")
    except AssocprivError as error:
        return PageOptions(), f"{str(error)[:_LETTERS].capitalize()}."
    return PageOptions(**typed), ""
