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

    A person is a label of a data frame's index; of an array, the number of the row. Each ``transform`` makes new
    reports, and several reports of one person tell more than one, so nobody is randomized more often than the plan's
    ``reports_per_person``: a further transform of the same people is refused, after another ``fit``, too. (The count is
    kept in this object alone: a clone or another process knows nothing of it, so keep the reports, and out of
    cross-validation. A device keeps a :class:`assocpriv.Ledger`.) There is no seed to set: reports are made of
    the system's entropy.

    Args:
        plan: the plan; its catalogue names the columns, in its order unless X has names.

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
        held = self._numbers(X, reset=True)
        if held.shape[1] != self.plan.n_items:
            raise PlanError(f"X has {held.shape[1]} columns, and the plan {self.plan.n_items} items")
        names = getattr(self, "feature_names_in_", None)
        if names is not None and set(names) != set(self.plan.catalogue):
            raise PlanError("the columns of X are not the items of the plan; name them alike")
        self.asked_: Counter[Any] = Counter(getattr(self, "asked_", ()))  # fitting anew forgets nobody
        return self

    def transform(self, X: Any) -> NDArray[np.uint8]:
        """Return the reports, uint8 (people, bytes), which may leave their devices.

        Raises:
            BudgetError: somebody has made all reports that the plan allows.
        """
        check_is_fitted(self)
        assert self.plan is not None
        people = list(X.index) if hasattr(X, "index") and not callable(X.index) else list(range(len(X)))
        held = self._numbers(X, reset=False) != 0
        names = getattr(self, "feature_names_in_", list(self.plan.catalogue))
        asked = self.asked_ + Counter(people)
        if max(asked.values(), default=0) > self.plan.reports_per_person:
            raise BudgetError(
                f"somebody has made the {self.plan.reports_per_person:,} reports that the plan allows a person; a "
                "further one would tell more than it promises, so keep the reports that were made"
            )
        items = np.array([self.plan.catalogue.index_of[name] for name in names], dtype=np.int64)
        rows, columns = np.nonzero(held)
        order = np.lexsort((items[columns], rows))
        ends = np.append(0, np.cumsum(np.bincount(rows, minlength=len(held))))
        baskets = Baskets(self.plan.catalogue, ends.astype(np.int64), items[columns][order])
        reports = [chunk.packed for chunk in randomize_chunks(baskets, self.plan, entropy=SystemEntropy())]
        self.asked_ = asked
        return np.concatenate([np.empty((0, self.plan.report_bytes), dtype=np.uint8), *reports])

    def _numbers(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Return X as numbers; what scikit-learn says of cells that are none quotes them, which no error here may."""
        try:
            return np.asarray(validate_data(self, X, reset=reset))
        except ValueError:
            raise BasketError(
                "X must have a row a person and a column an item, with a number in each cell and the columns of fit"
            ) from None
