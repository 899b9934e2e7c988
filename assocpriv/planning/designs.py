"""The best designs with independent insertion: every ρ and every pattern of likelier numbers of kept items.

For a default probability ρ and a pattern of likelier sizes h ⊆ {0..m}, the operator with w_j = γc for j ∈ h and
w_j = c elsewhere is the sharpest with amplification γ. The search takes every ρ = a/2^r and every pattern (or
only thresholds h = {j ≥ j0}, the paper's choice) and looks for the least max over k of the lowest discoverable
support. Both enter through π_i (plans/baskets/transition.py), which is linear in p, so all patterns of one ρ cost a
small matrix product. (ρ, h) and (1−ρ, h reversed) are mirror images: half of the ρ suffice for all patterns.

The chosen design is rounded to integers that stay strictly below the limit; what is reported is computed from
those integers.

Source: EGS03, section 5; patterns other than thresholds are ours.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import PlanError
from assocpriv.plans.baskets.operator import MAX_WEIGHT_BITS, Operator
from assocpriv.plans.baskets.transition import lowest_support

LARGEST_INSERT_BITS = 8
_LEAST_WEIGHT_BITS = 16  # every weight is at least 2^16, so rounding moves no probability by more than 2^-16
# designs whose μ_k is smaller for some k up to the largest target are left out: mining needs every size on the
# way, and a contrast that drowns in rounding would turn into a spuriously small LDS
LEAST_CONTRAST = 1e-7
_PATTERNS_AT_ONCE = 1 << 12  # what is computed of them stays in a second cache
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Design:
    """A point of the search: ρ = insert_num / 2^insert_bits, the likelier sizes, and its worst LDS."""

    insert_num: int
    insert_bits: int
    pattern: str
    worst_support: float


def search_designs(
    m: int,
    limit: Fraction,
    sizes: Sequence[int],
    reports: int,
    *,
    thresholds_only: bool = False,
    largest_insert_bits: int = LARGEST_INSERT_BITS,
    progress: Progress | None = None,
) -> list[Design]:
    """Return the best design of every ρ, as (a, r) with a odd.

    Args:
        m: transaction size.
        limit: γ of the promise.
        sizes: itemset sizes k whose LDS counts; the worst of them is minimized.
        reports: number of reports N.
        thresholds_only: only patterns 0…01…1.
        largest_insert_bits: r ≤ this.
        progress: called with (done, total).
    """
    patterns = patterns_of(m, thresholds_only=thresholds_only)
    blocks = np.array_split(patterns, -(-len(patterns) // _PATTERNS_AT_ONCE))
    grid = [(a, r) for r in range(1, largest_insert_bits + 1) for a in range(1, 1 << r, 2)]
    if not thresholds_only:
        grid = [(a, r) for a, r in grid if 2 * a <= 1 << r]
    designs = []
    for done, (a, r) in enumerate(grid):
        parts = [_worst_supports(part, a / (1 << r), float(limit), m, sizes, reports) for part in blocks]
        worst = np.concatenate(parts)
        # the last of equals keeps more items; the slack makes ties independent of rounding
        best = int(np.flatnonzero(worst <= worst.min() * (1 + 1e-12))[-1])
        designs.append(Design(a, r, "".join("01"[int(h)] for h in patterns[best]), float(worst[best])))
        if progress:
            progress(done + 1, len(grid))
    return designs


def patterns_of(m: int, *, thresholds_only: bool = False) -> NDArray[np.float64]:
    """Return the patterns as 0/1 rows over j = 0..m, constant ones left out."""
    if thresholds_only:
        return np.array([[float(j >= j0) for j in range(m + 1)] for j0 in range(m, 0, -1)])
    numbers = np.arange(1, (1 << m + 1) - 1)
    return (numbers[:, None] >> np.arange(m + 1) & 1).astype(np.float64)


def _worst_supports(
    patterns: NDArray[np.float64], rho: float, gamma: float, m: int, sizes: Sequence[int], reports: int
) -> NDArray[np.float64]:
    """Return the worst LDS over the sizes for every pattern at one ρ, float64 (patterns,)."""
    wanted = [(k, held) for k in sizes for held in (0, k)]
    moments, singular = _second_moments(patterns, rho, gamma, m, max(sizes), wanted)
    worst = np.where(singular, np.inf, 0.0)
    for k in sizes:
        worst = np.maximum(worst, lowest_support(moments[k, 0], moments[k, k] - 1, reports))
    return worst


def independent_moments(
    patterns: NDArray[np.float64], rho: float, gamma: float, m: int, largest: int
) -> list[NDArray[np.float64]]:
    """Return what any measure of error can be made of, for all patterns of one ρ.

    Args:
        patterns: 0 or 1 for each j = 0..m, (patterns, m + 1).
        rho: default probability.
        gamma: the amplification.
        m: transaction size.
        largest: itemset size up to which moments are wanted; all of them must be estimable.

    Returns:
        For k = 1 … largest E[Z² | l of the k items held], (patterns, k + 1), infinite where some size cannot be
        estimated.
    """
    wanted = [(k, held) for k in range(1, largest + 1) for held in range(k + 1)]
    moments, singular = _second_moments(patterns, rho, gamma, m, largest, wanted)
    return [
        np.column_stack([np.where(singular, np.inf, moments[k, held]) for held in range(k + 1)])
        for k in range(1, largest + 1)
    ]


def _second_moments(
    patterns: NDArray[np.float64], rho: float, gamma: float, m: int, largest: int, wanted: Iterable[tuple[int, int]]
) -> tuple[dict[tuple[int, int], NDArray[np.float64]], NDArray[np.bool_]]:
    """Return E[Z² | l of k items held] for the (k, l) wanted, under each pattern, and for which patterns P is singular.

    With Z in closed form this is (ρ(1−ρ))^(k−l) Σ_i C(l,i) ρ^(2(l−i)) (1−2ρ)^i π_i / μ_k². Where P is singular, for any
    size up to the largest, the moments mean nothing.
    """
    j = np.arange(m + 1)
    chances = np.array([comb(m, i) for i in j]) * rho**j * (1 - rho) ** (m - j)
    keep = np.array([[comb(m - i, x - i) / comb(m, x) if x >= i else 0.0 for x in j] for i in range(largest + 1)])
    terms = (chances * keep).T
    # p[j] is (1 + (γ−1) h[j]) · chances[j] over its sum, which stands in the column of π_0 = 1
    shares = terms.sum(axis=0) + (gamma - 1) * (patterns @ terms)
    pi = shares / shares[:, :1]
    contrasts = [sum(comb(k, i) * (-rho) ** (k - i) * pi[:, i] for i in range(k + 1)) for k in range(1, largest + 1)]
    singular = np.any([np.abs(mu) < LEAST_CONTRAST for mu in contrasts], axis=0)
    squares = [np.maximum(mu * mu, LEAST_CONTRAST**2) for mu in contrasts]
    moments = {}
    for k, held in wanted:
        inside = sum(comb(held, i) * rho ** (2 * (held - i)) * (1 - 2 * rho) ** i * pi[:, i] for i in range(held + 1))
        moments[k, held] = (rho * (1 - rho)) ** (k - held) * inside / squares[k - 1]
    return moments, singular


def round_design(design: Design, m: int, limit: Fraction) -> Operator:
    """Return integer weights whose amplification is strictly below the limit.

    The weights aim a 2^-20 part below the limit, so that rounding cannot reach it; b grows until every weight
    is at least 2^16 and the exact amplification keeps the limit.
    """
    rest = (1 << design.insert_bits) - design.insert_num
    levels = [limit * (1 - Fraction(1, 1 << 20)) if h == "1" else Fraction(1) for h in design.pattern]
    shares = [design.insert_num**j * rest ** (m - j) * levels[j] for j in range(m + 1)]
    scale = sum((comb(m, j) * share for j, share in enumerate(shares)), Fraction(0))
    for weight_bits in range(64, MAX_WEIGHT_BITS + 1, 64):
        weights = [math.floor(share * (1 << weight_bits) / scale) for share in shares]
        _spread(weights, (1 << weight_bits) - sum(comb(m, j) * v for j, v in enumerate(weights)))
        if min(weights) >= 1 << _LEAST_WEIGHT_BITS:
            operator = Operator(m, design.insert_num, design.insert_bits, weight_bits, tuple(weights))
            if operator.amplification < limit:
                return operator
    raise PlanError(
        f"the operator cannot be written with weights of {MAX_WEIGHT_BITS} bits; lower the transaction size"
    )


def _spread(weights: list[int], missing: int) -> None:
    """Add a total to the weights in place: whole steps of C(m,j) where that is largest, the rest where it is 1."""
    m = len(weights) - 1
    for j in sorted(range(m + 1), key=lambda j: (-comb(m, j), -weights[j])):
        step, missing = divmod(missing, comb(m, j))
        weights[j] += step
