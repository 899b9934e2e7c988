"""The view of basket sizes: the size class of a transaction.

Entry i is the class of sizes from ``bounds[i]`` up to the next bound; the last class is open. A transaction with fewer
items than ``bounds[0]`` has no entry, so that a padding item is added, as in every report type. If ``bounds[0]`` is the
number M that reports of items are padded to, the padding items in those reports estimate the smaller sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets.view import Ids, View
from assocpriv.plans.published_plan import check_fields, check_integer

MOST_CLASSES = 64


@dataclass(frozen=True, slots=True)
class SizesView(View):
    """The size class of a transaction.

    Attributes:
        bounds: the smallest size of each class, increasing, 1 or more; at most 64.

    Raises:
        PlanError: bounds do not increase, or there are too many.

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
            raise PlanError("plan field bounds must increase")

    def n_entries(self, n_items: int) -> int:
        """Return the number of classes; raise PlanError if no transaction can reach the last one."""
        if self.bounds[-1] > n_items:
            raise PlanError(f"plan field bounds must be at most the number of items, {n_items}")
        return len(self.bounds)

    def entries(self, transaction: list[int]) -> list[int]:
        """Return the class of the transaction's size; nothing below the first."""
        reached = sum(bound <= len(transaction) for bound in self.bounds)
        return [reached - 1] if reached else []

    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:  # noqa: ARG002 -- only sizes matter
        """Return the classes of many transactions' sizes."""
        reached = np.searchsorted(np.array(self.bounds), np.diff(offsets), side="right")
        held = reached > 0
        return np.append(0, np.cumsum(held)).astype(np.int64), (reached[held] - 1).astype(np.int64)

    def entry_name(self, entry: int, names: Sequence[str]) -> str:  # noqa: ARG002 -- classes have no item names
        """Return the name of a class: its sizes.

        >>> [SizesView((5, 6, 9)).entry_name(entry, ()) for entry in range(3)]
        ['5 items', '6–8 items', '9 or more items']
        """
        least, most = self.bounds[entry], [*self.bounds[1:], 0][entry] - 1
        return f"{least} or more items" if most < 0 else f"{least}{f'–{most}' if most > least else ''} items"

    def describe(self, size: int) -> str:  # noqa: ARG002 -- a transaction has one size
        """Return a description: the basket size by class."""
        classes = ", ".join(self.entry_name(place, ()).removesuffix(" items") for place in range(len(self.bounds)))
        return f"a randomized answer about the number of items, in classes: below {self.bounds[0]}, {classes}"

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
