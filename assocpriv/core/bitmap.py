"""Bitmaps: who shows which item. Checks and allocates for the kernels; row i holds one item over all reports.

Bit t of a row is bit t mod 64 of its word t div 64; bits beyond the last transaction are 0.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.codes import WORD_BITS
from assocpriv.core.plan import Plan
from assocpriv.core.wire import report_words

_MANY_COLUMNS = 224
_MOST_PAIRED = 4096  # rows whose square of counts, 128 MiB, is worth holding


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
    # a table of 2^8 entries pays for itself from some 200 columns on
    group_bits = 8 if columns.shape[0] * columns.shape[1] > _MANY_COLUMNS else 4
    used = planes[: -(-plan.report_bits // group_bits) * group_bits]
    expand_items(used, np.ascontiguousarray(columns), plan.operator.insert_num, len(packed), group_bits, rows)
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
    if _are_all_pairs(itemsets, len(rows)):
        return _count_all_pairs(rows)
    counts = np.zeros(len(itemsets), dtype=np.int64)
    count_supersets(rows, np.ascontiguousarray(itemsets), counts)
    return counts


def _are_all_pairs(itemsets: NDArray[np.int64], n_rows: int) -> bool:
    """Tell whether the itemsets are the pairs 01, 02, … of all rows, as the second level of mining asks for."""
    if itemsets.shape[1] != 2 or not 4 <= n_rows <= _MOST_PAIRED or len(itemsets) != n_rows * (n_rows - 1) // 2:
        return False
    first, second = np.triu_indices(n_rows, 1)
    return bool((itemsets[:, 0] == first).all() and (itemsets[:, 1] == second).all())


def _count_all_pairs(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count all pairs of rows, int64 in the order 01, 02, …, 12, …"""
    from assocpriv.core.kernels import count_pairs

    n_rows = len(rows)
    padded = np.zeros((-(-n_rows // 4) * 4, rows.shape[1]), dtype=np.uint64)
    padded[:n_rows] = rows
    counts = np.zeros((len(padded), len(padded)), dtype=np.int64)
    count_pairs(padded, counts)
    first, second = np.triu_indices(n_rows, 1)
    return counts[second, first]
