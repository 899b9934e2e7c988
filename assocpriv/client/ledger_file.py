"""A ledger's file: its bytes, open for one process alone.

docs/formats/client.md says what stands where.

Nothing here is of a basket but a randomized report.

The file is made of records; what of them a crash left whole is found here.
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

from assocpriv.files.reports import LEDGER_NAME
from assocpriv.promise.breaches import format_bound
from assocpriv.promise.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

_POLL_SECONDS = 0.02
_MOST_OPENINGS = 10  # of a name that other files take while its lock is waited for
_VERSION = 3
HEADER = LEDGER_NAME + struct.pack("<I", _VERSION)
MARK = b"\xa7on disk"  # behind a record that is there to stay
MOST_BYTES = 1 << 24  # of a file
_MOST_RECORD = 1 << 18  # the longest report, of a million items without a code, has half as many bytes
_START = struct.Struct("<II")  # of every record: length, number
_REPORT = struct.Struct("<32s32s16sH")  # plan id, hash of the occasion, the submission's id, length of γ
_OF = struct.Struct("<I")  # number of a report's record
_MOMENT = struct.Struct("<IQ")  # the same, and seconds since 1970
_LATEST = (1 << 53) - 1  # of these
_CHECKSUM_BYTES = 32
_FRACTION = re.compile(rb"([1-9][0-9]{0,499})/([1-9][0-9]{0,499})(\+?)")
_UNSTATED = b"none"  # in place of γ, where the plan states none
_OUTSIDE = b"+"  # behind it, where the plan also sends what γ does not cover
# what a record is of: a byte behind its number
_HANDED_OUT, _FOR_COLLECTOR, _WAITS, _SENT, _LATER = 1, 2, 3, 4, 5


# ---- the file


class LedgerFile:
    """A file opened for one process alone, by flock where there is one, otherwise by a second file beside it.

    With ``only_read`` it is neither made nor written, and others that only read may have it at the same time.
    """

    def __init__(self, path: Path, wait_seconds: float, *, only_read: bool = False) -> None:
        self._beside: Path | None = None
        self._file, self._new, self._only_read = -1, False, only_read
        try:
            self._open_named(path, time.monotonic() + wait_seconds)
        except BaseException as error:
            self.release()
            if isinstance(error, OSError):
                raise FileError(f"cannot open the ledger {path}: {error.strerror or error}") from None
            if isinstance(error, ValueError) and not isinstance(error, FileError):  # a zero byte, the root
                raise FileError(f"cannot open the ledger {str(path)!r}: no file can have this name") from None
            raise

    def _open_named(self, path: Path, deadline: float) -> None:
        """Open and lock what has a name once it is locked: whoever waited may hold what was moved away meanwhile."""
        for _ in range(_MOST_OPENINGS):
            self._open(path, deadline)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file), os.stat(path)):
                    return
            self.release()
        raise FileError(f"{path} is replaced again and again; stop what moves it, and try again")

    def _open(self, path: Path, deadline: float) -> None:
        real = Path(os.path.realpath(path))  # the lock beside it is one, whatever links lead there
        if not _HAS_FLOCK:
            self._take(real.with_name(f"{real.name}.lock"), deadline)
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

    def _take(self, beside: Path, deadline: float) -> None:
        while self._beside is None:
            try:
                os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                self._beside = beside
            except FileExistsError:
                _wait(deadline, beside)

    def read(self, most: int) -> bytes:
        """Return the file's first bytes."""
        os.lseek(self._file, 0, os.SEEK_SET)
        content = bytearray()
        while len(content) < most and (part := os.read(self._file, most - len(content))):
            content += part
        return bytes(content)

    def write(self, start: int, content: bytes) -> None:
        """Write at a place of the file."""
        os.lseek(self._file, start, os.SEEK_SET)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def cut(self, length: int) -> None:
        """Shorten the file."""
        os.ftruncate(self._file, length)

    def keep_private(self) -> None:
        """Let its owner alone read and write it, where this user may say so: a copy may have other permissions."""
        if hasattr(os, "fchmod") and stat.S_IMODE(os.fstat(self._file).st_mode) & 0o077:
            with contextlib.suppress(OSError):
                os.fchmod(self._file, 0o600)

    def sync(self) -> None:
        """Wait until the file is on disk."""
        os.fsync(self._file)

    def remove_new(self, path: Path) -> None:
        """Remove the file if it was made by opening it here and holds no record; who waits for it makes another."""
        status, real = os.fstat(self._file), os.path.realpath(path)
        if self._new and status.st_size <= len(HEADER):
            with contextlib.suppress(OSError):  # Windows keeps open files: an empty ledger is harmless
                if os.path.samestat(status, os.stat(real)):  # else another was put in its place
                    os.unlink(real)

    def release(self) -> None:
        """Unlock and close the file, once; only the process that opened it may."""
        if self._file >= 0:
            if _HAS_FLOCK:
                with contextlib.suppress(OSError):
                    fcntl.flock(self._file, fcntl.LOCK_UN)  # closing alone leaves it to forked children
            os.close(self._file)
            self._file = -1
        if self._beside is not None:
            self._beside.unlink(missing_ok=True)
            self._beside = None


def _wait(deadline: float, path: Path) -> None:
    if time.monotonic() >= deadline:
        crashed = "" if _HAS_FLOCK else "; if none is running, delete this file"
        raise FileError(f"{path} is in use by another process; try again when that has ended{crashed}")
    time.sleep(_POLL_SECONDS)


# ---- records


@dataclass(frozen=True, slots=True)
class Entry:
    """One report that was made, on the ``occasion`` whose name has this SHA-256.

    ``number`` is the record's place in the file. ``submission_id`` is 16 bytes. ``waits`` says that it was made for a
    collector, which is to acknowledge it; ``outside``, that it also tells what lies outside a γ that is stated.
    """

    number: int
    plan_id: str
    occasion: bytes
    amplification: Fraction | None
    report: bytes
    submission_id: bytes
    waits: bool = False
    outside: bool = False

    def to_bytes(self) -> bytes:
        """Return the record, without the mark behind it."""
        gamma = _UNSTATED
        if self.amplification is not None:
            gamma = format_bound(self.amplification).encode("ascii") + _OUTSIDE * self.outside
        kind = _FOR_COLLECTOR if self.waits else _HANDED_OUT
        fixed = _REPORT.pack(bytes.fromhex(self.plan_id), self.occasion, self.submission_id, len(gamma))
        return _framed(self.number, bytes([kind]) + fixed + gamma + self.report)


@dataclass(frozen=True, slots=True)
class Waiting:
    """From here on the report of the ``entry``-th record waits for a collector."""

    number: int
    entry: int

    def to_bytes(self) -> bytes:
        """Return the record, without the mark behind it."""
        return _framed(self.number, bytes([_WAITS]) + _OF.pack(self.entry))


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A collector has the report of the ``entry``-th record."""

    number: int
    entry: int

    def to_bytes(self) -> bytes:
        """Return the record, without the mark behind it."""
        return _framed(self.number, bytes([_SENT]) + _OF.pack(self.entry))


@dataclass(frozen=True, slots=True)
class Moment:
    """The report of the ``entry``-th record is to be sent at a ``moment``, in seconds since 1970; the last holds."""

    number: int
    entry: int
    moment: int

    def to_bytes(self) -> bytes:
        """Return the record, without the mark behind it."""
        return _framed(self.number, bytes([_LATER]) + _MOMENT.pack(self.entry, self.moment))


Record = Entry | Waiting | Acknowledged | Moment


def _framed(number: int, body: bytes) -> bytes:
    record = _START.pack(_START.size + len(body) + _CHECKSUM_BYTES, number) + body
    return record + hashlib.sha256(HEADER + record).digest()


def parse_ledger(content: bytes, source: str = "the ledger") -> tuple[list[Record], int, bool]:
    """Return what a ledger's bytes hold, how many of them count, and whether no mark is missing behind the last record.

    What does not count was being written when it broke off; 0 bytes count where not even the header is whole.

    Raises:
        FileError: no ledger, one of another version, or a damaged one.
    """
    if len(content) <= len(HEADER) and content != HEADER and HEADER.startswith(content.rstrip(b"\0")):
        return [], 0, True  # it broke off while it was made
    if not content.startswith(HEADER):
        if len(content) < len(HEADER) or not content.startswith(LEDGER_NAME):
            raise FileError(f"{source} is not a ledger; name another file, or a new one")
        version = int.from_bytes(content[len(LEDGER_NAME) : len(HEADER)], "little")
        raise FileError(
            f"{source} was made by another version of assocpriv: its format is {version}, known here is {_VERSION}. "
            "It is whole, and holds what this device has told: keep it, begin no new one, and use that version"
        )
    records: list[Record] = []
    end, marked = len(HEADER), True
    while marked:
        body, after = _body_at(content, end)
        if body is None:
            break
        number = _START.unpack_from(content, end)[1]
        record = _record(number, body)
        if record is None or number != len(records) + 1:
            raise FileError(damaged(source, len(records) + 1))
        records.append(record)
        marked = content.startswith(MARK, after)
        end = after + len(MARK) * marked
    rest = content[end:]
    if MARK in rest or len(rest) > _MOST_RECORD + len(MARK):
        raise FileError(damaged(source, len(records) + marked))
    return records, end, marked


def damaged(source: str, number: int) -> str:
    """Return what is said of a ledger whose ``number``-th record is not what any device writes."""
    return (
        f"{source} is damaged at record {number}: what this device has told is no longer known, so it must not tell "
        "more; restore the ledger from a copy that is not older, or stop reporting"
    )


def _body_at(content: bytes, start: int) -> tuple[bytes | None, int]:
    """Return the body of the record that begins somewhere and where it ends, or None if there is no whole one."""
    if len(content) - start < _START.size:
        return None, start
    length = _START.unpack_from(content, start)[0]
    body_at, end = start + _START.size, start + length
    checksum_at = end - _CHECKSUM_BYTES
    if length > _MOST_RECORD or end > len(content) or checksum_at <= body_at:
        return None, start
    if hashlib.sha256(HEADER + content[start:checksum_at]).digest() != content[checksum_at:end]:
        return None, start
    return content[body_at:checksum_at], end


def _record(number: int, body: bytes) -> Record | None:
    """Return a record, or None for what nobody writes."""
    kind, rest = body[0], body[1:]
    if kind in (_HANDED_OUT, _FOR_COLLECTOR):
        return _entry(number, rest, waits=kind == _FOR_COLLECTOR)
    if kind in (_WAITS, _SENT) and len(rest) == _OF.size:
        return (Waiting if kind == _WAITS else Acknowledged)(number, *_OF.unpack(rest))
    if kind == _LATER and len(rest) == _MOMENT.size:
        record = Moment(number, *_MOMENT.unpack(rest))
        return record if record.moment <= _LATEST else None
    return None


def _entry(number: int, body: bytes, *, waits: bool) -> Entry | None:
    if len(body) < _REPORT.size:
        return None
    plan_id, occasion, submission_id, gamma_bytes = _REPORT.unpack_from(body)
    report_at = _REPORT.size + gamma_bytes
    text = body[_REPORT.size : report_at]
    found = _FRACTION.fullmatch(text)
    gamma = Fraction(int(found[1]), int(found[2])) if found else None
    if report_at >= len(body) or (text != _UNSTATED if gamma is None else gamma < 1):
        return None
    outside = found is not None and found[3] == _OUTSIDE
    return Entry(number, plan_id.hex(), occasion, gamma, body[report_at:], submission_id, waits, outside)
