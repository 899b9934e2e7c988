"""Growth and pruning of decision trees. Every node is a box.

A box has its mass of each class, and the distribution of each column inside. Growth takes the split that lowers the
Gini index most, over all columns and, if the number of leaves is limited, over all leaves. The methods differ in how
they compute the halves of a box:

* *records*: by the positions of its records (tree_positions.py), corrected once for all nodes, globally or by class.
  *local* corrects them again at every node, in the columns that its path has not split. In split columns, records have
  released values on one side, which the plan's noise no longer describes; they keep their positions.
* *joint*: by a mixture of leaves that is fitted again after every split (below).
* *distributions alone*: if no report includes two columns, or a strong guarantee leaves almost no information in pairs
  of values, reports identify only each column's distribution by class (tree_positions.py). Then masses are
  π_k Π_u F_ku(box_u), as in naive Bayes, and no records are needed.

On raw records the tree is that of scikit-learn.

**Pruning**, from the leaves up: a node stays split if that is the cheaper description of its records (Mehta, Agrawal,
Rissanen, SLIQ, EDBT 1996, section 4.2; AS00). A leaf costs 1, and 1 for each record that is not of its class. A split
costs 1, its test, and its two parts. A test of a number costs 1, a test of a category ln n, where n is the number of
tests of this column in the tree. At equal costs the node becomes a leaf.

**A mixture of a tree's leaves** describes each class, estimated from all columns of its records together. Growth by
class gives each record one interval a column by its own code alone. This destroys the dependence between columns: noise
puts records into boxes of several columns. Here leaf ℓ has the share π_kl of class k and, in each column u, the
distribution h_klu inside its box. A record with codes y lies in the leaf with weight π_kl Π_u (M_u h_klu)[y_u], over
the columns that leaves are cut in, with M their channels. EM estimates π.

**Recount** of a tree grown by class: h is the column's distribution in the whole class, cut to the box, and π starts
from independent columns. EM is stopped early, like the reconstruction of columns in AS00, because the maximum of the
likelihood fits noise. A column that no report includes with another does not change the start.

**Joint growth**: after every split EM continues from the previous shares. Then h is estimated again inside each box
from the codes of all records by these weights, stopped early as in AS00. The cost is leaves² × records.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.maximum_likelihood import bin_starts, early_stopped_em
from assocpriv.server.numeric.tree_positions import Positions, ReleasedRecords

Floats = NDArray[np.float64]
_LEAST_RECONSTRUCTED = 300  # records of a class: the best of 300, 1,000, 3,000, 10,000 on F2 and F3 at 100% privacy
_TINY = 1e-300
STEPS, MOST_RECORDS, MOST_LEAVES = 60, 20_000, 40  # of joint growth; records of a class, chosen at random
STEPS_TO_COUNT = 15  # the best of 5, 15 and 60 on 50,000 records of F2 and F3 at 100% privacy
MOST_COUNTED = 50_000  # records of a class, which limits time and memory
_BINS = 100  # of codes: narrow against the noise
_LEAST_LIKELIHOOD, _RAREST = 1e-30, 1e-9


@dataclass(eq=False, slots=True)
class Box:
    """A node: its mass by class, float64 (classes,), and each column's distribution inside, float64 (classes, inputs).

    ``inside`` are the inputs that it takes, for the columns on the path to it. ``number`` is 1 for the root, 2i and
    2i + 1 for the halves of box i.
    """

    mass: Floats
    columns: list[Floats]
    inside: dict[int, NDArray[np.bool_]] = field(default_factory=dict)
    number: int = 1
    split: "CandidateSplit | None" = None
    below: "tuple[Box, Box] | None" = None

    def in_preorder(self) -> "list[Box]":
        """Return the box and all below it, each before its halves."""
        found, stack = [], [self]
        while stack:
            found.append(stack.pop())
            stack += reversed(found[-1].below or ())
        return found

    @property
    def leaves(self) -> "list[Box]":
        """The boxes below that are not split."""
        return [box for box in self.in_preorder() if box.below is None]

    def halves(self, cut: "CandidateSplit", row: int) -> "tuple[Box, Box]":
        """Return both halves for independent columns; the first ``row`` inputs are intervals or values, not missing."""
        shares = self.columns[cut.column]
        left = np.arange(shares.shape[1]) < cut.at
        left[row:] = cut.missing_left
        so_far = self.inside.get(cut.column, np.ones(len(left), dtype=np.bool_))
        sides = []
        for which, side in enumerate((left, ~left)):
            part = shares * side
            mass = part.sum(axis=1)
            columns = [each.copy() for each in self.columns]
            columns[cut.column] = part / np.maximum(mass, _TINY)[:, None]
            inside = {**self.inside, cut.column: so_far & side}
            sides.append(Box(self.mass * mass, columns, inside, 2 * self.number + which))
        return sides[0], sides[1]


@dataclass(frozen=True, slots=True)
class CandidateSplit:
    """A possible split and its gain: inputs below ``at`` go left, and missing values if ``missing_left``."""

    gain: float
    column: int
    at: int
    missing_left: bool


@dataclass(frozen=True, slots=True)
class GrowthLimits:
    """Limits of growth: least masses of a leaf and of a split box, least gain, most leaves, and depth."""

    least_leaf: float = 0.0
    least_split: float = 0.0
    least_gain: float = -1e-9  # every split gains, except for rounding
    most_leaves: float = math.inf
    max_depth: float | None = None


def grow(
    root: Box,
    rows: Sequence[int],
    bounds: GrowthLimits,
    divide: Callable[[Box, CandidateSplit], tuple[Box, Box]] | None = None,
    refit: Callable[[list[Box]], None] | None = None,
) -> None:
    """Split a box repeatedly, the best split first.

    Args:
        root: The box of all people.
        rows: Number of intervals or values of each column; a further input is that of a missing value.
        bounds: Limits, in the unit of the root's mass.
        divide: Returns the halves of a box; by default for independent columns.
        refit: Estimates masses and columns of all leaves again, after each split.
    """
    queue: list[tuple[float, int, Box, CandidateSplit]] = []

    def consider(box: Box) -> None:
        cut = _best_cut(box, rows, bounds)
        if cut and cut.gain > bounds.least_gain:
            heappush(queue, (-cut.gain, box.number, box, cut))

    consider(root)
    n_leaves = 1
    while queue and n_leaves < bounds.most_leaves:
        _, _, box, cut = heappop(queue)
        box.below = divide(box, cut) if divide else box.halves(cut, rows[cut.column])
        box.split, box.columns, n_leaves = cut, [], n_leaves + 1
        if refit is not None:
            queue.clear()
            refit(root.leaves)
        for each in box.below if refit is None else root.leaves:
            consider(each)


def _best_cut(box: Box, rows: Sequence[int], bounds: GrowthLimits) -> CandidateSplit | None:
    too_deep = bounds.max_depth is not None and box.number.bit_length() > bounds.max_depth
    if too_deep or box.mass.sum() < bounds.least_split or np.count_nonzero(box.mass) < 2:
        return None
    sizes = [each.shape[1] for each in box.columns]
    starts, of = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(sizes)), sizes)
    in_row = np.arange(len(of)) - starts[of] < np.asarray(rows)[of]
    mass = box.mass[:, None] * np.concatenate(box.columns, axis=1)
    below = np.cumsum(mass * in_row, axis=1)
    below -= (below[:, starts] - (mass * in_row)[:, starts])[:, of]
    missing = np.add.reduceat(mass * ~in_row, starts, axis=1)
    best = CandidateSplit(-1.0, 0, 0, False)
    for missing_left in (False, True) if missing.any() else (False,):
        left = below + missing[:, of] if missing_left else below  # the last: all values but missing ones go left
        right = np.maximum(box.mass[:, None] - left, 0)
        n_left, n_right = left.sum(axis=0), right.sum(axis=0)
        gains = np.where(in_row, _purity(left) + _purity(right), -1) - _purity(box.mass)
        gains[np.minimum(n_left, n_right) < max(bounds.least_leaf, 1e-9)] = -1
        at = int(np.argmax(gains))
        if gains[at] > best.gain:
            column = int(of[at])
            first, row = at - int(starts[column]), rows[column]
            # inputs without mass around the split: it goes to their middle
            fuller = np.flatnonzero(n_left[at:][: row - first] > n_left[at] + 1e-9 * box.mass.sum())
            middle = first + 1 + int(fuller[0]) // 2 if len(fuller) else row
            goes_left = missing_left if missing[:, column].any() else bool(n_left[at] > n_right[at])
            best = CandidateSplit(float(gains[at]), column, middle, goes_left)
    return best


def _purity(mass: Floats) -> Floats:
    """Return Σ_k m_k² / Σ_k m_k: the mass less its Gini index."""
    return np.asarray((mass**2).sum(axis=0) / np.maximum(mass.sum(axis=0), _TINY))


# ---- records


class PositionedRecords:
    """Records with a position in every column, and their boxes.

    With ``local``, columns are corrected again in every box where each class has at least ``least`` records, or none.
    """

    def __init__(self, released: ReleasedRecords, seed: int, *, local: bool, least: int = _LEAST_RECONSTRUCTED) -> None:
        self.released, self.seed, self.local, self.least = released, seed, local, least
        sizes = [channel.n_positions + 1 for channel in released.channels]
        self.starts, self.size = np.cumsum([0, *sizes[:-1]]), sum(sizes)
        self.held: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}  # records, and the cells they count in

    def root(self, distributions: Sequence[Floats]) -> Box:
        """Return the box of all records, with positions corrected to these shares of the columns' inputs."""
        places = self.released.corrected(distributions, np.random.default_rng(self.seed))
        box, rows = Box(np.empty(0), []), np.arange(len(places))
        self._fill(box, rows, self._cells(rows, places, self.starts))
        return box

    def _cells(self, rows: NDArray[np.int64], positions: Positions, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells of the histogram in which positions are counted, by class; columns begin at ``starts``."""
        return np.ascontiguousarray((self.released.labels[rows] * self.size)[:, None] + starts + positions)

    def _fill(self, box: Box, rows: NDArray[np.int64], cells: NDArray[np.int64]) -> None:
        n = self.released.n_classes
        found = np.bincount(cells.ravel(), minlength=self.size * n).reshape(n, self.size)
        columns = np.split(found, self.starts[1:], axis=1)
        box.mass = columns[0].sum(axis=1).astype(np.float64)
        box.columns = [each / np.maximum(box.mass, 1)[:, None] for each in columns]
        self.held[box.number] = rows, cells

    def divide(self, box: Box, cut: CandidateSplit) -> tuple[Box, Box]:
        """Return both halves of a box."""
        u, (rows, cells) = cut.column, self.held.pop(box.number)
        halves = box.halves(cut, self.released.channels[u].n_positions)
        inside = np.zeros(self.size, dtype=np.bool_)
        inside[self.starts[u] :][: len(halves[0].inside[u])] = halves[0].inside[u]
        left = np.tile(inside, self.released.n_classes)[cells[:, u]]
        for half, side in zip(halves, (left, ~left), strict=True):
            inner = cells[side]
            if self.local:
                self._correct_again(half, rows[side], inner)
            self._fill(half, rows[side], inner)
        return halves

    def _correct_again(self, box: Box, rows: NDArray[np.int64], cells: NDArray[np.int64]) -> None:
        channels = self.released.channels
        places = [u for u, each in enumerate(channels) if each.matrix is not None and u not in box.inside]
        inner = self.released.select(rows, places)
        present = inner.masses[inner.masses > 0]
        if len(present) > 1 and present.min() >= self.least:
            found = inner.corrected(inner.shares, np.random.default_rng([self.seed, box.number]))
            cells[:, places] = self._cells(rows, found, self.starts[places])


# ---- pruning


def prune(root: Box, categories: Collection[int], *, whole: bool = False) -> None:
    """Prune to the tree with the cheapest description, and add up masses from the leaves.

    ``categories`` are the columns of named values. With ``whole`` the tree is not pruned.
    """
    boxes = root.in_preorder()
    tests = Counter(box.split.column for box in boxes if box.split)
    costs: dict[int, float] = {}
    for box in reversed(boxes):
        if box.below:
            box.mass = box.below[0].mass + box.below[1].mass
        cost = 1 + float(box.mass.sum() - box.mass.max())
        if box.split and box.below:
            test = math.log(tests[box.split.column]) if box.split.column in categories else 1
            divided = 1 + test + sum(costs[half.number] for half in box.below)
            if cost <= divided and not whole:
                box.split = box.below = None
            cost = min(cost, divided)
        costs[box.number] = cost


# ---- mixture


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
                leaf.columns[column], leaf.mass = (
                    part / np.maximum(within, _LEAST_LIKELIHOOD)[:, None],
                    leaf.mass * within,
                )
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
            weights /= np.maximum(weights.sum(axis=0), _LEAST_LIKELIHOOD)
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
            likelihoods /= np.maximum(scale, _LEAST_LIKELIHOOD)
            for at, each in zip(chosen, likelihoods.astype(np.float32), strict=True):
                likelihood[at] *= each[records[column]]
        mass = np.array([leaf.mass[k] for leaf in leaves])
        shares = np.maximum(mass / mass.sum(), _LEAST_LIKELIHOOD).astype(np.float32)
        for _ in range(steps):
            shares *= likelihood @ (1 / np.maximum(shares @ likelihood, _LEAST_LIKELIHOOD))
            shares /= shares.sum()
        for leaf, share in zip(leaves, shares, strict=True):
            leaf.mass[k] = size * max(share, _RAREST)
        likelihood *= shares[:, None]
        return likelihood
