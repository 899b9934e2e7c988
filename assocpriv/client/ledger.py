"""A device's ledger, its own book of its reports: one an occasion, with what all of them together spend.

This module sees raw records while it makes a report. Its file holds none: of a report it keeps the bytes that may be
sent, the plan's id, the plan's γ and a hash of the occasion (docs/formats/client.md). What the records say together
stands in ledger_book.py.

Independent reports on the same habits multiply their likelihoods, and so their γ. The ledger refuses a second report on
an occasion, one beyond the plan's ``reports_per_person``, and one under any plan but the first that it answered; where
a limit is set for the device, in place of the last, one with which the product of all γ, over all plans, would reach
it, or whose plan states no γ for all that is told.

A report is handed out only after its record is on disk. So after a crash, at whatever byte of the write,

    a record that is whole     may have been sent: it is spent, and a retry returns its bytes
    a record that is not       was never sent: it is taken away, and its occasion is free

A mark is written behind a record once that is on disk. What is not whole although a mark stands in or behind it is no
crash but damage: then nothing is known of what was sent, and the ledger refuses. What it cannot see is a file that was
deleted, cut off behind a mark, or replaced by an older copy: it then forgets.

Who makes the reports of which kind of plan stands in plans/kind.py, as ``client.report``. Raw records are handed
on, and none is kept.
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
from assocpriv.client.ledger_book import LedgerBook, Submission, Told, check_further, left
from assocpriv.files.atomic import atomic_output, check_writable, sync_folder
from assocpriv.plans.kind import knows, load_for
from assocpriv.plans.published import ID_BYTES, PublishedPlan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.entropy import Entropy, SystemEntropy
from assocpriv.promise.errors import BasketError, FileError, PlanError, RecordError

_MOST_OCCASION = 1000  # characters


# ---- the ledger


class Ledger:
    """A device's ledger, open and locked: nobody else can open it before it is closed.

    A report that a collector is to get waits in the ledger, with the random id of its submission, until it is
    acknowledged: so it can be sent again as the same bytes, and is never lost.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> with ap.Ledger.open(f"{mkdtemp()}/ledger.bin") as ledger:
    ...     report = ledger.report({"milk"}, made, occasion="2026-W47")
    ...     ledger.report({"tea"}, made, occasion="2026-W47") == report, ledger.left(made)
    (True, 0)
    """

    def __init__(self, path: Path, file: ledger_file.LedgerFile | None = None, limit: Breach | None = None) -> None:
        if not isinstance(file, ledger_file.LedgerFile):
            raise TypeError("a ledger is opened by its path with Ledger.open('ledger.bin'), which locks the file")
        self.path = path
        self._file, self._limit, self._book = file, limit, LedgerBook()
        self._end, self._ready = 0, False
        self._process, self._guard = os.getpid(), threading.Lock()

    @classmethod
    def open(cls, path: str | Path, *, limit: Breach | None = None, wait_seconds: float = 10.0) -> "Ledger":
        """Open a device's ledger, or begin one: a file that only its owner may read.

        Args:
            path: the file. One device needs one ledger: two of them do not know of each other.
            limit: answer any plans, not the first alone, while the product of all γ stays below this promise's limit,
                as ``Epsilon("5.9")``: all reports together may then tell up to its ε, whatever each plan promises. No
                plan is answered that states no γ or whose γ does not cover all that is sent, as a column in clear, nor
                any after such a report. By default the first plan is answered, as often as it promises, and no other.
            wait_seconds: how long to wait for another process to close it.

        Raises:
            FileError: it cannot be opened, is in use, is no ledger, or is damaged.
        """
        target = Path(path)
        _check_limit(limit)
        file = ledger_file.LedgerFile(target, wait_seconds)
        ledger = cls(target, file, limit)
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
        """The product of the γ of all reports made (see :func:`multiply`); None where a plan states none."""
        return self._book.amplification

    def close(self) -> None:
        """Close the file and let others open it."""
        self._ready = False
        if self._process == os.getpid():
            self._file.release()

    def abandon(self) -> None:
        """Close the ledger; where it was begun here and no report was made, nothing of it is left."""
        if self._process == os.getpid():
            self._file.remove_new(self.path)
        self.close()

    def has(self, plan: PublishedPlan, occasion: str) -> bool:
        """Tell whether the report of an occasion is made already; where none may be made, refuse as :meth:`report`."""
        return self._found(PublishedPlan.of(plan), hash_occasion(occasion)) is not None

    def spent(self, plan: PublishedPlan) -> int:
        """Return how many reports this device has made under a plan."""
        return self._book.spent[plan.plan_id]

    def left(self, plan: PublishedPlan) -> int:
        """Return how many further occasions this device can report on under a plan."""
        return left(self._book, plan, self._limit)

    def told(self) -> Told:
        """Return what all its reports can have told by now, as :func:`assocpriv.told` does of a file."""
        return self._book.told(self._limit)

    def report(self, record: Any, plan: PublishedPlan, *, occasion: str, entropy: Entropy | None = None) -> bytes:
        """Return the report on an occasion: a new one, on disk before it is returned, or the one made before.

        That one is returned whatever the record holds by now: its bytes tell nothing more however often they are sent.

        Args:
            record: what the plan's kind takes; of baskets names, as for :func:`assocpriv.randomize`.
            plan: the published plan.
            occasion: what the record is of, as ``"2026-W47"``; any text that is not secret, 1 to 1000 characters.
                Blanks around it, and how Unicode composes its letters, make no other occasion.
            entropy: source of every draw; the operating system's by default.

        Raises:
            BudgetError: no further report may be made: the occasion is answered under another plan, or no limit lets
                another plan in.
            BasketError: the record does not fit the plan; nothing is spent.
            FileError: the ledger cannot be written; nothing may be sent, and it must be opened again.
            PlanError: the occasion is no name, or the device has a limit and no γ covers all that the plan sends.
            TypeError: no plan, or a record of another type.
        """
        return self._made(record, plan, occasion, entropy).report

    def submit(self, record: Any, plan: PublishedPlan, *, occasion: str, entropy: Entropy | None = None) -> Submission:
        """Return the report on an occasion as :meth:`report` does, to be sent to a collector.

        Until :meth:`acknowledge` it is among :meth:`unsent`. A report that was handed out before, without a collector,
        is sent as well when it is asked for here.
        """
        entry = self._made(record, plan, occasion, entropy, waits=True)
        with self._guard:
            if (found := self._book.submission(entry)) is None:
                self._check_ready()
                self._record(ledger_file.Waiting(self._book.count + 1, entry.number))
                found = self._book.submission(entry)
            assert found is not None
            return found

    def unsent(self) -> tuple[Submission, ...]:
        """Return the reports that no collector has acknowledged yet, what waits longest first."""
        return self._book.unsent()

    def acknowledge(self, submission: Submission) -> None:
        """Note that a collector has a report; it is sent no more."""
        with self._guard:
            self._check_ready()
            if submission in self._book.unsent():
                self._record(ledger_file.Acknowledged(self._book.count + 1, submission.number))

    def moment(self, submission: Submission, delay: int, now: int, *, earliest: int = 0) -> int:
        """Return the moment at which a report is to be sent, in seconds since 1970.

        It is drawn uniformly from the ``delay`` seconds behind ``now`` and written down, so that whoever asks again
        gets the same, unless that is before ``earliest``, or further ahead than any that is drawn now, as after a clock
        that was wrong.
        """
        with self._guard:
            self._check_ready()
            known = self._book.moments.get(submission.number, -1)
            if not earliest <= known <= now + delay and submission in self._book.unsent():
                known = now + 1 + SystemEntropy().below(delay)
                self._record(ledger_file.Moment(self._book.count + 1, submission.number, known))
            return known

    def _made(
        self, record: Any, plan: PublishedPlan, occasion: str, entropy: Entropy | None, *, waits: bool = False
    ) -> ledger_file.Entry:
        name = hash_occasion(occasion)
        PublishedPlan.of(plan)
        with self._guard:
            self._check_ready()
            if (found := self._found(plan, name)) is None:
                report = make_report(record, plan, entropy=entropy or SystemEntropy())
                # of its own: the words of a report's draw say all that is in it
                submission_id = secrets.token_bytes(ID_BYTES)
                number, gamma = self._book.count + 1, plan.amplification
                outside = gamma is not None and plan.uncovered_secret != ""
                found = ledger_file.Entry(number, plan.plan_id, name, gamma, report, submission_id, waits, outside)
                self._record(found)
            return found

    def _found(self, plan: PublishedPlan, occasion: bytes) -> ledger_file.Entry | None:
        found = self._book.find(plan.plan_id, occasion)
        if found is None:
            try:
                check_further(self._book, plan, occasion, self._limit)
            except PlanError as error:
                raise type(error)(f"{error} (ledger {self.path})") from None
        return found

    def _check_ready(self) -> None:
        if not self._ready or self._process != os.getpid():
            raise FileError(
                f"the ledger {self.path} is closed, could not be written, or belongs to another process; open it"
            )

    def _read(self) -> None:
        """Take in what is on disk, and take away what was being written when it broke off."""
        length, self._end, marked = _take_in(self._book, self._file, self.path)
        self._file.keep_private()
        if self._end != length:
            self._file.cut(self._end)
        if not self._end:
            self._write(ledger_file.HEADER)
        # what another process wrote may still be in memory alone, the file's name too
        self._file.sync()
        sync_folder(self.path.resolve().parent)
        if not marked:
            self._write(ledger_file.MARK)
        self._ready = True

    def _write(self, content: bytes) -> None:
        self._file.write(self._end, content)
        self._end += len(content)

    def _record(self, record: ledger_file.Record) -> None:
        """Put a record on disk, then its mark; if anything goes wrong, this ledger makes no further report."""
        content, start = record.to_bytes(), self._end
        if start + len(content) + len(ledger_file.MARK) > ledger_file.MOST_BYTES:
            raise FileError(f"the ledger {self.path} is full; no report can be made without forgetting another")
        self._ready = False
        try:
            self._write(content)
            self._file.sync()
            self._write(ledger_file.MARK)
        except OSError as error:
            # after a failed sync the system may show bytes that never reach the disk; nothing of them was sent
            with contextlib.suppress(OSError):
                self._file.cut(start)
            raise FileError(
                f"cannot write the ledger {self.path}: {error.strerror or error}; nothing was sent, nothing may be"
            ) from None
        added = self._book.add(record)
        assert added
        self._ready = True


def _take_in(book: LedgerBook, file: ledger_file.LedgerFile, path: Path) -> tuple[int, int, bool]:
    """Add a file's records to a book; return how long it is, how much of it counts, and whether no mark is missing."""
    content = file.read(ledger_file.MOST_BYTES + 1)
    if len(content) > ledger_file.MOST_BYTES:
        raise FileError(f"{path} is not a ledger: it is larger than {ledger_file.MOST_BYTES >> 20} MiB")
    records, end, marked = ledger_file.parse_ledger(content, str(path))
    for record in records:
        if not book.add(record):
            raise FileError(ledger_file.damaged(str(path), record.number))
    return len(content), end, marked


def _check_limit(limit: Breach | None) -> None:
    if limit is not None and not isinstance(limit, Breach):
        raise TypeError(f"limit must be a Breach, as Breach('5%', '50%') or Epsilon(5), got a {type(limit).__name__}")


def hash_occasion(occasion: str) -> bytes:
    """Return the SHA-256 of an occasion's name in UTF-8, without blanks around it and in Unicode's form NFC.

    Raises:
        PlanError: empty, blank or longer than 1000 characters.
        TypeError: no text.
    """
    if not isinstance(occasion, str):
        raise TypeError(f"occasion must be text, as '2026-W47', got a {type(occasion).__name__}")
    if not occasion.strip():
        raise PlanError("occasion is blank; name what the record is of, as '2026-W47'")
    if len(occasion) > _MOST_OCCASION:
        raise PlanError(f"occasion must have at most {_MOST_OCCASION} characters, as '2026-W47', got {len(occasion):,}")
    name = unicodedata.normalize("NFC", occasion.strip())
    return hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).digest()


# ---- what was told


def told(ledger: str | Path, *, limit: Breach | None = None, wait_seconds: float = 10.0) -> Told:
    """Return what all reports of a device's ledger can have told by now, under all plans; the file is only read.

    Of a ledger that is open here :meth:`Ledger.told` says the same.

    Args:
        ledger: the file; another process that has it open is waited for.
        limit: the promise that all reports of the device keep, of which it is said what is left.
        wait_seconds: how long to wait.

    Returns:
        How many ``reports`` under which ``plans``; ``stated_amplification`` and ``stated_epsilon`` of all that state a
        γ, together; how many told what nothing bounds (``unstated``, ``outside``); and what is ``left`` of the limit.

    Raises:
        FileError: there is no such file, or it is in use, no ledger, or damaged.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> path = f"{mkdtemp()}/ledger.bin"
    >>> with ap.Ledger.open(path) as ledger:
    ...     _ = ledger.report({"milk"}, made, occasion="2026-W47")
    >>> found = ap.told(path, limit=ap.Breach("5%", "50%"))
    >>> found.reports, found.stated_amplification == made.amplification, found.left == 19 / made.amplification
    (1, True, True)
    """
    path, book = Path(ledger), LedgerBook()
    _check_limit(limit)
    if not path.exists():
        raise FileError(f"there is no ledger {path}; name the file that the device reports with")
    file = ledger_file.LedgerFile(path, wait_seconds, only_read=True)
    try:
        _take_in(book, file, path)
    except OSError as error:
        raise FileError(f"cannot read the ledger {path}: {error.strerror or error}") from None
    finally:
        file.release()
    return book.told(limit)


# ---- one report


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One report of a device that keeps count of what it told.

    Attributes:
        plan: what it answers.
        new: whether it was made now; else the occasion had one already.
        spent: reports of the plan that this device has made.
        left: how many more it may make.
        amplification: γ of all that it told, under any plans; None if one of these states none.
    """

    plan: PublishedPlan
    new: bool
    spent: int
    left: int
    amplification: Fraction | None


def report(
    record: Any,
    plan: PublishedPlan,
    *,
    ledger: Path,
    occasion: str,
    output: Path,
    limit: Breach | None = None,
    empty: str = "error",
    inputs: Iterable[Path] = (),
    force: bool = False,
) -> DeviceReport:
    """Make one record's report on a device that keeps count, with the operating system's entropy, and write it.

    Args:
        record: names of items; of another kind of plan what it takes, for a table a dictionary {"age": 34}; or bytes,
            text as ``assocpriv report`` reads it.
        plan: the published plan.
        ledger: what this device told; made if it is missing, and a report was made.
        occasion: what the record is of; the same one gets the same report again, for free.
        output: file for the report's bytes, all that may leave the device.
        limit: a promise that all reports of this device keep together, whatever their plans; without one the first
            plan is answered and no other.
        empty: "error", or "keep" to report on an empty basket; a pipe that fails gives one.
        inputs: files that the output may not be.
        force: replace an existing file.

    Returns:
        Whether the report is ``new``, how many reports under the plan are ``spent`` and ``left``, and the
        ``amplification`` of all that the device told.

    Raises:
        BudgetError: the device has told all that a promise allows, or has answered another plan or this occasion.
        RecordError: a basket or record that does not fit the plan, or an empty basket; nothing is spent.
        FileError: a ledger or an output that cannot be used.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ledger, output = Path(folder := mkdtemp(), "ledger.bin"), Path(folder, "report.bin")
    >>> done = ap.report({"milk"}, made, ledger=ledger, occasion="2026-W47", output=output)
    >>> done.new, done.spent, done.left, len(output.read_bytes())
    (True, 1, 0, 1)
    """
    if empty not in ("error", "keep"):
        raise BasketError("empty must be 'error' or 'keep'")
    if isinstance(record, bytes):
        record = parse_record(record, plan)
    with Ledger.open(ledger, limit=limit) as book:
        try:
            # only now does a new ledger exist, so that the output can be told from it under any name
            check_writable(output, force=force, inputs=[*inputs, ledger])
            if (
                empty == "error"
                and takes_names(plan)
                and isinstance(record, Sized)
                and not len(record)
                and not book.has(plan, occasion)
            ):
                raise BasketError(
                    "the basket is empty, as after a pipe that failed; if nothing was bought, report that with "
                    "empty='keep'"
                )
            before = book.spent(plan)
            sent = book.report(record, plan, occasion=occasion)
        except BaseException:
            book.abandon()
            raise
        spent = book.spent(plan)
        done = DeviceReport(plan, spent > before, spent, book.left(plan), book.amplification)
    with atomic_output(output, force=force) as stream:
        stream.write(sent)
    return done


_MOST_BYTES = 1 << 24  # of a record


def takes_names(plan: PublishedPlan) -> bool:
    """Return whether a record of the plan's kind is a collection of names."""
    return not knows(plan.kind, "client.parse")


def parse_record(text: bytes, plan: PublishedPlan) -> Any:
    """Return the record that some text holds: a name a line, or what the plan's kind reads.

    Raises:
        RecordError: text that is no record, or too long.
    """
    _check_length(text)
    return _names_of(text) if takes_names(plan) else load_for(plan.kind, "client.parse", "read")(text)


def parse_values(text: bytes, plan: PublishedPlan) -> Any:
    """Return what some text holds of a record that a collector is to get, as :func:`parse_record`.

    Raises:
        RecordError: text that is no record, or too long.
    """
    if not knows(plan.kind, "client.values"):
        return parse_record(text, plan)
    _check_length(text)
    return load_for(plan.kind, "client.values", "read")(text)


def ask_for(record: Any, plan: PublishedPlan, ask: Callable[[str], Any], *, max_level: int | None = None) -> Any:
    """Return a record with what its plan's kind asks a collector for; of most kinds nothing is.

    Args:
        record: of one person.
        plan: the published plan.
        ask: returns the JSON content of a path of the collector.
        max_level: of a guided plan, the highest level that is answered.

    Raises:
        GuidanceError: what the collector has is not answered; nothing is sent.
    """
    if not knows(plan.kind, "client.ask"):
        return record
    return load_for(plan.kind, "client.ask", "answered")(record, plan, ask, max_level=max_level)


def _check_length(text: bytes) -> None:
    if len(text) > _MOST_BYTES:
        raise RecordError(f"the record on standard input is longer than {_MOST_BYTES >> 20} MiB")


def _names_of(text: bytes) -> list[str]:
    """Return names, one a line; blank lines say nothing."""
    # what is no UTF-8 becomes halves of surrogate pairs, which no name may hold: an error of the codec would show it
    lines = text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="surrogateescape").split("\n")
    return [line.strip() for line in lines if line.strip()]


def make_report(record: Any, plan: PublishedPlan, *, entropy: "Entropy") -> bytes:
    """Return the report of one person's raw record, of the type that the plan's kind takes.

    Of baskets it is a collection of names; of tables a mapping from the columns' names to values, {"age": 34}.

    Raises:
        RecordError: the record does not fit the plan; no draw is made.
        TypeError: no plan, or a record of another type.
    """
    report: bytes = load_for(PublishedPlan.of(plan).kind, "client.report", "answered")(record, plan, entropy=entropy)
    return report
