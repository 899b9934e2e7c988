"""The kernel that reads lines of item numbers."""

from typing import Any

from assocpriv.kernels.compiling import kernel

_NEWLINE, _RETURN = 10, 13


@kernel
def parse_numbers(text: Any, max_digits: int, ids: Any, sizes: Any) -> Any:
    """Write the numbers in lines of text, uint8 (n,), to ids, int32, and the count in each line to sizes, int32.

    The text ends with a newline; ids has room for ⌈n/2⌉ numbers, sizes for the lines. Numbers of 1 to max_digits ≤ 9
    digits are separated by blanks and tabs; a carriage return may come right before a newline.

    Returns (numbers written, position of the first invalid byte, or −1). A digit is invalid if its number is too long.
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
            if byte == _NEWLINE:
                sizes[line] = n_ids - first
                line += 1
                first = n_ids
            elif byte == _RETURN:
                if place + 1 == text.shape[0] or text[place + 1] != _NEWLINE:
                    return n_ids, place
            elif byte not in (32, 9):
                return n_ids, place
    return n_ids, -1
