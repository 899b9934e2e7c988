"""Mining without a given minimum support: the lowest that can be believed, or the itemsets of the largest estimates.

**The lowest that can be believed.** A size is decided from the support that its candidates and its measured errors need
(Level.needed_support), so each size has a minimum of its own: the least at which it is decided, and no less than that
of the size before, so that what is found has subsets that could be found. A size that would need 100% is left out.

**The largest estimates.** With b the K-th largest estimate of the sizes counted so far, no itemset below b is wanted,
so a candidate of the next size needs subsets that go on at b. Estimates below 2σ_k(0) are not taken for anything: of a
size, only what reaches that is listed.

**Ranks.** Intervals that cover the supports of all C candidates at once with probability 1 − α are those of level
1 − α/C. So A's rank lies between 1 + the number of candidates whose intervals lie above A's, and C − the number of
those whose lie below it: for all A at once, with probability 1 − α at least, the candidates given. They are chosen by
the same reports, from their subsets' estimates; the tests simulate it. What was not counted has no rank. Source: Klein,
Wright, Wieczorek, A joint confidence region for an overall ranking of populations, J. R. Stat. Soc. C 2020.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import EstimateError
from assocpriv.server.counting.sums import Candidates, Source, find_itemsets
from assocpriv.server.estimates.intervals import support_intervals
from assocpriv.server.estimates.limits import level_discoverable_support
from assocpriv.server.estimates.supports import Respondents, SupportEstimates, estimate_supports
from assocpriv.server.itemsets.apriori import (
    ItemsetEstimates,
    Level,
    account_for,
    account_for_steps,
    least_decidable,
    mine_levels,
    passing,
    respondents_to_mine,
    walk_levels,
)

_STEPS = 30  # two or three do, unless errors grow with the support that is looked at


@dataclass(frozen=True, slots=True)
class Aim:
    """What to mine: all above a minimum support, the ``top`` largest estimates, or (neither) what can be believed."""

    min_support: float | None
    top: int | None


@dataclass(frozen=True, slots=True)
class Mined:
    """What was found, at which least minimum support, and all candidates counted where their ranks are wanted."""

    found: list[ItemsetEstimates]
    levels: list[Level]
    min_support: float
    counted: tuple[Candidates, ...] = ()

    @property
    def ranked(self) -> int:
        """Number of candidates that ranks go over."""
        return sum(map(len, self.counted))


def mine_for(aim: Aim, source: Source, n_items: int, max_itemset: int, most_candidates: int) -> Mined:
    """Mine what is aimed at; see :func:`assocpriv.server.itemsets.apriori.mine_levels` for the other arguments.

    Raises:
        EstimateError: no reports, more candidates than can be counted, or reports that cannot decide anything.
    """
    if aim.top is not None:
        return mine_largest(source, n_items, aim.top, max_itemset, most_candidates)
    if aim.min_support is None:
        return mine_believable(source, n_items, max_itemset, most_candidates)
    found, levels = mine_levels(source, n_items, aim.min_support, max_itemset, most_candidates)
    return Mined(found, levels, aim.min_support)


def mine_believable(source: Source, n_items: int, max_itemset: int, most_candidates: int) -> Mined:
    """Mine each size at the lowest minimum support at which it is decided; errors as :func:`mine_for`."""
    respondents = respondents_to_mine(source)
    hopeful = [k for k in range(1, max_itemset + 1) if level_discoverable_support(respondents, k, 1) < 1]
    decided: dict[int, float] = {}  # sizes, and at which minimum support: that of the size before or more

    def choose(candidates: Candidates) -> tuple[SupportEstimates, NDArray[np.bool_]] | None:
        k, estimates = candidates.itemsets.shape[1], estimate_supports(candidates.sums, respondents)
        support = _deciding_support(estimates, respondents, k, max(decided.values(), default=0.0))
        if support is None:
            return None
        decided[k] = support
        return estimates, passing(estimates, support)

    steps = walk_levels(source, n_items, hopeful, choose, most_candidates)
    found, levels = account_for_steps(
        steps, respondents, n_items, max_itemset, lambda _: max(decided.values(), default=0.0)
    )
    if not decided:
        raise _nothing_decidable(respondents)
    return Mined(found, levels, min(decided.values()))


def _deciding_support(estimates: SupportEstimates, respondents: Respondents, k: int, least: float) -> float | None:
    """Return the lowest minimum support from ``least`` on that decides about candidates of k items, if there is one."""
    support = max(least, level_discoverable_support(respondents, k, len(estimates.support)))
    for _ in range(_STEPS):
        if support >= 1:
            break
        level = account_for(estimates, passing(estimates, support), respondents, k, support)
        if level.status == "decided":
            return support
        support = level.needed_support
    return None


def _nothing_decidable(respondents: Respondents) -> EstimateError:
    n_reports = respondents.n_reports
    return EstimateError(
        f"{n_reports:,} reports of this plan decide about no itemset below a support of 100%; collect more, or make a "
        "plan with a smaller transaction size or a weaker promise"
    )


def mine_largest(source: Source, n_items: int, top: int, max_itemset: int, most_candidates: int) -> Mined:
    """Mine the itemsets of the largest estimates, of all sizes together; what ties with the last of them comes too."""
    respondents = respondents_to_mine(source)
    floors = {k: floor for k in range(1, max_itemset + 1) if (floor := least_decidable(respondents, k)) < 1}
    if not floors:
        raise _nothing_decidable(respondents)
    best = np.empty(0)

    def choose(candidates: Candidates) -> tuple[SupportEstimates, NDArray[np.bool_]]:
        nonlocal best
        k, estimates = candidates.itemsets.shape[1], estimate_supports(candidates.sums, respondents)
        best = np.sort(np.append(best, estimates.support[estimates.support >= floors[k]]))[-top:]
        last = best[0] if len(best) == top else 0.0
        later = min((floor for size, floor in floors.items() if size > k), default=np.inf)
        least = np.minimum(max(last, floors[k]), max(last, later) - estimates.std_error(population=False))
        return estimates, estimates.support >= least

    remedy = f", or ask for fewer than {top:,} itemsets (--top)"
    steps = list(walk_levels(source, n_items, floors, choose, most_candidates, remedy))
    last = float(best[0]) if len(best) == top else 0.0
    found, levels = account_for_steps(steps, respondents, n_items, max_itemset, lambda k: max(last, floors.get(k, 0.0)))
    support = float(best[0]) if len(best) else min(floors.values())
    ranked = tuple(step.counted for step in steps if step.estimates is not None)
    return Mined(found, levels, min(support, 1.0), ranked)


def rank_sets(
    mined: Mined, respondents: Respondents, confidence_level: float, *, population: bool
) -> list[NDArray[np.int64]]:
    """Return the place of each itemset found among all that were counted, and the least and greatest it may have.

    For each size found int64 (itemsets, 3), from 1; equal estimates share the lowest place. 0 of a size that these
    reports cannot decide. All ranks lie between theirs with the confidence level.
    """
    level = 1 - (1 - confidence_level) / max(mined.ranked, 1)
    support, ends = [np.empty(0)], [np.empty((0, 2))]
    for counted in mined.counted:
        estimates = estimate_supports(counted.sums, respondents)
        support.append(estimates.support)
        ends.append(
            support_intervals(counted.sums, estimates, respondents.model, level, population=population, wide=True)
        )
    return _places_of(mined, np.concatenate(support), np.concatenate(ends))


def _places_of(mined: Mined, support: NDArray[np.float64], ends: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    ordered, low, high = np.sort(support), np.sort(ends[:, 0]), np.sort(ends[:, 1])
    starts, total = np.cumsum([0, *(len(level.itemsets) for level in mined.counted)]), len(support)
    counted = {
        level.itemsets.shape[1]: (level.itemsets, start) for level, start in zip(mined.counted, starts, strict=False)
    }
    ranks = []
    for found in mined.found:
        if found.itemsets.shape[1] not in counted:
            ranks.append(np.zeros((len(found.itemsets), 3), dtype=np.int64))
            continue
        itemsets, start = counted[found.itemsets.shape[1]]
        rows = start + find_itemsets(itemsets, found.itemsets)
        above = total - np.searchsorted(ordered, support[rows], side="right")
        surely_above = total - np.searchsorted(low, ends[rows, 1], side="right")
        surely_below = np.searchsorted(high, ends[rows, 0], side="left")
        # an estimate beyond what a support can be lies outside of its interval
        low_rank, high_rank = np.minimum(surely_above, above), np.maximum(total - surely_below, 1 + above)
        ranks.append(np.column_stack([1 + above, 1 + low_rank, high_rank]))
    return ranks
