"""Seeds whose inner products with some items' columns are as wanted: linear equations over two elements."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.words import U0, U1, Ints, Words, popcount

_WORD_BITS = np.uint64(64)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads keys over slots


@kernel
def slot_of(items: Ints, m: int, n_slots: int) -> Any:
    """Return where the solved equations of the first m items would lie; n_slots is a power of two."""
    mixed = U0
    for place in range(m):
        mixed = (mixed ^ np.uint64(items[place])) * _MIX
    return np.int64(mixed >> np.uint64(32)) & (n_slots - 1)


@kernel
def is_row(items: Ints, rows: Ints, row: int) -> bool:
    """Tell whether the first items are those of a row."""
    for place in range(rows.shape[1]):  # noqa: SIM110 -- numba has no all()
        if items[place] != rows[row, place]:
            return False
    return True


@kernel
def eliminate(
    items: Ints, columns: Words, equations: Words, pivots: Ints, solved: Ints, slot: int, holds: Words
) -> bool:
    """Bring the equations of a transaction's items into reduced form, in one of the slots; False if dependent.

    equations (slots, words, m·r) holds one equation a column: the bits of an item's column of the code and, in further
    words, which equations were added to it. pivots (slots, m·r) become seed bits that stand in one equation each.
    solved (slots, m) says whose equations they are.
    """
    bits, n_words, n_rows = columns.shape[1], columns.shape[2], equations.shape[2]
    for place in range(solved.shape[1]):
        solved[slot, place] = items[place]
    for word in range(equations.shape[1]):
        for row in range(n_rows):
            equations[slot, word, row] = U0
    for place in range(solved.shape[1]):
        for bit in range(bits):
            row = place * bits + bit
            for word in range(n_words):
                equations[slot, word, row] = columns[items[place], bit, word]
            equations[slot, n_words + (row >> 6), row] = U1 << np.uint64(row & 63)
    for row in range(n_rows):
        word = 0
        while word < n_words - 1 and equations[slot, word, row] == U0:
            word += 1
        lowest = equations[slot, word, row] & (U0 - equations[slot, word, row])
        if lowest == U0:
            return False
        pivot = np.uint64(popcount(lowest - U1))
        pivots[slot, row] = 64 * word + np.int64(pivot)
        for other in range(n_rows):
            holds[other] = U0 - (equations[slot, word, other] >> pivot & U1)  # a mask, not a branch to guess wrong
        holds[row] = U0
        for part in range(equations.shape[1]):
            added = equations[slot, part, row]
            for other in range(n_rows):
                equations[slot, part, other] ^= added & holds[other]
    return True


@kernel
def add_digits(values: Ints, bits: int, n_words: int, vector: Words) -> None:
    """Write the r bits of each value, most significant first, one after the other, behind the words of a seed."""
    word, row, digits = n_words, U0, U0
    for place in range(values.shape[0]):
        for bit in range(bits - 1, -1, -1):
            digits |= np.uint64(values[place] >> bit & 1) << row
            row += U1
            if row == _WORD_BITS:
                vector[word] = digits
                word, row, digits = word + 1, U0, U0
    if row != U0:
        vector[word] = digits


@kernel
def mend_seed(equations: Words, pivots: Ints, slot: int, sums: Words, vector: Words) -> None:
    """Change a uniform seed into a uniform one among those whose products are as wanted, by the pivots' bits.

    ``vector`` is the seed and, behind its words, the wanted products.
    """
    for row in range(sums.shape[0]):
        sums[row] = U0
    for word in range(equations.shape[1]):
        factor = vector[word]
        for row in range(sums.shape[0]):
            sums[row] ^= equations[slot, word, row] & factor
    for row in range(sums.shape[0]):
        sums[row] = np.uint64(popcount(sums[row])) & U1
    # no branch on a bit to guess wrong: half of the guesses would be
    for word in range(equations.shape[1] - (sums.shape[0] + 63) // 64):
        flips = U0
        for row in range(sums.shape[0]):
            flips ^= (sums[row] << np.uint64(pivots[slot, row] & 63)) * np.uint64(pivots[slot, row] >> 6 == word)
        vector[word] ^= flips
