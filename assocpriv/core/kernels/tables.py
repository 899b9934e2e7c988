"""Records of a table -> inputs -> reports with the random words given, drawn exactly as the one-report client does."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.draws import OUT_OF_WORDS, draw_below, is_accepted, scaled_below
from assocpriv.core.kernels.words import U0, Ints, Words

FIELDS = 12  # of a column's row of numbers, in this order
_FORM, _INPUTS, _OUTPUTS, _WIDTH, _HIGH, _LOW, _TOTAL, _AT, _UNASKED, _BYTES, _GUIDE, _SHIFT = range(FIELDS)
CLEAR, EVEN_NOISE, WEIGHTED_NOISE, WINDOW = range(4)


@kernel
def find_cells(numbers: Any, edges: Any, cells_per_unit: float, cells: Any) -> int:
    """Write the cell of each number, int32 (n,), among cells with these rising edges, float64 (cells + 1,).

    A number on an edge lies above it, but for the highest; one beyond the ends is given the end's cell, NaN the number
    of cells. ``cells_per_unit`` only says where to look first. Returns how many numbers lie beyond the ends.
    """
    last, outside = edges.shape[0] - 2, 0
    for row in range(numbers.shape[0]):
        number = numbers[row]
        outside += int(number < edges[0] or number > edges[last + 1])
        if np.isnan(number):
            cells[row] = last + 1
        elif number >= edges[last]:
            cells[row] = last
        else:
            place = int(min(max((number - edges[0]) * cells_per_unit, 0.0), last)) if number > edges[0] else 0
            while number < edges[place] and place > 0:
                place -= 1
            while number >= edges[place + 1]:
                place += 1
            cells[row] = place
    return outside


@kernel
def randomize_records(
    inputs: Any, words: Words, columns: Ints, draws: tuple[Ints, Ints], asked: Ints, answered: int,
    scratch: Any, reports: Any,
) -> Any:  # fmt: skip
    """Write the reports, uint8 (n, bytes), of records of inputs, int32 (n, columns), with the words given.

    ``columns`` has a row of numbers for each: form of the law, inputs, outputs, width (of a class, or of a window),
    weights high and low, total of the weights, where its cumulative weights begin, code of not being asked, bytes, and
    where its guide begins, which says for each ``drawn >> shift`` (the last number) from which place on to look among
    the cumulative weights; ``draws`` are these weights and the guides. An input as large as the number of inputs is a
    missing value. Of the positions ``asked`` each record answers ``answered``; nothing is drawn for this if that is all
    of them. Returns (records done, words they used, status), and stops before one that the words do not suffice for.
    Scratch: two numbers, one for each of ``asked``, and zero for each column.
    """
    cumulative, guides = draws
    state, order, skipped = scratch
    state[0] = state[1] = 0  # words used, status
    used = 0
    for record in range(inputs.shape[0]):
        before, at = used, 0
        if answered < asked.shape[0]:
            state[0] = used
            _skip_some(asked, answered, words, state, order, skipped)
            used = state[0]
            if state[1]:
                return record, before, OUT_OF_WORDS
        for place in range(columns.shape[0]):
            form, code = columns[place, _FORM], int(inputs[record, place])
            if skipped[place]:
                code = columns[place, _UNASKED]
            elif form == CLEAR:
                code = columns[place, _OUTPUTS] if code == columns[place, _INPUTS] else code // columns[place, _WIDTH]
            else:
                size = np.uint64(columns[place, _TOTAL])
                word = U0
                accepted = False
                while not accepted:
                    if used == words.shape[0]:
                        return record, before, OUT_OF_WORDS
                    word = words[used]
                    used += 1
                    accepted = is_accepted(word, size)
                drawn = scaled_below(word, size)
                if form == WEIGHTED_NOISE:
                    first = columns[place, _AT]
                    above = first + guides[columns[place, _GUIDE] + (drawn >> columns[place, _SHIFT])]
                    while cumulative[above] <= drawn:
                        above += 1
                    drawn = above - first
                near, high, low = columns[place, _WIDTH], columns[place, _HIGH], columns[place, _LOW]
                code = _released(form, code, drawn, columns[place, _INPUTS], columns[place, _OUTPUTS], near, high, low)
            reports[record, at] = np.uint8(code & 255)
            if columns[place, _BYTES] == 2:
                reports[record, at + 1] = np.uint8(code >> 8)
            at += columns[place, _BYTES]
    return inputs.shape[0], used, 0


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
def _released(form: int, value: int, drawn: int, inputs: int, outputs: int, near: int, high: int, low: int) -> Any:
    """Return the code that a draw picks: noise is added; of a window those near the value come first."""
    if form != WINDOW:
        return outputs if value == inputs else value + drawn
    if drawn < near * high:
        return outputs if value == inputs else value + _quotient(drawn, high)
    far = _quotient(drawn - near * high, low)
    if far < value or value == inputs:
        return far
    return far + near if far < inputs - 1 else outputs


@kernel
def _quotient(number: int, divisor: int) -> Any:
    """Return the quotient of numbers that are not negative, rounded down: as unsigned ones, which is faster."""
    return np.int64(np.uint64(number) // np.uint64(divisor))
