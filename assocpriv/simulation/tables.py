"""A table's plan tried on records at hand: both sides, beside the truth that only a simulation knows.

Records are randomized, the distribution of each column is reconstructed from their reports, and held against that of
the records. The truth is known to the cells of the plan's grid; values lie evenly within them, as for the estimates.
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
from assocpriv.plans.columns import Column, NumberColumn
from assocpriv.plans.kind import shown_by
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.errors import options_of
from assocpriv.records.tables import TableCounts, TableOptions, stream_table
from assocpriv.server.confidence_bands import quantile
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
    raw = np.concatenate(list(stream))
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
    beside = {
        column.name: beside_truth(found[column.name], column, raw_inputs, found.confidence_level)
        for column, raw_inputs in zip(plan.columns, raw.T, strict=True)
    }
    seconds = dict(zip(["read", "randomize", "reconstruct"], np.diff(clock).tolist(), strict=True))
    return TableSimulation(reports, found, beside, stream.counts, seconds)


def beside_truth(found: Distribution, column: Column, raw_inputs: NDArray[np.int32], level: float) -> ColumnTrial:
    """Return what was found of a column beside the truth of inputs, int32 (records,), at a confidence level."""
    counts = np.bincount(raw_inputs, minlength=column.inputs + 1)
    cells = counts[:-1] / max(counts[:-1].sum(), 1)
    true, numbers = cells, found.numbers
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
        if cells.any():
            mean = float(cells @ (column.edges[:-1] + column.edges[1:]) / 2)
            quantiles = tuple(quantile(cells, column.edges, each.level) for each in numbers.quantiles)
    distance = float(np.abs(found.share - true).sum()) / 2
    missing = int(counts[-1]) / len(raw_inputs)
    return ColumnTrial(found, true, missing, mean, quantiles, distance, int(inside.sum()), len(inside))
