"""Posteriors under mixtures of uniforms, against integrals, and the fit of their weights."""

import numpy as np
import pytest

from assocpriv.server.mixtures import NODE_WEIGHTS, NODES, Mixtures, fit_weights, posterior, seen_in

CASES = [  # x, standard error, interval: inside, beyond both ends, far beyond, narrow, wide, thousands of errors beyond
    (0.02, 0.01, 0.0, 0.1), (-0.03, 0.01, 0.0, 0.1), (0.5, 0.01, 0.0, 0.1), (-0.4, 0.01, 0.0, 0.02),
    (0.1, 0.05, 0.0999, 0.1), (0.3, 0.2, 0.1, 0.10001), (0.0, 1.0, 0.0, 1.0), (0.2, 0.003, 0.0, 1.0),
    (-0.5, 1e-4, 0.0, 1e-5), (0.7, 1e-4, 0.0, 1e-5),
]  # fmt: skip


@pytest.mark.parametrize(("x", "sd", "low", "high"), CASES)
def test_what_is_seen_in_an_interval_is_an_integral(x: float, sd: float, low: float, high: float) -> None:
    """Mean density, mean and variance of a normal law cut to an interval are those of a fine sum."""
    middles = low + (high - low) * (np.arange(200_000) + 0.5) / 200_000
    log = -(((middles - x) / sd) ** 2) / 2 - np.log(sd * np.sqrt(2 * np.pi))
    weights = np.exp(log - log.max())
    mean = weights @ middles / weights.sum()
    density, found, variance = (float(each[0]) for each in seen_in(*(np.array([v]) for v in (x, sd, low, high))))
    assert density == pytest.approx(np.log(weights.mean()) + log.max(), abs=1e-5)
    assert found == pytest.approx(mean, rel=1e-6, abs=1e-9)
    assert variance == pytest.approx(weights @ (middles - mean) ** 2 / weights.sum(), rel=1e-3)


def test_a_point_is_an_interval_too() -> None:
    """An interval of no width has the density of its point."""
    density, mean, _ = seen_in(np.array([1.0]), np.array([2.0]), np.array([3.0]), np.array([3.0]))
    assert density[0] == pytest.approx(-0.5 - np.log(2 * np.sqrt(2 * np.pi)))
    assert mean[0] == 3


def test_weights_are_the_likeliest(rng: np.random.Generator) -> None:
    """No other weights of three parts on a grid explain the densities better, pseudo-counts included."""
    densities, start = rng.gamma(1.0, size=(300, 3)) + 0.02, np.array([0.5, 0.3, 0.2])
    weights = fit_weights(densities, start, 10.0, 5_000)
    grid = np.array([(a, b, 1 - a - b) for a in np.linspace(0.01, 0.98, 98) for b in np.linspace(0.01, 0.98, 98)])
    grid = grid[grid[:, 2] > 0]

    def likelihood(each: np.ndarray) -> float:
        return float(np.log(densities @ each).sum() + 10 * start @ np.log(each))

    assert weights.sum() == pytest.approx(1)
    assert likelihood(weights) >= max(map(likelihood, grid))


def test_many_supports_are_told_by_every_few(rng: np.random.Generator) -> None:
    """Weights of 40,000 supports, of which every tenth is looked at, are those of all of them within a hundredth."""
    first = rng.random(40_000)[:, None] < 0.3
    densities = np.where(first, [2.0, 0.5], [0.5, 2.0])
    whole = fit_weights(np.where(np.arange(10)[:, None] < 3, [2.0, 0.5], [0.5, 2.0]), np.full(2, 0.5), 0.0, 500)
    assert fit_weights(densities, np.full(2, 0.5), 1.0, 500) == pytest.approx(whole, abs=0.02)  # 3 deviations


def test_mixtures_are_what_samples_of_them_are(rng: np.random.Generator) -> None:
    """Mean, variance, chance to be above, and quantiles of a mixture against a million draws."""
    told = posterior(
        np.log([[1.0, 2.0, 1.0]]),
        np.array([0.5, 0.25, 0.25]),
        np.array([[0.2, 0.4, 0.6]]),
        np.array([[4e-4, 1e-3, 9e-4]]),
    )
    assert told.weights[0] == pytest.approx([0.4, 0.4, 0.2])
    parts = rng.choice(3, size=10**6, p=told.weights[0])
    drawn = rng.normal(told.means[0][parts], np.sqrt(told.variances[0][parts]))
    assert told.mean[0] == pytest.approx(drawn.mean(), abs=1e-3)
    assert told.variance[0] == pytest.approx(drawn.var(), rel=0.01)
    assert told.above(0.45)[0] == pytest.approx((drawn > 0.45).mean(), abs=0.003)
    assert told.intervals(0.9)[0] == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=2e-3)
    assert told.moved(np.array([0.1])).mean[0] == pytest.approx(told.mean[0] + 0.1)
    assert told.wider(0.1).variance[0] > told.variance[0] + (0.1 * 0.2) ** 2


def test_intervals_begin_at_nothing_where_that_is_near() -> None:
    """A support within two of its deviations of 0 may be 0; a larger one may not."""
    told = Mixtures(np.ones((2, 1)), np.array([[0.015], [0.03]]), np.full((2, 1), 1e-4))
    low = told.intervals(0.95)[:, 0]
    assert low[0] == 0 < low[1]


def test_nodes_are_a_normal_law() -> None:
    """Three nodes have its moments up to the fifth; the law of each is kept apart."""
    assert [float(NODE_WEIGHTS @ NODES**power) for power in range(6)] == pytest.approx([1, 0, 1, 0, 3, 0])
    told = Mixtures(np.array([[0.1, 0.3, 0.2, 0.1, 0.2, 0.1]]), np.arange(6.0)[None], np.ones((1, 6)))
    nodes = told.by_node()
    assert nodes.weights[0] == pytest.approx([0.4, 0.3, 0.3])
    assert nodes.means[0] == pytest.approx([0.75, 7 / 3, 13 / 3])
    assert nodes.variance[0] == pytest.approx(told.variance[0])
