"""Histograms of the codes in reports of tables."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.words import U1, Ints

FIELDS = 5  # of an axis, in this order
_OFFSET, _WIDE, _CODES, _PLACES, _AT = range(FIELDS)


@kernel
def tally_codes(packed: Any, axes: Ints, places: Ints, found: Ints, counts: Ints) -> int:
    """Add to each histogram the codes of packed reports, uint8 (n, report_bytes); return how many do not exist.

    A histogram is of one column or of two: ``axes``, int64 (histograms, 2, 5), has for each of them where its code
    begins in a report, 1 if the code has two bytes, how many codes there are, where in ``places`` they begin, and where
    in ``counts`` the histogram begins. ``places`` has for each code how far it moves the position in the histogram. A
    histogram of one column has a negative offset for the second. A code that does not exist counts as the last one.
    Scratch: found (2, most codes + 1).
    """
    wrong = 0
    for table in range(axes.shape[0]):
        if axes[table, 1, _OFFSET] < 0:
            wrong += _tally_one(packed, axes[table, 0], places, found, counts)
        else:
            wrong += _tally_two(packed, axes[table, 0], axes[table, 1], places, counts)
    return wrong


@kernel
def _tally_one(packed: Any, axis: Ints, places: Ints, found: Ints, counts: Ints) -> Any:
    """Count a column's codes as they are, with one more for those that do not exist, and then their places.

    Reports go by turns to two histograms, so that of two equal codes neither waits for the other.
    """
    codes = axis[_CODES]
    for code in range(codes + 1):
        found[0, code] = found[1, code] = 0
    at, wide, none = np.uint64(axis[_OFFSET]), np.uint64(axis[_WIDE]), np.uint64(codes)
    for pair in range(packed.shape[0] // 2):
        record = np.uint64(2 * pair)
        found[0, min(_code(packed[record, at], packed[record, at + wide], wide), none)] += 1
        record += U1
        found[1, min(_code(packed[record, at], packed[record, at + wide], wide), none)] += 1
    if packed.shape[0] % 2:
        record = np.uint64(packed.shape[0] - 1)
        found[0, min(_code(packed[record, at], packed[record, at + wide], wide), none)] += 1
    for code in range(codes + 1):
        place = axis[_AT] + places[axis[_PLACES] + min(code, codes - 1)]
        counts[place] += found[0, code] + found[1, code]
    return found[0, codes] + found[1, codes]


@kernel
def _tally_two(packed: Any, axis: Ints, axis2: Ints, places: Ints, counts: Ints) -> Any:
    """Count the pairs of two columns' codes."""
    # numbers out of arrays first: the compiler cannot know that counting does not change them
    at, first, first2 = np.uint64(axis[_AT]), np.uint64(axis[_PLACES]), np.uint64(axis2[_PLACES])
    offset, wide, last = axis[_OFFSET], np.uint64(axis[_WIDE]), np.uint64(axis[_CODES] - 1)
    offset2, wide2, last2 = axis2[_OFFSET], np.uint64(axis2[_WIDE]), np.uint64(axis2[_CODES] - 1)
    far, far2 = axis[_OFFSET] + axis[_WIDE], axis2[_OFFSET] + axis2[_WIDE]
    wrong = 0
    for record in range(packed.shape[0]):
        code = _code(packed[record, offset], packed[record, far], wide)
        code2 = _code(packed[record, offset2], packed[record, far2], wide2)
        wrong += int(code > last) + int(code2 > last2)
        place = at + np.uint64(places[first + min(code, last)])
        counts[place + np.uint64(places[first2 + min(code2, last2)])] += 1
    return wrong


@kernel
def _code(low: Any, high: Any, wide: Any) -> Any:
    """Return the code of two bytes, or of the lower one alone."""
    return np.uint64(low) + ((np.uint64(high) * wide) << np.uint64(8))
