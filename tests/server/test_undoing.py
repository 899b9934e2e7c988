"""How sampling is undone: exact for itemsets that are as the model has them, and leans as far as they are measured."""

import numpy as np
import pytest

from assocpriv.server.size_law import SizeLaw, holding_ways, kept_shares
from assocpriv.server.undoing import Curve, fit_leans, leaning, shared_errors

LAW = SizeLaw(np.array([1, 4, 8, 20]), np.array([[0.3, 0.4, 0.2, 0.1]]))
M = 4


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_model_is_inverted(k: int) -> None:
    """F times what sampling leaves is the support of an itemset whose holders grow with size as the model says."""
    holding = 1 - (1 - np.geomspace(1e-6, 0.7, 30)[:, None]) ** holding_ways(LAW.sizes, k)
    before, after = holding @ LAW.shares, holding @ (LAW.shares * kept_shares(LAW.sizes, M, k))
    none = np.zeros(30)
    factors, error = Curve.of(LAW, M, k).undo(before, none, none)
    assert factors * after == pytest.approx(before, rel=2e-3)
    assert factors[0] == pytest.approx(LAW.undoing(M, k)[0], rel=0.01)
    assert error[:15] == pytest.approx(error[0], rel=0.02)  # of rare ones it is the same share
    assert 0.05 < error[0] <= 0.8


@pytest.mark.parametrize(("share", "lean"), [(0.9, 1.0), (0.05, -1.0)])
def test_who_lives_in_small_baskets_loses_less(share: float, lean: float) -> None:
    """An item's holders in small baskets are all seen: with its lean F is r + (1 − r) B, and r its share of those."""
    curve, support = Curve.of(LAW, M, 1), np.array([0.1])
    r = curve.share_small(support)
    odds = np.log((share + 0.01) / (1.01 - share)) - np.log((r + 0.01) / (1.01 - r))
    assert curve.share_small(support, odds) == pytest.approx(share)
    assert np.sign(odds) == np.sign(lean)
    plain, leant = curve.undo(support, np.zeros(1), np.zeros(1))[0], curve.undo(support, odds, np.zeros(1))[0]
    assert (leant < plain) == (lean > 0)
    assert leant <= share + (1 - share) * 20 / M
    held = curve.small_holders(support, odds)
    assert 0 < held <= support


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("chance", [0.01, 0.05, 0.2, 0.4])
def test_chances_that_stop_growing_are_within_the_errors(k: int, chance: float) -> None:
    """Where they stay from M items on F is too large: of rare itemsets by 2.3 errors, of common ones by 5.6 at most."""
    holding = 1 - (1 - chance) ** holding_ways(np.minimum(LAW.sizes, M), k)
    before, after = holding @ LAW.shares, holding @ (LAW.shares * kept_shares(LAW.sizes, M, k))
    curve, support, small = Curve.of(LAW, M, k), np.array([before]), holding[0] * LAW.shares[0] / after
    typical = curve.share_small(support)
    lean = np.log((small + 0.01) / (1.01 - small)) - np.log((typical + 0.01) / (1.01 - typical))
    factors, error = curve.undo(support, lean, np.zeros(1))
    wrong = np.log(factors * after / before)
    assert 0 < wrong < (2.4 if chance < 0.1 else 5.7) * shared_errors(error, error)
    assert wrong > 1.8 * error


def test_unsure_leans_make_unsure_factors() -> None:
    """The wider a lean may lie, the larger F's error, up to a bound."""
    curve, support = Curve.of(LAW, M, 2), np.array([0.05])
    errors = [curve.undo(support, np.zeros(1), np.array([deviation]))[1][0] for deviation in (0, 0.3, 2.0)]
    assert errors == sorted(errors)
    assert errors[0] < errors[-1] <= 0.8


def test_small_baskets_lose_nothing() -> None:
    """Where nobody holds more than M items F is 1, and sure."""
    small = SizeLaw(np.array([0, 2, 4]), np.array([[0.2, 0.5, 0.3]]))
    factors, error = Curve.of(small, M, 2).undo(np.array([0.1, 0.4]), np.zeros(2), np.ones(2))
    assert factors == pytest.approx([1, 1], abs=1e-12)
    assert error == pytest.approx([0, 0], abs=1e-12)


def test_leans_are_found(rng: np.random.Generator) -> None:
    """Of 400 items of two kinds nine in ten leans lie within two of their errors; without any the fit is far off."""
    leans = np.where(np.arange(400) < 320, rng.normal(0, 0.2, 400), rng.normal(0, 2.0, 400))
    shares, within, errors = np.full(400, 0.6), rng.uniform(0.02, 0.2, 400), np.full(400, 0.003)
    small = leaning(shares, leans) * within + errors * rng.standard_normal(400)
    found, deviations = fit_leans(shares, within, np.full(400, 1e-6), small, errors)
    near = np.abs(found - leans) <= 2 * deviations
    assert near.mean() > 0.9  # 95% are expected; 5 deviations of 400 draws lower
    assert np.sqrt(np.mean((found - leans) ** 2)) < 0.5 * np.sqrt(np.mean(leans**2))
    ordinary = np.abs(leans[:320]) < 0.5
    assert np.abs(found[:320][ordinary]).max() < 1.5
