"""Collection rounds: the responses to one report type about items, with the basket-size distribution.

Reports of one plan form a round for each of its report types about items. Reports of several plans, such as a first
collection and a second one about a shorter catalogue, are rounds together. A person responds in one round only, so
rounds are independent.

Reports of padded baskets estimate how many baskets are small: padding item d is in the padded basket exactly if the
basket holds at most M − 1 − d items. A few people respond about larger sizes (size_distribution.py). Without such
responses, supports can only be estimated within the at most M items that each basket was truncated to.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.size_distribution import SizeDistribution, fit_size_distribution
from assocpriv.estimation.supports import Respondents, estimate_supports
from assocpriv.files.releases import Release
from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.operator import SupportModel
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.server.baskets.counting import CountingBackend, ItemsetCounter, Part, sum_over_subsets
from assocpriv.server.baskets.released_rounds import ReleasedRound, SampledEstimate, rounds_of_release

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FirstCounts:
    """Counts made before any search: entries and padding items, int64 (entries + M,), and pairs of them.

    ``small`` counts pairs of each entry with the first padding item, which padded baskets hold if they are small,
    (entries,). It is 0 where the plan's generator does not estimate pairs. ``padding_items`` counts all pairs of
    padding items, (M, M), with the single counts on its diagonal. Covariances of what reports show are counted whatever
    the generator estimates.
    """

    singles: Ints
    small: Ints
    padding_items: Ints

    @classmethod
    def from_counter(cls, counter: ItemsetCounter, n_entries: int, m: int, *, pairs: bool) -> "FirstCounts":
        """Count entries with their pairs in one pass, and then padding items."""
        entries, padding = np.arange(n_entries, dtype=np.int64), n_entries + np.arange(m, dtype=np.int64)
        small = np.zeros(n_entries, dtype=np.int64)
        if pairs:
            singles, small = counter.count_with(entries, n_entries)
            singles = np.append(singles, counter.count(padding[:, None]))
        else:
            singles = counter.count(np.append(entries, padding)[:, None])
        return cls(singles, small, _count_pairs(counter, singles[n_entries:], n_entries))


def _count_pairs(counter: ItemsetCounter, alone: Ints, start: int = 0) -> Ints:
    """Return how many reports show each pair of entries from ``start`` on, given each alone, int64 (n,): (n, n)."""
    together = np.array(np.diag(alone))
    left, right = (each.astype(np.int64) for each in np.triu_indices(len(alone), 1))
    if len(left):
        together[left, right] = together[right, left] = counter.count(start + np.column_stack([left, right]))
    return together


@dataclass(frozen=True, slots=True)
class Round:
    """The responses to one report type about items, with their first counts.

    ``entries`` are the entries of the report type by the items' ids, int64 (items,), −1 where the type lacks the item.
    """

    counter: ItemsetCounter
    model: SupportModel
    transaction_size: int
    itemset_size: int
    sizes: SizeDistribution
    first: FirstCounts
    entries: Ints

    def item_sums(self) -> Ints:
        """Return C_0 and C_1 of each item, int64 (items, 2)."""
        shown = np.where(self.entries >= 0, self.first.singles[self.entries], 0)
        return np.column_stack([np.full(len(shown), self.counter.n_reports), shown])

    def count_subsets(self, itemsets: Ints, parents: Ints, smaller: Ints) -> Ints:
        """Return C_0 … C_k of itemsets, int64 (itemsets, k + 1), given those of their subsets of k − 1 items."""
        k = itemsets.shape[1]
        subset_sums = np.zeros((len(itemsets), k + 1), dtype=np.int64)
        subset_sums[:, :k] = sum_over_subsets(smaller, parents)
        entries = np.sort(self.entries[itemsets], axis=1)
        available = np.flatnonzero(self.covers(entries))
        available = available[np.lexsort(entries[available].T[::-1])]
        if len(available):
            subset_sums[available, k] = self.counter.count(entries[available])
        return subset_sums

    def estimate(self, itemsets: Ints, subset_sums: Ints) -> SampledEstimate:
        """Return unbiased estimates of supports within truncated baskets."""
        available = self.covers(self.entries[itemsets])
        return SampledEstimate(np.where(available, self._estimates(subset_sums), 0.0), available)

    def _estimates(self, subset_sums: Ints) -> Floats:
        if subset_sums.shape[1] - 1 > self.itemset_size:
            return np.zeros(len(subset_sums))
        return np.asarray(estimate_supports(subset_sums, Respondents(self.counter.n_reports, self.model)).support)

    def variances(self, within: Floats) -> Floats:
        """Return the variances of such estimates at the given supports, float64 (itemsets,).

        They hold for baskets drawn from a population. ``within`` are S_0 … S_k, (itemsets, k + 1): S_j sums the
        supports within truncated baskets over an itemset's subsets of j items. An error computed from the counts
        themselves would be small where the estimate happens to be large, and weights from it would be biased.
        """
        k = within.shape[1] - 1
        moments = np.array([float(self.model.second_moment(k, held)) for held in range(k + 1)])
        held = [sum((-1) ** (j - p) * comb(j, p) * within[:, j] for j in range(p, k + 1)) for p in range(1, k + 1)]
        shares = np.maximum(np.stack(held, axis=1), 0.0)
        nothing = np.maximum(1 - shares.sum(axis=1), 0.0)
        squares = nothing * moments[0] + shares @ moments[1:]
        return np.asarray(np.maximum(squares - within[:, k] ** 2, 0.0) / self.counter.n_reports)

    def kept(self, k: int) -> None:
        """Return None: baskets are cut to M random items, which keeps C(M,k)/C(c,k) of k-itemsets."""

    def estimate_small(self) -> tuple[SampledEstimate, float] | None:
        """Return the support of each item with the first padding item, and the padding item's own in [0, 1].

        Returns:
            None where the round does not estimate pairs.
        """
        if self.itemset_size < 2:
            return None
        n, entries, padding = self.counter.n_reports, self.entries, int(self.first.padding_items[0, 0])
        alone = self.item_sums()[:, 1]
        sums = np.column_stack([np.full(len(alone), n), alone + padding, self.first.small[entries]])
        support = self._estimates(sums)
        small = float(self._estimates(np.array([[n, padding]]))[0])
        return SampledEstimate(np.where(entries >= 0, support, 0.0), entries >= 0), float(np.clip(small, 0.0, 1.0))

    def covers(self, entries: Ints) -> NDArray[np.bool_]:
        """Return which itemsets this round estimates: all items present, in a size that its generator supports."""
        return np.asarray((entries >= 0).all(axis=1) & (entries.shape[1] <= self.itemset_size))


@dataclass(frozen=True, slots=True)
class Rounds:
    """All rounds of some collections, the main one first.

    Attributes:
        rounds: one or more.
        catalogue: the items of all of them.
        whole: whether supports of whole baskets can be estimated; else they hold within at most M items of a basket.
        size_reports: number of reports about basket sizes.
        n_reports: number of reports about items, and of baskets of releases.
    """

    rounds: "tuple[Round | ReleasedRound, ...]"
    catalogue: Catalogue
    whole: bool
    size_reports: int
    n_reports: int

    @classmethod
    def from_backends(cls, backends: Sequence[CountingBackend], largest: int, part: Part = Part.WHOLE) -> "Rounds":
        """Return the rounds of collections of different plans, counted in all of their reports or in one part.

        Itemsets of up to ``largest`` items are to be estimated.

        Raises:
            EstimateError: no reports of items.
        """
        plans = longest_catalogue_first(backend.plan for backend in backends)
        ordered, catalogue = sorted(backends, key=lambda each: plans.index(each.plan)), merge_catalogues(plans)
        rounds: list[Round | ReleasedRound] = []
        size_reports, n_reports, whole = 0, 0, True
        for backend in ordered:
            plan = backend.plan
            entries = np.arange(len(catalogue))
            if plan.catalogue != catalogue:
                entries = np.array([plan.catalogue.index_of.get(name, -1) for name in catalogue], dtype=np.int64)
            if isinstance(plan, Release):
                rounds += rounds_of_release(plan, entries)
                size_reports, n_reports = size_reports + plan.n_baskets, n_reports + plan.n_baskets
                continue
            types = [each for each in plan.report_types if each.view.kind == plan.items.view.kind]
            types.sort(key=lambda each: each is not plan.items)  # the most frequent one first
            whole &= plan.sizes is not None or all(each.transaction_size >= plan.n_items for each in types)
            sizes: SizeDistribution | None = None
            for report_type in types:
                counter, model = backend.open(part, report_type)
                if not counter.n_reports:
                    continue
                m, size = report_type.transaction_size, _largest_estimable(report_type, model, max(largest, 2))
                first = FirstCounts.from_counter(counter, plan.n_items, m, pairs=size > 1)
                if sizes is None:
                    sizes, counted_sizes = _fit_sizes(plan, backend, part, first, counter, model)  # of this part alone
                    size_reports += counted_sizes
                    whole &= counted_sizes > 0 or m >= plan.n_items
                rounds.append(Round(counter, model, m, size, sizes, first, entries))
                n_reports += counter.n_reports
        if not rounds:
            raise EstimateError("there are no reports to mine; collect some first")
        return cls(tuple(rounds), catalogue, whole, size_reports, n_reports)


def longest_catalogue_first(plans: "Iterable[Plan | Release]") -> "list[Plan | Release]":
    """Return plans, the one with the longest catalogue first."""
    return sorted(plans, key=lambda plan: -plan.n_items)


def merge_catalogues(plans: "Sequence[Plan | Release]") -> Catalogue:
    """Return the items of all plans, those of the first plan first."""
    first = plans[0].catalogue
    more = dict.fromkeys(name for plan in plans[1:] for name in plan.catalogue if name not in first.index_of)
    return Catalogue([*first, *more]) if more else first


def _largest_estimable(report_type: ReportType, model: SupportModel, largest: int) -> int:
    """Return the largest itemset size up to ``largest`` that a report type estimates."""
    for k in range(min(largest, report_type.transaction_size, report_type.n_items), 0, -1):
        if report_type.supports(k) and model.variances(k)[0] < math.inf:
            return k
    return 0


def _fit_sizes(
    plan: Plan, backend: CountingBackend, part: Part, first: FirstCounts, counter: ItemsetCounter, model: SupportModel
) -> tuple[SizeDistribution, int]:
    bounds = np.array(plan.size_bounds, dtype=np.int64)
    m = plan.items.transaction_size
    below, below_errors = estimate_jointly(first.padding_items, counter.n_reports, model)
    source = None if plan.sizes is None else backend.open(part, plan.sizes)
    if source is None or not source[0].n_reports:
        reached = np.maximum.accumulate(np.clip(below[::-1], 0.0, 1.0))
        return SizeDistribution(np.arange(m + 1), np.diff(reached, prepend=0.0, append=1.0)[None]), 0
    n_sizes, alone = source[0].n_reports, source[0].count(np.arange(len(bounds), dtype=np.int64)[:, None])
    classes, errors = estimate_jointly(_count_pairs(source[0], alone), n_sizes, source[1])
    return fit_size_distribution(below[::-1], below_errors[::-1, ::-1], classes, errors, bounds, plan.n_items), n_sizes


def estimate_jointly(counts: Ints, n_reports: int, model: SupportModel) -> tuple[Floats, Floats]:
    """Return estimates of the supports of some entries, (entries,), and their covariances for the population.

    ``counts`` are how many reports show each pair of entries, (entries, entries). An estimate is linear in the share of
    reports that show the entry, so covariances follow from what is shown. One further report is added, of a person who
    holds none of the entries: so no error is 0 where all reports are alike, as a single report is.
    """
    row, false_positive = [float(value) for value in model.row(1)], float(model.transition(1)[1][0])
    shown, slope = np.diag(counts) / n_reports, row[1] - row[0]
    more = np.full(counts.shape, false_positive**2)
    np.fill_diagonal(more, false_positive)
    both = (counts + more) / (n_reports + 1)
    alone = np.diag(both)
    return row[0] + slope * shown, slope**2 * (both - np.outer(alone, alone)) / n_reports
