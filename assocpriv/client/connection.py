"""A device's requests to its collector over HTTP, directly or through a relay.

Requests are bounded in time and size, and repeated where that can help. No response is trusted: bodies are read up to a
limit, redirects are not followed, certificates are always verified, and of a response at most one line of printable
text is shown. With a relay every request goes there, encrypted for the collector (files/oblivious_http.py). The
protocol is in docs/formats/collector.md.
"""

import contextlib
import http.client
import ipaddress
import json
import re
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from assocpriv.files import oblivious_http
from assocpriv.guarantees.errors import CollectorError, WireError, pluralize

_RESPONSE_SECONDS = 30.0  # for a complete response
_RELAY_SECONDS = 120.0  # the same through a relay, which delays messages for a batch
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between attempts; each about twice the previous one
_AGAIN = frozenset((408, 429, 500, 502, 503, 504))  # statuses after which the same request may succeed
_MOST_SHOWN = 300  # characters shown of a collector's message
_MOST_ERROR_BYTES = 1 << 16
_LONGEST_KEY = 512
_DIGEST = re.compile("[0-9a-f]{64}")
_MOST_AROUND = 1 << 16  # bytes around a response's body: encryption, headers, padding
_OLD_KEY = "after a change of keys a relay has the old one for ten minutes; try again then"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response: its status, its headers by lower-case names, its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def message(self) -> str:
        """Return the collector's message in a refusal, one line of printable text."""
        message = self._field("message")
        text = message if isinstance(message, str) else "no reason given"
        return "".join(letter if letter.isprintable() else " " for letter in text[:_MOST_SHOWN]).strip()

    def is_retryable(self) -> bool:
        """Return whether the same request may succeed soon; a used-up quota does not come back."""
        return self.status in _AGAIN and self._field("error") != "quota"

    @property
    def is_key_problem(self) -> bool:
        """Whether a gateway has no key for the message."""
        return self.status == 400 and self._field("type") == oblivious_http.KEY_PROBLEM

    def read_json(self, what: str) -> Any:
        """Return the body's JSON content.

        Raises:
            CollectorError: it is none.
        """
        try:
            return json.loads(self.body.decode("utf-8"))
        except (ValueError, RecursionError):
            raise CollectorError(f"the collector's response is no {what}") from None

    def _field(self, name: str) -> Any:
        try:
            content = json.loads(self.body)
        except (ValueError, RecursionError):
            content = None
        return content.get(name) if isinstance(content, dict) else None


@dataclass(frozen=True, slots=True)
class Clock:
    """The time for sending; tests replace it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = lambda: secrets.randbelow(1025) / 1024
    wall: Callable[[], float] = time.time


@dataclass(frozen=True)
class Collector:
    """The address of a collector, and how long to try.

    Attributes:
        url: as https://shop.example or https://shop.example/collection.
        key: sent with every request, if given; never shown.
        insecure: allow http:// to other machines. Reports are randomized, but an observer sees who sends them, and can
            replace the plan.
        patience_seconds: time after which no further attempt begins, in seconds.
        relay: address of a relay that another party runs, for all requests: it sees who sends, but not what; the
            collector sees what, but not who.
        pinned_keys: SHA-256, in hexadecimal digits, of the collector's key configurations: no other key is used with a
            relay. Without them the collector is asked directly for each new key of the relay, and sees the device's
            address: :meth:`check_key`.
        clock: the time for sending, which tests replace.

    Raises:
        CollectorError: an address that is no such URL, or not a safe one; a key that no header can hold, or with a
            relay, where it would identify the sender; a malformed digest; a negative patience.

    >>> import assocpriv as ap
    >>> collector = ap.device.Collector("https://shop.example", key="open sesame", patience_seconds=5)
    >>> collector.url, "sesame" in repr(collector)
    ('https://shop.example', False)
    """

    url: str
    key: str | None = field(default=None, repr=False)
    insecure: bool = False
    patience_seconds: float = 60.0
    clock: Clock = Clock()
    relay: str | None = None
    pinned_keys: Sequence[str] = ()
    _gateway_keys: list[oblivious_http.KeyConfig] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for url in filter(None, (self.url, self.relay)):
            scheme, host, _, _ = _parts(url)
            if scheme == "http" and not self.insecure and not _is_loopback(host):
                raise CollectorError(
                    f"{url} is not encrypted; give its https:// address, or insecure=True if others on the network may "
                    "see who reports, and may replace the plan"
                )
        if self.relay is not None:
            self._check_relay(self.relay)
        if not self.patience_seconds >= 0:  # also for NaN
            raise CollectorError(f"patience_seconds must be 0 or more, got {self.patience_seconds}")
        key = self.key
        if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
            raise CollectorError(f"a key must have 1 to {_LONGEST_KEY} printable ASCII characters")

    def _check_relay(self, relay: str) -> None:
        if _parts(relay)[:3] == _parts(self.url)[:3]:
            raise CollectorError("the relay is the collector itself, which would see who sends; give another party's")
        if self.key is not None:
            raise CollectorError("a key identifies the sender, whom a relay hides; give one of the two")
        if not all(_DIGEST.fullmatch(digest) for digest in self.pinned_keys):
            raise CollectorError("pinned_keys must be SHA-256 of key configurations: 64 lowercase hexadecimal digits")

    def ask(
        self, path: str, *, most_bytes: int, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        """Return the response to GET, or to POST of a body.

        Each attempt sends the same bytes; for a relay they are encrypted anew.

        Args:
            path: on the collector, as "/plan".
            most_bytes: largest length of a response's body.
            body: to POST; None to GET.
            headers: of the request.

        Returns:
            The response: ``status``, ``headers`` by lower-case names, and ``body`` in bytes.

        Raises:
            CollectorError: no response in time, one that is too long, or a redirect.
        """
        return self._repeated(lambda: self._once(path, most_bytes, body, headers or {}))

    def _repeated(self, once: Callable[[], HttpResponse]) -> HttpResponse:
        """Return the first response after which no repetition helps."""
        begun, pause, attempts = self.clock.now(), _FIRST_PAUSE, 0
        while True:
            attempts += 1
            asked = 0.0
            try:
                answer = once()
            except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: a chunk of length -1
                problem = _problem(error)
            else:
                if not answer.is_retryable():
                    return answer
                problem, asked = f"status {answer.status}: {answer.message()}", _retry_after(answer)
            wait = max(asked, pause * (1 + self.clock.jitter()) / 2)
            if self.clock.now() + wait > begun + self.patience_seconds:
                later = f"; try again in {pluralize(round(asked), 'second')}" if asked else ""
                through = "" if self.relay is None else f" through the relay {self.relay}"
                failed = f"{self.url} did not accept the request in {pluralize(attempts, 'attempt')}{through}"
                raise CollectorError(f"{failed}: {problem}{later}")
            self.clock.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(self, path: str, most_bytes: int, body: bytes | None, headers: Mapping[str, str]) -> HttpResponse:
        if self.relay is not None:
            return self._ask_through_relay(self.relay, path, most_bytes, body, headers)
        key = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        return _fetch(self.url, path, most_bytes, body, {**headers, **key})

    def _ask_through_relay(
        self, relay: str, path: str, most_bytes: int, body: bytes | None, headers: Mapping[str, str]
    ) -> HttpResponse:
        """Return the collector's response to an encrypted message, or a refusal by a busy relay."""
        url = urlsplit(self.url)
        message = oblivious_http.BinaryRequest(
            b"GET" if body is None else b"POST",
            path.encode("ascii"),
            [(name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()],
            body or b"",
            url.scheme.encode("ascii"),
            url.netloc.encode("ascii"),
        ).encode()
        if not self._gateway_keys:
            self.check_key(())
        content, exchange = oblivious_http.seal_request(message, self._gateway_keys[0])
        most = max(most_bytes, _MOST_ERROR_BYTES) + _MOST_AROUND
        sent = {"Content-Type": oblivious_http.REQUEST_TYPE}
        sealed = _fetch(relay, oblivious_http.GATEWAY_PATH, most, content, sent, _RELAY_SECONDS)
        if sealed.is_key_problem:
            self._gateway_keys.clear()
            raise CollectorError(f"the collector does not have the key that the relay published: {_OLD_KEY}")
        if sealed.status != 200:
            if sealed.is_retryable():
                return sealed
            raise CollectorError(f"the relay refuses (status {sealed.status}): {sealed.message()}")
        try:
            answer = oblivious_http.BinaryResponse.decode(exchange.open_response(sealed.body))
        except WireError as error:
            raise CollectorError(f"the relay returned no response of the collector: {error}") from None
        _check_length(answer.body, most_bytes if answer.status == 200 else _MOST_ERROR_BYTES, self.url)
        found = {name.decode("ascii"): value.decode("latin-1") for name, value in answer.headers}
        return HttpResponse(answer.status, found, answer.body)

    def check_key(self, known: Collection[str]) -> str | None:
        """Choose the key to encrypt for among those that the relay publishes, for all further requests.

        It is a pinned key. Without pins it is a known one, else the relay's first, if the collector publishes it, too.
        The collector, asked directly, sees the device's address: send nothing until a time that is drawn afterwards.

        Args:
            known: SHA-256, in hexadecimal digits, of keys that were checked before.

        Returns:
            The SHA-256 of a key that is not among ``known`` and for which the collector was asked; else None.

        Raises:
            CollectorError: no response, or no such key.
        """
        assert self.relay is not None
        offered, pinned = self._keys_at(self.relay), set(self.pinned_keys)
        trusted = pinned or {*known, *(each.digest for each in self._gateway_keys)}
        found = next((each for each in offered if each.digest in trusted), None)
        if found is None and pinned:
            raise CollectorError("the relay publishes no key that is pinned: renew the pins, or its key is not genuine")
        if found is None:
            found = offered[0]
            if found.digest not in {each.digest for each in self._keys_at(self.url)}:
                raise CollectorError(
                    f"the relay publishes no key that the collector publishes: {_OLD_KEY}; if this stays, the relay's "
                    "key may be for this device only"
                )
        self._gateway_keys[:] = [found]
        return None if pinned or found.digest in known else found.digest

    def _keys_at(self, url: str) -> list[oblivious_http.KeyConfig]:
        most = oblivious_http.MOST_KEYS_BYTES
        answer = self._repeated(lambda: _fetch(url, oblivious_http.GATEWAY_PATH, most, None, {}))
        if answer.status != 200:
            raise CollectorError(f"{url} publishes no keys (status {answer.status}): {answer.message()}")
        try:
            return oblivious_http.decode_key_configs(answer.body)
        except WireError as error:
            raise CollectorError(f"{url} publishes no keys: {error}") from None


def _parts(url: str) -> tuple[str, str, int | None, str]:
    """Return scheme, host, port and path prefix of a URL."""
    bad = CollectorError(
        f"{url[:_MOST_SHOWN]!r} is no address of a collector or relay; give one as https://shop.example, without "
        "user, password or ?"
    )
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
        (host or "").encode("idna")  # as a name lookup does: labels have 1 to 63 letters
    except ValueError:
        raise bad from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise bad
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise bad
    return parts.scheme, host, port, parts.path.rstrip("/")


def _fetch(
    url: str, path: str, most_bytes: int, body: bytes | None, headers: Mapping[str, str], seconds: float | None = None
) -> HttpResponse:
    """Return the response to one request, over a new connection."""
    scheme, host, port, before = _parts(url)
    seconds = seconds or _RESPONSE_SECONDS
    sent = {"Connection": "close", "User-Agent": "assocpriv", **headers}
    connection: http.client.HTTPConnection
    if scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=seconds)
    with contextlib.closing(connection):
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            raise CollectorError(
                f"the certificate of {url} is not trusted: {error.verify_message} (to trust your own authority, name "
                "its file in SSL_CERT_FILE)"
            ) from None
        with _cut_off(connection.sock, seconds):
            connection.request("GET" if body is None else "POST", before + path, body, sent)
            with contextlib.closing(connection.getresponse()) as response:
                return _read(response, most_bytes, url)


def _read(response: http.client.HTTPResponse, most_bytes: int, url: str) -> HttpResponse:
    status = response.status
    if 300 <= status < 400:
        raise CollectorError(f"{url} redirects (status {status}), which is not followed; give the final address")
    limit = most_bytes if status == 200 else _MOST_ERROR_BYTES
    content = response.read(limit + 1)
    _check_length(content, limit, url)
    if response.length:  # fewer bytes than were announced
        raise http.client.IncompleteRead(content)
    return HttpResponse(status, {name.lower(): value for name, value in response.getheaders()}, content)


def _check_length(content: bytes, most: int, url: str) -> None:
    if len(content) > most:
        raise CollectorError(f"{url} sends more than {most:,} bytes, which no collector does; check the address")


@contextlib.contextmanager
def _cut_off(connected: socket.socket, seconds: float) -> Iterator[None]:
    """End a connection whose response is not complete in time."""

    def cut() -> None:
        with contextlib.suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _problem(error: OSError | ValueError | http.client.HTTPException) -> str:
    """Return why there was no response, without text of the server."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    broke_off = isinstance(error, (http.client.HTTPException, ValueError))
    return "the connection was lost" if broke_off else "no connection"


def _retry_after(answer: HttpResponse) -> float:
    """Return the seconds that a response asks to wait; 0 without a number."""
    text = answer.headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0
