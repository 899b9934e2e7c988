"""Counting, and nothing else: how many reports show all the items of an itemset.

A backend returns integers; what they mean for supports is decided in apriori.py and estimate.py, so counts
split over machines add up to the same result. The local backend here goes over the reports once per call,
batch by batch, expanding only the items asked for.
"""

import os
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.bitmap import count_row_supersets, report_rows
from assocpriv.core.codes import WORD_BITS, item_columns
from assocpriv.core.parallel import map_ahead
from assocpriv.files.reports import Reports

Progress = Callable[[str, int, int], None]
_Batch = TypeVar("_Batch")
DEFAULT_MEMORY = 256 << 20
_LEAST_BATCH = 64 * WORD_BITS


class CountingBackend(Protocol):
    """Counts itemsets over one collection."""

    @property
    def n_reports(self) -> int:
        """Number of reports N."""

    def count(self, itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of reports showing all items of each itemset.

        Args:
            itemsets: item ids, int64 (candidates, k), k ≥ 1, each row increasing, rows in lexicographic order.

        Returns:
            int64 of shape (candidates,).
        """


class LocalCounter:
    """Counts on this machine's cores, holding at most about ``memory_bytes`` of bitmaps at a time.

    Args:
        reports: the collection.
        memory_bytes: bound on the bitmaps of all running batches.
        progress: called with (what is done, reports done, reports).
    """

    def __init__(
        self, reports: Reports, *, memory_bytes: int = DEFAULT_MEMORY, progress: Progress | None = None
    ) -> None:
        self._reports = reports
        self._memory_bytes = memory_bytes
        self._progress = progress
        self._columns = np.empty((reports.plan.padded_items, 0, 0), dtype=np.uint64)
        if reports.plan.generator.kind != "none":
            everything = np.arange(reports.plan.padded_items, dtype=np.int64)
            self._columns = item_columns(reports.plan.generator, reports.plan.operator.insert_bits, everything)

    @property
    def n_reports(self) -> int:
        """Number of reports N."""
        return len(self._reports)

    def count(self, itemsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of reports showing all items of each itemset (see :class:`CountingBackend`)."""
        items, places = np.unique(itemsets, return_inverse=True)
        numbered = places.reshape(itemsets.shape).astype(np.int64)
        plan = self._reports.plan
        columns = self._columns[items]

        def count_batch(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
            return count_row_supersets(report_rows(packed, plan, columns, items), numbered)

        size = batch_size(len(items) + plan.report_bits, self._memory_bytes)
        what = f"counting itemsets of {itemsets.shape[1]}"
        batches = self._told(self._reports.batches(size), what)
        return sum_over_batches(batches, count_batch, len(itemsets))

    def _told(self, batches: Iterable[NDArray[np.uint8]], what: str) -> Iterable[NDArray[np.uint8]]:
        done = 0
        for batch in batches:
            yield batch
            done += len(batch)
            if self._progress:
                self._progress(what, done, self.n_reports)


def batch_size(n_rows: int, memory_bytes: int) -> int:
    """Return how many transactions to take at a time so that ``n_rows`` bitmaps a core keep to the memory."""
    each = memory_bytes // (2 * (os.cpu_count() or 1))  # a batch waits while one is counted
    return max(_LEAST_BATCH, each * 8 // max(n_rows, 1) // WORD_BITS * WORD_BITS)


def sum_over_batches(
    batches: Iterable[_Batch], count: Callable[[_Batch], NDArray[np.int64]], n_counts: int
) -> NDArray[np.int64]:
    """Add up ``count`` over batches, on all cores, reading ahead by one batch a core."""
    total = np.zeros(n_counts, dtype=np.int64)
    for counts in map_ahead(count, batches):
        total += counts
    return total
