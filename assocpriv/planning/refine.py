"""The next round's plan from what a round's reports showed: a short catalogue for other people.

Sees mined tables and plans. The catalogue is either a shortlist, the single items that may belong to the itemsets
wanted, or these itemsets themselves. Transactions are what a basket holds of it: smaller than baskets, and so M and
the noise. The promise is the first plan's; of whoever answers both plans more is told: γ multiplies.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.planning.rounds import (
    LEAST_SIZES,
    EntryRule,
    People,
    PeopleSplit,
    items_share,
    plan_items,
    plan_itemsets,
    plan_shortlist,
)
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import View
from assocpriv.promise.breaches import highest_posterior, lowest_posterior
from assocpriv.promise.errors import EstimateError
from assocpriv.promise.numbers import check_range
from assocpriv.server.itemsets.frames import mining_facts
from assocpriv.server.rounds.combine import sizes_held, sizes_of_table, undo_table
from assocpriv.server.rounds.holdings import SyntheticHoldings
from assocpriv.server.rounds.knowledge import Knowledge, as_knowledge
from assocpriv.server.rounds.sampling_model import SizeShares

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
HISTOGRAM, POISSON = "histogram", "poisson"
DEFAULT_TOP = 64
_LEAST_ENTRIES = 2
_CANDIDATES = 1.5  # times the itemsets wanted
_MOST_TOP = 100_000


@dataclass(frozen=True, slots=True)
class Refinement:
    """A plan for the next round, for other people than the plan of the table, ``before``, and what it was made for.

    Attributes:
        entry_sizes: expected distribution of how many entries a transaction has.
        basis: of that: ``histogram`` (reports of a sizes plan), or ``poisson`` around the sum of the supports.
        people: how many should answer each of the rounds to come, by name, after a round of sizes; None after others.
    """

    plan: Plan
    before: Plan
    entry_sizes: SizeShares
    basis: str
    reports: int
    people: dict[str, int] | None = None

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


@dataclass(frozen=True, slots=True)
class RoundWishes:
    """What is wished of the next round; the fields are those of :func:`assocpriv.refine`.

    ``sizes`` are those of whole baskets, ``catalogue`` the items to ask about after a round of sizes of all names.
    """

    top: int = DEFAULT_TOP
    candidates: bool = False
    sizes: SizeShares | None = None
    reports: int | None = None
    catalogue: Catalogue | None = None


def refine(frame: "pd.DataFrame", plan: Plan, wishes: RoundWishes) -> Refinement:
    """Plan the next round from a mined table and the plan it was mined with, as :func:`assocpriv.refine`."""
    facts = mining_facts(frame)
    if facts.plan_id != plan.plan_id:
        raise EstimateError(
            f"the table was mined with plan {facts.plan_id[:16]}…, not with the plan given, {plan.plan_id[:16]}…; "
            "give the plan of its reports"
        )
    if wishes.catalogue is not None and not plan.view.bounds:
        raise EstimateError("a catalogue goes with a table of sizes; from other tables come the entries themselves")
    return _AFTER[plan.view.kind](frame, plan, wishes)


def _after_itemsets(_frame: "pd.DataFrame", plan: Plan, _wishes: RoundWishes) -> Refinement:
    raise EstimateError(f"a shortlist is made of items; this plan asks for {plan.view.kind}, so take an earlier round")


def _after_items(frame: "pd.DataFrame", plan: Plan, wishes: RoundWishes) -> Refinement:
    """Plan a round of a shortlist, or of itemsets."""
    top = check_range("top", wishes.top, 1, _MOST_TOP)
    count = mining_facts(frame).reports if wishes.reports is None else wishes.reports
    count = check_range("reports", count, 1, 10**15)
    whole = None if wishes.sizes is None else sizes_held(frame, wishes.sizes)
    known = _knowledge(frame, plan, whole)
    after, entry_sizes = (_itemsets if wishes.candidates else _shortlist)(known, plan, top, whole, count)
    return Refinement(_with_view_of(after, plan), plan, entry_sizes, POISSON if whole is None else HISTOGRAM, count)


def _after_sizes(frame: "pd.DataFrame", plan: Plan, wishes: RoundWishes) -> Refinement:
    """Plan the round of all items, and split the people over it and those to come."""
    if wishes.candidates:
        return _after_itemsets(frame, plan, wishes)
    if wishes.sizes is not None:
        raise EstimateError("the table is a histogram of sizes itself, so give no other")
    items, counted = _asked_about(plan, wishes.catalogue), plan.view.counted
    top = check_range("top", wishes.top, 1, _MOST_TOP)
    split, asked = PeopleSplit(), mining_facts(frame).reports
    left = round(asked * (1 - LEAST_SIZES) / LEAST_SIZES) if wishes.reports is None else wishes.reports
    check_range("reports of the table", asked, 1, 10**15)
    left = check_range("reports", left, 3, 10**15)
    people = People(plan.promise, asked + left, sizes_of_table(frame), blocks=True)
    share = items_share(len(items), people, top)
    _, first, _, last = split.shares(asked / people.count, share)
    counts = {"items": max(round(first * people.count), 1), "shortlist": 0, "itemsets": round(last * people.count)}
    counts["shortlist"] = left - sum(counts.values())
    view = View(others="drop" if counted else "error", parents=plan.view.parents, left_out=plan.view.left_out)
    after = plan_items(items, replace(people, count=counts["items"]))
    after = replace(after, view=replace(view, blocks=after.view.blocks))
    return Refinement(after, plan, people.sizes, HISTOGRAM, counts["items"], counts)


def _asked_about(plan: Plan, catalogue: Catalogue | None) -> Catalogue:
    """Return the names that a plan of sizes counts, numbers in their order, or where it counts all the catalogue."""
    counted = plan.view.counted
    if bool(counted) == (catalogue is not None):
        raise EstimateError(
            "the sizes plan says which names count; these are the catalogue, so give no other"
            if counted
            else "the sizes plan counted all names, so give the catalogue of the items to ask about"
        )
    if catalogue is None:
        numbers = set(map(str, range(len(counted))))
        catalogue = Catalogue.numbered(len(counted)) if numbers == set(counted) else Catalogue(counted)
    if len(catalogue) < _LEAST_ENTRIES:
        raise EstimateError(f"a round needs {_LEAST_ENTRIES} items to ask about, got {len(catalogue)}")
    return catalogue


_AFTER = {"sizes": _after_sizes, "items": _after_items, "itemsets": _after_itemsets}


def _knowledge(frame: "pd.DataFrame", plan: Plan, whole: SizeShares | None) -> Knowledge:
    """Return what a table says, by positions in the plan's catalogue; before sampling where sizes are known."""
    supports, factors = frame["support"].to_numpy(np.float64), np.ones(len(frame))
    if whole is not None:
        supports, factors = undo_table(frame, whole)
    variances = (frame["std_error"].to_numpy(np.float64) * factors) ** 2
    index = plan.catalogue.index_of
    if not all(name in index for itemset in frame["itemsets"] for name in itemset):
        raise EstimateError("the table names items that its plan does not have; it is damaged")
    finite = np.isfinite(supports) & np.isfinite(variances)
    rows = [tuple(sorted(index[name] for name in itemset)) for itemset in frame["itemsets"][finite]]
    return as_knowledge(rows, supports[finite], variances[finite])


def poisson(mean: float) -> SizeShares:
    """Return a Poisson distribution of sizes."""
    from scipy.special import gammaln, xlogy

    sizes = np.arange(int(mean + 10 * mean**0.5) + 10)
    shares = np.exp(xlogy(sizes, mean) - mean - gammaln(sizes + 1.0))
    return SizeShares(sizes, shares / shares.sum())


def _shortlist(known: Knowledge, plan: Plan, top: int, whole: SizeShares | None, count: int) -> tuple[Plan, SizeShares]:
    """Make the items that may belong to the wanted itemsets the entries."""
    any_item = any(len(itemset) == 1 for itemset in known)
    items = EntryRule().shortlisted(known, max(top, _LEAST_ENTRIES)) if any_item else []
    _check_enough(len(items), f"a shortlist needs {_LEAST_ENTRIES} single items")
    supports = np.array([known[item,].support for item in items])
    sizes = whole or poisson(float(np.clip(supports, 0.0, 1.0).sum()))
    people = People(plan.promise, count, sizes, blocks=True)
    return plan_shortlist([plan.catalogue[item] for item in items], supports, people, top)


def _itemsets(known: Knowledge, plan: Plan, top: int, whole: SizeShares | None, count: int) -> tuple[Plan, SizeShares]:
    """Make the best itemsets the entries."""
    most = round(_CANDIDATES * max(top, _LEAST_ENTRIES))
    entries = sorted(_best_closed(known, most), key=lambda a: (len(a), a))
    _check_enough(len(entries), f"a round of itemsets needs {_LEAST_ENTRIES} of them")
    supports = np.array([known[entry].support for entry in entries])
    items = sorted({item for entry in entries for item in entry})
    mean = float(np.clip([known[item,].support for item in items], 0.0, 1.0).sum())
    sizes = poisson(mean) if whole is None else whole.thinned(mean)
    people = People(plan.promise, count, SyntheticHoldings.of(entries, known, sizes).sizes, blocks=True)
    names = [[plan.catalogue[item] for item in entry] for entry in entries]
    return plan_itemsets(names, supports, people), people.sizes


def _check_enough(count: int, need: str) -> None:
    if count < _LEAST_ENTRIES:
        raise EstimateError(f"{need}, the table has {count}; mine with a lower minimum support")


def _best_closed(known: Knowledge, most: int) -> list[tuple[int, ...]]:
    """Return the itemsets of the largest supports, each after its subsets, as far as there is room for all of these."""
    chosen: dict[tuple[int, ...], None] = {}
    for itemset in sorted(known, key=lambda a: (-known[a].support, len(a), a)):
        parts = [part for k in range(1, len(itemset) + 1) for part in combinations(itemset, k) if part not in chosen]
        if len(chosen) + len(parts) <= most and all(part in known for part in parts):
            chosen |= dict.fromkeys(parts)
    return list(chosen)


def _with_view_of(after: Plan, before: Plan) -> Plan:
    """Let the next plan roll names up as before; an item that the shortlist lacks must not become the one above it."""
    vocabulary = after.view.vocabulary(after.catalogue)
    assert vocabulary is not None
    view, index = before.view, vocabulary.index_of
    fallen = {name for name in before.catalogue if name not in index and view.roll_up(name, index) >= 0}
    left_out = tuple(sorted({*view.left_out, *fallen}))
    if not view.parents and not left_out:
        return after
    return replace(after, view=replace(after.view, others="drop", parents=view.parents, left_out=left_out))
