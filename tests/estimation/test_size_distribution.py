"""The basket-size distribution, estimated from padding items and a few people's size reports."""

import numpy as np
import pytest
from numpy.typing import NDArray

from assocpriv.estimation.size_distribution import SizeDistribution, fit_size_distribution, size_classes

Floats = NDArray[np.float64]
M, GAMMA = 6, 19.0
NOISE = 2.8  # standard deviation of one report's estimate of a padding item's support


def geometric(mean: float, largest: int = 400) -> Floats:
    """Return P(size = 0), P(size = 1), …"""
    distribution = (mean / (1 + mean)) ** np.arange(largest + 1)
    return np.asarray(distribution / distribution.sum())


def constant(size: int) -> Floats:
    """Return the distribution of baskets that all have one size."""
    return np.eye(400)[size]


def factor(distribution: Floats, k: int, m: int = M) -> float:
    """Return F of a distribution, sizes one by one."""
    of_one = SizeDistribution(np.arange(len(distribution)), distribution[None, :])
    return of_one.truncation_factor(m, k)[0]


def shares_of(distribution: Floats, m: int) -> tuple[Floats, Floats]:
    """Return the true values of what padding items and size classes estimate."""
    return np.cumsum(distribution)[:m], np.add.reduceat(distribution, size_classes(m))


def fitted_to(distribution: Floats, m: int = M, error: float = 0.0) -> SizeDistribution:
    """Return the fit to true values that are stated with errors, three times as large of classes."""
    below, classes = shares_of(distribution, m)
    errors = np.full(m, error), np.full(len(classes), 3 * error)
    return fit_size_distribution(below, errors[0], classes, errors[1], size_classes(m))


def simulate_reports(
    distribution: Floats, people: int, asked: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, Floats]:
    """Simulate padding items' supports and classes' shares by generalized randomized response, with their errors."""
    below, classes = shares_of(distribution, M)
    padding_items = below + rng.normal(size=M) * NOISE / np.sqrt(people)
    others = 1 / (GAMMA + len(classes))
    true = np.append(classes, max(1 - classes.sum(), 0.0))
    shown = rng.multinomial(asked, others + (GAMMA - 1) * others * true / true.sum()) / asked
    estimates = np.maximum(shown, others) / np.maximum(shown, others).sum()
    scale = (GAMMA - 1) * others
    covariance = (np.diag(estimates) - np.outer(estimates, estimates)) / asked / scale**2
    return padding_items, np.full(M, NOISE / np.sqrt(people)), (shown[:-1] - others) / scale, covariance[:-1, :-1]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("mean", [1.5, 4.0, 12.0])
def test_without_noise_the_factor_is_the_true_one(mean: float, k: int) -> None:
    """The remaining uncertainty is where baskets lie within classes."""
    distribution = geometric(mean)
    found, error = fitted_to(distribution).truncation_factor(M, k)
    assert found == pytest.approx(factor(distribution, k), rel=0.02)
    assert error < 0.05


def test_without_noise_shares_below_m_are_those_of_the_padding_items() -> None:
    """Each size has its own share, and the mean follows."""
    distribution = geometric(5.0)
    fitted = fitted_to(distribution)
    assert fitted.shares[:M] == pytest.approx(distribution[:M], abs=5e-4)
    assert fitted.mean == pytest.approx(5.0, rel=0.03)
    assert fitted.distributions.min() >= 0
    assert fitted.distributions.sum(axis=1) == pytest.approx(np.ones(len(fitted.distributions)))
    assert (np.diff(fitted.sizes) > 0).all()
    assert (fitted_to(distribution).distributions == fitted.distributions).all()  # samples are the same each time


def test_no_baskets_beyond_m_lose_nothing() -> None:
    """Noise in the classes produces no large baskets."""
    found, error = fitted_to(constant(2), error=1e-3).truncation_factor(M, 2)
    assert found == pytest.approx(1.0, abs=0.02)
    assert error < 0.02


@pytest.mark.parametrize("size", [23, 27, 31])
@pytest.mark.parametrize("m", [3, 6, 12])
def test_all_baskets_of_one_large_size(m: int, size: int) -> None:
    """Wherever in its class the size lies, the interval covers it and is narrow enough to be useful."""
    distribution = constant(size)
    found, error = fitted_to(distribution, m, error=1e-3).truncation_factor(m, 1)
    assert abs(found / factor(distribution, 1, m) - 1) < 2.5 * error < 0.4


@pytest.mark.parametrize("estimate", [-0.4, 1.4])
def test_estimates_beyond_0_and_1(estimate: float) -> None:
    """Negative estimates and ones above 1 are ordinary noise."""
    bounds = size_classes(M)
    classes, errors = np.array([estimate] + [-0.1] * (len(bounds) - 1)), np.full(len(bounds), 0.3)
    fitted = fit_size_distribution(np.full(M, estimate), np.full(M, 0.3), classes, errors, bounds)
    found, error = fitted.truncation_factor(M, 3)
    assert found >= 1
    assert np.isfinite(error)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e14])
def test_invalid_covariances(scale: float) -> None:
    """A matrix with negative eigenvalues by rounding, or with none above 0, still gives distributions."""
    below, classes = shares_of(geometric(3.0), M)
    bounds = size_classes(M)
    for matrix in (np.eye(M), np.ones((M, M)), 2 * np.eye(M) - np.ones((M, M)), np.zeros((M, M))):
        distribution = fit_size_distribution(below, scale * matrix, classes, np.full(len(classes), 0.1), bounds)
        assert distribution.distributions.sum(axis=1) == pytest.approx(np.ones(len(distribution.distributions)))
        assert np.isfinite(distribution.truncation_factor(M, 1)).all()


def test_no_basket_holds_more_than_the_catalogue() -> None:
    """With six items, truncation to five loses at most half of a triple's support, whatever the few reports are."""
    estimates = np.full(5, 0.3), np.full(5, 0.1), np.array([0.2, 0.6]), np.full(2, 0.3), np.array([5, 6])
    limited, unlimited = fit_size_distribution(*estimates, 6), fit_size_distribution(*estimates)
    assert limited.sizes.max() == 6
    assert limited.truncation_factor(5, 3)[0] <= 2 < unlimited.truncation_factor(5, 3)[0]


def test_classes_are_at_most_eighteen_from_m_on() -> None:
    """Classes start at distinct whole numbers."""
    for m in range(1, 31):
        bounds = size_classes(m)
        assert bounds[0] == m
        assert len(bounds) <= 18
        assert (np.diff(bounds) > 0).all()


def test_intervals_cover_the_factor_and_clipped_classes_do_not() -> None:
    """95% of 20 runs should cover it; fewer than 14 do by chance in 1 of 29,000. Fixed seed."""
    distribution, rng = geometric(2.5), np.random.default_rng(4)
    held = cut = 0
    for _ in range(20):
        estimates = simulate_reports(distribution, 10**5, 2000, rng)
        found, error = fit_size_distribution(*estimates, size_classes(M)).truncation_factor(M, 1)
        held += abs(found / factor(distribution, 1) - 1) <= 1.96 * error
        cut += abs(factor(_cut_off(estimates[0], estimates[2]), 1) / factor(distribution, 1) - 1) <= 1.96 * error
    assert held >= 14
    assert cut < 14


def _cut_off(below: Floats, classes: Floats) -> Floats:
    """Return the distribution with each clipped class share at the middle of its class: the wrong model."""
    distribution = np.zeros(400)
    distribution[:M] = np.clip(np.diff(below, prepend=0.0), 0, None)
    bounds = size_classes(M)
    ends = np.append(bounds[1:] - 1, 2 * bounds[-1])
    distribution[(bounds + ends) // 2] += np.clip(classes, 0, None)
    return np.asarray(distribution / distribution.sum())
