"""Distributions of the columns of a table from its released codes: over all records, by class, and of two together.

What is estimated of a column, and where:

    share of each interval or value, by one of METHODS    smooth.py, likelihood.py, iterated_bayes.py, bands.py
    its standard error                                    where nothing is smoothed: of least squares (bands.py)
                                                          otherwise sqrt(V + (share − m)²), the root of the expected
                                                          squared error; m and V are of the posterior of smooth.py
    band of the distribution function, quantiles          bands.py
    mean, variance                                        moments.py: unbiased, and smooth estimates play no part

By default numbers behind noise are estimated by ``smooth``: in bench accuracy it errs least in nearly every cell. What
is released as it is, is counted; named values are estimated by maximum likelihood.

A class that is released in clear is counted apart. Of a protected one the pairs (code, released class) are seen through
both channels at once, and the distribution within each class is part of the joint estimate. Records that were not asked
for a column drop out of it, which is no bias: who is asked is drawn whatever the record holds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import Reports
from assocpriv.kernels.parallel import map_ahead
from assocpriv.plans.columns import CategoryColumn, Clear, Column, transition
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.errors import EstimateError, counted
from assocpriv.server.estimates.intervals import ErrorOptions
from assocpriv.server.numeric.bands import LinearEstimate
from assocpriv.server.numeric.coarse_channel import CoarseChannel, coarse_channel
from assocpriv.server.numeric.counts import count_codes, table_plan
from assocpriv.server.numeric.describe import AUTO, METHODS, Estimate, describe, few_reports, method_of
from assocpriv.server.numeric.distributions import Distribution, Distributions, JointDistribution
from assocpriv.server.numeric.iterated_bayes import iterated_bayes
from assocpriv.server.numeric.likelihood import maximize
from assocpriv.server.numeric.moments import ClassCounts
from assocpriv.server.numeric.smooth import smooth_shares

if TYPE_CHECKING:
    from assocpriv.server.spark import SparkReports

Progress = Callable[[int, int], None]
_MOST_TOGETHER = 256  # inputs of two columns together: their covariance is a matrix of so many rows
_MOST_VALUES = 40  # of a column that is one of two, so that the other keeps ten intervals
_BINS_EACH = 4  # an interval, of a column that is one of two
_SINGLE = ("ems", "bayes", "least-squares")  # methods for one column at a time


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of reports.

    Raises:
        EstimateError: words or names that say nothing, or contradict each other.
    """

    by: str | None = None
    joint: tuple[str, str] | None = None
    method: str = AUTO
    confidence_level: float | str = 0.95

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise EstimateError(f"method must be one of {', '.join(METHODS)}, got {str(self.method)[:40]!r}")
        if self.joint is not None and (len(self.joint) != 2 or self.joint[0] == self.joint[1]):
            raise EstimateError("joint takes the names of two columns that differ, as A,B")
        if self.joint is not None and self.by is not None:
            raise EstimateError("ask for joint or by, one at a time")
        if self.joint is not None and self.method in _SINGLE:
            raise EstimateError(f"method {self.method} takes one column at a time; joint takes smooth or em")


def reconstruct(
    reports: "Reports | SparkReports", question: Question, progress: Progress | None = None
) -> Distributions:
    """Reconstruct what a question asks for; see :func:`assocpriv.numeric.reconstruct`."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):  # matrices of a hundred rows: on several threads they wait for each other
        return _answer(reports, question, progress)


def _answer(reports: "Reports | SparkReports", question: Question, progress: Progress | None) -> Distributions:
    plan, level = table_plan(reports), ErrorOptions(question.confidence_level).confidence_level
    if question.joint is not None:
        pair = (plan.place_of(question.joint[0]), plan.place_of(question.joint[1]))
        joint = _joint(reports, plan, pair, question.method, progress)
        return Distributions(len(reports), level, {}, joint=joint, plan_id=plan.plan_id)
    places = range(len(plan.columns))
    by = None if question.by is None else _class_place(plan, question.by)
    crossed = [] if by is None else [(place, by) for place in places if place != by]
    _check_any(len(reports))
    counts = count_codes(reports, [*((place,) for place in places), *crossed], progress=progress)
    tallied = zip(plan.columns, counts, strict=False)
    found = map_ahead(lambda each: _whole(each[0], each[1][: each[0].codes], question.method, level), tallied)
    whole = {each.name: each for each in found}
    if by is None:
        return Distributions(len(reports), level, whole, plan_id=plan.plan_id)
    tables = {plan.columns[table[0]]: each for table, each in zip(crossed, counts[len(places) :], strict=True)}
    classes, left_out = _by_class(tables, plan.columns[by], question.method, level)
    return Distributions(len(reports), level, whole, question.by, classes, left_out, plan_id=plan.plan_id)


def _check_any(n_reports: int) -> None:
    if not n_reports:
        raise EstimateError("there are no reports to reconstruct from")


def _class_place(plan: TablePlan, name: str) -> int:
    place = plan.place_of(name)
    column = plan.columns[place]
    if not isinstance(column, CategoryColumn):
        raise EstimateError(f"column {name} holds numbers; by takes a label or a category")
    if column.inputs > _MOST_VALUES:
        raise EstimateError(f"column {name} has {column.inputs} values; by takes at most {_MOST_VALUES}")
    return place


def _whole(column: Column, counts: NDArray[np.int64], method: str, level: float) -> Distribution:
    """Return the distribution of a column over all records."""
    channel, n = coarse_channel(column), int(counts.sum())
    why = few_reports(n, channel)
    if why:
        raise EstimateError(f"column {column.name}: {why}")
    return describe(_estimate(counts.astype(np.float64), channel, method), ClassCounts.plain(counts), channel, level)


def _estimate(counts: NDArray[np.float64], channel: CoarseChannel, method: str) -> Estimate:
    """Return shares by a method, and the posterior that their errors come from."""
    chosen = method_of(method, channel.column)
    bins, matrix, row = channel.bin_counts(counts), channel.matrix, channel.ordered
    posterior = None
    if row and not _is_counted(channel.column):
        joined, chances = channel.joined(bins)
        found = smooth_shares(joined[:, None], chances, ordered=(row, 0))
        posterior = LinearEstimate(found.shares[:, 0], found.covariance, is_unbiased=False)
    if chosen == "bayes":
        shares = channel.merged(iterated_bayes(counts, channel.column))  # type: ignore[arg-type]
    elif chosen == "smooth" and posterior is not None:
        shares = posterior.shares
    else:
        shares = maximize(bins, matrix, smooth=chosen == "ems", ordered=row)
    return Estimate(chosen, shares, posterior)


def _is_counted(column: Column) -> bool:
    return isinstance(column.law, Clear)


def _by_class(
    tables: Mapping[Column, NDArray[np.int64]], by: Column, method: str, level: float
) -> tuple[dict[str, dict[str, Distribution]], dict[str, str]]:
    """Return the distributions of each class, and why classes are left out."""
    assert isinstance(by, CategoryColumn)
    classes: dict[str, dict[str, Distribution]] = {value: {} for value in by.values}
    left_out: dict[str, str] = {}
    among = _apart if _is_counted(by) else _together

    def work(part: tuple[Column, NDArray[np.int64]]) -> "list[Distribution | str]":
        column, counts = part
        return among(column, counts, by, method, level)

    cut = ((column, table[: column.codes, : by.codes]) for column, table in tables.items())
    asked = [part for part in cut if part[1].any()]  # records may answer one of both columns, never both
    for (column, _), each in zip(asked, map_ahead(work, asked), strict=True):
        for value, found in zip(by.values, each, strict=False):
            if isinstance(found, str):
                left_out.setdefault(value, f"column {column.name}: {found}")
            else:
                classes[value][column.name] = found
    for value in left_out:
        del classes[value]
    if left_out and not classes:
        raise EstimateError(f"no class of {by.name} has reports enough: {next(iter(left_out.values()))}")
    return classes, left_out


def _apart(
    column: Column, counts: NDArray[np.int64], by: Column, method: str, level: float
) -> "list[Distribution | str]":
    """Return the distribution of a column within each class that is released in clear, or why not."""
    channel, found = coarse_channel(column), []
    for each in counts.T[: by.inputs]:
        why = few_reports(int(each.sum()), channel)
        found.append(why or _whole(column, each, method, level))
    return found


def _together(
    column: Column, counts: NDArray[np.int64], by: Column, method: str, level: float
) -> "list[Distribution | str]":
    """Return the distribution of a column within each protected class, or why not: seen through both channels."""
    if method in ("ems", "bayes"):
        raise EstimateError(f"method {method} takes no protected class; take smooth, em or least-squares")
    second = transition(by)
    channel = _shared_grid(column, second.shape[1])
    estimates = _pair(counts, channel, coarse_channel(by), method_of(method, column))
    found: list[Distribution | str] = []
    for row, estimate in zip(np.linalg.inv(second)[: by.inputs], estimates, strict=False):
        mine = ClassCounts(counts @ row, counts @ row**2, int(counts.sum()))
        why = few_reports(round(mine.values.sum()), channel)
        found.append(why or describe(estimate, mine, channel, level))
    return found


def _shared_grid(column: Column, others: int) -> CoarseChannel:
    """Return a column's channel, coarse enough to be looked at together with so many inputs of another one."""
    most = min(100, _MOST_TOGETHER // others)
    return coarse_channel(column, most, _BINS_EACH * most)


def _pair(counts: NDArray[np.int64], first: CoarseChannel, second: CoarseChannel, method: str) -> list[Estimate]:
    """Return the first column's shares together with each input of the second."""
    bins = second.bin_counts(first.bin_counts(counts).T).T
    found = smooth_shares(bins, first.matrix, second.matrix, (first.ordered, second.ordered))
    shares = found.shares
    if method == "em":
        shares = maximize(bins.ravel(), _kron(first, second)).reshape(shares.shape)
    n = shares.shape[1]
    return [
        Estimate(
            method, shares[:, k], LinearEstimate(found.shares[:, k], found.covariance[k::n, k::n], is_unbiased=False)
        )
        for k in range(n)
    ]


def _kron(first: CoarseChannel, second: CoarseChannel) -> NDArray[np.float64]:
    """Return P(pair of bins | pair of inputs)."""
    return np.asarray(np.kron(first.matrix, second.matrix), dtype=np.float64)


def _joint(
    reports: "Reports | SparkReports",
    plan: TablePlan,
    pair: tuple[int, int],
    method: str,
    progress: Progress | None,
) -> JointDistribution:
    """Return the joint distribution of two columns, on grids so coarse that their covariance can be had."""
    _check_any(len(reports))
    columns = [plan.columns[place] for place in pair]
    for column in columns:
        if isinstance(column, CategoryColumn) and column.inputs > _MOST_VALUES:
            raise EstimateError(f"column {column.name} has {column.inputs} values; joint takes at most {_MOST_VALUES}")
    sizes = [column.inputs + column.optional if isinstance(column, CategoryColumn) else 16 for column in columns]
    first, second = (_shared_grid(column, other) for column, other in zip(columns, reversed(sizes), strict=True))
    bins = {
        place: np.append(each.bin_of, [each.bin_of[-1] + 1] * (plan.code_counts[place] - len(each.bin_of)))
        for place, each in zip(pair, (first, second), strict=True)
    }
    counts = count_codes(reports, [pair], bins=bins, progress=progress)[0]
    counts = counts[: first.bin_of[-1] + 1, : second.bin_of[-1] + 1]
    n, cells = int(counts.sum()), first.n_values * second.n_values
    names = f"columns {columns[0].name} and {columns[1].name}"
    if not n:
        raise EstimateError(f"no report answers both {names}; plan more columns for each to answer")
    if n < cells:
        raise EstimateError(f"{names} have {cells} pairs of intervals or values, more than {counted(n, 'report')}")
    return _joint_shares(counts.astype(np.float64), first, second, method)


def _joint_shares(
    counts: NDArray[np.float64], first: CoarseChannel, second: CoarseChannel, method: str
) -> JointDistribution:
    chosen = ("smooth" if first.ordered or second.ordered else "em") if method == AUTO else method
    found = smooth_shares(counts, first.matrix, second.matrix, (first.ordered, second.ordered))
    shares = found.shares
    if chosen == "em":
        shares = maximize(counts.ravel(), _kron(first, second)).reshape(shares.shape)
    values = (slice(first.n_values), slice(second.n_values))
    whole = shares[values].sum()
    variances = np.diag(found.covariance).reshape(shares.shape)[values]
    errors = np.sqrt(np.maximum(variances, 0) + (shares - found.shares)[values] ** 2) / whole
    return JointDistribution(
        (first.column.name, second.column.name),
        chosen,
        int(counts.sum()),
        (first.places, second.places),
        shares[values] / whole,
        errors,
    )
