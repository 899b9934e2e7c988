"""How many records of each class lie in the boxes of a grown tree: by EM over its leaves.

Growth gives every record one position in each column by its own code alone, so a box of several columns holds records
that do not belong there. Here each class is a mixture of the tree's leaves. Within a leaf columns are independent, and
each is distributed as in the whole class, cut to the leaf's box. With P(box_u | code) and P(box_u) of column u in the
class, the likelihood of a record in leaf ℓ is, but for a factor of its own,

    L_ℓ = Π_u P(box_u | code_u) / P(box_u)

over the columns u that lead to ℓ. A step of EM is p_ℓ ← p_ℓ · mean over records of L_ℓ / Σ_m p_m L_m. It starts from
independent columns, p_ℓ = Π_u P(box_u), and is stopped early, as the reconstruction of columns is in AS00: what is
likeliest of all fits noise. A column that nobody answers with another leaves the start as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.trees.channels import Channel
from assocpriv.server.numeric.trees.correction import Codes, as_released
from assocpriv.server.numeric.trees.evidence import class_shares
from assocpriv.server.numeric.trees.growing import Tree

STEPS = 15  # of 5, 15 and 60; chosen on 50,000 records of F2 and F3 at 100% privacy
MOST_RECORDS = 50_000  # of a class, chosen at random: what bounds time and memory
_LEAST = 1e-9  # records in a leaf, so that shares can be taken of it
Allowed = dict[int, NDArray[np.bool_]]  # by column, which of its inputs a leaf takes


@dataclass(frozen=True)
class _Column:
    """A column in one class: P(input | code), float64 (codes, inputs), and P(input). The last input may be missing."""

    posterior: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, codes: Codes, channel: Channel, shares: NDArray[np.float64] | None) -> "_Column":
        """Return the column of one class's codes; ``shares`` are those of its inputs, None if nobody was asked."""
        n = channel.n_positions
        if channel.matrix is None:
            size = int(codes.max()) + 1
            given = as_released(np.arange(size).astype(codes.dtype), channel)
            posterior = np.zeros((size, n + 1))
            posterior[np.arange(size), np.where(np.isnan(given), n, given).astype(np.int64)] = 1
            return cls(posterior, np.bincount(codes, minlength=size) @ posterior / len(codes))
        shares = np.full(channel.matrix.shape[1], 1.0) if shares is None else shares
        shares = shares / shares.sum()
        joint = channel.matrix * shares
        seen = joint.sum(axis=1, keepdims=True)
        posterior = np.where(seen > 0, joint / np.maximum(seen, np.finfo(np.float64).tiny), shares)
        rows = max(len(posterior), int(codes.max()) + 1)  # who was not asked may have any input
        return cls(np.concatenate([posterior, np.tile(shares, (rows - len(posterior), 1))]), shares)


def recount(
    tree: Tree, codes: Sequence[Codes], labels: NDArray[np.int64], channels: Sequence[Channel], rng: np.random.Generator
) -> Tree:
    """Return the tree with the counts that each class's leaves have by EM; ``ranks`` of channels say how it splits."""
    leaves = _leaves(tree, channels)
    counts = {leaf: np.full(len(tree[0].counts), _LEAST) for leaf in leaves}
    known = {
        place: class_shares(codes[place], labels, channels[place])
        for place in {place for allowed in leaves.values() for place in allowed}
        if channels[place].matrix is not None
    }
    for k in np.unique(labels).tolist():
        rows = np.flatnonzero(labels == k)
        some = rng.permutation(rows)[:MOST_RECORDS]
        shares = {place: of_class[k] for place, of_class in known.items() if of_class}
        found = leaf_shares([column[some] for column in codes], channels, leaves, shares)
        for leaf, share in zip(leaves, found, strict=True):
            counts[leaf][k] += len(rows) * share
    filled = list(tree)
    for place in reversed(range(len(tree))):
        branch = tree[place]
        below = (place + 1, branch.right) if branch.feature >= 0 else ()
        found = sum((np.array(filled[child].counts) for child in below), np.zeros(len(branch.counts)))
        filled[place] = replace(branch, counts=tuple((found if below else counts[place]).tolist()))
    return filled


def leaf_shares(
    codes: Sequence[Codes],
    channels: Sequence[Channel],
    leaves: dict[int, Allowed],
    inputs: Mapping[int, NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return which share of one class's records each leaf has, float64 (leaves,); codes are a column's each, (n,).

    ``inputs`` are the shares of the inputs of randomized columns in this class.
    """
    likelihood = np.ones((len(leaves), len(codes[0])), dtype=np.float32)
    shares: NDArray[np.float64] = np.ones(len(leaves))
    for place in sorted({place for allowed in leaves.values() for place in allowed}):
        column, known = _Column.of(codes[place], channels[place], inputs.get(place)), {}
        for leaf, allowed in enumerate(leaves.values()):
            if place not in allowed:
                continue
            inside = allowed[place][: len(column.shares)]
            key, prior = inside.tobytes(), float(column.shares[inside].sum())
            if key not in known:
                ratio = column.posterior[:, inside].sum(axis=1) / max(prior, np.finfo(np.float64).tiny)
                known[key] = ratio.astype(np.float32)[codes[place]]
            likelihood[leaf] *= known[key]
            shares[leaf] *= prior
    shares = shares / shares.sum()
    for _ in range(STEPS):
        expected = np.maximum(shares.astype(np.float32) @ likelihood, np.finfo(np.float32).tiny)
        shares *= likelihood @ (1 / expected)
        shares /= shares.sum()
    return shares


def _leaves(tree: Tree, channels: Sequence[Channel]) -> dict[int, Allowed]:
    """Return what every leaf takes of the columns that lead to it, bool (positions + 1,), missing values last."""
    reached: dict[int, Allowed] = {0: {}}
    for place, branch in enumerate(tree):
        if branch.feature >= 0:
            above, channel = reached.pop(place), channels[branch.feature]
            n = channel.n_positions
            ranks = np.arange(n) if channel.ranks is None else channel.ranks
            left = np.append(ranks < branch.at, branch.missing_left)
            so_far = above.get(branch.feature, np.ones(n + 1, dtype=np.bool_))
            reached[place + 1] = {**above, branch.feature: so_far & left}
            reached[branch.right] = {**above, branch.feature: so_far & ~left}
    return reached
