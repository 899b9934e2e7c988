"""Files that appear whole or not at all."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from assocpriv.promise.errors import FileError

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}


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
    unfinished = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        try:
            with open(unfinished, "xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            _publish(unfinished, target, force=force)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}; nothing was left there") from error


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
