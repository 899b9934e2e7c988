"""Itemsets counted in bitmaps: the bits set in several rows at once."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.words import ONES, Ints, Words, popcount

NOTES = 48  # numbers that a count makes notes of
_LEFT, _RIGHT, _RUNS, _ENDS, _TARGETS, _FOUND = 0, 4, 8, 12, 16, 32  # where they begin among the notes


@kernel
def count_supersets(rows: Words, itemsets: Ints, shared: Ints, parts: Words, notes: Ints, counts: Ints) -> None:  # noqa: PLR0912 -- loops
    """Add to counts[c] the number of bits set in all the rows of itemsets[c].

    rows (blocks, items, words); itemsets (candidates, k) row numbers, k ≥ 1, the first shared[c] of them as in the
    candidate before. Intersections are kept along the tree of candidates, so that in lexicographic order each is made
    once; up to four sets of k − 1 items that share k − 2 are counted together, with four last items at a time. Scratch:
    parts (1, 4 + k, words), notes (NOTES,).
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
                for b in range(n_last, 4):  # missing ones count the last again, for nobody
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
    """Find up to four runs of candidates from ``first`` on that share k − 1 items, all sharing k − 2.

    Returns (number of runs, candidate after the last of them).
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
    """Take the next four last items of the runs, and note whose targets they are: 4·run + place, −1 for no candidate.

    Returns the number of items, below four at the end.
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
    """Write one of the parts AND a row to another of the parts."""
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
    for a in range(0, 4, 2):  # sums of more rows than this do not fit a processor's registers
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

    Only pairs whose later row is one of ``start`` … ``stop`` − 1, multiples of ``panel`` or the last. rows (blocks,
    items, words); counts (items · (items − 1) / 2,). Tiles of 4 × 4 rows share their loads; panels of ``panel`` rows, a
    multiple of 4, stay in cache while a block is counted. Scratch: notes (NOTES,).
    """
    n_rows = rows.shape[1]
    for block in range(rows.shape[0]):
        for one in range(start, min(stop, n_rows), panel):
            for other in range(0, one + 1, panel):
                for i in range(one, min(one + panel, n_rows), 4):
                    for j in range(other, min(other + panel, i + 1), 4):
                        for place in range(4):  # rows beyond the last are not added below
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
