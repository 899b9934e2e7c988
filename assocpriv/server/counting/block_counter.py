"""Counting where each report tells of a random block of the catalogue.

Reports are sorted by their block, each block's beginning at a whole word of the bitmaps; all blocks share one operator
and generator, so that the places of a block are expanded as items are elsewhere, once for the reports of all blocks. An
itemset is then counted in the blocks that hold it whole (kernels/counting.py).

Reports that take less than half of the memory are read once and kept as they were sorted. Otherwise every call reads
them again, as many at a time as fit.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.parallel import add_up, default_memory
from assocpriv.plans.baskets import AskedReports
from assocpriv.plans.generator import WORD_BITS
from assocpriv.plans.view import NUMBER_BYTES, BlockTable
from assocpriv.server.counting.bitmaps import ItemTables, Rows, form_of, items_of, places_in, planes_of
from assocpriv.server.counting.parts import LEAST_PART, Packed, Progress, part_size
from assocpriv.server.counting.sums import Candidates

Ints = NDArray[np.int64]


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
        """Return c_D and N_D of all subsets, as :class:`assocpriv.server.counting.sums.ItemsetCounter`."""
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
        size = max(LEAST_PART, self._memory_bytes // 4 // width)  # sorting takes two copies
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

        what = f"counting itemsets of {itemsets.shape[1]}"
        return add_up(run, self._tasks(), len(itemsets) * n_slots, self._teller(what)).reshape(len(itemsets), n_slots)

    def _counting(self, itemsets: Ints, n_items: int, slots: Ints) -> Callable[..., None]:
        """Return the kernel with what all reports are counted with."""
        from assocpriv.kernels.counting import count_block_items, count_block_itemsets

        if itemsets.shape[1] == 1:
            return count_block_items
        starts = np.searchsorted(itemsets[:, 0], np.arange(n_items + 1))
        ordered, half = np.ascontiguousarray(itemsets), 1 << (itemsets.shape[1] - 1)

        def count(rows: Rows, segments: Ints, members: Ints, sums: Ints) -> None:
            n_rows = int((segments[:, 5] - segments[:, 4]).max(initial=1)) + half
            bits = np.empty((n_rows, int((segments[:, 2] - segments[:, 1]).max(initial=1))), dtype=np.uint64)
            scratch = bits, np.empty(n_rows, np.int64), np.full(n_items, -1), np.empty(itemsets.shape[1], np.int64)
            count_block_itemsets(rows, segments, members, ordered, starts, slots, scratch, sums)

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

    def _teller(self, what: str) -> Callable[[float], None] | None:
        progress = self._progress
        return progress and (lambda done: progress(what, min(round(done), self.n_reports), self.n_reports))


_SEGMENTS_AT_ONCE = 64  # between which a thread can be stopped


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
