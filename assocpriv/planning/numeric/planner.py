"""From a schema to the plan of a table: grids, laws of release, and how a promise is shared among columns.

The promise covers everything that a person sends: with R reports of d protected columns, of which each report answers
k, and l protected labels, which each report answers, every column gets the (k + l)·R-th root of the limit of γ. Fewer
answers are better ones: k is chosen so that the mean over columns of their *cost* is least. The cost of a column is how
many reports are worth one person that is asked directly: the ratio of two variances, times d / k where k < d.

    named values    of the inverted randomized response, summed over the values:  1 / (p − q)²
    numbers         of the unbiased mean of values spread evenly over the range

p and q are a value's chance of being reported as it is, and as a given other one. Neither depends on how many reports
there are. Answering few of the columns instead of all: Wang et al., Collecting and Analyzing Multidimensional Data with
Local Differential Privacy, ICDE 2019, where k follows from ε alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from assocpriv.planning.numeric.designs import (
    design_gaussian,
    design_membership,
    design_uniform,
    design_window,
    share_limit,
    square_wave_width,
)
from assocpriv.planning.numeric.schema import (
    AS_IS,
    GAUSSIAN,
    LABEL,
    MEMBERSHIP,
    NUMBER,
    UNIFORM,
    ColumnRequest,
    read_schema,
)
from assocpriv.plans.columns import (
    COLUMNS,
    MOST_OUTPUTS,
    Clear,
    Column,
    LabelColumn,
    Law,
    NumberColumn,
    default_intervals,
)
from assocpriv.plans.tables import MOST_REPORTS_PER_PERSON, TablePlan, check_answers
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import check_range

USUAL_PROMISE = Breach("5%", "50%")
USUAL_REPORTS = 1_000_000
GRID = 1000  # cells at least, where nothing else is asked for
ALL = "all"
_MOST_REPORTS = 10**15


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
) -> TablePlan:
    """Choose the plan of a table.

    Args:
        schema: path of a TOML file, or what one holds (docs/cli/numeric.md).
        promise: of all protected columns together; 5% → 50% by default.
        reports: how many are expected; by this number columns are cut into intervals.
        reports_per_person: R, all of which the promise covers.
        answer: how many of the protected columns a report answers, labels apart; "all", or by default the best.

    Raises:
        PlanError: what is wrong in the schema, or a promise where no column is protected.

    >>> column = {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}
    >>> plan_table({"columns": {"x": column}}).promise.amplification_limit
    Fraction(19, 1)
    """
    check_range("reports", reports, 1, _MOST_REPORTS)
    check_range("reports_per_person", reports_per_person, 1, MOST_REPORTS_PER_PERSON)
    asked = read_schema(schema)
    if not any(column.is_protected for column in asked):
        if promise is not None or answer is not None:
            what = "promise" if promise is not None else "number of columns to answer"
            raise PlanError(f"no column is protected, so there is no use for a {what}; {_HOW_TO_PROTECT}")
        columns = tuple(_column(column, None, reports) for column in asked)
        return TablePlan(columns, 0, None, reports_per_person)
    breach = USUAL_PROMISE if promise is None else promise
    free = [column for column in asked if column.is_protected and column.kind != LABEL]
    labels = [column for column in asked if column.is_protected and column.kind == LABEL]
    sizes = [_size(column, reports) for column in (*free, *labels)]
    costs = _costs(sizes, len(labels), breach.amplification_limit, reports_per_person)
    answered = _answered(answer, costs)
    check_answers(answered + len(labels), reports_per_person)
    limit = share_limit(breach.amplification_limit, (answered + len(labels)) * reports_per_person)
    columns = tuple(_column(column, limit, reports) for column in asked)
    return TablePlan(columns, answered, breach, reports_per_person)


_HOW_TO_PROTECT = "release a number by square-wave, a category by response"


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


def _column(asked: ColumnRequest, limit: Fraction | None, reports: int) -> Column:
    try:
        if asked.kind != NUMBER:
            law = Clear(len(asked.values)) if limit is None or asked.release == AS_IS else _response(asked, limit)
            made: Any = COLUMNS[asked.kind]
            column: Column = made(asked.name, law, asked.optional, asked.values)
            return column
        intervals, cells = _grid(asked, reports)
        return NumberColumn(
            asked.name, _number_law(asked, cells, limit), asked.optional, asked.low, asked.high, intervals
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


# ---- how many columns a report answers


@dataclass(frozen=True)
class ColumnSize:
    """What the cost of a protected column depends on."""

    inputs: int
    is_number: bool
    optional: bool


def _size(asked: ColumnRequest, reports: int) -> ColumnSize:
    if asked.kind == NUMBER:
        return ColumnSize(_grid(asked, reports)[1], True, asked.optional)
    return ColumnSize(len(asked.values), False, asked.optional)


def answer_costs(plan: TablePlan) -> list[AnswerCost]:
    """Return what each number of answered columns would cost under a plan's promise; empty without one."""
    if plan.promise is None:
        return []
    columns = [column for column in plan.columns if column.is_protected]
    columns.sort(key=lambda column: isinstance(column, LabelColumn))
    sizes = [ColumnSize(column.inputs, isinstance(column, NumberColumn), column.optional) for column in columns]
    labels = len(columns) - len(plan.asked)
    return _costs(sizes, labels, plan.promise.amplification_limit, plan.reports_per_person)


def _costs(sizes: Sequence[ColumnSize], labels: int, limit: Fraction, reports_per_person: int) -> list[AnswerCost]:
    """Return the costs of all numbers of answers; the labels' sizes come last."""
    free = len(sizes) - labels
    found = []
    for answered in range(min(1, free), free + 1):
        share = float(limit) ** (1 / ((answered + labels) * reports_per_person))
        cost = {size: column_cost(size, share) for size in set(sizes)}  # columns are often alike
        of_free = sum(cost[size] for size in sizes[:free]) * (free / answered if free else 1)
        found.append(AnswerCost(answered, share, (of_free + sum(cost[size] for size in sizes[free:])) / len(sizes)))
    return found


def column_cost(size: ColumnSize, ratio: float) -> float:
    """Return how many reports of a column with a γ are worth one direct answer.

    >>> column_cost(ColumnSize(2, False, False), 3.0)  # p − q = 1/2
    4.0
    """
    n = size.inputs
    if not size.is_number:
        return ((ratio + n - 1 + size.optional) / (ratio - 1)) ** 2
    near = square_wave_width(n, Fraction(ratio))
    total, outputs = near * ratio + n - 1 + near * size.optional, n + near - 1
    spread = outputs * (outputs**2 - 1) / 12 + (ratio - 1) * near * (n**2 + near**2 - 2) / 12
    slope = near * (ratio - 1) / total
    return spread / total / slope**2 / ((n**2 - 1) / 12)
