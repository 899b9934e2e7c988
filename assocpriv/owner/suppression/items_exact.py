"""The fewest places that items must be dropped from, by branch and bound over the items.

A bound that is violated goes on to be unless one of the items that it names is dropped, and what is violated with some
items shown is violated with more (WFY05, corollary 3.1).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assocpriv.owner.suppression.branches import Branches, Musts, Values

_CHECKS = 2_000_000  # of a bound, before the search ends: seconds
_FEWEST, _MOST = 50, 20_000  # nodes


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """A bound: the numbers of its items that may be dropped, and whether it holds when some are shown."""

    items: Values
    holds: Callable[[Values], bool]


def least_items(weights: Sequence[int], demands: Sequence[Demand]) -> tuple[Values, int]:
    """Return numbers of items to drop so that all demands hold, and a total weight that no such set is below.

    The second is the weight of the first if the search came to its end; all demands hold with every item dropped.
    """
    return _ItemBranches(weights, demands).least(lambda _done, _total: None)


class _ItemBranches(Branches):
    def __init__(self, weights: Sequence[int], demands: Sequence[Demand]) -> None:
        checks = sum(len(demand.items) + 1 for demand in demands)
        super().__init__(weights, min(max(_CHECKS // checks, _FEWEST), _MOST))
        self._demands = demands
        self._known: dict[tuple[Demand, Values], bool] = {}
        self._every = Values(range(len(self.weights)))
        self._of = [[demand for demand in demands if value in demand.items] for value in range(len(self.weights))]

    def _holds(self, demand: Demand, shown: Values) -> bool:
        key = (demand, shown & demand.items)  # no other item matters
        if key not in self._known:
            self._known[key] = demand.holds(key[1])
        return self._known[key]

    def _may_join(self, value: int, shown: Values) -> bool:
        more = shown | {value}
        return all(self._holds(demand, more) for demand in self._of[value])

    def completed(self, shown: Values) -> Values:
        for value in reversed(self.cheapest(self._every - shown)):
            if self._may_join(value, shown):
                shown |= {value}
        return self._every - shown

    def forced(self, kept: Values) -> Values:
        return Values(value for value in self._every - kept if not self._may_join(value, kept))

    def musts(self, hidden: Values, kept: Values) -> Musts | None:
        shown = self._every - hidden
        found = {demand.items - hidden - kept for demand in self._demands if not self._holds(demand, shown)}
        return None if Values() in found else [self.cheapest(each) for each in found]
