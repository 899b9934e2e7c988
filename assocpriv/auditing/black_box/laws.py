"""How far counts of a client's reports are from exact chances of events.

Every test here is of one shape: among independent reports an event with a known probability happened so many times. The
p-value is that of the binomial law, so no test relies on large numbers. Tests of many events share their false alarms
(Bonferroni).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST_LOG = 1000.0


@dataclass(frozen=True, slots=True)
class Events:
    """Counts beside their laws: ``count`` of ``trials`` reports, each with ``probability``; arrays of shape (n,)."""

    count: NDArray[np.int64]
    trials: NDArray[np.int64]
    probability: NDArray[np.float64]

    @classmethod
    def of(cls, count: Any, trials: Any, probability: Any) -> "Events":
        """Take counts of events; the number of reports, and the probability, may be one for all."""
        counts = np.asarray(count, dtype=np.int64).ravel()
        of_each = np.broadcast_to(np.asarray(trials, dtype=np.int64).ravel(), counts.shape)
        return cls(counts, of_each, np.broadcast_to(np.asarray(probability, dtype=np.float64).ravel(), counts.shape))

    @classmethod
    def joined(cls, parts: Iterable["Events"]) -> "Events":
        """Put the events of several samples together."""
        columns = zip(
            *((part.count, part.trials, part.probability) for part in [cls.of([], 0, []), *parts]), strict=True
        )
        return cls(*map(np.concatenate, columns))

    def p_values(self) -> NDArray[np.float64]:
        """Return each event's two-sided p-value, float64 (n,): twice the smaller tail of the binomial law."""
        from scipy.stats import binom

        law = (self.trials, self.probability)
        tails = np.minimum(binom.cdf(self.count, *law), binom.sf(self.count - 1, *law))
        return np.asarray(np.minimum(1.0, 2 * tails), dtype=np.float64)


def joint_p_value(p_values: NDArray[np.float64]) -> float:
    """Return a bound of the chance that any of n tests is as far off as the farthest: n times the least, at most 1.

    >>> joint_p_value(np.array([0.5, 0.01])), joint_p_value(np.array([]))
    (0.02, 1.0)
    """
    return float(min(1.0, len(p_values) * p_values.min())) if len(p_values) else 1.0


def repeats_p_value(equal_pairs: int, n_reports: int, second: Fraction, third: Fraction) -> float:
    """Bound the chance of so many equal pairs among n independent reports, of which two, or three, are equal by chance.

    Two bounds, the smaller counts: the Poisson law with its largest error (Arratia, Goldstein, Gordon 1989, by
    Chen and Stein), sharp where few pairs are expected; and Cantelli's inequality, where many are.
    """
    from scipy.stats import poisson

    n, pairs = n_reports, comb(n_reports, 2)
    mean = pairs * second
    if equal_pairs <= mean:
        return 1.0
    error = pairs * ((2 * n - 3) * second**2 + 2 * max(0, n - 2) * third) / max(Fraction(1), mean)
    # 2n − 3 pairs meet a given one, itself included
    variance = pairs * (second - second**2) + n * (n - 1) * (n - 2) * (third - second**2)
    cantelli = float(variance / (variance + (equal_pairs - mean) ** 2))
    return min(1.0, cantelli, float(poisson.sf(equal_pairs - 1, float(mean))) + float(error))


def linear_complexity(bits: Sequence[int]) -> int:
    """Return the length of the shortest linear feedback shift register that makes a sequence of bits.

    Source: Massey, Shift-register synthesis and BCH decoding, 1969.

    >>> linear_complexity([1, 0, 1, 1, 1, 0, 0, 1, 0, 1]), linear_complexity([0, 0, 0, 1])
    (3, 4)
    """
    register, before, length, since, window = 1, 1, 0, 1, 0
    for place, bit in enumerate(bits):
        window = window << 1 | bit  # bit i is the one i places ago
        if (register & window).bit_count() & 1:
            changed = register ^ before << since
            if 2 * length <= place:
                length, before, since = place + 1 - length, register, 0
            register = changed
        since += 1
    return length


def complexity_p_value(length: int, n_bits: int) -> float:
    """Return the chance that n fair coins have a linear complexity of at most ``length``: (2·4^L + 1) / (3·2^n).

    From n/2 on, which half of all sequences exceed, it is given as 1.

    Source: Rueppel, Analysis and Design of Stream Ciphers, 1986, chapter 4.

    >>> complexity_p_value(0, 3), complexity_p_value(1, 4), complexity_p_value(20, 40)
    (0.125, 0.1875, 1.0)
    """
    if 2 * length >= n_bits:
        return 1.0
    return float(Fraction(2 * 4**length + 1, 3 << n_bits)) if n_bits - 2 * length < _LARGEST_LOG else 0.0
