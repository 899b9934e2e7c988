"""Growth of decision trees from released codes, over positions whose counts are the reconstructed ones.

What trees know of a column is its positions, and how a released code speaks of them. A *position* is an interval of
numbers or a value of a category, counted from 0; NaN stands for a missing value. Splits lie between positions, so edges
of intervals are all the thresholds that a tree can have.

**Corrected positions.** The shares of all positions are reconstructed from a histogram of codes. Records are then given
positions so that each gets its share of them, with as little change as possible:

* numbers: released values are sorted, and the lowest N·Pr(I₁) get the first interval, and so on (AS00, section 4.2);
  equal ones are taken in random order;
* categories: of those released as v as many stay there as v has, chosen at random; the others fill the values that
  have too few. No assignment with these counts moves fewer records;
* missing values: as many as the reconstruction says, of those released as missing if there are enough;
* who was not asked, or said "missing" although fewer are: spread by the shares, in random order. One column's spread
  has nothing to do with another's, so joint splits see these records as noise around the class, not as a pattern.

Random order is numpy's with a seed: the reports are what they are, nobody's privacy depends on it.

**By class.** Noise is taken off each class alone, as in AS00. A column under a promise is taken by what classes have in
common, and what they are sure to differ by (class_distributions.py).

**Growth** over positions is scikit-learn's, by class counts at every node. *Global* reconstructs each column once over
all records, *by-class* once for each class, *local* for each class at every node on the way. Which split is best is
scikit-learn's to say, by the gini index, in all of them.

Source: AS00, section 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from assocpriv.plans.columns import CategoryColumn, Clear, NumberColumn, Window, transition
from assocpriv.plans.tree_model import CategoryInput, Input, NumberInput
from assocpriv.server.class_distributions import ClassDistributions, class_distributions
from assocpriv.server.histograms import release_grid
from assocpriv.server.maximum_likelihood import maximize, stopped_early

if TYPE_CHECKING:
    from assocpriv.plans.tables import TablePlan

Codes = NDArray[np.unsignedinteger]
METHODS = ("by-class", "global", "local", "joint", "randomized")
_LEAST_RECONSTRUCTED = 300  # records of a class; of 300, 1,000, 3,000 and 10,000 best on F2 and F3 at 100% privacy
EVERY = 1 << 20  # above all positions: a split by which all values but missing ones go left
Positions = NDArray[np.float32]


# ---- channels


@dataclass(frozen=True, eq=False)
class Channel:
    """A column as trees see it.

    ``edges`` are those of its intervals, float64 (positions + 1,); None for a category. ``positions`` gives the
    position of a code taken at its word, int64 (codes,); what it says of missing and unasked codes is not looked at.
    ``matrix`` is P(code | position), float64 (codes, positions, and one more for a missing value if there may be one);
    None where codes can be taken at their word. ``is_wave`` tells a square wave, which is reconstructed with smoothing.
    ``ranks``, of a category, is where each value stands in the order that a tree splits by, float32 (positions,).
    """

    column: Input
    edges: NDArray[np.float64] | None
    positions: NDArray[np.int64]
    matrix: NDArray[np.float64] | None = None
    missing_code: int | None = None
    unasked_code: int | None = None
    is_wave: bool = False
    ranks: NDArray[np.float32] | None = None

    @property
    def transition(self) -> NDArray[np.float64]:
        """P(code | position), float64 (codes, inputs), where codes taken at their word are positions, missing last."""
        if self.matrix is not None:
            return self.matrix
        return np.eye(self.n_positions + (self.missing_code is not None))

    @property
    def readable(self) -> NDArray[np.int64]:
        """The row of ``transition`` that a released code is, int64 (codes,); one more for who was not asked."""
        n = len(self.transition)
        rows = np.arange(n + 1) if self.matrix is not None else np.append(self.positions, [n, n])
        if self.matrix is None and self.missing_code is not None:
            rows[self.missing_code] = self.n_positions
        if self.unasked_code is not None:
            rows[self.unasked_code] = n
        return rows

    @property
    def is_promised(self) -> bool:
        """Whether a promise lies on it: a square wave or randomized response."""
        return self.matrix is not None and (self.is_wave or self.edges is None)

    @property
    def contrast(self) -> float:
        """How much of a correlation with the value a code keeps, 0 … 1: the channel's second singular value."""
        if self.matrix is None:
            return 1.0
        chances = self.matrix[:, : self.n_positions] / self.n_positions
        scaled = chances / np.sqrt(np.maximum(chances.sum(axis=1, keepdims=True), 1e-300) / self.n_positions)
        return float(np.sort(np.linalg.svd(scaled, compute_uv=False))[-2:][0])

    @property
    def ordered(self) -> int:
        """How many inputs are intervals in a row: none of a category."""
        return 0 if self.edges is None else self.n_positions

    def by_class(
        self, counts: NDArray[np.int64], inverse: NDArray[np.float64], of_classes: NDArray[np.float64]
    ) -> ClassDistributions:
        """Return the column's distributions by class; see :func:`class_distributions`."""
        return class_distributions(counts, self.transition, self.ordered, inverse, of_classes)

    @property
    def n_positions(self) -> int:
        """Number of intervals or values."""
        if self.edges is not None:
            return len(self.edges) - 1
        assert isinstance(self.column, CategoryInput)
        return len(self.column.values)


def channel_of(plan: "TablePlan", place: int, *, corrected: bool = True) -> Channel:
    """Return the channel of a plan's column; without correction every released code is taken at its word.

    A code beyond the range then has an interval there, of the same width.
    """
    column = plan.columns[place]
    missing, unasked = column.missing_code, plan.unasked_code(place)
    if isinstance(column, CategoryColumn):
        noisy = corrected and isinstance(column.law, Window)
        matrix = transition(column) if noisy else None
        values = CategoryInput(column.name, column.values, column.optional)
        return Channel(values, None, np.arange(column.codes), matrix, missing, unasked)
    assert isinstance(column, NumberColumn)
    told = NumberInput(column.name, float(column.low), float(column.high), column.optional)
    if isinstance(column.law, Clear):
        return Channel(told, *_classes(column, column.law), None, missing, unasked)
    if corrected:
        wave = isinstance(column.law, Window)
        positions = np.zeros(column.codes, dtype=np.int64)
        return Channel(told, column.interval_edges, positions, transition(column), missing, unasked, wave)
    return Channel(told, *_extended(column), None, missing, unasked)


def _classes(column: NumberColumn, law: Clear) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the edges and the positions of codes that are cells or classes: intervals where these hold whole ones."""
    cells = column.inputs // column.intervals
    codes = np.arange(column.codes)
    if cells % law.width == 0:
        return column.interval_edges, codes * law.width // cells
    return column.edges[:: law.width], codes


def _extended(column: NumberColumn) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    cells = column.inputs // column.intervals
    width, first = release_grid(column)
    intervals = (np.arange(column.codes) + int(first / width)) // cells
    lowest, highest = int(intervals[0]), int(intervals[-1])
    edges = [float(column.low + step * width * cells) for step in range(lowest, highest + 2)]
    return np.array(edges), intervals - lowest


# ---- positions


def correct(
    codes: Codes, channel: Channel, rng: np.random.Generator, shares: NDArray[np.float64] | None = None
) -> NDArray[np.float32]:
    """Return the positions of records of one class, or of all, float32 (n,), NaN where a value is missing.

    ``shares`` are those of the positions, float64 (inputs,), where they are known; else the codes tell them.
    """
    if channel.matrix is None:
        return as_released(codes, channel)
    positions = np.full(len(codes), np.nan, dtype=np.float32)
    asked = np.ones(len(codes), dtype=np.bool_) if channel.unasked_code is None else codes != channel.unasked_code
    if not asked.any():
        return positions
    if shares is None:
        shares = reconstruct(np.bincount(codes[asked], minlength=len(channel.matrix)), channel)
    n = channel.n_positions
    missing, shares = float(shares[n:].sum()), shares[:n]
    if shares.sum() <= 0:
        return positions
    shares = shares / shares.sum()
    valued, spread = _divide(codes, asked, missing, channel, rng)
    assign = _fewest_moves if channel.edges is None else _sorted
    positions[valued] = assign(codes[valued], shares, rng)
    positions[spread] = rng.permutation(_filled(len(spread), shares))
    if channel.ranks is not None:
        known = ~np.isnan(positions)
        positions[known] = channel.ranks[positions[known].astype(np.int64)]
    return positions


def _divide(
    codes: Codes, asked: NDArray[np.bool_], missing: float, channel: Channel, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records whose codes say where their values lie, and those to be spread; the others' are missing."""
    unasked = rng.permutation(np.flatnonzero(~asked))
    spread = [unasked[round(missing * len(unasked)) :]]
    valued = np.flatnonzero(asked)
    if channel.missing_code is not None:
        said = codes[valued] == channel.missing_code
        wanted = round(missing * len(valued))
        silent, valued = rng.permutation(valued[said]), rng.permutation(valued[~said])
        spread.append(silent[wanted:])
        valued = valued[max(0, wanted - len(silent)) :]
    return valued, np.concatenate(spread)


def as_released(codes: Codes, channel: Channel) -> NDArray[np.float32]:
    """Return the positions that codes say, float32 (n,), NaN for missing values and for who was not asked."""
    known = np.append(channel.positions.astype(np.float32), np.float32(np.nan))
    for code in (channel.missing_code, channel.unasked_code):
        if code is not None:
            known[code] = np.nan
    return known[codes]


def reconstruct(counts: NDArray[np.int64], channel: Channel) -> NDArray[np.float64]:
    """Return the shares of all positions, and of missing values if there may be any, float64 (inputs,).

    Noise: EM with the stopping rule of AS00. A square wave: EM with smoothing. Categories: the likeliest shares, which
    invert the randomized response within 0 … 1.
    """
    if channel.matrix is None:
        return np.asarray(counts / counts.sum(), dtype=np.float64)
    if channel.edges is None:
        return maximize(counts, channel.matrix)
    if channel.is_wave:
        return maximize(counts, channel.matrix, smooth=True, ordered=channel.n_positions)
    return stopped_early(counts, channel.matrix)


def quotas(n: int, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of n records each position gets, int64: cumulative shares of n, rounded.

    >>> quotas(10, np.array([0.25, 0.5, 0.25])).tolist()
    [2, 6, 2]
    """
    ends = np.rint(n * np.cumsum(shares)).astype(np.int64)
    ends[-1] = n
    return np.diff(ends, prepend=0)


def _filled(n: int, shares: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.repeat(np.arange(len(shares), dtype=np.float32), quotas(n, shares))


def _sorted(codes: Codes, shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float32]:
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    positions = np.empty(len(codes), dtype=np.float32)
    positions[order] = _filled(len(codes), shares)
    return positions


def _fewest_moves(codes: Codes, shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float32]:
    n = len(shares)
    wanted, found = quotas(len(codes), shares), np.bincount(codes, minlength=n)
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(found) - found, found)
    moving = order[rank >= wanted[codes[order]]]
    positions = codes.astype(np.float32)
    positions[moving] = rng.permutation(np.repeat(np.arange(n), np.maximum(wanted - found, 0)))
    return positions


def counts_by_class(codes: Codes, labels: NDArray[np.int64], channel: Channel, n_classes: int) -> NDArray[np.int64]:
    """Return how often each code was released with each class, int64 (codes, classes), of who was asked."""
    n = len(channel.transition)
    seen = channel.readable[codes]
    found = np.bincount(seen * n_classes + labels, minlength=(n + 1) * n_classes)
    return found[: n * n_classes].reshape(n, n_classes)


def class_shares(codes: Codes, labels: NDArray[np.int64], channel: Channel) -> dict[int, NDArray[np.float64]]:
    """Return the shares of the positions in each released class, float64 (inputs,); none if nobody was asked.

    ``codes`` are of one column, (n,), ``labels`` the classes, int64 (n,).
    """
    classes = np.unique(labels)
    counts = counts_by_class(codes, np.searchsorted(classes, labels), channel, len(classes))
    if not counts.any():
        return {}
    if not channel.is_promised and counts.any(axis=0).all():
        found = [reconstruct(each, channel) for each in counts.T]
    else:
        of_classes = np.bincount(np.searchsorted(classes, labels)) / len(labels)
        found = list(channel.by_class(counts, np.eye(len(classes)), of_classes).shares)
    return dict(zip(classes.tolist(), found, strict=True))


def _correct_classes(
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


# ---- growth


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
        found[:, place] = _correct_classes(column, labels, channel, rng) if by_class else correct(column, channel, rng)
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
        least: int = _LEAST_RECONSTRUCTED,
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
            found[:, place] = _correct_classes(self.codes[place][rows], labels, self.channels[place], self.rng)
        return found


def joined(root: Branch, left: Tree, right: Tree) -> Tree:
    """Return the tree of a node and the trees below it."""
    return [replace(root, right=1 + len(left)), *_moved(left, 1), *_moved(right, 1 + len(left))]


def _moved(tree: Tree, by: int) -> Tree:
    return [branch if branch.feature < 0 else replace(branch, right=branch.right + by) for branch in tree]
