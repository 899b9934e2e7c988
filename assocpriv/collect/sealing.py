"""Sealing: an epoch that has ended → report files in random order without ids, beside a sorted file of its ids.

Neither time nor order of arrival survives, and nothing links an id to a report: both have random names, rows of one
are in random order, by the operating system's entropy, those of the other sorted, and times of modification are fixed
ones: nothing tells who sent what, or when. No program can set a file's times of change and birth, which ``stat`` shows
where it was written, and which a copy does not have. The database goes last; whatever breaks off before that is done
again from it, into the same names, so a report is in the collection once.
"""

import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect.store import StoreFullError
from assocpriv.files import unsealed
from assocpriv.files.arrow import parquet_errors, pq
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.reports import PLAN_KEY, write_reports
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import WireError

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

ASIDE_FOLDER = "set-aside"  # with the report files of sources that are set aside
KEY_KEY = b"assocpriv.key"  # of a report file's metadata: the number of the key that its reports came with
_EPOCH_KEY = b"assocpriv.epoch"  # its token: files of equal reports differ, so that each can be known by its digest
_IDS_ENDING = ".ids"
CLOSED_FILE = "closed"  # in a folder whose collection has ended
_BESIDE = ("-wal", "-shm")
_NO_DATE = 946_684_800  # 2000-01-01, seconds


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
            database.execute("INSERT INTO epoch VALUES (?, ?)", (secrets.token_hex(8), secrets.token_hex(8)))
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except (sqlite3.Error, OSError) as error:
        raise StoreFullError(f"cannot begin an epoch in {folder}: {error}; is the disk full?") from None
    return path


def ids_files(folder: Path) -> list[Path]:
    """Return the files of ids of sealed epochs."""
    return sorted((folder / unsealed.IDS_FOLDER).glob(f"[!.]*{_IDS_ENDING}"))


def names_key_file(folder: Path) -> Path:
    """Return where a folder keeps the secret by which names of files become submission ids."""
    return folder / unsealed.IDS_FOLDER / "names.key"


def is_closed(folder: Path) -> bool:
    """Tell whether a collection takes no reports any more."""
    return (folder / CLOSED_FILE).exists()


def seal_epoch(path: Path, folder: Path, plan: "PublishedPlan") -> tuple[Path | None, dict[int, int]]:
    """Write what an epoch holds as report files and a file of ids; its database stays.

    Returns:
        The file of ids, None where the epoch holds none, and how many reports came with each key.

    Raises:
        FileError: the disk refuses.
        WireError: the database is damaged.
    """
    with unsealed.open_epoch(path) as database:
        token, ids_token = unsealed.tokens_of(database)
        by_key = unsealed.read_uploads(database, plan)
    if not by_key:
        return None, {}
    ids = folder / unsealed.IDS_FOLDER / f"{ids_token}{_IDS_ENDING}"
    if not ids.exists():
        _write_ids(ids, np.concatenate([records[:, : unsealed.ID_BYTES] for records in by_key.values()]))
    write_sealed({key: records[:, unsealed.ID_BYTES :] for key, records in by_key.items()}, folder, token, plan)
    return ids, {key: len(records) for key, records in by_key.items()}


def write_sealed(by_key: Mapping[int, NDArray[np.uint8]], folder: Path, token: str, plan: "PublishedPlan") -> None:
    """Write an epoch's reports (n, report_bytes) as a file for each key, in random order; one that is there stays.

    Raises:
        FileError: the disk refuses.
    """
    for key, reports in by_key.items():
        target = unsealed.sealed_file(folder, token, key)
        if not target.exists():
            metadata = {_EPOCH_KEY: token.encode("ascii")} | ({KEY_KEY: str(key).encode("ascii")} if key else {})
            write_reports([shuffled(np.ascontiguousarray(reports))], plan, target, metadata=metadata)
            _without_date(target)
    sync_folder(folder)


def _write_ids(path: Path, ids: NDArray[np.uint8]) -> None:
    """Write ids (n, 16), sorted as bytes are compared."""
    halves = np.ascontiguousarray(ids).view(">u8")
    with atomic_output(path) as stream:
        stream.write(ids[np.lexsort((halves[:, 1], halves[:, 0]))].tobytes())
    _without_date(path)
    sync_folder(path.parent)


def sealed_counts(folder: Path, unsealed: Collection[str]) -> tuple[Counter[int], int]:
    """Return how many reports in a folder's report files came with each key, and of how many epochs.

    Footers alone are read. Epochs whose token is ``unsealed`` are left out, for they are counted where they are stored.

    Raises:
        WireError: a damaged file.
    """
    counts, tokens = Counter[int](), set[str]()
    for path in folder.glob("[!.]*.parquet"):
        try:
            footer = pq.read_metadata(path)
        except parquet_errors() as error:
            raise WireError(f"{path} is damaged ({type(error).__name__}); move it out of the collection") from None
        metadata, token = footer.metadata or {}, path.stem.partition("-")[0]
        if PLAN_KEY in metadata and token not in unsealed:  # else a table of what was found
            counts[int(metadata.get(KEY_KEY, b"0"))] += footer.num_rows
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


def _without_date(path: Path) -> None:
    """Give a file a time of modification that tells nothing."""
    with suppress(OSError):
        os.utime(path, (_NO_DATE, _NO_DATE))
