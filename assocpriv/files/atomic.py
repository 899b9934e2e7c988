"""Write files atomically (whole or not at all), and read small files with a size limit.

While a file is written it has a hidden name in the same folder, ``.NAME.xxxxxxxx.part``, and is locked. A killed
process leaves this partial file unlocked, since the system releases its locks; the next process that writes NAME
removes it. Systems without flock, such as Windows, and file systems without it keep the partial file.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from assocpriv.guarantees.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}
MAX_TABLE_BYTES = 256 << 20  # of a table in a text format


def read_bounded(path: str | PathLike[str], max_bytes: int) -> bytes:
    """Return the content of a regular file of at most ``max_bytes``, whatever size it claims.

    Raises:
        OSError: it cannot be read, is larger, or is a device or a pipe, which might never end.
    """
    check_regular(path)
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size > max_bytes or len(content := file.read(max_bytes + 1)) > max_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {max_bytes >> 20} MiB")
    return content


def read_file(path: str | PathLike[str], max_bytes: int = MAX_TABLE_BYTES) -> bytes:
    """Return the content of a file as :func:`read_bounded`, but raise FileError."""
    try:
        return read_bounded(path, max_bytes)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None


def begins_with(path: str | PathLike[str], mark: bytes) -> bool:
    """Return whether a regular file begins with these bytes; False if it cannot be read."""
    try:
        if not Path(path).is_file():  # a pipe or a device might never end
            return False
        with open(path, "rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
        return False


def check_regular(path: str | PathLike[str]) -> None:
    """Raise OSError for a device or a pipe, before it is opened."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise OSError(errno.EINVAL, "it is a device or a pipe; name a regular file")


def output_format(path: str | Path) -> str:
    """Return ``parquet``, ``csv`` or ``json`` by a file's extension; raise FileError for any other."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise FileError(f"{path} must end in .parquet, .csv or .json to select the format")
    return FORMATS[suffix]


def check_writable(path: str | PathLike[str], *, force: bool, inputs: Iterable[str | PathLike[str]] = ()) -> Path:
    """Check that an output path can be written, before any work is done for it.

    Raises:
        FileError: the file exists without ``force``, is an input or not a regular file, or its folder is missing.
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
            raise FileError(f"{target} is a link to a file that does not exist; choose another name")
        if target.exists() and not force:
            raise FileError(f"{target} exists already; choose another name or pass force=True to replace it")
        if not target.parent.is_dir():
            raise FileError(f"the folder {target.parent} does not exist; make it first")
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from None
    return target


@contextmanager
def atomic_output(path: str | PathLike[str], *, force: bool = False) -> Iterator[BinaryIO]:
    """Open a file that gets its final name only once its whole content is on disk, and is removed if that fails.

    Raises:
        FileError: as :func:`check_writable`, or writing fails.
    """
    target = check_writable(path, force=force)
    try:
        _remove_abandoned(target)
        unfinished, stream, lock = _create_partial_file(target)
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
        raise FileError(f"cannot write {target}: {error.strerror or error}; no partial output remains") from error


def _create_partial_file(target: Path) -> tuple[Path, BinaryIO, int | None]:
    """Return the path and stream of a new partial file, and a descriptor that keeps it locked after it is closed."""
    while True:
        unfinished = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
        stream = open(unfinished, "xb")  # noqa: SIM115 - the caller closes it
        if not _HAS_FLOCK:
            return unfinished, stream, None
        lock = os.dup(stream.fileno())
        with suppress(OSError):  # a file system without locks, on which no partial file is removed either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if unfinished.exists():  # no other process removed it as abandoned before it was locked
            return unfinished, stream, lock
        stream.close()
        os.close(lock)


def _remove_abandoned(target: Path) -> None:
    """Remove the partial files of killed processes; those of running ones are locked."""
    for path in target.parent.glob(f".{escape(target.name)}.{'[0-9a-f]' * 8}.part") if _HAS_FLOCK else ():
        with suppress(OSError):  # removed meanwhile, locked, or owned by another user
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
        os.link(unfinished, target)  # unlike a rename, fails if the name was created meanwhile
    except FileExistsError:
        raise FileError(f"{target} appeared while it was being written; nothing was replaced") from None
    except OSError:  # a file system without hard links
        os.replace(unfinished, target)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, where the system can open a folder."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def check_page_output(output: str | Path, *, force: bool = False, inputs: Iterable[str | PathLike[str]] = ()) -> None:
    """Check that an HTML page can be written to a path, before any work is done for it.

    Raises:
        FileError: the name does not end in .html; and as :func:`check_writable`.
    """
    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{output} must end in .html: a page is HTML")
    check_writable(output, force=force, inputs=inputs)
