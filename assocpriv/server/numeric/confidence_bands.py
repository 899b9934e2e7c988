"""Confidence bands of a distribution function, and moments, from histograms of released codes.

**Moments.** Mean and variance of a column are unbiased, whatever the distribution. They are linear in the released
codes: there are weights c_k(y) of the codes with E[c_k(y) | x] = x^k for a value in cell x, k = 0, 1, 2, and 0 for a
missing one. They are combinations of 1, y, y² and "the value is missing": the moments of additive noise are subtracted;
under a window E[y | x] is affine in x, and E[y² | x] quadratic. With S_k the mean of c_k over the reports, mean = S₁/S₀
and variance = S₂/S₀ − mean²; their errors follow by the delta method from the histogram itself. With classes of several
cells only the mean of their midpoints is estimated. The mean differs from it by at most half a class; nothing is known
of the variance within classes.

**Least squares.** Shares with their covariance: weighted least squares invert the channel. With rates r of the bins and
W = diag(1 / (A f)) at an estimate f,

    f̂ = G r,  G = (Aᵀ W A)⁻¹ Aᵀ W,      Cov f̂ = (G diag(r) Gᵀ − f̂ f̂ᵀ) / N

f̂ is unbiased whatever the weights, since G A = 1; shares may come out negative. The only assumption on the
distribution is that values are uniform within an interval. Least squares are used where the channel is well invertible:
windows, randomized response, uniform noise, values released as they are. For classes wider than an interval only the
edges of the classes are known. Gaussian noise wipes out all but a few frequencies, and least squares would be
uninformative: there bands come from the smooth estimate's covariance, and rest on its assumption (smoothing.py).

**Bands.** The distribution function at the edges is linear in the shares. Its simultaneous band is F̂ ± c·se, c the 95%
point of the largest |z| of a normal vector of that covariance. The true function rises from 0 to 1, so both sides may
be made monotone and cut off at 0 and 1 without losing coverage. Where no rising function fits, or a share lies far
below 0, values are not uniform within intervals, for example where many are equal. The band is then widened to the
range of its ups and downs, and quantiles have whole intervals as ends.

A bin without any report has no error by the formula, but may have reports next time. Two further reports in each bin
account for that, as in the interval of Agresti and Coull (American Statistician 1998). Bins with equal columns count as
one.
"""

import contextlib
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.matrices import cholesky
from assocpriv.plans.numeric.table_plan import Clear, NumberColumn

Floats = NDArray[np.float64]

_DRAWS = 4000  # of the largest |z|; its 95% point is then known to 0.02
_NO_SPREAD = 1e-7  # of the largest variance, added to each so that a matrix root exists despite rounding
_REGULAR = 1e-3  # least pivot of a Cholesky factor, relative to the largest, for a plain inverse
_SEED = 0x5EED  # fixed: equal reports give equal bands; no report depends on it
_EVEN = 0.02  # share of the uniform distribution mixed into the estimate for weights, so that none is infinite
_FLOOR = 0.3  # least half-width of a band relative to its largest: in tails with few reports the normal approximation
# errs. A smooth estimate's band is equally wide everywhere, as its bias is
MORE_REPORTS = 2  # in each bin, for standard errors
_LEAST_SHARE = 2.7  # standard errors below 0: one of 100 uniform intervals falls below in about 5% of cases
_ROUNDING = 1e-9  # by which the sides of a band may cross
_LEAST_SMOOTH = 0.7  # likewise for quantiles of a smooth estimate; tuned on Beta(5, 2) and the plateau


# ---- moments


@dataclass(frozen=True, eq=False, slots=True)
class ClassCounts:
    """The number of reports of one class with each code, or an unbiased estimate of it.

    Where the class is protected, a report counts b(l) for the class, which depends on its released class l: ``values``
    are the sums of b, ``squares`` those of b², both float64 (codes,). Otherwise both are the plain counts.
    ``n_reports`` is the number of reports of all classes considered.
    """

    values: Floats
    squares: Floats
    n_reports: int

    def differs_from_empty(self, z: float) -> bool:
        """Return whether the number of reports exceeds 0 by more than z standard errors."""
        size, n = self.values.sum(), self.n_reports
        return bool(size > z * np.sqrt(max(self.squares.sum() - size**2 / n, 0)))

    @classmethod
    def plain(cls, counts: NDArray[np.int64]) -> "ClassCounts":
        """Return counts of codes, (codes,), of an unprotected class."""
        own = counts.astype(np.float64)
        return cls(own, own, int(counts.sum()))


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and variance in the column's unit, each with its standard error.

    ``mean_unknown`` is the largest systematic error of the mean; ``of_variance`` is None where it cannot be estimated.
    """

    of_mean: tuple[float, float]
    of_variance: tuple[float, float] | None
    mean_unknown: float = 0.0


def moment_weights(column: NumberColumn) -> Floats:
    """Return c_k(y), float64 (3, codes), with x from 0 to 1 over the column's cells."""
    n, mechanism = column.inputs, column.mechanism
    if isinstance(mechanism, Clear):
        middles = ((np.arange(n) + 0.5) / n).reshape(mechanism.outputs, -1)
        held = (np.arange(n) < column.used).reshape(mechanism.outputs, -1) / n
        means = [(middles**k * held).sum(axis=1) / np.maximum(held.sum(axis=1), 1 / n) for k in range(3)]
        return np.array([np.append(each, [0.0] * column.optional) for each in means])
    places = (np.arange(mechanism.outputs) - (mechanism.outputs - n) / 2 + 0.5) / n
    basis = np.array([np.append(places**k, [0.0] * column.optional) for k in range(3)])
    inputs = sorted({0, n // 2, n - 1})
    targets = [[((x + 0.5) / n) ** k for k in range(3)] for x in inputs]
    if column.optional:
        basis = np.concatenate([basis, np.eye(column.codes)[-1:]])
        inputs, targets = [*inputs, n], [*targets, [0.0, 0.0, 0.0]]
    probabilities = np.array([mechanism.weights(x, optional=column.optional) for x in inputs], dtype=np.float64)
    expected = (probabilities / probabilities.sum(axis=1, keepdims=True)) @ basis.T
    return np.asarray(np.linalg.lstsq(expected, np.array(targets), rcond=None)[0].T @ basis)


def estimate_moments(counts: ClassCounts, column: NumberColumn) -> Moments | None:
    """Return mean and variance, or None where the column seems to hold no value.

    Source: the delta method for a ratio (van der Vaart, Asymptotic Statistics 1998, chapter 3).
    """
    weights = moment_weights(column)
    sums = weights @ counts.values / counts.n_reports
    if sums[0] <= 0:
        return None
    mean, second = sums[1] / sums[0], sums[2] / sums[0]
    of_mean = (weights[1] - mean * weights[0]) / sums[0]
    of_variance = (weights[2] - second * weights[0]) / sums[0] - 2 * mean * of_mean
    errors = np.sqrt(np.array([of_mean, of_variance]) ** 2 @ counts.squares) / counts.n_reports
    width, grain = float(column.cell_width), column.grain
    span = width * column.inputs
    of_column = float(column.origin) + span * float(mean), span * float(errors[0])
    unknown = (width * column.mechanism.width - grain) / 2 if isinstance(column.mechanism, Clear) else 0.0
    if isinstance(column.mechanism, Clear) and column.mechanism.width > 1:
        return Moments(of_column, None, unknown)
    spread = span**2 * float(second - mean**2) + (width**2 - grain**2) / 12  # within a cell, too
    return Moments(of_column, (spread, span**2 * float(errors[1])), unknown)


# ---- least squares


@dataclass(frozen=True, eq=False, slots=True)
class LinearEstimate:
    """Shares with their covariance, (inputs,) and (inputs, inputs); ``is_unbiased``: from least squares."""

    shares: Floats
    covariance: Floats
    is_unbiased: bool

    def among(self, n_values: int) -> "LinearEstimate":
        """Return the shares among the first inputs, without missing values (the delta method)."""
        whole = self.shares[:n_values].sum()
        if whole <= 0:  # no values seem to be present, so every share is possible
            return LinearEstimate(np.full(n_values, 1 / n_values), np.eye(n_values), self.is_unbiased)
        shares = self.shares[:n_values] / whole
        slope = (np.eye(n_values, len(self.shares)) - np.outer(shares, np.arange(len(self.shares)) < n_values)) / whole
        return LinearEstimate(shares, slope @ self.covariance @ slope.T, self.is_unbiased)

    @property
    def errors(self) -> Floats:
        """Standard errors, float64 (inputs,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def ratio_intervals(self, n_values: int, z: float) -> tuple[Floats, Floats]:
        """Return the ends, float64 (n_values,) each, of intervals of the shares among the first inputs, within 0 … 1.

        With S the sum of the first inputs and s_i one of them, the interval holds all t at which s_i − t·S is at most z
        of its standard errors from 0. Unlike the delta method it is also valid where S, as the size of a protected
        class, is uncertain. Where S is less than z errors from 0 it is 0 … 1. Source: Fieller, JRSS B 1954.
        """
        first = np.arange(len(self.shares)) < n_values
        whole, own = self.shares @ first, self.shares[:n_values]
        spread, common = first @ self.covariance @ first, (self.covariance @ first)[:n_values]
        square = whole**2 - z**2 * spread
        if whole <= 0 or square <= 0:
            return np.zeros(n_values), np.ones(n_values)
        middle = own * whole - z**2 * common
        root = np.sqrt(np.maximum(middle**2 - square * (own**2 - (z * self.errors[:n_values]) ** 2), 0))
        return np.clip((middle - root) / square, 0, 1), np.clip((middle + root) / square, 0, 1)


def least_squares(values: Floats, squares: Floats, n_reports: int, matrix: Floats, near: Floats) -> LinearEstimate:
    """Return the unbiased shares.

    Args:
        values: counts of the bins, or unbiased estimates of them, (bins,); ``squares`` as in ClassCounts.
        n_reports: reports of all classes.
        matrix: P(bin | input), float64 (bins, inputs); adjacent inputs with equal columns share alike.
        near: an estimate of the shares, for the weights.
    """
    groups = _runs(matrix)
    sizes = np.bincount(groups)
    spread = np.eye(len(sizes))[groups] / sizes[groups][:, None]  # (inputs, groups)
    pooled = matrix @ spread
    expected = pooled @ ((1 - _EVEN) * (spread > 0).T @ near + _EVEN / len(sizes))
    weighted = pooled / np.maximum(expected, 1e-12)[:, None]
    solver = spread @ _inverse(weighted.T @ pooled) @ weighted.T
    shares = solver @ values / n_reports
    alike = _runs(matrix.T)
    more = MORE_REPORTS / np.bincount(alike)[alike] * squares.sum() / n_reports**2
    covariance = (solver * (squares / n_reports + more)) @ solver.T - np.outer(shares, shares)
    return LinearEstimate(shares, covariance / n_reports, is_unbiased=True)


def _runs(matrix: Floats) -> NDArray[np.int64]:
    """Return the number of the run of equal columns that each column belongs to, int64 (columns,)."""
    return np.append(0, np.cumsum((np.abs(np.diff(matrix, axis=1)) > 1e-12).any(axis=0)))


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a symmetric matrix, or the pseudo-inverse of one that is nearly singular."""
    with contextlib.suppress(np.linalg.LinAlgError):
        pivots = np.linalg.cholesky(matrix).diagonal()
        if pivots.min() > _REGULAR * pivots.max():
            return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    return np.asarray(np.linalg.pinv(matrix, rcond=1e-10, hermitian=True), dtype=np.float64)


# ---- bands


@dataclass(frozen=True, eq=False, slots=True)
class Band:
    """The distribution function at all edges, float64 (intervals + 1,): estimate, standard error, simultaneous band.

    ``known`` are the edges at which the data are informative: all, or those of classes. ``is_even``: values may be
    uniform within intervals.
    """

    value: Floats
    error: Floats
    low: Floats
    high: Floats
    known: NDArray[np.bool_]
    is_unbiased: bool
    is_even: bool


def distribution_band(estimate: LinearEstimate, known: NDArray[np.bool_], level: float) -> Band:
    """Return the distribution function of shares of intervals, with a band at a confidence level."""
    value = np.append(0.0, np.cumsum(estimate.shares))
    covariance = np.pad(estimate.covariance.cumsum(axis=0).cumsum(axis=1), (1, 0))
    error = np.sqrt(np.maximum(np.diag(covariance), 0))
    width = np.maximum(error, (_FLOOR if estimate.is_unbiased else 1.0) * error.max())
    error = error if estimate.is_unbiased else np.maximum(error, _LEAST_SMOOTH * error.max())
    error[[0, -1]] = 0
    inner = known & (width > 0)
    inner[[0, -1]] = False
    half = largest_deviation(covariance[np.ix_(inner, inner)], width[inner], level) * width
    low, high = _rising(value - half, value + half, inner)
    below_zero = float((estimate.shares / np.maximum(estimate.errors, _ROUNDING)).min(initial=0.0))
    is_even = bool((low <= high + _ROUNDING).all()) and (below_zero > -_LEAST_SHARE or not estimate.is_unbiased)
    if not is_even:
        low, high = _reach(value - half, value + half, inner)
    return Band(value, error, low, high, known, estimate.is_unbiased, is_even)


def largest_deviation(covariance: Floats, width: Floats, level: float) -> float:
    """Return the quantile of max |d_i| / width_i of a normal vector d."""
    if not len(width):
        return 0.0
    scaled = covariance / np.outer(width, width)
    factor = cholesky(scaled + _NO_SPREAD * scaled.diagonal().max() * np.eye(len(width)))
    drawn = factor.astype(np.float32) @ _normal(len(width))
    return float(np.quantile(np.abs(drawn, out=drawn).max(axis=0), level))


@lru_cache(maxsize=4)  # columns mostly have equally many edges
def _normal(n: int) -> NDArray[np.float32]:
    """Return samples of n independent standard normal numbers, (n, draws)."""
    return np.random.default_rng(_SEED).standard_normal((n, _DRAWS), dtype=np.float32)


def _rising(low: Floats, high: Floats, inner: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the narrowest band that holds every rising function within the given band at the inner edges."""
    low, high = np.where(inner, low, 0.0), np.where(inner, high, 1.0)
    low[-1], high[0] = 1.0, 0.0
    return np.maximum.accumulate(np.clip(low, 0, 1)), np.minimum.accumulate(np.clip(high, 0, 1)[::-1])[::-1]


def _reach(low: Floats, high: Floats, inner: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the band widened to its least lower end at greater edges and its largest upper end at smaller ones."""
    low, high = np.where(inner, low, 1.0), np.where(inner, high, 0.0)
    low[0], high[-1] = 0.0, 1.0
    return np.minimum.accumulate(np.clip(low, 0, 1)[::-1])[::-1], np.maximum.accumulate(np.clip(high, 0, 1))


# ---- quantiles


def quantile_interval(band: Band, edges: Floats, share: float, z: float) -> tuple[float, float]:
    """Return the ends of the values at which the share is not rejected: where |F̂ − share| is at most z errors.

    It inverts a test (Woodruff, JASA 1952), so it holds each single quantile with at least the confidence of z. Within
    classes of several intervals, and where values are not uniform within them, the function may be any that rises, so
    ends are edges.
    """
    value, error, known = band.value[band.known], band.error[band.known], edges[band.known]
    high = np.maximum.accumulate(value + z * error)
    low = np.minimum.accumulate((value - z * error)[::-1])[::-1]
    if band.known.all() and band.is_even:
        return _reached(high, edges, share), _reached(low, edges, share)
    return _edges_around(high, low, known, share)


def counted_interval(counts: ClassCounts, edges: Floats, share: float, z: float) -> tuple[float, float]:
    """Return the same for values released as they are, or as classes: ends are edges of codes, (codes + 1,)."""
    if counts.values[: len(edges) - 1].sum() <= 0:
        return float(edges[0]), float(edges[-1])
    values, squares = counts.values[: len(edges) - 1], counts.squares[: len(edges) - 1]
    below, spread, whole = np.cumsum(values) / values.sum(), np.cumsum(squares), values.sum()
    error = np.sqrt(np.maximum(spread * (1 - 2 * below) + below**2 * spread[-1], 0)) / whole
    high = np.append(0.0, np.maximum.accumulate(below + z * error))
    low = np.append(0.0, np.minimum.accumulate((below - z * error)[::-1])[::-1])
    return _edges_around(high, low, edges, share)


def _edges_around(high: Floats, low: Floats, edges: Floats, share: float) -> tuple[float, float]:
    """Return the last edge before the upper side reaches a share, and the first at which the lower side has."""
    first, last = int(np.searchsorted(high, share)), int(np.searchsorted(low, share))
    return float(edges[max(0, first - 1)]), float(edges[min(last, len(edges) - 1)])


def _reached(rising: Floats, edges: Floats, share: float) -> float:
    """Return where a piecewise linear, rising function first reaches a share."""
    at = int(np.searchsorted(rising, share, side="left"))
    if at == 0:
        return float(edges[0])
    before, after = rising[at - 1], rising[at]
    return float(edges[at - 1] + (edges[at] - edges[at - 1]) * (share - before) / (after - before))


def quantile(shares: Floats, edges: Floats, share: float) -> float:
    """Return a quantile of shares of intervals, uniform within each; negative shares count as 0."""
    rising = np.append(0.0, np.cumsum(np.maximum(shares, 0)))
    return _reached(rising / rising[-1], edges, share)


def on_points(value: float, ends: tuple[float, float], column: NumberColumn) -> tuple[float, float, float]:
    """Return a quantile and the ends of its interval as whole numbers: those whose edges enclose them.

    >>> from assocpriv.plans.numeric.table_plan import WholeColumn
    >>> on_points(3.5, (1.5, 3.6), WholeColumn("stars", Clear(5), False, 1, 5, 5))
    (3.0, 2.0, 4.0)
    """
    low, high = math.floor(ends[0] + 0.5 + _ROUNDING), math.ceil(ends[1] - 0.5 - _ROUNDING)
    found = (math.ceil(value - 0.5 - _ROUNDING), low, high)
    first, second, third = np.clip(found, *column.ends).tolist()
    return first, second, third
