"""A guided plan's JSON text → its integers and γ; guidance → exact chances, without the package's own code of either.

    t_i = Σ of P = V·Vᵀ over a tuple's set bits    a_i = ⌊(|t_i| + 2^23)/2^24⌋    m_i = min(a_i², 2^32), of 2^32
    bits:   c·2^32 + (2^16 − c)·2·m_i, of 2^49     tuple: with h/2^32 the own tuple, else a uniform one

docs/formats/guided-plan.md has the rules; here they are computed in Python's integers, entry by entry.
"""

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.recompute.json_fields import field, unique_fields, whole
from assocpriv.promise.errors import PlanError

TUPLE, BITS = "tuple", "bits"
WORD, GRID = 1 << 32, 1 << 16
_FRACTION = re.compile(r"([1-9][0-9]{0,24})/([1-9][0-9]{0,24})", re.ASCII)
Matrix = NDArray[np.int64]
Law = dict[tuple[int, ...], Fraction]


@dataclass(frozen=True)
class GuidedNumbers:
    """What a plan's text says of its tuples, and of how a promise is kept."""

    sizes: tuple[int, ...]
    labels: int
    keep: str | None
    honest: int
    stated: Fraction | None
    promise: tuple[Fraction, Fraction] | None
    reports_per_person: int

    @property
    def width(self) -> int:
        """Number of bits."""
        return sum(self.sizes)

    @property
    def amplification(self) -> Fraction | None:
        """γ of one report, None where the text has none."""
        if self.keep == TUPLE:
            return 1 + Fraction(self.honest * prod(self.sizes), WORD - self.honest)
        return self.stated

    @property
    def limit(self) -> Fraction | None:
        """What γ must stay below."""
        if self.promise is None:
            return None
        prior, posterior = self.promise
        return posterior * (1 - prior) / (prior * (1 - posterior))

    @property
    def total(self) -> int:
        """What a bit's draw is below."""
        return 2 * WORD * GRID if self.keep == BITS else WORD

    @cached_property
    def places(self) -> list[range]:
        """The bits of each attribute."""
        ends = list(accumulate(self.sizes))
        return [range(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]


def read_guided(text: str) -> GuidedNumbers:
    """Read a guided plan's text; PlanError where it is none."""
    try:
        content = json.loads(text, object_pairs_hook=unique_fields)
    except (ValueError, RecursionError):
        raise PlanError("it is not JSON") from None
    if field(content, "kind") != "guided":
        raise PlanError("it is of another kind")
    attributes, safeguard, promise = (field(content, name) for name in ("attributes", "safeguard", "promise"))
    if not isinstance(attributes, list) or not attributes:
        raise PlanError("there are no attributes")
    keep = None if safeguard is None else field(safeguard, "kind")
    if keep not in (None, TUPLE, BITS):
        raise PlanError("its safeguard is not known")
    return GuidedNumbers(
        tuple(map(_values_of, attributes)),
        len(_texts(field(content, "label"), "values")),
        keep,
        whole(safeguard, "honest", 1, WORD - 1) if keep == TUPLE else 0,
        _fraction(safeguard, "amplification") if keep == BITS else None,
        None if promise is None else (_fraction(promise, "prior"), _fraction(promise, "posterior")),
        whole(content, "reports_per_person", 1, 1000),
    )


def _values_of(attribute: Any) -> int:
    if field(attribute, "kind") == "number":
        return len(_texts(attribute, "cuts")) + 1
    return len(_texts(attribute, "values"))


def _texts(content: Any, name: str) -> list[str]:
    texts = field(content, name)
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise PlanError(f"{name} must be a list of texts")
    return texts


def _fraction(content: Any, name: str) -> Fraction:
    text = field(content, name)
    match = _FRACTION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise PlanError(f"{name} must be a fraction as 1/20")
    return Fraction(int(match[1]), int(match[2]))


# ---- guidance


def weight(share: int) -> int:
    """Return the weight, of 2^32, of a share times 2^40."""
    return min(((abs(share) + (1 << 23)) // (1 << 24)) ** 2, WORD)


def mixed(plain: int, coin: int) -> int:
    """Return a weight mixed with a coin, of 2^49."""
    return coin * WORD + 2 * (GRID - coin) * plain


@dataclass(frozen=True)
class GuidedLaw:
    """How tuples answer one guidance: P and the coin that belongs to it."""

    numbers: GuidedNumbers
    shares: Matrix
    coin: int

    @classmethod
    def of(cls, numbers: GuidedNumbers, vectors: Matrix) -> "GuidedLaw":
        """Take V, int64 (w, k), entries times 2^20; sums of 2^11 products below 2^40 are exact."""
        shares = vectors @ vectors.T
        return cls(numbers, shares, _coin(numbers, shares) if numbers.keep == BITS else 0)

    def weights(self, positions: tuple[int, ...]) -> list[int]:
        """Return each bit's weight, of the plan's total, for a tuple without missing values."""
        rows = [places[value] for places, value in zip(self.numbers.places, positions, strict=True)]
        plain = [weight(share) for share in self.shares[rows].sum(axis=0).tolist()]
        return [mixed(each, self.coin) for each in plain] if self.numbers.keep == BITS else plain

    def law(self, positions: tuple[int, ...]) -> Law:
        """Return the chance of each vector of bits that has one, missing values among the tuple's or not."""
        sums: Law = {}
        for each, share in self.answered(positions):
            law: Law = {(): Fraction(1)}
            for up in self.weights(each):
                chance = Fraction(up, self.numbers.total)
                law = {(*y, bit): p * q for y, p in law.items() for bit, q in ((0, 1 - chance), (1, chance)) if q}
            for y, p in law.items():
                sums[y] = sums.get(y, Fraction(0)) + p * share
        return sums

    def answered(self, positions: tuple[int, ...]) -> list[tuple[tuple[int, ...], Fraction]]:
        """Return the tuples that are answered for in place of one, with the chance of each."""
        sizes = self.numbers.sizes
        known = [range(size) if v == size else [v] for v, size in zip(positions, sizes, strict=True)]
        own = Fraction(self.numbers.honest, WORD) if self.numbers.keep == TUPLE else Fraction(1)
        whole_tuples = list(product(*known))
        found = [(each, own / len(whole_tuples)) for each in whole_tuples]
        if own < 1:
            every = list(product(*map(range, sizes)))
            found += [(each, (1 - own) / len(every)) for each in every]
        return found


def bounds(numbers: GuidedNumbers, shares: Matrix) -> list[tuple[int, int]]:
    """Return the least and largest weight that each bit can have, of 2^32."""
    found = []
    for i in range(numbers.width):
        columns = [shares[places.start : places.stop, i].tolist() for places in numbers.places]
        low, high = sum(map(min, columns)), sum(map(max, columns))
        ends = (weight(low), weight(high))
        found.append((0 if low <= 0 <= high else min(ends), max(ends)))
    return found


def product_of_ratios(limits: list[tuple[int, int]], coin: int) -> Fraction | None:
    """Return the product over bits of the largest ratio; None where 0 stands beside a chance, or 1."""
    total, above, below = 2 * WORD * GRID, 1, 1
    for plain in limits:
        low, high = (mixed(each, coin) for each in plain)
        if low < high and (low == 0 or high == total):
            return None
        up = (high, low) if low == high or high * (total - high) >= low * (total - low) else (total - low, total - high)
        above, below = above * up[0], below * up[1]
    return Fraction(above, below)


def _coin(numbers: GuidedNumbers, shares: Matrix) -> int:
    limits, first, last = bounds(numbers, shares), 0, GRID
    while first < last:
        middle = (first + last) // 2
        ratio = product_of_ratios(limits, middle)
        kept = ratio is not None and numbers.stated is not None and ratio <= numbers.stated
        first, last = (first, middle) if kept else (middle + 1, last)
    return first
