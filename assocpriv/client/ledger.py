"""A device's budget ledger: one report for each reporting period, and the privacy budget that all reports spend.

This module sees raw records while it makes a report. Its file holds none: for a report it keeps the bytes to send, the
plan's id, the plan's γ and a hash of the reporting period (docs/formats/client.md). ledger_book.py evaluates the file's
records.

Independent reports on the same habits multiply their likelihoods, and so their γ. The ledger refuses

- a second report on a reporting period,
- a report beyond the plan's ``reports_per_person``,
- a report under another plan than the first one; with a limit for the device instead a report that would raise the
  product of all γ, over all plans, to the limit, or whose plan has no γ for everything that it sends.

A report is returned only after its record is on disk. After a crash, at any byte of a write,

    a complete record       may have been sent: its budget is spent, and a retry returns its bytes
    an incomplete record    was never sent: it is removed, and its reporting period is free

A mark is written after a record once that is on disk. An incomplete record before or with a mark is damage, not a
crash: then the ledger does not know what was sent, and refuses. It cannot detect a file that was deleted, cut off after
    a mark,
or replaced by an older copy: these reports are forgotten.

``REPORT`` is the function that makes the reports of a plan type (client/plan_parts.py).
"""

import contextlib
import hashlib
import os
import secrets
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from assocpriv.client import ledger_file
from assocpriv.client.ledger_book import BudgetSpent, LedgerBook, Submission, check_further, remaining_reports
from assocpriv.client.plan_parts import ADD_GUIDANCE, PARSE, REPORT, VALUES
from assocpriv.files.atomic import atomic_output, check_writable, sync_folder
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.entropy import Entropy, SystemEntropy
from assocpriv.guarantees.errors import BasketError, FileError, PlanError, RecordError
from assocpriv.plans.published_plan import ID_BYTES, PublishedPlan

_MOST_PERIOD = 1000  # characters


# ---- the ledger


class Ledger:
    """An open and locked budget ledger of a device; no other process can open it before it is closed.

    A report for a collector stays queued in the ledger, with the random id of its submission, until a collector
    acknowledges it: so it can be sent again as the same bytes, and is never lost.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> with ap.device.Ledger.open(f"{mkdtemp()}/ledger.bin") as ledger:
    ...     report = ledger.report({"milk"}, made, period="2026-W47")
    ...     ledger.report({"tea"}, made, period="2026-W47") == report, ledger.remaining(made)
    (True, 0)
    """

    def __init__(self, path: Path, file: ledger_file.LedgerFile | None = None, limit: Guarantee | None = None) -> None:
        if not isinstance(file, ledger_file.LedgerFile):
            raise TypeError("open a ledger with Ledger.open('ledger.bin'), which locks the file")
        self.path = path
        self._file, self._limit, self._book = file, limit, LedgerBook()
        self._end, self._ready = 0, False
        self._process, self._guard = os.getpid(), threading.Lock()

    @classmethod
    def open(cls, path: str | Path, *, limit: Guarantee | None = None, wait_seconds: float = 10.0) -> "Ledger":
        """Open a device's ledger, or make one that only its owner may read.

        Args:
            path: the file. Use one ledger for each device: two of them do not share their budget.
            limit: a guarantee for all reports of the device together, under any plans, as
                ``Guarantee.from_epsilon("5.9")``: the product of all γ stays below its limit. A plan is refused if it
                has no γ, or sends data that γ does not cover, as a raw column; after such a report every plan is
                refused. By default only the first plan is answered, for its number of reports.
            wait_seconds: how long to wait for another process to close the ledger, in seconds.

        Returns:
            The ledger; use it in a ``with`` block, or close it.

        Raises:
            FileError: it cannot be opened, is in use, is no ledger, or is damaged.
        """
        target = Path(path)
        _check_limit(limit)
        ledger = cls(target, ledger_file.LedgerFile(target, wait_seconds), limit)
        try:
            ledger._read()
        except BaseException as error:
            ledger.abandon()
            if isinstance(error, OSError):
                raise FileError(f"cannot use the ledger {target}: {error.strerror or error}") from None
            raise
        return ledger

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.path.name}, {self._book.spent.total()} reports)"

    @property
    def amplification(self) -> Fraction | None:
        """Product of the γ of all reports (see :func:`multiply`); None where a plan has no γ."""
        return self._book.amplification

    def close(self) -> None:
        """Close the file and release its lock."""
        self._ready = False
        if self._process == os.getpid():
            self._file.release()

    def abandon(self) -> None:
        """Close the ledger; remove its file if it was made here and holds no report."""
        if self._process == os.getpid():
            self._file.remove_new(self.path)
        self.close()

    def has(self, plan: PublishedPlan, period: str) -> bool:
        """Return whether the report of a reporting period exists; refuse as :meth:`report` where none may be made."""
        return self._found(PublishedPlan.require(plan), hash_period(period)) is not None

    def reports_made(self, plan: PublishedPlan) -> int:
        """Return the number of reports that this device has made under a plan."""
        return self._book.spent[plan.plan_id]

    def remaining(self, plan: PublishedPlan) -> int:
        """Return the number of further reports that this device can make under a plan."""
        return remaining_reports(self._book, plan, self._limit)

    def spent(self) -> BudgetSpent:
        """Return the privacy budget spent by all reports, as :func:`assocpriv.device.spent_budget` does for a file."""
        return self._book.spent_budget(self._limit)

    def report(self, record: Any, plan: PublishedPlan, *, period: str, entropy: Entropy | None = None) -> bytes:
        """Return the report on a reporting period: a new one, after it is on disk, or the earlier one.

        The earlier report is returned whatever the record holds now: sending its bytes again spends no budget.

        Args:
            record: the record of the plan's type; for baskets names, as for :func:`assocpriv.randomize`.
            plan: the published plan.
            period: the reporting period of the record, as ``"2026-W47"``: any text that is not secret, 1 to 1000
                characters. White space around it and the Unicode composition of its letters are ignored.
            entropy: source of every draw; the operating system's by default.

        Returns:
            The report's bytes.

        Raises:
            BudgetError: the period was answered under another plan, or no further report is allowed.
            BasketError: the record does not fit the plan; nothing is spent.
            FileError: the ledger cannot be written; send nothing, and open it again.
            PlanError: an invalid period, or the device has a limit and no γ covers everything that the plan sends.
            TypeError: no plan, or a record of another type.
        """
        return self._made(record, plan, period, entropy).report

    def submit(self, record: Any, plan: PublishedPlan, *, period: str, entropy: Entropy | None = None) -> Submission:
        """Return the report on a reporting period as :meth:`report` does, to be sent to a collector.

        It is among :meth:`queued` until :meth:`acknowledge`. A report that :meth:`report` returned earlier is queued by
        this call, too.
        """
        entry = self._made(record, plan, period, entropy, queued=True)
        with self._guard:
            if (found := self._book.submission(entry)) is None:
                self._check_ready()
                self._record(ledger_file.Queued(self._book.count + 1, entry.number))
                found = self._book.submission(entry)
            assert found is not None
            return found

    def queued(self) -> tuple[Submission, ...]:
        """Return the reports that no collector has acknowledged yet, the oldest first."""
        return self._book.queued()

    def acknowledge(self, submission: Submission) -> None:
        """Record that a collector has a report; it is not sent again."""
        with self._guard:
            self._check_ready()
            if submission in self._book.queued():
                self._record(ledger_file.Acknowledged(self._book.count + 1, submission.number))

    def send_time(self, submission: Submission, delay: int, now: int, *, earliest: int = 0) -> int:
        """Return the time at which to send a report, in seconds since 1970.

        It is drawn uniformly from the ``delay`` seconds after ``now`` and recorded, so later calls return the same
        time. It is drawn again if that time is before ``earliest``, or later than any new one, as after a wrong clock.
        """
        with self._guard:
            self._check_ready()
            known = self._book.send_times.get(submission.number, -1)
            if not earliest <= known <= now + delay and submission in self._book.queued():
                known = now + 1 + SystemEntropy().below(delay)
                self._record(ledger_file.Scheduled(self._book.count + 1, submission.number, known))
            return known

    def _made(
        self, record: Any, plan: PublishedPlan, period: str, entropy: Entropy | None, *, queued: bool = False
    ) -> ledger_file.Entry:
        name = hash_period(period)
        PublishedPlan.require(plan)
        with self._guard:
            self._check_ready()
            if (found := self._found(plan, name)) is None:
                report = make_report(record, plan, entropy=entropy or SystemEntropy())
                # drawn separately: the random words of a report determine its content
                submission_id = secrets.token_bytes(ID_BYTES)
                number, gamma = self._book.count + 1, plan.amplification
                uncovered = gamma is not None and plan.uncovered_secret != ""
                found = ledger_file.Entry(number, plan.plan_id, name, gamma, report, submission_id, queued, uncovered)
                self._record(found)
            return found

    def _found(self, plan: PublishedPlan, period: bytes) -> ledger_file.Entry | None:
        found = self._book.find(plan.plan_id, period)
        if found is None:
            try:
                check_further(self._book, plan, period, self._limit)
            except PlanError as error:
                raise type(error)(f"{error} (ledger {self.path})") from None
        return found

    def _check_ready(self) -> None:
        if not self._ready or self._process != os.getpid():
            raise FileError(
                f"the ledger {self.path} is closed, could not be written, or belongs to another process; open it again"
            )

    def _read(self) -> None:
        """Read the records on disk, and remove one that was written incompletely."""
        length, self._end, marked = _load_records(self._book, self._file, self.path)
        self._file.keep_private()
        if self._end != length:
            self._file.cut(self._end)
        if not self._end:
            self._write(ledger_file.HEADER)
        # data of another process, and the file's name, may still be in memory only
        self._file.sync()
        sync_folder(self.path.resolve().parent)
        if not marked:
            self._write(ledger_file.MARK)
        self._ready = True

    def _write(self, content: bytes) -> None:
        self._file.write(self._end, content)
        self._end += len(content)

    def _record(self, record: ledger_file.Record) -> None:
        """Write a record to disk, then its mark; after any error this ledger makes no further report."""
        content, start = record.to_bytes(), self._end
        if start + len(content) + len(ledger_file.MARK) > ledger_file.MOST_BYTES:
            raise FileError(
                f"the ledger {self.path} is full ({ledger_file.MOST_BYTES >> 20} MiB); make no further report"
            )
        self._ready = False
        try:
            self._write(content)
            self._file.sync()
            self._write(ledger_file.MARK)
        except OSError as error:
            # after a failed sync the system may show bytes that never reach the disk; they were not sent
            with contextlib.suppress(OSError):
                self._file.cut(start)
            raise FileError(
                f"cannot write the ledger {self.path}: {error.strerror or error}; nothing was sent, and send nothing"
            ) from None
        added = self._book.add(record)
        assert added
        self._ready = True


def _load_records(book: LedgerBook, file: ledger_file.LedgerFile, path: Path) -> tuple[int, int, bool]:
    """Add a file's records to a book; return its length, how many bytes count, and whether no mark is missing."""
    content = file.read(ledger_file.MOST_BYTES + 1)
    if len(content) > ledger_file.MOST_BYTES:
        raise FileError(f"{path} is not a ledger: it is larger than {ledger_file.MOST_BYTES >> 20} MiB")
    records, end, marked = ledger_file.parse_ledger(content, str(path))
    for record in records:
        if not book.add(record):
            raise FileError(ledger_file.damaged(str(path), record.number))
    return len(content), end, marked


def _check_limit(limit: Guarantee | None) -> None:
    if limit is not None and not isinstance(limit, Guarantee):
        raise TypeError(f"limit must be a Guarantee, as Guarantee.from_epsilon(5), got a {type(limit).__name__}")


def hash_period(period: str) -> bytes:
    """Return the SHA-256 of a reporting period's name in UTF-8, stripped of white space and in Unicode's form NFC.

    Raises:
        PlanError: empty, blank or longer than 1000 characters.
        TypeError: no text.
    """
    if not isinstance(period, str):
        raise TypeError(f"period must be text, as '2026-W47', got a {type(period).__name__}")
    if not period.strip():
        raise PlanError("period is blank; name the reporting period, as '2026-W47'")
    if len(period) > _MOST_PERIOD:
        raise PlanError(f"period must have at most {_MOST_PERIOD} characters, as '2026-W47', got {len(period):,}")
    name = unicodedata.normalize("NFC", period.strip())
    return hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).digest()


# ---- privacy budget


def spent_budget(ledger: str | Path, *, limit: Guarantee | None = None, wait_seconds: float = 10.0) -> BudgetSpent:
    """Return the privacy budget spent by all reports of a device's ledger, under all plans; the file is only read.

    For an open ledger :meth:`Ledger.spent` returns the same.

    Args:
        ledger: the file; the call waits while another process has it open.
        limit: the guarantee for all reports of the device, for which to compute the remaining budget.
        wait_seconds: how long to wait, in seconds.

    Returns:
        The number of ``reports`` and their ``plans``; ``stated_amplification`` and ``stated_epsilon`` of all plans with
        a γ, together; the numbers of reports with unbounded disclosure (``unstated``, ``uncovered``); and the
        ``remaining`` γ below the limit.

    Raises:
        FileError: there is no such file, or it is in use, no ledger, or damaged.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> path = f"{mkdtemp()}/ledger.bin"
    >>> with ap.device.Ledger.open(path) as ledger:
    ...     _ = ledger.report({"milk"}, made, period="2026-W47")
    >>> found = ap.device.spent_budget(path, limit=ap.Guarantee("5%", "50%"))
    >>> found.reports, found.stated_amplification == made.amplification, found.remaining == 19 / made.amplification
    (1, True, True)
    """
    path, book = Path(ledger), LedgerBook()
    _check_limit(limit)
    if not path.exists():
        raise FileError(f"there is no ledger {path}; name the device's ledger")
    file = ledger_file.LedgerFile(path, wait_seconds, only_read=True)
    try:
        _load_records(book, file, path)
    except OSError as error:
        raise FileError(f"cannot read the ledger {path}: {error.strerror or error}") from None
    finally:
        file.release()
    return book.spent_budget(limit)


# ---- one report


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One report of a device with a budget ledger.

    Attributes:
        plan: the plan that it answers.
        new: whether it was made now; otherwise the period had a report.
        spent: reports of the plan that this device has made.
        remaining: further reports of the plan that it may make.
        amplification: γ of all reports of the device, under any plans; None if one of these has no γ.
    """

    plan: PublishedPlan
    new: bool
    spent: int
    remaining: int
    amplification: Fraction | None


def report(
    record: Any,
    plan: PublishedPlan,
    *,
    ledger: Path,
    period: str,
    output: Path,
    limit: Guarantee | None = None,
    empty: str = "error",
    inputs: Iterable[Path] = (),
    force: bool = False,
) -> DeviceReport:
    """Make the report of one record on a device with a budget ledger, and write it to a file.

    The operating system's entropy is used.

    Args:
        record: names of items; for another plan type its record, for a table a dictionary {"age": 34}; or bytes, the
            text that ``assocpriv report`` reads.
        plan: the published plan.
        ledger: the device's ledger; made if missing, once a report is made.
        period: the reporting period of the record; the same period gets the same report again and spends no budget.
        output: file for the report's bytes, the only data that may leave the device.
        limit: a guarantee for all reports of this device together, under any plans; without it only the first plan is
            answered.
        empty: "error", or "keep" to report an empty basket; a failed pipe gives one.
        inputs: files that the output must not replace.
        force: replace an existing file.

    Returns:
        Whether the report is ``new``, the ``spent`` and ``remaining`` reports under the plan, and the ``amplification``
        of all reports of the device.

    Raises:
        BudgetError: the privacy budget is spent, or this period or another plan was answered before.
        RecordError: a basket or record that does not fit the plan, or an empty basket; nothing is spent.
        FileError: a ledger or an output that cannot be used.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ledger, output = Path(folder := mkdtemp(), "ledger.bin"), Path(folder, "report.bin")
    >>> done = ap.device.report({"milk"}, made, ledger=ledger, period="2026-W47", output=output)
    >>> done.new, done.spent, done.remaining, len(output.read_bytes())
    (True, 1, 0, 1)
    """
    if empty not in ("error", "keep"):
        raise BasketError("empty must be 'error' or 'keep'")
    if isinstance(record, bytes):
        record = parse_record(record, plan)
    with Ledger.open(ledger, limit=limit) as book:
        try:
            # a new ledger exists only now: compare the output with it under any name
            check_writable(output, force=force, inputs=[*inputs, ledger])
            is_empty = takes_names(plan) and isinstance(record, Sized) and not len(record)
            if empty == "error" and is_empty and not book.has(plan, period):
                raise BasketError(
                    "the basket is empty, as after a failed pipe; to report that nothing was bought, use empty='keep'"
                )
            before = book.reports_made(plan)
            sent = book.report(record, plan, period=period)
        except BaseException:
            book.abandon()
            raise
        spent = book.reports_made(plan)
        done = DeviceReport(plan, spent > before, spent, book.remaining(plan), book.amplification)
    with atomic_output(output, force=force) as stream:
        stream.write(sent)
    return done


_MOST_BYTES = 1 << 24  # of a record


def takes_names(plan: PublishedPlan) -> bool:
    """Return whether a record of the plan's type is a collection of names."""
    return not PARSE.is_of(plan.kind)


def parse_record(text: bytes, plan: PublishedPlan) -> Any:
    """Return the record in a text: one name on each line, or the format of the plan's type.

    Raises:
        RecordError: text that is no record, or too long.
    """
    _check_length(text)
    return _parse_names(text) if takes_names(plan) else PARSE.of(plan.kind)(text)


def parse_values(text: bytes, plan: PublishedPlan) -> Any:
    """Return the part of a record that a device writes when a collector adds the rest, as :func:`parse_record`.

    Raises:
        RecordError: text that is no record, or too long.
    """
    if not VALUES.is_of(plan.kind):
        return parse_record(text, plan)
    _check_length(text)
    return VALUES.of(plan.kind)(text)


def complete_record(
    record: Any, plan: PublishedPlan, ask: Callable[[str], Any], *, max_level: int | None = None
) -> Any:
    """Return a record with what its plan type needs from a collector; most types need nothing.

    Args:
        record: of one person.
        plan: the published plan.
        ask: returns the JSON content at a path of the collector.
        max_level: highest level of guidance to answer, for a guided plan.

    Raises:
        GuidanceError: guidance that must not be answered; nothing is sent.
    """
    if not ADD_GUIDANCE.is_of(plan.kind):
        return record
    return ADD_GUIDANCE.of(plan.kind)(record, plan, ask, max_level=max_level)


def _check_length(text: bytes) -> None:
    if len(text) > _MOST_BYTES:
        raise RecordError(f"the record on standard input is longer than {_MOST_BYTES >> 20} MiB")


def _parse_names(text: bytes) -> list[str]:
    """Return the names in a text, one on each line; blank lines are skipped."""
    # other bytes than UTF-8 become surrogates, which no name may hold: a decoding error would show the text
    lines = text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="surrogateescape").split("\n")
    return [line.strip() for line in lines if line.strip()]


def make_report(record: Any, plan: PublishedPlan, *, entropy: "Entropy") -> bytes:
    """Return the report of one person's raw record, of the plan's type.

    For baskets the record is a collection of names; for tables a mapping from column names to values, {"age": 34}.

    Raises:
        RecordError: the record does not fit the plan; no draw is made.
        TypeError: no plan, or a record of another type.
    """
    return REPORT.of(PublishedPlan.require(plan).kind)(record, plan, entropy=entropy)
