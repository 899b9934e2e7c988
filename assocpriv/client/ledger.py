"""A device's budget ledger: one report for each reporting period, and the privacy budget that all reports spend.

This module sees raw records while it makes a report. Its file holds none: for a report it keeps the bytes to send, the
plan's id, the plan's γ and a hash of the reporting period (docs/formats/client.md).

Independent reports on the same habits multiply their likelihoods, and so their γ: the product bounds their joint
disclosure, under any plans. The ledger refuses

- a second report on a reporting period,
- a report beyond the plan's ``reports_per_person``,
- a report under another plan than the first one; with a limit for the device instead a report that would raise the
  product of all γ, over all plans, to the limit, or whose plan has no γ for everything that it sends.

A report is returned only after its record is on disk. After a crash, at any byte of a write,

    a complete record       may have been sent: its budget is spent, and a retry returns its bytes
    an incomplete record    was never sent: it is removed, and its reporting period is free

The header states a record once that is on disk, and before its report is returned. A ledger with fewer records than its
header states was damaged or cut short: it does not know what was sent, and refuses. It cannot detect a file that was
deleted, emptied, or replaced by a whole older copy: these reports are forgotten.
"""

import contextlib
import hashlib
import math
import os
import secrets
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.client import ledger_file
from assocpriv.client.plan_parts import PARSE, REPORT, VALUES
from assocpriv.files.atomic import atomic_output, check_writable, sync_folder
from assocpriv.guarantees.amplification import Guarantee, epsilon_from_amplification, log_up, round_amplification_up
from assocpriv.guarantees.entropy import Entropy, SystemEntropy
from assocpriv.guarantees.errors import BasketError, BudgetError, FileError, PlanError, RecordError, pluralize
from assocpriv.plans.published_plan import ID_BYTES, PublishedPlan
from assocpriv.plans.result_display import bound_text, figure, gamma_and_epsilon, html_renderer, rows_frame, short_repr

if TYPE_CHECKING:
    from assocpriv.plans.result_display import Frame

_MOST_PERIOD = 1000  # characters
_KEY_SECONDS = 14 * 86400  # for which a collector has a key
_PRODUCT_BITS = 192  # after the point of a product of γ, which is rounded up there
_LARGEST_PRODUCT = Fraction(1 << 192)  # above the limit of every guarantee; products are capped here


# ---- privacy budget spent


def multiply(product: Fraction | None, amplification: Fraction | None) -> Fraction | None:
    """Return a product of γ, rounded up to a multiple of 2^-192 if its denominator is longer; at most 2^192.

    So its length does not grow with the number of reports. None if a plan has no γ.

    >>> multiply(Fraction(7, 3), Fraction(3))
    Fraction(7, 1)
    """
    if product is None or amplification is None:
        return None
    exact = product * amplification
    if exact.denominator >> _PRODUCT_BITS:
        exact = round_amplification_up(exact, 1 << _PRODUCT_BITS)
    return min(exact, _LARGEST_PRODUCT)


@dataclass(frozen=True, slots=True)
class PlanBudget:
    """The reports that a device made under one plan.

    Attributes:
        plan_id: 64 hexadecimal digits.
        reports: how many.
        amplification: the product of their γ (see :func:`multiply`); None where the plan has none.
        uncovered: whether they also disclose data that γ does not cover, as a raw column.
    """

    plan_id: str
    reports: int
    amplification: Fraction | None
    uncovered: bool


@dataclass(frozen=True, slots=True)
class BudgetSpent:
    """The privacy budget spent by all reports of a device, under any plans; queued reports count, too.

    Attributes:
        plans: the reports under each plan, in the order of their first reports.
        product: γ of all reports together, of plans that have one (see :func:`multiply`).
        limit: a guarantee for all reports of the device, if one is set.
    """

    plans: tuple[PlanBudget, ...]
    product: Fraction
    limit: Guarantee | None = None

    _repr_html_ = html_renderer("assocpriv.show.collection_views:spent")

    def __repr__(self) -> str:
        spent = "no bound" if self.stated_amplification is None else bound_text(self.stated_amplification)
        rows = [f"{pluralize(self.unstated, 'report')} without γ, not bounded"] * bool(self.unstated)
        rows += [f"{pluralize(self.uncovered, 'report')} with data outside γ, not bounded"] * bool(self.uncovered)
        if self.remaining_epsilon is not None:
            rows.append(f"ε of further reports must stay below {figure(self.remaining_epsilon, 'down')}")
        return short_repr(self, f"{pluralize(self.reports, 'report')}, {spent}", rows)

    def to_frame(self) -> "Frame":
        """Return a row a plan: the number of its reports, and their γ and ε together.

        Returns:
            A frame with the columns ``plan_id``, ``reports``, ``amplification``, ``epsilon`` (in nats) and
            ``uncovered``.
        """
        rows = (
            (each.plan_id, each.reports, *gamma_and_epsilon(each.amplification), each.uncovered) for each in self.plans
        )
        return rows_frame("plan_id reports amplification epsilon uncovered", rows)

    @property
    def reports(self) -> int:
        """Number of reports."""
        return sum(each.reports for each in self.plans)

    @property
    def unstated(self) -> int:
        """Number of reports under plans without γ: nothing bounds their disclosure."""
        return sum(each.reports for each in self.plans if each.amplification is None)

    @property
    def uncovered(self) -> int:
        """Number of reports that also disclose data outside γ: nothing bounds that part."""
        return sum(each.reports for each in self.plans if each.uncovered)

    @property
    def stated_amplification(self) -> Fraction | None:
        """The product of the γ of plans that have one, rounded up; None from 2^192 on, where it bounds nothing."""
        return None if self.product == _LARGEST_PRODUCT else self.product

    @property
    def stated_epsilon(self) -> float | None:
        """ln of :attr:`stated_amplification` in nats, rounded up."""
        return None if self.stated_amplification is None else epsilon_from_amplification(self.stated_amplification)

    @property
    def remaining(self) -> Fraction | None:
        """What γ of all further reports must stay below to keep the limit; 1 if none may be made.

        None without a limit, and if no limit can hold because part of the disclosure is unbounded.
        """
        if self.limit is None or self.unstated or self.uncovered:
            return None
        return max(self.limit.amplification_limit / self.product, Fraction(1))

    @property
    def remaining_epsilon(self) -> float | None:
        """ln of :attr:`remaining` in nats, rounded down."""
        return None if self.remaining is None else 0.0 - log_up(1 / self.remaining)


# ---- records


@dataclass(frozen=True, slots=True)
class Submission:
    """A queued report, the same bytes at every attempt.

    Attributes:
        number: of the report's record in the ledger.
        plan_id: the plan's id, 64 hexadecimal digits.
        submission_id: 16 random bytes, by which a collector recognizes a repeat.
        report: the report's bytes.
        acknowledged: whether a collector has it.
    """

    number: int
    plan_id: str
    submission_id: bytes
    report: bytes
    acknowledged: bool


class LedgerBook:
    """The records of one ledger, in their order."""

    def __init__(self) -> None:
        self.count = 0
        self.spent: Counter[str] = Counter()
        self._plans: dict[str, tuple[Fraction | None, bool]] = {}  # γ by plan, and whether a report is uncovered
        self._product = Fraction(1)
        self._entries: dict[int, ledger_file.Entry] = {}
        self._for_collector: dict[int, None] = {}  # numbers of reports that are or were queued, in order
        self._acknowledged: set[int] = set()
        self.send_times: dict[int, int] = {}  # in seconds since 1970, by number of the report's record
        self.key_times: dict[str, int] = {}  # in seconds since 1970, by digest of a key
        self._numbers: dict[tuple[str, bytes], int] = {}

    def add(self, record: ledger_file.Record) -> bool:
        """Add the next record; return False, and add nothing, if it is invalid here."""
        if record.number != self.count + 1:
            return False
        if isinstance(record, ledger_file.Entry):
            self._add_entry(record)
        elif isinstance(record, ledger_file.Queued):
            if record.entry not in self._entries or record.entry in self._for_collector:
                return False
            self._for_collector[record.entry] = None
        elif isinstance(record, ledger_file.KeyChecked):
            self.key_times[record.digest] = record.moment
        else:
            if record.entry not in self._for_collector or record.entry in self._acknowledged:
                return False
            if isinstance(record, ledger_file.Scheduled):
                self.send_times[record.entry] = record.send_time
            else:
                self._acknowledged.add(record.entry)
        self.count += 1
        return True

    def _add_entry(self, entry: ledger_file.Entry) -> None:
        self._entries[entry.number] = entry
        self._numbers.setdefault((entry.plan_id, entry.period), entry.number)
        if entry.queued:
            self._for_collector[entry.number] = None
        self.spent[entry.plan_id] += 1
        product, uncovered = self._plans.get(entry.plan_id, (Fraction(1), False))
        self._plans[entry.plan_id] = multiply(product, entry.amplification), uncovered or entry.uncovered
        self._product = multiply(self._product, entry.amplification) or self._product

    @property
    def amplification(self) -> Fraction | None:
        """γ of all reports together; None where a plan has none."""
        return None if any(product is None for product, _ in self._plans.values()) else self._product

    def spent_budget(self, limit: Guarantee | None = None) -> BudgetSpent:
        """Return the budget spent by all reports, and the limit."""
        plans = tuple(PlanBudget(name, self.spent[name], *each) for name, each in self._plans.items())
        return BudgetSpent(plans, self._product, limit)

    def find(self, plan_id: str, period: bytes) -> ledger_file.Entry | None:
        """Return the report of a reporting period."""
        number = self._numbers.get((plan_id, period))
        return None if number is None else self._entries[number]

    def plan_of(self, period: bytes) -> str | None:
        """Return the id of the plan under which a reporting period was answered."""
        return next((each.plan_id for each in self._entries.values() if each.period == period), None)

    def submission(self, entry: ledger_file.Entry) -> Submission | None:
        """Return a report in the form sent to a collector, if it is or was queued."""
        if entry.number not in self._for_collector:
            return None
        is_acknowledged = entry.number in self._acknowledged
        return Submission(entry.number, entry.plan_id, entry.submission_id, entry.report, is_acknowledged)

    def queued(self) -> tuple[Submission, ...]:
        """Return the queued reports, the oldest first."""
        waiting = (self.submission(self._entries[number]) for number in self._for_collector)
        return tuple(each for each in waiting if each is not None and not each.acknowledged)


# ---- further reports


def remaining_reports(book: LedgerBook, plan: PublishedPlan, limit: Guarantee | None) -> int:
    """Return the number of further reports that a device can make under a plan."""
    if not book.spent.keys() <= {plan.plan_id} if limit is None else _uncovered(book, plan):
        return 0
    product, further = book.amplification, 0
    while further < plan.reports_per_person - book.spent[plan.plan_id] and (
        limit is None or _below(product := multiply(product, plan.amplification), limit)
    ):
        further += 1
    return further


def check_further(book: LedgerBook, plan: PublishedPlan, period: bytes, limit: Guarantee | None) -> None:
    """Refuse a new report on a reporting period where none may be made.

    Raises:
        BudgetError: the period is answered, or no further report may be made under this plan.
        PlanError: there is a limit, and no γ covers all reports with this one.
    """
    name, spent, product = f"plan {plan.plan_id[:12]}", book.spent, multiply(book.amplification, plan.amplification)
    if answered := book.plan_of(period):
        raise BudgetError(
            f"this device answered this reporting period under plan {answered[:12]}, and a period is answered once, "
            "whatever the plan; make no further report on it"
        )
    uncovered = _uncovered(book, plan)
    if limit is not None and uncovered:
        raise PlanError(
            f"{name} {uncovered}, so no limit for this device can hold; answer plans whose γ covers everything that "
            "they send, or set no limit"
        )
    if spent[plan.plan_id] >= plan.reports_per_person:
        raise BudgetError(
            f"this device has made {spent[plan.plan_id]} of the {plan.reports_per_person} reports that {name} allows a "
            "person; make no further one. To send one of them again, which spends nothing, name its reporting period"
        )
    if limit is None and not spent.keys() <= {plan.plan_id}:
        first = next(iter(spent))
        rule = f"only plan {first[:12]}, its first one"
        if first == plan.plan_id:
            rule = f"no further plan, because it has answered others than {name}, its first"
        cost = f"no limit can allow this report: {name} {uncovered}" if uncovered else _needed_limit(book, product)
        raise BudgetError(f"without a limit this device answers {rule}; {cost}")
    if limit is not None and not _below(product, limit):
        raise BudgetError(
            f"with this report of {name} the {spent.total() + 1} reports of this device would reach its limit; only a "
            "plan of a smaller γ may be answered, if any"
            if spent
            else f"one report of {name} would reach the limit of this device; answer plans of a smaller γ only"
        )


def _uncovered(book: LedgerBook, plan: PublishedPlan) -> str:
    """Return why no limit could hold with a plan's reports; empty where one can."""
    if plan.amplification is None:
        return "has no γ"
    if plan.uncovered_secret:
        return f"sends {plan.uncovered_secret}, which γ does not cover"
    if book.amplification is None:
        return "follows a report of a plan without γ"
    return "follows a report of data that γ does not cover" if book.spent_budget().uncovered else ""


def _below(product: Fraction | None, limit: Guarantee) -> bool:
    return product is not None and product < limit.amplification_limit


def _needed_limit(book: LedgerBook, product: Fraction | None) -> str:
    """Return in words the limit for a report after which γ of all reports is ``product``, and the ε that it spends."""
    assert product is not None
    assert book.amplification is not None
    hundredths = max(1, math.ceil(100 * epsilon_from_amplification(product)))
    try:
        while not _below(product, Guarantee.from_epsilon(f"{hundredths / 100:g}")):
            hundredths += 1
    except PlanError:
        return "no limit is wide enough for this report"
    now = math.ceil(100 * epsilon_from_amplification(book.amplification)) / 100
    return (
        f"a limit of epsilon {hundredths / 100:g} would allow this report, and all reports together could then spend "
        f"up to ε = {hundredths / 100:g}; at most ε = {now:g} is spent now"
    )


# ---- the ledger


class Ledger:
    """An open and locked budget ledger of a device; no other process can open it before it is closed.

    A report for a collector stays queued in the ledger, with the random id of its submission, until a collector
    acknowledges it: so it can be sent again as the same bytes, and is never lost.

    Args:
        path, file, limit: given by :meth:`open`, which makes ledgers.

    Raises:
        TypeError: it is not made by :meth:`open`.

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
        self._end, self._checksum, self._ready = 0, b"", False
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
        """Return whether the report on a reporting period exists.

        Args:
            plan: the published plan.
            period: the reporting period, as for :meth:`report`.

        Returns:
            True if it exists; False if it does not and may be made.

        Raises:
            BudgetError: it does not exist and may not be made, as for :meth:`report`.
            PlanError: as for :meth:`report`.
            TypeError: no plan, or the period is no text.
        """
        return self._found(PublishedPlan.require(plan), hash_period(period)) is not None

    def reports_made(self, plan: PublishedPlan) -> int:
        """Return the number of reports that this device has made under a plan.

        Args:
            plan: the published plan.

        Returns:
            The number of reports, from 0.
        """
        return self._book.spent[plan.plan_id]

    def remaining(self, plan: PublishedPlan) -> int:
        """Return the number of further reports that this device can make under a plan.

        Args:
            plan: the published plan.

        Returns:
            A number from 0 to the plan's ``reports_per_person``, which a limit of the device may lower.
        """
        return remaining_reports(self._book, plan, self._limit)

    def spent(self) -> BudgetSpent:
        """Return the privacy budget spent by all reports, as :func:`assocpriv.device.spent_budget` does for a file.

        Returns:
            The number of reports, ε and γ of all together, and the plans; against the limit if the ledger has one.
        """
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

        Args:
            record: as for :meth:`report`.
            plan: the published plan.
            period: the reporting period, as for :meth:`report`.
            entropy: source of every draw; the operating system's by default.

        Returns:
            The report, with the random id of its submission.

        Raises:
            BudgetError, BasketError, FileError, PlanError, TypeError: as for :meth:`report`.
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
        """Return the reports that no collector has acknowledged yet, the oldest first.

        Returns:
            The queued reports; :meth:`acknowledge` removes one.
        """
        return self._book.queued()

    def acknowledge(self, submission: Submission) -> None:
        """Record that a collector has a report; it is not sent again.

        Args:
            submission: a report of :meth:`queued`; another one changes nothing.

        Raises:
            FileError: the ledger is closed or cannot be written.
        """
        with self._guard:
            self._check_ready()
            if submission in self._book.queued():
                self._record(ledger_file.Acknowledged(self._book.count + 1, submission.number))

    def send_time(self, submission: Submission, delay: int, now: int, *, earliest: int = 0) -> int:
        """Return the time at which to send a report, in seconds since 1970.

        It is drawn uniformly from the ``delay`` seconds after ``now`` and recorded, so later calls return the same
        time. It is drawn again if that time is before ``earliest``, or later than any new one, as after a wrong clock.

        Args:
            submission: a report of :meth:`queued`.
            delay: length of the span to draw from, in seconds, 1 or more.
            now: the present time, in seconds since 1970.
            earliest: the earliest time to keep, in seconds since 1970.

        Returns:
            The time to send, in whole seconds since 1970.

        Raises:
            FileError: the ledger is closed or cannot be written.
        """
        with self._guard:
            self._check_ready()
            known = self._book.send_times.get(submission.number, -1)
            if not earliest <= known <= now + delay and submission in self._book.queued():
                known = now + 1 + SystemEntropy().below(delay)
                self._record(ledger_file.Scheduled(self._book.count + 1, submission.number, known))
            return known

    def known_keys(self, now: int) -> set[str]:
        """Return the keys of a relay that the collector confirmed within the last two weeks, after which it has others.

        Args:
            now: the present time, in seconds since 1970.

        Returns:
            The SHA-256 of each, in hexadecimal digits.
        """
        return {digest for digest, moment in self._book.key_times.items() if abs(now - moment) <= _KEY_SECONDS}

    def keep_key(self, digest: str, now: int) -> None:
        """Record that the collector confirmed a key of a relay.

        Args:
            digest: SHA-256 of the key's configuration, 64 hexadecimal digits.
            now: the present time, in seconds since 1970.

        Raises:
            FileError: the ledger is closed or cannot be written.
        """
        with self._guard:
            self._check_ready()
            self._record(ledger_file.KeyChecked(self._book.count + 1, digest, now))

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
        length, self._end, self._checksum = _load_records(self._book, self._file, self.path)
        self._file.keep_private()
        if self._end != length:
            self._file.resize(self._end)
        # data of another process, and the file's name, may still be in memory only
        self._file.sync()
        self._write_header()
        sync_folder(self.path.resolve().parent)
        self._ready = True

    def _write_header(self) -> None:
        self._file.write(*ledger_file.header_part(self._book.count, self._checksum))
        self._file.sync()

    def _record(self, record: ledger_file.Record) -> None:
        """Write a record to disk, then state it in the header; after any error this ledger makes no further report."""
        content, length = record.to_bytes(self._checksum), self._end
        if length + len(content) > ledger_file.MOST_BYTES:
            raise FileError(
                f"the ledger {self.path} is full ({ledger_file.MOST_BYTES >> 20} MiB); make no further report"
            )
        self._ready = False
        try:
            self._file.write(length, content)
            self._file.sync()
            length += len(content)  # from now on the record stays, as the header may state it
            added = self._book.add(record)
            assert added
            self._end, self._checksum = length, content[-ledger_file.CHECKSUM_BYTES :]
            self._write_header()
        except OSError as error:
            # after a failed sync the system may show bytes that never reach the disk; they were not sent
            with contextlib.suppress(OSError):
                self._file.resize(length)
            raise FileError(
                f"cannot write the ledger {self.path}: {error.strerror or error}; nothing was sent, and send nothing"
            ) from None
        self._ready = True


def _load_records(book: LedgerBook, file: ledger_file.LedgerFile, path: Path) -> tuple[int, int, bytes]:
    """Add a file's records to a book; return its length, how many bytes count, and the last checksum."""
    content = file.read(ledger_file.MOST_BYTES + 1)
    if len(content) > ledger_file.MOST_BYTES:
        raise FileError(f"{path} is not a ledger: it is larger than {ledger_file.MOST_BYTES >> 20} MiB")
    records, end, checksum = ledger_file.parse_ledger(content, str(path))
    for record in records:
        if not book.add(record):
            raise FileError(ledger_file.damaged_record(str(path), record.number))
    return len(content), end, checksum


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
            if empty == "error" and not book.has(plan, period):
                refuse_empty(record, plan)
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


def refuse_empty(record: Any, plan: PublishedPlan) -> None:
    """Refuse a basket without names.

    Raises:
        BasketError: it is empty.
    """
    if not PARSE.is_of(plan.kind) and isinstance(record, Sized) and not len(record):
        raise BasketError(
            "the basket is empty, as after a failed pipe; to report that nothing was bought, use empty='keep'"
        )


def parse_record(text: bytes, plan: PublishedPlan, *, device_part: bool = False) -> Any:
    """Return the record in a text: one name on each line, or the format of the plan's type.

    With ``device_part`` it is the part that a device writes when a collector adds the rest.

    Raises:
        RecordError: text that is no record, or too long.
    """
    if len(text) > _MOST_BYTES:
        raise RecordError(f"the record on standard input is longer than {_MOST_BYTES >> 20} MiB")
    part = VALUES if device_part and VALUES.is_of(plan.kind) else PARSE
    return part.of(plan.kind)(text) if part.is_of(plan.kind) else _parse_names(text)


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
