"""The store of a collector: what is asked of the place where reports are kept, and how many reports an epoch has.

It is durable when it says so, and each submission id counts once. No clock decides for how long: ids are known until
the collection is closed, as clocks jump and devices come back after months. Of a group of uploads those reports
count whose ids are new, and of each key no more than its quota. One process serves a folder: it holds an exclusive
flock on the folder's file ``lock`` while it lives. Where there is no flock, as on Windows, a folder can be read alone.
"""

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect.wire import Refused, Upload, refuse_malformed
from assocpriv.plans.published import MOST_BATCH_BYTES
from assocpriv.promise.errors import FileError, counted

try:
    import fcntl
except ImportError:  # Windows
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

LOCK_FILE = "lock"
NAMES_KEY_BYTES = 32
_LEAST_FEWEST, _MOST_REPORTS = 100, 1 << 24


# ---- the store


class StoreFullError(FileError):
    """Nothing can be stored now, as on a full disk; nothing of the group was, and later it may go again."""


class TooFewError(FileError):
    """An epoch is not ended, as it has fewer reports than are sealed together; nothing was changed."""


@dataclass(frozen=True, slots=True)
class EpochSizes:
    """How many reports are sealed together: ``fewest`` when that is asked for, ``most`` without being asked.

    A report file of a few reports, beside a device's ledger or whoever saw when it sent, tells which report is whose.

    Raises:
        FileError: no such numbers.
    """

    fewest: int = 1000
    most: int = 1 << 20

    def __post_init__(self) -> None:
        if not all(type(each) is int for each in (self.fewest, self.most)):
            raise FileError("epoch_reports must be two whole numbers, the fewest and the most reports of an epoch")
        if not 1 <= self.fewest <= self.most <= _MOST_REPORTS:
            raise FileError(
                f"epoch_reports must be from 1 to {_MOST_REPORTS:,}, the fewest first, got {self.fewest}, {self.most}"
            )

    def check_few(self) -> None:
        """Refuse epochs of so few reports that a file of them nearly names who sent what."""
        if self.fewest < _LEAST_FEWEST:
            raise FileError(
                f"an epoch of fewer than {_LEAST_FEWEST} reports tells nearly which is whose, got {self.fewest}; give "
                "epoch_reports a larger number first, or few=True where nobody is to be protected"
            )

    def most_of(self, plan: "PublishedPlan") -> int:
        """Return with how many reports an epoch ends unasked: as said, and what memory takes; a whole batch."""
        return max(1, min(self.most, MOST_BATCH_BYTES // plan.record_bytes), plan.least_batch)

    def check(self, reports: int, plan: "PublishedPlan", *, few: bool) -> None:
        """Refuse to seal an epoch of so many reports, unless ``few`` are wanted; never less than a plan's batch.

        Raises:
            TooFewError: as said.
        """
        if reports < plan.least_batch:
            raise TooFewError(
                f"{counted(reports, 'report')} wait to be sealed; the plan's central promise is proved for "
                f"{plan.least_batch:,} together, so fewer are neither sealed nor mined. Wait for more"
            )
        if reports < self.fewest and not few:
            mined = "" if plan.central else ", and they are mined meanwhile"
            raise TooFewError(
                f"{counted(reports, 'report')} wait to be sealed, and {self.fewest:,} are sealed together at least: a "
                f"file of a few reports tells nearly which is whose{mined}. Wait for more, or seal them all the same "
                "(collector seal, few=True)"
            )


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """How many reports there are: in sealed epochs, and in the open one with those that wait to be sealed."""

    sealed: int
    unsealed: int
    sealed_epochs: int
    waiting_epochs: int

    @property
    def reports(self) -> int:
        """How many reports, each counted once."""
        return self.sealed + self.unsealed


class ReportStore(Protocol):
    """Reports of one plan. Methods may be called from several threads."""

    def add(self, uploads: Sequence[Upload]) -> list[int | Refused]:
        """Store uploads and return of each how many of its reports are new, or why it was refused.

        When this returns, what it returned holds after any crash. An id that is there, or comes twice, counts once,
        and its first report stays. An upload is stored whole or not at all.

        Raises:
            StoreFullError: the disk refuses; nothing of the uploads is stored.
        """

    @property
    def conflicts(self) -> int:
        """How many records came since the start with an id that is there and other bytes, of those compared."""

    def status(self) -> StoreStatus:
        """Return how many reports there are."""

    def counts_by_key(self) -> dict[int, int]:
        """Return how many reports came with each key."""

    def rotate(self, *, few: bool = False) -> None:
        """End the open epoch, if it has reports, and begin another.

        Raises:
            TooFewError: it has fewer than are sealed together, and they are not wanted with ``few``.
        """

    def seal(self) -> int:
        """Turn the epochs that have ended into report files, and return how many.

        Raises:
            StoreFullError: the disk refuses; the reports stay where they are, and the next call tries again.
        """

    def settle(self) -> None:
        """Forget what tells in which order the last reports came, as none comes now."""

    def must_seal(self) -> bool:
        """Tell whether epochs have ended that are not sealed."""

    def names_key(self) -> bytes:
        """Return the secret by which names of files become submission ids, 32 bytes, drawn once for all time.

        Raises:
            FileError: it cannot be read or kept.
        """

    def close(self) -> None:
        """Let go of the store; what was stored stays."""


def seal_all(store: ReportStore, *, few: bool = False) -> int:
    """Seal what has ended and what is open, and return how many epochs that is; raises as ``seal`` and ``rotate``."""
    sealed = store.seal()
    store.rotate(few=few)
    return sealed + store.seal()


def take_in(uploads: Sequence[Upload], plan: "PublishedPlan", store: ReportStore) -> list[int | Refused]:
    """Check uploads and store those that are well formed, in one commit; the one way into a collection.

    Returns:
        Of each upload how many of its reports are new, or why it was refused.

    Raises:
        StoreFullError: the disk refuses; nothing of the uploads is stored.
    """
    refused = refuse_malformed(uploads, plan)
    good = [upload for upload, refusal in zip(uploads, refused, strict=True) if refusal is None]
    stored = iter(store.add(good) if good else [])
    return [refusal if refusal is not None else next(stored) for refusal in refused]


@dataclass(frozen=True, slots=True)
class Collecting:
    """A plan, where its reports are kept, and the ``folder`` of what is sealed and of its guidance.

    One that is ``closed`` takes no reports any more.
    """

    plan: "PublishedPlan"
    store: ReportStore
    folder: Path
    closed: bool = False


# ---- which reports count


@dataclass(frozen=True, slots=True)
class Accepted:
    """Of each upload how many of its reports count, or why it is refused; of each record whether it is stored."""

    results: list[int | Refused]
    stored: NDArray[np.bool_]


def accept(
    uploads: Sequence[Upload], ids: Sequence[bytes], known: Collection[bytes], used: Mapping[int, int]
) -> Accepted:
    """Decide on uploads in their order.

    Args:
        uploads: the group; no report in it is malformed.
        ids: the submission ids of all their records.
        known: of these ids those that were stored before.
        used: how many reports each key has sent before, of keys with a quota.

    An upload is taken whole or not at all: one whose new reports are more than its key has left is refused, and an id
    in it counts where a later upload brings it again. What was stored before costs nothing.
    """
    met, left = set(known), dict[int, int]()
    results, stored, end = list[int | Refused](), np.zeros(len(ids), dtype=np.bool_), 0
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
    return Accepted(results, stored)


def count_conflicts(ids: Sequence[bytes], records: NDArray[np.uint8], before: Mapping[bytes, bytes]) -> int:
    """Return how many records have an id of a record ``before`` or of an earlier one here, and other bytes."""
    first = dict(before)
    return sum(first.setdefault(each, row) != row for each, row in zip(ids, map(bytes, records), strict=True))


def _over_quota(new: int, room: int, quota: int) -> Refused:
    return Refused(
        429,
        "quota",
        f"this key may send {counted(quota, 'report')} and has {room:,} left; this request has {new:,} new, "
        "and none was stored",
        quota=quota,
        left=room,
    )


# ---- the folder's lock


def check_system() -> None:
    """Refuse a system on which two processes could change one collection.

    Raises:
        FileError: it has no flock.
    """
    if not HAS_FLOCK:
        raise FileError(
            "collections are served, gathered and changed on POSIX systems only (Linux, macOS, the BSDs); clients and "
            "what reads reports run here too"
        )


def check_owner(folder: Path) -> None:
    """Refuse root in the folder of another user, whose collector could not read what root writes there.

    Raises:
        FileError: so it is.
    """
    if os.geteuid() == 0 != (owner := folder.stat().st_uid):
        raise FileError(
            f"{folder} belongs to user {owner}, whose collector could not read what root writes there; run this as "
            "that user, as by runuser -u NAME"
        )


def flock(file: int, *, shared: bool = False, wait: bool = False) -> None:
    """Lock an open file or folder until it is closed; raises OSError where another process has it."""
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))


@contextlib.contextmanager
def for_owner() -> Iterator[None]:
    """Let nobody but the owner read what is made meanwhile, in all threads: a folder that was there may be open."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@dataclass(slots=True)
class FolderLock:
    """A folder that nobody else may serve, seal or change."""

    folder: Path
    _file: int
    _made: tuple[Path, ...]

    @classmethod
    def take(cls, folder: Path) -> "FolderLock":
        """Lock a folder, which is made if it is missing.

        Raises:
            FileError: it is locked, or cannot be.
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
            if not os.path.samestat(os.fstat(file), os.stat(path)):  # whoever had it has abandoned it
                raise FileNotFoundError
        except OSError:
            os.close(file)
            raise FileError(
                f"{folder} is in use by another process, which serves it or gathers into it; wait for it, or stop it"
            ) from None
        return cls(folder, file, tuple(made))

    def abandon(self) -> None:
        """Unlock the folder; of what was made for the lock nothing is left, but a folder that holds more by now."""
        with contextlib.suppress(OSError):
            for place in self._made:
                place.rmdir() if place == self.folder else place.unlink()
        self.release()

    def release(self) -> None:
        """Unlock the folder, once."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
