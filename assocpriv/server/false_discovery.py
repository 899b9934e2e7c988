"""False discoveries among many estimates: which finds can be believed.

**The lowest support that can be believed**, where no minimum support is given. A size is decided from the support that
its candidates and its measured errors need (Level.needed_support), so each size has a minimum of its own: the least at
which it is decided, and no less than that of the size before, so that what is found has subsets that could be found. A
size that would need 100% is left out.

**The largest estimates**, likewise. With b the K-th largest estimate of the sizes counted so far, no itemset below b is
wanted, so a candidate of the next size needs subsets that go on at b. Estimates below 2σ_k(0) are not taken for
anything: of a size, only what reaches that is listed.

**Ranks.** Intervals that cover the supports of all C candidates at once with probability 1 − α are those of level
1 − α/C. So A's rank lies between 1 + the number of candidates whose intervals lie above A's, and C − the number of
those whose lie below it: for all A at once, with probability 1 − α at least, the candidates given. They are chosen by
the same reports, from their subsets' estimates; the tests simulate it. What was not counted has no rank. Source: Klein,
Wright, Wieczorek, A joint confidence region for an overall ranking of populations, J. R. Stat. Soc. C 2020.

**Where reports choose the itemsets and test them.** What looks frequent in some reports looks so partly by chance, so
the same reports cannot test it as if it had been fixed beforehand. Two ways:

    split   3 of every 10 reports choose the candidates; the other 7 alone measure and test them. The n hypotheses are
            the candidates: given the reports that chose, they are fixed.
    all     all reports choose and test; the hypotheses are all itemsets up to the largest size, Σ_k C(items, k), and
            those that were not found count as p = 1.

Reports are randomized independently, so given the transactions both parts (counting.py) are independent. The people who
test are a sample of all, so errors, intervals and tests of ``split`` are those for a population that they were drawn
from. They hold for the people whose reports were collected too, who are nearer.

The hypothesis to be rejected for an itemset is "its support is below S"; its p-value is the probability, if the support
were S, of an estimate at least as large as the one observed (intervals.py). Among the itemsets called frequent, the
expected share of false ones stays below a level by the rule of Benjamini and Hochberg: with p-values p_(1) ≤ p_(2) ≤ …
of n hypotheses, reject the i smallest for the largest i with p_(i) ≤ i/n · level.

Sources: Cox, A note on data-splitting for the evaluation of significance levels, Biometrika 1975; Benjamini, Hochberg,
Controlling the false discovery rate, J. R. Stat. Soc. B 1995; Benjamini, Yekutieli, The control of the false discovery
rate in multiple testing under dependency, Ann. Stat. 2001.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import EstimateError
from assocpriv.server import apriori
from assocpriv.server.counting import Candidates, Source, find_itemsets
from assocpriv.server.intervals import (
    Observed,
    level_discoverable_support,
    observed_of,
    read_share,
    support_intervals,
    upper_tail,
)
from assocpriv.server.supports import Respondents, SupportEstimates, estimate_supports

if TYPE_CHECKING:
    from assocpriv.plans.transition import SupportModel

_STEPS = 30  # two or three do, unless errors grow with the support that is looked at
SPLIT, ALL = "split", "all"


# ---- thresholds


@dataclass(frozen=True, slots=True)
class Aim:
    """What to mine: all above a minimum support, the ``top`` largest estimates, or (neither) what can be believed."""

    min_support: float | None
    top: int | None


@dataclass(frozen=True, slots=True)
class Mined:
    """What was found, at which least minimum support, and all candidates counted where their ranks are wanted."""

    found: list[apriori.ItemsetEstimates]
    levels: list[apriori.Level]
    min_support: float
    counted: tuple[Candidates, ...] = ()

    @property
    def ranked(self) -> int:
        """Number of candidates that ranks go over."""
        return sum(map(len, self.counted))


def mine_for(aim: Aim, source: Source, n_items: int, max_itemset: int, most_candidates: int) -> Mined:
    """Mine what is aimed at; see :func:`assocpriv.server.apriori.mine_levels` for the other arguments.

    Raises:
        EstimateError: no reports, more candidates than can be counted, or reports that cannot decide anything.
    """
    if aim.top is not None:
        return mine_largest(source, n_items, aim.top, max_itemset, most_candidates)
    if aim.min_support is None:
        return mine_believable(source, n_items, max_itemset, most_candidates)
    found, levels = apriori.mine_levels(source, n_items, aim.min_support, max_itemset, most_candidates)
    return Mined(found, levels, aim.min_support)


def mine_believable(source: Source, n_items: int, max_itemset: int, most_candidates: int) -> Mined:
    """Mine each size at the lowest minimum support at which it is decided; errors as :func:`mine_for`."""
    respondents = apriori.respondents_to_mine(source)
    hopeful = [k for k in range(1, max_itemset + 1) if level_discoverable_support(respondents, k, 1) < 1]
    decided: dict[int, float] = {}  # sizes, and at which minimum support: that of the size before or more

    def choose(candidates: Candidates) -> tuple[SupportEstimates, NDArray[np.bool_]] | None:
        k, estimates = candidates.itemsets.shape[1], estimate_supports(candidates.sums, respondents)
        support = _deciding_support(estimates, respondents, k, max(decided.values(), default=0.0))
        if support is None:
            return None
        decided[k] = support
        return estimates, apriori.passing(estimates, support)

    steps = apriori.walk_levels(source, n_items, hopeful, choose, most_candidates)
    found, levels = apriori.account_for_steps(
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
        level = apriori.account_for(estimates, apriori.passing(estimates, support), respondents, k, support)
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
    respondents = apriori.respondents_to_mine(source)
    floors = {k: floor for k in range(1, max_itemset + 1) if (floor := apriori.least_decidable(respondents, k)) < 1}
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
    steps = list(apriori.walk_levels(source, n_items, floors, choose, most_candidates, remedy))
    last = float(best[0]) if len(best) == top else 0.0
    found, levels = apriori.account_for_steps(
        steps, respondents, n_items, max_itemset, lambda k: max(last, floors.get(k, 0.0))
    )
    support = float(best[0]) if len(best) else min(floors.values())
    ranked = tuple(step.counted for step in steps if step.estimates is not None)
    return Mined(found, levels, min(support, 1.0), ranked)


# ---- ranks


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


# ---- false discoveries


def parse_certainty(certain: "float | str | None", certain_by: str) -> Fraction | None:
    """Read how certain claims are to be, such as ``"95%"``: 1 less the share of false ones allowed.

    Raises:
        EstimateError: not strictly between 0 and 1, or an unknown way.
    """
    if certain_by not in (SPLIT, ALL):
        raise EstimateError(f"certain_by must be {SPLIT!r} or {ALL!r}")
    if certain is None:
        return None
    level = read_share(certain, "how certain claims are to be")
    if not 0 < level < 1:
        raise EstimateError(f"how certain claims are to be must lie between 0 and 1, got {float(level):g}")
    return level


def itemset_p_values(
    found: Sequence[apriori.ItemsetEstimates], model: "SupportModel", min_support: float, *, population: bool
) -> list[NDArray[np.float64]]:
    """Return p-values against "the support is below s_min", one array a size, none below that of a subset at hand."""
    p = []
    for level in found:
        if np.isnan(level.estimates.support).any():
            p.append(np.ones(len(level.itemsets)))
        else:
            p.append(p_values(observed_of(level.sums, model), min_support, population=population))
    return coherent(p, [level.itemsets for level in found])


def p_values(observed: Observed, min_support: float, *, population: bool) -> NDArray[np.float64]:
    """Return the p-value of every itemset against "its support is below min_support", float64 (itemsets,).

    Arguments are those of :func:`assocpriv.server.intervals.upper_tail`.

    Raises:
        EstimateError: there are no reports, or S is not in (0, 1].

    >>> coin = Observed(np.array([[40, 60], [10, 90]]), np.array([[0.5, 0.25], [0.5, 0.75]]), np.array([-2.0, 2.0]))
    >>> p_values(coin, 0.2, population=True).round(4)
    array([0.183, 0.   ])
    """
    if not 0 < min_support <= 1:
        raise EstimateError(f"minimum support must be in (0, 1], got {min_support}")
    return upper_tail(observed, min_support, population=population)


def coherent(p: Sequence[NDArray[np.float64]], itemsets: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
    """Raise p-values to those of the subsets at hand, so that what is frequent has frequent subsets.

    An itemset with a subset below S is below S itself; a larger p-value never makes a test wrong. There is one array of
    each a size, sizes ascending: p-values float64 (n,), itemsets int64 (n, k), items ascending in every row.

    >>> singles, pairs = np.array([[0], [1], [2]]), np.array([[0, 1], [0, 2]])
    >>> coherent([np.array([0.01, 0.2, 0.03]), np.array([0.05, 0.01])], [singles, pairs])[1]
    array([0.2 , 0.03])
    """
    known: dict[tuple[int, ...], float] = {}
    result = []
    for values, rows in zip(p, itemsets, strict=True):
        raised = np.array(values, dtype=np.float64)
        for members in (list(c) for size in range(1, rows.shape[1]) for c in combinations(range(rows.shape[1]), size)):
            np.maximum(raised, [known.get(tuple(subset), 0.0) for subset in rows[:, members].tolist()], out=raised)
        known.update(zip(map(tuple, rows.tolist()), raised.tolist(), strict=True))
        result.append(raised)
    return result


def false_discoveries_controlled(p: NDArray[np.float64], level: float, n_hypotheses: int) -> NDArray[np.bool_]:
    """Tell which hypotheses are rejected so that the expected share of wrong rejections is at most a level.

    Proved for p-values that are independent or positively regression dependent on those of true hypotheses
    (Benjamini, Yekutieli 2001, theorem 1.2). Itemsets that share items share reports, which is no proof of either; the
    tests simulate the worst case of the hypotheses, all supports exactly S. Hypotheses without a p-value here count as
    p = 1.

    Raises:
        EstimateError: the level is out of range, or there are more p-values than hypotheses.

    >>> false_discoveries_controlled(np.array([0.9, 0.01, 0.04]), 0.1, 3)
    array([False,  True,  True])
    >>> false_discoveries_controlled(np.array([0.9, 0.01, 0.04]), 0.1, 10)
    array([False,  True, False])
    """
    if not 0 < level < 1:
        raise EstimateError(f"level must be between 0 and 1, got {level}")
    if n_hypotheses < len(p):
        raise EstimateError(f"there must be at least as many hypotheses as p-values ({len(p)}), got {n_hypotheses}")
    limits = level / max(n_hypotheses, 1) * np.arange(1, len(p) + 1)
    below = np.flatnonzero(np.sort(p) <= limits)
    rejected: NDArray[np.bool_] = p <= limits[below[-1]] if len(below) else np.zeros(len(p), dtype=np.bool_)
    return rejected


def all_itemsets(n_items: int, largest: int) -> int:
    """Return how many itemsets of 1 … largest items there are.

    >>> all_itemsets(4, 2)
    10
    """
    return sum(comb(n_items, k) for k in range(1, largest + 1))


def all_rules(n_items: int, largest: int) -> int:
    """Return how many rules there are between 2 … largest items: an itemset of k gives 2^k − 2.

    >>> all_rules(3, 3)
    12
    """
    return sum(comb(n_items, k) * (2**k - 2) for k in range(2, largest + 1))
