"""Distributions of the columns of a table, reconstructed from its released codes.

A distribution is over all records, by class, or joint of two columns. For each column this module estimates:

    share of each interval or value    by one of METHODS (smoothing.py, maximum_likelihood.py, confidence_bands.py)
    its standard error                 without smoothing: of least squares (confidence_bands.py);
                                       otherwise sqrt(V + (share − m)²), the root of the expected squared error,
                                       with m and V from the posterior of smoothing.py
    band of the distribution function  confidence_bands.py, also for quantiles
    mean, variance                     confidence_bands.py: unbiased, independent of smooth estimates

By default, numbers with noise are estimated by ``smooth`` and named values by maximum likelihood. Raw values are
counted.

**Measured coverage at 95%.** Mean and variance: 95 ± 1%. Others depend on the distribution:

- Bands with basis ``least-squares``: 90–100% on Beta(5, 2) and two peaks (60 to 150 collections each, 3,000 to 100,000
  reports), quantiles at least 95%. If half of the people have four values, bands cover 97–99% at 3,000 reports, 71–85%
  at 20,000 and 0–8% at 100,000, and quantiles at these values may never be covered. Many equal values at an end of the
  range are mostly detected, and the band is widened: with 60% there it covers 82–100%, quantiles 67–100%.
- Bands with basis ``smooth`` (Gaussian noise): 100% on Beta(5, 2), plateau, triangles and two peaks (30 runs each). On
  narrow spikes, which noise of 100% privacy removes, bands cover 0–5%, quantiles 20–46%.
- Standard errors of shares by ``smooth``: 91–100% on these, 2–55% on spikes behind noise of 100% privacy.
- Of named values within a protected class (the longer half of Fieller's interval of a ratio, over 1.96): 96–100% at ε =
  1 for class and column together, 95–97% at ln 19 (50, 200, 1,000 and 4,000 reports, 3 classes, 60 to 250 collections
  each, 312 to 1,443 shares).
- Of ``least-squares`` (uniform noise, square wave) and named values: 95–99% on the first two, 83–98% on the four
  values, 45–92% with 60% at an end.
- With one whole number in an interval (ratings, ages with heaps at tens, counts; square wave, uniform noise, Gaussian
  noise of 50 and 100%, raw; 2,000 and 50,000 reports, 100 collections each): means 95%, bands 96%, quantiles 99.7%,
  shares 97% (88 to 90% of heaped ages behind a square wave or uniform noise, at 50,000).

The sampling error of maximum likelihood alone ignores what the noise has removed. So ``std_error`` of ``em``, ``ems``
and ``bayes`` is the root of the expected squared error under the smooth posterior, which includes their bias.

Classes that are released raw are counted separately. For a protected class, the pairs (code, released class) pass
through both channels, and the distribution within each class is part of the joint estimate. Records whose report does
not include a column do not count for it. That is no bias, as the columns of a report are drawn independently of the
record.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from assocpriv.estimation.supports import ErrorOptions, normal_quantile
from assocpriv.files.mined_tables import LightFrame, as_column, concat_frames, write_plain
from assocpriv.guarantees.errors import EstimateError, pluralize
from assocpriv.guarantees.exact_numbers import rounded
from assocpriv.kernels.parallel import parallel_map
from assocpriv.plans.numeric.table_plan import CategoryColumn, Clear, Column, GaussianNoise, NumberColumn, transition
from assocpriv.plans.result_display import figure, html_renderer, short_repr
from assocpriv.server.numeric import confidence_bands
from assocpriv.server.numeric.confidence_bands import ClassCounts, LinearEstimate
from assocpriv.server.numeric.histograms import Progress, count_codes, table_plan
from assocpriv.server.numeric.maximum_likelihood import (
    CoarseChannel,
    coarse_channel,
    ems_shares,
    iterated_bayes,
    maximize_likelihood,
    merge_bins,
)
from assocpriv.server.numeric.smoothing import Posterior, smooth_shares

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.files.report_files import Reports
    from assocpriv.plans.numeric.table_plan import TablePlan
    from assocpriv.server.spark_counting import SparkReports

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


_UNBIASED, _SMOOTH = "least-squares", "smooth"  # estimators of bands and quantiles
AUTO = "auto"
METHODS = (AUTO, "smooth", "em", "ems", "bayes", "least-squares")
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_JOINT_INPUTS = 256  # pairs of inputs of two columns: the number of rows of their covariance matrix
_MOST_VALUES = 40  # of one column in a pair, so that the other keeps ten intervals
_BARS = 10  # of a histogram
_SHARES_SHOWN = 4  # of values in a repr
_BINS_EACH = 4  # bins an interval, for a column in a pair
_SINGLE = ("ems", "bayes", "least-squares")  # methods for one column at a time


# ---- results


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """An estimated number with its standard error and confidence interval."""

    value: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value below which a share ``level`` of all values lie, with a confidence interval."""

    level: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class NumberStatistics:
    """Statistics of a column of numbers.

    ``edges`` of the intervals, float64 (intervals + 1,), lie halfway between whole numbers if ``is_whole``. ``cdf_low``
    and ``cdf_high``, of the same shape, are a simultaneous band of the distribution function at all edges. ``basis``
    names the estimator of the band and of quantile intervals. ``least-squares`` assumes a uniform distribution within
    intervals, ``smooth`` a log-density with about the same roughness everywhere.
    """

    edges: Floats
    cdf_low: Floats
    cdf_high: Floats
    basis: str
    mean: IntervalEstimate | None
    variance: IntervalEstimate | None
    quantiles: tuple[Quantile, ...]
    is_whole: bool = False

    def bounds(self, edges: Floats) -> tuple[Floats, Floats]:
        """Return the smallest and largest values between neighbouring edges, float64 (edges − 1,) each."""
        return edges[:-1] + self.is_whole / 2, edges[1:] - self.is_whole / 2

    def record(self) -> dict[str, Any]:
        """Return the statistics as JSON content."""
        bands: dict[str, Any] = {"low": self.cdf_low.tolist(), "high": self.cdf_high.tolist(), "basis": self.basis}
        bands["half_width"] = float((self.cdf_high - self.cdf_low)[1:-1].max(initial=0.0)) / 2
        moments = {name: _fields(getattr(self, name)) for name in ("mean", "variance")}
        quantiles = [_fields(each) for each in self.quantiles]
        return moments | {"whole": self.is_whole, "quantiles": quantiles, "distribution": bands}


@dataclass(frozen=True, eq=False)
class Distribution:
    """Distribution of one column's values, without missing ones.

    ``share`` and ``std_error`` are float64 (intervals or values,); the shares add up to 1. ``missing`` is the share of
    missing values, or None if none may be missing. ``reports`` is the number of reports, for a protected class an
    estimate.
    """

    name: str
    method: str
    reports: int
    share: Floats = field(repr=False)
    std_error: Floats = field(repr=False)
    missing: IntervalEstimate | None = field(repr=False)
    values: tuple[str, ...] = field(default=(), repr=False)
    numbers: NumberStatistics | None = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """Return the distribution as JSON content."""
        where = {"values": list(self.values)} if self.numbers is None else {"edges": self.numbers.edges.tolist()}
        shares = {"share": self.share.tolist(), "std_error": self.std_error.tolist()}
        rest = {"method": self.method, "reports": self.reports, "missing": _fields(self.missing)}
        numbers = {} if self.numbers is None else self.numbers.record() | {"histogram": self._histogram(self.numbers)}
        return where | shares | rest | numbers

    def _histogram(self, numbers: NumberStatistics) -> list[dict[str, float | None]]:
        """Return about ten bars of neighbouring intervals; only bars of one interval have a standard error."""
        n = len(self.share)
        cuts = np.unique(np.linspace(0, n, min(n, _BARS) + 1).round().astype(int))
        shares = np.add.reduceat(self.share, cuts[:-1]).tolist()
        errors = self.std_error.tolist() if len(shares) == n else [None] * len(shares)
        lows, highs = map(list, numbers.bounds(numbers.edges[cuts]))
        names = ("low", "high", "share", "std_error")
        return [dict(zip(names, bar, strict=True)) for bar in zip(lows, highs, shares, errors, strict=True)]

    def table(self) -> LightFrame:
        """Return a row for each interval or value; ``cdf_low`` and ``cdf_high`` are for its upper edge."""
        n, numbers = len(self.share), self.numbers
        none = np.full(n, np.nan)
        places: dict[str, Any] = {"value": list(self.values) or [None] * n, "low": none, "high": none}
        bands = {"cdf_low": none, "cdf_high": none}
        if numbers is not None:
            places |= dict(zip(("low", "high"), numbers.bounds(numbers.edges), strict=True))
            bands = {"cdf_low": numbers.cdf_low[1:], "cdf_high": numbers.cdf_high[1:]}
        shares = {"share": self.share, "std_error": self.std_error}
        return LightFrame.from_columns({"column": [self.name] * n} | places | shares | bands)

    def to_frame(self) -> "pd.DataFrame":
        """Return :meth:`table` as a data frame."""
        return _frame(self.table())

    def summary(self) -> str:
        """Return the mean with its interval, or the largest shares, as text."""
        if self.numbers is not None:
            mean = _fields(self.numbers.mean)
            return f"mean {figure(mean['value'], 'number')} ({figure(mean, 'interval')})" if mean else "no mean"
        largest = np.argsort(-self.share, kind="stable")[:_SHARES_SHOWN].tolist()
        return ", ".join(f"{self.values[place]} {self.share[place]:.2%}" for place in largest)


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """Joint distribution of two columns' values, without records that miss one.

    ``share`` and ``std_error`` are float64 (intervals or values of the first, of the second). ``places`` are the edges
    of each column's intervals, or its values.
    """

    names: tuple[str, str]
    method: str
    reports: int
    places: tuple[Floats | tuple[str, ...], Floats | tuple[str, ...]] = field(repr=False)
    share: Floats = field(repr=False)
    std_error: Floats = field(repr=False)

    def record(self) -> dict[str, Any]:
        """Return the distribution as JSON content."""
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
        table: dict[str, Any] = {"column": [" × ".join(self.names)] * len(pairs)}
        table |= {"first": [one for one, _ in pairs], "second": [two for _, two in pairs]}
        return LightFrame.from_columns(table | {"share": self.share.ravel(), "std_error": self.std_error.ravel()})

    def to_frame(self) -> "pd.DataFrame":
        """Return :meth:`table` as a data frame."""
        return _frame(self.table())


@dataclass(frozen=True, eq=False)
class Distributions:
    """Distributions of all columns, over all records and by class, or the joint distribution of two columns.

    Attributes:
        reports: Number of reports.
        confidence_level: Of intervals and bands, in (0, 1).
        columns: The distribution of each column over all records, by name; empty with a joint distribution.
        by: The label or category of the classes; None without classes.
        classes: The distributions of the other columns in each class, by class and name.
        left_out: The reason for each class that is not in ``classes``.
        joint: The joint distribution of two columns, if it was requested.
        plan_id: Id of the reports' plan, 64 hexadecimal digits.
    """

    reports: int
    confidence_level: float
    columns: Mapping[str, Distribution]
    by: str | None = None
    classes: Mapping[str, Mapping[str, Distribution]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    joint: JointDistribution | None = None
    plan_id: str = ""

    _repr_html_ = html_renderer("assocpriv.show.table_views:overview")

    def __repr__(self) -> str:
        by = f", by {len(self.classes)} classes of {self.by}" if self.by is not None else ""
        rows = [f"{name}: {each.summary()}" for name, each in self.columns.items()]
        answer = " × ".join(self.joint.names) if self.joint is not None else ", ".join(self.columns)
        return short_repr(self, f"{answer}; {self.reports:,} reports{by}", rows)

    def __getitem__(self, name: str) -> Distribution:
        return self.columns[name]

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each interval or value, for each class if there are any; or for each pair of a joint.

        Returns:
            A pandas frame; shares are of records.
        """
        return _frame(self._table())

    def _table(self) -> LightFrame:
        if self.joint is not None:
            return self.joint.table()
        if self.by is None:
            return concat_frames([each.table() for each in self.columns.values()])
        tables = []
        for value, columns in self.classes.items():
            for table in (each.table() for each in columns.values()):
                tables.append(LightFrame({"class": as_column([value] * len(table))} | table.columns))
        return concat_frames(tables)

    def record(self) -> dict[str, Any]:
        """Return the distributions as JSON content.

        Returns:
            The object that :meth:`write` writes as JSON.
        """
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
        """Write :meth:`to_frame` as Parquet or CSV, or :meth:`record` as JSON, chosen by extension.

        Args:
            path: The file to write: .parquet, .csv or .json.
            force: Replace an existing file.

        Raises:
            FileError: The extension is unknown, the file exists and ``force`` is not set, or it cannot be written.
        """
        table = self._table()
        write_plain(table, [], lambda: json.dumps(self.record(), indent=1, ensure_ascii=False), path, force=force)


def _frame(table: LightFrame) -> "pd.DataFrame":
    """Return a data frame with pandas' own type for text."""
    import pandas as pd

    return pd.DataFrame({name: each.tolist() if each.dtype == object else each for name, each in table.columns.items()})


def _labels(places: Floats | tuple[str, ...]) -> list[str]:
    if isinstance(places, tuple):
        return list(places)
    return [f"{rounded(low, 6)}–{rounded(high, 6)}" for low, high in pairwise(places)]


def _fields(thing: IntervalEstimate | Quantile | None) -> dict[str, float] | None:
    return None if thing is None else {name: getattr(thing, name) for name in thing.__slots__}


# ---- requests


@dataclass(frozen=True, eq=False, slots=True)
class ShareEstimate:
    """Shares of the inputs by a method, float64 (inputs,), and their smooth posterior if there is one."""

    method: str
    shares: Floats
    posterior: LinearEstimate | None


@dataclass(frozen=True, slots=True)
class ReconstructionRequest:
    """Options of a reconstruction, named as in :func:`assocpriv.reconstruct`.

    Raises:
        EstimateError: The method is unknown, or arguments contradict each other.
    """

    by: str | None = None
    joint: tuple[str, str] | None = None
    method: str = AUTO
    confidence_level: float | str = 0.95

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise EstimateError(f"method must be one of {', '.join(METHODS)}, got {str(self.method)[:40]!r}")
        if self.joint is not None and (len(self.joint) != 2 or self.joint[0] == self.joint[1]):
            raise EstimateError("joint takes the names of two different columns, as A,B")
        if self.joint is not None and self.by is not None:
            raise EstimateError("give joint or by, not both")
        if self.joint is not None and self.method in _SINGLE:
            raise EstimateError(f"method {self.method} is for single columns; joint takes smooth or em")


# ---- reconstruction


def reconstruct(
    reports: "Reports | SparkReports", request: ReconstructionRequest, progress: Progress | None = None
) -> Distributions:
    """Reconstruct distributions from reports; see :func:`assocpriv.reconstruct`."""

    with threadpool_limits(1):  # matrices of a hundred rows are slower on several threads
        return _reconstruct(reports, request, progress)


def _reconstruct(
    reports: "Reports | SparkReports", request: ReconstructionRequest, progress: Progress | None
) -> Distributions:
    plan, level = table_plan(reports), ErrorOptions(request.confidence_level).confidence_level
    if request.joint is not None:
        pair = (plan.place_of(request.joint[0]), plan.place_of(request.joint[1]))
        joint = _joint(reports, plan, pair, request.method, progress)
        return Distributions(len(reports), level, {}, joint=joint, plan_id=plan.plan_id)
    places = range(len(plan.columns))
    by = None if request.by is None else _class_place(plan, request.by)
    crossed = [] if by is None else [(place, by) for place in places if place != by]
    _check_any(len(reports))
    counts = count_codes(reports, [*((place,) for place in places), *crossed], progress=progress)
    pairs = zip(plan.columns, counts, strict=False)
    found = parallel_map(lambda each: _estimate_column(each[0], each[1][: each[0].codes], request.method, level), pairs)
    whole = {each.name: each for each in found}
    if by is None:
        return Distributions(len(reports), level, whole, plan_id=plan.plan_id)
    tables = {plan.columns[table[0]]: each for table, each in zip(crossed, counts[len(places) :], strict=True)}
    classes, left_out = _by_class(tables, plan.columns[by], request.method, level)
    return Distributions(len(reports), level, whole, request.by, classes, left_out, plan_id=plan.plan_id)


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


def _estimate_column(column: Column, counts: Ints, method: str, level: float) -> Distribution:
    """Return the distribution of a column over all records."""
    channel, n = coarse_channel(column), int(counts.sum())
    if why := _too_few_reports(n, channel):
        raise EstimateError(f"column {column.name}: {why}")
    estimate = _estimate(counts.astype(np.float64), channel, method)
    return describe(estimate, ClassCounts.plain(counts), channel, level)


def _estimate(counts: Floats, channel: CoarseChannel, method: str) -> ShareEstimate:
    """Return shares by a method, and the posterior that gives their errors."""
    chosen = _method_of(method, channel.column)
    bins, matrix, row = channel.bin_counts(counts), channel.matrix, channel.ordered
    posterior = None
    if row and not isinstance(channel.column.mechanism, Clear):
        joined, probabilities = merge_bins(bins, matrix, row)
        found = smooth_shares(joined[:, None], probabilities, ordered=(row, 0))
        posterior = LinearEstimate(found.shares[:, 0], found.covariance, is_unbiased=False)
    if chosen == "bayes":
        shares = channel.merged(iterated_bayes(counts, channel.column))  # type: ignore[arg-type]
    elif chosen == "smooth" and posterior is not None:
        shares = posterior.shares
    elif chosen == "ems" and row:
        shares = ems_shares(counts, channel)
    else:
        shares = maximize_likelihood(bins, matrix)
    return ShareEstimate(chosen, shares, posterior)


def _method_of(method: str, column: Column) -> str:
    """Return the method for a column: the given one if it applies, otherwise another.

    Named values have no order for smoothing; raw values, or classes of them, are counted.
    """
    if not isinstance(column, NumberColumn):
        return method if method == "least-squares" else "em"
    if method == "least-squares" and isinstance(column.mechanism, GaussianNoise):
        method = AUTO  # least squares has no information behind Gaussian noise
    if method != AUTO:
        return method
    return "em" if isinstance(column.mechanism, Clear) else "smooth"


def _too_few_reports(n_reports: int, channel: CoarseChannel) -> str:
    """Return why a column has too few reports, or an empty text."""
    if n_reports <= 0:
        return "no report includes it"
    if n_reports < channel.n_values:
        what = "intervals" if channel.ordered else "values"
        return f"{channel.n_values} {what} are more than its {pluralize(n_reports, 'report')}; plan fewer of them"
    return ""


_Classes = list[Distribution | str]  # the distribution in each class, or why it has none


def _by_class(
    tables: Mapping[Column, Ints], by: Column, method: str, level: float
) -> tuple[dict[str, dict[str, Distribution]], dict[str, str]]:
    """Return the distributions of each class, and the reason for each class that is left out."""
    assert isinstance(by, CategoryColumn)
    classes: dict[str, dict[str, Distribution]] = {value: {} for value in by.values}
    left_out: dict[str, str] = {}
    among = _raw_class_distributions if isinstance(by.mechanism, Clear) else _protected_class_distributions

    def work(part: tuple[Column, Ints]) -> _Classes:
        column, counts = part
        return among(column, counts, by, method, level)

    cut = ((column, table[: column.codes, : by.codes]) for column, table in tables.items())
    present = [part for part in cut if part[1].any()]  # reports may include one of both columns, never both
    if not present:
        raise EstimateError(f"no report includes {by.name} and another column; plan more columns a report")
    for (column, _), each in zip(present, parallel_map(work, present), strict=True):
        for value, found in zip(by.values, each, strict=False):
            if isinstance(found, str):
                left_out.setdefault(value, f"column {column.name}: {found}")
            else:
                classes[value][column.name] = found
    for value in left_out:
        del classes[value]
    if left_out and not classes:
        raise EstimateError(f"no class of {by.name} has enough reports: {next(iter(left_out.values()))}")
    return classes, left_out


def _raw_class_distributions(column: Column, counts: Ints, by: Column, method: str, level: float) -> _Classes:
    """Return the distribution of a column within each class that is released raw, or the reason why not."""
    channel, every = coarse_channel(column), counts.T[: by.inputs]
    return [
        _too_few_reports(int(each.sum()), channel) or _estimate_column(column, each, method, level) for each in every
    ]


def _protected_class_distributions(column: Column, counts: Ints, by: Column, method: str, level: float) -> _Classes:
    """Return the distribution of a column within each protected class, through both channels, or why not."""
    if method in ("ems", "bayes"):
        raise EstimateError(f"method {method} does not support protected classes; use smooth, em or least-squares")
    second = transition(by)
    channel = _shared_grid(column, second.shape[1])
    estimates = _joint_estimates(counts, channel, coarse_channel(by), _method_of(method, column))
    found: _Classes = []
    for row, estimate in zip(np.linalg.inv(second)[: by.inputs], estimates, strict=False):
        mine = ClassCounts(counts @ row, counts @ row**2, int(counts.sum()))
        why = _too_few_reports(round(mine.values.sum()), channel)
        if not mine.differs_from_empty(float(normal_quantile(level))):
            why = "its number of reports is not distinguishable from 0; gather more reports, or plan fewer columns"
        found.append(why or describe(estimate, mine, channel, level))
    return found


def _shared_grid(column: Column, others: int) -> CoarseChannel:
    """Return a column's channel, coarse enough to pair with ``others`` inputs of another column."""
    most = min(100, _MOST_JOINT_INPUTS // others)
    return coarse_channel(column, most, _BINS_EACH * most)


def _joint_estimates(counts: Ints, first: CoarseChannel, second: CoarseChannel, method: str) -> list[ShareEstimate]:
    """Return the first column's shares jointly with each input of the second."""
    bins = second.bin_counts(first.bin_counts(counts).T).T
    shares, found = _pair_shares(bins, first, second, method)
    n = shares.shape[1]
    bases = [LinearEstimate(found.shares[:, k], found.covariance[k::n, k::n], is_unbiased=False) for k in range(n)]
    return [ShareEstimate(method, shares[:, k], basis) for k, basis in enumerate(bases)]


def _pair_shares(bins: Floats, first: CoarseChannel, second: CoarseChannel, method: str) -> tuple[Floats, Posterior]:
    """Return the shares of pairs of inputs, and their smooth posterior."""
    found = smooth_shares(bins, first.matrix, second.matrix, (first.ordered, second.ordered))
    if method != "em":
        return found.shares, found
    channel = np.asarray(np.kron(first.matrix, second.matrix), dtype=np.float64)  # P(pair of bins | pair of inputs)
    return maximize_likelihood(bins.ravel(), channel).reshape(found.shares.shape), found


def _joint(
    reports: "Reports | SparkReports", plan: "TablePlan", pair: tuple[int, int], method: str, progress: Progress | None
) -> JointDistribution:
    """Return the joint distribution of two columns, on grids coarse enough to compute their covariance."""
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
        raise EstimateError(f"no report includes both {names}; plan more columns a report")
    if n < cells:
        raise EstimateError(f"{names} have {cells} pairs of intervals or values, more than {pluralize(n, 'report')}")
    return _joint_shares(counts.astype(np.float64), first, second, method)


def _joint_shares(counts: Floats, first: CoarseChannel, second: CoarseChannel, method: str) -> JointDistribution:
    chosen = ("smooth" if first.ordered or second.ordered else "em") if method == AUTO else method
    shares, found = _pair_shares(counts, first, second, chosen)
    values = (slice(first.n_values), slice(second.n_values))
    inside, whole = shares[values], float(shares[values].sum())
    variances = np.diag(found.covariance).reshape(shares.shape)[values]
    errors = np.sqrt(np.maximum(variances, 0) + (inside - found.shares[values]) ** 2)
    if whole > 0:
        inside, errors = inside / whole, errors / whole
    else:  # the estimated share with both values is 0, so any distribution is possible
        inside, errors = np.full(inside.shape, 1 / inside.size), np.ones(inside.shape)
    names = first.column.name, second.column.name
    return JointDistribution(names, chosen, int(counts.sum()), (first.places, second.places), inside, errors)


# ---- description


def describe(estimate: ShareEstimate, counts: ClassCounts, channel: CoarseChannel, level: float) -> Distribution:
    """Return the distribution of a column's values, and the share of missing ones."""
    n, z = channel.n_values, float(normal_quantile(level))
    basis = _band_basis(estimate, counts, channel)
    shares, errors = _shares(estimate, basis, counts, n, z, numbered=channel.edges is not None)
    numbers = None
    if channel.edges is not None:
        numbers = _number_statistics(shares, basis.among(n), counts, channel, (level, z))
    return Distribution(
        channel.column.name,
        estimate.method,
        round(float(counts.values.sum())),
        shares,
        errors,
        _missing_share(basis, z) if channel.column.optional else None,
        () if numbers is not None else channel.column.values,  # type: ignore[attr-defined]
        numbers,
    )


def _band_basis(estimate: ShareEstimate, counts: ClassCounts, channel: CoarseChannel) -> LinearEstimate:
    """Return the estimate for bands and quantiles: least squares, or the posterior behind Gaussian noise."""
    if isinstance(channel.column.mechanism, GaussianNoise) and estimate.posterior is not None:
        return estimate.posterior
    bins = [channel.bin_counts(each) for each in (counts.values, counts.squares)]
    near = np.maximum(estimate.shares, 0) / np.maximum(estimate.shares, 0).sum()
    return confidence_bands.least_squares(bins[0], bins[1], counts.n_reports, channel.matrix, near)


def _shares(
    estimate: ShareEstimate, basis: LinearEstimate, counts: ClassCounts, n_values: int, z: float, *, numbered: bool
) -> tuple[Floats, Floats]:
    """Return the shares among the values that are not missing, and their standard errors.

    For named values within a protected class the error is the longer half of an interval, divided by z.
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
    return shares, np.maximum(np.maximum(high - shares, shares - low) / z, few)  # few: for a value in no report


def _missing_share(basis: LinearEstimate, z: float) -> IntervalEstimate:
    whole = basis.among(len(basis.shares))
    return _bounded(float(whole.shares[-1]), float(whole.errors[-1]), z, 0.0, 1.0)


def _number_statistics(
    shares: Floats, basis: LinearEstimate, counts: ClassCounts, channel: CoarseChannel, confidence: tuple[float, float]
) -> NumberStatistics:
    """Return the statistics of a column of numbers."""
    column, edges, (level, z) = channel.column, channel.edges, confidence
    assert isinstance(column, NumberColumn)
    assert edges is not None
    band = confidence_bands.distribution_band(basis, channel.known_edges, level)
    moments = confidence_bands.estimate_moments(counts, column)
    if isinstance(column.mechanism, Clear):
        codes = column.edges[:: column.mechanism.width]
        ends = [confidence_bands.counted_interval(counts, codes, share, z) for share in _QUANTILES]
    else:
        ends = [confidence_bands.quantile_interval(band, edges, share, z) for share in _QUANTILES]
    values = [confidence_bands.quantile(shares, edges, share) for share in _QUANTILES]
    found = [(value, *each) for value, each in zip(values, ends, strict=True)]
    if column.grain:
        found = [confidence_bands.on_points(value, each, column) for value, each in zip(values, ends, strict=True)]
    quantiles = (Quantile(share, *each) for share, each in zip(_QUANTILES, found, strict=True))
    low, high = float(column.low), float(column.high)
    return NumberStatistics(
        edges,
        band.low,
        band.high,
        _UNBIASED if basis.is_unbiased else _SMOOTH,
        None if moments is None else _bounded(*moments.of_mean, z, low, high, moments.mean_unknown),
        None
        if moments is None or moments.of_variance is None
        else _bounded(*moments.of_variance, z, 0.0, ((high - low) / 2) ** 2),
        tuple(quantiles),
        bool(column.grain),
    )


def _bounded(value: float, error: float, z: float, least: float, most: float, unknown: float = 0.0) -> IntervalEstimate:
    """Return an estimate with an interval cut to the possible range; the value itself is not cut."""
    half = z * error + unknown
    low, high = (min(max(end, least), most) for end in (value - half, value + half))
    return IntervalEstimate(value, error, low, high)
