"""Counting on Spark: its tasks read the reports and count with the same code as the local backend.

Reports are in files, which the tasks open themselves, or in a column of a DataFrame. Spark never collects them. Tasks
return integers, which are added up, so results equal those of the local backend exactly.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa
from assocpriv.files.report_files import COLUMN, Reports, file_batches, rebatch, row_groups
from assocpriv.guarantees.errors import EstimateError, SparkError, WireError, pluralize
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import SupportModel
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.server.baskets.counting import (
    ItemsetCounter,
    LocalCounter,
    Part,
    ReportPart,
    Responses,
    Source,
    most_candidates,
    report_type_number,
)
from assocpriv.spark.spark_session import add_up, column_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from assocpriv.plans.published_plan import PublishedPlan


Ints = NDArray[np.int64]
_TASK_REPORTS = 1 << 20  # reports of a task over files, which reads whole row groups; the number written to one group
_PIECE_BYTES = 1 << 26  # of reports that a task holds in memory
_Count = Callable[[int, Reports], Ints]  # (position of the first report, reports) → counts
_Read = Callable[[Iterator[Any]], Iterator[tuple[int, Reports]]]  # a task's Arrow batches → (position, reports)


class SparkReports:
    """A collection of reports of one plan, which Spark's tasks read from ``paths``, or from a DataFrame.

    Reports in local memory, such as those of a collector's open batch, come first and are counted on the driver. Rows
    of a DataFrame are not ``in_order``.
    """

    def __init__(self, tasks: "DataFrame", read: _Read, n_reports: int, local: Reports, in_order: bool) -> None:
        self.plan, self.paths, self.in_order = local.plan, local.paths, in_order
        self._tasks, self._read, self._n_reports, self._local = tasks, read, n_reports, local

    def __len__(self) -> int:
        return self._n_reports

    def __repr__(self) -> str:
        return f"SparkReports({len(self):,} of {self.plan!r})"

    @classmethod
    def from_files(cls, reports: Reports, spark: "SparkSession") -> "SparkReports":
        """Return reports that tasks read from their files, under the paths that the files have on the driver.

        Args:
            reports: The reports, in files and in memory.
            spark: The Spark session.

        Returns:
            The reports.
        """
        groups: list[tuple[Path, int, int]] = []
        first = len(reports.in_memory)
        for path in reports.paths:
            for number, size in enumerate(row_groups(path)):
                groups.append((path.resolve(), number, first))
                first += size
        n, all_ = min(len(groups), -(-len(reports) // _TASK_REPORTS)), len(groups)
        runs = [groups[run * all_ // n : (run + 1) * all_ // n] for run in range(n)]
        tasks = spark.range(0, n, 1, max(1, n))
        return cls(tasks, partial(_read_files, reports.plan, runs), len(reports), reports, in_order=True)

    @classmethod
    def from_frame(cls, frame: "DataFrame", plan: "PublishedPlan", column: str = COLUMN) -> "SparkReports":
        """Return reports in a column of a DataFrame; this counts them once.

        Args:
            frame: A DataFrame of Spark.
            plan: The plan of the reports.
            column: Name of the column, of type binary.

        Returns:
            The reports.

        Raises:
            WireError: There is no such column, or it does not hold reports of the plan.
        """
        if dict(frame.dtypes).get(column) != "binary":
            has = ", ".join(f"{name} ({kind})" for name, kind in frame.dtypes)
            raise WireError(f"reports must be in a column {column!r} of type binary; the DataFrame has {has}")
        chosen, read = frame.select(column_of(frame, column).alias(COLUMN)), partial(_read_column, plan)
        n_reports = add_up(chosen, partial(_sum_counts, read, _count_reports, 1), 1)
        empty = Reports(plan, np.empty((0, plan.report_bytes), np.uint8))
        return cls(chosen, read, int(n_reports[0]), empty, in_order=False)

    def add_up(self, count: _Count, n_counts: int) -> Ints:
        """Return the sum of ``count`` over all pieces of the reports, int64 (n_counts,).

        Args:
            count: A function that returns int64 (n_counts,) for the number of the first report of a piece and the
                piece.
            n_counts: Number of sums.

        Returns:
            The sums, int64 (n_counts,).
        """
        total = add_up(self._tasks, partial(_sum_counts, self._read, count, n_counts), n_counts)
        packed = self._local.in_memory
        return total + count(0, Reports(self.plan, packed)) if len(packed) else total


class SparkBackend:
    """Reports of baskets that Spark counts; ``memory_bytes`` limits candidates and counts on the driver."""

    def __init__(self, reports: SparkReports, memory_bytes: int | None = None) -> None:
        self._reports, self._memory_bytes = reports, memory_bytes
        self.plan: Plan = reports.plan.require_type(Plan)
        self.plan.check_batch(len(reports), "read")

    @property
    def most_candidates(self) -> int:
        """How many candidates, with two counts each, fit in a quarter of the driver's memory."""
        return most_candidates(self._memory_bytes, 2)

    def open(self, part: Part = Part.WHOLE, report_type: ReportType | None = None) -> Source:
        """Return the counter of a report type's responses, by default the type about items, and its model.

        Raises:
            EstimateError: The part is not the whole, and the reports have no order.
        """
        chosen: Any = self._reports
        if part is not Part.WHOLE:
            if not chosen.in_order:
                raise EstimateError(
                    "the position of a report decides whether it selects or tests itemsets, and rows of a DataFrame "
                    "have no position; give the folder of report files, or let all reports do both: fdr_by='all'"
                )
            chosen = ReportPart(chosen, part is Part.SELECTING)
        number = report_type_number(self.plan, report_type)
        return _Counter(chosen, number), SupportModel(self.plan.report_types[number].operator)


class _Counter(ItemsetCounter):
    """Counts each itemset in the tasks; sums and subsets follow on the driver."""

    def __init__(self, chosen: Any, number: int) -> None:
        self._chosen, self._number = chosen, number

    @cached_property
    def n_reports(self) -> int:
        """Number of responses N."""
        if not self._chosen.plan.number_bytes:
            return len(self._chosen)
        return int(self._add_up(_count_responses, 1)[0])

    def count(self, itemsets: Ints) -> Ints:
        """Return the number of responses showing all items of each itemset, int64 (itemsets,)."""
        return self._add_up(partial(_count_supersets, itemsets), len(itemsets))

    def count_with(self, items: Ints, other: int) -> tuple[Ints, Ints]:
        """Return the counts of items and of pairs with another item, int64 (items,) each."""
        both = self._add_up(partial(_count_with, items, other), 2 * len(items)).reshape(2, -1)
        return both[0], both[1]

    def _add_up(self, count: "Callable[[Responses], Ints]", n_counts: int) -> Ints:
        work = partial(_count_in_part, getattr(self._chosen, "selecting", None), self._number, count)
        found: Ints = getattr(self._chosen, "reports", self._chosen).add_up(work, n_counts)
        return found


# ---- in tasks


def _count_in_part(
    selecting: bool | None, number: int, count: Callable[[Responses], Ints], first: int, reports: Any
) -> Ints:
    return count(Responses(reports if selecting is None else ReportPart(reports, selecting, first), number))


def _count_responses(responses: Responses) -> Ints:
    return np.array([len(responses)])


def _count_supersets(itemsets: Ints, responses: Responses) -> Ints:
    return LocalCounter(responses).count(itemsets)


def _count_with(items: Ints, other: int, responses: Responses) -> Ints:
    return np.concatenate(LocalCounter(responses).count_with(items, other))


def _sum_counts(read: _Read, count: _Count, n_counts: int, batches: Iterator[Any]) -> Ints:
    return sum((count(first, reports) for first, reports in read(batches)), np.zeros(n_counts, dtype=np.int64))


def _count_reports(_first: int, reports: Reports) -> Ints:
    return np.array([len(reports)])


def _read_files(
    plan: "PublishedPlan", runs: Sequence[Sequence[tuple[Path, int, int]]], batches: Iterator[Any]
) -> Iterator[tuple[int, Reports]]:
    """Yield the reports of runs of row groups, with the position of the first, checking checksums as on the driver."""
    size = max(1, _PIECE_BYTES // plan.report_bytes)
    for run in (runs[number] for batch in batches for number in batch.column(0).to_pylist()):
        for path, _, _ in run:
            if not os.access(path, os.R_OK):
                raise SparkError(
                    f"a Spark task cannot open {path}; all files must have the same paths in tasks as on the driver"
                )
        first = run[0][2]
        for packed in rebatch((b for path, group, _ in run for b in file_batches(path, plan, size, group=group)), size):
            yield first, Reports(plan, packed)
            first += len(packed)


def _read_column(plan: "PublishedPlan", batches: Iterator[Any]) -> Iterator[tuple[int, Reports]]:
    packed = (_as_packed(batch.column(0), plan) for batch in batches)
    return ((0, Reports(plan, piece)) for piece in rebatch(packed, max(1, _PIECE_BYTES // plan.report_bytes)))


def _as_packed(column: Any, plan: "PublishedPlan") -> NDArray[np.uint8]:
    """Return an Arrow column of bytes as packed reports."""
    width, missing = plan.report_bytes, column.null_count
    if missing:
        raise WireError(f"the DataFrame holds {pluralize(missing, 'missing report')}; every row must be a report")
    try:
        fixed = column.cast(pa.binary(width))
    except pa.ArrowInvalid:
        length = pluralize(width, "byte")
        raise WireError(f"the DataFrame holds reports that are not of {length}, as those of its plan are") from None
    first = fixed.offset * width
    return np.frombuffer(fixed.buffers()[1], np.uint8)[first : first + len(fixed) * width].reshape(len(fixed), width)
