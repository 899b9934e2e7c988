"""A whole schedule of rounds on baskets at hand: what each round buys, known only because the baskets are.

People are split at random; each group's baskets are randomized by the shipping client and estimated by the server's
code, and nothing of them but reports goes into the next round's plan.
"""

from collections.abc import Sequence
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
    LARGEST_SIZE,
    Schedule,
    items_share,
    plan_items,
    plan_itemsets,
    plan_shortlist,
    plan_sizes,
)
from assocpriv.planning.shortlist import held_entries, shortlist
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.records.baskets import Baskets
from assocpriv.server.counting.backend import LocalCounter
from assocpriv.server.itemsets.ask import count_subsets
from assocpriv.server.rounds.knowledge import (
    Estimate,
    Itemset,
    Knowledge,
    Prior,
    combined,
    grown,
    measured,
    ranked,
    shrunk_pairs,
)
from assocpriv.server.rounds.sampling_model import SizeShares, fit_sizes, shares_from_dummies, undo_sampling

Floats = NDArray[np.float64]
_LARGEST_ITEMSET = 4
_LEFT_BIAS = 0.3  # of what undoing the sampling changes, this much counts as an error


@dataclass(frozen=True, slots=True)
class Round:
    """One round as it was: its plan, the people asked, and what all rounds up to it know.

    ``knowledge`` is by item ids of the baskets' catalogue; ``singles`` are the items' estimates before anything was
    shrunk, ``prior`` how their supports are distributed.
    """

    name: str
    plan: Plan
    people: int
    sizes: SizeShares = field(repr=False)
    knowledge: Knowledge = field(repr=False)
    singles: Knowledge = field(repr=False)
    prior: Prior = field(repr=False)


def run_rounds(
    baskets: Baskets,
    promise: Breach,
    wanted: int,
    schedule: Schedule | None = None,
    *,
    seed: int | None = None,
) -> list[Round]:
    """Ask all people once, round after round.

    Args:
        baskets: raw baskets.
        promise: the breach that no report may cause.
        wanted: itemsets wanted.
        schedule: how people are split; three rounds by default.
        seed: makes the run repeatable; the operating system's entropy by default.

    Raises:
        EstimateError: too few baskets to split.
    """
    schedule = schedule or Schedule()
    run = _Run(baskets.catalogue, promise, wanted, schedule, SystemEntropy() if seed is None else SeededEntropy(seed))
    order = np.random.default_rng(seed).permutation(len(baskets))
    first = round(schedule.sizes * len(baskets))
    if first < 2:
        raise EstimateError(f"{len(baskets):,} baskets are too few to be split into rounds")
    sizes = run.ask_sizes(_take(baskets, np.sort(order[:first])))
    share = schedule.items
    if share is None:
        share = items_share(len(baskets.catalogue), promise, sizes, len(baskets), wanted)
    ends = np.rint(np.cumsum(schedule.shares(share))[:-1] * len(baskets)).astype(np.int64)
    groups = [_take(baskets, np.sort(part)) for part in np.split(order, ends)]
    if len(groups[1]) < 2:
        raise EstimateError(f"{len(baskets):,} baskets are too few to be split into rounds")
    rounds = [run.ask_items(groups[1], sizes)]
    if schedule.rounds > 1:
        rounds.append(run.ask_shortlist(groups[2], rounds[0]))
    if schedule.rounds > 2:
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
    schedule: Schedule
    entropy: WordEntropy

    def ask_sizes(self, people: Baskets) -> SizeShares:
        plan = plan_sizes(self.promise)
        asked = self._ask(people, plan)
        support, errors = asked.singles()
        return fit_sizes(support[: len(BOUNDS)], errors[: len(BOUNDS)], np.array(BOUNDS), LARGEST_SIZE)

    def ask_items(self, people: Baskets, sizes: SizeShares) -> Round:
        only = self.schedule.rounds == 1
        plan = plan_items(self.catalogue, self.promise, sizes, len(people), pairs=only)
        asked = self._ask(people, plan)
        singles, found = estimate_singles(asked, sizes)
        supports, variances = _arrays(singles)
        prior = Prior.of(supports, variances)
        known = estimate_itemsets(asked, found, singles, prior, self.wanted)
        return Round("items", plan, len(people), found, known, singles, prior)

    def ask_shortlist(self, people: Baskets, before: Round) -> Round:
        items = shortlist(before.singles, self.wanted, self.schedule)
        names = [self.catalogue[item] for item in items]
        supports = np.array([before.knowledge[item,].expected for item in items])
        plan, left = plan_shortlist(names, supports, self.promise, before.sizes, len(people), self.wanted)
        asked = self._ask(people, plan)
        told, found = estimate_singles(asked, left)
        singles: Knowledge = {(i,): combined([before.singles[item,], told[i,]]) for i, item in enumerate(items)}
        known = estimate_itemsets(asked, found, singles, before.prior, self.wanted)

        def named(part: Knowledge) -> Knowledge:
            return {tuple(sorted(items[place] for place in itemset)): value for itemset, value in part.items()}

        both = before.knowledge | named(known), before.singles | named(singles)
        return Round("shortlist", plan, len(people), found, *both, before.prior)

    def ask_itemsets(self, people: Baskets, before: Round) -> Round:
        entries = ranked(before.knowledge, round(self.schedule.candidates * self.wanted))
        names = [[self.catalogue[item] for item in itemset] for itemset in entries]
        supports = np.array([before.knowledge[entry].expected for entry in entries])
        held = held_entries(entries, before.knowledge, before.sizes)
        plan = plan_itemsets(names, supports, self.promise, held.sizes, len(people))
        asked = self._ask(people, plan)
        support, errors = asked.singles()
        m, n = plan.transaction_size, len(entries)
        cumulative = support[n : n + m][::-1]
        kept = held.kept(m, cumulative)
        raw = support[:n] / kept
        variances = (errors[:n] / kept) ** 2 + (_LEFT_BIAS * (1 - kept) * raw) ** 2
        asked_for = _as_knowledge(entries, raw, variances)
        known = before.knowledge | {
            entry: combined([before.knowledge[entry], value]) for entry, value in asked_for.items()
        }
        return Round("itemsets", plan, len(people), held.sizes, known, before.singles, before.prior)

    def _ask(self, people: Baskets, plan: Plan) -> "Asked":
        transactions, _ = apply_view(people, plan)
        chunks = [chunk.packed for chunk in randomize_chunks(transactions, plan, entropy=self.entropy)]
        return Asked(GroupReports(plan, np.concatenate(chunks)))


class Asked:
    """Reports of one round, ready for questions."""

    def __init__(self, reports: GroupReports) -> None:
        self.plan = reports.plan
        self._collections = [(LocalCounter(reports), SupportModel.of(reports.plan.operator))]

    def supports(self, itemsets: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return supports within M sampled items and their standard errors, for itemsets int64 (itemsets, k)."""
        estimates = count_subsets(self._collections, itemsets).estimates()
        return estimates.support.astype(np.float64), estimates.std_error(population=False)

    def singles(self) -> tuple[Floats, Floats]:
        """Return those of all items, and after them of the dummies."""
        return self.supports(np.arange(self.plan.padded_items, dtype=np.int64)[:, None])


def estimate_singles(asked: Asked, tail: SizeShares) -> tuple[Knowledge, SizeShares]:
    """Return what a round's reports say of single items, by position in its catalogue, and its transactions' sizes.

    Args:
        asked: the round's reports.
        tail: the sizes expected, for those beyond M.
    """
    m, n = asked.plan.transaction_size, asked.plan.n_items
    support, errors = asked.singles()
    sizes = shares_from_dummies(support[n : n + m][::-1], tail)
    raw, variances = _Undo(sizes, m)(support[:n], errors[:n], 1)
    return _as_knowledge([(item,) for item in range(n)], raw, variances), sizes


def estimate_itemsets(asked: Asked, sizes: SizeShares, singles: Knowledge, prior: Prior, wanted: int) -> Knowledge:
    """Return what is known of items, pairs and larger itemsets, by position in the round's catalogue.

    Args:
        asked: the round's reports.
        sizes: of its transactions.
        singles: estimates of the items, of this and earlier rounds.
        prior: how items' supports are distributed.
        wanted: itemsets wanted: how many items pairs are made of.
    """
    plan, undo = asked.plan, _Undo(sizes, asked.plan.transaction_size)
    items, variances = prior.posterior(*_arrays(singles))
    raw, noise = _arrays(singles)
    # where noise is larger than what is looked for, showing it as measured would show noise
    looked_for = float(np.mean(np.sort(items)[::-1][:wanted] ** 2))
    shown = items + looked_for / (looked_for + noise) * (raw - items)
    known: Knowledge = {
        item: Estimate(*values)
        for item, *values in zip(singles, *map(_listed, (shown, noise, items, variances)), strict=True)
    }
    if plan.itemset_size < 2:
        return known
    pool = sorted(item for (item,) in ranked(known, 3 * wanted))
    pairs = np.array(list(combinations(pool, 2)), dtype=np.int64).reshape(-1, 2)
    shrunk = shrunk_pairs(items, pairs, *undo(*asked.supports(pairs), 2))
    known |= _as_knowledge([(i, j) for i, j in pairs.tolist()], *shrunk)
    least = known[ranked(known, wanted)[-1]].expected / 2

    def measure(itemsets: list[Itemset]) -> tuple[Floats, Floats] | None:
        if len(itemsets[0]) > plan.itemset_size:
            return None
        return undo(*asked.supports(np.array(itemsets, dtype=np.int64)), len(itemsets[0]))

    return grown(known, max(least, 1e-6), _LARGEST_ITEMSET, measure)


def _as_knowledge(itemsets: Sequence[Itemset], supports: Floats, variances: Floats) -> Knowledge:
    values = zip(itemsets, supports.tolist(), variances.tolist(), strict=True)
    return {itemset: measured(support, variance) for itemset, support, variance in values}


def _listed(values: Floats) -> list[float]:
    listed: list[float] = values.tolist()
    return listed


def _arrays(known: Knowledge) -> tuple[Floats, Floats]:
    """Return supports and variances as arrays, in the order of the itemsets."""
    return (
        np.array([estimate.support for estimate in known.values()]),
        np.array([estimate.variance for estimate in known.values()]),
    )


@dataclass(frozen=True, slots=True)
class _Undo:
    """Supports before the sampling to m items, with variances that count what this may leave of bias."""

    sizes: SizeShares
    m: int

    def __call__(self, supports: Floats, errors: Floats, k: int) -> tuple[Floats, Floats]:
        raw, factors = undo_sampling(supports, self.sizes, self.m, k)
        return raw, (errors * factors) ** 2 + (_LEFT_BIAS * (raw - supports)) ** 2
