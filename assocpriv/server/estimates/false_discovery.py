"""Which itemsets can be called frequent with a promise about how many of them are not.

The hypothesis to be rejected for an itemset is "its support is below S"; its p-value is the probability, if the support
were S, of an estimate at least as large as the one observed (tails.py). Among the itemsets called frequent, the
expected share of false ones stays below a level by the rule of Benjamini and Hochberg: with p-values p_(1) ≤ p_(2) ≤ …
of n hypotheses, reject the i smallest for the largest i with p_(i) ≤ i/n · level.

The n hypotheses must be fixed without the reports that the p-values come from, or count everything that could have
been tested: if only the best looking are tested, n is all of those they were chosen from.

Sources: Benjamini, Hochberg, Controlling the false discovery rate, J. R. Stat. Soc. B 1995; Benjamini, Yekutieli, The
control of the false discovery rate in multiple testing under dependency, Ann. Stat. 2001.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.server.estimates.tails import Observed, upper_tail


def p_values(
    strata: Sequence[Observed], n_reports: int, min_support: float, *, population: bool
) -> NDArray[np.float64]:
    """Return the p-value of every itemset against "its support is below min_support", float64 (itemsets,).

    Arguments are those of :func:`assocpriv.server.estimates.tails.upper_tail`.

    Raises:
        EstimateError: there are no reports, or S is not in (0, 1].

    >>> coin = Observed(np.array([[40, 60], [10, 90]]), np.array([[0.5, 0.25], [0.5, 0.75]]), np.array([-2.0, 2.0]))
    >>> p_values([coin], 100, 0.2, population=True).round(4)
    array([0.183, 0.   ])
    """
    if not 0 < min_support <= 1:
        raise EstimateError(f"minimum support must be in (0, 1], got {min_support}")
    result = upper_tail(strata, n_reports, min_support, population=population)
    if sum(o.n_reports for o in strata) < min_support * n_reports:
        # too few transactions have k items at all, so every support is below S for sure
        result[:] = 1.0
    return result


def coherent(p: Sequence[NDArray[np.float64]], itemsets: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
    """Raise p-values to those of the subsets at hand, so that what is frequent has frequent subsets.

    An itemset with a subset below S is below S itself; a larger p-value never makes a test wrong. There is one array of
    each a size, sizes ascending: p-values float64 (n,), itemsets int64 (n, k), items ascending in every row.

    >>> singles, pairs = np.array([[0], [1], [2]]), np.array([[0, 1], [0, 2]])
    >>> coherent([np.array([0.01, 0.2, 0.03]), np.array([0.05, 0.01])], [singles, pairs])[1]
    array([0.2 , 0.03])
    """
    known: dict[bytes, float] = {}
    sizes: list[int] = []
    result = []
    for values, rows in zip(p, itemsets, strict=True):
        k, raised = rows.shape[1], np.array(values, dtype=np.float64)
        for members in (list(c) for size in sizes for c in combinations(range(k), size)):
            subsets = np.ascontiguousarray(rows[:, members], dtype=np.int64)
            below = [known.get(subset.tobytes(), 0.0) for subset in subsets]
            np.maximum(raised, below, out=raised)
        own = np.ascontiguousarray(rows, dtype=np.int64)
        known.update((row.tobytes(), value) for row, value in zip(own, raised.tolist(), strict=True))
        sizes.append(k)
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
