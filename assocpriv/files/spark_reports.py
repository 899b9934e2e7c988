"""Reports that are counted by Spark's tasks: in files that these can open, or in a column of a DataFrame.

Of files a task opens some row groups itself, by the code that reads them here: checksums are compared, and a damaged
file is named. Reports are never collected; what tasks return are counts.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import SparkError, WireError, counted
from assocpriv.core.spark.session import column_of
from assocpriv.core.spark.sums import Counter, Source, add_up, numbered
from assocpriv.core.spark.watching import Progress
from assocpriv.files.reports import COLUMN, Reports, file_batches, filled, row_groups
from assocpriv.plans.published import PublishedPlan
from assocpriv.plans.registry import parse_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Ints = NDArray[np.int64]
_TASK_REPORTS = 1 << 20  # of a task over files, which takes whole row groups; as many as we write to one
_PIECE_REPORTS, _PIECE_BYTES = 1 << 20, 1 << 26  # that a task has in memory


class _RowGroup(NamedTuple):
    path: Path
    number: int
    n_reports: int


class SparkReports:
    """A collection of reports of one plan, which Spark's tasks read from ``paths``, or from a DataFrame.

    ``task_starts`` are the positions of the tasks' first reports, int64 (tasks,), in the order in which
    :class:`assocpriv.files.reports.Reports` has them; None for a DataFrame, whose reports have no order.
    """

    def __init__(
        self,
        plan: PublishedPlan,
        source: Source[Reports],
        n_reports: int,
        at_hand: Reports,
        task_starts: Ints | None,
        paths: tuple[Path, ...] = (),
    ) -> None:
        self.paths = paths
        self.plan, self.n_tasks, self.task_starts = plan, source.n_tasks, task_starts
        self._source, self._n_reports, self._at_hand = source, n_reports, at_hand

    def __len__(self) -> int:
        return self._n_reports

    def __repr__(self) -> str:
        return f"SparkReports({len(self):,} of {self.plan!r})"

    @classmethod
    def of_files(cls, reports: Reports, spark: "SparkSession") -> "SparkReports":
        """Return reports that tasks read from their files, by the paths that these have here."""
        groups = [_RowGroup(path.resolve(), *each) for path in reports.paths for each in enumerate(row_groups(path))]
        tasks = _tasks(groups)
        source = numbered(spark, max(1, len(tasks)), partial(_read_task, reports.plan.canonical_json, tasks))
        sizes = [sum(group.n_reports for group in task) for task in tasks]
        starts = len(reports.packed) + np.cumsum([0, *sizes], dtype=np.int64)
        at_hand = Reports(reports.plan, reports.packed)
        return cls(reports.plan, source, len(reports), at_hand, starts[: len(tasks)], reports.paths)

    @classmethod
    def of_frame(
        cls, frame: "DataFrame", plan: PublishedPlan, column: str = COLUMN, progress: Progress | None = None
    ) -> "SparkReports":
        """Return reports in a column of a DataFrame, which are counted once; ``progress`` is called with tasks.

        Raises:
            WireError: there is no such column, or it does not hold bytes.
        """
        kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        if kinds.get(column) != "binary":
            found = f"is of type {kinds[column]}" if column in kinds else f"is not among {', '.join(kinds) or 'none'}"
            raise WireError(f"the DataFrame's column {column!r} {found}; reports are a column of type binary")
        chosen = frame.select(column_of(frame, column).alias(COLUMN))
        nothing = Reports(plan, np.empty((0, plan.report_bytes), np.uint8))
        source = Source(chosen, 1, partial(_read_column, plan.canonical_json))
        n_reports, n_tasks = add_up(source, _count_reports, 2, progress).tolist()
        nothing = Reports(plan, np.empty((0, plan.report_bytes), np.uint8))
        return cls(plan, replace(source, n_tasks=n_tasks), n_reports, nothing, None)

    def add_up(self, count: Counter[Reports], n_counts: int, progress: Progress | None = None) -> Ints:
        """Return the sum of what ``count`` makes of every task's number and reports, int64 (n_counts,).

        ``progress`` is called with (reports done, all), the former by the share of tasks that are done.
        Those that are at hand here, such as a collector's that are not sealed yet, are counted here, as task −1.
        """
        total, tell = len(self), progress or (lambda _done, _total: None)
        by_task = (lambda done, tasks: tell(total * done // max(1, tasks), total)) if progress else None
        tell(0, total)
        counts = add_up(self._source, count, n_counts, by_task)
        counts += count(-1, [self._at_hand]) if len(self._at_hand) else 0
        tell(total, total)
        return counts


def _tasks(groups: Sequence[_RowGroup]) -> list[list[_RowGroup]]:
    """Put neighbouring row groups together, as many as make up a task."""
    tasks: list[list[_RowGroup]] = []
    n_reports = _TASK_REPORTS
    for group in groups:
        if n_reports + group.n_reports > _TASK_REPORTS:
            tasks.append([])
            n_reports = 0
        tasks[-1].append(group)
        n_reports += group.n_reports
    return tasks


# ---- in tasks


@lru_cache(maxsize=2)
def _parsed(text: str) -> PublishedPlan:
    return parse_plan(text)


def _piece_size(plan: PublishedPlan) -> int:
    return max(1, min(_PIECE_REPORTS, _PIECE_BYTES // max(1, plan.report_bytes)))


def _read_task(plan_text: str, tasks: Sequence[Sequence[_RowGroup]], number: int) -> Iterator[Reports]:
    """Read what a task is about, in pieces."""
    plan = _parsed(plan_text)
    size = _piece_size(plan)
    groups = tasks[number] if tasks else ()
    for each in groups:
        if not os.access(each.path, os.R_OK):
            raise SparkError(
                f"a task of Spark cannot open {each.path}; tasks must find all files by the paths that they have here, "
                "as on storage that their machines share"
            )
    batches = (packed for each in groups for packed in file_batches(each.path, plan, size, group=each.number))
    for packed in filled(batches, size):
        yield Reports(plan, packed)


def _read_column(plan_text: str, batches: Iterable[Any]) -> Iterator[tuple[int, Iterator[Reports]]]:
    plan = _parsed(plan_text)
    pieces = filled((_as_packed(batch.column(0), plan) for batch in batches), _piece_size(plan))
    yield 0, (Reports(plan, packed) for packed in pieces)


def _as_packed(column: Any, plan: PublishedPlan) -> NDArray[np.uint8]:
    """Return a column of bytes, in Arrow, as packed reports."""
    import pyarrow as pa

    width, missing = plan.report_bytes, column.null_count
    if missing:
        raise WireError(f"the DataFrame holds {counted(missing, 'missing report')}; every row must be a report")
    try:
        fixed = column.cast(pa.binary(width))
    except pa.ArrowInvalid:
        length = counted(width, "byte")
        raise WireError(f"the DataFrame holds reports that are not of {length}, as those of its plan are") from None
    first = fixed.offset * width
    return np.frombuffer(fixed.buffers()[1], np.uint8)[first : first + len(fixed) * width].reshape(len(fixed), width)


def _count_reports(_number: int, pieces: Iterable[Reports]) -> Ints:
    return np.array([sum(map(len, pieces)), 1], dtype=np.int64)  # and the task itself
