"""Draws from words that are given, as core/entropy.py makes them; ``state`` is [words used, status]."""

from typing import Any

import numpy as np

from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.words import ONES, U0, U1, Ints, Words

OUT_OF_WORDS = 1
_U32, _LOW32 = np.uint64(32), np.uint64(0xFFFFFFFF)


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
    while not is_accepted(word, size):
        word = next_word(words, state)
    return scaled_below(word, size)


@kernel
def is_accepted(word: Any, size: Any) -> Any:
    """Return whether a word makes a draw below a size ≤ 2^32, or another one is to be taken."""
    return word * size >= size or word * size >= (U0 - size) % size  # the remainder is below size: seldom needed


@kernel
def scaled_below(word: Any, size: Any) -> Any:
    """Return the draw below a size ≤ 2^32 that an accepted word makes, as int64."""
    if size & (size - U1) == U0:
        return np.int64(word & (size - U1))
    return np.int64(((word >> _U32) * size + ((word & _LOW32) * size >> _U32)) >> _U32)


@kernel
def high_word(left: Any, right: Any) -> Any:
    """Return ⌊left · right / 2^64⌋."""
    low = (left & _LOW32) * (right & _LOW32)
    middle = (left >> _U32) * (right & _LOW32) + (low >> _U32)
    other = (left & _LOW32) * (right >> _U32) + (middle & _LOW32)
    return (left >> _U32) * (right >> _U32) + (middle >> _U32) + (other >> _U32)
