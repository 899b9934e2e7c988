"""Histograms of released codes: all that is kept of the reports of a table.

Sees reports only. One pass over them, on all cores, whatever is asked for; memory is that of the histograms, on each
core. They hold every code of a column, that of a missing value and that of not being asked included, and count each
report once.

Released values are what the codes say as people read them, undisturbed by any estimate.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import Reports, file_batches, row_groups
from assocpriv.kernels.compiling import counting_kernels
from assocpriv.kernels.parallel import add_up
from assocpriv.plans.columns import CategoryColumn, Clear, Column, Noise, NumberColumn, Window
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.errors import EstimateError, PlanError, WireError, check_type, counted

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.server.spark import SparkReports


MOST_CELLS = 1 << 24  # of all histograms together; each core has its own
_BATCH = 1 << 18  # reports
_STEP = 1 << 16  # reports; a step of work after which it can be stopped


# ---- histograms


def table_plan(reports: "Reports | SparkReports") -> TablePlan:
    """Return the plan of reports of a table.

    Raises:
        PlanError: the reports are of another kind, such as baskets.
    """
    if not isinstance(reports.plan, TablePlan):
        raise PlanError(f"these reports are of kind {reports.plan.kind}, not of a table; assocpriv mine takes baskets")
    return reports.plan


def count_codes(
    reports: "Reports | SparkReports",
    tables: Sequence[tuple[int, ...]],
    *,
    bins: Mapping[int, NDArray[np.int64]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[NDArray[np.int64]]:
    """Return the histogram of each table: of the codes of a column, or of the pairs of codes of two.

    Args:
        reports: of a table plan.
        tables: positions of one column, or of two, for each histogram.
        bins: for some columns, by position, the bin of each of its codes, int64 (code_counts,); the others have a bin
            for each code.
        progress: called with (reports counted, all).

    Returns:
        For each table int64 of shape (bins,) or (bins of the first, bins of the second). Each adds up to the number of
        reports.

    Raises:
        PlanError: reports of another kind.
        EstimateError: more cells than memory is meant for.
        WireError: a file that is damaged, or a code that no client sends.

    Source: one histogram a column is all that the reconstruction of AS00, section 3.2, needs.
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
            f"histograms of {counted(sum(sizes), 'cell')} are more than the {MOST_CELLS:,} kept at once; ask for fewer "
            "columns, or plan coarser grids (fewer cells)"
        )
    axes, places = _layout(plan, tables, shapes, chosen)
    starts = np.cumsum([0, *sizes])
    if not isinstance(reports, Reports):
        counts = reports.add_up(partial(_count_in_task, tables, chosen), int(starts[-1]))
        return [counts[start:end].reshape(s) for start, end, s in zip(starts, starts[1:], shapes, strict=False)]
    total = len(reports)
    tell = None if progress is None else lambda done: progress(round(done), total)
    covered = {place for table in tables for place in table} == set(range(len(plan.columns)))
    parts = _parts(reports) if covered else ([batch] for batch in reports.batches(_BATCH))
    counts, all_exist = _count(parts, axes, places, int(starts[-1]), tell)
    if not all_exist:
        reports.check(_BATCH)
        raise WireError("report files changed while they were read; leave them as they are until this is done")
    return [counts[start:end].reshape(s) for start, end, s in zip(starts, starts[1:], shapes, strict=False)]


def _count_in_task(
    tables: Sequence[tuple[int, ...]], bins: Mapping[int, NDArray[np.int64]], _first: int, reports: Reports
) -> NDArray[np.int64]:
    """Count what one of Spark's tasks reads: all histograms in a row."""
    return np.concatenate([table.ravel() for table in count_codes(reports, tables, bins=bins)])


def _parts(reports: Reports) -> Iterator[Iterable[NDArray[np.uint8]]]:
    """Yield the reports in parts, which several threads may read at once: a part is a row group of a file.

    The codes are not checked, which would be a pass over the bytes of its own: the kernel sees those that it counts.
    """
    for start in range(0, len(reports.in_memory), _BATCH):
        yield [reports.in_memory[start : start + _BATCH]]
    for path in reports.paths:
        for group in range(len(row_groups(path))):
            yield file_batches(path, reports.plan, _BATCH, checked=False, group=group)


def _layout(
    plan: TablePlan,
    tables: Sequence[tuple[int, ...]],
    shapes: Sequence[tuple[int, ...]],
    bins: Mapping[int, NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what the kernel is told: the axes of every histogram, and how far each code moves the position in it."""
    axes = np.full((len(tables), 2, 5), -1, dtype=np.int64)
    places: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
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
    parts: Iterable[Iterable[NDArray[np.uint8]]],
    axes: NDArray[np.int64],
    places: NDArray[np.int64],
    n_counts: int,
    progress: Callable[[float], None] | None,
) -> tuple[NDArray[np.int64], bool]:
    """Return all histograms in a row, and whether all codes exist."""
    tally_codes = counting_kernels.tally_codes  # loads in this thread
    wrong, widest = threading.Event(), int(axes[:, 0, 2].max(initial=0)) + 1

    def work(part: Iterable[NDArray[np.uint8]], counts: NDArray[np.int64]) -> Iterator[float]:
        found = np.empty((2, widest), dtype=np.int64)
        for packed in part:
            for start in range(0, len(packed), _STEP):
                few = np.ascontiguousarray(packed[start : start + _STEP])
                if tally_codes(few, axes, places, found, counts):
                    wrong.set()
                yield float(len(few))

    return add_up(work, parts, n_counts, progress), not wrong.is_set()


# ---- values


def released_codes(reports: Reports, plan: TablePlan) -> list[NDArray[np.unsignedinteger]]:
    """Return the codes of every column, (n,) each: two bytes a record and column at most."""
    places = range(len(plan.columns))
    parts = [[plan.codes(packed, place).copy() for place in places] for packed in reports.batches(_BATCH)]
    empty = np.empty(0, dtype=np.uint16)
    return [np.concatenate([part[place] for part in parts] or [empty]) for place in places]


def released_frame(reports: Reports) -> "pd.DataFrame":
    """Return what reports of a table say, a row a report and a column a column.

    A number is the middle of the released cell, or class, in the column's unit; noise can lead outside its range. A
    category is its text. A missing value is NaN or None. Where a report may leave a column out, which its device drew,
    a further column of its name and " asked" says whether it was asked; if not, its value is NaN or None, too.

    Raises:
        PlanError: reports of another kind of plan.

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

    plan = check_type("reports", reports, Reports).plan.as_a(TablePlan)
    columns: dict[str, Any] = {}
    for place, (column, codes) in enumerate(zip(plan.columns, released_codes(reports, plan), strict=True)):
        columns[column.name] = released_values(column)[np.minimum(codes, column.law.outputs)]
        unasked = plan.unasked_code(place)
        if unasked is not None:
            columns[f"{column.name} asked"] = codes != unasked
    return pd.DataFrame(columns)


def released_values(column: Column) -> NDArray[Any]:
    """Return what each released code says, (outputs + 1,): the last is NaN or None, for missing or not asked."""
    if isinstance(column, NumberColumn):
        width, first = release_grid(column)
        middles = [float(column.origin + (first + (2 * code + 1) * width / 2)) for code in range(column.law.outputs)]
        return np.array([*middles, np.nan])
    assert isinstance(column, CategoryColumn)
    return np.array([*column.values, None], dtype=object)


def release_grid(column: NumberColumn) -> tuple[Fraction, Fraction]:
    """Return the width of a released cell and where the first begins, counted from the lowest edge."""
    law, width = column.law, column.cell_width
    if isinstance(law, Clear):
        return width * law.width, 0 * width
    if isinstance(law, Noise):
        return width, -law.largest * width
    assert isinstance(law, Window)
    return width, -(law.near // 2) * width
