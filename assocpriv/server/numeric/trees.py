"""Decision trees from the reports of a table: grown on released values, applied to raw ones.

The steps from codes and classes to a tree are positions (tree_positions.py), growth and pruning (tree_growth.py),
mixtures of leaves (tree_growth.py), and the shares of the true classes. Columns are used one by one if pairs of
columns have no more information than _LEAST_PAIRS raw records: N·c_u²·c_v²·c², with N reports that include both, c_u
and c_v the channels' second singular values and c the class's contrast.

**A protected class.** Symmetric randomized response of K classes turns the share p of a class, in any part of the
table, into l + (h − l)·p, where h and l are the probabilities of releasing the own class and each other one. Every Gini
index is then 1 − Σ(l + (h − l)p)² = a constant − (h − l)²·Σp². Constants cancel from a split's gain, so all gains are
the true ones times (h − l)². Therefore the tree grows on the released classes, and the shares of its nodes are inverted
afterwards.

**Measured.** *joint* is the best method for classes that depend on two columns, cut along the axes, most with uniform
noise. At 100% privacy of AS00's functions it reaches 88.1 and 91.8% on F2, Gaussian and uniform (by-class 84.0 and
78.2, local 84.4 and 87.2), 86.2 and 88.8 on F3 (86.8 and 85.4; 88.0 and 87.7). It is worse where one column decides the
class (F1 90.6 and 97.0, by-class 94.2 and 98.0) and on diagonals (F4 90.1 and 92.3, by-class 93.7 and 94.0; F5 87.6 and
91.2, by-class 92.0 twice). No rule was found that predicts this (bench/results/trees/accuracy.csv).

At ε = 1, class included, one column a report, trees were right for 85.7 ± .4% of 200,000 people (40 collections, at
least 76.5%, none a single leaf). The most frequent class has 65.0%, and four raw columns reach 89.3%. On 20 random
tables of six columns they were right for 73.6 ± 1.8%, where the most frequent class has 63.2%, once .8 points below it;
raw records reach 80.1% there by the true distributions, and the best column alone 73.9%. With all four columns in a
report it was 75.4 ± 1.7% (20 collections, at least 60.1%). With 20,000 people it was 75.6 ± .8% (7 of 60 a single
leaf), and on the random tables 65.8 ± 1.3%, up to 7.2 points below the most frequent class.

**The interval of the accuracy** of a tree that was grown on the distributions of single columns. The accuracy is the
share of people whose class the tree predicts correctly:

    A = Σ_k π_k Σ_ℓ P_k(box_ℓ),    ℓ over the leaves that predict class k

Reports of single columns estimate the distribution F_ku of each column u within class k. They do not show the
dependence between columns within a class, so P_k(box_ℓ) is not identified. Two cases are known:

    independent columns    P_k(box_ℓ) = Π_u F_ku(box_ℓ)
    any joint distribution the least and the largest Σ_ℓ P_k(box_ℓ): a linear program for each class

The interval goes halfway from the first to both ends of the second, and LEVEL standard errors beyond. Halfway is a
choice: the whole range holds for all tables, but is about .7 wide. On adult, house-votes, mushroom and crx (12 subsets
of 3 to 8 columns each, ε = 5, 300,000 people) the accuracy lay at most .40 of the way down and .55 of the way up.

On other subsets of these the interval held in 299 of 300 trees (ε of 1, 3 and 6, 50,000 and 200,000 people, one column
a report; median width .05 to .77; the range from the best column alone to independent columns held in 270). On items of
msweb, groceries and BMS-WebView-2 as columns it held in 150 of 150, and in 100 of 100 on random tables whose columns
depend on each other.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.report_files import as_reports
from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.numeric import tree_model
from assocpriv.plans.numeric.table_plan import CategoryColumn, LabelColumn, TablePlan, Window
from assocpriv.server.numeric import tree_growth
from assocpriv.server.numeric.histograms import released_codes
from assocpriv.server.numeric.tree_growth import Box, CandidateSplit, GrowthLimits, Mixture, PositionedRecords
from assocpriv.server.numeric.tree_positions import (
    ClassDistributions,
    ReleasedRecords,
    TreeChannel,
    channel_of,
    reconstruct,
)

if TYPE_CHECKING:
    from assocpriv.files.report_files import Reports

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
METHODS = ("by-class", "global", "local", "joint", "randomized")
PRUNINGS = ("description-length", "none")
_LARGEST_LEAST_LEAF = 100  # records; the average number in an interval in AS00, section 4.2
_LEAST_PAIRS = 1000  # raw records with the information of a pair of columns; with less, columns are used one by one
_MOST_PAIRED = 8  # columns with the most information
_TINY = 1e-300
_LEAST_JOINT, _LEAST_JOINT_GAIN = 100, 1e-4  # records of a leaf; gain of a split, a record
_LEAST_BOX, _LEAST_BOX_GAIN = 0.002, 1e-5  # shares of people: in a leaf; gain of a split in Gini index
_MOST_BOXES = 128
_Masks = Sequence[NDArray[np.bool_]]
LEVEL = 3.0  # standard errors, as posteriors are skewed: it covers 39 of 40 collections of 20,000 at ε = 1; 1.96: 31
_DEPENDENCE = 0.5  # position between independent columns and the extreme joint distributions; see above


# ---- requests


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """Options of growth; see :class:`ReleasedTreeClassifier`.

    Raises:
        EstimateError: A method or pruning is unknown, or a number is out of range.
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

    def bounds(self, n: int, least_leaf: float = 0, least_gain: float = -1e-9, most: float = np.inf) -> GrowthLimits:
        """Return the limits of growth on ``n`` records; by default growth ends only where no split gains."""
        leaf = self.min_samples_leaf or min(_LARGEST_LEAST_LEAF, max(1, n // 1000))
        return GrowthLimits(max(leaf, least_leaf), self.min_samples_split, least_gain, most, self.max_depth)


@dataclass(frozen=True)
class ClassColumn:
    """The class: its name, its values, and the contrast of its release.

    The contrast is the probability of releasing a value for people who have it, less that for people who have another.
    """

    name: str
    values: tuple[str, ...]
    contrast: float = 1.0  # without noise

    @classmethod
    def from_column(cls, column: CategoryColumn) -> "ClassColumn":
        """Return the class of a plan's column."""
        mechanism, contrast = column.mechanism, 1.0
        if isinstance(mechanism, Window):
            contrast = (mechanism.high - mechanism.low) / mechanism.total(optional=False)
        return cls(column.name, column.values, contrast)

    @property
    def transition(self) -> Floats:
        """P(released class | true class), float64 (classes, classes)."""
        n = len(self.values)
        return self.contrast * np.eye(n) + (1 - self.contrast) / n

    def true_shares(self, counts: Sequence[float]) -> tuple[float, ...]:
        """Return the shares of the true classes from counts of released ones: inverted, and clipped to 0 … 1."""
        shares = np.linalg.solve(self.transition, np.array(counts) / sum(counts)).clip(0, 1)
        return tuple((shares / shares.sum()).tolist())


# ---- growth


def grow_tree(
    reports: "Reports | str | Path | Iterable[str | Path]",
    class_column: str | None = None,
    method: str = "by-class",
    *,
    max_depth: int | None = None,
    min_samples_split: int = 2,
    min_samples_leaf: int | None = None,
    pruning: str = "description-length",
    seed: int = 0,
) -> tree_model.TreeModel:
    """Grow a decision tree on reports of a table.

    Args:
        reports: Reports of a table plan, a file of them, a folder, or a list of files.
        class_column: A label or a category; by default the plan's only label. It may be protected: the shares of the
            tree's nodes are then inverted.
        method: ``"by-class"``, ``"global"``, ``"local"`` or ``"joint"``: the records over which columns are
            reconstructed (AS00, section 4.2; tree_growth.py); ``"randomized"`` corrects nothing, for comparison.
        max_depth, min_samples_split, min_samples_leaf, pruning: As for :class:`ReleasedTreeClassifier`.
        seed: Its ``random_state``.

    Reports without a class, or that omit it, are left out.

    Returns:
        The tree, for :func:`assocpriv.numeric.predict` and :func:`assocpriv.numeric.write_tree`.

    Raises:
        PlanError: The reports are not of a table, or there is no such column.
        EstimateError: There are no reports, only one class, or more intervals than reports; or the class is a number.

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
    request = TreeRequest(method, max_depth, min_samples_split, min_samples_leaf, pruning, seed)
    opened: Reports = as_reports(reports)
    plan = opened.plan.require_type(TablePlan)
    at, column = find_class(plan, class_column)
    places = [place for place in range(len(plan.columns)) if place != at]
    every = released_codes(opened, plan)
    labels = every[at]
    known = labels < plan.columns[at].mechanism.outputs
    codes = [every[place] if known.all() else every[place][known] for place in places]
    channels = [channel_of(plan, place, corrected=request.method != "randomized") for place in places]
    target = ClassColumn.from_column(column)
    released = ReleasedRecords(codes, labels[known].astype(np.int64), channels, len(target.values))
    return build_tree(released, target, request, plan.plan_id)


def find_class(plan: TablePlan, name: str | None) -> tuple[int, CategoryColumn]:
    """Return the position of the class column, by name or the only label, and the column.

    Raises:
        PlanError: There is no such column.
        EstimateError: It holds numbers, is protected and may be missing, or there are several labels or none.
    """
    if name is None:
        labels = [column.name for column in plan.columns if isinstance(column, LabelColumn)]
        if len(labels) != 1:
            raise EstimateError(f"the plan has {len(labels)} labels; give the class column (class_column, --class)")
        name = labels[0]
    place = plan.place_of(name)
    column = plan.columns[place]
    if not isinstance(column, CategoryColumn):
        raise EstimateError(f"column {column.name} holds numbers; a class is a label or a category")
    if column.optional and column.is_protected:
        raise EstimateError(
            f"column {column.name} is protected and may be missing, so records without a class are not known; choose a "
            "class column that is never missing"
        )
    return place, column


def build_tree(
    released: ReleasedRecords, target: ClassColumn, request: TreeRequest, plan_id: str = ""
) -> tree_model.TreeModel:
    """Return the tree of released records.

    Raises:
        EstimateError: There are no records, no columns, only one class, or more intervals than records.
    """
    _check(released, target)
    single = request.method != "randomized" and _pair_information(released, target) < _LEAST_PAIRS
    grown = _from_distributions(released, target, request) if single else _from_records(released, request)
    root, channels, leaves, accuracy = grown
    nodes = _nodes_of(root.in_preorder(), channels, replace(target, contrast=1.0) if single else target)
    columns = tuple(channel.column for channel in channels)
    return tree_model.TreeModel(target.name, target.values, columns, nodes, request.method, leaves, plan_id, accuracy)


# the pruned tree, channels in its order of values, leaves before pruning, interval of the accuracy
_Grown = tuple[Box, Sequence[TreeChannel], int, tuple[float, float] | None]


def _pair_information(released: ReleasedRecords, target: ClassColumn) -> float:
    """Return the number of raw records with the same information on the best estimated pair of columns.

    Without a column under a guarantee it is infinite.
    """
    if not any(channel.is_guaranteed for channel in released.channels):
        return np.inf
    every = zip(released.codes, released.channels, strict=True)
    columns = [(channel.contrast**2, channel.includes(codes)) for codes, channel in every]
    columns = sorted(columns, key=lambda each: each[0] * np.count_nonzero(each[1]))[-_MOST_PAIRED:]
    pairs = (one[0] * two[0] * np.count_nonzero(one[1] & two[1]) for one, two in combinations(columns, 2))
    return target.contrast**2 * max(pairs, default=0.0)


def category_orders(columns: Sequence[Floats], masses: Floats, channels: Sequence[TreeChannel]) -> list[Ints]:
    """Return the order of the inputs of each column: named values by rising share of the most frequent class.

    For two classes the best split of a node into two sets of values lies between neighbours in the node's own order
    (Breiman and others 1984, section 9.4); here all nodes use the order of the whole table. ``columns`` are the
    distributions of columns by class, float64 (classes, inputs), ``masses`` those of the classes.
    """
    orders = []
    for shares, channel in zip(columns, channels, strict=True):
        order, n = np.arange(shares.shape[1]), len(channel.order)
        joint = masses[:, None] * shares[:, :n]
        order[:n] = np.argsort(joint[masses.argmax()] / np.maximum(joint.sum(axis=0), _TINY), kind="stable")
        orders.append(order)
    return orders


def _from_distributions(released: ReleasedRecords, target: ClassColumn, request: TreeRequest) -> _Grown:
    """Grow on each column's distribution by class, as naive Bayes, with an interval of the accuracy."""
    n = len(released.labels)
    inverse: Floats = np.linalg.inv(target.transition).astype(np.float64)
    released_shares = released.masses / n
    shares = np.maximum(inverse @ released_shares, 0)
    shares /= shares.sum()
    covariance = ((inverse * released_shares) @ inverse.T - np.outer(shares, shares)) / n
    pairs = zip(released.channels, released.counts, strict=True)
    columns = [channel.by_class(counts, inverse, shares) for channel, counts in pairs]
    orders = category_orders([each.shares for each in columns], shares, released.channels)
    columns = [each.in_order(order) for each, order in zip(columns, orders, strict=True)]
    released = released.in_order(orders)
    root = Box(n * shares, [each.shares for each in columns])
    bounds = request.bounds(n, _LEAST_BOX * n, _LEAST_BOX_GAIN * n, _MOST_BOXES)
    leaves = _grown(root, released.channels, bounds, request)
    return root, released.channels, leaves, accuracy_interval(root.leaves, columns, (shares, covariance))


def _from_records(released: ReleasedRecords, request: TreeRequest) -> _Grown:
    """Grow on records, each with a corrected position in every column, or as a mixture of leaves."""
    n, masses, columns = len(released.labels), released.masses, released.shares
    orders = category_orders(columns, masses, released.channels)
    columns, released = [each[:, by] for each, by in zip(columns, orders, strict=True)], released.in_order(orders)
    channels, rng = released.channels, np.random.default_rng(request.seed)
    if request.method == "joint":
        root = Box(masses, [each.copy() for each in columns])
        bounds = request.bounds(n, _LEAST_JOINT, _LEAST_JOINT_GAIN * n, tree_growth.MOST_LEAVES)
        return root, channels, _grown(root, channels, bounds, request, refit=Mixture(released, rng).refit), None
    records, known = PositionedRecords(released, request.seed, local=request.method == "local"), columns
    if request.method == "global":
        known = [reconstruct(each.sum(axis=1), to) for each, to in zip(released.counts, channels, strict=True)]
    root = records.root(known)
    leaves = _grown(root, channels, request.bounds(n), request, records.divide)
    noisy = any(channels[column].matrix is not None for leaf in root.leaves for column in leaf.inside)
    if noisy and request.method in ("by-class", "local") and request.pruning != "none":
        # noise puts records into boxes of several columns; with "global" the tree stays that of AS00
        Mixture(released, rng, tree_growth.MOST_COUNTED).recount(root.leaves, columns)
        tree_growth.prune(root, _categories(channels))
    return root, channels, leaves, None


def _categories(channels: Sequence[TreeChannel]) -> set[int]:
    return {place for place, channel in enumerate(channels) if channel.edges is None}


def _grown(
    root: Box,
    channels: Sequence[TreeChannel],
    bounds: GrowthLimits,
    request: TreeRequest,
    divide: Callable[[Box, CandidateSplit], tuple[Box, Box]] | None = None,
    refit: Callable[[list[Box]], None] | None = None,
) -> int:
    """Grow and prune a tree; return its number of leaves before pruning."""
    tree_growth.grow(root, [channel.n_positions for channel in channels], bounds, divide, refit)
    leaves = len(root.leaves)
    tree_growth.prune(root, _categories(channels), whole=request.pruning == "none")
    return leaves


def _check(released: ReleasedRecords, target: ClassColumn) -> None:
    labels, channels = released.labels, released.channels
    if not len(labels):
        raise EstimateError("there are no records with a class to grow a tree on")
    if not channels:
        raise EstimateError(f"there is no column except the class {target.name}; a tree needs a column to split")
    if (labels == labels[0]).all():
        raise EstimateError(f"all {len(labels):,} records have one class; a tree needs at least two classes")
    for channel in channels:
        if channel.matrix is not None and channel.edges is not None and channel.n_positions > len(labels):
            raise EstimateError(
                f"column {channel.column.name} has {channel.n_positions} intervals, more than there are records "
                f"({len(labels):,}); collect more reports, or plan fewer intervals"
            )


def _nodes_of(
    boxes: Sequence[Box], channels: Sequence[TreeChannel], target: ClassColumn
) -> tuple[tree_model.Node, ...]:
    """Return the nodes of a model from boxes in preorder."""
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


# ---- accuracy


@dataclass(frozen=True, eq=False, slots=True)
class _Leaves:
    """Leaves and the columns that lead to them.

    ``inside`` has for each column which inputs each leaf takes, bool (leaves, inputs); ``classes`` the class that each
    leaf predicts, int64 (leaves,).
    """

    classes: NDArray[np.int64]
    inside: _Masks


def accuracy_interval(
    leaves: Sequence[Box], distributions: Sequence[ClassDistributions], class_shares: tuple[Floats, Floats]
) -> tuple[float, float]:
    """Return the ends of an interval of the share of people whose class a tree predicts correctly.

    Args:
        leaves: Leaves; each predicts its most probable class.
        distributions: Distributions of all columns by class.
        class_shares: The shares of the classes and their covariance.

    Source: the delta method; the gradient of a linear program's value is its dual solution (Bonnans and Shapiro,
    Perturbation Analysis of Optimization Problems 2000, section 4.3).
    """
    masses, covariance = class_shares
    places = sorted({u for leaf in leaves for u in leaf.inside})
    every = [np.ones(distributions[u].shares.shape[1], dtype=np.bool_) for u in places]
    inside = [np.array([leaf.inside.get(u, all_) for leaf in leaves]) for u, all_ in zip(places, every, strict=True)]
    tree = _Leaves(np.array([int(np.argmax(leaf.mass)) for leaf in leaves]), inside)
    ends = []
    for side in (-1, 1):
        right, errors = np.zeros(len(masses)), np.zeros(len(masses))
        for k in range(len(masses)):
            right[k], slopes = _correct_share(tree, k, [distributions[u].shares[k] for u in places], side)
            errors[k] = _standard_error(slopes, [distributions[u].covariances[k] for u in places])
        half = LEVEL * math.hypot(masses @ errors, math.sqrt(max(float(right @ covariance @ right), 0.0)))
        ends.append(float(masses @ right) + side * half)
    return max(0.0, ends[0]), min(1.0, ends[1])


def _standard_error(slopes: Sequence[Floats], covariances: Sequence[Floats]) -> float:
    parts = (float(slope @ covariance @ slope) for slope, covariance in zip(slopes, covariances, strict=True))
    return math.sqrt(max(sum(parts), 0.0))


def _correct_share(tree: _Leaves, k: int, shares: Sequence[Floats], side: int) -> tuple[float, list[Floats]]:
    """Return the share of class k that the tree predicts correctly, halfway to an extreme, and its gradients."""
    correct = (tree.classes == k).astype(np.float64)
    if not tree.inside:
        return float(correct[0]), []
    middle, extreme = _independent(correct, tree.inside, shares), _least(-side * correct, tree.inside, shares)
    mean = (1 - _DEPENDENCE) * middle[0] - side * _DEPENDENCE * extreme[0]
    pairs = zip(middle[1], extreme[1], strict=True)
    return mean, [(1 - _DEPENDENCE) * one - side * _DEPENDENCE * other for one, other in pairs]


def _independent(values: Floats, inside: _Masks, shares: Sequence[Floats]) -> tuple[float, list[Floats]]:
    """Return the mean value of the leaves for independent columns, and its gradients; as :func:`_least`."""
    parts = np.array([taken @ share for taken, share in zip(inside, shares, strict=True)])
    slopes = [(values * np.delete(parts, u, axis=0).prod(axis=0)) @ taken for u, taken in enumerate(inside)]
    return float(values @ parts.prod(axis=0)), slopes


def _least(values: Floats, inside: _Masks, shares: Sequence[Floats]) -> tuple[float, list[Floats]]:
    """Return the least mean value of the leaves over all joint distributions of the columns, and its gradients.

    The variables are q[u][leaf, input], the mass of a leaf at an input of column u. For every column they add up to the
    column's shares, and to the same mass of each leaf. The bound is sharp: for any such q there is a table in which
    columns are independent within each leaf.

    Args:
        values: Value of each leaf, float64 (leaves,).
        inside: For each column the inputs that leaves take, bool (leaves, inputs).
        shares: For each column the shares of its inputs, float64 (inputs,), adding up to 1.

    Returns:
        The mean, and for each column its gradient in the shares, float64 (inputs,).
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, coo_array

    n, by_column, by_leaf, groups, leaves = len(values), [], [], [], []
    for taken in inside:
        distinct, group_of = np.unique(taken, axis=1, return_inverse=True)  # groups of inputs that no leaf separates
        leaf, group = np.nonzero(distinct)
        ones, at = np.ones(len(leaf)), np.arange(len(leaf))
        by_column.append(coo_array((ones, (group, at)), shape=(distinct.shape[1], len(at))))
        by_leaf.append(coo_array((ones, (leaf, at)), shape=(n, len(at))))
        groups.append(group_of)
        leaves.append(leaf)
    rows = [[part if u == v else None for v in range(len(inside))] for u, part in enumerate(by_column)]
    first, *others = by_leaf
    same = [[first, *(-part if u == v else None for v, part in enumerate(others))] for u in range(len(others))]
    sums = [np.bincount(group_of, share) for group_of, share in zip(groups, shares, strict=True)]
    costs = np.concatenate([values[leaves[0]], np.zeros(sum(part.shape[1] for part in others))])
    known = np.concatenate([*sums, np.zeros(n * len(others))])
    found = linprog(costs, A_eq=block_array(rows + same).tocsr(), b_eq=known)  # type: ignore[call-overload]  # stubs lack sparse arrays
    duals = np.split(found.eqlin.marginals, np.cumsum([len(each) for each in sums]))
    return float(found.fun), [dual[group_of] for dual, group_of in zip(duals, groups, strict=False)]
