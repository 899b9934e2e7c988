"""Guidance and a tuple → the weight with which each bit is released, in integers; both sides compute with these alone.

With P = V Vᵀ (times 2^40) and the positions of a tuple's set bits:

    t̃      = the sum of those rows of P, exactly                            equation (7)
    a_j    = ⌊(|t̃_j| + 2^23) / 2^24⌋: |t̃_j| in units of 2^-16, rounded half up
    w_j    = min(a_j², 2^32), of 2^32                                       equation (8), probabilities above 1 clipped

Where a promise is kept by bits, w_j is mixed with a fair coin, λ = coin / 2^16, which takes a draw below 2^49:

    m_j    = coin·2^32 + (2^16 − coin)·2·w_j, of 2^49

``coin`` is the least with which Π_j max(hi_j/lo_j, (2^49 − lo_j)/(2^49 − hi_j)) is at most the plan's γ, where lo_j and
hi_j are bounds of m_j over all tuples. t̃_j is a sum over attributes, so the least and the largest of each add up; the
bits of a report are drawn independently, so the product of their ratios bounds that of any two tuples.

All numbers stay below 2^53: by |t̃_j| ≤ √n·‖P‖ and ‖P‖ < 2^41 for guidance that passed its check.

Source: ZWZ05, section 4.2.
"""

from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.guided.guidance import Guidance
from assocpriv.plans.guided.plan import GuidedPlan
from assocpriv.plans.guided.safeguards import TUPLE_BITS, BitMix, TupleMix

WEIGHT_TOTAL = 1 << 32
COIN_TOTAL = 1 << 16
MIXED_TOTAL = 2 * WEIGHT_TOTAL * COIN_TOTAL
_HALF, _SHIFT = 1 << 23, 24


def projected(guidance: Guidance, plan: GuidedPlan, positions: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return t̃ of tuples, int64 (n, w), times 2^40, of the values' positions, (n, attributes)."""
    rows = guidance.projection
    total = np.zeros((len(positions), plan.width), dtype=np.int64)
    for offset, column in zip(plan.offsets.tolist(), positions.T, strict=True):
        total += rows[column + offset]
    return total


def weights_of(shares: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weights of t̃, int64 of any shape, before clipping: a², which may exceed 2^32."""
    rounded = (np.abs(shares) + _HALF) >> _SHIFT
    return rounded * rounded


def bit_weights(guidance: Guidance, plan: GuidedPlan, positions: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the weights w_j of the bits of R(t), of 2^32, int64 (n, w), of the values' positions, (n, attributes)."""
    return np.minimum(weights_of(projected(guidance, plan, positions)), WEIGHT_TOTAL)


def weight_bounds(guidance: Guidance, plan: GuidedPlan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return bounds of each bit's weight over all tuples, int64 (w,) and (w,); the second is attained."""
    starts = plan.offsets
    low = np.minimum.reduceat(guidance.projection, starts, axis=0).sum(axis=0)
    high = np.maximum.reduceat(guidance.projection, starts, axis=0).sum(axis=0)
    ends = np.minimum(weights_of(np.stack([low, high])), WEIGHT_TOTAL)
    least = np.where((low <= 0) & (high >= 0), 0, ends.min(axis=0))
    return least, ends.max(axis=0)


def mixed(weights: NDArray[np.int64], coin: int) -> NDArray[np.int64]:
    """Return weights of 2^32 mixed with a fair coin, of 2^49."""
    return coin * WEIGHT_TOTAL + (COIN_TOTAL - coin) * 2 * weights


def ratio_of(low: NDArray[np.int64], high: NDArray[np.int64], coin: int) -> Fraction | None:
    """Return the product of every bit's largest ratio when mixed; None where 0 or all stands beside another."""
    worst = []
    for a, b in zip(mixed(low, coin).tolist(), mixed(high, coin).tolist(), strict=True):
        if a == b:
            continue
        if a == 0 or b == MIXED_TOTAL:
            return None
        up, down = (b, a), (MIXED_TOTAL - a, MIXED_TOTAL - b)
        worst.append(up if up[0] * down[1] >= down[0] * up[1] else down)
    return Fraction(prod(above for above, _ in worst), prod(below for _, below in worst))


def coin_of(guidance: Guidance, plan: GuidedPlan) -> int:
    """Return the least coin of 0 … 2^16 that keeps a plan's γ under guidance; 0 where it mixes no coins.

    The product falls as the coin grows, and is 1 at 2^16.
    """
    if not isinstance(plan.safeguard, BitMix):
        return 0
    low, high = weight_bounds(guidance, plan)
    limit = plan.safeguard.limit

    def keeps(coin: int) -> bool:
        ratio = ratio_of(low, high, coin)
        return ratio is not None and ratio <= limit

    if keeps(0):
        return 0
    broken, kept = 0, COIN_TOTAL
    while kept - broken > 1:
        middle = (broken + kept) // 2
        broken, kept = (broken, middle) if keeps(middle) else (middle, kept)
    return kept


def mixing(plan: GuidedPlan, guidance: Guidance) -> Fraction:
    """Return the share of chance in a report: λ where a promise is kept by bits, q where by tuples, 0 without one."""
    if isinstance(plan.safeguard, TupleMix):
        return 1 - Fraction(plan.safeguard.honest, 1 << TUPLE_BITS)
    return Fraction(coin_of(guidance, plan), COIN_TOTAL)
