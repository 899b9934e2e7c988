"""Branch and bound for the fewest cells to suppress: values with weights, of which certain sets must each lose one.

A node suppresses some values and keeps others. Nodes are taken in the order of their bounds, so the first that violates
nothing is the best there is; and when the search ends before, the bound of the node that would come next says how few
cells it could be.
"""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

Values = frozenset[int]
Musts = list[tuple[int, ...]]


class Branches(ABC):
    """The search; what must be suppressed below a node is up to those who know the bounds."""

    def __init__(self, weights: Sequence[int], most_nodes: int) -> None:
        self.weights, self.most_nodes = list(weights), most_nodes

    @abstractmethod
    def completed(self, shown: Values) -> Values:
        """Show all else that may be, those of most cells first; return what is hidden, so that nothing of it may be."""

    @abstractmethod
    def forced(self, kept: Values) -> Values:
        """Return values that cannot be shown beside those that a node keeps: nor can they below it."""

    @abstractmethod
    def musts(self, hidden: Values, kept: Values) -> Musts | None:
        """Return sets of values of each of which one must be suppressed, :meth:`cheapest` first; None if one is empty.

        No sets if nothing is violated with the hidden ones suppressed.
        """

    def least(self, report: Callable[[int, int], None]) -> tuple[Values, int]:
        """Return the best set of values to suppress, and a number of cells that no solution is below."""
        best, every = self.completed(Values()), Values(range(len(self.weights)))
        most = self.cells(best)
        nodes: list[tuple[int, int, Values, Values, tuple[int, ...] | None]] = [(0, 0, Values(), Values(), None)]
        added = visited = 0
        while nodes and nodes[0][0] < most and visited < self.most_nodes:
            least, _, hidden, kept, options = heapq.heappop(nodes)
            if options is None:
                visited += 1
                report(visited, self.most_nodes)
                hidden = hidden | self.forced(kept)
                musts = self.musts(hidden, kept)
                if musts is None:
                    continue
                if not musts:
                    best = min(best, self.completed(every - hidden), key=self.cells)
                    most = self.cells(best)
                    continue
                options = min(musts, key=lambda each: (len(each), -self.weights[each[0]], each))
                certain = self.cells(hidden) + self._packing(musts)
                if certain > least:  # others may be more promising now
                    added += 1
                    heapq.heappush(nodes, (certain, added, hidden, kept, options))
                    continue
            for place, value in enumerate(options):
                child, certain = hidden | {value}, self.cells(hidden) + self.weights[value]
                added += 1
                node = (max(least, certain), added, child, kept | set(options[:place]), None)
                heapq.heappush(nodes, node)
        report(self.most_nodes, self.most_nodes)
        return best, min(most, nodes[0][0]) if nodes else most

    def cells(self, values: Values) -> int:
        """Return how many cells a set of values has."""
        return sum(self.weights[value] for value in values)

    def cheapest(self, values: Values) -> tuple[int, ...]:
        """Return values by weight."""
        return tuple(sorted(values, key=lambda value: (self.weights[value], value)))

    def _packing(self, musts: Musts) -> int:
        """Return a number of cells that must still be suppressed: the cheapest of each of several disjoint sets."""
        taken: set[int] = set()
        cells = 0
        for options in sorted(musts, key=lambda each: (-self.weights[each[0]], each)):
            if taken.isdisjoint(options):
                taken.update(options)
                cells += self.weights[options[0]]
        return cells
