"""What sampling to M items took from supports, and how it is undone, itemset by itemset.

A basket of c > M items keeps a k-itemset with probability κ(c) = C(M,k)/C(c,k), so reports estimate
s' = Σ_c P(c)·P(A ⊆ t | c)·κ(c), κ = 1 up to M, without bias, and s = Σ_c P(c)·P(A ⊆ t | c) is wanted. With the law of
sizes P known (size_law.py) it remains to be told how the holders of A are spread over sizes.

**The curve**, of a typical itemset: P(A ⊆ t | c) = 1 − (1 − θ)^(C(c,k)^(k^−.6)), one θ for each support s. Of it two
numbers are used: r, the share of small baskets (fewer than M items) among those whose A is still seen after sampling,
and B, how many times more large holders there are than large ones whose A is still seen. Then s = F s' with

    F = r + (1 − r)·B

**The lean** ℓ of an itemset is how far its log odds of r are from the curve's. An item's is measured: the first dummy
is in a padded basket exactly if that holds fewer than M items, so the support of {item, dummy} is r·s'. An itemset's is
the mean of its items'. What lives in small baskets is rarer in the largest ones too, so B follows the lean a little.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.parallel import map_ahead
from assocpriv.server.mixtures import NODE_WEIGHTS, NODES, fit_weights
from assocpriv.server.size_law import SizeLaw, holding_ways, kept_shares

Floats = NDArray[np.float64]
_LEAST_VARIANCE = 1e-18
THETA = np.geomspace(1e-9, 1 - 1e-6, 400)
_SLOPE = 0.25  # of the exponent of C(c,k): how unsure the growth with size is
_BEND = 0.4  # how far B goes from the curve's with the lean, of the way to another exponent's
_LARGEST_ERROR = 0.8
_FORM = 0.8  # of τ; least interval score of the bench's tuning half at 100,000 people and ln 19, of .7, .8 and 1
_LEANS = np.arange(-6.0, 6.05, 0.2)
_LEAN_DEVIATIONS, _LEAN_WEIGHTS = (0.3, 2.0), (0.7, 0.3)
_BLOCK = 1 << 11  # items at a time, so that what is made of each stays in the cache
FIRST_LEAN = 0.3  # deviation of a lean before anything is measured


@dataclass(frozen=True, slots=True)
class Curve:
    """r, and B at three exponents, by the support of a typical itemset of one size; float64 (θ,) each.

    ``error`` is the relative one of F that comes from the law of sizes.
    """

    supports: Floats
    small: Floats
    factors: tuple[Floats, Floats, Floats]
    error: float

    @classmethod
    def of(cls, law: SizeLaw, m: int, k: int) -> "Curve":
        """Return the curve of itemsets of k items that are sampled to m."""
        low, middle, high = (_told(law, m, k, slope) for slope in (-_SLOPE, 0.0, _SLOPE))
        supports = middle[0]
        others = [np.interp(supports, each[0], each[2]) for each in (low, high)]
        return cls(supports, middle[1], (others[0], middle[2], others[1]), law.undoing(m, k)[1])

    def undo(self, supports: Floats, leans: Floats, deviations: Floats) -> tuple[Floats, Floats]:
        """Return F of itemsets of these supports in whole baskets, and its relative error τ, float64 (itemsets,)."""
        small = np.interp(supports, self.supports, self.small)
        low, middle, high = (np.interp(supports, self.supports, factor) for factor in self.factors)
        at_nodes = []
        for node in NODES:
            lean = leans + node * deviations
            share = leaning(small, lean)
            bent = np.maximum(middle * (high / low) ** (-_BEND * np.tanh(lean) / 0.5), 1.0)
            at_nodes.append(share + (1 - share) * bent)
        factors = NODE_WEIGHTS @ np.array(at_nodes)
        spread = NODE_WEIGHTS @ (np.array(at_nodes) - factors) ** 2
        slope = (1 - leaning(small, leans)) * (high - low) / 2
        return factors, np.minimum(np.sqrt(spread + slope**2) / factors, _LARGEST_ERROR)

    def share_small(self, supports: Floats, leans: Floats | float = 0.0) -> Floats:
        """Return r of itemsets of these supports."""
        return leaning(np.interp(supports, self.supports, self.small), leans)

    def small_holders(self, supports: Floats, leans: Floats) -> Floats:
        """Return the share of all baskets that hold the itemset and are small, float64 (itemsets,)."""
        share, factor = self.share_small(supports, leans), np.interp(supports, self.supports, self.factors[1])
        return supports * share / (share + (1 - share) * factor)


def _told(law: SizeLaw, m: int, k: int, slope: float) -> tuple[Floats, Floats, Floats]:
    """Return supports, r and B by θ at one exponent."""
    holding = -np.expm1(np.log1p(-THETA)[:, None] * holding_ways(law.sizes, k, slope)) * law.shares
    is_small, kept = law.sizes < m, kept_shares(law.sizes, m, k)
    small, large, seen = holding @ is_small, holding @ ~is_small, holding @ (kept * ~is_small)
    share = np.divide(small, small + seen, out=np.ones(len(small)), where=small + seen > 0)
    factor = np.divide(large, seen, out=np.ones(len(large)), where=seen > 0)
    return small + large, share, np.maximum(factor, 1.0)


def shared_errors(common: Floats, unsure: Floats) -> Floats:
    """Return the errors that all itemsets of a size share.

    Args:
        common: those of the law of sizes.
        unsure: τ of each itemset, in the same unit; of how the curve's form is wrong, a part is common to all.
    """
    return np.asarray(np.hypot(common, _FORM * unsure))


def leaning(shares: Floats, leans: Floats | float) -> Floats:
    """Return shares of small baskets with leans added to their log odds, which end at .01 and 1.01."""
    odds = np.log((shares + 0.01) / (1.01 - shares)) + leans
    return np.clip(1.02 / (1 + np.exp(-odds)) - 0.01, 0.0, 1.0)


def fit_leans(
    shares: Floats, within: Floats, variances: Floats, small: Floats, errors: Floats
) -> tuple[Floats, Floats]:
    """Return leans of items and their standard errors, float64 (items,) each.

    Args:
        shares: r by the curve.
        within, variances: supports s' within sampled items, and how unsure they are.
        small, errors: estimates of the supports of {item, dummy}, r·s', and their standard errors.
    """
    priors = np.array([np.exp(-(_LEANS**2) / (2 * sd**2)) / sd for sd in _LEAN_DEVIATIONS])
    priors /= priors.sum(axis=1, keepdims=True)
    moments = np.concatenate([priors, priors * _LEANS, priors * _LEANS**2]).T

    def told(rows: slice) -> Floats:
        """Return what leans are by either prior: how likely all together, and their first two moments times that."""
        leaned, told_within = leaning(shares[rows, None], _LEANS), within[rows, None]
        spread = np.maximum(errors[rows, None] ** 2 + leaned**2 * variances[rows, None], _LEAST_VARIANCE)
        log = -((small[rows, None] - leaned * told_within) ** 2) / (2 * spread) - np.log(spread) / 2
        return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)) @ moments)

    parts = [slice(start, start + _BLOCK) for start in range(0, len(shares), _BLOCK)]
    found = np.concatenate([np.empty((0, moments.shape[1])), *map_ahead(told, parts)])
    likely, first, second = np.split(found, 3, axis=1)
    weights = fit_weights(likely, np.array(_LEAN_WEIGHTS), 1.0, 300)
    total = likely @ weights
    means = first @ weights / total
    return means, np.sqrt(np.maximum(second @ weights / total - means**2, 0.0))
