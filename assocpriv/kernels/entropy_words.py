"""Draws from given 64-bit random words: whole numbers, seeds of a code, ranks of sets.

The draws use words exactly as those of guarantees/entropy.py; ``state`` is [words used, status].

Seeds with given inner products with some items' columns solve linear equations over GF(2). Reports of a fixed size are
ranks of sets of items, handled 64 at a time (guarantees/exact_numbers.py has the formula).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.compiling import kernel

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

U0, U1 = np.uint64(0), np.uint64(1)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_OCTETS, _EACH = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_U2, _U4, _U56 = np.uint64(2), np.uint64(4), np.uint64(56)
OUT_OF_WORDS = 1
_U32, _LOW32 = np.uint64(32), np.uint64(0xFFFFFFFF)
_WORD_BITS = np.uint64(64)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads keys over slots


# ---- words


@kernel
def popcount(word: Any) -> Any:
    """Return how many bits of a word are set; LLVM compiles these steps to the processor's instruction."""
    word -= word >> U1 & _PAIRS
    word = (word & _FOURS) + (word >> _U2 & _FOURS)
    word = (word + (word >> _U4)) & _OCTETS
    return np.int64(word * _EACH >> _U56)


@kernel
def next_word(words: Words, state: Ints) -> Any:
    """Return the next word; set the status if none is left."""
    if state[0] >= words.shape[0]:
        state[1] = OUT_OF_WORDS
        return ONES  # always accepted, so that loops end
    state[0] += 1
    return words[state[0] - 1]


@kernel
def draw_below(n: int, words: Words, state: Ints) -> Any:
    """Return a uniform integer below n ≤ 2^32."""
    if n == 1:
        return 0
    size = np.uint64(n)
    word = next_word(words, state)
    while not is_accepted(word, size):
        word = next_word(words, state)
    return scaled_below(word, size)


@kernel
def is_accepted(word: Any, size: Any) -> Any:
    """Return whether a word is accepted for a draw below a size ≤ 2^32, else the next word is tried."""
    return word * size >= size or word * size >= (U0 - size) % size  # the remainder is below size: rarely computed


@kernel
def scaled_below(word: Any, size: Any) -> Any:
    """Return the draw below a size ≤ 2^32 from an accepted word, as int64."""
    if size & (size - U1) == U0:
        return np.int64(word & (size - U1))
    return np.int64(((word >> _U32) * size + ((word & _LOW32) * size >> _U32)) >> _U32)


@kernel
def high_word(left: Any, right: Any) -> Any:
    """Return ⌊left · right / 2^64⌋."""
    low = (left & _LOW32) * (right & _LOW32)
    middle = (left >> _U32) * (right & _LOW32) + (low >> _U32)
    other = (left & _LOW32) * (right >> _U32) + (middle & _LOW32)
    return (left >> _U32) * (right >> _U32) + (middle >> _U32) + (other >> _U32)


# ---- seeds


@kernel
def slot_of(items: Ints, m: int, n_slots: int) -> Any:
    """Return the slot for the solved equations of the first m items; n_slots is a power of two."""
    mixed = U0
    for place in range(m):
        mixed = (mixed ^ np.uint64(items[place])) * _MIX
    return np.int64(mixed >> np.uint64(32)) & (n_slots - 1)


@kernel
def is_row(items: Ints, rows: Ints, row: int) -> bool:
    """Return whether the first items are those of a row."""
    for place in range(rows.shape[1]):  # noqa: SIM110 -- numba has no all()
        if items[place] != rows[row, place]:
            return False
    return True


@kernel
def eliminate(
    items: Ints, columns: Words, equations: Words, pivots: Ints, solved: Ints, slot: int, holds: Words
) -> bool:
    """Bring the equations of a transaction's items into reduced form, in one of the slots; return False if dependent.

    equations (slots, words, m·r) holds one equation per column: the bits of an item's column of the code and, in more
    words, which equations were added to it. pivots (slots, m·r) become seed bits that occur in one equation each.
    solved (slots, m) holds the items of each slot.
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
            holds[other] = U0 - (equations[slot, word, other] >> pivot & U1)  # a mask avoids mispredicted branches
        holds[row] = U0
        for part in range(equations.shape[1]):
            added = equations[slot, part, row]
            for other in range(n_rows):
                equations[slot, part, other] ^= added & holds[other]
    return True


@kernel
def add_digits(values: Ints, bits: int, n_words: int, vector: Words) -> None:
    """Write the r bits of each value, most significant first, one value after the other, after the words of a seed."""
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
def solve_seed(equations: Words, pivots: Ints, slot: int, sums: Words, vector: Words) -> None:
    """Change the pivots' bits of a uniform seed, which makes it uniform among the seeds with the required products.

    ``vector`` is the seed and, after its words, the required products.
    """
    for row in range(sums.shape[0]):
        sums[row] = U0
    for word in range(equations.shape[1]):
        factor = vector[word]
        for row in range(sums.shape[0]):
            sums[row] ^= equations[slot, word, row] & factor
    for row in range(sums.shape[0]):
        sums[row] = np.uint64(popcount(sums[row])) & U1
    # no branch on a bit: half of its predictions would be wrong
    for word in range(equations.shape[1] - (sums.shape[0] + 63) // 64):
        flips = U0
        for row in range(sums.shape[0]):
            flips ^= (sums[row] << np.uint64(pivots[slot, row] & 63)) * np.uint64(pivots[slot, row] >> 6 == word)
        vector[word] ^= flips


# ---- ranks


@kernel
def unrank_reports(ranks: Words, binomials: Words, scratch: Words, widths: Ints, planes: Words) -> None:
    """Write the bitmap of every item, planes (blocks, items, words), from the ranks of sets of ℓ items, (n, w).

    binomials (items, ℓ + 1, w) holds C(c, i) at [c, i], from the least significant word. A set of rank x has the
    largest member c iff x ≥ C(c, ℓ); then x − C(c, ℓ) is the rank of the rest. 64 reports are handled together.
    Scratch: (2 · w + 3, 64), and (items,).
    """
    n_blocks, n_items, n_words = planes.shape
    n_ranks, size, width = ranks.shape[0], binomials.shape[1] - 1, ranks.shape[1]
    rest, missing, scratch = scratch[:width], scratch[width], scratch[width + 1 :]
    find_widths(binomials, widths)
    for block in range(n_blocks):
        for word in range(n_words):
            first = (block * n_words + word) * 64
            for i in range(64):
                missing[i] = np.uint64(size if first + i < n_ranks else 0)
                for part in range(ranks.shape[1]):
                    rest[part, i] = ranks[first + i, part] if first + i < n_ranks else U0
            for item in range(n_items - 1, -1, -1):
                planes[block, item, word] = take_item(binomials, item, widths[item], missing, rest, scratch)


@kernel
def find_widths(binomials: Words, widths: Ints) -> None:
    """Write how many words hold the rank of any set of the numbers 0 … c, for each c; at most the table's width."""
    for item in range(widths.shape[0]):
        width = 1 if item + 1 < widths.shape[0] else binomials.shape[2]
        for i in range(binomials.shape[1] if item + 1 < widths.shape[0] else 0):
            for part in range(width, binomials.shape[2]):
                if binomials[item + 1, i, part]:
                    width = part + 1
        widths[item] = width


@kernel
def take_item(binomials: Words, item: int, width: int, missing: Words, rest: Words, scratch: Words) -> Any:
    """Return which of 64 sets have an item as their largest member, and remove it from them.

    missing (64,) and rest (w, 64) are the number of remaining members of each set, and their rank; scratch is
    (w + 2, 64). Ranks take ``width`` words here.
    """
    borrow, value = rest.shape[0], rest.shape[0] + 1  # rows of scratch
    for i in range(64):
        scratch[borrow, i] = U0
    for part in range(width):
        _look_up(binomials, item, part, missing, scratch, value)
        for i in range(64):
            left, less = rest[part, i], scratch[value, i]
            scratch[part, i] = left - less - scratch[borrow, i]
            scratch[borrow, i] = np.uint64(left < less) | np.uint64(left == less) & scratch[borrow, i]
    shown = U0
    for i in range(64):
        taken = np.uint64(scratch[borrow, i] == U0) & np.uint64(missing[i] != U0)
        missing[i] -= taken
        shown |= taken << np.uint64(i)
        scratch[borrow, i] = U0 - taken
    for part in range(width):
        for i in range(64):
            rest[part, i] ^= (rest[part, i] ^ scratch[part, i]) & scratch[borrow, i]
    return shown


@kernel
def _look_up(binomials: Words, item: int, part: int, numbers: Words, values: Words, row: int) -> None:
    """Write the table's entries for an item and each of 64 numbers to a row of values.

    This loop is separate, because the others can then be vectorized.
    """
    for i in range(64):
        values[row, i] = binomials[item, numbers[i], part]


@kernel
def show_merged(inside: Words, kept: Words, others: Words, behind: Words) -> None:
    """Add to 64 sets of kept items the other items that each report shows, which lie outside its transaction.

    Bit i of inside[c] and kept[c] is for item c and set i; bit i of others[q] is for the q-th item outside. behind
    (m + 1,) is scratch: behind[d] marks the sets with d of their m inside items below the current item.
    """
    behind[0] = ONES
    for d in range(1, behind.shape[0]):
        behind[d] = U0
    for item in range(inside.shape[0]):
        shown = U0
        for d in range(max(0, item + 1 - others.shape[0]), min(behind.shape[0], item + 1)):
            shown |= others[item - d] & behind[d]
        kept[item] |= shown & ~inside[item]
        for d in range(behind.shape[0] - 1, 0, -1):
            behind[d] ^= (behind[d] ^ behind[d - 1]) & inside[item]
        behind[0] &= ~inside[item]


@kernel
def rank_shown(shown: Words, binomials: Words, widths: Ints, numbers: Words, ranks: Words, scratch: Words) -> None:
    """Write the ranks, (w, 64), of 64 sets of at most ℓ items; bit i of shown[c] says whether set i has item c.

    numbers (64,) and scratch (w + 2, 64) are scratch.
    """
    size, n_words = np.uint64(binomials.shape[1] - 1), ranks.shape[0]
    carry, value = n_words, n_words + 1  # rows of scratch
    for i in range(64):
        numbers[i] = U0  # members below the current item
        for part in range(n_words):
            ranks[part, i] = U0
    for item in range(shown.shape[0]):
        plane = shown[item]
        for i in range(64):
            numbers[i] = min(numbers[i] + U1, size)
            scratch[0, i] = U0 - (plane >> np.uint64(i) & U1)
            scratch[carry, i] = U0
        for part in range(widths[item]):
            _look_up(binomials, item, part, numbers, scratch, value)
            for i in range(64):
                added = scratch[value, i] & scratch[0, i]
                total = ranks[part, i] + added
                ranks[part, i] = total + scratch[carry, i]
                scratch[carry, i] = np.uint64(total < added) | np.uint64(ranks[part, i] < total)
        for i in range(64):
            numbers[i] -= U1 + scratch[0, i]  # one less where the item is no member
