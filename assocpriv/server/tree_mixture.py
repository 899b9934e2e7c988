"""Each class as a mixture of a tree's leaves: what lies in boxes of several columns, from all that records answered.

Growth by class gives each record one interval a column by its own code alone, which destroys what columns do together:
a box of several columns holds records that noise put there. Here, of class k, leaf ℓ has the share π_kl and, in each
column u, the distribution h_klu inside its box. A record with codes y lies in it with weight π_kl Π_u (M_u h_klu)[y_u],
over the columns that leaves are cut in, M their channels. π is found by EM.

**Recount**, of a tree grown by class: h is the column's distribution in the whole class, cut to the box, and π begins
as if columns were independent. EM is stopped early, as the reconstruction of columns is in AS00: what is likeliest of
all fits noise. A column that nobody answers with another leaves the start as it is.

**Joint growth**: after every split EM goes on from the shares before; then h is told anew inside each box, from the
codes of all records by these weights, stopped early as in AS00. Cost: leaves² × records.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.maximum_likelihood import bin_starts, stopped_early
from assocpriv.server.tree_growth import Box
from assocpriv.server.tree_positions import Released

Floats = NDArray[np.float64]
STEPS, MOST_RECORDS, MOST_LEAVES = 60, 20_000, 40  # of joint growth; records of a class, chosen at random
STEPS_TO_COUNT = 15  # of 5, 15 and 60; chosen on 50,000 records of F2 and F3 at 100% privacy
MOST_COUNTED = 50_000  # records of a class: what bounds time and memory
_BINS = 100  # of codes: noise is wide against a bin
_TINY, _RAREST = 1e-30, 1e-9


class Mixture:
    """Records by class, and how well each leaf explains them."""

    def __init__(self, released: Released, rng: np.random.Generator, most_records: int = MOST_RECORDS) -> None:
        self.matrices, bins = [], []
        for channel in released.channels:
            matrix, rows = channel.transition, channel.readable
            starts = bin_starts(matrix, channel.ordered if channel.matrix is not None else 0, _BINS)
            self.matrices.append(np.add.reduceat(matrix, starts))
            bins.append(np.append(np.searchsorted(starts, np.arange(len(matrix)), side="right") - 1, len(starts))[rows])
        self.records = []  # of each class the bins of every column; one more for who was not asked
        for k in range(released.n_classes):
            some = rng.permutation(np.flatnonzero(released.labels == k))[:most_records]
            self.records.append([of[column[some]] for of, column in zip(bins, released.codes, strict=True)])

    def recount(self, leaves: list[Box], told: Sequence[Floats]) -> None:
        """Tell the masses of leaves, of columns that are distributed like this, float64 (classes, inputs)."""
        sizes = np.sum([leaf.mass for leaf in leaves], axis=0)
        for leaf in leaves:
            leaf.columns, leaf.mass = list(told), sizes
            for column, inside in leaf.inside.items():
                part = told[column] * inside[: told[column].shape[1]]
                within = part.sum(axis=1)
                leaf.columns[column], leaf.mass = part / np.maximum(within, _TINY)[:, None], leaf.mass * within
        for k, size in enumerate(sizes):
            if size:
                self._fit(leaves, k, STEPS_TO_COUNT, size, told)

    def refit(self, leaves: list[Box]) -> None:
        """Tell the masses and the distributions of all leaves anew."""
        counts = [np.zeros((len(self.records), len(leaves), len(matrix))) for matrix in self.matrices]
        for k, records in enumerate(self.records):
            if not len(records[0]):
                continue
            weights = self._fit(leaves, k, STEPS, sum(leaf.mass[k] for leaf in leaves))
            weights /= np.maximum(weights.sum(axis=0), _TINY)
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

    def _fit(
        self, leaves: list[Box], k: int, steps: int, size: float, told: Sequence[Floats] | None = None
    ) -> NDArray[np.float32]:
        """Share a class's size out among the leaves; return how likely each record lies in each, but for a factor.

        ``told`` are distributions of columns that leaves have where they are not cut in them.
        """
        records = self.records[k]
        likelihood = np.ones((len(leaves), len(records[0])), dtype=np.float32)
        for column in sorted({column for leaf in leaves for column in leaf.inside}):
            chosen = [at for at, leaf in enumerate(leaves) if told is None or column in leaf.inside]
            inner = np.array([leaves[at].columns[column][k] for at in chosen])
            chances = np.pad(inner @ self.matrices[column].T, ((0, 0), (0, 1)), constant_values=1)
            usual = chances.max(axis=0) if told is None else np.append(self.matrices[column] @ told[column][k], 1)
            chances /= np.maximum(usual, _TINY)
            for at, each in zip(chosen, chances.astype(np.float32), strict=True):
                likelihood[at] *= each[records[column]]
        mass = np.array([leaf.mass[k] for leaf in leaves])
        shares = np.maximum(mass / mass.sum(), _TINY).astype(np.float32)
        for _ in range(steps):
            shares *= likelihood @ (1 / np.maximum(shares @ likelihood, _TINY))
            shares /= shares.sum()
        for leaf, share in zip(leaves, shares, strict=True):
            leaf.mass[k] = size * max(share, _RAREST)
        likelihood *= shares[:, None]
        return likelihood
