"""A device, facing its collector: what is asked there, a report made, sent until the collector has it.

This module sees raw records while a report is made, and hands them to nothing but the ledger. What it sends is a report
that is in the ledger already, on disk, with the id of its submission: the same bytes at every attempt. The
ledger is closed while anything is sent, so others can use it meanwhile.

Requests over HTTP are bounded in time and size, and repeated where that can help. Nothing that a collector answers is
trusted: bodies are read up to a limit, redirects are not followed, certificates are always verified, and what is shown
of an answer is one line of printable text. Source of the wire: docs/formats/collector.md.
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
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assocpriv.client.ledger import Ledger, ask_for, parse_values, takes_names
from assocpriv.client.ledger_book import Submission
from assocpriv.client.ledger_file import ID_BYTES
from assocpriv.plans.kind import parse_plan
from assocpriv.promise.errors import BasketError, CollectorError, PlanError, counted

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.promise.breaches import Breach

_ANSWER_SECONDS = 30.0  # in which one answer must be there, whole
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between attempts; each about twice the one before
_AGAIN = frozenset((408, 429, 500, 502, 503, 504))  # answers after which the same request may be taken
_MOST_SAID = 300  # characters shown of a collector's message
_MOST_ERROR_BYTES = 1 << 16
_LONGEST_KEY = 512
_ID = re.compile("[0-9a-f]{64}")
_MOST_PLAN = 64 << 20
_MOST_GUIDANCE = 1 << 28
_MOST_UPLOAD = 4 << 20  # that a collector takes at a time
_MOST_RECEIPT = 1 << 12


# ---- requests


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

    def __post_init__(self) -> None:
        scheme, host, _, _ = self._parts()
        if scheme == "http" and not self.insecure and not _is_loopback(host):
            raise CollectorError(
                f"{self.url} is not encrypted; give its https:// address, or insecure=True if anybody on "
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


def _read_json(answer: Answer, what: str) -> Any:
    """Return an answer's JSON content.

    Raises:
        CollectorError: it is none.
    """
    try:
        return json.loads(answer.body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise CollectorError(f"the collector's answer is no {what}") from None


# ---- devices


@dataclass(frozen=True, slots=True)
class Device:
    """A device's ledger and what it lets go.

    Attributes:
        ledger: its file; made if it is missing, and something was written down.
        limit: a promise that all its reports keep together, whatever their plans; without one the first is answered.
        pinned_id: id of the plan that the collector must have, where it is known from elsewhere.
        max_level: of a guided plan the highest level that is answered; any by default.
        empty: ``"error"``, or ``"keep"`` to report on an empty basket.
    """

    ledger: Path
    limit: "Breach | None" = None
    pinned_id: str | None = None
    max_level: int | None = None
    empty: str = "error"


@dataclass(frozen=True, slots=True)
class SentReport:
    """What became of one record.

    Attributes:
        state: ``"sent"``; or ``"sent before"``, when nothing was sent now.
        plan_id, report_bytes: of what was answered.
        new: whether the report was made now.
        spent, left: reports of the plan made by this device, and how many more it may make.
        amplification: γ of all that the device told, under any plans; None if one of these states none.
        unbounded: what holds instead where the plan states no γ, in words; else empty.
    """

    state: str
    plan_id: str
    report_bytes: int
    new: bool
    spent: int
    left: int
    amplification: Fraction | None
    unbounded: str


@dataclass(frozen=True, slots=True)
class SentWaiting:
    """Reports that waited: how many were sent, and how many wait on, being of plans that are not collected there."""

    sent: int
    other_plans: int


# ---- what a collector asks


def _fetch_plan(collector: Collector, pinned_id: str | None = None) -> "PublishedPlan":
    """Ask a collector for its plan.

    Raises:
        CollectorError: no answer, or no plan.
        PlanError: the plan breaks a rule, or is not what was pinned.
    """
    if pinned_id is not None and not _ID.fullmatch(pinned_id):
        raise PlanError("a plan's id has 64 lowercase hexadecimal digits; give it whole")
    with _saying("nothing was made or sent"):
        answer = _good(collector.ask("/plan", most_bytes=_MOST_PLAN), "plan")
        try:
            plan = parse_plan(answer.body.decode("utf-8"))
        except UnicodeDecodeError:
            raise CollectorError("the collector's answer is no plan") from None
        if answer.headers.get("assocpriv-plan") != plan.plan_id:
            raise CollectorError(
                f"the collector answers with plan {plan.plan_id[:12]} where it says that it has another"
            )
    if pinned_id not in (None, plan.plan_id):
        raise PlanError(
            f"the collector publishes {plan.plan_id[:12]}…, not the plan {(pinned_id or '')[:12]}… that was asked for; "
            "nothing was made or sent"
        )
    return plan


@contextlib.contextmanager
def _saying(what: str) -> Iterator[None]:
    """Say of a collector that fails what became of the report."""
    try:
        yield
    except CollectorError as error:
        raise CollectorError(f"{error}; {what}") from None


def _good(answer: Answer, what: str) -> Answer:
    if answer.status != 200:
        raise CollectorError(f"the collector gives no {what} (status {answer.status}): {answer.said()}")
    return answer


# ---- one record


def send_record(record: Any, collector: Collector, device: Device, occasion: str) -> SentReport:
    """Answer what a collector asks with one record; see :func:`assocpriv.collect.send_report`."""
    plan = _fetch_plan(collector, device.pinned_id)
    with _opened(device) as ledger:
        known = ledger.has(plan, occasion)
    made = None if known else _prepared(record, plan, collector, device)
    with _opened(device) as ledger:
        before = ledger.spent(plan)
        submission = ledger.submit(made, plan, occasion=occasion)
        new, left = ledger.spent(plan) > before, ledger.left(plan)
        told = before + new, left, ledger.amplification
    sent = _deliver(submission, collector, device)
    note = plan.unbounded if plan.amplification is None else ""
    return SentReport(sent, plan.plan_id, plan.report_bytes, new, *told, note)


@contextlib.contextmanager
def _opened(device: Device) -> Iterator[Ledger]:
    """Open the ledger; one that is new and in which nothing was written is not left behind."""
    ledger = Ledger.open(device.ledger, limit=device.limit)
    try:
        yield ledger
    finally:
        ledger.abandon()


def _prepared(record: Any, plan: "PublishedPlan", collector: Collector, device: Device) -> Any:
    """Return the record that a plan's report is made of: read, if it came as text, and with what the kind asks for."""

    def ask(path: str) -> Any:
        answer = _good(collector.ask(path, most_bytes=_MOST_GUIDANCE), "guidance")
        return _read_json(answer, "guidance")

    if isinstance(record, bytes):
        record = parse_values(record, plan)
    if device.empty == "error" and takes_names(plan) and isinstance(record, Sized) and not len(record):
        raise BasketError(
            "the basket is empty, as after a pipe that failed; if nothing was bought, report that with empty='keep'"
        )
    return ask_for(record, plan, ask, max_level=device.max_level)


# ---- what is sent


def _deliver(submission: Submission, collector: Collector, device: Device) -> str:
    """Send a report that is in the ledger, unless the collector has it; return the state that it is in then."""
    if submission.acknowledged:
        return "sent before"
    _send([submission], collector, device)
    return "sent"


def send_waiting(collector: Collector, device: Device) -> SentWaiting:
    """Send what waits in a ledger; see :func:`assocpriv.collect.send_unsent`."""
    plan = _fetch_plan(collector, device.pinned_id)
    with _opened(device) as ledger:
        waiting = ledger.unsent()
    wanted = [each for each in waiting if each.plan_id == plan.plan_id]
    at_a_time = max(1, _MOST_UPLOAD // (ID_BYTES + plan.report_bytes))
    for start in range(0, len(wanted), at_a_time):
        _send(wanted[start : start + at_a_time], collector, device)
    return SentWaiting(len(wanted), len(waiting) - len(wanted))


def _send(submissions: list[Submission], collector: Collector, device: Device) -> None:
    """Send reports of one plan, and note in the ledger that the collector has them."""
    kept = "the report waits in the ledger: run this again, or send_unsent (on the command line --unsent), to send it"
    headers = {"Assocpriv-Plan": submissions[0].plan_id, "Content-Type": "application/octet-stream"}
    body = b"".join(each.submission_id + each.report for each in submissions)
    with _saying(kept):
        answer = collector.ask("/reports", most_bytes=_MOST_RECEIPT, body=body, headers=headers)
        if answer.status != 200:
            raise CollectorError(f"the collector refuses (status {answer.status}): {answer.said()}")
        receipt = _read_json(answer, "receipt")
        counts = [receipt.get(name) for name in ("accepted", "duplicates")] if isinstance(receipt, dict) else [None]
        numbers = [each for each in counts if type(each) is int and each >= 0]
        if numbers != counts or sum(numbers) != len(submissions):
            raise CollectorError("the collector's answer does not say that it has what was sent")
    with _opened(device) as ledger:
        for submission in submissions:
            ledger.acknowledge(submission)
