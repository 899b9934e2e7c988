"""The client's side as a scikit-learn transformer: rows of one-hot baskets become reports, each person's once."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from assocpriv.client.baskets.bulk import randomize_chunks
from assocpriv.core.entropy import SystemEntropy
from assocpriv.core.errors import BasketError, BudgetError, PlanError
from assocpriv.plans.baskets.plan import Plan
from assocpriv.records.baskets import Baskets


class BasketRandomizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Randomizes baskets by a plan: X holds a row a person, a column an item, what is not 0 is held.

    A person is a label of a pandas frame's index; of anything else, the number of the row. Each ``transform`` makes new
    reports, and several reports of one person tell more than one, so nobody is randomized more often than the plan's
    ``reports_per_person``: a further transform of the same people is refused, after another ``fit``, too. (The count is
    kept in this object alone: a clone or another process knows nothing of it, so keep the reports, and out of
    cross-validation. A device keeps a :class:`assocpriv.Ledger`.) There is no seed to set: reports are made of
    the system's entropy.

    Args:
        plan: the plan; its catalogue names the columns, in its order where X, an array or sparse, has no names.

    Attributes:
        asked_: how often each person was randomized.

    >>> import assocpriv as ap
    >>> plan = ap.plan(["tea", "milk", "rye"], 2, ap.Breach("5%", "50%"))
    >>> BasketRandomizer(plan).fit_transform([[1, 1, 0], [0, 0, 1]]).shape
    (2, 1)
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self.plan = plan

    def fit(self, X: Any, y: Any = None) -> "BasketRandomizer":  # noqa: ARG002 -- scikit-learn's names
        """Check that X has the plan's columns; nothing is learned."""
        if not isinstance(self.plan, Plan):
            raise PlanError("BasketRandomizer needs plan=, a plan of baskets")
        self._items(X, reset=True)
        self.asked_: Counter[Any] = Counter(getattr(self, "asked_", ()))  # fitting anew forgets nobody
        return self

    def transform(self, X: Any) -> NDArray[np.uint8]:
        """Return the reports, uint8 (people, bytes), which may leave their devices.

        Raises:
            BudgetError: somebody has made all reports that the plan allows.
        """
        check_is_fitted(self)
        assert self.plan is not None
        offsets, items = self._items(X, reset=False)
        asked = self.asked_ + _people(X, len(offsets) - 1)
        if max(asked.values(), default=0) > self.plan.reports_per_person:
            raise BudgetError(
                f"somebody has made the {self.plan.reports_per_person:,} reports that the plan allows a person; a "
                "further one would tell more than it promises, so keep the reports that were made; if they are other "
                "people, say who they are: people are told apart by the index of a pandas frame, else by their row"
            )
        baskets = Baskets(self.plan.catalogue, offsets, items)
        reports = [chunk.packed for chunk in randomize_chunks(baskets, self.plan, entropy=SystemEntropy())]
        self.asked_ = asked
        return np.concatenate([np.empty((0, self.plan.report_bytes), dtype=np.uint8), *reports])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of a report's bytes."""
        check_is_fitted(self)
        assert self.plan is not None
        return np.array([f"byte{place}" for place in range(self.plan.report_bytes)], dtype=object)

    def _items(self, X: Any, *, reset: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where each person's items begin, and the items, in order, by their places in the catalogue.

        What scikit-learn says of cells that are no numbers quotes them, which no error here may.
        """
        assert self.plan is not None
        names = _column_names(X)
        if names is not None and (len(set(names)) < len(names) or set(names) != set(self.plan.catalogue)):
            raise PlanError("the columns of X are not the items of the plan; name them alike")
        if names is not None and hasattr(X, "set_axis"):
            X = X.set_axis(names, axis=1)  # scikit-learn takes names that are all text
        try:
            held = validate_data(self, X, reset=reset, accept_sparse="csr")
        except (ValueError, TypeError):
            raise BasketError(
                "X must have a row a person and a column an item, with a number in each cell and the columns of fit"
            ) from None
        if held.shape[1] != self.plan.n_items:
            raise PlanError(f"X has {held.shape[1]} columns, and the plan {self.plan.n_items} items")
        named = getattr(self, "feature_names_in_", self.plan.catalogue) if names is None else names
        place = np.array([self.plan.catalogue.index_of[name] for name in named], dtype=np.int64)
        rows, columns = held.nonzero()
        items = place[columns]
        ends = np.append(0, np.cumsum(np.bincount(rows, minlength=held.shape[0])))
        return ends.astype(np.int64), items[np.lexsort((items, rows))]


def _column_names(X: Any) -> list[str] | None:
    """Return the names of a data frame's columns as text, numbers too, as everywhere; None for what has none."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow's columns are arrays
    return None if names is None else [str(name).strip() for name in names]


def _people(X: Any, n_people: int) -> Counter[Any]:
    """Return how often each person is in X."""
    index = getattr(X, "index", None)
    labels = list(range(n_people)) if index is None or callable(index) else list(index)
    try:
        if not any(label is None or bool(label != label) for label in labels):  # noqa: PLR0124 -- NaN
            return Counter(labels)
    except (TypeError, ValueError):  # not hashable, or of many parts
        pass
    raise BasketError("the index of X must say who each row is: labels that are there, of text or numbers")
