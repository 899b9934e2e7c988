"""A table's plan tried on records at hand: both sides, beside the truth that only a simulation knows.

Records are randomized, the distribution of each column is reconstructed from their reports, and held against that of
the records: shares by the cells of the plan's grid, means and quantiles by the values themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.tables import randomize_inputs
from assocpriv.files.reports import Reports
from assocpriv.planning.schema import read_schema
from assocpriv.plans.columns import Clear, Column, NumberColumn
from assocpriv.plans.kind import shown_by
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.errors import options_of
from assocpriv.records.tables import TableCounts, TableOptions, stream_table
from assocpriv.server.distributions import Distribution, Distributions, Question, reconstruct
from assocpriv.server.maximum_likelihood import coarse_channel
from assocpriv.server.supports import normal_quantile
from assocpriv.simulation.enumeration import source_of

_ROUNDING = 1e-9  # of sums of shares


@dataclass(frozen=True, eq=False, slots=True)
class ColumnTrial:
    """What was found of a column, beside the truth of the same records.

    Attributes:
        found: as :func:`assocpriv.reconstruct` tells it.
        true_share: of the same intervals or values, float64 (n,); missing values are left out.
        true_missing: share of missing values.
        true_mean, true_quantiles: of numbers, at the levels that were found; none where nobody holds a value.
        distance: total variation between both distributions, 0 to 1.
        held: true shares within their intervals; of numbers the true distribution function within its band.
        tested: how many shares, or inner edges of intervals, that is of.
    """

    found: Distribution
    true_share: NDArray[np.float64] = field(repr=False)
    true_missing: float
    true_mean: float | None
    true_quantiles: tuple[float, ...] = field(repr=False)
    distance: float
    held: int
    tested: int


@dataclass(frozen=True, eq=False, slots=True)
class TableSimulation:
    """What a plan finds on given records: columns beside the truth, what was read, and the time of each stage."""

    reports: Reports
    found: Distributions
    columns: dict[str, ColumnTrial] = field(repr=False)
    read: TableCounts = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    _repr_html_ = shown_by("assocpriv.show.tables:simulated")


def sample_whole(schema: Any, table: Any, **reading: Any) -> list[str]:
    """Return which columns of numbers hold whole numbers alone, in a sample of records that may be looked at.

    Args:
        schema: of the table; columns of which it says ``whole`` itself are left out.
        table: a table with the other columns of numbers, as :func:`assocpriv.randomize` takes it.
        reading: :class:`TableOptions` by name.

    Raises:
        PlanError: a schema that is none.
        RecordError: a table that cannot be read.

    >>> import pandas as pd
    >>> stars = {"kind": "number", "low": 1, "high": 5, "release": "square-wave"}
    >>> sample_whole({"columns": {"stars": stars, "grams": stars}}, pd.DataFrame({"stars": [1, 4], "grams": [1.5, 2]}))
    ['stars']
    """
    asked = [column for column in read_schema(schema) if column.kind == NumberColumn.kind and column.whole is None]
    if not asked:
        return []
    columns = (NumberColumn(each.name, Clear(1), True, each.low, each.high, 1) for each in asked)
    stream = stream_table(table, TablePlan(tuple(columns), 0), options_of(TableOptions, {"clip": True, **reading}))
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
    """Try a plan on a table; :func:`assocpriv.simulate` says what comes back, ``reading`` are :class:`TableOptions`."""
    tell, clock = progress or (lambda *_: None), [perf_counter()]
    stream = stream_table(table, plan, options_of(TableOptions, {"progress": partial(tell, "reading"), **reading}))
    batches = list(iter(stream.next_batch, None))  # until StopIteration
    raw = np.concatenate([batch.raw_inputs for batch in batches])
    clock.append(perf_counter())
    packed = randomize_inputs(
        [raw], plan, entropy=source_of(seed), progress=lambda done: tell("randomizing", done, len(raw))
    )
    reports = Reports(plan, np.concatenate(list(packed)))
    clock.append(perf_counter())
    tell("reconstructing", 0, 1)
    found = reconstruct(reports, Question())
    tell("reconstructing", 1, 1)
    clock.append(perf_counter())
    beside = {}
    for place, column in enumerate(plan.columns):
        parts = [each for batch in batches if (each := batch.raw_numbers[place]) is not None]
        numbers = np.concatenate(parts) if parts else np.empty(0)
        beside[column.name] = beside_truth(found[column.name], column, raw[:, place], numbers, found.confidence_level)
    seconds = dict(zip(["read", "randomize", "reconstruct"], np.diff(clock).tolist(), strict=True))
    return TableSimulation(reports, found, beside, stream.counts, seconds)


def beside_truth(
    found: Distribution,
    column: Column,
    raw_inputs: NDArray[np.int32],
    raw_numbers: NDArray[np.float64],
    level: float,
) -> ColumnTrial:
    """Return what was found of a column beside the truth.

    Args:
        found: of the column.
        column: the plan's.
        raw_inputs: the records' inputs, int32 (records,).
        raw_numbers: their numbers, float64 (records,), NaN where one is missing; of a category none.
        level: of the intervals.
    """
    counts = np.bincount(raw_inputs, minlength=column.inputs + 1)
    true = cells = counts[:-1] / max(counts[:-1].sum(), 1)
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
