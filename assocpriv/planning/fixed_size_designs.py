"""Designs with reports of a fixed size: every ℓ and every pattern of likelier numbers of kept items.

A set t' of ℓ of the n items has a probability in proportion to γ where j = |t ∩ t'| is one of the pattern's, to 1
where it is not; this is the sharpest with amplification γ. Let f_i(h) be the chance that a report shows i given items
of which the transaction holds h. With d_{i,s} = Σ_h (−1)^(s−h) C(s,h) f_i(h) the mean of C(l', i) over reports is

    E[C(l',i) | l] = Σ_s d_{i,s} C(k−s, i−s) C(l, s)        l, l' items of an itemset of k held and shown,

so the estimate q[l'] = Σ_i b_i C(l', i) of [l = k] = C(l, k) follows by back substitution: a division by each d_{i,i},
the contrasts of single items, pairs, … (ℓ, pattern) and (n − ℓ, pattern reversed) say the same: half of the ℓ suffice.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.planning.designs import (
    LEAST_CONTRAST,
    Floats,
    InsertionDesign,
    Moments,
    MomentsOfPatterns,
    Objective,
    Progress,
    best_designs,
)
from assocpriv.plans.generator import Generator
from assocpriv.plans.operator import MAX_FIXED_BITS, MAX_FIXED_ITEMS, FixedSizeOperator
from assocpriv.promise.errors import PlanError

_LOW_WEIGHT = 1 << 20


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

    def moments(self, gamma: float, objective: Objective) -> MomentsOfPatterns:
        """Return a function of patterns (see :class:`~assocpriv.planning.designs.Family`)."""
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
            singular = np.any([np.abs(d[i][i]) < LEAST_CONTRAST for i in range(1, len(d))], axis=0)
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
    objective: Objective,
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
