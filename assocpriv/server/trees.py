"""Decision trees from the reports of a table: grown on released values, applied to raw ones.

From codes and classes to a finished tree there are positions and growth (tree_growth.py), pruning (tree_pruning.py),
and the shares of the true classes; or growth on distributions (tree_boxes.py, tree_joint.py). Columns count one by one
where pairs of answers tell of two of them no more than _LEAST_PAIRS people asked directly would: N·c_u²·c_v²·c², with N
reports that answer both, c_u and c_v the channels' second singular values and c the class's contrast. The trees are a
scikit-learn estimator, too.

**A protected class.** Symmetric randomized response of K classes turns the share p of a class, in any part of the
table, into l + (h − l)·p, where h and l are the probabilities of releasing the own class and each other one. Every gini
index is then 1 − Σ(l + (h − l)p)² = a constant − (h − l)²·Σp², and constants cancel from a split's gain: all gains are
the true ones times (h − l)². So the tree grows on the released classes, and the shares of its nodes are inverted
afterwards.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assocpriv.files.reports import as_reports
from assocpriv.plans import tree_model
from assocpriv.plans.columns import CategoryColumn, Column, LabelColumn, NumberColumn, Window, default_intervals
from assocpriv.plans.tables import TablePlan, shortened
from assocpriv.promise.errors import EstimateError, options_of
from assocpriv.server.histograms import release_grid, released_codes

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data

    from assocpriv.server import tree_boxes, tree_growth, tree_joint, tree_pruning
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "sklearn":
        raise
    raise EstimateError("trees need scikit-learn; install it: pip install assocpriv[trees]") from None

if TYPE_CHECKING:
    from assocpriv.files.reports import Reports

_LARGEST_LEAST_LEAF = 100  # records; the points that an interval has on average in AS00, section 4.2
_LEAST_PAIRS = 1000  # people, by whom two columns have to be told together; fewer, and columns count one by one
_MOST_PAIRED = 8  # columns, the best told ones
_BY_CLASS = ("by-class", "local", "joint")
_TINY = 1e-300
_LEAST_JOINT, _LEAST_JOINT_GAIN = 100, 1e-4  # records of a leaf; gain of a split, a record
_LEAST_BOX, _LEAST_BOX_GAIN = 0.002, 1e-5  # of the people: those of a leaf; those that a split parts by gini
ASKED = " asked"  # ends the name of released_frame's column that says whether a column was asked


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
        for name, words in (("method", tree_growth.METHODS), ("pruning", tree_pruning.PRUNINGS)):
            if getattr(self, name) not in words:
                raise EstimateError(f"{name} must be one of {', '.join(words)}")
        for name, least in (("max_depth", 1), ("min_samples_split", 2), ("min_samples_leaf", 1)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | np.integer) and value >= least):
                raise EstimateError(f"{name} must be a whole number of at least {least}")

    def limits(self, n_records: int) -> tree_growth.Limits:
        """Return the limits of growth on so many records."""
        leaf = self.min_samples_leaf or min(_LARGEST_LEAST_LEAF, max(1, n_records // 1000))
        return tree_growth.Limits(self.max_depth, self.min_samples_split, leaf, self.seed)


@dataclass(frozen=True)
class ClassColumn:
    """The class: its name, values, and the law that released it; None for one that was not randomized."""

    name: str
    values: tuple[str, ...]
    law: Window | None = None

    @classmethod
    def of(cls, column: CategoryColumn) -> "ClassColumn":
        """Return the class that a plan's column states."""
        return cls(column.name, column.values, column.law if isinstance(column.law, Window) else None)

    @property
    def contrast(self) -> float:
        """How much more often a class is released by who has it than by who has another: 1 without noise."""
        return 1.0 if self.law is None else (self.law.high - self.law.low) / self.law.total(optional=False)

    @property
    def transition(self) -> NDArray[np.float64]:
        """P(released class | true class), float64 (classes, classes)."""
        n = len(self.values)
        return self.contrast * np.eye(n) + (1 - self.contrast) / n

    def true_shares(self, counts: Sequence[float]) -> tuple[float, ...]:
        """Return the shares of the true classes, of counts of released ones: inverted, and clipped to 0 … 1."""
        shares = np.array(counts) / sum(counts)
        if self.law is not None:
            total = self.law.total(optional=False)
            low, high = self.law.low / total, self.law.high / total
            shares = np.clip((shares - low) / (high - low), 0, 1)
            shares /= shares.sum()
        return tuple(shares.tolist())


# ---- growth


def grow_tree(
    reports: "Reports | str | Path | Iterable[str | Path]",
    class_column: str | None = None,
    method: str = "by-class",
    **growth: Any,
) -> tree_model.TreeModel:
    """Grow a decision tree on reports of a table; needs scikit-learn (the extra ``trees``).

    Args:
        reports: of a table plan: released records, a file of them, a folder, or a list of files.
        class_column: a label or a category; the plan's only label by default. A protected one is learned from, too: the
            shares of the tree's nodes are inverted.
        method: ``"by-class"``, ``"global"``, ``"local"`` or ``"joint"``: over which records columns are reconstructed
            (AS00, section 4.2; tree_joint.py); ``"randomized"`` corrects nothing, for comparison.
        growth: by name, as :class:`ReleasedTreeClassifier` takes them: ``max_depth``, ``min_samples_split``,
            ``min_samples_leaf``, ``pruning``; and ``seed``, there ``random_state``.

    Reports without a class, or that did not answer it, are left out.

    Returns:
        The tree, for :func:`assocpriv.numeric.predict` and :func:`assocpriv.numeric.write_tree`.

    Raises:
        PlanError: reports of another kind than tables, or no such column.
        EstimateError: no reports, one class only, a class that is a number, more intervals than reports, or
            scikit-learn is not installed.

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
    at = _class_place(plan, class_column)
    places = [place for place in range(len(plan.columns)) if place != at]
    every = released_codes(opened, plan)
    labels = every[at]
    known = labels < plan.columns[at].law.outputs
    codes = [every[place] if known.all() else every[place][known] for place in places]
    channels = [tree_growth.channel_of(plan, place, corrected=request.method != "randomized") for place in places]
    target = ClassColumn.of(class_of(plan, at))
    return build(codes, labels[known].astype(np.int64), channels, target, request, plan.plan_id)


def _class_place(plan: TablePlan, name: str | None) -> int:
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


def build(
    codes: Sequence[tree_growth.Codes],
    labels: NDArray[np.int64],
    channels: Sequence[tree_growth.Channel],
    target: ClassColumn,
    request: TreeRequest,
    plan_id: str = "",
) -> tree_model.TreeModel:
    """Return the tree of records: a released code of every column, (n,), and a released class, int64 (n,).

    Raises:
        EstimateError: no records, records of one class only, no columns, or more intervals than records.
    """
    _check(labels, channels, target)
    given = _Given(codes, labels, channels, target, request)
    apart = request.method in _BY_CLASS and _pairs_told(given) < _LEAST_PAIRS
    grow = _from_distributions if apart else _from_mixture if request.method == "joint" else _from_records
    grown, pruned, places, accuracy = grow(given)
    shown = replace(target, law=None) if apart else target
    nodes = tuple(node_of(branch, channels, places, shown) for branch in pruned)
    leaves = sum(branch.feature < 0 for branch in grown)
    columns = tuple(channel.column for channel in channels)
    return tree_model.TreeModel(target.name, target.values, columns, nodes, request.method, leaves, plan_id, accuracy)


_Orders = dict[int, NDArray[np.int64]]  # of the values of categories, by column
_Grown = tuple[tree_growth.Tree, tree_growth.Tree, _Orders, tuple[float, float] | None]  # as grown, as pruned


@dataclass(frozen=True, eq=False, slots=True)
class _Given:
    """Records, a released code of each column and a class, and what is asked for."""

    codes: Sequence[tree_growth.Codes]
    labels: NDArray[np.int64]
    channels: Sequence[tree_growth.Channel]
    target: ClassColumn
    request: TreeRequest


def _pairs_told(given: _Given) -> float:
    """Return how many people, asked directly, would tell as much of the two columns that are best told together.

    Without a column under a promise there is no end to them.
    """
    if not any(channel.is_promised for channel in given.channels):
        return np.inf
    told = []
    for column, channel in zip(given.codes, given.channels, strict=True):
        asked = np.ones(len(column), dtype=np.bool_) if channel.unasked_code is None else column != channel.unasked_code
        told.append((channel.contrast**2, asked))
    told = sorted(told, key=lambda each: each[0] * np.count_nonzero(each[1]))[-_MOST_PAIRED:]
    pairs = (one[0] * two[0] * np.count_nonzero(one[1] & two[1]) for one, two in combinations(told, 2))
    return given.target.contrast**2 * max(pairs, default=0.0)


def _from_distributions(given: _Given) -> _Grown:
    """Grow on what each column's answers tell of each class, as naive Bayes; says how sure the tree is."""
    codes, labels, channels, request = given.codes, given.labels, given.channels, given.request
    n_classes, limits = len(given.target.values), request.limits(len(labels))
    inverse: NDArray[np.float64] = np.linalg.inv(given.target.transition).astype(np.float64)
    released = np.bincount(labels, minlength=n_classes) / len(labels)
    shares = np.maximum(inverse @ released, 0)
    shares /= shares.sum()
    errors = np.sqrt(np.maximum(inverse**2 @ released - shares**2, 0) / len(labels))
    told = [
        channel.by_class(tree_growth.counts_by_class(column, labels, channel, n_classes), inverse, shares)
        for column, channel in zip(codes, channels, strict=True)
    ]
    orders, _, columns = _in_order([each.shares for each in told], shares, channels)
    least = max(_LEAST_BOX, limits.min_samples_leaf / len(labels))
    bounds = tree_boxes.Bounds(tree_boxes.MOST_LEAVES, least, _LEAST_BOX_GAIN, request.max_depth)
    root = tree_boxes.Box(shares, columns)
    tree_boxes.grow_boxes(root, [channel.n_positions for channel in channels], bounds)
    grown = tree_boxes.as_tree(root, len(labels))
    pruned = _pruned(grown, request, set(orders))
    inside = tree_pruning.leaf_inputs(pruned, _all_ranked(channels, orders))
    says = {leaf: int(np.argmax(pruned[leaf].counts)) for leaf in inside}
    return grown, pruned, orders, tree_boxes.tell_accuracy(inside, says, told, (shares, errors))


def _in_order(
    told: Sequence[NDArray[np.float64]], shares: NDArray[np.float64], channels: Sequence[tree_growth.Channel]
) -> tuple[_Orders, list[NDArray[np.int64]], list[NDArray[np.float64]]]:
    """Return orders of categories, by rising share of the commonest class, of all inputs, and distributions in them.

    ``told`` are those of each column by class, (classes, inputs), ``shares`` those of the classes.
    """
    orders, ways, columns = {}, [], []
    for place, (each, channel) in enumerate(zip(told, channels, strict=True)):
        order = np.arange(each.shape[1])
        if channel.edges is None:
            joint = shares[:, None] * each[:, : channel.n_positions]
            orders[place] = np.argsort(joint[shares.argmax()] / np.maximum(joint.sum(axis=0), _TINY), kind="stable")
            order[: channel.n_positions] = orders[place]
        ways.append(order)
        columns.append(each[:, order])
    return orders, ways, columns


def _from_mixture(given: _Given) -> _Grown:
    """Grow on distributions that are told anew inside every leaf."""
    codes, labels, channels, request = given.codes, given.labels, given.channels, given.request
    counts = np.bincount(labels, minlength=len(given.target.values)).astype(np.float64)
    told = []
    for column, channel in zip(codes, channels, strict=True):
        by_class, even = tree_growth.class_shares(column, labels, channel), np.ones(channel.transition.shape[1])
        told.append(np.array([by_class.get(k, even / len(even)) for k in range(len(counts))]))
    orders, ways, columns = _in_order(told, counts / counts.sum(), channels)
    mixture = tree_joint.Mixture(codes, labels, channels, ways, np.random.default_rng(request.seed))
    least = max(request.limits(len(labels)).min_samples_leaf, _LEAST_JOINT)
    bounds = tree_boxes.Bounds(tree_joint.MOST_LEAVES, least, _LEAST_JOINT_GAIN * len(labels), request.max_depth)
    root = tree_boxes.Box(counts, columns)
    tree_boxes.grow_boxes(root, [channel.n_positions for channel in channels], bounds, mixture.refit)
    grown = tree_boxes.as_tree(root, 1)
    return grown, _pruned(grown, request, set(orders)), orders, None


def _from_records(given: _Given) -> _Grown:
    """Grow on records, each with a corrected position in every column."""
    codes, labels, channels, request = given.codes, given.labels, given.channels, given.request
    rng = np.random.default_rng(request.seed)
    method = "by-class" if request.method == "local" else request.method
    positions = tree_growth.corrected_positions(codes, labels, channels, method, rng)
    places = _category_orders(positions, labels, channels)
    for place, order in places.items():
        positions[:, place] = _ranks(order)[np.nan_to_num(positions[:, place], nan=len(order)).astype(np.int64)]
    limits, n_classes = request.limits(len(labels)), len(given.target.values)
    ranked = _all_ranked(channels, places)
    if request.method == "local":
        growth = tree_growth.LocalGrowth(codes, labels, ranked, n_classes, rng)
        grown = growth.grow(np.arange(len(labels)), positions, frozenset(), limits)
    else:
        grown = tree_growth.grow(positions, labels, n_classes, limits)
    pruned = _pruned(grown, request, set(places))
    if _needs_recount(pruned, channels, request):
        pruned = _pruned(tree_pruning.recount(pruned, codes, labels, ranked, rng), request, set(places))
    return grown, pruned, places, None


def _check(labels: NDArray[np.int64], channels: Sequence[tree_growth.Channel], target: ClassColumn) -> None:
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


def _category_orders(
    positions: tree_growth.Positions, labels: NDArray[np.int64], channels: Sequence[tree_growth.Channel]
) -> dict[int, NDArray[np.int64]]:
    """Return, by column of named values, its values by rising share of the commonest class among their records.

    For two classes the best split of a node into two sets of values is one of those between neighbours in the node's
    own order (Breiman and others 1984, section 9.4); the table's order is taken for all nodes.
    """
    commonest = labels == np.bincount(labels).argmax()
    orders = {}
    for place, channel in enumerate(channels):
        if channel.edges is None:
            n, known = channel.n_positions, ~np.isnan(positions[:, place])
            values = positions[known, place].astype(np.int64)
            every, of_class = (np.bincount(part, minlength=n) for part in (values, values[commonest[known]]))
            orders[place] = np.argsort(of_class / np.maximum(every, 1), kind="stable")
    return orders


def _ranks(order: NDArray[np.int64]) -> NDArray[np.float32]:
    ranks = np.full(len(order) + 1, np.nan, dtype=np.float32)
    ranks[order] = np.arange(len(order))
    return ranks


def _ranked(channel: tree_growth.Channel, order: NDArray[np.int64] | None) -> tree_growth.Channel:
    """Return a channel whose positions are ranks in an order, so that it corrects to ranks."""
    if order is None:
        return channel
    return replace(channel, ranks=_ranks(order)[:-1])


def _all_ranked(
    channels: Sequence[tree_growth.Channel], places: dict[int, NDArray[np.int64]]
) -> list[tree_growth.Channel]:
    return [_ranked(channel, places.get(place)) for place, channel in enumerate(channels)]


def _needs_recount(tree: tree_growth.Tree, channels: Sequence[tree_growth.Channel], request: TreeRequest) -> bool:
    """Say whether boxes of several columns hold records by noise; a tree by one reconstruction for all stays AS00's."""
    noisy = any(branch.feature >= 0 and channels[branch.feature].matrix is not None for branch in tree)
    return noisy and request.method in ("by-class", "local") and request.pruning != "none"


def _pruned(tree: tree_growth.Tree, request: TreeRequest, categories: set[int]) -> tree_growth.Tree:
    return tree_pruning.prune_by_description(tree, categories) if request.pruning != "none" else tree


def node_of(
    branch: tree_growth.Branch,
    channels: Sequence[tree_growth.Channel],
    places: dict[int, NDArray[np.int64]],
    target: ClassColumn,
) -> tree_model.Node:
    """Return a model's node; ``places`` are the orders of categories by column."""
    shares, records = target.true_shares(branch.counts), round(sum(branch.counts))
    if branch.feature < 0:
        return tree_model.Node(records, shares)
    edges, below, among = channels[branch.feature].edges, None, None
    if edges is None:
        among = frozenset(places[branch.feature][: branch.at].tolist())
    else:
        below = float(edges[branch.at]) if branch.at < len(edges) else tree_model.EVERY_NUMBER
    return tree_model.Node(
        records, shares, tree_model.Split(branch.feature, below, among, branch.missing_left, branch.right)
    )


# ---- scikit-learn


class ReleasedTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree grown on released values, whose ``predict`` takes raw ones (AS00, section 4).

    Args:
        plan: the table plan that released the values. Without one every column holds numbers as they are, cut into
            equal intervals: one for each 100 records, from 10 to 100.
        label: the plan's column that is the class; its only label by default.
        method: ``"by-class"`` and ``"global"`` reconstruct each column once, for each class or over all; ``"local"``
            for each class at every node, ``"joint"`` in every leaf; ``"randomized"`` takes released values at their
            word, for comparison.
        max_depth, min_samples_split, min_samples_leaf: limits of growth, as scikit-learn's; the last is by default one
            in a thousand records, 1 at least and 100 at most.
        pruning: ``"description-length"`` as in AS00, or ``"none"``.
        random_state: seed of the order in which equal values are taken, and of scikit-learn's.

    ``fit`` takes X with the plan's columns but for the label: a frame as ``released_frame`` gives, by name, or an array
    in the plan's order; y holds released classes. ``predict`` takes X alike, with raw values. A number beyond its range
    goes where the nearest one goes; a missing value, or a category that the plan does not have, where most such records
    went.

    Attributes:
        classes_: the classes, in the plan's order, or sorted.
        model_: the tree, as :func:`assocpriv.numeric.write_tree` writes it.

    Source: Agrawal, Srikant, Privacy-Preserving Data Mining, SIGMOD 2000, section 4.

    >>> import numpy as np
    >>> import assocpriv as ap
    >>> X = np.random.default_rng(0).random((1000, 2))
    >>> tree = ap.numeric.ReleasedTreeClassifier().fit(X, X[:, 0] > 0.5)
    >>> print(tree.export_text())
    x0 < 0.501239: False (99.8% of 488)
    x0 >= 0.501239: True (100.0% of 512)
    """

    def __init__(
        self,
        plan: TablePlan | None = None,
        *,
        label: str | None = None,
        method: str = "by-class",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int | None = None,
        pruning: str = "description-length",
        random_state: int = 0,
    ) -> None:
        self.plan = plan
        self.label = label
        self.method = method
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.pruning = pruning
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> "ReleasedTreeClassifier":
        """Grow the tree on released values X, (n, columns), and released classes y, (n,).

        Raises:
            EstimateError: one class only, no records, more intervals than records, or values that no report holds.
        """
        growth = {each.name: getattr(self, each.name) for each in fields(TreeRequest) if each.name != "seed"}
        request = TreeRequest(**growth, seed=self.random_state)
        if self.plan is None:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
            check_classification_targets(y)
            self.classes_, labels = np.unique(y, return_inverse=True)
            target = ClassColumn("class", tuple(map(str, range(len(self.classes_)))))
            names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(X.shape[1])])
            channels, codes = _as_they_are(X, [str(name) for name in names])
            self.model_ = build(codes, labels, channels, target, request)
        else:
            self._fit_plan(self.plan, X, y, request)
        return self

    def _fit_plan(self, plan: TablePlan, X: Any, y: ArrayLike, request: TreeRequest) -> None:
        TablePlan.of(plan)
        at = _class_place(plan, self.label)
        places = [place for place in range(len(plan.columns)) if place != at]
        corrected = request.method != "randomized"
        channels = [tree_growth.channel_of(plan, place, corrected=corrected) for place in places]
        columns = _columns_of(X, [plan.columns[place].name for place in places])
        codes = [
            _codes(values, plan.columns[place], plan.unasked_code(place), asked)
            for place, (values, asked) in zip(places, columns, strict=True)
        ]
        target = ClassColumn.of(class_of(plan, at))
        labels = _labels(y, target, len(codes[0]))
        self.classes_ = np.array(target.values)
        self.n_features_in_ = len(places)
        self.model_ = build(codes, labels, channels, target, request, plan.plan_id)

    def _raw(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        if self.plan is None:
            found: NDArray[np.float64] = validate_data(
                self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
            )
            return found
        inputs = self.model_.columns
        columns = [values for values, _ in _columns_of(X, [column.name for column in inputs])]
        found = np.empty((len(columns[0]), len(inputs)))
        for place, (values, column) in enumerate(zip(columns, inputs, strict=True)):
            found[:, place] = _raw_values(values, column)
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of raw records, (n,)."""
        leaves = self.model_leaves(X)
        best = np.array([self.model_.likeliest(place) for place in range(len(self.model_.nodes))])
        predicted: NDArray[Any] = self.classes_[best[leaves]]
        return predicted

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the classes in the leaves of raw records, float64 (n, classes)."""
        leaves = self.model_leaves(X)
        return np.array([node.shares for node in self.model_.nodes])[leaves]

    def model_leaves(self, X: Any) -> NDArray[np.int64]:
        """Return the leaves of raw records, positions of nodes of ``model_``, int64 (n,)."""
        raw = self._raw(X)  # which says so if there is no model yet
        return self.model_.leaves(raw)

    def export_text(self) -> str:
        """Return the tree as indented lines."""

        check_is_fitted(self, "model_")
        return "\n".join(tree_model.tree_lines(self._named_model()))

    def export_dot(self) -> str:
        """Return the tree in the DOT language of Graphviz."""

        check_is_fitted(self, "model_")
        return tree_model.tree_dot(self._named_model())

    def _named_model(self) -> tree_model.TreeModel:
        return replace(self.model_, classes=tuple(str(value) for value in self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _as_they_are(X: NDArray[np.float64], names: list[str]) -> tuple[list[tree_growth.Channel], list[tree_growth.Codes]]:
    """Return the channels and codes of numbers as they are, in equal intervals between the least and the largest."""
    n_intervals = default_intervals(len(X))
    channels: list[tree_growth.Channel] = []
    codes: list[tree_growth.Codes] = []
    for name, values in zip(names, X.T, strict=True):
        known = values[~np.isnan(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
        edges = np.linspace(low, high, n_intervals + 1)
        if not (np.diff(edges) > 0).all():  # a constant, or numbers too near each other to be told apart so
            edges = np.array([low, np.nextafter(high, np.inf)])
        inner = np.searchsorted(edges[1:-1], values, side="right")
        n = len(edges) - 1
        codes.append(np.where(np.isnan(values), n, inner).astype(np.uint16))
        told = tree_model.NumberInput(name, float(edges[0]), float(edges[-1]), len(known) < len(values))
        channels.append(tree_growth.Channel(told, edges, np.arange(n + 1), missing_code=n))
    return channels, codes


def _columns_of(X: Any, names: list[str]) -> list[tuple[NDArray[Any], NDArray[np.bool_] | None]]:
    """Return the columns of a frame, by name, or of an array, in order, with who was asked if the frame says so."""
    if hasattr(X, "columns"):
        missing = [name for name in names if name not in X.columns]
        if missing:
            raise EstimateError(f"X lacks {len(missing)} of the plan's columns: {shortened(missing)}")
        return [
            (np.asarray(X[name]), np.asarray(X[name + ASKED], dtype=np.bool_) if name + ASKED in X.columns else None)
            for name in names
        ]
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise EstimateError(f"X must have the plan's {len(names)} columns in order: {shortened(names)}")
    return [(column, None) for column in array.T]


def _codes(
    values: NDArray[Any], column: Column, unasked: int | None, asked: NDArray[np.bool_] | None
) -> tree_growth.Codes:
    """Return the released codes of a column, of what ``released_frame`` says of them."""
    if isinstance(column, NumberColumn):
        width, first = release_grid(column)
        numbers = _numbers(values, column.name)
        steps = np.rint((numbers - float(column.low + first)) / float(width) - 0.5)
        wrong = (steps < 0) | (steps >= column.law.outputs)
        codes = np.where(np.isnan(numbers), column.law.outputs, steps)
    else:
        assert isinstance(column, CategoryColumn)
        codes = _places(values, column.values)
        wrong = codes < 0
        codes[np.isnan(codes)] = column.law.outputs
    if wrong.any():
        raise EstimateError(
            f"column {column.name} has {int(wrong.sum())} values that no report of the plan holds; released_frame "
            "shows what reports hold"
        )
    silent = codes == column.law.outputs
    if unasked is not None and asked is None and column.optional and silent.any():
        raise EstimateError(
            f"column {column.name} does not say whether a value is missing or was not asked; give the frame of "
            f"released_frame, whose column {column.name + ASKED!r} does"
        )
    if unasked is not None:
        codes = np.where(silent if asked is None else ~asked, unasked, codes)
    elif silent.any() and not column.optional:
        raise EstimateError(f"column {column.name} has {int(silent.sum())} missing values, but none may be missing")
    return codes.astype(np.uint16)


def _numbers(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    with contextlib.suppress(TypeError, ValueError, OverflowError):  # their texts show values
        return np.asarray(values, dtype=np.float64)
    raise EstimateError(f"column {name} must hold numbers, NaN where a value is missing")


def _places(values: NDArray[Any], known: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the positions of named values, float64 (n,), −1 of those that are none and NaN of missing ones."""
    import pandas as pd

    series = pd.Series(values)
    places = series.astype(str).map({value: float(place) for place, value in enumerate(known)})
    found: NDArray[np.float64] = np.where(series.notna(), places.fillna(-1.0), np.nan).astype(np.float64)
    return found


def _raw_values(values: NDArray[Any], column: tree_model.NumberInput | tree_model.CategoryInput) -> NDArray[np.float64]:
    """Return raw values as a model takes them: numbers, positions of categories, NaN where there is none it knows."""
    if isinstance(column, tree_model.NumberInput):
        return _numbers(values, column.name)
    places = _places(values, column.values)
    places[places < 0] = np.nan
    return places


def _labels(y: ArrayLike, target: ClassColumn, n: int) -> NDArray[np.int64]:
    places = _places(np.asarray(y), target.values)
    if len(places) != n:
        raise EstimateError(f"X has {n:,} records, but y {len(places):,} classes")
    if not (places >= 0).all():
        raise EstimateError(f"y has {int((~(places >= 0)).sum())} values that are no class of {target.name}")
    return places.astype(np.int64)
