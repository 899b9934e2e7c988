"""Cholesky factors, inverses and solutions of matrices that may be singular or indefinite.

Valid reports can make such matrices by rounding or by small numbers: covariances of equal reports, channels through
which some inputs look the same. Each function returns numpy's result if there is one, and otherwise the nearest one. So
no collection of reports ends in an exception from numpy.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDING = 1e-12  # of the largest eigenvalue: smaller ones are rounding errors


def cholesky(matrix: Floats) -> Floats:
    """Return L, lower triangular, with L Lᵀ = a symmetric matrix, float64 (n, n).

    Eigenvalues that are not positive are raised to the rounding error of the largest one.

    >>> np.abs(cholesky(np.array([[4.0, 2.0], [2.0, 1.0]]))).round(3).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, axes = np.linalg.eigh(matrix)
        values = np.maximum(values, max(_ROUNDING * float(values[-1]), np.finfo(float).tiny))
        upper: Floats = np.linalg.qr((axes * np.sqrt(values)).T)[1]
        return (np.where(upper.diagonal() < 0, -1.0, 1.0)[:, None] * upper).T


def invert(matrix: Floats) -> Floats:
    """Return the inverse of a matrix, float64 (n, n), or the pseudo-inverse of one that is singular.

    >>> invert(np.ones((2, 2))).round(3).tolist(), invert(2 * np.eye(1)).tolist()
    ([[0.25, 0.25], [0.25, 0.25]], [[0.5]])
    """
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)


def solve(matrix: Floats, right: Floats) -> Floats:
    """Return x with matrix x = right, or the least-squares solution of minimum norm if the matrix is singular.

    >>> solve(np.ones((2, 2)), np.array([1.0, 1.0])).round(3).tolist()
    [0.5, 0.5]
    """
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
