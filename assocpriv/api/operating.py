"""Verbs of who operates a collection: keys, status, closing of batches, removal of reports."""

import logging
from os import PathLike
from pathlib import Path

from assocpriv.collect import folder as folders
from assocpriv.collect import keys as key_files
from assocpriv.collect.folder import CollectionStatus, close_folder, folder_status
from assocpriv.collect.keys import SourceKey
from assocpriv.collect.store import private_umask
from assocpriv.guarantees.errors import FileError

_MOST_KEY_BYTES = 4096
_MOST_HEAD_BYTES = 4096  # before the report in an encrypted message
_LOG = logging.getLogger("assocpriv")


def add_key(data: str | PathLike[str], name: str, *, quota: int | None = None) -> tuple[SourceKey, str]:
    """Make a key of a collection; return its stored data and the key itself, which is not stored.

    A collector that serves the folder accepts the key from the next request on. After the first key it accepts no
    report without a key.

    Args:
        data: the folder of the collection.
        name: the name of the source, as ``till 7``; reports are stored with the key's number, not with the name.
        quota: largest number of reports with the key; repeated ones do not count.

    Returns:
        The key's stored data, and the key.

    Raises:
        FileError: no such folder, one that a relay sends to, a name that another key has, or a quota below 1.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> kept, key = ap.collect.add_key(folder, "till 7", quota=1000)
    >>> kept.number, kept.name, key[:10]
    (1, 'till 7', 'assocpriv_')
    """
    return key_files.add_key(Path(data), name, quota)


def list_keys(data: str | PathLike[str]) -> list[SourceKey]:
    """Return the keys of a collection's folder, including revoked ones, by rising number.

    Args:
        data: the folder of the collection.

    Raises:
        FileError: no such folder, or the keys cannot be read.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> _ = ap.collect.add_key(folder, "till 7"), ap.collect.add_key(folder, "till 8")
    >>> [(key.number, key.name, key.revoked) for key in ap.collect.list_keys(folder)]
    [(1, 'till 7', False), (2, 'till 8', False)]
    """
    if not Path(data).is_dir():
        raise FileError(f"there is no folder {data}")
    return key_files.read_keys(Path(data))


def revoke_key(data: str | PathLike[str], number: int) -> SourceKey:
    """Stop accepting reports with a key; the reports that came with it stay.

    Args:
        data: the folder of the collection.
        number: the number of the key.

    Returns:
        The key's stored data.

    Raises:
        FileError: there is no such key, or it is revoked already.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> kept, _ = ap.collect.add_key(folder, "till 7")
    >>> ap.collect.revoke_key(folder, kept.number).revoked
    True
    """
    return key_files.revoke_key(Path(data), number)


def collection_status(data: str | PathLike[str]) -> CollectionStatus:
    """Return the state of a collection's folder, with numbers of reports by key; it may be served meanwhile.

    Args:
        data: the folder of the collection.

    Returns:
        Numbers of reports in closed and open batches, by key, set aside and removed, and whether it is served or ended.

    Raises:
        FileError: it is no collector's folder.
        WireError: a damaged file.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> status = ap.collect.collection_status(folder)
    >>> status.reports, status.served, status.ended
    (0, False, False)
    """
    return folder_status(Path(data))


def close_batches(data: str | PathLike[str], *, store: str | None = None, allow_small: bool = False) -> int:
    """Write all open batches of a collection as report files; return the number of reports that were open.

    Args:
        data: the folder of the collection, which must not be served.
        allow_small: also close a batch below the minimum size, 1,000 reports unless it was served with another number.
            Someone who has a device's ledger, or saw when it sent, then knows that its report is one of these few.
        store: URL of the collection's PostgreSQL database, if the URL without password in the folder is not enough.

    Returns:
        How many reports were in open batches.

    Raises:
        FileError: it is served, a batch is below the minimum size, or the disk or the database refuses.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.close_batches(folder)  # nothing has come in
    0
    """
    with private_umask():
        return close_folder(Path(data), store, allow_small=allow_small)


def end_collection(data: str | PathLike[str], *, store: str | None = None, allow_small: bool = False) -> int:
    """Close a collection's batches, delete its submission ids, and accept no more reports.

    Args:
        data, store, allow_small: as for :func:`close_batches`, and so the result and the errors.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.end_collection(folder), ap.collect.collection_status(folder).ended
    (0, True)
    """
    with private_umask():
        return close_folder(Path(data), store, allow_small=allow_small, end=True)


def set_aside(data: str | PathLike[str], key: int, *, restore: bool = False, store: str | None = None) -> int:
    """Move the reports of one key out of a collection that is not served, into its folder ``set-aside``.

    Args:
        data: the folder of the collection.
        key: the number of the key.
        restore: move them back.
        store: as in :func:`close_batches`.

    Returns:
        How many reports were moved.

    Raises:
        FileError: the collection is served, it has no reports of the key, some are in a batch below the minimum size,
            or the disk refuses.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.set_aside(folder, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    assocpriv.guarantees.errors.FileError: ... has no reports of key 3; ...
    >>> ap.collect.set_aside("collection", 3)  # doctest: +SKIP
    2317
    """
    with private_umask():
        return folders.set_aside(Path(data), key, restore=restore, store=store)


def remove_reports(data: str | PathLike[str], days: int) -> tuple[dict[str, int], int]:
    """Remove reports of a collection whose batch was closed more than ``days`` days ago, also those that are set aside.

    The collection must not be served. Submission ids stay, so a repeated report does not count, and quotas stay used.

    Args:
        data: the folder of the collection.
        days: whole days, in Coordinated Universal Time.

    Returns:
        Numbers of removed reports by the day on which their batch was closed; and the number of report files without a
        day, which no collector wrote: these stay.

    Raises:
        FileError: it is served, ``days`` is out of range, or the disk refuses.
        WireError: a damaged file.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.remove_reports(folder, 365)
    ({}, 0)
    """
    return folders.remove_reports(Path(data), days)
