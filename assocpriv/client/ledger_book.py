"""What the records of a ledger say together: reports by occasion, what is spent, what waits for a collector.

Of a record it holds what may be sent and nothing of what it was made of.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from assocpriv.client.ledger_records import Entry, Record, Waiting
from assocpriv.promise.breaches import round_up

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
        self.amplification: Fraction | None = Fraction(1)
        self._entries: dict[int, Entry] = {}
        self._ids: dict[int, bytes] = {}  # of those that wait or waited, in this order
        self._acknowledged: set[int] = set()
        self._numbers: dict[tuple[str, bytes], int] = {}

    def add(self, record: Record) -> bool:
        """Take in the next record; False, and nothing is taken in, for one that cannot stand here."""
        if record.number != self.count + 1:
            return False
        if isinstance(record, Entry):
            self._add_entry(record)
        elif isinstance(record, Waiting):
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

    def _add_entry(self, entry: Entry) -> None:
        self._entries[entry.number] = entry
        self._numbers.setdefault((entry.plan_id, entry.occasion), entry.number)
        if entry.waits and entry.submission_id is not None:
            self._ids[entry.number] = entry.submission_id
        self.spent[entry.plan_id] += 1
        self.amplification = multiply(self.amplification, entry.amplification)

    def find(self, plan_id: str, occasion: bytes) -> Entry | None:
        """Return the report of an occasion."""
        number = self._numbers.get((plan_id, occasion))
        return None if number is None else self._entries[number]

    def submission(self, entry: Entry) -> Submission | None:
        """Return a report as it is sent to a collector, if it was made or named for one."""
        submission_id = self._ids.get(entry.number)
        if submission_id is None:
            return None
        return Submission(entry.number, entry.plan_id, submission_id, entry.report, entry.number in self._acknowledged)

    def unsent(self) -> tuple[Submission, ...]:
        """Return what waits for a collector, what waits longest first."""
        waiting = (self.submission(self._entries[number]) for number in self._ids)
        return tuple(each for each in waiting if each is not None and not each.acknowledged)
