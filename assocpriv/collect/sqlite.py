"""Reports of one plan in a folder: SQLite for what comes in, report files for what is sealed.

A group of uploads is one row of a table and one commit, in WAL mode with synchronous=FULL. Rows have random numbers and
records in them random order; what came through a relay has a row of its own. In the journal, SQLite's write-ahead log,
an order can be seen while reports come: it is emptied when none has come for a second.
Ids are compared in memory: a table with the ids as its key writes a page for every report, and takes 10 times as long.
So the ids of an open epoch are held in memory, 110 bytes each; those of sealed ones are in sorted files, behind a
filter of 2 bytes each, which answers for almost all. Against a table WITHOUT ROWID of ids that are sealed, 1,000 new
ones take a sixth to a tenth of the time, and sealing a fifth; a single one takes .2 ms longer.

A filter of Bloom (1970) says of an id that it is new, for certain, or that the files must be asked, which happens to
one new id in a thousand. Its bits hang on a salt drawn when it is made, so nobody can choose ids that fill it.
Filters quadruple in size as ids are added: their number stays small, whatever that of the epochs.
"""

import os
import secrets
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect import gateway, sealing
from assocpriv.collect.keys import KEYS_FILE
from assocpriv.collect.store import (
    LOCK_FILE,
    NAMES_KEY_BYTES,
    EpochSizes,
    StoreFullError,
    StoreStatus,
    accept,
    count_conflicts,
)
from assocpriv.collect.wire import Refused, Upload, ids_of, records_of
from assocpriv.files import unsealed
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.plans import read_plan
from assocpriv.plans.published import ID_BYTES
from assocpriv.promise.errors import FileError, WireError, counted

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

_MOST_EPOCHS_LONG = 4  # times its size an epoch may grow while others cannot be sealed
_CHECKPOINT_PAGES = 4096
_MOST_ROWS = 16  # that are read to compare repeats in a group, of up to 4 MiB each: a retry is of one
# may be in a folder before its plan is
_BEFORE = {
    LOCK_FILE,
    KEYS_FILE,
    gateway.KEYS_FILE,
    "epochs.json",
    "admin-token",
    unsealed.OPEN_FOLDER,
    unsealed.IDS_FOLDER,
}

_BITS_AN_ID = 16
_PROBES = np.arange(6, dtype=np.uint64)  # with 16 bits an id: .1% of new ids are looked for in the files
_FIRST = 2  # which a tenth of new ids pass: the other probes are for these alone
_AT_A_TIME = 1 << 16  # ids that a filter takes in
_FEWEST = 1 << 20  # ids that the first filter is made for
_ODD = np.uint64(0x9E3779B97F4A7C15)


# ---- the store


class _Epoch:
    """An epoch's database, open, and the ids in it."""

    def __init__(self, path: Path, plan: "PublishedPlan") -> None:
        self.path, self._plan = path, plan
        self.database = unsealed.connect(path)
        try:
            self.token = unsealed.token_of(self.database, path)
            self.database.execute("PRAGMA journal_mode = WAL")
            self.database.execute("PRAGMA synchronous = FULL")
            self.database.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            rows = list(unsealed.read_rows(self.database, plan))
        except FileError:
            self.database.close()
            raise
        except (sqlite3.DatabaseError, WireError) as error:
            self.database.close()
            if unsealed.may_pass(error):
                raise StoreFullError(f"cannot open {path}: {error}; is the disk full?") from None
            raise WireError(f"{path} is damaged: {error}; move it away, and keep it, to go on without it") from None
        self.ids = {each: number for number, _, records in rows for each in ids_of(records)}
        self.by_key = Counter[int]()
        for _, key, records in rows:
            self.by_key[key] += len(records)

    def records_with(self, ids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield ids of the epoch, each with its record, as far as a few rows hold them."""
        wanted, width = set(ids), self._plan.record_bytes
        numbers = dict.fromkeys(self.ids[each] for each in wanted)
        for number in islice(numbers, _MOST_ROWS):
            (records,) = self.database.execute("SELECT records FROM uploads WHERE number = ?", (number,)).fetchone()
            rows = np.frombuffer(records, np.uint8).reshape(-1, width)
            yield from ((each, bytes(row)) for each, row in zip(ids_of(rows), rows, strict=True) if each in wanted)

    def write(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add rows of (key, records), whose numbers tell no order, and wait for the disk, even if there are none.

        Raises:
            sqlite3.Error: nothing was added.
        """
        try:
            checked = sorted((secrets.randbits(62), key, records, crc32(records)) for key, records in rows)
            self.database.execute("BEGIN IMMEDIATE")
            if not checked:  # one page, as of one report
                self.database.execute(unsealed.SCHEMA[0])
            self.database.executemany("INSERT INTO uploads VALUES (?, ?, ?, ?)", checked)
            self.database.execute("COMMIT")
        except BaseException:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
            raise
        width = self._plan.record_bytes
        for number, _, records, _ in checked:
            self.ids.update(dict.fromkeys(ids_of(np.frombuffer(records, np.uint8).reshape(-1, width)), number))


class SqliteStore:
    """See :class:`assocpriv.collect.store.ReportStore`."""

    def __init__(self, folder: Path, plan: "PublishedPlan", sizes: EpochSizes = EpochSizes()) -> None:  # noqa: B008
        """Open a plan's folder, or make it, and finish what a crash left.

        Raises:
            FileError: it cannot be written, or is of something else.
            WireError: a damaged file.
        """
        self.folder, self.plan, self._sizes, self.conflicts = folder, plan, sizes, 0
        self._most = sizes.most_of(plan)
        self._guard, self._sealing = threading.Lock(), threading.Lock()
        prepare_folder(folder, plan)
        sealing.sweep(folder)
        *ended, last = unsealed.epoch_files(folder) or [sealing.new_epoch(folder, 1)]
        left = _seal_all(ended, folder, plan, sizes)
        self._sealed, self._sealed_epochs = sealing.sealed_counts(folder, {each.token for each in left})
        self._aside = sealing.sealed_counts(folder / sealing.ASIDE_FOLDER, set())[0] + sealing.removed_counts(folder)
        self._known = KnownIds(sealing.ids_files(folder))
        missing = self._sealed.total() + self._aside.total() - len(self._known)
        if missing > 0 and not sealing.is_closed(folder):
            raise FileError(
                f"{folder / unsealed.IDS_FOLDER} lacks the submission ids of {counted(missing, 'report')} that are "
                "sealed, so retries could count twice; put its files back, or collect into a new folder"
            )
        self._ended, self._open = left, _Epoch(last, plan)

    def add(self, uploads: Sequence[Upload]) -> list[int | Refused]:
        """Store uploads; see the protocol."""
        with self._guard:
            self._rotate_if_due()
            records = records_of(uploads, self.plan)
            ids = ids_of(records)
            known = self._known_among(ids, records)
            if not known and len(set(ids)) == len(ids) and all(upload.quota is None for upload in uploads):
                results: list[int | Refused] = [upload.count for upload in uploads]
                rows = [(upload.key, upload.body, upload.apart) for upload in uploads]
            else:
                self.conflicts += self._conflicts(ids, records, known)
                accepted = accept(uploads, ids, known, self._used(uploads))
                results, rows = accepted.results, _rows_stored(uploads, accepted.stored, self.plan)
            if rows or any(upload.apart for upload in uploads):  # else who passed it on knows that it was known
                self._write(_joined(rows, self.plan))
                for upload, result in zip(uploads, results, strict=True):
                    self._open.by_key[upload.key] += 0 if isinstance(result, Refused) else result
            return results

    def _known_among(self, ids: list[bytes], records: NDArray[np.uint8]) -> set[bytes]:
        """Return those of the ids that are stored."""
        known = {ids[place] for place in self._known.find(np.ascontiguousarray(records[:, :ID_BYTES]))}
        for epoch in (*self._ended, self._open):
            if not epoch.ids.keys().isdisjoint(ids):
                known |= epoch.ids.keys() & ids
        return known

    def _conflicts(self, ids: list[bytes], records: NDArray[np.uint8], known: set[bytes]) -> int:
        """Count those of the records that came before with other bytes; of sealed ones there are only ids."""
        before = dict[bytes, bytes]()
        for epoch in (*self._ended, self._open):
            before |= epoch.records_with(epoch.ids.keys() & known)
        return count_conflicts(ids, records, before)

    def _used(self, uploads: Sequence[Upload]) -> dict[int, int]:
        """Return how many reports have come with each key that has a quota, also those set aside or removed."""
        counters = (self._sealed, self._aside, *(epoch.by_key for epoch in (*self._ended, self._open)))
        keys = {upload.key for upload in uploads if upload.quota is not None}
        return {key: sum(counter[key] for counter in counters) for key in keys}

    def _write(self, rows: Sequence[tuple[int, bytes]]) -> None:
        try:
            self._open.write(rows)
        except (sqlite3.OperationalError, sqlite3.IntegrityError, OSError) as error:
            raise StoreFullError(f"cannot write {self._open.path}: {error}; nothing of it was stored") from None

    def _rotate_if_due(self) -> None:
        count = len(self._open.ids)
        if count < self._most:
            return
        if not self._ended:
            self._rotate()
        elif count >= _MOST_EPOCHS_LONG * self._most:
            raise StoreFullError(f"{self._ended[0].path} could not be sealed so far; is the disk full?")

    def rotate(self, *, few: bool = False) -> None:
        """End the open epoch; see the protocol."""
        with self._guard:
            if self._open.ids:
                self._sizes.check(len(self._open.ids), self.plan, few=few)
                self._rotate()

    def _rotate(self) -> None:
        try:
            begun = _Epoch(sealing.new_epoch(self.folder, int(self._open.path.stem) + 1), self.plan)
        except (sqlite3.Error, OSError) as error:
            raise StoreFullError(f"cannot begin an epoch in {self.folder}: {error}") from None
        self._ended, self._open = [*self._ended, self._open], begun

    def settle(self) -> None:
        """Empty the journal, which tells in which order reports came, and the file's time; see the protocol."""
        with self._guard, suppress(sqlite3.Error):  # as where somebody reads: the next time does it
            self._open.database.execute("PRAGMA busy_timeout = 0")
            self._open.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._open.database.execute(f"PRAGMA busy_timeout = {int(1000 * unsealed.WAIT_SECONDS)}")
            sealing.round_date(self._open.path)

    def must_seal(self) -> bool:
        """Tell whether epochs have ended."""
        return bool(self._ended)

    def seal(self) -> int:
        """Seal the epochs that have ended; see the protocol."""
        with self._sealing:
            sealed = 0
            for epoch in list(self._ended):
                try:
                    self._seal(epoch)
                except (FileError, OSError) as error:
                    raise StoreFullError(f"an epoch cannot be sealed: {error}") from None
                sealed += 1
            return sealed

    def _seal(self, epoch: _Epoch) -> None:
        ids, by_key = sealing.seal_epoch(epoch.path, self.folder, self.plan, self._sizes)
        if ids is not None:
            self._known.add(ids, [records[:, :ID_BYTES] for records in by_key.values()])
        with self._guard:
            self._sealed.update({key: len(records) for key, records in by_key.items()})
            self._sealed_epochs += bool(by_key)
            self._ended = [each for each in self._ended if each is not epoch]
        epoch.database.close()
        sealing.remove_epoch(epoch.path)

    def status(self) -> StoreStatus:
        """Return how many reports there are."""
        with self._guard:
            unsealed = sum(len(epoch.ids) for epoch in (*self._ended, self._open))
            return StoreStatus(self._sealed.total(), unsealed, self._sealed_epochs, len(self._ended))

    def counts_by_key(self) -> dict[int, int]:
        """Return how many reports came with each key."""
        with self._guard:
            return dict(sum((epoch.by_key for epoch in (*self._ended, self._open)), self._sealed.copy()))

    def names_key(self) -> bytes:
        """Return the secret of names; see the protocol."""
        path = sealing.names_key_file(self.folder)
        try:
            if not path.exists():
                with atomic_output(path) as stream:
                    os.fchmod(stream.fileno(), 0o600)
                    stream.write(secrets.token_bytes(NAMES_KEY_BYTES))
                sync_folder(path.parent)
            return path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot use {path}: {error.strerror or error}") from None

    def close(self) -> None:
        """Close the databases."""
        with self._guard, self._sealing:
            for epoch in (*self._ended, self._open):
                epoch.database.close()
                sealing.round_date(epoch.path)


def _rows_stored(
    uploads: Sequence[Upload], stored: NDArray[np.bool_], plan: "PublishedPlan"
) -> list[tuple[int, bytes, bool]]:
    """Return of each upload the number of its key, its records that are stored, and whether they stand apart."""
    rows, end = [], 0
    for upload in uploads:
        first, end = end, end + upload.count
        if stored[first:end].any():
            rows.append((upload.key, records_of([upload], plan)[stored[first:end]].tobytes(), upload.apart))
    return rows


def _joined(rows: Sequence[tuple[int, bytes, bool]], plan: "PublishedPlan") -> list[tuple[int, bytes]]:
    """Return a row for each upload that stands apart, and one a key for the others, with records in random order."""
    by_key: dict[int, list[bytes]] = {}
    for key, records, apart in rows:
        if not apart:
            by_key.setdefault(key, []).append(records)
    length = plan.record_bytes
    joined = {key: np.frombuffer(b"".join(parts), np.uint8).reshape(-1, length) for key, parts in by_key.items()}
    mixed = [(key, sealing.shuffled(records).tobytes()) for key, records in joined.items()]
    return mixed + [(key, records) for key, records, apart in rows if apart]


def prepare_folder(folder: Path, plan: "PublishedPlan") -> None:
    """Make a collector's folder for a plan, or refuse one that is of another plan or of something else.

    Raises:
        FileError: as said.
    """
    try:
        folder.mkdir(exist_ok=True)
        known = folder / unsealed.PLAN_FILE
        if known.exists():
            theirs = read_plan(known).plan_id
            if theirs != plan.plan_id:
                raise FileError(f"{folder} collects reports of plan {theirs[:12]}; name another folder")
        else:
            unfinished = f".{unsealed.PLAN_FILE}.*.part"  # of a process that was killed at this very place
            if any(each.name not in _BEFORE and not each.match(unfinished) for each in folder.iterdir()):
                raise FileError(f"{folder} holds files, and is no collector's folder; name a new one")
            with atomic_output(known) as stream:
                stream.write(plan.canonical_json.encode("ascii"))
        for name in (unsealed.OPEN_FOLDER, unsealed.IDS_FOLDER):
            (folder / name).mkdir(mode=0o700, exist_ok=True)  # ids, whoever may see the reports
        sync_folder(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise FileError(f"cannot use the folder {folder}: {error.strerror or error}") from None


def _seal_all(paths: Sequence[Path], folder: Path, plan: "PublishedPlan", sizes: EpochSizes) -> list[_Epoch]:
    """Seal what a crash left unsealed, and return the epochs for which there is no room."""
    left = []
    for path in paths:
        try:
            sealing.seal_epoch(path, folder, plan, sizes)
        except (FileError, OSError):
            left.append(_Epoch(path, plan))
        else:
            sealing.remove_epoch(path)
    return left


# ---- ids of sealed epochs


class KnownIds:
    """The ids of all sealed epochs."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._filters: tuple[_Filter, ...] = ()
        self._files: dict[Path, NDArray[np.bytes_]] = {}
        for path in paths:
            self.add(path)

    def __len__(self) -> int:
        return sum(map(len, self._files.values()))

    def add(self, path: Path, new: Iterable[NDArray[np.uint8]] | None = None) -> None:
        """Take in a file of sorted ids, or what it is now that the ``new`` ones (n, 16) are in it, too.

        Raises:
            FileError: it holds no whole number of ids.
        """
        file = sealing.read_ids(path)
        self._files = self._files | {path: file}  # before the filter says that it must be asked
        for ids in [file.view(np.uint8).reshape(-1, ID_BYTES)] if new is None else new:
            for start in range(0, len(ids), _AT_A_TIME):
                block = ids[start : start + _AT_A_TIME]
                if not self._filters or self._filters[-1].count + len(block) > self._filters[-1].room:
                    room = 4 * self._filters[-1].room if self._filters else _FEWEST
                    self._filters += (_Filter(room),)
                self._filters[-1].add(block)

    def find(self, ids: NDArray[np.uint8]) -> set[int]:
        """Return the positions, among ids (n, 16), of those that are known."""
        maybe = np.zeros(len(ids), dtype=np.bool_)
        for each in self._filters:
            maybe |= each.may_have(ids)
        places = np.flatnonzero(maybe)
        wanted = ids[places].view(f"S{ID_BYTES}").ravel()  # all are as long: numpy's end of a text is no matter
        found = np.zeros(len(places), dtype=np.bool_)
        for file in self._files.values():
            found |= file[np.minimum(np.searchsorted(file, wanted), len(file) - 1)] == wanted
        return set(places[found].tolist())


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
