"""Reports of baskets at rest, by the operator that made them: where sizes are in clear, each size has its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import Reports, file_batches
from assocpriv.plans.baskets.blocks import NUMBER_BYTES
from assocpriv.plans.baskets.plan import Plan

_SIFTED = 1 << 24  # bytes of reports that are sorted by their size at a time


@dataclass(frozen=True)
class GroupReports(Reports):
    """The reports of one operator of a plan, without the byte of the size; ``whole`` is the plan of the files."""

    plan: Plan
    whole: Plan | None = None

    def _read_file(self, path: Path, size: int) -> Iterator[NDArray[np.uint8]]:
        if self.whole is None:
            yield from super()._read_file(path, size)
        elif self.file_reports:
            for batch in file_batches(path, self.whole, _sifted_at_once(self.whole, size)):
                mine = _of_group(batch, self.plan)
                for start in range(0, len(mine), size):
                    yield mine[start : start + size]


@dataclass(frozen=True)
class BlockItems:
    """What reports of a plan with blocks say of a block's items, whichever it is: a view that holds none itself."""

    reports: GroupReports

    @property
    def plan(self) -> Plan:
        """The plan of what is reported of one block."""
        return self.reports.plan.block_plan

    def __len__(self) -> int:
        return len(self.reports)

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports without their blocks' numbers, uint8 of shape (≤ size, bytes)."""
        for packed in self.reports.batches(size):
            yield np.ascontiguousarray(packed[:, NUMBER_BYTES:])


def basket_groups(reports: Reports) -> list[GroupReports]:
    """Return the reports of each operator of a plan of baskets as collections of their own.

    Reports in files stay there: they are read once now, to count them, and again whenever a group is read.
    """
    if isinstance(reports, GroupReports):
        return [reports]
    plan = reports.plan.as_a(Plan)
    if not plan.in_clear:
        return [GroupReports(plan, reports.packed, reports.paths, reports.file_reports)]
    in_files = np.zeros(len(plan.groups) + 1, dtype=np.int64)
    for path in reports.paths:
        for batch in file_batches(path, plan, _sifted_at_once(plan, 1)):
            in_files += np.bincount(batch[:, 0], minlength=len(in_files))
    return [
        GroupReports(group, _of_group(reports.packed, group), reports.paths, int(in_files[size]), plan)
        for size, group in enumerate(plan.groups, 1)
    ]


def of_one_operator(reports: GroupReports) -> GroupReports | BlockItems:
    """Return reports as those of their operator: without the numbers of blocks, where they are about blocks."""
    return reports if reports.plan.view.blocks is None else BlockItems(reports)


def count_groups(reports: Reports) -> tuple[int, ...] | None:
    """Return how many reports there are of each operator of a plan of baskets, None where it has one for all."""
    return tuple(len(group) for group in basket_groups(reports)) if reports.plan.as_a(Plan).in_clear else None


def _sifted_at_once(plan: Plan, least: int) -> int:
    """Return how many reports to sort by their size at a time: few of a size may be among them."""
    return max(least, _SIFTED // plan.report_bytes)


def _of_group(packed: NDArray[np.uint8], group: Plan) -> NDArray[np.uint8]:
    """Return the reports of one group, without the byte of the size, of packed reports with their size in clear."""
    return packed[packed[:, 0] == group.transaction_size, 1 : 1 + group.report_bytes]
