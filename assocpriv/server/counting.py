"""Counts of itemsets: how many reports show all the items of each.

A backend returns integers; what they mean for supports is decided elsewhere (supports.py), so counts split over
machines add up to the same result. Mining is handed one. The local backend here goes over the reports part by part,
expanding only the items asked for, while the next parts are read.

**Parts.** All reports count, or the 3 of every ten that choose itemsets, or the 7 that test them (false_discovery.py).
Which 3 is a fixed pseudo-random function of their position: it follows no order that reports may have been kept in, and
the same files in the same order are always split alike.

**Subsets.** Estimation needs sums over an itemset's subsets, and counts of every subset. Where each report tells of
every itemset, all of that follows from one count of each itemset, once it is known of its subsets
(:class:`CountsOfAll`). Where a report tells of a block alone it does not: a subset lies in more blocks, and what is
needed of it is counted in those blocks that hold the whole itemset (:class:`BlockCounter`).

**Blocks.** Where each report tells of a random block of the catalogue, reports are sorted by their block, each block's
beginning at a whole word of the bitmaps; all blocks share one operator and generator, so that the places of a block are
expanded as items are elsewhere, once for the reports of all blocks. An itemset is then counted in the blocks that hold
it whole (kernels/counting.py). Reports that take less than half of the memory are read once and kept as they were
sorted. Otherwise every call reads them again, as many at a time as fit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.compiling import counting_kernels
from assocpriv.kernels.parallel import add_up, cores, default_memory
from assocpriv.plans.baskets import AskedReports, Plan
from assocpriv.plans.generator import WORD_BITS
from assocpriv.plans.transition import SupportModel
from assocpriv.plans.view import NUMBER_BYTES, BlockTable
from assocpriv.server.bitmaps import ItemTables, Rows, SupersetCounter, form_of, items_of, places_in, planes_of

if TYPE_CHECKING:
    from assocpriv.files.reports import Reports

Ints = NDArray[np.int64]
Progress = Callable[[str, int, int], None]
SELECTING, _OUT_OF = 3, 10
_LEAST_PART = 1 << 12
_MOST_PART = 1 << 17  # reports; long enough a task for handing it to a thread to cost nothing
_SEGMENTS_AT_ONCE = 64  # between which a thread can be stopped
MOST_CANDIDATES = 20_000_000
_CANDIDATE_BYTES = 200  # measured: what one takes while it is joined, estimated and chosen


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


@dataclass(frozen=True, slots=True)
class BlockItems:
    """What reports of a plan with blocks say of a block's items, whichever it is: a view that holds none itself."""

    reports: Packed

    @property
    def plan(self) -> Plan:
        """The plan of what is reported of one block."""
        return self.reports.plan.block_plan

    def __len__(self) -> int:
        return len(self.reports)

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports without their blocks' numbers, uint8 of shape (≤ size, bytes)."""
        for packed in self.reports.batches(size):
            yield np.ascontiguousarray(packed[:, NUMBER_BYTES:])


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
    show all of them; C_0 is how many tell of the itemset.
    """

    itemsets: Ints
    sums: Ints

    def __len__(self) -> int:
        return len(self.itemsets)

    def among(self, chosen: Ints | NDArray[np.bool_]) -> "Candidates":
        """Return some of them."""
        return Candidates(self.itemsets[chosen], self.sums[chosen])


class ItemsetCounter(Protocol):
    """Counts itemsets in reports.

    Itemsets are item ids, dummies included, int64 (itemsets, k), k ≥ 1, each row increasing, rows in lexicographic
    order.
    """

    @property
    def n_reports(self) -> int:
        """Number of reports N."""

    @property
    def blocks(self) -> AskedReports | None:
        """Of which itemsets the reports tell; None where each tells of all."""

    def sums(self, itemsets: Ints, smaller: Candidates, /) -> Ints:
        """Return C_0 … C_k, int64 (itemsets, k + 1), given those of all subsets one smaller."""

    def subsets(self, itemsets: Ints, /) -> tuple[Ints, Ints]:
        """Return c_D and N_D of all subsets D by mask, bit i being item i, int64 (itemsets, 2^k) each.

        c_D are reports that tell of the whole itemset and show all of D, N_D all reports that tell of D. Items here are
        in any order, and rows too.
        """


Source = tuple[ItemsetCounter, SupportModel]  # a counter of reports, and the model of their operator


class CountsOfAll(ABC):
    """A counter of reports that tell of every itemset; who derives from it counts."""

    blocks: ClassVar[None] = None

    @property
    @abstractmethod
    def n_reports(self) -> int:
        """Number of reports N."""

    @abstractmethod
    def count(self, itemsets: Ints) -> Ints:
        """Return the number of reports showing all items of each itemset, int64 (candidates,)."""

    def sums(self, itemsets: Ints, smaller: Candidates, /) -> Ints:
        """Return C_0 … C_k from the sums of the (k−1)-subsets and one count of each itemset."""
        k = itemsets.shape[1]
        sums = np.zeros((len(itemsets), k + 1), dtype=np.int64)
        for dropped in range(k):
            sums[:, :k] += smaller.sums[find_itemsets(smaller.itemsets, np.delete(itemsets, dropped, axis=1))]
        sums[:, :k] //= k - np.arange(k)  # exact: every subset of j items was met k − j times
        if len(itemsets) and self.n_reports:
            sums[:, k] = self.count(itemsets)
        return sums

    def subsets(self, itemsets: Ints, /) -> tuple[Ints, Ints]:
        """Return c_D of all subsets, each counted once however often it occurs; N_D is N."""
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
        return counts, np.full_like(counts, self.n_reports)


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


# ---- reports of all items


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

    def count(self, itemsets: Ints) -> Ints:
        """Return the number of reports showing all items of each itemset, as :class:`ItemsetCounter`."""
        items = items_of(itemsets)
        what = f"counting itemsets of {itemsets.shape[1]}"
        if self._rows and np.isin(items, self._row_items).all():
            supersets = SupersetCounter(places_in(self._row_items, itemsets), len(self._row_items))
            count = _in_reports(lambda part, to: supersets.count_in_steps(part.rows, to), supersets.work)
            return add_up(count, self._rows, len(itemsets), _teller(self._progress, what, self.n_reports))
        tables = ItemTables(self._reports.plan, items)
        if itemsets.shape[1] == 1:
            count = _in_reports(lambda part, to: tables.count_in_steps(part.rows, part.n_reports, to), tables.work)
            return self._add_up_planes(count, 0, what, len(items))[places_in(items, itemsets[:, 0])]
        return self._count_itemsets(tables, items, itemsets, what)

    def _count_itemsets(self, tables: ItemTables, items: Ints, itemsets: Ints, what: str) -> Ints:
        supersets = SupersetCounter(places_in(items, itemsets), len(items))
        keep, parts = not self._fits(form_of(self._reports.plan).n_planes) and self._fits(len(items)), []

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
        size = part_size(self.n_reports, n_rows + form_of(self._reports.plan).n_planes, self._memory_bytes)
        tell = _teller(self._progress, what, self.n_reports)
        if self._planes:
            return add_up(count, _cut(self._planes, size), n_counts, tell)
        keep, parts = self._fits(form_of(self._reports.plan).n_planes), []

        def count_packed(packed: NDArray[np.uint8], counts: Ints) -> Iterator[float]:
            part = _Part(len(packed), planes_of(packed, self._reports.plan))
            yield 0.0
            yield from count(part, counts)
            if keep:
                parts.append(part)

        counts = add_up(count_packed, self._reports.batches(size), n_counts, tell)
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


# ---- reports of blocks


class _Sorted(NamedTuple):
    """Reports sorted by their blocks, without the numbers of these, uint8 (n, bytes); ``starts`` are by block."""

    packed: NDArray[np.uint8]
    starts: Ints


class _Task(NamedTuple):
    """Some of sorted reports."""

    reports: _Sorted
    first: int
    last: int


class _Segments(NamedTuple):
    """Runs of words that belong to one block's reports.

    ``packed`` are the reports with rows of zeros between, so that each block's begin at a whole word. Each run has a
    block, its first word and the word after its last, and a number of reports.
    """

    packed: NDArray[np.uint8]
    blocks: Ints
    words: Ints
    n_reports: Ints


class BlockCounter:
    """Counts on this machine's cores, holding about ``memory_bytes`` of reports and bitmaps at a time.

    Dummies have the ids n … n + M − 1 in all blocks. Progress is called with (what is done, reports done, reports).
    """

    def __init__(self, reports: Packed, *, memory_bytes: int | None = None, progress: Progress | None = None) -> None:
        plan = reports.plan
        assert plan.view.blocks is not None
        self._reports, self._blocks, self._inside = reports, plan.view.blocks, plan.block_plan
        self._n_items, self._n_ids = plan.n_items, plan.padded_items
        self._memory_bytes = default_memory() if memory_bytes is None else memory_bytes
        self._progress = progress
        self._tables = ItemTables(self._inside, np.arange(self._inside.padded_items, dtype=np.int64))
        self._kept: list[_Sorted] = []
        self._by_block: Ints | None = None

    @property
    def n_reports(self) -> int:
        """Number of reports N, of all blocks."""
        return len(self._reports)

    @property
    def blocks(self) -> AskedReports:
        """Of which itemsets the reports tell."""
        return AskedReports(self._blocks, self._n_items)

    def sums(self, itemsets: Ints, _smaller: Candidates, /) -> Ints:
        """Return C_0 … C_k of each itemset in the blocks that hold it; those of its subsets are of other blocks."""
        return self.count_slots(itemsets, np.bitwise_count(np.arange(1 << itemsets.shape[1])).astype(np.int64))

    def subsets(self, itemsets: Ints, /) -> tuple[Ints, Ints]:
        """Return c_D and N_D of all subsets, as :class:`ItemsetCounter`."""
        k = itemsets.shape[1]
        ordered = np.sort(itemsets, axis=1)
        distinct, where = np.unique(ordered, axis=0, return_inverse=True)
        found = self.count_slots(distinct, np.arange(1 << k, dtype=np.int64))[where.ravel()]
        order = np.argsort(itemsets, axis=1, kind="stable")  # bit i of a mask found is item order[i]
        counts, asked = np.empty_like(found), np.empty_like(found)
        for mask in range(1 << k):
            chosen = [i for i in range(k) if mask >> i & 1]
            given = (1 << np.argsort(order, axis=1)[:, chosen]).sum(axis=1)
            counts[:, mask] = np.take_along_axis(found, given[:, None], axis=1)[:, 0]
            asked[:, mask] = self.tell_of(itemsets[:, chosen])
        return counts, asked

    def tell_of(self, itemsets: Ints) -> Ints:
        """Return N_A, how many reports tell of each itemset, int64 (itemsets,); all of the empty one and of dummies."""
        reports = self.reports_of_blocks().reshape(self._blocks.partitions, self._blocks.pieces)
        real = itemsets < self._n_items
        table, ids, some = self._table(), np.where(real, itemsets, 0), np.flatnonzero(real.any(axis=1))
        total = np.full(len(itemsets), self.n_reports, dtype=np.int64)
        if not len(some):
            return total
        ids, real, total[some] = ids[some], real[some], 0
        first = real.argmax(axis=1)[:, None]
        for partition in range(self._blocks.partitions):
            pieces = table.pieces[partition, ids].astype(np.int64)
            piece = np.take_along_axis(pieces, first, axis=1)
            whole = ((pieces == piece) | ~real).all(axis=1)
            total[some] += np.where(whole, reports[partition, piece[:, 0]], 0)
        return total

    def _table(self) -> BlockTable:
        return self._blocks.table(self._n_items)

    def reports_of_blocks(self) -> Ints:
        """Return the number of reports of each block."""
        if self._by_block is None:
            self._by_block = np.zeros(self._blocks.count, dtype=np.int64)
            for part in self._parts():
                self._by_block += part.starts[1:] - part.starts[:-1]
        return self._by_block

    def _parts(self) -> Iterator[_Sorted]:
        """Yield all reports, sorted by their blocks part by part."""
        if self._kept:
            yield from self._kept
            return
        width = self._reports.plan.report_bytes
        size = max(_LEAST_PART, self._memory_bytes // 4 // width)  # sorting takes two copies
        kept: list[_Sorted] = []
        for packed in self._reports.batches(size):
            blocks = np.ascontiguousarray(packed[:, :NUMBER_BYTES]).view("<u2")[:, 0]
            starts = np.append(0, np.cumsum(np.bincount(blocks, minlength=self._blocks.count)))
            part = _Sorted(packed[np.argsort(blocks, kind="stable"), NUMBER_BYTES:], starts)
            if self.n_reports <= 2 * size:
                kept.append(part)
            yield part
        self._kept = kept

    def count_slots(self, itemsets: Ints, slots: Ints) -> Ints:
        """Return int64 (itemsets, slots), to which the count of each mask's items is added where ``slots`` says."""
        if not len(itemsets):
            return np.zeros((0, slots.max() + 1), dtype=np.int64)
        items = items_of(itemsets)
        number_of = np.full(self._n_ids, -1, dtype=np.int64)
        number_of[items] = np.arange(len(items))
        count = self._counting(places_in(items, itemsets), len(items), slots)
        n_slots = int(slots.max()) + 1

        def run(task: _Task, counts: Ints) -> Iterator[float]:
            sums = counts.reshape(len(itemsets), n_slots)
            segments = _segments(task)
            members, ends = self._members(segments.blocks, number_of)
            places = np.flatnonzero(np.bincount(members[1], minlength=self._inside.padded_items))
            planes = planes_of(segments.packed, self._inside)
            tables = self._tables.among(places)
            rows = tables.empty_rows(planes)
            yield 0.0
            for _ in tables.expand_in_steps(planes, len(segments.packed), rows):
                yield 0.0
            members[1] = places_in(places, members[1])
            table = _in_panels(segments, ends, rows.shape[2])
            for some in np.array_split(table, -(-len(table) // _SEGMENTS_AT_ONCE) or 1):
                count(rows, np.ascontiguousarray(some), members, sums)
                yield float(some[:, 3].sum())

        tell = _teller(self._progress, f"counting itemsets of {itemsets.shape[1]}", self.n_reports)
        return add_up(run, self._tasks(), len(itemsets) * n_slots, tell).reshape(len(itemsets), n_slots)

    def _counting(self, itemsets: Ints, n_items: int, slots: Ints) -> Callable[..., None]:
        """Return the kernel with what all reports are counted with."""
        if itemsets.shape[1] == 1:
            count_items: Callable[..., None] = counting_kernels.count_block_items
            return count_items
        starts = np.searchsorted(itemsets[:, 0], np.arange(n_items + 1))
        ordered, half = np.ascontiguousarray(itemsets), 1 << (itemsets.shape[1] - 1)

        def count(rows: Rows, segments: Ints, members: Ints, sums: Ints) -> None:
            n_rows = int((segments[:, 5] - segments[:, 4]).max(initial=1)) + half
            bits = np.empty((n_rows, int((segments[:, 2] - segments[:, 1]).max(initial=1))), dtype=np.uint64)
            scratch = bits, np.empty(n_rows, np.int64), np.full(n_items, -1), np.empty(itemsets.shape[1], np.int64)
            counting_kernels.count_block_itemsets(rows, segments, members, ordered, starts, slots, scratch, sums)

        return count

    def _tasks(self) -> Iterator[_Task]:
        n_rows = self._inside.padded_items + form_of(self._inside).n_planes
        size = part_size(self.n_reports, n_rows, self._memory_bytes)
        for part in self._parts():
            for first in range(0, len(part.packed), size):
                yield _Task(part, first, min(first + size, len(part.packed)))

    def _members(self, blocks: Ints, number_of: Ints) -> tuple[Ints, Ints]:
        """Return which of the items counted each of some blocks holds, and at which places, int64 (2, all).

        Block after block, whose first ones are at ``ends[i]`` and end before ``ends[i + 1]``.
        """
        table, places = self._table(), np.arange(self._inside.padded_items)
        longest = self._inside.n_items
        partitions, pieces = np.divmod(blocks, self._blocks.pieces)
        starts, stops = table.starts[pieces][:, None], table.starts[pieces + 1][:, None]
        ids = table.entries[partitions[:, None], np.minimum(starts + places[:longest], self._n_items - 1)]
        numbers = np.where(starts + places[:longest] < stops, number_of[ids], -1)
        dummies = np.broadcast_to(number_of[self._n_items :], (len(blocks), self._n_ids - self._n_items))
        numbers = np.hstack([numbers, dummies])
        asked = numbers >= 0
        flat = np.flatnonzero(asked)
        return np.stack([numbers.ravel()[flat], flat % numbers.shape[1]]), np.append(0, np.cumsum(asked.sum(axis=1)))


def _segments(task: _Task) -> _Segments:
    """Lay out some reports so that each block's begin at a whole word."""
    (packed, starts), first, last = task
    cut = np.clip(starts, first, last)
    counts = cut[1:] - cut[:-1]
    blocks = np.flatnonzero(counts)
    counts = counts[blocks]
    words = np.append(0, np.cumsum(-(-counts // WORD_BITS)))
    room = np.zeros((int(words[-1]) * WORD_BITS, packed.shape[1]), dtype=np.uint8)
    within = np.arange(last - first) - np.repeat(np.cumsum(counts) - counts, counts)
    room[np.repeat(words[:-1] * WORD_BITS, counts) + within] = packed[first:last]
    return _Segments(room, blocks, words, counts)


def _in_panels(segments: _Segments, ends: Ints, panel_words: int) -> Ints:
    """Return the segments as the kernel takes them, int64 (segments, 6), cut where a panel of the bitmaps ends."""
    first, stop = segments.words[:-1], segments.words[1:]
    pieces = (stop - 1) // panel_words - first // panel_words + 1
    segment = np.repeat(np.arange(len(first)), pieces)
    panel = first[segment] // panel_words + np.arange(len(segment)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = np.maximum(first[segment], panel * panel_words)
    end = np.minimum(stop[segment], (panel + 1) * panel_words)
    before = (start - first[segment]) * WORD_BITS
    reports = np.minimum(segments.n_reports[segment] - before, (end - start) * WORD_BITS)
    table = [panel, start - panel * panel_words, end - panel * panel_words, reports, ends[segment], ends[segment + 1]]
    return np.stack(table, axis=1).astype(np.int64)


# ---- backends


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
    def of(
        cls, reports: "Reports", memory_bytes: int | None = None, progress: Progress | None = None
    ) -> "LocalBackend":
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
