"""Histograms of released codes, from which all estimates for a table's reports follow.

This module uses reports only. Every request takes one pass over them, on all cores; each core needs memory for the
histograms. A histogram counts each report once. It has every code of a column, including those of a missing value and
of a column that the report leaves out.

Released values are the codes as people read them, without any estimate.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.report_files import Reports, file_batches, row_groups
from assocpriv.guarantees.errors import EstimateError, PlanError, WireError, check_type, pluralize
from assocpriv.kernels.loops import kernels
from assocpriv.kernels.parallel import add_up
from assocpriv.plans.numeric.table_plan import CategoryColumn, Clear, Column, Noise, NumberColumn, TablePlan, Window

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.server.spark_counting import SparkReports


Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]
Tables = Sequence[tuple[int, ...]]  # of each the places of its columns
_Part = Iterable[NDArray[np.uint8]]  # batches of packed reports
MOST_CELLS = 1 << 24  # of all histograms together; each core has its own
_BATCH = 1 << 18  # reports
_STEP = 1 << 16  # reports; counting can be stopped after each step
INCLUDED = " included"  # ends the name of released_frame's column of whether a report includes the column


# ---- histograms


def table_plan(reports: "Reports | SparkReports") -> TablePlan:
    """Return the plan of reports of a table.

    Raises:
        PlanError: The reports are of another plan type, such as baskets.
    """
    if not isinstance(reports.plan, TablePlan):
        raise PlanError(f"these reports are of kind {reports.plan.kind}, not of a table; assocpriv mine takes baskets")
    return reports.plan


def count_codes(
    reports: "Reports | SparkReports",
    tables: Tables,
    *,
    bins: Mapping[int, Ints] | None = None,
    progress: Progress | None = None,
) -> list[Ints]:
    """Return the histogram of each table: of the codes of a column, or of the pairs of codes of two.

    Args:
        reports: Reports of a table plan.
        tables: Positions of one column, or of two, for each histogram.
        bins: For some columns, by position, the bin of each code, int64 (code_counts,); other columns have a bin for
            each code.
        progress: Called with (reports counted, all).

    Returns:
        For each table int64 of shape (bins,) or (bins of the first, bins of the second). Each adds up to the number of
        reports.

    Raises:
        PlanError: The reports are of another plan type.
        EstimateError: The histograms have more than MOST_CELLS cells.
        WireError: A file is damaged, or has a code that no client sends.

    Source: the reconstruction of AS00, section 3.2, needs only one histogram a column.
    """
    plan = table_plan(reports)
    chosen = dict(bins or {})
    for table in tables:
        for place in table:
            chosen.setdefault(place, np.arange(plan.code_counts[place]))
    shapes = [tuple(int(chosen[place].max()) + 1 for place in table) for table in tables]
    sizes = [math.prod(shape) for shape in shapes]
    if sum(sizes) > MOST_CELLS:
        raise EstimateError(
            f"the histograms have {pluralize(sum(sizes), 'cell')}, more than the {MOST_CELLS:,} kept at once; request "
            "fewer columns, or plan coarser grids (fewer cells)"
        )
    axes, places = _layout(plan, tables, shapes, chosen)
    starts = np.cumsum([0, *sizes])
    if isinstance(reports, Reports):
        counts = _count(reports, plan, axes, places, int(starts[-1]), progress)
    else:
        counts = reports.add_up(partial(_count_in_task, tables, chosen), int(starts[-1]))
    return [counts[start:end].reshape(s) for start, end, s in zip(starts, starts[1:], shapes, strict=False)]


def _count_in_task(tables: Tables, bins: Mapping[int, Ints], _first: int, reports: Reports) -> Ints:
    """Return all histograms of a Spark task's reports, concatenated."""
    return np.concatenate([table.ravel() for table in count_codes(reports, tables, bins=bins)])


def _parts(reports: Reports) -> Iterator[_Part]:
    """Yield the reports in parts that several threads may read at once: a part is a row group of a file.

    Codes are not checked here, which would take another pass over the bytes: the kernel checks the codes it counts.
    """
    for start in range(0, len(reports.in_memory), _BATCH):
        yield [reports.in_memory[start : start + _BATCH]]
    for path in reports.paths:
        for group in range(len(row_groups(path))):
            yield file_batches(path, reports.plan, _BATCH, checked=False, group=group)


def _layout(plan: TablePlan, tables: Tables, shapes: Tables, bins: Mapping[int, Ints]) -> tuple[Ints, Ints]:
    """Return the kernel's arguments: the axes of every histogram, and the offset that each code adds to a position."""
    axes = np.full((len(tables), 2, 5), -1, dtype=np.int64)
    places: list[Ints] = [np.zeros(0, dtype=np.int64)]
    filled = at = 0
    for number, (table, shape) in enumerate(zip(tables, shapes, strict=True)):
        for axis, place in enumerate(table):
            field, offset = plan.record_type.fields[f"c{place}"][:2]  # type: ignore[index]
            axes[number, axis] = offset, field.itemsize - 1, plan.code_counts[place], filled, at
            places.append(bins[place] * math.prod(shape[axis + 1 :]))
            filled += len(places[-1])
        at += math.prod(shape)
    return axes, np.concatenate(places).astype(np.int64)


def _count(
    reports: Reports, plan: TablePlan, axes: Ints, places: Ints, n_counts: int, progress: Progress | None
) -> Ints:
    """Return all histograms of local reports, concatenated."""
    wrong, widest, total = threading.Event(), int(axes[:, 0, 2].max(initial=0)) + 1, len(reports)
    counted = axes[..., 0]  # offsets in a report; the kernel checks only the codes that it counts
    covered = len(np.unique(counted[counted >= 0])) == len(plan.columns)
    parts = _parts(reports) if covered else ([batch] for batch in reports.batches(_BATCH))

    def work(part: _Part, counts: Ints) -> Iterator[float]:
        found = np.empty((2, widest), dtype=np.int64)
        for packed in part:
            for start in range(0, len(packed), _STEP):
                few = np.ascontiguousarray(packed[start : start + _STEP])
                if kernels.tally_codes(few, axes, places, found, counts):
                    wrong.set()
                yield float(len(few))

    callback = None if progress is None else lambda done: progress(round(done), total)
    counts = add_up(work, parts, n_counts, callback)
    if wrong.is_set():
        reports.check(_BATCH)
        raise WireError("report files changed while they were read; do not change them, and run this again")
    return counts


# ---- values


def released_codes(reports: Reports, plan: TablePlan) -> list[NDArray[np.unsignedinteger]]:
    """Return the codes of every column, (n,) each, of at most two bytes a record and column."""
    places = range(len(plan.columns))
    parts = [[plan.codes(packed, place).copy() for place in places] for packed in reports.batches(_BATCH)]
    empty = np.empty(0, dtype=np.uint16)
    return [np.concatenate([part[place] for part in parts] or [empty]) for place in places]


def released_frame(reports: Reports) -> "pd.DataFrame":
    """Return the released values of a table's reports, one row a report and one column a column.

    A number is the middle of the released cell, or class, in the column's unit; noise can move it outside the range. A
    category is its text. A missing value is NaN or None. If a device draws which columns its report includes, a further
    column, with " included" after the name, holds whether the report includes it; if not, the value is NaN or None.

    Args:
        reports: Reports of a table plan.

    Returns:
        A data frame of shape (reports, columns), with the further columns where a report may leave a column out.

    Raises:
        PlanError: The reports are of another plan type.
        TypeError: Not a :class:`assocpriv.Reports`.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> smokes = {"kind": "category", "values": ["no", "yes"], "release": "response"}
    >>> plan = ap.numeric.plan_table({"columns": {"smokes": smokes}})
    >>> reports = ap.randomize(pd.DataFrame({"smokes": ["no", "yes"] * 200}), plan)
    >>> frame = ap.numeric.released_frame(reports)
    >>> frame.shape, sorted(frame["smokes"].unique())
    ((400, 1), ['no', 'yes'])
    """
    import pandas as pd

    plan = check_type("reports", reports, Reports).plan.require_type(TablePlan)
    columns: dict[str, Any] = {}
    for place, (column, codes) in enumerate(zip(plan.columns, released_codes(reports, plan), strict=True)):
        columns[column.name] = released_values(column)[np.minimum(codes, column.mechanism.outputs)]
        if (omitted := plan.omitted_code(place)) is not None:
            columns[column.name + INCLUDED] = codes != omitted
    return pd.DataFrame(columns)


def released_values(column: Column) -> NDArray[Any]:
    """Return the value of each released code, (outputs + 1,); the last is NaN or None, for missing or left out."""
    if isinstance(column, NumberColumn):
        width, first = release_grid(column)
        middles = [float(column.origin + (first + (2 * n + 1) * width / 2)) for n in range(column.mechanism.outputs)]
        return np.array([*middles, np.nan])
    assert isinstance(column, CategoryColumn)
    return np.array([*column.values, None], dtype=object)


def release_grid(column: NumberColumn) -> tuple[Fraction, Fraction]:
    """Return the width of a released cell and the start of the first, relative to the lowest edge."""
    mechanism, width = column.mechanism, column.cell_width
    if isinstance(mechanism, Clear):
        return width * mechanism.width, 0 * width
    if isinstance(mechanism, Noise):
        return width, -mechanism.largest * width
    assert isinstance(mechanism, Window)
    return width, -(mechanism.near // 2) * width
