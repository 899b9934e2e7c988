"""Open batches of a collector behind a relay: nothing on the disk depends on the order of arrival.

A file has slots of equal length, zeros or a record with its checksum. A new record is written, in place, into a slot
drawn uniformly from the empty ones, and is on disk before it is acknowledged. So at every moment the records are at
uniformly random places, whatever their order: between two reports, after a stop, after kill -9. There is no journal. At
most half of the slots are taken. Then a file of four times as many slots takes its place, with all records at new
places, and the old one is overwritten with zeros.

Times of files: the modification time is midnight after each write. The time of change (ctime), which no program can
set, is that of the last write; the file is touched every second, so that it shows a second in which the collector ran.
"""

import errno
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect import batch_closing
from assocpriv.files import open_batches
from assocpriv.files.open_batches import CRC_BYTES, SLOTS_AT
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.plans.published_plan import ID_BYTES

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan


class SlotBatch:
    """An open file of slots, with the methods of a batch's open database; all reports are without a key."""

    def __init__(self, path: Path, plan: "PublishedPlan") -> None:
        self.path, self._plan, self._entropy = path, plan, SystemEntropy()
        self._length = plan.record_bytes + CRC_BYTES
        self._read()
        self.by_key = Counter({0: len(self.ids)})

    def _read(self) -> None:
        self.token, slots, self.ids = open_batches.read_slots(self.path, self._plan)
        self._taken: NDArray[np.bool_] = np.asarray(slots.any(axis=1))
        self._file = os.open(self.path, os.O_RDWR)

    def records_with(self, ids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield ids of the batch, each with its record."""
        for each in ids:
            yield each, os.pread(self._file, self._plan.record_bytes, self._at(self.ids[each]))

    def _at(self, place: int) -> int:
        return SLOTS_AT + place * self._length

    def write(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Write records at random places, and wait for the disk; without records write as much as for one.

        Raises:
            OSError: nothing was added.
            StoreFullError: nothing was added.
        """
        joined, width = b"".join(records for _, records in rows), self._plan.record_bytes
        records = [joined[start : start + width] for start in range(0, len(joined), width)]
        if self._file < 0:
            self._read()
        if 2 * (int(self._taken.sum()) + len(records)) > len(self._taken):
            self._grow(len(records))
        places = list[int]()
        try:
            for record in records:
                places.append(self._draw_place())
                self._put(open_batches.slot_of(record), self._at(places[-1]))
            if not records:
                self._put(bytes(1), SLOTS_AT - 1)
            self.erase_order()
            getattr(os, "fdatasync", os.fsync)(self._file)
        except OSError:
            with suppress(OSError):
                for place in places:
                    self._put(bytes(self._length), self._at(place))
            self._taken[places] = False
            raise
        self.ids.update(zip((each[:ID_BYTES] for each in records), places, strict=True))

    def _draw_place(self) -> int:
        """Take a uniformly random empty slot."""
        while self._taken[place := self._entropy.below(len(self._taken))]:
            pass
        self._taken[place] = True
        return place

    def _put(self, content: bytes, at: int) -> None:
        if os.pwrite(self._file, content, at) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _grow(self, more: int) -> None:
        """Move all records into a larger file; whatever happens, go on with the file that has the name."""
        _, by_key = open_batches.read_batch(self.path, self._plan)
        folder, number, records = self.path.parents[1], int(self.path.stem), by_key.get(0, ())
        old, self._file = self._file, -1
        try:
            batch_closing.create_batch(
                folder, number, self._plan, slots=True, token=self.token, records=records, room=more
            )
            batch_closing.overwrite(old)
        finally:
            os.close(old)
            self._read()

    def erase_order(self) -> bool:
        """Set the file's modification time to midnight; return True: its time of change must not become old."""
        batch_closing.round_file_time(self._file)
        return True

    def close(self) -> None:
        """Close the file."""
        self.erase_order()
        with suppress(OSError):
            os.close(self._file)
