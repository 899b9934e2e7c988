"""Attacks on additive noise: estimates of each person's values from everybody's released values.

Noise of known variance that is drawn apart for each column hides little where columns go together: what they share is
the data, what they do not is the noise. A released table is W = X + E, float64 (records, columns), with E of
``deviations`` (columns,), known from the plan; 0 where a column is released as it is.

    spectral filtering     eigenvalues of pure noise of variance 1 lie within (1 ± √(d/N))²; what lies above is data,
                           and W is projected onto it. Kargupta, Datta, Wang, Sivakumar, ICDM 2003, section 4.
    principal components   cov(X) = cov(W) − cov(E); W is projected onto its leading eigenvectors. Huang, Du, Chen,
                           Deriving Private Information from Randomized Data, SIGMOD 2005, section 5.
    Gaussian Bayes         E[X | W] if X were Gaussian of the mean and covariance found. The same, section 6.
    interval Bayes         E[x | w] for one column's distribution as reconstructed, whatever its form; and the middle of
                           the interval that then holds x most often, of a width that holds it with some probability.
    pair Bayes             E[x | w, w'] for the joint distribution of two columns as reconstructed.

This is lab work: it is told the true values only to say afterwards how near an attacker came.
"""

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.likelihood import maximize

Floats = NDArray[np.float64]
_PAIR_INPUTS, _PAIR_CODES = 24, 48  # intervals of a pair's values, and of its released values
_PAIR_STEPS = 300  # of EM
_LEAST = 1e-12


def spectral_filtering(released: Floats, deviations: Floats) -> Floats:
    """Project released values, columns with noise alone, onto the eigenvectors beyond those of noise.

    >>> rng = np.random.default_rng(1)
    >>> x = np.repeat(rng.normal(0, 3, (5000, 1)), 5, axis=1)
    >>> bool(np.std(spectral_filtering(x + rng.normal(size=x.shape), np.ones(5)) - x) < 0.6)
    True
    """
    n, d = released.shape
    scaled, mean = _centred(released / deviations)
    values, vectors = np.linalg.eigh(scaled.T @ scaled / n)
    data = vectors[:, values > (1 + np.sqrt(d / n)) ** 2]
    found: Floats = (scaled @ data @ data.T + mean) * deviations
    return found


def principal_components(released: Floats, deviations: Floats, kept: int) -> Floats:
    """Project released values onto so many leading eigenvectors of the covariance without the noise."""
    scales = _scales(released, deviations)
    centred, mean = _centred(released / scales)
    _, vectors = np.linalg.eigh(_covariance(centred, deviations / scales))
    leading = vectors[:, -kept:]
    found: Floats = (centred @ leading @ leading.T + mean) * scales
    return found


def gaussian_bayes(released: Floats, deviations: Floats) -> Floats:
    """Return the mean of the values given the released ones, for Gaussian values of the covariance found."""
    scales = _scales(released, deviations)
    centred, mean = _centred(released / scales)
    noise = deviations / scales
    values, vectors = np.linalg.eigh(_covariance(centred, noise))
    prior = (vectors * np.maximum(values, 0)) @ vectors.T
    gain = np.linalg.solve(prior + np.diag(noise**2 + _LEAST), prior)
    found: Floats = (centred @ gain + mean) * scales
    return found


def interval_bayes(
    codes: NDArray[np.int64], matrix: Floats, middles: Floats, confidences: Sequence[float]
) -> tuple[Floats, list[Floats]]:
    """Return estimates of one column: the mean given its code, and the middle of its likeliest interval, by confidence.

    Args:
        codes: released codes, (n,).
        matrix: P(code | interval), (codes, intervals).
        middles: of the intervals, equally far from each other, (intervals,).
        confidences: that such intervals, of one width, hold the value on average.
    """
    counts = np.bincount(codes, minlength=len(matrix))
    joint = matrix * maximize(counts, matrix, smooth=True)
    joint /= np.maximum(joint.sum(axis=1, keepdims=True), _LEAST)
    step = (middles[-1] - middles[0]) / max(1, len(middles) - 1)
    best = []
    for confidence in confidences:
        first, width = likeliest_runs(joint, counts / len(codes), confidence)
        best.append((middles[first] + (width - 1) / 2 * step)[codes])
    return (joint @ middles)[codes], best


def likeliest_runs(posterior: Floats, weights: Floats, confidence: float) -> tuple[NDArray[np.int64], int]:
    """Return the first place of each row's likeliest run of a width, and this width, the same for all rows.

    It is the least width for which such runs hold the truth with some probability on average over rows, and no other
    choice of runs of a width holds it more often: whoever is told the rows and has this posterior cannot do better.

    Args:
        posterior: of places, (rows, places), rows adding up to 1.
        weights: of the rows, adding up to 1, (rows,).

    >>> likeliest_runs(np.array([[0.7, 0.1, 0.2], [0.1, 0.4, 0.5]]), np.array([0.5, 0.5]), 0.6)
    (array([0, 2]), 1)
    """
    before = np.pad(np.cumsum(posterior, axis=1), ((0, 0), (1, 0)))

    def held(width: int) -> Floats:
        runs: Floats = before[:, width:] - before[:, :-width]
        return runs

    widths = range(1, posterior.shape[1])
    found = bisect_left(widths, confidence - _LEAST, key=lambda width: float(weights @ held(width).max(axis=1))) + 1
    return held(found).argmax(axis=1), found


def pair_bayes(
    codes: tuple[NDArray[np.int64], NDArray[np.int64]], matrices: tuple[Floats, Floats], middles: Floats
) -> Floats:
    """Return the mean of the first of two columns given both codes, for their joint distribution as reconstructed.

    Values and codes are taken by runs of neighbours, so that the joint distribution is small.

    Args:
        codes: released codes, (n,) each.
        matrices: P(code | interval) of each, (codes, intervals).
        middles: of the first column's intervals, (intervals,).
    """
    coarse = [_coarse(matrix) for matrix in matrices]
    left, right = (run[code] for (_, run, _), code in zip(coarse, codes, strict=True))
    a, b = coarse[0][0], coarse[1][0]
    counts = np.zeros((len(a), len(b)))
    np.add.at(counts, (left, right), 1)
    joint = np.full((a.shape[1], b.shape[1]), 1 / (a.shape[1] * b.shape[1]))
    for _ in range(_PAIR_STEPS):
        joint *= a.T @ (counts / len(left) / np.maximum(a @ joint @ b.T, _LEAST)) @ b
    places = np.array([middles[part].mean() for part in coarse[0][2]])
    found: Floats = ((a * places) @ joint @ b.T / np.maximum(a @ joint @ b.T, _LEAST))[left, right]
    return found


def _coarse(matrix: Floats) -> tuple[Floats, NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return P(run of codes | run of intervals), the run of each code, and the intervals of each run."""
    n_codes, n_inputs = matrix.shape
    run = np.arange(n_codes) * min(_PAIR_CODES, n_codes) // n_codes
    parts = np.array_split(np.arange(n_inputs), min(_PAIR_INPUTS, n_inputs))
    summed = np.zeros((int(run[-1]) + 1, n_inputs))
    np.add.at(summed, run, matrix)
    return np.stack([summed[:, part].mean(axis=1) for part in parts], axis=1), run, parts


def widths_left(errors: Floats, confidences: Sequence[float]) -> list[float]:
    """Return the widths of the shortest intervals around an estimate that hold the truth with some confidences.

    Each is the shortest that holds so many of the errors seen, wherever it lies: an attacker may shift an estimate.

    >>> widths_left(np.array([0.0, 1.0, 1.5, 2.0, 9.0]), [0.6, 1])
    [1.0, 9.0]
    """
    ordered = np.sort(errors)
    held = [max(1, int(np.ceil(confidence * len(errors) - 1e-9))) for confidence in confidences]
    return [float((ordered[most - 1 :] - ordered[: len(errors) - most + 1]).min()) for most in held]


def _centred(values: Floats) -> tuple[Floats, Floats]:
    mean: Floats = values.mean(axis=0)
    return values - mean, mean


def _scales(released: Floats, deviations: Floats) -> Floats:
    """Return what to divide columns by: the standard deviation of their values, as far as it can be told."""
    variance: Floats = released.var(axis=0)
    scales: Floats = np.sqrt(np.maximum(variance - deviations**2, 1e-6 * variance + _LEAST))
    return scales


def _covariance(centred: Floats, deviations: Floats) -> Floats:
    covariance: Floats = centred.T @ centred / len(centred) - np.diag(deviations**2)
    return covariance
