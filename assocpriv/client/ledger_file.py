"""A ledger's file: its bytes, open in one process only (docs/formats/client.md).

It holds no raw data: of a basket only a randomized report. The file consists of a header and records. Each checksum
covers the one before, and the header states the number of records and the last checksum, so a file that was cut short
is distinguished from an older one. After a crash this module finds the records that are complete.
"""

import contextlib
import hashlib
import os
import re
import stat
import struct
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from assocpriv.files.report_files import LEDGER_NAME
from assocpriv.guarantees.amplification import format_amplification
from assocpriv.guarantees.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

_POLL_SECONDS = 0.02
_MOST_OPENINGS = 10  # of a path that is replaced while its lock is awaited
_VERSION = 5
HEADER = LEDGER_NAME + struct.pack("<I", _VERSION)  # two states follow
_STATE = struct.Struct("<I32s32s")  # number of records, checksum of the last one, SHA-256 of HEADER and both
RECORDS_AT = len(HEADER) + 2 * _STATE.size
MOST_BYTES = 1 << 24  # of a file
_MOST_RECORD = 1 << 18  # twice the longest report, of a million items without a generator
_START = struct.Struct("<II")  # of every record: length, number
_REPORT = struct.Struct("<32s32s16sH")  # plan id, hash of the reporting period, the submission's id, length of γ
_OF = struct.Struct("<I")  # number of a report's record
_SCHEDULED = struct.Struct("<IQ")  # the same, and seconds since 1970
_KEY = struct.Struct("<32sQ")  # SHA-256 of a key, and seconds since 1970
_LATEST = (1 << 53) - 1  # seconds
CHECKSUM_BYTES = 32
_FRACTION = re.compile(rb"([1-9][0-9]{0,499})/([1-9][0-9]{0,499})(\+?)")
_UNSTATED = b"none"  # in place of γ, for a plan without γ
_OUTSIDE = b"+"  # after γ, if the plan also sends data that γ does not cover
# the kind of a record: a byte after its number
_HANDED_OUT, _FOR_COLLECTOR, _QUEUED, _SENT, _AT_TIME, _KEY_CHECKED = 1, 2, 3, 4, 5, 6


# ---- the file


class LedgerFile:
    """A file opened by one process only, by flock where it exists, otherwise by a lock file next to it.

    With ``only_read`` the file is neither made nor written, and several readers may open it at the same time.
    """

    def __init__(self, path: Path, wait_seconds: float, *, only_read: bool = False) -> None:
        self._lock_file: Path | None = None
        self._file, self._new, self._only_read = -1, False, only_read
        try:
            self._open_named(path, time.monotonic() + wait_seconds)
        except BaseException as error:
            self.release()
            if isinstance(error, OSError):
                raise FileError(f"cannot open the ledger {path}: {error.strerror or error}") from None
            if isinstance(error, ValueError) and not isinstance(error, FileError):  # a zero byte; the root folder
                raise FileError(f"cannot open the ledger {str(path)!r}: no file can have this name") from None
            raise

    def _open_named(self, path: Path, deadline: float) -> None:
        """Open and lock the file that has the name once it is locked: it may have been replaced while waiting."""
        for _ in range(_MOST_OPENINGS):
            self._open(path, deadline)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file), os.stat(path)):
                    return
            self.release()
        raise FileError(f"{path} is replaced repeatedly; stop the program that moves it, and try again")

    def _open(self, path: Path, deadline: float) -> None:
        real = Path(os.path.realpath(path))  # one lock file, whatever links lead to it
        if not _HAS_FLOCK:
            self._make_lock_file(real.with_name(f"{real.name}.lock"), deadline)
        flags = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        flags |= os.O_RDONLY if self._only_read else os.O_RDWR | os.O_CREAT
        try:
            self._new = not self._only_read
            self._file = os.open(real, flags | os.O_EXCL * self._new, 0o600)
        except FileExistsError:
            self._file, self._new = os.open(real, flags, 0o600), False
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise FileError(f"{path} is not a regular file; name a file for the ledger")
        while _HAS_FLOCK:
            try:
                fcntl.flock(self._file, (fcntl.LOCK_SH if self._only_read else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _wait(deadline, path)

    def _make_lock_file(self, path: Path, deadline: float) -> None:
        while self._lock_file is None:
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                self._lock_file = path
            except FileExistsError:
                _wait(deadline, path)

    def read(self, most: int) -> bytes:
        """Return up to ``most`` bytes from the start of the file."""
        os.lseek(self._file, 0, os.SEEK_SET)
        content = bytearray()
        while len(content) < most and (part := os.read(self._file, most - len(content))):
            content += part
        return bytes(content)

    def write(self, start: int, content: bytes) -> None:
        """Write at a position of the file."""
        os.lseek(self._file, start, os.SEEK_SET)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def resize(self, length: int) -> None:
        """Shorten the file, or extend it by zeros."""
        os.ftruncate(self._file, length)

    def keep_private(self) -> None:
        """Allow only the owner to read and write, if this user can set it: a copy may have other permissions."""
        if hasattr(os, "fchmod") and stat.S_IMODE(os.fstat(self._file).st_mode) & 0o077:
            with contextlib.suppress(OSError):
                os.fchmod(self._file, 0o600)

    def sync(self) -> None:
        """Wait until the file is on disk."""
        os.fsync(self._file)

    def remove_new(self, path: Path) -> None:
        """Remove the file if it was made by opening it here and holds no record; a waiting process makes a new one."""
        status, real = os.fstat(self._file), os.path.realpath(path)
        if self._new and status.st_size <= RECORDS_AT:
            with contextlib.suppress(OSError):  # Windows keeps open files: an empty ledger is harmless
                if os.path.samestat(status, os.stat(real)):  # otherwise it was replaced
                    os.unlink(real)

    def release(self) -> None:
        """Unlock and close the file, once, in the process that opened it."""
        if self._file >= 0:
            if _HAS_FLOCK:
                with contextlib.suppress(OSError):
                    fcntl.flock(self._file, fcntl.LOCK_UN)  # after close alone, forked children would keep the lock
            os.close(self._file)
            self._file = -1
        if self._lock_file is not None:
            self._lock_file.unlink(missing_ok=True)
            self._lock_file = None


def _wait(deadline: float, path: Path) -> None:
    if time.monotonic() >= deadline:
        crashed = "" if _HAS_FLOCK else "; if none is running, delete this file"
        raise FileError(f"{path} is in use by another process; try again when that has ended{crashed}")
    time.sleep(_POLL_SECONDS)


# ---- records


@dataclass(frozen=True, slots=True)
class Entry:
    """A report that was made, with the SHA-256 of its reporting period.

    ``number`` is the record's position in the file. ``submission_id`` has 16 bytes. ``queued`` is set if it was made
    for a collector, which must acknowledge it; ``uncovered`` if it also discloses data that the plan's γ does not
    cover.
    """

    number: int
    plan_id: str
    period: bytes
    amplification: Fraction | None
    report: bytes
    submission_id: bytes
    queued: bool = False
    uncovered: bool = False

    def to_bytes(self, before: bytes) -> bytes:
        """Return the record that follows one with the checksum ``before``."""
        gamma = _UNSTATED
        if self.amplification is not None:
            gamma = format_amplification(self.amplification).encode("ascii") + _OUTSIDE * self.uncovered
        kind = _FOR_COLLECTOR if self.queued else _HANDED_OUT
        fixed = _REPORT.pack(bytes.fromhex(self.plan_id), self.period, self.submission_id, len(gamma))
        return _framed(before, self.number, bytes([kind]) + fixed + gamma + self.report)


@dataclass(frozen=True, slots=True)
class Queued:
    """From now on the report of record ``entry`` is queued for a collector."""

    number: int
    entry: int

    def to_bytes(self, before: bytes) -> bytes:
        """Return the record that follows one with the checksum ``before``."""
        return _framed(before, self.number, bytes([_QUEUED]) + _OF.pack(self.entry))


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A collector has the report of record ``entry``."""

    number: int
    entry: int

    def to_bytes(self, before: bytes) -> bytes:
        """Return the record that follows one with the checksum ``before``."""
        return _framed(before, self.number, bytes([_SENT]) + _OF.pack(self.entry))


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The time to send the report of record ``entry``, in seconds since 1970; the last such record counts."""

    number: int
    entry: int
    send_time: int

    def to_bytes(self, before: bytes) -> bytes:
        """Return the record that follows one with the checksum ``before``."""
        return _framed(before, self.number, bytes([_AT_TIME]) + _SCHEDULED.pack(self.entry, self.send_time))


@dataclass(frozen=True, slots=True)
class KeyChecked:
    """The collector confirmed a key of a relay, named by its SHA-256, at a moment in seconds since 1970."""

    number: int
    digest: str
    moment: int

    def to_bytes(self, before: bytes) -> bytes:
        """Return the record that follows one with the checksum ``before``."""
        return _framed(before, self.number, bytes([_KEY_CHECKED]) + _KEY.pack(bytes.fromhex(self.digest), self.moment))


Record = Entry | Queued | Acknowledged | Scheduled | KeyChecked


def _framed(before: bytes, number: int, body: bytes) -> bytes:
    record = _START.pack(_START.size + len(body) + CHECKSUM_BYTES, number) + body
    return record + hashlib.sha256(before + record).digest()


def header_part(count: int, checksum: bytes) -> tuple[int, bytes]:
    """Return the part of the header to write once ``count`` records are on disk, and its position before it.

    States take turns: one that was written incompletely leaves the other.
    """
    if count == 0:
        return 0, HEADER
    state = _STATE.pack(count, checksum, _own_checksum(count, checksum))
    return len(HEADER) + _STATE.size * (count % 2), state


def _own_checksum(count: int, checksum: bytes) -> bytes:
    return hashlib.sha256(HEADER + struct.pack("<I", count) + checksum).digest()


def parse_ledger(content: bytes, source: str = "the ledger") -> tuple[list[Record], int, bytes]:
    """Return a ledger's records, how many bytes count, and the checksum that the next record covers.

    Bytes that do not count belong to a write that broke off, as does a missing header of a new file.

    Raises:
        FileError: no ledger, one of another version, or one that is damaged or was cut short.
    """
    if len(content) in (0, RECORDS_AT) and HEADER.startswith(content.rstrip(b"\0")):
        return [], RECORDS_AT, HEADER
    if content.startswith(LEDGER_NAME) and len(content) >= len(HEADER) and not content.startswith(HEADER):
        version = int.from_bytes(content[len(LEDGER_NAME) : len(HEADER)], "little")
        raise FileError(
            f"{source} was made by another version of assocpriv: its format is {version}, known here is {_VERSION}. "
            "It is not damaged, and holds the privacy budget that this device has spent: keep it, make no new one, and "
            "use that version"
        )
    if not HEADER.startswith(content[: len(HEADER)]):
        raise FileError(f"{source} is not a ledger; name another file, or a new one")
    if len(content) < RECORDS_AT:
        raise FileError(damaged(source, "was cut short in its header"))
    records: list[Record] = []
    checksums, end = [HEADER], RECORDS_AT
    while (found := _body_at(content, end, checksums[-1])) is not None:
        number, body = found
        record = _record(number, body)
        if record is None or number != len(records) + 1:
            raise FileError(damaged_record(source, len(records) + 1))
        records.append(record)
        end += _START.size + len(body) + CHECKSUM_BYTES
        checksums.append(content[end - CHECKSUM_BYTES : end])
    _check_header(content, checksums, source)
    if len(content) - end > _MOST_RECORD:
        raise FileError(damaged_record(source, len(records) + 1))
    return records, end, checksums[-1]


def _check_header(content: bytes, checksums: list[bytes], source: str) -> None:
    """Compare the header's states with the checksums of the records 1, 2, …; place 0 stands for no record."""
    states = [_STATE.unpack_from(content, place) for place in (len(HEADER), len(HEADER) + _STATE.size)]
    # one that was never written, or incompletely, does not hold
    valid = [(count, checksum) for count, checksum, own in states if _own_checksum(count, checksum) == own]
    stated, found = max((count for count, _ in valid), default=0), len(checksums) - 1
    if stated > found:
        raise FileError(damaged(source, f"was cut short or damaged: it has {found} of its {stated} records"))
    for count, checksum in valid:
        if checksums[count] != checksum:
            raise FileError(damaged_record(source, count))
    if found > stated + 1:  # no record is written before the header states the one before it
        raise FileError(damaged(source, "is damaged in its header"))


def damaged(source: str, what: str) -> str:
    """Return the message for a ledger that does not hold all its records, or holds others."""
    return (
        f"{source} {what}: the privacy budget spent by this device is no longer known, so it must not report; restore "
        "the ledger from a copy that is not older, or stop reporting"
    )


def damaged_record(source: str, number: int) -> str:
    """Return the message for a ledger whose ``number``-th record no device writes."""
    return damaged(source, f"is damaged at record {number}")


def _body_at(content: bytes, start: int, before: bytes) -> tuple[int, bytes] | None:
    """Return the number and the body of the record at a position, or None if there is no complete record."""
    if len(content) - start < _START.size:
        return None
    length, number = _START.unpack_from(content, start)
    body_at, end = start + _START.size, start + length
    checksum_at = end - CHECKSUM_BYTES
    if length > _MOST_RECORD or end > len(content) or checksum_at <= body_at:
        return None
    if hashlib.sha256(before + content[start:checksum_at]).digest() != content[checksum_at:end]:
        return None
    return number, content[body_at:checksum_at]


def _record(number: int, body: bytes) -> Record | None:
    """Return a record, or None for bytes that no device writes."""
    kind, rest = body[0], body[1:]
    if kind in (_HANDED_OUT, _FOR_COLLECTOR):
        return _entry(number, rest, queued=kind == _FOR_COLLECTOR)
    if kind in (_QUEUED, _SENT) and len(rest) == _OF.size:
        return (Queued if kind == _QUEUED else Acknowledged)(number, *_OF.unpack(rest))
    if kind == _AT_TIME and len(rest) == _SCHEDULED.size:
        record = Scheduled(number, *_SCHEDULED.unpack(rest))
        return record if record.send_time <= _LATEST else None
    if kind == _KEY_CHECKED and len(rest) == _KEY.size:
        digest, moment = _KEY.unpack(rest)
        return KeyChecked(number, digest.hex(), moment) if moment <= _LATEST else None
    return None


def _entry(number: int, body: bytes, *, queued: bool) -> Entry | None:
    if len(body) < _REPORT.size:
        return None
    plan_id, period, submission_id, gamma_bytes = _REPORT.unpack_from(body)
    report_at = _REPORT.size + gamma_bytes
    text = body[_REPORT.size : report_at]
    found = _FRACTION.fullmatch(text)
    gamma = Fraction(int(found[1]), int(found[2])) if found else None
    if report_at >= len(body) or (text != _UNSTATED if gamma is None else gamma < 1):
        return None
    uncovered = found is not None and found[3] == _OUTSIDE
    return Entry(number, plan_id.hex(), period, gamma, body[report_at:], submission_id, queued, uncovered)
