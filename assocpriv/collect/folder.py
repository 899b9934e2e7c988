"""The folder of a collection, as its operator sees it.

Its status can be read at any time. Its batches can be closed, the collection ended, or the reports of one key set aside
only while it is not served. Reports in open batches are kept in SQLite, in the folder, or in PostgreSQL.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.collect import batch_closing
from assocpriv.collect.keys import GATEWAY_FILE, KEYS_FILE
from assocpriv.collect.postgres import PostgresStore, PostgresUrl
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import (
    HAS_FLOCK,
    LOCK_FILE,
    BatchSizes,
    BatchTooSmallError,
    FolderLock,
    ReportStore,
    close_all_batches,
    flock,
)
from assocpriv.files import open_batches
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.plan_files import read_plan
from assocpriv.guarantees.errors import FileError

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

SQLITE = "sqlite"
_SIZES_FILE, _SIZES_FORMAT, _VERSION = "batches.json", "assocpriv-batches", 1


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """What a collection's folder holds.

    Attributes:
        plan_id: 64 hexadecimal digits.
        closed, open: reports in closed and in open batches.
        by_key: both together, by the number of their key, 0 without one.
        set_aside: reports that are set aside, by the number of their key.
        in_database: reports in PostgreSQL that are in none of these; None while it is not known.
        minimum_batch_size: smallest number of reports of a batch that is closed on request.
        removed: reports removed by age.
        keys: whether senders need a key.
        relay: ``only`` where the plan has a central guarantee, ``also`` where the folder has a gateway's keys, else
            None.
        served: whether a process serves the folder.
        ended: whether the collection has ended.
    """

    plan_id: str
    closed: int
    open: int
    by_key: dict[int, int]
    set_aside: dict[int, int]
    in_database: int | None
    minimum_batch_size: int
    removed: int
    keys: bool
    relay: str | None
    served: bool
    ended: bool

    @property
    def reports(self) -> int:
        """Number of reports that mining finds in the folder."""
        return self.closed + self.open


def folder_status(folder: Path) -> CollectionStatus:
    """Return the status of a collection's folder, which may be served meanwhile.

    Raises:
        FileError: it is no collector's folder.
        WireError: a damaged file.
    """
    _check_folder(folder)
    plan, batches = open_batches.read_open_batches(folder)
    files = set(folder.glob("[!.]*.parquet"))  # listed after the batches: one closed meanwhile counts once
    still_open = Counter[int]()
    for batch in batches:
        for key, packed in batch.by_key.items():
            if open_batches.closed_file(folder, batch.token, key) not in files:
                still_open[key] += len(packed)
    closed, _ = batch_closing.closed_counts(folder, ())
    mark = open_batches.read_mark(folder)
    return CollectionStatus(
        plan_id=plan.plan_id,
        closed=closed.total(),
        open=still_open.total(),
        by_key=dict(sorted((closed + still_open).items())),
        set_aside=dict(sorted(batch_closing.closed_counts(folder / batch_closing.ASIDE_FOLDER, ())[0].items())),
        in_database=0 if mark is None else mark.open_reports,
        minimum_batch_size=max(batch_sizes(folder).minimum, plan.minimum_batch_size),
        removed=batch_closing.removed_counts(folder).total(),
        keys=(folder / KEYS_FILE).exists(),
        relay="only" if plan.central else "also" if (folder / GATEWAY_FILE).exists() else None,
        served=_is_served(folder),
        ended=batch_closing.is_ended(folder),
    )


def close_folder(folder: Path, store: str | None = None, *, allow_small: bool = False, end: bool = False) -> int:
    """Close all batches of a collection; return the number of reports that were open.

    With ``end`` the collection then accepts no more reports, and its ids are deleted.

    Raises:
        BatchTooSmallError: a batch is below the minimum size, and ``allow_small`` is not set.
        FileError: it is served, or the disk refuses.
    """
    with _opened(folder, store) as opened:
        closed = _close_all(opened, allow_small=allow_small)
        if not end:
            return closed
        if not batch_closing.is_ended(folder):
            with atomic_output(folder / batch_closing.ENDED_FILE):
                pass
            sync_folder(folder)
        for path in (*batch_closing.ids_files(folder), batch_closing.names_key_file(folder)):
            path.unlink(missing_ok=True)
    return closed


def set_aside(folder: Path, key: int, *, restore: bool = False, store: str | None = None) -> int:
    """Move the reports of a key out of the collection, or back, and return their number.

    Open batches are closed first. The same call finishes an interrupted one: each file is in one of the two places.

    Raises:
        BatchTooSmallError: as close_folder.
        FileError: the collection is served, it has no reports of the key there, or the disk refuses.
    """
    aside = folder / batch_closing.ASIDE_FOLDER
    source, target = (aside, folder) if restore else (folder, aside)
    with _opened(folder, store) as opened:
        if not restore:
            try:
                _close_all(opened)
            except BatchTooSmallError:
                if opened.counts_by_key().get(key, 0) > batch_closing.closed_counts(folder, ())[0][key]:
                    raise  # some reports of the key are in the open batch
        count = batch_closing.closed_counts(source, ())[0][key]
        if not count:
            raise FileError(f"{source} has no reports of key {key}; assocpriv collector status {folder} lists the keys")
        aside.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder)
        for path in _files_of(source, key):
            os.rename(path, target / path.name)
        sync_folder(target)
        sync_folder(source)
    return count


def _files_of(folder: Path, key: int) -> list[Path]:
    """Return the report files of a key in a folder."""
    number = str(key).encode("ascii")
    return [path for path, _, found in batch_closing.footers(folder) if found.get(batch_closing.KEY_KEY) == number]


def remove_reports(folder: Path, days: int) -> tuple[dict[str, int], int]:
    """Remove reports by age; as :func:`assocpriv.collect.batch_closing.remove_before`.

    Raises:
        FileError: the collection is served, ``days`` is out of range, or the disk refuses.
        WireError: a damaged file.
    """
    _check_folder(folder)
    lock = FolderLock.take(folder)
    try:
        return batch_closing.remove_before(folder, days)
    finally:
        lock.release()


def _close_all(opened: ReportStore, *, allow_small: bool = False) -> int:
    before = opened.status().closed
    close_all_batches(opened, allow_small=allow_small)
    return opened.status().closed - before


@contextmanager
def _opened(folder: Path, store: str | None) -> Iterator[ReportStore]:
    _check_folder(folder)
    with locked_store(folder, read_plan(folder / open_batches.PLAN_FILE), store) as opened:
        yield opened


def _check_folder(folder: Path) -> None:
    if not (folder / open_batches.PLAN_FILE).is_file():
        raise FileError(
            f"{folder} is no collector's folder: it has no {open_batches.PLAN_FILE}, which assocpriv serve writes"
        )


def _is_served(folder: Path) -> bool:
    """Return whether a process holds the folder's lock."""
    if not HAS_FLOCK:
        return False
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDONLY)
    except OSError:
        return False
    try:
        flock(file, shared=True)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


# ---- the store of a folder


@contextmanager
def locked_store(folder: Path, plan: "PublishedPlan", store: str | None = None) -> Iterator[ReportStore]:
    """Yield the store of a folder under its lock; a missing folder is made.

    Raises:
        FileError: it is in use; or as :func:`open_store`, and then empty files and folders that were made are removed.
        PlanError: as :func:`open_store`.
    """
    lock = FolderLock.take(folder)
    try:
        opened = open_store(folder, plan, store)
    except BaseException:
        lock.abandon()
        raise
    try:
        yield opened
    finally:
        opened.close()
        lock.release()


def batch_sizes(folder: Path) -> BatchSizes:
    """Return the batch sizes of a folder, as it was last served.

    Raises:
        FileError: the file with them cannot be read.
    """
    path = folder / _SIZES_FILE
    try:
        return BatchSizes(**(open_batches.read_note(path, _SIZES_FORMAT, _VERSION, ["minimum", "maximum"]) or {}))
    except TypeError:
        raise FileError(f"{path} is damaged: it does not hold batch sizes") from None


def open_store(
    folder: Path,
    plan: "PublishedPlan",
    store: str | None = None,
    *,
    sizes: BatchSizes | None = None,
    oblivious: bool | None = None,
) -> ReportStore:
    """Open the store of a folder: ``sqlite``, or the URL of a database; by default that of the folder.

    The batch sizes are those of the folder, too; given ``sizes`` are written there. With ``oblivious`` files show no
    order of arrival; by default as the folder's did.

    Raises:
        FileError: the folder has another store, or it cannot be opened.
        PlanError: no such store, or its extra is missing; or a plan whose central guarantee is not proved.
    """
    plan.check_central()
    opened = _open_store(folder, plan, store, sizes or batch_sizes(folder), oblivious=oblivious)
    if sizes is not None and sizes != batch_sizes(folder):
        open_batches.write_note(folder / _SIZES_FILE, _SIZES_FORMAT, _VERSION, asdict(sizes))
    return opened


def _open_store(
    folder: Path, plan: "PublishedPlan", store: str | None, sizes: BatchSizes, *, oblivious: bool | None
) -> ReportStore:
    mark = open_batches.read_mark(folder)
    if store == SQLITE or (store is None and mark is None):
        if mark is not None:
            raise FileError(f"reports of {folder} are kept in PostgreSQL; give its URL as the store")
        return SqliteStore(folder, plan, sizes, oblivious=oblivious)
    url = PostgresUrl(store) if store is not None else PostgresUrl(mark.store if mark else "", from_mark=True)
    if mark is None and (open_batches.batch_files(folder) or batch_closing.ids_files(folder)):
        raise FileError(f"{folder} has reports in SQLite, whose ids PostgreSQL does not have; name a new folder")
    return PostgresStore(folder, plan, url, sizes)
