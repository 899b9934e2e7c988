"""Supports told by a prior fitted to many of them: mixtures of uniforms, seen through normal noise.

Each support has an estimate x with standard error σ, and a prior that is a mixture of uniform laws on intervals of its
own, [a, b]. The weights of the mixture are those of all supports and are fitted by EM. Given one uniform part the
posterior is a normal law around x cut to [a, b], of which mean and variance are kept. Where the bounds of the intervals
are themselves uncertain, the prior is written down for a few values of what they depend on (nodes).

Source: Stephens, False discovery rates: a new deal, Biostatistics 18 (2017): unimodal priors as mixtures of uniforms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.compiling import normal_kernels
from assocpriv.kernels.parallel import map_ahead
from assocpriv.server.supports import normal_quantile

Floats = NDArray[np.float64]
NODES = np.sqrt(3.0) * np.array([0.0, -1.0, 1.0])  # of a standard normal number: right up to its fifth moment
NODE_WEIGHTS = np.array([4.0, 1.0, 1.0]) / 6
_CONVERGED = 1e-5  # of a weight, in ten steps of EM
_BISECTIONS = 40
_ALL_UP_TO = 4_000
_BLOCK = 1 << 15  # intervals that one core has at a time


@dataclass(frozen=True, slots=True)
class Mixtures:
    """A mixture of normal laws for each support: weights, means and variances, float64 (supports, parts)."""

    weights: Floats
    means: Floats
    variances: Floats

    @property
    def mean(self) -> Floats:
        """Means, float64 (supports,)."""
        mean: Floats = (self.weights * self.means).sum(axis=1)
        return mean

    @property
    def variance(self) -> Floats:
        """Variances, float64 (supports,)."""
        square = (self.weights * (self.variances + (self.means - self.mean[:, None]) ** 2)).sum(axis=1)
        return np.asarray(square)

    def take(self, rows: NDArray[Any]) -> "Mixtures":
        """Return some of them."""
        return Mixtures(self.weights[rows], self.means[rows], self.variances[rows])

    def moved(self, by: Floats) -> "Mixtures":
        """Return them moved, by float64 (supports,)."""
        return Mixtures(self.weights, self.means + by[:, None], self.variances)

    def wider(self, relative: Floats | float) -> "Mixtures":
        """Return them with an error that is relative to the mean of each part added."""
        errors = np.reshape(relative, (-1, 1)) * self.means
        return Mixtures(self.weights, self.means, self.variances + errors**2)

    def above(self, least: "Floats | float") -> Floats:
        """Return the probability of each support to reach a least one, float64 (supports,)."""
        scores = (self.means - np.reshape(least, (-1, 1))) / np.sqrt(self.variances)
        return chances(self.weights, scores)

    def quantiles(self, chance: float) -> Floats:
        """Return what each support is below with this probability, cut to [0, 1], float64 (supports,)."""
        return quantiles_of(self.above, chance, np.zeros(len(self.means)), np.ones(len(self.means)))

    def intervals(self, level: float) -> Floats:
        """Return intervals that hold each support with this probability or more, float64 (supports, 2).

        They are central, but begin at 0 where that is within as many standard deviations of the mean.
        """
        low, high = self.quantiles((1 - level) / 2), self.quantiles((1 + level) / 2)
        reach = normal_quantile(level) * np.sqrt(self.variance)
        return np.column_stack([np.where(self.mean <= reach, 0.0, low), high])

    def by_node(self) -> "Mixtures":
        """Return for each node one normal law of the same mean and variance.

        Parts stand node by node; where their number says that there are none, all weight is the first node's.
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


def quantiles_of(above: Callable[[Floats], Floats], chance: float, low: Floats, high: Floats) -> Floats:
    """Return what is exceeded with a probability of 1 − chance, float64 (n,), between two ends, by bisection."""
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        reached = above(middle) > 1 - chance
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    return (low + high) / 2


def chances(weights: Floats, scores: Floats) -> Floats:
    """Return Σ_c w_c Φ(z_c) of every row, float64 (n,), of weights and scores (n, parts)."""
    result = np.empty(len(weights))
    normal_kernels.weigh_chances(np.ascontiguousarray(weights), np.ascontiguousarray(scores), result)
    return result


def seen_in(x: Floats, sd: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return of normal laws around x cut to intervals the logarithm of their mean density, their mean and variance.

    All of one shape, or shapes that can be broadcast to one. An interval of no width is a point.

    >>> density, mean, variance = seen_in(np.array([0.0]), np.array([1.0]), np.array([0.0]), np.array([9.0]))
    >>> mean.round(4).tolist(), variance.round(4).tolist()
    ([0.7979], [0.3634])
    """
    given = [np.array(each, dtype=np.float64, order="C") for each in np.broadcast_arrays(x, sd, low, high)]
    told = [np.empty(given[0].shape) for _ in range(3)]
    flat = [each.reshape(-1) for each in (*given, *told)]
    parts = (slice(start, start + _BLOCK) for start in range(0, flat[0].size, _BLOCK))
    for _ in map_ahead(lambda part: normal_kernels.cut_normals(*(each[part] for each in flat)), parts):
        pass
    return told[0], told[1], told[2]


def fit_weights(densities: Floats, start: Floats, pseudo: float, steps: int) -> Floats:
    """Return the weights of a mixture's parts that make densities (supports, parts) most likely, by EM.

    ``start`` counts as so many (``pseudo``) further supports, known to be shared out like this. Of many supports, which
    are best given in order, every few count for all.
    """
    weights, before, total = start, start, len(densities)
    each = np.ones(total)
    if total > _ALL_UP_TO:
        chosen = np.arange(0, total, step := -(-total // _ALL_UP_TO))
        densities, each = densities[chosen], np.minimum(step, total - chosen)
    for step in range(steps):
        shares = weights * (densities.T @ (each / np.maximum(densities @ weights, 1e-300)))
        weights = (shares + pseudo * start) / (total + pseudo)
        if step % 10 == 9:
            if np.abs(weights - before).max() < _CONVERGED:
                break
            before = weights
    return np.asarray(weights)


def posterior(densities: Floats, weights: Floats, means: Floats, variances: Floats) -> Mixtures:
    """Return posteriors of parts, all float64 (supports, parts); logarithms of ``densities``, prior ``weights``."""
    log = densities + np.log(np.maximum(weights, 1e-300))
    shares = np.exp(log - log.max(axis=1, keepdims=True))
    return Mixtures(shares / shares.sum(axis=1, keepdims=True), means, variances)
