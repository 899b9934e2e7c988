"""Draws from random words given, as core/entropy.py takes them; ``state`` is [words used, status]."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import Ints, Words, kernel
from assocpriv.core.kernels.vector import ONES, U0, U1

OUT_OF_WORDS = 1
_U32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@kernel
def next_word(words: Words, state: Ints) -> Any:
    """Return the next word; without one tell so in the status."""
    if state[0] >= words.shape[0]:
        state[1] = OUT_OF_WORDS
        return ONES  # passes every rejection, so that loops end
    state[0] += 1
    return words[state[0] - 1]


@kernel
def draw_below(n: int, words: Words, state: Ints) -> Any:
    """Return a uniform integer below n ≤ 2^32."""
    if n == 1:
        return 0
    size = np.uint64(n)
    word = next_word(words, state)
    if n & (n - 1) == 0:
        return np.int64(word & (size - U1))
    while word * size < size and word * size < (U0 - size) % size:  # the remainder is below size: seldom needed
        word = next_word(words, state)
    return np.int64(((word >> _U32) * size + ((word & _LOW32) * size >> _U32)) >> _U32)


@kernel
def fit_items(items: Ints, start: int, stop: int, words: Words, state: Ints, shape: Ints, fit: Ints) -> None:
    """Pad with dummies or sample by the first m places of a Fisher–Yates shuffle."""
    n_items, m, length = shape[0], shape[1], stop - start
    for place in range(max(length, m)):
        fit[place] = items[start + place] if place < length else n_items + place - length
    if length > m:
        for place in range(m):
            other = place + draw_below(length - place, words, state)
            fit[place], fit[other] = fit[other], fit[place]


@kernel
def draw_words(words: Words, state: Ints, bits: int, drawn: Words) -> None:
    """Write a uniform number of so many bits, from the least significant word."""
    for i in range((bits + 63) // 64):
        drawn[i] = next_word(words, state)
    if bits % 64:
        drawn[bits // 64] &= (U1 << np.uint64(bits % 64)) - U1


@kernel
def draw_number(
    row: int, bounds: Words, lengths: Ints, words: Words, state: Ints, taken: Words, product: Words, drawn: Words
) -> None:
    """Write a uniform number below the bound of a row, from the least significant word, all words of ``drawn``."""
    if lengths[row, 1]:
        for i in range(drawn.shape[0]):
            drawn[i] = U0
        draw_words(words, state, lengths[row, 0], drawn)
    else:
        draw_part(row, row, bounds, lengths, words, state, taken, product, drawn)


@kernel
def draw_part(
    row: int, whole: int, bounds: Words, lengths: Ints, words: Words, state: Ints,
    taken: Words, product: Words, drawn: Words,
) -> None:  # fmt: skip
    """Write ⌊x·n / L⌋, x uniform below a bound L, no power of two, which the bound n of a row divides: uniform below n.

    Of words W that make x = ⌊W·L / 2^b⌋ this is ⌊W·n / 2^b⌋.
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
    """Tell whether the lower half of a product is not below the limit."""
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
        carry = _high_word(factor, bound) + np.uint64(total < low) + np.uint64(product[place + i] < carry)
    product[place + n_words] = carry


@kernel
def _high_word(left: Any, right: Any) -> Any:
    """Return ⌊left · right / 2^64⌋."""
    low = (left & _LOW32) * (right & _LOW32)
    middle = (left >> _U32) * (right & _LOW32) + (low >> _U32)
    other = (left & _LOW32) * (right >> _U32) + (middle & _LOW32)
    return (left >> _U32) * (right >> _U32) + (middle >> _U32) + (other >> _U32)
