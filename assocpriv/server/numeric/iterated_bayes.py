"""The reconstruction of AS00, section 3: iterated Bayes on interval midpoints, with their rule for stopping.

    Pr'(I_p) = (1/N) Σ_s N(I_s) · f_Y(m(I_s) − m(I_p)) Pr(I_p) / Σ_t f_Y(m(I_s) − m(I_t)) Pr(I_t)

N(I_s) released values lie in interval I_s, intervals of released values having the width of the others and reaching
beyond their range; m is the midpoint, f_Y the density of the noise. It stops when the χ² statistic between successive
estimates is below 1% of the threshold of its test. What is no additive noise has no density at midpoints: there the
chances of whole intervals take its place.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import Noise, NumberColumn, transition
from assocpriv.server.numeric.likelihood import stopped_early


def iterated_bayes(counts: NDArray[np.float64], column: NumberColumn) -> NDArray[np.float64]:
    """Return the shares of the plan's intervals, and of a missing value if there may be one, float64 (inputs,).

    ``counts`` are those of the column's codes, float64 (codes,).
    """
    return stopped_early(*_midpoint_densities(counts, column))


def _midpoint_densities(
    counts: NDArray[np.float64], column: NumberColumn
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the counts of intervals of released values, and the density of each for every interval of values."""
    law, group = column.law, column.inputs // column.intervals
    if not isinstance(law, Noise):
        return counts, transition(column)
    beyond = -(-law.largest // group)  # intervals on either side
    padded = np.zeros((column.intervals + 2 * beyond) * group)
    padded[beyond * group - law.largest :][: law.outputs] = counts[: law.outputs]
    seen = padded.reshape(-1, group).sum(axis=1)
    weights = np.diff(np.append(0, np.array(law.cumulative, dtype=np.float64))) / law.cumulative[-1]
    shift = (np.arange(len(seen))[:, None] - beyond - np.arange(column.intervals)) * group + law.largest
    density = np.where((shift >= 0) & (shift < len(weights)), group * weights[np.clip(shift, 0, len(weights) - 1)], 0.0)
    if column.optional:
        seen, density = np.append(seen, counts[-1]), np.pad(density, (0, 1))
        density[-1, -1] = 1
    return seen, density
