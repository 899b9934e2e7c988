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
from assocpriv.server.itemsets import ATTRIBUTE, COLUMNS, BlockFacts, estimate_columns, facts_of_blocks, names_of
from assocpriv.server.mining import check_max_itemset
from assocpriv.server.rules import ERRORS, LEAST_SUPPORT, NEEDS_ITEMS, SIDES, RuleEstimates, empty_rules, rule_frame
from assocpriv.server.selection import METRICS
from assocpriv.server.supports import (
    Respondents,
    SubsetCounts,
    SupportEstimates,
    estimate_supports,
    lowest_discoverable_support,
)

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan

    pass

ANSWERS = "assocpriv-answers"
NOT_ASKED = "not asked"
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
    blocks: BlockFacts | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content, an infinite support being null."""
        content = {"format": ANSWERS, "plan_id": self.plan_id, "transaction_size": self.transaction_size}
        content |= {"reports": self.reports} | asdict(self.errors)
        content |= {} if self.blocks is None else {"blocks": self.blocks.to_json()}
        for place, what in enumerate(["lowest", "asked", "level"]):
            limits = {str(k): supports[place] for k, supports in self.limits.items()}
            content[f"{what}_discoverable_support"] = {k: s if s < math.inf else None for k, s in limits.items()}
        return content


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """What reports say of the itemsets and rules that were asked for, in the order they were asked for.

    ``itemsets`` has the columns of a mined table but ``frequent``; ``rules`` those of mined rules, and the interval of
    the confidence. ``facts`` say what they come from, and are the tables' ``attrs`` too, as JSON content. With blocks
    itemsets also have ``reports`` and ``sampling_loss``; what no block holds whole was not asked, and is NaN.
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
    asked = [_entries(names, plan, f"itemset {place}") for place, names in enumerate(itemsets, 1)]
    sides = [_sides(rule, plan, f"rule {place}") for place, rule in enumerate(rules, 1)]
    source = backend.open(Part.WHOLE)
    respondents = respondents_of(source)
    if not respondents.n_reports:
        raise EstimateError("there are no reports to ask; collect some first")
    unions = [tuple(sorted(left + right)) for left, right in sides]
    limits, blocks = _limits({*asked, *unions}, plan, respondents), facts_of_blocks(source, plan)
    itemset_frame = _itemset_answers(asked, plan, source, errors, blocks)
    if blocks is not None and asked:
        blocks = blocks.with_rows(itemset_frame)
    facts = AnswerFacts(
        plan.plan_id, plan.transaction_size, respondents.n_reports, errors, limits, plan.view.kind, blocks
    )
    frames = itemset_frame, _rule_answers(sides, plan, source, errors)
    for frame in frames:
        frame.attrs[ATTRIBUTE] = facts.to_json()
    return AskOutcome(*frames, facts)


def _limits(asked: set[Entries], plan: "Plan", respondents: Respondents) -> dict[int, tuple[float, float, float]]:
    """Return by itemset size from which support one itemset, all asked, and all of the catalogue can be believed."""
    return {
        k: (
            lowest_discoverable_support(respondents, k),
            level_discoverable_support(respondents, k, number),
            level_discoverable_support(respondents, k, comb(plan.n_items, k)),
        )
        for k, number in sorted(Counter(map(len, asked)).items())
    }


def _entries(names: Names, plan: "Plan", what: str) -> Entries:
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


def _sides(rule: tuple[Names, Names], plan: "Plan", what: str) -> tuple[Entries, Entries]:
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
    asked: list[Entries], plan: "Plan", source: Source, errors: ErrorOptions, blocks: BlockFacts | None
) -> LightFrame:
    parts, order = [], []
    for k in sorted({len(row) for row in asked}):
        places = [place for place, row in enumerate(asked) if len(row) == k]
        counted = count_subsets(source, np.array([asked[place] for place in places], dtype=np.int64))
        names = [names_of(plan.catalogue, plan.view, asked[place]) for place in places]
        estimates = counted.estimates()
        part = LightFrame(estimate_columns(names, counted.sums(), estimates, source[1], errors))
        if blocks is not None:
            part = part.assign(reports=estimates.asked, sampling_loss=blocks.held.lost(estimates.support, k))
        parts.append(part)
        order += places
    if not parts:
        return LightFrame({name: np.empty(0) for name in COLUMNS if name != "frequent"})
    return _in_order(parts, order)


def _rule_answers(
    asked: list[tuple[Entries, Entries]], plan: "Plan", source: Source, errors: ErrorOptions
) -> LightFrame:
    shapes = [(len(left), len(right)) for left, right in asked]
    parts, order = [], []
    for shape in sorted(set(shapes)):
        places = [place for place, one in enumerate(shapes) if one == shape]
        # the antecedent first: bit i of a mask is the i-th of these
        rows = [[*asked[place][0], *asked[place][1]] for place in places]
        counted = count_subsets(source, np.array(rows, dtype=np.int64))
        masks = (1 << sum(shape)) - 1, (1 << shape[0]) - 1, ((1 << shape[1]) - 1) << shape[0]
        b, a, c = (_support_of_side(counted, mask, source, np.array(rows)) for mask in masks)
        inside = [1] * shape[0] + [0] * shape[1]
        told = np.flatnonzero(counted.counted.asked[:, -1])  # with blocks: what some block holds whole
        known = b[told], a[told], c[told]
        found = RuleEstimates.of(counted.counted.among(told), counted.respondents, inside, known, errors.population)
        intervals = found.confidence_intervals(errors.confidence_level)
        sides = [[names_of(plan.catalogue, plan.view, asked[place][side]) for place in places] for side in (0, 1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = rule_frame(sides, (b, a, c), [_spread(each, told, len(places)) for each in found.std_errors()])
        part = part.assign(**{
            name: _spread(end, told, len(places)) for name, end in zip(INTERVAL, intervals.T, strict=True)
        })  # fmt: skip
        unknown = {name: np.where(a <= 0, np.nan, part[name]) for name in part.columns if name not in KNOWN_ANYWAY}
        parts.append(part.assign(**unknown))  # a share of what is not there
        order += places
    return _in_order(parts, order) if parts else empty_rules([*METRICS, *ERRORS, *INTERVAL])


def _spread(values: NDArray[np.float64], places: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return values at their places among so many, NaN elsewhere."""
    spread = np.full(count, np.nan)
    spread[places] = values
    return spread


def _support_of_side(
    counted: "AskedItemsets", mask: int, source: Source, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the supports of the items of a mask, from all reports that tell of them, which may be more."""
    asked = counted.counted.asked
    if (asked[:, mask] > asked[:, -1]).any():
        counted, mask = count_subsets(source, rows[:, [i for i in range(rows.shape[1]) if mask >> i & 1]]), -1
    return counted.estimates(mask).support.astype(np.float64)


def not_told(rules: LightFrame) -> list[str]:
    """Say of each rule asked what of it the reports do not tell from nobody: ``antecedent``, ``rule`` or nothing.

    ``not asked`` where with blocks no report tells of the rule.

    Fieller's interval is all of [0, 1] where the antecedent's support may be 0. A rule's own support may be 0 where it
    is below two standard errors; its confidence is then known from above alone.
    """
    low, high = (rules[name] for name in INTERVAL)
    nothing = np.isnan(rules["support"])
    rare = rules["support"] < LEAST_SUPPORT * rules["support_std_error"]
    words = np.where((low <= 0) & (high >= 1), "antecedent", np.where(rare, "rule", ""))
    return [str(word) for word in np.where(nothing, NOT_ASKED, words)]


def _in_order(parts: list[LightFrame], places: list[int]) -> LightFrame:
    """Put answers, which are to stand in these places, in the order asked."""
    return put_together(parts).take(np.argsort(places))


@dataclass(frozen=True, slots=True)
class AskedItemsets:
    """What reports show of all subsets of the itemsets asked for, which are of one size, and whose reports they are."""

    respondents: Respondents
    counted: SubsetCounts

    def estimates(self, mask: int = -1) -> SupportEstimates:
        """Return the supports of a subset of every itemset, of all of it by default, with their variances.

        With blocks these are from the reports that tell of the whole itemset.
        """
        return estimate_supports(self.sums(mask), self.respondents)

    def sums(self, mask: int = -1) -> NDArray[np.int64]:
        """Return its C_0 … C_j, the sums over the subsets of each size, int64 (itemsets, j + 1)."""
        return self.counted.sums(mask)


def count_subsets(source: Source, itemsets: NDArray[np.int64]) -> AskedItemsets:
    """Count all subsets of itemsets of one size: different item ids, int64 (itemsets, k), in any order."""
    return AskedItemsets(respondents_of(source), SubsetCounts(*source[0].subsets(itemsets)))
