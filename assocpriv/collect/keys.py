"""Keys of a collection: of its sources, in the file keys.json, and of its gateway, in oblivious-keys.json.

The file of sources holds for each key a number, a name, a quota, and of the key itself only its SHA-256. A key is 256
random bits, so its hash can neither be guessed nor inverted by trying, and needs neither salt nor a slow function. The
key of a request is hashed first and looked up by the hash: timing can reveal only a hash, which cannot be chosen. The
found hash is compared once more, in constant time.

A gateway (RFC 9458) decrypts what comes through a relay. A new key is made every week, and each key decrypts messages
for two weeks. Keys are in the collection's folder, readable by its owner only. Someone who copies a key, and kept what
a relay forwarded, can read these reports; once a key is deleted, no one can.
"""

import hashlib
import hmac
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from assocpriv.collect.store import RequestRefused, check_owner, check_system, flock
from assocpriv.files.oblivious_http import GatewayKey, encode_key_configs
from assocpriv.files.open_batches import read_note, write_note
from assocpriv.guarantees.errors import FileError

KEYS_FILE = "keys.json"
_FORMAT, _VERSION = "assocpriv-keys", 1
GATEWAY_FILE, _GATEWAY_FORMAT = "oblivious-keys.json", "assocpriv-oblivious-keys"
_NEW_DAYS, _KEPT_DAYS = 7, 14  # until a key of a gateway gets a successor, and until it is removed
_PREFIX = "assocpriv_"
_KEY_BYTES = 32
_MOST_NAME = 100
_MOST_QUOTA = 1 << 53
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LOG = logging.getLogger("assocpriv")


@dataclass(frozen=True, slots=True)
class SourceKey:
    """The stored data of a key; a number is never reused.

    Attributes:
        number: number of the key, from 1.
        name: what the key is for, as the name of a till.
        sha256: SHA-256 of the key, 64 hexadecimal digits.
        quota: largest number of reports with the key; None for no limit.
        revoked: whether the key is no longer accepted.

    Raises:
        FileError: a value outside its range.
    """

    number: int
    name: str
    sha256: str
    quota: int | None = None
    revoked: bool = False

    def __post_init__(self) -> None:
        for field, value, most in (("number", self.number, 1 << 31), ("quota", self.quota, _MOST_QUOTA)):
            if value is not None and (type(value) is not int or not 1 <= value < most):
                raise FileError(f"a key's {field} must be a whole number from 1 on, below {most:,}")
        if not isinstance(self.name, str) or not 0 < len(self.name) <= _MOST_NAME or not self.name.isprintable():
            raise FileError(f"a key's name must have 1 to {_MOST_NAME} printable characters")
        if not isinstance(self.sha256, str) or not _HASH.fullmatch(self.sha256) or type(self.revoked) is not bool:
            raise FileError("a key must have a sha256 of 64 hexadecimal digits, and revoked true or false")


def read_keys(folder: Path) -> list[SourceKey]:
    """Return the keys of a collection's folder, including revoked ones; none if it has no file of keys.

    Raises:
        FileError: the file cannot be read, or is no file of keys.
    """
    path = folder / KEYS_FILE
    if (content := read_note(path, _FORMAT, _VERSION, ["keys"])) is None:
        return []
    try:
        keys = [SourceKey(**fields) for fields in content["keys"]]
        if len({key.number for key in keys}) < len(keys) or len({key.sha256 for key in keys}) < len(keys):
            raise FileError("two keys have the same number, or are the same")
    except FileError as error:
        raise FileError(f"{path} is damaged: {error}") from None
    except (TypeError, LookupError):
        raise FileError(f"{path} is damaged: it is no file of keys") from None
    return keys


def add_key(folder: Path, name: str, quota: int | None = None) -> tuple[SourceKey, str]:
    """Make a key; return its stored data, and the key itself, which is not stored.

    Raises:
        FileError: no such folder, one that a relay sends to, an invalid name or quota, or the disk refuses.
    """
    if (folder / GATEWAY_FILE).exists():
        raise FileError(
            f"{folder} takes reports through a relay, and a key would identify their sender; to use keys, serve it "
            f"without a relay and remove its {GATEWAY_FILE}"
        )
    secret = _PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    with _changing(folder) as keys:
        key = SourceKey(max((each.number for each in keys), default=0) + 1, name, _hashed(secret), quota)
        if any(each.name == name and not each.revoked for each in keys):
            raise FileError(f"there is a key named {name!r}; revoke it first, or choose another name")
        keys.append(key)
    return key, secret


def revoke_key(folder: Path, number: int) -> SourceKey:
    """Refuse reports with a key from now on; the reports that came with it stay.

    Raises:
        FileError: there is no such key, or it is revoked already; or the disk refuses.
    """
    with _changing(folder) as keys:
        place = next((place for place, each in enumerate(keys) if each.number == number), None)
        if place is None:
            raise FileError(f"{folder} has no key {number}; assocpriv collector keys {folder} lists all")
        if keys[place].revoked:
            raise FileError(f"key {number} is revoked already")
        keys[place] = replace(keys[place], revoked=True)
        return keys[place]


@contextmanager
def _changing(folder: Path) -> Iterator[list[SourceKey]]:
    """Yield the keys to change, and write them afterwards; other processes that change them wait."""
    check_system()
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise FileError(f"cannot use the folder {folder}: {error.strerror or error}") from None
    try:
        check_owner(folder)
        flock(opened, wait=True)
        keys = read_keys(folder)
        yield keys
        write_note(folder / KEYS_FILE, _FORMAT, _VERSION, {"keys": [asdict(key) for key in keys]})
    finally:
        os.close(opened)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8")).hexdigest()


class Keyring:
    """The keys of a served folder. A change of the file takes effect at the next request.

    If keys are not ``required``, everybody may send until there is a first key; from then on they are required.
    """

    def __init__(self, folder: Path, *, required: bool) -> None:
        """Read a folder's keys.

        Raises:
            FileError: they cannot be read.
        """
        self._folder, self._file = folder, str(folder / KEYS_FILE)  # text: joined paths took a tenth of a request
        self._version = file_version(self._file)
        self._required = required or self._version != ()
        self._keys = self._by_hash(read_keys(folder))

    def are_required(self) -> bool:
        """Return whether reports need a key."""
        self._reload()
        return self._required

    @property
    def were_required(self) -> bool:
        """Whether reports needed a key when the file was last looked at, which takes no time."""
        return self._required

    def key_of(self, headers: Sequence[tuple[bytes, bytes]]) -> SourceKey | None:
        """Return the key of a request, None where none is needed.

        Raises:
            RequestRefused: the request has no key, several, an unknown one or a revoked one.
        """
        self._reload()
        if not self._required:
            return None
        shown = [value for name, value in headers if name == b"authorization"]
        scheme, _, secret = shown[0].partition(b" ") if len(shown) == 1 else (b"", b"", b"")
        digest = hashlib.sha256(secret.strip()).hexdigest()
        key = self._keys.get(digest)
        if scheme.lower() != b"bearer" or key is None or not hmac.compare_digest(digest, key.sha256):
            problem = "this request has none, or one that is unknown or revoked (Authorization: Bearer KEY)"
            raise RequestRefused(401, "no-key", f"this collection requires a key, and {problem}")
        return key

    def _reload(self) -> None:
        """Read the file again if it changed; if it cannot be read, the previous keys stay valid."""
        version = file_version(self._file)
        if version == self._version:
            return
        self._version, self._required = version, True
        try:
            self._keys = self._by_hash(read_keys(self._folder))
        except FileError as error:
            _LOG.error("%s; the previous keys stay valid", error)

    @staticmethod
    def _by_hash(keys: Sequence[SourceKey]) -> dict[str, SourceKey]:
        return {key.sha256: key for key in keys if not key.revoked}


def file_version(path: Path | str) -> tuple[int, ...]:
    """Return a stamp that differs between versions of a file; empty if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


# ---- keys of a gateway


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
        self._path, self._day = folder / GATEWAY_FILE, day
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
            write_note(self._path, _GATEWAY_FORMAT, _VERSION, {"keys": [asdict(each) for each in kept]})
        self._kept, self._keys = kept, {key.number: GatewayKey(key.number, bytes.fromhex(key.private)) for key in kept}

    def _read(self) -> list[_StoredKey]:
        content = read_note(self._path, _GATEWAY_FORMAT, _VERSION, ["keys"]) or {"keys": []}
        try:
            kept = [_StoredKey(**fields) for fields in content["keys"]]
            good = all(each.number in range(256) and type(each.day) is int for each in kept)
            good = good and all(len(bytes.fromhex(each.private)) == 32 for each in kept)
        except (TypeError, ValueError, LookupError):
            good = False
        if not good:
            raise FileError(f"{self._path} is damaged; remove it: a new key is made, and devices fetch it")
        return kept
