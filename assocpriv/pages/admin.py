"""The operator's page, /admin: an ASGI application of rendered pages without script (docs/cli/serve.md).

It is given what it shows: the collection, how many reports there are, and how to seal. What takes time runs in
processes of its own (analysis.py). Every answer forbids scripts, frames, caches and other hosts.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from assocpriv.collect.metrics import Rate
from assocpriv.pages.analysis import MOST_SECONDS, Analyst, Question, run_command
from assocpriv.pages.facts import collection_facts, round_facts
from assocpriv.pages.kinds import AUTO, NEXT_PLAN, Wishes, next_round, question_of
from assocpriv.pages.sessions import Sessions, TooManyFailuresError
from assocpriv.plans.kind import parse_plan
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import parse_share
from assocpriv.promise.errors import AssocprivError, counted

STATE_FILE, GUIDANCE_FILE = "miner-state.json", "guidance.json"
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
_TEMPLATES = Environment(
    loader=PackageLoader("assocpriv.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip
Form = Mapping[str, str]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True)
class Sources:
    """What the page asks of the collector.

    Attributes:
        plan: the plan of the collection.
        folder: where its reports are.
        status: as ``GET /status``.
        seal: seals the epochs, and returns how many.
    """

    plan: PublishedPlan
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
                Route(f"/admin/{NEXT_PLAN}", self._next_plan),
                Route("/admin/files/{name}", self._file),
                *(Route(f"/admin/{name}", self._act, methods=["POST"]) for name in _ACTIONS),
            ]
        )

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:
        """Answer a request, with the headers of all pages."""

        async def guarded(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        await self._pages(cast(Any, scope), receive, cast(Any, guarded))

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
        question = question_of(self._plan, self._folder, wishes) if counts["reports"] else None
        answer, working = (None, False) if question is None else self._analyst.ask(question, counts["reports"])
        facts = await asyncio.to_thread(collection_facts, self._plan, self._folder, counts, answer, rate, wishes)
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
        facts = await asyncio.to_thread(round_facts, answer)
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
        itemsets = "itemsets" in request.query_params
        return next_round(self._folder, wishes, itemsets=itemsets, people=people)

    async def _next_plan(self, request: Request) -> Response:
        """Hand out the plan that was proposed."""
        text = await self._proposed(request) if self._may(request) else None
        if text is None:
            return RedirectResponse(f"/admin/round?{request.url.query}", 303)
        return Response(text, media_type="application/json", headers=_attached(NEXT_PLAN))

    async def _proposed(self, request: Request) -> bytes | None:
        """Return the text of the plan that the operator was shown, None where it was made anew meanwhile."""
        question = self._round(request)
        answer = None if isinstance(question, str) else self._analyst.last(question)
        text = None if answer is None else answer.files.get(NEXT_PLAN)
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
        state = str(self._folder / STATE_FILE)
        publish = ("guide", "publish", state, "-o", str(self._folder / GUIDANCE_FILE), "--force")
        record: Any = {}
        for command in (("guide", "collect", str(self._folder), "--state", state), publish):
            record = await run_command(command, MOST_SECONDS)
            if isinstance(record, str):
                return False, f"{record[:1].upper()}{record[1:]}."
        again = "published" if record["new"] else "stays, as no whole batch has come in since it was published"
        return True, f"Guidance {record['serial']}, of level {record['level']}, {again}."


_ACTIONS: dict[str, Any] = {"seal": AdminPage._seal, "guide": AdminPage._guide}


def _page(template: str, shown: Mapping[str, Any], status: int = 200) -> Response:
    frame = {"logged_in": False, "refresh": False, "error": "", "form_token": ""}
    return HTMLResponse(_TEMPLATES.get_template(template).render(frame | dict(shown)), status)


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def _wishes(request: Request) -> tuple[Wishes, str]:
    """Return what the operator typed, or the usual wishes and what is wrong with it."""
    asked = {name: request.query_params.get(name, "").strip() for name in ("support", "confidence")}
    asked = {name: text for name, text in asked.items() if text}
    for name, text in asked.items():
        if name == "support" and text == AUTO:
            continue
        try:
            if not parse_share(text, f"minimum {name}"):
                raise AssocprivError(f"minimum {name} must be above 0")
        except AssocprivError as error:
            return Wishes(), f"{str(error)[:200].capitalize()}."
    return Wishes(**asked), ""


async def _read_form(request: Request) -> Form:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_FORM_BYTES:
            return {}
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}
