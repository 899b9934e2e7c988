"""Submission ids of sealed epochs: sorted files, and before them in memory a filter that answers for almost all.

A filter of Bloom (1970) says of an id that it is new, for certain, or that the files must be asked, which happens to
one new id in a thousand. Its bits hang on a salt drawn when it is made, so nobody can choose ids that fill it.
Filters quadruple in size as ids are added: their number stays small, whatever that of the epochs.
"""

import mmap
import secrets
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.open_reports import ID_BYTES
from assocpriv.promise.errors import FileError

_BITS_AN_ID = 16
_PROBES = np.arange(6, dtype=np.uint64)  # with 16 bits an id: .1% of new ids are looked for in the files
_FIRST = 2  # which a tenth of new ids pass: the other probes are for these alone
_FEWEST = 1 << 20  # ids that the first filter is made for
_ODD = np.uint64(0x9E3779B97F4A7C15)


class _Filter:
    """Bloom's filter for up to ``room`` ids, a power of two."""

    def __init__(self, room: int) -> None:
        self.room, self.count = room, 0
        self._bytes = np.zeros(room * _BITS_AN_ID // 8, dtype=np.uint8)
        self._mask = np.uint64(room * _BITS_AN_ID - 1)
        self._salt = np.frombuffer(secrets.token_bytes(16), dtype="<u8")

    def _places(
        self, ids: NDArray[np.uint8], probes: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
        """Return where the bits of ids (n, 16) lie, each (n, probes): the byte, and the bit in it."""
        halves = np.ascontiguousarray(ids).view("<u8") ^ self._salt
        first, second = _mixed(halves[:, 0]), _mixed(halves[:, 1])
        places = (_mixed(first + second * _ODD)[:, None] + probes * (second | np.uint64(1))[:, None]) & self._mask
        return places >> np.uint64(3), np.left_shift(1, places & np.uint64(7)).astype(np.uint8)

    def add(self, ids: NDArray[np.uint8]) -> None:
        places, bits = self._places(ids, _PROBES)
        np.bitwise_or.at(self._bytes, places.ravel(), bits.ravel())
        self.count += len(ids)

    def may_have(self, ids: NDArray[np.uint8]) -> NDArray[np.bool_]:
        found = self._has(ids, _PROBES[:_FIRST])
        left = np.flatnonzero(found)
        found[left] = self._has(ids[left], _PROBES[_FIRST:])
        return found

    def _has(self, ids: NDArray[np.uint8], probes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        places, bits = self._places(ids, probes)
        found: NDArray[np.bool_] = (self._bytes[places] & bits != 0).all(axis=1)
        return found


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64-bit words with their bits mixed (the finalizer of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class _SortedIds(Sequence[bytes]):
    """A file of sorted ids, read where it is looked at."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            size = path.stat().st_size
            if not size or size % ID_BYTES:
                raise FileError(f"{path} is damaged: submission ids have {ID_BYTES} bytes each")
            self.content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self.content) // ID_BYTES

    def __getitem__(self, position):  # type: ignore[no-untyped-def]
        return self.content[position * ID_BYTES : (position + 1) * ID_BYTES]

    def __contains__(self, wanted: object) -> bool:
        place = bisect_left(self, wanted)
        return place < len(self) and self[place] == wanted

    def blocks(self, size: int) -> Iterable[NDArray[np.uint8]]:
        """Yield the ids, uint8 (≤ size, 16)."""
        for start in range(0, len(self), size):
            block = self.content[start * ID_BYTES : (start + size) * ID_BYTES]
            yield np.frombuffer(block, dtype=np.uint8).reshape(-1, ID_BYTES)


class KnownIds:
    """The ids of all sealed epochs."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._filters: tuple[_Filter, ...] = ()
        self._files: tuple[_SortedIds, ...] = ()
        self._names: set[str] = set()
        for path in paths:
            self.add(path)

    def __len__(self) -> int:
        return sum(map(len, self._files))

    def add(self, path: Path) -> None:
        """Take in a file of sorted ids, once.

        Raises:
            FileError: it holds no whole number of ids.
        """
        if path.name in self._names:
            return
        file = _SortedIds(path)
        self._names.add(path.name)
        self._files += (file,)  # before the filter says that it must be asked
        for block in file.blocks(1 << 16):
            if not self._filters or self._filters[-1].count + len(block) > self._filters[-1].room:
                room = 4 * self._filters[-1].room if self._filters else _FEWEST
                self._filters += (_Filter(room),)
            self._filters[-1].add(block)

    def find(self, ids: NDArray[np.uint8]) -> set[int]:
        """Return the positions, among ids (n, 16), of those that are known."""
        if not self._files:
            return set()
        maybe = np.zeros(len(ids), dtype=np.bool_)
        for each in self._filters:
            maybe |= each.may_have(ids)
        found = set()
        for position in np.flatnonzero(maybe).tolist():
            wanted = ids[position].tobytes()
            if any(wanted in file for file in self._files):
                found.add(position)
        return found
