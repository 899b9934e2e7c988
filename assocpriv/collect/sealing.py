"""Sealing: an epoch that has ended → report files in random order without ids; its ids go among those of others.

Neither time nor order of arrival survives: rows are in random order, by the operating system's entropy, and a file's
date is that of the day. Nothing links an id to a report, nor to an epoch: an epoch's ids are merged into one sorted
file, which is replaced whole, and another is begun when it has a million. No program can set a file's times of change
and birth, which ``stat`` shows where it was written, and which a copy does not have. So an epoch has at least a
thousand reports, and times do not tell which ids came with it. The database goes last; whatever breaks off before that
is done again from it, into the same names, so a report is in the collection once.

Sealed reports are removed when their day is too long ago. What a key has sent counts on, so how many these were is
noted first; a note counts where the file is gone.
"""

import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect.store import EpochSizes, StoreFullError
from assocpriv.files import unsealed
from assocpriv.files.arrow import parquet_errors, pq
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.reports import PLAN_KEY, SEALED_KEY, write_reports
from assocpriv.plans.published import ID_BYTES
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import FileError, WireError

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

ASIDE_FOLDER = "set-aside"  # with the report files of sources that are set aside
KEY_KEY = b"assocpriv.key"  # of a report file's metadata: the number of the key that its reports came with
_EPOCH_KEY = b"assocpriv.epoch"  # its token: files of equal reports differ, so that each can be known by its digest
_FEWEST_KEY = b"assocpriv.fewest"  # how few reports it might have had
_IDS_ENDING = ".ids"
_IDS_A_FILE = 1 << 20  # before another is begun
CLOSED_FILE = "closed"  # in a folder whose collection has ended
_REMOVED_FILE, _REMOVED_FORMAT, _VERSION = "removed.json", "assocpriv-removed", 1
_BESIDE = ("-wal", "-shm")


# ---- epochs


def new_epoch(folder: Path, number: int) -> Path:
    """Make the database of an epoch, whole under its name or not there, and return its path.

    Raises:
        StoreFullError: the disk refuses.
    """
    path = folder / unsealed.OPEN_FOLDER / f"{number}{unsealed.EPOCH_ENDING}"
    unfinished = path.with_name(f".{path.name}.part")
    try:
        unfinished.unlink(missing_ok=True)
        with closing(unsealed.connect(unfinished, new=True)) as database:
            database.execute("PRAGMA synchronous = FULL")
            for statement in unsealed.SCHEMA:
                database.execute(statement)
            database.execute("INSERT INTO epoch VALUES (?)", (secrets.token_hex(8),))
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except (sqlite3.Error, OSError) as error:
        raise StoreFullError(f"cannot begin an epoch in {folder}: {error}; is the disk full?") from None
    return path


def ids_files(folder: Path) -> list[Path]:
    """Return the files of ids of sealed epochs."""
    return sorted((folder / unsealed.IDS_FOLDER).glob(f"[!.]*{_IDS_ENDING}"))


def read_ids(path: Path) -> NDArray[np.bytes_]:
    """Return the sorted ids of a file, which is read where it is looked at.

    Raises:
        FileError: it holds no whole number of ids.
    """
    try:
        return np.asarray(np.memmap(path, dtype=f"S{ID_BYTES}", mode="r"))
    except ValueError:
        raise FileError(f"{path} is damaged: submission ids have {ID_BYTES} bytes each") from None


def names_key_file(folder: Path) -> Path:
    """Return where a folder keeps the secret by which names of files become submission ids."""
    return folder / unsealed.IDS_FOLDER / "names.key"


def is_closed(folder: Path) -> bool:
    """Tell whether a collection takes no reports any more."""
    return (folder / CLOSED_FILE).exists()


def seal_epoch(
    path: Path, folder: Path, plan: "PublishedPlan", sizes: EpochSizes
) -> tuple[Path | None, dict[int, NDArray[np.uint8]]]:
    """Write what an epoch holds as report files, and its ids; its database stays.

    Returns:
        The file that its ids are in, None where the epoch holds none, and the records that came with each key.

    Raises:
        FileError: the disk refuses.
        WireError: the database is damaged.
    """
    with unsealed.open_epoch(path) as database:
        token = unsealed.token_of(database, path)
        by_key = unsealed.read_uploads(database, plan)
    if not by_key:
        return None, {}
    ids = _keep_ids(folder, np.concatenate([records[:, :ID_BYTES] for records in by_key.values()]))
    reports = {key: records[:, ID_BYTES:] for key, records in by_key.items()}
    write_sealed(reports, folder, token, plan, sizes)
    return ids, by_key


def write_sealed(
    by_key: Mapping[int, NDArray[np.uint8]], folder: Path, token: str, plan: "PublishedPlan", sizes: EpochSizes
) -> None:
    """Write an epoch's reports (n, report_bytes) as a file for each key, in random order; one that is there stays.

    Raises:
        FileError: the disk refuses.
    """
    fewest = min(sizes.fewest, sum(map(len, by_key.values())))
    said = {_EPOCH_KEY: token, _FEWEST_KEY: fewest, SEALED_KEY: _today()}
    for key, reports in by_key.items():
        target = unsealed.sealed_file(folder, token, key)
        if not target.exists():
            of_key = said | ({KEY_KEY: key} if key else {})
            metadata = {name: str(each).encode("ascii") for name, each in of_key.items()}
            write_reports([shuffled(np.ascontiguousarray(reports))], plan, target, metadata=metadata)
            round_date(target)
    sync_folder(folder)


def _keep_ids(folder: Path, ids: NDArray[np.uint8]) -> Path:
    """Write an epoch's ids (n, 16) among those of others, sorted as bytes are compared, and return the file.

    All are in a file or none, as it is replaced whole: one id tells whether that was done before.
    """
    files = {path: read_ids(path) for path in ids_files(folder)}
    first = ids[:1].copy().view(f"S{ID_BYTES}")[0]
    for path, there in files.items():
        if there[np.minimum(np.searchsorted(there, first), len(there) - 1)] == first:
            return path
    path = min(files, key=lambda each: len(files[each]), default=folder)
    if path == folder or len(files[path]) >= _IDS_A_FILE:
        path = folder / unsealed.IDS_FOLDER / f"{secrets.token_hex(8)}{_IDS_ENDING}"
    earlier = files[path].view(np.uint8).reshape(-1, ID_BYTES) if path in files else ids[:0]
    merged = np.concatenate([earlier, ids])
    halves = merged.view(">u8")
    with atomic_output(path, force=True) as stream:
        stream.write(merged[np.lexsort((halves[:, 1], halves[:, 0]))].tobytes())
    round_date(path)
    sync_folder(path.parent)
    return path


def sealed_counts(folder: Path, unsealed: Collection[str]) -> tuple[Counter[int], int]:
    """Return how many reports in a folder's report files came with each key, and of how many epochs.

    Footers alone are read. Epochs whose token is ``unsealed`` are left out, for they are counted where they are stored.

    Raises:
        WireError: a damaged file.
    """
    counts, tokens = Counter[int](), set[str]()
    for path, rows, metadata in _footers(folder):
        token = path.stem.partition("-")[0]
        if token not in unsealed:
            counts[int(metadata.get(KEY_KEY, b"0"))] += rows
            tokens.add(token)
    return counts, len(tokens)


def remove_epoch(path: Path) -> None:
    """Remove the database of an epoch that is sealed, and what SQLite keeps beside it."""
    for ending in ("", *_BESIDE):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Remove what a crash left: of files that were being written, and beside databases that are removed."""
    for place in (folder, folder / unsealed.IDS_FOLDER, folder / unsealed.OPEN_FOLDER):
        for unfinished in place.glob(".*.part*"):
            unfinished.unlink(missing_ok=True)
    for ending in _BESIDE:
        for beside in (folder / unsealed.OPEN_FOLDER).glob(f"*{unsealed.EPOCH_ENDING}{ending}"):
            if not beside.with_name(beside.name.removesuffix(ending)).exists():
                beside.unlink(missing_ok=True)


# ---- report files


def shuffled(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return rows in uniformly random order, up to two of 64-bit keys that are equal."""
    rows: NDArray[np.uint8] = packed[np.argsort(SystemEntropy().words(len(packed)))]
    return rows


def _today() -> date:
    return datetime.now(UTC).date()


def round_date(path: Path) -> None:
    """Give a file a time of modification that tells the day alone."""
    midnight = datetime.combine(_today(), datetime.min.time(), UTC).timestamp()
    with suppress(OSError):
        os.utime(path, (midnight, midnight))


# ---- removal


def _footers(folder: Path) -> Iterator[tuple[Path, int, dict[bytes, bytes]]]:
    """Yield a folder's report files, each with its number of reports and metadata; footers alone are read.

    Raises:
        WireError: a damaged file.
    """
    for path in sorted(folder.glob("[!.]*.parquet")):
        try:
            footer = pq.read_metadata(path)
        except parquet_errors() as error:
            raise WireError(f"{path} is damaged ({type(error).__name__}); move it out of the collection") from None
        if PLAN_KEY in (footer.metadata or {}):  # else a table of what was found
            yield path, footer.num_rows, footer.metadata


def remove_before(folder: Path, days: int) -> tuple[dict[str, int], int]:
    """Remove the report files that were sealed more than so many days ago, also those that are set aside.

    Returns:
        How many reports of each day were removed, and how many files there are that do not tell their day.

    Raises:
        FileError: no such number of days; or the disk refuses, and the same call again finishes it.
        WireError: a damaged file.
    """
    if type(days) is not int or days < 1:
        raise FileError(f"days must be a whole number from 1 on, got {days!r}")
    last = date.fromordinal(max(1, _today().toordinal() - days)).isoformat()
    undated, found = 0, Counter[str]()
    noted, paths = _read_removed(folder), list[Path]()
    for place in (folder, folder / ASIDE_FOLDER):
        for path, rows, metadata in _footers(place):
            day = metadata.get(SEALED_KEY, b"").decode("ascii", "replace")
            undated += not day
            if "" < day < last:
                found[day] += rows
                paths.append(path)
                noted[path.name] = {"key": int(metadata.get(KEY_KEY, b"0")), "reports": rows, "sealed": day}
    if paths:
        unsealed.write_note(folder / _REMOVED_FILE, _REMOVED_FORMAT, _VERSION, {"files": noted})
        try:
            for path in paths:
                path.unlink()
                sync_folder(path.parent)
        except OSError as error:
            raise FileError(f"cannot remove reports: {error.strerror or error}; the same command finishes it") from None
    return dict(sorted(found.items())), undated


def removed_counts(folder: Path) -> Counter[int]:
    """Return how many reports came with each key that were removed since.

    Raises:
        FileError: the note of them cannot be read.
    """
    counts = Counter[int]()
    for name, file in _read_removed(folder).items():
        if not any((place / name).exists() for place in (folder, folder / ASIDE_FOLDER)):
            counts[file["key"]] += file["reports"]
    return counts


def _read_removed(folder: Path) -> dict[str, Any]:
    path = folder / _REMOVED_FILE
    content = unsealed.read_note(path, _REMOVED_FORMAT, _VERSION, ["files"]) or {"files": {}}
    try:
        files: dict[str, Any] = content["files"]
        if not all(file.keys() == {"key", "reports", "sealed"} for file in files.values()):
            raise TypeError
        if not all(type(file[name]) is int for file in files.values() for name in ("key", "reports")):
            raise TypeError
    except (TypeError, LookupError, AttributeError):
        raise FileError(f"{path} is damaged; without it quotas would begin anew: put a copy back") from None
    return files
