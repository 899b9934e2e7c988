"""Distributions of the columns of a table, reconstructed from its released codes.

They are those over all records, by class, or of two columns together. What is estimated of a column, and where:

    share of each interval or value    by one of METHODS (smoothing.py, maximum_likelihood.py, confidence_bands.py)
    its standard error                 where nothing is smoothed: of least squares (confidence_bands.py);
                                       otherwise sqrt(V + (share − m)²), the root of the expected squared error;
                                       m and V are of the posterior of smoothing.py
    band of the distribution function  confidence_bands.py; so are quantiles
    mean, variance                     confidence_bands.py: unbiased, and smooth estimates play no part

By default numbers behind noise are estimated by ``smooth``. What is released as it is, is counted; named values are
estimated by maximum likelihood.

A class that is released in clear is counted apart. Of a protected one the pairs (code, released class) are seen through
both channels at once, and the distribution within each class is part of the joint estimate. Records that were not asked
for a column drop out of it, which is no bias: who is asked is drawn whatever the record holds.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from assocpriv.files.itemsets import LightFrame, as_column, put_together, write_plain
from assocpriv.kernels.parallel import map_ahead
from assocpriv.plans.columns import CategoryColumn, Clear, Column, GaussianNoise, NumberColumn, transition
from assocpriv.plans.kind import shown_by
from assocpriv.promise.errors import EstimateError, counted
from assocpriv.promise.numbers import rounded
from assocpriv.server import confidence_bands
from assocpriv.server.histograms import count_codes, table_plan
from assocpriv.server.intervals import ErrorOptions
from assocpriv.server.maximum_likelihood import (
    CoarseChannel,
    coarse_channel,
    few_bins,
    iterated_bayes,
    maximize,
    smoothed,
)
from assocpriv.server.smoothing import smooth_shares
from assocpriv.server.supports import normal_quantile

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.files.reports import Reports
    from assocpriv.plans.tables import TablePlan
    from assocpriv.server.spark import SparkReports

Floats = NDArray[np.float64]


_UNBIASED, _SMOOTH = "least-squares", "smooth"  # what bands and quantiles rest on
AUTO = "auto"
METHODS = (AUTO, "smooth", "em", "ems", "bayes", "least-squares")
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Progress = Callable[[int, int], None]
_MOST_TOGETHER = 256  # inputs of two columns together: their covariance is a matrix of so many rows
_MOST_VALUES = 40  # of a column that is one of two, so that the other keeps ten intervals
_BARS = 10  # of a histogram
_BINS_EACH = 4  # an interval, of a column that is one of two
_SINGLE = ("ems", "bayes", "least-squares")  # methods for one column at a time


# ---- results


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its standard error and an interval at the confidence level that was asked for."""

    value: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value below which a share ``level`` of all lie, with an interval."""

    level: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Numbers:
    """What only numbers have.

    ``edges`` of the intervals, float64 (intervals + 1,), lie halfway between whole numbers, if ``is_whole``.
    ``cdf_low`` and ``cdf_high``, of the same shape, hold the distribution function at all edges at once; ``basis`` says
    what they and the intervals of quantiles rest on: ``least-squares`` assumes nothing of the distribution but even
    spread within intervals, ``smooth`` that its log-density is about as rough everywhere.
    """

    edges: Floats
    cdf_low: Floats
    cdf_high: Floats
    basis: str
    mean: Figure | None
    variance: Figure | None
    quantiles: tuple[Quantile, ...]
    is_whole: bool = False

    def bounds(self, edges: Floats) -> tuple[Floats, Floats]:
        """Return the least and the greatest values between neighbouring edges, float64 (edges − 1,) each."""
        return edges[:-1] + self.is_whole / 2, edges[1:] - self.is_whole / 2

    def record(self) -> dict[str, Any]:
        """Return it as JSON content."""
        bands: dict[str, Any] = {"low": self.cdf_low.tolist(), "high": self.cdf_high.tolist(), "basis": self.basis}
        bands["half_width"] = float((self.cdf_high - self.cdf_low)[1:-1].max(initial=0.0)) / 2
        moments = {name: _fields(getattr(self, name)) for name in ("mean", "variance")}
        return moments | {
            "whole": self.is_whole,
            "quantiles": [_fields(each) for each in self.quantiles],
            "distribution": bands,
        }


@dataclass(frozen=True, eq=False)
class Distribution:
    """How one column's values are spread, missing ones left out.

    ``share`` and ``std_error`` are float64 (intervals or values,); the shares add up to 1. ``missing`` is the share of
    missing values, None where none may be missing; ``reports`` the number of reports that it comes from, of a
    protected class an estimate.
    """

    name: str
    method: str
    reports: int
    share: Floats = field(repr=False)
    std_error: Floats = field(repr=False)
    missing: Figure | None = field(repr=False)
    values: tuple[str, ...] = field(default=(), repr=False)
    numbers: Numbers | None = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """Return it as JSON content."""
        where = {"values": list(self.values)} if self.numbers is None else {"edges": self.numbers.edges.tolist()}
        shares = {"share": self.share.tolist(), "std_error": self.std_error.tolist()}
        rest = {"method": self.method, "reports": self.reports, "missing": _fields(self.missing)}
        if self.numbers is None:
            return where | shares | rest
        return where | shares | rest | self.numbers.record() | {"histogram": self._histogram(self.numbers)}

    def _histogram(self, numbers: Numbers) -> list[dict[str, float | None]]:
        """Return some ten bars of neighbouring intervals; errors are those of single intervals, so they stand alone."""
        n = len(self.share)
        cuts = np.unique(np.linspace(0, n, min(n, _BARS) + 1).round().astype(int))
        shares = np.add.reduceat(self.share, cuts[:-1]).tolist()
        errors = self.std_error.tolist() if len(shares) == n else [None] * len(shares)
        return [
            {"low": low, "high": high, "share": share, "std_error": error}
            for low, high, share, error in zip(
                *map(list, numbers.bounds(numbers.edges[cuts])), shares, errors, strict=True
            )
        ]

    def table(self) -> LightFrame:
        """Return a row for each interval or value; ``cdf_low`` and ``cdf_high`` hold at its upper edge."""
        n, numbers = len(self.share), self.numbers
        none = np.full(n, np.nan)
        places: dict[str, Any] = {"value": list(self.values) or [None] * n, "low": none, "high": none}
        bands = {"cdf_low": none, "cdf_high": none}
        if numbers is not None:
            places |= dict(zip(("low", "high"), numbers.bounds(numbers.edges), strict=True))
            bands = {"cdf_low": numbers.cdf_low[1:], "cdf_high": numbers.cdf_high[1:]}
        shares = {"share": self.share, "std_error": self.std_error}
        return LightFrame.made({"column": [self.name] * n} | places | shares | bands)

    def frame(self) -> "pd.DataFrame":
        """Return :meth:`table` as a data frame."""
        return _frame(self.table())


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """How two columns' values are spread together, records with a missing one left out.

    ``share`` and ``std_error`` are float64 (places of the first, places of the second); ``places`` are the edges of
    each column's intervals, or its values.
    """

    names: tuple[str, str]
    method: str
    reports: int
    places: tuple[Floats | tuple[str, ...], Floats | tuple[str, ...]] = field(repr=False)
    share: Floats = field(repr=False)
    std_error: Floats = field(repr=False)

    def record(self) -> dict[str, Any]:
        """Return it as JSON content."""
        sides = {
            side: {"name": name} | ({"values": list(at)} if isinstance(at, tuple) else {"edges": at.tolist()})
            for side, name, at in zip(("first", "second"), self.names, self.places, strict=True)
        }
        shares = {"share": self.share.tolist(), "std_error": self.std_error.tolist()}
        return sides | shares | {"method": self.method, "reports": self.reports}

    def table(self) -> LightFrame:
        """Return a row for each pair of intervals or values, named ``first`` and ``second``."""
        first, second = (_labels(at) for at in self.places)
        pairs = [(one, other) for one in first for other in second]
        table: dict[str, Any] = {
            "column": [" × ".join(self.names)] * len(pairs),
            "first": [one for one, _ in pairs],
            "second": [two for _, two in pairs],
        }
        return LightFrame.made(table | {"share": self.share.ravel(), "std_error": self.std_error.ravel()})

    def frame(self) -> "pd.DataFrame":
        """Return :meth:`table` as a data frame."""
        return _frame(self.table())


@dataclass(frozen=True, eq=False)
class Distributions:
    """Distributions of all columns, over all records and by class, and of two columns together.

    ``left_out`` says of classes why they are not in ``classes``; ``plan_id`` is that of the reports' plan.
    """

    reports: int
    confidence_level: float
    columns: Mapping[str, Distribution]
    by: str | None = None
    classes: Mapping[str, Mapping[str, Distribution]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    joint: JointDistribution | None = None
    plan_id: str = ""

    _repr_html_ = shown_by("assocpriv.show.tables:overview")

    def __repr__(self) -> str:
        by = f", by {len(self.classes)} classes of {self.by}" if self.by is not None else ""
        return f"Distributions({', '.join(self.columns)}; {self.reports:,} reports{by})"

    def __getitem__(self, name: str) -> Distribution:
        return self.columns[name]

    def _parts(self) -> Iterator[tuple[str | None, Distribution]]:
        if self.by is None:
            yield from ((None, each) for each in self.columns.values())
        for value, columns in self.classes.items():
            yield from ((value, each) for each in columns.values())

    def frame(self) -> "pd.DataFrame":
        """Return a row for each interval or value, with by also for each class; of two columns for each pair."""
        return _frame(self._table())

    def _table(self) -> LightFrame:
        if self.joint is not None:
            return self.joint.table()
        tables = []
        for value, distribution in self._parts():
            table = distribution.table()
            names = {} if self.by is None else {"class": as_column([value] * len(table))}
            tables.append(LightFrame(names | table.columns))
        return put_together(tables)

    def record(self) -> dict[str, Any]:
        """Return it as JSON content."""
        found: dict[str, Any] = {
            "plan_id": self.plan_id,
            "reports": self.reports,
            "confidence_level": self.confidence_level,
            "columns": {name: each.record() for name, each in self.columns.items()},
        }
        if self.by is not None:
            classes = {
                value: {"columns": {name: each.record() for name, each in columns.items()}}
                for value, columns in self.classes.items()
            }
            found |= {"by": self.by, "classes": classes, "left_out": dict(self.left_out)}
        if self.joint is not None:
            found["joint"] = self.joint.record()
        return found

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write :meth:`frame` as Parquet or CSV, or all that is known as JSON, by extension.

        Raises:
            FileError: unknown extension, existing file without ``force``, or the disk refuses.
        """
        write_plain(
            self._table(), [], lambda: json.dumps(self.record(), indent=1, ensure_ascii=False), path, force=force
        )


def _frame(table: LightFrame) -> "pd.DataFrame":
    """Return a data frame whose texts have pandas' own type."""
    import pandas as pd

    return pd.DataFrame({name: each.tolist() if each.dtype == object else each for name, each in table.columns.items()})


def _labels(places: Floats | tuple[str, ...]) -> list[str]:
    if isinstance(places, tuple):
        return list(places)
    return [f"{rounded(low, 6)}–{rounded(high, 6)}" for low, high in pairwise(places)]


def _fields(thing: Figure | Quantile | None) -> dict[str, float] | None:
    return None if thing is None else {name: getattr(thing, name) for name in thing.__slots__}


# ---- questions


@dataclass(frozen=True, eq=False, slots=True)
class Estimate:
    """Shares of the inputs by a method, float64 (inputs,), and the smooth posterior of them where there is one."""

    method: str
    shares: Floats
    posterior: confidence_bands.LinearEstimate | None


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


# ---- reconstruction


def reconstruct(
    reports: "Reports | SparkReports", question: Question, progress: Progress | None = None
) -> Distributions:
    """Reconstruct what a question asks for; see :func:`assocpriv.reconstruct`."""

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


def _class_place(plan: "TablePlan", name: str) -> int:
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
    why = _few_reports(n, channel)
    if why:
        raise EstimateError(f"column {column.name}: {why}")
    return describe(
        _estimate(counts.astype(np.float64), channel, method),
        confidence_bands.ClassCounts.plain(counts),
        channel,
        level,
    )


def _estimate(counts: Floats, channel: CoarseChannel, method: str) -> Estimate:
    """Return shares by a method, and the posterior that their errors come from."""
    chosen = _method_of(method, channel.column)
    bins, matrix, row = channel.bin_counts(counts), channel.matrix, channel.ordered
    posterior = None
    if row and not isinstance(channel.column.law, Clear):
        joined, chances = few_bins(bins, matrix, row)
        found = smooth_shares(joined[:, None], chances, ordered=(row, 0))
        posterior = confidence_bands.LinearEstimate(found.shares[:, 0], found.covariance, is_unbiased=False)
    if chosen == "bayes":
        shares = channel.merged(iterated_bayes(counts, channel.column))  # type: ignore[arg-type]
    elif chosen == "smooth" and posterior is not None:
        shares = posterior.shares
    elif chosen == "ems" and row:
        shares = smoothed(counts, channel)
    else:
        shares = maximize(bins, matrix)
    return Estimate(chosen, shares, posterior)


def _method_of(method: str, column: Column) -> str:
    """Return the method for a column, where the one asked for is of no use to it another.

    Named values are in no order that could be smoothed; values in clear, or classes of them, are counted.
    """
    if not isinstance(column, NumberColumn):
        return method if method == "least-squares" else "em"
    if method == "least-squares" and isinstance(column.law, GaussianNoise):
        method = AUTO  # it would say nothing
    if method != AUTO:
        return method
    return "em" if isinstance(column.law, Clear) else "smooth"


def _few_reports(n_reports: int, channel: CoarseChannel) -> str:
    """Say why so many reports tell nothing of a column, or nothing."""
    if n_reports <= 0:
        return "no report answers it"
    if n_reports < channel.n_values:
        what = "intervals" if channel.ordered else "values"
        return f"{channel.n_values} {what} are more than its {counted(n_reports, 'report')}; plan fewer of them"
    return ""


def _by_class(
    tables: Mapping[Column, NDArray[np.int64]], by: Column, method: str, level: float
) -> tuple[dict[str, dict[str, Distribution]], dict[str, str]]:
    """Return the distributions of each class, and why classes are left out."""
    assert isinstance(by, CategoryColumn)
    classes: dict[str, dict[str, Distribution]] = {value: {} for value in by.values}
    left_out: dict[str, str] = {}
    among = _apart if isinstance(by.law, Clear) else _together

    def work(part: tuple[Column, NDArray[np.int64]]) -> "list[Distribution | str]":
        column, counts = part
        return among(column, counts, by, method, level)

    cut = ((column, table[: column.codes, : by.codes]) for column, table in tables.items())
    asked = [part for part in cut if part[1].any()]  # records may answer one of both columns, never both
    if not asked:
        raise EstimateError(f"no report answers {by.name} and another column; plan more columns for each to answer")
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
        why = _few_reports(int(each.sum()), channel)
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
    estimates = _pair(counts, channel, coarse_channel(by), _method_of(method, column))
    found: list[Distribution | str] = []
    for row, estimate in zip(np.linalg.inv(second)[: by.inputs], estimates, strict=False):
        mine = confidence_bands.ClassCounts(counts @ row, counts @ row**2, int(counts.sum()))
        why = _few_reports(round(mine.values.sum()), channel)
        if not mine.differs_from_empty(float(normal_quantile(level))):
            why = "its number of reports is not distinguishable from 0; gather more reports, or plan fewer columns"
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
            method,
            shares[:, k],
            confidence_bands.LinearEstimate(found.shares[:, k], found.covariance[k::n, k::n], is_unbiased=False),
        )
        for k in range(n)
    ]


def _kron(first: CoarseChannel, second: CoarseChannel) -> Floats:
    """Return P(pair of bins | pair of inputs)."""
    return np.asarray(np.kron(first.matrix, second.matrix), dtype=np.float64)


def _joint(
    reports: "Reports | SparkReports", plan: "TablePlan", pair: tuple[int, int], method: str, progress: Progress | None
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


def _joint_shares(counts: Floats, first: CoarseChannel, second: CoarseChannel, method: str) -> JointDistribution:
    chosen = ("smooth" if first.ordered or second.ordered else "em") if method == AUTO else method
    found = smooth_shares(counts, first.matrix, second.matrix, (first.ordered, second.ordered))
    shares = found.shares
    if chosen == "em":
        shares = maximize(counts.ravel(), _kron(first, second)).reshape(shares.shape)
    values = (slice(first.n_values), slice(second.n_values))
    inside, whole = shares[values], float(shares[values].sum())
    variances = np.diag(found.covariance).reshape(shares.shape)[values]
    errors = np.sqrt(np.maximum(variances, 0) + (inside - found.shares[values]) ** 2)
    if whole > 0:
        inside, errors = inside / whole, errors / whole
    else:  # nobody seems to hold both values, so any may be each pair's share
        inside, errors = np.full(inside.shape, 1 / inside.size), np.ones(inside.shape)
    names = first.column.name, second.column.name
    return JointDistribution(names, chosen, int(counts.sum()), (first.places, second.places), inside, errors)


# ---- description


def describe(
    estimate: Estimate, counts: confidence_bands.ClassCounts, channel: CoarseChannel, level: float
) -> Distribution:
    """Return what is known of a column's values, and of the share that is missing."""
    n, z = channel.n_values, float(normal_quantile(level))
    basis = _basis(estimate, counts, channel)
    shares, errors = _shares(estimate, basis, counts, n, z, numbered=channel.edges is not None)
    numbers = None
    if channel.edges is not None:
        numbers = _numbers(shares, basis.among(n), counts, channel, (level, z))
    return Distribution(
        channel.column.name,
        estimate.method,
        round(float(counts.values.sum())),
        shares,
        errors,
        _missing(basis, z) if channel.column.optional else None,
        () if numbers is not None else channel.column.values,  # type: ignore[attr-defined]
        numbers,
    )


def _basis(
    estimate: Estimate, counts: confidence_bands.ClassCounts, channel: CoarseChannel
) -> confidence_bands.LinearEstimate:
    """Return what bands and quantiles rest on: least squares, but behind Gaussian noise the posterior."""
    if isinstance(channel.column.law, GaussianNoise) and estimate.posterior is not None:
        return estimate.posterior
    bins = [channel.bin_counts(each) for each in (counts.values, counts.squares)]
    near = np.maximum(estimate.shares, 0) / np.maximum(estimate.shares, 0).sum()
    return confidence_bands.least_squares(bins[0], bins[1], counts.n_reports, channel.matrix, near)


def _shares(
    estimate: Estimate,
    basis: confidence_bands.LinearEstimate,
    counts: confidence_bands.ClassCounts,
    n_values: int,
    z: float,
    *,
    numbered: bool,
) -> tuple[Floats, Floats]:
    """Return the shares among the values that are there, and their standard errors.

    Those of named values within a protected class are the greater half of an interval over z.
    """
    found, whole = basis.among(n_values), estimate.shares[:n_values].sum()
    if estimate.method == "least-squares" or whole <= 0:
        return found.shares, found.errors
    shares = estimate.shares[:n_values] / whole
    if estimate.posterior is None:
        return shares, found.errors
    if numbered:
        posterior = estimate.posterior.among(n_values)
        return shares, np.hypot(posterior.errors, shares - posterior.shares)
    low, high = basis.ratio_intervals(n_values, z)  # the class's own size is uncertain, too
    few = np.sqrt(confidence_bands.MORE_REPORTS * counts.squares.sum() / counts.n_reports) / counts.values.sum()
    return shares, np.maximum(np.maximum(high - shares, shares - low) / z, few)  # few: of a value that nobody showed


def _missing(basis: confidence_bands.LinearEstimate, z: float) -> Figure:
    whole = basis.among(len(basis.shares))
    return _figure(float(whole.shares[-1]), float(whole.errors[-1]), z, 0.0, 1.0)


def _numbers(
    shares: Floats,
    basis: confidence_bands.LinearEstimate,
    counts: confidence_bands.ClassCounts,
    channel: CoarseChannel,
    confidence: tuple[float, float],
) -> Numbers:
    """Return what only numbers have."""
    column, edges, (level, z) = channel.column, channel.edges, confidence
    assert isinstance(column, NumberColumn)
    assert edges is not None
    band = confidence_bands.distribution_band(basis, channel.known_edges, level)
    moments = confidence_bands.estimate_moments(counts, column)
    if isinstance(column.law, Clear):
        codes = column.edges[:: column.law.width]
        ends = [confidence_bands.counted_interval(counts, codes, share, z) for share in _QUANTILES]
    else:
        ends = [confidence_bands.quantile_interval(band, edges, share, z) for share in _QUANTILES]
    values = [confidence_bands.quantile(shares, edges, share) for share in _QUANTILES]
    found = [(value, *each) for value, each in zip(values, ends, strict=True)]
    if column.grain:
        found = [confidence_bands.on_points(value, each, column) for value, each in zip(values, ends, strict=True)]
    quantiles = (Quantile(share, *each) for share, each in zip(_QUANTILES, found, strict=True))
    low, high = float(column.low), float(column.high)
    return Numbers(
        edges,
        band.low,
        band.high,
        _UNBIASED if basis.is_unbiased else _SMOOTH,
        None if moments is None else _figure(*moments.of_mean, z, low, high, moments.mean_unknown),
        None
        if moments is None or moments.of_variance is None
        else _figure(*moments.of_variance, z, 0.0, ((high - low) / 2) ** 2),
        tuple(quantiles),
        bool(column.grain),
    )


def _figure(value: float, error: float, z: float, least: float, most: float, unknown: float = 0.0) -> Figure:
    """Return a figure; what it cannot be is cut off its interval, not off its value."""
    half = z * error + unknown
    low, high = (min(max(end, least), most) for end in (value - half, value + half))
    return Figure(value, error, low, high)
