"""The law of baskets' sizes from one collection, and what sampling to M items took from supports.

Reports of padded baskets tell how many baskets are small: dummy d is in the padded basket iff that holds at most
M − 1 − d items. Of sizes from M on they tell nothing, and what sampling loses depends on these, so a few people answer
only which class of sizes their basket lies in. Both are noisy, and their estimates may be negative: cut off at zero
they would have baskets be larger than they are. Here every law of sizes is weighed by how well it explains them.

The prior. With u = ln((c + ½) / (M + ½)) a size c leaves the share S of all baskets that are at least so large at the
rate η, −d ln S / du = exp(η(u)), so that every law is one. Pareto's has a constant η, the exponential, Weibull's and
nearly the gamma laws a rising line, log-normal ones a concave curve, two kinds of people a dip. η is a line of normal
level and slope, plus an integrated Wiener process, plus what a size below M has of its own. How steep and how rough is
chosen by evidence among :data:`_LINES` and :data:`_ROUGH`. From a little beyond the last class on η stays as it is,
and a tail that is heavier there than Pareto's of index 1.6 costs something.

The posterior, for each line and roughness: its mode by damped Gauss–Newton steps, draws from the normal law around it,
and each draw's weight the true density by that one (importance sampling). Where baskets lie within a class the
answers do not tell: each law kept has a tilt of its own there, a strong one where nearly all baskets are in one class.

Source: a penalized hazard as in Eilers and Marx, Flexible smoothing with B-splines and penalties, Statistical Science
11 (1996), with weights of Rue, Martino and Chopin, Approximate Bayesian inference for latent Gaussian models, JRSS B
71 (2009); the hazard by the logarithm of the size, the tilts and the constants are ours.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.matrices import root, solution

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SINGLE = 5  # classes of one size each
_RATIOS = (1, 1.2, 1.44, 1.73, 2.07, 2.5, 3, 3.6, 4.5, 5.8, 7.5, 10, 14, 20)
_REACH = 49.0  # times √M: the least size of the last class
_WHOLE = 64  # sizes up to here are cells of their own; then a cell is a fifteenth longer than the one before
_LARGEST = 128  # times M; more baskets than that are all alike

_LEVEL, _SLOPE = 0.3, 0.6  # mean of η at M, and of its slope
_LINES = ((1.0, 0.5, 0.6), (3.0, 3.0, 0.3), (12.0, 10.0, 0.1))  # deviations of level and slope, weight
_ROUGH = ((0.5, 0.3), (1.5, 0.4), (5.0, 0.25), (25.0, 0.05))  # deviation of η's slope after one unit of u, weight
_OWN = (1.5, 0.7, 0.3)  # deviations of η's own part at sizes 0, 1 and each other one below M
_KNOTS = 60
_CONSTANT_FROM = 0.7  # beyond the last class, in u
_END, _END_DEVIATION = 0.5, 0.5  # η at the end below which a law costs something
_TILT, _SPIKE = 0.8, 15.0  # deviation of the tilt, and what it grows by where one class holds all
_LEAST_ERROR = 1e-4  # of any estimate: the model is no nearer to the truth
_ROUNDING = 1e-12  # of the largest variance, added to each: what subtracting leaves of a variance of nothing
_ANY = 1 << 62  # items, where no catalogue bounds what a basket holds
_DRAWS, _LAWS = 2048, 1024  # in all; of these a systematic sample by weight is kept
_HOPELESS = 7.0  # in logarithms: evidence so much below the best is left out
_HELD = 0.975  # of the laws, by what is stated as 1.96 errors
_WIDER = 1.05  # standard deviations of the draws where data tell


@dataclass(frozen=True, slots=True)
class SizeLaw:
    """Laws that the sizes of baskets may have, all equally probable.

    ``sizes`` int64 (S,) increasing; ``laws`` float64 (L, S), rows sum to 1. Beyond 64 a size stands for those near it.
    """

    sizes: Ints
    laws: Floats

    @property
    def shares(self) -> Floats:
        """Mean law, float64 (S,)."""
        mean: Floats = self.laws.mean(axis=0)
        return mean

    @property
    def mean(self) -> float:
        """Mean size."""
        return float(self.shares @ self.sizes)

    def undoing(self, m: int, k: int) -> tuple[float, float]:
        """Return by what a support of k items after sampling to m is to be multiplied, and its relative error.

        The factor is F = Σ P(c) w(c) / Σ P(c) w(c) κ(c), its mean over the laws. κ(c) = C(m,k)/C(c,k) beyond m is what
        sampling keeps, w(c) = C(c,k)^(k^−.6) how the chance to hold an itemset of the wanted ones grows with size; k is
        at most m. The error is that of the 97.5% of the laws that are nearest to the mean, since a few have very long
        tails: their farthest over 1.96 or their root mean square, whichever is larger. The latter is the larger one
        where a class of sizes holds nearly all baskets, whose one size may be anywhere in it.

        >>> SizeLaw(np.array([2, 4]), np.array([[0.5, 0.5]])).undoing(2, 1)
        (1.5, 0.0)
        """
        held = self.laws * holding_ways(self.sizes, k)
        before, after = held.sum(axis=1), held @ kept_shares(self.sizes, m, k)
        factors = np.divide(before, after, out=np.ones(len(before)), where=after > 0)
        mean = float(factors.mean())
        near = np.sort(np.abs(factors - mean))[: ceil(_HELD * len(factors))]
        return mean, max(float(near[-1]) / 1.96, float(np.sqrt((near**2).mean()))) / mean


def kept_shares(sizes: Ints, m: int, k: int) -> Floats:
    """Return κ(c) for sizes c: the share of its k-itemsets that a transaction sampled to m items keeps."""
    return np.where(sizes <= m, 1.0, comb(m, k) / np.maximum(_itemsets(sizes, k), 1.0))


def holding_ways(sizes: Ints, k: int, slope: float = 0.0) -> Floats:
    """Return C(c,k)^(k^−.6 + slope), how the chance to hold a wanted k-itemset grows with the size c, float64 (S,)."""
    ways: Floats = _itemsets(sizes, k) ** (k**-0.6 + slope)
    return ways


def _itemsets(sizes: Ints, k: int) -> Floats:
    """Return C(c,k), float64 (S,)."""
    return np.asarray(np.prod([np.maximum(sizes - i, 0) / (i + 1) for i in range(k)], axis=0))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Sizes cut into cells: their least sizes and what stands for them, int64 (S,), and log ends in u, (S + 1,)."""

    least: Ints
    sizes: Ints
    ends: Floats


@dataclass(frozen=True, slots=True)
class _Prior:
    """η + ln(width) of each cell = ``base`` + ``features`` @ z with z independent standard normal; (S,), (S, Z)."""

    base: Floats
    features: Floats
    end: float  # what is to be subtracted from the last cell's for its η
    weight: float

    def survival(self, z: Floats) -> tuple[Floats, Floats]:
        """Return each cell's hazard and the share of baskets beyond it, (..., S), for z (..., Z)."""
        hazards = np.exp(np.minimum(self.base + z @ self.features.T, 30.0))
        return hazards, np.exp(-np.cumsum(hazards, axis=-1))

    def ending(self, z: Floats) -> Floats:
        """Return by how many deviations η is too low at the end, (...)."""
        eta = self.base[-1] - self.end + z @ self.features[-1]
        missing: Floats = np.maximum(_END - eta, 0.0) / _END_DEVIATION
        return missing


@dataclass(frozen=True, slots=True)
class _Estimates:
    """Independent estimates with error 1: ``values`` (D,), expected ``survivors`` (D, S) @ survival beyond cells."""

    values: Floats
    survivors: Floats

    def residuals(self, prior: _Prior, z: Floats, survival: Floats) -> Floats:
        """Return what is left of them, and what the end costs, (..., D + 1)."""
        left = self.values - survival @ self.survivors.T
        return np.concatenate([left, prior.ending(z)[..., None]], axis=-1)


def size_classes(m: int, atoms: Iterable[int] = ()) -> Ints:
    """Return the least sizes of the classes that a few people are asked about, int64, from m on.

    The first few sizes are classes of their own, as tables of about M columns have one size; so are ``atoms``, sizes
    that many baskets are known to have. The others are wider the larger they are.

    >>> size_classes(6).tolist()
    [6, 7, 8, 9, 10, 11, 13, 16, 19, 22, 28, 35, 46, 61, 85, 121]
    >>> size_classes(6, [30]).tolist()[10:14]
    [28, 30, 31, 35]
    """
    power = np.log(_REACH / np.sqrt(m)) / np.log(_RATIOS[-1])
    wider = np.ceil(m * np.array(_RATIOS) ** power - 1e-9).astype(np.int64)
    own = [bound for size in atoms if size > m for bound in (size, size + 1)]
    return np.unique([*range(m, m + _SINGLE), *wider.tolist(), *own]).astype(np.int64)


def fit_size_law(
    below: Floats, below_errors: Floats, classes: Floats, class_errors: Floats, bounds: Ints, n_items: int = _ANY
) -> SizeLaw:
    """Return the laws of baskets' sizes that explain what dummies and a few people's answers tell.

    Args:
        below: estimates of P(size ≤ j) for j = 0 … M − 1, the dummies' supports, float64 (M,), not clipped.
        below_errors: their standard errors, (M,), or covariances, (M, M).
        classes: estimates of the share of baskets in each class of sizes from M on, float64 (B,), not clipped.
        class_errors: their standard errors, (B,), or covariances, (B, B).
        bounds: the least size of each class, int64 (B,), increasing from M, at most n_items.
        n_items: of the catalogue; no basket holds more.

    Returns:
        So many equally probable laws, always the same ones for the same estimates.
    """
    m = int(bounds[0])
    cells = _cells(tuple(bounds.tolist()), n_items)
    beyond = np.eye(len(cells.least))[:, np.searchsorted(cells.least, np.append(np.arange(1, m), bounds)) - 1].T
    shares = beyond[m - 1 :].copy()
    shares[:-1] -= shares[1:]
    known = _independent(1 - below, below_errors, beyond[:m]), _independent(classes, class_errors, shares)
    told = _Estimates(*(np.concatenate(parts) for parts in zip(*known, strict=True)))
    modes = [(prior, *_mode(prior, told)) for prior in _priors(tuple(bounds.tolist()), n_items)]
    best = max(evidence for *_, evidence in modes)
    near = [(prior, z, slopes) for prior, z, slopes, evidence in modes if evidence > best - _HOPELESS]
    drawn = [_draws(prior, z, slopes, told, _DRAWS // len(near)) for prior, z, slopes in near]
    laws, logs = np.concatenate([law for law, _ in drawn]), np.concatenate([log for _, log in drawn])
    chances = np.cumsum(np.exp(logs - logs.max()))
    kept = np.searchsorted(chances, (np.arange(_LAWS) + 0.5) / _LAWS * chances[-1])
    laws = _tilted(laws[kept], np.searchsorted(cells.least, bounds))
    return SizeLaw(cells.sizes, laws)


def _independent(values: Floats, errors: Floats, survivors: Floats) -> tuple[Floats, Floats]:
    """Return estimates and what they are expected to be, rotated and scaled so that errors are 1 and independent."""
    covariance = np.diag(errors**2) if errors.ndim == 1 else errors
    least = _LEAST_ERROR**2 + _ROUNDING * float(covariance.diagonal().max())
    roots = root(covariance + least * np.eye(len(values)))
    return solution(roots, values), solution(roots, survivors)


@lru_cache(maxsize=64)
def _cells(bounds: tuple[int, ...], n_items: int) -> _Cells:
    """Return cells among which classes of sizes begin."""
    m, largest = bounds[0], min(max(_LARGEST * bounds[0], 1000, 4 * bounds[-1]), n_items)
    longer = np.rint(_WHOLE * 1.0625 ** np.arange(1, np.log(largest / _WHOLE) / np.log(1.0625))).astype(np.int64)
    least = np.unique(np.concatenate([np.arange(_WHOLE + 1), longer, bounds]))
    least = least[least <= largest]
    most = np.append(least[1:] - 1, largest)
    ends = np.log((np.append(least, largest + 1) + 0.5) / (m + 0.5))
    return _Cells(least, np.rint(np.sqrt(least * most)).astype(np.int64), ends)


@lru_cache(maxsize=16)
def _priors(bounds: tuple[int, ...], n_items: int) -> tuple[_Prior, ...]:
    """Return a prior for each line and roughness."""
    m, ends = bounds[0], _cells(bounds, n_items).ends
    places = np.minimum((ends[1:] + ends[:-1]) / 2, np.log(bounds[-1] / m) + _CONSTANT_FROM)
    knots, gap = np.linspace(places[0], places[-1], _KNOTS, retstep=True)
    bends = np.where(knots >= 0, np.maximum(places[:, None] - knots, 0), np.maximum(knots - places[:, None], 0))
    own = np.diag(np.array(_OWN)[np.minimum(np.arange(len(places)), 2)])[:, :m]
    widths = np.log(np.diff(ends))
    base = _LEVEL + _SLOPE * places + widths
    return tuple(
        _Prior(
            base,
            np.column_stack([np.full(len(places), level), slope * places, rough * np.sqrt(gap) * bends, own]),
            float(widths[-1]),
            line_weight * weight,
        )
        for level, slope, line_weight in _LINES
        for rough, weight in _ROUGH
    )


def _mode(prior: _Prior, told: _Estimates) -> tuple[Floats, Floats, float]:
    """Return the most probable z, (Z,), the residuals' slopes there, (D + 1, Z), and the log evidence around it."""
    z, damping = np.zeros(prior.features.shape[1]), 1.0
    hazards, survival = prior.survival(z)
    left = told.residuals(prior, z, survival)
    for _ in range(60):
        slopes = _slopes(prior, told, hazards, survival, left)
        gradient, stiff = slopes.T @ left - z, 1 + damping
        inner = np.linalg.solve(slopes @ slopes.T + stiff * np.eye(len(left)), slopes @ gradient)
        tried = z + (gradient - slopes.T @ inner) / stiff
        tried_hazards, tried_survival = prior.survival(tried)
        tried_left = told.residuals(prior, tried, tried_survival)
        gained = (left @ left + z @ z - tried_left @ tried_left - tried @ tried) / 2
        damping = damping / 5 if gained > 0 else max(damping * 4, 1e-3)
        if gained > 0:
            z, hazards, survival, left = tried, tried_hazards, tried_survival, tried_left
            if gained < 1e-3 and damping < 0.1:
                break
    slopes = _slopes(prior, told, hazards, survival, left)
    volume = np.linalg.slogdet(np.eye(len(left)) + slopes @ slopes.T)[1] / 2
    return z, slopes, float(np.log(prior.weight) - (left @ left + z @ z) / 2 - volume)


def _slopes(prior: _Prior, told: _Estimates, hazards: Floats, survival: Floats, left: Floats) -> Floats:
    """Return how fast residuals fall as z grows, (D + 1, Z)."""
    expected = -(told.survivors * survival) @ np.cumsum(hazards[:, None] * prior.features, axis=0)
    return np.vstack([expected, prior.features[-1] / _END_DEVIATION * (left[-1] > 0)])


def _draws(prior: _Prior, z: Floats, slopes: Floats, told: _Estimates, count: int) -> tuple[Floats, Floats]:
    """Return laws drawn around the mode, (draws, S), and the logarithms of their weights, (draws,)."""
    half = np.random.default_rng(1).standard_normal((count // 2, len(z)))
    normals = np.concatenate([half, -half])
    _, lengths, axes = np.linalg.svd(slopes, full_matrices=False)
    scales = _WIDER / np.sqrt(1 + lengths**2)
    drawn = z + normals + (normals @ axes.T * (scales - 1)) @ axes
    survival = prior.survival(drawn)[1]
    left = told.residuals(prior, drawn, survival)
    logs = ((normals**2).sum(axis=1) - (drawn**2).sum(axis=1) - (left**2).sum(axis=1)) / 2
    before = np.column_stack([np.ones(len(survival)), survival[:, :-1]])
    laws = before - survival
    laws[:, -1] = before[:, -1]
    return laws, logs + np.log(scales).sum() + np.log(prior.weight)


def _tilted(laws: Floats, places: Ints) -> Floats:
    """Return laws with as much in each class, but otherwise within it, (draws, S); classes begin at these places."""
    return np.column_stack([laws[:, : places[0]], *_classes_tilted(laws, places), laws[:, places[-1] :]])


def _classes_tilted(laws: Floats, places: Ints) -> Iterator[Floats]:
    """Yield the tilted laws of each class but the last."""
    normals = np.random.default_rng(2).standard_normal((len(places), len(laws), 1))
    for start, end, normal in zip(places[:-1].tolist(), places[1:].tolist(), normals[:-1], strict=True):
        part = laws[:, start:end]
        total = part.sum(axis=1, keepdims=True)
        tilted = part * np.exp(normal * (_TILT + _SPIKE * total**4) * np.linspace(-1, 1, end - start))
        yield tilted * (total / np.maximum(tilted.sum(axis=1, keepdims=True), 1e-300))
