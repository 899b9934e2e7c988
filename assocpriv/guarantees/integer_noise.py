"""Integer noise for counts, drawn exactly, and what it guarantees: the discrete Gaussian and the two-sided geometric.

The noise is an integer x with probability exp(−r f(x))/Z. For f(x) = x² it is a discrete Gaussian of variance just
below 1/(2r); for f(x) = |x| a two-sided geometric variable.

**Exact draws.** A uniform real number u, written in binary, falls between two cumulative probabilities P(X < x) and
P(X ≤ x). The first 64 digits of u decide, unless a cumulative probability lies among the numbers that begin with them.
Cumulative probabilities are known as intervals of integers, from exp(−r) by products that are rounded down with a known
bound of the error, and with the mass of the tails bounded by a geometric series. Where 64 digits do not decide, more
digits of u are drawn and narrower intervals computed. So the law is exact, and no float is involved.

Rounding down makes exp(−r) too small by at most e units. Then f = exp(−2r) is too small by at most 2e + 1, the factor
exp(−r(2k + 1)) = exp(−r) f^k by e + k(2e + 2), and weight k, a product of such factors, by (e + 1)(k + 1)².

**Guarantee.** A vector of counts with discrete Gaussian noise of variance parameter σ² satisfies ρ-zero-concentrated
differential privacy, ρ = Δ²/(2σ²), if one unit changes it by at most Δ in the Euclidean norm. The ρ of several vectors
add up, also if the choice of one depends on the noisy values of others. For each order α > 1, ρ implies (ε, δ) with

    ε = ρα + (ln(1/δ) + (α − 1) ln(1 − 1/α) − ln α)/(α − 1).

With geometric noise of rate r, ε = r Δ for a change of at most Δ in the sum of absolute values; these ε add up.

Sources: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020 (theorem 4, proposition
12); Ghosh, Roughgarden, Sundararajan, Universally Utility-Maximizing Privacy Mechanisms, SIAM J. Comput. 41 (2012).
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, repeat

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.entropy import WORD_BITS, WordEntropy
from assocpriv.guarantees.errors import PlanError

Ints = NDArray[np.int64]
_GUARD = 96  # binary digits beyond those of the thresholds, against rounding of up to 2^64 products
_MOST_ENTRIES = 1 << 21  # of a table
_MARGIN = Fraction(1, 10**9)  # relative; errors of the logarithms in double precision are below 10^-14
_ULPS = Fraction(1, 10**12)  # relative, so that another machine's logarithms do not refuse what this one wrote
_RHO_PLACES = 1 << 60
_STEPS = 200


@dataclass(frozen=True, slots=True)
class IntegerNoise:
    """Integer noise x of probability exp(−r f(x))/Z, f(x) = x² if ``squared``, else |x|.

    Args:
        rate: r, above 0.
        squared: whether f is x² (discrete Gaussian) or |x| (two-sided geometric).

    Raises:
        PlanError: the rate is not above 0, or so small that the noise exceeds any count.

    >>> from assocpriv.guarantees.entropy import SystemEntropy
    >>> IntegerNoise.gaussian(Fraction(100)).draw(3, SystemEntropy()).shape
    (3,)
    """

    rate: Fraction
    squared: bool = field(default=True)

    def __post_init__(self) -> None:
        if self.rate <= 0 or _reach(self.rate, self.squared, WORD_BITS) > _MOST_ENTRIES:
            raise PlanError(
                "noise for this guarantee is too large to be drawn; give a larger epsilon, fewer baskets per person, "
                "smaller itemsets, or a delta above 0"
            )

    @classmethod
    def gaussian(cls, variance: Fraction) -> "IntegerNoise":
        """Return discrete Gaussian noise with the parameter σ², which its variance does not exceed."""
        return cls(1 / (2 * variance))

    @property
    def variance(self) -> float:
        """The variance; of the discrete Gaussian σ², an upper bound that is exact to 10^-6 from σ = 1 on."""
        if self.squared:
            return float(1 / (2 * self.rate))
        ratio = math.exp(-self.rate)
        return 2 * ratio / (1 - ratio) ** 2

    def draw(self, count: int, entropy: WordEntropy) -> Ints:
        """Return independent noise.

        Args:
            count: how many integers, from 0.
            entropy: the source of 64-bit words.

        Returns:
            The integers, int64 (count,).
        """
        first, low, width = _words(self.rate, self.squared)
        words = entropy.words(count)
        places = np.searchsorted(low, words, side="right")
        unclear = (places == len(low)) | (words - low[places - 1] < width)
        drawn = places + (first - 1)
        for row in np.flatnonzero(unclear).tolist():
            drawn[row] = self._refine(int(words[row]), entropy)
        return np.asarray(drawn, dtype=np.int64)

    def _refine(self, begun: int, entropy: WordEntropy) -> int:
        """Return the integer for a uniform number whose first word does not decide."""
        bits = WORD_BITS
        while True:
            begun = begun << WORD_BITS | int(entropy.words(1)[0])
            bits += WORD_BITS
            first, low, width = thresholds(self.rate, self.squared, bits)
            place = bisect_right(low, begun)
            if place < len(low) and begun >= low[place - 1] + width:
                return first - 1 + place


def _reach(rate: Fraction, squared: bool, bits: int) -> int:
    """Return how far from 0 a table reaches: beyond, the probability is below 2^−bits by far."""
    wanted = (bits + 40) * math.log(2) / float(rate)
    return math.ceil(math.sqrt(wanted) if squared else wanted) + 1


@lru_cache(maxsize=16)
def _words(rate: Fraction, squared: bool) -> tuple[int, NDArray[np.uint64], int]:
    first, low, width = thresholds(rate, squared, WORD_BITS)
    return first, np.array(low, dtype=np.uint64), width


@lru_cache(maxsize=8)
def thresholds(rate: Fraction, squared: bool, bits: int) -> tuple[int, list[int], int]:
    """Return an integer x, and intervals of one width that hold 2^bits P(X < x), 2^bits P(X < x + 1), …

    Returns:
        x, the intervals' lower ends, and their width.
    """
    places = bits + _GUARD
    reach, one = _reach(rate, squared, bits), 1 << places
    ratio, above = exp_bounds(-rate, places)
    factor = ratio * ratio >> places if squared else one
    steps = [*accumulate(repeat(factor, reach + 1), lambda step, times: step * times >> places, initial=ratio)]
    *weights, last = accumulate(steps[:-1], lambda weight, step: weight * step >> places, initial=one)
    error = (above - ratio + 1) * (reach + 2) ** 2  # of each, as weight k is a product of at most k² rounded factors
    tail = (last + error) * one // (one - steps[-1] - error) + 1  # a geometric series bounds all further weights
    sums = [*accumulate([*reversed(weights[1:]), *weights], initial=0)]
    unknown = (2 * reach + 1) * error + 2 * tail
    most = sums[-1] + unknown
    return -reach, [(each << bits) // most for each in sums], 1 - (-unknown << bits + 1) // sums[-1]


def exp_bounds(exponent: Fraction, places: int) -> tuple[int, int]:
    """Return integers around 2^places exp(exponent) for an exponent of at most 0."""
    halvings = max(0, math.ceil(math.log2(max(float(-exponent), 0.5))) + 1)
    x = -exponent / 2**halvings
    term, total, number, finer = Fraction(1), Fraction(1), 0, places + halvings + 8
    while term > Fraction(1, 1 << finer):  # alternating and falling: consecutive sums enclose the limit
        number += 1
        term *= x / number
        previous, total = total, total + (-term if number % 2 else term)
    low, high = sorted((previous if number else total, total))
    bounds = math.floor(low * (1 << finer)), math.ceil(high * (1 << finer))
    for _ in range(halvings):
        bounds = _product(bounds, bounds, finer)
    return bounds[0] >> finer - places, -(-bounds[1] >> finer - places)


def _product(left: tuple[int, int], right: tuple[int, int], places: int) -> tuple[int, int]:
    return left[0] * right[0] >> places, -(-left[1] * right[1] >> places)


# ---- (ε, δ) of zero-concentrated differential privacy


def epsilon_from_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an ε, rounded up, with which ρ-zero-concentrated differential privacy is (ε, δ)-differential privacy.

    Args:
        rho: ρ, above 0.
        delta: δ, above 0 and below 1.

    Returns:
        ε of the best order, at most one billionth too large.
    """
    wanted = math.log(delta.denominator) - math.log(delta.numerator)

    def at(place: float) -> float:
        more = math.exp(place)  # α − 1
        return float(rho) * (1 + more) + (wanted + more * (place - math.log1p(more)) - math.log1p(more)) / more

    low, high = -30.0, 30.0
    for _ in range(_STEPS):
        third = (high - low) / 3
        low, high = (low, high - third) if at(low + third) < at(high - third) else (low + third, high)
    return max(Fraction(at((low + high) / 2)), Fraction(0)) * (1 + _MARGIN) + _MARGIN / 1000


@lru_cache(maxsize=16)
def rho_from_epsilon(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ρ, rounded down, that is (ε, δ)-differential privacy by :func:`epsilon_from_rho`.

    Args:
        epsilon: ε, above 0.
        delta: δ, above 0 and below 1.

    Returns:
        ρ, a multiple of 2^−60.
    """
    low, high = 0, math.ceil(epsilon * _RHO_PLACES)  # ρ is below ε
    while high - low > 1:
        middle = (low + high) // 2
        fits = epsilon_from_rho(Fraction(middle, _RHO_PLACES), delta) * (1 + _ULPS) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return Fraction(low, _RHO_PLACES)
