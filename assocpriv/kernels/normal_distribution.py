"""The normal distribution: probabilities under mixtures of normals, and moments of truncated normals."""

import math

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.compiling import kernel

Floats = NDArray[np.float64]
_ROOT_TWO, _ROOT_PI = math.sqrt(2.0), math.sqrt(math.pi)
_ROOT_TWO_PI = _ROOT_TWO * _ROOT_PI
_LARGE = 20.0  # from here on the tail equals its expansion, to the last digit but one
_FAR = 1e3  # standard errors; from here on the variance is the tail's, as subtracting squares would cancel
_NARROW = 1e-3  # of a standard error: the density is then constant over an interval
_LEAST_MASS, _LEAST_WIDTH = 1e-300, 1e-12


@kernel
def mixture_probabilities(weights: Floats, scores: Floats, result: Floats) -> None:
    """Write Σ_c w_c Φ(z_c) of every row, (n, components), to the result, (n,); at most 1."""
    for row in range(weights.shape[0]):
        total = 0.0
        for part in range(weights.shape[1]):
            total += weights[row, part] * math.erfc(-scores[row, part] / _ROOT_TWO) / 2
        result[row] = min(total, 1.0)


@kernel
def truncate_normals(
    x: Floats, sd: Floats, low: Floats, high: Floats, density: Floats, mean: Floats, variance: Floats
) -> None:
    """Write log mean density, mean and variance of normals around x truncated to [low, high]; all float64 (n,)."""
    for i in range(x.shape[0]):
        width, middle = high[i] - low[i], (low[i] + high[i]) / 2
        distance = (middle - x[i]) / sd[i]
        if width / sd[i] * (1 + abs(distance)) < _NARROW:
            density[i] = -(distance**2) / 2 - math.log(sd[i] * _ROOT_TWO_PI)
            mean[i], variance[i] = middle, max(width, _LEAST_WIDTH) ** 2 / 12
            continue
        near, far, sign = (low[i] - x[i]) / sd[i], (high[i] - x[i]) / sd[i], 1.0
        if distance < 0:  # the nearer end comes first, so that tails stay exact
            near, far, sign = -far, -near, -1.0
        scale = near**2 / 2 if near > 0 else 0.0
        near_density, far_density = math.exp(scale - near**2 / 2), math.exp(scale - far**2 / 2)
        if near <= 0:
            mass = (math.erf(far / _ROOT_TWO) - math.erf(near / _ROOT_TWO)) / 2
        else:  # exp(z²) erfc(z) of both ends, the far one on the near one's scale
            tails = 0.0
            for place in range(2):
                z = (near if place == 0 else far) / _ROOT_TWO
                if z < _LARGE:
                    scaled = math.exp(z * z) * math.erfc(z)
                else:
                    square = 1 / (z * z)
                    scaled = (1 - square / 2 * (1 - 1.5 * square * (1 - 2.5 * square))) / (z * _ROOT_PI)
                tails += scaled if place == 0 else -far_density * scaled
            mass = tails / 2
        mass = max(mass, _LEAST_MASS)
        pull = (near_density - far_density) / (_ROOT_TWO_PI * mass)
        spread = 1 + (near * near_density - far * far_density) / (_ROOT_TWO_PI * mass) - pull**2
        if near > _FAR:
            spread = 1 / near**2
        density[i] = math.log(mass) - scale - math.log(max(width, _LEAST_WIDTH))
        mean[i] = min(max(x[i] + sign * sd[i] * pull, low[i]), high[i])
        variance[i] = max(min(sd[i] ** 2 * spread, width**2 / 12), _LEAST_WIDTH**2 / 12)
