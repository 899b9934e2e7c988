"""A plan for other people, of the items that may belong to the itemsets wanted: a shortlist is its catalogue.

Noise grows with the catalogue's and the transactions' size, and most items are in no frequent itemset. Mined tables and
plans are seen, no record. A transaction is what a basket holds of the shortlist: less than the basket, and so M and the
noise. How many items of it people hold is taken for Poisson around the sum of their supports; M follows from that, as
from a sample (transaction_size.py). It is too small where baskets differ much.

The promise is the first plan's. Of whoever answers both plans more is told: γ multiplies.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import exp, lgamma, log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import AnyFrame, LightFrame
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.designs import MOST_REPORTS
from assocpriv.planning.request import PlanWishes
from assocpriv.planning.transaction_size import propose_transaction_size
from assocpriv.plans.baskets import Plan
from assocpriv.plans.names import Names
from assocpriv.promise.breaches import highest_posterior, lowest_posterior
from assocpriv.promise.errors import EstimateError
from assocpriv.promise.numbers import check_range
from assocpriv.server.itemsets import mining_facts, read_table

Floats = NDArray[np.float64]
REACH = 1.5  # standard errors of an item's support, with which it may reach what the last itemset wanted has
MOST_ITEMS = 4  # times as many items as itemsets are wanted
_LEAST_ITEMS = 2
_LARGEST_ITEMSET = 4  # items of an itemset that may be wanted
_MOST_TOP = 100_000
_PEOPLE = 1_000  # of the law of how many items are held: what is rarer counts for nothing
_LEAST_HELD = 0.01  # on average: noise can make the sum of supports less than nothing


@dataclass(frozen=True, slots=True)
class Refinement:
    """A plan for other people than those of the plan of the table, ``before``, and what it was made for.

    ``held`` is how many items of the shortlist a person is expected to hold, ``reports`` how many people will answer.
    """

    plan: Plan
    before: Plan
    held: float
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


def refine(itemsets: "AnyFrame | str | Path", plan: Plan, *, top: int = 64, reports: int | None = None) -> Refinement:
    """Plan a next collection, of other people, from what the reports of one showed: its catalogue is a shortlist.

    Args:
        itemsets: a table as :func:`assocpriv.mine` returned it, or a file of it.
        plan: the plan it was mined with.
        top: itemsets wanted. The shortlist has the items that may belong to them, as far as noise leaves it open
            (docs/cli/server.md has the rule).
        reports: how many people will answer; as many as in the table by default.

    Returns:
        ``plan``, with the promise of the first one, and what holds for whoever answers both: ``amplification_limit``
        (the product of both), ``highest_posterior``, ``lowest_posterior``.

    Raises:
        EstimateError: a table of another plan, or of fewer than two items.
        PlanError: numbers out of range, or no operator fits.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> sorted(ap.refine(found, made, top=2).plan.catalogue)
    ['milk', 'tea']
    """
    Plan.of(plan)
    read = read_table(itemsets) if isinstance(itemsets, str | Path) else itemsets
    facts = mining_facts(read)
    if facts.plan_id != plan.plan_id:
        raise EstimateError(
            f"the table was mined with plan {facts.plan_id[:16]}…, not with the plan given, {plan.plan_id[:16]}…; "
            "give the plan of its reports"
        )
    top = check_range("top", top, 1, _MOST_TOP)
    count = check_range("reports", facts.reports if reports is None else reports, 1, MOST_REPORTS)
    items, supports, errors = _single_items(LightFrame.of(read), plan)
    if len(items) < _LEAST_ITEMS:
        raise EstimateError(
            f"a shortlist needs {_LEAST_ITEMS} single items, the table has {len(items)}; mine with a lower minimum "
            "support"
        )
    chosen = shortlisted(supports, errors, top)
    names = [plan.catalogue[items[row]] for row in chosen]
    held = max(float(np.clip(supports[chosen], 0.0, 1.0).sum()), _LEAST_HELD)
    wishes = PlanWishes(promise=plan.promise, reports=count)
    rows = propose_transaction_size(poisson(held, len(names)), wishes)
    size = next(row.transaction_size for row in rows if row.proposed)
    return Refinement(
        make_plan(names, size, plan.promise, reports=count, names=_names_of(names, plan)), plan, held, count
    )


def shortlisted(supports: Floats, errors: Floats, wanted: int) -> list[int]:
    """Return which items may belong to the itemsets wanted, by increasing position, from estimates of their supports.

    Those whose supports and REACH standard errors reach what the last itemset wanted would have, were items
    independent; at most MOST_ITEMS times as many as itemsets are wanted.

    >>> shortlisted(np.array([0.5, 0.01, 0.4, 0.19]), np.array([0.0, 0.0, 0.0, 0.01]), 3)
    [0, 2, 3]
    """
    wanted = max(wanted, _LEAST_ITEMS)
    upper = supports + REACH * errors
    count = min(int((upper >= guessed_least(supports, wanted)).sum()), MOST_ITEMS * wanted)
    return sorted(np.argsort(-upper, kind="stable")[: max(count, _LEAST_ITEMS)].tolist())


def guessed_least(items: Floats, wanted: int) -> float:
    """Return about which support the last of the wanted itemsets has, were items of these supports independent.

    >>> guessed_least(np.array([0.5, 0.25, 0.25]), 4)
    0.125
    """
    items = np.sort(np.clip(items, 0.0, 1.0))[::-1][: max(wanted, 1)]
    numbers = np.arange(len(items))
    supports, last, every = items, numbers, [items]
    for _ in range(1, _LARGEST_ITEMSET):
        left, right = np.nonzero(last[:, None] < numbers)
        products = supports[left] * items[right]
        best = np.argsort(-products, kind="stable")[: 4 * wanted]
        supports, last = products[best], right[best]
        every.append(supports)
    return float(np.sort(np.concatenate(every))[::-1][: max(wanted, 1)][-1])


def poisson(mean: float, most: int) -> Counter[int]:
    """Return how many of a thousand people hold 0, 1, … of so many items, by Poisson's law.

    >>> poisson(0.5, 2)
    Counter({0: 607, 1: 303, 2: 90})
    """
    shares = [exp(size * log(mean) - mean - lgamma(size + 1)) for size in range(most)]
    counts = [*(round(_PEOPLE * share) for share in shares), round(_PEOPLE * max(1 - sum(shares), 0.0))]
    return Counter({size: count for size, count in enumerate(counts) if count})


def _single_items(table: LightFrame, plan: Plan) -> tuple[list[int], Floats, Floats]:
    """Return the single items of a table by their numbers in the plan, increasing, with supports and errors."""
    index = plan.catalogue.index_of
    if not all(name in index for itemset in table["itemsets"] for name in itemset):
        raise EstimateError("the table names items that its plan does not have; it is damaged")
    rows = zip(table["itemsets"], table["support"].tolist(), table["std_error"].tolist(), strict=True)
    known = {index[min(names)]: told for names, *told in rows if len(names) == 1 and np.isfinite(told).all()}
    items = sorted(known)
    supports, errors = np.array([known[item] for item in items], dtype=np.float64).reshape(-1, 2).T
    return items, supports, errors


def _names_of(items: list[str], before: Plan) -> Names:
    """Roll names up as before; an item that the shortlist lacks must not become the one above it."""
    rules, index = before.names, {name: place for place, name in enumerate(items)}
    fallen = {name for name in before.catalogue if name not in index and rules.roll_up(name, index) >= 0}
    return Names(others="drop", parents=rules.parents, left_out=tuple(sorted({*rules.left_out, *fallen})))
