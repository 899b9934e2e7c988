"""Counts of itemsets: how many reports show all the items of each.

A backend returns integers; what they mean for supports is decided elsewhere (supports.py), so counts split over
machines add up to the same result. Mining is handed one. The local backend here goes over the reports part by part,
expanding only the items asked for, while the next parts are read.

**Questions.** Of a plan of several questions what is counted are the answers to one, by default to that about items
that most were asked. How many there are is counted first: a pass over the reports that reads their first bytes.

**Parts.** All reports count, or the 3 of every ten that choose itemsets, or the 7 that test them (false_discovery.py).
Which 3 is a fixed pseudo-random function of their position: it follows no order that reports may have been kept in, and
the same files in the same order are always split alike.

**Subsets.** Estimation needs sums over an itemset's subsets, and counts of every subset. All of that follows from one
count of each itemset, once it is known of its subsets (:class:`ItemsetCounter`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.parallel import add_up, cores, default_memory
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import WORD_BITS
from assocpriv.plans.question import Question
from assocpriv.plans.transition import SupportModel
from assocpriv.server.bitmaps import ItemTables, Rows, SupersetCounter, form_of, items_of, places_in, planes_of
from assocpriv.server.supports import Respondents, SupportEstimates, estimate_supports

if TYPE_CHECKING:
    from assocpriv.files.reports import Reports

Ints = NDArray[np.int64]
Progress = Callable[[str, int, int], None]
SELECTING, _OUT_OF = 3, 10
_LEAST_PART = 1 << 12
_MOST_PART = 1 << 17  # reports; long enough a task for handing it to a thread to cost nothing
MOST_CANDIDATES = 250_000
_CANDIDATE_BYTES = 2_000  # measured: what one takes while its support is told


# ---- parts of reports


class Part(Enum):
    """The reports to count in."""

    WHOLE = "whole"
    SELECTING = "selecting"
    TESTING = "testing"


class Packed(Protocol):
    """Packed reports of one plan, as :class:`assocpriv.files.reports.Reports` holds them, or some of those."""

    @property
    def plan(self) -> Plan:
        """The plan all of them were made with."""

    def __len__(self) -> int: ...

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports as uint8 arrays of shape (≤ size, report_bytes)."""


@dataclass(frozen=True, slots=True)
class ReportPart:
    """The reports that choose, or those that test: a view that holds none itself; ``first`` is the first's position."""

    reports: Packed
    selecting: bool
    first: int = 0

    @property
    def plan(self) -> Plan:
        """The plan of the reports."""
        return self.reports.plan

    def __len__(self) -> int:
        selecting = _n_choosing(self.first + len(self.reports)) - _n_choosing(self.first)
        return selecting if self.selecting else len(self.reports) - selecting

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports of this part as uint8 arrays of shape (≤ size, report_bytes)."""
        done = self.first
        for batch in self.reports.batches(size):
            mine = batch[choosing(done, len(batch)) == self.selecting]
            done += len(batch)
            if len(mine):
                yield mine


class Answers:
    """The answers to one question of a plan, by its number, among some reports: a view that holds none itself."""

    def __init__(self, reports: Packed, number: int) -> None:
        self._reports, self._number = reports, number
        self.question = reports.plan.questions[number]

    @cached_property
    def _n_answers(self) -> int:
        plan, size = self._reports.plan, _MOST_PART
        if not plan.number_bytes:
            return len(self._reports)
        return sum(int((plan.numbers_in(batch) == self._number).sum()) for batch in self._reports.batches(size))

    def __len__(self) -> int:
        return self._n_answers

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the answers as uint8 arrays of shape (1 to size, bytes of an answer)."""
        for batch in self._reports.batches(size):
            answers = self._reports.plan.answers_in(batch, self._number)
            if len(answers):  # a short last batch may be all of another question
                yield answers


def number_of(plan: Plan, question: Question | None) -> int:
    """Return the number of a question, by default of that about items that most are asked."""
    return plan.questions.index(question or plan.items)


def _n_choosing(count: int) -> int:
    """Return how many of the first ``count`` reports choose."""
    whole, rest = divmod(count, _OUT_OF)
    return whole * SELECTING + int(choosing(whole * _OUT_OF, rest).sum())


def choosing(first: int, count: int) -> NDArray[np.bool_]:
    """Tell which of ``count`` reports from position ``first`` on choose: three neighbours of each ten, in a circle.

    Where they begin is a hash of the ten's number (the finalizer of SplitMix64: Steele, Lea, Flood, OOPSLA 2014).

    >>> [int(choosing(10 * ten, 10).sum()) for ten in range(4)]
    [3, 3, 3, 3]
    """
    ten, place = np.divmod(np.arange(first, first + count, dtype=np.uint64), np.uint64(_OUT_OF))
    mixed = (ten + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    turned = (place + (mixed ^ mixed >> np.uint64(31)) % np.uint64(_OUT_OF)) % np.uint64(_OUT_OF)
    chosen: NDArray[np.bool_] = turned < SELECTING
    return chosen


def part_size(n_total: int, n_rows: int, memory_bytes: int) -> int:
    """Return how many of ``n_total`` transactions to take at a time.

    Few enough for every core to have some, and for ``n_rows`` bitmaps of those at work to take a quarter of the memory.
    """
    fitting = memory_bytes // (8 * cores()) * 8 // max(n_rows, 1)  # a part waits while one is counted
    wanted = min(_MOST_PART, fitting, n_total // (2 * cores()))
    return max(1, wanted // _LEAST_PART) * _LEAST_PART


# ---- counters


@dataclass(frozen=True, slots=True)
class Candidates:
    """Itemsets of one size in lexicographic order, int64 (itemsets, k), and what reports show of them.

    ``sums`` are C_0 … C_k, int64 (itemsets, k + 1): C_j sums, over an itemset's subsets of j items, how many reports
    show all of them; C_0 is N.
    """

    itemsets: Ints
    sums: Ints


class ItemsetCounter(ABC):
    """A counter of itemsets in reports; who derives from it counts.

    Itemsets are item ids, dummies included, int64 (itemsets, k), k ≥ 1, each row increasing, rows in lexicographic
    order.
    """

    @property
    @abstractmethod
    def n_reports(self) -> int:
        """Number of reports N."""

    @abstractmethod
    def count(self, itemsets: Ints) -> Ints:
        """Return the number of reports showing all items of each itemset, int64 (candidates,)."""

    def sums(self, itemsets: Ints, smaller: Candidates, /) -> Ints:
        """Return C_0 … C_k, int64 (itemsets, k + 1), from those of the (k−1)-subsets and one count of each itemset."""
        k = itemsets.shape[1]
        sums = np.zeros((len(itemsets), k + 1), dtype=np.int64)
        parents = [find_itemsets(smaller.itemsets, np.delete(itemsets, dropped, axis=1)) for dropped in range(k)]
        sums[:, :k] = add_subsets(smaller.sums, np.column_stack(parents))
        if len(itemsets) and self.n_reports:
            sums[:, k] = self.count(itemsets)
        return sums

    def subsets(self, itemsets: Ints, /) -> Ints:
        """Return how many reports show all of D, for all subsets D by mask, bit i being item i, int64 (itemsets, 2^k).

        Each is counted once however often it occurs. Items here are in any order, and rows too.
        """
        k = itemsets.shape[1]
        counts = np.zeros((len(itemsets), 1 << k), dtype=np.int64)
        counts[:, 0] = self.n_reports
        for size in range(1, k + 1) if len(itemsets) else ():
            members = list(combinations(range(k), size))
            wanted = [np.sort(itemsets[:, chosen], axis=1) for chosen in members]
            distinct = np.unique(np.concatenate(wanted), axis=0)
            found = self.count(distinct)
            for chosen, rows in zip(members, wanted, strict=True):
                counts[:, sum(1 << i for i in chosen)] = found[find_itemsets(distinct, rows)]
        return counts


Source = tuple[ItemsetCounter, SupportModel]  # a counter of reports, and the model of their operator


def count_candidates(source: Source, itemsets: Ints, smaller: Candidates | None = None) -> Candidates:
    """Count itemsets of one size, given what is known of their subsets; of single items nothing need be."""
    counter = source[0]
    nothing = Candidates(np.empty((1, 0), dtype=np.int64), np.array([[counter.n_reports]], dtype=np.int64))
    return Candidates(itemsets, counter.sums(itemsets, smaller or nothing))


@dataclass(frozen=True, slots=True)
class CountedSubsets:
    """What reports show of all subsets of itemsets of one size, and whose reports they are.

    ``counts`` are how many show all of a subset, by mask, bit i being item i, int64 (itemsets, 2^k).
    """

    respondents: Respondents
    counts: Ints

    def estimates(self) -> SupportEstimates:
        """Return the supports of every itemset, with their variances."""
        return estimate_supports(self.sums(), self.respondents)

    def sums(self) -> Ints:
        """Return C_0 … C_k, the sums over the subsets of each size, int64 (itemsets, k + 1)."""
        sizes = np.bitwise_count(np.arange(self.counts.shape[1]))
        return np.stack([self.counts[:, sizes == j].sum(axis=1) for j in range(int(sizes[-1]) + 1)], axis=1)


def count_subsets(source: Source, itemsets: Ints) -> CountedSubsets:
    """Count all subsets of itemsets of one size: different item ids, int64 (itemsets, k), in any order."""
    counter, model = source
    return CountedSubsets(Respondents(counter.n_reports, model), counter.subsets(itemsets))


def add_subsets(smaller: NDArray[Any], parents: Ints) -> NDArray[Any]:
    """Return sums over subsets of 0 … k − 1 items, (itemsets, k), given those of the sets that lack one item each.

    ``parents`` are the rows of these, int64 (itemsets, k). Every subset of j items is met k − j times: of counts the
    division is exact.
    """
    k = parents.shape[1]
    total = np.sum([smaller[column] for column in parents.T], axis=0)
    return np.asarray(total // (k - np.arange(k)) if total.dtype.kind == "i" else total / (k - np.arange(k)))


def find_itemsets(known: Ints, wanted: Ints) -> Ints:
    """Return the position of each wanted itemset, int64 (wanted, k), among those known, which are in order, else −1."""
    if not len(known) or not len(wanted):
        return np.full(len(wanted), -1, dtype=np.int64)
    base = int(max(known.max(initial=0), wanted.max(initial=0))) + 1
    wide = base ** known.shape[1] >= 2**63
    keys, sought = (_number(sets.astype(object) if wide else sets, base) for sets in (known, wanted))
    places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1).astype(np.int64)
    return np.where(keys[places] == sought, places, -1)


def _number(itemsets: NDArray[Any], base: int) -> NDArray[Any]:
    """Read each row as the digits of a number; the order is the lexicographic one."""
    numbers = np.zeros(len(itemsets), dtype=itemsets.dtype)
    for column in itemsets.T:
        numbers = numbers * base + column
    return numbers


def _teller(progress: Progress | None, what: str, n_reports: int) -> Callable[[float], None] | None:
    """Return what is called with the number of reports done, parts of reports as shares of theirs."""
    return progress and (lambda done: progress(what, min(round(done), n_reports), n_reports))


# ---- reports at hand


class _Part(NamedTuple):
    """Some reports as bit planes, or as bitmaps of items."""

    n_reports: int
    rows: Rows


class LocalCounter(ItemsetCounter):
    """Counts on this machine's cores, holding about ``memory_bytes`` of reports and bitmaps at a time.

    Reports that take less than half of it are read once and kept, as bit planes. Of more reports the bitmaps of the
    items that itemsets are made of are kept, if these fit: with Apriori no larger itemset has other items. Otherwise
    every call reads the reports again. Progress is called with (what is done, reports done, reports).
    """

    def __init__(self, answers: Answers, *, memory_bytes: int | None = None, progress: Progress | None = None) -> None:
        self._answers = answers
        self._memory_bytes = default_memory() if memory_bytes is None else memory_bytes
        self._progress = progress
        self._planes: list[_Part] = []
        self._rows: list[_Part] = []
        self._row_items = np.empty(0, dtype=np.int64)

    @property
    def n_reports(self) -> int:
        """Number of answers N."""
        return len(self._answers)

    def count(self, itemsets: Ints) -> Ints:
        """Return the number of reports showing all items of each itemset, as :class:`ItemsetCounter`."""
        items = items_of(itemsets)
        what = f"counting itemsets of {itemsets.shape[1]}"
        if self._rows and np.isin(items, self._row_items).all():
            supersets = SupersetCounter(places_in(self._row_items, itemsets), len(self._row_items))
            count = _in_reports(lambda part, to: supersets.count_in_steps(part.rows, to), supersets.work)
            return add_up(count, self._rows, len(itemsets), _teller(self._progress, what, self.n_reports))
        many = len(itemsets) > form_of(self._answers.question).n_planes
        if many and itemsets.shape[1] == 2 and (itemsets[:, 1] == itemsets[0, 1]).all():
            return self._count_beside(itemsets[:, 0], itemsets[0, 1:], what)
        tables = ItemTables(self._answers.question, items)
        if itemsets.shape[1] == 1:
            count = _in_reports(lambda part, to: tables.count_in_steps(part.rows, part.n_reports, to), tables.work)
            return self._add_up_planes(count, 0, what, len(items))[places_in(items, itemsets[:, 0])]
        return self._count_itemsets(tables, items, itemsets, what)

    def _count_beside(self, items: Ints, other: Ints, what: str) -> Ints:
        """Count who shows each item and one other too, (1,), without bitmaps: reports that do not show it are blanked.

        A blank seed shows every item, as 0 is below any number; how many there are is subtracted. Where reports are no
        seeds, a pair is counted in the planes themselves, and there are fewer pairs than planes.
        """
        question = self._answers.question
        tables, shown = ItemTables(question, items), ItemTables(question, other)

        def count(part: _Part, counts: Ints) -> Iterator[int]:
            row = shown.rows(part.rows, part.n_reports)
            yield from tables.count_in_steps(part.rows & row, part.n_reports, counts)
            counts -= part.n_reports - int(np.bitwise_count(row).sum(dtype=np.int64))

        n_planes = form_of(question).n_planes
        return self._add_up_planes(_in_reports(count, tables.work), n_planes, what, len(items))

    def _count_itemsets(self, tables: ItemTables, items: Ints, itemsets: Ints, what: str) -> Ints:
        supersets = SupersetCounter(places_in(items, itemsets), len(items))
        keep, parts = not self._fits(form_of(self._answers.question).n_planes) and self._fits(len(items)), []

        def count(part: _Part, counts: Ints) -> Iterator[int]:
            rows = tables.empty_rows(part.rows)
            yield from tables.expand_in_steps(part.rows, part.n_reports, rows)
            yield from supersets.count_in_steps(rows, counts)
            if keep:
                parts.append(_Part(part.n_reports, rows))

        self._rows = []
        work = _in_reports(count, tables.work + supersets.work)
        counts = self._add_up_planes(work, len(items), what, len(itemsets))
        self._rows, self._row_items = parts, items
        return counts

    def _fits(self, n_rows: int) -> bool:
        """Tell whether bitmaps of so many rows over all reports take at most half of the memory."""
        return n_rows * self.n_reports // 8 <= self._memory_bytes // 2

    def _add_up_planes(self, count: "_Count", n_rows: int, what: str, n_counts: int) -> Ints:
        """Add up counts over all reports, given as planes; ``n_rows`` bitmaps are made of each part on the way."""
        size = part_size(self.n_reports, n_rows + form_of(self._answers.question).n_planes, self._memory_bytes)
        tell = _teller(self._progress, what, self.n_reports)
        if self._planes:
            return add_up(count, _cut(self._planes, size), n_counts, tell)
        keep, parts = self._fits(form_of(self._answers.question).n_planes), []

        def count_packed(packed: NDArray[np.uint8], counts: Ints) -> Iterator[float]:
            part = _Part(len(packed), planes_of(packed, self._answers.question))
            yield 0.0
            yield from count(part, counts)
            if keep:
                parts.append(part)

        counts = add_up(count_packed, self._answers.batches(size), n_counts, tell)
        self._planes = parts
        return counts


_Count = Callable[[_Part, Ints], Iterator[float]]


def _in_reports(count: Callable[[_Part, Ints], Iterator[int]], work: int) -> _Count:
    """Count a part, and tell how much is done in reports; ``work`` is how many words are combined for each of a row."""

    def run(part: _Part, counts: Ints) -> Iterator[float]:
        words = max(1, work * part.rows.shape[0] * part.rows.shape[2])
        for done in count(part, counts):
            yield done / words * part.n_reports

    return run


def _cut(parts: list[_Part], size: int) -> Iterator[_Part]:
    """Cut planes into parts of about ``size`` reports, whole blocks."""
    for n_reports, planes in parts:
        block = planes.shape[2] * WORD_BITS
        step = max(1, size // block)
        for first in range(0, len(planes), step):
            yield _Part(min(step * block, n_reports - first * block), planes[first : first + step])


# ---- backends


class CountingBackend(Protocol):
    """A collection of reports, and who counts in it."""

    @property
    def plan(self) -> Plan:
        """The plan all reports were made with."""

    @property
    def most_candidates(self) -> int:
        """How many itemsets of one size may be counted at once."""

    def open(self, part: Part, question: Question | None = None) -> Source:
        """Return a counter of answers to a question in some of these reports, and the model of its operator.

        By default it is the question about items that most were asked.
        """


def most_candidates(memory_bytes: int | None, n_counts: int) -> int:
    """Return how many candidates a quarter of the memory holds, with so many counts of each."""
    if memory_bytes is None:  # what is free at the moment decides how fast, not whether
        return MOST_CANDIDATES
    return min(MOST_CANDIDATES, memory_bytes // 4 // (_CANDIDATE_BYTES + 8 * n_counts))


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """Reports at hand, counted on this machine.

    ``memory_bytes`` of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
    """

    plan: Plan
    reports: Packed
    memory_bytes: int | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.plan.check_batch(len(self.reports), "read")

    @classmethod
    def of(
        cls, reports: "Reports", memory_bytes: int | None = None, progress: Progress | None = None
    ) -> "LocalBackend":
        """Return the backend for a collection, in memory or in files."""
        return cls(reports.plan.as_a(Plan), cast("Packed", reports), memory_bytes, progress)

    @property
    def most_candidates(self) -> int:
        """How many candidates a quarter of the memory holds, with a count for each core."""
        return most_candidates(self.memory_bytes, cores())

    def open(self, part: Part = Part.WHOLE, question: Question | None = None) -> tuple[LocalCounter, SupportModel]:
        """Return the counter of answers to a question in some of these reports, and the model of its operator."""
        reports = self.reports if part is Part.WHOLE else ReportPart(self.reports, part is Part.SELECTING)
        answers = Answers(reports, number_of(self.plan, question))
        counter = LocalCounter(answers, memory_bytes=self.memory_bytes, progress=self.progress)
        return counter, SupportModel.of(answers.question.operator)
