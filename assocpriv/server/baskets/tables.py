"""Mined itemsets as a table (files/mined_tables.py), filters and orders of the rows to show, and exports.

Selected itemsets can be exported with counts, in the formats of miners of unprotected baskets.

Where not all rows are shown, some of every itemset size are. Filters apply to the finished table and change none of its
statements. The share of false rows holds among *all* selected rows; among those that a filter leaves it can be larger.

A rule A → C is redundant where a rule A' → C with fewer of its antecedent's items has at least its confidence: its
improvement, the least of conf(A → C) − conf(A' → C), is not above 0. A' may be empty: conf(∅ → C) is the support of C.
All are estimates, so of rules that differ by less than their errors, which one is pruned is partly chance.

Source: Bayardo, Agrawal, Gunopulos, Constraint-based rule mining in large, dense databases, ICDE 1999, section 2.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.supports import normal_quantile
from assocpriv.files.atomic import atomic_output
from assocpriv.files.mined_tables import (
    FEW_REPORTS,
    POSTERIOR,
    LightFrame,
    MiningFacts,
    as_column,
    column_names,
    mining_facts,
    typed,
    with_facts,
)
from assocpriv.files.releases import Release
from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import sort_key

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.plans.published_plan import PublishedPlan
    from assocpriv.server.baskets.posterior import ItemsetLevel

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
METRICS = [
    "antecedent support", "consequent support", "support", "confidence", "lift", "representativity",
    "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski",
]  # fmt: skip
_SIZES = re.compile(r"([0-9]{1,9})|([0-9]{0,9})\.\.([0-9]{0,9})")


# ---- tables


def itemset_frame(
    levels: Sequence["ItemsetLevel"],
    rows: Sequence[NDArray[Any]],
    catalogue: "Catalogue",
    facts: MiningFacts,
    columns: Sequence[dict[str, NDArray[Any]]],
) -> LightFrame:
    """Return a table of rows of each size, by falling support; ``columns`` are further columns of each size."""
    parts = []
    for level, chosen, more in zip(levels, rows, columns, strict=True):
        order = chosen[np.argsort(-level.support[chosen], kind="stable")]
        place = np.empty(len(level), dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        part = posterior_columns(level, order, catalogue, facts)
        parts.append(part | {name: values[place[order]] for name, values in more.items()})
    empty = [name for name in column_names(facts) if not parts]
    together = {name: np.concatenate([part[name] for part in parts]) for name in column_names(facts) if parts}
    return with_facts(typed(LightFrame(together | {name: np.empty(0, dtype=object) for name in empty})), facts)


def posterior_columns(
    level: "ItemsetLevel", rows: NDArray[Any], catalogue: "Catalogue", facts: MiningFacts
) -> dict[str, NDArray[Any]]:
    """Return the estimate columns of itemsets of one size; ``selected`` is set later."""
    posteriors, error = level.posteriors.take(rows), level.unbiased_error[rows]
    ends = posteriors.intervals(facts.confidence_level)
    if facts.reports < FEW_REPORTS:  # else intervals would depend on the prior alone
        ends = _widened(ends, level.unbiased[rows], error, facts.confidence_level)
    nodes = posteriors.by_node()
    numbers = np.stack([nodes.weights, nodes.means, np.sqrt(nodes.variances)], axis=2).reshape(len(rows), -1)
    return {
        "support": level.support[rows],
        "itemsets": as_column([frozenset(catalogue[item] for item in row) for row in level.itemsets[rows].tolist()]),
        "std_error": level.error[rows],
        "ci_low": ends[:, 0],
        "ci_high": ends[:, 1],
        "length": np.full(len(rows), level.itemsets.shape[1], dtype=np.int64),
        "probability": posteriors.above(facts.min_support),
        "selected": np.zeros(len(rows), dtype=np.bool_),
        "expected_support": level.expected[rows],
        "unbiased": level.unbiased[rows],
        "unbiased_error": error,
        "sampled": level.sampled[rows],
        "sampled_error": level.sampled_error[rows],
        "common_error": level.common[rows],
        "truncation": level.truncation[rows],
        "truncation_error": level.truncation_error[rows],
        "confidence_level": np.full(len(rows), facts.confidence_level),
    } | dict(zip(POSTERIOR, numbers.T, strict=True))


def with_named_intervals(frame: LightFrame, level: float, low: str = "ci_low", high: str = "ci_high") -> LightFrame:
    """Return the table with intervals for itemsets chosen beforehand, in the columns ``low`` and ``high``.

    Each holds the support of its itemset with this probability, whatever those of others: the unbiased estimate with
    its error, clipped to [0, 1] and extended to the posterior mean. The intervals of a mined table hold the support on
    average over the catalogue: less often for best sellers, which the prior shrinks towards the many rare items.
    """
    mean = np.column_stack([frame["support"], frame["support"]])
    ends = _widened(mean, frame["unbiased"], frame["unbiased_error"], level)
    return frame.assign(**{low: ends[:, 0], high: ends[:, 1]})


def _widened(ends: NDArray[np.float64], x: NDArray[Any], error: NDArray[Any], level: float) -> NDArray[np.float64]:
    """Return intervals extended to the normal ones of the unbiased estimates, clipped to [0, 1]."""
    reach = normal_quantile(level) * error
    both = np.column_stack([np.minimum(ends[:, 0], x - reach), np.maximum(ends[:, 1], x + reach)])
    return np.asarray(np.clip(both, 0.0, 1.0))


# ---- files


def counts_of_selected(itemsets: "pd.DataFrame") -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the sorted names of each selected itemset and the estimated number of baskets that hold it."""
    reports, frame = mining_facts(itemsets).reports, LightFrame.from_frame(itemsets)
    for row in frame.to_dict():
        if row["selected"]:
            yield tuple(sorted(row["itemsets"])), max(round(row["support"] * reports), 0)


def write_counts(itemsets: "pd.DataFrame", path: str | Path, line: str, *, force: bool) -> None:
    """Write a line for each selected itemset; EstimateError for a name with a blank."""
    found = list(counts_of_selected(itemsets))
    if any(len(name.split()) != 1 for items, _ in found for name in items):
        raise EstimateError("a name contains a blank, which this format reads as two names; write Parquet or JSON")
    with atomic_output(path, force=force) as stream:
        for items, count in found:
            stream.write((line.format(items=" ".join(items), count=count) + "\n").encode("utf-8"))


def to_efficient_apriori(itemsets: "pd.DataFrame") -> dict[int, dict[tuple[str, ...], int]]:
    """Return selected itemsets as efficient-apriori's ``itemsets_from_transactions`` does: counts by itemset, by size.

    Args:
        itemsets: a table that :func:`assocpriv.mine` returned.

    Returns:
        By itemset size, the estimated number of baskets that hold each itemset: support times reports, rounded.

    Raises:
        EstimateError: not a table that mine returned.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> sorted(ap.exports.to_efficient_apriori(found)[1]), list(ap.exports.to_efficient_apriori(found)[2])
    ([('milk',), ('tea',)], [('milk', 'tea')])
    """
    found: dict[int, dict[tuple[str, ...], int]] = {}
    for items, count in counts_of_selected(itemsets):
        found.setdefault(len(items), {})[items] = count
    return found


def write_spmf(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write selected itemsets as SPMF's miners do: ``1 2 3 #SUP: 120``, a line each.

    Args:
        itemsets: a table that :func:`assocpriv.mine` returned.
        path: the file.
        force: replace an existing file.

    Raises:
        EstimateError: not a table that mine returned, or a name with a blank, which the format reads as two names.
        FileError: the file exists and ``force`` is not set, or cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.exports.write_spmf(found, file := Path(mkdtemp(), "found.txt"))
    >>> sorted(line.split(" #SUP: ")[0] for line in file.read_text().splitlines())
    ['milk', 'milk tea', 'tea']
    """

    write_counts(itemsets, path, "{items} #SUP: {count}", force=force)


def write_fimi(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write selected itemsets as FIMI's miners do: ``1 2 3 (120)``, a line each.

    Args:
        itemsets, path, force: as for :func:`write_spmf`.

    Raises:
        FileError, EstimateError: as for :func:`write_spmf`.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.exports.write_fimi(found, file := Path(mkdtemp(), "found.txt"))
    >>> sorted(line.split(" (")[0] for line in file.read_text().splitlines())
    ['milk', 'milk tea', 'tea']
    """

    write_counts(itemsets, path, "{items} ({count})", force=force)


# ---- filters and orders


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

    def check(self, plans: "Sequence[PublishedPlan | Release]") -> None:
        """Check that every name of ``contains`` is an item, since a misspelt name would look like an empty result.

        Args:
            plans: plans of baskets, or releases; a name must be in the catalogue of at least one.

        Raises:
            EstimateError: no plan has the name.
            PlanError: a plan of another type.
        """
        catalogues = [(each if isinstance(each, Release) else each.require_type(Plan)).catalogue for each in plans]
        for name in map(str, self.contains):
            if not any(name in catalogue.index_of for catalogue in catalogues):
                raise EstimateError(f"{name!r} is not in the plan's catalogue")

    def matches(self, frame: LightFrame) -> Mask:
        """Return which rows of a table match.

        Args:
            frame: a table of itemsets, with the columns ``itemsets`` and ``length``.

        Returns:
            bool (rows,).
        """
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

    def select(self, rules: LightFrame) -> LightFrame:
        """Return the matching rules in the requested order; redundancy is judged among all rules given.

        Args:
            rules: a table of rules, as of :func:`assocpriv.tables.derive_rules`.

        Returns:
            The matching rows, with the same columns.
        """
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


def find_redundant(rules: LightFrame) -> Mask:
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


def rows_to_show(frame: LightFrame, wanted: ItemsetFilter, most: int) -> Rows:
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
