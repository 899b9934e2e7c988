"""The coins of a release: a keyed function of the table, from a key that its owner keeps.

The key is 32 bytes of the operating system's entropy in a file beside the input that its owner alone can read. It is
never derived from the table, since coins that anybody can compute would make the algorithm one without chance, and
never stands in a release or a report. The same key, table and request give the same release. The file also has a mark
of each release that was made: a keyed digest of table and request, so that a second release is counted as one.
"""

import contextlib
import hashlib
import os
import secrets
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.unsealed import read_note, write_note
from assocpriv.promise.errors import FileError

KEEP, OF = 1023, 1024  # a coin of u units says “refused” with chance (1023/1024)^u, so that a unit is ln(1024/1023)
_SHIFT = OF.bit_length() - 1
_TOSSED = 256  # units of one coin at most, so that few bits decide
_KEY_BYTES = 32
_OTHERS = 0o077
_FORM = "assocpriv-release-key"


class Coins:
    """Coins and orders of records of one table under one key."""

    def __init__(self, key: bytes, about: bytes) -> None:
        self._key = hashlib.blake2b(about, key=key, digest_size=32).digest()
        self._tossed = 0

    def refuses(self, units: int) -> bool:
        """Toss a coin that says yes with chance (1023/1024)^units, exactly.

        It is as many coins as it takes of a few units each, until one says no.
        """
        while units:
            some = min(units, _TOSSED)
            n_bytes, spare = -(-_SHIFT * some // 8), -_SHIFT * some % 8
            if int.from_bytes(self._stream(b"coin", n_bytes), "big") >> spare >= KEEP**some:
                return False
            units -= some
        return True

    def order(self, n: int) -> NDArray[np.int64]:
        """Return which of n records comes at each place, int64 (n,); every order has the same chance."""
        while True:
            words = np.frombuffer(self._stream(b"order", 8 * n), dtype="<u8")
            order = np.argsort(words)
            if np.diff(words[order]).all():  # equal words would keep the order that was
                return order

    def _stream(self, use: bytes, n_bytes: int) -> bytes:
        self._tossed += 1
        return hashlib.shake_256(self._key + use + self._tossed.to_bytes(8, "big")).digest(n_bytes)


class Keys:
    """The key of a release, and marks of those made with it or with one that it took the place of.

    They are kept in a file once the release is made; without a file the key is one of its own.

    Raises:
        FileError: the file is no key, or others than its owner may read it.
    """

    def __init__(self, path: Path | None, *, anew: bool = False) -> None:
        self._path, self._secret, self._marks, self.number = path, b"", list[str](), 0
        said = None if path is None else read_note(path, _FORM, 1, ("key", "releases"))
        if path is not None and said is not None:
            if os.name == "posix" and path.stat().st_mode & _OTHERS:
                raise FileError(f"{path}: others may read the key; chmod 600 it, and take a new one with new_key")
            with contextlib.suppress(ValueError, TypeError):
                self._secret, self._marks = bytes.fromhex(said["key"]), [*map(str, said["releases"])]
            if len(self._secret) != _KEY_BYTES:
                raise FileError(f"{path}: this is no key of a release; move it away")
        if anew or said is None:
            self._secret = secrets.token_bytes(_KEY_BYTES)

    def coins(self, about: bytes) -> Coins:
        """Return the coins of a table and request, and count its release: its ``number``, from 1."""
        mark = hashlib.blake2b(b"release" + about, key=self._secret, digest_size=16).hexdigest()
        self._marks += [mark] * (mark not in self._marks)
        self.number = self._marks.index(mark) + 1
        return Coins(self._secret, about)

    def keep(self) -> None:
        """Write the file, so that its owner alone can read it, whole or not at all."""
        if self._path is not None:
            write_note(self._path, _FORM, 1, {"key": self._secret.hex(), "releases": self._marks})


def key_path(table: Path) -> Path:
    """Return where a table's key lies: beside it."""
    return table.with_name(f"{table.name}.key")
