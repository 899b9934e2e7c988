"""Methods for numbers in [0, 1] under ε-local differential privacy, as their papers mean them; ports of our own.

- square wave (SW) with EM, and with EMS: Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li, SIGMOD 2020, sections 5 and 6: a
  continuous report, 256 buckets, EMS until the log-likelihood changes by less than 10^-3, EM by 10^-3·e^ε. (The
  authors' program returns plain EM from the function named after EMS, whose line is commented out; here EMS is EMS.)
- piecewise (PM) and hybrid mechanism (HM), for the mean: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu, ICDE 2019.
- randomized response on 32 bins with Norm-Sub (CFO with binning in Li et al.).

A method takes raw values, ε, a generator and how many different values there are at most (None: continuous); buckets
and cells are then these values. It returns what it estimates: a distribution function at GRID, a mean, or both.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv import reconstruct
from assocpriv.client.tables import randomize_inputs
from assocpriv.files.reports import Reports
from assocpriv.planning.tables import design_window
from assocpriv.plans.columns import NumberColumn
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Epsilon
from assocpriv.server.maximum_likelihood import average_neighbours
from assocpriv.simulation.enumeration import SeededEntropy

Floats = NDArray[np.float64]
GRID = np.linspace(0, 1, 1001)
_BUCKETS, _BINS = 256, 32
_INTERVALS, _CELLS = 100, 1000  # the planner's for a million reports


@dataclass(frozen=True, slots=True)
class Found:
    """What a method estimates, None for what it does not."""

    cdf: Floats | None
    mean: float


Method = Callable[[Floats, float, np.random.Generator, int | None], Found]


def _from_shares(shares: Floats) -> Found:
    """Spread shares of equal intervals evenly."""
    edges = np.linspace(0, 1, len(shares) + 1)
    cdf = np.interp(GRID, edges, np.append(0, np.cumsum(shares)))
    return Found(cdf, float(shares @ (edges[:-1] + edges[1:]) / 2))


def ours(values: Floats, epsilon: float, rng: np.random.Generator, different: int | None) -> Found:
    """Square wave on a grid by the shipping client, ap.reconstruct as it is by default."""
    cells = different or _CELLS
    law = design_window(cells, Fraction(math.exp(epsilon)), optional=False)
    column = NumberColumn("x", law, False, Fraction(0), Fraction(1), different or _INTERVALS)
    plan = TablePlan((column,), 1, Epsilon(str(epsilon)))
    inputs = np.minimum((values * cells).astype(np.int32), cells - 1)[:, None]
    entropy = SeededEntropy(int(rng.integers(1 << 30)))
    packed = np.concatenate(list(randomize_inputs([inputs], plan, entropy=entropy)))
    found = reconstruct(Reports(plan, packed))["x"]
    return _from_shares(found.share)


def _square_wave(
    values: Floats, epsilon: float, rng: np.random.Generator, different: int | None
) -> tuple[Floats, Floats]:
    """Return counts of buckets of continuous reports, and their channel from as many buckets of values."""
    buckets = different or _BUCKETS
    e = math.exp(epsilon)
    b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    q = 1 / (2 * b * e + 1)
    near = rng.random(len(values)) < 2 * b * e * q
    # far reports are uniform on what is left of [−b, 1 + b], which has length 1
    far = rng.random(len(values)) - b
    far += 2 * b * (far >= values - b)
    reports = np.where(near, values + b * (2 * rng.random(len(values)) - 1), far)
    edges = np.linspace(-b, 1 + b, buckets + 1)
    counts = np.histogram(np.clip(reports, -b, 1 + b), edges)[0].astype(np.float64)
    cells = np.linspace(0, 1, 8 * buckets + 1)
    middles = (cells[:-1] + cells[1:]) / 2
    overlap = np.minimum(edges[1:, None], middles + b) - np.maximum(edges[:-1, None], middles - b)
    chances = q * (edges[1] - edges[0]) + (e - 1) * q * np.maximum(overlap, 0)
    return counts, chances.reshape(buckets, buckets, 8).mean(axis=2)


def _em(counts: Floats, matrix: Floats, change: float, *, smooth: bool) -> Floats:
    """Run EM or EMS as published."""
    shares, before = np.full(matrix.shape[1], 1 / matrix.shape[1]), -math.inf
    for _ in range(10_000):
        expected = matrix @ shares
        likelihood = float(counts @ np.log(expected))
        if likelihood - before < change and before > -math.inf:
            break
        before = likelihood
        shares = shares * ((counts / expected) @ matrix)
        shares /= shares.sum()
        if smooth:
            shares = average_neighbours(shares, len(shares))
    return shares


def square_wave_ems(values: Floats, epsilon: float, rng: np.random.Generator, different: int | None) -> Found:
    """SW with EMS."""
    return _from_shares(_em(*_square_wave(values, epsilon, rng, different), 1e-3, smooth=True))


def square_wave_em(values: Floats, epsilon: float, rng: np.random.Generator, different: int | None) -> Found:
    """SW with EM."""
    return _from_shares(_em(*_square_wave(values, epsilon, rng, different), 1e-3 * math.exp(epsilon), smooth=False))


def _piecewise(x: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Return unbiased reports of x in [−1, 1] (their algorithm 2)."""
    half = math.exp(epsilon / 2)
    c = (half + 1) / (half - 1)
    left = (c + 1) / 2 * x - (c - 1) / 2
    inside = rng.random(len(x)) < half / (half + 1)
    near = left + (c - 1) * rng.random(len(x))
    far = (c + 1) * rng.random(len(x)) - c  # uniform on what is left of [−c, c]
    far += (c - 1) * (far >= left)
    return np.where(inside, near, far)


def _duchi(x: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Return unbiased reports of two values (Duchi, Jordan, Wainwright 2018; their algorithm 1)."""
    ratio = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    return np.where(rng.random(len(x)) < (1 + ratio * x) / 2, 1, -1) / ratio


def piecewise(values: Floats, epsilon: float, rng: np.random.Generator, _different: int | None) -> Found:
    """PM: the mean."""
    return Found(None, (float(_piecewise(2 * values - 1, epsilon, rng).mean()) + 1) / 2)


def hybrid(values: Floats, epsilon: float, rng: np.random.Generator, _different: int | None) -> Found:
    """HM: PM, or with probability e^(−ε/2) two values; two values alone up to ε = 0.61."""
    x = 2 * values - 1
    two = rng.random(len(x)) < (math.exp(-epsilon / 2) if epsilon > 0.61 else 1)
    return Found(None, (float(np.where(two, _duchi(x, epsilon, rng), _piecewise(x, epsilon, rng)).mean()) + 1) / 2)


def randomized_response(values: Floats, epsilon: float, rng: np.random.Generator, _different: int | None) -> Found:
    """GRR on 32 bins with Norm-Sub."""
    bins = np.minimum((values * _BINS).astype(np.int64), _BINS - 1)
    p = math.exp(epsilon) / (math.exp(epsilon) + _BINS - 1)
    q = (1 - p) / (_BINS - 1)
    other = (bins + rng.integers(1, _BINS, len(bins))) % _BINS
    counts = np.bincount(np.where(rng.random(len(bins)) < p, bins, other), minlength=_BINS)
    return _from_shares(_norm_sub((counts / len(bins) - q) / (p - q)))


def _norm_sub(shares: Floats) -> Floats:
    """Return the nearest shares that are not negative and add up to 1."""
    order = np.sort(shares)[::-1]
    shifts = (np.cumsum(order) - 1) / np.arange(1, len(order) + 1)
    last = int(np.flatnonzero(order > shifts)[-1])
    return np.maximum(shares - shifts[last], 0)


OURS = "assocpriv"
METHODS: dict[str, Method] = {
    OURS: ours,
    "SW, EMS": square_wave_ems,
    "SW, EM": square_wave_em,
    "PM": piecewise,
    "HM": hybrid,
    "GRR, 32 bins": randomized_response,
}
