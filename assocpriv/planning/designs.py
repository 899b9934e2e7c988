"""Designs of operators, searched for the least error that an amplification γ allows.

A design says which numbers of kept items are the likelier ones, its pattern h ⊆ {0..m}: the operator with w_j = γc for
j ∈ h and w_j = c elsewhere is the sharpest with amplification γ. Designs that differ in the pattern alone are a family:
all of one default probability ρ, or all of one report size. What is made least is a function of the moments
E[Z² | l of k items held] (plans/transition.py), linear in the weights but for their sum, so that all patterns of a
family cost a small matrix product.

With independent insertion the search takes every ρ = a/2^r and every pattern, or only thresholds h = {j ≥ j0}, the
paper's choice. (ρ, h) and (1−ρ, h reversed) are mirror images: half of the ρ suffice for all patterns.

With reports of a fixed size it takes every ℓ and every pattern. A set t' of ℓ of the n items has a probability in
proportion to γ where j = |t ∩ t'| is one of the pattern's, to 1 where it is not; this is the sharpest with
amplification γ. Let f_i(h) be the chance that a report shows i given items of which the transaction holds h. With
d_{i,s} = Σ_h (−1)^(s−h) C(s,h) f_i(h) the mean of C(l', i) over reports is

    E[C(l',i) | l] = Σ_s d_{i,s} C(k−s, i−s) C(l, s)        l, l' items of an itemset of k held and shown,

so the estimate q[l'] = Σ_i b_i C(l', i) of [l = k] = C(l, k) follows by back substitution: a division by each d_{i,i},
the contrasts of single items, pairs, … (ℓ, pattern) and (n − ℓ, pattern reversed) say the same: half of the ℓ suffice.

Source: EGS03, section 5; patterns other than thresholds are ours.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Protocol, TypeVar

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
from assocpriv.plans.operator import (
    MAX_FIXED_BITS,
    MAX_FIXED_ITEMS,
    MAX_WEIGHT_BITS,
    FixedSizeOperator,
    Operator,
)
from assocpriv.plans.transition import ERRORS_OF_ONE, lowest_support
from assocpriv.promise.errors import PlanError

MOST_REPORTS = 10**15  # that a plan of any kind is made for
LARGEST_INSERT_BITS = 8
_LEAST_WEIGHT_BITS = 16  # every weight is at least 2^16, so rounding moves no probability by more than 2^-16
_LOW_WEIGHT = 1 << 20
# designs whose μ_k is smaller for some k up to the largest target are left out: mining needs every size on the
# way, and a contrast that drowns in rounding would turn into a spuriously small LDS
_LEAST_CONTRAST = 1e-7
_PATTERNS_AT_ONCE = 1 << 12  # what is computed of them stays in a second cache
_BUILDERS = {"bch": bch_generator, "reed-solomon": reed_solomon_generator}
Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]
Moments = Mapping[tuple[int, int], Floats]
MomentsOfPatterns = Callable[[Floats], tuple[Moments, NDArray[np.bool_]]]
D_co = TypeVar("D_co", covariant=True)


# ---- objectives


@dataclass(frozen=True, slots=True)
class WorstSupport:
    """The largest lowest discoverable support (LDS) over some itemset sizes, with N reports.

    Where nothing below 100% can be discovered, designs are told apart by their noise at a support of a half: the root
    beyond 1 leaves out what those who hold nothing add, and would take the noisiest for as good as any.

    ``itemset_size`` is the largest whose itemsets must be estimable, where that is above all ``sizes``.
    """

    sizes: Sequence[int]
    reports: int
    itemset_size: int = 0

    @property
    def largest(self) -> int:
        """Itemset size up to which all itemsets must be estimable."""
        return max(*self.sizes, self.itemset_size)

    @property
    def wanted(self) -> list[tuple[int, int]]:
        """The (k, l) whose moments it is made of: for each size, none and all of the items held."""
        return [(k, held) for k in self.sizes for held in (0, k)]

    def errors(self, moments: Moments) -> Floats:
        """Return the worst LDS for every pattern."""
        supports = []
        for k in self.sizes:
            outside, inside = moments[k, 0], moments[k, k] - 1
            support = lowest_support(outside, inside, self.reports)
            half = np.sqrt(np.maximum(outside + inside, 0) / 2 / self.reports)
            supports.append(np.where(support > 1, 1 + ERRORS_OF_ONE * half, support))
        worst: Floats = np.max(supports, axis=0)
        return worst


# ---- families


class Family(Protocol[D_co]):
    """Designs that differ in their pattern alone."""

    @property
    def numbers(self) -> range:
        """The numbers j of kept items that can occur."""

    def moments(self, gamma: float, objective: WorstSupport) -> MomentsOfPatterns:
        """Return a function of patterns, 0 or 1 for each of ``numbers``, float64 (patterns, numbers).

        It returns the moments wanted, and for which patterns they mean nothing: P is singular for some size.
        """

    def design(self, pattern: Floats, error: float) -> D_co:
        """Return the design of one pattern over ``numbers``."""


def best_designs(
    families: Sequence[Family[D_co]],
    limit: Fraction,
    objective: WorstSupport,
    *,
    thresholds_only: bool = False,
    progress: Progress | None = None,
) -> list[D_co]:
    """Return the best design of every family, of all patterns or only of those 0…01…1."""
    designs = []
    for done, family in enumerate(families, 1):
        patterns, errors = pattern_errors(family, limit, objective, thresholds_only=thresholds_only)
        # the last of equals keeps more items; the slack makes ties independent of rounding
        best = int(np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[-1])
        designs.append(family.design(patterns[best], float(errors[best])))
        if progress:
            progress(done, len(families))
    return designs


def pattern_errors(
    family: Family[D_co], limit: Fraction, objective: WorstSupport, *, thresholds_only: bool = False
) -> tuple[Floats, Floats]:
    """Return the patterns of a family, (patterns, numbers), and the objective of each, infinite where P is singular."""
    patterns = patterns_of(len(family.numbers), thresholds_only=thresholds_only)
    moments_of, errors = family.moments(float(limit), objective), []
    for part in np.array_split(patterns, -(-len(patterns) // _PATTERNS_AT_ONCE)):
        moments, singular = moments_of(part)
        errors.append(np.where(singular, np.inf, objective.errors(moments)))
    return patterns, np.concatenate(errors)


def patterns_of(count: int, *, thresholds_only: bool = False) -> Floats:
    """Return the patterns over so many numbers as rows of 0 and 1, constant ones left out."""
    if thresholds_only:
        return np.array([[float(j >= j0) for j in range(count)] for j0 in range(count - 1, 0, -1)])
    codes = np.arange(1, (1 << count) - 1)
    return (codes[:, None] >> np.arange(count) & 1).astype(np.float64)


# ---- independent insertion


@dataclass(frozen=True, slots=True)
class InsertionDesign:
    """A design with ρ = insert_num / 2^insert_bits.

    ``pattern``: ``1`` for the likelier j = 0..m; ``error``: what the search made least, infinite if P is singular.
    """

    insert_num: int
    insert_bits: int
    pattern: str
    error: float = math.nan

    def operator(self, limit: Fraction) -> Operator:
        """Return integer weights whose exact amplification is strictly below the limit; they aim a 2^-20 part below."""
        m, rest = len(self.pattern) - 1, (1 << self.insert_bits) - self.insert_num
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

    def report_bits(self, code: str, n_items: int, independent: int) -> int:
        """Return the length of a report under a code."""
        return report_bits(code, n_items, self.insert_bits, independent)

    def generator(self, code: str, n_items: int, independent: int) -> Generator:
        """Return the generator asked for."""
        return choose_generator(code, n_items, self.insert_bits, independent)


def _spread(weights: list[int], missing: int) -> None:
    """Add a total to the weights in place: whole steps of C(m,j) where that is largest, the rest where it is 1."""
    m = len(weights) - 1
    for j in sorted(range(m + 1), key=lambda j: (-comb(m, j), -weights[j])):
        step, missing = divmod(missing, comb(m, j))
        weights[j] += step


@dataclass(frozen=True, slots=True)
class InsertionFamily:
    """The designs of one ρ = insert_num / 2^insert_bits for m items.

    With Z in closed form E[Z² | l held] = (ρ(1−ρ))^(k−l) Σ_i C(l,i) ρ^(2(l−i)) (1−2ρ)^i π_i / μ_k².
    """

    m: int
    insert_num: int
    insert_bits: int

    @property
    def numbers(self) -> range:
        """All of 0..m."""
        return range(self.m + 1)

    def moments(self, gamma: float, objective: WorstSupport) -> MomentsOfPatterns:
        """Return a function of patterns (see :class:`Family`)."""
        m, rho, j = self.m, self.insert_num / (1 << self.insert_bits), np.arange(self.m + 1)
        chances = np.array([comb(m, i) for i in j]) * rho**j * (1 - rho) ** (m - j)
        orders = range(objective.largest + 1)
        keep = np.array([[comb(m - i, x - i) / comb(m, x) if x >= i else 0.0 for x in j] for i in orders])
        terms = (chances * keep).T

        def of(patterns: Floats) -> tuple[Moments, NDArray[np.bool_]]:
            # p[j] is (1 + (γ−1) h[j]) · chances[j] over its sum, which stands in the column of π_0 = 1
            shares = terms.sum(axis=0) + (gamma - 1) * (patterns @ terms)
            pi = shares / shares[:, :1]
            contrasts = [sum(comb(k, i) * (-rho) ** (k - i) * pi[:, i] for i in range(k + 1)) for k in orders[1:]]
            singular = np.any([np.abs(mu) < _LEAST_CONTRAST for mu in contrasts], axis=0)
            squares = [np.maximum(mu * mu, _LEAST_CONTRAST**2) for mu in contrasts]
            moments = {}
            for k, held in objective.wanted:
                terms_held = (
                    comb(held, i) * rho ** (2 * (held - i)) * (1 - 2 * rho) ** i * pi[:, i] for i in range(held + 1)
                )
                moments[k, held] = (rho * (1 - rho)) ** (k - held) * sum(terms_held) / squares[k - 1]
            return moments, singular

        return of

    def design(self, pattern: Floats, error: float) -> InsertionDesign:
        """Return the design of one pattern."""
        return InsertionDesign(self.insert_num, self.insert_bits, "".join("01"[int(h)] for h in pattern), error)


def insertion_families(
    m: int, largest_insert_bits: int = LARGEST_INSERT_BITS, *, thresholds_only: bool = False
) -> list[InsertionFamily]:
    """Return the families of every ρ = a/2^r, a odd, r up to a largest; for all patterns half of the ρ suffice."""
    grid = [(a, r) for r in range(1, largest_insert_bits + 1) for a in range(1, 1 << r, 2)]
    return [InsertionFamily(m, a, r) for a, r in grid if thresholds_only or 2 * a <= 1 << r]


def search_designs(
    m: int,
    limit: Fraction,
    objective: WorstSupport,
    *,
    thresholds_only: bool = False,
    largest_insert_bits: int = LARGEST_INSERT_BITS,
    progress: Progress | None = None,
) -> list[InsertionDesign]:
    """Return the best design of every ρ = a/2^r with r up to a largest."""
    families = insertion_families(m, largest_insert_bits, thresholds_only=thresholds_only)
    return best_designs(families, limit, objective, thresholds_only=thresholds_only, progress=progress)


# ---- generators of independent insertion


def report_bits(code: str, n_items: int, insert_bits: int, independent: int) -> int:
    """Return the length of a report under a code; ``auto`` is the shortest of all."""
    lengths = _lengths(n_items, insert_bits, independent)
    return lengths[code] if code in lengths else min(lengths.values())


def _lengths(n_items: int, insert_bits: int, independent: int) -> dict[str, int]:
    """Return the length of a report under every code; without one K is not limited, so that wins a tie."""
    return {
        "none": n_items,
        "bch": bch_seed_bits(n_items, insert_bits, independent),
        "reed-solomon": reed_solomon_seed_bits(n_items, insert_bits, independent),
    }


def choose_generator(code: str, n_items: int, insert_bits: int, independent: int) -> Generator:
    """Return the generator asked for; ``auto`` takes the one with the shortest report, BCH where seeds tie.

    Items count with the dummies, ``insert_bits`` is r, and the bits of ``independent`` = m + k items must be so.
    """
    if code == "auto":
        lengths = _lengths(n_items, insert_bits, independent)
        code = min(lengths, key=lambda name: lengths[name])
    if code == "none":
        return Generator()
    generator = _BUILDERS[code](n_items, insert_bits, independent)
    # the theorem holds for every item; trying some of what was really built guards against a slip here
    sample = np.unique(np.linspace(0, n_items - 1, 24).astype(np.int64))
    built = item_columns(generator, insert_bits, sample)
    assert blocks_independent(built, independent, limit=200)
    return generator


# ---- reports of a fixed size


@dataclass(frozen=True, slots=True)
class FixedSizeDesign:
    """A design whose reports hold ``report_size`` of ``items`` items; ``pattern`` has ``0`` for an impossible j."""

    items: int
    report_size: int
    pattern: str
    error: float = math.nan

    def operator(self, limit: Fraction) -> FixedSizeOperator:
        """Return integer weights whose ratio is strictly below the limit."""
        likelier, m = math.ceil(limit * _LOW_WEIGHT) - 1, len(self.pattern) - 1
        weights = tuple(
            (likelier if high == "1" else _LOW_WEIGHT) * (0 <= self.report_size - j <= self.items - m)
            for j, high in enumerate(self.pattern)
        )
        return FixedSizeOperator(m, self.items, self.report_size, weights)

    def report_bits(self, _code: str = "none", _n_items: int = 0, _independent: int = 0) -> int:
        """Return the length of a report: no code makes it shorter."""
        return (comb(self.items, self.report_size) - 1).bit_length()

    def generator(self, _code: str, _n_items: int, _independent: int) -> Generator:
        """Return that of reports without a code."""
        return Generator()


@dataclass(frozen=True, slots=True)
class FixedSizeFamily:
    """The designs of one report size ℓ, for m of n items, the m dummies among them."""

    m: int
    items: int
    report_size: int

    @property
    def numbers(self) -> range:
        """The numbers j that leave room for ℓ − j items outside the transaction."""
        return range(max(0, self.report_size - self.items + self.m), min(self.m, self.report_size) + 1)

    def moments(self, gamma: float, objective: WorstSupport) -> MomentsOfPatterns:
        """Return a function of patterns (see :class:`Family`)."""
        outside, size = self.items - self.m, self.report_size
        kept = np.array(self.numbers, dtype=np.float64)
        chances = np.array([comb(self.m, j) * comb(outside, size - j) / comb(self.items, size) for j in self.numbers])
        inside = _Choice(self.m, kept), _Choice(outside, size - kept)
        differences = [chances[:, None] * _differences(*inside, i) for i in range(objective.largest + 1)]
        laws = {(k, held): chances[:, None] * _law(*inside, k, held) for k, held in objective.wanted}

        def of(patterns: Floats) -> tuple[Moments, NDArray[np.bool_]]:
            total = chances.sum() + (gamma - 1) * (patterns @ chances)

            def mean(terms: Floats) -> Floats:
                """Return E of terms under each pattern's weights 1 + (γ − 1) h[j], the columns first."""
                mixed: Floats = (terms.sum(axis=0) + (gamma - 1) * (patterns @ terms)).T / total
                return mixed

            d = [mean(terms) for terms in differences]
            singular = np.any([np.abs(d[i][i]) < _LEAST_CONTRAST for i in range(1, len(d))], axis=0)
            pivots = [np.where(singular, 1.0, d[i][i]) for i in range(len(d))]
            squares = {k: _estimates(k, d, pivots) ** 2 for k, _ in laws}
            return {(k, held): (mean(law) * squares[k]).sum(axis=0) for (k, held), law in laws.items()}, singular

        return of

    def design(self, pattern: Floats, error: float) -> FixedSizeDesign:
        """Return the design of one pattern."""
        likelier = dict(zip(self.numbers, pattern, strict=True))
        name = "".join("01"[int(likelier.get(j, 0))] for j in range(self.m + 1))
        return FixedSizeDesign(self.items, self.report_size, name, error)


@dataclass(frozen=True, slots=True)
class _Choice:
    """How many of ``total`` things are chosen at random, for each number j of kept items, float64 (j,)."""

    total: int
    chosen: Floats

    def all_of(self, given: int) -> Floats:
        """Return the chance that all of so many given things are chosen."""
        chance = np.ones(len(self.chosen))
        for i in range(given):
            chance *= (self.chosen - i) / (self.total - i)
        return chance

    def numbers_of(self, given: int) -> Floats:
        """Return the chances that 0 … all of so many given things are chosen, (j, given + 1)."""
        columns = []
        for shown in range(given + 1):
            others = [(self.total - self.chosen - i) / (self.total - shown - i) for i in range(given - shown)]
            columns.append(comb(given, shown) * math.prod(others, start=self.all_of(shown)))
        return np.column_stack(columns)


def _differences(kept: _Choice, added: _Choice, i: int) -> Floats:
    """Return d_{i,s} by s = 0..i, (j, i + 1)."""
    shown = [kept.all_of(h) * added.all_of(i - h) for h in range(i + 1)]
    return np.column_stack([sum((-1) ** (s - h) * comb(s, h) * shown[h] for h in range(s + 1)) for s in range(i + 1)])


def _law(kept: _Choice, added: _Choice, k: int, held: int) -> Floats:
    """Return the chances that l' = 0..k items are shown of k of which so many are held, (j, k + 1)."""
    of_held, of_others = kept.numbers_of(held), added.numbers_of(k - held)
    law = np.zeros((len(kept.chosen), k + 1))
    for q in range(held + 1):
        law[:, q : q + k - held + 1] += of_held[:, q, None] * of_others
    return law


def _estimates(k: int, d: Sequence[Floats], pivots: Sequence[Floats]) -> Floats:
    """Return q[l'] for itemsets of k items by back substitution, (k + 1, patterns)."""
    none = np.zeros(len(pivots[0]))
    b = [none] * (k + 1)
    for s in range(k, -1, -1):
        rest = sum((b[i] * d[i][s] * comb(k - s, i - s) for i in range(s + 1, k + 1)), none)
        b[s] = (float(s == k) - rest) / pivots[s]
    return np.array([sum((b[i] * comb(shown, i) for i in range(shown + 1)), none) for shown in range(k + 1)])


AnyDesign = InsertionDesign | FixedSizeDesign


def fixed_size_families(m: int, items: int, report_sizes: Iterable[int]) -> list[FixedSizeFamily]:
    """Return the families of those report sizes whose reports are not too long for a plan."""
    return [FixedSizeFamily(m, items, size) for size in report_sizes if comb(items, size) <= 1 << MAX_FIXED_BITS]


def search_fixed_designs(
    m: int,
    items: int,
    limit: Fraction,
    objective: WorstSupport,
    *,
    thresholds_only: bool = False,
    progress: Progress | None = None,
) -> list[FixedSizeDesign]:
    """Return the best design of every report size ℓ for m of n items; of half of these where all patterns are tried."""
    if not m + objective.largest <= items <= MAX_FIXED_ITEMS:
        raise PlanError(
            f"reports of a fixed size need {objective.largest} to {MAX_FIXED_ITEMS - m} items, got {items - m}; "
            "plan reports with independent insertion"
        )
    families = fixed_size_families(m, items, range(1, items if thresholds_only else items // 2 + 1))
    return best_designs(families, limit, objective, thresholds_only=thresholds_only, progress=progress)
