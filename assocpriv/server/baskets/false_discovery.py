"""Control of the false discovery rate (FDR) among itemsets marked as frequent, whatever the supports of the others.

The posterior (posterior.py) is the probability of a support under priors fitted to the same reports. The tests here
assume no prior. They test supports within truncated baskets; those of whole baskets are no smaller.

**Selection and tests.** An itemset that looks frequent in some reports does so partly by chance, so the same reports
cannot test it as if it had been chosen beforehand. Two ways:

    split   3 of every 10 reports choose the candidates; the other 7 alone measure and test them. The n hypotheses are
            the candidates: given the reports that chose them, they are fixed.
    all     all reports choose and test; the hypotheses are all itemsets up to the largest size, Σ_k C(items, k), and
            those that were not found count as p = 1.

Reports are randomized independently, so given the transactions both parts (counting.py) are independent. The people
whose reports test are a sample of all, so tests are those for the population that people were drawn from. They also
hold for the people whose reports were collected, whose supports are closer to the estimates.

The null hypothesis of an itemset is "its support is below S". Its p-value is the probability, at support S, of an
estimate at least as large as the observed one (intervals.py). The rule of Benjamini and Hochberg keeps the expected
share of false ones among the marked itemsets below the FDR level: with p-values p_(1) ≤ p_(2) ≤ … of n hypotheses,
reject the i smallest for the largest i with p_(i) ≤ i/n · level.

Sources: Cox, A note on data-splitting for the evaluation of significance levels, Biometrika 1975; Benjamini, Hochberg,
Controlling the false discovery rate, J. R. Stat. Soc. B 1995; Benjamini, Yekutieli, The control of the false discovery
rate in multiple testing under dependency, Ann. Stat. 2001.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.intervals import ObservedCounts, observed_counts, read_share, upper_tail
from assocpriv.files.mined_tables import ALL, SPLIT
from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.baskets.operator import SupportModel


def parse_fdr(fdr: "float | str | None", fdr_by: str) -> Fraction | None:
    """Return the FDR level, such as ``"5%"``: the expected share of false ones among marked itemsets; None without one.

    Raises:
        EstimateError: a level not strictly between 0 and 1, or an unknown way to test.
    """
    if fdr_by not in (SPLIT, ALL):
        raise EstimateError(f"fdr_by must be {SPLIT!r} or {ALL!r}, got {fdr_by!r}")
    if fdr is None:
        return None
    level = read_share(fdr, "fdr")
    if not 0 < level < 1:
        raise EstimateError(f"fdr must lie between 0 and 1, got {float(level):g}; 0.05 allows 5% false results")
    return level


def p_values_by_size(
    sums: Sequence[NDArray[np.int64]], itemsets: Sequence[NDArray[np.int64]], model: SupportModel, min_support: float
) -> list[NDArray[np.float64]]:
    """Return p-values of "the support is below min_support", one array per size, none below that of a subset.

    ``sums`` are C_0 … C_k of the itemsets of each size (supports.py).
    """
    return make_monotone([p_values(observed_counts(each, model), min_support) for each in sums], itemsets)


def p_values(observed: ObservedCounts, min_support: float) -> NDArray[np.float64]:
    """Return the p-value of each itemset for "its support is below min_support", float64 (itemsets,).

    Arguments are those of :func:`assocpriv.estimation.intervals.upper_tail`.

    Raises:
        EstimateError: there are no reports, or the minimum support is not in (0, 1].

    >>> counts, transition = np.array([[40, 60], [10, 90]]), np.array([[0.5, 0.25], [0.5, 0.75]])
    >>> p_values(ObservedCounts(counts, transition, np.array([-2.0, 2.0])), 0.2).round(4)
    array([0.183, 0.   ])
    """
    if not 0 < min_support <= 1:
        raise EstimateError(f"minimum support must be in (0, 1], got {min_support}")
    return upper_tail(observed, min_support)


def make_monotone(p: Sequence[NDArray[np.float64]], itemsets: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
    """Raise p-values to those of the tested subsets, so that subsets of a significant itemset are significant too.

    An itemset with a subset below S is below S itself, and a larger p-value keeps a test valid. There is one array per
    size, sizes ascending: p-values float64 (n,), itemsets int64 (n, k), items ascending in every row.

    >>> singles, pairs = np.array([[0], [1], [2]]), np.array([[0, 1], [0, 2]])
    >>> make_monotone([np.array([0.01, 0.2, 0.03]), np.array([0.05, 0.01])], [singles, pairs])[1]
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


def benjamini_hochberg(p: NDArray[np.float64], level: float, n_hypotheses: int) -> NDArray[np.bool_]:
    """Return which hypotheses are rejected, with an expected share of wrong rejections of at most ``level``.

    Proved for p-values that are independent, or positively regression dependent on those of true hypotheses (Benjamini,
    Yekutieli 2001, theorem 1.2). Itemsets that share items share reports, for which neither is proved. The tests
    simulate the worst case, all supports exactly S. Hypotheses without a p-value here count as p = 1.

    Raises:
        EstimateError: the level is out of range, or there are more p-values than hypotheses.

    >>> benjamini_hochberg(np.array([0.9, 0.01, 0.04]), 0.1, 3)
    array([False,  True,  True])
    >>> benjamini_hochberg(np.array([0.9, 0.01, 0.04]), 0.1, 10)
    array([False,  True, False])
    """
    if not 0 < level < 1:
        raise EstimateError(f"level must be between 0 and 1, got {level}")
    if n_hypotheses < len(p):
        raise EstimateError(f"{len(p)} p-values need at least {len(p)} hypotheses, got {n_hypotheses}")
    limits = level / max(n_hypotheses, 1) * np.arange(1, len(p) + 1)
    below = np.flatnonzero(np.sort(p) <= limits)
    return p <= limits[below[-1]] if len(below) else np.zeros(len(p), dtype=np.bool_)


def count_all_itemsets(n_items: int, largest: int) -> int:
    """Return the number of itemsets of 1 … largest items.

    >>> count_all_itemsets(4, 2)
    10
    """
    return sum(comb(n_items, k) for k in range(1, largest + 1))
