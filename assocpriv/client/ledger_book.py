"""What the records of a ledger say together: reports by occasion, what is spent, what waits, what all can have told.

It sees no raw record: of a report a ledger keeps the bytes that may be sent, the plan's id, the plan's γ and a hash of
the occasion. Independent reports multiply their likelihoods, so what they tell together is bounded by the product of
their γ, under whatever plans they were made.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from assocpriv.client import ledger_file
from assocpriv.plans.kind import shown_by
from assocpriv.promise.breaches import Breach, epsilon, round_up

_PRODUCT_BITS = 192  # after the point of a product of γ, which is rounded up there
_LARGEST_PRODUCT = Fraction(1 << 192)  # beyond the limit of every promise; products end here


def multiply(product: Fraction | None, amplification: Fraction | None) -> Fraction | None:
    """Return a product of γ, rounded up to a multiple of 2^-192 where its denominator is longer; 2^192 at most.

    So its length does not grow with the number of reports. Where one of them is not stated, neither is the product.

    >>> multiply(Fraction(7, 3), Fraction(3))
    Fraction(7, 1)
    """
    if product is None or amplification is None:
        return None
    exact = product * amplification
    if exact.denominator >> _PRODUCT_BITS:
        exact = round_up(exact, 1 << _PRODUCT_BITS)
    return min(exact, _LARGEST_PRODUCT)


# ---- what they can have told


@dataclass(frozen=True, slots=True)
class ToldPlan:
    """The reports that a device made under one plan.

    Attributes:
        plan_id: 64 hexadecimal digits.
        reports: how many.
        amplification: the product of their γ (see :func:`multiply`); None where the plan states none.
        outside: whether they also told what lies outside γ, as a column in clear.
    """

    plan_id: str
    reports: int
    amplification: Fraction | None
    outside: bool


@dataclass(frozen=True, slots=True)
class Told:
    """What all reports that a device made can have told, under any plans; those that wait to be sent count, too.

    Attributes:
        plans: what was made under each plan, in the order of their first reports.
        product: γ of all reports together that state one (see :func:`multiply`).
        limit: a promise that all reports of the device keep, if one is set.
    """

    plans: tuple[ToldPlan, ...]
    product: Fraction
    limit: Breach | None = None

    _repr_html_ = shown_by("assocpriv.show.collections:told")

    @property
    def reports(self) -> int:
        """How many reports were made."""
        return sum(each.reports for each in self.plans)

    @property
    def unstated(self) -> int:
        """How many of them are of plans that state no γ: nothing bounds what these told."""
        return sum(each.reports for each in self.plans if each.amplification is None)

    @property
    def outside(self) -> int:
        """How many of them also told what lies outside γ: nothing bounds what they told there."""
        return sum(each.reports for each in self.plans if each.outside)

    @property
    def stated_amplification(self) -> Fraction | None:
        """The product of the γ that are stated, rounded up; None from 2^192 on, where it bounds nothing."""
        return None if self.product == _LARGEST_PRODUCT else self.product

    @property
    def stated_epsilon(self) -> float | None:
        """ln of :attr:`stated_amplification` in nats, rounded up."""
        return None if self.stated_amplification is None else epsilon(self.stated_amplification)

    @property
    def left(self) -> Fraction | None:
        """What γ of all further reports must stay below for the limit; 1 where none may be made.

        None without a limit, and where none can hold because something that was told is not bounded.
        """
        if self.limit is None or self.unstated or self.outside:
            return None
        return max(self.limit.amplification_limit / self.product, Fraction(1))

    @property
    def left_epsilon(self) -> float | None:
        """ln of :attr:`left` in nats, rounded down."""
        return None if self.left is None else 0.0 - epsilon(1 / self.left)


# ---- records


@dataclass(frozen=True, slots=True)
class Submission:
    """A report on its way to a collector, the same bytes at every attempt.

    Attributes:
        number: of the report's record in the ledger.
        plan_id: the plan's id, 64 hexadecimal digits.
        submission_id: 16 random bytes, by which a collector tells a repeat.
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
        self._plans: dict[str, tuple[Fraction | None, bool]] = {}  # γ of each one's reports, whether any told more
        self._product = Fraction(1)
        self._entries: dict[int, ledger_file.Entry] = {}
        self._ids: dict[int, bytes] = {}  # of those that wait or waited, in this order
        self._acknowledged: set[int] = set()
        self._numbers: dict[tuple[str, bytes], int] = {}

    def add(self, record: ledger_file.Record) -> bool:
        """Take in the next record; False, and nothing is taken in, for one that cannot stand here."""
        if record.number != self.count + 1:
            return False
        if isinstance(record, ledger_file.Entry):
            self._add_entry(record)
        elif isinstance(record, ledger_file.Waiting):
            known = self._entries.get(record.entry)
            if known is None or record.entry in self._ids or known.submission_id not in (None, record.submission_id):
                return False
            self._ids[record.entry] = record.submission_id
        else:
            if record.entry not in self._ids or record.entry in self._acknowledged:
                return False
            self._acknowledged.add(record.entry)
        self.count += 1
        return True

    def _add_entry(self, entry: ledger_file.Entry) -> None:
        self._entries[entry.number] = entry
        self._numbers.setdefault((entry.plan_id, entry.occasion), entry.number)
        if entry.waits and entry.submission_id is not None:
            self._ids[entry.number] = entry.submission_id
        self.spent[entry.plan_id] += 1
        product, outside = self._plans.get(entry.plan_id, (Fraction(1), False))
        self._plans[entry.plan_id] = multiply(product, entry.amplification), outside or entry.outside
        self._product = multiply(self._product, entry.amplification) or self._product

    @property
    def amplification(self) -> Fraction | None:
        """γ of all reports together; None where a plan states none."""
        return None if any(product is None for product, _ in self._plans.values()) else self._product

    def told(self, limit: Breach | None = None) -> Told:
        """Return what all reports can have told, and what a limit leaves."""
        plans = tuple(ToldPlan(name, self.spent[name], *each) for name, each in self._plans.items())
        return Told(plans, self._product, limit)

    def find(self, plan_id: str, occasion: bytes) -> ledger_file.Entry | None:
        """Return the report of an occasion."""
        number = self._numbers.get((plan_id, occasion))
        return None if number is None else self._entries[number]

    def submission(self, entry: ledger_file.Entry) -> Submission | None:
        """Return a report as it is sent to a collector, if it was made or named for one."""
        submission_id = self._ids.get(entry.number)
        if submission_id is None:
            return None
        return Submission(entry.number, entry.plan_id, submission_id, entry.report, entry.number in self._acknowledged)

    def unsent(self) -> tuple[Submission, ...]:
        """Return what waits for a collector, what waits longest first."""
        waiting = (self.submission(self._entries[number]) for number in self._ids)
        return tuple(each for each in waiting if each is not None and not each.acknowledged)
