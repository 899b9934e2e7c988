"""The suppression of fewest cells with which all bounds hold, by branch and bound over the values.

A leaf that violates a bound looks the same, and goes on to violate it, unless one of its values is suppressed, or, in a
column that it shows as suppressed, another value of that column. So every solution suppresses one of these: the search
branches on them, and the cheapest of each of several disjoint sets of this kind add up to a bound from below. A value
that is suppressed alone in its column hides nothing, so another one of its column goes with it. What the search does
not suppress it keeps, and what cannot be disclosed beside that is suppressed as well (corollary 3.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assocpriv.owner.suppression.branches import Branches, Musts, Values
from assocpriv.owner.suppression.coded import CodedTable
from assocpriv.owner.suppression.disclosure import MARK, Progress, Search, Suppression, check_columns, result_of
from assocpriv.owner.suppression.templates import Bound

_ROWS = 4_000_000  # distinct records that are looked at before the search ends: seconds
_FEWEST, _MOST = 50, 4_000  # nodes
_MOST_LEAVES = 200  # a channel's violations that are looked at in a node


@dataclass(frozen=True, slots=True)
class LeastSuppression:
    """A suppression of few cells, and how few any suppression has that meets the bounds."""

    suppression: Suppression
    least_cells: int

    @property
    def cells(self) -> int:
        """The number of cells suppressed."""
        return sum(self.suppression.cells.values())

    @property
    def is_least(self) -> bool:
        """Whether no suppression has fewer cells; otherwise the search ended before it could tell."""
        return self.cells == self.least_cells


def suppress_least(
    table: CodedTable,
    bounds: Sequence[Bound],
    class_column: str | None,
    *,
    mark: str = MARK,
    progress: Progress | None = None,
) -> LeastSuppression:
    """Return the suppression of fewest cells with which all bounds hold.

    The search ends after a number of steps that depends on the table alone, a matter of seconds; then the best
    suppression so far comes back, with the least number of cells that could do. The class is not looked at, but for the
    information kept.

    Args and Raises:
        As of :func:`~assocpriv.owner.suppression.disclosure.disclose`.
    """
    check_columns(table, bounds, class_column)
    search = Search(table, bounds, class_column)
    hidden, least = _Branches(search).least(progress or (lambda _done, _total: None))
    shown = (value for value in range(len(search.candidates.values)) if value not in hidden)
    steps = tuple(search.disclose(value) for value in shown)
    return LeastSuppression(result_of(search, bounds, steps, mark), least)


class _Branches(Branches):
    """The search: what must be suppressed below a node, and how many cells that are at least."""

    def __init__(self, search: Search) -> None:
        self.channels, self.spans = search.channels, search.candidates.spans
        self.column_of = [span for span in self.spans.values() for _ in range(*span)]
        rows = sum(channel.codes.shape[1] for channel in self.channels)
        super().__init__(search.candidates.counts.sum(1).tolist(), min(max(_ROWS // rows, _FEWEST), _MOST))

    def completed(self, shown: Values) -> Values:
        """Disclose all values that may be, those of most cells first: nothing that is left could be disclosed."""
        flags = np.zeros(len(self.weights), dtype=bool)
        flags[list(shown)] = True
        for value in sorted(np.flatnonzero(~flags).tolist(), key=lambda each: (-self.weights[each], each)):
            flags[value] = True
            flags[value] = not any(len(channel.violating_rows(flags)) for channel in self.channels)
        return Values(np.flatnonzero(~flags).tolist())

    def forced(self, kept: Values) -> Values:
        """Return the values that cannot be disclosed beside those that a node keeps: nor can they below it."""
        shown = np.zeros(len(self.weights), dtype=bool)
        shown[list(kept)] = True
        invalid = np.any([channel.invalid(shown, self.spans) for channel in self.channels], axis=0)
        return Values(np.flatnonzero(invalid).tolist()) - kept

    def musts(self, hidden: Values, kept: Values) -> Musts | None:
        """Return sets of values of each of which one must be suppressed, cheapest first; None if some set is empty."""
        shown = np.ones(len(self.weights), dtype=bool)
        shown[list(hidden)] = False
        found = set()
        for low, high in self.spans.values():
            if np.count_nonzero(shown[low:high]) == high - low - 1:
                found.add(Values(range(low, high)) - hidden)
        for channel in self.channels:
            for row in channel.violating_rows(shown)[:_MOST_LEAVES].tolist():
                values = channel.codes[:, row].tolist()
                others = (range(*self.column_of[each]) for each in values if not shown[each])
                found.add(Values(each for each in values if shown[each]).union(*others) - hidden)
        musts = [self.cheapest(each - kept) for each in found]
        return None if () in musts else musts
