"""The best reports of a fixed size: every ℓ and every pattern of likelier numbers of kept items.

A set t' of ℓ of the n items has a probability in proportion to γ where j = |t ∩ t'| is one of the pattern's, to 1
where it is not; this is the sharpest with amplification γ. Let f_i(h) be the chance that a report shows i given items
of which the transaction holds h. With d_{i,s} = Σ_h (−1)^(s−h) C(s,h) f_i(h) the mean of C(l', i) over reports is

    E[C(l',i) | l] = Σ_s d_{i,s} C(k−s, i−s) C(l, s)        l, l' items of an itemset of k held and shown,

so the estimate q[l'] = Σ_i b_i C(l', i) of [l = k] = C(l, k) follows by back substitution: a division by each d_{i,i},
the contrasts of single items, pairs, … Everything is linear in the weights, so all 2^(m+1) patterns of one ℓ cost a
small matrix product. (ℓ, pattern) and (n − ℓ, pattern reversed) say the same: half of the ℓ suffice.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import PlanError
from assocpriv.planning.designs import LEAST_CONTRAST
from assocpriv.plans.baskets.operator import MAX_FIXED_BITS, MAX_FIXED_ITEMS, FixedSizeOperator
from assocpriv.plans.baskets.transition import lowest_support

_PATTERNS_AT_ONCE = 1 << 12
_LOW_WEIGHT = 1 << 20
Progress = Callable[[int, int], None]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FixedDesign:
    """A point of the search: reports of ``report_size`` of ``items`` items, the likelier j = 0..m, and its worst LDS.

    The pattern has ``0`` for a j that cannot occur.
    """

    items: int
    report_size: int
    pattern: str
    worst_support: float

    @property
    def report_bits(self) -> int:
        """Length of a report in bits."""
        return (comb(self.items, self.report_size) - 1).bit_length()


def search_fixed_designs(
    m: int,
    items: int,
    limit: Fraction,
    sizes: Sequence[int],
    reports: int,
    *,
    itemset_size: int | None = None,
    thresholds_only: bool = False,
    most_bits: int = MAX_FIXED_BITS,
    progress: Progress | None = None,
) -> list[FixedDesign]:
    """Return the best design of every report size ℓ ≤ n/2.

    Args:
        m: transaction size.
        items: number of items n, the m dummies included.
        limit: γ of the promise.
        sizes: itemset sizes k whose LDS counts; the worst of them is minimized.
        reports: number of reports N.
        itemset_size: all itemsets of up to so many items must be estimable, so ℓ is no less; max(sizes) by default.
        thresholds_only: only patterns 0…01…1; then all ℓ are tried.
        most_bits: longer reports are left out.
        progress: called with (done, total).

    Raises:
        PlanError: there are fewer real items than an itemset has, or more items than such reports may have.
    """
    largest = max(*sizes, itemset_size or 0)
    if not m + largest <= items <= MAX_FIXED_ITEMS:
        raise PlanError(
            f"reports of a fixed size need {largest} to {MAX_FIXED_ITEMS - m} items, got {items - m}; "
            "plan reports with independent insertion"
        )
    tried = usable_sizes(items, items - 1 if thresholds_only else items // 2, most_bits)
    wanted = [(k, held) for k in sizes for held in (0, k)]
    designs = []
    for done, size in enumerate(tried):
        terms = _Terms.of(m, items, size, wanted, largest)
        best = math.inf, ""
        for patterns in _patterns(len(terms.numbers), thresholds_only):
            worst = _worst_supports(terms, patterns, float(limit), sizes, reports)
            # the last of equals keeps more items; the slack makes ties independent of rounding
            place = int(np.flatnonzero(worst <= worst.min() * (1 + 1e-12))[-1])
            if worst[place] <= best[0] * (1 + 1e-12):
                likelier = dict(zip(terms.numbers, patterns[place], strict=True))
                best = float(worst[place]), "".join("01"[int(likelier.get(j, 0))] for j in range(m + 1))
        designs.append(FixedDesign(items, size, best[1], best[0]))
        if progress:
            progress(done + 1, len(tried))
    return designs


def usable_sizes(items: int, largest: int, most_bits: int = MAX_FIXED_BITS) -> list[int]:
    """Return the report sizes from 1 to ``largest`` whose reports take at most so many bits."""
    return [size for size in range(1, largest + 1) if (comb(items, size) - 1).bit_length() <= most_bits]


def fixed_moments(
    m: int, items: int, size: int, gamma: float, largest: int
) -> Iterator[tuple[range, Floats, list[Floats]]]:
    """Yield what any measure of error can be made of, for all patterns of one ℓ, some thousands at a time.

    Args:
        m: transaction size.
        items: number of items n, the m dummies included, at least m + largest.
        size: ℓ.
        gamma: the amplification.
        largest: itemset size up to which moments are wanted; all of them must be estimable.

    Yields:
        The numbers j of kept items that can occur; patterns over them, 0 or 1, (patterns, j); for k = 1 … largest
        E[Z² | l of the k items held], (patterns, k + 1), infinite where some of the sizes cannot be estimated.
    """
    wanted = [(k, held) for k in range(1, largest + 1) for held in range(k + 1)]
    terms = _Terms.of(m, items, size, wanted, largest)
    for patterns in _patterns(len(terms.numbers), thresholds_only=False):
        moments, singular = terms.second_moments(patterns, gamma)
        columns = {key: np.where(singular, np.inf, moment) for key, moment in moments.items()}
        yield (
            terms.numbers,
            patterns,
            [np.column_stack([columns[k, held] for held in range(k + 1)]) for k in range(1, largest + 1)],
        )


def _worst_supports(terms: "_Terms", patterns: Floats, gamma: float, sizes: Sequence[int], reports: int) -> Floats:
    """Return the worst LDS over the sizes for every pattern, float64 (patterns,)."""
    moments, singular = terms.second_moments(patterns, gamma)
    worst = np.where(singular, np.inf, 0.0)
    for k in sizes:
        worst = np.maximum(worst, lowest_support(moments[k, 0], moments[k, k] - 1, reports))
    return worst


def _patterns(count: int, thresholds_only: bool) -> Iterator[Floats]:
    """Yield the patterns over so many numbers as rows of 0 and 1, constant ones left out, some thousands at a time."""
    if thresholds_only:
        yield np.array([[float(j >= j0) for j in range(count)] for j0 in range(count - 1, 0, -1)])
        return
    for start in range(1, (1 << count) - 1, _PATTERNS_AT_ONCE):
        numbers = np.arange(start, min(start + _PATTERNS_AT_ONCE, (1 << count) - 1))
        yield (numbers[:, None] >> np.arange(count) & 1).astype(np.float64)


@dataclass(frozen=True)
class _Terms:
    """What one ℓ contributes, for each number j of kept items that can occur, times the share of sets that keep j.

    Attributes:
        numbers: these j.
        chances: the shares themselves, (j,).
        differences: for each i ≤ the largest itemset size, of d_{i,s} by s, (j, i + 1).
        laws: for each size k and number l of its items held that is wanted, of the law of l', (j, k + 1).
    """

    numbers: range
    chances: Floats
    differences: list[Floats]
    laws: dict[tuple[int, int], Floats]

    @classmethod
    def of(cls, m: int, items: int, size: int, wanted: Iterable[tuple[int, int]], largest: int) -> "_Terms":
        outside = items - m
        numbers = range(max(0, size - outside), min(m, size) + 1)
        j = np.array(numbers, dtype=np.float64)
        chances = np.array([comb(m, x) * comb(outside, size - x) / comb(items, size) for x in numbers])
        differences, laws = [], {}
        for i in range(largest + 1):
            shown = [_all_chosen(m, j, h) * _all_chosen(outside, size - j, i - h) for h in range(i + 1)]
            terms = [sum((-1) ** (s - h) * comb(s, h) * shown[h] for h in range(s + 1)) for s in range(i + 1)]
            differences.append(chances[:, None] * np.column_stack(terms))
        for k, held in wanted:
            kept, added = _hypergeometric(m, j, held), _hypergeometric(outside, size - j, k - held)
            law = np.zeros((len(j), k + 1))
            for q in range(held + 1):
                law[:, q : q + k - held + 1] += kept[:, q, None] * added
            laws[k, held] = chances[:, None] * law
        return cls(numbers, chances, differences, laws)

    def second_moments(self, patterns: Floats, gamma: float) -> tuple[dict[tuple[int, int], Floats], NDArray[np.bool_]]:
        """Return E[Z² | l held] under each pattern, as wanted, and for which patterns P is singular.

        Where it is, the moments mean nothing.
        """

        def mean(terms: Floats) -> Floats:
            """Return E of terms under each pattern's weights 1 + (γ − 1) h[j], the columns first."""
            mixed: Floats = (terms.sum(axis=0) + (gamma - 1) * (patterns @ terms)).T / total
            return mixed

        total = self.chances.sum() + (gamma - 1) * (patterns @ self.chances)
        d = [mean(terms) for terms in self.differences]
        singular = np.zeros(len(patterns), dtype=np.bool_)
        for i in range(1, len(d)):
            singular |= np.abs(d[i][i]) < LEAST_CONTRAST
        pivots = [np.where(singular, 1.0, d[i][i]) for i in range(len(d))]
        squares = {k: _estimates(k, d, pivots) ** 2 for k, _ in self.laws}
        return {(k, held): (mean(law) * squares[k]).sum(axis=0) for (k, held), law in self.laws.items()}, singular


def _estimates(k: int, d: Sequence[Floats], pivots: Sequence[Floats]) -> Floats:
    """Return q[l'] for itemsets of k items by back substitution, (k + 1, patterns)."""
    none = np.zeros(len(pivots[0]))
    b = [none] * (k + 1)
    for s in range(k, -1, -1):
        rest = sum((b[i] * d[i][s] * comb(k - s, i - s) for i in range(s + 1, k + 1)), none)
        b[s] = (float(s == k) - rest) / pivots[s]
    return np.array([sum((b[i] * comb(shown, i) for i in range(shown + 1)), none) for shown in range(k + 1)])


def _all_chosen(total: int, chosen: Floats, given: int) -> Floats:
    """Return the chance that ``given`` of ``total`` things are all among ``chosen`` of them taken at random."""
    chance = np.ones(len(chosen))
    for i in range(given):
        chance *= (chosen - i) / (total - i)
    return chance


def _hypergeometric(total: int, chosen: Floats, given: int) -> Floats:
    """Return the chances that 0 … ``given`` of as many things are among those chosen, (chosen, given + 1)."""
    columns = []
    for shown in range(given + 1):
        others = [(total - chosen - i) / (total - shown - i) for i in range(given - shown)]
        columns.append(comb(given, shown) * math.prod(others, start=_all_chosen(total, chosen, shown)))
    return np.column_stack(columns)


def round_fixed_design(design: FixedDesign, m: int, limit: Fraction) -> FixedSizeOperator:
    """Return the design's operator, with integer weights whose ratio is strictly below the limit."""
    likelier = math.ceil(limit * _LOW_WEIGHT) - 1
    weights = tuple(
        (likelier if high == "1" else _LOW_WEIGHT) * (0 <= design.report_size - j <= design.items - m)
        for j, high in enumerate(design.pattern)
    )
    return FixedSizeOperator(m, design.items, design.report_size, weights)
