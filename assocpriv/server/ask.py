"""Any itemset's support, and any rule's confidence, whether or not mining would have listed it.

Supports are posterior means under the priors that mining fits (posterior.py), read beside all itemsets that mining
counts. Their intervals are those of itemsets named before looking at results (:func:`with_named_intervals`): each holds
its support with the stated probability, whatever the catalogue.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import LightFrame
from assocpriv.promise.errors import EstimateError, listed
from assocpriv.server.counting import CountingBackend
from assocpriv.server.itemsets import ATTRIBUTE, COLUMNS, MiningFacts, itemset_frame, with_named_intervals
from assocpriv.server.mining import MiningRequest, check_max_itemset, facts_of, kept_rows, searched
from assocpriv.server.posterior import Level, Reading
from assocpriv.server.rules import asked_rules, empty_rules
from assocpriv.server.search import Found
from assocpriv.server.waves import Waves, longest_first, united

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.catalogue import Catalogue
    from assocpriv.server.intervals import ErrorOptions

ANSWERS = "assocpriv-answers"
Names = Collection[str | int]
Items = tuple[int, ...]
_NOT_OF_ASKED = {"probability", "listed"}  # of a minimum support, which who asks has not said


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """What reports say of the itemsets and rules that were asked for, in the order they were asked for.

    ``itemsets`` has the columns of a mined table but for what is said of a minimum support; ``rules`` those of mined
    rules, likewise. ``facts`` say what they come from, and are the tables' ``attrs`` too, as JSON content.
    """

    itemsets: LightFrame
    rules: LightFrame
    facts: MiningFacts


def ask(
    backends: Sequence[CountingBackend],
    itemsets: Iterable[Names],
    rules: Iterable[tuple[Names, Names]],
    errors: "ErrorOptions",
) -> AskOutcome:
    """Tell the supports of itemsets and the confidences of rules, as :func:`assocpriv.answer`.

    Raises:
        EstimateError: no reports; an unknown or repeated name, a larger itemset than the plan's, nothing or too much in
            a side.
        TypeError: names that are no collection of them.
    """
    plans, request = longest_first(backend.plan for backend in backends), MiningRequest(errors=errors)
    plan, catalogue = plans[0], united(plans)
    wanted = [
        _items(each, plan, catalogue, f"itemset {n}")
        for n, each in enumerate(listed(itemsets, "itemsets", EstimateError), 1)
    ]
    sides = [
        _sides(rule, plan, catalogue, f"rule {n}") for n, rule in enumerate(listed(rules, "rules", EstimateError), 1)
    ]
    whole = [tuple(sorted(left + right)) for left, right in sides]
    reader = Reader.of(backends, request, max(map(len, [*wanted, *whole]), default=0))
    table = reader.table([*wanted, *whole])
    content = reader.facts.to_json() | {"format": ANSWERS}
    places = {itemset: row for row, itemset in enumerate(table["itemsets"].tolist())}

    def rows_of(asked: Iterable[Items]) -> NDArray[np.int64]:
        return np.array([places[frozenset(catalogue[i] for i in each)] for each in asked], dtype=np.int64)

    told = LightFrame({name: table[name][rows_of(wanted)] for name in COLUMNS if name not in _NOT_OF_ASKED})
    told = with_named_intervals(told, reader.facts.confidence_level)
    answers = empty_rules()
    if sides:
        both = np.array([rows_of(each) for each in zip(*sides, strict=True)])
        answers = asked_rules(table, both, rows_of(whole), reader.facts.confidence_level)
    answers = LightFrame({name: each for name, each in answers.columns.items() if name not in {*_NOT_OF_ASKED, "sure"}})
    return AskOutcome(
        replace(told, attrs={ATTRIBUTE: content}), replace(answers, attrs={ATTRIBUTE: content}), reader.facts
    )


@dataclass(frozen=True, slots=True)
class Reader:
    """Collections that were searched as mining does, of which any itemsets may be asked."""

    reading: Reading
    found: Found
    facts: MiningFacts
    catalogue: "Catalogue"

    @classmethod
    def of(cls, backends: Sequence[CountingBackend], request: MiningRequest, largest: int = 0) -> "Reader":
        """Search them; itemsets of up to ``largest`` items are to be asked, or of as many as their plans answer for."""
        usual = max(request.largest(backend.plan) for backend in backends)
        waves = Waves.of(backends, max(largest, usual))
        reading = Reading(waves)
        found, least = searched(reading, request, usual, backends[0].most_candidates)
        return cls(reading, found, facts_of(backends, waves, request, least, found), waves.catalogue)

    def mined(self, request: MiningRequest) -> set[frozenset[str]]:
        """Return the itemsets that a mined table has."""
        chosen = kept_rows(self.found.levels, self.facts.min_support, request, self.catalogue)
        ids = (level.itemsets[rows].tolist() for level, rows in zip(self.found.levels, chosen, strict=True))
        return {frozenset(self.catalogue[item] for item in each) for level in ids for each in level}

    def table(self, itemsets: Iterable[Items]) -> LightFrame:
        """Return what is told of itemsets and all their subsets, as a table; nothing in it is listed."""
        closed = {subset for each in itemsets for subset in _subsets(each)}
        levels = self.reading.read_again(_with_asked(self.found.levels, closed), self.found.levels)
        rows = [_rows_of(level, [each for each in closed if len(each) == k]) for k, level in enumerate(levels, 1)]
        kept = [place for place, chosen in enumerate(rows) if len(chosen)]
        shown = [levels[k] for k in kept], [rows[k] for k in kept]
        return itemset_frame(*shown, self.catalogue, self.facts, [{} for _ in kept])


def _subsets(itemset: Items) -> Iterable[Items]:
    return (each for k in range(1, len(itemset) + 1) for each in combinations(itemset, k))


def _with_asked(levels: Sequence[Level], closed: Collection[Items]) -> list[NDArray[np.int64]]:
    """Return all itemsets by size, with those asked for, which have all their subsets, in lexicographic order."""
    sizes = max([len(levels), *map(len, closed)])
    by_size = []
    for k in range(1, sizes + 1):
        known = levels[k - 1].itemsets if k <= len(levels) else np.empty((0, k), dtype=np.int64)
        more = np.array([each for each in closed if len(each) == k], dtype=np.int64).reshape(-1, k)
        by_size.append(np.unique(np.concatenate([known, more]), axis=0))
    return by_size


def _rows_of(level: Level, itemsets: Sequence[Items]) -> NDArray[np.int64]:
    wanted = set(itemsets)
    return np.flatnonzero([tuple(row) in wanted for row in level.itemsets.tolist()]) if wanted else np.empty(0, int)


def _items(names: Any, plan: "Plan", catalogue: "Catalogue", what: str) -> Items:
    """Return the ids of an itemset's names, ascending."""
    if isinstance(names, str | bytes) or not isinstance(names, Collection):
        raise TypeError(f"{what} must be a set or list of names, got a {type(names).__name__}")
    words = [str(name) for name in names]
    if not words:
        raise EstimateError(f"{what} is empty; name at least one item")
    repeated = sorted({word for word in words if words.count(word) > 1})
    if repeated:
        raise EstimateError(f"{what} names {repeated[0]!r} twice")
    unknown = [word for word in words if word not in catalogue.index_of]
    if unknown:
        whole = next((each for mark in (", ", ",") if (each := mark.join(words)) in catalogue.index_of), None)
        hint = "" if whole is None else f'; a name with a comma is one in double quotes: "{whole}"'
        raise EstimateError(f"{what} names {unknown[0]!r}, which is not in the plan's catalogue{hint}")
    check_max_itemset(plan, len(words))
    return tuple(sorted(catalogue.index_of[word] for word in words))


def _sides(rule: Any, plan: "Plan", catalogue: "Catalogue", what: str) -> tuple[Items, Items]:
    if isinstance(rule, str | bytes) or not isinstance(rule, Sequence) or len(rule) != 2:
        raise TypeError(f"{what} must be a pair: the names of the antecedent and those of the consequent")
    left, right = (
        _items(side, plan, catalogue, f"the {name} of {what}")
        for side, name in zip(rule, ("antecedent", "consequent"), strict=True)
    )
    both = sorted({*left} & {*right})
    if both:
        raise EstimateError(f"both sides of {what} name {catalogue[both[0]]!r}")
    check_max_itemset(plan, len(left) + len(right))
    return left, right
