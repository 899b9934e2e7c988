"""Decision trees on released values as a scikit-learn estimator.

Released values, as people read them, become the codes that reports hold; growth is that of trees.py.
"""

import contextlib
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assocpriv.plans import tree_model
from assocpriv.plans.columns import CategoryColumn, Column, NumberColumn, default_intervals
from assocpriv.plans.tables import TablePlan, shortened
from assocpriv.promise.errors import EstimateError
from assocpriv.server.histograms import release_grid
from assocpriv.server.tree_positions import Channel, Codes, Released, channel_of
from assocpriv.server.trees import ClassColumn, TreeRequest, build, class_of, class_place

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "sklearn":
        raise
    raise EstimateError("ReleasedTreeClassifier needs scikit-learn; install it: pip install assocpriv[trees]") from None

Floats = NDArray[np.float64]

ASKED = " asked"  # ends the name of released_frame's column that says whether a column was asked


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
        random_state: seed of the order in which equal values are taken.

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
            self.model_ = build(Released(codes, labels, channels, len(target.values)), target, request)
        else:
            self._fit_plan(self.plan, X, y, request)
        return self

    def _fit_plan(self, plan: TablePlan, X: Any, y: ArrayLike, request: TreeRequest) -> None:
        TablePlan.of(plan)
        at = class_place(plan, self.label)
        places = [place for place in range(len(plan.columns)) if place != at]
        corrected = request.method != "randomized"
        channels = [channel_of(plan, place, corrected=corrected) for place in places]
        columns = _columns_of(X, [plan.columns[place].name for place in places])
        codes = [
            _codes(values, plan.columns[place], plan.unasked_code(place), asked)
            for place, (values, asked) in zip(places, columns, strict=True)
        ]
        target = ClassColumn.of(class_of(plan, at))
        labels = _labels(y, target, len(codes[0]))
        self.classes_ = np.array(target.values)
        self.n_features_in_ = len(places)
        released = Released(codes, labels, channels, len(target.values))
        self.model_ = build(released, target, request, plan.plan_id)

    def _raw(self, X: Any) -> Floats:
        check_is_fitted(self, "model_")
        if self.plan is None:
            found: Floats = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
            return found
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
        """Return the likeliest class of raw records, (n,)."""
        leaves = self.model_leaves(X)
        best = np.array([self.model_.likeliest(place) for place in range(len(self.model_.nodes))])
        predicted: NDArray[Any] = self.classes_[best[leaves]]
        return predicted

    def predict_proba(self, X: Any) -> Floats:
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


def _as_they_are(X: Floats, names: list[str]) -> tuple[list[Channel], list[Codes]]:
    """Return the channels and codes of numbers as they are, in equal intervals between the least and the largest."""
    n_intervals = default_intervals(len(X))
    channels: list[Channel] = []
    codes: list[Codes] = []
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
        channels.append(Channel(told, edges, np.arange(n + 1), missing_code=n))
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


def _codes(values: NDArray[Any], column: Column, unasked: int | None, asked: NDArray[np.bool_] | None) -> Codes:
    """Return the released codes of a column, of what ``released_frame`` says of them."""
    if isinstance(column, NumberColumn):
        width, first = release_grid(column)
        numbers = _numbers(values, column.name)
        steps = np.rint((numbers - float(column.origin + first)) / float(width) - 0.5)
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


def _numbers(values: NDArray[Any], name: str) -> Floats:
    with contextlib.suppress(TypeError, ValueError, OverflowError):  # their texts show values
        return np.asarray(values, dtype=np.float64)
    raise EstimateError(f"column {name} must hold numbers, NaN where a value is missing")


def _places(values: NDArray[Any], known: tuple[str, ...]) -> Floats:
    """Return the positions of named values, float64 (n,), −1 of those that are none and NaN of missing ones."""
    import pandas as pd

    series = pd.Series(values)
    places = series.astype(str).map({value: float(place) for place, value in enumerate(known)})
    found: Floats = np.where(series.notna(), places.fillna(-1.0), np.nan).astype(np.float64)
    return found


def _labels(y: ArrayLike, target: ClassColumn, n: int) -> NDArray[np.int64]:
    places = _places(np.asarray(y), target.values)
    if len(places) != n:
        raise EstimateError(f"X has {n:,} records, but y {len(places):,} classes")
    if not (places >= 0).all():
        raise EstimateError(f"y has {int((~(places >= 0)).sum())} values that are no class of {target.name}")
    return places.astype(np.int64)
