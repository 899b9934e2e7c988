"""The server under a collector or a relay: uvicorn, with bounds on what a client may send before its request begins.

The head of a request must arrive within seconds and has a bounded length; a connection without a request is closed.
Deadlines are checked once a second, which costs a request almost nothing. A head that is too long is refused while it
arrives: the parser would assemble it piece by piece, at a cost that grows with the square of its length. Connections
leave file descriptors to the store.
"""

import asyncio
import contextlib
import json
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from assocpriv.collect.wire_format import RequestRefused

_HEAD_BYTES = 64 << 10  # of a request line and headers, or of data between or after the parts of a body
_HEAD_SECONDS = 10.0  # for a head, and until a connection without a request is closed
_LINGER_SECONDS = 2.0  # for a refused client to read its response before the close
_STOP_SECONDS = 3  # for requests to end, once the collector stops
_KEPT_DESCRIPTORS = 128  # left by connections to the store
_REASONS = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}
_LOG = logging.getLogger("assocpriv")
_NO_HTTP = RequestRefused(400, "no-http", "this is no HTTP request")
_LONG = RequestRefused(
    431, "long-head", f"a request's line and headers may have at most {_HEAD_BYTES >> 10} KiB together"
)
_LATE = RequestRefused(408, "slow", f"the request's headers did not arrive within {_HEAD_SECONDS:.0f} seconds")


class ConnectionMetrics(Protocol):
    """Counts of connections and refusals."""

    rejected: int
    connections: Callable[[], int]

    def record_refusal(self, reason: str) -> None:
        """Count input that is no request."""


class MeteredApp(Protocol):
    """An ASGI application with metrics, a collector or a relay."""

    @property
    def metrics(self) -> ConnectionMetrics:
        """Its counts."""


class _Connection(HttpToolsProtocol):
    """A connection; ``waits_since`` is the time since which it waits for a request's head, None during a request."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._bytes = self._most = 0  # lower and upper bound since the last part of a body, or the last request
        self._refused = self._begun = False
        self.waits_since: float | None = self.loop.time()
        if len(self.connections) > connection_limit():
            self.service.metrics.rejected += 1
            _LOG.error("too many connections for the limit of open files; closing more: see ulimit -n, LimitNOFILE")
            transport.close()

    @property
    def service(self) -> MeteredApp:
        return cast(MeteredApp, self.config.app)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._part = len(data)
        self._bytes += self._part
        self._most += self._part
        super().data_received(data)
        if self._bytes > _HEAD_BYTES and not self._refused:
            self._refuse(_LONG)

    def on_message_begin(self) -> None:
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._most > _HEAD_BYTES:
            length = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if length > _HEAD_BYTES:
                self._bytes = length
                raise ValueError  # the parser ends, and send_400_response is called
        self.waits_since, self._begun = None, False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bytes, self._most = 0, self._part
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes, self._most = 0, self._part
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self.waits_since = self.loop.time()
        super().on_response_complete()
        if self._refused and self.cycle.response_complete and not self.transport.is_closing():
            self._end()

    def close_if_late(self, now: float) -> None:
        """Close a connection that has waited too long for a request."""
        if self.waits_since is not None and now - self.waits_since > _HEAD_SECONDS and not self._refused:
            if self._begun:
                self._refuse(_LATE)
            else:
                self.transport.close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's
        self._refuse(_LONG if self._bytes > _HEAD_BYTES else _NO_HTTP)

    def _refuse(self, refusal: RequestRefused) -> None:
        """Stop reading; answer after the responses to earlier requests, and close the connection."""
        self._refused = True
        self.service.metrics.record_refusal(refusal.reason)
        body = json.dumps(refusal.to_json()).encode("ascii")
        head = b"HTTP/1.1 %d %s\r\n" % (refusal.status, _REASONS[refusal.status])
        head += b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self._last = head + body
        if self.cycle is None or self.cycle.response_complete:
            self._end()
        elif self.cycle.more_body:  # the rest of this request can no longer be found
            self.transport.write(self._last)
            self.transport.close()

    def _end(self) -> None:
        self.transport.write(self._last)
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)


def connection_limit() -> int:
    """Return the largest number of connections that leaves the store its files."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(limit - _KEPT_DESCRIPTORS, limit // 2)


class _Server(uvicorn.Server):
    """Signals when it listens, checks connections once a second, and ends requests that do not end in time."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._ready()  # from here on signals end it

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                cast("_Connection", connection).close_if_late(now)
            _check_descriptors()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _LOG.info("stopping; requests have %d seconds to end", _STOP_SECONDS)
        asyncio.get_running_loop().call_later(_STOP_SECONDS, self._end_requests)
        await super().shutdown(sockets=sockets)

    def _end_requests(self) -> None:
        """Cancel requests in progress; the service answers 503."""
        for task in self.server_state.tasks:
            task.cancel()


def _check_descriptors() -> None:
    """Log when the process or the system has no file descriptor left."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        _LOG.error("no file or connection can be opened: %s; see ulimit -n, LimitNOFILE", error.strerror)


def make_server(service: MeteredApp, ready: Callable[[], None]) -> uvicorn.Server:
    """Return a server of a collector or a relay; it calls ``ready`` once it listens."""
    config = uvicorn.Config(
        cast(Any, service),
        http=_Connection,
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2 * _STOP_SECONDS,
        lifespan="on",
        proxy_headers=False,
    )
    server = _Server(config, ready)
    service.metrics.connections = lambda: len(server.server_state.connections)
    return server


def run(service: MeteredApp, listeners: Sequence[socket.socket], ready: Callable[[], None]) -> None:
    """Serve until a signal stops it."""
    _allow_connections()
    with _without_hangups(), contextlib.suppress(KeyboardInterrupt):  # uvicorn raises a handled signal at the end
        make_server(service, ready).run(sockets=list(listeners))
    _LOG.info("stopped")


def _allow_connections() -> None:
    """Raise the process's limit of open files to its maximum: shells often begin at 1,024, and slow clients use
    many."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextlib.contextmanager
def _without_hangups() -> Any:
    """Ignore SIGHUP, sent when a terminal closes or logs rotate: the log is standard error."""
    try:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    except ValueError:  # not in the main thread, where the caller handles signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
