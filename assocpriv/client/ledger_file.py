"""A ledger's bytes: records, what of them a crash left whole, and the file, open for one process alone.

docs/formats/ledger.md says what stands where. Nothing here is of a basket but a randomized report.
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

from assocpriv.core.errors import FileError
from assocpriv.core.privacy import format_bound
from assocpriv.files.ledger_name import LEDGER_NAME

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

HEADER = LEDGER_NAME + struct.pack("<I", 1)  # the format's name and version
MARK = b"\xa7on disk"  # behind a record that is there to stay
MOST_BYTES = 1 << 24  # of a file
_MOST_RECORD = 1 << 18  # the longest report, of a million items without a code, has half as many bytes
_FIXED = struct.Struct("<II32s32sH")  # length, number, plan id, hash of the occasion, length of γ
_CHECKSUM_BYTES = 32
_FRACTION = re.compile(rb"[1-9][0-9]{0,499}/[1-9][0-9]{0,499}")
_UNSTATED = b"none"  # in place of γ, where the plan states none
_POLL_SECONDS = 0.02
_MOST_OPENINGS = 10  # of a name that other files take while its lock is waited for


@dataclass(frozen=True, slots=True)
class Entry:
    """One report that was made: the ``number``-th of the file, on the ``occasion`` whose name has this SHA-256."""

    number: int
    plan_id: str
    occasion: bytes
    amplification: Fraction | None
    report: bytes

    def to_bytes(self) -> bytes:
        """Return the record, without the mark behind it."""
        gamma = _UNSTATED if self.amplification is None else format_bound(self.amplification).encode("ascii")
        length = _FIXED.size + len(gamma) + len(self.report) + _CHECKSUM_BYTES
        fixed = _FIXED.pack(length, self.number, bytes.fromhex(self.plan_id), self.occasion, len(gamma))
        body = fixed + gamma + self.report
        return body + hashlib.sha256(body).digest()


def parse_ledger(content: bytes, source: str = "the ledger") -> tuple[list[Entry], int, bool]:
    """Return what a ledger's bytes hold, how many of them count, and whether no mark is missing behind the last record.

    What does not count was being written when it broke off; 0 bytes count where not even the header is whole.

    Raises:
        FileError: no ledger, one of another version, or a damaged one.
    """
    if len(content) <= len(HEADER) and HEADER.startswith(content.rstrip(b"\0")) and content != HEADER:
        return [], 0, True  # it broke off while it was made
    if not content.startswith(HEADER):
        raise FileError(f"{source} is not a ledger of a version known here; name another file, or a new one")
    entries: list[Entry] = []
    end, marked = len(HEADER), True
    while marked:
        entry, after = _entry_at(content, end, source)
        if entry is None:
            break
        if entry.number != len(entries) + 1:
            raise FileError(_damaged(source, len(entries) + 1))
        entries.append(entry)
        marked = content.startswith(MARK, after)
        end = after + len(MARK) * marked
    rest = content[end:]
    if MARK in rest or len(rest) > _MOST_RECORD + len(MARK):
        raise FileError(_damaged(source, len(entries) + marked))
    return entries, end, marked


def _damaged(source: str, number: int) -> str:
    return (
        f"{source} is damaged at record {number}: what this device has told is no longer known, so it must not tell "
        "more; restore the ledger from a copy that is not older, or stop reporting"
    )


def _entry_at(content: bytes, start: int, source: str) -> tuple[Entry | None, int]:
    """Return the record that begins somewhere and where it ends, or None if there is no whole one."""
    if len(content) - start < _FIXED.size:
        return None, start
    length, number, plan_id, occasion, gamma_bytes = _FIXED.unpack_from(content, start)
    gamma_at = start + _FIXED.size
    report_at, end = gamma_at + gamma_bytes, start + length
    checksum_at = end - _CHECKSUM_BYTES
    if length > _MOST_RECORD or end > len(content) or report_at >= checksum_at:
        return None, start
    if hashlib.sha256(content[start:checksum_at]).digest() != content[checksum_at:end]:
        return None, start
    gamma, text = None, content[gamma_at:report_at]
    if text != _UNSTATED:
        gamma = Fraction(*map(int, text.split(b"/"))) if _FRACTION.fullmatch(text) else Fraction(0)
        if gamma < 1:  # nothing that this module wrote
            raise FileError(_damaged(source, number))
    return Entry(number, plan_id.hex(), occasion, gamma, content[report_at:checksum_at]), end


class LedgerFile:
    """A file opened for one process alone, by flock where there is one, otherwise by a second file beside it."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        self._beside: Path | None = None
        self._file, self._new = -1, False
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
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            self._file, self._new = os.open(real, flags | os.O_EXCL, 0o600), True
        except FileExistsError:
            self._file, self._new = os.open(real, flags, 0o600), False
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise FileError(f"{path} is not a regular file; name a file for the ledger")
        while _HAS_FLOCK:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
