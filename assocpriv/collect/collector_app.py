"""The collector as an ASGI application: it takes reports and returns the plan or counts (docs/formats/collector.md).

``POST /reports`` is handled without a framework, because thousands arrive in a second; Starlette routes the rest. Only
the records of a request are stored: no address, no time, no header, and nothing of it is logged. The guidance of a
guided collection is a file that may be replaced while the server runs; devices fetch it here.

Scripts of other sites' pages may use a collector that names these sites (cross-origin resource sharing, Fetch
standard): a browser asks before such a script may send a report or read a response. No cookies are used, and the
operator's and other pages for people are excluded.
"""

import asyncio
import json
import logging
import os
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, cast

from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assocpriv.collect.group_commit import STOPPING, Intake
from assocpriv.collect.keys import file_version
from assocpriv.collect.metrics import LoadSnapshot, Metrics
from assocpriv.collect.store import (
    MOST_BYTES,
    FolderLock,
    RequestRefused,
    ServedCollection,
    StoreFullError,
    read_upload,
)
from assocpriv.files import oblivious_http as ohttp
from assocpriv.files.plan_files import read_guidance
from assocpriv.guarantees.errors import AssocprivError, FileError, PlanError, WireError
from assocpriv.plans.guided.guided_plan import GuidedPlan

if TYPE_CHECKING:
    from assocpriv.collect.keys import GatewayKeys, Keyring, SourceKey
    from assocpriv.plans.guided.guided_plan import Guidance

_BODY_SECONDS = 30.0  # within which a whole request must arrive
_SKIP_SECONDS = 5.0  # for which the body of a refused request is skipped
_COMING_BYTES = 128 << 20  # of partly received requests
_PLAIN = {b"content-encoding": b"identity", b"transfer-encoding": b"chunked"}  # the parser decodes chunks
_JSON, _PROBLEM = b"application/json", b"application/problem+json"
_ADMINS, _BOTH = {"admin", "metrics", "status"}, {"healthz", "readyz"}  # paths for the operator; for everybody
_HEADERS_OF = {
    401: [(b"www-authenticate", b"Bearer")],
    405: [(b"allow", b"POST")],
    408: [(b"connection", b"close")],  # end a connection that is this slow
}
_ENDED = "the collection of this plan has ended; it takes no more reports"
_LEAST_FREE = 1 << 28  # bytes: closing writes a batch again before it is removed
_PLAN_SECONDS = 300  # for which a plan may be taken from a cache
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")
_ASKED_SECONDS = 600  # for which a browser may keep the permission
GUIDANCE_FILE = "guidance.json"
_SEALED_BYTES = 1024  # of an encrypted response to a report, also of a refusal
_RELAYED_PATHS = frozenset(("/plan", "/reports", "/guidance", "/guidance/level"))  # that devices request
_RELAYED_HEADERS = frozenset((b"assocpriv-plan", b"content-type", b"content-encoding", b"if-none-match"))
_LOG = logging.getLogger("assocpriv")
Headers = Sequence[tuple[bytes, bytes]]


# ---- the application


class MountedPage(Protocol):
    """An application served next to the collection, as the operator's page."""

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:
        """Answer a request."""

    async def close(self) -> None:
        """Stop its background work."""


class Service:
    """The collector's application. It writes to its store from the start to the end of its lifespan."""

    def __init__(
        self,
        collection: ServedCollection,
        lock: FolderLock,
        *,
        keys: "Keyring | None" = None,
        gateway_keys: "GatewayKeys | None" = None,
        direct: bool = True,
        origins: Sequence[str] = (),
    ) -> None:
        """Serve a collection, whose folder's ``lock`` is released at the end.

        With ``keys`` a report needs one of them, once there are any. With ``gateway_keys`` reports are accepted through
        a relay, and with ``direct`` also directly. ``pages`` are served at their names and below: what is under
        ``admin`` at /admin. With an ``admin_port`` that page, counts and metrics are served on that port only. Pages of
        other ``origins`` may use everything else from people's browsers. ``check_manipulation`` takes the number of
        reports, and returns whether the tests for manipulated reports flagged when last run, and on how many reports.
        """
        self._collection = collection
        self._plan, self._store = collection.plan, collection.store
        self._named = self._plan.plan_id.encode("ascii")  # as requests name the plan
        self._intake: Intake  # from the start to the end of the lifespan
        self.pages: dict[str, MountedPage] = {}
        self.admin_port: int | None = None
        self.check_manipulation: Callable[[int], tuple[bool, int]] = lambda _: (False, 0)
        self._keys, self._lock, self._direct = keys, lock, direct
        inside = partial(self._answer_device, through_relay=True)
        self._gateway = None if gateway_keys is None else Gateway(gateway_keys, inside)
        plan = collection.plan
        self._guidance = PublishedGuidance(collection.folder, plan) if isinstance(plan, GuidedPlan) else None
        self.metrics, self._bodies = Metrics(self._load), _Bodies()
        self._rest = self._routes()
        self._for_devices = _shared_with(self._answer_device, origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and stop with the server; a request cancelled by the stop is answered 503."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif scope["type"] == "http":
            try:
                await self._route(scope, receive, send)
            except asyncio.CancelledError:
                with suppress(RuntimeError):  # a response has begun
                    await self._refuse(RequestRefused(503, "stopping", STOPPING, retry_after=30), send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path"].removeprefix("/").partition("/")[0]
        at_admins = self.admin_port is None or scope["server"][1] == self.admin_port
        at_devices = self.admin_port is None or not at_admins
        if not (at_admins if name in _ADMINS else at_devices or name in _BOTH):
            await self._refuse(RequestRefused(404, "not-found", "Not Found"), send)
        elif (page := self.pages.get(name)) is not None:
            await page(scope, receive, send)
        else:
            await self._for_devices(scope, receive, send)

    async def _answer_device(self, scope: Scope, receive: Receive, send: Send, *, through_relay: bool = False) -> None:
        kind = _JSON
        try:
            if scope["path"] == "/reports":
                body = await self._store_upload(scope, receive, through_relay=through_relay)
            elif scope["path"] == ohttp.GATEWAY_PATH and self._gateway is not None:
                body, kind = await self._answer_relay(self._gateway, scope, receive)
            else:
                await self._rest(scope, receive, send)
                return
        except RequestRefused as refusal:
            await self._refuse(refusal, send)
        else:
            await _answer(200, body, (), send, kind)

    # ---- reports

    async def _store_upload(self, scope: Scope, receive: Receive, *, through_relay: bool) -> bytes:
        """Store the reports of a request and return the response body; raises RequestRefused."""
        began = perf_counter()
        try:
            if not (self._direct or through_relay):
                raise RequestRefused(
                    403,
                    "direct",
                    "this collector takes reports through a relay only, which hides senders: give --relay, or relay=",
                )
            key = self._check_headers(scope)
        except RequestRefused:
            await self._bodies.skip(scope["headers"], receive)
            raise
        body, plan = await self._bodies.read(receive), self._plan
        key = key or self._key_of(scope["headers"])  # the first key may have been made meanwhile
        if key is None:
            upload = read_upload(body, plan, own_row=through_relay)
        else:
            upload = read_upload(body, plan, key.number, key.quota)
        result = await self._intake.submit(upload)
        if isinstance(result, RequestRefused):
            raise result
        self.metrics.record_upload(result, upload.count - result, perf_counter() - began)
        return b'{"accepted": %d, "duplicates": %d}' % (result, upload.count - result)

    def _check_headers(self, scope: Scope) -> "SourceKey | None":
        """Check a request before its reports are read; return its key where keys are required; raises
        RequestRefused."""
        if scope["method"] != "POST":
            raise RequestRefused(405, "method", "reports are sent with POST")
        headers = dict(scope["headers"])
        asked = self._keys is not None and self._keys.were_required
        key, named = self._key_of(scope["headers"]) if asked else None, headers.get(b"assocpriv-plan", b"")
        if named != self._named:
            raise self._other_plan(named)
        if self._collection.ended:
            raise RequestRefused(410, "ended", _ENDED)
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/octet-stream":
            raise RequestRefused(415, "content-type", "reports are sent as Content-Type: application/octet-stream")
        if any(name in _PLAIN and value.strip().lower() != _PLAIN[name] for name, value in scope["headers"]):
            raise RequestRefused(415, "content-encoding", "send reports uncompressed")
        if int(headers.get(b"content-length", 0)) > MOST_BYTES:
            raise _too_large()
        return key

    def _key_of(self, headers: Headers) -> "SourceKey | None":
        return None if self._keys is None else self._keys.key_of(headers)

    def _asks_for_keys(self) -> bool:
        return self._keys is not None and self._keys.are_required()

    def _other_plan(self, named: bytes) -> RequestRefused:
        if len(named) != 64 or not all(digit in b"0123456789abcdef" for digit in named):
            message = "send the plan's id, 64 hexadecimal digits, in the header Assocpriv-Plan"
            return RequestRefused(400, "no-plan", message, plan=self._plan.plan_id)
        message = "this collector collects another plan; GET /plan returns it"
        return RequestRefused(409, "other-plan", message, plan=self._plan.plan_id)

    async def _refuse(self, refusal: RequestRefused, send: Send) -> None:
        self.metrics.record_refusal(refusal.reason)
        headers = [] if refusal.retry_after is None else [(b"retry-after", b"%d" % refusal.retry_after)]
        headers += _HEADERS_OF.get(refusal.status, [])
        kind = _PROBLEM if refusal.reason == "ohttp-key" else _JSON
        await _answer(refusal.status, json.dumps(refusal.to_json()).encode("ascii"), headers, send, kind)

    # ---- messages of a relay

    async def _answer_relay(self, gateway: "Gateway", scope: Scope, receive: Receive) -> tuple[bytes, bytes]:
        """Return a response to a relay and its type: keys, or an encrypted response; raises RequestRefused."""
        if scope["method"] in ("GET", "HEAD"):
            return gateway.keys.published(), ohttp.KEYS_TYPE.encode("ascii")
        headers = dict(scope["headers"])
        try:
            if scope["method"] != "POST":
                raise RequestRefused(405, "method", "send messages with POST; get keys with GET")
            if headers.get(b"content-type", b"").strip().lower() != ohttp.REQUEST_TYPE.encode("ascii"):
                raise RequestRefused(415, "content-type", f"messages are sent as Content-Type: {ohttp.REQUEST_TYPE}")
            if int(headers.get(b"content-length", 0)) > ohttp.MOST_REQUEST_BYTES:
                raise _too_large(ohttp.MOST_REQUEST_BYTES)
        except RequestRefused:
            await self._bodies.skip(scope["headers"], receive)
            raise
        body = await self._bodies.read(receive)
        if len(body) > ohttp.MOST_REQUEST_BYTES:
            raise _too_large(ohttp.MOST_REQUEST_BYTES)
        try:
            return await gateway.answer(body), ohttp.RESPONSE_TYPE.encode("ascii")
        except WireError as error:
            raise RequestRefused(
                400, "ohttp-key", str(error), type=ohttp.KEY_PROBLEM, title="the key is not known"
            ) from None

    # ---- what goes out

    def status(self) -> dict[str, Any]:
        """Return the numbers of reports and batches, and whether keys are needed."""
        now, keys = self._store.status(), self._asks_for_keys()
        return {
            "plan": self._plan.plan_id,
            "reports": now.reports,
            "closed": now.closed,
            "batches_closed": now.closed_batches,
            **({} if self._guidance is None else {"guidance": self._guidance.to_json()}),
            "keys": keys,
            "public": not keys,
        }

    async def close_batches(self) -> int:
        """Close the collection's batches; see :meth:`Intake.close_batches`."""
        return await self._intake.close_batches()

    def _routes(self) -> ASGIApp:
        routes = [
            Route("/plan", self._get_plan),
            Route("/status", self._get_status),
            Route("/metrics", self._get_metrics),
            Route("/healthz", self._get_health),
            Route("/readyz", self._get_readiness),
        ]
        if self._guidance is not None:
            routes.append(Route("/guidance/level", self._guidance.get_level))
            routes.append(Route("/guidance", self._guidance.get_guidance))
        handlers: Any = {HTTPException: self._http_error, StoreFullError: self._store_away}
        application = Starlette(routes=routes, exception_handlers=handlers)
        application.router.redirect_slashes = False  # a redirect would repeat the request's Host
        return application

    async def _get_plan(self, request: Request) -> Response:
        plan_id = self._plan.plan_id
        if self._collection.ended:  # a new report would spend privacy budget for nothing
            return _json_error(410, "ended", _ENDED)
        headers = {
            "etag": f'"{plan_id}"',
            "assocpriv-plan": plan_id,
            "assocpriv-keys": "required" if self._asks_for_keys() else "none",
            "cache-control": f"public, max-age={_PLAN_SECONDS}",
        }
        if plan_id in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self._plan.canonical_json, media_type="application/json", headers=headers)

    async def _get_status(self, _: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self.status), headers={"cache-control": "no-store"})

    async def _get_metrics(self, _: Request) -> Response:
        stored = await asyncio.to_thread(self._store.status)
        self.metrics.manipulation = self.check_manipulation(stored.reports)
        text = await asyncio.to_thread(generate_latest, self.metrics)
        return Response(text, media_type="text/plain; version=0.0.4")

    def _load(self) -> LoadSnapshot:
        """Return the present values of metrics that are no counters."""
        stored = self._store.status()
        return LoadSnapshot(
            reports=stored.reports,
            batches_closed=stored.closed_batches,
            batches_pending=stored.pending_batches,
            queue_depth=self._intake.waiting,
            queued_bytes=self._intake.queued_bytes,
            conflicts=self._store.conflicts,
            folder=self._collection.folder,
        )

    async def _get_health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})

    async def _get_readiness(self, _: Request) -> Response:
        """Return whether reports can be stored and batches closed, and what fails."""
        failing = await asyncio.to_thread(self._failing)
        content = {"ready": not failing, "failing": failing}
        return JSONResponse(content, 503 if failing else 200, {"cache-control": "no-store"})

    def _failing(self) -> list[str]:
        folder, failing = self._collection.folder, ["closing"] * self._intake.cannot_close
        try:
            full = shutil.disk_usage(folder).free < _LEAST_FREE or not os.access(folder, os.W_OK)
        except OSError:
            full = True
        try:
            self._store.status()
        except FileError:
            failing.append("store")
        return ["disk"] * full + failing

    async def _store_away(self, _: Request, __: Any) -> Response:
        self.metrics.record_refusal("full")
        message = "the collector cannot reach its store now; try again later"
        return _json_error(503, "full", message, **{"retry-after": "5"})

    async def _http_error(self, _: Request, error: Any) -> Response:
        reason = {404: "not-found", 405: "method"}[error.status_code]  # Starlette's routes raise no other
        self.metrics.record_refusal(reason)
        return _json_error(error.status_code, reason, str(error.detail), **dict(error.headers or {}))

    # ---- start and stop

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._intake = Intake(
                    self._plan, self._store, on_commit=self.metrics.record_commit, on_close=self.metrics.record_close
                )
                await send({"type": "lifespan.startup.complete"})
            else:
                for page in self.pages.values():
                    await page.close()
                await self._intake.close()
                self._lock.release()
                await send({"type": "lifespan.shutdown.complete"})
                return


class _Bodies:
    """Bodies of requests: counts the bytes held of bodies that arrive in parts."""

    def __init__(self) -> None:
        self.held = 0

    async def skip(self, headers: Headers, receive: Receive) -> None:
        """Skip the body of a refused request: a proxy that finds the connection closed answers 502 instead."""
        if any(name == b"expect" for name, _ in headers):  # this client waits, and sends nothing
            return
        left = 2 * MOST_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(_SKIP_SECONDS):
                while left > 0 and (message := await receive()).get("more_body"):
                    left -= len(message["body"])

    async def read(self, receive: Receive) -> bytes:
        """Return a request's body; raises RequestRefused where it is too large or too slow."""
        task, late = cast("asyncio.Task[None]", asyncio.current_task()), False

        def end() -> None:
            nonlocal late
            late = True
            task.cancel()

        # asyncio.timeout would take a tenth of the time of a request
        timer = asyncio.get_running_loop().call_later(_BODY_SECONDS, end)
        try:
            return await self._read_all(receive)
        except asyncio.CancelledError:
            if not late:
                raise
            task.uncancel()
            raise RequestRefused(
                408, "slow", f"the request was not complete within {_BODY_SECONDS:.0f} seconds"
            ) from None
        finally:
            timer.cancel()

    async def _read_all(self, receive: Receive) -> bytes:
        parts, held = list[bytes](), 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestRefused(400, "malformed-body", "the connection broke off")
                parts.append(message.get("body", b""))
                if len(parts) > 1:  # the first part of a body is small
                    held += len(parts[-1])
                    self.held += len(parts[-1])
                if len(parts[0]) + held > MOST_BYTES:
                    raise _too_large()
                if held and self.held > _COMING_BYTES:
                    raise RequestRefused(503, "busy", "too many large requests at a time; send it again", retry_after=1)
                if not message.get("more_body"):
                    return b"".join(parts)
        finally:
            self.held -= held


def _too_large(most: int = MOST_BYTES) -> RequestRefused:
    limit = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
    return RequestRefused(413, "too-large", f"a request has at most {limit}", most_bytes=most)


async def _answer(
    status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]], send: Send, kind: bytes = _JSON
) -> None:
    own = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


def _json_error(status: int, reason: str, message: str, **headers: str) -> Response:
    return JSONResponse({"error": reason, "message": message}, status_code=status, headers=headers)


# ---- messages of a relay


class Gateway:
    """Answers encrypted messages of a relay by an application that gets only their content (RFC 9458).

    A decrypted request is handled as every other one, but without its sender: it has no address, and only the headers
    that the service reads. All responses to reports have one length, so a relay that repeats a message learns nothing
    from the length. Everything that cannot be decrypted gets the same response.
    """

    def __init__(self, keys: "GatewayKeys", application: ASGIApp) -> None:
        self.keys, self._application = keys, application

    async def answer(self, content: bytes) -> bytes:
        """Return the encrypted response to a message.

        Raises:
            WireError: it cannot be decrypted.
        """
        message, exchange = ohttp.open_request(content, self.keys.opening())
        try:
            response = await self._ask(ohttp.BinaryRequest.decode(message))
        except WireError:
            response = _sealed_refusal(RequestRefused(400, "no-http", "this is no HTTP request"))
        return exchange.seal_response(response.encode(_SEALED_BYTES))

    async def _ask(self, request: ohttp.BinaryRequest) -> ohttp.BinaryResponse:
        path = request.path.decode("latin-1")
        if path not in _RELAYED_PATHS:
            return _sealed_refusal(RequestRefused(404, "not-found", "Not Found"))
        scope = {
            "type": "http",
            "method": request.method.decode("latin-1"),
            "path": path,
            "query_string": b"",
            "headers": [each for each in request.headers if each[0] in _RELAYED_HEADERS],
        }
        sent = list[Message]()

        async def receive() -> Message:
            return {"type": "http.request", "body": request.body}

        async def send(message: Message) -> None:
            sent.append(message)

        await self._application(scope, receive, send)
        headers = [each for each in sent[0]["headers"] if each[0] != b"content-length"]
        return ohttp.BinaryResponse(sent[0]["status"], headers, b"".join(each.get("body", b"") for each in sent[1:]))


def _sealed_refusal(refused: RequestRefused) -> ohttp.BinaryResponse:
    body = json.dumps(refused.to_json()).encode("ascii")
    return ohttp.BinaryResponse(refused.status, [(b"content-type", b"application/json")], body)


# ---- scripts of other sites


def check_origin(origin: str) -> str:
    """Return an origin as browsers write it.

    Raises:
        PlanError: a path, capitals or ``*``: each site whose pages may send reports must be named.

    >>> check_origin("https://shop.example")
    'https://shop.example'
    """
    if not isinstance(origin, str) or not _ORIGIN.fullmatch(origin):
        raise PlanError(
            f"{str(origin)[:100]!r} is no origin; write a site as browsers do, for example https://shop.example: in "
            "small letters, without a path or a / at the end"
        )
    return origin


def _shared_with(application: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Return an application that pages of ``origins`` may use from people's browsers."""
    if not origins:
        return application
    return CORSMiddleware(
        application,
        allow_origins=[check_origin(each) for each in origins],
        allow_methods=["GET", "POST"],
        allow_headers=["Assocpriv-Plan", "Authorization", "Content-Type"],
        expose_headers=["Assocpriv-Plan", "Retry-After"],
        max_age=_ASKED_SECONDS,
    )


# ---- guidance


class PublishedGuidance:
    """The guidance file in a collection's folder, read again when it is replaced."""

    def __init__(self, folder: Path, plan: GuidedPlan) -> None:
        self._path, self._plan = folder / GUIDANCE_FILE, plan
        self._guard = threading.Lock()
        self._version: tuple[int, ...] = ()
        self._guidance: Guidance | None = None

    def current(self) -> "Guidance | None":
        """Return the guidance that people should answer now; None where there is none.

        A file that is no guidance of the plan counts as none, and is logged once: devices wait for a valid one.
        """
        with self._guard:
            version = file_version(self._path)
            if version != self._version:
                self._version, self._guidance = version, self._read() if version else None
            return self._guidance

    def _read(self) -> "Guidance | None":
        try:
            guidance = read_guidance(self._path)
            guidance.check(self._plan)
        except AssocprivError as error:
            _LOG.error("no guidance is published: %s", error)
            return None
        return guidance

    def to_json(self) -> dict[str, int] | None:
        """Return serial number and level of the guidance, for the status."""
        guidance = self.current()
        return None if guidance is None else {"serial": guidance.serial, "level": guidance.level}

    async def get_level(self, _: Request) -> Response:
        """Return the level k*, on which each device decides before it fetches the guidance."""
        guidance = await asyncio.to_thread(self.current)
        if guidance is None:
            return _none()
        content = {"plan": guidance.plan_id, "serial": guidance.serial, "level": guidance.level}
        return JSONResponse(content, headers={"cache-control": "no-cache"})

    async def get_guidance(self, request: Request) -> Response:
        """Return the guidance, V*."""
        guidance = await asyncio.to_thread(self.current)
        if guidance is None:
            return _none()
        headers = {"etag": f'"{guidance.guidance_id}"', "cache-control": "no-cache"}
        if guidance.guidance_id in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(guidance.canonical_json, media_type="application/json", headers=headers)


def _none() -> Response:
    message = "no guidance is published yet; try again later"
    return _json_error(404, "no-guidance", message, **{"cache-control": "no-store"})
