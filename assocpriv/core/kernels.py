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

BLOCK = 512  # words of a bitmap row that are worked on at a time: 4 KiB, so that prefix and rows stay in L1/L2
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
def expand_items(planes: Words, columns: Words, num: int, n_reports: int, rows: Words) -> None:
    """Write the bitmap of each item over the reports: bit i of rows[f] tells whether report i shows item f.

    planes (64·w, b) of seeds, columns (items, r, w), present iff the r inner products, read as an integer, are
    below ``num``; rows (items, b); bits from ``n_reports`` on are 0.
    """
    n_items, bits, n_words = columns.shape
    product = np.empty(BLOCK, dtype=np.uint64)
    equal = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, planes.shape[1], BLOCK):
        length = min(BLOCK, planes.shape[1] - start)
        for f in range(n_items):
            row = rows[f, start : start + length]
            row[:] = _U0
            equal[:length] = _ONES
            for j in range(bits):
                product[:length] = _U0
                for word in range(n_words):
                    _add_planes(planes, columns[f, j, word], word * 64, start, product[:length])
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
def _add_planes(planes: Words, column: int, first: int, start: int, product: Words) -> None:
    """XOR into product the planes whose bit is set in one word of a column."""
    for bit in range(64):
        if column >> np.uint64(bit) & _U1:
            plane = planes[first + bit, start : start + product.shape[0]]
            for i in range(product.shape[0]):
                product[i] ^= plane[i]


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
