"""Closing a batch: write its reports as files in random order without ids, and merge its ids into files of ids.

Neither the time nor the order of arrival survives. Rows are in random order, drawn from the operating system's entropy,
and a file's modification time shows the day only. Nothing links an id to a report or to a batch: the ids of a batch are
merged into one sorted file, which is replaced as a whole; a new file starts after a million ids. No program can set the
times of change and of birth of a file, which ``stat`` shows on the machine where it was written and which a copy does
not have. Therefore a batch has at least a thousand reports, and these times do not show which ids came with it.

The database of the batch is removed last. If closing is interrupted before that, it is repeated from the database into
files with the same names, so each report is in the collection once.

Report files are removed when they are older than the requested number of days. The reports still count for the quota of
their key: their number is written to removed.json first, and counts once the file is gone.
"""

import logging
import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect.store import BatchSizes, StoreFullError
from assocpriv.files import open_batches
from assocpriv.files.arrow import parquet_errors, pq
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.report_files import CLOSED_KEY, PLAN_KEY, write_reports
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import FileError, WireError, pluralize
from assocpriv.plans.published_plan import ID_BYTES

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

ASIDE_FOLDER = "set-aside"  # report files of the keys that are set aside
KEY_KEY = b"assocpriv.key"  # metadata of a report file: the number of the key that sent its reports
_BATCH_KEY = b"assocpriv.batch"  # the token: with it files of equal reports have different digests
_MINIMUM_KEY = b"assocpriv.minimum_batch_size"  # smallest number of reports that the batch could have
_IDS_ENDING = ".ids"
_IDS_A_FILE = 1 << 20  # ids before the next file starts
ENDED_FILE = "ended"  # in a folder whose collection has ended
_REMOVED_FILE, _REMOVED_FORMAT, _VERSION = "removed.json", "assocpriv-removed", 1
_SQLITE_ENDINGS = ("-wal", "-shm")
_LEAST_SLOTS = 1 << 12
_LONG_DAYS = 366  # without a batch, after which the clock may be ahead
_LOG = logging.getLogger("assocpriv")


# ---- batches


def create_batch(
    folder: Path, number: int, plan: "PublishedPlan", *, slots: bool, token: str = "", records: Any = (), room: int = 0
) -> Path:
    """Make a batch with the ``records`` (n, 16 + report_bytes), complete under its name or absent; return its path.

    With ``slots`` it is a file of slots, at least twice as many as records and ``room`` for more, else a database.

    Raises:
        StoreFullError: the disk refuses.
    """
    ending, token = open_batches.SLOTS_ENDING if slots else open_batches.BATCH_ENDING, token or secrets.token_hex(8)
    path = folder / open_batches.OPEN_FOLDER / f"{number}{ending}"
    unfinished = path.with_name(f".{path.name}.part")
    try:
        unfinished.unlink(missing_ok=True)
        if slots:
            _write_slots(unfinished, plan, token, records, room)
            os.replace(unfinished, path)
            sync_folder(path.parent)
            return path
        with closing(open_batches.connect(unfinished, new=True)) as database:
            database.execute("PRAGMA synchronous = FULL")
            for statement in open_batches.SCHEMA:
                database.execute(statement)
            database.execute("INSERT INTO batch VALUES (?)", (token,))
            if len(records):
                joined = records.tobytes()
                number = secrets.randbits(62)
                database.execute("INSERT INTO uploads VALUES (?, 0, ?, ?)", (number, joined, crc32(joined)))
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except (sqlite3.Error, OSError) as error:
        raise StoreFullError(f"cannot create a batch in {folder}: {error}; is the disk full?") from None
    return path


def _write_slots(path: Path, plan: "PublishedPlan", token: str, records: Any, room: int) -> None:
    """Write a file of slots with records at uniformly random places; its blocks are allocated in order."""
    count = _LEAST_SLOTS
    while count < 2 * (len(records) + room):
        count *= 4
    slots = np.zeros((count, plan.record_bytes + open_batches.CRC_BYTES), np.uint8)
    places = np.argsort(SystemEntropy().words(count))[: len(records)]
    for place, record in zip(places, records, strict=True):
        slots[place] = np.frombuffer(open_batches.slot_of(bytes(record)), np.uint8)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(open_batches.slots_header(token, plan.record_bytes, count))
        stream.write(slots.tobytes())
        stream.flush()
        round_file_time(path)
        os.fsync(stream.fileno())


def overwrite(file: int) -> None:
    """Overwrite an open file that has no name any more with zeros, as far as the disk does so in place."""
    os.pwrite(file, bytes(os.fstat(file).st_size), 0)
    os.fsync(file)


def ids_files(folder: Path) -> list[Path]:
    """Return the files with the ids of closed batches."""
    return sorted((folder / open_batches.IDS_FOLDER).glob(f"[!.]*{_IDS_ENDING}"))


def read_ids(path: Path) -> NDArray[np.bytes_]:
    """Return the sorted ids of a file, mapped into memory.

    Raises:
        FileError: its length is not a multiple of an id's.
    """
    try:
        return np.asarray(np.memmap(path, dtype=f"S{ID_BYTES}", mode="r"))
    except ValueError:
        raise FileError(f"{path} is damaged: it must hold whole submission ids, {ID_BYTES} bytes each") from None


def names_key_file(folder: Path) -> Path:
    """Return the path of the secret key that turns file names into submission ids."""
    return folder / open_batches.IDS_FOLDER / "names.key"


def is_ended(folder: Path) -> bool:
    """Return whether the collection has ended."""
    return (folder / ENDED_FILE).exists()


def close_batch(
    path: Path, folder: Path, plan: "PublishedPlan", sizes: BatchSizes
) -> tuple[Path | None, dict[int, NDArray[np.uint8]]]:
    """Write the reports of a batch as files, and merge its ids; the database stays.

    Returns:
        The file with its ids, None for an empty batch, and the records of each key.

    Raises:
        FileError: the disk refuses.
        WireError: the database is damaged.
    """
    token, by_key = open_batches.read_batch(path, plan)
    if not by_key:
        return None, {}
    ids = _merge_ids(folder, np.concatenate([records[:, :ID_BYTES] for records in by_key.values()]))
    write_batch_files({key: records[:, ID_BYTES:] for key, records in by_key.items()}, folder, token, plan, sizes)
    return ids, by_key


def write_batch_files(
    by_key: Mapping[int, NDArray[np.uint8]], folder: Path, token: str, plan: "PublishedPlan", sizes: BatchSizes
) -> None:
    """Write a batch's reports (n, report_bytes) as one file for each key, in random order; existing files stay.

    Raises:
        FileError: the disk refuses.
    """
    minimum = min(sizes.minimum, sum(map(len, by_key.values())))
    common = {_BATCH_KEY: token, _MINIMUM_KEY: minimum, CLOSED_KEY: _closing_day(folder)}
    for key, reports in by_key.items():
        target = open_batches.closed_file(folder, token, key)
        if not target.exists():
            of_key = common | ({KEY_KEY: key} if key else {})
            metadata = {name: str(each).encode("ascii") for name, each in of_key.items()}
            write_reports([shuffle_rows(np.ascontiguousarray(reports))], plan, target, metadata=metadata)
            round_file_time(target)
    sync_folder(folder)


def _merge_ids(folder: Path, ids: NDArray[np.uint8]) -> Path:
    """Merge a batch's ids (n, 16) into a file of ids, sorted as bytes, and return the file.

    The file is replaced as a whole, so it holds all ids of the batch or none: one id shows whether they are in it.
    """
    files = {path: read_ids(path) for path in ids_files(folder)}
    first = ids[:1].copy().view(f"S{ID_BYTES}")[0]
    for path, there in files.items():
        if there[np.minimum(np.searchsorted(there, first), len(there) - 1)] == first:
            return path
    path = min(files, key=lambda each: len(files[each]), default=folder)
    if path == folder or len(files[path]) >= _IDS_A_FILE:
        path = folder / open_batches.IDS_FOLDER / f"{secrets.token_hex(8)}{_IDS_ENDING}"
    earlier = files[path].view(np.uint8).reshape(-1, ID_BYTES) if path in files else ids[:0]
    merged = np.concatenate([earlier, ids])
    halves = merged.view(">u8")
    with atomic_output(path, force=True) as stream:
        stream.write(merged[np.lexsort((halves[:, 1], halves[:, 0]))].tobytes())
    round_file_time(path)
    sync_folder(path.parent)
    return path


def closed_counts(folder: Path, open_tokens: Collection[str]) -> tuple[Counter[int], int]:
    """Return the numbers of reports in a folder's report files, by key, and the number of their batches.

    Only footers are read. Batches with a token in ``open_tokens`` are skipped, because the store counts them.

    Raises:
        WireError: a damaged file.
    """
    counts, tokens = Counter[int](), set[str]()
    for path, rows, metadata in footers(folder):
        token = path.stem.partition("-")[0]
        if token not in open_tokens:
            counts[int(metadata.get(KEY_KEY, b"0"))] += rows
            tokens.add(token)
    return counts, len(tokens)


def remove_batch(path: Path) -> None:
    """Remove a closed batch, and SQLite's files next to it."""
    with path.open("r+b") as stream:
        for ending in ("", *_SQLITE_ENDINGS):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        sync_folder(path.parent)
        if path.suffix == open_batches.SLOTS_ENDING:
            overwrite(stream.fileno())


def remove_partial_files(folder: Path) -> None:
    """Remove partly written files, and SQLite's files of removed databases, which a crash left."""
    for place in (folder, folder / open_batches.IDS_FOLDER, folder / open_batches.OPEN_FOLDER):
        for unfinished in place.glob(".*.part*"):
            unfinished.unlink(missing_ok=True)
    for ending in _SQLITE_ENDINGS:
        for path in (folder / open_batches.OPEN_FOLDER).glob(f"*{open_batches.BATCH_ENDING}{ending}"):
            if not path.with_name(path.name.removesuffix(ending)).exists():
                path.unlink(missing_ok=True)


# ---- report files


def shuffle_rows(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return rows in uniformly random order, apart from ties between 64-bit sort keys."""
    return packed[np.argsort(SystemEntropy().words(len(packed)))]


def _today() -> date:
    return datetime.now(UTC).date()


def _closing_day(folder: Path) -> date:
    """Return the day of closing: today, or a later one on which a batch was closed or the plan was written.

    So a batch that is closed while the clock is behind is not removed too early.
    """
    days = [date.fromisoformat(each) for each, _ in _closed_days(folder)]
    with suppress(OSError):
        days.append(datetime.fromtimestamp((folder / open_batches.PLAN_FILE).stat().st_mtime, UTC).date())
    today = _today()
    last = max(days, default=today)
    if last > today or (today - last).days > _LONG_DAYS:
        _LOG.warning(
            "%s: the clock shows %s, and the last file is of %s: if the clock is wrong, set it before collector "
            "remove; the batch is dated %s", folder, today, last, max(last, today),
        )  # fmt: skip
    return max(last, today)


def _closed_days(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the day on which each report file was closed, where it is known, and the file's number of reports."""
    for _, rows, metadata in footers(folder):
        day = metadata.get(CLOSED_KEY, b"").decode("ascii", "replace")
        with suppress(ValueError):
            yield date.fromisoformat(day).isoformat(), rows


def round_file_time(path: Path | int) -> None:
    """Set a file's, or open file's, modification time to midnight, so that it shows the day only."""
    midnight = datetime.combine(_today(), datetime.min.time(), UTC).timestamp()
    with suppress(OSError):
        os.utime(path, (midnight, midnight))


# ---- removal


def footers(folder: Path) -> Iterator[tuple[Path, int, dict[bytes, bytes]]]:
    """Yield a folder's report files with their numbers of reports and metadata; only footers are read.

    Raises:
        WireError: a damaged file.
    """
    for path in sorted(folder.glob("[!.]*.parquet")):
        try:
            footer = pq.read_metadata(path)
        except parquet_errors() as error:
            raise WireError(f"{path} is damaged ({type(error).__name__}); move it out of the folder") from None
        if PLAN_KEY in (footer.metadata or {}):  # otherwise a table of results
            yield path, footer.num_rows, footer.metadata


def remove_before(folder: Path, days: int) -> tuple[dict[str, int], int]:
    """Remove report files that were closed more than ``days`` days ago, also those that are set aside.

    Returns:
        Numbers of removed reports by day, and the number of files without a day.

    Raises:
        FileError: ``days`` is no whole number from 1 on; or the disk refuses, and the same call finishes the removal.
        WireError: a damaged file.
    """
    if type(days) is not int or days < 1:
        raise FileError(f"days must be a whole number from 1 on, got {days!r}")
    last = date.fromordinal(max(1, _today().toordinal() - days)).isoformat()
    undated, by_day = 0, Counter[str]()
    noted, paths = _read_removed(folder), list[Path]()
    for place in (folder, folder / ASIDE_FOLDER):
        for path, rows, metadata in footers(place):
            day = metadata.get(CLOSED_KEY, b"").decode("ascii", "replace")
            undated += not day
            if "" < day < last:
                by_day[day] += rows
                paths.append(path)
                noted[path.name] = {"key": int(metadata.get(KEY_KEY, b"0")), "reports": rows, "closed": day}
    ahead = [
        rows for place in (folder, folder / ASIDE_FOLDER) for day, rows in _closed_days(place) if day > str(_today())
    ]
    if ahead:
        _LOG.warning(
            "%s: %s dated after today, %s; they are not removed: the clock is, or was, wrong",
            folder, pluralize(sum(ahead), "report"), _today(),
        )  # fmt: skip
    if paths:
        open_batches.write_note(folder / _REMOVED_FILE, _REMOVED_FORMAT, _VERSION, {"files": noted})
        try:
            for path in paths:
                path.unlink()
                sync_folder(path.parent)
        except OSError as error:
            raise FileError(f"cannot remove reports: {error.strerror or error}; run this again to finish") from None
    return dict(sorted(by_day.items())), undated


def removed_counts(folder: Path) -> Counter[int]:
    """Return the number of removed reports of each key.

    Raises:
        FileError: removed.json cannot be read.
    """
    counts = Counter[int]()
    for name, file in _read_removed(folder).items():
        if not any((place / name).exists() for place in (folder, folder / ASIDE_FOLDER)):
            counts[file["key"]] += file["reports"]
    return counts


def _read_removed(folder: Path) -> dict[str, Any]:
    path = folder / _REMOVED_FILE
    content = open_batches.read_note(path, _REMOVED_FORMAT, _VERSION, ["files"]) or {"files": {}}
    try:
        files: dict[str, Any] = content["files"]
        for file in files.values():
            if file.keys() != {"key", "reports", "closed"} or {type(file["key"]), type(file["reports"])} != {int}:
                raise TypeError
    except (TypeError, LookupError, AttributeError):
        raise FileError(f"{path} is damaged, and quotas need it; restore it from a copy") from None
    return files
