"""A ledger's file, open for one process alone.

Nothing here is of a basket but a randomized report.
"""

import contextlib
import os
import stat
import time
from pathlib import Path

from assocpriv.client.ledger_records import HEADER
from assocpriv.promise.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

_POLL_SECONDS = 0.02
_MOST_OPENINGS = 10  # of a name that other files take while its lock is waited for


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
