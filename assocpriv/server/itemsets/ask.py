"""Any itemset's support from stored reports, without mining: each question costs its own counts and nothing else.

What is asked is fixed before the reports are looked at, so errors and intervals hold as they stand: nothing was chosen
for looking good. Whoever asks a thousand questions and keeps the best answers has chosen, though: beside the lowest
discoverable support of one itemset stand those of all that were asked, and of all that could have been (limits.py).

The interval of a rule's confidence is Fieller's: all shares C that the estimate of b − C·a does not speak against,

    (b − C·a)² ≤ z² (V_bb − 2C·V_ab + C²·V_aa)

with b, a, V as in rules.py, cut to [0, 1]. Where a itself is not told from 0 that is everything, as it should be.

Source: Fieller, Some problems in interval estimation, J. R. Stat. Soc. B 1954.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.files.basket_reports import basket_groups
from assocpriv.files.reports import Reports
from assocpriv.files.tables import GROUP_COUNTS
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.server.counting.backend import CountingBackend, Progress
from assocpriv.server.estimates.limits import level_discoverable_support
from assocpriv.server.estimates.supports import (
    Group,
    SupportEstimates,
    estimate_supports,
    lowest_discoverable_support,
    normal_quantile,
)
from assocpriv.server.itemsets.apriori import find_itemsets
from assocpriv.server.itemsets.mining import (
    ATTRIBUTE,
    check_confidence_level,
    check_max_itemset,
    collections_of,
    estimate_columns,
    names_of,
)
from assocpriv.server.itemsets.rules import ERRORS, METRICS, joint_covariance, rule_errors, rule_frame

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
ANSWERS = "assocpriv-answers"
COLUMNS = ["support", "itemsets", "std_error", "ci_low", "ci_high", "length", "count"]
SIDES = ["antecedent", "consequent"]
SIDE_COLUMNS = [f"{side}s" for side in SIDES]
INTERVAL = ["confidence_ci_low", "confidence_ci_high"]
# what is known of a rule whose antecedent's support is estimated as 0 or less
KNOWN_ANYWAY = {
    *SIDE_COLUMNS, "antecedent support", "consequent support", "support", "support_std_error", *INTERVAL,
}  # fmt: skip
Names = Collection[str | int]
Collections = Sequence[tuple[CountingBackend, SupportModel]]


@dataclass(frozen=True, slots=True)
class Answers:
    """What reports say of the itemsets and rules that were asked for, in the order they were asked for.

    ``itemsets`` has the columns of a mined table but ``frequent``; ``rules`` those of mined rules, and the interval of
    the confidence. ``facts`` say what they come from, and are the tables' ``attrs`` too.
    """

    itemsets: "pd.DataFrame"
    rules: "pd.DataFrame"
    facts: dict[str, Any]


def ask(
    reports: Reports,
    itemsets: Iterable[Names] = (),
    rules: Iterable[tuple[Names, Names]] = (),
    *,
    confidence_level: float = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> Answers:
    """Estimate supports of given itemsets, and confidences of given rules.

    Args:
        reports: the collection.
        itemsets: names of items, none repeated (an int 7 is the name "7"); where the plan's entries are itemsets, all
            the names of one entry.
        rules: pairs of such itemsets without a common item: antecedent and consequent.
        confidence_level: of the intervals.
        population: errors for the population that the transactions were drawn from, else for those collected.
        memory_bytes: what of reports and bitmaps may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).

    Raises:
        EstimateError: no reports, a name that the plan does not have, an empty itemset, one with a repeated name, or
            one larger than the plan can answer for.
    """
    plan = reports.plan.as_a(Plan)
    check_confidence_level(confidence_level)
    asked = [_entries(names, plan, f"itemset {place}") for place, names in enumerate(itemsets, 1)]
    sides = [_sides(rule, plan, f"rule {place}") for place, rule in enumerate(rules, 1)]
    if not len(reports):
        raise EstimateError("there are no reports to ask; collect some first")
    collections = collections_of(basket_groups(reports), memory_bytes=memory_bytes, progress=progress)
    facts = {
        "format": ANSWERS,
        "plan_id": plan.plan_id,
        "transaction_size": plan.transaction_size,
        "reports": len(reports),
        "confidence_level": confidence_level,
        "population": population,
        **_discoverable([*asked, *(tuple(sorted(left + right)) for left, right in sides)], plan, collections),
    }
    answers = Answers(_itemset_answers(asked, plan, collections, facts), _rule_answers(sides, plan, collections, facts),
                      facts)  # fmt: skip
    for frame in (answers.itemsets, answers.rules):
        frame.attrs[ATTRIBUTE] = facts
    return answers


def _discoverable(
    asked: list[tuple[int, ...]], plan: Plan, collections: Collections
) -> dict[str, dict[str, float | None]]:
    """Return by itemset size from which support one itemset, all asked, and all of the catalogue can be believed."""
    groups = [Group(counter.n_reports, model) for counter, model in collections]
    numbers = Counter(map(len, set(asked)))
    figures = {
        "lowest_discoverable_support": {k: lowest_discoverable_support(groups, k) for k in sorted(numbers)},
        "asked_discoverable_support": {k: level_discoverable_support(groups, k, numbers[k]) for k in sorted(numbers)},
        "level_discoverable_support": {
            k: level_discoverable_support(groups, k, comb(plan.n_items, k)) for k in sorted(numbers)
        },
    }
    return {
        name: {str(k): value if value < math.inf else None for k, value in by_size.items()}
        for name, by_size in figures.items()
    }


def _entries(names: Names, plan: Plan, what: str) -> tuple[int, ...]:
    """Return the catalogue's entries that names stand for, increasing."""
    if isinstance(names, str | bytes | bytearray | memoryview) or not isinstance(names, Collection):
        raise TypeError(f"{what} must be a set or list of names, got a {type(names).__name__}")
    words = [str(name) for name in names]
    if not words:
        raise EstimateError(f"{what} is empty; name at least one item")
    repeated = sorted({word for word in words if words.count(word) > 1})
    if repeated:
        raise EstimateError(f"{what} names {repeated[0]!r} twice")
    if plan.view.kind == "itemsets":
        wanted = tuple(sorted(words))
        if wanted not in plan.view.itemsets:
            raise EstimateError(
                f"{what} is not one that this plan asks for: each of its {plan.n_items:,} entries is a whole itemset, "
                "and unions and parts of entries cannot be had from them"
            )
        return (plan.view.itemsets.index(wanted),)
    unknown = [word for word in words if word not in plan.catalogue.index_of]
    if unknown:
        raise EstimateError(f"{what} names {unknown[0]!r}, which is not in the plan's catalogue")
    check_max_itemset(plan, len(words))
    return tuple(sorted(plan.catalogue.index_of[word] for word in words))


def _sides(rule: tuple[Names, Names], plan: Plan, what: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if plan.view.kind == "itemsets":
        raise EstimateError(
            "this plan asks for chosen itemsets one by one; rules compare an itemset with its subsets, from a plan "
            "that asks for items"
        )
    if isinstance(rule, str | bytes) or not isinstance(rule, Sequence) or len(rule) != 2:
        raise TypeError(f"{what} must be a pair: the names of the antecedent and those of the consequent")
    left, right = (_entries(side, plan, f"the {name} of {what}") for side, name in zip(rule, SIDES, strict=True))
    both = sorted({*left} & {*right})
    if both:
        raise EstimateError(f"both sides of {what} name {plan.catalogue[both[0]]!r}")
    check_max_itemset(plan, len(left) + len(right))
    return left, right


def _itemset_answers(
    asked: list[tuple[int, ...]], plan: Plan, collections: Collections, facts: dict[str, Any]
) -> "pd.DataFrame":
    import pandas as pd

    parts = []
    for k in sorted({len(row) for row in asked}):
        places = [place for place, row in enumerate(asked) if len(row) == k]
        counted = count_subsets(collections, np.array([asked[place] for place in places], dtype=np.int64))
        names = [names_of(plan.catalogue, plan.view, asked[place]) for place in places]
        columns = estimate_columns(names, counted.sums, counted.estimates(), counted.groups, facts)
        part = pd.DataFrame(columns, index=places)
        if len(counted.groups) > 1:
            part[GROUP_COUNTS] = counted.counts[..., -1].tolist()
        parts.append(part)
    if not parts:
        return pd.DataFrame({name: [] for name in COLUMNS})
    return pd.concat(parts).sort_index()


def _rule_answers(
    asked: list[tuple[tuple[int, ...], tuple[int, ...]]], plan: Plan, collections: Collections, facts: dict[str, Any]
) -> "pd.DataFrame":
    import pandas as pd

    shapes = [(len(left), len(right)) for left, right in asked]
    parts = []
    for shape in sorted(set(shapes)):
        places = [place for place, one in enumerate(shapes) if one == shape]
        # the antecedent first: bit i of a mask is the i-th of these
        rows = [[*asked[place][0], *asked[place][1]] for place in places]
        inside = [1] * shape[0] + [0] * shape[1]
        counted = _count_in_order(collections, np.array(rows, dtype=np.int64))
        masks = (1 << sum(shape)) - 1, (1 << shape[0]) - 1, ((1 << shape[1]) - 1) << shape[0]
        b, a, c = (counted.within(mask).estimates().support.astype(np.float64) for mask in masks)
        cov = joint_covariance(counted.counts, counted.groups, inside, (b, a, c), population=facts["population"])
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = rule_errors((b, a, c), cov)
            names = [tuple(plan.catalogue[item] for item in row) for row in rows]
            part = rule_frame(names, inside, (b, a, c), errors)
        ends = _fieller(b, a, cov, normal_quantile(facts["confidence_level"]))
        part[INTERVAL] = ends
        # a share of what is not there
        part.loc[a <= 0, [name for name in part.columns if name not in KNOWN_ANYWAY]] = np.nan
        parts.append(part.set_axis(places))
    if not parts:
        return pd.DataFrame({name: [] for name in [*SIDE_COLUMNS, *METRICS, *ERRORS, *INTERVAL]})
    return pd.concat(parts).sort_index()


def _fieller(b: Floats, a: Floats, cov: list[list[Floats]], z: float) -> Floats:
    """Return the ends of the confidence's interval, float64 (rules, 2); all of [0, 1] where a may be 0."""
    square, middle = a * a - z * z * cov[1][1], a * b - z * z * cov[0][1]
    inner = middle * middle - square * (b * b - z * z * cov[0][0])
    known = (square > 0) & (a > 0) & (inner >= 0)
    root, scale = np.sqrt(np.where(known, inner, 0.0)), np.where(known, square, 1.0)
    low, high = (np.clip((middle + side * root) / scale, 0.0, 1.0) for side in (-1, 1))
    return np.column_stack([np.where(known, low, 0.0), np.where(known, high, 1.0)])


def _count_in_order(collections: Collections, itemsets: NDArray[np.int64]) -> "SubsetCounts":
    """Count all subsets of itemsets whose items stand in any order; masks follow that order."""
    order = np.argsort(itemsets, axis=1)
    counted = count_subsets(collections, np.take_along_axis(itemsets, order, axis=1))
    masks = np.arange(counted.counts.shape[2])
    # bit j of a mask by position is bit r of the mask by rank, r being where the item went
    ranks = np.argsort(order, axis=1)
    sorted_masks = sum((masks >> j & 1)[None, :] << ranks[:, j : j + 1] for j in range(itemsets.shape[1]))
    counts = np.take_along_axis(counted.counts, np.asarray(sorted_masks)[:, None, :], axis=2)
    return SubsetCounts(counted.groups, counts)


@dataclass(frozen=True, slots=True)
class SubsetCounts:
    """How many reports of each group show which items of each itemset.

    Attributes:
        groups: the operators' models and numbers of reports.
        counts: int64 (itemsets, groups, 2^k): reports showing all of a subset (given by mask, bit i its i-th item).
    """

    groups: tuple[Group, ...]
    counts: NDArray[np.int64]

    @property
    def sums(self) -> NDArray[np.int64]:
        """C_0 … C_k, the sums over the subsets of each size, int64 (itemsets, groups, k + 1)."""
        k = self.counts.shape[2].bit_length() - 1
        by_size = [[mask for mask in range(1 << k) if mask.bit_count() == size] for size in range(k + 1)]
        return np.stack([self.counts[..., masks].sum(axis=2) for masks in by_size], axis=2)

    def within(self, mask: int) -> "SubsetCounts":
        """Return the counts of the subsets of one subset of every itemset."""
        return SubsetCounts(self.groups, self.counts[..., [m for m in range(mask + 1) if m & mask == m]])

    def estimates(self) -> SupportEstimates:
        """Return the supports with their variances."""
        return estimate_supports(self.sums, self.groups)


def count_subsets(
    collections: Sequence[tuple[CountingBackend, SupportModel]], itemsets: NDArray[np.int64]
) -> SubsetCounts:
    """Count all subsets of itemsets of one size.

    Args:
        collections: for each operator the counter over its reports, and its model.
        itemsets: item ids, int64 (itemsets, k), each row increasing, in any order.
    """
    k = itemsets.shape[1]
    groups = tuple(Group(counter.n_reports, model) for counter, model in collections)
    counts = np.zeros((len(itemsets), len(groups), 1 << k), dtype=np.int64)
    counts[..., 0] = [group.n_reports for group in groups]
    for size in range(1, k + 1):
        members = list(combinations(range(k), size))
        wanted = [itemsets[:, chosen] for chosen in members]
        distinct = np.unique(np.concatenate(wanted), axis=0) if len(itemsets) else np.empty((0, size), np.int64)
        places = [find_itemsets(distinct, rows) for rows in wanted]
        for column, (counter, model) in enumerate(collections):
            if len(distinct) and model.counts(size):
                found = counter.count(distinct)
                for chosen, place in zip(members, places, strict=True):
                    counts[:, column, sum(1 << i for i in chosen)] = found[place]
    return SubsetCounts(groups, counts)
