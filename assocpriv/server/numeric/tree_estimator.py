"""Decision trees on released values as a scikit-learn estimator.

This module converts released values into the codes that reports hold; trees.py grows the tree.
"""

import contextlib
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.numeric import tree_model
from assocpriv.plans.numeric.table_plan import (
    CategoryColumn,
    Column,
    NumberColumn,
    TablePlan,
    default_intervals,
    shortened,
)
from assocpriv.server.numeric.histograms import INCLUDED, release_grid
from assocpriv.server.numeric.tree_positions import Codes, ReleasedRecords, TreeChannel, channel_of
from assocpriv.server.numeric.trees import (
    ClassColumn,
    TreeRequest,
    build_tree,
    find_class,
)

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "sklearn":
        raise
    raise EstimateError("ReleasedTreeClassifier needs scikit-learn; install it: pip install assocpriv[trees]") from None

Floats = NDArray[np.float64]


class ReleasedTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree grown on released values, whose ``predict`` takes raw ones (AS00, section 4).

    Args:
        plan: The table plan that released the values. Without one every column holds raw numbers, cut into equal
            intervals: one for each 100 records, from 10 to 100.
        label: The plan's column that is the class; by default its only label.
        method: ``"by-class"`` and ``"global"`` reconstruct each column once, for each class or over all; ``"local"``
            for each class at every node, ``"joint"`` in every leaf; ``"randomized"`` does not correct released values,
            for comparison.
        max_depth, min_samples_split, min_samples_leaf: Limits of growth, as in scikit-learn; by default a leaf has at
            least a thousandth of the records, between 1 and 100.
        pruning: ``"description-length"`` as in AS00, or ``"none"``.
        random_state: Seed of the random order of equal values.

    ``fit`` takes X with the plan's columns except the label: a frame as ``released_frame`` gives, by name, or an array
    in the plan's order; y holds released classes. ``predict`` takes the same X with raw values. A number outside its
    range goes to the nearest end. A missing value, and a category that the plan does not have, go where most such
    records went.

    Attributes:
        classes_: The classes, in the plan's order, or sorted without a plan.
        model_: The tree, as :func:`assocpriv.numeric.write_tree` writes it.

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
        """Grow the tree on released values and classes.

        Args:
            X: Released values, a frame or an array of shape (n, columns), as described in the class.
            y: Released classes, (n,).

        Returns:
            The fitted estimator itself.

        Raises:
            EstimateError: There is only one class, there are no records or more intervals than records, or a value is
                in no report of the plan.
        """
        growth = {each.name: getattr(self, each.name) for each in fields(TreeRequest) if each.name != "seed"}
        request = TreeRequest(**growth, seed=self.random_state)
        if self.plan is None:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
            check_classification_targets(y)
            self.classes_, labels = np.unique(y, return_inverse=True)
            target = ClassColumn("class", tuple(map(str, range(len(self.classes_)))))
            names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(X.shape[1])])
            channels, codes = _cut_raw_numbers(X, [str(name) for name in names])
            self.model_ = build_tree(ReleasedRecords(codes, labels, channels, len(target.values)), target, request)
        else:
            self._fit_plan(self.plan, X, y, request)
        return self

    def _fit_plan(self, plan: TablePlan, X: Any, y: ArrayLike, request: TreeRequest) -> None:
        TablePlan.require(plan)
        at, column = find_class(plan, self.label)
        places = [place for place in range(len(plan.columns)) if place != at]
        corrected = request.method != "randomized"
        channels = [channel_of(plan, place, corrected=corrected) for place in places]
        columns = _columns_of(X, [plan.columns[place].name for place in places])
        codes = [
            _codes(values, plan.columns[place], plan.omitted_code(place), included)
            for place, (values, included) in zip(places, columns, strict=True)
        ]
        target = ClassColumn.from_column(column)
        labels = _labels(y, target, len(codes[0]))
        self.classes_ = np.array(target.values)
        self.n_features_in_ = len(places)
        released = ReleasedRecords(codes, labels, channels, len(target.values))
        self.model_ = build_tree(released, target, request, plan.plan_id)

    def _raw(self, X: Any) -> Floats:
        check_is_fitted(self, "model_")
        if self.plan is None:
            return np.asarray(validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False))
        inputs = self.model_.columns
        columns = [values for values, _ in _columns_of(X, [column.name for column in inputs])]
        found = np.empty((len(columns[0]), len(inputs)))
        for place, (values, column) in enumerate(zip(columns, inputs, strict=True)):
            if isinstance(column, tree_model.NumberInput):
                found[:, place] = _numbers(values, column.name)
            else:
                places = _places(values, column.values)
                found[:, place] = np.where(places < 0, np.nan, places)
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each raw record.

        Args:
            X: Raw values, a frame or an array of shape (n, columns).

        Returns:
            Classes, (n,), as in ``classes_``.

        Raises:
            EstimateError, ValueError: X has other columns than in :meth:`fit`.
        """
        leaves = self._leaves(X)
        best = np.array([self.model_.likeliest(place) for place in range(len(self.model_.nodes))])
        return np.asarray(self.classes_[best[leaves]])

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the classes in the leaf of each raw record.

        Args:
            X: Raw values, a frame or an array of shape (n, columns).

        Returns:
            float64 (n, classes), in the order of ``classes_``; each row adds up to 1.

        Raises:
            EstimateError, ValueError: As :meth:`predict`.
        """
        leaves = self._leaves(X)
        return np.array([node.shares for node in self.model_.nodes])[leaves]

    def _leaves(self, X: Any) -> NDArray[np.int64]:
        """Return the leaves of raw records, positions of nodes of ``model_``, int64 (n,)."""
        raw = self._raw(X)  # raises if the estimator is not fitted
        return self.model_.leaves(raw)

    def export_text(self) -> str:
        """Return the tree as indented lines.

        Returns:
            The lines, joined by line feeds.
        """
        return "\n".join(tree_model.tree_lines(self._named_model()))

    def export_dot(self) -> str:
        """Return the tree in the DOT language of Graphviz.

        Returns:
            The text of the graph, as of :func:`assocpriv.numeric.tree_dot`.
        """
        return tree_model.tree_dot(self._named_model())

    def _named_model(self) -> tree_model.TreeModel:
        check_is_fitted(self, "model_")
        return replace(self.model_, classes=tuple(str(value) for value in self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _cut_raw_numbers(X: Floats, names: list[str]) -> tuple[list[TreeChannel], list[Codes]]:
    """Return the channels and codes of raw numbers, in equal intervals from the smallest to the largest."""
    n_intervals = default_intervals(len(X))
    channels, codes = list[TreeChannel](), list[Codes]()
    for name, values in zip(names, X.T, strict=True):
        known = values[~np.isnan(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
        edges = np.linspace(low, high, n_intervals + 1)
        if not (np.diff(edges) > 0).all():  # a constant, or numbers too close for separate edges
            edges = np.array([low, np.nextafter(high, np.inf)])
        inner = np.searchsorted(edges[1:-1], values, side="right")
        n = len(edges) - 1
        codes.append(np.where(np.isnan(values), n, inner).astype(np.uint16))
        column = tree_model.NumberInput(name, float(edges[0]), float(edges[-1]), len(known) < len(values))
        channels.append(TreeChannel(column, edges, np.arange(n + 1), missing_code=n))
    return channels, codes


def _columns_of(X: Any, names: list[str]) -> list[tuple[NDArray[Any], NDArray[np.bool_] | None]]:
    """Return the columns of a frame, by name, or of an array, in order; from a frame also which reports include it."""
    if hasattr(X, "columns"):
        if missing := [name for name in names if name not in X.columns]:
            raise EstimateError(f"X lacks {len(missing)} of the plan's columns: {shortened(missing)}")
        flagged = [name for name in names if name + INCLUDED in X.columns]
        included = {name: np.asarray(X[name + INCLUDED], dtype=np.bool_) for name in flagged}
        return [(np.asarray(X[name]), included.get(name)) for name in names]
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise EstimateError(f"X must have the plan's {len(names)} columns in order: {shortened(names)}")
    return [(column, None) for column in array.T]


def _codes(values: NDArray[Any], column: Column, omitted: int | None, included: NDArray[np.bool_] | None) -> Codes:
    """Return the released codes of a column from its values in ``released_frame``."""
    if isinstance(column, NumberColumn):
        width, first = release_grid(column)
        numbers = _numbers(values, column.name)
        steps = np.rint((numbers - float(column.origin + first)) / float(width) - 0.5)
        wrong = (steps < 0) | (steps >= column.mechanism.outputs)
        codes = np.where(np.isnan(numbers), column.mechanism.outputs, steps)
    else:
        assert isinstance(column, CategoryColumn)
        codes = _places(values, column.values)
        wrong = codes < 0
        codes[np.isnan(codes)] = column.mechanism.outputs
    if wrong.any():
        raise EstimateError(
            f"column {column.name} has {int(wrong.sum())} values that no report of the plan holds; use the values of "
            "released_frame"
        )
    empty = codes == column.mechanism.outputs
    if omitted is not None and included is None and column.optional and empty.any():
        raise EstimateError(
            f"column {column.name} does not distinguish missing values from values left out of the report; give the "
            f"frame of released_frame with its column {column.name + INCLUDED!r}"
        )
    if omitted is not None:
        codes = np.where(empty if included is None else ~included, omitted, codes)
    elif empty.any() and not column.optional:
        raise EstimateError(f"column {column.name} has {int(empty.sum())} missing values, but none may be missing")
    return codes.astype(np.uint16)


def _numbers(values: NDArray[Any], name: str) -> Floats:
    with contextlib.suppress(TypeError, ValueError, OverflowError):  # their messages show values
        return np.asarray(values, dtype=np.float64)
    raise EstimateError(f"column {name} must hold numbers, NaN where a value is missing")


def _places(values: NDArray[Any], known: tuple[str, ...]) -> Floats:
    """Return the positions of named values, float64 (n,): −1 for unknown ones, NaN for missing ones."""
    import pandas as pd

    series = pd.Series(values)
    places = series.astype(str).map({value: float(place) for place, value in enumerate(known)})
    return np.where(series.notna(), places.fillna(-1.0), np.nan).astype(np.float64)


def _labels(y: ArrayLike, target: ClassColumn, n: int) -> NDArray[np.int64]:
    places = _places(np.asarray(y), target.values)
    if len(places) != n:
        raise EstimateError(f"X has {n:,} records, but y {len(places):,} classes")
    if not (places >= 0).all():
        raise EstimateError(f"y has {int((~(places >= 0)).sum())} values that are not classes of {target.name}")
    return places.astype(np.int64)
