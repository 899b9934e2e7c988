"""Pruning of decision trees, from the leaves up: what their records do not bear out becomes a leaf.

A node stays split where that is the cheaper description of its records (Mehta, Agrawal, Rissanen, SLIQ, EDBT 1996,
section 4.2; AS00): a leaf costs 1 for being one, and 1 for each record that is not of its class; a split costs 1 for
being one, its test, and its two parts. A test of a number costs 1, a test of a category ln n, where n tests of the tree
ask for this column. Equal costs are for the leaf.

**Recount.** How many records of each class lie in the boxes of a grown tree is found by EM over its leaves. Growth
gives every record one position in each column by its own code alone, so a box of several columns holds records that do
not belong there. Here each class is a mixture of the tree's leaves. Within a leaf columns are independent, and each is
distributed as in the whole class, cut to the leaf's box. With P(box_u | code) and P(box_u) of column u in the class,
the likelihood of a record in leaf ℓ is, but for a factor of its own,

    L_ℓ = Π_u P(box_u | code_u) / P(box_u)

over the columns u that lead to ℓ. A step of EM is p_ℓ ← p_ℓ · mean over records of L_ℓ / Σ_m p_m L_m. It starts from
independent columns, p_ℓ = Π_u P(box_u), and is stopped early, as the reconstruction of columns is in AS00: what is
likeliest of all fits noise. A column that nobody answers with another leaves the start as it is.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assocpriv.server import tree_growth

PRUNINGS = ("description-length", "none")
STEPS = 15  # of 5, 15 and 60; chosen on 50,000 records of F2 and F3 at 100% privacy
MOST_RECORDS = 50_000  # of a class, chosen at random: what bounds time and memory
_LEAST = 1e-9  # records in a leaf, so that shares can be taken of it
Allowed = dict[int, NDArray[np.bool_]]  # by column, which of its inputs a leaf takes


# ---- pruning


def prune_by_description(tree: tree_growth.Tree, categories: Collection[int]) -> tree_growth.Tree:
    """Return the cheapest of the trees that are left when nodes become leaves.

    ``categories`` are the columns of named values.
    """
    asked = Counter(branch.feature for branch in tree)
    costs, sizes, stays = [0.0] * len(tree), [1] * len(tree), [False] * len(tree)
    for place in reversed(range(len(tree))):
        branch = tree[place]
        costs[place] = 1 + sum(branch.counts) - max(branch.counts)
        if branch.feature >= 0:
            test = math.log(asked[branch.feature]) if branch.feature in categories else 1
            split = 1 + test + costs[place + 1] + costs[branch.right]
            stays[place] = split < costs[place]
        if stays[place]:
            costs[place], sizes[place] = split, 1 + sizes[place + 1] + sizes[branch.right]
    kept: tree_growth.Tree = []
    waiting = [0]
    while waiting:
        place = waiting.pop()
        branch = tree[place]
        if stays[place]:
            kept.append(replace(branch, right=len(kept) + 1 + sizes[place + 1]))
            waiting += [branch.right, place + 1]
        else:
            kept.append(tree_growth.Branch(branch.counts))
    return kept


# ---- recount


@dataclass(frozen=True)
class _Column:
    """A column in one class: P(input | code), float64 (codes, inputs), and P(input). The last input may be missing."""

    posterior: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(
        cls, codes: tree_growth.Codes, channel: tree_growth.Channel, shares: NDArray[np.float64] | None
    ) -> "_Column":
        """Return the column of one class's codes; ``shares`` are those of its inputs, None if nobody was asked."""
        n = channel.n_positions
        if channel.matrix is None:
            size = int(codes.max()) + 1
            given = tree_growth.as_released(np.arange(size).astype(codes.dtype), channel)
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
    tree: tree_growth.Tree,
    codes: Sequence[tree_growth.Codes],
    labels: NDArray[np.int64],
    channels: Sequence[tree_growth.Channel],
    rng: np.random.Generator,
) -> tree_growth.Tree:
    """Return the tree with the counts that each class's leaves have by EM; ``ranks`` of channels say how it splits."""
    leaves = leaf_inputs(tree, channels)
    counts = {leaf: np.full(len(tree[0].counts), _LEAST) for leaf in leaves}
    known = {
        place: tree_growth.class_shares(codes[place], labels, channels[place])
        for place in {place for allowed in leaves.values() for place in allowed}
        if channels[place].matrix is not None
    }
    for k in np.unique(labels).tolist():
        rows = np.flatnonzero(labels == k)
        some = rng.permutation(rows)[:MOST_RECORDS]
        shares = {place: of_class[k] for place, of_class in known.items() if of_class}
        found = _leaf_shares([column[some] for column in codes], channels, leaves, shares)
        for leaf, share in zip(leaves, found, strict=True):
            counts[leaf][k] += len(rows) * share
    filled = list(tree)
    for place in reversed(range(len(tree))):
        branch = tree[place]
        below = (place + 1, branch.right) if branch.feature >= 0 else ()
        found = sum((np.array(filled[child].counts) for child in below), np.zeros(len(branch.counts)))
        filled[place] = replace(branch, counts=tuple((found if below else counts[place]).tolist()))
    return filled


def _leaf_shares(
    codes: Sequence[tree_growth.Codes],
    channels: Sequence[tree_growth.Channel],
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


def leaf_inputs(tree: tree_growth.Tree, channels: Sequence[tree_growth.Channel]) -> dict[int, Allowed]:
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
