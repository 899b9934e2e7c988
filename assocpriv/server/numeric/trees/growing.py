"""Trees over positions: grown by scikit-learn, by class counts at every node; Local reconstructs at nodes on the way.

Source: AS00, section 4.2. *Global* reconstructs each column once over all records, *by-class* once for each class,
*local* for each class at every node. Which split is best is scikit-learn's to say, by the gini index, in all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from assocpriv.server.numeric.trees.channels import Channel
from assocpriv.server.numeric.trees.correction import Codes, correct
from assocpriv.server.numeric.trees.evidence import correct_classes

METHODS = ("by-class", "global", "local", "randomized")
LEAST_RECONSTRUCTED = 300  # records of a class; of 300, 1,000, 3,000 and 10,000 best on F2 and F3 at 100% privacy
EVERY = 1 << 20  # above all positions: a split by which all values but missing ones go left
Positions = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a tree grows."""

    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    seed: int

    def below(self) -> "Limits":
        """Return the limits of the children of a node that was split."""
        return self if self.max_depth is None else replace(self, max_depth=self.max_depth - 1)


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of a tree in preorder: counts of the classes, and its split or none (``feature`` is −1).

    Records whose position is below ``at`` go left; the left child is the next node, ``right`` the position of the
    other.
    """

    counts: tuple[float, ...]
    feature: int = -1
    at: int = 0
    missing_left: bool = False
    right: int = 0


Tree = list[Branch]


def corrected_positions(
    codes: Sequence[Codes],
    labels: NDArray[np.int64],
    channels: Sequence[Channel],
    method: str,
    rng: np.random.Generator,
) -> Positions:
    """Return the positions of all records, float32 (n, columns), reconstructed over all of them or by class."""
    found = np.empty((len(labels), len(codes)), dtype=np.float32, order="F")
    for place, (column, channel) in enumerate(zip(codes, channels, strict=True)):
        by_class = method != "global"
        found[:, place] = correct_classes(column, labels, channel, rng) if by_class else correct(column, channel, rng)
    return found


def grow(positions: Positions, labels: NDArray[np.int64], n_classes: int, limits: Limits) -> Tree:
    """Grow a tree by scikit-learn on positions, float32 (n, columns), and classes, int64 (n,)."""
    grown = DecisionTreeClassifier(
        max_depth=limits.max_depth,
        min_samples_split=limits.min_samples_split,
        min_samples_leaf=limits.min_samples_leaf,
        random_state=limits.seed,
    ).fit(positions, labels)
    tree = grown.tree_
    counts = np.zeros((tree.node_count, n_classes))
    counts[:, grown.classes_] = np.rint(tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None])
    return [
        Branch(tuple(counts[node]))
        if tree.children_left[node] < 0
        else Branch(
            tuple(counts[node]),
            int(tree.feature[node]),
            int(np.floor(min(tree.threshold[node], EVERY - 1))) + 1,
            bool(tree.missing_go_to_left[node]),
            int(tree.children_right[node]),
        )
        for node in range(tree.node_count)
    ]


class LocalGrowth:
    """Growth with a reconstruction at every node, of the columns that its path has not split on.

    Where the path has split on a column its records are those whose released values lie on one side, and noise as the
    plan states it no longer describes these: they keep the positions that they were split by. Where a class has fewer
    than ``least`` records in a node nothing is reconstructed there or below, and the rest is scikit-learn's.
    """

    def __init__(
        self,
        codes: Sequence[Codes],
        labels: NDArray[np.int64],
        channels: Sequence[Channel],
        n_classes: int,
        rng: np.random.Generator,
        least: int = LEAST_RECONSTRUCTED,
    ) -> None:
        self.codes, self.labels, self.channels = codes, labels, channels
        self.n_classes, self.rng, self.least = n_classes, rng, least

    def grow(self, rows: NDArray[np.int64], positions: Positions, used: frozenset[int], limits: Limits) -> Tree:
        """Grow the tree below a node: its records, their positions so far, and the columns that its path split on."""
        labels = self.labels[rows]
        present = np.unique(labels, return_counts=True)[1]
        noisy = [place for place, channel in enumerate(self.channels) if channel.matrix is not None]
        if limits.max_depth == 0:
            return grow(
                positions, labels, self.n_classes, replace(limits, max_depth=1, min_samples_split=len(rows) + 1)
            )
        if used.issuperset(noisy) or len(present) < 2 or present.min() < self.least:
            return grow(positions, labels, self.n_classes, limits)
        positions = self._again(rows, labels, positions, set(noisy) - used)
        root, *children = grow(positions, labels, self.n_classes, replace(limits, max_depth=1))
        if not children:
            return [root]
        values = positions[:, root.feature]
        left = np.where(np.isnan(values), root.missing_left, values < root.at)
        parts = [
            self.grow(rows[side], positions[side], used | {root.feature}, limits.below()) for side in (left, ~left)
        ]
        return joined(root, *parts)

    def _again(
        self, rows: NDArray[np.int64], labels: NDArray[np.int64], positions: Positions, places: set[int]
    ) -> Positions:
        found = positions.copy(order="F")
        for place in sorted(places):
            found[:, place] = correct_classes(self.codes[place][rows], labels, self.channels[place], self.rng)
        return found


def joined(root: Branch, left: Tree, right: Tree) -> Tree:
    """Return the tree of a node and the trees below it."""
    return [replace(root, right=1 + len(left)), *_moved(left, 1), *_moved(right, 1 + len(left))]


def _moved(tree: Tree, by: int) -> Tree:
    return [branch if branch.feature < 0 else replace(branch, right=branch.right + by) for branch in tree]
