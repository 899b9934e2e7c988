"""How much of the difference between classes, in one column, the released codes bear out.

A distribution that is reconstructed for each class by itself fits that class's noise. A column with many values, few
answers or a strong promise then tells classes apart that do not differ, and a tree splits by it first. The released
codes say how much of that can be true: with n_ky codes y in class k, and e_ky what there would be if classes did not
differ, χ² = Σ (n_ky − e_ky)²/e_ky has the mean d = (classes − 1)(codes seen − 1) where they do not. So the shares
f_k of a class become f + λ(f_k − f), f those of all classes together, with

    λ = 1 − d/χ² where χ² is above the quantile of LEVEL, else 0,

the rule of James and Stein (1961) for how far estimates are moved to a common mean. Where noise is small against what
classes differ by, λ is near 1, and nothing changes.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.trees.channels import Channel
from assocpriv.server.numeric.trees.correction import Codes, as_released, correct, reconstruct

LEVEL = 0.9  # of the χ² test; one column in ten that tells nothing passes, most of those moved half the way
MOST_BINS = 8  # of codes; neighbours in a row are joined, for noise is wide and few records bear out few bins


def class_shares(codes: Codes, labels: NDArray[np.int64], channel: Channel) -> dict[int, NDArray[np.float64]]:
    """Return the reconstructed shares of each class, float64 (inputs,), moved to those of all by what is borne out.

    ``codes`` are of one column, (n,), ``labels`` the classes, int64 (n,). A class that nobody of was asked has those of
    all; if nobody was asked at all, there are none.
    """
    assert channel.matrix is not None
    counts = codes_by_class(codes, labels, channel)
    every = sum(counts.values(), np.zeros(len(channel.matrix), dtype=np.int64))
    if not every.any():
        return {}
    weight = borne_out(np.array(list(counts.values())), in_a_row=channel.edges is not None)
    together = reconstruct(every, channel)
    return {
        k: together + weight * (reconstruct(found, channel) - together) if weight and found.any() else together
        for k, found in counts.items()
    }


def codes_by_class(codes: Codes, labels: NDArray[np.int64], channel: Channel) -> dict[int, NDArray[np.int64]]:
    """Return how often each code was released in each class, int64 (codes,), of who was asked."""
    assert channel.matrix is not None
    n = len(channel.matrix)
    found = {k: np.bincount(codes[labels == k], minlength=n) for k in np.unique(labels).tolist()}
    return {k: counts[:n] for k, counts in found.items()}


def borne_out(counts: NDArray[np.int64], *, in_a_row: bool) -> float:
    """Return λ of counts of codes by class, int64 (classes, codes).

    >>> borne_out(np.array([[50, 52], [49, 50]]), in_a_row=False)
    0.0
    >>> round(borne_out(np.array([[500, 100], [100, 500]]), in_a_row=False), 3)
    0.998
    """
    from scipy.special import chdtri

    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if in_a_row and counts.shape[1] > MOST_BINS:
        counts = _joined(counts)
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom == 0:
        return 0.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    distance = float(((counts - expected) ** 2 / expected).sum())
    return 1 - freedom / distance if distance > chdtri(freedom, 1 - LEVEL) else 0.0


def _joined(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts with neighbours joined into bins of about equally many records."""
    so_far = np.cumsum(counts.sum(axis=0))
    bins = np.minimum((so_far - 1) * MOST_BINS // so_far[-1], MOST_BINS - 1)
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    joined: NDArray[np.int64] = np.add.reduceat(counts, starts, axis=1)
    return joined


def correct_classes(
    codes: Codes, labels: NDArray[np.int64], channel: Channel, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return the positions of records, float32 (n,), reconstructed by class; ``codes`` (n,), ``labels`` int64 (n,)."""
    if channel.matrix is None:
        return as_released(codes, channel)
    shares = class_shares(codes, labels, channel)
    found = np.empty(len(codes), dtype=np.float32)
    for k in np.unique(labels).tolist():
        rows = np.flatnonzero(labels == k)
        found[rows] = correct(codes[rows], channel, rng, shares.get(k))
    return found
