"""Reports in a collector's open batches, read from its folder (docs/formats/collector.md).

An open batch is a SQLite database of uploads. A row has a random number, the number of a key, and records; a record is
a submission id and a report. Of a collector behind a relay it is a file of slots, each empty or with a record at a
random place. It is read into memory as a whole, so that two reads of one object return the same reports, whatever
arrives meanwhile; the collector closes a batch before it becomes large.

The folder of a collector that stores in PostgreSQL has a file store.json, so that its readers learn that reports may be
missing. It holds no password.
"""

import json
import os
import re
import secrets
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.files.plan_files import read_plan
from assocpriv.guarantees.errors import FileError, WireError, json_fields
from assocpriv.lazy_exports import LazyModule
from assocpriv.plans.published_plan import ID_BYTES

if TYPE_CHECKING:
    import sqlite3

    from assocpriv.plans.published_plan import PublishedPlan
else:
    sqlite3 = LazyModule("sqlite3")  # only what a collector left open needs it


PLAN_FILE, OPEN_FOLDER, IDS_FOLDER = "plan.json", "open", "ids"
BATCH_ENDING, SLOTS_ENDING = ".sqlite", ".slots"
_BATCH_VERSION = 1  # 0 had one more column, which nothing reads
SCHEMA = (
    f"PRAGMA user_version = {_BATCH_VERSION}",
    "CREATE TABLE batch(token TEXT NOT NULL)",
    "CREATE TABLE uploads("
    "number INTEGER PRIMARY KEY, key INTEGER NOT NULL, records BLOB NOT NULL, crc INTEGER NOT NULL)",
)
_SLOTS = struct.Struct("<15sB8sII")  # of a file of slots: name, version, token, bytes of a record, number of slots
_SLOTS_NAME, _SLOTS_VERSION = b"assocpriv-slots", 1
SLOTS_AT = 4096  # bytes before the first slot
CRC_BYTES = 4  # after the record in a slot
CLOSED_NAME = re.compile(r"[0-9a-f]{16}(-key-\d+)?\.parquet")  # as closed_file makes it
WAIT_SECONDS = 10.0  # for another process that has the database
_STORE_FILE = "store.json"
_FORMAT, _VERSION = "assocpriv-store", 1
_MARK_FIELDS = ("folder_id", "store", "open_reports")


# ---- open batches


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """The reports of an open batch by key, uint8 (n, report_bytes), and the token of its report files."""

    token: str
    by_key: dict[int, NDArray[np.uint8]]


def closed_file(folder: Path, token: str, key: int) -> Path:
    """Return the report file to which the reports of a key are written when their batch is closed."""
    return folder / (f"{token}.parquet" if not key else f"{token}-key-{key}.parquet")


def batch_files(folder: Path) -> list[Path]:
    """Return the databases of open batches, the oldest first.

    Raises:
        FileError: their folder cannot be read, for example by another user than the collector's.
    """
    place = folder / OPEN_FOLDER
    try:
        names = os.listdir(place) if place.is_dir() else []
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"cannot read {place}: {why}; run this as the collector's user") from None
    endings = (BATCH_ENDING, SLOTS_ENDING)
    found = [place / name for name in names if name.endswith(endings) and not name.startswith(".")]
    return sorted(found, key=lambda path: int(path.stem))


def read_batch(path: Path, plan: "PublishedPlan") -> tuple[str, dict[int, NDArray[np.uint8]]]:
    """Return the token of an open batch, and its records by key, uint8 (n, 16 + report_bytes).

    Raises:
        WireError: it is damaged, or no open batch.
        FileError: it cannot be read now, or a later version of assocpriv made it.
    """
    if path.suffix == SLOTS_ENDING:
        token, slots, places = read_slots(path, plan)
        return token, {0: slots[list(places.values()), :-CRC_BYTES]} if places else {}
    with open_database(path) as database:
        return token_of(database, path), read_uploads(database, plan)


def slots_header(token: str, record_bytes: int, slots: int) -> bytes:
    """Return the bytes before the first slot of a file."""
    return _SLOTS.pack(_SLOTS_NAME, _SLOTS_VERSION, bytes.fromhex(token), record_bytes, slots).ljust(SLOTS_AT, b"\0")


def slot_of(record: bytes) -> bytes:
    """Return the bytes of a slot with a record."""
    return record + crc32(record).to_bytes(CRC_BYTES, "little")


def read_slots(path: Path, plan: "PublishedPlan") -> tuple[str, NDArray[np.uint8], dict[bytes, int]]:
    """Return a file's token, its slots, uint8 (slots, 20 + report_bytes), and the place of each id, in order of ids.

    A slot whose write broke off has another checksum: its report was not acknowledged.

    Raises:
        WireError: the file is damaged.
        FileError: it cannot be read, or a later version of assocpriv made it.
    """
    try:
        with path.open("rb") as stream:
            content, opened = stream.read(), os.fstat(stream.fileno())
        if not os.path.samestat(opened, path.stat()):  # a larger file took its place, and this one is overwritten
            return read_slots(path, plan)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    length = plan.record_bytes + CRC_BYTES
    if len(content) < SLOTS_AT or not content.startswith(_SLOTS_NAME):
        raise WireError(f"{path} is damaged: it is no file of slots")
    _, version, token, record_bytes, count = _SLOTS.unpack_from(content)
    if version > _SLOTS_VERSION:
        raise other_version(path, version, _SLOTS_VERSION)
    if record_bytes != plan.record_bytes or len(content) != SLOTS_AT + count * length:
        raise WireError(f"{path} is damaged: it has another length than its header states")
    slots = np.frombuffer(content, np.uint8, offset=SLOTS_AT).reshape(count, length)
    rows = {place: bytes(slots[place]) for place in np.flatnonzero(slots.any(axis=1)).tolist()}
    whole = {row[:ID_BYTES]: place for place, row in rows.items() if slot_of(row[:-CRC_BYTES]) == row}
    return token.hex(), slots, dict(sorted(whole.items()))


@contextmanager
def open_database(path: Path) -> Iterator["sqlite3.Connection"]:
    """Open the database of a batch, read-only.

    Raises:
        WireError: it is damaged, or no such database.
        FileError: it cannot be read now, for example on a full disk, where SQLite cannot register readers.
    """
    try:
        with closing(connect(path)) as database:
            database.execute("PRAGMA query_only = ON")
            yield database
    except (sqlite3.DatabaseError, WireError) as error:
        if may_pass(error):
            raise FileError(f"cannot read {path}: {error}; is the disk full?") from None
        raise WireError(f"{path} is damaged, or another program than a collector uses it: {error}") from None


def may_pass(error: Exception) -> bool:
    """Return whether SQLite reports a temporary problem: a full disk must not be called damage."""
    passing = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
    passing |= {sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY}
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in passing


def connect(path: Path, *, new: bool = False) -> "sqlite3.Connection":
    """Open a database that exists, or with ``new`` make it; Python begins no transactions by itself."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'rwc' if new else 'rw'}",
        uri=True,
        isolation_level=None,
        timeout=WAIT_SECONDS,
        check_same_thread=False,
    )


def read_uploads(database: "sqlite3.Connection", plan: "PublishedPlan") -> dict[int, NDArray[np.uint8]]:
    """Return a batch's records by key, uint8 (n, 16 + report_bytes)."""
    found = dict[int, list[NDArray[np.uint8]]]()
    for _, key, records in read_rows(database, plan):
        found.setdefault(key, []).append(records)
    return {key: np.concatenate(parts) for key, parts in sorted(found.items())}


def read_rows(database: "sqlite3.Connection", plan: "PublishedPlan") -> Iterator[tuple[int, int, NDArray[np.uint8]]]:
    """Yield a batch's rows: number, key and records, uint8 (n, 16 + report_bytes)."""
    length = plan.record_bytes
    for number, key, records, crc in database.execute("SELECT number, key, records, crc FROM uploads"):
        if len(records) % length or crc32(records) != crc:
            raise WireError("a row has another checksum than its records")
        yield number, key, np.frombuffer(records, dtype=np.uint8).reshape(-1, length)


def token_of(database: "sqlite3.Connection", path: Path) -> str:
    """Return the token, which names the report files of a batch.

    Raises:
        FileError: a later version of assocpriv made it.
        WireError: it is damaged.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > _BATCH_VERSION:
        raise other_version(path, version, _BATCH_VERSION)
    row = database.execute("SELECT token FROM batch").fetchone()
    if row is None:
        raise WireError("it has no token")
    return str(row[0])


def other_version(path: Path | str, found: object, known: int) -> FileError:
    """Return the error for an undamaged file of a collection that another version of assocpriv made."""
    return FileError(
        f"{path} was made by another version of assocpriv: its format is {found}, known here is {known}. It is not "
        "damaged; leave it in place, and use that version, or close the batch with it first (collector close)"
    )


def read_open_batches(folder: Path) -> "tuple[PublishedPlan, list[OpenBatch]]":
    """Return a collector's plan and the content of its open batches.

    A batch that is closed at this moment may be missing or included: list the folder's report files afterwards, and
    skip what is in one of them.

    Raises:
        PlanError: the folder's plan cannot be read.
        WireError: a damaged database.
        FileError: a database that cannot be read now.
    """
    plan, found = read_plan(folder / PLAN_FILE), list[OpenBatch]()
    for path in batch_files(folder):
        try:
            token, records = read_batch(path, plan)
        except (WireError, FileError):
            if path.exists():
                raise
            continue  # the batch was closed meanwhile
        reports = {key: np.ascontiguousarray(each[:, ID_BYTES:]) for key, each in records.items()}
        if all(each.token != token for each in found):  # of a batch that is brought into the other form there are two
            found.append(OpenBatch(token, reports))
    return plan, found


def open_reports(
    folder: Path, batches: list[OpenBatch], plan: "PublishedPlan", files: Collection[Path]
) -> NDArray[np.uint8]:
    """Return the reports of open batches that are in none of the folder's report files, uint8 (n, report_bytes)."""
    found = [(batch.token, key, packed) for batch in batches for key, packed in batch.by_key.items()]
    kept = [packed for token, key, packed in found if closed_file(folder, token, key) not in files]
    return np.concatenate(kept) if kept else np.empty((0, plan.report_bytes), dtype=np.uint8)


# ---- notes in a folder


def write_note(path: Path, form: str, version: int, content: Mapping[str, Any]) -> None:
    """Write a JSON file of a collection's folder, readable by its owner only.

    Raises:
        FileError: the disk refuses.
    """
    with atomic_output(path, force=True) as stream:
        os.fchmod(stream.fileno(), 0o600)
        stream.write(json.dumps({"format": form, "version": version, **content}, indent=1).encode("ascii") + b"\n")
    sync_folder(path.parent)


def read_note(path: Path, form: str, version: int, names: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of such a file, which must be ``names``; None where there is no file.

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
        raise FileError(f"{path} is damaged: it has no format {form}")
    if found != version:
        raise other_version(path, found, version)
    if content.keys() != set(names):
        raise FileError(f"{path} is damaged: it must hold exactly {', '.join(sorted(names))}")
    return content


# ---- reports in a database


@dataclass(frozen=True, slots=True)
class StoreMark:
    """The folder's id, the store's address, and its number of reports in open batches: None while it is not known."""

    folder_id: str
    store: str
    open_reports: int | None

    def write(self, folder: Path) -> None:
        """Write the note into a folder.

        Raises:
            FileError: the disk refuses.
        """
        write_note(folder / _STORE_FILE, _FORMAT, _VERSION, asdict(self))


def new_mark() -> StoreMark:
    """Return the note of a folder that has none and no store yet."""
    return StoreMark(secrets.token_hex(8), "", None)


def read_mark(folder: Path) -> StoreMark | None:
    """Return the note of a folder; None where its reports are in no database.

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
        if mark.open_reports is not None and type(mark.open_reports) is not int:
            raise TypeError
    except TypeError:
        raise FileError(f"{path} is damaged: it does not name a store") from None
    return mark
