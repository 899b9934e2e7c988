"""Counts by Spark: its tasks read the reports, counted by the same code as here.

Reports are in files, which the tasks open themselves, or in a column of a DataFrame. They are never collected: what
comes back are whole numbers, which are added up, so results are the local backend's to the last integer.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import pa
from assocpriv.files.reports import COLUMN, Reports, file_batches, filled, row_groups
from assocpriv.plans.baskets import Plan
from assocpriv.plans.question import Question
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.errors import EstimateError, SparkError, WireError, counted
from assocpriv.server.counting import (
    Answers,
    ItemsetCounter,
    LocalCounter,
    Part,
    ReportPart,
    Source,
    most_candidates,
    number_of,
)
from assocpriv.spark.session import add_up, column_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from assocpriv.plans.published import PublishedPlan


Ints = NDArray[np.int64]
_TASK_REPORTS = 1 << 20  # of a task over files, which takes whole row groups; as many as we write to one
_PIECE_BYTES = 1 << 26  # of reports that a task has in memory
_Count = Callable[[int, Reports], Ints]  # of the position of the first of some reports, and these
_Read = Callable[[Iterator[Any]], Iterator[tuple[int, Reports]]]  # of a task's Arrow batches, as that takes them


class SparkReports:
    """A collection of reports of one plan, which Spark's tasks read from ``paths``, or from a DataFrame.

    Those that are at hand here, such as a collector's that are not sealed yet, come first and are counted here. Rows of
    a DataFrame are not ``in_order``.
    """

    def __init__(self, tasks: "DataFrame", read: _Read, n_reports: int, at_hand: Reports, in_order: bool) -> None:
        self.plan, self.paths, self.in_order = at_hand.plan, at_hand.paths, in_order
        self._tasks, self._read, self._n_reports, self._at_hand = tasks, read, n_reports, at_hand

    def __len__(self) -> int:
        return self._n_reports

    def __repr__(self) -> str:
        return f"SparkReports({len(self):,} of {self.plan!r})"

    @classmethod
    def of_files(cls, reports: Reports, spark: "SparkSession") -> "SparkReports":
        """Return reports that tasks read from their files, by the paths that these have here."""
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
    def of_frame(cls, frame: "DataFrame", plan: "PublishedPlan", column: str = COLUMN) -> "SparkReports":
        """Return reports in a column of a DataFrame, which are counted once.

        Raises:
            WireError: there is no such column, or it does not hold reports of the plan.
        """
        if dict(frame.dtypes).get(column) != "binary":
            has = ", ".join(f"{name} ({kind})" for name, kind in frame.dtypes)
            raise WireError(f"reports are a column {column!r} of type binary; the DataFrame has {has}")
        chosen, read = frame.select(column_of(frame, column).alias(COLUMN)), partial(_read_column, plan)
        n_reports = add_up(chosen, partial(_sum_of, read, _one_each, 1), 1)
        nothing = Reports(plan, np.empty((0, plan.report_bytes), np.uint8))
        return cls(chosen, read, int(n_reports[0]), nothing, in_order=False)

    def add_up(self, count: _Count, n_counts: int) -> Ints:
        """Return the sum of what ``count`` makes of all reports, some by some, int64 (n_counts,)."""
        total = add_up(self._tasks, partial(_sum_of, self._read, count, n_counts), n_counts)
        packed = self._at_hand.in_memory
        return total + count(0, Reports(self.plan, packed)) if len(packed) else total


class SparkBackend:
    """Reports of baskets that Spark's tasks count; ``memory_bytes`` of candidates and counts may be held here."""

    def __init__(self, reports: SparkReports, memory_bytes: int | None = None) -> None:
        self._reports, self._memory_bytes = reports, memory_bytes
        self.plan: Plan = reports.plan.as_a(Plan)
        self.plan.check_batch(len(reports), "read")

    @property
    def most_candidates(self) -> int:
        """How many candidates a quarter of the memory holds, with all counts and what they came in."""
        return most_candidates(self._memory_bytes, 2)

    def open(self, part: Part = Part.WHOLE, question: Question | None = None) -> Source:
        """Return the counter of answers to a question, by default that about items, and its model.

        Raises:
            EstimateError: some of the reports are asked for, and they are in no order.
        """
        chosen: Any = self._reports
        if part is not Part.WHOLE:
            if not chosen.in_order:
                raise EstimateError(
                    "which reports choose itemsets and which test them goes by their position, and rows of a DataFrame "
                    "have none; name the folder of report files, or have all reports do both: certain_by='all'"
                )
            chosen = ReportPart(chosen, part is Part.SELECTING)
        number = number_of(self.plan, question)
        return _Counter(chosen, number), SupportModel.of(self.plan.questions[number].operator)


class _Counter(ItemsetCounter):
    """Each itemset is counted there, and all else follows here."""

    def __init__(self, chosen: Any, number: int) -> None:
        self._chosen, self._number = chosen, number

    @cached_property
    def n_reports(self) -> int:
        """Number of answers N."""
        if not self._chosen.plan.number_bytes:
            return len(self._chosen)
        return int(self._add_up(_number_of_answers, 1)[0])

    def count(self, itemsets: Ints) -> Ints:
        """Return the number of answers showing all items of each itemset."""
        return self._add_up(partial(_supersets, itemsets), len(itemsets))

    def _add_up(self, count: "Callable[[Answers], Ints]", n_counts: int) -> Ints:
        answer = partial(_in_answers, getattr(self._chosen, "selecting", None), self._number, count)
        found: Ints = getattr(self._chosen, "reports", self._chosen).add_up(answer, n_counts)
        return found


# ---- in tasks


def _in_answers(
    selecting: bool | None, number: int, count: Callable[[Answers], Ints], first: int, reports: Any
) -> Ints:
    return count(Answers(reports if selecting is None else ReportPart(reports, selecting, first), number))


def _number_of_answers(answers: Answers) -> Ints:
    return np.array([len(answers)])


def _supersets(itemsets: Ints, answers: Answers) -> Ints:
    return LocalCounter(answers).count(itemsets)


def _sum_of(read: _Read, count: _Count, n_counts: int, batches: Iterator[Any]) -> Ints:
    return sum((count(first, reports) for first, reports in read(batches)), np.zeros(n_counts, dtype=np.int64))


def _one_each(_first: int, reports: Reports) -> Ints:
    return np.array([len(reports)])


def _read_files(
    plan: "PublishedPlan", runs: Sequence[Sequence[tuple[Path, int, int]]], batches: Iterator[Any]
) -> Iterator[tuple[int, Reports]]:
    """Read runs of row groups by the code that reads them here, checksums too. Each has its first's position."""
    size = max(1, _PIECE_BYTES // plan.report_bytes)
    for run in (runs[number] for batch in batches for number in batch.column(0).to_pylist()):
        for path, _, _ in run:
            if not os.access(path, os.R_OK):
                raise SparkError(
                    f"a task of Spark cannot open {path}; tasks must find all files by the paths they have here"
                )
        first = run[0][2]
        for packed in filled((b for path, group, _ in run for b in file_batches(path, plan, size, group=group)), size):
            yield first, Reports(plan, packed)
            first += len(packed)


def _read_column(plan: "PublishedPlan", batches: Iterator[Any]) -> Iterator[tuple[int, Reports]]:
    packed = (_as_packed(batch.column(0), plan) for batch in batches)
    return ((0, Reports(plan, piece)) for piece in filled(packed, max(1, _PIECE_BYTES // plan.report_bytes)))


def _as_packed(column: Any, plan: "PublishedPlan") -> NDArray[np.uint8]:
    """Return a column of bytes, in Arrow, as packed reports."""
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
