"""One process serves a folder: it holds an exclusive flock on the folder's file ``lock`` while it lives."""

import contextlib
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from assocpriv.core.errors import FileError

LOCK_FILE = "lock"


@dataclass(slots=True)
class FolderLock:
    """A folder that nobody else may serve, seal or change."""

    folder: Path
    _file: int
    _is_new: bool

    @classmethod
    def take(cls, folder: Path) -> "FolderLock":
        """Lock a folder, which is made if it is missing.

        Raises:
            FileError: it is locked, or cannot be.
        """
        if not folder.absolute().parent.is_dir():
            raise FileError(f"the folder {folder.parent} does not exist; make it first")
        is_new = not folder.exists()
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise FileError(f"cannot use the folder {folder}: {error.strerror or error}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.stat(folder / LOCK_FILE)  # who abandons it removes it
        except OSError:
            os.close(file)
            raise FileError(f"{folder} is served by another process; a folder has one collector") from None
        return cls(folder, file, is_new)

    def abandon(self) -> None:
        """Unlock the folder; where it was made here and nothing was put into it, nothing of it is left."""
        if self._is_new and os.listdir(self.folder) == [LOCK_FILE]:
            with contextlib.suppress(OSError):
                os.unlink(self.folder / LOCK_FILE)
                os.rmdir(self.folder)
        self.release()

    def release(self) -> None:
        """Unlock the folder, once."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
