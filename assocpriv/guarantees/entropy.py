"""Random draws: their protocol, and the system's entropy, the only source that a client may use.

Every draw takes 64-bit words. The number of words is part of the definition: the compiled bulk client reads the same
words in the same order and must give the same reports.

    bits(n)                ⌈n/64⌉ words, the first holds bits 0..63; bits above n are dropped
    below(n)               n = 2^b: bits(b). Otherwise multiply and shift with rejection (Lemire 2019): with W words
                           x < 2^(64W), W = ⌈log2(n)/64⌉, take ⌊x·n / 2^(64W)⌋ unless x·n mod 2^(64W) < 2^(64W) mod n;
                           then draw again. Exactly uniform; a second draw has probability below n / 2^(64W).
    pick(c)                x = below(c[-1]); the first index i with x < c[i]
    random_bits(n, a, r)   n independent bits, each 1 with probability a/2^r: for every 64 bits r words, read as the
                           digits (most significant first) of 64 numbers of r bits that are compared with a
"""

import secrets
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from assocpriv.guarantees.errors import AssocprivError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


WORD_BITS = 64
_WORD_MASK = (1 << WORD_BITS) - 1
MOST_REFILLS = 32  # of words for many reports, without one more report
_MOST_DRAWS = 128  # for one number; each is rejected with a probability below 1/2
PROBE_BYTES = 17  # no multiple of 8, so that an audit distinguishes them from words


def broken_source() -> AssocprivError:
    """Return the error for a source that yields only zeros, or whose words are rejected again and again."""
    return AssocprivError("the source of random numbers repeats itself, so it is broken; make no report on this device")


class Entropy(Protocol):
    """The draws that a randomizer may take from its source of randomness."""

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n); n ≥ 1. ``below(1)`` draws nothing."""

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return i with probability (cumulative[i] − cumulative[i−1]) / cumulative[-1]."""

    def random_bits(self, count: int, num: int, bits: int) -> int:
        """Return ``count`` independent bits as an integer, bit i being 1 with probability num / 2^bits."""


class WordEntropy:
    """All draws, built on :meth:`words`, which a subclass supplies.

    ``is_shared`` says whether several threads may draw at the same time. They may if draws cannot be repeated, as their
    order is then of no consequence.
    """

    __slots__ = ()
    is_shared: ClassVar[bool] = False

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return ``count`` uniform 64-bit words, uint64 of shape (count,)."""
        raise NotImplementedError

    def _little_endian(self, count: int) -> int:
        return int.from_bytes(self.words(count).astype("<u8").tobytes(), "little")

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n).

        Args:
            n: the number of possible integers, 1 or more; for 1 nothing is drawn.

        Returns:
            The integer, exactly uniform.

        Raises:
            AssocprivError: 128 draws were rejected, by chance once in 2^128.
        """
        bits = (n - 1).bit_length()
        if bits == 0:
            return 0
        words = -(-bits // WORD_BITS)
        if n == 1 << bits:
            return self._little_endian(words) & (n - 1)
        span = 1 << (WORD_BITS * words)
        for _ in range(_MOST_DRAWS):
            product = self._little_endian(words) * n
            if product & (span - 1) >= span % n:
                return product >> (WORD_BITS * words)
        raise broken_source()

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return i with probability (cumulative[i] − cumulative[i−1]) / cumulative[-1].

        Args:
            cumulative: cumulative integer weights, non-decreasing; the last is 1 or more.

        Returns:
            A position in ``cumulative``, from 0.
        """
        return bisect_right(cumulative, self.below(cumulative[-1]))

    def random_bits(self, count: int, num: int, bits: int) -> int:
        """Return ``count`` independent bits, bit i being 1 with probability num / 2^bits.

        Args:
            count: number of bits, from 0.
            num: numerator of the probability, 0..2^bits.
            bits: number of random bits for each result.

        Returns:
            An integer below 2^count, whose bit i is result i.
        """
        groups = -(-count // WORD_BITS)
        result = 0
        for group, planes in enumerate(self.words(groups * bits).reshape(groups, bits).tolist()):
            result |= _less_than(planes, num, bits) << (WORD_BITS * group)
        return result & ((1 << count) - 1)


def _less_than(planes: Sequence[int], num: int, bits: int) -> int:
    """Return which of 64 numbers are below ``num``; ``planes`` holds their bits from the most significant down."""
    less, equal = 0, _WORD_MASK
    for position, plane in enumerate(planes):
        if num >> (bits - 1 - position) & 1:
            less |= equal & ~plane
            equal &= plane
        else:
            equal &= ~plane
    return less & _WORD_MASK


class SystemEntropy(WordEntropy):
    """The operating system's entropy, unbuffered, so that a forked process cannot repeat another's draws.

    >>> import assocpriv as ap
    >>> entropy = ap.guarantees.SystemEntropy()
    >>> entropy.below(6) in range(6), entropy.words(2).shape
    (True, (2,))
    """

    __slots__ = ()
    is_shared = True

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return uniform 64-bit words from the operating system.

        After words that are all 0, further bytes are read, which no draw uses. So an error replaces one in 2^136 of the
        reports made of these words, and no outcome becomes impossible.

        Args:
            count: number of words, from 0.

        Returns:
            uint64 (count,).

        Raises:
            AssocprivError: these bytes are 0, too: the source yields only zeros.
        """
        import numpy as np

        octets = secrets.token_bytes(count * 8)
        if octets and not any(octets) and not any(secrets.token_bytes(PROBE_BYTES)):
            raise broken_source()
        return np.frombuffer(octets, dtype="<u8").astype(np.uint64, copy=False)


class GivenWords(WordEntropy):
    """Draws from given words, uint64 (n,), of which ``used`` are used; EOFError if they do not suffice."""

    __slots__ = ("_given", "used")

    def __init__(self, given: "NDArray[np.uint64]") -> None:
        self._given, self.used = given, 0

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return the next ``count`` words."""
        if self.used + count > len(self._given):
            raise EOFError
        self.used += count
        return self._given[self.used - count : self.used]
