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

A folder is opened once, and its files are reached through the descriptor alone: whoever may write to the inbox can put
a link in its place, but nothing elsewhere is then moved or removed. A folder of another user is passed over.
"""

import contextlib
import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from assocpriv.files.atomic import sync_folder
from assocpriv.promise.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

_PREFIX, _MARK = ".taking-", ".batch"
_NAME = re.compile(rf"\{_PREFIX}[0-9a-f]{{16}}")
_AT_A_TIME = 1 << 13  # names held
_MOST_MARK = 1 << 15  # bytes: of a path's 4,096, each takes six characters at most
_MOST_BEGINNINGS = 10  # of a folder that others take for a dead gatherer's while it is made
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_MARK_FLAGS = os.O_RDWR | os.O_CREAT | _NO_LINK
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_NOT_FREE = {errno.EEXIST, errno.ENOENT, errno.EWOULDBLOCK, errno.ENOTDIR, errno.ELOOP}


class Batch:
    """Files taken from an inbox. ``target`` is (plan id, path of the collection); None if the mark is not whole.

    ``opened`` is the descriptor of its folder.
    """

    def __init__(self, folder: Path, opened: int, lock: int, target: tuple[str, str] | None) -> None:
        self.inbox, self.folder, self.target = folder.parent, folder, target
        self.id = folder.name.removeprefix(_PREFIX)
        self.opened, self._lock = opened, lock

    @classmethod
    def begin(cls, inbox: Path, target: tuple[str, str]) -> "Batch":
        """Make the folder of a new batch in an inbox, and lock it.

        Raises:
            FileError: this system has no locks, or the folder is not ours.
            OSError: the inbox cannot be written.
        """
        if not _HAS_FLOCK:
            raise FileError("files cannot be taken here, for this system has no flock; pass --keep (keep=True)")
        for _ in range(_MOST_BEGINNINGS):
            folder = inbox / f"{_PREFIX}{secrets.token_hex(8)}"
            folder.mkdir(0o700)
            found = _locked(folder, _MARK_FLAGS | os.O_EXCL)
            if found is not None:
                batch = cls(folder, *found, target)
                batch._mark(target)
                return batch
            with contextlib.suppress(OSError):  # it may be gone, or another gatherer's by now
                folder.rmdir()
        raise FileError(
            f"other programs remove what is begun in {inbox}, or its file system makes it another user's; stop them, "
            "and try again, or pass --keep (keep=True)"
        )

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
        found = _locked(folder, _MARK_FLAGS)
        if found is None:
            return None
        try:
            plan_id, path = json.loads(os.read(found[1], _MOST_MARK))
            target = (str(plan_id), str(path))
        except (ValueError, TypeError, RecursionError):
            target = None
        return cls(folder, *found, target)

    def take(self, name: str) -> None:
        """Take a file, unless another gatherer was faster or a file of this name was taken just before."""
        with contextlib.suppress(FileNotFoundError):
            try:
                os.stat(name, dir_fd=self.opened, follow_symlinks=False)
            except FileNotFoundError:  # else a rename would replace that one: left for the next run
                os.rename(self.inbox / name, name, dst_dir_fd=self.opened)

    def names(self) -> Iterator[str]:
        """Yield the names of the files taken."""
        listed = os.open(".", _FOLDER_FLAGS, dir_fd=self.opened)  # two listings of one descriptor share their place
        try:
            with os.scandir(listed) as entries:
                yield from (entry.name for entry in entries if entry.name != _MARK)
        finally:
            os.close(listed)

    def put_back(self, name: str) -> None:
        """Give a file back, under another name if its own is in use again."""
        back = self.inbox / name
        if os.path.lexists(back):
            back = self.inbox / f"put-back-{secrets.token_hex(8)}"
        os.rename(name, back, src_dir_fd=self.opened)

    def put_back_all(self) -> None:
        """Give all files back, and remove the folder."""
        while names := list(islice(self.names(), _AT_A_TIME)):
            for name in names:
                self.put_back(name)
        self.settle()
        self.clear()

    def settle(self) -> None:
        """Wait until it is on disk which files were taken."""
        os.fsync(self.opened)
        sync_folder(self.inbox)

    def clear(self) -> None:
        """Remove the files, then the folder. A name that the system showed too late is met in the next round."""
        while names := list(islice(self.names(), _AT_A_TIME)):
            for name in names:
                os.unlink(name, dir_fd=self.opened)
        os.fsync(self.opened)
        os.unlink(_MARK, dir_fd=self.opened)
        with contextlib.suppress(OSError):  # without its mark it is anybody's to remove
            os.rmdir(self.folder)
        self.release()

    def release(self) -> None:
        """Unlock the batch, once."""
        if self._lock >= 0:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            os.close(self.opened)
            self._lock = self.opened = -1


def batch_folders(inbox: Path) -> list[str]:
    """Return the names of the folders of batches in an inbox, whoever's they are."""
    with os.scandir(inbox) as entries:
        return [entry.name for entry in entries if _NAME.fullmatch(entry.name)]


def left_batches(inbox: Path) -> Iterator[Batch]:
    """Yield the batches in an inbox whose gatherers are dead, each locked."""
    if not _HAS_FLOCK:
        return
    for name in batch_folders(inbox):
        batch = Batch.resume(inbox / name)
        if batch is not None:
            yield batch


def _locked(folder: Path, flags: int) -> tuple[int, int] | None:
    """Open a batch's folder, and open and lock its mark; None if it is not ours, or not there, or somebody has it."""
    with contextlib.ExitStack() as closing:
        try:
            if not _is_ours(os.lstat(folder)):
                return None
            opened = os.open(folder, _FOLDER_FLAGS)
            closing.callback(os.close, opened)
            if not _is_ours(os.fstat(opened)):  # it was replaced meanwhile
                return None
            lock = os.open(_MARK, flags, 0o600, dir_fd=opened)
            closing.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            status = os.fstat(lock)
            named = os.stat(_MARK, dir_fd=opened, follow_symlinks=False)
        except OSError as error:
            if error.errno in _NOT_FREE:
                return None
            raise
        if not stat.S_ISREG(status.st_mode) or not os.path.samestat(status, named):
            return None
        closing.pop_all()
        return opened, lock


def _is_ours(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
