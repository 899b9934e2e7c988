"""What reports of known records show, beside the plan's laws: each column's codes, pairs, who is asked, and repeats.

Every test is a count of reports beside its exact chance; its p-value is twice the smaller tail of the binomial law. A
law's p-value is the least of its tests' times their number (Bonferroni), so that a client that follows the plan is not
called broken with more than the chance stated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.laws import Events, joint_p_value
from assocpriv.auditing.recompute.table_text import ColumnNumbers, TableNumbers

_TAILS = (1e-4, 1e-3, 1e-2)  # clipped noise shows there
_CELLS = np.array([*_TAILS, *(np.arange(1, 32) / 32), *(1 - tail for tail in reversed(_TAILS))])  # ends, of chances
_COARSE = np.array([1 / 3, 2 / 3])  # the same, of a column beside another
_MOST_PAIRS = 300


@dataclass(frozen=True, slots=True)
class TableLaw:
    """One law: its name, what was compared, and the p-value of all its tests together."""

    name: str
    what: str
    tests: int
    p_value: float


Codes = NDArray[np.int64]  # (reports, columns)


def cells_of(column: ColumnNumbers, value: int, ends: NDArray[np.float64]) -> tuple[Codes, NDArray[np.float64]]:
    """Cut a column's codes into cells, by the chance of all codes before: each code's cell, and the cells' chances.

    Codes that the input cannot have are in the last cell, of chance 0.
    """
    chances = np.zeros(column.codes)
    for code, weight in column.runs(value):
        chances[code] = weight / column.total
    cells = np.searchsorted(ends, np.cumsum(chances) - chances / 2)
    cells = np.unique(cells, return_inverse=True)[1]
    cells[chances == 0] = cells.max() + 1
    added = np.zeros(int(cells.max()) + 1)
    np.add.at(added, cells, chances)
    return cells, added


def column_events(codes: Codes, row: NDArray[np.int32], table: TableNumbers) -> Events:
    """Return how often each column of a record that was asked shows codes of each cell."""
    parts = []
    for place, column in enumerate(table.columns):
        mine = codes[codes[:, place] < column.codes, place]
        cells, chances = cells_of(column, int(row[place]), _CELLS)
        counts = np.bincount(cells[mine], minlength=len(chances))
        parts.append(Events.of(counts, len(mine), np.minimum(chances, 1.0)))
    return Events.joined(parts)


def pair_events(codes: Codes, row: NDArray[np.int32], table: TableNumbers) -> Events:
    """Return how often two columns that were both asked show codes of each two cells: they are independent."""
    drawing = [place for place, column in enumerate(table.columns) if column.draws]
    parts = []
    for one, other in list(combinations(drawing, 2))[:_MOST_PAIRS]:
        first, second = table.columns[one], table.columns[other]
        both = codes[(codes[:, one] < first.codes) & (codes[:, other] < second.codes)]
        cells, chances = cells_of(first, int(row[one]), _COARSE)
        further, theirs = cells_of(second, int(row[other]), _COARSE)
        wanted = np.outer(chances, theirs)
        seen = np.bincount(cells[both[:, one]] * len(theirs) + further[both[:, other]], minlength=wanted.size)
        parts.append(Events.of(seen, len(both), np.minimum(wanted, 1.0)))
    return Events.joined(parts)


def asked_events(codes: Codes, table: TableNumbers) -> Events:
    """Return how often each protected column, and each two, were asked: as a uniform choice says, for every record."""
    if not table.is_sampled:
        return Events.joined([])
    m, k, n = len(table.asked), table.answered, len(codes)
    shown = {place: codes[:, place] < table.columns[place].codes for place in table.asked}
    parts = [Events.of([int((np.sum(list(shown.values()), axis=0) == k).sum())], n, 1.0)]
    parts += [Events.of([int(each.sum())], n, k / m) for each in shown.values()]
    together = k * (k - 1) / (m * (m - 1))
    for one, other in list(combinations(table.asked, 2))[:_MOST_PAIRS]:
        parts.append(Events.of([int((shown[one] & shown[other]).sum())], n, together))
    return Events.joined(parts)


def equal_chance(row: NDArray[np.int32], table: TableNumbers) -> float:
    """Return the chance that two reports of a record are equal, at most: of those columns that every report answers."""
    chance = 1.0
    for place, column in enumerate(table.columns):
        if not (table.is_sampled and place in table.asked):
            chance *= sum((weight / column.total) ** 2 for _, weight in column.runs(int(row[place])))
    if table.is_sampled:
        chance *= max(_asked_squares(row, table), 0.0)
    return min(1.0, chance)


def _asked_squares(row: NDArray[np.int32], table: TableNumbers) -> float:
    """Return the chance that two reports are equal in all columns of which each answers k, exactly.

    Both must have answered the same k: the sum over these of the products of the columns' chances, over the square of
    how many there are; the sum is an elementary symmetric polynomial.
    """
    polynomial = np.zeros(table.answered + 1)
    polynomial[0] = 1.0
    ways = np.zeros(table.answered + 1)
    ways[0] = 1.0
    for place in table.asked:
        column = table.columns[place]
        square = sum((weight / column.total) ** 2 for _, weight in column.runs(int(row[place])))
        polynomial[1:] += square * polynomial[:-1]
        ways[1:] += ways[:-1]
    return float(polynomial[-1] / ways[-1] ** 2)


def repeat_events(first: NDArray[np.uint8], second: NDArray[np.uint8], chance: float) -> Events:
    """Return how often reports of one record, uint8 (n, bytes), equal those at the same place of another run."""
    n = min(len(first), len(second))
    return Events.of([int((first[:n] == second[:n]).all(axis=1).sum())], n, chance)


def laws(seen: dict[str, list[Events]]) -> Iterator[TableLaw]:
    """Yield the laws, by name, of the events that belong to each."""
    for name, parts in seen.items():
        events = Events.joined(parts)
        p_values = two_sided(events)
        yield TableLaw(name, WHAT[name], len(p_values), joint_p_value(p_values))


def two_sided(events: Events) -> NDArray[np.float64]:
    """Return two-sided p-values; what must never, or always, happen is judged by that alone."""
    values: NDArray[Any] = events.p_values()
    sure = (events.probability <= 0) | (events.probability >= 1)
    right = events.count == np.where(events.probability >= 1, events.trials, 0)
    return np.asarray(np.where(sure, right.astype(np.float64), values)[events.trials > 0])


WHAT = {
    "columns": "how often each column shows each value, for each record asked about",
    "pairs": "how often two columns show each two values: their noise is independent",
    "asked": "which columns reports leave out",
    "repeats": "how often a record's reports repeat, one after the other and from one run to the next",
}
