"""Joint growth: columns are reconstructed anew inside every leaf, from all that its records answered together.

Growth by class gives each record one interval a column by its own code alone, which destroys what columns do together.
Here each class is a mixture of the tree's leaves. Of class k, leaf ℓ has the share π_kl and, in each column u, the
distribution h_klu inside its box. After every split

* π by EM: a record with codes y lies in leaf ℓ with weight π_kl Π_u (M_u h_klu)[y_u], over the columns split so far, M
  their channels; STEPS steps from the shares before;
* h by EM inside each box, from the codes of all records by these weights, stopped early as in AS00: of what is
  likeliest much is noise.

The next split is the best by gini of π and h (tree_boxes.py). Cost: leaves² × records, of MOST_RECORDS a class.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.maximum_likelihood import stopped_early
from assocpriv.server.tree_boxes import Box
from assocpriv.server.tree_growth import Channel, Codes

Floats = NDArray[np.float64]
STEPS = 60
MOST_RECORDS = 20_000
MOST_LEAVES = 40
_BINS = 100  # of codes: noise is wide against a bin
_TINY, _RAREST = 1e-30, 1e-9


class Mixture:
    """Records by class, and how well each leaf explains them."""

    def __init__(
        self,
        codes: Sequence[Codes],
        labels: NDArray[np.int64],
        channels: Sequence[Channel],
        orders: Sequence[NDArray[np.int64]],
        rng: np.random.Generator,
    ) -> None:
        """``orders`` say in which order each column's inputs stand in the boxes."""
        self.matrices, bins = [], []
        for channel, order in zip(channels, orders, strict=True):
            matrix, rows = channel.transition[:, order], channel.readable
            last = len(matrix) - (len(order) - channel.ordered) if channel.ordered else 0
            starts = [*range(0, last, max(1, -(-last // _BINS))), *range(last, len(matrix))]
            self.matrices.append(np.add.reduceat(matrix, starts))
            bins.append(np.append(np.searchsorted(starts, np.arange(len(matrix)), side="right") - 1, len(starts))[rows])
        self.records = []  # of each class the bins of every column; one more for who was not asked
        for k in range(int(labels.max()) + 1):
            some = rng.permutation(np.flatnonzero(labels == k))[:MOST_RECORDS]
            self.records.append([of_code[column[some]] for of_code, column in zip(bins, codes, strict=True)])

    def refit(self, leaves: list[Box]) -> None:
        """Tell the masses and the distributions of all leaves anew."""
        split = sorted({column for leaf in leaves for column in leaf.inside})
        counts = [np.zeros((len(self.records), len(leaves), len(matrix))) for matrix in self.matrices]
        for k, records in enumerate(self.records):
            if not len(records[0]):
                continue
            weights = self._weights(leaves, records, split, k)
            for column, bins in enumerate(records):
                size = len(self.matrices[column]) + 1
                for at, each in enumerate(weights):
                    counts[column][k, at] = np.bincount(bins, each, minlength=size)[:-1]
        for column, (found, matrix) in enumerate(zip(counts, self.matrices, strict=True)):
            inside = np.array([leaf.inside.get(column, np.ones(matrix.shape[1], dtype=np.bool_)) for leaf in leaves])
            for k, of_class in enumerate(found):
                shares = stopped_early(of_class, matrix, inside)
                for leaf, each in zip(leaves, shares, strict=True):
                    leaf.columns[column][k] = each

    def _weights(self, leaves: list[Box], records: list[NDArray[np.int64]], split: list[int], k: int) -> Floats:
        """Return how much of each record of a class lies in each leaf, (leaves, n); sets the leaves' masses."""
        likelihood = np.ones((len(leaves), len(records[0])), dtype=np.float32)
        for column in split:
            inner = np.array([leaf.columns[column][k] for leaf in leaves])
            chances = np.pad(inner @ self.matrices[column].T, ((0, 0), (0, 1)), constant_values=1)
            chances /= np.maximum(chances.max(axis=0), _TINY)
            likelihood *= chances.astype(np.float32)[:, records[column]]
        mass = np.array([leaf.mass[k] for leaf in leaves])
        shares = np.maximum(mass / mass.sum(), _TINY).astype(np.float32)
        for _ in range(STEPS):
            shares *= likelihood @ (1 / np.maximum(shares @ likelihood, _TINY))
            shares /= shares.sum()
        for leaf, share in zip(leaves, shares, strict=True):
            leaf.mass[k] = mass.sum() * max(share, _RAREST)
        joint = likelihood * shares[:, None]
        weights: Floats = (joint / np.maximum(joint.sum(axis=0), _TINY)).astype(np.float64)
        return weights
