"""Rules that turn the names in a raw basket into items of a plan's catalogue.

A name in the catalogue is kept. Any other becomes its nearest ancestor in the catalogue (``parents`` is a taxonomy:
product → category → department …). A name that reaches one of ``left_out`` first is dropped. A name that reaches
neither is an error, or dropped too. Repeated items count once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue
from assocpriv.plans.published_plan import check_fields

MAX_ANCESTORS = 64
UNKNOWN, LEFT_OUT = -1, -2  # instead of an item's number


@dataclass(frozen=True)
class Names:
    """Rules for names in baskets; by default names are looked up in the catalogue, and unlisted ones are an error.

    Attributes:
        unlisted: how to handle names that lead to no item and to no name in ``left_out``: ``error`` or ``drop``.
        parents: the taxonomy, sorted pairs (child, parent); each child once, with at most 64 ancestors.
        left_out: sorted names to drop, with all descendants that reach no item first; none is an item.

    Raises:
        PlanError: fields contradict each other, or the taxonomy has a cycle.

    >>> drinks = Names(parents=(("beer", "drinks"), ("tea", "drinks"), ("tea bag", "tea")), left_out=("tea",))
    >>> [drinks.roll_up(name, {"drinks": 0}) for name in ("beer", "tea bag", "milk")]
    [0, -2, -1]
    """

    unlisted: str = "error"
    parents: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.unlisted not in ("error", "drop"):
            raise PlanError("plan field unlisted must be 'error' or 'drop'")
        if not _are_names(self.left_out) or not _is_rising(self.left_out):
            raise PlanError("plan field left_out must hold sorted, distinct names")
        self._check_parents()

    @cached_property
    def parent_of(self) -> dict[str, str]:
        """The taxonomy as a dictionary."""
        return dict(self.parents)

    @cached_property
    def _dropped(self) -> frozenset[str]:
        return frozenset(self.left_out)

    @property
    def are_plain(self) -> bool:
        """Whether names are only looked up in the catalogue, without taxonomy or omissions."""
        return not self.parents and not self.left_out

    def __repr__(self) -> str:
        return f"Names({len(self.parents):,} with a parent, {len(self.left_out):,} left out, unlisted: {self.unlisted})"

    def _check_parents(self) -> None:
        if not _are_names(tuple(name for pair in self.parents for name in pair)):
            raise PlanError("a taxonomy must map names to names")
        if list(self.parents) != sorted(self.parent_of.items()):
            raise PlanError("a taxonomy must be sorted, with one parent for each name")
        ancestors: dict[str, int] = {}
        for start in self.parent_of:
            path: list[str] = []
            name = start
            while name in self.parent_of and name not in ancestors and len(path) <= MAX_ANCESTORS:
                path.append(name)
                name = self.parent_of[name]
            above = ancestors.get(name, 0)
            ancestors |= {each: above + steps for steps, each in enumerate(reversed(path), 1)}
            if ancestors[start] > MAX_ANCESTORS:
                raise PlanError(
                    f"the taxonomy has a cycle, or a name with more than {MAX_ANCESTORS} ancestors; every name must "
                    "lead to a root"
                )

    def check_catalogue(self, catalogue: Catalogue) -> None:
        """Raise PlanError if an item is left out, or if there are too many names in all."""
        if self.are_plain:
            return
        if len(catalogue) + len(self.parents) + len(self.left_out) > MAX_ITEMS:
            raise PlanError(f"items, names with a parent and names left out must be at most {MAX_ITEMS} together")
        if any(name in catalogue.index_of for name in self.left_out):
            raise PlanError("a name that is left out must not be an item")

    def roll_up(self, name: str, known: Mapping[str, int]) -> int:
        """Return the number of the nearest known ancestor-or-self; LEFT_OUT if such a name is nearer, else UNKNOWN."""
        while name not in known:
            if name in self._dropped:
                return LEFT_OUT
            if name not in self.parent_of:
                return UNKNOWN
            name = self.parent_of[name]
        return known[name]

    def to_json(self) -> dict[str, Any]:
        """Return the rules as canonical JSON content."""
        return {"unlisted": self.unlisted, "parents": self.parent_of, "left_out": list(self.left_out)}

    @classmethod
    def from_json(cls, content: object) -> "Names":
        """Read what :meth:`to_json` wrote."""
        fields = check_fields(content, "the names", {"unlisted", "parents", "left_out"})
        if not isinstance(fields["parents"], dict):
            raise PlanError("plan field parents must be an object, child to parent")
        if not isinstance(fields["left_out"], list):
            raise PlanError("plan field left_out must be a list of names")
        return cls(fields["unlisted"], tuple(sorted(fields["parents"].items())), tuple(fields["left_out"]))


def _is_rising(values: tuple[Any, ...]) -> bool:
    return all(low < high for low, high in pairwise(values))


def _are_names(names: tuple[Any, ...]) -> bool:
    """Return whether all are names that a catalogue accepts, and not too many."""
    if not names:
        return True
    if not all(type(name) is str for name in names):
        return False
    try:
        Catalogue(set(names))
    except PlanError:  # its message would count places in the set
        return False
    return True
