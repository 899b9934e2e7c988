"""Decision trees from the reports of a table: grown on released values, applied to raw ones.

From codes and classes to a finished tree there are positions (tree_positions.py), growth and pruning (tree_growth.py),
mixtures of leaves (tree_mixture.py), and the shares of the true classes. Columns count one by one where pairs of
answers tell of two of them no more than _LEAST_PAIRS people asked directly would: N·c_u²·c_v²·c², with N reports that
answer both, c_u and c_v the channels' second singular values and c the class's contrast.

**A protected class.** Symmetric randomized response of K classes turns the share p of a class, in any part of the
table, into l + (h − l)·p, where h and l are the probabilities of releasing the own class and each other one. Every gini
index is then 1 − Σ(l + (h − l)p)² = a constant − (h − l)²·Σp², and constants cancel from a split's gain: all gains are
the true ones times (h − l)². So the tree grows on the released classes, and the shares of its nodes are inverted
afterwards.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import as_reports
from assocpriv.plans import tree_model
from assocpriv.plans.columns import CategoryColumn, LabelColumn, Window
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.errors import EstimateError, options_of
from assocpriv.server import tree_growth, tree_mixture
from assocpriv.server.histograms import released_codes
from assocpriv.server.tree_accuracy import accuracy_interval
from assocpriv.server.tree_growth import Bounds, Box, Cut, Records
from assocpriv.server.tree_mixture import Mixture
from assocpriv.server.tree_positions import Channel, Released, channel_of, reconstruct

if TYPE_CHECKING:
    from assocpriv.files.reports import Reports

Floats = NDArray[np.float64]
METHODS = ("by-class", "global", "local", "joint", "randomized")
PRUNINGS = ("description-length", "none")
_LARGEST_LEAST_LEAF = 100  # records; the points that an interval has on average in AS00, section 4.2
_LEAST_PAIRS = 1000  # people, by whom two columns have to be told together; fewer, and columns count one by one
_MOST_PAIRED = 8  # columns, the best told ones
_TINY = 1e-300
_LEAST_JOINT, _LEAST_JOINT_GAIN = 100, 1e-4  # records of a leaf; gain of a split, a record
_LEAST_BOX, _LEAST_BOX_GAIN = 0.002, 1e-5  # of the people: those of a leaf; those that a split parts by gini
_MOST_BOXES = 128


# ---- requests


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """How a tree is grown; see :class:`ReleasedTreeClassifier`.

    Raises:
        EstimateError: a word that is none of those known, or a number out of range.
    """

    method: str = "by-class"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int | None = None
    pruning: str = "description-length"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, words in (("method", METHODS), ("pruning", PRUNINGS)):
            if getattr(self, name) not in words:
                raise EstimateError(f"{name} must be one of {', '.join(words)}")
        for name, least in (("max_depth", 1), ("min_samples_split", 2), ("min_samples_leaf", 1)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | np.integer) and value >= least):
                raise EstimateError(f"{name} must be a whole number of at least {least}")

    def bounds(self, n: int, least_leaf: float = 0, least_gain: float = -1e-9, most_leaves: float = np.inf) -> Bounds:
        """Return when growth on so many records ends; by gain only where no split gains, rounding apart."""
        leaf = self.min_samples_leaf or min(_LARGEST_LEAST_LEAF, max(1, n // 1000))
        return Bounds(max(leaf, least_leaf), self.min_samples_split, least_gain, most_leaves, self.max_depth)


@dataclass(frozen=True)
class ClassColumn:
    """The class: its name, its values, and how much more often who has a value releases it than who has another."""

    name: str
    values: tuple[str, ...]
    contrast: float = 1.0  # without noise

    @classmethod
    def of(cls, column: CategoryColumn) -> "ClassColumn":
        """Return the class that a plan's column states."""
        law = column.law
        contrast = (law.high - law.low) / law.total(optional=False) if isinstance(law, Window) else 1.0
        return cls(column.name, column.values, contrast)

    @property
    def transition(self) -> Floats:
        """P(released class | true class), float64 (classes, classes)."""
        n = len(self.values)
        return self.contrast * np.eye(n) + (1 - self.contrast) / n

    def true_shares(self, counts: Sequence[float]) -> tuple[float, ...]:
        """Return the shares of the true classes, of counts of released ones: inverted, and clipped to 0 … 1."""
        shares = np.linalg.solve(self.transition, np.array(counts) / sum(counts)).clip(0, 1)
        return tuple((shares / shares.sum()).tolist())


# ---- growth


def grow_tree(
    reports: "Reports | str | Path | Iterable[str | Path]",
    class_column: str | None = None,
    method: str = "by-class",
    **growth: Any,
) -> tree_model.TreeModel:
    """Grow a decision tree on reports of a table.

    Args:
        reports: of a table plan: released records, a file of them, a folder, or a list of files.
        class_column: a label or a category; the plan's only label by default. A protected one is learned from, too: the
            shares of the tree's nodes are inverted.
        method: ``"by-class"``, ``"global"``, ``"local"`` or ``"joint"``: over which records columns are reconstructed
            (AS00, section 4.2; tree_mixture.py); ``"randomized"`` corrects nothing, for comparison.
        growth: by name, as :class:`ReleasedTreeClassifier` takes them: ``max_depth``, ``min_samples_split``,
            ``min_samples_leaf``, ``pruning``; and ``seed``, there ``random_state``.

    Reports without a class, or that did not answer it, are left out.

    Returns:
        The tree, for :func:`assocpriv.numeric.predict` and :func:`assocpriv.numeric.write_tree`.

    Raises:
        PlanError: reports of another kind than tables, or no such column.
        EstimateError: no reports, one class only, a class that is a number, or more intervals than reports.

    Source: AS00, section 4.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> yes_no = {"values": ["no", "yes"], "release": "response"}
    >>> columns = {"smokes": {"kind": "category", **yes_no}, "ill": {"kind": "label", **yes_no}}
    >>> plan = ap.numeric.plan_table({"columns": columns})
    >>> people = pd.DataFrame({"smokes": ["no", "yes"] * 1500, "ill": ["no", "yes"] * 1500})
    >>> model = ap.numeric.grow_tree(ap.randomize(people, plan))
    >>> ap.numeric.predict({"smokes": "yes"}, model)
    'yes'
    """
    request = options_of(TreeRequest, {"method": method, **growth})
    opened: Reports = as_reports(reports)
    plan = opened.plan.as_a(TablePlan)
    at = class_place(plan, class_column)
    places = [place for place in range(len(plan.columns)) if place != at]
    every = released_codes(opened, plan)
    labels = every[at]
    known = labels < plan.columns[at].law.outputs
    codes = [every[place] if known.all() else every[place][known] for place in places]
    channels = [channel_of(plan, place, corrected=request.method != "randomized") for place in places]
    target = ClassColumn.of(class_of(plan, at))
    released = Released(codes, labels[known].astype(np.int64), channels, len(target.values))
    return build(released, target, request, plan.plan_id)


def class_place(plan: TablePlan, name: str | None) -> int:
    """Return the position of the column that is the class: by name, or the only label.

    Raises:
        PlanError: there is no such column.
        EstimateError: it is one of numbers, may be missing under protection, or there are several labels or none.
    """
    if name is None:
        labels = [column.name for column in plan.columns if isinstance(column, LabelColumn)]
        if len(labels) != 1:
            raise EstimateError(f"the plan has {len(labels)} labels; name the column that is the class")
        name = labels[0]
    place = plan.place_of(name)
    class_of(plan, place)
    return place


def class_of(plan: TablePlan, place: int) -> CategoryColumn:
    """Return the column at a position if it can be a class; EstimateError says why not."""
    column = plan.columns[place]
    if not isinstance(column, CategoryColumn):
        raise EstimateError(f"column {column.name} holds numbers; a class is a label or a category")
    if column.optional and column.is_protected:
        raise EstimateError(
            f"column {column.name} is protected and may be missing, so who has no class is not known; trees learn a "
            "class that nobody leaves out"
        )
    return column


def build(released: Released, target: ClassColumn, request: TreeRequest, plan_id: str = "") -> tree_model.TreeModel:
    """Return the tree of released records.

    Raises:
        EstimateError: no records, records of one class only, no columns, or more intervals than records.
    """
    _check(released, target)
    apart = request.method != "randomized" and _pairs_told(released, target) < _LEAST_PAIRS
    grown = _from_distributions(released, target, request) if apart else _from_records(released, request)
    root, channels, leaves, accuracy = grown
    nodes = _nodes_of(root.in_preorder(), channels, replace(target, contrast=1.0) if apart else target)
    columns = tuple(channel.column for channel in channels)
    return tree_model.TreeModel(target.name, target.values, columns, nodes, request.method, leaves, plan_id, accuracy)


# the tree as pruned, channels in its order of values, leaves before pruning, the accuracy's interval
_Grown = tuple[Box, Sequence[Channel], int, tuple[float, float] | None]


def _pairs_told(released: Released, target: ClassColumn) -> float:
    """Return how many people, asked directly, would tell as much of the two columns that are best told together.

    Without a column under a promise there is no end to them.
    """
    if not any(channel.is_promised for channel in released.channels):
        return np.inf
    told = []
    for column, channel in zip(released.codes, released.channels, strict=True):
        asked = np.ones(len(column), dtype=np.bool_) if channel.unasked_code is None else column != channel.unasked_code
        told.append((channel.contrast**2, asked))
    told = sorted(told, key=lambda each: each[0] * np.count_nonzero(each[1]))[-_MOST_PAIRED:]
    pairs = (one[0] * two[0] * np.count_nonzero(one[1] & two[1]) for one, two in combinations(told, 2))
    return target.contrast**2 * max(pairs, default=0.0)


def _ways(told: Sequence[Floats], masses: Floats, channels: Sequence[Channel]) -> list[NDArray[np.int64]]:
    """Return in which order the inputs of each column stand: named values by rising share of the commonest class.

    For two classes the best split of a node into two sets of values is one of those between neighbours in the node's
    own order (Breiman and others 1984, section 9.4); the table's order is taken for all nodes. ``told`` are the
    columns' distributions by class, float64 (classes, inputs), ``masses`` those of the classes.
    """
    ways = []
    for shares, channel in zip(told, channels, strict=True):
        way, n = np.arange(shares.shape[1]), len(channel.order)
        joint = masses[:, None] * shares[:, :n]
        way[:n] = np.argsort(joint[masses.argmax()] / np.maximum(joint.sum(axis=0), _TINY), kind="stable")
        ways.append(way)
    return ways


def _from_distributions(released: Released, target: ClassColumn, request: TreeRequest) -> _Grown:
    """Grow on what each column's answers tell of each class, as naive Bayes; says how sure the tree is."""
    n = len(released.labels)
    inverse: Floats = np.linalg.inv(target.transition).astype(np.float64)
    seen = released.masses / n
    shares = np.maximum(inverse @ seen, 0)
    shares /= shares.sum()
    covariance = ((inverse * seen) @ inverse.T - np.outer(shares, shares)) / n
    pairs = zip(released.channels, released.counts, strict=True)
    told = [channel.by_class(counts, inverse, shares) for channel, counts in pairs]
    ways = _ways([each.shares for each in told], shares, released.channels)
    told, released = [each.in_order(way) for each, way in zip(told, ways, strict=True)], released.in_order(ways)
    root = Box(n * shares, [each.shares for each in told])
    bounds = request.bounds(n, _LEAST_BOX * n, _LEAST_BOX_GAIN * n, _MOST_BOXES)
    leaves = _grown(root, released.channels, bounds, request)
    return root, released.channels, leaves, accuracy_interval(root.leaves, told, (shares, covariance))


def _from_records(released: Released, request: TreeRequest) -> _Grown:
    """Grow on records, each with a corrected position in every column, or as a mixture of leaves."""
    n, masses, told = len(released.labels), released.masses, released.shares
    ways = _ways(told, masses, released.channels)
    told, released = [each[:, way] for each, way in zip(told, ways, strict=True)], released.in_order(ways)
    channels, rng = released.channels, np.random.default_rng(request.seed)
    if request.method == "joint":
        root = Box(masses, [each.copy() for each in told])
        bounds = request.bounds(n, _LEAST_JOINT, _LEAST_JOINT_GAIN * n, tree_mixture.MOST_LEAVES)
        return root, channels, _grown(root, channels, bounds, request, refit=Mixture(released, rng).refit), None
    records, known = Records(released, request.seed, local=request.method == "local"), told
    if request.method == "global":
        known = [reconstruct(each.sum(axis=1), to) for each, to in zip(released.counts, channels, strict=True)]
    root = records.root(known)
    leaves = _grown(root, channels, request.bounds(n), request, records.divide)
    noisy = any(channels[column].matrix is not None for leaf in root.leaves for column in leaf.inside)
    if noisy and request.method in ("by-class", "local") and request.pruning != "none":
        # boxes of several columns hold records by noise; a tree by one reconstruction for all stays AS00's
        Mixture(released, rng, tree_mixture.MOST_COUNTED).recount(root.leaves, told)
        tree_growth.prune(root, _categories(channels))
    return root, channels, leaves, None


def _categories(channels: Sequence[Channel]) -> set[int]:
    return {place for place, channel in enumerate(channels) if channel.edges is None}


def _grown(
    root: Box,
    channels: Sequence[Channel],
    bounds: Bounds,
    request: TreeRequest,
    divide: Callable[[Box, Cut], tuple[Box, Box]] | None = None,
    refit: Callable[[list[Box]], None] | None = None,
) -> int:
    """Grow and prune a tree; return how many leaves it had before."""
    rows = [channel.n_positions for channel in channels]
    tree_growth.grow(root, rows, bounds, divide, refit)
    leaves = len(root.leaves)
    tree_growth.prune(root, _categories(channels), whole=request.pruning == "none")
    return leaves


def _check(released: Released, target: ClassColumn) -> None:
    labels, channels = released.labels, released.channels
    if not len(labels):
        raise EstimateError("there are no records with a class to grow a tree on")
    if not channels:
        raise EstimateError(f"there is no column but the class {target.name}; a tree needs something to split on")
    if (labels == labels[0]).all():
        raise EstimateError(f"all {len(labels):,} records have one class; a tree needs two classes at least")
    for channel in channels:
        if channel.matrix is not None and channel.edges is not None and channel.n_positions > len(labels):
            raise EstimateError(
                f"column {channel.column.name} has {channel.n_positions} intervals, more than there are records "
                f"({len(labels):,}); gather more reports, or plan fewer intervals"
            )


def _nodes_of(boxes: Sequence[Box], channels: Sequence[Channel], target: ClassColumn) -> tuple[tree_model.Node, ...]:
    """Return a model's nodes of boxes in preorder."""
    places, nodes = {box.number: place for place, box in enumerate(boxes)}, []
    for box in boxes:
        split = None
        if box.split and box.below:
            at, channel, below, among = box.split.at, channels[box.split.column], None, None
            if channel.edges is None:
                among = frozenset(channel.order[:at].tolist())
            else:
                below = float(channel.edges[at]) if at < channel.n_positions else tree_model.EVERY_NUMBER
            right = places[box.below[1].number]
            split = tree_model.Split(box.split.column, below, among, box.split.missing_left, right)
        nodes.append(tree_model.Node(round(box.mass.sum()), target.true_shares(box.mass.tolist()), split))
    return tuple(nodes)
