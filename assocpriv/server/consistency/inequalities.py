"""Bounds on supports: a table's itemsets by row, and inequalities that the supports of all transactions satisfy.

Supports x of transactions of at most M items satisfy, for every itemset A of a table that is closed
under taking subsets,

    Σ_{E⊆B⊆A} (−1)^{|B|−|E|} x_B ≥ 0,    x_∅ = 1     for E ⊆ A: the share holding of A exactly E, an "atom" of A
    Σ_{i∉A} x_{A∪i} ≤ (M − |A|) x_A                  who holds A holds at most M − |A| items more
    Σ_{j≠i} (x_j − x_ij) ≤ M (1 − x_i)               who lacks i holds at most M items

where sums go over what is in the table. Atoms contain 0 ≤ x ≤ 1, monotony, and the bounds of Fréchet and Bonferroni. An
atom of A is the sum of atoms of any A' ⊃ A, so those of the maximal itemsets are enough. Three items whose pairs are in
the table but not they themselves have atoms too, with an unknown x_abc; it is between the bounds that it must respect
iff

    x_a + x_b + x_c − x_ab − x_ac − x_bc ≤ 1,    x_ab + x_ac − x_bc ≤ x_a     and so for b and c.

All of these are necessary, and for tables of many linked items not sufficient: realizable.py is for that.
"""

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SubsetRows:
    """The itemsets of one size in a table: their rows, int64 (sets,), and those of their subsets, int64 (sets, 2^k).

    Bit i of a subset's mask is the i-th item; the empty set, which has no row, has the number of rows of the table.
    """

    rows: Rows
    subsets: Rows

    @property
    def below(self) -> Rows:
        """Rows of the subsets of one item less, int64 (sets, k)."""
        full = self.subsets.shape[1] - 1
        return self.subsets[:, [full ^ (1 << i) for i in range(full.bit_length())]]


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


def maximal_itemsets(levels: list[SubsetRows]) -> NDArray[np.bool_]:
    """Tell of each row, and after them of the empty set, whether no itemset of the table is larger."""
    maximal = np.ones(sum(len(level.rows) for level in levels) + 1, dtype=np.bool_)
    for level in levels:
        maximal[level.below] = False
    return maximal


def atoms_of(levels: list[SubsetRows]) -> tuple[Any, Floats]:
    """Return G and c such that G x + c are the atoms of the maximal itemsets."""
    from scipy.sparse import coo_array

    n = sum(len(level.rows) for level in levels)
    maximal = maximal_itemsets(levels)
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


def size_limits(levels: list[SubsetRows], largest: int) -> tuple[Any, Floats]:
    """Return G and c such that G x + c ≥ 0 where transactions hold at most ``largest`` items (the module's text)."""
    from scipy.sparse import coo_array, vstack

    n, items = sum(len(level.rows) for level in levels), levels[0].rows
    if largest >= len(items):
        return coo_array((0, n)).tocsr(), np.empty(0)
    # of each itemset, and at the end of the empty one: (largest − |A|) x_A − Σ x_B over B one item larger
    below = [np.column_stack([level.below.ravel(), np.repeat(level.rows, level.below.shape[1])]) for level in levels]
    less, more = np.concatenate(below).T
    own = np.concatenate([level.rows for level in levels])
    room = np.concatenate([np.full(len(level.rows), largest - k) for k, level in enumerate(levels, start=1)])
    row, column = np.concatenate([less, own, [n]]), np.concatenate([more, own, [n]])
    around = coo_array((np.concatenate([-np.ones(len(less)), room, [largest]]), (row, column)), shape=(n + 1, n + 1))
    kept = np.unique(less)  # who has no larger ones in the table has nothing to say
    # of each item: largest·(1 − x_i) − Σ (x_j − x_ij)
    pairs = levels[1] if len(levels) > 1 else SubsetRows(np.empty(0, np.int64), np.empty((0, 4), np.int64))
    lacked, with_it = pairs.subsets[:, [1, 2]].ravel(), pairs.subsets[:, [2, 1]].ravel()
    both = np.repeat(pairs.rows, 2)
    linked = np.unique(lacked)
    row = np.concatenate([lacked, lacked, linked, linked])
    column = np.concatenate([with_it, both, linked, np.full(len(linked), n)])
    value = np.repeat([-1.0, 1.0, -largest, largest], [len(lacked), len(lacked), len(linked), len(linked)])
    without = coo_array((value, (row, column)), shape=(n + 1, n + 1))
    whole = vstack([around.tocsr()[kept], without.tocsr()[linked]]).tocsc()
    return whole[:, :n].tocsr(), whole[:, [n]].toarray().ravel()


def triangles(levels: list[SubsetRows]) -> Rows:
    """Find triples with all pairs in the table but not themselves: rows of a, b, c, ab, ac, bc, int64 (triples, 6).

    >>> triangles(subset_rows(["a", "b", "c", "ab", "ac", "bc"])).tolist()
    [[0, 1, 2, 3, 4, 5]]
    """
    if len(levels) < 2:
        return np.empty((0, 6), dtype=np.int64)
    items, pairs = levels[0].rows, levels[1]
    place = np.zeros(int(items.max(initial=0)) + 1, dtype=np.int64)
    place[items] = np.arange(len(items))
    row_of = np.full((len(items), len(items)), -1, dtype=np.int64)
    ends = np.sort(place[pairs.subsets[:, [1, 2]]], axis=1)
    row_of[ends[:, 0], ends[:, 1]] = pairs.rows
    larger = place[levels[2].subsets[:, [1, 2, 4]]] if len(levels) > 2 else np.empty((0, 3), dtype=np.int64)
    there = {tuple(sorted(one)) for one in larger.tolist()}
    found = []
    for a, b in ends.tolist():
        for c in np.flatnonzero((row_of[a] >= 0) & (row_of[b] >= 0)).tolist():
            if (a, b, c) not in there:
                found.append((*items[[a, b, c]].tolist(), row_of[a, b], row_of[a, c], row_of[b, c]))
    return np.array(found, dtype=np.int64).reshape(-1, 6)


def triangle_limits(rows: Rows, n: int) -> tuple[Any, Floats]:
    """Return G and c such that G x + c ≥ 0 where some support of the three items together fits (see triangles)."""
    from scipy.sparse import coo_array

    # of a, b, c, ab, ac, bc
    signs = np.array([[-1, -1, -1, 1, 1, 1], [1, 0, 0, -1, -1, 1], [0, 1, 0, -1, 1, -1], [0, 0, 1, 1, -1, -1]])
    place = np.repeat(np.arange(4 * len(rows)), 6)
    values = np.tile(signs.ravel(), len(rows)).astype(np.float64)
    matrix = coo_array((values, (place, np.repeat(rows, 4, axis=0).ravel())), shape=(4 * len(rows), n)).tocsr()
    return matrix, np.tile([1.0, 0.0, 0.0, 0.0], len(rows))
