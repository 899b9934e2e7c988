"""Factors, inverses and solutions of matrices that rounding, or few reports, have made singular or indefinite.

Valid reports make such matrices: covariances of reports that are all alike, channels through which some inputs look the
same. Each function does what numpy does where numpy can, and else returns what is nearest: nothing that was collected
ends in an exception of numpy's.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDING = 1e-12  # of the largest eigenvalue: a smaller one is what subtracting left of nothing


def root(matrix: Floats) -> Floats:
    """Return L, lower triangular, with L Lᵀ = a symmetric matrix, float64 (n, n).

    Eigenvalues that are not positive are raised to what rounding makes of the largest one.

    >>> np.abs(root(np.array([[4.0, 2.0], [2.0, 1.0]]))).round(3).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, axes = np.linalg.eigh(matrix)
        values = np.maximum(values, max(_ROUNDING * float(values[-1]), np.finfo(float).tiny))
        upper: Floats = np.linalg.qr((axes * np.sqrt(values)).T)[1]
        return (np.where(upper.diagonal() < 0, -1.0, 1.0)[:, None] * upper).T


def inverse(matrix: Floats) -> Floats:
    """Return the inverse of a matrix, float64 (n, n), or the pseudo-inverse of one that is singular.

    >>> inverse(np.ones((2, 2))).round(3).tolist(), inverse(2 * np.eye(1)).tolist()
    ([[0.25, 0.25], [0.25, 0.25]], [[0.5]])
    """
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)


def solution(matrix: Floats, right: Floats) -> Floats:
    """Return x with matrix x = right, or the least x that comes nearest where the matrix is singular.

    >>> solution(np.ones((2, 2)), np.array([1.0, 1.0])).round(3).tolist()
    [0.5, 0.5]
    """
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
