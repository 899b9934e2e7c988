"""The gateway of a collector (RFC 9458): opens what comes through a relay, and seals the answer.

What is opened goes the way of every request, but for its sender: there is no address, and of its headers those alone
that the service reads. All answers to reports are as long as each other, so a relay that sends something again learns
nothing from the length. What cannot be opened has one answer, whatever is wrong with it.

A key is made every week and opens messages for two. Keys are in the collection's folder, for its owner alone. Whoever
takes one, and kept what a relay forwarded, reads these reports; once it is removed nobody does.
"""

import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from assocpriv.collect.wire import Refused
from assocpriv.files.oblivious import BinaryRequest, BinaryResponse, GatewayKey, encode_key_configs, open_request
from assocpriv.files.unsealed import read_note, write_note
from assocpriv.promise.errors import FileError, WireError

KEYS_FILE = "oblivious-keys.json"
_FORMAT, _VERSION = "assocpriv-oblivious-keys", 1
_NEW_DAYS, _KEPT_DAYS = 7, 14  # after which a key is followed by another, and is removed
_ANSWER_BYTES = 1024  # of an answer to a report, sealed or refused
_PATHS = frozenset(("/plan", "/reports", "/guidance", "/guidance/level"))  # what devices ask for
_HEADERS = frozenset((b"assocpriv-plan", b"content-type", b"content-encoding", b"if-none-match"))  # and say of it
_LOG = logging.getLogger("assocpriv")


# ---- keys


@dataclass(frozen=True, slots=True)
class _Kept:
    """A key as the file has it: its number, its private bytes in hexadecimal digits, its day since 1970."""

    number: int
    private: str
    day: int


def today() -> int:
    """Return the day, since 1970, in Coordinated Universal Time."""
    return int(time.time()) // 86400


class GatewayKeys:
    """The keys in a folder, newest first. Each day they are looked at, and a new one follows one of a week."""

    def __init__(self, folder: Path, day: Callable[[], int] = today) -> None:
        """Read a folder's keys; make the first one.

        Raises:
            FileError: they cannot be read or written.
        """
        self._path, self._day = folder / KEYS_FILE, day
        self._kept, self._looked = self._read(), day()
        self._turn()

    def opening(self) -> dict[int, GatewayKey]:
        """Return the keys that open messages, by number."""
        self._look()
        return self._keys

    def published(self) -> bytes:
        """Return the configurations of these keys, newest first."""
        self._look()
        return encode_key_configs([key.config for key in self._keys.values()])

    def _look(self) -> None:
        if (day := self._day()) == self._looked:
            return
        self._looked = day
        try:
            self._turn()
        except FileError as error:
            _LOG.error("%s; the gateway goes on with the keys it has", error)

    def _turn(self) -> None:
        """Make a key if it is time, and let go of those that are too old; the newest stays."""
        # a key that was made while the clock was ahead is as old as any of today, else it would stay for as long
        known = [replace(each, day=min(each.day, self._looked)) for each in self._kept]
        kept = [each for each in known if each.day > self._looked - _KEPT_DAYS] or known[:1]
        if not kept or kept[0].day <= self._looked - _NEW_DAYS:
            number = (kept[0].number + 1) % 256 if kept else secrets.randbelow(256)
            kept = [_Kept(number, secrets.token_hex(32), self._looked), *kept][:256]
            kept = [each for each in kept if each.day > self._looked - _KEPT_DAYS]
        if kept != self._kept:
            write_note(self._path, _FORMAT, _VERSION, {"keys": [asdict(each) for each in kept]})
        self._kept, self._keys = kept, {key.number: GatewayKey(key.number, bytes.fromhex(key.private)) for key in kept}

    def _read(self) -> list[_Kept]:
        content = read_note(self._path, _FORMAT, _VERSION, ["keys"]) or {"keys": []}
        try:
            kept = [_Kept(**fields) for fields in content["keys"]]
            good = all(
                each.number in range(256) and type(each.day) is int and len(bytes.fromhex(each.private)) == 32
                for each in kept
            )
        except (TypeError, ValueError, LookupError):
            good = False
        if not good:
            raise FileError(f"{self._path} is damaged; remove it, and a new key is made: devices then fetch that")
        return kept


# ---- messages


Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class Gateway:
    """Answers messages by an application, which is asked what is in them and sees nothing of how they came."""

    def __init__(self, keys: GatewayKeys, application: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.keys, self._application = keys, application

    async def answer(self, content: bytes) -> bytes:
        """Return the sealed answer to a message.

        Raises:
            WireError: it cannot be opened.
        """
        message, exchange = open_request(content, self.keys.opening())
        try:
            response = await self._ask(BinaryRequest.decode(message))
        except WireError:
            response = _refusal(Refused(400, "no-http", "this is no HTTP request"))
        return exchange.seal_response(response.encode(_ANSWER_BYTES))

    async def _ask(self, request: BinaryRequest) -> BinaryResponse:
        path = request.path.decode("latin-1")
        if path not in _PATHS:
            return _refusal(Refused(404, "not-found", "Not Found"))
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


def _refusal(refused: Refused) -> BinaryResponse:
    body = json.dumps(refused.to_json()).encode("ascii")
    return BinaryResponse(refused.status, [(b"content-type", b"application/json")], body)
