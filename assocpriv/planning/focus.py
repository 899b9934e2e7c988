"""Expected squared error: the operator that errs least on itemsets like those that are expected.

A focus says which itemset sizes matter how much, and which shares s_0 … s_k of the transactions hold 0 … k items of a
typical itemset. Then

    N · (mean squared error) = Σ_k weight_k · (Σ_l s_l E[Z²|l] − s_k).

Popular items make the error of who holds them, E[Z²|k], count as much as the noise of who does not.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from assocpriv.core.errors import PlanError
from assocpriv.planning.designs import Family, Floats, Moments, insertion_families, pattern_errors
from assocpriv.planning.fixed_size_designs import AnyDesign, fixed_size_families
from assocpriv.plans.baskets.operator import AnyOperator
from assocpriv.plans.baskets.transition import SupportModel

_INSERT_BITS = 7
_MOST_FIXED_ITEMS = 400  # with the dummies; beyond, independent insertion is as good


@dataclass(frozen=True, slots=True)
class Focus:
    """What is expected of the itemsets that matter.

    ``sizes``: for each itemset size k = 1, 2, … its weight and the shares (s_0, …, s_k), which sum to 1; hashable.
    """

    sizes: tuple[tuple[int, float, tuple[float, ...]], ...]

    @property
    def largest(self) -> int:
        """The largest itemset size."""
        return max(k for k, _, _ in self.sizes)

    @property
    def wanted(self) -> list[tuple[int, int]]:
        """All numbers of items held, of every size."""
        return [(k, held) for k, _, _ in self.sizes for held in range(k + 1)]

    def errors(self, moments: Moments) -> Floats:
        """Return N times the mean squared error for every pattern, float64 (patterns,)."""
        total = np.zeros(len(next(iter(moments.values()))))
        for k, weight, shares in self.sizes:
            by_held = np.column_stack([moments[k, held] for held in range(k + 1)])
            total += weight * (by_held @ np.array(shares) - shares[-1])
        return total

    def error(self, operator: AnyOperator) -> float:
        """Return N times the mean squared error of estimates from reports of an operator."""
        model = SupportModel.of(operator)
        return float(self.errors({key: np.array([float(model.second_moment(*key))]) for key in self.wanted})[0])


def single_focus(support: float) -> Focus:
    """Return the focus on single items of one support."""
    return Focus(((1, 1.0, (1 - support, support)),))


@lru_cache(maxsize=512)
def focused_design(m: int, items: int, limit: Fraction, focus: Focus) -> AnyDesign:
    """Return the design with the least error in a focus, of either kind, for m of ``items`` items, dummies included."""
    families: list[Family[AnyDesign]] = [*insertion_families(m, _INSERT_BITS)]
    if m + focus.largest <= items <= _MOST_FIXED_ITEMS:
        families += fixed_size_families(m, items, _report_sizes(items, focus.largest))
    least, best = math.inf, None
    for family in families:
        patterns, errors = pattern_errors(family, limit, focus)
        place = int(errors.argmin())
        if errors[place] < least:
            least = float(errors[place])
            best = family.design(patterns[place], least)
    if best is None:
        raise PlanError("no operator within this promise lets supports be estimated")
    return best


@lru_cache(maxsize=512)
def focused_operator(m: int, items: int, limit: Fraction, focus: Focus) -> AnyOperator:
    """Return the operator of the design with the least error in a focus (:func:`focused_design`)."""
    return focused_design(m, items, limit, focus).operator(limit)


def _report_sizes(items: int, smallest: int) -> list[int]:
    """Return the report sizes tried: all small ones, then every second, …: the error changes slowly with large ℓ."""
    sizes, size = [], smallest
    while size <= items // 2:
        sizes.append(size)
        size += max(1, size // 8)
    return sizes
