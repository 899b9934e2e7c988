"""Bitmaps: the wrappers choose kernels, and every choice gives the same integers."""

import naive
import numpy as np
import pytest

from assocpriv.core import bitmap
from assocpriv.core.bitmap import count_row_supersets, report_rows
from assocpriv.core.codes import item_columns
from assocpriv.core.wire import report_items


def random_rows(rng, n_rows, n_words):
    """Return uniform rows."""
    return rng.integers(0, 1 << 64, size=(n_rows, n_words), dtype=np.uint64)


@pytest.mark.parametrize("n_rows", [2, 3, 4, 5, 8, 67, 130])
def test_all_pairs_are_counted_as_single_ones(rng, monkeypatch, n_rows):
    """The kernel for all pairs and the one for any itemsets agree, in the order of the pairs."""
    rows = random_rows(rng, n_rows, 3)
    pairs = np.column_stack(np.triu_indices(n_rows, 1)).astype(np.int64)
    together = count_row_supersets(rows, pairs)
    monkeypatch.setattr(bitmap, "_MOST_PAIRED", 0)
    assert np.array_equal(together, count_row_supersets(rows, pairs))
    assert np.array_equal(together, naive.count_supersets(rows, pairs))


def test_other_pairs_are_not_taken_for_all(rng):
    """As many pairs as there are in all, but in another order or with one twice, are counted as asked."""
    rows = random_rows(rng, 6, 2)
    pairs = np.column_stack(np.triu_indices(6, 1)).astype(np.int64)
    for changed in (pairs[::-1], np.vstack([pairs[1:], pairs[1:2]])):
        assert np.array_equal(count_row_supersets(rows, changed), naive.count_supersets(rows, changed))


@pytest.mark.parametrize("code", ["bch", "reed-solomon", "none"])
def test_few_and_many_columns_expand_alike(rng, monkeypatch, code):
    """Whichever tables the expansion uses, a row shows the reports that show the item."""
    plan = naive.small_plan(code, 40, 3, 1, insert=(3, 3))
    reports = [rng.bytes(plan.report_bytes) for _ in range(70)]
    unused = 8 * plan.report_bytes - plan.report_bits
    reports = [report[:-1] + bytes([report[-1] & 0xFF >> unused]) for report in reports]
    packed = np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(70, -1)
    items = np.arange(plan.padded_items)
    columns = np.empty((len(items), 0, 0), dtype=np.uint64)
    if code != "none":
        columns = item_columns(plan.generator, 3, items)
    shown = np.array([[item in report_items(report, plan) for report in reports] for item in items])
    for many in (0, 10**9):
        monkeypatch.setattr(bitmap, "_MANY_COLUMNS", many)
        assert np.array_equal(naive.bits_of(report_rows(packed, plan, columns, items))[:, :70], shown)
