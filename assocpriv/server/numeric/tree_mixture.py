"""Each class as a mixture of a tree's leaves, estimated from all columns of its records together.

Growth by class gives each record one interval a column by its own code alone. This destroys the dependence between
columns: noise puts records into boxes of several columns. Here leaf ℓ has the share π_kl of class k and, in each column
u, the distribution h_klu inside its box. A record with codes y lies in the leaf with weight
π_kl Π_u (M_u h_klu)[y_u], over the columns that leaves are cut in, with M their channels. EM estimates π.

**Recount** of a tree grown by class: h is the column's distribution in the whole class, cut to the box, and π starts
from independent columns. EM is stopped early, like the reconstruction of columns in AS00, because the maximum of the
likelihood fits noise. A column that no report includes with another does not change the start.

**Joint growth**: after every split EM continues from the previous shares. Then h is estimated again inside each box
from the codes of all records by these weights, stopped early as in AS00. The cost is leaves² × records.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.maximum_likelihood import bin_starts, early_stopped_em
from assocpriv.server.numeric.tree_growth import Box
from assocpriv.server.numeric.tree_positions import ReleasedRecords

Floats = NDArray[np.float64]
STEPS, MOST_RECORDS, MOST_LEAVES = 60, 20_000, 40  # of joint growth; records of a class, chosen at random
STEPS_TO_COUNT = 15  # the best of 5, 15 and 60 on 50,000 records of F2 and F3 at 100% privacy
MOST_COUNTED = 50_000  # records of a class, which limits time and memory
_BINS = 100  # of codes: narrow against the noise
_TINY, _RAREST = 1e-30, 1e-9


class Mixture:
    """Records by class, and the likelihood of each under each leaf."""

    def __init__(self, released: ReleasedRecords, rng: np.random.Generator, most_records: int = MOST_RECORDS) -> None:
        self.matrices, bins = [], []
        for channel in released.channels:
            matrix, rows = channel.transition, channel.readable
            starts = bin_starts(matrix, channel.ordered if channel.matrix is not None else 0, _BINS)
            self.matrices.append(np.add.reduceat(matrix, starts))
            bins.append(np.append(np.searchsorted(starts, np.arange(len(matrix)), side="right") - 1, len(starts))[rows])
        self.records = []  # for each class the bins of every column; one further bin for an omitted column
        for k in range(released.n_classes):
            some = rng.permutation(np.flatnonzero(released.labels == k))[:most_records]
            self.records.append([of[column[some]] for of, column in zip(bins, released.codes, strict=True)])

    def recount(self, leaves: list[Box], distributions: Sequence[Floats]) -> None:
        """Estimate the masses of leaves from columns with these distributions, float64 (classes, inputs) each."""
        sizes = np.sum([leaf.mass for leaf in leaves], axis=0)
        for leaf in leaves:
            leaf.columns, leaf.mass = list(distributions), sizes
            for column, inside in leaf.inside.items():
                part = distributions[column] * inside[: distributions[column].shape[1]]
                within = part.sum(axis=1)
                leaf.columns[column], leaf.mass = part / np.maximum(within, _TINY)[:, None], leaf.mass * within
        for k, size in enumerate(sizes):
            if size:
                self._fit(leaves, k, STEPS_TO_COUNT, size, distributions)

    def refit(self, leaves: list[Box]) -> None:
        """Estimate the masses and the distributions of all leaves again."""
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
                shares = early_stopped_em(of_class, matrix, inside)
                for leaf, each in zip(leaves, shares, strict=True):
                    leaf.columns[column][k] = each

    def _fit(
        self, leaves: list[Box], k: int, steps: int, size: float, distributions: Sequence[Floats] | None = None
    ) -> NDArray[np.float32]:
        """Divide a class's size among the leaves; return the weight of each record in each leaf, up to a factor.

        ``distributions`` are those of the columns in leaves that are not cut in them.
        """
        records = self.records[k]
        likelihood = np.ones((len(leaves), len(records[0])), dtype=np.float32)
        for column in sorted({column for leaf in leaves for column in leaf.inside}):
            chosen = [at for at, leaf in enumerate(leaves) if distributions is None or column in leaf.inside]
            inner = np.array([leaves[at].columns[column][k] for at in chosen])
            likelihoods = np.pad(inner @ self.matrices[column].T, ((0, 0), (0, 1)), constant_values=1)
            scale = likelihoods.max(axis=0)
            if distributions is not None:
                scale = np.append(self.matrices[column] @ distributions[column][k], 1)
            likelihoods /= np.maximum(scale, _TINY)
            for at, each in zip(chosen, likelihoods.astype(np.float32), strict=True):
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
