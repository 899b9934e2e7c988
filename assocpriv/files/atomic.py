"""Files that appear whole or not at all, and are read whole where they are small.

While a file is written it has a hidden name beside its own, ``.NAME.xxxxxxxx.part``, and is locked. A process that is
killed leaves it there, unlocked, as the system lets go of its locks: whoever writes NAME next takes it away. A system
without flock, as Windows, and a disk without keep it.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from assocpriv.promise.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}
LARGEST_TABLE = 256 << 20  # bytes of a table that is text


def read_bounded(path: str | PathLike[str], most: int) -> bytes:
    """Return what a regular file holds, of at most so many bytes, whatever size it claims.

    Raises:
        OSError: it cannot be read, is larger, or is a device or a pipe, which might never end.
    """
    check_regular(path)
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size > most or len(content := file.read(most + 1)) > most:
            raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
    return content


def check_regular(path: str | PathLike[str]) -> None:
    """Refuse a device or a pipe, by OSError, before it is opened."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise OSError(errno.EINVAL, "it is a device or a pipe; name a regular file")


def output_format(path: str | Path) -> str:
    """Return ``parquet``, ``csv`` or ``json`` by a file's extension; refuse any other."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise FileError(f"{path} must end in .parquet, .csv or .json to say what to write")
    return FORMATS[suffix]


def check_writable(path: str | PathLike[str], *, force: bool, inputs: Iterable[str | PathLike[str]] = ()) -> Path:
    """Refuse an output path that cannot be written, before any work is done for it.

    Raises:
        FileError: the file exists without ``force``, it is an input or no regular file, or its folder is missing.
    """
    target = Path(path)
    try:
        if target.exists() and any(Path(source).exists() and target.samefile(source) for source in inputs):
            raise FileError(f"{target} is an input; write to another file")
        if target.is_dir():
            raise FileError(f"{target} is a folder; name a file to write")
        if target.exists() and not target.is_file():
            raise FileError(f"{target} is a device or a pipe; name a regular file to write")
        if target.is_symlink() and not target.exists() and not force:
            raise FileError(f"{target} is a link that leads nowhere; choose another name")
        if target.exists() and not force:
            raise FileError(f"{target} exists already; choose another name or pass force=True to replace it")
        if not target.parent.is_dir():
            raise FileError(f"the folder {target.parent} does not exist; make it first")
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from None
    return target


@contextmanager
def atomic_output(path: str | PathLike[str], *, force: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes its final name only when everything in it is on disk, and is removed if that fails.

    Raises:
        FileError: as :func:`check_writable`, or the disk refuses.
    """
    target = check_writable(path, force=force)
    try:
        _remove_abandoned(target)
        unfinished, stream, lock = _begun(target)
        try:
            with stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            _publish(unfinished, target, force=force)
        finally:
            unfinished.unlink(missing_ok=True)
            if lock is not None:
                os.close(lock)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}; nothing was left there") from error


def _begun(target: Path) -> tuple[Path, BinaryIO, int | None]:
    """Return a file to write, open, and a descriptor that keeps it locked when it is closed, where there are locks."""
    while True:
        unfinished = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
        stream = open(unfinished, "xb")  # noqa: SIM115 - the caller's to close
        if not _HAS_FLOCK:
            return unfinished, stream, None
        lock = os.dup(stream.fileno())
        with suppress(OSError):  # a disk without locks, on which nothing is taken away either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if unfinished.exists():  # nobody took it for abandoned before it was locked
            return unfinished, stream, lock
        stream.close()
        os.close(lock)


def _remove_abandoned(target: Path) -> None:
    """Remove what processes left that were killed while they wrote a file; what a living one writes is locked."""
    for path in target.parent.glob(f".{escape(target.name)}.{'[0-9a-f]' * 8}.part") if _HAS_FLOCK else ():
        with suppress(OSError):  # gone, locked, or another user's
            opened = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(opened)


def _publish(unfinished: Path, target: Path, *, force: bool) -> None:
    if force:
        os.replace(unfinished, target)
        return
    try:
        os.link(unfinished, target)  # unlike a rename, fails if somebody wrote the name meanwhile
    except FileExistsError:
        raise FileError(f"{target} appeared while it was being written; nothing was replaced") from None
    except OSError:  # a file system without hard links
        os.replace(unfinished, target)


def sync_folder(folder: Path) -> None:
    """Wait until it is on disk which names a folder holds, where a folder can be opened for that."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def check_page(output: str | Path, *, force: bool = False, inputs: Iterable[str | PathLike[str]] = ()) -> None:
    """Refuse a file that a page cannot be written to, before any work is done for it.

    Raises:
        FileError: it does not end in .html; and as :func:`check_writable`.
    """
    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{output} must end in .html: a page is HTML")
    check_writable(output, force=force, inputs=inputs)
