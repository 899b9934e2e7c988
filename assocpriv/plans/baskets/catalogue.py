"""The catalogue: the items that baskets are reported in, and rules that turn the names in a raw basket into items.

A name in the catalogue is kept. Any other becomes its nearest ancestor in the catalogue (``parents`` is a taxonomy:
product → category → department …). A name that reaches one of ``left_out`` first is dropped. A name that reaches
neither is an error, or dropped too. Repeated items count once.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.published_plan import check_fields, check_integer

MAX_ITEMS = 1 << 20
MAX_ANCESTORS = 64
UNKNOWN, LEFT_OUT = -1, -2  # instead of an item's number
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,6}", re.ASCII)  # numbers below MAX_ITEMS have at most 7 digits
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # control characters, halves of surrogate pairs


def sort_key(name: str) -> tuple[int, int, str]:
    """Return the sort key of a name as people expect it: numbers by value, before all other names.

    >>> sorted(["11", "tea", "3", "Eggs"], key=sort_key)
    ['3', '11', 'Eggs', 'tea']
    """
    return (0, int(name), name) if _NUMBER.fullmatch(name) else (1, 0, name)


def name_itemsets(k: int, count: int = 2) -> str:
    """Return the noun for itemsets of one size, in the singular for a count of 1."""
    names = {1: "single item", 2: "pair", 3: "triple"}
    name = names.get(k, "itemset") + "s" * (count != 1)
    return name if k in names else f"{name} of {k}"


class Catalogue(Sequence[str]):
    """The items of a collection: distinct names; an item's id is its position.

    The names of a set, which has no order, are sorted, numbers by value. ``Catalogue.numbered(n)`` names items ``"0"``
    … ``"n−1"`` without storing the names.

    Args:
        names: 1 to 2^20 names.

    Raises:
        PlanError: there is no name, or one is repeated, empty, or has control characters or blanks around it.
        TypeError: one text instead of a list of names.

    >>> import assocpriv as ap
    >>> items = ap.Catalogue(["tea", "milk"])
    >>> items[0], items.index_of["milk"], list(ap.Catalogue({"tea", "milk"}))
    ('tea', 1, ['milk', 'tea'])
    """

    __slots__ = ("_count", "_index", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        if isinstance(names, str | bytes):
            raise TypeError("names must be a list of names, got text; to read a file use read_catalogue(path)")
        # _check_names refuses what is no text
        ordered = tuple(sorted(names, key=lambda name: sort_key(str(name))) if isinstance(names, Set) else names)
        _check_names(ordered)
        self._count = len(ordered)
        # names 0..n-1 are stored as a number, so that equal catalogues have one canonical form
        numbered = all(name == str(position) for position, name in enumerate(ordered))
        self._names: tuple[str, ...] | None = None if numbered else ordered
        self._index: Mapping[str, int] | None = None

    @classmethod
    def numbered(cls, count: int) -> "Catalogue":
        """Return the catalogue of ``count`` items named 0 … count−1.

        Args:
            count: number of items, 1..2^20.

        Returns:
            The catalogue; it does not store the names.

        Raises:
            PlanError: the count is no whole number in this range.
        """
        made = cls.__new__(cls)
        made._count = check_integer(count, "catalogue count", 1, MAX_ITEMS)
        made._names = made._index = None
        return made

    @property
    def is_numbered(self) -> bool:
        """Whether the items are named 0 … n−1."""
        return self._names is None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, item: Any) -> Any:
        if self._names is not None:
            return self._names[item]
        if isinstance(item, slice):
            return tuple(map(str, range(self._count)[item]))
        return str(range(self._count)[item])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names) if self._names is not None else map(str, range(self._count))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Catalogue):
            return NotImplemented
        return self._count == other._count and self._names == other._names

    def __hash__(self) -> int:
        return hash((self._count, self._names))

    def __repr__(self) -> str:
        return f"Catalogue({self._count} items)"

    @property
    def index_of(self) -> Mapping[str, int]:
        """Item id by name."""
        if self._index is None:
            self._index = _Numbers(self._count) if self.is_numbered else {name: i for i, name in enumerate(self)}
        return self._index

    def to_json(self) -> dict[str, Any]:
        """Return the catalogue as canonical JSON content.

        Returns:
            ``{"count": n}`` if the items are named 0 … n−1, else ``{"names": [...]}``.
        """
        return {"count": self._count} if self._names is None else {"names": list(self._names)}

    @classmethod
    def from_json(cls, content: object) -> "Catalogue":
        """Read what :meth:`to_json` wrote.

        Args:
            content: JSON content, an object with either ``count`` or ``names``.

        Returns:
            The catalogue, equal to the one written.

        Raises:
            PlanError: content of another form, or names that a catalogue cannot have.
        """
        if isinstance(content, dict) and set(content) == {"count"}:
            return cls.numbered(content["count"])
        if isinstance(content, dict) and set(content) == {"names"} and isinstance(content["names"], list):
            return cls(content["names"])
        raise PlanError("plan field catalogue must hold either a count or a list of names")


class _Numbers(Mapping[str, int]):
    """The ids of the names 0 … n−1, without a table: a plan of a few bytes may have a million items."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __getitem__(self, name: str) -> int:
        if not _DECIMAL.fullmatch(name) or int(name) >= self._count:
            raise KeyError
        return int(name)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return map(str, range(self._count))


def _check_names(names: tuple[str, ...]) -> None:
    if not 1 <= len(names) <= MAX_ITEMS:
        raise PlanError(f"a catalogue must hold 1..{MAX_ITEMS} items, got {len(names)}")
    for position, name in enumerate(names):
        if type(name) is not str:
            raise PlanError(f"catalogue entry {position + 1} must be text, got a {type(name).__name__}")
        if not name or name != name.strip() or _NO_TEXT.search(name):
            raise PlanError(
                f"catalogue entry {position + 1} must be a name without control characters or blanks around it"
            )
    if len(set(names)) != len(names):
        seen: set[str] = set()
        position = next(i for i, name in enumerate(names) if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise PlanError(f"catalogue entry {position + 1} repeats an earlier name; names must be distinct")


# ---- names


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
        """Check that these rules fit a catalogue.

        Args:
            catalogue: the plan's items.

        Raises:
            PlanError: an item is left out, or items, names with a parent and names left out are more than 2^20
                together.
        """
        if self.are_plain:
            return
        if len(catalogue) + len(self.parents) + len(self.left_out) > MAX_ITEMS:
            raise PlanError(f"items, names with a parent and names left out must be at most {MAX_ITEMS} together")
        if any(name in catalogue.index_of for name in self.left_out):
            raise PlanError("a name that is left out must not be an item")

    def roll_up(self, name: str, known: Mapping[str, int]) -> int:
        """Return the id of the item that a name counts as: the nearest item among the name and its ancestors.

        Args:
            name: a name of a basket.
            known: ids of the items by name, as ``Catalogue.index_of``.

        Returns:
            The id, from 0; LEFT_OUT (−2) if a name of ``left_out`` is nearer, UNKNOWN (−1) if there is neither.
        """
        while name not in known:
            if name in self._dropped:
                return LEFT_OUT
            if name not in self.parent_of:
                return UNKNOWN
            name = self.parent_of[name]
        return known[name]

    def to_json(self) -> dict[str, Any]:
        """Return the rules as canonical JSON content.

        Returns:
            The object ``unlisted``, ``parents`` (child to parent) and ``left_out`` (a list).
        """
        return {"unlisted": self.unlisted, "parents": self.parent_of, "left_out": list(self.left_out)}

    @classmethod
    def from_json(cls, content: object) -> "Names":
        """Read what :meth:`to_json` wrote.

        Args:
            content: JSON content, an object with ``unlisted``, ``parents`` and ``left_out``.

        Returns:
            The rules, equal to those written.

        Raises:
            PlanError: content of another form, or fields that contradict each other.
        """
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
