"""Mean and variance of a column from its histogram of released codes: unbiased, whatever the distribution.

They are linear in the released codes: there are weights c_k(y) of the codes with E[c_k(y) | x] = x^k for a value in
cell x, k = 0, 1, 2, and 0 for a missing one. They are combinations of 1, y, y² and of "the value is missing": of
additive noise the moments are subtracted; under a window E[y | x] is affine in x, and E[y² | x] quadratic. With S_k the
mean of c_k over the reports, mean = S₁/S₀ and variance = S₂/S₀ − mean²; their errors follow by the delta method from
the histogram itself. Of classes of several cells only the mean of their midpoints is known, and how far the mean is
from it at most: half a class; of the variance within classes nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import Clear, NumberColumn


@dataclass(frozen=True, eq=False, slots=True)
class ClassCounts:
    """How many reports of one class have each code, or an unbiased estimate of it.

    Where the class is protected, a report counts b(l) for the class, which depends on its released class l: ``values``
    are the sums of b, ``squares`` those of b², both float64 (codes,). Otherwise both are the plain counts.
    ``n_reports`` is the number of reports of all classes that are looked at.
    """

    values: NDArray[np.float64]
    squares: NDArray[np.float64]
    n_reports: int

    @classmethod
    def plain(cls, counts: NDArray[np.int64]) -> "ClassCounts":
        """Return counts of codes, (codes,), of a class in clear."""
        own = counts.astype(np.float64)
        return cls(own, own, int(counts.sum()))


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and variance in the column's unit, each with its standard error.

    ``mean_unknown`` is how much the mean can be off beyond chance, ``of_variance`` None where nothing is known of it.
    """

    of_mean: tuple[float, float]
    of_variance: tuple[float, float] | None
    mean_unknown: float = 0.0


def moment_weights(column: NumberColumn) -> NDArray[np.float64]:
    """Return c_k(y), float64 (3, codes), with x from 0 to 1 over the column's range."""
    n, law = column.inputs, column.law
    if isinstance(law, Clear):
        middles = (np.arange(n) + 0.5).reshape(law.outputs, -1) / n
        return np.array([np.append((middles**k).mean(axis=1), [0.0] * column.optional) for k in range(3)])
    places = (np.arange(law.outputs) - (law.outputs - n) / 2 + 0.5) / n
    basis = np.array([np.append(places**k, [0.0] * column.optional) for k in range(3)])
    inputs = sorted({0, n // 2, n - 1})
    targets = [[((x + 0.5) / n) ** k for k in range(3)] for x in inputs]
    if column.optional:
        basis = np.concatenate([basis, np.eye(column.codes)[-1:]])
        inputs, targets = [*inputs, n], [*targets, [0.0, 0.0, 0.0]]
    chances = np.array([law.weights(x, optional=column.optional) for x in inputs], dtype=np.float64)
    expected = (chances / chances.sum(axis=1, keepdims=True)) @ basis.T
    weights: NDArray[np.float64] = np.linalg.lstsq(expected, np.array(targets), rcond=None)[0].T @ basis
    return weights


def estimate_moments(counts: ClassCounts, column: NumberColumn) -> Moments | None:
    """Return mean and variance, or None where no value seems to be there.

    Source: the delta method for a ratio (van der Vaart, Asymptotic Statistics 1998, chapter 3).
    """
    weights = moment_weights(column)
    sums = weights @ counts.values / counts.n_reports
    if sums[0] <= 0:
        return None
    mean, second = sums[1] / sums[0], sums[2] / sums[0]
    of_mean = (weights[1] - mean * weights[0]) / sums[0]
    of_variance = (weights[2] - second * weights[0]) / sums[0] - 2 * mean * of_mean
    errors = np.sqrt(np.array([of_mean, of_variance]) ** 2 @ counts.squares) / counts.n_reports
    span = float(column.high - column.low)
    of_column = float(column.low) + span * float(mean), span * float(errors[0])
    unknown = span * column.law.width / (2 * column.inputs) if isinstance(column.law, Clear) else 0.0
    if isinstance(column.law, Clear) and column.law.width > 1:
        return Moments(of_column, None, unknown)
    spread = float(second - mean**2) + 1 / (12 * column.inputs**2)  # within a cell, too
    return Moments(of_column, (span**2 * spread, span**2 * float(errors[1])), unknown)
