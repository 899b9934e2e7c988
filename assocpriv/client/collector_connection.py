"""A device's requests to a collector over HTTP: bounded in time and size, repeated where that can help.

Nothing that a collector answers is trusted: bodies are read up to a limit, redirects are not followed, certificates are
always verified, and what is shown of an answer is one line of printable text. Source of the wire: formats/collector.md.
"""

import contextlib
import http.client
import ipaddress
import json
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from assocpriv.promise.errors import CollectorError, counted

_ANSWER_SECONDS = 30.0  # in which one answer must be there, whole
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between attempts; each about twice the one before
_AGAIN = frozenset((408, 429, 500, 502, 503, 504))  # answers after which the same request may be taken
_MOST_SAID = 300  # characters shown of a collector's message
_MOST_ERROR_BYTES = 1 << 16
_LONGEST_KEY = 512


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


@dataclass(frozen=True)
class Collector:
    """Where a collector is, and how long to try.

    Attributes:
        url: as https://shop.example or https://shop.example/collection.
        key: sent with every request where given; never shown.
        insecure: allow http:// beyond this machine. Reports are randomized, but who sends them can then be seen, and
            anybody on the way may put another plan in place.
        patience_seconds: after which no further attempt begins.

    Raises:
        CollectorError: an address that is no such URL, or not a safe one; a key that no header can hold; a negative
            patience.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    insecure: bool = False
    patience_seconds: float = 60.0
    clock: Clock = Clock()

    def __post_init__(self) -> None:
        scheme, host, _, _ = self._parts()
        if scheme == "http" and not self.insecure and not _is_loopback(host):
            raise CollectorError(
                f"{self.url} is not encrypted; give its https:// address, or --insecure (insecure=True) if anybody on "
                "the way may see who reports, and may change the plan"
            )
        if not self.patience_seconds >= 0:  # nor is it no number
            raise CollectorError(f"patience must be 0 seconds or more, got {self.patience_seconds}")
        key = self.key
        if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
            raise CollectorError(f"a key is 1 to {_LONGEST_KEY} printable ASCII characters; this one is not")

    def _parts(self) -> tuple[str, str, int | None, str]:
        """Return scheme, host, port and path before a request's own."""
        bad = CollectorError(
            f"{self.url[:_MOST_SAID]!r} is no address of a collector; give one as https://shop.example, without "
            "names, passwords or ?"
        )
        try:
            parts = urlsplit(self.url)
            port, host = parts.port, parts.hostname
            (host or "").encode("idna")  # as a look-up does: labels have 1 to 63 letters
        except ValueError:
            raise bad from None
        if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query or parts.fragment:
            raise bad
        if not (self.url.isascii() and self.url.isprintable()) or " " in self.url:
            raise bad
        return parts.scheme, host, port, parts.path.rstrip("/")

    def ask(
        self, path: str, *, most_bytes: int, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer to GET, or to POST of a body: the same bytes at every attempt.

        Raises:
            CollectorError: no answer in time, one that is too long, or a redirect.
        """
        begun, pause, attempts = self.clock.now(), _FIRST_PAUSE, 0
        while True:
            attempts += 1
            asked = 0.0
            try:
                answer = self._once(path, most_bytes, body, headers or {})
            except ssl.SSLCertVerificationError as error:
                said = error.verify_message
                raise CollectorError(f"the certificate of {self.url} is not trusted: {said}") from None
            except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: a chunk of length -1
                problem = _problem(error)
            else:
                if not answer.may_pass():
                    return answer
                problem, asked = f"status {answer.status}: {answer.said()}", _retry_after(answer)
            wait = max(asked, pause * (1 + self.clock.jitter()) / 2)
            if self.clock.now() + wait > begun + self.patience_seconds:
                later = f"; it asks to come again in {counted(round(asked), 'second')}" if asked else ""
                raise CollectorError(f"{self.url} took nothing in {counted(attempts, 'attempt')}: {problem}{later}")
            self.clock.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(self, path: str, most_bytes: int, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        scheme, host, port, before = self._parts()
        sent = {"Connection": "close", "User-Agent": "assocpriv", **headers}
        if self.key is not None:
            sent["Authorization"] = f"Bearer {self.key}"
        connection: http.client.HTTPConnection
        if scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, port, timeout=_ANSWER_SECONDS, context=context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=_ANSWER_SECONDS)
        with contextlib.closing(connection):
            connection.connect()
            with _cut_off(connection.sock):
                connection.request("GET" if body is None else "POST", before + path, body, sent)
                with contextlib.closing(connection.getresponse()) as response:
                    return self._read(response, most_bytes)

    def _read(self, response: http.client.HTTPResponse, most_bytes: int) -> Answer:
        status = response.status
        if 300 <= status < 400:
            raise CollectorError(
                f"{self.url} sends elsewhere (status {status}), and that is not followed; give the address of the "
                "collector itself"
            )
        limit = most_bytes if status == 200 else _MOST_ERROR_BYTES
        content = response.read(limit + 1)
        if len(content) > limit:
            raise CollectorError(f"{self.url} answers with more than {limit:,} bytes; no collector does")
        if response.length:  # fewer bytes than were announced
            raise http.client.IncompleteRead(content)
        return Answer(status, {name.lower(): value for name, value in response.getheaders()}, content)


@contextlib.contextmanager
def _cut_off(connected: socket.socket) -> Iterator[None]:
    """End a connection whose answer does not come in time, however slowly it comes."""

    def cut() -> None:
        with contextlib.suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(_ANSWER_SECONDS, cut)
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


def read_json(answer: Answer, what: str) -> Any:
    """Return an answer's JSON content.

    Raises:
        CollectorError: it is none.
    """
    try:
        return json.loads(answer.body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise CollectorError(f"the collector's answer is no {what}") from None
