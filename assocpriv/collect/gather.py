"""Gather files of single reports into a collection.

Reports in files are checked, stored and closed into batches by the same code as reports over HTTP. A file is one
report. Its submission id is a keyed hash of its name, with a secret that the store draws once, so a file that returns
under its name counts once. The order of writes:

    1. store    one commit stores a block of files
    2. remove   these files are removed; after a power cut their names may return, and they do not count again
    3. close    at the end of a run the batch is closed if it has the minimum size, by default a thousand reports:
                neither names, dates nor order survive. Otherwise it stays open for later runs, in the order of reading

A run that is killed before 2 leaves files with known ids: the next run removes them. One that is killed before 3 leaves
an open batch, which the next run closes first. Nothing else is written.

Each file is checked for being a report. With several plans, only the length of a report shows its plan.
"""

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from os import PathLike
from pathlib import Path

from assocpriv.collect.batch_closing import is_ended
from assocpriv.collect.folder import locked_store
from assocpriv.collect.store import (
    BatchTooSmallError,
    ReportStore,
    RequestRefused,
    StoreStatus,
    check_system,
    close_all_batches,
    private_umask,
    read_upload,
    store_uploads,
)
from assocpriv.files.open_batches import PLAN_FILE
from assocpriv.files.report_files import IS_LEDGER, LEDGER_NAME
from assocpriv.guarantees.errors import FileError, PlanError, WireError, pluralize
from assocpriv.plans.published_plan import ID_BYTES, PublishedPlan, pack_reports

_LOG = logging.getLogger("assocpriv")
_MOST_NAMED = 100  # refused files
_BLOCK_FILES, _BLOCK_BYTES = 4096, 4 << 20  # stored by one commit
_ID_DIGITS = 12  # of a plan's id, in the name of its folder
Progress = Callable[[str, int, int], None]


# ---- results of a run


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that was left in place, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class GatheredPlan:
    """The result of a run for one plan: its collection at ``path`` now holds ``reports``.

    Of these ``open`` are in the open batch, which is below the minimum size. ``repeated`` files had names of files
    that were gathered before, and did not count.
    """

    plan: PublishedPlan
    path: Path
    gathered: int
    repeated: int
    reports: int
    open: int


@dataclass(frozen=True, slots=True)
class GatherResult:
    """The result of a run.

    Attributes:
        collections: the result for each plan.
        refused_count: number of refused files.
        refused: the refused files with the reason, at most a hundred.
    """

    collections: tuple[GatheredPlan, ...]
    refused_count: int
    refused: tuple[RefusedFile, ...]

    @property
    def gathered(self) -> int:
        """Number of gathered reports of all plans."""
        return sum(each.gathered for each in self.collections)

    @property
    def repeated(self) -> int:
        """Number of repeated files of all plans."""
        return sum(each.repeated for each in self.collections)


@dataclass
class _RefusedFiles:
    """Refused files: all are counted, the first hundred listed."""

    count: int = 0
    named: list[RefusedFile] = field(default_factory=list)

    def add(self, file: str, reason: str) -> None:
        """Count one more, and list it while there is room."""
        self.count += 1
        if len(self.named) < _MOST_NAMED:
            self.named.append(RefusedFile(file, reason))


# ---- single reports


class _ReportForms:
    """The report lengths of some plans, all different.

    Raises:
        PlanError: two plans with reports of the same length.
    """

    def __init__(self, plans: Iterable[PublishedPlan]) -> None:
        self._by_length: dict[int, PublishedPlan] = {}
        for plan in plans:
            other = self._by_length.setdefault(plan.report_bytes, plan)
            if other.plan_id != plan.plan_id:
                length = pluralize(plan.report_bytes, "byte")
                raise PlanError(
                    f"reports of plan {other.plan_id[:12]} and of plan {plan.plan_id[:12]} both have {length}, so they "
                    "cannot be distinguished; keep them in two folders, and gather one plan at a time"
                )

    @property
    def plans(self) -> list[PublishedPlan]:
        """The plans in their order; repeated ones once."""
        return list(self._by_length.values())

    def read(self, path: Path) -> tuple[PublishedPlan, bytes]:
        """Return the plan and the bytes of the report in a file.

        Raises:
            WireError: why the file is no report.
            FileNotFoundError: it is gone.
        """
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe must not block the run
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
            partial = "partly written and stays in place until complete (write a report elsewhere, then rename it)"
            found = "no single report" if size > max(self._by_length) else partial
            raise WireError(
                f"has {pluralize(size, 'byte')}, where a report has {allowed}; it is {found}, or of another plan: name "
                "that plan"
            )
        try:
            pack_reports([report], plan)
        except WireError as error:
            raise WireError(str(error).removeprefix("report 0 ")) from None
        return plan


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror}"


# ---- inboxes


@dataclass
class _Inbox:
    """A folder of single reports; ``names`` are the files to gather, None for all but hidden ones and ``.tmp``.

    ``skipped`` are the names of the others, folders included.
    """

    folder: Path
    names: dict[str, None] | None = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def files(self) -> Iterator[Path]:
        """Yield the files."""
        if self.names is not None:
            yield from (self.folder / name for name in self.names)
            return
        self.skipped = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name.endswith(".tmp") or entry.is_dir(follow_symlinks=False):
                    self.skipped.append(entry.name)
                else:
                    yield self.folder / entry.name

    def reports(self, forms: _ReportForms, refusals: _RefusedFiles) -> Iterator[tuple[PublishedPlan, Path, bytes]]:
        """Yield the files that are reports, each with its plan and bytes; record the others."""
        for path in self.files():
            try:
                plan, report = forms.read(path)
            except WireError as error:
                refusals.add(str(path), str(error))
            except FileNotFoundError:
                if self.names is not None:
                    refusals.add(str(path), "does not exist")
            else:
                yield plan, path, report


def _inboxes(sources: Iterable[Path]) -> list[_Inbox]:
    """Return the folders to read, each once; a file is read once, also if its folder is named."""
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


# ---- inboxes into collections


class _Collection:
    """The collection of one plan, and the block of files that is not stored yet.

    It is made when there is something to store.
    """

    def __init__(self, plan: PublishedPlan, path: Path, url: str | None, opened: ExitStack) -> None:
        self.plan, self.path, self._url, self._opened = plan, path, url, opened
        self.gathered = self.repeated = 0
        self._block: dict[Path, bytes] = {}
        self._store: ReportStore | None = None
        if path.exists():
            self._open()
            self.close_batches()  # batches left by a killed run; if closing fails, no file is touched

    def _open(self) -> ReportStore:
        if is_ended(self.path):
            raise FileError(f"{self.path} has ended: the collection takes no more reports; name another folder")
        with suppress(OSError):  # for several plans, the folder of their folders
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
        self._store = self._opened.enter_context(locked_store(self.path, self.plan, self._url))
        return self._store

    def add(self, path: Path, report: bytes) -> None:
        """Add a file's report; the file is removed when its block is stored."""
        self._block[path] = report
        if len(self._block) >= _BLOCK_FILES or len(self._block) * self.plan.report_bytes >= _BLOCK_BYTES:
            self.store()

    def store(self) -> None:
        """Store the block, then remove its files."""
        if not self._block:
            return
        store = self._store or self._open()
        key = store.names_key()
        body = b"".join([submission_id(path.name, key) + report for path, report in self._block.items()])
        (new,) = store_uploads([read_upload(body, self.plan)], self.plan, store)
        if isinstance(new, RequestRefused):
            raise FileError(new.message)
        self.gathered += new
        self.repeated += len(self._block) - new
        for path in self._block:
            path.unlink(missing_ok=True)
        self._block.clear()
        if store.has_pending():
            store.close_pending()

    def close_batches(self) -> None:
        """Close the open batch if it has the minimum size."""
        if self._store is not None:
            with suppress(BatchTooSmallError):
                close_all_batches(self._store)

    def outcome(self) -> GatheredPlan:
        """Return the result of a run."""
        held = StoreStatus(0, 0, 0, 0) if self._store is None else self._store.status()
        return GatheredPlan(self.plan, self.path, self.gathered, self.repeated, held.reports, held.open)


def submission_id(name: str, key: bytes) -> bytes:
    """Return the submission id of a file's report: BLAKE2b of its name, 16 bytes, with the store's key.

    >>> submission_id("r1.bin", bytes(32)).hex()
    '471541db9364f0a5fd27fb66ce01c763'
    """
    return blake2b(os.fsencode(name), digest_size=ID_BYTES, key=key).digest()


def _places(plans: Sequence[PublishedPlan], output: Path, inboxes: Iterable[_Inbox]) -> list[Path]:
    """Return the folder of each plan's collection.

    Raises:
        FileError: the output is a file, an inbox, or a folder for several plans where one is given, or the reverse.
    """
    if output.suffix.lower() == ".parquet":
        raise FileError(f"{output} is a file name, but a collection is a folder; name a folder")
    if not output.absolute().parent.is_dir():
        raise FileError(f"the folder {output.parent} does not exist; make it first")
    whole = [os.path.realpath(inbox.folder) for inbox in inboxes if inbox.names is None]
    if os.path.realpath(output) in whole:
        raise FileError(f"{output} is an inbox; name another folder for the collection")
    folders = [output / plan.plan_id[:_ID_DIGITS] for plan in plans]
    if len(plans) > 1:
        if (output / PLAN_FILE).exists():
            raise FileError(f"{output} is the collection of one plan; name another folder for those of several")
        return folders
    if folders[0].is_dir():
        raise FileError(f"{output} has folders of several plans; name {folders[0]}, which is this plan's")
    return [output]


def _gather(
    inboxes: Sequence[_Inbox],
    forms: _ReportForms,
    collections: Mapping[str, _Collection],
    refusals: _RefusedFiles,
    progress: Progress,
) -> None:
    """Store the reports of all inboxes, remove their files, then close batches."""
    total, done = sum(1 for inbox in inboxes for _ in inbox.files()), 0
    for inbox in inboxes:
        if inbox.skipped:
            _LOG.info(
                "%s: %d skipped: hidden, .tmp or a folder, as %r", inbox.folder, len(inbox.skipped), min(inbox.skipped)
            )
    try:
        for inbox in inboxes:
            for plan, path, report in inbox.reports(forms, refusals):
                progress("gathering", done, total)
                collections[plan.plan_id].add(path, report)
                done += 1
        for collection in collections.values():
            collection.store()
    except OSError as error:
        raise FileError(
            f"cannot remove files from their folder: {error.strerror or error}; mend that and gather again: each "
            "report counts once"
        ) from None
    for collection in collections.values():
        collection.close_batches()
    progress("gathering", total, total)


def gather(
    sources: str | PathLike[str] | Iterable[str | PathLike[str]],
    plan: PublishedPlan | Iterable[PublishedPlan],
    output: str | PathLike[str],
    *,
    store: str | None = None,
    progress: Progress | None = None,
) -> GatherResult:
    """Gather files of single reports, as ``assocpriv report`` writes and devices send them, into a collection.

    A file is one report, identified by its name, and is **removed** once the collection has it on disk. If a run is
    killed, the next run finishes it, and each report counts once. A file whose name was gathered before is the same
    report again: it does not count, and is removed. A file that is no report stays in place.

    Args:
        sources: a folder, whose files are reports, except hidden files and subfolders; a file; or a list of these.
        plan: the plan of the reports, or several plans whose reports differ in length.
        output: the folder of a collection, made if missing, in a collector's format; no collector may serve it
            meanwhile. For several plans a folder with one subfolder each, named by 12 digits of the plan's id.
        store: as in :func:`assocpriv.collect.make_service`; the reports are stored without a key.
        progress: called with (step, files done, files in all).

    Returns:
        The gathered reports of each plan, and the refused files. A batch of a thousand reports or more is closed: its
        file is in random order, without names and times. A smaller one stays open, and mining reads it meanwhile.

    Raises:
        FileError: an output that cannot be written, is in use, has ended, is of another plan or is the inbox; files
            that cannot be removed; or a full disk.
        PlanError: plans with reports of the same length, or one with a central guarantee.
        TypeError: no plan, or names of another type.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = Path(mkdtemp())
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> (folder / "inbox").mkdir()
    >>> for name in ("1.bin", "2.bin"):
    ...     _ = (folder / "inbox" / name).write_bytes(ap.randomize({"milk"}, made))
    >>> ap.gather(folder / "inbox", made, folder / "collection").gathered
    2
    """
    check_system()
    plans = [plan] if isinstance(plan, PublishedPlan) else list(plan or ())
    if not plans or not all(isinstance(each, PublishedPlan) for each in plans):
        raise TypeError("plan must be a Plan, or a list of plans (read_plan reads one from a file)")
    selected = [sources] if isinstance(sources, str | PathLike) else list(sources)
    if not selected or not all(isinstance(source, str | PathLike) and str(source) for source in [*selected, output]):
        raise TypeError("sources and output must be names of files and folders, none of them empty")
    forms, inboxes, refusals = _ReportForms(plans), _inboxes(map(Path, selected)), _RefusedFiles()
    if any(each.central is not None for each in forms.plans):
        raise PlanError(
            "a file shows its owner, date and sender, but a central guarantee hides senders: collect reports of this "
            "plan through a relay (serve --oblivious)"
        )
    places = _places(forms.plans, Path(output), inboxes)
    with private_umask(), ExitStack() as opened:
        collections = {
            plan.plan_id: _Collection(plan, path, store, opened) for plan, path in zip(forms.plans, places, strict=True)
        }
        _gather(inboxes, forms, collections, refusals, progress or (lambda *_: None))
        done = tuple(collection.outcome() for collection in collections.values())
    return GatherResult(done, refusals.count, tuple(sorted(refusals.named, key=lambda refusal: refusal.file)))
