"""Truncation correction: exact for itemsets that follow the model; size effects are fitted with their errors."""

import numpy as np
import pytest

from assocpriv.estimation.size_distribution import SizeDistribution, holding_growth, keep_probabilities
from assocpriv.estimation.truncation import TruncationCurve, apply_size_effect, fit_size_effects, shared_errors

LAW = SizeDistribution(np.array([1, 4, 8, 20]), np.array([[0.3, 0.4, 0.2, 0.1]]))
M = 4


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_model_is_inverted(k: int) -> None:
    """F times the support after truncation is the support, for holders that grow with size as in the model."""
    holding = 1 - (1 - np.geomspace(1e-6, 0.7, 30)[:, None]) ** holding_growth(LAW.sizes, k)
    before, after = holding @ LAW.shares, holding @ (LAW.shares * keep_probabilities(LAW.sizes, M, k))
    none = np.zeros(30)
    factors, error = TruncationCurve.from_sizes(LAW, M, k).truncation_factors(before, none, none)
    assert factors * after == pytest.approx(before, rel=2e-3)
    assert factors[0] == pytest.approx(LAW.truncation_factor(M, k)[0], rel=0.01)
    assert error[:15] == pytest.approx(error[0], rel=0.02)  # rare itemsets have the same relative error
    assert 0.05 < error[0] <= 0.8


@pytest.mark.parametrize(("share", "effect"), [(0.9, 1.0), (0.05, -1.0)])
def test_items_of_small_baskets_lose_less(share: float, effect: float) -> None:
    """Truncation keeps all small baskets: with the size effect F is r + (1 − r) B, and r the share of small holders."""
    curve, support = TruncationCurve.from_sizes(LAW, M, 1), np.array([0.1])
    r = curve.small_share(support)
    odds = np.log((share + 0.01) / (1.01 - share)) - np.log((r + 0.01) / (1.01 - r))
    assert curve.small_share(support, odds) == pytest.approx(share)
    assert np.sign(odds) == np.sign(effect)
    plain, corrected = (curve.truncation_factors(support, each, np.zeros(1))[0] for each in (np.zeros(1), odds))
    assert (corrected < plain) == (effect > 0)
    assert corrected <= share + (1 - share) * 20 / M
    held = curve.small_holders(support, odds)
    assert 0 < held <= support


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("chance", [0.01, 0.05, 0.2, 0.4])
def test_probabilities_that_stop_growing_are_within_the_errors(k: int, chance: float) -> None:
    """If constant from M items on, F is too large by up to 2.3 errors, by fewer for common itemsets."""
    holding = 1 - (1 - chance) ** holding_growth(np.minimum(LAW.sizes, M), k)
    before, after = holding @ LAW.shares, holding @ (LAW.shares * keep_probabilities(LAW.sizes, M, k))
    curve, support, small = (
        TruncationCurve.from_sizes(LAW, M, k),
        np.array([before]),
        holding[0] * LAW.shares[0] / after,
    )
    typical = curve.small_share(support)
    effect = np.log((small + 0.01) / (1.01 - small)) - np.log((typical + 0.01) / (1.01 - typical))
    factors, error = curve.truncation_factors(support, effect, np.zeros(1))
    wrong = np.log(factors * after / before)
    assert 0 < wrong < 2.4 * shared_errors(error, error)
    assert wrong > 1.6 * error or chance == 0.4


def test_uncertain_size_effects_widen_the_error() -> None:
    """The more uncertain a size effect, the larger F's error, up to a bound."""
    curve = TruncationCurve.from_sizes(LAW, M, 2)
    _, errors = curve.truncation_factors(np.full(3, 0.05), np.zeros(3), np.array([0, 0.3, 2.0]))
    assert (np.diff(errors) >= 0).all()
    assert errors[0] < errors[-1] <= 0.8


def test_small_baskets_lose_nothing() -> None:
    """Where no basket holds more than M items, F is 1 without error."""
    small = SizeDistribution(np.array([0, 2, 4]), np.array([[0.2, 0.5, 0.3]]))
    curve = TruncationCurve.from_sizes(small, M, 2)
    factors, error = curve.truncation_factors(np.array([0.1, 0.4]), np.zeros(2), np.ones(2))
    assert factors == pytest.approx([1, 1], abs=1e-12)
    assert error == pytest.approx([0, 0], abs=1e-12)


def test_size_effects_are_fitted() -> None:
    """Nine in ten effects of 400 items of two kinds lie within two errors; without a fit errors are far larger."""
    rng = np.random.default_rng(0)
    effects = np.where(np.arange(400) < 320, rng.normal(0, 0.2, 400), rng.normal(0, 2.0, 400))
    shares, within, errors = np.full(400, 0.6), rng.uniform(0.02, 0.2, 400), np.full(400, 0.003)
    small = apply_size_effect(shares, effects) * within + errors * rng.standard_normal(400)
    found, spreads = fit_size_effects(shares, within, np.full(400, 1e-6), small, errors)
    assert (np.abs(found - effects) <= 2 * spreads).mean() > 0.9  # 95% are expected; 5 spreads of 400 draws lower
    assert np.sqrt(np.mean((found - effects) ** 2)) < 0.5 * np.sqrt(np.mean(effects**2))
    assert np.abs(found[:320][np.abs(effects[:320]) < 0.5]).max() < 1.5
