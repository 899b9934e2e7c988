"""The view of sizes: in which class the number of a transaction's items lies, from a least number on.

Entry i are sizes from ``bounds[i]`` up to the next bound, the last is open. A transaction of fewer items than
``bounds[0]`` holds no entry: padding (a dummy, as of every question) says so. Where ``bounds[0]`` is the number M that
reports of items are padded to, these tell smaller sizes themselves, by their dummies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from assocpriv.plans.published import check_fields, check_integer
from assocpriv.plans.view import Ids, View
from assocpriv.promise.errors import PlanError

MOST_CLASSES = 64


@dataclass(frozen=True, slots=True)
class SizesView(View):
    """Which class of sizes a transaction belongs to; ``bounds`` are the least sizes of the classes, increasing from 1.

    Raises:
        PlanError: bounds that do not rise, or too many.

    >>> view = SizesView((5, 8))
    >>> view.entries([1, 2]), view.entries([0, 1, 2, 3, 4]), view.entries(list(range(20)))
    ([], [0], [1])
    """

    bounds: tuple[int, ...]

    kind: ClassVar[str] = "sizes"

    def __post_init__(self) -> None:
        if not 1 <= len(self.bounds) <= MOST_CLASSES:
            raise PlanError(f"plan field bounds must list 1 to {MOST_CLASSES} whole numbers")
        for bound in self.bounds:
            check_integer(bound, "bounds", 1, 1 << 30)
        if any(low >= high for low, high in pairwise(self.bounds)):
            raise PlanError("the bounds of classes of sizes must rise")

    def n_entries(self, n_items: int) -> int:
        """Return the number of classes; PlanError where no transaction can be as large as the last."""
        if self.bounds[-1] > n_items:
            raise PlanError(f"the classes of sizes must begin at {n_items} items at most, as many as there are")
        return len(self.bounds)

    def entries(self, transaction: list[int]) -> list[int]:
        """Return the class of the transaction's size, nothing below the first."""
        reached = sum(bound <= len(transaction) for bound in self.bounds)
        return [reached - 1] if reached else []

    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:  # noqa: ARG002 -- sizes alone tell
        """Return the classes of many transactions' sizes."""
        reached = np.searchsorted(np.array(self.bounds), np.diff(offsets), side="right")
        held = reached > 0
        return np.append(0, np.cumsum(held)).astype(np.int64), (reached[held] - 1).astype(np.int64)

    def entry_name(self, entry: int, names: Sequence[str]) -> str:  # noqa: ARG002 -- no item stands for a size
        """Return the sizes of a class.

        >>> [SizesView((5, 6, 9)).entry_name(entry, ()) for entry in range(3)]
        ['5 items', '6–8 items', '9 items or more']
        """
        least, most = self.bounds[entry], [*self.bounds[1:], 0][entry] - 1
        return f"{least} items or more" if most < 0 else f"{least}{f'–{most}' if most > least else ''} items"

    def asks(self, size: int) -> str:  # noqa: ARG002 -- of one transaction there is one size
        """Say what is asked."""
        return f"how many items their basket holds: fewer than {', '.join(map(str, self.bounds))} or more"

    def to_json(self) -> dict[str, Any]:
        """Return the view as canonical JSON content."""
        return {"kind": self.kind, "bounds": list(self.bounds)}

    @classmethod
    def from_json(cls, content: object) -> "SizesView":
        """Read what :meth:`to_json` wrote."""
        bounds = check_fields(content, "a view of sizes", {"kind", "bounds"})["bounds"]
        if not isinstance(bounds, list):
            raise PlanError("plan field bounds must be a list of whole numbers")
        return cls(tuple(bounds))
