"""The basket-size distribution of one collection, and the truncation correction that follows from it.

Reports of padded baskets estimate how many baskets are small: padding item d is in the padded basket exactly if the
basket holds at most M − 1 − d items. They carry no information on sizes from M on, on which the loss by truncation
depends. So a few people report only the class of sizes that their basket lies in. Both estimates are noisy and may be
negative. Clipping them at zero would make baskets larger than they are. Instead each candidate size distribution is
weighted by how well it explains the estimates.

The prior. With u = ln((c + ½) / (M + ½)), a size c reduces the share S of all baskets of at least that size at the rate
η, −d ln S / du = exp(η(u)), so every η gives a distribution. η is constant for Pareto distributions, a rising line for
exponential, Weibull and nearly for gamma distributions, a concave curve for log-normal ones, and has a dip for two
groups of people. η is a line of normal level and slope, plus an integrated Wiener process, plus a separate term for
each size below M. Steepness and roughness are chosen by evidence among :data:`_LINES` and :data:`_ROUGH`. From a little
beyond the last class on, η is constant. A tail heavier there than Pareto's of index 1.6 is penalized.

The posterior, for each line and roughness: its mode by damped Gauss–Newton steps, then samples from the normal
distribution around it, weighted with the ratio of the true density to that normal one (importance sampling). The
reports do not show where in a class baskets lie. So each distribution kept has a random tilt within classes, a strong
one where nearly all baskets are in one class.

Source: a penalized hazard as in Eilers and Marx, Flexible smoothing with B-splines and penalties, Statistical Science
11 (1996), with weights of Rue, Martino and Chopin, Approximate Bayesian inference for latent Gaussian models, JRSS B 71
(2009). The hazard by the logarithm of the size, the tilts and the constants are ours.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.matrices import cholesky, solve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SINGLE = 5  # classes of one size each
_RATIOS = (1, 1.2, 1.44, 1.73, 2.07, 2.5, 3, 3.6, 4.5, 5.8, 7.5, 10, 14, 20)
_REACH = 49.0  # times √M: the least size of the last class
_WHOLE = 64  # sizes up to here are cells of their own; each later cell is a sixteenth longer than the one before
_LARGEST = 128  # times M; the largest size that is modelled

_LEVEL, _SLOPE = 0.3, 0.6  # mean of η at M, and of its slope
_LINES = ((1.0, 0.5, 0.6), (3.0, 3.0, 0.3), (12.0, 10.0, 0.1))  # deviations of level and slope, weight
_ROUGH = ((0.5, 0.3), (1.5, 0.4), (5.0, 0.25), (25.0, 0.05))  # deviation of η's slope after one unit of u, weight
_OWN = (1.5, 0.7, 0.3)  # deviations of η's separate term at sizes 0, 1 and each other size below M
_KNOTS = 60
_CONSTANT_FROM = 0.7  # beyond the last class, in u
_END, _END_DEVIATION = 0.5, 0.5  # η at the end below which a distribution is penalized
_TILT, _SPIKE = 0.8, 15.0  # deviation of the tilt, and its growth where one class holds all baskets
_LEAST_ERROR = 1e-4  # of any estimate: the error of the model itself
_ROUNDING = 1e-12  # of the largest variance, added to each against rounding
_ANY = 1 << 62  # items, where no catalogue bounds the basket size
_SAMPLES, _KEPT = 2048, 1024  # in total; of these a systematic sample by weight is kept
_HOPELESS = 7.0  # in logarithms: models with evidence this far below the best are left out
_HELD = 0.975  # share of the distributions within 1.96 stated errors
_WIDER = 1.05  # factor on the standard deviations of the samples where data are informative


@dataclass(frozen=True, slots=True)
class SizeDistribution:
    """Distributions that the basket sizes may have, all equally probable.

    ``sizes`` int64 (S,), increasing; ``distributions`` float64 (L, S), rows sum to 1. Above 64 a size stands for those
    near it.
    """

    sizes: Ints
    distributions: Floats

    @property
    def shares(self) -> Floats:
        """Mean distribution, float64 (S,)."""
        return np.asarray(self.distributions.mean(axis=0))

    @property
    def mean(self) -> float:
        """Mean size."""
        return float(self.shares @ self.sizes)

    def truncation_factor(self, m: int, k: int, kept: Floats | None = None) -> tuple[float, float]:
        """Return F, the factor from supports in baskets truncated to m items to whole baskets, and its relative error.

        F = Σ P(c) w(c) / Σ P(c) w(c) κ(c), its mean over the distributions, for itemsets of k ≤ m items. Beyond m, κ(c)
        = C(m,k)/C(c,k) is the share that truncation keeps, if ``kept``, (S,), gives no other. w(c) = C(c,k)^(k^−.6) is
        the growth with size of the probability to hold an itemset. The error is that of the 97.5% of the distributions
        nearest to the mean, since a few have very long tails: their farthest deviation over 1.96 or their root mean
        square, whichever is larger. The latter is larger where one class of sizes holds nearly all baskets, whose size
        may be anywhere in it.

        >>> SizeDistribution(np.array([2, 4]), np.array([[0.5, 0.5]])).truncation_factor(2, 1)
        (1.5, 0.0)
        """
        held = self.distributions * holding_growth(self.sizes, k)
        before, after = held.sum(axis=1), held @ (keep_probabilities(self.sizes, m, k) if kept is None else kept)
        factors = np.divide(before, after, out=np.ones(len(before)), where=after > 0)
        mean = float(factors.mean())
        near = np.sort(np.abs(factors - mean))[: ceil(_HELD * len(factors))]
        return mean, max(float(near[-1]) / 1.96, float(np.sqrt((near**2).mean()))) / mean


@dataclass(frozen=True, slots=True)
class LearnedItems:
    """What ``reports`` of any type estimate about a catalogue: ``supports``, float64 (items,), and basket sizes."""

    names: Sequence[str]
    supports: Floats
    sizes: SizeDistribution
    reports: int


def keep_probabilities(sizes: Ints, m: int, k: int) -> Floats:
    """Return κ(c) for sizes c: the probability that truncation to m items keeps a k-itemset."""
    return np.where(sizes <= m, 1.0, comb(m, k) / np.maximum(_itemsets(sizes, k), 1.0))


def holding_growth(sizes: Ints, k: int, slope: float = 0.0) -> Floats:
    """Return C(c,k)^(k^−.6 + slope): how the probability to hold a k-itemset grows with size, float64 (S,)."""
    return np.asarray(_itemsets(sizes, k) ** (k**-0.6 + slope))


def _itemsets(sizes: Ints, k: int) -> Floats:
    """Return C(c,k), float64 (S,)."""
    return np.asarray(np.prod([np.maximum(sizes - i, 0) / (i + 1) for i in range(k)], axis=0))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Sizes grouped into cells: their least and representative sizes, int64 (S,), and log ends in u, (S + 1,)."""

    least: Ints
    sizes: Ints
    ends: Floats


@dataclass(frozen=True, slots=True)
class _Prior:
    """η + ln(width) of each cell = ``base`` + ``features`` @ z with z independent standard normal; (S,), (S, Z)."""

    base: Floats
    features: Floats
    end: float  # to subtract from the last cell's value for its η
    weight: float

    def survival(self, z: Floats) -> tuple[Floats, Floats]:
        """Return each cell's hazard and the share of baskets beyond it, (..., S), for z (..., Z)."""
        hazards = np.exp(np.minimum(self.base + z @ self.features.T, 30.0))
        return hazards, np.exp(-np.cumsum(hazards, axis=-1))

    def ending(self, z: Floats) -> Floats:
        """Return by how many deviations η is too low at the end, (...)."""
        eta = self.base[-1] - self.end + z @ self.features[-1]
        return np.asarray(np.maximum(_END - eta, 0.0) / _END_DEVIATION)


@dataclass(frozen=True, slots=True)
class _Estimates:
    """Independent estimates with error 1: ``values`` (D,), expected ``survivors`` (D, S) @ survival beyond cells."""

    values: Floats
    survivors: Floats

    def residuals(self, prior: _Prior, z: Floats, survival: Floats) -> Floats:
        """Return their residuals, and the penalty at the end, (..., D + 1)."""
        left = self.values - survival @ self.survivors.T
        return np.concatenate([left, prior.ending(z)[..., None]], axis=-1)


def size_classes(m: int, atoms: Iterable[int] = ()) -> Ints:
    """Return the least sizes of the size classes that a few people report, int64, from m on.

    The first few sizes are classes of their own, as tables of about M columns have one size. So are ``atoms``, sizes
    that many baskets are known to have. The others are wider the larger they are.

    >>> size_classes(6).tolist()
    [6, 7, 8, 9, 10, 11, 13, 16, 19, 22, 28, 35, 46, 61, 85, 121]
    >>> size_classes(6, [30]).tolist()[10:14]
    [28, 30, 31, 35]
    """
    power = np.log(_REACH / np.sqrt(m)) / np.log(_RATIOS[-1])
    wider = np.ceil(m * np.array(_RATIOS) ** power - 1e-9).astype(np.int64)
    own = [bound for size in atoms if size > m for bound in (size, size + 1)]
    return np.array(sorted({*range(m, m + _SINGLE), *wider.tolist(), *own}), dtype=np.int64)


def fit_size_distribution(
    below: Floats, below_errors: Floats, classes: Floats, class_errors: Floats, bounds: Ints, n_items: int = _ANY
) -> SizeDistribution:
    """Return the basket-size distributions that explain the padding items and the reports about sizes.

    Args:
        below: estimates of P(size ≤ j) for j = 0 … M − 1, the padding items' supports, float64 (M,), not clipped.
        below_errors: their standard errors, (M,), or covariances, (M, M).
        classes: estimates of the share of baskets in each class of sizes from M on, float64 (B,), not clipped.
        class_errors: their standard errors, (B,), or covariances, (B, B).
        bounds: the least size of each class, int64 (B,), increasing from M, at most n_items.
        n_items: size of the catalogue; no basket holds more.

    Returns:
        Equally probable distributions, always the same ones for the same estimates.
    """
    m = int(bounds[0])
    cells = _cells(tuple(bounds.tolist()), n_items)
    beyond = np.eye(len(cells.least))[:, np.searchsorted(cells.least, np.append(np.arange(1, m), bounds)) - 1].T
    shares = beyond[m - 1 :].copy()
    shares[:-1] -= shares[1:]
    known = _independent(1 - below, below_errors, beyond[:m]), _independent(classes, class_errors, shares)
    estimates = _Estimates(*(np.concatenate(parts) for parts in zip(*known, strict=True)))
    modes = [(prior, *_mode(prior, estimates)) for prior in _priors(tuple(bounds.tolist()), n_items)]
    best = max(evidence for *_, evidence in modes)
    near = [(prior, z, slopes) for prior, z, slopes, evidence in modes if evidence > best - _HOPELESS]
    samples = [_sample(prior, z, slopes, estimates, _SAMPLES // len(near)) for prior, z, slopes in near]
    distributions, logs = (np.concatenate(each) for each in zip(*samples, strict=True))
    cumulative = np.cumsum(np.exp(logs - logs.max()))
    kept = np.searchsorted(cumulative, (np.arange(_KEPT) + 0.5) / _KEPT * cumulative[-1])
    distributions = _tilt(distributions[kept], np.searchsorted(cells.least, bounds))
    return SizeDistribution(cells.sizes, distributions)


def _independent(values: Floats, errors: Floats, survivors: Floats) -> tuple[Floats, Floats]:
    """Return estimates and their expectations, rotated and scaled so that errors are 1 and independent."""
    covariance = np.diag(errors**2) if errors.ndim == 1 else errors
    least = _LEAST_ERROR**2 + _ROUNDING * float(covariance.diagonal().max())
    roots = cholesky(covariance + least * np.eye(len(values)))
    return solve(roots, values), solve(roots, survivors)


@lru_cache(maxsize=64)
def _cells(bounds: tuple[int, ...], n_items: int) -> _Cells:
    """Return cells; each class of sizes begins at the start of one."""
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


def _mode(prior: _Prior, estimates: _Estimates) -> tuple[Floats, Floats, float]:
    """Return the most probable z, (Z,), the residuals' slopes there, (D + 1, Z), and the log evidence around it."""
    z, damping = np.zeros(prior.features.shape[1]), 1.0
    hazards, survival = prior.survival(z)
    left = estimates.residuals(prior, z, survival)
    for _ in range(60):
        slopes = _slopes(prior, estimates, hazards, survival, left)
        gradient, stiff = slopes.T @ left - z, 1 + damping
        inner = np.linalg.solve(slopes @ slopes.T + stiff * np.eye(len(left)), slopes @ gradient)
        tried = z + (gradient - slopes.T @ inner) / stiff
        tried_hazards, tried_survival = prior.survival(tried)
        tried_left = estimates.residuals(prior, tried, tried_survival)
        gained = (left @ left + z @ z - tried_left @ tried_left - tried @ tried) / 2
        damping = damping / 5 if gained > 0 else max(damping * 4, 1e-3)
        if gained > 0:
            z, hazards, survival, left = tried, tried_hazards, tried_survival, tried_left
            if gained < 1e-3 and damping < 0.1:
                break
    slopes = _slopes(prior, estimates, hazards, survival, left)
    volume = np.linalg.slogdet(np.eye(len(left)) + slopes @ slopes.T)[1] / 2
    return z, slopes, float(np.log(prior.weight) - (left @ left + z @ z) / 2 - volume)


def _slopes(prior: _Prior, estimates: _Estimates, hazards: Floats, survival: Floats, left: Floats) -> Floats:
    """Return how fast residuals fall as z grows, (D + 1, Z)."""
    expected = -(estimates.survivors * survival) @ np.cumsum(hazards[:, None] * prior.features, axis=0)
    return np.vstack([expected, prior.features[-1] / _END_DEVIATION * (left[-1] > 0)])


def _sample(prior: _Prior, z: Floats, slopes: Floats, estimates: _Estimates, count: int) -> tuple[Floats, Floats]:
    """Return distributions sampled around the mode, (samples, S), and their log weights, (samples,)."""
    half = np.random.default_rng(1).standard_normal((count // 2, len(z)))
    normals = np.concatenate([half, -half])
    _, lengths, axes = np.linalg.svd(slopes, full_matrices=False)
    scales = _WIDER / np.sqrt(1 + lengths**2)
    samples = z + normals + (normals @ axes.T * (scales - 1)) @ axes
    survival = prior.survival(samples)[1]
    left = estimates.residuals(prior, samples, survival)
    logs = ((normals**2).sum(axis=1) - (samples**2).sum(axis=1) - (left**2).sum(axis=1)) / 2
    before = np.column_stack([np.ones(len(survival)), survival[:, :-1]])
    distributions = before - survival
    distributions[:, -1] = before[:, -1]
    return distributions, logs + np.log(scales).sum() + np.log(prior.weight)


def _tilt(distributions: Floats, places: Ints) -> Floats:
    """Return distributions tilted within all classes but the last, with the same share of each, (samples, S)."""
    tilted = distributions.copy()
    normals = np.random.default_rng(2).standard_normal((len(places), len(distributions), 1))
    for start, end, normal in zip(places[:-1].tolist(), places[1:].tolist(), normals[:-1], strict=True):
        part = distributions[:, start:end]
        total = part.sum(axis=1, keepdims=True)
        part = part * np.exp(normal * (_TILT + _SPIKE * total**4) * np.linspace(-1, 1, end - start))
        tilted[:, start:end] = part * (total / np.maximum(part.sum(axis=1, keepdims=True), 1e-300))
    return tilted
