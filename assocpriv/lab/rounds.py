"""A whole schedule of rounds on baskets at hand: what each round buys, known only because the baskets are.

People are split at random; each group's baskets are randomized by the shipping client and estimated by the server's
code, and nothing of them but reports goes into the next round's plan.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets.bulk import randomize_chunks
from assocpriv.client.baskets.transactions import apply_view
from assocpriv.core.entropy import SystemEntropy, WordEntropy
from assocpriv.core.errors import EstimateError
from assocpriv.core.privacy import Breach
from assocpriv.files.basket_reports import GroupReports
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.planning.rounds import (
    BOUNDS,
    EntryRule,
    People,
    PeopleSplit,
    items_share,
    plan_items,
    plan_itemsets,
    plan_shortlist,
    plan_sizes,
)
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.records.baskets import Baskets
from assocpriv.server.counting.backend import counter_of
from assocpriv.server.itemsets.ask import count_subsets
from assocpriv.server.rounds.holdings import SyntheticHoldings
from assocpriv.server.rounds.knowledge import (
    Estimate,
    Itemset,
    Knowledge,
    Prior,
    as_knowledge,
    combined,
    grown,
    ranked,
    shrunk_pairs,
)
from assocpriv.server.rounds.sampling_model import LEFT_BIAS, SizeShares, fit_sizes, shares_from_dummies, undo_sampling

Floats = NDArray[np.float64]
LARGEST_ITEMSET = 4  # items of an itemset that counts


@dataclass(frozen=True, slots=True)
class RoundResult:
    """One round: its plan, the people asked, and what all rounds up to it know, by items of the baskets' catalogue.

    ``singles`` are the items' estimates before anything was shrunk, ``prior`` how their supports are distributed.
    """

    name: str
    plan: Plan
    people: int
    sizes: SizeShares = field(repr=False)
    knowledge: Knowledge = field(repr=False)
    singles: Knowledge = field(repr=False)
    prior: Prior = field(repr=False)


def run_rounds(
    baskets: Baskets, promise: Breach, wanted: int, split: PeopleSplit | None = None, *, seed: int | None = None
) -> list[RoundResult]:
    """Ask all people once, round after round, for so many itemsets wanted; three rounds by default."""
    split = split or PeopleSplit()
    run = _Run(baskets.catalogue, promise, wanted, SystemEntropy() if seed is None else SeededEntropy(seed))
    order = np.random.default_rng(seed).permutation(len(baskets))
    first = round(split.sizes * len(baskets))
    if first < 2:
        raise EstimateError(f"{len(baskets):,} baskets are too few to be split into rounds")
    sizes = run.ask_sizes(_take(baskets, np.sort(order[:first])))
    share = split.items
    if share is None:
        share = items_share(len(baskets.catalogue), People(promise, len(baskets), sizes), wanted)
    ends = np.rint(np.cumsum(split.shares(share))[:-1] * len(baskets)).astype(np.int64)
    groups = [_take(baskets, np.sort(part)) for part in np.split(order, ends)]
    if len(groups[1]) < 2:
        raise EstimateError(f"{len(baskets):,} baskets are too few to be split into rounds")
    rounds = [run.ask_items(groups[1], sizes, pairs=split.rounds == 1)]
    if split.rounds > 1:
        rounds.append(run.ask_shortlist(groups[2], rounds[0]))
    if split.rounds > 2:
        rounds.append(run.ask_itemsets(groups[3], rounds[1]))
    return rounds


def _take(baskets: Baskets, rows: NDArray[np.int64]) -> Baskets:
    """Return some baskets, by increasing row."""
    sizes = baskets.sizes[rows]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = np.repeat(baskets.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Baskets(baskets.catalogue, offsets.astype(np.int64), baskets.items[places])


@dataclass(frozen=True)
class _Run:
    """What all rounds of a run share: no baskets; each round is handed those of its own people."""

    catalogue: Catalogue
    promise: Breach
    wanted: int
    entropy: WordEntropy

    def ask_sizes(self, people: Baskets) -> SizeShares:
        support, errors = self._ask(people, plan_sizes(self.promise)).singles()
        return fit_sizes(support[: len(BOUNDS)], errors[: len(BOUNDS)], np.array(BOUNDS))

    def ask_items(self, people: Baskets, sizes: SizeShares, *, pairs: bool) -> RoundResult:
        plan = plan_items(self.catalogue, People(self.promise, len(people), sizes), pairs=pairs)
        asked = self._ask(people, plan)
        singles, own_sizes = estimate_singles(asked, sizes)
        prior = Prior.of(*_arrays(singles))
        known = estimate_itemsets(asked, own_sizes, singles, prior, self.wanted)
        return RoundResult("items", plan, len(people), own_sizes, known, singles, prior)

    def ask_shortlist(self, people: Baskets, before: RoundResult) -> RoundResult:
        items = EntryRule().shortlisted(before.singles, self.wanted)
        names = [self.catalogue[item] for item in items]
        supports = np.array([before.knowledge[item,].expected for item in items])
        asking = People(self.promise, len(people), before.sizes)
        plan, expected_sizes = plan_shortlist(names, supports, asking, self.wanted)
        asked = self._ask(people, plan)
        own, sizes = estimate_singles(asked, expected_sizes)
        singles: Knowledge = {(i,): combined([before.singles[item,], own[i,]]) for i, item in enumerate(items)}
        known = estimate_itemsets(asked, sizes, singles, before.prior, self.wanted)

        def named(part: Knowledge) -> Knowledge:
            return {tuple(sorted(items[place] for place in itemset)): value for itemset, value in part.items()}

        both = before.knowledge | named(known), before.singles | named(singles)
        return RoundResult("shortlist", plan, len(people), sizes, *both, before.prior)

    def ask_itemsets(self, people: Baskets, before: RoundResult) -> RoundResult:
        entries = ranked(before.knowledge, round(EntryRule().candidates * self.wanted))
        names = [[self.catalogue[item] for item in itemset] for itemset in entries]
        supports = np.array([before.knowledge[entry].expected for entry in entries])
        holdings = SyntheticHoldings.of(entries, before.knowledge, before.sizes)
        plan = plan_itemsets(names, supports, People(self.promise, len(people), holdings.sizes))
        support, errors = self._ask(people, plan).singles()
        m, n = plan.transaction_size, len(entries)
        surviving = holdings.surviving(m, support[n : n + m][::-1])
        raw = support[:n] / surviving
        variances = (errors[:n] / surviving) ** 2 + (LEFT_BIAS * (1 - surviving) * raw) ** 2
        own = as_knowledge(entries, raw, variances)
        known = before.knowledge | {a: combined([before.knowledge[a], value]) for a, value in own.items()}
        return RoundResult("itemsets", plan, len(people), holdings.sizes, known, before.singles, before.prior)

    def _ask(self, people: Baskets, plan: Plan) -> "Asked":
        transactions, _ = apply_view(people, plan)
        chunks = [chunk.packed for chunk in randomize_chunks(transactions, plan, entropy=self.entropy)]
        return Asked(GroupReports(plan, np.concatenate(chunks)))


class Asked:
    """Reports of one round, ready for questions."""

    def __init__(self, reports: GroupReports) -> None:
        self.plan = reports.plan
        self._collections = [(counter_of(reports), SupportModel.of(reports.plan.operator))]

    def supports(self, itemsets: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return supports within M sampled items and their standard errors, for itemsets int64 (itemsets, k)."""
        estimates = count_subsets(self._collections, itemsets).estimates()
        return estimates.support.astype(np.float64), estimates.std_error(population=False)

    def singles(self) -> tuple[Floats, Floats]:
        """Return those of all items, and after them of the dummies."""
        return self.supports(np.arange(self.plan.padded_items, dtype=np.int64)[:, None])


def estimate_singles(asked: Asked, tail: SizeShares) -> tuple[Knowledge, SizeShares]:
    """Return estimates of single items, by position in the catalogue, and of the sizes; beyond M these are ``tail``."""
    m, n = asked.plan.transaction_size, asked.plan.n_items
    support, errors = asked.singles()
    sizes = shares_from_dummies(support[n : n + m][::-1], tail)
    raw, variances = _before_sampling(support[:n], errors[:n], sizes, m, 1)
    return as_knowledge([(item,) for item in range(n)], raw, variances), sizes


def estimate_itemsets(asked: Asked, sizes: SizeShares, singles: Knowledge, prior: Prior, wanted: int) -> Knowledge:
    """Return what is known of items, pairs and larger itemsets, by position in the round's catalogue.

    ``singles`` are estimates of the items, of this and earlier rounds, ``prior`` their distribution.
    """
    plan = asked.plan

    def before_sampling(itemsets: NDArray[np.int64]) -> tuple[Floats, Floats]:
        return _before_sampling(*asked.supports(itemsets), sizes, plan.transaction_size, itemsets.shape[1])

    raw, noise = _arrays(singles)
    items, variances = prior.posterior(raw, noise)
    # where noise is larger than what is looked for, showing it as measured would show noise
    looked_for = float(np.mean(np.sort(items)[::-1][:wanted] ** 2))
    shown = items + looked_for / (looked_for + noise) * (raw - items)
    values = np.column_stack([shown, noise, items, variances]).tolist()
    known: Knowledge = {item: Estimate(*value) for item, value in zip(singles, values, strict=True)}
    if plan.itemset_size < 2:
        return known
    pool = sorted(item for (item,) in ranked(known, 3 * wanted))
    pairs = np.array(list(combinations(pool, 2)), dtype=np.int64).reshape(-1, 2)
    shrunk = shrunk_pairs(items, pairs, *before_sampling(pairs))
    known |= as_knowledge([(i, j) for i, j in pairs.tolist()], *shrunk)
    least = known[ranked(known, wanted)[-1]].expected / 2

    def measure(itemsets: list[Itemset]) -> tuple[Floats, Floats] | None:
        return before_sampling(np.array(itemsets)) if len(itemsets[0]) <= plan.itemset_size else None

    return grown(known, max(least, 1e-6), LARGEST_ITEMSET, measure)


def _arrays(known: Knowledge) -> tuple[Floats, Floats]:
    """Return supports and variances as arrays, in the order of the itemsets."""
    values = known.values()
    return np.array([value.support for value in values]), np.array([value.variance for value in values])


def _before_sampling(supports: Floats, errors: Floats, sizes: SizeShares, m: int, k: int) -> tuple[Floats, Floats]:
    """Return supports before the sampling to m items, with variances that count what undoing it may leave of bias."""
    raw, factors = undo_sampling(supports, sizes, m, k)
    return raw, (errors * factors) ** 2 + (LEFT_BIAS * (raw - supports)) ** 2
