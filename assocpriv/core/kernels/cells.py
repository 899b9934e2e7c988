"""Cells of CSV text, replaced by other texts; every byte outside them is copied."""

from typing import Any

from assocpriv.core.compiling import Ints, const, entry, int32, int64, uint8

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34


@entry(
    const(uint8[::1]), int64, const(int64[::1]), const(int32[:, ::1]), const(uint8[::1]), const(int64[::1]),
    uint8[::1],
)  # fmt: skip
def replace_cells(
    text: Any, separator: int, columns: Ints, choices: Any, words: Any, starts: Ints, replaced: Any
) -> Any:
    """Write whole lines of CSV, uint8 (n,), with some of their cells replaced; a record is a line, blank ones are none.

    ``columns`` (k,) are places of cells in a line, rising. Of record i the cell in column j becomes word
    ``choices[i, j]``, the bytes ``words[starts[c]:starts[c + 1]]``; it stays where that is negative. Quotes count at
    the beginning of a cell alone, as Arrow reads them. ``replaced`` has room for the text and all words chosen.

    Returns (bytes written, records); the last line must end with a newline.
    """
    place = written = record = cell = chosen = 0
    while place < text.shape[0]:
        end = place
        if text[end] == _QUOTE:
            end += 1
            while text[end] != _NEWLINE and (text[end] != _QUOTE or text[end + 1] == _QUOTE):
                end += 1 + int(text[end] == _QUOTE)
        while text[end] != separator and text[end] != _NEWLINE:
            end += 1
        stop = end
        if text[end] == _NEWLINE and end > place and text[end - 1] == _RETURN:
            stop -= 1
        is_blank = cell == 0 and stop == place and text[end] == _NEWLINE
        word = -1
        if not is_blank and record < choices.shape[0] and chosen < columns.shape[0] and columns[chosen] == cell:
            word = choices[record, chosen]
            chosen += 1
        if word >= 0:
            for at in range(starts[word], starts[word + 1]):
                replaced[written] = words[at]
                written += 1
            place = stop
        while place <= end:
            replaced[written] = text[place]
            written += 1
            place += 1
        cell += 1
        if text[end] == _NEWLINE:
            record += int(not is_blank)
            cell = chosen = 0
    return written, record
