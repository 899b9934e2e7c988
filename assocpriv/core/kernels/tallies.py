"""Histograms of the codes in reports of tables."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import Ints, const, entry, int64, kernel, uint8

FIELDS = 4  # of an axis, in this order
_OFFSET, _WIDE, _PLACES, _AT = range(FIELDS)


@entry(const(uint8[:, ::1]), const(int64[:, :, ::1]), const(int64[::1]), int64[::1])
def tally_codes(packed: Any, axes: Ints, places: Ints, counts: Ints) -> None:
    """Add to each histogram the codes of packed reports, uint8 (n, report_bytes).

    A histogram is of one column or of two: ``axes``, int64 (histograms, 2, 4), has for each of them where its code
    begins in a report, 1 if the code has two bytes, where in ``places`` its codes begin, and where in ``counts`` the
    histogram begins. ``places`` has for each code how far it moves the position in the histogram. A histogram of one
    column has a negative offset for the second.
    """
    for table in range(axes.shape[0]):
        at = axes[table, 0, _AT]
        if axes[table, 1, _OFFSET] < 0:
            for record in range(packed.shape[0]):
                counts[at + places[_place(packed, record, axes[table, 0])]] += 1
        else:
            for record in range(packed.shape[0]):
                first = places[_place(packed, record, axes[table, 0])]
                counts[at + first + places[_place(packed, record, axes[table, 1])]] += 1


@kernel
def _place(packed: Any, record: int, axis: Ints) -> Any:
    """Return where in the places a record's code is; a second byte, if there is one, counts 256 times."""
    low = np.int64(packed[record, axis[_OFFSET]])
    high = np.int64(packed[record, axis[_OFFSET] + axis[_WIDE]])
    return axis[_PLACES] + low + ((high * axis[_WIDE]) << 8)
