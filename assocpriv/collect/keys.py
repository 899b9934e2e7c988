"""Keys of a collection's sources, in its file keys.json.

Of each there is a number, a name, a quota, and of the key itself only its SHA-256. A key is 256 random bits, so its
hash can neither be guessed nor tried out, and needs neither salt nor a slow function. A request's key is hashed first
and looked up by that: how long it takes can only tell of a hash that nobody can choose. What is found is compared once
more, in constant time.
"""

import hashlib
import hmac
import logging
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from assocpriv.collect import gateway
from assocpriv.collect.store import check_owner, check_system, flock
from assocpriv.collect.wire import Refused
from assocpriv.files.unsealed import read_note, write_note
from assocpriv.promise.errors import FileError

KEYS_FILE = "keys.json"
_FORMAT, _VERSION = "assocpriv-keys", 1
_PREFIX = "assocpriv_"
_KEY_BYTES = 32
_MOST_NAME = 100
_MOST_QUOTA = 1 << 53
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LOG = logging.getLogger("assocpriv")


@dataclass(frozen=True, slots=True)
class SourceKey:
    """What is kept of a key: its number is never given again; ``quota`` None is no limit."""

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
            raise FileError(f"a key's name has 1 to {_MOST_NAME} characters that can be printed")
        if not isinstance(self.sha256, str) or not _HASH.fullmatch(self.sha256) or type(self.revoked) is not bool:
            raise FileError("a key has a sha256 of 64 hexadecimal digits, and says whether it is revoked")


def read_keys(folder: Path) -> list[SourceKey]:
    """Return the keys of a collection's folder, revoked ones too; none where it has no file of them.

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
    """Make a key and return what is kept of it, and the key itself, which nothing can tell again.

    Raises:
        FileError: no such folder, one that a relay sends to, a name or a quota that cannot be, or the disk refuses.
    """
    if (folder / gateway.KEYS_FILE).exists():
        raise FileError(
            f"reports come to {folder} through a relay, without a name, which a key would be; to take keys serve it "
            f"without a relay, and remove its {gateway.KEYS_FILE}"
        )
    secret = _PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    with _changing(folder) as keys:
        key = SourceKey(max((each.number for each in keys), default=0) + 1, name, _hashed(secret), quota)
        if any(each.name == name and not each.revoked for each in keys):
            raise FileError(f"there is a key named {name!r}; revoke it first, or choose another name")
        keys.append(key)
    return key, secret


def revoke_key(folder: Path, number: int) -> SourceKey:
    """Refuse what is sent with a key from now on; what it has sent stays.

    Raises:
        FileError: there is no such key, or it is revoked; or the disk refuses.
    """
    with _changing(folder) as keys:
        place = next((place for place, each in enumerate(keys) if each.number == number), None)
        if place is None:
            raise FileError(f"{folder} has no key {number}; assocpriv collector keys {folder} shows all")
        if keys[place].revoked:
            raise FileError(f"key {number} is revoked already")
        keys[place] = replace(keys[place], revoked=True)
        return keys[place]


@contextmanager
def _changing(folder: Path) -> Iterator[list[SourceKey]]:
    """Give the keys to change, and write them when that is done; others who change them wait."""
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
    """The keys of a folder that is served. Each change of the file holds from the next request on.

    Where keys are not ``required`` anybody may send until there is a first one; from then on they are, come what may.
    """

    def __init__(self, folder: Path, *, required: bool) -> None:
        """Read a folder's keys.

        Raises:
            FileError: they cannot be read.
        """
        self._folder, self._version = folder, _version(folder / KEYS_FILE)
        self._required = required or self._version != ()
        self._keys = self._by_hash(read_keys(folder))

    def asked(self) -> bool:
        """Tell whether reports are taken with a key only."""
        self._look()
        return self._required

    def key_of(self, headers: Sequence[tuple[bytes, bytes]]) -> SourceKey | None:
        """Return the key that a request shows, None where anybody may send.

        Raises:
            Refused: it shows none, several, one that is not known or one that is revoked.
        """
        self._look()
        if not self._required:
            return None
        shown = [value for name, value in headers if name == b"authorization"]
        scheme, _, secret = shown[0].partition(b" ") if len(shown) == 1 else (b"", b"", b"")
        digest = hashlib.sha256(secret.strip()).hexdigest()
        key = self._keys.get(digest)
        if scheme.lower() != b"bearer" or key is None or not hmac.compare_digest(digest, key.sha256):
            shows = "this request shows none, or one that is unknown or revoked (Authorization: Bearer KEY)"
            raise Refused(401, "no-key", f"reports are taken with a key of this collection, and {shows}")
        return key

    def _look(self) -> None:
        """Take up a change of the file; a file that cannot be read lets nobody in whom the last one did not."""
        version = _version(self._folder / KEYS_FILE)
        if version == self._version:
            return
        self._version, self._required = version, True
        try:
            self._keys = self._by_hash(read_keys(self._folder))
        except FileError as error:
            _LOG.error("%s; the keys read before go on to hold", error)

    @staticmethod
    def _by_hash(keys: Sequence[SourceKey]) -> dict[str, SourceKey]:
        return {key.sha256: key for key in keys if not key.revoked}


def _version(path: Path) -> tuple[Any, ...]:
    """Return what differs between two versions of a file; nothing where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns
