"""The random bits of a release: a keyed function of the table and the request, with a secret key of the owner.

The key is 32 bytes of the operating system's entropy, in a file next to the input that only its owner can read. It is
never derived from the table, because random bits that others can compute would make the algorithm deterministic. It
never appears in a release or a report. The same key, table and request give the same release. The file also holds an
identifier of each release, a keyed digest of table and request, to count further releases.
"""

import contextlib
import hashlib
import os
import secrets
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.open_batches import read_note, write_note
from assocpriv.guarantees.errors import FileError

KEEP, OF = 1023, 1024  # u units refuse with probability (1023/1024)^u, so that a unit of ε is ln(1024/1023)
_SHIFT = OF.bit_length() - 1
_UNITS_AT_ONCE = 256  # units of one draw at most, so that few bits decide
_KEY_BYTES = 32
_OTHERS = 0o077
_FORM = "assocpriv-release-key"


class RandomBits:
    """Coins and orders of records of one table under one key."""

    def __init__(self, key: bytes, about: bytes) -> None:
        self._key = hashlib.blake2b(about, key=key, digest_size=32).digest()
        self._draws = 0

    def refuses(self, units: int) -> bool:
        """Return True with probability (1023/1024)^units, exactly.

        The units are split into draws of at most 256 units; the first draw that returns False decides.
        """
        while units:
            some = min(units, _UNITS_AT_ONCE)
            n_bytes, spare = -(-_SHIFT * some // 8), -_SHIFT * some % 8
            if int.from_bytes(self._stream(b"coin", n_bytes), "big") >> spare >= KEEP**some:
                return False
            units -= some
        return True

    def order(self, n: int) -> NDArray[np.int64]:
        """Return a uniformly random order of n records, int64 (n,)."""
        while True:
            words = np.frombuffer(self._stream(b"order", 8 * n), dtype="<u8")
            order = np.argsort(words)
            if np.diff(words[order]).all():  # equal words would keep the original order
                return order

    def _stream(self, use: bytes, n_bytes: int) -> bytes:
        self._draws += 1
        return hashlib.shake_256(self._key + use + self._draws.to_bytes(8, "big")).digest(n_bytes)


class ReleaseKey:
    """The key of a release, and identifiers of the releases made with it or with keys that it replaced.

    They are written to a file once the release is made; without a file the key is used once.

    Raises:
        FileError: the file is not a key, or others than its owner may read it.
    """

    def __init__(self, path: Path | None, *, anew: bool = False) -> None:
        self._path, self._secret, self._marks, self.number = path, b"", list[str](), 0
        stored = None if path is None else read_note(path, _FORM, 1, ("key", "releases"))
        if path is not None and stored is not None:
            if os.name == "posix" and path.stat().st_mode & _OTHERS:
                raise FileError(
                    f"{path}: others may read the key; run chmod 600 on it, and draw a new key with new_key"
                )
            with contextlib.suppress(ValueError, TypeError):
                self._secret, self._marks = bytes.fromhex(stored["key"]), [*map(str, stored["releases"])]
            if len(self._secret) != _KEY_BYTES:
                raise FileError(f"{path}: this is not the key of a release; move the file away")
        if anew or stored is None:
            self._secret = secrets.token_bytes(_KEY_BYTES)

    def random_bits(self, about: bytes) -> RandomBits:
        """Return the random bits for a digest of table and request, and count the release: its ``number``, from 1."""
        mark = hashlib.blake2b(b"release" + about, key=self._secret, digest_size=16).hexdigest()
        self._marks += [mark] * (mark not in self._marks)
        self.number = self._marks.index(mark) + 1
        return RandomBits(self._secret, about)

    def write(self) -> None:
        """Write the file, readable by its owner only, completely or not at all."""
        if self._path is not None:
            write_note(self._path, _FORM, 1, {"key": self._secret.hex(), "releases": self._marks})


def key_path(table: Path) -> Path:
    """Return the path of a table's key, next to the table."""
    return table.with_name(f"{table.name}.key")
