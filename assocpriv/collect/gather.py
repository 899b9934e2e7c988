"""Single reports in files, gathered into a collection.

Reports in files go the way of those that are sent over HTTP: they are checked, stored and sealed by what a collector
checks, stores and seals with. A file is one report. Its submission id is a keyed hash of its name, by a secret that the
store draws once, so a file that comes again under its name counts once. What is on disk when:

    1. store    a block of files is stored by one commit
    2. remove   these files are removed; a power cut may bring their names back, and they count no more
    3. seal     at the end of a run all is sealed, if that is a thousand reports or more: neither names, dates nor order
                survive. Fewer wait for those of later runs, in the order in which they were read

A run that is killed before 2 leaves files whose ids are known: the next one removes them. One that is killed before 3
leaves an open epoch, which the next one seals first. Nothing else is written down.

Which bytes are a report is checked for each file. Of several plans only a report's length tells which is its.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from os import PathLike
from pathlib import Path

from assocpriv.collect.folder import locked_store
from assocpriv.collect.sealing import is_closed
from assocpriv.collect.store import (
    ReportStore,
    StoreStatus,
    TooFewError,
    check_system,
    for_owner,
    seal_all,
    take_in,
)
from assocpriv.collect.wire import Refused, read_upload
from assocpriv.files.reports import IS_LEDGER, LEDGER_NAME
from assocpriv.files.unsealed import PLAN_FILE
from assocpriv.plans.published import ID_BYTES, PublishedPlan, pack_reports
from assocpriv.promise.errors import FileError, PlanError, WireError, counted

_MOST_NAMED = 100  # of what is refused
_BLOCK_FILES, _BLOCK_BYTES = 4096, 4 << 20  # stored by one commit
_ID_DIGITS = 12  # of a plan's id, that name its folder
Progress = Callable[[str, int, int], None]


# ---- what a run comes to


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that was left where it is, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class GatheredPlan:
    """What a run gathered of one plan into the collection at ``path``, which holds so many ``reports`` now.

    Of these ``unsealed`` ones wait until there are enough to be sealed together. ``repeated`` files had names of files
    that were gathered before, and did not count.
    """

    plan: PublishedPlan
    path: Path
    gathered: int
    repeated: int
    reports: int
    unsealed: int


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

    @property
    def repeated(self) -> int:
        """How many files were known by their names, of all plans."""
        return sum(each.repeated for each in self.collections)


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


# ---- single reports


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

    def read(self, path: Path) -> tuple[PublishedPlan, bytes]:
        """Return the plan of the report that a file is, and its bytes.

        Raises:
            WireError: why the file is no report.
            FileNotFoundError: it is gone.
        """
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe must not hold a run up
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

    def _remedy(self, size: int) -> str:
        if size > max(self._by_length):
            return "it is of another plan, so name that one, or no single report"
        return (
            "it is half-written, and stays there until it is whole (write a report elsewhere, then rename it), or of "
            "another plan, so name that one"
        )

    def _plan_of(self, report: bytes, size: int) -> PublishedPlan:
        plan = self._by_length.get(len(report))
        if plan is None:
            allowed = " or ".join(f"{length:,}" for length in sorted(self._by_length))
            raise WireError(f"has {counted(size, 'byte')}, where a report has {allowed}; {self._remedy(size)}")
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
    """A folder of single reports; ``names`` are the files of it that are meant, None for all that are not hidden."""

    folder: Path
    names: dict[str, None] | None = field(default_factory=dict)

    def files(self) -> Iterator[Path]:
        """Yield the files."""
        if self.names is not None:
            yield from (self.folder / name for name in self.names)
            return
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and not entry.is_dir(follow_symlinks=False):
                    yield self.folder / entry.name

    def reports(self, forms: _SingleReports, refusals: _Refusals) -> Iterator[tuple[PublishedPlan, Path, bytes]]:
        """Yield the files that are reports, each with its plan and bytes; note the others."""
        for path in self.files():
            try:
                plan, report = forms.read(path)
            except WireError as error:
                refusals.add(str(path), str(error))
            except FileNotFoundError:
                if self.names is not None:
                    refusals.add(str(path), "is not there")
            else:
                yield plan, path, report


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


# ---- from inboxes to collections


class _Collection:
    """The collection that one plan's reports are gathered into, and the block of files that is not stored yet.

    It is made when there is something to store.
    """

    def __init__(self, plan: PublishedPlan, path: Path, url: str | None, opened: ExitStack) -> None:
        self.plan, self.path, self._url, self._opened = plan, path, url, opened
        self.gathered = self.repeated = 0
        self._block: dict[Path, bytes] = {}
        self._store: ReportStore | None = None
        if path.exists():
            self._open()
            self.seal()  # what a run that was killed has left; and where nothing can be sealed, no file is touched

    def _open(self) -> ReportStore:
        if is_closed(self.path):
            raise FileError(f"{self.path} is closed: the collection has ended, and takes no more reports")
        with suppress(OSError):  # of several plans, the folder above theirs
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
        self._store = self._opened.enter_context(locked_store(self.path, self.plan, self._url))
        return self._store

    def add(self, path: Path, report: bytes) -> None:
        """Take a file's report; its file goes when its block is stored."""
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
        (new,) = take_in([read_upload(body, self.plan)], self.plan, store)
        if isinstance(new, Refused):
            raise FileError(new.message)
        self.gathered += new
        self.repeated += len(self._block) - new
        for path in self._block:
            path.unlink(missing_ok=True)
        self._block.clear()
        if store.must_seal():
            store.seal()

    def seal(self) -> None:
        """Seal all that the collection has, if that is enough to be sealed together."""
        if self._store is not None:
            with suppress(TooFewError):
                seal_all(self._store)

    def outcome(self) -> GatheredPlan:
        """Return what a run came to."""
        held = StoreStatus(0, 0, 0, 0) if self._store is None else self._store.status()
        return GatheredPlan(self.plan, self.path, self.gathered, self.repeated, held.reports, held.unsealed)


def submission_id(name: str, key: bytes) -> bytes:
    """Return the submission id of a file's report: BLAKE2b of its name, 16 bytes, with the store's key.

    >>> submission_id("r1.bin", bytes(32)).hex()
    '471541db9364f0a5fd27fb66ce01c763'
    """
    return blake2b(os.fsencode(name), digest_size=ID_BYTES, key=key).digest()


def _places(plans: Sequence[PublishedPlan], output: Path, inboxes: Iterable[_Inbox]) -> list[Path]:
    """Return the folder of each plan's collection.

    Raises:
        FileError: the output is a file, is an inbox, or is for several plans where one is given, or the reverse.
    """
    if output.suffix.lower() == ".parquet":
        raise FileError(f"{output} is no name of a collection, which is a folder; name a folder")
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
        raise FileError(f"{output} has a folder for each of several plans; name {folders[0]}, which is this plan's")
    return [output]


def _gather(
    inboxes: Sequence[_Inbox],
    forms: _SingleReports,
    collections: Mapping[str, _Collection],
    refusals: _Refusals,
    progress: Progress,
) -> None:
    """Store the reports of all inboxes and remove their files, then seal."""
    total, done = sum(1 for inbox in inboxes for _ in inbox.files()), 0
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
            f"cannot take files from their folder: {error.strerror or error}; what is stored of them counts once, so "
            "gather them again when that is mended"
        ) from None
    for collection in collections.values():
        collection.seal()
    progress("gathering", total, total)


def gather(
    sources: str | PathLike[str] | Iterable[str | PathLike[str]],
    plan: PublishedPlan | Iterable[PublishedPlan],
    output: str | PathLike[str],
    *,
    store: str | None = None,
    progress: Progress | None = None,
) -> Gathered:
    """Gather single reports, as ``assocpriv report`` writes and devices send them, into a collection.

    A file is one report, known by its name, and is **removed** when the collection has it on disk. Whenever a run is
    killed, the collection gets each report once: the next run finishes what one left. A file whose name was gathered
    before is the same report again: it does not count, and is removed. What is no report stays where it is.

    Args:
        sources: a folder, whose files are reports but for those that are hidden or in folders below; a file; or a list
            of these.
        plan: the plan of the reports, or several plans whose reports differ in length.
        output: the folder of a collection, made if it is missing, as a collector serves it; no collector may serve it
            meanwhile. For several plans a folder with one for each, named by the first 12 digits of the plan's id.
        store: as of :func:`assocpriv.collect.make_service`; reports come there without a key.
        progress: called with (what is done, files done, files in all).

    Returns:
        What was gathered of each plan, and what was refused. Reports are sealed, a thousand or more together: in random
        order, without names and times. Fewer wait for those of later runs, and are mined meanwhile.

    Raises:
        FileError: an output that cannot be written, is in use, is closed, is of another plan or is the inbox; files
            that cannot be removed; or a full disk.
        PlanError: plans whose reports have the same length, or one with a central promise.
        TypeError: no plan, or names of another type.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = Path(mkdtemp())
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
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
    listed = [sources] if isinstance(sources, str | PathLike) else list(sources)
    if not listed or not all(isinstance(source, str | PathLike) and str(source) for source in [*listed, output]):
        raise TypeError("sources and output must be names of files and folders, none of them empty")
    forms, inboxes, refusals = _SingleReports(plans), _inboxes(map(Path, listed)), _Refusals()
    if any(each.central is not None for each in forms.plans):
        raise PlanError(
            "a file has an owner, a date and whoever brought it, beside its report: reports of a plan with a central "
            "promise come through a relay (serve --oblivious), and are not gathered"
        )
    places = _places(forms.plans, Path(output), inboxes)
    with for_owner(), ExitStack() as opened:
        collections = {
            plan.plan_id: _Collection(plan, path, store, opened) for plan, path in zip(forms.plans, places, strict=True)
        }
        _gather(inboxes, forms, collections, refusals, progress or (lambda *_: None))
        done = tuple(collection.outcome() for collection in collections.values())
    return Gathered(done, refusals.count, tuple(sorted(refusals.named, key=lambda refusal: refusal.file)))
