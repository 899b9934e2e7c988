"""Counting by Spark's tasks: each counts its own reports by the code that counts here, and the counts are added up.

Nothing is computed here but sums of whole numbers, so results are the local backend's to the last integer. A level is
one job. Candidates travel once a level, compressed; counts come back, nothing else.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.files.reports import Reports
from assocpriv.files.spark_reports import SparkReports
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.server.counting.backend import LocalCounter, counter_of, most_candidates
from assocpriv.server.counting.block_counter import BlockCounter
from assocpriv.server.counting.parts import Packed, Part, Progress, ReportPart, n_choosing
from assocpriv.server.counting.sums import CountsOfAll, Source

Ints = NDArray[np.int64]


class SparkBackend:
    """Reports that Spark's tasks read, counted where they are.

    ``memory_bytes`` of candidates and counts may be held here, by the driver; a task holds of its machine's free memory
    the part that belongs to its cores.
    """

    def __init__(
        self, reports: SparkReports, memory_bytes: int | None = None, progress: Progress | None = None
    ) -> None:
        self._reports, self._memory_bytes, self._progress = reports, memory_bytes, progress
        self.plan: Plan = reports.plan.as_a(Plan)

    @property
    def most_candidates(self) -> int:
        """How many candidates a quarter of the memory holds, with all counts and what they came in."""
        counts = 1 if self.plan.view.blocks is None else self.plan.itemset_size + 1
        return most_candidates(self._memory_bytes, 2 * counts)

    def open(self, part: Part = Part.WHOLE) -> Source:
        """Return a counter of some of these reports, and the model of their operator.

        Raises:
            EstimateError: some of the reports are asked for, and they are in no order.
        """
        total = len(self._reports)
        selecting = n_choosing(total)
        n_reports = {Part.WHOLE: total, Part.SELECTING: selecting, Part.TESTING: total - selecting}[part]
        jobs = _Jobs(self._reports, part, self._starts(part), n_reports, self._progress)
        counter = _Counter(jobs) if self.plan.view.blocks is None else _BlockCounter(jobs, self.plan)
        return counter, SupportModel.of(self.plan.operator)

    def _starts(self, part: Part) -> Ints | None:
        """Return the position of each task's first report, where it matters."""
        if part is Part.WHOLE:
            return None
        starts = self._reports.task_starts
        if starts is None:
            raise EstimateError(
                "which reports choose itemsets and which test them goes by their position, and rows of a DataFrame "
                "have none; name the folder of report files instead, or have all reports do both: certain_by='all'"
            )
        return np.append(starts, 0)  # those at hand are task −1, and come first


class _Question(NamedTuple):
    """What tasks count: itemsets of one size, or what each block's reports are."""

    part: Part
    starts: Ints | None
    itemsets: bytes
    slots: Ints | None = None


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Counts, a job for each list of itemsets."""

    reports: SparkReports
    part: Part
    starts: Ints | None
    n_reports: int
    progress: Progress | None

    def ask(self, itemsets: bytes, n_counts: int, slots: Ints | None = None) -> Ints:
        """Run a job, and return int64 (n_counts,)."""
        question = _Question(self.part, self.starts, itemsets, slots)
        tell = partial(self.progress, "counting on Spark") if self.progress else None
        return self.reports.add_up(partial(_answer, question, n_counts), n_counts, tell)


class _Counter(CountsOfAll):
    """Reports that tell of every itemset."""

    def __init__(self, jobs: _Jobs) -> None:
        self._jobs = jobs

    @property
    def n_reports(self) -> int:
        """Number of reports N."""
        return self._jobs.n_reports

    def count(self, itemsets: Ints) -> Ints:
        """Return the number of reports showing all items of each itemset, int64 (candidates,)."""
        return self._jobs.ask(pack_itemsets(itemsets), len(itemsets))


class _BlockCounter(BlockCounter):
    """Reports that tell of a block each; what follows from counts is the local counter's."""

    def __init__(self, jobs: _Jobs, plan: Plan) -> None:
        super().__init__(Reports(plan, np.empty((0, plan.report_bytes), np.uint8)))  # type: ignore[arg-type]
        self._jobs = jobs

    @property
    def n_reports(self) -> int:
        """Number of reports N, of all blocks."""
        return self._jobs.n_reports

    def count_slots(self, itemsets: Ints, slots: Ints) -> Ints:
        """Return counts by mask, as :class:`assocpriv.server.counting.block_counter.BlockCounter`."""
        n_slots = int(slots.max()) + 1
        if not len(itemsets):
            return np.zeros((0, n_slots), dtype=np.int64)
        found = self._jobs.ask(pack_itemsets(itemsets), len(itemsets) * n_slots, slots)
        return found.reshape(len(itemsets), n_slots)

    def reports_of_blocks(self) -> Ints:
        """Return the number of reports of each block."""
        if self._by_block is None:
            self._by_block = self._jobs.ask(b"", self.blocks.blocks.count)
        return self._by_block


# ---- in tasks


def _answer(question: _Question, n_counts: int, task: int, pieces: Iterable[Reports]) -> Ints:
    """Count what is asked for in what a task reads, int64 (n_counts,)."""
    counts = np.zeros(n_counts, dtype=np.int64)
    before = 0 if question.starts is None else int(question.starts[task])
    for piece in pieces:
        reports = cast("Packed", piece)
        if question.starts is not None:
            reports = ReportPart(reports, question.part is Part.SELECTING, before)
        counts += _count(question, reports)
        before += len(piece)
    return counts


def _count(question: _Question, reports: Packed) -> Ints:
    counter = counter_of(reports)
    if isinstance(counter, LocalCounter):
        return counter.count(unpack_itemsets(question.itemsets))
    if question.slots is None:
        return counter.reports_of_blocks()
    return counter.count_slots(unpack_itemsets(question.itemsets), question.slots).ravel()


# ---- on the way


def pack_itemsets(itemsets: Ints) -> bytes:
    """Write itemsets, int64 (n, k) in lexicographic order, as few bytes: neighbours differ by little.

    >>> pairs = np.stack(np.triu_indices(1000, 1), axis=1)
    >>> len(pack_itemsets(pairs)) < len(pairs) // 10, (unpack_itemsets(pack_itemsets(pairs)) == pairs).all()
    (True, np.True_)
    """
    steps = np.diff(itemsets, axis=0, prepend=0).T.astype("<i4")
    n_items: int = itemsets.shape[1]
    return n_items.to_bytes(2, "little") + zlib.compress(steps.tobytes(), 1)


def unpack_itemsets(packed: bytes) -> Ints:
    """Return itemsets as they were before :func:`pack_itemsets`."""
    steps = np.frombuffer(zlib.decompress(packed[2:]), dtype="<i4").reshape(int.from_bytes(packed[:2], "little"), -1)
    return np.ascontiguousarray(steps.astype(np.int64).cumsum(axis=1).T)
