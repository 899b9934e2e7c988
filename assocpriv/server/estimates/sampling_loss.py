"""What supports lose where people hold more than M entries of their block, told from the dummies of reports.

Of a block somebody holds |T| entries and reports M of them, all if there are no more; shorter ones are filled up with
dummies, so that dummy d is in the transaction iff |T| ≤ M − 1 − d. The supports of the dummies so are those of

    P(|T| ≥ j) = 1 − s(dummy M − j),     j = 1 … M.

Over all itemsets A of k entries, Σ_A P(A ⊆ T, |T| = j) = C(j, k)·P(|T| = j), of which C(min(j, M), k) survive. An
itemset as frequent among long baskets as others of its size so loses, of each unit of its support as reported,

    Σ_{j>M} (C(j, k) − C(M, k))·P(|T| = j)  /  Σ_j C(min(j, M), k)·P(|T| = j).

How P(|T| = j) falls beyond M no report tells. With r_j = P(|T| ≥ j)/P(|T| ≥ j − 1) it is taken to fall as it does at
M: r_(M+i) = r_M·(r_M/r_(M−1))^i where these ratios fall, as for binomial sizes, and r_M where they do not. So the loss
is an estimate. An itemset that long baskets hold more often than others loses more, one that nearly all baskets hold
less.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

WHOLE_BELOW = 0.25  # standard errors: a bias of so much leaves 94 of 100 intervals for 95 right
_MOST_RATIO = 0.9  # beyond it long baskets decide, of which nothing is known
_TERMS, _NEGLIGIBLE = 200, 1e-12


@dataclass(frozen=True, slots=True)
class SizesInBlocks:
    """P(|T| ≥ j) for j = 0 … M: how many entries of their block people hold, of the ``longest`` that a block has."""

    at_least: tuple[float, ...]
    longest: int

    @classmethod
    def of_dummies(cls, supports: NDArray[np.float64], longest: int) -> "SizesInBlocks":
        """Return the sizes, given the supports of the dummies 0 … M − 1; made to fall from 1 and to lie above 0.

        >>> SizesInBlocks.of_dummies(np.array([0.9, 0.5]), 9).at_least
        (1.0, 0.5, 0.1)
        """
        at_least = np.minimum.accumulate(np.clip(1 - supports[::-1], 0.0, 1.0))
        return cls((1.0, *np.round(at_least, 12).tolist()), longest)

    @property
    def full(self) -> float:
        """The share of people with M entries or more."""
        return self.at_least[-1]

    def lost_share(self, k: int) -> float:
        """Return what an itemset of k entries loses on average, as a share of its support as reported.

        >>> SizesInBlocks((1.0, 0.5, 0.1), 9).lost_share(1)
        0.0137...
        """
        m, at_least = len(self.at_least) - 1, [*self.at_least, *self._beyond()]
        exactly = [(one - other, j) for j, (one, other) in enumerate(pairwise([*at_least, 0.0]))]
        kept = sum(share * comb(min(j, m), k) for share, j in exactly)
        lost = sum(share * (comb(j, k) - comb(m, k)) for share, j in exactly[m + 1 :])
        return lost / kept if kept else 0.0

    def _beyond(self) -> list[float]:
        """Return P(|T| ≥ j) for j = M + 1, … as it is taken to be."""
        known = [1.0, *self.at_least][-3:]
        ratios = [after / before if before else 0.0 for before, after in pairwise(known)]
        slower = min(ratios[1] / ratios[0], 1.0) if ratios[0] else 0.0
        beyond, ratio = [self.full], min(ratios[1], _MOST_RATIO)
        most = min(self.longest - (len(self.at_least) - 1), _TERMS)
        while len(beyond) <= most and beyond[-1] > _NEGLIGIBLE:
            ratio *= slower
            beyond.append(beyond[-1] * ratio)
        return beyond[1:]

    def lost(self, supports: NDArray[Any], k: int) -> NDArray[np.float64]:
        """Return what supports of itemsets of k entries may have lost, float64 (itemsets,)."""
        return self.lost_share(k) * np.maximum(supports.astype(np.float64), 0.0)
