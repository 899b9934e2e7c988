"""Public random blocks: the catalogue cut into pieces, of which a report is about one.

A person's report is about the entries of one block alone, drawn by the device and named in clear: fewer of a basket's
entries compete for the M that a report is made of, and what this loses is people, which is known exactly. Blocks are
published with the plan and follow from no data, so that γ stays that of one report.

The n entries are cut R times, each time at random into g pieces of ⌊n/g⌋ or ⌈n/g⌉. Block b = p·g + j is piece j of
partition p. With f the finalizer of MurmurHash3, a bijection of 32-bit words, entry i has in partition p the key

    f(f(i) xor f(f(s) + p)),

s being the seed. Of n entries sorted by their keys that of rank r lies in piece ⌊r·g/n⌋.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.published import check_fields, check_integer
from assocpriv.promise.errors import PlanError

NUMBER_BYTES = 2  # of a report, which say its block
MOST_BLOCKS = 1 << 8 * NUMBER_BYTES
MOST_CUT = 1 << 24  # partitions · entries: who reads every block holds a table of so many
Ids = NDArray[np.int64]


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
