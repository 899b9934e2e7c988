"""From which support on the finds of a whole itemset size can be believed.

EGS03's lowest discoverable support (section 5) is four standard errors of *one* itemset. Of c candidates that nobody
has, about c·Φ(−4) pass it by chance: ten of 330,000. So a size has a second figure, ours, for all of its candidates:
the support which fewer than one of c empty ones is expected to reach in a hundred collections. Both of these must hold:

    s ≥ z·σ_k(s)                     with c·Φ(−z) = 0.01, and z ≥ 4: the paper's figure is never undercut
    c·P(ŝ ≥ s | nobody has any of the items) ≤ 0.01

The second is not the first again. The first takes ŝ for normal, and its error for that at support s. Where few reports
show an itemset that nobody has, ŝ is skewed: at ρ = 5/256 and 20,000 reports 0.03 of 49,995,000 empty pairs are
expected to pass the first figure, and 13 to pass z·σ_k(0). Where ρ is near 1/2 σ_k(s) falls with s, and the first is
too low.

An empty candidate is counted only if its subsets' estimates were large. That does not make its own estimate larger:
with independent insertion E[Z_A Z_B | t] = 0 for B ⊂ A where the transaction t holds none of A's items, so what the
counted candidates' subsets show says nothing of the candidates, but for a term of the order ŝ(A∖i)·ŝ(i), the square of
what is looked for. The tests simulate it.

Candidates of whose items somebody has some have larger errors than any plan foresees: apriori.py compares the plan's
figure with the errors measured.
"""

import math
from dataclasses import dataclass
from math import comb
from statistics import NormalDist

import numpy as np

from assocpriv.plans.baskets import Plan
from assocpriv.plans.transition import ERRORS_OF_ONE
from assocpriv.server.estimates.intervals import observed_of
from assocpriv.server.estimates.supports import Respondents, foreseen_error, lowest_discoverable_support
from assocpriv.server.estimates.tails import empty_limit

FALSE_ITEMSETS = 0.01  # expected a collection, of one itemset size: one in a hundred collections
# tail probabilities of tails.py were up to 1% too low here, beside sums of the binomial law; this makes them 2% lower
_SAFETY = 0.005  # standard errors


def errors_for(candidates: int) -> float:
    """Return z, the standard errors that fewer than 0.01 of so many empty candidates are expected to reach; 4 at least.

    >>> [round(errors_for(candidates), 2) for candidates in (1, 1_000, 330_000)]
    [4.0, 4.26, 5.42]
    """
    return max(ERRORS_OF_ONE, -NormalDist().inv_cdf(FALSE_ITEMSETS / max(candidates, 1)))


def level_discoverable_support(respondents: Respondents, k: int, candidates: int) -> float:
    """Return the support from which on finds of k items can be believed, all of so many candidates together.

    May exceed 1 or be infinite: then no such find can be believed. Never below the lowest discoverable support.
    """
    errors = errors_for(candidates)
    support = lowest_discoverable_support(respondents, k, errors)
    if not 0 < support < math.inf:
        return support
    nobody = np.array([[respondents.reports_of(k), *[0] * k]], dtype=np.int64)
    return max(support, empty_limit(observed_of(nobody, respondents.model), errors + _SAFETY))


def errors_of(respondents: Respondents, k: int, support: float, candidates: int) -> float:
    """Return how many standard errors the level's figure is: z, or more where estimates are skewed."""
    error = foreseen_error(respondents, k, min(support, 1.0))
    return max(errors_for(candidates), support / error) if 0 < error < math.inf else errors_for(candidates)


@dataclass(frozen=True, slots=True)
class DiscoverableSupports:
    """What N reports of a plan can discover, by itemset size k; 1 or more where nothing can be.

    ``lowest`` is for one itemset that was named beforehand, ``level`` for all of the size together.
    """

    lowest: dict[int, float]
    level: dict[int, float]


def discoverable_supports(plan: Plan, reports: int) -> DiscoverableSupports:
    """Return what N reports of a plan can discover of each itemset size that it answers for."""
    respondents = Respondents.of(plan, reports)
    sizes = range(1, plan.itemset_size + 1)
    return DiscoverableSupports(
        lowest={k: lowest_discoverable_support(respondents, k) for k in sizes},
        level={k: level_discoverable_support(respondents, k, comb(plan.n_items, k)) for k in sizes},
    )
