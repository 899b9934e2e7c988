"""Counting kernels: reports become bitmaps, and set bits are counted.

Bit i of a bitmap is bit i mod 64 of word i div 64. Single items are counted while bitmaps are made, itemsets by the
bits that are set in several rows at once.

Reports of tables need no bitmaps: histograms count their codes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.compiling import kernel
from assocpriv.kernels.entropy_words import ONES, U0, U1, Ints, Words, popcount

Entries = NDArray[np.uint16]

LANES = 32  # words of planes combined together; loops read it from an array, as LLVM would unroll a constant
GROUPS = 6  # of planes, whose table lines are combined in one pass
_LESS, _EQUAL, _PRODUCT, _TABLES = range(4)  # lines: results of an item, and where the tables begin
_MASKS = (  # halves of what is exchanged when bits are transposed
    np.uint64(0x00000000FFFFFFFF), np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00FF00FF00FF00FF),
    np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x3333333333333333), np.uint64(0x5555555555555555),
)  # fmt: skip
NOTES = 48  # numbers in a count's scratch array
_LEFT, _RIGHT, _RUNS, _ENDS, _TARGETS, _FOUND = 0, 4, 8, 12, 16, 32  # their starts in it
FIELDS = 5  # of an axis, in this order
_OFFSET, _WIDE, _CODES, _PLACES, _AT = range(FIELDS)


# ---- bitmaps


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
    """Write eight bytes of each report, fewer at the reports' end, as a word; zeros beyond the last report."""
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
    """Exchange bit j of row i with bit i of row j in every lane: halves, then quarters, and so on."""
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
    """Write the bitmap of each item over the reports: bit i says whether report i shows the item.

    planes (blocks, p, words) of seeds; an item is present iff its r inner products with the seed, read as an integer,
    are below ``num``; rows (blocks, items, words), words a multiple of LANES; bits from ``n_reports`` on are 0. Seed
    bits are taken ``group_bits`` at a time: all XORs of a group's planes are tabulated, so that a product is the XOR
    of one table line per group (the method of the four Russians). entries (items, r, groups) holds the indices of these
    lines: group g's bits of a column, plus g · 2^group_bits. The number of groups is a multiple of GROUPS; added ones
    refer to line 0, which is zero. Scratch: lines (3 + groups · 2^group_bits, LANES).
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
    """Write in which of the first ``n_bits`` reports an item's r products are the digits of a number below ``num``.

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
    """XOR the lines of six groups into a product; the first group starts it."""
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
    """Set bit t of the row of every item of transaction t, rows (blocks, rows, words); skip negative rows."""
    n_words = rows.shape[2]
    for t in range(offsets.shape[0] - 1):
        block, word = t // 64 // n_words, t // 64 % n_words
        for place in range(offsets[t], offsets[t + 1]):
            row = row_of_item[items[place]]
            if row >= 0:
                rows[block, row, word] |= U1 << np.uint64(t % 64)


# ---- itemsets


@kernel
def count_supersets(rows: Words, itemsets: Ints, shared: Ints, parts: Words, notes: Ints, counts: Ints) -> None:  # noqa: PLR0912 -- loops
    """Add to counts[c] the number of bits set in all the rows of itemsets[c].

    rows (blocks, items, words); itemsets (candidates, k) row numbers, k ≥ 1, of which the first shared[c] equal those
    of the previous candidate. Intersections are kept along the tree of candidates, so that in lexicographic order each
    is computed once. Up to four sets of k − 1 items that share k − 2 are counted together, with four last items at a
    time.
    Scratch: parts (1, 4 + k, words), notes (NOTES,).
    """
    n_blocks, n_words = rows.shape[0], rows.shape[2]
    n_sets, last = itemsets.shape[0], itemsets.shape[1] - 1
    for word in range(n_words):  # parts: four sets of k − 1 items, and those of 0, 1, … k − 2
        parts[0, 0, word] = parts[0, 4, word] = ONES
    for a in range(4):
        notes[_LEFT + a] = a
    for block in range(n_blocks):
        done = 0
        while done < n_sets:
            for depth in range(min(shared[done], last - 1), last - 1):
                _intersect(parts, 4 + depth, rows, block, itemsets[done, depth], 5 + depth)
            n_runs, done = _find_runs(done, shared, last, notes)
            for a in range(n_runs if last else 0):
                _intersect(parts, 3 + last, rows, block, itemsets[notes[_RUNS + a], last - 1], a)
            while True:
                n_last = _take_last(itemsets, n_runs, notes)
                if n_last == 0:
                    break
                for b in range(n_last, 4):  # fill up with the last item; the surplus counts are discarded
                    notes[_RIGHT + b] = notes[_RIGHT + n_last - 1]
                if n_runs == 1:
                    _count_four(parts, rows, block, notes)
                else:
                    _count_sixteen(parts, 0, rows, block, notes)
                for place in range(16):
                    if notes[_TARGETS + place] >= 0:
                        counts[notes[_TARGETS + place]] += notes[_FOUND + place]


@kernel
def _find_runs(first: int, shared: Ints, last: int, notes: Ints) -> Any:
    """Find up to four runs of candidates from ``first`` on; each run shares k − 1 items, all of them k − 2.

    Returns (number of runs, first candidate after them).
    """
    n_runs, stop = 0, first
    while n_runs < 4 and stop < shared.shape[0] and (n_runs == 0 or shared[stop] >= last - 1):
        notes[_RUNS + n_runs] = stop
        stop += 1
        while stop < shared.shape[0] and shared[stop] >= last:
            stop += 1
        notes[_ENDS + n_runs] = stop
        n_runs += 1
    return n_runs, stop


@kernel
def _take_last(itemsets: Ints, n_runs: int, notes: Ints) -> int:
    """Take the next four last items of the runs; note each one's candidate at 4·run + place, −1 for none.

    Returns the number of items, less than four at the end.
    """
    last = itemsets.shape[1] - 1
    for place in range(16):
        notes[_TARGETS + place] = -1
    for place in range(4):
        least = np.int64(-1)
        for a in range(n_runs):
            if notes[_RUNS + a] < notes[_ENDS + a]:
                item = itemsets[notes[_RUNS + a], last]
                least = item if least < 0 else min(least, item)
        if least < 0:
            return place
        notes[_RIGHT + place] = least
        for a in range(n_runs):
            if notes[_RUNS + a] < notes[_ENDS + a] and itemsets[notes[_RUNS + a], last] == least:
                notes[_TARGETS + 4 * a + place] = notes[_RUNS + a]
                notes[_RUNS + a] += 1
    return 4


@kernel
def _intersect(parts: Words, one: int, rows: Words, block: int, other: int, to: int) -> None:
    """Write the AND of a part and a row to another part."""
    for word in range(rows.shape[2]):
        parts[0, to, word] = parts[0, one, word] & rows[block, other, word]


@kernel
def _count_four(left: Words, right: Words, block: int, notes: Ints) -> None:
    """Count the bits of the first left row AND each of four right ones."""
    b0, b1, b2, b3 = notes[_RIGHT], notes[_RIGHT + 1], notes[_RIGHT + 2], notes[_RIGHT + 3]
    n0 = n1 = n2 = n3 = np.int64(0)
    for word in range(right.shape[2]):
        one = left[0, 0, word]
        n0 += popcount(one & right[block, b0, word])
        n1 += popcount(one & right[block, b1, word])
        n2 += popcount(one & right[block, b2, word])
        n3 += popcount(one & right[block, b3, word])
    notes[_FOUND], notes[_FOUND + 1], notes[_FOUND + 2], notes[_FOUND + 3] = n0, n1, n2, n3


@kernel
def _count_sixteen(left: Words, part: int, right: Words, block: int, notes: Ints) -> None:
    """Count the bits of each of four left rows AND each of four right ones, in two passes over them."""
    b0, b1, b2, b3 = notes[_RIGHT], notes[_RIGHT + 1], notes[_RIGHT + 2], notes[_RIGHT + 3]
    for a in range(0, 4, 2):  # sums of more rows do not fit into registers
        a0, a1 = notes[_LEFT + a], notes[_LEFT + a + 1]
        n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = np.int64(0)
        for word in range(right.shape[2]):
            one, other = left[part, a0, word], left[part, a1, word]
            n0 += popcount(one & right[block, b0, word])
            n1 += popcount(one & right[block, b1, word])
            n2 += popcount(one & right[block, b2, word])
            n3 += popcount(one & right[block, b3, word])
            n4 += popcount(other & right[block, b0, word])
            n5 += popcount(other & right[block, b1, word])
            n6 += popcount(other & right[block, b2, word])
            n7 += popcount(other & right[block, b3, word])
        at = _FOUND + 4 * a
        notes[at], notes[at + 1], notes[at + 2], notes[at + 3] = n0, n1, n2, n3
        notes[at + 4], notes[at + 5], notes[at + 6], notes[at + 7] = n4, n5, n6, n7


@kernel
def count_pairs(rows: Words, panel: int, start: int, stop: int, notes: Ints, counts: Ints) -> None:
    """Add the number of bits set in both rows of every pair to counts, in the order 01, 02, …, 12, …

    Only pairs are counted whose later row lies in ``start`` … ``stop`` − 1, multiples of ``panel`` or the end. rows
    (blocks, items, words); counts (items · (items − 1) / 2,). Tiles of 4 × 4 rows share their loads; panels of
    ``panel`` rows, a multiple of 4, stay in cache while a block is counted. Scratch: notes (NOTES,).
    """
    n_rows = rows.shape[1]
    for block in range(rows.shape[0]):
        for one in range(start, min(stop, n_rows), panel):
            for other in range(0, one + 1, panel):
                for i in range(one, min(one + panel, n_rows), 4):
                    for j in range(other, min(other + panel, i + 1), 4):
                        for place in range(4):  # _add_pairs ignores rows beyond the last
                            notes[_LEFT + place] = min(i + place, n_rows - 1)
                            notes[_RIGHT + place] = min(j + place, n_rows - 1)
                        _count_sixteen(rows, block, rows, block, notes)
                        _add_pairs(i, j, n_rows, notes, counts)


@kernel
def _add_pairs(i: int, j: int, n_rows: int, notes: Ints, counts: Ints) -> None:
    """Add a tile of pairs (i + a, j + b) to the condensed counts of all pairs."""
    for b in range(4):
        smaller = j + b
        first = smaller * (2 * n_rows - smaller - 1) // 2 - smaller - 1
        for a in range(4):
            if smaller < i + a < n_rows:
                counts[first + i + a] += notes[_FOUND + 4 * a + b]


# ---- histograms


@kernel
def tally_codes(packed: Any, axes: Ints, places: Ints, found: Ints, counts: Ints) -> int:
    """Add the codes of packed reports, uint8 (n, report_bytes), to each histogram; return how many codes are invalid.

    A histogram has one column or two. ``axes``, int64 (histograms, 2, 5), holds for each column: the code's offset in a
    report, 1 if the code has two bytes, the number of codes, where in ``places`` they begin, and where in ``counts``
    the histogram begins. ``places`` holds how far each code moves the position in the histogram. A histogram of one
    column has a negative offset for the second. An invalid code counts as the last one. Scratch: found (2, most codes +
    1).
    """
    wrong = 0
    for table in range(axes.shape[0]):
        if axes[table, 1, _OFFSET] < 0:
            wrong += _tally_one(packed, axes[table, 0], places, found, counts)
        else:
            wrong += _tally_two(packed, axes[table, 0], axes[table, 1], places, counts)
    return wrong


@kernel
def _tally_one(packed: Any, axis: Ints, places: Ints, found: Ints, counts: Ints) -> Any:
    """Count a column's codes, with one more for invalid ones, and then add them by place.

    Reports go alternately to two histograms, so that equal codes in a row do not wait for each other.
    """
    codes = axis[_CODES]
    for code in range(codes + 1):
        found[0, code] = found[1, code] = 0
    at, wide, none = np.uint64(axis[_OFFSET]), np.uint64(axis[_WIDE]), np.uint64(codes)
    for pair in range(packed.shape[0] // 2):
        record = np.uint64(2 * pair)
        found[0, min(_code(packed[record, at], packed[record, at + wide], wide), none)] += 1
        record += U1
        found[1, min(_code(packed[record, at], packed[record, at + wide], wide), none)] += 1
    if packed.shape[0] % 2:
        record = np.uint64(packed.shape[0] - 1)
        found[0, min(_code(packed[record, at], packed[record, at + wide], wide), none)] += 1
    for code in range(codes + 1):
        place = axis[_AT] + places[axis[_PLACES] + min(code, codes - 1)]
        counts[place] += found[0, code] + found[1, code]
    return found[0, codes] + found[1, codes]


@kernel
def _tally_two(packed: Any, axis: Ints, axis2: Ints, places: Ints, counts: Ints) -> Any:
    """Count the pairs of two columns' codes."""
    # read numbers from arrays first: the compiler cannot know that counting does not change them
    at, first, first2 = np.uint64(axis[_AT]), np.uint64(axis[_PLACES]), np.uint64(axis2[_PLACES])
    offset, wide, last = axis[_OFFSET], np.uint64(axis[_WIDE]), np.uint64(axis[_CODES] - 1)
    offset2, wide2, last2 = axis2[_OFFSET], np.uint64(axis2[_WIDE]), np.uint64(axis2[_CODES] - 1)
    far, far2 = axis[_OFFSET] + axis[_WIDE], axis2[_OFFSET] + axis2[_WIDE]
    wrong = 0
    for record in range(packed.shape[0]):
        code = _code(packed[record, offset], packed[record, far], wide)
        code2 = _code(packed[record, offset2], packed[record, far2], wide2)
        wrong += int(code > last) + int(code2 > last2)
        place = at + np.uint64(places[first + min(code, last)])
        counts[place + np.uint64(places[first2 + min(code2, last2)])] += 1
    return wrong


@kernel
def _code(low: Any, high: Any, wide: Any) -> Any:
    """Return the code in two bytes, or in the lower one alone."""
    return np.uint64(low) + ((np.uint64(high) * wide) << np.uint64(8))
