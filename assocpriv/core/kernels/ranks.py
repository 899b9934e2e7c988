"""Sets of items as ranks: reports of a fixed size, 64 at a time (core/ranking.py has the formula)."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.words import ONES, U0, U1, Ints, Words


@kernel
def unrank_reports(ranks: Words, binomials: Words, scratch: Words, widths: Ints, planes: Words) -> None:
    """Write the bitmap of every item, planes (blocks, items, words), from the ranks of sets of ℓ items, (n, w).

    binomials (items, ℓ + 1, w) holds C(c, i) at [c, i], from the least significant word. A set of the rank x has the
    largest member c iff x ≥ C(c, ℓ); then x − C(c, ℓ) is the rank of the rest. 64 reports go along together. Scratch:
    (2 · w + 3, 64), and (items,).
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
    """Write how many words hold the rank of any set of the numbers 0 … c, for each c; the table's width at most."""
    for item in range(widths.shape[0]):
        width = 1 if item + 1 < widths.shape[0] else binomials.shape[2]
        for i in range(binomials.shape[1] if item + 1 < widths.shape[0] else 0):
            for part in range(width, binomials.shape[2]):
                if binomials[item + 1, i, part]:
                    width = part + 1
        widths[item] = width


@kernel
def take_item(binomials: Words, item: int, width: int, missing: Words, rest: Words, scratch: Words) -> Any:
    """Return which of 64 sets have an item as the largest member, and take it out of them.

    missing (64,) and rest (w, 64) are the number of members that a set has left, and the rank of these; scratch is
    (w + 2, 64). Ranks take ``width`` words here.
    """
    borrow, value = rest.shape[0], rest.shape[0] + 1  # rows of scratch
    for i in range(64):
        scratch[borrow, i] = U0
    for part in range(width):
        look_up(binomials, item, part, missing, scratch, value)
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
def look_up(binomials: Words, item: int, part: int, numbers: Words, values: Words, row: int) -> None:
    """Write to a row of values what the table has of an item and each of 64 numbers.

    This stands in a loop of its own, as only the other ones become instructions on vectors.
    """
    for i in range(64):
        values[row, i] = binomials[item, numbers[i], part]


@kernel
def show_merged(inside: Words, kept: Words, others: Words, behind: Words) -> None:
    """Add to 64 sets of items, those kept, the others among the items that are not inside.

    Bit i of inside[c] and kept[c] tells of item c and set i; bit i of others[q] of the q-th item that is not inside.
    behind (m + 1,) is scratch: behind[d] has the sets with d items inside below the item looked at, all m at most.
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
    """Write the ranks, (w, 64), of 64 sets of at most ℓ items; bit i of shown[c] tells of item c and set i.

    numbers (64,) and scratch (w + 2, 64) are scratch.
    """
    size, n_words = np.uint64(binomials.shape[1] - 1), ranks.shape[0]
    carry, value = n_words, n_words + 1  # rows of scratch
    for i in range(64):
        numbers[i] = U0  # members below the item looked at
        for part in range(n_words):
            ranks[part, i] = U0
    for item in range(shown.shape[0]):
        plane = shown[item]
        for i in range(64):
            numbers[i] = min(numbers[i] + U1, size)
            scratch[0, i] = U0 - (plane >> np.uint64(i) & U1)
            scratch[carry, i] = U0
        for part in range(widths[item]):
            look_up(binomials, item, part, numbers, scratch, value)
            for i in range(64):
                added = scratch[value, i] & scratch[0, i]
                total = ranks[part, i] + added
                ranks[part, i] = total + scratch[carry, i]
                scratch[carry, i] = np.uint64(total < added) | np.uint64(ranks[part, i] < total)
        for i in range(64):
            numbers[i] -= U1 + scratch[0, i]  # one less where the item is no member
