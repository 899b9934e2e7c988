"""Schedules of rounds tried on baskets at hand, beside the truth that only these baskets tell.

What each round buys is how much of the truth it finds.

People are split at random; each group's baskets are randomized by the shipping client and estimated by the server's
code, and nothing of them but reports goes into the next round's plan.

The truth is the most frequent itemsets of up to four items in whole baskets, exactly counted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.transactions import apply_view
from assocpriv.files.reports import Reports
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
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.entropy import SystemEntropy, WordEntropy
from assocpriv.promise.errors import EstimateError, options_of
from assocpriv.promise.numbers import check_range
from assocpriv.records.basket_files import ReadOptions, read_baskets
from assocpriv.records.baskets import Baskets, to_baskets
from assocpriv.records.sources import is_file
from assocpriv.server import posterior
from assocpriv.server.apriori import mine_levels
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.server.rounds import FITTED_BIAS, Shown, SyntheticHoldings, surviving_shares
from assocpriv.server.supports import Respondents, lowest_discoverable_support, normal_quantile
from assocpriv.server.undo_sampling import (
    LEFT_BIAS,
    Sampling,
    SizeShares,
    fit_sizes,
    shares_from_dummies,
    undo_sampling,
)
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.simulate import PlainCounter, Progress

if TYPE_CHECKING:
    from assocpriv.promise.breaches import Breach

AUTO = "auto"
_MOST_ROUNDS = 3
_LARGEST_ITEMSET = 4  # items of an itemset that counts
_STEP = 0.6  # how far the support falls before itemsets are counted again
_BLOCK = 1 << 17  # baskets looked at together
_MOST_TOP = 100_000
_REACH = normal_quantile(0.95)  # of the interval that is published, in standard errors

Floats = NDArray[np.float64]


# ---- a schedule


@dataclass(frozen=True, slots=True)
class RoundResult:
    """One round: its plan, the people asked, and what all rounds up to it know, by items of the baskets' catalogue.

    ``sizes`` are those of whole baskets, ``evidence`` is what was measured, ``prior`` how items' supports are spread.
    """

    name: str
    plan: Plan
    people: int
    sizes: SizeShares = field(repr=False)
    knowledge: posterior.Knowledge = field(repr=False)
    evidence: posterior.Evidence = field(repr=False)
    prior: posterior.Prior = field(repr=False)


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
    baskets: Baskets, promise: "Breach", wanted: int, split: PeopleSplit | None = None, *, seed: int | None = None
) -> list[RoundResult]:
    """Ask all people once, round after round, for so many itemsets wanted; three rounds by default."""
    return run_schedule(Crowd(baskets, seed), promise, wanted, split or PeopleSplit())


def run_schedule(crowd: Crowd, promise: "Breach", wanted: int, split: PeopleSplit) -> list[RoundResult]:
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
    promise: "Breach"
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
        sizes, singles = _estimate_singles(asked, sizes)
        evidence = posterior.Evidence({}, {}).joined(
            [(i,) for i in range(plan.n_items)], singles, [-math.inf] * plan.n_items
        )
        prior = posterior.Prior.of(
            np.array([each.support for each in singles]), np.array([each.error for each in singles])
        )
        measure = asked.measure(sizes) if pairs else None
        known, evidence = posterior.believed(evidence, prior, self.wanted, _LARGEST_ITEMSET, measure)
        return self._result("items", plan, count, sizes, known, evidence, prior)

    def ask_shortlist(self, count: int, before: RoundResult) -> RoundResult:
        items = self.split.rule.shortlisted(before.knowledge, self.wanted)
        names = [self.crowd.catalogue[item] for item in items]
        expected = np.array([before.knowledge[item,].expected for item in items])
        plan, held = plan_shortlist(names, expected, self.people(count, before.sizes), self.wanted)
        asked = self.crowd.ask(plan, count)
        held, singles = _estimate_singles(asked, held)
        entries: list[posterior.Itemset] = [(item,) for item in items]
        cut = posterior.cuts(entries, before.knowledge, before.evidence, 0.0)
        evidence = before.evidence.joined(entries, singles, cut)
        place = {item: row for row, item in enumerate(items)}
        measure = asked.measure(held, place)
        known, evidence = posterior.believed(evidence, before.prior, self.wanted, _LARGEST_ITEMSET, measure)
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
        surviving = surviving_shares(entries, before.knowledge, before.sizes, _sampling_of(plan), shown)
        estimates = _estimates(support[:n], support[:n] / surviving, errors[:n] / surviving, FITTED_BIAS)
        least = before.knowledge[posterior.ranked(before.knowledge, self.wanted)[-1]].expected
        cut = posterior.cuts(entries, before.knowledge, before.evidence, least)
        evidence = before.evidence.joined(entries, estimates, cut)
        known, evidence = posterior.believed(evidence, before.prior, self.wanted, _LARGEST_ITEMSET)
        return self._result("itemsets", plan, count, before.sizes, known, evidence, before.prior)

    def _result(
        self,
        name: str,
        plan: Plan,
        count: int,
        sizes: SizeShares,
        known: posterior.Knowledge,
        evidence: posterior.Evidence,
        prior: posterior.Prior,
    ) -> RoundResult:
        return RoundResult(name, plan, count, sizes, posterior.published(known, evidence), evidence, prior)


def _sampling_of(plan: Plan) -> Sampling:
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

    def measure(self, sizes: SizeShares, place: dict[int, int] | None = None) -> posterior.Measure:
        """Return what tells supports in whole baskets and variances of itemsets, whose items have these positions."""

        def of(itemsets: list[posterior.Itemset]) -> dict[posterior.Itemset, posterior.Average]:
            k = len(itemsets[0])
            asked = [a for a in itemsets if place is None or all(i in place for i in a)]
            if k > self.plan.itemset_size or not asked:
                return {}
            rows = np.array([[i if place is None else place[i] for i in a] for a in asked], dtype=np.int64)
            return dict(
                zip(asked, _before_sampling(*self.supports(rows), sizes, _sampling_of(self.plan), k), strict=True)
            )

        return of


def _estimate_singles(asked: Asked, sizes: SizeShares) -> tuple[SizeShares, list[posterior.Average]]:
    """Return the distribution of sizes, beyond M the one given, and estimates of single items."""
    plan = asked.plan
    m, n = plan.transaction_size, plan.n_items
    support, errors = asked.singles()
    if plan.view.blocks is None:
        sizes = shares_from_dummies(support[n : n + m][::-1], sizes)
    return sizes, _before_sampling(support[:n], errors[:n], sizes, _sampling_of(plan), 1)


def _before_sampling(
    supports: Floats, errors: Floats, sizes: SizeShares, sampling: Sampling, k: int
) -> list[posterior.Average]:
    """Return estimates of supports before the sampling."""
    raw, factors = undo_sampling(supports, sizes, sampling, k)
    return _estimates(supports, raw, errors * factors)


def _estimates(supports: Floats, raw: Floats, errors: Floats, left: float = LEFT_BIAS) -> list[posterior.Average]:
    """Return estimates of raw supports, with standard errors, and the bias that undoing the sampling may have left."""
    change = np.abs(raw - supports)
    columns = raw.tolist(), (errors**2).tolist(), (left * change).tolist(), change.tolist()
    return [posterior.Average(*each) for each in zip(*columns, strict=True)]


# ---- schedules beside the truth


@dataclass(frozen=True, slots=True)
class RoundScore:
    """What one round was, and what is known after it; None where it asks for no items.

    Attributes:
        name: ``sizes``, ``items``, ``shortlist`` or ``itemsets``.
        hits: of the wanted itemsets, how many are among the best found; ``precision`` is their share.
        rmse: root of the mean squared error over the true itemsets; one that is not estimated counts as 0.
        covered: of the true itemsets that are estimated, which share lies within the 95% interval that is published.
        surviving: mean share of the true itemsets' support that is left within what this round's transactions report.
        discoverable: true itemsets whose support within that is at least the lowest that this round could tell from 0.
    """

    name: str
    plan: Plan
    people: int
    hits: int | None = None
    precision: float | None = None
    rmse: float | None = None
    covered: float | None = None
    surviving: float | None = None
    discoverable: int | None = None


@dataclass(frozen=True, slots=True)
class ScheduleTrial:
    """A schedule as it went; ``known`` is what its last round knows, ``seconds`` its time."""

    rounds: tuple[RoundScore, ...]
    known: posterior.Knowledge
    seconds: float

    @property
    def count(self) -> int:
        """Number of rounds, that of the sizes not among them."""
        return len(self.rounds) - 1

    @property
    def hits(self) -> int:
        """Truly frequent itemsets among the best found after the last round."""
        return self.rounds[-1].hits or 0

    @property
    def tells(self) -> bool:
        """Whether any true itemset could be told from nothing in any of the rounds."""
        return any(each.discoverable for each in self.rounds)


@dataclass(frozen=True, slots=True)
class RoundsTrial:
    """Schedules tried on baskets, fewer rounds first, beside the truth.

    ``truth`` is {itemset: its support in whole baskets}, the most frequent first, as many as wanted if there are;
    ``supports`` has others of nearly their support, too.
    """

    baskets: Baskets
    promise: "Breach"
    wanted: int
    truth: dict[posterior.Itemset, float]
    supports: dict[posterior.Itemset, float]
    schedules: tuple[ScheduleTrial, ...] = ()

    @property
    def proposed(self) -> ScheduleTrial:
        """The schedule that found the most true itemsets, of equals the one with fewer rounds."""
        return max(self.schedules, key=lambda each: (each.hits, -each.count))

    @property
    def tells(self) -> bool:
        """Whether any schedule can tell anything."""
        return any(each.tells for each in self.schedules)


def try_rounds(
    baskets: Baskets,
    promise: "Breach",
    *,
    rounds: int | str = AUTO,
    top: int = 64,
    seed: int | None = None,
    progress: Progress | None = None,
) -> RoundsTrial:
    """Run schedules of rounds and compare what they find with the truth, as :func:`assocpriv.simulate_rounds`."""
    top = check_range("top", top, 1, _MOST_TOP)
    if rounds != AUTO and rounds not in range(1, _MOST_ROUNDS + 1):
        raise EstimateError(f"rounds must be auto or 1 … {_MOST_ROUNDS}, got {rounds!r}")
    counts = range(1, _MOST_ROUNDS + 1) if rounds == AUTO else [int(rounds)]
    stage, steps = "trying rounds", len(counts) + 1
    report: Progress = progress or (lambda _stage, _done, _steps: None)
    report(stage, 0, steps)
    supports = true_itemsets(baskets, top)
    if not supports:
        raise EstimateError("no basket holds any item; there is nothing to find")
    trial = RoundsTrial(baskets, promise, top, dict(list(supports.items())[:top]), supports)
    tried = []
    for done, count in enumerate(counts, 1):
        report(stage, done, steps)
        tried.append(_try_schedule(trial, PeopleSplit(rounds=count), seed))
    report(stage, steps, steps)
    return replace(trial, schedules=tuple(tried))


def _try_schedule(trial: RoundsTrial, split: PeopleSplit, seed: int | None) -> ScheduleTrial:
    started = perf_counter()
    results = run_rounds(trial.baskets, trial.promise, trial.wanted, split, seed=seed)
    seconds = perf_counter() - started
    asked = len(trial.baskets) - sum(each.people for each in results)
    sizes = RoundScore("sizes", plan_sizes(trial.promise), asked)
    return ScheduleTrial((sizes, *(_try_round(trial, each) for each in results)), results[-1].knowledge, seconds)


def _try_round(trial: RoundsTrial, result: RoundResult) -> RoundScore:
    truth, known = trial.truth, result.knowledge
    best, least = posterior.ranked(known, len(truth)), min(truth.values())
    hits = sum(trial.supports.get(itemset, 0.0) >= least for itemset in best)
    errors = [known[a].support - s if a in known else -s for a, s in truth.items()]
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    surviving = true_surviving_shares(trial.baskets, result.plan, list(truth))
    held = [abs(known[a].support - s) <= _REACH * known[a].variance ** 0.5 for a, s in truth.items() if a in known]
    plan, respondents = result.plan, Respondents.of(result.plan, result.people)
    limits = {k: lowest_discoverable_support(respondents, k) for k in range(1, plan.itemset_size + 1)}
    sizes = [1 if plan.view.itemsets else len(itemset) for itemset in truth]
    left = np.array(list(truth.values())) * surviving
    reached = sum(support >= limits.get(k, math.inf) for k, support in zip(sizes, left.tolist(), strict=True))
    mean = float(surviving.mean())
    covered = sum(held) / len(held) if held else None
    return RoundScore(result.name, plan, result.people, hits, hits / len(truth), rmse, covered, mean, reached)


def true_itemsets(baskets: Baskets, top: int, largest: int = _LARGEST_ITEMSET) -> dict[posterior.Itemset, float]:
    """Return all itemsets of up to ``largest`` items of some support or more, at least ``top`` if there are.

    They are {itemset of ids: support in whole baskets}, the most frequent first, of equals the smaller and then the
    lexicographically first.
    """
    items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
    counts = np.bincount(items, minlength=len(baskets.catalogue))
    least = int(counts.max(initial=0))
    supports: dict[posterior.Itemset, float] = {}
    while least >= 1:
        supports = _frequent(baskets, np.flatnonzero(counts >= least), least, largest)
        if len(supports) >= top or least == 1:
            break
        least = max(1, int(least * _STEP))
    return dict(sorted(supports.items(), key=lambda pair: (-pair[1], len(pair[0]), pair[0])))


def _frequent(baskets: Baskets, items: NDArray[np.int64], least: int, largest: int) -> dict[posterior.Itemset, float]:
    """Return the itemsets that ``least`` baskets hold or more; ``items`` are those that as many hold."""
    number = np.full(len(baskets.catalogue), -1, dtype=np.int64)
    number[items] = np.arange(len(items))
    numbers = number[baskets.items]
    before = np.concatenate(([0], np.cumsum(numbers >= 0)))
    counter = PlainCounter(before[baskets.offsets], numbers[numbers >= 0], len(items))
    # half a basket below, so that no rounding decides
    support = (least - 0.5) / len(baskets)
    levels, _ = mine_levels((counter, SupportModel.plain()), len(items), support, min(largest, len(items)))
    return {
        tuple(row): share
        for level in levels
        for row, share in zip(items[level.itemsets].tolist(), level.estimates.support.tolist(), strict=True)
    }


def of_used_items(baskets: Baskets) -> Baskets:
    """Return baskets over a catalogue of the items that occur: numbers of a file leave gaps that are no items.

    >>> of_used_items(Baskets.from_sets([[7], [2, 7]])).catalogue[1]
    '7'
    """
    items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
    used, numbers = np.unique(items, return_inverse=True)
    if len(used) in (0, len(baskets.catalogue)):
        return baskets
    catalogue = Catalogue([baskets.catalogue[item] for item in used.tolist()])
    return Baskets(catalogue, baskets.offsets - baskets.offsets[0], numbers.astype(np.int64))


def true_surviving_shares(baskets: Baskets, plan: Plan, itemsets: Sequence[posterior.Itemset]) -> Floats:
    """Return which share of the support of itemsets, of the baskets' catalogue, is left within what is reported.

    With blocks that is of the people whose block holds the itemset.
    """
    transactions, _ = apply_view(baskets, plan)
    index = plan.catalogue.index_of
    if plan.view.itemsets:
        asked = set(plan.view.itemsets)
        sizes = [int(tuple(sorted(baskets.catalogue[i] for i in a)) in asked) for a in itemsets]
    else:
        sizes = [len(a) if all(baskets.catalogue[i] in index for i in a) else 0 for a in itemsets]
    every = SizeShares(np.arange(int(transactions.sizes.max(initial=0)) + 1), np.ones(1))
    sampling = _sampling_of(plan)
    left = {k: sampling.kept(every.sizes, k) if k else np.zeros(len(every.sizes)) for k in set(sizes)}
    items = np.array(sorted({item for itemset in itemsets for item in itemset}), dtype=np.int64)
    place = {item: row for row, item in enumerate(items.tolist())}
    total, surviving = np.zeros(len(itemsets)), np.zeros(len(itemsets))
    for start in range(0, len(baskets), _BLOCK):
        holds = _holdings(baskets[start : start + _BLOCK], items)
        held_sizes = transactions.sizes[start : start + _BLOCK]
        for row, (itemset, k) in enumerate(zip(itemsets, sizes, strict=True)):
            holders = np.logical_and.reduce(holds[[place[item] for item in itemset]], axis=0)
            total[row] += np.count_nonzero(holders)
            surviving[row] += left[k][held_sizes[holders]].sum()
    result: Floats = surviving / np.maximum(total, 1)
    return result


def _holdings(baskets: Baskets, items: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return who holds which of some items (increasing), bool (items, baskets)."""
    flat = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
    rows = np.repeat(np.arange(len(baskets)), baskets.sizes)
    places = np.minimum(np.searchsorted(items, flat), len(items) - 1)
    wanted = items[places] == flat
    holds = np.zeros((len(items), len(baskets)), dtype=np.bool_)
    holds[places[wanted], rows[wanted]] = True
    return holds


def simulate_rounds(
    baskets: Any,
    promise: "Breach",
    *,
    rounds: int | str = "auto",
    top: int = 64,
    seed: int | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> RoundsTrial:
    """Run whole schedules of rounds on baskets: how many rounds find most, and what does each buy?

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`), or a file.
        promise: the breach that no report may cause; each person answers once.
        rounds: 1, 2, 3, or ``auto`` to try all.
        top: how many itemsets are wanted.
        seed: makes the run repeatable; the operating system's entropy by default.
        progress: called with (stage, done, total).
        reading: of a file, as of :func:`assocpriv.read_baskets`; its catalogue is of the items that occur in it.

    Returns:
        ``schedules``, each with its rounds and what was found after them beside the truth, and ``proposed``, the one
        that found the most of the truly most frequent itemsets (of up to four items, in whole baskets).

    Raises:
        EstimateError: too few baskets, or none that holds anything.
        PlanError: numbers out of range, or no operator fits.

    >>> import assocpriv as ap
    >>> tried = ap.simulate_rounds([{"milk", "tea"}] * 5000, ap.Breach("5%", "50%"), rounds=1, top=2, seed=1)
    >>> len(tried.schedules), len(tried.proposed.rounds)
    (1, 2)
    """

    if is_file(baskets):
        stage = partial(progress, "reading") if progress else None
        raw = of_used_items(read_baskets(baskets, None, options_of(ReadOptions, {"progress": stage, **reading}))[0])
    else:
        raw = to_baskets(baskets, **reading)
    return try_rounds(raw, promise, rounds=rounds, top=top, seed=seed, progress=progress)
