"""Any itemset's support from stored reports, without mining: each question costs its own counts alone.

What is asked is fixed before the reports are looked at, so errors and intervals hold as they stand. Whoever asks a
thousand questions and keeps the best answers has chosen, though: beside the lowest discoverable support of one itemset
stand those of all that were asked, and of all that could have been (intervals.py).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import LightFrame, put_together
from assocpriv.promise.errors import EstimateError
from assocpriv.server.apriori import respondents_of
from assocpriv.server.counting import CountingBackend, Part, Source
from assocpriv.server.intervals import ErrorOptions, level_discoverable_support
from assocpriv.server.itemsets import ATTRIBUTE, COLUMNS, estimate_columns, names_of
from assocpriv.server.mining import check_max_itemset
from assocpriv.server.rules import ERRORS, LEAST_SUPPORT, SIDES, RuleEstimates, empty_rules, rule_frame
from assocpriv.server.selection import METRICS
from assocpriv.server.supports import (
    Respondents,
    SupportEstimates,
    estimate_supports,
    lowest_discoverable_support,
    subset_sums,
)

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan

ANSWERS = "assocpriv-answers"
INTERVAL = ["confidence_ci_low", "confidence_ci_high"]
# what is known of a rule whose antecedent's support is estimated as 0 or less
KNOWN_ANYWAY = {
    *SIDES, "antecedent support", "consequent support", "support", "support_std_error", *INTERVAL,
}  # fmt: skip
Names = Collection[str | int]
Items = tuple[int, ...]


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

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content, an infinite support being null."""
        content = {"format": ANSWERS, "plan_id": self.plan_id, "transaction_size": self.transaction_size}
        content |= {"reports": self.reports} | asdict(self.errors)
        for place, what in enumerate(["lowest", "asked", "level"]):
            limits = {str(k): supports[place] for k, supports in self.limits.items()}
            content[f"{what}_discoverable_support"] = {k: s if s < math.inf else None for k, s in limits.items()}
        return content


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """What reports say of the itemsets and rules that were asked for, in the order they were asked for.

    ``itemsets`` has the columns of a mined table but ``frequent``; ``rules`` those of mined rules, and the interval of
    the confidence. ``facts`` say what they come from, and are the tables' ``attrs`` too, as JSON content.
    """

    itemsets: LightFrame
    rules: LightFrame
    facts: AnswerFacts


def ask(
    backend: CountingBackend, itemsets: Iterable[Names], rules: Iterable[tuple[Names, Names]], errors: ErrorOptions
) -> AskOutcome:
    """Estimate supports of given itemsets, and confidences of given rules.

    Raises:
        EstimateError: no reports, a name that the plan does not have, an empty itemset, one with a repeated name, or
            one larger than the plan can answer for.
    """
    plan = backend.plan
    asked = [_items(names, plan, f"itemset {place}") for place, names in enumerate(itemsets, 1)]
    sides = [_sides(rule, plan, f"rule {place}") for place, rule in enumerate(rules, 1)]
    source = backend.open(Part.WHOLE)
    respondents = respondents_of(source)
    if not respondents.n_reports:
        raise EstimateError("there are no reports to ask; collect some first")
    unions = [tuple(sorted(left + right)) for left, right in sides]
    limits = _limits({*asked, *unions}, plan, respondents)
    facts = AnswerFacts(plan.plan_id, plan.items.transaction_size, respondents.n_reports, errors, limits)
    frames = _itemset_answers(asked, plan, source, errors), _rule_answers(sides, plan, source, errors)
    for frame in frames:
        frame.attrs[ATTRIBUTE] = facts.to_json()
    return AskOutcome(*frames, facts)


def _limits(asked: set[Items], plan: "Plan", respondents: Respondents) -> dict[int, tuple[float, float, float]]:
    """Return by itemset size from which support one itemset, all asked, and all of the catalogue can be believed."""
    return {
        k: (
            lowest_discoverable_support(respondents, k),
            level_discoverable_support(respondents, k, number),
            level_discoverable_support(respondents, k, comb(plan.n_items, k)),
        )
        for k, number in sorted(Counter(map(len, asked)).items())
    }


def _items(names: Names, plan: "Plan", what: str) -> Items:
    """Return the items that names stand for, their ids increasing."""
    if isinstance(names, str | bytes | bytearray | memoryview) or not isinstance(names, Collection):
        raise TypeError(f"{what} must be a set or list of names, got a {type(names).__name__}")
    words = [str(name) for name in names]
    if not words:
        raise EstimateError(f"{what} is empty; name at least one item")
    repeated = sorted({word for word in words if words.count(word) > 1})
    if repeated:
        raise EstimateError(f"{what} names {repeated[0]!r} twice")
    unknown = [word for word in words if word not in plan.catalogue.index_of]
    if unknown:
        raise EstimateError(f"{what} names {unknown[0]!r}, which is not in the plan's catalogue")
    check_max_itemset(plan, len(words))
    return tuple(sorted(plan.catalogue.index_of[word] for word in words))


def _sides(rule: tuple[Names, Names], plan: "Plan", what: str) -> tuple[Items, Items]:
    if isinstance(rule, str | bytes) or not isinstance(rule, Sequence) or len(rule) != 2:
        raise TypeError(f"{what} must be a pair: the names of the antecedent and those of the consequent")
    left, right = (
        _items(side, plan, f"the {name} of {what}")
        for side, name in zip(rule, ("antecedent", "consequent"), strict=True)
    )
    both = sorted({*left} & {*right})
    if both:
        raise EstimateError(f"both sides of {what} name {plan.catalogue[both[0]]!r}")
    check_max_itemset(plan, len(left) + len(right))
    return left, right


def _itemset_answers(asked: list[Items], plan: "Plan", source: Source, errors: ErrorOptions) -> LightFrame:
    parts, order = [], []
    for k in sorted({len(row) for row in asked}):
        places = [place for place, row in enumerate(asked) if len(row) == k]
        counted = count_subsets(source, np.array([asked[place] for place in places], dtype=np.int64))
        names = [names_of(plan.catalogue, asked[place]) for place in places]
        parts.append(LightFrame(estimate_columns(names, counted.sums(), counted.estimates(), source[1], errors)))
        order += places
    if not parts:
        return LightFrame({name: np.empty(0) for name in COLUMNS if name != "frequent"})
    return _in_order(parts, order)


def _rule_answers(asked: list[tuple[Items, Items]], plan: "Plan", source: Source, errors: ErrorOptions) -> LightFrame:
    shapes = [(len(left), len(right)) for left, right in asked]
    parts, order = [], []
    for shape in sorted(set(shapes)):
        places = [place for place, one in enumerate(shapes) if one == shape]
        # the antecedent first: bit i of a mask is the i-th of these
        rows = [[*asked[place][0], *asked[place][1]] for place in places]
        counted = count_subsets(source, np.array(rows, dtype=np.int64))
        masks = (1 << sum(shape)) - 1, (1 << shape[0]) - 1, ((1 << shape[1]) - 1) << shape[0]
        b, a, c = (counted.estimates(mask).support.astype(np.float64) for mask in masks)
        inside = [1] * shape[0] + [0] * shape[1]
        found = RuleEstimates.of(counted.counts, counted.respondents, inside, (b, a, c), errors.population)
        sides = [[names_of(plan.catalogue, asked[place][side]) for place in places] for side in (0, 1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = rule_frame(sides, (b, a, c), found.std_errors())
        part = part.assign(**dict(zip(INTERVAL, found.confidence_intervals(errors.confidence_level).T, strict=True)))
        unknown = {name: np.where(a <= 0, np.nan, part[name]) for name in part.columns if name not in KNOWN_ANYWAY}
        parts.append(part.assign(**unknown))  # a share of what is not there
        order += places
    return _in_order(parts, order) if parts else empty_rules([*METRICS, *ERRORS, *INTERVAL])


def not_told(rules: LightFrame) -> list[str]:
    """Say of each rule asked what of it the reports do not tell from nobody: ``antecedent``, ``rule`` or nothing.

    Fieller's interval is all of [0, 1] where the antecedent's support may be 0. A rule's own support may be 0 where it
    is below two standard errors; its confidence is then known from above alone.
    """
    low, high = (rules[name] for name in INTERVAL)
    rare = rules["support"] < LEAST_SUPPORT * rules["support_std_error"]
    words = np.where((low <= 0) & (high >= 1), "antecedent", np.where(rare, "rule", ""))
    return [str(word) for word in words]


def _in_order(parts: list[LightFrame], places: list[int]) -> LightFrame:
    """Put answers, which are to stand in these places, in the order asked."""
    return put_together(parts).take(np.argsort(places))


@dataclass(frozen=True, slots=True)
class AskedItemsets:
    """What reports show of all subsets of the itemsets asked for, which are of one size, and whose reports they are.

    ``counts`` are how many show all of a subset, by mask, bit i being item i, int64 (itemsets, 2^k).
    """

    respondents: Respondents
    counts: NDArray[np.int64]

    def estimates(self, mask: int = -1) -> SupportEstimates:
        """Return the supports of a subset of every itemset, of all of it by default, with their variances."""
        return estimate_supports(self.sums(mask), self.respondents)

    def sums(self, mask: int = -1) -> NDArray[np.int64]:
        """Return its C_0 … C_j, the sums over the subsets of each size, int64 (itemsets, j + 1)."""
        return subset_sums(self.counts, mask % self.counts.shape[1])


def count_subsets(source: Source, itemsets: NDArray[np.int64]) -> AskedItemsets:
    """Count all subsets of itemsets of one size: different item ids, int64 (itemsets, k), in any order."""
    return AskedItemsets(respondents_of(source), source[0].subsets(itemsets))
