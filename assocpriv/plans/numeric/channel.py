"""What a column's release does to a distribution: the transition matrix, from the plan's integers.

    released = A · shares,      A[y, i] = P(released code y | value in interval i)

with values spread evenly over the cells of an interval. Where a value may be missing, it is one more input, the last,
and one more code. Who was not asked is in neither.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.numeric.columns import Column, NumberColumn
from assocpriv.plans.numeric.laws import Clear, Noise, Window


def transition(column: Column) -> NDArray[np.float64]:
    """Return P(code | interval or value), float64 (codes, intervals + 1 if optional); its columns add up to 1."""
    law = column.law
    n_groups = column.intervals if isinstance(column, NumberColumn) else column.inputs
    group = column.inputs // n_groups
    full = np.zeros((column.codes, n_groups + column.optional))
    if isinstance(law, Clear):
        full[: law.outputs, :n_groups] = _overlap(law.outputs, law.width, n_groups, group) / group
    elif isinstance(law, Noise):
        full[: law.outputs, :n_groups] = _spread([0, *law.cumulative], n_groups, group) / law.cumulative[-1]
    elif isinstance(law, Window):
        high_above_low = (law.high - law.low) * _spread(range(law.near + 1), n_groups, group)
        full[: law.outputs, :n_groups] = high_above_low + law.low
        if column.optional:
            full[-1, :n_groups] = law.near * law.low
            full[: law.outputs, -1], full[-1, -1] = law.low, law.near * law.high
        return full / law.total(optional=column.optional)
    if column.optional:
        full[-1, -1] = 1
    return full


def _spread(cumulative: Sequence[int], n_groups: int, group: int) -> NDArray[np.float64]:
    """Return the mean over the inputs x of each group of the weight w[y − x], (outputs, groups).

    ``cumulative`` are 0, w[0], w[0] + w[1] … and so on: a group's sum is the difference of two of them.
    """
    sums = np.asarray(cumulative, dtype=np.float64)
    outputs = np.arange(n_groups * group + len(sums) - 2)[:, None] + 1
    first = group * np.arange(n_groups)
    most = len(sums) - 1
    above, below = (sums[np.clip(outputs - start, 0, most)] for start in (first, first + group))
    spread: NDArray[np.float64] = (above - below) / group
    return spread


def _overlap(n_classes: int, width: int, n_groups: int, group: int) -> NDArray[np.float64]:
    """Return how many cells each class of so many shares with each group, (classes, groups)."""
    classes, groups = width * np.arange(n_classes)[:, None], group * np.arange(n_groups)
    shared = np.minimum(classes + width, groups + group) - np.maximum(classes, groups)
    overlap: NDArray[np.float64] = np.maximum(shared, 0).astype(np.float64)
    return overlap


def exact_transition(column: Column) -> list[list[Fraction]]:
    """Return P(code | cell or value), exactly: a row for each input (a missing value last), a place for each code."""
    rows = (column.law.weights(value, optional=column.optional) for value in range(column.inputs + column.optional))
    return [[Fraction(weight, sum(row)) for weight in row] for row in rows]
