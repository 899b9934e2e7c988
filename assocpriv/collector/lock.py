"""One process serves a folder: it holds an exclusive flock on the folder's file ``lock`` while it lives."""

import contextlib
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from assocpriv.promise.errors import FileError

LOCK_FILE = "lock"


@dataclass(slots=True)
class FolderLock:
    """A folder that nobody else may serve, seal or change."""

    folder: Path
    _file: int
    _made: tuple[Path, ...]

    @classmethod
    def take(cls, folder: Path) -> "FolderLock":
        """Lock a folder, which is made if it is missing.

        Raises:
            FileError: it is locked, or cannot be.
        """
        if not folder.absolute().parent.is_dir():
            raise FileError(f"the folder {folder.parent} does not exist; make it first")
        path = folder / LOCK_FILE
        try:
            made = [place for place in (path, folder) if not place.exists()]
            folder.mkdir(mode=0o700, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise FileError(f"cannot use the folder {folder}: {error.strerror or error}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(file), os.stat(path)):  # whoever had it has abandoned it
                raise FileNotFoundError
        except OSError:
            os.close(file)
            raise FileError(f"{folder} is served by another process; a folder has one collector") from None
        return cls(folder, file, tuple(made))

    def abandon(self) -> None:
        """Unlock the folder; of what was made for the lock nothing is left, but a folder that holds more by now."""
        with contextlib.suppress(OSError):
            for place in self._made:
                place.rmdir() if place == self.folder else place.unlink()
        self.release()

    def release(self) -> None:
        """Unlock the folder, once."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
