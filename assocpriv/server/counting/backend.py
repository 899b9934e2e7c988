"""Counting, and nothing else: how many reports show all the items of an itemset.

A backend returns integers; what they mean for supports is decided in itemsets/ and estimates/, so counts split over
machines add up to the same result. Mining is handed one. The local backend here goes over the reports part by part,
expanding only the items asked for, while the next parts are read.

All reports count, or the 3 of every ten that choose itemsets, or the 7 that test them (itemsets/sample_splitting.py).
Which 3 is a fixed pseudo-random function of their position: it follows no order that reports may have been kept in, and
the same files in the same order are always split alike. With sizes in clear positions are counted within each size.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.machine import LEAST_MEMORY, cores, default_memory
from assocpriv.core.parallel import add_up
from assocpriv.files.basket_reports import basket_groups
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets.codes import WORD_BITS
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.server.counting.bitmaps import (
    ItemTables,
    Rows,
    SupersetCounter,
    form_of,
    items_of,
    places_in,
    planes_of,
)

SELECTING, OUT_OF = 3, 10
MOST_CANDIDATES = 20_000_000
Progress = Callable[[str, int, int], None]
_CANDIDATE_BYTES = 200  # measured: what one takes while it is joined, estimated and chosen
_LEAST_PART = 1 << 12
_MOST_PART = 1 << 17  # reports; long enough a task for handing it to a thread to cost nothing


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
    """The reports that choose, or those that test: a view that holds none itself."""

    reports: Packed
    selecting: bool

    @property
    def plan(self) -> Plan:
        """The plan of the reports."""
        return self.reports.plan

    def __len__(self) -> int:
        whole, rest = divmod(len(self.reports), OUT_OF)
        selecting = whole * SELECTING + int(choosing(whole * OUT_OF, rest).sum())
        return selecting if self.selecting else len(self.reports) - selecting

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports of this part as uint8 arrays of shape (≤ size, report_bytes)."""
        done = 0
        for batch in self.reports.batches(size):
            mine = batch[choosing(done, len(batch)) == self.selecting]
            done += len(batch)
            if len(mine):
                yield mine


def choosing(first: int, count: int) -> NDArray[np.bool_]:
    """Tell which of ``count`` reports from position ``first`` on choose: three neighbours of each ten, in a circle.

    Where they begin is a hash of the ten's number (the finalizer of SplitMix64: Steele, Lea, Flood, OOPSLA 2014).

    >>> [int(choosing(10 * ten, 10).sum()) for ten in range(4)]
    [3, 3, 3, 3]
    """
    ten, place = np.divmod(np.arange(first, first + count, dtype=np.uint64), np.uint64(OUT_OF))
    mixed = (ten + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    turned = (place + (mixed ^ mixed >> np.uint64(31)) % np.uint64(OUT_OF)) % np.uint64(OUT_OF)
    chosen: NDArray[np.bool_] = turned < SELECTING
    return chosen


class ItemsetCounter(Protocol):
    """Counts itemsets in the reports of one operator."""

    @property
    def n_reports(self) -> int:
        """Number of reports N."""

    def count(self, itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of reports showing all items of each itemset, int64 (candidates,).

        Itemsets are item ids, int64 (candidates, k), k ≥ 1, each row increasing, rows in lexicographic order.
        """


Collections = Sequence[tuple[ItemsetCounter, SupportModel]]  # for each operator a counter of its reports, and its model


class CountingBackend(Protocol):
    """A collection of reports, and who counts in it."""

    @property
    def plan(self) -> Plan:
        """The plan all reports were made with."""

    @property
    def most_candidates(self) -> int:
        """How many itemsets of one size may be counted at once."""

    def open(self, part: Part) -> Collections:
        """Return counters of these reports, one for each of the plan's groups, in their order."""


class _Part(NamedTuple):
    """Some reports as bit planes, or as bitmaps of items."""

    n_reports: int
    rows: Rows


class LocalCounter:
    """Counts on this machine's cores, holding about ``memory_bytes`` of reports and bitmaps at a time.

    Reports that take less than half of it are read once and kept, as bit planes. Of more reports the bitmaps of the
    items that itemsets are made of are kept, if these fit: with Apriori no larger itemset has other items. Otherwise
    every call reads the reports again. Progress is called with (what is done, reports done, reports).
    """

    def __init__(self, reports: Packed, *, memory_bytes: int | None = None, progress: Progress | None = None) -> None:
        self._reports = reports
        self._memory_bytes = default_memory() if memory_bytes is None else memory_bytes
        self._progress = progress
        self._planes: list[_Part] = []
        self._rows: list[_Part] = []
        self._row_items = np.empty(0, dtype=np.int64)

    @property
    def n_reports(self) -> int:
        """Number of reports N."""
        return len(self._reports)

    def count(self, itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of reports showing all items of each itemset, as :class:`ItemsetCounter`."""
        items = items_of(itemsets)
        what = f"counting itemsets of {itemsets.shape[1]}"
        if self._rows and np.isin(items, self._row_items).all():
            supersets = SupersetCounter(places_in(self._row_items, itemsets), len(self._row_items))
            count = _in_reports(lambda part, to: supersets.count_in_steps(part.rows, to), supersets.work)
            return add_up(count, self._rows, len(itemsets), self._teller(what))
        tables = ItemTables(self._reports.plan, items)
        if itemsets.shape[1] == 1:
            count = _in_reports(lambda part, to: tables.count_in_steps(part.rows, part.n_reports, to), tables.work)
            return self._add_up_planes(count, 0, what, len(items))[places_in(items, itemsets[:, 0])]
        return self._count_itemsets(tables, items, itemsets, what)

    def _count_itemsets(
        self, tables: ItemTables, items: NDArray[np.int64], itemsets: NDArray[np.int64], what: str
    ) -> NDArray[np.int64]:
        supersets = SupersetCounter(places_in(items, itemsets), len(items))
        keep, parts = not self._fits(form_of(self._reports.plan).n_planes) and self._fits(len(items)), []

        def count(part: _Part, counts: NDArray[np.int64]) -> Iterator[int]:
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

    def _add_up_planes(self, count: "_Count", n_rows: int, what: str, n_counts: int) -> NDArray[np.int64]:
        """Add up counts over all reports, given as planes; ``n_rows`` bitmaps are made of each part on the way."""
        size = part_size(self.n_reports, n_rows + form_of(self._reports.plan).n_planes, self._memory_bytes)
        if self._planes:
            return add_up(count, _cut(self._planes, size), n_counts, self._teller(what))
        keep, parts = self._fits(form_of(self._reports.plan).n_planes), []

        def count_packed(packed: NDArray[np.uint8], counts: NDArray[np.int64]) -> Iterator[float]:
            part = _Part(len(packed), planes_of(packed, self._reports.plan))
            yield 0.0
            yield from count(part, counts)
            if keep:
                parts.append(part)

        counts = add_up(count_packed, self._reports.batches(size), n_counts, self._teller(what))
        self._planes = parts
        return counts

    def _teller(self, what: str) -> Callable[[float], None] | None:
        """Return what is called with the number of reports done, parts of reports as shares of theirs."""
        progress = self._progress
        return progress and (lambda done: progress(what, min(round(done), self.n_reports), self.n_reports))


_Count = Callable[[_Part, NDArray[np.int64]], Iterator[float]]


def _in_reports(count: Callable[[_Part, NDArray[np.int64]], Iterator[int]], work: int) -> _Count:
    """Count a part, and tell how much is done in reports; ``work`` is how many words are combined for each of a row."""

    def run(part: _Part, counts: NDArray[np.int64]) -> Iterator[float]:
        words = max(1, work * part.rows.shape[0] * part.rows.shape[2])
        for done in count(part, counts):
            yield done / words * part.n_reports

    return run


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """Reports at hand, those of each operator apart, counted on this machine by :class:`LocalCounter`.

    ``memory_bytes`` of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
    """

    plan: Plan
    groups: Sequence[Packed]
    memory_bytes: int | None = None
    progress: Progress | None = None

    @classmethod
    def of(cls, reports: Reports, memory_bytes: int | None = None, progress: Progress | None = None) -> "LocalBackend":
        """Return the backend for a collection, in memory or in files."""
        return cls(reports.plan.as_a(Plan), basket_groups(reports), memory_bytes, progress)

    @property
    def most_candidates(self) -> int:
        """How many candidates a quarter of the memory holds, with a count for each core."""
        if self.memory_bytes is None:  # what is free at the moment decides how fast, not whether
            return MOST_CANDIDATES
        return min(MOST_CANDIDATES, self.memory_bytes // 4 // (_CANDIDATE_BYTES + 8 * cores()))

    def open(self, part: Part = Part.WHOLE) -> list[tuple[LocalCounter, SupportModel]]:
        """Return counters of these reports, which share the memory, and their models."""
        chosen = part is Part.SELECTING
        parts = self.groups if part is Part.WHOLE else [ReportPart(group, chosen) for group in self.groups]
        memory = default_memory() if self.memory_bytes is None else self.memory_bytes
        total = max(1, sum(map(len, parts)))
        shares = [max(memory * len(one) // total, min(memory, LEAST_MEMORY)) for one in parts]
        return [
            (LocalCounter(one, memory_bytes=share, progress=self.progress), SupportModel.of(one.plan.operator))
            for one, share in zip(parts, shares, strict=True)
        ]


def _cut(parts: list[_Part], size: int) -> Iterator[_Part]:
    """Cut planes into parts of about ``size`` reports, whole blocks."""
    for n_reports, planes in parts:
        block = planes.shape[2] * WORD_BITS
        step = max(1, size // block)
        for first in range(0, len(planes), step):
            yield _Part(min(step * block, n_reports - first * block), planes[first : first + step])


def part_size(n_total: int, n_rows: int, memory_bytes: int) -> int:
    """Return how many of ``n_total`` transactions to take at a time.

    Few enough for every core to have some, and for ``n_rows`` bitmaps of those at work to take a quarter of the memory.
    """
    fitting = memory_bytes // (8 * cores()) * 8 // max(n_rows, 1)  # a part waits while one is counted
    wanted = min(_MOST_PART, fitting, n_total // (2 * cores()))
    return max(1, wanted // _LEAST_PART) * _LEAST_PART
