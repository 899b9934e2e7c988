"""The null model of pairs: exact conditional Bernoulli distributions, their fit, and independent items."""

from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest
from numpy.typing import NDArray

from assocpriv.server.baskets.posterior import NullModel, Population

Floats = NDArray[np.float64]
ODDS = [Fraction(n, d) for n, d in ((32, 1), (3, 1), (1, 2), (1, 5), (1, 10), (1, 20), (1, 20))]


def exactly(odds: list[Fraction], size: int) -> tuple[list[Fraction], dict[tuple[int, int], Fraction]]:
    """Return P(i | c) and P(i, j | c) by enumerating all sets of a size."""
    weights = {each: prod(odds[i] for i in each) for each in combinations(range(len(odds)), size)}
    total = sum(weights.values())

    def held(*items: int) -> Fraction:
        return sum((w for each, w in weights.items() if {*items} <= {*each}), Fraction(0)) / total

    singles = [held(i) for i in range(len(odds))]
    return singles, {pair: held(*pair) for pair in combinations(range(len(odds)), 2)}


@pytest.mark.parametrize("size", range(1, len(ODDS) + 1))
def test_probabilities_equal_enumeration(size: int) -> None:
    """P(i | c) and P(i, j | c) equal the enumeration."""
    odds = np.array(ODDS, dtype=np.float64)
    population, sizes = Population(odds, np.ones(len(odds))), np.array([size])
    singles, pairs = exactly(ODDS, size)
    assert population.inclusion(sizes)[0] == pytest.approx([float(each) for each in singles], abs=1e-12)
    both = population.pairs(sizes, np.ones(1))
    for (i, j), expected in pairs.items():
        assert [both[i, j], both[j, i]] == pytest.approx([float(expected)] * 2, abs=1e-12)


@pytest.mark.parametrize("items", [70, 1_000])
def test_large_baskets_are_near_the_exact_distribution(items: int) -> None:
    """Where Hájek's approximation takes over, probabilities still add up to the size and do not jump."""
    odds = np.geomspace(0.02, 30, items)
    sizes = np.array([24, 25])
    near = Population(odds, np.ones(items)).inclusion(sizes)
    assert near.sum(axis=1) == pytest.approx(sizes, abs=1e-3)
    assert np.abs(near[1] - near[0]).max() < 0.09


def sizes_of(supports: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the basket sizes of independent items, and their exact shares."""
    chances = np.ones(1)
    for support in supports.tolist():
        chances = np.convolve(chances, [1 - support, support])
    sizes = np.flatnonzero(chances[1:] > 1e-12) + 1
    return sizes, chances[sizes]


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 0.97, 0.995])
def test_independent_items_have_the_product_as_expected_support(share: float) -> None:
    """With one item in nearly all baskets the expected support of each pair is the product of its items' supports.

    The product of the two items' separate probabilities at each size is wrong by more than 2%.
    """
    rare = 0.3 * np.arange(1, 40) ** -1.0
    supports = np.append(share, rare)
    sizes, shares = sizes_of(supports)
    pairs = np.array([[0, 1], [0, 5], [0, 39], [1, 2], [3, 30]])
    expected = NullModel.fit(sizes, shares, supports).expected(supports, pairs)
    assert expected == pytest.approx(supports[pairs].prod(axis=1), rel=2e-3)
    holding = 1 - (1 - supports[:, None] / (sizes @ shares)) ** sizes  # the wrong model
    holding *= (supports / (holding @ shares))[:, None]
    wrong = (np.minimum(holding, 1)[0] * holding[1] * shares)[sizes > 1].sum()
    assert abs(wrong / (supports[0] * supports[1]) - 1) > 0.02


def test_baskets_of_one_size_hold_fewer_pairs_than_the_product() -> None:
    """In baskets of c of n equal items a pair has c(c − 1)/n(n − 1); where half are empty, half of that."""
    model = NullModel.fit(np.array([5]), np.array([0.5]), np.full(20, 0.125))
    assert model.expected(np.full(20, 0.125), np.array([[0, 1]])) == pytest.approx([0.5 * 20 / 380])


def test_any_supports_have_a_model() -> None:
    """Sizes up to the number of items, supports of 0 and 1 and equal ones give finite results of at least 0."""
    rng = np.random.default_rng(3)
    for trial in range(24):
        items = int(rng.integers(2, 200))
        sizes = np.unique(rng.integers(1, items + 1, size=20))
        shares = rng.dirichlet(np.full(len(sizes), 0.3)) + 1e-9
        supports = rng.beta(0.2, 1, size=items) * shares.sum()
        if trial % 3 == 0:
            supports[:] = rng.choice([0.0, supports[0], shares.sum()])
        pairs = rng.integers(items, size=(50, 2))
        expected = NullModel.fit(sizes, shares, supports).expected(supports, pairs)
        assert np.isfinite(expected).all()
        assert expected.min() >= 0
