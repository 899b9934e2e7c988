"""Single reports in files or a stream, gathered into a collection.

A report is added exactly once, whenever a gatherer dies and however many work at a time. Which bytes are a report is
checked, and of several plans only a report's length tells which is its. Memory is bounded: 64 MiB of reports, or four
million, at a time.

Files are taken from an inbox into a batch, a hidden folder in it, ``.taking-…``, locked while its gatherer lives. A
file is taken by a rename, so of several gatherers one has it. What becomes of a batch, and what is on disk when:

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect.sealing import ReportFolder, holds_reports, is_one_file, shuffled
from assocpriv.files.atomic import sync_folder
from assocpriv.files.reports import IS_LEDGER, LEDGER_NAME
from assocpriv.plans.published import PublishedPlan, pack_reports, well_formed
from assocpriv.promise.errors import AssocprivError, FileError, PlanError, WireError, counted

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

_MOST_NAMED = 100  # of what is refused
_REPORT_FLAGS = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

_BLOCK = 1 << 26  # bytes of reports that are held, and brought into random order, at a time
_MOST_ROWS = 1 << 22  # of them
_STREAM = "-"
_ID_DIGITS = 12  # of a plan's id, that name its folder
Progress = Callable[[str, int, int], None]


# ---- batches of files


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


def _batch_folders(inbox: Path) -> list[str]:
    """Return the names of the folders of batches in an inbox, whoever's they are."""
    with os.scandir(inbox) as entries:
        return [entry.name for entry in entries if _NAME.fullmatch(entry.name)]


def _left_batches(inbox: Path) -> Iterator[Batch]:
    """Yield the batches in an inbox whose gatherers are dead, each locked."""
    if not _HAS_FLOCK:
        return
    for name in _batch_folders(inbox):
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


# ---- single reports


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that was left, or a report of a stream (its file is ``-``) that was passed over, and why."""

    file: str
    reason: str


@dataclass
class _Refusals:
    """What was refused: all are counted, the first hundred are named."""

    count: int = 0
    named: list[Refusal] = field(default_factory=list)

    def add(self, file: str, reason: str) -> None:
        """Count one more, and name it while there is room."""
        self.count += 1
        if len(self.named) < _MOST_NAMED:
            self.named.append(Refusal(file, reason))


class _SingleReports:
    """The single reports of some plans, each of another length.

    Raises:
        PlanError: two plans whose reports are of the same length.
    """

    def __init__(self, plans: Iterable[PublishedPlan]) -> None:
        self._by_length: dict[int, PublishedPlan] = {}
        for plan in plans:
            other = self._by_length.setdefault(plan.report_bytes, plan)
            if other.plan_id != plan.plan_id:
                length = counted(plan.report_bytes, "byte")
                raise PlanError(
                    f"reports of plan {other.plan_id[:12]} and of plan {plan.plan_id[:12]} both have {length}, so "
                    "nothing tells which is which; keep a folder for the reports of each, and gather one plan at a time"
                )

    @property
    def plans(self) -> list[PublishedPlan]:
        """The plans, as given; one that was given twice stands once."""
        return list(self._by_length.values())

    def read(self, path: str, folder: int | None = None) -> tuple[PublishedPlan, bytes]:
        """Return the plan of the report that a file is, and its bytes; its path may be from an open folder on.

        Raises:
            WireError: why the file is no report.
            FileNotFoundError: it is gone.
        """
        try:
            file = os.open(path, _REPORT_FLAGS, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            link = error.errno == errno.ELOOP
            raise WireError("is a link; name the file itself" if link else _unreadable(error)) from None
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise WireError("is no regular file")
            report = os.read(file, max(*self._by_length, len(LEDGER_NAME)) + 1)
        except OSError as error:
            raise WireError(_unreadable(error)) from None
        finally:
            os.close(file)
        if report.startswith(LEDGER_NAME):
            raise WireError(IS_LEDGER)
        return self._plan_of(report, max(status.st_size, len(report))), report

    def _plan_of(self, report: bytes, size: int) -> PublishedPlan:
        plan = self._by_length.get(len(report))
        if plan is None:
            allowed = " or ".join(f"{length:,}" for length in sorted(self._by_length))
            raise WireError(f"has {counted(size, 'byte')}, where a report has {allowed}")
        try:
            pack_reports([report], plan)
        except WireError as error:
            raise WireError(str(error).removeprefix("report 0 ")) from None
        return plan


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror}"


# ---- from inboxes to a collection


@dataclass(frozen=True, slots=True)
class GatheredPlan:
    """What a run gathered of one plan: how many reports, and how many its collection at ``path`` has now."""

    plan: PublishedPlan
    path: Path
    gathered: int
    reports: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a run gathered, of each plan, and what it refused: all counted, the first hundred named."""

    collections: tuple[GatheredPlan, ...]
    refused_count: int
    refused: tuple[Refusal, ...]

    @property
    def gathered(self) -> int:
        """How many reports, of all plans."""
        return sum(each.gathered for each in self.collections)


@dataclass
class _Inbox:
    """A folder of single reports; ``names`` are the files of it that are meant, None for all that are not hidden."""

    folder: Path
    names: dict[str, None] | None = field(default_factory=dict)

    def files(self) -> Iterator[str]:
        """Yield the names of the files."""
        if self.names is not None:
            yield from self.names
            return
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and not entry.is_dir(follow_symlinks=False):
                    yield entry.name


def gather_files(
    sources: Iterable[Path],
    plans: Sequence[PublishedPlan],
    output: Path,
    *,
    keep: bool = False,
    progress: Progress | None = None,
) -> Gathered:
    """Gather files of single reports; arguments and errors as of :func:`assocpriv.gather`."""
    forms, inboxes, refusals = _SingleReports(plans), _inboxes(sources), _Refusals()
    collections = _collections(forms.plans, output)
    _refuse_inbox(output, inboxes)
    for collection in collections:
        collection.check(new=keep)
    if keep:
        for inbox in inboxes:
            if waiting := _batch_folders(inbox.folder):
                raise FileError(
                    f"{inbox.folder / waiting[0]} holds files that another run has taken; let it end, or first gather "
                    "without --keep (keep=True), which finishes what a dead run left"
                )
        for collection in collections:
            collection.check_free()
        counts = [_copy(collection, inboxes, forms, refusals) for collection in collections]
    else:
        counts = _move(collections, inboxes, forms, refusals, progress or (lambda *_: None))
    return _outcome(collections, counts, refusals)


def gather_stream(stream: BinaryIO, plan: PublishedPlan, output: Path) -> Gathered:
    """Gather a stream of reports, one after another; arguments and errors as of :func:`assocpriv.gather`."""
    (collection,), refusals = _collections([plan], output), _Refusals()
    collection.check(new=False)
    collection.check_free()
    gathered = collection.add(_stream_blocks(stream, plan, refusals), ())
    return _outcome([collection], [gathered], refusals)


def _outcome(collections: Sequence[ReportFolder], counts: Sequence[int], refusals: _Refusals) -> Gathered:
    done = (
        GatheredPlan(collection.plan, collection.path, gathered, collection.count())
        for collection, gathered in zip(collections, counts, strict=True)
    )
    return Gathered(tuple(done), refusals.count, tuple(sorted(refusals.named, key=lambda refusal: refusal.file)))


def _collections(plans: Sequence[PublishedPlan], output: Path) -> list[ReportFolder]:
    if not output.absolute().parent.is_dir():
        raise FileError(f"the folder {output.parent} does not exist; make it first")
    folders = [output / plan.plan_id[:_ID_DIGITS] for plan in plans]
    if len(plans) == 1:
        if folders[0].is_dir():
            raise FileError(f"{output} has a folder for each of several plans; name {folders[0]}, which is this plan's")
        return [ReportFolder(output, plans[0])]
    if is_one_file(output):
        raise FileError(f"{output} can hold reports of one plan only; name a folder for those of several")
    if holds_reports(output):
        raise FileError(f"{output} is the collection of one plan; name another folder for those of several")
    return [ReportFolder(folder, plan) for folder, plan in zip(folders, plans, strict=True)]


def _inboxes(sources: Iterable[Path]) -> list[_Inbox]:
    """Return the folders to look into, each once; a file that is also in a folder that is named is met there."""
    found: dict[str, _Inbox] = {}
    for source in sources:
        whole = source.is_dir()
        folder = source if whole else source.parent
        inbox = found.setdefault(os.path.realpath(folder), _Inbox(folder))
        if whole:
            inbox.names = None
        elif inbox.names is not None:
            inbox.names[source.name] = None
    return list(found.values())


def _refuse_inbox(output: Path, inboxes: Iterable[_Inbox]) -> None:
    """Refuse to gather into an inbox, where the collection's files would be met as reports."""
    place = os.path.realpath(output.parent if is_one_file(output) else output)
    for inbox in inboxes:
        if inbox.names is None and os.path.realpath(inbox.folder) == place:
            raise FileError(f"{output} is in the inbox {inbox.folder}; name another folder for the collection")


# ---- files that are taken


def _move(
    collections: Sequence[ReportFolder],
    inboxes: Sequence[_Inbox],
    forms: _SingleReports,
    refusals: _Refusals,
    progress: Progress,
) -> list[int]:
    """Take files, add them to their collections and remove them; whatever fails, no report is lost or doubled."""
    batches: list[tuple[Batch, ReportFolder]] = []
    try:
        for inbox in inboxes:
            _resume(inbox, collections, batches)
        for collection in collections:
            _clear_added(collection, batches)
            collection.check_free()
        for inbox in inboxes:
            _take(inbox, collections, forms, batches, refusals, progress)
        return [_add(collection, batches, forms, refusals) for collection in collections]
    except BaseException as error:
        for batch, collection in batches:
            _undo(batch, collection)
        if isinstance(error, OSError):
            raise FileError(
                f"cannot take files from their folder: {error.strerror or error}; --keep (keep=True) only reads them"
            ) from error
        raise
    finally:
        for batch, _ in batches:
            batch.release()


def _resume(inbox: _Inbox, collections: Sequence[ReportFolder], batches: list[tuple[Batch, ReportFolder]]) -> None:
    """Lock what dead gatherers left in an inbox; refuse if that was meant for another collection."""
    ours = {collection.target: collection for collection in collections}
    for batch in _left_batches(inbox.folder):
        if batch.target is None:
            try:
                batch.put_back_all()
            finally:
                batch.release()
        elif batch.target in ours:
            batches.append((batch, ours[batch.target]))
        else:
            batch.release()
            plan_id, path = batch.target
            raise FileError(
                f"{batch.folder} holds files that were being gathered into {path}, of plan {plan_id[:12]}, when that "
                f"broke off; first run assocpriv gather {quote(str(inbox.folder))} -o {quote(path)} with that plan. If "
                f"that collection is no more, move the files back into {inbox.folder} and remove the folder"
            )


def _clear_added(collection: ReportFolder, batches: list[tuple[Batch, ReportFolder]]) -> None:
    """Remove the files of what dead gatherers added but did not clear."""
    left = [batch for batch, its in batches if its is collection]
    for batch in left:
        collection.sweep(batch.id)
        if collection.has(batch.id):
            collection.sync()  # their gatherer may have died before it had
            batch.clear()
            batches.remove((batch, collection))


def _take(
    inbox: _Inbox,
    collections: Sequence[ReportFolder],
    forms: _SingleReports,
    batches: list[tuple[Batch, ReportFolder]],
    refusals: _Refusals,
    progress: Progress,
) -> None:
    """Take the files of an inbox that are reports, each plan's into a batch of their own."""
    by_plan = {collection.plan.plan_id: collection for collection in collections}
    begun: dict[str, Batch] = {}
    total = sum(1 for _ in inbox.files())
    for done, name in enumerate(inbox.files()):
        progress("taking", done, total)
        found = _read_file(inbox, name, forms, refusals)
        if found is None:
            continue
        plan_id = found[0].plan_id
        if plan_id not in begun:
            begun[plan_id] = Batch.begin(inbox.folder, by_plan[plan_id].target)
            batches.append((begun[plan_id], by_plan[plan_id]))
        begun[plan_id].take(name)
    progress("taking", total, total)


def _read_file(
    inbox: _Inbox, name: str, forms: _SingleReports, refusals: _Refusals
) -> tuple[PublishedPlan, bytes] | None:
    """Return a file's report and its plan; None if it is none, which is noted, or if another gatherer has it."""
    try:
        return forms.read(os.path.join(inbox.folder, name))
    except WireError as error:
        refusals.add(str(inbox.folder / name), str(error))
    except FileNotFoundError:
        if inbox.names is not None:
            refusals.add(str(inbox.folder / name), "is not there")
    return None


def _add(
    collection: ReportFolder, batches: Sequence[tuple[Batch, ReportFolder]], forms: _SingleReports, refusals: _Refusals
) -> int:
    """Add the reports of a collection's batches to it, then remove their files."""
    its = [batch for batch, to in batches if to is collection]
    for batch in its:
        batch.settle()
    reports = (report for batch in its for report in _reports_taken(batch, collection.plan, forms, refusals))
    gathered = collection.add(_blocks(reports, collection.plan), [batch.id for batch in its])
    for batch in its:
        batch.clear()
    return gathered


def _reports_taken(batch: Batch, plan: PublishedPlan, forms: _SingleReports, refusals: _Refusals) -> Iterator[bytes]:
    """Yield the reports of a batch; what is none any more, being written to while it was taken, is given back."""
    changed = []
    for name in batch.names():
        try:
            found, report = forms.read(name, batch.opened)
            if found.plan_id != plan.plan_id:
                raise WireError("was written to while it was taken")
        except WireError as error:
            refusals.add(str(batch.inbox / name), str(error))
            changed.append(name)
        else:
            yield report
    # not while the folder is listed: a name that its listing skipped would be removed without having been read
    for name in changed:
        batch.put_back(name)


def _undo(batch: Batch, collection: ReportFolder) -> None:
    """Give files back, unless their reports are in the collection, or nobody knows; the next run then sees to it."""
    with contextlib.suppress(AssocprivError, OSError):
        if not collection.has(batch.id):
            batch.put_back_all()


# ---- files that stay


def _copy(collection: ReportFolder, inboxes: Sequence[_Inbox], forms: _SingleReports, refusals: _Refusals) -> int:
    """Add the reports of one plan to its collection, and leave their files."""

    def reports() -> Iterator[bytes]:
        noted = refusals if collection.plan is forms.plans[0] else _Refusals()  # each file is read once a plan
        for inbox in inboxes:
            for name in inbox.files():
                found = _read_file(inbox, name, forms, noted)
                if found is not None and found[0] is collection.plan:
                    yield found[1]

    return collection.add(_blocks(reports(), collection.plan), (), only=True)


def _rows(plan: PublishedPlan) -> int:
    return max(1, min(_MOST_ROWS, _BLOCK // plan.report_bytes))


def _blocks(reports: Iterable[bytes], plan: PublishedPlan) -> Iterator[NDArray[np.uint8]]:
    """Yield reports as uint8 arrays of shape (n, report_bytes), each in random order."""
    block = np.empty((_rows(plan), plan.report_bytes), dtype=np.uint8)
    filled = 0
    for report in reports:
        block[filled] = np.frombuffer(report, dtype=np.uint8)
        filled += 1
        if filled == len(block):
            yield shuffled(block)
            filled = 0
    if filled:
        yield shuffled(block[:filled])


# ---- streams


def _stream_blocks(stream: BinaryIO, plan: PublishedPlan, refusals: _Refusals) -> Iterator[NDArray[np.uint8]]:
    """Yield the reports of a stream, in blocks of random order; note those that no client can have sent."""
    length, before = plan.report_bytes, 0
    while content := _read(stream, _rows(plan) * length):
        if not before and content.startswith(LEDGER_NAME):
            raise WireError(f"standard input {IS_LEDGER}")
        whole, rest = divmod(len(content), length)
        packed = np.frombuffer(content, dtype=np.uint8)[: whole * length].reshape(whole, length)
        good = well_formed(packed, plan)
        for row in np.flatnonzero(~good).tolist():
            _note(packed[row : row + 1], before + row + 1, plan, refusals)
        if good.any():
            yield shuffled(packed[good])
        before += whole
        if rest:
            refusals.add(
                _STREAM, f"the stream ends within report {before + 1:,}, of which it has {rest} of {length} bytes"
            )


def _note(packed: NDArray[np.uint8], position: int, plan: PublishedPlan, refusals: _Refusals) -> None:
    try:
        plan.check_form(packed, first=position)
    except WireError as error:
        refusals.add(_STREAM, str(error))


def _read(stream: BinaryIO, size: int) -> bytes:
    """Read so many bytes, fewer only where the stream ends."""
    parts, missing = [], size
    while missing and (part := stream.read(missing)):
        if not isinstance(part, bytes):
            raise TypeError("a stream of reports must be open for bytes, not for text: sys.stdin.buffer, open(…, 'rb')")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def gather(
    sources: str | PathLike[str] | BinaryIO | Iterable[str | PathLike[str]],
    plan: PublishedPlan | Iterable[PublishedPlan],
    output: str | PathLike[str],
    *,
    keep: bool = False,
    progress: Progress | None = None,
) -> Gathered:
    """Gather single reports, as ``assocpriv report`` writes and devices send them, into a collection.

    A file is one report, and is **removed** when the collection has it on disk. Whenever a gatherer is killed, and
    however many work on a folder at a time, the collection gets each report once: the next run finishes what one left.
    What is no report stays where it is.

    Args:
        sources: a folder, whose files are reports but for those that are hidden or in folders below; a file; a list
            of these; or a stream that is open for bytes, of reports one after another.
        plan: the plan of the reports, or several plans whose reports differ in length. A stream takes one.
        output: a folder, made if it is missing, which gets one report file more; or a new file that ends in .parquet.
            For several plans a folder with one for each, named by the first 12 digits of the plan's id.
        keep: leave the files where they are; the output must hold no reports yet, or it would have them twice (of two
            such runs at once, one is refused).
        progress: called with (what is done, done, total).

    Returns:
        What was gathered of each plan, and what was refused. Reports are written in random order, up to four million
        or 64 MiB at a time, without names and times.

    Raises:
        FileError: an output that cannot be written or is the inbox, files that cannot be taken, or files that a
            gatherer has taken for another collection and left.
        WireError: an output that holds reports of another plan.
        PlanError: plans whose reports have the same length, or several for a stream.
        TypeError: no plan, or names and streams of another type.

    >>> from io import BytesIO
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> sent = [ap.randomize({"milk"}, made), ap.randomize({"tea"}, made)]
    >>> ap.gather(BytesIO(b"".join(sent)), made, f"{mkdtemp()}/reports.parquet").gathered
    2
    """

    plans = [plan] if isinstance(plan, PublishedPlan) else list(plan or ())
    if not plans or not all(isinstance(each, PublishedPlan) for each in plans):
        raise TypeError("plan must be a Plan, or a list of plans (read_plan reads one from a file)")
    if not hasattr(sources, "read"):
        listed = [sources] if isinstance(sources, str | PathLike) else list(sources)
        if not listed or not all(isinstance(source, str | PathLike) and str(source) for source in [*listed, output]):
            raise TypeError("sources and output must be names of files and folders, none of them empty")
        return gather_files(map(Path, listed), plans, Path(output), keep=keep, progress=progress)
    if keep:
        raise FileError("keep leaves files where they are, and a stream has none")
    if len(plans) > 1:
        raise PlanError("reports of several plans cannot be told apart in a stream; gather it with one plan")
    return gather_stream(cast("BinaryIO", sources), plans[0], Path(output))
