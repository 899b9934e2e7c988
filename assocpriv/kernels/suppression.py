"""Progressive disclosure on distinct records: leaves of a partition split, candidates weighed.

Rows are the distinct records of an inference channel. A leaf is a run of rows that look alike as long as suppressed
values cannot be told apart. ``ends``, int64 (rows,), has at the first row of each leaf the row after its last one; that
of a leaf that needs no more attention is negative. Values of all columns have numbers of their own, and ``state``,
uint8 (values,), says of each whether it is a candidate (0), stays suppressed (1) or is disclosed (2).
"""

from typing import Any

import numpy as np

from assocpriv.kernels.compiling import kernel
from assocpriv.kernels.words import Ints

CANDIDATE, SUPPRESSED, DISCLOSED = range(3)


@kernel
def split_leaves(codes: Any, weights: Any, ends: Ints, touched: Ints, state: Any, column: int, wanted: int) -> int:
    """Split every leaf that holds a value beside suppressed others of its column; return how many leaves came of it.

    Rows of ``codes``, int32 (columns, rows), and ``weights``, int32 (rows, 1 + bounds), move within their leaf. The
    first rows of the leaves that were made are written to ``touched``, int64 (rows,).
    """
    made, start, idle = 0, 0, -1  # idle: where a run of leaves without attention starts, so that it becomes one
    while start < ends.shape[0]:
        end = ends[np.uint64(start)]
        if end < 0:
            idle = start if idle < 0 else idle
            ends[np.uint64(idle)], start = end, -end
        else:
            idle = -1
            if state[np.uint64(codes[np.uint64(column), np.uint64(start)])] != DISCLOSED:
                middle = _partition(codes, weights, start, end, column, wanted)
                if start < middle < end:
                    ends[np.uint64(start)], ends[np.uint64(middle)] = middle, end
                    touched[np.uint64(made)], touched[np.uint64(made + 1)] = start, middle
                    made += 2
            start = end
    return made


@kernel
def _partition(codes: Any, weights: Any, start: int, end: int, column: int, wanted: int) -> Any:
    """Move the rows of a value to the front of their leaf; return the row after them."""
    middle, at = start, np.uint64(column)
    for row in range(start, end):
        if codes[at, np.uint64(row)] == wanted:
            if row != middle:
                low, high = np.uint64(middle), np.uint64(row)
                for each in range(codes.shape[0]):
                    place = np.uint64(each)
                    codes[place, low], codes[place, high] = codes[place, high], codes[place, low]
                for each in range(weights.shape[1]):
                    place = np.uint64(each)
                    weights[low, place], weights[high, place] = weights[high, place], weights[low, place]
            middle += 1
    return middle


@kernel
def weigh_candidates(
    codes: Any, weights: Any, ends: Ints, leaves: Ints, state: Any, spans: Ints, counts: Ints, best: Ints
) -> int:
    """Raise the highest confidence that each candidate's disclosure would bring, by what leaves at hand give.

    A candidate splits a leaf into the rows that hold it and the rest. ``best``, int64 (values, bounds, 3), has for each
    candidate and bound the hits and the total of the highest share, and where it comes from: twice the leaf's first
    row, and 1 more for the rest. ``spans``, int64 (columns, 2), has each column's numbers of values, an empty span
    where no value is a candidate. ``counts``, int64 (values + 1, 1 + bounds), is all zeros, and is left so. Leaves
    whose shares cannot change any more need no more attention. Returns the number of leaves that do.
    """
    sums, alive = counts[counts.shape[0] - 1], 0
    for leaf in range(leaves.shape[0]):
        start = leaves[np.uint64(leaf)]
        end = ends[np.uint64(start)]
        sums[:] = 0
        for row in range(start, end):
            for bound in range(weights.shape[1]):
                sums[np.uint64(bound)] += weights[np.uint64(row), np.uint64(bound)]
        open_columns, any_hits = 0, False
        for bound in range(1, sums.shape[0]):
            any_hits |= sums[np.uint64(bound)] > 0
        if end > start + 1 and any_hits:
            for column in range(codes.shape[0]):
                low, high = spans[np.uint64(column), 0], spans[np.uint64(column), 1]
                first = codes[np.uint64(column), np.uint64(start)]
                if low < high and state[np.uint64(first)] != DISCLOSED:
                    open_columns += 1
                    _weigh_column(codes[column], weights, start, end, (low, high), state, counts, best)
        if open_columns:
            alive += 1
        else:
            ends[np.uint64(start)] = -end
    sums[:] = 0
    return alive


@kernel
def _weigh_column(
    codes: Any, weights: Any, start: int, end: int, span: Any, state: Any, counts: Any, best: Any
) -> None:
    """Count a leaf's rows by one column's values, weigh these, and set the counts to zero again."""
    for row in range(start, end):
        value = np.uint64(codes[np.uint64(row)])
        for bound in range(weights.shape[1]):
            counts[value, np.uint64(bound)] += weights[np.uint64(row), np.uint64(bound)]
    if end - start > span[1] - span[0]:
        for each in range(span[0], span[1]):
            _weigh_value(each, 2 * start, state, counts, best)
    else:
        for row in range(start, end):
            _weigh_value(codes[np.uint64(row)], 2 * start, state, counts, best)


@kernel
def _weigh_value(number: int, witness: int, state: Any, counts: Any, best: Any) -> None:
    """Compare the two parts that a value splits the leaf into, unless it was counted already or is not there."""
    value, whole = np.uint64(number), np.uint64(counts.shape[0] - 1)
    total = counts[value, 0]
    if total == 0:
        return
    rest = counts[whole, 0] - total
    for bound in range(best.shape[1]):
        at = np.uint64(bound)
        hits = counts[value, at + np.uint64(1)]
        every = counts[whole, at + np.uint64(1)]
        counts[value, at + np.uint64(1)] = 0
        if state[value] == CANDIDATE and every > 0:
            # shares as products: counts are below 2^31
            if hits * best[value, at, 1] > best[value, at, 0] * total:
                best[value, at, 0], best[value, at, 1], best[value, at, 2] = hits, total, witness
            if (every - hits) * best[value, at, 1] > best[value, at, 0] * rest:
                best[value, at, 0], best[value, at, 1], best[value, at, 2] = every - hits, rest, witness + 1
    counts[value, 0] = 0
