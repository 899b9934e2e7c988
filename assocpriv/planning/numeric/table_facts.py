"""What a plan of a table promises, column by column: privacy read back from its integers, grids, costs of answers.

Noise on a grid is no continuous noise: a value is released as that of its cell. The *distance* of a column is the total
variation between the release, taken as spread evenly over its cell, and the release by a continuous law, for the value
in its cell for which it is largest. No test of one release tells both apart more often than that; whatever is proved of
the continuous law holds of the grid's up to it. A grid is needed because continuous noise drawn in floating point tells
the value by the low bits of the sum. Source: Mironov, On significance of the least significant bits for differential
privacy, CCS 2012.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.normal import lower_tails
from assocpriv.planning.numeric.planner import AnswerCost, answer_costs
from assocpriv.planning.numeric.schema import AS_IS, GAUSSIAN, MEMBERSHIP, RESPONSE, SQUARE_WAVE, UNIFORM
from assocpriv.plans.columns import Clear, Column, GaussianNoise, Noise, NumberColumn, UniformNoise, Window
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import float_up
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import check_whole

CONFIDENCES = (Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000))  # of AS00, table 1
_FLOAT_ERROR = 1e-12  # by which sums of floats here may err


@dataclass(frozen=True)
class ColumnFacts:
    """What is promised about a column.

    Attributes:
        release: how it is released, in the words of a schema.
        widths: of noise and classes, how wide the interval is that one released value leaves its value in, as a share
            of the range, exactly: one for each of ``CONFIDENCES``; empty for others.
        scale: of Gaussian noise σ, of uniform noise and a square wave the half-width, of classes their width, in the
            column's unit.
        distance: to the continuous law, rounded up; None where there is none.
    """

    column: Column
    release: str
    widths: tuple[Fraction, ...] = ()
    scale: float | None = None
    distance: float | None = None


@dataclass(frozen=True)
class TableFacts:
    """What a plan of a table promises, and what each number of answered columns would cost."""

    plan: TablePlan
    reports: int
    columns: tuple[ColumnFacts, ...]
    costs: tuple[AnswerCost, ...]


def foresee_table(plan: TablePlan, reports: int) -> TableFacts:
    """Return what a plan of a table promises; PlanError for fewer reports than one."""
    if check_whole("reports", reports) < 1:
        raise PlanError(f"reports must be at least 1, got {reports}")
    return TableFacts(plan, reports, tuple(map(column_facts, plan.columns)), tuple(answer_costs(plan)))


def column_facts(column: Column) -> ColumnFacts:
    """Return what is promised about a column."""
    law = column.law
    if not isinstance(column, NumberColumn):
        return ColumnFacts(column, RESPONSE if isinstance(law, Window) else AS_IS)
    unit = float(column.cell_width)
    if isinstance(law, Window):
        return ColumnFacts(column, SQUARE_WAVE, (), law.near * unit / 2, wave_distance(law, optional=column.optional))
    if isinstance(law, Clear) and law.width == 1:
        return ColumnFacts(column, AS_IS)
    widths = tuple(map(column.known_width, CONFIDENCES))
    if isinstance(law, Clear):
        return ColumnFacts(column, MEMBERSHIP, widths, law.width * unit)
    if isinstance(law, UniformNoise):
        return ColumnFacts(column, UNIFORM, widths, (2 * law.reach + 1) * unit / 2, uniform_distance(law))
    assert isinstance(law, GaussianNoise)
    return ColumnFacts(column, GAUSSIAN, widths, gaussian_deviation(law) * unit, gaussian_distance(law))


# ---- distances


def uniform_distance(law: UniformNoise) -> float:
    """Return the distance to uniform noise of the same width: half a cell of it, where the value is at its cell's edge.

    >>> uniform_distance(UniformNoise(10, 2))
    0.1
    """
    return float_up(Fraction(1, 2 * (2 * law.reach + 1)))


def wave_distance(law: Window, *, optional: bool = False) -> float:
    """Return the distance to the square wave of the same γ and the same width of what is near.

    Of a value at its cell's upper edge, in the last cell: the grid's window lies half a cell lower, and the range of
    its outputs is a cell shorter. The sum is over where the grid's density is the larger one.
    """
    total = law.total(optional=optional)
    longer = total + law.low
    high, low = ((Fraction(weight, total), Fraction(weight, longer)) for weight in (law.high, law.low))
    both_near = (law.near - Fraction(1, 2)) * (high[0] - high[1])
    near_here = Fraction(1, 2) * (high[0] - low[1])
    far = law.inputs - 1 + (law.near if optional else 0)  # a missing value's output weighs near · low
    return float_up(both_near + near_here + far * (low[0] - low[1]))


def gaussian_deviation(law: Noise) -> float:
    """Return σ, in cells, of the Gaussian law whose masses of cells the noise has (Sheppard's correction)."""
    weights = np.array(law.noise_weights, dtype=np.float64)
    steps = np.arange(-law.largest, law.largest + 1)
    return math.sqrt(max(float(weights @ steps**2 / weights.sum()) - 1 / 12, 1e-6))


def gaussian_distance(law: Noise) -> float:
    """Return the distance to Gaussian noise of :func:`gaussian_deviation`, of a value at its cell's edge.

    There it is largest: what two symmetric densities that fall from the middle have in common shrinks as one is moved,
    as the lengths do that their intervals above each level have in common.
    """
    deviation, weights = gaussian_deviation(law), np.array(law.noise_weights[law.largest :]) / law.cumulative[-1]
    first = np.arange(len(weights))
    common_below = _common(weights, first, deviation)  # where the value's own cell is and those below
    common_above = _common(weights[1:], first[:-1], deviation)
    return min(1.0, 1 - common_below - common_above + _FLOAT_ERROR)


def _common(masses: NDArray[np.float64], starts: NDArray[np.int64], deviation: float) -> float:
    """Return what Gaussian noise has in common with masses spread over cells [start, start + 1] on one side of it."""
    level = np.minimum(masses * deviation * math.sqrt(2 * math.pi), 1.0)  # over the largest density
    crossing = np.clip(deviation * np.sqrt(-2 * np.log(level)), starts, starts + 1)
    beyond = lower_tails(-crossing / deviation) - lower_tails(-(starts + 1) / deviation)
    return float(np.sum(masses * (crossing - starts) + beyond))
