"""Histograms of the codes in reports of tables."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import Ints, const, entry, int64, kernel, uint8

FIELDS = 5  # of an axis, in this order
_OFFSET, _WIDE, _CODES, _PLACES, _AT = range(FIELDS)


@entry(const(uint8[:, ::1]), const(int64[:, :, ::1]), const(int64[::1]), int64[::1])
def tally_codes(packed: Any, axes: Ints, places: Ints, counts: Ints) -> int:
    """Add to each histogram the codes of packed reports, uint8 (n, report_bytes); return how many do not exist.

    A histogram is of one column or of two: ``axes``, int64 (histograms, 2, 5), has for each of them where its code
    begins in a report, 1 if the code has two bytes, how many codes there are, where in ``places`` they begin, and where
    in ``counts`` the histogram begins. ``places`` has for each code how far it moves the position in the histogram. A
    histogram of one column has a negative offset for the second. A code that does not exist counts as the last one.
    """
    wrong = 0
    for table in range(axes.shape[0]):
        # numbers out of arrays first: the compiler cannot know that counting does not change them
        at, first = axes[table, 0, _AT], axes[table, 0, _PLACES]
        offset, wide, last = axes[table, 0, _OFFSET], axes[table, 0, _WIDE], axes[table, 0, _CODES] - 1
        if axes[table, 1, _OFFSET] < 0:
            for record in range(packed.shape[0]):
                code = _code(packed[record, offset], packed[record, offset + wide], wide)
                wrong += int(code > last)
                counts[np.uint64(at + places[np.uint64(first + min(code, last))])] += 1
        else:
            offset2, wide2, last2 = axes[table, 1, _OFFSET], axes[table, 1, _WIDE], axes[table, 1, _CODES] - 1
            first2 = axes[table, 1, _PLACES]
            for record in range(packed.shape[0]):
                code = _code(packed[record, offset], packed[record, offset + wide], wide)
                code2 = _code(packed[record, offset2], packed[record, offset2 + wide2], wide2)
                wrong += int(code > last) + int(code2 > last2)
                place = at + places[np.uint64(first + min(code, last))]
                counts[np.uint64(place + places[np.uint64(first2 + min(code2, last2))])] += 1
    return wrong


@kernel
def _code(low: Any, high: Any, wide: int) -> Any:
    """Return the code of two bytes, or of the lower one alone."""
    return np.int64(low) + ((np.int64(high) * wide) << 8)
