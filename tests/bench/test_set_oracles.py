"""The wheel, the set-valued oracle of the accuracy bench, has the distributions, privacy and errors of the paper.

Sampling tests decide as fit.py does: a right mechanism is rejected once in a million.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from naive import Z_LIMIT, binomial_sum, held_by, rejects, transactions_of

from bench.accuracy import set_oracles
from bench.accuracy.set_oracles import Wheel


def wheel_densities(wheel, covered):
    """Return the densities of the point on arcs that cover a given part of the ring, and on the rest."""
    return wheel.density, (1 - covered * wheel.density) / (1 - covered)


def test_the_wheel_is_private_for_all_hashes():
    """Arcs cover p to m·p of the ring; densities differ by at most a factor e^ε, which is reached without overlap."""
    for epsilon, length in ((0.5, 1), (1.0, 5), (math.log(19), 3), (4.0, 8)):
        wheel = Wheel(epsilon, length)
        layouts = np.linspace(wheel.q, length * wheel.q, 20)
        densities = np.array([wheel_densities(wheel, covered) for covered in layouts])
        assert densities.max() / densities.min() == pytest.approx(math.exp(epsilon))
        assert densities[:, 0].max() / densities[-1, 1] == pytest.approx(math.exp(epsilon))
        assert densities.min() > 0


def test_the_arcs_of_the_wheel_have_the_best_length():
    """No other length reduces the variance of rare items by half a percent; twice and half the length increase it."""

    def variance(length, epsilon, arc):
        p = arc * math.exp(epsilon) / (1 + length * arc * math.expm1(epsilon))
        return arc * (1 - arc) / (p - arc) ** 2

    for epsilon, length in ((1.0, 5), (math.log(19), 3), (4.0, 8)):
        wheel = Wheel(epsilon, length)
        mine = variance(length, epsilon, wheel.q)
        assert mine == pytest.approx(set_oracles.variance(wheel))
        factors = np.linspace(0.5, 1.5, 201)
        assert mine < 1.005 * min(variance(length, epsilon, wheel.q * factor) for factor in factors)
        assert 1.05 * mine < min(variance(length, epsilon, wheel.q * factor) for factor in (0.5, 2.0))


def test_hits_of_the_wheel_have_the_distribution_of_overlapping_arcs(rng):
    """The point hits two own items with p²·density, where their arcs overlap; independent hits are rejected."""
    wheel = Wheel(1.0, 2)
    hits = wheel.own_hits(60_000, rng)
    both = wheel.q**2 * wheel.density
    expected = [1 - 2 * wheel.p + both, wheel.p - both, wheel.p - both, both]
    counts = np.bincount(hits @ np.array([2, 1]), minlength=4)
    assert not rejects(counts, expected)
    p = wheel.p
    assert rejects(counts, [(1 - p) ** 2, p * (1 - p), p * (1 - p), p * p])


def test_counts_have_the_distribution_of_reports(rng):
    """Each value's count is that of own and other reports; probabilities of sets twice as long are rejected."""
    people, oracle, other = (
        transactions_of([{0, 1, 2}, {0, 2}, {0}, {1, 2}, set(), {0, 1}], 9),
        Wheel(1, 3),
        Wheel(1, 6),
    )
    drawn = np.array([set_oracles.set_support(oracle, people, rng) for _ in range(5_000)])
    for value, held in enumerate(people.item_counts()[:4]):
        counts = np.bincount(drawn[:, value], minlength=7)
        assert not rejects(counts, binomial_sum(held, oracle.p, 6 - held, oracle.q))
    assert rejects(np.bincount(drawn[:, 0], minlength=7), binomial_sum(4, other.p, 2, other.q))


def test_supports_lose_the_items_cut_from_longer_baskets(rng):
    """Baskets within the length are estimated without bias, longer ones with the share that sampling keeps."""
    people = transactions_of([({0, 1}, {2, 3, 4, 5}, {0}, set())[t % 4] for t in range(80_000)], 40)
    supports, errors = set_oracles.wheel_shares(people, 4.0, 2, rng)
    expected = np.zeros(40)
    expected[:6] = 0.5, 0.25, 0.125, 0.125, 0.125, 0.125
    assert (np.abs(supports - expected) < Z_LIMIT * errors).all()
    assert supports[2] < 0.25 - Z_LIMIT * errors[2]  # support in whole baskets
    assert errors[6:].mean() == pytest.approx(math.sqrt(set_oracles.variance(Wheel(4.0, 2)) / len(people)), rel=0.02)


def test_sampled_baskets_are_uniform_subsets(rng):
    """Every choice of M items of a longer basket is equally likely, taking the first ones is rejected; others stay."""
    source = transactions_of([{0, 1, 2, 3}, {4}, set()] * 4_000, 5)
    fitted = set_oracles.sample_down(source, 2, rng)
    assert fitted.sizes.tolist() == [2, 1, 0] * 4_000
    pairs = [tuple(sorted(basket)) for basket in held_by(fitted)[::3]]
    counts = [pairs.count(pair) for pair in combinations(range(4), 2)]
    assert not rejects(counts, [1 / 6] * 6)
    assert rejects(counts, [1, 0, 0, 0, 0, 0])
