"""Filters and orders of the rows to show, with some rows of every itemset size where not all are shown.

Filters apply to the finished table and change none of its statements. The share of false rows holds among *all*
selected rows; among those that a filter leaves it can be larger.

A rule A → C is redundant where a rule A' → C with fewer of its antecedent's items has at least its confidence: its
improvement, the least of conf(A → C) − conf(A' → C), is not above 0. A' may be empty: conf(∅ → C) is the support of C.
All are estimates, so of rules that differ by less than their errors, which one is pruned is partly chance.

Source: Bayardo, Agrawal, Gunopulos, Constraint-based rule mining in large, dense databases, ICDE 1999, section 2.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import sort_key

if TYPE_CHECKING:
    from assocpriv.files.itemset_files import LightFrame
    from assocpriv.plans.published_plan import PublishedPlan

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
METRICS = [
    "antecedent support", "consequent support", "support", "confidence", "lift", "representativity",
    "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski",
]  # fmt: skip
_SIZES = re.compile(r"([0-9]{1,9})|([0-9]{0,9})\.\.([0-9]{0,9})")


@dataclass(frozen=True, slots=True)
class ItemsetFilter:
    """Which itemsets of a table to show, and in which order.

    Attributes:
        contains: names that an itemset must all hold.
        size: number of items, as 2, ``"2..3"``, ``"2.."`` or ``"..3"``.
        sort: ``support``, ``size`` or ``name``; None: selected rows first, by support, each itemset size in turn.

    Raises:
        EstimateError: an unknown size or order.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> shown = ap.show.itemset_views.mined(found, wanted=ap.ItemsetFilter(contains=["tea"], size=2)).to_json()
    >>> [row["itemset"] for row in shown["itemsets"]], shown["hidden"]
    ([['milk', 'tea']], 2)
    """

    contains: Collection[str] = ()
    size: "int | str | None" = None
    sort: str | None = None

    def __post_init__(self) -> None:
        read_sizes(self.size, "the size")
        _check_order(self.sort, ["support", "size", "name"])

    def check(self, plans: "Sequence[PublishedPlan]") -> None:
        """Raise EstimateError for names that no plan has, since a misspelt name would look like an empty result."""
        for name in map(str, self.contains):
            if not any(name in plan.require_type(Plan).catalogue.index_of for plan in plans):
                raise EstimateError(f"{name!r} is not in the plan's catalogue")

    def matches(self, frame: "LightFrame") -> Mask:
        """Return which rows match, bool (rows,)."""
        return _contain_all(frame["itemsets"], self.contains) & _match_size(frame["length"], self.size, "the size")


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Which rules to return, and in which order; None does not filter.

    Attributes:
        size, antecedent_size: number of items of the rule and of its antecedent, as for :class:`ItemsetFilter`.
        contains, antecedent, consequent: names that the rule, its antecedent and its consequent must all hold.
        prune: leave out redundant rules.
        sort: a metric, ``size`` or ``name``; None: selected rows first, by the lower end of the confidence's
            interval (with prices, of the value's).

    Raises:
        EstimateError: an unknown metric, threshold, size or order.
    """

    size: "int | str | None" = None
    antecedent_size: "int | str | None" = None
    contains: Collection[str] = ()
    antecedent: Collection[str] = ()
    consequent: Collection[str] = ()
    prune: bool = False
    sort: str | None = None

    def __post_init__(self) -> None:
        read_sizes(self.size, "the size")
        read_sizes(self.antecedent_size, "the antecedent's size")
        _check_order(self.sort, [*METRICS, "size", "name"])

    def select(self, rules: "LightFrame") -> "LightFrame":
        """Return the matching rules in the requested order; redundancy is judged among all rules given."""
        sides = rules["antecedents"], rules["consequents"]
        wanted = _contain_all(sides[0], self.antecedent) & _contain_all(sides[1], self.consequent)
        whole = [left | right for left, right in zip(*sides, strict=True)]
        lengths = np.array([len(names) for names in whole], dtype=np.int64)
        wanted &= _contain_all(whole, self.contains) & _match_size(lengths, self.size, "the size")
        left = np.array([len(names) for names in sides[0]], dtype=np.int64)
        wanted &= _match_size(left, self.antecedent_size, "the antecedent's size")
        if self.prune:
            wanted &= ~find_redundant(rules)
        rows = np.flatnonzero(wanted)
        if self.sort == "size":
            rows = rows[np.argsort(lengths[rows], kind="stable")]
        elif self.sort == "name":
            rows = rows[_by_name([(sides[0][row], sides[1][row]) for row in rows])]
        elif self.sort:
            rows = rows[np.argsort(-rules[self.sort][rows], kind="stable")]
        return rules.take(rows)


def find_redundant(rules: "LightFrame") -> Mask:
    """Return which rules have no more confidence than one with fewer items, or none, in the antecedent.

    Without an antecedent the confidence is the consequent's support in the rule's own row, so a rule with a lift above
    1 is not pruned for that.
    """
    sides = list(zip(rules["antecedents"], rules["consequents"], strict=True))
    values = rules["confidence"].tolist()
    confidence = dict(zip(sides, values, strict=True))
    smaller = np.array([
        any(
            confidence.get((frozenset(part), right), -np.inf) >= value
            for size in range(1, len(left))
            for part in combinations(left, size)
        )
        for (left, right), value in zip(sides, values, strict=True)
    ], dtype=np.bool_)  # fmt: skip
    return np.asarray(smaller | (rules["consequent support"] >= rules["confidence"]))


def rows_to_show(frame: "LightFrame", wanted: ItemsetFilter, most: int) -> Rows:
    """Return at most ``most`` of the rows that match a filter, in its order.

    In the default order every itemset size gets the same number of rows, or all of its own if these are fewer.
    Selected rows come before the others.
    """
    rows = np.flatnonzero(wanted.matches(frame))
    sizes, support = frame["length"], frame["support"]
    if wanted.sort is None:
        rows = rows[np.lexsort((-support[rows], ~frame["selected"][rows]))]
        # in turn: the n-th row of each size comes before the (n + 1)-th of any
        turns = np.zeros(len(rows), dtype=np.int64)
        for size in np.flatnonzero(np.bincount(sizes[rows])).tolist():
            own = sizes[rows] == size
            turns[own] = np.arange(own.sum())
        return rows[np.sort(np.argsort(turns, kind="stable")[:most])]
    if wanted.sort == "name":
        return rows[_by_name([(names,) for names in frame["itemsets"][rows]])][:most]
    keys = (-support[rows], sizes[rows]) if wanted.sort == "size" else (-support[rows],)
    return rows[np.lexsort(keys)][:most]


def _check_order(order: str | None, orders: list[str]) -> None:
    if order not in (None, *orders):
        raise EstimateError(f"sort must be one of {', '.join(orders)}, got {order!r}")


def read_sizes(given: "int | str | None", what: str) -> tuple[int, float]:
    """Return the least and the greatest number of items, from 2, 2..3, 2.. or ..3.

    >>> read_sizes("2..3", "the size"), read_sizes(2, "the size")
    ((2, 3), (2, 2))
    """
    match = _SIZES.fullmatch("1.." if given is None else str(given).strip())
    if match is None or isinstance(given, bool) or not any(match.groups()):
        raise EstimateError(f"{what} must be a number of items or a range: 2, 2..3, 2.. or ..3, got {given!r}")
    one, least, most = match.groups()
    low, high = int(one or least or 1), float("inf") if one is None and not most else int(one or most)
    if not 1 <= low <= high:
        raise EstimateError(f"{what} must be a rising range from at least 1, such as 2..3, got {given!r}")
    return low, high


def _match_size(lengths: NDArray[Any], size: "int | str | None", what: str) -> Mask:
    least, most = read_sizes(size, what)
    return np.asarray((lengths >= least) & (lengths <= most))


def _contain_all(itemsets: Iterable[frozenset[str]], names: Collection[str]) -> Mask:
    """Return which itemsets hold all the names; a number is its digits."""
    if isinstance(names, str):
        raise TypeError(f"items must be a list of names, got the text {names!r}; write [{names!r}]")
    wanted = {str(name) for name in names}
    return np.array([wanted <= itemset for itemset in itemsets], dtype=np.bool_)


def _by_name(rows: Sequence[tuple[frozenset[str], ...]]) -> Rows:
    keys = [[sorted(map(sort_key, names)) for names in row] for row in rows]
    return np.array(sorted(range(len(rows)), key=keys.__getitem__), dtype=np.int64)


NO_FILTER = ItemsetFilter()
