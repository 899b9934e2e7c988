"""Bitmaps: the wrappers choose kernels and sizes, and every choice gives the same integers, with bounds checks too."""

from itertools import combinations

import naive
import numpy as np
import pytest

from assocpriv.kernels import compiled, itemset_counts, plain
from assocpriv.kernels.itemset_counts import SupersetCounter, block_words, empty_rows, transaction_rows
from assocpriv.server.baskets import bitmaps as bitmap
from assocpriv.server.baskets.bitmaps import ItemTables, report_planes

CACHES = [(0, 0), (32 << 10, 256 << 10), (48 << 10, 1 << 20), (1 << 20, 1 << 26)]  # of no machine to a huge one


@pytest.fixture(autouse=True, params=[compiled, plain])
def _built(request, monkeypatch):
    """Run each test with the compiled kernels, and as without a C compiler."""
    for module in (bitmap, itemset_counts):
        monkeypatch.setattr(module, "kernels", request.param)


@pytest.fixture(params=CACHES)
def caches(request, monkeypatch):
    """Simulate machines with caches of all sizes."""
    for module in (bitmap, itemset_counts):
        monkeypatch.setattr(module, "cache_bytes", lambda: request.param)
    return request.param


def random_rows(rng, n_rows, n_bits):
    """Return uniform rows."""
    rows = empty_rows(n_rows, n_bits)
    rows[:] = rng.integers(0, 1 << 64, size=rows.shape, dtype=np.uint64)
    return rows


def counted(rows, itemsets):
    """Return how many bits are set in all rows of each set, by the kernels."""
    counts = np.zeros(len(itemsets), dtype=np.int64)
    list(SupersetCounter(itemsets, rows.shape[1]).count_in_steps(rows, counts))
    return counts


@pytest.mark.parametrize("n_rows", [2, 3, 4, 5, 8, 67, 130])
def test_all_pairs_are_counted_as_single_ones(rng, monkeypatch, caches, n_rows):
    """The kernel for all pairs and the one for any itemsets agree, in the order of the pairs."""
    rows = random_rows(rng, n_rows, 5000)
    pairs = np.column_stack(np.triu_indices(n_rows, 1)).astype(np.int64)
    together = counted(rows, pairs)
    monkeypatch.setattr(itemset_counts, "_are_all_pairs", lambda *_: False)
    assert np.array_equal(together, counted(rows, pairs))
    assert np.array_equal(together, naive.count_supersets(rows, pairs))


def test_other_pairs_are_not_taken_for_all(rng):
    """A list as long as that of all pairs, but in another order or with a repeat, is counted correctly."""
    rows = random_rows(rng, 6, 200)
    pairs = np.column_stack(np.triu_indices(6, 1)).astype(np.int64)
    for changed in (pairs[::-1], np.vstack([pairs[1:], pairs[1:2]]), np.vstack([pairs[1:2], pairs[1:]])):
        assert np.array_equal(counted(rows, changed), naive.count_supersets(rows, changed))


@pytest.mark.parametrize("n_bits", [0, 1, 2048, 2049, 100_000])
def test_rows_begin_at_cache_lines_and_blocks_fit_the_cache(caches, n_bits):
    """Bitmaps have room for every transaction, and all their rows start at a cache line."""
    rows = empty_rows(3, n_bits)
    assert n_bits <= rows.shape[0] * rows.shape[2] * 64 <= n_bits + 2048 * max(1, rows.shape[0])
    assert rows.ctypes.data % 64 == 0 or not rows.size
    assert rows.shape[2] % 32 == 0
    assert rows.shape[2] <= block_words()
    assert 8 * 8 * block_words() <= max(caches[0], 8 * 8 * 32)
    assert rows.flags.c_contiguous


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("share", [0.1, 0.6, 1])
def test_itemsets_of_any_size_are_counted(rng, share, k):
    """Many and few candidates, in lexicographic and in any other order, over several blocks of rows."""
    rows = random_rows(rng, 8, 5000) | random_rows(rng, 8, 5000) | random_rows(rng, 8, 5000)
    itemsets = np.array([each for each in combinations(range(8), k) if rng.random() < share or each[0] == 3])
    for ordered in (itemsets.reshape(-1, k), rng.permutation(itemsets.reshape(-1, k))):
        assert np.array_equal(counted(rows, ordered), naive.count_supersets(rows, ordered))


@pytest.mark.parametrize(
    ("code", "insert"),
    [
        ("none", (3, 3)), ("reed-solomon", (3, 3)), ("reed-solomon", (255, 8)), ("bch", (1, 1)), ("bch", (1, 3)),
        ("bch", (3, 2)), ("bch", (15, 4)), ("bch", (9, 5)), ("bch", (33, 6)), ("bch", (99, 7)), ("bch", (1, 8)),
    ],
)  # fmt: skip
def test_items_show_in_the_reports_that_show_them(rng, caches, code, insert):
    """Whichever tables the expansion uses, rows and counts equal those of reading each report."""
    plan = naive.small_plan(code, 40, 3, 1, insert=insert)
    packed = rng.integers(256, size=(70, plan.report_bytes), dtype=np.uint8)
    packed[:, -1] &= 0xFF >> 8 * plan.report_bytes - plan.items.report_bits
    items = rng.permutation(plan.items.padded_items)[:30]
    shown = np.array([np.isin(items, list(plan.items.form.items(row.tobytes()))) for row in packed]).T
    rows = naive.bits_of(naive.lines_of(naive.report_rows(packed, plan.items, items)))
    assert np.array_equal(rows[:, :70], shown)
    assert not rows[:, 70:].any()
    before = np.arange(60, dtype=np.int64).reshape(30, 2)
    counts, planes, tables = before.copy(), report_planes(packed), ItemTables(plan.items, items)
    row = ItemTables(plan.items, items[3:4]).rows(planes, 70)
    list(tables.count_in_steps(planes, 70, counts, row))
    assert np.array_equal(counts - before, np.column_stack([shown.sum(axis=1), (shown & shown[3]).sum(axis=1)]))


@pytest.mark.parametrize("code", ["bch", "none"])
def test_a_part_of_planes_gives_that_part_of_rows(rng, code):
    """Blocks cut out of planes, the last one not full, give the same rows as all planes."""
    plan = naive.small_plan(code, 7, 3, 1, insert=(3, 3))
    packed = rng.integers(0, 1 << plan.items.report_bits % 8 or 256, size=(70_000, plan.report_bytes), dtype=np.uint8)
    planes, items = report_planes(packed), np.array([4, 1, 5])
    block, tables = 64 * planes.shape[2], ItemTables(plan.items, items)
    whole = tables.rows(planes, len(packed))
    assert len(planes) == -(-len(packed) // block) > 2
    for first in range(len(planes)):
        part = tables.rows(planes[first : first + 1], min(block, len(packed) - first * block))
        assert np.array_equal(part, whole[first : first + 1])


def test_tables_are_as_small_as_the_caches(caches):
    """Tables of all XORs of some seed bits fit half of the second cache, unless even small ones do not."""
    bits, many = bitmap._group_bits(136, 7_000), bitmap._group_bits(9000, 10**6)
    assert (-(-136 // bits) << bits) * 32 * 8 <= caches[1] // 2 or bits == 4
    assert -(-9000 // many) << many <= 1 << 16


def test_transactions_become_rows(rng):
    """Rows of chosen items show which transactions hold them."""
    chosen = rng.random((300, 5)) < 0.5
    offsets = np.cumsum([0, *chosen.sum(axis=1)], dtype=np.int64)
    flat = np.nonzero(chosen)[1].astype(np.int64)
    rows = transaction_rows(offsets, flat, 5, np.array([3, 0]))
    bits = naive.bits_of(naive.lines_of(rows))
    assert np.array_equal(bits[:, :300], chosen[:, [3, 0]].T)
    assert not bits[:, 300:].any()
