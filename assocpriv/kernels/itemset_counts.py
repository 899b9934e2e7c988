"""Itemsets of plain transactions: bitmaps, counts, lookup, and the join of Apriori.

This module checks and allocates the arrays that the kernels need.

A bitmap lies in blocks of a few thousand transactions, uint64 (blocks, rows, words): row i of a block holds one item
over its transactions, so that the rows counted together stand together in cache. Transaction t is bit t mod 64 of
word t div 64, counted through the blocks; bits beyond the last transaction are 0.

A row of a block is an eighth of the first cache or less, so that the eight rows of a 4 × 4 tile of pairs stay there; a
tile shares its loads, and two panels of rows take half of the second cache. Larger itemsets go along the tree of
candidates: an intersection is made once, and four sets of k − 1 items are counted with four last items at a time, by
the same tile.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.loops import LANES, kernels
from assocpriv.kernels.parallel import cache_bytes

Ints = NDArray[np.int64]
Rows = NDArray[np.uint64]
WORD_BITS = 64
_LINE_BITS = 64 * 8  # of a cache line
# Words combined in a step, 0.1 to 0.2 s, between which a thread can be stopped.
_STEP_WORDS = 1 << 28


def block_words() -> int:
    """Return the most words in a block's row, a power of two, so that the eight rows of a tile fit the first cache."""
    return 1 << max(5, (cache_bytes()[0] // (8 * 8)).bit_length() - 1)


def empty_rows(n_rows: int, n_bits: int) -> Rows:
    """Return uninitialized bitmaps of ``n_rows`` rows over ``n_bits`` transactions, at the start of a cache line."""
    n_lanes = -(-n_bits // (WORD_BITS * LANES))
    n_blocks = -(-n_lanes * LANES // block_words())
    # blocks of about the same size, so that little of the last one is empty
    return aligned_words((n_blocks, n_rows, -(-n_lanes // n_blocks) * LANES if n_blocks else 0))


def aligned_words(shape: tuple[int, int, int]) -> Rows:
    """Return uninitialized words at the start of a cache line."""
    size = shape[0] * shape[1] * shape[2]
    memory = np.empty(size + _LINE_BITS // WORD_BITS, dtype=np.uint64)
    start = -memory.ctypes.data // 8 % (_LINE_BITS // WORD_BITS)
    return memory[start : start + size].reshape(shape)


def transaction_rows(offsets: Ints, flat: Ints, n_items: int, items: Ints) -> Rows:
    """Make bitmaps of some items over plain transactions flat[offsets[t] : offsets[t+1]], (blocks, items, words)."""
    row_of_item = np.full(n_items, -1, dtype=np.int64)
    row_of_item[items] = np.arange(len(items))
    rows = empty_rows(len(items), len(offsets) - 1)
    rows[:] = 0
    kernels.fill_rows(offsets, flat, row_of_item, rows)
    return rows


def items_of(itemsets: Ints) -> Ints:
    """Return the items that occur, in increasing order, without sorting millions of itemsets."""
    return np.flatnonzero(np.bincount(itemsets.ravel()))


def places_in(items: Ints, itemsets: Ints) -> Ints:
    """Return the itemsets with each item replaced by its position in ``items``, which are increasing."""
    places = np.zeros(int(items.max(initial=-1)) + 1, dtype=np.int64)
    places[items] = np.arange(len(items))
    return places[itemsets]


class SupersetCounter:
    """Counts, in bitmaps, the transactions that show all items of each itemset; made once for all batches.

    Args:
        itemsets: row numbers, int64 (candidates, k), k ≥ 1, each row increasing; fastest in lexicographic order.
        n_rows: number of rows.
    """

    def __init__(self, itemsets: Ints, n_rows: int) -> None:
        assert itemsets.size == 0 or (itemsets.min() >= 0 and itemsets.max() < n_rows)
        self._n_rows, self.work = n_rows, len(itemsets)  # words combined for each word of a row
        self._all_pairs = _are_all_pairs(itemsets, n_rows)
        if not self._all_pairs:
            self._itemsets = np.ascontiguousarray(itemsets)
            self._shared = _shared_with_previous(self._itemsets)

    def count_in_steps(self, rows: Rows, counts: Ints) -> Iterator[int]:
        """Add to counts, int64 (candidates,), step by step; yield the number of words combined in each step."""
        for block in range(rows.shape[0]):
            yield from (self._count_pairs if self._all_pairs else self._count_sets)(rows[block : block + 1], counts)

    def _count_pairs(self, rows: Rows, counts: Ints) -> Iterator[int]:
        # two panels of rows, as they are counted against each other, take half of the second cache
        panel = max(4, cache_bytes()[1] // 4 // (8 * block_words()) // 4 * 4)
        step = max(1, _STEP_WORDS // max(1, rows.size * panel)) * panel
        for start in range(0, self._n_rows, step):
            stop = min(start + step, self._n_rows)
            kernels.count_pairs(rows, counts, panel, start, stop)
            yield (stop * (stop - 1) - start * (start - 1)) // 2 * rows.shape[2]

    def _count_sets(self, rows: Rows, counts: Ints) -> Iterator[int]:
        [parts] = aligned_words((1, 4 + self._itemsets.shape[1], rows.shape[2]))
        step = max(1, _STEP_WORDS // max(1, rows.shape[2]))
        for start in range(0, len(self._itemsets), step):
            some = slice(start, start + step)
            shared = self._shared[some]
            if shared[0]:  # the previous itemset is in another step
                shared = np.append(0, shared[1:])
            kernels.count_supersets(rows, self._itemsets[some], shared, parts, counts[some])
            yield len(shared) * rows.shape[2]


def _are_all_pairs(itemsets: Ints, n_rows: int) -> bool:
    """Return whether the itemsets are the pairs 01, 02, … of all rows, as in the second level of mining."""
    if itemsets.shape[1] != 2 or n_rows < 2 or len(itemsets) != n_rows * (n_rows - 1) // 2:
        return False
    # the number of all pairs, each increasing, none twice: only one such list is in lexicographic order
    numbers = itemsets[:, 0] * n_rows + itemsets[:, 1]
    return bool((itemsets[:, 0] < itemsets[:, 1]).all() and (numbers[1:] > numbers[:-1]).all())


def _shared_with_previous(itemsets: Ints) -> Ints:
    """Return how many leading items each itemset shares with the previous one, int64 (candidates,)."""
    shared = np.zeros(len(itemsets), dtype=np.int64)
    same = np.ones(max(len(itemsets) - 1, 0), dtype=np.bool_)
    for column in itemsets.T:
        same &= column[1:] == column[:-1]
        shared[1:] += same
    return shared


# ---- lookup and join


def find_itemsets(known: Ints, wanted: Ints) -> Ints:
    """Return the position of each wanted itemset, int64 (wanted, k), among the sorted known ones, or −1."""
    if not len(known) or not len(wanted):
        return np.full(len(wanted), -1, dtype=np.int64)
    base = int(max(known.max(initial=0), wanted.max(initial=0))) + 1
    wide = base ** known.shape[1] >= 2**63
    keys, sought = (_row_keys(sets.astype(object) if wide else sets, base) for sets in (known, wanted))
    places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1).astype(np.int64)
    return np.where(keys[places] == sought, places, -1)


def _row_keys(itemsets: NDArray[Any], base: int) -> NDArray[Any]:
    """Return each row read as the digits of a number, which keeps lexicographic order."""
    keys = np.zeros(len(itemsets), dtype=itemsets.dtype)
    for column in itemsets.T:
        keys = keys * base + column
    return keys


def join_candidates(itemsets: Ints) -> Ints:
    """Return the itemsets one item larger whose subsets are all given (the Apriori join and prune).

    ``itemsets`` are int64 (sets, k) in lexicographic order, k ≥ 1, each row increasing.

    >>> join_candidates(np.array([[0, 1], [0, 2], [0, 3], [1, 2]])).tolist()
    [[0, 1, 2]]
    """
    n_sets, k = itemsets.shape
    group_end = np.cumsum(group_sizes(itemsets))[np.cumsum(_is_first(itemsets)) - 1] if n_sets else np.empty(0, int)
    partners = group_end - np.arange(n_sets) - 1  # later sets that share all but the last item
    left = np.repeat(np.arange(n_sets), partners)
    within = np.arange(len(left)) - np.repeat(np.cumsum(partners) - partners, partners)
    candidates = np.column_stack([itemsets[left], itemsets[left + 1 + within, -1]])
    alive = np.ones(len(left), dtype=np.bool_)
    for dropped in range(k - 1):
        alive &= find_itemsets(itemsets, np.delete(candidates, dropped, axis=1)) >= 0
    return candidates[alive]


def _is_first(itemsets: Ints) -> NDArray[np.bool_]:
    """Return which itemsets start a group that shares all items but the last."""
    new = np.ones(len(itemsets), dtype=np.bool_)
    new[1:] = (itemsets[1:, :-1] != itemsets[:-1, :-1]).any(axis=1)
    return new


def group_sizes(itemsets: Ints) -> Ints:
    """Return the sizes of the groups of itemsets, in lexicographic order, that share all items but the last."""
    return np.diff(np.append(np.flatnonzero(_is_first(itemsets)), len(itemsets)))
