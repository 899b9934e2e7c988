"""Reports of one plan in a folder: SQLite for open batches, report files for closed ones.

A group of uploads is, for each key, one row of a table, and one commit, in WAL mode with synchronous=FULL. Rows have
random numbers, and the records in a row random order. The order of rows on a page, and while reports arrive the
journal, SQLite's write-ahead log, show the order of groups. A collector behind a relay has files of slots in place of
databases, which show none (collect/slots.py).

Ids are compared in memory: a table with the ids as its key writes a page for every report, and takes 10 times as long.
The ids of an open batch are held in memory, 110 bytes each. Those of closed batches are in sorted files, behind a
filter of 2 bytes each, which answers for almost all. Compared with a table WITHOUT ROWID of the closed ids, 1,000 new
ones take a sixth to a tenth of the time, and closing a fifth; a single one takes .2 ms longer.

A filter of Bloom (1970) returns for an id that it is certainly new, or that the files must be searched, which happens
to one new id in a thousand. Its bits depend on a salt drawn when it is made, so no client can choose ids that fill it.
Each further filter is four times as large, so their number stays small, however many batches there are.
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

from assocpriv.collect import batch_closing, store
from assocpriv.collect.keys import GATEWAY_FILE, KEYS_FILE
from assocpriv.collect.slots import SlotBatch
from assocpriv.collect.store import RequestRefused, Upload, ids_of, records_of
from assocpriv.files import open_batches
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.plan_files import read_plan
from assocpriv.guarantees.errors import FileError, WireError, pluralize
from assocpriv.plans.published_plan import ID_BYTES

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

_MOST_BATCHES_LONG = 4  # times its maximum that a batch may grow while closing fails
_CHECKPOINT_PAGES = 4096
_MOST_ROWS = 16  # read to compare repeats in a group, up to 4 MiB each: a retry repeats one row
# files that may be in a folder before its plan
_BEFORE = {
    store.LOCK_FILE,
    KEYS_FILE,
    GATEWAY_FILE,
    "batches.json",
    "admin-token",
    open_batches.OPEN_FOLDER,
    open_batches.IDS_FOLDER,
}

_BITS_AN_ID = 16
_PROBES = np.arange(6, dtype=np.uint64)  # with 16 bits an id, .1% of new ids are searched in the files
_FIRST = 2  # probes that a tenth of new ids pass; only these get the others
_AT_A_TIME = 1 << 16  # ids added to a filter at once
_FIRST_ROOM = 1 << 20  # ids of the first filter
_ODD = np.uint64(0x9E3779B97F4A7C15)


# ---- the store


class _OpenBatch:
    """The open database of a batch, and its ids."""

    def __init__(self, path: Path, plan: "PublishedPlan") -> None:
        self.path, self._plan = path, plan
        self.database = open_batches.connect(path)
        try:
            self.token = open_batches.token_of(self.database, path)
            self.database.execute("PRAGMA journal_mode = WAL")
            self.database.execute("PRAGMA synchronous = FULL")
            self.database.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            rows = list(open_batches.read_rows(self.database, plan))
        except FileError:
            self.database.close()
            raise
        except (sqlite3.DatabaseError, WireError) as error:
            self.database.close()
            if open_batches.may_pass(error):
                raise store.StoreFullError(f"cannot open {path}: {error}; is the disk full?") from None
            raise WireError(f"{path} is damaged: {error}; to continue without it, move it away and keep it") from None
        self.ids = {each: number for number, _, records in rows for each in ids_of(records)}
        self.by_key = Counter[int]()
        for _, key, records in rows:
            self.by_key[key] += len(records)

    def records_with(self, ids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield ids of the batch, each with its record, from at most ``_MOST_ROWS`` rows."""
        wanted, width = set(ids), self._plan.record_bytes
        numbers = dict.fromkeys(self.ids[each] for each in wanted)
        for number in islice(numbers, _MOST_ROWS):
            (records,) = self.database.execute("SELECT records FROM uploads WHERE number = ?", (number,)).fetchone()
            rows = np.frombuffer(records, np.uint8).reshape(-1, width)
            yield from ((each, bytes(row)) for each, row in zip(ids_of(rows), rows, strict=True) if each in wanted)

    def write(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add rows of (key, records), joined for each key, under random numbers, and wait for the disk.

        Raises:
            sqlite3.Error: nothing was added.
        """
        try:
            joined = _joined(rows, self._plan)
            checked = sorted((secrets.randbits(62), key, records, crc32(records)) for key, records in joined)
            self.database.execute("BEGIN IMMEDIATE")
            self.database.executemany("INSERT INTO uploads VALUES (?, ?, ?, ?)", checked)
            self.database.execute("COMMIT")
        except BaseException:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
            raise
        width = self._plan.record_bytes
        for number, _, records, _ in checked:
            self.ids.update(dict.fromkeys(ids_of(np.frombuffer(records, np.uint8).reshape(-1, width)), number))

    def erase_order(self) -> bool:
        """Empty the journal, which shows the order of reports, and round the file's time; return False, once is enough.

        Raises:
            sqlite3.Error: for example another process reads; the next call does it.
        """
        self.database.execute("PRAGMA busy_timeout = 0")
        self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.database.execute(f"PRAGMA busy_timeout = {int(1000 * open_batches.WAIT_SECONDS)}")
        batch_closing.round_file_time(self.path)
        return False

    def close(self) -> None:
        """Close the database."""
        self.database.close()
        batch_closing.round_file_time(self.path)


_Batch = _OpenBatch | SlotBatch


def _opened(path: Path, plan: "PublishedPlan") -> _Batch:
    return (SlotBatch if path.suffix == open_batches.SLOTS_ENDING else _OpenBatch)(path, plan)


class SqliteStore:
    """See :class:`assocpriv.collect.store.ReportStore`."""

    def __init__(
        self,
        folder: Path,
        plan: "PublishedPlan",
        sizes: store.BatchSizes = store.BatchSizes(),  # noqa: B008
        *,
        oblivious: bool | None = None,
    ) -> None:
        """Open a plan's folder, or make it, and finish what a crash left.

        With ``oblivious`` nothing on the disk shows the order of reports, by default as it was.

        Raises:
            FileError: it cannot be written, or belongs to something else.
            WireError: a damaged file.
        """
        self.folder, self.plan, self._sizes, self.conflicts = folder, plan, sizes, 0
        self._most = sizes.limit_for(plan)
        self._guard, self._closing = threading.Lock(), threading.Lock()
        prepare_folder(folder, plan)
        batch_closing.remove_partial_files(folder)
        *pending, last = _batches_in_form(folder, plan, oblivious)
        left = _close_batches(pending, folder, plan, sizes)
        self._closed, self._closed_batches = batch_closing.closed_counts(folder, {each.token for each in left})
        self._aside = batch_closing.closed_counts(folder / batch_closing.ASIDE_FOLDER, set())[
            0
        ] + batch_closing.removed_counts(folder)
        self._known = KnownIds(batch_closing.ids_files(folder))
        missing = self._closed.total() + self._aside.total() - len(self._known)
        if missing > 0 and not batch_closing.is_ended(folder):
            raise FileError(
                f"{folder / open_batches.IDS_FOLDER} lacks submission ids of {pluralize(missing, 'closed report')}, so "
                "retries could count twice; restore its files, or collect into a new folder"
            )
        self._pending: list[_Batch] = left
        self._open = _opened(last, plan)

    def add(self, uploads: Sequence[Upload]) -> list[int | RequestRefused]:
        """Store uploads; see the protocol."""
        with self._guard:
            self._rotate_if_due()
            records = records_of(uploads, self.plan)
            ids = ids_of(records)
            known = self._known_among(ids, records)
            if not known and len(set(ids)) == len(ids) and all(upload.quota is None for upload in uploads):
                results: list[int | RequestRefused] = [upload.count for upload in uploads]
                rows = [(upload.key, upload.body) for upload in uploads]
            else:
                self.conflicts += self._conflicts(ids, records, known)
                results, stored = store.accept(uploads, ids, known, self._used(uploads))
                rows = _rows_stored(uploads, stored, self.plan)
            if rows or any(upload.own_row for upload in uploads):  # write in any case, or a relay could detect a repeat
                self._write(rows)
                for upload, result in zip(uploads, results, strict=True):
                    self._open.by_key[upload.key] += 0 if isinstance(result, RequestRefused) else result
            return results

    def _known_among(self, ids: list[bytes], records: NDArray[np.uint8]) -> set[bytes]:
        """Return the ids that are stored."""
        known = {ids[place] for place in self._known.find(np.ascontiguousarray(records[:, :ID_BYTES]))}
        for batch in (*self._pending, self._open):
            if not batch.ids.keys().isdisjoint(ids):
                known |= batch.ids.keys() & ids
        return known

    def _conflicts(self, ids: list[bytes], records: NDArray[np.uint8], known: set[bytes]) -> int:
        """Count records that came before with other bytes; of closed batches only the ids are known."""
        before = dict[bytes, bytes]()
        for batch in (*self._pending, self._open):
            before |= batch.records_with(batch.ids.keys() & known)
        return store.count_conflicts(ids, records, before)

    def _used(self, uploads: Sequence[Upload]) -> dict[int, int]:
        """Return the number of reports of each key with a quota, including those set aside or removed."""
        counters = (self._closed, self._aside, *(batch.by_key for batch in (*self._pending, self._open)))
        keys = {upload.key for upload in uploads if upload.quota is not None}
        return {key: sum(counter[key] for counter in counters) for key in keys}

    def _write(self, rows: Sequence[tuple[int, bytes]]) -> None:
        try:
            self._open.write(rows)
        except (sqlite3.OperationalError, sqlite3.IntegrityError, OSError) as error:
            raise store.StoreFullError(f"cannot write {self._open.path}: {error}; the upload was not stored") from None

    def _rotate_if_due(self) -> None:
        count = len(self._open.ids)
        if count < self._most:
            return
        if not self._pending:
            self._rotate()
        elif count >= _MOST_BATCHES_LONG * self._most:
            raise store.StoreFullError(f"{self._pending[0].path} could not be closed yet; is the disk full?")

    def rotate(self, *, allow_small: bool = False) -> None:
        """Start a new open batch; see the protocol."""
        with self._guard:
            if self._open.ids:
                self._sizes.check(len(self._open.ids), self.plan, allow_small=allow_small)
                self._rotate()

    def _rotate(self) -> None:
        try:
            number, slots = int(self._open.path.stem) + 1, isinstance(self._open, SlotBatch)
            begun = _opened(batch_closing.create_batch(self.folder, number, self.plan, slots=slots), self.plan)
        except (sqlite3.Error, OSError) as error:
            raise store.StoreFullError(f"cannot create a batch in {self.folder}: {error}") from None
        self._pending, self._open = [*self._pending, self._open], begun

    def erase_order(self) -> bool:
        """Erase what shows the order of the last reports; see the protocol."""
        with self._guard, suppress(sqlite3.Error):
            return self._open.erase_order()
        return False

    def has_pending(self) -> bool:
        """Return whether batches are pending."""
        return bool(self._pending)

    def close_pending(self) -> int:
        """Close the pending batches; see the protocol."""
        with self._closing:
            closed = 0
            for batch in list(self._pending):
                try:
                    self._close_batch(batch)
                except (FileError, OSError) as error:
                    raise store.StoreFullError(f"a batch cannot be closed: {error}") from None
                closed += 1
            return closed

    def _close_batch(self, batch: _Batch) -> None:
        ids, by_key = batch_closing.close_batch(batch.path, self.folder, self.plan, self._sizes)
        if ids is not None:
            self._known.add(ids, [records[:, :ID_BYTES] for records in by_key.values()])
        with self._guard:
            self._closed.update({key: len(records) for key, records in by_key.items()})
            self._closed_batches += bool(by_key)
            self._pending = [each for each in self._pending if each is not batch]
        batch.close()
        batch_closing.remove_batch(batch.path)

    def status(self) -> store.StoreStatus:
        """Return the numbers of reports and batches."""
        with self._guard:
            open_count = sum(len(batch.ids) for batch in (*self._pending, self._open))
            return store.StoreStatus(self._closed.total(), open_count, self._closed_batches, len(self._pending))

    def counts_by_key(self) -> dict[int, int]:
        """Return the number of reports of each key."""
        with self._guard:
            return dict(sum((batch.by_key for batch in (*self._pending, self._open)), self._closed.copy()))

    def names_key(self) -> bytes:
        """Return the secret key for file names; see the protocol."""
        path = batch_closing.names_key_file(self.folder)
        try:
            if not path.exists():
                with atomic_output(path) as stream:
                    os.fchmod(stream.fileno(), 0o600)
                    stream.write(secrets.token_bytes(store.NAMES_KEY_BYTES))
                sync_folder(path.parent)
            return path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot use {path}: {error.strerror or error}") from None

    def close(self) -> None:
        """Close the databases."""
        with self._guard, self._closing:
            for batch in (*self._pending, self._open):
                batch.close()


def _rows_stored(
    uploads: Sequence[Upload], stored: NDArray[np.bool_], plan: "PublishedPlan"
) -> list[tuple[int, bytes]]:
    """Return for each upload its key's number and its stored records."""
    rows, end = [], 0
    for upload in uploads:
        first, end = end, end + upload.count
        if stored[first:end].any():
            rows.append((upload.key, records_of([upload], plan)[stored[first:end]].tobytes()))
    return rows


def _joined(rows: Sequence[tuple[int, bytes]], plan: "PublishedPlan") -> list[tuple[int, bytes]]:
    """Return one row for each key, with records in random order."""
    by_key: dict[int, list[bytes]] = {}
    for key, records in rows:
        by_key.setdefault(key, []).append(records)
    length = plan.record_bytes
    joined = {key: np.frombuffer(b"".join(parts), np.uint8).reshape(-1, length) for key, parts in by_key.items()}
    return [(key, batch_closing.shuffle_rows(records).tobytes()) for key, records in joined.items()]


def _batches_in_form(folder: Path, plan: "PublishedPlan", oblivious: bool | None) -> list[Path]:
    """Return the open batches, the last of them with slots if ``oblivious``, else a database; None keeps its form."""
    files = open_batches.batch_files(folder)
    if not files:
        return [batch_closing.create_batch(folder, 1, plan, slots=oblivious is True)]
    last, slots = files[-1], files[-1].suffix == open_batches.SLOTS_ENDING if oblivious is None else oblivious
    endings = open_batches.BATCH_ENDING, open_batches.SLOTS_ENDING
    other, wanted = (last.with_suffix(endings[place]) for place in (not slots, slots))
    if not wanted.exists():
        token, by_key = open_batches.read_batch(other, plan)
        if by_key.keys() - {0}:  # slots have no keys: a collector with a relay refuses such a folder
            return files
        batch_closing.create_batch(folder, int(last.stem), plan, slots=slots, token=token, records=by_key.get(0, ()))
    if other.exists():
        batch_closing.remove_batch(other)
    return [*(each for each in files if each.stem != last.stem), wanted]


def prepare_folder(folder: Path, plan: "PublishedPlan") -> None:
    """Make a collector's folder for a plan, or refuse one of another plan or with other files.

    Raises:
        FileError: such a folder, or it cannot be used.
    """
    try:
        folder.mkdir(exist_ok=True)
        known = folder / open_batches.PLAN_FILE
        if known.exists():
            theirs = read_plan(known).plan_id
            if theirs != plan.plan_id:
                raise FileError(f"{folder} collects reports of plan {theirs[:12]}; name another folder")
        else:
            unfinished = f".{open_batches.PLAN_FILE}.*.part"  # of a process that was killed here
            if any(each.name not in _BEFORE and not each.match(unfinished) for each in folder.iterdir()):
                raise FileError(f"{folder} holds other files, and is no collector's folder; name a new one")
            with atomic_output(known) as stream:
                stream.write(plan.canonical_json.encode("ascii"))
        for name in (open_batches.OPEN_FOLDER, open_batches.IDS_FOLDER):
            (folder / name).mkdir(mode=0o700, exist_ok=True)  # private even where the reports are not
        sync_folder(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise FileError(f"cannot use the folder {folder}: {error.strerror or error}") from None


def _close_batches(paths: Sequence[Path], folder: Path, plan: "PublishedPlan", sizes: store.BatchSizes) -> list[_Batch]:
    """Close batches left by a crash; return those for which there is no room."""
    left = list[_Batch]()
    for path in paths:
        try:
            batch_closing.close_batch(path, folder, plan, sizes)
        except (FileError, OSError):
            left.append(_opened(path, plan))
        else:
            batch_closing.remove_batch(path)
    return left


# ---- ids of closed batches


class KnownIds:
    """The ids of all closed batches."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._filters: tuple[_BloomFilter, ...] = ()
        self._files: dict[Path, NDArray[np.bytes_]] = {}
        for path in paths:
            self.add(path)

    def __len__(self) -> int:
        return sum(map(len, self._files.values()))

    def add(self, path: Path, new: Iterable[NDArray[np.uint8]] | None = None) -> None:
        """Add a file of sorted ids, or its new version with the ``new`` ids (n, 16).

        Raises:
            FileError: its length is not a multiple of an id's.
        """
        file = batch_closing.read_ids(path)
        self._files = self._files | {path: file}  # before the filter can point to it
        for ids in [file.view(np.uint8).reshape(-1, ID_BYTES)] if new is None else new:
            for start in range(0, len(ids), _AT_A_TIME):
                block = ids[start : start + _AT_A_TIME]
                if not self._filters or self._filters[-1].count + len(block) > self._filters[-1].room:
                    room = 4 * self._filters[-1].room if self._filters else _FIRST_ROOM
                    self._filters += (_BloomFilter(room),)
                self._filters[-1].add(block)

    def find(self, ids: NDArray[np.uint8]) -> set[int]:
        """Return the positions, among ids (n, 16), of known ones."""
        maybe = np.zeros(len(ids), dtype=np.bool_)
        for each in self._filters:
            maybe |= each.may_have(ids)
        places = np.flatnonzero(maybe)
        wanted = ids[places].view(f"S{ID_BYTES}").ravel()  # all have one length, so numpy's padding is harmless
        found = np.zeros(len(places), dtype=np.bool_)
        for file in self._files.values():
            found |= file[np.minimum(np.searchsorted(file, wanted), len(file) - 1)] == wanted
        return set(places[found].tolist())


class _BloomFilter:
    """Bloom's filter for up to ``room`` ids, a power of two."""

    def __init__(self, room: int) -> None:
        self.room, self.count = room, 0
        self._bytes = np.zeros(room * _BITS_AN_ID // 8, dtype=np.uint8)
        self._mask = np.uint64(room * _BITS_AN_ID - 1)
        self._salt = np.frombuffer(secrets.token_bytes(16), dtype="<u8")

    def _places(
        self, ids: NDArray[np.uint8], probes: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
        """Return the positions of the bits of ids (n, 16), each (n, probes): the byte, and the bit in it."""
        halves = np.ascontiguousarray(ids).view("<u8") ^ self._salt
        first, second = _mix_bits(halves[:, 0]), _mix_bits(halves[:, 1])
        places = (_mix_bits(first + second * _ODD)[:, None] + probes * (second | np.uint64(1))[:, None]) & self._mask
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
        return np.asarray((self._bytes[places] & bits != 0).all(axis=1))


def _mix_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64-bit words with mixed bits (the finalizer of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
