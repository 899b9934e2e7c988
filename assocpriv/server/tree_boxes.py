"""Growth of decision trees on distributions instead of records: every node is a box, with a mass of each class.

A box knows, of each class, its mass, and how each column is distributed inside; columns are independent there. The
split is taken that lowers the gini index most, over all leaves and columns, until there are enough leaves or none
gains. Named values stand in the order that the tree splits them by, the input of a missing value last.

Where nobody answers two columns, or a promise is so strong that pairs of answers tell next to nothing, reports say no
more than each column's distribution by class (class_distributions.py). Then masses are π_k Π_u F_ku(box_u), as naive
Bayes has them, and no record is needed.

**How sure.** Of independent columns the share of people whose class a tree says rightly is A = Σ_k π_k Σ_ℓ Π_u
F_ku(box_u) over the leaves ℓ that say k; its error follows from the columns' posteriors. What columns have to do with
each other within a class reports of single columns cannot tell, and it mostly makes them tell less: at worst they say
again what the best of them says alone, A₁ = max_u Σ_x max_k π_k F_ku(x). So the interval goes from the lesser of A and
A₁ to A, with LEVEL standard errors on both sides.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.class_distributions import ClassDistributions
from assocpriv.server.tree_growth import EVERY, Branch, Tree, joined

Floats = NDArray[np.float64]
MOST_LEAVES = 128
LEVEL = 1.96  # standard errors


@dataclass(eq=False, slots=True)
class Box:
    """A node: its mass by class, float64 (classes,), and each column's distribution inside, float64 (classes, inputs).

    ``inside`` are the inputs that it takes of the columns that lead to it.
    """

    mass: Floats
    columns: list[Floats]
    inside: dict[int, NDArray[np.bool_]] = field(default_factory=dict)
    depth: int = 0
    split: "Cut | None" = None
    below: "tuple[Box, Box] | None" = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A split with what it gains: inputs of a column below ``at`` go left, a missing value where it says."""

    gain: float
    column: int
    at: int
    missing_left: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    """When growth ends: leaves at most, mass of a leaf and gain of a split at least, splits above a leaf at most."""

    most_leaves: int
    least_mass: float
    least_gain: float
    max_depth: int | None = None


def grow_boxes(
    root: Box, rows: Sequence[int], bounds: Bounds, refit: Callable[[list[Box]], None] | None = None
) -> list[Box]:
    """Split a box on and on, best first, and return its leaves.

    Args:
        root: the box of all people.
        rows: how many inputs of each column stand in a row; one more, if there is one, is that of a missing value.
        bounds: in the unit of the root's mass.
        refit: tells masses and columns of all leaves anew, after each split.
    """
    leaves, cuts = [root], {0: _best_cut(root, rows, bounds)}
    while len(leaves) < bounds.most_leaves:
        place = max(cuts, key=lambda each: cuts[each].gain)
        if cuts[place].gain <= bounds.least_gain:
            break
        leaf = leaves[place]
        leaf.split, leaf.below = cuts[place], _divided(leaf, cuts[place], rows)
        leaves[place : place + 1] = leaf.below
        if refit is not None:
            refit(leaves)
            cuts = {at: _best_cut(each, rows, bounds) for at, each in enumerate(leaves)}
        else:
            new = dict(enumerate((_best_cut(each, rows, bounds) for each in leaf.below), place))
            cuts = {at + (at > place): cut for at, cut in cuts.items() if at != place} | new
    return leaves


def _best_cut(box: Box, rows: Sequence[int], bounds: Bounds) -> Cut:
    best = Cut(0.0, -1, 0, False)
    if bounds.max_depth is not None and box.depth >= bounds.max_depth:
        return best
    whole = _purity(box.mass)
    for column, (shares, row) in enumerate(zip(box.columns, rows, strict=True)):
        mass = box.mass[:, None] * shares
        below = np.cumsum(mass[:, :row], axis=1)
        missing = mass[:, row:].sum(axis=1, keepdims=True)
        for is_left in (False, True) if missing.any() else (False,):
            left = below + missing if is_left else below  # the last: all values but missing ones go left
            right = np.maximum(box.mass[:, None] - left, 0)
            gains = _purity(left) + _purity(right) - whole
            gains[np.minimum(left.sum(axis=0), right.sum(axis=0)) < bounds.least_mass] = -1
            at = int(np.argmax(gains))
            if gains[at] > best.gain:
                best = Cut(float(gains[at]), column, EVERY if at == row - 1 else at + 1, is_left)
    return best


def _purity(mass: Floats) -> Floats:
    """Return Σ_k m_k² / Σ_k m_k: the mass less its gini index."""
    found: Floats = (mass**2).sum(axis=0) / np.maximum(mass.sum(axis=0), 1e-300)
    return found


def _divided(box: Box, cut: Cut, rows: Sequence[int]) -> tuple[Box, Box]:
    shares = box.columns[cut.column]
    left = np.arange(shares.shape[1]) < cut.at
    left[rows[cut.column] :] = cut.missing_left
    so_far = box.inside.get(cut.column, np.ones(len(left), dtype=np.bool_))
    sides = []
    for side in (left, ~left):
        part = shares * side
        mass = part.sum(axis=1)
        columns = [each.copy() for each in box.columns]
        columns[cut.column] = part / np.maximum(mass, 1e-300)[:, None]
        sides.append(Box(box.mass * mass, columns, {**box.inside, cut.column: so_far & side}, box.depth + 1))
    return sides[0], sides[1]


def as_tree(root: Box, records: float) -> Tree:
    """Return the boxes as a tree in preorder, whose counts are the masses times so many records."""
    if root.split is None or root.below is None:
        return [Branch(tuple((records * root.mass).tolist()))]
    left, right = (as_tree(each, records) for each in root.below)
    counts = tuple(np.add(left[0].counts, right[0].counts).tolist())
    cut = root.split

    return joined(Branch(counts, cut.column, cut.at, cut.missing_left), left, right)


# ---- how sure


def tell_accuracy(
    inside: Mapping[int, Mapping[int, NDArray[np.bool_]]],
    says: Mapping[int, int],
    told: Sequence[ClassDistributions],
    of_classes: tuple[Floats, Floats],
) -> tuple[float, float]:
    """Return the ends of an interval of the share of people whose class a tree says rightly.

    Args:
        inside: of each leaf, which inputs it takes of the columns that lead to it.
        says: the class that each leaf says.
        told: the columns' distributions by class.
        of_classes: the shares of the classes and their standard errors.
    """
    shares, errors = of_classes
    right, spread = np.zeros(len(shares)), 0.0
    for k in range(len(shares)):
        slopes = [np.zeros(each.shares.shape[1]) for each in told]
        for leaf, box in inside.items():
            if says[leaf] != k:
                continue
            parts = {u: float(told[u].shares[k] @ taken[: len(slopes[u])]) for u, taken in box.items()}
            right[k] += math.prod(parts.values())
            for u, taken in box.items():
                slopes[u] += taken[: len(slopes[u])] * math.prod(part for v, part in parts.items() if v != u)
        variance = sum(float(slope @ each.spread[k] @ slope) for slope, each in zip(slopes, told, strict=True))
        spread += float(shares[k]) * math.sqrt(max(variance, 0.0))
    most = float(shares @ right)
    alone = max(float((shares[:, None] * each.shares).max(axis=0).sum()) for each in told)
    half = LEVEL * float(np.hypot(spread, np.linalg.norm(errors * (right - right.mean()))))
    return max(0.0, min(most, alone) - half), min(1.0, most + half)
