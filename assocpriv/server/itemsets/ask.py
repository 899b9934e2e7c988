"""Any itemset's support from stored reports, without mining: each question costs its own counts and nothing else.

What is asked is fixed before the reports are looked at, so errors and intervals hold as they stand. Whoever asks a
thousand questions and keeps the best answers has chosen, though: beside the lowest discoverable support of one itemset
stand those of all that were asked, and of all that could have been (estimates/limits.py).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.files.tables import GROUP_COUNTS
from assocpriv.plans.baskets.plan import Plan
from assocpriv.server.counting.backend import Collections, CountingBackend, Part
from assocpriv.server.estimates.confidences import RuleEstimates
from assocpriv.server.estimates.intervals import ErrorOptions
from assocpriv.server.estimates.limits import level_discoverable_support
from assocpriv.server.estimates.supports import (
    Group,
    SupportEstimates,
    estimate_supports,
    lowest_discoverable_support,
    subset_sums,
)
from assocpriv.server.itemsets.apriori import count_reports, find_itemsets, groups_of
from assocpriv.server.itemsets.frames import ATTRIBUTE, COLUMNS, estimate_columns, names_of
from assocpriv.server.itemsets.requests import check_max_itemset
from assocpriv.server.itemsets.rules import ERRORS, LEAST_SUPPORT, NEEDS_ITEMS, SIDES, rule_frame
from assocpriv.server.itemsets.selection import METRICS

if TYPE_CHECKING:
    import pandas as pd

ANSWERS = "assocpriv-answers"
INTERVAL = ["confidence_ci_low", "confidence_ci_high"]
# what is known of a rule whose antecedent's support is estimated as 0 or less
KNOWN_ANYWAY = {
    *SIDES, "antecedent support", "consequent support", "support", "support_std_error", *INTERVAL,
}  # fmt: skip
Names = Collection[str | int]
Entries = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """What answers come from.

    ``limits`` say by itemset size from which support one itemset, all asked, and all of the catalogue can be believed.
    """

    plan_id: str
    transaction_size: int
    reports: int
    errors: ErrorOptions
    limits: dict[int, tuple[float, float, float]]
    view: str = "items"

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content, an infinite support being null."""
        content = {"format": ANSWERS, "plan_id": self.plan_id, "transaction_size": self.transaction_size}
        content |= {"reports": self.reports} | asdict(self.errors)
        for place, what in enumerate(["lowest", "asked", "level"]):
            limits = {str(k): supports[place] for k, supports in self.limits.items()}
            content[f"{what}_discoverable_support"] = {k: s if s < math.inf else None for k, s in limits.items()}
        return content


@dataclass(frozen=True, slots=True)
class Answers:
    """What reports say of the itemsets and rules that were asked for, in the order they were asked for.

    ``itemsets`` has the columns of a mined table but ``frequent``; ``rules`` those of mined rules, and the interval of
    the confidence. ``facts`` say what they come from, and are the tables' ``attrs`` too, as JSON content.
    """

    itemsets: "pd.DataFrame"
    rules: "pd.DataFrame"
    facts: AnswerFacts


def ask(
    backend: CountingBackend, itemsets: Iterable[Names], rules: Iterable[tuple[Names, Names]], errors: ErrorOptions
) -> Answers:
    """Estimate supports of given itemsets, and confidences of given rules.

    Raises:
        EstimateError: no reports, a name that the plan does not have, an empty itemset, one with a repeated name, or
            one larger than the plan can answer for.
    """
    plan = backend.plan
    asked = [_entries(names, plan, f"itemset {place}") for place, names in enumerate(itemsets, 1)]
    sides = [_sides(rule, plan, f"rule {place}") for place, rule in enumerate(rules, 1)]
    collections = backend.open(Part.WHOLE)
    n_reports = count_reports(collections)
    if not n_reports:
        raise EstimateError("there are no reports to ask; collect some first")
    unions = [tuple(sorted(left + right)) for left, right in sides]
    limits = _limits({*asked, *unions}, plan, groups_of(collections))
    facts = AnswerFacts(plan.plan_id, plan.transaction_size, n_reports, errors, limits, plan.view.kind)
    frames = _itemset_answers(asked, plan, collections, errors), _rule_answers(sides, plan, collections, errors)
    for frame in frames:
        frame.attrs[ATTRIBUTE] = facts.to_json()
    return Answers(*frames, facts)


def _limits(asked: set[Entries], plan: Plan, groups: Sequence[Group]) -> dict[int, tuple[float, float, float]]:
    """Return by itemset size from which support one itemset, all asked, and all of the catalogue can be believed."""
    return {
        k: (
            lowest_discoverable_support(groups, k),
            level_discoverable_support(groups, k, number),
            level_discoverable_support(groups, k, comb(plan.n_items, k)),
        )
        for k, number in sorted(Counter(map(len, asked)).items())
    }


def _entries(names: Names, plan: Plan, what: str) -> Entries:
    """Return the catalogue's entries that names stand for, increasing."""
    if isinstance(names, str | bytes | bytearray | memoryview) or not isinstance(names, Collection):
        raise TypeError(f"{what} must be a set or list of names, got a {type(names).__name__}")
    words = [str(name) for name in names]
    if not words:
        raise EstimateError(f"{what} is empty; name at least one item")
    repeated = sorted({word for word in words if words.count(word) > 1})
    if repeated:
        raise EstimateError(f"{what} names {repeated[0]!r} twice")
    if plan.view.itemsets:
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


def _sides(rule: tuple[Names, Names], plan: Plan, what: str) -> tuple[Entries, Entries]:
    if plan.view.itemsets:
        raise EstimateError(f"this plan asks for chosen itemsets one by one; {NEEDS_ITEMS}")
    if isinstance(rule, str | bytes) or not isinstance(rule, Sequence) or len(rule) != 2:
        raise TypeError(f"{what} must be a pair: the names of the antecedent and those of the consequent")
    left, right = (
        _entries(side, plan, f"the {name} of {what}")
        for side, name in zip(rule, ("antecedent", "consequent"), strict=True)
    )
    both = sorted({*left} & {*right})
    if both:
        raise EstimateError(f"both sides of {what} name {plan.catalogue[both[0]]!r}")
    check_max_itemset(plan, len(left) + len(right))
    return left, right


def _itemset_answers(
    asked: list[Entries], plan: Plan, collections: Collections, errors: ErrorOptions
) -> "pd.DataFrame":
    import pandas as pd

    parts = []
    for k in sorted({len(row) for row in asked}):
        places = [place for place, row in enumerate(asked) if len(row) == k]
        counted = count_subsets(collections, np.array([asked[place] for place in places], dtype=np.int64))
        names = [names_of(plan.catalogue, plan.view, asked[place]) for place in places]
        columns = estimate_columns(names, counted.sums(), counted.estimates(), counted.groups, errors)
        part = pd.DataFrame(columns, index=places)
        if len(counted.groups) > 1:
            part[GROUP_COUNTS] = counted.counts[..., -1].tolist()
        parts.append(part)
    return _in_order(parts, [name for name in COLUMNS if name != "frequent"])


def _rule_answers(
    asked: list[tuple[Entries, Entries]], plan: Plan, collections: Collections, errors: ErrorOptions
) -> "pd.DataFrame":
    shapes = [(len(left), len(right)) for left, right in asked]
    parts = []
    for shape in sorted(set(shapes)):
        places = [place for place, one in enumerate(shapes) if one == shape]
        # the antecedent first: bit i of a mask is the i-th of these
        rows = [[*asked[place][0], *asked[place][1]] for place in places]
        counted = count_subsets(collections, np.array(rows, dtype=np.int64))
        masks = (1 << sum(shape)) - 1, (1 << shape[0]) - 1, ((1 << shape[1]) - 1) << shape[0]
        b, a, c = (counted.estimates(mask).support.astype(np.float64) for mask in masks)
        inside = [1] * shape[0] + [0] * shape[1]
        found = RuleEstimates.of(counted.counts, counted.groups, inside, (b, a, c), errors.population)
        sides = [[names_of(plan.catalogue, plan.view, asked[place][side]) for place in places] for side in (0, 1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = rule_frame(sides, (b, a, c), found.std_errors())
        part[INTERVAL] = found.confidence_intervals(errors.confidence_level)
        # a share of what is not there
        part.loc[a <= 0, [name for name in part.columns if name not in KNOWN_ANYWAY]] = np.nan
        parts.append(part.set_axis(places))
    return _in_order(parts, [*SIDES, *METRICS, *ERRORS, *INTERVAL])


def not_told(rules: "pd.DataFrame") -> list[str]:
    """Say of each rule asked what of it the reports do not tell from nobody: ``antecedent``, ``rule`` or nothing.

    Fieller's interval is all of [0, 1] where the antecedent's support may be 0. A rule's own support may be 0 where it
    is below two standard errors; its confidence is then known from above alone.
    """
    low, high = (rules[name].to_numpy(np.float64) for name in INTERVAL)
    rare = rules["support"].to_numpy(np.float64) < LEAST_SUPPORT * rules["support_std_error"].to_numpy(np.float64)
    words = np.where((low <= 0) & (high >= 1), "antecedent", np.where(rare, "rule", ""))
    return [str(word) for word in words]


def _in_order(parts: "list[pd.DataFrame]", columns: list[str]) -> "pd.DataFrame":
    """Put answers in the order asked."""
    import pandas as pd

    return pd.concat(parts).sort_index() if parts else pd.DataFrame({name: [] for name in columns})


@dataclass(frozen=True, slots=True)
class SubsetCounts:
    """How many reports of each group show all of each subset: int64 (itemsets, groups, 2^k), by mask, bit i item i."""

    groups: tuple[Group, ...]
    counts: NDArray[np.int64]

    def estimates(self, mask: int = -1) -> SupportEstimates:
        """Return the supports of a subset of every itemset, of all of it by default, with their variances."""
        return estimate_supports(self.sums(mask), self.groups)

    def sums(self, mask: int = -1) -> NDArray[np.int64]:
        """Return its C_0 … C_j, the sums over the subsets of each size, int64 (itemsets, groups, j + 1)."""
        return subset_sums(self.counts, mask % self.counts.shape[2])


def count_subsets(collections: Collections, itemsets: NDArray[np.int64]) -> SubsetCounts:
    """Count all subsets of itemsets of one size: different item ids, int64 (itemsets, k), in any order."""
    k = itemsets.shape[1]
    groups = tuple(groups_of(collections))
    counts = np.zeros((len(itemsets), len(groups), 1 << k), dtype=np.int64)
    counts[..., 0] = [group.n_reports for group in groups]
    for size in range(1, k + 1):
        members = list(combinations(range(k), size))
        wanted = [np.sort(itemsets[:, chosen], axis=1) for chosen in members]
        distinct = np.unique(np.concatenate(wanted), axis=0) if len(itemsets) else np.empty((0, size), np.int64)
        places = [find_itemsets(distinct, rows) for rows in wanted]
        for column, (counter, model) in enumerate(collections):
            if len(distinct) and model.counts(size):
                found = counter.count(distinct)
                for chosen, place in zip(members, places, strict=True):
                    counts[:, column, sum(1 << i for i in chosen)] = found[place]
    return SubsetCounts(groups, counts)
