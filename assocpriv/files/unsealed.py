"""Reports that a collector holds, not yet sealed, as anybody may read them (docs/formats/collector.md).

An open epoch is a SQLite database: rows of uploads under random numbers, each with the number of a key and records
of a submission id and a report. It is read as a whole into memory, so that whoever reads reports twice
reads the same ones, however many come meanwhile; a collector ends an epoch before that is much.

Of reports that are on their way into a folder in a database the folder's file store.json tells: whoever reads it as a
collection learns that reports may be missing. It holds no password.
"""

import json
import os
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.plans import read_plan
from assocpriv.kernels.compiling import Late
from assocpriv.plans.published import ID_BYTES
from assocpriv.promise.errors import FileError, WireError
from assocpriv.promise.json_text import json_fields

if TYPE_CHECKING:
    import sqlite3

    from assocpriv.plans.published import PublishedPlan
else:
    sqlite3 = Late("sqlite3")  # only what a collector left open needs it


PLAN_FILE, OPEN_FOLDER, IDS_FOLDER = "plan.json", "open", "ids"
EPOCH_ENDING = ".sqlite"
_VERSION_OF_EPOCHS = 1  # 0 had a column more, which nothing reads
SCHEMA = (
    f"PRAGMA user_version = {_VERSION_OF_EPOCHS}",
    "CREATE TABLE epoch(token TEXT NOT NULL)",
    "CREATE TABLE uploads("
    "number INTEGER PRIMARY KEY, key INTEGER NOT NULL, records BLOB NOT NULL, crc INTEGER NOT NULL)",
)
SEALED_NAME = re.compile(r"[0-9a-f]{16}(-key-\d+)?\.parquet")  # as sealed_file makes it
WAIT_SECONDS = 10.0  # for another process that has the database
_STORE_FILE = "store.json"
_FORMAT, _VERSION = "assocpriv-store", 1
_MARK_FIELDS = ("folder_id", "store", "unsealed")


# ---- open epochs


@dataclass(frozen=True, slots=True)
class OpenEpoch:
    """What an epoch that is not sealed holds: its reports by key, uint8 (n, report_bytes), and the file it will be."""

    token: str
    by_key: dict[int, NDArray[np.uint8]]


def sealed_file(folder: Path, token: str, key: int) -> Path:
    """Return the report file that an epoch's reports of a key become."""
    return folder / (f"{token}.parquet" if not key else f"{token}-key-{key}.parquet")


def epoch_files(folder: Path) -> list[Path]:
    """Return the databases of epochs that are not sealed, the oldest first.

    Raises:
        FileError: the folder with them cannot be read, as by another user than the collector's.
    """
    place = folder / OPEN_FOLDER
    try:
        names = os.listdir(place) if place.is_dir() else []
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"cannot read {place}: {why}; read the collection as the user whose it is") from None
    found = [place / name for name in names if name.endswith(EPOCH_ENDING) and not name.startswith(".")]
    return sorted(found, key=lambda path: int(path.stem))


@contextmanager
def open_epoch(path: Path, *, write: bool = False) -> Iterator["sqlite3.Connection"]:
    """Open an epoch's database, for reading alone by default.

    Raises:
        WireError: it is damaged, or no such database.
        FileError: it cannot be read now, as on a full disk, where SQLite can keep no account of who reads.
    """
    try:
        with closing(connect(path)) as database:
            if not write:
                database.execute("PRAGMA query_only = ON")
            yield database
    except (sqlite3.DatabaseError, WireError) as error:
        if may_pass(error):
            raise FileError(f"cannot read {path}: {error}; is the disk full?") from None
        raise WireError(f"{path} is damaged or in use by something else than a collector: {error}") from None


def may_pass(error: Exception) -> bool:
    """Tell whether SQLite complains of what may go away: nobody is to take a full disk for damage."""
    passing = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
    passing |= {sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY}
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in passing


def connect(path: Path, *, new: bool = False) -> "sqlite3.Connection":
    """Open a database that exists, or make it, without transactions that Python begins by itself."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'rwc' if new else 'rw'}",
        uri=True,
        isolation_level=None,
        timeout=WAIT_SECONDS,
        check_same_thread=False,
    )


def read_uploads(database: "sqlite3.Connection", plan: "PublishedPlan") -> dict[int, NDArray[np.uint8]]:
    """Return an epoch's records by key, uint8 (n, 16 + report_bytes)."""
    found = dict[int, list[NDArray[np.uint8]]]()
    for _, key, records in read_rows(database, plan):
        found.setdefault(key, []).append(records)
    return {key: np.concatenate(parts) for key, parts in sorted(found.items())}


def read_rows(database: "sqlite3.Connection", plan: "PublishedPlan") -> Iterator[tuple[int, int, NDArray[np.uint8]]]:
    """Yield an epoch's rows: number, key and records, uint8 (n, 16 + report_bytes)."""
    length = plan.record_bytes
    for number, key, records, crc in database.execute("SELECT number, key, records, crc FROM uploads"):
        if len(records) % length or crc32(records) != crc:
            raise WireError("a row is not what was written")
        yield number, key, np.frombuffer(records, dtype=np.uint8).reshape(-1, length)


def token_of(database: "sqlite3.Connection", path: Path) -> str:
    """Return the name that an epoch's report files will have.

    Raises:
        FileError: a later version of assocpriv made it.
        WireError: it is damaged.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > _VERSION_OF_EPOCHS:
        raise other_version(path, version, _VERSION_OF_EPOCHS)
    row = database.execute("SELECT token FROM epoch").fetchone()
    if row is None:
        raise WireError("it does not say what it will be named")
    return str(row[0])


def other_version(path: Path | str, found: object, known: int) -> FileError:
    """Return the error of a file of a collection that another version of assocpriv made, and which is whole."""
    return FileError(
        f"{path} was made by another version of assocpriv: its format is {found}, known here is {known}. It is whole, "
        "leave it where it is; use that version, or seal the collection with it first (collector seal)"
    )


def read_open_epochs(folder: Path) -> "tuple[PublishedPlan, list[OpenEpoch]]":
    """Return a collector's plan and what its epochs hold that are not sealed.

    One that is sealed at this moment may be missing or be here: list the folder's report files afterwards, and leave
    out what is in one of them.

    Raises:
        PlanError: the folder's plan cannot be read.
        WireError: a damaged database.
        FileError: one that cannot be read now.
    """
    plan, found = read_plan(folder / PLAN_FILE), []
    for path in epoch_files(folder):
        try:
            with open_epoch(path) as database:
                token = token_of(database, path)
                records = read_uploads(database, plan)
        except (WireError, FileError):
            if path.exists():
                raise
            continue  # sealed meanwhile
        reports = {key: np.ascontiguousarray(each[:, ID_BYTES:]) for key, each in records.items()}
        found.append(OpenEpoch(token, reports))
    return plan, found


def unsealed_reports(
    folder: Path, epochs: list[OpenEpoch], plan: "PublishedPlan", files: Collection[Path]
) -> NDArray[np.uint8]:
    """Return reports of epochs that are in none of the folder's report files, uint8 (n, report_bytes).

    Where people hide among each other nothing is read of a batch before it is sealed whole.
    """
    readable = () if plan.least_batch > 1 else epochs
    kept = [
        packed
        for epoch in readable
        for key, packed in epoch.by_key.items()
        if sealed_file(folder, epoch.token, key) not in files
    ]
    return np.concatenate(kept) if kept else np.empty((0, plan.report_bytes), dtype=np.uint8)


# ---- what a folder notes


def write_note(path: Path, form: str, version: int, content: Mapping[str, Any]) -> None:
    """Write a JSON file of a collection's folder, for its owner alone.

    Raises:
        FileError: the disk refuses.
    """
    with atomic_output(path, force=True) as stream:
        os.fchmod(stream.fileno(), 0o600)
        stream.write(json.dumps({"format": form, "version": version, **content}, indent=1).encode("ascii") + b"\n")
    sync_folder(path.parent)


def read_note(path: Path, form: str, version: int, names: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of these names that such a file has; None where there is none.

    Raises:
        FileError: it cannot be read, is damaged or of another version.
    """
    try:
        content: dict[str, Any] = json_fields(path.read_bytes())
        named, found = content.pop("format"), content.pop("version")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        named = found = None
    if named != form:
        raise FileError(f"{path} is damaged: it is no {form}")
    if found != version:
        raise other_version(path, found, version)
    if content.keys() != set(names):
        raise FileError(f"{path} is damaged: it must hold exactly {', '.join(sorted(names))}")
    return content


# ---- reports in a database


@dataclass(frozen=True, slots=True)
class StoreMark:
    """The folder's own id, where its store is, and how many reports of it are not sealed: None while that changes."""

    folder_id: str
    store: str
    unsealed: int | None

    def write(self, folder: Path) -> None:
        """Write it into a folder.

        Raises:
            FileError: the disk refuses.
        """
        write_note(folder / _STORE_FILE, _FORMAT, _VERSION, asdict(self))


def new_mark() -> StoreMark:
    """Return the mark of a folder that has none, of no store yet."""
    return StoreMark(secrets.token_hex(8), "", None)


def read_mark(folder: Path) -> StoreMark | None:
    """Return what a folder says; None where its reports are in no database.

    Raises:
        FileError: it cannot be read.
    """
    path = folder / _STORE_FILE
    if (content := read_note(path, _FORMAT, _VERSION, _MARK_FIELDS)) is None:
        return None
    try:
        mark = StoreMark(**content)
        if not isinstance(mark.folder_id, str) or not isinstance(mark.store, str):
            raise TypeError
        if mark.unsealed is not None and type(mark.unsealed) is not int:
            raise TypeError
    except TypeError:
        raise FileError(f"{path} is damaged: it does not say where a store is") from None
    return mark
