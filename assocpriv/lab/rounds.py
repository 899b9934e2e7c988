"""A whole schedule of rounds on baskets at hand: what each round buys, known only because the baskets are.

People are split at random; each group's baskets are randomized by the shipping client and estimated by the server's
code, and nothing of them but reports goes into the next round's plan.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.transactions import apply_view
from assocpriv.files.reports import Reports
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.planning.rounds import (
    BOUNDS,
    People,
    PeopleSplit,
    items_share,
    plan_items,
    plan_itemsets,
    plan_shortlist,
    plan_sizes,
    sizes_share,
)
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.entropy import SystemEntropy, WordEntropy
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.server.posterior import (
    LEFT_BIAS,
    Average,
    Evidence,
    Itemset,
    Knowledge,
    Measure,
    Prior,
    Sampling,
    SizeShares,
    believed,
    cuts,
    fit_sizes,
    published,
    ranked,
    shares_from_dummies,
    undo_sampling,
)
from assocpriv.server.rounds import FITTED_BIAS, Shown, SyntheticHoldings, surviving_shares

Floats = NDArray[np.float64]
LARGEST_ITEMSET = 4  # items of an itemset that counts


@dataclass(frozen=True, slots=True)
class RoundResult:
    """One round: its plan, the people asked, and what all rounds up to it know, by items of the baskets' catalogue.

    ``sizes`` are those of whole baskets, ``evidence`` is what was measured, ``prior`` how items' supports are spread.
    """

    name: str
    plan: Plan
    people: int
    sizes: SizeShares = field(repr=False)
    knowledge: Knowledge = field(repr=False)
    evidence: Evidence = field(repr=False)
    prior: Prior = field(repr=False)


class Crowd:
    """People at hand, who are asked once each, in random order."""

    def __init__(self, baskets: Baskets, seed: int | None) -> None:
        self.catalogue, self.count = baskets.catalogue, len(baskets)
        self._baskets, self._asked = baskets, 0
        self._order = np.random.default_rng(seed).permutation(len(baskets))
        self._entropy: WordEntropy = SystemEntropy() if seed is None else SeededEntropy(seed)

    @property
    def left(self) -> int:
        """How many have not been asked yet."""
        return self.count - self._asked

    def ask(self, plan: Plan, count: int) -> "Asked":
        """Have so many others report under a plan."""
        if count < 2:
            raise EstimateError(f"{self.count:,} baskets are too few to be split into rounds")
        rows = np.sort(self._order[self._asked : self._asked + count])
        self._asked += count
        transactions, _ = apply_view(_take(self._baskets, rows), plan)
        chunks = [chunk.packed for chunk in randomize_chunks(transactions, plan, entropy=self._entropy)]
        return Asked(Reports(plan, np.concatenate(chunks)))


def run_rounds(
    baskets: Baskets, promise: Breach, wanted: int, split: PeopleSplit | None = None, *, seed: int | None = None
) -> list[RoundResult]:
    """Ask all people once, round after round, for so many itemsets wanted; three rounds by default."""
    return run_schedule(Crowd(baskets, seed), promise, wanted, split or PeopleSplit())


def run_schedule(crowd: Crowd, promise: Breach, wanted: int, split: PeopleSplit) -> list[RoundResult]:
    """Ask the people of a crowd, as :func:`run_rounds`."""
    run = _Run(crowd, promise, wanted, split)
    asked = sizes_share(promise, crowd.count) if split.sizes is None else split.sizes
    sizes = run.ask_sizes(round(asked * crowd.count))
    share = split.items
    if share is None:
        share = items_share(len(crowd.catalogue), run.people(crowd.count, sizes), wanted)
    shares = split.shares(asked, share)
    rounds = [run.ask_items(round(shares[1] * crowd.count), sizes, pairs=split.rounds == 1)]
    if split.rounds > 1:
        rounds.append(run.ask_shortlist(round(shares[2] * crowd.count), rounds[0]))
    if split.rounds > 2:
        rounds.append(run.ask_itemsets(crowd.left, rounds[1]))
    return rounds


def _take(baskets: Baskets, rows: NDArray[np.int64]) -> Baskets:
    """Return some baskets, by increasing row."""
    sizes = baskets.sizes[rows]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = np.repeat(baskets.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Baskets(baskets.catalogue, offsets.astype(np.int64), baskets.items[places])


@dataclass(frozen=True)
class _Run:
    """What all rounds of a run share: no baskets; each round is handed reports of its own people."""

    crowd: Crowd
    promise: Breach
    wanted: int
    split: PeopleSplit

    def people(self, count: int, sizes: SizeShares) -> People:
        return People(self.promise, count, sizes, self.split.blocks)

    def ask_sizes(self, count: int) -> SizeShares:
        support, errors = self.crowd.ask(plan_sizes(self.promise), count).singles()
        return fit_sizes(support[: len(BOUNDS)], errors[: len(BOUNDS)], np.array(BOUNDS))

    def ask_items(self, count: int, sizes: SizeShares, *, pairs: bool) -> RoundResult:
        people = self.people(count, sizes)
        plan = plan_items(self.crowd.catalogue, people, pairs=pairs)
        asked = self.crowd.ask(plan, count)
        sizes, singles = estimate_singles(asked, sizes)
        evidence = Evidence({}, {}).joined([(i,) for i in range(plan.n_items)], singles, [-math.inf] * plan.n_items)
        prior = Prior.of(np.array([each.support for each in singles]), np.array([each.error for each in singles]))
        measure = asked.measure(sizes) if pairs else None
        known, evidence = believed(evidence, prior, self.wanted, LARGEST_ITEMSET, measure)
        return self._result("items", plan, count, sizes, known, evidence, prior)

    def ask_shortlist(self, count: int, before: RoundResult) -> RoundResult:
        items = self.split.rule.shortlisted(before.knowledge, self.wanted)
        names = [self.crowd.catalogue[item] for item in items]
        expected = np.array([before.knowledge[item,].expected for item in items])
        plan, held = plan_shortlist(names, expected, self.people(count, before.sizes), self.wanted)
        asked = self.crowd.ask(plan, count)
        held, singles = estimate_singles(asked, held)
        entries: list[Itemset] = [(item,) for item in items]
        cut = cuts(entries, before.knowledge, before.evidence, 0.0)
        evidence = before.evidence.joined(entries, singles, cut)
        place = {item: row for row, item in enumerate(items)}
        measure = asked.measure(held, place)
        known, evidence = believed(evidence, before.prior, self.wanted, LARGEST_ITEMSET, measure)
        return self._result("shortlist", plan, count, before.sizes, known, evidence, before.prior)

    def ask_itemsets(self, count: int, before: RoundResult) -> RoundResult:
        entries = self.split.rule.candidates(before.knowledge, self.wanted)
        names = [[self.crowd.catalogue[item] for item in itemset] for itemset in entries]
        expected = np.array([before.knowledge[entry].expected for entry in entries])
        holdings = SyntheticHoldings.of(entries, before.knowledge, before.sizes)
        plan = plan_itemsets(names, expected, self.people(count, holdings.sizes))
        support, errors = self.crowd.ask(plan, count).singles()
        m, n = plan.transaction_size, len(entries)
        shown = Shown(support[:n], errors[:n], support[n : n + m][::-1], errors[n : n + m][::-1])
        surviving = surviving_shares(entries, before.knowledge, before.sizes, sampling_of(plan), shown)
        estimates = _estimates(support[:n], support[:n] / surviving, errors[:n] / surviving, FITTED_BIAS)
        least = before.knowledge[ranked(before.knowledge, self.wanted)[-1]].expected
        cut = cuts(entries, before.knowledge, before.evidence, least)
        evidence = before.evidence.joined(entries, estimates, cut)
        known, evidence = believed(evidence, before.prior, self.wanted, LARGEST_ITEMSET)
        return self._result("itemsets", plan, count, before.sizes, known, evidence, before.prior)

    def _result(
        self, name: str, plan: Plan, count: int, sizes: SizeShares, known: Knowledge, evidence: Evidence, prior: Prior
    ) -> RoundResult:
        return RoundResult(name, plan, count, sizes, published(known, evidence), evidence, prior)


def sampling_of(plan: Plan) -> Sampling:
    """Return what of a basket the plan's reports are about."""
    blocks = plan.view.blocks
    return Sampling(plan.transaction_size, plan.n_items, 1 if blocks is None else blocks.pieces)


class Asked:
    """Reports of one round, ready for questions."""

    def __init__(self, reports: Reports) -> None:
        self.plan = reports.plan.as_a(Plan)
        self._source = LocalBackend.of(reports).open()

    def supports(self, itemsets: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return supports within what is reported, and their standard errors, for itemsets int64 (itemsets, k)."""
        estimates = count_subsets(self._source, itemsets).estimates()
        return estimates.support.astype(np.float64), estimates.std_error(population=True)

    def singles(self) -> tuple[Floats, Floats]:
        """Return those of all items, and after them of the dummies."""
        return self.supports(np.arange(self.plan.padded_items, dtype=np.int64)[:, None])

    def measure(self, sizes: SizeShares, place: dict[int, int] | None = None) -> Measure:
        """Return what tells supports in whole baskets and variances of itemsets, whose items have these positions."""

        def of(itemsets: list[Itemset]) -> dict[Itemset, Average]:
            k = len(itemsets[0])
            asked = [a for a in itemsets if place is None or all(i in place for i in a)]
            if k > self.plan.itemset_size or not asked:
                return {}
            rows = np.array([[i if place is None else place[i] for i in a] for a in asked], dtype=np.int64)
            return dict(
                zip(asked, _before_sampling(*self.supports(rows), sizes, sampling_of(self.plan), k), strict=True)
            )

        return of


def estimate_singles(asked: Asked, sizes: SizeShares) -> tuple[SizeShares, list[Average]]:
    """Return the distribution of sizes, beyond M the one given, and estimates of single items."""
    plan = asked.plan
    m, n = plan.transaction_size, plan.n_items
    support, errors = asked.singles()
    if plan.view.blocks is None:
        sizes = shares_from_dummies(support[n : n + m][::-1], sizes)
    return sizes, _before_sampling(support[:n], errors[:n], sizes, sampling_of(plan), 1)


def _before_sampling(supports: Floats, errors: Floats, sizes: SizeShares, sampling: Sampling, k: int) -> list[Average]:
    """Return estimates of supports before the sampling."""
    raw, factors = undo_sampling(supports, sizes, sampling, k)
    return _estimates(supports, raw, errors * factors)


def _estimates(supports: Floats, raw: Floats, errors: Floats, left: float = LEFT_BIAS) -> list[Average]:
    """Return estimates of raw supports, with standard errors, and the bias that undoing the sampling may have left."""
    change = np.abs(raw - supports)
    columns = raw.tolist(), (errors**2).tolist(), (left * change).tolist(), change.tolist()
    return [Average(*each) for each in zip(*columns, strict=True)]
