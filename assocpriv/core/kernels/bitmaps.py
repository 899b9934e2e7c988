"""Reports -> bitmaps, and the counts of items on the way.

Bit i of a bitmap is bit i mod 64 of word i div 64.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.words import U0, U1, Ints, Words, popcount

Entries = NDArray[np.uint16]

LANES = 32  # words of planes that are combined together; loops take it from an array, as LLVM unrolls what it knows
GROUPS = 6  # of planes, whose table lines are combined in one pass
_LESS, _EQUAL, _PRODUCT, _TABLES = range(4)  # lines: what is found of an item, and where the tables begin
_MASKS = (  # halves of what is exchanged when bits are transposed
    np.uint64(0x00000000FFFFFFFF), np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00FF00FF00FF00FF),
    np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x3333333333333333), np.uint64(0x5555555555555555),
)  # fmt: skip


@kernel
def transpose_reports(packed: NDArray[np.uint8], square: Words, planes: Words) -> None:
    """Turn reports, (n, bytes), into bit planes, (blocks, 8·bytes, words): plane b holds bit b of every report.

    Eight bytes of 64 reports are a square of bits; LANES squares are transposed together, in scratch: (64, LANES).
    """
    n_blocks, n_planes, n_words = planes.shape
    for block in range(n_blocks):
        for start in range(0, n_words, LANES):
            width = min(LANES, n_words - start)
            for byte in range(0, n_planes // 8, 8):
                _read_squares(packed, 64 * (block * n_words + start), byte, width, square)
                _transpose_squares(square, width)
                for bit in range(min(64, n_planes - 8 * byte)):
                    for lane in range(width):
                        planes[block, 8 * byte + bit, start + lane] = square[bit, lane]


@kernel
def _read_squares(packed: NDArray[np.uint8], first: int, byte: int, width: int, square: Words) -> None:
    """Write eight bytes of reports, fewer at their end, as words; of reports that are not there zeros."""
    n_bytes = min(8, packed.shape[1] - byte)
    for lane in range(width):
        for row in range(64):
            report, word = first + 64 * lane + row, U0
            if report < packed.shape[0]:
                for part in range(n_bytes):
                    word |= np.uint64(packed[report, byte + part]) << np.uint64(8 * part)
            square[row, lane] = word


@kernel
def _transpose_squares(square: Words, width: int) -> None:
    """Exchange bit j of row i and bit i of row j in every lane: halves, then quarters, and so on."""
    for step in range(6):
        half, mask = 32 >> step, _MASKS[step]
        for row in range(64):
            if row & half == 0:
                for lane in range(width):
                    one, other = square[row, lane], square[row + half, lane]
                    moved = (one >> np.uint64(half) ^ other) & mask
                    square[row, lane] = one ^ moved << np.uint64(half)
                    square[row + half, lane] = other ^ moved


@kernel
def expand_items(
    planes: Words, entries: Entries, num: int, n_reports: int, group_bits: int, lines: Words, rows: Words
) -> None:
    """Write the bitmap of each item over the reports: its bit i tells whether report i shows it.

    planes (blocks, p, words) of seeds; an item is present iff its r inner products with the seed, read as an integer,
    are below ``num``; rows (blocks, items, words), words a multiple of LANES; bits from ``n_reports`` on are 0. Seed
    bits are taken ``group_bits`` at a time: all XORs of a group's planes are tabulated, so that a product is the XOR
    of one table line a group (the method of the four Russians). entries (items, r, groups) names these lines: group
    g's bits of a column, plus g · 2^group_bits; groups are a multiple of GROUPS, further ones name line 0, which is
    empty. Scratch: lines (3 + groups · 2^group_bits, LANES).
    """
    for block in range(planes.shape[0]):
        for start in range(0, planes.shape[2], lines.shape[1]):
            _tabulate(planes, block, start, group_bits, lines)
            n_bits = n_reports - 64 * (block * planes.shape[2] + start)
            for item in range(entries.shape[0]):
                _compare_item(lines, entries, item, num, n_bits, rows[block, item, start : start + lines.shape[1]])


@kernel
def count_items(
    planes: Words, entries: Entries, num: int, n_reports: int, group_bits: int, lines: Words, counts: Ints
) -> None:
    """Add to counts[f] the number of reports that show item f; arguments as for expand_items."""
    for block in range(planes.shape[0]):
        for start in range(0, planes.shape[2], lines.shape[1]):
            _tabulate(planes, block, start, group_bits, lines)
            n_bits = n_reports - 64 * (block * planes.shape[2] + start)
            for item in range(entries.shape[0]):
                _compare_item(lines, entries, item, num, n_bits, lines[_LESS])
                total = 0
                for lane in range(lines.shape[1]):
                    total += popcount(lines[_LESS, lane])
                counts[item] += total


@kernel
def _tabulate(planes: Words, block: int, start: int, group_bits: int, lines: Words) -> None:
    """Write the XORs of every subset of each group of planes, by mask."""
    for plane in range(planes.shape[1]):
        group, bit = plane // group_bits, plane % group_bits
        first = _TABLES + (group << group_bits)
        if bit == 0:
            for lane in range(lines.shape[1]):
                lines[first, lane] = U0
        for mask in range(1 << bit):
            for lane in range(lines.shape[1]):
                lines[first + mask + (1 << bit), lane] = lines[first + mask, lane] ^ planes[block, plane, start + lane]


@kernel
def _compare_item(lines: Words, entries: Entries, item: int, num: int, n_bits: int, less: Words) -> None:
    """Write where an item's r products are digits of a number below ``num``, of so many reports.

    Product j is the XOR of the table lines entries[item, j, :]; the digits come most significant first.
    """
    bits, product, equal = entries.shape[1], lines[_PRODUCT], lines[_EQUAL]
    for j in range(bits):
        for group in range(0, entries.shape[2], GROUPS):
            _combine_six(lines, entries, item, j, group, product)
        digit = U0 - np.uint64(num >> (bits - 1 - j) & 1)
        if j == 0:
            for lane in range(less.shape[0]):
                less[lane] = ~product[lane] & digit
        else:
            for lane in range(less.shape[0]):
                less[lane] |= equal[lane] & ~product[lane] & digit
        if j == 0 and bits > 1:
            for lane in range(less.shape[0]):
                equal[lane] = ~product[lane] ^ digit
        elif j:
            for lane in range(less.shape[0]):
                equal[lane] &= ~product[lane] ^ digit
    if n_bits < 64 * less.shape[0]:
        for lane in range(max(0, n_bits) // 64, less.shape[0]):
            used = max(0, n_bits - 64 * lane)
            less[lane] &= (U1 << np.uint64(used)) - U1


@kernel
def _combine_six(lines: Words, entries: Entries, item: int, j: int, group: int, product: Words) -> None:
    """XOR the lines of six groups into a product, or begin it with them."""
    a, b = lines[_TABLES + np.int64(entries[item, j, group])], lines[_TABLES + np.int64(entries[item, j, group + 1])]
    c, d = (
        lines[_TABLES + np.int64(entries[item, j, group + 2])],
        lines[_TABLES + np.int64(entries[item, j, group + 3])],
    )
    e, f = (
        lines[_TABLES + np.int64(entries[item, j, group + 4])],
        lines[_TABLES + np.int64(entries[item, j, group + 5])],
    )
    if group:
        for lane in range(product.shape[0]):
            product[lane] ^= a[lane] ^ b[lane] ^ c[lane] ^ d[lane] ^ e[lane] ^ f[lane]
    else:
        for lane in range(product.shape[0]):
            product[lane] = a[lane] ^ b[lane] ^ c[lane] ^ d[lane] ^ e[lane] ^ f[lane]


@kernel
def fill_rows(offsets: Ints, items: Ints, row_of_item: Ints, rows: Words) -> None:
    """Set bit t of the row of every item of transaction t, rows (blocks, rows, words); negative ones are left out."""
    n_words = rows.shape[2]
    for t in range(offsets.shape[0] - 1):
        block, word = t // 64 // n_words, t // 64 % n_words
        for place in range(offsets[t], offsets[t + 1]):
            row = row_of_item[items[place]]
            if row >= 0:
                rows[block, row, word] |= U1 << np.uint64(t % 64)
