"""Sets of items as ranks: reports of a fixed size, 64 at a time (core/ranking.py has the formula)."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import Ints, Words, const, entry, kernel, uint64
from assocpriv.core.kernels.vector import U0, U1


@entry(const(uint64[:, ::1]), const(uint64[:, :, ::1]), uint64[:, :, ::1])
def unrank_reports(ranks: Words, binomials: Words, planes: Words) -> None:
    """Write the bitmap of every item, planes (blocks, items, words), from the ranks of sets of ℓ items, (n, w).

    binomials (items, ℓ + 1, w) holds C(c, i) at [c, i], from the least significant word. A set of the rank x has the
    largest member c iff x ≥ C(c, ℓ); then x − C(c, ℓ) is the rank of the rest. 64 reports go along together.
    """
    n_blocks, n_items, n_words = planes.shape
    n_ranks, size = ranks.shape[0], binomials.shape[1] - 1
    rest, missing = np.empty((ranks.shape[1], 64), dtype=np.uint64), np.empty(64, dtype=np.int64)
    scratch = np.empty((ranks.shape[1] + 1, 64), dtype=np.uint64)
    widths = np.empty(n_items, dtype=np.int64)
    find_widths(binomials, widths)
    for block in range(n_blocks):
        for word in range(n_words):
            first = (block * n_words + word) * 64
            for i in range(64):
                missing[i] = size if first + i < n_ranks else 0
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
def take_item(binomials: Words, item: int, width: int, missing: Ints, rest: Words, scratch: Words) -> Any:
    """Return which of 64 sets have an item as the largest member, and take it out of them.

    missing (64,) and rest (w, 64) are the number of members that a set has left, and the rank of these; scratch is
    (w + 1, 64). Ranks take ``width`` words here.
    """
    shown, borrow = U0, rest.shape[0]  # the row of scratch for what is borrowed
    if width == 1:
        for i in range(64):
            value = binomials[item, missing[i], 0]
            taken = np.int64(rest[0, i] >= value) & np.int64(missing[i] > 0)
            rest[0, i] -= value & (U0 - np.uint64(taken))
            missing[i] -= taken
            shown |= np.uint64(taken) << np.uint64(i)
        return shown
    for i in range(64):
        scratch[borrow, i] = U0
    for part in range(width):
        for i in range(64):
            value, left = binomials[item, missing[i], part], rest[part, i]
            scratch[part, i] = left - value - scratch[borrow, i]
            scratch[borrow, i] = np.uint64(left < value) | np.uint64(left == value) & scratch[borrow, i]
    for i in range(64):
        taken = np.int64(scratch[borrow, i] == U0) & np.int64(missing[i] > 0)
        missing[i] -= taken
        shown |= np.uint64(taken) << np.uint64(i)
        scratch[borrow, i] = U0 - np.uint64(taken)
    for part in range(width):
        for i in range(64):
            rest[part, i] ^= (rest[part, i] ^ scratch[part, i]) & scratch[borrow, i]
    return shown


@kernel
def rank_merged(
    inside: Words,
    kept: Words,
    others: Words,
    binomials: Words,
    widths: Ints,
    places: Ints,
    ranks: Words,
    scratch: Words,
) -> None:
    """Write the ranks, (w, 64), of 64 sets of items: those kept, and the others among those that are not inside.

    Bit i of inside[c] and kept[c] tells of item c and set i; bit i of others[q] of the q-th item that is not inside.
    places (3, 64) and scratch (w + 1, 64) are scratch.
    """
    size, n_words = binomials.shape[1] - 1, ranks.shape[0]
    for i in range(64):
        places[0, i] = places[1, i] = 0  # members, and items inside, below the item looked at
        for part in range(n_words):
            ranks[part, i] = U0
    for item in range(inside.shape[0]):
        for i in range(64):
            bit = np.uint64(i)
            within = inside[item] >> bit & U1
            other = others[min(item - places[1, i], others.shape[0] - 1)] >> bit & (within ^ U1)
            shown = kept[item] >> bit & U1 | other
            places[2, i] = min(places[0, i] + 1, size)
            places[0, i] += np.int64(shown)
            places[1, i] += np.int64(within)
            scratch[0, i] = U0 - shown
            scratch[n_words, i] = U0  # what is carried
        for part in range(widths[item]):
            for i in range(64):
                value = binomials[item, places[2, i], part] & scratch[0, i]
                total = ranks[part, i] + value
                ranks[part, i] = total + scratch[n_words, i]
                scratch[n_words, i] = np.uint64(total < value) | np.uint64(ranks[part, i] < total)
