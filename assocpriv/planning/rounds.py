"""Rounds: what the frequent items of one collection are worth to the next one, with other people.

Every person answers once, in one of up to four groups, and γ covers each answer whole:

    sizes      a few people answer only the bucket that their basket's size lies in: it decides on M, and what
               sampling loses
    items      which items are frequent at all: every item of the catalogue, a design for single items
    shortlist  the items that may belong to the wanted itemsets become the catalogue: baskets are shorter there, M and
               noise smaller, reports of a fixed size the best; single items, pairs and triples are estimated
    itemsets   the wanted itemsets themselves are the entries of a catalogue, each as sharp as a single item

The next round's plan follows from what a round's reports showed. Mined tables and plans are seen, no record: every
decision uses reports alone. The catalogue is either a shortlist, the single items that may belong to the itemsets
wanted, or these itemsets themselves. Transactions are what a basket holds of it: smaller than baskets, and so M and
the noise. M is chosen for the least mean squared error: variance / (share left)² and the bias that undoing the sampling
may leave. The promise is the first plan's; of whoever answers both plans more is told: γ multiplies.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from assocpriv.files.itemsets import join_names
from assocpriv.planning.blocks import TRANSACTION_SIZES, Choice, Survey, best_choice, blocks_of, typical_shares
from assocpriv.planning.designs import MOST_REPORTS, Floats, Focus
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import MAX_ITEMS, Catalogue
from assocpriv.plans.transition import SupportModel
from assocpriv.plans.view import View
from assocpriv.promise.breaches import Breach, highest_posterior, lowest_posterior
from assocpriv.promise.errors import EstimateError
from assocpriv.promise.numbers import check_range
from assocpriv.server.itemsets import mining_facts
from assocpriv.server.posterior import LIFT, Itemset, Knowledge, as_knowledge, ranked
from assocpriv.server.rounds import SyntheticHoldings, sizes_held, sizes_of_table, undo_table
from assocpriv.server.undo_sampling import LEFT_BIAS, SizeShares

if TYPE_CHECKING:
    import pandas as pd

HISTOGRAM, POISSON = "histogram", "poisson"
DEFAULT_TOP = 64
_LEAST_ENTRIES = 2
_CANDIDATES = 1.5  # times the itemsets wanted
_MOST_TOP = 100_000

BOUNDS = (*range(9), *range(10, 25, 2), 27, 30, 34, 40, 48, 60, 80, 110, 150, 200, 300)
_LEAST_SHORTLIST = 2
_PLAIN = View()
_LEAST_WEIGHTS = {1: 0.05, 2: 0.25, 3: 0.05}  # patterns show only once pairs and triples are asked for
_TYPICAL = 0.03  # support of a wanted item before anything is known
_WITH_PAIRS = ((2, 0.4, (0.9, 0.08, 0.02)), (3, 0.1, (0.85, 0.1, 0.035, 0.015)))
_LEAST_ITEMS, _MOST_ITEMS = 0.3, 0.6  # shares of the people who are asked about all items
_LEAST_SIZES, _MOST_SIZES = 0.02, 0.06  # shares of the people who are asked about sizes
_BUCKET_ERROR = 0.005  # that a bucket of sizes is to have; with .025 the mean size was off by half and more
_SHORTLIST_SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 15)


# ---- the next round from a mined table


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
    count = check_range("reports", count, 1, MOST_REPORTS)
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
    left = round(asked * (1 - _LEAST_SIZES) / _LEAST_SIZES) if wishes.reports is None else wishes.reports
    check_range("reports of the table", asked, 1, MOST_REPORTS)
    left = check_range("reports", left, 3, MOST_REPORTS)
    people = People(plan.promise, asked + left, sizes_of_table(frame), blocks=True)
    share = items_share(len(items), people, top)
    _, first, _, last = split.shares(asked / people.count, share)
    counts = {"items": max(round(first * people.count), 1), "shortlist": 0, "itemsets": round(last * people.count)}
    counts["shortlist"] = left - sum(counts.values())
    view = View(others="drop" if counted else "error", parents=plan.view.parents, left_out=plan.view.left_out)
    after = plan_items(items, replace(people, count=counts["items"]))
    after = replace(after, view=replace(view, blocks=after.view.blocks))
    return Refinement(after, plan, people.sizes, HISTOGRAM, counts["items"], counts)


_AFTER = {"sizes": _after_sizes, "items": _after_items, "itemsets": _after_itemsets}


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


# ---- people of a round


@dataclass(frozen=True, slots=True)
class EntryRule:
    """Which items and itemsets later rounds ask about.

    Attributes:
        reach: a shortlist has the items whose expected support and so many spreads (standard deviations of what is
            still unknown) reach what the last itemset wanted is guessed to have.
        most: at most so many times as many items as itemsets are wanted.
        chance: a catalogue of itemsets has those that are among the wanted ones with this probability or more,
        least, most_entries: but at least and at most so many times as many as are wanted.
        explore: rank these by that probability, not by what is expected of them.

    Chosen on Groceries, T10I4D100K, Mushroom, BMS-WebView-2 and four generated sets, simulated with a million people at
    ε = 1, 2 and 4, one seed: with a chance of .005 and up to five times as many entries the NCR of the top 64 is .922,
    with these .926.
    """

    reach: float = 1.5
    most: float = 4.0
    chance: float = 0.02
    least: float = 1.1
    most_entries: float = 3.0
    explore: bool = True

    def shortlisted(self, known: Knowledge, wanted: int) -> list[int]:
        """Return the items that may belong to the wanted itemsets, increasing."""
        singles: Knowledge = {itemset: value for itemset, value in known.items() if len(itemset) == 1}
        least = guessed_least(np.array([value.expected for value in singles.values()]), wanted)
        upper = {a: value.expected + self.reach * value.spread**0.5 for a, value in singles.items()}
        order = sorted(singles, key=lambda a: (-upper[a], a))
        count = min(sum(upper[a] >= least for a in order), round(self.most * wanted))
        return sorted(item for (item,) in order[: max(count, _LEAST_SHORTLIST)])

    def candidates(self, known: Knowledge, wanted: int) -> list[Itemset]:
        """Return the itemsets to ask about, the likeliest to be among those wanted first."""
        cut = known[ranked(known, wanted)[-1]].expected
        chances = {a: value.chance(cut) for a, value in known.items()}
        count = max(sum(chance >= self.chance for chance in chances.values()), round(self.least * wanted))
        count = min(count, round(self.most_entries * wanted))
        if not self.explore:
            return ranked(known, count)
        return sorted(known, key=lambda a: (-chances[a], -known[a].expected, len(a), a))[:count]


_RULE = EntryRule()


@dataclass(frozen=True, slots=True)
class PeopleSplit:
    """How people are split over 1 (items alone), 2 (and a shortlist) or 3 (and itemsets) rounds.

    ``sizes`` and ``items`` are shares of all people, by default :func:`sizes_share` and :func:`items_share`;
    ``itemsets`` is one of those who are left then. ``rule`` says which entries later rounds have; with ``blocks`` each
    round's reports are about public random blocks of its entries where that is expected to err less.
    """

    rounds: int = 3
    sizes: float | None = None
    items: float | None = None
    itemsets: float = 0.42  # on six of the data of EntryRule .6 does as well: NCR .901 against .905
    rule: EntryRule = _RULE
    blocks: bool = True

    def shares(self, sizes: float, items: float) -> tuple[float, ...]:
        """Return the shares of the people by group, sizes, items, shortlist, itemsets, with these of the first two."""
        asked = min(items, 1 - sizes) if self.rounds > 1 else 1 - sizes
        rest = 1 - sizes - asked
        itemsets = self.itemsets * rest if self.rounds > 2 else 0.0
        return sizes, asked, rest - itemsets, itemsets


def guessed_least(items: Floats, wanted: int, largest: int = 4) -> float:
    """Return about which support the last of the wanted itemsets has, were items of these supports independent.

    >>> guessed_least(np.array([0.5, 0.25, 0.25]), 4)
    0.125
    """
    items = np.sort(np.clip(items, 0.0, 1.0))[::-1][: max(wanted, 1)]
    numbers = np.arange(len(items))
    supports, last, every = items, numbers, [items]
    for _ in range(1, largest):
        left, right = np.nonzero(last[:, None] < numbers)
        products = supports[left] * items[right]
        best = np.argsort(-products, kind="stable")[: 4 * wanted]
        supports, last = products[best], right[best]
        every.append(supports)
    return float(np.sort(np.concatenate(every))[::-1][: max(wanted, 1)][-1])


@dataclass(frozen=True, slots=True)
class People:
    """Whom a round asks: the breach that no report may cause, how many report, and the sizes of their transactions.

    With ``blocks`` they may be asked about one public random block of the catalogue each.
    """

    promise: Breach
    count: int
    sizes: SizeShares
    blocks: bool = False

    def plan(self, catalogue: Catalogue, focus: Focus, view: View, choices: Sequence[int]) -> Plan:
        """Return the plan whose M, of the choices, and blocks have the least expected squared error."""
        choice = self.choice(len(catalogue), focus, choices)
        m, padded = choice.sampling.m, choice.sampling.block_items + choice.sampling.m
        operator = choice.design.operator(self.promise.amplification_limit)
        generator = choice.design.generator("auto", padded, m + focus.largest)
        cut = replace(view, blocks=blocks_of(choice.sampling, focus.largest))
        return Plan(catalogue, m, focus.largest, operator, generator, self.promise, view=cut)

    def choice(self, n_items: int, focus: Focus, choices: Sequence[int]) -> Choice:
        """Return M, the number of pieces and the design with the least expected squared error after shrinking."""
        limit, sizes = self.promise.amplification_limit, self.sizes.grouped()
        survey = Survey(n_items, max(self.count, 1), limit, sizes, focus, LEFT_BIAS, shrunk=True)
        return best_choice(survey, choices, None if self.blocks else [1])


def sizes_share(promise: Breach, people: int) -> float:
    """Return which share of so many people to ask about sizes: for an error of a bucket's share that tells the mean."""
    noise, _ = SupportModel.of(plan_sizes(promise).operator).variances(1)
    return min(max(noise / _BUCKET_ERROR**2 / max(people, 1), _LEAST_SIZES), _MOST_SIZES)


def items_share(n_items: int, people: People, wanted: int) -> float:
    """Return which share of the people, those of all rounds, to ask about all items: more, the larger the noise.

    Looked for are items as frequent as the last of those wanted, were supports to follow Zipf's law and add up to the
    mean size of a basket. With noise of a third of that, 45% are asked; 12% more each time it doubles.
    """
    focus = single_focus(_TYPICAL)
    half = replace(people, count=max(people.count // 2, 1))
    noise = math.sqrt(max(half.choice(n_items, focus, TRANSACTION_SIZES).error, 0.0))
    harmonic = math.log(n_items) + 0.577
    looked_for = max(people.sizes.mean, 0.01) / (min(wanted, n_items) * harmonic)
    share = 0.45 + 0.12 * math.log2(max(noise / looked_for / 0.3, 1e-9))  # no noise at all under very weak promises
    return min(max(share, _LEAST_ITEMS), _MOST_ITEMS)


# ---- the plan of each round


def plan_sizes(promise: Breach, bounds: Sequence[int] = BOUNDS, counted: Sequence[str] = ()) -> Plan:
    """Return the plan for people who answer only which bucket their basket's size lies in.

    ``bounds`` are the least sizes of the buckets, from 0; ``counted`` the names that count, all by default.
    """
    ends = [*(str(high - 1) for high in bounds[1:]), ""]
    names = [low if low == high else f"{low}-{high}" for low, high in zip(map(str, bounds), ends, strict=True)]
    view = View(kind="sizes", others="drop", bounds=tuple(bounds), counted=tuple(counted))
    one_bucket = People(promise, 1, SizeShares(np.ones(1, dtype=np.int64), np.ones(1)))
    return one_bucket.plan(Catalogue(names), single_focus(1 / len(bounds)), view, (1,))


def plan_items(catalogue: Catalogue, people: People, *, pairs: bool = False) -> Plan:
    """Return the plan for a whole catalogue; with ``pairs``, these and triples count, for no other round comes."""
    focus = Focus((*single_focus(_TYPICAL).sizes, *_WITH_PAIRS)) if pairs else single_focus(_TYPICAL)
    most = max(len(catalogue), focus.largest)
    return people.plan(catalogue, focus, View(), [m for m in TRANSACTION_SIZES if focus.largest <= m <= most])


def plan_shortlist(names: Sequence[str], supports: Floats, people: People, wanted: int) -> tuple[Plan, SizeShares]:
    """Return the plan for a shortlist of items of these estimated supports, and the sizes of what baskets hold of it.

    The people's sizes are those of whole baskets.
    """
    left = people.sizes.grouped().within(supports)
    focus = expected_focus(supports, wanted)
    choices = [m for m in _SHORTLIST_SIZES if m >= focus.largest]
    return replace(people, sizes=left).plan(Catalogue(names), focus, View(others="drop"), choices), left


def plan_itemsets(itemsets: Sequence[Sequence[str]], supports: Floats, people: People) -> Plan:
    """Return the plan whose entries are itemsets of these estimated supports; people's sizes are how many they hold."""
    entries = tuple(tuple(sorted(names)) for names in itemsets)
    focus = single_focus(float(np.clip(supports, 0.001, 0.5).mean()))
    view = View(kind="itemsets", others="drop", itemsets=entries)
    catalogue = Catalogue([join_names(list(names)) for names in entries])
    return people.plan(catalogue, focus, view, TRANSACTION_SIZES)


def plan_histogram(promise: Breach, reports: int, names: "int | Catalogue | None" = None, view: View = _PLAIN) -> Plan:
    """Return the plan that asks for the sizes of baskets alone.

    Args:
        promise: the breach that no report may cause.
        reports: number of people who will report; the plan does not depend on it.
        names: number of the items that count, or their names; all names by default.
        view: how clients find these names in a basket.

    Returns:
        A plan whose entries are the sizes, small ones each, larger ones together.

    Raises:
        PlanError: a number out of range.

    >>> import assocpriv as ap
    >>> list(ap.plan_histogram(ap.Breach("5%", "50%"), 10_000).catalogue)[6:10]
    ['6', '7', '8-9', '10-11']
    """
    check_range("reports", reports, 1, MOST_REPORTS)
    if names is None:
        return plan_sizes(promise)
    if not isinstance(names, Catalogue):
        names = Catalogue.numbered(check_range("items", names, 1, MAX_ITEMS))
    plan = plan_sizes(promise, counted=sorted(names))
    return replace(plan, view=replace(plan.view, others="drop", parents=view.parents, left_out=view.left_out))


def single_focus(support: float) -> Focus:
    """Return the focus on single items of one support."""
    return Focus(((1, 1.0, (1 - support, support)),))


def expected_focus(supports: Floats, wanted: int) -> Focus:
    """Return which sizes the wanted itemsets have, were items of these supports held together a little too often."""
    items = np.sort(np.clip(supports, 1e-4, 0.95))[::-1]
    few = items[:40]
    left, right = np.triu_indices(len(items), 1)
    triples = np.array(list(combinations(few[:20], 3))).reshape(-1, 3).prod(axis=1)
    guesses = {1: items, 2: LIFT * items[left] * items[right], 3: LIFT**3 * triples}
    least = np.sort(np.concatenate(list(guesses.values())))[::-1][: max(wanted, 1)][-1]
    sizes = []
    for k, guess in guesses.items():
        among = guess[guess >= least]
        weight = max(len(among) / wanted, _LEAST_WEIGHTS[k])
        support = float(np.clip(among.mean() if len(among) else least, 1e-3, 0.5))
        sizes.append((k, round(weight, 2), _typical_shares(k, support)))
    return Focus(tuple(sizes))


def _typical_shares(k: int, support: float) -> tuple[float, ...]:
    """Return shares s_0 … s_k for an itemset of this support whose items are held independently but for the lift."""
    # rounded, so that nearly equal ones are planned alike; the first takes the rest
    rest, last = [round(share, 3) for share in typical_shares(k, support)[1:-1]], round(support, 3)
    return (1 - sum(rest) - last, *rest, last)
