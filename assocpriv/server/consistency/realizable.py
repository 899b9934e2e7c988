"""Realizable supports: the nearest to the estimates that some collection of transactions has, with these transactions.

A transaction T holds at most M items; φ(T)_A = [A ⊆ T]. Tables of
supports that transactions can have are the convex hull

    P = conv { φ(T) : T a set of at most M of the table's items }

and nothing less: every bound on supports (Fréchet's, Bonferroni's, Σ_i x_i ≤ M …) follows from it. To tell whether a
point is in P is NP-hard in general (with all pairs, P is the correlation polytope), so this is for tables that fit.

**Parts.** Items that no itemset of the table links are in different parts. φ(T) then is made up of what T holds of each
part, and parts meet in M alone. With w_T the share of transactions that hold exactly T of a part, and f(c, u, j) the
share that hold u items of the parts before c and j of part c,

    x_A = Σ_{T⊇A} w_T,     Σ_{T of part c, |T|=j} w_T = Σ_u f(c, u, j),     Σ_j f(c, u, j) = Σ_j f(c−1, u−j, j)

with f(c, u, j) = 0 where u + j > M. Such w and f ≥ 0 are a point of P: draw the sizes j part by part, j with
probability f(c, u, j)/Σ_j f(c, u, j), then T among those of that size by w. And each point of P has such w and f.

**The nearest point** minimizes (x − s)'V⁻¹(x − s) over w and f. All sets T of at most M items of a part are listed; of
a long list the program holds some, and those are added that the gradient g = V⁻¹(s − x) favours. For x in P

    ‖x − x*‖²_V ≤ max_T g'φ(T) − g'x        with x* the nearest point of P to s

(g'(x* − x) ≥ ‖x − x*‖²_V, as x* is a projection), and the maximum over all T is found part by part, by the best value
of every size; so what is left on the right says when to stop.

**What comes out** are the supports of w and f after both were made shares: rounded up to 0, and drawn as above. So they
are those of the listed transactions whatever the solver left open.
"""

from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.consistency.inequalities import SubsetRows
from assocpriv.server.consistency.quadratic import SOLVED, minimize_quadratic

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
# what fits: a second, up to four for dense tables at large M. Sets T in all parts, these times the itemsets of their
# part, itemsets, and steps f
MOST_SUBSETS = 400_000
MOST_INCIDENCES = 60_000_000
MOST_ITEMSETS = 1_000
MOST_STEPS = 6_000
ROUNDS = 60  # of adding transactions
REALIZED = 1e-9  # supports that differ by less from some transactions' are these
NEAREST = 1e-3  # standard errors: further from the nearest point, what was found is not called that
_NEAR_ENOUGH = 1e-6  # standard errors: nearer, adding transactions ends
_LISTED = 2_000  # so many sets T of a part are in the program from the start
_ADDED = 40  # of each part and size in a round


@dataclass(frozen=True, slots=True)
class Part:
    """Linked items: the rows of their itemsets, and all sets T of at most M of them, smaller first.

    ``holds`` is a sparse matrix (sets T, rows): 1.0 where T holds the itemset. ``sizes`` are int64 (sets T,).
    """

    rows: Rows
    holds: Any
    sizes: Rows

    @property
    def largest(self) -> int:
        """The most items of the part that a transaction can hold."""
        return int(self.sizes[-1])


@dataclass(frozen=True, slots=True)
class _Steps:
    """The variables f(c, u, j) of a program, in its order: int64 arrays (steps,)."""

    part: Rows
    before: Rows
    taken: Rows


@dataclass(frozen=True, slots=True)
class _Problem:
    """What is to be minimized: estimates and errors of the known rows, correlations of these or None."""

    parts: list[Part]
    smallest: int
    largest: int
    known: NDArray[np.bool_]
    supports: Floats
    sigma: Floats
    correlation: Any

    @property
    def coupled(self) -> bool:
        """Whether M, or a least size, couples the parts."""
        return len(self.parts) > 1 and (sum(part.largest for part in self.parts) > self.largest or self.smallest > 0)


def parts_of(levels: list[SubsetRows], smallest: int, largest: int) -> list[Part] | None:
    """Split a table into parts and list their transactions, or return None where there are too many.

    >>> from assocpriv.server.consistency.inequalities import subset_rows
    >>> parts = parts_of(subset_rows(["a", "b", "c", "ab"]), 0, 2)
    >>> [part.sizes.tolist() for part in parts]
    [[0, 1, 1, 2], [0, 1]]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = sum(len(level.rows) for level in levels)
    if not 0 < n <= MOST_ITEMSETS:
        return None
    items = levels[0].rows
    place = np.zeros(n + 1, dtype=np.int64)
    place[items] = np.arange(len(items))
    ends = np.concatenate([np.empty((0, 2), dtype=np.int64), *(place[pairs.subsets[:, 1:3]] for pairs in levels[1:2])])
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(items), len(items)))
    count, label = connected_components(graph, directed=False)
    # items of an itemset, int64 (sets, k), and the part of each itemset by its first item
    members = [place[level.subsets[:, [1 << i for i in range(k)]]] for k, level in enumerate(levels, start=1)]
    of_sets = [label[inside[:, 0]] for inside in members]
    sizes, sets = np.bincount(label, minlength=count), np.bincount(np.concatenate(of_sets), minlength=count)
    listed = [sum(comb(int(size), j) for j in range(min(int(size), largest) + 1)) for size in sizes]
    steps = (largest + 1) * int((np.minimum(sizes, largest) + 1).sum()) if largest < len(items) or smallest else 0
    work = sum(number * int(rows) for number, rows in zip(listed, sets, strict=True))
    if sum(listed) > MOST_SUBSETS or work > MOST_INCIDENCES or (count > 1 and steps > MOST_STEPS):
        return None
    parts, least = [], smallest if count == 1 else 0
    for one in range(count):
        there = [(level.rows, inside, of == one) for level, inside, of in zip(levels, members, of_sets, strict=True)]
        itemsets = [(rows[mine], inside[mine]) for rows, inside, mine in there]
        parts.append(_part(np.flatnonzero(label == one), itemsets, least, largest))
    return parts


def _part(items: Rows, itemsets: list[tuple[Rows, Rows]], smallest: int, largest: int) -> Part:
    """List all sets of smallest … largest of the items, and which itemsets they hold."""
    from scipy.sparse import csc_array

    held = _subsets(len(items), smallest, largest)
    by_item = np.ascontiguousarray(held.T)
    found = [
        (row, np.flatnonzero(np.logical_and.reduce(by_item[np.searchsorted(items, inside)])))
        for rows, sets in itemsets
        for row, inside in zip(rows.tolist(), sets, strict=True)
    ]
    ends = np.cumsum([0, *(len(where) for _, where in found)])
    where = np.concatenate([where for _, where in found])
    holds = csc_array((np.ones(len(where)), where, ends), shape=(len(held), len(found))).tocsr()
    return Part(np.array([row for row, _ in found], dtype=np.int64), holds, held.sum(axis=1))


def _subsets(n: int, smallest: int, largest: int) -> NDArray[np.bool_]:
    """Return the sets of smallest … largest of n items, smaller first, as rows of booleans.

    >>> _subsets(2, 1, 2).astype(int).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """
    blocks = []
    for size in range(smallest, min(n, largest) + 1):
        count = comb(n, size)
        flat = np.fromiter(chain.from_iterable(combinations(range(n), size)), np.int64, count * size)
        block = np.zeros((count, n), dtype=np.bool_)
        np.put_along_axis(block, flat.reshape(count, size), True, axis=1)
        blocks.append(block)
    return np.concatenate(blocks)


def nearest_realizable(
    parts: list[Part], smallest: int, largest: int, supports: Floats, sigma: Floats, correlation: Any
) -> Floats | None:
    """Return the nearest supports that transactions have, the given ones where these are, or None if it failed.

    Where nothing was observed supports are NaN and standard errors ``sigma`` infinite; ``correlation`` is that of the
    other rows, sparse (known, known), or None where they are independent.
    """
    from scipy.sparse.linalg import splu

    known = np.isfinite(sigma)
    problem = _Problem(parts, smallest, largest, known, supports[known], sigma[known], correlation)
    inverse = None if correlation is None else splu(correlation.tocsc())
    chosen = [_first(part) for part in parts]
    x, gap = supports, np.inf
    for _ in range(ROUNDS):
        found = _minimize(problem, chosen)
        if found is None:
            return None
        x = found
        y = (x[known] - problem.supports) / problem.sigma
        gradient = np.zeros(len(x))
        gradient[known] = -(y if inverse is None else inverse.solve(y)) / problem.sigma
        values = [part.holds @ gradient[part.rows] for part in parts]
        gap = _best(problem, values) - float(gradient @ x)
        if gap <= _NEAR_ENOUGH**2:
            break
        fresh = [_favoured(part, own, value) for part, own, value in zip(parts, chosen, values, strict=True)]
        if not any(map(len, fresh)):
            break
        chosen = [np.union1d(own, more) for own, more in zip(chosen, fresh, strict=True)]
    if gap > NEAREST**2:
        return None
    far = np.abs(x[known] - problem.supports)
    if (far <= REALIZED).all() or ((far <= NEAREST * problem.sigma).all() and _is_realized(problem, chosen)):
        x[known] = problem.supports
    return x


def _first(part: Part) -> Rows:
    """Return what a program begins with: all sets T, or of many the small ones and some of every size."""
    if len(part.sizes) <= _LISTED:
        return np.arange(len(part.sizes))
    starts = np.searchsorted(part.sizes, np.arange(part.largest + 1))
    small = int(np.searchsorted(part.sizes, 3))
    return np.union1d(starts, np.arange(min(_LISTED, small)))


def _favoured(part: Part, chosen: Rows, values: Floats) -> Rows:
    """Return sets T not in the program whose value is above that of all of their size that are in it."""
    if len(chosen) == len(part.sizes):
        return np.empty(0, dtype=np.int64)
    best = np.full(part.largest + 1, -np.inf)
    np.maximum.at(best, part.sizes[chosen], values[chosen])
    found = []
    ends = np.searchsorted(part.sizes, np.arange(part.largest + 2)).tolist()
    for (start, end), least in zip(pairwise(ends), best.tolist(), strict=True):
        above = start + np.flatnonzero(values[start:end] > least + 1e-12 * np.abs(values).max())
        if len(above) > _ADDED:
            above = above[np.argpartition(values[above], -_ADDED)[-_ADDED:]]
        found.append(above)
    return np.concatenate(found)


def _best(problem: _Problem, values: list[Floats]) -> float:
    """Return max_T g'φ(T) over all transactions, by the best value of every size in each part."""
    total = np.full(problem.largest + 1, -np.inf)
    total[0] = 0.0
    for part, value in zip(problem.parts, values, strict=True):
        best = np.full(part.largest + 1, -np.inf)
        np.maximum.at(best, part.sizes, value)
        reached = np.full_like(total, -np.inf)
        for size, more in enumerate(best.tolist()):
            reached[size:] = np.maximum(reached[size:], total[: len(total) - size] + more)
        total = reached
    return float(total[problem.smallest :].max())


def _steps(problem: _Problem, chosen: list[Rows]) -> _Steps:
    """List the steps (c, u, j) that transactions of the chosen sets can take; none where parts are not coupled."""
    columns: list[tuple[Rows, Rows, Rows]] = []
    reached = np.zeros(1, dtype=np.int64)
    for number, (part, own) in enumerate(zip(problem.parts, chosen, strict=True) if problem.coupled else ()):
        before, taken = (grid.ravel() for grid in np.meshgrid(reached, np.unique(part.sizes[own]), indexing="ij"))
        least = problem.smallest if number == len(problem.parts) - 1 else 0
        fits = (before + taken <= problem.largest) & (before + taken >= least)
        columns.append((np.full(fits.sum(), number), before[fits], taken[fits]))
        reached = np.unique(before[fits] + taken[fits])
    if not columns:
        return _Steps(*[np.empty(0, dtype=np.int64)] * 3)
    return _Steps(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def _shares(problem: _Problem, chosen: list[Rows], steps: _Steps) -> tuple[Any, Any, Floats]:
    """Return B, (A, b): supports are B·(w, f), and A·(w, f) = b makes w and f shares of transactions."""
    from scipy.sparse import block_array, coo_array, csr_array

    n, numbers = len(problem.known), [len(own) for own in chosen]
    blocks = [part.holds[own].T.tocoo() for part, own in zip(problem.parts, chosen, strict=True)]
    firsts = np.cumsum([0, *numbers])
    rows = np.concatenate([part.rows[block.coords[0]] for part, block in zip(problem.parts, blocks, strict=True)])
    columns = np.concatenate([first + block.coords[1] for first, block in zip(firsts, blocks, strict=False)])
    held = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, firsts[-1] + len(steps.part))).tocsr()
    of_part = np.repeat(np.arange(len(chosen)), numbers)
    if not problem.coupled:
        ones = coo_array((np.ones(firsts[-1]), (of_part, np.arange(firsts[-1]))), shape=(len(chosen), firsts[-1]))
        return held, ones.tocsr(), np.ones(len(chosen))
    width = problem.largest + 1
    sizes = np.concatenate([part.sizes[own] for part, own in zip(problem.parts, chosen, strict=True)])
    # both sides of Σ w_T = Σ_u f(c, u, j), numbered by (c, j) as far as they occur
    pair, number = np.unique(
        np.concatenate([of_part * width + sizes, steps.part * width + steps.taken]), return_inverse=True
    )
    ahead, along = (
        csr_array((np.ones(len(place)), (place, np.arange(len(place)))), shape=(len(pair), len(place)))
        for place in (number[: len(sizes)], number[len(sizes) :])
    )
    # what goes into (c, u) comes out of it; into (0, 0) goes 1, what reaches the end stays there
    out, into = steps.part * width + steps.before, (steps.part + 1) * width + steps.before + steps.taken
    node, number = np.unique(np.concatenate([out, into]), return_inverse=True)
    incoming, outgoing = (
        csr_array((np.ones(len(out)), (place, np.arange(len(out)))), shape=(len(node), len(out)))
        for place in (number[len(out) :], number[: len(out)])
    )
    inner = node < len(chosen) * width
    sides = np.concatenate([np.zeros(len(pair)), np.where(node[inner] == 0, 1.0, 0.0)])
    blocks_of: Any = [[ahead, -along], [None, (outgoing - incoming).tocsr()[inner]]]
    matrix: Any = block_array(blocks_of)
    return held, matrix.tocsr(), sides


def _minimize(problem: _Problem, chosen: list[Rows]) -> Floats | None:
    """Return the supports nearest to the estimates that the chosen sets T give, or None where the solver failed.

    With y = (x − s)/σ and R the correlations y'R⁻¹y is minimized; R⁻¹ would be dense, so z = R⁻¹y is a variable.
    """
    from scipy.sparse import block_array, csc_array, diags_array, eye_array

    steps = _steps(problem, chosen)
    held, matrix, sides = _shares(problem, chosen, steps)
    k, others = len(problem.supports), held.shape[1]
    correlation: Any = eye_array(k) if problem.correlation is None else problem.correlation
    to_errors = diags_array(1 / problem.sigma) @ held[problem.known]
    none: Any = csc_array((others, others))
    cost: Any = block_array([[correlation, None], [None, none]])
    equal: Any = block_array([[correlation, -to_errors], [None, matrix]])
    whole = block_array([[equal], [-eye_array(others, k + others, k=k)]])
    ends = np.concatenate([-problem.supports / problem.sigma, sides])
    for precise in (False, True):
        u, status = minimize_quadratic(
            cost, np.zeros(k + others), whole, np.append(ends, np.zeros(others)), len(ends), precise=precise
        )
        if status in SOLVED:
            w = _drawn(problem, chosen, steps, u[k:])
            supports: Floats = held[:, : len(w)] @ w
            return supports
    return None


def _drawn(problem: _Problem, chosen: list[Rows], steps: _Steps, found: Floats) -> Floats:
    """Return the shares w of transactions that are drawn as w and f of a solver say, each made at least 0."""
    found = np.maximum(found, 0.0)
    firsts = np.cumsum([0, *(len(own) for own in chosen)]).tolist()
    parts = [found[start:end] for start, end in pairwise(firsts)]
    if not problem.coupled:
        return np.concatenate([w / w.sum() for w in parts])
    flow, drawn = found[firsts[-1] :], []
    reached = np.zeros(problem.largest + 1)
    reached[0] = 1.0
    for number, (part, own, w) in enumerate(zip(problem.parts, chosen, parts, strict=True)):
        mine = steps.part == number
        before, taken, sizes = steps.before[mine], steps.taken[mine], part.sizes[own]
        of_size = np.bincount(sizes, w, part.largest + 1)
        share = np.where(of_size[taken] > 0, flow[mine], 0.0)
        total = np.bincount(before, share, len(reached))[before]
        # nothing was seen to come here: the first step will do, and of its size the first set T
        share = np.where(total > 0, share / np.where(total > 0, total, 1.0), _firsts(before))
        share *= reached[before]
        of_those = np.where((of_size[sizes] <= 0) & _firsts(sizes), 1.0, w)
        of_those /= np.bincount(sizes, of_those, part.largest + 1)[sizes]
        drawn.append(of_those * np.bincount(taken, share, part.largest + 1)[sizes])
        reached = np.bincount(before + taken, share, len(reached)).astype(np.float64)
    return np.concatenate(drawn)


def _firsts(ascending: Rows) -> NDArray[np.bool_]:
    """Mark the first of every value."""
    return np.append(True, ascending[1:] != ascending[:-1])


def _is_realized(problem: _Problem, chosen: list[Rows]) -> bool:
    """Tell whether chosen sets T give the estimates themselves, to 1e-9, by a linear program for their distance."""
    from scipy.optimize import linprog
    from scipy.sparse import block_array, eye_array

    steps = _steps(problem, chosen)
    held, matrix, sides = _shares(problem, chosen, steps)
    k, others = len(problem.supports), held.shape[1]
    blocks: Any = [[held[problem.known], eye_array(k), -eye_array(k)], [matrix, None, None]]
    equal: Any = block_array(blocks)
    solved: Any = linprog(
        np.append(np.zeros(others), np.ones(2 * k)),
        A_eq=equal.tocsc(),
        b_eq=np.append(problem.supports, sides),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10},
    )
    if solved.status != 0:
        return False
    w = _drawn(problem, chosen, steps, solved.x[:others])
    x: Floats = held[:, : len(w)] @ w
    return bool((np.abs(x[problem.known] - problem.supports) <= REALIZED).all())
