"""Plans of tables, made from schemas.

A schema becomes a plan with grids, mechanisms with integer weights, and a share of the guarantee for each column. The
planner uses no records. The guarantee covers all reports of a person. There are d protected columns and l protected
labels. Each of a person's R reports has k of the columns and all labels, so every column gets the (k + l)·R-th root of
the limit of γ. Smaller k gives less noise in each column: k minimizes the mean *sampling cost* of the columns. The cost
of a column is the number of reports that estimate it as well as one unrandomized value: the ratio of two variances,
times d / k for k < d. The variances are those

    named values    of the inverted randomized response, summed over the values:  1 / (p − q)²
    numbers         of the unbiased mean, for values uniform over the range

p and q are the probabilities that a value is reported unchanged, and as a given other value. The cost does not depend
on the number of reports. Reporting few columns instead of all: Wang et al., Collecting and Analyzing Multidimensional
Data with Local Differential Privacy, ICDE 2019, where k follows from ε alone.

Additive noise is specified by *privacy* p at confidence c, a share of the range. It is the width of the interval that
contains the value with probability c, given the release (AS00, section 2.2): W·c for classes of width W, 2α·c for noise
uniform on ±α, and 2σΦ⁻¹((1+c)/2) for Gaussian noise. A window is specified by a limit of γ. The planner chooses the
integers with floats. The guarantee is then computed exactly from the integers, and always meets the specification.

The facts about a plan list, for each column, its privacy (computed from the integers), its grid and the sampling costs.
For a plan of guided perturbation they hold for any published guidance. Noise on a grid differs from continuous noise,
because a value is released as that of its cell. The *distance* of a column is the total variation between two
distributions, for the worst value in a cell: the release, spread evenly over its cell, and the release by the
continuous mechanism. No test of one release distinguishes the two with a larger advantage, so properties of the
continuous mechanism hold for the grid up to this distance. A grid is needed because continuous noise drawn in floating
point discloses the value by the low bits of the sum. Source: Mironov, On significance of the least significant bits for
differential privacy, CCS 2012.
"""

import logging
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.intervals import normal_cdf
from assocpriv.guarantees.amplification import Guarantee, check_guarantee, float_up, root_of_limit
from assocpriv.guarantees.errors import PlanError, pluralize
from assocpriv.guarantees.exact_numbers import check_range, check_whole
from assocpriv.planning.operator_designs import MOST_REPORTS
from assocpriv.planning.table_schema import (
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
    warn_of_near_duplicates,
)
from assocpriv.plans.guided.guided_plan import TUPLE_BITS, GuidedPlan, TupleMix
from assocpriv.plans.numeric.table_columns import (
    COLUMNS,
    LARGEST_TOTAL,
    MOST_OUTPUTS,
    Clear,
    Column,
    GaussianNoise,
    LabelColumn,
    Mechanism,
    Noise,
    NumberColumn,
    UniformNoise,
    WholeColumn,
    Window,
    default_intervals,
)
from assocpriv.plans.numeric.table_plan import TablePlan, check_protected_values, shortened
from assocpriv.plans.published_plan import MOST_REPORTS_PER_PERSON
from assocpriv.plans.result_display import (
    bound_text,
    gamma_and_epsilon,
    html_renderer,
    plan_bound,
    rows_frame,
    short_repr,
)

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger("assocpriv")  # notes about schemas; the command line prints them
_ROOT_BITS = 48  # binary places of the limit of γ for one column
DEFAULT_GUARANTEE = Guarantee("5%", "50%")
DEFAULT_REPORTS = 1_000_000
GRID = 1000  # default minimum of cells
ALL = "all"
_HOW_TO_PROTECT = "release a number by square-wave, a category by response"
_WIDER = 1 + 2.0**-20  # factor by which noise grows until its integers give the specified privacy
CONFIDENCES = (Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000))  # of AS00, table 1
_FLOAT_ERROR = 1e-12  # maximum error of the sums of floats in this module


# ---- from a schema to a plan


@dataclass(frozen=True)
class SamplingCost:
    """The cost of a number of protected columns per report.

    Attributes:
        columns_per_report: k.
        limit: strict upper bound of γ of one column.
        cost: number of reports that estimate a column as well as one unrandomized value, on average over columns.
    """

    columns_per_report: int
    limit: float
    cost: float


def plan_table(
    schema: Any,
    guarantee: Guarantee | None = None,
    *,
    reports: int = DEFAULT_REPORTS,
    reports_per_person: int = 1,
    columns_per_report: "int | str | None" = None,
    whole: Collection[str] = (),
) -> TablePlan:
    """Choose the plan of a table: for each column a grid or an order of values, and a mechanism.

    Args:
        schema: path of a TOML file, or its content (docs/cli/numeric.md).
        guarantee: of all protected columns together; by default 5% → 50%.
        reports: expected number of reports; it determines the number of intervals.
        reports_per_person: R, the number of reports of one person that the guarantee covers.
        columns_per_report: number of protected columns in a report, without labels; "all", or by default the number
            with the smallest cost.
        whole: names of columns of whole numbers, from :func:`assocpriv.numeric.find_whole_columns`; the schema takes
            precedence.

    Returns:
        The plan. It has no guarantee if no column is protected.

    Raises:
        PlanError: the schema is invalid, or there is a guarantee but no protected column.

    Warns:
        UserWarning: values of a column differ only in case, Unicode form, blanks or leading zeros.

    Source: EGS03, section 4, for γ; Li and others, SIGMOD 2020, section 5, for the square wave; AS00, section 2, for
    noise.

    >>> import assocpriv as ap
    >>> column = {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}
    >>> ap.numeric.plan_table({"columns": {"x": column}}).guarantee.amplification_limit
    Fraction(19, 1)
    """
    check_range("reports", reports, 1, MOST_REPORTS)
    check_range("reports_per_person", reports_per_person, 1, MOST_REPORTS_PER_PERSON)
    if isinstance(whole, str | bytes):
        raise TypeError("whole must be a list of column names, got text")
    requests = [_add_whole(column, whole) for column in read_schema(schema)]
    warn_of_near_duplicates(requests)
    if not any(column.is_protected for column in requests):
        if guarantee is not None or columns_per_report is not None:
            what = "guarantee" if guarantee is not None else "columns_per_report"
            raise PlanError(f"no column is protected, so {what} has no effect; {_HOW_TO_PROTECT}")
        columns = _columns(requests, None, reports)
        return TablePlan(columns, 0, None, reports_per_person)
    guarantee = DEFAULT_GUARANTEE if guarantee is None else check_guarantee(guarantee)
    free = [column for column in requests if column.is_protected and column.kind != LABEL]
    labels = [column for column in requests if column.is_protected and column.kind == LABEL]
    sizes = [_size(column, reports) for column in (*free, *labels)]
    costs = _costs(sizes, len(labels), guarantee.amplification_limit, reports_per_person)
    sampled = _columns_per_report(columns_per_report, costs)
    check_protected_values(sampled + len(labels), reports_per_person)
    limit = root_of_limit(guarantee.amplification_limit, (sampled + len(labels)) * reports_per_person, _ROOT_BITS)
    columns = _columns(requests, limit, reports)
    return TablePlan(columns, sampled, guarantee, reports_per_person)


def _add_whole(request: ColumnRequest, whole: Collection[str]) -> ColumnRequest:
    """Return a column, of whole numbers if ``whole`` names it, its bounds are whole, and the schema does not say."""
    if request.name not in whole or request.whole is not None or not _has_whole_bounds(request):
        return request
    _LOG.info("column %s: whole numbers from %d to %d, as in the sample", request.name, request.low, request.high)
    return replace(request, whole=True)


def _has_whole_bounds(request: ColumnRequest) -> bool:
    return request.kind == NUMBER and request.low.denominator == request.high.denominator == 1


def _columns_per_report(wanted: "int | str | None", costs: Sequence[SamplingCost]) -> int:
    """Return the number of protected columns in a report."""
    most = costs[-1].columns_per_report
    if wanted is None:
        return min(costs, key=lambda each: (each.cost, -each.columns_per_report)).columns_per_report
    if wanted == ALL:
        return most
    if type(wanted) is not int or not min(1, most) <= wanted <= most:
        raise PlanError(f"columns_per_report must be in 1..{most} or {ALL!r}, got {wanted!r}")
    return wanted


# ---- columns


def _columns(requests: Sequence[ColumnRequest], limit: Fraction | None, reports: int) -> tuple[Column, ...]:
    """Return the columns; log those with whole interval edges if the schema does not say whether values are whole."""
    columns = tuple(_column(request, limit, reports) for request in requests)
    open_ = [each for request, each in zip(requests, columns, strict=True) if request.whole is None]
    names = [each.name for each in open_ if isinstance(each, NumberColumn) and _has_whole_edges(each)]
    if names:
        _LOG.info(
            "edges of intervals are whole numbers in %s. If the values are whole numbers, too (ages, ratings, counts), "
            "set whole = true, and low and high to the smallest and largest value; otherwise estimated means may be "
            "off by half a cell. If they are not, set whole = false",
            shortened(names),
        )
    return columns


def _has_whole_edges(column: NumberColumn) -> bool:
    width = (column.high - column.low) / column.intervals
    return column.low.denominator == width.denominator == 1


def _column(request: ColumnRequest, limit: Fraction | None, reports: int) -> Column:
    try:
        if request.kind != NUMBER:
            as_is = Clear(len(request.values))
            mechanism: Mechanism = as_is
            if limit is not None and request.release != AS_IS:
                mechanism = design_window(as_is.inputs, limit, optional=request.optional, near=1)
            make: Any = COLUMNS[request.kind]
            column: Column = make(request.name, mechanism, request.optional, request.values)
            return column
        intervals, cells = _grid(request, reports)
        mechanism = _number_mechanism(request, cells, limit)
        number = WholeColumn if request.whole else NumberColumn
        return number(request.name, mechanism, request.optional, request.low, request.high, intervals)
    except PlanError as error:
        raise PlanError(f"column {request.name}: {error}") from None


def _number_mechanism(request: ColumnRequest, cells: int, limit: Fraction | None) -> Mechanism:
    if request.release == AS_IS:
        return Clear(cells)
    if request.privacy is None:
        assert limit is not None  # a square wave: protected columns have a guarantee
        return design_window(cells, limit, optional=request.optional)
    designs = {MEMBERSHIP: design_membership, UNIFORM: design_uniform, GAUSSIAN: design_gaussian}
    return designs[request.release](cells, request.privacy, request.confidence)


def _grid(request: ColumnRequest, reports: int) -> tuple[int, int]:
    """Return the numbers of intervals and cells of a column of numbers."""
    classes = _classes(request)
    default = default_intervals(reports)
    if request.whole:
        return _whole_grid(request, classes, default)
    if request.intervals is not None:
        intervals = request.intervals
    elif request.cells is not None:
        intervals = max(n for n in range(1, min(default, request.cells) + 1) if request.cells % n == 0)
    else:
        intervals = classes if 1 < classes <= default else default
    if request.cells is not None:
        return intervals, request.cells
    base = lcm(intervals, classes)
    # classes have at least two cells, which distinguishes them from a grid that is released as-is
    cells = base * (max(1, -(-GRID // base)) if classes == 1 else 1 + (base == classes))
    if cells > MOST_OUTPUTS:
        raise PlanError(f"{intervals:,} intervals and {classes:,} classes need a grid of {cells:,} cells; choose fewer")
    return intervals, cells


def _whole_grid(request: ColumnRequest, classes: int, default: int) -> tuple[int, int]:
    """Return the same for whole numbers: one value per cell, or more if at least GRID cells remain."""
    values = int(request.high - request.low) + 1
    step = max(1, values // GRID) if request.cells is None else -(-values // request.cells)
    cells = -(-values // step)
    most = request.intervals or (classes if 1 < classes <= default else default)
    group = -(-cells // most)
    block = group
    if classes > 1:
        if classes >= cells:
            raise PlanError("this privacy gives classes of one value each; request more privacy, or release as-is")
        width = -(-cells // classes)
        group = min(group, width)
        block = group * -(-width // group)
    cells = block * -(-cells // block)
    return cells // group, cells


def _classes(request: ColumnRequest) -> int:
    """Return the largest number of classes that have the requested privacy; 1 without value-class membership."""
    if request.release != MEMBERSHIP or request.privacy is None:
        return 1
    classes = request.confidence // request.privacy
    if classes < 2:
        most = float(request.confidence / 2)
        raise PlanError(
            f"two classes give a privacy of at most {most:.4g} of the range at this confidence; request less privacy, "
            "or use noise"
        )
    return classes


# ---- the mechanism of one column


def design_membership(cells: int, privacy: Fraction, confidence: Fraction) -> Clear:
    """Return the narrowest classes of equal width that have a privacy.

    Raises:
        PlanError: a single class has less than the requested privacy.

    >>> design_membership(60, Fraction(1, 4), Fraction(19, 20)).width
    20
    """
    _check(privacy, confidence)
    for width in range(1, cells + 1):
        if cells % width == 0 and confidence * width >= privacy * cells:
            return Clear(cells, width)
    raise PlanError(f"classes give a privacy of at most {float(confidence):.4g} of the range at this confidence")


def design_uniform(cells: int, privacy: Fraction, confidence: Fraction) -> UniformNoise:
    """Return the smallest uniform noise that has a privacy.

    >>> noise = design_uniform(60, Fraction(1), Fraction(19, 20))
    >>> noise.reach, float(noise.known_width(Fraction(19, 20)) / 60)
    (32, 1.0291666666666666)
    """
    _check(privacy, confidence)
    return UniformNoise(cells, max(1, math.ceil((privacy * cells / confidence - 1) / 2)))


def design_gaussian(cells: int, privacy: Fraction, confidence: Fraction) -> GaussianNoise:
    """Return Gaussian noise that has a privacy.

    The mass of each cell is rounded down to a multiple of 2^-32; noise 0 gets the rest.

    >>> noise = design_gaussian(60, Fraction(1), Fraction(19, 20))
    >>> 1 <= noise.known_width(Fraction(19, 20)) / 60 < 1.001
    True
    """
    from scipy.special import ndtri

    _check(privacy, confidence)
    deviation = float(privacy) * cells / (2 * float(ndtri((1 + float(confidence)) / 2)))
    while True:
        noise = GaussianNoise(cells, _gaussian_half(deviation))
        if noise.known_width(confidence) >= privacy * cells:
            return noise
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
        raise PlanError("the noise is smaller than a cell of the grid; set more cells, or release as-is")
    return (LARGEST_TOTAL - 2 * sum(half), *half)


def design_window(inputs: int, limit: Fraction, *, optional: bool, near: int | None = None) -> Window:
    """Return a window whose γ is strictly below a limit, with the finest weights for one random word.

    Args:
        inputs: number of cells or values.
        limit: strict upper bound of γ, above 1.
        optional: whether a value may be missing; γ covers missing values, too.
        near: number of outputs near the value; by default :func:`_square_wave_width`, for numbers.

    >>> window = design_window(4, Fraction(19), optional=False, near=1)
    >>> window.amplification < 19, float(window.amplification)
    (True, 18.999999...)
    """
    if limit <= 1:
        raise PlanError(
            "γ of a column must be allowed to exceed 1; choose fewer protected columns or a weaker guarantee"
        )
    near = _square_wave_width(inputs, limit) if near is None else near
    far = inputs - 1 + (near if optional else 0)
    low = math.floor(LARGEST_TOTAL / (near * limit + far))
    high = math.ceil(limit * low) - 1
    if low < 1:
        raise PlanError("the guarantee is too weak to protect anything; choose a smaller ε, or release columns as-is")
    if high <= low:
        raise PlanError(
            "the guarantee leaves almost no information in a column; choose fewer columns or a weaker guarantee"
        )
    return Window(inputs, near, high, low)


def _square_wave_width(cells: int, limit: Fraction) -> int:
    """Return the number of near outputs of a square wave, in cells; it is odd.

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
        raise PlanError("confidence must be between 0 and 1, such as 95%")
    if privacy <= 0:
        raise PlanError("privacy must be above 0: a share of the range, such as 50%")


# ---- the number of columns in a report


@dataclass(frozen=True)
class _ColumnSize:
    """The properties that determine the sampling cost of a protected column."""

    inputs: int
    is_number: bool
    optional: bool


def _size(request: ColumnRequest, reports: int) -> _ColumnSize:
    if request.kind == NUMBER:
        return _ColumnSize(_grid(request, reports)[1], True, request.optional)
    return _ColumnSize(len(request.values), False, request.optional)


def sampling_costs(plan: TablePlan) -> list[SamplingCost]:
    """Return the cost of each number of columns per report under a plan's guarantee; empty without one."""
    if plan.guarantee is None:
        return []
    columns = [column for column in plan.columns if column.is_protected]
    columns.sort(key=lambda column: isinstance(column, LabelColumn))
    sizes = [_ColumnSize(column.inputs, isinstance(column, NumberColumn), column.optional) for column in columns]
    labels = len(columns) - len(plan.protected_positions)
    return _costs(sizes, labels, plan.guarantee.amplification_limit, plan.reports_per_person)


def _costs(sizes: Sequence[_ColumnSize], labels: int, limit: Fraction, reports_per_person: int) -> list[SamplingCost]:
    """Return the costs of all numbers of columns per report; ``sizes`` has labels last."""
    free = len(sizes) - labels
    costs = []
    for sampled in range(min(1, free), free + 1):
        share = float(limit) ** (1 / ((sampled + labels) * reports_per_person))
        cost = {size: _column_cost(size, share) for size in set(sizes)}  # columns are often alike
        of_free = sum(cost[size] for size in sizes[:free]) * (free / sampled if free else 1)
        costs.append(SamplingCost(sampled, share, (of_free + sum(cost[size] for size in sizes[free:])) / len(sizes)))
    return costs


def _column_cost(size: _ColumnSize, ratio: float) -> float:
    """Return the number of reports with a given γ that estimate a column as well as one unrandomized value.

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


# ---- the guarantee of a plan


@dataclass(frozen=True)
class ColumnFacts:
    """The guarantee of a column.

    Attributes:
        column: the column.
        release: its release, as in a schema.
        widths: for noise and classes, the exact widths of the intervals that contain the value with a probability of
            ``CONFIDENCES``, given its release, as shares of the range; empty for other releases.
        scale: σ of Gaussian noise, half-width of uniform noise and of a square wave, width of classes, in the column's
            unit.
        distance: total variation distance to the continuous mechanism, rounded up; None if there is none.
    """

    column: Column
    release: str
    widths: tuple[Fraction, ...] = ()
    scale: float | None = None
    distance: float | None = None

    @property
    def amplification(self) -> Fraction | None:
        """γ of the column in one report; None if there is none."""
        return self.column.mechanism.amplification


@dataclass(frozen=True)
class TableFacts:
    """The guarantee of a plan of a table, and the cost of each number of columns per report."""

    plan: TablePlan
    reports: int
    columns: tuple[ColumnFacts, ...]
    costs: tuple[SamplingCost, ...]

    _repr_html_ = html_renderer("assocpriv.show.table_views:plan")

    def __repr__(self) -> str:
        rows = [
            f"{each.column.name}: {each.release}, {bound_text(each.amplification) if each.amplification else 'no γ'}"
            for each in self.columns
        ]
        return short_repr(self, f"{pluralize(self.reports, 'report')}, {plan_bound(self.plan)}", rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a column: its release and guarantee, and the scale of its noise."""
        return rows_frame("column kind release amplification epsilon scale distance", (
            (each.column.name, each.column.kind, each.release, *gamma_and_epsilon(each.amplification), each.scale,
             each.distance)
            for each in self.columns
        ))  # fmt: skip


def forecast_table(plan: TablePlan, reports: int) -> TableFacts:
    """Return the guarantee of a plan of a table; PlanError if ``reports`` is below 1."""
    if check_whole("reports", reports) < 1:
        raise PlanError(f"reports must be at least 1, got {reports}")
    return TableFacts(plan, reports, tuple(map(column_facts, plan.columns)), tuple(sampling_costs(plan)))


def column_facts(column: Column) -> ColumnFacts:
    """Return the guarantee of a column."""
    mechanism = column.mechanism
    if not isinstance(column, NumberColumn):
        return ColumnFacts(column, RESPONSE if isinstance(mechanism, Window) else AS_IS)
    unit = float(column.cell_width)
    points = column.grain == column.cell_width  # no continuous mechanism releases them
    if isinstance(mechanism, Window):
        distance = None if points else wave_distance(mechanism, optional=column.optional)
        return ColumnFacts(column, SQUARE_WAVE, (), mechanism.near * unit / 2, distance)
    if isinstance(mechanism, Clear) and mechanism.width == 1:
        return ColumnFacts(column, AS_IS)
    widths = tuple(map(column.known_width, CONFIDENCES))
    if isinstance(mechanism, Clear):
        return ColumnFacts(column, MEMBERSHIP, widths, mechanism.width * unit)
    if isinstance(mechanism, UniformNoise):
        scale = (2 * mechanism.reach + 1) * unit / 2
        return ColumnFacts(column, UNIFORM, widths, scale, None if points else uniform_distance(mechanism))
    assert isinstance(mechanism, GaussianNoise)
    distance = None if points else gaussian_distance(mechanism)
    return ColumnFacts(column, GAUSSIAN, widths, gaussian_deviation(mechanism) * unit, distance)


# ---- distances to continuous mechanisms


def uniform_distance(noise: UniformNoise) -> float:
    """Return the distance to uniform noise of the same width: half a cell of it, for a value at its cell's edge.

    >>> uniform_distance(UniformNoise(10, 2))
    0.1
    """
    return float_up(Fraction(1, 2 * (2 * noise.reach + 1)))


def wave_distance(window: Window, *, optional: bool = False) -> float:
    """Return the distance to the square wave with the same γ and the same width of the near outputs.

    The worst value is at the upper edge of the last cell: the grid's window lies half a cell lower, and its output
    range is one cell shorter. The sum covers the outputs with a larger density on the grid.
    """
    total = window.total(optional=optional)
    longer = total + window.low
    high, low = ((Fraction(weight, total), Fraction(weight, longer)) for weight in (window.high, window.low))
    both_near = (window.near - Fraction(1, 2)) * (high[0] - high[1])
    near_here = Fraction(1, 2) * (high[0] - low[1])
    far = window.inputs - 1 + (window.near if optional else 0)  # a missing value's output weighs near · low
    return float_up(both_near + near_here + far * (low[0] - low[1]))


def gaussian_deviation(noise: Noise) -> float:
    """Return σ, in cells, of the Gaussian distribution with the noise's masses of cells (Sheppard's correction)."""
    weights = np.array(noise.noise_weights, dtype=np.float64)
    steps = np.arange(-noise.largest, noise.largest + 1)
    return math.sqrt(max(float(weights @ steps**2 / weights.sum()) - 1 / 12, 1e-6))


def gaussian_distance(noise: Noise) -> float:
    """Return the distance to Gaussian noise of :func:`gaussian_deviation`, for a value at its cell's edge.

    The distance is largest there. The overlap of two symmetric unimodal densities shrinks as one of them is shifted,
    because at each level the overlap of their intervals above that level shrinks.
    """
    deviation = gaussian_deviation(noise)
    weights = np.array(noise.noise_weights[noise.largest :]) / noise.cumulative[-1]
    first = np.arange(len(weights))
    overlap_below = _overlap(weights, first, deviation)  # the value's own cell and those below
    overlap_above = _overlap(weights[1:], first[:-1], deviation)
    return min(1.0, 1 - overlap_below - overlap_above + _FLOAT_ERROR)


def _overlap(masses: NDArray[np.float64], starts: NDArray[np.int64], deviation: float) -> float:
    """Return the overlap of one half of Gaussian noise with masses spread over cells [start, start + 1]."""
    level = np.minimum(masses * deviation * math.sqrt(2 * math.pi), 1.0)  # relative to the largest density
    crossing = np.clip(deviation * np.sqrt(-2 * np.log(level)), starts, starts + 1)
    beyond = normal_cdf(-crossing / deviation) - normal_cdf(-(starts + 1) / deviation)
    return float(np.sum(masses * (crossing - starts) + beyond))


# ---- guided perturbation


@dataclass(frozen=True, slots=True)
class GuidedFacts:
    """A plan of guided perturbation with an expected number of reports."""

    plan: GuidedPlan
    reports: int

    @property
    def guidances(self) -> int:
        """Number of guidance publications for these reports."""
        return -(-self.reports // self.plan.batch)

    @property
    def random_share(self) -> Fraction | None:
        """q, the share of reports about a random tuple; None with another safeguard."""
        safeguard = self.plan.safeguard
        return 1 - Fraction(safeguard.honest, 1 << TUPLE_BITS) if isinstance(safeguard, TupleMix) else None

    _repr_html_ = html_renderer("assocpriv.show.guided_views:plan")

    def __repr__(self) -> str:
        return short_repr(self, f"{pluralize(self.reports, 'report')}, {plan_bound(self.plan)}", [
            f"guidance is published {pluralize(self.guidances, 'time')}, after every {self.plan.batch:,} reports",
            f"{pluralize(len(self.plan.attributes), 'attribute')}, {pluralize(self.plan.width, 'bit')}; "
            f"the class {self.plan.label.name} is raw",
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return a row an attribute, with its number of values, each a bit of a report."""
        return rows_frame("column values", ((each.name, each.inputs) for each in self.plan.attributes))


def forecast_guided(plan: GuidedPlan, reports: int) -> GuidedFacts:
    """Return the guarantee of a plan; PlanError if ``reports`` is below 1."""
    if check_whole("reports", reports) < 1:
        raise PlanError(f"reports must be at least 1, got {reports}")
    return GuidedFacts(plan, reports)
