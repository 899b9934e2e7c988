"""A small relay (RFC 9458), run by another party than the collector: it sees addresses, and no content.

Each message waits for one of the next few batches, drawn at random. A batch is forwarded in random order, and its
responses go back together. So neither the collector nor someone who watches both sides of the relay can see from the
time which message of a batch is whose. The gateway gets the bytes of a message and nothing else. No content, address or
time is logged, kept, or written to disk. Requests of an address are counted for a minute under a name drawn anew each
minute; requests from this machine, for example from a TLS proxy before the relay, are not counted.

All devices get the same key configurations: a gateway that gave some devices their own keys could recognize them.
"""

import asyncio
import hashlib
import ipaddress
import logging
import secrets
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assocpriv.files import oblivious_http
from assocpriv.guarantees.errors import PlanError, WireError

_BATCHES = 8  # in the longest delay of a message
_MOST_HOLD = 60.0  # seconds; devices wait 120 seconds for a response
_BODY_SECONDS, _GATEWAY_SECONDS = 30.0, 30.0  # for a whole message, and for the gateway to respond
_KEYS_SECONDS, _OLD_KEYS_SECONDS = (600.0, 86400.0)  # age of served keys; while the gateway is unreachable
_ANSWER_BYTES = 4 << 20  # enough for a plan
_WAITING_BYTES = 256 << 20
_CONNECTIONS = 64  # to the gateway
_KEPT_SECONDS = 2  # a connection without a message: gateways close theirs after five
_MOST_A_MINUTE = 120  # requests of an address
_MOST_ADDRESSES = 1 << 20
_NETWORK_BITS = 56  # of an IPv6 address: those of a household or a company
_LOG = logging.getLogger("assocpriv")
_Message = tuple[bytes, "asyncio.Future[Response]"]  # queued, and its future response


def gateway_url(to: str) -> str:
    """Return the address of a gateway's resource; for a collector's own address, the well-known one.

    Raises:
        PlanError: it is no such address.

    >>> gateway_url("https://collector.example")
    'https://collector.example/.well-known/ohttp-gateway'
    """
    parts = urlsplit(to)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise PlanError(f"{to[:200]!r} is no address of a collector; give one such as https://collector.example")
    return to if parts.path.strip("/") else to.rstrip("/") + oblivious_http.GATEWAY_PATH


class Relay:
    """The relay's application. Everything it holds is in memory, from the start to the end of its lifespan."""

    def __init__(self, to: str, hold: float) -> None:
        """Forward messages to a gateway, each within ``hold`` seconds; 0 forwards at once.

        Raises:
            PlanError: an invalid address or delay.
        """
        if not 0 <= hold <= _MOST_HOLD:
            raise PlanError(f"hold must be 0 to {_MOST_HOLD:.0f} seconds, got {hold}")
        self._to, self._period = gateway_url(to), hold / _BATCHES
        self._batches, self._batch = defaultdict[int, list[_Message]](list), 0
        self._waiting_bytes, self._limit = 0, _Limit()
        self._keys, self._keys_guard, self._keys_at = b"", asyncio.Lock(), float("-inf")
        self.metrics = NoMetrics()
        routes = [
            Route(oblivious_http.GATEWAY_PATH, self._get_keys, methods=["GET"]),
            Route(oblivious_http.GATEWAY_PATH, self._post, methods=["POST"]),
            Route("/healthz", _healthy),
        ]
        self._application = CORSMiddleware(
            Starlette(routes=routes, lifespan=self._run_lifespan),
            allow_origins=["*"],
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type"],
            expose_headers=["Retry-After"],
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or start and stop with the server; a request cancelled by the stop is answered 503."""
        try:
            await self._application(scope, receive, send)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            with suppress(RuntimeError):  # a response has begun
                answer = _refusal(503, "stopping", "the relay is stopping; send it again later", 30)
                await answer(scope, receive, send)

    @asynccontextmanager
    async def _run_lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_KEPT_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_GATEWAY_SECONDS, sock_read=_GATEWAY_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
        ) as self._gateway:
            forwarding = asyncio.create_task(self._forward_batches())
            yield
            forwarding.cancel()

    # ---- messages

    async def _post(self, request: Request) -> Response:
        refused = self._check_request(request)
        if refused is not None:
            return refused
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                content = await _read(request.stream(), oblivious_http.MOST_REQUEST_BYTES)
        except TimeoutError:
            return _refusal(408, "slow", f"the message was not complete within {_BODY_SECONDS:.0f} seconds")
        except WireError:
            most = oblivious_http.MOST_REQUEST_BYTES >> 10
            return _refusal(413, "too-large", f"a message may have at most {most} KiB")
        self._waiting_bytes += len(content)
        try:
            return await (self._in_batch(content) if self._period else self._forward(content))
        finally:
            self._waiting_bytes -= len(content)

    def _check_request(self, request: Request) -> Response | None:
        """Return the refusal of a request that is not even read, else None."""
        address = request.scope["client"] or ("::1",)  # none behind a socket of this machine
        if not self._limit.allows(address[0], asyncio.get_running_loop().time()):
            return _refusal(429, "too-many", f"an address may send {_MOST_A_MINUTE} messages a minute", 60)
        if request.headers.get("content-type", "").strip().lower() != oblivious_http.REQUEST_TYPE:
            return _refusal(415, "content-type", f"messages are sent as Content-Type: {oblivious_http.REQUEST_TYPE}")
        if self._waiting_bytes > _WAITING_BYTES:
            return _refusal(503, "busy", "messages arrive faster than they can be forwarded; send it again later", 60)
        return None

    async def _in_batch(self, content: bytes) -> Response:
        """Queue a message for one of the next batches, and return its response."""
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._batches[self._batch + 1 + secrets.randbelow(_BATCHES)].append((content, answer))
        return await answer

    async def _forward_batches(self) -> None:
        async with asyncio.TaskGroup() as under_way:
            while True:
                await asyncio.sleep(self._period or _MOST_HOLD)
                self._batch += 1
                if messages := self._batches.pop(self._batch, None):
                    under_way.create_task(self._forward_batch(messages))

    async def _forward_batch(self, messages: list[_Message]) -> None:
        secrets.SystemRandom().shuffle(messages)
        answers = await asyncio.gather(*(self._forward(content) for content, _ in messages))
        for (_, future), answer in zip(messages, answers, strict=True):
            if not future.done():  # the sender may have disconnected
                future.set_result(answer)

    async def _forward(self, content: bytes) -> Response:
        """Return the gateway's response to a message: encrypted content, or a refusal unchanged."""
        try:
            status, headers, body = await self._ask("POST", _ANSWER_BYTES, data=content)
        except _GatewayError as away:
            return away.answer
        kind = headers.get("content-type", "")
        if status == 200 and kind != oblivious_http.RESPONSE_TYPE:
            return _refusal(502, "no-gateway", "the relay's target is no gateway")
        passed = {name: headers[name] for name in ("content-type", "retry-after") if name in headers}
        return Response(body, status, passed)

    async def _ask(self, method: str, most: int, **more: Any) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of the gateway's response; raises _GatewayError."""
        headers = {"content-type": oblivious_http.REQUEST_TYPE} if more else {}
        try:
            async with self._gateway.request(
                method, self._to, headers=headers, allow_redirects=False, **more
            ) as answer:
                return answer.status, answer.headers, await _read(answer.content.iter_any(), most)
        except TimeoutError:
            error = _GatewayError(504, "slow-gateway", "the gateway does not respond in time; send it again later")
        except (aiohttp.ClientError, OSError, WireError):
            error = _GatewayError(502, "no-gateway", "the gateway cannot be reached; send it again later")
        _LOG.error("the gateway is unreachable or slow")
        raise error

    # ---- keys

    async def _get_keys(self, _: Request) -> Response:
        """Return the gateway's key configurations, the same to all devices."""
        now = asyncio.get_running_loop().time()
        async with self._keys_guard:
            if now - self._keys_at > _KEYS_SECONDS:
                try:
                    self._keys, self._keys_at = await self._fetch_keys(), now
                except _GatewayError as away:
                    if now - self._keys_at > _OLD_KEYS_SECONDS:
                        return away.answer
        return Response(
            self._keys, media_type=oblivious_http.KEYS_TYPE, headers={"cache-control": f"max-age={_KEYS_SECONDS:.0f}"}
        )

    async def _fetch_keys(self) -> bytes:
        status, _, content = await self._ask("GET", oblivious_http.MOST_KEYS_BYTES)
        with suppress(WireError):
            if status == 200 and oblivious_http.decode_key_configs(content):
                return content
        raise _GatewayError(502, "no-gateway", "the relay's target publishes no keys")


class _GatewayError(Exception):
    """The gateway does not respond, or is none; ``answer`` is the response to the client."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.answer = _refusal(status, reason, message, 60)


class NoMetrics:
    """Metrics for the server under a relay, which counts nothing."""

    rejected = 0
    connections: Callable[[], int] = staticmethod(lambda: 0)

    def record_refusal(self, reason: str) -> None:
        """Count nothing."""


class _Limit:
    """Numbers of requests in this minute, by address or by network of a household."""

    def __init__(self) -> None:
        self._minute, self._salt, self._counts = -1, b"", Counter[bytes]()

    def allows(self, address: str, now: float) -> bool:
        """Count a request, and return whether its address is below the limit."""
        ip = ipaddress.ip_address(address.partition("%")[0])
        if ip.is_loopback:
            return True
        minute = int(now // 60)
        if minute != self._minute or len(self._counts) >= _MOST_ADDRESSES:
            self._minute, self._salt, self._counts = minute, secrets.token_bytes(16), Counter()
        network = ip.packed[: _NETWORK_BITS // 8]  # for IPv4 the whole address
        name = hashlib.blake2b(network, key=self._salt, digest_size=16).digest()
        self._counts[name] += 1
        return self._counts[name] <= _MOST_A_MINUTE


async def _read(parts: AsyncIterator[bytes], most: int) -> bytes:
    """Return a body; raises WireError where it is too large."""
    content = bytearray()
    async for part in parts:
        content += part
        if len(content) > most:
            raise WireError("the body is too large")
    return bytes(content)


def _refusal(status: int, reason: str, message: str, retry_after: int | None = None) -> Response:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return JSONResponse({"error": reason, "message": message}, status, headers)


async def _healthy(_: Request) -> Response:
    return JSONResponse({"status": "ok"})
