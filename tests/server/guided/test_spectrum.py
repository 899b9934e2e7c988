"""Tests of where classes differ: order, level, and more than two classes."""

from fractions import Fraction

import numpy as np
import pytest

from assocpriv.server.guided import BY_VALUE, spectrum

MAGNITUDE = "magnitude"


def random_sums(rng, classes=2, width=6):
    """Sums of products of random tuples, whole numbers."""
    rows = [rng.integers(0, 2, (40, width)) for _ in range(classes)]
    return np.array([each.T @ each for each in rows], dtype=np.float64)


@pytest.mark.parametrize(
    ("order", "values", "level"),
    [
        (BY_VALUE, [10.0, 1.5, 0.2, -9], 1),
        (MAGNITUDE, [10.0, -9, 1.5, 0.2], 2),
        (MAGNITUDE, [10.0, -9, 1.6, 0.2], 3),
        (MAGNITUDE, [10.0, 9, 8, 7], 4),
    ],
)
def test_level_is_the_least_that_leaves_out_small_eigenvalues(order, values, level):
    """k* is the least k with σ_{k+1} ≤ μσ_1 in the order chosen, w where there is none (equation 6)."""
    difference = np.diag(values)[:, [2, 0, 3, 1]][[2, 0, 3, 1]]
    sums = np.array([np.maximum(difference, 0), np.maximum(-difference, 0)])
    found = spectrum(sums, order)
    assert found.level(Fraction(15, 100)) == level
    assert np.allclose(found.values, values if order == BY_VALUE else np.abs(values))


def test_vectors_take_the_difference_apart(rng):
    """V diag(σ) V' is A_0 − A_1 by value, V is orthonormal, and each column's largest entry is positive."""
    sums = random_sums(rng)
    found = spectrum(sums, BY_VALUE)
    assert np.allclose(found.vectors * found.values @ found.vectors.T, sums[0] - sums[1])
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(6))
    assert (found.vectors.max(axis=0) >= -found.vectors.min(axis=0) - 1e-9).all()
    assert (np.diff(found.values) <= 0).all()


def test_more_classes_extend_the_order_by_magnitude(rng):
    """Σ (A_c − Ā)² of two classes is (A_0 − A_1)²/2 exactly, so σ are |σ|/√2 and the vectors the same."""
    sums = random_sums(rng)
    apart = 2 * sums - sums.sum(axis=0)
    assert ((apart @ apart).sum(axis=0) == 2 * (sums[0] - sums[1]) @ (sums[0] - sums[1])).all()
    third = np.concatenate([sums, sums.mean(axis=0, keepdims=True)])  # adds no difference
    two, three = spectrum(sums, MAGNITUDE), spectrum(third, MAGNITUDE)
    assert np.allclose(three.values, two.values / np.sqrt(2))
    assert np.allclose(np.abs((two.vectors * three.vectors).sum(axis=0)), 1)


def test_order_of_classes_does_not_matter_by_magnitude(rng):
    """Exchanging the classes changes the sign of σ alone; by value it changes what is asked for."""
    sums = random_sums(rng)
    one, other = (spectrum(each, MAGNITUDE) for each in (sums, sums[::-1]))
    assert np.allclose(one.values, other.values)
    assert not np.allclose(spectrum(sums, BY_VALUE).values, spectrum(sums[::-1], BY_VALUE).values)


@pytest.mark.parametrize("error", [-1e-13, 0, 1e-13])
def test_the_last_digit_decides_neither_sign_nor_order(monkeypatch, error):
    """Of entries as large the first is positive, of opposite σ the positive comes first, whatever rounding did."""
    vectors = np.array([[-1 - error, 1], [1, 1]]) / np.sqrt(2)
    monkeypatch.setattr(np.linalg, "eigh", lambda _: (np.array([-3 - error, 3]), vectors))
    found = spectrum(np.zeros((2, 2, 2)), MAGNITUDE)
    assert np.allclose(found.vectors, np.array([[1, 1], [1, -1]]) / np.sqrt(2))
