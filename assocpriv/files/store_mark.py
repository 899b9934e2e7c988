"""What a folder says of reports that are on their way into it in a database: the file store.json.

Whoever reads the folder as a collection is told by it that reports may be missing. It holds no password.
"""

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.promise.errors import FileError

STORE_FILE = "store.json"
_FORMAT, _VERSION = "assocpriv-store", 1


@dataclass(frozen=True, slots=True)
class StoreMark:
    """The folder's own id, where its store is, and how many reports of it are not sealed: None while that changes."""

    folder_id: str
    store: str
    unsealed: int | None

    def write(self, folder: Path) -> None:
        """Write it into a folder.

        Raises:
            FileError: the disk refuses.
        """
        with atomic_output(folder / STORE_FILE, force=True) as stream:
            stream.write(json.dumps({"format": _FORMAT, "version": _VERSION} | asdict(self)).encode("ascii") + b"\n")
        sync_folder(folder)


def new_mark() -> StoreMark:
    """Return the mark of a folder that has none, of no store yet."""
    return StoreMark(secrets.token_hex(8), "", None)


def read_mark(folder: Path) -> StoreMark | None:
    """Return what a folder says; None where its reports are in no database.

    Raises:
        FileError: it cannot be read.
    """
    path = folder / STORE_FILE
    try:
        content = json.loads(path.read_bytes())
        if (content.pop("format"), content.pop("version")) != (_FORMAT, _VERSION):
            raise FileError(f"{path} is of a format or version that is unknown here")
        mark = StoreMark(**content)
        if not isinstance(mark.folder_id, str) or not isinstance(mark.store, str):
            raise TypeError
        if mark.unsealed is not None and type(mark.unsealed) is not int:
            raise TypeError
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except FileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise FileError(f"{path} is damaged: it does not say where a store is") from None
    return mark
