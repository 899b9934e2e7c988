"""An epoch that has ended → report files in random order without ids, and a file of its ids, sorted.

Neither time nor order of arrival survives, and nothing links an id to a report: both have random names, rows of one
are in random order, those of the other sorted, and times of modification are fixed ones. The database goes
last; whatever breaks off before that is done again from it, into the same names, so a report is in the collection once.
"""

import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.collector.output import shuffled, without_date
from assocpriv.collector.store import StoreFullError
from assocpriv.files.arrow import parquet_errors
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.open_reports import (
    EPOCH_ENDING,
    ID_BYTES,
    IDS_FOLDER,
    OPEN_FOLDER,
    SCHEMA,
    connect,
    open_epoch,
    read_uploads,
    sealed_file,
    tokens_of,
)
from assocpriv.files.reports import PLAN_KEY, write_reports
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import WireError

ASIDE_FOLDER = "set-aside"  # with the report files of sources that are set aside
KEY_KEY = b"assocpriv.key"  # of a report file's metadata: the number of the key that its reports came with
EPOCH_KEY = b"assocpriv.epoch"  # its token: files of equal reports differ, so that each can be known by its digest
_IDS_ENDING = ".ids"
CLOSED_FILE = "closed"  # in a folder whose collection has ended
_BESIDE = ("-wal", "-shm")


def new_epoch(folder: Path, number: int) -> Path:
    """Make the database of an epoch, whole under its name or not there, and return its path.

    Raises:
        StoreFullError: the disk refuses.
    """
    path = folder / OPEN_FOLDER / f"{number}{EPOCH_ENDING}"
    unfinished = path.with_name(f".{path.name}.part")
    try:
        unfinished.unlink(missing_ok=True)
        with closing(connect(unfinished, new=True)) as database:
            database.execute("PRAGMA synchronous = FULL")
            for statement in SCHEMA:
                database.execute(statement)
            database.execute("INSERT INTO epoch VALUES (?, ?)", (secrets.token_hex(8), secrets.token_hex(8)))
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except (sqlite3.Error, OSError) as error:
        raise StoreFullError(f"cannot begin an epoch in {folder}: {error}; is the disk full?") from None
    return path


def ids_files(folder: Path) -> list[Path]:
    """Return the files of ids of sealed epochs."""
    return sorted((folder / IDS_FOLDER).glob(f"[!.]*{_IDS_ENDING}"))


def is_closed(folder: Path) -> bool:
    """Tell whether a collection takes no reports any more."""
    return (folder / CLOSED_FILE).exists()


def seal_epoch(path: Path, folder: Path, plan: PublishedPlan) -> tuple[Path | None, dict[int, int]]:
    """Write what an epoch holds as report files and a file of ids; its database stays.

    Returns:
        The file of ids, None where the epoch holds none, and how many reports came with each key.

    Raises:
        FileError: the disk refuses.
        WireError: the database is damaged.
    """
    with open_epoch(path) as database:
        token, ids_token = tokens_of(database)
        by_key = read_uploads(database, plan)
    if not by_key:
        return None, {}
    ids = folder / IDS_FOLDER / f"{ids_token}{_IDS_ENDING}"
    if not ids.exists():
        _write_ids(ids, np.concatenate([records[:, :ID_BYTES] for records in by_key.values()]))
    write_sealed({key: records[:, ID_BYTES:] for key, records in by_key.items()}, folder, token, plan)
    return ids, {key: len(records) for key, records in by_key.items()}


def write_sealed(by_key: Mapping[int, NDArray[np.uint8]], folder: Path, token: str, plan: PublishedPlan) -> None:
    """Write an epoch's reports (n, report_bytes) as a file for each key, in random order; one that is there stays.

    Raises:
        FileError: the disk refuses.
    """
    for key, reports in by_key.items():
        target = sealed_file(folder, token, key)
        if not target.exists():
            metadata = {EPOCH_KEY: token.encode("ascii")} | ({KEY_KEY: str(key).encode("ascii")} if key else {})
            write_reports([shuffled(np.ascontiguousarray(reports))], plan, target, metadata=metadata)
            without_date(target)
    sync_folder(folder)


def sealed_counts(folder: Path, unsealed: Collection[str]) -> tuple[Counter[int], int]:
    """Return how many reports in a folder's report files came with each key, and of how many epochs.

    Footers alone are read. Epochs whose token is ``unsealed`` are left out, for they are counted where they are stored.

    Raises:
        WireError: a damaged file.
    """
    import pyarrow.parquet as pq

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


def _write_ids(path: Path, ids: NDArray[np.uint8]) -> None:
    """Write ids (n, 16), sorted as bytes are compared."""
    halves = np.ascontiguousarray(ids).view(">u8")
    with atomic_output(path) as stream:
        stream.write(ids[np.lexsort((halves[:, 1], halves[:, 0]))].tobytes())
    without_date(path)
    sync_folder(path.parent)


def remove_epoch(path: Path) -> None:
    """Remove the database of an epoch that is sealed, and what SQLite keeps beside it."""
    for ending in ("", *_BESIDE):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Remove what a crash left: of files that were being written, and beside databases that are removed."""
    for place in (folder, folder / IDS_FOLDER, folder / OPEN_FOLDER):
        for unfinished in place.glob(".*.part*"):
            unfinished.unlink(missing_ok=True)
    for ending in _BESIDE:
        for beside in (folder / OPEN_FOLDER).glob(f"*{EPOCH_ENDING}{ending}"):
            if not beside.with_name(beside.name.removesuffix(ending)).exists():
                beside.unlink(missing_ok=True)
