"""Counts of itemsets: how many reports show all the items of each.

A backend returns integers, from which supports.py estimates supports. So counts split over machines add up to the same
result. The local backend here processes the reports part by part and expands only the items in the given itemsets,
while it reads the next parts.

**Report types.** For a plan with several report types, a counter counts the responses of one. The default is the type
about items with the largest share. Their number is counted first, in a pass that reads the first bytes of each report.

**Parts.** All reports count, or the 3 of every ten that select itemsets, or the 7 that test them (mining.py).
Which 3 is a fixed pseudo-random function of the position. It does not depend on any order in which reports are stored,
and the same files in the same order are always split alike.

**Subsets.** Estimation needs sums over an itemset's subsets. They follow from one count of each itemset and the sums of
its subsets (:class:`ItemsetCounter`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.releases import Release
from assocpriv.files.report_files import Reports, hold_reports
from assocpriv.kernels.itemset_counts import Rows, SupersetCounter, find_itemsets, items_of, places_in
from assocpriv.kernels.parallel import add_up, cores, default_memory
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.generator import WORD_BITS
from assocpriv.plans.baskets.operator import SupportModel
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.server.baskets.bitmaps import ItemTables, form_of, planes_of

Ints = NDArray[np.int64]
Progress = Callable[[str, int, int], None]
_Callback = Callable[[float], None] | None
SELECTING, _OUT_OF = 3, 10
_LEAST_PART = 1 << 12
_MOST_HELD = 1 << 26  # bytes of reports that are read in well under a second, and several times
_MOST_PART = 1 << 17  # reports; long enough that the overhead of a thread task is negligible
MOST_CANDIDATES = 250_000
_CANDIDATE_BYTES = 2_000  # measured: memory of a candidate while its support is estimated


# ---- parts of reports


class Part(Enum):
    """The reports to count in."""

    WHOLE = "whole"
    SELECTING = "selecting"
    TESTING = "testing"


class ReportSource(Protocol):
    """Packed reports of one plan, as :class:`assocpriv.files.report_files.Reports`, or a part of them."""

    @property
    def plan(self) -> Plan:
        """The plan of the reports."""

    def __len__(self) -> int: ...

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports as uint8 arrays of shape (≤ size, report_bytes)."""


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A view of the reports that select, or of those that test; ``first`` is the position of the first report."""

    reports: ReportSource
    selecting: bool
    first: int = 0

    @property
    def plan(self) -> Plan:
        """The plan of the reports."""
        return self.reports.plan

    def __len__(self) -> int:
        selecting = _n_selecting(self.first + len(self.reports)) - _n_selecting(self.first)
        return selecting if self.selecting else len(self.reports) - selecting

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports of this part as uint8 arrays of shape (≤ size, report_bytes)."""
        done = self.first
        for batch in self.reports.batches(size):
            mine = batch[is_selecting(done, len(batch)) == self.selecting]
            done += len(batch)
            if len(mine):
                yield mine


class Responses:
    """A view of the responses of one report type, given by its number in the plan."""

    def __init__(self, reports: ReportSource, number: int) -> None:
        self._reports, self._number = reports, number
        self.report_type = reports.plan.report_types[number]

    @cached_property
    def _n_responses(self) -> int:
        plan, size = self._reports.plan, _MOST_PART
        if not plan.number_bytes:
            return len(self._reports)
        return sum(int((plan.type_numbers(batch) == self._number).sum()) for batch in self._reports.batches(size))

    def __len__(self) -> int:
        return self._n_responses

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the responses as uint8 arrays of shape (1 to size, bytes of a response)."""
        for batch in self._reports.batches(size):
            responses = self._reports.plan.responses_in(batch, self._number)
            if len(responses):  # all of a short last batch may be of another report type
                yield responses


def report_type_number(plan: Plan, report_type: ReportType | None) -> int:
    """Return the number of a report type, by default of the type about items with the largest share."""
    return plan.report_types.index(report_type or plan.items)


def _n_selecting(count: int) -> int:
    """Return how many of the first ``count`` reports select itemsets."""
    whole, rest = divmod(count, _OUT_OF)
    return whole * SELECTING + int(is_selecting(whole * _OUT_OF, rest).sum())


def is_selecting(first: int, count: int) -> NDArray[np.bool_]:
    """Return which of ``count`` reports from position ``first`` on select itemsets, bool (count,).

    They are three neighbours of each ten, taken as a circle. The first is a hash of the ten's number (the finalizer of
    SplitMix64: Steele, Lea, Flood, OOPSLA 2014).

    >>> [int(is_selecting(10 * ten, 10).sum()) for ten in range(4)]
    [3, 3, 3, 3]
    """
    ten, place = np.divmod(np.arange(first, first + count, dtype=np.uint64), np.uint64(_OUT_OF))
    mixed = (ten + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    turned = (place + (mixed ^ mixed >> np.uint64(31)) % np.uint64(_OUT_OF)) % np.uint64(_OUT_OF)
    return turned < SELECTING


def part_size(n_total: int, n_rows: int, memory_bytes: int) -> int:
    """Return how many of ``n_total`` transactions to process at a time.

    Every core gets some, and ``n_rows`` bitmaps of all parts in work take at most a quarter of the memory.
    """
    fitting = memory_bytes // (8 * cores()) * 8 // max(n_rows, 1)  # a second part is read while one is counted
    wanted = min(_MOST_PART, fitting, n_total // (2 * cores()))
    return max(1, wanted // _LEAST_PART) * _LEAST_PART


# ---- counters


@dataclass(frozen=True, slots=True)
class Candidates:
    """Itemsets of one size in lexicographic order, int64 (itemsets, k), with their counts.

    ``sums`` are C_0 … C_k, int64 (itemsets, k + 1): C_j is the sum, over an itemset's subsets of j items, of the number
    of reports that show the whole subset; C_0 is N.
    """

    itemsets: Ints
    sums: Ints


class ItemsetCounter(ABC):
    """A counter of itemsets in reports; a subclass implements ``count``.

    Itemsets are item ids, padding items included, int64 (itemsets, k), k ≥ 1. Each row increases, and rows are in
    lexicographic order.
    """

    @property
    @abstractmethod
    def n_reports(self) -> int:
        """Number of reports N."""

    @abstractmethod
    def count(self, itemsets: Ints) -> Ints:
        """Return the number of reports showing all items of each itemset, int64 (candidates,)."""

    def count_with(self, items: Ints, other: int) -> tuple[Ints, Ints]:
        """Return the counts of items, int64 (items,) rising, and of pairs of each with a larger one, (items,) each."""
        return self.count(items[:, None]), self.count(np.column_stack([items, np.full(len(items), other)]))

    def count_candidates(self, itemsets: Ints, smaller: Candidates | None = None) -> Candidates:
        """Count itemsets of one size, given the counts of all their (k−1)-subsets; single items need none."""
        k = itemsets.shape[1]
        if smaller is None:
            smaller = Candidates(np.empty((1, 0), dtype=np.int64), np.array([[self.n_reports]], dtype=np.int64))
        sums = np.zeros((len(itemsets), k + 1), dtype=np.int64)
        parents = [find_itemsets(smaller.itemsets, np.delete(itemsets, dropped, axis=1)) for dropped in range(k)]
        sums[:, :k] = sum_over_subsets(smaller.sums, np.column_stack(parents))
        if len(itemsets) and self.n_reports:
            sums[:, k] = self.count(itemsets)
        return Candidates(itemsets, sums)

    def count_sums(self, itemsets: Ints) -> Ints:
        """Return C_0 … C_k of itemsets in any order, int64 (itemsets, k + 1); each distinct subset is counted once."""
        k, known = itemsets.shape[1], None
        for size in range(1, k + 1):
            subsets = np.concatenate([itemsets[:, list(members)] for members in combinations(range(k), size)])
            known = self.count_candidates(np.unique(subsets, axis=0), known)
        assert known is not None
        return known.sums[find_itemsets(known.itemsets, itemsets)]


Source = tuple[ItemsetCounter, SupportModel]  # a counter of reports, and the model of their operator


def sum_over_subsets(smaller: NDArray[Any], parents: Ints) -> NDArray[Any]:
    """Return sums over subsets of 0 … k − 1 items, (itemsets, k), from those of the subsets with k − 1 items.

    ``parents`` are the rows of these subsets, int64 (itemsets, k). Every subset of j items occurs k − j times, so the
    division is exact for counts.
    """
    k = parents.shape[1]
    total = np.sum([smaller[column] for column in parents.T], axis=0)
    return np.asarray(total // (k - np.arange(k)) if total.dtype.kind == "i" else total / (k - np.arange(k)))


# ---- counting on this machine


class _Part(NamedTuple):
    """A part of the reports as bit planes, or as bitmaps of items."""

    n_reports: int
    rows: Rows


class LocalCounter(ItemsetCounter):
    """Counts on this machine's cores, holding about ``memory_bytes`` of reports and bitmaps at a time.

    Reports that take less than half of the memory are read once and kept as bit planes. For more reports, the counter
    keeps bitmaps of the items in the counted itemsets, if they fit: with Apriori no larger itemset has other items.
    Otherwise every call reads the reports again. Progress is called with (task, reports done, reports).
    """

    def __init__(
        self, responses: Responses, *, memory_bytes: int | None = None, progress: Progress | None = None
    ) -> None:
        self._responses, self._n_planes = responses, form_of(responses.report_type).n_planes
        self._memory_bytes = default_memory() if memory_bytes is None else memory_bytes
        self._progress = progress
        self._planes: list[_Part] = []
        self._rows: list[_Part] = []
        self._row_items = np.empty(0, dtype=np.int64)

    @property
    def n_reports(self) -> int:
        """Number of responses N."""
        return len(self._responses)

    def count(self, itemsets: Ints) -> Ints:
        """Return the number of reports showing all items of each itemset, as :class:`ItemsetCounter`."""
        items = items_of(itemsets)
        progress = self._progress_callback(f"counting itemsets of {itemsets.shape[1]}")
        if self._rows and np.isin(items, self._row_items).all():
            supersets = SupersetCounter(places_in(self._row_items, itemsets), len(self._row_items))
            count = _in_reports(lambda part, to: supersets.count_in_steps(part.rows, to), supersets.work)
            return add_up(count, self._rows, len(itemsets), progress)
        tables = ItemTables(self._responses.report_type, items)
        if itemsets.shape[1] == 1:
            return np.asarray(self._count_items(tables, None)[places_in(items, itemsets[:, 0]), 0])
        return self._count_itemsets(tables, items, itemsets, progress)

    def count_with(self, items: Ints, other: int) -> tuple[Ints, Ints]:
        """Return the counts of items and of pairs with another item, from one pass without bitmaps of the items."""
        shown = ItemTables(self._responses.report_type, np.array([other]))
        both = self._count_items(ItemTables(self._responses.report_type, items), shown)
        return both[:, 0], both[:, 1]

    def _count_items(self, tables: ItemTables, other: ItemTables | None) -> Ints:
        """Count items, alone and with another one, int64 (items, 2)."""

        def count(part: _Part, counts: Ints) -> Iterator[int]:
            row = None if other is None else other.rows(part.rows, part.n_reports)
            yield from tables.count_in_steps(part.rows, part.n_reports, counts.reshape(-1, 2), row)

        progress = self._progress_callback("counting itemsets of 1")
        work = _in_reports(count, tables.work)
        return self._add_up_planes(work, 0, progress, 2 * tables.n_items).reshape(-1, 2)

    def _count_itemsets(self, tables: ItemTables, items: Ints, itemsets: Ints, progress: _Callback) -> Ints:
        supersets = SupersetCounter(places_in(items, itemsets), len(items))
        keep, parts = not self._fits(self._n_planes) and self._fits(len(items)), []

        def count(part: _Part, counts: Ints) -> Iterator[int]:
            rows = tables.empty_rows(part.rows)
            yield from tables.expand_in_steps(part.rows, part.n_reports, rows)
            yield from supersets.count_in_steps(rows, counts)
            if keep:
                parts.append(_Part(part.n_reports, rows))

        self._rows = []
        work = _in_reports(count, tables.work + supersets.work)
        counts = self._add_up_planes(work, len(items), progress, len(itemsets))
        self._rows, self._row_items = parts, items
        return counts

    def _progress_callback(self, what: str) -> _Callback:
        """Return a function of the number of reports done, which may be fractional."""
        report, n_reports = self._progress, self.n_reports
        return report and (lambda done: report(what, min(round(done), n_reports), n_reports))

    def _fits(self, n_rows: int) -> bool:
        """Return whether bitmaps of ``n_rows`` rows over all reports take at most half of the memory."""
        return n_rows * self.n_reports // 8 <= self._memory_bytes // 2

    def _add_up_planes(self, count: "_Count", n_rows: int, progress: _Callback, n_counts: int) -> Ints:
        """Add up counts over all reports, given as planes; counting makes ``n_rows`` bitmaps of each part."""
        size = part_size(self.n_reports, n_rows + self._n_planes, self._memory_bytes)
        if self._planes:
            return add_up(count, _split_planes(self._planes, size), n_counts, progress)
        keep, parts = self._fits(self._n_planes), []

        def count_packed(packed: NDArray[np.uint8], counts: Ints) -> Iterator[float]:
            part = _Part(len(packed), planes_of(packed, self._responses.report_type))
            yield 0.0
            yield from count(part, counts)
            if keep:
                parts.append(part)

        counts = add_up(count_packed, self._responses.batches(size), n_counts, progress)
        self._planes = parts
        return counts


_Count = Callable[[_Part, Ints], Iterator[float]]


def _in_reports(count: Callable[[_Part, Ints], Iterator[int]], work: int) -> _Count:
    """Return a count that yields its progress in reports; ``work`` is the words combined per word of a row."""

    def run(part: _Part, counts: Ints) -> Iterator[float]:
        words = max(1, work * part.rows.shape[0] * part.rows.shape[2])
        for done in count(part, counts):
            yield done / words * part.n_reports

    return run


def _split_planes(parts: list[_Part], size: int) -> Iterator[_Part]:
    """Split planes into parts of about ``size`` reports, in whole blocks."""
    for n_reports, planes in parts:
        block = planes.shape[2] * WORD_BITS
        step = max(1, size // block)
        for first in range(0, len(planes), step):
            yield _Part(min(step * block, n_reports - first * block), planes[first : first + step])


# ---- backends


class CountingBackend(Protocol):
    """A collection of reports that can be counted."""

    @property
    def plan(self) -> "Plan | Release":
        """The plan of the reports; or a release, which describes itself."""

    @property
    def most_candidates(self) -> int:
        """How many itemsets of one size may be counted at once."""

    def open(self, part: Part, report_type: ReportType | None = None) -> Source:
        """Return a counter of the responses of a report type in a part, and the model of its operator.

        Args:
            part: The part of the reports to count.
            report_type: The report type; by default the one about items with the largest share.

        Returns:
            The counter, and the model.
        """


def most_candidates(memory_bytes: int | None, n_counts: int) -> int:
    """Return how many candidates, with ``n_counts`` counts each, fit in a quarter of the memory."""
    if memory_bytes is None:  # free memory may change the speed, not the result
        return MOST_CANDIDATES
    return min(MOST_CANDIDATES, memory_bytes // 4 // (_CANDIDATE_BYTES + 8 * n_counts))


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """Reports counted on this machine.

    ``memory_bytes`` limits the memory for reports, bitmaps and candidates, a quarter of the free memory by default.
    """

    plan: Plan
    reports: ReportSource
    memory_bytes: int | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.plan.check_batch(len(self.reports), "read")

    @classmethod
    def from_reports(
        cls, reports: Reports, memory_bytes: int | None = None, progress: Progress | None = None
    ) -> "LocalBackend":
        """Return the backend for a collection in memory or in files; a few are read once, and kept."""
        plan = reports.plan.require_type(Plan)
        memory = default_memory() if memory_bytes is None else memory_bytes
        held = hold_reports(reports, min(_MOST_HELD, memory // 8))
        return cls(plan, cast("ReportSource", held), memory_bytes, progress)

    @property
    def most_candidates(self) -> int:
        """How many candidates, with a count for each core, fit in a quarter of the memory."""
        return most_candidates(self.memory_bytes, cores())

    def open(self, part: Part = Part.WHOLE, report_type: ReportType | None = None) -> tuple[LocalCounter, SupportModel]:
        """Return the counter of a report type's responses in a part, and the model of its operator."""
        reports = self.reports if part is Part.WHOLE else ReportPart(self.reports, part is Part.SELECTING)
        responses = Responses(reports, report_type_number(self.plan, report_type))
        counter = LocalCounter(responses, memory_bytes=self.memory_bytes, progress=self.progress)
        return counter, SupportModel(responses.report_type.operator)
