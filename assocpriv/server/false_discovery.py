"""Certain itemsets: tests, so that few of those called certain are false, whatever the supports of the others.

The posterior (posterior.py) says how likely a find is if supports are spread like those that were seen. What is called
certain rests on no such assumption. Tests are of supports within sampled items; those of whole baskets are no smaller.

**Where reports choose the itemsets and test them.** What looks frequent in some reports looks so partly by chance, so
the same reports cannot test it as if it had been fixed beforehand. Two ways:

    split   3 of every 10 reports choose the candidates; the other 7 alone measure and test them. The n hypotheses are
            the candidates: given the reports that chose, they are fixed.
    all     all reports choose and test; the hypotheses are all itemsets up to the largest size, Σ_k C(items, k), and
            those that were not found count as p = 1.

Reports are randomized independently, so given the transactions both parts (counting.py) are independent. The people who
test are a sample of all, so tests are those for a population that they were drawn from. They hold for the people whose
reports were collected too, who are nearer.

The hypothesis to be rejected for an itemset is "its support is below S"; its p-value is the probability, if the support
were S, of an estimate at least as large as the one observed (intervals.py). Among the itemsets called frequent, the
expected share of false ones stays below a level by the rule of Benjamini and Hochberg: with p-values p_(1) ≤ p_(2) ≤ …
of n hypotheses, reject the i smallest for the largest i with p_(i) ≤ i/n · level.

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

from assocpriv.plans.transition import SupportModel
from assocpriv.promise.errors import EstimateError
from assocpriv.server.intervals import Observed, observed_of, read_share, upper_tail

SPLIT, ALL = "split", "all"


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
    sums: Sequence[NDArray[np.int64]], itemsets: Sequence[NDArray[np.int64]], model: SupportModel, min_support: float
) -> list[NDArray[np.float64]]:
    """Return p-values against "the support is below s_min", one array a size, none below that of a subset at hand.

    ``sums`` are C_0 … C_k of the itemsets of each size (supports.py).
    """
    return coherent([p_values(observed_of(each, model), min_support) for each in sums], itemsets)


def p_values(observed: Observed, min_support: float) -> NDArray[np.float64]:
    """Return the p-value of every itemset against "its support is below min_support", float64 (itemsets,).

    Arguments are those of :func:`assocpriv.server.intervals.upper_tail`.

    Raises:
        EstimateError: there are no reports, or S is not in (0, 1].

    >>> coin = Observed(np.array([[40, 60], [10, 90]]), np.array([[0.5, 0.25], [0.5, 0.75]]), np.array([-2.0, 2.0]))
    >>> p_values(coin, 0.2).round(4)
    array([0.183, 0.   ])
    """
    if not 0 < min_support <= 1:
        raise EstimateError(f"minimum support must be in (0, 1], got {min_support}")
    return upper_tail(observed, min_support)


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
