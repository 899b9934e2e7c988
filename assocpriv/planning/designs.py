"""Designs of operators, searched for the least error that an amplification γ allows.

A design says which numbers of kept items are the likelier ones, its pattern h ⊆ {0..m}: the operator with w_j = γc for
j ∈ h and w_j = c elsewhere is the sharpest with amplification γ. Designs of one kind for m items are a family; its
members differ in the default probability ρ = a/2^r, or, of reports of a fixed size, in that size ℓ. What is made least
is a function of the moments E[Z² | l of k items held] (plans/transition.py), linear in the weights but for their sum,
so that all patterns of all members cost a few small matrix products.

Tried are the patterns in which the likelier numbers, or the others, are a run: of the 2^(m+1) patterns the best is one
of these, or its error lower by less than 1%. The paper's are thresholds, h = {j ≥ j0}. (ρ, h) and (1−ρ, h reversed)
are mirror images, and so are (ℓ, h) and (n − ℓ, h reversed): half of the members suffice where all runs are tried.

Let f_i(h) be the chance that a report shows i given items of which the transaction holds h. With
d_{i,s} = Σ_h (−1)^(s−h) C(s,h) f_i(h) the mean of C(l', i) over reports is

    E[C(l',i) | l] = Σ_s d_{i,s} C(k−s, i−s) C(l, s)        l, l' items of an itemset of k held and shown,

so the estimate q[l'] = Σ_i b_i C(l', i) of [l = k] = C(l, k) follows by back substitution: a division by each d_{i,i},
the contrasts of single items, pairs, …

Source: EGS03, section 5; patterns other than thresholds and reports of a fixed size are ours.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.generator import (
    Generator,
    bch_generator,
    bch_seed_bits,
    blocks_independent,
    item_columns,
    reed_solomon_generator,
    reed_solomon_seed_bits,
)
from assocpriv.plans.operator import MAX_FIXED_BITS, MAX_WEIGHT_BITS, FixedSizeOperator, Operator
from assocpriv.plans.transition import ERRORS_OF_ONE, lowest_support
from assocpriv.promise.errors import PlanError

MOST_REPORTS = 10**15  # that a plan of any kind is made for
LARGEST_INSERT_BITS = 8
_DIGITS = 4  # binary, of ρ
_LEAST_WEIGHT_BITS = 16  # every weight is at least 2^16, so rounding moves no probability by more than 2^-16
_LOW_WEIGHT = 1 << 20
_FREQUENT, _MOST_HELD = 3, 0.5  # times as frequent, and the most
# designs whose contrast is smaller for some size up to the largest are left out: mining needs every size on the
# way, and a contrast that drowns in rounding would turn into a spuriously small error
_LEAST_CONTRAST = 1e-7
_BUILDERS = {"bch": bch_generator, "reed-solomon": reed_solomon_generator}
Floats = NDArray[np.float64]


# ---- what is made least


class Objective(ABC):
    """A function of moments E[Z²], for itemsets of 1..``largest`` items, that a search makes least.

    ``wanted`` has for each moment the itemset size k and the law of the number l = 0..k of items held.
    """

    largest: int
    wanted: tuple[tuple[int, tuple[float, ...]], ...]

    @abstractmethod
    def errors(self, moments: Sequence[Floats]) -> Floats:
        """Return what is made least of moments, arrays of one shape, as wanted."""


@dataclass(frozen=True)
class WorstSupport(Objective):
    """The largest lowest discoverable support (LDS) over all itemset sizes up to a largest, with N reports.

    Where nothing below 100% can be discovered, designs are told apart by their noise at a support of a half: the root
    beyond 1 leaves out what those who hold nothing add, and would take the noisiest for as good as any.
    """

    largest: int
    reports: int

    @cached_property
    def wanted(self) -> tuple[tuple[int, tuple[float, ...]], ...]:  # type: ignore[override]
        """None and all of the items held."""
        sizes = range(1, self.largest + 1)
        return tuple((k, law) for k in sizes for law in ((1.0, *[0.0] * k), (*[0.0] * k, 1.0)))

    def errors(self, moments: Sequence[Floats]) -> Floats:
        """Return the worst LDS."""
        supports = []
        for outside, held in zip(moments[::2], moments[1::2], strict=True):
            support = lowest_support(outside, held - 1, self.reports)
            half = np.sqrt(np.maximum(outside + held - 1, 0) / 2 / self.reports)
            supports.append(np.where(support > 1, 1 + ERRORS_OF_ONE * half, support))
        worst: Floats = np.max(supports, axis=0)
        return worst


@dataclass(frozen=True)
class MeanVariance(Objective):
    """Σ_k weight_k · N Var ŝ over itemsets of given supports, whose items others hold with a given chance each.

    Half of it is for itemsets three times as frequent, others and all: what is best for rare ones alone may be of
    little use where itemsets are frequent.
    """

    supports: tuple[float, ...]
    weights: tuple[float, ...]
    others: float

    @property
    def largest(self) -> int:  # type: ignore[override]
        """Largest itemset size."""
        return len(self.supports)

    @cached_property
    def wanted(self) -> tuple[tuple[int, tuple[float, ...]], ...]:  # type: ignore[override]
        """The laws of the number of items held."""
        times = (1, _FREQUENT)
        laws = (
            (k, [held_law(k, min(f * support, _MOST_HELD), min(f * self.others, _MOST_HELD)) for f in times])
            for k, support in enumerate(self.supports, 1)
        )
        return tuple((k, tuple(sum(each) / len(times) for each in zip(*two, strict=True))) for k, two in laws)

    def errors(self, moments: Sequence[Floats]) -> Floats:
        """Return the weighted sum of variances."""
        parts = zip(self.weights, moments, self.supports, strict=True)
        total: Floats = sum((weight * (moment - support) for weight, moment, support in parts), np.zeros(1))
        return total


def held_law(k: int, support: float, others: float) -> tuple[float, ...]:
    """Return the law of how many of k items a transaction holds: all with a chance, else each with another's chance.

    >>> held_law(2, 0.25, 0.5)
    (0.25, 0.5, 0.25)
    """
    chances = [comb(k, held) * others**held * (1 - others) ** (k - held) for held in range(k)]
    return (*((1 - support) * chance / sum(chances) for chance in chances), support)


# ---- designs


@dataclass(frozen=True, slots=True)
class Design(ABC):
    """A design for transactions of m items.

    ``pattern``: ``1`` for the likelier j = 0..m; ``error``: what the search made least, infinite if P is singular;
    ``moments``: those that it was made of.
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
        """Return integer weights whose exact amplification is strictly below the limit."""

    @abstractmethod
    def report_bits(self, n_items: int, independent: int) -> int:
        """Return the length of the shortest report about so many items, the dummies among them."""

    @abstractmethod
    def generator(self, n_items: int, independent: int) -> Generator:
        """Return the generator with the shortest report."""


@dataclass(frozen=True, slots=True)
class InsertionDesign(Design):
    """A design with ρ = insert_num / 2^insert_bits."""

    insert_num: int = field(kw_only=True)
    insert_bits: int = field(kw_only=True)

    def operator(self, limit: Fraction) -> Operator:
        """Return integer weights; they aim a 2^-20 part below the limit."""
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
        return min(_lengths(n_items, self.insert_bits, independent).values())

    def generator(self, n_items: int, independent: int) -> Generator:
        """Return the generator with the shortest report."""
        return choose_generator(n_items, self.insert_bits, independent)


def _spread(weights: list[int], missing: int) -> None:
    """Add a total to the weights in place: whole steps of C(m,j) where that is largest, the rest where it is 1."""
    m = len(weights) - 1
    for j in sorted(range(m + 1), key=lambda j: (-comb(m, j), -weights[j])):
        step, missing = divmod(missing, comb(m, j))
        weights[j] += step


def reached(limit: Fraction) -> Fraction:
    """Return the γ that reports of a fixed size have within a limit; those with added items have a little less."""
    return Fraction(math.ceil(limit * _LOW_WEIGHT) - 1, _LOW_WEIGHT)


@dataclass(frozen=True, slots=True)
class FixedSizeDesign(Design):
    """A design whose reports hold ``report_size`` of ``items`` items; ``pattern`` has ``0`` for an impossible j."""

    items: int = field(kw_only=True)
    report_size: int = field(kw_only=True)

    def operator(self, limit: Fraction) -> FixedSizeOperator:
        """Return integer weights whose ratio is strictly below the limit."""
        likelier, m = int(reached(limit) * _LOW_WEIGHT), self.transaction_size
        weights = tuple(
            (likelier if high == "1" else _LOW_WEIGHT) * (0 <= self.report_size - j <= self.items - m)
            for j, high in enumerate(self.pattern)
        )
        return FixedSizeOperator(m, self.items, self.report_size, weights)

    def report_bits(self, n_items: int = 0, independent: int = 0) -> int:  # noqa: ARG002
        """Return the length of a report: no code makes it shorter."""
        return (comb(self.items, self.report_size) - 1).bit_length()

    def generator(self, n_items: int, independent: int) -> Generator:  # noqa: ARG002
        """Return that of reports without a code."""
        return Generator()


# ---- families


@dataclass(frozen=True)
class Family(ABC):
    """Designs of one kind for transactions of m items."""

    m: int

    @property
    @abstractmethod
    def chances(self) -> Floats:
        """The law of j = 0..m were all numbers equally likely ones, float64 (members, m + 1)."""

    @abstractmethod
    def added(self, given: int) -> Floats:
        """Return the chances that 0..given of so many items not held are shown, (members, 1 or m + 1, given + 1)."""

    @abstractmethod
    def design(self, member: int, pattern: str, error: float, moments: tuple[float, ...]) -> Design:
        """Return the design of one member and pattern."""

    def search(self, limit: Fraction, objective: Objective, patterns: Floats, blanket: float = 0.0) -> list[Design]:
        """Return the best design of every member that has one.

        Args:
            limit: γ.
            objective: what is made least; m items must hold its largest itemsets.
            patterns: 0 or 1 for each j = 0..m, float64 (patterns, m + 1).
            blanket: the least that an anonymous channel needs (promise/shuffling.py).
        """
        moments, singular = self.moments(float(limit), objective, patterns)
        left_out = singular | (self._sums(float(limit), patterns) * blanket > 1)
        errors = np.where(left_out, np.inf, objective.errors(moments))
        # the last of equals keeps more items; the slack makes ties independent of rounding
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
        """Return the weights 1 + (γ − 1) h[j] summed over pure noise, (patterns, members): 1 over the blankets."""
        result: Floats = self.chances.sum(axis=1) + (gamma - 1) * (patterns @ self.chances.T)
        return result

    def moments(self, gamma: float, objective: Objective, patterns: Floats) -> tuple[list[Floats], NDArray[np.bool_]]:
        """Return the moments wanted, (patterns, members), and for which of these P is singular for some size."""
        chances, orders = self.chances, range(objective.largest + 1)
        total = self._sums(gamma, patterns)
        kept = [_shown(self.m, np.arange(self.m + 1.0), given) for given in orders]
        added = [self.added(given) for given in orders]

        def mean(terms: Floats) -> Floats:
            """Return E of terms, (members, m + 1), under each pattern's weights 1 + (γ − 1) h[j]."""
            weighted = chances * terms
            result: Floats = (weighted.sum(axis=1) + (gamma - 1) * (patterns @ weighted.T)) / total
            return result

        def shown_all(i: int, h: int) -> Floats:
            result: Floats = kept[h][:, h] * added[i - h][..., i - h]
            return result

        d = [
            [mean(sum((-1) ** (s - h) * comb(s, h) * shown_all(i, h) for h in range(s + 1))) for s in range(i + 1)]
            for i in orders
        ]
        singular = np.any([np.abs(d[i][i]) < _LEAST_CONTRAST for i in orders[1:]], axis=0)
        pivots = [np.where(singular, 1.0, d[i][i]) for i in orders]
        squares = {k: [value**2 for value in _estimates(k, d, pivots)] for k in {k for k, _ in objective.wanted}}
        moments = []
        for k, law in objective.wanted:
            shown = np.zeros((*np.broadcast_shapes(chances.shape, added[0].shape[:2]), k + 1))
            for held in range(k + 1):
                for q in range(held + 1):
                    shown[..., q : q + k - held + 1] += law[held] * kept[held][:, q, None] * added[k - held]
            moments.append(sum(mean(shown[..., to]) * square for to, square in enumerate(squares[k])))
        return moments, singular  # type: ignore[return-value]


def _shown(total: int, chosen: Floats, given: int) -> Floats:
    """Return the chances that 0..given of so many given things are chosen, where ``chosen`` of ``total`` are at random.

    float64 (…, given + 1) for ``chosen`` (…).
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
    """Designs whose other items are added independently, with ρ = a/2^r each; ``grid`` has the (a, r)."""

    grid: tuple[tuple[int, int], ...]

    @property
    def _rho(self) -> Floats:
        return np.array([a / (1 << r) for a, r in self.grid])[:, None]

    @property
    def chances(self) -> Floats:
        """The binomial laws."""
        j = np.arange(self.m + 1)
        law: Floats = np.array([comb(self.m, i) for i in j]) * self._rho**j * (1 - self._rho) ** (self.m - j)
        return law

    def added(self, given: int) -> Floats:
        """Return the binomial laws of so many items."""
        return InsertionFamily(given, self.grid).chances[:, None, :]

    def design(self, member: int, pattern: str, error: float, moments: tuple[float, ...]) -> InsertionDesign:
        """Return the design of one member."""
        a, r = self.grid[member]
        return InsertionDesign(pattern, error, moments, insert_num=a, insert_bits=r)


@dataclass(frozen=True)
class FixedSizeFamily(Family):
    """Designs whose reports hold exactly ℓ of n items, for m of these, the m dummies among the n."""

    items: int
    sizes: tuple[int, ...]

    @property
    def _outside(self) -> tuple[int, Floats]:
        """Items outside the transaction, and how many of these a report shows, (members, m + 1)."""
        return self.items - self.m, np.array(self.sizes)[:, None] - np.arange(self.m + 1.0)

    @property
    def chances(self) -> Floats:
        """The hypergeometric laws; 0 where ℓ − j items outside the transaction do not exist."""
        m, outside = self.m, self.items - self.m
        ways = [[comb(m, j) * comb(outside, size - j) if size >= j else 0 for j in range(m + 1)] for size in self.sizes]
        return np.array(
            [[each / comb(self.items, size) for each in row] for row, size in zip(ways, self.sizes, strict=True)]
        )

    def added(self, given: int) -> Floats:
        """Return hypergeometric laws."""
        return _shown(*self._outside, given)

    def design(self, member: int, pattern: str, error: float, moments: tuple[float, ...]) -> FixedSizeDesign:
        """Return the design of one member."""
        size, outside = self.sizes[member], self.items - self.m
        possible = "".join(h if 0 <= size - j <= outside else "0" for j, h in enumerate(pattern))
        return FixedSizeDesign(possible, error, moments, items=self.items, report_size=size)


def insertion_family(m: int) -> InsertionFamily:
    """Return the family of every ρ = a/2^r up to ½, r up to 8, a odd and at most 15."""
    grid = [(a, r) for r in range(1, LARGEST_INSERT_BITS + 1) for a in range(1, (1 << r - 1) + 1, 2)]
    return InsertionFamily(m, tuple((a, r) for a, r in grid if _is_tried(a)))


def _is_tried(number: int) -> bool:
    """Tell whether a number has at most four binary digits up to the last 1: steps that change errors little."""
    return (number // (number & -number)).bit_length() <= _DIGITS


def papers_family(m: int, largest_insert_bits: int = LARGEST_INSERT_BITS) -> InsertionFamily:
    """Return the family of every ρ = a/2^r, a odd, r up to a largest."""
    bits = range(1, largest_insert_bits + 1)
    return InsertionFamily(m, tuple((a, r) for r in bits for a in range(1, 1 << r, 2)))


def fixed_size_family(m: int, items: int) -> FixedSizeFamily:
    """Return the family of report sizes up to half of the items whose reports are not too long for a plan."""
    sizes = filter(_is_tried, range(1, items // 2 + 1))
    return FixedSizeFamily(m, items, tuple(size for size in sizes if comb(items, size) <= 1 << MAX_FIXED_BITS))


def runs(m: int) -> Floats:
    """Return the patterns over 0..m in which the likelier numbers, or the others, are a run; (patterns, m + 1)."""
    ends = [(first, end) for end in range(1, m + 2) for first in range(end) if end - first <= m]
    inside = [[float(first <= j < end) for j in range(m + 1)] for first, end in ends]
    # the others of a run at one end are a run themselves
    return np.array(inside + [[1 - h for h in row] for row in inside if row[0] == row[m] == 0])


def thresholds(m: int) -> Floats:
    """Return the paper's patterns, 0…01…1."""
    return np.array([[float(j >= first) for j in range(m + 1)] for first in range(m, 0, -1)])


# ---- generators of independent insertion


def _lengths(n_items: int, insert_bits: int, independent: int) -> dict[str, int]:
    """Return the length of a report under every code; without one K is not limited, so that wins a tie."""
    return {
        "none": n_items,
        "bch": bch_seed_bits(n_items, insert_bits, independent),
        "reed-solomon": reed_solomon_seed_bits(n_items, insert_bits, independent),
    }


def choose_generator(n_items: int, insert_bits: int, independent: int, code: str | None = None) -> Generator:
    """Return the generator of a code, by default the one with the shortest report, BCH where seeds tie.

    Items count with the dummies, ``insert_bits`` is r, and the bits of ``independent`` = m + k items must be so.
    """
    lengths = _lengths(n_items, insert_bits, independent)
    code = code or min(lengths, key=lambda name: lengths[name])
    if code == "none":
        return Generator()
    generator = _BUILDERS[code](n_items, insert_bits, independent)
    # the theorem holds for every item; trying some of what was really built guards against a slip here
    sample = np.array(sorted({place * (n_items - 1) // 23 for place in range(24)}))
    built = item_columns(generator, insert_bits, sample)
    assert blocks_independent(built, independent, limit=40)
    return generator
