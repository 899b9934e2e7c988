"""Text, byte by byte: lines of item numbers are read, cells of CSV replaced by other texts."""

from typing import Any

import numpy as np

from assocpriv.kernels.compiling import kernel
from assocpriv.kernels.words import Ints

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
GONE = -2  # a cell that is left out, with the separator before or after it


@kernel
def parse_numbers(text: Any, max_digits: int, ids: Any, sizes: Any) -> Any:
    """Write the numbers in lines of text, uint8 (n,), to ids, int32, and how many each line holds to sizes, int32.

    The text ends with a newline; ids has room for ⌈n/2⌉ numbers, sizes for the lines. Numbers of 1 to max_digits ≤ 9
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


@kernel
def replace_cells(
    text: Any, separator: int, columns: Ints, choices: Any, words: Any, starts: Ints, replaced: Any
) -> Any:
    """Write whole lines of CSV, uint8 (n,), with some of their cells replaced; a record is a line, blank ones are none.

    ``columns`` (k,) are places of cells in a line, rising. Of record i the cell in column j becomes word
    ``choices[i, j]``, the bytes ``words[starts[c]:starts[c + 1]]``; it stays where that is −1 and goes where it is
    GONE; blank lines go. Quotes count at the beginning of a cell alone, as Arrow reads them. ``replaced`` has room for
    the text and all words chosen.

    Returns (bytes written, records); the last line must end with a newline.
    """
    place = written = record = cell = chosen = kept = 0
    while place < text.shape[0]:
        end = _end_of_cell(text, place, separator)
        stop = end
        if text[end] == _NEWLINE and end > place and text[end - 1] == _RETURN:
            stop -= 1
        is_blank = cell == 0 and stop == place and text[end] == _NEWLINE
        word = GONE if is_blank else -1
        if not is_blank and record < choices.shape[0] and chosen < columns.shape[0] and columns[chosen] == cell:
            word = choices[record, chosen]
            chosen += 1
        if word != GONE:
            if kept:
                replaced[written] = separator
                written += 1
            kept += 1
            if word >= 0:
                written = _copy(words, starts[word], starts[word + 1], replaced, written)
            else:
                written = _copy(text, place, stop, replaced, written)
        cell += 1
        if text[end] == _NEWLINE:
            if not is_blank:
                written = _copy(text, stop, end + 1, replaced, written)
                record += 1
            cell = chosen = kept = 0
        place = end + 1
    return written, record


@kernel
def _end_of_cell(text: Any, place: int, separator: int) -> Any:
    """Return where the separator or the newline after a cell stands."""
    end = place
    if text[end] == _QUOTE:
        end += 1
        while text[end] != _NEWLINE and (text[end] != _QUOTE or text[end + 1] == _QUOTE):
            end += 1 + int(text[end] == _QUOTE)
    while text[end] != separator and text[end] != _NEWLINE:
        end += 1
    return end


@kernel
def _copy(text: Any, start: int, stop: int, copied: Any, written: int) -> Any:
    """Write a piece of text behind what is written; return how much that is then."""
    low, to = np.uint64(start), np.uint64(written)  # unsigned, so that the loop becomes one of many bytes at a time
    for at in range(np.uint64(stop - start)):
        copied[to + np.uint64(at)] = text[low + np.uint64(at)]
    return written + stop - start


@kernel
def gather_lines(text: Any, starts: Ints, order: Ints, gathered: Any) -> None:
    """Write lines, uint8 (n,), in another order; line i is ``text[starts[i]:starts[i + 1]]``."""
    written = 0
    for line in order:
        written = _copy(text, starts[line], starts[line + 1], gathered, written)
