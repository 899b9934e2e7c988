"""Bitmaps: who shows which item. Checks and allocates for the kernels; row i holds one item over all reports.

Bit t of a row is bit t mod 64 of its word t div 64; bits beyond the last transaction are 0.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.codes import WORD_BITS
from assocpriv.core.plan import Plan
from assocpriv.core.wire import report_words


def report_rows(
    packed: NDArray[np.uint8], plan: Plan, columns: NDArray[np.uint64], items: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Expand some items of packed reports into bitmaps.

    Args:
        packed: reports, uint8 (n, report_bytes).
        plan: their plan.
        columns: the items' columns, uint64 (items, r, w); unused without a generator.
        items: item ids, int64 (items,).

    Returns:
        uint64 of shape (items, ⌈n/64⌉).
    """
    from assocpriv.core.kernels import expand_items, transpose_reports

    words = report_words(packed, plan.report_bits)
    planes = np.empty((words.shape[1] * WORD_BITS, -(-len(packed) // WORD_BITS)), dtype=np.uint64)
    transpose_reports(words, planes)
    if plan.generator.kind == "none":
        return planes[items]
    rows = np.empty((len(items), planes.shape[1]), dtype=np.uint64)
    expand_items(planes, np.ascontiguousarray(columns), plan.operator.insert_num, len(packed), rows)
    return rows


def transaction_rows(
    offsets: NDArray[np.int64], flat: NDArray[np.int64], n_items: int, items: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Make bitmaps of some items over plain transactions flat[offsets[t] : offsets[t+1]], uint64 (items, ⌈n/64⌉)."""
    from assocpriv.core.kernels import fill_rows

    row_of_item = np.full(n_items, -1, dtype=np.int64)
    row_of_item[items] = np.arange(len(items))
    rows = np.zeros((len(items), -(-(len(offsets) - 1) // WORD_BITS)), dtype=np.uint64)
    fill_rows(offsets, flat, row_of_item, rows)
    return rows


def count_row_supersets(rows: NDArray[np.uint64], itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count, for each set of rows, the bits set in all of them.

    Args:
        rows: uint64 (items, words).
        itemsets: row numbers, int64 (candidates, k); fastest in lexicographic order.

    Returns:
        int64 of shape (candidates,).
    """
    from assocpriv.core.kernels import count_supersets

    assert itemsets.size == 0 or (itemsets.min() >= 0 and itemsets.max() < len(rows))
    counts = np.zeros(len(itemsets), dtype=np.int64)
    count_supersets(rows, np.ascontiguousarray(itemsets), counts)
    return counts
