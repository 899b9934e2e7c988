"""Records of a table -> reports with the random words given, drawing exactly as the one-report client does."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import Ints, Words, const, entry, int32, int64, kernel, uint8, uint64
from assocpriv.core.kernels.draws import OUT_OF_WORDS, draw_below

FIELDS = 10  # of a column's row of numbers, in this order
_FORM, _INPUTS, _OUTPUTS, _WIDTH, _HIGH, _LOW, _TOTAL, _AT, _UNASKED, _BYTES = range(FIELDS)
CLEAR, EVEN_NOISE, WEIGHTED_NOISE, WINDOW = range(4)


@entry(
    const(int32[:, ::1]), const(uint64[::1]), const(int64[:, ::1]), const(int64[::1]), const(int64[::1]), int64,
    uint8[:, ::1],
)  # fmt: skip
def randomize_records(
    inputs: Any, words: Words, columns: Ints, cumulative: Ints, asked: Ints, answered: int, reports: Any
) -> Any:
    """Write the reports, uint8 (n, bytes), of records of inputs, int32 (n, columns), with the words given.

    ``columns`` has a row of numbers for each: form of the law, inputs, outputs, width (of a class, or of a window),
    weights high and low, total of the weights, where its cumulative weights begin, code of not being asked, bytes. An
    input as large as the number of inputs is a missing value. Of the positions ``asked`` each record answers
    ``answered``; nothing is drawn for this if that is all of them. Returns (records done, words they used, status), and
    stops before one that the words do not suffice for.
    """
    state = np.zeros(2, dtype=np.int64)  # words used, status
    order, skipped = np.arange(asked.shape[0]), np.zeros(columns.shape[0], dtype=np.int64)
    for record in range(inputs.shape[0]):
        used, at = state[0], 0
        if answered < asked.shape[0]:
            _skip_some(asked, answered, words, state, order, skipped)
        for place in range(columns.shape[0]):
            if skipped[place]:
                code = columns[place, _UNASKED]
            else:
                code = _release(inputs[record, place], columns, place, cumulative, words, state)
            reports[record, at] = np.uint8(code & 255)
            if columns[place, _BYTES] == 2:
                reports[record, at + 1] = np.uint8(code >> 8)
            at += columns[place, _BYTES]
        if state[1]:
            return record, used, OUT_OF_WORDS
    return inputs.shape[0], state[0], 0


@kernel
def _skip_some(asked: Ints, answered: int, words: Words, state: Ints, order: Ints, skipped: Ints) -> None:
    """Choose the columns to answer: the first places of a Fisher–Yates shuffle of those asked."""
    for place in range(asked.shape[0]):
        order[place] = place
    for place in range(answered):
        other = place + draw_below(asked.shape[0] - place, words, state)
        order[place], order[other] = order[other], order[place]
    for place in range(asked.shape[0]):
        skipped[asked[order[place]]] = np.int64(place >= answered)


@kernel
def _release(value: Any, columns: Ints, place: int, cumulative: Ints, words: Words, state: Ints) -> Any:
    """Return the released code of a column's input (plans/numeric/laws.py has the laws)."""
    form, inputs, outputs = columns[place, _FORM], columns[place, _INPUTS], columns[place, _OUTPUTS]
    if form == CLEAR:
        return outputs if value == inputs else value // columns[place, _WIDTH]
    drawn = draw_below(columns[place, _TOTAL], words, state)
    if form == WINDOW:
        return _window(value, drawn, columns, place)
    if form == WEIGHTED_NOISE:
        first, count = columns[place, _AT], columns[place, _WIDTH]
        drawn = _first_above(cumulative, first, count, drawn)
    return outputs if value == inputs else value + drawn


@kernel
def _window(value: Any, drawn: int, columns: Ints, place: int) -> Any:
    """Return the code that a draw below the total picks: first those near the value, then all others in order."""
    inputs, near, high = columns[place, _INPUTS], columns[place, _WIDTH], columns[place, _HIGH]
    if drawn < near * high:
        return columns[place, _OUTPUTS] if value == inputs else value + drawn // high
    far = (drawn - near * high) // columns[place, _LOW]
    if far < value or value == inputs:
        return far
    return far + near if far < inputs - 1 else columns[place, _OUTPUTS]


@kernel
def _first_above(cumulative: Ints, first: int, count: int, drawn: int) -> Any:
    """Return the first of count places whose cumulative weight exceeds a draw."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[first + middle] > drawn:
            high = middle
        else:
            low = middle + 1
    return low
