"""A report type's view: the aspect of a transaction that is reported.

A transaction is the set of the catalogue's items in a basket (plans/baskets/item_names.py). A view turns it into
entries, numbered from 0. The report type's operator then pads, samples and randomizes them. γ holds whatever the view,
because randomization protects any two sets of entries.

A view is a class in its own module, and an entry of ``VIEWS`` (plans/baskets/report_type.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.published_plan import check_fields

Ids = NDArray[np.int64]


class View(ABC):
    """The aspect of a transaction that a report type is about; ``kind`` is its name in a plan."""

    kind: ClassVar[str]

    @abstractmethod
    def n_entries(self, n_items: int) -> int:
        """Return the number of entries for a catalogue of ``n_items``; raise PlanError if the view does not fit it."""

    @abstractmethod
    def entries(self, transaction: list[int]) -> list[int]:
        """Return a transaction's entries; both are in increasing order."""

    @abstractmethod
    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:
        """Return offsets and entries of many transactions; the i-th has the items from ``offsets[i]`` on."""

    @abstractmethod
    def entry_name(self, entry: int, names: Sequence[str]) -> str:
        """Return an entry's name; ``names`` are the catalogue's."""

    @abstractmethod
    def describe(self, size: int) -> str:
        """Return a description of what is reported, with at most ``size`` entries, as in "which items …"."""

    def to_json(self) -> dict[str, Any]:
        """Return the view as canonical JSON content."""
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Read what :meth:`to_json` wrote."""
        check_fields(content, f"a view of {cls.kind}", {"kind"})
        return cls()


@dataclass(frozen=True, slots=True)
class ItemsView(View):
    """The items of a transaction: the entries are the items themselves.

    >>> ItemsView().entries([2, 7])
    [2, 7]
    """

    kind: ClassVar[str] = "items"

    def n_entries(self, n_items: int) -> int:
        """Return the number of items."""
        return n_items

    def entries(self, transaction: list[int]) -> list[int]:
        """Return the items."""
        return transaction

    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:
        """Return the arguments unchanged."""
        return offsets, items

    def entry_name(self, entry: int, names: Sequence[str]) -> str:
        """Return the item's name."""
        return names[entry]

    def describe(self, size: int) -> str:
        """Return a description: the items in the basket."""
        return f"a randomized answer about the basket's items, {size} at most"
