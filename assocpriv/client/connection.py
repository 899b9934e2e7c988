"""A device's requests to its collector over HTTP, directly or through a relay.

They are bounded in time and size, and repeated where that can help. Nothing that a collector answers is trusted: bodies
are read up to a limit, redirects are not followed, certificates are always verified, and what is shown of an answer is
one line of printable text. With a relay every request goes there, sealed for the collector (files/oblivious.py). Source
of the wire: docs/formats/collector.md.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from assocpriv.files import oblivious
from assocpriv.promise.errors import CollectorError, WireError, counted

_ANSWER_SECONDS = 30.0  # in which one answer must be there, whole
_HELD_SECONDS = 120.0  # the same behind a relay, which holds messages for a batch
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between attempts; each about twice the one before
_AGAIN = frozenset((408, 429, 500, 502, 503, 504))  # answers after which the same request may be taken
_MOST_SAID = 300  # characters shown of a collector's message
_MOST_ERROR_BYTES = 1 << 16
_LONGEST_KEY = 512
_DIGEST = re.compile("[0-9a-f]{64}")
_MOST_AROUND = 1 << 16  # bytes beside an answer's body: seal, headers, and what pads all answers to one length


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its status, its headers by names in lower case, its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def said(self) -> str:
        """Return what the collector says of a refusal, one line of printable text."""
        message = self._field("message")
        text = message if isinstance(message, str) else "it does not say why"
        return "".join(letter if letter.isprintable() else " " for letter in text[:_MOST_SAID]).strip()

    def may_pass(self) -> bool:
        """Tell whether the same request may be taken soon; a quota that is used up does not come back."""
        return self.status in _AGAIN and self._field("error") != "quota"

    @property
    def is_of_key(self) -> bool:
        """Whether a gateway says that it has no key that opens what it was sent."""
        return self.status == 400 and self._field("type") == oblivious.KEY_PROBLEM

    def read_json(self, what: str) -> Any:
        """Return the body's JSON content.

        Raises:
            CollectorError: it is none.
        """
        try:
            return json.loads(self.body.decode("utf-8"))
        except (ValueError, RecursionError):
            raise CollectorError(f"the collector's answer is no {what}") from None

    def _field(self, name: str) -> Any:
        try:
            content = json.loads(self.body)
        except (ValueError, RecursionError):
            content = None
        return content.get(name) if isinstance(content, dict) else None


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as sending sees it; tests have another."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = lambda: secrets.randbelow(1025) / 1024
    wall: Callable[[], float] = time.time


@dataclass(frozen=True)
class Collector:
    """Where a collector is, and how long to try.

    Attributes:
        url: as https://shop.example or https://shop.example/collection.
        key: sent with every request where given; never shown.
        insecure: allow http:// beyond this machine. Reports are randomized, but who sends them can then be seen, and
            anybody on the way may put another plan in place.
        patience_seconds: after which no further attempt begins.
        relay: address of somebody else's relay, through which all requests go: it sees who sends, and nothing of what;
            the collector sees what, and nothing of who.
        pinned_keys: SHA-256 in hexadecimal digits of key configurations of the collector: no other key is used behind a
            relay. Without them the relay's must be one that the collector hands out, too, asked directly.

    Raises:
        CollectorError: an address that is no such URL, or not a safe one; a key that no header can hold, or behind a
            relay, where it would name who sends; a digest that is none; a negative patience.

    >>> import assocpriv as ap
    >>> collector = ap.Collector("https://shop.example", key="open sesame", patience_seconds=5)
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
    _found: list[oblivious.KeyConfig] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for url in filter(None, (self.url, self.relay)):
            scheme, host, _, _ = _parts(url)
            if scheme == "http" and not self.insecure and not _is_loopback(host):
                raise CollectorError(
                    f"{url} is not encrypted; give its https:// address, or insecure=True if anybody on "
                    "the way may see who reports, and may change the plan"
                )
        if self.relay is not None:
            self._check_relay(self.relay)
        if not self.patience_seconds >= 0:  # nor is it no number
            raise CollectorError(f"patience must be 0 seconds or more, got {self.patience_seconds}")
        key = self.key
        if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
            raise CollectorError(f"a key is 1 to {_LONGEST_KEY} printable ASCII characters; this one is not")

    def _check_relay(self, relay: str) -> None:
        if _parts(relay)[:3] == _parts(self.url)[:3]:
            raise CollectorError("the relay is the collector itself, who would see who sends; give somebody else's")
        if self.key is not None:
            raise CollectorError("a key says who sends, which a relay is to hide; give one of the two")
        if not all(_DIGEST.fullmatch(digest) for digest in self.pinned_keys):
            raise CollectorError("a pinned key is the SHA-256 of a key configuration: 64 lowercase hexadecimal digits")

    def ask(
        self, path: str, *, most_bytes: int, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer to GET, or to POST of a body: the same bytes at every attempt, behind a relay sealed anew.

        Raises:
            CollectorError: no answer in time, one that is too long, or a redirect.
        """
        begun, pause, attempts = self.clock.now(), _FIRST_PAUSE, 0
        while True:
            attempts += 1
            asked = 0.0
            try:
                answer = self._once(path, most_bytes, body, headers or {})
            except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: a chunk of length -1
                problem = _problem(error)
            else:
                if not answer.may_pass():
                    return answer
                problem, asked = f"status {answer.status}: {answer.said()}", _retry_after(answer)
            wait = max(asked, pause * (1 + self.clock.jitter()) / 2)
            if self.clock.now() + wait > begun + self.patience_seconds:
                later = f"; it asks to come again in {counted(round(asked), 'second')}" if asked else ""
                through = "" if self.relay is None else f" through the relay {self.relay}"
                took = f"{self.url} took nothing in {counted(attempts, 'attempt')}{through}"
                raise CollectorError(f"{took}: {problem}{later}")
            self.clock.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(self, path: str, most_bytes: int, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        if self.relay is not None:
            return self._through(self.relay, path, most_bytes, body, headers)
        key = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        return _fetched(self.url, path, most_bytes, body, {**headers, **key})

    def _through(
        self, relay: str, path: str, most_bytes: int, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        """Return the collector's answer to what is sealed for it, or what a relay says that is busy."""
        url = urlsplit(self.url)
        message = oblivious.BinaryRequest(
            b"GET" if body is None else b"POST",
            path.encode("ascii"),
            [(name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()],
            body or b"",
            url.scheme.encode("ascii"),
            url.netloc.encode("ascii"),
        ).encode()
        is_new = not self._found
        sealed, exchange = self._sealed(relay, message, most_bytes)
        if sealed.is_of_key and not is_new:  # it may have been replaced meanwhile: it is asked for anew, once
            self._found.clear()
            sealed, exchange = self._sealed(relay, message, most_bytes)
        if sealed.is_of_key:
            self._found.clear()
            raise CollectorError("the collector has no key for what the relay says is its key; try again later")
        if sealed.status != 200:
            if sealed.may_pass():
                return sealed
            raise CollectorError(f"the relay refuses (status {sealed.status}): {sealed.said()}")
        try:
            answer = oblivious.BinaryResponse.decode(exchange.open_response(sealed.body))
        except WireError as error:
            raise CollectorError(f"the relay brings no answer of the collector: {error}") from None
        _check_length(answer.body, most_bytes if answer.status == 200 else _MOST_ERROR_BYTES, self.url)
        found = {name.decode("ascii"): value.decode("latin-1") for name, value in answer.headers}
        return Answer(answer.status, found, answer.body)

    def _sealed(self, relay: str, message: bytes, most_bytes: int) -> tuple[Answer, oblivious.Exchange]:
        if not self._found:
            self._found.append(self._find_key(relay))
        content, exchange = oblivious.seal_request(message, self._found[0])
        most = max(most_bytes, _MOST_ERROR_BYTES) + _MOST_AROUND
        headers = {"Content-Type": oblivious.REQUEST_TYPE}
        return _fetched(relay, oblivious.GATEWAY_PATH, most, content, headers, _HELD_SECONDS), exchange

    def _find_key(self, relay: str) -> oblivious.KeyConfig:
        """Return the key to seal for: one that is pinned, else the relay's first if the collector hands it out, too."""
        offered = _keys_at(relay)
        if self.pinned_keys:
            whose, good = "is pinned here", set(self.pinned_keys)
        else:
            whose, offered = "the collector hands out", offered[:1]
            good = {each.digest for each in _keys_at(self.url)}
        for each in offered:
            if each.digest in good:
                return each
        raise CollectorError(f"the relay hands out no key that {whose}: it may be meant for this device alone")


def _keys_at(url: str) -> list[oblivious.KeyConfig]:
    answer = _fetched(url, oblivious.GATEWAY_PATH, oblivious.MOST_KEYS_BYTES, None, {})
    if answer.status != 200:
        raise CollectorError(f"{url} gives no keys (status {answer.status}): {answer.said()}")
    try:
        return oblivious.decode_key_configs(answer.body)
    except WireError as error:
        raise CollectorError(f"{url} gives no keys: {error}") from None


def _parts(url: str) -> tuple[str, str, int | None, str]:
    """Return scheme, host, port and path before a request's own."""
    bad = CollectorError(
        f"{url[:_MOST_SAID]!r} is no address of a collector or relay; give one as https://shop.example, without "
        "names, passwords or ?"
    )
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
        (host or "").encode("idna")  # as a look-up does: labels have 1 to 63 letters
    except ValueError:
        raise bad from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise bad
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise bad
    return parts.scheme, host, port, parts.path.rstrip("/")


def _fetched(
    url: str, path: str, most_bytes: int, body: bytes | None, headers: Mapping[str, str], seconds: float | None = None
) -> Answer:
    """Return the answer to one request, over a connection of its own."""
    scheme, host, port, before = _parts(url)
    seconds = seconds or _ANSWER_SECONDS
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
            said = f"the certificate of {url} is not trusted: {error.verify_message}"
            raise CollectorError(f"{said} (SSL_CERT_FILE names an authority of your own)") from None
        with _cut_off(connection.sock, seconds):
            connection.request("GET" if body is None else "POST", before + path, body, sent)
            with contextlib.closing(connection.getresponse()) as response:
                return _read(response, most_bytes, url)


def _read(response: http.client.HTTPResponse, most_bytes: int, url: str) -> Answer:
    status = response.status
    if 300 <= status < 400:
        raise CollectorError(
            f"{url} sends elsewhere (status {status}), and that is not followed; give the address itself"
        )
    limit = most_bytes if status == 200 else _MOST_ERROR_BYTES
    content = response.read(limit + 1)
    _check_length(content, limit, url)
    if response.length:  # fewer bytes than were announced
        raise http.client.IncompleteRead(content)
    return Answer(status, {name.lower(): value for name, value in response.getheaders()}, content)


def _check_length(content: bytes, most: int, url: str) -> None:
    if len(content) > most:
        raise CollectorError(f"{url} answers with more than {most:,} bytes; no collector does")


@contextlib.contextmanager
def _cut_off(connected: socket.socket, seconds: float) -> Iterator[None]:
    """End a connection whose answer does not come in time, however slowly it comes."""

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
    """Say why there was no answer, without what the other side wrote."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    broke_off = isinstance(error, (http.client.HTTPException, ValueError))
    return "the connection broke off" if broke_off else "no connection"


def _retry_after(answer: Answer) -> float:
    """Return the seconds that an answer asks to wait; 0 where it says no number of them."""
    text = answer.headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0
