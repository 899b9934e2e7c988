"""A small relay (RFC 9458), run by somebody else than the collector: it sees addresses, and no content.

Messages wait for a batch, each for one of the next few, drawn at random; a batch is forwarded in random order, and its
answers go back together. So neither the collector nor who watches both sides of the relay can tell by the time which
message is whose, among those of a batch. Of a request the gateway gets its bytes and nothing else. No content, address
or time is logged or kept, nothing is on a disk. Requests of an address are counted for a minute, under a name that is
drawn anew each minute; those of this machine, as of a proxy with TLS before the relay, are not.

Everybody gets the same key configurations: a gateway that gave some devices keys of their own would know them by these.
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

from assocpriv.files.oblivious import (
    GATEWAY_PATH,
    KEYS_TYPE,
    MOST_KEYS_BYTES,
    MOST_REQUEST_BYTES,
    REQUEST_TYPE,
    RESPONSE_TYPE,
    decode_key_configs,
)
from assocpriv.promise.errors import PlanError, WireError

_BATCHES = 8  # in the time that messages are held
_MOST_HOLD = 60.0  # seconds; devices wait 120 for an answer
_BODY_SECONDS, _GATEWAY_SECONDS = 30.0, 30.0  # in which a message comes whole, and the gateway says something
_KEYS_SECONDS, _OLD_KEYS_SECONDS = 600.0, 86400.0  # for which keys are handed out, and while the gateway is away
_ANSWER_BYTES = 4 << 20  # as a plan may have
_WAITING_BYTES = 256 << 20
_CONNECTIONS = 64  # to the gateway
_KEPT_SECONDS = 2  # a connection without a message: gateways close theirs after five
_MOST_A_MINUTE = 120  # requests of an address
_MOST_ADDRESSES = 1 << 20
_NETWORK_BITS = 56  # of an IPv6 address: of a household or a company
_LOG = logging.getLogger("assocpriv")


def gateway_url(to: str) -> str:
    """Return the address of a gateway's resource; of a collector's own address, that which is well known.

    Raises:
        PlanError: it is none.

    >>> gateway_url("https://collector.example")
    'https://collector.example/.well-known/ohttp-gateway'
    """
    parts = urlsplit(to)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise PlanError(f"{to[:200]!r} is no address of a collector; write for example https://collector.example")
    return to if parts.path.strip("/") else to.rstrip("/") + GATEWAY_PATH


class Relay:
    """The application. What it holds is in memory, between the start and the end of its lifespan."""

    def __init__(self, to: str, hold: float) -> None:
        """Forward messages to a gateway, each within ``hold`` seconds, at once where that is 0.

        Raises:
            PlanError: an address that is none, or such a time.
        """
        if not 0 <= hold <= _MOST_HOLD:
            raise PlanError(f"a relay holds messages for 0 to {_MOST_HOLD:.0f} seconds, got {hold}")
        self._to, self._period = gateway_url(to), hold / _BATCHES
        self._batches, self._batch = defaultdict[int, list[_Message]](list), 0
        self._waiting_bytes, self._limit = 0, _Limit()
        self._keys, self._keys_guard, self._keys_at = b"", asyncio.Lock(), float("-inf")
        self.metrics = Uncounted()
        routes = [
            Route(GATEWAY_PATH, self._get_keys, methods=["GET"]),
            Route(GATEWAY_PATH, self._post, methods=["POST"]),
            Route("/healthz", _healthy),
        ]
        self._application = CORSMiddleware(
            Starlette(routes=routes, lifespan=self._live),
            allow_origins=["*"],
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type"],
            expose_headers=["Retry-After"],
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or begin and end with the server; what it cancels, told to stop, is answered 503."""
        try:
            await self._application(scope, receive, send)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            with suppress(RuntimeError):  # of an answer that has begun
                answer = _refusal(503, "stopping", "the relay is being stopped; send it again later", 30)
                await answer(scope, receive, send)

    @asynccontextmanager
    async def _live(self, _: Starlette) -> AsyncIterator[None]:
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
        refused = self._refused(request)
        if refused is not None:
            return refused
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                content = await _read(request.stream(), MOST_REQUEST_BYTES)
        except TimeoutError:
            return _refusal(408, "slow", f"the message did not come whole within {_BODY_SECONDS:.0f} seconds")
        except WireError:
            return _refusal(413, "too-large", f"a message has at most {MOST_REQUEST_BYTES >> 10} KiB")
        self._waiting_bytes += len(content)
        try:
            return await (self._in_batch(content) if self._period else self._forward(content))
        finally:
            self._waiting_bytes -= len(content)

    def _refused(self, request: Request) -> Response | None:
        """Return why a request is not even read, None if it is."""
        address = request.scope["client"] or ("::1",)  # none behind a socket of this machine
        if not self._limit.allows(address[0], asyncio.get_running_loop().time()):
            return _refusal(429, "too-many", f"an address may send {_MOST_A_MINUTE} messages a minute", 60)
        if request.headers.get("content-type", "").strip().lower() != REQUEST_TYPE:
            return _refusal(415, "content-type", f"messages are sent as Content-Type: {REQUEST_TYPE}")
        if self._waiting_bytes > _WAITING_BYTES:
            return _refusal(503, "busy", "more comes than can be forwarded; send it again later", 60)
        return None

    async def _in_batch(self, content: bytes) -> Response:
        """Let a message wait for one of the next batches, and return its answer."""
        message = _Message(content)
        self._batches[self._batch + 1 + secrets.randbelow(_BATCHES)].append(message)
        return await message.answer

    async def _forward_batches(self) -> None:
        async with asyncio.TaskGroup() as under_way:
            while True:
                await asyncio.sleep(self._period or _MOST_HOLD)
                self._batch += 1
                if messages := self._batches.pop(self._batch, None):
                    under_way.create_task(self._forward_batch(messages))

    async def _forward_batch(self, messages: "list[_Message]") -> None:
        secrets.SystemRandom().shuffle(messages)
        answers = await asyncio.gather(*(self._forward(message.content) for message in messages))
        for message, answer in zip(messages, answers, strict=True):
            if not message.answer.done():  # whoever sent it may be gone
                message.answer.set_result(answer)

    async def _forward(self, content: bytes) -> Response:
        """Return the gateway's answer to a message: what is sealed, or a refusal as it is."""
        try:
            status, headers, body = await self._ask("POST", _ANSWER_BYTES, data=content)
        except _AwayError as away:
            return away.answer
        kind = headers.get("content-type", "")
        if status == 200 and kind != RESPONSE_TYPE:
            return _refusal(502, "no-gateway", "what the relay forwards to is no gateway")
        passed = {name: headers[name] for name in ("content-type", "retry-after") if name in headers}
        return Response(body, status, passed)

    async def _ask(self, method: str, most: int, **more: Any) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of an answer of the gateway; raises _AwayError."""
        headers = {"content-type": REQUEST_TYPE} if more else {}
        try:
            async with self._gateway.request(
                method, self._to, headers=headers, allow_redirects=False, **more
            ) as answer:
                return answer.status, answer.headers, await _read(answer.content.iter_any(), most)
        except TimeoutError:
            error = _AwayError(504, "slow-gateway", "the gateway does not answer in time; send it again later")
        except (aiohttp.ClientError, OSError, WireError):
            error = _AwayError(502, "no-gateway", "the gateway cannot be reached; send it again later")
        _LOG.error("the gateway is away or slow")
        raise error

    # ---- keys

    async def _get_keys(self, _: Request) -> Response:
        """Answer the gateway's key configurations, the same to everybody."""
        now = asyncio.get_running_loop().time()
        async with self._keys_guard:
            if now - self._keys_at > _KEYS_SECONDS:
                try:
                    self._keys, self._keys_at = await self._fetch_keys(), now
                except _AwayError as away:
                    if now - self._keys_at > _OLD_KEYS_SECONDS:
                        return away.answer
        return Response(self._keys, media_type=KEYS_TYPE, headers={"cache-control": f"max-age={_KEYS_SECONDS:.0f}"})

    async def _fetch_keys(self) -> bytes:
        status, _, content = await self._ask("GET", MOST_KEYS_BYTES)
        with suppress(WireError):
            if status == 200 and decode_key_configs(content):
                return content
        raise _AwayError(502, "no-gateway", "what the relay forwards to publishes no keys")


class _Message:
    """A message that waits, and what will be its answer."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()


class _AwayError(Exception):
    """The gateway does not answer, or is none; what the client is told."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.answer = _refusal(status, reason, message, 60)


class Uncounted:
    """What the server under a relay would have counted."""

    turned_away = 0
    connections: Callable[[], int] = staticmethod(lambda: 0)

    def refused(self, reason: str) -> None:
        """Count nothing."""


class _Limit:
    """How many requests came from an address, or the network of a household, in this minute."""

    def __init__(self) -> None:
        self._minute, self._salt, self._counts = -1, b"", Counter[bytes]()

    def allows(self, address: str, now: float) -> bool:
        """Count a request, and tell whether there were not too many."""
        ip = ipaddress.ip_address(address.partition("%")[0])
        if ip.is_loopback:
            return True
        minute = int(now // 60)
        if minute != self._minute or len(self._counts) >= _MOST_ADDRESSES:
            self._minute, self._salt, self._counts = minute, secrets.token_bytes(16), Counter()
        network = ip.packed[: _NETWORK_BITS // 8]  # all of an IPv4 address
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
