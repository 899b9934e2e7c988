"""The collector as an ASGI application: reports come in, the plan and counts go out (docs/formats/collector.md).

``POST /reports`` is answered without a framework, as thousands come a second; all else is routed by Starlette. Nothing
of a request but its records is stored or logged: no address, no time, no header.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from assocpriv.collector.intake import Intake
from assocpriv.collector.keys import Keyring
from assocpriv.collector.lock import FolderLock
from assocpriv.collector.metrics import Load, Metrics
from assocpriv.collector.origins import shared_with
from assocpriv.collector.published_guidance import PublishedGuidance
from assocpriv.collector.served_campaign import ServedCampaign
from assocpriv.collector.store import Collecting, StoreFullError
from assocpriv.collector.wire import MOST_BYTES, Refused, read_upload
from assocpriv.plans.guided.plan import GuidedPlan
from assocpriv.plans.published import PublishedPlan

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_BODY_SECONDS = 30.0  # in which a request must have come whole
_COMING_BYTES = 128 << 20  # of requests that have not come whole
_JSON = (b"content-type", b"application/json")
_HEADERS_OF = {
    401: [(b"www-authenticate", b"Bearer")],
    405: [(b"allow", b"POST")],
    408: [(b"connection", b"close")],  # whoever sends so slowly does not get to go on
}
_CLOSED = "the collection of this plan has ended; it takes no more reports"
_PLAN_SECONDS = 300  # for which a plan may be taken from a cache
Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]


class Page(Protocol):
    """An application that is served beside the collection, as the operator's page."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    async def close(self) -> None:
        """End what it does beside answering."""


class Service:
    """The application. Its stores are written to between the start and the end of its lifespan."""

    def __init__(
        self,
        collections: Sequence[Collecting],
        *,
        keys: Keyring | None = None,
        lock: FolderLock | ServedCampaign | None = None,
        campaign: ServedCampaign | None = None,
        origins: Sequence[str] = (),
    ) -> None:
        """Serve collections, whose folder's ``lock`` is released at the end.

        Of a ``campaign`` plans are taken up as they join. With ``keys`` reports are taken with one of them only.
        ``pages`` are served at their names and below: what is under ``admin`` at /admin. Pages of other ``origins`` may
        use all but these from people's browsers.
        """
        self.collections = {each.plan.plan_id: each for each in collections}
        self._by_header = {plan_id.encode("ascii"): each.plan for plan_id, each in self.collections.items()}
        self._intakes: dict[str, Intake] = {}
        self.pages: dict[str, Page] = {}
        self._keys, self._lock, self._campaign = keys, lock, campaign
        self._joining = asyncio.Lock()
        self._guidance = {
            plan_id: PublishedGuidance(each.folder, each.plan)
            for plan_id, each in self.collections.items()
            if isinstance(each.plan, GuidedPlan) and each.folder is not None
        }
        self.metrics, self._bodies = Metrics(), _Bodies()
        self._rest = self._routes()
        self._for_devices = shared_with(self._answer_device, origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] != "http":
            return
        elif (page := self.pages.get(scope["path"].removeprefix("/").partition("/")[0])) is not None:
            await page(scope, receive, send)
        else:
            await self._for_devices(scope, receive, send)

    async def _answer_device(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/reports":
            await self._rest(scope, receive, send)
            return
        try:
            body = await self._take(scope, receive)
        except Refused as refusal:
            await self._refuse(refusal, send)
        else:
            await _answer(200, body, (), send)

    # ---- reports

    async def _take(self, scope: Scope, receive: Receive) -> bytes:
        """Store what a request brings and return the answer's body; raises Refused."""
        if scope["method"] != "POST":
            raise Refused(405, "method", "reports are sent with POST")
        headers = scope["headers"]
        key = None if self._keys is None else self._keys.key_of(headers)
        try:
            plan = self._plan_named(headers)
        except Refused:
            if not await self.catch_up():
                raise
            plan = self._plan_named(headers)
        body = await self._bodies.read(headers, receive)
        upload = read_upload(body, plan) if key is None else read_upload(body, plan, key.number, key.quota)
        result = await self._intakes[plan.plan_id].submit(upload)
        if isinstance(result, Refused):
            raise result
        self.metrics.took(result, upload.count - result)
        return b'{"accepted": %d, "duplicates": %d}' % (result, upload.count - result)

    def _plan_named(self, headers: Headers) -> PublishedPlan:
        """Return the plan that a request says its reports are of; raises Refused."""
        named = content_type = b""
        for name, value in headers:
            if name == b"assocpriv-plan":
                named = value
            elif name == b"content-type":
                content_type = value
        plan = self._by_header.get(named)
        if plan is None:
            raise self._other_plan(named)
        if self.collections[plan.plan_id].closed:
            raise Refused(410, "closed", _CLOSED)
        if content_type.partition(b";")[0].strip().lower() != b"application/octet-stream":
            raise Refused(415, "content-type", "reports are sent as Content-Type: application/octet-stream")
        return plan

    def _other_plan(self, named: bytes) -> Refused:
        taken = sorted(self.collections)
        if len(named) != 64 or not all(digit in b"0123456789abcdef" for digit in named):
            message = "name the plan's id, 64 hexadecimal digits, in the header Assocpriv-Plan"
            return Refused(400, "no-plan", message, plans=taken)
        message = "reports of another plan are collected here; GET /plan, or of a campaign /campaign, gives it"
        return Refused(409, "other-plan", message, plans=taken)

    async def _refuse(self, refusal: Refused, send: Send) -> None:
        self.metrics.refused(refusal.reason)
        headers = [] if refusal.retry_after is None else [(b"retry-after", b"%d" % refusal.retry_after)]
        headers += _HEADERS_OF.get(refusal.status, [])
        await _answer(refusal.status, json.dumps(refusal.to_json()).encode("ascii"), headers, send)

    # ---- plans that join a campaign

    @property
    def has_campaign(self) -> bool:
        """Whether plans may join."""
        return self._campaign is not None

    async def catch_up(self) -> bool:
        """Serve plans that joined the campaign since the last look; tell whether there was something to look at."""
        if self._campaign is None or not self._campaign.has_changed():
            return False
        async with self._joining:
            for each in await asyncio.to_thread(self._campaign.take_up):
                self._serve(each)
        return True

    def _serve(self, each: Collecting) -> None:
        """Take reports of a further plan; whoever goes through the collections meanwhile has those of before."""
        plan_id = each.plan.plan_id
        self._intakes = {**self._intakes, plan_id: Intake(each.plan, each.store, observe=self.metrics.committed)}
        self.collections = {**self.collections, plan_id: each}
        self._by_header = {**self._by_header, plan_id.encode("ascii"): each.plan}

    async def _get_campaign(self, _: "Request") -> "Response":
        from starlette.responses import JSONResponse

        await self.catch_up()
        assert self._campaign is not None
        return JSONResponse(self._campaign.to_json(), headers={"cache-control": "no-cache"})

    # ---- what goes out

    def status(self) -> dict[str, Any]:
        """Return how many reports there are, of all plans and of each."""
        plans = dict[str, dict[str, Any]]()
        for plan_id, each in self.collections.items():
            now = each.store.status()
            plans[plan_id] = {"reports": now.reports, "sealed": now.sealed, "epochs_sealed": now.sealed_epochs}
            if plan_id in self._guidance:
                plans[plan_id]["guidance"] = self._guidance[plan_id].to_json()
        reports = sum(each["reports"] for each in plans.values())
        return {"reports": reports, "plans": plans, "keys": self._keys is not None, "open": self._keys is None}

    async def seal(self, plan_id: str) -> int:
        """Seal what a collection has; see :meth:`Intake.seal`."""
        return await self._intakes[plan_id].seal()

    def _routes(self) -> Application:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route

        routes = [
            # a plan of a campaign is answered by those who drew its round, so it is asked for by its id
            Route("/plan", self._get_plan) if self._campaign is None else Route("/campaign", self._get_campaign),
            Route("/plans/{plan_id}", self._get_plan),
            Route("/status", self._get_status),
            Route("/metrics", self._get_metrics),
            Route("/healthz", self._get_health),
            *(Route("/guidance/level", each.get_level) for each in self._guidance.values()),
            *(Route("/guidance", each.get_guidance) for each in self._guidance.values()),
        ]
        handlers: Any = {HTTPException: _http_error, StoreFullError: _store_away}
        application = Starlette(routes=routes, exception_handlers=handlers)
        application.router.redirect_slashes = False  # a redirect would repeat the request's Host
        return cast("Application", application)

    async def _get_plan(self, request: "Request") -> "Response":
        from starlette.responses import Response

        plan_id = request.path_params.get("plan_id") or next(iter(self.collections))
        if plan_id not in self.collections:
            await self.catch_up()
        if plan_id not in self.collections:
            return _json_error(404, "not-found", "no reports of this plan are collected here")
        if self.collections[plan_id].closed:  # a report that is made now would be spent for nothing
            return _json_error(410, "closed", _CLOSED)
        headers = {
            "etag": f'"{plan_id}"',
            "assocpriv-plan": plan_id,
            "assocpriv-keys": "none" if self._keys is None else "required",
            "cache-control": f"public, max-age={_PLAN_SECONDS}",
        }
        if plan_id in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        text = self.collections[plan_id].plan.canonical_json
        return Response(text, media_type="application/json", headers=headers)

    async def _get_status(self, _: "Request") -> "Response":
        from starlette.responses import JSONResponse

        return JSONResponse(await asyncio.to_thread(self.status), headers={"cache-control": "no-store"})

    async def _get_metrics(self, _: "Request") -> "Response":
        from starlette.responses import Response

        text = self.metrics.text(await asyncio.to_thread(self._load))
        return Response(text, media_type="text/plain; version=0.0.4")

    def _load(self) -> Load:
        """Return what an operator alarms on beside counters."""
        stored = [each.store.status() for each in self.collections.values()]
        return Load(
            reports=sum(each.reports for each in stored),
            epochs_sealed=sum(each.sealed_epochs for each in stored),
            epochs_waiting=sum(each.waiting_epochs for each in stored),
            queue_depth=sum(intake.waiting for intake in self._intakes.values()),
            waiting_bytes=sum(intake.waiting_bytes for intake in self._intakes.values()),
            folders=tuple(each.folder for each in self.collections.values() if each.folder is not None),
        )

    async def _get_health(self, _: "Request") -> "Response":
        from starlette.responses import JSONResponse

        return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})

    # ---- beginning and end

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                for plan_id, each in self.collections.items():
                    self._intakes[plan_id] = Intake(each.plan, each.store, observe=self.metrics.committed)
                await send({"type": "lifespan.startup.complete"})
            else:
                for page in self.pages.values():
                    await page.close()
                for intake in self._intakes.values():
                    await intake.close()
                if self._lock is not None:
                    self._lock.release()
                await send({"type": "lifespan.shutdown.complete"})
                return


class _Bodies:
    """Bodies of requests: how many bytes are held of those that come in parts, as slowly as a client likes."""

    def __init__(self) -> None:
        self.held = 0

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """Return a request's body; raises Refused where it is too large, or does not come."""
        for name, value in headers:
            if name == b"content-length" and int(value) > MOST_BYTES:
                raise _too_large()
        task, late = cast("asyncio.Task[None]", asyncio.current_task()), False

        def end() -> None:
            nonlocal late
            late = True
            task.cancel()

        timer = asyncio.get_running_loop().call_later(_BODY_SECONDS, end)  # asyncio.timeout: a tenth of the time
        try:
            return await self._read_all(receive)
        except asyncio.CancelledError:
            if not late:
                raise
            task.uncancel()
            raise Refused(408, "slow", f"the request did not come whole within {_BODY_SECONDS:.0f} seconds") from None
        finally:
            timer.cancel()

    async def _read_all(self, receive: Receive) -> bytes:
        message = await receive()
        body = message.get("body", b"")
        if message.get("more_body"):
            message, body = await self._read_rest(receive, body)
        if message["type"] == "http.disconnect":
            raise Refused(400, "malformed-body", "the connection broke off")
        return cast("bytes", body)

    async def _read_rest(self, receive: Receive, begun: bytes) -> tuple[Mapping[str, Any], bytes]:
        """Return the last message of a request, and its body."""
        parts, held = [begun], 0
        try:
            while True:
                message = await receive()
                parts.append(message.get("body", b""))
                held += len(parts[-1])
                self.held += len(parts[-1])
                if len(begun) + held > MOST_BYTES:
                    raise _too_large()
                if self.held > _COMING_BYTES:
                    raise Refused(503, "busy", "too many large requests come at a time; send it again", retry_after=1)
                if not message.get("more_body"):
                    return message, b"".join(parts)
        finally:
            self.held -= held


def _too_large() -> Refused:
    return Refused(413, "too-large", f"a request has at most {MOST_BYTES >> 20} MiB", most_bytes=MOST_BYTES)


async def _answer(status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]], send: Send) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length, *headers]})
    await send({"type": "http.response.body", "body": body})


def _json_error(status: int, reason: str, message: str, **headers: str) -> "Response":
    from starlette.responses import JSONResponse

    return JSONResponse({"error": reason, "message": message}, status_code=status, headers=headers)


async def _store_away(_: "Request", __: Any) -> "Response":
    return _json_error(503, "full", "the collector cannot ask its store now; come again later", **{"retry-after": "5"})


async def _http_error(_: "Request", error: Any) -> "Response":
    reason = {404: "not-found", 405: "method"}.get(error.status_code, "refused")
    return _json_error(error.status_code, reason, str(error.detail), **dict(error.headers or {}))
