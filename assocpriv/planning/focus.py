"""The operator with the least mean squared error on itemsets like those that are expected.

The lowest discoverable support looks at the smallest supports; rounds know more. A focus says which itemset sizes
matter how much, and which shares s_0 … s_k of the transactions hold 0 … k items of a typical itemset. Then

    N · (mean squared error) = Σ_k weight_k · (Σ_l s_l E[Z²|l] − s_k)

is linear in E[Z²|l] (plans/baskets/transition.py), and all patterns of one ρ, or of one report size ℓ, are tried at
once. Popular items make the error of who holds them, E[Z²|k], count as much as the noise of who does not.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import PlanError
from assocpriv.planning.designs import Design, independent_moments, patterns_of, round_design
from assocpriv.planning.fixed_size_designs import FixedDesign, fixed_moments, round_fixed_design, usable_sizes
from assocpriv.plans.baskets.operator import AnyOperator
from assocpriv.plans.baskets.transition import SupportModel

_INSERT_BITS = 7
_MOST_FIXED_ITEMS = 400  # with the dummies; beyond, independent insertion is as good
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Focus:
    """What is expected of the itemsets that matter.

    ``sizes``: for each itemset size k its weight and the shares (s_0, …, s_k), which sum to 1; hashable.
    """

    sizes: tuple[tuple[int, float, tuple[float, ...]], ...]

    @property
    def largest(self) -> int:
        """The largest itemset size."""
        return max(k for k, _, _ in self.sizes)

    def error(self, operator: AnyOperator) -> float:
        """Return N times the mean squared error of estimates from reports of an operator."""
        model = SupportModel.of(operator)
        total = 0.0
        for k, weight, shares in self.sizes:
            moments = [float(model.second_moment(k, held)) for held in range(k + 1)]
            total += weight * (sum(s * moment for s, moment in zip(shares, moments, strict=True)) - shares[-1])
        return total

    def mean(self, moments: "list[Floats]") -> Floats:
        """Return the error for every pattern from E[Z²|l] of each size, float64 (patterns, k + 1) for k = 1, 2, …"""
        total = np.zeros(len(moments[0]))
        for k, weight, shares in self.sizes:
            total += weight * (moments[k - 1] @ np.array(shares) - shares[-1])
        return total


def single_focus(support: float) -> Focus:
    """Return the focus on single items of one support."""
    return Focus(((1, 1.0, (1 - support, support)),))


@lru_cache(maxsize=512)
def focused_operator(m: int, items: int, limit: Fraction, focus: Focus) -> AnyOperator:
    """Return the operator with the least error in a focus, of either kind.

    Args:
        m: transaction size.
        items: number of items, the m dummies included.
        limit: γ of the promise.
        focus: what matters; its largest itemset has at most m items.

    Raises:
        PlanError: no operator fits.
    """
    best: tuple[float, Design | FixedDesign | None] = (math.inf, None)
    patterns = patterns_of(m)
    for bits in range(1, _INSERT_BITS + 1):
        for num in range(1, (1 << bits) // 2 + 1, 2):  # (ρ, pattern) and (1 − ρ, pattern reversed) say the same
            errors = focus.mean(independent_moments(patterns, num / (1 << bits), float(limit), m, focus.largest))
            place = int(errors.argmin())
            if errors[place] < best[0]:
                design = Design(num, bits, "".join("01"[int(h)] for h in patterns[place]), 0.0)
                best = float(errors[place]), design
    if items <= _MOST_FIXED_ITEMS and items >= m + focus.largest:
        for size in _report_sizes(items, focus.largest):
            for numbers, tried, moments in fixed_moments(m, items, size, float(limit), focus.largest):
                errors = focus.mean(moments)
                place = int(errors.argmin())
                if errors[place] < best[0]:
                    likelier = dict(zip(numbers, tried[place], strict=True))
                    pattern = "".join("01"[int(likelier.get(j, 0))] for j in range(m + 1))
                    best = float(errors[place]), FixedDesign(items, size, pattern, 0.0)
    design_found = best[1]
    if design_found is None:
        raise PlanError("no operator within this promise lets supports be estimated")
    if isinstance(design_found, FixedDesign):
        return round_fixed_design(design_found, m, limit)
    return round_design(design_found, m, limit)


def _report_sizes(items: int, smallest: int) -> list[int]:
    """Return the report sizes tried: all small ones, then every second, …: the error changes slowly with large ℓ."""
    usable, sizes, size = set(usable_sizes(items, items // 2)), [], smallest
    while size <= items // 2:
        if size in usable:
            sizes.append(size)
        size += max(1, size // 8)
    return sizes
