"""Counting by Spark's tasks: each counts its own reports by the code that counts here, and the counts are added up.

Nothing is computed here but sums of whole numbers, so results are the local backend's to the last integer. A level is
one job, for all operators of the plan. Candidates travel once a level, compressed; counts come back, nothing else.
"""

import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError
from assocpriv.files.basket_reports import GroupReports, basket_groups
from assocpriv.files.reports import Reports
from assocpriv.files.spark_reports import SparkReports
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.server.counting.backend import LocalCounter, counter_of, most_candidates
from assocpriv.server.counting.block_counter import BlockCounter
from assocpriv.server.counting.parts import Part, Progress, ReportPart, n_choosing
from assocpriv.server.counting.sums import Collections, CountsOfAll

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
        counts = len(self._groups) if self.plan.view.blocks is None else self.plan.itemset_size + 1
        return most_candidates(self._memory_bytes, 2 * counts)

    @cached_property
    def _groups(self) -> list[GroupReports]:
        """The plans of the operators, with no reports."""
        return basket_groups(Reports(self.plan, np.empty((0, self.plan.report_bytes), np.uint8)))

    @cached_property
    def _sizes(self) -> Ints:
        """How many reports of each operator each task has, int64 (tasks or 1, operators), and those at hand."""
        if len(self._groups) == 1:
            return np.array([[len(self._reports)]])
        ordered = self._reports.task_starts is not None
        n_tasks = 1 + self._reports.n_tasks if ordered else 1
        count = partial(_count_by_operator, n_tasks, len(self._groups))
        return self._reports.add_up(count, n_tasks * len(self._groups)).reshape(n_tasks, -1)

    def open(self, part: Part = Part.WHOLE) -> Collections:
        """Return counters of these reports, which count together.

        Raises:
            EstimateError: some of the reports are asked for, and they are in no order.
        """
        starts = self._starts(part)
        totals = self._sizes.sum(axis=0)
        selecting = np.array([n_choosing(int(total)) for total in totals])
        sizes = {Part.WHOLE: totals, Part.SELECTING: selecting, Part.TESTING: totals - selecting}[part]
        models = [SupportModel.of(group.plan.operator) for group in self._groups]
        level = _Levels(self._reports, part, starts, sizes, models, self._progress)
        if self.plan.view.blocks is not None:
            return [(_BlockCounter(level, self._groups[0].plan), models[0])]
        return [(_Counter(level, place), model) for place, model in enumerate(models)]

    def _starts(self, part: Part) -> Ints | None:
        """Return the position of each task's first report among those of its operator, where it matters."""
        if part is Part.WHOLE:
            return None
        starts = self._reports.task_starts
        if starts is None:
            raise EstimateError(
                "which reports choose itemsets and which test them goes by their position, and rows of a DataFrame "
                "have none; name the folder of report files instead, or have all reports do both: certain_by='all'"
            )
        if len(self._groups) == 1:
            return np.append(starts, 0)[:, None]  # those at hand are task −1, and come first
        sizes = np.roll(self._sizes, 1, axis=0)
        return np.roll(np.cumsum(sizes, axis=0) - sizes, -1, axis=0)


class _Question(NamedTuple):
    """What tasks count: itemsets of one size, or what each block's reports are, in the reports of some operators."""

    part: Part
    starts: Ints | None
    operators: tuple[int, ...]
    itemsets: bytes
    slots: Ints | None = None


class _Levels:
    """Counts by operator, a job for each list of itemsets that all operators are asked for."""

    def __init__(
        self,
        reports: SparkReports,
        part: Part,
        starts: Ints | None,
        sizes: Ints,
        models: Sequence[SupportModel],
        progress: Progress | None,
    ) -> None:
        self._reports, self._part, self._starts, self._progress = reports, part, starts, progress
        self._models, self.sizes = models, sizes
        self._waiting: dict[bytes, dict[int, Ints]] = {}  # counted for operators that have not asked yet

    def count(self, itemsets: Ints, operator: int) -> Ints:
        """Return how many reports of an operator show all items of each itemset, int64 (itemsets,)."""
        if not self.sizes[operator] or not len(itemsets):
            return np.zeros(len(itemsets), dtype=np.int64)
        packed = pack_itemsets(itemsets)
        if operator not in self._waiting.get(packed, {}):
            asking = [
                place
                for place, model in enumerate(self._models)
                if self.sizes[place] and (model.counts(itemsets.shape[1]) or place == operator)
            ]
            self._waiting[packed] = dict(zip(asking, self.ask(packed, asking, len(itemsets)), strict=True))
        counts = self._waiting[packed].pop(operator)
        if not self._waiting[packed]:
            del self._waiting[packed]
        return counts

    def ask(self, itemsets: bytes, operators: Sequence[int], n_counts: int, slots: Ints | None = None) -> Ints:
        """Run a job, and return int64 (operators, n_counts)."""
        question = _Question(self._part, self._starts, tuple(operators), itemsets, slots)
        tell = partial(self._progress, "counting on Spark") if self._progress else None
        counts = self._reports.add_up(partial(_answer, question, n_counts), len(operators) * n_counts, tell)
        return counts.reshape(len(operators), n_counts)


class _Counter(CountsOfAll):
    """The reports of one operator."""

    def __init__(self, levels: _Levels, place: int) -> None:
        self._levels, self._place = levels, place

    @property
    def n_reports(self) -> int:
        """Number of reports N."""
        return int(self._levels.sizes[self._place])

    def count(self, itemsets: Ints) -> Ints:
        """Return the number of reports showing all items of each itemset, int64 (candidates,)."""
        return self._levels.count(itemsets, self._place)


class _BlockCounter(BlockCounter):
    """Reports that tell of a block each; what follows from counts is the local counter's."""

    def __init__(self, levels: _Levels, plan: Plan) -> None:
        super().__init__(Reports(plan, np.empty((0, plan.report_bytes), np.uint8)))  # type: ignore[arg-type]
        self._levels = levels

    @property
    def n_reports(self) -> int:
        """Number of reports N, of all blocks."""
        return int(self._levels.sizes[0])

    def count_slots(self, itemsets: Ints, slots: Ints) -> Ints:
        """Return counts by mask, as :class:`assocpriv.server.counting.block_counter.BlockCounter`."""
        n_slots = int(slots.max()) + 1
        if not len(itemsets):
            return np.zeros((0, n_slots), dtype=np.int64)
        found = self._levels.ask(pack_itemsets(itemsets), [0], len(itemsets) * n_slots, slots)
        return found.reshape(len(itemsets), n_slots)

    def reports_of_blocks(self) -> Ints:
        """Return the number of reports of each block."""
        if self._by_block is None:
            self._by_block = self._levels.ask(b"", [0], self.blocks.blocks.count)[0]
        return self._by_block


# ---- in tasks


def _answer(question: _Question, n_counts: int, task: int, pieces: Iterable[Reports]) -> Ints:
    """Count what is asked for in what a task reads, int64 (operators × n_counts,)."""
    counts = np.zeros((len(question.operators), n_counts), dtype=np.int64)
    before = None if question.starts is None else question.starts[task].copy()
    for piece in pieces:
        groups = basket_groups(piece)
        for row, place in enumerate(question.operators):
            counts[row] += _count(question, _part_of(groups[place], question.part, before, place))
        if before is not None:
            before += [len(group) for group in groups]
    return counts.ravel()


def _part_of(group: GroupReports, part: Part, before: Ints | None, place: int) -> GroupReports | ReportPart:
    return group if before is None else ReportPart(group, part is Part.SELECTING, int(before[place]))


def _count(question: _Question, reports: GroupReports | ReportPart) -> Ints:
    counter = counter_of(reports)
    if isinstance(counter, LocalCounter):
        return counter.count(unpack_itemsets(question.itemsets))
    if question.slots is None:
        return counter.reports_of_blocks()
    return counter.count_slots(unpack_itemsets(question.itemsets), question.slots).ravel()


def _count_by_operator(n_tasks: int, n_operators: int, task: int, pieces: Iterable[Reports]) -> Ints:
    """Count a task's reports of each operator, int64 (tasks × operators,); those at hand here are the last."""
    counts = np.zeros((n_tasks, n_operators), dtype=np.int64)
    for piece in pieces:
        counts[task if n_tasks > 1 else 0] += [len(group) for group in basket_groups(piece)]
    return counts.ravel()


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
