"""Lines of item numbers, read by compiled code."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.compiling import const, entry, int32, int64, uint8


@entry(const(uint8[::1]), int64, int32[::1], int32[::1])
def parse_numbers(text: NDArray[np.uint8], max_digits: int, ids: NDArray[np.int32], sizes: NDArray[np.int32]) -> Any:
    """Write the numbers in lines of text to ids and how many each line holds to sizes.

    text (n,) ends with a newline; ids has room for ⌈n/2⌉ numbers, sizes for the lines. Numbers of 1 to max_digits ≤ 9
    digits stand between blanks and tabs; a carriage return may stand right before a newline.

    Returns (numbers written, position of the first byte that may not stand where it does, −1 if there is none): a
    digit is one too many for its number.
    """
    n_ids = line = first = value = digits = 0
    for place in range(text.shape[0]):
        byte = int(text[place])
        if 48 <= byte <= 57:
            if digits == max_digits:
                return n_ids, place
            value = 10 * value + byte - 48
            digits += 1
        else:
            if digits:
                ids[n_ids] = value
                n_ids += 1
                value = digits = 0
            if byte == 10:
                sizes[line] = n_ids - first
                line += 1
                first = n_ids
            elif byte == 13:
                if place + 1 == text.shape[0] or text[place + 1] != 10:
                    return n_ids, place
            elif byte not in (32, 9):
                return n_ids, place
    return n_ids, -1
