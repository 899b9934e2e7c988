"""Quadratic programs, as the solver Clarabel takes them.

An interior point method: 10,000 itemsets end within 1e-6 standard errors and 1e-10 of their bounds, where OSQP, of
first order, is off by 1e-3 and 1e-6 in five times the time. Both are Apache-2.0 and small.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-12  # of the solver: duality gap and residuals
_ALMOST = 1e-8  # what will do where rounding leaves no more
SOLVED = frozenset({"Solved", "AlmostSolved"})


def minimize_quadratic(
    cost: Any,
    linear: NDArray[np.float64],
    matrix: Any,
    sides: NDArray[np.float64],
    equal: int,
    *,
    precise: bool = False,
) -> tuple[NDArray[np.float64], str]:
    """Minimize ½u'Pu + q'u with A u = b in the first ``equal`` rows, A u ≤ b in the others; return u and the status.

    P is ``cost``, sparse (n, n); q ``linear``; A ``matrix``, sparse (rows, n); b ``sides``. A precise solution
    regularizes less and refines more.

    >>> from scipy.sparse import eye_array
    >>> u, status = minimize_quadratic(eye_array(1), np.array([-2.0]), eye_array(1), np.array([1.0]), 0)
    >>> u.round(6).tolist(), status
    ([1.0], 'Solved')
    """
    import clarabel
    from scipy.sparse import triu

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = settings.reduced_tol_feas = _ALMOST
    if precise:
        settings.static_regularization_constant = 1e-10
        settings.iterative_refinement_max_iter = 50
        settings.iterative_refinement_stop_ratio = 1.5
    cones = [clarabel.ZeroConeT(equal)] if equal else []
    cones.append(clarabel.NonnegativeConeT(len(sides) - equal))
    solver = clarabel.DefaultSolver(triu(cost, format="csc"), linear, matrix.tocsc(), sides, cones, settings)
    solution = solver.solve()
    return np.array(solution.x), str(solution.status)
