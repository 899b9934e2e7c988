"""Named randomizers of the literature, written as select-a-size.

Cut-and-paste with cutoff K: choose a number uniform in 0..K, at most m; keep so many random items of the transaction;
every other item, the rest of the transaction's own too, is in the report with probability ρ. With i = 0..min(K, m) kept
on purpose, of probability u_i = 1/(K+1), u_m = 1 − m/(K+1) where K ≥ m,

    p[j] = Σ_i u_i C(m−i, j−i) ρ^(j−i) (1−ρ)^(m−j)
    w_j  = p[j] / (C(m,j) ρ^j (1−ρ)^(m−j)) = Σ_i u_i ρ^(−i) C(j,i)/C(m,i)

w_j grows with j from u_0 to Σ_i u_i ρ^(−i), so γ = Σ_i (u_i/u_0) ρ^(−i), for K ≤ m the sum of ρ^0 … ρ^(−K).

Source: Evfimievski, Srikant, Agrawal, Gehrke, Privacy Preserving Mining of Association Rules, KDD 2002.
"""

import math
from fractions import Fraction
from math import comb

from assocpriv.core.errors import PlanError
from assocpriv.plans.baskets.operator import MAX_INSERT_BITS, MAX_TRANSACTION_SIZE, MAX_WEIGHT_BITS, Operator


def cut_and_paste_sizes(m: int, cutoff: int, rho: Fraction) -> tuple[Fraction, ...]:
    """Return p[j], the probability that cut-and-paste shows j of a transaction's m items, j = 0..m.

    Raises:
        PlanError: m outside 1..15, a cutoff below 0, or ρ not strictly between 0 and 1.

    >>> [str(p) for p in cut_and_paste_sizes(2, 1, Fraction(1, 4))]
    ['9/32', '9/16', '5/32']
    """
    chosen = _chosen(m, cutoff, rho)
    return tuple(
        sum((u * comb(m - i, j - i) * rho ** (j - i) for i, u in enumerate(chosen[: j + 1])), Fraction(0))
        * (1 - rho) ** (m - j)
        for j in range(m + 1)
    )


def cut_and_paste_amplification(m: int, cutoff: int, rho: Fraction) -> Fraction:
    """Return γ of cut-and-paste, exactly: Σ ρ^(−i) for i = 0..K where K ≤ m.

    Raises:
        PlanError: as :func:`cut_and_paste_sizes`.

    >>> cut_and_paste_amplification(5, 2, Fraction(1, 4))
    Fraction(21, 1)
    """
    chosen = _chosen(m, cutoff, rho)
    return sum((u / chosen[0] / rho**i for i, u in enumerate(chosen)), Fraction(0))


def cut_and_paste(m: int, cutoff: int, rho: Fraction, weight_bits: int = 64) -> Operator:
    """Return cut-and-paste as an operator with integer weights, ready for a plan.

    The weight of keeping j given items is p[j]/C(m,j)·2^weight_bits rounded down; the weight of keeping none takes what
    is missing to the total. That moves no p[j] by more than 2^(m − weight_bits). For K ≥ 1 keeping none is the least
    likely, so that unless the bits are very few γ does not rise.

    Args:
        m: items of a transaction, 1..15.
        cutoff: K, at least 0.
        rho: ρ = a/2^r, r at most 16.
        weight_bits: b, how fine the weights are.

    Raises:
        PlanError: as :func:`cut_and_paste_sizes`; ρ is no such number, or so few bits leave a weight of 0.

    >>> cut_and_paste(2, 1, Fraction(1, 4), weight_bits=5)
    Operator(size=2, insert_num=1, insert_bits=2, weight_bits=5, keep_weights=(9, 9, 5))
    """
    exact = cut_and_paste_sizes(m, cutoff, rho)
    insert_bits = rho.denominator.bit_length() - 1
    if rho.denominator != 1 << insert_bits or insert_bits > MAX_INSERT_BITS:
        raise PlanError(f"rho must be a/2^r with r of at most {MAX_INSERT_BITS} for an operator, got {rho}; round it")
    if not 1 <= weight_bits <= MAX_WEIGHT_BITS:
        raise PlanError(f"weight_bits must lie in 1..{MAX_WEIGHT_BITS}, got {weight_bits}")
    weights = [math.floor(p * (1 << weight_bits) / comb(m, j)) for j, p in enumerate(exact)]
    weights[0] += (1 << weight_bits) - sum(comb(m, j) * v for j, v in enumerate(weights))
    if min(weights) < 1:
        raise PlanError(f"weights of {weight_bits} bits are too coarse: one of them is 0; give more weight_bits")
    return Operator(m, rho.numerator, insert_bits, weight_bits, tuple(weights))


def _chosen(m: int, cutoff: int, rho: Fraction) -> list[Fraction]:
    """Return u_i, the probability of keeping i items on purpose, i = 0..min(K, m)."""
    if not 1 <= m <= MAX_TRANSACTION_SIZE:
        raise PlanError(f"cut-and-paste needs transactions of 1..{MAX_TRANSACTION_SIZE} items, got {m}")
    if cutoff < 0:
        raise PlanError(f"the cutoff of cut-and-paste must be at least 0, got {cutoff}")
    if not 0 < rho < 1:
        raise PlanError(f"rho must lie strictly between 0 and 1, got {rho}")
    most = min(cutoff, m)
    return [Fraction(1, cutoff + 1)] * most + [Fraction(cutoff + 1 - most, cutoff + 1)]
