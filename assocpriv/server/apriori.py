"""Apriori on estimates: level by level, which itemsets are frequent, as far as the reports can decide it.

Counting is a backend's business (counting.py); what counts decide is said here. With s_min the minimum support, a
candidate goes on when ŝ ≥ s_min − σ̂ and is frequent when ŝ ≥ s_min. Each candidate costs one new count: the sums C_j
over its smaller subsets follow from those of its (k−1)-subsets, each C_j being met k − j times (counting.py).

A level is undecidable when s_min < 2σ_k(0): an itemset of whose items nobody has any would then pass with more than 2%.
Nothing is reported as frequent there; if a larger size can be decided all its candidates go on uncut. A level counts as
decided when s_min is at least the support from which on finds among all candidates counted can be believed
(intervals.py), z standard errors. Where other transactions hold some of the items, errors can be larger than any plan
foresees. So s_min must also be at least z − 0.5 of the standard errors measured on the candidates near s_min.

Source: ESAG02, section 5.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import EstimateError
from assocpriv.server.counting import MOST_CANDIDATES, Candidates, Source, find_itemsets
from assocpriv.server.intervals import errors_of, level_discoverable_support
from assocpriv.server.supports import (
    Respondents,
    SupportEstimates,
    estimate_supports,
    foreseen_error,
    lowest_discoverable_support,
)

UNDECIDABLE_BELOW = 2.0  # standard errors
STATUSES = ("decided", "uncertain", "undecidable")
_MEASURED_HIGH = 0.5  # standard errors: measured ones are estimates and may be a little high


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
        return max(self.level_discoverable_support, (self.errors - _MEASURED_HIGH) * self.std_error)


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
        """Reports showing the itemset, int64 (itemsets,)."""
        return self.sums[:, -1]


@dataclass(frozen=True, slots=True)
class Step:
    """Candidates of one size, their estimates (none where nothing can be decided), and those of them that go on."""

    counted: Candidates
    estimates: SupportEstimates | None
    chosen: NDArray[np.bool_]
    survivors: Candidates


Choice = Callable[[Candidates], tuple[SupportEstimates, NDArray[np.bool_]] | None]


def mine_levels(
    source: Source, n_items: int, min_support: float, max_itemset: int, most_candidates: int = MOST_CANDIDATES
) -> tuple[list[ItemsetEstimates], list[Level]]:
    """Find frequent itemsets of up to ``max_itemset`` of items 0 … n_items − 1 (dummies have higher ids).

    Returns:
        Those found, closed under taking subsets, and an account of every size.

    Raises:
        EstimateError: no reports, or more candidates than can be counted.
    """
    respondents = respondents_to_mine(source)
    decidable = [k for k in range(1, max_itemset + 1) if min_support >= least_decidable(respondents, k)]

    def choose(candidates: Candidates) -> tuple[SupportEstimates, NDArray[np.bool_]]:
        estimates = estimate_supports(candidates.sums, respondents)
        return estimates, passing(estimates, min_support)

    steps = walk_levels(source, n_items, decidable, choose, most_candidates)
    return account_for_steps(steps, respondents, n_items, max_itemset, lambda _: min_support)


def walk_levels(
    source: Source,
    n_items: int,
    sizes: Collection[int],
    choose: Choice,
    most_candidates: int,
    remedy: str = "",
) -> Iterator[Step]:
    """Go from single items to larger itemsets, those of each size made of those of the size before.

    Reports may decide about ``sizes``: ``choose`` returns estimates of candidates and who goes on, None where nothing
    can be decided after all. All candidates of another size go on, as long as a larger one is decidable.
    """
    last, uncut = count_nothing(respondents_of(source)), remedy
    for k in range(1, max(sizes, default=0) + 1):
        try:
            candidates = join_candidates(last.itemsets, n_items, most_candidates)
        except EstimateError as error:
            raise EstimateError(f"{error}{uncut}") from None
        last = count_candidates(source, candidates, last)
        choice = choose(last) if k in sizes else None
        if choice is None:
            uncut = remedy or (
                f"; these reports cannot decide about itemsets of {k} items at this support, so none of them could be "
                "left out"
            )
            yield Step(last, None, np.ones(len(last), dtype=np.bool_), last)
        else:
            survivors = last.among(choice[1])
            yield Step(last, *choice, survivors)
            last = survivors


def account_for_steps(
    steps: Iterable[Step], respondents: Respondents, n_items: int, max_itemset: int, min_support: Callable[[int], float]
) -> tuple[list[ItemsetEstimates], list[Level]]:
    """Return the itemsets found and an account of every size; its minimum support is asked for after its step."""
    levels: list[Level] = []
    survivors: list[Candidates] = []
    frequent: list[NDArray[np.bool_]] = []
    ahead = iter(steps)
    for k in range(1, max_itemset + 1):
        step, support = next(ahead, None), min_support(k)
        if step is None or step.estimates is None:
            levels.append(_undecidable_level(respondents, n_items, k, support, len(step.counted) if step else 0))
        else:
            levels.append(account_for(step.estimates, step.chosen, respondents, k, support))
        if step is not None:
            nobody = np.zeros(len(step.counted), dtype=np.bool_)
            survivors.append(step.survivors)
            frequent.append(nobody if step.estimates is None else step.estimates.support[step.chosen] >= support)
        del step  # candidates that do not go on make room for the next ones
    return _close_under_subsets(survivors, frequent, respondents), levels


def passing(estimates: SupportEstimates, min_support: float) -> NDArray[np.bool_]:
    """Tell which candidates the next size is built from: those with ŝ ≥ s_min − σ̂."""
    return np.asarray(estimates.support >= min_support - estimates.std_error(population=False))


def respondents_of(source: Source) -> Respondents:
    """Return whose reports are counted."""
    counter, model = source
    return Respondents(counter.n_reports, model)


def respondents_to_mine(source: Source) -> Respondents:
    """Return them, or raise EstimateError where there are no reports."""
    respondents = respondents_of(source)
    if not respondents.n_reports:
        raise EstimateError("there are no reports to mine; collect some first")
    return respondents


def least_decidable(respondents: Respondents, k: int) -> float:
    """Return the minimum support below which a size is undecidable."""
    return UNDECIDABLE_BELOW * foreseen_error(respondents, k, 0.0)


def measure(source: Source, itemsets: Sequence[NDArray[np.int64]], min_support: float) -> list[ItemsetEstimates]:
    """Estimate the supports of given itemsets, whatever they turn out to be; frequent are those with ŝ ≥ s_min.

    ``itemsets`` are of 1, 2, … items, int64 (itemsets, k) in lexicographic order, closed under taking subsets.
    """
    respondents = respondents_of(source)
    measured: list[ItemsetEstimates] = []
    previous = count_nothing(respondents)
    for level in itemsets:
        previous = count_candidates(source, level, previous)
        estimates = _estimate_if_possible(previous.sums, respondents)
        measured.append(ItemsetEstimates(level, previous.sums, estimates, estimates.support >= min_support))
    return measured


def count_nothing(respondents: Respondents) -> Candidates:
    """Return the empty itemset, which every report shows."""
    return Candidates(np.empty((1, 0), dtype=np.int64), np.array([[respondents.n_reports]], dtype=np.int64))


def count_candidates(source: Source, candidates: NDArray[np.int64], smaller: Candidates) -> Candidates:
    """Count candidates of one size, given what is known of their subsets."""
    return Candidates(candidates, source[0].sums(candidates, smaller))


def _undecidable_level(
    respondents: Respondents, n_items: int, k: int, min_support: float, candidates: int = 0
) -> Level:
    """Account for a size about which nothing can be decided: by the plan alone, for all itemsets of that size."""
    foreseen = foreseen_error(respondents, k, min_support)
    limits = _limits(respondents, k, comb(n_items, k))
    return Level(k, candidates, candidates, 0, foreseen, *limits, min_support, "undecidable")


def _limits(respondents: Respondents, k: int, candidates: int) -> tuple[float, float, float]:
    """Return the lowest discoverable support of one itemset, that of all candidates, and how many errors this is."""
    figure = level_discoverable_support(respondents, k, candidates)
    return lowest_discoverable_support(respondents, k), figure, errors_of(respondents, k, figure, candidates)


def account_for(
    estimates: SupportEstimates, survivors: NDArray[np.bool_], respondents: Respondents, k: int, min_support: float
) -> Level:
    """Say what is decided of all candidates of k items, of which some go on, at a minimum support not undecidable."""
    errors, support = estimates.std_error(population=False), estimates.support
    near = (support >= min_support - errors) & (support < min_support + UNDECIDABLE_BELOW * errors)
    measured = float(errors[near].max(initial=0.0)) or foreseen_error(respondents, k, min_support)
    numbers = len(support), int(survivors.sum()), int((support >= min_support).sum())
    level = Level(k, *numbers, measured, *_limits(respondents, k, len(support)), min_support, "uncertain")
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


def _close_under_subsets(
    survivors: list[Candidates], frequent: list[NDArray[np.bool_]], respondents: Respondents
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
            estimates = _estimate_if_possible(chosen.sums, respondents)
            found.append(ItemsetEstimates(larger, chosen.sums, estimates, is_frequent[wanted]))
    return found[::-1]


def _estimate_if_possible(sums: NDArray[np.int64], respondents: Respondents) -> SupportEstimates:
    """Estimate supports; NaN, with infinite errors, for a size that the operator says nothing about."""
    try:
        return estimate_supports(sums, respondents)
    except EstimateError:
        unknown, wide = np.full(len(sums), np.nan), np.full(len(sums), np.inf)
        return SupportEstimates(unknown, wide, wide, wide, respondents.n_reports)
