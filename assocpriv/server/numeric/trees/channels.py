"""What trees know of a column: its positions (intervals or values), and how a released code speaks of them.

A *position* is an interval of numbers or a value of a category, counted from 0; NaN stands for a missing value. Splits
lie between positions, so edges of intervals are all the thresholds that a tree can have.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import CategoryColumn, Clear, NumberColumn, Window, transition
from assocpriv.plans.tables import TablePlan
from assocpriv.plans.tree_model import CategoryInput, Input, NumberInput
from assocpriv.server.numeric.released import release_grid


@dataclass(frozen=True, eq=False)
class Channel:
    """A column as trees see it.

    ``edges`` are those of its intervals, float64 (positions + 1,); None for a category. ``positions`` gives the
    position of a code taken at its word, int64 (codes,); what it says of missing and unasked codes is not looked at.
    ``matrix`` is P(code | position), float64 (codes, positions, and one more for a missing value if there may be one);
    None where codes can be taken at their word. ``is_wave`` tells a square wave, which is reconstructed with smoothing.
    ``ranks``, of a category, is where each value stands in the order that a tree splits by, float32 (positions,).
    """

    column: Input
    edges: NDArray[np.float64] | None
    positions: NDArray[np.int64]
    matrix: NDArray[np.float64] | None = None
    missing_code: int | None = None
    unasked_code: int | None = None
    is_wave: bool = False
    ranks: NDArray[np.float32] | None = None

    @property
    def n_positions(self) -> int:
        """Number of intervals or values."""
        if self.edges is not None:
            return len(self.edges) - 1
        assert isinstance(self.column, CategoryInput)
        return len(self.column.values)


def channel_of(plan: TablePlan, place: int, *, corrected: bool = True) -> Channel:
    """Return the channel of a plan's column; without correction every released code is taken at its word.

    A code beyond the range then has an interval there, of the same width.
    """
    column = plan.columns[place]
    missing, unasked = column.missing_code, plan.unasked_code(place)
    if isinstance(column, CategoryColumn):
        noisy = corrected and isinstance(column.law, Window)
        matrix = transition(column) if noisy else None
        values = CategoryInput(column.name, column.values, column.optional)
        return Channel(values, None, np.arange(column.codes), matrix, missing, unasked)
    assert isinstance(column, NumberColumn)
    told = NumberInput(column.name, float(column.low), float(column.high), column.optional)
    if isinstance(column.law, Clear):
        return Channel(told, *_classes(column, column.law), None, missing, unasked)
    if corrected:
        wave = isinstance(column.law, Window)
        positions = np.zeros(column.codes, dtype=np.int64)
        return Channel(told, column.interval_edges, positions, transition(column), missing, unasked, wave)
    return Channel(told, *_extended(column), None, missing, unasked)


def _classes(column: NumberColumn, law: Clear) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the edges and the positions of codes that are cells or classes: intervals where these hold whole ones."""
    cells = column.inputs // column.intervals
    codes = np.arange(column.codes)
    if cells % law.width == 0:
        return column.interval_edges, codes * law.width // cells
    return column.edges[:: law.width], codes


def _extended(column: NumberColumn) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    cells = column.inputs // column.intervals
    width, first = release_grid(column)
    intervals = (np.arange(column.codes) + int(first / width)) // cells
    lowest, highest = int(intervals[0]), int(intervals[-1])
    edges = [float(column.low + step * width * cells) for step in range(lowest, highest + 2)]
    return np.array(edges), intervals - lowest
