"""What a column's release does to a distribution: the transition matrix, from the plan's integers.

    released = A · shares,      A[y, i] = P(released code y | value in interval i)

with values spread evenly over the cells of an interval. Where a value may be missing, it is one more input, the last,
and one more code. Who was not asked is in neither.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.numeric.columns import Column, NumberColumn
from assocpriv.plans.numeric.laws import Clear, Noise, Window


def transition(column: Column) -> NDArray[np.float64]:
    """Return P(code | interval or value), float64 (codes, intervals + 1 if optional); its columns add up to 1."""
    fine = _cell_transition(column)
    n_inputs = column.inputs
    groups = column.intervals if isinstance(column, NumberColumn) else n_inputs
    values = fine[:, :n_inputs].reshape(len(fine), groups, -1).mean(axis=2)
    return np.concatenate([values, fine[:, n_inputs:]], axis=1)


def exact_transition(column: Column) -> list[list[Fraction]]:
    """Return P(code | cell or value), exactly: a row for each input (a missing value last), a place for each code."""
    rows = (column.law.weights(value, optional=column.optional) for value in range(column.inputs + column.optional))
    return [[Fraction(weight, sum(row)) for weight in row] for row in rows]


def _cell_transition(column: Column) -> NDArray[np.float64]:
    """Return P(code | cell or value), float64 (codes, inputs + 1 if optional), without a list for each entry."""
    law, n = column.law, column.inputs
    full = np.zeros((column.codes, n + column.optional))
    cells = np.arange(n)
    if isinstance(law, Clear):
        full[cells // law.width, cells] = 1
    elif isinstance(law, Noise):
        chances = np.array(law.noise_weights, dtype=np.float64) / law.cumulative[-1]
        for cell in range(n):
            full[cell : cell + len(chances), cell] = chances
    elif isinstance(law, Window):
        total = law.total(optional=column.optional)
        full[: law.outputs, :] = law.low / total
        for cell in range(n):
            full[cell : cell + law.near, cell] = law.high / total
        if column.optional:
            full[-1, :n], full[-1, n] = law.near * law.low / total, law.near * law.high / total
        return full
    if column.optional:
        full[-1, n] = 1
    return full
