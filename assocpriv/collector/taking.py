"""Files taken from an inbox: a hidden folder in it, ``.taking-…``, locked while its gatherer lives.

A file is taken by a rename, so of several gatherers one has it. What becomes of a batch, and what is on disk when:

    1. begin    the folder is made, then its mark: which collection its files are for
    2. take     files are renamed into it, one by one
    3. settle   both folders are on disk: no power cut can bring back a name that was taken
    4.          the collection gets a file with the batch's id, and that is on disk
    5. clear    the files are removed; when that is on disk the mark, then the folder

A gatherer that dies leaves the folder. The next one holds its lock, and looks for the id in the collection: there, the
files are removed (5); not there, they are gathered (3). A folder without a whole mark is from before 2, or from within
5 with no file left; files in it can only be there if a power cut took the mark, which 3 excludes once 4 has begun. So
they go back.
"""

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from assocpriv.core.errors import FileError
from assocpriv.files.atomic import sync_folder

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

_PREFIX, _MARK = ".taking-", ".batch"
_AT_A_TIME = 1 << 13  # names held
_MOST_MARK = 1 << 16  # bytes
_MOST_BEGINNINGS = 10  # of a folder that others take for a dead gatherer's while it is made
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


class Batch:
    """Files taken from an inbox. ``target`` is (plan id, path of the collection); None if the mark is not whole."""

    def __init__(self, inbox: Path, batch_id: str, lock: int, target: tuple[str, str] | None) -> None:
        self.inbox, self.id, self.target = inbox, batch_id, target
        self.folder = inbox / f"{_PREFIX}{batch_id}"
        self._lock = lock

    @classmethod
    def begin(cls, inbox: Path, target: tuple[str, str]) -> "Batch":
        """Make the folder of a new batch in an inbox, and lock it.

        Raises:
            FileError: this system has no locks.
            OSError: the inbox cannot be written.
        """
        if not _HAS_FLOCK:
            raise FileError("files cannot be taken here, for this system has no flock; pass --keep (keep=True)")
        for _ in range(_MOST_BEGINNINGS):
            batch_id = secrets.token_hex(8)
            folder = inbox / f"{_PREFIX}{batch_id}"
            folder.mkdir()
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                lock = _locked(folder / _MARK, _FLAGS | os.O_EXCL)
                if lock is not None:
                    batch = cls(inbox, batch_id, lock, target)
                    batch._mark(target)
                    return batch
        raise FileError(f"other programs remove what is begun in {inbox}; stop them, and try again")

    def _mark(self, target: tuple[str, str]) -> None:
        """Write on disk what the files will be for."""
        try:
            os.write(self._lock, json.dumps(target).encode("ascii"))
            os.fsync(self._lock)
        except BaseException:
            self.release()
            raise

    @classmethod
    def resume(cls, folder: Path) -> "Batch | None":
        """Lock the batch that a dead gatherer left in a folder; None if its gatherer lives, or another has it."""
        try:
            lock = _locked(folder / _MARK, _FLAGS)
        except FileNotFoundError:
            return None
        if lock is None:
            return None
        try:
            plan_id, path = json.loads(os.read(lock, _MOST_MARK))
            target = (str(plan_id), str(path))
        except (ValueError, TypeError):
            target = None
        return cls(folder.parent, folder.name.removeprefix(_PREFIX), lock, target)

    def take(self, name: str) -> None:
        """Take a file, unless another gatherer was faster or a file of this name was taken just before."""
        if not os.path.lexists(self.folder / name):  # else a rename would replace that one: left for the next run
            with contextlib.suppress(FileNotFoundError):
                os.rename(self.inbox / name, self.folder / name)

    def names(self) -> Iterator[str]:
        """Yield the names of the files taken."""
        with os.scandir(self.folder) as entries:
            yield from (entry.name for entry in entries if entry.name != _MARK)

    def put_back(self, name: str) -> None:
        """Give a file back, under another name if its own is in use again."""
        back = self.inbox / name
        if os.path.lexists(back):
            back = self.inbox / f"put-back-{secrets.token_hex(8)}"
        os.rename(self.folder / name, back)

    def put_back_all(self) -> None:
        """Give all files back, and remove the folder."""
        while names := list(islice(self.names(), _AT_A_TIME)):
            for name in names:
                self.put_back(name)
        self.settle()
        self.clear()

    def settle(self) -> None:
        """Wait until it is on disk which files were taken."""
        sync_folder(self.folder)
        sync_folder(self.inbox)

    def clear(self) -> None:
        """Remove the files, then the folder. A name that the system showed too late is met in the next round."""
        while names := list(islice(self.names(), _AT_A_TIME)):
            for name in names:
                os.unlink(self.folder / name)
        sync_folder(self.folder)
        os.unlink(self.folder / _MARK)
        with contextlib.suppress(OSError):  # without its mark it is anybody's to remove
            os.rmdir(self.folder)
        self.release()

    def release(self) -> None:
        """Unlock the batch, once."""
        if self._lock >= 0:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            self._lock = -1


def left_batches(inbox: Path) -> Iterator[Batch]:
    """Yield the batches in an inbox whose gatherers are dead, each locked."""
    if not _HAS_FLOCK:
        return
    with os.scandir(inbox) as entries:
        folders = [e.name for e in entries if e.name.startswith(_PREFIX) and e.is_dir(follow_symlinks=False)]
    for name in folders:
        batch = Batch.resume(inbox / name)
        if batch is not None:
            yield batch


def _locked(path: Path, flags: int) -> int | None:
    """Open and lock a mark; None if another process has it, or has removed it meanwhile."""
    file = os.open(path, flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISREG(os.fstat(file).st_mode) and os.path.samestat(os.fstat(file), os.stat(path)):
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    return None
