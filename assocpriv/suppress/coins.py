"""The coins of a release: a keyed function of the table, from a key that its owner keeps.

The key is 32 bytes of the operating system's entropy in a file beside the input that its owner alone can read. It is
never derived from the table, since coins that anybody can compute would make the algorithm one without chance, and
never stands in a release or a report. The same key, table and request give the same release. The file also has a mark
of each release that was made: a keyed digest of table and request, so that a second release is counted as one.
"""

import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import sync_folder
from assocpriv.promise.errors import FileError

KEEP, OF = 1023, 1024  # a coin of u units says “refused” with chance (1023/1024)^u, so that a unit is ln(1024/1023)
_SHIFT = OF.bit_length() - 1
_BITS = 128  # that a coin draws at a time; more where these decide nothing
_MORE = 64  # bits beyond these that a chance is known to at first
_KEY_BYTES = 32
_OTHERS = 0o077


class Coins:
    """Coins and orders of records of one table under one key."""

    def __init__(self, key: bytes, about: bytes) -> None:
        self._key = hashlib.blake2b(about, key=key, digest_size=32).digest()
        self._tossed = 0

    def refuses(self, units: int) -> bool:
        """Toss a coin that says yes with chance (1023/1024)^units, exactly.

        A uniform number between 0 and 1 is drawn bit by bit, until it is known on which side of the chance it lies.
        """
        draw = int.from_bytes(self._stream(b"coin", _BITS // 8), "big")
        low = _chance(units)
        if not low >> _MORE <= draw <= low + units + _MORE >> _MORE:
            return bool(draw < low >> _MORE)
        bits = _BITS
        while True:  # the chance to its last bit
            power = KEEP**units << bits
            low = power >> _SHIFT * units
            if draw != low or power == low << _SHIFT * units:
                return bool(draw < low)
            draw, bits = draw << _BITS | int.from_bytes(self._stream(b"coin", _BITS // 8), "big"), bits + _BITS

    def order(self, n: int) -> NDArray[np.int64]:
        """Return for each of n records its new place, int64 (n,); every order has the same chance."""
        while True:
            words = np.frombuffer(self._stream(b"order", 8 * n), dtype="<u8")
            order = np.argsort(words)
            if not (words[order[1:]] == words[order[:-1]]).any():  # equal words would keep the order that was
                break
        places = np.empty(n, dtype=np.int64)
        places[order] = np.arange(n)
        return places

    def _stream(self, use: bytes, n_bytes: int) -> bytes:
        self._tossed += 1
        return hashlib.shake_256(self._key + use + self._tossed.to_bytes(8, "big")).digest(n_bytes)


def _chance(units: int) -> int:
    """Return (1023/1024)^units·2^192 from below; each squaring doubles what is cut off, so at most units + 64 below."""
    power, base = 1 << _BITS + _MORE, KEEP << _BITS + _MORE - _SHIFT
    while units:
        if units & 1:
            power = power * base >> _BITS + _MORE
        base, units = base * base >> _BITS + _MORE, units >> 1
    return power


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and the marks of the releases that were made with it or with a key that it took the place of."""

    secret: bytes
    releases: tuple[str, ...] = ()

    @classmethod
    def fresh(cls, releases: tuple[str, ...] = ()) -> "Key":
        """Return a key of the operating system's entropy."""
        return cls(secrets.token_bytes(_KEY_BYTES), releases)

    def counting(self, about: bytes) -> tuple["Key", int]:
        """Return the key with the mark of a release of some table and request, and the release's number from 1."""
        mark = hashlib.blake2b(b"release" + about, key=self.secret, digest_size=16).hexdigest()
        marks = self.releases if mark in self.releases else (*self.releases, mark)
        return Key(self.secret, marks), marks.index(mark) + 1


def key_path(table: Path) -> Path:
    """Return where a table's key lies: beside it."""
    return table.with_name(f"{table.name}.key")


def read_key(path: Path, *, anew: bool) -> Key:
    """Return the key of a file; a fresh one if there is no such file, or if one is asked for ``anew``.

    Raises:
        FileError: the file is no key, or others than its owner may read it.
    """
    try:
        text = path.read_bytes()
        is_open = os.name == "posix" and path.stat().st_mode & _OTHERS
    except FileNotFoundError:
        return Key.fresh()
    except OSError as error:
        raise FileError(f"{path}: the key cannot be read: {error.strerror}") from None
    if is_open:
        raise FileError(f"{path}: others may read the key; chmod 600 it, and take a new one with new_key")
    try:
        said = json.loads(text)
        key = Key(bytes.fromhex(said["key"]), tuple(map(str, said["releases"])))
    except (ValueError, KeyError, TypeError):
        raise FileError(f"{path}: this is no key of a release; move it away") from None
    if len(key.secret) != _KEY_BYTES:
        raise FileError(f"{path}: a key has {_KEY_BYTES} bytes; move it away")
    return Key.fresh(key.releases) if anew else key


def write_key(key: Key, path: Path) -> None:
    """Write a key so that its owner alone can read it, whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        try:
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(json.dumps({"key": key.secret.hex(), "releases": key.releases}).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(unfinished, path)
            sync_folder(path.parent)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"{path}: the key cannot be written: {error.strerror}; nothing was released") from None
