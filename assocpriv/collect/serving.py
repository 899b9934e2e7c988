"""The server under a collector or a relay: uvicorn, with bounds on what a client may hold before its request is one.

A request's head comes within seconds and has a bounded length; whoever says nothing is let go. Times are looked at once
a second, so they cost a request next to nothing. A head is refused while it comes: the parser would put it together
piece by piece, at a cost that grows with the square of its length. Connections leave descriptors over for the store.
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

from assocpriv.collect.wire import Refused

_HEAD_BYTES = 64 << 10  # of a request line and headers, or of what stands between or after the parts of a body
_HEAD_SECONDS = 10.0  # in which they come, and after which a connection without a request is closed
_LINGER_SECONDS = 2.0  # that a refused client may read its answer: closed at once, what it still sends would undo that
_STOP_SECONDS = 3  # that requests have to end, once the collector is told to stop
_KEPT_DESCRIPTORS = 128  # that connections leave to the store
_REASONS = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}
_LOG = logging.getLogger("assocpriv")
_NO_HTTP = Refused(400, "no-http", "this is no HTTP request")
_LONG = Refused(431, "long-head", f"a request's line and headers have at most {_HEAD_BYTES >> 10} KiB together")
_LATE = Refused(408, "slow", f"the request's headers did not come within {_HEAD_SECONDS:.0f} seconds")


class Counts(Protocol):
    """What is counted of connections."""

    turned_away: int
    connections: Callable[[], int]

    def refused(self, reason: str) -> None:
        """Count what is no request."""


class Served(Protocol):
    """An ASGI application that counts, a collector or a relay."""

    @property
    def metrics(self) -> Counts:
        """Its counters."""


class _Connection(HttpToolsProtocol):
    """A connection: ``waits_since`` a time for a request's head, or None while a request is under way."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._bytes = self._most = 0  # since the last piece of a body, or the last request: at least, and at most
        self._refused = self._begun = False
        self.waits_since: float | None = self.loop.time()
        if len(self.connections) > most_connections():
            self.service.metrics.turned_away += 1
            _LOG.error("too many connections for the limit of open files; more are closed: see ulimit -n, LimitNOFILE")
            transport.close()

    @property
    def service(self) -> Served:
        return cast(Served, self.config.app)

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

    def look(self, now: float) -> None:
        """End what has waited for long enough."""
        if self.waits_since is not None and now - self.waits_since > _HEAD_SECONDS and not self._refused:
            if self._begun:
                self._refuse(_LATE)
            else:
                self.transport.close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's
        self._refuse(_LONG if self._bytes > _HEAD_BYTES else _NO_HTTP)

    def _refuse(self, refusal: Refused) -> None:
        """Read no more; answer what is no request, behind the answers to those before it, and close the connection."""
        self._refused = True
        self.service.metrics.refused(refusal.reason)
        body = json.dumps(refusal.to_json()).encode("ascii")
        head = b"HTTP/1.1 %d %s\r\n" % (refusal.status, _REASONS[refusal.status])
        head += b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self._last = head + body
        if self.cycle is None or self.cycle.response_complete:
            self._end()
        elif self.cycle.more_body:  # of a request of which the rest cannot be told any more
            self.transport.write(self._last)
            self.transport.close()

    def _end(self) -> None:
        self.transport.write(self._last)
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)


def most_connections() -> int:
    """Return how many connections there may be, for the store to open its files beside them."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(limit - _KEPT_DESCRIPTORS, limit // 2)


class _Server(uvicorn.Server):
    """Tells when it listens, looks at connections once a second, and ends what does not end by itself."""

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
                cast("_Connection", connection).look(now)
            _look_at_descriptors()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _LOG.info("stopping: requests have %d seconds to end", _STOP_SECONDS)
        asyncio.get_running_loop().call_later(_STOP_SECONDS, self._end_requests)
        await super().shutdown(sockets=sockets)

    def _end_requests(self) -> None:
        """Cancel requests that are under way; the service answers 503."""
        for task in self.server_state.tasks:
            task.cancel()


def _look_at_descriptors() -> None:
    """Log that the process, or the system, has no descriptor left."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        _LOG.error("no file can be opened, and so no connection: %s; see ulimit -n, LimitNOFILE", error.strerror)


def server_of(service: Served, ready: Callable[[], None]) -> uvicorn.Server:
    """Return a server of a collector or a relay; ``ready`` is called once it listens."""
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


def run(service: Served, listeners: Sequence[socket.socket], ready: Callable[[], None]) -> None:
    """Serve until a signal ends it."""
    _allow_connections()
    with _without_hangups(), contextlib.suppress(KeyboardInterrupt):  # a signal that was seen to is raised at the end
        server_of(service, ready).run(sockets=list(listeners))
    _LOG.info("stopped")


def _allow_connections() -> None:
    """Let the process have as many connections as it may: shells often begin at 1,024, and slow clients hold theirs."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextlib.contextmanager
def _without_hangups() -> Any:
    """Go on where a terminal is closed, or who turns logs over asks to open them anew: the log is standard error."""
    try:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    except ValueError:  # not in the main thread, where signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
