"""Where compiled code is kept: folders and files that nobody else can write."""

import contextlib
import os
import stat
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Where an entry's compiled code is kept: a folder, and which better ones are not safe, or None and the trouble."""

    folder: Path | None
    trouble: str = ""
    passed_over: str = ""


def find_folder(files: str) -> CodePlace:
    """Return the first folder that is safe and can be written or holds some files already; without one, the reasons."""
    troubles: list[str] = []
    unsafe: list[str] = []
    for named, mode in _folders():
        folder = Path(os.path.realpath(named))  # a link that others can change would lead elsewhere later
        danger = _danger_of(folder, files)
        trouble = danger or _trouble_with(folder, mode, files) or _danger_of(folder, files)  # made meanwhile by others
        if not trouble:
            return CodePlace(folder, passed_over="; ".join(unsafe))
        troubles.append(f"{folder}: {trouble}")
        unsafe += troubles[-1:] if danger else []
    return CodePlace(None, "; ".join(troubles))


def _folders() -> Iterator[tuple[Path, int]]:
    """Yield the folders that code may be kept in, best first, and the mode of each if it has to be made."""
    named = os.environ.get("NUMBA_CACHE_DIR")  # not numba.config: a file in the current folder may have set that
    if named:
        yield Path(named).absolute() / "assocpriv", 0o755
    yield Path(__file__).parent / "__pycache__", 0o755
    users = _users_folder()
    if users.is_absolute():  # without a home it is relative to wherever we are
        yield users, 0o700


def _users_folder() -> Path:
    """Return the user's own cache folder, by the custom of the system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "")) / "assocpriv" / "Cache"
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches/assocpriv"))
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "assocpriv"


def _trouble_with(folder: Path, mode: int, files: str) -> str:
    """Return why a folder is of no use, or nothing; make it if it is not there."""
    try:
        make_folder(folder, mode)
    except OSError as error:
        if not any(folder.glob(files)):
            return error.strerror or "cannot be written"
    return ""


def make_folder(folder: Path, mode: int = 0o755) -> None:
    """Make a folder; raise OSError where it cannot be written."""
    folder.mkdir(mode, parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()


def _danger_of(folder: Path, files: str) -> str:
    """Return why compiled code of a link-free folder, perhaps not there yet, could be another user's; or nothing."""
    if not hasattr(os, "getuid"):
        return ""  # Windows keeps the folders of users apart
    if not all(_is_ours(place, inside=place != folder) for place in (folder, *folder.parents)):
        return "another user can write there"
    try:
        open_to_others = [file.name for file in folder.glob(files) if not _is_ours(file)]
    except OSError:
        return "another user may be able to write there"
    return f"another user can write {min(open_to_others)}" if open_to_others else ""


def _is_ours(place: Path, *, inside: bool = False) -> bool:
    """Tell whether only this user and root can write a folder or a file.

    Of a folder that a safe one lies ``inside`` of, members of its group may be able to write it: they cannot put
    another folder of ours there. Of a place that does not exist nothing is to be feared yet.
    """
    try:
        status = place.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if status.st_uid not in (0, os.getuid()):
        return False
    if not inside:
        return not status.st_mode & (stat.S_IWOTH | stat.S_IWGRP)
    # in a sticky folder such as /tmp only owners can exchange what is theirs
    return not status.st_mode & stat.S_IWOTH or bool(status.st_mode & stat.S_ISVTX)


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def open_for_write(path: str) -> Iterator[IO[bytes]]:
    """Write a file that appears whole or not at all, and that no group can write, whatever the umask."""
    temporary = f"{path}.tmp.{uuid.uuid4().hex[:16]}"
    try:
        with open(os.open(temporary, _NEW_FILE, 0o644), "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
