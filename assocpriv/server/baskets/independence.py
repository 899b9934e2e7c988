"""Expected supports of pairs under independence given the basket size: the null model of pairs.

Baskets of c items are drawn as independent items conditioned on their number being c (a conditional Bernoulli
distribution, also called rejective sampling). With o_i the odds of item i and e_c the elementary symmetric polynomial
of degree c of all odds, without those of the items in the superscript,

    P(i | c) = o_i e_{c−1}^{−i} / e_c,        P(i, j | c) = o_i o_j e_{c−2}^{−ij} / e_c.

So Σ_i P(i | c) = c at every size. The odds are fitted so that Σ_c P(c) P(i | c) is the support of item i, separately
for baskets of fewer than M items and for the others, since the split of an item's holders between these two is measured
(truncation.py). Where sizes vary as they do when items are independent, the expected support of a pair is the product
of its items' supports; where sizes vary more it is larger.

**Computation.** A common factor μ of all odds changes nothing. With p_i = μ o_i / (1 + μ o_i) and Σ_i p_i = c, the
polynomials are probabilities of sums of independent Bernoulli variables: inverse Fourier transforms of

    φ(t) = Π_i (1 − p_i + p_i e^{it}),

with one or two factors divided out. Sums over 65 points are exact for sizes up to 24, and for all sizes of catalogues
of up to 64 items. For others P(i | c) = p_i, and by Hájek's approximation, with d = Σ_i p_i (1 − p_i),

    P(i, j | c) = p_i p_j (1 − (1 − p_i)(1 − p_j) / d).

Source: Chen, Dempster, Liu, Weighted finite population sampling to maximize entropy, Biometrika 81 (1994); Hájek,
Asymptotic theory of rejective sampling with varying probabilities, Ann. Math. Stat. 35 (1964). The fit is ours.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_POINTS, _EXACT_TO = 65, 24
_ANGLES = 2j * np.pi * np.arange(_POINTS // 2 + 1) / _POINTS
_CIRCLE = np.exp(_ANGLES)
_WEIGHTS = np.where(_ANGLES == 0, 1.0, 2.0) / _POINTS  # of half of the points, as the sum is real
_BINS = 4.0  # representative items per unit of log odds
_FIT_STEPS, _SCALE_STEPS, _CONVERGED = 30, 80, 1e-4  # of log odds
_FARTHEST = 60.0  # log odds of an item that all or no baskets of a size hold
_LEAST, _MOST = 1e-9, 1 - 1e-6  # bounds of the share of a block's baskets that hold an item


@dataclass(frozen=True, slots=True)
class Population:
    """Items grouped by odds: representatives and how many items each stands for, float64 (representatives,)."""

    odds: Floats
    counts: Floats

    def inclusion(self, sizes: Ints) -> Floats:
        """Return P(i | c) of representatives for increasing sizes c ≥ 1, float64 (sizes, representatives)."""
        p, factors, kernel = self._at(sizes)
        p[: len(kernel)] *= np.einsum("cl,cil->ci", kernel * _CIRCLE, 1 / factors).real
        return p

    def pairs(self, sizes: Ints, shares: Floats) -> Floats:
        """Return Σ_c P(c) P(i, j | c) for two items of each odds, float64 (odds, odds); P(c) are ``shares``."""
        p, factors, kernel = self._at(sizes)
        exact = len(kernel)
        several = np.flatnonzero(sizes[:exact] > 1)
        divided = p[several, :, None] / factors[several]
        weighted = divided * (kernel * _CIRCLE**2 * shares[:exact, None])[several, None, :]
        both = np.einsum("cil,cjl->ij", weighted, divided).real
        rest, weights = p[exact:], shares[exact:, None]
        apart = rest * (1 - rest)
        spread = (apart @ self.counts)[:, None]
        return np.asarray(both + (weights * rest).T @ rest - (weights / spread * apart).T @ apart)

    def _at(self, sizes: Ints) -> tuple[Floats, NDArray[np.complex128], NDArray[np.complex128]]:
        """Return p, (sizes, representatives), and for the exact sizes the factors of φ and the inversion kernel.

        The kernel, (exact sizes, points), is φ over P(Σ = c), times the weights that select c in an inverse transform.
        """
        exact = len(sizes) if self.counts.sum() < _POINTS else int(np.searchsorted(sizes, _EXACT_TO, "right"))
        p = self._probabilities(sizes)
        moved = p[:exact, :, None] * (_CIRCLE - 1)
        logs = np.einsum("k,ckl->cl", self.counts, np.log1p(moved))
        kernel = np.exp(logs - _ANGLES * sizes[:exact, None]) * _WEIGHTS
        return p, 1 + moved, kernel / kernel.sum(axis=1, keepdims=True).real

    def _probabilities(self, sizes: Ints) -> Floats:
        """Return p scaled so that the sum over all items is each size, float64 (sizes, representatives)."""
        low = np.log(sizes / (self.odds @ self.counts))
        high = np.log(sizes / np.maximum(self.counts.sum() - sizes, 1e-9) / self.odds.min())
        level = low
        for _ in range(_SCALE_STEPS):  # Newton's method within a bracket
            p = _share(np.exp(level)[:, None] * self.odds)
            missing = sizes - p @ self.counts
            low, high = np.where(missing > 0, level, low), np.where(missing < 0, level, high)
            level = level + missing / np.maximum((p * (1 - p)) @ self.counts, 1e-12)
            level = np.where((level > low) & (level < high), level, (low + high) / 2)
            if np.abs(missing).max(initial=0.0) < _CONVERGED:
                break
        return _share(np.exp(level)[:, None] * self.odds)


@dataclass(frozen=True, slots=True)
class NullModel:
    """Expected supports of pairs in baskets of some sizes, if items are independent given the size.

    Attributes:
        weight: share of all baskets that have such a size.
        log_odds: log odds of the share of these baskets that hold an item, increasing, float64 (places,).
        ratios: the expected share of all baskets that have such a size and hold a pair of such items, over the product
            of the two items' shares, float64 (places, places).
    """

    weight: float
    log_odds: Floats
    ratios: Floats

    @classmethod
    def fit(cls, sizes: Ints, shares: Floats, supports: Floats) -> "NullModel":
        """Fit the odds of all items.

        Args:
            sizes: basket sizes, from 1 to the number of items, increasing, int64 (sizes,).
            shares: share of all baskets of each size, float64 (sizes,), not all 0.
            supports: the share of all baskets that have such a size and hold the item, float64 (items,).
        """
        weight = float(shares.sum())
        logs = _log_odds(supports / weight)
        _, places, counts = np.unique(np.rint(_BINS * logs), return_inverse=True, return_counts=True)
        wanted = np.bincount(places, logs) / counts
        log_odds = wanted
        for _ in range(_FIT_STEPS):
            population = Population(np.exp(log_odds), counts.astype(np.float64))
            reached = np.maximum(shares @ population.inclusion(sizes), _LEAST * weight)
            step = wanted - _log_odds(reached / weight)
            step -= step @ (counts * reached) / (counts @ reached)  # a common factor changes nothing
            log_odds = np.clip(log_odds + step, -_FARTHEST, _FARTHEST)
            if np.abs(step).max() < _CONVERGED:
                break
        both = population.pairs(sizes, shares)
        return cls(weight, wanted, np.maximum(both, 0.0) / np.outer(reached, reached))

    def expected(self, supports: Floats, pairs: Ints) -> Floats:
        """Return the expected supports of pairs of items, float64 (pairs,).

        ``supports`` are those of some items, as in :meth:`fit`; ``pairs`` are places in them, int64 (pairs, 2).
        """
        places = np.interp(_log_odds(supports / self.weight), self.log_odds, np.arange(len(self.log_odds), dtype=float))
        low = np.minimum(places.astype(np.int64), max(len(self.log_odds) - 2, 0))
        high, part = np.minimum(low + 1, len(self.log_odds) - 1), places - low
        (i, j), ratio = pairs.T, np.zeros(len(pairs))
        for row, of_row in ((low, 1 - part), (high, part)):
            for column, of_column in ((low, 1 - part), (high, part)):
                ratio += of_row[i] * of_column[j] * self.ratios[row[i], column[j]]
        return np.asarray(ratio * supports[i] * supports[j])


def _share(odds: Floats) -> Floats:
    return np.asarray(odds / (1 + odds))


def _log_odds(shares: Floats) -> Floats:
    held = np.clip(shares, _LEAST, _MOST)
    return np.asarray(np.log(held / (1 - held)))
