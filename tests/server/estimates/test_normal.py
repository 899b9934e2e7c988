"""Tests of the normal distribution's tails against scipy, for few and for many values."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from assocpriv.server.intervals import _MANY, lower_tails, scores_of_tails

SIZES = [(3,), (7, 11), (_MANY + 1,)]


@pytest.mark.parametrize("shape", SIZES)
def test_tails_are_those_of_scipy(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """To some units in the last place of the smaller tail, as far out as numbers go."""
    scores = rng.uniform(-37, 37, size=shape)
    scores.ravel()[:3] = 0.0, np.inf, -np.inf
    assert lower_tails(scores).shape == shape
    np.testing.assert_allclose(lower_tails(scores), ndtr(scores), rtol=1e-13)


@pytest.mark.parametrize("shape", SIZES)
def test_scores_are_those_of_scipy(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """Of probabilities down to 1e-300, 0 and 1; what is no probability has none."""
    tails = np.where(rng.random(shape) < 0.5, rng.random(shape), 10 ** rng.uniform(-300, 0, size=shape))
    tails.ravel()[:3] = 0.0, 1.0, -0.5
    assert scores_of_tails(tails).shape == shape
    np.testing.assert_allclose(scores_of_tails(tails), ndtri(tails), rtol=1e-13, atol=1e-15)
