"""Where a plan's names come from: a number of items, a file of names, or a level of a taxonomy's file."""

from dataclasses import dataclass
from pathlib import Path

from assocpriv.core.errors import PlanError
from assocpriv.files.plans import read_catalogue
from assocpriv.files.taxonomy import read_taxonomy
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.view import View


@dataclass(frozen=True, slots=True)
class NameSource:
    """Names of items; one of ``items``, ``catalogue`` and ``level`` says which these are.

    Attributes:
        items: their number; they are then named 0 … n−1.
        catalogue: file of names.
        taxonomy: file of names with their parents, which clients roll up.
        level: column of the taxonomy, from 1.
        leave_out: file of names that clients drop, with all below them.
    """

    items: int | None = None
    catalogue: Path | None = None
    taxonomy: Path | None = None
    level: int | None = None
    leave_out: Path | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no item is named."""
        return self.items is None and self.catalogue is None and self.level is None

    @property
    def paths(self) -> list[Path]:
        """The files to read."""
        return [path for path in (self.catalogue, self.taxonomy, self.leave_out) if path is not None]

    def read(self, others: str) -> tuple[int | Catalogue, View]:
        """Return the names, or their number, and how clients make a transaction of a basket.

        Args:
            others: ``error`` or ``drop``: what clients do with names that lead to no item.

        Raises:
            PlanError: no names are given, a file cannot be read, or the taxonomy has no such level.
        """
        tree = read_taxonomy(self.taxonomy) if self.taxonomy is not None else None
        names = read_catalogue(self.catalogue) if self.catalogue is not None else self.items
        if names is None:
            if tree is None or self.level is None:
                raise PlanError("a plan needs names: a number of items, a catalogue, or a level of a taxonomy")
            names = tree.level(self.level)
        left_out = tuple(sorted(read_catalogue(self.leave_out))) if self.leave_out is not None else ()
        return names, View(others=others, parents=tree.parents if tree else (), left_out=left_out)
