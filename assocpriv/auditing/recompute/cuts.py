"""How a plan's blocks cut its catalogue, by docs/formats/plan.md alone, one entry at a time."""

from dataclasses import dataclass
from functools import lru_cache

MOST_BLOCKS, MOST_CUT = 1 << 16, 1 << 24
NUMBER_BYTES = 2  # of a block's number, in a report


def mixed(word: int) -> int:
    """Return the finalizer of MurmurHash3 of a 32-bit word.

    >>> mixed(1)
    1364076727
    """
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        word = (word ^ word >> shift) * factor & 0xFFFFFFFF
    return word ^ word >> 16


@dataclass(frozen=True, slots=True)
class Cuts:
    """A catalogue of so many entries, cut R times into g pieces by a seed."""

    entries: int
    partitions: int
    pieces: int
    seed: int

    @property
    def count(self) -> int:
        """Number of blocks."""
        return self.partitions * self.pieces

    @property
    def longest(self) -> int:
        """How many entries the longest blocks hold."""
        return (self.entries + self.pieces - 1) // self.pieces

    def members(self, block: int) -> list[int]:
        """Return the entries of a block, in increasing order.

        >>> Cuts(10, 2, 3, 0).members(4)
        [3, 4, 5]
        """
        return _partition(self, block // self.pieces)[block % self.pieces]


@lru_cache(maxsize=8)
def _partition(cuts: Cuts, number: int) -> list[list[int]]:
    """Return the pieces of one partition."""
    start = mixed(mixed(cuts.seed) + number & 0xFFFFFFFF)
    keys = [mixed(mixed(entry) ^ start) for entry in range(cuts.entries)]
    pieces: list[list[int]] = [[] for _ in range(cuts.pieces)]
    for rank, entry in enumerate(sorted(range(cuts.entries), key=keys.__getitem__)):
        pieces[rank * cuts.pieces // cuts.entries].append(entry)
    return [sorted(piece) for piece in pieces]
