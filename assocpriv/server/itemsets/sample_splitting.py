"""Sample splitting and false-discovery control: what may be claimed where reports choose the itemsets and test them.

What looks frequent in some reports looks so partly by chance, so the same reports cannot test it as if it had been
fixed beforehand. Two ways:

    split   3 of every 10 reports choose the candidates; the other 7 alone measure and test them. The n hypotheses are
            the candidates: given the reports that chose, they are fixed.
    all     all reports choose and test; the hypotheses are all itemsets up to the largest size, Σ_k C(items, k), and
            those that were not found count as p = 1.

Reports are randomized independently, so given the transactions both parts (counting/backend.py) are independent. The
people who test are a sample of all, so errors, intervals and tests of ``split`` are those for a population that they
were drawn from. They hold for the people whose reports were collected too, who are nearer.

Source: Cox, A note on data-splitting for the evaluation of significance levels, Biometrika 1975.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError, PlanError
from assocpriv.core.privacy import parse_probability
from assocpriv.server.estimates.false_discovery import coherent, p_values
from assocpriv.server.estimates.intervals import strata_of
from assocpriv.server.estimates.supports import Group
from assocpriv.server.itemsets.apriori import ItemsetEstimates

SPLIT, ALL = "split", "all"


def read_share(value: "float | str", what: str) -> Fraction:
    """Read a share in [0, 1], as 0.6 or ``"60%"``; anything else raises EstimateError."""
    try:
        return parse_probability(value, what)
    except PlanError as error:
        raise EstimateError(str(error)) from None


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
    found: Sequence[ItemsetEstimates], groups: Sequence[Group], min_support: float, *, population: bool
) -> list[NDArray[np.float64]]:
    """Return p-values against "the support is below s_min", one array a size, none below that of a subset at hand."""
    p = []
    for level in found:
        unknown = np.isnan(level.estimates.support).any()
        strata = [] if unknown else strata_of(level.sums, groups)
        n_reports, nothing_known = level.estimates.n_reports, np.ones(len(level.itemsets))
        p.append(p_values(strata, n_reports, min_support, population=population) if strata else nothing_known)
    return coherent(p, [level.itemsets for level in found])


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
