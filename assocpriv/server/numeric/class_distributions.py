"""Distributions of a column by class, by empirical Bayes for the differences between classes.

Reconstructed for each class alone, a distribution fits the noise of that class. With many values, few responses or a
strong guarantee, classes then seem to differ that do not. So f, the distribution that classes share, is estimated from
all reports, and differences have a prior. Let n[y, r] be the counts of codes and released classes, C the channel of the
class and π the shares of the true classes. A class k differs from the others by

    D_y = Σ_r n[y, r] (C⁻¹[k, r] / π_k − (1 − C⁻¹[k, r]) / (1 − π_k)) / n,     E[D] = T (f ∘ Σ_b β_b φ_b)

where T is the column's channel; variances follow from T f. For numbers φ_b = √2 cos(b π F), with F the distribution
function of f, and β_b ~ N(0, τ²/b²): differences are smooth on the scale of the people, not of the values. For named
values every φ is one value, and β ~ N(0, τ²). Posteriors are averaged over a grid of τ by evidence. So a column without
a difference stays the same in all classes, and a clear difference is kept. Then f_k = f ∘ (1 + (1 − π_k) Σ_b β_b φ_b),
but at least a thirtieth of f.

Source: empirical Bayes as in Efron, Large-Scale Inference, 2010, chapter 1; MacKay, Neural Computation 1992, for the
evidence.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.maximum_likelihood import maximize_likelihood, merge_bins
from assocpriv.server.numeric.smoothing import smooth_shares

Floats = NDArray[np.float64]
_SPREADS = (0.03, 0.1, 0.2, 0.4, 0.8, 1.6)  # τ, in units of f
_COSINES = 16  # basis functions of a number
_LEAST = 1 / 30  # of f
_RAREST = 0.01  # least share of a class in the scale of differences
_LEAST_VARIANCE = 1e-12  # of a difference of shares, against division by 0


@dataclass(frozen=True, eq=False, slots=True)
class ClassDistributions:
    """Distributions of a column within each class, float64 (classes, inputs), each adding up to 1.

    ``covariances``, (classes, inputs, inputs), include the errors of f and of the differences.
    """

    shares: Floats
    covariances: Floats

    def in_order(self, order: NDArray[np.int64]) -> "ClassDistributions":
        """Return the distributions with inputs in another order."""
        return ClassDistributions(self.shares[:, order], self.covariances[:, order][:, :, order])


def class_distributions(
    counts: NDArray[np.int64], matrix: Floats, ordered: int, inverse: Floats, class_shares: Floats
) -> ClassDistributions:
    """Return the distributions of a column by class.

    Args:
        counts: Counts of codes and released classes, (codes, classes); without any, all inputs have equal shares.
        matrix: P(code | input), float64 (codes, inputs).
        ordered: Number of inputs that are consecutive intervals, 0 for a category; without the input of missing values.
        inverse: Inverse of the class's channel, float64 (true classes, released classes); its columns add up to 1.
        class_shares: π, the shares of the true classes.
    """
    counts, matrix = merge_bins(counts, matrix, ordered)
    every, n = counts.sum(axis=1).astype(np.float64), float(counts.sum())
    if not n:
        return _unknown(matrix.shape[1], len(inverse))
    pooled, covariance = _pooled(every, matrix, ordered)
    basis, precision = _difference_basis(pooled, ordered)
    expected = np.maximum(matrix @ pooled, 1e-12)
    design = matrix @ (pooled[:, None] * basis)
    shares, covariances = np.empty((len(inverse), len(pooled))), np.empty((len(inverse), len(pooled), len(pooled)))
    for k, row in enumerate(inverse):
        share = float(np.clip(class_shares[k], _RAREST, 1 - _RAREST))
        weights = (row / share - (1 - row) / (1 - share)) / n
        variance = max(float(counts.sum(axis=0) @ weights**2), _LEAST_VARIANCE) * expected
        mean, beta_covariance = _posterior(design, counts @ weights, variance, precision)
        shape = (1 - share) * pooled[:, None] * basis
        found = np.maximum(pooled + shape @ mean, _LEAST * pooled)
        shares[k] = found / found.sum()
        covariances[k] = covariance + shape @ beta_covariance @ shape.T
    return ClassDistributions(shares, covariances)


def pooled_shares(counts: NDArray[np.int64], matrix: Floats, ordered: int) -> Floats:
    """Return f from counts of codes, (codes,), smooth over consecutive intervals."""
    return _pooled(*merge_bins(counts.astype(np.float64), matrix, ordered), ordered)[0]


def _unknown(inputs: int, classes: int) -> ClassDistributions:
    even = np.full((classes, inputs), 1 / inputs)
    return ClassDistributions(even, np.tile(np.eye(inputs) / inputs - 1 / inputs**2, (classes, 1, 1)))


def _pooled(counts: Floats, matrix: Floats, ordered: int) -> tuple[Floats, Floats]:
    """Return f and its covariance."""
    if ordered:
        found = smooth_shares(counts[:, None], matrix, ordered=(ordered, 0))
        return np.maximum(found.shares[:, 0], 1e-9), found.covariance
    shares = np.maximum(maximize_likelihood(counts, matrix), 1e-9)
    inverse = np.linalg.pinv(matrix)
    expected = matrix @ shares
    return shares, (inverse * expected) @ inverse.T / counts.sum() - np.outer(shares, shares) / counts.sum()


def _difference_basis(pooled: Floats, ordered: int) -> tuple[Floats, Floats]:
    """Return φ, float64 (inputs, functions), each with mean 0 under f, and the precisions of β for τ = 1."""
    named = np.eye(len(pooled))[:, ordered:]
    middle = (np.cumsum(pooled[:ordered]) - pooled[:ordered] / 2) / max(float(pooled[:ordered].sum()), 1e-12)
    orders = np.arange(1, min(_COSINES, ordered - 1) + 1)
    rows = np.zeros((len(pooled), len(orders)))
    rows[:ordered] = np.sqrt(2) * np.cos(np.pi * np.outer(middle, orders))
    basis = np.concatenate([rows, named], axis=1)
    return basis - pooled @ basis, np.concatenate([orders.astype(np.float64) ** 2, np.ones(named.shape[1])])


def _posterior(design: Floats, observed: Floats, variance: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the covariance of β, averaged over τ by evidence."""
    weighted = design / variance[:, None]
    information, pull = weighted.T @ design, weighted.T @ observed
    means, covariances, evidence = [], [], []
    for spread in _SPREADS:
        prior = precision / spread**2
        covariance = np.linalg.inv(information + np.diag(prior))
        means.append(covariance @ pull)
        covariances.append(covariance)
        evidence.append((pull @ means[-1] + np.linalg.slogdet(covariance)[1] + np.log(prior).sum()) / 2)
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    apart = np.array(means) - mean
    covariance = np.tensordot(weights, np.array(covariances), 1) + (apart.T * weights) @ apart
    return mean, covariance
