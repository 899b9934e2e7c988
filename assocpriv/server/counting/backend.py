"""Counting, and nothing else: how many reports show all the items of an itemset.

A backend returns integers; what they mean for supports is decided in itemsets/ and estimates/, so counts split over
machines add up to the same result. Mining is handed one. The local backend here goes over the reports part by part,
expanding only the items asked for, while the next parts are read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import Reports
from assocpriv.kernels.parallel import add_up, cores, default_memory
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import WORD_BITS
from assocpriv.plans.transition import SupportModel
from assocpriv.server.counting.bitmaps import (
    ItemTables,
    Rows,
    SupersetCounter,
    form_of,
    items_of,
    places_in,
    planes_of,
)
from assocpriv.server.counting.block_counter import BlockCounter
from assocpriv.server.counting.parts import Packed, Part, Progress, ReportPart, part_size
from assocpriv.server.counting.sums import CountsOfAll, Source

MOST_CANDIDATES = 20_000_000
_CANDIDATE_BYTES = 200  # measured: what one takes while it is joined, estimated and chosen


class CountingBackend(Protocol):
    """A collection of reports, and who counts in it."""

    @property
    def plan(self) -> Plan:
        """The plan all reports were made with."""

    @property
    def most_candidates(self) -> int:
        """How many itemsets of one size may be counted at once."""

    def open(self, part: Part) -> Source:
        """Return a counter of some of these reports, and the model of their operator."""


def most_candidates(memory_bytes: int | None, n_counts: int) -> int:
    """Return how many candidates a quarter of the memory holds, with so many counts of each."""
    if memory_bytes is None:  # what is free at the moment decides how fast, not whether
        return MOST_CANDIDATES
    return min(MOST_CANDIDATES, memory_bytes // 4 // (_CANDIDATE_BYTES + 8 * n_counts))


class _Part(NamedTuple):
    """Some reports as bit planes, or as bitmaps of items."""

    n_reports: int
    rows: Rows


class LocalCounter(CountsOfAll):
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
    """Reports at hand, counted on this machine.

    ``memory_bytes`` of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
    """

    plan: Plan
    reports: Packed
    memory_bytes: int | None = None
    progress: Progress | None = None

    @classmethod
    def of(cls, reports: Reports, memory_bytes: int | None = None, progress: Progress | None = None) -> "LocalBackend":
        """Return the backend for a collection, in memory or in files."""
        return cls(reports.plan.as_a(Plan), cast("Packed", reports), memory_bytes, progress)

    @property
    def most_candidates(self) -> int:
        """How many candidates a quarter of the memory holds, with a count for each core; with blocks all their sums."""
        counts = 1 if self.plan.view.blocks is None else self.plan.itemset_size + 1
        return most_candidates(self.memory_bytes, counts * cores())

    def open(self, part: Part = Part.WHOLE) -> tuple[LocalCounter | BlockCounter, SupportModel]:
        """Return the counter of some of these reports, and the model of their operator."""
        reports = self.reports if part is Part.WHOLE else ReportPart(self.reports, part is Part.SELECTING)
        counter = counter_of(reports, memory_bytes=self.memory_bytes, progress=self.progress)
        return counter, SupportModel.of(self.plan.operator)


def counter_of(
    reports: Packed, *, memory_bytes: int | None = None, progress: Progress | None = None
) -> LocalCounter | BlockCounter:
    """Return the counter of reports: those of blocks tell of some itemsets alone."""
    kind = LocalCounter if reports.plan.view.blocks is None else BlockCounter
    return kind(reports, memory_bytes=memory_bytes, progress=progress)


def _cut(parts: list[_Part], size: int) -> Iterator[_Part]:
    """Cut planes into parts of about ``size`` reports, whole blocks."""
    for n_reports, planes in parts:
        block = planes.shape[2] * WORD_BITS
        step = max(1, size // block)
        for first in range(0, len(planes), step):
            yield _Part(min(step * block, n_reports - first * block), planes[first : first + step])
