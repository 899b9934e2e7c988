"""The trees as a scikit-learn estimator: grown on released values, applied to raw ones."""

import contextlib
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from assocpriv.plans.columns import CategoryColumn, Column, LabelColumn, NumberColumn, default_intervals
from assocpriv.plans.tables import TablePlan, shortened
from assocpriv.plans.tree_model import CategoryInput, NumberInput, TreeModel
from assocpriv.promise.errors import EstimateError
from assocpriv.server.numeric.released import release_grid
from assocpriv.server.numeric.trees.building import ClassColumn, TreeRequest, build
from assocpriv.server.numeric.trees.channels import Channel, channel_of
from assocpriv.server.numeric.trees.correction import Codes

ASKED = " asked"  # ends the name of released_frame's column that says whether a column was asked


class ReleasedTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree grown on released values, whose ``predict`` takes raw ones (AS00, section 4).

    Args:
        plan: the table plan that released the values. Without one every column holds numbers as they are, cut into
            equal intervals: one for each 100 records, from 10 to 100.
        label: the plan's column that is the class; its only label by default.
        method: ``"by-class"`` and ``"global"`` reconstruct each column once, for each class or over all; ``"local"``
            for each class at every node; ``"randomized"`` takes released values at their word, for comparison.
        max_depth, min_samples_split, min_samples_leaf: limits of growth, as scikit-learn's; the last is by default one
            in a thousand records, 1 at least and 100 at most.
        pruning: ``"description-length"`` as in AS00, ``"cost-complexity"`` with ``ccp_alpha``, or ``"none"``.
        ccp_alpha: price of a leaf, for ``"cost-complexity"``.
        random_state: seed of the order in which equal values are taken, and of scikit-learn's.

    ``fit`` takes X with the plan's columns but for the label: a frame as ``released_frame`` gives, by name, or an array
    in the plan's order; y holds released classes. ``predict`` takes X alike, with raw values. A number beyond its range
    goes where the nearest one goes; a missing value, or a category that the plan does not have, where most such records
    went.

    Attributes:
        classes_: the classes, in the plan's order, or sorted.
        model_: the tree, as ``write_model`` writes it.

    Source: Agrawal, Srikant, Privacy-Preserving Data Mining, SIGMOD 2000, section 4.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 2))
    >>> tree = ReleasedTreeClassifier().fit(X, X[:, 0] > 0.5)
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
        ccp_alpha: float = 0.0,
        random_state: int = 0,
    ) -> None:
        self.plan = plan
        self.label = label
        self.method = method
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.pruning = pruning
        self.ccp_alpha = ccp_alpha
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
        at = class_place(plan, self.label)
        places = [place for place in range(len(plan.columns)) if place != at]
        corrected = request.method != "randomized"
        channels = [channel_of(plan, place, corrected=corrected) for place in places]
        columns = _columns_of(X, [plan.columns[place].name for place in places])
        codes = [
            _codes(values, plan.columns[place], plan.unasked_code(place), asked)
            for place, (values, asked) in zip(places, columns, strict=True)
        ]
        target = ClassColumn.of(class_column(plan, at))
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
        from assocpriv.server.numeric.trees.export import tree_lines

        check_is_fitted(self, "model_")
        return "\n".join(tree_lines(self._named_model()))

    def export_dot(self) -> str:
        """Return the tree in the DOT language of Graphviz."""
        from assocpriv.server.numeric.trees.export import tree_dot

        check_is_fitted(self, "model_")
        return tree_dot(self._named_model())

    def _named_model(self) -> TreeModel:
        return replace(self.model_, classes=tuple(str(value) for value in self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


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
    class_column(plan, place)
    return place


def class_column(plan: TablePlan, place: int) -> CategoryColumn:
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


def _as_they_are(X: NDArray[np.float64], names: list[str]) -> tuple[list[Channel], list[Codes]]:
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
        told = NumberInput(name, float(edges[0]), float(edges[-1]), len(known) < len(values))
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


def _raw_values(values: NDArray[Any], column: NumberInput | CategoryInput) -> NDArray[np.float64]:
    """Return raw values as a model takes them: numbers, positions of categories, NaN where there is none it knows."""
    if isinstance(column, NumberInput):
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
