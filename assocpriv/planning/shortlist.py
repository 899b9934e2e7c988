"""A short catalogue: asking only about items that are sold, or found, most.

Noise grows with the catalogue's and the transactions' size, and most items are in no frequent itemset. A transaction is
what a basket holds of the short catalogue: less than the basket, and so M and the noise. Known beforehand are the best
sold items from a list of sales; after a collection the likeliest ones, which other people are then asked about. Mined
tables and plans are seen, no record.

With N Var of a pair under either plan, at the usual support in whole baskets, others answering pays if

    ρ = v₂(n, M₁) F₁² / (v₂(K, M₂) F₂²) ≥ 2        and baskets hold M₂ items of the catalogue or fewer on average

(F as in expected.py, the second law of sizes being the first thinned to the share of all items bought that fall on the
K). Else as much is told by asking the remaining people what the first were asked.

The promise is the first plan's; of two promises the central one is, for as many reports as the second collection has,
and the local one is no weaker. Of whoever answers both plans more is told: γ multiplies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import AnyFrame, LightFrame
from assocpriv.planning.baskets import Choice, choose_plan
from assocpriv.planning.designs import MOST_REPORTS
from assocpriv.planning.expected import Sizes, expected_error
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import MAX_ITEMS
from assocpriv.plans.names import Names
from assocpriv.promise.breaches import highest_posterior, lowest_posterior
from assocpriv.promise.errors import EstimateError
from assocpriv.promise.numbers import check_range
from assocpriv.server.itemsets import mining_facts, read_table

Floats = NDArray[np.float64]
BEST = 100  # items of a short catalogue
_PAYS = 2.0  # ρ
_LEAST_ITEMS = 2
_SIZES, _FEW_REPORTS = (5, 6), 50_000  # M that does well for a short catalogue, of few reports and of more
_LEAST_SHARE = 0.01  # of all items bought, also where reports show next to nothing
_FEW_ITEMS = 2  # times as many as the short catalogue has: no list of sales is that even


@dataclass(frozen=True, slots=True)
class ShortCatalogue:
    """What asking only the ``items`` best sold would mean, on which a ``share`` of all items bought falls.

    ``held`` is how many of them a basket holds on average, ``gain`` the ratio ρ of variances of a pair's support.
    """

    items: int
    share: float
    held: float
    gain: float
    pays: bool

    @property
    def error(self) -> float:
        """What a pair's noise is multiplied by."""
        return float(self.gain**-0.5)


def short_catalogue(choice: Choice) -> ShortCatalogue | None:
    """Return what asking about the 100 best sold items alone would gain; None where there are not many more.

    How much of all that is bought falls on them is assumed: by Zipf's law, the i-th item being bought 1/i as often as
    the first.
    """
    n_items = choice.plan.n_items
    if n_items <= _FEW_ITEMS * BEST:
        return None
    ranks = 1 / np.arange(1.0, n_items + 1)
    share = float(ranks[:BEST].sum() / ranks.sum())
    m = max(_SIZES[choice.reports > _FEW_REPORTS], choice.request.largest)
    return _compared(choice.plan, choice.request.sizes, choice.reports, range(BEST), share, transaction_size=m)[0]


def _compared(
    first: Plan, sizes: Sizes, reports: int, items: "Sequence[str] | range", share: float, **wishes: Any
) -> tuple[ShortCatalogue, Plan]:
    """Return what asking only some items would mean, and the plan for it."""
    thinned = sizes.thinned(share)
    size = min(first.items.itemset_size, len(items))
    asked = [str(item) for item in items] if isinstance(items, range) else items
    promise: dict[str, Any] = {"promise": first.promise}
    if first.central:
        central = replace(first.central, reports=reports)
        promise = {"promise": None, "central": central, "local_cap": first.promise}
    second = choose_plan(
        asked, **promise, reports=reports, reports_per_person=first.reports_per_person, like=thinned,
        itemset_size=size, **wishes,
    ).plan  # fmt: skip
    k = min(2, size)
    noises = [
        expected_error(plan.items, law, reports * float(plan.share(plan.items)), k).noise
        for plan, law in ((first, sizes), (second, thinned))
    ]
    gain = (noises[0] / noises[1]) ** 2
    pays = gain >= _PAYS and thinned.mean <= second.items.transaction_size
    return ShortCatalogue(len(items), share, thinned.mean, gain, pays), second


@dataclass(frozen=True, slots=True)
class Refinement:
    """A plan for other people than those of the plan of the table, ``before``.

    ``short`` says what asking ``reports`` people about these items alone means, and whether it pays.
    """

    plan: Plan
    before: Plan
    short: ShortCatalogue
    reports: int

    @property
    def amplification_limit(self) -> Fraction:
        """What γ1^R1 · γ2^R2, of all reports of one person under both plans, stays strictly below."""
        return self.before.promise.amplification_limit * self.plan.promise.amplification_limit

    @property
    def highest_posterior(self) -> Fraction:
        """What the promise's prior becomes at most for whoever answers both plans, in full; strictly below."""
        return highest_posterior(self.plan.promise.prior, self.amplification_limit)

    @property
    def lowest_posterior(self) -> Fraction:
        """What a belief in the promise's posterior becomes at least for whoever answers both; strictly above."""
        return lowest_posterior(self.plan.promise.posterior, self.amplification_limit)


def refine(
    itemsets: "AnyFrame | str | Path", plan: Plan, *, best: int = BEST, reports: int | None = None
) -> Refinement:
    """Plan a next collection, of other people, about the items that the reports of one showed to be likeliest.

    Args:
        itemsets: a table as :func:`assocpriv.mine` returned it, or a file of it.
        plan: the plan it was mined with.
        best: items of the short catalogue; 64 to 100 do best.
        reports: how many people will answer; as many as in the table by default.

    Returns:
        ``plan``, with the promise of the first one; ``short.pays``, whether it tells more than asking these people what
        the first were asked; and what holds for whoever answers both: ``amplification_limit`` (the product of both),
        ``highest_posterior``, ``lowest_posterior``.

    Raises:
        EstimateError: a table of another plan, or of fewer than two items.
        PlanError: numbers out of range, or no operator fits.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea", "rye"], ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> refined = ap.refine(found, made)
    >>> sorted(refined.plan.catalogue), refined.short.pays
    (['milk', 'tea'], False)
    """
    Plan.of(plan)
    read = read_table(itemsets) if isinstance(itemsets, str | Path) else itemsets
    facts = mining_facts(read)
    if plan.plan_id not in facts.plan_ids:
        raise EstimateError(
            f"the table was mined with plan {facts.plan_ids[0][:16]}…, not with the plan given, {plan.plan_id[:16]}…; "
            "give the plan of its reports"
        )
    best = check_range("best", best, _LEAST_ITEMS, MAX_ITEMS)
    count = check_range("reports", facts.reports if reports is None else reports, 1, MOST_REPORTS)
    items, supports = _single_items(LightFrame.of(read), plan)
    if len(items) < _LEAST_ITEMS:
        raise EstimateError(
            f"a short catalogue needs {_LEAST_ITEMS} single items, the table has {len(items)}; mine "
            "without a minimum support"
        )
    chosen = np.sort(np.argsort(-supports, kind="stable")[:best])
    names = [plan.catalogue[items[row]] for row in chosen.tolist()]
    # where nobody was asked, baskets hold at least what the table's items come to
    told = float(supports.sum()) if facts.sizes is None else facts.sizes.mean
    sizes = Sizes.usual(plan.n_items, min(max(told, _LEAST_SHARE), plan.n_items))
    share = float(np.clip(supports[chosen].sum() / sizes.mean, _LEAST_SHARE, 1.0))
    short, second = _compared(plan, sizes, count, names, share, names=_names_of(names, plan))
    return Refinement(second, plan, short, count)


def _single_items(table: LightFrame, plan: Plan) -> tuple[list[int], Floats]:
    """Return the single items of a table by their numbers in the plan, increasing, with their supports."""
    index = plan.catalogue.index_of
    if not all(name in index for itemset in table["itemsets"] for name in itemset):
        raise EstimateError(
            "the table names items that the plan does not have; of several plans give that of the most items"
        )
    rows = zip(table["itemsets"], table["support"].tolist(), strict=True)
    known = {index[min(names)]: support for names, support in rows if len(names) == 1}
    items = sorted(known)
    return items, np.array([known[item] for item in items], dtype=np.float64)


def _names_of(items: list[str], before: Plan) -> Names:
    """Roll names up as before; an item that the shortlist lacks must not become the one above it."""
    rules, index = before.names, {name: place for place, name in enumerate(items)}
    fallen = {name for name in before.catalogue if name not in index and rules.roll_up(name, index) >= 0}
    return Names(others="drop", parents=rules.parents, left_out=tuple(sorted({*rules.left_out, *fallen})))
