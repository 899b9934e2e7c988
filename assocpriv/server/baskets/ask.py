"""Supports of chosen itemsets and confidences of chosen rules, also of those that mining does not select.

Supports are posterior means under the priors that mining fits (posterior.py), estimated together with all itemsets that
mining counts. Intervals are for itemsets chosen before looking at results (:func:`with_named_intervals`): each covers
its support with the stated probability, whatever the catalogue.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.mined_tables import ATTRIBUTE, COLUMNS, LightFrame, MiningFacts
from assocpriv.guarantees.errors import EstimateError, as_list, pluralize
from assocpriv.plans.result_display import figure, html_renderer, short_repr
from assocpriv.server.baskets.counting import CountingBackend
from assocpriv.server.baskets.mining import (
    MiningRequest,
    SearchResult,
    check_max_itemset,
    collect_facts,
    plan_of_largest_sets,
    rows_to_keep,
    search_reports,
)
from assocpriv.server.baskets.posterior import ItemsetLevel, PosteriorModel
from assocpriv.server.baskets.rounds import Rounds, longest_catalogue_first, merge_catalogues
from assocpriv.server.baskets.rules import chosen_rules, empty_rules
from assocpriv.server.baskets.tables import itemset_frame, with_named_intervals

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.estimation.supports import ErrorOptions
    from assocpriv.files.releases import Release
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.baskets.catalogue import Catalogue

ANSWERS = "assocpriv-answers"
Names = Collection[str | int]
Items = tuple[int, ...]
# columns that need a minimum support, which a chosen itemset has not
_NEED_MINIMUM = {"probability", "selected", "selected_strict"}


@dataclass(frozen=True, slots=True)
class AskResult:
    """Estimates for the chosen itemsets and rules, in the order in which they were given.

    Attributes:
        itemsets: Supports, with the columns of a mined table except those that need a minimum support.
        rules: Confidences, with the columns of mined rules, likewise.
        facts: The reports and plans; as JSON content they are also the tables' ``attrs``.
    """

    itemsets: LightFrame
    rules: LightFrame
    facts: MiningFacts

    _repr_html_ = html_renderer("assocpriv.show.itemset_views:answers")

    def __repr__(self) -> str:
        rows = [
            f"{{{figure(row['itemsets'], 'names')}}}: support {row['support']:.2%} "
            f"({row['ci_low']:.2%} to {row['ci_high']:.2%})"
            for row in self.itemsets.to_dict()
        ]
        rows += [
            f"{figure(row['antecedents'], 'names')} → {figure(row['consequents'], 'names')}: "
            f"confidence {row['confidence']:.2%} ({row['confidence_ci_low']:.2%} to {row['confidence_ci_high']:.2%})"
            for row in self.rules.to_dict()
        ]
        counts = f"{pluralize(len(self.itemsets), 'itemset')}, {pluralize(len(self.rules), 'rule')}"
        return short_repr(self, f"{counts}; {pluralize(self.facts.reports, 'report')}", rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row an itemset; ``rules.to_pandas()`` has the rules.

        Returns:
            A pandas frame with the columns of ``itemsets``.
        """
        return self.itemsets.to_pandas()


def ask(
    backends: Sequence[CountingBackend],
    itemsets: Iterable[Names],
    rules: Iterable[tuple[Names, Names]],
    errors: "ErrorOptions",
) -> AskResult:
    """Estimate the supports of itemsets and the confidences of rules, in one pass over the reports.

    Args:
        backends: A counter of reports for each collection, as of :func:`assocpriv.tables.backends`.
        itemsets: Itemsets, each a list or set of names.
        rules: Rules, each a pair of an antecedent and a consequent, lists or sets of names.
        errors: The probability of intervals.

    Returns:
        Supports and confidences in the order given, as shares of whole baskets, with standard errors and intervals.

    Raises:
        EstimateError: There are no reports; a name is unknown or repeated; an itemset or a rule is larger than the
            plan's itemsets; no round estimates its items together; or a side is empty.
        TypeError: An itemset or a side of a rule is not a collection of names.
    """
    plans, request = longest_catalogue_first(backend.plan for backend in backends), MiningRequest(errors=errors)
    plan, catalogue = plan_of_largest_sets(plans), merge_catalogues(plans)
    wanted = [
        _item_ids(each, plan, catalogue, f"itemset {n}")
        for n, each in enumerate(as_list(itemsets, "itemsets", EstimateError), 1)
    ]
    sides = [
        _rule_sides(rule, plan, catalogue, f"rule {n}")
        for n, rule in enumerate(as_list(rules, "rules", EstimateError), 1)
    ]
    whole = [tuple(sorted(left + right)) for left, right in sides]
    searched = SearchedReports.search(backends, request, max(map(len, [*wanted, *whole]), default=0))
    _check_covered(searched, wanted, "itemset")
    _check_covered(searched, whole, "rule")
    table = searched.estimate([*wanted, *whole])
    content = searched.facts.to_json() | {"format": ANSWERS}
    places = {itemset: row for row, itemset in enumerate(table["itemsets"].tolist())}

    def rows_of(chosen: Iterable[Items]) -> NDArray[np.int64]:
        return np.array([places[frozenset(catalogue[i] for i in each)] for each in chosen], dtype=np.int64)

    supports = LightFrame({name: table[name][rows_of(wanted)] for name in COLUMNS if name not in _NEED_MINIMUM})
    supports = with_named_intervals(supports, searched.facts.confidence_level)
    answers = empty_rules()
    if sides:
        both = np.array([rows_of(each) for each in zip(*sides, strict=True)])
        answers = chosen_rules(table, both, rows_of(whole), searched.facts.confidence_level)
    answers = LightFrame({name: each for name, each in answers.columns.items() if name not in _NEED_MINIMUM})
    supports, answers = (replace(table, attrs={ATTRIBUTE: content}) for table in (supports, answers))
    return AskResult(supports, answers, searched.facts)


@dataclass(frozen=True, slots=True)
class SearchedReports:
    """Collections searched as mining does, which can estimate further itemsets."""

    model: PosteriorModel
    found: SearchResult
    facts: MiningFacts
    catalogue: "Catalogue"

    @classmethod
    def search(cls, backends: Sequence[CountingBackend], request: MiningRequest, largest: int = 0) -> "SearchedReports":
        """Search the reports, so that itemsets of at least ``largest`` items can be estimated afterwards."""
        default = request.largest(backend.plan for backend in backends)
        rounds = Rounds.from_backends(backends, max(largest, default))
        model = PosteriorModel(rounds)
        found, least = search_reports(model, request, default, backends[0].most_candidates)
        return cls(model, found, collect_facts(backends, rounds, request, least, found), rounds.catalogue)

    def covered(self, itemsets: Iterable[Items]) -> set[Items]:
        """Return the itemsets that at least one round estimates."""
        by_size: dict[int, list[Items]] = {}
        for each in itemsets:
            by_size.setdefault(len(each), []).append(each)
        found = (self.model.covered(np.array(same, dtype=np.int64)).tolist() for same in by_size.values())
        return {tuple(each) for same in found for each in same}

    def mined_itemsets(self, request: MiningRequest) -> set[frozenset[str]]:
        """Return the itemsets that a mined table would hold."""
        chosen = rows_to_keep(self.found.levels, self.facts.min_support, request, self.catalogue)
        ids = (level.itemsets[rows].tolist() for level, rows in zip(self.found.levels, chosen, strict=True))
        return {frozenset(self.catalogue[item] for item in each) for level in ids for each in level}

    def estimate(self, itemsets: Iterable[Items]) -> LightFrame:
        """Return a table of itemsets and all their subsets; none is selected."""
        closed = {subset for each in itemsets for k in range(len(each)) for subset in combinations(each, k + 1)}
        levels = self.model.infer_closed(_add_itemsets(self.found.levels, closed), self.found.levels)
        rows = [np.flatnonzero([tuple(row) in closed for row in level.itemsets.tolist()]) for level in levels]
        kept = [place for place, chosen in enumerate(rows) if len(chosen)]
        shown = [levels[k] for k in kept], [rows[k] for k in kept]
        return itemset_frame(*shown, self.catalogue, self.facts, [{} for _ in kept])


def _check_covered(searched: SearchedReports, itemsets: Sequence[Items], what: str) -> None:
    covered = searched.covered(itemsets)
    for number, each in enumerate(itemsets, 1):
        if each not in covered:
            raise EstimateError(
                f"{what} {number}: no round estimates {', '.join(repr(searched.catalogue[item]) for item in each)} "
                "together; name the items alone, or collect a round whose catalogue holds all of them"
            )


def _add_itemsets(levels: Sequence[ItemsetLevel], closed: Collection[Items]) -> list[NDArray[np.int64]]:
    """Return the itemsets of the levels and further ones, closed under subsets, by size in lexicographic order."""
    sizes = max([len(levels), *map(len, closed)])
    by_size = []
    for k in range(1, sizes + 1):
        known = levels[k - 1].itemsets if k <= len(levels) else np.empty((0, k), dtype=np.int64)
        more = np.array([each for each in closed if len(each) == k], dtype=np.int64).reshape(-1, k)
        by_size.append(np.unique(np.concatenate([known, more]), axis=0))
    return by_size


def _item_ids(names: Any, plan: "Plan | Release", catalogue: "Catalogue", what: str) -> Items:
    """Return the ids of an itemset's names, ascending."""
    if isinstance(names, str | bytes) or not isinstance(names, Collection):
        raise TypeError(f"{what} must be a set or list of names, got a {type(names).__name__}")
    words = [str(name) for name in names]
    if not words:
        raise EstimateError(f"{what} is empty; name at least one item")
    if repeated := sorted({word for word in words if words.count(word) > 1}):
        raise EstimateError(f"{what} names {repeated[0]!r} twice")
    if unknown := [word for word in words if word not in catalogue.index_of]:
        whole = next((each for mark in (", ", ",") if (each := mark.join(words)) in catalogue.index_of), None)
        hint = "" if whole is None else f'; a name with a comma is one in double quotes: "{whole}"'
        raise EstimateError(f"{what} names {unknown[0]!r}, which is not in the plan's catalogue{hint}")
    check_max_itemset(plan, len(words))
    return tuple(sorted(catalogue.index_of[word] for word in words))


def _rule_sides(rule: Any, plan: "Plan | Release", catalogue: "Catalogue", what: str) -> tuple[Items, Items]:
    """Return the ids of a rule's antecedent and consequent, ascending."""
    if isinstance(rule, str | bytes) or not isinstance(rule, Sequence) or len(rule) != 2:
        raise TypeError(f"{what} must be a pair: the names of the antecedent and those of the consequent")
    left, right = (
        _item_ids(side, plan, catalogue, f"the {name} of {what}")
        for side, name in zip(rule, ("antecedent", "consequent"), strict=True)
    )
    if both := sorted({*left} & {*right}):
        raise EstimateError(f"both sides of {what} name {catalogue[both[0]]!r}")
    check_max_itemset(plan, len(left) + len(right))
    return left, right
