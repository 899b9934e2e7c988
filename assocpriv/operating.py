"""The door of operating a collection on its machine: keys of its sources, what it holds, sealing, setting aside."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from assocpriv.collector.keys import SourceKey
    from assocpriv.collector.upkeep import CollectionStatus

__all__ = [
    "CollectionStatus",
    "SourceKey",
    "add_key",
    "close_collection",
    "collection_status",
    "list_keys",
    "revoke_key",
    "seal_collection",
    "set_aside",
]
_HOMES = {
    "assocpriv.collector.keys": ("SourceKey",),
    "assocpriv.collector.upkeep": ("CollectionStatus",),
}  # fmt: skip

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def add_key(data: str | PathLike[str], name: str, *, quota: int | None = None) -> "tuple[SourceKey, str]":
    """Make a key of a collection and return what is kept of it, and the key itself, which is not kept.

    A collector that serves the folder takes the key from the next request on; one that was started without keys goes on
    to take reports from anybody until it is started again.

    Args:
        data: the folder of the collection.
        name: what people call the source, as ``till 7``; reports are stored with the key's number, not with it.
        quota: the most reports that may come with the key; repeated ones do not count.

    Raises:
        FileError: no such folder, a name that another key has, or a quota below 1.
    """
    from assocpriv.collector.keys import add_key as add

    return add(Path(data), name, quota)


def list_keys(data: str | PathLike[str]) -> "list[SourceKey]":
    """Return the keys of a collection's folder, revoked ones too.

    Raises:
        FileError: no such folder, or they cannot be read.
    """
    from assocpriv.collector.keys import read_keys
    from assocpriv.promise.errors import FileError

    if not Path(data).is_dir():
        raise FileError(f"there is no folder {data}")
    return read_keys(Path(data))


def revoke_key(data: str | PathLike[str], number: int) -> "SourceKey":
    """Let a collection take no more reports with a key; those that came with it stay.

    Raises:
        FileError: there is no such key, or it is revoked.
    """
    from assocpriv.collector.keys import revoke_key as revoke

    return revoke(Path(data), number)


def collection_status(data: str | PathLike[str]) -> "CollectionStatus":
    """Return what a collection's folder holds, by number of key; it may be served meanwhile.

    Raises:
        FileError: it is no collector's folder.
        WireError: a damaged file.
    """
    from assocpriv.collector.upkeep import folder_status

    return folder_status(Path(data))


def seal_collection(data: str | PathLike[str], *, store: str | None = None) -> int:
    """Turn all reports of a collection that nobody serves into report files, and return how many were not yet.

    Args:
        data: the folder of the collection.
        store: of a collection in PostgreSQL its URL, where the folder's note of it, without a password, does not do.

    Raises:
        FileError: it is served, or the disk or the database refuses.
    """
    from assocpriv.collector.upkeep import seal_folder

    return seal_folder(Path(data), store)


def close_collection(data: str | PathLike[str], *, store: str | None = None) -> int:
    """Seal a collection, forget its submission ids, and let it take no reports any more; as :func:`seal_collection`."""
    from assocpriv.collector.upkeep import close_folder

    return close_folder(Path(data), store)


def set_aside(data: str | PathLike[str], key: int, *, restore: bool = False, store: str | None = None) -> int:
    """Move the reports of one key out of a collection that nobody serves, into its folder ``set-aside``.

    Args:
        data: the folder of the collection.
        key: the number of the key.
        restore: move them back.
        store: as of :func:`seal_collection`.

    Returns:
        How many reports these are.

    Raises:
        FileError: the collection is served, there are no reports of the key, or the disk refuses.
    """
    from assocpriv.collector.upkeep import set_aside as move

    return move(Path(data), key, restore=restore, store=store)
