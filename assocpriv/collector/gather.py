"""Gather single reports: the files of inboxes, or a stream, into a collection.

A report is added exactly once, whenever a gatherer dies and however many work at a time (taking.py says how). Memory is
bounded: 64 MiB of reports, or four million, at a time.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.collector.output import Collection, holds_reports, is_one_file, shuffled
from assocpriv.collector.single_reports import Refusal, Refusals, SingleReports
from assocpriv.collector.taking import Batch, batch_folders, left_batches
from assocpriv.files.reports import IS_LEDGER, LEDGER_NAME
from assocpriv.plans.published import PublishedPlan, well_formed
from assocpriv.promise.errors import AssocprivError, FileError, WireError

_BLOCK = 1 << 26  # bytes of reports that are held, and brought into random order, at a time
_MOST_ROWS = 1 << 22  # of them
_STREAM = "-"
_ID_DIGITS = 12  # of a plan's id, that name its folder

Progress = Callable[[str, int, int], None]


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
class Inbox:
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
    """Gather files of single reports; arguments and errors as of the door (collection.py)."""
    forms, inboxes, refusals = SingleReports(plans), _inboxes(sources), Refusals()
    collections = _collections(forms.plans, output)
    _refuse_inbox(output, inboxes)
    for collection in collections:
        collection.check(new=keep)
    if keep:
        for inbox in inboxes:
            if waiting := batch_folders(inbox.folder):
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
    """Gather a stream of reports, one after another; arguments and errors as of the door (collection.py)."""
    (collection,), refusals = _collections([plan], output), Refusals()
    collection.check(new=False)
    collection.check_free()
    gathered = collection.add(_stream_blocks(stream, plan, refusals), ())
    return _outcome([collection], [gathered], refusals)


def _outcome(collections: Sequence[Collection], counts: Sequence[int], refusals: Refusals) -> Gathered:
    done = (
        GatheredPlan(collection.plan, collection.path, gathered, collection.count())
        for collection, gathered in zip(collections, counts, strict=True)
    )
    return Gathered(tuple(done), refusals.count, tuple(sorted(refusals.named, key=lambda refusal: refusal.file)))


def _collections(plans: Sequence[PublishedPlan], output: Path) -> list[Collection]:
    if not output.absolute().parent.is_dir():
        raise FileError(f"the folder {output.parent} does not exist; make it first")
    folders = [output / plan.plan_id[:_ID_DIGITS] for plan in plans]
    if len(plans) == 1:
        if folders[0].is_dir():
            raise FileError(f"{output} has a folder for each of several plans; name {folders[0]}, which is this plan's")
        return [Collection(output, plans[0])]
    if is_one_file(output):
        raise FileError(f"{output} can hold reports of one plan only; name a folder for those of several")
    if holds_reports(output):
        raise FileError(f"{output} is the collection of one plan; name another folder for those of several")
    return [Collection(folder, plan) for folder, plan in zip(folders, plans, strict=True)]


def _inboxes(sources: Iterable[Path]) -> list[Inbox]:
    """Return the folders to look into, each once; a file that is also in a folder that is named is met there."""
    found: dict[str, Inbox] = {}
    for source in sources:
        whole = source.is_dir()
        folder = source if whole else source.parent
        inbox = found.setdefault(os.path.realpath(folder), Inbox(folder))
        if whole:
            inbox.names = None
        elif inbox.names is not None:
            inbox.names[source.name] = None
    return list(found.values())


def _refuse_inbox(output: Path, inboxes: Iterable[Inbox]) -> None:
    """Refuse to gather into an inbox, where the collection's files would be met as reports."""
    place = os.path.realpath(output.parent if is_one_file(output) else output)
    for inbox in inboxes:
        if inbox.names is None and os.path.realpath(inbox.folder) == place:
            raise FileError(f"{output} is in the inbox {inbox.folder}; name another folder for the collection")


# ---- files that are taken


def _move(
    collections: Sequence[Collection],
    inboxes: Sequence[Inbox],
    forms: SingleReports,
    refusals: Refusals,
    progress: Progress,
) -> list[int]:
    """Take files, add them to their collections and remove them; whatever fails, no report is lost or doubled."""
    batches: list[tuple[Batch, Collection]] = []
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


def _resume(inbox: Inbox, collections: Sequence[Collection], batches: list[tuple[Batch, Collection]]) -> None:
    """Lock what dead gatherers left in an inbox; refuse if that was meant for another collection."""
    ours = {collection.target: collection for collection in collections}
    for batch in left_batches(inbox.folder):
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


def _clear_added(collection: Collection, batches: list[tuple[Batch, Collection]]) -> None:
    """Remove the files of what dead gatherers added but did not clear."""
    left = [batch for batch, its in batches if its is collection]
    for batch in left:
        collection.sweep(batch.id)
        if collection.has(batch.id):
            collection.sync()  # their gatherer may have died before it had
            batch.clear()
            batches.remove((batch, collection))


def _take(
    inbox: Inbox,
    collections: Sequence[Collection],
    forms: SingleReports,
    batches: list[tuple[Batch, Collection]],
    refusals: Refusals,
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


def _read_file(inbox: Inbox, name: str, forms: SingleReports, refusals: Refusals) -> tuple[PublishedPlan, bytes] | None:
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
    collection: Collection, batches: Sequence[tuple[Batch, Collection]], forms: SingleReports, refusals: Refusals
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


def _reports_taken(batch: Batch, plan: PublishedPlan, forms: SingleReports, refusals: Refusals) -> Iterator[bytes]:
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


def _undo(batch: Batch, collection: Collection) -> None:
    """Give files back, unless their reports are in the collection, or nobody knows; the next run then sees to it."""
    with suppress(AssocprivError, OSError):
        if not collection.has(batch.id):
            batch.put_back_all()


# ---- files that stay, and streams


def _copy(collection: Collection, inboxes: Sequence[Inbox], forms: SingleReports, refusals: Refusals) -> int:
    """Add the reports of one plan to its collection, and leave their files."""

    def reports() -> Iterator[bytes]:
        noted = refusals if collection.plan is forms.plans[0] else Refusals()  # each file is read once a plan
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


def _stream_blocks(stream: BinaryIO, plan: PublishedPlan, refusals: Refusals) -> Iterator[NDArray[np.uint8]]:
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


def _note(packed: NDArray[np.uint8], position: int, plan: PublishedPlan, refusals: Refusals) -> None:
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
