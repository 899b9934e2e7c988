"""Collections in two rounds: items first, then the likeliest of them, from other people.

The noise of a pair grows with the size of the catalogue and with M, and most items are in no frequent itemset. So half
of the people, drawn at random, report on single items and on the size of their basket. The other half report on the 32
likeliest items only, under a plan whose M, operator and size classes fit what was learned. Both halves are mined
together. Nobody reports twice: each round has the guarantee of one report, and for a person who reports in both γ
multiplies.

Let v₂ be N Var of a pair's support, at the reference support in whole baskets, under a plan of the whole catalogue and
under one of the K likeliest items. Two rounds are better than one if

    ρ = v₂(n, M₁) F₁² / (v₂(K, M₂) F₂²) ≥ 1.7

as each itemset is asked of half of the people. Without what is learned about items 2 would be right; 1.7 chose best on
the tuning half of the bench (F as in expected_error.py; the second basket-size distribution is the first one thinned to
the share of purchases that falls on the K items). Before the first round that share is assumed by Zipf's law: the i-th
item is bought 1/i times as often as the first. If nothing is known about basket sizes, two rounds are always better: an
M chosen for a wrong mean costs more than half of the people. For catalogues of up to 36 items the first round is a
pilot of 2% of the people, from which the second learns sizes alone; with known sizes there is none. (On generated
baskets over 33 items the pilot's errors were a sixth smaller, over 40 equal, over 64 a tenth larger.) M of the second
round is at least 5: for smaller M the truncation correction is the larger error, and errors were up to twice as large
on data.

With a central guarantee each round has its own, for batches of its number of reports, and the local guarantee of the
second is not weaker than that of the first.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.guarantees.amplification import highest_posterior, lowest_posterior, round_epsilon_up
from assocpriv.guarantees.errors import EstimateError, PlanError, pluralize
from assocpriv.guarantees.exact_numbers import check_range
from assocpriv.guarantees.shuffle_model import CentralGuarantee, compose_central
from assocpriv.planning.basket_planner import PlannedCollection, TwoRounds, as_catalogue, choose_plan
from assocpriv.planning.expected_error import BasketSizes, expected_error
from assocpriv.planning.operator_designs import MOST_REPORTS
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Names
from assocpriv.plans.result_display import bound_text, html_renderer, plan_bound, rows_frame, short_repr

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.estimation.size_distribution import LearnedItems
    from assocpriv.guarantees.amplification import Guarantee

BEST = 32  # items of the second round
_SHORT = 36  # up to here all items are better, or as good
_PAYS = 1.7  # least ρ
_PILOT, _LEAST_PILOT = Fraction(1, 50), 400  # share of the people, and reports
_LEAST_ITEMS = 2
_LEAST_SIZE = 5  # M of the second round
_LEAST_SHARE = 0.01  # of purchases, even if reports show next to nothing
_ITEMSET_SIZE = 3


# ---- before the first round


def choose_rounds(
    items: int | Iterable[str], guarantee: "Guarantee | None", *, rounds: int | None, reports: int, **options: Any
) -> PlannedCollection:
    """Return the plan of a collection in one round, or of the first of two.

    Args:
        items, guarantee, options: as for :func:`choose_plan`, with ``central`` as a pair.
        rounds: 1, 2, or None for the better number.
        reports: expected number of reports in all rounds.

    Raises:
        PlanError: an argument is out of range, no operator fits, or a plan for pairs in the first of two rounds.
        TypeError: an argument has a wrong type.
    """
    if rounds is not None:
        check_range("rounds", rounds, 1, 2)
    central, items = options.get("central"), as_catalogue(items)
    reports = central.reports if isinstance(central, CentralGuarantee) else reports
    fixed = any(options.get(name) for name in ("itemset_size", "transaction_size", "paper"))
    if rounds == 1 or (rounds is None and (fixed or len(items) < 2)) or reports < 2:
        return choose_plan(items, guarantee, reports=reports, **options)
    if fixed:
        raise PlanError("the first of two rounds is about single items; leave itemset_size and transaction_size out")
    alone = choose_plan(items, guarantee, reports=reports, **options)
    ranks = 1 / np.arange(1.0, len(items) + 1)
    best = _usual_best(len(items))
    share = float(ranks[:best].sum() / ranks.sum())
    first_reports = first_count(len(items), reports)
    others = reports - first_reports
    asked = options | {"itemset_size": 1}
    if isinstance(central, CentralGuarantee):
        asked["central"] = replace(central, reports=first_reports)
    try:
        first = choose_plan(items, guarantee, reports=first_reports, **asked)
        then = _short_plan(range(best), share, alone.request.sizes, first.plan, others)
    except PlanError:  # half of the people are too few for a central guarantee
        if rounds is None:
            return alone
        raise
    gain = _gain(alone, then)
    if rounds is None and alone.request.sizes.source != "default" and (gain < _PAYS or len(items) <= _SHORT):
        return alone
    return replace(first, rounds=TwoRounds(then, alone, best, share, gain))


def first_count(n_items: int, reports: int) -> int:
    """Return how many of the reports belong to the first of two rounds.

    >>> first_count(1000, 50_001), first_count(30, 50_000), first_count(30, 700)
    (25001, 1000, 350)
    """
    half = reports - reports // 2
    return half if n_items > _SHORT else min(max(math.ceil(reports * _PILOT), _LEAST_PILOT), half)


def _usual_best(n_items: int) -> int:
    """Return how many items the second round is about, unless another number is given."""
    return BEST if n_items > _SHORT else n_items


def _short_plan(
    items: "Sequence[str] | range", share: float, sizes: BasketSizes, first: Plan, reports: int, **options: Any
) -> PlannedCollection:
    """Return the plan for items on which a share of purchases falls, with the guarantee of the first plan."""
    names = [str(item) for item in items] if isinstance(items, range) else items
    own: dict[str, Any] = {"guarantee": first.guarantee}
    if first.central:
        own = {"guarantee": None, "central": replace(first.central, reports=reports), "local_cap": first.guarantee}
    own |= {"reports": reports, "reports_per_person": first.reports_per_person, "sample": sizes.thinned(share)}
    own |= {"itemset_size": min(_ITEMSET_SIZE, len(names)), "other_means": False} | options
    chosen, least = choose_plan(names, **own), min(_LEAST_SIZE, len(names))
    return chosen if chosen.plan.items.transaction_size >= least else choose_plan(names, **own, transaction_size=least)


def _gain(first: PlannedCollection, second: PlannedCollection) -> float:
    """Return ρ of two plans, for the same number of reports."""
    k = min(2, second.plan.items.itemset_size, first.plan.items.itemset_size)
    noises = [
        expected_error(each.plan.items, each.request.sizes, float(each.plan.share(each.plan.items)), k).noise
        for each in (first, second)
    ]
    return (noises[0] / noises[1]) ** 2


# ---- after it


@dataclass(frozen=True, slots=True)
class NextRound:
    """A plan for the second round of a collection, from people who sent no report in the first.

    Attributes:
        plan: the plan of the second round.
        before: the plan of the first round.
        choice: the second plan with its expected errors.
        mean_size: mean number of items in a basket, as learned.
        share: share of all purchases that falls on the items of the second round.
        reports: expected number of reports of the second round.
    """

    plan: Plan
    before: Plan
    choice: PlannedCollection
    mean_size: float
    share: float
    reports: int

    @property
    def amplification_limit(self) -> Fraction:
        """Strict upper bound of γ1^R1 · γ2^R2, for all reports of one person under both plans."""
        return self.before.guarantee.amplification_limit * self.plan.guarantee.amplification_limit

    @property
    def highest_posterior(self) -> Fraction:
        """Strict upper bound of the posterior for the guarantee's prior, if a person reports in both rounds."""
        return highest_posterior(self.plan.guarantee.prior, self.amplification_limit)

    @property
    def lowest_posterior(self) -> Fraction:
        """Strict lower bound of the posterior for a prior of the guarantee's posterior, in both rounds."""
        return lowest_posterior(self.plan.guarantee.posterior, self.amplification_limit)

    @property
    def central(self) -> tuple[Fraction, Fraction] | None:
        """(ε, δ) of the batches of both rounds, for a person in both; None if a plan has no central guarantee."""
        return compose_central([self.before.central, self.plan.central])

    @property
    def held(self) -> float:
        """Mean number of the second round's items in a basket."""
        return self.choice.request.sizes.mean

    _repr_html_ = html_renderer("assocpriv.show.plan_views:next_round")

    def __repr__(self) -> str:
        count = pluralize(self.plan.n_items, "item")
        return short_repr(self, f"{count} with {self.share:.0%} of all purchases, {self.held:.3g} in a basket", [
            f"{pluralize(self.reports, 'report')}, {plan_bound(self.plan)}", *self.choice.lines(),
            f"a person who reports in both rounds: {bound_text(self.amplification_limit, '<')}",
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return one row: the items of the second round, and ε of its plan and of both.

        Returns:
            A pandas frame with the columns ``items``, ``share``, ``mean_size``, ``items_per_basket``, ``reports``,
            ``epsilon`` and ``epsilon_both`` (in nats).
        """
        limits = (self.plan.guarantee.amplification_limit, self.amplification_limit)
        epsilons = (round_epsilon_up(limit) for limit in limits)
        columns = "items share mean_size items_per_basket reports epsilon epsilon_both"
        return rows_frame(columns, [
            (self.plan.n_items, self.share, self.mean_size, self.held, self.reports, *epsilons)
        ])  # fmt: skip


def plan_next_round(learned: "LearnedItems", before: Plan, best: int | None, people: int | None) -> NextRound:
    """Return the plan of the second round, as :func:`assocpriv.refine`."""
    best = _usual_best(len(learned.names)) if best is None else check_range("best", best, _LEAST_ITEMS, MAX_ITEMS)
    sent = -(-learned.reports // before.reports_per_person)  # people, rounded up
    people = sent if people is None else check_range("people", people, 1, MOST_REPORTS)
    reports = min(people * before.reports_per_person, MOST_REPORTS)
    if len(learned.names) < _LEAST_ITEMS:
        raise EstimateError(f"a second round needs {_LEAST_ITEMS} items, the reports are about {len(learned.names)}")
    chosen = np.sort(np.argsort(-learned.supports, kind="stable")[:best])
    names, sizes = [learned.names[row] for row in chosen.tolist()], BasketSizes.from_reports(learned.sizes)
    share = float(np.clip(learned.supports[chosen].sum() / max(sizes.mean, _LEAST_SHARE), _LEAST_SHARE, 1.0))
    share = 1.0 if len(names) == len(learned.names) else share
    choice = _short_plan(names, share, sizes, before, reports, names=_short_names(names, before))
    return NextRound(choice.plan, before, choice, sizes.mean, share, reports)


def _short_names(items: list[str], before: Plan) -> Names:
    """Return rules that roll names up as before, without turning a removed item into its ancestor."""
    rules, index = before.names, {name: place for place, name in enumerate(items)}
    removed = {name for name in before.catalogue if name not in index and rules.roll_up(name, index) >= 0}
    return Names(unlisted="drop", parents=rules.parents, left_out=tuple(sorted({*rules.left_out, *removed})))
