"""Consistent supports: the ones nearest to the estimates that some collection of transactions could have.

Estimates s err one by one, so a pair can come out above its items, or a
share below 0. With the covariance V of the estimates, the consistent supports are

    argmin (x − s)ᵀ V⁻¹ (x − s)    subject to x in P

with P all supports that transactions of at most M items have (realizable.py), where the table fits: then some
transactions have exactly x. Of larger tables P is not known, and x only satisfies inequalities that all of P satisfies
(inequalities.py): the atoms of the table's itemsets, limits that M sets, and what triples of items ask of their pairs.
Such supports are called consistent locally, and need not be those of any transactions.

For every x* in P, so also for the truth, ‖x − x*‖_V ≤ ‖s − x*‖_V, either way: a projection onto a convex set never goes
further away from its points, measured in V. It is no new observation: standard errors and intervals belong to s, and
stay as they are. x is biased near the bounds, like everything that is clipped.
"""

from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.server.consistency.inequalities import (
    SubsetRows,
    atoms_of,
    maximal_itemsets,
    size_limits,
    subset_rows,
    triangle_limits,
    triangles,
)
from assocpriv.server.consistency.quadratic import SOLVED, minimize_quadratic
from assocpriv.server.consistency.realizable import nearest_realizable, parts_of

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
CONSISTENT = 1e-12  # an atom above minus this is not below 0 but rounded
LEAST_EIGENVALUE = 1e-4  # of the correlations used
LEAST_ERROR = 1e-4  # of the median standard error: what an estimate without any is taken to have
# what is tried in turn: the least error, as a share of the largest one, and whether the solver is to regularize less
_ATTEMPTS = ((0.0, False), (0.0, True), (1e-4, False), (1e-3, False), (1e-2, False), (1e-1, False))
_DENSE = 400  # up to here all eigenvalues are faster than one
MOST_PAIRS = 20_000  # above, triples of items are not looked at
_BROKEN = 1e-9  # what a limit of sizes or of three items may be short of
_ADDED = 5_000  # such limits that join at a time, those most broken first
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class ConsistentSupports:
    """Consistent supports of a table, float64 (itemsets,), and whether some transactions have exactly these."""

    supports: Floats
    realizable: bool


def consistent_supports(
    itemsets: Sequence[AbstractSet[Hashable]] | Sequence[Sequence[Hashable]],
    supports: Floats,
    variance: Any,
    *,
    smallest: int = 0,
    largest: int | None = None,
) -> ConsistentSupports:
    """Project estimated supports onto those that transactions can have.

    Of a table that fits (realizable.py has the limits) the result is what a list of transactions has, to rounding, and
    within 1e-3 standard errors of the nearest such supports, usually 1e-6. Otherwise the projection is onto the
    inequalities of inequalities.py, to about 1e-6 standard errors. Estimates that transactions have, to 1e-9, or that
    satisfy the inequalities, are returned as they are.

    A row without a finite estimate and variance observed nothing: it is NaN in the result, and takes part as an
    unknown, so that some value of it agrees with the others. An estimate without error is taken to have 1e-4 of the
    median standard error, so that contradictions among such have an answer too. Where standard errors differ by so many
    orders of magnitude that rounding defeats the solver, the smallest are raised, step by step up to a tenth of the
    largest one (of 1 if that is larger), and at last correlations are left out: it is near, but not the nearest.

    Args:
        itemsets: closed under taking subsets, in any order; no empty one.
        supports: raw estimates s, float64 (itemsets,).
        variance: float64 (itemsets,), or the covariance V, a matrix whose correlations count as 0 if not finite.
        smallest: least number of the table's items in a transaction, 0 or 1.
        largest: M, most items in a transaction; as many as there are by default.

    Raises:
        EstimateError: a subset is missing, an itemset is empty, there twice or larger than transactions, a variance is
            negative, sizes do not match, or the solver gives up after all of that.

    >>> sets = [frozenset("a"), frozenset("b"), frozenset("ab")]
    >>> found = consistent_supports(sets, np.array([0.2, 0.5, 0.3]), np.array([1.0, 1.0, 1.0]))
    >>> found.supports.round(6).tolist(), found.realizable
    ([0.25, 0.5, 0.25], True)
    """
    s = np.asarray(supports, dtype=np.float64)
    if s.shape != (len(itemsets),):
        raise EstimateError(f"there must be one support for each of {len(itemsets)} itemsets, got shape {s.shape}")
    sigma, correlation = _standardized(variance, s)
    s = np.where(np.isfinite(sigma), s, np.nan)
    levels = subset_rows(itemsets)
    if not np.isfinite(s).any():
        return ConsistentSupports(s, True)
    most = len(levels[0].rows) if largest is None else min(largest, len(levels[0].rows))
    if len(levels) > most:
        raise EstimateError(
            f"the itemset in row {levels[most].rows[0]} has more than the {most} items that a transaction can hold"
        )
    parts = parts_of(levels, smallest, most)
    if parts is not None:
        found = nearest_realizable(parts, smallest, most, s, sigma, correlation)
        if found is not None:
            return ConsistentSupports(np.where(np.isfinite(s), found, np.nan), True)
    return ConsistentSupports(_nearest_locally(levels, most, s, sigma, correlation), False)


def _nearest_locally(levels: list[SubsetRows], most: int, s: Floats, sigma: Floats, correlation: Any) -> Floats:
    """Project onto the inequalities; those of sizes and of triples of items join where they are broken."""
    from scipy.sparse import vstack

    matrix, offset = atoms_of(levels)
    few = len(levels) > 1 and len(levels[1].rows) <= MOST_PAIRS
    limits, sides = zip(
        size_limits(levels, most), triangle_limits(triangles(levels if few else levels[:1]), len(s)), strict=True
    )
    more, ends = vstack(limits).tocsr(), np.concatenate(sides)
    x, inside = s, _inside(levels, most)
    for number in range(1 + _ROUNDS):
        values = more @ x + ends
        if (matrix @ x + offset >= -CONSISTENT).all() and (values >= -_BROKEN).all():
            break
        broken = np.flatnonzero(values < -_BROKEN)
        if not number:  # noise breaks most triples, and projecting mends most of these unasked
            broken = broken[broken < len(sides[0])]
        broken = broken[np.argsort(values[broken])[:_ADDED]]
        matrix, offset = vstack([matrix, more[broken]]).tocsr(), np.concatenate([offset, ends[broken]])
        x = _mend(_project(s, sigma, correlation, matrix, offset), inside, matrix, offset)
    return np.where(np.isfinite(s), x, np.nan)


def _inside(levels: list[SubsetRows], most: int) -> Floats:
    """Return supports of transactions for which every inequality is strict.

    Items are fair and independent, or where M is a limit, those of a random maximal itemset, kept by fair coins.
    """
    inside: Floats = np.zeros(sum(len(level.rows) for level in levels) + 1)
    if most >= len(levels[0].rows):
        for k, level in enumerate(levels, start=1):
            inside[level.rows] = 0.5**k
        return inside[:-1]
    maximal = maximal_itemsets(levels)
    for k, level in enumerate(levels, start=1):
        held = level.subsets[maximal[level.rows]]
        sizes = np.bitwise_count(np.arange(1 << k))
        np.add.at(inside, held.ravel(), np.tile(0.5**sizes, len(held)))
    return inside[:-1] / float(maximal.sum())


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
        variance: the diagonal, float64 (n,). Where it differs from the covariance of A and A, for instance as it has a
            lower bound, the covariances of A are scaled with it, so that correlations stay.
        covariance: called as (rows, left, right) for every pattern of A, B with A ∪ B = C, for all C of k items at
            once: rows int64 (sets, 2^k) are the rows of the subsets of every C by mask, n for the empty set; left and
            right, k times 0 or 1, say which items are in A and in B. Returns the covariances, float64 (sets,).

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
        for a, b in combinations(range(1, masks), 2):
            if a | b == masks - 1:  # B must hold what A lacks
                between = covariance(level.subsets, items[a], items[b])
                parts.append((level.subsets[:, a], level.subsets[:, b], between))
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
    """Return I + t·C, the correlations, with the largest t ≤ 1 that keeps eigenvalues at LEAST_EIGENVALUE or above.

    Covariances that are not positive definite so become so.
    """
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


def _project(s: Floats, sigma: Floats, correlation: Any, matrix: Any, offset: Floats) -> Floats:
    """Solve; where rounding leaves no other way with small errors raised, and at last without correlations.

    Raises:
        EstimateError: the solver gives up.
    """
    status = ""
    largest = min(1.0, sigma[np.isfinite(sigma)].max())
    for share, precise in _ATTEMPTS:
        x, status = _projected(s, np.maximum(sigma, share * largest), correlation, matrix, offset, precise=precise)
        if status in SOLVED:
            return x
    if correlation is not None:
        return _project(s, sigma, None, matrix, offset)
    raise EstimateError(f"these supports could not be made consistent: the solver ended with {status}")


def _projected(
    s: Floats, sigma: Floats, correlation: Any, matrix: Any, offset: Floats, *, precise: bool
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
    limits = matrix @ diags_array(scale)
    even = 1 / abs(limits).max(axis=1).toarray().ravel()
    limits, sides = diags_array(even) @ limits, even * (matrix @ origin + offset)
    if correlation is None:
        u, status = minimize_quadratic(diags_array(weight**2), weight * start, -limits, sides, 0, precise=precise)
    else:
        n, size = len(s), correlation.shape[0]
        cost = block_array([[csc_array((n, n)), None], [None, correlation]])
        equal = [-diags_array(weight).tocsr()[known], correlation]
        whole = block_array([equal, [-limits, csc_array((len(sides), size))]])
        u, status = minimize_quadratic(
            cost, np.zeros(n + size), whole, np.concatenate([start[known], sides]), size, precise=precise
        )
    return origin + scale * u[: len(s)], status


def _mend(x: Floats, inside: Floats, matrix: Any, offset: Floats) -> Floats:
    """Mix in just enough of what is strictly inside that no inequality is broken (a weight of 1e-11 is usual)."""
    values, targets = matrix @ x + offset, matrix @ inside + offset
    short = values < 0
    share = float((-values[short] / (targets[short] - values[short])).max(initial=0.0))
    return (1 - share) * x + share * inside
