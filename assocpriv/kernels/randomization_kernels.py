"""Randomization of records with given random words, exactly as the client for single reports randomizes them.

Draws use words as in guarantees/entropy.py; ``state`` is [words used, status].

Both kernels for baskets take transactions (transaction t is items[offsets[t] : offsets[t+1]], increasing), random
words, tables of the plan, and ``shape``, the plan's numbers. They write the m items of each transaction to ``fitted``,
(n, m), and its report to ``reports``, (n, w). They return (transactions done, words used, status), and stop before a
transaction that the words do not suffice for.

A record of a table becomes one input per column, and then a report.
"""

from typing import Any

import numpy as np

from assocpriv.kernels.compiling import kernel
from assocpriv.kernels.entropy_words import (
    ONES,
    OUT_OF_WORDS,
    U0,
    U1,
    Ints,
    Words,
    add_digits,
    draw_below,
    eliminate,
    find_widths,
    high_word,
    is_accepted,
    is_row,
    next_word,
    popcount,
    rank_shown,
    scaled_below,
    show_merged,
    slot_of,
    solve_seed,
    take_item,
)

DEPENDENT_COLUMNS = 2
_FEW_SUBSETS = 64  # comparing a draw with all of them is then faster than bisection
FIELDS = 12  # of a column's row of numbers, in this order
_FORM, _INPUTS, _OUTPUTS, _WIDTH, _HIGH, _LOW, _TOTAL, _AT, _OMITTED, _BYTES, _GUIDE, _SHIFT = range(FIELDS)
CLEAR, EVEN_NOISE, WEIGHTED_NOISE, WINDOW = range(4)


# ---- draws


@kernel
def _fit_items(items: Ints, start: int, stop: int, words: Words, state: Ints, shape: Ints, fit: Ints) -> None:
    """Add padding items, or sample by the first m places of a Fisher–Yates shuffle."""
    n_items, m, length = shape[0], shape[1], stop - start
    for place in range(max(length, m)):
        fit[place] = items[start + place] if place < length else n_items + place - length
    if length > m:
        for place in range(m):
            other = place + draw_below(length - place, words, state)
            fit[place], fit[other] = fit[other], fit[place]


@kernel
def _draw_words(words: Words, state: Ints, bits: int, drawn: Words) -> None:
    """Write a uniform number of a number of bits, from the least significant word."""
    for i in range((bits + 63) // 64):
        drawn[i] = next_word(words, state)
    if bits % 64:
        drawn[bits // 64] &= (U1 << np.uint64(bits % 64)) - U1


@kernel
def _draw_number(
    row: int, bounds: Words, lengths: Ints, words: Words, state: Ints, taken: Words, product: Words, drawn: Words
) -> None:
    """Write a uniform number below the bound of a row to all words of ``drawn``, from the least significant word."""
    if lengths[row, 1]:
        for i in range(drawn.shape[0]):  # a slice takes seconds to compile
            drawn[i] = U0
        _draw_words(words, state, lengths[row, 0], drawn)
    else:
        _draw_part(row, row, bounds, lengths, words, state, taken, product, drawn)


@kernel
def _draw_part(
    row: int, whole: int, bounds: Words, lengths: Ints, words: Words, state: Ints,
    taken: Words, product: Words, drawn: Words,
) -> None:  # fmt: skip
    """Write ⌊x·n / L⌋, uniform below n, from x uniform below a bound L, no power of two, that a row's bound n divides.

    For the words W with x = ⌊W·L / 2^b⌋ this is ⌊W·n / 2^b⌋.
    """
    n_words = (lengths[whole, 0] + 63) // 64
    for i in range(drawn.shape[0]):
        drawn[i] = U0
    accepted = n_words == 0
    while not accepted:
        for i in range(n_words):
            taken[i] = next_word(words, state)
        _multiply(taken, whole, bounds, n_words, product)
        accepted = _is_accepted(whole, bounds, n_words, product) or state[1] != 0
    if row != whole:
        _multiply(taken, row, bounds, n_words, product)
    for i in range(n_words):
        drawn[i] = product[n_words + i]


@kernel
def _multiply(factor: Words, row: int, bounds: Words, n_words: int, product: Words) -> None:
    """Write the product of a number of n_words words and a bound."""
    for i in range(2 * n_words):
        product[i] = U0
    for i in range(n_words):
        _add_product(factor[i], i, row, bounds, n_words, product)


@kernel
def _is_accepted(row: int, bounds: Words, n_words: int, product: Words) -> bool:
    """Return whether the lower half of a product is not below the limit."""
    accepted = True
    for i in range(n_words):
        low, limit = product[i], bounds[row, 1, i]
        accepted = low > limit or (low == limit and accepted)
    return accepted


@kernel
def _add_product(factor: Any, place: int, row: int, bounds: Words, n_words: int, product: Words) -> None:
    """Add factor · 2^(64 place) · bound to a product."""
    carry = U0
    for i in range(n_words):
        bound, before = bounds[row, 0, i], product[place + i]
        low = factor * bound
        total = before + low
        product[place + i] = total + carry
        carry = high_word(factor, bound) + np.uint64(total < low) + np.uint64(product[place + i] < carry)
    product[place + n_words] = carry


# ---- transactions


@kernel
def randomize_transactions(
    offsets: Ints, items: Ints, words: Words, subsets: tuple[Words, Ints], columns: Words, shape: Ints,
    scratch: Any, written: Any,
) -> Any:  # fmt: skip
    """Randomize transactions exactly as client/baskets/basket_client.py does.

    ``subsets`` are the cumulative weights, (2^m, words of weight_bits) from the least significant word, and the masks,
    (2^m,). ``columns`` is (items, r, w), or empty for reports without a generator. ``shape`` = n_items, m, insert_num,
    insert_bits, weight_bits, report_bits, and a power of two: the number of slots for solved equations, which later
    transactions with the same items use.

    Scratch: two numbers; room for the largest transaction, at least m; (m,); (words of a report and of a bit for each
    of the m·r equations, or of a weight,); for each slot its transaction's items (slots, m), −1 at first, equations
    (slots, words of both, m·r), and pivots (slots, m·r); (m·r,).
    """
    m = shape[1]
    cumulative, masks = subsets
    state, fit, values, vector, solved, equations, pivots, sums = scratch
    fitted, reports = written
    n_words = reports.shape[1]
    state[0] = state[1] = 0
    for t in range(offsets.shape[0] - 1):
        used = state[0]
        _fit_items(items, offsets[t], offsets[t + 1], words, state, shape, fit)
        mask = masks[_pick(cumulative, words, state, shape[4], vector)]
        if columns.shape[0]:
            _draw_values(mask, words, state, shape, values)
            _draw_words(words, state, shape[5], vector)
            slot = slot_of(fit, m, shape[6])
            if not is_row(fit, solved, slot) and not eliminate(fit, columns, equations, pivots, solved, slot, sums):
                return t, used, DEPENDENT_COLUMNS
            add_digits(values, shape[3], n_words, vector)
            solve_seed(equations, pivots, slot, sums, vector)
        else:
            _draw_bits(words, state, shape, vector)
            _set_kept(fit, m, mask, vector)
        if state[1]:
            return t, used, state[1]
        for place in range(m):
            fitted[t, place] = fit[place]
        for word in range(n_words):
            reports[t, word] = vector[word]
    return offsets.shape[0] - 1, state[0], 0


@kernel
def _pick(cumulative: Words, words: Words, state: Ints, bits: int, draw: Words) -> Any:
    """Return the first subset whose cumulative weight exceeds a draw of ``bits`` bits; ``draw`` is scratch."""
    _draw_words(words, state, bits, draw)
    first, step = 0, cumulative.shape[0] // 2  # a power of two; the last total exceeds all draws and is skipped
    if cumulative.shape[1] == 1 and cumulative.shape[0] <= _FEW_SUBSETS:  # vectorized
        reached: Any = 0
        for row in range(cumulative.shape[0] - 1):
            reached += np.int64(cumulative[row, 0] <= draw[0])
        return reached
    while step:
        first += step * _is_reached(cumulative, first + step - 1, draw)
        step //= 2
    return first


@kernel
def _draw_values(mask: int, words: Words, state: Ints, shape: Ints, values: Ints) -> None:
    """Draw each item's r-bit value: uniform below a if kept, uniform from a up if dropped, with equally many words."""
    num, rest = shape[2], (1 << shape[3]) - shape[2]
    for place in range(values.shape[0]):
        drawn = draw_below(num * rest, words, state)
        dropped = ~mask >> place & 1  # no branch: half of its predictions would be wrong
        bound = np.uint64(num + dropped * (rest - num))
        values[place] = dropped * num + np.int64(np.uint64(drawn) % bound)


@kernel
def _draw_bits(words: Words, state: Ints, shape: Ints, report: Words) -> None:
    """Set each bit with probability insert_num / 2^insert_bits, comparing 64 numbers at a time."""
    num, bits, length = shape[2], shape[3], shape[5]
    for group in range((length + 63) // 64):
        less, equal = U0, ONES
        for j in range(bits):
            plane = next_word(words, state)
            if num >> (bits - 1 - j) & 1:
                less |= equal & ~plane
                equal &= plane
            else:
                equal &= ~plane
        report[group] = less
    if length % 64:
        report[length // 64] &= (U1 << np.uint64(length % 64)) - U1


@kernel
def _set_kept(items: Ints, m: int, mask: int, report: Words) -> None:
    """Set the bits of the kept items among the first m, and clear those of dropped ones."""
    for place in range(m):
        bit = U1 << np.uint64(items[place] % 64)
        word = items[place] // 64
        if mask >> place & 1:
            report[word] |= bit
        else:
            report[word] &= ~bit


@kernel
def randomize_sets(  # noqa: PLR0912 -- loops
    offsets: Ints, items: Ints, words: Words, draws: tuple[Words, Words, Ints, Ints], binomials: Words, shape: Ints,
    scratch: Any, written: Any,
) -> Any:  # fmt: skip
    """Randomize transactions to sets of ℓ items, exactly as client/baskets/basket_client.py does.

    ``draws``: the cumulative weights of keeping fewest, fewest + 1, … items, (choices, words); the bounds of draws, the
    first for the number of kept items, the next for the added items, the last a multiple of these, with their rejection
    limits 2^(64 words) mod bound, (choices + 2, 2, words); the bits of each bound and whether it is a power of two,
    (choices + 2, 2); the masks of kept places by size, (2^m,). ``binomials`` is (items, ℓ + 1, w). ``shape`` = n_items,
    m, ℓ, fewest.

    Scratch: two numbers; room for the largest transaction, at least m; (m + 2,); a drawn number, its words, and their
    product with a bound, (4, words); bit planes of items, (4, items); 64 numbers side by side, (2·w + 3, 64); (items,).
    """
    m, size = shape[1], shape[2]
    cumulative, bounds, lengths, masks = draws
    n_items, n_done = binomials.shape[0], offsets.shape[0] - 1
    state, fit, firsts, numbers, planes, lanes, widths = scratch
    fitted, reports = written
    n_words = reports.shape[1]
    state[0] = state[1] = 0
    for size_of_mask in range(m + 2):
        firsts[size_of_mask] = 0
    for place in range(masks.shape[0]):
        firsts[popcount(np.uint64(masks[place])) + 1] = place + 1  # the end of a size's masks
    drawn, taken, product = numbers[0], numbers[1], numbers[2:].reshape(-1)
    # 64 transactions at a time: bit i of a word belongs to the i-th
    inside, kept, others, behind = planes[0], planes[1], planes[2, : n_items - m], planes[3, : m + 1]
    ranks, missing, room = lanes[:n_words], lanes[n_words], lanes[n_words + 1 :]
    find_widths(binomials, widths)
    used = 0
    for start in range(0, n_done, 64):
        for item in range(n_items):
            inside[item] = kept[item] = U0
        for i in range(64):
            missing[i] = U0
        stop = start
        while stop < min(start + 64, n_done):
            _fit_items(items, offsets[stop], offsets[stop + 1], words, state, shape, fit)
            _draw_number(0, bounds, lengths, words, state, taken, product, drawn)
            choice = _count_reached(cumulative, drawn)
            j = shape[3] + choice
            mask = masks[firsts[j] + draw_below(2 * (firsts[j + 1] - firsts[j]), words, state) // 2]
            _draw_part(1 + choice, bounds.shape[0] - 1, bounds, lengths, words, state, taken, product, drawn)
            if state[1]:
                break
            i = stop - start
            missing[i] = np.uint64(size - j)
            for place in range(m):
                inside[fit[place]] |= U1 << np.uint64(i)
                kept[fit[place]] |= np.uint64(mask >> place & 1) << np.uint64(i)
                fitted[stop, place] = fit[place]
            for word in range(n_words):
                ranks[word, i] = drawn[word]
            stop, used = stop + 1, state[0]
        for place in range(n_items - m - 1, -1, -1):
            others[place] = take_item(binomials, place, widths[place], missing, ranks, room)
        show_merged(inside, kept, others, behind)
        rank_shown(kept, binomials, widths, missing, ranks, room)
        for t in range(start, stop):
            for word in range(n_words):
                reports[t, word] = ranks[word, t - start]
        if state[1]:
            return stop, used, state[1]
    return n_done, used, 0


@kernel
def _count_reached(cumulative: Words, drawn: Words) -> int:
    """Return how many of the increasing totals are at most the drawn number."""
    count = 0
    for row in range(cumulative.shape[0]):
        count += _is_reached(cumulative, row, drawn)
    return count


@kernel
def _is_reached(cumulative: Words, row: int, drawn: Words) -> Any:
    """Return 1 if a total is at most the drawn number, else 0; without branches, which would be mispredicted."""
    reached: Any = 1
    for word in range(cumulative.shape[1]):
        total, number = cumulative[row, word], drawn[word]
        reached = np.int64(total < number) | np.int64(total == number) & reached
    return reached


# ---- records


@kernel
def find_cells(numbers: Any, edges: Any, cells_per_unit: float, cells: Any) -> int:
    """Write the cell of each number, int32 (n,), among cells with these increasing edges, float64 (cells + 1,).

    A number on an edge belongs to the cell above, except on the highest. A number beyond the ends gets the end's cell,
    NaN the number of cells. ``cells_per_unit`` only says where to search first. Returns how many numbers lie beyond the
    ends.
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
    inputs: Any, words: Words, columns: Ints, draws: tuple[Ints, Ints], sampled: Ints, per_report: int,
    scratch: Any, reports: Any,
) -> Any:  # fmt: skip
    """Write the reports, uint8 (n, bytes), of records of inputs, int32 (n, columns), from the given words.

    ``columns`` has a row of numbers for each column: form of the mechanism, inputs, outputs, width (of a class, or of a
    window), weights high and low, total of the weights, start of its cumulative weights, code of an omitted value,
    bytes, start of its guide, and a shift. The guide says for each ``drawn >> shift`` where to start searching the
    cumulative weights; ``draws`` are these weights and the guides. An input equal to the number of inputs is a missing
    value. A report covers ``per_report`` of the positions ``sampled``; nothing is drawn for this if it covers all.
    Returns (records done, words used, status), and stops before a record that the words do not suffice for. Scratch:
    two numbers, one for each of ``sampled``, and zero for each column.
    """
    cumulative, guides = draws
    state, order, skipped = scratch
    state[0] = state[1] = 0  # words used, status
    used = 0
    for record in range(inputs.shape[0]):
        before, at = used, 0
        if per_report < sampled.shape[0]:
            state[0] = used
            _sample_columns(sampled, per_report, words, state, order, skipped)
            used = state[0]
            if state[1]:
                return record, before, OUT_OF_WORDS
        for place in range(columns.shape[0]):
            form, code = columns[place, _FORM], int(inputs[record, place])
            if skipped[place]:
                code = columns[place, _OMITTED]
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
def _sample_columns(sampled: Ints, per_report: int, words: Words, state: Ints, order: Ints, skipped: Ints) -> None:
    """Sample the columns of a report: the first places of a Fisher–Yates shuffle; mark the others as skipped."""
    for place in range(sampled.shape[0]):
        order[place] = place
    for place in range(per_report):
        other = place + draw_below(sampled.shape[0] - place, words, state)
        order[place], order[other] = order[other], order[place]
    for place in range(sampled.shape[0]):
        skipped[sampled[order[place]]] = np.int64(place >= per_report)


@kernel
def _released(form: int, value: int, drawn: int, inputs: int, outputs: int, near: int, high: int, low: int) -> Any:
    """Return the code that a draw selects: noise is added; with a window, codes near the value come first."""
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
    """Return the quotient of non-negative numbers, rounded down; unsigned division is faster."""
    return np.int64(np.uint64(number) // np.uint64(divisor))
