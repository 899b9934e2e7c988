"""Factors, inverses and solutions where numpy has none."""

import numpy as np
import pytest
from numpy.typing import NDArray

from assocpriv.server.class_distributions import _posterior
from assocpriv.server.confidence_bands import largest_deviation
from assocpriv.server.matrices import inverse, root, solution

SINGULAR = np.outer([1.0, -2.0, 3.0], [1.0, -2.0, 3.0])
INDEFINITE = np.diag([4.0, 1.0, -1e-9])


def test_what_numpy_does_is_left_to_it(rng: np.random.Generator) -> None:
    """Of a regular matrix each function returns numpy's result, to the last bit."""
    rows = rng.normal(size=(9, 5))
    matrix, right = rows.T @ rows, rng.normal(size=5)
    assert (root(matrix) == np.linalg.cholesky(matrix)).all()
    assert (inverse(matrix) == np.linalg.inv(matrix)).all()
    assert (solution(matrix, right) == np.linalg.solve(matrix, right)).all()


@pytest.mark.parametrize("matrix", [SINGULAR, INDEFINITE, np.zeros((3, 3)), -np.eye(2), 1e-300 * SINGULAR])
def test_the_root_of_a_matrix_that_has_none(matrix: NDArray[np.float64]) -> None:
    """It is lower triangular with a positive diagonal, and its square is the matrix without negative eigenvalues."""
    factor = root(matrix)
    values, axes = np.linalg.eigh(matrix)
    nearest = (axes * np.maximum(values, 0)) @ axes.T
    assert (factor == np.tril(factor)).all()
    assert (factor.diagonal() > 0).all()
    assert factor @ factor.T == pytest.approx(nearest, abs=1e-11 * max(float(values[-1]), 1e-200))


def test_singular_matrices_are_inverted_and_solved() -> None:
    """The inverse is the pseudo-inverse; of all nearest solutions the least is returned."""
    singular = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert inverse(singular) == pytest.approx(singular / 4)
    assert solution(singular, np.array([1.0, 3.0])) == pytest.approx([1.0, 1.0])


def test_a_band_of_a_spoilt_covariance_is_finite() -> None:
    """A covariance with a negative eigenvalue leads to a band as of the nearest one without."""
    spoilt = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0 - 1e-3]])
    assert largest_deviation(spoilt, np.ones(3), 0.95) == pytest.approx(1.96, abs=0.1)


def test_what_no_report_weighs_is_the_prior() -> None:
    """Differences that no report tells of have the prior's mean, 0, with a finite covariance."""
    mean, covariance = _posterior(np.zeros((4, 2)), np.zeros(4), np.full(4, 1e-12), np.ones(2))
    assert not mean.any()
    assert (np.linalg.eigvalsh(covariance) > 0).all()
