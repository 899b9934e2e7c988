"""Reports -> bitmaps, and the counts of items on the way.

Bit i of a bitmap is bit i mod 64 of word i div 64.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.compiling import Ints, Words, const, entry, int64, kernel, uint8, uint16, uint64
from assocpriv.core.kernels.vector import LANES, U0, U1, Entries, compare_item, popcount, top_bits, xor_lanes


@entry(const(uint8[:, ::1]), uint64[:, :, ::1])
def transpose_reports(packed: NDArray[np.uint8], planes: Words) -> None:
    """Turn reports, (n, bytes), into bit planes, (blocks, 8·bytes, words): plane b holds bit b of every report."""
    n_blocks, _, n_words = planes.shape
    column = np.empty(64, dtype=np.uint8)
    for block in range(n_blocks):
        for word in range(n_words):
            first = (block * n_words + word) * 64
            present = max(0, min(64, packed.shape[0] - first))
            column[present:] = 0
            for byte in range(packed.shape[1]):
                for i in range(present):
                    column[i] = packed[first + i, byte]
                for bit in range(7, -1, -1):
                    planes[block, 8 * byte + bit, word] = top_bits(column)
                    for i in range(64):
                        column[i] <<= 1


@entry(const(uint64[:, :, ::1]), const(uint16[:, :, ::1]), int64, int64, int64, uint64[:, :, ::1])
def expand_items(planes: Words, entries: Entries, num: int, n_reports: int, group_bits: int, rows: Words) -> None:
    """Write the bitmap of each item over the reports: its bit i tells whether report i shows it.

    planes (blocks, p, words) of seeds; an item is present iff its r inner products with the seed, read as an integer,
    are below ``num``; rows (blocks, items, words), words a multiple of LANES; bits from ``n_reports`` on are 0. Seed
    bits are taken ``group_bits`` at a time: all XORs of a group's planes are tabulated, so that a product is the XOR
    of one table line a group (the method of the four Russians). entries (items, r, groups) names these lines: group
    g's bits of a column, plus g · 2^group_bits.
    """
    n_items, n_words = rows.shape[1], rows.shape[2]
    tables = np.zeros((entries.shape[2] << group_bits, LANES), dtype=np.uint64)
    for block in range(planes.shape[0]):
        for start in range(0, n_words, LANES):
            _tabulate(planes, block, start, group_bits, tables)
            for item in range(n_items):
                compare_item(tables, entries, item, num, rows, (block * n_items + item) * n_words + start)
                _clear_tail(rows[block, item, start : start + LANES], n_reports - 64 * (block * n_words + start))


@entry(const(uint64[:, :, ::1]), const(uint16[:, :, ::1]), int64, int64, int64, int64[::1])
def count_items(planes: Words, entries: Entries, num: int, n_reports: int, group_bits: int, counts: Ints) -> None:
    """Add to counts[f] the number of reports that show item f; arguments as for expand_items."""
    n_words = planes.shape[2]
    tables = np.zeros((entries.shape[2] << group_bits, LANES), dtype=np.uint64)
    row = np.empty(LANES, dtype=np.uint64)
    for block in range(planes.shape[0]):
        for start in range(0, n_words, LANES):
            _tabulate(planes, block, start, group_bits, tables)
            for item in range(entries.shape[0]):
                compare_item(tables, entries, item, num, row, 0)
                _clear_tail(row, n_reports - 64 * (block * n_words + start))
                total = 0
                for i in range(LANES):
                    total += popcount(row[i])
                counts[item] += total


@kernel
def _tabulate(planes: Words, block: int, start: int, group_bits: int, tables: Words) -> None:
    """Write the XORs of every subset of each group of planes, LANES words of them, by mask; the empty one stays 0."""
    _, n_planes, n_words = planes.shape
    for plane in range(n_planes):
        group, bit = plane // group_bits, plane % group_bits
        line = (block * n_planes + plane) * n_words + start
        first = (group << group_bits) * LANES
        for mask in range(1 << bit):
            xor_lanes(tables, first + mask * LANES, planes, line, tables, first + (mask + (1 << bit)) * LANES)


@kernel
def _clear_tail(row: Words, n_bits: int) -> None:
    """Clear all bits of a row from n_bits on, which may be none or, if negative, all."""
    if n_bits < 64 * row.shape[0]:
        first = max(0, n_bits)
        for word in range(first // 64, row.shape[0]):
            row[word] &= (U1 << np.uint64(first - 64 * word)) - U1 if word == first // 64 else U0


@entry(const(int64[:]), const(int64[:]), const(int64[::1]), uint64[:, :, ::1])
def fill_rows(offsets: Ints, items: Ints, row_of_item: Ints, rows: Words) -> None:
    """Set bit t of the row of every item of transaction t, rows (blocks, rows, words); negative ones are left out."""
    n_words = rows.shape[2]
    for t in range(offsets.shape[0] - 1):
        block, word = t // 64 // n_words, t // 64 % n_words
        for place in range(offsets[t], offsets[t + 1]):
            row = row_of_item[items[place]]
            if row >= 0:
                rows[block, row, word] |= U1 << np.uint64(t % 64)
