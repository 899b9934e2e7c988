"""Itemsets counted in bitmaps: the bits set in several rows at once."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import Ints, Words, const, entry, int64, kernel, uint64
from assocpriv.core.kernels.vector import LANES, ONES, and_lanes, count_four, count_sixteen


@entry(const(uint64[:, :, ::1]), const(int64[:, ::1]), const(int64[::1]), int64[::1])
def count_supersets(rows: Words, itemsets: Ints, shared: Ints, counts: Ints) -> None:  # noqa: PLR0912 -- loops
    """Add to counts[c] the number of bits set in all the rows of itemsets[c].

    rows (blocks, items, words), words a multiple of LANES; itemsets (candidates, k) row numbers, k ≥ 1, the
    first shared[c] of them as in the candidate before. Intersections are kept along the tree of candidates, so that in
    lexicographic order each is made once; up to four sets of k − 1 items that share k − 2 are counted together, with
    four last items at a time.
    """
    n_blocks, n_rows, n_words = rows.shape
    n_sets, last = itemsets.shape[0], itemsets.shape[1] - 1
    prefix = np.empty((max(last, 1), n_words), dtype=np.uint64)  # of 0, 1, … k − 2 items
    left = np.empty((4, n_words), dtype=np.uint64)  # of k − 1 items
    left_at, right_at = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    runs = np.empty((2, 4), dtype=np.int64)  # candidates that share k − 1 items: the next to count, and the end
    targets, found = np.empty(16, dtype=np.int64), np.empty(16, dtype=np.int64)
    for word in range(n_words):
        prefix[0, word] = left[0, word] = ONES
    for a in range(4):
        left_at[a] = a * n_words
    for block in range(n_blocks):
        done = 0
        while done < n_sets:
            for depth in range(min(shared[done], last - 1), last - 1):
                row_at = (block * n_rows + itemsets[done, depth]) * n_words
                _intersect(prefix, depth * n_words, rows, row_at, prefix, (depth + 1) * n_words, n_words)
            n_runs, done = _find_runs(done, shared, last, runs)
            for a in range(n_runs if last else 0):
                row_at = (block * n_rows + itemsets[runs[0, a], last - 1]) * n_words
                _intersect(prefix, (last - 1) * n_words, rows, row_at, left, left_at[a], n_words)
            while True:
                n_last = _take_last(itemsets, runs, n_runs, right_at, targets)
                if n_last == 0:
                    break
                for b in range(3, -1, -1):  # from items to their rows; missing ones count the last again, for nobody
                    right_at[b] = (block * n_rows + right_at[min(b, n_last - 1)]) * n_words
                found[:] = 0
                if n_runs == 1:
                    count_four(left, left_at, rows, right_at, n_words, found)
                else:
                    count_sixteen(left, left_at, rows, right_at, n_words, found)
                for place in range(16):
                    if targets[place] >= 0:
                        counts[targets[place]] += found[place]


@kernel
def _find_runs(first: int, shared: Ints, last: int, runs: Ints) -> Any:
    """Find up to four runs of candidates from ``first`` on that share k − 1 items, all sharing k − 2.

    Returns (number of runs, candidate after the last of them).
    """
    n_runs, stop = 0, first
    while n_runs < 4 and stop < shared.shape[0] and (n_runs == 0 or shared[stop] >= last - 1):
        runs[0, n_runs] = stop
        stop += 1
        while stop < shared.shape[0] and shared[stop] >= last:
            stop += 1
        runs[1, n_runs] = stop
        n_runs += 1
    return n_runs, stop


@kernel
def _take_last(itemsets: Ints, runs: Ints, n_runs: int, items: Ints, targets: Ints) -> int:
    """Take the next four last items of the runs: who stands at targets[4·run + place], −1 for no candidate.

    Returns the number of items, below four at the end.
    """
    last = itemsets.shape[1] - 1
    targets[:] = -1
    for place in range(4):
        least = np.int64(-1)
        for a in range(n_runs):
            if runs[0, a] < runs[1, a]:
                item = itemsets[runs[0, a], last]
                least = item if least < 0 else min(least, item)
        if least < 0:
            return place
        items[place] = least
        for a in range(n_runs):
            if runs[0, a] < runs[1, a] and itemsets[runs[0, a], last] == least:
                targets[4 * a + place] = runs[0, a]
                runs[0, a] += 1
    return 4


@kernel
def _intersect(left: Words, i: int, right: Words, j: int, out: Words, at: int, length: int) -> None:
    """Write left AND right, from their places on; arrays are seen as flat, the length is a multiple of LANES."""
    for start in range(0, length, LANES):
        and_lanes(left, i + start, right, j + start, out, at + start)


@entry(const(uint64[:, :, ::1]), int64, int64, int64, int64[::1])
def count_pairs(rows: Words, panel: int, start: int, stop: int, counts: Ints) -> None:
    """Add the number of bits set in both rows of every pair to counts, in the order 01, 02, …, 12, …

    Only pairs whose later row is one of ``start`` … ``stop`` − 1, multiples of ``panel`` or the last. rows (blocks,
    items, words), words a multiple of 8; counts (items · (items − 1) / 2,). Tiles of 4 × 4 rows share their loads;
    panels of ``panel`` rows, a multiple of 4, stay in cache while a block is counted.
    """
    n_blocks, n_rows, n_words = rows.shape
    i_at, j_at, found = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64), np.empty(16, dtype=np.int64)
    for block in range(n_blocks):
        first = block * n_rows
        for one in range(start, min(stop, n_rows), panel):
            for other in range(0, one + 1, panel):
                for i in range(one, min(one + panel, n_rows), 4):
                    for j in range(other, min(other + panel, i + 1), 4):
                        for place in range(4):  # rows beyond the last are not added below
                            i_at[place] = (first + min(i + place, n_rows - 1)) * n_words
                            j_at[place] = (first + min(j + place, n_rows - 1)) * n_words
                        found[:] = 0
                        count_sixteen(rows, i_at, rows, j_at, n_words, found)
                        _add_pairs(i, j, n_rows, found, counts)


@kernel
def _add_pairs(i: int, j: int, n_rows: int, found: Ints, counts: Ints) -> None:
    """Add a tile of pairs (i + a, j + b) to the condensed counts of all pairs."""
    for b in range(4):
        smaller = j + b
        first = smaller * (2 * n_rows - smaller - 1) // 2 - smaller - 1
        for a in range(4):
            if smaller < i + a < n_rows:
                counts[first + i + a] += found[4 * a + b]
