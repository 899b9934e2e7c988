"""The folder of a collection, as an operator finds it.

What it holds can be told at any time. It is sealed, closed, or rid of the reports of one key only while nobody serves
it. Its reports are kept in SQLite, which is in the folder, or in PostgreSQL.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.collect import gateway
from assocpriv.collect.keys import KEYS_FILE
from assocpriv.collect.postgres import PostgresStore, PostgresUrl
from assocpriv.collect.sealing import (
    ASIDE_FOLDER,
    CLOSED_FILE,
    KEY_KEY,
    ids_files,
    is_closed,
    names_key_file,
    remove_before,
    removed_counts,
    sealed_counts,
)
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import (
    HAS_FLOCK,
    LOCK_FILE,
    EpochSizes,
    FolderLock,
    ReportStore,
    TooFewError,
    flock,
    seal_all,
)
from assocpriv.files.arrow import pq
from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.plans import read_plan
from assocpriv.files.unsealed import (
    PLAN_FILE,
    epoch_files,
    read_mark,
    read_note,
    read_open_epochs,
    sealed_file,
    write_note,
)
from assocpriv.promise.errors import FileError

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

SQLITE = "sqlite"
_SIZES_FILE, _SIZES_FORMAT, _VERSION = "epochs.json", "assocpriv-epochs", 1


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """What a folder holds: reports ``sealed`` and ``unsealed``, by number of key, and ``set_aside`` by number of key.

    ``in_database`` is how many reports wait in PostgreSQL and are in none of these: None where that is not known.
    ``fewest`` are sealed together at least, and so many were ``removed``, as they were sealed too long ago.
    Reports come through a ``relay`` ``alone`` where the plan has a central promise; they ``may`` where there is a
    gateway.
    """

    plan_id: str
    sealed: int
    unsealed: int
    by_key: dict[int, int]
    set_aside: dict[int, int]
    in_database: int | None
    fewest: int
    removed: int
    keys: bool
    relay: str | None
    served: bool
    closed: bool

    @property
    def reports(self) -> int:
        """How many reports mine and the rest find in the folder."""
        return self.sealed + self.unsealed


def folder_status(folder: Path) -> CollectionStatus:
    """Return what a folder tells of its collection, which may be served meanwhile.

    Raises:
        FileError: it is no collection's folder.
        WireError: a damaged file.
    """
    _check_folder(folder)
    plan, epochs = read_open_epochs(folder)
    files = set(folder.glob("[!.]*.parquet"))  # after the epochs: what was sealed meanwhile counts once
    unsealed = Counter[int]()
    for epoch in epochs:
        for key, packed in epoch.by_key.items():
            if sealed_file(folder, epoch.token, key) not in files:
                unsealed[key] += len(packed)
    sealed, _ = sealed_counts(folder, ())
    mark = read_mark(folder)
    return CollectionStatus(
        plan_id=plan.plan_id,
        sealed=sealed.total(),
        unsealed=unsealed.total(),
        by_key=dict(sorted((sealed + unsealed).items())),
        set_aside=dict(sorted(sealed_counts(folder / ASIDE_FOLDER, ())[0].items())),
        in_database=0 if mark is None else mark.unsealed,
        fewest=max(epoch_sizes(folder).fewest, plan.least_batch),
        removed=removed_counts(folder).total(),
        keys=(folder / KEYS_FILE).exists(),
        relay="alone" if plan.central else "may" if (folder / gateway.KEYS_FILE).exists() else None,
        served=_is_served(folder),
        closed=is_closed(folder),
    )


def seal_folder(folder: Path, store: str | None = None, *, few: bool = False, close: bool = False) -> int:
    """Seal all that a collection has, and return how many reports that was.

    Then ``close`` lets it take no reports any more, and forgets the ids.

    Raises:
        TooFewError: fewer reports wait than are sealed together, and they are not wanted with ``few``.
        FileError: it is served, or the disk refuses.
    """
    with _opened(folder, store) as opened:
        sealed = _seal(opened, few=few)
        if not close:
            return sealed
        if not is_closed(folder):
            with atomic_output(folder / CLOSED_FILE):
                pass
            sync_folder(folder)
        for path in (*ids_files(folder), names_key_file(folder)):
            path.unlink(missing_ok=True)
    return sealed


def set_aside(folder: Path, key: int, *, restore: bool = False, store: str | None = None) -> int:
    """Move the reports of a key out of the collection, or back, and return how many these are.

    They are sealed first. What breaks off is finished by the same call again: a file is in one of the two places.

    Raises:
        TooFewError: as seal_folder.
        FileError: the collection is served, it has no reports of the key there, or the disk refuses.
    """
    aside = folder / ASIDE_FOLDER
    source, target = (aside, folder) if restore else (folder, aside)
    with _opened(folder, store) as opened:
        if not restore:
            try:
                _seal(opened)
            except TooFewError:
                if opened.counts_by_key().get(key, 0) > sealed_counts(folder, ())[0][key]:
                    raise  # some of the key's wait
        count = sealed_counts(source, ())[0][key]
        if not count:
            raise FileError(
                f"{source} has no reports of key {key}; assocpriv collector status {folder} shows what there is"
            )
        aside.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder)
        for path in _files_of(source, key):
            os.rename(path, target / path.name)
        sync_folder(target)
        sync_folder(source)
    return count


def _files_of(folder: Path, key: int) -> list[Path]:
    """Return the report files in a folder whose metadata say this key."""
    found = [(path, pq.read_metadata(path).metadata or {}) for path in sorted(folder.glob("[!.]*.parquet"))]
    return [path for path, metadata in found if metadata.get(KEY_KEY) == str(key).encode("ascii")]


def remove_sealed(folder: Path, days: int) -> tuple[dict[str, int], int]:
    """Remove what was sealed more than so many days ago; as :func:`assocpriv.collect.sealing.remove_before`.

    Raises:
        FileError: the collection is served, no such number of days, or the disk refuses.
        WireError: a damaged file.
    """
    _check_folder(folder)
    lock = FolderLock.take(folder)
    try:
        return remove_before(folder, days)
    finally:
        lock.release()


def _seal(opened: ReportStore, *, few: bool = False) -> int:
    before = opened.status().sealed
    seal_all(opened, few=few)
    return opened.status().sealed - before


@contextmanager
def _opened(folder: Path, store: str | None) -> Iterator[ReportStore]:
    _check_folder(folder)
    with locked_store(folder, read_plan(folder / PLAN_FILE), store) as opened:
        yield opened


def _check_folder(folder: Path) -> None:
    if not (folder / PLAN_FILE).is_file():
        raise FileError(f"{folder} is no folder of a collector: it has no {PLAN_FILE}, which serve writes")


def _is_served(folder: Path) -> bool:
    """Tell whether a process has the folder's lock."""
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
    """Give the store of a folder that nobody else uses meanwhile; a folder that is missing is made.

    Raises:
        FileError: it is in use; or as :func:`open_store`, and then of what was made nothing is left that is empty.
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


def epoch_sizes(folder: Path) -> EpochSizes:
    """Return how many reports of a folder are sealed together, as it was last served.

    Raises:
        FileError: the note of it cannot be read.
    """
    path = folder / _SIZES_FILE
    try:
        return EpochSizes(**(read_note(path, _SIZES_FORMAT, _VERSION, ["fewest", "most"]) or {}))
    except TypeError:
        raise FileError(f"{path} is damaged: it does not say how many reports are sealed together") from None


def open_store(
    folder: Path, plan: "PublishedPlan", store: str | None = None, *, sizes: EpochSizes | None = None
) -> ReportStore:
    """Open the store of a folder: ``sqlite``, or the URL of a database; by default that which it has.

    So with the sizes of its epochs: those that are given are noted.

    Raises:
        FileError: it has another kind, or cannot be opened.
        PlanError: what is named is no store, or its extra is missing; or a plan whose central promise is not proved.
    """
    plan.check_central()
    opened = _open_store(folder, plan, store, sizes or epoch_sizes(folder))
    if sizes is not None and sizes != epoch_sizes(folder):
        write_note(folder / _SIZES_FILE, _SIZES_FORMAT, _VERSION, asdict(sizes))
    return opened


def _open_store(folder: Path, plan: "PublishedPlan", store: str | None, sizes: EpochSizes) -> ReportStore:
    mark = read_mark(folder)
    if store == SQLITE or (store is None and mark is None):
        if mark is not None:
            raise FileError(f"reports of {folder} are kept in PostgreSQL; name its URL as the store")
        return SqliteStore(folder, plan, sizes)
    url = PostgresUrl(store) if store is not None else PostgresUrl.of_mark(mark.store if mark else "")
    if mark is None and (epoch_files(folder) or ids_files(folder)):
        raise FileError(f"{folder} has reports in SQLite, whose ids PostgreSQL would not know; name a new folder")
    return PostgresStore(folder, plan, url, sizes)
