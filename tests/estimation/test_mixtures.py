"""Posteriors under mixtures of uniforms, against integrals, and the fit of their weights."""

import numpy as np
import pytest

from assocpriv.estimation import mixtures as module
from assocpriv.estimation.mixtures import (
    NODE_WEIGHTS,
    NODES,
    Mixtures,
    find_intervals,
    fit_weights,
    mixture_posteriors,
    truncated_moments,
)
from assocpriv.kernels import compiled, plain


@pytest.fixture(autouse=True, params=[compiled, plain])
def _built(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with the compiled kernels, and as without a C compiler."""
    monkeypatch.setattr(module, "kernels", request.param)


CASES = [  # x, standard error, interval: inside, beyond both ends, far beyond, narrow, wide, thousands of errors beyond
    (0.02, 0.01, 0.0, 0.1), (-0.03, 0.01, 0.0, 0.1), (0.5, 0.01, 0.0, 0.1), (-0.4, 0.01, 0.0, 0.02),
    (0.1, 0.05, 0.0999, 0.1), (0.3, 0.2, 0.1, 0.10001), (0.0, 1.0, 0.0, 1.0), (0.2, 0.003, 0.0, 1.0),
    (-0.5, 1e-4, 0.0, 1e-5), (0.7, 1e-4, 0.0, 1e-5),
]  # fmt: skip


@pytest.mark.parametrize(("x", "sd", "low", "high"), CASES)
def test_truncated_moments_are_integrals(x: float, sd: float, low: float, high: float) -> None:
    """Mean density, mean and variance of a normal distribution truncated to an interval equal a fine sum."""
    middles = low + (high - low) * (np.arange(200_000) + 0.5) / 200_000
    log = -(((middles - x) / sd) ** 2) / 2 - np.log(sd * np.sqrt(2 * np.pi))
    weights = np.exp(log - log.max())
    mean = weights @ middles / weights.sum()
    density, found, variance = np.ravel(truncated_moments(*np.array([[x], [sd], [low], [high]])))
    assert density == pytest.approx(np.log(weights.mean()) + log.max(), abs=1e-5)
    assert found == pytest.approx(mean, rel=1e-6, abs=1e-9)
    assert variance == pytest.approx(weights @ (middles - mean) ** 2 / weights.sum(), rel=1e-3)


def test_a_point_is_an_interval_too() -> None:
    """An interval of width 0 has the density of its point."""
    density, mean, _ = truncated_moments(np.array([1.0]), np.array([2.0]), np.array([3.0]), np.array([3.0]))
    assert density[0] == pytest.approx(-0.5 - np.log(2 * np.sqrt(2 * np.pi)))
    assert mean[0] == 3


def test_weights_are_the_likeliest(rng: np.random.Generator) -> None:
    """No other weights of three components on a grid have a higher likelihood, pseudo-counts included."""
    densities, start = rng.gamma(1.0, size=(300, 3)) + 0.02, np.array([0.5, 0.3, 0.2])
    weights = fit_weights(densities, start, 10.0, 5_000)
    grid = np.array([(a, b, 1 - a - b) for a in np.linspace(0.01, 0.98, 98) for b in np.linspace(0.01, 0.98, 98)])
    tried = np.vstack([weights, grid[grid[:, 2] > 0]]).T
    likelihoods = np.log(densities @ tried).sum(axis=0) + 10 * start @ np.log(tried)
    assert weights.sum() == pytest.approx(1)
    assert likelihoods.argmax() == 0


def test_many_supports_are_fitted_by_a_sample(rng: np.random.Generator) -> None:
    """Weights of 40,000 supports, fitted to every tenth, are those of all of them within 5 deviations."""
    first = rng.random(40_000)[:, None] < 0.3
    densities = np.where(first, [2.0, 0.5], [0.5, 2.0])
    whole = fit_weights(np.where(np.arange(10)[:, None] < 3, [2.0, 0.5], [0.5, 2.0]), np.full(2, 0.5), 0.0, 500)
    assert fit_weights(densities, np.full(2, 0.5), 1.0, 500) == pytest.approx(whole, abs=0.035)


def test_mixtures_agree_with_samples(rng: np.random.Generator) -> None:
    """Mean, variance, exceedance probability and quantiles of a mixture agree with a million samples."""
    densities, weights = np.log([[1.0, 2.0, 1.0]]), np.array([0.5, 0.25, 0.25])
    mixtures = mixture_posteriors(densities, weights, np.array([[0.2, 0.4, 0.6]]), np.array([[4e-4, 1e-3, 9e-4]]))
    assert mixtures.weights[0] == pytest.approx([0.4, 0.4, 0.2])
    parts = rng.choice(3, size=10**6, p=mixtures.weights[0])
    samples = rng.normal(mixtures.means[0][parts], np.sqrt(mixtures.variances[0][parts]))
    assert mixtures.mean[0] == pytest.approx(samples.mean(), abs=1e-3)
    assert mixtures.variance[0] == pytest.approx(samples.var(), rel=0.01)
    assert mixtures.above(0.45)[0] == pytest.approx((samples > 0.45).mean(), abs=0.003)
    assert mixtures.intervals(0.9)[0] == pytest.approx(np.quantile(samples, [0.05, 0.95]), abs=2e-3)
    assert mixtures.shifted(np.array([0.1])).mean[0] == pytest.approx(mixtures.mean[0] + 0.1)
    assert mixtures.widened(0.1).variance[0] > mixtures.variance[0] + (0.1 * 0.2) ** 2


def test_intervals_start_at_zero_near_zero() -> None:
    """The interval of a support within two deviations of 0 starts at 0; that of a larger one does not."""
    mixtures = Mixtures(np.ones((2, 1)), np.array([[0.015], [0.03]]), np.full((2, 1), 1e-4))
    low = mixtures.intervals(0.95)[:, 0]
    assert low[0] == 0 < low[1]


def test_nodes_have_the_moments_of_a_normal_distribution() -> None:
    """Three nodes have its moments up to the fifth; the distribution of each is kept apart."""
    assert [float(NODE_WEIGHTS @ NODES**power) for power in range(6)] == pytest.approx([1, 0, 1, 0, 3, 0])
    mixtures = Mixtures(np.array([[0.1, 0.3, 0.2, 0.1, 0.2, 0.1]]), np.arange(6.0)[None], np.ones((1, 6)))
    nodes = mixtures.by_node()
    assert nodes.weights[0] == pytest.approx([0.4, 0.3, 0.3])
    assert nodes.means[0] == pytest.approx([0.75, 7 / 3, 13 / 3])
    assert nodes.variance[0] == pytest.approx(mixtures.variance[0])


def test_ends_that_hold_a_mass_are_returned_exactly() -> None:
    """A support that may be 0 has an interval from 0, not from the width of the last bisection; likewise at 1."""
    few = Mixtures(np.ones((3, 1)), np.array([[-0.01], [0.5], [1.01]]), np.full((3, 1), 1e-4))
    low, high = find_intervals(few.above, 0.95, np.zeros(3), np.ones(3))
    assert (low[0], high[2]) == (0.0, 1.0)
    assert 0.4 < low[1] < high[1] < 0.6
