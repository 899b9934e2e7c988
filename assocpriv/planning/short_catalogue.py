"""Short catalogues: plans for the most frequent items only.

Noise grows with the size of the catalogue and of transactions, but most items are in no frequent itemset. With a short
catalogue, transactions hold fewer items, so M and the noise are smaller. The best-selling items are known beforehand
from sales figures. After a first collection, the most frequent items are known; a second collection is then made from a
disjoint sample of people. This module uses mined tables and plans, no records.

Let v₂ be N Var of a pair's support under either plan, at the reference support in whole baskets. A second plan is
better than collecting more reports under the first one if

    ρ = v₂(n, M₁) F₁² / (v₂(K, M₂) F₂²) ≥ 2        and baskets hold at most M₂ items of the catalogue on average

(F as in expected_error.py; the second basket-size distribution is the first one thinned to the share of purchases that
falls on the K items).

The second plan has the first plan's guarantee. With a central guarantee, it has the same one for the number of reports
in the second collection, and its local guarantee is not weaker. For a person who sends reports under both plans, γ
multiplies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.mined_tables import AnyFrame, LightFrame, mining_facts, read_table
from assocpriv.guarantees.amplification import highest_posterior, lowest_posterior, round_epsilon_up
from assocpriv.guarantees.errors import EstimateError, pluralize
from assocpriv.guarantees.exact_numbers import check_range
from assocpriv.planning.basket_planner import PlannedCollection, choose_plan
from assocpriv.planning.expected_error import BasketSizes, expected_error
from assocpriv.planning.operator_designs import MOST_REPORTS
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Names
from assocpriv.plans.result_display import bound_text, html_renderer, plan_bound, rows_frame, short_repr

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
BEST = 100  # items of a short catalogue
_PAYS = 2.0  # minimum ρ
_LEAST_ITEMS = 2
_SIZES, _FEW_REPORTS = (5, 6), 50_000  # a good M for a short catalogue, with few reports and with more
_LEAST_SHARE = 0.01  # minimum share of purchases, even if reports show next to nothing
_FEW_ITEMS = 2  # catalogues of at most this many times the short one's items are not shortened


@dataclass(frozen=True, slots=True)
class ShortCatalogue:
    """The effect of a short catalogue.

    Attributes:
        items: number of items.
        share: share of all purchases that falls on them.
        held: mean number of them in a basket.
        gain: ρ, the ratio of variances of a pair's support.
        pays: whether the short catalogue is better.
    """

    items: int
    share: float
    held: float
    gain: float
    pays: bool

    @property
    def error(self) -> float:
        """Standard error of a pair relative to that of the full catalogue."""
        return float(self.gain**-0.5)


def short_catalogue(choice: PlannedCollection) -> ShortCatalogue | None:
    """Return the effect of a catalogue of the 100 best-selling items; None if there are not many more.

    Their share of purchases is assumed by Zipf's law: the i-th item is bought 1/i times as often as the first.
    """
    n_items = choice.plan.n_items
    if n_items <= _FEW_ITEMS * BEST:
        return None
    ranks = 1 / np.arange(1.0, n_items + 1)
    share = float(ranks[:BEST].sum() / ranks.sum())
    m = max(_SIZES[choice.reports > _FEW_REPORTS], choice.request.largest)
    return _compare(choice.plan, choice.request.sizes, choice.reports, range(BEST), share, transaction_size=m)[0]


def _compare(
    first: Plan, sizes: BasketSizes, reports: int, items: "Sequence[str] | range", share: float, **options: Any
) -> tuple[ShortCatalogue, Plan]:
    """Return the effect of a short catalogue, and the plan for it."""
    thinned = sizes.thinned(share)
    size = min(first.items.itemset_size, len(items))
    names = [str(item) for item in items] if isinstance(items, range) else items
    guarantee: dict[str, Any] = {"guarantee": first.guarantee}
    if first.central:
        central = replace(first.central, reports=reports)
        guarantee = {"guarantee": None, "central": central, "local_cap": first.guarantee}
    second = choose_plan(
        names, **guarantee, reports=reports, reports_per_person=first.reports_per_person, sample=thinned,
        itemset_size=size, **options,
    ).plan  # fmt: skip
    k = min(2, size)
    noises = [
        expected_error(plan.items, each, reports * float(plan.share(plan.items)), k).noise
        for plan, each in ((first, sizes), (second, thinned))
    ]
    gain = (noises[0] / noises[1]) ** 2
    pays = gain >= _PAYS and thinned.mean <= second.items.transaction_size
    return ShortCatalogue(len(items), share, thinned.mean, gain, pays), second


@dataclass(frozen=True, slots=True)
class Refinement:
    """A plan for a second collection, from people who sent no report under the first plan.

    Attributes:
        plan: the second plan, with a short catalogue.
        before: the first plan.
        short: the effect of the short catalogue.
        reports: expected number of reports of the second collection.
    """

    plan: Plan
    before: Plan
    short: ShortCatalogue
    reports: int

    @property
    def amplification_limit(self) -> Fraction:
        """Strict upper bound of γ1^R1 · γ2^R2, for all reports of one person under both plans."""
        return self.before.guarantee.amplification_limit * self.plan.guarantee.amplification_limit

    @property
    def highest_posterior(self) -> Fraction:
        """Strict upper bound of the posterior for the guarantee's prior, if a person reports under both plans."""
        return highest_posterior(self.plan.guarantee.prior, self.amplification_limit)

    @property
    def lowest_posterior(self) -> Fraction:
        """Strict lower bound of the posterior for a prior of the guarantee's posterior, under both plans."""
        return lowest_posterior(self.plan.guarantee.posterior, self.amplification_limit)

    _repr_html_ = html_renderer("assocpriv.show.plan_views:refinement")

    def __repr__(self) -> str:
        pays = "pays" if self.short.pays else "does not pay"
        return short_repr(self, f"{pays}: errors of pairs are {self.short.error:.0%} of the first plan's", [
            f"{pluralize(self.short.items, 'item')} with {self.short.share:.0%} of all purchases, "
            f"{self.short.held:.3g} in a basket on average",
            f"{pluralize(self.reports, 'report')}, {plan_bound(self.plan)}",
            f"a person who reports under both plans: {bound_text(self.amplification_limit, '<')}",
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return one row: the effect of the short catalogue, and ε of the second plan and of both plans.

        Returns:
            A pandas frame with the columns ``items``, ``share``, ``items_per_basket``, ``relative_error``, ``pays``,
            ``reports``, ``epsilon`` and ``epsilon_both`` (in nats).
        """
        short, limits = self.short, (self.plan.guarantee.amplification_limit, self.amplification_limit)
        epsilons = (round_epsilon_up(limit) for limit in limits)
        columns = "items share items_per_basket relative_error pays reports epsilon epsilon_both"
        row = (short.items, short.share, short.held, short.error, short.pays, self.reports, *epsilons)
        return rows_frame(columns, [row])


def refine(
    itemsets: "AnyFrame | str | Path", plan: Plan, *, best: int = BEST, reports: int | None = None
) -> Refinement:
    """Plan a second collection about the most frequent items of a first one, from a disjoint sample of people.

    Args:
        itemsets: a table from :func:`assocpriv.mine`, or a file of one.
        plan: the plan of the table's reports.
        best: number of items of the short catalogue; 64 to 100 give the best results.
        reports: expected number of reports; by default that of the table.

    Returns:
        ``plan``, the second plan, with the first plan's guarantee; ``short.pays``, whether it is better than collecting
        more reports under the first plan; and for a person who reports under both: ``amplification_limit`` (the
        product of both limits), ``highest_posterior``, ``lowest_posterior``.

    Raises:
        EstimateError: the table is of another plan, or has fewer than two single items.
        PlanError: a number is out of range, or no operator fits.
        TypeError: no plan.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea", "rye"], ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> refined = ap.refine(found, made)
    >>> sorted(refined.plan.catalogue), refined.short.pays
    (['milk', 'tea'], False)
    """
    Plan.require(plan)
    read = read_table(itemsets) if isinstance(itemsets, str | Path) else itemsets
    facts = mining_facts(read)
    if plan.plan_id not in facts.plan_ids:
        raise EstimateError(
            f"the table was mined from reports of plan {facts.plan_ids[0][:16]}…, not of {plan.plan_id[:16]}…; give "
            "the plan of its reports"
        )
    best = check_range("best", best, _LEAST_ITEMS, MAX_ITEMS)
    count = check_range("reports", facts.reports if reports is None else reports, 1, MOST_REPORTS)
    items, supports = _single_items(LightFrame.from_frame(read), plan)
    if len(items) < _LEAST_ITEMS:
        raise EstimateError(
            f"a short catalogue needs {_LEAST_ITEMS} single items, the table has {len(items)}; mine without a minimum "
            "support"
        )
    chosen = np.sort(np.argsort(-supports, kind="stable")[:best])
    names = [plan.catalogue[items[row]] for row in chosen.tolist()]
    # without reports about sizes, the table's supports give a lower bound of the mean basket size
    mean = float(supports.sum()) if facts.sizes is None else facts.sizes.mean
    sizes = BasketSizes.from_mean(plan.n_items, min(max(mean, _LEAST_SHARE), plan.n_items))
    share = float(np.clip(supports[chosen].sum() / sizes.mean, _LEAST_SHARE, 1.0))
    short, second = _compare(plan, sizes, count, names, share, names=_short_names(names, plan))
    return Refinement(second, plan, short, count)


def _single_items(table: LightFrame, plan: Plan) -> tuple[list[int], Floats]:
    """Return the single items of a table as increasing numbers in the plan, with their supports."""
    index = plan.catalogue.index_of
    if not all(name in index for itemset in table["itemsets"] for name in itemset):
        raise EstimateError(
            "the table has items that are not in the plan; if it was mined from several plans, give the one with the "
            "most items"
        )
    rows = zip(table["itemsets"], table["support"].tolist(), strict=True)
    known = {index[min(names)]: support for names, support in rows if len(names) == 1}
    items = sorted(known)
    return items, np.array([known[item] for item in items], dtype=np.float64)


def _short_names(items: list[str], before: Plan) -> Names:
    """Return rules that roll names up as before, without turning a removed item into its ancestor."""
    rules, index = before.names, {name: place for place, name in enumerate(items)}
    removed = {name for name in before.catalogue if name not in index and rules.roll_up(name, index) >= 0}
    return Names(unlisted="drop", parents=rules.parents, left_out=tuple(sorted({*rules.left_out, *removed})))
