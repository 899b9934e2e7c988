"""Bitmaps of reports: which report shows which item.

This module checks and allocates the arrays that the kernels need. Bitmaps lie in blocks (kernels/itemset_counts.py).
How reports are counted:

1. Transpose. Bytes of 64 reports at a time become bit planes: the top bits of 64 bytes are one instruction.
2. Expand. An item's bitmap is the XOR of some planes for each of its r digits, and a comparison of the digits with a.
   All XORs of up to 8 planes are tabulated for 2,048 reports at a time (the method of the four Russians), as many as
   fit half of the second cache; a product is then one XOR a table. Single items are counted on the way, without
   bitmaps.
3. Count (kernels/itemset_counts.py).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.exact_numbers import binomial_words
from assocpriv.kernels.itemset_counts import Rows, aligned_words, empty_rows
from assocpriv.kernels.loops import GROUPS, LANES, kernels
from assocpriv.kernels.parallel import cache_bytes
from assocpriv.plans.baskets.generator import WORD_BITS, Field, item_columns

if TYPE_CHECKING:
    from assocpriv.plans.baskets.report_type import ReportType

_COLUMNS_AT_ONCE = 1 << 14
# Words combined in a step, 0.1 to 0.2 s, between which a thread can be stopped. Each step makes the tables of XORs
# anew: for 100,000 items, steps of 2^27 words took 15% longer.
_STEP_EXPANDED, _STEP_ITEMS = 1 << 29, 1 << 12


def report_planes(packed: NDArray[np.uint8]) -> Rows:
    """Return the bitmaps of the bits of packed reports, uint8 (n, report_bytes): (blocks, 8 · report_bytes, words)."""
    planes = empty_rows(8 * packed.shape[1], len(packed))
    kernels.transpose_reports(np.ascontiguousarray(packed), planes)
    return planes


class PlaneForm(NamedTuple):
    """How a report type's responses become bit planes: their number, the function, and whether they are seed bits."""

    n_planes: int
    planes: Callable[[NDArray[np.uint8]], Rows]
    seeded: bool


_FORMS: "dict[str, Callable[[ReportType], PlaneForm]]" = {  # by the form of a response
    "bits": lambda each: PlaneForm(8 * each.form.length, report_planes, seeded=False),
    "seed": lambda each: PlaneForm(8 * each.form.length, report_planes, seeded=True),
    "rank": lambda each: PlaneForm(each.padded_items, partial(_unranked_planes, each), seeded=False),
}


def form_of(report_type: "ReportType") -> PlaneForm:
    """Return the form of the planes of a report type's responses."""
    return _FORMS[report_type.form.name](report_type)


def _unranked_planes(report_type: "ReportType", packed: NDArray[np.uint8]) -> Rows:
    """Return the bitmaps of all items, from reports that are ranks of sets."""
    binomials = binomial_words(report_type.padded_items, report_type.fixed.report_size)
    octets = np.zeros((len(packed), 8 * binomials.shape[2]), dtype=np.uint8)
    octets[:, : packed.shape[1]] = packed
    planes = empty_rows(report_type.padded_items, len(packed))
    scratch = np.empty((2 * binomials.shape[2] + 3, 64), dtype=np.uint64), np.empty(len(binomials), dtype=np.int64)
    kernels.unrank_reports(octets.view("<u8").astype(np.uint64, copy=False), binomials, *scratch, planes)
    return planes


def planes_of(packed: NDArray[np.uint8], report_type: "ReportType") -> Rows:
    """Return the planes, (blocks, planes, words), of packed and checked reports, from which bitmaps are made."""
    return form_of(report_type).planes(packed)


class ItemTables:
    """Tables by which the kernels expand seeds to items, ids int64 (items,); made once for all batches."""

    def __init__(self, report_type: "ReportType", items: NDArray[np.int64]) -> None:
        self._items = items
        self._n_planes, _, self._is_seeded = form_of(report_type)
        if self._is_seeded:
            self._num = report_type.independent.insert_num
            r, field = report_type.independent.insert_bits, Field(report_type.generator)
            self._group_bits = _group_bits(self._n_planes, len(items) * r)
            parts = [
                _entries(item_columns(report_type.generator, r, part, field), self._n_planes, self._group_bits)
                for part in np.array_split(items, -(-len(items) // _COLUMNS_AT_ONCE) or 1)
            ]
            self._entries = np.concatenate(parts)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self._items)

    @property
    def work(self) -> int:
        """Words combined for each word of a plane."""
        return self._entries.size if self._is_seeded else len(self._items)

    def rows(self, planes: Rows, n_reports: int) -> Rows:
        """Return the bitmaps of the items, uint64 (blocks, items, words), from reports given as planes."""
        rows = self.empty_rows(planes)
        for _ in self.expand_in_steps(planes, n_reports, rows):
            pass
        return rows

    def empty_rows(self, planes: Rows) -> Rows:
        """Return uninitialized bitmaps of the items over the reports of these planes."""
        return aligned_words((planes.shape[0], len(self._items), planes.shape[2]))

    def expand_in_steps(self, planes: Rows, n_reports: int, rows: Rows) -> Iterator[int]:
        """Write the bitmaps of :meth:`rows` step by step; yield the number of words combined in each step."""
        lines = self._lines()
        for block, here, items in self._steps(planes):
            part = rows[block : block + 1, items]
            if self._is_seeded:
                left = n_reports - block * planes.shape[2] * WORD_BITS
                kernels.expand_items(here, self._entries[items], lines, part, self._num, left, self._group_bits)
            else:
                np.take(here, self._items[items], axis=1, out=part, mode="clip")  # another mode would copy them twice
            yield part.size * (self.work // max(1, len(self._items)))

    def count_in_steps(
        self, planes: Rows, n_reports: int, counts: NDArray[np.int64], row: Rows | None = None
    ) -> Iterator[int]:
        """Add to counts, int64 (items, 2), how many reports show each item, without making bitmaps.

        The second number is that of reports that are set in a bitmap, uint64 (blocks, 1, words), too; None for none.
        Yield the number of words combined in each step.
        """
        lines = self._lines()
        among = np.zeros_like(planes[:, :1]) if row is None else row
        for block, here, items in self._steps(planes):
            if self._is_seeded:
                left, numbers = n_reports - block * planes.shape[2] * WORD_BITS, counts[items]
                kernels.count_items(
                    here, self._entries[items], lines, among[block], numbers, self._num, left, self._group_bits
                )
            else:
                shown = here[:, self._items[items]]
                for column, each in enumerate((shown, shown & among[block])):
                    counts[items, column] += np.bitwise_count(each).sum(axis=(0, 2), dtype=np.int64)
            yield len(counts[items]) * planes.shape[2] * (self.work // max(1, len(self._items)))

    def _lines(self) -> Rows:
        """Return memory for the kernels' tables of XORs, uint64 (lines, words)."""
        n_lines = self._entries.shape[2] << self._group_bits if self._is_seeded else 0
        return aligned_words((1, n_lines, LANES)).reshape(n_lines, LANES)

    def _steps(self, planes: Rows) -> Iterator[tuple[int, Rows, slice]]:
        """Yield blocks, their planes, and some of the items."""
        assert planes.shape[1] == self._n_planes
        n_items = self.n_items
        each = max(1, self.work // max(1, n_items)) * max(1, planes.shape[2])
        step = max(_STEP_ITEMS, _STEP_EXPANDED // each)
        for block in range(planes.shape[0]):
            for first in range(0, n_items, step):
                yield block, planes[block : block + 1], slice(first, min(first + step, n_items))


def _group_bits(n_bits: int, n_columns: int) -> int:
    """Return how many seed bits to tabulate together: the fewest XORs whose tables fit half of the second cache."""
    most_lines = min(cache_bytes()[1] // 2 // (8 * LANES), 1 << 16)  # line numbers have 16 bits
    choices = [(-(-n_bits // bits), bits) for bits in range(1, 9)]
    fitting = [(groups * ((1 << bits) + n_columns), bits) for groups, bits in choices if groups << bits <= most_lines]
    return min(fitting)[1] if fitting else 4


def _entries(columns: NDArray[np.uint64], n_bits: int, group_bits: int) -> NDArray[np.uint16]:
    """Return the table lines whose XOR is each column's product, uint16 (items, r, groups); columns (items, r, w).

    The number of groups is padded with line 0, which is empty, to a multiple of those that the kernel combines at once.
    """
    n_groups = -(-n_bits // group_bits)
    entries = np.zeros((*columns.shape[:2], -(-n_groups // GROUPS) * GROUPS), dtype=np.uint16)
    for group in range(n_groups):
        word, shift = divmod(group * group_bits, WORD_BITS)
        masks = columns[:, :, word] >> np.uint64(shift)
        if shift + group_bits > WORD_BITS and word + 1 < columns.shape[2]:
            masks |= columns[:, :, word + 1] << np.uint64(WORD_BITS - shift)
        entries[:, :, group] = (masks & np.uint64((1 << group_bits) - 1)) + np.uint64(group << group_bits)
    return entries
