"""Truncation correction: supports of whole baskets from supports within at most M items, itemset by itemset.

Truncation keeps a k-itemset of a basket of c > M items with probability κ(c) = C(M,k)/C(c,k). So reports estimate s' =
Σ_c P(c)·P(A ⊆ t | c)·κ(c), κ = 1 up to M, without bias, and s = Σ_c P(c)·P(A ⊆ t | c) is wanted. The basket-size
distribution P is known (size_distribution.py). It remains to estimate how the holders of A are spread over sizes.

**The curve** of a typical itemset: P(A ⊆ t | c) = 1 − (1 − θ)^(C(c,k)^(k^−.6)), with one θ for each support s. Two of
its numbers are used: r, the share of small baskets (fewer than M items) among the holders that keep A after truncation,
and B, the number of large holders over the number of large holders that keep A. Then s = F s' with

    F = r + (1 − r)·B

**The size effect** ℓ of an itemset is its log-odds offset by basket size: the log odds of its r less those of the
curve. For an item it is measured: the first padding item is in a padded basket exactly if the basket holds fewer than M
items, so the support of {item, padding item} is r·s'. An itemset's effect is the mean of its items' effects. Items of
small baskets are also rarer in the largest ones, so B follows the effect a little.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.mixtures import NODE_WEIGHTS, NODES, fit_weights
from assocpriv.estimation.size_distribution import SizeDistribution, holding_growth, keep_probabilities
from assocpriv.kernels.parallel import parallel_map

Floats = NDArray[np.float64]
_LEAST_VARIANCE = 1e-18
THETA = np.geomspace(1e-9, 1 - 1e-6, 400)
_SLOPE = 0.25  # of the exponent of C(c,k): uncertainty of the holders' growth with size, whatever their support
_FOLLOW = 0.4  # how far B moves with the effect, as a share of the way to another exponent's B
_LARGEST_ERROR = 0.8
_FORM = 0.8  # of τ; best interval score of .7, .8 and 1 on the bench's tuning half, 100,000 people at ε = ln 19
_EFFECTS = np.arange(-6.0, 6.05, 0.2)
_EFFECT_SPREADS, _EFFECT_WEIGHTS = (0.3, 2.0), (0.7, 0.3)
_BLOCK = 1 << 11  # items at a time, so that temporaries stay in the cache
INITIAL_EFFECT_SD = 0.3  # standard deviation of a size effect before it is measured


@dataclass(frozen=True, slots=True)
class TruncationCurve:
    """r, and B at three growths with size, by the support of a typical itemset of one size; float64 (θ,) each.

    ``error`` is the relative error of F that comes from the basket-size distribution.
    """

    supports: Floats
    small: Floats
    factors: tuple[Floats, Floats, Floats]
    error: float

    @classmethod
    def from_sizes(cls, sizes: SizeDistribution, m: int, k: int, kept: Floats | None = None) -> "TruncationCurve":
        """Return the curve of itemsets of k items in baskets truncated to m items.

        ``kept``, (sizes,), is the share κ that is kept of k-itemsets by size, if it is not C(m,k)/C(c,k).
        """
        typical = -np.expm1(np.log1p(-THETA)[:, None] * holding_growth(sizes.sizes, k))
        is_small, error = sizes.sizes < m, sizes.truncation_factor(m, k, kept)[1]
        kept = keep_probabilities(sizes.sizes, m, k) if kept is None else kept
        shares, supports = sizes.shares, typical @ sizes.shares
        small, kept_large = typical @ (shares * is_small), typical @ (shares * kept * ~is_small)
        factors = []
        for slope in (-_SLOPE, 0.0, _SLOPE):
            enough = np.maximum(sizes.sizes, k)
            tilted = typical * (holding_growth(enough, k, slope) / holding_growth(enough, k))
            holding = np.minimum(tilted * _ratio(supports, tilted @ shares)[:, None], 1.0) * shares
            factor = np.maximum(_ratio(holding @ ~is_small, holding @ (kept * ~is_small)), 1.0)
            factors.append(np.interp(supports, holding.sum(axis=1), factor))
        low, middle, high = factors
        return cls(supports, _ratio(small, small + kept_large), (low, middle, high), error)

    def truncation_factors(self, supports: Floats, effects: Floats, spreads: Floats) -> tuple[Floats, Floats]:
        """Return F of itemsets of these supports in whole baskets, and its relative error τ, float64 (itemsets,)."""
        small = np.interp(supports, self.supports, self.small)
        low, middle, high = (np.interp(supports, self.supports, factor) for factor in self.factors)
        at_nodes = []
        for node in NODES:
            effect = effects + node * spreads
            share = apply_size_effect(small, effect)
            growth = np.maximum(middle * (high / low) ** (-_FOLLOW * np.tanh(effect) / 0.5), 1.0)
            at_nodes.append(share + (1 - share) * growth)
        factors = NODE_WEIGHTS @ np.array(at_nodes)
        spread = NODE_WEIGHTS @ (np.array(at_nodes) - factors) ** 2
        slope = (1 - apply_size_effect(small, effects)) * (high - low) / 2
        return factors, np.minimum(np.sqrt(spread + slope**2) / factors, _LARGEST_ERROR)

    def small_share(self, supports: Floats, effects: Floats | float = 0.0) -> Floats:
        """Return r of itemsets of these supports."""
        return apply_size_effect(np.interp(supports, self.supports, self.small), effects)

    def small_holders(self, supports: Floats, effects: Floats) -> Floats:
        """Return the share of all baskets that hold the itemset and are small, float64 (itemsets,)."""
        share, factor = self.small_share(supports, effects), np.interp(supports, self.supports, self.factors[1])
        return supports * share / (share + (1 - share) * factor)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.ones(len(above)), where=below > 0)


def shared_errors(common: Floats, tau: Floats) -> Floats:
    """Return the errors that all itemsets of a size share.

    Args:
        common: errors that come from the basket-size distribution.
        tau: τ of each itemset, in the same unit; a part of the error in the curve's form is common to all.
    """
    return np.asarray(np.hypot(common, _FORM * tau))


def apply_size_effect(shares: Floats, effects: Floats | float) -> Floats:
    """Return shares of small baskets with size effects added to their log odds, which end at .01 and 1.01."""
    odds = np.log((shares + 0.01) / (1.01 - shares)) + effects
    return np.clip(1.02 / (1 + np.exp(-odds)) - 0.01, 0.0, 1.0)


def fit_size_effects(
    shares: Floats, within: Floats, variances: Floats, small: Floats, errors: Floats
) -> tuple[Floats, Floats]:
    """Return size effects of items and their standard errors, float64 (items,) each.

    Args:
        shares: r of the curve.
        within, variances: supports s' within truncated baskets, and their variances.
        small, errors: estimates of the supports of {item, padding item}, r·s', and their standard errors.
    """
    priors = np.array([np.exp(-(_EFFECTS**2) / (2 * sd**2)) / sd for sd in _EFFECT_SPREADS])
    priors /= priors.sum(axis=1, keepdims=True)
    moments = np.concatenate([priors, priors * _EFFECTS, priors * _EFFECTS**2]).T

    def moments_of(rows: slice) -> Floats:
        """Return, for each prior, the likelihood and the first two moments of the effects times it."""
        small_shares, held_within = apply_size_effect(shares[rows, None], _EFFECTS), within[rows, None]
        spread = np.maximum(errors[rows, None] ** 2 + small_shares**2 * variances[rows, None], _LEAST_VARIANCE)
        log = -((small[rows, None] - small_shares * held_within) ** 2) / (2 * spread) - np.log(spread) / 2
        return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)) @ moments)

    parts = [slice(start, start + _BLOCK) for start in range(0, len(shares), _BLOCK)]
    found = np.concatenate([np.empty((0, moments.shape[1])), *parallel_map(moments_of, parts)])
    likelihoods, first, second = np.split(found, 3, axis=1)
    weights = fit_weights(likelihoods, np.array(_EFFECT_WEIGHTS), 1.0, 300)
    total = likelihoods @ weights
    means = first @ weights / total
    return means, np.sqrt(np.maximum(second @ weights / total - means**2, 0.0))
