"""A question's view: which entries of what it asks about a transaction holds.

A transaction is the set of the catalogue's items that a basket comes to (plans/names.py). A view makes entries of it,
numbered from 0: what the question's operator then pads, samples and randomizes. Whatever the view, γ holds for what is
sent: randomization protects any two sets of entries, however they were made.

A view is a class in a file of its own, and an entry of ``VIEWS`` (plans/question.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.published import check_fields

Ids = NDArray[np.int64]


class View(ABC):
    """What a question asks about; ``kind`` is its name in a plan."""

    kind: ClassVar[str]

    @abstractmethod
    def n_entries(self, n_items: int) -> int:
        """Return how many entries it makes of a catalogue of so many items; PlanError where it cannot."""

    @abstractmethod
    def entries(self, transaction: list[int]) -> list[int]:
        """Return the entries that a transaction holds, both increasing."""

    @abstractmethod
    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:
        """Return offsets and entries of many transactions, of which the i-th has the items from ``offsets[i]`` on."""

    @abstractmethod
    def entry_name(self, entry: int, names: Sequence[str]) -> str:
        """Return what an entry is called; ``names`` are the catalogue's."""

    @abstractmethod
    def asks(self, size: int) -> str:
        """Say what is asked, of at most ``size`` entries, after "which" or "what"."""

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
    """Which items a transaction holds: the entries are the items themselves.

    >>> ItemsView().entries([2, 7])
    [2, 7]
    """

    kind: ClassVar[str] = "items"

    def n_entries(self, n_items: int) -> int:
        """Return as many."""
        return n_items

    def entries(self, transaction: list[int]) -> list[int]:
        """Return the items."""
        return transaction

    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:
        """Return what is given."""
        return offsets, items

    def entry_name(self, entry: int, names: Sequence[str]) -> str:
        """Return the item's name."""
        return names[entry]

    def asks(self, size: int) -> str:
        """Say what is asked."""
        return f"which items their basket holds, at most {size} of them"
