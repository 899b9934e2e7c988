"""The records of a ledger, evaluated: reports by reporting period, queued reports, privacy budget spent and remaining.

This module sees no raw record: for a report a ledger keeps the bytes to send, the plan's id, the plan's γ and a hash of
the reporting period. Independent reports multiply their likelihoods, so the product of their γ bounds their joint
disclosure, under any plans.

A reporting period is answered once. Without a limit a device answers only its first plan, for the number of reports
that this plan's guarantee allows; no plan published later gets a report. With a limit it answers any plans, while the
product of all γ stays below the limit.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from assocpriv.client import ledger_file
from assocpriv.guarantees.amplification import Guarantee, epsilon_from_amplification, log_up, round_amplification_up
from assocpriv.guarantees.errors import BudgetError, PlanError, pluralize
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.plans.result_display import bound_text, figure, gamma_and_epsilon, html_renderer, rows_frame, short_repr

if TYPE_CHECKING:
    from assocpriv.plans.result_display import Frame

_PRODUCT_BITS = 192  # after the point of a product of γ, which is rounded up there
_LARGEST_PRODUCT = Fraction(1 << 192)  # above the limit of every guarantee; products are capped here


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


# ---- privacy budget spent


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
        """Return a row a plan: the number of its reports, and their γ and ε together."""
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
