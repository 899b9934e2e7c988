"""Cholesky factors, inverses and solutions where numpy has none."""

import numpy as np
import pytest
from numpy.typing import NDArray

from assocpriv.estimation.matrices import cholesky, invert, solve
from assocpriv.server.numeric.confidence_bands import largest_deviation
from assocpriv.server.numeric.tree_positions import _posterior

SINGULAR = np.outer([1.0, -2.0, 3.0], [1.0, -2.0, 3.0])
INDEFINITE = np.diag([4.0, 1.0, -1e-9])


def test_regular_matrices_have_numpys_results(rng: np.random.Generator) -> None:
    """For a regular matrix each function returns exactly numpy's result."""
    rows = rng.normal(size=(9, 5))
    matrix, right = rows.T @ rows, rng.normal(size=5)
    assert (cholesky(matrix) == np.linalg.cholesky(matrix)).all()
    assert (invert(matrix) == np.linalg.inv(matrix)).all()
    assert (solve(matrix, right) == np.linalg.solve(matrix, right)).all()


@pytest.mark.parametrize("matrix", [SINGULAR, INDEFINITE, np.zeros((3, 3)), -np.eye(2), 1e-300 * SINGULAR])
def test_the_factor_of_a_matrix_that_has_none(matrix: NDArray[np.float64]) -> None:
    """It is lower triangular with a positive diagonal, and its square is the matrix without negative eigenvalues."""
    factor = cholesky(matrix)
    values, axes = np.linalg.eigh(matrix)
    nearest = (axes * np.maximum(values, 0)) @ axes.T
    assert (factor == np.tril(factor)).all()
    assert (factor.diagonal() > 0).all()
    assert factor @ factor.T == pytest.approx(nearest, abs=1e-11 * max(float(values[-1]), 1e-200))


def test_singular_matrices_are_inverted_and_solved() -> None:
    """The inverse is the pseudo-inverse; the solution is the least-squares one of minimum norm."""
    singular = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert invert(singular) == pytest.approx(singular / 4)
    assert solve(singular, np.array([1.0, 3.0])) == pytest.approx([1.0, 1.0])


def test_an_indefinite_covariance_has_a_finite_band() -> None:
    """A covariance with a negative eigenvalue gives the band of the nearest one without."""
    indefinite = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0 - 1e-3]])
    assert largest_deviation(indefinite, np.ones(3), 0.95) == pytest.approx(1.96, abs=0.1)


def test_without_information_the_posterior_is_the_prior() -> None:
    """Differences without information from reports have the prior mean 0 and a finite covariance."""
    mean, covariance = _posterior(np.zeros((4, 2)), np.zeros(4), np.full(4, 1e-12), np.ones(2))
    assert not mean.any()
    assert (np.linalg.eigvalsh(covariance) > 0).all()
