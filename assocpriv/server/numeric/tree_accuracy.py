"""Interval of a tree's accuracy, where the tree was grown on the distributions of single columns.

The accuracy is the share of people whose class the tree predicts correctly:

    A = Σ_k π_k Σ_ℓ P_k(box_ℓ),    ℓ over the leaves that predict class k

Reports of single columns estimate the distribution F_ku of each column u within class k. They do not show the
dependence between columns within a class, so P_k(box_ℓ) is not identified. Two cases are known:

    independent columns    P_k(box_ℓ) = Π_u F_ku(box_ℓ)
    any joint distribution the least and the largest Σ_ℓ P_k(box_ℓ): a linear program for each class

The interval goes halfway from the first to both ends of the second, and LEVEL standard errors beyond. Halfway is a
choice: the whole range holds for all tables, but is about .7 wide. On adult, house-votes, mushroom and crx (12 subsets
of 3 to 8 columns each, ε = 5, 300,000 people) the accuracy lay at most .40 of the way down and .55 of the way up.

On other subsets of these the interval held in 299 of 300 trees (ε of 1, 3 and 6, 50,000 and 200,000 people, one column
a report; median width .05 to .77; the range from the best column alone to independent columns held in 270). On items of
msweb, groceries and BMS-WebView-2 as columns it held in 150 of 150, and in 100 of 100 on random tables whose columns
depend on each other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.class_distributions import ClassDistributions
from assocpriv.server.numeric.tree_growth import Box

Floats = NDArray[np.float64]
_Masks = Sequence[NDArray[np.bool_]]
LEVEL = 3.0  # standard errors, as posteriors are skewed: it covers 39 of 40 collections of 20,000 at ε = 1; 1.96: 31
_DEPENDENCE = 0.5  # position between independent columns and the extreme joint distributions; see above


@dataclass(frozen=True, eq=False, slots=True)
class _Leaves:
    """Leaves and the columns that lead to them.

    ``inside`` has for each column which inputs each leaf takes, bool (leaves, inputs); ``classes`` the class that each
    leaf predicts, int64 (leaves,).
    """

    classes: NDArray[np.int64]
    inside: _Masks


def accuracy_interval(
    leaves: Sequence[Box], distributions: Sequence[ClassDistributions], class_shares: tuple[Floats, Floats]
) -> tuple[float, float]:
    """Return the ends of an interval of the share of people whose class a tree predicts correctly.

    Args:
        leaves: Leaves; each predicts its most probable class.
        distributions: Distributions of all columns by class.
        class_shares: The shares of the classes and their covariance.

    Source: the delta method; the gradient of a linear program's value is its dual solution (Bonnans and Shapiro,
    Perturbation Analysis of Optimization Problems 2000, section 4.3).
    """
    masses, covariance = class_shares
    places = sorted({u for leaf in leaves for u in leaf.inside})
    every = [np.ones(distributions[u].shares.shape[1], dtype=np.bool_) for u in places]
    inside = [np.array([leaf.inside.get(u, all_) for leaf in leaves]) for u, all_ in zip(places, every, strict=True)]
    tree = _Leaves(np.array([int(np.argmax(leaf.mass)) for leaf in leaves]), inside)
    ends = []
    for side in (-1, 1):
        right, errors = np.zeros(len(masses)), np.zeros(len(masses))
        for k in range(len(masses)):
            right[k], slopes = _correct_share(tree, k, [distributions[u].shares[k] for u in places], side)
            errors[k] = _standard_error(slopes, [distributions[u].covariances[k] for u in places])
        half = LEVEL * math.hypot(masses @ errors, math.sqrt(max(float(right @ covariance @ right), 0.0)))
        ends.append(float(masses @ right) + side * half)
    return max(0.0, ends[0]), min(1.0, ends[1])


def _standard_error(slopes: Sequence[Floats], covariances: Sequence[Floats]) -> float:
    parts = (float(slope @ covariance @ slope) for slope, covariance in zip(slopes, covariances, strict=True))
    return math.sqrt(max(sum(parts), 0.0))


def _correct_share(tree: _Leaves, k: int, shares: Sequence[Floats], side: int) -> tuple[float, list[Floats]]:
    """Return the share of class k that the tree predicts correctly, halfway to an extreme, and its gradients."""
    correct = (tree.classes == k).astype(np.float64)
    if not tree.inside:
        return float(correct[0]), []
    middle, extreme = _independent(correct, tree.inside, shares), _least(-side * correct, tree.inside, shares)
    mean = (1 - _DEPENDENCE) * middle[0] - side * _DEPENDENCE * extreme[0]
    pairs = zip(middle[1], extreme[1], strict=True)
    return mean, [(1 - _DEPENDENCE) * one - side * _DEPENDENCE * other for one, other in pairs]


def _independent(values: Floats, inside: _Masks, shares: Sequence[Floats]) -> tuple[float, list[Floats]]:
    """Return the mean value of the leaves for independent columns, and its gradients; as :func:`_least`."""
    parts = np.array([taken @ share for taken, share in zip(inside, shares, strict=True)])
    slopes = [(values * np.delete(parts, u, axis=0).prod(axis=0)) @ taken for u, taken in enumerate(inside)]
    return float(values @ parts.prod(axis=0)), slopes


def _least(values: Floats, inside: _Masks, shares: Sequence[Floats]) -> tuple[float, list[Floats]]:
    """Return the least mean value of the leaves over all joint distributions of the columns, and its gradients.

    The variables are q[u][leaf, input], the mass of a leaf at an input of column u. For every column they add up to the
    column's shares, and to the same mass of each leaf. The bound is sharp: for any such q there is a table in which
    columns are independent within each leaf.

    Args:
        values: Value of each leaf, float64 (leaves,).
        inside: For each column the inputs that leaves take, bool (leaves, inputs).
        shares: For each column the shares of its inputs, float64 (inputs,), adding up to 1.

    Returns:
        The mean, and for each column its gradient in the shares, float64 (inputs,).
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, coo_array

    n, by_column, by_leaf, groups, leaves = len(values), [], [], [], []
    for taken in inside:
        distinct, group_of = np.unique(taken, axis=1, return_inverse=True)  # groups of inputs that no leaf separates
        leaf, group = np.nonzero(distinct)
        ones, at = np.ones(len(leaf)), np.arange(len(leaf))
        by_column.append(coo_array((ones, (group, at)), shape=(distinct.shape[1], len(at))))
        by_leaf.append(coo_array((ones, (leaf, at)), shape=(n, len(at))))
        groups.append(group_of)
        leaves.append(leaf)
    rows = [[part if u == v else None for v in range(len(inside))] for u, part in enumerate(by_column)]
    first, *others = by_leaf
    same = [[first, *(-part if u == v else None for v, part in enumerate(others))] for u in range(len(others))]
    sums = [np.bincount(group_of, share) for group_of, share in zip(groups, shares, strict=True)]
    costs = np.concatenate([values[leaves[0]], np.zeros(sum(part.shape[1] for part in others))])
    known = np.concatenate([*sums, np.zeros(n * len(others))])
    found = linprog(costs, A_eq=block_array(rows + same).tocsr(), b_eq=known)  # type: ignore[call-overload]  # stubs lack sparse arrays
    duals = np.split(found.eqlin.marginals, np.cumsum([len(each) for each in sums]))
    return float(found.fun), [dual[group_of] for dual, group_of in zip(duals, groups, strict=False)]
