"""The next round's plan from what a round's reports showed: a short catalogue for other people.

Sees mined tables and plans. The catalogue is either a shortlist, the single items that may belong to the itemsets
wanted, or these itemsets themselves. Transactions are what a basket holds of it: smaller than baskets, and so M and
the noise.

The promise is the first plan's, and it holds for all reports that a person may send under one plan; under the next plan
that is one. Whoever answers both plans is told more about: γ multiplies, and so does what two servers could learn
together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.core.privacy import highest_posterior, lowest_posterior
from assocpriv.planning.planner import check_range
from assocpriv.planning.rounds import Schedule, items_share, plan_items, plan_itemsets, plan_shortlist
from assocpriv.planning.shortlist import held_entries, shortlist
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.view import View
from assocpriv.server.itemsets.frames import mining_facts
from assocpriv.server.rounds.combine import KeptShares, Supports, sizes_held, sizes_of_table, undo_table
from assocpriv.server.rounds.knowledge import Knowledge, measured
from assocpriv.server.rounds.sampling_model import SizeShares

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
HISTOGRAM, POISSON = "histogram", "poisson"
DEFAULT_TOP = 64
_LEAST_ENTRIES = 2
_MOST_TOP = 100_000


@dataclass(frozen=True, slots=True)
class Refinement:
    """A plan for the next round, and what it was made for.

    Attributes:
        plan: for other people than those of ``before``.
        before: the plan of the table.
        held: expected distribution of how many entries a transaction has.
        basis: where that comes from: ``histogram`` (reports of a sizes plan), or ``poisson`` around the sum of the
            supports.
        reports: how many were planned for.
        people: who should answer each of the rounds to come, by their names, after a round of sizes; None after others.
    """

    plan: Plan
    before: Plan
    held: SizeShares
    basis: str
    reports: int
    people: dict[str, int] | None = None

    @property
    def amplification_limit(self) -> Fraction:
        """The γ that all reports of one person under both plans stay strictly below: the limits' product.

        With R1 and R2 reports a person it bounds γ1^R1 · γ2^R2, for each plan keeps its own power below its limit.
        """
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
    frame: "pd.DataFrame",
    plan: Plan,
    top: int = DEFAULT_TOP,
    *,
    candidates: bool = False,
    sizes: SizeShares | None = None,
    reports: int | None = None,
    catalogue: Catalogue | None = None,
) -> Refinement:
    """Plan the next round, for other people, from a mined table.

    After a round of sizes the next one asks about all items, and how people are split over the rounds to come follows
    from the sizes, too.

    Args:
        frame: a mined table.
        plan: the plan it was mined with.
        top: itemsets wanted. The shortlist has ``Schedule.shortlist`` · top items, those of the largest supports, and
            up to ``Schedule.most`` · top as far as their supports lie at most ``Schedule.within`` standard errors below
            that of the top-th; or all there are.
        candidates: make the itemsets of the table the entries, at most ``Schedule.candidates`` · top by support with
            all their subsets as far as there is room, instead of the single items.
        sizes: of whole baskets; a Poisson law around the sum of the supports by default.
        reports: how many people will answer; as many as in the table by default. After a round of sizes all that will
            be asked in any round; by default 49 times as many as in the table, so that it was of 2%.
        catalogue: after a round of sizes that counted all names, the items to ask about.

    Raises:
        EstimateError: a table of another plan, of entries that are no items, or of fewer than two entries.
        PlanError: numbers out of range, or no operator fits.
    """
    facts = mining_facts(frame)
    if facts.plan_id != plan.plan_id:
        raise EstimateError(
            f"the table was mined with plan {facts.plan_id[:16]}…, not with the plan given, {plan.plan_id[:16]}…; "
            "give the plan of its reports"
        )
    if plan.view.kind == "sizes" and not candidates:
        if sizes is not None:
            raise EstimateError("the table is a histogram of sizes itself, so give no other")
        return _after_sizes(frame, plan, top, catalogue, reports)
    if catalogue is not None and plan.view.kind != "sizes":
        raise EstimateError("a catalogue goes with a table of sizes; from other tables come the entries themselves")
    if plan.view.kind != "items":
        raise EstimateError(
            f"a shortlist is made of items; this plan asks for {plan.view.kind}, so take an earlier round"
        )
    check_range("top", top, 1, _MOST_TOP)
    people = facts.reports if reports is None else reports
    check_range("reports", people, 1, 10**15)
    whole = None if sizes is None else sizes_held(frame, sizes)
    known = _knowledge(frame, plan, whole)
    if candidates:
        return _candidates(known, plan, top, whole, people)
    items = [(item,) for item in shortlist(known, max(top, _LEAST_ENTRIES), Schedule())] if _items(known) else []
    if len(items) < _LEAST_ENTRIES:
        raise EstimateError(
            f"a shortlist needs {_LEAST_ENTRIES} single items, the table has {len(items)}; mine with a lower minimum "
            "support"
        )
    supports = np.array([known[item].support for item in items])
    names = [plan.catalogue[item] for (item,) in items]
    made, held = plan_shortlist(names, supports, plan.promise, whole or poisson(_mean(supports)), people, top)
    return Refinement(_with_view_of(made, plan), plan, held, POISSON if whole is None else HISTOGRAM, people)


def _after_sizes(
    frame: "pd.DataFrame", plan: Plan, top: int, catalogue: Catalogue | None, reports: int | None
) -> Refinement:
    """Plan the round of all items, and split the people over it and those to come."""
    counted = _counted(plan)
    if (counted is None) == (catalogue is None):
        raise EstimateError(
            "the sizes plan counted all names, so give the catalogue of the items to ask about"
            if catalogue is None
            else "the sizes plan says which names count; these are the catalogue, so give no other"
        )
    items = counted or catalogue
    assert items is not None
    if len(items) < _LEAST_ENTRIES:
        raise EstimateError(f"a round needs {_LEAST_ENTRIES} items to ask about, got {len(items)}")
    check_range("top", top, 1, _MOST_TOP)
    schedule = Schedule()
    asked = mining_facts(frame).reports
    left = round(asked * (1 - schedule.sizes) / schedule.sizes) if reports is None else reports
    check_range("reports of the table", asked, 1, 10**15)
    check_range("reports", left, 3, 10**15)
    sizes = sizes_of_table(frame)
    people = asked + left
    share = items_share(len(items), plan.promise, sizes, people, top)
    _, first, _, last = replace(schedule, sizes=asked / people).shares(share)
    split = {"items": max(round(first * people), 1), "shortlist": 0, "itemsets": round(last * people)}
    split["shortlist"] = left - sum(split.values())
    view = View(others="drop" if counted else "error", parents=plan.view.parents, left_out=plan.view.left_out)
    made = replace(plan_items(items, plan.promise, sizes, split["items"]), view=view)
    return Refinement(made, plan, sizes, HISTOGRAM, split["items"], split)


def _counted(plan: Plan) -> Catalogue | None:
    """Return the names that a plan of sizes counts, numbers in their order; None if these are all names."""
    counted = plan.view.counted
    if not counted:
        return None
    numbers = set(map(str, range(len(counted))))
    return Catalogue.numbered(len(counted)) if numbers == set(counted) else Catalogue(counted)


def _knowledge(frame: "pd.DataFrame", plan: Plan, whole: SizeShares | None) -> Knowledge:
    """Return what a table says, by positions in the plan's catalogue; before sampling where sizes are known."""
    supports, factors = frame["support"].to_numpy(np.float64), np.ones(len(frame))
    if whole is not None:
        supports, factors = undo_table(frame, whole)
    variances = (frame["std_error"].to_numpy(np.float64) * factors) ** 2
    index = plan.catalogue.index_of
    if not all(name in index for itemset in frame["itemsets"] for name in itemset):
        raise EstimateError("the table names items that its plan does not have; it is damaged")
    rows = [tuple(sorted(index[name] for name in itemset)) for itemset in frame["itemsets"]]
    return {
        row: measured(support, variance)
        for row, support, variance in zip(rows, supports.tolist(), variances.tolist(), strict=True)
        if np.isfinite(support) and np.isfinite(variance)
    }


def _items(known: Knowledge) -> list[int]:
    return sorted(itemset[0] for itemset in known if len(itemset) == 1)


def _mean(supports: Floats) -> float:
    return float(np.clip(supports, 0.0, 1.0).sum())


def poisson(mean: float) -> SizeShares:
    """Return a Poisson distribution of sizes.

    >>> round(poisson(2.0).mean, 6)
    2.0
    """
    from scipy.special import gammaln, xlogy

    sizes = np.arange(int(mean + 10 * mean**0.5) + 10)
    shares = np.exp(xlogy(sizes, mean) - mean - gammaln(sizes + 1.0))
    return SizeShares(sizes, shares / shares.sum())


def _candidates(known: Knowledge, plan: Plan, top: int, whole: SizeShares | None, people: int) -> Refinement:
    """Make the best itemsets the entries."""
    entries = sorted(
        _best_closed(known, round(Schedule().candidates * max(top, _LEAST_ENTRIES))), key=lambda a: (len(a), a)
    )
    if len(entries) < _LEAST_ENTRIES:
        raise EstimateError(
            f"a round of itemsets needs {_LEAST_ENTRIES} of them, the table has {len(entries)}; mine with a lower "
            "minimum support"
        )
    supports = np.array([known[entry].support for entry in entries])
    items = sorted({item for entry in entries for item in entry})
    mean = _mean(np.array([known[item,].support for item in items]))
    sizes = poisson(mean) if whole is None else whole.thinned(mean)
    held = held_entries(entries, known, sizes).sizes
    names = [[plan.catalogue[item] for item in entry] for entry in entries]
    made = plan_itemsets(names, supports, plan.promise, held, people)
    return Refinement(_with_view_of(made, plan), plan, held, POISSON if whole is None else HISTOGRAM, people)


def _best_closed(known: Knowledge, most: int) -> list[tuple[int, ...]]:
    """Return the itemsets of the largest supports, each after its subsets, as far as there is room for all of these."""
    chosen: dict[tuple[int, ...], None] = {}
    for itemset in sorted(known, key=lambda a: (-known[a].support, len(a), a)):
        parts = [part for part in _subsets(itemset) if part not in chosen]
        if len(chosen) + len(parts) <= most and all(part in known for part in parts):
            chosen |= dict.fromkeys(parts)
    return list(chosen)


def _subsets(itemset: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all non-empty subsets, itself included, smaller ones first."""
    masks = sorted(range(1, 1 << len(itemset)), key=int.bit_count)
    return [tuple(item for place, item in enumerate(itemset) if mask >> place & 1) for mask in masks]


def _with_view_of(made: Plan, before: Plan) -> Plan:
    """Let the next plan roll names up as the one before it did.

    A name that was an item of its own must not become the item above it because the shortlist lacks it: it is left out.
    """
    vocabulary = made.view.vocabulary(made.catalogue)
    assert vocabulary is not None
    view = before.view
    kept = vocabulary.index_of
    fallen = {name for name in before.catalogue if name not in kept and view.roll_up(name, kept) >= 0}
    left_out = tuple(sorted({*view.left_out, *fallen}))
    if not view.parents and not left_out:
        return made
    wider = View(made.view.kind, "drop", view.parents, left_out, made.view.itemsets)
    return replace(made, view=wider)


def kept_shares(sizes: SizeShares) -> KeptShares:
    """Return what tells of a table whose entries are itemsets which share of each one's support sampling left.

    Which entries a basket holds is drawn from a tree of the strongest pairs that is known of (planning/shortlist.py).

    Args:
        sizes: of whole baskets.
    """

    def kept(frame: "pd.DataFrame", supports: Supports) -> Floats:
        listed = [tuple(sorted(itemset)) for itemset in frame["itemsets"]]
        own = dict(zip(frame["itemsets"], frame["support"].tolist(), strict=True))
        names = sorted({name for entry in listed for name in entry})
        number = {name: place for place, name in enumerate(names)}
        known: Knowledge = {}
        for itemset, support in (own | dict(supports)).items():
            if itemset <= number.keys():
                known[tuple(sorted(number[name] for name in itemset))] = measured(support, 0.0)
        for place in range(len(names)):
            if (place,) not in known:  # at least as frequent as what it is part of
                least = max(support for itemset, support in own.items() if names[place] in itemset)
                known[place,] = measured(least, 0.0)
        mean = _mean(np.array([known[place,].support for place in range(len(names))]))
        held = held_entries([tuple(number[name] for name in entry) for entry in listed], known, sizes.thinned(mean))
        m = mining_facts(frame).transaction_size
        return held.kept(m, _at_most(held.holds.sum(axis=1), m))

    return kept


def _at_most(counts: Sequence[int] | NDArray[np.int64], m: int) -> Floats:
    """Return the shares of counts ≤ 0, … ≤ m − 1."""
    shares: Floats = np.cumsum(np.bincount(np.minimum(counts, m), minlength=m + 1))[:m] / len(counts)
    return shares
