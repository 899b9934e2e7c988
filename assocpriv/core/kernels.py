"""All compiled loops. They stand in one file because the on-disk cache of compiled code only notices a change
of the file a function stands in.

Kernels take arrays that the caller has checked (dtype, contiguity, shape, bounds) and write into arrays passed
in. They draw nothing: random words are an input. Bit i of a bitmap is bit i mod 64 of word i div 64. Every
kernel has a naive twin in tests/naive.py.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
_F = TypeVar("_F", bound=Callable[..., Any])

BLOCK = 512  # words of a bitmap row that are worked on at a time: 4 KiB, so that a prefix stays in L1
PAIR_BLOCK = 1024  # words of a row that a tile of pairs takes at a time, 8 KiB
PANEL = 64  # rows whose blocks fit an L2 cache together, 512 KiB
OUT_OF_WORDS = 1
DEPENDENT_COLUMNS = 2
_U0, _U1, _U32 = np.uint64(0), np.uint64(1), np.uint64(32)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW32 = np.uint64(0xFFFFFFFF)


def _kernel(function: _F) -> _F:
    compiled: _F = numba.njit(cache=True, nogil=True)(function)
    return compiled


def _popcount_python(word: Any) -> Any:
    return np.int64(int(word).bit_count())


if numba.config.DISABLE_JIT:
    _popcount: Any = _popcount_python
else:

    @intrinsic  # type: ignore[untyped-decorator]
    def _popcount(_typing_context: Any, _word: Any) -> Any:
        # llvm.ctpop becomes the machine's (vector) population count; a shift-and-add loop does not
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), build


@_kernel
def transpose_reports(reports: Words, planes: Words) -> None:
    """Turn reports, (n, w) words, into bit planes, (64·w, ⌈n/64⌉): plane b holds bit b of every report."""
    block = np.empty(64, dtype=np.uint64)
    for group in range(planes.shape[1]):
        first = group * 64
        for word in range(reports.shape[1]):
            for i in range(64):
                block[i] = reports[first + i, word] if first + i < reports.shape[0] else _U0
            _transpose64(block)
            for i in range(64):
                planes[word * 64 + i, group] = block[i]


@_kernel
def _transpose64(block: Words) -> None:
    """Transpose a 64 × 64 bit matrix in place, swapping halves of 32, 16, … 1 bits."""
    width = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        for start in range(0, 64, 2 * width):
            for i in range(start, start + width):
                swap = ((block[i] >> shift) ^ block[i + width]) & mask
                block[i] ^= swap << shift
                block[i + width] ^= swap
        width >>= 1
        mask ^= mask << np.uint64(width)


@_kernel
def expand_items(planes: Words, columns: Words, num: int, n_reports: int, group_bits: int, rows: Words) -> None:
    """Write the bitmap of each item over the reports: bit i of rows[f] tells whether report i shows item f.

    planes (p, b) of seeds, columns (items, r, w), present iff the r inner products, read as an integer, are below
    ``num``; rows (items, b); bits from ``n_reports`` on are 0. Seed bits are taken ``group_bits`` (4 or 8, dividing
    p) at a time: all XORs of a group's planes are tabulated once a block, so that a column costs one XOR a group
    (the method of the four Russians).
    """
    n_items, bits, _ = columns.shape
    n_groups = planes.shape[0] // group_bits
    width = min(BLOCK, planes.shape[1])  # entries that lie 4 KiB apart would share few cache lines
    tables = np.empty((n_groups, 1 << group_bits, width), dtype=np.uint64)
    product = np.empty(width, dtype=np.uint64)
    equal = np.empty(width, dtype=np.uint64)
    for start in range(0, planes.shape[1], BLOCK):
        length = min(BLOCK, planes.shape[1] - start)
        for group in range(n_groups):
            for bit in range(group_bits):
                _add_to_table(planes[group * group_bits + bit, start : start + length], bit, tables[group])
        for f in range(n_items):
            row = rows[f, start : start + length]
            row[:] = _U0
            equal[:] = _ONES
            for j in range(bits):
                _multiply(tables, columns[f, j], group_bits, product)
                if num >> (bits - 1 - j) & 1:
                    for i in range(length):
                        row[i] |= equal[i] & ~product[i]
                        equal[i] &= product[i]
                else:
                    for i in range(length):
                        equal[i] &= ~product[i]
    tail = n_reports % 64
    if tail:
        for f in range(n_items):
            rows[f, n_reports // 64] &= (_U1 << np.uint64(tail)) - _U1


@_kernel
def _add_to_table(plane: Words, bit: int, table: Words) -> None:
    """Given the XORs of every subset of the planes before, by mask, write those of the subsets with this one."""
    if bit == 0:
        table[0, :] = _U0
    for mask in range(1 << bit):
        smaller, larger = table[mask], table[(1 << bit) + mask]
        for i in range(plane.shape[0]):
            larger[i] = smaller[i] ^ plane[i]


@_kernel
def _multiply(tables: Words, column: Words, group_bits: int, product: Words) -> None:
    """Write a column's products with a block of seeds: the XOR of one table entry a group."""
    product[:] = _U0
    low = np.uint64((1 << group_bits) - 1)
    for group in range(tables.shape[0]):
        at = group * group_bits
        entry = tables[group, np.int64(column[at // 64] >> np.uint64(at % 64) & low)]
        for i in range(product.shape[0]):
            product[i] ^= entry[i]


@_kernel
def fill_rows(offsets: Ints, items: Ints, row_of_item: Ints, rows: Words) -> None:
    """Set bit t of rows[row_of_item[i]] for every item i of transaction t; a negative row leaves the item out."""
    for t in range(offsets.shape[0] - 1):
        for place in range(offsets[t], offsets[t + 1]):
            row = row_of_item[items[place]]
            if row >= 0:
                rows[row, t // 64] |= _U1 << np.uint64(t % 64)


@_kernel
def count_supersets(rows: Words, itemsets: Ints, counts: Ints) -> None:
    """Add to counts[c] the number of bits set in all the rows of itemsets[c].

    rows (items, b); itemsets (candidates, k) row numbers, k ≥ 1, fastest in lexicographic order: the
    intersection of the first k − 1 rows is kept while it does not change.
    """
    n_sets, k = itemsets.shape
    prefix = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, rows.shape[1], BLOCK):
        length = min(BLOCK, rows.shape[1] - start)
        for c in range(n_sets):
            fresh = c == 0
            for i in range(k - 1):
                fresh = fresh or itemsets[c, i] != itemsets[c - 1, i]
            if fresh:
                _intersect(rows, itemsets[c], start, prefix[:length])
            counts[c] += _count_and(prefix[:length], rows[itemsets[c, k - 1], start : start + length])


@_kernel
def count_pairs(rows: Words, counts: Ints) -> None:
    """Write to counts[i, j], j ≤ i, the number of bits set in both rows i and j; above the diagonal is scratch.

    rows (items, b), counts (items, items), items a multiple of 4. Tiles of 4 × 4 rows share their loads, blocks keep
    the rows of two panels in cache.
    """
    n_items = rows.shape[0]
    for panel in range(0, n_items, PANEL):
        for start in range(0, rows.shape[1], PAIR_BLOCK):
            stop = min(start + PAIR_BLOCK, rows.shape[1])
            for other in range(0, panel + 1, PANEL):
                for i in range(panel, min(panel + PANEL, n_items), 4):
                    for j in range(other, min(other + PANEL, i + 1), 4):
                        _count_tile(rows, i, j, start, stop, counts[i : i + 4, j : j + 4])


@_kernel
def _count_tile(rows: Words, i: int, j: int, start: int, stop: int, counts: Ints) -> None:
    """Add the 16 intersection counts of rows i … i+3 with rows j … j+3, all in one pass over the words."""
    # one-dimensional slices are known to be contiguous, so the loop below becomes vector instructions
    a0, a1, a2, a3 = rows[i, start:stop], rows[i + 1, start:stop], rows[i + 2, start:stop], rows[i + 3, start:stop]
    b0, b1, b2, b3 = rows[j, start:stop], rows[j + 1, start:stop], rows[j + 2, start:stop], rows[j + 3, start:stop]
    c00 = c01 = c02 = c03 = c10 = c11 = c12 = c13 = 0
    c20 = c21 = c22 = c23 = c30 = c31 = c32 = c33 = 0
    for w in range(a0.shape[0]):
        x0, x1, x2, x3 = a0[w], a1[w], a2[w], a3[w]
        y0, y1, y2, y3 = b0[w], b1[w], b2[w], b3[w]
        c00, c01, c02, c03 = (
            c00 + _popcount(x0 & y0), c01 + _popcount(x0 & y1), c02 + _popcount(x0 & y2), c03 + _popcount(x0 & y3),
        )  # fmt: skip
        c10, c11, c12, c13 = (
            c10 + _popcount(x1 & y0), c11 + _popcount(x1 & y1), c12 + _popcount(x1 & y2), c13 + _popcount(x1 & y3),
        )  # fmt: skip
        c20, c21, c22, c23 = (
            c20 + _popcount(x2 & y0), c21 + _popcount(x2 & y1), c22 + _popcount(x2 & y2), c23 + _popcount(x2 & y3),
        )  # fmt: skip
        c30, c31, c32, c33 = (
            c30 + _popcount(x3 & y0), c31 + _popcount(x3 & y1), c32 + _popcount(x3 & y2), c33 + _popcount(x3 & y3),
        )  # fmt: skip
    counts[0, 0] += c00
    counts[0, 1] += c01
    counts[0, 2] += c02
    counts[0, 3] += c03
    counts[1, 0] += c10
    counts[1, 1] += c11
    counts[1, 2] += c12
    counts[1, 3] += c13
    counts[2, 0] += c20
    counts[2, 1] += c21
    counts[2, 2] += c22
    counts[2, 3] += c23
    counts[3, 0] += c30
    counts[3, 1] += c31
    counts[3, 2] += c32
    counts[3, 3] += c33


@_kernel
def _intersect(rows: Words, itemset: Ints, start: int, prefix: Words) -> None:
    """Write the intersection of all rows of an itemset but the last."""
    length = prefix.shape[0]
    prefix[:] = _ONES
    for place in range(itemset.shape[0] - 1):
        row = rows[itemset[place], start : start + length]
        for i in range(length):
            prefix[i] &= row[i]


@_kernel
def _count_and(left: Words, right: Words) -> int:
    total = 0
    for i in range(left.shape[0]):
        total += _popcount(left[i] & right[i])
    return total


@_kernel
def randomize_transactions(
    offsets: Ints,
    items: Ints,
    words: Words,
    subsets: tuple[Words, Ints],
    columns: Words,
    shape: Ints,
    fitted: Ints,
    reports: Words,
) -> Any:
    """Randomize transactions with the words given, drawing exactly as client/itemset.py does.

    Transaction t is items[offsets[t] : offsets[t+1]], increasing. ``subsets`` are the cumulative weights,
    (2^m, words of weight_bits) from the least significant word, and the masks, (2^m,). ``columns`` is
    (items, r, w), or empty for reports without a generator. ``shape`` = n_items, m, insert_num, insert_bits,
    weight_bits, report_bits. Writes the m items of each transaction to fitted (n, m) and reports (n, w).

    Returns (transactions done, words they used, status); stops before the transaction that the words do not
    suffice for.
    """
    m = shape[1]
    state = np.zeros(2, dtype=np.int64)  # words used, status
    longest = 0
    for t in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    scratch = np.empty(max(longest, m), dtype=np.int64)
    values = np.empty(m, dtype=np.int64)
    equations = np.empty((m * shape[3], reports.shape[1]), dtype=np.uint64)
    system = np.empty((3, m * shape[3]), dtype=np.int64)  # wanted product, pivot word, pivot bit
    for t in range(offsets.shape[0] - 1):
        used = state[0]
        _fit(items[offsets[t] : offsets[t + 1]], words, state, shape, scratch)
        fitted[t, :] = scratch[:m]
        mask = subsets[1][_pick(subsets[0], words, state, shape[4])]
        if columns.shape[0]:
            _draw_values(mask, words, state, shape, values)
            _draw_words(words, state, shape[5], reports[t])
            _solve(fitted[t], values, columns, equations, system, reports[t], state)
        else:
            _draw_coins(words, state, shape, reports[t])
            _set_kept(fitted[t], mask, reports[t])
        if state[1]:
            return t, used, state[1]
    return offsets.shape[0] - 1, state[0], 0


@_kernel
def _word(words: Words, state: Ints) -> Any:
    if state[0] >= words.shape[0]:
        state[1] = OUT_OF_WORDS
        return _ONES  # passes every rejection, so that loops end
    state[0] += 1
    return words[state[0] - 1]


@_kernel
def _below(n: int, words: Words, state: Ints) -> Any:
    """Return a uniform integer below n ≤ 2^32."""
    if n == 1:
        return 0
    size = np.uint64(n)
    word = _word(words, state)
    if n & (n - 1) == 0:
        return np.int64(word & (size - _U1))
    while word * size < (_U0 - size) % size:
        word = _word(words, state)
    return np.int64(((word >> _U32) * size + ((word & _LOW32) * size >> _U32)) >> _U32)


@_kernel
def _fit(transaction: Ints, words: Words, state: Ints, shape: Ints, fitted: Ints) -> None:
    """Pad with dummies or sample by the first m places of a Fisher–Yates shuffle."""
    n_items, m, length = shape[0], shape[1], transaction.shape[0]
    fitted[:length] = transaction
    for place in range(length, m):
        fitted[place] = n_items + place - length
    if length > m:
        for place in range(m):
            other = place + _below(length - place, words, state)
            fitted[place], fitted[other] = fitted[other], fitted[place]


@_kernel
def _pick(cumulative: Words, words: Words, state: Ints, bits: int) -> int:
    """Return the first subset whose cumulative weight exceeds a draw of ``bits`` bits."""
    n_words = (bits + 63) // 64
    draw = np.empty(n_words, dtype=np.uint64)
    _draw_words(words, state, bits, draw)
    low, high = 0, cumulative.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        word = n_words - 1
        while word > 0 and draw[word] == cumulative[middle, word]:
            word -= 1
        if draw[word] < cumulative[middle, word]:
            high = middle
        else:
            low = middle + 1
    return low


@_kernel
def _draw_words(words: Words, state: Ints, bits: int, drawn: Words) -> None:
    for i in range((bits + 63) // 64):
        drawn[i] = _word(words, state)
    if bits % 64:
        drawn[bits // 64] &= (_U1 << np.uint64(bits % 64)) - _U1


@_kernel
def _draw_values(mask: int, words: Words, state: Ints, shape: Ints, values: Ints) -> None:
    """Draw each item's r-bit value: uniform below a where kept, uniform from a up where dropped."""
    num, bits = shape[2], shape[3]
    for place in range(values.shape[0]):
        if mask >> place & 1:
            values[place] = _below(num, words, state)
        else:
            values[place] = num + _below((1 << bits) - num, words, state)


@_kernel
def _solve(items: Ints, values: Ints, columns: Words, equations: Words, system: Ints, seed: Words, state: Ints) -> None:
    """Change a uniform seed into a uniform one among those that give the items their values."""
    bits, n_words = columns.shape[1], columns.shape[2]
    wanted, pivot_word, pivot_bit = system[0], system[1], system[2]
    for row in range(items.shape[0] * bits):
        place, j = row // bits, row % bits
        equations[row, :] = columns[items[place], j]
        wanted[row] = values[place] >> (bits - 1 - j) & 1
        for other in range(row):
            if equations[row, pivot_word[other]] >> np.uint64(pivot_bit[other]) & _U1:
                for i in range(n_words):
                    equations[row, i] ^= equations[other, i]
                wanted[row] ^= wanted[other]
        word = 0
        while word < n_words - 1 and equations[row, word] == _U0:
            word += 1
        lowest = equations[row, word] & (_U0 - equations[row, word])
        if lowest == _U0:
            state[1] = DEPENDENT_COLUMNS
            return
        pivot_word[row] = word
        pivot_bit[row] = _popcount(lowest - _U1)
        for other in range(row):
            if equations[other, word] & lowest:
                for i in range(n_words):
                    equations[other, i] ^= equations[row, i]
                wanted[other] ^= wanted[row]
    for row in range(items.shape[0] * bits):
        parity = 0
        for i in range(n_words):
            parity += _popcount(equations[row, i] & seed[i])
        if parity & 1 != wanted[row]:
            seed[pivot_word[row]] ^= _U1 << np.uint64(pivot_bit[row])


@_kernel
def _draw_coins(words: Words, state: Ints, shape: Ints, report: Words) -> None:
    """Set each bit with probability insert_num / 2^insert_bits, comparing 64 numbers at a time."""
    num, bits, length = shape[2], shape[3], shape[5]
    for group in range((length + 63) // 64):
        less, equal = _U0, _ONES
        for j in range(bits):
            plane = _word(words, state)
            if num >> (bits - 1 - j) & 1:
                less |= equal & ~plane
                equal &= plane
            else:
                equal &= ~plane
        report[group] = less
    if length % 64:
        report[length // 64] &= (_U1 << np.uint64(length % 64)) - _U1


@_kernel
def _set_kept(items: Ints, mask: int, report: Words) -> None:
    """Set the bits of kept items and clear those of dropped ones."""
    for place in range(items.shape[0]):
        bit = _U1 << np.uint64(items[place] % 64)
        word = items[place] // 64
        if mask >> place & 1:
            report[word] |= bit
        else:
            report[word] &= ~bit
