"""Consistent supports: the ones nearest to the estimates that some collection of transactions could have.

Sees itemsets, estimates and their errors only. Estimates s err one by one, so a pair can come out above its items, or a
share below 0. Supports of real transactions satisfy, for every itemset A and E ⊆ A,

    Σ_{E⊆B⊆A} (−1)^{|B|−|E|} x_B ≥ 0,    x_∅ = 1        (the share holding of A exactly E, an "atom" of A)

which contains 0 ≤ x ≤ 1, monotony, and the bounds of Fréchet and Bonferroni. An atom of A is the sum of atoms of any
A' ⊃ A, so those of the maximal itemsets are enough. With the covariance V of the estimates, x is

    argmin (x − s)ᵀ V⁻¹ (x − s)    subject to all atoms ≥ 0.

For every x* with atoms ≥ 0, so also for the truth, ‖x − x*‖_V ≤ ‖s − x*‖_V: a projection never goes further away,
measured in V. It is no new observation: standard errors and intervals belong to s, and stay as they are. x is biased
near the bounds, like everything that is clipped.

The solver is Clarabel: an interior point method, so 10,000 itemsets end within 1e-6 standard errors and 1e-10 of the
bounds, where OSQP, of first order, is off by 1e-3 and 1e-6 in five times the time. Both are Apache-2.0 and small.
"""

from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
CONSISTENT = 1e-12  # an atom above minus this is not below 0 but rounded
LEAST_EIGENVALUE = 1e-4  # of the correlations used
LEAST_ERROR = 1e-4  # of the median standard error: what an estimate without any is taken to have
TOLERANCE = 1e-12  # of the solver: duality gap and residuals
_ALMOST = 1e-8  # what will do where rounding leaves no more
# what is tried in turn: the least error, as a share of the largest one, and whether the solver is to regularize less
_ATTEMPTS = ((0.0, False), (0.0, True), (1e-4, False), (1e-3, False), (1e-2, False), (1e-1, False))
_DENSE = 400  # up to here all eigenvalues are faster than one


@dataclass(frozen=True, slots=True)
class SubsetRows:
    """The itemsets of one size in a table: their rows, int64 (sets,), and those of their subsets by mask.

    ``subsets`` is int64 (sets, 2^k); bit i of a mask is the i-th item of the itemset, and the empty set, which has no
    row, has the number of rows of the table. ``below`` holds for every itemset its subsets of k − 1 items.
    """

    rows: Rows
    subsets: Rows

    @property
    def below(self) -> Rows:
        """Rows of the subsets of one item less, int64 (sets, k)."""
        full = self.subsets.shape[1] - 1
        return self.subsets[:, [full ^ (1 << i) for i in range(full.bit_length())]]


def consistent_supports(
    itemsets: Sequence[AbstractSet[Hashable]] | Sequence[Sequence[Hashable]],
    supports: Floats,
    variance: Any,
) -> Floats:
    """Project estimated supports onto what supports must satisfy.

    Estimates whose atoms are all above −1e-12 are returned as they are, to the last bit. Otherwise the result is the
    minimum to about 1e-6 standard errors; what the solver leaves below 0 is mended by mixing in the supports of fair
    and independent items x_A = 2^−|A|, whose atoms are all positive, at the least weight that will do (1e-11 is
    usual). So atoms are never below 0 by more than rounding.

    A row without a finite estimate and variance observed nothing: it is NaN in the result. It still takes part as an
    unknown, so that some value of it agrees with the others. An estimate without error is taken to have 1e-4 of the
    median standard error, so that contradictions among such have an answer too.

    Covariances that are not positive definite are shrunk: all correlations are multiplied by the largest t ≤ 1 that
    leaves no eigenvalue of their matrix below 1e-4. Correlations that are not finite count as 0. Where standard errors
    differ by so many orders of magnitude that rounding defeats the solver, the smallest are raised, step by step up to
    a tenth of the largest one (of 1 if that is larger), and at last correlations are left out: the result is
    consistent all the same, and near, but not the nearest.

    Args:
        itemsets: closed under taking subsets, in any order; no empty one.
        supports: raw estimates s, float64 (itemsets,).
        variance: of the estimates, float64 (itemsets,), or their covariance V, a sparse or dense matrix
            (itemsets, itemsets).

    Returns:
        x, float64 (itemsets,).

    Raises:
        EstimateError: a subset is missing, an itemset is empty or there twice, a variance is negative, sizes do not
            match, or the solver gives up after all of that.

    >>> sets = [frozenset("a"), frozenset("b"), frozenset("ab")]
    >>> consistent_supports(sets, np.array([0.2, 0.5, 0.3]), np.array([1.0, 1.0, 1.0])).round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    s = np.asarray(supports, dtype=np.float64)
    if s.shape != (len(itemsets),):
        raise EstimateError(f"there must be one support for each of {len(itemsets)} itemsets, got shape {s.shape}")
    sigma, correlation = _standardized(variance, s)
    s = np.where(np.isfinite(sigma), s, np.nan)
    if not np.isfinite(s).any():
        return s
    atoms, offset = _atoms(subset_rows(itemsets))
    if np.isfinite(s).all() and (atoms @ s + offset).min() >= -CONSISTENT:
        return s
    x = _mend(_project(s, sigma, correlation, atoms, offset), itemsets, atoms, offset)
    return np.where(np.isfinite(s), x, np.nan)


def subset_rows(itemsets: Sequence[AbstractSet[Hashable]] | Sequence[Sequence[Hashable]]) -> list[SubsetRows]:
    """Find the row of every subset of every itemset, one entry for each size from 1 on.

    Raises:
        EstimateError: a subset is missing, or an itemset is empty or there twice.

    >>> subset_rows(["b", "ab", "a"])[1].subsets.tolist()
    [[3, 0, 2, 1]]
    """
    items = {item: row for row, itemset in enumerate(itemsets) if len(itemset) == 1 for item in itemset}
    sizes: dict[int, dict[tuple[int, ...], int]] = {}
    for row, itemset in enumerate(itemsets):
        if not itemset or any(item not in items for item in itemset):
            raise EstimateError(f"the itemset in row {row} is empty, or the table lacks one of its items")
        # an item is its row here
        key = tuple(sorted({items[item] for item in itemset}))
        if len(key) != len(itemset) or sizes.setdefault(len(key), {}).setdefault(key, row) != row:
            raise EstimateError(f"the itemset in row {row} is there twice, or one of its items is")
    levels: list[SubsetRows] = []
    place = np.zeros(len(itemsets) + 1, dtype=np.int64)
    for k in range(1, max(sizes, default=0) + 1):
        found = sizes.get(k, {})
        levels.append(_level(k, found, sizes.get(k - 1, {}), place, levels, len(itemsets)))
        place[levels[-1].rows] = np.arange(len(found))
    return levels


def _level(
    k: int,
    found: dict[tuple[int, ...], int],
    smaller: dict[tuple[int, ...], int],
    place: Rows,
    levels: list[SubsetRows],
    empty: int,
) -> SubsetRows:
    """Fill the subsets of k items from those of k − 1: those without item i are subsets of the rest."""
    rows = np.fromiter(found.values(), np.int64, len(found))
    subsets = np.full((len(found), 1 << k), empty, dtype=np.int64)
    subsets[:, -1] = rows
    if k == 1:
        return SubsetRows(rows, subsets)
    each = [[smaller.get(key[:i] + key[i + 1 :], -1) for i in range(k)] for key in found]
    below = np.array(each, dtype=np.int64).reshape(-1, k)
    lacking = np.flatnonzero((below < 0).any(axis=1))
    if len(lacking):
        raise EstimateError(
            f"the table lacks a subset of the itemset in row {rows[lacking[0]]}; take the whole table as it was mined"
        )
    without = place[below]
    for mask in range(1, (1 << k) - 1):
        i = (~mask & (mask + 1)).bit_length() - 1  # the lowest item it lacks
        packed = (mask & ((1 << i) - 1)) | (mask >> (i + 1) << i)
        subsets[:, mask] = levels[k - 2].subsets[without[:, i], packed]
    return SubsetRows(rows, subsets)


def sparse_covariance(
    itemsets: Sequence[AbstractSet[Hashable]] | Sequence[Sequence[Hashable]],
    variance: Floats,
    covariance: Callable[[Rows, list[int], list[int]], Floats],
) -> Any:
    """Fill the covariance matrix of estimates where A ∪ B is in the table, whose counts are then at hand.

    Elsewhere it is 0: reports of transactions that hold none of the items of A and B contribute nothing to the
    covariance of different itemsets, as every item is inserted independently.

    Args:
        itemsets: closed under taking subsets, n of them.
        variance: the diagonal, float64 (n,). Where it differs from what ``covariance`` says of A and A, for instance
            as it has a lower bound, the covariances of A are scaled with it, so that correlations stay.
        covariance: called as (rows, left, right) for every pattern of A ≠ B with A ∪ B = C, for all C of k items at
            once: rows int64 (sets, 2^k) are the rows of the subsets of every C by mask, n for the empty set; left and
            right, k times 0 or 1, say which items are in A and in B. Returns the covariances, float64 (sets,). It is
            also asked for A = B = C.

    Returns:
        A sparse matrix (n, n), symmetric.

    Raises:
        EstimateError: a subset is missing, or an itemset is empty or there twice.

    >>> half = lambda rows, a, b: np.full(len(rows), 1.0 if a == b else 0.5)
    >>> sparse_covariance(["a", "b", "ab"], np.ones(3), half).toarray()
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    from scipy.sparse import coo_array, diags_array

    n = len(itemsets)
    scaled = np.ones(n)
    parts: list[tuple[Rows, Rows, Floats]] = []
    for level in subset_rows(itemsets):
        masks = level.subsets.shape[1]
        items = [[mask >> i & 1 for i in range((masks - 1).bit_length())] for mask in range(masks)]
        own = np.asarray(covariance(level.subsets, items[-1], items[-1]), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.sqrt(variance[level.rows] / own)
        scaled[level.rows] = np.where((own > 0) & np.isfinite(ratio), ratio, 1.0)
        for a in range(1, masks):
            # B must hold what A lacks; every pair once
            for b in range(a + 1, masks):
                if a | b == masks - 1:
                    parts.append(
                        (level.subsets[:, a], level.subsets[:, b], covariance(level.subsets, items[a], items[b]))
                    )
    diagonal = diags_array(np.asarray(variance, dtype=np.float64), shape=(n, n))
    if not parts:
        return diagonal.tocsr()
    left, right, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    upper = coo_array((values * scaled[left] * scaled[right], (left, right)), shape=(n, n))
    return (upper + upper.T + diagonal).tocsr()


def _standardized(variance: Any, supports: Floats) -> tuple[Floats, Any]:
    """Return standard errors, infinite where nothing was observed, and correlations of the other rows or None."""
    from scipy.sparse import coo_array, issparse

    n = len(supports)
    matrix: Any = variance if issparse(variance) else np.asarray(variance, dtype=np.float64)
    if matrix.shape not in {(n,), (n, n)}:
        raise EstimateError(f"variances of {n} itemsets must be ({n},) or ({n}, {n}), got shape {matrix.shape}")
    diagonal: Floats = matrix if matrix.shape == (n,) else matrix.diagonal()
    observed = np.isfinite(supports) & np.isfinite(diagonal)
    if (diagonal[observed] < 0).any():
        raise EstimateError(f"a variance cannot be negative, as it is in row {np.flatnonzero(diagonal < 0)[0]}")
    sigma = np.sqrt(np.where(observed, diagonal, 0.0))
    some = sigma[sigma > 0]
    sigma = np.where(observed, np.maximum(sigma, LEAST_ERROR * np.median(some) if len(some) else 1.0), np.inf)
    if matrix.shape == (n,):
        return sigma, None
    entries = coo_array(matrix)
    row, column = entries.coords
    with np.errstate(invalid="ignore"):
        values = entries.data / (sigma[row] * sigma[column])  # 0 or NaN where nothing was observed
    chosen = (row != column) & np.isfinite(values) & (values != 0)
    if not chosen.any():
        return sigma, None
    place = np.cumsum(observed) - 1
    ends = place[row[chosen]], place[column[chosen]]
    half = coo_array((values[chosen] / 2, ends), shape=(observed.sum(), observed.sum()))
    return sigma, _shrunk((half + half.T).tocsr())


def _shrunk(offdiagonal: Any) -> Any:
    """Return I + t·C, the correlations, with the largest t ≤ 1 that keeps eigenvalues at LEAST_EIGENVALUE or above."""
    from scipy.sparse import eye_array

    least = -_least_eigenvalue(offdiagonal)
    t = min(1.0, (1 - LEAST_EIGENVALUE) / least) if least > 0 else 1.0
    return eye_array(offdiagonal.shape[0]) + t * offdiagonal


def _least_eigenvalue(matrix: Any) -> float:
    """Return a lower bound of the eigenvalues of a symmetric sparse matrix with an empty diagonal, a close one."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = matrix.shape[0]
    if n <= _DENSE:
        return float(np.linalg.eigvalsh(matrix.toarray())[0])
    try:
        # any start that favours no rows; the same one every time
        values, vectors = eigsh(matrix, k=1, which="SA", tol=1e-6, v0=np.cos(np.arange(n) + 1.0))
    except ArpackNoConvergence:
        return -float(abs(matrix).sum(axis=1).max())  # Gershgorin: further off, never wrong
    return float(values[0] - np.linalg.norm(matrix @ vectors[:, 0] - values[0] * vectors[:, 0]))


def _atoms(levels: list[SubsetRows]) -> tuple[Any, Floats]:
    """Return G and c such that G x + c are the atoms of the maximal itemsets."""
    from scipy.sparse import coo_array

    n = sum(len(level.rows) for level in levels)
    maximal = np.ones(n + 1, dtype=np.bool_)
    for level in levels:
        maximal[level.below] = False
    parts, height = [], 0
    for level in levels:
        subsets = level.subsets[maximal[level.rows]]
        mobius = _mobius(subsets.shape[1])
        atom, subset = np.nonzero(mobius)
        first = height + subsets.shape[1] * np.arange(len(subsets))
        signs = np.tile(mobius[atom, subset], len(subsets))
        parts.append(((first[:, None] + atom).ravel(), subsets[:, subset].ravel(), signs))
        height += subsets.size
    row, column, signs = (np.concatenate(column) for column in zip(*parts, strict=True))
    whole = coo_array((signs, (row, column)), shape=(height, n + 1)).tocsc()
    return whole[:, :n].tocsr(), whole[:, [n]].toarray().ravel()


def _mobius(masks: int) -> Floats:
    """Return (−1)^{|B|−|E|} where E ⊆ B, else 0, float64 (masks, masks)."""
    one = np.array([[1.0, -1.0], [0.0, 1.0]])
    matrix = np.ones((1, 1))
    while len(matrix) < masks:
        matrix = np.kron(one, matrix)
    return matrix


def _project(s: Floats, sigma: Floats, correlation: Any, atoms: Any, offset: Floats) -> Floats:
    """Solve; where rounding leaves no other way with small errors raised, and at last without correlations.

    Raises:
        EstimateError: the solver gives up.
    """
    status = ""
    largest = min(1.0, sigma[np.isfinite(sigma)].max())
    for share, precise in _ATTEMPTS:
        x, status = _projected(s, np.maximum(sigma, share * largest), correlation, atoms, offset, precise=precise)
        if status in {"Solved", "AlmostSolved"}:
            return x
    if correlation is not None:
        return _project(s, sigma, None, atoms, offset)
    raise EstimateError(f"these supports could not be made consistent: the solver ended with {status}")


def _projected(
    s: Floats, sigma: Floats, correlation: Any, atoms: Any, offset: Floats, *, precise: bool
) -> tuple[Floats, str]:
    """Solve for x = origin + scale·u; return it and the solver's status.

    With y = (x − s)/σ = weight·u + start, and R the correlations, minimize y'R⁻¹y. R⁻¹ would be dense, so z = R⁻¹y is
    a variable too: minimize z'Rz with Rz = y. A scale above 1 would lose digits, as x is in [0, 1].
    """
    from scipy.sparse import block_array, csc_array, diags_array

    known = np.isfinite(sigma)
    scale = np.minimum(sigma, 1.0)
    origin = np.where(known, np.clip(s, 0.0, 1.0), 0.0)
    weight = scale / sigma
    start = np.where(known, (origin - s) / sigma, 0.0)
    limits = atoms @ diags_array(scale)
    even = 1 / abs(limits).max(axis=1).toarray().ravel()
    limits, sides = diags_array(even) @ limits, even * (atoms @ origin + offset)
    if correlation is None:
        u, status = _solve(diags_array(weight**2), weight * start, -limits, sides, 0, precise=precise)
    else:
        n, size = len(s), correlation.shape[0]
        cost = block_array([[csc_array((n, n)), None], [None, correlation]])
        equal = [-diags_array(weight).tocsr()[known], correlation]
        whole = block_array([equal, [-limits, csc_array((len(sides), size))]])
        u, status = _solve(
            cost, np.zeros(n + size), whole, np.concatenate([start[known], sides]), size, precise=precise
        )
    return origin + scale * u[: len(s)], status


def _solve(cost: Any, linear: Floats, matrix: Any, sides: Floats, equal: int, *, precise: bool) -> tuple[Floats, str]:
    """Minimize ½u'Pu + q'u with A u = b in the first rows and A u ≤ b in the others; return u and the status."""
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
    cones = [clarabel.NonnegativeConeT(len(sides) - equal)]
    if equal:
        cones.insert(0, clarabel.ZeroConeT(equal))
    solver = clarabel.DefaultSolver(triu(cost, format="csc"), linear, matrix.tocsc(), sides, cones, settings)
    solution = solver.solve()
    return np.array(solution.x), str(solution.status)


def _mend(x: Floats, itemsets: Sequence[Any], atoms: Any, offset: Floats) -> Floats:
    """Mix in just enough of fair and independent items that no atom is below 0."""
    inside = np.array([0.5 ** len(itemset) for itemset in itemsets])
    values, targets = atoms @ x + offset, atoms @ inside + offset
    short = values < 0
    share = float((-values[short] / (targets[short] - values[short])).max(initial=0.0))
    return (1 - share) * x + share * inside
