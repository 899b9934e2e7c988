"""The suppression of fewest cells with which all bounds hold, by branch and bound over the values.

A leaf that violates a bound looks the same, and goes on to violate it, unless one of its values is suppressed, or, in a
column that it shows as suppressed, another value of that column. So every solution suppresses one of these: the search
branches on them, and the cheapest of each of several disjoint sets of this kind add up to a bound from below. A value
that is suppressed alone in its column hides nothing, so another one of its column goes with it. What the search does
not suppress it keeps, and what cannot be disclosed beside that is suppressed as well (corollary 3.1). Nodes are taken
in the order of their bounds, so the first that violates nothing is the best there is; and when the search ends before,
the bound of the node that would come next says how few cells it could be.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assocpriv.owner.suppression.coded import CodedTable
from assocpriv.owner.suppression.disclosure import MARK, Progress, Search, Suppression, check_columns, result_of
from assocpriv.owner.suppression.templates import Bound

_ROWS = 4_000_000  # distinct records that are looked at before the search ends: seconds
_FEWEST, _MOST = 50, 4_000  # nodes
_MOST_LEAVES = 200  # a channel's violations that are looked at in a node

Values = frozenset[int]


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


class _Branches:
    """The search: what must be suppressed below a node, and how many cells that are at least."""

    def __init__(self, search: Search) -> None:
        self.channels, self.spans = search.channels, search.candidates.spans
        self.weights: list[int] = search.candidates.counts.sum(1).tolist()
        self.column_of = [span for span in self.spans.values() for _ in range(*span)]
        rows = sum(channel.codes.shape[1] for channel in self.channels)
        self.most_nodes = min(max(_ROWS // rows, _FEWEST), _MOST)

    def least(self, report: Progress) -> tuple[Values, int]:
        """Return the best set of values to suppress, and a number of cells that no solution is below."""
        best = self._greedy()
        most = self._cells(best)
        nodes: list[tuple[int, int, Values, Values, tuple[int, ...] | None]] = [(0, 0, Values(), Values(), None)]
        added = visited = 0
        while nodes and nodes[0][0] < most and visited < self.most_nodes:
            least, _, hidden, kept, options = heapq.heappop(nodes)
            if options is None:
                visited += 1
                report(visited, self.most_nodes)
                hidden = hidden | self._forced(kept)
                musts = self._musts(hidden, kept)
                if musts is None:
                    continue
                if not musts:
                    best = min(best, hidden, key=self._cells)
                    most = self._cells(best)
                    continue
                options = min(musts, key=lambda each: (len(each), -self.weights[each[0]], each))
                certain = self._cells(hidden) + self._packing(musts)
                if certain > least:  # others may be more promising now
                    added += 1
                    heapq.heappush(nodes, (certain, added, hidden, kept, options))
                    continue
            for place, value in enumerate(options):
                child, certain = hidden | {value}, self._cells(hidden) + self.weights[value]
                added += 1
                node = (max(least, certain), added, child, kept | set(options[:place]), None)
                heapq.heappush(nodes, node)
        report(self.most_nodes, self.most_nodes)
        return best, min(most, nodes[0][0]) if nodes else most

    def _cells(self, values: Values) -> int:
        return sum(self.weights[value] for value in values)

    def _greedy(self) -> Values:
        """Disclose all values that may be, those of most cells first: nothing that is left could be disclosed."""
        shown = np.zeros(len(self.weights), dtype=bool)
        for value in sorted(range(len(self.weights)), key=lambda each: (-self.weights[each], each)):
            shown[value] = True
            shown[value] = not any(len(channel.violating_rows(shown)) for channel in self.channels)
        return Values(np.flatnonzero(~shown).tolist())

    def _forced(self, kept: Values) -> Values:
        """Return the values that cannot be disclosed beside those that a node keeps: nor can they below it."""
        shown = np.zeros(len(self.weights), dtype=bool)
        shown[list(kept)] = True
        invalid = np.any([channel.invalid(shown, self.spans) for channel in self.channels], axis=0)
        return Values(np.flatnonzero(invalid).tolist()) - kept

    def _musts(self, hidden: Values, kept: Values) -> list[tuple[int, ...]] | None:
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
        musts = [tuple(sorted(each - kept, key=lambda value: (self.weights[value], value))) for each in found]
        return None if () in musts else musts

    def _packing(self, musts: list[tuple[int, ...]]) -> int:
        """Return a number of cells that must still be suppressed: the cheapest of each of several disjoint sets."""
        taken: set[int] = set()
        cells = 0
        for options in sorted(musts, key=lambda each: (-self.weights[each[0]], each)):
            if taken.isdisjoint(options):
                taken.update(options)
                cells += self.weights[options[0]]
        return cells
