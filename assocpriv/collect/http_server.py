"""The server under a collector or a relay: uvicorn, with bounds on what a client may send before its request begins.

The head of a request must arrive within seconds and has a bounded length; a connection without a request is closed.
Deadlines are checked once a second, which costs a request almost nothing. A head that is too long is refused while it
arrives: the parser would assemble it piece by piece, at a cost that grows with the square of its length. Connections
leave file descriptors to the store.

Log lines have time, level and version; a repeated message appears once a minute.
"""

import asyncio
import contextlib
import json
import logging
import math
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from assocpriv.collect.store import RequestRefused

_HEAD_BYTES = 64 << 10  # of a request line and headers, or of data between or after the parts of a body
_HEAD_SECONDS = 10.0  # for a head, and until a connection without a request is closed
_LINGER_SECONDS = 2.0  # for a refused client to read its response before the close
_STOP_SECONDS = 3  # for requests to end, once the collector stops
_KEPT_DESCRIPTORS = 128  # left by connections to the store
_REPEAT_SECONDS = 60.0  # within which a message is logged once
_MOST_MESSAGES = 50  # that the log remembers
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
    """A connection; ``waits_since`` is the time since which it waits for a request's head, None during a request.

    uvicorn's class bounds neither the length of a head nor the time until it arrives. Its class for h11 bounds the
    length, but takes twice the processor time: 181 µs per request of one report, against 82 of the bare class for
    httptools and 88 of this one, and answers 39% fewer requests (medians of four alternating rounds).
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._bytes = 0  # since the last part of a body, or the last request
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
        self._bytes += len(data)
        self._unset_keepalive_if_required()
        while data and not self._refused:
            try:
                self.parser.feed_data(data)
                data = b""
            except httptools.HttpParserUpgrade as offer:
                data = self._read_without_offer(data[offer.args[0] :])
            except httptools.HttpParserError:
                self._refuse(_LONG if self._bytes > _HEAD_BYTES else _NO_HTTP)
        if self._bytes > _HEAD_BYTES and not self._refused:
            self._refuse(_LONG)

    def _should_upgrade(self) -> bool:
        """Let the base class wait: no offer of another protocol is taken, and the head is read again without it."""
        return True

    def _read_without_offer(self, rest: bytes) -> bytes:
        """Return a request that offers another protocol without its offer (RFC 9110, section 7.8), for a new parser.

        The parser has skipped the body, with which ``rest`` begins.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode("ascii")
        if method == b"CONNECT":  # asks for a tunnel, with or without an offer
            self._refuse(_NO_HTTP)
            return b""
        self.parser = httptools.HttpRequestParser(self)
        fields = [b"%s: %s\r\n" % each for each in self.headers if each[0] != b"upgrade"]
        return b"%s %s HTTP/%s\r\n%s\r\n%s" % (method, self.url, version, b"".join(fields), rest)

    def on_message_begin(self) -> None:
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        length = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if length > _HEAD_BYTES:  # in one part with the end of the request before
            self._bytes = length
            raise ValueError  # the parser ends
        self.waits_since, self._begun = None, False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes = 0
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

    def _refuse(self, refusal: RequestRefused) -> None:
        """Stop reading; answer after the responses to earlier requests, and close the connection."""
        self._refused = True
        self.service.metrics.record_refusal(refusal.reason)
        body = json.dumps(refusal.to_json()).encode("ascii")
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self._last = STATUS_LINE[refusal.status] + head + body
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


# ---- the log


class _RepeatFilter(logging.Filter):
    """Lets a repeated message through once a minute, with the number of its repeats."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = dict[str, tuple[float, int]]()  # time of the last one, and number omitted since

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record."""
        message = record.getMessage()
        last, omitted = self._seen.get(message, (-math.inf, 0))
        if record.created - last < _REPEAT_SECONDS:
            self._seen[message] = last, omitted + 1
            return False
        if len(self._seen) >= _MOST_MESSAGES:
            self._seen.clear()
        self._seen[message] = record.created, 0
        if omitted:
            record.msg, record.args = f"{message} (repeated {omitted:,} times since)", ()
        return True


@contextlib.contextmanager
def logging_lines(level: int, version: str) -> Iterator[None]:
    """Log records of the package and its server, from a level on, to standard error: time, level, version, message."""
    lines = logging.StreamHandler()
    form = f"%(asctime)s %(levelname)s assocpriv/{version} %(message)s"
    lines.setFormatter(logging.Formatter(form, "%Y-%m-%dT%H:%M:%S%z"))
    lines.addFilter(_RepeatFilter())
    lines.setLevel(level)
    logs = [logging.getLogger(name) for name in ("assocpriv", "uvicorn", "asyncio")]
    before = [log.handlers for log in logs]
    try:
        for log in logs:
            log.handlers = [lines]
        yield
    finally:
        for log, handlers in zip(logs, before, strict=True):
            log.handlers = handlers
