"""Which reports are counted, and how many of them at a time.

All reports count, or the 3 of every ten that choose itemsets, or the 7 that test them (itemsets/sample_splitting.py).
Which 3 is a fixed pseudo-random function of their position: it follows no order that reports may have been kept in, and
the same files in the same order are always split alike.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.parallel import cores
from assocpriv.plans.baskets import Plan
from assocpriv.plans.view import NUMBER_BYTES

SELECTING, OUT_OF = 3, 10
Progress = Callable[[str, int, int], None]
LEAST_PART = 1 << 12
_MOST_PART = 1 << 17  # reports; long enough a task for handing it to a thread to cost nothing


class Part(Enum):
    """The reports to count in."""

    WHOLE = "whole"
    SELECTING = "selecting"
    TESTING = "testing"


class Packed(Protocol):
    """Packed reports of one plan, as :class:`assocpriv.files.reports.Reports` holds them, or some of those."""

    @property
    def plan(self) -> Plan:
        """The plan all of them were made with."""

    def __len__(self) -> int: ...

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports as uint8 arrays of shape (≤ size, report_bytes)."""


@dataclass(frozen=True, slots=True)
class ReportPart:
    """The reports that choose, or those that test: a view that holds none itself; ``first`` is the first's position."""

    reports: Packed
    selecting: bool
    first: int = 0

    @property
    def plan(self) -> Plan:
        """The plan of the reports."""
        return self.reports.plan

    def __len__(self) -> int:
        selecting = n_choosing(self.first + len(self.reports)) - n_choosing(self.first)
        return selecting if self.selecting else len(self.reports) - selecting

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports of this part as uint8 arrays of shape (≤ size, report_bytes)."""
        done = self.first
        for batch in self.reports.batches(size):
            mine = batch[choosing(done, len(batch)) == self.selecting]
            done += len(batch)
            if len(mine):
                yield mine


@dataclass(frozen=True, slots=True)
class BlockItems:
    """What reports of a plan with blocks say of a block's items, whichever it is: a view that holds none itself."""

    reports: Packed

    @property
    def plan(self) -> Plan:
        """The plan of what is reported of one block."""
        return self.reports.plan.block_plan

    def __len__(self) -> int:
        return len(self.reports)

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports without their blocks' numbers, uint8 of shape (≤ size, bytes)."""
        for packed in self.reports.batches(size):
            yield np.ascontiguousarray(packed[:, NUMBER_BYTES:])


def n_choosing(count: int) -> int:
    """Return how many of the first ``count`` reports choose."""
    whole, rest = divmod(count, OUT_OF)
    return whole * SELECTING + int(choosing(whole * OUT_OF, rest).sum())


def choosing(first: int, count: int) -> NDArray[np.bool_]:
    """Tell which of ``count`` reports from position ``first`` on choose: three neighbours of each ten, in a circle.

    Where they begin is a hash of the ten's number (the finalizer of SplitMix64: Steele, Lea, Flood, OOPSLA 2014).

    >>> [int(choosing(10 * ten, 10).sum()) for ten in range(4)]
    [3, 3, 3, 3]
    """
    ten, place = np.divmod(np.arange(first, first + count, dtype=np.uint64), np.uint64(OUT_OF))
    mixed = (ten + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    turned = (place + (mixed ^ mixed >> np.uint64(31)) % np.uint64(OUT_OF)) % np.uint64(OUT_OF)
    chosen: NDArray[np.bool_] = turned < SELECTING
    return chosen


def part_size(n_total: int, n_rows: int, memory_bytes: int) -> int:
    """Return how many of ``n_total`` transactions to take at a time.

    Few enough for every core to have some, and for ``n_rows`` bitmaps of those at work to take a quarter of the memory.
    """
    fitting = memory_bytes // (8 * cores()) * 8 // max(n_rows, 1)  # a part waits while one is counted
    wanted = min(_MOST_PART, fitting, n_total // (2 * cores()))
    return max(1, wanted // LEAST_PART) * LEAST_PART
