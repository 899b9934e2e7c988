"""Waves: the answers to one question about items, with the law of the sizes of the baskets that they tell of.

Reports of one plan are a wave for each of its questions about items; reports of several plans, as of a first collection
and of others about a shorter catalogue, are waves together. Nobody answers twice, so waves are independent.

Reports of padded baskets tell how many baskets are small: dummy d is in the padded basket exactly if that holds at most
M − 1 − d items. Larger sizes a few people are asked about (size_law.py). Where nobody was, supports can only be told
within the at most M items that each basket was sampled to.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.question import Question
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.errors import EstimateError
from assocpriv.server.counting import CountingBackend, ItemsetCounter, Part, add_subsets
from assocpriv.server.size_law import SizeLaw, fit_size_law
from assocpriv.server.supports import Respondents, estimate_supports

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Seen:
    """Estimates within sampled items, float64 (itemsets,), and of which itemsets there are any, bool (itemsets,)."""

    support: Floats
    asked: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FirstCounts:
    """What is counted before anything is looked for: entries and dummies, int64 (entries + M,), and pairs of them.

    ``small`` are pairs of each entry and the first dummy, which padded baskets hold if they are small, (entries,), 0
    where the plan's generator does not estimate pairs. ``dummies`` are all pairs of dummies, (M, M), on whose diagonal
    they are alone: covariances of what reports show are counted, whatever the generator estimates.
    """

    singles: Ints
    small: Ints
    dummies: Ints

    @classmethod
    def of(cls, counter: ItemsetCounter, n_entries: int, m: int, *, pairs: bool) -> "FirstCounts":
        """Count in three goes: pairs with one item in common are the fastest."""
        singles = counter.count(np.arange(n_entries + m, dtype=np.int64)[:, None])
        small = np.zeros(n_entries, dtype=np.int64)
        if pairs:
            small = counter.count(np.column_stack([np.arange(n_entries), np.full(n_entries, n_entries)]))
        return cls(singles, small, _count_pairs(counter, singles[n_entries:], n_entries))


def _count_pairs(counter: ItemsetCounter, alone: Ints, start: int = 0) -> Ints:
    """Return how many reports show each pair of entries from ``start`` on, given each alone, int64 (n,): (n, n)."""
    together = np.array(np.diag(alone))
    left, right = (each.astype(np.int64) for each in np.triu_indices(len(alone), 1))
    if len(left):
        together[left, right] = together[right, left] = counter.count(start + np.column_stack([left, right]))
    return together


@dataclass(frozen=True, slots=True)
class Wave:
    """The answers to one question about items, with what was counted of them first.

    ``entries`` are the entries of the question by the items' ids, int64 (items,), −1 where nobody was asked of an item.
    """

    counter: ItemsetCounter
    model: SupportModel
    transaction_size: int
    itemset_size: int
    law: SizeLaw
    first: FirstCounts
    entries: Ints

    def item_sums(self) -> Ints:
        """Return C_0 and C_1 of each item, int64 (items, 2)."""
        shown = np.where(self.entries >= 0, self.first.singles[self.entries], 0)
        return np.column_stack([np.full(len(shown), self.counter.n_reports), shown])

    def sums(self, itemsets: Ints, parents: Ints, smaller: Ints) -> Ints:
        """Return C_0 … C_k of itemsets, int64 (itemsets, k + 1), by those of the sets that lack one item each."""
        k = itemsets.shape[1]
        sums = np.zeros((len(itemsets), k + 1), dtype=np.int64)
        sums[:, :k] = add_subsets(smaller, parents)
        entries = np.sort(self.entries[itemsets], axis=1)
        asked = np.flatnonzero(self.asks(entries))
        asked = asked[np.lexsort(entries[asked].T[::-1])]
        if len(asked):
            sums[asked, k] = self.counter.count(entries[asked])
        return sums

    def seen(self, itemsets: Ints, sums: Ints) -> Seen:
        """Return estimates of supports within sampled items, without bias."""
        asked = self.asks(self.entries[itemsets])
        return Seen(np.where(asked, self._estimates(sums), 0.0), asked)

    def _estimates(self, sums: Ints) -> Floats:
        if sums.shape[1] - 1 > self.itemset_size:
            return np.zeros(len(sums))
        return np.asarray(estimate_supports(sums, Respondents(self.counter.n_reports, self.model)).support)

    def variances(self, within: Floats) -> Floats:
        """Return the variances of such estimates, float64 (itemsets,), by what supports are thought to be.

        They are those for baskets drawn from a population. ``within`` are S_0 … S_k, (itemsets, k + 1): S_j sums, over
        an itemset's subsets of j items, their supports within sampled items. An error had from the counts themselves
        would be small where the estimate happens to be large, and weights by it biased.
        """
        k = within.shape[1] - 1
        moments = np.array([float(self.model.second_moment(k, held)) for held in range(k + 1)])
        held = [sum((-1) ** (j - p) * comb(j, p) * within[:, j] for j in range(p, k + 1)) for p in range(1, k + 1)]
        shares = np.maximum(np.stack(held, axis=1), 0.0)
        nothing = np.maximum(1 - shares.sum(axis=1), 0.0)
        squares = nothing * moments[0] + shares @ moments[1:]
        return np.asarray(np.maximum(squares - within[:, k] ** 2, 0.0) / self.counter.n_reports)

    def seen_small(self) -> tuple[Seen, float]:
        """Return estimates of the supports of each item with the first dummy, and that of the dummy, in [0, 1]."""
        n_reports, entries, dummy = self.counter.n_reports, self.entries, int(self.first.dummies[0, 0])
        alone = self.item_sums()[:, 1]
        support = self._estimates(
            np.column_stack([np.full(len(alone), n_reports), alone + dummy, self.first.small[entries]])
        )
        small = float(self._estimates(np.array([[n_reports, dummy]]))[0])
        return Seen(np.where(entries >= 0, support, 0.0), entries >= 0), float(np.clip(small, 0.0, 1.0))

    def asks(self, entries: Ints) -> NDArray[np.bool_]:
        """Tell which itemsets were asked about as a whole, in a size that can be estimated."""
        return np.asarray((entries >= 0).all(axis=1) & (entries.shape[1] <= self.itemset_size))


@dataclass(frozen=True, slots=True)
class Waves:
    """All waves of some collections, the main one first.

    Attributes:
        waves: one or more.
        catalogue: the items of all of them.
        whole: whether supports of whole baskets can be told; if not, they are those within at most M sampled items.
        answers: how many people told how many items they hold.
    """

    waves: tuple[Wave, ...]
    catalogue: Catalogue
    whole: bool
    answers: int

    @classmethod
    def of(cls, backends: Sequence[CountingBackend], largest: int, part: Part = Part.WHOLE) -> "Waves":
        """Return the waves of collections of different plans, counted in all of their reports or in some.

        Itemsets of up to ``largest`` items are to be told.

        Raises:
            EstimateError: no reports of items.
        """
        plans = longest_first(backend.plan for backend in backends)
        ordered, catalogue = sorted(backends, key=lambda each: plans.index(each.plan)), united(plans)
        waves, answers, whole = [], 0, True
        for backend in ordered:
            plan = backend.plan
            entries = np.array([plan.catalogue.index_of.get(name, -1) for name in catalogue], dtype=np.int64)
            whole &= all(each.transaction_size >= plan.n_items for each in _about_items(plan)) or plan.sizes is not None
            law: SizeLaw | None = None
            for question in _about_items(plan):
                counter, model = backend.open(part, question)
                if not counter.n_reports:
                    continue
                m, size = question.transaction_size, _told_up_to(question, model, max(largest, 2))
                first = FirstCounts.of(counter, plan.n_items, m, pairs=size > 1)
                if law is None:
                    law, told = _law_of(backend, part, first, counter, model)  # who tests has no say in what is chosen
                    answers += told
                    whole &= told > 0 or m >= plan.n_items
                waves.append(Wave(counter, model, m, size, law, first, entries))
        if not waves:
            raise EstimateError("there are no reports to mine; collect some first")
        return cls(tuple(waves), catalogue, whole, answers)

    @property
    def n_reports(self) -> int:
        """How many reports tell of items."""
        return sum(wave.counter.n_reports for wave in self.waves)


def _about_items(plan: Plan) -> list[Question]:
    """Return the questions about items, first the one that most are asked."""
    asked = [question for question in plan.questions if question.view.kind == plan.items.view.kind]
    return sorted(asked, key=lambda question: question is not plan.items)


def longest_first(plans: Iterable[Plan]) -> list[Plan]:
    """Return plans, the one of the longest catalogue first."""
    return sorted(plans, key=lambda plan: -plan.n_items)


def united(plans: Sequence[Plan]) -> Catalogue:
    """Return the items of all plans, first those of the first."""
    first = plans[0].catalogue
    more = dict.fromkeys(name for plan in plans[1:] for name in plan.catalogue if name not in first.index_of)
    return Catalogue([*first, *more]) if more else first


def _told_up_to(question: Question, model: SupportModel, largest: int) -> int:
    """Return the largest itemset size, of some, that the answers to a question tell of."""
    for k in range(min(largest, question.transaction_size), 0, -1):
        if independent_enough(question, k) and model.variances(k)[0] < math.inf:
            return k
    return 0


def independent_enough(question: Question, k: int) -> bool:
    """Tell whether reports show any M + k of the entries independently, as estimates of k-itemsets need."""
    if question.generator.kind == "none":
        return True
    needed = min(question.transaction_size + k, question.padded_items)
    return question.generator.independent_items(question.independent.insert_bits) >= needed


def _law_of(
    backend: CountingBackend, part: Part, first: FirstCounts, counter: ItemsetCounter, model: SupportModel
) -> tuple[SizeLaw, int]:
    plan, bounds = backend.plan, np.array(backend.plan.size_bounds, dtype=np.int64)
    m = plan.items.transaction_size
    below, below_errors = told_together(first.dummies, counter.n_reports, model)
    source = None if plan.sizes is None else backend.open(part, plan.sizes)
    if source is None or not source[0].n_reports:
        reached = np.maximum.accumulate(np.clip(below[::-1], 0.0, 1.0))
        return SizeLaw(np.arange(m + 1), np.diff(reached, prepend=0.0, append=1.0)[None]), 0
    n_answers, alone = source[0].n_reports, source[0].count(np.arange(len(bounds), dtype=np.int64)[:, None])
    classes, errors = told_together(_count_pairs(source[0], alone), n_answers, source[1])
    return fit_size_law(below[::-1], below_errors[::-1, ::-1], classes, errors, bounds, plan.n_items), n_answers


def told_together(counts: Ints, n_reports: int, model: SupportModel) -> tuple[Floats, Floats]:
    """Return estimates of the supports of some entries, (entries,), and their covariances for the population.

    ``counts`` are how many reports show each pair of them, (entries, entries). An estimate is linear in the share of
    reports that show the entry, so covariances are those of what is shown, and of one report more: of somebody who
    holds none of them. With it no error is 0 where all reports are alike, as one report is.
    """
    row, by_chance = [float(value) for value in model.row(1)], float(model.transition(1)[1][0])
    shown, slope = np.diag(counts) / n_reports, row[1] - row[0]
    more = np.full(counts.shape, by_chance**2)
    np.fill_diagonal(more, by_chance)
    both = (counts + more) / (n_reports + 1)
    alone = np.diag(both)
    return row[0] + slope * shown, slope**2 * (both - np.outer(alone, alone)) / n_reports
