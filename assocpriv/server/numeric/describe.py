"""From an estimate of shares to all that is said of a column: errors, bands, quantiles, mean and variance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import Clear, Column, GaussianNoise, NumberColumn
from assocpriv.promise.errors import counted
from assocpriv.server.estimates.supports import normal_quantile
from assocpriv.server.numeric.bands import (
    MORE_REPORTS,
    LinearEstimate,
    counted_interval,
    distribution_band,
    least_squares,
    quantile,
    quantile_interval,
)
from assocpriv.server.numeric.coarse_channel import CoarseChannel
from assocpriv.server.numeric.distributions import SMOOTH, UNBIASED, Distribution, Figure, Numbers, Quantile
from assocpriv.server.numeric.moments import ClassCounts, estimate_moments

AUTO = "auto"
METHODS = (AUTO, "smooth", "em", "ems", "bayes", "least-squares")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False, slots=True)
class Estimate:
    """Shares of the inputs by a method, float64 (inputs,), and the smooth posterior of them where there is one."""

    method: str
    shares: NDArray[np.float64]
    posterior: LinearEstimate | None


def method_of(method: str, column: Column) -> str:
    """Return the method for a column, where the one asked for is of no use to it another.

    Named values are in no order that could be smoothed; values in clear, or classes of them, are counted.
    """
    if not isinstance(column, NumberColumn):
        return method if method == "least-squares" else "em"
    if method == "least-squares" and isinstance(column.law, GaussianNoise):
        method = AUTO  # it would say nothing
    if method != AUTO:
        return method
    return "em" if isinstance(column.law, Clear) else "smooth"


def few_reports(n_reports: int, channel: CoarseChannel) -> str:
    """Say why so many reports tell nothing of a column, or nothing."""
    if n_reports <= 0:
        return "no report answers it"
    if n_reports < channel.n_values:
        what = "intervals" if channel.ordered else "values"
        return f"{channel.n_values} {what} are more than its {counted(n_reports, 'report')}; plan fewer of them"
    return ""


def describe(estimate: Estimate, counts: ClassCounts, channel: CoarseChannel, level: float) -> Distribution:
    """Return what is known of a column's values, and of the share that is missing."""
    n, z = channel.n_values, float(normal_quantile(level))
    basis = _basis(estimate, counts, channel)
    shares, errors = _shares(estimate, basis, counts, n, numbered=channel.edges is not None)
    numbers = None
    if channel.edges is not None:
        numbers = _numbers(shares, basis.among(n), counts, channel, (level, z))
    return Distribution(
        channel.column.name,
        estimate.method,
        round(float(counts.values.sum())),
        shares,
        errors,
        _missing(basis, z) if channel.column.optional else None,
        () if numbers is not None else channel.column.values,  # type: ignore[attr-defined]
        numbers,
    )


def _basis(estimate: Estimate, counts: ClassCounts, channel: CoarseChannel) -> LinearEstimate:
    """Return what bands and quantiles rest on: least squares, but behind Gaussian noise the posterior."""
    if isinstance(channel.column.law, GaussianNoise) and estimate.posterior is not None:
        return estimate.posterior
    bins = [channel.bin_counts(each) for each in (counts.values, counts.squares)]
    near = np.maximum(estimate.shares, 0) / np.maximum(estimate.shares, 0).sum()
    return least_squares(bins[0], bins[1], counts.n_reports, channel.matrix, near)


def _shares(
    estimate: Estimate, basis: LinearEstimate, counts: ClassCounts, n_values: int, *, numbered: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares among the values that are there, and their standard errors."""
    found, whole = basis.among(n_values), estimate.shares[:n_values].sum()
    if estimate.method == "least-squares" or whole <= 0:
        return found.shares, found.errors
    shares = estimate.shares[:n_values] / whole
    if estimate.posterior is None:
        return shares, found.errors
    posterior = estimate.posterior.among(n_values)
    errors = np.hypot(posterior.errors, shares - posterior.shares)
    if numbered:
        return shares, errors
    few = np.sqrt(MORE_REPORTS * counts.squares.sum() / counts.n_reports) / counts.values.sum()
    return shares, np.maximum(errors, few)  # of a value that nobody in the class has shown


def _missing(basis: LinearEstimate, z: float) -> Figure:
    whole = basis.among(len(basis.shares))
    return _figure(float(whole.shares[-1]), float(whole.errors[-1]), z, 0.0, 1.0)


def _numbers(
    shares: NDArray[np.float64],
    basis: LinearEstimate,
    counts: ClassCounts,
    channel: CoarseChannel,
    confidence: tuple[float, float],
) -> Numbers:
    """Return what only numbers have."""
    column, edges, (level, z) = channel.column, channel.edges, confidence
    assert isinstance(column, NumberColumn)
    assert edges is not None
    band = distribution_band(basis, channel.known_edges, level)
    moments = estimate_moments(counts, column)
    if isinstance(column.law, Clear):
        codes = np.linspace(float(column.low), float(column.high), column.law.outputs + 1)
        ends = [counted_interval(counts, codes, share, z) for share in QUANTILES]
    else:
        ends = [quantile_interval(band, edges, share, z) for share in QUANTILES]
    quantiles = (
        Quantile(share, quantile(shares, edges, share), *each) for share, each in zip(QUANTILES, ends, strict=True)
    )
    low, high = float(column.low), float(column.high)
    return Numbers(
        edges,
        band.low,
        band.high,
        UNBIASED if basis.is_unbiased else SMOOTH,
        None if moments is None else _figure(*moments.of_mean, z, low, high, moments.mean_unknown),
        None
        if moments is None or moments.of_variance is None
        else _figure(*moments.of_variance, z, 0.0, ((high - low) / 2) ** 2),
        tuple(quantiles),
    )


def _figure(value: float, error: float, z: float, least: float, most: float, unknown: float = 0.0) -> Figure:
    """Return a figure; what it cannot be is cut off its interval, not off its value."""
    half = z * error + unknown
    low, high = (min(max(end, least), most) for end in (value - half, value + half))
    return Figure(value, error, low, high)
