"""Operator designs, and the search for the design with the least error under an amplification γ.

A design's pattern h ⊆ {0..m} is the set of likelier numbers of kept items: the operator with w_j = γc for j ∈ h and w_j
= c elsewhere is the sharpest with amplification γ. Designs of one operator for m items form a family. Its members
differ in the default probability ρ = a/2^r, or in the size ℓ of fixed-size reports. The objective is a function of the
moments E[Z² | l of k items held] (plans/baskets/operator.py). It is linear in the weights except for their sum, so
that all patterns of all members cost a few small matrix products.

The search tries the patterns in which the likelier numbers, or the others, are a run. The best of all 2^(m+1) patterns
is one of these, or its error is lower by less than 1%. The paper's patterns are thresholds, h = {j ≥ j0}. (ρ, h) and
(1−ρ, h reversed) are mirror images, and so are (ℓ, h) and (n − ℓ, h reversed), so half of the members suffice if all
runs are tried.

Let f_i(h) be the probability that a report shows i given items of which the transaction holds h. With
d_{i,s} = Σ_h (−1)^(s−h) C(s,h) f_i(h) the mean of C(l', i) over reports is

    E[C(l',i) | l] = Σ_s d_{i,s} C(k−s, i−s) C(l, s)        l, l' items of an itemset of k held and shown.

So the estimate q[l'] = Σ_i b_i C(l', i) of [l = k] = C(l, k) follows by back substitution, with a division by each
d_{i,i}, the contrasts of single items, pairs, …

Source: EGS03, section 5; patterns other than thresholds and reports of a fixed size are ours.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets.generator import (
    BUILDERS,
    Generator,
    blocks_independent,
    item_columns,
)
from assocpriv.plans.baskets.operator import (
    ERRORS_OF_ONE,
    MAX_FIXED_BITS,
    MAX_WEIGHT_BITS,
    FixedSizeOperator,
    Operator,
    lowest_support,
)

DEFAULT_REPORTS, MOST_REPORTS = 1_000_000, 10**15  # of a plan of any type
LARGEST_INSERT_BITS = 8
_DIGITS = 4  # binary, of ρ
_LEAST_WEIGHT_BITS = 16  # every weight is at least 2^16, so rounding moves no probability by more than 2^-16
_LOW_WEIGHT = 1 << 20
_FREQUENT, _MOST_HELD = 3, 0.5  # factor of frequent supports, and their maximum
# designs with a smaller contrast for some size up to the largest are excluded: mining needs all of these sizes, and a
# contrast lost in rounding would look like a small error
_LEAST_CONTRAST = 1e-7
Floats = NDArray[np.float64]


# ---- objectives


class Objective(ABC):
    """A function of moments E[Z²], for itemsets of 1..``largest`` items, that a search minimizes.

    ``wanted`` holds for each moment the itemset size k and the distribution of the number l = 0..k of items held.
    """

    largest: int
    wanted: tuple[tuple[int, tuple[float, ...]], ...]

    @abstractmethod
    def errors(self, moments: Sequence[Floats]) -> Floats:
        """Return the objective's values from the wanted moments, arrays of one shape."""


@dataclass(frozen=True)
class WorstSupport(Objective):
    """The maximum of the lowest detectable supports (LDS) over itemset sizes up to ``largest``, with N reports.

    If nothing below 100% is detectable, designs are compared by their noise at a support of 1/2. A root beyond 1 would
    ignore the noise from baskets without the itemset, and would rate the noisiest design as good as any.
    """

    largest: int
    reports: int

    @cached_property
    def wanted(self) -> tuple[tuple[int, tuple[float, ...]], ...]:  # type: ignore[override]
        """Distributions with none, and with all, of the items held."""
        sizes = range(1, self.largest + 1)
        return tuple((k, held) for k in sizes for held in ((1.0, *[0.0] * k), (*[0.0] * k, 1.0)))

    def errors(self, moments: Sequence[Floats]) -> Floats:
        """Return the worst LDS."""
        supports = []
        for outside, held in zip(moments[::2], moments[1::2], strict=True):
            support = lowest_support(outside, held - 1, self.reports)
            half = np.sqrt(np.maximum(outside + held - 1, 0) / 2 / self.reports)
            supports.append(np.where(support > 1, 1 + ERRORS_OF_ONE * half, support))
        return np.asarray(np.max(supports, axis=0))


@dataclass(frozen=True)
class MeanVariance(Objective):
    """Σ_k weight_k · N Var ŝ over itemsets of given supports; other transactions hold each item by ``item_support``.

    Half of it is for three times these supports, because the best design for rare itemsets alone may be bad for
    frequent ones.
    """

    supports: tuple[float, ...]
    weights: tuple[float, ...]
    item_support: float

    @property
    def largest(self) -> int:  # type: ignore[override]
        """Largest itemset size."""
        return len(self.supports)

    @cached_property
    def wanted(self) -> tuple[tuple[int, tuple[float, ...]], ...]:  # type: ignore[override]
        """The distributions of the number of items held."""
        both = (
            [held_distribution(k, *(min(f * each, _MOST_HELD) for each in (support, self.item_support)))
             for f in (1, _FREQUENT)]
            for k, support in enumerate(self.supports, 1)
        )  # fmt: skip
        return tuple((k, tuple(sum(each) / 2 for each in zip(*two, strict=True))) for k, two in enumerate(both, 1))

    def errors(self, moments: Sequence[Floats]) -> Floats:
        """Return the weighted sum of variances."""
        parts = zip(self.weights, moments, self.supports, strict=True)
        return sum((weight * (moment - support) for weight, moment, support in parts), np.zeros(1))


def held_distribution(k: int, support: float, item_support: float) -> tuple[float, ...]:
    """Return the distribution of the number of k items in a transaction: all by ``support``, else each independently.

    >>> held_distribution(2, 0.25, 0.5)
    (0.25, 0.5, 0.25)
    """
    weights = [comb(k, held) * item_support**held * (1 - item_support) ** (k - held) for held in range(k)]
    return (*((1 - support) * weight / sum(weights) for weight in weights), support)


# ---- designs


@dataclass(frozen=True, slots=True)
class Design(ABC):
    """A design for transactions of m items.

    ``pattern``: ``1`` for the likelier j = 0..m; ``error``: the objective's value, infinite if P is singular;
    ``moments``: the moments that it was computed from.
    """

    pattern: str
    error: float = math.nan
    moments: tuple[float, ...] = ()

    @property
    def transaction_size(self) -> int:
        """M."""
        return len(self.pattern) - 1

    @abstractmethod
    def operator(self, limit: Fraction) -> Operator | FixedSizeOperator:
        """Return the operator of integer weights whose exact amplification is strictly below the limit."""

    @abstractmethod
    def report_bits(self, n_items: int, independent: int) -> int:
        """Return the length of the shortest report in bits; ``n_items`` counts padding items."""

    @abstractmethod
    def generator(self, n_items: int, independent: int) -> Generator:
        """Return the generator with the shortest report."""


@dataclass(frozen=True, slots=True)
class InsertionDesign(Design):
    """A design with ρ = insert_num / 2^insert_bits."""

    insert_num: int = field(kw_only=True)
    insert_bits: int = field(kw_only=True)

    def operator(self, limit: Fraction) -> Operator:
        """Return the operator of integer weights; their target is the limit less a part of 2^-20."""
        m, rest = self.transaction_size, (1 << self.insert_bits) - self.insert_num
        levels = [limit * (1 - Fraction(1, 1 << 20)) if h == "1" else Fraction(1) for h in self.pattern]
        shares = [self.insert_num**j * rest ** (m - j) * levels[j] for j in range(m + 1)]
        scale = sum((comb(m, j) * share for j, share in enumerate(shares)), Fraction(0))
        for weight_bits in range(64, MAX_WEIGHT_BITS + 1, 64):
            weights = [math.floor(share * (1 << weight_bits) / scale) for share in shares]
            _spread(weights, (1 << weight_bits) - sum(comb(m, j) * v for j, v in enumerate(weights)))
            if min(weights) >= 1 << _LEAST_WEIGHT_BITS:
                operator = Operator(m, self.insert_num, self.insert_bits, weight_bits, tuple(weights))
                if operator.amplification < limit:
                    return operator
        raise PlanError(
            f"the operator cannot be written with weights of {MAX_WEIGHT_BITS} bits; lower the transaction size"
        )

    def report_bits(self, n_items: int, independent: int) -> int:
        """Return the length of the shortest report."""
        return min(_generators(n_items, self.insert_bits, independent))

    def generator(self, n_items: int, independent: int) -> Generator:
        """Return the generator with the shortest report."""
        return choose_generator(n_items, self.insert_bits, independent)


def _spread(weights: list[int], missing: int) -> None:
    """Add a total to the weights in place: in multiples of C(m,j), the largest first, the rest where it is 1."""
    m = len(weights) - 1
    for j in sorted(range(m + 1), key=lambda j: (-comb(m, j), -weights[j])):
        step, missing = divmod(missing, comb(m, j))
        weights[j] += step


def reachable_amplification(limit: Fraction) -> Fraction:
    """Return the γ of fixed-size reports under a limit; reports with independent insertion have slightly less."""
    return Fraction(math.ceil(limit * _LOW_WEIGHT) - 1, _LOW_WEIGHT)


@dataclass(frozen=True, slots=True)
class FixedSizeDesign(Design):
    """A design whose reports hold ``report_size`` of ``items`` items; ``pattern`` has ``0`` for an impossible j."""

    items: int = field(kw_only=True)
    report_size: int = field(kw_only=True)

    def operator(self, limit: Fraction) -> FixedSizeOperator:
        """Return the operator of integer weights whose ratio is strictly below the limit."""
        likelier, m = int(reachable_amplification(limit) * _LOW_WEIGHT), self.transaction_size
        weights = tuple(
            (likelier if high == "1" else _LOW_WEIGHT) * (0 <= self.report_size - j <= self.items - m)
            for j, high in enumerate(self.pattern)
        )
        return FixedSizeOperator(m, self.items, self.report_size, weights)

    def report_bits(self, n_items: int = 0, independent: int = 0) -> int:  # noqa: ARG002
        """Return the length of a report in bits; no code makes it shorter."""
        return (comb(self.items, self.report_size) - 1).bit_length()

    def generator(self, n_items: int, independent: int) -> Generator:  # noqa: ARG002
        """Return the generator ``none``."""
        return Generator()


# ---- families


@dataclass(frozen=True)
class Family(ABC):
    """Designs of one operator for transactions of m items."""

    m: int

    @property
    @abstractmethod
    def chances(self) -> Floats:
        """The distribution of j = 0..m under pure noise, float64 (members, m + 1)."""

    @abstractmethod
    def added(self, given: int) -> Floats:
        """Return the probabilities that 0..given of items not held are shown, (members, 1 or m + 1, given + 1)."""

    @abstractmethod
    def design(self, member: int, pattern: str, error: float, moments: tuple[float, ...]) -> Design:
        """Return the design of one member and pattern."""

    def search(self, limit: Fraction, objective: Objective, patterns: Floats, blanket: float = 0.0) -> list[Design]:
        """Return the best design of every member that has one.

        Args:
            limit: γ.
            objective: the objective to minimize; its largest itemsets have at most m items.
            patterns: 0 or 1 for each j = 0..m, float64 (patterns, m + 1).
            blanket: the blanket that an anonymous channel needs (guarantees/shuffle_model.py).
        """
        moments, singular = self.moments(float(limit), objective, patterns)
        left_out = singular | (self._sums(float(limit), patterns) * blanket > 1)
        errors = np.where(left_out, np.inf, objective.errors(moments))
        # the last of equal designs keeps more items; the tolerance makes ties independent of rounding
        near = errors <= errors.min(axis=0) * (1 + 1e-12)
        rows = len(patterns) - 1 - np.argmax(near[::-1], axis=0)
        return [
            self.design(
                member,
                "".join("01"[int(h)] for h in patterns[row]),
                float(errors[row, member]),
                tuple(float(moment[row, member]) for moment in moments),
            )
            for member, row in enumerate(rows.tolist())
            if np.isfinite(errors[row, member])
        ]

    def _sums(self, gamma: float, patterns: Floats) -> Floats:
        """Return the sums of weights 1 + (γ − 1) h[j] over pure noise, (patterns, members): 1 over the blankets."""
        return np.asarray(self.chances.sum(axis=1) + (gamma - 1) * (patterns @ self.chances.T))

    def moments(self, gamma: float, objective: Objective, patterns: Floats) -> tuple[list[Floats], NDArray[np.bool_]]:
        """Return the wanted moments, (patterns, members), and which designs have a singular P for some size."""
        chances, orders = self.chances, range(objective.largest + 1)
        total = self._sums(gamma, patterns)
        kept = [_shown(self.m, np.arange(self.m + 1.0), given) for given in orders]
        added = [self.added(given) for given in orders]

        def mean(terms: Floats) -> Floats:
            """Return E of terms, (members, m + 1), under each pattern's weights 1 + (γ − 1) h[j]."""
            weighted = chances * terms
            return np.asarray((weighted.sum(axis=1) + (gamma - 1) * (patterns @ weighted.T)) / total)

        def shown_all(i: int, h: int) -> Floats:
            return kept[h][:, h] * added[i - h][..., i - h]

        d = [
            [mean(sum((-1) ** (s - h) * comb(s, h) * shown_all(i, h) for h in range(s + 1))) for s in range(i + 1)]
            for i in orders
        ]
        singular = np.any([np.abs(d[i][i]) < _LEAST_CONTRAST for i in orders[1:]], axis=0)
        pivots = [np.where(singular, 1.0, d[i][i]) for i in orders]
        squares = {k: [value**2 for value in _estimates(k, d, pivots)] for k in {k for k, _ in objective.wanted}}
        moments = []
        for k, distribution in objective.wanted:
            shown = np.zeros((*np.broadcast_shapes(chances.shape, added[0].shape[:2]), k + 1))
            for held in range(k + 1):
                for q in range(held + 1):
                    shown[..., q : q + k - held + 1] += distribution[held] * kept[held][:, q, None] * added[k - held]
            moments.append(sum(mean(shown[..., to]) * square for to, square in enumerate(squares[k])))
        return moments, singular  # type: ignore[return-value]


def _shown(total: int, chosen: Floats, given: int) -> Floats:
    """Return the hypergeometric probabilities that 0..given of given items are among ``chosen`` random ones of
    ``total``.

    The result is float64 (…, given + 1) for ``chosen`` of shape (…).
    """
    columns = []
    for shown in range(given + 1):
        chance = np.full(chosen.shape, float(comb(given, shown)))
        for i in range(shown):
            chance *= (chosen - i) / (total - i)
        for i in range(given - shown):
            chance *= (total - chosen - i) / (total - shown - i)
        columns.append(chance)
    return np.stack(columns, axis=-1)


def _estimates(k: int, d: Sequence[Sequence[Floats]], pivots: Sequence[Floats]) -> list[Floats]:
    """Return q[l'] for itemsets of k items by back substitution, l' = 0..k."""
    none = np.zeros_like(pivots[0])
    b = [none] * (k + 1)
    for s in range(k, -1, -1):
        rest = sum((b[i] * d[i][s] * comb(k - s, i - s) for i in range(s + 1, k + 1)), none)
        b[s] = (float(s == k) - rest) / pivots[s]
    return [sum((b[i] * comb(shown, i) for i in range(shown + 1)), none) for shown in range(k + 1)]


@dataclass(frozen=True)
class InsertionFamily(Family):
    """Designs with independent insertion of other items with ρ = a/2^r; ``grid`` holds the pairs (a, r)."""

    grid: tuple[tuple[int, int], ...]

    @property
    def _rho(self) -> Floats:
        return np.array([a / (1 << r) for a, r in self.grid])[:, None]

    @property
    def chances(self) -> Floats:
        """The binomial distributions."""
        j = np.arange(self.m + 1)
        return np.array([comb(self.m, i) for i in j]) * self._rho**j * (1 - self._rho) ** (self.m - j)

    def added(self, given: int) -> Floats:
        """Return the binomial distributions for ``given`` items."""
        return InsertionFamily(given, self.grid).chances[:, None, :]

    def design(self, member: int, pattern: str, error: float, moments: tuple[float, ...]) -> InsertionDesign:
        """Return the design of one member."""
        a, r = self.grid[member]
        return InsertionDesign(pattern, error, moments, insert_num=a, insert_bits=r)


@dataclass(frozen=True)
class FixedSizeFamily(Family):
    """Designs whose reports hold exactly ℓ of n items, m padding items included, for transactions of m items."""

    items: int
    sizes: tuple[int, ...]

    @property
    def _outside(self) -> tuple[int, Floats]:
        """Number of items outside the transaction, and how many of them a report shows, (members, m + 1)."""
        return self.items - self.m, np.array(self.sizes)[:, None] - np.arange(self.m + 1.0)

    @property
    def chances(self) -> Floats:
        """The hypergeometric distributions; 0 if there are no ℓ − j items outside the transaction."""
        m, outside = self.m, self.items - self.m
        ways = [[comb(m, j) * comb(outside, size - j) if size >= j else 0 for j in range(m + 1)] for size in self.sizes]
        return np.array(
            [[each / comb(self.items, size) for each in row] for row, size in zip(ways, self.sizes, strict=True)]
        )

    def added(self, given: int) -> Floats:
        """Return the hypergeometric distributions for ``given`` items."""
        return _shown(*self._outside, given)

    def design(self, member: int, pattern: str, error: float, moments: tuple[float, ...]) -> FixedSizeDesign:
        """Return the design of one member."""
        size, outside = self.sizes[member], self.items - self.m
        possible = "".join(h if 0 <= size - j <= outside else "0" for j, h in enumerate(pattern))
        return FixedSizeDesign(possible, error, moments, items=self.items, report_size=size)


def insertion_family(m: int) -> InsertionFamily:
    """Return the family of all ρ = a/2^r up to ½ with r up to 8 and a odd and at most 15."""
    grid = [(a, r) for r in range(1, LARGEST_INSERT_BITS + 1) for a in range(1, (1 << r - 1) + 1, 2)]
    return InsertionFamily(m, tuple((a, r) for a, r in grid if _is_tried(a)))


def _is_tried(number: int) -> bool:
    """Return whether a number has at most four binary digits up to the last 1; finer steps hardly change errors."""
    return (number // (number & -number)).bit_length() <= _DIGITS


def paper_family(m: int, largest_insert_bits: int = LARGEST_INSERT_BITS) -> InsertionFamily:
    """Return the family of all ρ = a/2^r with a odd and r up to a maximum."""
    bits = range(1, largest_insert_bits + 1)
    return InsertionFamily(m, tuple((a, r) for r in bits for a in range(1, 1 << r, 2)))


def fixed_size_family(m: int, items: int) -> FixedSizeFamily:
    """Return the family of report sizes up to half of the items, as far as a plan allows such long reports."""
    sizes = filter(_is_tried, range(1, items // 2 + 1))
    return FixedSizeFamily(m, items, tuple(size for size in sizes if comb(items, size) <= 1 << MAX_FIXED_BITS))


def runs(m: int) -> Floats:
    """Return the patterns over 0..m in which the likelier numbers, or the others, are a run; (patterns, m + 1)."""
    ends = [(first, end) for end in range(1, m + 2) for first in range(end) if end - first <= m]
    inside = [[float(first <= j < end) for j in range(m + 1)] for first, end in ends]
    # the complement of a run at one end is a run itself
    return np.array(inside + [[1 - h for h in row] for row in inside if row[0] == row[m] == 0])


def thresholds(m: int) -> Floats:
    """Return the paper's patterns, 0…01…1."""
    return np.array([[float(j >= first) for j in range(m + 1)] for first in range(m, 0, -1)])


# ---- generators of independent insertion


@lru_cache(maxsize=1024)
def _generators(n_items: int, insert_bits: int, independent: int) -> dict[int, Generator]:
    """Return generators by the length of their reports; ``none``, which does not limit K, and then BCH win ties."""
    seeds = [build(n_items, insert_bits, independent) for build in BUILDERS.values()]
    return {generator.seed_bits: generator for generator in seeds} | {n_items: Generator()}


def choose_generator(n_items: int, insert_bits: int, independent: int) -> Generator:
    """Return the generator with the shortest report; BCH wins ties of seeds.

    ``n_items`` counts padding items, ``insert_bits`` is r, and any ``independent`` = m + k items must be independent.
    """
    _, generator = min(_generators(n_items, insert_bits, independent).items())
    if generator.is_seedless:
        return generator
    # the theorem covers all items; testing some of the built columns guards against programming errors
    sample = np.array(sorted({place * (n_items - 1) // 23 for place in range(24)}))
    built = item_columns(generator, insert_bits, sample)
    assert blocks_independent(built, independent, limit=40)
    return generator
