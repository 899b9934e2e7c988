"""The gateway of a collector (RFC 9458): decrypts what comes through a relay, and encrypts the response.

A decrypted request is handled as every other one, but without its sender: it has no address, and only the headers that
the service reads. All responses to reports have one length, so a relay that repeats a message learns nothing from the
length. Everything that cannot be decrypted gets the same response.

A new key is made every week, and each key decrypts messages for two weeks. Keys are in the collection's folder,
readable by its owner only. Someone who copies a key, and kept what a relay forwarded, can read these reports; once a
key is deleted, no one can.
"""

import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from assocpriv.collect.wire_format import RequestRefused
from assocpriv.files.oblivious_http import BinaryRequest, BinaryResponse, GatewayKey, encode_key_configs, open_request
from assocpriv.files.open_batches import read_note, write_note
from assocpriv.guarantees.errors import FileError, WireError

KEYS_FILE = "oblivious-keys.json"
_FORMAT, _VERSION = "assocpriv-oblivious-keys", 1
_NEW_DAYS, _KEPT_DAYS = 7, 14  # until a key gets a successor, and until it is removed
_ANSWER_BYTES = 1024  # of an encrypted response to a report, also of a refusal
_PATHS = frozenset(("/plan", "/reports", "/guidance", "/guidance/level"))  # that devices request
_HEADERS = frozenset((b"assocpriv-plan", b"content-type", b"content-encoding", b"if-none-match"))  # that devices send
_LOG = logging.getLogger("assocpriv")


# ---- keys


@dataclass(frozen=True, slots=True)
class _StoredKey:
    """A key as stored: its number, its private bytes in hexadecimal digits, its day since 1970."""

    number: int
    private: str
    day: int


def today() -> int:
    """Return the day, since 1970, in Coordinated Universal Time."""
    return int(time.time()) // 86400


class GatewayKeys:
    """The keys in a folder, newest first. They are checked daily, and a new one is made a week after the last."""

    def __init__(self, folder: Path, day: Callable[[], int] = today) -> None:
        """Read a folder's keys; make the first one.

        Raises:
            FileError: they cannot be read or written.
        """
        self._path, self._day = folder / KEYS_FILE, day
        self._kept, self._checked_day = self._read(), day()
        self._rotate_key()

    def opening(self) -> dict[int, GatewayKey]:
        """Return the keys that decrypt messages, by number."""
        self._reload_keys()
        return self._keys

    def published(self) -> bytes:
        """Return the configurations of these keys, newest first."""
        self._reload_keys()
        return encode_key_configs([key.config for key in self._keys.values()])

    def _reload_keys(self) -> None:
        if (day := self._day()) == self._checked_day:
            return
        self._checked_day = day
        try:
            self._rotate_key()
        except FileError as error:
            _LOG.error("%s; the gateway continues with its present keys", error)

    def _rotate_key(self) -> None:
        """Make a key if it is time, and remove keys that are too old, but not the newest."""
        # a key made while the clock was ahead counts as one of today; otherwise it would stay too long
        known = [replace(each, day=min(each.day, self._checked_day)) for each in self._kept]
        kept = [each for each in known if each.day > self._checked_day - _KEPT_DAYS] or known[:1]
        if not kept or kept[0].day <= self._checked_day - _NEW_DAYS:
            number = (kept[0].number + 1) % 256 if kept else secrets.randbelow(256)
            kept = [_StoredKey(number, secrets.token_hex(32), self._checked_day), *kept][:256]
            kept = [each for each in kept if each.day > self._checked_day - _KEPT_DAYS]
        if kept != self._kept:
            write_note(self._path, _FORMAT, _VERSION, {"keys": [asdict(each) for each in kept]})
        self._kept, self._keys = kept, {key.number: GatewayKey(key.number, bytes.fromhex(key.private)) for key in kept}

    def _read(self) -> list[_StoredKey]:
        content = read_note(self._path, _FORMAT, _VERSION, ["keys"]) or {"keys": []}
        try:
            kept = [_StoredKey(**fields) for fields in content["keys"]]
            good = all(each.number in range(256) and type(each.day) is int for each in kept)
            good = good and all(len(bytes.fromhex(each.private)) == 32 for each in kept)
        except (TypeError, ValueError, LookupError):
            good = False
        if not good:
            raise FileError(f"{self._path} is damaged; remove it: a new key is made, and devices fetch it")
        return kept


# ---- messages


Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class Gateway:
    """Answers messages by an application that gets only their content."""

    def __init__(self, keys: GatewayKeys, application: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.keys, self._application = keys, application

    async def answer(self, content: bytes) -> bytes:
        """Return the encrypted response to a message.

        Raises:
            WireError: it cannot be decrypted.
        """
        message, exchange = open_request(content, self.keys.opening())
        try:
            response = await self._ask(BinaryRequest.decode(message))
        except WireError:
            response = _refusal(RequestRefused(400, "no-http", "this is no HTTP request"))
        return exchange.seal_response(response.encode(_ANSWER_BYTES))

    async def _ask(self, request: BinaryRequest) -> BinaryResponse:
        path = request.path.decode("latin-1")
        if path not in _PATHS:
            return _refusal(RequestRefused(404, "not-found", "Not Found"))
        scope = {
            "type": "http",
            "method": request.method.decode("latin-1"),
            "path": path,
            "query_string": b"",
            "headers": [each for each in request.headers if each[0] in _HEADERS],
        }
        sent = list[Mapping[str, Any]]()

        async def receive() -> Mapping[str, Any]:
            return {"type": "http.request", "body": request.body}

        async def send(message: Mapping[str, Any]) -> None:
            sent.append(message)

        await self._application(scope, receive, send)
        headers = [each for each in sent[0]["headers"] if each[0] != b"content-length"]
        return BinaryResponse(sent[0]["status"], headers, b"".join(each.get("body", b"") for each in sent[1:]))


def _refusal(refused: RequestRefused) -> BinaryResponse:
    body = json.dumps(refused.to_json()).encode("ascii")
    return BinaryResponse(refused.status, [(b"content-type", b"application/json")], body)
