"""Level-wise mining on estimates: which itemsets are frequent, and which questions the reports cannot decide.

Counting is a backend's business (counting/backend.py), with a counter for each operator's reports; this module decides.
With s_min the minimum support, a candidate goes on when ŝ ≥ s_min − σ̂ and is frequent when ŝ ≥ s_min. Each candidate
costs one new count: the sums C_j over its smaller subsets follow from those of its (k−1)-subsets, each C_j being met
k − j times.

A level is undecidable when s_min < 2σ_k(0): an itemset of whose items nobody has any would then pass with more
than 2%. Nothing is reported as frequent there; if a larger size can be decided all its candidates go on uncut.
A level counts as decided when s_min is at least the support from which on finds among all candidates counted can be
believed (limits.py), z standard errors. Where other transactions hold some of the items, errors can be larger than any
plan foresees. So s_min must also be at least z − 0.5 of the standard errors measured on the candidates near s_min.

Source: ESAG02, section 5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.server.counting.backend import MOST_CANDIDATES, Collections
from assocpriv.server.estimates.limits import errors_of, level_discoverable_support
from assocpriv.server.estimates.supports import (
    Group,
    SupportEstimates,
    estimate_supports,
    foreseen_error,
    lowest_discoverable_support,
)

UNDECIDABLE_BELOW = 2.0  # standard errors
STATUSES = ("decided", "uncertain", "undecidable")
MEASURED_HIGH = 0.5  # standard errors: measured ones are estimates and may be a little high


@dataclass(frozen=True, slots=True)
class Level:
    """What happened at one itemset size k: how many itemsets were counted, went on, and were frequent.

    Attributes:
        kept: candidates that the next size is built from: those with ŝ ≥ s_min − σ̂, all of an undecidable size.
        std_error: σ_k(s_min): the largest measured on candidates near s_min; if there are none that of the plan alone.
        lowest_discoverable_support: LDS_k at this number of reports, by the plan alone: of one itemset.
        level_discoverable_support: the same of all candidates counted, of one where there were none; of an undecidable
            size of all its itemsets.
        errors: z, the standard errors that the latter is.
        status: ``decided`` (s_min ≥ level_discoverable_support and ≥ (z − 0.5) std_error), ``uncertain`` (below:
            expect false ones) or ``undecidable``.
    """

    size: int
    candidates: int
    kept: int
    frequent: int
    std_error: float
    lowest_discoverable_support: float
    level_discoverable_support: float
    errors: float
    min_support: float
    status: str

    @property
    def needed_support(self) -> float:
        """The least s_min at which this size would be decided, were its errors and candidates those of now."""
        return max(self.level_discoverable_support, (self.errors - MEASURED_HIGH) * self.std_error)


@dataclass(frozen=True, slots=True)
class ItemsetEstimates:
    """Itemsets of one size, in lexicographic order: the frequent ones and the subsets of larger frequent ones.

    Shapes are those of :class:`Candidates`; ``estimates`` and ``frequent`` have shape (itemsets,).
    """

    itemsets: NDArray[np.int64]
    sums: NDArray[np.int64]
    estimates: SupportEstimates
    frequent: NDArray[np.bool_]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Reports of each group showing the itemset, int64 (itemsets, groups)."""
        return self.sums[..., -1]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Itemsets of one size, int64 (itemsets, k), with their sums C_0 … C_k, int64 (itemsets, groups, k + 1)."""

    itemsets: NDArray[np.int64]
    sums: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.itemsets)

    def among(self, chosen: NDArray[Any]) -> "Candidates":
        """Return some of them."""
        return Candidates(self.itemsets[chosen], self.sums[chosen])


Decision = Callable[[Candidates, float], tuple[SupportEstimates, Level] | None]


def mine_levels(
    collections: Collections, n_items: int, min_support: float, max_itemset: int, most_candidates: int = MOST_CANDIDATES
) -> tuple[list[ItemsetEstimates], list[Level]]:
    """Find frequent itemsets of up to ``max_itemset`` items at a minimum support; as :meth:`LevelWalk.run`.

    Raises:
        EstimateError: no reports, or more candidates than can be counted.
    """
    groups = groups_with_reports(collections)
    decidable = [k for k in range(1, max_itemset + 1) if min_support >= least_decidable(groups, k)]

    def decide(candidates: Candidates, support: float) -> tuple[SupportEstimates, Level]:
        estimates = estimate_supports(candidates.sums, groups)
        return estimates, account_for(
            estimates, passing(estimates, support), groups, candidates.itemsets.shape[1], support
        )

    walk = LevelWalk(collections, n_items, max_itemset, most_candidates)
    return walk.run(decidable, decide, min_support)


@dataclass(frozen=True, slots=True)
class LevelWalk:
    """From single items to larger itemsets, those of each size made of those of the size before.

    Items 0 … n_items − 1 are mined (dummies have higher ids); ``most_candidates`` of one size are counted at most.
    """

    collections: Collections
    n_items: int
    max_itemset: int
    most_candidates: int

    def run(
        self, decidable: Sequence[int], decide: Decision, support: float
    ) -> tuple[list[ItemsetEstimates], list[Level]]:
        """Return the itemsets found, closed under taking subsets, and an account of every size.

        Args:
            decidable: sizes that these reports may decide about, ascending. All candidates of another size go on, as
                long as a larger one is decidable.
            decide: called with candidates and the minimum support of the last size decided; returns their estimates
                and account, None where nothing can be decided after all.
            support: minimum support before anything is decided.
        """
        groups = groups_with_reports(self.collections)
        levels: list[Level] = []
        survivors: list[Candidates] = []
        frequent: list[NDArray[np.bool_]] = []
        last = count_nothing(groups)
        for k in range(1, self.max_itemset + 1):
            if k > max(decidable, default=0):
                levels.append(undecidable_level(groups, self.n_items, k, support))
                continue
            last = count_candidates(self.collections, self._join(last, levels), last)
            decision = decide(last, support) if k in decidable else None
            if decision is None:
                levels.append(undecidable_level(groups, self.n_items, k, support, len(last)))
                frequent.append(np.zeros(len(last), dtype=np.bool_))
            else:
                estimates, level = decision
                levels.append(level)
                support, chosen = level.min_support, passing(estimates, level.min_support)
                last = last.among(chosen)
                frequent.append(estimates.support[chosen] >= support)
            survivors.append(last)
        return close_under_subsets(survivors, frequent, groups), levels

    def _join(self, smaller: Candidates, levels: list[Level]) -> NDArray[np.int64]:
        """Join candidates as :func:`join_candidates`; say where an undecidable size is why there are too many."""
        try:
            return join_candidates(smaller.itemsets, self.n_items, self.most_candidates)
        except EstimateError as error:
            uncut = [level.size for level in levels if level.status == "undecidable"]
            if not uncut:
                raise
            raise EstimateError(
                f"{error}; these reports cannot decide about itemsets of {uncut[-1]} items at this support, so none of "
                "them could be left out"
            ) from None


def passing(estimates: SupportEstimates, min_support: float) -> NDArray[np.bool_]:
    """Tell which candidates the next size is built from: those with ŝ ≥ s_min − σ̂."""
    chosen: NDArray[np.bool_] = estimates.support >= min_support - estimates.std_error(population=False)
    return chosen


def groups_of(collections: Collections) -> list[Group]:
    """Return the groups of reports."""
    return [Group(counter.n_reports, model) for counter, model in collections]


def count_reports(collections: Collections) -> int:
    """Return the number of reports of all operators."""
    return sum(counter.n_reports for counter, _ in collections)


def groups_with_reports(collections: Collections) -> list[Group]:
    """Return the groups of reports, or raise EstimateError where there are no reports."""
    if not count_reports(collections):
        raise EstimateError("there are no reports to mine; collect some first")
    return groups_of(collections)


def least_decidable(groups: Sequence[Group], k: int) -> float:
    """Return the minimum support below which a size is undecidable."""
    return UNDECIDABLE_BELOW * foreseen_error(groups, k, 0.0)


def measure(
    collections: Collections, itemsets: Sequence[NDArray[np.int64]], min_support: float
) -> list[ItemsetEstimates]:
    """Estimate the supports of given itemsets, whatever they turn out to be; frequent are those with ŝ ≥ s_min.

    ``itemsets`` are of 1, 2, … items, int64 (itemsets, k) in lexicographic order, closed under taking subsets.
    """
    groups = groups_of(collections)
    measured: list[ItemsetEstimates] = []
    previous = count_nothing(groups)
    for level in itemsets:
        previous = count_candidates(collections, level, previous)
        estimates = _estimate_if_possible(previous.sums, groups)
        measured.append(ItemsetEstimates(level, previous.sums, estimates, estimates.support >= min_support))
    return measured


def count_nothing(groups: Sequence[Group]) -> Candidates:
    """Return the empty itemset, which every report shows."""
    everything = np.array([[[group.n_reports] for group in groups]], dtype=np.int64)
    return Candidates(np.empty((1, 0), dtype=np.int64), everything)


def count_candidates(collections: Collections, candidates: NDArray[np.int64], smaller: Candidates) -> Candidates:
    """Count candidates of one size, given what is known of their subsets."""
    counts = np.zeros((len(candidates), len(collections)), dtype=np.int64)
    for column, (counter, model) in enumerate(collections):
        if len(candidates) and counter.n_reports and model.counts(candidates.shape[1]):
            counts[:, column] = counter.count(candidates)
    return Candidates(candidates, _sums_of(candidates, smaller, counts))


def undecidable_level(groups: Sequence[Group], n_items: int, k: int, min_support: float, candidates: int = 0) -> Level:
    """Account for a size about which nothing can be decided: by the plan alone, for all itemsets of that size."""
    foreseen = foreseen_error(groups, k, min_support)
    limits = _limits(groups, k, comb(n_items, k))
    return Level(k, candidates, candidates, 0, foreseen, *limits, min_support, "undecidable")


def _limits(groups: Sequence[Group], k: int, candidates: int) -> tuple[float, float, float]:
    """Return the lowest discoverable support of one itemset, that of all candidates, and how many errors this is."""
    figure = level_discoverable_support(groups, k, candidates)
    return lowest_discoverable_support(groups, k), figure, errors_of(groups, k, figure, candidates)


def account_for(
    estimates: SupportEstimates, survivors: NDArray[np.bool_], groups: Sequence[Group], k: int, min_support: float
) -> Level:
    """Say what is decided of all candidates of k items, of which some go on, at a minimum support not undecidable."""
    errors, support = estimates.std_error(population=False), estimates.support
    near = (support >= min_support - errors) & (support < min_support + UNDECIDABLE_BELOW * errors)
    measured = float(errors[near].max(initial=0.0)) or foreseen_error(groups, k, min_support)
    numbers = len(support), int(survivors.sum()), int((support >= min_support).sum())
    level = Level(k, *numbers, measured, *_limits(groups, k, len(support)), min_support, "uncertain")
    return replace(level, status="decided") if min_support >= level.needed_support else level


def join_candidates(
    itemsets: NDArray[np.int64], n_items: int, most_candidates: int = MOST_CANDIDATES
) -> NDArray[np.int64]:
    """Return the itemsets one larger all of whose subsets one smaller are given (the apriori join and prune).

    Those given are int64 (sets, k) in lexicographic order, each row increasing; (1, 0) gives the single items.

    Raises:
        EstimateError: more than ``most_candidates``.
    """
    n_sets, k = itemsets.shape
    if k == 0:
        return np.arange(n_items, dtype=np.int64)[:, None]
    fresh = np.ones(n_sets, dtype=np.bool_)
    fresh[1:] = (itemsets[1:, :-1] != itemsets[:-1, :-1]).any(axis=1)
    group_end = np.append(np.flatnonzero(fresh)[1:], n_sets)[np.cumsum(fresh) - 1]
    partners = group_end - np.arange(n_sets) - 1  # sets after this one that share all but the last item
    total = int(partners.sum())
    if total > most_candidates:
        more = ", or allow more memory (--memory)" if most_candidates < MOST_CANDIDATES else ""
        raise EstimateError(
            f"{total:,} candidates of {k + 1} items would have to be counted (at most {most_candidates:,}); "
            f"raise the minimum support or lower the largest itemset size{more}"
        )
    left = np.repeat(np.arange(n_sets), partners)
    within = np.arange(total) - np.repeat(np.cumsum(partners) - partners, partners)
    candidates = np.column_stack([itemsets[left], itemsets[left + 1 + within, -1]])
    alive = np.ones(total, dtype=np.bool_)
    for dropped in range(k - 1):
        alive &= find_itemsets(itemsets, np.delete(candidates, dropped, axis=1)) >= 0
    return candidates[alive]


def find_itemsets(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each wanted itemset, int64 (wanted, k), among those known, which are in order, else −1."""
    if not len(known) or not len(wanted):
        return np.full(len(wanted), -1, dtype=np.int64)
    base = int(max(known.max(initial=0), wanted.max(initial=0))) + 1
    wide = base ** known.shape[1] >= 2**63
    keys, sought = (_number(sets.astype(object) if wide else sets, base) for sets in (known, wanted))
    places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1).astype(np.int64)
    return np.where(keys[places] == sought, places, -1)


def _number(itemsets: NDArray[Any], base: int) -> NDArray[Any]:
    """Read each row as the digits of a number; the order is the lexicographic one."""
    numbers = np.zeros(len(itemsets), dtype=itemsets.dtype)
    for column in itemsets.T:
        numbers = numbers * base + column
    return numbers


def _sums_of(candidates: NDArray[np.int64], smaller: Candidates, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return C_0 … C_k of candidates, in each group, from the sums of their (k−1)-subsets and their own counts."""
    k = candidates.shape[1]
    sums = np.zeros((*counts.shape, k + 1), dtype=np.int64)
    for dropped in range(k):
        sums[..., :k] += smaller.sums[find_itemsets(smaller.itemsets, np.delete(candidates, dropped, axis=1))]
    sums[..., :k] //= k - np.arange(k)  # exact: every subset of j items was met k − j times
    sums[..., k] = counts
    return sums


def close_under_subsets(
    survivors: list[Candidates], frequent: list[NDArray[np.bool_]], groups: Sequence[Group]
) -> list[ItemsetEstimates]:
    """Leave the frequent itemsets and all subsets of frequent ones."""
    found: list[ItemsetEstimates] = []
    larger = np.empty((0, len(survivors) + 1), dtype=np.int64)
    for level, is_frequent in zip(reversed(survivors), reversed(frequent), strict=True):
        wanted = is_frequent.copy()
        for dropped in range(larger.shape[1]):
            wanted[find_itemsets(level.itemsets, np.delete(larger, dropped, axis=1))] = True
        chosen = level.among(wanted)
        larger = chosen.itemsets
        if len(larger):
            estimates = _estimate_if_possible(chosen.sums, groups)
            found.append(ItemsetEstimates(larger, chosen.sums, estimates, is_frequent[wanted]))
    return found[::-1]


def _estimate_if_possible(sums: NDArray[np.int64], groups: Sequence[Group]) -> SupportEstimates:
    """Estimate supports; NaN, with infinite errors, for a size that the operator says nothing about."""
    try:
        return estimate_supports(sums, groups)
    except EstimateError:
        unknown, wide = np.full(len(sums), np.nan), np.full(len(sums), np.inf)
        return SupportEstimates(unknown, wide, wide, wide, sum(group.n_reports for group in groups))
