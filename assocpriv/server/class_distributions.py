"""How a column's distribution differs between classes, by empirical Bayes: no test, and no more than the reports tell.

Reconstructed for each class alone, a distribution fits that class's noise: a column of many values, few answers or a
strong promise then tells classes apart that do not differ. So what classes have in common is estimated from all
reports, f, and what they differ by has a prior. With counts n[y, r] of codes and released classes, C the law of the
class and π the shares of the true ones, a class k differs from the others by

    D_y = Σ_r n[y, r] (C⁻¹[k, r] / π_k − (1 − C⁻¹[k, r]) / (1 − π_k)) / n,     E[D] = T (f ∘ Σ_b β_b φ_b)

T being the column's channel, with variances that follow from T f. Of numbers φ_b = √2 cos(b π F), F the distribution
function of f, and β_b ~ N(0, τ²/b²): differences are smooth on the scale of the people, not of the values, and a step
is as likely as the prior says. Of named values every φ is one of them, and β ~ N(0, τ²). Posteriors are averaged over a
grid of τ by evidence, so a column without a difference is left alone, and a clear one is believed. Then
f_k = f ∘ (1 + (1 − π_k) Σ_b β_b φ_b), nowhere below a thirtieth of f.

Source: empirical Bayes as in Efron, Large-Scale Inference, 2010, chapter 1; MacKay, Neural Computation 1992, for the
evidence.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.maximum_likelihood import few_bins, maximize
from assocpriv.server.smoothing import smooth_shares

Floats = NDArray[np.float64]
_SPREADS = (0.03, 0.1, 0.2, 0.4, 0.8, 1.6)  # τ, in units of f
_WAVES = 16  # of a number
_LEAST = 1 / 30  # of f
_RAREST = 0.01  # of a class, by which differences are scaled
_LEAST_VARIANCE = 1e-12  # of a difference of shares, so that none is divided by


@dataclass(frozen=True, eq=False, slots=True)
class ClassDistributions:
    """Distributions of a column within each class, float64 (classes, inputs), each adding up to 1.

    ``spread`` are the covariances of each, (classes, inputs, inputs): what is not known of f and of the differences.
    """

    shares: Floats
    spread: Floats

    def in_order(self, way: NDArray[np.int64]) -> "ClassDistributions":
        """Return them with inputs in another order."""
        return ClassDistributions(self.shares[:, way], self.spread[:, way][:, :, way])


def class_distributions(
    counts: NDArray[np.int64], matrix: Floats, ordered: int, inverse: Floats, of_classes: Floats
) -> ClassDistributions:
    """Return the distributions of a column by class.

    Args:
        counts: of codes and released classes, (codes, classes); of none every input is as likely as the others.
        matrix: P(code | input), float64 (codes, inputs).
        ordered: how many inputs are intervals in a row, 0 of a category; one for a missing value is none of them.
        inverse: of the law of the class, float64 (true classes, released classes); its columns add up to 1.
        of_classes: π, the shares of the true classes.
    """
    counts, matrix = few_bins(counts, matrix, ordered)
    every, n = counts.sum(axis=1).astype(np.float64), float(counts.sum())
    if not n:
        return _unknown(matrix.shape[1], len(inverse))
    pooled, covariance = _pooled(every, matrix, ordered)
    waves, precision = _waves(pooled, ordered)
    likely = np.maximum(matrix @ pooled, 1e-12)
    seen = matrix @ (pooled[:, None] * waves)
    shares, spread = np.empty((len(inverse), len(pooled))), np.empty((len(inverse), len(pooled), len(pooled)))
    for k, row in enumerate(inverse):
        share = float(np.clip(of_classes[k], _RAREST, 1 - _RAREST))
        weights = (row / share - (1 - row) / (1 - share)) / n
        variance = max(float(counts.sum(axis=0) @ weights**2), _LEAST_VARIANCE) * likely
        mean, covered = _posterior(seen, counts @ weights, variance, precision)
        shape = (1 - share) * pooled[:, None] * waves
        found = np.maximum(pooled + shape @ mean, _LEAST * pooled)
        shares[k] = found / found.sum()
        spread[k] = covariance + shape @ covered @ shape.T
    return ClassDistributions(shares, spread)


def pooled_shares(counts: NDArray[np.int64], matrix: Floats, ordered: int) -> Floats:
    """Return f, of counts of codes, (codes,), smooth where inputs are in a row."""
    return _pooled(*few_bins(counts.astype(np.float64), matrix, ordered), ordered)[0]


def _unknown(inputs: int, classes: int) -> ClassDistributions:
    even = np.full((classes, inputs), 1 / inputs)
    return ClassDistributions(even, np.tile(np.eye(inputs) / inputs - 1 / inputs**2, (classes, 1, 1)))


def _pooled(counts: Floats, matrix: Floats, ordered: int) -> tuple[Floats, Floats]:
    """Return f and its covariance."""
    if ordered:
        found = smooth_shares(counts[:, None], matrix, ordered=(ordered, 0))
        return np.maximum(found.shares[:, 0], 1e-9), found.covariance
    shares = np.maximum(maximize(counts, matrix), 1e-9)
    inverse = np.linalg.pinv(matrix)
    likely = matrix @ shares
    return shares, (inverse * likely) @ inverse.T / counts.sum() - np.outer(shares, shares) / counts.sum()


def _waves(pooled: Floats, ordered: int) -> tuple[Floats, Floats]:
    """Return φ, float64 (inputs, waves), each of mean 0 under f, and the precisions of β where τ is 1."""
    named = np.eye(len(pooled))[:, ordered:]
    middle = (np.cumsum(pooled[:ordered]) - pooled[:ordered] / 2) / max(float(pooled[:ordered].sum()), 1e-12)
    orders = np.arange(1, min(_WAVES, ordered - 1) + 1)
    rows = np.zeros((len(pooled), len(orders)))
    rows[:ordered] = np.sqrt(2) * np.cos(np.pi * np.outer(middle, orders))
    waves = np.concatenate([rows, named], axis=1)
    return waves - pooled @ waves, np.concatenate([orders.astype(np.float64) ** 2, np.ones(named.shape[1])])


def _posterior(seen: Floats, told: Floats, variance: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the covariance of β, averaged over τ by evidence."""
    weighted = seen / variance[:, None]
    information, pull = weighted.T @ seen, weighted.T @ told
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
