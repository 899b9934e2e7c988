"""A plan's view: how a raw basket becomes a transaction over the catalogue, before it is randomized.

First the basket's names are rolled up: a name that the catalogue's entries are made of stays, any other becomes its
nearest ancestor that they are made of (``parents`` is a taxonomy: product → category → department …). A name that
comes to one of ``left_out`` first is dropped; one that comes to neither is an error, or dropped too. Repeats that arise
count once. Then a transaction is

    items      the names themselves
    itemsets   the entries (sets of names) that the basket holds whole: a later round asks for chosen itemsets
    sizes      one entry, the bucket that the number of names left lies in: from ``bounds[i]`` up to the next bound

Whatever the view, γ holds for what is sent: randomization protects any two transactions, however they were made.

Of items and itemsets a report can be about the entries of one public random block alone, drawn by the device and named
in clear: fewer of a basket's entries compete for the M that a report is made of, and what this loses is people, which
is known exactly. Blocks are published with the plan and follow from no data, so that γ stays that of one report.

The n entries are cut R times, each time at random into g pieces of ⌊n/g⌋ or ⌈n/g⌉. Block b = p·g + j is piece j of
partition p. With f the finalizer of MurmurHash3, a bijection of 32-bit words, entry i has in partition p the key

    f(f(i) xor f(f(s) + p)),

s being the seed. Of n entries sorted by their keys that of rank r lies in piece ⌊r·g/n⌋.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.catalogue import MAX_ITEMS, Catalogue
from assocpriv.plans.published import check_fields, check_integer
from assocpriv.promise.errors import PlanError

NUMBER_BYTES = 2  # of a report, which say its block
MOST_BLOCKS = 1 << 8 * NUMBER_BYTES
MOST_CUT = 1 << 24  # partitions · entries: who reads every block holds a table of so many
Ids = NDArray[np.int64]
# the fields that views of a kind have beside those of all
KINDS: dict[str, tuple[str, ...]] = {"items": (), "itemsets": ("itemsets",), "sizes": ("bounds", "counted")}
_BOUNDS = "bounds must be a list of whole numbers, counted one of names"
_LISTS = {
    "left_out": "left_out must be a list of names",
    "itemsets": "itemsets must be a list of lists of names",
} | dict.fromkeys(("bounds", "counted"), _BOUNDS)
MAX_SIZE = 1 << 30
MAX_ANCESTORS = 64
UNKNOWN, LEFT_OUT = -1, -2  # in place of the number of a name


# ---- blocks


class BlockTable(NamedTuple):
    """Where each entry lies in each partition, and what lies where: arrays (partitions, entries), but for ``starts``.

    ``pieces`` uint16 and ``places`` int32 are by entry. ``entries`` int32 are piece by piece, those of piece j from
    ``starts[j]`` on, int64 (pieces + 1,).
    """

    pieces: NDArray[np.uint16]
    places: NDArray[np.int32]
    entries: NDArray[np.int32]
    starts: Ids


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a catalogue is cut: into ``pieces``, anew for each of the ``partitions``, by a ``seed`` of 32 bits.

    Raises:
        PlanError: a number out of range.

    >>> Blocks(partitions=2, pieces=3).members(4, 10).tolist()
    [3, 4, 5]
    """

    partitions: int
    pieces: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self.pieces, "pieces", 2, MOST_BLOCKS)
        check_integer(self.partitions, "partitions", 1, MOST_BLOCKS // self.pieces)
        check_integer(self.seed, "seed", 0, (1 << 32) - 1)

    @property
    def count(self) -> int:
        """Number of blocks, R·g."""
        return self.partitions * self.pieces

    def longest(self, n_entries: int) -> int:
        """Return how many of so many entries the longest blocks hold, ⌈n/g⌉; a report is made for that many."""
        return -(-n_entries // self.pieces)

    def check_catalogue(self, n_entries: int, itemset_size: int) -> None:
        """Refuse blocks that hold fewer entries than the largest itemsets have, and tables too large to be held."""
        if n_entries // self.pieces < itemset_size:
            raise PlanError(
                f"{n_entries} entries in {self.pieces} pieces leave {n_entries // self.pieces} in the smallest, but "
                f"itemsets have up to {itemset_size}; cut into fewer pieces"
            )
        if self.partitions * n_entries > MOST_CUT:
            raise PlanError(f"plan field partitions must be at most {MOST_CUT // n_entries} for so many entries")

    def members(self, block: int, n_entries: int) -> Ids:
        """Return the entries of a block in increasing order, which is that of their places."""
        partition, piece = divmod(block, self.pieces)
        keys = self._keys(partition, n_entries)
        # the least and the greatest key of the piece alone: a device has no need to sort a million of them
        ends = [-(-piece * n_entries // self.pieces), -(-(piece + 1) * n_entries // self.pieces) - 1]
        least, greatest = np.partition(keys, ends)[ends]
        return np.flatnonzero((keys >= least) & (keys <= greatest))

    def places(self, block: int, entries: list[int], n_entries: int) -> list[int]:
        """Return the places in a block of those of some entries, in increasing order, that lie in it."""
        members = self.members(block, n_entries)
        found = np.searchsorted(members, entries)
        inside = np.append(members, -1)[found] == entries
        places: list[int] = found[inside].tolist()
        return places

    def table(self, n_entries: int) -> BlockTable:
        """Return the piece and the place of every entry in every partition."""
        return _table(self, n_entries)

    def _keys(self, partition: int, n_entries: int) -> NDArray[np.uint32]:
        """Return the key of each entry in a partition."""
        start = _mixed(_mixed(np.array([self.seed], dtype=np.uint32)) + np.uint32(partition))
        return _mixed(_mixed(np.arange(n_entries, dtype=np.uint32)) ^ start)

    def _pieces(self, partition: int, n_entries: int) -> Ids:
        """Return the piece of each entry in a partition."""
        keys = self._keys(partition, n_entries)
        pieces = np.empty(n_entries, dtype=np.int64)
        pieces[np.argsort(keys)] = np.arange(n_entries) * self.pieces // n_entries
        return pieces

    def to_json(self) -> dict[str, int]:
        """Return the blocks as JSON content."""
        return {"partitions": self.partitions, "pieces": self.pieces, "seed": self.seed}

    @classmethod
    def from_json(cls, content: object) -> "Blocks":
        """Read what :meth:`to_json` wrote."""
        return cls(**check_fields(content, "blocks", {"partitions", "pieces", "seed"}))


def _mixed(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the finalizer of MurmurHash3 (Appleby 2011), fmix32, of 32-bit words."""
    words = (words ^ words >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    words = (words ^ words >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return words ^ words >> np.uint32(16)


@lru_cache(maxsize=4)
def _table(blocks: Blocks, n_entries: int) -> BlockTable:
    shape = blocks.partitions, n_entries
    starts = -(-np.arange(blocks.pieces + 1) * n_entries // blocks.pieces)
    in_piece = np.arange(n_entries) - np.repeat(starts[:-1], np.diff(starts))
    table = BlockTable(np.empty(shape, np.uint16), np.empty(shape, np.int32), np.empty(shape, np.int32), starts)
    for partition in range(blocks.partitions):
        table.pieces[partition] = blocks._pieces(partition, n_entries)
        table.entries[partition] = np.argsort(table.pieces[partition], kind="stable")
        table.places[partition, table.entries[partition]] = in_piece
    for array in table:
        array.setflags(write=False)
    return table


# ---- the view


@dataclass(frozen=True)
class View:
    """What a transaction is made of.

    Attributes:
        kind: ``items``, ``itemsets`` or ``sizes``.
        others: what becomes of names that lead neither to an entry's name nor to one left out: ``error`` or ``drop``.
        parents: taxonomy, (child, parent) sorted; no child twice, at most 64 ancestors each.
        left_out: names to drop, with all below them that meet no entry's name first; sorted, none an entry's name.
        itemsets: for ``itemsets``, the names of each catalogue entry, sorted.
        bounds: for ``sizes``, the least number of names of each catalogue entry, increasing from 0.
        counted: for ``sizes``, the names that count, sorted; if there are none given any name counts, as it stands.
        blocks: how the catalogue is cut into blocks, of which each report is about one; None where it is about all.

    Raises:
        PlanError: fields that contradict each other, or a taxonomy that goes in circles.

    >>> drinks = View(parents=(("beer", "drinks"), ("tea", "drinks"), ("tea bag", "tea")), left_out=("tea",))
    >>> [drinks.roll_up(name, {"drinks": 0}) for name in ("beer", "tea bag", "milk")]
    [0, -2, -1]
    """

    kind: str = "items"
    others: str = "error"
    parents: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    itemsets: tuple[tuple[str, ...], ...] = ()
    bounds: tuple[int, ...] = ()
    counted: tuple[str, ...] = ()
    blocks: Blocks | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise PlanError("plan field view must have the kind items, itemsets or sizes; a newer release may know it")
        if self.others not in ("error", "drop"):
            raise PlanError("plan field others must be 'error' or 'drop'")
        if (self.kind == "itemsets") != bool(self.itemsets) or (self.kind == "sizes") != bool(self.bounds):
            raise PlanError("a view of itemsets needs itemsets, one of sizes bounds, and no other view has them")
        if self.counted and (self.kind != "sizes" or not _are_sorted_names(self.counted)):
            raise PlanError("the names that count must be sorted and distinct, and belong to a view of sizes")
        if self.any_name and self.parents:
            raise PlanError("where any name counts as it stands there is nothing for a taxonomy to do; say what counts")
        if not _are_sorted_names(self.left_out):
            raise PlanError("the names that are left out must be sorted and distinct")
        self._check_parents()
        if not all(names and _are_sorted_names(names) for names in self.itemsets):
            raise PlanError("each itemset of a view must be a sorted list of distinct names")
        if len(set(self.itemsets)) != len(self.itemsets):
            raise PlanError("the itemsets of a view must be distinct")
        if self.bounds and (
            not all(type(bound) is int and 0 <= bound <= MAX_SIZE for bound in self.bounds)
            or self.bounds[0] != 0
            or not _is_rising(self.bounds)
        ):
            raise PlanError("the bounds of a view of sizes must be whole numbers that rise from 0")
        if self.blocks is not None and self.kind == "sizes":
            raise PlanError("a view of sizes has one entry of each basket, and nothing to cut into blocks")

    @cached_property
    def parent_of(self) -> dict[str, str]:
        """The taxonomy as a dictionary."""
        return dict(self.parents)

    @cached_property
    def _dropped(self) -> frozenset[str]:
        return frozenset(self.left_out)

    @property
    def is_plain(self) -> bool:
        """Whether the view does no more than look names up in the catalogue."""
        return self.kind == "items" and not self.parents and not self.left_out

    @property
    def any_name(self) -> bool:
        """Whether any name counts, as it stands."""
        return self.kind == "sizes" and not self.counted

    def __repr__(self) -> str:
        return (
            f"View({self.kind}, {len(self.parents):,} names with a parent, {len(self.left_out):,} left out, "
            f"others: {self.others})"
        )

    def _check_parents(self) -> None:
        if not _are_names(tuple(name for pair in self.parents for name in pair)):
            raise PlanError("a taxonomy must lead from names to names")
        if list(self.parents) != sorted(self.parent_of.items()):
            raise PlanError("a taxonomy must be sorted, and give each name one parent")
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
                    f"the taxonomy goes in circles, or above more than {MAX_ANCESTORS} ancestors; every name must lead "
                    "to a top"
                )

    def check_catalogue(self, catalogue: Catalogue) -> None:
        """Refuse a catalogue of another number of entries, or of names that are left out, or too many names in all."""
        entries = self.itemsets or self.bounds
        if entries and len(entries) != len(catalogue):
            raise PlanError(f"the view makes {len(entries)} entries, the catalogue names {len(catalogue)}")
        if self.kind != "itemsets" and not self.parents and not self.left_out:
            return
        vocabulary = self.vocabulary(catalogue)
        if len(vocabulary or ()) + len(self.parents) + len(self.left_out) > MAX_ITEMS:
            raise PlanError(
                "the names that entries are made of, those with a parent and those left out must be at most "
                f"{MAX_ITEMS} in all"
            )
        if vocabulary is not None and any(name in vocabulary.index_of for name in self.left_out):
            raise PlanError("a name that is left out must not be one that entries are made of")

    def vocabulary(self, catalogue: Catalogue) -> Catalogue | None:
        """Return the names that entries are made of; None where any name counts."""
        return catalogue if self.kind == "items" else self._own_vocabulary

    @cached_property
    def _own_vocabulary(self) -> Catalogue | None:
        names = self.counted or sorted({name for names in self.itemsets for name in names})
        return Catalogue(names) if names else None

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
        """Return the view as canonical JSON content."""
        return {
            "kind": self.kind,
            "others": self.others,
            "parents": self.parent_of,
            "left_out": list(self.left_out),
            **{name: [list(e) if type(e) is tuple else e for e in getattr(self, name)] for name in KINDS[self.kind]},
            **({} if self.blocks is None else {"blocks": self.blocks.to_json()}),
        }

    @classmethod
    def from_json(cls, content: object) -> "View":
        """Read what :meth:`to_json` wrote."""
        kind = content.get("kind") if isinstance(content, dict) else None
        own = KINDS.get(kind, ()) if isinstance(kind, str) else ()
        blocks = {"blocks"} if isinstance(content, dict) and "blocks" in content else set()
        fields = check_fields(content, "the view", {"kind", "others", "parents", "left_out", *own, *blocks})
        if not isinstance(fields["parents"], dict):
            raise PlanError("plan field parents must be an object, child to parent")
        read: dict[str, Any] = {"parents": tuple(sorted(fields["parents"].items()))}
        for name in ("left_out", *own):
            of_lists = name == "itemsets"
            if not isinstance(fields[name], list) or (of_lists and not all(type(e) is list for e in fields[name])):
                raise PlanError(f"plan field {_LISTS[name]}")
            read[name] = tuple(tuple(e) if of_lists else e for e in fields[name])
        if blocks:
            read["blocks"] = Blocks.from_json(fields["blocks"])
        return cls(**fields | read)


def _is_rising(values: tuple[Any, ...]) -> bool:
    return all(low < high for low, high in pairwise(values))


def _are_sorted_names(names: tuple[Any, ...]) -> bool:
    return _are_names(names) and _is_rising(names)


def _are_names(names: tuple[Any, ...]) -> bool:
    """Tell whether all are names as a catalogue takes them, and no more than it takes."""
    if not names:
        return True
    if not all(type(name) is str for name in names):
        return False
    try:
        Catalogue(set(names))
    except PlanError:  # its text counts places in a set
        return False
    return True
