"""How often reports repeat each other, and how often those of honest people may, whatever their baskets.

Sees reports only. No report has a probability above p = max_j w_j/2^s (w_j the likelihoods over those of a uniform
seed, s the seed's bits; for reports without a code and of a fixed size see below). Given the transactions reports are
independent, so a report repeats an earlier one with a chance of at most (number of earlier ones)·p, whatever these are,
and the number of repeats is not above that of independent events of these chances, with the mean C(N, 2)·p. Some report
occurs c times with a chance of at most C(N, c)·p^(c−1), and at most (number of reports there are)·P(Bin(N, p) ≥ c).

For all linear functions λ of a seed, Σ_λ≠0 (E (−1)^λ(ξ))² = 2^s Σ_ξ P(ξ)² − 1 (Parseval): biases of seed bits, or of
random functions of them, are faint views of what repeats show. So they are not tested apart.

Source: Boucheron, Lugosi, Massart, Concentration Inequalities, 2013, chapter 2 (Chernoff's bound); the rest is ours.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.baskets import Plan
from assocpriv.server.counting.parts import Packed

_ROWS_AT_ONCE = 1 << 17


def shown_by_all(plan: Plan) -> int | None:
    """Return ℓ, the number of items that every report shows; None where it varies."""
    return plan.fixed.report_size if plan.kind == "fixed-size" else None


def _report_count(plan: Plan) -> int:
    shown = shown_by_all(plan)
    return 1 << plan.report_bits if shown is None else comb(plan.padded_items, shown)


def likeliest_report(plan: Plan) -> Fraction:
    """Return p, the largest probability that any basket gives any report of a plan.

    Attained by baskets of at most M items; a sampled one is a mixture.
    """
    if shown_by_all(plan) is None and plan.generator.is_seedless:  # reports of noise alone are not equally likely
        operator, rho = plan.independent, plan.independent.default_probability
        kept = Fraction(max(operator.keep_weights), operator.total)
        return kept * max(rho, 1 - rho) ** (plan.padded_items - operator.size)
    return max(plan.operator.normalized_likelihoods) / _report_count(plan)


def log_copies_chance(plan: Plan, n_reports: int, most: int) -> float:
    """Return the logarithm of a bound of P(some report occurs so often)."""
    p = float(likeliest_report(plan))
    if most < 2:
        return 0.0
    if not p:  # below every double
        return -math.inf
    together = math.lgamma(n_reports + 1) - math.lgamma(most + 1) - math.lgamma(n_reports - most + 1)
    return min(together + (most - 1) * math.log(p), math.log(_report_count(plan)) + log_tail(most, n_reports * p))


def log_tail(count: int, expected: float) -> float:
    """Return the logarithm of a bound of P(as many events or more), of independent ones whose number has this mean."""
    if count <= expected:
        return 0.0
    return count - expected - count * math.log(count / expected) if expected else -math.inf


def repeated_reports(reports: Packed, memory_bytes: int) -> tuple[int, int]:
    """Return how many reports repeat an earlier one, and how often the commonest report occurs.

    Reports that do not fit a quarter of the memory are read several times, each time those with some of the hashes.
    """
    width = max(8, reports.plan.report_bytes)
    parts = 1 + 4 * width * len(reports) // memory_bytes
    repeats = most = 0
    for part in range(parts):
        mine = [keys[_hash(keys) % parts == part] if parts > 1 else keys for keys in _keys(reports)]
        _, counts = np.unique(np.concatenate(mine), return_counts=True)
        repeats += int((counts - 1).sum())
        most = max(most, int(counts.max(initial=0)))
    return repeats, most


def _keys(reports: Packed) -> Iterator[NDArray[np.void] | NDArray[np.uint64]]:
    """Yield reports as values that can be sorted: numbers where they fit one."""
    width = reports.plan.report_bytes
    for packed in reports.batches(_ROWS_AT_ONCE):
        if width > 8:
            yield np.ascontiguousarray(packed).view(np.dtype((np.void, width)))[:, 0]
        else:
            octets = np.zeros((len(packed), 8), dtype=np.uint8)
            octets[:, :width] = packed
            yield octets.view("<u8")[:, 0].astype(np.uint64, copy=False)


def _hash(keys: NDArray[np.void] | NDArray[np.uint64]) -> NDArray[np.int64]:
    octets = np.ascontiguousarray(keys).view(np.uint8).reshape(len(keys), -1)
    places = np.arange(1, octets.shape[1] + 1) * 0x9E3779B1  # odd multiples spread neighbours
    return (octets @ places >> 16) & 0xFFFF
