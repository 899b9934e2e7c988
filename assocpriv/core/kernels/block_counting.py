"""Itemsets counted block by block: the bits set in all or some of an itemset's rows, in the blocks that hold it.

A segment is a run of words that belong to one block's reports. Its rows are short, so those of the candidates' items
are first copied beside each other.
"""

from typing import Any

import numpy as np

from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.words import ONES, U1, Ints, Words, popcount


@kernel
def count_block_items(rows: Words, segments: Ints, members: Ints, sums: Ints) -> None:
    """Add to sums[c] how many reports tell of item c, and how many of them show it; arrays as below."""
    for place in range(segments.shape[0]):
        panel, stop, n_reports = segments[place, 0], segments[place, 2], segments[place, 3]
        final = _final_word(n_reports)
        for m in range(segments[place, 4], segments[place, 5]):
            row, shown = members[1, m], 0
            for word in range(segments[place, 1], stop - 1):
                shown += popcount(rows[panel, row, word])
            sums[members[0, m], 0] += n_reports
            sums[members[0, m], 1] += shown + popcount(rows[panel, row, stop - 1] & final)


@kernel
def count_block_itemsets(
    rows: Words, segments: Ints, members: Ints, itemsets: Ints, starts: Ints, slots: Ints,
    scratch: Any, sums: Ints,
) -> None:  # fmt: skip
    """Add to sums[c, slots[mask]] how many reports show the items of each mask of itemsets[c], in its blocks.

    rows (panels, places, words). A segment is (panel, first word, word after the last, reports, first member, member
    after the last), its last word filled as far as there are reports; members (2, all) are a block's items, increasing,
    and their rows. itemsets (candidates, k), k ≥ 2, are items in lexicographic order, those with first item i from
    starts[i] on; slots (2^k,) by mask. Scratch: rows copied and intersected, (most members + 2^(k−1), most words) and
    how many bits they have set; for each item −1; k places.
    """
    k = itemsets.shape[1]
    bits, ones, local, at = scratch
    for place in range(segments.shape[0]):
        first, last = segments[place, 4], segments[place, 5]
        for m in range(first, last):
            local[members[0, m]] = m - first
            ones[m - first] = _copy_row(rows, segments[place], members[1, m], bits, m - first)
        for m in range(first, last):
            begin, end = starts[members[0, m]], starts[members[0, m] + 1]
            if begin < end and k == 2 and itemsets[end - 1, 1] - itemsets[begin, 1] == end - begin - 1:
                least = itemsets[begin, 1]  # candidates with all items from this one to another
                for other in range(m + 1, last):
                    if least <= members[0, other] <= itemsets[end - 1, 1]:
                        _add_pair(
                            segments[place],
                            bits,
                            ones,
                            m - first,
                            other - first,
                            slots,
                            sums[begin + members[0, other] - least],
                        )
            else:
                _count_sets(segments[place], itemsets, begin, end, local, at, bits, ones, slots, sums)
        for m in range(first, last):
            local[members[0, m]] = -1


@kernel
def _add_pair(segment: Ints, bits: Words, ones: Ints, one: int, other: int, slots: Ints, sums: Ints) -> None:
    """Add what a segment shows of a pair."""
    sums[slots[0]] += segment[3]
    sums[slots[1]] += ones[one]
    sums[slots[2]] += ones[other]
    sums[slots[3]] += _shown_by_both(bits, one, other, segment[2] - segment[1])


@kernel
def _count_sets(
    segment: Ints, itemsets: Ints, begin: int, end: int, local: Ints, at: Ints, bits: Words, ones: Ints, slots: Ints,
    sums: Ints,
) -> None:  # fmt: skip
    """Add what a segment shows of candidates begin … end − 1, where its block holds them.

    The last 2^(k−1) rows of ``bits`` are for intersections of subsets of the k − 1 first items.
    """
    n_words, half = segment[2] - segment[1], 1 << (itemsets.shape[1] - 1)
    room, ready = bits.shape[0] - half, -1
    for c in range(begin, end):
        if _find_local(itemsets, c, local, at):
            if ready < 0 or not _same_prefix(itemsets, ready, c):
                _intersect_prefix(bits, ones, at, n_words, room)
            ready, last = c, at[at.shape[0] - 1]
            sums[c, slots[0]] += segment[3]
            sums[c, slots[half]] += ones[last]
            for mask in range(1, half):
                sums[c, slots[mask]] += ones[room + mask]
                sums[c, slots[mask | half]] += _shown_by_both(bits, room + mask, last, n_words)


@kernel
def _final_word(n_reports: int) -> Any:
    """Return the bits of a segment's last word that are reports."""
    used = n_reports % 64
    return ONES if used == 0 else (U1 << np.uint64(used)) - U1


@kernel
def _copy_row(rows: Words, segment: Ints, row: int, bits: Words, to: int) -> int:
    """Copy a segment's part of a row, bits beyond the reports cleared, and return how many are set."""
    shown, n_words = 0, segment[2] - segment[1]
    for word in range(n_words):
        copied = rows[segment[0], row, segment[1] + word]
        if word == n_words - 1:
            copied &= _final_word(segment[3])
        bits[to, word] = copied
        shown += popcount(copied)
    return shown


@kernel
def _find_local(itemsets: Ints, c: int, local: Ints, at: Ints) -> bool:
    """Write where a candidate's items are copied, and tell whether the block holds them all."""
    for i in range(itemsets.shape[1]):
        at[i] = local[itemsets[c, i]]
        if at[i] < 0:
            return False
    return True


@kernel
def _same_prefix(itemsets: Ints, one: int, other: int) -> bool:
    """Tell whether two candidates share all but the last item."""
    same = True
    for i in range(itemsets.shape[1] - 1):
        same = same and itemsets[one, i] == itemsets[other, i]
    return same


@kernel
def _intersect_prefix(bits: Words, ones: Ints, at: Ints, n_words: int, room: int) -> None:
    """Write the intersections of all subsets of the k − 1 first items from a row on, by mask, and count their bits."""
    for i in range(at.shape[0] - 1):
        for mask in range(1 << i):
            total = 0
            for word in range(n_words):
                both = bits[at[i], word] if mask == 0 else bits[room + mask, word] & bits[at[i], word]
                bits[room + (mask | 1 << i), word] = both
                total += popcount(both)
            ones[room + (mask | 1 << i)] = total


@kernel
def _shown_by_both(bits: Words, one: int, other: int, n_words: int) -> int:
    """Return how many bits two rows share."""
    total = 0
    for word in range(n_words):
        total += popcount(bits[one, word] & bits[other, word])
    return total
