"""What the records of a ledger say together: reports by occasion, what waits, what all can have told, what may follow.

It sees no raw record: of a report a ledger keeps the bytes that may be sent, the plan's id, the plan's γ and a hash of
the occasion. Independent reports multiply their likelihoods, so what they tell together is bounded by the product of
their γ, under whatever plans they were made.

An occasion is answered once. Without a limit a device answers one plan for life, the first that it answered, as often
as that promises a person: whoever publishes another one gets nothing. With a limit it answers any plans, while the
product of all γ stays below it.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from assocpriv.client import ledger_file
from assocpriv.plans.kind import shown_by
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import Breach, Epsilon, epsilon, log_up, round_up
from assocpriv.promise.errors import BudgetError, PlanError

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
        return None if self.left is None else 0.0 - log_up(1 / self.left)


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
        self._for_collector: dict[int, None] = {}  # numbers of those that wait or waited, in this order
        self._acknowledged: set[int] = set()
        self.moments: dict[int, int] = {}  # at which what waits is to be sent, by number of the report's record
        self._numbers: dict[tuple[str, bytes], int] = {}

    def add(self, record: ledger_file.Record) -> bool:
        """Take in the next record; False, and nothing is taken in, for one that cannot stand here."""
        if record.number != self.count + 1:
            return False
        if isinstance(record, ledger_file.Entry):
            self._add_entry(record)
        elif isinstance(record, ledger_file.Waiting):
            if record.entry not in self._entries or record.entry in self._for_collector:
                return False
            self._for_collector[record.entry] = None
        else:
            if record.entry not in self._for_collector or record.entry in self._acknowledged:
                return False
            if isinstance(record, ledger_file.Moment):
                self.moments[record.entry] = record.moment
            else:
                self._acknowledged.add(record.entry)
        self.count += 1
        return True

    def _add_entry(self, entry: ledger_file.Entry) -> None:
        self._entries[entry.number] = entry
        self._numbers.setdefault((entry.plan_id, entry.occasion), entry.number)
        if entry.waits:
            self._for_collector[entry.number] = None
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

    def plan_of(self, occasion: bytes) -> str | None:
        """Return the id of the plan under which an occasion was answered."""
        return next((each.plan_id for each in self._entries.values() if each.occasion == occasion), None)

    def submission(self, entry: ledger_file.Entry) -> Submission | None:
        """Return a report as it is sent to a collector, if it was made or named for one."""
        if entry.number not in self._for_collector:
            return None
        is_acknowledged = entry.number in self._acknowledged
        return Submission(entry.number, entry.plan_id, entry.submission_id, entry.report, is_acknowledged)

    def unsent(self) -> tuple[Submission, ...]:
        """Return what waits for a collector, what waits longest first."""
        waiting = (self.submission(self._entries[number]) for number in self._for_collector)
        return tuple(each for each in waiting if each is not None and not each.acknowledged)


# ---- what may follow


def left(book: LedgerBook, plan: PublishedPlan, limit: Breach | None) -> int:
    """Return how many further occasions a device can report on under a plan."""
    if not book.spent.keys() <= {plan.plan_id} if limit is None else _uncovered(book, plan):
        return 0
    product, further = book.amplification, 0
    while further < plan.reports_per_person - book.spent[plan.plan_id] and (
        limit is None or _below(product := multiply(product, plan.amplification), limit)
    ):
        further += 1
    return further


def check_further(book: LedgerBook, plan: PublishedPlan, occasion: bytes, limit: Breach | None) -> None:
    """Refuse a new report on an occasion where none may be made.

    Raises:
        BudgetError: the occasion is answered, or no further report may be made under this plan.
        PlanError: there is a limit, and no γ covers all that was told or is asked.
    """
    name, spent, product = f"plan {plan.plan_id[:12]}", book.spent, multiply(book.amplification, plan.amplification)
    if answered := book.plan_of(occasion):
        raise BudgetError(
            f"this device has answered this occasion under plan {answered[:12]}, and an occasion is answered once, "
            "whatever the plan; make no further report of it"
        )
    uncovered = _uncovered(book, plan)
    if limit is not None and uncovered:
        raise PlanError(
            f"{name} {uncovered}, so no limit for this device holds with its reports; answer plans whose γ covers all "
            "that they send, or set no limit"
        )
    if spent[plan.plan_id] >= plan.reports_per_person:
        counted = f"{spent[plan.plan_id]} of the {plan.reports_per_person} reports that {name} allows a person"
        raise BudgetError(
            f"the ledger of this device counts {counted}; make no further one. Sending one of them again is free: name "
            "its occasion"
        )
    if limit is None and not spent.keys() <= {plan.plan_id}:
        first = next(iter(spent))
        rule = f"answers plan {first[:12]}, the first that it answered, and no other"
        if first == plan.plan_id:
            rule = f"has answered other plans beside {name}, its first, so it answers none"
        cost = f"no limit can allow this report, for {name} {uncovered}" if uncovered else _cost(book, product)
        raise BudgetError(f"this device {rule} without a limit; {cost}")
    if limit is not None and not _below(product, limit):
        raise BudgetError(
            f"with a further report of {name} all {spent.total() + 1} of this device would reach the limit that is set "
            "for it; only a plan of a smaller γ may be answered, if any"
            if spent
            else f"one report of {name} alone would reach the limit that is set for this device; it can answer plans "
            "of a smaller γ only"
        )


def _uncovered(book: LedgerBook, plan: PublishedPlan) -> str:
    """Return why no limit could hold with a plan's reports; empty where one can."""
    if plan.amplification is None:
        return "states no γ"
    if plan.uncovered_secret:
        return f"sends {plan.uncovered_secret}, which lie outside γ"
    if book.amplification is None:
        return "comes after a report whose plan states no γ"
    return "comes after a report that told what lies outside γ" if book.told().outside else ""


def _below(product: Fraction | None, limit: Breach) -> bool:
    return product is not None and product < limit.amplification_limit


def _cost(book: LedgerBook, product: Fraction | None) -> str:
    """Say which limit would allow a report with which γ of all is ``product``, and what it costs in ε."""
    assert product is not None
    assert book.amplification is not None
    hundredths = max(1, math.ceil(100 * epsilon(product)))
    try:
        while not _below(product, Epsilon(f"{hundredths / 100:g}")):
            hundredths += 1
    except PlanError:
        return "no limit is wide enough for this report"
    now = math.ceil(100 * epsilon(book.amplification)) / 100
    return (
        f"a limit of epsilon {hundredths / 100:g} would allow this report: all of them together could then tell up "
        f"to ε = {hundredths / 100:g}, where by now they can have told ε = {now:g} at most"
    )
