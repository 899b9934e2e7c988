"""Tests of undoing the sampling: the model's own baskets give exact answers, real ones the right direction."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from assocpriv.server.posterior import Sampling, SizeShares, fit_sizes, shares_from_dummies, undo_sampling

MIXED = SizeShares(np.array([0, 1, 2, 4, 8]), np.array([0.1, 0.2, 0.3, 0.25, 0.15]))


def of_model(theta: float, sizes: SizeShares, m: int, k: int) -> tuple[float, float]:
    """Return the support before and after sampling to m items under the model, by its definition."""
    before = after = 0.0
    for size, share in zip(sizes.sizes.tolist(), sizes.shares.tolist(), strict=True):
        held = 1 - (1 - theta) ** comb(size, k)
        before += share * held
        after += share * held * (1 if size <= m else comb(m, k) / comb(size, k))
    return before, after


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("m", [3, 5])
def test_the_model_is_inverted(k: int, m: int) -> None:
    """From the support after sampling comes the one before, at any θ, and the factor is the slope between them."""
    thetas = np.array([1e-5, 1e-3, 0.02, 0.1, 0.4])
    before, after = np.array([of_model(theta, MIXED, m, k) for theta in thetas]).T
    found, factor = undo_sampling(after, MIXED, Sampling(m), k)
    assert found == pytest.approx(before, rel=1e-3)
    ahead = np.array([of_model(theta * 1.001, MIXED, m, k) for theta in thetas]).T
    slopes = (ahead[0] - before) / (ahead[1] - after)
    assert factor == pytest.approx(np.maximum(slopes, 1), rel=0.02)


def test_nothing_to_undo() -> None:
    """Where no transaction is longer than M, supports and errors stay what they are."""
    supports = np.array([-0.01, 0.0, 0.2, 0.8])
    found, factor = undo_sampling(supports, MIXED, Sampling(8), 1)
    assert found == pytest.approx(supports, abs=1e-6)
    assert factor == pytest.approx(np.ones(4), abs=1e-3)


def test_negative_estimates_are_scaled_as_small_ones() -> None:
    """Around 0 the correction is one factor, so that noise stays centred."""
    found, factor = undo_sampling(np.array([-1e-4, 1e-4]), MIXED, Sampling(2), 1)
    assert found[0] == pytest.approx(-found[1], rel=1e-2)
    assert factor[0] == pytest.approx(found[1] / 1e-4, rel=1e-2)


def test_kept_shares_by_counting() -> None:
    """κ is the share of a transaction's k-itemsets that lie within m sampled items, by counting samples."""
    for k in (1, 2):
        for size, kept in zip(MIXED.sizes.tolist(), MIXED.surviving(3, k).tolist(), strict=True):
            if size <= 3:
                assert kept == 1.0
                continue
            samples = list(combinations(range(size), 3))
            assert kept == pytest.approx(sum(set(range(k)) <= set(sample) for sample in samples) / len(samples))


def test_thinning_keeps_each_item_alike() -> None:
    """Thinned sizes are a binomial mixture with the mean that was asked for."""
    thinned = MIXED.thinned(1.0)
    assert thinned.mean == pytest.approx(1.0)
    keep = 1.0 / MIXED.mean
    empty = sum(s * (1 - keep) ** c for c, s in zip(MIXED.sizes.tolist(), MIXED.shares.tolist(), strict=True))
    assert thinned.shares[0] == pytest.approx(empty)
    assert MIXED.thinned(100.0).mean == pytest.approx(MIXED.mean)


def test_dummies_tell_sizes() -> None:
    """Noisy cumulative shares become a distribution; beyond M its shape is that of the tail."""
    found = shares_from_dummies(np.array([0.12, 0.1, 0.55]), MIXED)
    assert found.shares.sum() == pytest.approx(1)
    assert found.shares[:3] == pytest.approx([0.11, 0.0, 0.44])  # the two that fall are averaged
    assert found.sizes.tolist() == [0, 1, 2, 4, 8]
    assert found.shares[3:] == pytest.approx([0.45 * 0.625, 0.45 * 0.375])


def test_a_noisy_histogram_is_smoothed(rng: np.random.Generator) -> None:
    """Few people's buckets give a distribution with about the mean of the true one, and a sharp histogram is kept."""
    bounds = np.array([0, 1, 2, 3, 4, 6, 8, 11, 16, 24, 40])
    sizes = rng.negative_binomial(3, 3 / (3 + 6.0), size=200_000)
    true = np.bincount(np.searchsorted(bounds, sizes, side="right") - 1, minlength=len(bounds)) / len(sizes)
    errors = np.full(len(bounds), 0.01)
    rough = fit_sizes(true + errors * rng.standard_normal(len(bounds)), errors, bounds)
    assert rough.shares.sum() == pytest.approx(1)
    assert rough.mean == pytest.approx(sizes.mean(), rel=0.15)
    odd = np.array([0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0])  # no smooth law has it
    sharp = fit_sizes(odd, np.full(len(bounds), 1e-4), bounds)
    assert sharp.shares[1] == pytest.approx(0.5, abs=0.01)
    assert sharp.shares[8:11].sum() == pytest.approx(0.5, abs=0.01)
    humps = np.array([0.05, 0.13, 0.2, 0.2, 0.25, 0.06, 0.01, 0, 0, 0.1, 0])  # the law has nothing where the second is
    kept = fit_sizes(humps, np.full(len(bounds), 1e-3), bounds)
    assert kept.shares[24:40].sum() == pytest.approx(0.1, abs=0.002)
