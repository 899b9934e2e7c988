"""Posteriors under a prior fitted to many supports: mixtures of uniforms, observed through normal noise.

Each support has an estimate x with standard error σ, and a prior that is a mixture of uniform distributions on its own
intervals [a, b]. The weights of the mixture are common to all supports and are fitted by EM. Given one uniform
component, the posterior is a normal distribution around x truncated to [a, b], of which mean and variance are kept.
Where the bounds of the intervals are themselves uncertain, the prior is evaluated at a few values of the bound (nodes).

Source: Stephens, False discovery rates: a new deal, Biostatistics 18 (2017): unimodal priors as mixtures of uniforms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.supports import normal_quantile
from assocpriv.kernels.loops import kernels
from assocpriv.kernels.parallel import parallel_map

Floats = NDArray[np.float64]
NODES = np.sqrt(3.0) * np.array([0.0, -1.0, 1.0])  # of a standard normal variable: exact up to its fifth moment
NODE_WEIGHTS = np.array([4.0, 1.0, 1.0]) / 6
_CONVERGED = 1e-5  # of a weight, in ten steps of EM
_BISECTIONS = 40
_ALL_UP_TO = 4_000
BLOCK = 1 << 15  # intervals in one task of one core


@dataclass(frozen=True, slots=True)
class Mixtures:
    """A mixture of normal distributions for each support: weights, means, variances, float64 (supports, components)."""

    weights: Floats
    means: Floats
    variances: Floats

    @property
    def mean(self) -> Floats:
        """Means, float64 (supports,)."""
        return np.asarray((self.weights * self.means).sum(axis=1))

    @property
    def variance(self) -> Floats:
        """Variances, float64 (supports,)."""
        return np.asarray((self.weights * (self.variances + (self.means - self.mean[:, None]) ** 2)).sum(axis=1))

    def take(self, rows: NDArray[Any]) -> "Mixtures":
        """Return the mixtures of these rows."""
        return Mixtures(self.weights[rows], self.means[rows], self.variances[rows])

    def shifted(self, by: Floats) -> "Mixtures":
        """Return the mixtures shifted by float64 (supports,)."""
        return Mixtures(self.weights, self.means + by[:, None], self.variances)

    def widened(self, relative: Floats | float) -> "Mixtures":
        """Return the mixtures with an added error relative to the mean of each component."""
        errors = np.reshape(relative, (-1, 1)) * self.means
        return Mixtures(self.weights, self.means, self.variances + errors**2)

    def above(self, least: "Floats | float") -> Floats:
        """Return the probability that each support is at least ``least``, float64 (supports,)."""
        scores = (self.means - np.reshape(least, (-1, 1))) / np.sqrt(self.variances)
        return mixture_cdf(self.weights, scores)

    def intervals(self, level: float) -> Floats:
        """Return intervals that hold each support with at least this probability, float64 (supports, 2).

        They are central, but start at 0 where the mean is within z standard deviations of 0, z the normal quantile of
        the level.
        """
        low, high = find_intervals(self.above, level, np.zeros(len(self.means)), np.ones(len(self.means)))
        reach = normal_quantile(level) * np.sqrt(self.variance)
        return np.column_stack([np.where(self.mean <= reach, 0.0, low), high])

    def by_node(self) -> "Mixtures":
        """Return for each node one normal distribution of the same mean and variance.

        Components are ordered node by node. If their number is no multiple of the nodes, the first node has all weight.
        """
        if self.means.shape[1] % len(NODES):
            mean, variance = (np.tile(each[:, None], len(NODES)) for each in (self.mean, self.variance))
            return Mixtures(np.tile([1.0, 0.0, 0.0], (len(mean), 1)), mean, variance)
        shape = (len(self.means), len(NODES), self.means.shape[1] // len(NODES))
        weights, means, variances = (each.reshape(shape) for each in (self.weights, self.means, self.variances))
        total = weights.sum(axis=2)
        shares = weights / np.maximum(total, 1e-300)[:, :, None]
        mean = (shares * means).sum(axis=2)
        return Mixtures(total, mean, (shares * (variances + (means - mean[:, :, None]) ** 2)).sum(axis=2))


def find_quantiles(above: Callable[[Floats], Floats], probability: float, low: Floats, high: Floats) -> Floats:
    """Return the values exceeded with probability 1 − p, float64 (n,), between two ends, by bisection.

    An end that no step leaves is returned itself: 0, not 4.5e-13.

    >>> find_quantiles(lambda x: 1 - x, 0.25, np.array([0.0, 0.5]), np.array([1.0, 1.0])).round(9).tolist()
    [0.25, 0.5]
    """
    first, last = low, high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        reached = above(middle) > 1 - probability
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    return np.where(low == first, first, np.where(high == last, last, (low + high) / 2))


def find_intervals(above: Callable[[Floats], Floats], level: float, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the ends of central intervals with this probability, as :func:`find_quantiles`."""
    lower, upper = (find_quantiles(above, tail, low, high) for tail in ((1 - level) / 2, (1 + level) / 2))
    return lower, upper


def mixture_cdf(weights: Floats, scores: Floats) -> Floats:
    """Return Σ_c w_c Φ(z_c) of every row, float64 (n,), from weights and scores (n, components)."""
    result = np.empty(len(weights))
    kernels.mixture_probabilities(np.ascontiguousarray(weights), np.ascontiguousarray(scores), result)
    return result


def truncated_moments(x: Floats, sd: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log mean density, mean and variance of normal distributions around x truncated to intervals.

    All arrays have one shape, or shapes that broadcast to one. An interval of width 0 is a point.

    >>> density, mean, variance = truncated_moments(*map(np.array, ([0.0], [1.0], [0.0], [9.0])))
    >>> mean.round(4).tolist(), variance.round(4).tolist()
    ([0.7979], [0.3634])
    """
    given = [np.array(each, dtype=np.float64, order="C") for each in np.broadcast_arrays(x, sd, low, high)]
    moments = [np.empty(given[0].shape) for _ in range(3)]
    flat = [each.reshape(-1) for each in (*given, *moments)]
    if flat[0].size <= BLOCK:
        kernels.truncate_normals(*flat)
        return moments[0], moments[1], moments[2]
    parts = (slice(start, start + BLOCK) for start in range(0, flat[0].size, BLOCK))
    for _ in parallel_map(lambda part: kernels.truncate_normals(*(each[part] for each in flat)), parts):
        pass
    return moments[0], moments[1], moments[2]


def fit_weights(densities: Floats, start: Floats, pseudo: float, steps: int) -> Floats:
    """Return the component weights that maximize the likelihood of densities (supports, components), by EM.

    ``start`` counts as ``pseudo`` further supports with these weights. Of many supports, best given in order, a
    systematic sample stands for all.
    """
    chosen, each = systematic_sample(len(densities))
    return fit_to_sample(densities[chosen], each, start, pseudo, steps)


def systematic_sample(total: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the supports of 0 … n−1 that stand for all in a fit, and how many each stands for, int64 (sample,)."""
    chosen = np.arange(0, total, step := max(1, -(-total // _ALL_UP_TO)))
    return chosen, np.minimum(step, total - chosen)


def fit_to_sample(densities: Floats, each: NDArray[Any], start: Floats, pseudo: float, steps: int) -> Floats:
    """Return the weights of :func:`fit_weights` from densities of a sample, which stand for ``each`` supports."""
    weights, before, total = start, start, int(each.sum())
    for step in range(steps):
        shares = weights * (densities.T @ (each / np.maximum(densities @ weights, 1e-300)))
        weights = (shares + pseudo * start) / (total + pseudo)
        if step % 10 == 9:
            if np.abs(weights - before).max() < _CONVERGED:
                break
            before = weights
    return np.asarray(weights)


def mixture_posteriors(densities: Floats, weights: Floats, means: Floats, variances: Floats) -> Mixtures:
    """Return posteriors, from log ``densities`` and prior ``weights``, all float64 (supports, components)."""
    log = densities + np.log(np.maximum(weights, 1e-300))
    shares = np.exp(log - log.max(axis=1, keepdims=True))
    return Mixtures(shares / shares.sum(axis=1, keepdims=True), means, variances)
