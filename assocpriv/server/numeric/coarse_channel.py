"""A column's channel on grids coarse enough to compute with, whatever the plan's.

Cost must not grow with a plan's cells: neighbouring intervals are merged until there are few enough, and neighbouring
codes into bins, where noise is wide against a bin in any case. Neither makes an estimate wrong, for the chances of the
bins follow exactly from those of the codes; what is lost is where within a bin a report lay.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import Column, NumberColumn, transition

MOST_INTERVALS = 100  # AS00, section 3.2
_SAME = 1e-12
MOST_BINS = 600  # against all codes, least squares lose 2 to 4% in the distribution function, at 200 up to the double
FEW_BINS = 200  # smooth estimates lose at most 0.5% by them: 10 to 100% privacy, square waves of ε 0.5 to 4


@dataclass(frozen=True, eq=False, slots=True)
class CoarseChannel:
    """What a column's release does to its distribution.

    ``matrix`` is P(bin | interval or value), float64 (bins, inputs), a missing value being the last input where there
    may be one; ``bin_of`` the bin of each code, int64 (codes,), increasing; ``edges`` those of the intervals, float64
    (intervals + 1,), None for named values; ``group`` how many of the plan's intervals make up one, but for the last.
    """

    column: Column
    matrix: NDArray[np.float64]
    bin_of: NDArray[np.int64]
    edges: NDArray[np.float64] | None
    group: int

    @property
    def n_values(self) -> int:
        """Number of intervals or values: all inputs but that of a missing value."""
        return int(self.matrix.shape[1]) - self.column.optional

    @property
    def ordered(self) -> int:
        """Number of inputs that lie in a row: the intervals of a number."""
        return 0 if self.edges is None else self.n_values

    @property
    def places(self) -> "NDArray[np.float64] | tuple[str, ...]":
        """The edges of the intervals, or the named values."""
        return self.column.values if self.edges is None else self.edges  # type: ignore[attr-defined]

    @property
    def known_edges(self) -> NDArray[np.bool_]:
        """Edges that the channel does not blot out, bool (intervals + 1,): all but those within a class of values."""
        inner = (np.abs(np.diff(self.matrix[:, : self.ordered], axis=1)) > _SAME).any(axis=0)
        return np.concatenate([[True], inner, [True]])

    def merged(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return shares of the plan's intervals as those of the merged ones."""
        if self.group == 1:
            return shares
        row = len(shares) - self.column.optional
        joined = np.add.reduceat(shares[:row], np.arange(0, row, self.group))
        return np.concatenate([joined, shares[row:]])

    def bin_counts(self, counts: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return counts of codes, (codes, …), as counts of bins."""
        starts = np.flatnonzero(np.diff(self.bin_of, prepend=-1))
        return np.add.reduceat(np.asarray(counts, dtype=np.float64), starts, axis=0)

    def joined(self, counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return counts of bins, (bins,), and the matrix, with neighbours joined to about as many as FEW_BINS.

        A missing value's bin stays apart.
        """
        row = len(counts) - self.column.optional
        starts = np.array([*range(0, row, -(-row // FEW_BINS)), *[row] * self.column.optional])
        return np.add.reduceat(counts, starts), np.add.reduceat(self.matrix, starts, axis=0)


def coarse_channel(column: Column, most_intervals: int = MOST_INTERVALS, most_bins: int = MOST_BINS) -> CoarseChannel:
    """Return a column's channel on at most so many intervals and about so many bins."""
    fine = transition(column)
    if not isinstance(column, NumberColumn):
        return CoarseChannel(column, fine, np.arange(column.codes), None, 1)
    group = -(-column.intervals // most_intervals)
    width = -(-column.law.outputs // most_bins)
    starts = np.arange(0, column.intervals, group)
    sizes = np.diff(starts, append=column.intervals)
    merged = np.add.reduceat(fine[:, : column.intervals], starts, axis=1) / sizes
    bin_of = np.arange(column.codes) // width
    if column.optional:
        merged = np.concatenate([merged, fine[:, -1:]], axis=1)
        bin_of[-1] = bin_of[-2] + 1
    matrix = np.add.reduceat(merged, np.flatnonzero(np.diff(bin_of, prepend=-1)), axis=0)
    edges = np.append(column.interval_edges[starts], column.interval_edges[-1])
    return CoarseChannel(column, matrix, bin_of, edges, group)
