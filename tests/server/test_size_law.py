"""Tests of the law of baskets' sizes, told by dummies and a few people's answers."""

import numpy as np
import pytest
from numpy.typing import NDArray

from assocpriv.server.size_law import SizeLaw, fit_size_law, size_classes

Floats = NDArray[np.float64]
M, GAMMA = 6, 19.0
NOISE = 2.8  # standard deviation of one report's estimate of a dummy's support


def geometric(mean: float, largest: int = 400) -> Floats:
    """Return P(size = 0), P(size = 1), …"""
    law = (mean / (1 + mean)) ** np.arange(largest + 1)
    return np.asarray(law / law.sum())


def constant(size: int) -> Floats:
    """Return the law of baskets that all have one size."""
    return np.eye(400)[size]


def factor(law: Floats, k: int, m: int = M) -> float:
    """Return F of a law, sizes one by one."""
    of_one = SizeLaw(np.arange(len(law)), law[None, :])
    return of_one.undoing(m, k)[0]


def shares_of(law: Floats, m: int) -> tuple[Floats, Floats]:
    """Return what dummies and classes estimate."""
    return np.cumsum(law)[:m], np.add.reduceat(law, size_classes(m))


def exact(law: Floats, m: int = M) -> SizeLaw:
    """Return the fit to what many millions of people would tell."""
    below, classes = shares_of(law, m)
    return fit_size_law(below, np.zeros(m), classes, np.zeros(len(classes)), size_classes(m))


def answers(law: Floats, people: int, asked: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    """Simulate dummies' supports and classes' shares by generalized randomized response, with their errors."""
    below, classes = shares_of(law, M)
    dummies = below + rng.normal(size=M) * NOISE / np.sqrt(people)
    others = 1 / (GAMMA + len(classes))
    true = np.append(classes, max(1 - classes.sum(), 0.0))
    shown = rng.multinomial(asked, others + (GAMMA - 1) * others * true / true.sum()) / asked
    told = np.maximum(shown, others) / np.maximum(shown, others).sum()
    scale = (GAMMA - 1) * others
    covariance = (np.diag(told) - np.outer(told, told)) / asked / scale**2
    return dummies, np.full(M, NOISE / np.sqrt(people)), (shown[:-1] - others) / scale, covariance[:-1, :-1]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("mean", [1.5, 4.0, 12.0])
def test_without_noise_the_factor_is_that_of_the_law(mean: float, k: int) -> None:
    """What is left is where baskets lie within classes."""
    law = geometric(mean)
    found, error = exact(law).undoing(M, k)
    assert found == pytest.approx(factor(law, k), rel=0.02)
    assert error < 0.05


def test_without_noise_the_law_below_m_is_the_dummies() -> None:
    """Each size has its own share, and the mean follows."""
    law = geometric(5.0)
    fitted = exact(law)
    assert fitted.shares[:M] == pytest.approx(law[:M], abs=5e-4)
    assert fitted.mean == pytest.approx(5.0, rel=0.03)
    assert fitted.laws.min() >= 0
    assert fitted.laws.sum(axis=1) == pytest.approx(np.ones(len(fitted.laws)))
    assert (np.diff(fitted.sizes) > 0).all()
    assert (exact(geometric(5.0)).laws == fitted.laws).all()  # draws are the same ones each time


def test_no_baskets_beyond_m_lose_nothing() -> None:
    """Noise in the classes makes no long baskets."""
    below, classes = shares_of(constant(2), M)
    fitted = fit_size_law(below, np.full(M, 1e-3), classes, np.full(len(classes), 3e-3), size_classes(M))
    found, error = fitted.undoing(M, 2)
    assert found == pytest.approx(1.0, abs=0.02)
    assert error < 0.02


@pytest.mark.parametrize("size", [23, 27, 31])
@pytest.mark.parametrize("m", [3, 6, 12])
def test_all_baskets_of_one_large_size(m: int, size: int) -> None:
    """Wherever in its class the size lies, the interval holds it and is of use."""
    law = constant(size)
    below, classes = shares_of(law, m)
    fitted = fit_size_law(below, np.full(m, 1e-3), classes, np.full(len(classes), 3e-3), size_classes(m))
    found, error = fitted.undoing(m, 1)
    assert abs(found / factor(law, 1, m) - 1) < 2.5 * error < 0.4


def test_everything_in_the_last_class() -> None:
    """How long baskets are there nobody was told: the error is large."""
    below, classes = shares_of(constant(300), M)
    fitted = fit_size_law(below, np.full(M, 1e-3), classes, np.full(len(classes), 3e-3), size_classes(M))
    found, error = fitted.undoing(M, 1)
    assert 121 / M < found < 1000 / M
    assert 0.03 < error < 1.0


@pytest.mark.parametrize("estimate", [-0.4, 1.4])
def test_estimates_that_are_no_shares(estimate: float) -> None:
    """Negative estimates and ones above 1 are noise like others."""
    bounds = size_classes(M)
    classes = np.full(len(bounds), -0.1)
    classes[0] = estimate
    fitted = fit_size_law(np.full(M, estimate), np.full(M, 0.3), classes, np.full(len(bounds), 0.3), bounds)
    found, error = fitted.undoing(M, 3)
    assert found >= 1
    assert np.isfinite(error)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e14])
def test_covariances_that_are_none(scale: float) -> None:
    """A matrix that rounding left with negative eigenvalues, or with none above 0, still leads to laws."""
    below, classes = shares_of(geometric(3.0), M)
    bounds = size_classes(M)
    for matrix in (np.eye(M), np.ones((M, M)), 2 * np.eye(M) - np.ones((M, M)), np.zeros((M, M))):
        law = fit_size_law(below, scale * matrix, classes, np.full(len(classes), 0.1), bounds)
        assert law.laws.sum(axis=1) == pytest.approx(np.ones(len(law.laws)))
        assert np.isfinite(law.undoing(M, 1)).all()


def test_a_hundred_reports_and_ten_million() -> None:
    """From few people a wide interval, from many a narrow one."""
    law, rng = geometric(5.0), np.random.default_rng(1)
    few, many = (
        fit_size_law(*answers(law, people, asked, rng), size_classes(M)).undoing(M, 1)
        for people, asked in ((95, 5), (10**7, 10**5))
    )
    assert abs(few[0] / factor(law, 1) - 1) < 2.5 * few[1]
    assert many[0] == pytest.approx(factor(law, 1), rel=0.03)
    assert many[1] < 0.03 < few[1]


def test_no_basket_holds_more_than_the_catalogue() -> None:
    """Whatever a few answers say, of six items a triple loses at most half where five are kept."""
    told = np.full(5, 0.3), np.full(5, 0.1), np.array([0.2, 0.6]), np.full(2, 0.3)
    bounds = np.array([5, 6])
    law = fit_size_law(*told, bounds, 6)
    assert law.sizes.max() == 6
    assert law.undoing(5, 3)[0] <= 2 < fit_size_law(*told, bounds).undoing(5, 3)[0]


def test_classes_are_at_most_eighteen_from_m_on() -> None:
    """Whole numbers, each once."""
    for m in range(1, 31):
        bounds = size_classes(m)
        assert bounds[0] == m
        assert len(bounds) <= 18
        assert (np.diff(bounds) > 0).all()


def test_intervals_hold_the_factor_and_those_of_classes_cut_off_at_zero_do_not() -> None:
    """Of 20 runs 95% are to hold it: fewer than 14 do by chance in 1 of 29,000. Seed fixed."""
    law, rng = geometric(2.5), np.random.default_rng(4)
    held = cut = 0
    for _ in range(20):
        told = answers(law, 10**5, 2000, rng)
        found, error = fit_size_law(*told, size_classes(M)).undoing(M, 1)
        held += abs(found / factor(law, 1) - 1) <= 1.96 * error
        found = factor(_cut_off(told[0], told[2]), 1)
        cut += abs(found / factor(law, 1) - 1) <= 1.96 * error
    assert held >= 14
    assert cut < 14


def _cut_off(below: Floats, classes: Floats) -> Floats:
    """Return the law that has each class's share, none below 0, at its middle: the wrong model."""
    law = np.zeros(400)
    law[:M] = np.clip(np.diff(below, prepend=0.0), 0, None)
    bounds = size_classes(M)
    ends = np.append(bounds[1:] - 1, 2 * bounds[-1])
    law[(bounds + ends) // 2] += np.clip(classes, 0, None)
    return np.asarray(law / law.sum())
