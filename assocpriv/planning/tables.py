"""The plan of a table, made from its schema.

A schema becomes grids, laws of release with integer weights, and a share of the promise for each column. No record is
seen. The promise covers everything that a person sends: with R reports of d protected columns, of which each report
answers k, and l protected labels, which each report answers, every column gets the (k + l)·R-th root of the limit of γ.
Fewer answers are better ones: k is chosen so that the mean over columns of their *cost* is least. The cost of a column
is how many reports are worth one person that is asked directly: the ratio of two variances, times d / k where k < d.

    named values    of the inverted randomized response, summed over the values:  1 / (p − q)²
    numbers         of the unbiased mean of values spread evenly over the range

p and q are a value's chance of being reported as it is, and as a given other one. Neither depends on how many reports
there are. Answering few of the columns instead of all: Wang et al., Collecting and Analyzing Multidimensional Data with
Local Differential Privacy, ICDE 2019, where k follows from ε alone.

Additive noise is asked for as *privacy* p at confidence c, a share of the range: the width of the interval in which the
value is then known to lie with probability c (AS00, section 2.2). It is W·c for classes of width W, 2α·c for noise
uniform on ±α, and 2σΦ⁻¹((1+c)/2) for Gaussian noise. A window is asked for as a limit of γ. Floats choose the integers;
what they promise is read from these exactly, and what was asked for is never missed.

What the plan then promises is told column by column: privacy read back from its integers, grids, costs of answers; of a
plan of guided perturbation it holds whatever guidance its miner publishes. Noise on a grid is no continuous noise: a
value is released as that of its cell. The *distance* of a column is the total variation between the release, taken as
spread evenly over its cell, and the release by a continuous law, for the value in its cell for which it is largest. No
test of one release tells both apart more often than that; whatever is proved of the continuous law holds of the grid's
up to it. A grid is needed because continuous noise drawn in floating point tells the value by the low bits of the sum.
Source: Mironov, On significance of the least significant bits for differential privacy, CCS 2012.
"""

import logging
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.planning.designs import MOST_REPORTS
from assocpriv.planning.schema import (
    AS_IS,
    GAUSSIAN,
    LABEL,
    MEMBERSHIP,
    NUMBER,
    RESPONSE,
    SQUARE_WAVE,
    UNIFORM,
    ColumnRequest,
    read_schema,
    warn_of_twins,
)
from assocpriv.plans.columns import (
    COLUMNS,
    LARGEST_TOTAL,
    MOST_OUTPUTS,
    Clear,
    Column,
    GaussianNoise,
    LabelColumn,
    Law,
    Noise,
    NumberColumn,
    UniformNoise,
    WholeColumn,
    Window,
    default_intervals,
)
from assocpriv.plans.guided import TUPLE_BITS, GuidedPlan, TupleMix
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON
from assocpriv.plans.tables import TablePlan, check_answers, shortened
from assocpriv.promise.breaches import Breach, check_promise, float_up, share_limit
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import check_range, check_whole
from assocpriv.server.intervals import lower_tails

_LOG = logging.getLogger("assocpriv")  # told what a schema leaves open; the command line shows it
_ROOT_BITS = 48  # after the point of the share of γ that a column gets
USUAL_PROMISE = Breach("5%", "50%")
USUAL_REPORTS = 1_000_000
GRID = 1000  # cells at least, where nothing else is asked for
ALL = "all"
_HOW_TO_PROTECT = "release a number by square-wave, a category by response"
_WIDER = 1 + 2.0**-20  # by which noise grows where its integers fall short of what was asked
CONFIDENCES = (Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000))  # of AS00, table 1
_FLOAT_ERROR = 1e-12  # by which sums of floats here may err


# ---- from a schema to a plan


@dataclass(frozen=True)
class AnswerCost:
    """What it costs that each report answers ``answered`` of the protected columns.

    ``limits`` is what γ of one column stays below, ``cost`` how many reports are worth one direct answer, on average
    over columns.
    """

    answered: int
    limit: float
    cost: float


def plan_table(
    schema: Any,
    promise: Breach | None = None,
    *,
    reports: int = USUAL_REPORTS,
    reports_per_person: int = 1,
    answer: "int | str | None" = None,
    whole: Collection[str] = (),
) -> TablePlan:
    """Choose the plan of a table: a grid or an order of values, and a law of release, for each column.

    Args:
        schema: path of a TOML file, or what one holds (docs/cli/numeric.md).
        promise: of all protected columns together; 5% → 50% by default.
        reports: how many are expected; by this number columns are cut into intervals.
        reports_per_person: R, all of which the promise covers.
        answer: how many of the protected columns a report answers, labels apart; "all", or by default the best.
        whole: names of columns that hold whole numbers, as :func:`assocpriv.numeric.sample_whole` finds them; what the
            schema says itself goes before.

    Returns:
        The plan, which states no promise where no column is protected.

    Raises:
        PlanError: what is wrong in the schema, or a promise where no column is protected.

    Warns:
        UserWarning: values of a column that are equal but for case, Unicode form, blanks or leading zeros.

    Source: EGS03, section 4, for γ; Li and others, SIGMOD 2020, section 5, for the square wave; AS00, section 2, for
    noise.

    >>> import assocpriv as ap
    >>> column = {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}
    >>> ap.numeric.plan_table({"columns": {"x": column}}).promise.amplification_limit
    Fraction(19, 1)
    """
    check_range("reports", reports, 1, MOST_REPORTS)
    check_range("reports_per_person", reports_per_person, 1, MOST_REPORTS_PER_PERSON)
    if isinstance(whole, str | bytes):
        raise TypeError("whole must be a list of names of columns, got text")
    asked = [_recognized(column, whole) for column in read_schema(schema)]
    warn_of_twins(asked)
    if not any(column.is_protected for column in asked):
        if promise is not None or answer is not None:
            what = "promise" if promise is not None else "number of columns to answer"
            raise PlanError(f"no column is protected, so there is no use for a {what}; {_HOW_TO_PROTECT}")
        columns = _columns(asked, None, reports)
        return TablePlan(columns, 0, None, reports_per_person)
    breach = USUAL_PROMISE if promise is None else check_promise(promise)
    free = [column for column in asked if column.is_protected and column.kind != LABEL]
    labels = [column for column in asked if column.is_protected and column.kind == LABEL]
    sizes = [_size(column, reports) for column in (*free, *labels)]
    costs = _costs(sizes, len(labels), breach.amplification_limit, reports_per_person)
    answered = _answered(answer, costs)
    check_answers(answered + len(labels), reports_per_person)
    limit = share_limit(breach.amplification_limit, (answered + len(labels)) * reports_per_person, _ROOT_BITS)
    columns = _columns(asked, limit, reports)
    return TablePlan(columns, answered, breach, reports_per_person)


def _recognized(asked: ColumnRequest, whole: Collection[str]) -> ColumnRequest:
    """Return a column, of whole numbers if it is named, its bounds are whole, and the schema does not say."""
    if asked.name not in whole or asked.whole is not None or not _has_whole_bounds(asked):
        return asked
    _LOG.info("column %s: whole numbers from %d to %d, as in the sample", asked.name, asked.low, asked.high)
    return replace(asked, whole=True)


def _has_whole_bounds(asked: ColumnRequest) -> bool:
    return asked.kind == NUMBER and asked.low.denominator == asked.high.denominator == 1


def _answered(answer: "int | str | None", costs: Sequence[AnswerCost]) -> int:
    """Return how many columns a report answers."""
    most = costs[-1].answered
    if answer is None:
        return min(costs, key=lambda each: (each.cost, -each.answered)).answered
    if answer == ALL:
        return most
    if type(answer) is not int or not min(1, most) <= answer <= most:
        raise PlanError(f"a report answers 1 to {most} of the protected columns, or all, got {answer!r}")
    return answer


# ---- columns


def _columns(asked: Sequence[ColumnRequest], limit: Fraction | None, reports: int) -> tuple[Column, ...]:
    """Return the columns; tell of those whose edges are whole numbers where the schema does not say if values are."""
    columns = tuple(_column(column, limit, reports) for column in asked)
    open_ = [each for request, each in zip(asked, columns, strict=True) if request.whole is None]
    names = [each.name for each in open_ if isinstance(each, NumberColumn) and _has_whole_edges(each)]
    if names:
        _LOG.info(
            "edges of intervals are whole numbers in %s. If values are, too (ages, ratings, counts), set whole = true, "
            "low and high to the least and the greatest; else they are taken as spread evenly, and means are up to "
            "half a cell off. Set whole = false if they are not",
            shortened(names),
        )
    return columns


def _has_whole_edges(column: NumberColumn) -> bool:
    width = (column.high - column.low) / column.intervals
    return column.low.denominator == width.denominator == 1


def _column(asked: ColumnRequest, limit: Fraction | None, reports: int) -> Column:
    try:
        if asked.kind != NUMBER:
            law = Clear(len(asked.values)) if limit is None or asked.release == AS_IS else _response(asked, limit)
            made: Any = COLUMNS[asked.kind]
            column: Column = made(asked.name, law, asked.optional, asked.values)
            return column
        intervals, cells = _grid(asked, reports)
        law = _number_law(asked, cells, limit)
        return (WholeColumn if asked.whole else NumberColumn)(
            asked.name, law, asked.optional, asked.low, asked.high, intervals
        )
    except PlanError as error:
        raise PlanError(f"column {asked.name}: {error}") from None


def _response(asked: ColumnRequest, limit: Fraction) -> Law:
    return design_window(len(asked.values), limit, optional=asked.optional, near=1)


def _number_law(asked: ColumnRequest, cells: int, limit: Fraction | None) -> Law:
    if asked.release == AS_IS:
        return Clear(cells)
    if asked.privacy is None:
        assert limit is not None  # a square wave: whatever is protected has a promise
        return design_window(cells, limit, optional=asked.optional)
    designs: dict[str, Any] = {MEMBERSHIP: design_membership, UNIFORM: design_uniform, GAUSSIAN: design_gaussian}
    law: Law = designs[asked.release](cells, asked.privacy, asked.confidence)
    return law


def _grid(asked: ColumnRequest, reports: int) -> tuple[int, int]:
    """Return how many intervals and cells a column of numbers has."""
    classes = _classes(asked)
    usual = default_intervals(reports)
    if asked.whole:
        return _whole_grid(asked, classes, usual)
    if asked.intervals is not None:
        intervals = asked.intervals
    elif asked.cells is not None:
        intervals = max(n for n in range(1, min(usual, asked.cells) + 1) if asked.cells % n == 0)
    else:
        intervals = classes if 1 < classes <= usual else usual
    if asked.cells is not None:
        return intervals, asked.cells
    base = lcm(intervals, classes)
    # classes have two cells at least, so that a plan tells them from a grid whose cells are released as they are
    cells = base * (max(1, -(-GRID // base)) if classes == 1 else 1 + (base == classes))
    if cells > MOST_OUTPUTS:
        raise PlanError(f"{intervals:,} intervals and {classes:,} classes need a grid of {cells:,} cells; take fewer")
    return intervals, cells


def _whole_grid(asked: ColumnRequest, classes: int, usual: int) -> tuple[int, int]:
    """Return the same of whole numbers: a cell each, or for as few neighbours that there are at least GRID cells."""
    values = int(asked.high - asked.low) + 1
    step = max(1, values // GRID) if asked.cells is None else -(-values // asked.cells)
    cells = -(-values // step)
    most = asked.intervals or (classes if 1 < classes <= usual else usual)
    group = -(-cells // most)
    block = group
    if classes > 1:
        if classes >= cells:
            raise PlanError("classes of so little privacy hold one value each; ask for more, or release as-is")
        width = -(-cells // classes)
        group = min(group, width)
        block = group * -(-width // group)
    cells = block * -(-cells // block)
    return cells // group, cells


def _classes(asked: ColumnRequest) -> int:
    """Return how many classes value-class membership has, the most that have the privacy asked for; otherwise 1."""
    if asked.release != MEMBERSHIP or asked.privacy is None:
        return 1
    classes = asked.confidence // asked.privacy
    if classes < 2:
        most = float(asked.confidence / 2)
        raise PlanError(
            f"classes give a privacy of at most {most:.4g} of the range at this confidence, where there are two; ask "
            "for less, or take noise"
        )
    return classes


# ---- the law of one column


def design_membership(cells: int, privacy: Fraction, confidence: Fraction) -> Clear:
    """Return classes as narrow as they may be, equal ones that the cells divide into.

    Raises:
        PlanError: more privacy than even a single class gives.

    >>> design_membership(60, Fraction(1, 4), Fraction(19, 20)).width
    20
    """
    _check(privacy, confidence)
    for width in range(1, cells + 1):
        if cells % width == 0 and confidence * width >= privacy * cells:
            return Clear(cells, width)
    raise PlanError(f"classes give at most a privacy of {float(confidence):.4g} of the range at this confidence")


def design_uniform(cells: int, privacy: Fraction, confidence: Fraction) -> UniformNoise:
    """Return the least uniform noise of so much privacy.

    >>> law = design_uniform(60, Fraction(1), Fraction(19, 20))
    >>> law.reach, float(law.known_width(Fraction(19, 20)) / 60)
    (32, 1.0291666666666666)
    """
    _check(privacy, confidence)
    return UniformNoise(cells, max(1, math.ceil((privacy * cells / confidence - 1) / 2)))


def design_gaussian(cells: int, privacy: Fraction, confidence: Fraction) -> GaussianNoise:
    """Return Gaussian noise of so much privacy: each cell's mass in units of 2^-32, rounded down, the rest to noise 0.

    >>> law = design_gaussian(60, Fraction(1), Fraction(19, 20))
    >>> 1 <= law.known_width(Fraction(19, 20)) / 60 < 1.001
    True
    """
    from scipy.special import ndtri

    _check(privacy, confidence)
    deviation = float(privacy) * cells / (2 * float(ndtri((1 + float(confidence)) / 2)))
    while True:
        law = GaussianNoise(cells, _gaussian_half(deviation))
        if law.known_width(confidence) >= privacy * cells:
            return law
        deviation *= _WIDER


def _gaussian_half(deviation: float) -> tuple[int, ...]:
    from scipy.special import ndtr

    half: list[int] = []
    for k in range(1, MOST_OUTPUTS):
        mass = float(ndtr((0.5 - k) / deviation) - ndtr((-0.5 - k) / deviation))
        if mass * LARGEST_TOTAL < 1:
            break
        half.append(int(mass * LARGEST_TOTAL))
    if not half:
        raise PlanError("the noise asked for is smaller than a cell of the grid; take more cells, or release as-is")
    return (LARGEST_TOTAL - 2 * sum(half), *half)


def design_window(inputs: int, limit: Fraction, *, optional: bool, near: int | None = None) -> Window:
    """Return a window whose γ is strictly below a limit, with weights as fine as one random word allows.

    Args:
        inputs: cells or values.
        limit: of γ, above 1.
        optional: whether a value may be missing, which takes part in γ.
        near: outputs near the value; for numbers by default :func:`_square_wave_width`, for named values 1.

    >>> law = design_window(4, Fraction(19), optional=False, near=1)
    >>> law.amplification < 19, float(law.amplification)
    (True, 18.999999...)
    """
    if limit <= 1:
        raise PlanError(
            "a column's share of the promise must allow a γ above 1; take fewer columns or a weaker promise"
        )
    near = _square_wave_width(inputs, limit) if near is None else near
    others = inputs - 1 + (near if optional else 0)
    low = math.floor(LARGEST_TOTAL / (near * limit + others))
    high = math.ceil(limit * low) - 1
    if low < 1:
        raise PlanError("the promise is so weak that it protects nothing; take a smaller ε, or release columns as-is")
    if high <= low:
        raise PlanError("the promise leaves a column next to nothing to tell; take fewer columns or a weaker promise")
    return Window(inputs, near, high, low)


def _square_wave_width(cells: int, limit: Fraction) -> int:
    """Return how many cells, an odd number, a square wave's near outputs take.

    The half-width b = (ε e^ε − e^ε + 1) / (2 e^ε (e^ε − 1 − ε)), in units of the range, maximizes a bound of the mutual
    information between value and report. Source: Li et al., SIGMOD 2020, section 5.2.

    >>> _square_wave_width(100, Fraction(19))
    13
    """
    ratio = float(limit)
    exponent = math.log(ratio)
    half = 0.5 if exponent < 1e-3 else (exponent * ratio - ratio + 1) / (2 * ratio * (ratio - 1 - exponent))
    return 2 * math.floor(half * cells) + 1


def _check(privacy: Fraction, confidence: Fraction) -> None:
    if not 0 < confidence < 1:
        raise PlanError("a confidence must lie between 0 and 1, such as 95%")
    if privacy <= 0:
        raise PlanError("privacy must be above 0: a share of the range, such as 50%")


# ---- how many columns a report answers


@dataclass(frozen=True)
class _ColumnSize:
    """What the cost of a protected column depends on."""

    inputs: int
    is_number: bool
    optional: bool


def _size(asked: ColumnRequest, reports: int) -> _ColumnSize:
    if asked.kind == NUMBER:
        return _ColumnSize(_grid(asked, reports)[1], True, asked.optional)
    return _ColumnSize(len(asked.values), False, asked.optional)


def answer_costs(plan: TablePlan) -> list[AnswerCost]:
    """Return what each number of answered columns would cost under a plan's promise; empty without one."""
    if plan.promise is None:
        return []
    columns = [column for column in plan.columns if column.is_protected]
    columns.sort(key=lambda column: isinstance(column, LabelColumn))
    sizes = [_ColumnSize(column.inputs, isinstance(column, NumberColumn), column.optional) for column in columns]
    labels = len(columns) - len(plan.asked)
    return _costs(sizes, labels, plan.promise.amplification_limit, plan.reports_per_person)


def _costs(sizes: Sequence[_ColumnSize], labels: int, limit: Fraction, reports_per_person: int) -> list[AnswerCost]:
    """Return the costs of all numbers of answers; the labels' sizes come last."""
    free = len(sizes) - labels
    found = []
    for answered in range(min(1, free), free + 1):
        share = float(limit) ** (1 / ((answered + labels) * reports_per_person))
        cost = {size: _column_cost(size, share) for size in set(sizes)}  # columns are often alike
        of_free = sum(cost[size] for size in sizes[:free]) * (free / answered if free else 1)
        found.append(AnswerCost(answered, share, (of_free + sum(cost[size] for size in sizes[free:])) / len(sizes)))
    return found


def _column_cost(size: _ColumnSize, ratio: float) -> float:
    """Return how many reports of a column with a γ are worth one direct answer.

    >>> _column_cost(_ColumnSize(2, False, False), 3.0)  # p − q = 1/2
    4.0
    """
    n = size.inputs
    if not size.is_number:
        return ((ratio + n - 1 + size.optional) / (ratio - 1)) ** 2
    near = _square_wave_width(n, Fraction(ratio))
    total, outputs = near * ratio + n - 1 + near * size.optional, n + near - 1
    spread = outputs * (outputs**2 - 1) / 12 + (ratio - 1) * near * (n**2 + near**2 - 2) / 12
    slope = near * (ratio - 1) / total
    return spread / total / slope**2 / ((n**2 - 1) / 12)


# ---- what a plan promises


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
    points = column.grain == column.cell_width  # no continuous law releases them
    if isinstance(law, Window):
        distance = None if points else wave_distance(law, optional=column.optional)
        return ColumnFacts(column, SQUARE_WAVE, (), law.near * unit / 2, distance)
    if isinstance(law, Clear) and law.width == 1:
        return ColumnFacts(column, AS_IS)
    widths = tuple(map(column.known_width, CONFIDENCES))
    if isinstance(law, Clear):
        return ColumnFacts(column, MEMBERSHIP, widths, law.width * unit)
    if isinstance(law, UniformNoise):
        return ColumnFacts(
            column, UNIFORM, widths, (2 * law.reach + 1) * unit / 2, None if points else uniform_distance(law)
        )
    assert isinstance(law, GaussianNoise)
    distance = None if points else gaussian_distance(law)
    return ColumnFacts(column, GAUSSIAN, widths, gaussian_deviation(law) * unit, distance)


# ---- distances to continuous laws


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


# ---- guided perturbation


@dataclass(frozen=True, slots=True)
class GuidedFacts:
    """A plan, and what so many reports make of it."""

    plan: GuidedPlan
    reports: int

    @property
    def guidances(self) -> int:
        """How often guidance is published while so many reports come in."""
        return -(-self.reports // self.plan.batch)

    @property
    def random_share(self) -> Fraction | None:
        """q, the share of reports that answer for a random tuple; None where the promise is not kept so."""
        safeguard = self.plan.safeguard
        return 1 - Fraction(safeguard.honest, 1 << TUPLE_BITS) if isinstance(safeguard, TupleMix) else None


def foresee_guided(plan: GuidedPlan, reports: int) -> GuidedFacts:
    """Return what a plan promises; PlanError for fewer reports than one."""
    if check_whole("reports", reports) < 1:
        raise PlanError(f"reports must be at least 1, got {reports}")
    return GuidedFacts(plan, reports)
