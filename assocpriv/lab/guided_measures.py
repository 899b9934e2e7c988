"""What guided perturbation discloses and what error it brings, measured beside the bounds that were published for both.

With T the raw tuples, a row of bits each, n attributes, m tuples and T_R what was released of them:

    disclosure   1 − ‖T − T_R‖²/‖T‖², a share of squared norm; bound (29): Σ_{j≤k} ρ_j²/(mn), ρ_j singular values of T
    error        l_e(h), the largest error over sets of h attributes of P(C_0, ·) − P(C_1, ·); bound (12): 2 μ σ_1/m,
                 where the share μ that leads to level k is σ_{k+1}/σ_1
    information  I(t; R(t))/H(t), which definition 2 calls disclosure, for people who are as likely as they are frequent

Neither bound holds for every guidance and table (docs/privacy.md), so each stands beside the measured value.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 5.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

_MOST_TERMS = 1 << 22  # of a sum over all reports and all tuples that there are

Bits = NDArray[np.uint8]
Floats = NDArray[np.float64]


def disclosure(raw_bits: Bits, released: Bits) -> float:
    """Return the share of squared norm that released tuples have in common with the raw ones, both uint8 (m, w).

    It is below 0 where more bits are wrong than there are ones.

    >>> disclosure(np.array([[1, 0, 1, 0]], np.uint8), np.array([[1, 0, 0, 0]], np.uint8))
    0.5
    """
    return 1 - float((raw_bits != released).sum()) / float(raw_bits.sum())


def disclosure_bound(raw_bits: Bits, level: int) -> float:
    """Return the share of the k largest singular values of T, squared, in ‖T‖² (bound 29)."""
    rows = raw_bits.astype(np.float64)
    squares = np.linalg.eigvalsh(rows.T @ rows)[::-1]
    return min(1.0, float(squares[:level].sum() / squares.sum()))


def errors(
    raw_sums: Floats, released_sums: Floats, tuples: int, attribute_of: NDArray[np.int64]
) -> tuple[float, float]:
    """Return l_e(1) and l_e(2), the largest over pairs of classes.

    Args:
        raw_sums: of t't for each class, float64 (classes, w, w).
        released_sums: of what they are estimated to be.
        tuples: m.
        attribute_of: the attribute of every bit, int64 (w,).
    """
    worst = [0.0, 0.0]
    other = attribute_of[:, None] != attribute_of[None, :]
    for first, second in combinations(range(len(raw_sums)), 2):
        off = np.abs(raw_sums[first] - raw_sums[second] - released_sums[first] + released_sums[second]) / tuples
        worst[0] = max(worst[0], float(np.diagonal(off).max()))
        worst[1] = max(worst[1], float(off[other].max(initial=0)))
    return worst[0], worst[1]


@dataclass(frozen=True, slots=True)
class Information:
    """I(t; R(t))/H(t): between two bounds, equal where it was computed."""

    low: float
    high: float


def information(raw_bits: Bits, shares: Floats) -> Information:
    """Return the share of information on tuples in what is released of them.

    H(R|t) is exact, a sum over bits. H(R) is enumerated where that is feasible. Otherwise it is at most the sum of its
    bits' entropies, and the information at least that of the bit that tells most.

    Args:
        raw_bits: tuples, uint8 (m, w).
        shares: with which probability each of their bits is released as 1, float64 (m, w).
    """
    _, first, counts = np.unique(raw_bits, axis=0, return_index=True, return_counts=True)
    weights, given = counts / counts.sum(), shares[first]
    total = _entropy(weights)
    if total == 0:
        return Information(0.0, 0.0)
    each = _bit_entropy(weights @ given) - weights @ _bit_entropy(given)
    low, high = float(each.max()), min(float(each.sum()), total)
    if len(first) << min(given.shape[1], 40) <= _MOST_TERMS:
        inside = float(weights @ _bit_entropy(given).sum(axis=1))
        low = high = min(max(_entropy(weights @ _report_shares(given)) - inside, 0.0), total)
    return Information(low / total, high / total)


def _report_shares(given: Floats) -> Floats:
    """Return the probability of every report, float64 (tuples, 2^w)."""
    found = np.ones((len(given), 1))
    for share in given.T:
        found = np.concatenate([found * (1 - share)[:, None], found * share[:, None]], axis=1)
    return found


def _entropy(shares: Floats) -> float:
    known = shares[shares > 0]
    return -float(known @ np.log2(known))


def _bit_entropy(shares: Floats) -> Floats:
    both = np.stack([shares, 1 - shares])
    logs = np.log2(both, out=np.zeros_like(both), where=both > 0)
    total: Floats = -(both * logs).sum(axis=0)
    return total
