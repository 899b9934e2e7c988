"""Uploads, which of their reports count, and the store of a collector: its protocol, batch sizes, and a folder's lock.

An upload is the content of one request, bytes and lengths only (docs/formats/collector.md). HTTP is unknown here: a
refusal has the status and reason that a response then carries.

A store is durable when it returns, and each submission id counts once. Ids are kept until the collection ends, not for
a fixed time, because clocks jump and devices come back after months. Of a group of uploads those reports count whose
ids are new, up to the quota of each key. One process serves a folder: it holds an exclusive flock on the folder's file
``lock`` while it lives. Where there is no flock, as on Windows, a folder can only be read.
"""

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import FileError, WireError, pluralize
from assocpriv.plans.published_plan import ID_BYTES, MOST_BATCH_BYTES

try:
    import fcntl
except ImportError:  # Windows
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

LOCK_FILE = "lock"
NAMES_KEY_BYTES = 32
_LEAST_MINIMUM, _MOST_REPORTS = 100, 1 << 24
MOST_BYTES = 4 << 20  # of a request's body
NO_KEY = 0  # where no key is needed
_MOST_IDS = 100  # listed in a refusal


# ---- uploads


class RequestRefused(Exception):  # noqa: N818  # an answer, not a failure
    """A request that is answered with a refusal: an HTTP status, a reason for programs, a sentence for people."""

    def __init__(
        self, status: int, reason: str, message: str, *, retry_after: int | None = None, **details: Any
    ) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message
        self.retry_after, self.details = retry_after, details

    def to_json(self) -> dict[str, Any]:
        """Return the content of the response."""
        return {"error": self.reason, "message": self.message, **self.details}


@dataclass(frozen=True, slots=True)
class Upload:
    """One request: ``count`` records in ``body``, each a submission id and a report, with its key's number and quota.

    With ``own_row``, through a relay, something is written even if it is known.
    """

    body: bytes
    count: int
    key: int = NO_KEY
    quota: int | None = None
    own_row: bool = False

    def __repr__(self) -> str:
        return f"Upload({pluralize(self.count, 'report')})"


def read_upload(
    body: bytes, plan: "PublishedPlan", key: int = NO_KEY, quota: int | None = None, *, own_row: bool = False
) -> Upload:
    """Return a request's body as an upload; the content of its reports is checked later, for many requests at a time.

    Raises:
        RequestRefused: the body is not a whole number of records, is empty, or has several with ``own_row``.
    """
    length = plan.record_bytes
    count, rest = divmod(len(body), length)
    if rest or not count or (own_row and count > 1):
        raise RequestRefused(
            400,
            "malformed-body",
            f"a body must be one {'record' if own_row else 'or more records'} of {length} bytes, an id of {ID_BYTES} "
            f"and a report of {plan.report_bytes}; this one has {pluralize(len(body), 'byte')}",
            record_bytes=length,
        )
    return Upload(body, count, key, quota, own_row)


def records_of(uploads: Sequence[Upload], plan: "PublishedPlan") -> NDArray[np.uint8]:
    """Return the records of uploads, uint8 of shape (records, 16 + report_bytes)."""
    joined = uploads[0].body if len(uploads) == 1 else b"".join([upload.body for upload in uploads])
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, plan.record_bytes)


def ids_of(records: NDArray[np.uint8]) -> list[bytes]:
    """Return the submission ids of records."""
    return [bytes(each) for each in np.ascontiguousarray(records[:, :ID_BYTES]).view(f"V{ID_BYTES}").ravel().tolist()]


def refuse_malformed(uploads: Sequence[Upload], plan: "PublishedPlan") -> list[RequestRefused | None]:
    """Return a refusal for each upload with a report that no client of the plan can send, None for the others.

    Work is bounded for any input: uploads are checked together, then by halves where something is wrong. In one
    upload only the first malformed reports are located.
    """
    return _refuse(uploads, np.ascontiguousarray(records_of(uploads, plan)[:, ID_BYTES:]), plan)


def _refuse(
    uploads: Sequence[Upload], reports: NDArray[np.uint8], plan: "PublishedPlan"
) -> list[RequestRefused | None]:
    if _is_well_formed(reports, plan):
        return [None] * len(uploads)
    if len(uploads) == 1:
        return [_malformed(uploads[0], reports, plan)]
    half = len(uploads) // 2
    at = sum(upload.count for upload in uploads[:half])
    return _refuse(uploads[:half], reports[:at], plan) + _refuse(uploads[half:], reports[at:], plan)


def _is_well_formed(reports: NDArray[np.uint8], plan: "PublishedPlan") -> bool:
    try:
        plan.check_form(reports)
    except WireError:
        return False
    return True


def _first_bad(reports: NDArray[np.uint8], plan: "PublishedPlan") -> list[int]:
    """Return the positions of the first malformed reports."""
    found, parts = list[int](), [(0, len(reports))]
    while parts and len(found) < _MOST_IDS:
        start, end = parts.pop()
        if end - start == 1:
            found += [] if _is_well_formed(reports[start:end], plan) else [start]
        elif not _is_well_formed(reports[start:end], plan):
            half = (start + end) // 2
            parts += [(half, end), (start, half)]
    return found


def _malformed(upload: Upload, reports: NDArray[np.uint8], plan: "PublishedPlan") -> RequestRefused:
    bad = _first_bad(reports, plan)
    ids = [each.hex() for each in ids_of(records_of([upload], plan)[bad])]
    number = f"{'at least ' if len(bad) == _MOST_IDS else ''}{pluralize(len(bad), 'report')}"
    return RequestRefused(
        400,
        "malformed-report",
        f"{number} of {upload.count:,} cannot come from a client of the plan; no report of the request was stored: "
        "send it again without these",
        count=len(bad),
        ids=ids,
    )


# ---- the store


class StoreFullError(FileError):
    """Nothing can be stored now, for example on a full disk. The group was not stored; the client may send it again."""


class BatchTooSmallError(FileError):
    """The open batch has fewer reports than the minimum batch size. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """Batch sizes in reports: ``minimum`` to close a batch on request, ``maximum`` to close it automatically.

    A small report file, together with a device's ledger or the time at which it sent, shows which report is whose.

    Raises:
        FileError: numbers out of range.
    """

    minimum: int = 1000
    maximum: int = 1 << 20

    def __post_init__(self) -> None:
        if not all(type(each) is int for each in (self.minimum, self.maximum)):
            raise FileError("batch_reports must be two whole numbers, the minimum and maximum reports")
        if not 1 <= self.minimum <= self.maximum <= _MOST_REPORTS:
            raise FileError(
                f"batch_reports must be 1 to {_MOST_REPORTS:,}, the minimum first, got {self.minimum}, {self.maximum}"
            )

    def check_minimum(self) -> None:
        """Refuse a minimum so small that a report file nearly shows who sent what."""
        if self.minimum < _LEAST_MINIMUM:
            raise FileError(
                f"a batch of fewer than {_LEAST_MINIMUM} reports nearly shows which is whose, got {self.minimum}; give "
                "batch_reports a larger minimum, or allow_small=True for made-up reports"
            )

    def limit_for(self, plan: "PublishedPlan") -> int:
        """Return the number of reports at which a batch closes automatically.

        This is ``maximum``, less where memory needs it, and never less than the plan's minimum batch size.
        """
        return max(1, min(self.maximum, MOST_BATCH_BYTES // plan.record_bytes), plan.minimum_batch_size)

    def check(self, reports: int, plan: "PublishedPlan", *, allow_small: bool) -> None:
        """Refuse to close a batch of ``reports`` below the minimum, unless ``allow_small``.

        The minimum batch size of a plan with a central guarantee always holds.

        Raises:
            BatchTooSmallError: the batch is too small.
        """
        if reports < plan.minimum_batch_size:
            raise BatchTooSmallError(
                f"the open batch has {pluralize(reports, 'report')}; the plan's central guarantee needs "
                f"{plan.minimum_batch_size:,} in a batch, so a smaller one is neither closed nor mined. Wait for more"
            )
        if reports < self.minimum and not allow_small:
            mined = "" if plan.central else ". Until then mining reads them from the open batch"
            raise BatchTooSmallError(
                f"the open batch has {pluralize(reports, 'report')}, below the minimum of {self.minimum:,}: a small "
                f"report file nearly shows which report is whose{mined}. Wait for more, or close it all the same "
                "(collector close, allow_small=True)"
            )


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Numbers of reports in closed and in open batches, and numbers of batches.

    ``open`` includes the reports of ``pending_batches``: these are full, take no more reports and are not closed yet.
    """

    closed: int
    open: int
    closed_batches: int
    pending_batches: int

    @property
    def reports(self) -> int:
        """All reports, each counted once."""
        return self.closed + self.open


class ReportStore(Protocol):
    """Reports of one plan. Methods may be called from several threads."""

    def add(self, uploads: Sequence[Upload]) -> list[int | RequestRefused]:
        """Store uploads; return for each the number of its new reports, or why it was refused.

        When this returns, its result holds after any crash. An id that is known, or comes twice, counts once, and its
        first report stays. An upload is stored whole or not at all.

        Raises:
            StoreFullError: the disk refuses; no upload is stored.
        """

    @property
    def conflicts(self) -> int:
        """Records since the start that had a known id and other bytes, of those that were compared."""

    def status(self) -> StoreStatus:
        """Return the numbers of reports and batches."""

    def counts_by_key(self) -> dict[int, int]:
        """Return the number of reports of each key."""

    def rotate(self, *, allow_small: bool = False) -> None:
        """Start a new open batch if the present one has reports; that one is then pending.

        Raises:
            BatchTooSmallError: it is below the minimum batch size, and ``allow_small`` is not set.
        """

    def close_pending(self) -> int:
        """Write the pending batches as report files; return the number of batches.

        Raises:
            StoreFullError: the disk refuses; the reports stay where they are, and the next call tries again.
        """

    def erase_order(self) -> bool:
        """Erase what shows the order of the last reports; called when none arrives.

        Returns:
            Whether to call it again every second while none arrives.
        """

    def has_pending(self) -> bool:
        """Return whether batches are pending."""

    def names_key(self) -> bytes:
        """Return the secret key, 32 bytes, drawn once, that turns file names into submission ids.

        Raises:
            FileError: it cannot be read or written.
        """

    def close(self) -> None:
        """Close the store; stored reports stay."""


def close_all_batches(store: ReportStore, *, allow_small: bool = False) -> int:
    """Close the pending and the open batches, and return their number; raises as ``rotate`` and ``close_pending``."""
    closed = store.close_pending()
    store.rotate(allow_small=allow_small)
    return closed + store.close_pending()


def store_uploads(uploads: Sequence[Upload], plan: "PublishedPlan", store: ReportStore) -> list[int | RequestRefused]:
    """Check uploads and store the well-formed ones in one commit; every report enters a collection here.

    Returns:
        For each upload the number of its new reports, or why it was refused.

    Raises:
        StoreFullError: the disk refuses; no upload is stored.
    """
    refused = refuse_malformed(uploads, plan)
    good = [upload for upload, refusal in zip(uploads, refused, strict=True) if refusal is None]
    stored = iter(store.add(good) if good else [])
    return [refusal if refusal is not None else next(stored) for refusal in refused]


@dataclass(frozen=True, slots=True)
class ServedCollection:
    """A plan, the store of its reports, and the ``folder`` of its report files and guidance.

    Once ``ended`` it takes no reports.
    """

    plan: "PublishedPlan"
    store: ReportStore
    folder: Path
    ended: bool = False


# ---- which reports count


def accept(
    uploads: Sequence[Upload], ids: Sequence[bytes], known: Collection[bytes], used: Mapping[int, int]
) -> tuple[list[int | RequestRefused], NDArray[np.bool_]]:
    """Decide on uploads in their order.

    Args:
        uploads: the group, without malformed reports.
        ids: the submission ids of all their records.
        known: those of the ids that were stored before.
        used: reports sent before with each key that has a quota.

    An upload is accepted whole or not at all. If its new reports exceed the key's remaining quota, it is refused, and
    its ids still count as new in a later upload. Reports that were stored before use no quota.

    Returns:
        For each upload the number of its new reports or why it is refused; for each record whether it is stored.
    """
    met, left = set(known), dict[int, int]()
    results, stored, end = list[int | RequestRefused](), np.zeros(len(ids), dtype=np.bool_), 0
    for upload in uploads:
        first, end = end, end + upload.count
        new = {each: first + place for place, each in reversed(list(enumerate(ids[first:end]))) if each not in met}
        if upload.quota is not None:
            room = left.setdefault(upload.key, max(0, upload.quota - used.get(upload.key, 0)))
            if len(new) > room:
                results.append(_over_quota(len(new), room, upload.quota))
                continue
            left[upload.key] = room - len(new)
        met.update(new)
        stored[list(new.values())] = True
        results.append(len(new))
    return results, stored


def count_conflicts(ids: Sequence[bytes], records: NDArray[np.uint8], before: Mapping[bytes, bytes]) -> int:
    """Return how many records have the id, but not the bytes, of a record in ``before`` or of an earlier one here."""
    first = dict(before)
    return sum(first.setdefault(each, row) != row for each, row in zip(ids, map(bytes, records), strict=True))


def _over_quota(new: int, room: int, quota: int) -> RequestRefused:
    return RequestRefused(
        429,
        "quota",
        f"this key may send {pluralize(quota, 'report')}, {room:,} more; this request has {new:,} new ones, and none "
        "was stored",
        quota=quota,
        remaining=room,
    )


# ---- the folder's lock


def check_system() -> None:
    """Refuse a system on which two processes could change one collection.

    Raises:
        FileError: it has no flock.
    """
    if not HAS_FLOCK:
        raise FileError(
            "a collection can be served, gathered or changed only on a POSIX system (Linux, macOS, BSD); clients and "
            "mining run here too"
        )


def check_owner(folder: Path) -> None:
    """Refuse root in the folder of another user: that user's collector could not read the files of root.

    Raises:
        FileError: root in another user's folder.
    """
    if os.geteuid() == 0 != (owner := folder.stat().st_uid):
        raise FileError(
            f"{folder} belongs to user {owner}, whose collector could not read files written by root; run this as that "
            "user: runuser -u NAME"
        )


def flock(file: int, *, shared: bool = False, wait: bool = False) -> None:
    """Lock an open file or folder until it is closed; raises OSError where another process has it."""
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))


@contextlib.contextmanager
def private_umask() -> Iterator[None]:
    """Make files readable by their owner only, in all threads: an existing folder may be readable by others."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@dataclass(slots=True)
class FolderLock:
    """The exclusive lock of a collection's folder."""

    folder: Path
    _file: int
    _made: tuple[Path, ...]

    @classmethod
    def take(cls, folder: Path) -> "FolderLock":
        """Lock a folder, which is made if missing.

        Raises:
            FileError: it is locked already, or cannot be locked.
        """
        check_system()
        if not folder.absolute().parent.is_dir():
            raise FileError(f"the folder {folder.parent} does not exist; make it first")
        path = folder / LOCK_FILE
        try:
            made = [place for place in (path, folder) if not place.exists()]
            folder.mkdir(mode=0o700, exist_ok=True)
            check_owner(folder)
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise FileError(f"cannot use the folder {folder}: {error.strerror or error}") from None
        try:
            flock(file)
            if not os.path.samestat(os.fstat(file), os.stat(path)):  # another process abandoned and removed it
                raise FileNotFoundError
        except OSError:
            os.close(file)
            raise FileError(f"another process serves {folder} or gathers into it; wait for it, or stop it") from None
        return cls(folder, file, tuple(made))

    def abandon(self) -> None:
        """Unlock the folder and remove what was made for the lock; a folder that holds more stays."""
        with contextlib.suppress(OSError):
            for place in self._made:
                place.rmdir() if place == self.folder else place.unlink()
        self.release()

    def release(self) -> None:
        """Unlock the folder, once."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
