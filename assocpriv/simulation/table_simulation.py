"""The simulation of a table plan on raw records, compared with the truth.

Records are randomized, the distribution of each column is reconstructed from the reports, and compared with that of the
records: shares by the cells of the plan's grid, means and quantiles by the values themselves.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.numeric.table_client import randomize_inputs
from assocpriv.estimation.supports import normal_quantile
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.errors import build_options, given_options, pluralize
from assocpriv.planning.table_planner import read_schema
from assocpriv.plans.numeric.table_plan import Clear, Column, NumberColumn, TablePlan
from assocpriv.plans.result_display import html_renderer, plan_bound, rows_frame, short_repr
from assocpriv.records.table_files import TableCounts, TableOptions, stream_table
from assocpriv.server.numeric.distributions import (
    Distribution,
    Distributions,
    IntervalEstimate,
    ReconstructionRequest,
    reconstruct,
)
from assocpriv.server.numeric.maximum_likelihood import coarse_channel
from assocpriv.simulation.enumeration import entropy_source

if TYPE_CHECKING:
    import pandas as pd

_ROUNDING = 1e-9  # tolerance for sums of shares


@dataclass(frozen=True, eq=False, slots=True)
class ColumnTrial:
    """The reconstruction of a column, with the truth of the same records.

    Attributes:
        found: the result of :func:`assocpriv.reconstruct`.
        true_share: true shares of the same intervals or values, float64 (n,), without missing values.
        true_missing: true share of missing values.
        true_mean, true_quantiles: of numbers, at the estimated levels; None or empty without any value.
        distance: total variation distance between both distributions, 0 to 1.
        covered: number of true shares within their intervals; for numbers, of edges at which the true distribution
            function is within its band.
        tested: number of shares, or of inner edges of intervals.
    """

    found: Distribution
    true_share: NDArray[np.float64] = field(repr=False)
    true_missing: float
    true_mean: float | None
    true_quantiles: tuple[float, ...] = field(repr=False)
    distance: float
    covered: int
    tested: int


@dataclass(frozen=True, eq=False, slots=True)
class TableSimulation:
    """The result of a plan on given records, with the truth.

    Attributes:
        reports: The reports.
        found: The reconstructed distributions.
        columns: Each column's reconstruction with the truth, by name.
        read: Counts of what was read.
        seconds: Time of each stage, in seconds.
    """

    reports: Reports
    found: Distributions
    columns: dict[str, ColumnTrial] = field(repr=False)
    read: TableCounts = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    _repr_html_ = html_renderer("assocpriv.show.table_views:simulated")

    def __repr__(self) -> str:
        return short_repr(self, f"{pluralize(len(self.reports), 'report')}, {plan_bound(self.reports.plan)}", [
            f"{name}: distance {each.distance:.2%} from the truth, covered {each.covered:,} of {each.tested:,}"
            for name, each in self.columns.items()
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a column: the distance of its estimated distribution from the true one, and both means.

        Returns:
            A pandas frame with the columns ``column``, ``reports``, ``distance``, ``covered``, ``tested``, ``missing``,
            ``true_missing``, ``mean``, ``mean_std_error`` and ``true_mean``.
        """
        columns = "column reports distance covered tested missing true_missing mean mean_std_error true_mean"
        return rows_frame(columns, (_trial_row(name, each) for name, each in self.columns.items()))


def _trial_row(name: str, trial: ColumnTrial) -> tuple[Any, ...]:
    found, nothing = trial.found, IntervalEstimate(math.nan, math.nan, math.nan, math.nan)
    mean = (found.numbers and found.numbers.mean) or nothing
    counts = (name, found.reports, trial.distance, trial.covered, trial.tested)
    missing = ((found.missing or nothing).value, trial.true_missing)
    return (*counts, *missing, mean.value, mean.std_error, trial.true_mean)


def find_whole_columns(
    schema: Any, table: Any, *, separator: str | None = None, sheet: str | None = None,
    missing: "str | Sequence[str] | None" = None, memory_bytes: int | None = None,
    progress: "Callable[[int, int], None] | None" = None,
) -> list[str]:  # fmt: skip
    """Return the number columns that hold only whole numbers in a sample of raw records.

    Args:
        schema: The table's schema; columns for which it states ``whole`` are skipped.
        table: A table with the other number columns, as :func:`assocpriv.randomize` takes it.
        separator, sheet, missing, memory_bytes, progress: As for :func:`assocpriv.randomize`.

    Returns:
        The names of the columns.

    Raises:
        PlanError: An invalid schema.
        RecordError: A table that cannot be read.

    >>> import pandas as pd
    >>> stars = {"kind": "number", "low": 1, "high": 5, "release": "square-wave"}
    >>> table = pd.DataFrame({"stars": [1, 4], "grams": [1.5, 2]})
    >>> find_whole_columns({"columns": {"stars": stars, "grams": stars}}, table)
    ['stars']
    """
    reading = given_options(locals(), "schema table")
    numbers = [column for column in read_schema(schema) if column.kind == NumberColumn.kind and column.whole is None]
    if not numbers:
        return []
    columns = (NumberColumn(each.name, Clear(1), True, each.low, each.high, 1) for each in numbers)
    stream = stream_table(table, TablePlan(tuple(columns), 0), build_options(TableOptions, {"clip": True, **reading}))
    for _ in stream:
        pass
    return stream.counts.looks_whole


def simulate_table(
    table: Any,
    plan: TablePlan,
    *,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **reading: Any,
) -> TableSimulation:
    """Simulate a plan on a table, as :func:`assocpriv.simulate`; ``reading`` are :class:`TableOptions` by name."""
    report, clock = progress or (lambda *_: None), [perf_counter()]
    stream = stream_table(table, plan, build_options(TableOptions, {"progress": partial(report, "reading"), **reading}))
    batches = list(iter(stream.next_batch, None))  # until StopIteration
    raw = np.concatenate([batch.raw_inputs for batch in batches])
    clock.append(perf_counter())
    packed = randomize_inputs(
        [raw], plan, entropy=entropy_source(seed), progress=lambda done: report("randomizing", done, len(raw))
    )
    reports = Reports(plan, np.concatenate(list(packed)))
    clock.append(perf_counter())
    report("reconstructing", 0, 1)
    found = reconstruct(reports, ReconstructionRequest())
    report("reconstructing", 1, 1)
    clock.append(perf_counter())
    compared = {}
    for place, column in enumerate(plan.columns):
        parts = [each for batch in batches if (each := batch.raw_numbers[place]) is not None]
        numbers = np.concatenate(parts) if parts else np.empty(0)
        given = column, raw[:, place], numbers, found.confidence_level
        compared[column.name] = compare_with_truth(found[column.name], *given)
    seconds = dict(zip(["read", "randomize", "reconstruct"], np.diff(clock).tolist(), strict=True))
    return TableSimulation(reports, found, compared, stream.counts, seconds)


def compare_with_truth(
    found: Distribution, column: Column, raw_inputs: NDArray[np.int32], raw_numbers: NDArray[np.float64], level: float
) -> ColumnTrial:
    """Return the reconstruction of a column with the truth.

    Args:
        found: The reconstruction.
        column: The plan's column.
        raw_inputs: The records' inputs, int32 (records,).
        raw_numbers: Their numbers, float64 (records,), NaN for a missing one; empty for a category.
        level: Confidence level of the intervals.
    """
    counts = np.bincount(raw_inputs, minlength=column.inputs + 1)
    true = cells = counts[:-1] / max(int(counts[:-1].sum()), 1)
    numbers, values = found.numbers, raw_numbers[~np.isnan(raw_numbers)]
    mean: float | None = None
    quantiles: tuple[float, ...] = ()
    if numbers is None:
        inside = np.abs(found.share - true) <= float(normal_quantile(level)) * found.std_error + _ROUNDING
    else:
        assert isinstance(column, NumberColumn)
        width = column.inputs // column.intervals * coarse_channel(column).group
        true = np.add.reduceat(cells, np.arange(0, column.inputs, width))
        below = np.cumsum(true)[:-1]
        inside = (numbers.cdf_low[1:-1] <= below + _ROUNDING) & (below <= numbers.cdf_high[1:-1] + _ROUNDING)
        if len(values):
            mean = float(values.mean())
            levels = [each.level for each in numbers.quantiles]
            quantiles = tuple(np.quantile(values, levels, method="inverted_cdf").tolist())
    distance = float(np.abs(found.share - true).sum()) / 2
    missing = int(counts[-1]) / len(raw_inputs)
    return ColumnTrial(found, true, missing, mean, quantiles, distance, int(inside.sum()), len(inside))
