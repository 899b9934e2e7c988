"""Whole numbers: checks of arguments, display, and ranks of sets in the combinatorial number system.

The set c_0 < c_1 < … < c_{ℓ−1} has the rank Σ_i C(c_i, i+1): its place, from 0, among all sets of ℓ numbers in order
of Σ 2^{c_i}. The sets of numbers below n have the ranks 0 … C(n,ℓ) − 1. Reports of a fixed size are written as ranks.
"""

import operator
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING, Any

from assocpriv.guarantees.entropy import WORD_BITS
from assocpriv.guarantees.errors import PlanError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_MEMORY = 1 << 62  # bytes
PLAIN = range(-5, 16)  # decimal exponents of numbers that are written without an exponent


def as_whole(value: Any) -> int | None:
    """Return a whole number, of Python or numpy, as an int; None for anything else, including True and 3.0.

    >>> import numpy as np
    >>> as_whole(np.int64(7)), as_whole(True), as_whole(7.0)
    (7, None, None)
    """
    try:
        return None if type(value).__name__ == "bool" else operator.index(value)  # numpy's too
    except TypeError:
        return None


def check_whole(name: str, value: object) -> int:
    """Return a whole number as an int; raise TypeError if it is none (see :func:`as_whole`)."""
    if (number := as_whole(value)) is None:
        raise TypeError(f"{name} must be a whole number (an int), got a {type(value).__name__}")
    return number


def check_range(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number in low..high; raise TypeError if it is none, PlanError if it is out of the range."""
    number = check_whole(name, value)
    if not low <= number <= high:
        raise PlanError(f"{name} must be in {low}..{high}, got {number if abs(number) < 10**18 else 'far more'}")
    return number


def rounded(value: float, digits: int) -> str:
    """Write a number with this many significant digits, without an exponent unless it is very large or small.

    >>> rounded(250663.4, 5), rounded(1234.5, 2), rounded(0.25, 4), rounded(4e20, 2)
    ('250660', '1200', '0.25', '4e+20')
    """
    shown = Decimal(f"{value:.{digits}g}").normalize()
    return f"{shown:f}" if not shown or shown.adjusted() in PLAIN else f"{value:.{digits}g}"


def rank_of_set(members: Iterable[int]) -> int:
    """Return the rank of a set of numbers of 0 or more.

    >>> [rank_of_set(members) for members in ({0, 1}, {0, 2}, {1, 2}, {0, 3})]
    [0, 1, 2, 3]
    """
    return sum(comb(member, place) for place, member in enumerate(sorted(members), start=1))


def set_of_rank(rank: int, n_items: int, size: int) -> list[int]:
    """Return the set of ``size`` numbers below ``n_items`` with this rank, in increasing order.

    >>> set_of_rank(3, 4, 2)
    [0, 3]
    """
    members: list[int] = []
    count = comb(n_items, size)  # of the sets of `size` numbers below n_items
    while size:
        # sets without the largest number come first
        n_items, without = n_items - 1, count * (n_items - size) // n_items
        if rank >= without:
            members.append(n_items)
            rank, size, without = rank - without, size - 1, count - without
        count = without
    return members[::-1]


@lru_cache(maxsize=4)
def binomial_words(n_items: int, size: int) -> "NDArray[np.uint64]":
    """Return C(c, i) for c < n_items and i ≤ size in 64-bit words, uint64 (n_items, size + 1, words), read-only.

    The least significant word comes first; a rank fits into the words. A larger number has all bits set: unranking
    never reaches it.
    """
    import numpy as np

    n_words = words_for((comb(n_items, size) - 1).bit_length())
    most = (1 << WORD_BITS * n_words) - 1
    row, parts = [1] + [0] * size, []
    for _ in range(n_items):
        parts += [min(value, most).to_bytes(8 * n_words, "little") for value in row]
        row = [1, *(left + right for left, right in pairwise(row))]
    table = np.frombuffer(b"".join(parts), dtype="<u8").astype(np.uint64).reshape(n_items, size + 1, n_words)
    table.setflags(write=False)
    return table


def words_for(bits: int) -> int:
    """Return how many 64-bit words hold a number of bits, at least one."""
    return max(1, -(-bits // WORD_BITS))


def to_words(value: int, n_words: int) -> list[int]:
    """Return a number's 64-bit words, the least significant first."""
    return [value >> WORD_BITS * i & (1 << WORD_BITS) - 1 for i in range(n_words)]
